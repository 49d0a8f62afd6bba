/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic. A step of decoding streams the weights once for the whole
 * batch and each sequence's own cache; so a larger batch costs little until
 * the cache or the arithmetic takes longer than the weights. */
#include "planner/model.h"

#include <math.h>

static const double bits_a_byte = 8;

/* -- memory --------------------------------------------------------------- */

double plan_weight_bytes(const struct plan_work *w)
{
    return w->model.params * w->weight_bits / bits_a_byte;
}

/* Keys and values of one layer, one token. */
static double layer_bytes(const struct plan_work *w)
{
    return 2 * w->model.kv_heads * w->model.head_dim * w->kv_bits /
           bits_a_byte;
}

double plan_token_bytes(const struct plan_work *w)
{
    return w->model.layers * layer_bytes(w);
}

double plan_cache_bytes(const struct plan_work *w)
{
    const struct plan_model *m = &w->model;
    const double whole = (m->layers - m->window_layers) * w->context;
    const double cut = m->window_layers * fmin(w->context, m->window);
    return layer_bytes(w) * (whole + cut);
}

double plan_tokens_in_flight(const struct plan_work *w)
{
    return fmax(w->batch, fmin(PLAN_PIECE, w->batch * w->context));
}

double plan_value_bytes(const struct plan_work *w)
{
    enum { HALF_BITS = 16, HALF_BYTES = 2, SINGLE_BYTES = 4 };
    return w->weight_bits > HALF_BITS ? SINGLE_BYTES : HALF_BYTES;
}

double plan_activation_bytes(const struct plan_work *w)
{
    const struct plan_model *m = &w->model;
    return plan_tokens_in_flight(w) * 2 * (m->hidden + m->inner) *
               plan_value_bytes(w) +
           w->batch * m->vocab * PLAN_LOGIT_BYTES;
}

double plan_total_bytes(const struct plan_work *w)
{
    return plan_weight_bytes(w) + w->batch * plan_cache_bytes(w) +
           plan_activation_bytes(w);
}

double plan_training_bytes(const struct plan_model *m)
{
    return m->params * PLAN_TRAINING_BYTES;
}

/* The largest whole number up to `most` for which it fits, by halving: what
 * is needed grows with either. */
static double largest(struct plan_work *w, double *field, double most,
                      double memory)
{
    double fits = 0, fails = most + 1;
    while (fails - fits > 1) {
        *field = floor((fits + fails) / 2);
        if (plan_total_bytes(w) <= memory)
            fits = *field;
        else
            fails = *field;
    }
    return fits;
}

double plan_most_batch(const struct plan_work *w, double memory)
{
    struct plan_work at = *w;
    return largest(&at, &at.batch, PLAN_MOST_BATCH, memory);
}

double plan_most_context(const struct plan_work *w, double memory)
{
    struct plan_work at = *w;
    return largest(&at, &at.context, PLAN_MOST_CONTEXT, memory);
}

/* -- time ----------------------------------------------------------------- */

/* Weights that a step reads. Of experts, those that at least one of the
 * batch's tokens was sent to, each token by itself and to all alike. */
static double streamed_params(const struct plan_work *w)
{
    const struct plan_model *m = &w->model;
    const double all = m->params - m->looked_up;
    if (!(m->experts > 0))
        return all;
    const double share = m->used / m->experts;
    const double in_experts = (all - m->active) / (1 - share);
    const double missed = pow(1 - share, w->batch);
    return all - in_experts * missed;
}

struct plan_step plan_decode(const struct plan_work *w,
                             const struct plan_rates *r)
{
    struct plan_step out = {
        .weight_bytes = streamed_params(w) * w->weight_bits / bits_a_byte,
        .cache_bytes = w->batch * plan_cache_bytes(w),
        .flop = 2 * w->model.active * w->batch};
    const double bytes = out.weight_bytes + out.cache_bytes;
    out.memory_s = bytes / r->bandwidth;
    out.compute_s = out.flop / r->peak;
    out.s = isnan(out.memory_s) ? out.memory_s
                                : fmax(out.memory_s, out.compute_s);
    out.tokens_per_s = w->batch / out.s;
    out.intensity = out.flop / bytes;
    out.by = out.compute_s > out.memory_s         ? PLAN_BY_COMPUTE
             : out.cache_bytes > out.weight_bytes ? PLAN_BY_CACHE
                                                  : PLAN_BY_WEIGHTS;
    return out;
}

struct plan_step plan_decode_at(const struct plan_work *w,
                                const struct plan_rates *r, double batch)
{
    struct plan_work at = *w;
    at.batch = batch;
    return plan_decode(&at, r);
}

/* Compute grows with the batch, the bytes of weights ever less: once compute
 * takes longer, it does so at every larger batch. */
double plan_turn(const struct plan_work *w, const struct plan_rates *r)
{
    double memory = 0, compute = PLAN_MOST_BATCH;
    if (plan_decode_at(w, r, compute).by != PLAN_BY_COMPUTE)
        return (double)NAN;
    while (compute - memory > 1) {
        const double batch = floor((memory + compute) / 2);
        if (plan_decode_at(w, r, batch).by == PLAN_BY_COMPUTE)
            compute = batch;
        else
            memory = batch;
    }
    return compute;
}

/* Pairs of a token and one that it sees: half of a square, and behind the
 * window a strip. */
static double pairs(double tokens, double window)
{
    const double square = fmin(tokens, window);
    return square * square / 2 + (tokens - square) * square;
}

struct plan_fill plan_prefill(const struct plan_work *w,
                              const struct plan_rates *r)
{
    /* Two products, of scores and of values, two flop a term. */
    static const double flop_a_pair = 4;
    const struct plan_model *m = &w->model;
    const double seen =
        (m->layers - m->window_layers) * pairs(w->context, w->context) +
        m->window_layers * pairs(w->context, m->window);
    struct plan_work all = *w;
    all.batch = w->context; /* a prompt's tokens choose experts, too */
    struct plan_fill out = {
        .weight_flop = 2 * m->active * w->context,
        .attention_flop = flop_a_pair * m->queries * seen,
        .weight_bytes =
            streamed_params(&all) * w->weight_bits / bits_a_byte};
    const double compute_s =
        (out.weight_flop + out.attention_flop) / r->peak;
    out.s = isnan(compute_s)
                ? compute_s
                : fmax(compute_s, out.weight_bytes / r->bandwidth);
    return out;
}

double plan_load_s(const struct plan_work *w, const struct plan_rates *r)
{
    return plan_weight_bytes(w) / r->link;
}

double plan_linear_intensity(double out, double in, double batch,
                             double weight_bytes, double value_bytes)
{
    return 2 * out * in * batch /
           (out * in * weight_bytes + batch * (in + out) * value_bytes);
}
