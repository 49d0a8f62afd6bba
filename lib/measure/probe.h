/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe is. Adding one: a .c, a .cl, a line in probes.c. */
#ifndef XL_MEASURE_PROBE_H
#define XL_MEASURE_PROBE_H

#include <crosslane/buffer.h>
#include <crosslane/measure.h>

#include "runtime/launch.h"
#include "sampling/event_clock.h"

/* Work-groups a CPU's compute unit gets: drivers hand them out by the dozen
 * (CP-08), so a few a core would leave cores without work. */
enum { XL__CPU_GROUPS = 128 };

struct xl__session {
    xl_queue *q;
    const xl_probing *how;
    void (*each)(const xl_row *row, void *arg);
    void *arg;
    size_t most_wg; /* items a group may have here, by a trivial kernel */
    bool is_hasty; /* times that are only looked at: noise costs no patience */
};

/* Get ready: test the clock, ask for most_wg. The rest of `p` is set. */
xl_status xl__session_begin(struct xl__session *p);

struct xl__probe {
    xl_probe_info info;
    xl_status (*run)(struct xl__session *p);
};

extern const struct xl__probe *const xl__probes[]; /* probes/probe_table.c;
                                                    ends with NULL */
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

/* Has the user asked to stop? */
static inline bool xl__probe_is_stopped(const struct xl__session *p)
{
    return p->how->stop && p->how->stop(p->how->stop_arg);
}
/* XL_CANCELLED when the user has asked to stop. */
xl_status xl__probe_check_stop(struct xl__session *p);
/* Judge a row and hand it out. */
void xl__probe_emit(struct xl__session *p, xl_row *row);
/* Sample a plan until steady; row->value = amount / median, amount in flop or
 * bytes; amount 0: the median in seconds. */
xl_status xl__probe_sample(struct xl__session *p, xl_row *row,
                           const struct xl__plan *plan,
                           const struct xl__call *call, double amount);
/* A sampled row's rate in its fastest run: what others are held against is
 * the most that was seen, not what noise left of it. */
double xl__probe_peak(const xl_row *row);
/* A peak that was found: on a busy machine it comes out too low, never too
 * high, so the highest stays. */
void xl__probe_raise_fact(struct xl__limits *l, enum xl__fact_id fact,
                          double value);
/* How long a probe samples a point: quick or full. */
xl_sampling xl__probe_sampling(const struct xl__session *p);
/* The same run, sampled the quick way whichever was asked for; `how` is kept
 * by the caller: of curves and grids, whose points are many. */
struct xl__session xl__session_quick(const struct xl__session *p,
                                     xl_probing *how);
/* A result was wrong: the row is rejected. */
void xl__probe_reject(xl_row *row, const char *reason);
/* Work in turns: a sample of a launch of so many. */
struct xl__iteration_source {
    xl_status (*sample)(struct xl__session *p, void *arg, size_t iterations,
                        xl_row *row);
    void *arg;
};
/* Turns that make a launch last as long as wanted, and no longer than is safe
 * on a device nobody knows. */
xl_status xl__iterations_find(struct xl__session *p,
                              const struct xl__iteration_source *w,
                              double target_ns, size_t *iterations);
/* Likewise, and that make it last so many times as long as a single turn does,
 * which is a launch's own time where that is long. */
xl_status xl__iterations_find_above(struct xl__session *p,
                                    const struct xl__iteration_source *w,
                                    double target_ns, double launches,
                                    size_t *iterations);
/* Half the turns of a sampled row: the time must follow. How much it does is
 * added to the row as "scaling". */
xl_status xl__iterations_check_scaling(struct xl__session *p,
                                       const struct xl__iteration_source *w,
                                       size_t iterations, xl_row *row);

/* A plan of one step whose kernel's last argument is its number of turns. */
struct xl__iterated {
    struct xl__plan plan;
    struct xl__call call;
    double amount;     /* of one turn: what row->value counts a second */
    size_t max_iterations; /* 0: no bound */
    size_t iterations;     /* of the last sample */
    /* Is what `turns` turns leave behind right? Rejects the row if not. */
    xl_status (*check)(struct xl__session *p, struct xl__iterated *t,
                       xl_row *row);
    void *arg; /* of look */
};
xl_status xl__iterated_sample(struct xl__session *p, struct xl__iterated *t,
                              size_t iterations, xl_row *row);
/* The number of turns that last as long as wanted, in t->turns. */
xl_status xl__iterated_calibrate(struct xl__session *p, struct xl__iterated *t,
                                 double target_ns);
/* A row: turns found that last xl__iterated_target_ns(), sampled, looked at,
 * halved. */
xl_status xl__iterated_measure(struct xl__session *p, struct xl__iterated *t,
                               xl_row *row);
