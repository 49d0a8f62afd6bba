/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/attention/heads_map.h"

#include <math.h>

bool xl__map_heads(const struct xl__attention_canonical *c, unsigned view,
                   size_t lines, struct xl__heads_map *out)
{
    const size_t *stride = c->view[view].stride;
    size_t size[XL__HEADS_DIMS];
    xl__attention_sizes(c, view, size);
    const size_t heads = size[XL__HEADS_HEAD], n = size[XL__HEADS_BATCH];
    const size_t per_head = stride[XL__HEADS_HEAD];
    const size_t per_sequence = stride[XL__HEADS_BATCH];
    /* A packed sequence of one row may be one of several in memory. */
    const size_t row = size[XL__HEADS_ROW] > 1 || stride[XL__HEADS_ROW] > 0
                           ? stride[XL__HEADS_ROW]
                           : c->d_head;
    size_t third = per_head, width = c->d_head;
    *out = (struct xl__heads_map){.sequence = heads};
    if (heads == 1) {
        third = n > 1 ? per_sequence : row;
    } else if (n > 1 && per_sequence != heads * per_head) {
        if (per_head == 0 || heads * per_head > row)
            return false;
        width += (heads - 1) * per_head;
        third = per_sequence;
        out->head_columns = per_head;
        out->sequence = 1;
    }
    out->map = (struct xl__tensor_map){
        .dtype = c->view[view].dtype,
        .size = {width, size[XL__HEADS_ROW], n * out->sequence},
        .stride = {1, row, third},
        .box = {XL__HEADS_LINE / xl_dtype_bytes(c->view[view].dtype), lines,
                1}};
    return third > 0 && row > 0;
}

const char *xl__map_heads_refused(const struct xl__limits *l,
                                  const struct xl__attention_canonical *c,
                                  unsigned view)
{
    enum { ALIGN = 16 };
    struct xl__heads_map h;
    if (c->view[view].stride[XL__HEADS_COL] != 1 ||
        c->view[view].offset < ALIGN)
        return "rows of q, k, v, o and their gradients must be contiguous and "
               "begin at multiples of 16 bytes";
    if (!xl__map_heads(c, view, 1, &h))
        return "sequences and heads of q, k, v and o must be one dimension, "
               "or heads side by side in a row";
    return xl__tensor_map_refused(
        &h.map, xl__num_or(l, XL__F_max_alloc_bytes, INFINITY));
}
