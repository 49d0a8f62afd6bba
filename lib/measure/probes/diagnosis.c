/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `diagnosis`: checks that the diagnosis names the right limiter. It
 * runs synthetic kernels, each limited by one known resource, and compares the
 * limiter that xl_diagnose() returns with the known one. Rates that the
 * diagnosis needs are measured first. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "device/cl_info.h"
#include "measure/diagnosis/synthetic_kernels.h"
#include "measure/probe.h"
#include "sampling/sampler.h"

enum { LOOKS = 64, TRIES = 3 };

/* Duration of a launch: long compared with its overhead, far below a watchdog
 * (GE-11); threads of a CPU take longer to start. */
static const double gpu_ns = 4e6, cpu_ns = 10e6;
/* Simulated throttling: so many times the work after so many runs. */
static const double slowing = 2;
enum { SLOW_AFTER = 11, SLOWING_RUNS = 15 };

/* Which probe measures a fact; the usual ones come first. */
static const struct {
    enum xl__fact_id fact;
    const char *probe;
} fact_probes[] = {
    {XL__F_copy_bytes_per_s, "bandwidth"},
    {XL__F_llc_bytes_per_s, "bandwidth"},
    {XL__F_peak_f32_flop_per_s, "flops"},
    {XL__F_launch_ns, "launch"},
    {XL__F_local_bytes_per_s, "local"},
    {XL__F_special_per_s, "special"},
    {XL__F_atomic_same_per_s, "atomic"},
    {XL__F_upload_bytes_per_s, "transfer"},
};

/* A synthetic kernel with its buffers, built. */
struct built_kernel {
    const struct xl__synthetic *kind;
    struct xl__synthetic_target on;
    struct xl__synthetic_run run;
    struct xl__cached_plan *ready;
    struct xl__call call;
    cl_mem pinned; /* source of uploads: pinned memory, mapped at `host` */
    void *host;
    cl_uint ring[XL__SYNTHETIC_RING];
    size_t iterations;
    unsigned n_runs; /* of the current sample */
};

/* -- rates ---------------------------------------------------------------- */

static const struct xl__probe *find_probe(const char *name)
{
    for (unsigned i = 0; xl__probes[i]; i++)
        if (xl__streq(xl__probes[i]->info.name, name))
            return xl__probes[i];
    return NULL;
}

/* Measures a fact unless it is known; a probe that fails leaves it unknown. */
static xl_status measure_fact(struct xl__session *p, enum xl__fact_id fact)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    xl_probing quick = *p->how;
    struct xl__session silent = *p;
    quick.quick = true;
    silent.how = &quick;
    silent.each = NULL;
    for (size_t i = 0; i < sizeof fact_probes / sizeof *fact_probes; i++) {
        const struct xl__probe *probe = find_probe(fact_probes[i].probe);
        if (fact_probes[i].fact != fact || !probe ||
            l->measured[fact].source == XL_MEASURED)
            continue;
        const xl_status status = probe->run(&silent);
        if (status == XL_CANCELLED)
            return status;
        xl__error_reset(&p->q->error);
    }
    return XL_OK;
}

/* -- a run ---------------------------------------------------------------- */

/* The iterations are the last argument of all kernels that loop. */
static void set_iterations(struct built_kernel *k, size_t iterations)
{
    struct xl__step *s = &k->ready->plan.step[0];
    if (!k->kind->is_fixed)
        s->args[s->n_args - 1].as.u = iterations;
}

static xl_status enqueue_kernel(xl_queue *q, void *arg)
{
    xl_status status = XL_OK;
    struct built_kernel *k = arg;
    const bool is_slow = k->kind->is_slowing && k->n_runs >= SLOW_AFTER;
    set_iterations(k,
                   (size_t)((double)k->iterations * (is_slow ? slowing : 1)));
    k->n_runs++;
    if (k->host)
        CL_TRY(&q->error,
               clEnqueueWriteBuffer(q->cl, k->call.mem[XL__SYNTHETIC_IN].buf,
                                    CL_FALSE, 0, k->run.upload_bytes, k->host,
                                    0, NULL, NULL));
    for (unsigned i = 0; i < k->run.launches; i++)
        TRY(xl__launch(q, k->ready, &k->call, NULL));
fail:
    return status;
}

