/* SPDX-License-Identifier: Apache-2.0 */
/* The legal points of the tunables of an op. Points are removed where plan()
 * refuses them, which takes microseconds, or where its estimate is far above
 * the least one; a measurement of a point takes seconds. */
#include "tune/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "ops/path/tunables.h"

enum {
    FEW = 1 << 16,   /* points that are all planned */
    DRAWS = 1 << 16, /* of more than that */
    SEED = 42
};
static const double far_off = 3; /* times the variant's best estimate */

/* -- points --------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    const uint64_t parts[2] = {hash, xl__hash64(bytes, len)};
    return xl__hash64(parts, sizeof parts);
}

/* Of everything that a launch depends on. */
static uint64_t hash_plan(const struct xl__plan *p)
{
    uint64_t hash = p->scratch_bytes;
    for (unsigned i = 0; i < p->n_steps; i++) {
        const struct xl__step *s = &p->step[i];
        hash = mix(hash, s->kernel, strlen(s->kernel));
        hash = mix(hash, s->options, strlen(s->options));
        hash = mix(hash, s->global, s->dims * sizeof *s->global);
        hash = mix(hash, s->local, s->dims * sizeof *s->local);
        hash = mix(hash, s->args, s->n_args * sizeof *s->args);
        if (s->external)
            hash = mix(hash, s->external_desc, sizeof s->external_desc);
    }
    return hash;
}

/* False where plan() refuses the point. `plan` is scratch memory. */
static bool plan_point(const struct xl__space *s, struct xl__point *point,
                       struct xl__plan *plan)
{
    memset(plan, 0, sizeof *plan);
    if (point->variant->plan(s->limits, s->canonical, &point->params, plan) !=
        XL_OK)
        return false;
    point->est_ns = plan->est_ns;
    point->hash = hash_plan(plan);
    return true;
}

static xl_status append_point(struct xl__space *s,
                              const struct xl__point *point)
{
    if (!xl__grow(&s->points, &s->cap, s->n + 1, sizeof *s->points))
        return XL_NO_MEMORY;
    s->points[s->n++] = *point;
    return XL_OK;
}

/* -- the first points ----------------------------------------------------- */

static unsigned count_legal(const struct xl__tunable *t)
{
    unsigned n = 0;
    while (t->legal[n])
        n++;
    return n;
}

static double count_points(const struct xl__variant *v)
{
    double n = 1;
    for (unsigned i = 0; i < xl__params_count(v); i++)
        n *= count_legal(&v->tunables[i]);
    return n;
}

/* Point `index` of all, tunables being its digits. */
static void decode_point(const struct xl__variant *v, uint64_t index,
                         struct xl__params *out)
{
    for (unsigned i = 0; i < xl__params_count(v); i++) {
        const unsigned n = count_legal(&v->tunables[i]);
        out->value[i] = v->tunables[i].legal[index % n];
        index /= n;
    }
}

/* A variant without tunables has one point, its choice. */
static xl_status add_choice(struct xl__space *s, const struct xl__variant *v,
                            struct xl__plan *plan)
{
    struct xl__point point = {.variant = v, .is_choice = true};
    if (v->choose)
        v->choose(s->limits, s->canonical, &point.params);
    return plan_point(s, &point, plan) ? append_point(s, &point) : XL_OK;
}

static xl_status add_others(struct xl__space *s, const struct xl__variant *v,
                            struct xl__plan *plan)
{
    xl_status status = XL_OK;
    const double total = count_points(v);
    const bool few = total <= FEW;
    const uint64_t tries = few ? (uint64_t)total : DRAWS;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (uint64_t i = 0; xl__params_count(v) > 0 && i < tries; i++) {
        struct xl__point point = {.variant = v};
        decode_point(v, few ? i : xl__rng_below(&rng, (uint64_t)total),
                     &point.params);
        if (plan_point(s, &point, plan))
            TRY(append_point(s, &point));
    }
fail:
    return status;
}

/* Removes points from `first` on whose estimate is far above the least. */
static void prune_points(struct xl__space *s, size_t first)
{
    double least = INFINITY;
    size_t n = first;
    for (size_t i = first; i < s->n; i++)
        least = fmin(least, s->points[i].est_ns);
    for (size_t i = first; i < s->n; i++) {
        if (s->points[i].is_choice || s->points[i].est_ns <= far_off * least)
            s->points[n++] = s->points[i];
    }
    s->n = n;
}

/* Equal plans are adjacent, a choice before others. */
static int compare_hashes(const void *pa, const void *pb)
{
    const struct xl__point *a = pa, *b = pb;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (int)b->is_choice - (int)a->is_choice;
}

static int compare_estimates(const void *pa, const void *pb)
{
    const struct xl__point *a = pa, *b = pb;
    if (a->est_ns != b->est_ns)
        return a->est_ns < b->est_ns ? -1 : 1;
    return compare_hashes(pa, pb);
}

