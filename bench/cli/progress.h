/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line on standard error: the current step, the number of steps
 * done, and the estimated time left. Only on a terminal, and not with --quiet.
 */
#ifndef CLBENCH_PROGRESS_H
#define CLBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Erases the line of the cursor. */
#define PROGRESS_ERASE "\r\033[K"
/* The answer to Ctrl-C, also of the progress line from then on. */
#define FINISHING "finishing this run; again to stop"

/* Lines above the progress line that show what is known so far. They are drawn
 * on standard output, erased with the line and drawn again with it. */
struct live_block {
    /* Print it and return its lines; 0: none now. NULL: no block. */
    unsigned (*draw)(void *arg);
    void *arg;
    unsigned lines; /* that are on the terminal now */
};

struct progress {
    bool enabled; /* standard error is a suitable terminal */
    bool visible; /* the line is on the terminal now */
    unsigned done, total;
    uint64_t start_ns, drawn_ns;
    bool is_part;  /* of a planned run: its steps are not counted, and the time
                      left is that of the plan */
    double left_s; /* as the command estimates; 0: from the steps done */
    double shown_s,
        shown_at_s; /* time left as shown last, and when; 0: none */
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
/* Erase the line and the block; call before writing to the terminal. */
void progress_hide(struct session *s);
void progress_end(struct session *s);

/* The text of the line, without output: "[3/17] gemm 1024x1024x1024, 0:42
 * left", at most `columns` wide. `elapsed_s`: since the start; `bound_s`: what
 * --max-time or the plan leaves, or 0. The time left never rises: an estimate
 * that does is not followed. None is given before the first step is done. */
void progress_text(struct progress *p, double elapsed_s, double bound_s,
                   unsigned columns, char *out, unsigned cap);

#endif
