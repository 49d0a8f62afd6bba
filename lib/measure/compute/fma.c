/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `flops`: the peak rate of multiply-add in f32, f16 and f64, by chains
 * of x = x * x + c in several widths and numbers; the fastest is the peak. A
 * row is rejected if a chain does not end in the map's fixed point
 *
 *     x = (1 - sqrt(1 - 4 c)) / 2
 *
 * or if the time is not proportional to the work. */
#include <math.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS_PER_ITERATION = 16, /* as in probe/fma.cl */
    N_CHECKED = 64            /* results that are compared: one of each c */
};
/* Duration of a launch: far below a watchdog (GE-11); on a CPU long enough for
 * the system to distribute the threads over the cores. */
static const double quick_ns = 4e6, long_ns = 20e6;
/* Of a burst: below a time slice, and long beside the cost of a launch. */
static const double burst_ns = 1.5e6;

/* clang-format off */
static const struct number_type {
    const char *name;
    xl_dtype dtype;
    enum xl__fact_id fact;
    double tolerance;     /* relative error: u / (1 - 2 x) per step, sums,
                             output */
    double share;         /* of the f32 launch's time: f64 may be slow and
                             long loops unsafe (GE-20) */
} types[] = {
    /* row    dtype    fact                       tolerance share */
    {"f32", XL_F32, XL__F_peak_f32_flop_per_s, 1e-6,     1},
    {"f16", XL_F16, XL__F_peak_f16_flop_per_s, 8e-3,     1},
    {"f64", XL_F64, XL__F_peak_f64_flop_per_s, 1e-6,     0.125},
};

static const struct chain_shape {
    unsigned vec;  /* 0: the native width */
    unsigned chains, wg, form; /* form: 0 x * x + c, 1 fma (GE-19) */
    bool scalar, wide, quick;
} chains[] = {
    /* vec chains wg form scalar wide quick */
    {1,  8,  256, 0, false, true,  true},
    {2,  4,  256, 0, false, true,  true},
    {0,  8,  1,   1, true,  false, true},
    {16, 8,  1,   1, true,  false, false},
    {1,  8,  256, 1, false, true,  true},
    {1,  4,  256, 0, false, true,  false},
    {1,  2,  256, 0, false, true,  false},
    {2,  8,  256, 0, false, true,  false},
    {4,  2,  256, 0, false, true,  false},
    {4,  4,  256, 0, false, true,  false},
    {8,  1,  256, 0, false, true,  false},
    {16, 1,  256, 0, false, true,  false},
    {1,  4,  64,  0, true,  true,  false},
    {1,  8,  64,  1, true,  false, false},
    {0,  8,  1,   0, true,  false, false},
    {0,  4,  1,   1, true,  false, false},
    {8,  8,  1,   1, true,  false, false},
    {4,  8,  1,   1, true,  false, false},
    {4,  4,  64,  0, true,  false, false},
};
/* clang-format on */

enum {
    N_TYPES = sizeof types / sizeof *types,
    N_CHAINS = sizeof chains / sizeof *chains
};

/* A launch. */
struct fma_launch {
    const struct number_type *type;
    const struct chain_shape *chain;
    unsigned vec;
    size_t wg, items;
    size_t iterations;
};

/* Elements of a native vector of this type: a power of two from 1 to 16. */
static unsigned native_vector(const struct xl__limits *l,
                              const struct number_type *type)
{
    enum { WIDEST = 16 };
    double target = xl__num_or(l, XL__F_native_vector_f32, 4);
    unsigned vec = 1;
    target *= 4.0 / (double)xl_dtype_bytes(type->dtype);
    while (vec < WIDEST && 2 * vec <= target)
        vec *= 2;
    return vec;
}

static void choose_layout(const struct xl__session *p, struct fma_launch *b)
{
    enum { GPU_GROUPS_PER_UNIT = 16 };
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    b->vec = b->chain->vec ? b->chain->vec : native_vector(l, b->type);
    b->wg = xl__min_size(b->chain->wg, p->most_wg);
    b->items =
        b->wg * units *
        (xl__is(l, XL__F_is_gpu) ? GPU_GROUPS_PER_UNIT : XL__CPU_GROUPS);
    b->items = xl__round_up(xl__max_size(b->items, N_CHECKED), b->wg);
}

