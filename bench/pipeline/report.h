/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a pipeline measurement for the result file and the trace, and the
 * bound of the pipeline. */
#ifndef CLBENCH_PIPELINE_REPORT_H
#define CLBENCH_PIPELINE_REPORT_H

#include "base/str.h"
#include "pipeline/measurement.h"

struct trace;
struct json_t;

/* Add rows to the result file, and their verdicts to the session's counts: of
 * a first call as soon as it is measured, of the modes at the end. */
void pipe_report_first(struct pipe_bench *b, const struct pipe_first *first);
void pipe_report_rows(struct pipe_bench *b);
/* The details that have no column in a row. */
struct json_t *pipe_report_json(const struct pipe_bench *b);
/* Adds one run of each mode and the first calls to a trace. */
void pipe_report_trace(const struct pipe_bench *b, struct trace *t);

/* What determines the time of the pipeline. */
struct pipe_bound {
    const char *bound; /* "upload", "kernels", "download", "calls"; "" if
                          nothing was measured */
    double share;      /* of the fastest run that moves data */
    double of_slowest; /* time of the slowest lane by itself over that of the
                          overlapped run; NaN: none */
};
struct pipe_bound pipe_find_bound(const struct pipe_bench *b);
/* Appends the bound with its numbers, and an advice. */
void pipe_describe_bound(const struct pipe_bench *b, struct xl__str *out);

#endif
