/* SPDX-License-Identifier: Apache-2.0 */
/* Source texts of kernels. Includes are resolved here, not by the driver's -I:
 * some drivers do not include the included files in the key of their own cache
 * (NV-22), and an embedded text has no folder. */
#include "runtime/store/sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"

enum { MAX_INCLUDES = 16 };

struct loading {
    const char *cl_dir, *epilogue;
    const struct xl__embedded *embedded;
    struct xl__error *error;
    char *seen[MAX_INCLUDES]; /* paths included so far */
    unsigned n_seen;
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

/* The name in a line `#include "x.clh"`, copied; NULL for any other line. */
static char *parse_include(const char *line, size_t len)
{
    static const char word[] = "#include \"";
    const size_t n = sizeof word - 1;
    if (len <= n || strncmp(line, word, n) != 0)
        return NULL;
    const char *end = memchr(line + n, '"', len - n);
    if (!end)
        return NULL;
    const size_t n_name = (size_t)(end - line) - n;
    char *name = xl__calloc(n_name + 1, 1);
    if (name)
        memcpy(name, line + n, n_name);
    return name;
}

/* Adds `name`, which it frees or keeps, to the files seen; false if it was
 * seen before. */
static bool add_seen(struct loading *l, char *name)
{
    for (unsigned i = 0; i < l->n_seen; i++) {
        if (strcmp(l->seen[i], name) == 0) {
            free(name);
            return false;
        }
    }
    if (l->n_seen == MAX_INCLUDES) {
        free(name);
        return false;
    }
    l->seen[l->n_seen++] = name;
    return true;
}

static xl_status append_file(struct loading *l, const char *name,
                             struct xl__str *out);

/* Copies the text and replaces each #include line. */
static xl_status expand_includes(struct loading *l, const char *name,
                                 const char *text, struct xl__str *out)
{
    xl_status status = XL_OK;
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        const size_t n = end ? (size_t)(end - line) + 1 : strlen(line);
        char *other = parse_include(line, n);
        if (!other)
            xl__str_add_n(out, line, n);
        else if (add_seen(l, other))
            TRY(append_file(l, l->seen[l->n_seen - 1], out));
        line += n;
    }
    if (out->broken)
        status = xl__error_set(l->error, XL_NO_MEMORY, "kernel %s", name);
fail:
    return status;
}

static xl_status append_file(struct loading *l, const char *name,
                             struct xl__str *out)
{
    char *text = NULL;
    size_t len = 0;
    if (l->epilogue && strcmp(name, "common/epilogue.clh") == 0)
        return expand_includes(l, name, l->epilogue, out);
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
                        .epilogue = from->epilogue,
                        .embedded = from->embedded,
                        .error = e};
    const xl_status status =
        from->text ? expand_includes(&l, from->name, from->text, out)
                   : append_file(&l, from->name, out);
    for (unsigned i = 0; i < l.n_seen; i++)
        free(l.seen[i]);
    return status;
}
