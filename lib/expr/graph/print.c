/* SPDX-License-Identifier: Apache-2.0 */
/* A node as one line of the language, with no more parentheses than it needs.
 * A value that many use is written out wherever it is used, so the text is
 * cut once it is long. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/graph/print.h"

enum {
    LONG = 240,     /* bytes: what is longer is cut */
    DEEP = 40,      /* arguments of arguments that are followed */
    NUMBER = 40,    /* bytes of a number in text */
    ENOUGH = 9,     /* digits that tell any two f32 apart */
    WRITTEN_OUT = 1000000 /* whole numbers below have no exponent */
};

/* How tightly an operation binds. */
enum { P_ALL, P_OR, P_AND, P_EQUAL, P_ORDER, P_SUM, P_PRODUCT, P_SIGN,
       P_POWER, P_ATOM };

static const struct {
    int level;
    bool is_right; /* a ^ (b ^ c) needs no parentheses, (a ^ b) ^ c does */
} operators[XL__N_EXPR_OPS] = {
    [XL__E_OR] = {P_OR, false},        [XL__E_AND] = {P_AND, false},
    [XL__E_EQ] = {P_EQUAL, false},     [XL__E_NE] = {P_EQUAL, false},
    [XL__E_LT] = {P_ORDER, false},     [XL__E_LE] = {P_ORDER, false},
    [XL__E_GT] = {P_ORDER, false},     [XL__E_GE] = {P_ORDER, false},
    [XL__E_ADD] = {P_SUM, false},      [XL__E_SUB] = {P_SUM, false},
    [XL__E_MUL] = {P_PRODUCT, false},  [XL__E_DIV] = {P_PRODUCT, false},
    [XL__E_NEG] = {P_SIGN, false},     [XL__E_NOT] = {P_SIGN, false},
    [XL__E_POW] = {P_POWER, true},
};

struct printer {
    const struct xl__graph *g;
    const struct xl__signature *s;
    struct xl__str *out;
    size_t first; /* bytes that were in `out` before */
};

static void print(const struct printer *p, unsigned node, int level,
                  unsigned depth);

/* -- leaves ---------------------------------------------------------------- */

/* The shortest text that gives the f32 back. */
static void print_float(struct xl__str *out, double value)
{
    char text[NUMBER];
    if (isnan(value) || isinf(value)) {
        xl__str_add(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    if (value == rint(value) && fabs(value) < WRITTEN_OUT && value != 0) {
        xl__str_printf(out, "%.0f", value);
        return;
    }
    int digits = 0;
    do /* the locale is one and the same for both */
        snprintf(text, sizeof text, "%.*g", ++digits, value);
    while (digits < ENOUGH && (double)strtof(text, NULL) != value);
    xl__str_printf(out, "%.*g", digits, value);
    if (value == 0 && signbit(value))
        xl__str_add(out, ".0"); /* -0 is an integer, which has no sign */
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
        xl__str_printf(p->out, "%" PRId32, (int32_t)n->value);
    else
        print_float(p->out, n->value);
    if (is_wrapped)
        xl__str_add(p->out, ")");
}

/* -- operations ------------------------------------------------------------ */

static void print_operator(const struct printer *p, const struct xl__node *n,
                           int level, unsigned depth)
{
    const int own = operators[n->op].level;
    const bool is_right = operators[n->op].is_right;
    if (own < level)
        xl__str_add(p->out, "(");
    if (xl__expr_ops[n->op].n_args == 1) {
        xl__str_add(p->out, xl__expr_ops[n->op].name);
        print(p, n->arg[0], own, depth);
    } else {
        print(p, n->arg[0], own + is_right, depth);
        xl__str_printf(p->out, " %s ", xl__expr_ops[n->op].name);
        print(p, n->arg[1], own + !is_right, depth);
    }
    if (own < level)
        xl__str_add(p->out, ")");
}

/* ", axis=1" or ", axis=(0, 2)"; nothing when it is all of them. */
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
    xl__str_printf(p->out, "%s(", info->name);
    for (unsigned a = 0; a < info->n_args; a++) {
        xl__str_add(p->out, a > 0 ? ", " : "");
        print(p, n->arg[a], P_ALL, depth);
    }
    if (n->op == XL__E_CAST)
        xl__str_printf(p->out, ", %s", xl_dtype_name(n->dtype));
    if (info->cls == XL__C_REDUCE)
        print_axes(p, n);
    xl__str_add(p->out, ")");
}

static void print(const struct printer *p, unsigned node, int level,
                  unsigned depth)
{
    const struct xl__node *n = &p->g->node[node];
    if (depth == DEEP || p->out->len > p->first + LONG)
        xl__str_add(p->out, depth == DEEP ? "..." : "");
    else if (n->op == XL__E_INPUT)
        xl__print_view(n, &p->s->b[n->binding], p->out);
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
    print(&p, node, P_ALL, 0);
    if (out->len <= p.first + LONG || out->text == NULL)
        return;
    memcpy(out->text + p.first + LONG - strlen(cut), cut, sizeof cut);
    out->len = p.first + LONG;
}
