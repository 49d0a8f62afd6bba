/* SPDX-License-Identifier: Apache-2.0 */
/* The synthetic kernels: one table row each, with a function that fills in
 * plan and counts and one that computes the expected words. */

#include "measure/diagnosis/synthetic_kernels.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/probe.h"

enum {
    WG = 256,
    GROUPS_PER_UNIT = 16,
    CHAINS = 8,
    STEPS_PER_ITERATION = 16, /* of probe/fma.cl */
    UNROLL = 4,               /* of probe/bandwidth.cl */
    WAYS = 4,                 /* of branches */
    LAUNCHES = 64,
    STACK_WORDS = XL__SYNTHETIC_RING,
    STACK_STEP = 8 /* of probe/synthetic.cl */
};

/* x := LCG_FACTOR x + LCG_ADDEND in probe/synthetic.cl */
static const cl_uint LCG_FACTOR = 1664525u, LCG_ADDEND = 1013904223u;

/* -- launch layout -------------------------------------------------------- */

static struct xl__step *init_run(struct xl__synthetic_run *r,
                                 const char *source, const char *kernel,
                                 size_t groups, size_t wg)
{
    r->launches = 1;
    struct xl__step *s =
        xl__probe_step(&r->plan, source, kernel, groups * wg, wg, false);
    r->counts.groups = (double)groups;
    r->counts.wg_size = (double)wg;
    r->counts.launches = 1;
    r->out_words = groups * wg;
    return s;
}

static struct xl__step *init_synthetic(struct xl__synthetic_run *r,
                                       const char *kernel, long only,
                                       size_t groups, size_t wg)
{
    struct xl__step *s = init_run(r, "probe/synthetic.cl", kernel, groups, wg);
    xl__define(s, "ONLY", only);
    return s;
}

static size_t group_items(const struct xl__synthetic_target *on)
{
    return on->scalar ? 1 : xl__min_size(WG, on->most_wg);
}

static size_t group_count(const struct xl__synthetic_target *on)
{
    const size_t units = xl__size_or(on->l, XL__F_compute_units, 1);
    return units * (xl__is(on->l, XL__F_is_gpu) ? GROUPS_PER_UNIT
                                                : XL__CPU_GROUPS);
}

/* Elements of a native vector where an item is a thread. */
static size_t vector_width(const struct xl__synthetic_target *on,
                           size_t otherwise)
{
    enum { LEAST = 4, WIDEST = 16 };
    const size_t native = xl__size_or(on->l, XL__F_native_vector_f32, LEAST);
    return on->scalar ? xl__min_size(xl__max_size(native, LEAST), WIDEST)
                      : otherwise;
}

static void count_flop(struct xl__synthetic_run *r, double flop)
{
    r->counts.flop[0] = (xl_flop){.dtype = XL_F32, .count = flop};
    r->plan.flop = flop;
}

/* -- plans ---------------------------------------------------------------- */

static void plan_chains_in(const struct xl__synthetic_target *on,
                           size_t groups, size_t iterations,
                           struct xl__synthetic_run *r)
{
    const size_t wg = group_items(on), vec = vector_width(on, 1);
    struct xl__step *s = init_run(r, "probe/fma.cl", "flops", groups, wg);
    xl__define(s, "VEC", (long)vec);
    xl__define(s, "CHAINS", CHAINS);
    xl__define(s, "FORM", on->scalar);
    xl__arg_mem(s, XL__SYNTHETIC_OUT);
    xl__arg_u32(s, iterations);
    count_flop(r, 2.0 * STEPS_PER_ITERATION * CHAINS * (double)iterations *
                      (double)(vec * groups * wg));
}

static void plan_chains(const struct xl__synthetic_target *on,
                        size_t iterations, struct xl__synthetic_run *r)
{
    plan_chains_in(on, group_count(on), iterations, r);
}

static void plan_tiny(const struct xl__synthetic_target *on, size_t iterations,
                      struct xl__synthetic_run *r)
{
    plan_chains_in(on, 1, iterations, r);
}

static void plan_branches(const struct xl__synthetic_target *on,
                          size_t iterations, struct xl__synthetic_run *r)
{
    enum { FLOP_PER_ITERATION = 8 * 8 * 2 };
    const size_t groups = group_count(on), wg = group_items(on);
    struct xl__step *s = init_synthetic(r, "branches", 1, groups, wg);
    xl__arg_mem(s, XL__SYNTHETIC_OUT);
    xl__arg_u32(s, iterations);
    count_flop(r, FLOP_PER_ITERATION * (double)iterations *
                      (double)(groups * wg));
    r->counts.branch_ways = WAYS;
}

