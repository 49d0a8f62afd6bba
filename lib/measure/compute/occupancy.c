/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `occupancy`: how many work-groups are resident at a time, and the rate
 * of their dependent loads, as each group takes more local memory and as each
 * item keeps more values alive. Groups count themselves in a counter; the rate
 * is timed. Where the number falls there is a cliff; all cliffs together give
 * the size of what groups share:
 *
 *     resident
 *       4 |----.                 resident = floor(total / (size + reserved))
 *       3 |    '---.
 *       2 |        '------.
 *       1 |               '----------
 *         +----------------------- size */

#include "measure/compute/occupancy.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "device/cl_info.h"
#include "measure/probe.h"

enum {
    WORD = 4,
    WG = 64,         /* one or two sub-groups */
    LG_WORDS = 20,   /* of the chain of loads: beyond a first-level cache */
    GPU_GROUPS = 64, /* per unit: more than can be resident */
    ITERATIONS = 4,
    PACE = 64, /* long enough for all units to fill up */
    FEW_LIVE = 8,
    QUICK_LIVE = 128,
    MOST_LIVE = 288, /* more than an item can have on any device */
    LIVE_STEP = 8,
    MOST_OWN_LIVE = 48, /* registers of an item for other values */
    LOCAL_STEP = 256,   /* bytes; the granularity of drivers */
    MOST_OWN_LOCAL = 4096,
    LOCAL_GRAIN = 128,
    MOST_LOCAL = 1 << 18,
    TRIES = 2 /* the largest count is used */
};

struct occupancy_run {
    struct xl__session *p;
    cl_mem out, next, count;
    cl_uint *cycle; /* host copy of `next` */
    size_t wg, groups, units;
};

/* After a launch of this duration no longer one is tried (GE-11). */
static const double long_ns = 40e6;

/* What a group of the launch takes. */
struct group_usage {
    unsigned live;        /* live values per item */
    unsigned local_bytes; /* bytes per group */
};

/* -- pools from cliffs ---------------------------------------------------- */

/* The pool that groups share, from cliffs of residency. r groups of at most L
 * each are resident: r * (L + reserved) fits in the pool, and r * (L +
 * reserved + step) does not, if only the pool limits r. Not all cliffs are of
 * that kind: a pool may be split among schedulers, and then some numbers of
 * groups never fit exactly. So the reserve that explains the most cliffs is
 * chosen, and the largest sum is the pool. */
struct cliff_search {
    const struct xl__residency *r;
    struct xl__cliff *cliffs;
    unsigned *n;
};

/* Bisects between two sizes whose resident counts are known. */
static xl_status search_cliffs(const struct cliff_search *s, unsigned low,
                               unsigned high, unsigned at_low,
                               unsigned at_high)
{
    xl_status status = XL_OK;
    const unsigned step = s->r->step;
    const unsigned middle = low + (high - low) / step / 2 * step;
    unsigned at_middle;
    if (at_low == at_high || *s->n == XL__MOST_CLIFFS)
        return XL_OK;
    if (high - low <= step) {
        s->cliffs[(*s->n)++] = (struct xl__cliff){low, at_low};
        return XL_OK;
    }
    TRY(s->r->count(s->r->arg, middle, &at_middle));
    TRY(search_cliffs(s, low, middle, at_low, at_middle));
    TRY(search_cliffs(s, middle, high, at_middle, at_high));
fail:
    return status;
}

xl_status xl__cliffs_find(const struct xl__residency *r,
                          struct xl__cliff cliffs[XL__MOST_CLIFFS],
                          unsigned *n)
{
    xl_status status = XL_OK;
    const struct cliff_search s = {r, cliffs, n};
    const unsigned high = r->least + (r->most - r->least) / r->step * r->step;
    unsigned at_low, at_high;
    *n = 0;
    TRY(r->count(r->arg, r->least, &at_low));
    TRY(r->count(r->arg, high, &at_high));
    TRY(search_cliffs(&s, r->least, high, at_low, at_high));
fail:
    return status;
}

