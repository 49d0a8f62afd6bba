/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `local`: the bandwidth of local memory over all units, the time of one
 * dependent load, the number and width of its banks, and the cost of
 * conflicts.
 *
 * Banks: items `stride` words apart access the same bank as soon as the stride
 * has a factor in common with the number of banks. The time of an access
 * doubles from power of two to power of two until all items share a bank;
 * there it stays:
 *
 *     stride    1   2   4   8  16  32  64
 *     time      1   2   4   8  16  32  32     32 banks
 *
 * Odd strides have no conflicts. If they cost more as well, the curve is that
 * of cache lines, not of banks. */

#include "measure/memory/local_memory.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/probe.h"

enum {
    WORD = 4,
    UNROLL = 8, /* as in probe/local_memory.cl */
    WG = 256,
    GPU_GROUPS = 16,  /* per unit */
    HOP = 37,         /* odd: covers the whole span */
    CPU_WORDS = 4096, /* fits in any first-level cache */
    GPU_GAP = 32,     /* elements: not adjacent, so loads are not merged */
    CHASE_WORDS = 256,
    DENSE = 64,          /* all strides up to it are measured */
    WIDEST_STRIDE = 128, /* beyond any known number of banks */
    UNKNOWN_WIDTH = 64
};

/* Duration of a launch at stride 1; others take up to 64 times as long
 * (GE-11). */
static const double curve_ns = 0.3e6;

static const double doubling = 1.45;  /* between flat (1) and doubled (2) */
static const double odd_free = 2.5;   /* banks of two words cost 2 here */
static const double least_rise = 0.5; /* of the expected cost of the banks */
static const double halved = 0.7;     /* between half and full cost */
enum { FEWEST_BANKS = 4 };

/* -- analysis ------------------------------------------------------------- */

static double find_cost(const struct xl__stride_cost *curve, unsigned n,
                        unsigned stride)
{
    for (unsigned i = 0; i < n; i++) {
        if (curve[i].stride == stride)
            return curve[i].ns;
    }
    return NAN;
}

static bool doubles_at(const struct xl__stride_cost *curve, unsigned n,
                       unsigned stride)
{
    return find_cost(curve, n, 2 * stride) >=
           doubling * find_cost(curve, n, stride);
}

double xl__bank_period(const struct xl__stride_cost *curve, unsigned n)
{
    unsigned first = 1, last;
    const double free = find_cost(curve, n, 1);
    while (find_cost(curve, n, 2 * first) > 0 && !doubles_at(curve, n, first))
        first *= 2; /* limited by something else at first */
    for (last = first; doubles_at(curve, n, last);)
        last *= 2;
    if (!(find_cost(curve, n, 2 * last) > 0) || last < FEWEST_BANKS * first)
        return NAN;
    if (find_cost(curve, n, last) < least_rise * last / first * free)
        return NAN;
    for (unsigned i = 0; i < n; i++) {
        if (curve[i].stride % 2 == 1 && curve[i].ns > odd_free * free)
            return NAN;
    }
    return last;
}

double xl__bank_width_words(double together, double by_two, double by_four)
{
    if (by_two <= halved * together)
        return 1;
    return by_four <= halved * together ? 2 : NAN;
}

/* -- launches of `read` --------------------------------------------------- */

struct local_run {
    cl_mem out;
    size_t wg, groups;
    bool is_scalar;
};

struct local_pass {
    const struct local_run *f;
    unsigned span, vec, gap;
    unsigned stride, spread;
};

/* The same computation as in the kernel. */
static cl_uint expected_sum(const struct local_pass *a, uint64_t seed,
                            size_t iterations, size_t item)
{
    const size_t mask = a->span - 1;
    size_t at = (item * a->stride + (item & a->spread)) & mask;
    cl_uint sum = 0;
    for (size_t t = 0; t < iterations; t++, at = (at + HOP) & mask) {
        for (size_t u = 0; u < UNROLL; u++) {
            for (size_t v = 0; v < a->vec; v++)
                sum += xl__probe_word(seed, (at + u * a->gap) * a->vec + v);
        }
    }
    return sum;
}

