/* SPDX-License-Identifier: Apache-2.0 */
/* Where the user's caches live. A relative XDG_CACHE_HOME or HOME is ignored,
 * as the XDG Base Directory Specification 0.8 asks: it would scatter caches
 * over working folders. */
#include "base/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

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

#ifdef _WIN32
char *xl__user_cache_dir(const char *name)
{
    const char *base = getenv("LOCALAPPDATA");
    return base != NULL && *base != 0 ? xl__path_join(base, name) : NULL;
}

#else
/* The variable's value if it is an absolute path, else NULL. */
static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] == '/' ? value : NULL;
}

char *xl__user_cache_dir(const char *name)
{
#ifdef __APPLE__
    const char *base = NULL, *below_home = "Library/Caches";
#else
    const char *base = absolute("XDG_CACHE_HOME"), *below_home = ".cache";
#endif
    if (base != NULL)
        return xl__path_join(base, name);
    const char *home = absolute("HOME");
    char *caches = home != NULL ? xl__path_join(home, below_home) : NULL;
    char *dir = caches != NULL ? xl__path_join(caches, name) : NULL;
    free(caches);
    return dir;
}
#endif
