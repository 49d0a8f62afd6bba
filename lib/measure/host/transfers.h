/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes of transfers share: runs timed by the wall clock, host
 * memory of both kinds, and what is concluded from their times. */
#ifndef XL_MEASURE_TRANSFER_H
#define XL_MEASURE_TRANSFER_H

#include "measure/probe.h"

/* -- runs ------------------------------------------------------------------ */

/* One run of something that waits for its end. It says itself what of its
 * time counts: what gets it ready does not. */
struct xl__run {
    xl_status (*once)(struct xl__probing *p, void *arg, double *ns);
    void *arg;
};

/* Sample n of them in turns, so that whatever else the machine does meets all
 * alike. By the wall clock: maps have no event times worth the name, and a
 * program waits by it. out: n of them. */
xl_status xl__sample_runs(struct xl__probing *p, const struct xl__run *runs,
                          unsigned n, xl_samples *out);

/* -- host memory ----------------------------------------------------------- */

struct xl__host_mem {
    void *at;
    size_t bytes;
    cl_mem mem; /* whose mapping `at` is; NULL: from the heap, pageable */
};

/* Pinned: memory of the driver's own, mapped once and kept so (GE-30). */
xl_status xl__host_mem_create(xl_queue *q, bool pinned, size_t bytes,
                              struct xl__host_mem *out);
/* An empty one is allowed; blocks until the mapping is given back. */
void xl__host_mem_destroy(xl_queue *q, struct xl__host_mem *h);

/* Words as those of xl__probe_buffer(). */
void xl__host_mem_random(struct xl__host_mem *h, uint64_t seed);

/* Are a few words of n, its ends among them, those of xl__probe_word()? */
bool xl__words_right(const cl_uint *words, size_t n, uint64_t seed);
/* The same of a buffer's first n words. */
xl_status xl__buffer_right(struct xl__probing *p, cl_mem mem, size_t n,
                           uint64_t seed, bool *right);

/* At most `most` bytes, so few that several such fit the device beside
 * others'. */
size_t xl__transfer_bytes(const struct xl__probing *p, size_t most);

/* Enqueue, do not wait. Events may be NULL. */
xl_status xl__upload(xl_queue *q, cl_mem dst, size_t at, const void *src,
                     size_t bytes, cl_event *done);
xl_status xl__download(xl_queue *q, cl_mem src, size_t at, void *dst,
                       size_t bytes, const cl_event *after, cl_event *done);
/* Start what is enqueued. */
xl_status xl__flush(xl_queue *q);
/* Wait for all of it on the way out, before host memory goes: tells nothing,
 * and leaves the queue's story as it is (GE-29). */
void xl__settle(xl_queue *q);

/* A queue's failure as the probe's own: another queue's story is told. */
xl_status xl__told(struct xl__probing *p, xl_queue *q, xl_status status);

/* -- work ------------------------------------------------------------------ */

/* out[i] = in[i] after `turns` of x = x * x + 2 i + 1, for `words` words. */
struct xl__work {
    size_t words, wg, count;
    struct xl__cached_plan *ready;
};

/* How many words a launch works on: at least so many, rounded up to what its
 * groups take; buffers must hold as many. */
xl_status xl__work_create(struct xl__probing *p, xl_queue *q, size_t words,
                          struct xl__work *w);
void xl__work_destroy(struct xl__work *w);
/* Enqueue it on `q`, which it was made for. */
xl_status xl__work_launch(xl_queue *q, const struct xl__work *w, cl_mem in,
                          cl_mem out, size_t first, size_t turns,
                          const xl_sync *sync);
/* What becomes of a word. */
cl_uint xl__worked(cl_uint x, size_t i, size_t turns);

/* -- rows ------------------------------------------------------------------ */

/* A row of so many bytes, called first_second, or first where that is "". */
void xl__transfer_row(xl_row *row, const char *op, const char *first,
                      const char *second, size_t bytes);
/* Its value: a rate; or, where nothing is there to be rated, the time, and
 * why. */
void xl__transfer_value(xl_row *row, double bytes, const char *why_no_rate);
/* What else to know of it, if it is ok. */
void xl__transfer_note(xl_row *row, const char *text);

/* -- maps ------------------------------------------------------------------ */

/* Rows of maps, up and down, of a buffer as any other and of those made for
 * the host; each beside a copy of as many bytes, up and down. *shares: a map
 * moves nothing, host and device have one memory. */
xl_status xl__map_rows(struct xl__probing *p, size_t bytes,
                       const struct xl__run copies[2], bool *shares);

/* -- conclusions ----------------------------------------------------------- */

/* probe_transfer.c: bytes at which a transfer reaches half of the best rate of
 * the curve, between its points; NaN when its smallest is beyond that. */
double xl__half_rate_bytes(const double *bytes, const double *ns, unsigned n);

/* transfer_map.c: does a map that takes so long move nothing, where a copy
 * takes `copy_ns`? */
bool xl__moves_nothing(double map_ns, double copy_ns);

/* probe_overlap.c: the share of the shorter of two pieces that is hidden when
 * both run at once: 1 all of it, 0 none. */
double xl__overlap(double one_ns, double other_ns, double both_ns);
/* The same in words. Static. */
const char *xl__overlap_words(double overlap);

/* probe_breakeven.c: from how many elements on the device is faster, and stays
 * so; n[0] when it always is, NaN when it never is. */
double xl__break_even(const double *n, const double *host_ns,
                      const double *device_ns, unsigned count);

#endif