static void plan_chains(const struct fma_launch *b, struct xl__plan *plan)
{
    struct xl__step *s =
        xl__probe_step(plan, "probe/fma.cl", "flops", b->items, b->wg, true);
    plan->flop = 2.0 * STEPS_PER_ITERATION * (double)b->iterations *
                 b->chain->chains * b->vec * (double)b->items;
    xl__define(s, "TYPE",
               b->type->dtype == XL_F32   ? 0
               : b->type->dtype == XL_F16 ? 1
                                          : 2);
    xl__define(s, "VEC", (long)b->vec);
    xl__define(s, "CHAINS", (long)b->chain->chains);
    xl__define(s, "FORM", (long)b->chain->form);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, b->iterations);
}

static xl_status sample_launch(struct xl__session *p, cl_mem out,
                               const struct fma_launch *b, xl_row *row)
{
    struct xl__plan plan;
    const struct xl__call call = {.mem = {[1] = {.buf = out}}};
    plan_chains(b, &plan);
    return xl__probe_sample(p, row, &plan, &call, plan.flop);
}

/* The argument of sample_iterations(). */
struct iterated_launch {
    struct fma_launch *burst;
    cl_mem out;
};

static xl_status sample_iterations(struct xl__session *p, void *arg,
                                   size_t iterations, xl_row *row)
{
    struct iterated_launch *b = arg;
    b->burst->iterations = iterations;
    return sample_launch(p, b->out, b->burst, row);
}

static xl_status calibrate_iterations(struct xl__session *p, cl_mem out,
                                      struct fma_launch *b)
{
    const bool cpu = xl__is(&p->q->ctx->device->seen, XL__F_is_cpu);
    const double target =
        (p->how->quick && !cpu ? quick_ns : long_ns) * b->type->share;
    struct iterated_launch all = {b, out};
    const struct xl__iteration_source w = {sample_iterations, &all};
    return xl__iterations_find(p, &w, target, &b->iterations);
}

/* Has every chain ended in its fixed point? */
static xl_status check_fixed_points(struct xl__session *p, cl_mem out,
                                    const struct fma_launch *b, bool *right)
{
    xl_status status = XL_OK;
    float seen[N_CHECKED];
    TRY(xl_buffer_read(p->q, out, 0, seen, sizeof seen));
    *right = true;
    for (unsigned i = 0; i < N_CHECKED; i++) {
        const double c = (64.0 + i) / 1024;
        const double x = (1 - sqrt(1 - 4 * c)) / 2;
        if (!(fabs(seen[i] - x) <= b->type->tolerance * x))
            *right = false;
    }
fail:
    return status;
}

/* The bound from unit counts and clock, if both are known and the clock is not
 * exceeded by much, as the stated clock of a CPU is. */
static xl_bound physical_bound(const struct xl__limits *l,
                               const struct number_type *type)
{
    const enum xl__fact_id needs[] = {XL__F_compute_units,
                                      XL__F_simd_per_cu_f32, XL__F_clock_hz};
    xl_bound bound = {NAN, "flop/s", "units x clock", XL_KNOWN};
    double value = 2;
    for (unsigned i = 0; i < 3; i++) {
        value *= xl__num(l, needs[i]);
        if (l->used[needs[i]].source == XL_ASSUMED)
            bound.source = XL_ASSUMED;
    }
    if (type->dtype == XL_F32 && xl__is(l, XL__F_is_gpu) &&
        bound.source == XL_KNOWN)
        bound.value = value;
    return bound;
}

static void init_row(const struct xl__limits *l, const struct fma_launch *b,
                     xl_row *row)
{
    xl_row_init(row, "probe_flops", b->type->name);
    row->dtype = b->type->dtype;
    row->unit = "flop/s";
    row->roof = physical_bound(l, b->type);
    xl_row_found(row, "vector", b->vec);
    xl_row_found(row, "chains", b->chain->chains);
    xl_row_found(row, "group", (double)b->wg);
}

static xl_status measure_chain(struct xl__session *p, cl_mem out,
                               struct fma_launch *b, xl_row *row)
{
    xl_status status = XL_OK;
    bool right;
    choose_layout(p, b);
    TRY(calibrate_iterations(p, out, b));
    init_row(&p->q->ctx->device->seen, b, row);
    TRY(xl_buffer_fill(p->q, out, 0, 0, b->items));
    TRY(sample_launch(p, out, b, row));
    TRY(check_fixed_points(p, out, b, &right));
    if (!right)
        xl__probe_reject(row, "wrong result: a chain did not reach its "
                              "fixed point, or steps were skipped");
fail:
    return status;
}

