/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes of transfers share: runs timed by the wall clock, pageable
 * and pinned host memory, a kernel of a chosen duration, and rows. */
#ifndef XL_MEASURE_TRANSFERS_H
#define XL_MEASURE_TRANSFERS_H

#include "measure/probe.h"

/* -- runs ------------------------------------------------------------------ */

/* One run of something that waits for its end. The function itself decides
 * which part of its time counts: *ns, without preparation. */
struct xl__timed_run {
    xl_status (*once)(struct xl__session *p, void *arg, double *ns);
    void *arg;
};

/* Samples n runs, interleaved, so that other load on the machine affects all
 * alike. By the wall clock: maps have no useful event times, and a program
 * waits by the wall clock. out: n of them. */
xl_status xl__sample_runs(struct xl__session *p,
                          const struct xl__timed_run *runs, unsigned n,
                          xl_samples *out);

/* -- host memory ----------------------------------------------------------- */

struct xl__host_mem {
    void *at;
    size_t bytes;
    cl_mem mem; /* the buffer mapped at `at`; NULL: `at` is heap memory,
                   pageable */
};

/* Allocates host memory. pinned: allocated by the driver, mapped once and kept
 * mapped (GE-30). */
xl_status xl__host_mem_create(xl_queue *q, bool pinned, size_t bytes,
                              struct xl__host_mem *out);
/* Releases it; an empty one is allowed. Blocks until the memory is
 * unmapped. */
void xl__host_mem_destroy(xl_queue *q, struct xl__host_mem *h);

/* Fills it with the words of xl__probe_buffer(). */
void xl__host_mem_random(struct xl__host_mem *h, uint64_t seed);

/* Are words at both ends and at random indices of n those of
 * xl__probe_word()? */
bool xl__words_match(const cl_uint *words, size_t n, uint64_t seed);
/* The same for the first n words of a buffer. */
xl_status xl__buffer_matches(struct xl__session *p, cl_mem mem, size_t n,
                             uint64_t seed, bool *right);

/* A transfer size of at most `most` bytes, such that the device can hold
 * several of them. */
size_t xl__transfer_bytes(const struct xl__session *p, size_t most);

/* Enqueue a transfer without waiting. Events may be NULL. */
xl_status xl__upload(xl_queue *q, cl_mem dst, size_t at, const void *src,
                     size_t bytes, cl_event *done);
xl_status xl__download(xl_queue *q, cl_mem src, size_t at, void *dst,
                       size_t bytes, const cl_event *after, cl_event *done);
/* Starts what is enqueued. */
xl_status xl__queue_flush(xl_queue *q);
/* Waits for all commands before host memory is freed. Reports no error, and
 * keeps the error of the queue (GE-29). */
void xl__queue_drain(xl_queue *q);

/* Copies the error of another queue to the probe's own queue. */
xl_status xl__copy_queue_error(struct xl__session *p, xl_queue *q,
                               xl_status status);

/* -- a kernel of a chosen duration
 * ------------------------------------------- */

/* A kernel that computes out[i] = in[i] after `iterations` steps of x = x * x
 * + 2 i + 1, for `words` words. The result depends on every word and step, so
 * it also proves in which order commands ran. */
struct xl__workload {
    size_t words, wg, count;
    struct xl__cached_plan *ready;
};

/* Builds it for at least `words` words, rounded up to whole groups: w->words,
 * which buffers must hold. */
xl_status xl__workload_create(struct xl__session *p, xl_queue *q, size_t words,
                              struct xl__workload *w);
void xl__workload_destroy(struct xl__workload *w);
/* Enqueues it on `q`, the queue it was built for. */
xl_status xl__workload_launch(xl_queue *q, const struct xl__workload *w,
                              cl_mem in, cl_mem out, size_t first,
                              size_t iterations, const xl_sync *sync);
/* The expected value of word i, which was x. */
cl_uint xl__workload_expected(cl_uint x, size_t i, size_t iterations);

/* -- rows ------------------------------------------------------------------ */

/* Initializes a row for so many bytes, named first_second, or first if second
 * is "". */
void xl__transfer_row(xl_row *row, const char *op, const char *first,
                      const char *second, size_t bytes);
/* Sets its value: the rate; or, if nothing is transferred, the time, with the
 * reason. */
void xl__transfer_value(xl_row *row, double bytes, const char *why_no_rate);
/* Adds a note as the reason of a row that is ok. */
void xl__transfer_note(xl_row *row, const char *text);

/* -- analysis
 * ---------------------------------------------------------------- */

/* host_transfer.c: the size at which a transfer reaches half of the best rate
 * of the curve, interpolated; NaN if even its smallest size does. */
double xl__half_rate_bytes(const double *bytes, const double *ns, unsigned n);

/* host_transfer.c: does a map with this time move no bytes, where a copy takes
 * `copy_ns`? */
bool xl__moves_nothing(double map_ns, double copy_ns);

/* overlap.c: the share of the shorter of two times that is hidden when both
 * run at once: 1 all of it, 0 none. */
double xl__overlap(double one_ns, double other_ns, double both_ns);
/* The same as text; a static string. */
const char *xl__overlap_text(double overlap);

/* break_even.c: the number of elements from which the device stays faster;
 * n[0] if it always is, NaN if it never is. */
double xl__break_even(const double *n, const double *host_ns,
                      const double *device_ns, unsigned count);

#endif