/* Compares the sums of the first and the last item. */
static xl_status check_sums(struct xl__session *p, struct xl__iterated *t,
                            xl_row *row)
{
    xl_status status = XL_OK;
    const struct local_pass *a = t->arg;
    const size_t last = a->f->wg * a->f->groups - 1;
    cl_uint seen[2];
    TRY(xl_buffer_read(p->q, a->f->out, 0, &seen[0], WORD));
    TRY(xl_buffer_read(p->q, a->f->out, last * WORD, &seen[1], WORD));
    if (seen[0] != expected_sum(a, p->how->seed, t->iterations, 0) ||
        seen[1] != expected_sum(a, p->how->seed, t->iterations, a->f->wg - 1))
        xl__probe_reject(row, "wrong result: a sum differs from the host's");
fail:
    return status;
}

static struct xl__iterated plan_pass(const struct xl__session *p,
                                     struct local_pass *a)
{
    struct xl__iterated t = {.call = {.mem = {[1] = {.buf = a->f->out}}},
                             .amount = (double)WORD * a->vec * UNROLL *
                                       (double)(a->f->wg * a->f->groups),
                             .check = check_sums,
                             .arg = a};
    struct xl__step *s =
        xl__probe_step(&t.plan, "probe/local_memory.cl", "read",
                       a->f->wg * a->f->groups, a->f->wg, true);
    s->local_mem_bytes =
        (size_t)WORD * a->vec * (a->span + (UNROLL - 1) * a->gap);
    xl__define(s, "SPAN", (long)a->span);
    xl__define(s, "VEC", (long)a->vec);
    xl__define(s, "GAP", (long)a->gap);
    xl__define(s, "WG", (long)a->f->wg);
    xl__define(s, "ONLY", 1);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, (cl_uint)p->how->seed);
    xl__arg_u32(s, a->stride);
    xl__arg_u32(s, a->spread);
    xl__arg_u32(s, HOP);
    xl__arg_u32(s, 0);
    return t;
}

/* -- bandwidth ------------------------------------------------------------ */

/* The bound of one word per bank and clock, if banks and clock are known and
 * the clock is not exceeded by much. */
static xl_bound physical_bound(const struct xl__limits *l)
{
    xl_bound bound = {NAN, "B/s", "units x banks x clock", XL_KNOWN};
    const double banks = l->used[XL__F_local_banks].source == XL_KNOWN
                             ? xl__num(l, XL__F_local_banks)
                             : NAN;
    if (xl__is(l, XL__F_is_gpu))
        bound.value = xl__num(l, XL__F_compute_units) * banks * WORD *
                      xl__num(l, XL__F_clock_hz);
    return bound;
}

static xl_status measure_rate(struct xl__session *p, const struct local_run *f,
                              unsigned vec)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    struct local_pass a = {.f = f,
                           .span = f->is_scalar ? CPU_WORDS / vec : 2 * WG,
                           .vec = vec,
                           .gap = f->is_scalar ? 1 : GPU_GAP,
                           .stride = 1};
    struct xl__iterated t = plan_pass(p, &a);
    xl_row row = xl__probe_row("probe_local", "read", "B/s");
    row.roof = physical_bound(l);
    xl_row_param(&row, "vector", vec);
    TRY(xl__iterated_measure(p, &t, &row));
    xl__probe_emit(p, &row);
    if (row.verdict < XL_ROW_REJECTED)
        xl__probe_raise_fact(l, XL__F_local_bytes_per_s, xl__probe_peak(&row));
fail:
    return status;
}

static xl_status measure_bandwidth(struct xl__session *p,
                                   const struct local_run *f)
{
    enum { N_VECS = 3 };
    static const unsigned cpu[N_VECS] = {4, 8, 16}, gpu[N_VECS] = {1, 2, 4};
    xl_status status = XL_OK;
    for (unsigned i = 0; i < N_VECS; i++)
        TRY(measure_rate(p, f, f->is_scalar ? cpu[i] : gpu[i]));
fail:
    return status;
}

/* -- latency -------------------------------------------------------------- */

struct local_chase {
    cl_mem out, next;
    cl_uint next_bytes[CHASE_WORDS]; /* byte offset of the next word */
};

/* Creates one cycle through all words, in random order (Sattolo). */
static void fill_cycle(uint64_t seed, cl_uint *next_bytes)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < CHASE_WORDS; i++)
        next_bytes[i] = i * WORD;
    for (unsigned i = CHASE_WORDS - 1; i > 0; i--) {
        const unsigned j = (unsigned)xl__rng_below(&rng, i);
        const cl_uint held = next_bytes[i];
        next_bytes[i] = next_bytes[j];
        next_bytes[j] = held;
    }
}

