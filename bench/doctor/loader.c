/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration of the OpenCL loader. Loaders search for drivers in
 * OCL_ICD_VENDORS, which both common loaders support, then OPENCL_VENDOR_PATH,
 * then /etc/OpenCL/vendors. A variable may name a folder, one .icd file or a
 * library (observed with ocl-icd 2.3.1). */
#include "doctor/loader.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "base/str.h"

static const char default_folder[] = "/etc/OpenCL/vendors";

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* The first line of a file without surrounding blanks; NULL if it is empty. */
static char *first_line(const char *path)
{
    struct xl__str line = {0};
    char *bytes = NULL;
    size_t len = 0;
    if (xl__file_read(path, &bytes, &len) != XL_OK)
        return NULL;
    const char *at = bytes + strspn(bytes, " \t");
    len = strcspn(at, "\r\n");
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    if (len > 0)
        xl__str_add_n(&line, at, len);
    free(bytes);
    return len > 0 ? xl__str_steal(&line) : NULL;
}

/* Takes ownership of both strings. */
static void add_icd(struct icds *icds, char *file, char *library)
{
    if (!xl__grow(&icds->list, &icds->cap, icds->n + 1, sizeof *icds->list)) {
        free(file);
        free(library);
        return;
    }
    icds->list[icds->n++] = (struct icd){file, library};
}

/* Adds a directory entry if it is an .icd file. */
static bool add_name(const char *name, void *arg)
{
    struct icds *icds = arg;
    if (!ends_with(name, ".icd"))
        return true;
    char *file = xl__path_join(icds->location, name);
    add_icd(icds, file, file ? first_line(file) : NULL);
    return true;
}

static int by_file(const void *a, const void *b)
{
    const struct icd *x = a, *y = b;
    return strcmp(x->file ? x->file : "", y->file ? y->file : "");
}

/* Adds a single .icd file; a name without a folder is in the default
 * folder. */
static void add_file(struct icds *icds)
{
    bool is_bare = !strchr(icds->location, '/');
    char *file = is_bare ? xl__path_join(default_folder, icds->location)
                         : xl__strdup(icds->location);
    icds->is_read = file && xl__path_access(file) >= XL__READABLE;
    add_icd(icds, file, file ? first_line(file) : NULL);
}

void icds_read(struct icds *out)
{
    static const char *const variables[] = {"OCL_ICD_VENDORS",
                                            "OPENCL_VENDOR_PATH"};
    *out = (struct icds){.location = default_folder};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (out->variable || !value || !*value)
            continue;
        out->variable = variables[i];
        out->location = value;
    }
    if (xl__dir_names(out->location, add_name, out) == XL_OK) {
        out->is_read = true;
        if (out->n > 1)
            qsort(out->list, out->n, sizeof *out->list, by_file);
    } else if (ends_with(out->location, ".icd")) {
        add_file(out);
    } else if (strstr(out->location, ".so")) {
        out->is_read = true;
        add_icd(out, NULL, xl__strdup(out->location));
    }
}

void icds_clear(struct icds *icds)
{
    for (size_t i = 0; i < icds->n; i++) {
        free(icds->list[i].file);
        free(icds->list[i].library);
    }
    free(icds->list);
    *icds = (struct icds){.location = default_folder};
}

char *icd_loader_path(void)
{
    struct xl__str path = {0};
    char *maps = NULL;
    size_t len = 0;
    if (xl__file_read("/proc/self/maps", &maps, &len) != XL_OK)
        return NULL;
    const char *name = strstr(maps, "/libOpenCL");
    if (name) {
        const char *start = name;
        while (start > maps && start[-1] != '\n')
            start--;
        start += strcspn(start, "/");
        xl__str_add_n(&path, start, strcspn(start, "\n"));
    }
    free(maps);
    return xl__str_steal(&path);
}
