/* SPDX-License-Identifier: Apache-2.0 */
/* The library says which tile and groups it would take; the op is timed, a
 * stand-in of its groups is watched for as long, and the model is run on as
 * many units with as much room as were seen. */
#include "tiling/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "results/result.h"

/* -- the tiles ------------------------------------------------------------ */

/* A launch whose plan does not tell of tiles. A softmax's groups do rows, or
 * parts of one; of others the groups alone are known. */
static void tiling_of_groups(const struct split_job *job, xl_tiling *t)
{
    t->whole = t->groups;
    t->band = t->count = 1;
    if (job->op != &bench_softmax)
        return;
    const bool by_rows = t->groups <= job->m;
    const size_t parts = by_rows ? 1 : t->groups / job->m;
    t->is_even = true;
    t->m = job->m;
    t->n = job->n;
    t->rows = by_rows ? xl__ceil_div(job->m, t->groups) : 1;
    t->cols = xl__ceil_div(job->n, parts);
    t->tiles_m = xl__ceil_div(job->m, t->rows);
    t->tiles_n = parts;
    t->whole = t->tiles_m * t->tiles_n;
}

int split_choose(const struct split_job *job, xl_queue *q,
                 struct split_page *p)
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
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        if (choices[i].chosen) {
            p->tiling = choices[i].tiling;
            xl__strcpy(p->variant, sizeof p->variant, choices[i].variant);
        }
    if (p->tiling.groups == 0) {
        fprintf(stderr, "clbench: %s leaves its work-groups to another library "
                        "or the driver; name another with --variant\n",
                p->variant);
        return EXIT_USAGE;
    }
    if (p->tiling.rows == 0)
        tiling_of_groups(job, &p->tiling);
    return EXIT_FINE;
}

static int check_size(const struct split_page *p)
{
    const size_t pieces = split_pieces(&p->tiling);
    if (pieces > 0 && pieces <= SPLIT_MOST)
        return EXIT_FINE;
    fprintf(stderr, "clbench: %s falls into more than %d tiles; take larger "
                    "tiles or a smaller shape\n", p->title, SPLIT_MOST);
    return EXIT_USAGE;
}

/* -- measured ------------------------------------------------------------- */

/* Of a text that may be a driver's: its first line, fit to be shown. */
static void first_line(char *out, size_t cap, const char *text)
{
    struct xl__str line = {0}, clean = {0};
    xl__str_add_n(&line, text, strcspn(text, "\n"));
    text_escape(&clean, xl__str_text(&line));
    xl__strcpy(out, cap, xl__str_text(&clean));
    xl__str_clear(&line);
    xl__str_clear(&clean);
}

/* What speaks against it is part of the page, no failure of the command. */
static void watch(xl_queue *q, struct split_page *p)
{
    struct split_record *r = &p->measured;
    const xl_tiling *t = &p->tiling;
    const size_t n = split_pieces(t);
    const xl_watch what = {.n_pieces = n,
                           .n_groups = t->groups,
                           .wg_items = t->wg_items,
                           .local_mem_bytes = t->local_mem_bytes,
                           .whole = t->whole,
                           .rest_frac = split_piece_frac(t, t->whole),
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
        if (split_load_of(r, &p->measured_load, NULL))
            return;
    }
    const char *detail = xl_error_detail(q);
    first_line(p->why_not, sizeof p->why_not,
               status == XL_OK ? "out of memory"
               : *detail       ? detail
                               : xl_status_text(status));
    split_record_clear(r);
}

/* -- the page ------------------------------------------------------------- */

static void find_saw(const struct split_job *job, struct split_page *p)
{
    const xl_tiling *t = &p->tiling;
    const struct sweep *asked = job->sweep;
    if (!split_has_map(t) || t->is_even || job->m == 0)
        return;
    p->saw = (struct sawtooth){
        .m = job->m,
        .n = job->n,
        .grows_m = asked ? asked->m
                         : job->m >= job->n || job->op == &bench_softmax,
        .grows_n = asked ? asked->n
                         : job->m <= job->n && job->op != &bench_softmax,
        .rows = t->rows,
        .cols = t->cols,
        .count = t->count,
        .places = (double)p->units * p->beside};
    const size_t size = p->saw.grows_n ? job->n : job->m;
    p->range = asked ? (struct sawtooth_range){asked->from, asked->to}
                     : sawtooth_around(size);
    p->size = xl__min_size(xl__max_size(size, p->range.from), p->range.to);
}

