/* SPDX-License-Identifier: Apache-2.0 */
/* The peak of a matrix engine for each type, by the two ways there may be to
 * it: instructions of one sub-group with operands in registers, and of four
 * with operands in local memory. The higher one is the fact. A number that
 * units and clock do not allow does not count, nor does a wrong result, nor a
 * time that does not follow the work. */
#include "measure/compute/matrix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/peak_rates.h"

/* Of a launch: far below a watchdog (GE-11). */
static const double quick_ns = 4e6, long_ns = 20e6;
static const double over_bound = 1.05;

/* clang-format off */
static const struct way {
    enum xl__matrix_way way;
    const char *name;
    enum xl__fact_id fact; /* the device has it: the way, or a target */
    unsigned wg, groups_a_unit;
    unsigned steps;        /* of a turn: exact in i32, close in f32 */
    double macs;           /* of a group's step, in bytes along k */
    size_t local_bytes;
} ways[] = {
    /* way             name     fact         wg   groups steps macs                       local */
    {XL__MATRIX_TEAM,  "mma",   XL__F_mma,   128, 8,     32,   4 * 8 * 16 * 8 * 32.0,     0},
    {XL__MATRIX_TEAMS, "wgmma", XL__F_wgmma, 256, 1,     64,   2 * 4 * 64 * 256 * 32.0,   48 << 10},
};
/* clang-format on */
enum { N_WAYS = sizeof ways / sizeof *ways };

/* One launch. */
struct burst {
    const struct xl__matrix_type *type;
    const struct way *way;
    cl_mem out;
    size_t items, turns;
};

static double flop_of(const struct burst *b)
{
    return 2 * b->way->macs / (double)xl_dtype_bytes(b->type->in) *
           b->way->steps * (double)b->turns * (double)(b->items / b->way->wg);
}

static void make_plan(const struct xl__limits *l, const struct burst *b,
                      struct xl__plan *plan)
{
    enum { WIDEST = 256 };
    struct xl__step *s = &plan->step[0];
    *plan = (struct xl__plan){.n_steps = 1, .flop = flop_of(b)};
    s->source = "probe/matrix_engine.cl";
    s->kernel = "matrix";
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = b->way->wg;
    s->global[0] = b->items;
    s->local_mem_bytes = b->way->local_bytes;
    if (b->way->way == XL__MATRIX_TEAMS) {
        s->target = xl__text(l, XL__F_wgmma);
        xl__define(s, "TN", WIDEST);
        xl__define(s, "UA", 0);
        xl__define(s, "UB", 0);
    }
    xl__define_choice(s, "XL_MMA", xl__text(l, XL__F_mma));
    xl__define(s, "WAY", b->way->way);
    xl__define(s, "WG", b->way->wg);
    xl__define(s, "TI", b->type->in);
    xl__define(s, "KEEP", b->type->keep);
    xl__define(s, "SET", b->type->set);
    xl__define(s, "STEPS", b->way->steps);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, b->turns);
}

/* struct xl__turning. */
static xl_status sample(struct xl__probing *p, void *arg, size_t turns,
                        xl_row *row)
{
    struct burst *b = arg;
    struct xl__plan plan;
    const struct xl__call call = {.mem = {[1] = {b->out, NULL}}};
    b->turns = turns;
    make_plan(&p->q->ctx->device->limits, b, &plan);
    return xl__probe_sample(p, row, &plan, &call, plan.flop);
}

/* Has every item the number that the host has? Of bytes it is whole. */
static xl_status look(struct xl__probing *p, const struct burst *b,
                      bool *right)
{
    xl_status status = XL_OK;
    union {
        float f;
        int32_t i;
    } seen[XL__MATRIX_LOOKS];
    const size_t n = xl__min_size(b->items, XL__MATRIX_LOOKS);
    TRY(xl_buffer_read(p->q, b->out, 0, seen, n * sizeof *seen));
    *right = true;
    for (unsigned i = 0; i < n; i++) {
        double off;
        const double steps = b->way->steps;
        const double want =
            steps * xl__matrix_want(b->way->way, b->type, i, &off);
        const double got =
            b->type->in == XL_I8 ? seen[i].i : (double)seen[i].f;
        if (!(fabs(got - want) <= steps * off))
            *right = false;
    }
fail:
    return status;
}

/* -- a type by a way ------------------------------------------------------ */

