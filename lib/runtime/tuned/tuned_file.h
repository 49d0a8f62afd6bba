/* SPDX-License-Identifier: Apache-2.0 */
/* The file format of tuned sets: parsing and formatting, without access to
 * files or devices.
 *
 *   {"format": "crosslane tuned sets", "schema": 1,
 *    "device": {"name": ..., "platform": ..., "arch": ..., "vendor": ...},
 *    "for": "device",
 *    "profile": {"driver": ..., "date": ..., "library": ...,
 *     "rates": {"copy_bytes_per_s": ..., ...}},
 *    "sets": [
 *     {"op": ..., "class": ..., "variant": ..., "tunables": "TM=64 TN=64",
 *      "median_ns": ..., "mad_ns": ..., "runs": ..., "gain": ...,
 *      "driver": ..., "date": ..., "library": ..., "sources": ...}]}
 *
 * "profile" is optional: the device's measured rates. Each set is one line and
 * sets are sorted, so that two files can be merged by text tools. "for" is the scope: this device, every device of its
 * architecture, or every device of its vendor table. A file with an error is
 * ignored as a whole. Increment XL__TUNED_SCHEMA when any of this changes. */
#ifndef XL_RUNTIME_TUNED_FILE_H
#define XL_RUNTIME_TUNED_FILE_H

#include <stddef.h>

#include <crosslane/profile.h>

#include "base/error.h"

enum { XL__TUNED_SCHEMA = 1 };

/* A variant and all of its tunables, with the evidence for it. */
struct xl__tuned_set {
    char op[16], shape_class[128];
    char variant[32], tunables[160]; /* "": it has none */
    double median_ns, mad_ns;
    double gain; /* time of the model's choice over its time; NaN: not
                    known */
    unsigned runs;
    char driver[128], date[24], library[24];
    char sources[256];  /* of its kernels: "a.cl:0123456789abcdef b.cl:..." */
};

enum xl__tuned_scope {
    XL__TUNED_DEVICE, XL__TUNED_ARCH, XL__TUNED_VENDOR, XL__N_TUNED_SCOPES
};

struct xl__tuned_file {
    char device[256], platform[128], arch[64], vendor[32];
    enum xl__tuned_scope scope;
    xl_profile profile; /* n_rates 0: none */
    struct xl__tuned_set *sets; /* sorted by op and class, one of each */
    size_t n_sets, sets_cap;
};

/* Parse a file. XL_CORRUPT: another format, damaged or of another schema, with
 * the reason in `why`; XL_NO_MEMORY. Call xl__tuned_file_clear() in every
 * case. */
xl_status xl__tuned_file_parse(const char *bytes, size_t len,
                               struct xl__tuned_file *out,
                               struct xl__str *why);
/* Append the text of a file; without memory `out` is broken. */
void xl__tuned_file_format(const struct xl__tuned_file *file,
                           struct xl__str *out);
/* Add a set, replacing one of the same op and class. false: out of memory. */
bool xl__tuned_file_put(struct xl__tuned_file *file,
                        const struct xl__tuned_set *set);
void xl__tuned_file_clear(struct xl__tuned_file *file);

#endif
