/* SPDX-License-Identifier: Apache-2.0 */
/* How many work-groups are resident at a time, and what a walk of dependent
 * loads loses with them: as each takes more local memory, and as each item
 * keeps more values alive. Residents are counted by the groups themselves,
 * the rate is timed. Where their number falls there is a cliff; all cliffs
 * together tell the size of what groups share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "device/cl_info.h"
#include "measure/memory/onchip.h"
#include "measure/probe.h"

enum {
    WORD = 4,
    WG = 64,         /* two sub-groups or one */
    LG_WORDS = 20,   /* of the walk: beyond a first cache */
    GPU_GROUPS = 64, /* a unit's: more than can be resident */
    TURNS = 4,
    PACE = 64, /* long enough for all units to fill up */
    FEW_LIVE = 8,
    QUICK_LIVE = 128,
    MOST_LIVE = 288, /* more than an item may have anywhere */
    LIVE_STEP = 8,
    MOST_OWN_LIVE = 48, /* registers of an item for all else */
    LOCAL_STEP = 256,   /* bytes; drivers give it out in such pieces */
    MOST_OWN_LOCAL = 4096,
    LOCAL_GRAIN = 128,
    MOST_LOCAL = 1 << 18,
    TRIES = 2 /* the most residents of them count */
};

struct field {
    struct xl__probing *p;
    cl_mem out, next, count;
    cl_uint *place; /* as in `next` */
    size_t wg, groups, units;
};

/* A launch that lasts so long is the last of its kind: the next takes longer,
 * and nobody knows what ends it. */
static const double long_ns = 40e6;

/* What a launch takes. */
struct load {
    unsigned live;        /* values an item */
    unsigned local_bytes; /* a group */
};

/* -- one launch ----------------------------------------------------------- */

static void make_plan(const struct field *f, const struct load *x,
                      struct xl__plan *plan)
{
    struct xl__step *s = &plan->step[0];
    memset(plan, 0, sizeof *plan);
    plan->n_steps = 1;
    s->source = "probe/occupancy.cl";
    s->kernel = "occupancy";
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = f->wg;
    s->global[0] = f->wg * f->groups;
    s->local_mem_bytes = x->local_bytes;
    xl__define(s, "WG", (long)f->wg);
    xl__define(s, "LIVE", (long)x->live);
    xl__define(s, "LG_WORDS", LG_WORDS);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(s, slot);
    xl__arg_u32(s, TURNS);
    xl__arg_u32(s, PACE);
    xl__arg_local(s, x->local_bytes);
}

static struct xl__call call_of(const struct field *f)
{
    return (struct xl__call){.mem = {[1] = {f->out, NULL},
                                     [2] = {f->next, NULL},
                                     [3] = {f->count, NULL}}};
}

/* As the kernel. */
static cl_uint expected(const struct field *f, unsigned live, size_t item)
{
    cl_uint x[MOST_LIVE], seed = (cl_uint)item, fold = 0;
    const size_t group = item / f->wg;
    cl_uint at = ((cl_uint)group * 0x9e3779b1u) >> (32 - LG_WORDS);
    for (unsigned k = 0; k < live; k++)
        x[k] = seed = seed * 0x2c1b3c6du + 0x5bd1e995u;
    for (unsigned t = 0; t < TURNS; t++) {
        for (unsigned i = 0; i < PACE; i++)
            at = f->place[at];
        for (unsigned k = 0; k < live; k++)
            x[k] ^= at;
    }
    for (unsigned k = 0; k < live; k++)
        fold = (fold << 5 | fold >> 27) ^ x[k];
    return fold ^ at ^ (cl_uint)(group * f->wg + (item + 1) % f->wg);
}

/* The last item's word. */
static xl_status look(const struct field *f, unsigned live, xl_row *row)
{
    xl_status status = XL_OK;
    const size_t last = f->wg * f->groups - 1;
    cl_uint seen = 0;
    TRY(xl_buffer_read(f->p->q, f->out, last * WORD, &seen, sizeof seen));
    if (seen != expected(f, live, last))
        xl__probe_reject(
            row, "the end of a walk with its values is not the host's");
fail:
    return status;
}

/* -- residents ------------------------------------------------------------ */

static xl_status reset_count(const struct field *f)
{
    return xl_buffer_fill(f->p->q, f->count, 0, 0, 2);
}

/* The most groups under way at a time since then, on the whole device. */
static xl_status read_count(const struct field *f, cl_uint *most)
{
    return xl_buffer_read(f->p->q, f->count, WORD, most, sizeof *most);
}

/* One axis: local memory or live values. A pool may be shared by several of
 * the units that a driver counts; how many pools there are is what is
 * resident when one group fills one. */
