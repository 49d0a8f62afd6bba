/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders on POSIX systems. Uses system calls, not stdio, so that a
 * short write or a full disk is reported by the call in which it occurs, also
 * under a fault injector. A folder is private when no other user can create
 * files in it; only a private folder may contain programs that drivers run. */
#define _XOPEN_SOURCE 700 /* realpath() */
#define _DARWIN_C_SOURCE  /* flock(), which others show anyway */
#include "base/os/files.h"

#ifndef _WIN32
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/str.h"

enum {
    CHUNK = 1 << 30, /* some systems refuse more in one call */
    FIRST_READ = 1 << 12,
    FILE_MODE = 0666, /* less the umask */
    NAME_TRIES = 100
};

/* Closes and keeps errno, the reason of an earlier failure. */
static void close_quietly(int fd)
{
    int kept = errno;
    close(fd);
    errno = kept;
}

static void unlink_quietly(const char *path)
{
    int kept = errno;
    unlink(path);
    errno = kept;
}

static int open_retrying(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, FILE_MODE);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* -- reading ---------------------------------------------------------------*/

/* Reads to the end of the file. The buffer has the size of the file plus a
 * byte for the last read(), and grows where that size is wrong (a pipe, a file
 * that is being written). */
static xl_status read_all(int fd, char **bytes, size_t *len, size_t *cap)
{
    struct stat info;
    size_t guess = FIRST_READ;
    if (fstat(fd, &info) == 0 && info.st_size > 0)
        guess = (size_t)info.st_size + 2;
    for (;;) {
        size_t need = xl__max_size(*len + 2, guess);
        if (!xl__grow(bytes, cap, need, 1))
            return XL_NO_MEMORY;
        size_t room = xl__min_size(*cap - *len - 1, CHUNK);
        ssize_t n = read(fd, *bytes + *len, room);
        if (n < 0 && errno != EINTR)
            return XL_IO;
        if (n == 0)
            return XL_OK;
        *len += n > 0 ? (size_t)n : 0;
    }
}

xl_status xl__file_read(const char *path, char **bytes, size_t *len)
{
    size_t cap = 0;
    *bytes = NULL;
    *len = 0;
    int fd = open_retrying(path, O_RDONLY);
    if (fd < 0)
        return XL_IO;
    xl_status status = read_all(fd, bytes, len, &cap);
    close_quietly(fd);
    if (status == XL_OK) {
        (*bytes)[*len] = 0;
        return XL_OK;
    }
    free(*bytes);
    *bytes = NULL;
    *len = 0;
    return status;
}

/* -- writing ---------------------------------------------------------------*/

/* The status of a failed write, by errno. */
static xl_status status_of_write_error(void)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? XL_NO_SPACE
                                                                : XL_IO;
}

/* Writes all bytes and closes. A network file system may report a full disk
 * only in close(). */
static xl_status write_and_close(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, xl__min_size(len, CHUNK));
        if (n == 0)
            errno = EIO;
        if (n <= 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close_quietly(fd);
            return status_of_write_error();
        }
        bytes += n;
        len -= (size_t)n;
    }
    return close(fd) == 0 || errno == EINTR ? XL_OK : status_of_write_error();
}

/* A number that differs between processes, between hosts that share a folder
 * and between calls, so that names rarely collide; O_EXCL detects a collision.
 */
static unsigned long long unique_number(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long address = (unsigned long long)(uintptr_t)&now;
    unsigned long long ns = (unsigned long long)now.tv_nsec;
    return ((unsigned long long)now.tv_sec << 32 ^ ns ^ address << 20) *
           0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio */
}

/* Opens a new file in the folder of `path`. The length of its name does not
 * depend on path's. */
