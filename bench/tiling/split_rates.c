/* SPDX-License-Identifier: Apache-2.0 */
/* Times for the page: of the op itself, and of every size of a sweep, where
 * the saw's teeth are seen if tiles and waves are what bounds the op. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "tiling/measurement.h"

struct timed {
    const struct bench_op *op;
    const struct case_run *work;
};

static xl_status enqueue(xl_queue *q, void *arg)
{
    const struct timed *t = arg;
    return t->op->run(q, t->work);
}

xl_status split_time(const struct split_job *job, xl_queue *q, double max_s,
                     double *ns)
{
    xl_status status = XL_OK;
    const xl_sampling how = {.warmup = 1,
                             .min_runs = 3,
                             .max_runs = 30,
                             .max_noise = 0.02,
                             .max_s = max_s,
                             .stop = session_stopped,
                             .stop_arg = job->s};
    struct bench_data data;
    struct case_run work = {
        .c = job->c, .data = &data, .variant = job->s->set.variant};
    struct timed timed = {job->op, &work};
    xl_samples *samples = xl__calloc(1, sizeof *samples);
    bool is_open = false;
    TRY(samples ? XL_OK : XL_NO_MEMORY);
    TRY(bench_data_init(&data, job->op, job->c, job->s->set.seed));
    TRY(bench_data_upload(q, &data));
    if (job->op->open)
        TRY(job->op->open(q, &work));
    is_open = job->op->open != NULL;
    TRY(xl_samples_take(q, &how, enqueue, &timed, samples));
    *ns = samples->median_ns;
fail:
    if (is_open && job->op->close)
        job->op->close(&work);
    if (samples) {
        bench_data_release(&data);
        bench_data_clear(&data);
    }
    free(samples);
    return status;
}

static int one_size(const struct split_job *job, xl_queue *q, size_t i,
                    struct split_rate *out)
{
    static const double each_s = 0.1;
    struct gemm_case c = *(const struct gemm_case *)job->c;
    struct split_job at = *job;
    struct split_page page = {.n_rates = 0};
    xl_row row;
    at.c = &c;
    out->size = job->sweep->from + i * job->sweep->step;
    (void)sweep_apply(job->sweep, i, &c);
    xl_row_init(&row, job->op->name, "");
    job->op->describe(&c, &row);
    const int code = split_choose(&at, q, &page);
    if (code != EXIT_FINE)
        return code;
    const xl_status status = split_time(&at, q, each_s, &out->ns);
    if (status != XL_OK)
        return session_fail(job->s, "timing", status, xl_error_detail(q));
    out->rows = page.tiling.rows;
    out->cols = page.tiling.cols;
    out->flop_per_s = row.flop / out->ns * 1e9;
    return EXIT_FINE;
}

int split_rates(const struct split_job *job, xl_queue *q, struct split_page *p)
{
    const size_t n = sweep_count(job->sweep);
    int code = EXIT_FINE;
    p->rate = xl__calloc(n, sizeof *p->rate);
    if (!p->rate)
        return session_fail(job->s, "splitting", XL_NO_MEMORY, "");
    for (size_t i = 0;
         i < n && code == EXIT_FINE && !session_stopped(job->s); i++) {
        char what[48];
        snprintf(what, sizeof what, "size %zu",
                 job->sweep->from + i * job->sweep->step);
        progress_step(job->s, what);
        code = one_size(job, q, i, &p->rate[i]);
        p->n_rates += code == EXIT_FINE;
    }
    return code;
}
