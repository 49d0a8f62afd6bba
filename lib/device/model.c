/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a device: its vendor's, else those of its class. */
#include <math.h>

#include "device/peak_rates.h"

/* clang-format off */
static const struct xl__tile_set tiled_sets[] = { /* NV-23 */
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 256,  8,  8, 16, 2, 0.745, 0},
    {128, 128,  8,  8,  8, 1, 0.560, 0},
    { 64, 128,  8,  8,  8, 2, 0.720, 0},
    { 64,  64, 16,  4,  8, 2, 0.670, 0},
    { 64,  64, 16,  4,  4, 2, 0.590, 0},
    { 64,  64,  8,  4,  4, 2, 0.580, 0},
    { 32,  64, 16,  4,  4, 2, 0.570, 0},
    { 32,  32, 16,  4,  4, 2, 0.520, 0},
    { 32,  32, 32,  4,  4, 1, 0.520, 0},
    { 32,  32, 16,  2,  4, 2, 0.430, 0},
    { 32,  32,  8,  2,  4, 2, 0.420, 0},
    { 16,  16, 16,  2,  4, 1, 0.300, 0},
    { 16,  16, 16,  2,  2, 2, 0.250, 0},
    { 16,  16,  8,  2,  2, 2, 0.240, 0},
    {  8,   8,  8,  1,  1, 1, 0.080, 0},
    { 16,  16,  4,  4,  4, 1, 0.060, 0},
    {  8,   8,  4,  2,  2, 1, 0.030, 0},
    {  2,   2,  4,  2,  2, 1, 0.010, 0},
    { 0 },
};
/* The first two fractions were measured, the others are extrapolated. */
static const struct xl__tile_set simt_sets[] = { /* NV-39 */
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 256,  8, 16,  8, 2, 0.640, 0},
    {128, 128,  8, 16,  8, 2, 0.640, 0},
    { 64, 128,  8,  8,  8, 2, 0.560, 0},
    { 64,  64,  8,  8,  8, 2, 0.520, 0},
    { 32,  32,  8,  4,  4, 2, 0.290, 0},
    { 32,  32,  8,  2,  4, 2, 0.210, 0},
    { 16,  16,  8,  2,  2, 2, 0.110, 0},
    { 0 },
};
static const struct xl__tile_set conv_sets[] = { /* NV-55 */
    /* tm  tn  tk  rm  rn st  share of the f32 rate, registers */
    {128, 128,  8, 16,  8, 2, 0.750, 0},
    { 64, 128, 16,  8,  8, 2, 0.710, 0},
    {128,  64,  8,  8,  8, 2, 0.700, 0},
    { 64, 128,  8,  8,  8, 2, 0.670, 0},
    { 64,  64,  8,  8,  8, 2, 0.530, 0},
    { 64,  64, 16,  4,  8, 2, 0.640, 0},
    { 64,  64, 16,  4,  4, 2, 0.560, 0},
    { 32,  64, 16,  4,  4, 2, 0.480, 0},
    { 32,  32, 16,  4,  4, 2, 0.420, 0},
    { 32,  32, 32,  4,  4, 1, 0.420, 0},
    { 32,  32, 16,  2,  4, 2, 0.340, 0},
    { 16,  16, 16,  2,  4, 1, 0.240, 0},
    { 16,  16,  8,  2,  2, 2, 0.190, 0},
    {  8,   8,  8,  1,  1, 1, 0.065, 0},
    {  8,   8,  4,  2,  2, 1, 0.025, 0},
    {  2,   2,  4,  2,  2, 1, 0.010, 0},
    { 0 },
};
/* Registers of software are memory, but what an item holds saves loads, which
 * are made lane by lane. */
static const struct xl__tile_set software_tiled_sets[] = { /* GE-33 */
    {128, 128,  8,  8,  8, 1, 0.066, 128},
    { 64,  64,  8,  8,  8, 1, 0.064, 128},
    { 32,  32, 32,  8,  8, 1, 0.060, 128},
    { 64,  64,  8,  4,  4, 2, 0.038, 64},
    { 32,  32, 16,  4,  4, 1, 0.034, 64},
    { 16,  16, 16,  2,  2, 2, 0.016, 0},
    {  8,   8,  4,  2,  2, 1, 0.007, 0},
    {  8,   8,  8,  1,  1, 1, 0.005, 0},
    {  2,   2,  4,  2,  2, 1, 0.001, 0},
    { 0 },
};
/* Its compiler takes long over larger ones. */
static const struct xl__tile_set software_conv_sets[] = { /* GE-33 */
    { 64,  64,  8,  4,  4, 2, 0.0080, 0},
    { 16,  16, 16,  2,  2, 2, 0.0130, 0},
    {  8,   8,  4,  2,  2, 1, 0.0070, 0},
    {  8,   8,  8,  1,  1, 1, 0.0050, 0},
    {  2,   2,  4,  2,  2, 1, 0.0010, 0},
    { 0 },
};
static const struct xl__tile_set software_simt_sets[] = { /* GE-33 */
    { 64,  64,  8,  8,  4, 2, 0.045, 128},
    { 32,  32,  8,  4,  4, 2, 0.032, 64},
    { 16,  16,  8,  2,  2, 2, 0.015, 0},
    { 0 },
};
/* clang-format on */

static const struct xl__tile_sets portable_tiles = {
    .of = {[XL__TILES_GEMM] = tiled_sets,
           [XL__TILES_GEMM_AHEAD] = simt_sets,
           [XL__TILES_CONV] = conv_sets},
};
static const struct xl__tile_sets software_tiles = {
    .of = {[XL__TILES_GEMM] = software_tiled_sets,
           [XL__TILES_GEMM_AHEAD] = software_simt_sets,
           [XL__TILES_CONV] = software_conv_sets},
};

static const double values[XL__N_MODEL][XL__N_CLASSES] = {
#define XL__MODEL_ROW(name, discrete, integrated, cpu, software, help)        \
    {discrete, integrated, cpu, software},
    XL__MODEL_MAP(XL__MODEL_ROW)
#undef XL__MODEL_ROW
};

enum xl__device_class xl__device_class(const struct xl__limits *l)
{
    if (l->model.is_software)
        return XL__SOFTWARE;
    if (xl__is(l, XL__F_is_cpu))
        return XL__CPU;
    return xl__is(l, XL__F_host_unified) ? XL__INTEGRATED_GPU
                                         : XL__DISCRETE_GPU;
}

double xl__model(const struct xl__limits *l, enum xl__model_id id)
{
    return l->model.value[id] > 0 ? l->model.value[id]
                                  : values[id][xl__device_class(l)];
}

size_t xl__model_size(const struct xl__limits *l, enum xl__model_id id)
{
    return (size_t)xl__model(l, id);
}

bool xl__exceeds_caches(const struct xl__limits *l, double bytes)
{
    const double kept =
        xl__model(l, XL__M_kept_bytes) * (double)xl__n_units(l);
    const double level = xl__num_or(l, XL__F_llc_bytes, INFINITY);
    return bytes > (kept > 0 ? fmin(kept, level) : level);
}

const struct xl__tile_sets *xl__tiles(const struct xl__limits *l)
{
    if (l->model.tiles)
        return l->model.tiles;
    return l->model.is_software ? &software_tiles : &portable_tiles;
}