/* The pool for a given reserve per group; *misfit: what the explained cliffs
 * leave unused, summed per group. */
static struct xl__pool fit_pool(const struct xl__cliff *cliffs, unsigned n,
                                unsigned step, double reserved, double *misfit)
{
    struct xl__pool pool = {0, reserved, 0};
    *misfit = 0;
    for (unsigned i = 0; i < n; i++)
        pool.total =
            fmax(pool.total, cliffs[i].resident * (cliffs[i].most + reserved));
    for (unsigned i = 0; i < n; i++) {
        const double left =
            pool.total / cliffs[i].resident - (cliffs[i].most + reserved);
        if (left >= step)
            continue;
        pool.explained++;
        *misfit += left;
    }
    return pool;
}

bool xl__pool_find(const struct xl__cliff *cliffs, unsigned n, unsigned step,
                   unsigned most_reserved, unsigned grain,
                   struct xl__pool *out)
{
    double least = INFINITY, misfit;
    *out = (struct xl__pool){NAN, NAN, 0};
    for (unsigned c = 0; n > 0 && c <= most_reserved; c += grain) {
        const struct xl__pool pool = fit_pool(cliffs, n, step, c, &misfit);
        if (pool.explained < out->explained ||
            (pool.explained == out->explained && misfit >= least))
            continue;
        *out = pool;
        least = misfit;
    }
    return n > 0;
}

/* `seen` is an underestimate: compilers use more registers than needed where
 * that costs no residency, and the hardware may assign fewer pieces than there
 * are (NV-48). */
double xl__register_file(double seen)
{
    static const double low = 0.85, high = 1.05;
    for (double power = 1; seen > 0 && power <= 2 * seen; power *= 2) {
        for (double size = power; size <= 1.5 * power; size += power / 2) {
            if (seen >= low * size && seen <= high * size)
                return size;
        }
    }
    return NAN;
}

/* -- one launch ----------------------------------------------------------- */

static void plan_loads(const struct occupancy_run *f,
                       const struct group_usage *x, struct xl__plan *plan)
{
    struct xl__step *s =
        xl__probe_step(plan, "probe/occupancy.cl", "occupancy",
                       f->wg * f->groups, f->wg, false);
    s->local_mem_bytes = x->local_bytes;
    xl__define(s, "WG", (long)f->wg);
    xl__define(s, "LIVE", (long)x->live);
    xl__define(s, "LG_WORDS", LG_WORDS);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(s, slot);
    xl__arg_u32(s, ITERATIONS);
    xl__arg_u32(s, PACE);
    xl__arg_local(s, x->local_bytes);
}

static struct xl__call make_call(const struct occupancy_run *f)
{
    return (struct xl__call){.mem = {[1] = {.buf = f->out},
                                     [2] = {.buf = f->next},
                                     [3] = {.buf = f->count}}};
}

/* The same computation as in the kernel. */
static cl_uint expected_word(const struct occupancy_run *f, unsigned live,
                             size_t item)
{
    cl_uint x[MOST_LIVE], seed = (cl_uint)item, fold = 0;
    const size_t group = item / f->wg;
    cl_uint at = ((cl_uint)group * 0x9e3779b1u) >> (32 - LG_WORDS);
    for (unsigned k = 0; k < live; k++)
        x[k] = seed = seed * 0x2c1b3c6du + 0x5bd1e995u;
    for (unsigned t = 0; t < ITERATIONS; t++) {
        for (unsigned i = 0; i < PACE; i++)
            at = f->cycle[at];
        for (unsigned k = 0; k < live; k++)
            x[k] ^= at;
    }
    for (unsigned k = 0; k < live; k++)
        fold = (fold << 5 | fold >> 27) ^ x[k];
    return fold ^ at ^ (cl_uint)(group * f->wg + (item + 1) % f->wg);
}

