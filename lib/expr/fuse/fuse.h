/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of fusion share. A cluster is a group in the making: the
 * nodes that it stores, over a domain. What it computes follows from that: all
 * below its sinks, down to what is in memory by then. So a value may be
 * computed in several clusters, and what is stored is the only decision. */
#ifndef XL_EXPR_FUSE_H
#define XL_EXPR_FUSE_H

#include <limits.h>
#include <stdint.h>

#include "base/alloc.h"
#include "expr/graph/group.h"

enum { XL__NEVER = UINT_MAX };

/* Values of 16 bytes that an item can hold at once: 48 take 192 of the 255
 * registers that there are at most. */
enum { XL__LIVE_VALUES = 48 };

/* A shape of XL_MAX_DIMS dimensions, aligned at the end as broadcasting is:
 * those that are not there have size 1. */
struct xl__extent {
    size_t size[XL_MAX_DIMS];
};

/* All that a group goes over. `reduced`: bit d of those axes of `all` that are
 * summed up and not of size 1. A reduction has one: of single elements there
 * is none in a graph (algebra.c). */
struct xl__domain {
    struct xl__extent all;
    unsigned reduced;
};

/* Memory in the eyes of somebody who walks an extent. */
struct xl__view {
    size_t offset;
    struct xl__extent extent;
    size_t stride[XL_MAX_DIMS]; /* 0 where the size is 1 */
};

struct xl__sink {
    unsigned node;
    unsigned output;  /* of the graph; XL__NEVER: a temporary */
    bool is_kept;     /* later clusters read it back */
    bool is_detoured; /* into a temporary, and copied when all is read */
    unsigned temp;    /* of the schedule; XL__NEVER: none yet */
    struct xl__extent extent; /* of what is stored */
};

struct xl__cluster {
    enum xl__form form;
    struct xl__domain domain;
    struct xl__sink *sink;
    unsigned n_sinks;
    size_t cap_sinks;
    bool is_copy; /* of a detoured sink, and nothing else */
    struct xl__sink from;
    struct xl__str why;
};

/* What fusion knows of a node. The second half is of one cluster at a time. */
struct xl__mark {
    struct xl__extent extent;
    double elems;
    unsigned stored_in;  /* the cluster after which it is in memory */
    unsigned reduced_in; /* the cluster that a reduction is part of */
    bool is_scalar;      /* of numbers and scalars alone */

    bool is_needed; /* xl__close(): computed or loaded */
    bool is_mine;   /* it depends on a reduction of the cluster */
    bool is_row;
    bool is_wanted;      /* by clusters to come */
    bool is_below;       /* scratch of one question */
    unsigned char state; /* growth: enum in fuse_grow.c */
    uint64_t loads;      /* growth: large memory it reads, as a set */
    unsigned sweep, last_read;
};

struct xl__fuser {
    const struct xl__graph *g;
    const struct xl__signature *s;
    const struct xl__limits *l;
    struct xl__mark *mark;
    struct xl__cluster *cluster;
    unsigned n_clusters;
    size_t cap_clusters;
    unsigned output_in[XL_EXPR_MAX_BINDINGS]; /* cluster, or XL__NEVER */
    bool can_read_back[XL_EXPR_MAX_BINDINGS]; /* the output as its node */
    struct xl__schedule *out;
    struct xl__error *error;
};

/* -- fuse_domain.c -------------------------------------------------------- */

struct xl__extent xl__extent_of(const struct xl__shape *shape);
double xl__extent_elems(const struct xl__extent *x);
bool xl__extent_equal(const struct xl__extent *a, const struct xl__extent *b);
/* "4096 x 1024" */
void xl__extent_print(const struct xl__extent *x, struct xl__str *out);
/* What is left of a domain's extent when it is reduced. */
struct xl__extent xl__domain_rows(const struct xl__domain *d);
struct xl__domain xl__domain_of(const struct xl__fuser *f, unsigned reduction);

struct xl__view xl__view_input(const struct xl__node *n);
struct xl__view xl__view_output(const struct xl__output *o);
struct xl__view xl__view_dense(const struct xl__extent *x);
/* The dimension in which a view is closest; XL__NEVER: it is one element. */
unsigned xl__view_inner(const struct xl__view *v);

static inline bool xl__is_reduction(const struct xl__node *n)
{
    return xl__expr_ops[n->op].cls == XL__C_REDUCE;
}
static inline bool xl__is_rand(const struct xl__node *n)
{
    return n->op == XL__E_RAND || n->op == XL__E_RANDN;
}
static inline unsigned xl__args(const struct xl__node *n)
{
    return xl__expr_ops[n->op].n_args;
}
/* Is node n in memory when cluster `at` runs? */
static inline bool xl__is_stored(const struct xl__fuser *f, unsigned n,
                                 unsigned at)
{
    return f->mark[n].stored_in < at;
}
/* Is it read from memory by cluster `at`? */
static inline bool xl__is_loaded(const struct xl__fuser *f, unsigned n,
                                 unsigned at)
{
    return f->g->node[n].op == XL__E_INPUT || xl__is_stored(f, n, at);
}