/* By the wall clock: events of kernels do not cover transfers, and an event
 * makes a launch slower than those that the rate was measured with. */
static xl_status sample_wall(struct xl__session *p, struct built_kernel *k,
                             xl_samples *out)
{
    enum { RUNS = 9 };
    xl_status status = XL_OK;
    out->batch = 1;
    out->wall_clock = true;
    while (xl__samples_needed(out, RUNS)) {
        const uint64_t start = xl__now_ns();
        TRY(enqueue_kernel(p->q, k));
        TRY(xl_queue_finish(p->q));
        out->ns[out->runs++] = (double)(xl__now_ns() - start);
    }
    xl__samples_summarise(out, NULL);
fail:
    return status;
}

static xl_status sample_kernel(struct xl__session *p, struct built_kernel *k,
                               xl_row *row)
{
    xl_sampling how = xl__probe_sampling(p);
    k->n_runs = 0;
    if (k->run.upload_bytes > 0 || k->run.launches > 1)
        return sample_wall(p, k, &row->samples);
    if (k->kind->is_slowing) {
        how.min_runs = how.max_runs = SLOWING_RUNS;
        how.patience = 0;
        how.max_s = 0;
    }
    return xl_samples_take(p->q, &how, enqueue_kernel, k, &row->samples);
}

/* The sample function of a struct xl__iteration_source. */
static xl_status sample_iterations(struct xl__session *p, void *arg,
                                   size_t iterations, xl_row *row)
{
    struct built_kernel *k = arg;
    const xl_sampling how = xl__probe_sampling(p);
    k->iterations = iterations;
    k->n_runs = 0;
    return xl_samples_take(p->q, &how, enqueue_kernel, k, &row->samples);
}

/* -- building ------------------------------------------------------------- */

/* Queries private memory, which holds values that found no register. The
 * larger of this and the known array counts, since some drivers report 0. */
static xl_status query_private_memory(struct xl__session *p,
                                      struct built_kernel *k)
{
    xl_status status = XL_OK;
    cl_ulong bytes = 0;
    CL_TRY(&p->q->error,
           clGetKernelWorkGroupInfo(k->ready->kernel[0],
                                    p->q->ctx->device->id,
                                    CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes,
                                    &bytes, NULL));
    k->run.counts.private_bytes =
        fmax(k->run.counts.private_bytes, (double)bytes);
fail:
    return status;
}

/* Fills pinned memory with the words of xl__probe_buffer(). */
static xl_status create_upload_source(struct xl__session *p,
                                      struct built_kernel *k)
{
    xl_status status = XL_OK;
    const size_t bytes = k->run.upload_bytes;
    cl_int code;
    k->pinned = clCreateBuffer(p->q->ctx->cl,
                               CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                               bytes, NULL, &code);
    CL_TRY(&p->q->error, code);
    cl_uint *words = clEnqueueMapBuffer(p->q->cl, k->pinned, CL_TRUE,
                                        CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                        0, NULL, NULL, &code);
    CL_TRY(&p->q->error, code);
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = xl__probe_word(p->how->seed, i);
    k->host = words;
fail:
    return status;
}

