/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a pipeline: for the terminal, the result file and the trace. */
#ifndef CLBENCH_PIPELINE_REPORT_H
#define CLBENCH_PIPELINE_REPORT_H

#include "base/str.h"
#include "pipeline/measurement.h"

struct trace;
struct json_t;

/* Rows to the result file, and their verdicts to the session's counts: of a
 * first call as soon as it is known, of the modes at the end. */
void pipe_report_first(struct pipe_bench *b, const struct pipe_first *first);
void pipe_report_rows(struct pipe_bench *b);
/* All that a row has no place for. */
struct json_t *pipe_report_json(const struct pipe_bench *b);
/* A run of each mode, and the first calls. */
void pipe_report_trace(const struct pipe_bench *b, struct trace *t);

/* pipeline_words.c: what dominates, and what to do about it. */
struct pipe_verdict {
    const char *bound;  /* "upload", "kernels", "download", "calls"; "" when
                           nothing was measured */
    double share;       /* of the quickest run that moves data */
    double of_slowest;  /* the slowest lane alone over the overlapped run; NaN:
                           there is none */
};
struct pipe_verdict pipe_judge(const struct pipe_bench *b);
/* The verdict with its numbers, and one thing to do. */
void pipe_words(const struct pipe_bench *b, struct xl__str *out);

#endif