struct axis {
    struct field *f;
    bool is_local;
    size_t pools; /* 0: not known yet */
};

static struct load load_of(const struct axis *a, unsigned size)
{
    return a->is_local ? (struct load){FEW_LIVE, size}
                       : (struct load){size, (unsigned)a->f->wg * WORD};
}

static xl_status ask_total(const struct axis *a, unsigned size, cl_uint *most)
{
    xl_status status = XL_OK;
    const struct field *f = a->f;
    const struct load x = load_of(a, size);
    const struct xl__call call = call_of(f);
    struct xl__plan plan;
    make_plan(f, &x, &plan);
    TRY(xl__probe_alive(f->p));
    TRY(reset_count(f));
    for (unsigned i = 0; i < TRIES; i++)
        TRY(xl__plan_launch(f->p->q, &plan, &call, NULL));
    TRY(read_count(f, most));
fail:
    return status;
}

/* Of one pool. */
static xl_status ask(void *arg, unsigned size, unsigned *resident)
{
    const struct axis *a = arg;
    cl_uint most = 0;
    const xl_status status = ask_total(a, size, &most);
    *resident = (unsigned)lround((double)most / (double)a->pools);
    return status;
}

static xl_status count_pools(struct axis *a, unsigned most_size)
{
    cl_uint most = 0;
    const xl_status status = ask_total(a, most_size, &most);
    a->pools = xl__max_size(xl__min_size(most, a->f->units), 1);
    return status;
}

/* -- rates ---------------------------------------------------------------- */

/* What the driver says is kept in memory instead of registers; NaN: nothing.
 */
static xl_status ask_private(const struct field *f,
                             const struct xl__plan *plan, double *bytes)
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
    xl__cached_plan_clear(ready);
    free(ready);
    return status;
}

static xl_status rate_at(const struct axis *a, unsigned size, double *ns)
{
    xl_status status = XL_OK;
    const struct field *f = a->f;
    const struct load x = load_of(a, size);
    const struct xl__call call = call_of(f);
    struct xl__plan plan;
    double private_bytes = NAN;
    cl_uint most = 0;
    xl_row row;
    xl_row_init(&row, "probe_occupancy", a->is_local ? "local" : "live");
    row.unit = "1/s";
    xl_row_param(&row, a->is_local ? "bytes" : "live", size);
    make_plan(f, &x, &plan);
    TRY(xl__probe_alive(f->p));
    TRY(reset_count(f));
    TRY(xl__probe_sample(f->p, &row, &plan, &call,
                         (double)TURNS * PACE * (double)f->groups));
    TRY(look(f, x.live, &row));
    TRY(read_count(f, &most));
    xl_row_found(&row, "groups", (double)most / (double)f->units);
    TRY(ask_private(f, &plan, &private_bytes));
    if (!a->is_local && private_bytes > 0)
        xl_row_found(&row, "private_B", private_bytes);
    *ns = row.samples.median_ns;
    xl__probe_emit(f->p, &row);
fail:
    return status;
}

/* -- an axis -------------------------------------------------------------- */

static void emit_cliffs(const struct axis *a, const struct xl__cliff *cliffs,
                        unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        xl_row row;
        xl_row_init(&row, "probe_occupancy",
                    a->is_local ? "local_cliff" : "live_cliff");
        row.unit = a->is_local ? "B" : "1";
        row.value = cliffs[i].most;
        xl_row_param(&row, "groups", cliffs[i].resident);
        xl__probe_emit(a->f->p, &row);
    }
}

static void emit_none(struct xl__probing *p, const char *variant,
                      const char *why)
{
    xl_row row;
    xl_row_init(&row, "probe_occupancy", variant);
    row.unit = "1";
    xl__probe_unsupported(p, &row, why);
}

/* What the cliffs imply: bytes, or registers of 32 bits. */
static void emit_pool(struct axis *a, const struct xl__cliff *cliffs,
                      unsigned n)
{
    struct xl__probing *p = a->f->p;
    struct xl__pool pool;
    xl_row row;
    const bool found =
        a->is_local
            ? xl__pool_find(cliffs, n, LOCAL_STEP, MOST_OWN_LOCAL, LOCAL_GRAIN,
                            &pool)
            : xl__pool_find(cliffs, n, LIVE_STEP, MOST_OWN_LIVE, 1, &pool);
    const char *variant = a->is_local ? "local_pool" : "register_pool";
    if (!found) {
        emit_none(p, variant,
                  "no cliff: as many groups are resident whatever they take");
        return;
    }
    xl_row_init(&row, "probe_occupancy", variant);
    row.unit = a->is_local ? "B" : "1";
    row.value = pool.total * (a->is_local ? 1 : (double)a->f->wg);
    const double file = a->is_local ? NAN : xl__register_file(row.value);
    if (file > 0) {
        xl_row_found(&row, "seen", row.value);
        row.value = file;
    }
    xl_row_found(&row, "pools", (double)a->pools);
    xl_row_found(&row, "reserved", pool.reserved);
    xl_row_found(&row, "explained", (double)pool.explained / n);
    if (n < 2) {
        row.verdict = XL_ROW_SUSPICIOUS;
        xl__strcpy(row.reason, sizeof row.reason,
                   "one cliff alone: other work on the device looks the same");
    } else if (file > 0 && a->pools == a->f->units) {
        xl__probe_settle(p, &row, XL__F_registers_per_cu, false);
    }
    xl__probe_emit(p, &row);
}

