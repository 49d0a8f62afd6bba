/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of `clbench tune` in a process of their own: the parent's half,
 * the child's half, and the lines between them. */
#ifndef CLBENCH_TUNING_WORKER_H
#define CLBENCH_TUNING_WORKER_H

#include "cli/subprocess.h"
#include "tuning/search.h"

/* -- the lines -------------------------------------------------------------
 */

/* Write or read one line. Reading modifies it; false: it is another line. */
void tune_request_write(struct xl__str *out, const xl_candidate *c,
                        double limit_ns);
bool tune_request_read(char *line, xl_candidate *c, double *limit_ns);
void tune_ready_write(struct xl__str *out);
bool tune_ready_read(const char *line);
void tune_reply_write(struct xl__str *out, const xl_candidate_result *t);
bool tune_reply_read(char *line, xl_candidate_result *t);

#define TUNE_VARIABLE "CLBENCH_TUNE_CHILD" /* set in the child */

/* -- the processes ---------------------------------------------------------
 */

struct tune_worker {
    struct session *s;
    const struct tune_class *of;
    xl_queue *q;         /* used where there are no child processes */
    struct child *child; /* NULL: none now */
};

/* Run a candidate; as xl_tuning.result but for the first argument. A candidate
 * that crashes or hangs ends its process; the next one gets a new process. */
xl_status tune_worker_run(struct tune_worker *w, const xl_candidate *c,
                          double limit_ns, xl_candidate_result *out);
void tune_worker_clear(struct tune_worker *w);

/* In the child: was this process started by a worker? If so, run the
 * candidates that it sends, on the device and for the class of the command
 * line. */
bool tune_is_child(void);
int tune_run_child(struct session *s, const struct tune_class *c);

#endif