/* Compares the word of the last item. */
static xl_status check_last_word(const struct occupancy_run *f, unsigned live,
                                 xl_row *row)
{
    xl_status status = XL_OK;
    const size_t last = f->wg * f->groups - 1;
    cl_uint seen = 0;
    TRY(xl_buffer_read(f->p->q, f->out, last * WORD, &seen, sizeof seen));
    if (seen != expected_word(f, live, last))
        xl__probe_reject(
            row, "wrong result: the end of a chain of loads differs from "
                 "the host's");
fail:
    return status;
}

/* -- resident groups ------------------------------------------------------ */

static xl_status reset_count(const struct occupancy_run *f)
{
    return xl_buffer_fill(f->p->q, f->count, 0, 0, 2);
}

/* The largest number of groups that ran at a time since the reset, on the
 * whole device. */
static xl_status read_count(const struct occupancy_run *f, cl_uint *most)
{
    return xl_buffer_read(f->p->q, f->count, WORD, most, sizeof *most);
}

/* An axis: local memory or live values. Several of the units that a driver
 * counts may share a pool; the number of pools is what is resident when one
 * group fills one. */
struct usage_axis {
    struct occupancy_run *f;
    bool is_local;
    size_t pools; /* 0: not known yet */
};

static struct group_usage group_usage_at(const struct usage_axis *a,
                                         unsigned size)
{
    return a->is_local ? (struct group_usage){FEW_LIVE, size}
                       : (struct group_usage){size, (unsigned)a->f->wg * WORD};
}

static xl_status count_resident(const struct usage_axis *a, unsigned size,
                                cl_uint *most)
{
    xl_status status = XL_OK;
    const struct occupancy_run *f = a->f;
    const struct group_usage x = group_usage_at(a, size);
    const struct xl__call call = make_call(f);
    struct xl__plan plan;
    plan_loads(f, &x, &plan);
    TRY(xl__probe_check_stop(f->p));
    TRY(reset_count(f));
    for (unsigned i = 0; i < TRIES; i++)
        TRY(xl__plan_launch(f->p->q, &plan, &call, NULL));
    TRY(read_count(f, most));
fail:
    return status;
}

/* The callback of struct xl__residency: residents per pool. */
static xl_status count_resident_per_pool(void *arg, unsigned size,
                                         unsigned *resident)
{
    const struct usage_axis *a = arg;
    cl_uint most = 0;
    const xl_status status = count_resident(a, size, &most);
    *resident = (unsigned)lround((double)most / (double)a->pools);
    return status;
}

static xl_status count_pools(struct usage_axis *a, unsigned most_size)
{
    cl_uint most = 0;
    const xl_status status = count_resident(a, most_size, &most);
    a->pools = xl__max_size(xl__min_size(most, a->f->units), 1);
    return status;
}

/* -- rates ---------------------------------------------------------------- */

/* Queries the bytes that the driver keeps in memory instead of registers; NaN
 * if it reports none. */
static xl_status query_private_memory(const struct occupancy_run *f,
                                      const struct xl__plan *plan,
                                      double *bytes)
{
    xl_status status = XL_OK;
    cl_ulong answer = 0;
    struct xl__cached_plan *ready = xl__calloc(1, sizeof *ready);
    if (!ready)
        return xl__error_set(&f->p->q->error, XL_NO_MEMORY, "a plan");
    ready->plan = *plan;
    TRY(xl__cached_plan_build(f->p->q, ready));
    *bytes =
        clGetKernelWorkGroupInfo(ready->kernel[0], f->p->q->ctx->device->id,
                                 CL_KERNEL_PRIVATE_MEM_SIZE, sizeof answer,
                                 &answer, NULL) == CL_SUCCESS
            ? (double)answer
            : NAN;
fail:
    xl__cached_plan_destroy(ready);
    return status;
}

