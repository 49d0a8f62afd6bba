/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of probes: a probe measures one property of a device, emits
 * rows, and sets facts.
 *
 * A new probe is a .c file in the sub-folder of its subject, a kernel in
 * cl/probe, an object of type struct xl__probe, and a line in the table of
 * probes/probe_table.c. This header declares what probes share (probe.c,
 * scaling.c) and, at the end, the analysis functions of single probes, which
 * tests call without a device. */
#ifndef XL_MEASURE_PROBE_H
#define XL_MEASURE_PROBE_H

#include <crosslane/buffer.h>
#include <crosslane/measure.h>

#include "runtime/launch.h"
#include "sampling/event_clock.h"

/* Work-groups per compute unit of a CPU: drivers assign groups to threads in
 * batches (CP-08), so a few groups per core would leave cores idle. */
enum { XL__CPU_GROUPS = 128 };

/* One run of a probe: where it runs, its options, and where rows go. */
struct xl__session {
    xl_queue *q;
    const xl_probing *how;
    void (*each)(const xl_row *row, void *arg);
    void *arg;
    size_t most_wg; /* work-items per group that a trivial kernel is granted */
    bool is_hasty;  /* brief samples: noise does not extend the sampling */
};

/* Prepares a session whose other members are set: checks the event clock,
 * unless that is done for the device, and queries most_wg. */
xl_status xl__session_begin(struct xl__session *p);

struct xl__probe {
    xl_probe_info info;
    xl_status (*run)(struct xl__session *p);
};

/* of probes/probe_table.c; the last is NULL */
extern const struct xl__probe *const xl__probes[];
extern const struct xl__probe xl__probe_diagnosis;
extern const struct xl__probe xl__probe_local, xl__probe_constant,
    xl__probe_image, xl__probe_occupancy;
extern const struct xl__probe xl__probe_cache, xl__probe_tlb;
extern const struct xl__probe xl__probe_timer, xl__probe_subgroup,
    xl__probe_bandwidth, xl__probe_coalescing, xl__probe_tile,
    xl__probe_flops, xl__probe_matrix, xl__probe_launch, xl__probe_build;
extern const struct xl__probe xl__probe_staircase, xl__probe_hiding,
    xl__probe_ladder;
extern const struct xl__probe xl__probe_transfer, xl__probe_overlap,
    xl__probe_between, xl__probe_switch, xl__probe_breakeven;

extern const struct xl__probe xl__probe_atomic, xl__probe_divergence,
    xl__probe_sync, xl__probe_special, xl__probe_dot;

/* Has the caller's stop callback asked to end the probe? */
static inline bool xl__probe_is_stopped(const struct xl__session *p)
{
    return p->how->stop && p->how->stop(p->how->stop_arg);
}
/* XL_CANCELLED if the caller has asked to stop, otherwise XL_OK. Probes call
 * it before each sample. */
xl_status xl__probe_check_stop(struct xl__session *p);
/* Checks a row by the rules of verdict.c and passes it to the caller. */
void xl__probe_emit(struct xl__session *p, xl_row *row);
/* Samples a plan until its times are steady and fills in row->samples, flop,
 * bytes and value: value = amount / median time, amount in flop or bytes; with
 * amount 0 the median in seconds. Does not emit the row. */
xl_status xl__probe_sample(struct xl__session *p, xl_row *row,
                           const struct xl__plan *plan,
                           const struct xl__call *call, double amount);
/* The rate of a sampled row in its fastest run. Noise only adds time, so this
 * is the value for peaks that other rows are compared with. */
double xl__probe_peak(const xl_row *row);
/* Sets a fact to a peak that was measured, unless a higher one is known: on a
 * busy machine a peak is measured too low, never too high. */
void xl__probe_raise_fact(struct xl__limits *l, enum xl__fact_id fact,
                          double value);
