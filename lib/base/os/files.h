/* SPDX-License-Identifier: Apache-2.0 */
/* Files, whole and at once. POSIX (files.c, folders.c) and Windows
 * (files_windows.c) live behind this. Where a result says "errno kept", errno
 * tells why. */
#ifndef XL_BASE_FILES_H
#define XL_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/status.h>

/* Read a whole file, a 0 byte after its end; free() it. XL_IO (errno kept),
 * XL_NO_MEMORY. */
xl_status xl__file_read(const char *path, char **bytes, size_t *len);

/* Replace `path` whole: write a temporary of a unique name beside it, rename.
 * On failure the old file stands and the temporary is gone: XL_NO_SPACE,
 * XL_IO (errno kept), XL_NO_MEMORY. A link is followed; what is no plain file
 * (/dev/null) is written to as it is. Not forced to the disk: after a power
 * cut the file may be damaged. */
xl_status xl__file_replace(const char *path, const void *bytes, size_t len);

/* Add to a file's end, made if it is not there, in one write: what a killed
 * writer leaves is torn at its end at most. XL_NO_SPACE, XL_IO (errno kept). */
xl_status xl__file_append(const char *path, const void *bytes, size_t len);

/* Hold the lock that the file at `path` stands for, made if it is not there;
 * its bytes mean nothing. Excludes other threads as well as other processes,
 * and goes with the process that dies. XL_IO: could not be had (errno kept;
 * EBUSY: another holds it for longer than `patience_ms`). */
struct xl__file_lock { intptr_t handle; };
xl_status xl__file_lock_take(const char *path, unsigned patience_ms,
                             struct xl__file_lock *out);
void xl__file_lock_drop(struct xl__file_lock *lock);

/* How a temporary's file name begins and ends; a writer that was killed leaves
 * one. */
#define XL__TEMPORARY_PREFIX ".xl-"
#define XL__TEMPORARY_SUFFIX ".tmp"

/* Make a folder and its parents, mode 0700. XL_OK if it is there already and
 * is private; else XL_IO, with a reason if `why` is not NULL (static). */
xl_status xl__dir_create(const char *path, const char **why);
/* The same of a folder that others may see, as the umask has it: errno kept
 * with XL_IO. */
xl_status xl__dir_create_shared(const char *path);
/* Is it a folder, ours, and not writable by others? XL_IO and `why` as above;
 * errno is ENOENT when it is not there. */
xl_status xl__dir_check(const char *path, const char **why);

struct xl__file_info {
    uint64_t bytes;
    int64_t used_unix_ns; /* modification time: xl__file_touch() sets it */
};
/* Of a plain file, not of a link; false otherwise. */
bool xl__file_stat(const char *path, struct xl__file_info *out);
bool xl__file_touch(const char *path); /* used now */
bool xl__file_remove(const char *path);

/* Call `each` with every plain file's path below `dir`, two folders deep at
 * most; false from `each` ends it. Links are not followed. XL_IO when dir
 * cannot be read (errno kept), XL_NO_MEMORY. */
xl_status xl__dir_scan(const char *dir, bool (*each)(const char *path, void *),
                       void *arg);

/* Call `each` with every name in `dir`, of whatever kind, links too; false
 * from `each` ends it. XL_IO when dir cannot be read (errno kept). */
xl_status xl__dir_names(const char *dir,
                        bool (*each)(const char *name, void *), void *arg);

enum xl__access { XL__ABSENT, XL__DENIED, XL__READABLE, XL__WRITABLE };
/* What this user may do with a path of any kind. Opens nothing. */
enum xl__access xl__path_access(const char *path);

/* A shared library opened at run time; NULL when absent. */
void *xl__dlopen(const char *name);
void *xl__dlsym(void *library, const char *symbol);
void xl__dlclose(void *library);

#endif
