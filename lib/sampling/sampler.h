/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler: how many runs make a sample, when to stop, and what the samples
 * mean. These functions need no device. */
#ifndef XL_SAMPLING_SAMPLER_H
#define XL_SAMPLING_SAMPLER_H

#include <crosslane/sampling.h>

#include "device/private_api.h"

/* Sets all samples to unknown: NaN, not 0. */
XL__PRIVATE_API void xl__samples_init(xl_samples *s);

/* The times of one sample of `batch` runs. */
struct xl__timing {
    double device_ns; /* first start to last end; NaN: no reliable event */
    double host_ns;   /* enqueue to finished, by the wall clock */
    double spent_ns;  /* total, including flushing of caches and reading of
                         events */
};

/* A source of samples: a queue, or a test. */
struct xl__sample_source {
    xl_status (*take)(void *arg, unsigned batch, struct xl__timing *out);
    void *arg;
    double step_ns; /* of the event clock; NaN: unknown */
    unsigned max_batch;
    bool wall;          /* device_ns is not used */
    unsigned min_batch; /* 0 means 1 */
};

/* Samples n sources, interleaved: warms up, sizes the batches, and samples
 * until all are steady. out: n of them. */
xl_status xl__sample(const xl_sampling *how,
                     const struct xl__sample_source *sources, unsigned n,
                     xl_samples *out);

/* The same, with monitoring of the device between samples if that is
 * enabled. */
XL__PRIVATE_API xl_status xl__sample_monitored(
    xl_device *dev, const xl_sampling *how,
    const struct xl__sample_source *sources, unsigned n, xl_samples *out);

/* The runs per sample, if one run takes `run_ns` by the clock in use: the
 * least, unless that clock is too coarse. */
unsigned xl__batch_for(double run_ns, const struct xl__sample_source *source,
                       bool wall);

/* Is the true median within 10 % of the measured one?
 *
 *     (hi - lo) / 2 <= 0.1 median,  lo and hi its 95 % interval: base/stats.c,
 *     |median of the later half - of the earlier half| / 2 <= 0.1 median;
 *
 * with fewer than 9 samples (third quartile - first) / 2 <= 0.1 median. The
 * spread may be wider; a single sample always passes. */
XL__PRIVATE_API bool xl__median_is_known(const xl_samples *s);

/* The same for the minimum, which is known once the two least samples are
 * within 10 %. */
XL__PRIVATE_API bool xl__least_is_known(const xl_samples *s);

/* For loops that xl__sample() cannot run: is another sample needed? At least
 * `least`, and up to four times as many while their median is not known. */
XL__PRIVATE_API bool xl__samples_needed(xl_samples *s, unsigned least);

/* Computes medians, interval and warnings of out->ns[0 .. runs - 1]; `how` may
 * be NULL: no bounds are set. */
XL__PRIVATE_API void xl__samples_summarise(xl_samples *out,
                                           const xl_sampling *how);

#endif
