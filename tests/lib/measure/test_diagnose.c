/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the diagnosis, without a device: each limiter is named where counts
 * and rates imply it, causes are named before resources, and the synthetic
 * kernels of `clbench probe diagnosis` run on models of devices. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "measure/diagnosis/synthetic_kernels.h"
#include "measure/probe.h"
#include "sampling/sampler.h"

static void assert_near(double got, double expected)
{
    const double inexact = 1e-9;
    if (!(fabs(got - expected) <= inexact * fabs(expected)))
        fail_msg("%.17g is not %.17g", got, expected);
}

/* -- devices by their facts ----------------------------------------------- */

struct rates {
    const char *name;
    double units, width, banks, is_gpu;
    double f32, f16_engine, dram, llc_size, llc, l1_size, l1, local;
    double special, same_atomic, atomic, launch_ns, barrier_ns, upload;
};

/* Not captured but put together from data sheets and from what vendor-notes
 * have of each: a model's, to be close enough in their proportions. */
static const struct rates models[] = {
    {"like an H200", 132, 32, 32, 1, 60e12, 850e12, 4.2e12, 50e6, 9e12, 250e3,
     25e12, 28e12, 3.7e12, 2.2e9, 1.5e12, 6850, 60, 54e9},
    {"like an MI300X", 304, 64, 32, 1, 120e12, 900e12, 4e12, 256e6, 11e12,
     32e3, 38e12, 60e12, 9e12, 1e9, 6e11, 7000, 80, 50e9},
    {"like an Arc A770", 32, 16, 16, 1, 17e12, 110e12, 4.5e11, 16e6, 1.5e12,
     190e3, 6e12, 4e12, 1e12, 5e8, 1e11, 12000, 100, 20e9},
    {"like a CPU of 16 cores", 16, 1, NAN, 0, 2e12, NAN, 1e11, 32e6, 4e11,
     48e3, 4e12, NAN, 2e10, 5e7, 2e9, 9000, 500, NAN},
};
enum { N_MODELS = sizeof models / sizeof *models };

static void know(xl_device *dev, enum xl__fact_id fact, double value)
{
    if (!isnan(value))
        xl__limits_measure(&dev->seen, fact, value);
}

static void make_device(xl_device *dev, const struct rates *r)
{
    memset(dev, 0, sizeof *dev);
    xl__limits_init(&dev->seen);
    know(dev, XL__F_compute_units, r->units);
    know(dev, XL__F_is_gpu, r->is_gpu);
    know(dev, XL__F_is_cpu, !r->is_gpu);
    know(dev, XL__F_has_local_mem, r->is_gpu);
    know(dev, XL__F_has_zero_copy, !r->is_gpu);
    know(dev, XL__F_subgroup_width, r->width);
    know(dev, XL__F_local_banks, r->banks);
    know(dev, XL__F_global_mem_bytes, 64e9);
    know(dev, XL__F_peak_f32_flop_per_s, r->f32);
    know(dev, XL__F_peak_matrix_f16_flop_per_s, r->f16_engine);
    know(dev, XL__F_copy_bytes_per_s, r->dram);
    know(dev, XL__F_llc_bytes, r->llc_size);
    know(dev, XL__F_llc_bytes_per_s, r->llc);
    know(dev, XL__F_l1_bytes, r->l1_size);
    know(dev, XL__F_l1_bytes_per_s, r->l1);
    know(dev, XL__F_local_bytes_per_s, r->local);
    know(dev, XL__F_special_per_s, r->special);
    know(dev, XL__F_atomic_same_per_s, r->same_atomic);
    know(dev, XL__F_atomic_per_s, r->atomic);
    know(dev, XL__F_launch_ns, r->launch_ns);
    know(dev, XL__F_barrier_ns, r->barrier_ns);
    know(dev, XL__F_upload_bytes_per_s, r->upload);
}

static xl_diagnosis diagnose(const struct rates *r, const xl_counts *counts)
{
    xl_device dev;
    xl_diagnosis d;
    make_device(&dev, r);
    xl_diagnose(&dev, counts, &d);
    xl__limits_clear(&dev.seen);
    return d;
}

