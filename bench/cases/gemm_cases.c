/* SPDX-License-Identifier: Apache-2.0 */
/* The case tables of GEMM and softmax. Sizes to be verified are odd or prime,
 * so that edges occur, and small, so that the reference in double precision
 * takes little time. */
#include "cases/gemm_cases.h"

enum { NN, TN, NT, TT }; /* bit 0: A is transposed, bit 1: B */

#define V CASE_VERIFY
#define VQ (CASE_VERIFY | CASE_QUICK)
#define B CASE_BENCH
#define BQ (CASE_BENCH | CASE_QUICK)
#define BB (CASE_BENCH | CASE_BIG)

/* A batch of products of 37 x 29 x 23, all scaled. */
#define MANY(name, use, count, places, trans, in, out)                        \
    {name, use, 37, 29, 23, trans, 2, -3, in, out,                            \
     3, 2, 1, 0, 4, 2, false, false, DATA_NORMAL, {count, places, 0}, false, XL_ACCURACY_FULL, 0}

/* A bare product: alpha 1, beta 0, dense, row-major. */
#define PLAIN(name, use, m, n, k, trans, in, out)                             \
    {name, use, m, n, k, trans, 1, 0, in, out,                                \
     0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE}
/* The same with B of another type. */
#define PAIR(name, use, m, n, k, trans, in, b, out)                           \
    {name, use, m, n, k, trans, 1, 0, in, out,                                \
     0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL,                             \
     {0, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 1 + (b)}
/* The four ways to store A and B. */
#define FOUR(name, use, m, n, k, in, out)                                     \
    PLAIN(name " nn", use, m, n, k, NN, in, out),                             \
    PLAIN(name " tn", use, m, n, k, TN, in, out),                             \
    PLAIN(name " nt", use, m, n, k, NT, in, out),                             \
    PLAIN(name " tt", use, m, n, k, TT, in, out)

/* Leading dimensions and offsets are multiples of 64 elements, whatever the
 * sizes, so that variants which copy whole boxes of memory apply; the box's
 * edges are NaN. */
#define PAD64(x) ((64 - (x) % 64) % 64)
#define LINED(name, m, n, k, trans, beta, in, out)                            \
    {name, V, m, n, k, trans, 1, beta, in, out,                               \
     PAD64((trans) & 1 ? (m) : (k)), PAD64((trans) & 2 ? (k) : (n)), PAD64(n), \
     64, 128, 192, false, false, DATA_NORMAL, CASE_ONE}
#define LINED_FOUR(name, m, n, k, beta, in, out)                              \
    LINED(name " nn", m, n, k, NN, beta, in, out),                            \
    LINED(name " tn", m, n, k, TN, beta, in, out),                            \
    LINED(name " nt", m, n, k, NT, beta, in, out),                            \
    LINED(name " tt", m, n, k, TT, beta, in, out)

/* clang-format off */
const struct gemm_case gemm_cases[] = {
    /* Every transpose and type, with edges in every direction. A driver takes
     * a second or more to build a program, so the quick ones are the fewest
     * that read both operands of each type both ways. */
    FOUR("odd f32",       VQ, 67, 53, 41, XL_F32,  XL_F32),
    PLAIN("odd f16 nn",   V,  67, 53, 41, NN, XL_F16,  XL_F16),
    PLAIN("odd f16 tn",   VQ, 67, 53, 41, TN, XL_F16,  XL_F16),
    PLAIN("odd f16 nt",   VQ, 67, 53, 41, NT, XL_F16,  XL_F16),
    PLAIN("odd f16 tt",   V,  67, 53, 41, TT, XL_F16,  XL_F16),
    FOUR("odd f16-f32",   V,  67, 53, 41, XL_F16,  XL_F32),
    PLAIN("odd bf16 nn",  V,  67, 53, 41, NN, XL_BF16, XL_BF16),
    PLAIN("odd bf16 tn",  VQ, 67, 53, 41, TN, XL_BF16, XL_BF16),
    PLAIN("odd bf16 nt",  VQ, 67, 53, 41, NT, XL_BF16, XL_BF16),
    PLAIN("odd bf16 tt",  V,  67, 53, 41, TT, XL_BF16, XL_BF16),
    FOUR("odd bf16-f32",  V,  67, 53, 41, XL_BF16, XL_F32),
    /* Sizes of whole tiles, and one more and one less in each direction. */
    FOUR("whole f32",     V, 128, 128, 128, XL_F32,  XL_F32),
    FOUR("whole f16",     V, 128, 128, 128, XL_F16,  XL_F16),
    FOUR("past f32",      V, 129, 257, 130, XL_F32,  XL_F32),
    FOUR("short f32",     V, 127, 255, 126, XL_F32,  XL_F32),
    FOUR("past bf16",     V, 129, 257, 130, XL_BF16, XL_F32),
    /* Ones. */
    PLAIN("1x1x1",        VQ, 1, 1, 1,       NN, XL_F32, XL_F32),
    PLAIN("1x1x1 f16",    V,  1, 1, 1,       TT, XL_F16, XL_F16),
    PLAIN("k=1",          VQ, 61, 59, 1,     NN, XL_F32, XL_F32),
    PLAIN("k=1 tt",       V,  61, 59, 1,     TT, XL_F16, XL_F32),
    PLAIN("m=1",          VQ, 1, 509, 251,   NN, XL_F32, XL_F32),
    PLAIN("m=1 nt",       V,  1, 509, 251,   NT, XL_F32, XL_F32),
    PLAIN("m=1 f16",      V,  1, 509, 251,   NN, XL_F16, XL_F16),
    PLAIN("n=1",          VQ, 509, 1, 251,   NN, XL_F32, XL_F32),
    PLAIN("n=1 tn",       V,  509, 1, 251,   TN, XL_F32, XL_F32),
    PLAIN("dot",          V,  1, 1, 10007,   NT, XL_F32, XL_F32),
    PLAIN("outer",        V,  257, 263, 2,   NN, XL_F32, XL_F32),
    /* Skinny and deep. */
    PLAIN("tall",         V,  1031, 3, 17,   NN, XL_F32, XL_F32),
    PLAIN("wide",         V,  3, 1031, 17,   NN, XL_F32, XL_F32),
    PLAIN("deep",         VQ, 13, 11, 4099,  NN, XL_F32, XL_F32),
    PLAIN("deep f16",     V,  13, 11, 4099,  NT, XL_F16, XL_F16),
    /* Few rows or columns: 1 to 16 that share one read, in both layouts. */
    PLAIN("rows 2 nt",    V,  2, 517, 1030,  NT, XL_F32, XL_F32),
    PLAIN("rows 4",       VQ, 4, 516, 1031,  NN, XL_F32, XL_F32),
    PLAIN("rows 5 f16",   V,  5, 640, 333,   NN, XL_F16, XL_F16),
    PLAIN("rows 16 nt",   V,  16, 333, 640,  NT, XL_F16, XL_F32),
    PLAIN("rows 9 bf16",  V,  9, 1000, 72,   TN, XL_BF16, XL_BF16),
    PLAIN("columns 3 tt", V,  700, 3, 1001,  TT, XL_F32, XL_F32),
    PLAIN("columns 8 tn", V,  515, 8, 260,   TN, XL_F16, XL_F16),
    PLAIN("row, long k",  V,  1, 7, 100003,  NT, XL_F32, XL_F32),
    PLAIN("larger",       V,  311, 307, 293, NN, XL_F32, XL_F32),
    PLAIN("larger tt",    V,  311, 307, 293, TT, XL_F32, XL_F32),
    PLAIN("larger f16",   V,  311, 307, 293, NT, XL_F16, XL_F32),
    PLAIN("engine row",   V,  1, 128, 128,   NN, XL_F32, XL_F32),
    PLAIN("engine block", V,  128, 128, 128, NN, XL_F16, XL_F32),

    /* name            use   m    n    k  trans alpha beta  in       out      pad a b c  offset a b c  cols   one    data */
    {"alpha 0",         VQ,  67,  53,  41, NN,  0,    0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"alpha 0 beta 1",  V,   67,  53,  41, NN,  0,    1,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"beta 1",          VQ,  67,  53,  41, NN,  1,    1,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"both -0.5",       VQ,  67,  53,  41, TN, -0.5, -0.5, XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"-0.5 and 1 f16",  VQ,  67,  53,  41, NT, -0.5,  1,   XL_F16,  XL_F16,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"1 and -0.5 bf16", V,   67,  53,  41, NN,  1,   -0.5, XL_BF16, XL_BF16, 0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"third",           V,   67,  53,  41, TT,  1/3., 0.1, XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"large f16-f32",   V,   67,  53,  41, NN,  1,    0,   XL_F16,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_LARGE, CASE_ONE},
    {"large f16",       V,   67,  53,  41, NN,  1,    0,   XL_F16,  XL_F16,  0, 0, 0,   0, 0, 0,      false, false, DATA_LARGE, CASE_ONE},
    {"pad 1",           VQ,  67,  53,  41, NN,  1,    1,   XL_F32,  XL_F32,  1, 1, 1,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"pad to 64",       V,   64,  60,  61, TN,  1,    0,   XL_F32,  XL_F32,  0, 4, 4,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"pad f16",         VQ,  67,  53,  41, TN,  1,    1,   XL_F16,  XL_F16,  3, 5, 7,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
    {"offset 1",        VQ,  64,  64,  64, NN,  1,    0,   XL_F32,  XL_F32,  0, 0, 0,   1, 1, 1,      false, false, DATA_NORMAL, CASE_ONE},
    {"offset 1 f16",    V,   64,  64,  64, NT,  1,    0,   XL_F16,  XL_F16,  0, 0, 0,   1, 3, 5,      false, false, DATA_NORMAL, CASE_ONE},
    LINED_FOUR("lines f16",       131, 133, 135, 0, XL_F16, XL_F16),
    LINED_FOUR("lines bf16",      131, 136, 137, 0, XL_BF16, XL_BF16),
    LINED_FOUR("lines f16-f32",   259, 67,  201, 1, XL_F16, XL_F32),
    LINED("lines 2 tiles",        300, 520, 330, NN, 0, XL_F16, XL_F16),
    LINED("lines 2 tiles tt",     300, 520, 330, TT, 0, XL_F16, XL_F16),
    LINED("lines beta",           300, 517, 330, NT, 1, XL_BF16, XL_BF16),
    LINED("lines i8",             131, 133, 261, NT, 0, XL_I8, XL_I32),
    LINED("lines e4m3",           131, 133, 261, NT, 0, XL_F8E4M3, XL_F16),
    LINED("lines rows 16",        16,  520, 1031, NN, 0, XL_F16, XL_F16),
    LINED("lines columns 9",      515, 9,   1031, NT, 0, XL_BF16, XL_F32),
    {"offset 64",       V,   64,  64,  64, NN,  1,    1,   XL_F32,  XL_F32,  0, 0, 0,   64, 128, 64,  false, false, DATA_NORMAL, CASE_ONE},
    {"offset and pad",  V,   67,  53,  41, TN,  1,    1,   XL_BF16, XL_F32,  3, 2, 5,   7, 12, 33,    false, false, DATA_NORMAL, CASE_ONE},
    {"columns",         VQ,  67,  53,  41, NN,  1,    0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      true,  false, DATA_NORMAL, CASE_ONE},
    {"columns tt",      V,   67,  53,  41, TT,  1,    1,   XL_F32,  XL_F32,  1, 2, 3,   5, 6, 7,      true,  false, DATA_NORMAL, CASE_ONE},
    {"columns tn f16",  V,   67,  53,  41, TN,  1,    0,   XL_F16,  XL_F16,  0, 0, 0,   0, 0, 0,      true,  false, DATA_NORMAL, CASE_ONE},
    {"columns nt",      V,   128, 96,  64, NT,  1,    0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      true,  false, DATA_NORMAL, CASE_ONE},
    {"A A^T",           VQ,  129, 129, 67, NN,  1,    0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, true,  DATA_NORMAL, CASE_ONE},
    {"A^T A f16",       V,   129, 129, 67, TN,  1,    0,   XL_F16,  XL_F32,  2, 0, 0,   3, 0, 0,      false, true,  DATA_NORMAL, CASE_ONE},

    /* Other types: sums in f64; exact ones of i8, u8; C of another type. */
    FOUR("odd f64",       V,  67, 53, 41, XL_F64,  XL_F64),
    FOUR("odd i8",        V,  67, 53, 41, XL_I8,   XL_I32),
    PLAIN("f64",          VQ, 131, 97, 515, NN, XL_F64, XL_F64),
    PLAIN("i8",           VQ, 131, 97, 515, NT, XL_I8,  XL_I32),
    PLAIN("i8 long",      V,  17, 19, 70001, NT, XL_I8, XL_I32),
    PLAIN("i8 row",       V,  1, 517, 1031, NN, XL_I8,  XL_I32),
    PLAIN("f64 row",      V,  2, 517, 1031, NT, XL_F64, XL_F64),
    PLAIN("i8-f32",       V,  67, 53, 41, NN, XL_I8,   XL_F32),
    PLAIN("i8-f16",       V,  67, 53, 41, TT, XL_I8,   XL_F16),
    PLAIN("i8-bf16",      V,  67, 53, 41, TN, XL_I8,   XL_BF16),
    PLAIN("u8",           VQ, 67, 53, 41, NT, XL_U8,   XL_I32),
    PLAIN("u8-f32",       V,  67, 53, 41, TN, XL_U8,   XL_F32),
    PLAIN("u8-f16",       V,  67, 53, 7,  NN, XL_U8,   XL_F16),
    PLAIN("u8-bf16",      V,  3, 517, 41, NT, XL_U8,   XL_BF16),
    PAIR("f16*i8",        V,  67, 53, 41, NT, XL_F16, XL_I8, XL_F16),
    PAIR("f16*i8 row",    V,  1, 517, 1031, NT, XL_F16, XL_I8, XL_F32),
    PAIR("bf16*u8",       V,  67, 53, 41, NN, XL_BF16, XL_U8, XL_F32),
    PAIR("f32*bf16",      V,  67, 53, 41, TN, XL_F32, XL_BF16, XL_F32),
    PAIR("u8*i8",         V,  67, 53, 41, NT, XL_U8, XL_I8, XL_I32),
    PAIR("i8*f32",        V,  67, 53, 41, TT, XL_I8, XL_F32, XL_F32),
    PAIR("e4m3*e5m2",     V,  67, 53, 41, NT, XL_F8E4M3, XL_F8E5M2, XL_F32),
    PAIR("e5m2*f16",      V,  67, 53, 41, TN, XL_F8E5M2, XL_F16, XL_F32),
    PAIR("f16*e4m3",      V,  67, 53, 41, NN, XL_F16, XL_F8E4M3, XL_BF16),
    PLAIN("f32-f16",      V,  67, 53, 41, NN, XL_F32,  XL_F16),
    PLAIN("f32-bf16",     V,  67, 53, 41, NT, XL_F32,  XL_BF16),
    PLAIN("f16-bf16",     V,  67, 53, 41, TN, XL_F16,  XL_BF16),
    PLAIN("bf16-f16",     V,  67, 53, 41, TT, XL_BF16, XL_F16),
    PLAIN("e4m3 nn",      V,  67, 53, 41, NN, XL_F8E4M3, XL_F32),
    PLAIN("e4m3 tn",      VQ, 67, 53, 41, TN, XL_F8E4M3, XL_BF16),
    PLAIN("e4m3 nt",      V, 129, 65, 515, NT, XL_F8E4M3, XL_F16),
    PLAIN("e4m3 tt",      V,  67, 53, 41, TT, XL_F8E4M3, XL_F32),
    PLAIN("e4m3 row",     V,  1, 517, 1031, NN, XL_F8E4M3, XL_F32),
    PLAIN("e4m3 rows",    V,  9, 1000, 72, NT, XL_F8E4M3, XL_F32),
    PLAIN("e5m2 nn",      V, 131, 97, 515, NN, XL_F8E5M2, XL_F16),
    PLAIN("e5m2 tn",      V,  67, 53, 41, TN, XL_F8E5M2, XL_F32),
    PLAIN("e5m2 nt",      VQ, 67, 53, 41, NT, XL_F8E5M2, XL_F32),
    PLAIN("e5m2 tt",      V, 128, 128, 128, TT, XL_F8E5M2, XL_BF16),
    PLAIN("e5m2 columns", V,  700, 3, 1001, TT, XL_F8E5M2, XL_F32),
    {"scaled f64",      V,   67,  53,  41, TN, 1/3., 0.1,  XL_F64,  XL_F64,  1, 2, 3,   5, 6, 7,      true,  false, DATA_NORMAL, CASE_ONE},
    {"scaled i8",       VQ,  67,  53,  41, TN, -2,   3,    XL_I8,   XL_I32,  3, 5, 7,   1, 2, 3,      false, false, DATA_NORMAL, CASE_ONE},
    {"scaled i8 cols",  V,   67,  53,  41, NT,  2,  -1,    XL_I8,   XL_I32,  3, 5, 7,   1, 2, 3,      true,  false, DATA_NORMAL, CASE_ONE},

    {"scaled e4m3",     V,   67,  53,  41, NT, -0.5, 1.5,  XL_F8E4M3, XL_F32, 3, 5, 7,  1, 2, 3,      false, false, DATA_NORMAL, CASE_ONE},
    {"scaled e5m2 cols", V,  67,  53,  41, NN,  2,  -1,    XL_F8E5M2, XL_BF16, 3, 5, 7, 1, 2, 3,      true,  false, DATA_NORMAL, CASE_ONE},

    /* Accuracy traded for speed. */
#define TRADED(name, use, m, n, k, trans, in, out, accuracy)                  \
    {name, use, m, n, k, trans, 1, 0, in, out,                                \
     0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, {0, BATCH_STEPS, 0}, false,    \
     accuracy, 0}
    TRADED("fast f32",    V, 129, 65, 515, NN, XL_F32, XL_F32, XL_ACCURACY_FAST),
    TRADED("fast f32 tt", V,  67, 53, 41,  TT, XL_F32, XL_F16, XL_ACCURACY_FAST),
    TRADED("split f32",   V, 129, 65, 515, NN, XL_F32, XL_F32, XL_ACCURACY_SPLIT),
    TRADED("split f32 tn", V, 67, 53, 1027, TN, XL_F32, XL_F32, XL_ACCURACY_SPLIT),
    TRADED("split f32 nt", V, 257, 196, 640, NT, XL_F32, XL_F32, XL_ACCURACY_SPLIT),
    TRADED("split f32 tt", V, 61, 129, 577, TT, XL_F32, XL_F32, XL_ACCURACY_SPLIT),
    TRADED("split f32 few", V, 67, 53, 41, TT, XL_F32, XL_F32, XL_ACCURACY_SPLIT),
    {"split f32 scaled", V, 140, 90, 601, TN, 2, -3, XL_F32, XL_F32,
     3, 4, 5, 1, 8, 3, true, false, DATA_NORMAL, {0, BATCH_STEPS, 0}, true,
     XL_ACCURACY_SPLIT, 0},
    TRADED("fast e4m3",   V, 129, 65, 515, NT, XL_F8E4M3, XL_F32, XL_ACCURACY_FAST),
    TRADED("fast e5m2",   V,  67, 53, 41,  TN, XL_F8E5M2, XL_F16, XL_ACCURACY_FAST),

    /* Batches. */
    MANY("batch",         VQ, 5, BATCH_STEPS,    NN, XL_F32,  XL_F32),
    MANY("batch tt",      V,  5, BATCH_STEPS,    TT, XL_F32,  XL_F32),
    MANY("batch f16",     V,  5, BATCH_STEPS,    NT, XL_F16,  XL_F16),
    MANY("batch bf16",    V,  5, BATCH_STEPS,    TN, XL_BF16, XL_F32),
    MANY("batch f64",     V,  3, BATCH_STEPS,    NN, XL_F64,  XL_F64),
    MANY("batch i8",      V,  3, BATCH_STEPS,    NT, XL_I8,   XL_I32),
    MANY("batch e4m3",    V,  3, BATCH_LISTS,    NN, XL_F8E4M3, XL_F32),
    MANY("batch one B",   V,  7, BATCH_SHARED_B, NN, XL_F32,  XL_F32),
    MANY("batch lists",   VQ, 5, BATCH_LISTS,    NN, XL_F32,  XL_F32),
    MANY("batch lists tn", V, 4, BATCH_LISTS,    TN, XL_F16,  XL_F32),
    MANY("heads",         VQ, 6, BATCH_HEADS,    NT, XL_F32,  XL_F32),
    MANY("heads f16",     V,  6, BATCH_HEADS,    TN, XL_F16,  XL_F16),
    MANY("heads i8",      V,  6, BATCH_HEADS,    NT, XL_I8,   XL_I32),
    MANY("heads f64",     V,  6, BATCH_HEADS,    NN, XL_F64,  XL_F64),
    MANY("heads grouped", VQ, 6, BATCH_GROUPED,  NN, XL_F32,  XL_F32),
    MANY("heads grouped f16", V, 6, BATCH_GROUPED, NT, XL_F16, XL_F32),
    {"heads columns",   V,   37,  29,  23, TN, 1,    1,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      true,  false, DATA_NORMAL, {6, BATCH_GROUPED, 0}, false, XL_ACCURACY_FULL, 0},
    {"heads row",       V,   1,  517, 131, NT, 1,    0,    XL_F16,  XL_F16,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, {6, BATCH_GROUPED, 0}, false, XL_ACCURACY_FULL, 0},
    {"heads large",     V,  150, 140, 130, NN, 1,    0,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, {6, BATCH_GROUPED, 0}, false, XL_ACCURACY_FULL, 0},
    {"batch columns",   V,   37,  29,  23, TN, 1,    1,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      true,  false, DATA_NORMAL, {4, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 0},
    {"batch lists cols", V,  37,  29,  23, NT, 1,    0,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      true,  false, DATA_NORMAL, {4, BATCH_LISTS, 0}, false, XL_ACCURACY_FULL, 0},
    {"batch rows",      V,   1,  517, 131, NN, 1,    0,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, {6, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 0},
    {"batch rows f16",  V,   3,  131, 517, NT, 1,    0,    XL_F16,  XL_F16,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, {6, BATCH_LISTS, 0}, false, XL_ACCURACY_FULL, 0},
    {"batch large",     V,  150, 140, 130, NN, 1,    0,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, {3, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 0},
    {"batch many",      V,    8,   8,   8, NN, 1,    0,    XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, {70001, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 0},

    /* With the epilogue relu(y + bias). */
#define BIAS(name, use, m, n, k, trans, in, out, columns, count)              \
    {name, use, m, n, k, trans, 1, 0, in, out,                                \
     0, 0, 1, 0, 0, 0, columns, false, DATA_NORMAL, {count, BATCH_STEPS, 0}, true,                  \
     XL_ACCURACY_FULL, 0}
    BIAS("bias relu",        VQ, 67, 53, 41,   NN, XL_F32,  XL_F32,  false, 0),
    BIAS("bias relu cols",   V,  67, 53, 41,   TN, XL_F32,  XL_F32,  true,  0),
    BIAS("bias relu f16",    V,  128, 96, 64,  NT, XL_F16,  XL_F16,  false, 0),
    BIAS("bias relu i8",     V,  67, 53, 41,   NT, XL_I8,   XL_F32,  false, 0),
    BIAS("bias relu u8",     V,  67, 53, 41,   TT, XL_U8,   XL_F32,  false, 0),
    BIAS("bias relu e4m3",   V,  67, 53, 41,   TT, XL_F8E4M3, XL_BF16, false, 0),
    BIAS("bias relu row",    V,  1, 517, 1031, NN, XL_F32,  XL_F32,  false, 0),
    BIAS("bias relu rows",   V,  4, 517, 1031, NT, XL_F16,  XL_F32,  false, 0),
    BIAS("bias relu deep",   V,  13, 11, 4099, NN, XL_F32,  XL_F32,  false, 0),
    /* the operands and the results that are not above */
    BIAS("bias relu bf16-i8", V, 67, 53, 41,   NT, XL_BF16, XL_I8,   false, 0),
    BIAS("bias relu e5m2-u8", V, 67, 53, 41,   NN, XL_F8E5M2, XL_U8, false, 0),
    BIAS("bias relu f32-i32", V, 67, 53, 41,   TN, XL_F32,  XL_I32,  true,  0),
    BIAS("bias relu i8-bool", V, 67, 53, 41,   NN, XL_I8,   XL_BOOL, false, 0),
    BIAS("bias relu batch",  V,  37, 29, 23,   NN, XL_F32,  XL_F32,  false, 4),

    /* Large enough for many groups; a sample of the result is checked. */
    PLAIN("sample f32",   V,  1009, 1013, 521, NN, XL_F32, XL_F32),
    PLAIN("sample f16",   V,  1009, 1013, 521, TN, XL_F16, XL_F16),

    /* Timed. */
    PLAIN("cube 1024 f32",   BQ, 1024, 1024, 1024, NN, XL_F32,  XL_F32),
    PLAIN("cube 2048 f32",   BQ, 2048, 2048, 2048, NN, XL_F32,  XL_F32),
    PLAIN("cube 4096 f32",   BQ, 4096, 4096, 4096, NN, XL_F32,  XL_F32),
    PLAIN("cube 1024 f16",   BQ, 1024, 1024, 1024, NN, XL_F16,  XL_F16),
    PLAIN("cube 4096 f16",   B,  4096, 4096, 4096, NN, XL_F16,  XL_F16),
    PLAIN("cube 1024 bf16",  BQ, 1024, 1024, 1024, NN, XL_BF16, XL_BF16),
    PLAIN("cube 4096 bf16",  B,  4096, 4096, 4096, NN, XL_BF16, XL_BF16),
    PLAIN("cube 4096 e4m3",  B,  4096, 4096, 4096, NT, XL_F8E4M3, XL_BF16),
    PLAIN("cube 8192 f32",   BB, 8192, 8192, 8192, NN, XL_F32,  XL_F32),
    PLAIN("cube 8192 f16",   BB, 8192, 8192, 8192, NN, XL_F16,  XL_F16),
    {"batch 10000x32", BQ, 32, 32, 32, NN, 1, 0, XL_F32, XL_F32,
     0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, {10000, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 0},
    PLAIN("odd 1000",        B,  1000, 1023, 517,  NN, XL_F32,  XL_F32),
    PLAIN("cube 1024 tn",    B,  1024, 1024, 1024, TN, XL_F32,  XL_F32),
    PLAIN("cube 1024 nt",    B,  1024, 1024, 1024, NT, XL_F32,  XL_F32),
    PLAIN("cube 1024 tt",    B,  1024, 1024, 1024, TT, XL_F32,  XL_F32),
    /* A linear layer: x (batch x in) times the transposed weights. */
    PLAIN("linear 512 f16",  B,  512, 4096, 1024,  NT, XL_F16,  XL_F16),
    PLAIN("linear 1 f16",    B,  1,   4096, 1024,  NT, XL_F16,  XL_F16),
    PLAIN("linear 512 f32",  B,  512, 4096, 1024,  NT, XL_F32,  XL_F32),
    PLAIN("linear 1 f32",    B,  1,   4096, 1024,  NT, XL_F32,  XL_F32),
    /* Sizes at which tiles, waves and row alignment have visible effects. */
    PLAIN("sawtooth 1792",   B,  1792, 1792, 1792, NN, XL_F16,  XL_F16),
    PLAIN("sawtooth 1793",   B,  1793, 1793, 1793, NN, XL_F16,  XL_F16),
    PLAIN("sawtooth 2048",   B,  2048, 2048, 2048, NN, XL_F16,  XL_F16),
    PLAIN("sawtooth 2049",   B,  2049, 2049, 2049, NN, XL_F16,  XL_F16),
#define LD(pad, text)                                                         \
    {"row alignment " text, B, 2048, 2048, 2048, NN, 1, 0, XL_F16, XL_F16,    \
     pad, pad, pad, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE}
    LD(0, "2048"), LD(1, "2049"), LD(2, "2050"), LD(3, "2051"), LD(4, "2052"),
    LD(5, "2053"), LD(6, "2054"), LD(7, "2055"), LD(8, "2056"),
    {"A A^T 4096",      B,  4096, 4096, 4096, NN, 1,  0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, true,  DATA_NORMAL, CASE_ONE},
    {"A A^T 8192",      BB, 8192, 8192, 8192, NN, 1,  0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, true,  DATA_NORMAL, CASE_ONE},
    {NULL,              0,  0,    0,    0,    NN, 0,  0,   XL_F32,  XL_F32,  0, 0, 0,   0, 0, 0,      false, false, DATA_NORMAL, CASE_ONE},
};

/* Dense, from one buffer to another. */
#define ROWS(name, use, rows, cols, dtype)                                    \
    {name, use, rows, cols, dtype, 0, 0, false, 0, 0, DATA_NORMAL, false}

const struct softmax_case softmax_cases[] = {
    /* From one column to ten million. */
    ROWS("1 column",      VQ, 37, 1, XL_F32),
    ROWS("1 column f16",  V,  37, 1, XL_F16),
    ROWS("2 columns",     V,  1021, 2, XL_F32),
    ROWS("3 columns",     VQ, 1021, 3, XL_BF16),
    ROWS("7 columns",     V,  4093, 7, XL_F32),
    ROWS("31 columns",    V,  257, 31, XL_F16),
    ROWS("64 columns",    V,  129, 64, XL_F32),
    ROWS("127 columns",   VQ, 129, 127, XL_F32),
    ROWS("255 f16",       VQ, 65, 255, XL_F16),
    ROWS("257 bf16",      VQ, 65, 257, XL_BF16),
    ROWS("1024 columns",  V,  33, 1024, XL_F32),
    ROWS("1031 columns",  VQ, 33, 1031, XL_F32),
    ROWS("1031 f16",      V,  33, 1031, XL_F16),
    ROWS("4099 columns",  V,  7, 4099, XL_F32),
    ROWS("4096 bf16",     V,  7, 4096, XL_BF16),
    ROWS("65537 columns", VQ, 3, 65537, XL_F32),
    ROWS("65537 f16",     V,  3, 65537, XL_F16),
    ROWS("1000003 cols",  V,  2, 1000003, XL_F32),
    ROWS("10^7 columns",  V,  1, 10000000, XL_F32),
    ROWS("10^7 f16",      V,  1, 10000000, XL_F16),
    ROWS("one row",       V,  1, 1009, XL_F32),
    ROWS("many rows",     V,  100003, 5, XL_F32),

    /* name             use  rows cols  dtype   scale mask in place pad off data log */
    {"specials",         VQ, 64,  127,  XL_F32,  0,    0,  false,   0,  0,  DATA_SPECIALS, false},
    {"specials long",    V,  16,  5003, XL_F32,  0,    0,  false,   0,  0,  DATA_SPECIALS, false},
    {"specials f16",     VQ, 64,  127,  XL_F16,  0,    0,  false,   0,  0,  DATA_SPECIALS, false},
    {"specials bf16",    V,  64,  127,  XL_BF16, 0,    0,  true,    0,  0,  DATA_SPECIALS, false},
    {"specials 1 col",   V,  64,  1,    XL_F32,  0,    0,  false,   0,  0,  DATA_SPECIALS, false},
    {"specials huge",    V,  8,   200003, XL_F32, 0,   0,  false,   0,  0,  DATA_SPECIALS, false},
    {"specials masked",  V,  64,  131,  XL_F32,  0.5,  1,  false,   0,  0,  DATA_SPECIALS, false},
    {"large",            VQ, 33,  1031, XL_F32,  0,    0,  false,   0,  0,  DATA_LARGE, false},
    {"large f16",        V,  33,  1031, XL_F16,  0,    0,  false,   0,  0,  DATA_LARGE, false},
    {"scale 0.125",      VQ, 33,  521,  XL_F32,  0.125, 0, false,   0,  0,  DATA_NORMAL, false},
    {"scale -3",         V,  33,  521,  XL_F16,  -3,   0,  false,   0,  0,  DATA_NORMAL, false},
    {"scale 0.1 long",   V,  2,   70001, XL_F32, 0.1,  0,  false,   0,  0,  DATA_NORMAL, false},
    {"mask",             VQ, 33,  521,  XL_F32,  0,    1,  false,   0,  0,  DATA_NORMAL, false},
    {"mask scaled",      V,  33,  521,  XL_F16,  0.3,  1,  false,   0,  0,  DATA_NORMAL, false},
#define MASKED(name, dtype, mask)                                             \
    {name, V, 33, 521, dtype, 0.5, MASK_OF(mask), false, 0, 0, DATA_NORMAL, false}
    MASKED("mask f16",       XL_F32,  XL_F16),
    MASKED("mask bf16",      XL_F32,  XL_BF16),
    MASKED("mask f64",       XL_F32,  XL_F64),
    MASKED("f16 mask f32",   XL_F16,  XL_F32),
    MASKED("f16 mask bf16",  XL_F16,  XL_BF16),
    MASKED("f16 mask f64",   XL_F16,  XL_F64),
    MASKED("bf16 mask f32",  XL_BF16, XL_F32),
    MASKED("bf16 mask f16",  XL_BF16, XL_F16),
    MASKED("bf16 mask bf16", XL_BF16, XL_BF16),
    MASKED("bf16 mask f64",  XL_BF16, XL_F64),
    {"mask row",         VQ, 33,  521,  XL_F32,  0,    2,  false,   0,  0,  DATA_NORMAL, false},
    {"mask row bf16",    V,  33,  521,  XL_BF16, 0.5,  2,  true,    3,  5,  DATA_NORMAL, false},
    {"mask long",        V,  2,   70001, XL_F32, 0,    1,  false,   0,  0,  DATA_NORMAL, false},
#define HOOKED(name, use, dtype, out)                                         \
    {name, use, 13, 521, dtype, 0.5, HOOKS_INTO(out), false, 1, 1, DATA_NORMAL, false}
    HOOKED("hooks",          VQ, XL_F32,  XL_F32),
    HOOKED("hooks into f16", V,  XL_F32,  XL_F16),
    HOOKED("hooks into i32", V,  XL_F32,  XL_I32),
    HOOKED("hooks into u8",  V,  XL_F32,  XL_U8),
    HOOKED("hooks into bool", V, XL_F32,  XL_BOOL),
    HOOKED("f16 hooks into i8", VQ, XL_F16, XL_I8),
    HOOKED("bf16 hooks",     V,  XL_BF16, XL_BF16),
    {"in place",         VQ, 33,  521,  XL_F32,  0,    0,  true,    0,  0,  DATA_NORMAL, false},
    {"in place long",    V,  2,   70001, XL_F32, 0,    0,  true,    0,  0,  DATA_NORMAL, false},
    {"in place f16",     V,  33,  521,  XL_F16,  0,    0,  true,    1,  1,  DATA_NORMAL, false},
    {"pad 1",            VQ, 33,  521,  XL_F32,  0,    0,  false,   1,  0,  DATA_NORMAL, false},
    {"pad to 512",       V,  33,  500,  XL_F32,  0,    0,  false,   12, 0,  DATA_NORMAL, false},
    {"offset 1",         VQ, 33,  512,  XL_F32,  0,    0,  false,   0,  1,  DATA_NORMAL, false},
    {"offset 3 f16",     VQ, 33,  512,  XL_F16,  0,    0,  false,   5,  3,  DATA_NORMAL, false},
    {"offset 64",        V,  33,  512,  XL_F32,  0,    0,  false,   0,  64, DATA_NORMAL, false},

    {"log",              VQ, 33,  521,  XL_F32,  0,    0,  false,   0,  0,  DATA_NORMAL, true},
    {"log 1 column",     V,  37,  1,    XL_F16,  0,    0,  false,   0,  0,  DATA_NORMAL, true},
    {"log short f16",    VQ, 1021, 31,  XL_F16,  0.5,  0,  false,   3,  1,  DATA_NORMAL, true},
    {"log in place",     V,  33,  1031, XL_BF16, 0,    0,  true,    0,  0,  DATA_NORMAL, true},
    {"log mask",         V,  33,  521,  XL_F16,  0.3,  1,  false,   0,  0,  DATA_NORMAL, true},
    {"log hooks",        V,  13,  521,  XL_F32,  0.5,  HOOKS_INTO(XL_F32), false, 1, 1, DATA_NORMAL, true},
    {"log long",         VQ, 3,   65537, XL_F32, 0,    0,  false,   0,  0,  DATA_NORMAL, true},
    {"log 10^6",         V,  2,   1000003, XL_F32, 0,  0,  false,   0,  0,  DATA_NORMAL, true},
    {"log large",        VQ, 33,  1031, XL_F32,  0,    0,  false,   0,  0,  DATA_LARGE, true},
    {"log large long",   V,  3,   65537, XL_F32, 0,    0,  false,   0,  0,  DATA_LARGE, true},
    {"log large f16",    V,  33,  1031, XL_F16,  0,    0,  false,   0,  0,  DATA_LARGE, true},
    {"log specials",     VQ, 64,  127,  XL_F32,  0,    0,  false,   0,  0,  DATA_SPECIALS, true},
    {"log specials long", V, 8,   200003, XL_F32, 0,   0,  false,   0,  0,  DATA_SPECIALS, true},

    /* Timed. */
    ROWS("4096x4096 f32",   BQ, 4096, 4096, XL_F32),
    ROWS("16384x1024 f32",  BQ, 16384, 1024, XL_F32),
    ROWS("64x1000000 f32",  BQ, 64, 1000000, XL_F32),
    ROWS("4096x4096 f16",   BQ, 4096, 4096, XL_F16),
    ROWS("4096x4096 bf16",  B,  4096, 4096, XL_BF16),
    ROWS("16384x4096 f32",  B,  16384, 4096, XL_F32),
    ROWS("100000x100 f32",  B,  100000, 100, XL_F32),
    ROWS("1x10000000 f32",  B,  1, 10000000, XL_F32),
    ROWS("8192x32768 f32",  BB, 8192, 32768, XL_F32),
    ROWS("256x1048576 f32", BB, 256, 1048576, XL_F32),
    {NULL, 0, 0, 0, XL_F32, 0, 0, false, 0, 0, DATA_NORMAL, false},
};
/* clang-format on */

xl_dtype gemm_case_b(const struct gemm_case *c)
{
    return c->other_b > 0 ? (xl_dtype)(c->other_b - 1) : c->in;
}

static bool is_among(xl_dtype dtype, xl_dtype x, xl_dtype y)
{
    return dtype == x || dtype == y;
}

xl_dtype gemm_case_rounds_as(const struct gemm_case *c)
{
    const xl_dtype a = c->in, b = gemm_case_b(c);
    const bool are_bytes =
                   is_among(a, XL_I8, XL_U8) && is_among(b, XL_I8, XL_U8),
               are_f8 = is_among(a, XL_F8E4M3, XL_F8E5M2) &&
                        is_among(b, XL_F8E4M3, XL_F8E5M2);
    return a == b || are_bytes || are_f8 ? a : XL_F16;
}

xl_dtype softmax_mask_dtype(const struct softmax_case *c)
{
    return softmax_mask_is_row(c)  ? XL_F32
           : c->mask >= MASK_TYPED ? (xl_dtype)(c->mask - MASK_TYPED)
                                   : c->dtype;
}

xl_dtype softmax_out_dtype(const struct softmax_case *c)
{
    return c->mask >= MASK_HOOKS ? (xl_dtype)(c->mask - MASK_HOOKS) : c->dtype;
}

bool softmax_mask_is_row(const struct softmax_case *c)
{
    return c->mask == MASK_ROW || c->mask >= MASK_HOOKS;
}

/* -- quantised weights ---------------------------------------------------- */

#define QGEMM(called, used, m_, n_, k_, format_, in_, out_, ...)              \
    {                                                                         \
        .name = called, .use = used, .m = m_, .n = n_, .k = k_,               \
        .format = format_, .in = in_, .out = out_, __VA_ARGS__                \
    }
/* Timed: layers of a language model of 8 B parameters when it decodes. */
#define LAYER(format_, used, ...)                                             \
    QGEMM("layer", used, 1, 4096, 14336, format_, XL_F32, XL_F32, __VA_ARGS__)

const struct qgemm_case qgemm_cases[] = {
    QGEMM("q4_0", CASE_VERIFY | CASE_QUICK, 1, 67, 416, XL_Q4_0, XL_F32,
          XL_F32, .off = 2),
    QGEMM("q4_0 rows", CASE_VERIFY, 11, 35, 96, XL_Q4_0, XL_F16, XL_F32,
          .pad = 3, .off = 6),
    QGEMM("q4_0 many rows", CASE_VERIFY, 70, 9, 64, XL_Q4_0, XL_F32, XL_F16,
          .pad = 1, .off = 2),
    QGEMM("q4_0 long", CASE_VERIFY, 2, 5, 14336, XL_Q4_0, XL_BF16, XL_F32,
          .pad = 0),
    QGEMM("q4_0 one", CASE_VERIFY, 1, 1, 32, XL_Q4_0, XL_F32, XL_F32,
          .pad = 0),
    QGEMM("q4_0 columns", CASE_VERIFY, 5, 33, 128, XL_Q4_0, XL_F32, XL_F32,
          .columns_c = true, .pad = 2),
    QGEMM("q4_0 epilogue", CASE_VERIFY | CASE_QUICK, 3, 41, 160, XL_Q4_0,
          XL_F16, XL_F16, .bias_relu = true, .pad = 5, .off = 4),
    QGEMM("q4_1", CASE_VERIFY, 3, 37, 352, XL_Q4_1, XL_F32, XL_F32, .off = 2),
    QGEMM("q5_0", CASE_VERIFY, 2, 37, 352, XL_Q5_0, XL_BF16, XL_F32, .off = 2),
    QGEMM("q8_0", CASE_VERIFY | CASE_QUICK, 2, 37, 352, XL_Q8_0, XL_F32,
          XL_BF16, .off = 2),
    QGEMM("q8_0 rows", CASE_VERIFY, 17, 19, 1024, XL_Q8_0, XL_F32, XL_F32,
          .pad = 7),
    QGEMM("q4_k", CASE_VERIFY | CASE_QUICK, 2, 37, 768, XL_Q4_K, XL_F32,
          XL_F32, .off = 2),
    QGEMM("q6_k", CASE_VERIFY, 3, 37, 768, XL_Q6_K, XL_F16, XL_F32, .off = 2),
    QGEMM("iq4_nl", CASE_VERIFY, 1, 37, 352, XL_IQ4_NL, XL_F32, XL_F32,
          .off = 2),
    QGEMM("mxfp4", CASE_VERIFY | CASE_QUICK, 1, 37, 352, XL_MXFP4, XL_BF16,
          XL_BF16, .off = 3),
    QGEMM("mxfp4 rows", CASE_VERIFY, 9, 37, 2080, XL_MXFP4, XL_F32, XL_F32,
          .off = 1, .pad = 1),
    QGEMM("int4/32", CASE_VERIFY, 4, 37, 288, XL_INT4, XL_F32, XL_F32,
          .group = 32, .off = 2),
    QGEMM("int4/96 zeros", CASE_VERIFY | CASE_QUICK, 2, 37, 288, XL_INT4,
          XL_F16, XL_F32, .group = 96, .has_zeros = true, .off = 4),
    QGEMM("int4/128 zeros", CASE_VERIFY, 1, 66, 1408, XL_INT4, XL_F32, XL_F32,
          .group = 128, .has_zeros = true, .pad = 1),
    QGEMM("int8", CASE_VERIFY, 2, 37, 352, XL_INT8, XL_F32, XL_F32, .off = 2),

    QGEMM("fp8/96x5", CASE_VERIFY | CASE_QUICK, 2, 37, 288, XL_FP8, XL_F32,
          XL_F32, .group = 96, .group_rows = 5, .off = 4),
    QGEMM("fp8/128x128", CASE_VERIFY, 5, 131, 384, XL_FP8, XL_BF16, XL_F32,
          .group = 128, .group_rows = 128, .pad = 1, .off = 2),
    QGEMM("fp8 rows", CASE_VERIFY, 11, 35, 352, XL_FP8, XL_F16, XL_BF16,
          .group_rows = 1, .pad = 3, .bias_relu = true),
    QGEMM("fp8 one scale", CASE_VERIFY, 1, 67, 1056, XL_FP8, XL_F32, XL_F32,
          .off = 2),

    QGEMM("q4_0 rounded", CASE_VERIFY, 70, 67, 416, XL_Q4_0, XL_F16, XL_F16,
          .off = 8, .pad = 8, .accuracy = XL_ACCURACY_FAST),
    QGEMM("q8_0 rounded", CASE_VERIFY, 131, 37, 64, XL_Q8_0, XL_BF16, XL_F32,
          .off = 2, .accuracy = XL_ACCURACY_FAST),
    QGEMM("int4/64 rounded", CASE_VERIFY | CASE_QUICK, 67, 131, 192, XL_INT4,
          XL_F16, XL_F32, .group = 64, .has_zeros = true, .columns_c = true,
          .bias_relu = true, .accuracy = XL_ACCURACY_FAST),
    QGEMM("fp8/64x3 rounded", CASE_VERIFY, 67, 19, 192, XL_FP8, XL_F16, XL_F32,
          .group = 64, .group_rows = 3, .accuracy = XL_ACCURACY_FAST),
    QGEMM("q4_0 aligned", CASE_VERIFY | CASE_QUICK, 3, 35, 2336, XL_Q4_0,
          XL_F16, XL_F32, .off = 8, .off_w = 6),
    QGEMM("q8_0 aligned", CASE_VERIFY, 5, 37, 4448, XL_Q8_0, XL_F32, XL_F32,
          .off = 8, .off_w = 2, .pad = 8),
    QGEMM("q6_k aligned", CASE_VERIFY, 12, 53, 2560, XL_Q6_K, XL_BF16, XL_F32,
          .off = 16, .off_w = 14),
    QGEMM("mxfp4 aligned", CASE_VERIFY, 17, 19, 2144, XL_MXFP4, XL_BF16,
          XL_F32, .off = 8, .off_w = 1),
    QGEMM("int4/96 aligned", CASE_VERIFY, 2, 37, 2880, XL_INT4, XL_F16, XL_F32,
          .group = 96, .has_zeros = true, .off = 8, .pad = 8),
    QGEMM("fp8/128x128 aligned", CASE_VERIFY, 3, 139, 2304, XL_FP8, XL_F16,
          XL_F32, .group = 128, .group_rows = 128, .off = 8, .off_w = 8,
          .pad = 8),
    QGEMM("int4/128 tiles", CASE_VERIFY | CASE_QUICK, 19, 331, 5504, XL_INT4,
          XL_F16, XL_F16, .group = 128, .has_zeros = true, .off = 8,
          .off_w = 8, .pad = 8, .bias_relu = true),
    QGEMM("int4/256 tiles", CASE_VERIFY, 137, 203, 1280, XL_INT4, XL_BF16,
          XL_F32, .group = 256, .off = 8, .off_w = 8, .columns_c = true),
    QGEMM("int4/128 tiles rounded", CASE_VERIFY, 300, 259, 1664, XL_INT4,
          XL_F16, XL_F32, .group = 128, .off = 8, .off_w = 8,
          .accuracy = XL_ACCURACY_FAST),
    QGEMM("q4_0 tiles", CASE_VERIFY | CASE_QUICK, 37, 331, 2816, XL_Q4_0,
          XL_BF16, XL_BF16, .off = 8, .off_w = 8, .pad = 8),
    QGEMM("q4_0 tiles rounded", CASE_VERIFY, 70, 139, 1536, XL_Q4_0, XL_F16,
          XL_F32, .off = 8, .off_w = 8, .accuracy = XL_ACCURACY_FAST),
    QGEMM("q4_0 rows of tiles", CASE_VERIFY, 129, 67, 768, XL_Q4_0, XL_F16,
          XL_F32, .off = 8, .off_w = 8, .bias_relu = true),

/* Activations as bytes. */
#define BYTES(called, used, m_, n_, k_, format_, in_, out_, ...)              \
    QGEMM(called " i8", used, m_, n_, k_, format_, in_, out_,                 \
          .activations = XL_ACTIVATIONS_I8, __VA_ARGS__)
    BYTES("q4_0", CASE_VERIFY | CASE_QUICK, 1, 67, 416, XL_Q4_0, XL_F32,
          XL_F32, .off = 2),
    BYTES("q4_0 rows", CASE_VERIFY, 11, 35, 96, XL_Q4_0, XL_F16, XL_F32,
          .pad = 3, .off = 6),
    BYTES("q4_0 one", CASE_VERIFY, 1, 1, 32, XL_Q4_0, XL_F32, XL_BF16,
          .pad = 0),
    BYTES("q4_0 epilogue", CASE_VERIFY, 3, 41, 160, XL_Q4_0, XL_BF16, XL_F16,
          .bias_relu = true, .columns_c = true, .pad = 5, .off = 4),
    BYTES("q4_1", CASE_VERIFY, 3, 37, 352, XL_Q4_1, XL_F32, XL_F32, .off = 2),
    BYTES("q5_0", CASE_VERIFY, 2, 37, 352, XL_Q5_0, XL_BF16, XL_F32, .off = 2),
    BYTES("q8_0", CASE_VERIFY | CASE_QUICK, 2, 37, 352, XL_Q8_0, XL_F32,
          XL_F32, .off = 2),
    BYTES("q8_0 long", CASE_VERIFY, 5, 7, 14336, XL_Q8_0, XL_F16, XL_F32,
          .pad = 1),
    BYTES("q4_k", CASE_VERIFY, 2, 37, 768, XL_Q4_K, XL_F32, XL_F32, .off = 2),
    BYTES("q6_k", CASE_VERIFY, 3, 37, 768, XL_Q6_K, XL_F16, XL_F32, .off = 2),
    BYTES("iq4_nl", CASE_VERIFY, 1, 37, 352, XL_IQ4_NL, XL_F32, XL_F32,
          .off = 2),
    BYTES("mxfp4", CASE_VERIFY, 9, 37, 352, XL_MXFP4, XL_BF16, XL_F32,
          .off = 3),
    BYTES("int4/32", CASE_VERIFY, 4, 37, 288, XL_INT4, XL_F32, XL_F32,
          .group = 32, .off = 2),
    BYTES("int4/128 zeros", CASE_VERIFY | CASE_QUICK, 2, 37, 1408, XL_INT4,
          XL_F16, XL_F32, .group = 128, .has_zeros = true, .off = 4),
    BYTES("int8", CASE_VERIFY | CASE_QUICK, 2, 37, 352, XL_INT8, XL_F32,
          XL_F32, .off = 2),
    BYTES("int8 rows", CASE_VERIFY, 67, 131, 416, XL_INT8, XL_F16, XL_F16,
          .pad = 8, .off = 8, .bias_relu = true),
    BYTES("int8 many rows", CASE_VERIFY | CASE_QUICK, 131, 37, 96, XL_INT8,
          XL_BF16, XL_F32, .pad = 3, .off = 2),
    BYTES("int8 columns", CASE_VERIFY, 35, 67, 224, XL_INT8, XL_F32, XL_BF16,
          .off = 16, .off_w = 2, .columns_c = true, .bias_relu = true),
    BYTES("int8 one", CASE_VERIFY, 1, 1, 32, XL_INT8, XL_F32, XL_F32,
          .pad = 0),

/* Rows of A that are normed, with a gain of this type. */
#define NORMED(called, used, m_, n_, k_, format_, in_, out_, gain_, ...)      \
    QGEMM(called " rms", used, m_, n_, k_, format_, in_, out_,                \
          .gain = 1 + (gain_), __VA_ARGS__)
    NORMED("q4_0", CASE_VERIFY | CASE_QUICK, 1, 67, 416, XL_Q4_0, XL_F32,
           XL_F32, XL_F32, .off = 2),
    NORMED("q4_0 rows", CASE_VERIFY, 11, 35, 96, XL_Q4_0, XL_F16, XL_F32,
           XL_F16, .pad = 3, .off = 6),
    NORMED("q4_0 one", CASE_VERIFY, 1, 1, 32, XL_Q4_0, XL_F32, XL_BF16, XL_F32,
           .pad = 0),
    NORMED("q4_0 epilogue", CASE_VERIFY, 3, 41, 160, XL_Q4_0, XL_BF16, XL_F16,
           XL_F32, .bias_relu = true, .columns_c = true, .pad = 5, .off = 4),
    NORMED("q4_1", CASE_VERIFY, 3, 37, 352, XL_Q4_1, XL_F32, XL_F32, XL_BF16,
           .off = 2),
    NORMED("q5_0", CASE_VERIFY, 2, 37, 352, XL_Q5_0, XL_BF16, XL_F32, XL_F32,
           .off = 2),
    NORMED("q8_0", CASE_VERIFY | CASE_QUICK, 4, 37, 352, XL_Q8_0, XL_F16,
           XL_F16, XL_F32, .off = 2),
    NORMED("q4_k", CASE_VERIFY, 2, 37, 768, XL_Q4_K, XL_F32, XL_F32, XL_F16,
           .off = 2),
    NORMED("q6_k", CASE_VERIFY, 3, 37, 768, XL_Q6_K, XL_F16, XL_F32, XL_F32,
           .off = 2),
    NORMED("iq4_nl", CASE_VERIFY, 1, 37, 352, XL_IQ4_NL, XL_F32, XL_F32,
           XL_F32, .off = 2),
    NORMED("mxfp4", CASE_VERIFY, 5, 37, 352, XL_MXFP4, XL_BF16, XL_BF16,
           XL_BF16, .off = 3, .pad = 1),
    NORMED("int4/96 zeros", CASE_VERIFY, 2, 37, 288, XL_INT4, XL_F16, XL_F32,
           XL_F32, .group = 96, .has_zeros = true, .off = 4),
    NORMED("int8", CASE_VERIFY, 2, 37, 352, XL_INT8, XL_F32, XL_F32, XL_F32,
           .off = 2),
    NORMED("q4_0 long", CASE_VERIFY, 2, 5, 20480, XL_Q4_0, XL_F32, XL_F32,
           XL_F32, .pad = 0),
    NORMED("q4_0 aligned", CASE_VERIFY | CASE_QUICK, 3, 35, 2336, XL_Q4_0,
           XL_F16, XL_F32, XL_F32, .off = 8, .off_w = 6),
    NORMED("q4_0 rounded", CASE_VERIFY | CASE_QUICK, 70, 67, 416, XL_Q4_0,
           XL_F16, XL_F16, XL_F32, .off = 8, .pad = 8,
           .accuracy = XL_ACCURACY_FAST),
    NORMED("q8_0 many rows", CASE_VERIFY, 70, 9, 64, XL_Q8_0, XL_F32, XL_F16,
           XL_F16, .pad = 1, .off = 2),
    NORMED("q8_0 i8", CASE_VERIFY | CASE_QUICK, 2, 37, 352, XL_Q8_0, XL_F32,
           XL_F32, XL_F32, .off = 2, .activations = XL_ACTIVATIONS_I8),
    NORMED("int8 i8 rows", CASE_VERIFY, 67, 131, 416, XL_INT8, XL_F16, XL_F16,
           XL_F32, .pad = 8, .off = 8, .bias_relu = true,
           .activations = XL_ACTIVATIONS_I8),

/* As E4M3: scales of W by row and one for all. */
#define BYTES_F8(called, used, m_, n_, k_, in_, out_, ...)                    \
    QGEMM(called " f8", used, m_, n_, k_, XL_FP8, in_, out_,                  \
          .activations = XL_ACTIVATIONS_F8, __VA_ARGS__)
    BYTES_F8("rows", CASE_VERIFY | CASE_QUICK, 35, 67, 416, XL_F32, XL_F32,
             .group_rows = 1, .off = 2),
    BYTES_F8("one scale", CASE_VERIFY, 19, 37, 352, XL_F16, XL_F32, .off = 6,
             .pad = 3),
    BYTES_F8("one row", CASE_VERIFY, 1, 41, 96, XL_BF16, XL_BF16,
             .group_rows = 1),
    BYTES_F8("one of all", CASE_VERIFY, 1, 1, 32, XL_F32, XL_F32, .pad = 0),
    BYTES_F8("epilogue", CASE_VERIFY, 66, 131, 224, XL_F16, XL_F16,
             .group_rows = 1, .bias_relu = true, .columns_c = true, .pad = 8,
             .off = 8),
    BYTES_F8("fast", CASE_VERIFY, 70, 130, 1056, XL_F16, XL_F32,
             .group_rows = 1, .accuracy = XL_ACCURACY_FAST, .pad = 8,
             .off = 8),
    NORMED("fp8 f8", CASE_VERIFY, 33, 67, 416, XL_FP8, XL_F16, XL_F16, XL_F32,
           .group_rows = 1, .pad = 8, .off = 8,
           .activations = XL_ACTIVATIONS_F8),

/* Two matrices, one below the other. */
#define PAIRED(called, used, m_, n_, k_, format_, in_, out_, ...)             \
    QGEMM(called " pair", used, m_, n_, k_, format_, in_, out_,               \
          .is_pair = true, __VA_ARGS__)
    PAIRED("q4_0", CASE_VERIFY | CASE_QUICK, 1, 134, 416, XL_Q4_0, XL_F32,
           XL_F32, .off = 2),
    PAIRED("q4_0 rows", CASE_VERIFY, 11, 70, 96, XL_Q4_0, XL_F16, XL_F32,
           .pad = 3, .off = 6),
    PAIRED("q4_0 one", CASE_VERIFY, 1, 2, 32, XL_Q4_0, XL_F32, XL_BF16,
           .pad = 0),
    PAIRED("q4_0 columns", CASE_VERIFY, 5, 66, 128, XL_Q4_0, XL_F32, XL_F32,
           .columns_c = true, .pad = 2),
    PAIRED("q4_0 aligned", CASE_VERIFY | CASE_QUICK, 3, 70, 2336, XL_Q4_0,
           XL_F16, XL_F16, .off = 8, .off_w = 6, .gain = 1 + XL_F32),
    PAIRED("q4_0 many rows", CASE_VERIFY, 35, 134, 2304, XL_Q4_0, XL_F16,
           XL_F16, .off = 8, .off_w = 6, .pad = 8),
    PAIRED("q4_1", CASE_VERIFY, 3, 38, 352, XL_Q4_1, XL_F32, XL_F32, .off = 2),
    PAIRED("q5_0", CASE_VERIFY, 2, 38, 352, XL_Q5_0, XL_BF16, XL_F32,
           .off = 2),
    PAIRED("q8_0", CASE_VERIFY | CASE_QUICK, 4, 38, 352, XL_Q8_0, XL_F16,
           XL_F16, .off = 2, .gain = 1 + XL_F16),
    PAIRED("q8_0 aligned", CASE_VERIFY, 13, 78, 2048, XL_Q8_0, XL_BF16, XL_F32,
           .off = 8, .off_w = 8, .pad = 8),
    PAIRED("q4_k", CASE_VERIFY, 2, 38, 768, XL_Q4_K, XL_F32, XL_F32, .off = 2),
    PAIRED("q6_k", CASE_VERIFY, 3, 38, 768, XL_Q6_K, XL_F16, XL_F32, .off = 2),
    PAIRED("iq4_nl", CASE_VERIFY, 1, 38, 352, XL_IQ4_NL, XL_F32, XL_F32,
           .off = 2),
    PAIRED("mxfp4", CASE_VERIFY, 5, 38, 352, XL_MXFP4, XL_BF16, XL_BF16,
           .off = 3, .pad = 1),
    PAIRED("int4/96 zeros", CASE_VERIFY, 2, 38, 288, XL_INT4, XL_F16, XL_F32,
           .group = 96, .has_zeros = true, .off = 4),
    PAIRED("int4/128 aligned", CASE_VERIFY, 2, 70, 2304, XL_INT4, XL_F16,
           XL_F16, .group = 128, .has_zeros = true, .off = 8, .off_w = 8),
    PAIRED("int8", CASE_VERIFY, 2, 38, 352, XL_INT8, XL_F32, XL_F32, .off = 2),
    PAIRED("fp8 blocks", CASE_VERIFY, 3, 76, 2304, XL_FP8, XL_F16, XL_F32,
           .group = 128, .group_rows = 3, .off = 8, .off_w = 8),
    PAIRED("q4_0 i8", CASE_VERIFY | CASE_QUICK, 3, 70, 352, XL_Q4_0, XL_F32,
           XL_F32, .off = 2, .activations = XL_ACTIVATIONS_I8),
    PAIRED("q8_0 i8", CASE_VERIFY, 1, 38, 352, XL_Q8_0, XL_F16, XL_F16,
           .off = 2, .gain = 1 + XL_F32, .activations = XL_ACTIVATIONS_I8),
    PAIRED("int8 i8", CASE_VERIFY, 9, 38, 96, XL_INT8, XL_F32, XL_F32,
           .off = 2, .activations = XL_ACTIVATIONS_I8),

    LAYER(XL_Q4_0, CASE_BENCH | CASE_QUICK, .pad = 0),
    LAYER(XL_Q8_0, CASE_BENCH | CASE_QUICK, .pad = 0),
    LAYER(XL_Q4_K, CASE_BENCH, .pad = 0),
    LAYER(XL_Q6_K, CASE_BENCH, .pad = 0),
    LAYER(XL_MXFP4, CASE_BENCH, .pad = 0),
    LAYER(XL_INT4, CASE_BENCH, .group = 128, .has_zeros = true),
    LAYER(XL_INT8, CASE_BENCH, .pad = 0),
    LAYER(XL_FP8, CASE_BENCH, .group = 128, .group_rows = 128),
    LAYER(XL_FP8, CASE_BENCH, .group_rows = 1),
    LAYER(XL_Q4_0, CASE_BENCH, .activations = XL_ACTIVATIONS_I8),
    LAYER(XL_Q8_0, CASE_BENCH, .activations = XL_ACTIVATIONS_I8),
    QGEMM("layer", CASE_BENCH, 1, 14336, 4096, XL_Q4_0, XL_F32, XL_F32,
          .gain = 1 + XL_F32),
    QGEMM("layer", CASE_BENCH, 1, 28672, 4096, XL_Q4_0, XL_F32, XL_F32,
          .is_pair = true),
    QGEMM("rows", CASE_BENCH, 8, 4096, 14336, XL_Q4_0, XL_F32, XL_F32,
          .pad = 0),
    QGEMM("rows", CASE_BENCH, 1024, 4096, 14336, XL_INT8, XL_F16, XL_F16,
          .activations = XL_ACTIVATIONS_I8),
    QGEMM("rows", CASE_BENCH, 1024, 4096, 14336, XL_FP8, XL_F16, XL_F16,
          .group_rows = 1, .activations = XL_ACTIVATIONS_F8,
          .accuracy = XL_ACCURACY_FAST),
    {.name = NULL}};

bool qgemm_case_rounds(const struct qgemm_case *c)
{
    return c->accuracy == XL_ACCURACY_FAST && c->in != XL_F32 &&
           !c->activations;
}

xl_dtype qgemm_gain_type(const struct qgemm_case *c)
{
    return c->gain ? (xl_dtype)(c->gain - 1) : XL_F32;
}

size_t qgemm_case_cols(const struct qgemm_case *c)
{
    return c->is_pair ? c->n / 2 : c->n;
}

size_t qgemm_case_group(const struct qgemm_case *c)
{
    enum { COLUMNS = 32 };
    return !c->activations                               ? 0
           : c->format == XL_INT8 || c->format == XL_FP8 ? c->k
                                                         : COLUMNS;
}

xl_qshape qgemm_case_shape(const struct qgemm_case *c)
{
    return (xl_qshape){c->format, c->n, c->k, c->group, c->group_rows};
}

size_t qgemm_case_first_row(const struct qgemm_case *c, size_t j)
{
    const size_t rows = c->format != XL_FP8 ? 1
                        : c->group_rows > 0 ? c->group_rows
                                            : c->n;
    return j / rows * rows;
}

size_t qgemm_case_scales_at(const struct qgemm_case *c, size_t j)
{
    struct qgemm_case before = *c;
    before.n = qgemm_case_first_row(c, j);
    return before.n > 0 ? qgemm_case_bytes(&before).scales : 0;
}

xl_qbytes qgemm_case_bytes(const struct qgemm_case *c)
{
    const xl_qshape shape = qgemm_case_shape(c);
    xl_qbytes bytes = {0, 0, 0, 0};
    (void)xl_qshape_bytes(&shape, &bytes);
    if (!c->has_zeros)
        bytes.zeros = 0;
    return bytes;
}
