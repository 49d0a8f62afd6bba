/* SPDX-License-Identifier: Apache-2.0 */
/* Is what limits a run named rightly? Kernels that are limited by one thing
 * each, by how they are made, run here; the name that the diagnosis gives them
 * must be the planted one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "device/cl_info.h"
#include "measure/diagnosis/synthetic_kernels.h"
#include "measure/probe.h"
#include "sampling/sampler.h"

enum { LOOKS = 64, TRIES = 3 };

/* Of a launch: long beside its own cost, far below a watchdog (GE-11); a
 * CPU's threads take longer to spread. */
static const double gpu_ns = 4e6, cpu_ns = 10e6;
/* Slower by so much, after so many of a sample's runs. */
static const double slowing = 2;
enum { SLOW_AFTER = 11, SLOWING_RUNS = 15 };

/* Which probe tells a rate; the usual ones come first. */
static const struct {
    enum xl__fact_id fact;
    const char *probe;
} teachers[] = {
    {XL__F_copy_bytes_per_s, "bandwidth"},
    {XL__F_llc_bytes_per_s, "bandwidth"},
    {XL__F_peak_f32_flop_per_s, "flops"},
    {XL__F_launch_ns, "launch"},
    {XL__F_local_bytes_per_s, "local"},
    {XL__F_special_per_s, "special"},
    {XL__F_atomic_same_per_s, "atomic"},
    {XL__F_upload_bytes_per_s, "transfer"},
};

/* One planted kernel, built. */
struct planted {
    const struct xl__planted *kind;
    struct xl__planting on;
    struct xl__planted_run run;
    struct xl__cached_plan *ready;
    struct xl__call call;
    cl_mem pinned; /* what is uploaded: memory of the driver's own, mapped */
    void *host;
    cl_uint ring[XL__PLANTED_RING];
    size_t turns;
    unsigned n_runs; /* of the current sample */
};

/* -- rates ---------------------------------------------------------------- */

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

static const struct xl__probe *probe_named(const char *name)
{
    for (unsigned i = 0; xl__probes[i]; i++)
        if (xl__streq(xl__probes[i]->info.name, name))
            return xl__probes[i];
    return NULL;
}

/* Have a rate measured, unless it is; a probe that cannot leaves it unknown.
 */
