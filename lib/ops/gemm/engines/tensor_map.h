/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: descriptors of a matrix's layout with which the device copies
 * boxes between the matrix and local memory (cl/common/nvidia/tma.clh). A map
 * is 128 bytes: an 8-byte address, which is the kernel's pointer argument, and
 * these 15 words of 8 bytes behind it. */
#ifndef XL_OPS_TENSOR_MAP_H
#define XL_OPS_TENSOR_MAP_H

#include <crosslane/tensor.h>

#include "runtime/plan.h"

enum { XL__MAP_WORDS = 15, XL__MAP_ALIGN = 16, XL__MAP_NO_OFFSET = -1 };

/* A map of rank 3; dimension 0 is the contiguous one. A line of a box is at
 * most 128 bytes, and its 16-byte chunks are swizzled within 128 bytes in
 * local memory; of a plain map lines are multiples of 16 bytes, one behind the
 * other. Elements outside `size` are read as 0 and not written. */
struct xl__tensor_map {
    xl_dtype dtype;
    bool is_rounded;  /* f32: to 11 bits, as it is read (NV-32) */
    bool is_plain;
    size_t size[3];
    size_t stride[3]; /* elements; [0] is 1 */
    size_t box[3];    /* elements, at most 256 each */
};

/* NULL, or which limit of a map's fields the matrix exceeds. most_bytes: size
 * of the largest buffer, in which the matrix may begin anywhere. */
const char *xl__tensor_map_refused(const struct xl__tensor_map *m,
                                   double most_bytes);
void xl__tensor_map_words(const struct xl__tensor_map *m,
                          uint64_t out[XL__MAP_WORDS]);
/* Append the words as one kernel argument. offset: the value slot of the
 * matrix's offset, by which the map's sizes grow, in lines of stride[1]
 * elements; XL__MAP_NO_OFFSET: the matrix begins at element `first`, a
 * multiple of stride[1]. */
void xl__arg_tensor_map(struct xl__step *step, const struct xl__tensor_map *m,
                        int offset, size_t first);
/* Append that offset as one word, the element within a line in the lower
 * half, the line in the upper half. May be used inside an argument of
 * several words. */
void xl__arg_map_offset(struct xl__step *step, int offset, size_t first,
                        size_t line);

#endif