static void describe(const struct xl__limits *l,
                     const struct xl__matrix_type *type, const struct way *way,
                     xl_row *row)
{
    xl_row_init(row, "probe_matrix", way->name);
    row->dtype = type->in;
    row->unit = "flop/s";
    const double bound = xl__bound_matrix(l, type->in);
    if (bound > 0)
        row->roof = (xl_bound){bound, "flop/s", "units x clock", XL_KNOWN};
}

static xl_status measure(struct xl__probing *p, struct burst *b, xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__turning w = {sample, b};
    bool right;
    TRY(xl__turns_find(p, &w, p->how->quick ? quick_ns : long_ns, &b->turns));
    const size_t turns = b->turns;
    TRY(xl_buffer_fill(p->q, b->out, 0, 0, b->items));
    TRY(sample(p, b, turns, row));
    TRY(look(p, b, &right));
    TRY(xl__turns_halve(p, &w, turns, row));
    if (!right)
        xl__probe_reject(row, "not the product that the host has: wrong "
                              "arithmetic, or not all steps were done");
    else if (row->value > over_bound * row->roof.value)
        xl__probe_reject(row, "more than units and clock allow: the clock "
                              "lies, or not all steps were done");
fail:
    return status;
}

/* The first line of the story tells. */
static void not_built(struct xl__probing *p, xl_row *row)
{
    char why[sizeof row->reason];
    const char *story = xl_error_detail(p->q);
    snprintf(why, sizeof why, "%.*s", (int)strcspn(story, "\r\n"), story);
    xl__probe_unsupported(p, row, why);
}

static xl_status one(struct xl__probing *p, const struct xl__matrix_type *type,
                     const struct way *way)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->limits;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct burst b = {.type = type,
                      .way = way,
                      .items = units * way->groups_a_unit * way->wg};
    xl_row row;
    describe(l, type, way, &row);
    if (p->most_wg < way->wg) {
        xl__probe_unsupported(p, &row, "the device's groups are too small");
        return XL_OK;
    }
    TRY(xl__probe_alive(p));
    TRY(xl_buffer_create(p->q, sizeof(float) * b.items, &b.out));
    status = measure(p, &b, &row);
    if (status == XL_BUILD_FAILED) {
        not_built(p, &row);
        status = XL_OK;
        goto fail;
    }
    TRY(status);
    xl__probe_emit(p, &row);
    if (row.verdict < XL_ROW_REJECTED && row.value > 0)
        xl__probe_raise(l, xl__peak_matrix(type->in), xl__probe_peak(&row));
fail:
    if (b.out)
        clReleaseMemObject(b.out);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

/* Why there is nothing to measure; NULL: there is. */
static const char *missing(const struct xl__limits *l)
{
    const char *way = xl__text(l, XL__F_mma);
    if (!*way)
        return "no way to a matrix engine is known here";
    return xl__streq(way, "emulated") ? "matrix instructions are emulated here"
                                      : NULL;
}

/* By each way that the device has. */
xl_status xl__matrix_peak(struct xl__probing *p, xl_dtype in)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const enum xl__fact_id peak = xl__peak_matrix(in);
    for (unsigned t = 0; t < XL__N_MATRIX_TYPES; t++) {
        const struct xl__matrix_type *type = &xl__matrix_types[t];
        for (unsigned w = 0; w < N_WAYS; w++) {
            if (xl__peak_matrix(type->in) == peak && !missing(l) &&
                *xl__text(l, ways[w].fact))
                TRY(one(p, type, &ways[w]));
        }
    }
fail:
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    const char *why = missing(&p->q->ctx->device->limits);
    if (why) {
        xl_row row;
        xl_row_init(&row, "probe_matrix", "any");
        row.unit = "flop/s";
        xl__probe_unsupported(p, &row, why);
        return XL_OK;
    }
    for (unsigned t = 0; t < XL__N_MATRIX_TYPES; t++)
        TRY(xl__matrix_peak(p, xl__matrix_types[t].in));
fail:
    return status;
}

const struct xl__probe xl__probe_matrix = {
    {"matrix",
     "The rate of the matrix engine (2 flop a multiply-add) in f16, bf16, f32 "
     "rounded to 11 bits (tf32), i8 and 8-bit floats, by a sub-group's "
     "instructions with operands in registers and by those of four sub-groups "
     "with operands in local memory; products are compared with the host's, "
     "and half the work must take half the time. Nothing is loaded in the "
     "loop: no kernel reaches it. Operands are random, since constant ones "
     "draw less power and run at a higher clock; but a launch is short, so "
     "the clock may still be above what minutes of real work leave.",
     false},
    run};