static int finish(const struct split_job *job, struct split_page *p)
{
    const unsigned beside = p->measured_load.beside;
    p->beside = p->measured.n > 0 && beside > 1 ? beside : 1;
    const double waves = ceil((double)split_pieces(&p->tiling) /
                              ((double)p->units * p->beside));
    const double tile_ns = p->op_ns > 0 ? p->op_ns / waves : 1;
    find_saw(job, p);
    return split_model(&p->tiling, p->units, p->beside, tile_ns,
                       &p->model) &&
                   split_load_of(&p->model, &p->model_load, NULL)
               ? EXIT_FINE
               : session_fail(job->s, "splitting", XL_NO_MEMORY, "");
}

static int measure(const struct split_job *job, xl_queue *q,
                   struct split_page *p)
{
    static const double time_s = 0.5;
    const xl_status status = split_time(job, q, time_s, &p->op_ns);
    if (status == XL_CANCELLED && !session_interrupted()) {
        xl__strcpy(p->why_not, sizeof p->why_not,
                   "--max-time was over before");
        return EXIT_FINE;
    }
    if (status != XL_OK)
        return session_fail(job->s, "timing", status, xl_error_detail(q));
    watch(q, p);
    return job->sweep ? split_rates(job, q, p) : EXIT_FINE;
}

static int on_device(const struct split_job *job, xl_device *dev,
                     struct split_page *p)
{
    char name[sizeof p->where];
    xl_queue *q = session_queue(job->s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    first_line(name, sizeof name, device_fact_text(dev, "name", "?"));
    snprintf(p->where, sizeof p->where, "device %u: %.80s",
             xl_device_index(dev), name);
    progress_step(job->s, p->title);
    int code = split_choose(job, q, p);
    if (code == EXIT_FINE)
        code = check_size(p);
    if (job->s->set.units > 0)
        xl__strcpy(p->why_not, sizeof p->why_not,
                   "--units asks what if, and runs nothing");
    else if (code == EXIT_FINE)
        code = measure(job, q, p);
    xl_queue_destroy(q);
    return code;
}

/* A tile that is asked about. */
static int what_if(const struct split_job *job, const xl_device *dev,
                   struct split_page *p)
{
    xl_tiling *t = &p->tiling;
    *t = split_tiling(job->m, job->n, job->rows, job->cols);
    t->count = job->count;
    if (!xl__mul(t->whole, job->count, &t->whole))
        t->whole = 0;
    t->groups = t->whole;
    snprintf(p->where, sizeof p->where, "%u units%s", p->units,
             dev && job->s->set.units == 0 ? " of the device" : ", no device");
    xl__strcpy(p->why_not, sizeof p->why_not,
               "--tile asks what if, and runs nothing");
    return check_size(p);
}

int split_run(const struct split_job *job, xl_device *dev,
              struct split_page *p)
{
    const struct settings *set = &job->s->set;
    xl_fact units = {.value = (double)NAN};
    *p = (struct split_page){.op_ns = (double)NAN};
    snprintf(p->title, sizeof p->title, "%s %s %s", job->op->name,
             set->words[1], xl_dtype_name(job->dtype));
    if (dev)
        (void)xl_device_fact(dev, "compute_units", XL_UNKNOWN, &units);
    p->units = set->units > 0    ? (unsigned)set->units
               : units.value > 0 ? (unsigned)units.value
                                 : 1;
    const int code =
        job->rows > 0 ? what_if(job, dev, p) : on_device(job, dev, p);
    return code == EXIT_FINE ? finish(job, p) : code;
}

void split_page_clear(struct split_page *p)
{
    split_record_clear(&p->model);
    split_record_clear(&p->measured);
    free(p->rate);
}
