/* SPDX-License-Identifier: Apache-2.0 */
/* The collection of tuned sets: look-up and saving.
 *
 * Order:  the user's folder, then the system's, then the sets in the library
 *         (cl/tuned). Within each, a file for the device precedes one for its
 *         architecture, and that one for its vendor table; then the newest.
 *         Every *.json of a folder is read; its head (tuned_file.h) has the
 *         devices it is for.
 * Stale:  a set of another driver, or with kernels whose texts have changed.
 * It is reported, not ignored: the self-check detects wrong results. Load:
 * with the first look-up, and again after a set was saved. Save:   under a
 * lock (<file>.lock) the file is read, merged, written to a temporary and
 * renamed. A file that is not valid is not changed: the sets go to
 * <file>-2.json in the same folder. Fails:  an invalid file is a warning and
 * has no sets; never an error. */
#ifndef XL_RUNTIME_TUNED_SETS_H
#define XL_RUNTIME_TUNED_SETS_H

#include "base/os/lock.h"
#include "device/device.h"
#include "runtime/store/sources.h"
#include "runtime/tuned/tuned_file.h"

extern const struct xl__embedded xl__shipped[]; /* files of cl/tuned */

struct xl__tuned_table; /* the files of one load */

struct xl__tuned_sets {
    xl__lock lock;      /* guards `tables`; held while they are loaded */
    bool is_off;
    char *user_dir, *system_dir; /* NULL: none */
    const char *cl_dir; /* folder of kernel texts: sources.h; borrowed */
    struct xl__tuned_table *tables; /* newest first; older ones stay, since
                                       callers may still use their sets */
    bool is_loaded;     /* the newest one is up to date */
    void (*warn)(const char *text, void *arg);
    void *warn_arg;
};

/* One set for a device. Valid as long as the collection. */
struct xl__tuned_match {
    const struct xl__tuned_set *set;
    const char *origin; /* the file's path, or "shipped" */
    const char *label;  /* "tuned: " and the origin */
    unsigned rank;      /* of origin and scope: a lower one is preferred */
};

/* Folders are copied; NULL or "": none. `off`: no sets at all. */
xl_status xl__tuned_sets_init(struct xl__tuned_sets *db, const char *user_dir,
                              const char *system_dir, bool off);
void xl__tuned_sets_clear(struct xl__tuned_sets *db);

/* Find the sets of a shape class (NULL: of all ops and classes), in the order
 * above. At most `cap`; returns their number. */
size_t xl__tuned_sets_find(struct xl__tuned_sets *db, const xl_device *dev,
                           const char *op, const char *shape_class,
                           struct xl__tuned_match *out, size_t cap);

/* Differs after a set was saved. */
const void *xl__tuned_sets_version(struct xl__tuned_sets *db);

/* Is a set of another driver or of other kernels? The reason is in `why`. */
bool xl__tuned_is_stale(const struct xl__tuned_sets *db, const xl_device *dev,
                        const struct xl__tuned_set *set, char *why,
                        size_t why_cap);
/* The name of the device's driver in tuned sets. */
void xl__tuned_driver(const xl_device *dev, char *out, size_t cap);
/* The hash of a kernel's text, with its includes. */
xl_status xl__tuned_source_hash(const struct xl__tuned_sets *db,
                                const char *name, uint64_t *hash,
                                struct xl__error *e);

/* What a save replaces in the file at `path` (NULL: the user's file for the
 * device): a set, the profile; or NULL. */
struct xl__tuned_change {
    const struct xl__tuned_set *set;
    const xl_profile *profile;
    const char *path;
};
xl_status xl__tuned_sets_save(struct xl__tuned_sets *db, const xl_device *dev,
                              const struct xl__tuned_change *change,
                              struct xl__error *e);

/* The preferred profile of a device, in the order above, whatever its driver;
 * n_rates 0: there is none. */
void xl__tuned_profile_find(struct xl__tuned_sets *db, const xl_device *dev,
                      xl_profile *out);
/* Replace the rates among dev->limits by those of its profile. `db` is a struct
 * xl__tuned_sets. */
void xl__tuned_profile_apply(xl_device *dev, void *db);

/* The head of a file for the device; bytes that are not printable ASCII become
 * '?'. */
void xl__tuned_device_head(const xl_device *dev, struct xl__tuned_file *out);
/* Are both heads for the same device? */
bool xl__tuned_same_device(const struct xl__tuned_file *a,
                           const struct xl__tuned_file *b);

#endif
