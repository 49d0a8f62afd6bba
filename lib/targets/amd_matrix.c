/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's matrix instructions, by architecture: shapes and flop per clock of a
 * compute unit (AM-17, AM-18), and the tiles of gemm_mma: sizes whose kernels
 * spill nothing in the binaries of the offline compiler, with its count of
 * vector registers. Computed, not measured on a device. `ctest -R
 * full.kernels_gfx` compares the rows with the binaries. */
#include "targets/targets.h"

#include <string.h>

#define ENGINE(method, of, in, out, side, depth, wave, flop)                  \
    {                                                                         \
        .name = method, .fragments = of, .code = "amdgcn", .a = in, .b = in,  \
        .sum = out, .m = side, .n = side, .k = depth, .n_most = side,         \
        .lanes = wave, .flop_per_clock = flop, .note = "AM-18"                \
    }
#define MFMA(in, out, depth, flop)                                            \
    ENGINE("mfma", "mfma_32x32", in, out, 32, depth, 64, flop),               \
        ENGINE("mfma", "mfma_16x16", in, out, 16, 2 * (depth), 64, flop)
#define WMMA(of, in, out, flop) ENGINE("wmma", of, in, out, 16, 16, 32, flop)

/* clang-format off */
static const xl_matrix_op gfx90a[] = {
    MFMA(XL_F16,  XL_F32,  8, 1024),
    MFMA(XL_BF16, XL_F32,  8, 1024),
    MFMA(XL_I8,   XL_I32,  8, 1024),
    {0}};
static const xl_matrix_op gfx942[] = {
    MFMA(XL_F16,  XL_F32,  8, 2048),
    MFMA(XL_BF16, XL_F32,  8, 2048),
    MFMA(XL_I8,   XL_I32, 16, 4096),
    {0}};
static const xl_matrix_op gfx950[] = {
    MFMA(XL_F16,  XL_F32, 16, 4096),
    MFMA(XL_BF16, XL_F32, 16, 4096),
    MFMA(XL_I8,   XL_I32, 32, 8192),
    MFMA(XL_F8E4M3, XL_F32, 16, 4096),
    MFMA(XL_F8E5M2, XL_F32, 16, 4096),
    {0}};
static const xl_matrix_op gfx11[] = {
    WMMA("wmma_gfx11", XL_F16,  XL_F32, 512),
    WMMA("wmma_gfx11", XL_BF16, XL_F32, 512),
    WMMA("wmma_gfx11", XL_I8,   XL_I32, 512),
    {0}};
static const xl_matrix_op gfx12[] = {
    WMMA("wmma_gfx12", XL_F16,  XL_F32, 1024),
    WMMA("wmma_gfx12", XL_BF16, XL_F32, 1024),
    WMMA("wmma_gfx12", XL_I8,   XL_I32, 2048),
    WMMA("wmma_gfx12", XL_F8E4M3, XL_F32, 2048),
    WMMA("wmma_gfx12", XL_F8E5M2, XL_F32, 2048),
    {0}};

static const struct xl__mma_tile mfma_tiles[] = {
    /* tm  tn bytes sm sn sk st, registers */
    {256, 128,  64, 2, 2, 1, 2, 362},
    {128, 128,  64, 2, 2, 1, 2, 228},
    {128,  64, 128, 2, 2, 1, 2, 254},
    { 64, 128, 128, 2, 2, 1, 2, 262},
    { 64,  64, 128, 2, 2, 1, 2, 152},
    { 64,  32, 256, 2, 1, 2, 2, 197},
    { 32,  64, 256, 1, 2, 2, 2, 198},
    { 32,  32, 256, 1, 1, 4, 2, 139},
    {0, 0, 0, 0, 0, 0, 0, 0},
};
static const struct xl__mma_tile wmma_gfx11_tiles[] = {
    /* tm  tn bytes sm sn sk st, registers */
    {128, 128,  64, 2, 4, 1, 2, 236},
    {128,  64,  64, 4, 2, 1, 2, 175},
    { 64, 128,  64, 2, 4, 1, 2, 175},
    { 64,  64, 128, 2, 2, 1, 2, 255},
    { 64,  64,  64, 2, 2, 1, 2, 173},
    { 32,  64, 128, 1, 2, 2, 2, 215},
    { 64,  32, 128, 2, 1, 2, 2, 205},
    { 32,  32, 256, 1, 1, 4, 2, 248},
    { 16,  64, 256, 1, 2, 2, 2, 247},
    { 64,  16, 256, 2, 1, 2, 2, 241},
    { 16,  16, 256, 1, 1, 4, 2, 117},
    {0, 0, 0, 0, 0, 0, 0, 0},
};
static const struct xl__mma_tile wmma_gfx12_tiles[] = {
    /* tm  tn bytes sm sn sk st, registers */
    {128, 128,  64, 2, 4, 1, 2, 184},
    {128,  64,  64, 2, 2, 1, 2, 223},
    { 64, 128,  64, 2, 2, 1, 2, 221},
    { 64,  64, 128, 2, 2, 1, 2, 187},
    { 64,  64,  64, 2, 2, 1, 2, 137},
    { 32,  64, 128, 1, 2, 2, 2, 176},
    { 64,  32, 128, 2, 1, 2, 2, 169},
    { 32,  32, 256, 1, 1, 4, 2, 210},
    { 16,  64, 256, 1, 2, 2, 2, 217},
    { 64,  16, 256, 2, 1, 2, 2, 213},
    { 16,  16, 256, 1, 1, 4, 2,  93},
    {0, 0, 0, 0, 0, 0, 0, 0},
};
/* Not measured: the figures of mma.sync (NV-36); of attention the shares of
 * the engine's cycles in its inner loops (AM-19). */
#define MODEL_OF(list, most, enough)                                             \
    {                                                                         \
        .tiles = list, .shown = 0.1, .elems_per_clock = 8,                    \
        .begin_clocks = 1200, .sums_per_clock = 16, .bytes_frac = 0.88,       \
        .attention_frac = {0.5, 0.5}, .attention_bytes_frac = 0.88,           \
        .attention_load_bytes = 64, .attention_registers = most,              \
        .attention_teams = enough                                             \
    }
/* clang-format on */

static const struct xl__mma_model mfma = MODEL_OF(mfma_tiles, 384, 8);
static const struct xl__mma_model wmma_gfx11 =
    MODEL_OF(wmma_gfx11_tiles, 240, 4);
static const struct xl__mma_model wmma_gfx12 =
    MODEL_OF(wmma_gfx12_tiles, 240, 4);

/* The first prefix that matches applies. */
static const struct {
    const char *prefix;
    const xl_matrix_op *ops;
    const struct xl__mma_model *model;
} archs[] = {
    {"gfx90a", gfx90a, &mfma},      {"gfx942", gfx942, &mfma},
    {"gfx950", gfx950, &mfma},      {"gfx11", gfx11, &wmma_gfx11},
    {"gfx120", gfx12, &wmma_gfx12},
};

void xl__amd_matrix_engine(const char *arch, struct xl__limits *l)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (strncmp(arch, archs[i].prefix, strlen(archs[i].prefix)) == 0) {
            l->matrix_ops = archs[i].ops;
            l->model.mma = archs[i].model;
            return;
        }
    }
}
