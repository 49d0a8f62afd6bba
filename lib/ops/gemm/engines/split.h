/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 on a matrix engine of narrower types: each operand is
 * written as a sum of planes in the workspace, a factor for each row of A and
 * column of B apart, and the products of planes that matter are summed. What
 * variants of it share: where things lie, the steps before the product, and
 * the plain product behind it that runs instead where an operand is not
 * finite. A word in the workspace, which steps read, decides that: the host
 * does not wait.
 *
 * Planes i of A and j of B with i + j below their number are multiplied. Of
 * two planes of f16, 11 bits each, that is three products: what is missing of
 * an element x is at most 2^-23 |x| or 2^-39 of the largest in its line. Of
 * three planes of bf16, 8 bits each, it is six: at most 2^-24 |x|. */
#ifndef XL_OPS_GEMM_SPLIT_H
#define XL_OPS_GEMM_SPLIT_H

#include "ops/gemm/orientation.h"

enum { XL__SPLIT_DEPTH = 64 }; /* planes' k is a multiple of it, with zeros */

/* What planes are of, and how many there are. */
struct xl__split_scheme {
    xl_dtype in;
    unsigned planes;
};
extern const struct xl__split_scheme xl__split_f16, xl__split_bf16;
/* Of each: the type of its parts, and the products that make one. */
enum {
    XL__SPLIT_DTYPE_f16 = XL_F16,
    XL__SPLIT_PRODUCTS_f16 = 3,
    XL__SPLIT_DTYPE_bf16 = XL_BF16,
    XL__SPLIT_PRODUCTS_bf16 = 6
};

/* One operand's planes: lines along k, or across where x lies so; a line and a
 * plane begin at multiples of 128 bytes. In elements from the workspace's
 * beginning; `first` is a multiple of `line`. */
struct xl__split_operand {
    struct xl__gemm_operand from;
    bool across;
    size_t line, plane, first;
    size_t words;   /* of lines side by side: their largest magnitudes */
    size_t factors; /* a float a line */
};

/* Whose the programs are: a self-check that fails strikes all of a plan's, so
 * that variants share none. */
enum xl__split_engine { XL__SPLIT_BY_ONE = 1, XL__SPLIT_BY_FOUR };

struct xl__split_layout {
    const void *canonical;
    enum xl__split_engine engine; /* sub-groups of an instruction */
    struct xl__gemm_oriented s;
    struct xl__split_operand a, b;
    struct xl__split_scheme scheme;
    size_t depth;    /* the planes' k */
    size_t flag;     /* the word: not 0 where an operand is not finite */
    size_t end_bytes; /* of workspace */
};

/* NULL, or why this product is none for parts. */
const char *xl__split_refused(const struct xl__limits *l,
                              const void *canonical);
/* How much the matrix engine multiplies, as one of plane elements. */
double xl__split_flop(const struct xl__split_layout *p);
/* false: no workspace of that size. */
bool xl__split_layout_init(const struct xl__limits *l, const void *canonical,
                           enum xl__split_engine engine,
                           const struct xl__split_scheme *scheme,
                           struct xl__split_layout *out);
/* Append the steps that fill the workspace, and the one behind the product,
 * which has GUARD 2 of gemm/gemm.clh with xl__split_guard(). XL_UNSUPPORTED: the
 * plain product does not fit. */
void xl__split_add(const struct xl__split_layout *p, struct xl__plan *plan);
xl_status xl__split_add_plain(const struct xl__limits *l,
                              const struct xl__split_layout *p,
                              struct xl__plan *plan);
/* Append GUARD's arguments, behind xl__gemm_arg_last(), and define it. */
void xl__split_guard(const struct xl__split_layout *p, struct xl__step *step,
                     int guard);
/* Set flop, bytes, scratch and the estimate: `ns` for the product alone, which
 * `bound` limits. */
void xl__split_estimate(const struct xl__limits *l,
                        const struct xl__split_layout *p, double ns,
                        const char *bound, struct xl__plan *plan);

/* A variant for scheme xl__split_<of>, by the file's refuses(), choose() and
 * plan(), which take the scheme behind the descriptor. */
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
        .engine_terms = XL__SPLIT_PRODUCTS_##of,                              \
        .engine_parts = (xl_dtype)XL__SPLIT_DTYPE_##of,                       \
        .refuses = refuses_##of,                                              \
        .choose = choose_##of,                                                \
        .plan = plan_##of,                                                    \
    }

#endif
