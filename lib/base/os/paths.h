/* SPDX-License-Identifier: Apache-2.0 */
/* Per-user folders and file names. */
#ifndef XL_BASE_PATHS_H
#define XL_BASE_PATHS_H

/* The user's cache folder for `name`: XDG_CACHE_HOME or ~/.cache, on macOS
 * ~/Library/Caches, on Windows LOCALAPPDATA. free() it; NULL when there is
 * none (no HOME) or out of memory. Creates nothing. */
char *xl__user_cache_dir(const char *name);
/* The user's folder of settings likewise: XDG_CONFIG_HOME or ~/.config, on
 * macOS ~/Library/Application Support, on Windows APPDATA. */
char *xl__user_config_dir(const char *name);
/* dir + separator + name; free() it; NULL when out of memory. */
char *xl__path_join(const char *dir, const char *name);
/* What follows the last separator; points into `path`. */
const char *xl__path_name(const char *path);

#endif
