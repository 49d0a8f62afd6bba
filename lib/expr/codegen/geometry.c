/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a group's loop nest, and the choices of geometry that several forms
 * share. */
#include "expr/codegen/geometry.h"

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/reductions.h"

enum {
    ACCESS_BYTES = 16, /* largest access of a GPU's item */
    AHEAD_BYTES = 64,  /* that an item loads before it waits */
    MAX_GPU_VW = 8,
    MIN_NATIVE = 4, /* floats in a CPU's vector for which explicit vectors
                       are written */
    MAX_ITEMS = 1024,
    MAX_UNROLL = 4,      /* vectors that a fold takes */
    CPU_STATE_WORDS = 16 /* accumulators in half of a CPU's 32 vector
                            registers; with more, MAX_UNROLL vectors for each
                            of them are spilled */
};

/* -- sizes ---------------------------------------------------------------- */

static size_t count_elems(const struct xl__group *group, bool is_reduced)
{
    size_t n = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        n *= group->loop[d].is_reduced == is_reduced ? group->loop[d].size : 1;
    return n;
}

size_t xl__kept_elems(const struct xl__group *group)
{
    return count_elems(group, false);
}

size_t xl__reduced_elems(const struct xl__group *group)
{
    return count_elems(group, true);
}

size_t xl__inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

size_t xl__row_vectors(const struct xl__group *group)
{
    const size_t n = xl__inner_size(group);
    return xl__max_size(xl__reduced_elems(group) / n * (n / group->geo.vw), 1);
}

/* -- operands ------------------------------------------------------------- */

bool xl__operand_is_of_rows(const struct xl__group *group,
                            const struct xl__operand *o)
{
    for (unsigned d = 0; d < group->n_loops; d++)
        if (group->loop[d].is_reduced && o->stride[d] != 0)
            return false;
    return true;
}

/* -- facts ---------------------------------------------------------------- */

bool xl__is_vector_cpu(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) &&
           xl__num_or(l, XL__F_native_vector_f32, 1) >= MIN_NATIVE;
}

bool xl__is_streamed(const struct xl__limits *l, const struct xl__group *group)
{
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        for (unsigned j = 0; j < k; j++) {
            const struct xl__operand *other = &group->operand[j];
            if (o->at == other->at && o->index == other->index &&
                o->is_written != other->is_written)
                return false;
        }
    }
    return xl__exceeds_caches(l, group->bytes);
}

size_t xl__max_wg_for_states(const struct xl__limits *l, size_t words)
{
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    size_t most =
        xl__min_size(MAX_ITEMS, xl__size_or(l, XL__F_max_wg_size, 1));
    most = (size_t)xl__floor_power_of_two(most);
    while (most > 1 && most * words * sizeof(float) * 3 / 2 > room)
        most /= 2;
    return most;
}

size_t xl__reduction_vw(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__group *group)
{
    const size_t inner = xl__inner_size(group);
    size_t vw = MAX_GPU_VW;
    if (xl__has_wide_values(g))
        return 1;
    if (xl__is_vector_cpu(l)) {
        /* Two native vectors share the loads of a function's constants
         * (CP-29). */
        const size_t natives = group->form == XL__FORM_ROWS ? 2 : 1;
        const size_t native = xl__size_or(l, XL__F_native_vector_f32, 1);
        return (size_t)xl__floor_power_of_two(xl__min_size(
            xl__min_size(XL__EXPR_MAX_VW, natives * native), inner));
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        if (o->at == XL__AT_INDEX || stride == 0 ||
            xl__operand_is_of_rows(group, o))
            continue; /* one element a row, or none */
        if (stride > 1)
            return 1;
        vw = xl__min_size(vw, ACCESS_BYTES / xl_dtype_bytes(o->dtype));
        vw = xl__min_size(vw, o->align);
    }
    while (inner % vw != 0)
        vw /= 2;
    return vw;
}

unsigned xl__reduction_unroll(const struct xl__graph *g,
                              const struct xl__limits *l,
                              const struct xl__group *group)
{
    size_t bytes = 0, unroll = MAX_UNROLL;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__operand_is_of_rows(group, o))
            bytes += xl_dtype_bytes(o->dtype) * group->geo.vw;
    }
    if (xl__is_vector_cpu(l))
        return xl__state_words(g, group) > CPU_STATE_WORDS ? 1 : MAX_UNROLL;
    while (unroll > 1 && bytes * unroll > 2 * AHEAD_BYTES)
        unroll /= 2;
    return (unsigned)unroll;
}
