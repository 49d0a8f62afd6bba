/* SPDX-License-Identifier: Apache-2.0 */
/* A node as one line of the language, with no more parentheses than needed. A
 * value with several uses is written out at each of them, so a long text is
 * cut.
 *
 * A view is written as the slice that gives it: the index of its first element
 * is found from its offset, dimension by dimension from the widest stride on.
 * Where that is not possible, as for a permuted slice, the text is x[...]. */
#include "expr/graph/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TEXT_BYTES = 240, /* bytes of a text; what is longer is cut */
    MAX_LEVELS = 40,      /* levels of arguments that are followed */
    NUMBER_BYTES = 40,    /* bytes of a number as text */
    MAX_DIGITS = 9,       /* digits that distinguish any two f32 */
    MAX_PLAIN = 1000000   /* whole numbers below it have no exponent */
};

/* Levels of precedence, from the lowest. */
enum {
    P_ALL,
    P_OR,
    P_AND,
    P_EQUAL,
    P_ORDER,
    P_SHIFT,
    P_SUM,
    P_PRODUCT,
    P_SIGN,
    P_POWER,
    P_ATOM
};

static const struct {
    int level;
    bool is_right; /* right-associative: a ^ (b ^ c) needs no parentheses, (a ^
                      b) ^ c does */
} operators[XL__N_EXPR_OPS] = {
    [XL__E_OR] = {P_OR, false},
    [XL__E_AND] = {P_AND, false},
    [XL__E_EQ] = {P_EQUAL, false},
    [XL__E_NE] = {P_EQUAL, false},
    [XL__E_LT] = {P_ORDER, false},
    [XL__E_LE] = {P_ORDER, false},
    [XL__E_GT] = {P_ORDER, false},
    [XL__E_GE] = {P_ORDER, false},
    [XL__E_SHL] = {P_SHIFT, false},
    [XL__E_SHR] = {P_SHIFT, false},
    [XL__E_ADD] = {P_SUM, false},
    [XL__E_SUB] = {P_SUM, false},
    [XL__E_MUL] = {P_PRODUCT, false},
    [XL__E_DIV] = {P_PRODUCT, false},
    [XL__E_FLOORDIV] = {P_PRODUCT, false},
    [XL__E_NEG] = {P_SIGN, false},
    [XL__E_NOT] = {P_SIGN, false},
    [XL__E_BITNOT] = {P_SIGN, false},
    [XL__E_POW] = {P_POWER, true},
};

struct printer {
    const struct xl__graph *g;
    const struct xl__signature *s;
    struct xl__str *out;
    size_t first; /* bytes of `out` before this text */
};

/* -- views ------------------------------------------------------------ */

/* What is viewed: a bound tensor, or a computed value in the order of its
 * elements. */
struct viewed {
    struct xl__shape shape;
    size_t stride[XL_MAX_DIMS];
};

static struct viewed bound_tensor(const struct xl__parameter *b)
{
    struct viewed v = {.shape.n_dims = b->n_dims};
    memcpy(v.shape.size, b->size, sizeof b->size);
    memcpy(v.stride, b->stride, sizeof b->stride);
    return v;
}

static struct viewed computed_value(const struct xl__node *n)
{
    struct viewed v = {.shape = n->shape};
    size_t step = 1;
    for (unsigned d = n->shape.n_dims; d-- > 0;) {
        v.stride[d] = step;
        step *= n->shape.size[d];
    }
    return v;
}

/* Has dimension d of the view the size and the stride of dimension `as`? */
static bool has_dimension(const struct xl__node *n, unsigned d,
                          const struct viewed *of, unsigned as)
{
    return n->shape.size[d] == of->shape.size[as] &&
           (of->shape.size[as] == 1 || n->stride[d] == of->stride[as]);
}

/* Are the dimensions those of what is viewed, in order or reversed? */
static bool is_whole(const struct xl__node *n, const struct viewed *of,
                     bool is_reverse)
{
    const unsigned n_dims = of->shape.n_dims;
    if (n->offset != 0 || n->shape.n_dims != n_dims)
        return false;
    for (unsigned d = 0; d < n_dims; d++)
        if (!has_dimension(n, d, of, is_reverse ? n_dims - 1 - d : d))
            return false;
    return true;
}

/* Find the index of the view's first element from its offset, beginning with
 * the dimension of the widest stride. */
static bool find_first(const struct xl__node *n, const struct viewed *of,
                       size_t first[XL_MAX_DIMS])
{
    size_t n_left = n->offset;
    bool is_done[XL_MAX_DIMS] = {false};
    for (unsigned i = 0; i < of->shape.n_dims; i++) {
        unsigned widest = XL_MAX_DIMS;
        for (unsigned d = 0; d < of->shape.n_dims; d++)
            if (!is_done[d] &&
                (widest == XL_MAX_DIMS || of->stride[d] > of->stride[widest]))
                widest = d;
        const size_t stride = of->stride[widest];
        is_done[widest] = true;
        first[widest] = stride > 0 ? n_left / stride : 0;
        if (first[widest] >= of->shape.size[widest])
            return false;
        n_left -= first[widest] * stride;
    }
    return n_left == 0;
}

