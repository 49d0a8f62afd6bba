/* SPDX-License-Identifier: Apache-2.0 */
/* The text is written from left to right while the shape of what was written
 * comes back; the kind is asked for. Everything broadcasts to one shape, so
 * that any two values can meet. */
#include "lib/expr/device/expr_writer.h"

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

struct xl__shape writer_write(struct writer *w, enum kind kind,
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
