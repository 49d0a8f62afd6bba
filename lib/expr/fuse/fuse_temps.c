/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch: every temporary lives from the group that writes it to the last one
 * that reads it, chunks' results within their group. Each takes the first gap
 * that is free of those alive at the same time. */
#include "expr/fuse/fuse.h"

#include <stdlib.h>

enum { ALIGN_BYTES = 256 };

/* Something in scratch, and the groups in which it is alive. */
struct span {
    unsigned first, last;
    size_t offset, bytes;
};

xl_status xl__temp_add(struct xl__fuser *f, struct xl__sink *sink)
{
    static const xl_dtype dtype[XL__N_VTYPES] = {
        [XL__V_BOOL] = XL_BOOL, [XL__V_I32] = XL_I32, [XL__V_F32] = XL_F32};
    struct xl__schedule *s = f->out;
    struct xl__temp t = {.node = sink->node,
                         .dtype = dtype[f->g->node[sink->node].type]};
    t.bytes = xl_dtype_bytes(t.dtype);
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (!xl__mul(t.bytes, sink->extent.size[d], &t.bytes))
            return XL_OVERFLOW;
    if (!xl__grow(&s->temp, &s->cap_temps, s->n_temps + 1, sizeof *s->temp))
        return XL_NO_MEMORY;
    sink->temp = s->n_temps;
    s->temp[s->n_temps++] = t;
    return XL_OK;
}

static bool are_together(const struct span *a, const struct span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place of `span` free of those before it: at 0 or after one of
 * them, so each is moved past what it meets until it meets nothing. */
static bool place(struct span *all, unsigned n, size_t *end)
{
    struct span *s = &all[n];
    bool moved = true;
    size_t after;
    while (moved) {
        moved = false;
        for (unsigned i = 0; i < n; i++) {
            if (!are_together(s, &all[i]) || s->bytes == 0 ||
                s->offset >= all[i].offset + all[i].bytes ||
                all[i].offset >= s->offset + s->bytes)
                continue;
            s->offset = all[i].offset + all[i].bytes;
            moved = true;
        }
    }
    if (!xl__add(s->offset, s->bytes, &after))
        return false;
    *end = xl__max_size(*end, after);
    return true;
}

static bool span_of(struct span *s, size_t bytes, unsigned first)
{
    if (bytes > SIZE_MAX - ALIGN_BYTES)
        return false;
    *s = (struct span){first, first, 0, xl__round_up(bytes, ALIGN_BYTES)};
    return true;
}

static void find_lives(const struct xl__schedule *s, struct span *span)
{
    for (unsigned i = 0; i < s->n_groups; i++)
        for (unsigned k = 0; k < s->group[i].n_operands; k++) {
            const struct xl__operand *p = &s->group[i].operand[k];
            if (p->at == XL__AT_TEMP && p->is_written)
                span[p->index].first = i;
            if (p->at == XL__AT_TEMP && span[p->index].last < i)
                span[p->index].last = i;
        }
}

xl_status xl__temps_place(struct xl__schedule *s, struct xl__error *e)
{
    xl_status status = XL_OK;
    const unsigned n = s->n_temps + s->n_groups;
    bool fits = true;
    struct span *span = xl__calloc(n, sizeof *span);
    if (!span)
        return XL_NO_MEMORY;
    for (unsigned i = 0; i < n && fits; i++)
        fits = i < s->n_temps
                   ? span_of(&span[i], s->temp[i].bytes, 0)
                   : span_of(&span[i], s->group[i - s->n_temps].partial_bytes,
                             i - s->n_temps);
    find_lives(s, span);
    for (unsigned i = 0; i < n && fits; i++)
        fits = place(span, i, &s->scratch_bytes);
    if (!fits)
        TRY(xl__error_set(e, XL_OVERFLOW,
                          "temporaries of more bytes than "
                          "there are addresses"));
    for (unsigned i = 0; i < s->n_temps; i++)
        s->temp[i].offset = span[i].offset;
    for (unsigned i = 0; i < s->n_groups; i++)
        s->group[i].partial_offset = span[s->n_temps + i].offset;
fail:
    free(span);
    return status;
}
