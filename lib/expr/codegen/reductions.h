/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms with reductions share: which state a reduction keeps
 * (cl/expr/reduce.clh), which values a sweep needs, and the text of a
 * turn, in which an item takes a few vectors.
 *
 * Names in the text, by number of the node that a state belongs to: aN the
 * state as wide as vectors, rN that of a row; xN bN hN values of a turn's
 * vectors: loaded, to be reduced, held for later sweeps. */
#ifndef XL_EXPR_REDUCE_H
#define XL_EXPR_REDUCE_H

#include "expr/codegen/opencl.h"

/* One state of a kernel; reductions of the same elements may share it. */
struct xl__state {
    unsigned node, arg, sweep;
    const struct xl__acc *acc;
};

struct xl__acc {
    const char *name;      /* in expr/reduce.clh: "sumf" */
    enum xl__vtype type;   /* of what is folded */
    unsigned words;        /* 4 bytes each, of one reduction */
    bool wants_place;
    bool is_squared;       /* the argument is folded times itself */
};

/* A kernel in the making. */
struct xl__reducing {
    struct xl__emit m;
    const struct xl__group *group;
    struct xl__state *state;
    unsigned n_states;
    unsigned char *is_needed; /* by value: of the sweep that is written */
    unsigned *held_from;      /* by value: kept in registers from this sweep
                                 on; XL__NOT_HELD */
    unsigned *held_until;     /* by value: the last sweep that uses it */
    bool is_single;           /* single elements now: nothing is held */
    unsigned n_kept, n_reduced; /* loops: kept ones before the reduced */
    /* Row values: where they lie along the last loop, how many there are of a
     * vector (NULL: all), and its width. */
    const char *row_at, *row_count;
    unsigned row_width;
};

enum { XL__NOT_HELD = ~0u >> 1 };

/* All zero before; xl__reducing_clear() after failures as well. */
xl_status xl__reducing_init(struct xl__reducing *r, const struct xl__graph *g,
                            const struct xl__limits *l,
                            const struct xl__group *group,
                            struct xl__str *out);
void xl__reducing_clear(struct xl__reducing *r);

/* For geometries: words of all states of one reduction each, and the most
 * element values that wait in registers from one sweep to the next. */
unsigned xl__state_words(const struct xl__graph *g,
                         const struct xl__group *group);
unsigned xl__held_values(const struct xl__graph *g,
                         const struct xl__group *group);

/* A line for each state of a sweep (or of all), or for each kind of state: a
 * rule in which $k is the kind's name ("sumf"), $f what its functions begin
 * with ("xl_sumf"), $s the state's number and $w the width. */
enum { XL__ALL_SWEEPS = ~0u >> 1 };
void xl__reduce_each(struct xl__reducing *r, unsigned s, const char *rule,
                     unsigned width);
void xl__reduce_kinds(struct xl__reducing *r, const char *rule,
                      unsigned width);

/* -- turns ----------------------------------------------------------------- */

/* Mark what sweep s needs: is_needed. */
void xl__reduce_need(struct xl__reducing *r, unsigned s);
/* The sweep from which on value i is in registers, now. */
static inline unsigned xl__held_from(const struct xl__reducing *r, unsigned i)
{
    return r->is_single ? XL__NOT_HELD : r->held_from[i];
}
/* Does sweep s reduce anything; does it take in or write any element? */
bool xl__reduce_has_states(const struct xl__reducing *r, unsigned s);
bool xl__reduce_is_idle(const struct xl__reducing *r, unsigned s);
/* From now on values that more than one sweep needs are held: what is loaded,
 * and what is expensive. */
void xl__reduce_hold(struct xl__reducing *r);
/* How many values does sweep s load anew? */
unsigned xl__reduce_loads(const struct xl__reducing *r, unsigned s);
/* Arrays of what is held, for n vectors and a scope around all sweeps. */
void xl__reduce_declare_held(struct xl__reducing *r, unsigned n);

enum { XL__FOLDED = 4 }; /* vectors that a fold takes at most */

/* How a turn is laid out. */
struct xl__turn {
    unsigned sweep;
    unsigned n;          /* vectors */
    const char *mine;    /* a variable: how many of n there are; NULL: all */
    unsigned block;      /* vectors at a time, at most XL__FOLDED: few registers
                            beside those held; 0: all */
    const char *count;   /* of a vector's elements; NULL: all */
    char into;           /* states: 'a' or 'r' */
    const char *which;   /* of an array of them: "[c]"; NULL: no array */
    const char *number;  /* of a vector's first element, for argmin */
    bool is_across;      /* a vector's elements all have that number */
    /* Write indices and places of vector `u` (text), and `at`. */
    void (*place)(struct xl__reducing *r, const char *u, const void *arg);
    const void *arg;
};
/* Loads of n vectors, arithmetic, stores, and folds into the states. */
void xl__reduce_turn(struct xl__reducing *r, const struct xl__turn *t);

/* -- rows ------------------------------------------------------------------ */

/* Row values that are computed before sweep s: loads and arithmetic. */
void xl__reduce_row_values(struct xl__reducing *r, unsigned s);
/* Results of sweep s from states rN. */
void xl__reduce_results(struct xl__reducing *r, unsigned s);
/* Outputs of rows. */
bool xl__reduce_has_row_stores(const struct xl__reducing *r);
void xl__reduce_row_stores(struct xl__reducing *r);
/* Does an operand have one element for each row? */
bool xl__operand_is_of_rows(const struct xl__group *group,
                            const struct xl__operand *o);

/* `const IDX i0 = ..., i1 = ...` of loops [first, last) from their number. */
void xl__reduce_indices(struct xl__reducing *r, unsigned first, unsigned last,
                        const char *number);
/* "n2 * n3" of loops [first, last); "1" of none. */
void xl__reduce_sizes(struct xl__reducing *r, unsigned first, unsigned last);

#endif
