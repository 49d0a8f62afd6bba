/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms with reductions share: which state a reduction keeps
 * (cl/expr/reduce.clh), which values a sweep needs, and the text of a
 * turn, in which an item takes a few vectors.
 *
 * Names in the text, by number of the node that a state belongs to: aN the
 * state as wide as vectors, rN that of a row; xN bN hN values of a turn's
 * vectors: loaded, to be reduced, held for later sweeps. */
#ifndef XL_EXPR_REDUCTIONS_H
#define XL_EXPR_REDUCTIONS_H

#include "expr/codegen/opencl.h"

/* One state of a kernel; reductions of the same elements may share it. */
struct xl__reduction_state {
    unsigned node, arg, sweep;
    const struct xl__accumulator *acc;
};

struct xl__accumulator {
    const char *name;      /* in expr/reduce.clh: "sumf" */
    enum xl__vtype type;   /* of what is folded */
    unsigned words;        /* 4 bytes each, of one reduction */
    bool needs_index;
    bool is_squared;       /* the argument is folded times itself */
};

/* A kernel in the making. */
struct xl__reduction_writer {
    struct xl__emit m;
    const struct xl__group *group;
    struct xl__reduction_state *state;
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

/* All zero before; xl__reduction_clear() after failures as well. */
xl_status xl__reduction_init(struct xl__reduction_writer *r, const struct xl__graph *g,
                            const struct xl__limits *l,
                            const struct xl__group *group,
                            struct xl__str *out);
void xl__reduction_clear(struct xl__reduction_writer *r);

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
void xl__states_write(struct xl__reduction_writer *r, unsigned s, const char *rule,
                     unsigned width);
void xl__state_kinds_write(struct xl__reduction_writer *r, const char *rule,
                      unsigned width);

/* -- sweeps ---------------------------------------------------------------- */

/* Mark what sweep s needs: is_needed. */
void xl__sweep_mark_needed(struct xl__reduction_writer *r, unsigned s);
/* The sweep from which on value i is in registers, now. */
static inline unsigned xl__held_from(const struct xl__reduction_writer *r, unsigned i)
{
    return r->is_single ? XL__NOT_HELD : r->held_from[i];
}
/* Does sweep s reduce anything; does it take in or write any element? */
bool xl__sweep_has_states(const struct xl__reduction_writer *r, unsigned s);
bool xl__sweep_is_idle(const struct xl__reduction_writer *r, unsigned s);
/* From now on values that more than one sweep needs are held: what is loaded,
 * and what is expensive. */
void xl__sweep_hold_values(struct xl__reduction_writer *r);

/* -- rows ------------------------------------------------------------------ */

/* Row values that are computed before sweep s: loads and arithmetic. */
void xl__row_values_write(struct xl__reduction_writer *r, unsigned s);
/* Results of sweep s from states rN. */
void xl__row_results_write(struct xl__reduction_writer *r, unsigned s);
/* Outputs of rows. */
bool xl__has_row_stores(const struct xl__reduction_writer *r);
void xl__row_stores_write(struct xl__reduction_writer *r);

/* `const IDX i0 = ..., i1 = ...` of loops [first, last) from their number. */
void xl__loop_indices_write(struct xl__reduction_writer *r, unsigned first, unsigned last,
                        const char *number);
/* "n2 * n3" of loops [first, last); "1" of none. */
void xl__loop_sizes_write(struct xl__reduction_writer *r, unsigned first, unsigned last);

/* -- launches --------------------------------------------------------------- */

/* XL_OK, or XL_UNSUPPORTED: with `more` arguments beside the operands' and so
 * much local memory it does not fit. */
xl_status xl__reduction_check(const struct xl__reduction_writer *r, unsigned more,
                          size_t local_bytes);
/* All of a step but what is special: text, kernel, size, operands. */
void xl__reduction_set_step(struct xl__reduction_writer *r, const struct xl__schedule *s,
                     struct xl__step *step, const char *kernel,
                     size_t n_groups);
/* A parameter of type IDX. */
void xl__reduction_arg_index(const struct xl__reduction_writer *r, struct xl__step *step,
                          size_t value);

/* -- states of chunks in scratch: a section for each state ----------------- */

/* Bytes for so many reductions in all, padding of vectors included. */
size_t xl__partial_bytes(const struct xl__graph *g,
                         const struct xl__group *group, size_t places);
/* Parameters: scratch, qN (where state N's section begins), and how the
 * reduced range is cut: chunks, each, each_one. */
void xl__partial_params(struct xl__reduction_writer *r);
void xl__partial_args(const struct xl__reduction_writer *r, struct xl__step *step,
                      size_t places, const size_t cut[3]);
unsigned xl__partial_n_args(const struct xl__reduction_writer *r);

#endif
