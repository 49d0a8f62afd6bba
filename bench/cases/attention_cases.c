/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of attention, and its reference on the host. Lengths to be
 * verified are odd or prime, so that edges occur. */
#include "cases/attention_cases.h"

#include <math.h>

#include "base/alloc.h"

#define V CASE_VERIFY
#define VQ (CASE_VERIFY | CASE_QUICK)
#define B CASE_BENCH
#define BQ (CASE_BENCH | CASE_QUICK)
#define BB (CASE_BENCH | CASE_BIG)

#define CASE(called, used, batch, heads, q, kv, d_, type, ...)                \
    {.name = called, .use = used, .n_batch = batch, .n_heads = heads,         \
     .n_q = q, .n_kv = kv, .d = d_, .dtype = type,       \
     __VA_ARGS__}
/* Timed: as many queries as keys. */
#define SQUARE(called, used, batch, heads, n, d_, type, ...)                  \
    CASE(called, used, batch, heads, n, n, d_, type, __VA_ARGS__)

const struct attention_case attention_cases[] = {
    /* Head dims of every kind, and lengths. */
    CASE("d 64", V, 2, 3, 67, 71, 64, XL_F32, .pad = 0),
    CASE("d 64 f16", VQ, 2, 3, 67, 71, 64, XL_F16, .pad = 0),
    CASE("d 64 bf16", V, 2, 3, 67, 71, 64, XL_BF16, .pad = 0),
    CASE("d 128", V, 1, 2, 131, 137, 128, XL_F32, .pad = 0),
    CASE("d 128 f16", V, 1, 2, 131, 137, 128, XL_F16, .pad = 0),
    CASE("d 1", V, 2, 2, 19, 23, 1, XL_F32, .pad = 0),
    CASE("d 3 f16", V, 2, 2, 19, 23, 3, XL_F16, .pad = 0),
    CASE("d 8", V, 1, 5, 33, 29, 8, XL_F32, .pad = 0),
    CASE("d 24 bf16", V, 1, 5, 33, 29, 24, XL_BF16, .pad = 0),
    CASE("d 40", V, 1, 3, 45, 37, 40, XL_F32, .pad = 0),
    CASE("d 80 f16", V, 1, 2, 45, 37, 80, XL_F16, .pad = 0),
    CASE("d 96", V, 1, 2, 65, 33, 96, XL_F32, .pad = 0),
    CASE("d 111 f16", VQ, 1, 2, 34, 63, 111, XL_F16, .pad = 0),
    CASE("d 192 f16", V, 1, 2, 35, 77, 192, XL_F16, .pad = 0),
    CASE("d 255", V, 1, 2, 21, 43, 255, XL_F32, .pad = 0),
    CASE("d 256 bf16", V, 1, 2, 21, 43, 256, XL_BF16, .pad = 0),
    CASE("one key", VQ, 2, 2, 5, 1, 64, XL_F32, .with = WITH_LSE),
    CASE("one query", V, 2, 4, 1, 517, 64, XL_F16, .with = WITH_LSE),
    CASE("one of each", V, 1, 1, 1, 1, 1, XL_F32, .with = WITH_LSE),
    CASE("two queries", V, 1, 8, 2, 301, 128, XL_F16, .share = 4,
         .is_causal = true),
    CASE("long", V, 1, 1, 3, 4099, 64, XL_F32, .with = WITH_LSE),
    CASE("eight heads of one, one query", VQ, 2, 8, 1, 523, 64, XL_F16,
         .share = 8, .with = WITH_LSE),
    CASE("sixteen queries, rows first", V, 1, 8, 16, 401, 128, XL_BF16,
         .share = 4, .is_causal = true, .rows_first = true),
    CASE("five queries, window", V, 2, 3, 5, 709, 72, XL_F32, .share = 3,
         .window = 300, .is_causal = true, .with = WITH_SINKS | WITH_LSE),
    CASE("many heads", V, 3, 17, 7, 11, 32, XL_F32, .pad = 0),

    /* What a query sees. */
    CASE("causal", V, 1, 3, 101, 101, 64, XL_F32, .is_causal = true,
         .with = WITH_LSE),
    CASE("causal f16", V, 1, 2, 133, 133, 128, XL_F16, .is_causal = true),
    CASE("causal, more keys", V, 2, 2, 37, 103, 64, XL_F32, .is_causal = true),
    CASE("causal, more queries", VQ, 2, 2, 103, 37, 64, XL_F32,
         .is_causal = true, .with = WITH_LSE),
    CASE("window", V, 1, 2, 101, 131, 64, XL_F32, .window = 17),
    CASE("window of one", V, 1, 2, 41, 41, 32, XL_F32, .window = 1,
         .with = WITH_LSE),
    CASE("causal window", VQ, 1, 2, 131, 131, 64, XL_F16, .is_causal = true,
         .window = 40),
    CASE("causal window, more keys", V, 1, 2, 33, 259, 64, XL_F32,
         .is_causal = true, .window = 90),

    /* Heads and layouts. */
    CASE("grouped heads", VQ, 2, 6, 43, 51, 64, XL_F32, .share = 3,
         .is_causal = true),
    CASE("one head of keys", V, 1, 5, 43, 51, 64, XL_F16, .share = 5,
         .with = WITH_LSE),
    CASE("rows first", V, 2, 3, 43, 51, 64, XL_F32, .rows_first = true,
         .with = WITH_LSE),
    CASE("rows first f16", V, 2, 6, 43, 51, 96, XL_F16, .rows_first = true,
         .share = 2, .pad = 8, .off = 24),
    CASE("gaps", V, 2, 2, 29, 37, 40, XL_F32, .pad = 3, .off = 5,
         .with = WITH_LSE),
    CASE("gaps bf16", V, 2, 2, 29, 37, 64, XL_BF16, .pad = 3, .off = 5),

    /* Scores. */
    CASE("scale", V, 1, 2, 45, 39, 64, XL_F32, .scale = -0.375),
    CASE("large scores", V, 1, 2, 45, 39, 64, XL_F32, .scale = 4),
    CASE("soft cap", V, 1, 2, 45, 39, 64, XL_F32, .soft_cap = 3, .scale = 1),
    CASE("mask", V, 2, 2, 45, 39, 64, XL_F32, .with = WITH_MASK,
         .mask = XL_F32),
    CASE("mask f16", V, 1, 2, 45, 39, 64, XL_F16,
         .with = WITH_SHARED_MASK | WITH_LSE, .mask = XL_F16),
    CASE("mask bf16, causal", V, 2, 2, 45, 67, 64, XL_F32,
         .with = WITH_SHARED_MASK, .mask = XL_BF16, .is_causal = true),
    CASE("specials", VQ, 1, 2, 45, 39, 64, XL_F32,
         .with = WITH_MASK | WITH_LSE, .mask = XL_F32, .data = DATA_SPECIALS),
    CASE("specials f16, causal", V, 1, 2, 66, 66, 64, XL_F16,
         .with = WITH_SHARED_MASK | WITH_LSE, .mask = XL_F32,
         .is_causal = true, .data = DATA_SPECIALS),
    CASE("slopes", V, 2, 4, 45, 61, 64, XL_F32, .with = WITH_SLOPES,
         .is_causal = true),
    CASE("slopes both ways", V, 1, 2, 45, 61, 64, XL_F32, .with = WITH_SLOPES),
    CASE("slopes, far keys", V, 1, 4, 3, 1531, 40, XL_F32,
         .with = WITH_SLOPES | WITH_LSE, .is_causal = true),
    CASE("sinks", V, 2, 4, 45, 61, 64, XL_F32, .with = WITH_SINKS | WITH_LSE),
    CASE("sinks, nothing seen", V, 1, 2, 45, 21, 64, XL_F16,
         .with = WITH_SINKS | WITH_LSE, .is_causal = true),
    CASE("prologue", V, 2, 3, 45, 61, 64, XL_F32, .with = WITH_SCORE),
    CASE("prologue f16, causal", V, 1, 3, 77, 77, 128, XL_F16,
         .with = WITH_SCORE | WITH_LSE, .is_causal = true),
    /* Sequences of unequal lengths, narrow caches. */
    CASE("packed", VQ, 4, 4, 37, 45, 64, XL_F32, .share = 2,
         .q_rows = XL_ROWS_PACKED, .kv_rows = XL_ROWS_PACKED,
         .is_causal = true, .with = WITH_LSE),
    CASE("packed f16, rows first", V, 4, 4, 37, 29, 128, XL_F16,
         .q_rows = XL_ROWS_PACKED, .kv_rows = XL_ROWS_PACKED,
         .rows_first = true),
    CASE("lengths", V, 4, 4, 7, 101, 40, XL_F32, .q_rows = XL_ROWS_LENGTHS,
         .kv_rows = XL_ROWS_LENGTHS, .window = 30, .with = WITH_SLOPES),
    CASE("paged", VQ, 4, 8, 1, 133, 64, XL_F16, .share = 4,
         .kv_rows = XL_ROWS_PAGED, .page_rows = 16, .with = WITH_LSE),
    CASE("paged i8", VQ, 4, 8, 2, 261, 128, XL_F16, .share = 8, .cache = XL_I8,
         .kv_rows = XL_ROWS_PAGED, .page_rows = 64, .is_causal = true,
         .with = WITH_SCALES),
    CASE("i8, scale per key", V, 2, 4, 3, 89, 96, XL_BF16, .share = 2,
         .cache = XL_I8, .with = WITH_KEY_SCALES | WITH_SINKS),
    CASE("paged f8, queries packed", V, 4, 4, 5, 77, 80, XL_F32, .share = 2,
         .cache = XL_F8E4M3, .q_rows = XL_ROWS_PACKED,
         .kv_rows = XL_ROWS_PAGED, .page_rows = 32, .rows_first = true,
         .with = WITH_SCALES | WITH_SCORE),
    CASE("all at once", VQ, 2, 6, 35, 67, 72, XL_F16, .share = 2,
         .is_causal = true, .window = 41, .soft_cap = 5, .rows_first = true,
         .with = WITH_LSE | WITH_MASK | WITH_SLOPES | WITH_SINKS | WITH_SCORE,
         .mask = XL_F16, .pad = 8),

    /* Timed. */
    SQUARE("512", BQ, 1, 16, 512, 64, XL_F32, .pad = 0),
    SQUARE("1024", BQ, 1, 16, 1024, 128, XL_F32, .pad = 0),
    SQUARE("1024", B, 1, 16, 1024, 64, XL_F32, .pad = 0),
    SQUARE("1024", BQ, 1, 16, 1024, 128, XL_F16, .pad = 0),
    SQUARE("1024 causal", B, 1, 16, 1024, 128, XL_F16, .is_causal = true),
    SQUARE("1024 bf16", B, 1, 16, 1024, 128, XL_BF16, .pad = 0),
    SQUARE("2048", B, 1, 16, 2048, 64, XL_F16, .pad = 0),
    SQUARE("4096", BB, 4, 16, 4096, 128, XL_F16, .pad = 0),
    SQUARE("4096 causal", BB, 4, 16, 4096, 128, XL_F16, .is_causal = true),
    SQUARE("16384", BB, 1, 16, 16384, 128, XL_F16, .pad = 0),
    CASE("grouped heads", B, 1, 32, 1024, 1024, 128, XL_F16, .share = 4,
         .is_causal = true, .rows_first = true),
    CASE("decode", B, 8, 32, 1, 4096, 128, XL_F16, .share = 4),
    CASE("decode, long", BB, 1, 64, 1, 32768, 128, XL_F16, .share = 8),
    {.name = NULL},
};

