/* SPDX-License-Identifier: Apache-2.0 */
/* What all probes share: sessions, sampling of a plan, setting of facts,
 * buffers of random words, and working-set sizes inside and beyond the
 * caches. */
#include "measure/probe.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "base/str.h"
#include "device/cl_info.h"
#include "runtime/buffer.h"

struct xl__step *xl__probe_step(struct xl__plan *plan, const char *source,
                                const char *kernel, size_t items, size_t wg,
                                bool can_split)
{
    *plan = (struct xl__plan){.n_steps = 0};
    struct xl__step *s = xl__plan_add(plan, source, kernel, items, wg);
    s->embedded = xl__embedded_probes;
    s->slice_dim = can_split ? 0 : -1;
    return s;
}

xl_row xl__probe_row(const char *op, const char *variant, const char *unit)
{
    xl_row row;
    xl_row_init(&row, op, variant);
    row.unit = unit;
    return row;
}

/* A kernel may be granted a smaller group than the device reports (GE-10):
 * rusticl grants 32 of 1024. The value is queried with an empty kernel. */
static xl_status query_group_size(struct xl__session *p,
                                  struct xl__cached_plan *ready)
{
    xl_status status = XL_OK;
    const xl_device *dev = p->q->ctx->device;
    const size_t device = xl__size_or(&dev->seen, XL__F_max_wg_size, 1);
    xl__probe_step(&ready->plan, "probe/launch.cl", "nothing", 1, 1, false);
    TRY(xl__cached_plan_build(p->q, ready));
    CL_TRY(&p->q->error,
           clGetKernelWorkGroupInfo(ready->kernel[0], dev->id,
                                    CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof p->most_wg, &p->most_wg, NULL));
    p->most_wg = xl__max_size(xl__min_size(p->most_wg, device), 1);
fail:
    return status;
}

xl_status xl__session_begin(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = xl__calloc(1, sizeof *ready);
    TRY(xl__check_alloc(&p->q->error, ready, "a plan"));
    TRY(xl__timer_check(p->q));
    TRY(query_group_size(p, ready));
fail:
    xl__cached_plan_destroy(ready);
    return status;
}

xl_status xl__probe_check_stop(struct xl__session *p)
{
    if (!p->how->stop || !p->how->stop(p->how->stop_arg))
        return XL_OK;
    return xl__error_set(&p->q->error, XL_CANCELLED, "stopped on request");
}

void xl__probe_emit(struct xl__session *p, xl_row *row)
{
    row->seed = p->how->seed;
    xl_row_judge(row, p->q->ctx->device);
    if (p->each)
        p->each(row, p->arg);
}

xl_sampling xl__probe_sampling(const struct xl__session *p)
{
    enum { PATIENCE = 4 };
    xl_sampling quick = {XL_SAMPLING_INIT, .warmup = 1,       .min_runs = 3,
                         .max_runs = 6,    .max_noise = 0.03, .max_s = 0.8};
    xl_sampling full = {XL_SAMPLING_INIT, .warmup = 2,       .min_runs = 10,
                        .max_runs = 60,   .max_noise = 0.01, .max_s = 1};
    xl_sampling how = p->how->quick ? quick : full;
    how.patience = p->is_hasty ? 0 : PATIENCE;
    how.warmup = p->how->warmup ? *p->how->warmup : how.warmup;
    how.min_s = p->how->min_s;
    if (p->how->runs > 0) {
        how.min_runs = how.max_runs = p->how->runs;
        how.max_s = how.patience = 0;
    }
    how.stop = p->how->stop;
    how.stop_arg = p->how->stop_arg;
    return how;
}

struct xl__session xl__session_quick(const struct xl__session *p,
                                     xl_probing *how)
{
    struct xl__session brief = *p;
    *how = *p->how;
    how->quick = true;
    brief.how = how;
    return brief;
}

/* The argument of enqueue_plan(). */
struct enqueued_plan {
    struct xl__cached_plan *ready;
    const struct xl__call *call;
};

static xl_status enqueue_plan(xl_queue *q, void *arg)
{
    const struct enqueued_plan *w = arg;
    return xl__launch(q, w->ready, w->call, NULL);
}

