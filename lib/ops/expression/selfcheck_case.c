/* SPDX-License-Identifier: Apache-2.0 */
/* The case that a group's self-check runs.
 *
 * Shape: sizes are odd and just above one work-group, one tile or one row of
 * registers, so that full and partial blocks both occur. Strides are dense, in
 * the same classes as the group's, with a gap between rows. The geometry is
 * the group's, with fewer chunks and iterations. So the case has the same
 * program.
 *
 * Data: every operand at an offset of its own in guarded memory, filled with
 * random numbers that suit its type; in the last run some are NaN, infinite,
 * -0 or subnormal, and the bounds of the host state where a device may flush.
 *
 * Comparison: each written element with the host's value and bound; after that
 * the memory as a whole, so that a store outside of the results is found. A
 * bound may be infinite, where a result depends on how sums are rounded.
 * Therefore the case runs twice with complementary patterns in the memory that
 * is not read: whatever the bounds, each element must be written, and be equal
 * bit for bit. */
#include "ops/expression/selfcheck_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"

/* -- shape ------------------------------------------------------------ */

enum { FEW = 3, MAX_CHUNKS = 3, ITERATIONS = 2 };

static size_t at_least_one(size_t x)
{
    return x > 0 ? x : 1;
}

/* Elements of the innermost loop in one iteration of a work-item. */
static size_t elems_per_step(const struct xl__geometry *geo)
{
    return at_least_one(geo->vw) * at_least_one(geo->unroll);
}

/* Size of the innermost loop: one step of the kernel along it, plus a vector
 * and a partial one.
 *
 *     MAP      a work-group or a tile
 *     CHUNKS   a work-group for each chunk
 *     COLUMNS  the columns of a work-group
 *     ROWS     the lanes of a row twice, or the vectors that they hold in
 *              registers, divided by the `rows` that share them */
static size_t innermost_size(const struct xl__group *g, size_t rows)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t wg = at_least_one(geo->wg), lanes = at_least_one(geo->lanes);
    const size_t vw = at_least_one(geo->vw), tail = vw / 2;
    const size_t held = at_least_one(geo->held);
    switch (g->form) {
    case XL__FORM_ROWS:
        if (geo->held > 0)
            return lanes * held / rows * vw + tail;
        return 2 * lanes * elems_per_step(geo) + vw + tail;
    case XL__FORM_COLUMNS:
        return wg / lanes * held * vw + vw + tail;
    case XL__FORM_CHUNKS:
        return at_least_one(geo->chunks) * wg * elems_per_step(geo) + vw +
               tail;
    default:
        return (geo->tile > 0 ? geo->tile : wg * elems_per_step(geo)) + vw +
               tail;
    }
}

/* Size of another loop. ROWS, kept: rows for two work-groups. COLUMNS,
 * reduced: rows for every lane and chunk. */
static size_t other_size(const struct xl__group *g,
                         const struct xl__loop *loop)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t lanes = at_least_one(geo->lanes);
    if (g->form == XL__FORM_ROWS && !loop->is_reduced)
        return (at_least_one(geo->wg) / lanes + ITERATIONS) | 1;
    if (g->form == XL__FORM_COLUMNS && loop->is_reduced)
        return lanes * at_least_one(geo->chunks) * at_least_one(geo->unroll) +
               1;
    return g->form == XL__FORM_ROWS && geo->held > 0 ? 2 : FEW;
}

/* Shrink all loops; the other loop of a tile to a tile and some elements more.
 * Loops of one iteration remain, since operands have no stride along them. */
static void shrink_loops(struct xl__group *g)
{
    bool was_kept = false, was_reduced = false;
    size_t rows = 1;
    for (unsigned d = g->n_loops - 1; d-- > 0;) {
        struct xl__loop *loop = &g->loop[d];
        bool *was = loop->is_reduced ? &was_reduced : &was_kept;
        if (g->geo.tile > 0 && d == g->geo.across)
            loop->size = g->geo.tile + FEW;
        else if (loop->size > 1)
            loop->size = *was ? 2 : other_size(g, loop);
        *was = true;
        rows *= loop->is_reduced ? loop->size : 1;
    }
    struct xl__loop *inner = &g->loop[g->n_loops - 1];
    if (inner->size > 1)
        inner->size = xl__max_size(2, innermost_size(g, rows));
}

/* Make the strides dense, by increasing stride, the innermost loop first among
 * equal ones: each begins where the one within it ends, at an odd multiple of
 * the alignment. */
