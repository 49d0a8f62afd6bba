/* SPDX-License-Identifier: Apache-2.0 */
/* Products with quantised weights, for their variants. */
#ifndef XL_OPS_QGEMM_H
#define XL_OPS_QGEMM_H

#include <crosslane/qgemm.h>

#include "device/time_model.h"
#include "ops/gemm/gemm.h"
#include "runtime/epilogue.h"

/* All of one word, so that there is no padding. */
struct xl__qgemm_canonical {
    size_t m, n, k;
    size_t format; /* xl_qformat */
    size_t group;  /* columns that share a scale; of other formats k */
    size_t group_rows; /* of XL_FP8: rows that do; 0: all */
    size_t has_zeros;
    size_t a, c; /* xl_dtype */
    size_t row_stride_a, row_stride_c, col_stride_c;
    /* Bytes to which rows are, of W those of its blocks; at most 16. */
    size_t a_aligned, w_aligned, c_aligned;
    size_t is_fast;              /* weights may be rounded to A's type */
    size_t activations;          /* xl_activations */
    /* Of the norm of A's rows, else 0: xl_qgemm_norm_kind; of its gain the
     * xl_dtype, and the bytes to which it is aligned; the sizes of the call,
     * of which its form is, also in a self-check case. */
    size_t norm, gain, gain_aligned, of_m, of_n, of_k;
    size_t pair; /* the epilogue's last operand is the second product */
    size_t has_svm;              /* A or C is SVM; where `scaled`, or W */
    size_t w_has_svm;
    const struct xl__epilogue_text *epilogue; /* NULL: none */
    /* The epilogue of a product of bytes, behind the scales of its row and of
     * its column, the last two operands; NULL: there are others. */
    const struct xl__epilogue_text *scaled;
};

/* Call slots of its plans: those of GEMM, whose plans many rows take, with the
 * parts of W and the gain where that has scales, and eps where it has lists.
 */
enum {
    XL__QGEMM_A = XL__GEMM_A,
    XL__QGEMM_C = XL__GEMM_C,
    XL__QGEMM_BLOCKS = XL__GEMM_SCALES,
    XL__QGEMM_SCALES,
    XL__QGEMM_ZEROS,
    XL__QGEMM_GAIN,
    XL__QGEMM_PARTS = 3,
    XL__QGEMM_OPERAND = XL__GEMM_OPERAND
};
enum {
    XL__QGEMM_OFF_A = XL__GEMM_OFF_A,
    XL__QGEMM_OFF_C = XL__GEMM_OFF_C,
    XL__QGEMM_OFF_BLOCKS = XL__GEMM_OFF_SCALES,
    XL__QGEMM_OFF_SCALES,
    XL__QGEMM_OFF_ZEROS,
    XL__QGEMM_OFF_GAIN,
    XL__QGEMM_EPS = XL__GEMM_OFF_AT,
    XL__QGEMM_OPERAND_VALUE = XL__GEMM_OPERAND_VALUE
};

/* Columns that kernels decode together; that a stage of qgemm_mma and
 * qgemm_skinny has. */
enum { XL__QGEMM_UNIT = 32, XL__QGEMM_STAGE = 8 * XL__QGEMM_UNIT };

/* Indices of tunables: rows of A and of W of an item, or a group; items of a
 * group and of a row of W; of qgemm_mma and qgemm_skinny in their place
 * sub-groups along the columns, slots of local memory, and of the first
 * sub-groups along W's rows. */
enum {
    XL__QGEMM_TM,
    XL__QGEMM_RN,
    XL__QGEMM_WG,
    XL__QGEMM_LANES,
    XL__QGEMM_SK = XL__QGEMM_WG,
    XL__QGEMM_ST,
    XL__QGEMM_RT
};

/* Columns and rows of W that share a scale. */
size_t xl__qshape_group(const xl_qshape *s);
size_t xl__qshape_group_rows(const xl_qshape *s);
/* Are scales and zeros those of groups of columns, not of whole rows? */
bool xl__qgemm_has_groups(const struct xl__qgemm_canonical *c);
/* Columns of C. */
size_t xl__qgemm_cols(const struct xl__qgemm_canonical *c);
/* Sizes of the weights. */
xl_qshape xl__qgemm_shape(const struct xl__qgemm_canonical *c);
size_t
xl__qgemm_row_bytes(const struct xl__qgemm_canonical *c); /* its blocks */
double xl__qgemm_flop(const struct xl__qgemm_canonical *c);
/* Bytes of W, and of A and C. */
double xl__qgemm_weight_bytes(const struct xl__qgemm_canonical *c);
double xl__qgemm_other_bytes(const struct xl__qgemm_canonical *c);
/* Of variants on the matrix engine: the type of its operands, the columns of
 * its right one for a row of A, and NULL, or why W's codes cannot be them. */
xl_dtype xl__qgemm_engine_type(const struct xl__qgemm_canonical *c);
size_t xl__qgemm_terms(const struct xl__qgemm_canonical *c);
const char *xl__qgemm_pairs_refused(const struct xl__limits *l,
                                    const struct xl__qgemm_canonical *c);