static void plan_banks(const struct xl__synthetic_target *on,
                       size_t iterations, struct xl__synthetic_run *r)
{
    enum { BYTES_PER_ITERATION = 16 * 4, ROWS = 64 };
    const size_t banks = xl__size_or(on->l, XL__F_local_banks, 1);
    const size_t width = xl__size_or(on->l, XL__F_subgroup_width, 1);
    const size_t groups = group_count(on), wg = group_items(on);
    struct xl__step *s = init_synthetic(r, "banks", 2, groups, wg);
    xl__define(s, "WG", (long)wg);
    xl__define(s, "ROWS", ROWS);
    xl__define(s, "BANKS", (long)banks);
    xl__arg_mem(s, XL__SYNTHETIC_IN);
    xl__arg_mem(s, XL__SYNTHETIC_OUT);
    xl__arg_u32(s, iterations);
    s->local_mem_bytes = ROWS * banks * sizeof(cl_uint);
    r->ring = banks;
    r->counts.bytes[XL_LEVEL_LOCAL] =
        BYTES_PER_ITERATION * (double)iterations * (double)(groups * wg);
    r->counts.bank_ways = (double)xl__min_size(width, banks);
}

static void plan_stack(const struct xl__synthetic_target *on,
                       size_t iterations, struct xl__synthetic_run *r)
{
    enum { BYTES_PER_ITERATION = 2 * STACK_STEP * 4 };
    const size_t groups = group_count(on), wg = group_items(on);
    struct xl__step *s = init_synthetic(r, "stack", 3, groups, wg);
    xl__define(s, "WORDS", STACK_WORDS);
    xl__arg_mem(s, XL__SYNTHETIC_IN);
    xl__arg_mem(s, XL__SYNTHETIC_OUT);
    xl__arg_u32(s, STACK_STEP);
    xl__arg_u32(s, iterations);
    r->ring = STACK_WORDS;
    r->counts.private_bytes = STACK_WORDS * sizeof(cl_uint);
    r->counts.spill_bytes =
        BYTES_PER_ITERATION * (double)iterations * (double)(groups * wg);
}

static void plan_contended(const struct xl__synthetic_target *on,
                           size_t iterations, struct xl__synthetic_run *r)
{
    enum { ADDS_PER_ITERATION = 4 };
    const size_t groups = group_count(on), wg = group_items(on);
    struct xl__step *s = init_synthetic(r, "contended", 4, groups, wg);
    xl__arg_mem(s, XL__SYNTHETIC_OUT);
    xl__arg_u32(s, groups * wg);
    xl__arg_u32(s, iterations);
    r->out_words = 1;
    r->counts.same_atomics =
        ADDS_PER_ITERATION * (double)iterations * (double)(groups * wg);
}

static void plan_special(const struct xl__synthetic_target *on,
                         size_t iterations, struct xl__synthetic_run *r)
{
    enum { A_TURN = 16, VECTOR = 4 };
    const size_t groups = group_count(on), wg = group_items(on);
    const size_t vec = vector_width(on, VECTOR);
    struct xl__step *s = init_synthetic(r, "special", 5, groups, wg);
    xl__define(s, "VEC", (long)vec);
    xl__arg_mem(s, XL__SYNTHETIC_OUT);
    xl__arg_u32(s, iterations);
    r->counts.special =
        A_TURN * (double)iterations * (double)(vec * groups * wg);
}

static void plan_launches(const struct xl__synthetic_target *on,
                          size_t iterations, struct xl__synthetic_run *r)
{
    (void)on;
    (void)iterations;
    init_run(r, "probe/launch.cl", "nothing", 1, 1);
    r->launches = LAUNCHES;
    r->counts.launches = LAUNCHES;
    r->out_words = 0;
}

/* Plans `rounds` copies of a number of bytes, as bandwidth.c does. */
static struct xl__step *plan_copy(const struct xl__synthetic_target *on,
                                  size_t bytes, size_t rounds,
                                  struct xl__synthetic_run *r)
{
    enum { WIDE_VEC = 4, SCALAR_VEC = 16 };
    static const double golden = 0.6180339887;
    const size_t vec = on->scalar ? SCALAR_VEC : WIDE_VEC,
                 wg = group_items(on);
    const size_t accesses = bytes / sizeof(cl_uint) / vec;
    const size_t wanted =
        xl__is(on->l, XL__F_is_cpu) ? group_count(on) : accesses;
    const size_t count =
        xl__max_size(accesses / (wanted * wg) / UNROLL, 1) * UNROLL;
    const size_t blocks = accesses / (count * wg);
    struct xl__step *s = init_run(r, "probe/bandwidth.cl", "copy", blocks, wg);
    const double moved =
        2.0 * (double)(blocks * count * wg * vec * sizeof(cl_uint));
    xl__define(s, "WG", (long)wg);
    xl__define(s, "VEC", (long)vec);
    xl__define(s, "UNROLL", UNROLL);
    xl__define(s, "ONLY", 4);
    xl__arg_mem(s, XL__SYNTHETIC_IN);
    xl__arg_mem(s, XL__SYNTHETIC_DST);
    xl__arg_u32(s, count);
    xl__arg_u32(s, blocks);
    xl__arg_u32(s, (size_t)(golden * (double)blocks));
    xl__arg_u32(s, rounds);
    r->in_bytes = bytes;
    r->out_words = 0;
    r->plan.bytes = moved * (double)rounds;
    r->counts.bytes[XL_LEVEL_DRAM] = r->plan.bytes;
    r->counts.footprint_bytes = moved;
    return s;
}

