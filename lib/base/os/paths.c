/* SPDX-License-Identifier: Apache-2.0 */
/* The user's folders for caches and settings. Relative values of XDG_... and
 * HOME are ignored, as the XDG Base Directory Specification 0.8 requires: they
 * would depend on the working directory. */
#include "base/os/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/auxv.h>
#endif

#ifdef _WIN32
static const char SEPARATORS[] = "\\/";
#else
static const char SEPARATORS[] = "/";
#endif

char *xl__path_join(const char *dir, const char *name)
{
    struct xl__str path = {0};
    size_t len = strlen(dir);
    xl__str_add(&path, dir);
    if (len > 0 && strchr(SEPARATORS, dir[len - 1]) == NULL)
        xl__str_add_n(&path, SEPARATORS, 1);
    xl__str_add(&path, name);
    return xl__str_steal(&path);
}

const char *xl__path_name(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at != 0; at++)
        if (strchr(SEPARATORS, *at) != NULL)
            name = at + 1;
    return name;
}

const char *xl__getenv(const char *name)
{
#if defined(_WIN32)
    const bool is_elevated = false;
#elif defined(__linux__)
    const bool is_elevated = getauxval(AT_SECURE) != 0;
#else
    const bool is_elevated = getuid() != geteuid() || getgid() != getegid();
#endif
    return is_elevated ? NULL : getenv(name);
}

#ifdef _WIN32
static char *user_folder(const char *variable, const char *name)
{
    const char *base = xl__getenv(variable);
    return base != NULL && *base != 0 ? xl__path_join(base, name) : NULL;
}

char *xl__user_cache_dir(const char *name)
{
    return user_folder("LOCALAPPDATA", name);
}

char *xl__user_config_dir(const char *name)
{
    return user_folder("APPDATA", name);
}

#else
/* The variable's value if it is an absolute path, else NULL. */
static const char *absolute_path_in(const char *variable)
{
    const char *value = xl__getenv(variable);
    return value != NULL && value[0] == '/' ? value : NULL;
}

/* Does the nearest folder of an absolute path that exists belong to a user who
 * is neither this one nor root? */
static bool is_of_other_user(const char *path)
{
    struct stat info = {0};
    char *at = xl__strdup(path);
    while (at != NULL && *at != 0 && stat(at, &info) != 0)
        *strrchr(at, '/') = 0;
    const bool is_other =
        at != NULL && *at != 0 && info.st_uid != geteuid() && info.st_uid != 0;
    free(at);
    return is_other;
}

/* The folder in `variable` (NULL: no variable), else below the home folder. */
static char *user_folder(const char *variable, const char *below_home,
                         const char *name)
{
    const char *base = variable != NULL ? absolute_path_in(variable) : NULL;
    const char *home = absolute_path_in("HOME");
    char *all = base != NULL   ? xl__strdup(base)
                : home != NULL ? xl__path_join(home, below_home)
                               : NULL;
    char *dir = all != NULL && !is_of_other_user(all)
                    ? xl__path_join(all, name)
                    : NULL;
    free(all);
    return dir;
}

#ifdef __APPLE__
char *xl__user_cache_dir(const char *name)
{
    return user_folder(NULL, "Library/Caches", name);
}

char *xl__user_config_dir(const char *name)
{
    return user_folder(NULL, "Library/Application Support", name);
}
#else
char *xl__user_cache_dir(const char *name)
{
    return user_folder("XDG_CACHE_HOME", ".cache", name);
}

char *xl__user_config_dir(const char *name)
{
    return user_folder("XDG_CONFIG_HOME", ".config", name);
}
#endif
#endif
