/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/attention/rotary_cases.h"

#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"

const char *const rotary_names[ROTARY_OPERANDS] = {
    "q",        "k",      "v",       "q_out", "k_cache", "v_cache", "k_scales",
    "v_scales", "q_rows", "kv_rows", "pages", "factors", "q_norm",  "k_norm"};

static const double norm_eps = 0.125;

/* Members of its attention; and of itself. */
#define MEMBERS(...) __VA_ARGS__
#define CASE(called, used, batch, heads_, shared, q, kv, d_, in, of_a, ...)   \
    {                                                                         \
        .a = {.name = called,                                                 \
              .use = used,                                                    \
              .n_batch = batch,                                               \
              .n_heads = heads_,                                              \
              .share = shared,                                                \
              .n_q = q,                                                       \
              .n_kv = kv,                                                     \
              .d = d_,                                                        \
              .dtype = in,                                                    \
              MEMBERS of_a},                                                  \
        __VA_ARGS__                                                           \
    }
#define VERIFY(called, ...) CASE(called, CASE_VERIFY, __VA_ARGS__)
/* Timed: Llama 3.1 8B, one step and a prompt. */
#define STEP(called, used, q, kv, in, of_a, ...)                              \
    CASE(called, used, 1, 32, 4, q, kv, 128, in, of_a, __VA_ARGS__)

