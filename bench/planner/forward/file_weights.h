/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a file of ggml in device memory. */
#ifndef CLBENCH_FORWARD_FILE_WEIGHTS_H
#define CLBENCH_FORWARD_FILE_WEIGHTS_H

#include "planner/forward/file_tensors.h"
#include "planner/forward/weights.h"

/* The type of a matrix in a file that lm_file_read_arch() has read. */
struct lm_type lm_file_type(const struct gguf *g, const struct lm_arch *a,
                            size_t layer, enum lm_matrix_id id);
/* Write a matrix into its buffer: as it is stored, or, where m->type is
 * another, as its values. */
xl_status lm_file_write(xl_queue *q, const struct gguf *g,
                        const struct lm_arch *a, size_t layer,
                        enum lm_matrix_id id, const struct lm_matrix *m);

#endif