static xl_status check_chain_scaling(struct xl__session *p, cl_mem out,
                                     struct fma_launch b, xl_row *row)
{
    const size_t iterations = b.iterations;
    struct iterated_launch all = {&b, out};
    const struct xl__iteration_source w = {sample_iterations, &all};
    return xl__iterations_check_scaling(p, &w, iterations, row);
}

static bool is_candidate(const struct xl__session *p,
                         const struct chain_shape *chain)
{
    const bool scalar = xl__probe_is_scalar(&p->q->ctx->device->seen);
    return (scalar ? chain->scalar : chain->wide) &&
           (chain->quick || !p->how->quick);
}

/* Where half is not listed, its arithmetic may still compile, but not its
 * built-in functions (NV-06). */
static bool has_form(const struct xl__session *p,
                     const struct number_type *type,
                     const struct chain_shape *chain)
{
    const struct xl__answer *listed =
        &p->q->ctx->device->seen.queried[XL__F_has_f16_arith];
    return type->dtype != XL_F16 || chain->form == 0 || listed->value == 1;
}

/* Finds the fastest chain shape of a type. Quick runs: f32 tries all, the
 * other types take the best shape of f32, and f16 also pairs. */
static xl_status find_best_chain(struct xl__session *p, cl_mem out,
                                 const struct number_type *type, int *shape,
                                 xl_row *best, struct fma_launch *winner)
{
    xl_status status = XL_OK;
    xl_status last = XL_OK;
    int at = -1;
    for (int i = 0; i < N_CHAINS; i++) {
        const bool all = !p->how->quick || type->dtype == XL_F32 ||
                         *shape < 0 || type->dtype == XL_F16;
        struct fma_launch b = {.type = type, .chain = &chains[i]};
        xl_row row;
        if (!is_candidate(p, &chains[i]) || (!all && i != *shape) ||
            !has_form(p, type, &chains[i]))
            continue;
        last = measure_chain(p, out, &b, &row);
        if (last == XL_BUILD_FAILED)
            break; /* the type is not supported */
        if (last == XL_CANCELLED)
            TRY(last);
        if (last != XL_OK) {
            xl__error_reset(&p->q->error);
            continue;
        }
        if (at < 0 || xl__row_is_better(&row, best)) {
            at = i;
            *best = row;
            *winner = b;
        }
    }
    if (at < 0)
        return last;
    *shape = at;
    TRY(check_chain_scaling(p, out, *winner, best));
fail:
    return status;
}

/* Is the type certainly missing? f16 is tried on every GPU, since the
 * extension string is not reliable (NV-06); compilers for CPUs list it or do
 * not have it. */
static bool is_type_missing(const struct xl__limits *l,
                            const struct number_type *type)
{
    if (type->dtype == XL_F16)
        return xl__is(l, XL__F_is_cpu) && !xl__is(l, XL__F_has_f16_arith);
    return type->dtype == XL_F64 && !xl__is(l, XL__F_has_f64);
}

static xl_status run_type(struct xl__session *p, cl_mem out,
                          const struct number_type *type, int *shape)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    struct fma_launch winner;
    xl_row row;
    xl_row_init(&row, "probe_flops", type->name);
    row.dtype = type->dtype;
    row.unit = "flop/s";
    if (is_type_missing(l, type))
        return xl__probe_unsupported(p, &row,
                                     "the device does not have this type");
    status = find_best_chain(p, out, type, shape, &row, &winner);
    if (status == XL_BUILD_FAILED && type->dtype != XL_F32)
        return xl__probe_unsupported(p, &row,
                                     "the compiler rejects this type");
    TRY(status);
    xl__probe_emit(p, &row);
    if (row.verdict < XL_ROW_REJECTED && row.value > 0)
        xl__probe_raise_fact(l, type->fact, xl__probe_peak(&row));
fail:
    return status;
}

