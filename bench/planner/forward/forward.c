/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a pass. Residuals, biases, the gate's activation and product
 * and the cap of logits are epilogues of products, few rows are normed by the
 * products that read them, and multiplied by gate and up in one launch where
 * that is no slower; the embedding and the choice of the next token
 * are expressions. */
#include "planner/forward/calls.h"

#include <math.h>

#include "base/alloc.h"

/* -- products and norms ----------------------------------------------------
 */

static xl_mat vector_view(const struct lm_builder *b, enum lm_vector_id id)
{
    const size_t n = lm_vector_size(b->a, b->layer, id);
    xl_mat view = {.dtype = XL_F32};
    if (n > 0)
        view = xl_mat_rows(b->m->weights.vectors, n, XL_F32);
    view.offset = b->m->weights.vector[b->layer][id];
    return view;
}

/* dst = epilogue(src W^T): rows of `src` and `dst` are dense. */
static struct lm_call *add_product(struct lm_builder *b, const char *name,
                                   const struct lm_matrix *w, size_t rows,
                                   xl_mat src, xl_mat dst)
{
    struct lm_call *c =
        lm_add_call(b, name, w->type.is_quantised ? LM_QGEMM : LM_GEMM);
    xl_qbytes bytes = {0};
    if (c->kind == LM_QGEMM)
        c->of.qgemm = (xl_qgemm){XL_QGEMM_INIT,
                                 .m = rows,
                                 .a = src,
                                 .w = lm_matrix_view(w),
                                 .c = dst,
                                 .accuracy = b->m->size.accuracy,
                                 .activations = b->m->size.activations};
    else
        c->of.gemm = (xl_gemm){
            XL_GEMM_INIT, .m = rows,
            .n = w->rows, .k = w->cols,
            .a = src,     .b = xl_mat_cols(w->mem[0], w->cols, w->type.dtype),
            .c = dst,     .alpha = 1};
    (void)lm_type_bytes(&w->type, w->rows, w->cols, &bytes);
    c->is_product = true;
    c->flop = 2 * (double)rows * (double)w->rows * (double)w->cols;
    c->bytes =
        (double)bytes.blocks + (double)bytes.scales + (double)bytes.zeros +
        (double)rows * ((double)w->cols * (double)xl_dtype_bytes(src.dtype) +
                        (double)w->rows * (double)xl_dtype_bytes(dst.dtype));
    c->sizes[0] = rows;
    c->sizes[1] = w->rows;
    c->sizes[2] = w->cols;
    return c;
}

/* Epilogue "y + bias + x", of what there is. */
static void add_residual(struct lm_builder *b, struct lm_call *c,
                         enum lm_vector_id bias, bool has_residual)
{
    const size_t shape[] = {b->rows, b->a->hidden};
    const bool has_bias = lm_bind_vector(b, c, "bias", bias);
    xl__strcpy(c->epilogue, sizeof c->epilogue,
               has_bias && has_residual ? "y + bias + x"
               : has_bias               ? "y + bias"
               : has_residual           ? "y + x"
                                        : "");
    if (!has_residual)
        return;
    lm_bind(c, "x", lm_builder_buffer(b, LM_X), b->m->size.dtype, 2, shape);
    c->bytes += (double)b->rows * (double)b->a->hidden * lm_elem_bytes(b);
}

/* Returns the number of the call. */
static size_t add_norm(struct lm_builder *b, const char *name, size_t rows,
                       xl_mat src, enum lm_vector_id gain)
{
    const size_t at = b->pass->n;
    struct lm_call *c = lm_add_call(b, name, LM_NORM);
    const enum lm_vector_id bias = (enum lm_vector_id)(gain + 1);
    c->of.norm = (xl_norm){XL_NORM_INIT,
                           .rows = rows,
                           .cols = b->a->hidden,
                           .src = src,
                           .dst = lm_rows_of(b, LM_N, b->a->hidden),
                           .kind = b->a->family->norm,
                           .eps = b->a->eps,
                           .scale = vector_view(b, gain),
                           .bias = vector_view(b, bias)};
    c->bytes = 2 * (double)rows * (double)b->a->hidden * lm_elem_bytes(b);
    c->sizes[0] = rows;
    c->sizes[1] = b->a->hidden;
    return at;
}

