/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler's rules, apart from any device: how many runs make a sample,
 * when to stop, what the samples say. */
#ifndef XL_MEASURE_SAMPLER_H
#define XL_MEASURE_SAMPLER_H

#include <crosslane/measure.h>

/* Samples in which nothing is known: NaN, not 0. */
void xl__samples_init(xl_samples *s);

/* One sample, as taken: `batch` runs together. */
struct xl__timing {
    double device_ns; /* first start to last end; NaN: no event to believe */
    double host_ns;   /* enqueue to finished, by the wall clock */
    double spent_ns;  /* all it took, emptying caches and reading events too */
};

/* Where samples come from: a queue, or a test. */
struct xl__sample_source {
    xl_status (*take)(void *arg, unsigned batch, struct xl__timing *out);
    void *arg;
    double step_ns; /* of the event clock; NaN: not known */
    unsigned max_batch;
    bool wall; /* device_ns is not to be used */
    unsigned min_batch; /* 0: 1 */
};

/* The loop over n sources in turn: warm up, size the batches, sample until all
 * are steady. out: n of them. */
xl_status xl__sample(const xl_sampling *how,
                     const struct xl__sample_source *sources, unsigned n,
                     xl_samples *out);

/* The same, looking at the device between samples if it is watched. */
xl_status xl__sample_monitored(xl_device *dev, const xl_sampling *how,
                               const struct xl__sample_source *sources,
                               unsigned n, xl_samples *out);

/* Runs to put into one sample, after one run took `run_ns` by the clock in
 * use: the least unless that clock is too coarse for it. */
unsigned xl__batch_for(double run_ns, const struct xl__sample_source *source,
                       bool wall);

/* Is the true median within 10 % of the one seen?
 *     (hi - lo) / 2 <= 0.1 median,  lo and hi its 95 % interval: base/stats.c,
 *     |median of the later half - of the earlier half| / 2 <= 0.1 median;
 * of fewer than 9 samples (third quarter - first) / 2 <= 0.1 median. The
 * spread may be wider; against a single sample nothing speaks. */
bool xl__median_is_known(const xl_samples *s);

/* The same of the least, which is known once the two least are within 10 %. */
bool xl__least_is_known(const xl_samples *s);

/* Of a loop of its own, over runs that xl__sample() cannot take: is there to be
 * one more? `least` of them, and up to four times as many while their median
 * is not known. */
bool xl__samples_needed(xl_samples *s, unsigned least);

/* Medians, interval and warnings of out->ns[0 .. runs - 1]; `how` may be
 * NULL: no bounds were set. */
void xl__samples_summarise(xl_samples *out, const xl_sampling *how);

#endif
