/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `coalescing`: useful bytes per second by access pattern: strides,
 * offsets, vector widths and random access beyond the last-level cache;
 * strides also inside it, where the smallest transaction shows without the
 * granule of memory.
 *
 * The granule is found from the curve of time per access by stride:
 *
 *     ns      ______      The time doubles with the stride as long as accesses
 *            /            share granules, and stays once each access needs its
 *      _____/             own: granule = stride * 4 bytes at the end of the
 * rise. 1 2 4 8 16 32  stride */
#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "measure/probe.h"

enum {
    WORD = 4,
    UNROLL = 8,
    WG = 64,          /* times UNROLL: the fewest rows of a pass */
    SECTOR_WORDS = 8, /* wider strides leave words of a sector unused */
    LINE_WORDS = 16,  /* and of a line, enough for quick runs */
    WIDEST_VEC = 16,
    MOST_CURVE = 7,  /* strides 1, 2, 4 ... 64 make the curve */
    SLACK_WORDS = 64 /* kept free at the end for offsets */
};

static const double doubling = 1.45; /* between flat (1) and doubled (2) */

/* -- what is launched ----------------------------------------------------- */

struct access_run {
    cl_mem src, kept;
    unsigned lg_words; /* words of the buffer without slack */
    unsigned lg_near;  /* words inside the last-level cache; 0: none */
    double near_n;     /* accesses per launch there */
    size_t wg;
    unsigned unit_words; /* at wide strides one of so many words is read */
    double roof;         /* B/s of reading; NaN: unknown */
    xl_source roof_source;
};

/* A point: a kernel and its arguments. */
struct access_point {
    const char *variant; /* of the row: a static string */
    const char *kernel;  /* "stride", "vector", "gather" */
    unsigned vec, step, offset;
    unsigned lg_rows;
    double n; /* requested accesses */
    bool near;
    /* set by choose_layout(): */
    size_t count, groups;
};

/* CPUs get a few long runs per core; GPUs groups so long that their start does
 * not show, while there are many for every unit. */
static void choose_layout(const struct xl__limits *l,
                          const struct access_run *f, struct access_point *a)
{
    enum { GPU_GROUPS = 64, MOST_COUNT = 64 };
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    const double items = units * (double)f->wg;
    double count = UNROLL;
    if (xl__is(l, XL__F_is_cpu))
        count *= fmax(floor(a->n / (items * XL__CPU_GROUPS) / UNROLL), 1);
    else
        while (count < MOST_COUNT && a->n >= 2 * count * items * GPU_GROUPS)
            count *= 2;
    a->count = (size_t)count;
    a->groups = (size_t)fmax(a->n / (count * (double)f->wg), 1);
}

/* The same as the kernels' addresses: the word of access i of item 0. */
static size_t stride_word(const struct access_point *a, cl_uint i)
{
    const cl_uint pass = i >> a->lg_rows;
    const cl_uint gap =
        (cl_uint)((uint64_t)(cl_uint)(pass * 0x9e3779b9u) * a->step >> 32);
    return (size_t)(i & ((1u << a->lg_rows) - 1)) * a->step + gap + a->offset;
}

static size_t gather_word(const struct access_point *a, cl_uint i)
{
    const cl_uint mask = (1u << a->lg_rows) - 1;
    const unsigned half = (a->lg_rows + 1) / 2;
    i = (i * 0x2c1b3c6du + 0x5bd1e995u) & mask;
    i ^= i >> half;
    i = (i * 0x297a2d39u) & mask;
    i ^= i >> half;
    i = (i * 0x7feb352du) & mask;
    return i ^ (i >> half);
}

static cl_uint rotate_left(cl_uint x)
{
    return x << 1 | x >> 31;
}

static cl_uint expected_sum(const struct access_run *f,
                            const struct access_point *a, uint64_t seed)
{
    cl_uint sum[WIDEST_VEC] = {0}, total = 0;
    for (size_t j = 0; j < a->count; j++) {
        const cl_uint i = (cl_uint)(j * f->wg);
        if (a->vec == 0)
            sum[0] = rotate_left(sum[0]) +
                     xl__probe_word(seed, a->step ? stride_word(a, i)
                                                  : gather_word(a, i));
        for (size_t v = 0; v < a->vec; v++)
            sum[v] = rotate_left(sum[v]) +
                     xl__probe_word(seed, (size_t)i * a->vec + v);
    }
    for (size_t v = 0; v < WIDEST_VEC; v++)
        total += sum[v];
    return total;
}