static void shrink_strides(const struct xl__group *g, struct xl__operand *o)
{
    size_t old[XL__EXPR_LOOPS], next = 1;
    const size_t align = at_least_one(o->align);
    memcpy(old, o->stride, sizeof old);
    for (unsigned i_step = 0; i_step < g->n_loops; i_step++) {
        unsigned least = g->n_loops;
        for (unsigned d = g->n_loops; d-- > 0;) {
            if (old[d] != 0 && (least == g->n_loops || old[d] < old[least]))
                least = d;
        }
        if (least == g->n_loops)
            return;
        const bool is_inner = least + 1 == g->n_loops;
        size_t step = is_inner || align == 1
                          ? next
                          : (xl__ceil_div(next, align) | 1) * align;
        if (old[least] > 1 && step == 1)
            step = 2; /* a stride of 1 is a class of its own */
        o->stride[least] = step;
        next = step * g->loop[least].size + 1;
        old[least] = 0;
    }
}

/* Results of chunks: kept elements times chunks, in whole vectors. */
static double n_partials(const struct xl__group *g, size_t more)
{
    double n = (double)at_least_one(g->geo.chunks);
    for (unsigned d = 0; d < g->n_loops; d++) {
        if (!g->loop[d].is_reduced)
            n *= (double)(g->loop[d].size + more);
    }
    return n;
}

/* Bytes of the chunks' results: as many for each result as in the group, plus
 * what rounding can add for each value. */
static size_t partial_bytes_of(const struct xl__group *from,
                               const struct xl__group *to)
{
    enum { SECTION = 256 };
    if (from->partial_bytes == 0)
        return 0;
    return (size_t)((double)from->partial_bytes / n_partials(from, 0) *
                    n_partials(to, to->geo.vw)) +
           SECTION * (size_t)to->n_values;
}

void xl__selfcheck_shrink(const struct xl__group *from, struct xl__group *to)
{
    *to = *from;
    to->why = (struct xl__str){0};
    to->geo.chunks = xl__min_size(from->geo.chunks, MAX_CHUNKS);
    to->geo.per_wg = xl__min_size(from->geo.per_wg, ITERATIONS);
    shrink_loops(to);
    for (unsigned i = 0; i < to->n_operands; i++)
        shrink_strides(to, &to->operand[i]);
    to->partial_bytes = partial_bytes_of(from, to);
}

enum { GUARD = 0xA5, GUARD_ELEMS = 64, SEED = 1 };

/* -- elements --------------------------------------------------------- */

/* The values at which operations have rules of their own. */
static double special_number(size_t i, xl_dtype dtype)
{
    const double subnormal = dtype == XL_F16 ? 0x1p-20 : 0x1p-130;
    const double values[] = {(double)NAN,       -0.0,
                             -(double)INFINITY, subnormal,
                             (double)INFINITY,  -subnormal};
    return values[i % (sizeof values / sizeof *values)];
}

/* A random number that suits the type: normally distributed floats, all values
 * of a byte, small integers. */