const char *const attention_names[ATTENTION_OPERANDS] = {
    "q",        "k",        "v",      "o",       "lse",    "mask",   "slopes",
    "sinks",    "slope",    "at",     "grad_o",  "grad_q", "grad_k", "grad_v",
    "k_scales", "v_scales", "q_rows", "kv_rows", "pages"};

bool attention_case_of_gradient(unsigned i, struct attention_case *out)
{
    *out = attention_cases[i];
    out->is_backward = true;
    return out->with < WITH_SCORE && !out->cache && !out->q_rows &&
           !out->kv_rows && (out->n_q > 1 || (out->use & CASE_VERIFY));
}

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

bool attention_has(const struct attention_case *c, enum attention_operand x)
{
    static const unsigned with[ATTENTION_OPERANDS] = {
        [ATTENTION_LSE] = WITH_LSE,
        [ATTENTION_MASK] = WITH_MASK | WITH_SHARED_MASK,
        [ATTENTION_SLOPES] = WITH_SLOPES,
        [ATTENTION_SINKS] = WITH_SINKS,
        [ATTENTION_SLOPE] = WITH_SCORE,
        [ATTENTION_AT] = WITH_SCORE,
        [ATTENTION_K_SCALES] = WITH_SCALES | WITH_KEY_SCALES,
        [ATTENTION_V_SCALES] = WITH_SCALES | WITH_KEY_SCALES};
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
    if (is_scales(x) && !(c->with & WITH_SCALES))
        return 1;
    return is_of_keys(x) ? attention_kv_heads(c) : c->n_heads;
}

