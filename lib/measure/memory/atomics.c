/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic additions: in global and in local memory, on one word or spread over
 * more and more of them, of ints and by each way to floats. Every sum is read
 * back and must be exact. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    ADDS = 4, /* of a turn, as in probe/atomics.cl */
    WG = 256,
    GROUPS_A_UNIT = 8,
    /* Adding by compare-and-swap to one word, all items but one lose a round,
     * so few take part. */
    LOSERS = 256,
    LINE_BYTES = 128, /* where the device does not tell */
    WORD = 4,
    EXACT = 1 << 24, /* floats count up to here */
    LARGEST = 2      /* number that is added */
};

static const struct route {
    const char *name;
    const char *extension; /* it needs, of OpenCL C 3.0; NULL: none */
    bool is_float, retries;
} routes[] = {
    /* in the order of ROUTE in probe/atomics.cl */
    {"int", NULL, false, false},
    {"float_cas", NULL, true, true},
    {"float_ext", "cl_ext_float_atomics", true, false},
};

/* Who shares a word. */
enum spread { ONE_WORD, SUBGROUP, OWN, OWN_LINE };
static const char *const spreads[] = {"one", "of sub-group", "own",
                                      "own line"};

static const struct point {
    bool is_local;
    enum spread spread;
    bool quick; /* of floats too, else of ints alone */
} points[] = {
    {false, ONE_WORD, true}, {false, SUBGROUP, false}, {false, OWN, true},
    {false, OWN_LINE, false}, {true, ONE_WORD, true}, {true, SUBGROUP, false},
    {true, OWN, true},
};

enum {
    N_ROUTES = sizeof routes / sizeof *routes,
    N_POINTS = sizeof points / sizeof *points
};

/* One launch. */
struct burst {
    unsigned route; /* of routes */
    const struct point *point;
    size_t items, wg;
    size_t share, step; /* items of a word, words between two */
    cl_mem words;
};

static size_t words_of(const struct burst *b)
{
    return xl__round_up(b->items, b->share) / b->share * b->step;
}

/* As in the kernel. */
static cl_uint int_of(size_t item)
{
    return (cl_uint)item * 0x9e3779b9u + 1;
}

/* -- laying out ----------------------------------------------------------- */

static void lay_out(const struct xl__probing *p, struct burst *b)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const struct point *at = b->point;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t width = xl__size_or(l, XL__F_subgroup_width, 1);
    const size_t line =
        xl__size_or(l, XL__F_cache_line_bytes, LINE_BYTES) / WORD;
    const bool alone = xl__probe_is_scalar(l) && !at->is_local;
    b->wg = alone ? 1 : xl__min_size(WG, p->most_wg);
    b->items = b->wg * units * (alone ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    if (routes[b->route].retries && at->spread == ONE_WORD && !at->is_local)
        b->items = xl__max_size(LOSERS / b->wg, 1) * b->wg;
    b->step = at->spread == OWN_LINE ? xl__max_size(line, 1) : 1;
    b->share = at->spread == ONE_WORD   ? (at->is_local ? b->wg : b->items)
               : at->spread == SUBGROUP ? xl__min_size(width, b->wg)
                                        : 1;
}

static void make_plan(const struct burst *b, struct xl__turned *t)
{
    struct xl__step *s = &t->plan.step[0];
    t->plan.n_steps = 1;
    s->source = "probe/atomics.cl";
    s->kernel = "atomic";
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = b->wg;
    s->global[0] = b->items;
    if (routes[b->route].extension)
        xl__strcpy(s->options, sizeof s->options, "-cl-std=CL3.0");
    xl__define(s, "LOCAL", b->point->is_local);
    xl__define(s, "ROUTE", (long)b->route);
    xl__define(s, "WG", (long)b->wg);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, b->share);
    xl__arg_u32(s, b->step);
    xl__arg_u32(s, 0);
    t->call.mem[1].buf = b->words;
    t->amount = ADDS * (double)b->items;
    if (routes[b->route].is_float)
        t->most_turns = EXACT / (ADDS * LARGEST * b->share);
}

/* -- the sums ------------------------------------------------------------- */

/* What one turn leaves in a word, modulo 2^32; of floats a whole number. */
static cl_uint sum_of(const struct burst *b, size_t word)
{
    const bool is_float = routes[b->route].is_float;
    const size_t first = word * b->share;
    const size_t end = xl__min_size(first + b->share, b->items);
    cl_uint sum = 0;
    for (size_t i = first; i < end; i++)
        sum += is_float ? (cl_uint)(1 + i % 2) : int_of(i);
    return ADDS * sum;
}

