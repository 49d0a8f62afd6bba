/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a turn. */
#ifndef XL_EXPR_SWEEP_STEP_H
#define XL_EXPR_SWEEP_STEP_H

#include "expr/codegen/reductions.h"

enum { XL__FOLDED = 4 }; /* vectors that a fold takes at most */

/* How a turn is laid out. */
struct xl__sweep_step {
    unsigned sweep;
    unsigned n;          /* vectors */
    const char *limit;    /* a variable: how many of n there are; NULL: all */
    unsigned block;      /* vectors at a time, at most XL__FOLDED: few registers
                            beside those held; 0: all */
    const char *count;   /* of a vector's elements; NULL: all */
    char state_prefix;           /* states: 'a' or 'r' */
    const char *subscript;   /* of an array of them: "[c]"; NULL: no array */
    const char *first_index;  /* of a vector's first element, for argmin */
    bool is_column;      /* a vector's elements all have that number */
    /* Write indices and places of vector `u` (text), and `at`. */
    void (*write_position)(struct xl__reduction_writer *r, const char *u, const void *arg);
    const void *arg;
};
/* Loads of n vectors, arithmetic, stores, and folds into the states. */
void xl__sweep_write_step(struct xl__reduction_writer *r, const struct xl__sweep_step *t);

/* How many values does sweep s load anew? */
unsigned xl__sweep_n_loads(const struct xl__reduction_writer *r, unsigned s);
/* Arrays of what is held, for n vectors and a scope around all sweeps. */
void xl__sweep_declare_held(struct xl__reduction_writer *r, unsigned n);

#endif