static void plan_accesses(const struct access_run *f,
                          const struct access_point *a, cl_uint key,
                          struct xl__plan *plan)
{
    const double n = (double)(a->groups * f->wg * a->count);
    struct xl__step *s = xl__probe_step(plan, "probe/coalescing.cl", a->kernel,
                                        a->groups * f->wg, f->wg, true);
    plan->bytes = n * WORD * (a->vec ? a->vec : 1);
    xl__define(s, "WG", (long)f->wg);
    xl__define(s, "VEC", a->vec ? (long)a->vec : 1);
    xl__define(s, "UNROLL", UNROLL);
    xl__define(s, "ONLY", a->step ? 1 : a->vec ? 2 : 3);
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_u32(s, a->count);
    xl__arg_u32(s, key);
    if (a->vec > 0)
        return;
    xl__arg_u32(s, a->lg_rows);
    if (a->step > 0) {
        xl__arg_u32(s, a->step);
        xl__arg_u32(s, a->offset);
    }
}

static void init_row(const struct access_run *f, const struct access_point *a,
                     const char *param, double value, xl_row *row)
{
    *row = xl__probe_row("probe_coalescing", a->variant, "B/s");
    if (param)
        xl_row_param(row, param, value);
    if (!a->near && f->roof > 0)
        row->roof = (xl_bound){f->roof, "B/s", "read", f->roof_source};
}

/* A full read above the roof becomes the roof: the machine was busy when that
 * was measured. */
static void raise_roof(struct xl__session *p, struct access_run *f,
                       const struct access_point *a, xl_row *row)
{
    if (a->near || (a->step != 1 && a->vec == 0))
        return;
    if (!(f->roof < xl__probe_peak(row)) || row->verdict != XL_ROW_OK)
        return;
    f->roof = row->roof.value = xl__probe_peak(row);
    f->roof_source = row->roof.source = XL_MEASURED;
    xl__limits_measure(&p->q->ctx->device->seen, XL__F_read_bytes_per_s,
                       f->roof);
}

/* Measures a point; verdict rules are not applied yet. */
static xl_status measure_point(struct xl__session *p, struct access_run *f,
                               struct access_point *a, xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__plan plan;
    cl_uint seen = 0;
    const struct xl__call call = {
        .mem = {[1] = {.buf = f->src}, [2] = {.buf = f->kept}}};
    choose_layout(&p->q->ctx->device->seen, f, a);
    const cl_uint key = expected_sum(f, a, p->how->seed);
    plan_accesses(f, a, key, &plan);
    plan.est_ns = xl__probe_est_ns(
        &p->q->ctx->device->seen,
        fmax(plan.bytes, a->n * (a->step > 1 ? LINE_WORDS * WORD : WORD)));
    TRY(xl_buffer_fill(p->q, f->kept, 0, 0, 1));
    TRY(xl__probe_sample(p, row, &plan, &call, plan.bytes));
    TRY(xl_buffer_read(p->q, f->kept, 0, &seen, sizeof seen));
    if (seen != key)
        xl__probe_reject(row, "wrong result: the sum of the words read");
    raise_roof(p, f, a, row);
fail:
    return status;
}

/* -- strides -------------------------------------------------------------- */

/* Reads the buffer's sectors (quick: lines) once: strides up to their words
 * need one pass, wider ones several. */
static struct access_point make_far_stride(const struct access_run *f,
                                           unsigned step)
{
    struct access_point a = {
        .variant = "stride", .kernel = "stride", .step = step};
    const double words = ldexp(1, (int)f->lg_words);
    a.lg_rows = xl__floor_log2((uint64_t)(words / step));
    a.n = ldexp(ceil((double)step / f->unit_words), (int)a.lg_rows);
    return a;
}

/* The same number of accesses for every stride, in as many passes as
 * needed. */
static struct access_point make_near_stride(const struct access_run *f,
                                            unsigned step)
{
    struct access_point a = {.variant = "stride_llc",
                             .kernel = "stride",
                             .step = step,
                             .near = true,
                             .n = f->near_n};
    a.lg_rows = xl__floor_log2(((uint64_t)1 << f->lg_near) / step);
    return a;
}