static void assert_named(const xl_diagnosis *d, xl_limiter expected)
{
    if (d->limiter != expected)
        fail_msg("named %s, not %s: %s", xl_limiter_name(d->limiter),
                 xl_limiter_name(expected), d->evidence);
}

/* -- one resource at a time ----------------------------------------------- */

static const struct rates *const h200 = &models[0];

static void the_longest_need_explains(void **state)
{
    (void)state;
    /* A copy of 134 MB at 4.2 TB/s is 32 us, its flop a fraction of that. */
    xl_counts w = {.ns = 35e3,
                   .groups = 4096,
                   .wg_size = 256,
                   .launches = 1,
                   .bytes = {134e6},
                   .flop = {{.dtype = XL_F32, .count = 1e8}}};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_DRAM);
    assert_near(d.need_ns[XL_LIMITER_DRAM], 134e6 / 4.2e12 * 1e9);
    assert_near(d.share, 134e6 / 4.2e12 * 1e9 / 35e3);
    assert_near(d.bytes_per_s, 134e6 / 35e-6);
    assert_near(d.flop_per_s, 1e8 / 35e-6);
    assert_near(d.intensity, 1e8 / 134e6);
    assert_true(isnan(d.busy));
    assert_non_null(strstr(d.evidence, "134 MB at 4.2 TB/s"));
    assert_string_equal(d.engine, "");

    /* The same bytes in a set that the cache keeps, unless it is emptied. */
    w.footprint_bytes = 20e6;
    w.ns = 17e3;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_CACHE);
    w.is_cold = true;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_DRAM);
}

static void engines_and_units_are_distinguished(void **state)
{
    (void)state;
    xl_counts w = {.ns = 1.6e6,
                   .groups = 4096,
                   .wg_size = 384,
                   .bytes = {400e6},
                   .flop = {{.engine = XL_ENGINE_MATRIX,
                             .dtype = XL_F16,
                             .count = 1.1e12,
                             .is_product = true}}};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_ENGINE);
    assert_string_equal(d.engine, "");
    /* On the plain units it takes longer, and the engine is idle. */
    w.flop[0].engine = XL_ENGINE_FMA;
    w.flop[0].why = "gemm_simt was named by the caller";
    w.ns = 20e6;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_FMA);
    assert_non_null(strstr(d.engine, "850 TFLOP/s of f16"));
    assert_non_null(strstr(d.engine, "gemm_simt was named"));
    /* What is no product, nothing could do there. */
    w.flop[0].is_product = false;
    assert_string_equal(diagnose(h200, &w).engine, "");
}

static void causes_are_named_before_what_they_lengthen(void **state)
{
    (void)state;
    /* 32 ways of a conflict: 28 TB/s are 0.9. */
    xl_counts w = {.ns = 330e3,
                   .groups = 4096,
                   .wg_size = 256,
                   .bytes = {[XL_LEVEL_LOCAL] = 8e9},
                   .bank_ways = 1};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_LOCAL);
    w.bank_ways = 32;
    w.ns = 10e6;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_BANKS);
    assert_non_null(strstr(d.evidence, "32 times over"));
    /* In one group of 132 it is the grid, though it has conflicts as well. */
    w.groups = 1;
    w.ns = 1300e6;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_GROUPS);
    assert_non_null(strstr(d.evidence, "1 group on 132 units"));

    /* A last wave of one group halves the fill of 133. */
    w = (xl_counts){.ns = 1e6,
                    .groups = 133,
                    .wg_size = 256,
                    .flop = {{.dtype = XL_F32, .count = 28e9}}};
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_GROUPS);
    w.groups = 132;
    w.ns = 5e5;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_FMA);
    w.branch_ways = 4;
    w.ns = 2e6;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_DIVERGENCE);
}