static void plan_stream(const struct xl__synthetic_target *on,
                        size_t iterations, struct xl__synthetic_run *r)
{
    static const double enough = 64e6; /* where no larger cache is known */
    const double llc = xl__num_or(on->l, XL__F_llc_bytes, 0);
    size_t bytes = xl__probe_far_bytes(on->l, on->quick);
    (void)iterations;
    while ((double)bytes / 2 >= fmax(enough, llc))
        bytes /= 2;
    struct xl__step *s = plan_copy(on, bytes, 1, r);
    xl__define(s, "PAST", on->scalar);
}

static void plan_resident(const struct xl__synthetic_target *on,
                          size_t iterations, struct xl__synthetic_run *r)
{
    plan_copy(on, xl__probe_near_bytes(on->l) / 2, iterations, r);
}

/* Plans an upload whose bytes the kernel reads once. */
static void plan_upload(const struct xl__synthetic_target *on,
                        size_t iterations, struct xl__synthetic_run *r)
{
    enum { BYTES = 32 << 20 };
    (void)iterations;
    plan_copy(on, BYTES, 1, r);
    r->upload_bytes = BYTES;
    r->counts.upload_bytes = BYTES;
}

/* -- requirements --------------------------------------------------------- */

static const char *require_units(const struct xl__limits *l)
{
    return xl__num(l, XL__F_compute_units) >= 2
               ? NULL
               : "there is one compute unit: no grid is too small";
}

static const char *require_lock_step(const struct xl__limits *l)
{
    return xl__num(l, XL__F_subgroup_width) >= WAYS
               ? NULL
               : "items here are not known to run in lock-step";
}

static const char *require_banks(const struct xl__limits *l)
{
    return xl__is(l, XL__F_has_local_mem) &&
                   xl__num(l, XL__F_local_banks) >= 2 &&
                   xl__num(l, XL__F_subgroup_width) >= 2
               ? NULL
               : "local memory here is not known to have banks";
}

static const char *require_far_stack(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu)
               ? "private memory of a CPU is its stack, in the first cache"
               : NULL;
}

static const char *require_cache_size(const struct xl__limits *l)
{
    return xl__probe_near_bytes(l) > 0
               ? NULL
               : "the size of the last-level cache is not known";
}

static const char *require_transfer(const struct xl__limits *l)
{
    return xl__is(l, XL__F_has_zero_copy)
               ? "host and device share memory: nothing is moved"
               : NULL;
}

/* -- expected words ------------------------------------------------------- */

/* Indices in random order, each the index of the next one (Sattolo). */
void xl__synthetic_ring(uint64_t seed, cl_uint *ring, size_t n)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; i < n; i++)
        ring[i] = (cl_uint)i;
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = (size_t)xl__rng_below(&rng, i);
        const cl_uint kept = ring[i];
        ring[i] = ring[j];
        ring[j] = kept;
    }
}

/* The index after `steps` along a cycle. */
static cl_uint follow_ring(const cl_uint *ring, size_t n, size_t steps,
                           cl_uint from)
{
    for (size_t i = 0; i < steps % n; i++)
        from = ring[from];
    return from;
}

static bool is_ring_end(const struct xl__synthetic_word *w)
{
    enum { WALKS = 4, STEPS_PER_ITERATION_EACH = 4 };
    cl_uint word = 0, scale = 1;
    for (cl_uint start = 0; start < WALKS; start++) {
        word += scale * follow_ring(w->ring, w->n_ring,
                                    STEPS_PER_ITERATION_EACH * w->iterations,
                                    start);
        scale *= (cl_uint)w->n_ring;
    }
    return w->word == word;
}

static bool is_stack_sum(const struct xl__synthetic_word *w)
{
    const size_t blocks = w->n_ring / STACK_STEP;
    cl_uint sum = 0;
    for (size_t i = 0; i < w->n_ring; i++) {
        const size_t block = i / STACK_STEP;
        cl_uint x = w->ring[i];
        for (size_t turn = block; turn < w->iterations; turn += blocks)
            x = x * LCG_FACTOR + LCG_ADDEND;
        sum += x;
    }
    return w->word == sum;
}

/* A step is linear in an item's number x, so each item's sum is slope * x +
 * offset, and so is the sum over all items. */
