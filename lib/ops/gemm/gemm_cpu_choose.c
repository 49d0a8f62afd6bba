/* SPDX-License-Identifier: Apache-2.0 */
/* Which of gemm_cpu's forms and tiles suits a call: each is sized for the
 * caches and timed by the model. */
#include <math.h>

#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/cpu.h"

/* Bytes of a panel of B: one that was packed ahead is read by all. */
static size_t panel_bytes(const struct xl__limits *l,
                          const struct xl__cpu_job *j)
{
    enum { NEAR = 1 << 16, SHARE = 4 };
    const size_t room = xl__cpu_cache(l);
    return j->form == XL__CPU_AHEAD ? xl__max_size(NEAR, room / SHARE)
                                    : xl__min_size(NEAR, room / 2);
}

/* As much of k as leaves a panel of B in the cache it is read from, and a
 * block of A in its own. */
static size_t depth(const struct xl__limits *l, const struct xl__cpu_job *j)
{
    enum { LEAST = 64 };
    size_t tk = LEAST;
    while (2 * tk <= XL__CPU_EXACT &&
           2 * tk * j->rn * j->value_bytes <= panel_bytes(l, j) &&
           2 * tk * XL__CPU_LEAST_TM * j->value_bytes <= xl__cpu_cache(l))
        tk *= 2;
    return tk;
}

/* As many rows of A as leave a block of it in the cache. */
static size_t height(const struct xl__limits *l, const struct xl__cpu_job *j,
                     size_t tk)
{
    enum { MOST = 256 };
    const size_t beside =
        j->form == XL__CPU_AHEAD ? 0 : tk * j->rn * j->value_bytes;
    size_t tm = MOST;
    if (j->in_place)
        return XL__CPU_LEAST_TM;
    while (tm > j->rm && tm * tk * j->value_bytes + beside > xl__cpu_cache(l))
        tm /= 2;
    return tm;
}

/* What a search for the best set goes by, and finds. */
struct search {
    const struct xl__limits *l;
    const void *canonical;
    struct xl__plan plan; /* its time alone is used */
    double best_ns;
    struct xl__params *best;
};

static void try_one(struct search *s, const struct xl__cpu_tile *t,
                    unsigned form, int place)
{
    enum { GROUPS = 4 };
    const xl_gemm *g = s->canonical;
    const size_t vw = xl__cpu_vector(s->l, g->a.dtype);
    struct xl__params p = {.source = "model"};
    struct xl__cpu_job j;
    p.value[XL__CPU_AT_RM] = (int)t->rm;
    p.value[XL__CPU_AT_RN] = (int)(t->vectors * vw);
    p.value[XL__CPU_AT_VW] = (int)vw;
    p.value[XL__CPU_AT_FORM] = (int)form;
    p.value[XL__CPU_AT_PLACE] = place;
    p.value[XL__CPU_AT_GROUPS] = GROUPS;
    xl__cpu_read(s->canonical, &p, &j);
    const size_t tk = depth(s->l, &j);
    p.value[XL__CPU_AT_TK] = (int)tk;
    p.value[XL__CPU_AT_TM] = (int)height(s->l, &j, tk);
    if (!xl__cpu_settle(s->l, s->canonical, &p, &j))
        return;
    s->plan.n_steps = form == XL__CPU_AHEAD ? 2 : 1;
    xl__cpu_estimate(s->l, &j, &s->plan);
    if (s->plan.est_ns < s->best_ns) {
        s->best_ns = s->plan.est_ns;
        *s->best = p;
    }
}

void xl__cpu_choose(const struct xl__limits *l, const void *canonical,
                    struct xl__params *out)
{
    struct search s = {
        .l = l, .canonical = canonical, .best_ns = INFINITY, .best = out};
    *out = (struct xl__params){.source = "model"};
    s.plan.bytes = xl__gemm_bytes(canonical);
    for (const struct xl__cpu_tile *t = xl__cpu_tiles; t->vector; t++) {
        if (t->vector != xl__cpu_vector(l, XL_F32))
            continue;
        for (unsigned f = XL__CPU_AHEAD; f <= XL__CPU_AS_IT_LIES; f++) {
            try_one(&s, t, f, XL__CPU_IN_PLACE);
            try_one(&s, t, f, XL__CPU_PACKED);
        }
    }
}
