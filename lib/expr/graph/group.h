/* SPDX-License-Identifier: Apache-2.0 */
/* What one kernel (or two) computes: a group of nodes over one nest of loops,
 * the memory it touches, and its geometry on a device. Made by fuse.c; turned
 * into OpenCL C and launches by form_map.c, form_rows.c, form_columns.c and
 * form_pieces.c; run on the host by eval.c. All of it is plain data, made with no device at hand.
 *
 * The text of a kernel depends on the nodes, the operands' types and classes
 * of strides and alignments, and the geometry; never on sizes, strides or
 * offsets, which are arguments. So the small case of the self-check and other
 * shapes of the same structure take the very same program. */
#ifndef XL_EXPR_GROUP_H
#define XL_EXPR_GROUP_H

#include "device/facts.h"
#include "expr/graph/graph.h"

enum {
    XL__EXPR_LOOPS = XL_MAX_DIMS,
    XL__EXPR_OPERANDS = 24, /* of one group: leaves room for arguments */
    XL__EXPR_MAX_VW = 16
};

enum xl__form {
    XL__FORM_MAP,     /* each element by itself; one launch */
    XL__FORM_ROWS,    /* each row by `lanes` items that sweep over it as often
                         as reductions depend on each other; one launch */
    XL__FORM_COLUMNS, /* reduced loops outside, a kept contiguous one inside;
                         one sweep; a second launch joins chunks, if any */
    XL__FORM_PIECES   /* few long rows: chunks in one launch, joined by a
                         second; one sweep */
};

enum xl__place {
    XL__AT_BINDING, /* memory slot and value slot 1 + index */
    XL__AT_TEMP,    /* scratch, from byte xl__schedule.temp[index].offset */
    XL__AT_INDEX    /* no memory: `stride`s count the element's place in the
                       node's own shape, for RAND and RANDN */
};

struct xl__operand {
    enum xl__place at;
    unsigned index;
    xl_dtype dtype;
    bool is_written;
    unsigned node;    /* what is loaded, or stored */
    size_t offset;    /* elements, on top of the binding's own */
    size_t stride[XL__EXPR_LOOPS]; /* elements, per loop of the group; 0 where
                                      the loop's size is 1 */
    unsigned align;   /* elements: largest power of two, at most 16, that
                         divides every place the innermost loop begins at */
    unsigned sweep;   /* of elements written: the sweep that stores them. At
                         or after the value's own, and after the last sweep
                         that reads what is overwritten */
};

/* Kept loops first, outermost first, then reduced ones, except for COLUMNS:
 * reduced ones come before the last kept one. Neighbours that all operands
 * walk alike are one loop (loops.c). A group has at least one loop. */
struct xl__loop {
    size_t size;
    bool is_reduced;
};

/* A node that is computed here. Sweep: an element-level value can be computed
 * from sweep `sweep` on, a reduction accumulates in it, and a row-level value
 * is computed before it (sweep == n_sweeps: after the last). */
struct xl__value {
    unsigned node;
    unsigned sweep;
    bool is_row;      /* one per row: depends on kept loops alone. Reductions
                         and what follows from them; loads and arithmetic that
                         only kept loops vary */
};

/* Tunables of a kernel; what is 0 does not concern the form. */
struct xl__geometry {
    unsigned vw;      /* elements of a vector, along the innermost loop */
    unsigned wg;      /* items of a work-group; 1 on CPUs */
    unsigned lanes;   /* ROWS: items to a row. COLUMNS: items down a column */
    unsigned joiners; /* COLUMNS: items to a column when chunks are joined */
    unsigned held;    /* ROWS: vectors an item keeps in registers from sweep
                         to sweep; 0: sweeps read again. COLUMNS: vectors side
                         by side that an item owns */
    unsigned unroll;  /* vectors to an item and turn */
    unsigned tile;    /* MAP: elements along both sides of a tile in which
                         operands are turned; 0: none are */
    unsigned across;  /* the loop beside the last that a tile lies along */
    size_t chunks;    /* PIECES, COLUMNS: parts of the reduced range */
    size_t turns;     /* on CPUs; MAP: vectors, or tiles, to a work-group.
                         ROWS: rows */
    bool is_wide;     /* indices need 64 bits */
    bool is_streamed; /* results pass by the caches, which they overflow */
};

struct xl__group {
    enum xl__form form;
    unsigned n_loops;
    struct xl__loop loop[XL__EXPR_LOOPS];
    unsigned n_operands;
    struct xl__operand operand[XL__EXPR_OPERANDS];
    struct xl__value *value; /* in an order that can be computed */
    unsigned n_values;
    unsigned n_sweeps;       /* 1 of MAP */
    struct xl__geometry geo;
    double flop, bytes;      /* bytes: each operand once, in its own shape */
    double est_ns;
    const char *bound;       /* static */
    size_t partial_bytes;    /* scratch for chunks' results; from byte
                                partial_offset of the scratch */
    size_t partial_offset;
    struct xl__str why;      /* for people: what was decided and by what
                                numbers */
};

struct xl__temp {
    unsigned node;
    xl_dtype dtype;
    size_t offset, bytes;    /* in scratch; those not alive together share */
};

struct xl__schedule {
    struct xl__group *group;
    unsigned n_groups;
    size_t cap_groups;
    struct xl__temp *temp;
    unsigned n_temps;
    size_t cap_temps;
    size_t scratch_bytes;
    double flop, bytes, est_ns;
};

/* spread.c: a copy in which variances of short rows are two sweeps. Errors:
 * XL_NO_MEMORY, also where it would have too many nodes. Clear it whatever the
 * status. */
xl_status xl__graph_spread(const struct xl__graph *from,
                           const struct xl__limits *l, struct xl__graph *out);

void xl__schedule_clear(struct xl__schedule *s);

/* loops.c: drop loops of size 1, join neighbours, order MAP's loops so that
 * writes are contiguous, fill in align. */
void xl__loops_settle(const struct xl__signature *s, struct xl__group *g);

/* Which form suits such a nest here: kept elements, reduced elements, and
 * whether the innermost loop of most operands is a reduced one. */
enum xl__form xl__form_choose(const struct xl__limits *l, double kept,
                              double reduced, bool reduced_inside);

/* group.c: set est_ns and bound of a group from its flop and bytes: the slower
 * of the two at the device's rates, of which it reaches `fill` (0..1), and the
 * launches. */
void xl__group_estimate(const struct xl__limits *l, double fill,
                        unsigned launches, struct xl__group *group);
/* What a launch costs here, in ns: measured, else a guess. */
double xl__launch_ns(const struct xl__limits *l);

#endif
