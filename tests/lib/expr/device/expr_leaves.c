/* SPDX-License-Identifier: Apache-2.0 */
/* Names, numbers, and the shapes and layouts they are bound with. */
#include <string.h>

#include "base/alloc.h"
#include "lib/expr/device/expr_writer.h"

const char *writer_pick(struct writer *w, const char *const *names)
{
    unsigned n = 0;
    while (names[n])
        n++;
    return names[below(w, n)];
}

/* -- shapes ---------------------------------------------------------------- */

struct xl__shape shape_meet(struct xl__shape a, struct xl__shape b)
{
    if (a.n_dims < b.n_dims)
        return shape_meet(b, a);
    for (unsigned d = 0; d < b.n_dims; d++) {
        size_t *to = &a.size[a.n_dims - b.n_dims + d];
        *to = xl__max_size(*to, b.size[d]);
    }
    return a;
}

struct xl__shape shape_random(struct writer *w, size_t most)
{
    static const size_t sizes[] = {1,  2,  3,  4,  5,  7,   8,   13,  16,
                                   17, 31, 32, 33, 64, 101, 257, 1000};
    struct xl__shape s = {.n_dims = below(w, XL_MAX_DIMS + 1)};
    if (s.n_dims == 0 && !once_in(w, 8)) /* a single element is dull */
        s.n_dims = 2;
    for (unsigned d = 0, n = 1; d < s.n_dims; d++) {
        do
            s.size[d] = sizes[below(w, sizeof sizes / sizeof *sizes)];
        while (n * s.size[d] > most);
        n *= (unsigned)s.size[d];
    }
    return s;
}

/* Fewer dimensions, some of size 1. */
static struct xl__shape part_of(struct writer *w, const struct xl__shape *s)
{
    struct xl__shape out = {.n_dims = 0};
    unsigned dropped = once_in(w, 3) ? below(w, s->n_dims + 1) : 0;
    for (unsigned d = dropped; d < s->n_dims; d++)
        out.size[out.n_dims++] = once_in(w, 4) ? 1 : s->size[d];
    return out;
}

/* -- layouts --------------------------------------------------------------- */

/* Strides in a random order of the dimensions, with gaps; an input may repeat
 * a dimension. */
struct case_view layout_random(struct writer *w,
                                      const struct xl__shape *s, bool is_input)
{
    struct case_view v = {.n_dims = s->n_dims};
    unsigned order[XL_MAX_DIMS];
    size_t step = once_in(w, 4) ? 1 + below(w, 3) : 1;
    memcpy(v.size, s->size, sizeof v.size);
    v.is_strided = !once_in(w, 2);
    for (unsigned d = 0; d < s->n_dims; d++)
        order[d] = d;
    for (unsigned d = s->n_dims; d > 1; d--) {
        if (once_in(w, 2)) {
            const unsigned other = below(w, d), kept = order[d - 1];
            order[d - 1] = order[other];
            order[other] = kept;
        }
    }
    for (unsigned i = s->n_dims; i-- > 0;) {
        v.stride[order[i]] = step;
        step = step * s->size[order[i]] + (once_in(w, 3) ? below(w, 5) : 0);
        if (is_input && once_in(w, 12))
            v.stride[order[i]] = 0;
    }
    return v;
}

xl_dtype dtype_random(struct writer *w, enum kind kind)
{
    static const xl_dtype floats[] = {XL_F32, XL_F32, XL_F16, XL_BF16};
    static const xl_dtype ints[] = {XL_I32, XL_I8, XL_U8};
    switch (kind) {
    case BOOLS: return XL_BOOL;
    case INTS: return ints[below(w, 3)];
    default: return floats[below(w, 4)];
    }
}

void name_random(char *to, char letter, unsigned number)
{
    struct xl__str s = {0};
    xl__str_printf(&s, "%c%u", letter, number);
    xl__strcpy(to, CASE_NAME, xl__str_text(&s));
    xl__str_clear(&s);
}

/* -- leaves ---------------------------------------------------------------- */

/* Bound with its dimensions turned, and turned back in the text. */
static void permuted(struct writer *w, struct leaf *l, const char *name,
                     struct xl__shape *bound)
{
    struct xl__str text = {0};
    unsigned order[XL_MAX_DIMS];
    const unsigned n = l->shape.n_dims, turn = below(w, n);
    xl__str_printf(&text, "permute(%s", name);
    for (unsigned d = 0; d < n; d++) {
        order[d] = (d + turn) % n;
        xl__str_printf(&text, ", %u", order[d]);
        bound->size[order[d]] = l->shape.size[d];
    }
    xl__str_add(&text, ")");
    if (once_in(w, 2)) { /* all reversed */
        xl__str_reset(&text);
        xl__str_printf(&text, "transpose(%s)", name);
        for (unsigned d = 0; d < n; d++)
            bound->size[n - 1 - d] = l->shape.size[d];
    }
    xl__strcpy(l->text, LEAF_TEXT, xl__str_text(&text));
    xl__str_clear(&text);
}