/* The granule of a curve in bytes, from the time of an access at strides 1, 2,
 * 4 ...; NaN if it never doubles or never stops. */
double xl__granule(const double *access_ns, unsigned n)
{
    unsigned i = 0;
    while (i + 1 < n && !(access_ns[i + 1] >= doubling * access_ns[i]))
        i++; /* limited by something else at first */
    if (i + 1 >= n)
        return NAN;
    while (i + 1 < n && access_ns[i + 1] >= doubling * access_ns[i])
        i++;
    return i + 1 < n ? ldexp(WORD, (int)i) : NAN;
}

static xl_status measure_stride(struct xl__session *p, struct access_run *f,
                                struct access_point a, double *access_ns)
{
    xl_row row;
    init_row(f, &a, "stride", a.step, &row);
    const xl_status status = measure_point(p, f, &a, &row);
    if (status != XL_OK)
        return status;
    if (access_ns)
        *access_ns = row.samples.min_ns / (row.bytes / WORD);
    xl__probe_emit(p, &row);
    return XL_OK;
}

/* Strides of a curve: all to 64, or powers of two; then powers of two to 1
 * MiB, which show conflicts of channels and cache sets. */
static unsigned next_stride(unsigned step, bool quick)
{
    enum { DENSE = 64, QUICK_FACTOR = 64 };
    if (step < DENSE)
        return quick ? step * 2 : step + 1;
    return quick ? step * QUICK_FACTOR : step * 2;
}

static xl_status measure_far_curve(struct xl__session *p, struct access_run *f,
                                   double *access_ns)
{
    enum { WIDEST = (1 << 20) / WORD };
    xl_status status = XL_OK;
    for (unsigned step = 1; step <= WIDEST;
         step = next_stride(step, p->how->quick)) {
        const unsigned at = xl__floor_log2(step);
        if (at + xl__floor_log2(UNROLL * f->wg) >= f->lg_words)
            break;
        const bool on_curve = xl__is_power_of_two(step) && at < MOST_CURVE;
        TRY(measure_stride(p, f, make_far_stride(f, step),
                           on_curve ? &access_ns[at] : NULL));
    }
fail:
    return status;
}

/* Finds a number of accesses for which the launch overhead does not show at
 * stride 1. */
static xl_status calibrate_near(struct xl__session *p, struct access_run *f)
{
    static const double launch_ns = 200e3, most = 1u << 28;
    xl_status status = XL_OK;
    f->near_n = 1 << 21;
    for (;;) {
        xl_row row;
        struct access_point a = make_near_stride(f, 1);
        init_row(f, &a, NULL, 0, &row);
        TRY(measure_point(p, f, &a, &row));
        if (row.samples.median_ns >= launch_ns || f->near_n >= most)
            break;
        f->near_n *= 4;
    }
fail:
    return status;
}

static xl_status measure_near_curve(struct xl__session *p,
                                    struct access_run *f, double *access_ns)
{
    xl_status status = XL_OK;
    TRY(calibrate_near(p, f));
    for (unsigned at = 0; at < MOST_CURVE; at++)
        TRY(measure_stride(p, f, make_near_stride(f, 1u << at),
                           &access_ns[at]));
fail:
    return status;
}

/* Emits the granule, and the useful rate once each access needs its own
 * granule. The smaller one of both curves is the device's transaction size,
 * except on CPUs, which prefetch lines and pairs of lines: the same device
 * gives 32, 64 or 128 bytes. */
static void report_granule(struct xl__session *p, const char *variant,
                           const double *access_ns, bool is_transaction)
{
    const double granule = xl__granule(access_ns, MOST_CURVE);
    xl_row row = xl__probe_row("probe_coalescing", variant, "B");
    row.value = granule;
    if (granule > 0) {
        const unsigned at = xl__floor_log2((uint64_t)granule / WORD);
        xl_row_found(&row, "floor_B_per_s", WORD / (access_ns[at] * 1e-9));
        if (is_transaction)
            xl__probe_set_fact(p, &row, XL__F_transaction_bytes, false);
    } else {
        xl__row_mark(&row, XL_ROW_UNSUPPORTED,
                     "the curve has no clear step: something other than the "
                     "transaction size limits it");
    }
    xl__probe_emit(p, &row);
}

