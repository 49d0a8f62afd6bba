/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions. The text is written from left to right by recursive
 * functions, each of which is asked for a kind (bool, int, float) and returns
 * the shape of what it wrote. All shapes broadcast to one shape, so any two
 * values can be combined. See expr_random.h. */
#include "lib/ops/expression/expr_random.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum kind { BOOLS, INTS, FLOATS };
enum { MAX_LEAVES = 12, MAX_DEPTH = 5, MAX_OUTPUTS = 8, LEAF_TEXT = 96 };

/* A name that expressions read, as it is written in the text. */
struct leaf {
    char text[LEAF_TEXT];
    enum kind kind;
    struct xl__shape shape;
    unsigned binding;  /* CASE_NAMES: a temporary */
    bool is_whole;     /* `text` is the name by itself, without a view */
    bool is_written;   /* was assigned; must not have a second name */
};

struct writer {
    struct expr_case *c;
    struct xl__rng rng;
    struct xl__shape all; /* what everything broadcasts to */
    struct leaf leaf[MAX_LEAVES];
    unsigned n_leaves, n_temps;
};

static unsigned random_below(struct writer *w, unsigned n)
{
    return (unsigned)xl__rng_below(&w->rng, n);
}

static bool once_in(struct writer *w, unsigned n)
{
    return random_below(w, n) == 0;
}

static void put_text(struct writer *w, const char *text)
{
    xl__str_add(&w->c->text, text);
}

static const char *writer_pick(struct writer *w, const char *const *names)
{
    unsigned n = 0;
    while (names[n])
        n++;
    return names[random_below(w, n)];
}

/* -- shapes --------------------------------------------------------------- */

static struct xl__shape broadcast_shapes(struct xl__shape a,
                                         struct xl__shape b)
{
    if (a.n_dims < b.n_dims)
        return broadcast_shapes(b, a);
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
    struct xl__shape s = {.n_dims = random_below(w, XL_MAX_DIMS + 1)};
    if (s.n_dims == 0 && !once_in(w, 8)) /* single elements are rare */
        s.n_dims = 2;
    for (unsigned d = 0, n = 1; d < s.n_dims; d++) {
        do
            s.size[d] = sizes[random_below(w, sizeof sizes / sizeof *sizes)];
        while (n * s.size[d] > most);
        n *= (unsigned)s.size[d];
    }
    return s;
}

/* A shape that broadcasts to `s`: fewer dimensions, some of size 1. */
static struct xl__shape broadcast_part(struct writer *w,
                                       const struct xl__shape *s)
{
    struct xl__shape out = {.n_dims = 0};
    unsigned dropped = once_in(w, 3) ? random_below(w, s->n_dims + 1) : 0;
    for (unsigned d = dropped; d < s->n_dims; d++)
        out.size[out.n_dims++] = once_in(w, 4) ? 1 : s->size[d];
    return out;
}

/* -- layouts -------------------------------------------------------------- */

/* Strides in a random order of the dimensions, with gaps; an input may repeat
 * a dimension. */
static struct case_view layout_random(struct writer *w,
                                      const struct xl__shape *s, bool is_input)
{
    struct case_view v = {.n_dims = s->n_dims};
    unsigned order[XL_MAX_DIMS];
    size_t step = once_in(w, 4) ? 1 + random_below(w, 3) : 1;
    memcpy(v.size, s->size, sizeof v.size);
    v.is_strided = !once_in(w, 2);
    for (unsigned d = 0; d < s->n_dims; d++)
        order[d] = d;
    for (unsigned d = s->n_dims; d > 1; d--) {
        if (once_in(w, 2)) {
            const unsigned other = random_below(w, d), kept = order[d - 1];
            order[d - 1] = order[other];
            order[other] = kept;
        }
    }
    for (unsigned i = s->n_dims; i-- > 0;) {
        v.stride[order[i]] = step;
        step = step * s->size[order[i]] +
               (once_in(w, 3) ? random_below(w, 5) : 0);
        if (is_input && once_in(w, 12))
            v.stride[order[i]] = 0;
    }
    return v;
}

