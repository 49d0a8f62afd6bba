/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's canonical descriptor, the call slots of its plans, and the list of
 * its variants. Every variant plans from the canonical descriptor; the
 * scalars, offsets and memory of a call are filled into the slots when it is
 * launched. */
#ifndef XL_OPS_GEMM_H
#define XL_OPS_GEMM_H

#include "ops/path/op.h"
#include "runtime/epilogue.h"

/* The canonical descriptor of GEMM: what plans depend on. In `g`
 *   a.offset, b.offset, c.offset   are the alignments of the matrices in
 *                                  bytes, the least over the batch;
 *   mem.svm                        is not NULL if the memory is SVM;
 *   beta                           is 0 or 1;
 *   k                              is 0 if alpha is: then A and B are not
 *                                  read, and only the reference runs;
 *   row_stride, col_stride         of a dimension of size 1 are such that the
 *                                  other dimension counts as contiguous;
 *   batch                          has a count of at least 1; a_at, b_at and
 *                                  c_at are not NULL if offsets are listed,
 *                                  and `at` too if in device memory;
 *                                  inner is 0 unless two axes are needed;
 *                                  rows is not NULL if products have rows of
 *                                  their own;
 *   epilogue                       is empty: `snippet` describes it. */
struct xl__gemm_canonical {
    xl_gemm g; /* first member, so that this is a valid xl_gemm too. Its
                  a_scales and b_scales are empty: see `scales` */
    struct xl__gemm_scales {
        size_t group_x, group_k; /* x: along m of A, n of B */
        struct xl__gemm_scale {
            bool is_given;
            xl_dtype dtype;
            size_t stride_x, stride_k;
            size_t step, inner_step;         /* as those of batch */
        } of[2];                             /* scales, zeros */
    } scales[2];                             /* of A, of B */
    const struct xl__epilogue_text *snippet; /* NULL: no epilogue */
    const struct xl__windows *windows; /* NULL: A and B are matrices; else
                                          one is windows of images, of so many
                                          bytes (engines/windows.h) */
    double windows_bytes;
    bool windows_of_b;
};

/* Call slots of gemm's plans. The offset lists of a batch are those of A, B
 * and C, in this order. */
enum {
    XL__GEMM_A = 1,
    XL__GEMM_B,
    XL__GEMM_C,
    XL__GEMM_ROWS,
    XL__GEMM_AT,
    XL__GEMM_SCALES, /* scales, zeros of A; of B */
    XL__GEMM_OPERAND = XL__GEMM_SCALES + 4
}; /* mem */
enum {
    XL__GEMM_ALPHA,
    XL__GEMM_BETA,
    XL__GEMM_OFF_A,
    XL__GEMM_OFF_B,
    XL__GEMM_OFF_C,
    XL__GEMM_OFF_ROWS,
    XL__GEMM_OFF_AT, /* of A, B and C */
    XL__GEMM_OFF_SCALES = XL__GEMM_OFF_AT + 3,
    XL__GEMM_OPERAND_VALUE = XL__GEMM_OFF_SCALES + 4
}; /* value */
_Static_assert(XL__GEMM_OPERAND_VALUE +
                       XL_EPILOGUE_MAX_BINDINGS * (int)XL__EPILOGUE_VALUES <=
                   XL__MAX_VALUES,
               "a call has no room for the bindings of an epilogue");

static inline const struct xl__epilogue_text *xl__gemm_epilogue_text(const void *canonical)
{
    return ((const struct xl__gemm_canonical *)canonical)->snippet;
}
static inline const struct xl__windows *xl__gemm_windows(const void *canonical)
{
    return ((const struct xl__gemm_canonical *)canonical)->windows;
}
/* Set A, B and C of a canonical descriptor, which are zero, from those of `g`
 * and the addresses of their memory, of which the alignments count. */
void xl__gemm_set_views(const xl_gemm *g, const size_t base[3],
                        xl_gemm *canonical);
/* The type in which y = alpha A B + beta C is computed: f32, f64 or i32. */
xl_dtype xl__gemm_y_dtype(const void *canonical);
/* The type of A and B, or one that is multiplied and summed as they are: i8 of
 * i8 and u8, f32 of others that differ. */
xl_dtype xl__gemm_in(const xl_gemm *canonical);
/* NULL, or why a variant whose kernels have no scales refuses these operands;
 * and one whose kernels have one type of A and B, without u8, too. */
