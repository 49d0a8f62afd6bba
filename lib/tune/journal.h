/* SPDX-License-Identifier: Apache-2.0 */
/* What trials came to, a line each, so that a search that was killed goes on
 * where it was.
 *
 *   {"key": <32 hex>, "variant": ..., "tunables": ..., "sources": ...,
 *    "end": "right", "runs": ..., "median_ns": ..., "mad_ns": ..., "why": ...}
 *
 * The key is a hash of device, driver, library, op, class and size: lines of
 * other keys are let be. A line with "end": "begun" goes before each trial: what
 * began twice and never ended takes the process with it, and counts as
 * crashed. A line counts only with its newline. */
#ifndef XL_TUNE_JOURNAL_H
#define XL_TUNE_JOURNAL_H

#include "base/hash.h"
#include "tune/space.h"

struct xl__journal {
    const char *path;          /* borrowed; NULL: there is none */
    char key[XL__HASH128_TEXT];
    struct xl__line *lines;    /* of this key */
    size_t n, cap;
};

/* Read what is there and drop a torn last line. `path` NULL: keep nothing. */
xl_status xl__journal_init(struct xl__journal *j, const char *path,
                           const struct xl__op_call *call,
                           const struct xl__plan *of);
void xl__journal_clear(struct xl__journal *j);
/* What is known of a candidate; `sources` are its kernels'. */
bool xl__journal_find(const struct xl__journal *j, const xl_candidate *c,
                      const char *sources, xl_candidate_result *out);
/* Append that it begins (`result` NULL), or how it ended. */
xl_status xl__journal_add(struct xl__journal *j, const xl_candidate *c,
                          const char *sources,
                          const xl_candidate_result *result,
                          struct xl__error *e);

#endif
