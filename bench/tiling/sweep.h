/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --sweep`: the same product at every size of a range, so that
 * the sawtooth of tiles, waves and row alignment is seen and told apart. */
#ifndef CLBENCH_GEMM_SWEEP_H
#define CLBENCH_GEMM_SWEEP_H

#include "cases/gemm_cases.h"
#include "cli/session.h"

/* What grows, and from where to where. */
struct sweep {
    bool m, n, k, ld;
    size_t from, to, step;
};

/* Read "n=1780:2060", "nmk=512:1024:16", "ld=2048:2056". On failure *why says
 * what is wrong. */
bool sweep_read(const char *text, struct sweep *out, char *why, size_t cap);
/* How many sizes it has. */
size_t sweep_count(const struct sweep *sweep);
/* The i-th of them, as a change of a case; false: a leading dimension would
 * be shorter than a line. */
bool sweep_apply(const struct sweep *sweep, size_t i, struct gemm_case *c);

/* The whole command; an exit_code. */
int sweep_run(struct session *s);

#endif
