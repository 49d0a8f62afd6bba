/* SPDX-License-Identifier: Apache-2.0 */
/* The forward pass of a language model as calls of the library. A pass takes
 * `tokens` new tokens of each sequence behind `past` ones: a prompt, or with 1
 * a step of decoding, which takes the token that the pass before it chose. */
#ifndef CLBENCH_FORWARD_FORWARD_H
#define CLBENCH_FORWARD_FORWARD_H

#include <crosslane/crosslane.h>

#include "planner/forward/weights.h"

/* What is run. */
struct lm_size {
    size_t batch, context; /* sequences, tokens that the cache holds */
    size_t prompt;         /* tokens of the longest pass */
    xl_dtype dtype;        /* of activations and of the cache */
    xl_activations activations; /* of products with quantised weights */
    xl_accuracy accuracy;       /* likewise: XL_ACCURACY_FAST or FULL */
};

/* Bytes in device memory. */
struct lm_bytes {
    double weights, cache, activations;
    double weight_bits; /* of a weight of products, in the mean */
};
xl_status lm_bytes(const struct lm_arch *a, const struct lm_source *src,
                   const struct lm_size *size, struct lm_bytes *out);
static inline double lm_bytes_sum(const struct lm_bytes *b)
{
    return b->weights + b->cache + b->activations;
}

/* Buffers of activations. */
enum lm_buffer {
    LM_X,       /* between layers */
    LM_N,       /* normed */
    LM_HEADS,   /* queries, keys and values of each token */
    LM_ATTENDED,
    LM_MLP,
    LM_Y,      /* of a sublayer, where a norm follows it */
    LM_LOGITS, /* f32, of the last token of each sequence */
    LM_IDS,    /* i32, of the prompt */
    LM_NEXT,   /* i32, the token that was chosen for each sequence */
    LM_FACTORS, /* f32, d_head / 2: by which frequencies are divided */
    LM_BUFFERS
};

/* Expressions, compiled at their first use; one for each length of a pass. */
enum lm_expr {
    LM_EXPR_EMBED,
    LM_EXPR_ADD,
    LM_EXPR_CHOOSE,
    LM_EXPRS
};

struct lm_model {
    xl_queue *q;
    const struct lm_arch *arch;
    struct lm_size size;
    struct lm_weights weights;
    cl_mem buffer[LM_BUFFERS];
    cl_mem *keys, *values;      /* of each layer: batch x kv_heads x context x
                                   d_head */
    xl_expr *expr[2][LM_EXPRS]; /* of steps of decoding; of prompts */
};
/* Allocate all, fill weights and tables. Clear it also after a failure. */
xl_status lm_model_create(xl_queue *q, const struct lm_arch *a,
                          const struct lm_source *src,
                          const struct lm_size *size, struct lm_model *out);
void lm_model_clear(struct lm_model *m);
/* Other sizes with the same weights: all but these is allocated again. */
xl_status lm_model_resize(struct lm_model *m, const struct lm_size *size);
/* Write the prompt's ids, batch x tokens. */
xl_status lm_model_write_ids(struct lm_model *m, const int *ids, size_t n);

enum lm_kind { LM_GEMM, LM_QGEMM, LM_NORM, LM_ROTARY, LM_ATTENTION, LM_EXPR };
enum { LM_NAMES = XL_EXPR_MAX_BINDINGS };

/* A descriptor and what it points to. */
struct lm_rotary {
    xl_rotary r;
    xl_heads v, v_cache, factors, q_norm, k_norm;
    bool has_factors, has_norm;
};

/* A call. The pointers of the descriptors are set when it is run. */
struct lm_call {
    const char *name; /* "qkv"; calls of one name do the same in each layer */
    enum lm_kind kind;
    union {
        xl_gemm gemm;
        xl_qgemm qgemm;
        xl_norm norm;
        struct lm_rotary rotary;
        xl_attention attention;
        const xl_expr *expr;
    } of;
    char epilogue[64];
    xl_binding names[LM_NAMES];
    unsigned n_names;
    double flop, bytes; /* each operand once */
    bool is_product;    /* its flop can be a matrix engine's */
    size_t sizes[3];    /* m n k; rows cols; queries keys columns; 0: none */
};

struct lm_pass {
    size_t tokens, past;
    struct lm_call *list;
    size_t n, cap;
    xl_record *record; /* NULL: calls are made */
};
/* Make the calls; expressions are compiled. Clear it also after a failure. */
xl_status lm_pass_build(struct lm_model *m, size_t tokens, size_t past,
                        struct lm_pass *out);
void lm_pass_clear(struct lm_pass *p);
/* From now on all calls together are replayed. */
xl_status lm_pass_record(xl_queue *q, struct lm_pass *p);
/* Enqueue the calls of this name; NULL: all. */
xl_status lm_pass_run(xl_queue *q, const struct lm_pass *p, const char *name);

#endif
