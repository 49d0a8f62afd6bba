/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of arithmetic, by the units that execute it. */
#ifndef CROSSLANE_FLOP_H
#define CROSSLANE_FLOP_H

#include <stdbool.h>

#include <crosslane/dtype.h>

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

#ifdef __cplusplus
}
#endif
#endif
