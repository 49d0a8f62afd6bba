/* SPDX-License-Identifier: Apache-2.0 */
/* Statements around what expr_writer.c writes. See expr_random.h. */
#include "lib/expr/device/expr_random.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "lib/expr/device/expr_writer.h"

/* A name that later statements may read: of a temporary, or of an output. */
static void remember(struct writer *w, const char *name, enum kind kind,
                     const struct xl__shape *shape)
{
    if (w->n_leaves == MAX_LEAVES)
        return;
    struct leaf *l = &w->leaf[w->n_leaves++];
    *l = (struct leaf){.kind = kind, .shape = *shape, .binding = CASE_NAMES};
    xl__strcpy(l->text, LEAF_TEXT, name);
}

/* A tensor that was read whole, and may hold what is computed next. */
static struct leaf *changeable(struct writer *w)
{
    for (unsigned i = 0; i < w->n_leaves; i++) {
        struct leaf *l = &w->leaf[i];
        const xl_tensor *t;
        bool fits = l->is_whole && l->binding < CASE_NAMES &&
                    l->shape.n_dims == w->all.n_dims &&
                    memcmp(l->shape.size, w->all.size,
                           sizeof l->shape.size) == 0;
        if (!fits)
            continue;
        t = &w->c->binding[l->binding].tensor;
        for (unsigned d = 0; d < t->n_dims; d++)
            fits = fits && (t->stride[d] > 0 || t->size[d] == 1);
        if (fits && once_in(w, 2))
            return l;
    }
    return NULL;
}

/* name = expression, in place of what was an input. The name is the value from
 * then on, in the value's own shape. */
static void assign_in_place(struct writer *w, struct leaf *l)
{
    char name[CASE_NAME];
    bool is_other = false;
    xl__strcpy(name, sizeof name, l->text);
    if (!l->is_written && once_in(w, 4)) { /* by another name */
        const unsigned other = l->binding;
        name_random(name, 'a', w->c->n);
        (void)case_alias(w->c, name, other);
        is_other = true;
    }
    xl__str_printf(&w->c->text, "%s = ", name);
    const struct xl__shape s = writer_write(w, l->kind, MAX_DEPTH);
    if (is_other)
        l->is_whole = false; /* two names that are written do not share */
    else
        l->shape = s;
    l->is_written = true;
}

static void assign_temp(struct writer *w, enum kind kind)
{
    char name[CASE_NAME];
    name_random(name, 't', w->n_temps++);
    xl__str_printf(&w->c->text, "%s = ", name);
    const struct xl__shape s = writer_write(w, kind, MAX_DEPTH);
    remember(w, name, kind, &s);
}

/* An output of the full shape, or of the value's own; of the value's kind or
 * a lower one; its memory beside an input's at times. */
static void assign_output(struct writer *w, enum kind kind, const char *name)
{
    struct expr_case *c = w->c;
    const enum kind own = (enum kind)(kind + below(w, FLOATS - kind + 1));
    xl__str_printf(&c->text, "%s = ", name);
    const struct xl__shape s = writer_write(w, kind, MAX_DEPTH);
    const struct xl__shape shape = once_in(w, 2) ? s : w->all;
    const struct case_view v = layout_random(w, &shape, false);
    const unsigned other = c->n ? below(w, c->n) : 0;
    if (c->n && once_in(w, 4) && !c->binding[other].is_scalar &&
        (enum kind)(own + 0) == FLOATS &&
        c->binding[other].tensor.dtype <= XL_BF16)
        (void)case_beside(c, name, other, &v);
    else
        (void)case_tensor(c, name, dtype_random(w, own), &v);
}

static enum kind any_kind(struct writer *w)
{
    return once_in(w, 6) ? BOOLS : once_in(w, 4) ? INTS : FLOATS;
}

void random_case(struct expr_case *c, uint64_t seed, size_t most)
{
    static const char *const ends[] = {"; ", "\n", NULL};
    struct writer *w = xl__calloc(1, sizeof *w);
    char name[CASE_NAME];
    case_init(c, seed, "");
    if (!w)
        return;
    w->c = c;
    xl__rng_seed(&w->rng, seed);
    w->all = shape_random(w, most);
    for (unsigned i = 0, n = below(w, 4); i < n; i++) {
        struct leaf *l = changeable(w);
        if (l && once_in(w, 2))
            assign_in_place(w, l);
        else if (once_in(w, 3)) {
            name_random(name, 'y', i);
            assign_output(w, any_kind(w), name);
        } else
            assign_temp(w, any_kind(w));
        put(w, writer_pick(w, ends));
    }
    assign_output(w, any_kind(w), "out");
    free(w);
}
