/* SPDX-License-Identifier: Apache-2.0 */
/* A graph becomes groups: clusters are grown (or made one by one, unfused),
 * outputs that would be overwritten too early make a detour, and each cluster
 * is written out as a group. */
#include "expr/fuse/fuse.h"

#include <stdlib.h>

static bool is_lossless(const struct xl__node *n, xl_dtype dtype)
{
    static const xl_dtype same[XL__N_VTYPES] = {
        [XL__V_BOOL] = XL_BOOL, [XL__V_I32] = XL_I32, [XL__V_F32] = XL_F32};
    return dtype == same[n->type];
}

/* What an output holds is its node, and stays so. */
static bool can_read_back(const struct xl__fuser *f, unsigned o)
{
    const struct xl__output *out = &f->g->output[o];
    const struct xl__extent to = xl__extent_of(&out->shape);
    if (!is_lossless(&f->g->node[out->node], out->dtype) ||
        !xl__extent_equal(&to, &f->mark[out->node].extent))
        return false;
    for (unsigned i = 0; i < f->g->n_outputs; i++)
        if (i != o && xl__outputs_meet(f, i, o))
            return false;
    return true;
}

static xl_status prepare(struct xl__fuser *f)
{
    f->mark = xl__calloc(f->g->n_nodes, sizeof *f->mark);
    if (!f->mark)
        return XL_NO_MEMORY;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        struct xl__mark *m = &f->mark[n];
        m->extent = xl__extent_of(&node->shape);
        m->elems = xl__extent_elems(&m->extent);
        m->stored_in = m->reduced_in = XL__NEVER;
        m->is_scalar = node->op != XL__E_INPUT && !xl__is_rand(node) &&
                       !xl__is_reduction(node);
        for (unsigned a = 0; a < xl__args(node); a++)
            m->is_scalar &= f->mark[node->arg[a]].is_scalar;
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        f->output_in[o] = XL__NEVER;
        f->can_read_back[o] = can_read_back(f, o);
    }
    return XL_OK;
}

/* -- one by one ----------------------------------------------------------- */

/* Is a node part of whoever uses it: numbers, what is in memory already, and
 * its conversion on loading? */
static bool is_inline(const struct xl__fuser *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    return node->op == XL__E_INPUT || f->mark[n].is_scalar ||
           (node->op == XL__E_CAST &&
            f->g->node[node->arg[0]].op == XL__E_INPUT);
}

static bool is_used(const struct xl__fuser *f, unsigned n)
{
    for (unsigned i = n + 1; i < f->g->n_nodes; i++)
        for (unsigned a = 0; a < xl__args(&f->g->node[i]); a++)
            if (f->g->node[i].arg[a] == n)
                return true;
    return false;
}

static xl_status single_node(struct xl__fuser *f, unsigned n)
{
    xl_status status;
    const bool reduces = xl__is_reduction(&f->g->node[n]);
    struct xl__cluster c = {.domain = {.all = f->mark[n].extent}};
    if (reduces) {
        c.domain = xl__domain_of(f, n);
        c.form = xl__form_of(f, &c.domain, n);
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        const struct xl__extent to = xl__extent_of(&f->g->output[o].shape);
        if (f->g->output[o].node == n &&
            xl__extent_equal(&to, &f->mark[n].extent))
            TRY(xl__sink_add(f, &c, n, o));
    }
    if (c.n_sinks == 0 || is_used(f, n))
        TRY(xl__store(f, &c, n));
    xl__str_add(&c.why, "One operation, because nothing is to be fused. ");
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

static xl_status single_output(struct xl__fuser *f, unsigned o)
{
    xl_status status;
    struct xl__cluster c = {
        .domain = {.all = xl__extent_of(&f->g->output[o].shape)}};
    TRY(xl__sink_add(f, &c, f->g->output[o].node, o));
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

static xl_status single_clusters(struct xl__fuser *f)
{
    xl_status status = XL_OK;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (!is_inline(f, n))
            TRY(single_node(f, n));
    for (unsigned o = 0; o < f->g->n_outputs; o++)
        if (f->output_in[o] == XL__NEVER)
            TRY(single_output(f, o));
fail:
    return status;
}

/* ------------------------------------------------------------------------- */

xl_status xl__fuse(const struct xl__graph *g, const struct xl__signature *s,
                   const struct xl__limits *l, bool unfused,
                   struct xl__schedule *out, struct xl__error *e)
{
    xl_status status;
    struct xl__fuser f = {.g = g, .s = s, .l = l, .out = out, .error = e};
    *out = (struct xl__schedule){0};
    TRY(prepare(&f));
    TRY(unfused ? single_clusters(&f) : xl__grow_clusters(&f));
    TRY(xl__detour(&f));
    for (unsigned i = 0; i < f.n_clusters; i++)
        TRY(xl__group_make(&f, i));
    TRY(xl__temps_place(out, e));
fail:
    for (unsigned i = 0; i < f.n_clusters; i++)
        xl__cluster_clear(&f.cluster[i]);
    free(f.cluster);
    free(f.mark);
    if (status != XL_OK) {
        xl__schedule_clear(out);
        xl__error_set(e, status, "while operations were grouped");
    }
    return status;
}