static size_t rows_of(const struct attention_case *c, enum attention_operand x)
{
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
        v.stride[2] = (c->rows_first ? heads : 1) * ld;
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
                             .is_backward = c->is_backward};
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

/* -- the reference -------------------------------------------------------- */

/* How far key j is behind query i, where the last of each are at one place. */
static double distance(const struct attention_case *c, size_t b, size_t i,
                       size_t j)
{
    return (double)i + (double)attention_keys(c, b) -
           (double)attention_queries(c, b) - (double)j;
}

bool attention_sees(const struct attention_case *c, size_t b, size_t i,
                    size_t j)
{
    const double d = distance(c, b, i, j);
    return j < attention_keys(c, b) && (!c->is_causal || d >= 0) &&
           (c->window == 0 || fabs(d) < (double)c->window);
}

double attention_pairs(const struct attention_case *c)
{
    double pairs = 0;
    for (size_t i = 0; i < c->n_q; i++) {
        const double at = (double)i + (double)c->n_kv - (double)c->n_q;
        const double reach =
            c->window ? (double)c->window : (double)(c->n_q + c->n_kv);
        const double end = fmin((double)c->n_kv,
                                at + (c->is_causal ? 1 : reach));
        pairs += fmax(0, end - fmax(0, at - reach + 1));
    }
    return pairs * (double)c->n_batch * (double)c->n_heads;
}

