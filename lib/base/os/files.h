/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders: whole files are read and replaced at once. Implemented
 * for POSIX systems in files.c and for Windows in files_windows.c. "errno
 * kept" means that errno has the reason of the failure. */
#ifndef XL_BASE_FILES_H
#define XL_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/status.h>

/* Read a whole file into heap memory, with a 0 byte after its end. XL_IO
 * (errno kept), XL_NO_MEMORY. */
xl_status xl__file_read(const char *path, char **bytes, size_t *len);

/* Replace a file: write a temporary file with a unique name in the same
 * folder, then rename it. On failure the old file is unchanged and the
 * temporary is removed: XL_NO_SPACE, XL_IO (errno kept), XL_NO_MEMORY. A
 * symbolic link is followed; something other than a regular file (/dev/null)
 * is written in place. The data is not synchronised to disk: after a power
 * failure the file may be damaged. */
xl_status xl__file_replace(const char *path, const void *bytes, size_t len);

/* Append to a file, which is created if it does not exist, in one write: a
 * writer that is killed can leave only an incomplete end. XL_NO_SPACE, XL_IO
 * (errno kept). */
xl_status xl__file_append(const char *path, const void *bytes, size_t len);

/* Take the lock that the file at `path` represents; the file is created if it
 * does not exist, and its contents are not used. The lock excludes other
 * threads and other processes, and ends with the process. XL_IO: not taken
 * (errno kept; EBUSY: not free within `patience_ms`). */
struct xl__file_lock { intptr_t handle; };
xl_status xl__file_lock_take(const char *path, unsigned patience_ms,
                             struct xl__file_lock *out);
void xl__file_lock_drop(struct xl__file_lock *lock);

/* Start and end of the name of a temporary file. A writer that is killed
 * leaves one. */
#define XL__TEMPORARY_PREFIX ".xl-"
#define XL__TEMPORARY_SUFFIX ".tmp"

/* Create a folder and its parents, mode 0700. XL_OK also if it exists and is
 * private (xl__dir_check()); else XL_IO, with the reason in *why unless `why`
 * is NULL. */
xl_status xl__dir_create(const char *path, const char **why);
/* The same for a folder that others may read, with the mode of the umask.
 * XL_IO (errno kept). */
xl_status xl__dir_create_shared(const char *path);
/* Check that a path is a folder of this user that no other user may write to.
 * XL_IO and *why as above; errno is ENOENT when it does not exist. */
xl_status xl__dir_check(const char *path, const char **why);

struct xl__file_info {
    uint64_t bytes;
    int64_t used_unix_ns; /* modification time: xl__file_touch() sets it */
};
/* Size and time of a regular file; false for anything else, also a link. */
bool xl__file_stat(const char *path, struct xl__file_info *out);
bool xl__file_touch(const char *path); /* sets used_unix_ns to now */
bool xl__file_remove(const char *path);

/* Call `each` with the path of every regular file in `dir` and in folders up
 * to two levels below it, until `each` returns false. Links are not followed.
 * XL_IO when dir cannot be read (errno kept), XL_NO_MEMORY. */
xl_status xl__dir_scan(const char *dir, bool (*each)(const char *path, void *),
                       void *arg);

/* Call `each` with every name in `dir`, of any kind of file, until `each`
 * returns false. XL_IO when dir cannot be read (errno kept). */
xl_status xl__dir_names(const char *dir,
                        bool (*each)(const char *name, void *), void *arg);

enum xl__access { XL__ABSENT, XL__DENIED, XL__READABLE, XL__WRITABLE };
/* Access of this user to a path of any kind. The file is not opened. */
enum xl__access xl__path_access(const char *path);

/* Open a shared library at run time; NULL when it does not exist. */
void *xl__dlopen(const char *name);
void *xl__dlsym(void *library, const char *symbol);
void xl__dlclose(void *library);

#endif
