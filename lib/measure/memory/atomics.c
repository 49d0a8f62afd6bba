/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `atomic`: the rate of atomic additions in global and local memory,
 * from all items on one word to a word per item; of integers, and of floats by
 * each method. All sums are read back and must be exact. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "measure/probe.h"

enum {
    ADDS = 4, /* per iteration, as in probe/atomics.cl */
    WG = 256,
    GROUPS_A_UNIT = 8,
    /* By compare-and-swap on one word only one item succeeds per round, so few
     * items take part. */
    LOSERS = 256,
    LINE_BYTES = 128, /* where the device does not report it */
    WORD = 4,
    EXACT = 1 << 24, /* floats are exact up to here */
    LARGEST = 2      /* number that is added */
};

static const struct atomic_route {
    const char *name;
    const char *extension; /* extension it needs, with OpenCL C 3.0; NULL:
                              none */
    bool is_float, retries;
} routes[] = {
    /* in the order of ROUTE in probe/atomics.cl */
    {"int", NULL, false, false},
    {"float_cas", NULL, true, true},
    {"float_ext", "cl_ext_float_atomics", true, false},
};

/* The items that share a word. */
enum spread { ONE_WORD, SUBGROUP, OWN, OWN_LINE };
static const char *const spreads[] = {"one", "of sub-group", "own",
                                      "own line"};

static const struct atomic_point {
    bool is_local;
    enum spread spread;
    bool quick; /* quick runs: of floats too, else of integers only */
} points[] = {
    {false, ONE_WORD, true}, {false, SUBGROUP, false},
    {false, OWN, true},      {false, OWN_LINE, false},
    {true, ONE_WORD, true},  {true, SUBGROUP, false},
    {true, OWN, true},
};

enum {
    N_ROUTES = sizeof routes / sizeof *routes,
    N_POINTS = sizeof points / sizeof *points
};

/* A launch. */
struct atomic_launch {
    unsigned route; /* index into routes */
    const struct atomic_point *point;
    size_t items, wg;
    size_t share, step; /* items per word; words from one to the next */
    cl_mem words;
};

static size_t count_words(const struct atomic_launch *b)
{
    return xl__round_up(b->items, b->share) / b->share * b->step;
}

/* The same computation as in the kernel. */
static cl_uint item_number(size_t item)
{
    return (cl_uint)item * 0x9e3779b9u + 1;
}

/* -- launch layout -------------------------------------------------------- */

static void choose_layout(const struct xl__session *p, struct atomic_launch *b)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const struct atomic_point *at = b->point;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t width = xl__size_or(l, XL__F_subgroup_width, 1);
    const size_t line =
        xl__size_or(l, XL__F_cache_line_bytes, LINE_BYTES) / WORD;
    const bool is_single = xl__probe_is_scalar(l) && !at->is_local;
    b->wg = is_single ? 1 : xl__min_size(WG, p->most_wg);
    b->items = b->wg * units * (is_single ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    if (routes[b->route].retries && at->spread == ONE_WORD && !at->is_local)
        b->items = xl__max_size(LOSERS / b->wg, 1) * b->wg;
    b->step = at->spread == OWN_LINE ? xl__max_size(line, 1) : 1;
    b->share = at->spread == ONE_WORD   ? (at->is_local ? b->wg : b->items)
               : at->spread == SUBGROUP ? xl__min_size(width, b->wg)
                                        : 1;
}

static void plan_atomics(const struct atomic_launch *b, struct xl__iterated *t)
{
    struct xl__step *s = xl__probe_step(&t->plan, "probe/atomics.cl", "atomic",
                                        b->items, b->wg, true);
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
        t->max_iterations = EXACT / (ADDS * LARGEST * b->share);
}

/* -- expected sums -------------------------------------------------------- */

/* The sum that one iteration adds to a word, modulo 2^32; of floats an
 * integer. */
static cl_uint expected_word(const struct atomic_launch *b, size_t word)
{
    const bool is_float = routes[b->route].is_float;
    const size_t first = word * b->share;
    const size_t end = xl__min_size(first + b->share, b->items);
    cl_uint sum = 0;
    for (size_t i = first; i < end; i++)
        sum += is_float ? (cl_uint)(1 + i % 2) : item_number(i);
    return ADDS * sum;
}

static bool are_sums_right(const struct atomic_launch *b, const cl_uint *seen,
                           size_t iterations)
{
    for (size_t w = 0; w * b->step < count_words(b); w++) {
        const cl_uint expected = expected_word(b, w) * (cl_uint)iterations;
        union {
            cl_uint bits;
            float value;
        } got = {seen[w * b->step]};
        if (routes[b->route].is_float ? got.value != (float)expected
                                      : got.bits != expected)
            return false;
    }
    return true;
}