/* Rates from the least to the most, by doubling; where launches become long
 * (GE-11), or the driver refuses what it said it has, *most is what was
 * reached. */
static xl_status run_rates(const struct axis *a, unsigned least,
                           unsigned *most)
{
    xl_status status = XL_OK;
    double ns = 0;
    unsigned size = least, reached = least;
    for (;; size = (unsigned)xl__min_size(2 * (size_t)size, *most)) {
        status = rate_at(a, size, &ns);
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

/* `most` is some steps more than `least`. */
static xl_status run_axis(struct field *f, bool is_local, unsigned least,
                          unsigned most, unsigned step)
{
    xl_status status = XL_OK;
    struct axis a = {.f = f, .is_local = is_local};
    struct xl__residency r = {ask, &a, least, most, step};
    struct xl__cliff cliffs[XL__MOST_CLIFFS];
    unsigned n;
    TRY(run_rates(&a, least, &r.most));
    TRY(count_pools(&a, r.most));
    TRY(xl__cliffs_find(&r, cliffs, &n));
    emit_cliffs(&a, cliffs, n);
    emit_pool(&a, cliffs, n);
fail:
    return status;
}

/* -- the whole ------------------------------------------------------------ */

/* One cycle through all places, in random order (Sattolo). */
static xl_status make_walk(struct field *f)
{
    xl_status status = XL_OK;
    const size_t n = (size_t)1 << LG_WORDS;
    struct xl__rng rng;
    f->place = xl__calloc(n, sizeof *f->place);
    if (!f->place)
        TRY(xl__error_set(&f->p->q->error, XL_NO_MEMORY, "a walk"));
    xl__rng_seed(&rng, f->p->how->seed);
    for (size_t i = 0; i < n; i++)
        f->place[i] = (cl_uint)i;
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = (size_t)xl__rng_below(&rng, i);
        const cl_uint held = f->place[i];
        f->place[i] = f->place[j];
        f->place[j] = held;
    }
    TRY(xl_buffer_create(f->p->q, n * WORD, &f->next));
    TRY(xl_buffer_write(f->p->q, f->next, 0, f->place, n * WORD));
    TRY(xl_buffer_create(f->p->q, f->wg * f->groups * WORD, &f->out));
    TRY(xl_buffer_create(f->p->q, 2 * sizeof(cl_int), &f->count));
fail:
    return status;
}

static void clear(struct field *f)
{
    cl_mem *const mems[] = {&f->out, &f->next, &f->count};
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++) {
        if (*mems[i])
            clReleaseMemObject(*mems[i]);
    }
    free(f->place);
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const bool scalar = xl__probe_is_scalar(l);
    struct field f = {.p = p,
                      .wg = scalar ? 1 : xl__min_size(WG, p->most_wg),
                      .units = xl__size_or(l, XL__F_compute_units, 1)};
    const size_t local =
        xl__min_size(xl__size_or(l, XL__F_local_mem_dynamic_bytes, 0) /
                         LOCAL_STEP * LOCAL_STEP,
                     MOST_LOCAL);
    f.groups = f.units * (scalar ? XL__CPU_GROUPS : GPU_GROUPS);
    if (xl__is(l, XL__F_is_cpu)) {
        emit_none(p, "",
                  "no cliff: a core works on one group at a time, whatever it "
                  "takes");
        return XL_OK;
    }
    TRY(make_walk(&f));
    if (!xl__is(l, XL__F_has_local_mem) || local < LOCAL_STEP)
        emit_none(p, "local_pool", "local memory is ordinary memory here");
    else
        TRY(run_axis(&f, true, LOCAL_STEP, (unsigned)local, LOCAL_STEP));
    TRY(run_axis(&f, false, FEW_LIVE, p->how->quick ? QUICK_LIVE : MOST_LIVE,
                 LIVE_STEP));
fail:
    clear(&f);
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
     "in memory instead of registers. Fooled by a compiler that computes "
     "values again rather than keep them, and by other work on the device.",
     true},
    run};
