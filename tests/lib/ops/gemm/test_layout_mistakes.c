/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in the layout of AMD's and Intel's fragments, of the rows of windows
 * on Intel's engine, and in the use of a driver's matrices, planted one at a time in a copy of the kernels:
 * the self-check of gemm_mma, of the variants of convolution on the engine, of
 * attention_mma or of attention_dpas, on the emulated instructions, strikes
 * each. Without a mistake the result is computed.
 *
 * XL_TEST_FULL  set: each mistake, else every second, fourth of dpas, eighth of
 *               cooperative matrices */
#include <stdio.h>
#include <string.h>

#include "ops/attention/attention.h"
#include "ops/gemm/engines/dpas.h"
#include "ops/gemm/engines/mma.h"
#include "ops/path/matrix_engine.h"
#include "runtime/store/sources.h"
#include "support/emulated_variant.h"

#define FRAGMENTS "common/amd/fragments.clh"
#define COOPERATIVE "common/matrix/cooperative.clh"
#define COOP_CALLS "common/matrix/cooperative_emulated.clh"
#define REGISTERS "gemm/slice_registers.clh"
#define WINDOWS "gemm/windows/windows.clh"
#define GATHER "gemm/windows/slices.clh"
#define TRANSPOSED "attention/mma_transposed.cl"
#define DPAS "common/intel/dpas.clh"
#define DPAS_ROWS "attention/intel/dpas.cl"
#define DPAS_TILES "attention/intel/dpas.clh"
#define DPAS_PACKING "attention/intel/dpas_pack.cl"
#define DPAS_GEMM "gemm/intel/dpas.cl"
#define COPY "gemm/windows/copy.cl"
#define DPAS_PACK "gemm/intel/dpas_pack.cl"

enum call {
    GEMM,
    GEMM_COOPERATIVE,
    CONV_NHWC,
    CONV_NCHW,
    DATA,
    FILTERS,
    DPAS_NHWC,
    DPAS_NCHW,
    DPAS_DATA,
    DPAS_FILTERS,
    ATTENTION,
    ATTENTION_DPAS
};
static const struct {
    enum xl__op_id op;
    const struct xl__variant *own;
    const char *where; /* what is reported */
} calls[] = {
    [GEMM] = {XL__OP_GEMM, &xl__gemm_mma, "gemm_mma: C("},
    [GEMM_COOPERATIVE] = {XL__OP_GEMM, &xl__gemm_mma, "gemm_mma: C("},
    [CONV_NHWC] = {XL__OP_CONV, &xl__conv_mma, "conv_mma: out("},
    [CONV_NCHW] = {XL__OP_CONV, &xl__conv_mma, "conv_mma: out("},
    [DATA] = {XL__OP_CONV_DATA, &xl__conv_data_mma, "conv_data_mma: in("},
    [FILTERS] = {XL__OP_CONV_FILTERS, &xl__conv_filters_mma,
                 "conv_filters_mma: filters("},
    [ATTENTION] = {XL__OP_ATTENTION, &xl__attention_mma, "attention_mma: o("},
    [DPAS_NHWC] = {XL__OP_CONV, &xl__conv_dpas, "conv_dpas: out("},
    [DPAS_NCHW] = {XL__OP_CONV, &xl__conv_dpas, "conv_dpas: out("},
    [DPAS_DATA] = {XL__OP_CONV_DATA, &xl__conv_data_dpas,
                   "conv_data_dpas: in("},
    [DPAS_FILTERS] = {XL__OP_CONV_FILTERS, &xl__conv_filters_dpas,
                      "conv_filters_dpas: filters("},
    [ATTENTION_DPAS] = {XL__OP_ATTENTION, &xl__attention_dpas,
                        "attention_dpas: o("}};
