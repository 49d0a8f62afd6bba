/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench plan`: what was asked, on which devices, and what is made of it. */
#ifndef CLBENCH_PLANNER_H
#define CLBENCH_PLANNER_H

#include <stdio.h>

#include "planner/models.h"
#include "cli/session.h"

enum { PLAN_NAME_CAP = 128 };

/* A rate of a device, and where it is from. */
struct plan_rate {
    double value; /* NaN: unknown */
    char source[64]; /* "measured, read_bytes_per_s"; "--peak" */
};

struct plan_device {
    char name[PLAN_NAME_CAP];
    char origin[PLAN_NAME_CAP]; /* "measured here", a file; "": given */
    struct plan_rate memory, bandwidth, peak, link;
    int index; /* of a device measured here; else -1 */
};

/* How numbers are stored: of a weight, of a number in the cache. */
struct plan_type {
    char name[32];           /* as it was asked for */
    double bits;             /* scales included */
    const char *const *peak; /* facts of engines that take it; NULL last */
};

struct plan {
    char model[PLAN_NAME_CAP], source[PLAN_SOURCE_CAP];
    struct plan_work work;
    struct plan_type weights, kv;
    bool is_guessed; /* the widths, from the number of weights */
    bool training;
    struct plan_device *dev;
    size_t n;
};

/* -- plan_input.c: the command line --------------------------------------- */

/* What is asked; no devices yet. False: *why says what to give. */
bool plan_input(const struct settings *set, struct plan *out,
                struct xl__str *why);
/* The rates that were given instead of a device's; NaN: not given. */
bool plan_input_rates(const struct settings *set, struct plan_device *out,
                      struct xl__str *why);
/* Was any of them given? */
bool plan_is_given(const struct settings *set);

/* -- plan_devices.c ------------------------------------------------------- */

/* Those given, those of --from, and, when neither is there or a device is
 * asked for, those of this machine, measured. An exit_code. */
int plan_devices(struct session *s, struct plan *out);
void plan_clear(struct plan *p);
struct plan_rates plan_rates(const struct plan_device *dev);

/* -- what it becomes ------------------------------------------------------ */

/* The curve has every batch up to here, tables the powers of two. */
enum { PLAN_LAST_BATCH = 128 };

/* figure.c: the member "plan" of a result document as a picture, of the device of that index alone
 * or, NULL, of all of them. False: there is nothing to draw. */
bool plan_picture(const json_t *plan, const json_t *index,
                  struct xl__str *out);

#endif
