/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the report of one launch: asks the library for its tile and groups,
 * times the op, records a stand-in launch of the same groups for the same
 * time, and runs the model with as many units and concurrent groups as the
 * record shows. With a sweep, every size is timed as well. A tile that is only
 * asked about is modelled without running anything. */
#include "tiling/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/console.h"
#include "results/result.h"
#include "tiling/mask_work.h"

/* -- the tiles ------------------------------------------------------------ */

/* Describes a launch whose plan has no tiles. The groups of a softmax
 * process rows, or slices of one row; of other ops only the number of
 * groups is known. */
static void tiling_of_groups(const struct tiling_job *job, xl_tiling *t)
{
    t->whole = t->groups;
    t->band = t->count = 1;
    if (job->op != &bench_softmax)
        return;
    const bool by_rows = t->groups <= job->m;
    const size_t slices = by_rows ? 1 : t->groups / job->m;
    t->is_even = true;
    t->m = job->m;
    t->n = job->n;
    t->rows = by_rows ? xl__ceil_div(job->m, t->groups) : 1;
    t->cols = xl__ceil_div(job->n, slices);
    t->tiles_m = xl__ceil_div(job->m, t->rows);
    t->tiles_n = slices;
    t->whole = t->tiles_m * t->tiles_n;
}

/* The work of groups, where a mask of attention makes it unequal. */
static void weigh_groups(const struct tiling_job *job, const xl_choice *choice,
                         struct tiling_report *p)
{
    size_t block;
    if (job->op != &bench_attention)
        return;
    const struct attention_sizes a = attention_sizes_of(job->c);
    if ((a.is_causal || a.window) &&
        tile_tunable(choice->tunables, "BQ", &block))
        p->work = mask_work(&a, choice->variant, block, &p->tiling);
}

/* Asks the library for the tiling of the case. An exit_code. */
static int choose_tiling(const struct tiling_job *job, xl_queue *q,
                         struct tiling_report *p)
{
    const struct bench_data none = {.seed = 0};
    const struct case_run work = {
        .c = job->c, .data = &none, .variant = job->s->set.variant};
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    memset(choices, 0, sizeof choices);
    const xl_status status = job->op->explain(q, &work, choices, &n);
    if (status != XL_OK)
        return session_fail(job->s, "splitting", status, xl_error_detail(q));
    const xl_choice *chosen = &choices[0];
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        if (choices[i].chosen)
            chosen = &choices[i];
    p->tiling = chosen->tiling;
    xl__strcpy(p->variant, sizeof p->variant, chosen->variant);
    if (p->tiling.groups == 0) {
        fprintf(stderr,
                "clbench: the work-groups of %s are chosen by another "
                "library or the driver; give another --variant\n",
                p->variant);
        return EXIT_USAGE;
    }
    if (p->tiling.rows == 0)
        tiling_of_groups(job, &p->tiling);
    weigh_groups(job, chosen, p);
    return EXIT_FINE;
}

/* -- times ---------------------------------------------------------------- */

struct timed_op {
    const struct bench_op *op;
    const struct case_run *work;
};

static xl_status enqueue_op(xl_queue *q, void *arg)
{
    const struct timed_op *t = arg;
    return t->op->run(q, t->work);
}

/* Sets *ns to the median time of the op, from samples of at most `max_s`
 * seconds. */
static xl_status time_op(const struct tiling_job *job, xl_queue *q,
                         double max_s, double *ns)
{
    xl_status status = XL_OK;
    const xl_sampling how = {XL_SAMPLING_INIT,        .warmup = 1,
                             .min_runs = 3,           .max_runs = 30,
                             .max_noise = 0.02,       .max_s = max_s,
                             .stop = session_stopped, .stop_arg = job->s};
    struct bench_data data;
    struct case_run work = {.c = job->c, .data = &data,
                              .variant = job->s->set.variant};
    struct timed_op timed_op = {job->op, &work};
    xl_samples *samples = xl__calloc(1, sizeof *samples);
    bool is_open = false;
    TRY(samples ? XL_OK : XL_NO_MEMORY);
    TRY(bench_data_init(&data, job->op, job->c, job->s->set.seed));
    TRY(bench_data_upload(q, &data));
    if (job->op->open)
        TRY(job->op->open(q, &work));
    is_open = job->op->open != NULL;
    TRY(xl_samples_take(q, &how, enqueue_op, &timed_op, samples));
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

/* Times one size of the sweep with the tile that the library chooses for
 * it. */
static int time_size(const struct tiling_job *job, xl_queue *q, size_t i,
                     struct tiling_rate *out)
{
    static const double each_s = 0.1;
    struct gemm_case c = *(const struct gemm_case *)job->c;
    struct tiling_job at = *job;
    struct tiling_report page = {.n_rates = 0};
    xl_row row;
    at.c = &c;
    out->size = job->sweep->from + i * job->sweep->step;
    (void)sweep_apply(job->sweep, i, &c);
    xl_row_init(&row, job->op->name, "");
    job->op->describe(&c, &row);
    const int code = choose_tiling(&at, q, &page);
    if (code != EXIT_FINE)
        return code;
    const xl_status status = time_op(&at, q, each_s, &out->ns);
    if (status != XL_OK)
        return session_fail(job->s, "timing", status, xl_error_detail(q));
    out->rows = page.tiling.rows;
    out->cols = page.tiling.cols;
    out->flop_per_s = row.flop / out->ns * 1e9;
    return EXIT_FINE;
}

/* Times every size of the sweep. An exit_code. */
static int time_sweep(const struct tiling_job *job, xl_queue *q,
                      struct tiling_report *p)
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
        code = time_size(job, q, i, &p->rate[i]);
        p->n_rates += code == EXIT_FINE;
    }
    return code;
}