struct mistake {
    const char *what, *arch, *file, *from, *to;
};
static const struct mistake in_gemm[] = {
    {"none", "gfx942", NULL, NULL, NULL},
    {"none", "gfx1100", NULL, NULL, NULL},
    {"none", "gfx1201", NULL, NULL, NULL},
    {"sums of four rows too close", "gfx942", FRAGMENTS, "(4 * MMA_PARTS)",
     "(2 * MMA_PARTS)"},
    {"sums of four rows in reverse", "gfx942", FRAGMENTS, "* 4 + (e) % 4)",
     "* 4 + 3 - (e) % 4)"},
    {"halves of the sub-group swapped in C", "gfx942", FRAGMENTS,
     "(l) / MMA_M * 4 + (e) % 4", "(1 - (l) / MMA_M) * 4 + (e) % 4"},
    {"columns of C in pairs of lanes", "gfx942", FRAGMENTS,
     "MMA_C_COL(l, e) ((l) % MMA_N)", "MMA_C_COL(l, e) ((l) / 2)"},
    {"neighbours swapped in A and B", "gfx942", FRAGMENTS,
     "MMA_A_ROW(l, e) ((l) % MMA_M)", "MMA_A_ROW(l, e) (((l) ^ 1) % MMA_M)"},
    {"rows of A in pairs of lanes", "gfx942", FRAGMENTS,
     "MMA_A_ROW(l, e) ((l) % MMA_M)", "MMA_A_ROW(l, e) ((l) / 2)"},
    {"a word twice", "gfx942", FRAGMENTS, "= w.y;", "= w.z;"},
    {"steps overlap", "gfx942", FRAGMENTS, "kk * (MMA_DEEP / 16)", "kk"},
    {"both halves load the same", "gfx942", FRAGMENTS,
     "t->lane / MMA_M % MMA_PARTS * MMA_A_CHUNKS", "0"},
    {"the column's row in C", "gfx942", "gemm/mma.cl",
     "MMA_C_COL(team.lane, e)] =", "MMA_C_ROW(team.lane, e)] ="},
    {"rows of a stripe swapped", "gfx942", "gemm/mma.cl", "(r) % MMA_M)",
     "((r) ^ 1) % MMA_M)"},
    {"pairs along k swapped in one operand", "gfx942", REGISTERS,
     "mma_halves(w[0].x, w[0].y, which)", "mma_halves(w[0].y, w[0].x, which)"},
    {"two lines swapped in one operand", "gfx942", REGISTERS,
     "held + 2 * j, first)", "held + 2 * j, 1 - first)"},
    {"chunks along k swapped in one operand", "gfx942", REGISTERS,
     "AT(LINE, i0 + j * every, chunk)", "AT(LINE, i0 + j * every, chunk ^ 1)"},
    {"gfx12's rows of C on gfx11", "gfx1100", FRAGMENTS,
     "(2 * (e) + (l) / MMA_M)", "((l) / MMA_M * MMA_C_ELEMS + (e))"},
    {"the copies of gfx11 are of the next step", "gfx1100", FRAGMENTS,
     "t->lane / MMA_M % MMA_PARTS * MMA_A_CHUNKS",
     "t->lane / MMA_M % 2 * MMA_A_CHUNKS"},
    {"half of a lane's bytes on gfx11", "gfx1100", FRAGMENTS, "chunk + c)",
     "chunk)"},
    {"gfx11's rows of C on gfx12", "gfx1201", FRAGMENTS,
     "((l) / MMA_M * MMA_C_ELEMS + (e))", "(2 * (e) + (l) / MMA_M)"},
    {"gfx11's copies on gfx12", "gfx1201", FRAGMENTS,
     "t->lane / MMA_M % MMA_PARTS * MMA_A_CHUNKS", "0"},
};
#define COOP "coop16x16x16x32"
static const struct mistake in_cooperative[] = {
    {"none", COOP, NULL, NULL, NULL},
    {"A by columns", COOP, COOPERATIVE, "MMA_M, kk, ROW)", "MMA_M, kk, COLUMN)"},
    {"B by rows", COOP, COOPERATIVE, "MMA_N, kk, COLUMN)", "MMA_N, kk, ROW)"},
    {"a stride in bytes", COOP, COOPERATIVE, "(line) / MMA_BYTES", "(line)"},
    {"sums are lost", COOP, COOP_CALLS, "sum = c->e[i];", "sum = 0;"},
    {"the first step again", COOP, COOPERATIVE, "(kk) * MMA_DEEP)", "0)"},
    {"the first fragment for all", COOP, COOPERATIVE, "f * (side)", "0"},
    {"C by columns", COOP, COOPERATIVE, "COOP_STORE(to, c, ROW, line)",
     "COOP_STORE(to, c, COLUMN, line)"},
    {"rows of C too close", COOP, "gemm/mma.cl", "LINE_C, sum[i][j]);",
     "LINE_C / 2, sum[i][j]);"},
    {"the first sub-group's place in C", COOP, "gemm/mma.cl",
     "(sk * SM + sm) * MMA_M * LINE_C + at_n", "at_n"},
    {"sums are not cleared", COOP, COOPERATIVE, "COOP_FILL(c, (COOP_SUM)0)",
     "COOP_FILL(c, (COOP_SUM)1)"},
    {"chunks in the order of other engines", COOP, "common/matrix.clh",
     "MMA_SWIZZLE(line, i) 0", "MMA_SWIZZLE(line, i) ((i) % ((line) / 16))"},
    {"A in place of B", COOP, COOPERATIVE, "COOP_LOADS(A,", "COOP_LOADS(B,"},
    {"A and B swapped", COOP, COOPERATIVE, "COOP_MUL_ADD(c, a, b)\n",
     "COOP_MUL_ADD(c, b, a)\n"},
};
static const struct mistake in_nhwc[] = {
    {"none", "gfx942", NULL, NULL, NULL},
    {"half of a lane's bytes on gfx11", "gfx1100", FRAGMENTS, "chunk + c)",
     "chunk)"},
    {"what is outside is the first chunk", "gfx942", REGISTERS,
     "return bytes ? x : 0;", "return x;"},
    {"windows of the line beside", "gfx942", GATHER, "x0 + LINE_OF(LINE_W)",
     "x0 + (LINE_OF(LINE_W) ^ 1)"},
    {"an image's last column is outside", "gfx1201", WINDOWS,
     "(pixel).x < (v)->w", "(pixel).x < (v)->w - 1"},
    {"one image for all", "gfx1100", WINDOWS, "n * v->step_n +", ""},
};
static const struct mistake in_nchw[] = {
    {"none", "gfx1100", NULL, NULL, NULL},
    {"sums of four rows too close", "gfx942", FRAGMENTS, "(4 * MMA_PARTS)",
     "(2 * MMA_PARTS)"},
    {"a slice's taps are those of the last", "gfx942", GATHER,
     "next_tap(v, &g->tap);", ""},
    {"windows without padding on the left", "gfx1201", WINDOWS,
     "- (int)v->pad_left", ""},
    {"a pixel's first channels for all", "gfx1201", WINDOWS,
     "t->c + t->r * v->below", "t->r * v->below"},
};