const struct rotary_case rotary_cases[] = {
    CASE("halves", CASE_VERIFY | CASE_QUICK, 2, 3, 1, 5, 19, 64, XL_F32,
         (.pad = 3, .off = 1), .d_rotary = 0),
    VERIFY("interleaved", 2, 4, 2, 3, 7, 80, XL_F32,
           (.rows_first = true, .pad = 2), .pairs = XL_ROTARY_INTERLEAVED),
    VERIFY("one token", 1, 8, 4, 1, 300, 128, XL_F16, (.rows_first = true),
           .d_rotary = 0),
    VERIFY("far", 1, 1, 1, 3, 1 << 17, 8, XL_F32, (.off = 2), .base = 5e5,
           .no_values = true),
    VERIFY("partial", 1, 4, 1, 9, 9, 96, XL_BF16, (.off = 3), .d_rotary = 24),
    VERIFY("partial interleaved", 1, 2, 2, 6, 11, 20, XL_F16, (.pad = 1),
           .d_rotary = 6, .pairs = XL_ROTARY_INTERLEAVED),
    VERIFY("two columns", 3, 2, 1, 2, 4, 2, XL_F32, (.pad = 1), .d_rotary = 0),
    VERIFY("256 columns", 1, 3, 3, 4, 6, 256, XL_F16, (.pad = 0),
           .d_rotary = 0),
    VERIFY("many heads", 1, 20, 5, 17, 19, 256, XL_F16, (.rows_first = true),
           .d_rotary = 0),
    VERIFY("factors", 1, 2, 1, 7, 999, 64, XL_F32, (.pad = 1),
           .has_factors = true, .scale = 0.25, .base = 5e5),
    VERIFY("magnitude", 1, 2, 1, 7, 50, 32, XL_F32, (.pad = 1),
           .magnitude = 1.3, .scale = 2, .pairs = XL_ROTARY_INTERLEAVED),
    VERIFY("none", 2, 2, 1, 3, 5, 48, XL_F32, (.pad = 1),
           .pairs = XL_ROTARY_NONE),
    VERIFY("in place", 1, 4, 2, 6, 6, 64, XL_F32, (.rows_first = true),
           .in_place = true),
    VERIFY("without v", 1, 4, 2, 6, 8, 64, XL_BF16, (.pad = 4),
           .no_values = true),
    VERIFY("normed", 2, 4, 2, 5, 9, 128, XL_F16,
           (.rows_first = true, .pad = 1), .has_norm = true, .base = 1e6),
    VERIFY("normed interleaved", 1, 3, 1, 4, 7, 80, XL_F32, (.off = 1),
           .pairs = XL_ROTARY_INTERLEAVED, .d_rotary = 32, .has_norm = true,
           .in_place = true),
    VERIFY("normed i8", 2, 4, 2, 5, 9, 256, XL_BF16,
           (.cache = XL_I8, .with = WITH_SCALES), .has_norm = true),
    VERIFY("normed f8, many heads", 1, 18, 9, 17, 19, 256, XL_BF16,
           (.cache = XL_F8E4M3, .with = WITH_SCALES), .has_norm = true),
    VERIFY("f16 cache", 1, 4, 2, 6, 8, 64, XL_F32, (.cache = XL_F16),
           .d_rotary = 0),
    CASE("lengths", CASE_VERIFY | CASE_QUICK, 3, 4, 2, 6, 40, 64, XL_F32,
         (.q_rows = XL_ROWS_LENGTHS, .kv_rows = XL_ROWS_LENGTHS, .pad = 1),
         .d_rotary = 0),
    VERIFY("lengths of keys", 3, 2, 1, 9, 12, 32, XL_F16,
           (.kv_rows = XL_ROWS_LENGTHS, .off = 5), .d_rotary = 0),
    VERIFY("packed", 4, 4, 2, 5, 23, 64, XL_F32,
           (.q_rows = XL_ROWS_PACKED, .kv_rows = XL_ROWS_PACKED,
            .rows_first = true),
           .d_rotary = 0),
    VERIFY("packed, paged", 3, 4, 4, 7, 70, 64, XL_BF16,
           (.q_rows = XL_ROWS_PACKED, .kv_rows = XL_ROWS_PAGED,
            .page_rows = 16, .pad = 2),
           .d_rotary = 0),
    CASE("paged", CASE_VERIFY | CASE_QUICK, 3, 8, 4, 1, 90, 128, XL_F16,
         (.kv_rows = XL_ROWS_PAGED, .page_rows = 32), .d_rotary = 0),
    VERIFY("i8", 2, 4, 2, 5, 9, 64, XL_F32,
           (.cache = XL_I8, .with = WITH_SCALES, .pad = 3), .d_rotary = 0),
    VERIFY("i8 unscaled", 1, 4, 2, 5, 9, 64, XL_F32, (.cache = XL_I8),
           .d_rotary = 0),
    VERIFY("i8 interleaved", 2, 6, 2, 5, 9, 72, XL_F16,
           (.cache = XL_I8, .with = WITH_SCALES),
           .pairs = XL_ROTARY_INTERLEAVED, .d_rotary = 64),
    CASE("i8 paged", CASE_VERIFY | CASE_QUICK, 3, 8, 4, 1, 90, 128, XL_F16,
         (.kv_rows = XL_ROWS_PAGED, .page_rows = 16, .cache = XL_I8,
          .with = WITH_SCALES),
         .d_rotary = 0),
    VERIFY("f8 paged", 3, 4, 2, 3, 50, 64, XL_BF16,
           (.q_rows = XL_ROWS_LENGTHS, .kv_rows = XL_ROWS_PAGED,
            .page_rows = 16, .cache = XL_F8E4M3, .with = WITH_SCALES),
           .d_rotary = 0),
    VERIFY("f8", 1, 4, 2, 3, 5, 80, XL_F32,
           (.cache = XL_F8E4M3, .with = WITH_SCALES, .rows_first = true),
           .d_rotary = 0),
    VERIFY("f8 unscaled", 1, 4, 2, 3, 5, 80, XL_F32, (.cache = XL_F8E4M3),
           .d_rotary = 0),
    STEP("step", CASE_BENCH | CASE_QUICK, 1, 4096, XL_F16,
         (.rows_first = true), .d_rotary = 0),
    STEP("prompt", CASE_BENCH | CASE_QUICK, 4096, 4096, XL_F16,
         (.rows_first = true), .d_rotary = 0),
    STEP("prompt", CASE_BENCH, 4096, 4096, XL_F32, (.rows_first = true),
         .d_rotary = 0),
    STEP("prompt", CASE_BENCH, 4096, 4096, XL_F16,
         (.rows_first = true, .cache = XL_I8, .with = WITH_SCALES),
         .d_rotary = 0),
    STEP("prompt", CASE_BENCH, 4096, 4096, XL_F16,
         (.rows_first = true, .kv_rows = XL_ROWS_PAGED, .page_rows = 16,
          .cache = XL_F8E4M3, .with = WITH_SCALES),
         .d_rotary = 0),
    {.a = {.name = NULL}}};

