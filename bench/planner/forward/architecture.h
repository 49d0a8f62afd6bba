/* SPDX-License-Identifier: Apache-2.0 */
/* What a language model computes: sizes and kinds of its layers, from the
 * fields of config.json, and the list of its weights. A layer is
 *
 *     x = x + [norm] attention(rotary(qkv(norm(x))))
 *     x = x + [norm] down(act(gate(n)) * up(n)),  n = norm(x)
 *
 * Families differ in the kind of norm, in norms after a sublayer, in biases,
 * in norms of queries and keys, in positions, and in the activation. */
#ifndef CLBENCH_FORWARD_ARCHITECTURE_H
#define CLBENCH_FORWARD_ARCHITECTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/norm.h>
#include <jansson.h>

#include "base/str.h"
#include "planner/model.h"

enum {
    LM_MOST_LAYERS = 512,
    LM_MOST_SIZE = 1 << 20,
    LM_MOST_HEAD = 256 /* columns */
};

/* What the families differ in. */
struct lm_family {
    const char *type; /* "model_type" of config.json */
    const char *name; /* "Llama" */
    xl_norm_kind norm;
    const char *act; /* a function of expressions: "silu" */
    bool is_gated;   /* the MLP has a gate */
    bool has_biases; /* of norms and of all products */
    bool has_qkv_bias;
    bool has_qk_norm;      /* RMS norms of each query and key */
    bool has_post_norms;   /* norms after each sublayer */
    bool scales_embedding; /* by sqrt(hidden) */
    bool learns_positions; /* a table of positions, no rotary embedding */
    double eps;            /* where config.json has none */
};

struct lm_arch {
    const struct lm_family *family;
    size_t layers, hidden, heads, kv_heads, d_head, inner, vocab;
    size_t positions; /* that it supports; 0: any number */
    size_t
        layers_of_model; /* of the whole model, of which `layers` are used */
    double eps, rope_base;
    double rope_local_base; /* of layers with a window, whose frequencies are
                               not divided; 0: as of the others */
    double attention_scale;
    double attention_cap, logit_cap; /* 0: none */
    size_t window;                   /* 0: none */
    bool has_window[LM_MOST_LAYERS];
    /* of the frequency of each pair of the rotary embedding */
    double rope_divisor[LM_MOST_HEAD / 2];
    bool scales_rope; /* some are not 1 */
    /* Are keys and values matrices of their own, as where their formats
     * differ from that of the queries? */
    bool splits_qkv[LM_MOST_LAYERS];
};

/* Read the fields; at most `layers` layers (0: all). False: *why. */
bool lm_arch_read(const json_t *config, size_t layers, struct lm_arch *out,
                  struct xl__str *why);

/* The matrices of a layer, and behind the last layer those of the model. A
 * matrix is stored row by row; a row is an output channel. */
enum lm_matrix_id {
    LM_QKV, /* queries, keys and values, one below the other; or queries */
    LM_KEYS,
    LM_VALUES,
    LM_OUT,
    LM_UP,
    LM_GATE, /* behind LM_UP */
    LM_DOWN,
    LM_LAYER_MATRICES,
    LM_EMBEDDING = 0,
    LM_POSITIONS,
    LM_HEAD
};
/* Its sizes; false: this model has none. */
bool lm_matrix_sizes(const struct lm_arch *a, size_t layer,
                     enum lm_matrix_id id, size_t *rows, size_t *cols);
/* The embedding and the positions: rows are looked up, never multiplied. */
bool lm_is_table(const struct lm_arch *a, size_t layer, enum lm_matrix_id id);

/* The vectors of a layer; behind the last layer NORM1 and its bias are the
 * last norm's. */
enum lm_vector_id {
    LM_NORM1,
    LM_NORM1_BIAS,
    LM_QKV_BIAS,
    LM_Q_NORM,
    LM_K_NORM,
    LM_OUT_BIAS,
    LM_POST1,
    LM_NORM2,
    LM_NORM2_BIAS,
    LM_UP_BIAS,
    LM_DOWN_BIAS,
    LM_POST2,
    LM_LAYER_VECTORS
};
/* Its elements; 0: this model has none. */
size_t lm_vector_size(const struct lm_arch *a, size_t layer,
                      enum lm_vector_id id);
/* Gains of norms are near 1, biases near 0. */
bool lm_is_gain(enum lm_vector_id id);

/* The same model for the arithmetic of `clbench plan`, with the weights
 * counted as they are here. */
void lm_arch_plan(const struct lm_arch *a, struct planner_model *out);
/* Keys that the last of `n` queries behind `past` tokens, and all of them
 * together, see in a layer. */
double lm_pairs(const struct lm_arch *a, size_t layer, size_t past, size_t n);

#endif