static const struct mistake in_data[] = {
    {"none", "gfx942", NULL, NULL, NULL},
    {"an image's last column is outside", "gfx1201", WINDOWS,
     "(pixel).x < (v)->w", "(pixel).x < (v)->w - 1"},
    {"the result's first element", "gfx1100", "gemm/mma.cl",
     "row * rs_c + col * cs_c", "row * rs_c + (col ^ 1) * cs_c"},
};
static const struct mistake in_filters[] = {
    {"none", "gfx942", NULL, NULL, NULL},
    {"none", "gfx1201", NULL, NULL, NULL},
    {"a slice's windows are those of the last", "gfx942", GATHER,
     "v, next + (chunk", "v, (chunk"},
    {"the pair of channels beside", "gfx942", GATHER, "in += ELEM_W % EACH",
     "in += (ELEM_W ^ 2) % EACH"},
    {"what is outside is the first chunk", "gfx1100", GATHER,
     "is_inside ? x : 0", "x"},
    {"windows in pairs swapped", "gfx1201", GATHER,
     "(chunk + j * every) * EACH + i, end",
     "(chunk + j * every) * EACH + (i ^ 1), end"},
    {"the first taps of all columns", "gfx1100", GATHER,
     "(x0 + ELEM_W) / EACH", "ELEM_W / EACH"},
    {"one image for all", "gfx942", WINDOWS, "n * v->step_n +", ""},
};