/* -- memory --------------------------------------------------------------- */

/* New keys or values as the queries of a case. */
static struct attention_case tokens_of(const struct rotary_case *c)
{
    struct attention_case as = c->a;
    as.n_heads = attention_kv_heads(&c->a);
    as.share = 0;
    return as;
}

static enum attention_operand operand_of(enum rotary_operand x)
{
    static const enum attention_operand of[ROTARY_OPERANDS] = {
        [ROTARY_Q] = ATTENTION_Q,
        [ROTARY_K] = ATTENTION_Q,
        [ROTARY_V] = ATTENTION_O,
        [ROTARY_Q_OUT] = ATTENTION_O,
        [ROTARY_K_CACHE] = ATTENTION_K,
        [ROTARY_V_CACHE] = ATTENTION_V,
        [ROTARY_K_SCALES] = ATTENTION_K_SCALES,
        [ROTARY_V_SCALES] = ATTENTION_V_SCALES,
        [ROTARY_Q_ROWS] = ATTENTION_Q_ROWS,
        [ROTARY_KV_ROWS] = ATTENTION_KV_ROWS,
        [ROTARY_PAGES] = ATTENTION_PAGES};
    return of[x];
}

static bool is_token(enum rotary_operand x)
{
    return x == ROTARY_K || x == ROTARY_V;
}

static bool is_norm(enum rotary_operand x)
{
    return x == ROTARY_Q_NORM || x == ROTARY_K_NORM;
}

bool rotary_has(const struct rotary_case *c, enum rotary_operand x)
{
    if (x == ROTARY_FACTORS)
        return c->has_factors;
    if (is_norm(x))
        return c->has_norm;
    if (x == ROTARY_Q_OUT)
        return !c->in_place;
    if (c->no_values &&
        (x == ROTARY_V || x == ROTARY_V_CACHE || x == ROTARY_V_SCALES))
        return false;
    return attention_has(&c->a, operand_of(x));
}

static size_t d_rotary(const struct rotary_case *c)
{
    return c->d_rotary ? c->d_rotary : c->a.d;
}

struct attention_lines rotary_lines(const struct rotary_case *c,
                                    enum rotary_operand x)
{
    const struct attention_case as = is_token(x) ? tokens_of(c) : c->a;
    if (x == ROTARY_FACTORS)
        return (struct attention_lines){1, d_rotary(c) / 2, XL_F32};
    if (is_norm(x))
        return (struct attention_lines){1, c->a.d, XL_F32};
    return attention_lines(&as, operand_of(x));
}

size_t rotary_line(const struct rotary_case *c, enum rotary_operand x,
                   size_t b, size_t h, size_t i)
{
    const struct attention_case as = is_token(x) ? tokens_of(c) : c->a;
    return attention_line(&as, operand_of(x), b, h, i);
}

double rotary_number(const struct rotary_case *c, enum rotary_operand x,
                     size_t i, size_t j)
{
    return attention_number(&c->a, operand_of(x), i, j);
}