/* Is dimension d of the view a range of dimension `as` that begins at `first`?
 */
static bool is_range(const struct xl__node *n, unsigned d,
                     const struct viewed *of, unsigned as, size_t first)
{
    const size_t stride = of->stride[as], count = n->shape.size[d];
    const size_t length = xl__stride_length(n->stride[d]);
    const size_t room =
        length == n->stride[d] ? of->shape.size[as] - 1 - first : first;
    if (count == 1)
        return true;
    return stride > 0 && length >= stride && length % stride == 0 &&
           length / stride <= room / (count - 1);
}

static void print_backward(size_t first, size_t count, size_t step,
                           size_t size, struct xl__str *out)
{
    if (first + 1 < size)
        xl__str_printf(out, "%zu", first);
    xl__str_add(out, ":");
    if (first >= count * step) /* otherwise the slice ends with index 0 */
        xl__str_printf(out, "%zu", first - count * step);
    xl__str_printf(out, ":-%zu", step);
}

static void print_range(size_t first, size_t count, size_t step, size_t size,
                        struct xl__str *out)
{
    if (xl__stride_length(step) != step) {
        print_backward(first, count, 0 - step, size, out);
        return;
    }
    const size_t last = first + (count - 1) * step + 1;
    if (first > 0)
        xl__str_printf(out, "%zu", first);
    xl__str_add(out, ":");
    if (last + step <= size) /* otherwise the slice ends with the dimension */
        xl__str_printf(out, "%zu", last);
    if (step > 1)
        xl__str_printf(out, ":%zu", step);
}

/* The step of dimension d of the view along a dimension of this stride. */
static size_t step_of(const struct xl__node *n, unsigned d, size_t stride)
{
    if (n->shape.size[d] == 1)
        return 1;
    const size_t step = xl__stride_length(n->stride[d]) / stride;
    return xl__stride_length(n->stride[d]) == n->stride[d] ? step : 0 - step;
}

/* Print one slice for each dimension: an index where the view has no such
 * dimension. */
static bool print_slices(const struct xl__node *n, const struct viewed *of,
                         struct xl__str *out)
{
    size_t first[XL_MAX_DIMS];
    const unsigned n_dims = of->shape.n_dims;
    unsigned d = 0;
    if (n->shape.n_dims > n_dims || !find_first(n, of, first))
        return false;
    for (unsigned as = 0; as < n_dims; as++) {
        const unsigned n_left = n->shape.n_dims - d;
        const bool is_kept = n_left > 0 && is_range(n, d, of, as, first[as]) &&
                             (n_left == n_dims - as || n->shape.size[d] > 1 ||
                              of->shape.size[as] == 1);
        if (!is_kept && n_left == n_dims - as)
            return false;
        xl__str_add(out, as > 0 ? ", " : "[");
        if (!is_kept) {
            xl__str_printf(out, "%zu", first[as]);
            continue;
        }
        print_range(first[as], n->shape.size[d], step_of(n, d, of->stride[as]),
                    of->shape.size[as], out);
        d++;
    }
    xl__str_add(out, "]");
    return true;
}

static void print_node(const struct printer *p, unsigned node, int level,
                       unsigned depth);

/* Print the name or the value that is viewed. */
static void print_viewed(const struct printer *p, const struct xl__node *n,
                         int level, unsigned depth)
{
    if (n->op == XL__E_INPUT)
        xl__str_add(p->out, p->s->b[n->binding].name);
    else
        print_node(p, n->arg[0], level, depth + 1);
}

static void print_view(const struct printer *p, const struct xl__node *n,
                       unsigned depth)
{
    const struct viewed of = n->op == XL__E_INPUT
                                 ? bound_tensor(&p->s->b[n->binding])
                                 : computed_value(&p->g->node[n->arg[0]]);
    struct xl__str slices = {0};
    const bool is_reverse = !is_whole(n, &of, false) && is_whole(n, &of, true);
    xl__str_add(p->out, is_reverse ? "transpose(" : "");
    print_viewed(p, n, is_reverse ? P_ALL : P_ATOM, depth);
    if (is_reverse)
        xl__str_add(p->out, ")");
    else if (!is_whole(n, &of, false))
        xl__str_add(p->out, print_slices(n, &of, &slices)
                                ? xl__str_text(&slices)
                                : "[...]");
    xl__str_clear(&slices);
}

/* -- leaves ----------------------------------------------------------- */

