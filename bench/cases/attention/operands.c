/* SPDX-License-Identifier: Apache-2.0 */
/* Where the operands of a case are: rows of sequences of unequal lengths, pages,
 * the matrices that hold them, and the call on these. */
#include "cases/attention/attention_cases.h"

#include "base/alloc.h"

/* -- where rows are ------------------------------------------------------- */

static bool is_of_q(enum attention_operand x)
{
    return x == ATTENTION_Q || x == ATTENTION_O || x == ATTENTION_LSE;
}

static bool is_of_kv(enum attention_operand x)
{
    return x == ATTENTION_K || x == ATTENTION_V || x == ATTENTION_K_SCALES ||
           x == ATTENTION_V_SCALES;
}

static xl_rows_kind kind_of(const struct attention_case *c,
                            enum attention_operand x)
{
    return is_of_q(x) ? c->q_rows : is_of_kv(x) ? c->kv_rows : (xl_rows_kind)0;
}

/* Rows of sequence b, at most n: some have none. */
static size_t length_of(xl_rows_kind kind, size_t n, size_t b)
{
    enum { EVERY = 4, EMPTY = 2, LESS = 5 };
    if (!kind)
        return n;
    return b % EVERY == EMPTY ? 0 : n - b * LESS % n;
}

size_t attention_queries(const struct attention_case *c, size_t b)
{
    return length_of(c->q_rows, c->n_q, b);
}

size_t attention_keys(const struct attention_case *c, size_t b)
{
    return length_of(c->kv_rows, c->n_kv, b);
}

static size_t start_of(xl_rows_kind kind, size_t n, size_t b)
{
    size_t start = 0;
    for (size_t s = 0; s < b; s++)
        start += length_of(kind, n, s);
    return start;
}

static size_t pages_of(const struct attention_case *c)
{
    return xl__ceil_div(c->n_kv, xl__max_size(1, c->page_rows));
}

static size_t page_of(const struct attention_case *c, size_t b, size_t i)
{
    return pages_of(c) * (c->n_batch - b) - 1 - i;
}

struct attention_block attention_block(const struct attention_case *c,
                                       enum attention_operand x, size_t n)
{
    const xl_rows_kind kind = kind_of(c, x);
    struct attention_block r = {c->n_batch, n};
    if (kind == XL_ROWS_PACKED)
        r = (struct attention_block){1, start_of(kind, n, c->n_batch)};
    else if (kind == XL_ROWS_PAGED)
        r = (struct attention_block){c->n_batch * pages_of(c), c->page_rows};
    return r;
}

void attention_place(const struct attention_case *c, enum attention_operand x,
                     size_t n, size_t *b, size_t *i)
{
    const xl_rows_kind kind = kind_of(c, x);
    if (kind == XL_ROWS_PACKED) {
        *i += start_of(kind, n, *b);
        *b = 0;
    } else if (kind == XL_ROWS_PAGED) {
        *b = page_of(c, *b, *i / c->page_rows);
        *i %= c->page_rows;
    }
}

struct attention_lines attention_numbers(const struct attention_case *c,
                                         enum attention_operand x)
{
    const xl_rows_kind kind = x == ATTENTION_Q_ROWS ? c->q_rows : c->kv_rows;
    if (x == ATTENTION_PAGES)
        return (struct attention_lines){c->n_batch, pages_of(c), XL_I32};
    return (struct attention_lines){1, c->n_batch + (kind == XL_ROWS_PACKED),
                                    XL_I32};
}

double attention_number(const struct attention_case *c,
                        enum attention_operand x, size_t i, size_t j)
{
    const bool is_q = x == ATTENTION_Q_ROWS;
    const xl_rows_kind kind = is_q ? c->q_rows : c->kv_rows;
    const size_t n = is_q ? c->n_q : c->n_kv;
    if (x == ATTENTION_PAGES)
        return (double)page_of(c, i, j);
    return (double)(kind == XL_ROWS_PACKED ? start_of(kind, n, j)
                                           : length_of(kind, n, j));
}

/* -- memory --------------------------------------------------------------- */

static bool is_gradient(enum attention_operand x)
{
    return x >= ATTENTION_GRAD_O && x <= ATTENTION_GRAD_V;
}

enum { WITH_ANY_SCALES = WITH_SCALES | WITH_KEY_SCALES | WITH_HEAD_SCALES };

bool attention_has_scales(const struct attention_case *c)
{
    return (c->with & WITH_ANY_SCALES) != 0;
}

xl_dtype attention_out(const struct attention_case *c)
{
    return c->dtype == XL_F8E4M3 ? c->out : c->dtype;
}