static xl_status learn(struct xl__probing *p, enum xl__fact_id fact)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    xl_probing quick = *p->how;
    struct xl__probing silent = *p;
    quick.quick = true;
    silent.how = &quick;
    silent.each = drop_row;
    for (size_t i = 0; i < sizeof teachers / sizeof *teachers; i++) {
        const struct xl__probe *probe = probe_named(teachers[i].probe);
        if (teachers[i].fact != fact || !probe ||
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

/* Turns are the last argument of all that have any. */
static void set_turns(struct planted *k, size_t turns)
{
    struct xl__step *s = &k->ready->plan.step[0];
    if (!k->kind->is_fixed)
        s->args[s->n_args - 1].as.u = turns;
}

static xl_status enqueue(xl_queue *q, void *arg)
{
    xl_status status = XL_OK;
    struct planted *k = arg;
    const bool is_slow = k->kind->is_slowing && k->n_runs >= SLOW_AFTER;
    set_turns(k, (size_t)((double)k->turns * (is_slow ? slowing : 1)));
    k->n_runs++;
    if (k->host)
        CL_TRY(&q->error,
               clEnqueueWriteBuffer(q->cl, k->call.mem[XL__PLANTED_IN].buf,
                                    CL_FALSE, 0, k->run.upload_bytes, k->host,
                                    0, NULL, NULL));
    for (unsigned i = 0; i < k->run.launches; i++)
        TRY(xl__launch(q, k->ready, &k->call, NULL));
fail:
    return status;
}

/* By the wall clock: events of kernels do not see transfers, and each event
 * makes a launch dearer than those that the rate was taken of. */
static xl_status sample_wall(struct xl__probing *p, struct planted *k,
                             xl_samples *out)
{
    enum { RUNS = 9 };
    xl_status status = XL_OK;
    out->batch = 1;
    out->wall_clock = true;
    while (xl__samples_wanted(out, RUNS)) {
        const uint64_t start = xl__now_ns();
        TRY(enqueue(p->q, k));
        TRY(xl_queue_finish(p->q));
        out->ns[out->runs++] = (double)(xl__now_ns() - start);
    }
    xl__samples_summarise(out, NULL);
fail:
    return status;
}

static xl_status sample(struct xl__probing *p, struct planted *k, xl_row *row)
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
    return xl_samples_take(p->q, &how, enqueue, k, &row->samples);
}

/* struct xl__turning */
static xl_status sample_turns(struct xl__probing *p, void *arg, size_t turns,
                              xl_row *row)
{
    struct planted *k = arg;
    const xl_sampling how = xl__probe_sampling(p);
    k->turns = turns;
    k->n_runs = 0;
    return xl_samples_take(p->q, &how, enqueue, k, &row->samples);
}

/* -- building ------------------------------------------------------------- */

/* What the driver says of private memory: values that found no register. One
 * that tells none of an array that is there does not tell. */
static xl_status ask_private(struct xl__probing *p, struct planted *k)
{
    xl_status status = XL_OK;
    cl_ulong bytes = 0;
    CL_TRY(&p->q->error,
           clGetKernelWorkGroupInfo(k->ready->kernel[0],
                                    p->q->ctx->device->id,
                                    CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes,
                                    &bytes, NULL));
    k->run.work.private_bytes =
        fmax(k->run.work.private_bytes, (double)bytes);
fail:
    return status;
}

/* Random words of the host, as those of xl__probe_buffer(). */
static xl_status pin(struct xl__probing *p, struct planted *k)
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

static xl_status fill_inputs(struct xl__probing *p, struct planted *k)
{
    xl_status status = XL_OK;
    xl_mem *mem = k->call.mem;
    size_t got = 0;
    TRY(xl_buffer_create(
        p->q, sizeof(cl_uint) * xl__max_size(k->run.out_words, 1),
        &mem[XL__PLANTED_OUT].buf));
    TRY(xl_buffer_fill(p->q, mem[XL__PLANTED_OUT].buf, 0, 0,
                       xl__max_size(k->run.out_words, 1)));
    if (k->run.in_bytes > 0) {
        TRY(xl__probe_buffer(p, k->run.in_bytes, &mem[XL__PLANTED_IN].buf,
                             &got));
        TRY(xl_buffer_create(p->q, k->run.in_bytes,
                             &mem[XL__PLANTED_DST].buf));
    }
    if (got < k->run.in_bytes)
        TRY(xl__error_set(&p->q->error, XL_UNSUPPORTED,
                          "there is no room for %zu MiB",
                          k->run.in_bytes >> 20));
    if (k->run.upload_bytes > 0)
        TRY(pin(p, k));
    if (k->run.ring > 0) {
        xl__planted_ring(p->how->seed, k->ring, k->run.ring);
        TRY(xl_buffer_create(p->q, k->run.ring * sizeof *k->ring,
                             &mem[XL__PLANTED_IN].buf));
        TRY(xl_buffer_write(p->q, mem[XL__PLANTED_IN].buf, 0, k->ring,
                            k->run.ring * sizeof *k->ring));
    }
fail:
    return status;
}

static xl_status build(struct xl__probing *p, struct planted *k)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    xl_status status = XL_OK;
    k->on = (struct xl__planting){l, p->most_wg, xl__probe_is_scalar(l),
                                  p->how->quick};
    xl__planted_make(k->kind, &k->on, 1, &k->run);
    k->ready->plan = k->run.plan;
    TRY(xl__cached_plan_build(p->q, k->ready));
    TRY(fill_inputs(p, k));
fail:
    return status;
}

static void clear(xl_queue *q, struct planted *k)
{
    for (unsigned i = XL__PLANTED_OUT; i <= XL__PLANTED_DST; i++)
        if (k->call.mem[i].buf)
            clReleaseMemObject(k->call.mem[i].buf);
    if (k->host)
        (void)clEnqueueUnmapMemObject(q->cl, k->pinned, k->host, 0, NULL,
                                      NULL);
    if (k->pinned)
        clReleaseMemObject(k->pinned);
    if (k->ready)
        xl__cached_plan_clear(k->ready);
    free(k->ready);
    free(k);
}

/* -- results -------------------------------------------------------------- */

/* After one run from a clean start, which adds up what it adds. */
static xl_status look(struct xl__probing *p, struct planted *k, bool *right)
{
    xl_status status = XL_OK;
    const struct xl__planted_run *r = &k->run;
    const xl_mem *from =
        &k->call.mem[r->in_bytes > 0 ? XL__PLANTED_DST : XL__PLANTED_OUT];
    const size_t words =
        r->in_bytes > 0 ? r->in_bytes / sizeof(cl_uint) : r->out_words;
    cl_uint seen[LOOKS];
    const size_t n = xl__min_size(words, LOOKS);
    *right = true;
    if (!k->kind->is_right)
        return XL_OK;
    TRY(xl_buffer_fill(p->q, from->buf, 0, 0, words));
    k->n_runs = 0;
    TRY(enqueue(p->q, k));
    TRY(xl_buffer_read(p->q, from->buf, 0, seen, n * sizeof *seen));
    for (size_t i = 0; i < n; i++) {
        const struct xl__planted_word w = {
            .i = i, .items = r->plan.step[0].global[0], .word = seen[i],
            .turns = k->turns, .ring = k->ring, .n_ring = r->ring,
            .seed = p->how->seed};
        *right = *right && k->kind->is_right(&w);
    }
fail:
    return status;
}

