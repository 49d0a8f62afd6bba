/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: how a matrix lies, for copies of boxes between it and local
 * memory (cl/common/nvidia/tma.clh). A map is 128 bytes; the first 8 are the address,
 * a kernel's pointer argument, and the 15 words behind it are these. */
#ifndef XL_OPS_TENSOR_MAP_H
#define XL_OPS_TENSOR_MAP_H

#include <crosslane/tensor.h>

#include "runtime/plan.h"

enum { XL__MAP_WORDS = 15, XL__MAP_ALIGN = 16, XL__MAP_NO_OFFSET = -1 };

/* Rank 3, first what is contiguous. A box's line is at most 128 bytes, and is
 * swizzled by so many in local memory. What lies outside `size` reads as 0 and
 * is not written. */
struct xl__tensor_map {
    xl_dtype dtype;
    bool is_rounded;  /* f32: to 11 bits, as it is read (NV-32) */
    size_t size[3];
    size_t stride[3]; /* elements; [0] is 1 */
    size_t box[3];    /* elements, at most 256 each */
};

/* NULL, or what cannot be said in a map's fields. `most_bytes`: where in a
 * buffer of so many the matrix may begin. */
const char *xl__tensor_map_refused(const struct xl__tensor_map *m,
                                   double most_bytes);
void xl__tensor_map_words(const struct xl__tensor_map *m,
                          uint64_t out[XL__MAP_WORDS]);
/* Append the words as one argument. offset: the value slot of where the matrix
 * begins, in elements of lines as long as stride[1], so that sizes grow by its
 * place; XL__MAP_NO_OFFSET: at element `first`, a multiple of that. */
void xl__arg_tensor_map(struct xl__step *step, const struct xl__tensor_map *m,
                        int offset, size_t first);
/* Append that place: in its line below, the line above. Inside another
 * argument's words too. */
void xl__arg_map_offset(struct xl__step *step, int offset, size_t first,
                        size_t line);

#endif