/* What a launch should last: far below a watchdog (GE-11); on a CPU so long
 * that the system spreads the threads over the cores. */
double xl__iterated_target_ns(const struct xl__session *p);

/* row->value as a fact. Sure (a number read off the device): it is the
 * measured one, and a driver that says otherwise makes the row suspicious.
 * Not sure (concluded from times): it does not replace what the vendor's
 * documents or the driver say; a disagreement makes the row suspicious. */
void xl__probe_set_fact(struct xl__session *p, xl_row *row,
                        enum xl__fact_id fact, bool sure);
/* One value that other reasons than a failure keep from being measured: the
 * row is unsupported. The queue's error, if any, is taken as the reason, and
 * forgotten. */
void xl__probe_unsupported(struct xl__session *p, xl_row *row,
                           const char *reason);

/* A buffer of random, incompressible words, at most `bytes`, halved until the
 * device can hold it; *got its size, a multiple of 64 KiB. */
xl_status xl__probe_buffer(struct xl__session *p, size_t bytes, cl_mem *out,
                           size_t *got);
/* Word i of such a buffer. */
cl_uint xl__probe_word(uint64_t seed, size_t i);
/* Is it known that items do not run side by side (CP-04)? Then one item a
 * group is the way to launch. */
bool xl__probe_is_scalar(const struct xl__limits *l);
/* A working set well beyond the last-level cache, as big as is sensible: a
 * power of two. */
size_t xl__probe_far_bytes(const struct xl__limits *l, bool quick);
/* How long so many bytes may take, so that a launch that a watchdog would end
 * is cut (GE-11). */
double xl__probe_est_ns(const struct xl__limits *l, double bytes);
/* A working set inside the last-level cache, but beyond those before it; 0:
 * its size is not known. A power of two. */
size_t xl__probe_near_bytes(const struct xl__limits *l);

/* probe_coalescing.c: the granule in bytes of a stride curve, from the time of
 * one access at strides of 1, 2, 4 ... words; NaN when there is no step. */
double xl__granule(const double *access_ns, unsigned n);

/* probe_subgroup.c: the width from the times at periods 1, 2, 4 ...; NaN when
 * they do not fall once and stay. */
double xl__divergence_width(const double *ns, unsigned n);

/* probe_subgroup.c: the -D by which this device's kernels learn their lane;
 * NULL: they do not. */
const char *xl__lane_option(const xl_device *dev);

/* probe_divergence.c: the power of the number of ways that the time grows
 * with, from the times of 1, 2, 4 ... ways; NaN of fewer than two. */
double xl__divergence_power(const double *ns, unsigned n);
/* NULL, or why the power is not what items in lock step, or threads, give. */
const char *xl__divergence_fault(double power, bool in_lock_step);

/* probe_special.c: how far a float is from the true value, in units of that
 * value's last place. */
double xl__ulps(float got, double expected);

/* probe_dot.c: c + the dot product of four bytes, modulo 2^32. */
cl_uint xl__dot4(cl_uint x, cl_uint y, cl_uint c, bool x_signed,
                 bool y_signed, bool saturated);

/* probe_tile.c: the width of vectors to go by, from the one a driver states
 * and the rates of tiles of 4, 8 and 16. */
unsigned xl__tile_vector(unsigned stated, const double *rate, unsigned n);

/* stairs.c: so many equal groups took so long. */
struct xl__group_time {
    size_t groups;
    double ns;
};
/* The width of even steps, which the points on both sides of one pin down;
 * NaN: there are none. */
double xl__steps_width(const struct xl__group_time *at, unsigned n);
/* The most groups that take no longer than at[0]; 0: no more were tried. */
size_t xl__steps_edge(const struct xl__group_time *at, unsigned n);
/* Which count to time next to find it: twice as many until some take longer
 * and `least` is reached, then halfway; 0: done, or `most` is passed. */
size_t xl__steps_next_count(const struct xl__group_time *at, unsigned n,
                            size_t least, size_t most);

/* probe_hiding.c: the rate with so much under way at once. */
struct xl__concurrency_point {
    double in_flight, rate;
};
/* The least that is under way at nearly the best rate; NaN: the rate still
 * grows at the end. */
double xl__rate_knee(const struct xl__concurrency_point *at, unsigned n);

/* probe_flops.c: f32 FMAs a second: half of the peak in use or, where none is
 * known yet, what one chain reaches. */
xl_status xl__fma_rate(struct xl__session *p, double *per_s);

/* probe_matrix.c: the peak of one type alone. */
xl_status xl__matrix_peak(struct xl__session *p, xl_dtype in);

/* roofline.c: the fact that holds the FMA peak of a type; XL__N_FACTS: no
 * probe measures it. */
enum xl__fact_id xl__peak_fma(xl_dtype dtype);

#endif