double attention_scale(const struct attention_case *c)
{
    return c->scale == 0 ? 1 / sqrt((double)c->d) : c->scale;
}

struct attention_score attention_score(const struct attention_ref *r, size_t b,
                                       size_t h, size_t i, size_t j)
{
    const struct attention_case *c = r->c;
    const struct ref_mat *m = r->operand;
    const size_t q = attention_line(c, ATTENTION_Q, b, h, i);
    const size_t k = attention_line(c, ATTENTION_K, b,
                                    h / attention_share(c), j);
    const size_t scale_line =
        attention_line(c, ATTENTION_K_SCALES, b, h / attention_share(c), j);
    struct attention_score s = {.slope = 1};
    const double factor = c->with & (WITH_SCALES | WITH_KEY_SCALES)
                              ? ref_at(&m[ATTENTION_K_SCALES], scale_line, 0)
                              : 1;
    double size = 0, bias = 0, slope = 0;
    for (size_t col = 0; col < c->d; col++) {
        const double term = ref_at(&m[ATTENTION_Q], q, col) *
                            ref_at(&m[ATTENTION_K], k, col) * factor;
        s.x += term;
        size += fabs(term);
    }
    s.x *= attention_scale(c);
    if (c->soft_cap > 0) {
        const double y = tanh(s.x / c->soft_cap);
        s.slope = 1 - y * y;
        s.x = c->soft_cap * y;
    }
    if (c->with & WITH_SLOPES)
        bias = ref_at(&m[ATTENTION_SLOPES], b, h) * fabs(distance(c, b, i, j));
    s.x -= bias;
    if (attention_has(c, ATTENTION_MASK))
        s.x += ref_at(&m[ATTENTION_MASK],
                      attention_line(c, ATTENTION_MASK, b, h, i), j);
    if (c->with & WITH_SCORE)
        slope = ref_at(&m[ATTENTION_SLOPE], 0, h) *
                ref_at(&m[ATTENTION_AT], 0, j);
    s.error = ((double)c->d + 6) * fabs(attention_scale(c)) * size +
              16 * c->soft_cap + 4 * fabs(bias) + 4 * fabs(s.x);
    s.x += slope;
    s.error += 4 * fabs(slope) + fabs(s.x);
    s.error = isfinite(s.x) ? s.error * ref_roundoff(XL_F32) : 0;
    return s;
}

