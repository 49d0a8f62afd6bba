/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of gemm_skinny share: how it goes about a product, read
 * from its tunables. */
#ifndef XL_OPS_GEMM_SKINNY_H
#define XL_OPS_GEMM_SKINNY_H

#include "ops/gemm/orientation.h"

enum {
    XL__SKINNY_COLS = XL__GEMM_TN,
    XL__SKINNY_DEPTH = XL__GEMM_TK,
    XL__SKINNY_VW,
    XL__SKINNY_EACH,
    XL__SKINNY_WG,
    XL__SKINNY_PARTS,
    XL__SKINNY_TURN
};
enum { XL__SKINNY_MOST_ROWS = 16 };
enum { XL__SKINNY_NO = 1, XL__SKINNY_YES = 2 }; /* of PARTS and TURN */

/* The kernels' FORM: how B is contiguous. */
enum xl__skinny_form { XL__SKINNY_ACROSS = 1, XL__SKINNY_ALONG };

struct xl__skinny {
    const xl_gemm *g; /* canonical */
    struct xl__gemm_sides s; /* the few are its rows */
    bool by_threads; /* an item is a thread: gemm/skinny_thread.cl */
    enum xl__skinny_form form;
    /* Rows, columns and lines of k that a group takes in a turn; elements of a
     * vector; columns of an item. */
    size_t tm, cols, depth, vw, each;
    /* Items of a group; those that share a column's sum; vectors that each
     * takes in a turn, in FORM 2 of each column. */
    size_t wg, join, u;
    size_t va; /* elements of a vector of A */
    bool is_cut; /* k, among groups */
    /* Groups: along n, along m, along k; lines of k to a part. */
    size_t blocks, row_blocks, n_parts, part;
    size_t ld; /* of a row of parts, elements */
};

/* gemm_skinny_choose.c */
extern const struct xl__tunable xl__skinny_tunables[];
/* With the few as rows. */
struct xl__gemm_sides xl__skinny_sides(const xl_gemm *g, bool *is_turned);
struct xl__gemm_sides xl__skinny_turned(const struct xl__gemm_sides *s);
bool xl__skinny_by_threads(const struct xl__limits *l);
void xl__skinny_choose(const struct xl__limits *l, const void *desc,
                       struct xl__params *out);

/* gemm_skinny.c: false when the tunables do not fit. */
bool xl__skinny_read(const struct xl__limits *l, const xl_gemm *g,
                     const struct xl__params *p, struct xl__skinny *j);
/* Groups that keep the device busy. */
size_t xl__skinny_busy_groups(const struct xl__limits *l,
                              const struct xl__skinny *j);
/* Items of a compute unit that have enough loads under way. */
double xl__skinny_busy_items(const struct xl__limits *l);
size_t xl__skinny_local_bytes(const struct xl__skinny *j);
size_t xl__skinny_sum_bytes(const xl_gemm *g);

#endif
