/* SPDX-License-Identifier: Apache-2.0 */
/* A small group of the same structure as a caller's, for its self-check: odd
 * sizes that just pass one work-group or one row of registers, dense strides
 * of the same classes with a gap between lines, the same geometry but for how
 * many parts there are. So it takes the very same program. */
#include <string.h>

#include "base/alloc.h"
#include "expr/trial.h"

enum { FEW = 3, MOST_CHUNKS = 3, TURNS = 2 };

static size_t at_least_one(size_t x) { return x > 0 ? x : 1; }

/* What one turn of a work-group covers along the innermost loop. */
static size_t span_of(const struct xl__geometry *geo)
{
    return at_least_one(geo->vw) * at_least_one(geo->unroll);
}

/* The innermost loop: of MAP and PIECES over the work-group or a tile, of
 * COLUMNS over the columns of a group, and some more; of ROWS over the lanes
 * of a row twice, or what they hold, which `lines` share, and a last vector
 * that is not whole. */
static size_t inner_size(const struct xl__group *g, size_t lines)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t wg = at_least_one(geo->wg), lanes = at_least_one(geo->lanes);
    const size_t vw = at_least_one(geo->vw), tail = vw / 2;
    const size_t held = at_least_one(geo->held);
    switch (g->form) {
    case XL__FORM_ROWS:
        if (geo->held > 0)
            return lanes * held / lines * vw + tail;
        return 2 * lanes * span_of(geo) + vw + tail;
    case XL__FORM_COLUMNS:
        return wg / lanes * held * vw + vw + tail;
    case XL__FORM_CHUNKS:
        return at_least_one(geo->chunks) * wg * span_of(geo) + vw + tail;
    default:
        return (geo->tile > 0 ? geo->tile : wg * span_of(geo)) + vw + tail;
    }
}

/* The kept loop next to the rows: enough for two work-groups. The reduced one
 * above columns: lines for every lane and chunk. */
static size_t next_size(const struct xl__group *g, const struct xl__loop *loop)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t lanes = at_least_one(geo->lanes);
    if (g->form == XL__FORM_ROWS && !loop->is_reduced)
        return (at_least_one(geo->wg) / lanes + TURNS) | 1;
    if (g->form == XL__FORM_COLUMNS && loop->is_reduced)
        return lanes * at_least_one(geo->chunks) *
                   at_least_one(geo->unroll) + 1;
    return g->form == XL__FORM_ROWS && geo->held > 0 ? 2 : FEW;
}

/* A tile's other side: over a tile, and some more. Loops of one turn stay:
 * operands have no stride along them. */
static void shrink_loops(struct xl__group *g)
{
    bool was_kept = false, was_reduced = false;
    size_t lines = 1;
    for (unsigned d = g->n_loops - 1; d-- > 0;) {
        struct xl__loop *loop = &g->loop[d];
        bool *was = loop->is_reduced ? &was_reduced : &was_kept;
        if (g->geo.tile > 0 && d == g->geo.across)
            loop->size = g->geo.tile + FEW;
        else if (loop->size > 1)
            loop->size = *was ? 2 : next_size(g, loop);
        *was = true;
        lines *= loop->is_reduced ? loop->size : 1;
    }
    struct xl__loop *inner = &g->loop[g->n_loops - 1];
    if (inner->size > 1)
        inner->size = xl__max_size(2, inner_size(g, lines));
}

/* By growing stride, the innermost loop first among equals: each begins where
 * the one within it ends, at an odd multiple of the alignment. */
static void shrink_strides(const struct xl__group *g, struct xl__operand *o)
{
    size_t old[XL__EXPR_LOOPS], next = 1;
    const size_t align = at_least_one(o->align);
    memcpy(old, o->stride, sizeof old);
    for (unsigned turn = 0; turn < g->n_loops; turn++) {
        unsigned least = g->n_loops;
        for (unsigned d = g->n_loops; d-- > 0;) {
            if (old[d] != 0 && (least == g->n_loops || old[d] < old[least]))
                least = d;
        }
        if (least == g->n_loops)
            return;
        const bool is_inner = least + 1 == g->n_loops;
        size_t step = is_inner || align == 1
                          ? next
                          : (xl__ceil_div(next, align) | 1) * align;
        if (old[least] > 1 && step == 1)
            step = 2; /* a stride of 1 is a class of its own */
        o->stride[least] = step;
        next = step * g->loop[least].size + 1;
        old[least] = 0;
    }
}

/* Kept elements times chunks, whole vectors of them. */
static double places(const struct xl__group *g, size_t more)
{
    double n = (double)at_least_one(g->geo.chunks);
    for (unsigned d = 0; d < g->n_loops; d++) {
        if (!g->loop[d].is_reduced)
            n *= (double)(g->loop[d].size + more);
    }
    return n;
}

/* Results of chunks: as many bytes a place as there were, and what rounding
 * may add to each of them. */
static size_t small_partials(const struct xl__group *from,
                             const struct xl__group *to)
{
    enum { SECTION = 256 };
    if (from->partial_bytes == 0)
        return 0;
    return (size_t)((double)from->partial_bytes / places(from, 0) *
                    places(to, to->geo.vw)) +
           SECTION * (size_t)to->n_values;
}

void xl__expr_shrink(const struct xl__group *from, struct xl__group *to)
{
    *to = *from;
    to->why = (struct xl__str){0};
    to->geo.chunks = xl__min_size(from->geo.chunks, MOST_CHUNKS);
    to->geo.per_wg = xl__min_size(from->geo.per_wg, TURNS);
    shrink_loops(to);
    for (unsigned i = 0; i < to->n_operands; i++)
        shrink_strides(to, &to->operand[i]);
    to->partial_bytes = small_partials(from, to);
}