/* The sampling options of a point: of a quick or of a full run. */
xl_sampling xl__probe_sampling(const struct xl__session *p);
/* The same session with quick sampling, for curves and grids with many points.
 * `how` holds the options and must outlive the result. */
struct xl__session xl__session_quick(const struct xl__session *p,
                                     xl_probing *how);
/* Rejects a row, because a result was wrong. */
void xl__probe_reject(xl_row *row, const char *reason);
/* A launch with a given number of loop iterations, which can be sampled. */
struct xl__iteration_source {
    xl_status (*sample)(struct xl__session *p, void *arg, size_t iterations,
                        xl_row *row);
    void *arg;
};
/* Finds the iterations for which a launch lasts about target_ns, starting with
 * few, so that no launch becomes too long for a watchdog. */
xl_status xl__iterations_find(struct xl__session *p,
                              const struct xl__iteration_source *w,
                              double target_ns, size_t *iterations);
/* The same, with target_ns at least `launches` times the time of a launch of
 * one iteration, which is mostly the cost of the launch itself. */
xl_status xl__iterations_find_above(struct xl__session *p,
                                    const struct xl__iteration_source *w,
                                    double target_ns, double launches,
                                    size_t *iterations);
/* Checks that the time of a sampled row is proportional to the iterations:
 *
 *     scaling = time(n) / time(n / 2) * (n / 2) / n,   1 is right
 *
 * Added to the row as "scaling"; the rules of verdict.c reject what is far
 * below 1, since work was skipped. Nothing is added if times stay too
 * noisy. */
xl_status xl__iterations_check_scaling(struct xl__session *p,
                                       const struct xl__iteration_source *w,
                                       size_t iterations, xl_row *row);

/* A plan of one step whose last kernel argument is the number of loop
 * iterations. */
struct xl__iterated {
    struct xl__plan plan;
    struct xl__call call;
    double amount; /* of one iteration; row->value = amount * iterations
                      / s */
    size_t max_iterations; /* 0: no bound */
    size_t iterations;     /* of the last sample */
    /* Compares the result of `iterations` iterations with the expected one and
     * rejects the row if it differs. */
    xl_status (*check)(struct xl__session *p, struct xl__iterated *t,
                       xl_row *row);
    void *arg; /* of check */
};
xl_status xl__iterated_sample(struct xl__session *p, struct xl__iterated *t,
                              size_t iterations, xl_row *row);
/* Finds t->iterations for a launch of about target_ns. */
xl_status xl__iterated_calibrate(struct xl__session *p, struct xl__iterated *t,
                                 double target_ns);
/* Measures a row: finds the iterations for xl__iterated_target_ns(), samples,
 * checks the result, and checks the scaling. */
xl_status xl__iterated_measure(struct xl__session *p, struct xl__iterated *t,
                               xl_row *row);
/* The time that a launch should take: far below the limit of a watchdog
 * (GE-11); on a CPU long enough for the system to distribute the threads over
 * the cores. */
double xl__iterated_target_ns(const struct xl__session *p);

/* Sets a fact to row->value. is_exact (a number read from the device): the
 * value replaces what the driver reports. Otherwise (inferred from times) it
 * does not replace values from vendor documents or the driver. In both cases a
 * disagreement makes the row suspicious. */
void xl__probe_set_fact(struct xl__session *p, xl_row *row,
                        enum xl__fact_id fact, bool is_exact);
/* Emits a row as unsupported, with a reason; for a value that cannot be
 * measured here. Resets the error of the queue. */
void xl__probe_unsupported(struct xl__session *p, xl_row *row,
                           const char *reason);

/* Creates a buffer of random, incompressible 32-bit words of at most `bytes`;
 * the size is halved until the allocation succeeds. *got: its size, a multiple
 * of 64 KiB. */
xl_status xl__probe_buffer(struct xl__session *p, size_t bytes, cl_mem *out,
                           size_t *got);
/* Word i of such a buffer. */
cl_uint xl__probe_word(uint64_t seed, size_t i);
/* Is every work-item a thread of its own, not a SIMD lane (CP-04)? Then groups
 * have one item. */