/* Runs one more launch on cleared words and compares all sums. */
static xl_status check_sums(struct xl__session *p, struct xl__iterated *t,
                            xl_row *row)
{
    xl_status status = XL_OK;
    const struct atomic_launch *b = t->arg;
    const size_t n = count_words(b);
    cl_uint *seen = xl__calloc(n, sizeof *seen);
    TRY(xl__check_alloc(&p->q->error, seen, "sums"));
    TRY(xl_buffer_fill(p->q, b->words, 0, 0, n));
    TRY(xl__plan_launch(p->q, &t->plan, &t->call, NULL));
    TRY(xl_buffer_read(p->q, b->words, 0, seen, n * sizeof *seen));
    if (!are_sums_right(b, seen, t->iterations))
        xl__probe_reject(row, "wrong result: additions were lost");
fail:
    free(seen);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static void set_facts(struct xl__limits *l, const struct atomic_launch *b,
                      const xl_row *row)
{
    if (routes[b->route].is_float || b->point->is_local ||
        row->verdict >= XL_ROW_REJECTED)
        return;
    if (b->point->spread == OWN)
        xl__probe_raise_fact(l, XL__F_atomic_per_s, xl__probe_peak(row));
    if (b->point->spread == ONE_WORD)
        xl__probe_raise_fact(l, XL__F_atomic_same_per_s, xl__probe_peak(row));
}

static xl_status measure_point(struct xl__session *p, struct atomic_launch *b,
                               xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__iterated t = {.check = check_sums, .arg = b};
    TRY(xl_buffer_create(p->q, count_words(b) * WORD, &b->words));
    TRY(xl_buffer_fill(p->q, b->words, 0, 0, count_words(b)));
    plan_atomics(b, &t);
    TRY(xl__iterated_measure(p, &t, row));
fail:
    xl__buffer_release(b->words);
    b->words = NULL;
    return status;
}

static xl_status run_point(struct xl__session *p, unsigned route,
                           const struct atomic_point *point)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    struct atomic_launch b = {.route = route, .point = point};
    char name[32];
    choose_layout(p, &b);
    xl__strfmt(name, sizeof name, "%s_%s",
               point->is_local ? "local" : "global", routes[route].name);
    xl_row row = xl__probe_row("probe_atomic", name, "1/s");
    xl_row_param_text(&row, "word", spreads[point->spread]);
    status = measure_point(p, &b, &row);
    if (status == XL_BUILD_FAILED && routes[route].extension)
        return xl__probe_unsupported(p, &row,
                                     "the compiler rejects it for this "
                                     "kind of memory");
    TRY(status);
    xl__probe_emit(p, &row);
    set_facts(l, &b, &row);
fail:
    return status;
}

/* Sub-groups of one item are the same case as own words. */
static bool is_needed(const struct xl__session *p, unsigned route,
                      const struct atomic_point *point)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    if (point->spread == SUBGROUP && !(xl__num(l, XL__F_subgroup_width) > 1))
        return false;
    return !p->how->quick || point->quick || !routes[route].is_float;
}

static xl_status run_route(struct xl__session *p, unsigned route)
{
    xl_status status = XL_OK;
    const char *extension = routes[route].extension;
    if (extension &&
        !xl__has_extension(&p->q->ctx->device->seen, extension)) {
        xl_row row = xl__probe_row("probe_atomic", routes[route].name, "1/s");
        xl__probe_unsupported(p, &row, "%s is not listed", extension);
        return XL_OK;
    }
    for (unsigned i = 0; i < N_POINTS; i++) {
        if (is_needed(p, route, &points[i]))
            TRY(run_point(p, route, &points[i]));
    }
fail:
    return status;
}

static xl_status run_atomic_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    for (unsigned r = 0; r < N_ROUTES; r++)
        TRY(run_route(p, r));
fail:
    return status;
}

const struct xl__probe xl__probe_atomic = {
    {"atomic",
     "Atomic additions per second in global and local memory: all items on "
     "one word, a sub-group on one, each on its own, each on a cache line of "
     "its own; of integers, and of floats by compare-and-swap and by "
     "cl_ext_float_atomics. Results are not used, so hardware that does not "
     "wait for them shows its best rate, and hardware that adds within a "
     "sub-group first makes one word look fast. By compare-and-swap only 256 "
     "items share one global word: each success makes all others fail. Every "
     "sum must be exact.",
     false},
    run_atomic_probe};