static xl_dtype dtype_random(struct writer *w, enum kind kind)
{
    static const xl_dtype floats[] = {XL_F32, XL_F32, XL_F16, XL_BF16};
    static const xl_dtype ints[] = {XL_I32, XL_I8, XL_U8, XL_U16};
    switch (kind) {
    case BOOLS: return XL_BOOL;
    case INTS:
        return ints[random_below(w, 4)];
    default:
        return floats[random_below(w, 4)];
    }
}

static void name_random(char *to, char letter, unsigned number)
{
    struct xl__str s = {0};
    xl__str_printf(&s, "%c%u", letter, number);
    xl__strcpy(to, CASE_NAME, xl__str_text(&s));
    xl__str_clear(&s);
}

/* -- leaves --------------------------------------------------------------- */

/* Bind a tensor with permuted dimensions; the text permutes them back. */
static void write_permuted(struct writer *w, struct leaf *l, const char *name,
                           struct xl__shape *bound)
{
    struct xl__str text = {0};
    unsigned order[XL_MAX_DIMS];
    const unsigned n = l->shape.n_dims, shift = random_below(w, n);
    xl__str_printf(&text, "permute(%s", name);
    for (unsigned d = 0; d < n; d++) {
        order[d] = (d + shift) % n;
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

/* Write a slice that has `size` elements; returns the size of the bound
 * dimension, which is larger. */
static size_t write_slice(struct writer *w, struct xl__str *text, size_t size)
{
    const unsigned first = random_below(w, 4), step = 1 + random_below(w, 3);
    const unsigned behind = random_below(w, 3);
    const size_t last = first + (size - 1) * step + 1;
    switch (random_below(w, 4)) {
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

/* Bind a larger tensor, which the text slices; it may have one more dimension,
 * which is indexed. */
static void write_sliced(struct writer *w, struct leaf *l, const char *name,
                         struct xl__shape *bound)
{
    struct xl__str text = {0};
    const bool more = l->shape.n_dims < XL_MAX_DIMS && once_in(w, 3);
    xl__str_printf(&text, "%s[", name);
    bound->n_dims = 0;
    if (more) {
        xl__str_printf(&text, "%u", random_below(w, 3));
        bound->size[bound->n_dims++] = 3;
    }
    for (unsigned d = 0; d < l->shape.n_dims; d++) {
        xl__str_add(&text, bound->n_dims ? ", " : "");
        bound->size[bound->n_dims++] = write_slice(w, &text, l->shape.size[d]);
    }
    xl__str_add(&text, bound->n_dims < XL_MAX_DIMS && once_in(w, 3) ? ", ...]"
                                                                    : "]");
    xl__strcpy(l->text, LEAF_TEXT, xl__str_text(&text));
    xl__str_clear(&text);
}

/* Is there room for one more name, besides those of outputs? */
static bool leaf_has_room(const struct writer *w)
{
    return w->n_leaves < MAX_LEAVES && w->c->n < CASE_NAMES - MAX_OUTPUTS;
}

static struct leaf *leaf_tensor(struct writer *w, enum kind kind)
{
    struct expr_case *c = w->c;
    struct leaf *l = &w->leaf[w->n_leaves];
    char name[CASE_NAME];
    *l = (struct leaf){.kind = kind, .shape = broadcast_part(w, &w->all)};
    struct xl__shape bound = l->shape;
    name_random(name, 'x', c->n);
    l->is_whole = l->shape.n_dims == 0 || !once_in(w, 3);
    if (l->is_whole)
        xl__strcpy(l->text, LEAF_TEXT, name);
    else if (l->shape.n_dims > 1 && once_in(w, 2))
        write_permuted(w, l, name, &bound);
    else
        write_sliced(w, l, name, &bound);
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
    l->binding =
        case_scalar(w->c, name, kind == INTS ? XL_I32 : XL_F32,
                    kind == INTS ? (double)random_below(w, 9) - 4 : value);
    return l;
}

static void leaf_number(struct writer *w, enum kind kind)
{
    static const char *const floats[] = {"0.5",  "1.5", "2.0", "1e-3", "pi",
                                         "0.25", "3.0", "0.0", NULL};
    static const char *const ints[] = {"0", "1", "2", "3", "7", "100", NULL};
    static const char *const bools[] = {"true", "false", NULL};
    put_text(w, writer_pick(w, kind == FLOATS ? floats
                               : kind == INTS ? ints
                                              : bools));
}

static struct xl__shape leaf_put(struct writer *w, const struct leaf *l)
{
    put_text(w, l->text);
    return l->shape;
}

static struct xl__shape leaf_write(struct writer *w, enum kind kind)
{
    const struct leaf *l = NULL;
    if (w->n_leaves > 0 && !once_in(w, 3)) {
        l = &w->leaf[random_below(w, w->n_leaves)];
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

/* A kind for arithmetic: not bool. */
static enum kind number_kind(struct writer *w)
{
    return once_in(w, 4) ? INTS : FLOATS;
}

static struct xl__shape write_call1(struct writer *w, const char *name,
                                    enum kind of, unsigned depth)
{
    put_text(w, name);
    put_text(w, "(");
    const struct xl__shape s = writer_write(w, of, depth);
    put_text(w, ")");
    return s;
}

static struct xl__shape write_infix(struct writer *w, const char *op,
                                    enum kind a, enum kind b, unsigned depth)
{
    put_text(w, "(");
    const struct xl__shape s = writer_write(w, a, depth);
    put_text(w, " ");
    put_text(w, op);
    put_text(w, " ");
    const struct xl__shape t = writer_write(w, b, depth);
    put_text(w, ")");
    return broadcast_shapes(s, t);
}

static struct xl__shape write_call2(struct writer *w, const char *name,
                                    enum kind of, unsigned depth)
{
    put_text(w, name);
    put_text(w, "(");
    const struct xl__shape s = writer_write(w, of, depth);
    put_text(w, ", ");
    const struct xl__shape t = writer_write(w, of, depth);
    put_text(w, ")");
    return broadcast_shapes(s, t);
}

static struct xl__shape write_call3(struct writer *w, const char *name,
                                    enum kind first, enum kind rest,
                                    unsigned depth)
{
    put_text(w, name);
    put_text(w, "(");
    const struct xl__shape s = writer_write(w, first, depth);
    put_text(w, ", ");
    const struct xl__shape t = writer_write(w, rest, depth);
    put_text(w, ", ");
    const struct xl__shape u = writer_write(w, rest, depth);
    put_text(w, ")");
    return broadcast_shapes(s, broadcast_shapes(t, u));
}

/* Write ", axis=..." for a random set of axes of the argument. */
static void put_axes(struct writer *w, struct xl__shape *s)
{
    const unsigned which = 1 + random_below(w, (1u << s->n_dims) - 1);
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
    put_text(w, is_one ? "" : ")");
}

static struct xl__shape write_reduction(struct writer *w, const char *name,
                                        enum kind of, unsigned depth)
{
    put_text(w, name);
    put_text(w, "(");
    struct xl__shape s = writer_write(w, of, depth);
    if (s.n_dims > 0 && !once_in(w, 4))
        put_axes(w, &s);
    else
        for (unsigned d = 0; d < s.n_dims; d++)
            s.size[d] = 1;
    put_text(w, ")");
    return s;
}

/* A row function of a tensor. A tensor without dimensions has no axis and is
 * written as it is. */
static struct xl__shape write_row_function(struct writer *w, unsigned depth)
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
        put_text(w, writer_pick(w, names));
        xl__str_printf(&w->c->text, "(%s * 1.5", x->text);
        xl__str_printf(&w->c->text, once_in(w, 2) ? ")" : ", axis=%d)",
                       -1 - (int)random_below(w, s.n_dims));
        return s;
    }
    put_text(w, has_bias ? "layer_norm(" : "rms_norm(");
    put_text(w, x->text);
    for (int i = 0; i < 1 + has_bias; i++) {
        put_text(w, ", ");
        leaf_number(w, FLOATS);
    }
    put_text(w, ", 1e-3)");
    return s;
}

/* A function with a limited domain, mostly of an argument inside it; one in
 * eight may give NaN. */
static struct xl__shape write_guarded(struct writer *w, unsigned depth)
{
    static const char *const of_positive[] = {"sqrt",  "rsqrt", "log",
                                              "log2", "log1p", NULL};
    static const char *const of_small[] = {"exp", "exp2", "expm1", "tan",
                                           NULL};
    const bool positive = once_in(w, 2), raw = once_in(w, 8);
    put_text(w, writer_pick(w, positive ? of_positive : of_small));
    put_text(w, raw ? "(" : positive ? "(0.1 + abs(" : "(tanh(");
    const struct xl__shape s = writer_write(w, number_kind(w), depth);
    put_text(w, raw ? ")" : "))");
    return s;
}

static struct xl__shape write_power(struct writer *w, unsigned depth)
{
    static const char *const by[] = {"^2", "^3", "^0.5", "^-1", "^1.7", NULL};
    if (once_in(w, 2)) {
        const struct xl__shape s = write_call1(w, "abs", FLOATS, depth);
        put_text(w, writer_pick(w, by));
        return s;
    }
    put_text(w, "pow(abs(");
    const struct xl__shape s = writer_write(w, FLOATS, depth);
    put_text(w, ") + 0.5, tanh(");
    const struct xl__shape t = writer_write(w, FLOATS, depth);
    put_text(w, "))");
    return broadcast_shapes(s, t);
}

/* rand(), randn() or index(), combined with a tensor, whose shape they get. */
static struct xl__shape write_random_numbers(struct writer *w, unsigned depth)
{
    struct leaf *x = leaf_has_room(w) ? leaf_tensor(w, FLOATS) : NULL;
    if (!x)
        return writer_write(w, FLOATS, depth);
    if (x->shape.n_dims == 0)
        return leaf_put(w, x);
    const char *what = once_in(w, 3)   ? "index"
                       : once_in(w, 2) ? "rand"
                                       : "randn";
    const unsigned most = *what == 'i' ? x->shape.n_dims : 100;
    xl__str_printf(&w->c->text, "(%s(%u) %s %s)", what, random_below(w, most),
                   once_in(w, 2) ? "+" : "*", x->text);
    return x->shape;
}

static struct xl__shape write_float(struct writer *w, unsigned depth)
{
    static const char *const by_element[] = {
        "abs",   "ceil", "floor",     "round", "trunc",    "sign", "sin",
        "cos",   "tanh", "erf",       "relu",  "sigmoid",  "gelu", "silu",
        "-",     "sin",  "gelu_tanh", "cos",   "softplus", "tanh", "atan",
        "asinh", "sinh", "cosh",      "acos",  "atanh",    NULL};
    static const char *const infixes[] = {"+", "-", "*", "+", "*", NULL};
    static const char *const binary[] = {"min",   "max",   "mod", "fmod",
                                         "atan2", "hypot", NULL};
    static const char *const reductions[] = {
        "sum", "mean", "var", "std", "min", "max", "norm2", "logsumexp", NULL};
    static const char *const types[] = {"f32", "f16", "bf16", NULL};
    switch (random_below(w, 14)) {
    case 0:
    case 1:
        return write_call1(w, writer_pick(w, by_element), FLOATS, depth);
    case 2:
    case 3:
    case 4:
        return write_infix(w, writer_pick(w, infixes), FLOATS, number_kind(w),
                           depth);
    case 5:
        return write_infix(w, "/", number_kind(w), number_kind(w), depth);
    case 6:
        return write_call2(w, writer_pick(w, binary), FLOATS, depth);
    case 7:
        return write_call3(w, "where", BOOLS, FLOATS, depth);
    case 8:
        return write_call3(w, once_in(w, 2) ? "clamp" : "fma", FLOATS, FLOATS,
                           depth);
    case 9:
        return write_reduction(w, writer_pick(w, reductions), FLOATS, depth);
    case 10:
        return write_row_function(w, depth);
    case 11:
        return once_in(w, 4) ? write_random_numbers(w, depth)
                             : write_guarded(w, depth);
    case 12:
        return write_power(w, depth);
    default: {
        put_text(w, "cast(");
        const struct xl__shape s = writer_write(w, number_kind(w), depth);
        xl__str_printf(&w->c->text, ", %s)", writer_pick(w, types));
        return s;
    }
    }
}

static struct xl__shape write_int(struct writer *w, unsigned depth)
{
    static const char *const by_element[] = {"abs",  "-", "sign",
                                             "relu", "~", NULL};
    static const char *const infixes[] = {"+", "-", "*",  "//", "%",
                                          "&", "|", "<<", ">>", NULL};
    static const char *const binary[] = {"min", "max", "xor", "fmod", NULL};
    static const char *const reductions[] = {"sum", "prod", "min", "max",
                                             NULL};
    static const char *const index_reductions[] = {"argmin", "argmax", NULL};
    static const char *const types[] = {"i32", "i8", "u8", NULL};
    switch (random_below(w, 8)) {
    case 0:
        return write_call1(w, writer_pick(w, by_element), INTS, depth);
    case 1:
        return write_infix(w, writer_pick(w, infixes), INTS, INTS, depth);
    case 2:
        return write_call2(w, writer_pick(w, binary), INTS, depth);
    case 3:
        return write_call3(w, "where", BOOLS, INTS, depth);
    case 4:
        return write_call3(w, "clamp", INTS, INTS, depth);
    case 5:
        return once_in(w, 3) ? write_reduction(w, "sum", BOOLS, depth)
                             : write_reduction(w, writer_pick(w, reductions),
                                               INTS, depth);
    case 6:
        return write_reduction(w, writer_pick(w, index_reductions),
                               number_kind(w), depth);
    default: {
        put_text(w, "cast(");
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
    switch (random_below(w, 6)) {
    case 0:
    case 1:
        return write_infix(w, writer_pick(w, compare), number_kind(w),
                           number_kind(w), depth);
    case 2:
        return write_infix(w, writer_pick(w, logic), BOOLS, BOOLS, depth);
    case 3:
        return write_call1(w, "!", BOOLS, depth);
    case 4:
        return write_reduction(w, writer_pick(w, reductions), BOOLS, depth);
    default:
        return write_call1(w, once_in(w, 2) ? "isnan" : "isfinite", FLOATS,
                           depth);
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

/* Add a name that later statements may read: a temporary or an output. */
static void add_name_leaf(struct writer *w, const char *name, enum kind kind,
                          const struct xl__shape *shape)
{
    if (w->n_leaves == MAX_LEAVES)
        return;
    struct leaf *l = &w->leaf[w->n_leaves++];
    *l = (struct leaf){.kind = kind, .shape = *shape, .binding = CASE_NAMES};
    xl__strcpy(l->text, LEAF_TEXT, name);
}

/* An input that was read as a whole and may be overwritten by the next result.
 */
static struct leaf *find_overwritable(struct writer *w)
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

/* Write "name = expression", which overwrites an input. From then on the name
 * has the value and its shape. */
static void assign_in_place(struct writer *w, struct leaf *l)
{
    char name[CASE_NAME];
    bool is_other = false;
    xl__strcpy(name, sizeof name, l->text);
    if (!l->is_written &&
        once_in(w, 4)) { /* by a second name of the same view */
        const unsigned other = l->binding;
        name_random(name, 'a', w->c->n);
        (void)case_alias(w->c, name, other);
        is_other = true;
    }
    xl__str_printf(&w->c->text, "%s = ", name);
    const struct xl__shape s = writer_write(w, l->kind, MAX_DEPTH);
    if (is_other)
        l->is_whole = false; /* not both names may be written */
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
    add_name_leaf(w, name, kind, &s);
}

/* Write an assignment to an output: with the full shape or the value's own, of
 * the value's kind or a more general one, at times in an input's buffer. */
static void assign_output(struct writer *w, enum kind kind, const char *name)
{
    struct expr_case *c = w->c;
    const enum kind own =
        (enum kind)(kind + random_below(w, FLOATS - kind + 1));
    xl__str_printf(&c->text, "%s = ", name);
    const struct xl__shape s = writer_write(w, kind, MAX_DEPTH);
    const struct xl__shape shape = once_in(w, 2) ? s : w->all;
    const struct case_view v = layout_random(w, &shape, false);
    const unsigned other = c->n ? random_below(w, c->n) : 0;
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
    for (unsigned i = 0, n = random_below(w, 4); i < n; i++) {
        struct leaf *l = find_overwritable(w);
        if (l && once_in(w, 2))
            assign_in_place(w, l);
        else if (once_in(w, 3)) {
            name_random(name, 'y', i);
            assign_output(w, any_kind(w), name);
        } else
            assign_temp(w, any_kind(w));
        put_text(w, writer_pick(w, ends));
    }
    assign_output(w, any_kind(w), "out");
    free(w);
}
