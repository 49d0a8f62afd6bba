/* SPDX-License-Identifier: Apache-2.0 */
/* Computes memory and time bounds of a language model. model.h has the
 * formulas. A step of decoding reads the weights once for the whole batch
 * and the cache of each sequence; therefore a larger batch costs little
 * until reading the cache, or the arithmetic, takes longer than reading the
 * weights. */
#include "planner/model.h"

#include <math.h>

static const double bits_a_byte = 8;

/* -- memory --------------------------------------------------------------- */

double planner_weight_bytes(const struct planner_workload *w)
{
    return w->model.params * w->weight_bits / bits_a_byte;
}

/* Bytes of keys and values of one layer for one token. */
static double layer_bytes(const struct planner_workload *w)
{
    return 2 * w->model.kv_heads * w->model.head_dim * w->kv_bits /
           bits_a_byte;
}

double planner_token_bytes(const struct planner_workload *w)
{
    return w->model.layers * layer_bytes(w);
}

double planner_cache_bytes(const struct planner_workload *w)
{
    const struct planner_model *m = &w->model;
    const double whole = (m->layers - m->window_layers) * w->context;
    const double cut = m->window_layers * fmin(w->context, m->window);
    return layer_bytes(w) * (whole + cut);
}

double planner_tokens_in_flight(const struct planner_workload *w)
{
    return fmax(w->batch, fmin(PLANNER_PROMPT_CHUNK, w->batch * w->context));
}

double planner_value_bytes(const struct planner_workload *w)
{
    enum { HALF_BITS = 16, HALF_BYTES = 2, SINGLE_BYTES = 4 };
    return w->weight_bits > HALF_BITS ? SINGLE_BYTES : HALF_BYTES;
}

double planner_activation_bytes(const struct planner_workload *w)
{
    const struct planner_model *m = &w->model;
    return planner_tokens_in_flight(w) * 2 * (m->hidden + m->inner) *
               planner_value_bytes(w) +
           w->batch * m->vocab * PLANNER_LOGIT_BYTES;
}

double planner_total_bytes(const struct planner_workload *w)
{
    return planner_weight_bytes(w) + w->batch * planner_cache_bytes(w) +
           planner_activation_bytes(w);
}

double planner_training_bytes(const struct planner_model *m)
{
    return m->params * PLANNER_TRAINING_BYTES;
}

/* The largest integer up to `most` for which the total fits into `memory`, by
 * bisection: the total increases with *field. */
static double find_largest(struct planner_workload *w, double *field,
                           double most, double memory)
{
    double fits = 0, fails = most + 1;
    while (fails - fits > 1) {
        *field = floor((fits + fails) / 2);
        if (planner_total_bytes(w) <= memory)
            fits = *field;
        else
            fails = *field;
    }
    return fits;
}

double planner_most_batch(const struct planner_workload *w, double memory)
{
    struct planner_workload at = *w;
    return find_largest(&at, &at.batch, PLANNER_MOST_BATCH, memory);
}

double planner_most_context(const struct planner_workload *w, double memory)
{
    struct planner_workload at = *w;
    return find_largest(&at, &at.context, PLANNER_MOST_CONTEXT, memory);
}

/* -- time ----------------------------------------------------------------- */

/* Weights that a step reads. Of the experts, those that at least one token of
 * the batch uses, if each token selects experts independently with equal
 * probability: used / experts = p, so a share (1 - p)^batch is not read. */
static double streamed_params(const struct planner_workload *w)
{
    const struct planner_model *m = &w->model;
    const double all = m->params - m->looked_up;
    if (!(m->experts > 0))
        return all;
    const double share = m->used / m->experts;
    const double in_experts = (all - m->active) / (1 - share);
    const double missed = pow(1 - share, w->batch);
    return all - in_experts * missed;
}

struct planner_step planner_decode(const struct planner_workload *w,
                                   const struct planner_rates *r)
{
    struct planner_step out = {
        .weight_bytes = streamed_params(w) * w->weight_bits / bits_a_byte,
        .cache_bytes = w->batch * planner_cache_bytes(w),
        .flop = 2 * w->model.active * w->batch};
    const double bytes = out.weight_bytes + out.cache_bytes;
    out.memory_s = bytes / r->bandwidth;
    out.compute_s = out.flop / r->peak;
    out.s = isnan(out.memory_s) ? out.memory_s
                                : fmax(out.memory_s, out.compute_s);
    out.tokens_per_s = w->batch / out.s;
    out.intensity = out.flop / bytes;
    out.by = out.compute_s > out.memory_s         ? PLANNER_BY_COMPUTE
             : out.cache_bytes > out.weight_bytes ? PLANNER_BY_CACHE
                                                  : PLANNER_BY_WEIGHTS;
    return out;
}

struct planner_step planner_decode_at(const struct planner_workload *w,
                                      const struct planner_rates *r,
                                      double batch)
{
    struct planner_workload at = *w;
    at.batch = batch;
    return planner_decode(&at, r);
}

/* Bisection: compute time grows linearly with the batch, the bytes of the
 * weights ever less, so once compute takes longer it does at every larger
 * batch. */
double planner_compute_bound_batch(const struct planner_workload *w,
                                   const struct planner_rates *r)
{
    double memory = 0, compute = PLANNER_MOST_BATCH;
    if (planner_decode_at(w, r, compute).by != PLANNER_BY_COMPUTE)
        return (double)NAN;
    while (compute - memory > 1) {
        const double batch = floor((memory + compute) / 2);
        if (planner_decode_at(w, r, batch).by == PLANNER_BY_COMPUTE)
            compute = batch;
        else
            memory = batch;
    }
    return compute;
}

/* Pairs of a token and one it attends to: half of a square, plus a strip of
 * width `window`. */
static double attention_pairs(double tokens, double window)
{
    const double square = fmin(tokens, window);
    return square * square / 2 + (tokens - square) * square;
}

struct planner_prompt planner_prefill(const struct planner_workload *w,
                                      const struct planner_rates *r)
{
    /* two products (scores, values), 2 flop a term */
    static const double flop_a_pair = 4;
    const struct planner_model *m = &w->model;
    const double seen =
        (m->layers - m->window_layers) *
            attention_pairs(w->context, w->context) +
        m->window_layers * attention_pairs(w->context, m->window);
    struct planner_workload all = *w;
    all.batch = w->context; /* each token of a prompt selects experts */
    struct planner_prompt out = {
        .weight_flop = 2 * m->active * w->context,
        .attention_flop = flop_a_pair * m->queries * seen,
        .weight_bytes = streamed_params(&all) * w->weight_bits / bits_a_byte};
    const double compute_s =
        (out.weight_flop + out.attention_flop) / r->peak;
    out.s = isnan(compute_s)
                ? compute_s
                : fmax(compute_s, out.weight_bytes / r->bandwidth);
    return out;
}

double planner_load_s(const struct planner_workload *w,
                      const struct planner_rates *r)
{
    return planner_weight_bytes(w) / r->link;
}

double planner_linear_intensity(double out, double in, double batch,
                                double weight_bytes, double value_bytes)
{
    return 2 * out * in * batch /
           (out * in * weight_bytes + batch * (in + out) * value_bytes);
}