/* The product with the norm of what it reads; false: not in its kernel, which
 * would need the workspace for it. */
static bool takes_norm(struct lm_builder *b, struct lm_call *c,
                       const xl_norm *norm)
{
    size_t bytes = 0;
    if (c->kind != LM_QGEMM)
        return false;
    xl_qgemm g = c->of.qgemm;
    g.a = norm->src;
    g.norm = (xl_qgemm_norm){XL_QGEMM_NORM_RMS, norm->scale, norm->eps};
    g.epilogue = lm_call_epilogue(c);
    return xl_qgemm_workspace(b->m->q, &g, &bytes) == XL_OK && bytes == 0;
}

/* Leave the norm that is call `at` to the products behind it, if each takes it
 * into its kernel: a launch less. */
static void join_norm(struct lm_builder *b, size_t at)
{
    enum { MOST_ROWS = 8 };
    struct lm_pass *p = b->pass;
    if (b->status != XL_OK)
        return;
    const xl_norm norm = p->list[at].of.norm;
    if (norm.kind != XL_NORM_RMS || norm.rows > MOST_ROWS)
        return;
    for (size_t i = at + 1; i < p->n; i++)
        if (!takes_norm(b, &p->list[i], &norm))
            return;
    for (size_t i = at + 1; i < p->n; i++) {
        struct lm_call *c = &p->list[i];
        c->of.qgemm.a = norm.src;
        c->of.qgemm.norm =
            (xl_qgemm_norm){XL_QGEMM_NORM_RMS, norm.scale, norm.eps};
        c->bytes +=
            (double)norm.cols * (double)xl_dtype_bytes(norm.scale.dtype);
        p->list[i - 1] = *c;
    }
    p->n--;
}

/* What the library expects of a product, which it builds; NaN: it has none. */
static double expected_ns(struct lm_builder *b, const struct lm_call *c)
{
    xl_choice best = {.est_ns = (double)NAN};
    unsigned n;
    xl_qgemm g = c->of.qgemm;
    g.epilogue = lm_call_epilogue(c);
    return xl_qgemm_explain(b->m->q, &g, &best, 1, &n) == XL_OK ? best.est_ns
                                                                : (double)NAN;
}

/* Make calls `at` and the next, "up" and "gate", one of both matrices, where
 * these lie so and it takes no longer: a launch less. Products of few rows by
 * pairs read W once, as others do. */
static void join_gate(struct lm_builder *b, size_t at)
{
    enum { FEW_ROWS = 4, MOST_ROWS = 16 };
    const struct lm_matrix *w = b->m->weights.matrix[b->layer];
    const bool has_bias = lm_vector_size(b->a, b->layer, LM_UP_BIAS) > 0;
    if (b->status != XL_OK || w[LM_GATE].first[0] == 0 ||
        b->m->size.activations == XL_ACTIVATIONS_F8 || b->rows > MOST_ROWS)
        return;
    struct lm_call *up = &b->pass->list[at], *gate = up + 1, both = *up;
    both.name = "gate_up";
    both.of.qgemm.w.shape.rows *= 2;
    both.of.qgemm.is_pair = true;
    both.flop += gate->flop;
    both.bytes += gate->bytes - (double)b->rows * lm_elem_bytes(b) *
                                    (double)(b->a->hidden + 2 * b->a->inner);
    both.sizes[1] *= 2;
    xl__strfmt(both.epilogue, sizeof both.epilogue, "%s(y2) * %s",
               b->a->family->act, has_bias ? "(y + bias)" : "y");
    if (b->rows > FEW_ROWS &&
        !(expected_ns(b, &both) <= 2 * expected_ns(b, up)))
        return;
    *up = both;
    b->pass->n--;
}

/* -- a layer -------------------------------------------------------------- */