/* -- fuse_views.c --------------------------------------------------------- */

/* May two views of a bound tensor have an element in common? False only if
 * that is certain. */
bool xl__views_meet(const struct xl__param *b, const struct xl__view *a,
                    const struct xl__view *c);
/* Do both touch the very same element at every place? */
bool xl__views_same(const struct xl__view *a, const struct xl__view *c);
/* Do two outputs overlap? */
bool xl__outputs_meet(const struct xl__fuser *f, unsigned a, unsigned b);

/* -- fuse_close.c --------------------------------------------------------- */

/* Set is_needed, is_mine and is_row for cluster c as number `at`. */
void xl__close(struct xl__fuser *f, const struct xl__cluster *c, unsigned at);
/* Is the cluster that was closed within what a kernel can take: operands,
 * arguments, registers? */
bool xl__fits(struct xl__fuser *f, const struct xl__cluster *c, unsigned at);
/* Store a node. A sink that can be read back is enough. */
xl_status xl__store(struct xl__fuser *f, struct xl__cluster *c, unsigned node);
xl_status xl__sink_add(struct xl__fuser *f, struct xl__cluster *c,
                       unsigned node, unsigned output);
/* Append *c, which is moved, and take note of what it stores. */
xl_status xl__cluster_push(struct xl__fuser *f, struct xl__cluster *c);
void xl__cluster_clear(struct xl__cluster *c);
/* Mark all that node n is made of, down to what is loaded; is_below. */
void xl__mark_below(struct xl__fuser *f, unsigned n, unsigned at);

/* -- the decisions -------------------------------------------------------- */

/* fuse_grow.c: all clusters of the graph. */
enum xl__form xl__form_of(struct xl__fuser *f, const struct xl__domain *d,
                          unsigned reduction);
xl_status xl__grow_clusters(struct xl__fuser *f);
/* Reductions that are part of the cluster (MINE), that are still to come
 * (OTHERS'), or neither, below a node. */
enum { XL__FREE, XL__MINE, XL__OTHERS };

/* fuse_keep.c: what later clusters need of *c, which is closed, is stored, or
 * computed again. `plainly`: store reductions as they are, nothing else. */
xl_status xl__keep(struct xl__fuser *f, struct xl__cluster *c, bool plainly);
/* fuse_hoist.c: what is broadcast in *c and too expensive for that goes into
 * clusters of its own, which are pushed. */
xl_status xl__hoist(struct xl__fuser *f, struct xl__cluster *c);

/* fuse_split.c: store a part of *c, which is closed and does not fit, in a
 * cluster of its own, which is pushed. */
xl_status xl__split_layout(struct xl__fuser *f, struct xl__cluster *c);
/* Push *c, split as often as it takes to fit. */
xl_status xl__push_fitting(struct xl__fuser *f, struct xl__cluster *c);

/* fuse_hazards.c: outputs that would overwrite what is still to be read are
 * detoured; clusters that copy them are pushed. */
xl_status xl__detour(struct xl__fuser *f);

/* -- writing a cluster out ------------------------------------------------ */

struct xl__maker {
    struct xl__fuser *f;
    const struct xl__cluster *c;
    unsigned at;
    struct xl__group *group;
    unsigned order[XL__EXPR_LOOPS]; /* the dimension of each loop */
};

/* Is node n computed by the cluster, or only loaded; and is it a reduction? */
static inline bool xl__is_computed(const struct xl__maker *m, unsigned n)
{
    return m->f->mark[n].is_needed && !m->c->is_copy &&
           !xl__is_loaded(m->f, n, m->at);
}
static inline bool xl__is_reduced(const struct xl__maker *m, unsigned n)
{
    return xl__is_computed(m, n) && xl__is_reduction(&m->f->g->node[n]);
}

/* fuse_group.c: cluster number `at` as a group of the schedule. */
xl_status xl__group_make(struct xl__fuser *f, unsigned at);
/* Where a node that is in memory lies: as an input, or where an earlier
 * cluster has put it. */
struct xl__view xl__source_of(const struct xl__maker *m, unsigned n,
                              struct xl__operand *p);

/* fuse_loops.c: loops and their dimensions. */
void xl__make_loops(struct xl__maker *m);

/* fuse_sweeps.c: the sweep of every value; once there are operands, that of
 * every write. */
void xl__make_sweeps(struct xl__maker *m);
void xl__delay_writes(struct xl__maker *m);

/* fuse_temps.c: places in scratch for temporaries and chunks' results. */
xl_status xl__temps_place(struct xl__schedule *s, struct xl__error *e);
/* A new temporary of the schedule. */
xl_status xl__temp_add(struct xl__fuser *f, struct xl__sink *sink);

#endif