static xl_status open_temporary(const char *path, struct xl__str *name,
                                int *fd)
{
    const char *slash = strrchr(path, '/');
    size_t dir_len = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    for (int i = 0; i < NAME_TRIES; i++) {
        xl__str_reset(name);
        xl__str_add_n(name, path, dir_len);
        xl__str_printf(name, "%s%ld-%d-%016llx%s", XL__TEMPORARY_PREFIX,
                       (long)getpid(), i, unique_number(),
                       XL__TEMPORARY_SUFFIX);
        if (name->broken)
            return XL_NO_MEMORY;
        *fd = open_retrying(name->text, O_WRONLY | O_CREAT | O_EXCL);
        if (*fd >= 0)
            return XL_OK;
        if (errno != EEXIST)
            return status_of_write_error();
    }
    return XL_IO;
}

static xl_status write_and_rename(const char *path, const char *bytes,
                                  size_t len)
{
    struct xl__str name = {0};
    int fd;
    xl_status status = open_temporary(path, &name, &fd);
    if (status != XL_OK)
        goto end;
    status = write_and_close(fd, bytes, len);
    if (status == XL_OK && rename(name.text, path) != 0)
        status = status_of_write_error();
    if (status != XL_OK)
        unlink_quietly(name.text);
end:
    xl__str_clear(&name);
    return status;
}

static xl_status write_in_place(const char *path, const char *bytes,
                                size_t len)
{
    int fd = open_retrying(path, O_WRONLY);
    return fd >= 0 ? write_and_close(fd, bytes, len) : status_of_write_error();
}

xl_status xl__file_replace(const char *path, const void *bytes, size_t len)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return write_and_rename(path, bytes, len);
    if (!S_ISREG(info.st_mode))
        return write_in_place(path, bytes, len);
    char *real = realpath(path, NULL);
    xl_status status =
        write_and_rename(real != NULL ? real : path, bytes, len);
    free(real);
    return status;
}

xl_status xl__file_append(const char *path, const void *bytes, size_t len)
{
    int fd = open_retrying(path, O_WRONLY | O_CREAT | O_APPEND);
    return fd >= 0 ? write_and_close(fd, bytes, len) : status_of_write_error();
}

/* -- locks -----------------------------------------------------------------*/

/* flock(), because locks of fcntl() belong to the process: two of its threads
 * would both get the lock. */
xl_status xl__file_lock_take(const char *path, unsigned patience_ms,
                             struct xl__file_lock *out)
{
    enum { STEP_MS = 10, NS_PER_MS = 1000000 };
    int fd = open_retrying(path, O_RDWR | O_CREAT);
    out->handle = -1;
    if (fd < 0)
        return XL_IO;
    for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0;
         waited += STEP_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            close_quietly(fd);
            return XL_IO;
        }
        if (waited >= patience_ms) {
            close(fd);
            errno = EBUSY;
            return XL_IO;
        }
        xl__sleep_ns((uint64_t)STEP_MS * NS_PER_MS);
    }
    out->handle = fd;
    return XL_OK;
}

void xl__file_lock_drop(struct xl__file_lock *lock)
{
    if (lock->handle >= 0)
        close_quietly((int)lock->handle);
    lock->handle = -1;
}

/* -- one file --------------------------------------------------------------*/

bool xl__file_stat(const char *path, struct xl__file_info *out)
{
    static const int64_t NS_PER_S = 1000000000;
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
#ifdef __APPLE__
    struct timespec used = info.st_mtimespec;
#else
    struct timespec used = info.st_mtim;
#endif
    out->bytes = (uint64_t)info.st_size;
    out->used_unix_ns = (int64_t)used.tv_sec * NS_PER_S + used.tv_nsec;
    return true;
}

bool xl__file_touch(const char *path)
{
    return utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

bool xl__file_remove(const char *path)
{
    return unlink(path) == 0;
}

/* -- folders ---------------------------------------------------------------*/

enum { DIR_MODE = 0700, SHARED_MODE = 0777, SCAN_DEPTH = 2 };

static xl_status fail_because(const char **why, const char *reason)
{
    if (why != NULL)
        *why = reason;
    return XL_IO;
}

xl_status xl__dir_check(const char *path, const char **why)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return fail_because(why, "it cannot be reached");
    errno = 0;
    if (!S_ISDIR(info.st_mode))
        return fail_because(why, "it is not a folder");
    if (info.st_uid != geteuid())
        return fail_because(why, "it belongs to another user");
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fail_because(why, "other users may write to it");
    return XL_OK;
}