/* The shortest text that is read back as the same f32. */
static void print_float(struct xl__str *out, double value)
{
    char text[NUMBER_BYTES];
    if (isnan(value) || isinf(value)) {
        xl__str_add(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    if (value == rint(value) && fabs(value) < MAX_PLAIN && value != 0) {
        xl__str_printf(out, "%.0f", value);
        return;
    }
    int digits = 0;
    do /* both use the same locale */
        snprintf(text, sizeof text, "%.*g", ++digits, value);
    while (digits < MAX_DIGITS && (double)strtof(text, NULL) != value);
    xl__str_printf(out, "%.*g", digits, value);
    if (value == 0 && signbit(value))
        xl__str_add(out, ".0"); /* -0 without a point would be an integer */
}

static void print_const(const struct printer *p, const struct xl__node *n,
                        int level)
{
    const bool is_wrapped = signbit(n->value) && level > P_SIGN;
    if (is_wrapped)
        xl__str_add(p->out, "(");
    if (n->type == XL__V_BOOL)
        xl__str_add(p->out, n->value != 0 ? "true" : "false");
    else if (n->type == XL__V_I32)
        xl__str_printf(p->out, "%" PRId64, (int64_t)n->value);
    else
        print_float(p->out, n->value);
    if (is_wrapped)
        xl__str_add(p->out, ")");
}

/* -- operations ------------------------------------------------------- */

static void print_operator(const struct printer *p, const struct xl__node *n,
                           int level, unsigned depth)
{
    const int own = operators[n->op].level;
    const bool is_right = operators[n->op].is_right;
    if (own < level)
        xl__str_add(p->out, "(");
    if (xl__expr_ops[n->op].n_args == 1) {
        xl__str_add(p->out, xl__expr_ops[n->op].name);
        print_node(p, n->arg[0], own, depth);
    } else {
        print_node(p, n->arg[0], own + is_right, depth);
        xl__str_printf(p->out, " %s ", xl__expr_ops[n->op].name);
        print_node(p, n->arg[1], own + !is_right, depth);
    }
    if (own < level)
        xl__str_add(p->out, ")");
}

/* Print ", axis=1" or ", axis=(0, 2)"; nothing when all axes are reduced. */
static void print_axes(const struct printer *p, const struct xl__node *n)
{
    const unsigned n_dims = p->g->node[n->arg[0]].shape.n_dims;
    unsigned count = 0;
    for (unsigned d = 0; d < n_dims; d++)
        count += n->axes >> d & 1;
    if (count == n_dims)
        return;
    xl__str_add(p->out, count > 1 ? ", axis=(" : ", axis=");
    const char *between = "";
    for (unsigned d = 0; d < n_dims; d++) {
        if ((n->axes >> d & 1) == 0)
            continue;
        xl__str_printf(p->out, "%s%u", between, d);
        between = ", ";
    }
    xl__str_add(p->out, count > 1 ? ")" : "");
}

static void print_call(const struct printer *p, const struct xl__node *n,
                       unsigned depth)
{
    const struct xl__expr_op_info *info = &xl__expr_ops[n->op];
    const bool is_gather = n->op == XL__E_GATHER; /* the source comes last */
    xl__str_printf(p->out, "%s(", info->name);
    for (unsigned a = 0; a < info->n_args; a++) {
        xl__str_add(p->out, a > 0 ? ", " : "");
        print_node(p, n->arg[is_gather ? !a : a], P_ALL, depth);
    }
    for (unsigned d = 0; is_gather && d < XL_MAX_DIMS; d++)
        if (n->axes >> d & 1)
            xl__str_printf(p->out, ", axis=%u", d);
    if (n->op == XL__E_CAST)
        xl__str_printf(p->out, ", %s", xl_dtype_name(n->dtype));
    if (info->cls == XL__C_REDUCE)
        print_axes(p, n);
    xl__str_add(p->out, ")");
}

static void print_node(const struct printer *p, unsigned node, int level,
                       unsigned depth)
{
    const struct xl__node *n = &p->g->node[node];
    if (depth == MAX_LEVELS || p->out->len > p->first + MAX_TEXT_BYTES)
        xl__str_add(p->out, depth == MAX_LEVELS ? "..." : "");
    else if (n->op == XL__E_INPUT || n->op == XL__E_VIEW)
        print_view(p, n, depth);
    else if (n->op == XL__E_COPY)
        print_node(p, n->arg[0], level, depth + 1);
    else if (n->op == XL__E_SCALAR)
        xl__str_add(p->out, p->s->b[n->binding].name);
    else if (n->op == XL__E_CONST)
        print_const(p, n, level);
    else if (operators[n->op].level != P_ALL)
        print_operator(p, n, level, depth + 1);
    else
        print_call(p, n, depth + 1);
}

void xl__graph_print(const struct xl__graph *g, const struct xl__signature *s,
                     unsigned node, struct xl__str *out)
{
    const struct printer p = {g, s, out, out->len};
    static const char cut[] = "...";
    print_node(&p, node, P_ALL, 0);
    if (out->len <= p.first + MAX_TEXT_BYTES || out->text == NULL)
        return;
    memcpy(out->text + p.first + MAX_TEXT_BYTES - strlen(cut), cut,
           sizeof cut);
    out->len = p.first + MAX_TEXT_BYTES;
}
