/* SPDX-License-Identifier: Apache-2.0 */
/* A group: what one kernel, or two, computes. It consists of the nodes to
 * compute, one nest of loops over them, the operands in memory, and the
 * geometry of the kernel on a device. All of it is plain data.
 *
 *     fuse/       makes the groups of a graph (a schedule)
 *     codegen/    writes the OpenCL C and the launches of a group
 *     group_eval  computes a group on the host
 *
 * The text of a kernel depends on the nodes, on the operands' types, on the
 * classes of their strides and alignments, and on the geometry. Sizes, strides
 * and offsets are kernel arguments. So a group of another shape with the same
 * structure has the same program; the self-check (lib/ops/expression) uses
 * that. */
#ifndef XL_EXPR_GROUP_H
#define XL_EXPR_GROUP_H

#include "device/facts.h"
#include "expr/graph/graph.h"

enum {
    XL__EXPR_LOOPS = XL_MAX_DIMS,
    XL__EXPR_OPERANDS = 24, /* operands of a group: leaves room for its other
                               kernel arguments */
    XL__EXPR_MAX_VW = 16
};

enum xl__form {
    XL__FORM_MAP,     /* by element; one launch */
    XL__FORM_ROWS,    /* each row by `lanes` work-items, in one sweep over the
                         row for each level of reductions that depend on each
                         other; one launch */
    XL__FORM_COLUMNS, /* reduced loops outside, a contiguous kept loop inside;
                         one sweep; a second launch joins chunks, if there are
                         any */
    XL__FORM_CHUNKS   /* few long rows: the chunks of a row in one launch,
                         joined by a second one; one sweep */
};

enum xl__memory_kind {
    XL__AT_BINDING, /* memory slot and value slot 1 + index of the call */
    XL__AT_TEMP,    /* scratch, from byte xl__schedule.temp[index].offset */
    XL__AT_INDEX    /* no memory: the strides give the element's index in the
                       node's own shape, which RAND and RANDN take, or along
                       the axis of INDEX */
};

struct xl__operand {
    enum xl__memory_kind at;
    unsigned index;
    xl_dtype dtype;
    bool is_written;
    unsigned node;                 /* the node that is loaded or stored */
    size_t offset;                 /* elements, in addition to the binding's
                                      own offset */
    size_t stride[XL__EXPR_LOOPS]; /* elements, by loop of the group; 0 where
                                      the loop's size is 1; a negative one,
                                      of an operand that is read, is modulo
                                      2^64, and geo.is_wide */
    size_t gather_size; /* of a GATHER's source along its axis, and the stride
                           there; 0: no source. Its node is computed by the
                           group, in the form MAP, from an index */
    size_t gather_stride;
    unsigned
        align;      /* elements: the largest power of two, at most 16, that
                       divides every index at which the innermost loop begins */
    unsigned sweep; /* of a written operand: the sweep that stores it, at or
                       after that of the value, and after the last sweep that
                       reads what is overwritten */
};

/* One loop. Kept loops come first, outermost first, then the reduced ones; in
 * the COLUMNS form the reduced ones come before the last kept one.
 * Neighbouring loops with proportional strides in all operands are joined
 * (loops.h). A group has at least one loop. */
struct xl__loop {
    size_t size;
    bool is_reduced;
};

/* A node that the group computes. An element-level value can be computed from
 * sweep `sweep` on; a reduction accumulates in it; a row-level value is
 * computed before it (sweep == n_sweeps: after the last one). */
struct xl__value {
    unsigned node;
    unsigned sweep;
    bool is_row; /* one value per row, since it depends only on kept loops:
                    reductions and what follows from them, and loads and
                    arithmetic that only kept loops vary */
};

/* Tunables of a kernel; 0 where the form does not have one. Items are
 * work-items. */
struct xl__geometry {
    unsigned vw;      /* elements of a vector, along the innermost loop */
    unsigned wg;      /* items of a work-group; 1 on CPUs */
    unsigned lanes;   /* ROWS: items of a row. COLUMNS: items of a column */
    unsigned joiners; /* COLUMNS: items of a column when chunks are joined */
    unsigned held;    /* ROWS: vectors that an item keeps in registers from
                         sweep to sweep; 0: every sweep reads memory. COLUMNS:
                         neighbouring vectors of an item */
    bool is_kept;     /* ROWS, on CPUs: costly values of a row stay in private
                         memory, its caches, from sweep to sweep */
    unsigned unroll;  /* vectors of an item in one iteration */
    unsigned tile;    /* MAP: width and height, in elements, of a tile in which
                         operands are transposed; 0: none */
    unsigned across;  /* MAP: the loop that with the last one spans a tile */
    size_t chunks;    /* CHUNKS, COLUMNS: chunks of the reduced range */
    size_t per_wg;    /* on CPUs, of a work-group. MAP: vectors, or tiles;
                         ROWS: rows */
    bool is_wide;     /* indices need 64 bits */
    bool is_streamed; /* results are stored with non-temporal access, since
                         they exceed the caches */
};

struct xl__group {
    enum xl__form form;
    unsigned n_loops;
    struct xl__loop loop[XL__EXPR_LOOPS];
    unsigned n_operands;
    struct xl__operand operand[XL__EXPR_OPERANDS];
    struct xl__value *value; /* in topological order */
    unsigned n_values;
    unsigned n_sweeps; /* 1 in the MAP form */
    struct xl__geometry geo;
    double flop, bytes; /* bytes: each operand once, in its own shape */
    double est_ns;
    const char *bound;    /* what limits it: "launch", "fma" or "memory" */
    size_t partial_bytes; /* scratch for the chunks' results, from byte
                             partial_offset */
    size_t partial_offset;
    unsigned n_operations;
    size_t extent[XL_MAX_DIMS]; /* its index space before loops are joined;
                                   leading dimensions may be 1 */
    struct xl__str why; /* decisions of fusion, with the numbers behind them */
};

struct xl__temp {
    unsigned node;
    xl_dtype dtype;
    size_t offset, bytes; /* in scratch; temporaries whose lifetimes are
                             disjoint share bytes */
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

/* Elements of an operand that are in memory before its offset: those along
 * negative strides. */
static inline size_t xl__operand_before(const struct xl__group *group,
                                        const struct xl__operand *o)
{
    size_t n = 0;
    for (unsigned d = 0; d < group->n_loops; d++)
        if (o->stride[d] > SIZE_MAX / 2)
            n += (group->loop[d].size - 1) * (0 - o->stride[d]);
    if (o->gather_stride > SIZE_MAX / 2)
        n += (o->gather_size - 1) * (0 - o->gather_stride);
    return n;
}

/* Elements of an operand from the first one in memory to the last one. */
static inline size_t xl__operand_span(const struct xl__group *group,
                                      const struct xl__operand *o)
{
    size_t last = 0;
    for (unsigned d = 0; d < group->n_loops; d++)
        last += (group->loop[d].size - 1) * xl__stride_length(o->stride[d]);
    if (o->gather_size > 0)
        last += (o->gather_size - 1) * xl__stride_length(o->gather_stride);
    return last + 1;
}

/* Frees what the schedule owns; it is empty then. */
void xl__schedule_clear(struct xl__schedule *s);

/* Flop that a group computes per second at most. */
double xl__group_rate(const struct xl__limits *l);
/* Sets est_ns and bound of a group from its flop and bytes by the time model,
 * at the device's rates, of which it reaches the fraction `fill`. */
void xl__group_estimate(const struct xl__limits *l, double fill,
                        unsigned launches, struct xl__group *group);

#endif
