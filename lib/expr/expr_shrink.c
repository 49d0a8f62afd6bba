/* SPDX-License-Identifier: Apache-2.0 */
/* A small group of the same structure as a caller's, for its self-check: odd
 * sizes that just pass one work-group or one row of registers, dense strides
 * of the same classes with a gap between lines, the same geometry but for how
 * many parts there are. So it takes the very same program. */
#include <string.h>

#include "base/mem.h"
#include "expr/trial.h"

enum { FEW = 3, MOST_CHUNKS = 3, TURNS = 2 };

static size_t at_least_one(size_t x) { return x > 0 ? x : 1; }

/* What one turn of a work-group covers along the innermost loop. */
static size_t span_of(const struct xl__geometry *geo)
{
    return at_least_one(geo->vw) * at_least_one(geo->unroll);
}

/* The innermost loop: of MAP and PIECES over the work-group, of ROWS over the
 * lanes of a row, of COLUMNS over the columns of a group. */
static size_t inner_size(const struct xl__group *g)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t wg = at_least_one(geo->wg), lanes = at_least_one(geo->lanes);
    const size_t tail = at_least_one(geo->vw) / 2 + 1;
    switch (g->form) {
    case XL__FORM_ROWS:
        if (geo->held > 0) /* a last vector that is not whole */
            return geo->vw > 1 ? lanes * geo->held * geo->vw - geo->vw + tail
                               : lanes * geo->held;
        return 2 * lanes * span_of(geo) + tail;
    case XL__FORM_COLUMNS:
        return wg / lanes * span_of(geo) + tail;
    case XL__FORM_PIECES:
        return at_least_one(geo->chunks) * wg * span_of(geo) + tail;
    default:
        return wg * span_of(geo) + tail;
    }
}

/* The loop next to the innermost: rows enough for two work-groups, lines
 * enough for every lane and chunk. */
static size_t next_size(const struct xl__group *g, const struct xl__loop *loop)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t lanes = at_least_one(geo->lanes);
    if (g->form == XL__FORM_ROWS && !loop->is_reduced)
        return (at_least_one(geo->wg) / lanes + 1) | 1;
    if (g->form == XL__FORM_COLUMNS && loop->is_reduced)
        return lanes * at_least_one(geo->chunks) *
                   at_least_one(geo->unroll) + 1;
    return FEW;
}

static void shrink_loops(struct xl__group *g)
{
    bool is_next_taken = false;
    for (unsigned d = g->n_loops; d-- > 0;) {
        struct xl__loop *loop = &g->loop[d];
        const bool is_inner = d + 1 == g->n_loops;
        if (loop->size == 1)
            continue;
        if (is_inner) {
            loop->size = inner_size(g);
        } else if (!is_next_taken && next_size(g, loop) != FEW) {
            loop->size = next_size(g, loop);
            is_next_taken = true;
        } else {
            loop->size = is_next_taken ? 2 : FEW;
        }
    }
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

void xl__expr_shrink(const struct xl__group *from, struct xl__group *to)
{
    double shrunk = 1;
    *to = *from;
    to->why = (struct xl__str){0};
    to->geo.chunks = xl__min_size(from->geo.chunks, MOST_CHUNKS);
    to->geo.turns = xl__min_size(from->geo.turns, TURNS);
    shrink_loops(to);
    for (unsigned i = 0; i < to->n_operands; i++)
        shrink_strides(to, &to->operand[i]);
    /* Results of chunks: as many a chunk and kept element as there were. */
    for (unsigned d = 0; d < to->n_loops; d++) {
        if (!to->loop[d].is_reduced)
            shrunk *= (double)to->loop[d].size / (double)from->loop[d].size;
    }
    if (from->geo.chunks > 0)
        shrunk *= (double)to->geo.chunks / (double)from->geo.chunks;
    to->partial_bytes = (size_t)((double)from->partial_bytes * shrunk + 1);
}