static bool is_right(const struct burst *b, const cl_uint *seen, size_t turns)
{
    for (size_t w = 0; w * b->step < words_of(b); w++) {
        const cl_uint want = sum_of(b, w) * (cl_uint)turns;
        union {
            cl_uint bits;
            float value;
        } got = {seen[w * b->step]};
        if (routes[b->route].is_float ? got.value != (float)want
                                      : got.bits != want)
            return false;
    }
    return true;
}

/* One launch more, on words that are 0. */
static xl_status look(struct xl__probing *p, struct xl__turned *t, xl_row *row)
{
    xl_status status = XL_OK;
    const struct burst *b = t->arg;
    const size_t n = words_of(b);
    cl_uint *seen = xl__calloc(n, sizeof *seen);
    if (!seen)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "sums"));
    TRY(xl_buffer_fill(p->q, b->words, 0, 0, n));
    TRY(xl__plan_launch(p->q, &t->plan, &t->call, NULL));
    TRY(xl_buffer_read(p->q, b->words, 0, seen, n * sizeof *seen));
    if (!is_right(b, seen, t->turns))
        xl__probe_reject(row, "a sum is not the host's: additions were lost");
fail:
    free(seen);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static void learn(struct xl__limits *l, const struct burst *b,
                  const xl_row *row)
{
    if (routes[b->route].is_float || b->point->is_local ||
        row->verdict >= XL_ROW_REJECTED)
        return;
    if (b->point->spread == OWN)
        xl__probe_raise(l, XL__F_atomic_per_s, xl__probe_peak(row));
    if (b->point->spread == ONE_WORD)
        xl__probe_raise(l, XL__F_atomic_same_per_s, xl__probe_peak(row));
}

static xl_status measure(struct xl__probing *p, struct burst *b, xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__turned t = {.look = look, .arg = b};
    TRY(xl_buffer_create(p->q, words_of(b) * WORD, &b->words));
    TRY(xl_buffer_fill(p->q, b->words, 0, 0, words_of(b)));
    make_plan(b, &t);
    TRY(xl__turned_row(p, &t, row));
fail:
    if (b->words)
        clReleaseMemObject(b->words);
    b->words = NULL;
    return status;
}

static xl_status one(struct xl__probing *p, unsigned route,
                     const struct point *point)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->limits;
    struct burst b = {.route = route, .point = point};
    char name[32];
    xl_row row;
    TRY(xl__probe_alive(p));
    lay_out(p, &b);
    snprintf(name, sizeof name, "%s_%s", point->is_local ? "local" : "global",
             routes[route].name);
    xl_row_init(&row, "probe_atomic", name);
    row.unit = "1/s";
    xl_row_param_text(&row, "word", spreads[point->spread]);
    status = measure(p, &b, &row);
    if (status == XL_BUILD_FAILED && routes[route].extension) {
        xl__probe_unsupported(p, &row, "the compiler does not take it for "
                                       "this kind of memory");
        return XL_OK;
    }
    TRY(status);
    xl__probe_emit(p, &row);
    learn(l, &b, &row);
fail:
    return status;
}

/* Sub-groups of one item would be own words once more. */
static bool is_wanted(const struct xl__probing *p, unsigned route,
                      const struct point *point)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    if (point->spread == SUBGROUP && !(xl__num(l, XL__F_subgroup_width) > 1))
        return false;
    return !p->how->quick || point->quick || !routes[route].is_float;
}

static xl_status run_route(struct xl__probing *p, unsigned route)
{
    xl_status status = XL_OK;
    const char *extension = routes[route].extension;
    if (extension &&
        !xl__has_extension(&p->q->ctx->device->limits, extension)) {
        xl_row row;
        char why[64];
        snprintf(why, sizeof why, "%s is not listed", extension);
        xl_row_init(&row, "probe_atomic", routes[route].name);
        row.unit = "1/s";
        xl__probe_unsupported(p, &row, why);
        return XL_OK;
    }
    for (unsigned i = 0; i < N_POINTS; i++) {
        if (is_wanted(p, route, &points[i]))
            TRY(one(p, route, &points[i]));
    }
fail:
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    for (unsigned r = 0; r < N_ROUTES; r++)
        TRY(run_route(p, r));
fail:
    return status;
}

const struct xl__probe xl__probe_atomic = {
    {"atomic",
     "Atomic additions a second in global and local memory: all items on one "
     "word, a sub-group on one, each on its own, each on a cache line of its "
     "own; of ints, and of floats by compare-and-swap and by "
     "cl_ext_float_atomics. Results are not asked for, so hardware that sends "
     "additions off and waits for none looks its best, and one that adds up "
     "within a sub-group first makes one word look fast. By compare-and-swap "
     "only 256 items meet on one global word: each success is all others' "
     "failure. Every sum must be exact.",
     false},
    run};