static bool is_atomic_sum(const struct xl__synthetic_word *w)
{
    enum { ADDS = 4 };
    cl_uint a = 1, c = 0, slope = 0, offset = 0;
    for (size_t i = 0; i < ADDS * w->iterations; i++) {
        a *= LCG_FACTOR;
        c = c * LCG_FACTOR + LCG_ADDEND;
        slope += a;
        offset += c;
    }
    const uint64_t n = w->items;
    const cl_uint numbers = (cl_uint)(n * (n - 1) / 2);
    return w->word == slope * numbers + offset * (cl_uint)n;
}

static bool is_source_word(const struct xl__synthetic_word *w)
{
    return w->word == xl__probe_word(w->seed, w->i);
}

static bool is_close(cl_uint word, double want, double tolerance)
{
    float got;
    memcpy(&got, &word, sizeof got);
    return fabs(got - want) <= tolerance * fabs(want);
}

static const double rounding = 1e-5;

/* The constant of an item's map, the same in all kernels that have one. */
static double map_constant(const struct xl__synthetic_word *w)
{
    return (double)(64 + w->i % 64) / 1024;
}

static bool is_fixed_point(const struct xl__synthetic_word *w)
{
    return is_close(w->word, (1 - sqrt(1 - 4 * map_constant(w))) / 2,
                    rounding);
}

/* Fixed points by iteration: each step at least halves the distance. */
static bool is_branch_fixed_point(const struct xl__synthetic_word *w)
{
    enum { STEPS = 100 };
    const unsigned way = w->i % WAYS;
    const double c = map_constant(w);
    double x = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        const double first[WAYS] = {x * x + c, c - x * x, x * c + c,
                                    x * c + c};
        x = first[way];
        x = way == WAYS - 1 ? c - x * x : x * x + c;
    }
    return is_close(w->word, x, rounding);
}

/* x = 2^-x; the precision of native functions is implementation-defined. */
static bool is_exp2_fixed_point(const struct xl__synthetic_word *w)
{
    static const double fixed_point = 0.6411857445, loose = 1e-3;
    return is_close(w->word, fixed_point, loose);
}

/* clang-format off */
const struct xl__synthetic xl__synthetic[] = {
    /* name          limiter                by
     * refuses       make           is_right       fixed  slowing */
    {"fma_chain",     XL_LIMITER_FMA,        XL__F_peak_f32_flop_per_s,
     NULL,            plan_chains,   is_fixed_point,    false, false},
    {"tiny_grid",     XL_LIMITER_GROUPS,     XL__F_peak_f32_flop_per_s,
     require_units,        plan_tiny,     is_fixed_point,    false, false},
    {"divergence",    XL_LIMITER_DIVERGENCE, XL__F_peak_f32_flop_per_s,
     require_lock_step,    plan_branches, is_branch_fixed_point,  false, false},
    {"dram_stream",   XL_LIMITER_DRAM,       XL__F_copy_bytes_per_s,
     NULL,            plan_stream,   is_source_word,     true,  false},
    {"cache_stream",  XL_LIMITER_CACHE,      XL__F_llc_bytes_per_s,
     require_cache_size,   plan_resident, is_source_word,     false, false},
    {"bank_conflict", XL_LIMITER_BANKS,      XL__F_local_bytes_per_s,
     require_banks,        plan_banks,    is_ring_end,     false, false},
    {"spill",         XL_LIMITER_SPILLS,     XL__F_copy_bytes_per_s,
     require_far_stack,   plan_stack,    is_stack_sum,    false, false},
    {"special",       XL_LIMITER_SPECIAL,    XL__F_special_per_s,
     NULL,            plan_special,  is_exp2_fixed_point,     false, false},
    {"atomics",       XL_LIMITER_ATOMICS,    XL__F_atomic_same_per_s,
     NULL,            plan_contended, is_atomic_sum,    false, false},
    {"launches",      XL_LIMITER_LAUNCH,     XL__F_launch_ns,
     NULL,            plan_launches, NULL,          true,  false},
    {"upload",        XL_LIMITER_TRANSFER,   XL__F_upload_bytes_per_s,
     require_transfer,     plan_upload,   is_source_word,     true,  false},
    {"throttle",      XL_LIMITER_THROTTLE,   XL__F_peak_f32_flop_per_s,
     NULL,            plan_chains,   is_fixed_point,    false, true},
    {NULL, XL_LIMITER_UNKNOWN, XL__N_FACTS, NULL, NULL, NULL, false, false},
};
/* clang-format on */

void xl__synthetic_plan(const struct xl__synthetic *kind,
                        const struct xl__synthetic_target *on,
                        size_t iterations, struct xl__synthetic_run *out)
{
    memset(out, 0, sizeof *out);
    kind->plan(on, iterations, out);
}
