/* SPDX-License-Identifier: Apache-2.0 */
/* Why a variant was chosen, as data. */
#ifndef CROSSLANE_EXPLAIN_H
#define CROSSLANE_EXPLAIN_H

#include <crosslane/diagnosis.h>
#include <crosslane/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How a result falls to the groups of a launch, as tiles of its rows and
 * columns. Tiles are counted in bands of tile rows, each walked column by
 * column, one product after the other; group g does tiles g, g + groups, ...
 * of those that are whole.
 */
typedef struct xl_tiling {
    size_t rows, cols;        ///< of a tile, at most; 0: the variant does not
                              ///< say, and all but the launch is 0
    size_t m, n;              ///< rows and columns of a product
    size_t tiles_m, tiles_n;  ///< of a product
    size_t count;             ///< products
    size_t band;              ///< tile rows of a band
    bool turned;              ///< bands are of tile columns, walked row by row
    bool is_even;             ///< tiles are as large as makes all of them
                              ///< alike: rows and cols are those of this size
    size_t whole;             ///< tiles that one group does; those behind are
                              ///< cut by k
    size_t sharers;           ///< groups that these are dealt out to
    size_t groups, wg_items, local_mem_bytes; ///< of the launch
} xl_tiling;

/** One variant's standing for one call. Strings are in the struct. */
typedef struct xl_choice {
    char variant[32];
    bool chosen;
    char why[192];      ///< why it was chosen, or passed over
    char tunables[512]; ///< "TM=64 TN=64 ...", with their source in front:
                        ///< "model", or "tuned" and the file
    char bound[32];     ///< what limits it by the model: "fma", "dram", ...
    char repeats[96];   ///< is the result the same bit for bit each time?
    double est_ns;      ///< the model's time; NaN when not applicable
    double flop, bytes; ///< counted by plan(); NaN when not applicable
    unsigned n_steps;   ///< launches or library calls
    size_t wg[3];       ///< work-group of the largest step; 0: the driver's
    size_t global[3];
    size_t local_mem_bytes;
    size_t scratch_bytes;
    size_t private_bytes; ///< of an item, in memory, by the chosen one's built
                          ///< kernels: values that found no register
    xl_flop on;           ///< what does its arithmetic; of the operands' type
                          ///< unless a matrix engine gets parts of another
    xl_tiling tiling;
} xl_choice;

/**
 * Explain what xl_gemm_run() with this descriptor would do, best first.
 * Builds and self-checks the one chosen, since only that tells.
 *
 * @param out  room for @p cap choices; *n says how many there are
 * @return as xl_gemm_prepare()
 */
XL_API xl_status xl_gemm_explain(xl_queue *q, const xl_gemm *g, xl_choice *out,
                                 unsigned cap, unsigned *n);
XL_API xl_status xl_softmax_explain(xl_queue *q, const xl_softmax *s,
                                    xl_choice *out, unsigned cap, unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
