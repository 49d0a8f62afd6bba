/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the candidates of a device's list and sorts them: tuned sets of the
 * class of shapes first, the winner of its audition, then by estimate. op.c
 * builds and checks them in this order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "ops/path/tunables.h"
#include "runtime/context.h"

enum { MOST_MATCHES = 8 };

const struct xl__variant *const *xl__op_variants(const struct xl__op *op,
                                                 const struct xl_device *dev)
{
    return op->variants ? op->variants : dev->vendor->variants[op->id];
}

struct selection {
    const struct xl__selecting *what;
    const struct xl__variant *const *list; /* the vendor's */
    struct xl__error *error;
    struct xl__variant_candidate *c;
    unsigned n;
};

/* Whether the queue may allocate so much for calls: crosslane/queue.h. */
static bool is_scratch_allowed(const struct xl__limits *l, size_t bytes)
{
    enum { SHARE = 4 };
    return (double)bytes <=
           fmin(xl__num_or(l, XL__F_max_alloc_bytes, INFINITY),
                xl__num_or(l, XL__F_global_mem_bytes, INFINITY) / SHARE);
}

/* Plans a candidate with its params. Params that do not fit make it refused,
 * which is no error. */
static xl_status plan_params(const struct xl__limits *l, const void *canonical,
                             struct xl__variant_candidate *c,
                             struct xl__error *e)
{
    c->plan = xl__calloc(1, sizeof *c->plan);
    if (!c->plan)
        return xl__error_set(e, XL_NO_MEMORY, "a plan");
    const xl_status status =
        c->variant->plan(l, canonical, &c->params, c->plan);
    const bool is_too_large =
        status == XL_OK && !c->is_forced &&
        !is_scratch_allowed(l, c->plan->scratch_bytes);
    if (status == XL_OK && !is_too_large)
        return XL_OK;
    xl__plan_destroy(c->plan);
    c->plan = NULL;
    if (status != XL_OK && status != XL_UNSUPPORTED)
        return xl__error_set(e, status, "%s: no plan", c->variant->name);
    c->refused = is_too_large
                     ? "its scratch is more than a quarter of the device's "
                       "memory, or than one allocation"
                     : "no set of its tunables fits this device";
    return XL_UNSUPPORTED;
}

xl_status xl__variant_candidate_plan(const struct xl__limits *l,
                                     const void *canonical,
                                     struct xl__variant_candidate *c,
                                     struct xl__error *e)
{
    const struct xl__variant *v = c->variant;
    c->refused = v->refuses ? v->refuses(l, canonical) : NULL;
    if (c->refused)
        return XL_UNSUPPORTED;
    if (!c->has_least)
        return plan_params(l, canonical, c, e);
    struct xl__variant_candidate other = *c;
    other.params = c->least;
    xl_status status = plan_params(l, canonical, &other, e);
    if (status != XL_OK && status != XL_UNSUPPORTED)
        return status;
    status = plan_params(l, canonical, c, e);
    if (status == XL_OK && other.plan &&
        other.plan->est_ns < c->plan->est_ns) {
        struct xl__plan *const worse = c->plan;
        c->params = other.params;
        c->plan = other.plan;
        other.plan = worse;
    }
    xl__plan_destroy(other.plan);
    return status;
}

xl_status xl__variant_choose_other(const struct xl__limits *l,
                                   const void *canonical,
                                   const struct xl__variant *v,
                                   const struct xl__refused_tiles *tiles,
                                   struct xl__params *out)
{
    struct xl__limits *rest = xl__calloc(1, sizeof *rest);
    if (!rest)
        return XL_NO_MEMORY;
    *rest = *l; /* the texts are shared */
    rest->refused = *tiles;
    v->choose(rest, canonical, out);
    const bool is_refused =
        xl__is_refused(rest, (size_t)out->value[0], (size_t)out->value[1]);
    free(rest);
    return is_refused ? XL_UNSUPPORTED : XL_OK;
}

static xl_status plan_candidate(const struct selection *s,
                                struct xl__variant_candidate *c)
{
    const xl_status status =
        plan_params(&s->what->dev->limits, s->what->canonical, c, s->error);
    return status == XL_UNSUPPORTED ? XL_OK : status;
}

