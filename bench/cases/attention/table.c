/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of attention. Lengths to be verified are odd or prime, so that
 * edges occur. */
#include "cases/attention/attention_cases.h"

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
    CASE("packed f16, causal", V, 5, 4, 133, 171, 64, XL_F16, .share = 2,
         .q_rows = XL_ROWS_PACKED, .kv_rows = XL_ROWS_PACKED,
         .is_causal = true, .with = WITH_LSE),
    CASE("lengths f16", V, 4, 2, 37, 101, 64, XL_F16,
         .q_rows = XL_ROWS_LENGTHS, .kv_rows = XL_ROWS_LENGTHS,
         .with = WITH_LSE),
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
    /* Of f8e4m3. */
    CASE("f8", VQ, 2, 3, 197, 211, 128, XL_F8E4M3, .out = XL_F16,
         .with = WITH_LSE),
    CASE("f8, causal", V, 1, 4, 331, 397, 128, XL_F8E4M3, .out = XL_BF16,
         .share = 2, .is_causal = true, .with = WITH_HEAD_SCALES | WITH_LSE),
    CASE("f8, causal, more queries, rows first", V, 2, 2, 203, 97, 128,
         XL_F8E4M3, .out = XL_F16, .is_causal = true, .rows_first = true,
         .pad = 16, .off = 32, .with = WITH_HEAD_SCALES | WITH_LSE),
    CASE("f8, d 40, scale per key", V, 2, 4, 37, 71, 40, XL_F8E4M3,
         .out = XL_F32, .share = 2,
         .with = WITH_KEY_SCALES | WITH_SINKS | WITH_SLOPES),
    CASE("f8, one query", V, 2, 4, 1, 301, 64, XL_F8E4M3, .out = XL_F16,
         .share = 4, .with = WITH_SCALES | WITH_LSE),
    /* f32 in terms, and rounded: lengths and columns, of which one key and few
     * columns leave the narrowest bounds; options. */
    CASE("split", VQ, 2, 3, 67, 71, 64, XL_F32, .accuracy = XL_ACCURACY_SPLIT,
         .with = WITH_LSE),
    CASE("split, d 128, causal, grouped heads", V, 1, 6, 77, 103, 128, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .share = 3, .is_causal = true),
    CASE("split, d 8", VQ, 1, 3, 19, 9, 8, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .scale = 1, .with = WITH_LSE),
    CASE("split, one key", V, 2, 2, 5, 1, 64, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .with = WITH_LSE),
    CASE("split, one query", V, 2, 8, 1, 523, 64, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .share = 8, .scale = -0.25),
    CASE("split, all at once", V, 2, 6, 35, 67, 72, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .share = 2, .is_causal = true,
         .window = 41, .soft_cap = 5, .rows_first = true, .pad = 4, .off = 8,
         .with = WITH_LSE | WITH_MASK | WITH_SLOPES | WITH_SINKS | WITH_SCORE,
         .mask = XL_F32),
    CASE("split, no window", V, 2, 6, 35, 131, 72, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .share = 2, .is_causal = true,
         .soft_cap = 5, .rows_first = true, .pad = 4, .off = 8,
         .with = WITH_LSE | WITH_MASK | WITH_SLOPES | WITH_SINKS | WITH_SCORE,
         .mask = XL_F32),
    CASE("split, packed", V, 4, 4, 37, 45, 24, XL_F32,
         .accuracy = XL_ACCURACY_SPLIT, .share = 2, .q_rows = XL_ROWS_PACKED,
         .kv_rows = XL_ROWS_PACKED, .is_causal = true, .with = WITH_LSE),
    CASE("fast", V, 2, 3, 67, 71, 64, XL_F32, .accuracy = XL_ACCURACY_FAST,
         .is_causal = true, .with = WITH_LSE),
    CASE("fast, d 256", V, 1, 2, 21, 43, 256, XL_F32,
         .accuracy = XL_ACCURACY_FAST),
    CASE("all at once", VQ, 2, 6, 35, 67, 72, XL_F16, .share = 2,
         .is_causal = true, .window = 41, .soft_cap = 5, .rows_first = true,
         .with = WITH_LSE | WITH_MASK | WITH_SLOPES | WITH_SINKS | WITH_SCORE,
         .mask = XL_F16, .pad = 8),

    /* Timed. */
    SQUARE("512", BQ, 1, 16, 512, 64, XL_F32, .pad = 0),
    SQUARE("1024", BQ, 1, 16, 1024, 128, XL_F32, .pad = 0),
    SQUARE("1024", B, 1, 16, 1024, 64, XL_F32, .pad = 0),
    SQUARE("1024 split", B, 1, 16, 1024, 128, XL_F32,
           .accuracy = XL_ACCURACY_SPLIT),
    SQUARE("1024", BQ, 1, 16, 1024, 128, XL_F16, .pad = 0),
    SQUARE("1024 causal", B, 1, 16, 1024, 128, XL_F16, .is_causal = true),
    SQUARE("1024 bf16", B, 1, 16, 1024, 128, XL_BF16, .pad = 0),
    SQUARE("2048", B, 1, 16, 2048, 64, XL_F16, .pad = 0),
    SQUARE("4096", BB, 4, 16, 4096, 128, XL_F16, .pad = 0),
    SQUARE("4096 causal", BB, 4, 16, 4096, 128, XL_F16, .is_causal = true),
    SQUARE("16384", BB, 1, 16, 16384, 128, XL_F16, .pad = 0),
    SQUARE("4096 f8", BB, 4, 16, 4096, 128, XL_F8E4M3, .out = XL_F16),
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
    return out->with < WITH_SCORE && !out->cache && !out->accuracy &&
           out->dtype != XL_F8E4M3 && !out->q_rows && !out->kv_rows &&
           (out->n_q > 1 || (out->use & CASE_VERIFY));
}