static xl_status fill_inputs(struct xl__session *p, struct built_kernel *k)
{
    xl_status status = XL_OK;
    xl_mem *mem = k->call.mem;
    size_t got = 0;
    TRY(xl_buffer_create(p->q,
                         sizeof(cl_uint) * xl__max_size(k->run.out_words, 1),
                         &mem[XL__SYNTHETIC_OUT].buf));
    TRY(xl_buffer_fill(p->q, mem[XL__SYNTHETIC_OUT].buf, 0, 0,
                       xl__max_size(k->run.out_words, 1)));
    if (k->run.in_bytes > 0) {
        TRY(xl__probe_buffer(p, k->run.in_bytes, &mem[XL__SYNTHETIC_IN].buf,
                             &got));
        TRY(xl_buffer_create(p->q, k->run.in_bytes,
                             &mem[XL__SYNTHETIC_DST].buf));
    }
    if (got < k->run.in_bytes)
        TRY(xl__error_set(&p->q->error, XL_UNSUPPORTED,
                          "the device cannot allocate %zu MiB",
                          k->run.in_bytes >> 20));
    if (k->run.upload_bytes > 0)
        TRY(create_upload_source(p, k));
    if (k->run.ring > 0) {
        xl__synthetic_ring(p->how->seed, k->ring, k->run.ring);
        TRY(xl_buffer_create(p->q, k->run.ring * sizeof *k->ring,
                             &mem[XL__SYNTHETIC_IN].buf));
        TRY(xl_buffer_write(p->q, mem[XL__SYNTHETIC_IN].buf, 0, k->ring,
                            k->run.ring * sizeof *k->ring));
    }
fail:
    return status;
}

static xl_status build_kernel(struct xl__session *p, struct built_kernel *k)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    xl_status status = XL_OK;
    k->on = (struct xl__synthetic_target){
        l, p->most_wg, xl__probe_is_scalar(l), p->how->quick};
    xl__synthetic_plan(k->kind, &k->on, 1, &k->run);
    k->ready->plan = k->run.plan;
    TRY(xl__cached_plan_build(p->q, k->ready));
    TRY(fill_inputs(p, k));
fail:
    return status;
}

static void destroy_kernel(xl_queue *q, struct built_kernel *k)
{
    for (unsigned i = XL__SYNTHETIC_OUT; i <= XL__SYNTHETIC_DST; i++)
        xl__buffer_release(k->call.mem[i].buf);
    if (k->host)
        (void)clEnqueueUnmapMemObject(q->cl, k->pinned, k->host, 0, NULL,
                                      NULL);
    xl__buffer_release(k->pinned);
    xl__cached_plan_destroy(k->ready);
    free(k);
}

/* -- results -------------------------------------------------------------- */

/* Compares the result of one run on cleared memory with the expected words. */
static xl_status check_result(struct xl__session *p, struct built_kernel *k,
                              bool *right)
{
    xl_status status = XL_OK;
    const struct xl__synthetic_run *r = &k->run;
    const xl_mem *from =
        &k->call.mem[r->in_bytes > 0 ? XL__SYNTHETIC_DST : XL__SYNTHETIC_OUT];
    const size_t words =
        r->in_bytes > 0 ? r->in_bytes / sizeof(cl_uint) : r->out_words;
    cl_uint seen[LOOKS];
    const size_t n = xl__min_size(words, LOOKS);
    *right = true;
    if (!k->kind->is_right)
        return XL_OK;
    TRY(xl_buffer_fill(p->q, from->buf, 0, 0, words));
    k->n_runs = 0;
    TRY(enqueue_kernel(p->q, k));
    TRY(xl_buffer_read(p->q, from->buf, 0, seen, n * sizeof *seen));
    for (size_t i = 0; i < n; i++) {
        const struct xl__synthetic_word w = {.i = i,
                                             .items =
                                                 r->plan.step[0].global[0],
                                             .word = seen[i],
                                             .iterations = k->iterations,
                                             .ring = k->ring,
                                             .n_ring = r->ring,
                                             .seed = p->how->seed};
        *right = *right && k->kind->is_right(&w);
    }
fail:
    return status;
}

static void diagnose_samples(struct xl__session *p,
                             const struct built_kernel *k, xl_row *row)
{
    xl_counts counts = k->run.counts;
    xl_counts_set_times(&counts, &row->samples);
    row->value = counts.ns * 1e-9;
    /* The minimum: rates are those of the fastest runs as well. */
    if (!k->kind->is_slowing)
        counts.ns = row->samples.min_ns;
    xl_diagnose(p->q->ctx->device, &counts, &row->diagnosis);
    xl_row_found(row, "share", row->diagnosis.share);
    if (k->kind->is_slowing) /* intended here, so no reason for a warning */
        row->samples.warnings &=
            ~(XL_WARN(CLOCK_DRIFT) | XL_WARN(OUTLIERS) | XL_WARN(NOISY));
    if (row->diagnosis.limiter == k->kind->limiter)
        return;
    xl__row_mark(row, XL_ROW_REJECTED, "named %s: %s",
                 xl_limiter_name(row->diagnosis.limiter),
                 row->diagnosis.evidence);
}