bool xl__probe_is_scalar(const struct xl__limits *l);
/* The size of a working set well beyond the last-level cache, as large as
 * memory allows: a power of two. */
size_t xl__probe_far_bytes(const struct xl__limits *l, bool quick);
/* The expected time for moving so many bytes, by which launches that a
 * watchdog would end are split (GE-11). */
double xl__probe_est_ns(const struct xl__limits *l, double bytes);
/* The size of a working set that fits in the last-level cache, but in no
 * nearer one: a power of two; 0 if the size of that cache is unknown. */
size_t xl__probe_near_bytes(const struct xl__limits *l);

/* -- analysis functions of single probes ---------------------------------- */

/* memory/coalescing.c: the granule in bytes of a stride curve, from the time
 * of one access at strides of 1, 2, 4 ... words; NaN if there is no step. */
double xl__granule(const double *access_ns, unsigned n);

/* compute/subgroup.c: the sub-group width from the times at periods 1, 2, 4
 * ...; NaN unless times drop exactly once and stay low. */
double xl__divergence_width(const double *ns, unsigned n);

/* compute/subgroup.c: the -D option by which kernels read their lane number on
 * this device; NULL if there is no way. */
const char *xl__lane_option(const xl_device *dev);

/* compute/divergence.c: the exponent p in time = ways^p, from the times of 1,
 * 2, 4 ... ways; NaN for fewer than two points. */
double xl__divergence_power(const double *ns, unsigned n);
/* NULL, or why the exponent is not the one of lock step, or of independent
 * threads. */
const char *xl__divergence_fault(double power, bool in_lock_step);

/* compute/special_functions.c: the error of a float in units in the last place
 * of the exact value. */
double xl__ulps(float got, double expected);

/* compute/dot_product.c: c + the dot product of four bytes, modulo 2^32. */
cl_uint xl__dot4(cl_uint x, cl_uint y, cl_uint c, bool x_signed,
                 bool y_signed, bool saturated);

/* compute/register_tile.c: the vector width to use, from the one that the
 * driver reports and the rates of tiles of width 4, 8 and 16. */
unsigned xl__tile_vector(unsigned stated, const double *rate, unsigned n);

/* compute/compute_units.c: the time of a number of equal work-groups. */
struct xl__group_time {
    size_t groups;
    double ns;
};
/* The width of equal steps in a curve of times by groups, which points on both
 * sides of a step determine; NaN if there are none. */
double xl__steps_width(const struct xl__group_time *at, unsigned n);
/* The largest number of groups that takes no longer than at[0]; 0 if no number
 * that was tried takes longer. */
size_t xl__steps_edge(const struct xl__group_time *at, unsigned n);
/* The number of groups to time next in the search for that edge: doubled until
 * some take longer and `least` is reached, then bisected; 0 when the edge is
 * found or `most` is passed. */
size_t xl__steps_next_count(const struct xl__group_time *at, unsigned n,
                            size_t least, size_t most);

/* compute/latency_hiding.c: the rate with a number of operations in flight. */
struct xl__concurrency_point {
    double in_flight, rate;
};
/* The smallest number in flight that nearly reaches the best rate; NaN if the
 * rate still grows at the end of the curve. */
double xl__rate_knee(const struct xl__concurrency_point *at, unsigned n);

/* compute/fma.c: f32 multiply-adds per second: half of the known peak in
 * flop/s, or, if none is known, a measurement with one chain shape. */
xl_status xl__fma_rate(struct xl__session *p, double *per_s);

/* compute/matrix_engine.c: measures the peak of one input type. */
xl_status xl__matrix_peak(struct xl__session *p, xl_dtype in);

/* roofline.c: the fact that holds the FMA peak of a type; XL__N_FACTS if no
 * probe measures it. */
enum xl__fact_id xl__peak_fma(xl_dtype dtype);

#endif
