/* SPDX-License-Identifier: Apache-2.0 */
/* What the time models know of a device besides its facts: the shares of its
 * peak rates that kernels reach, and defaults of rates that no fact states. A
 * rate that is a fact comes from the vendor's table or the device profile; a
 * value here from the vendor's table, else from the list below, by class. */
#ifndef XL_DEVICE_MODEL_H
#define XL_DEVICE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "device/private_api.h"

struct xl__limits; /* device/facts.h */

enum xl__device_class {
    XL__DISCRETE_GPU,
    XL__INTEGRATED_GPU, /* shares the host's memory */
    XL__CPU,
    XL__SOFTWARE, /* renders images: items in lock-step on a CPU */
    XL__N_CLASSES
};

/* The only list of values. The shares of GPUs were measured on one, so on
 * others their order is what matters; those of software by GE-33.
 * XX(name, discrete GPU, integrated GPU, CPU, software, what it is) */
/* clang-format off */
#define XL__MODEL_MAP(XX)                                                     \
 /* where no fact states it */                                                \
 XX(clock_hz,          1.5e9, 1.5e9, 1.5e9, 1.5e9, "clock")                   \
 XX(fma_lanes,            64,    64,     2,     2, "f32 FMAs of a compute unit per clock; of CPUs, for each element of a vector") \
 XX(most_lanes,            0,     0,    32,     0, "f32 FMAs of a compute unit per clock that none exceeds; 0: the fact (CP-27)") \
 XX(most_clock_hz,         0,     0, 6.2e9,     0, "clock that none exceeds; 0: the fact (CP-27)") \
 XX(most_bytes_per_s,  10e12,  1e12,  2e12,  2e12, "of memory, that none exceeds (GE-35)") \
 XX(bytes_per_s,           0,  30e9,  30e9, 2.2e9, "memory, and as many more") \
 XX(unit_bytes_per_s,   16e9,     0,     0,     0, "for each compute unit")   \
 XX(launch_ns,           8e3,   8e3,   8e3, 150e3, "one launch of many")      \
 XX(round_trip_ns,         0,     0,  45e3, 250e3, "a call that is waited for, where its cores sleep until then (CP-26)") \
 XX(latency_ns,          800,   800,   800,   800, "memory under load (NV-36)") \
 XX(item_registers,      255,   255,   255,   255, "of an item (NV-04)")      \
 /* waits that nothing hides, in clocks (NV-58) */                            \
 XX(tiled_step_clocks,    60,    60,     0,     0, "a step of k of gemm_tiled, and of CLBlast")  \
 XX(ahead_step_clocks,    28,    28,     0,     0, "of gemm_simt")              \
 XX(blocks_step_clocks,   60,    60,     0,     0, "of gemm_block_read: that of gemm_tiled, not measured") \
 XX(conv_step_clocks,     75,    75,     0,     0, "of conv_tiled")             \
 XX(direct_step_clocks,  140,   140,     0,     0, "a tap of conv_direct, of one channel") \
 XX(skinny_row_clocks,  1350,  1350,     0,     0, "a row of gemm_skinny, whose items add their sums") \
 /* shares of the FMA rate */                                                 \
 XX(slow_frac,           0.5,   0.5,   0.5,   0.5, "doubles and bytes, where no fact states it") \
 XX(tile_frac,             0,     0, 0.007,     0, "of each tile; 0: each set of the list has its own (CP-14)") \
 XX(skinny_frac,         0.2,   0.2,   0.2, 0.025, "gemm_skinny by groups (NV-49)") \
 XX(quantised_frac,     0.2,   0.2,   0.2,  0.02, "qgemm_cpu: weights are decoded in registers, of one row of A") \
 XX(quantised_rows,     1.1,   1.1,   1.1,   1.1, "qgemm_cpu: rows of A whose products take as long as decoding W's (CP-44)") \
 XX(quantised_mma_frac, 0.12, 0.12,  0.12,  0.12, "qgemm_mma, of the matrix rate: weights are decoded beside it") \
 XX(quantised_wgmma_frac, 0.5, 0.5, 0.5, 0.5, "qgemm_wgmma, of the matrix rate (NV-67)") \
 XX(expr_frac,             1,     1,     1,  0.02, "expressions")              \
 XX(softmax_frac,        0.3,   0.3,   0.3, 0.005, "softmax_online: exp is some ten instructions") \
 XX(norm_frac,           0.3,   0.3,   0.3,  0.02, "norm_online")            \
 XX(clblast_frac,       0.45,  0.45,  0.03, 0.012, "CLBlast")                 \
 XX(gemm_ref_frac,      0.03,  0.03, 0.004,  0.01, "gemm_ref")                \
 XX(conv_direct_frac,   0.05,  0.05,   0.4,  0.25, "conv_direct: operands from caches or local memory (NV-58)") \
 XX(conv_depthwise_frac, 0.3,   0.3,  0.01,  0.01, "conv_depthwise: with the loads and the stores") \
 XX(gather_fmas,         20,    20,    20,    20, "conv_tiled: as long as an element of a window takes, alone (NV-55)") \
 XX(conv_ref_frac,      0.02,  0.02, 0.003, 0.003, "conv_ref")                \
 XX(attention_cpu_frac, 0.73,  0.73,  0.73,  0.73, "attention_cpu")           \
 XX(pack_rows,            16,    16,    16,    16, "attention_cpu: rows whose products take as long as packing their keys") \
 XX(attention_flash_frac, 0.35, 0.3, 0.02,  0.02, "attention_flash: operands from local memory") \
 XX(attention_split_frac, 0.1, 0.1, 0.11, 0.012, "attention_split: with the sums of items (NV-60)") \
 XX(attention_ref_frac, 0.01,  0.01, 0.003, 0.003, "attention_ref")           \
 XX(softmax_ref_frac,   0.01,  0.01,  0.01,  0.01, "softmax_ref")             \
 /* shares of the memory's rate */                                            \
 XX(skinny_bytes_frac,  0.87,  0.87,  0.87,  0.87, "gemm_skinny (NV-49)")     \
 XX(quantised_mma_bytes_frac, 0.53, 0.53, 0.53, 0.53, "qgemm_mma: copies to local memory, ahead (NV-64),") \
 XX(quantised_lines_frac, 0.72, 0.72, 0.72, 0.72, "by lines,") \
 XX(quantised_skinny_frac, 0.82, 0.82, 0.82, 0.82, "qgemm_skinny (NV-65)") \
 XX(quantised_wgmma_bytes_frac, 0.5, 0.5, 0.5, 0.5, "qgemm_wgmma (NV-67),") \
 XX(quantised_again_frac, 0.5, 0.5, 0.5, 0.5, "and of a byte of A that the cache has") \
 XX(conv_direct_bytes_frac, 0.5, 0.5,  0.5,   0.5, "conv_direct: short lines")   \
 XX(conv_depthwise_bytes_frac, 0.8, 0.8, 0.1, 0.1, "conv_depthwise: every row once, neighbours from caches") \
 XX(ref_bytes_frac,      0.3,   0.3,   0.3,     1, "gemm_ref and softmax_ref: neighbours read different lines") \
 XX(thin_bytes_frac,     0.3,   0.3,   0.3,   0.3, "a product much thinner than its tile (CP-13)") \
 /* sizes that keep a compute unit busy */                                    \
 XX(band,                  8,     8,     8,     8, "tile rows of a band (NV-23)") \
 XX(narrow_registers,     69,    69,    69,    69, "of an item, where sub-groups are narrow (IN-08)") \
 XX(held_elems,           32,    32,    32,    32, "of a row that an item should hold (NV-25),") \
 XX(held_words,           48,    48,    48,    48, "of an expression's,")     \
 XX(held_once_words,      24,    24,    24,    24, "where it has one sweep,") \
 XX(held_narrow_words,    32,    32,    32,    32, "where all types read are below 4 bytes") \
 XX(held_lanes,          512,   512,   512,   512, "items of a row that is held, at most (NV-25)") \
 XX(wg,                  256,   256,   256,   256, "items of a group that every kernel can have (NV-24)") \
 XX(core_groups,          64,    64,    64,    64, "of a core, so that all are busy until the end (CP-08)") \
 /* caches */                                                                 \
 XX(again_cost,          0.5,     0,     0,     0, "of a byte that tiles cut by k load again, where the last level is full (NV-73)") \
 XX(kept_bytes,            0,     0, 4 << 20,   0, "of a call's memory, for each compute unit, that the caches keep at most; 0: the last level holds it (CP-30)")
