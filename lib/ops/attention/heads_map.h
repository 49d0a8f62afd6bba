/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of attention as tensor maps, for kernels whose operands are copied
 * as boxes (cl/attention/nvidia/). */
#ifndef XL_OPS_HEADS_MAP_H
#define XL_OPS_HEADS_MAP_H

#include "ops/attention/attention.h"
#include "ops/gemm/engines/tensor_map.h"

enum { XL__HEADS_LINE = 128 }; /* bytes of a row of a box */

/* An operand as a map of rank 3. Heads are the third coordinate, together with
 * sequences; or side by side in a row, and sequences the third. */
struct xl__heads_map {
    struct xl__tensor_map map;
    size_t head_columns; /* from head to head; 0: the third coordinate */
    size_t sequence;     /* of the third coordinate, from one to the next */
};

/* With boxes of so many lines; false: it is neither. */
bool xl__map_heads(const struct xl__attention_canonical *c, unsigned view,
                   size_t lines, struct xl__heads_map *out);
/* NULL, or why the operand has no such map. */
const char *xl__map_heads_refused(const struct xl__limits *l,
                                  const struct xl__attention_canonical *c,
                                  unsigned view);

static inline uint64_t xl__pack_words(size_t low, size_t high)
{
    return (uint32_t)low | (uint64_t)high << 32;
}

#endif
