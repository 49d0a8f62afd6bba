/* SPDX-License-Identifier: Apache-2.0 */
/* The small case's data: where each operand lies, random numbers that suit
 * its type, the host's results, and the judgement. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "expr/trial.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64, SEED = 1 };

/* -- elements ------------------------------------------------------------- */

static void put(unsigned char *at, xl_dtype dtype, double x)
{
    const float f = (float)x;
    const int32_t i = (int32_t)x;
    const uint16_t half = dtype == XL_F16 ? xl__f32_to_f16(f)
                                          : xl__f32_to_bf16(f);
    if (dtype == XL_F32)
        memcpy(at, &f, sizeof f);
    else if (dtype == XL_F16 || dtype == XL_BF16)
        memcpy(at, &half, sizeof half);
    else if (dtype == XL_I32)
        memcpy(at, &i, sizeof i);
    else
        *at = (unsigned char)i;
}

static double get(const unsigned char *at, xl_dtype dtype)
{
    float f;
    int32_t i;
    uint16_t half;
    switch (dtype) {
    case XL_F32:
        memcpy(&f, at, sizeof f);
        return (double)f;
    case XL_F16:
    case XL_BF16:
        memcpy(&half, at, sizeof half);
        return (double)(dtype == XL_F16 ? xl__f16_to_f32(half)
                                        : xl__bf16_to_f32(half));
    case XL_I32:
        memcpy(&i, at, sizeof i);
        return i;
    case XL_I8:
        return *at <= INT8_MAX ? *at : *at - UINT8_MAX - 1;
    default:
        return *at;
    }
}

/* Normal numbers; all of a byte; small integers. */
static double draw(struct xl__rng *rng, xl_dtype dtype)
{
    enum { MOST = 100 };
    switch (dtype) {
    case XL_I32:
        return (double)xl__rng_below(rng, 2 * MOST + 1) - MOST;
    case XL_I8:
        return (double)xl__rng_below(rng, UINT8_MAX + 1) + INT8_MIN;
    case XL_U8:
        return (double)xl__rng_below(rng, UINT8_MAX + 1);
    case XL_BOOL:
        return (double)xl__rng_below(rng, 2);
    default:
        return xl__rng_normal(rng);
    }
}

/* -- layout --------------------------------------------------------------- */

static size_t extent(const struct xl__group *g, const struct xl__operand *o)
{
    size_t last = 0;
    for (unsigned d = 0; d < g->n_loops; d++)
        last += (g->loop[d].size - 1) * o->stride[d];
    return last + 1;
}

static unsigned slot_of(const struct xl__operand *o,
                        const struct xl__signature *sig)
{
    return o->at == XL__AT_TEMP ? (unsigned)XL__MEM_SCRATCH
                                : 1 + sig->b[o->index].same_as;
}

static bool is_same_view(const struct xl__operand *a,
                         const struct xl__operand *b)
{
    return a->at == b->at && a->dtype == b->dtype && a->offset == b->offset &&
           (a->at != XL__AT_TEMP || a->index == b->index) &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

/* The operand before k that is the same view of the same memory; k: none. */
static unsigned twin(const struct xl__small *t, const struct xl__group *from,
                     unsigned k)
{
    for (unsigned i = 0; i < k; i++) {
        if (from->operand[i].at != XL__AT_INDEX && t->slot[i] == t->slot[k] &&
            is_same_view(&from->operand[i], &from->operand[k]))
            return i;
    }
    return k;
}

/* Each view begins at an odd multiple of its alignment. */
static void lay_out(struct xl__small *t, const struct xl__group *from,
                    const struct xl__signature *sig)
{
    enum { BLOCK = 256 }; /* bytes: a multiple of every alignment */
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        struct xl__operand *o = &t->group.operand[k];
        const size_t elem = xl_dtype_bytes(o->dtype);
        if (o->at == XL__AT_INDEX)
            continue;
        t->slot[k] = slot_of(o, sig);
        const unsigned other = twin(t, from, k);
        size_t *end = &t->bytes[t->slot[k]];
        if (other < k) {
            o->offset = t->group.operand[other].offset;
            continue;
        }
        o->offset = xl__round_up(*end, BLOCK) / elem +
                    xl__max_size(1, o->align);
        *end = (o->offset + extent(&t->group, o) + GUARD_ELEMS) * elem;
    }
    for (unsigned i = 0; i < XL__MAX_MEMS; i++)
        t->kept[i] = t->bytes[i];
    if (t->group.partial_bytes > 0) {
        size_t *end = &t->bytes[XL__MEM_SCRATCH];
        t->group.partial_offset = xl__round_up(*end, BLOCK);
        *end = t->group.partial_offset + t->group.partial_bytes;
    }
    t->s.scratch_bytes = t->bytes[XL__MEM_SCRATCH];
}

/* -- data ----------------------------------------------------------------- */

static unsigned char *place(unsigned char *const *memory,
                            const struct xl__small *t, unsigned k, size_t i)
{
    const struct xl__operand *o = &t->group.operand[k];
    return memory[t->slot[k]] + (o->offset + i) * xl_dtype_bytes(o->dtype);
}

