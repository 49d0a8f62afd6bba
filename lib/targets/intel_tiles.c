/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sets of Intel's architectures: sizes whose kernels use no scratch in
 * the binaries of the offline compiler, and the share of the f32 rate that the
 * model of IN-10 gives. A thread has 128 registers, which are 128 words of an
 * item where sub-groups are 8 (narrow) or 16 items (wide): the compiler's own
 * choice is wider and spills. Computed, not measured on a device. `ctest -R
 * full.kernels_` compares the rows with the binaries. */
#include "targets/targets.h"

/* clang-format off */
static const struct xl__tile_set narrow_gemm[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 2, 0.69, 128},
    { 64, 128,  8,  8,  8, 2, 0.68, 128},
    { 64, 128, 16,  4,  8, 2, 0.47, 128},
    { 32, 128, 16,  4,  8, 2, 0.45, 128},
    { 32,  64,  8,  4,  8, 2, 0.44, 128},
    { 64,  64, 16,  4,  4, 2, 0.35, 128},
    { 32,  64, 16,  4,  4, 2, 0.34, 128},
    { 32,  32, 16,  4,  4, 2, 0.33, 128},
    {  8,  16,  8,  4,  4, 1, 0.27, 128},
    { 32,  32, 16,  2,  4, 2, 0.23, 128},
    { 16,  16, 16,  2,  4, 1, 0.21, 128},
    {  8,   8,  8,  1,  1, 1, 0.08, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

static const struct xl__tile_set narrow_ahead[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    { 64, 128,  8,  4,  8, 2, 0.42, 128},
    { 32, 128,  8,  4,  8, 2, 0.40, 128},
    { 64,  64,  8,  4,  4, 2, 0.32, 128},
    { 32,  64,  8,  4,  4, 2, 0.31, 128},
    { 32,  32,  8,  4,  4, 2, 0.30, 128},
    { 32,  32,  8,  2,  4, 2, 0.21, 128},
    { 16,  16,  8,  2,  2, 2, 0.15, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

static const struct xl__tile_set narrow_conv[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    { 64,  64, 16,  4,  4, 2, 0.35, 128},
    { 32,  64, 16,  4,  4, 2, 0.34, 128},
    { 32,  32, 16,  4,  4, 2, 0.33, 128},
    { 32,  32, 16,  2,  4, 2, 0.23, 128},
    { 16,  16, 16,  2,  4, 1, 0.21, 128},
    {  8,   8,  8,  1,  1, 1, 0.08, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

static const struct xl__tile_set wide_gemm[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8,  8,  8, 2, 0.69, 128},
    { 64, 128,  8,  8,  8, 2, 0.68, 128},
    { 64, 128, 16,  4,  8, 2, 0.47, 128},
    { 32, 128, 16,  4,  8, 2, 0.45, 128},
    { 32,  64,  8,  4,  8, 2, 0.44, 128},
    { 16,  32,  8,  4,  8, 1, 0.40, 128},
    { 64,  64, 16,  4,  4, 2, 0.35, 128},
    { 32,  64, 16,  4,  4, 2, 0.34, 128},
    { 32,  32, 16,  4,  4, 2, 0.33, 128},
    { 16,  16, 16,  4,  4, 1, 0.30, 128},
    { 32,  32, 16,  2,  4, 2, 0.23, 128},
    { 16,  16, 16,  2,  4, 1, 0.21, 128},
    {  8,   8,  8,  1,  1, 1, 0.08, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

static const struct xl__tile_set wide_ahead[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    { 64, 128,  8,  4,  8, 2, 0.42, 128},
    { 32, 128,  8,  4,  8, 2, 0.40, 128},
    { 64,  64,  8,  4,  4, 2, 0.32, 128},
    { 32,  64,  8,  4,  4, 2, 0.31, 128},
    { 32,  32,  8,  4,  4, 2, 0.30, 128},
    { 32,  32,  8,  2,  4, 2, 0.21, 128},
    { 16,  16,  8,  2,  2, 2, 0.15, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

static const struct xl__tile_set wide_conv[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    { 64, 128, 16,  4,  8, 2, 0.47, 128},
    { 32, 128,  8,  4,  8, 2, 0.45, 128},
    { 64,  64, 16,  4,  4, 2, 0.35, 128},
    { 32,  64, 16,  4,  4, 2, 0.34, 128},
    { 32,  32, 16,  4,  4, 2, 0.33, 128},
    { 16,  16,  8,  4,  4, 2, 0.30, 128},
    { 32,  32, 16,  2,  4, 2, 0.23, 128},
    { 16,  16, 16,  2,  4, 1, 0.21, 128},
    {  8,   8,  8,  1,  1, 1, 0.08, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

/* gemm/intel/block_read.cl: a sub-group has rm rows, tn columns and the depth of its
 * width at a time (IN-18). */
static const struct xl__tile_set narrow_block[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128,  32,  8, 16,  4, 1, 0.69, 128},
    { 64,  32,  8, 16,  4, 1, 0.69, 128},
    { 32,  32,  8, 16,  4, 1, 0.69, 128},
    { 32,  32,  8,  8,  4, 1, 0.67, 128},
    { 16,  16,  8,  8,  2, 1, 0.60, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

static const struct xl__tile_set wide_block[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128,  64, 16, 16,  4, 1, 0.71, 128},
    { 64,  64, 16, 16,  4, 1, 0.71, 128},
    { 32,  64, 16, 16,  4, 1, 0.71, 128},
    { 32,  32, 16, 16,  2, 1, 0.67, 128},
    { 16,  32, 16, 16,  2, 1, 0.67, 128},
    {0, 0, 0, 0, 0, 0, 0, 0},
};

/* clang-format on */

const struct xl__tile_sets xl__intel_narrow_tiles = {
    .width = 8,
    .keeps_whole = true,
    .one_depth = true,
    .of = {[XL__TILES_GEMM] = narrow_gemm,
           [XL__TILES_GEMM_AHEAD] = narrow_ahead,
           [XL__TILES_GEMM_BLOCKS] = narrow_block,
           [XL__TILES_CONV] = narrow_conv},
};

const struct xl__tile_sets xl__intel_wide_tiles = {
    .width = 16,
    .keeps_whole = true,
    .one_depth = true,
    .of = {[XL__TILES_GEMM] = wide_gemm,
           [XL__TILES_GEMM_AHEAD] = wide_ahead,
           [XL__TILES_GEMM_BLOCKS] = wide_block,
           [XL__TILES_CONV] = wide_conv},
};
