/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding of tensor maps. The fields are those of NV-32. */
#include "ops/gemm/engines/tensor_map.h"

enum {
    RANK_BIT = 4,
    TYPE_BIT = 7,
    SWIZZLE_BIT = 13,
    ROUND_BIT = 16,
    STRIDE_BIT = 32,
    HIGH = 32,
    BOX0_BIT = 56,
    BOX2_BIT = 8,
    SWIZZLE_128 = 3,
    RANK = 3,
    SIZES = 3 /* index of the word of the first two sizes, less 1 each */
};

/* The map's code of an element type. */
static uint64_t type_code(xl_dtype dtype)
{
    enum { BYTES = 0, HALVES = 6, FLOATS = 7, BF16 = 10 };
    switch (dtype) {
    case XL_F16:
        return HALVES;
    case XL_BF16:
        return BF16;
    case XL_F32:
        return FLOATS;
    default:
        return BYTES;
    }
}

static uint64_t stride_of(const struct xl__tensor_map *m, unsigned d)
{
    return m->stride[d] * xl_dtype_bytes(m->dtype) / XL__MAP_ALIGN;
}

const char *xl__tensor_map_refused(const struct xl__tensor_map *m,
                                   double most_bytes)
{
    /* Coordinates are of 32 bits and run up to a tile past the end. */
    static const double most_coordinate = INT32_MAX / 2;
    const double line =
        (double)m->stride[1] * (double)xl_dtype_bytes(m->dtype);
    for (unsigned d = 0; d < RANK; d++) {
        const size_t bytes = m->stride[d] * xl_dtype_bytes(m->dtype);
        if ((double)m->size[d] > most_coordinate)
            return "a size exceeds the limit of tensor maps";
        if (d > 0 && (bytes == 0 || bytes % XL__MAP_ALIGN != 0))
            return "lines are not multiples of 16 bytes";
        if (d > 0 && stride_of(m, d) > UINT32_MAX)
            return "a stride exceeds the limit of tensor maps";
    }
    return most_bytes / line > most_coordinate
               ? "a buffer may hold more lines than tensor maps count"
               : NULL;
}

void xl__tensor_map_words(const struct xl__tensor_map *m,
                          uint64_t out[XL__MAP_WORDS])
{
    const uint64_t kind =
        (uint64_t)(RANK - 1) << RANK_BIT | type_code(m->dtype) << TYPE_BIT |
        (uint64_t)m->is_rounded << ROUND_BIT |
        (uint64_t)(m->is_plain ? 0 : SWIZZLE_128) << SWIZZLE_BIT;
    for (unsigned i = 0; i < XL__MAP_WORDS; i++)
        out[i] = 0;
    out[0] = kind | stride_of(m, 1) << STRIDE_BIT;
    out[1] = stride_of(m, 2);
    out[SIZES] = (m->size[0] - 1) | (uint64_t)(m->size[1] - 1) << HIGH;
    out[4] = m->size[2] - 1;
    out[5] = (uint64_t)(m->box[0] - 1) << BOX0_BIT;
    out[6] = (m->box[1] - 1) | (uint64_t)(m->box[2] - 1) << BOX2_BIT;
}

void xl__arg_tensor_map(struct xl__step *step, const struct xl__tensor_map *m,
                        int offset, size_t first)
{
    uint64_t word[XL__MAP_WORDS];
    xl__tensor_map_words(m, word);
    xl__arg_words(step, XL__MAP_WORDS);
    for (unsigned i = 0; i < XL__MAP_WORDS; i++) {
        if (i == SIZES && offset != XL__MAP_NO_OFFSET)
            xl__arg_coords(step, (unsigned)offset, m->stride[1],
                          (uint32_t)(m->size[0] - 1),
                          (uint32_t)(m->size[1] - 1));
        else if (i == SIZES)
            xl__arg_u64(step, word[i] + ((uint64_t)(first / m->stride[1])
                                         << HIGH));
        else
            xl__arg_u64(step, word[i]);
    }
}

void xl__arg_map_offset(struct xl__step *step, int offset, size_t first,
                        size_t line)
{
    if (offset != XL__MAP_NO_OFFSET)
        xl__arg_coords(step, (unsigned)offset, line, 0, 0);
    else
        xl__arg_u64(step, (uint64_t)(first / line) << HIGH);
}
