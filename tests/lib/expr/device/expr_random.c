/* SPDX-License-Identifier: Apache-2.0 */
/* Names, numbers, and the shapes and layouts they are bound with. */
/* The text is written from left to right while the shape of what was written
 * comes back; the kind is asked for. Everything broadcasts to one shape, so
 * that any two values can meet. */
/* Statements around what expr_writer.c writes. See expr_random.h. */
#include "lib/expr/device/expr_random.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum kind { BOOLS, INTS, FLOATS };
enum { MAX_LEAVES = 12, MAX_DEPTH = 5, MAX_OUTPUTS = 8, LEAF_TEXT = 96 };

/* What a name, as written in `text`, stands for. */
struct leaf {
    char text[LEAF_TEXT];
    enum kind kind;
    struct xl__shape shape;
    unsigned binding;  /* CASE_NAMES: a temporary */
    bool is_whole;     /* a name alone */
    bool is_written;   /* was assigned: by no second name, then */
};

struct writer {
    struct expr_case *c;
    struct xl__rng rng;
    struct xl__shape all; /* what everything broadcasts to */
    struct leaf leaf[MAX_LEAVES];
    unsigned n_leaves, n_temps;
};

static unsigned below(struct writer *w, unsigned n)
{
    return (unsigned)xl__rng_below(&w->rng, n);
}

static bool once_in(struct writer *w, unsigned n)
{
    return below(w, n) == 0;
}

static void put(struct writer *w, const char *text)
{
    xl__str_add(&w->c->text, text);
}


static const char *writer_pick(struct writer *w, const char *const *names)
{
    unsigned n = 0;
    while (names[n])
        n++;
    return names[below(w, n)];
}

/* -- shapes ---------------------------------------------------------------- */

static struct xl__shape shape_meet(struct xl__shape a, struct xl__shape b)
{
    if (a.n_dims < b.n_dims)
        return shape_meet(b, a);
    for (unsigned d = 0; d < b.n_dims; d++) {
        size_t *to = &a.size[a.n_dims - b.n_dims + d];
        *to = xl__max_size(*to, b.size[d]);
    }
    return a;
}

