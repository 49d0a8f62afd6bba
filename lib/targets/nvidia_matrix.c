/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's matrix instructions by compute capability: mma.sync from 8.0 on,
 * wgmma on 9.0. Fragments "mma": words of four bytes along k; "wgmma":
 * operands in local memory. Sources: NV-26 (rates, capabilities), NV-35
 * (shapes). What they reach was measured on a 9.0; older devices have its
 * mma.sync values. */
#include "targets/targets.h"

#define MMA_SYNC(in, out, depth, flop)                                        \
    {                                                                         \
        .name = "mma.sync", .fragments = "mma", .code = "ptx", .a = in,       \
        .b = in, .sum = out, .m = 16, .n = 8, .k = depth, .n_most = 8,        \
        .lanes = 32, .flop_per_clock = flop, .note = "NV-26"                  \
    }
#define WGMMA(in, out, depth, flop)                                           \
    {                                                                         \
        .name = "wgmma", .fragments = "wgmma", .code = "ptx",                 \
        .target = "sm_90a", .a = in, .b = in, .sum = out, .m = 64, .n = 8,    \
        .k = depth, .n_most = 256, .lanes = 128, .flop_per_clock = flop,      \
        .note = "NV-26"                                                       \
    }
/* The rows of one of them, by its f16 flop per clock. */
#define TYPES_OF_SM_80(ROW, flop)                                             \
    ROW(XL_F16, XL_F32, 16, flop), ROW(XL_BF16, XL_F32, 16, flop),            \
        ROW(XL_F32, XL_F32, 8, (flop) / 2),                                   \
        ROW(XL_I8, XL_I32, 32, 2 * (flop))
#define TYPES_OF_SM_89(ROW, flop)                                             \
    TYPES_OF_SM_80(ROW, flop), ROW(XL_F8E4M3, XL_F32, 32, 2 * (flop)),        \
        ROW(XL_F8E5M2, XL_F32, 32, 2 * (flop))

/* clang-format off */
static const struct xl__mma_tile mma_tiles[] = {
    /* tm  tn bytes sm sn sk st, registers: estimated */
    {128, 256, 128, 2, 4, 1, 3, 0},
    {256, 128, 128, 4, 2, 1, 3, 0},
    {128, 256,  64, 2, 4, 1, 4, 0},
    {256, 128,  64, 4, 2, 1, 4, 0},
    {128, 128,  64, 2, 2, 1, 4, 0},
    {128, 128, 128, 2, 4, 1, 3, 0},
    {128,  64,  64, 2, 2, 1, 4, 0},
    { 64, 128,  64, 2, 2, 1, 4, 0},
    { 64,  64, 128, 2, 2, 1, 4, 0},
    { 64,  64,  64, 2, 2, 1, 4, 0},
    { 64,  32, 128, 2, 1, 2, 4, 0},
    { 32,  64, 128, 1, 2, 2, 4, 0},
    { 32,  32, 256, 1, 1, 4, 4, 0},
    { 64,  16, 256, 2, 1, 2, 4, 0},
    { 16,  64, 256, 1, 2, 2, 4, 0},
    { 16,  32, 256, 1, 1, 4, 6, 0},
    { 32,  16, 256, 1, 1, 4, 6, 0},
    { 16,  16, 256, 1, 1, 4, 6, 0},
    { 16,  16,  64, 1, 1, 1, 2, 0},
    {0, 0, 0, 0, 0, 0, 0, 0},
};
static const struct xl__mma_model mma_sync = { /* NV-36 */
    .tiles = mma_tiles,
    .shown = 0.1,
    .elems_per_clock = 8,
    .begin_clocks = 1200,
    .sums_per_clock = 3, /* NV-73 */
    .bytes_frac = 0.88,
    .attention_frac = {0.34, 0.37}, /* NV-62 */
    .attention_split_frac = {0.45, 0.48}, /* NV-66 */
    .attention_terms_frac = {0.45, 0.45}, /* NV-69 */
    .attention_bytes_frac = 0.95,
    .attention_load_bytes = 20,
};
static const struct xl__wgmma_model wgmma = { /* NV-34 */
    .operand_bytes = 128,
    .rows_cost = 1.5, /* NV-79 */
    .load_bytes = 88,
    .uneven_cost = 0.36, /* NV-52, NV-78 */
    .outside_clocks = 7, /* NV-81 */
    .blend = 4,
    .no_overlap = 1.02,
    .promotion = 1.1,
    .boxes_sums = 26,
    .values_sums = 12,
    .values_clocks = 300,
    .epilogue_clocks = 0.6, /* NV-82 */
    .epilogue_waits = 2,
    .part_sums = 12, /* NV-73 */
    .join_clocks = 2000,
    .cut_cost = 1.05, /* NV-50 */
    .enough_units = 0.5,
    .bytes_frac = 0.98, /* NV-49 */
    .gather_clocks = 60, /* NV-63 */
    .gather_local_bytes = 125,
    .gather_cache_bytes = 39,
};
static const struct xl__attention_model attention = { /* NV-56 */
    .tiles = (const struct xl__attention_tile[]){
        { 64, 192, 128, 2360, 3100, XL__SCALED},
        { 64, 128, 128, 1800, 2200, XL__SCORED},
        { 64, 128,  64, 1000, 2200, XL__MASKED},
        {128, 192,  80, 1920, 3100, XL__SCALED},
        {128, 128, 128, 2350, 2200, XL__SCORED},
        {128, 128,  64, 1300, 2200, XL__MASKED},
        {0, 0, 0, 0, 0, XL__SCALED},
    },
    .f8_tiles = (const struct xl__attention_tile[]){
        {128, 192,  96, 1770, 3100, XL__SCALED},
        {128, 128, 128, 1800, 2200, XL__SCALED},
        {0, 0, 0, 0, 0, XL__SCALED},
    },
    .section_bytes = 32 << 20,
    .grad_block_clocks = 3200,
    .grad_tile_clocks = 5000,
};
/* clang-format on */

static const xl_matrix_op sm_80[] = {TYPES_OF_SM_80(MMA_SYNC, 2048), {0}};
static const xl_matrix_op sm_86[] = {TYPES_OF_SM_80(MMA_SYNC, 1024), {0}};
static const xl_matrix_op sm_89[] = {TYPES_OF_SM_89(MMA_SYNC, 1024), {0}};
static const xl_matrix_op sm_90[] = {
    TYPES_OF_SM_89(WGMMA, 4096), TYPES_OF_SM_89(MMA_SYNC, 3072), {0}};
static const xl_matrix_op sm_100[] = {TYPES_OF_SM_89(MMA_SYNC, 2048), {0}};

/* Newest first; the first row that is not newer than the capability
 * applies. */
static const struct generation {
    unsigned cc;
    const xl_matrix_op *ops;
} generations[] = {
    {120, sm_89}, {100, sm_100}, {90, sm_90}, {89, sm_89},
    {86, sm_86},  {80, sm_80},   {0, NULL},
};

void xl__nvidia_matrix_engine(unsigned cc, struct xl__limits *l)
{
    const struct generation *g = generations;
    while (g->cc > cc)
        g++;
    l->matrix_ops = g->ops;
    l->model.mma = &mma_sync;
    l->model.wgmma = &wgmma;
    l->model.attention = &attention;
}