static const struct mistake in_dpas_nhwc[] = {
    {"none", "dg2", NULL, NULL, NULL},
    {"none", "pvc", NULL, NULL, NULL},
    {"rows in pairs swapped", "dg2", DPAS, "row[r] = t->room[first + r];",
     "row[r] = t->room[first + (r ^ 1)];"},
    {"the masks of other rows", "dg2", DPAS, "DPAS_LANES + first + r]",
     "DPAS_LANES + first + (r ^ 1)]"},
    {"what is outside is not cleared", "dg2", DPAS, "(dpas_piece)masks[r])",
     "(dpas_piece)UINT_MAX)"},
    {"the first half of a row twice", "dg2", DPAS,
     "[l * DPAS_LANES + t->lane]", "[t->lane]"},
    {"rows of the first items for all", "pvc", DPAS_GEMM,
     "(i) * DPAS_M % DPAS_LANES, to)", "0, to)"},
    {"rows of the first tile for all", "dg2", DPAS_GEMM,
     "rows.from[(i) * DPAS_M / DPAS_LANES]", "rows.from[0]"},
    {"masks of the first items for all", "dg2", DPAS_GEMM,
     "rows.mask[(i) * DPAS_M / DPAS_LANES]", "rows.mask[0]"},
    {"the taps of the first slice", "dg2", DPAS_GEMM,
     "    next_tap(v, &x->tap);", ""},
    {"rows of the sub-group below", "dg2", DPAS_GEMM,
     "(uint)p.m0 + sm * RM * DPAS_M", "(uint)p.m0 + (sm ^ 1) * RM * DPAS_M"},
    {"tiles along k swapped in B", "pvc", DPAS_GEMM, "fa[l], fb[l][j]",
     "fa[l], fb[l ^ 1][j]"},
    {"columns' words swapped in B", "pvc", DPAS_PACK,
     "INDEX(t) ((t) % DPAS_N)", "INDEX(t) (((t) ^ 1) % DPAS_N)"},
    {"pairs along k swapped in B", "dg2", DPAS_PACK, "(j * (32 / DPAS_PACK))",
     "((1 - j) * (32 / DPAS_PACK))"},
    {"an image's last column is outside", "dg2", WINDOWS, "(pixel).x < (v)->w",
     "(pixel).x < (v)->w - 1"},
    {"one image for all", "pvc", WINDOWS, "n * v->step_n +", ""},
};
static const struct mistake in_dpas_nchw[] = {
    {"none", "dg2", NULL, NULL, NULL},
    {"none", "pvc", NULL, NULL, NULL},
    {"the images of the first product", "dg2", DPAS_GEMM,
     "(off_a + GEMM_AT_A(p.z))", "(off_a)"},
    {"half of a chunk", "dg2", DPAS_GEMM, "* CHUNK & x->mask",
     "* (CHUNK / 2) & x->mask"},
    {"windows without padding on the left", "pvc", WINDOWS,
     "- (int)v->pad_left", ""},
};
static const struct mistake in_dpas_data[] = {
    {"none", "dg2", NULL, NULL, NULL},
    {"a pixel's first channels for all", "pvc", WINDOWS,
     "t->c + t->r * v->below", "t->r * v->below"},
};

static const struct mistake in_dpas_filters[] = {
    {"none", "dg2", NULL, NULL, NULL},
    {"none", "pvc", NULL, NULL, NULL},
    {"images of a pair swapped in B", "dg2", COPY,
     "image * TOGETHER + i % TOGETHER",
     "image * TOGETHER + (i + PAIRS) % TOGETHER"},
    {"the first image of a pair twice in A", "pvc", DPAS_PACK,
     "from[j * apart]", "from[0]"},
    {"the first columns of a sub-group for all", "pvc", DPAS,
     "[j * DPAS_LANES + t->lane]", "[t->lane]"},
    {"the images of the first part", "dg2", DPAS_GEMM,
     "(off_b + GEMM_AT_B(p.z))", "(off_b)"},
    {"out's images of the first part", "pvc", DPAS_PACK, "(uint)z * each +",
     ""},
    {"the windows of the first instruction", "pvc", DPAS_GEMM,
     "mask, l * DPAS_WORDS,", "mask, 0,"},
    {"the pixel of the first sub-group", "dg2", DPAS_GEMM,
     "((uint)p.n0 + sn * RN * DPAS_N) * 4", "(uint)p.n0 * 4"},
    {"a pixel of the next pair in A", "dg2", DPAS_PACK, "pixel / per_image;",
     "pixel / (per_image + 1);"},
    {"one pair of images in B", "pvc", WINDOWS, "n * v->step_n +", ""},
};