static struct xl__shape shape_random(struct writer *w, size_t most)
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
static struct case_view layout_random(struct writer *w,
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

static xl_dtype dtype_random(struct writer *w, enum kind kind)
{
    static const xl_dtype floats[] = {XL_F32, XL_F32, XL_F16, XL_BF16};
    static const xl_dtype ints[] = {XL_I32, XL_I8, XL_U8};
    switch (kind) {
    case BOOLS: return XL_BOOL;
    case INTS: return ints[below(w, 3)];
    default: return floats[below(w, 4)];
    }
}

static void name_random(char *to, char letter, unsigned number)
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
static bool leaf_has_room(const struct writer *w)
{
    return w->n_leaves < MAX_LEAVES && w->c->n < CASE_NAMES - MAX_OUTPUTS;
}

static struct leaf *leaf_tensor(struct writer *w, enum kind kind)
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

static void leaf_number(struct writer *w, enum kind kind)
{
    static const char *const floats[] = {"0.5",  "1.5", "2.0", "1e-3", "pi",
                                         "0.25", "3.0", "0.0", NULL};
    static const char *const ints[] = {"0", "1", "2", "3", "7", "100", NULL};
    static const char *const bools[] = {"true", "false", NULL};
    put(w, writer_pick(w, kind == FLOATS ? floats
                          : kind == INTS ? ints
                                         : bools));
}

static struct xl__shape leaf_put(struct writer *w, const struct leaf *l)
{
    put(w, l->text);
    return l->shape;
}

static struct xl__shape leaf_write(struct writer *w, enum kind kind)
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

static struct xl__shape writer_write(struct writer *w, enum kind kind,
                                     unsigned depth);

/* Not a bool: what arithmetic takes. */
static enum kind number_kind(struct writer *w)
{
    return once_in(w, 4) ? INTS : FLOATS;
}

static struct xl__shape call1(struct writer *w, const char *name,
                              enum kind of, unsigned depth)
{
    put(w, name);
    put(w, "(");
    const struct xl__shape s = writer_write(w, of, depth);
    put(w, ")");
    return s;
}

static struct xl__shape infix(struct writer *w, const char *op, enum kind a,
                              enum kind b, unsigned depth)
{
    put(w, "(");
    const struct xl__shape s = writer_write(w, a, depth);
    put(w, " ");
    put(w, op);
    put(w, " ");
    const struct xl__shape t = writer_write(w, b, depth);
    put(w, ")");
    return shape_meet(s, t);
}

static struct xl__shape call2(struct writer *w, const char *name, enum kind of,
                              unsigned depth)
{
    put(w, name);
    put(w, "(");
    const struct xl__shape s = writer_write(w, of, depth);
    put(w, ", ");
    const struct xl__shape t = writer_write(w, of, depth);
    put(w, ")");
    return shape_meet(s, t);
}

static struct xl__shape call3(struct writer *w, const char *name,
                              enum kind first, enum kind rest, unsigned depth)
{
    put(w, name);
    put(w, "(");
    const struct xl__shape s = writer_write(w, first, depth);
    put(w, ", ");
    const struct xl__shape t = writer_write(w, rest, depth);
    put(w, ", ");
    const struct xl__shape u = writer_write(w, rest, depth);
    put(w, ")");
    return shape_meet(s, shape_meet(t, u));
}

/* axis=..., of what has been written; nothing for all of them. */
static void put_axes(struct writer *w, struct xl__shape *s)
{
    const unsigned which = 1 + below(w, (1u << s->n_dims) - 1);
    const bool is_one = (which & (which - 1)) == 0;
    const char *comma = "";
    xl__str_add(&w->c->text, is_one ? ", axis=" : ", axis=(");
    for (unsigned d = 0; d < s->n_dims; d++) {
        if (!(which >> d & 1))
            continue;
        xl__str_printf(&w->c->text, "%s%d", comma,
                       once_in(w, 2) ? (int)d : (int)d - (int)s->n_dims);
        comma = ", ";
        s->size[d] = 1;
    }
    put(w, is_one ? "" : ")");
}

static struct xl__shape reduction(struct writer *w, const char *name,
                                  enum kind of, unsigned depth)
{
    put(w, name);
    put(w, "(");
    struct xl__shape s = writer_write(w, of, depth);
    if (s.n_dims > 0 && !once_in(w, 4))
        put_axes(w, &s);
    else
        for (unsigned d = 0; d < s.n_dims; d++)
            s.size[d] = 1;
    put(w, ")");
    return s;
}

/* Rows need an axis: what is a single element is left as it is. */
static struct xl__shape row_function(struct writer *w, unsigned depth)
{
    static const char *const names[] = {"softmax", "log_softmax", NULL};
    struct leaf *x = leaf_has_room(w) ? leaf_tensor(w, FLOATS) : NULL;
    if (!x)
        return writer_write(w, FLOATS, depth);
    if (x->shape.n_dims == 0)
        return leaf_put(w, x);
    const struct xl__shape s = x->shape;
    const bool has_bias = once_in(w, 2);
    if (once_in(w, 2)) {
        put(w, writer_pick(w, names));
        xl__str_printf(&w->c->text, "(%s * 1.5", x->text);
        xl__str_printf(&w->c->text, once_in(w, 2) ? ")" : ", axis=%d)",
                       -1 - (int)below(w, s.n_dims));
        return s;
    }
    put(w, has_bias ? "layer_norm(" : "rms_norm(");
    put(w, x->text);
    for (int i = 0; i < 1 + has_bias; i++) {
        put(w, ", ");
        leaf_number(w, FLOATS);
    }
    put(w, ", 1e-3)");
    return s;
}

/* A function where it is defined, mostly; NaN on purpose now and then. */
static struct xl__shape guarded(struct writer *w, unsigned depth)
{
    static const char *const of_positive[] = {"sqrt",  "rsqrt", "log",
                                              "log2", "log1p", NULL};
    static const char *const of_small[] = {"exp", "exp2", "expm1", "tan",
                                           NULL};
    const bool positive = once_in(w, 2), raw = once_in(w, 8);
    put(w, writer_pick(w, positive ? of_positive : of_small));
    put(w, raw ? "(" : positive ? "(0.1 + abs(" : "(tanh(");
    const struct xl__shape s = writer_write(w, number_kind(w), depth);
    put(w, raw ? ")" : "))");
    return s;
}

static struct xl__shape power(struct writer *w, unsigned depth)
{
    static const char *const by[] = {"^2", "^3", "^0.5", "^-1", "^1.7", NULL};
    if (once_in(w, 2)) {
        const struct xl__shape s = call1(w, "abs", FLOATS, depth);
        put(w, writer_pick(w, by));
        return s;
    }
    put(w, "pow(abs(");
    const struct xl__shape s = writer_write(w, FLOATS, depth);
    put(w, ") + 0.5, tanh(");
    const struct xl__shape t = writer_write(w, FLOATS, depth);
    put(w, "))");
    return shape_meet(s, t);
}

/* Random numbers take the shape of what they meet. */
static struct xl__shape random_numbers(struct writer *w, unsigned depth)
{
    struct leaf *x = leaf_has_room(w) ? leaf_tensor(w, FLOATS) : NULL;
    if (!x)
        return writer_write(w, FLOATS, depth);
    if (x->shape.n_dims == 0)
        return leaf_put(w, x);
    xl__str_printf(&w->c->text, "(%s(%u) %s %s)",
                   once_in(w, 2) ? "rand" : "randn", below(w, 100),
                   once_in(w, 2) ? "+" : "*", x->text);
    return x->shape;
}

static struct xl__shape write_float(struct writer *w, unsigned depth)
{
    static const char *const by_element[] = {
        "abs",  "ceil", "floor",   "round", "trunc",     "sign", "sin",
        "cos",  "tanh", "erf",     "relu",  "sigmoid",   "gelu", "silu",
        "-",    "sin",  "gelu_tanh", "cos", "softplus",  "tanh", NULL};
    static const char *const infixes[] = {"+", "-", "*", "+", "*", NULL};
    static const char *const binary[] = {"min", "max", "mod", NULL};
    static const char *const reductions[] = {"sum",  "mean",      "var",
                                             "min",  "max",       "norm2",
                                             "logsumexp", NULL};
    static const char *const types[] = {"f32", "f16", "bf16", NULL};
    switch (below(w, 14)) {
    case 0:
    case 1: return call1(w, writer_pick(w, by_element), FLOATS, depth);
    case 2:
    case 3:
    case 4:
        return infix(w, writer_pick(w, infixes), FLOATS, number_kind(w),
                     depth);
    case 5: return infix(w, "/", number_kind(w), number_kind(w), depth);
    case 6: return call2(w, writer_pick(w, binary), FLOATS, depth);
    case 7: return call3(w, "where", BOOLS, FLOATS, depth);
    case 8:
        return call3(w, once_in(w, 2) ? "clamp" : "fma", FLOATS, FLOATS,
                     depth);
    case 9: return reduction(w, writer_pick(w, reductions), FLOATS, depth);
    case 10: return row_function(w, depth);
    case 11:
        return once_in(w, 4) ? random_numbers(w, depth) : guarded(w, depth);
    case 12: return power(w, depth);
    default: {
        put(w, "cast(");
        const struct xl__shape s = writer_write(w, number_kind(w), depth);
        xl__str_printf(&w->c->text, ", %s)", writer_pick(w, types));
        return s;
    }
    }
}

static struct xl__shape write_int(struct writer *w, unsigned depth)
{
    static const char *const by_element[] = {"abs", "-", "sign", "relu", NULL};
    static const char *const infixes[] = {"+", "-", "*", NULL};
    static const char *const binary[] = {"min", "max", "mod", NULL};
    static const char *const reductions[] = {"sum", "min", "max", NULL};
    static const char *const places[] = {"argmin", "argmax", NULL};
    static const char *const types[] = {"i32", "i8", "u8", NULL};
    switch (below(w, 8)) {
    case 0: return call1(w, writer_pick(w, by_element), INTS, depth);
    case 1: return infix(w, writer_pick(w, infixes), INTS, INTS, depth);
    case 2: return call2(w, writer_pick(w, binary), INTS, depth);
    case 3: return call3(w, "where", BOOLS, INTS, depth);
    case 4: return call3(w, "clamp", INTS, INTS, depth);
    case 5:
        return once_in(w, 3) ? reduction(w, "sum", BOOLS, depth)
                             : reduction(w, writer_pick(w, reductions), INTS,
                                         depth);
    case 6: return reduction(w, writer_pick(w, places), number_kind(w), depth);
    default: {
        put(w, "cast(");
        const struct xl__shape s = writer_write(w, FLOATS, depth);
        xl__str_printf(&w->c->text, ", %s)", writer_pick(w, types));
        return s;
    }
    }
}

static struct xl__shape write_bool(struct writer *w, unsigned depth)
{
    static const char *const compare[] = {"<",  "<=", ">", ">=",
                                          "==", "!=", NULL};
    static const char *const logic[] = {"&", "|", NULL};
    static const char *const reductions[] = {"any", "all", NULL};
    switch (below(w, 6)) {
    case 0:
    case 1:
        return infix(w, writer_pick(w, compare), number_kind(w), number_kind(w),
                     depth);
    case 2: return infix(w, writer_pick(w, logic), BOOLS, BOOLS, depth);
    case 3: return call1(w, "!", BOOLS, depth);
    case 4: return reduction(w, writer_pick(w, reductions), BOOLS, depth);
    default: return call1(w, "isnan", FLOATS, depth);
    }
}

static struct xl__shape writer_write(struct writer *w, enum kind kind,
                              unsigned depth)
{
    if (depth == 0 || once_in(w, 6))
        return leaf_write(w, kind);
    switch (kind) {
    case BOOLS: return write_bool(w, depth - 1);
    case INTS: return write_int(w, depth - 1);
    default: return write_float(w, depth - 1);
    }
}

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
