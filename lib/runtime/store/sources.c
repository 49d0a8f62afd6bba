/* SPDX-License-Identifier: Apache-2.0 */
/* Source texts of kernels. Includes are resolved here, not by the driver's -I:
 * some drivers do not include the included files in the key of their own cache
 * (NV-22), and an embedded text has no folder. */
#include "runtime/store/sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"

struct loading {
    const char *cl_dir, *const *hook;
    const struct xl__embedded *embedded;
    bool keeps_headers;
    struct xl__error *error;
    char **seen; /* paths included so far */
    size_t n_seen, cap_seen;
};

/* The file below `cl_dir`. */
static xl_status read_from_dir(struct loading *l, const char *name,
                               char **text, size_t *len)
{
    xl_status status = XL_NO_MEMORY;
    struct xl__str path = {0};
    xl__str_add(&path, l->cl_dir);
    xl__str_add(&path, "/");
    xl__str_add(&path, name);
    if (!path.broken)
        status = xl__file_read(path.text, text, len);
    if (status != XL_OK)
        xl__error_set(l->error, status, "kernel %s: not readable below %s",
                      name, l->cl_dir);
    xl__str_clear(&path);
    return status;
}

static const struct xl__embedded *
find_embedded(const struct xl__embedded *table, const char *name)
{
    while (table && table->name && strcmp(table->name, name) != 0)
        table++;
    return table && table->name ? table : NULL;
}

static xl_status read_text(struct loading *l, const char *name, char **text,
                           size_t *len)
{
    if (l->cl_dir)
        return read_from_dir(l, name, text, len);
    const struct xl__embedded *e = find_embedded(l->embedded, name);
    if (!e)
        e = find_embedded(xl__embedded, name);
    if (!e)
        return xl__error_set(l->error, XL_IO, "kernel %s is not embedded",
                             name);
    *text = xl__calloc(e->len + 1, 1);
    if (!*text)
        return xl__error_set(l->error, XL_NO_MEMORY, "kernel %s", name);
    memcpy(*text, e->text, e->len);
    *len = e->len;
    return XL_OK;
}

/* *name is the name in a line `#include "x.clh"` that is to be replaced,
 * copied; NULL for any other line. */
static xl_status parse_include(const struct loading *l, const char *line,
                               size_t len, char **name)
{
    static const char word[] = "#include \"", header[] = ".clh";
    const size_t n = sizeof word - 1;
    *name = NULL;
    if (len <= n || strncmp(line, word, n) != 0)
        return XL_OK;
    const char *end = memchr(line + n, '"', len - n);
    if (!end)
        return XL_OK;
    const size_t n_name = (size_t)(end - line) - n, n_header = strlen(header);
    if (l->keeps_headers && n_name > n_header &&
        strncmp(end - n_header, header, n_header) == 0)
        return XL_OK;
    *name = xl__calloc(n_name + 1, 1);
    if (!*name)
        return XL_NO_MEMORY;
    memcpy(*name, line + n, n_name);
    return XL_OK;
}

static bool is_seen(const struct loading *l, const char *name)
{
    for (size_t i = 0; i < l->n_seen; i++) {
        if (strcmp(l->seen[i], name) == 0)
            return true;
    }
    return false;
}

static xl_status append_file(struct loading *l, const char *name,
                             struct xl__str *out);

/* Appends the file `name`, which it frees or keeps, unless it was seen before.
 */
static xl_status append_include(struct loading *l, char *name,
                                struct xl__str *out)
{
    if (is_seen(l, name)) {
        free(name);
        return XL_OK;
    }
    if (!xl__grow(&l->seen, &l->cap_seen, l->n_seen + 1, sizeof *l->seen)) {
        free(name);
        return XL_NO_MEMORY;
    }
    l->seen[l->n_seen++] = name;
    return append_file(l, name, out);
}

/* Copies the text and replaces each #include line. */
static xl_status expand_includes(struct loading *l, const char *name,
                                 const char *text, struct xl__str *out)
{
    xl_status status = XL_OK;
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        const size_t n = end ? (size_t)(end - line) + 1 : strlen(line);
        char *other;
        TRY(parse_include(l, line, n, &other));
        if (other)
            TRY(append_include(l, other, out));
        else
            xl__str_add_n(out, line, n);
        line += n;
    }
    if (out->broken)
        status = XL_NO_MEMORY;
fail:
    if (status == XL_NO_MEMORY)
        xl__error_set(l->error, status, "kernel %s", name);
    return status;
}

static const char *const hook_file[XL__N_HOOKS] = {
    [XL__PROLOGUE] = "common/prologue.clh",
    [XL__EPILOGUE] = "common/epilogue.clh"};

static xl_status append_file(struct loading *l, const char *name,
                             struct xl__str *out)
{
    char *text = NULL;
    size_t len = 0;
    for (unsigned i = 0; i < XL__N_HOOKS; i++) {
        if (l->hook[i] && strcmp(name, hook_file[i]) == 0)
            return expand_includes(l, name, l->hook[i], out);
    }
    xl_status status = read_text(l, name, &text, &len);
    if (status == XL_OK)
        status = expand_includes(l, name, text, out);
    free(text);
    return status;
}

xl_status xl__kernel_source_load(const struct xl__kernel_source *from,
                                 struct xl__str *out, struct xl__error *e)
{
    struct loading l = {.cl_dir = from->cl_dir,
                        .hook = from->hook,
                        .embedded = from->embedded,
                        .keeps_headers = from->keeps_headers,
                        .error = e};
    const xl_status status =
        from->text ? expand_includes(&l, from->name, from->text, out)
                   : append_file(&l, from->name, out);
    for (size_t i = 0; i < l.n_seen; i++)
        free(l.seen[i]);
    free(l.seen);
    return status;
}