double rotary_bytes(const struct rotary_case *c)
{
    double bytes = 0;
    for (unsigned x = ROTARY_Q; x <= ROTARY_V_SCALES; x++) {
        const struct attention_lines l = rotary_lines(c, x);
        const size_t rows = x == ROTARY_Q || x == ROTARY_Q_OUT
                                ? c->a.n_heads
                                : attention_kv_heads(&c->a);
        if (rotary_has(c, x) || x == ROTARY_Q_OUT)
            bytes += (double)rows * (double)l.cols *
                     (double)xl_dtype_bytes(l.dtype);
    }
    return bytes * (double)c->a.n_batch * (double)c->a.n_q;
}

static void set_memory(struct attention_memory *to, enum attention_operand x,
                       const struct rotary_memory *at,
                       enum rotary_operand from)
{
    to->mem[x] = at->mem[from];
    to->first[x] = at->first[from];
    to->ld[x] = at->ld[from];
}

static xl_heads view_row(const struct rotary_memory *at, enum rotary_operand x)
{
    return (xl_heads){
        {at->mem[x], NULL, 0}, at->first[x], {0, 0, 0, 1}, XL_F32};
}

void rotary_call_init(struct rotary_call *call, const struct rotary_case *c,
                      const struct rotary_memory *at, const char *variant)
{
    const struct attention_case as = tokens_of(c);
    struct attention_memory cache = {.ld = {0}}, tokens = {.ld = {0}};
    for (unsigned x = 0; x < ROTARY_FACTORS; x++)
        set_memory(is_token(x) ? &tokens : &cache, operand_of(x), at, x);
    attention_call_init(&call->cache, &c->a, &cache, NULL);
    attention_call_init(&call->tokens, &as, &tokens, NULL);
    const xl_attention *a = &call->cache.a;
    call->factors = view_row(at, ROTARY_FACTORS);
    call->q_norm = view_row(at, ROTARY_Q_NORM);
    call->k_norm = view_row(at, ROTARY_K_NORM);
    call->r = (xl_rotary){XL_ROTARY_INIT,
                          .n_batch = a->n_batch,
                          .n_heads = a->n_heads,
                          .n_kv_heads = a->n_kv_heads,
                          .n_q = a->n_q,
                          .n_kv = a->n_kv,
                          .d_head = a->d_head,
                          .q = a->q,
                          .k = call->tokens.a.q,
                          .q_out = c->in_place ? a->q : a->o,
                          .k_cache = a->k,
                          .q_rows = a->q_rows,
                          .kv_rows = a->kv_rows,
                          .k_scales = a->k_scales,
                          .d_rotary = c->d_rotary,
                          .pairs = c->pairs,
                          .base = c->base,
                          .scale = c->scale,
                          .magnitude = c->magnitude,
                          .variant = variant};
    if (c->has_factors)
        call->r.factors = &call->factors;
    if (c->has_norm) {
        call->r.q_norm = &call->q_norm;
        call->r.k_norm = &call->k_norm;
        call->r.norm_eps = norm_eps;
    }
    if (!c->no_values) {
        call->r.v = &call->tokens.a.o;
        call->r.v_cache = &call->cache.a.v;
        call->r.v_scales = a->v_scales;
    }
}

/* -- the reference -------------------------------------------------------- */

bool rotary_position(const struct rotary_case *c, size_t b, size_t i,
                     size_t *at)
{
    const size_t n = attention_queries(&c->a, b),
                 end = i + attention_keys(&c->a, b);
    if (i >= n || end < n)
        return false;
    *at = end - n;
    return true;
}

static void norm(const struct rotary_ref *r, enum rotary_operand gains,
                 struct rotary_row *row)
{
    static const double fixed = 0x1p-17;
    const size_t d = r->c->a.d;
    double square = 0;
    for (size_t j = 0; j < d; j++)
        square += row->value[j] * row->value[j] / (double)d;
    for (size_t j = 0; j < d; j++) {
        row->value[j] *=
            ref_at(&r->operand[gains], 0, j) / sqrt(square + norm_eps);
        row->tol[j] = fixed * fabs(row->value[j]);
    }
}