static void later_runs_show_throttling(void **state)
{
    (void)state;
    xl_counts w = {.ns = 1e6,
                   .groups = 4096,
                   .wg_size = 256,
                   .drift = 1.05,
                   .flop = {{.dtype = XL_F32, .count = 55e9}}};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_FMA);
    w.drift = 1.4;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_THROTTLE);
    assert_near(d.share, 1 - 1 / 1.4);
    assert_non_null(strstr(d.evidence, "1.40 times as long"));

    /* By samples: drift only where the sampler saw it. */
    xl_samples s;
    memset(&s, 0, sizeof s);
    for (unsigned i = 0; i < 12; i++)
        s.ns[s.runs++] = i < 4 ? 100 : 150;
    s.median_ns = 150;
    s.overhead_ns = 50;
    xl_counts_set_times(&w, &s);
    assert_near(w.drift, 1);
    assert_near(w.host_ns, 200);
    s.warnings = XL_WARN(CLOCK_DRIFT);
    s.wall_clock = true;
    xl_counts_set_times(&w, &s);
    assert_near(w.drift, 1.5);
    assert_near(w.host_ns, 0);
    assert_near(w.ns, 150);
}

/* A clock that falls while it is sampled: each run takes longer. */
struct falling {
    double ns, slope;
    unsigned calls;
};

static xl_status falling_take(void *arg, unsigned batch, struct xl__timing *out)
{
    struct falling *f = arg;
    const double ns = f->ns * (1 + f->slope * f->calls++);
    *out = (struct xl__timing){.device_ns = ns * batch,
                               .host_ns = ns * batch + 1e4,
                               .spent_ns = ns * batch};
    return XL_OK;
}

static void a_falling_clock_is_throttle(void **state)
{
    (void)state;
    static const xl_sampling how = {XL_SAMPLING_INIT, .min_runs = 30,
                                    .max_runs = 30, .max_noise = 0.01};
    for (unsigned falls = 0; falls < 2; falls++) {
        struct falling f = {.ns = 1e6, .slope = falls ? 0.02 : 0};
        const struct xl__sample_source source = {
            .take = falling_take, .arg = &f, .step_ns = 1};
        xl_counts w = {.groups = 4096,
                       .wg_size = 256,
                       .flop = {{.dtype = XL_F32, .count = 50e9}}};
        xl_samples *s = test_calloc(1, sizeof *s);
        assert_int_equal(xl__sample(&how, &source, 1, s), XL_OK);
        xl_counts_set_times(&w, s);
        const xl_diagnosis d = diagnose(h200, &w);
        assert_named(&d, falls ? XL_LIMITER_THROTTLE : XL_LIMITER_FMA);
        test_free(s);
    }
}

static void conversions_are_counted(void **state)
{
    (void)state;
    /* Two flop in place of each: 60 TFLOP/s do 30 T conversions a second. */
    xl_counts w = {.ns = 1e6,
                   .groups = 132,
                   .wg_size = 256,
                   .conversions = 24e9,
                   .bytes = {1e9}};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_CONVERT);
    assert_near(d.need_ns[XL_LIMITER_CONVERT], 24e9 / 30e12 * 1e9);
    assert_near(d.share, 0.8);
    assert_non_null(strstr(d.evidence, "24 billion conversions at 30 trillion "
                                       "a second"));
    w.conversions = 0;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_UNKNOWN);
    assert_true(isnan(d.need_ns[XL_LIMITER_CONVERT]));
}

/* The host's time is stated with its count and names nothing: the counts
 * explain the device's time. */
static void host_time_is_stated(void **state)
{
    (void)state;
    xl_counts w = {.ns = 40e3,
                   .groups = 4096,
                   .wg_size = 256,
                   .is_cold = true,
                   .bytes = {160e6}};
    static const char line[] = "; host: 10 us of 50 us by its clock (20 %)";
    xl_diagnosis d = diagnose(h200, &w);
    assert_null(strstr(d.evidence, "host"));
    w.host_ns = 50e3;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_DRAM);
    assert_string_equal(strstr(d.evidence, "; host"), line);
    w.host_ns = 45e3; /* less than 15 % */
    d = diagnose(h200, &w);
    assert_null(strstr(d.evidence, "host"));
}