/* One dimension's slice of what is bound, which is larger. */
static size_t slice(struct writer *w, struct xl__str *text, size_t size)
{
    const unsigned first = below(w, 4), step = 1 + below(w, 3);
    const unsigned behind = below(w, 3);
    const size_t last = first + (size - 1) * step + 1;
    switch (below(w, 4)) {
    case 0: xl__str_add(text, ":"); return size;
    case 1:
        xl__str_printf(text, "%u:", first);
        return first + size;
    case 2:
        xl__str_printf(text, "-%zu:-%u", size + behind + 1, behind + 1);
        return size + behind + 1;
    default:
        xl__str_printf(text, "%u:%zu:%u", first, last, step);
        return last + behind;
    }
}

/* Bound larger, and sliced in the text; maybe a dimension more, indexed. */
static void sliced(struct writer *w, struct leaf *l, const char *name,
                   struct xl__shape *bound)
{
    struct xl__str text = {0};
    const bool more = l->shape.n_dims < XL_MAX_DIMS && once_in(w, 3);
    xl__str_printf(&text, "%s[", name);
    bound->n_dims = 0;
    if (more) {
        xl__str_printf(&text, "%u", below(w, 3));
        bound->size[bound->n_dims++] = 3;
    }
    for (unsigned d = 0; d < l->shape.n_dims; d++) {
        xl__str_add(&text, bound->n_dims ? ", " : "");
        bound->size[bound->n_dims++] = slice(w, &text, l->shape.size[d]);
    }
    xl__str_add(&text, bound->n_dims < XL_MAX_DIMS && once_in(w, 3) ? ", ...]"
                                                                    : "]");
    xl__strcpy(l->text, LEAF_TEXT, xl__str_text(&text));
    xl__str_clear(&text);
}

/* Is there room for one more name, and then for the outputs' own? */
bool leaf_has_room(const struct writer *w)
{
    return w->n_leaves < MAX_LEAVES && w->c->n < CASE_NAMES - MAX_OUTPUTS;
}

struct leaf *leaf_tensor(struct writer *w, enum kind kind)
{
    struct expr_case *c = w->c;
    struct leaf *l = &w->leaf[w->n_leaves];
    char name[CASE_NAME];
    *l = (struct leaf){.kind = kind, .shape = part_of(w, &w->all)};
    struct xl__shape bound = l->shape;
    name_random(name, 'x', c->n);
    l->is_whole = l->shape.n_dims == 0 || !once_in(w, 3);
    if (l->is_whole)
        xl__strcpy(l->text, LEAF_TEXT, name);
    else if (l->shape.n_dims > 1 && once_in(w, 2))
        permuted(w, l, name, &bound);
    else
        sliced(w, l, name, &bound);
    const struct case_view v = layout_random(w, &bound, true);
    l->binding = case_tensor(c, name, dtype_random(w, kind), &v);
    if (once_in(w, 10))
        c->fill[l->binding] = FILL_SPECIALS;
    w->n_leaves++;
    return l;
}

static struct leaf *new_scalar(struct writer *w, enum kind kind)
{
    struct leaf *l = &w->leaf[w->n_leaves++];
    char name[CASE_NAME];
    const double value = 4 * xl__rng_uniform(&w->rng) - 2;
    *l = (struct leaf){.kind = kind};
    name_random(name, 's', w->c->n);
    xl__strcpy(l->text, LEAF_TEXT, name);
    l->binding = case_scalar(w->c, name, kind == INTS ? XL_I32 : XL_F32,
                             kind == INTS ? (double)below(w, 9) - 4 : value);
    return l;
}

void leaf_number(struct writer *w, enum kind kind)
{
    static const char *const floats[] = {"0.5",  "1.5", "2.0", "1e-3", "pi",
                                         "0.25", "3.0", "0.0", NULL};
    static const char *const ints[] = {"0", "1", "2", "3", "7", "100", NULL};
    static const char *const bools[] = {"true", "false", NULL};
    put(w, writer_pick(w, kind == FLOATS ? floats
                          : kind == INTS ? ints
                                         : bools));
}

struct xl__shape leaf_put(struct writer *w, const struct leaf *l)
{
    put(w, l->text);
    return l->shape;
}

struct xl__shape leaf_write(struct writer *w, enum kind kind)
{
    const struct leaf *l = NULL;
    if (w->n_leaves > 0 && !once_in(w, 3)) {
        l = &w->leaf[below(w, w->n_leaves)];
        l = l->kind == kind ? l : NULL;
    }
    if (!l && leaf_has_room(w) && !once_in(w, 5))
        l = kind != BOOLS && once_in(w, 5) ? new_scalar(w, kind)
                                           : leaf_tensor(w, kind);
    if (!l) {
        leaf_number(w, kind);
        return (struct xl__shape){.n_dims = 0};
    }
    return leaf_put(w, l);
}
