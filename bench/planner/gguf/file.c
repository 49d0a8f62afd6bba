/* SPDX-License-Identifier: Apache-2.0 */
/* Files are mapped: models are large, and most of a file is read once. */
#include "planner/gguf/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include "base/os/files.h"
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* The bytes of a file; NULL: errno. */
static void *map_file(const char *path, size_t *len)
{
#ifdef _WIN32
    char *bytes = NULL;
    return xl__file_read(path, &bytes, len) == XL_OK ? bytes : NULL;
#else
    struct stat info;
    void *bytes = MAP_FAILED;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0) {
        errno = S_ISREG(info.st_mode) && info.st_size > 0 ? 0 : EINVAL;
        *len = (size_t)info.st_size;
        if (errno == 0)
            bytes = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    const int code = errno;
    (void)close(fd);
    errno = code;
    return bytes == MAP_FAILED ? NULL : bytes;
#endif
}

bool gguf_open(const char *path, struct gguf *out, struct xl__str *why)
{
    size_t len = 0;
    *out = (struct gguf){.name = path};
    errno = 0;
    void *bytes = map_file(path, &len);
    if (!bytes) {
        xl__str_printf(why, "'%s' cannot be read: %s", path,
                       errno == EINVAL ? "an empty file, or not a file"
                       : errno         ? strerror(errno)
                                       : "out of memory");
        return false;
    }
    const bool is_read = gguf_parse(path, bytes, len, out, why);
    out->is_mapped = true;
    return is_read;
}

void gguf_clear(struct gguf *g)
{
    free(g->value);
    free(g->tensor);
    if (g->is_mapped) {
        void *bytes = (void *)(uintptr_t)g->bytes;
#ifdef _WIN32
        free(bytes);
#else
        (void)munmap(bytes, g->len);
#endif
    }
    *g = (struct gguf){0};
}
