/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, launches and facts that the forms with reductions share. */
#include "expr/codegen/reduce_size.h"

#include <math.h>

#include "base/alloc.h"

enum {
    ACCESS_BYTES = 16,  /* of one item at a time on a GPU */
    AHEAD_BYTES = 64,   /* that an item asks for before it waits */
    MOST_GPU_VW = 8,
    LEAST_NATIVE = 4,   /* floats of a CPU's vector worth writing for */
    MOST_ITEMS = 1024,
    MOST_UNROLL = 4,    /* vectors that a fold takes */
    SECTION_BYTES = 128 /* where a state's chunks may begin in scratch */
};

/* -- sizes ----------------------------------------------------------------- */

static size_t elems(const struct xl__group *group, bool is_reduced)
{
    size_t n = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        n *= group->loop[d].is_reduced == is_reduced ? group->loop[d].size : 1;
    return n;
}

size_t xl__kept_elems(const struct xl__group *group)
{
    return elems(group, false);
}

size_t xl__reduced_elems(const struct xl__group *group)
{
    return elems(group, true);
}

size_t xl__power_down(size_t x)
{
    size_t power = 1;
    while (power <= x / 2)
        power *= 2;
    return power;
}

size_t xl__power_up(size_t x)
{
    size_t power = 1;
    while (power < x)
        power *= 2;
    return power;
}

static size_t inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

size_t xl__row_vectors(const struct xl__group *group)
{
    const size_t n = inner_size(group);
    return xl__max_size(
        xl__reduced_elems(group) / n * (n / group->geo.vw), 1);
}

/* -- facts ----------------------------------------------------------------- */

bool xl__by_items(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) &&
           xl__num_or(l, XL__F_native_vector_f32, 1) >= LEAST_NATIVE;
}

size_t xl__most_items(const struct xl__limits *l, size_t words)
{
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    size_t most = xl__min_size(MOST_ITEMS,
                               xl__size_or(l, XL__F_max_wg_size, 1));
    most = xl__power_down(most);
    while (most > 1 && most * words * sizeof(float) * 3 / 2 > room)
        most /= 2;
    return most;
}

size_t xl__reduce_vector(const struct xl__limits *l,
                         const struct xl__group *group)
{
    const size_t inner = inner_size(group);
    size_t vw = MOST_GPU_VW;
    if (xl__by_items(l)) {
        const size_t native = xl__size_or(l, XL__F_native_vector_f32, 1);
        return xl__power_down(
            xl__min_size(xl__min_size(XL__EXPR_MAX_VW, native), inner));
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        if (o->at == XL__AT_INDEX || stride == 0 ||
            xl__operand_is_of_rows(group, o))
            continue; /* seldom touched, or not at all */
        if (stride > 1)
            return 1;
        vw = xl__min_size(vw, ACCESS_BYTES / xl_dtype_bytes(o->dtype));
        vw = xl__min_size(vw, o->align);
    }
    while (inner % vw != 0)
        vw /= 2;
    return vw;
}

unsigned xl__reduce_unroll(const struct xl__limits *l,
                           const struct xl__group *group)
{
    size_t bytes = 0, unroll = MOST_UNROLL;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__operand_is_of_rows(group, o))
            bytes += xl_dtype_bytes(o->dtype) * group->geo.vw;
    }
    if (xl__by_items(l))
        return MOST_UNROLL;
    while (unroll > 1 && bytes * unroll > 2 * AHEAD_BYTES)
        unroll /= 2;
    return (unsigned)unroll;
}

/* -- steps ----------------------------------------------------------------- */

xl_status xl__reduce_fits(const struct xl__reducing *r, unsigned more,
                          size_t local_bytes)
{
    const struct xl__limits *l = r->m.l;
    if (xl__emit_n_args(r->m.g, r->group) + more > XL__MAX_ARGS)
        return XL_UNSUPPORTED;
    return local_bytes > 0 &&
                   local_bytes > xl__size_or(l, XL__F_local_mem_bytes, 0)
               ? XL_UNSUPPORTED
               : XL_OK;
}

void xl__reduce_step(struct xl__reducing *r, const struct xl__schedule *s,
                     struct xl__step *step, const char *kernel,
                     size_t n_groups)
{
    step->source = kernel;
    step->kernel = kernel;
    step->text = xl__str_text(r->m.out);
    step->dims = 1;
    step->local[0] = r->group->geo.wg;
    step->global[0] = n_groups * r->group->geo.wg;
    step->slice_dim = 0;
    xl__emit_args(&r->m, s, step);
}

void xl__reduce_arg_index(const struct xl__reducing *r, struct xl__step *step,
                          size_t value)
{
    if (r->group->geo.is_wide)
        xl__arg_u64(step, value);
    else
        xl__arg_u32(step, value);
}

/* -- chunks in scratch ----------------------------------------------------- */

static size_t section(unsigned words, size_t places)
{
    return xl__round_up(words * sizeof(float) * places, SECTION_BYTES);
}

size_t xl__partial_bytes(const struct xl__graph *g,
                         const struct xl__group *group, size_t places)
{
    struct xl__reducing r = {0};
    size_t bytes = 0;
    if (xl__reducing_init(&r, g, NULL, group, NULL) == XL_OK)
        for (unsigned i = 0; i < r.n_states; i++)
            bytes += section(r.state[i].acc->words, places);
    xl__reducing_clear(&r);
    return bytes;
}

void xl__partial_params(struct xl__reducing *r)
{
    xl__emit_line(&r->m, ", __global uchar *scratch");
    xl__reduce_each(r, XL__ALL_SWEEPS, ", const ulong q$s", 1);
    xl__emit_line(&r->m, ", const IDX chunks, const IDX each, "
                         "const IDX each_one");
}

unsigned xl__partial_n_args(const struct xl__reducing *r)
{
    return r->n_states + 4;
}

void xl__partial_args(const struct xl__reducing *r, struct xl__step *step,
                      size_t places, const size_t cut[3])
{
    size_t at = r->group->partial_offset;
    xl__arg_mem(step, XL__MEM_SCRATCH);
    for (unsigned i = 0; i < r->n_states; i++) {
        xl__arg_u64(step, at);
        at += section(r->state[i].acc->words, places);
    }
    for (unsigned i = 0; i < 3; i++)
        xl__reduce_arg_index(r, step, cut[i]);
}
