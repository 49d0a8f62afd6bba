/* SPDX-License-Identifier: Apache-2.0 */
/* Where tuned sets are looked up.
 *
 * Order:  the user's folder, then the system's, then the sets in the library
 *         (cl/tuned); within each the device's own file before one that is for
 *         its architecture, that before one for its vendor table; then the
 *         newest. Every *.json of a folder is read; its head says which
 *         devices it concerns: tune_file.h.
 * Stale:  a set of another driver, or whose kernels' texts have changed since.
 *         It is said, not refused: what is wrong the self-check finds.
 * Load:   with the first look-up, and again after a set was saved.
 * Save:   under a lock (<file>.lock), read, merged, written to a temporary and
 *         renamed. A file that cannot be read as ours is left as it is: sets go
 *         to <file>-2.json beside it.
 * Fails:  a file that is wrong is a warning and no sets, never an error. */
#ifndef XL_RUNTIME_TUNE_DB_H
#define XL_RUNTIME_TUNE_DB_H

#include "base/os/lock.h"
#include "device/device.h"
#include "runtime/store/sources.h"
#include "runtime/tuned/tuned_file.h"

extern const struct xl__embedded xl__shipped[]; /* files of cl/tuned */

struct xl__tuned_table; /* what was loaded at a time */

struct xl__tuned_sets {
    xl__lock lock;      /* guards `tables`; held while they are loaded */
    bool is_off;
    char *user_dir, *system_dir; /* NULL: none */
    const char *cl_dir; /* kernels' texts: sources.h; borrowed */
    struct xl__tuned_table *tables; /* newest first; older ones are kept, since
                                       their sets may still be in use */
    bool is_loaded;     /* the newest one is up to date */
    void (*warn)(const char *text, void *arg);
    void *warn_arg;
};

/* One set that concerns a device. Lives as long as the database. */
struct xl__tuned_match {
    const struct xl__tuned_set *set;
    const char *origin; /* the file's path, or "shipped" */
    const char *label;  /* "tuned: " and the origin */
    unsigned rank;      /* of origin and reach: less is stronger */
};

/* Folders are copied; NULL or "": none. `off`: no sets from anywhere. */
xl_status xl__tuned_sets_init(struct xl__tuned_sets *db, const char *user_dir,
                              const char *system_dir, bool off);
void xl__tuned_sets_clear(struct xl__tuned_sets *db);

/* The sets for a class (NULL: of all ops and classes), strongest first, at
 * most `cap`; how many. */
size_t xl__tuned_sets_find(struct xl__tuned_sets *db, const xl_device *dev,
                           const char *op, const char *shape_class,
                           struct xl__tuned_match *out, size_t cap);

/* Is it of another driver or of other kernels? A phrase says which. */
bool xl__tuned_is_stale(const struct xl__tuned_sets *db, const xl_device *dev,
                        const struct xl__tuned_set *set, char *why,
                        size_t why_cap);
/* The device's driver, as sets name it. */
void xl__tuned_driver(const xl_device *dev, char *out, size_t cap);
/* The hash of a kernel's text with its includes. */
xl_status xl__tuned_source_hash(const struct xl__tuned_sets *db,
                                const char *name, uint64_t *hash,
                                struct xl__error *e);

/* Merge a set into the file at `path`; NULL: the user's for this device. */
xl_status xl__tuned_sets_save(struct xl__tuned_sets *db, const xl_device *dev,
                              const struct xl__tuned_set *set,
                              const char *path, struct xl__error *e);

/* -- between tune_db.c and tune_save.c --------------------------------------*/

/* A device as files name it: what is no printable ASCII becomes '?'. */
void xl__tuned_device_head(const xl_device *dev, struct xl__tuned_file *out);
/* Do both heads name one device? */
bool xl__tuned_same_device(const struct xl__tuned_file *a,
                           const struct xl__tuned_file *b);
/* Forget nothing, but load again at the next look-up. */
void xl__tuned_sets_reload(struct xl__tuned_sets *db);
void xl__tuned_sets_warn(const struct xl__tuned_sets *db, const char *fmt, ...)
    XL__PRINTF(2, 3);

#endif
