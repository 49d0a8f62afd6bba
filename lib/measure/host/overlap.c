/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `overlap`: whether copies run at the same time as kernels: a copy on
 * one queue beside a kernel on another, and the gain of upload, kernel and
 * download in chunks on three queues over the same on one queue. The results
 * prove that every word arrived before its kernel and left after it. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "measure/host/transfers.h"

enum {
    MIB = 1 << 20,
    WORD = 4,
    CHUNKS = 8,
    SPIN_BYTES = MIB /* enough words for every item of a large device */
};

static const size_t quick_bytes = 16 * MIB, full_bytes = 128 * MIB;

enum { UP, WORK, DOWN, N_QUEUES };

struct overlap_run {
    struct xl__session *p;
    xl_queue *q[N_QUEUES]; /* of one context; WORK is the probe's own */
    size_t bytes;
    bool is_pinned;
    struct xl__host_mem from, to;
    cl_mem in, out;           /* uploaded, computed, downloaded */
    cl_mem spin_in, spin_out; /* used by the kernel beside a copy */
    struct xl__workload whole, chunk, spin;
    size_t iterations, spin_iterations;
};

/* -- analysis ------------------------------------------------------------- */

double xl__overlap(double one_ns, double other_ns, double both_ns)
{
    return (one_ns + other_ns - both_ns) / fmin(one_ns, other_ns);
}

const char *xl__overlap_text(double overlap)
{
    static const double mostly = 0.7, hardly = 0.2;
    if (!(overlap < mostly))
        return isnan(overlap) ? "" : "both at the same time";
    return overlap > hardly ? "partly at the same time"
                            : "one after the other: no overlap";
}

/* -- steps ---------------------------------------------------------------- */

static xl_status copy_error(struct overlap_run *b, unsigned queue,
                            xl_status status)
{
    return xl__copy_queue_error(b->p, b->q[queue], status);
}

static xl_status finish_queue(struct overlap_run *b, unsigned queue)
{
    return copy_error(b, queue, xl_queue_finish(b->q[queue]));
}

static xl_status flush_queue(struct overlap_run *b, unsigned queue)
{
    return copy_error(b, queue, xl__queue_flush(b->q[queue]));
}

static xl_status enqueue_upload(struct overlap_run *b, unsigned queue)
{
    return copy_error(
        b, queue,
        xl__upload(b->q[queue], b->in, 0, b->from.at, b->bytes, NULL));
}

static xl_status enqueue_download(struct overlap_run *b, unsigned queue)
{
    return copy_error(
        b, queue,
        xl__download(b->q[queue], b->out, 0, b->to.at, b->bytes, NULL, NULL));
}

static xl_status enqueue_spin(struct overlap_run *b)
{
    return xl__workload_launch(b->q[WORK], &b->spin, b->spin_in, b->spin_out,
                               0, b->spin_iterations, NULL);
}

static xl_status enqueue_whole(struct overlap_run *b)
{
    return xl__workload_launch(b->q[WORK], &b->whole, b->in, b->out, 0,
                               b->iterations, NULL);
}

/* Steps that run at once, each on its queue. */
enum { DO_SPIN = 1, DO_WORK = 2, DO_BRING = 4, DO_FETCH = 8 };
struct concurrent_steps {
    struct overlap_run *b;
    unsigned steps;
};