static void conclude(struct xl__probing *p, const struct planted *k,
                     xl_row *row)
{
    xl_counts work = k->run.work;
    xl_counts_set_times(&work, &row->samples);
    row->value = work.ns * 1e-9;
    /* Rates are those of the fastest runs seen; others on the machine slow
     * the rest of both. */
    if (!k->kind->is_slowing)
        work.ns = row->samples.min_ns;
    xl_diagnose(p->q->ctx->device, &work, &row->diagnosis);
    xl_row_found(row, "share", row->diagnosis.share);
    if (k->kind->is_slowing) /* planted, so no reason for doubt */
        row->samples.warnings &=
            ~(XL_WARN(CLOCK_DRIFT) | XL_WARN(OUTLIERS) | XL_WARN(NOISY));
    if (row->diagnosis.limiter == k->kind->limiter)
        return;
    row->verdict = XL_ROW_REJECTED;
    snprintf(row->reason, sizeof row->reason, "named %s: %.150s",
             xl_limiter_name(row->diagnosis.limiter),
             row->diagnosis.evidence);
}

/* Tried again when the name is wrong: others may have been on the machine. */
static xl_status name_it(struct xl__probing *p, struct planted *k, xl_row *row)
{
    xl_status status = XL_OK;
    const xl_row unknown = *row;
    for (unsigned i = 0; i < TRIES; i++) {
        bool right = true;
        *row = unknown;
        TRY(xl__probe_alive(p));
        TRY(sample(p, k, row));
        TRY(look(p, k, &right));
        conclude(p, k, row);
        if (!right)
            xl__probe_reject(row, "the words read back are not those "
                                  "expected");
        if (row->verdict == XL_ROW_OK)
            break;
    }
fail:
    return status;
}

static xl_status run_built(struct xl__probing *p, struct planted *k,
                           xl_row *row)
{
    xl_status status = XL_OK;
    const bool cpu = xl__is(&p->q->ctx->device->limits, XL__F_is_cpu);
    const struct xl__turning turning = {sample_turns, k};
    k->turns = 1;
    TRY(build(p, k));
    if (!k->kind->is_fixed)
        TRY(xl__turns_find(p, &turning, cpu ? cpu_ns : gpu_ns, &k->turns));
    xl__planted_make(k->kind, &k->on, k->turns, &k->run);
    TRY(ask_private(p, k));
    TRY(name_it(p, k, row));
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static const char *why_not(const struct xl__limits *l,
                           const struct xl__planted *kind, char *why,
                           size_t cap)
{
    const char *refused = kind->refuses ? kind->refuses(l) : NULL;
    if (refused)
        return refused;
    if (xl__num(l, kind->need) > 0)
        return NULL;
    snprintf(why, cap, "%s is not known, and no probe could measure it",
             xl__facts[kind->need].name);
    return why;
}

static xl_status run_kind(struct xl__probing *p,
                          const struct xl__planted *kind)
{
    xl_status status = XL_OK;
    char why[96];
    xl_row row;
    struct planted *k = NULL;
    xl_row_init(&row, "probe_diagnosis", kind->name);
    row.unit = "s";
    xl_row_param_text(&row, "planted", xl_limiter_name(kind->limiter));
    TRY(learn(p, kind->need));
    const char *refused =
        why_not(&p->q->ctx->device->limits, kind, why, sizeof why);
    if (refused) {
        xl__probe_unsupported(p, &row, refused);
        return XL_OK;
    }
    k = xl__calloc(1, sizeof *k);
    if (k)
        k->ready = xl__calloc(1, sizeof *k->ready);
    if (!k || !k->ready)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "a planted kernel"));
    k->kind = kind;
    TRY(run_built(p, k, &row));
    xl__probe_emit(p, &row);
fail:
    if (status == XL_UNSUPPORTED || status == XL_BUILD_FAILED) {
        xl__probe_unsupported(p, &row, xl_error_detail(p->q));
        status = XL_OK;
    }
    if (k)
        clear(p->q, k);
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; xl__planted[i].name; i++) {
        TRY(xl__probe_alive(p));
        TRY(run_kind(p, &xl__planted[i]));
    }
fail:
    return status;
}

const struct xl__probe xl__probe_diagnosis = {
    {"diagnosis",
     "Kernels that are limited by one thing each, because they are made so: "
     "the limiter that is named for each must be the planted one, else the "
     "row is rejected. The rates they are held against are measured first, "
     "where no probe has before. Fooled by whatever else uses the machine "
     "meanwhile, so a wrong name is tried again.",
     false},
    run};
