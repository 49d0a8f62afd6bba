/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion: a graph becomes a schedule of groups, each of which is one kernel or
 * two. xl__fuse() is the entry; the rest of this header is shared by the files
 * of this folder.
 *
 * A cluster is a group that is being built: a domain (the index space that its
 * kernel goes over) and its sinks (the nodes that it stores). What it computes
 * follows from its sinks: all nodes below them, down to what is in memory at
 * that time. So a value may be computed in several clusters, and the only
 * decision is what is stored. */
#ifndef XL_EXPR_FUSE_H
#define XL_EXPR_FUSE_H

#include <limits.h>
#include <stdint.h>

#include "base/alloc.h"
#include "expr/graph/group.h"

/* -- entry ---------------------------------------------------------------- */

/* Make the schedule of a graph. `unfused`: one group for each operation.
 * Temporaries have the types f32, i32 and bool. Clear *out with
 * xl__schedule_clear() if XL_OK; otherwise it is empty. XL_UNSUPPORTED: one
 * operation has more operands than a kernel; XL_NO_MEMORY; XL_OVERFLOW. */
xl_status xl__fuse(const struct xl__graph *g, const struct xl__signature *s,
                   const struct xl__limits *l, bool unfused,
                   struct xl__schedule *out, struct xl__error *e);

/* -- data ----------------------------------------------------------------- */

/* "None" or "not yet", for numbers of clusters, nodes, outputs, temporaries.
 */
enum { XL__NEVER = UINT_MAX };

/* Operations in the text of a kernel, at most; budget.c counts them. A kernel
 * of so many is compiled in 2 to 3 s by PoCL 3.1 on one core. */
enum { XL__KERNEL_OPERATIONS = 384 };

/* A shape with XL_MAX_DIMS dimensions, aligned at the last one as in
 * broadcasting; leading dimensions that a tensor does not have are of size 1.
 */
struct xl__extent {
    size_t size[XL_MAX_DIMS];
};

/* The index space of a group. `reduced`: bit d is set if dimension d of `all`
 * is reduced and not of size 1. The domain of a reduction has at least one
 * such bit: graph/algebra.c removes reductions of single elements. */
struct xl__domain {
    struct xl__extent all;
    unsigned reduced;
};

/* Memory by the indices of an extent: element offset + sum of i[d] stride[d].
 * In elements. */
struct xl__view {
    size_t offset;
    struct xl__extent extent;
    size_t stride[XL_MAX_DIMS]; /* 0 where the size is 1 */
};

/* A node that a cluster stores. */
struct xl__sink {
    unsigned node;
    unsigned output;  /* of the graph; XL__NEVER: a temporary */
    bool is_kept;     /* later clusters read it */
    bool is_detoured; /* stored in a temporary, and copied to the output when
                         everything has been read */
    unsigned temp;    /* number of the temporary; XL__NEVER: none yet */
    struct xl__extent extent; /* of what is stored */
};

struct xl__cluster {
    enum xl__form form;
    struct xl__domain domain;
    struct xl__sink *sink;
    unsigned n_sinks;
    size_t cap_sinks;
    bool is_copy; /* the cluster only copies the detoured sink `from` */
    struct xl__sink from;
    struct xl__str why; /* decisions, with the numbers behind them */
};

/* What fusion notes about a node. */
struct xl__mark {
    struct xl__extent extent;
    double elems;
    unsigned stored_in;  /* the cluster after which it is in memory */
    unsigned reduced_in; /* the cluster that computes it, of a reduction */
    bool is_scalar;      /* computed from numbers and scalars only */
    bool is_viewed;      /* a VIEW reads it, so it is stored */

    /* About the current cluster: */
    bool is_needed;      /* xl__cluster_close(): computed or loaded by it */
    bool is_mine;        /* depends on a reduction of the cluster */
    bool is_row;         /* one value a row */
    bool is_used_later;  /* xl__cluster_keep(): later clusters need it */
    bool is_broadcast;   /* hoisting: a node with more elements uses it */
    bool is_below;       /* xl__mark_below(); also scratch of one function */
    unsigned char state; /* growth: XL__FREE, XL__MINE or XL__OTHERS */
    uint64_t loads;      /* growth: the set of large memory that it reads */
    unsigned sweep, last_read; /* of a group: schedule.c */
};

/* State of one call of xl__fuse(). */
struct xl__fusion {
    const struct xl__graph *g;
    const struct xl__signature *s;
    const struct xl__limits *l;
    struct xl__mark *mark; /* by node */
    struct xl__cluster *cluster;
    unsigned n_clusters;
    size_t cap_clusters;
    unsigned output_in[XL_EXPR_MAX_BINDINGS]; /* cluster that stores the
                                                 output, or XL__NEVER */
    bool can_read_back[XL_EXPR_MAX_BINDINGS]; /* the output holds its node's
                                                 exact value until the end */
    struct xl__schedule *out;
    struct xl__error *error;
};

/* -- extents, domains, views (fuse.c) ------------------------------------- */

struct xl__extent xl__extent_of(const struct xl__shape *shape);
double xl__extent_elems(const struct xl__extent *x);
bool xl__extent_equal(const struct xl__extent *a, const struct xl__extent *b);
/* The extent of a domain after its reduction. */
struct xl__extent xl__domain_rows(const struct xl__domain *d);
/* The domain of a reduction: its argument's extent and its axes. */
struct xl__domain xl__domain_of(const struct xl__fusion *f,
                                unsigned reduction);