static bool is_named(const struct selection *s, const char *name)
{
    return !s->what->forced || strcmp(s->what->forced, name) == 0;
}

const char *xl__variant_refusal(const struct xl__selecting *what,
                                const struct xl__variant *v)
{
    const bool is_allowed = what->lib && what->lib->use_clblast;
    if (v->is_clblast && !is_allowed && !xl__streq(what->forced, v->name))
        return "CLBlast is used only with xl_options.use_clblast, or where a "
               "call names this variant";
    return v->refuses ? v->refuses(&what->dev->limits, what->canonical) : NULL;
}

static struct xl__variant_candidate *append_candidate(struct selection *s,
                                              const struct xl__variant *v)
{
    struct xl__variant_candidate *c = &s->c[s->n];
    c->variant = v;
    c->is_forced = s->what->forced != NULL;
    c->rank = s->n++;
    return c;
}

/* -- by the model --------------------------------------------------------- */

static xl_status add_listed(struct selection *s, const struct xl__variant *v)
{
    struct xl__variant_candidate *c = append_candidate(s, v);
    if (s->what->audition && strcmp(s->what->audition->variant, v->name) == 0)
        c->audition = s->what->audition;
    c->refused = is_named(s, v->name) ? xl__variant_refusal(s->what, v)
                                      : "the caller named another variant";
    if (c->refused || s->what->op->plan)
        return XL_OK;
    if (v->choose)
        v->choose(&s->what->dev->limits, s->what->canonical, &c->params);
    return plan_candidate(s, c);
}

/* -- what was tuned ------------------------------------------------------- */

/* In place of the variant of a set that is not in the device's list. */
static const struct xl__variant absent = {.name = "unknown"};

/* The variant itself, or the one in the list that takes its plans. */
static bool is_variant(const struct xl__variant *v, const char *name,
                       bool is_inner)
{
    if (is_inner)
        return v->inner && strcmp(v->inner->variant->name, name) == 0;
    return strcmp(v->name, name) == 0;
}

static const struct xl__variant *find_variant(const struct selection *s,
                                              const char *name, bool is_inner)
{
    const struct xl__variant *const *at = s->list;
    while (*at && !is_variant(*at, name, is_inner))
        at++;
    return *at ? *at : &absent;
}

/* Fills in params and plan; the reason of a refusal is its note. */
static xl_status fill_tuned(struct selection *s, struct xl__variant_candidate *c,
                            const struct xl__tuned_match *match)
{
    xl_status status = XL_OK;
    char why[96] = "its tunables do not fit";
    c->tuned = match->set;
    c->params.source = match->label;
    if (c->variant == &absent)
        xl__strfmt(why, sizeof why, "no variant %s here", match->set->variant);
    else if (xl__variant_refusal(s->what, c->variant))
        xl__strcpy(why, sizeof why, xl__variant_refusal(s->what, c->variant));
    else if (xl__params_parse(c->variant, match->set->tunables, &c->params,
                              why, sizeof why))
        status = plan_candidate(s, c);
    if (c->plan) {
        xl__tuned_is_stale(&s->what->lib->tuned, s->what->dev, match->set,
                           c->note, sizeof c->note);
        return XL_OK;
    }
    xl__strfmt(c->note, sizeof c->note, "not used: %s", why);
    c->refused = c->note;
    return status;
}

static size_t find_tuned(const struct xl__selecting *what,
                         const struct xl__op *op, const void *canonical,
                         struct xl__tuned_match *out)
{
    struct xl__str shape_class = {0};
    size_t n = 0;
    if (!what->lib || !op->shape_class)
        return 0;
    op->shape_class(canonical, &shape_class);
    if (!shape_class.broken)
        n = xl__tuned_sets_find(&what->lib->tuned, what->dev, op->name,
                                xl__str_text(&shape_class), out, MOST_MATCHES);
    xl__str_clear(&shape_class);
    return n;
}

/* Adds the first set of `op` that can run here, and those before it that
 * cannot. Sets *is_found where there is one. */
