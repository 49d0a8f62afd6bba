/* SPDX-License-Identifier: Apache-2.0 */
/* f32 products on a matrix engine of a narrower type. Each operand X is
 * written into the workspace as a sum of planes,
 *
 *   X = f (P0 + P1 + ...),    f a power of two per row of A, column of B,
 *
 * and the products of those planes that matter are summed. Shared by the
 * variants of this method: the layout of the workspace, the steps before the
 * product, and the step behind it, a plain f32 product that runs in its place
 * if an operand is not finite. A flag word in the workspace, which the steps
 * set and read, decides that; the host does not wait.
 *
 * Planes i of A and j of B with i + j less than their number are
 * multiplied. With two planes of f16, 11 bits each, that is three products;
 * an element x is represented to 2^-23 |x|, or to 2^-39 of the largest of
 * its row (column). With three planes of bf16, 8 bits each, it is six
 * products, and 2^-24 |x|. */
#ifndef XL_OPS_GEMM_SPLIT_H
#define XL_OPS_GEMM_SPLIT_H

#include "ops/gemm/orientation.h"

enum { XL__SPLIT_DEPTH = 64 }; /* k of the planes */

/* The type of the planes and their number. */
struct xl__split_scheme {
    xl_dtype in;
    unsigned planes;
};
extern const struct xl__split_scheme xl__split_f16, xl__split_bf16;
/* Of each scheme: the type of its planes, and the number of products. */
enum {
    XL__SPLIT_DTYPE_f16 = XL_F16,
    XL__SPLIT_PRODUCTS_f16 = 3,
    XL__SPLIT_DTYPE_bf16 = XL_BF16,
    XL__SPLIT_PRODUCTS_bf16 = 6
};

/* The planes of one operand, stored as lines along k, or along x if the
 * operand is contiguous across. Lines and planes begin at multiples of 128
 * bytes. All are in elements from the workspace's beginning; `first` is a
 * multiple of `line`. */
struct xl__split_operand {
    struct xl__gemm_operand from;
    bool across;
    size_t line, plane, first;
    size_t words;   /* of an operand contiguous across: the largest
                       magnitude of each line along k */
    size_t factors; /* a float per row (column) */
};

/* The variant that a program belongs to. A self-check that fails rejects all
 * programs of a plan, so that variants share none. */
enum xl__split_engine { XL__SPLIT_BY_ONE = 1, XL__SPLIT_BY_FOUR };

struct xl__split_layout {
    const void *canonical;
    enum xl__split_engine engine; /* by sub-groups of an instruction */
    struct xl__gemm_oriented s;
    struct xl__split_operand a, b;
    struct xl__split_scheme scheme;
    size_t depth;    /* the planes' k */
    size_t flag;     /* word that is not 0 if an operand is not finite */
    size_t end_bytes; /* of workspace that is used */
};

/* NULL, or why this method does not apply to the product. */
const char *xl__split_refused(const struct xl__limits *l,
                              const void *canonical);
/* Flop of the matrix engine: those of all products of planes. */
double xl__split_flop(const struct xl__split_layout *p);
/* Lay out the workspace. Returns false if it does not fit into a buffer. */
bool xl__split_layout_init(const struct xl__limits *l, const void *canonical,
                           enum xl__split_engine engine,
                           const struct xl__split_scheme *scheme,
                           struct xl__split_layout *out);
/* Append the steps that fill the workspace, and the plain product that follows
 * the product of planes. The latter's kernel has GUARD 2 of gemm/gemm.clh, by
 * xl__split_guard(). XL_UNSUPPORTED: the plain product does not fit. */
void xl__split_add(const struct xl__split_layout *p, struct xl__plan *plan);
xl_status xl__split_add_plain(const struct xl__limits *l,
                              const struct xl__split_layout *p,
                              struct xl__plan *plan);
/* Define GUARD and append its arguments, behind xl__gemm_arg_last(). */
void xl__split_guard(const struct xl__split_layout *p, struct xl__step *step,
                     int guard);
/* Set the plan's flop, bytes, scratch size and estimate. ns: time of the
 * product of planes by itself, which `bound` limits. */
void xl__split_estimate(const struct xl__limits *l,
                        const struct xl__split_layout *p, double ns,
                        const char *bound, struct xl__plan *plan);

/* Defines the variant `symbol` named `label` for scheme xl__split_<of>. It
 * uses the file's static refuses(), choose() and plan(), each of which has the
 * scheme as the argument behind the descriptor. */
#define XL__SPLIT_VARIANT(symbol, of, label, list)                            \
    static const char *refuses_##of(const struct xl__limits *l,               \
                                    const void *desc)                         \
    {                                                                         \
        return refuses(l, desc, &xl__split_##of);                             \
    }                                                                         \
    static void choose_##of(const struct xl__limits *l, const void *desc,     \
                            struct xl__params *out)                           \
    {                                                                         \
        choose(l, desc, &xl__split_##of, out);                                \
    }                                                                         \
    static xl_status plan_##of(const struct xl__limits *l, const void *desc,  \
                               const struct xl__params *params,               \
                               struct xl__plan *p)                            \
    {                                                                         \
        return plan(l, desc, &xl__split_##of, params, p);                     \
    }                                                                         \
    const struct xl__variant symbol = {                                       \
        .name = label,                                                        \
        .repeats = "bit for bit: each element's sum, or parts, in order",     \
        .tunables = list,                                                     \
        .on = {.engine = XL_ENGINE_MATRIX,                                    \
               .dtype = (xl_dtype)XL__SPLIT_DTYPE_##of,                       \
               .terms = XL__SPLIT_PRODUCTS_##of},                             \
        .refuses = refuses_##of,                                              \
        .choose = choose_##of,                                                \
        .plan = plan_##of,                                                    \
    }

#endif