xl_status xl__probe_sample(struct xl__session *p, xl_row *row,
                           const struct xl__plan *plan,
                           const struct xl__call *call, double amount)
{
    xl_status status = XL_OK;
    const xl_sampling how = xl__probe_sampling(p);
    struct xl__cached_plan *ready = xl__cached_plan_create(plan);
    struct enqueued_plan work = {ready, call};
    TRY(xl__probe_check_stop(p));
    TRY(xl__check_alloc(&p->q->error, ready, "a plan"));
    TRY(xl__cached_plan_build(p->q, ready));
    TRY(xl_samples_take(p->q, &how, enqueue_plan, &work, &row->samples));
    const double s = row->samples.median_ns * 1e-9;
    row->value = amount > 0 ? amount / s : s;
    row->flop = plan->flop;
    row->bytes = plan->bytes;
    row->cold = how.cold;
fail:
    xl__cached_plan_destroy(ready);
    return status;
}

double xl__probe_peak(const xl_row *row)
{
    const xl_samples *s = &row->samples;
    const double best = xl__confirmed_best(s->ns, s->runs);
    return best > 0 ? row->value * s->median_ns / best : row->value;
}

void xl__probe_raise_fact(struct xl__limits *l, enum xl__fact_id fact,
                          double value)
{
    /* Pairs of a rate and one that is at least as high on each device: of
     * nearer memory, of shorter numbers. */
    static const struct {
        enum xl__fact_id low, high;
    } order[] = {{XL__F_copy_bytes_per_s, XL__F_llc_bytes_per_s},
                 {XL__F_l2_bytes_per_s, XL__F_l1_bytes_per_s},
                 {XL__F_peak_f64_flop_per_s, XL__F_peak_f32_flop_per_s}};
    if (!(l->measured[fact].value >= value))
        xl__limits_measure(l, fact, value);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (l->measured[order[i].high].value < l->measured[order[i].low].value)
            xl__limits_measure(l, order[i].high,
                               l->measured[order[i].low].value);
}

bool xl__row_is_better(const xl_row *a, const xl_row *b)
{
    if (a->verdict != b->verdict)
        return a->verdict < b->verdict;
    return !(b->value >= a->value);
}

static void mark_row(xl_row *row, xl_verdict verdict, const char *fmt,
                     va_list args)
{
    struct xl__str reason = {0};
    xl__str_vprintf(&reason, fmt, args);
    row->verdict = verdict;
    xl__strcpy(row->reason, sizeof row->reason, xl__str_text(&reason));
    xl__str_clear(&reason);
}

void xl__row_mark(xl_row *row, xl_verdict verdict, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    mark_row(row, verdict, fmt, args);
    va_end(args);
}

void xl__probe_reject(xl_row *row, const char *reason)
{
    xl__row_mark(row, XL_ROW_REJECTED, "%s", reason);
}

void xl__probe_set_fact(struct xl__session *p, xl_row *row,
                        enum xl__fact_id fact, bool is_exact)
{
    struct xl__limits *l = &p->q->ctx->device->seen;
    const struct xl__answer *queried = &l->queried[fact];
    const struct xl__answer *held =
        is_exact && queried->value > 0 ? queried : &l->used[fact];
    const bool stated = held->value > 0 && held->source != XL_ASSUMED &&
                        held->source != XL_MEASURED;
    const bool agrees = !stated || held->value == row->value;
    if (!agrees)
        xl__row_mark(row, XL_ROW_SUSPICIOUS, "measured %g, but %s states %g",
                     row->value,
                     held->source == XL_QUERIED ? "the driver"
                                                : "the vendor's table",
                     held->value);
    if (agrees || is_exact)
        xl__limits_measure(l, fact, row->value);
}

xl_status xl__probe_unsupported(struct xl__session *p, xl_row *row,
                                const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    mark_row(row, XL_ROW_UNSUPPORTED, fmt, args);
    va_end(args);
    xl__error_reset(&p->q->error);
    xl__probe_emit(p, row);
    return XL_OK;
}

xl_status xl__probe_failed(struct xl__session *p, xl_row *row)
{
    const char *detail = xl_error_detail(p->q);
    return xl__probe_unsupported(p, row, "%.*s", (int)strcspn(detail, "\r\n"),
                                 detail);
}

/* -- buffers -------------------------------------------------------------- */

enum {
    MIB = 1 << 20,
    LEAST = 64 << 10, /* bytes; buffer sizes are multiples of it */
    FILL_WG = 64,
    FILL_VEC = 4
};

