/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C for nodes and operands: what the form_*.c share. Each writes its
 * own skeleton (who does which elements) and calls these for what happens to
 * an element.
 *
 * Names in the text, by number of node, operand and loop: vN a node's value,
 * mK an operand's memory, oK its offset, sK_L its stride along a loop where
 * that is neither 0 nor, innermost, 1; pK its place, nL a loop's size, iL its
 * index. Values are float, int or bool-as-int and of width 1 or vw; a bool
 * vector holds 0 and -1 as OpenCL's comparisons give, a bool scalar 0 and 1.
 * cl/expr/expr.clh has what OpenCL C lacks, under names xl_... that end in
 * the width. */
#ifndef XL_EXPR_EMIT_H
#define XL_EXPR_EMIT_H

#include "expr/codegen/forms.h"

struct xl__emit {
    const struct xl__graph *g;
    const struct xl__group *group;
    const struct xl__limits *l;
    struct xl__str *out;
    unsigned vw;      /* width of element-level values now being written */
    unsigned indent;  /* levels of four spaces */
    unsigned depth;   /* calls of xl__emit_indices() whose names are in scope;
                         whoever closes the scope sets it back */
};

/* Comment that says what the kernel computes and touches, the settings and
 * the includes that its nodes need: the head of every text. */
void xl__emit_header(struct xl__emit *m, const char *what);
/* Settings and includes alone. */
void xl__emit_includes(struct xl__emit *m);
/* The kernel's parameters for all operands, loops and scalars, in lines with
 * commas between and none at the end, in the one order that xl__emit_args()
 * sets. */
void xl__emit_params(struct xl__emit *m);
void xl__emit_args(const struct xl__emit *m, const struct xl__schedule *s,
                   struct xl__step *step);
/* Arguments that xl__emit_args() sets. A plan with more than XL__MAX_ARGS is
 * XL_UNSUPPORTED. */
unsigned xl__emit_n_args(const struct xl__graph *g,
                         const struct xl__group *group);
/* `const IDX pK = oK + i0 * sK_0 ...` for each operand, of the loops
 * [first, last) with index names i0, i1, ...; with first > 0 on top of what
 * an outer call wrote. Adds 1 to depth. */
void xl__emit_indices(struct xl__emit *m, unsigned first, unsigned last);
/* The place of operand k: "p3", or what a later depth calls it. */
void xl__emit_index(const struct xl__emit *m, unsigned k, unsigned depth);
/* Load into the node's variable what the operand has at its place and `at`
 * (text): the index along the group's last loop. vw elements, or one for a
 * row value; with `count` (text, NULL: all), only so many are there, and the
 * last one fills the rest. An operand without memory, XL__AT_INDEX, is drawn
 * here: its node is RAND or RANDN. */
void xl__emit_load(struct xl__emit *m, unsigned operand, const char *at,
                   const char *count);
void xl__emit_store(struct xl__emit *m, unsigned operand, const char *at,
                    const char *count);
/* On CPUs: announce what will be read some turns after `at`, where neighbours
 * are read. Hardware alone does not look far enough ahead. */
void xl__emit_prefetch(struct xl__emit *m, unsigned operand, const char *at);
/* The operand that is read and gives this node; XL__EXPR_OPERANDS: none. */
unsigned xl__emit_operand_of(const struct xl__group *group, unsigned node);
/* `const float4 v7 = ...;` for a MAP-class node; nothing for constants and
 * scalars, which have no variable of their own. `width` 1 for row values. */
void xl__emit_node(struct xl__emit *m, unsigned node, unsigned width);
/* The C expression alone that stands for a node's variable at a width, e.g.
 * widened from a row value: "(float4)(v3)". */
void xl__emit_ref(struct xl__emit *m, unsigned node, unsigned width);
/* The same, converted to a type. */
void xl__emit_ref_as(struct xl__emit *m, unsigned node, unsigned width,
                     enum xl__vtype type);
/* "float", "int4": static. */
const char *xl__emit_type(enum xl__vtype type, unsigned width);
/* One line, indented. A line that opens a block, or closes one, does not
 * change the indentation. */
void xl__emit_line(struct xl__emit *m, const char *fmt, ...) XL__PRINTF(2, 3);
/* The indentation alone. */
void xl__emit_indent(struct xl__emit *m);
/* Is the node one value for a whole vector, a row's? Constants and scalars
 * are not, and no value of COLUMNS is. */
bool xl__emit_is_row(const struct xl__emit *m, unsigned node);
/* Does an index or a place of these loops need 64 bits? */
bool xl__emit_is_wide(const struct xl__group *group);

#endif
