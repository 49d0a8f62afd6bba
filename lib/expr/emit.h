/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C for nodes and operands: what the form_*.c share. Each writes its own skeleton (who does which elements) and calls
 * these for what happens to an element.
 *
 * In the text a node n is `vN` (or its binding's name where that is told
 * apart), of type float, int or bool-as-int and width 1 or vw; a bool vector
 * holds 0 and -1 as OpenCL's comparisons give, a bool scalar 0 and 1; cl/common/
 * expr.clh has what OpenCL C lacks, under names xl_... for every width. */
#ifndef XL_EXPR_EMIT_H
#define XL_EXPR_EMIT_H

#include "expr/group.h"

struct xl__emit {
    const struct xl__graph *g;
    const struct xl__group *group;
    const struct xl__limits *l;
    struct xl__str *out;
    unsigned vw;      /* width of element-level values now being written */
    unsigned indent;  /* levels of four spaces */
};

/* Comment that says what the kernel computes, includes, and -D-less settings:
 * the head of every text. */
void xl__emit_head(struct xl__emit *m, const char *what);
/* The kernel's parameter list for all operands, loops and scalars, in the one
 * order that xl__emit_args() sets: per operand pointer, offset, strides that
 * are not 0 or (innermost) 1; sizes of the loops; scalars. */
void xl__emit_params(struct xl__emit *m);
void xl__emit_args(const struct xl__emit *m, const struct xl__schedule *s,
                   struct xl__step *step);
/* `const IDX pN = offset + i0 * stride ...` for each operand, of the loops
 * [first, last) with index names i0, i1, ...; continues what an outer call
 * wrote when first > 0. */
void xl__emit_places(struct xl__emit *m, unsigned first, unsigned last);
/* Load an operand's vw elements at its place + `at` (text) into its node's
 * variable; with `count` (text, NULL: all), only so many are there. */
void xl__emit_load(struct xl__emit *m, unsigned operand, const char *at,
                   const char *count);
void xl__emit_store(struct xl__emit *m, unsigned operand, const char *at,
                    const char *count);
/* `const float4 v7 = ...;` for a MAP-class or leaf node. `width` 1 for row
 * values. */
void xl__emit_node(struct xl__emit *m, unsigned node, unsigned width);
/* The C expression alone that stands for a node's variable at a width, e.g.
 * widened from a row value: "(float4)(v3)". */
void xl__emit_ref(struct xl__emit *m, unsigned node, unsigned width);
/* One line, indented. */
void xl__emit_line(struct xl__emit *m, const char *fmt, ...) XL__PRINTF(2, 3);
/* Does node need to be computed for operand/reduction set; is it row-level
 * here? */
bool xl__emit_is_row(const struct xl__emit *m, unsigned node);

#endif
