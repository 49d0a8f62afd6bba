/* SPDX-License-Identifier: Apache-2.0 */
/* What sets two sides apart before anything is compared: chip, driver,
 * version, and what else was not alike. */
#ifndef CLBENCH_COMPARE_ABOUT_H
#define CLBENCH_COMPARE_ABOUT_H

#include "base/str.h"
#include "compare/compare.h"

enum relation {
    RELATION_SAME,    /* device, driver and program */
    RELATION_PROGRAM, /* another clbench or library */
    RELATION_DRIVER,  /* another version of the driver */
    RELATION_PLATFORM, /* another driver on the same chip */
    RELATION_DEVICE   /* another chip */
};

/* Of every device of two sides, what differs most. */
enum relation compare_relation(const struct side *a, const struct side *b);
/* Is most of b expected to run as a does? */
bool compare_is_alike(const struct side *a, const struct side *b);
/* "s1.json and 2 more: NVIDIA H200, NVIDIA CUDA 580.159, clbench 0.1.0,
 * 2026-11-22T07:08:15Z" */
void compare_say_side(const struct side *side, struct xl__str *out);
/* A sentence. */
void compare_say_relation(const struct comparison *c, struct xl__str *out);
/* What the noise is and where from: a sentence. */
void compare_say_noise(const struct comparison *c, struct xl__str *out);
/* Further things that may explain a difference, a sentence each, a blank
 * between; nothing when there is none. */
void compare_say_conditions(const struct comparison *c, struct xl__str *out);
/* "9 rows compared: 3 SLOWER, 1 FASTER, ..." */
void compare_say_calls(const struct comparison *c, struct xl__str *out);

#endif
