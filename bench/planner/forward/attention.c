/* SPDX-License-Identifier: Apache-2.0 */
/* The rotary embedding with the append to the cache, and attention. Queries
 * are rotated where the products left them, in LM_HEADS. */
#include <math.h>

#include "planner/forward/calls.h"

/* Heads of each token from head `first` on, of `all` in a row. */
static xl_heads token_heads(const struct lm_builder *b, enum lm_buffer i,
                            size_t first, size_t all)
{
    const size_t d = b->a->d_head, row = all * d;
    return (xl_heads){.mem = {.buf = lm_builder_buffer(b, i)},
                      .offset = first * d,
                      .stride = {b->pass->tokens * row, d, row, 1},
                      .dtype = b->m->size.dtype};
}

static xl_heads product_heads(const struct lm_builder *b, size_t first)
{
    return token_heads(b, LM_HEADS, first, b->a->heads + 2 * b->a->kv_heads);
}

static xl_heads cache_heads(const struct lm_builder *b, cl_mem cache)
{
    const size_t d = b->a->d_head, head = b->m->size.context * d;
    return (xl_heads){.mem = {.buf = cache},
                      .stride = {b->a->kv_heads * head, head, d, 1},
                      .dtype = b->m->size.dtype};
}

static xl_heads vector_heads(cl_mem mem, size_t first)
{
    return (xl_heads){.mem = {.buf = mem},
                      .offset = first,
                      .stride = {0, 0, 0, 1},
                      .dtype = XL_F32};
}

/* Norm and rotate queries and keys, and append keys and values to the cache:
 * one kernel. */
void lm_add_rotary(struct lm_builder *b)
{
    static const double flop = 3, norm_flop = 4; /* of a column */
    const struct lm_arch *a = b->a;
    const size_t *vector = b->m->weights.vector[b->layer];
    const bool is_local = a->rope_local_base > 0 && a->has_window[b->layer];
    const bool has_norm = a->family->has_qk_norm;
    struct lm_call *c = lm_add_call(b, "rotary", LM_ROTARY);
    struct lm_rotary *to = &c->of.rotary;
    to->v = product_heads(b, a->heads + a->kv_heads);
    to->v_cache = cache_heads(b, b->m->values[b->layer]);
    to->factors = vector_heads(lm_builder_buffer(b, LM_FACTORS), 0);
    to->q_norm = vector_heads(b->m->weights.vectors, vector[LM_Q_NORM]);
    to->k_norm = vector_heads(b->m->weights.vectors, vector[LM_K_NORM]);
    to->has_factors = to->factors.mem.buf && !is_local;
    to->has_norm = has_norm;
    to->r = (xl_rotary){XL_ROTARY_INIT,
                        .n_batch = b->m->size.batch,
                        .n_heads = a->heads,
                        .n_kv_heads = a->kv_heads,
                        .n_q = b->pass->tokens,
                        .n_kv = b->pass->past + b->pass->tokens,
                        .d_head = a->d_head,
                        .q = product_heads(b, 0),
                        .k = product_heads(b, a->heads),
                        .q_out = product_heads(b, 0),
                        .k_cache = cache_heads(b, b->m->keys[b->layer]),
                        .pairs = a->family->learns_positions
                                     ? XL_ROTARY_NONE
                                     : XL_ROTARY_HALVES,
                        .base = is_local ? a->rope_local_base : a->rope_base,
                        .norm_eps = has_norm ? a->eps : 0};
    const double columns = (double)b->rows * (double)a->d_head;
    c->flop = (flop + (has_norm ? norm_flop : 0)) * columns *
              (double)(a->heads + a->kv_heads);
    c->bytes = 2 * columns * (double)(a->heads + 2 * a->kv_heads) *
               lm_elem_bytes(b);
    c->sizes[0] = b->rows;
    c->sizes[1] = (a->heads + 2 * a->kv_heads) * a->d_head;
}

void lm_add_attention(struct lm_builder *b)
{
    const struct lm_arch *a = b->a;
    const size_t tokens = b->pass->tokens, n_kv = b->pass->past + tokens;
    const size_t d = a->d_head, batch = b->m->size.batch;
    const bool has_window = a->has_window[b->layer];
    struct lm_call *c = lm_add_call(b, "attention", LM_ATTENTION);
    const double pairs = lm_pairs(a, b->layer, b->pass->past, tokens);
    c->of.attention =
        (xl_attention){XL_ATTENTION_INIT,
                       .n_batch = batch,
                       .n_heads = a->heads,
                       .n_kv_heads = a->kv_heads,
                       .n_q = tokens,
                       .n_kv = n_kv,
                       .d_head = d,
                       .q = product_heads(b, 0),
                       .k = cache_heads(b, b->m->keys[b->layer]),
                       .v = cache_heads(b, b->m->values[b->layer]),
                       .o = token_heads(b, LM_ATTENDED, 0, a->heads),
                       .scale = a->attention_scale,
                       .is_causal = true,
                       .soft_cap = a->attention_cap,
                       .window = has_window ? a->window : 0};
    const double n_read =
        has_window ? fmin((double)n_kv, (double)(a->window + tokens - 1))
                   : (double)n_kv;
    c->is_product = true;
    c->flop = 4 * (double)d * pairs * (double)(batch * a->heads);
    c->bytes = 2 * (double)(batch * d) * lm_elem_bytes(b) *
               (n_read * (double)a->kv_heads + (double)(tokens * a->heads));
    c->sizes[0] = tokens;
    c->sizes[1] = n_kv;
    c->sizes[2] = d;
}
