/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of a file of ggml are the matrices and vectors of a model. */
#ifndef CLBENCH_FORWARD_FILE_TENSORS_H
#define CLBENCH_FORWARD_FILE_TENSORS_H

#include "planner/forward/architecture.h"
#include "planner/gguf/container.h"

/* Read the architecture, and check that the file has every tensor of it, with
 * the right sizes, and no other. At most `layers` layers (0: all). False: *why
 * has the key or tensor. */
bool lm_file_read_arch(const struct gguf *g, size_t layers,
                       struct lm_arch *out, struct xl__str *why);

enum { LM_MOST_SLICES = 3, NAME_CAP = 64 };

/* Rows first .. first + rows - 1 of a tensor; of a vector, elements. */
struct lm_slice {
    char name[NAME_CAP]; /* of the tensor */
    const struct gguf_tensor *tensor;
    size_t first, rows, all; /* all: that the tensor must have */
    size_t head; /* rows of a head with adjacent pairs; 0: rows stay */
};

struct lm_slices {
    const struct gguf *g;
    const struct lm_arch *a;
    size_t layer;
    struct lm_slice list[LM_MOST_SLICES];
    size_t n;
};
/* Of a matrix with so many rows, one below the other. */
struct lm_slices lm_matrix_slices(const struct gguf *g,
                                  const struct lm_arch *a, size_t layer,
                                  enum lm_matrix_id id, size_t rows);
/* The row of the tensor that is row i of the slice in the model's order. */
size_t lm_slice_row(const struct lm_slice *s, size_t i);
/* The elements of a vector, of which the model has lm_vector_size(). */
xl_status lm_file_vector(const struct gguf *g, const struct lm_arch *a,
                         size_t layer, enum lm_vector_id id, float *out);

#endif
