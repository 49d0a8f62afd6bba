/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sets of AMD's architectures: sizes whose kernels spill nothing in the
 * binaries of the offline compiler, with its count of vector registers and the
 * share of the f32 rate that the model of AM-15 gives. Computed, not measured
 * on a device. `ctest -R full.kernels_gfx` compares the rows with the
 * binaries. */
#include "targets/targets.h"

#include <string.h>

/* clang-format off */
static const struct xl__tile_set cdna_gemm[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 1, 0.63, 150},
    { 64, 128,  8,  8,  8, 1, 0.62, 156},
    { 64,  64,  8,  8,  8, 1, 0.60, 186},
    { 64, 128,  8,  4,  8, 1, 0.47,  84},
    { 32, 128,  8,  4,  8, 1, 0.45, 106},
    { 32,  64,  8,  4,  8, 1, 0.44, 118},
    { 64,  64,  8,  4,  4, 2, 0.35,  88},
    { 32,  64,  8,  4,  4, 2, 0.34,  98},
    { 32,  32,  8,  4,  4, 1, 0.33,  78},
    { 32,  32, 16,  2,  4, 2, 0.23,  96},
    { 16,  16, 16,  2,  2, 1, 0.17,  72},
    {  8,   8,  8,  1,  1, 1, 0.08,  29},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set cdna_ahead[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 2, 0.56, 196},
    { 64, 128,  8,  4,  8, 2, 0.42, 104},
    { 64,  64,  8,  4,  4, 2, 0.32,  83},
    { 32,  32,  8,  4,  4, 2, 0.30,  98},
    { 16,  16,  8,  2,  2, 2, 0.15,  56},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set cdna_conv[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 1, 0.63, 208},
    { 64, 128,  8,  8,  8, 1, 0.62, 212},
    { 64, 128,  8,  4,  8, 1, 0.47, 116},
    { 32, 128,  8,  4,  8, 1, 0.45, 122},
    { 32,  64,  8,  4,  8, 1, 0.44, 128},
    { 64,  64,  8,  4,  4, 2, 0.35,  96},
    { 32,  32,  8,  4,  4, 1, 0.33, 106},
    { 32,  32,  8,  2,  4, 2, 0.23,  88},
    { 16,  16, 16,  2,  2, 1, 0.17,  88},
    {  8,   8,  8,  1,  1, 1, 0.08,  39},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set rdna2_gemm[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 256,  8,  8, 16, 2, 0.70, 188},
    {128, 128, 16,  8,  8, 2, 0.69, 123},
    { 64, 128,  8,  8,  8, 2, 0.68, 108},
    { 64,  64,  8,  8,  8, 2, 0.67, 123},
    { 64, 128, 16,  4,  8, 2, 0.66,  84},
    { 32, 128,  8,  4,  8, 2, 0.64,  70},
    { 32,  64,  8,  4,  8, 2, 0.63,  84},
    { 64,  64, 16,  4,  4, 2, 0.63,  61},
    { 32,  64, 16,  4,  4, 2, 0.62,  68},
    { 32,  32, 16,  4,  4, 2, 0.60,  75},
    { 16,  32, 16,  4,  4, 1, 0.57,  86},
    { 32,  32, 16,  2,  4, 2, 0.46,  37},
    { 16,  16, 16,  2,  4, 1, 0.43,  49},
    {  8,   8,  8,  1,  1, 1, 0.17,  25},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set rdna2_ahead[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 2, 0.61, 117},
    { 64, 128,  8,  8,  8, 2, 0.60, 126},
    { 64, 128,  8,  4,  8, 2, 0.59,  71},
    { 32,  64,  8,  4,  8, 2, 0.56,  86},
    { 64,  64,  8,  4,  4, 2, 0.56,  57},
    { 32,  32,  8,  4,  4, 2, 0.54,  60},
    { 16,  32,  8,  4,  4, 2, 0.51,  68},
    { 16,  16,  8,  2,  2, 2, 0.30,  50},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set rdna2_conv[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 256,  8,  8, 16, 2, 0.70, 226},
    {128, 128, 16,  8,  8, 2, 0.69, 149},
    { 64, 128,  8,  8,  8, 2, 0.68, 136},
    { 64,  64,  8,  8,  8, 2, 0.67, 148},
    { 64, 128, 16,  4,  8, 2, 0.66, 100},
    { 32, 128,  8,  4,  8, 2, 0.64,  94},
    { 32,  64,  8,  4,  8, 2, 0.63,  98},
    { 64,  64, 16,  4,  4, 2, 0.63,  80},
    { 32,  32, 16,  4,  4, 2, 0.60,  96},
    { 16,  32, 16,  4,  4, 1, 0.57, 107},
    { 32,  32, 16,  2,  4, 2, 0.46,  78},
    { 16,  16, 16,  2,  4, 1, 0.43,  93},
    {  8,   8,  8,  1,  1, 1, 0.17,  37},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set rdna3_gemm[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 256,  8,  8, 16, 2, 0.66, 188},
    {128, 128, 16,  8,  8, 2, 0.63, 123},
    { 64, 128,  8,  8,  8, 2, 0.62, 116},
    { 64,  64,  8,  8,  8, 2, 0.60, 123},
    { 64, 128, 16,  4,  8, 2, 0.47,  84},
    { 32, 128,  8,  4,  8, 2, 0.45,  82},
    { 32,  64,  8,  4,  8, 2, 0.44,  84},
    { 64,  64, 16,  4,  4, 2, 0.35,  61},
    { 32,  64, 16,  4,  4, 2, 0.34,  68},
    { 32,  32, 16,  4,  4, 2, 0.33,  75},
    { 16,  32, 16,  4,  4, 1, 0.32,  86},
    { 32,  32, 16,  2,  4, 2, 0.23,  69},
    { 16,  16, 16,  2,  4, 1, 0.21,  77},
    {  8,   8,  8,  1,  1, 1, 0.08,  25},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set rdna3_ahead[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 2, 0.56, 117},
    { 64, 128,  8,  8,  8, 2, 0.55, 126},
    { 64, 128,  8,  4,  8, 2, 0.42,  75},
    { 32,  64,  8,  4,  8, 2, 0.40,  86},
    { 64,  64,  8,  4,  4, 2, 0.32,  57},
    { 32,  32,  8,  4,  4, 2, 0.30,  60},
    { 16,  32,  8,  4,  4, 2, 0.28,  68},
    { 16,  16,  8,  2,  2, 2, 0.15,  50},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

