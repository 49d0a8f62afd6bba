/* SPDX-License-Identifier: Apache-2.0 */
/* A device's part of a file name is its own name in letters, digits and
 * dashes, with a number where an earlier device reads the same. */
#include "report/figure_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "results/json.h"
#include "cli/output_file.h"

/* Of every file, one after the other. */
struct device {
    const struct result_file *file;
    const json_t *json;
    char *label; /* NULL: out of memory */
};

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* "NVIDIA H200" is "nvidia-h200". */
static char *label_of(const char *name)
{
    struct xl__str out = {0};
    for (; *name; name++) {
        const char c =
            *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name;
        if (is_plain(c))
            xl__str_add_n(&out, &c, 1);
        else if (out.len > 0 && out.text[out.len - 1] != '-')
            xl__str_add(&out, "-");
    }
    if (out.len > 0 && out.text[out.len - 1] == '-')
        out.text[--out.len] = '\0';
    if (out.len == 0)
        xl__str_add(&out, "device");
    return xl__str_steal(&out);
}

/* A number behind the label of the second, third, ... of that name. */
static void part_labels(struct device *list, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        struct xl__str numbered = {0};
        size_t earlier = 0;
        for (size_t j = 0; j < i; j++)
            earlier += xl__streq(list[j].label, list[i].label);
        if (earlier == 0 || !list[i].label)
            continue;
        xl__str_printf(&numbered, "%s-%zu", list[i].label, earlier + 1);
        free(list[i].label);
        list[i].label = xl__str_steal(&numbered);
    }
}

/* All devices; NULL: out of memory. */
static struct device *devices_of(const struct result_file *files, size_t n,
                                 size_t *n_devices)
{
    *n_devices = 0;
    for (size_t i = 0; i < n; i++)
        *n_devices += files[i].n_devices;
    struct device *list = xl__calloc(*n_devices + 1, sizeof *list);
    for (size_t i = 0, at = 0; list && i < n; i++) {
        const json_t *devices = json_object_get(files[i].document, "devices");
        for (size_t j = 0; j < files[i].n_devices; j++, at++) {
            list[at].file = &files[i];
            list[at].json = json_array_get(devices, j);
            list[at].label = label_of(json_text_at(list[at].json, "name"));
        }
    }
    if (list)
        part_labels(list, *n_devices);
    return list;
}

static xl_status write_one(const char *folder, const struct figure *figure,
                           const struct device *dev, bool is_alone)
{
    struct xl__str svg = {0}, name = {0};
    if (!figure->draw(dev->file, dev->json, &svg)) {
        xl__str_clear(&svg);
        return XL_OK;
    }
    xl__str_add(&name, figure->name);
    if (!is_alone)
        xl__str_printf(&name, "-%s", dev->label ? dev->label : "device");
    xl__str_add(&name, ".svg");
    xl__str_add(&svg, "\n");
    char *path =
        name.broken ? NULL : xl__path_join(folder, xl__str_text(&name));
    const xl_status status =
        !path || svg.broken
            ? XL_NO_MEMORY
            : out_file_replace(path, xl__str_text(&svg), svg.len);
    const int kept = errno;
    free(path);
    xl__str_clear(&name);
    xl__str_clear(&svg);
    errno = kept;
    return status;
}

xl_status figure_files_write(const char *folder,
                             const struct result_file *files, size_t n)
{
    size_t n_devices = 0;
    xl_status status = XL_OK;
    struct device *list = devices_of(files, n, &n_devices);
    errno = 0;
    for (size_t i = 0; list && i < n_devices; i++)
        for (size_t f = 0; figures[f] && status == XL_OK; f++)
            status = write_one(folder, figures[f], &list[i], n_devices == 1);
    const int kept = errno;
    for (size_t i = 0; list && i < n_devices; i++)
        free(list[i].label);
    free(list);
    errno = kept;
    return list ? status : XL_NO_MEMORY;
}

bool figure_files_try(struct session *s, const char *folder)
{
    errno = 0;
    const xl_status status = xl__dir_make_shared(folder);
    if (status != XL_OK)
        return out_file_report(s, "svg", folder, status);
    char *path = xl__path_join(folder, "figure");
    const bool is_fine = path && out_file_check(s, "svg", path);
    free(path);
    return is_fine;
}
