/* SPDX-License-Identifier: Apache-2.0 */
/* xl_open() and xl_close(). This file connects the layers: it passes the vendor
 * tables to lib/device, and it is the only one that reads the environment. */
#include <crosslane/crosslane.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "base/sized.h"
#include "runtime/context.h"
#include "targets/targets.h"
#include "tune/audition.h"

static const size_t default_cache_bytes = (size_t)256 << 20;

static void log_warning(const char *text, void *lib)
{
    xl__log_message(lib, XL_LOG_WARNING, "%s", text);
}

/* The text of an option, else of an environment variable; NULL when neither is
 * set. */
static const char *option_or_variable(const char *option, const char *variable)
{
    if (option)
        return option;
    const char *value = xl__getenv(variable);
    return value && *value ? value : NULL;
}

/* The cache folder, on the heap; NULL when it is off or there is no home
 * folder. */
static char *find_cache_dir(xl_lib *lib, const xl_options *options)
{
    const char *dir = option_or_variable(options->cache_dir, "XL_CACHE_DIR");
    if (dir && (*dir == '\0' || xl__streq(dir, "off")))
        return NULL;
    if (dir)
        return xl__strdup(dir);
    char *own = xl__user_cache_dir("crosslane");
    if (!own)
        xl__log_message(
            lib, XL_LOG_WARNING,
            "no home folder of this user: compiled kernels are not "
            "cached; set XL_CACHE_DIR");
    return own;
}

/* The text of the option, else the folder of installed packages. */
static const char *system_tuned_dir(const xl_options *options)
{
#ifdef _WIN32
    static const char packaged[] = "";
#else
    static const char packaged[] = "/usr/share/crosslane/tuned";
#endif
    return options->system_tuned_dir ? options->system_tuned_dir : packaged;
}

static xl_status init_tuned_sets(xl_lib *lib, const xl_options *options)
{
    const char *dir = option_or_variable(options->tuned_dir, "XL_TUNED_DIR");
    const bool off = dir && (*dir == '\0' || xl__streq(dir, "off"));
    char *own = dir ? NULL : xl__user_config_dir("crosslane");
    char *sets = own ? xl__path_join(own, "tuned") : NULL;
    lib->tuned.cl_dir = lib->cl_dir;
    lib->tuned.warn = log_warning;
    lib->tuned.warn_arg = lib;
    const xl_status status = xl__tuned_sets_init(
        &lib->tuned, dir ? dir : sets, system_tuned_dir(options), off);
    free(sets);
    free(own);
    return status;
}

/* XL_SPIN_LIMIT, a number of iterations; 0, no limit, when it is not set or
 * not valid. */
static unsigned read_spin_limit(xl_lib *lib)
{
    const char *text = option_or_variable(NULL, "XL_SPIN_LIMIT");
    char *end;
    if (!text)
        return 0;
    const long n = strtol(text, &end, 10);
    if (*end == '\0' && n > 0 && n <= INT_MAX)
        return (unsigned)n;
    xl__log_message(
        lib, XL_LOG_WARNING,
        "invalid value '%s' for XL_SPIN_LIMIT: must be an integer from 1 "
        "to %d",
        text, INT_MAX);
    return 0;
}

/* XL_AUDITION; bounded when it is not set or not valid. */
static xl_audition read_audition(xl_lib *lib)
{
    static const char *const names[] = {
        [XL_AUDITION_OFF] = "off",
        [XL_AUDITION_BOUNDED] = "bounded",
        [XL_AUDITION_BACKGROUND] = "background",
        [XL_AUDITION_EXHAUSTIVE] = "exhaustive",
    };
    const char *text = option_or_variable(NULL, "XL_AUDITION");
    if (!text)
        return XL_AUDITION_BOUNDED;
    for (int i = XL_AUDITION_OFF; i <= XL_AUDITION_EXHAUSTIVE; i++) {
        if (xl__streq(text, names[i]))
            return (xl_audition)i;
    }
    xl__log_message(lib, XL_LOG_WARNING,
                    "XL_AUDITION=%s: must be off, bounded, background, "
                    "exhaustive",
                    text);
    return XL_AUDITION_BOUNDED;
}

static void set_auditions(xl_lib *lib, const xl_options *options)
{
    static const double ns_per_ms = 1e6;
    struct xl__auditions *a = &lib->auditions;
    a->when = options->audition ? options->audition : read_audition(lib);
    a->budget_ns = a->when == XL_AUDITION_EXHAUSTIVE
                       ? (double)INFINITY
                       : fmax(options->audition_ms, 0) * ns_per_ms;
    a->hold = xl__audition_hold;
}

static xl_status init_library(xl_lib *lib, const xl_options *options)
{
    const char *cl_dir = option_or_variable(options->cl_dir, "XL_CL_DIR");
    lib->log = options->log;
    lib->log_arg = options->log_arg;
    lib->skip_selfcheck = options->skip_selfcheck;
    lib->use_clblast = options->use_clblast;
    lib->spin_limit = read_spin_limit(lib);
    set_auditions(lib, options);
    if (cl_dir && !(lib->cl_dir = xl__strdup(cl_dir)))
        return XL_NO_MEMORY;
    if (options->listing &&
        !(lib->devices.listing = xl__strdup(options->listing)))
        return XL_NO_MEMORY;
    xl_status status = init_tuned_sets(lib, options);
    if (status != XL_OK)
        return status;
    char *dir = find_cache_dir(lib, options);
    status =
        xl__store_init(&lib->store, dir, options->system_cache_dir,
                       options->cache_limit_bytes ? options->cache_limit_bytes
                                                  : default_cache_bytes,
                       log_warning, lib);
    free(dir);
    return status;
}

xl_status xl_open(const xl_options *options, xl_lib **out)
{
    static const struct xl__sized type =
        XL__SIZED(xl_options, XL_OPTIONS_INIT);
    static const xl_options defaults = {XL_OPTIONS_INIT};
    xl_options full;
    if (!out)
        return XL_BAD_ARGUMENT;
    *out = NULL;
    options =
        xl__sized_read(&type, options ? options : &defaults, &full, NULL);
    if (!options || (unsigned)options->audition > XL_AUDITION_EXHAUSTIVE)
        return XL_BAD_ARGUMENT;
    xl_lib *lib = xl__calloc(1, sizeof *lib);
    if (!lib)
        return XL_NO_MEMORY;
    lib->devices.targets = &xl__targets;
    lib->devices.calibrate = xl__tuned_profile_apply;
    lib->devices.calibrate_arg = &lib->tuned;
    xl__lock_init(&lib->lock);
    xl__lock_init(&lib->error_lock);
    xl__lock_init(&lib->log_lock);
    xl__auditions_init(&lib->auditions, &lib->store);
    const xl_status status = init_library(lib, options);
    if (status != XL_OK) {
        xl_close(lib);
        return status;
    }
    *out = lib;
    return XL_OK;
}

void xl_close(xl_lib *lib)
{
    if (!lib)
        return;
    xl__devices_clear(&lib->devices);
    xl__auditions_clear(&lib->auditions);
    xl__store_clear(&lib->store);
    xl__tuned_sets_clear(&lib->tuned);
    free(lib->cl_dir);
    xl__lib_errors_clear(lib);
    xl__lock_clear(&lib->log_lock);
    xl__lock_clear(&lib->error_lock);
    xl__lock_clear(&lib->lock);
    free(lib);
}
