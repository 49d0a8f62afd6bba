/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C text for nodes and operands, shared by all forms: what happens to
 * one element or vector. Which item processes which elements is in the
 * skeleton of the form's kernel, a file of cl/expr, which names what is
 * written here by macros.
 *
 * Names in the generated text, by number of operand K, loop L and node N:
 *   mK    the operand's memory            vN    the node's value
 *   oK    its offset, in elements         nL    the loop's size
 *   sK_L  its stride along loop L         iL    the loop's index
 *   pK    its element index, relative to oK
 * A stride that is 0, or 1 along the last loop, has no parameter: these are
 * written as constants, so they belong to the kernel's structure.
 *
 * A value is a float, an int or a bool, and of width 1 or vw; in a graph that
 * is_double or is_long, a double or a long, and of width 1. A bool is 0 or 1
 * in a scalar and 0 or -1 in a vector, as OpenCL's comparisons give it.
 * cl/expr/expr.clh has the functions that OpenCL C lacks; their names begin
 * with xl_ and end in the width. */
#ifndef XL_EXPR_OPENCL_H
#define XL_EXPR_OPENCL_H

#include "expr/codegen/forms.h"

/* A kernel while it is written. */
struct xl__emit {
    const struct xl__graph *g;
    const struct xl__group *group;
    const struct xl__limits *l;
    struct xl__str *out;
    unsigned vw;     /* width of element values that are being written */
    unsigned indent; /* levels of four blanks */
    unsigned depth;  /* xl__emit_indices() calls whose names are in scope; who
                        closes the scope restores it */
};

/* -- lines ---------------------------------------------------------------- */

/* Write one line, indented. A line that opens or closes a block does not
 * change the indentation. */
void xl__emit_line(struct xl__emit *m, const char *fmt, ...) XL__PRINTF(2, 3);
/* Write the indentation alone. */
void xl__emit_indent(struct xl__emit *m);
/* Write `#define NAME` with what `body` writes, as one macro of several lines;
 * the skeletons of cl/expr name these macros. */
void xl__emit_macro(struct xl__emit *m, const char *name,
                    void (*body)(struct xl__emit *m));
/* The name of a type, such as "float", "double" or "int4"; static. */
const char *xl__emit_type(const struct xl__graph *g, enum xl__vtype type,
                          unsigned width);

/* -- head, parameters, arguments ------------------------------------------ */

/* Write the head of the text: a comment that begins with `what` and lists the
 * operands, the settings XL_WIDE and XL_VW, and the includes. */
void xl__emit_header(struct xl__emit *m, const char *what);
/* Write only the includes that the group's nodes need, and their settings. */
void xl__emit_includes(struct xl__emit *m);
/* Write the parameters for all operands, loops and scalars, separated by
 * commas, with none at the end. */
void xl__emit_params(struct xl__emit *m);
/* How many there are. A kernel with more than
 * XL__MAX_ARGS in all is XL_UNSUPPORTED. */
unsigned xl__emit_n_args(const struct xl__graph *g,
                         const struct xl__group *group);
/* Append an argument of type IDX: 64 bits if geo.is_wide, otherwise 32. */
void xl__emit_arg_index(const struct xl__group *group, struct xl__step *step,
                        size_t value);
/* Set the text, which m->out is, the name of the kernel (static), a launch of
 * n_groups work-groups, and the arguments for these
 * parameters, in the same order. */
void xl__emit_step(const struct xl__emit *m, const struct xl__schedule *s,
                   struct xl__step *step, const char *kernel, size_t n_groups);

/* -- indices, loads, stores ----------------------------------------------- */

/* Write `const IDX pK = i0 * sK_0 + ...` for each operand, over the loops
 * [first, last). Calls nest: an inner call, first > 0, adds to the index that
 * the outer call wrote. Adds 1 to depth. */
void xl__emit_indices(struct xl__emit *m, unsigned first, unsigned last);
/* Write the load of an operand into the variable of its node. `at` (text) is
 * the index along the group's last loop. The load has vw elements, or one for
 * a row value; with `count` (text; NULL: all) only so many exist, and the last
 * one fills the rest. For an operand without memory (XL__AT_INDEX) the
 * random numbers or indices are computed. */
void xl__emit_load(struct xl__emit *m, unsigned operand, const char *at,
                   const char *count);
/* Write the gather from an operand into the variable of its node, likewise;
 * the index has its variable. */
void xl__emit_gather(struct xl__emit *m, unsigned operand, const char *at,
                     const char *count);
/* Write the store of a node's value to a written operand, likewise. */
void xl__emit_store(struct xl__emit *m, unsigned operand, const char *at,
                    const char *count);
/* Write a prefetch of what the operand's later iterations read, 4 KiB behind
 * `at`, if it is contiguous along the last loop. For CPUs. */
void xl__emit_prefetch(struct xl__emit *m, unsigned operand, const char *at);
/* Write a prefetch of the operand's next row, if rows differ and are
 * contiguous along the last loop; n_kept loops are outside a row. Vectors `at`
 * of a sweep prefetch the given one of `parts` equal parts. For CPUs. */
void xl__emit_ahead(struct xl__emit *m, unsigned operand, unsigned n_kept,
                    unsigned part, unsigned parts);
/* The operand from which a node is loaded; XL__EXPR_OPERANDS: none. */
unsigned xl__emit_operand_of(const struct xl__group *group, unsigned node);

/* -- nodes ---------------------------------------------------------------- */

/* Write `const float4 v7 = ...;` for a node of class MAP; nothing for
 * constants and scalars, which have no variable of their own. width: 1 for row
 * values. */
void xl__emit_node(struct xl__emit *m, unsigned node, unsigned width);
/* Append the expression that gives a node's value at a width, converted to a
 * type: its variable, a constant, or a row value that is broadcast, as in
 * "(float4)(v3)". */
void xl__emit_ref_as(struct xl__emit *m, unsigned node, unsigned width,
                     enum xl__vtype type);
/* Does an index over the group's loops, or into an operand, need 64 bits? */
bool xl__emit_is_wide(const struct xl__group *group);

#endif