static double draw_number(struct xl__rng *rng, xl_dtype dtype)
{
    enum { MAX = 100 };
    switch (dtype) {
    case XL_I32:
        return (double)xl__rng_below(rng, 2 * MAX + 1) - MAX;
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

/* -- memory ----------------------------------------------------------- */

static size_t n_elems_spanned(const struct xl__group *g,
                              const struct xl__operand *o)
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

/* The operand before k that is the same view of the same memory; k when there
 * is none. */
static unsigned find_same_view(const struct xl__selfcheck_case *t,
                               const struct xl__group *from, unsigned k)
{
    for (unsigned i = 0; i < k; i++) {
        if (from->operand[i].at != XL__AT_INDEX && t->slot[i] == t->slot[k] &&
            is_same_view(&from->operand[i], &from->operand[k]))
            return i;
    }
    return k;
}

/* Assign offsets: each view begins at an odd multiple of its alignment. */
static void assign_offsets(struct xl__selfcheck_case *t,
                           const struct xl__group *from,
                           const struct xl__signature *sig)
{
    enum { BLOCK = 256 }; /* bytes: a multiple of every alignment */
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        struct xl__operand *o = &t->group.operand[k];
        const size_t elem = xl_dtype_bytes(o->dtype);
        if (o->at == XL__AT_INDEX)
            continue;
        t->slot[k] = slot_of(o, sig);
        const unsigned other = find_same_view(t, from, k);
        size_t *end = &t->bytes[t->slot[k]];
        if (other < k) {
            o->offset = t->group.operand[other].offset;
            continue;
        }
        o->offset =
            xl__round_up(*end, BLOCK) / elem + xl__max_size(1, o->align);
        *end =
            (o->offset + n_elems_spanned(&t->group, o) + GUARD_ELEMS) * elem;
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

/* -- data ------------------------------------------------------------- */

static unsigned char *element_address(unsigned char *const *memory,
                                      const struct xl__selfcheck_case *t,
                                      unsigned k, size_t i)
{
    const struct xl__operand *o = &t->group.operand[k];
    return memory[t->slot[k]] + (o->offset + i) * xl_dtype_bytes(o->dtype);
}

static xl_status allocate_memory(struct xl__selfcheck_case *t)
{
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->bytes[i] == 0)
            continue;
        t->before[i] = xl__calloc(t->bytes[i], 1);
        t->after[i] = xl__calloc(t->bytes[i], 1);
        t->first[i] = xl__calloc(t->bytes[i], 1);
        if (!t->before[i] || !t->after[i] || !t->first[i])
            return XL_NO_MEMORY;
    }
    return XL_OK;
}

/* Fill the operands that are read, with special numbers between others if
 * asked for. Equal views are filled more than once; the last one counts. */
static void fill_inputs(struct xl__selfcheck_case *t, bool has_specials)
{
    enum { APART = 61, LEAST = 7 };
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        const struct xl__operand *o = &t->group.operand[k];
        const size_t n = n_elems_spanned(&t->group, o);
        const size_t step = xl__max_size(1, xl__min_size(APART, n / LEAST));
        if (o->at == XL__AT_INDEX || o->is_written)
            continue;
        for (size_t i = 0; i < n; i++) {
            double x = draw_number(&rng, o->dtype);
            if (has_specials && i % step == step / 2 &&
                xl__dtype_unit_roundoff(o->dtype) > 0)
                x = special_number(i / step + k, o->dtype);
            xl__dtype_store(element_address(t->before, t, k, i), 0, o->dtype,
                            x);
        }
    }
}

/* Scalars: not 0 and not 1; whole numbers for i32. */
static void set_scalars(struct xl__selfcheck_case *t,
                        const struct xl__signature *sig)
{
    static const double step = 0.125;
    for (unsigned i = 0; i < sig->n; i++)
        t->scalar[i] = sig->b[i].dtype == XL_I32 ? i + 2 : (i + 6) * step;
}

static xl_status allocate_values(struct xl__selfcheck_case *t)
{
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        const struct xl__operand *o = &t->group.operand[k];
        struct xl__eval_mem *m = &t->mem[k];
        if (o->at == XL__AT_INDEX)
            continue;
        m->elems = n_elems_spanned(&t->group, o);
        m->value = xl__calloc(m->elems, sizeof *m->value);
        m->error = xl__calloc(m->elems, sizeof *m->error);
        if (!m->value || !m->error)
            return XL_NO_MEMORY;
    }
    return XL_OK;
}

static void read_inputs(struct xl__selfcheck_case *t)
{
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        const struct xl__operand *o = &t->group.operand[k];
        const struct xl__eval_mem *m = &t->mem[k];
        for (size_t i = 0; i < m->elems && !o->is_written; i++)
            m->value[i] = xl__dtype_load(element_address(t->before, t, k, i),
                                         0, o->dtype);
    }
}

xl_status xl__selfcheck_case_fill(struct xl__selfcheck_case *t,
                                  enum xl__selfcheck_pass pass)
{
    const int pattern = pass == XL__PASS_REPEATED ? ~GUARD & 0xFF : GUARD;
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->bytes[i] > 0)
            memset(t->before[i], pattern, t->bytes[i]);
    }
    fill_inputs(t, pass == XL__PASS_SPECIALS);
    if (pass == XL__PASS_REPEATED)
        return XL_OK;
    read_inputs(t);
    return xl__eval_group(t->g, &t->group, t->scalar, t->mem);
}