static xl_status check_chain_end(struct xl__session *p, struct xl__iterated *t,
                                 xl_row *row)
{
    xl_status status = XL_OK;
    const struct local_chase *c = t->arg;
    cl_uint at = 0, seen = 0;
    for (size_t i = 0; i < t->iterations * UNROLL; i++)
        at = c->next_bytes[at / WORD];
    TRY(xl_buffer_read(p->q, c->out, 0, &seen, sizeof seen));
    if (seen != at)
        xl__probe_reject(row, "wrong result: the chain of loads ends at "
                              "another word than the host's");
fail:
    return status;
}

static struct xl__iterated plan_chase(struct local_chase *c)
{
    struct xl__iterated t = {
        .call = {.mem = {[1] = {.buf = c->out}, [2] = {.buf = c->next}}},
        .check = check_chain_end,
        .arg = c};
    struct xl__step *s =
        xl__probe_step(&t.plan, "probe/local_memory.cl", "chase", 1, 1, false);
    s->local_mem_bytes = sizeof c->next_bytes;
    xl__define(s, "SPAN", CHASE_WORDS);
    xl__define(s, "ONLY", 2);
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_u32(s, 0);
    return t;
}

static xl_status measure_latency(struct xl__session *p,
                                 const struct local_run *f)
{
    xl_status status = XL_OK;
    struct local_chase c = {.out = f->out};
    xl_row row = xl__probe_row("probe_local", "latency", "s");
    fill_cycle(p->how->seed, c.next_bytes);
    TRY(xl_buffer_create(p->q, sizeof c.next_bytes, &c.next));
    TRY(xl_buffer_write(p->q, c.next, 0, c.next_bytes, sizeof c.next_bytes));
    struct xl__iterated t = plan_chase(&c);
    TRY(xl__iterated_measure(p, &t, &row));
    const double loads = (double)t.iterations * UNROLL;
    row.value /= loads;
    xl__probe_emit(p, &row);
    if (row.verdict < XL_ROW_REJECTED)
        xl__limits_measure(&p->q->ctx->device->seen, XL__F_local_ns,
                           row.samples.min_ns / loads);
fail:
    xl__buffer_release(c.next);
    return status;
}

/* -- banks ---------------------------------------------------------------- */

struct stride_sweep {
    struct local_pass pass;
    size_t iterations;
    unsigned widest; /* largest stride at which a sub-group's words all
                        differ */
    struct xl__stride_cost curve[DENSE + 2];
    unsigned n;
};

/* Measures a stride: *ns is its cost (NaN: a sum was wrong); the row has the
 * ratio to stride 1. */
