/* SPDX-License-Identifier: Apache-2.0 */
/* The program cache on disk: compiled kernels and the results of their
 * self-checks, one file per entry, written beside it and renamed, with a
 * checksum. Several processes may use it at once. */
#ifndef CROSSLANE_CACHE_H
#define CROSSLANE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One entry. The strings are valid during the callback. */
typedef struct xl_cache_entry {
    const char *path;
    const char *key;       ///< its full key text, "" if unreadable
    uint64_t bytes;        ///< size of the file
    int64_t used_unix_s;   ///< last use, seconds since 1970
    const char *selfcheck; ///< "passed", "failed"; "none": it has a program.
                           ///< The result of a self-check is an entry of its
                           ///< own, for one build of the library and one card.
                           ///< "failed" is also a program that the driver
                           ///< cannot compile, for one build of the library
    bool is_intact;        ///< length and checksum agree
    bool is_system;        ///< in the read-only folder
} xl_cache_entry;

typedef struct xl_cache_stats {
    uint64_t n_entries, n_damaged, bytes, limit_bytes; ///< the user's folder
    /* Of this xl_lib, of programs that a context needed for the first time: */
    uint64_t hits;   ///< an entry gave the binary, a failed self-check or a
                     ///< failed compilation: no compiler ran. Of a library's kernel: its self-check
    uint64_t misses; ///< the others: they were compiled, also where an entry
                     ///< has no binary or the driver rejects it, and where
                     ///< the cache is off
    uint64_t writes; ///< entries written: of a program once when it is built
                     ///< and once when its self-check ends
} xl_cache_stats;

/** The user's folder; NULL when the cache is off. Valid as long as @p lib. */
XL_API const char *xl_cache_dir(const xl_lib *lib);

/** Read and check every entry.
 *  @return XL_OK; XL_IO when the user's folder cannot be read or other users
 *          may write to it */
XL_API xl_status xl_cache_list(xl_lib *lib,
                               void (*each)(const xl_cache_entry *, void *),
                               void *arg);

XL_API xl_status xl_cache_stats_get(xl_lib *lib, xl_cache_stats *out);

/** Remove entries of the user's folder: all of them, or only the damaged
 *  ones.
 *  @param n_removed  NULL allowed */
XL_API xl_status xl_cache_clear(xl_lib *lib, bool only_damaged,
                                uint64_t *n_removed);

/* -- program files -----------------------------------------------------------
 * One file with the programs of an application, which ships it, so that first
 * calls on another machine need no compiler. To make one: run the application
 * on a machine with such a device, with xl_options.cache_dir a folder of its
 * own, so that every program that it needs is built and checked, and export
 * the cache: here, or XL_CACHE_DIR=folder clbench cache export FILE. At each
 * start the application imports the file: for all devices, or for that of its
 * queue. Programs of other devices and drivers are left out, and compiled as
 * without the file. */

/** What became of the entries of a cache or of a file. */
typedef struct xl_cache_copy {
    uint64_t n_copied;  ///< written
    uint64_t n_known;   ///< import: already in the cache, which keeps its own
    uint64_t n_foreign; ///< left out: of another device, driver, card or build
                        ///< of the library
    uint64_t n_damaged; ///< export: left out
} xl_cache_copy;

/**
 * Write the entries of the cache, of both folders, to a file. They are those
 * of this version of the library, the device and its driver; verdicts of
 * self-checks are those of this build and card. An existing file is replaced
 * at once.
 *
 * @param dev   NULL: all devices of xl_device_count()
 * @param path  ended by a 0 byte
 * @param out   NULL allowed; all zero after a failure
 * @return XL_OK, also with 0 entries; otherwise the message is in
 *         xl_lib_error(lib), and the file is as it was: XL_BAD_ARGUMENT (a
 *         NULL), XL_IO (also when the cache cannot be read), XL_NO_SPACE,
 *         XL_NO_MEMORY, or as xl_device_count()
 */
XL_API xl_status xl_cache_export(xl_lib *lib, const xl_device *dev,
                                 const char *path, xl_cache_copy *out);

/**
 * Add the entries of a file to the user's cache folder: those that it does not
 * have and that xl_cache_export() would write here. Programs in use are not
 * affected, so import before the first call. To import a file again reads it
 * and finds its entries.
 *
 * On another card of the same kind the verdicts are foreign: programs are
 * checked there once, without a compiler.
 *
 * Drivers run what the file contains. Its hashes detect damage, not forgery:
 * import only a file that no other user may write.
 *
 * @param dev   as above
 * @param out   likewise
 * @return XL_OK, also where all entries are foreign; otherwise the message is
 *         in xl_lib_error(lib), and no entry of the file is in the cache that
 *         was not there before:
 *         XL_BAD_ARGUMENT  a NULL, not a program file, or another version of
 *                          the file format
 *         XL_CORRUPT       a part of the file is missing or damaged, or bytes
 *                          follow its end
 *         XL_IO            the file cannot be read, the cache folder cannot be
 *                          written, or the cache is off
 *         XL_NO_SPACE      the disk is full, or the entries exceed the limit
 *                          of the cache
 *         XL_NO_MEMORY, or as xl_device_count()
 */
XL_API xl_status xl_cache_import(xl_lib *lib, const xl_device *dev,
                                 const char *path, xl_cache_copy *out);

#ifdef __cplusplus
}
#endif
#endif