static void rotate(const struct rotary_ref *r, double position,
                   struct rotary_row *row)
{
    static const double usual_base = 10000, fixed = 0x1p-20,
                        of_angle = 0x1p-46;
    const struct rotary_case *c = r->c;
    const size_t d = d_rotary(c), half = d / 2;
    const double base = c->base == 0 ? usual_base : c->base,
                 scale = c->scale == 0 ? 1 : c->scale,
                 size = c->magnitude == 0 ? 1 : c->magnitude;
    for (size_t j = 0; j < half; j++) {
        const size_t at = c->pairs == XL_ROTARY_HALVES ? j : 2 * j,
                     to = c->pairs == XL_ROTARY_HALVES ? j + half : 2 * j + 1;
        const double factor =
            c->has_factors ? ref_at(&r->operand[ROTARY_FACTORS], 0, j) : 1;
        const double angle =
            position * scale * pow(base, -2 * (double)j / (double)d) / factor;
        const double x = row->value[at], y = row->value[to];
        row->value[at] = size * (x * cos(angle) - y * sin(angle));
        row->value[to] = size * (x * sin(angle) + y * cos(angle));
        row->tol[at] = row->tol[to] =
            ((fixed + of_angle * angle) * (fabs(x) + fabs(y)) + row->tol[at] +
             row->tol[to]) *
            size;
    }
}

/* As codes. */
static void quantise(xl_dtype dtype, bool has_scale, size_t n,
                     struct rotary_row *row)
{
    static const double i8 = 127, f8 = 448, fixed = 0x1p-20, half = 0.5;
    const double largest = dtype == XL_I8 ? i8 : f8;
    double most = 0, tol = 0;
    for (size_t j = 0; j < n; j++) {
        most = fmax(most, fabs(row->value[j]));
        tol = fmax(tol, row->tol[j]);
    }
    row->scale = has_scale ? most / largest : 1;
    row->scale_tol = has_scale ? (tol + fixed * most) / largest : 0;
    for (size_t j = 0; j < n; j++) {
        const double x = row->value[j] / row->scale;
        row->value[j] = fmin(largest, fmax(-largest, x));
        row->tol[j] = (row->tol[j] + largest * row->scale_tol) / row->scale +
                      (has_scale ? fixed * largest : 0);
        row->tol[j] += dtype == XL_I8
                           ? half
                           : xl__dtype_unit_roundoff(dtype) *
                                     (fabs(row->value[j]) + row->tol[j]) +
                                 xl__dtype_underflow(dtype);
    }
}

void rotary_row(const struct rotary_ref *r, enum rotary_operand x, size_t b,
                size_t h, size_t i, struct rotary_row *row)
{
    const struct rotary_case *c = r->c;
    const xl_dtype out =
        x == ROTARY_Q ? c->a.dtype : rotary_lines(c, ROTARY_K_CACHE).dtype;
    const size_t line = rotary_line(c, x, b, h, i);
    size_t position = 0;
    (void)rotary_position(c, b, i, &position);
    for (size_t j = 0; j < c->a.d; j++) {
        row->value[j] = ref_at(&r->operand[x], line, j);
        row->tol[j] = 0;
    }
    if (x != ROTARY_V && c->has_norm)
        norm(r, x == ROTARY_Q ? ROTARY_Q_NORM : ROTARY_K_NORM, row);
    if (x != ROTARY_V && c->pairs != XL_ROTARY_NONE)
        rotate(r, (double)position, row);
    if (out == XL_I8 || out == XL_F8E4M3)
        quantise(out, (c->a.with & WITH_SCALES) != 0, c->a.d, row);
    else if (out != XL_F32)
        for (size_t j = 0; j < c->a.d; j++)
            row->tol[j] +=
                ref_roundoff(out) * (fabs(row->value[j]) + row->tol[j]) +
                ref_floor(out);
}