/* clang-format on */

enum xl__model_id {
#define XL__MODEL_ENUM(name, discrete, integrated, cpu, software, help)       \
    XL__M_##name,
    XL__MODEL_MAP(XL__MODEL_ENUM)
#undef XL__MODEL_ENUM
    XL__N_MODEL
};

/* The kernels that multiply from local memory and registers. */
enum xl__tile_kernel {
    XL__TILES_GEMM,        /* gemm/tiled.cl */
    XL__TILES_GEMM_AHEAD,  /* gemm/simt.cl */
    XL__TILES_GEMM_BLOCKS, /* gemm/intel/block_read.cl; only tables whose devices
                              have block reads list sets of it */
    XL__TILES_CONV,        /* conv/tiled.cl */
    XL__N_TILE_KERNELS
};

/* A tile of products on FMA units: rows, columns and depth of a work-group's
 * tile, rows and columns of an item, slices kept in local memory. */
struct xl__tile_set {
    unsigned short tm, tn, tk, rm, rn, stages;
    double frac; /* of the FMA rate that it reaches */
    /* 32-bit registers of an item that a compiler takes, for operands of up to
     * 32 bits; 0: they are estimated. */
    unsigned short registers;
};

/* Those of an architecture. */
struct xl__tile_sets {
    unsigned width;   /* of the kernels' sub-groups; 0: the compiler's choice */
    bool keeps_whole; /* tiles are not cut by k: those kernels spill */
    bool one_depth;   /* conv/tiled.cl holds the values of one depth at a time:
                         with two it spills */
    const struct xl__tile_set *of[XL__N_TILE_KERNELS]; /* end with tm 0 */
};