const char *xl__gemm_scales_refused(const void *canonical);
const char *xl__gemm_types_refused(const void *canonical);
/* Groups along x and along k of operand 0, A, or 1, B. */
void xl__gemm_groups(const struct xl__gemm_canonical *c, unsigned operand,
                     size_t groups[2]);
/* Where the scales (which 0) or zeros (1) of an operand's products are. */
struct xl__places xl__gemm_scale_places(const struct xl__gemm_canonical *c,
                                        unsigned operand, unsigned which);
/* Why a variant refuses batch.rows, whose kernel has no OWN_ROWS. */
extern const char xl__gemm_no_rows[];
/* Indices of the tile sizes in the tunables of every variant that has tiles.
 * The self-check reads them to make a case that crosses a tile's edge; a value
 * of 0 means that there are no tiles. */
enum { XL__GEMM_TM, XL__GEMM_TN, XL__GEMM_TK };
/* Of canonical descriptors, for all products of a batch. */
double xl__gemm_flop(const xl_gemm *g);
double
xl__gemm_bytes(const xl_gemm *g); /* each matrix once; C twice if read */
enum { XL__GEMM_WIDEST = 16 }; /* elements of the widest vector */

/* The dimension along which a matrix is contiguous, as the kernels' UA and
 * UB. */
enum xl__gemm_unit {
    XL__UNIT_ALONG_K, /* of A and B; of C: along its rows */
    XL__UNIT_ACROSS,  /* along m (A), n (B); of C: along its columns */
    XL__UNIT_NONE
};

extern const struct xl__op xl__op_gemm;

/* The `own` of a variant of GEMM; NULL: all zero. */
struct xl__gemm_variant {
    bool has_plain; /* other programs where C is not read (beta = 0) */
    /* The sizes of m, n and k that a self-check case exceeds, all tunables
     * set. NULL: those of its tiles, by XL__GEMM_TM and on. */
    void (*tile)(const void *canonical, const struct xl__params *,
                 size_t sizes[3]);
};

/* The variants: one file each, here and in engines/. */
extern const struct xl__variant xl__gemm_ref, xl__gemm_tiled, xl__gemm_clblast,
    xl__gemm_wgmma, xl__gemm_dpas, xl__gemm_cpu, xl__gemm_mma, xl__gemm_simt,
    xl__gemm_skinny, xl__gemm_block_read, xl__gemm_split_f16,
    xl__gemm_split_bf16, xl__gemm_split_mma_f16, xl__gemm_split_mma_bf16;
/* Of those that compute convolutions, too: conv/pointwise.c. */
extern const struct xl__tunable xl__gemm_wgmma_tunables[],
    xl__gemm_mma_tunables[], xl__gemm_dpas_tunables[], xl__gemm_cpu_tunables[],
    xl__gemm_simt_tunables[], xl__gemm_skinny_tunables[],
    xl__gemm_tiled_tunables[];

/* Defines xl__<prefix><method>, which runs as a product by xl__gemm_<method>:
 * the file has refuse(), choose() and plan(), each with GEMM's variant; the
 * further members follow. In two parts: functions, and a variant of these. */
#define XL__BY_GEMM(prefix, method, ...)                                      \
    XL__BY_GEMM_FUNCTIONS(method)                                             \
    XL__BY_GEMM_VARIANT(prefix, method, __VA_ARGS__)
#define XL__BY_GEMM_FUNCTIONS(method)                                         \
    static const char *refuse_##method(const struct xl__limits *l,            \
                                       const void *desc)                      \
    {                                                                         \
        return refuse(l, desc, &xl__gemm_##method);                           \
    }                                                                         \
    static void choose_##method(const struct xl__limits *l, const void *desc, \
                                struct xl__params *out)                       \
    {                                                                         \
        choose(l, desc, &xl__gemm_##method, out);                             \
    }                                                                         \
    static xl_status plan_##method(                                           \
        const struct xl__limits *l, const void *desc,                         \
        const struct xl__params *params, struct xl__plan *p)                  \
    {                                                                         \
        return plan(l, desc, &xl__gemm_##method, params, p);                  \
    }
#define XL__BY_GEMM_VARIANT(prefix, method, ...)                              \
    const struct xl__variant xl__##prefix##method = {                         \
        .name = #prefix #method,                                              \
        .repeats =                                                            \
            "bit for bit: each element's sum, or parts, in a fixed order",    \
        .tunables = xl__gemm_##method##_tunables,                             \
        .refuses = refuse_##method,                                           \
        .choose = choose_##method,                                            \
        .plan = plan_##method,                                                \
        __VA_ARGS__};

#endif