/* Limits the number of pieces. */
static int check_pieces(const struct tiling_report *p)
{
    const size_t pieces = tiling_n_pieces(&p->tiling);
    if (pieces > 0 && pieces <= TILING_MOST_PIECES)
        return EXIT_FINE;
    fprintf(stderr,
            "clbench: %s has more than %d tiles; give larger tiles or "
            "a smaller shape\n",
            p->title, TILING_MOST_PIECES);
    return EXIT_USAGE;
}

/* -- measured ------------------------------------------------------------- */

/* Copies the first line of a text, which may come from a driver, without
 * control characters. */
static void copy_first_line(char *out, size_t cap, const char *text)
{
    struct xl__str line = {0}, clean = {0};
    xl__str_add_n(&line, text, strcspn(text, "\n"));
    text_escape(&clean, xl__str_text(&line));
    xl__strcpy(out, cap, xl__str_text(&clean));
    xl__str_clear(&line);
    xl__str_clear(&clean);
}

/* Records the stand-in launch. If that is impossible, the report has the
 * reason; the command does not fail. */
static void record_launch(xl_queue *q, struct tiling_report *p)
{
    struct tiling_record *r = &p->measured;
    const xl_tiling *t = &p->tiling;
    const size_t n = tiling_n_pieces(t);
    const xl_watch what = {.n_pieces = n,
                           .n_groups = t->groups,
                           .wg_items = t->wg_items,
                           .local_mem_bytes = t->local_mem_bytes,
                           .whole = t->whole,
                           .rest_frac = tiling_piece_frac(t, t->whole),
                           .want_ns = p->op_ns};
    if (n > XL_MAX_WATCHED) {
        snprintf(p->why_not, sizeof p->why_not,
                 "at most %d tiles are recorded", XL_MAX_WATCHED);
        return;
    }
    r->piece = xl__calloc(n, sizeof *r->piece);
    const xl_status status =
        r->piece ? xl_groups_watch(q, &what, r->piece, &p->watched)
                 : XL_NO_MEMORY;
    if (status == XL_OK) {
        r->n = n;
        r->units = p->watched.n_units > p->units ? p->watched.n_units
                                                 : p->units;
        r->total_ns = p->watched.total_ns;
        r->has_clock = p->watched.has_clock;
        if (tiling_load_of(r, &p->measured_load, NULL))
            return;
    }
    const char *detail = xl_error_detail(q);
    copy_first_line(p->why_not, sizeof p->why_not,
                    status == XL_OK ? "out of memory"
                    : *detail       ? detail
                                    : xl_status_text(status));
    tiling_record_clear(r);
}

/* -- the report ----------------------------------------------------------- */

/* Sets the sawtooth around the size, or over the sweep; without known tiles
 * there is none. */
static void set_sawtooth(const struct tiling_job *job, struct tiling_report *p)
{
    const xl_tiling *t = &p->tiling;
    const struct sweep *asked = job->sweep;
    if (!tiling_has_map(t) || t->is_even || job->m == 0)
        return;
    p->saw = (struct sawtooth){
        .m = job->m,
        .n = job->n,
        .grows_m =
            asked ? asked->m : job->m >= job->n || job->op == &bench_softmax,
        .grows_n =
            asked ? asked->n : job->m <= job->n && job->op != &bench_softmax,
        .rows = t->rows,
        .cols = t->cols,
        .count = t->count,
        .slots = (double)p->units * p->concurrent};
    const size_t size = p->saw.grows_n ? job->n : job->m;
    p->range = asked ? (struct sawtooth_range){asked->from, asked->to}
                     : sawtooth_around(size);
    p->size = xl__min_size(xl__max_size(size, p->range.from), p->range.to);
}