/* Creates the parents, found by cutting the path at each slash, then the
 * folder. */
static xl_status create_path(const char *path, mode_t mode)
{
    char *parent = xl__strdup(path);
    if (parent == NULL)
        return XL_NO_MEMORY;
    for (char *at = parent + 1; parent[0] != 0 && *at != 0; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        mkdir(parent, mode);
        *at = '/';
    }
    bool made = mkdir(parent, mode) == 0 || errno == EEXIST;
    int error = errno;
    free(parent);
    errno = error;
    return made ? XL_OK : XL_IO;
}

xl_status xl__dir_create(const char *path, const char **why)
{
    const xl_status status = create_path(path, DIR_MODE);
    if (status == XL_OK)
        return xl__dir_check(path, why);
    return status == XL_IO ? fail_because(why, strerror(errno)) : status;
}

xl_status xl__dir_create_shared(const char *path)
{
    struct stat info;
    const xl_status status = create_path(path, SHARED_MODE);
    if (status != XL_OK || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return status;
    errno = ENOTDIR;
    return XL_IO;
}

/* Scans one folder, named by `path`, which is restored on return. */
static xl_status scan_folder(struct xl__str *path, int depth,
                             bool (*each)(const char *path, void *), void *arg,
                             bool *go_on)
{
    size_t len = path->len;
    xl_status status = XL_OK;
    DIR *dir = opendir(path->text);
    if (dir == NULL)
        return XL_IO;
    for (struct dirent *e; *go_on && (e = readdir(dir)) != NULL;) {
        struct stat info;
        if (xl__streq(e->d_name, ".") || xl__streq(e->d_name, ".."))
            continue;
        xl__str_printf(path, "/%s", e->d_name);
        if (path->broken) {
            status = XL_NO_MEMORY;
            break;
        }
        bool known = lstat(path->text, &info) == 0;
        if (known && S_ISREG(info.st_mode))
            *go_on = each(path->text, arg);
        else if (known && S_ISDIR(info.st_mode) && depth < SCAN_DEPTH)
            scan_folder(path, depth + 1, each, arg, go_on);
        path->len = len;
        path->text[len] = 0;
    }
    closedir(dir);
    return status;
}

xl_status xl__dir_scan(const char *dir, bool (*each)(const char *path, void *),
                       void *arg)
{
    struct xl__str path = {0};
    bool go_on = true;
    xl__str_add(&path, dir);
    xl_status status =
        path.broken ? XL_NO_MEMORY : scan_folder(&path, 0, each, arg, &go_on);
    int kept = errno;
    xl__str_clear(&path);
    errno = kept;
    return status;
}

xl_status xl__dir_names(const char *dir,
                        bool (*each)(const char *name, void *), void *arg)
{
    bool go_on = true;
    DIR *opened = opendir(dir);
    if (opened == NULL)
        return XL_IO;
    for (struct dirent *e; go_on && (e = readdir(opened)) != NULL;)
        if (!xl__streq(e->d_name, ".") && !xl__streq(e->d_name, ".."))
            go_on = each(e->d_name, arg);
    closedir(opened);
    return XL_OK;
}

enum xl__access xl__path_access(const char *path)
{
    if (access(path, R_OK | W_OK) == 0)
        return XL__WRITABLE;
    if (access(path, R_OK) == 0)
        return XL__READABLE;
    return access(path, F_OK) == 0 || errno == EACCES ? XL__DENIED
                                                      : XL__ABSENT;
}

/* -- shared libraries ------------------------------------------------------*/

void *xl__dlopen(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *xl__dlsym(void *library, const char *symbol)
{
    return dlsym(library, symbol);
}

void xl__dlclose(void *library)
{
    if (library != NULL)
        dlclose(library);
}
#endif
