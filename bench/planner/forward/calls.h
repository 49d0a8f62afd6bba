/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of a pass are made with. A failure is kept; what follows it
 * does nothing. */
#ifndef CLBENCH_FORWARD_CALLS_H
#define CLBENCH_FORWARD_CALLS_H

#include "planner/forward/forward.h"

struct lm_builder {
    struct lm_model *m;
    const struct lm_arch *a;
    struct lm_pass *pass;
    size_t rows; /* tokens of all sequences */
    size_t layer;
    xl_status status; /* the first failure */
};

struct lm_call *lm_add_call(struct lm_builder *b, const char *name,
                            enum lm_kind kind);
/* Bytes of an element of activations. */
double lm_elem_bytes(const struct lm_builder *b);
cl_mem lm_builder_buffer(const struct lm_builder *b, enum lm_buffer i);
/* A buffer as dense rows. */
xl_mat lm_rows_of(const struct lm_builder *b, enum lm_buffer i, size_t cols);

/* Bind a name to a dense tensor; returns it, to be changed. */
xl_tensor *lm_bind(struct lm_call *c, const char *name, cl_mem mem,
                   xl_dtype dtype, unsigned n_dims, const size_t *size);
void lm_bind_scalar(struct lm_call *c, const char *name, double value);
/* Bind a vector of the layer; false: the model has none. */
bool lm_bind_vector(const struct lm_builder *b, struct lm_call *c,
                    const char *name, enum lm_vector_id id);
/* The epilogue of a product, with pointers into the call. */
xl_epilogue lm_call_epilogue(const struct lm_call *c);
/* Make the call an expression over its names, compiled where it is new, and
 * count its bytes. */
void lm_use_expr(struct lm_builder *b, struct lm_call *c, enum lm_expr which,
                 const char *text);

/* Rotate queries and keys, and append keys and values to the cache; attend to
 * it: attention.c */
void lm_add_rotary(struct lm_builder *b);
void lm_add_attention(struct lm_builder *b);

#endif
