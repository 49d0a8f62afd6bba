/* SPDX-License-Identifier: Apache-2.0 */
/* The points of an op's tunables that may run a call: legal values that plan()
 * lets through, before anything is built. */
#ifndef XL_TUNE_SPACE_H
#define XL_TUNE_SPACE_H

#include <crosslane/tune.h>

#include "ops/path/call.h"

/* One way to run the call. */
struct xl__point {
    const struct xl__variant *variant;
    struct xl__params params;
    double est_ns;
    uint64_t hash;   /* of the plan: what is one to the device is one point */
    bool is_choice;  /* the model's choice for its variant */
    bool is_known;   /* tuned before: worth a try early */
    bool is_tried;
    xl_candidate_result result; /* once tried */
};

struct xl__space {
    const struct xl__limits *limits;
    const void *canonical;
    const struct xl__variant *const *list;
    const char *forced;       /* NULL: all variants */
    struct xl__point *points; /* the best estimates first; later ones behind */
    size_t n, cap;
    double n_total;           /* points of the tunables, legal together or not */
};

/* The points to begin with. A variant's tunables are gone through whole where
 * they are few, else drawn at random (with a fixed seed); points whose estimate
 * is far above their variant's best are left out, the model's choices never. */
xl_status xl__space_init(struct xl__space *s, const xl_device *dev,
                         const struct xl__op_call *call);
void xl__space_clear(struct xl__space *s);
/* Add a point that is known to be worth it; -1 in *at: plan() refuses it. */
xl_status xl__space_add(struct xl__space *s, const struct xl__variant *v,
                        const struct xl__params *params, long *at);
/* Add the points one step of one tunable away from point `of`. */
xl_status xl__space_add_near(struct xl__space *s, size_t of);
/* Is b one step of one tunable away from a? */
bool xl__space_is_near(const struct xl__point *a, const struct xl__point *b);
/* The plan of the reference, which takes anything: what it counts tells how
 * large a call is. */
void xl__reference_plan(const struct xl__op_call *call, struct xl__plan *out);
void xl__space_name(const struct xl__point *point, xl_candidate *out);

#endif