static xl_status measure_stride(struct xl__session *p, struct stride_sweep *w,
                                unsigned stride, unsigned spread, double *ns)
{
    xl_status status = XL_OK;
    const double free = find_cost(w->curve, w->n, 1);
    xl_row row = xl__probe_row("probe_local",
                               spread   ? "spread"
                               : stride ? "stride"
                                        : "broadcast",
                               "B/s");
    if (stride > 0)
        xl_row_param(&row, "stride", stride);
    if (spread > 0)
        xl_row_param(&row, "spread", spread);
    w->pass.stride = stride;
    w->pass.spread = spread;
    struct xl__iterated t = plan_pass(p, &w->pass);
    TRY(xl__iterated_sample(p, &t, w->iterations, &row));
    TRY(check_sums(p, &t, &row));
    *ns = row.verdict == XL_ROW_OK ? row.samples.min_ns : NAN;
    xl_row_found(&row, "slowdown", free > 0 ? *ns / free : 1);
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* All strides to 64; quick runs: powers of two, and what pads rows of 2, 8 and
 * 32 words. */
static bool is_selected(unsigned stride, bool quick)
{
    const bool power = (stride & (stride - 1)) == 0;
    const bool padded = stride == 3 || stride == 9 || stride == 33;
    return power || (quick ? padded : stride <= DENSE);
}

static xl_status measure_curve(struct xl__session *p, struct stride_sweep *w)
{
    xl_status status = XL_OK;
    double ns;
    for (unsigned s = 1; s <= w->widest; s++) {
        if (!is_selected(s, p->how->quick))
            continue;
        TRY(measure_stride(p, w, s, 0, &ns));
        w->curve[w->n++] = (struct xl__stride_cost){s, ns};
    }
    TRY(measure_stride(p, w, 0, 0, &ns));
fail:
    return status;
}

/* Emits the number of banks and their width. */
static xl_status report_banks(struct xl__session *p, struct stride_sweep *w)
{
    xl_status status = XL_OK;
    const double period = xl__bank_period(w->curve, w->n);
    double by_two, by_four, words;
    xl_row row = xl__probe_row("probe_local", "banks", "1");
    if (!(period > 0))
        return xl__probe_unsupported(
            p, &row,
            "no banks found: the time of an access does "
            "not double from stride to stride");
    TRY(measure_stride(p, w, (unsigned)period, 1, &by_two));
    TRY(measure_stride(p, w, (unsigned)period, 3, &by_four));
    const double together = find_cost(w->curve, w->n, (unsigned)period);
    words = xl__bank_width_words(together, by_two, by_four);
    row.value = period / (words > 0 ? words : 1);
    xl_row_found(&row, "width_B", words * WORD);
    xl_row_found(&row, "worst", together / find_cost(w->curve, w->n, 1));
    if (words == 1)
        xl__probe_set_fact(p, &row, XL__F_local_banks, false);
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* Chooses the span: room for a sub-group's words at the widest stride, or all
 * local memory. */
static void choose_span(const struct xl__limits *l, struct stride_sweep *w)
{
    const size_t width = xl__size_or(l, XL__F_subgroup_width, UNKNOWN_WIDTH);
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0) / WORD;
    const size_t gaps = (UNROLL - 1) * (size_t)w->pass.gap;
    size_t span = DENSE;
    while (span < width * WIDEST_STRIDE && 2 * span + gaps <= room)
        span *= 2;
    w->pass.span = (unsigned)span;
    w->widest = (unsigned)(span / width);
}

static xl_status measure_banks(struct xl__session *p,
                               const struct local_run *f)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct stride_sweep *w = xl__calloc(1, sizeof *w);
    if (!w)
        return xl__error_set(&p->q->error, XL_NO_MEMORY, "a curve");
    w->pass =
        (struct local_pass){.f = f, .vec = 1, .gap = GPU_GAP, .stride = 1};
    choose_span(l, w);
    struct xl__iterated t = plan_pass(p, &w->pass);
    TRY(xl__iterated_calibrate(p, &t, curve_ns));
    w->iterations = t.iterations;
    TRY(measure_curve(p, w));
    TRY(report_banks(p, w));
fail:
    free(w);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static struct local_run choose_layout(const struct xl__session *p)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct local_run f = {.is_scalar = xl__probe_is_scalar(l)};
    f.wg = f.is_scalar ? 1 : xl__min_size(WG, p->most_wg);
    f.groups = units * (f.is_scalar ? XL__CPU_GROUPS : GPU_GROUPS);
    return f;
}

static xl_status run_local_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct local_run f = choose_layout(p);
    TRY(xl_buffer_create(p->q, f.wg * f.groups * WORD, &f.out));
    TRY(measure_bandwidth(p, &f));
    TRY(measure_latency(p, &f));
    if (xl__is(l, XL__F_has_local_mem)) {
        TRY(measure_banks(p, &f));
    } else {
        xl_row row = xl__probe_row("probe_local", "banks", "1");
        xl__probe_unsupported(p, &row,
                              "local memory is cached global memory here: "
                              "it has no banks");
    }
fail:
    xl__buffer_release(f.out);
    return status;
}

const struct xl__probe xl__probe_local = {
    {"local",
     "Local memory: bytes per second that all units together read from it, by "
     "accesses of several widths; the time of one load whose address is the "
     "word before; and the cost of an access when neighbouring work-items are "
     "1..128 words apart. Its doubling gives the number of banks, items a few "
     "words off give their width, and items that read the same word show "
     "whether that is free. Sums are checked. Fooled by a compiler that keeps "
     "so small an array in registers, and by sub-groups with fewer items than "
     "there are banks, whose banks are never all used.",
     true},
    run_local_probe};
