/* SPDX-License-Identifier: Apache-2.0 */
/* The list of figures, and every figure as a file of a folder. The device in a
 * file name is the device's own name in letters, digits and dashes, with a
 * number where an earlier device has the same. */
#include "report/figure_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "base/os/paths.h"
#include "charts/figure.h"
#include "cli/output_file.h"
#include "results/json.h"

/* clang-format off */
const struct figure *const figures[] = {
    &figure_roofline,
    &figure_gemm,
    &figure_conv,
    &figure_softmax,
    &figure_expr,
    &figure_pipeline,
    &figure_split,
    &figure_bandwidth,
    &figure_cache,
    &figure_coalescing,
    &figure_banks,
    &figure_transfer,
    &figure_plan,
    &figure_model,
    &figure_model_operations,
    NULL,
};
/* clang-format on */

/* -- files ---------------------------------------------------------------- */

/* A device of a file, and its part of file names. */
struct figure_device {
    const struct result_file *file;
    const json_t *json;
    char *label; /* NULL: out of memory */
};

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* "NVIDIA H200" is "nvidia-h200". */
char *figure_files_label(const char *name)
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

/* Appends a number to the label of the second, third, ... device of a name. */
static void number_labels(struct figure_device *list, size_t n)
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

/* The devices of all files, in order; NULL: out of memory. */
static struct figure_device *list_devices(const struct result_file *files,
                                          size_t n, size_t *n_devices)
{
    *n_devices = 0;
    for (size_t i = 0; i < n; i++)
        *n_devices += files[i].n_devices;
    struct figure_device *list = xl__calloc(*n_devices + 1, sizeof *list);
    for (size_t i = 0, at = 0; list && i < n; i++) {
        const json_t *devices = json_object_get(files[i].document, "devices");
        for (size_t j = 0; j < files[i].n_devices; j++, at++) {
            list[at].file = &files[i];
            list[at].json = json_array_get(devices, j);
            list[at].label =
                figure_files_label(json_text_at(list[at].json, "name"));
        }
    }
    if (list)
        number_labels(list, *n_devices);
    return list;
}

/* Writes one figure of a device; XL_OK without a file when the device has no
 * data for it. Keeps errno. */
static xl_status write_figure(const char *folder, const struct figure *figure,
                              const struct figure_device *dev, bool is_only)
{
    struct xl__str svg = {0}, name = {0};
    if (!figure->draw(dev->file, dev->json, &svg)) {
        xl__str_clear(&svg);
        return XL_OK;
    }
    xl__str_add(&name, figure->name);
    if (!is_only)
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
    struct figure_device *list = list_devices(files, n, &n_devices);
    errno = 0;
    for (size_t i = 0; list && i < n_devices; i++)
        for (size_t f = 0; figures[f] && status == XL_OK; f++)
            status =
                write_figure(folder, figures[f], &list[i], n_devices == 1);
    const int kept = errno;
    for (size_t i = 0; list && i < n_devices; i++)
        free(list[i].label);
    free(list);
    errno = kept;
    return list ? status : XL_NO_MEMORY;
}

bool figure_files_check(struct session *s, const char *folder)
{
    errno = 0;
    const xl_status status = xl__dir_create_shared(folder);
    if (status != XL_OK)
        return out_file_report(s, "svg", folder, status);
    char *path = xl__path_join(folder, "figure");
    const bool is_fine = path && out_file_check(s, "svg", path);
    free(path);
    return is_fine;
}
