/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders on Windows. Names are in the code page of the process,
 * which is UTF-8 with a manifest that requests it. Folders inherit the access
 * list of the user's profile, which excludes other users. */
#include "base/os/files.h"

#ifdef _WIN32
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "base/str.h"

enum { CHUNK = 1 << 30, FIRST_READ = 1 << 12, SCAN_DEPTH = 2 };

/* Sets errno from GetLastError() and returns the status. Callers distinguish
 * only these values of errno. */
static xl_status status_of_last_error(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        errno = ENOENT;
        return XL_IO;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        errno = EACCES;
        return XL_IO;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        errno = ENOSPC;
        return XL_NO_SPACE;
    default:
        errno = EIO;
        return XL_IO;
    }
}

static HANDLE open_to_read(const char *path)
{
    return CreateFileA(path, GENERIC_READ,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
}

static xl_status read_all(HANDLE file, char **bytes, size_t *len, size_t *cap)
{
    for (;;) {
        DWORD n = 0;
        if (!xl__grow(bytes, cap, xl__max_size(*len + 2, FIRST_READ), 1))
            return XL_NO_MEMORY;
        DWORD room = (DWORD)xl__min_size(*cap - *len - 1, CHUNK);
        if (!ReadFile(file, *bytes + *len, room, &n, NULL) &&
            GetLastError() != ERROR_BROKEN_PIPE)
            return status_of_last_error();
        if (n == 0)
            return XL_OK;
        *len += n;
    }
}

xl_status xl__file_read(const char *path, char **bytes, size_t *len)
{
    size_t cap = 0;
    *bytes = NULL;
    *len = 0;
    HANDLE file = open_to_read(path);
    if (file == INVALID_HANDLE_VALUE)
        return status_of_last_error();
    xl_status status = read_all(file, bytes, len, &cap);
    CloseHandle(file);
    if (status == XL_OK) {
        (*bytes)[*len] = 0;
        return XL_OK;
    }
    free(*bytes);
    *bytes = NULL;
    *len = 0;
    return status;
}

static xl_status write_all(HANDLE file, const char *bytes, size_t len)
{
    while (len > 0) {
        DWORD n = 0;
        if (!WriteFile(file, bytes, (DWORD)xl__min_size(len, CHUNK), &n, NULL))
            return status_of_last_error();
        bytes += n;
        len -= n;
    }
    return XL_OK;
}

/* Open a new file beside `path`. */
static xl_status open_temporary(const char *path, struct xl__str *name,
                                HANDLE *file)
{
    enum { TRIES = 100 };
    size_t dir_len = strlen(path);
    while (dir_len > 0 && strchr("/\\", path[dir_len - 1]) == NULL)
        dir_len--;
    for (int i = 0; i < TRIES; i++) {
        LARGE_INTEGER ticks;
        QueryPerformanceCounter(&ticks);
        xl__str_reset(name);
        xl__str_add_n(name, path, dir_len);
        xl__str_printf(name, "%s%lu-%d-%016llx%s", XL__TEMPORARY_PREFIX,
                       (unsigned long)GetCurrentProcessId(), i,
                       (unsigned long long)ticks.QuadPart,
                       XL__TEMPORARY_SUFFIX);
        if (name->broken)
            return XL_NO_MEMORY;
        *file = CreateFileA(name->text, GENERIC_WRITE, 0, NULL, CREATE_NEW,
                            FILE_ATTRIBUTE_NORMAL, NULL);
        if (*file != INVALID_HANDLE_VALUE)
            return XL_OK;
        if (GetLastError() != ERROR_FILE_EXISTS)
            return status_of_last_error();
    }
    return XL_IO;
}

xl_status xl__file_replace(const char *path, const void *bytes, size_t len)
{
    struct xl__str name = {0};
    HANDLE file;
    xl_status status = open_temporary(path, &name, &file);
    if (status != XL_OK)
        goto end;
    status = write_all(file, bytes, len);
    if (!CloseHandle(file) && status == XL_OK)
        status = status_of_last_error();
    if (status == XL_OK &&
        !MoveFileExA(name.text, path, MOVEFILE_REPLACE_EXISTING))
        status = status_of_last_error();
    if (status != XL_OK)
        DeleteFileA(name.text);
end:
    xl__str_clear(&name);
    return status;
}

xl_status xl__file_append(const char *path, const void *bytes, size_t len)
{
    HANDLE file = CreateFileA(path, FILE_APPEND_DATA, FILE_SHARE_READ, NULL,
                              OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return status_of_last_error();
    xl_status status = write_all(file, bytes, len);
    if (!CloseHandle(file) && status == XL_OK)
        status = status_of_last_error();
    return status;
}

/* The lock is a file that is opened without sharing. */
xl_status xl__file_lock_take(const char *path, unsigned patience_ms,
                             struct xl__file_lock *out)
{
    enum { STEP_MS = 10, NS_PER_MS = 1000000 };
    for (unsigned waited = 0;; waited += STEP_MS) {
        HANDLE file = CreateFileA(path, GENERIC_WRITE, 0, NULL, OPEN_ALWAYS,
                                  FILE_ATTRIBUTE_NORMAL, NULL);
        out->handle = (intptr_t)file;
        if (file != INVALID_HANDLE_VALUE)
            return XL_OK;
        if (GetLastError() != ERROR_SHARING_VIOLATION)
            return status_of_last_error();
        if (waited >= patience_ms) {
            errno = EBUSY;
            return XL_IO;
        }
        xl__sleep_ns((uint64_t)STEP_MS * NS_PER_MS);
    }
}

void xl__file_lock_drop(struct xl__file_lock *lock)
{
    if ((HANDLE)lock->handle != INVALID_HANDLE_VALUE)
        CloseHandle((HANDLE)lock->handle);
    lock->handle = (intptr_t)INVALID_HANDLE_VALUE;
}

bool xl__file_stat(const char *path, struct xl__file_info *out)
{
    /* FILETIME counts 100 ns since 1601; this many of them until 1970. */
    static const int64_t UNTIL_1970 = 116444736000000000, NS = 100;
    WIN32_FILE_ATTRIBUTE_DATA info;
    if (!GetFileAttributesExA(path, GetFileExInfoStandard, &info) ||
        (info.dwFileAttributes &
         (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0)
        return false;
    out->bytes = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    int64_t ticks =
        (int64_t)((uint64_t)info.ftLastWriteTime.dwHighDateTime << 32 |
                  info.ftLastWriteTime.dwLowDateTime);
    out->used_unix_ns = (ticks - UNTIL_1970) * NS;
    return true;
}

bool xl__file_touch(const char *path)
{
    FILETIME now;
    HANDLE file =
        CreateFileA(path, FILE_WRITE_ATTRIBUTES,
                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    GetSystemTimeAsFileTime(&now);
    bool done = SetFileTime(file, NULL, NULL, &now);
    CloseHandle(file);
    return done;
}

bool xl__file_remove(const char *path)
{
    return DeleteFileA(path);
}

static xl_status fail_because(const char **why, const char *reason)
{
    if (why != NULL)
        *why = reason;
    return XL_IO;
}

xl_status xl__dir_check(const char *path, const char **why)
{
    DWORD attributes = GetFileAttributesA(path);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        status_of_last_error();
        return fail_because(why, "it cannot be reached");
    }
    errno = 0;
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0)
        return fail_because(why, "it is not a folder");
    return XL_OK;
}

/* Creates the parents, found by cutting the path at each separator, then the
 * folder. */
static xl_status create_path(const char *path)
{
    char *parent = xl__strdup(path);
    if (parent == NULL)
        return XL_NO_MEMORY;
    for (char *at = parent + 1; parent[0] != 0 && *at != 0; at++) {
        char separator = *at;
        if (separator != '/' && separator != '\\')
            continue;
        *at = 0;
        CreateDirectoryA(parent, NULL);
        *at = separator;
    }
    bool made = CreateDirectoryA(parent, NULL) ||
                GetLastError() == ERROR_ALREADY_EXISTS;
    xl_status status = made ? XL_OK : status_of_last_error();
    free(parent);
    return status;
}

xl_status xl__dir_create(const char *path, const char **why)
{
    const xl_status status = create_path(path);
    return status == XL_OK ? xl__dir_check(path, why)
                           : (fail_because(why, "it cannot be made"), status);
}

xl_status xl__dir_create_shared(const char *path)
{
    const char *why = NULL;
    return xl__dir_create(path, &why);
}

/* Scans one folder, named by `path`, which is restored on return. */
static xl_status scan_folder(struct xl__str *path, int depth,
                             bool (*each)(const char *path, void *), void *arg,
                             bool *go_on)
{
    const DWORD link = FILE_ATTRIBUTE_REPARSE_POINT;
    size_t len = path->len;
    WIN32_FIND_DATAA e;
    xl__str_add(path, "\\*");
    HANDLE find =
        path->broken ? INVALID_HANDLE_VALUE : FindFirstFileA(path->text, &e);
    if (find == INVALID_HANDLE_VALUE)
        return path->broken ? XL_NO_MEMORY : status_of_last_error();
    do {
        bool is_dir = (e.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        path->len = len;
        path->text[len] = 0;
        if ((e.dwFileAttributes & link) != 0 || xl__streq(e.cFileName, ".") ||
            xl__streq(e.cFileName, ".."))
            continue;
        xl__str_printf(path, "\\%s", e.cFileName);
        if (path->broken)
            break;
        if (!is_dir)
            *go_on = each(path->text, arg);
        else if (depth < SCAN_DEPTH)
            scan_folder(path, depth + 1, each, arg, go_on);
    } while (*go_on && FindNextFileA(find, &e));
    FindClose(find);
    path->len = len;
    path->text[len] = 0;
    return path->broken ? XL_NO_MEMORY : XL_OK;
}

xl_status xl__dir_scan(const char *dir, bool (*each)(const char *path, void *),
                       void *arg)
{
    struct xl__str path = {0};
    bool go_on = true;
    xl__str_add(&path, dir);
    xl_status status =
        path.broken ? XL_NO_MEMORY : scan_folder(&path, 0, each, arg, &go_on);
    xl__str_clear(&path);
    return status;
}

xl_status xl__dir_names(const char *dir,
                        bool (*each)(const char *name, void *), void *arg)
{
    struct xl__str pattern = {0};
    bool go_on = true;
    WIN32_FIND_DATAA e;
    xl__str_printf(&pattern, "%s\\*", dir);
    HANDLE find = FindFirstFileA(xl__str_text(&pattern), &e);
    xl__str_clear(&pattern);
    if (find == INVALID_HANDLE_VALUE)
        return status_of_last_error();
    do {
        if (!xl__streq(e.cFileName, ".") && !xl__streq(e.cFileName, ".."))
            go_on = each(e.cFileName, arg);
    } while (go_on && FindNextFileA(find, &e));
    FindClose(find);
    return XL_OK;
}

enum xl__access xl__path_access(const char *path)
{
    DWORD attributes = GetFileAttributesA(path);
    if (attributes == INVALID_FILE_ATTRIBUTES)
        return GetLastError() == ERROR_ACCESS_DENIED ? XL__DENIED : XL__ABSENT;
    return (attributes & FILE_ATTRIBUTE_READONLY) != 0 ? XL__READABLE
                                                       : XL__WRITABLE;
}

void *xl__dlopen(const char *name)
{
    return (void *)LoadLibraryA(name);
}

void *xl__dlsym(void *library, const char *symbol)
{
    /* Through memory: ISO C has no cast from function to object pointer. */
    FARPROC found = GetProcAddress((HMODULE)library, symbol);
    void *address;
    memcpy(&address, &found, sizeof(address));
    return address;
}

void xl__dlclose(void *library)
{
    if (library != NULL)
        FreeLibrary((HMODULE)library);
}
#endif
