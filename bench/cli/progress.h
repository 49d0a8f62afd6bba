/* SPDX-License-Identifier: Apache-2.0 */
/* One line on stderr that says what is being done, how far it is and how long
 * it will take; only on a terminal, never with --quiet. */
#ifndef CLBENCH_PROGRESS_H
#define CLBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct session;

struct progress {
    bool enabled;      /* standard error is a terminal that can */
    bool visible;      /* a line stands on the terminal now */
    unsigned done, total;
    uint64_t start_ns, drawn_ns;
    double left_s;     /* as the work itself knows; 0: by the steps done */
    char what[64];
};

/* `total` steps lie ahead; 0: nobody knows. */
void progress_begin(struct session *s, unsigned total);
/* The next step starts: what it is. The one before it is done. */
void progress_step(struct session *s, const char *what);
/* Within a step: what it is now, `done` steps before it. */
void progress_say(struct session *s, unsigned done, const char *what);
/* Draw again if it is time; session_stopped() calls this. */
void progress_tick(struct session *s);
/* Take the line away; call before writing to the terminal. */
void progress_hide(struct session *s);
void progress_end(struct session *s);

/* "[3/17] gemm 1024x1024x1024, 0:42 left", at most `columns` wide; no time is
 * named before the first step is done. Pure: `elapsed_s` since the start,
 * `bound_s` what --max-time leaves, or 0. */
void progress_text(const struct progress *p, double elapsed_s, double bound_s,
                   unsigned columns, char *out, unsigned cap);

#endif
