/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a pass. Residuals, biases, the gate's activation and product
 * and the cap of logits are epilogues of products; the rotary embedding, the
 * append to the cache, the embedding and the choice of the next token are
 * expressions. */
#include "planner/forward/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* What a pass is built with. */
struct builder {
    struct lm_model *m;
    const struct lm_arch *a;
    struct lm_pass *pass;
    size_t rows; /* tokens of all sequences */
    size_t layer;
    xl_status status; /* the first failure; later calls do nothing */
};

/* -- calls ---------------------------------------------------------------- */

static struct lm_call *add_call(struct builder *b, const char *name,
                                enum lm_kind kind)
{
    struct lm_pass *p = b->pass;
    static struct lm_call unused;
    if (b->status == XL_OK &&
        !xl__grow(&p->list, &p->cap, p->n + 1, sizeof *p->list))
        b->status = XL_NO_MEMORY;
    struct lm_call *c = b->status == XL_OK ? &p->list[p->n++] : &unused;
    *c = (struct lm_call){.name = name, .kind = kind};
    return c;
}

static double elem_bytes(const struct builder *b)
{
    return (double)xl_dtype_bytes(b->m->size.dtype);
}

static cl_mem buffer(const struct builder *b, enum lm_buffer i)
{
    return b->m->buffer[i];
}

static xl_mat rows_of(const struct builder *b, enum lm_buffer i, size_t cols)
{
    return xl_mat_rows(buffer(b, i), cols, b->m->size.dtype);
}

/* Bind a name; returns its tensor. */
static xl_tensor *bind(struct lm_call *c, const char *name, cl_mem mem,
                       xl_dtype dtype, unsigned n_dims, const size_t *size)
{
    xl_binding *at = &c->names[c->n_names++ % LM_NAMES];
    *at = (xl_binding){.name = name,
                       .tensor = xl_tensor_dense(mem, dtype, n_dims, size)};
    return &at->tensor;
}

static void bind_scalar(struct lm_call *c, const char *name, double value)
{
    c->names[c->n_names++ % LM_NAMES] =
        (xl_binding){.name = name, .is_scalar = true, .scalar = value};
}

/* A vector of the layer; nothing where the model has none. */
static bool bind_vector(const struct builder *b, struct lm_call *c,
                        const char *name, enum lm_vector_id id)
{
    const size_t n = lm_vector_size(b->a, b->layer, id);
    const struct lm_weights *w = &b->m->weights;
    if (n > 0)
        bind(c, name, w->vectors, XL_F32, 1, &n)->offset =
            w->vector[b->layer][id];
    return n > 0;
}

static xl_mat vector_view(const struct builder *b, enum lm_vector_id id)
{
    const size_t n = lm_vector_size(b->a, b->layer, id);
    xl_mat view = {.dtype = XL_F32};
    if (n > 0)
        view = xl_mat_rows(b->m->weights.vectors, n, XL_F32);
    view.offset = b->m->weights.vector[b->layer][id];
    return view;
}

static void use_expr(struct builder *b, struct lm_call *c, enum lm_expr which,
                     const char *text)
{
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = c->names,
                               .n_bindings = c->n_names};
    xl_expr **e = &b->m->expr[b->pass->tokens > 1][which];
    if (b->status == XL_OK && !*e)
        b->status = xl_expr_compile(b->m->q, text, &args, e);
    c->of.expr = *e;
    for (unsigned i = 0; i < c->n_names; i++) {
        const xl_tensor *t = &c->names[i].tensor;
        double n = c->names[i].is_scalar ? 0 : 1;
        for (unsigned d = 0; d < t->n_dims; d++)
            n *= t->stride[d] > 0 ? (double)t->size[d] : 1;
        c->bytes += n * (double)xl_dtype_bytes(t->dtype);
    }
}