static xl_status measure_rate(const struct usage_axis *a, unsigned size,
                              double *ns)
{
    xl_status status = XL_OK;
    const struct occupancy_run *f = a->f;
    const struct group_usage x = group_usage_at(a, size);
    const struct xl__call call = make_call(f);
    struct xl__plan plan;
    double private_bytes = NAN;
    cl_uint most = 0;
    xl_row row = xl__probe_row("probe_occupancy",
                               a->is_local ? "local" : "live", "1/s");
    xl_row_param(&row, a->is_local ? "bytes" : "live", size);
    plan_loads(f, &x, &plan);
    TRY(reset_count(f));
    TRY(xl__probe_sample(f->p, &row, &plan, &call,
                         (double)ITERATIONS * PACE * (double)f->groups));
    TRY(check_last_word(f, x.live, &row));
    TRY(read_count(f, &most));
    xl_row_found(&row, "groups", (double)most / (double)f->units);
    TRY(query_private_memory(f, &plan, &private_bytes));
    if (!a->is_local && private_bytes > 0)
        xl_row_found(&row, "private_B", private_bytes);
    *ns = row.samples.median_ns;
    xl__probe_emit(f->p, &row);
fail:
    return status;
}

/* -- an axis -------------------------------------------------------------- */

static void report_cliffs(const struct usage_axis *a,
                          const struct xl__cliff *cliffs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        xl_row row = xl__probe_row("probe_occupancy",
                                   a->is_local ? "local_cliff" : "live_cliff",
                                   a->is_local ? "B" : "1");
        row.value = cliffs[i].most;
        xl_row_param(&row, "groups", cliffs[i].resident);
        xl__probe_emit(a->f->p, &row);
    }
}

static xl_status report_unsupported(struct xl__session *p, const char *variant,
                                    const char *why)
{
    xl_row row = xl__probe_row("probe_occupancy", variant, "1");
    return xl__probe_unsupported(p, &row, "%s", why);
}

/* Emits the pool that the cliffs imply: bytes, or registers of 32 bits. */
static void report_pool(struct usage_axis *a, const struct xl__cliff *cliffs,
                        unsigned n)
{
    struct xl__session *p = a->f->p;
    struct xl__pool pool;
    const bool found =
        a->is_local
            ? xl__pool_find(cliffs, n, LOCAL_STEP, MOST_OWN_LOCAL, LOCAL_GRAIN,
                            &pool)
            : xl__pool_find(cliffs, n, LIVE_STEP, MOST_OWN_LIVE, 1, &pool);
    const char *variant = a->is_local ? "local_pool" : "register_pool";
    if (!found) {
        report_unsupported(
            p, variant,
            "no cliff: the same number of groups is resident at all sizes");
        return;
    }
    xl_row row =
        xl__probe_row("probe_occupancy", variant, a->is_local ? "B" : "1");
    row.value = pool.total * (a->is_local ? 1 : (double)a->f->wg);
    const double file = a->is_local ? NAN : xl__register_file(row.value);
    if (file > 0) {
        xl_row_found(&row, "seen", row.value);
        row.value = file;
    }
    xl_row_found(&row, "pools", (double)a->pools);
    xl_row_found(&row, "reserved", pool.reserved);
    xl_row_found(&row, "explained", (double)pool.explained / n);
    if (n < 2)
        xl__row_mark(
            &row, XL_ROW_SUSPICIOUS,
            "only one cliff: other load on the device looks the same");
    else if (file > 0 && a->pools == a->f->units)
        xl__probe_set_fact(p, &row, XL__F_registers_per_cu, false);
    xl__probe_emit(p, &row);
}

/* Measures rates from the least size to *most, by doubling; if launches become
 * long (GE-11) or the driver fails, *most is set to the last size that ran. */
static xl_status run_rates(const struct usage_axis *a, unsigned least,
                           unsigned *most)
{
    xl_status status = XL_OK;
    double ns = 0;
    unsigned size = least, reached = least;
    for (;; size = (unsigned)xl__min_size(2 * (size_t)size, *most)) {
        status = measure_rate(a, size, &ns);
        if (status != XL_OK && status != XL_CANCELLED && size > least) {
            xl__error_reset(&a->f->p->q->error);
            break;
        }
        TRY(status);
        reached = size;
        if (size == *most || ns > long_ns)
            break;
    }
    *most = reached;
    return XL_OK;
fail:
    return status;
}