/* x = x + norm(y). */
static void add_post_norm(struct lm_builder *b, const char *name,
                          enum lm_vector_id gain)
{
    const size_t shape[] = {b->rows, b->a->hidden};
    struct lm_call *c = lm_add_call(b, name, LM_EXPR);
    lm_bind(c, "x", lm_builder_buffer(b, LM_X), b->m->size.dtype, 2, shape);
    lm_bind(c, "y", lm_builder_buffer(b, LM_Y), b->m->size.dtype, 2, shape);
    (void)lm_bind_vector(b, c, "g", gain);
    lm_bind_scalar(c, "eps", b->a->eps);
    lm_use_expr(b, c, LM_EXPR_ADD, "x = x + rms_norm(y, g, eps)");
}

/* The product that ends a sublayer. */
static void add_sublayer_end(struct lm_builder *b, const char *name,
                             const struct lm_matrix *w, enum lm_buffer src,
                             enum lm_vector_id bias, enum lm_vector_id post)
{
    const bool has_post = b->a->family->has_post_norms;
    struct lm_call *c =
        add_product(b, name, w, b->rows, lm_rows_of(b, src, w->cols),
                    lm_rows_of(b, has_post ? LM_Y : LM_X, b->a->hidden));
    add_residual(b, c, bias, !has_post);
    if (has_post)
        add_post_norm(b, "post_norm", post);
}

static void add_mlp(struct lm_builder *b)
{
    const size_t norm = add_norm(b, "norm", b->rows,
                                 lm_rows_of(b, LM_X, b->a->hidden), LM_NORM2);
    const struct lm_matrix *w = b->m->weights.matrix[b->layer];
    const size_t shape[] = {b->rows, b->a->inner};
    const char *act = b->a->family->act;
    const xl_mat n = lm_rows_of(b, LM_N, b->a->hidden),
                 h = lm_rows_of(b, LM_MLP, b->a->inner);
    struct lm_call *c = add_product(b, "up", &w[LM_UP], b->rows, n, h);
    const bool has_bias = lm_bind_vector(b, c, "bias", LM_UP_BIAS);
    if (!b->a->family->is_gated) {
        xl__strfmt(c->epilogue, sizeof c->epilogue, "%s(y%s)", act,
                   has_bias ? " + bias" : "");
    } else {
        if (has_bias)
            xl__strcpy(c->epilogue, sizeof c->epilogue, "y + bias");
        c = add_product(b, "gate", &w[LM_GATE], b->rows, n, h);
        xl__strfmt(c->epilogue, sizeof c->epilogue, "%s(y) * up", act);
        lm_bind(c, "up", lm_builder_buffer(b, LM_MLP), b->m->size.dtype, 2,
                shape);
        c->bytes += (double)b->rows * (double)b->a->inner * lm_elem_bytes(b);
    }
    join_gate(b, norm + 1);
    join_norm(b, norm);
    add_sublayer_end(b, "down", &w[LM_DOWN], LM_MLP, LM_DOWN_BIAS, LM_POST2);
}

/* Queries, keys and values, side by side in a row. */
static void add_heads(struct lm_builder *b)
{
    static const char *const names[] = {"qkv", "keys", "values"};
    const struct lm_arch *a = b->a;
    const size_t row = (a->heads + 2 * a->kv_heads) * a->d_head;
    size_t first = 0;
    for (unsigned id = LM_QKV; id <= LM_VALUES; id++) {
        const struct lm_matrix *w = &b->m->weights.matrix[b->layer][id];
        xl_mat dst = lm_rows_of(b, LM_HEADS, row);
        if (w->rows == 0)
            continue;
        dst.offset = first;
        struct lm_call *c = add_product(b, names[id], w, b->rows,
                                        lm_rows_of(b, LM_N, w->cols), dst);
        add_residual(b, c, LM_QKV_BIAS, false);
        if (c->n_names > 0) { /* the bias: its part */
            c->names[0].tensor.offset += first;
            c->names[0].tensor.size[0] = w->rows;
        }
        first += w->rows;
    }
}

