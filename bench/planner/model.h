/* SPDX-License-Identifier: Apache-2.0 */
/* What a language model needs of a device, and how fast it can be at most:
 * plain arithmetic, no device, no text. Counts are doubles, so that nothing
 * overflows; NaN is unknown. Bytes and seconds throughout. */
#ifndef CLBENCH_PLAN_MODEL_H
#define CLBENCH_PLAN_MODEL_H

#include <stdbool.h>

/* A decoder: layers of attention and an MLP, or experts in its place. */
struct plan_model {
    double params;        /* all weights */
    double looked_up;     /* of them, those of which a token reads one line */
    double active;        /* those that one token is multiplied with */
    double experts, used; /* of a layer; of them by one token. 0: no experts */
    double layers, kv_heads, head_dim;
    double window_layers; /* of them, those that look back `window` tokens */
    double window;
    double hidden, inner; /* widths of a token: between layers, in the MLP */
    double queries;       /* query heads x head_dim */
    double vocab;         /* 0: unknown, logits are left out */
    double most_context;  /* tokens that it was made for; NaN: unknown */
};

/* A model as it is stored, and what is asked of it. */
struct plan_work {
    struct plan_model model;
    double weight_bits, kv_bits; /* of one weight; of one cached number */
    double context, batch;       /* tokens of a sequence; sequences */
};

/* A device's rates, in B/s and flop/s, and its memory. */
struct plan_rates {
    double bandwidth, peak, link, memory;
};

/* -- memory --------------------------------------------------------------- */

double plan_weight_bytes(const struct plan_work *w);
/* Keys and values that one more token adds where no layer has a window. */
double plan_token_bytes(const struct plan_work *w);
/* Those of one whole sequence. */
double plan_cache_bytes(const struct plan_work *w);
/* Tokens that go through the layers together: prompts are filled in pieces
 * of at most PLAN_PIECE. */
enum { PLAN_PIECE = 2048 };
double plan_tokens_in_flight(const struct plan_work *w);
/* Of an activation, and of a logit. */
double plan_value_bytes(const struct plan_work *w);
enum { PLAN_LOGIT_BYTES = 4 };
/* What they hold at once: tokens x 2 (hidden + inner), and the logits. */
double plan_activation_bytes(const struct plan_work *w);
double plan_total_bytes(const struct plan_work *w);
/* Adam in mixed precision, 16 B a parameter: weight and gradient in 16 bits;
 * weight, mean and variance in 32. */
enum { PLAN_TRAINING_BYTES = 16 };
double plan_training_bytes(const struct plan_model *m);

/* Limits of what the two below look for. */
enum { PLAN_MOST_BATCH = 1 << 20, PLAN_MOST_CONTEXT = 1 << 30 };
/* The largest that fits, all else as it is; 0: none does. */
double plan_most_batch(const struct plan_work *w, double memory);
double plan_most_context(const struct plan_work *w, double memory);

/* -- time ----------------------------------------------------------------- */

enum plan_bound { PLAN_BY_WEIGHTS, PLAN_BY_CACHE, PLAN_BY_COMPUTE };

/* A step: one token for each sequence of the batch. */
struct plan_step {
    double weight_bytes; /* read in the step */
    double cache_bytes;  /* of all sequences */
    double flop;
    double memory_s, compute_s; /* NaN where the rate is unknown */
    double s; /* at least: the longer of them; NaN without a bandwidth */
    double tokens_per_s;        /* at most, of all sequences */
    double intensity;           /* flop a byte */
    enum plan_bound by;
};
struct plan_step plan_decode(const struct plan_work *w,
                             const struct plan_rates *r);
/* The same at another batch. */
struct plan_step plan_decode_at(const struct plan_work *w,
                                const struct plan_rates *r, double batch);
/* The least batch at which compute takes longer than memory; NaN: none. */
double plan_turn(const struct plan_work *w, const struct plan_rates *r);

/* A prompt of w->context tokens, causal. */
struct plan_fill {
    double weight_flop, attention_flop;
    double weight_bytes;
    double s; /* at least; NaN where the peak is unknown */
};
struct plan_fill plan_prefill(const struct plan_work *w,
                              const struct plan_rates *r);

double plan_load_s(const struct plan_work *w, const struct plan_rates *r);
/* Flop a byte of y = W x for `batch` tokens, each operand moved once. */
double plan_linear_intensity(double out, double in, double batch,
                             double weight_bytes, double value_bytes);

#endif