static void busy_is_not_achieved(void **state)
{
    (void)state;
    /* Busy half of the host's time, at a tenth of the bandwidth. */
    const xl_counts w = {.ns = 100e3,
                         .host_ns = 200e3,
                         .bytes = {42e6},
                         .is_cold = true,
                         .groups = 4096,
                         .wg_size = 256};
    const xl_diagnosis d = diagnose(h200, &w);
    assert_near(d.busy, 0.5);
    assert_near(d.bytes_per_s, 42e6 / 100e-6);
    assert_true(d.share < 0.11);
}

static void what_is_left_open_is_said(void **state)
{
    (void)state;
    xl_counts w = {.ns = 1e6,
                   .groups = 132,
                   .wg_size = 64,
                   .flop = {{.dtype = XL_F32, .count = 5e9}}};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_UNKNOWN);
    assert_near(d.share, 5e9 / 60e12 * 1e9 / 1e6);
    assert_non_null(strstr(d.evidence, "FMA: 5 GFLOP"));
    assert_non_null(strstr(d.evidence, "; not explained: 92 %"));
    /* Few items or private memory are no evidence by themselves. */
    w.groups = 4096;
    w.private_bytes = 16;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_UNKNOWN);
    /* More than half: named, with the rest. */
    w.flop[0].count = 42e9;
    w.groups = 32 * h200->units;
    w.private_bytes = 0;
    d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_FMA);
    assert_non_null(strstr(d.evidence, "not explained: 30 %"));

    /* Nothing known, nothing named. */
    static const struct rates unknown = {
        "unknown", NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
        NAN,      NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    d = diagnose(&unknown, &w);
    assert_named(&d, XL_LIMITER_UNKNOWN);
    assert_true(isnan(d.share));
    assert_true(*d.evidence);
    xl_diagnose(NULL, &w, &d);
    assert_named(&d, XL_LIMITER_UNKNOWN);
    xl_diagnose(NULL, &w, NULL);
}

/* Counts of many sizes on each model: who gets advice has a count that needs
 * half of the time, or later runs that were slower. */
static void no_advice_without_a_count(void **state)
{
    enum { CASES = 4000 };
    struct xl__rng rng;
    size_t n_named = 0;
    (void)state;
    xl__rng_seed(&rng, 3);
    for (unsigned i = 0; i < CASES; i++) {
        double x[10];
        for (unsigned k = 0; k < 10; k++) /* from 1 to 1e9, or none */
            x[k] = xl__rng_below(&rng, 3) ? 0
                                          : pow(10, 9 * xl__rng_uniform(&rng));
        const xl_counts w = {.ns = pow(10, 3 + 5 * xl__rng_uniform(&rng)),
                             .groups = 1 + (double)xl__rng_below(&rng, 9999),
                             .wg_size = 64,
                             .launches = floor(x[0] / 1e6),
                             .bytes = {x[1], 0, 0, x[2], x[3]},
                             .special = x[4],
                             .atomics = x[5],
                             .barriers = x[6] / 1e3,
                             .upload_bytes = x[7],
                             .private_bytes = x[8] / 1e6,
                             .flop = {{.dtype = XL_F32, .count = x[9] * 1e3}}};
        const xl_diagnosis d = diagnose(&models[i % N_MODELS], &w);
        const bool has_advice = *xl_limiter_advice(d.limiter) != '\0';
        const double need = d.need_ns[d.limiter];
        n_named += has_advice;
        if (has_advice && !(need >= 0.5 * w.ns && *d.evidence))
            fail_msg("case %u: %s needs %g of %g ns: %s", i,
                     xl_limiter_name(d.limiter), need, w.ns, d.evidence);
        if (!has_advice && d.share >= 0.5)
            fail_msg("case %u: %g is explained: %s", i, d.share, d.evidence);
    }
    assert_true(n_named > CASES / 10 && n_named < CASES);
}

