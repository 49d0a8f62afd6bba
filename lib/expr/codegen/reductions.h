/* SPDX-License-Identifier: Apache-2.0 */
/* What the three forms with reductions (rows, columns, chunks) share: which
 * states a kernel accumulates, which values each sweep needs, launches, and
 * partial results in scratch.
 *
 * A reduction accumulates a state (cl/expr/reduce.clh): it starts as none(),
 * fold() adds vectors, merge() joins two states, of() gives the result. A row
 * is swept as often as reductions depend on each other: softmax needs the
 * maximum, then the sum of exp(x - max), then writes. */
#ifndef XL_EXPR_REDUCTIONS_H
#define XL_EXPR_REDUCTIONS_H

#include "expr/codegen/opencl.h"

/* A kind of state in expr/reduce.clh. */
struct xl__accumulator {
    const char *name;    /* "sumf": functions are xl_sumf_fold_4() ... */
    enum xl__vtype type; /* of the elements that are folded */
    unsigned words;      /* size of a state of width 1, in floats */
    bool needs_index;    /* argmin, argmax: elements come with their index */
};

/* One state of a kernel. Reductions of the same argument may share a state:
 * mean() uses that of var(). */
struct xl__reduction_state {
    unsigned node; /* the first reduction that uses it; names the state */
    unsigned arg;  /* the node whose elements are folded */
    unsigned sweep;
    const struct xl__accumulator *acc;
};

/* How a kernel uses a node of the graph. */
struct xl__node_use {
    bool is_element;     /* the group has its value for each element */
    bool is_load;        /* an operand that is read has it */
    bool is_needed;      /* the sweep being written needs its elements */
    unsigned held_from;  /* in registers from this sweep on, or XL__NOT_HELD */
    unsigned held_until; /* the last sweep that uses it */
};

/* A reduction kernel while it is written. */
struct xl__reduction_writer {
    struct xl__emit m;
    const struct xl__group *group;
    struct xl__reduction_state *state;
    unsigned n_states;
    struct xl__node_use *use;   /* by node of the graph */
    unsigned n_kept, n_reduced; /* kept loops before the reduced ones; reduced
                                   loops */
    /* While a macro is written (reduction_element.c): */
    unsigned sweep;     /* to which it belongs */
    const char *count;  /* a variable: how many elements of the vector exist;
                           NULL: all */
    bool is_row_held;   /* vectors stay in registers (with geo.is_kept: costly
                           ones in memory) from sweep to sweep, */
    bool is_single;     /* but not the single elements being written */
    const char *row_at; /* values of rows: index along the last loop, */
    unsigned row_width; /* and width */
};

enum {
    XL__NOT_HELD = ~0u >> 1,
    XL__KEPT_ELEMS = 1 << 14 /* of a row with geo.is_kept, at most */
};

/* Find the states of a group and prepare the writer; `out` and `l` may be NULL
 * if nothing is written. Call xl__reduction_clear() whatever the status.
 * XL_NO_MEMORY. */
xl_status xl__reduction_init(struct xl__reduction_writer *r,
                             const struct xl__graph *g,
                             const struct xl__limits *l,
                             const struct xl__group *group,
                             struct xl__str *out);
void xl__reduction_clear(struct xl__reduction_writer *r);

/* For the choice of a geometry: words (4 bytes) of all states of width 1, and
 * the largest number of element values that are in registers from one sweep to
 * the next (XL__NOT_HELD if memory runs out). */
unsigned xl__state_words(const struct xl__graph *g,
                         const struct xl__group *group);
/* Words of the state of width 1 of one reduction, by its node. */
unsigned xl__reduction_words(const struct xl__graph *g, unsigned node);
unsigned xl__held_values(const struct xl__graph *g,
                         const struct xl__group *group);
/* Values that are held in any sweep (XL__NOT_HELD if memory runs out). */
unsigned xl__kept_values(const struct xl__graph *g,
                         const struct xl__group *group);

enum { XL__ALL_SWEEPS = ~0u >> 1 };

/* -- what a sweep needs --------------------------------------------------- */

/* Set is_needed for sweep s: what its states fold and its stores write, and
 * the arguments of these down to loads and held values. */
void xl__sweep_mark_needed(struct xl__reduction_writer *r, unsigned s);
/* The sweep from which on a node is held at this point of the text. */
static inline unsigned xl__held_from(const struct xl__reduction_writer *r,
                                     unsigned node)
{
    return r->is_single ? XL__NOT_HELD : r->use[node].held_from;
}
/* Does sweep s accumulate any state? */
bool xl__sweep_has_states(const struct xl__reduction_writer *r, unsigned s);
/* Does sweep s neither accumulate a state nor store elements? */
bool xl__sweep_is_idle(const struct xl__reduction_writer *r, unsigned s);
/* Choose the values that stay in registers between sweeps: loads and costly
 * values that more than one sweep needs; with geo.is_kept no loads, which are
 * in a cache as they are. Sets held_from and held_until. */
void xl__sweep_hold_values(struct xl__reduction_writer *r);

/* The name in cl/expr/states.clh of the result that a value of the group is,
 * and the state that it is a result of; NULL: it is not one. */
const char *xl__reduction_result(const struct xl__reduction_writer *r,
                                 const struct xl__value *v,
                                 const struct xl__reduction_state **state);

/* -- launches ------------------------------------------------------------- */

/* One launch of a group's kernel. */
struct xl__reduction_launch {
    const char *kernel; /* static */
    const char *file;   /* of cl/expr, without ".cl" */
    bool is_join;       /* joins chunks */
    size_t n_groups;
    size_t n_local;    /* states of width 1 in local memory, of each state of
                          the kernel */
    size_t n_partials; /* in scratch, of each state; 0: none */
    /* The last arguments, of type IDX; with n_partials these are, with scratch
     * before them, XL_SCRATCH_PARAMS of cl/expr/states.clh: how the reduced
     * range is cut, chunks, each and each_one. */
    unsigned n_index;
    size_t index[3];
};

/* Append the launch as a step of the plan, and its text unless *code has it.
 * XL_UNSUPPORTED: more arguments or local memory than there can be;
 * XL_NO_MEMORY. */
xl_status xl__reduction_plan(const struct xl__graph *g,
                             const struct xl__limits *l,
                             const struct xl__group *group,
                             const struct xl__schedule *s,
                             struct xl__code *code, struct xl__plan *plan,
                             const struct xl__reduction_launch *how);
/* The n_local with which the lanes of a work-group's rows join (ROWS, CHUNKS).
 */
size_t xl__lanes_room(const struct xl__geometry *geo);
/* Where a reduction is cut into chunks, a first kernel writes the state of
 * each chunk to scratch, and a second one joins them. Scratch has one section
 * for each state, an array of n_partials states. The bytes of all sections: */
size_t xl__partial_bytes(const struct xl__graph *g,
                         const struct xl__group *group, size_t n_partials);

#endif
