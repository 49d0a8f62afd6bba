/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a search, one line each, so that a search that was killed
 * continues where it ended.
 *
 *   {"key": <32 hex>, "variant": ..., "tunables": ..., "sources": ...,
 *    "end": "right", "runs": ..., "median_ns": ..., "mad_ns": ..., "why": ...}
 *
 * The key is a hash of device, driver, library, op, class and size: lines of
 * other keys are ignored. A line with "end": "begun" precedes each
 * measurement: a candidate that began twice and has no result ends the
 * process, and counts as crashed. A line counts only with its newline. */
#ifndef XL_TUNE_JOURNAL_H
#define XL_TUNE_JOURNAL_H

#include "base/hash.h"
#include "tune/space.h"

struct xl__journal {
    const char *path; /* borrowed; NULL: there is none */
    char key[XL__HASH128_TEXT];
    struct xl__line *lines; /* of this key */
    size_t n, cap;
};

/* Reads the file and removes an incomplete last line. `path` NULL: no file. */
xl_status xl__journal_init(struct xl__journal *j, const char *path,
                           const struct xl__op_call *call,
                           const struct xl__plan *of);
void xl__journal_clear(struct xl__journal *j);
/* The result of a candidate whose kernels are `sources`; false: unknown. */
bool xl__journal_find(const struct xl__journal *j, const xl_candidate *c,
                      const char *sources, xl_candidate_result *out);
/* Appends that a candidate begins (`result` NULL), or its result. */
xl_status xl__journal_add(struct xl__journal *j, const xl_candidate *c,
                          const char *sources,
                          const xl_candidate_result *result,
                          struct xl__error *e);

#endif