static xl_status measure_strides(struct xl__session *p, struct access_run *f)
{
    xl_status status = XL_OK;
    double far_ns[MOST_CURVE], near_ns[MOST_CURVE];
    const bool cpu = xl__is(&p->q->ctx->device->seen, XL__F_is_cpu);
    TRY(measure_far_curve(p, f, far_ns));
    report_granule(p, "granule", far_ns, f->lg_near == 0 && !cpu);
    if (f->lg_near > 0) {
        TRY(measure_near_curve(p, f, near_ns));
        report_granule(p, "granule_llc", near_ns, !cpu);
    }
fail:
    return status;
}

/* -- other patterns ------------------------------------------------------- */

static xl_status measure_offsets(struct xl__session *p, struct access_run *f)
{
    static const unsigned quick[] = {0, 1, 8};
    enum { N_QUICK = sizeof quick / sizeof *quick, N_FULL = 32 };
    xl_status status = XL_OK;
    for (unsigned i = 0; i < (p->how->quick ? N_QUICK : N_FULL); i++) {
        xl_row row;
        struct access_point a = make_far_stride(f, 1);
        a.variant = "offset";
        a.offset = p->how->quick ? quick[i] : i;
        init_row(f, &a, "offset", a.offset, &row);
        TRY(measure_point(p, f, &a, &row));
        xl__probe_emit(p, &row);
    }
fail:
    return status;
}

static xl_status measure_widths(struct xl__session *p, struct access_run *f)
{
    enum { QUICK_FACTOR = 16 };
    xl_status status = XL_OK;
    for (unsigned vec = 1; vec <= WIDEST_VEC;
         vec *= p->how->quick ? QUICK_FACTOR : 2) {
        xl_row row;
        struct access_point a = {
            .variant = "vector", .kernel = "vector", .vec = vec};
        a.n = ldexp(1, (int)f->lg_words) / vec;
        init_row(f, &a, "vector", vec, &row);
        TRY(measure_point(p, f, &a, &row));
        xl__probe_emit(p, &row);
    }
fail:
    return status;
}

static xl_status measure_gather(struct xl__session *p, struct access_run *f)
{
    xl_status status = XL_OK;
    xl_row row;
    struct access_point a = {
        .variant = "gather", .kernel = "gather", .lg_rows = f->lg_words};
    a.n = ldexp(1, (int)f->lg_words) / f->unit_words;
    init_row(f, &a, NULL, 0, &row);
    TRY(measure_point(p, f, &a, &row));
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static size_t choose_group_size(const struct xl__session *p)
{
    if (xl__probe_is_scalar(&p->q->ctx->device->seen))
        return 1;
    return xl__min_size(WG, p->most_wg);
}

static xl_status run_coalescing_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct access_run f = {.roof = xl__num(l, XL__F_read_bytes_per_s),
                           .roof_source =
                               l->used[XL__F_read_bytes_per_s].source};
    size_t got = 0;
    const size_t slack = 64 << 10;
    const size_t near = xl__probe_near_bytes(l);
    TRY(xl_buffer_create(p->q, WORD, &f.kept));
    TRY(xl__probe_buffer(p, xl__probe_far_bytes(l, p->how->quick) + slack,
                         &f.src, &got));
    f.wg = choose_group_size(p);
    f.unit_words = p->how->quick ? LINE_WORDS : SECTOR_WORDS;
    f.lg_words = xl__floor_log2(got / WORD - SLACK_WORDS);
    if (near >= slack && near < got)
        f.lg_near = xl__floor_log2(near / WORD);
    TRY(measure_strides(p, &f));
    TRY(measure_offsets(p, &f));
    TRY(measure_widths(p, &f));
    TRY(measure_gather(p, &f));
fail:
    xl__buffer_release(f.src);
    xl__buffer_release(f.kept);
    return status;
}

const struct xl__probe xl__probe_coalescing = {
    {"coalescing",
     "Useful bytes per second when neighbouring work-items read 4-byte words "
     "1..64 and up to 1 MiB apart, from an offset, 1..16 words at a time, and "
     "at random. stride_llc is the same inside the last-level cache: it shows "
     "the smallest transaction; beyond it, memory's own granule is included. "
     "Every word read is random and checked by its sum. Fooled by a cache "
     "larger than its stated size, and by hardware that prefetches strides.",
     true},
    run_coalescing_probe};