void attention_row(const struct attention_ref *r, size_t b, size_t h, size_t i,
                   struct attention_row *row)
{
    static const double lowest = 104, fixed = 64;
    const struct attention_case *c = r->c;
    const double u = ref_roundoff(XL_F32), n = (double)c->n_kv;
    const double sink = c->with & WITH_SINKS
                            ? ref_at(&r->operand[ATTENTION_SINKS], b, h)
                            : -(double)INFINITY;
    double top = sink, most = 0, deepest = 0;
    bool is_nan = false;
    row->b = b;
    row->h = h;
    row->first = row->last = 0;
    for (size_t j = 0; j < c->n_kv; j++) {
        if (!attention_sees(c, b, i, j))
            continue;
        row->first = row->last == 0 ? j : row->first;
        row->last = j + 1;
        const struct attention_score s = attention_score(r, b, h, i, j);
        const double x = row->weight[j] = s.x;
        is_nan = is_nan || isnan(x) || x == (double)INFINITY;
        top = fmax(top, x);
        most = fmax(most, s.error);
    }
    top = isinf(top) ? 0 : top;
    double sum = exp(sink - top);
    for (size_t j = row->first; j < row->last; j++) {
        if (isfinite(row->weight[j]))
            deepest = fmax(deepest, fmin(lowest, top - row->weight[j]));
        row->weight[j] = exp(row->weight[j] - top);
        sum += row->weight[j];
    }
    for (size_t j = row->first; j < row->last; j++) {
        row->weight[j] = sum == 0 ? 0 : row->weight[j] / sum;
        if (is_nan)
            row->weight[j] = (double)NAN;
    }
    row->lse = is_nan ? (double)NAN : top + log(sum);
    row->error = expm1(2 * most) + (2 * deepest + 2 * n + fixed) * u;
    row->lse_tol = most + (deepest + n + fixed +
                           (isfinite(row->lse) ? 2 * fabs(row->lse) : 0)) * u;
}

double attention_expected(const struct attention_ref *r,
                          const struct attention_row *row, size_t c,
                          double *tol)
{
    const size_t share = attention_share(r->c);
    const xl_dtype t = r->c->dtype;
    const double narrow = t == XL_F32 ? 0 : ref_roundoff(t);
    double sum = 0, size = 0, all = 0;
    for (size_t j = row->first; j < row->last; j++) {
        const size_t line =
            attention_line(r->c, ATTENTION_V, row->b, row->h / share, j);
        double v = ref_at(&r->operand[ATTENTION_V], line, c);
        if (r->c->with & (WITH_SCALES | WITH_KEY_SCALES))
            v *= ref_at(&r->operand[ATTENTION_V_SCALES],
                        attention_line(r->c, ATTENTION_V_SCALES, row->b,
                                       row->h / share, j),
                        0);
        sum += row->weight[j] * v;
        size += row->weight[j] * fabs(v);
        all += fabs(v);
    }
    *tol = (row->error + narrow) * size + ref_floor(XL_F32) * all;
    *tol += narrow * (fabs(sum) + *tol) + ref_floor(t);
    return sum;
}