/* clang-format off */
static const struct mistake in_attention[] = {
    {"none", "gfx942", NULL, NULL, NULL},
    {"none", "gfx1100", NULL, NULL, NULL},
    {"none", "gfx1201", NULL, NULL, NULL},
    {"runs of four keys swapped in v", "gfx942", FRAGMENTS,
     "(p) / 4 % 2 * 8 + (p) / 8 % 2 * 4", "(p) / 4 % 2 * 4 + (p) / 8 % 2 * 8"},
    {"gfx12's order of keys on gfx11", "gfx1100", FRAGMENTS,
     "((p) % 8 * 2 + (p) / 8)", "(p)"},
    {"gfx11's order of keys on gfx12", "gfx1201", FRAGMENTS,
     "MMA_STACK_ROW(p) (p)", "MMA_STACK_ROW(p) ((p) % 8 * 2 + (p) / 8)"},
    {"halves keep their own weights", "gfx1100", FRAGMENTS,
     "(t)->lane < MMA_M ? own : other;", "own;"},
    {"halves exchange their weights twice", "gfx1100", FRAGMENTS,
     "(t)->lane < MMA_M ? other : own;", "own;"},
    {"pairs of weights swapped", "gfx942", FRAGMENTS,
     "mma_pair(pair[0], pair[1])", "mma_pair(pair[1], pair[0])"},
    {"steps of weights swapped", "gfx942", FRAGMENTS,
     "(b)[(i) / MMA_B_WORDS].w", "(b)[1 - (i) / MMA_B_WORDS].w"},
    {"sums of four rows too close", "gfx942", FRAGMENTS, "(4 * MMA_PARTS)",
     "(2 * MMA_PARTS)"},
    {"lines of v swapped", "gfx942", TRANSPOSED, "LINE_V, c + which",
     "LINE_V, c + 1 - which"},
    {"keys of v swapped", "gfx1201", TRANSPOSED,
     "mma_halves(w[0], w[1], which)", "mma_halves(w[1], w[0], which)"},
    {"chunks of v in the order of keys", "gfx942", TRANSPOSED,
     "KEY_OF(at_v / PAIRS * EACH)", "(at_v / PAIRS * EACH)"},
    {"columns of k swapped", "gfx1100", TRANSPOSED, "at_k % CHUNKS)) =",
     "(at_k ^ 1) % CHUNKS)) ="},
    {"a maximum of each half", "gfx1201", TRANSPOSED,
     "now = mma_column_max(&team, now);", ""},
    {"a sum of each half", "gfx942", TRANSPOSED,
     "total = mma_column_sum(&team, total);", ""},
    {"keys of the first lane for all", "gfx1201", TRANSPOSED,
     "MMA_C_ROW(team.lane, e % MMA_C_ELEMS);\n                float",
     "MMA_C_ROW(0, e % MMA_C_ELEMS);\n                float"},
};