/* The items of the largest launch, for which the buffer must have room. */
static size_t max_items(const struct xl__session *p)
{
    size_t most = 0;
    for (unsigned i = 0; i < N_CHAINS; i++) {
        struct fma_launch b = {.type = &types[0], .chain = &chains[i]};
        choose_layout(p, &b);
        most = xl__max_size(most, b.items);
    }
    return most;
}

/* Uses the first suitable shape, which is near the best on all devices. */
xl_status xl__fma_rate(struct xl__session *p, double *per_s)
{
    xl_status status = XL_OK;
    const double peak =
        xl__num(&p->q->ctx->device->seen, XL__F_peak_f32_flop_per_s);
    struct fma_launch b = {.type = &types[0], .chain = chains};
    cl_mem out = NULL;
    xl_row row;
    *per_s = peak / 2;
    if (peak > 0)
        return XL_OK;
    while (!is_candidate(p, b.chain))
        b.chain++;
    TRY(xl_buffer_create(p->q, sizeof(float) * max_items(p), &out));
    TRY(measure_chain(p, out, &b, &row));
    *per_s = xl__probe_peak(&row) / 2;
fail:
    xl__buffer_release(out);
    return status;
}

/* -- bursts --------------------------------------------------------------- */

/* A burst is as long as it should be at the best rate, not at the rate that
 * other programs leave: the first chunks find its iterations. */
static xl_status take_bursts(struct xl__session *p, cl_mem out,
                             struct fma_launch *b, double wanted,
                             double max_ns, double *rate)
{
    enum { LENGTHS = 3 };
    xl_status status = XL_OK;
    struct iterated_launch all = {b, out};
    const struct xl__iteration_source w = {sample_iterations, &all};
    const struct xl__call call = {.mem = {[1] = {.buf = out}}};
    TRY(xl__iterations_find(p, &w, burst_ns * b->type->share, &b->iterations));
    for (unsigned i = 0; i < LENGTHS; i++) {
        struct xl__plan plan;
        double ns = NAN;
        plan_chains(b, &plan);
        const struct xl__burst_limits limits = {i + 1 < LENGTHS ? 0 : max_ns,
                                                plan.flop / wanted * 1e9};
        TRY(xl__bursts_take(p, &plan, &call, &limits, &ns));
        if (ns > 0)
            *rate = fmax(*rate, plan.flop / ns * 1e9);
        if (ns <= limits.enough_ns)
            break;
        if (ns < burst_ns / 2)
            b->iterations = (size_t)((double)b->iterations * burst_ns / ns);
        else if (i + 2 < LENGTHS)
            i = LENGTHS - 2;
    }
fail:
    return status;
}

xl_status xl__fma_bursts(struct xl__session *p, xl_dtype dtype, double wanted,
                         double max_ns)
{
    xl_status status = XL_OK;
    cl_mem out = NULL;
    double best = NAN;
    TRY(xl_buffer_create(p->q, sizeof(float) * max_items(p), &out));
    for (unsigned i = 0; i < N_CHAINS * N_TYPES; i++) {
        struct fma_launch b = {.type = &types[i / N_CHAINS],
                               .chain = &chains[i % N_CHAINS]};
        double rate = NAN;
        bool right = false;
        if (b.type->dtype != dtype || !is_candidate(p, b.chain))
            continue;
        choose_layout(p, &b);
        TRY(take_bursts(p, out, &b, wanted, max_ns, &rate));
        TRY(check_fixed_points(p, out, &b, &right));
        best = right ? fmax(best, rate) : best;
    }
    xl__roof_raise(p, xl__peak_fma(dtype), best);
fail:
    xl__buffer_release(out);
    return status;
}

static xl_status run_flops_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    cl_mem out = NULL;
    int shape = -1;
    TRY(xl_buffer_create(p->q, sizeof(float) * max_items(p), &out));
    for (unsigned i = 0; i < N_TYPES; i++)
        TRY(run_type(p, out, &types[i], &shape));
fail:
    xl__buffer_release(out);
    return status;
}

const struct xl__probe xl__probe_flops = {
    {"flops",
     "The rate of multiply-add (2 flop) in f32, f16 and f64, by chains of x = "
     "x * x + c in several widths and numbers; the result must be the map's "
     "fixed point, and half the work must take half the time. Values "
     "converge, so the chip draws less power and may clock higher than with "
     "random data. Matrix engines are not included.",
     true},
    run_flops_probe};