/* A tile of products on matrix instructions: rows, columns of a work-group's
 * tile, bytes along k of a slice, sub-groups along m, n, k, slices kept in
 * local memory. */
struct xl__mma_tile {
    unsigned short tm, tn, bytes, sm, sn, sk, stages;
    unsigned short registers; /* as in xl__tile_set */
};

/* How far matrix instructions get whose operands are fragments in registers.
 * Clocks are of a compute unit. */
struct xl__mma_model {
    const struct xl__mma_tile *tiles; /* ends with tm 0 */
    double shown;           /* of the shorter of two overlapping activities */
    double elems_per_clock; /* copied one by one */
    double begin_clocks;    /* of a tile: until its first slice has arrived */
    double sums_per_clock;  /* stored to C */
    double bytes_frac;      /* of the memory's rate */
    double attention_frac[2]; /* of the instructions' rate, by attention: with
                                 one fragment along rows, with two */
    double attention_split_frac[2]; /* where f32 is split into two terms */
    double attention_terms_frac[2]; /* where these are in memory, of f16 */
    double attention_bytes_frac; /* of the memory's rate */
    double attention_load_bytes; /* from the cache, per clock of a unit */
    double
        attention_registers; /* of an item, at most (AM-19); and sub-groups */
    double attention_teams;  /* with which a unit's engines are busy; 0: any */
};