bool attention_has(const struct attention_case *c, enum attention_operand x)
{
    static const unsigned with[ATTENTION_OPERANDS] = {
        [ATTENTION_LSE] = WITH_LSE,
        [ATTENTION_MASK] = WITH_MASK | WITH_SHARED_MASK,
        [ATTENTION_SLOPES] = WITH_SLOPES,
        [ATTENTION_SINKS] = WITH_SINKS,
        [ATTENTION_SLOPE] = WITH_SCORE,
        [ATTENTION_AT] = WITH_SCORE,
        [ATTENTION_K_SCALES] = WITH_ANY_SCALES,
        [ATTENTION_V_SCALES] = WITH_ANY_SCALES};
    if (x >= ATTENTION_Q_ROWS)
        return x == ATTENTION_Q_ROWS    ? c->q_rows != 0
               : x == ATTENTION_KV_ROWS ? c->kv_rows != 0
                                        : c->kv_rows == XL_ROWS_PAGED;
    if (c->is_backward && (x == ATTENTION_LSE || is_gradient(x)))
        return true;
    return x < ATTENTION_LSE || (c->with & with[x]) != 0;
}

bool attention_is_result(const struct attention_case *c,
                         enum attention_operand x)
{
    return c->is_backward ? x > ATTENTION_GRAD_O && is_gradient(x)
                          : x == ATTENTION_O || x == ATTENTION_LSE;
}

size_t attention_share(const struct attention_case *c)
{
    return c->share ? c->share : 1;
}

size_t attention_kv_heads(const struct attention_case *c)
{
    return c->n_heads / attention_share(c);
}

static bool is_scales(enum attention_operand x)
{
    return x == ATTENTION_K_SCALES || x == ATTENTION_V_SCALES;
}

static bool is_of_keys(enum attention_operand x)
{
    return x == ATTENTION_K || x == ATTENTION_V || x == ATTENTION_GRAD_K ||
           x == ATTENTION_GRAD_V || is_scales(x);
}

static size_t heads_of(const struct attention_case *c,
                       enum attention_operand x)
{
    if (is_scales(x) && (c->with & WITH_KEY_SCALES))
        return 1;
    return is_of_keys(x) ? attention_kv_heads(c) : c->n_heads;
}

static size_t rows_of(const struct attention_case *c, enum attention_operand x)
{
    if (is_scales(x) && (c->with & WITH_HEAD_SCALES))
        return 1;
    return is_of_keys(x) ? c->n_kv : c->n_q;
}

struct attention_lines attention_lines(const struct attention_case *c,
                                       enum attention_operand x)
{
    const struct attention_block block = attention_block(c, x, rows_of(c, x));
    const bool is_kv = x == ATTENTION_K || x == ATTENTION_V;
    switch (x) {
    case ATTENTION_LSE:
        return (struct attention_lines){block.n * c->n_heads, block.rows,
                                        XL_F32};
    case ATTENTION_Q_ROWS:
    case ATTENTION_KV_ROWS:
    case ATTENTION_PAGES:
        return attention_numbers(c, x);
    case ATTENTION_MASK:
        return (struct attention_lines){
            (c->with & WITH_MASK ? c->n_batch * c->n_heads : 1) * c->n_q,
            c->n_kv, c->mask};
    case ATTENTION_SLOPES:
    case ATTENTION_SINKS:
        return (struct attention_lines){c->n_batch, c->n_heads, XL_F32};
    case ATTENTION_SLOPE:
        return (struct attention_lines){1, c->n_heads, XL_F32};
    case ATTENTION_AT:
        return (struct attention_lines){1, c->n_kv, XL_F32};
    default:
        return (struct attention_lines){block.n * heads_of(c, x) * block.rows,
                                        is_scales(x) ? 1 : c->d,
                                        is_scales(x)        ? XL_F32
                                        : x == ATTENTION_O  ? attention_out(c)
                                        : is_kv && c->cache ? c->cache
                                                            : c->dtype};
    }
}

size_t attention_line(const struct attention_case *c, enum attention_operand x,
                      size_t b, size_t h, size_t i)
{
    const size_t heads = heads_of(c, x);
    const size_t rows = attention_block(c, x, rows_of(c, x)).rows;
    if (x == ATTENTION_MASK && !(c->with & WITH_MASK))
        return i;
    const bool is_of_columns = x <= ATTENTION_O || x >= ATTENTION_GRAD_O;
    attention_place(c, x, rows_of(c, x), &b, &i);
    if (is_scales(x) && (c->with & WITH_HEAD_SCALES))
        i = 0;
    h = heads == 1 ? 0 : h;
    return c->rows_first && is_of_columns ? (b * rows + i) * heads + h
                                          : (b * heads + h) * rows + i;
}