static void add_layer(struct lm_builder *b)
{
    const struct lm_arch *a = b->a;
    const struct lm_matrix *w = b->m->weights.matrix[b->layer];
    const size_t h = a->hidden;
    const size_t norm =
        add_norm(b, "norm", b->rows, lm_rows_of(b, LM_X, h), LM_NORM1);
    add_heads(b);
    join_norm(b, norm);
    lm_add_rotary(b);
    lm_add_attention(b);
    add_sublayer_end(b, "out", &w[LM_OUT], LM_ATTENDED, LM_OUT_BIAS, LM_POST1);
    add_mlp(b);
}

/* -- before and behind the layers ----------------------------------------- */

static void add_embedding(struct lm_builder *b)
{
    const struct lm_arch *a = b->a;
    const size_t tokens = b->pass->tokens, batch = b->m->size.batch;
    const size_t table[] = {a->vocab, a->hidden}, ids[] = {batch, tokens};
    const size_t x[] = {batch, tokens, a->hidden};
    const struct lm_matrix *w = b->m->weights.matrix[a->layers];
    const xl_dtype dtype = b->m->weights.table_type.dtype;
    struct lm_call *c = lm_add_call(b, "embedding", LM_EXPR);
    lm_bind(c, "x", lm_builder_buffer(b, LM_X), b->m->size.dtype, 3, x);
    lm_bind(c, "ids",
            lm_builder_buffer(b, b->pass->past == 0 ? LM_IDS : LM_NEXT),
            XL_I32, 2, ids);
    lm_bind(c, "t", w[LM_EMBEDDING].mem[0], dtype, 2, table);
    if (a->family->scales_embedding)
        lm_bind_scalar(c, "scale", sqrt((double)a->hidden));
    if (a->family->learns_positions)
        lm_bind(c, "p", w[LM_POSITIONS].mem[0], dtype, 2, &x[1])->offset =
            b->pass->past * a->hidden;
    lm_use_expr(b, c, LM_EXPR_EMBED,
                a->family->scales_embedding   ? "x = t[ids] * scale"
                : a->family->learns_positions ? "x = t[ids] + p"
                                              : "x = t[ids]");
    /* of the table, the rows that are looked up */
    c->bytes = 2 * (double)b->rows * (double)a->hidden * lm_elem_bytes(b);
}

/* Logits of the last token of each sequence, and the largest one's index. */
static void add_head(struct lm_builder *b)
{
    const struct lm_arch *a = b->a;
    const size_t batch = b->m->size.batch, tokens = b->pass->tokens;
    const size_t logits[] = {batch, a->vocab};
    const struct lm_matrix *w = b->m->weights.matrix[a->layers];
    xl_mat last = lm_rows_of(b, LM_X, tokens * a->hidden);
    last.offset = (tokens - 1) * a->hidden;
    const size_t norm = add_norm(b, "last_norm", batch, last, LM_NORM1);
    struct lm_call *c = add_product(
        b, "head", &w[LM_HEAD], batch, lm_rows_of(b, LM_N, a->hidden),
        xl_mat_rows(lm_builder_buffer(b, LM_LOGITS), a->vocab, XL_F32));
    if (a->logit_cap > 0) {
        xl__strcpy(c->epilogue, sizeof c->epilogue, "cap * tanh(y / cap)");
        lm_bind_scalar(c, "cap", a->logit_cap);
    }
    join_norm(b, norm);
    c = lm_add_call(b, "choice", LM_EXPR);
    lm_bind(c, "logits", lm_builder_buffer(b, LM_LOGITS), XL_F32, 2, logits);
    lm_bind(c, "next", lm_builder_buffer(b, LM_NEXT), XL_I32, 1, &batch);
    lm_use_expr(b, c, LM_EXPR_CHOOSE, "next = argmax(logits, axis=-1)");
}

xl_status lm_pass_build(struct lm_model *m, size_t tokens, size_t past,
                        struct lm_pass *out)
{
    *out = (struct lm_pass){.tokens = tokens, .past = past};
    struct lm_builder b = {
        .m = m, .a = m->arch, .pass = out, .rows = m->size.batch * tokens};
    add_embedding(&b);
    for (b.layer = 0; b.layer < m->arch->layers; b.layer++)
        add_layer(&b);
    add_head(&b);
    return b.status;
}