static void private_memory_is_where_it_fits(void **state)
{
    (void)state;
    /* 64 B of 2048 items are 128 KiB: a unit's cache; 512 B of them the last
     * one's no more. */
    xl_counts w = {.ns = 1e6,
                   .groups = 2112,
                   .wg_size = 256,
                   .private_bytes = 64,
                   .spill_bytes = 20e9};
    xl_diagnosis d = diagnose(h200, &w);
    assert_named(&d, XL_LIMITER_SPILLS);
    assert_near(d.need_ns[XL_LIMITER_SPILLS], 20e9 / 25e12 * 1e9);
    w.private_bytes = 512;
    d = diagnose(h200, &w);
    assert_near(d.need_ns[XL_LIMITER_SPILLS], 20e9 / 4.2e12 * 1e9);
    w.private_bytes = 128;
    d = diagnose(h200, &w);
    assert_near(d.need_ns[XL_LIMITER_SPILLS], 20e9 / 9e12 * 1e9);
}

static void every_limiter_has_words(void **state)
{
    (void)state;
    for (unsigned i = 0; i < XL_N_LIMITERS; i++) {
        assert_true(strlen(xl_limiter_name((xl_limiter)i)) > 2);
        if (i == XL_LIMITER_UNKNOWN)
            assert_string_equal(xl_limiter_advice((xl_limiter)i), "");
        else
            assert_true(strlen(xl_limiter_advice((xl_limiter)i)) > 20);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(xl_limiter_name((xl_limiter)i),
                                    xl_limiter_name((xl_limiter)j));
    }
    assert_string_equal(xl_limiter_name((xl_limiter)99), "?");
    assert_string_equal(xl_limiter_advice((xl_limiter)99), "");
}

/* -- captured ------------------------------------------------------------- */

/* Rows that were measured on an H200 (driver 580.159), with that machine's own
 * peaks: 64.4 TFLOP/s f32, 856 f16, copy 4.26 TB/s, launch 6.85 us. */
static void captured_rows_are_named(void **state)
{
    (void)state;
    static const struct rates measured = {
        "H200", 132, 32, 32, 1, 64.4e12, 856e12, 4.26e12, 50e6, NAN,
        NAN,    NAN, NAN, NAN, NAN,  NAN,  6850, NAN, 54.8e9};
    const double cube = 2.0 * 8192 * 8192 * 8192;
    xl_counts w = {
        .ns = cube / 670e12 * 1e9,
        .bytes = {3 * 8192 * 8192 * 2.0},
        .groups = 2048,
        .wg_size = 384,
        .launches = 1,
        .flop = {
            {.engine = XL_ENGINE_MATRIX, .dtype = XL_F16, .count = cube}}};
    xl_diagnosis d = diagnose(&measured, &w);
    assert_named(&d, XL_LIMITER_ENGINE);
    /* f32 at 51 TFLOP/s. */
    w.flop[0] = (xl_flop){.dtype = XL_F32, .count = cube};
    w.bytes[XL_LEVEL_DRAM] *= 2;
    w.ns = cube / 51e12 * 1e9;
    d = diagnose(&measured, &w);
    assert_named(&d, XL_LIMITER_FMA);
    /* A softmax of 16384 x 1024 at 3446 GB/s. */
    w = (xl_counts){.ns = 134.2e6 / 3446e9 * 1e9,
                    .bytes = {134.2e6},
                    .groups = 16384,
                    .wg_size = 256,
                    .launches = 1,
                    .special = 16.8e6};
    d = diagnose(&measured, &w);
    assert_named(&d, XL_LIMITER_DRAM);
    /* 256 MiB from pinned memory at 54.8 GB/s. */
    w = (xl_counts){.ns = 268e6 / 54e9 * 1e9, .upload_bytes = 268e6};
    d = diagnose(&measured, &w);
    assert_named(&d, XL_LIMITER_TRANSFER);
    /* A launch that does nothing. */
    w = (xl_counts){.ns = 6.9e3, .groups = 1, .wg_size = 1, .launches = 1};
    d = diagnose(&measured, &w);
    assert_named(&d, XL_LIMITER_LAUNCH);
    assert_non_null(strstr(d.evidence, "1 launch of 6.85 us need "
                                       "6.85 us of 6.9 us (99 %)"));
    /* One that takes less than was measured contradicts the rate. */
    w.ns = 4e3;
    d = diagnose(&measured, &w);
    assert_named(&d, XL_LIMITER_LAUNCH);
    assert_non_null(strstr(d.evidence, "would need 6.85 us, more than the "
                                       "4 us it took"));
}

