/* SPDX-License-Identifier: Apache-2.0 */
/* Paths: the user's folders for caches and settings, joining, file names. */
#ifndef XL_BASE_PATHS_H
#define XL_BASE_PATHS_H

/* An environment variable. NULL when it is not set, and in a program that has
 * the rights of another user or group than its caller (set-uid, AT_SECURE). */
const char *xl__getenv(const char *name);
/* The user's cache folder for `name`: XDG_CACHE_HOME or ~/.cache, on macOS
 * ~/Library/Caches, on Windows LOCALAPPDATA. free() it; NULL when there is
 * none (no HOME), when it would be in a folder of another user, who could not
 * use it any more (root with that user's HOME), or out of memory. The folder
 * is not created. */
char *xl__user_cache_dir(const char *name);
/* The same for settings: XDG_CONFIG_HOME or ~/.config, on
 * macOS ~/Library/Application Support, on Windows APPDATA. */
char *xl__user_config_dir(const char *name);
/* dir + separator + name; free() it; NULL when out of memory. */
char *xl__path_join(const char *dir, const char *name);
/* The file name: the text after the last separator, within `path`. */
const char *xl__path_name(const char *path);

#endif