static void sort_unique(struct xl__space *s)
{
    size_t n = 0;
    qsort(s->points, s->n, sizeof *s->points, compare_hashes);
    for (size_t i = 0; i < s->n; i++) {
        if (n == 0 || s->points[n - 1].hash != s->points[i].hash)
            s->points[n++] = s->points[i];
    }
    s->n = n;
    qsort(s->points, s->n, sizeof *s->points, compare_estimates);
}

xl_status xl__space_init(struct xl__space *s, const xl_device *dev,
                         const struct xl__op_call *call)
{
    xl_status status = XL_OK;
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    memset(s, 0, sizeof *s);
    s->limits = &dev->limits;
    s->canonical = call->key->canonical;
    s->list = dev->vendor->variants[call->op->id];
    s->forced = xl__op_call_forced(call);
    s->what = (struct xl__selecting){.lib = call->q->ctx->lib,
                                     .dev = dev,
                                     .op = call->op,
                                     .canonical = s->canonical,
                                     .forced = s->forced};
    if (!plan)
        TRY(XL_NO_MEMORY);
    for (unsigned i = 0; s->list[i]; i++) {
        const struct xl__variant *v = s->list[i];
        const size_t first = s->n;
        if ((s->forced && strcmp(s->forced, v->name) != 0) ||
            xl__variant_refusal(&s->what, v))
            continue;
        s->n_total += count_points(v);
        TRY(add_choice(s, v, plan));
        TRY(add_others(s, v, plan));
        prune_points(s, first);
    }
    if (s->n > 0)
        sort_unique(s);
fail:
    free(plan);
    return status;
}

void xl__space_clear(struct xl__space *s)
{
    free(s->points);
    s->points = NULL;
    s->n = s->cap = 0;
}

/* -- points added by the search ------------------------------------------- */

static long find_point(const struct xl__space *s, uint64_t hash)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->points[i].hash == hash)
            return (long)i;
    }
    return -1;
}

xl_status xl__space_add(struct xl__space *s, const struct xl__variant *v,
                        const struct xl__params *params, long *at)
{
    xl_status status = XL_OK;
    struct xl__point point = {.variant = v, .params = *params};
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    *at = -1;
    if (!plan)
        TRY(XL_NO_MEMORY);
    if (!plan_point(s, &point, plan))
        goto fail;
    *at = find_point(s, point.hash);
    if (*at < 0) {
        TRY(append_point(s, &point));
        *at = (long)s->n - 1;
    }
fail:
    free(plan);
    return status;
}

/* Place of a value among the legal ones. */
static unsigned index_of_value(const struct xl__tunable *t, int value)
{
    unsigned at = 0;
    while (t->legal[at] && t->legal[at] != value)
        at++;
    return at;
}

xl_status xl__space_add_near(struct xl__space *s, size_t of)
{
    xl_status status = XL_OK;
    const struct xl__point from = s->points[of]; /* the array moves */
    const struct xl__tunable *t = from.variant->tunables;
    const unsigned n = xl__params_count(from.variant);
    for (unsigned i = 0; i < n; i++) {
        const unsigned at = index_of_value(&t[i], from.params.value[i]);
        struct xl__params p = from.params;
        long new_at;
        if (at > 0) {
            p.value[i] = t[i].legal[at - 1];
            TRY(xl__space_add(s, from.variant, &p, &new_at));
        }
        if (t[i].legal[at] && t[i].legal[at + 1]) {
            p.value[i] = t[i].legal[at + 1];
            TRY(xl__space_add(s, from.variant, &p, &new_at));
        }
    }
fail:
    return status;
}

bool xl__space_is_near(const struct xl__point *a, const struct xl__point *b)
{
    const struct xl__tunable *t = a->variant->tunables;
    int apart = -1; /* the one tunable that differs */
    if (a->variant != b->variant)
        return false;
    for (int i = 0; t && t[i].name; i++) {
        if (a->params.value[i] == b->params.value[i])
            continue;
        if (apart >= 0)
            return false;
        apart = i;
    }
    if (apart < 0)
        return false;
    const unsigned x = index_of_value(&t[apart], a->params.value[apart]);
    const unsigned y = index_of_value(&t[apart], b->params.value[apart]);
    return x + 1 == y || y + 1 == x;
}

void xl__reference_plan(const struct xl__op_call *call, struct xl__plan *out)
{
    const struct xl_device *dev = call->q->ctx->device;
    const struct xl__variant *const *at = dev->vendor->variants[call->op->id];
    struct xl__params params = {{0}, NULL};
    memset(out, 0, sizeof *out);
    while (at[1])
        at++;
    if ((*at)->choose)
        (*at)->choose(&dev->limits, call->key->canonical, &params);
    (*at)->plan(&dev->limits, call->key->canonical, &params, out);
}

void xl__space_name(const struct xl__point *point, xl_candidate *out)
{
    memset(out, 0, sizeof *out);
    xl__strcpy(out->variant, sizeof out->variant, point->variant->name);
    xl__params_text(point->variant, &point->params, out->tunables,
                    sizeof out->tunables);
    out->est_ns = point->est_ns;
}
