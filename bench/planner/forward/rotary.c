/* SPDX-License-Identifier: Apache-2.0 */
/* The rotary embedding and the append to the cache: one expression, which
 * becomes one kernel, since all that it stores has the same sizes. Queries are
 * one tensor for each member of a group that shares a head of keys. */
#include <stdlib.h>

#include "base/alloc.h"
#include "planner/forward/calls.h"

/* Heads of each token, 2 x d_head / 2 numbers each: the pairs of the rotary
 * embedding are in halves. */
static xl_tensor heads_view(const struct lm_builder *b, cl_mem mem,
                            size_t offset, const size_t stride[3])
{
    const struct lm_arch *a = b->a;
    const size_t half = a->d_head / 2;
    return (xl_tensor){
        .mem = {.buf = mem},
        .offset = offset,
        .n_dims = 5,
        .size = {b->m->size.batch, b->pass->tokens, a->kv_heads, 2, half},
        .stride = {stride[0], stride[1], stride[2], half, 1},
        .dtype = b->m->size.dtype};
}

/* Among the results of the product: from head `first` on, every `step`. */
static xl_tensor product_heads(const struct lm_builder *b, size_t first,
                               size_t step)
{
    const size_t d = b->a->d_head;
    const size_t row = (b->a->heads + 2 * b->a->kv_heads) * d;
    const size_t stride[] = {b->pass->tokens * row, row, step * d};
    return heads_view(b, lm_builder_buffer(b, LM_HEADS), first * d, stride);
}

/* Among the queries that attention reads, likewise. */
static xl_tensor query_heads(const struct lm_builder *b, size_t first,
                             size_t step)
{
    const size_t d = b->a->d_head, row = b->a->heads * d;
    const size_t stride[] = {b->pass->tokens * row, row, step * d};
    return heads_view(b, lm_builder_buffer(b, LM_QUERIES), first * d, stride);
}

/* Where the keys or values of these tokens are in the cache. */
static xl_tensor cache_heads(const struct lm_builder *b, cl_mem cache)
{
    const size_t d = b->a->d_head, head = b->m->size.context * d;
    const size_t stride[] = {b->a->kv_heads * head, d, head};
    return heads_view(b, cache, b->pass->past * d, stride);
}

/* Statements that store heads x, normed by `gain` (NULL: not) and rotated, as
 * o. Source: Su et al. 2021, RoFormer; pairs as in GPT-NeoX. */
static void add_statements(struct xl__str *text, const char *x, const char *o,
                           bool rotates, const char *gain)
{
    if (gain) {
        xl__str_printf(text,
                       "n%s = %s * rsqrt(mean(%s * %s, axis=(3, 4)) + eps) * "
                       "%s;",
                       x, x, x, x, gain);
    }
    const char *n = gain ? "n" : "";
    for (unsigned half = 0; half < 2; half++) {
        xl__str_printf(text, "%s[:, :, :, %u:%u] = ", o, half, half + 1);
        if (!rotates)
            xl__str_printf(text, "%s[:, :, :, %u:%u];", x, half, half + 1);
        else
            xl__str_printf(text,
                           "%s%s[:, :, :, 0:1] * %s %c %s%s[:, :, :, 1:2] * "
                           "%s;",
                           n, x, half ? "s" : "c", half ? '+' : '-', n, x,
                           half ? "c" : "s");
    }
}

/* Queries of a group, of which key and value heads have one each. */
enum { MOST_GROUP = 12 };
static const char *const query_names[MOST_GROUP][2] = {
    {"q0", "r0"}, {"q1", "r1"}, {"q2", "r2"},   {"q3", "r3"},
    {"q4", "r4"}, {"q5", "r5"}, {"q6", "r6"},   {"q7", "r7"},
    {"q8", "r8"}, {"q9", "r9"}, {"q10", "r10"}, {"q11", "r11"}};

static void bind_heads(struct lm_call *c, const char *const names[2],
                       xl_tensor src, xl_tensor dst)
{
    const size_t one = 1;
    *lm_bind(c, names[0], NULL, XL_F32, 1, &one) = src;
    *lm_bind(c, names[1], NULL, XL_F32, 1, &one) = dst;
}

/* Gain of the norm of queries or keys; false: there is none. */
static bool bind_gain(const struct lm_builder *b, struct lm_call *c,
                      const char *name, enum lm_vector_id gain)
{
    const size_t gains[] = {2, b->a->d_head / 2};
    if (lm_vector_size(b->a, b->layer, gain) == 0)
        return false;
    lm_bind(c, name, b->m->weights.vectors, XL_F32, 2, gains)->offset =
        b->m->weights.vector[b->layer][gain];
    return true;
}

/* Rotate queries first .. first + n - 1 of each group; with the first ones
 * also rotate the keys and append keys and values to the cache, in one kernel.
 */
static void add_rotary(struct lm_builder *b, size_t first, size_t n)
{
    static const char *const keys[] = {"k", "a"}, *const values[] = {"v", "b"};
    const struct lm_arch *a = b->a;
    const size_t group = a->heads / a->kv_heads, half = a->d_head / 2;
    const size_t angles[] = {b->pass->tokens, 1, 1, half};
    const bool rotates = !a->family->learns_positions;
    struct lm_call *c = lm_add_call(b, "rotary", LM_EXPR);
    struct xl__str text = {0};
    const bool has_gain = rotates && bind_gain(b, c, "gq", LM_Q_NORM);
    for (size_t i = 0; i < n; i++) {
        bind_heads(c, query_names[i], product_heads(b, first + i, group),
                   query_heads(b, first + i, group));
        add_statements(&text, query_names[i][0], query_names[i][1], rotates,
                       has_gain ? "gq" : NULL);
    }
    if (first == 0) {
        const bool has_key_gain = rotates && bind_gain(b, c, "gk", LM_K_NORM);
        bind_heads(c, keys, product_heads(b, a->heads, 1),
                   cache_heads(b, b->m->keys[b->layer]));
        add_statements(&text, "k", "a", rotates, has_key_gain ? "gk" : NULL);
        bind_heads(c, values, product_heads(b, a->heads + a->kv_heads, 1),
                   cache_heads(b, b->m->values[b->layer]));
        add_statements(&text, "v", "b", false, NULL);
    }
    if (rotates) {
        lm_bind(c, "c", lm_builder_buffer(b, LM_COS), XL_F32, 4, angles)
            ->offset = b->pass->past * half;
        lm_bind(c, "s", lm_builder_buffer(b, LM_SIN), XL_F32, 4, angles)
            ->offset = b->pass->past * half;
    }
    if (has_gain)
        lm_bind_scalar(c, "eps", a->eps);
    if (text.broken)
        b->status = XL_NO_MEMORY;
    lm_use_expr(b, c, first == 0 ? LM_EXPR_ROTARY : LM_EXPR_ROTARY_REST,
                xl__str_text(&text));
    xl__str_clear(&text);
}

/* In as few kernels as an expression has names for; each takes as many. */
void lm_add_rotary(struct lm_builder *b)
{
    const size_t group = b->a->heads / b->a->kv_heads;
    size_t n = xl__min_size(group, MOST_GROUP);
    while (group % n != 0)
        n--;
    for (size_t first = 0; first < group; first += n)
        add_rotary(b, first, n);
}
