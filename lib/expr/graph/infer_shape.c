/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: NumPy's broadcasting, axes, and how both are told. */
#include <stdio.h>

#include "base/alloc.h"
#include "expr/graph/infer.h"

/* So many bytes of any element that is counted must fit in a size_t too. */
enum { MOST_ELEM_BYTES = 8 };

const char *xl__shape_text(const struct xl__shape *s,
                           char text[XL__SHAPE_TEXT])
{
    size_t len = 1;
    text[0] = '(';
    for (unsigned d = 0; d < s->n_dims; d++)
        len += (size_t)snprintf(text + len, XL__SHAPE_TEXT - len, "%s%zu",
                                d > 0 ? ", " : "", s->size[d]);
    snprintf(text + len, XL__SHAPE_TEXT - len, s->n_dims == 1 ? ",)" : ")");
    return text;
}

bool xl__infer_fits(struct xl__infer *in, const struct xl__shape *s)
{
    size_t bytes = MOST_ELEM_BYTES;
    for (unsigned d = 0; d < s->n_dims; d++) {
        char text[XL__SHAPE_TEXT];
        if (xl__mul(bytes, s->size[d], &bytes))
            continue;
        XL__WRONG(in, XL_OVERFLOW,
                  "the elements of shape %s are too many to count in 64 bits",
                  xl__shape_text(s, text));
        return false;
    }
    return true;
}

static bool widen(struct xl__shape *to, const struct xl__shape *by)
{
    while (to->n_dims < by->n_dims) {
        for (unsigned d = to->n_dims++; d > 0; d--)
            to->size[d] = to->size[d - 1];
        to->size[0] = 1;
    }
    size_t *size = to->size + (to->n_dims - by->n_dims);
    for (unsigned d = 0; d < by->n_dims; d++) {
        if (size[d] != by->size[d] && size[d] != 1 && by->size[d] != 1)
            return false;
        size[d] = size[d] == 1 ? by->size[d] : size[d];
    }
    return true;
}

bool xl__infer_broadcast(struct xl__infer *in, const unsigned *node,
                         unsigned n, struct xl__shape *out)
{
    *out = (struct xl__shape){0};
    for (unsigned i = 0; i < n; i++) {
        const struct xl__shape *s = &in->g->node[node[i]].shape;
        const struct xl__shape before = *out;
        char a[XL__SHAPE_TEXT], b[XL__SHAPE_TEXT];
        if (widen(out, s))
            continue;
        XL__WRONG(in, XL_BAD_SHAPE,
                  "shapes %s and %s do not broadcast: from the last axis on, "
                  "sizes are equal or one of them is 1",
                  xl__shape_text(&before, a), xl__shape_text(s, b));
        return false;
    }
    return xl__infer_fits(in, out);
}

bool xl__infer_axes(struct xl__infer *in, const struct xl__tree_node *call,
                    unsigned n_dims, unsigned out[XL_MAX_DIMS])
{
    unsigned seen = 0;
    for (unsigned i = 0; i < call->n_axes; i++) {
        const int axis = call->axes[i];
        const int from_first = axis < 0 ? axis + (int)n_dims : axis;
        if (from_first < 0 || from_first >= (int)n_dims) {
            XL__WRONG(in, XL_BAD_SHAPE,
                      n_dims > 0 ? "axis %d is not there: axes are 0 to %d, or "
                                   "-1 to -%u from the last"
                                 : "axis %d is not there: a single value has "
                                   "none",
                      axis, (int)n_dims - 1, n_dims);
            return false;
        }
        if (seen >> from_first & 1) {
            XL__WRONG(in, XL_BAD_ARGUMENT, "axis %d is named twice", axis);
            return false;
        }
        seen |= 1u << from_first;
        out[i] = (unsigned)from_first;
    }
    return true;
}
