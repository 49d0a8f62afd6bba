/* SPDX-License-Identifier: Apache-2.0 */
/* The points of an op's tunables that can run a call: legal values that plan()
 * accepts, before any program is built. */
#ifndef XL_TUNE_SPACE_H
#define XL_TUNE_SPACE_H

#include <crosslane/tune.h>

#include "ops/path/op.h"

/* One way to run the call. */
struct xl__point {
    const struct xl__variant *variant;
    struct xl__params params;
    double est_ns;
    uint64_t hash;  /* of the plan: equal plans are one point */
    bool is_choice; /* the model's choice for its variant */
    bool is_known;  /* tuned before: measured early */
    bool is_tried;
    xl_candidate_result result; /* if is_tried */
};

struct xl__space {
    const struct xl__limits *limits;
    const void *canonical;
    const struct xl__variant *const *list;
    const char *forced;       /* NULL: all variants */
    struct xl__selecting what; /* the same as a question to select.c */
    struct xl__point *points; /* the best estimates first; later ones behind */
    size_t n, cap;
    double n_total; /* points of the tunables, legal together or not */
};

/* Makes the first points. All points of a variant where they are few, else a
 * random sample with a fixed seed, without those whose estimate is far above
 * the least one of their variant; the model's choices are always included. */
xl_status xl__space_init(struct xl__space *s, const xl_device *dev,
                         const struct xl__op_call *call);
void xl__space_clear(struct xl__space *s);
/* Adds a point; *at is its index, or -1 where plan() refuses it. */
xl_status xl__space_add(struct xl__space *s, const struct xl__variant *v,
                        const struct xl__params *params, long *at);
/* Adds the points one step of one tunable away from point `of`. */
xl_status xl__space_add_near(struct xl__space *s, size_t of);
/* Whether b is one step of one tunable away from a. */
bool xl__space_is_near(const struct xl__point *a, const struct xl__point *b);
/* The plan of the reference variant, whose flop and bytes are the size of the
 * call. */
void xl__reference_plan(const struct xl__op_call *call, struct xl__plan *out);
void xl__space_name(const struct xl__point *point, xl_candidate *out);

#endif