/* Of variants that multiply W's rows by themselves: NULL, or why not pairs. */
const char *xl__qgemm_pair_refused(const struct xl__qgemm_canonical *c);
/* Of variants that multiply activations as integers: NULL, or why not these.
 */
const char *xl__qgemm_bytes_refused(const struct xl__qgemm_canonical *c);
/* Units of a stage of these that have one scale, as far as it knows. */
size_t xl__qgemm_group_units(const struct xl__qgemm_canonical *c);
/* The product with W as dequantised: f32, or of A's type where it may be
 * rounded to that, or of bytes where these have a scale by row; `to` is
 * zero. */
void xl__qgemm_product(const struct xl__qgemm_canonical *c,
                       struct xl__gemm_canonical *to);
/* Checks sizes and format of W for an op of this name. */
xl_status xl__qmat_check(const xl_qmat *w, const char *op,
                         struct xl__error *e);
/* Adds the parts of W to the operands of a call on q, in the order of the
 * slots of a call; mem[]: the memory of each operand. */
xl_status xl__qmat_add_regions(xl_queue *q, const xl_qmat *w, bool is_written,
                               xl_mem mem[]);
/* Sets what the plan depends on of W, and its slots. */
void xl__qmat_bind(const xl_qmat *w, struct xl__qgemm_canonical *to,
                   struct xl__call *call);
void xl__qmat_keep(struct xl__kept *k, xl_qmat *w);
void xl__qmat_describe(const struct xl__qgemm_canonical *c,
                       struct xl__str *out);
/* The parts of W in the memory of a case, with guards, and their first bytes;
 * n = 0: the format has none. */
struct xl__qmat_part {
    const char *name;
    unsigned slot, offset_slot;
    xl_dtype dtype;
    size_t n, rows; /* elements; rows that they have */
    void *first;
};
xl_status xl__qmat_case_parts(const struct xl__qgemm_canonical *c,
                              struct xl__selfcheck_case *t,
                              struct xl__qmat_part part[XL__QGEMM_PARTS]);
/* The -D's and arguments of a kernel: WEIGHTS_PARAMS of quantised/blocks.clh,
 * PRODUCT_PARAMS of quantised/product.clh. */
void xl__qgemm_add_weights(struct xl__step *step,
                           const struct xl__qgemm_canonical *c);
/* Where activations are bytes, the first step: it quantises A into the
 * workspace, as blocks of quantised/bytes.clh. Sets p->scratch_bytes. */
void xl__qgemm_add_quantise(const struct xl__limits *l,
                            const struct xl__qgemm_canonical *c,
                            struct xl__plan *p);
/* Likewise into dense rows of bytes, m x k, and their scales, m f32s. The last
 * two arguments are the bytes before each. */
struct xl__step *
xl__qgemm_add_quantise_rows(const struct xl__limits *l,
                            const struct xl__qgemm_canonical *c,
                            struct xl__plan *p);
void xl__qgemm_add_args(struct xl__step *step,
                        const struct xl__qgemm_canonical *c);
/* An operand of a step, its memory and its offset: from slots to others,
 * `first` elements behind, whole lines. */
void xl__qgemm_move_operand(struct xl__step *s, const unsigned from[2],
                            const unsigned to[2], size_t first);

/* ahead.c. Plan the norm of A by the kernels of xl_norm, into the workspace,
 * then a variant that does not norm A, with that in its place. p is empty. */
xl_status xl__qgemm_plan_normed(const struct xl__limits *l,
                                const struct xl__qgemm_canonical *c,
                                const struct xl__params *params,
                                const struct xl__variant *of,
                                struct xl__plan *p);
/* Is A of 16-bit floats that are multiplied as such? Likewise with A as f32; p
 * may have steps. */
bool xl__qgemm_is_narrow(const struct xl__qgemm_canonical *c);
xl_status xl__qgemm_plan_widened(const struct xl__limits *l,
                                 const struct xl__qgemm_canonical *c,
                                 const struct xl__params *params,
                                 const struct xl__variant *of,
                                 struct xl__plan *p);
/* wgmma.c: units of a self-check case, of which each part goes round the ring.
 */
size_t xl__qgemm_wgmma_units(const struct xl__qgemm_canonical *c,
                             const struct xl__params *params);
/* selfcheck.c: members of xl__op_qgemm. */
void xl__qgemm_shrink(const void *canonical, const struct xl__variant *variant,
                      const struct xl__params *params, void *small);
xl_status xl__qgemm_case_init(void *small, struct xl__selfcheck_case *t);

/* by_gemm.c: the text `scaled` of a call with such weights. */
xl_status xl__qgemm_scaled_text(xl_queue *q, const xl_qshape *w,
                                const struct xl__epilogue_request *own,
                                const struct xl__epilogue_text **out);

extern const struct xl__op xl__op_qgemm;

/* Its variants, one a file. */
extern const struct xl__variant xl__qgemm_cpu, xl__qgemm_gemv, xl__qgemm_mma,
    xl__qgemm_skinny, xl__qgemm_wgmma, xl__qgemm_ref, xl__qgemm_gemm_wgmma,
    xl__qgemm_gemm_mma, xl__qgemm_gemm_dpas, xl__qgemm_gemm_cpu,
    xl__qgemm_gemm_simt, xl__qgemm_gemm_tiled;

#endif