static const struct mistake in_dpas[] = {
    {"none", "dg2", NULL, NULL, NULL},
    {"none", "pvc", NULL, NULL, NULL},
    {"neighbours swapped in reads of A", "pvc", DPAS,
     "x[i] = from[i * DPAS_LANES + t->lane];\n    return (dpas_a)",
     "x[i] = from[i * DPAS_LANES + (t->lane ^ 1)];\n    return (dpas_a)"},
    {"rows of A in reads by lanes", "dg2", DPAS,
     "x[i] = from[i * DPAS_LANES + t->lane];\n    return (dpas_a)",
     "x[i] = from[t->lane * DPAS_M + i];\n    return (dpas_a)"},
    {"neighbouring keys swapped in k", "pvc", DPAS_PACKING,
     "tile / KI * DPAS_M + r;", "tile / KI * DPAS_M + (r ^ 1);"},
    {"16 columns of k swapped", "dg2", DPAS_PACKING,
     "LINE_OF(x, (uint)(tile % KI) * DPAS_K",
     "LINE_OF(x, (uint)(tile % KI ^ 1) * DPAS_K"},
    {"pairs of keys swapped in v", "pvc", DPAS_PACKING,
     "w[i / 2] | one << 16 : one;", "w[i / 2] << 16 | one : one;"},
    {"keys of v 8 apart in a word", "dg2", DPAS_PACKING,
     "w[i / 2] = i % 2 ? w[i / 2] |", "w[i % 8] = i / 8 ? w[i % 8] |"},
    {"neighbouring columns swapped in v", "pvc", DPAS_PACKING,
     "(uint)(tile % NI) * DPAS_M + r;", "(uint)(tile % NI) * DPAS_M + (r ^ 1);"},
    {"tiles of v by columns first", "dg2", DPAS_PACKING,
     "tile / NI * DPAS_K;", "tile % NI * DPAS_K;"},
    {"halves of a line of q and k swapped in one", "pvc", DPAS_ROWS,
     "LINE_OF(q_row, kk * DPAS_K, true)",
     "LINE_OF(q_row, kk * DPAS_K, true).s45670123"},
    {"pairs swapped in q", "dg2", DPAS_ROWS,
     "LINE_OF(q_row, kk * DPAS_K, true)",
     "rotate(LINE_OF(q_row, kk * DPAS_K, true), (uint8)(16))"},
    {"8 columns of all lines twice", "pvc", DPAS_TILES,
     "HALF_LINE(x, (c) + EACH)", "HALF_LINE(x, c)"},
    {"eights of weights swapped", "pvc", DPAS_ROWS,
     "(WORDS_OF(x[2 * s]), WORDS_OF(x[2 * s + 1]))",
     "(WORDS_OF(x[2 * s + 1]), WORDS_OF(x[2 * s]))"},
    {"weights of the first 16 keys for all", "dg2", DPAS_ROWS,
     "(WORDS_OF(x[2 * s]), WORDS_OF(x[2 * s + 1]))",
     "(WORDS_OF(x[0]), WORDS_OF(x[1]))"},
    {"tiles of k by keys first", "pvc", DPAS_ROWS, "(c * KI + kk) *",
     "(kk * NK + c) *"},
    {"tiles of v by keys first", "dg2", DPAS_ROWS, "(s * NI + c) *",
     "(c * (NK / 2) + s) *"},
    {"the first columns of v for all sub-groups", "pvc", DPAS_ROWS,
     "sv * NS * DPAS_A_BYTES", "0"},
    {"a key too many", "dg2", DPAS_ROWS, "j >= end", "j > end"},
    {"a key too few", "pvc", DPAS_ROWS, "j >= end", "j + 1 >= end"},
    {"blocks that a row sees in part as a whole", "pvc",
     "attention/blocks.clh", "begins.last / block;",
     "(begins.last + block - 1) / block;"},
    {"the shift in other units", "dg2", DPAS_ROWS, "shift_of(top) * unit;",
     "shift_of(top);"},
    {"a sum of four keys of eight", "pvc", DPAS_ROWS, "sum_8(all)",
     "sum_4(all.lo)"},
    {"v in place of k", "dg2", DPAS_ROWS, "DPAS_UNIFORM(first_k",
     "DPAS_UNIFORM(first_v"},
};
/* clang-format on */

