/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a model in device memory, those of a file, or made from a
 * seed: normal numbers of deviation 1 / sqrt(hidden), quantised on the host
 * once and repeated. The number of 256-element pieces that repeat is prime, so
 * that rows do not. */
#ifndef CLBENCH_FORWARD_WEIGHTS_H
#define CLBENCH_FORWARD_WEIGHTS_H

#include <crosslane/crosslane.h>

#include "planner/forward/architecture.h"
#include "planner/gguf/container.h"

/* How weights are stored. */
struct lm_type {
    bool is_quantised;
    xl_dtype dtype; /* where they are not quantised */
    xl_qformat format;
    size_t group;      /* of XL_INT4 and XL_FP8, whose 0 is a row */
    size_t group_rows; /* of XL_FP8 */
    double bits;  /* of a weight, with scales and zeros */
};
/* "f16", "q4_0", "int4/128", "fp8" (blocks of 128 x 128), "fp8/channel", ...;
 * false: *why. */
bool lm_type_read(const char *text, struct lm_type *out, struct xl__str *why);
/* The bytes of a matrix. XL_BAD_SHAPE: its columns are not whole blocks or
 * groups. */
xl_status lm_type_bytes(const struct lm_type *t, size_t rows, size_t cols,
                        xl_qbytes *out);

/* Where weights come from. */
struct lm_source {
    const struct gguf *file; /* NULL: made from the seed, in this type */
    struct lm_type type;
    uint64_t seed;
};
/* Why making weights failed: the file's reason, else the queue's. */
const char *lm_source_failure(const struct lm_source *src, const xl_queue *q);
/* The type of a product's matrix. */
struct lm_type lm_source_type(const struct lm_source *src,
                              const struct lm_arch *a, size_t layer,
                              enum lm_matrix_id id);

struct lm_matrix {
    size_t rows, cols; /* 0: the model has none */
    struct lm_type type;
    cl_mem mem[3]; /* elements or blocks, scales, zeros */
    size_t first[3]; /* bytes before it: of a gate those of LM_UP, if it is
                        below that in one memory, a pair (xl_qgemm.is_pair) */
};
/* The view of a quantised matrix. */
xl_qmat lm_matrix_view(const struct lm_matrix *m);
/* Its values, row by row, as the format defines them. */
xl_status lm_matrix_read(xl_queue *q, const struct lm_matrix *m, double *out);

struct lm_weights {
    struct lm_type table_type;                     /* of tables: floats */
    struct lm_matrix (*matrix)[LM_LAYER_MATRICES]; /* layers + 1 of them */
    size_t (*vector)[LM_LAYER_VECTORS]; /* the first element of each */
    cl_mem vectors;                     /* f32, all of them */
    size_t n_vector_elems;
};
/* Bytes of all weights, and bits of a weight of the products in the mean. */
xl_status lm_weights_bytes(const struct lm_arch *a,
                           const struct lm_source *src, xl_dtype table_type,
                           double *bytes, double *bits);
/* Allocate and fill. Clear them also after a failure. */
xl_status lm_weights_create(xl_queue *q, const struct lm_arch *a,
                            const struct lm_source *src, xl_dtype table_type,
                            struct lm_weights *out);
/* Enqueue: fill `bytes` of dst, from byte `to` on, with the `all` bytes of
 * src, from byte `from` on, again and again. */
xl_status lm_repeat(xl_queue *q, cl_mem src, size_t all, size_t from,
                    cl_mem dst, size_t to, size_t bytes);
void lm_weights_clear(const struct lm_arch *a, struct lm_weights *w);

#endif
