/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files of ggml, byte by byte, and with a small model in them. */
#ifndef XL_TESTS_GGUF_FILE_H
#define XL_TESTS_GGUF_FILE_H

#include <stdint.h>

#include "base/str.h"
#include "planner/forward/architecture.h"

struct gguf_file {
    struct xl__str values, tensors, data;
    uint64_t n_values, n_tensors;
    uint32_t version;
    size_t alignment;
};
void gguf_file_begin(struct gguf_file *f, uint32_t version, size_t alignment);
void gguf_file_u32(struct gguf_file *f, const char *key, uint32_t x);
void gguf_file_f32(struct gguf_file *f, const char *key, float x);
void gguf_file_text(struct gguf_file *f, const char *key, const char *text);
/* A tensor of `rows` (0: a vector) of `cols` elements, `type` a ggml_type. */
void gguf_file_tensor(struct gguf_file *f, const char *name, uint64_t rows,
                      uint64_t cols, uint32_t type, const void *data,
                      size_t bytes);
/* All bytes; the writer is empty afterwards. */
void gguf_file_end(struct gguf_file *f, struct xl__str *out);

/* A model of two layers. */
struct gguf_model {
    const char *arch;
    size_t hidden, heads, kv_heads, d_head, inner, vocab;
    /* formats: of queries and keys, values, all others, the embedding, the
     * head (NULL: the embedding) */
    const char *q, *v, *other, *table, *head;
    uint32_t version;
    double linear; /* the factor of positions; 0: none */
    bool has_divisors;
};
enum { GGUF_MODEL_LAYERS = 2, GGUF_MODEL_POSITIONS = 16 };
/* What the weights are, in the order of config.json's world: pairs of the
 * rotary embedding in halves. NULL: the model has none. */
struct gguf_truth {
    double *matrix[GGUF_MODEL_LAYERS + 1][LM_LAYER_MATRICES];
    float *vector[GGUF_MODEL_LAYERS + 1][LM_LAYER_VECTORS];
};
void gguf_model_write(const struct gguf_model *m, uint64_t seed,
                      struct xl__str *out, struct gguf_truth *truth);
void gguf_truth_clear(struct gguf_truth *t);

#endif