/* Models the launch with the measured number of concurrent groups; a tile
 * takes the measured time of a wave. An exit_code. */
static int run_model(const struct tiling_job *job, struct tiling_report *p)
{
    const unsigned concurrent = p->measured_load.concurrent;
    p->concurrent = p->measured.n > 0 && concurrent > 1 ? concurrent : 1;
    const double waves = ceil((double)tiling_n_pieces(&p->tiling) /
                              ((double)p->units * p->concurrent));
    const double tile_ns = p->op_ns > 0 ? p->op_ns / waves : 1;
    set_sawtooth(job, p);
    return tiling_model_launch(&p->tiling, p->units, p->concurrent, tile_ns,
                               p->work, &p->model) &&
                   tiling_load_of(&p->model, &p->model_load, NULL)
               ? EXIT_FINE
               : session_fail(job->s, "splitting", XL_NO_MEMORY, "");
}

/* Times the op, records the stand-in, and times the sweep. An exit_code. */
static int measure_op(const struct tiling_job *job, xl_queue *q,
                      struct tiling_report *p)
{
    static const double time_s = 0.5;
    const xl_status status = time_op(job, q, time_s, &p->op_ns);
    if (status == XL_CANCELLED && !session_interrupted()) {
        xl__strcpy(p->why_not, sizeof p->why_not, "--max-time ended before");
        return EXIT_FINE;
    }
    if (status != XL_OK)
        return session_fail(job->s, "timing", status, xl_error_detail(q));
    if (p->work)
        xl__strcpy(p->why_not, sizeof p->why_not,
                   "groups of a stand-in take equal times, those of a mask "
                   "do not");
    else
        record_launch(q, p);
    return job->sweep ? time_sweep(job, q, p) : EXIT_FINE;
}

static int measure_on_device(const struct tiling_job *job, xl_device *dev,
                             struct tiling_report *p)
{
    char name[sizeof p->where];
    xl_queue *q = session_queue(job->s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    copy_first_line(name, sizeof name, device_fact_text(dev, "name", "?"));
    snprintf(p->where, sizeof p->where, "device %u: %.80s",
             xl_device_index(dev), name);
    progress_step(job->s, p->title);
    int code = choose_tiling(job, q, p);
    if (code == EXIT_FINE)
        code = check_pieces(p);
    if (job->s->set.units > 0)
        xl__strcpy(p->why_not, sizeof p->why_not,
                   "with --units nothing is run");
    else if (code == EXIT_FINE)
        code = measure_op(job, q, p);
    xl_queue_destroy(q);
    return code;
}

/* Models a tile given by --tile. */
static int model_given_tile(const struct tiling_job *job, const xl_device *dev,
                            struct tiling_report *p)
{
    xl_tiling *t = &p->tiling;
    *t = tiling_of_shape(job->m, job->n, job->rows, job->cols);
    t->count = job->count;
    if (!xl__mul(t->whole, job->count, &t->whole))
        t->whole = 0;
    t->groups = t->whole;
    snprintf(p->where, sizeof p->where, "%u units%s", p->units,
             dev && job->s->set.units == 0 ? " of the device" : ", no device");
    xl__strcpy(p->why_not, sizeof p->why_not, "with --tile nothing is run");
    return check_pieces(p);
}

int tiling_measure(const struct tiling_job *job, xl_device *dev,
                   struct tiling_report *p)
{
    const struct settings *set = &job->s->set;
    xl_fact units = {.value = (double)NAN};
    *p = (struct tiling_report){.op_ns = (double)NAN};
    snprintf(p->title, sizeof p->title, "%s %s %s%s", job->op->name,
             set->words[1], xl_dtype_name(job->dtype),
             set->causal ? ", causal" : "");
    if (dev)
        (void)xl_device_fact(dev, "compute_units", XL_UNKNOWN, &units);
    p->units = set->units > 0    ? (unsigned)set->units
               : units.value > 0 ? (unsigned)units.value
                                 : 1;
    const int code = job->rows > 0 ? model_given_tile(job, dev, p)
                                   : measure_on_device(job, dev, p);
    return code == EXIT_FINE ? run_model(job, p) : code;
}

void tiling_report_clear(struct tiling_report *p)
{
    tiling_record_clear(&p->model);
    tiling_record_clear(&p->measured);
    free(p->rate);
    free(p->work);
}
