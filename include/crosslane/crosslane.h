/* SPDX-License-Identifier: Apache-2.0 */
/* crosslane: an OpenCL compute library for every vendor's device. This header
 * brings in the whole API.
 *
 * NULL: no function dereferences a NULL handle (xl_lib, xl_device, xl_queue,
 * xl_expr, xl_terms, xl_telemetry), descriptor or result. One that returns
 * xl_status returns XL_BAD_ARGUMENT; one that returns a value returns NULL,
 * "", 0 or, for an index, UINT_MAX; the others do nothing. A pointer may be
 * NULL where its comment says so. */
#ifndef CROSSLANE_CROSSLANE_H
#define CROSSLANE_CROSSLANE_H

#include <crosslane/attention.h>
#include <crosslane/buffer.h>
#include <crosslane/cache.h>
#include <crosslane/conv.h>
#include <crosslane/device.h>
#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
#include <crosslane/expr.h>
#include <crosslane/gemm.h>
#include <crosslane/norm.h>
#include <crosslane/profile.h>
#include <crosslane/qconvert.h>
#include <crosslane/qgemm.h>
#include <crosslane/qmat.h>
#include <crosslane/queue.h>
#include <crosslane/record.h>
#include <crosslane/rotary.h>
#include <crosslane/sampling.h>
#include <crosslane/sized.h>
#include <crosslane/softmax.h>
#include <crosslane/status.h>
#include <crosslane/telemetry.h>
#include <crosslane/tensor.h>
#include <crosslane/tune.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers. While the major version is 0 the soname is
 * libcrosslane.so.MAJOR.MINOR and public symbols have the version
 * CROSSLANE_MAJOR.MINOR; libcrosslane-measure has the same.
 *
 *   0.1.x     kernels, choices and speed may change; functions, constants and
 *             members at the end of descriptors that begin with their size
 *             (crosslane/sized.h) are added. A program that was built with
 *             older headers of 0.1 works without being built again
 *   0.2, 1.0  anything may change, with a line in CHANGELOG.md for each
 *             change. The soname is new, so both versions can be installed
 *
 * Symbols with the version CROSSLANE_PRIVATE are for libcrosslane-measure of
 * the same release: the two are updated together, and an application must not
 * use them. */
#define XL_VERSION_MAJOR 0
#define XL_VERSION_MINOR 1
#define XL_VERSION_PATCH 0
#define XL_VERSION_TEXT "0.1.0"

/** Version of the library, "0.1.0". Compare it with XL_VERSION_TEXT, the
 *  version of the headers, to detect a mismatch. Static. */
XL_API const char *xl_version(void);

typedef enum xl_log_level { XL_LOG_INFO, XL_LOG_WARNING } xl_log_level;

/** Receives the library's messages, text without a final newline. It is called
 *  on any thread that uses the library or is its own (xl_prepared), never on
 *  two at once, and must not call the library. */
typedef void (*xl_log)(xl_log_level level, const char *text, void *arg);

/** Whether candidates for a class of shapes are timed, when its first call
 *  prepares: on a device without a profile (crosslane/profile.h), or where the
 *  estimates of the best two are within 25 % of each other; not where a set was
 *  tuned for the class (crosslane/tune.h) or the call names a variant, nor for
 *  expressions.
 *
 *  An audition builds and self-checks the best three by the model, the
 *  reference and, if it is allowed, CLBlast, and times them on random data, on
 *  a queue of its own in the same context. It times a smaller case of the same
 *  kind where one of the call's size would exceed the budget, 64 MiB, or 1/16
 *  of the device's memory. The fastest one is chosen from then on; the model's
 *  choice stays where it is as fast within noise. Results are kept in the
 *  cache folder by device, driver and build of the library, so that a later
 *  process does not time again; without a folder in memory. Where other
 *  programs use the device, as seen by runs that take far longer than others,
 *  nothing is chosen, except in the background: the model chooses in this
 *  process, and a later one times. Calls whose plan is made never time
 *  anything. */
typedef enum xl_audition {
    XL_AUDITION_DEFAULT,    ///< as XL_AUDITION says: "off", "bounded",
                            ///< "background" or "exhaustive"; if it is not
                            ///< set, bounded
    XL_AUDITION_OFF,        ///< the model chooses, and what was timed before
                            ///< does not count
    XL_AUDITION_BOUNDED,    ///< within xl_options.audition_ms
    XL_AUDITION_BACKGROUND, ///< likewise, on a thread of the queue: until it
                            ///< ends the model's choice runs
    XL_AUDITION_EXHAUSTIVE  ///< every variant that can be used, however long
                            ///< it takes
} xl_audition;

/** How to open the library. {XL_OPTIONS_INIT}: the defaults.
 *  Strings are copied. */