static void write_kernel(const char *dir, const char *name, const char *text,
                         size_t n)
{
    char path[1024];
    test_kernel_path(dir, name, path, sizeof path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Writes the library's kernels, with the mistake if there is one. */
static void write_kernels(const char *dir, const struct mistake *m)
{
    bool is_planted = m->file == NULL;
    for (const struct xl__embedded *e = xl__embedded; e->name; e++) {
        struct xl__str all = {0};
        xl__str_add_n(&all, (const char *)e->text, e->len);
        const char *at = m->file && strcmp(e->name, m->file) == 0
                             ? strstr(xl__str_text(&all), m->from)
                             : NULL;
        if (at) {
            struct xl__str with = {0};
            xl__str_add_n(&with, all.text, (size_t)(at - all.text));
            xl__str_add(&with, m->to);
            xl__str_add(&with, at + strlen(m->from));
            xl__str_clear(&all);
            all = with;
            is_planted = true;
        }
        write_kernel(dir, e->name, all.text, all.len);
        xl__str_clear(&all);
    }
    if (!is_planted)
        fail_msg("%s: '%s' is not in %s", m->what, m->from, m->file);
}

enum { SIDE = 64, DEEP = 128, BAND = 8, OPERANDS = 3 };

/* A product of a side of 64 and a depth of 128, or a convolution of 3 x 3,
 * from `mem`, which has room for both. */
static xl_status run_call(const struct test_device *t, enum call of,
                          const cl_mem *mem)
{
    enum { IMAGES = 2, PAIRED = 7, PIXELS = 6, TAPS = 3 };
    const xl_layout layout =
        of == CONV_NCHW || of == DPAS_NCHW ? XL_NCHW : XL_NHWC;
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = SIDE,
                       .n = SIDE,
                       .k = DEEP,
                       .a = xl_mat_rows(mem[0], DEEP, XL_F16),
                       .b = xl_mat_rows(mem[1], SIDE, XL_F16),
                       .c = xl_mat_rows(mem[2], SIDE, XL_F16),
                       .alpha = 1};
    const xl_conv d = {
        XL_CONV_INIT,
        .n = of == DPAS_FILTERS ? PAIRED : IMAGES,
        .c = SIDE,
        .h = PIXELS,
        .w = PIXELS,
        .k = SIDE,
        .r = TAPS,
        .s = TAPS,
        .pad_top = 1,
        .pad_bottom = 1,
        .pad_left = 1,
        .pad_right = 1,
        .in = {.mem.buf = mem[0], .layout = layout, .dtype = XL_F16},
        .filters = {.mem.buf = mem[1], .layout = XL_KRSC, .dtype = XL_F16},
        .out = {.mem.buf = mem[2], .layout = layout, .dtype = XL_F16},
        .alpha = 1,
        .pass = of == DATA || of == DPAS_DATA ? XL_CONV_BACKWARD_DATA
                : of == FILTERS || of == DPAS_FILTERS
                    ? XL_CONV_BACKWARD_FILTERS
                    : XL_CONV_FORWARD};
    xl_attention a = {XL_ATTENTION_INIT, .n_batch = 1,     .n_heads = 2,
                      .n_kv_heads = 1,   .n_q = SIDE,      .n_kv = SIDE,
                      .d_head = SIDE,    .is_causal = true};
    a.q = a.o = (xl_heads){.mem.buf = mem[0], .dtype = XL_F16};
    a.k = a.v = (xl_heads){.mem.buf = mem[1], .dtype = XL_F16};
    a.o.mem.buf = mem[2];
    return of <= GEMM_COOPERATIVE ? xl_gemm_run(t->queue, &g, NULL)
           : of >= ATTENTION ? xl_attention_run(t->queue, &a, NULL)
                             : xl_conv_run(t->queue, &d, NULL);
}

/* Of Intel's: 32 rows, 2 x 2 instructions, and two along k. */
static void want_dpas_tile(const struct xl__limits *l)
{
    enum { ROWS = 32, EACH = 2 };
    const xl_matrix_op *op = xl__find_matrix_op(l, "dpas", XL_F16, XL_F16);
    struct xl__params p = xl__dpas_listed(0, op);
    for (size_t i = 0; p.value[XL__GEMM_TM]; p = xl__dpas_listed(++i, op)) {
        if (p.value[XL__GEMM_TM] == ROWS && p.value[XL__DPAS_RM] == EACH &&
            p.value[XL__DPAS_RN] == EACH)
            emulated.wanted = p;
    }
    emulated.wanted.value[XL__GEMM_TK] *= EACH;
}

/* The tile of 64 x 64, of attention with blocks of 32 keys, of attention_dpas
 * with 16 rows whose columns two sub-groups have. */
static void want_tile(const struct test_device *t, enum call of)
{
    enum { KEYS = 32 };
    const struct xl__limits *l = &t->device->limits;
    struct xl__params p;
    emulated.wanted = (struct xl__params){.source = "model"};
    if (of == ATTENTION_DPAS) {
        static const int tile[] = {16, KEYS, 2, 1};
        memcpy(emulated.wanted.value, tile, sizeof tile);
        return;
    }
    if (of == ATTENTION) {
        for (size_t i = 0;
             xl__attention_mma_listed(xl__mma_op(l, XL_F16), i, &p); i++) {
            if (p.value[XL__ATTENTION_BQ] == SIDE &&
                p.value[XL__ATTENTION_BK] == KEYS && !emulated.wanted.value[0])
                emulated.wanted = p;
        }
        return;
    }
    if (l->model.dpas) {
        want_dpas_tile(l);
        return;
    }
    for (size_t i = 0;; i++) {
        p = xl__mma_listed(l, i, XL_F16);
        if (p.value[XL__GEMM_TM] == 0)
            break;
        if (p.value[XL__GEMM_TM] == SIDE && p.value[XL__GEMM_TN] == SIDE)
            emulated.wanted = p;
    }
    emulated.wanted.value[XL__MMA_GR] = BAND;
}

static void one_mistake(const struct mistake *m, enum call of)
{
    enum { BYTES = SIDE * SIDE * 9 * 2 }; /* of filters, the largest */
    struct test_device t;
    const char *dir = test_scratch("cl");
    write_kernels(dir, m);
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = "",
                                .cl_dir = dir};
    emulated_open_with(&t, &options, calls[of].op, calls[of].own);
    emulate_chip(&t.device->limits, m->arch);
    want_tile(&t, of);
    cl_mem mem[OPERANDS];
    for (unsigned i = 0; i < OPERANDS; i++) {
        assert_status(xl_buffer_create(t.queue, BYTES, &mem[i]), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_fill(t.queue, mem[i], 0, 0, BYTES / 4), XL_OK,
                      xl_error_detail(t.queue));
    }
    const xl_status status = run_call(&t, of, mem);
    const char *why = xl_error_detail(t.queue);
    if (m->file == NULL)
        assert_status(status, XL_OK, why);
    else if (status == XL_OK)
        fail_msg("%s on %s: not struck", m->what, m->arch);
    else if (!strstr(why, calls[of].where))
        fail_msg("%s on %s: %s", m->what, m->arch, why);
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    for (unsigned i = 0; i < OPERANDS; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
}

static void run_list(const struct mistake *list, size_t n, enum call of)
{
    const bool is_dpas = of >= DPAS_NHWC && of != ATTENTION;
    const unsigned sampled = is_dpas ? 4 : of == GEMM_COOPERATIVE ? 8 : 2; /* it is emulated slowly */
    for (size_t i = 0; i < n; i++) {
        if (list[i].file == NULL || test_is_sampled(i, sampled))
            one_mistake(&list[i], of);
    }
}

static void each_is_struck(void **state)
{
    (void)state;
    run_list(in_gemm, sizeof in_gemm / sizeof *in_gemm, GEMM);
}

static void cooperative_is_struck(void **state)
{
    (void)state;
    run_list(in_cooperative, sizeof in_cooperative / sizeof *in_cooperative,
             GEMM_COOPERATIVE);
}

static void each_of_conv_is_struck(void **state)
{
    (void)state;
    run_list(in_nhwc, sizeof in_nhwc / sizeof *in_nhwc, CONV_NHWC);
    run_list(in_nchw, sizeof in_nchw / sizeof *in_nchw, CONV_NCHW);
    run_list(in_data, sizeof in_data / sizeof *in_data, DATA);
    run_list(in_filters, sizeof in_filters / sizeof *in_filters, FILTERS);
}

static void dpas_of_nhwc_is_struck(void **state)
{
    (void)state;
    run_list(in_dpas_nhwc, sizeof in_dpas_nhwc / sizeof *in_dpas_nhwc,
             DPAS_NHWC);
}

static void dpas_of_others_is_struck(void **state)
{
    (void)state;
    run_list(in_dpas_nchw, sizeof in_dpas_nchw / sizeof *in_dpas_nchw,
             DPAS_NCHW);
    run_list(in_dpas_data, sizeof in_dpas_data / sizeof *in_dpas_data,
             DPAS_DATA);
}

static void dpas_of_filters_is_struck(void **state)
{
    (void)state;
    run_list(in_dpas_filters, sizeof in_dpas_filters / sizeof *in_dpas_filters,
             DPAS_FILTERS);
}

static void each_of_attention_is_struck(void **state)
{
    (void)state;
    run_list(in_attention, sizeof in_attention / sizeof *in_attention,
             ATTENTION);
}

static void dpas_attention_is_struck(void **state)
{
    (void)state;
    run_list(in_dpas, sizeof in_dpas / sizeof *in_dpas, ATTENTION_DPAS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_struck),
        cmocka_unit_test(cooperative_is_struck),
        cmocka_unit_test(each_of_conv_is_struck),
        cmocka_unit_test(dpas_of_nhwc_is_struck),
        cmocka_unit_test(dpas_of_others_is_struck),
        cmocka_unit_test(dpas_of_filters_is_struck),
        cmocka_unit_test(each_of_attention_is_struck),
        cmocka_unit_test(dpas_attention_is_struck)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
