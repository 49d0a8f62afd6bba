/* SPDX-License-Identifier: Apache-2.0 */
/* The text of one step of a sweep, in which an item processes n vectors:
 * loads, arithmetic, stores, and the fold of the vectors into the states. */
#ifndef XL_EXPR_SWEEP_STEP_H
#define XL_EXPR_SWEEP_STEP_H

#include "expr/codegen/reductions.h"

enum { XL__FOLDED = 4 }; /* vectors that one call of a fold takes at most */

/* What a step processes, and the names that its text uses. */
struct xl__sweep_step {
    unsigned sweep;
    unsigned n;            /* vectors */
    const char *limit;     /* a variable: the number of vectors that exist, at
                              most n; NULL: all n */
    unsigned block;        /* vectors that are loaded together, at most
                              XL__FOLDED, to save registers; 0: all n */
    const char *count;     /* a variable: the number of elements of a vector
                              that exist; NULL: all */
    char state_prefix;     /* 'a' or 'r': the states that are folded into */
    const char *subscript; /* states are arrays: "[c]"; NULL: they are not */
    const char *first_index; /* the index of a vector's first element along the
                                reduced range, for argmin and argmax */
    bool is_column;          /* all elements of a vector have that index */
    /* Write the indices of vector `u` (text), and the variable `at`, its index
     * along the last loop. */
    void (*write_position)(struct xl__reduction_writer *r, const char *u,
                           const void *arg);
    const void *arg;
};

/* Write a step. xl__sweep_mark_needed() has been called for its sweep. */
void xl__sweep_write_step(struct xl__reduction_writer *r,
                          const struct xl__sweep_step *t);

/* How many values does sweep s load from memory, by is_needed? */
unsigned xl__sweep_n_loads(const struct xl__reduction_writer *r, unsigned s);
/* Declare the arrays hN of held values, with room for n vectors. They belong
 * in the scope around all sweeps. */
void xl__sweep_declare_held(struct xl__reduction_writer *r, unsigned n);

#endif