static xl_status time_steps(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    const struct concurrent_steps *steps_to_time = arg;
    struct overlap_run *b = steps_to_time->b;
    (void)p;
    const uint64_t start = xl__now_ns();
    if (steps_to_time->steps & DO_SPIN)
        TRY(enqueue_spin(b));
    if (steps_to_time->steps & DO_WORK)
        TRY(enqueue_whole(b));
    if (steps_to_time->steps &
        (DO_SPIN | DO_WORK)) /* before a copy that blocks */
        TRY(flush_queue(b, WORK));
    if (steps_to_time->steps & DO_BRING)
        TRY(enqueue_upload(b, UP));
    if (steps_to_time->steps & DO_FETCH)
        TRY(enqueue_download(b, DOWN));
    if (steps_to_time->steps & DO_BRING)
        TRY(finish_queue(b, UP));
    if (steps_to_time->steps & DO_FETCH)
        TRY(finish_queue(b, DOWN));
    if (steps_to_time->steps & (DO_SPIN | DO_WORK))
        TRY(finish_queue(b, WORK));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* All steps, one after the other, on one queue. */
static xl_status time_serial(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct overlap_run *b = arg;
    (void)p;
    const uint64_t start = xl__now_ns();
    TRY(enqueue_upload(b, WORK));
    TRY(enqueue_whole(b));
    TRY(enqueue_download(b, WORK));
    TRY(finish_queue(b, WORK));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* Enqueues chunk i: upload, kernel, download, each on its queue after the step
 * before. */
static xl_status enqueue_chunk(struct overlap_run *b, unsigned i)
{
    xl_status status = XL_OK;
    const size_t bytes = b->bytes / CHUNKS, at = i * bytes;
    cl_event here = NULL, done = NULL;
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &here,
                          .done = &done};
    TRY(copy_error(b, UP,
                   xl__upload(b->q[UP], b->in, at, (char *)b->from.at + at,
                              bytes, &here)));
    TRY(flush_queue(b, UP));
    TRY(xl__workload_launch(b->q[WORK], &b->chunk, b->in, b->out, at / WORD,
                            b->iterations, &sync));
    TRY(flush_queue(b, WORK));
    TRY(copy_error(b, DOWN,
                   xl__download(b->q[DOWN], b->out, at, (char *)b->to.at + at,
                                bytes, &done, NULL)));
    TRY(flush_queue(b, DOWN));
fail:
    xl__event_release(here);
    xl__event_release(done);
    return status;
}

static xl_status time_chunked(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct overlap_run *b = arg;
    (void)p;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < CHUNKS; i++)
        TRY(enqueue_chunk(b, i));
    for (unsigned i = N_QUEUES; i-- > 0;)
        TRY(finish_queue(b, i));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* -- duration of the kernel ----------------------------------------------- */

struct iterated_run {
    const struct xl__timed_run *run;
    size_t *iterations; /* the number of iterations it uses */
    double ns;          /* of the last run */
};

static xl_status sample_iterations(struct xl__session *p, void *arg,
                                   size_t iterations, xl_row *row)
{
    enum { TRIES = 3 }; /* the first may include compilation */
    xl_status status = XL_OK;
    struct iterated_run *t = arg;
    *t->iterations = iterations;
    t->ns = INFINITY;
    for (unsigned i = 0; i < TRIES; i++) {
        double ns;
        TRY(t->run->once(p, t->run->arg, &ns));
        t->ns = fmin(t->ns, ns);
    }
    row->samples.median_ns = t->ns;
fail:
    return status;
}

/* Finds the iterations for a kernel of about the duration of a copy. */
static xl_status find_iterations(struct overlap_run *b,
                                 const struct xl__timed_run *run,
                                 double target_ns, size_t *iterations)
{
    xl_status status = XL_OK;
    struct iterated_run t = {run, iterations, 0};
    const struct xl__iteration_source w = {sample_iterations, &t};
    TRY(xl__iterations_find(b->p, &w, target_ns, iterations));
    if (t.ns > target_ns) /* even the fewest may be too many */
        *iterations = (size_t)fmax(1, (double)*iterations * target_ns / t.ns);
fail:
    return status;
}

/* -- expected results ----------------------------------------------------- */

static bool are_words_expected(const cl_uint *words, size_t n, uint64_t seed,
                               size_t iterations)
{
    enum { N_CHECKED = 64 }; /* the ends of every chunk among them */
    for (unsigned i = 0; i < N_CHECKED; i++) {
        const size_t at = i % 2 ? (i + 1) / 2 * n / (N_CHECKED / 2) - 1
                                : i / 2 * n / (N_CHECKED / 2);
        if (words[at] !=
            xl__workload_expected(xl__probe_word(seed, at), at, iterations))
            return false;
    }
    return true;
}

/* Clears what is to be uploaded and downloaded. */
static xl_status clear_results(struct overlap_run *b)
{
    xl_status status = XL_OK;
    cl_uint *words = b->to.at;
    TRY(xl_buffer_fill(b->p->q, b->in, 0, 0, b->bytes / WORD));
    TRY(xl_buffer_fill(b->p->q, b->out, 0, 0, b->bytes / WORD));
    TRY(finish_queue(b, WORK));
    for (size_t i = 0; i < b->bytes / WORD; i++)
        words[i] = 0;
fail:
    return status;
}

/* Repeats the chunked run on cleared memory and checks it. */
static xl_status check_chunks(struct overlap_run *b, bool *right)
{
    xl_status status = XL_OK;
    double ns;
    TRY(clear_results(b));
    TRY(time_chunked(b->p, b, &ns));
    *right = are_words_expected(b->to.at, b->bytes / WORD, b->p->how->seed,
                                b->iterations);
fail:
    return status;
}

/* Repeats the run beside a copy and checks the kernel's result and the
 * copy. */
static xl_status check_beside(struct overlap_run *b,
                              const struct xl__timed_run *both, bool is_up,
                              bool *right)
{
    xl_status status = XL_OK;
    const uint64_t seed = b->p->how->seed;
    const size_t n = b->bytes / WORD;
    cl_uint word;
    double ns;
    TRY(clear_results(b));
    if (!is_up) { /* the source of the download */
        TRY(xl__upload(b->p->q, b->out, 0, b->from.at, b->bytes, NULL));
        TRY(finish_queue(b, WORK));
    }
    TRY(both->once(b->p, both->arg, &ns));
    TRY(xl_buffer_read(b->p->q, b->spin_out, 0, &word, WORD));
    *right = is_up || xl__words_match(b->to.at, n, seed);
    if (is_up)
        TRY(xl__buffer_matches(b->p, b->in, n, seed, right));
    *right = *right && word == xl__workload_expected(xl__probe_word(seed, 0),
                                                     0, b->spin_iterations);
fail:
    return status;
}

/* -- rows ----------------------------------------------------------------- */

static const char *memory_name(const struct overlap_run *b)
{
    return b->is_pinned ? "pinned" : "pageable";
}

static void emit_ratio(struct overlap_run *b, xl_row *row, const char *words,
                       bool right)
{
    row->unit = "1";
    if (!right)
        xl__probe_reject(row, "wrong result: a command ran before one that "
                              "it waits for");
    xl__transfer_note(row, words);
    xl__probe_emit(b->p, row);
}

/* Measures a copy in one direction and the kernel, separately and together. */
static xl_status measure_beside(struct overlap_run *b, bool is_up)
{
    enum { COPY, KERNEL, BOTH, N };
    const unsigned way = is_up ? DO_BRING : DO_FETCH;
    struct concurrent_steps step_sets[N] = {[COPY] = {b, way},
                                            [KERNEL] = {b, DO_SPIN},
                                            [BOTH] = {b, way | DO_SPIN}};
    struct xl__timed_run runs[N];
    for (unsigned i = 0; i < N; i++)
        runs[i] = (struct xl__timed_run){time_steps, &step_sets[i]};
    xl_status status = XL_OK;
    bool right;
    xl_row row;
    xl_samples *samples = xl__calloc(N, sizeof *samples);
    TRY(xl__check_alloc(&b->p->q->error, samples, "samples"));
    TRY(xl__sample_runs(b->p, runs, 1, samples));
    TRY(find_iterations(b, &runs[KERNEL], samples[COPY].min_ns,
                        &b->spin_iterations));
    TRY(xl__sample_runs(b->p, runs, N, samples));
    TRY(check_beside(b, &runs[BOTH], is_up, &right));
    xl__transfer_row(&row, "probe_overlap", memory_name(b),
                     is_up ? "up" : "down", b->bytes);
    row.samples = samples[BOTH];
    row.value = xl__overlap(samples[COPY].min_ns, samples[KERNEL].min_ns,
                            samples[BOTH].min_ns);
    xl_row_found(&row, "copy_ns", samples[COPY].min_ns);
    emit_ratio(b, &row, xl__overlap_text(row.value), right);
fail:
    free(samples);
    return status;
}

/* Measures upload, kernel and download: on one queue, and in chunks on
 * three. */
static xl_status measure_chunks(struct overlap_run *b)
{
    enum { BRING, KERNEL, FETCH, SERIAL, CHUNKED, N };
    struct concurrent_steps up = {b, DO_BRING}, kernel = {b, DO_WORK},
                            down = {b, DO_FETCH};
    const struct xl__timed_run runs[N] = {[BRING] = {time_steps, &up},
                                          [KERNEL] = {time_steps, &kernel},
                                          [FETCH] = {time_steps, &down},
                                          [SERIAL] = {time_serial, b},
                                          [CHUNKED] = {time_chunked, b}};
    xl_status status = XL_OK;
    bool right;
    xl_row row;
    xl_samples *samples = xl__calloc(N, sizeof *samples);
    TRY(xl__check_alloc(&b->p->q->error, samples, "samples"));
    TRY(xl__sample_runs(b->p, runs, 1, samples));
    TRY(find_iterations(b, &runs[KERNEL], samples[BRING].min_ns,
                        &b->iterations));
    TRY(xl__sample_runs(b->p, runs, N, samples));
    TRY(check_chunks(b, &right));
    xl__transfer_row(&row, "probe_overlap", memory_name(b), "chunks",
                     b->bytes);
    row.samples = samples[CHUNKED];
    row.value = samples[SERIAL].min_ns / samples[CHUNKED].min_ns;
    const double slowest = fmax(samples[KERNEL].min_ns,
                                fmax(samples[BRING].min_ns,
                                     samples[FETCH].min_ns));
    xl_row_found(&row, "bound", slowest / samples[CHUNKED].min_ns);
    emit_ratio(b, &row, "", right);
fail:
    free(samples);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status create_buffers(struct overlap_run *b)
{
    xl_status status = XL_OK;
    struct xl__session *p = b->p;
    xl_lib *lib = p->q->ctx->lib;
    const size_t wanted_bytes = p->how->quick ? quick_bytes : full_bytes;
    size_t spin_bytes, got;
    b->q[WORK] = p->q;
    for (unsigned i = 0; i < N_QUEUES; i++) {
        status = i == WORK ? XL_OK : xl_queue_create_beside(p->q, &b->q[i]);
        if (status != XL_OK)
            TRY(xl__error_set(&p->q->error, status, "%s", xl_lib_error(lib)));
    }
    TRY(xl__probe_buffer(p, xl__transfer_bytes(p, wanted_bytes), &b->in,
                         &got));
    TRY(xl__probe_buffer(p, got, &b->out, &b->bytes));
    TRY(xl__probe_buffer(p, SPIN_BYTES, &b->spin_in, &spin_bytes));
    TRY(xl__probe_buffer(p, SPIN_BYTES, &b->spin_out, &spin_bytes));
    TRY(xl__workload_create(p, p->q, spin_bytes / WORD, &b->spin));
    TRY(xl__workload_create(p, p->q, b->bytes / WORD, &b->whole));
    TRY(xl__workload_create(p, p->q, b->bytes / WORD / CHUNKS, &b->chunk));
fail:
    return status;
}

static void destroy_buffers(struct overlap_run *b)
{
    const cl_mem mems[] = {b->in, b->out, b->spin_in, b->spin_out};
    xl__workload_destroy(&b->spin);
    xl__workload_destroy(&b->whole);
    xl__workload_destroy(&b->chunk);
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++)
        xl__buffer_release(mems[i]);
    xl_queue_destroy(b->q[UP]);
    xl_queue_destroy(b->q[DOWN]);
}

static xl_status measure_memory_kind(struct overlap_run *b)
{
    xl_status status = XL_OK;
    xl_queue *q = b->p->q;
    TRY(xl__host_mem_create(q, b->is_pinned, b->bytes, &b->from));
    TRY(xl__host_mem_create(q, b->is_pinned, b->bytes, &b->to));
    xl__host_mem_random(&b->from, b->p->how->seed);
    TRY(measure_beside(b, true));
    TRY(measure_beside(b, false));
    TRY(measure_chunks(b));
fail:
    for (unsigned i = 0; i < N_QUEUES; i++)
        xl__queue_drain(b->q[i]);
    xl__host_mem_destroy(q, &b->from);
    xl__host_mem_destroy(q, &b->to);
    return status;
}

static xl_status run_overlap_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct overlap_run b = {.p = p};
    TRY(create_buffers(&b));
    for (unsigned i = 0; i < 2; i++) {
        b.is_pinned = i == 0;
        TRY(measure_memory_kind(&b));
    }
fail:
    destroy_buffers(&b);
    return status;
}

const struct xl__probe xl__probe_overlap = {
    {"overlap",
     "Copies beside computing, by the wall clock. up, down: a copy on one "
     "queue and a kernel of the same length on another; the value is the "
     "share of the shorter that is hidden, 1 all, 0 none. chunks: upload, "
     "kernel and download in 8 chunks on three queues with events between "
     "them; the value is the gain over the same on one queue, bound the "
     "slowest step's time over that of all. Fooled by copies that a driver "
     "makes with a kernel of its own, or on a core of the device, which "
     "alternate with other kernels.",
     false},
    run_overlap_probe};
