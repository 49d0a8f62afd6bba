/* SPDX-License-Identifier: Apache-2.0 */
/* A step that copies a box of elements to another order, and adds boxes. */
#include "ops/conv/rearrange.h"

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/check.h"
#include "ops/path/cost.h"

void xl__conv_arg_place(struct xl__step *s, const struct xl__conv_place *at)
{
    xl__arg_mem(s, at->mem);
    if (at->mem == XL__MEM_SCRATCH) {
        xl__arg_u64(s, at->elems);
        return;
    }
    xl__arg_value_u64(s, at->value);
    s->args[s->n_args - 1].as.u = at->elems;
}

void xl__conv_redirect(const struct xl__conv_place to[3], struct xl__arg *arg)
{
    const struct xl__arg was = *arg;
    for (unsigned i = 0; i < 3; i++) {
        if (was.kind == XL__ARG_MEM && was.slot == XL__CONV_A + i) {
            arg->slot = to[i].mem;
        } else if (was.kind == XL__ARG_VALUE_U64 &&
                   was.slot == XL__CONV_OFF_A + i) {
            arg->as.u = was.as.u + to[i].elems;
            arg->slot = to[i].value;
            if (to[i].mem == XL__MEM_SCRATCH)
                arg->kind = XL__ARG_U64;
        } else if (was.kind == XL__ARG_COORDS &&
                   was.slot == XL__CONV_OFF_A + i) {
            arg->as.at[0] += (uint32_t)(to[i].elems % was.line);
            arg->as.at[1] += (uint32_t)(to[i].elems / was.line);
            arg->slot = to[i].value;
            if (to[i].mem == XL__MEM_SCRATCH) {
                arg->kind = XL__ARG_U64;
                arg->as.u = xl__pack_words(arg->as.at[0], arg->as.at[1]);
            }
        }
    }
    const bool is_scalar =
        was.kind == XL__ARG_VALUE_F32 || was.kind == XL__ARG_VALUE_F64;
    if (is_scalar && to[2].mem == XL__MEM_SCRATCH)
        arg->slot = was.slot == XL__CONV_ALPHA ? XL__CONV_ONE : XL__CONV_ZERO;
}

/* Dimensions 4 and 5 are one where both boxes have lines without gaps. */
static void merge_lines(struct xl__rearranged *r,
                        size_t n[XL__REARRANGED_DIMS])
{
    if (r->missing || r->src[4] != n[5] * r->src[5] ||
        r->dst[4] != n[5] * r->dst[5])
        return;
    n[4] *= n[5];
    n[5] = 1;
    r->src[4] = r->src[5];
    r->dst[4] = r->dst[5];
}

/* Elements that an item copies at once, at most VECTOR_BYTES on both sides:
 * dimension 6 is contiguous in both boxes, and all lines begin at multiples. */
static size_t vector_of(const struct xl__rearranged *r)
{
    enum { VECTOR_BYTES = 16 };
    const size_t from = xl_dtype_bytes(r->from_dtype),
                 to = xl_dtype_bytes(r->to_dtype);
    size_t bits = r->size[6] | r->part | r->from.elems | r->to.elems;
    if (r->src[6] != 1 || r->dst[6] != 1 || r->align < VECTOR_BYTES)
        return 1;
    for (unsigned i = 0; i < 6; i++)
        bits |= r->size[i] > 1 ? r->src[i] | r->dst[i] : 0;
    return xl__min_size(xl__align_of(bits),
                        VECTOR_BYTES / xl__max_size(from, to));
}

double xl__conv_rearrange(const struct xl__limits *l,
                          const struct xl__rearranged *given,
                          struct xl__plan *p)
{
    struct xl__rearranged merged = *given;
    const struct xl__rearranged *const r = &merged;
    enum { MOST_ITEMS = 64 }; /* of a group */
    static const unsigned inner[] = {1, 3, 5, 6};
    struct xl__step *s =
        xl__plan_add(p, "conv/rearrange.cl", "conv_rearrange", 0, 0);
    s->is_aid = true;
    size_t n[XL__REARRANGED_DIMS];
    for (unsigned i = 0; i < XL__REARRANGED_DIMS; i++)
        n[i] = xl__max_size(1, r->size[i]);
    merge_lines(&merged, n);
    const size_t vector = vector_of(given);
    n[6] /= vector;
    merged.src[6] *= vector;
    merged.dst[6] *= vector;
    const size_t items = r->end_items ? r->end_items / vector
                                      : n[4] * n[5] * n[6];
    const size_t rows = r->end_rows ? r->end_rows : n[2] * n[3];
    xl__step_set_3d(s, xl__most_items(l, MOST_ITEMS), items, rows,
                    n[0] * n[1]);
    s->slice_dim = 1;
    xl__define(s, "TA", (long)r->from_dtype);
    xl__define(s, "TC", (long)r->to_dtype);
    xl__define(s, "TY", (long)r->y_dtype);
    xl__define(s, "VW", (long)vector);
    if (r->y_dtype == XL_F64)
        xl__define(s, "XL_USE_F64", 1);
    xl__conv_arg_place(s, &r->from);
    for (unsigned i = 0; i < XL__REARRANGED_DIMS; i++)
        xl__arg_u64(s, r->src[i]);
    xl__conv_arg_place(s, &r->to);
    for (unsigned i = 0; i < XL__REARRANGED_DIMS; i++)
        xl__arg_u64(s, r->dst[i]);
    xl__arg_u32(s, items);
    for (unsigned i = 0; i < sizeof inner / sizeof *inner; i++)
        xl__arg_u32(s, n[inner[i]]);
    xl__arg_u64(s, ~r->missing);
    xl__arg_u64(s, xl__max_size(1, r->parts));
    xl__arg_u64(s, r->part);
    void (*const add)(struct xl__step *, unsigned) =
        r->y_dtype == XL_F64 ? xl__arg_value_f64 : xl__arg_value_f32;
    add(s, r->alpha);
    add(s, r->beta);
    const double moved =
        (double)(items * vector) * (double)rows * (double)(n[0] * n[1]);
    return moved * ((double)xl__max_size(1, r->parts) *
                        (double)xl_dtype_bytes(r->from_dtype) +
                    (double)xl_dtype_bytes(r->to_dtype));
}
