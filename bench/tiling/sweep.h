/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --sweep`: the same product at every size of a range, which
 * shows the sawtooth of tiles, waves and row alignment separately. */
#ifndef CLBENCH_TILING_SWEEP_H
#define CLBENCH_TILING_SWEEP_H

#include "cases/gemm_cases.h"
#include "cli/session.h"

/* The sizes that grow, and their range. */
struct sweep {
    bool m, n, k, ld;
    size_t from, to, step;
};

/* Reads "n=1780:2060", "nmk=512:1024:16", "ld=2048:2056". False: *why has the
 * message. */
bool sweep_read(const char *text, struct sweep *out, char *why, size_t cap);
/* The number of sizes. */
size_t sweep_count(const struct sweep *sweep);
/* Sets the i-th size in a case. False: a leading dimension would be shorter
 * than a row. */
bool sweep_apply(const struct sweep *sweep, size_t i, struct gemm_case *c);

/* Runs the command; an exit_code. */
int sweep_run(struct session *s);

#endif