static const struct xl__tile_set rdna3_conv[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 256,  8,  8, 16, 2, 0.66, 226},
    {128, 128, 16,  8,  8, 2, 0.63, 149},
    { 64, 128,  8,  8,  8, 2, 0.62, 136},
    { 64,  64,  8,  8,  8, 2, 0.60, 148},
    { 64, 128, 16,  4,  8, 2, 0.47, 100},
    { 32, 128,  8,  4,  8, 2, 0.45,  94},
    { 32,  64,  8,  4,  8, 2, 0.44,  98},
    { 64,  64, 16,  4,  4, 2, 0.35,  80},
    { 32,  32, 16,  4,  4, 2, 0.33,  96},
    { 16,  32, 16,  4,  4, 1, 0.32, 107},
    { 32,  32, 16,  2,  4, 2, 0.23,  78},
    { 16,  16, 16,  2,  4, 1, 0.21,  93},
    {  8,   8,  8,  1,  1, 1, 0.08,  37},
    {0, 0, 0, 0, 0, 0, 0,   0},
};

/* clang-format on */

static const struct xl__tile_sets cdna = {
    .width = 0,
    .of = {[XL__TILES_GEMM] = cdna_gemm,
           [XL__TILES_GEMM_AHEAD] = cdna_ahead,
           [XL__TILES_CONV] = cdna_conv},
};

static const struct xl__tile_sets rdna2 = {
    .width = 0,
    .of = {[XL__TILES_GEMM] = rdna2_gemm,
           [XL__TILES_GEMM_AHEAD] = rdna2_ahead,
           [XL__TILES_CONV] = rdna2_conv},
};

static const struct xl__tile_sets rdna3 = {
    .width = 0,
    .of = {[XL__TILES_GEMM] = rdna3_gemm,
           [XL__TILES_GEMM_AHEAD] = rdna3_ahead,
           [XL__TILES_CONV] = rdna3_conv},
};

/* The first prefix that matches applies. gfx950 has gfx942's registers. */
static const struct {
    const char *prefix;
    const struct xl__tile_sets *sets;
} archs[] = {
    {"gfx90a", &cdna},   {"gfx94", &cdna},    {"gfx950", &cdna},
    {"gfx10", &rdna2},   {"gfx1100", &rdna3}, {"gfx1101", &rdna3},
    {"gfx1151", &rdna3}, {"gfx11", &rdna2},   {"gfx120", &rdna3},
};

const struct xl__tile_sets *xl__amd_tiles(const char *arch)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (strncmp(arch, archs[i].prefix, strlen(archs[i].prefix)) == 0)
            return archs[i].sets;
    }
    return NULL;
}
