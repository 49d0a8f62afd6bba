/* SPDX-License-Identifier: Apache-2.0 */
/* What ops over rows share: the views of a row's operands, the arguments and
 * -D's of their kernels (normalization/row_access.clh), the regimes by which
 * rows of any length and number are computed, and the memory of self-check
 * cases. */
#ifndef XL_OPS_ROW_OP_H
#define XL_OPS_ROW_OP_H

#include "ops/path/op.h"

/* -- views: row_views.c ----------------------------------------------------
 */

/* Call slots of every op over rows; its own follow. `added` is what is added
 * to src before all else: a mask, a residual. */
enum { XL__ROWS_SRC = 1, XL__ROWS_DST, XL__ROWS_ADDED, XL__ROWS_OWN_MEM };
enum {
    XL__ROWS_SCALE,
    XL__ROWS_OFF_SRC,
    XL__ROWS_OFF_DST,
    XL__ROWS_OFF_ADDED,
    XL__ROWS_OWN_VALUE
};
/* Elements that the kernels count in 32 bits. */
#define XL__ROWS_MOST_ELEMS ((size_t)1 << 31)

bool xl__mem_is_set(xl_mem mem);
/* Whether an optional view is there. In _prepare, where memory may be missing,
 * its strides state it. */
bool xl__view_is_set(const xl_mat *view);
bool xl__view_is_same(const xl_mat *a, const xl_mat *b);
/* Sets `to`, which is 0, to the canonical view of rows x cols in memory at
 * `base`: without memory, its offset the alignment of the rows in bytes
 * (xl__mat_align()), a stride along a dimension of size 1 legal for every
 * kernel. By field, so that padding stays 0. */
void xl__row_view(const xl_mat *from, size_t rows, size_t cols, size_t base,
                  xl_mat *to);
/* Rows without gaps, where it has several. */
void xl__row_view_set_dense(xl_mat *view, size_t cols);
/* Whether every row of a canonical view begins at a multiple of vw elements.
 */
bool xl__row_view_is_aligned(const xl_mat *view, size_t vw);
/* MU of normalization/row_access.clh, for a view whose columns may have any
 * stride.
 */
long xl__row_view_access(const xl_mat *view, size_t vw);
/* The next smaller case of an audition: the rows first, since variants differ
 * in the lengths of a row. */
bool xl__rows_halve(size_t *rows, size_t *cols);

/* Append ROW_PARAMS and their -D's, but for VA. added: NULL for none. */
void xl__row_args(struct xl__step *step, const xl_mat *src, const xl_mat *dst,
                  const xl_mat *added, size_t rows, size_t cols);
void xl__row_defines(struct xl__step *step, const xl_mat *src,
                     const xl_mat *dst, const xl_mat *added, size_t cols,
                     size_t vw);

/* -- regimes: row_regimes.c ------------------------------------------------
 */

/* -DMODE of the kernels. */
enum xl__row_mode {
    XL__ROWS_HELD = 1, /* a row in the registers of a work-group */
    XL__ROWS_SHARED,   /* a row in the registers of several */
    XL__ROWS_SPLIT,    /* chunks, in two launches */
    XL__ROWS_CACHED,   /* one item, a row in its core's cache */
    XL__ROWS_LONG,     /* one item, two sweeps over a row */
    XL__ROWS_PIECES,   /* one item, chunks, in two launches */
    XL__ROWS_N_MODES
};

/* Indices of the tunables. */
enum {
    XL__ROWS_MODE,
    XL__ROWS_WG,
    XL__ROWS_LANES,
    XL__ROWS_N_HELD,
    XL__ROWS_VW,
    XL__ROWS_STREAM
};
extern const struct xl__tunable xl__row_tunables[];

/* Values of the last one: results are stored through the caches, or past them.
 */
enum { XL__ROWS_THROUGH = 1, XL__ROWS_PAST };

enum { XL__ROWS_MOST_CACHED = 16384 }; /* columns of XL__ROWS_CACHED */

/* Items of a row of a softmax whose kernel may be FULL and exchange words
 * between lanes, at most: those of a sub-group. */
enum { XL__ROWS_NEAR = 32 };

/* What a regime depends on. */
struct xl__rows {
    size_t rows, cols;
    size_t align_elems;  /* at a multiple of which every row begins */
    size_t widest_bytes; /* of the elements of a vector access */
    size_t src_bytes;    /* of an element of what is read */
    double flop, read_bytes, write_bytes; /* of a sweep over all rows */
    bool is_in_place;                     /* results replace operands */
    bool has_columns; /* operands of columns, which each row reads */
    bool is_f32;                          /* src is of f32 */
    bool is_any_length; /* programs are also those of shorter rows: not FULL */
};

/* The kernels of an op. */
struct xl__row_kernels {
    const char *group_file, *item_file;
    const char *kernel[XL__ROWS_N_MODES][2]; /* NULL: there is no such mode */
    size_t n_read;          /* rows of which an item holds vectors: operands */
    size_t words;           /* of a chunk, in scratch memory */
    size_t rooms;           /* ROOM of common/reduce.clh, in floats */
    size_t most_near;       /* XL__ROWS_NEAR; 0: any number of items */
    enum xl__model_id frac; /* of the FMA rate that they reach */
    void (*args)(struct xl__step *step, const void *canonical);
    void (*defines)(struct xl__step *step, const void *canonical, size_t vw);
};

/* Largest work-group in one dimension, a power of two, at most 1024. */
size_t xl__rows_most_items(const struct xl__limits *l);
void xl__row_regime_choose(const struct xl__limits *l,
                           const struct xl__rows *r,
                           const struct xl__row_kernels *k,
                           struct xl__params *out);
xl_status
xl__row_regime_plan(const struct xl__limits *l, const struct xl__rows *r,
                    const struct xl__row_kernels *k, const void *canonical,
                    const struct xl__params *params, struct xl__plan *p);

/* -- self-check cases: row_case.c ------------------------------------------
 */

enum { XL__ROWS_CASE_LEAST = 3 }; /* rows of a case, at least */

/* Sizes of a case for the same programs; params NULL: of a reference variant.
 */
size_t xl__row_case_rows(const struct xl__params *params);
size_t xl__row_case_cols(size_t cols, const struct xl__params *params,
                         size_t most_near);
/* Whether the items of a row hold as many elements as it has: FULL of
 * normalization/row_access.clh. most_near: of struct xl__row_kernels. */
bool xl__row_is_full(size_t cols, const struct xl__params *params,
                     size_t most_near);
/* Strides of the same class and alignment, with a gap between lines. */
void xl__row_case_view(const xl_mat *from, size_t cols, xl_mat *to);
/* The element of memory that is [i][j], and that of [0][0]. */
size_t xl__row_case_at(const xl_mat *view, size_t i, size_t j);
size_t xl__row_case_start(const xl_mat *view);
/* Memory with guards for a view of rows x cols, in a slot, its offset in a
 * value of the call; NULL: no memory. */
void *xl__row_case_memory(struct xl__selfcheck_case *t, const xl_mat *view,
                          size_t rows, size_t cols, unsigned slot,
                          unsigned value);
/* The same, with normally distributed values of such a deviation. */
void *xl__row_case_filled(struct xl__selfcheck_case *t, const xl_mat *view,
                          size_t rows, size_t cols, unsigned slot,
                          unsigned value, double deviation);

#endif