cl_uint xl__probe_word(uint64_t seed, size_t i)
{
    /* Same hash as kernel `random` of probe/bandwidth.cl. */
    cl_uint x = (cl_uint)i + (cl_uint)seed;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static xl_status fill_random(struct xl__session *p, cl_mem mem, size_t bytes)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool cpu = xl__probe_is_scalar(l);
    struct xl__plan plan;
    const struct xl__call call = {.mem = {[1] = {.buf = mem}}};
    const size_t accesses = bytes / (FILL_VEC * sizeof(cl_uint));
    const size_t wg = cpu ? 1 : xl__min_size(FILL_WG, p->most_wg);
    const size_t count = LEAST / (FILL_VEC * sizeof(cl_uint)) / wg;
    struct xl__step *s = xl__probe_step(&plan, "probe/bandwidth.cl", "random",
                                        accesses / count, wg, true);
    plan.bytes = (double)bytes;
    plan.est_ns = xl__probe_est_ns(l, plan.bytes);
    xl__define(s, "WG", (long)wg);
    xl__define(s, "VEC", FILL_VEC);
    xl__define(s, "ONLY", 1);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, count);
    xl__arg_u32(s, (cl_uint)p->how->seed);
    return xl__plan_launch(p->q, &plan, &call, NULL);
}

static bool is_memory_failure(xl_status status)
{
    return status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
           status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY ||
           status == CL_INVALID_BUFFER_SIZE || status == XL_UNSUPPORTED;
}

xl_status xl__probe_buffer(struct xl__session *p, size_t bytes, cl_mem *out,
                           size_t *got)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t room = xl__size_or(l, XL__F_max_alloc_bytes, bytes);
    /* Programs of probes are not built for large buffers. */
    while (bytes > room || xl__buffer_is_large(p->q->ctx->device, bytes))
        bytes /= 2;
    for (bytes = bytes / LEAST * LEAST; bytes >= LEAST;
         bytes = bytes / 2 / LEAST * LEAST) {
        *out = NULL;
        *got = bytes;
        status = xl_buffer_create(p->q, bytes, out);
        if (status == XL_OK)
            status = fill_random(p, *out, bytes);
        if (status == XL_OK)
            status = xl_queue_finish(p->q); /* some drivers allocate only
                                               here */
        if (status == XL_OK || !is_memory_failure(status))
            break;
        xl__buffer_release(*out);
        *out = NULL;
    }
    if (status != XL_OK) {
        xl__buffer_release(*out);
        *out = NULL;
    }
    return status;
}

bool xl__probe_is_scalar(const struct xl__limits *l)
{
    const struct xl__answer *width = &l->used[XL__F_subgroup_width];
    return width->source == XL_KNOWN && width->value == 1;
}

/* The assumed size where the last-level cache is unknown; cache_bytes of a GPU
 * may count small caches only (NV-04). */
static double assume_llc_bytes(const struct xl__limits *l)
{
    const double guess = 32.0 * MIB;
    const double llc = xl__num(l, XL__F_llc_bytes);
    return llc > 0 ? llc : fmax(guess, xl__num_or(l, XL__F_cache_bytes, 0));
}

size_t xl__probe_far_bytes(const struct xl__limits *l, bool quick)
{
    /* Three such buffers leave room for other allocations. Word numbers are 32
     * bits wide. */
    const double most =
        fmin(xl__num_or(l, XL__F_global_mem_bytes, 1e9) / 12, 4096.0 * MIB);
    double bytes = fmax(64.0 * MIB, (quick ? 2 : 4) * assume_llc_bytes(l));
    if (xl__is(l, XL__F_is_gpu)) /* a cache that holds a fraction of it
                                    distorts the rate */
        bytes = fmax(bytes, 2048.0 * MIB);
    /* rounded up to a power of two */
    bytes = fmin(2 * bytes - 1, most);
    return xl__max_size(xl__floor_power_of_two((uint64_t)bytes), MIB);
}

double xl__probe_est_ns(const struct xl__limits *l, double bytes)
{
    /* B/s: below the rates of known devices with shared and with dedicated
     * memory. */
    static const double shared = 20e9, own = 100e9;
    const double guess = xl__is(l, XL__F_host_unified) ? shared : own;
    return bytes / xl__num_or(l, XL__F_copy_bytes_per_s, guess) * 1e9;
}

size_t xl__probe_near_bytes(const struct xl__limits *l)
{
    const double llc = xl__num(l, XL__F_llc_bytes);
    return llc >= MIB ? xl__floor_power_of_two((uint64_t)(llc / 4)) : 0;
}