/* The same where block reads load them from the cache. */
struct xl__dpas_model {
    double shown;          /* of the shorter of two overlapping activities */
    double load_bytes;     /* from the cache, per clock of a unit */
    double begin_clocks;   /* of a tile: until its first loads have arrived */
    double sums_per_clock; /* stored to C */
    double bytes_frac;     /* of the memory's rate */
    double locate_clocks;  /* of windows: of a sub-group's rows, each slice */
    double row_clocks;     /* of each of them, and as many a tile along k */
    const char *registers_option; /* of a build whose kernels have all
                                     registers that a sub-group can have */
};

/* The same where operands are in local memory. */
struct xl__wgmma_model {
    double operand_bytes; /* from local memory, per clock */
    double rows_cost;     /* of a byte there of A along k; of others 1 */
    double load_bytes;    /* from the cache, per clock of a unit */
    double uneven_cost;   /* fraction of load_bytes lost by tiles that begin
                             inside a line */
    double outside_clocks; /* of a line of a box that is outside of the matrix,
                              where each group has such lines */
    double blend;         /* exponent with which overlapping times combine */
    double no_overlap;    /* four warps that no others overlap with */
    double promotion;     /* sums that leave the engine */
    double boxes_sums, values_sums; /* stored to C per clock, by form */
    double values_clocks;
    /* Clocks of an operation of an epilogue for each sum of an item: so many
     * for each group of four warps, and for as many more groups, since items
     * wait. */
    double epilogue_clocks, epilogue_waits;
    double part_sums;    /* to scratch per clock */
    double join_clocks;  /* a second launch */
    double cut_cost;     /* least gain for which tiles are cut */
    double enough_units; /* fraction of the units that keep memory busy */
    double bytes_frac;   /* of the memory's rate */
    /* Where A is gathered: clocks of a stage besides bytes of local memory,
     * read and written, per clock; bytes from the cache, per clock of a unit,
     * with all units together. */
    double gather_clocks, gather_local_bytes, gather_cache_bytes;
};

/* A tile of attention on the same instructions, and the clocks of a unit that
 * it takes. */
struct xl__attention_tile {
    size_t d_head;  /* 0 ends a list */
    size_t queries; /* 64 for each four sub-groups that multiply */
    size_t keys;    /* of a block */
    double block_clocks, tile_clocks; /* of each block, of the tile besides */
    /* What its registers hold besides: nothing; caps, slopes and prologues;
     * these and a mask, without which it is slower than others. */
    enum { XL__SCALED, XL__SCORED, XL__MASKED } scores;
};
struct xl__attention_model {
    /* Those of a d_head together; of 16-bit types, of f8e4m3. */
    const struct xl__attention_tile *tiles, *f8_tiles;
    double section_bytes; /* of K and V that the cache keeps for all units */
    /* Of gradients, of a tile of 128 keys: for each block of 8192 elements of
     * q, and besides. */
    double grad_block_clocks, grad_tile_clocks;
};

/* What a vendor's table states; a NULL or 0: the class's. */
struct xl__model {
    bool is_software;
    double value[XL__N_MODEL];
    const char *build_option; /* of all programs; static. NULL: none */
    const struct xl__tile_sets *tiles;
    const struct xl__mma_model *mma;     /* NULL: no such instructions */
    const struct xl__dpas_model *dpas;   /* likewise */
    const struct xl__wgmma_model *wgmma; /* likewise */
    const struct xl__attention_model *attention; /* likewise */
};

enum xl__device_class xl__device_class(const struct xl__limits *l);
XL__PRIVATE_API double xl__model(const struct xl__limits *l,
                                 enum xl__model_id id);
size_t xl__model_size(const struct xl__limits *l, enum xl__model_id id);
/* Do the caches keep less than a call's memory, so that its results are better
 * stored past them? False where the last level is not known. */
bool xl__exceeds_caches(const struct xl__limits *l, double bytes);
const struct xl__tile_sets *xl__tiles(const struct xl__limits *l);

#endif