struct xl__view xl__view_input(const struct xl__node *n);
/* Of a node that is loaded; of a VIEW, in its argument's memory. */
struct xl__view xl__view_loaded(const struct xl__fusion *f, unsigned n);
struct xl__view xl__view_output(const struct xl__output *o);
struct xl__view xl__view_dense(const struct xl__extent *x);
/* Of a node made from its place: its element's index along one axis, of INDEX,
 * or in its own shape. */
struct xl__view xl__view_place(const struct xl__fusion *f, unsigned n);
/* The dimension with the smallest stride; XL__NEVER: one element. */
unsigned xl__view_inner(const struct xl__view *v);

static inline bool xl__is_reduction(const struct xl__node *n)
{
    return xl__expr_ops[n->op].cls == XL__C_REDUCE;
}
static inline bool xl__is_gather(const struct xl__node *n)
{
    return n->op == XL__E_GATHER;
}
/* Arguments that are values in a kernel: not the source of a GATHER. */
static inline unsigned xl__n_args(const struct xl__node *n)
{
    return xl__is_gather(n) ? 1 : xl__expr_ops[n->op].n_args;
}
/* Has an earlier cluster than number `at` stored node n? */
static inline bool xl__is_stored(const struct xl__fusion *f, unsigned n,
                                 unsigned at)
{
    return f->mark[n].stored_in < at;
}
/* Does cluster number `at` read node n from memory? */
static inline bool xl__is_loaded(const struct xl__fusion *f, unsigned n,
                                 unsigned at)
{
    return f->g->node[n].op == XL__E_INPUT || xl__is_stored(f, n, at);
}

/* -- clusters (fuse.c) ---------------------------------------------------- */

/* Set is_needed, is_mine and is_row of all nodes for cluster c as number `at`.
 * The cluster is then the current one ("closed"). */
void xl__cluster_close(struct xl__fusion *f, const struct xl__cluster *c,
                       unsigned at);
/* budget.c: what a node counts of XL__KERNEL_OPERATIONS: its flop, at least 1.
 */
double xl__node_operations(const struct xl__node *n);
/* budget.c: does the current cluster fit into a kernel, by operands,
 * arguments, registers and operations? Changes is_below and sweep of the
 * marks. */
bool xl__cluster_fits(struct xl__fusion *f, const struct xl__cluster *c,
                      unsigned at);
/* Store a node for later clusters: as a new temporary, unless the cluster
 * stores it in an output that can be read back. XL_NO_MEMORY. */
xl_status xl__cluster_store(struct xl__fusion *f, struct xl__cluster *c,
                            unsigned node);
/* Add a sink; output XL__NEVER: a temporary. XL_NO_MEMORY. */
xl_status xl__sink_add(struct xl__fusion *f, struct xl__cluster *c,
                       unsigned node, unsigned output);
/* Add the outputs of the node's own extent that are not stored yet as sinks.
 * XL_NO_MEMORY. */
xl_status xl__sinks_add_outputs(struct xl__fusion *f, struct xl__cluster *c,
                                unsigned node);
/* Append *c to the clusters, and record what it stores and reduces. *c is
 * moved and zero afterwards. XL_NO_MEMORY. */
xl_status xl__cluster_push(struct xl__fusion *f, struct xl__cluster *c);
void xl__cluster_clear(struct xl__cluster *c);
/* Set is_below for node n and everything it is computed from, down to what
 * cluster number `at` loads. */
void xl__mark_below(struct xl__fusion *f, unsigned n, unsigned at);

/* -- decisions ------------------------------------------------------------ */

/* clusters.c: the form that suits a reduction over a domain. */
enum xl__form xl__form_of(struct xl__fusion *f, const struct xl__domain *d,
                          unsigned reduction);
/* clusters.c: push all clusters of the graph, fused. */
xl_status xl__grow_clusters(struct xl__fusion *f);
/* The reductions below a node while a cluster grows: none that is not stored,
 * only reductions of this cluster, or reductions of later clusters too. In
 * this order: a node has the maximum of its arguments. */
enum { XL__FREE, XL__MINE, XL__OTHERS };

/* temporaries.c: decide which values of *c, which is closed, are stored for
 * later clusters, and add these sinks. reductions_only: the results of
 * reductions themselves, nothing computed from them. is_cut: the cluster took
 * in fewer reductions than it could have. */
xl_status xl__cluster_keep(struct xl__fusion *f, struct xl__cluster *c,
                           bool reductions_only, bool is_cut);

/* views.c: mark outputs that would overwrite memory which is still to be read
 * as detoured, and push clusters that copy them at the end. */
xl_status xl__detour_outputs(struct xl__fusion *f);
bool xl__outputs_overlap(const struct xl__fusion *f, unsigned a, unsigned b);

/* -- the schedule --------------------------------------------------------- */

/* schedule.c: append cluster number `at` to the schedule as a group. */
xl_status xl__group_make(struct xl__fusion *f, unsigned at);
/* temporaries.c: add a temporary to the schedule for a sink. XL_OVERFLOW,
 * XL_NO_MEMORY. */
xl_status xl__temp_add(struct xl__fusion *f, struct xl__sink *sink);
/* temporaries.c: set the offsets in scratch of temporaries and of partial
 * results, and the bytes of scratch. XL_OVERFLOW, XL_NO_MEMORY. */
xl_status xl__temps_set_offsets(struct xl__schedule *s, struct xl__error *e);

#endif