/* dst = epilogue(src W^T): rows of `src` and `dst` are dense. */
static struct lm_call *add_product(struct builder *b, const char *name,
                                   const struct lm_matrix *w, size_t rows,
                                   xl_mat src, xl_mat dst)
{
    struct lm_call *c =
        add_call(b, name, w->type->is_quantised ? LM_QGEMM : LM_GEMM);
    xl_qbytes bytes = {0};
    if (c->kind == LM_QGEMM)
        c->of.qgemm = (xl_qgemm){XL_QGEMM_INIT, .m = rows, .a = src,
                                 .w = lm_matrix_view(w), .c = dst};
    else
        c->of.gemm = (xl_gemm){
            XL_GEMM_INIT, .m = rows,
            .n = w->rows, .k = w->cols,
            .a = src,     .b = xl_mat_cols(w->mem[0], w->cols, w->type->dtype),
            .c = dst,     .alpha = 1};
    (void)lm_type_bytes(w->type, w->rows, w->cols, &bytes);
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
static void add_residual(struct builder *b, struct lm_call *c,
                         enum lm_vector_id bias, bool has_residual)
{
    const size_t shape[] = {b->rows, b->a->hidden};
    const bool has_bias = bind_vector(b, c, "bias", bias);
    xl__strcpy(c->epilogue, sizeof c->epilogue,
               has_bias && has_residual ? "y + bias + x"
               : has_bias               ? "y + bias"
               : has_residual           ? "y + x"
                                        : "");
    if (!has_residual)
        return;
    bind(c, "x", buffer(b, LM_X), b->m->size.dtype, 2, shape);
    c->bytes += (double)b->rows * (double)b->a->hidden * elem_bytes(b);
}

static void add_norm(struct builder *b, const char *name, size_t rows,
                     xl_mat src, enum lm_vector_id gain)
{
    struct lm_call *c = add_call(b, name, LM_NORM);
    const enum lm_vector_id bias = (enum lm_vector_id)(gain + 1);
    c->of.norm = (xl_norm){XL_NORM_INIT,
                           .rows = rows,
                           .cols = b->a->hidden,
                           .src = src,
                           .dst = rows_of(b, LM_N, b->a->hidden),
                           .kind = b->a->family->norm,
                           .eps = b->a->eps,
                           .scale = vector_view(b, gain),
                           .bias = vector_view(b, bias)};
    c->bytes = 2 * (double)rows * (double)b->a->hidden * elem_bytes(b);
    c->sizes[0] = rows;
    c->sizes[1] = b->a->hidden;
}

/* -- attention ------------------------------------------------------------ */

/* The heads of queries, keys or values among the results of the product:
 * batch x tokens x heads x 2 x d_head / 2, the pairs of the rotary embedding
 * in the order of their halves. */
static xl_tensor heads_view(const struct builder *b, size_t first, size_t n)
{
    const struct lm_arch *a = b->a;
    const size_t half = a->d_head / 2, tokens = b->pass->tokens;
    const size_t row = (a->heads + 2 * a->kv_heads) * a->d_head;
    return (xl_tensor){.mem = {.buf = buffer(b, LM_HEADS)},
                       .offset = first * a->d_head,
                       .n_dims = 5,
                       .size = {b->m->size.batch, tokens, n, 2, half},
                       .stride = {tokens * row, row, a->d_head, half, 1},
                       .dtype = b->m->size.dtype};
}

/* Where the keys or values of these tokens are in the cache. */
static xl_tensor cache_view(const struct builder *b, cl_mem cache)
{
    const struct lm_arch *a = b->a;
    const size_t head = b->m->size.context * a->d_head, half = a->d_head / 2;
    return (xl_tensor){
        .mem = {.buf = cache},
        .offset = b->pass->past * a->d_head,
        .n_dims = 5,
        .size = {b->m->size.batch, b->pass->tokens, a->kv_heads, 2, half},
        .stride = {a->kv_heads * head, a->d_head, head, half, 1},
        .dtype = b->m->size.dtype};
}

/* Rotate queries or keys, after their norm where there is one. Source: Su et
 * al. 2021, RoFormer; pairs as in GPT-NeoX. */
static void add_rotation(struct builder *b, const char *name,
                         enum lm_expr which, enum lm_vector_id gain,
                         xl_tensor src, xl_tensor dst)
{
    static const char plain[] =
        "o[:, :, :, 0:1] = x[:, :, :, 0:1] * c - x[:, :, :, 1:2] * s;"
        "o[:, :, :, 1:2] = x[:, :, :, 0:1] * s + x[:, :, :, 1:2] * c";
    static const char normed[] =
        "n = x * rsqrt(mean(x * x, axis=(3, 4)) + eps) * g;"
        "o[:, :, :, 0:1] = n[:, :, :, 0:1] * c - n[:, :, :, 1:2] * s;"
        "o[:, :, :, 1:2] = n[:, :, :, 0:1] * s + n[:, :, :, 1:2] * c";
    static const char moved[] = "o = x";
    struct lm_call *c = add_call(b, name, LM_EXPR);
    const size_t half = b->a->d_head / 2;
    const size_t angles[] = {b->pass->tokens, 1, 1, half};
    const size_t gains[] = {2, half};
    const bool has_norm = lm_vector_size(b->a, b->layer, gain) > 0;
    const bool rotates =
        !b->a->family->learns_positions && which != LM_EXPR_VALUES;
    bind(c, "x", NULL, XL_F32, 1, &half)[0] = src;
    bind(c, "o", NULL, XL_F32, 1, &half)[0] = dst;
    if (rotates) {
        bind(c, "c", buffer(b, LM_COS), XL_F32, 4, angles)->offset =
            b->pass->past * half;
        bind(c, "s", buffer(b, LM_SIN), XL_F32, 4, angles)->offset =
            b->pass->past * half;
    }
    if (rotates && has_norm) {
        bind(c, "g", b->m->weights.vectors, XL_F32, 2, gains)->offset =
            b->m->weights.vector[b->layer][gain];
        bind_scalar(c, "eps", b->a->eps);
    }
    use_expr(b, c, which, !rotates ? moved : has_norm ? normed : plain);
}

static void add_attention(struct builder *b)
{
    const struct lm_arch *a = b->a;
    const struct lm_size *size = &b->m->size;
    const size_t tokens = b->pass->tokens, n_kv = b->pass->past + tokens;
    const size_t head = size->context * a->d_head, d = a->d_head;
    const size_t row = a->heads * d;
    struct lm_call *c = add_call(b, "attention", LM_ATTENTION);
    const xl_heads q = {.mem = {.buf = buffer(b, LM_QUERIES)},
                        .stride = {tokens * row, d, row, 1},
                        .dtype = size->dtype};
    const xl_heads k = {.mem = {.buf = b->m->keys[b->layer]},
                        .stride = {a->kv_heads * head, head, d, 1},
                        .dtype = size->dtype};
    const double pairs = lm_pairs(a, b->layer, b->pass->past, tokens);
    c->of.attention =
        (xl_attention){XL_ATTENTION_INIT,
                       .n_batch = size->batch,
                       .n_heads = a->heads,
                       .n_kv_heads = a->kv_heads,
                       .n_q = tokens,
                       .n_kv = n_kv,
                       .d_head = d,
                       .q = q,
                       .k = k,
                       .v = k,
                       .o = q,
                       .scale = a->attention_scale,
                       .is_causal = true,
                       .soft_cap = a->attention_cap,
                       .window = a->has_window[b->layer] ? a->window : 0};
    c->of.attention.v.mem.buf = b->m->values[b->layer];
    c->of.attention.o.mem.buf = buffer(b, LM_ATTENDED);
    const double n_read =
        a->has_window[b->layer]
            ? fmin((double)n_kv, (double)(a->window + tokens - 1))
            : (double)n_kv;
    c->is_product = true;
    c->flop = 4 * (double)d * pairs * (double)(size->batch * a->heads);
    c->bytes = 2 * (double)(size->batch * d) * elem_bytes(b) *
               (n_read * (double)a->kv_heads + (double)(tokens * a->heads));
    c->sizes[0] = tokens;
    c->sizes[1] = n_kv;
    c->sizes[2] = d;
}

/* -- a layer -------------------------------------------------------------- */

/* x = x + norm(y). */
static void add_post_norm(struct builder *b, const char *name,
                          enum lm_vector_id gain)
{
    const size_t shape[] = {b->rows, b->a->hidden};
    struct lm_call *c = add_call(b, name, LM_EXPR);
    bind(c, "x", buffer(b, LM_X), b->m->size.dtype, 2, shape);
    bind(c, "y", buffer(b, LM_Y), b->m->size.dtype, 2, shape);
    (void)bind_vector(b, c, "g", gain);
    bind_scalar(c, "eps", b->a->eps);
    use_expr(b, c, LM_EXPR_ADD, "x = x + rms_norm(y, g, eps)");
}

/* The product that ends a sublayer. */
static void add_sublayer_end(struct builder *b, const char *name,
                             const struct lm_matrix *w, enum lm_buffer src,
                             enum lm_vector_id bias, enum lm_vector_id post)
{
    const bool has_post = b->a->family->has_post_norms;
    struct lm_call *c =
        add_product(b, name, w, b->rows, rows_of(b, src, w->cols),
                    rows_of(b, has_post ? LM_Y : LM_X, b->a->hidden));
    add_residual(b, c, bias, !has_post);
    if (has_post)
        add_post_norm(b, "post_norm", post);
}

static void add_mlp(struct builder *b)
{
    const struct lm_matrix *w = b->m->weights.matrix[b->layer];
    const size_t shape[] = {b->rows, b->a->inner};
    const char *act = b->a->family->act;
    const xl_mat n = rows_of(b, LM_N, b->a->hidden),
                 h = rows_of(b, LM_MLP, b->a->inner);
    struct lm_call *c = add_product(b, "up", &w[LM_UP], b->rows, n, h);
    const bool has_bias = bind_vector(b, c, "bias", LM_UP_BIAS);
    if (!b->a->family->is_gated) {
        xl__strfmt(c->epilogue, sizeof c->epilogue, "%s(y%s)", act,
                   has_bias ? " + bias" : "");
    } else {
        if (has_bias)
            xl__strcpy(c->epilogue, sizeof c->epilogue, "y + bias");
        c = add_product(b, "gate", &w[LM_GATE], b->rows, n, h);
        xl__strfmt(c->epilogue, sizeof c->epilogue, "%s(y) * up", act);
        bind(c, "up", buffer(b, LM_MLP), b->m->size.dtype, 2, shape);
        c->bytes += (double)b->rows * (double)b->a->inner * elem_bytes(b);
    }
    add_sublayer_end(b, "down", &w[LM_DOWN], LM_MLP, LM_DOWN_BIAS, LM_POST2);
}

static void add_layer(struct builder *b)
{
    const struct lm_arch *a = b->a;
    const struct lm_matrix *w = b->m->weights.matrix[b->layer];
    const size_t queries = a->heads, keys = a->kv_heads, h = a->hidden;
    const size_t half = a->d_head / 2, row = a->heads * a->d_head;
    const xl_tensor rotated = {
        .mem = {.buf = buffer(b, LM_QUERIES)},
        .n_dims = 5,
        .size = {b->m->size.batch, b->pass->tokens, queries, 2, half},
        .stride = {b->pass->tokens * row, row, a->d_head, half, 1},
        .dtype = b->m->size.dtype};
    add_norm(b, "norm", b->rows, rows_of(b, LM_X, h), LM_NORM1);
    struct lm_call *c =
        add_product(b, "qkv", &w[LM_QKV], b->rows, rows_of(b, LM_N, h),
                    rows_of(b, LM_HEADS, w[LM_QKV].rows));
    add_residual(b, c, LM_QKV_BIAS, false);
    add_rotation(b, "queries", LM_EXPR_QUERIES, LM_Q_NORM,
                 heads_view(b, 0, queries), rotated);
    add_rotation(b, "keys", LM_EXPR_KEYS, LM_K_NORM,
                 heads_view(b, queries, keys),
                 cache_view(b, b->m->keys[b->layer]));
    add_rotation(b, "values", LM_EXPR_VALUES, LM_K_NORM,
                 heads_view(b, queries + keys, keys),
                 cache_view(b, b->m->values[b->layer]));
    add_attention(b);
    add_sublayer_end(b, "out", &w[LM_OUT], LM_ATTENDED, LM_OUT_BIAS, LM_POST1);
    add_norm(b, "norm", b->rows, rows_of(b, LM_X, h), LM_NORM2);
    add_mlp(b);
}

/* -- before and behind the layers ----------------------------------------- */

static void add_embedding(struct builder *b)
{
    const struct lm_arch *a = b->a;
    const size_t tokens = b->pass->tokens, batch = b->m->size.batch;
    const size_t table[] = {a->vocab, a->hidden}, ids[] = {batch, tokens};
    const size_t x[] = {batch, tokens, a->hidden};
    const struct lm_matrix *w = b->m->weights.matrix[a->layers];
    const xl_dtype dtype = b->m->weights.table_type.dtype;
    struct lm_call *c = add_call(b, "embedding", LM_EXPR);
    bind(c, "x", buffer(b, LM_X), b->m->size.dtype, 3, x);
    bind(c, "ids", buffer(b, tokens > 1 ? LM_IDS : LM_NEXT), XL_I32, 2, ids);
    bind(c, "t", w[LM_EMBEDDING].mem[0], dtype, 2, table);
    if (a->family->scales_embedding)
        bind_scalar(c, "scale", sqrt((double)a->hidden));
    if (a->family->learns_positions)
        bind(c, "p", w[LM_POSITIONS].mem[0], dtype, 2, &x[1])->offset =
            b->pass->past * a->hidden;
    use_expr(b, c, LM_EXPR_EMBED,
             a->family->scales_embedding   ? "x = t[ids] * scale"
             : a->family->learns_positions ? "x = t[ids] + p"
                                           : "x = t[ids]");
    /* of the table, the rows that are looked up */
    c->bytes = 2 * (double)b->rows * (double)a->hidden * elem_bytes(b);
}

/* Logits of the last token of each sequence, and the largest one's index. */
static void add_head(struct builder *b)
{
    const struct lm_arch *a = b->a;
    const size_t batch = b->m->size.batch, tokens = b->pass->tokens;
    const size_t logits[] = {batch, a->vocab};
    const struct lm_matrix *w = b->m->weights.matrix[a->layers];
    xl_mat last = rows_of(b, LM_X, tokens * a->hidden);
    last.offset = (tokens - 1) * a->hidden;
    add_norm(b, "last_norm", batch, last, LM_NORM1);
    struct lm_call *c =
        add_product(b, "head", &w[LM_HEAD], batch, rows_of(b, LM_N, a->hidden),
                    xl_mat_rows(buffer(b, LM_LOGITS), a->vocab, XL_F32));
    if (a->logit_cap > 0) {
        xl__strcpy(c->epilogue, sizeof c->epilogue, "cap * tanh(y / cap)");
        bind_scalar(c, "cap", a->logit_cap);
    }
    c = add_call(b, "choice", LM_EXPR);
    bind(c, "logits", buffer(b, LM_LOGITS), XL_F32, 2, logits);
    bind(c, "next", buffer(b, LM_NEXT), XL_I32, 1, &batch);
    use_expr(b, c, LM_EXPR_CHOOSE, "next = argmax(logits, axis=-1)");
}

xl_status lm_pass_build(struct lm_model *m, size_t tokens, size_t past,
                        struct lm_pass *out)
{
    *out = (struct lm_pass){.tokens = tokens, .past = past};
    struct builder b = {
        .m = m, .a = m->arch, .pass = out, .rows = m->size.batch * tokens};
    add_embedding(&b);
    for (b.layer = 0; b.layer < m->arch->layers; b.layer++)
        add_layer(&b);
    add_head(&b);
    return b.status;
}

void lm_pass_clear(struct lm_pass *p)
{
    xl_record_destroy(p->record);
    free(p->list);
    *p = (struct lm_pass){0};
}

/* -- running -------------------------------------------------------------- */

static xl_status run_call(xl_queue *q, struct lm_call *c)
{
    const xl_epilogue epilogue = {*c->epilogue ? c->epilogue : NULL, c->names,
                                  *c->epilogue ? c->n_names : 0};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = c->names,
                               .n_bindings = c->n_names};
    switch (c->kind) {
    case LM_GEMM:
        c->of.gemm.epilogue = epilogue;
        return xl_gemm_run(q, &c->of.gemm, NULL);
    case LM_QGEMM:
        c->of.qgemm.epilogue = epilogue;
        return xl_qgemm_run(q, &c->of.qgemm, NULL);
    case LM_NORM:
        return xl_norm_run(q, &c->of.norm, NULL);
    case LM_ATTENTION:
        return xl_attention_run(q, &c->of.attention, NULL);
    case LM_EXPR:
        return xl_expr_run(q, c->of.expr, &args, NULL);
    }
    return XL_BAD_ARGUMENT;
}

xl_status lm_pass_run(xl_queue *q, const struct lm_pass *p, const char *name)
{
    xl_status status = XL_OK;
    if (p->record && !name)
        return xl_record_replay(p->record, NULL);
    for (size_t i = 0; status == XL_OK && i < p->n; i++)
        if (!name || strcmp(name, p->list[i].name) == 0)
            status = run_call(q, &p->list[i]);
    return status;
}

xl_status lm_pass_record(xl_queue *q, struct lm_pass *p)
{
    xl_record *r;
    xl_status status = xl_record_create(q, &r);
    if (status != XL_OK)
        return status;
    status = xl_record_begin(r, 0);
    if (status == XL_OK)
        status = lm_pass_run(q, p, NULL);
    (void)xl_record_end(r);
    if (status == XL_OK)
        p->record = r;
    else
        xl_record_destroy(r);
    return status;
}
