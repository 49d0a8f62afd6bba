/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a language model needs on a device, and upper bounds of its
 * speed. Plain arithmetic, no device, no text. Counts are doubles, so that
 * nothing overflows; NaN is unknown. Units are bytes and seconds.
 *
 *     weights  W = params x bits / 8
 *     cache    KV = 2 x layers x kv_heads x head_dim x bits / 8 x context
 *     decode   t = max((W + B KV) / bandwidth, 2 P B / peak)
 *     prefill  t = max((2 P T + A) / peak, W / bandwidth)
 *
 * B: batch, P: active weights, T: tokens of a prompt, A: flop of attention. */
#ifndef CLBENCH_PLANNER_MODEL_H
#define CLBENCH_PLANNER_MODEL_H

#include <stdbool.h>

/* A decoder: layers of attention and an MLP, or experts instead. */
struct planner_model {
    double params;        /* all weights */
    double looked_up;     /* of them, embeddings: a token reads one row */
    double active;        /* those that one token is multiplied with */
    double experts, used; /* of a layer; of them by one token. 0: no experts */
    double layers, kv_heads, head_dim;
    double window_layers; /* of them, those that attend to `window` tokens */
    double window;
    double hidden, inner; /* widths of a token: between layers, in the MLP */
    double queries;       /* query heads x head_dim */
    double vocab;         /* 0: unknown, logits are not counted */
    double most_context;  /* tokens that the model supports; NaN: unknown */
};

/* A model, its number formats, and the sequences to process. */
struct planner_workload {
    struct planner_model model;
    double weight_bits, kv_bits; /* of one weight; of one cached number */
    double context, batch;       /* tokens of a sequence; sequences */
};

/* A device's rates, in B/s and flop/s, and its memory in bytes. */
struct planner_rates {
    double bandwidth, peak, link, memory;
};

/* -- memory --------------------------------------------------------------- */

double planner_weight_bytes(const struct planner_workload *w);
/* Keys and values of one more token, if no layer has a window. */
double planner_token_bytes(const struct planner_workload *w);
/* Keys and values of one whole sequence. */
double planner_cache_bytes(const struct planner_workload *w);
/* Tokens that are processed together: prompts are processed in chunks of at
 * most PLANNER_PROMPT_CHUNK. */
enum { PLANNER_PROMPT_CHUNK = 2048 };
double planner_tokens_in_flight(const struct planner_workload *w);
/* Bytes of an activation; of a logit. */
double planner_value_bytes(const struct planner_workload *w);
enum { PLANNER_LOGIT_BYTES = 4 };
/* Activations: tokens x 2 (hidden + inner), and the logits. */
double planner_activation_bytes(const struct planner_workload *w);
double planner_total_bytes(const struct planner_workload *w);
/* Adam in mixed precision, 16 B a parameter: weight and gradient in 16 bits;
 * weight, mean and variance in 32. */
enum { PLANNER_TRAINING_BYTES = 16 };
double planner_training_bytes(const struct planner_model *m);

/* The largest batch, and context, that fits into `memory` with everything else
 * unchanged; 0: none. */
enum { PLANNER_MOST_BATCH = 1 << 20, PLANNER_MOST_CONTEXT = 1 << 30 };
double planner_most_batch(const struct planner_workload *w, double memory);
double planner_most_context(const struct planner_workload *w, double memory);

/* -- time ----------------------------------------------------------------- */

enum planner_bound {
    PLANNER_BY_WEIGHTS,
    PLANNER_BY_CACHE,
    PLANNER_BY_COMPUTE
};

/* A step of decoding: one token for each sequence of the batch. */
struct planner_step {
    double weight_bytes; /* read in the step */
    double cache_bytes;  /* of all sequences */
    double flop;
    double memory_s, compute_s; /* NaN if the rate is unknown */
    double s; /* at least: the longer of them; NaN without a bandwidth */
    double tokens_per_s;        /* at most, of all sequences */
    double intensity;           /* flop a byte */
    enum planner_bound by;
};
struct planner_step planner_decode(const struct planner_workload *w,
                                   const struct planner_rates *r);
/* The same at another batch. */
struct planner_step planner_decode_at(const struct planner_workload *w,
                                      const struct planner_rates *r,
                                      double batch);
/* The least batch at which compute takes longer than memory; NaN: none. */
double planner_compute_bound_batch(const struct planner_workload *w,
                                   const struct planner_rates *r);

/* A prompt of w->context tokens, causal attention. */
struct planner_prompt {
    double weight_flop, attention_flop;
    double weight_bytes;
    double s; /* at least; NaN if the peak is unknown */
};
struct planner_prompt planner_prefill(const struct planner_workload *w,
                                      const struct planner_rates *r);

/* Time to copy the weights over the link. */
double planner_load_s(const struct planner_workload *w,
                      const struct planner_rates *r);
/* Flop a byte of y = W x for `batch` tokens, each operand moved once. */
double planner_linear_intensity(double out, double in, double batch,
                                double weight_bytes, double value_bytes);

#endif
