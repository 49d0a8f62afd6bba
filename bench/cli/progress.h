/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line on standard error: the current step, the number of steps
 * done, and the estimated time left. Only on a terminal, and not with --quiet.
 */
#ifndef CLBENCH_PROGRESS_H
#define CLBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct session;

struct progress {
    bool enabled; /* standard error is a suitable terminal */
    bool visible; /* the line is on the terminal now */
    unsigned done, total;
    uint64_t start_ns, drawn_ns;
    double left_s; /* as the command estimates; 0: from the steps done */
    char what[64];
};

/* Start with `total` steps; 0: the number is unknown. */
void progress_begin(struct session *s, unsigned total);
/* Start the next step, described by `what`; the step before it is done. */
void progress_step(struct session *s, const char *what);
/* Change the description within a step, with `done` steps before it. */
void progress_update(struct session *s, unsigned done, const char *what);
/* Draw again if enough time has passed; session_stopped() calls this. */
void progress_tick(struct session *s);
/* Erase the line; call before writing to the terminal. */
void progress_hide(struct session *s);
void progress_end(struct session *s);

/* The text of the line, without output: "[3/17] gemm 1024x1024x1024, 0:42
 * left", at most `columns` wide. `elapsed_s`: since the start; `bound_s`: what
 * --max-time leaves, or 0. No time is given before the first step is done. */
void progress_text(const struct progress *p, double elapsed_s, double bound_s,
                   unsigned columns, char *out, unsigned cap);

#endif