xl_status xl__selfcheck_case_init(struct xl__selfcheck_case *t,
                                  const struct xl__canonical_group *l,
                                  const struct xl__schedule *s,
                                  const struct xl__signature *sig)
{
    xl_status status = XL_OK;
    const struct xl__group *from = &l->group;
    memset(t, 0, sizeof *t);
    t->g = &l->g;
    xl__selfcheck_shrink(from, &t->group);
    t->s.temp = xl__calloc(s->n_temps, sizeof *t->s.temp);
    if (!t->s.temp)
        TRY(XL_NO_MEMORY);
    t->s.n_temps = s->n_temps;
    for (unsigned i = 0; i < s->n_temps; i++) {
        t->s.temp[i].node = s->temp[i].node;
        t->s.temp[i].dtype = s->temp[i].dtype;
    }
    assign_offsets(t, from, sig);
    TRY(allocate_memory(t));
    TRY(allocate_values(t));
    set_scalars(t, sig);
fail:
    return status;
}

void xl__selfcheck_case_clear(struct xl__selfcheck_case *t)
{
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        free(t->before[i]);
        free(t->after[i]);
        free(t->first[i]);
    }
    for (unsigned k = 0; k < XL__EXPR_OPERANDS; k++) {
        free(t->mem[k].value);
        free(t->mem[k].error);
    }
    free(t->s.temp);
}

/* -- comparison ------------------------------------------------------- */

static bool is_close(double got, double expected, double err)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(got) : got == expected;
    return fabs(got - expected) <= err;
}

/* The index of the element of iteration i. */
static size_t element_index(const struct xl__group *g,
                            const struct xl__operand *o, size_t i)
{
    size_t at = 0;
    for (unsigned d = g->n_loops; d-- > 0;) {
        at += i % g->loop[d].size * o->stride[d];
        i /= g->loop[d].size;
    }
    return at;
}

static size_t n_iterations(const struct xl__group *g)
{
    size_t n = 1;
    for (unsigned d = 0; d < g->n_loops; d++)
        n *= g->loop[d].size;
    return n;
}

/* Compare every written element, and copy it to `before`, so that afterwards
 * both memories must be equal. */
static bool compare_operand(struct xl__selfcheck_case *t, unsigned k,
                            char *why)
{
    const struct xl__operand *o = &t->group.operand[k];
    const size_t n = n_iterations(&t->group);
    for (size_t i = 0; i < n; i++) {
        const size_t at = element_index(&t->group, o, i);
        const double expected = t->mem[k].value[at], err = t->mem[k].error[at];
        const double got =
            xl__dtype_load(element_address(t->after, t, k, at), 0, o->dtype);
        memcpy(element_address(t->before, t, k, at),
               element_address(t->after, t, k, at), xl_dtype_bytes(o->dtype));
        if (isinf(err) || is_close(got, expected, err))
            continue;
        snprintf(
            why, XL__EXPR_WHY,
            "in the self-check element %zu of result %u is %.9g, not %.9g "
            "+- %.3g",
            i, k, got, expected, err);
        return false;
    }
    return true;
}

/* Compare every written element with that of the first run. */
static bool is_repeated(const struct xl__selfcheck_case *t, unsigned k,
                        char *why)
{
    const struct xl__operand *o = &t->group.operand[k];
    const size_t n = n_iterations(&t->group);
    for (size_t i = 0; i < n; i++) {
        const size_t at = element_index(&t->group, o, i);
        if (memcmp(element_address(t->after, t, k, at),
                   element_address(t->first, t, k, at),
                   xl_dtype_bytes(o->dtype)) == 0)
            continue;
        snprintf(why, XL__EXPR_WHY,
                 "in the self-check element %zu of result %u was not written, "
                 "or a second run gave another value",
                 i, k);
        return false;
    }
    return true;
}

bool xl__selfcheck_case_compare(struct xl__selfcheck_case *t,
                                enum xl__selfcheck_pass pass,
                                char why[XL__EXPR_WHY])
{
    for (unsigned k = 0; k < t->group.n_operands; k++) {
        if (!t->group.operand[k].is_written)
            continue;
        if (!compare_operand(t, k, why) ||
            (pass == XL__PASS_REPEATED && !is_repeated(t, k, why)))
            return false;
    }
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->kept[i] == 0)
            continue;
        if (memcmp(t->before[i], t->after[i], t->kept[i]) != 0) {
            snprintf(
                why, XL__EXPR_WHY,
                "in the self-check the kernel wrote outside of its results");
            return false;
        }
        if (pass == XL__PASS_FIRST)
            memcpy(t->first[i], t->after[i], t->bytes[i]);
    }
    return true;
}