static xl_status add_tuned(struct selection *s, const struct xl__op *op,
                           const void *canonical, bool *is_found)
{
    xl_status status = XL_OK;
    struct xl__tuned_match matches[MOST_MATCHES];
    const bool is_inner = op != s->what->op;
    const size_t n = find_tuned(s->what, op, canonical, matches);
    for (size_t i = 0; i < n && !*is_found; i++) {
        const char *name = matches[i].set->variant;
        const struct xl__variant *v = find_variant(s, name, is_inner);
        if (is_inner ? v == &absent || !is_named(s, v->name)
                     : !is_named(s, name))
            continue;
        struct xl__variant_candidate *c = append_candidate(s, v);
        TRY(fill_tuned(s, c, &matches[i]));
        *is_found = !c->refused;
    }
fail:
    return status;
}

/* Likewise of the op whose plans variants of the list take. */
static xl_status add_inner_tuned(struct selection *s, bool *is_found)
{
    xl_status status = XL_OK;
    const struct xl__variant *const *at = s->list;
    void *mapped = NULL;
    while (*at && !(*at)->inner)
        at++;
    if (!*at)
        return XL_OK;
    const struct xl__inner *inner = (*at)->inner;
    mapped = xl__calloc(1, inner->op->canonical_bytes);
    TRY(xl__check_alloc(s->error, mapped, "a descriptor"));
    if (!inner->map(s->what->canonical, mapped))
        TRY(add_tuned(s, inner->op, mapped, is_found));
fail:
    free(mapped);
    return status;
}

/* -- the order ------------------------------------------------------------ */

static int compare_candidates(const void *a, const void *b)
{
    const struct xl__variant_candidate *x = a, *y = b;
    if (!x->refused != !y->refused)
        return x->refused ? 1 : -1;
    if (!x->tuned != !y->tuned)
        return x->tuned ? -1 : 1;
    if (!x->audition != !y->audition)
        return x->audition ? -1 : 1;
    if (x->plan && y->plan && x->plan->est_ns != y->plan->est_ns)
        return x->plan->est_ns < y->plan->est_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static void sort_candidates(struct selection *s)
{
    qsort(s->c, s->n, sizeof *s->c, compare_candidates);
    for (unsigned i = 0; i < s->n; i++) {
        if (s->c[i].tuned && s->c[i].refused)
            s->c[i].refused = s->c[i].note; /* the candidate was moved */
    }
}

/* XL_BAD_ARGUMENT where the forced name is not in the list. */
static xl_status check_name(const struct selection *s)
{
    struct xl__str names = {0};
    for (unsigned i = 0; s->list[i]; i++) {
        if (is_named(s, s->list[i]->name)) {
            xl__str_clear(&names);
            return XL_OK;
        }
        xl__str_printf(&names, "%s%s", i > 0 ? ", " : "", s->list[i]->name);
    }
    const xl_status status = xl__error_set(
        s->error, XL_BAD_ARGUMENT,
        "%s has no variant \"%s\" on this device; it has %s",
        s->what->op->name, s->what->forced, xl__str_text(&names));
    xl__str_clear(&names);
    return status;
}

xl_status xl__select(const struct xl__selecting *what,
                     struct xl__variant_candidate **out, unsigned *n,
                     struct xl__error *e)
{
    xl_status status = XL_OK;
    struct selection s = {.what = what,
                          .error = e,
                          .list = xl__op_variants(what->op, what->dev)};
    unsigned listed = 0;
    bool is_found = false;
    *out = NULL;
    *n = 0;
    TRY(check_name(&s));
    while (s.list[listed])
        listed++;
    s.c = xl__calloc(listed + 2 * MOST_MATCHES, sizeof *s.c);
    TRY(xl__check_alloc(e, s.c, "candidates"));
    for (unsigned i = 0; i < listed; i++)
        TRY(add_listed(&s, s.list[i]));
    TRY(add_tuned(&s, what->op,
                  what->tuned_for ? what->tuned_for : what->canonical,
                  &is_found));
    if (!is_found)
        TRY(add_inner_tuned(&s, &is_found));
    sort_candidates(&s);
    *out = s.c;
    *n = s.n;
    return XL_OK;
fail:
    xl__variant_candidates_free(s.c, s.n);
    return status;
}

void xl__variant_candidates_free(struct xl__variant_candidate *c, unsigned n)
{
    for (unsigned i = 0; c && i < n; i++) {
        xl__plan_destroy(c[i].plan);
        free(c[i].struck);
    }
    free(c);
}