typedef struct xl_options {
    size_t size; ///< XL_OPTIONS_INIT
    xl_log log;            ///< NULL: no messages
    void *log_arg;
    const char *cl_dir;    ///< kernels are read from here, not from the
                           ///< library; NULL: XL_CL_DIR, or the embedded ones
    const char *cache_dir; ///< compiled programs; NULL: XL_CACHE_DIR, or the
                           ///< user's cache folder. "" turns the cache off,
                           ///< as XL_CACHE_DIR=off does
    const char *system_cache_dir; ///< read only, searched second; NULL: none
    size_t cache_limit_bytes;     ///< 0: 256 MiB
    const char *tuned_dir; ///< tuned sets (crosslane/tune.h); NULL:
                           ///< XL_TUNED_DIR, or crosslane/tuned in the user's
                           ///< settings folder. "" turns all tuned sets off,
                           ///< also the system's and the library's own, as
                           ///< XL_TUNED_DIR=off does
    const char *system_tuned_dir; ///< read only, searched second; NULL:
                                  ///< /usr/share/crosslane/tuned; "": none
    bool skip_selfcheck;   ///< run kernels without a self-check: to measure
                           ///< the cost of self-checks
    bool use_clblast;      ///< products may be computed by CLBlast (the
                           ///< variant "gemm_clblast"), which is searched by
                           ///< name among the system's libraries. false: only
                           ///< for a call that names this variant
    const char *listing;   ///< the output of `clinfo --raw` of any machine:
                           ///< its devices are the only ones, and no driver
                           ///< is called. For them xl_<op>_explain(),
                           ///< xl_<op>_prepare() and xl_<op>_workspace() plan
                           ///< and build nothing; what would run is
                           ///< XL_UNSUPPORTED. xl_device_count() and
                           ///< xl_device_find() return XL_CORRUPT for a text
                           ///< that is no such output, with the line in
                           ///< xl_lib_error(). NULL: the devices of the
                           ///< machine's drivers
    xl_audition audition;  ///< when candidates are timed
    double audition_ms;    ///< time on the device of one audition, beyond
                           ///< builds and one run each of a small case; 0:
                           ///< 50, or four times what the call itself takes
                           ///< where that is longer, at most 500
} xl_options;
#define XL_OPTIONS_INIT XL_SIZED(xl_options)

/**
 * Open the library. Reads the environment (XL_CL_DIR, XL_CACHE_DIR,
 * XL_TUNED_DIR, XL_AUDITION, XL_SPIN_LIMIT, XDG_CACHE_HOME, XDG_CONFIG_HOME,
 * HOME; on Windows LOCALAPPDATA and APPDATA), which no other call does. Makes
 * no call to a driver.
 *
 * @param options  NULL: the defaults
 * @return XL_OK; XL_BAD_ARGUMENT when @p out is NULL or the options do not
 *         begin with XL_OPTIONS_INIT, or audition is no xl_audition;
 *         XL_NO_MEMORY. A cache that cannot be
 *         used is a warning
 * Threads: one xl_lib may be used from several threads at once, each queue by
 * one of them at a time (crosslane/queue.h). Threads that need one program
 * wait until one of them has built and checked it; different programs are
 * built in parallel, and calls whose programs are built do not wait.
 * fork(): a child process must not use, nor close, what its parent opened:
 * drivers do not survive it. It may call exec(), or xl_open() where the parent
 * has not called a driver; files of the cache are safe with any number of
 * processes.
 * Programs with the rights of another user or group (set-uid, set-gid, or
 * AT_SECURE of Linux) do not read the environment: without options they have
 * the embedded kernels and no cache.
 */
XL_API xl_status xl_open(const xl_options *options, xl_lib **out);

/** What xl_lib_trim() freed. */
typedef struct xl_trimmed {
    uint64_t n_programs;   ///< compiled programs
    uint64_t n_epilogues;  ///< texts of epilogues
    uint64_t n_selections; ///< choices of a variant for a class of sizes
} xl_trimmed;

/**
 * Free what no queue has: compiled programs and texts of epilogues; and the
 * choices of variants, which the next new sizes make again. A queue has what
 * it called or prepared, until xl_queue_trim() or its end: so trim the queues
 * first, each on its own thread. What a later call needs again is made again,
 * programs from the cache on disk if there is one. A program that failed its
 * self-check stays, so that it is not built again. Any thread, at any time:
 * calls in progress, enqueued commands and compiled expressions (xl_expr) are
 * not affected.
 *
 * @param out  NULL allowed
 * @return XL_OK or XL_BAD_ARGUMENT
 */
XL_API xl_status xl_lib_trim(xl_lib *lib, xl_trimmed *out);

/** Destroy every queue first. NULL is allowed. */
XL_API void xl_close(xl_lib *lib);

/** Message of the last failed call of the calling thread on @p lib, "" when it
 *  succeeded or memory ran out. Valid until that thread's next call on @p lib;
 *  calls of other threads do not change it. */
XL_API const char *xl_lib_error(const xl_lib *lib);

#ifdef __cplusplus
}
#endif
#endif
