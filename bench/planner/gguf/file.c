/* SPDX-License-Identifier: Apache-2.0 */
/* Of a file only what is parsed is kept in memory; data is read when it is
 * asked for, so that a file that another program makes shorter gives an error.
 */
#include "planner/gguf/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#ifdef _WIN32
#define SEEK _fseeki64
#define TELL _ftelli64
#else
#define SEEK fseeko
#define TELL ftello
#endif

/* Read n bytes from `at` on. */
static bool read_at(FILE *file, size_t at, size_t n, void *to)
{
    errno = 0;
    return SEEK(file, (int64_t)at, SEEK_SET) == 0 &&
           fread(to, 1, n, file) == n;
}

/* Unbuffered, so that nothing older is read; 0 bytes: errno. */
static FILE *open_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    *len = 0;
    if (!file)
        return NULL;
    (void)setvbuf(file, NULL, _IONBF, 0);
    if (SEEK(file, 0, SEEK_END) == 0) {
        const int64_t end = (int64_t)TELL(file);
        errno = end > 0 ? 0 : EINVAL;
        *len = end > 0 ? (size_t)end : 0;
    }
    return file;
}

static bool refuse(const char *path, struct xl__str *why)
{
    xl__str_printf(why, "'%s' cannot be read: %s", path,
                   errno == EINVAL || errno == EISDIR
                       ? "an empty file, or not a file"
                   : errno ? strerror(errno)
                           : "out of memory");
    return false;
}

/* The head that was tried. */
static void drop_head(struct gguf *g)
{
    free(g->value);
    free(g->tensor);
    free((void *)(uintptr_t)g->bytes);
    *g = (struct gguf){.name = g->name};
}

bool gguf_open(const char *path, struct gguf *out, struct xl__str *why)
{
    enum { HEAD = 1 << 20, GROWTH = 4 };
    size_t len, n = HEAD;
    bool is_read;
    *out = (struct gguf){.name = path};
    FILE *file = open_file(path, &len);
    for (;;) {
        n = xl__min_size(n, len);
        void *bytes = n > 0 ? malloc(n) : NULL;
        if (!bytes || !read_at(file, 0, n, bytes)) {
            is_read = refuse(path, why);
            free(bytes);
            break;
        }
        is_read = gguf_parse_head(path, bytes, n, len, out, why);
        if (!out->is_cut)
            break;
        xl__str_reset(why);
        drop_head(out);
        n = n > len / GROWTH ? len : GROWTH * n;
    }
    if (out->bytes)
        out->file = file;
    else if (file)
        (void)fclose(file);
    return is_read;
}

void gguf_clear(struct gguf *g)
{
    FILE *file = g->file;
    if (!file)
        g->bytes = NULL; /* the caller's */
    else
        (void)fclose(file);
    drop_head(g);
    g->name = NULL;
}

xl_status gguf_read(const struct gguf_tensor *t, size_t at, size_t n, void *to)
{
    struct gguf *g = t->of;
    const size_t from = t->at + at;
    if (from <= g->n_bytes && n <= g->n_bytes - from) {
        memcpy(to, g->bytes + from, n);
        return XL_OK;
    }
    if (read_at(g->file, from, n, to))
        return XL_OK;
    xl__strfmt(g->failure, sizeof g->failure, "'%s', byte %zu: %s", g->name,
               from,
               ferror(g->file) && errno ? strerror(errno)
                                        : "the file became shorter while it "
                                          "was read");
    clearerr(g->file);
    return XL_IO;
}