static xl_status take_memory(struct xl__small *t)
{
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->bytes[i] == 0)
            continue;
        t->before[i] = xl__calloc(t->bytes[i], 1);
        t->after[i] = xl__calloc(t->bytes[i], 1);
        if (!t->before[i] || !t->after[i])
            return XL_NO_MEMORY;
        memset(t->before[i], GUARD, t->bytes[i]);
    }
    return XL_OK;
}

/* Views that are one are filled more than once; the last time counts. */
static void fill(struct xl__small *t)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        const struct xl__operand *o = &t->group.operand[k];
        const size_t n = extent(&t->group, o);
        if (o->at == XL__AT_INDEX || o->is_written)
            continue;
        for (size_t i = 0; i < n; i++)
            put(place(t->before, t, k, i), o->dtype, draw(&rng, o->dtype));
    }
}

/* Not 0 and not 1, whole for those of i32. */
static void set_scalars(struct xl__small *t, const struct xl__signature *sig)
{
    static const double step = 0.125;
    for (unsigned i = 0; i < sig->n; i++)
        t->scalar[i] = sig->b[i].dtype == XL_I32 ? i + 2
                                                 : (i + 6) * step;
}

static xl_status read_back(struct xl__small *t)
{
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        const struct xl__operand *o = &t->group.operand[k];
        struct xl__eval_mem *m = &t->mem[k];
        if (o->at == XL__AT_INDEX)
            continue;
        m->elems = extent(&t->group, o);
        m->value = xl__calloc(m->elems, sizeof *m->value);
        m->error = xl__calloc(m->elems, sizeof *m->error);
        if (!m->value || !m->error)
            return XL_NO_MEMORY;
        for (size_t i = 0; i < m->elems && !o->is_written; i++)
            m->value[i] = get(place(t->before, t, k, i), o->dtype);
    }
    return XL_OK;
}

xl_status xl__small_init(struct xl__small *t, const struct xl__local *l,
                         const struct xl__schedule *s,
                         const struct xl__signature *sig)
{
    xl_status status = XL_OK;
    const struct xl__group *from = &l->group;
    memset(t, 0, sizeof *t);
    t->g = &l->g;
    xl__expr_shrink(from, &t->group);
    t->s.temp = xl__calloc(s->n_temps, sizeof *t->s.temp);
    if (!t->s.temp)
        TRY(XL_NO_MEMORY);
    t->s.n_temps = s->n_temps;
    for (unsigned i = 0; i < s->n_temps; i++) {
        t->s.temp[i].node = s->temp[i].node;
        t->s.temp[i].dtype = s->temp[i].dtype;
    }
    lay_out(t, from, sig);
    TRY(take_memory(t));
    fill(t);
    set_scalars(t, sig);
    TRY(read_back(t));
    TRY(xl__eval_group(t->g, &t->group, t->scalar, t->mem));
fail:
    return status;
}

void xl__small_clear(struct xl__small *t)
{
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        free(t->before[i]);
        free(t->after[i]);
    }
    for (unsigned k = 0; k < XL__EXPR_OPERANDS; k++) {
        free(t->mem[k].value);
        free(t->mem[k].error);
    }
    free(t->s.temp);
}

/* -- the judgement -------------------------------------------------------- */

static bool is_close(double got, double want, double err)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= err;
}

/* The i-th element in the order of the loops. */
static size_t place_of(const struct xl__group *g, const struct xl__operand *o,
                       size_t i)
{
    size_t at = 0;
    for (unsigned d = g->n_loops; d-- > 0;) {
        at += i % g->loop[d].size * o->stride[d];
        i /= g->loop[d].size;
    }
    return at;
}

static size_t n_turns(const struct xl__group *g)
{
    size_t n = 1;
    for (unsigned d = 0; d < g->n_loops; d++)
        n *= g->loop[d].size;
    return n;
}

/* Every element that is written; what was right goes into `before`, so that
 * afterwards both must be the same. */
static bool judge_operand(struct xl__small *t, unsigned k, size_t *n_sure,
                          char *why)
{
    const struct xl__operand *o = &t->group.operand[k];
    const size_t n = n_turns(&t->group);
    for (size_t i = 0; i < n; i++) {
        const size_t at = place_of(&t->group, o, i);
        const double want = t->mem[k].value[at], err = t->mem[k].error[at];
        const double got = get(place(t->after, t, k, at), o->dtype);
        memcpy(place(t->before, t, k, at), place(t->after, t, k, at),
               xl_dtype_bytes(o->dtype));
        if (isinf(err))
            continue;
        ++*n_sure;
        if (is_close(got, want, err))
            continue;
        snprintf(why, XL__EXPR_WHY,
                 "in a small case element %zu of result %u is %.9g, not %.9g "
                 "+- %.3g",
                 i, k, got, want, err);
        return false;
    }
    return true;
}

bool xl__small_judge(struct xl__small *t, size_t *n_sure,
                     char why[XL__EXPR_WHY])
{
    *n_sure = 0;
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        if (t->group.operand[k].is_written &&
            !judge_operand(t, k, n_sure, why))
            return false;
    }
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->kept[i] == 0 ||
            memcmp(t->before[i], t->after[i], t->kept[i]) == 0)
            continue;
        snprintf(why, XL__EXPR_WHY,
                 "in a small case it wrote outside of its results");
        return false;
    }
    return true;
}