/* Measures one axis; `most` is several steps above `least`. */
static xl_status run_axis(struct occupancy_run *f, bool is_local,
                          unsigned least, unsigned most, unsigned step)
{
    xl_status status = XL_OK;
    struct usage_axis a = {.f = f, .is_local = is_local};
    struct xl__residency r = {count_resident_per_pool, &a, least, most, step};
    struct xl__cliff cliffs[XL__MOST_CLIFFS];
    unsigned n;
    TRY(run_rates(&a, least, &r.most));
    TRY(count_pools(&a, r.most));
    TRY(xl__cliffs_find(&r, cliffs, &n));
    report_cliffs(&a, cliffs, n);
    report_pool(&a, cliffs, n);
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

/* Creates one cycle through all words, in random order (Sattolo). */
static xl_status create_cycle(struct occupancy_run *f)
{
    xl_status status = XL_OK;
    const size_t n = (size_t)1 << LG_WORDS;
    struct xl__rng rng;
    f->cycle = xl__calloc(n, sizeof *f->cycle);
    TRY(xl__check_alloc(&f->p->q->error, f->cycle, "a chain of loads"));
    xl__rng_seed(&rng, f->p->how->seed);
    for (size_t i = 0; i < n; i++)
        f->cycle[i] = (cl_uint)i;
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = (size_t)xl__rng_below(&rng, i);
        const cl_uint held = f->cycle[i];
        f->cycle[i] = f->cycle[j];
        f->cycle[j] = held;
    }
    TRY(xl_buffer_create(f->p->q, n * WORD, &f->next));
    TRY(xl_buffer_write(f->p->q, f->next, 0, f->cycle, n * WORD));
    TRY(xl_buffer_create(f->p->q, f->wg * f->groups * WORD, &f->out));
    TRY(xl_buffer_create(f->p->q, 2 * sizeof(cl_int), &f->count));
fail:
    return status;
}

static void destroy_run(struct occupancy_run *f)
{
    cl_mem *const mems[] = {&f->out, &f->next, &f->count};
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++)
        xl__buffer_release(*mems[i]);
    free(f->cycle);
}

static xl_status run_occupancy_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool scalar = xl__probe_is_scalar(l);
    struct occupancy_run f = {.p = p,
                              .wg = scalar ? 1 : xl__min_size(WG, p->most_wg),
                              .units = xl__size_or(l, XL__F_compute_units, 1)};
    const size_t local =
        xl__min_size(xl__size_or(l, XL__F_local_mem_dynamic_bytes, 0) /
                         LOCAL_STEP * LOCAL_STEP,
                     MOST_LOCAL);
    f.groups = f.units * (scalar ? XL__CPU_GROUPS : GPU_GROUPS);
    if (xl__is(l, XL__F_is_cpu))
        return report_unsupported(
            p, "", "no cliff: a core runs one group at a time, at any size");
    TRY(create_cycle(&f));
    if (!xl__is(l, XL__F_has_local_mem) || local < LOCAL_STEP)
        report_unsupported(p, "local_pool",
                           "local memory is ordinary memory here");
    else
        TRY(run_axis(&f, true, LOCAL_STEP, (unsigned)local, LOCAL_STEP));
    TRY(run_axis(&f, false, FEW_LIVE, p->how->quick ? QUICK_LIVE : MOST_LIVE,
                 LIVE_STEP));
fail:
    destroy_run(&f);
    return status;
}

const struct xl__probe xl__probe_occupancy = {
    {"occupancy",
     "How many work-groups are resident at a time, counted by the groups "
     "themselves, and the rate of their dependent loads, as each takes more "
     "local memory and as each item keeps more values alive. Cliffs are the "
     "most that a group, or an item, may take for so many to be resident; "
     "from all of them follow the local memory and the registers that groups "
     "share, and what each has reserved. private_B is what the driver keeps "
     "in memory instead of registers. Fooled by a compiler that recomputes "
     "values instead of keeping them, and by other load on the device.",
     true},
    run_occupancy_probe};