/* -- synthetic kernels on models ------------------------------------------ */

/* The time that a planted run takes on a model of a device: by its own
 * arithmetic, of what it is planted with. `ease`: how near to its rates the
 * device comes. */
static double model_ns(const struct rates *r, xl_limiter planted,
                       const xl_counts *w, double ease)
{
    const double flop = w->flop[0].count;
    double s = 0;
    switch (planted) {
    case XL_LIMITER_FMA:
    case XL_LIMITER_THROTTLE:
        s = flop / r->f32;
        break;
    case XL_LIMITER_GROUPS: /* each unit has its share of the rate */
        s = flop / (r->f32 / r->units);
        break;
    case XL_LIMITER_DIVERGENCE:
        s = 4 * flop / r->f32;
        break;
    case XL_LIMITER_DRAM:
        s = w->bytes[XL_LEVEL_DRAM] / r->dram;
        break;
    case XL_LIMITER_CACHE:
        s = w->bytes[XL_LEVEL_DRAM] / r->llc;
        break;
    case XL_LIMITER_BANKS: /* one word of a bank at a time */
        s = w->bytes[XL_LEVEL_LOCAL] / (r->local / fmin(r->width, r->banks));
        break;
    case XL_LIMITER_SPILLS: /* partly in caches after all */
        s = 0.7 * w->spill_bytes / r->dram;
        break;
    case XL_LIMITER_SPECIAL:
        s = w->special / r->special;
        break;
    case XL_LIMITER_ATOMICS:
        s = w->same_atomics / r->same_atomic;
        break;
    case XL_LIMITER_LAUNCH:
        s = w->launches * r->launch_ns * 1e-9;
        break;
    case XL_LIMITER_TRANSFER:
        s = w->upload_bytes / r->upload + w->bytes[XL_LEVEL_DRAM] / r->dram;
        break;
    default:
        fail_msg("there is no model of %s", xl_limiter_name(planted));
    }
    return s / ease * 1e9;
}

static unsigned name_synthetic(const struct rates *r, double ease, double off,
                               struct xl__rng *rng)
{
    enum { TURNS = 20000 };
    xl_device dev;
    unsigned n = 0;
    make_device(&dev, r);
    const struct xl__synthetic_target on = {&dev.seen, 256, !r->is_gpu,
                                            true};
    for (unsigned i = 0; xl__synthetic[i].name; i++) {
        const struct xl__synthetic *kind = &xl__synthetic[i];
        struct xl__synthetic_run run;
        xl_diagnosis d;
        if (kind->refuses && kind->refuses(&dev.seen))
            continue;
        xl__synthetic_plan(kind, &on, TURNS, &run);
        /* Rates are known to so much. */
        const double noise = 1 + off * (2 * xl__rng_uniform(rng) - 1);
        run.counts.ns = model_ns(r, kind->limiter, &run.counts, ease) * noise;
        run.counts.drift = kind->is_slowing ? 1.5 : 1;
        xl_diagnose(&dev, &run.counts, &d);
        if (d.limiter != kind->limiter)
            fail_msg("%s, %s at %.2f of its rates: named %s: %s", r->name,
                     kind->name, ease, xl_limiter_name(d.limiter),
                     d.evidence);
        n++;
    }
    xl__limits_clear(&dev.seen);
    return n;
}

