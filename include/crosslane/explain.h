/* SPDX-License-Identifier: Apache-2.0 */
/* Which variants an operation can use for a call, how the library ranks them
 * and why, as data. */
#ifndef CROSSLANE_EXPLAIN_H
#define CROSSLANE_EXPLAIN_H

#include <stdbool.h>

#include <crosslane/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xl_engine { XL_ENGINE_FMA, XL_ENGINE_MATRIX } xl_engine;

/** Operations of one kind: which units execute them, and how many. */
typedef struct xl_flop {
    xl_engine engine;
    xl_dtype dtype; ///< of the arithmetic; of a matrix engine, its
                    ///< operands'
    unsigned terms; ///< engine products per product, where operands are
                    ///< split into terms; 0: one
    double count;
    bool is_product; ///< of matrices: a matrix engine could execute them
    const char *why; ///< why no matrix engine does; NULL: not known
} xl_flop;

/**
 * How the tiles of a result are assigned to the work-groups of a launch.
 *
 * A result of m x n is cut into tiles_m x tiles_n tiles, grouped into bands of
 * `band` tile rows. Tiles are numbered band by band, within a band column by
 * column:
 *
 *   band 0   0 2 4 6      (band = 2, tiles_n = 4)
 *            1 3 5 7
 *   band 1   8 ...
 *
 * then product by product. Group g computes tiles g, g + groups, ... below
 * `whole`; the tiles from `whole` on are each split along k over several of
 * the `sharers` groups.
 */
typedef struct xl_tiling {
    size_t rows, cols;        ///< of a tile, at most; 0: the variant does not
                              ///< use tiles, and only the launch is filled in
    size_t m, n;              ///< rows and columns of a product
    size_t tiles_m, tiles_n;  ///< of a product
    size_t count;             ///< products
    size_t band;              ///< tile rows of a band
    bool is_swapped;              ///< bands are of tile columns, numbered row by
                              ///< row: rows and columns are swapped
    bool is_even;             ///< all tiles have nearly the same size: rows and
                              ///< cols are of that size
    size_t whole;             ///< tiles computed by one group each; the tiles
                              ///< from here on are split along k
    size_t sharers;           ///< groups that compute the split tiles
    size_t groups, wg_items, local_mem_bytes; ///< of the launch
} xl_tiling;

/** One variant for one call: is it chosen, and why. */
typedef struct xl_choice {
    char variant[32];
    bool chosen;
    char why[512];      ///< why it was chosen or rejected; here and below, a
                        ///< text that does not fit ends with "..."
    char tunables[512]; ///< "TM=64 TN=64 ...", preceded by their source:
                        ///< "model", or "tuned" and the file
    char bound[32];     ///< the model's limiter: "fma", "dram", ...
    char repeats[96];   ///< is the result bit for bit the same each time?
    double est_ns;      ///< the model's time, on CPUs of a call that is waited
                        ///< for; NaN when not applicable
    double flop, bytes; ///< counted by plan(); NaN when not applicable
    unsigned n_steps;   ///< launches or library calls
    size_t wg[3];       ///< work-group of the largest step that neither
                        ///< prepares operands nor joins sums; 0: the driver's
    size_t global[3];
    size_t local_mem_bytes;
    size_t scratch_bytes;
    size_t private_bytes; ///< of a work-item, by the chosen variant's built
                          ///< kernels: register spills; 0 on CPUs
    double registers;   ///< of the chosen variant's same step: of a work-item,
                        ///< or of a hardware thread where the driver counts
                        ///< these; NaN: not stated
    double spill_bytes; ///< what of the same found no register, as its
                        ///< compiler counts it; NaN: not stated
    xl_flop on;           ///< the units that execute it; of the operands' type
                          ///< unless operands are split into narrower terms
    xl_tiling tiling;
} xl_choice;

/** Name of the @p i-th variant of an op ("gemm", "softmax", "norm", "conv",
 *  "attention", "expr") that the device's vendor table lists, best first; NULL past the last
 *  or for no such op. */
XL_API const char *xl_variant_name(const xl_device *dev, const char *op,
                                   unsigned i);

#ifdef __cplusplus
}
#endif
#endif
