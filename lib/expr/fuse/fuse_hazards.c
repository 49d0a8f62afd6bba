/* SPDX-License-Identifier: Apache-2.0 */
/* An expression means: everything is read, then everything is written, in
 * order. Where the clusters would do otherwise, because an output shares
 * memory with what is read later or elsewhere, or with an output before it,
 * it makes a detour: into a temporary, and from there when all is done. */
#include "expr/fuse/fuse.h"

static bool reads_before(const struct xl__fuser *f, unsigned output,
                         const struct xl__node *input, bool is_same_cluster)
{
    const struct xl__output *o = &f->g->output[output];
    const struct xl__param *bound = &f->s->b[o->binding];
    if (bound->same_as != f->s->b[input->binding].same_as)
        return true;
    const struct xl__view w = xl__view_output(o), r = xl__view_input(input);
    if (is_same_cluster && xl__views_same(&w, &r))
        return true; /* each element by itself, read before it is written */
    return !xl__views_meet(bound, &w, &r);
}

/* Would cluster number `at`, which is closed, read what output overwrites? */
static bool is_read(const struct xl__fuser *f, unsigned output, unsigned at)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (f->mark[n].is_needed && node->op == XL__E_INPUT &&
            !reads_before(f, output, node, f->output_in[output] == at))
            return true;
    }
    return false;
}

static struct xl__sink *sink_of(struct xl__fuser *f, unsigned output)
{
    struct xl__cluster *c = &f->cluster[f->output_in[output]];
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].output == output)
            return &c->sink[i];
    return NULL;
}

/* An output in the memory of an earlier one is written after it. */
static bool is_out_of_order(struct xl__fuser *f, unsigned output)
{
    for (unsigned o = 0; o < output; o++)
        if ((sink_of(f, o)->is_detoured ||
             f->output_in[o] >= f->output_in[output]) &&
            xl__outputs_meet(f, o, output))
            return true;
    return false;
}

static xl_status copy(struct xl__fuser *f, unsigned output)
{
    xl_status status;
    struct xl__cluster c = {.is_copy = true, .from = *sink_of(f, output)};
    c.domain.all = c.from.extent;
    TRY(xl__sink_add(f, &c, c.from.node, output));
    xl__str_add(&c.why, "Copied because it was still read. ");
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

xl_status xl__detour(struct xl__fuser *f)
{
    xl_status status;
    const unsigned n_clusters = f->n_clusters;
    for (unsigned at = 0; at < n_clusters; at++) {
        xl__close(f, &f->cluster[at], at);
        for (unsigned o = 0; o < f->g->n_outputs; o++)
            if (f->output_in[o] <= at && is_read(f, o, at))
                sink_of(f, o)->is_detoured = true;
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        struct xl__sink *sink = sink_of(f, o);
        if (is_out_of_order(f, o))
            sink->is_detoured = true;
        if (sink->is_detoured)
            TRY(xl__temp_add(f, sink));
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++)
        if (sink_of(f, o)->is_detoured)
            TRY(copy(f, o));
    return XL_OK;
fail:
    return status;
}