static void synthetic_limiters_are_named_on_models(void **state)
{
    (void)state;
    struct xl__rng rng;
    xl__rng_seed(&rng, 1);
    for (unsigned i = 0; i < N_MODELS; i++)
        for (unsigned j = 0; j < 20; j++) {
            const unsigned n =
                name_synthetic(&models[i], 0.65 + 0.018 * j, 0.1, &rng);
            assert_int_equal(n, models[i].is_gpu ? 12 : 8);
        }
}

/* Without the limiting property another limiter is named: the names do not
 * come from the kernels. */
static void other_limiters_are_not_named(void **state)
{
    (void)state;
    xl_device dev;
    make_device(&dev, h200);
    const struct xl__synthetic_target on = {&dev.seen, 256, false, true};
    for (unsigned i = 0; xl__synthetic[i].name; i++) {
        const struct xl__synthetic *kind = &xl__synthetic[i];
        struct xl__synthetic_run run;
        xl_diagnosis d;
        xl__synthetic_plan(kind, &on, 1000, &run);
        run.counts.ns = model_ns(h200, kind->limiter, &run.counts, 0.9);
        run.counts.bank_ways = run.counts.branch_ways = 1;
        if (kind->limiter == XL_LIMITER_GROUPS)
            run.counts.groups = 1e5;
        else if (kind->limiter != XL_LIMITER_BANKS &&
                 kind->limiter != XL_LIMITER_DIVERGENCE &&
                 kind->limiter != XL_LIMITER_THROTTLE)
            continue;
        xl_diagnose(&dev, &run.counts, &d);
        assert_int_not_equal(d.limiter, kind->limiter);
    }
    xl__limits_clear(&dev.seen);
}

/* The expected words of the probe, by a chase per item in plain C. */
static void synthetic_results_are_compared(void **state)
{
    (void)state;
    cl_uint ring[XL__SYNTHETIC_RING];
    bool met[XL__SYNTHETIC_RING] = {false};
    xl__synthetic_ring(7, ring, XL__SYNTHETIC_RING);
    cl_uint at = 0;
    for (unsigned i = 0; i < XL__SYNTHETIC_RING; i++) {
        assert_false(met[at]);
        met[at] = true;
        at = ring[at];
    }
    assert_int_equal(at, 0);

    /* 3 items, 2 iterations of 4 additions. */
    cl_uint sum = 0;
    for (cl_uint item = 0; item < 3; item++) {
        cl_uint x = item;
        for (unsigned i = 0; i < 8; i++) {
            x = x * 1664525u + 1013904223u;
            sum += x;
        }
    }
    struct xl__synthetic_word w = {.items = 3,
                                   .word = sum,
                                   .iterations = 2,
                                   .ring = ring,
                                   .n_ring = 32,
                                   .seed = 7};
    for (unsigned i = 0; xl__synthetic[i].name; i++) {
        const struct xl__synthetic *kind = &xl__synthetic[i];
        if (kind->limiter != XL_LIMITER_ATOMICS)
            continue;
        assert_true(kind->is_right(&w));
        w.word++;
        assert_false(kind->is_right(&w));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_need_explains),
        cmocka_unit_test(engines_and_units_are_distinguished),
        cmocka_unit_test(causes_are_named_before_what_they_lengthen),
        cmocka_unit_test(later_runs_show_throttling),
        cmocka_unit_test(a_falling_clock_is_throttle),
        cmocka_unit_test(conversions_are_counted),
        cmocka_unit_test(host_time_is_stated),
        cmocka_unit_test(busy_is_not_achieved),
        cmocka_unit_test(what_is_left_open_is_said),
        cmocka_unit_test(no_advice_without_a_count),
        cmocka_unit_test(private_memory_is_where_it_fits),
        cmocka_unit_test(every_limiter_has_words),
        cmocka_unit_test(captured_rows_are_named),
        cmocka_unit_test(synthetic_limiters_are_named_on_models),
        cmocka_unit_test(other_limiters_are_not_named),
        cmocka_unit_test(synthetic_results_are_compared),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