/* Repeated when the name is wrong, since other load may have disturbed it. */
static xl_status diagnose_kernel(struct xl__session *p, struct built_kernel *k,
                                 xl_row *row)
{
    xl_status status = XL_OK;
    const xl_row unknown = *row;
    for (unsigned i = 0; i < TRIES; i++) {
        bool right = true;
        *row = unknown;
        TRY(xl__probe_check_stop(p));
        TRY(sample_kernel(p, k, row));
        TRY(check_result(p, k, &right));
        diagnose_samples(p, k, row);
        if (!right)
            xl__probe_reject(row, "wrong result: the words read back differ "
                                  "from the expected ones");
        if (row->verdict == XL_ROW_OK)
            break;
    }
fail:
    return status;
}

static xl_status run_kernel(struct xl__session *p, struct built_kernel *k,
                            xl_row *row)
{
    xl_status status = XL_OK;
    const bool cpu = xl__is(&p->q->ctx->device->seen, XL__F_is_cpu);
    const struct xl__iteration_source turning = {sample_iterations, k};
    k->iterations = 1;
    TRY(build_kernel(p, k));
    if (!k->kind->is_fixed)
        TRY(xl__iterations_find(p, &turning, cpu ? cpu_ns : gpu_ns,
                                &k->iterations));
    xl__synthetic_plan(k->kind, &k->on, k->iterations, &k->run);
    TRY(query_private_memory(p, k));
    TRY(diagnose_kernel(p, k, row));
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static const char *find_refusal(const struct xl__limits *l,
                                const struct xl__synthetic *kind, char *why,
                                size_t cap)
{
    const char *refused = kind->refuses ? kind->refuses(l) : NULL;
    if (refused)
        return refused;
    if (xl__num(l, kind->need) > 0)
        return NULL;
    xl__strfmt(why, cap, "%s is not known, and no probe could measure it",
               xl_fact_name((unsigned)kind->need, NULL));
    return why;
}

static xl_status run_kind(struct xl__session *p,
                          const struct xl__synthetic *kind)
{
    xl_status status = XL_OK;
    char why[96];
    struct built_kernel *k = NULL;
    xl_row row = xl__probe_row("probe_diagnosis", kind->name, "s");
    xl_row_param_text(&row, "planted", xl_limiter_name(kind->limiter));
    TRY(measure_fact(p, kind->need));
    const char *refused =
        find_refusal(&p->q->ctx->device->seen, kind, why, sizeof why);
    if (refused)
        return xl__probe_unsupported(p, &row, "%s", refused);
    k = xl__calloc(1, sizeof *k);
    if (k)
        k->ready = xl__calloc(1, sizeof *k->ready);
    if (!k || !k->ready)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "a synthetic kernel"));
    k->kind = kind;
    TRY(run_kernel(p, k, &row));
    xl__probe_emit(p, &row);
fail:
    if (status == XL_UNSUPPORTED || status == XL_BUILD_FAILED) {
        xl__probe_unsupported(p, &row, "%s", xl_error_detail(p->q));
        status = XL_OK;
    }
    if (k)
        destroy_kernel(p->q, k);
    return status;
}

static xl_status run_diagnosis_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; xl__synthetic[i].name; i++) {
        TRY(run_kind(p, &xl__synthetic[i]));
    }
fail:
    return status;
}

const struct xl__probe xl__probe_diagnosis = {
    {"diagnosis",
     "Runs kernels that are limited by one known resource each; the diagnosis "
     "must name that limiter, else the row is rejected. The rates that it "
     "uses are measured first, unless they are known. Fooled by other load on "
     "the machine, so a wrong name is tried again.",
     false},
    run_diagnosis_probe};
