/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench plan`: does a language model fit on a device, and how fast can it
 * be at most? The options, the devices with their rates, and their output. */
#ifndef CLBENCH_PLANNER_H
#define CLBENCH_PLANNER_H

#include <stdio.h>

#include "cli/session.h"
#include "planner/models.h"

enum { PLANNER_NAME_CAP = 128 };

/* A rate of a device and its source. */
struct planner_rate {
    double value;    /* NaN: unknown */
    char source[64]; /* "measured, read_bytes_per_s"; "--peak" */
};

struct planner_device {
    char name[PLANNER_NAME_CAP];
    char origin[PLANNER_NAME_CAP]; /* "measured here", a file; "": options */
    struct planner_rate memory, bandwidth, peak, link;
    int index; /* of a device measured here; else -1 */
};

/* The number format of weights, or of the cache. */
struct planner_type {
    char name[32];           /* as given */
    double bits;             /* scales included */
    const char *const *peak; /* facts of engines for it; NULL last */
};

struct planner {
    char model[PLANNER_NAME_CAP], source[PLANNER_SOURCE_CAP];
    struct planner_workload workload;
    struct planner_type weights, kv;
    bool is_guessed; /* widths estimated from the number of weights */
    bool training;
    struct planner_device *dev;
    size_t n;
};

/* -- input.c -------------------------------------------------------------- */

/* Reads the options of model and workload; no devices yet. False: *why has
 * the message. */
bool planner_read_options(const struct settings *set, struct planner *out,
                          struct xl__str *why);
/* Reads the rates of a device from the options; NaN: not given. */
bool planner_read_rates(const struct settings *set, struct planner_device *out,
                        struct xl__str *why);
/* True if any of them was given. */
bool planner_has_rates(const struct settings *set);

/* The facts of engines for products of f32, f16 or bf16; NULL last. */
const char *const *planner_peaks(xl_dtype dtype);

/* -- devices.c ------------------------------------------------------------ */

/* Adds the device of the options, those of --from, and, if there are neither
 * or a device is requested, those of this machine after measuring them. An
 * exit_code. */
int planner_add_devices(struct session *s, struct planner *out);
/* Measures one device of this machine with quick probes and adds it, with the
 * peak of p->weights.peak. An exit_code. */
int planner_add_device(struct session *s, struct planner *p, xl_device *dev);
void planner_clear(struct planner *p);
struct planner_rates planner_device_rates(const struct planner_device *dev);

/* -- figure.c ------------------------------------------------------------- */

/* The batches of the curve; tables have the powers of two. */
enum { PLANNER_LAST_BATCH = 128 };

/* Draws the member "plan" of a result document as SVG, for the device of that
 * index only or, NULL, for all. False: there is nothing to draw. */
bool planner_svg(const json_t *plan, const json_t *index, struct xl__str *out);

#endif