/* Its strides are those from line to line. */
static xl_heads view_of(const struct attention_case *c,
                        enum attention_operand x,
                        const struct attention_memory *at)
{
    const size_t ld = at->ld[x];
    xl_heads v = {{at->mem[x], NULL, 0}, at->first[x], {0, 0, 0, 1},
                  attention_lines(c, x).dtype};
    const size_t heads = heads_of(c, x);
    const struct attention_block block = attention_block(c, x, rows_of(c, x));
    if (x == ATTENTION_LSE) {
        v.stride[0] = c->n_heads * ld;
        v.stride[1] = ld;
        v.stride[2] = 1;
    } else if (x >= ATTENTION_Q_ROWS) {
        v.stride[0] = x == ATTENTION_PAGES ? ld : 1;
        v.stride[2] = 1;
    } else if (x < ATTENTION_LSE || is_gradient(x) || is_scales(x)) {
        v.stride[0] = heads * block.rows * ld;
        v.stride[1] = heads == 1 ? 0 : c->rows_first ? ld : block.rows * ld;
        v.stride[2] = is_scales(x) && (c->with & WITH_HEAD_SCALES)
                          ? 0
                          : (c->rows_first ? heads : 1) * ld;
    } else if (x > ATTENTION_MASK && x < ATTENTION_GRAD_O) {
        v.stride[0] = ld;
        v.stride[1] = 1;
    } else {
        const size_t first = attention_line(c, x, 0, 0, 0);
        v.stride[0] = (attention_line(c, x, 1, 0, 0) - first) * ld;
        v.stride[1] = (attention_line(c, x, 0, 1, 0) - first) * ld;
        v.stride[2] = (attention_line(c, x, 0, 0, 1) - first) * ld;
    }
    return v;
}

void attention_call_init(struct attention_call *call,
                         const struct attention_case *c,
                         const struct attention_memory *at,
                         const char *variant)
{
    xl_heads *x = call->operand;
    for (unsigned i = 0; i < ATTENTION_OPERANDS; i++)
        x[i] = view_of(c, i, at);
    call->a = (xl_attention){XL_ATTENTION_INIT,
                             .n_batch = c->n_batch,
                             .n_heads = c->n_heads,
                             .n_kv_heads = attention_kv_heads(c),
                             .n_q = c->n_q,
                             .n_kv = c->n_kv,
                             .d_head = c->d,
                             .q = x[ATTENTION_Q],
                             .k = x[ATTENTION_K],
                             .v = x[ATTENTION_V],
                             .o = x[ATTENTION_O],
                             .scale = c->scale,
                             .is_causal = c->is_causal,
                             .window = c->window,
                             .soft_cap = c->soft_cap,
                             .variant = variant,
                             .is_backward = c->is_backward,
                             .accuracy = c->accuracy};
    if (c->q_rows) {
        call->q_rows = (xl_sequences){
            .kind = c->q_rows,
            .numbers = x[ATTENTION_Q_ROWS],
            .n_total = attention_block(c, ATTENTION_Q, c->n_q).rows};
        call->a.q_rows = &call->q_rows;
    }
    if (c->kv_rows) {
        const struct attention_block block =
            attention_block(c, ATTENTION_K, c->n_kv);
        call->kv_rows = (xl_sequences){
            .kind = c->kv_rows,
            .numbers = x[ATTENTION_KV_ROWS],
            .n_total = c->kv_rows == XL_ROWS_PAGED ? block.n : block.rows,
            .pages = x[ATTENTION_PAGES],
            .page_rows = c->page_rows};
        call->a.kv_rows = &call->kv_rows;
    }
    const xl_heads **const optional[ATTENTION_OPERANDS] = {
        [ATTENTION_LSE] = &call->a.lse,
        [ATTENTION_MASK] = &call->a.mask,
        [ATTENTION_SLOPES] = &call->a.slopes,
        [ATTENTION_SINKS] = &call->a.sinks,
        [ATTENTION_GRAD_O] = &call->a.grad_o,
        [ATTENTION_GRAD_Q] = &call->a.grad_q,
        [ATTENTION_GRAD_K] = &call->a.grad_k,
        [ATTENTION_GRAD_V] = &call->a.grad_v,
        [ATTENTION_K_SCALES] = &call->a.k_scales,
        [ATTENTION_V_SCALES] = &call->a.v_scales};
    for (unsigned i = ATTENTION_LSE; i < ATTENTION_OPERANDS; i++) {
        if (optional[i] && attention_has(c, i))
            *optional[i] = &x[i];
    }
    if (!(c->with & WITH_SCORE))
        return;
    const size_t per_head[] = {c->n_heads, 1, 1};
    const xl_heads *slope = &x[ATTENTION_SLOPE], *key = &x[ATTENTION_AT];
    call->binding[0] = (xl_binding){
        .name = "slope",
        .tensor = xl_tensor_dense(slope->mem.buf, XL_F32, 3, per_head)};
    call->binding[1] = (xl_binding){
        .name = "at",
        .tensor = xl_tensor_dense(key->mem.buf, XL_F32, 1, &c->n_kv)};
    call->binding[0].tensor.offset = slope->offset;
    call->binding[1].tensor.offset = key->offset;
    call->a.prologue = (xl_epilogue){"x + slope * at", call->binding, 2};
}
