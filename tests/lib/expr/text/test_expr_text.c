/* SPDX-License-Identifier: Apache-2.0 */
/* Text and terms of the expression language: the tree of every construct; and
 * for every error its line, column and message. Trees are compared as text in
 * prefix form: the operation, then its arguments. */
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/language/builder.h"
#include "expr/language/parser.h"
#include "expr/language/tree.h"
#include "support/support.h"

enum { LONG = 3 * XL_EXPR_MAX_TEXT / 2 };

/* -- trees as text ---------------------------------------------------- */

static void print_axes(const struct xl__tree_node *n, struct xl__str *out)
{
    for (unsigned i = 0; i < n->n_axes; i++)
        xl__str_printf(out, "%s%d", i > 0 ? "," : "", n->axes[i]);
}

static void print_slice(const struct xl__slice *s, struct xl__str *out)
{
    if (s->is_rest) {
        xl__str_add(out, "...");
        return;
    }
    if (s->is_new) {
        xl__str_add(out, "None");
        return;
    }
    if (s->has_first)
        xl__str_printf(out, "%lld", (long long)s->first);
    if (s->is_index)
        return;
    xl__str_add(out, ":");
    if (s->has_last)
        xl__str_printf(out, "%lld", (long long)s->last);
    xl__str_printf(out, ":%lld", (long long)s->step);
}

static void print_node(const struct xl__tree *t, unsigned node,
                       struct xl__str *out);

static void print_view(const struct xl__tree *t, const struct xl__tree_node *n,
                       struct xl__str *out)
{
    static const char *const open[] = {"[", "{", "<"}, *const close[] = {
                                                           "]", "}", ">"};
    print_node(t, t->arg[n->first_arg], out);
    xl__str_add(out, open[n->view]);
    print_axes(n, out);
    for (unsigned i = 0; i < n->n_sizes; i++)
        xl__str_printf(out, "%s%lld", i > 0 ? "," : "", (long long)n->size[i]);
    for (unsigned i = 0; i < n->n_slices; i++) {
        xl__str_add(out, i > 0 ? "," : "");
        print_slice(&n->slice[i], out);
    }
    xl__str_add(out, close[n->view]);
}

static const char *function_of(const struct xl__tree_node *n)
{
    static const char *const rows[] = {
        "?", "std", "softmax", "log_softmax", "layer_norm", "rms_norm"};
    if (n->row != XL__ROW_NONE)
        return rows[n->row];
    return n->op == XL__E_RMIN   ? "rmin"
           : n->op == XL__E_RMAX ? "rmax"
           : n->op == XL__E_NEG  ? "neg"
                                 : xl__expr_ops[n->op].name;
}

static void print_node(const struct xl__tree *t, unsigned node,
                       struct xl__str *out)
{
    const struct xl__tree_node *n = &t->node[node];
    switch (n->kind) {
    case XL__T_INTEGER: xl__str_printf(out, "%.0f", n->value); return;
    case XL__T_NUMBER: xl__str_printf(out, "%.9gf", n->value); return;
    case XL__T_BOOL: xl__str_add(out, n->value > 0 ? "true" : "false"); return;
    case XL__T_NAME: xl__str_add(out, t->name[n->name]); return;
    case XL__T_VIEW: print_view(t, n, out); return;
    case XL__T_CALL: break;
    }
    xl__str_printf(out, "(%s", function_of(n));
    for (unsigned i = 0; i < n->n_args; i++) {
        unsigned arg = t->arg[n->first_arg + i];
        assert_true(arg < node); /* arguments come first */
        xl__str_add(out, " ");
        print_node(t, arg, out);
    }
    if (n->row == XL__ROW_NONE && n->op == XL__E_CAST)
        xl__str_printf(out, " %s", xl_dtype_name(n->dtype));
    if (n->has_axes) {
        xl__str_add(out, " @");
        print_axes(n, out);
    }
    xl__str_add(out, ")");
}

static void print_tree(const struct xl__tree *t, struct xl__str *out)
{
    for (unsigned i = 0; i < t->n_statements; i++) {
        const struct xl__statement *s = &t->statement[i];
        xl__str_add(out, i > 0 ? "; " : "");
        if (s->view != UINT_MAX)
            print_view(t, &t->node[s->view], out);
        else
            xl__str_add(out, t->name[s->name]);
        xl__str_add(out, " = ");
        print_node(t, s->value, out);
    }
}

static void expect_tree(const struct xl__tree *t, const char *expected)
{
    struct xl__str got = {0};
    print_tree(t, &got);
    assert_string_equal(xl__str_text(&got), expected);
    xl__str_clear(&got);
}

/* A copy of exactly these bytes, so that a sanitizer finds a read behind them.
 */
static xl_status parse(const char *text, size_t len, struct xl__tree *t,
                       struct xl__error *e)
{
    char *bytes = malloc(len > 0 ? len : 1);
    assert_non_null(bytes);
    if (len > 0)
        memcpy(bytes, text, len);
    xl_status status = xl__parse(bytes, len, t, e);
    free(bytes);
    return status;
}

static void expect(const char *text, const char *expected)
{
    struct xl__tree t;
    struct xl__error e = {0};
    xl_status status = parse(text, strlen(text), &t, &e);
    if (status != XL_OK)
        fail_msg("%s\n%s", text, xl__str_text(&e.detail));
    expect_tree(&t, expected);
    assert_string_equal(t.text, text);
    xl__tree_clear(&t);
    xl__error_clear(&e);
}

/* Expect an error at "line:column" with a message that begins so. */
static void refuse_n(const char *text, size_t len, const char *at,
                     const char *words)
{
    struct xl__tree t;
    struct xl__error e = {0};
    xl_status status = parse(text, len, &t, &e);
    const char *detail = xl__str_text(&e.detail);
    size_t at_len = strlen(at);
    if (status == XL_OK)
        fail_msg("accepted: %.60s", text);
    assert_status(status, XL_BAD_ARGUMENT, detail);
    if (strncmp(detail, at, at_len) != 0 || detail[at_len] != ':' ||
        strstr(detail, words) == NULL)
        fail_msg("%.60s\nwant %s: ...%s\ngot  %s", text, at, words, detail);
    assert_null(t.node); /* nothing is left to free */
    assert_null(t.text);
    xl__error_clear(&e);
}

static void refuse(const char *text, const char *at, const char *words)
{
    refuse_n(text, strlen(text), at, words);
}

/* -- constructs ------------------------------------------------------- */

static const struct {
    const char *text, *tree;
} constructs[] = {
    /* statements */
    {"x", "out = x"},
    {"y = x", "y = x"},
    {"y = x;", "y = x"},
    {"y = x; z = y", "y = x; z = y"},
    {"y = x\nz = y", "y = x; z = y"},
    {"y = x\r\nz = y\r\n", "y = x; z = y"},
    {"\n\n;;y = x;\n;\n", "y = x"},
    {"y = x # comment; z = 2\nz = y # more", "y = x; z = y"},
    {"# only this first\n  y = x", "y = x"},
    {"x; y = 2", "out = x; y = 2"},
    {"y = (x +\n  # why\n  2)", "y = (+ x 2)"},
    {"y = sum(x,\n axis=\n (0,\n 1)\n)\nz = 1", "y = (sum x @0,1); z = 1"},
    {"y = x[1:\n2]\nz = 1", "y = x[1:2:1]; z = 1"},
    {"\ty\t=\tx\t", "y = x"},
    {"y=x+1;y=y*2", "y = (+ x 1); y = (* y 2)"},
    {"out = 1", "out = 1"},
    {"axis = 2; f32 = axis", "axis = 2; f32 = axis"},
    {"_a1 = B_2", "_a1 = B_2"},
    {"abcdefghijabcdefghijabcdefghija = 1",
     "abcdefghijabcdefghijabcdefghija = 1"},
    {"x[2:10:2, ...] = 3", "x[2:10:2,...] = 3"},
    {"x[1] = x[0]", "x[1] = x[0]"},
    /* numbers and constants */
    {"0", "out = 0"},
    {"007", "out = 7"},
    {"2147483647", "out = 2147483647"},
    {"-2147483648", "out = (neg 2147483648)"},
    {"x - 2147483647", "out = (- x 2147483647)"},
    {"1 - -9007199254740991", "out = (- 1 (neg 9007199254740991))"},
    {"-2147483647", "out = (neg 2147483647)"},
    {"2.5", "out = 2.5f"},
    {"2.", "out = 2f"},
    {".5", "out = 0.5f"},
    {"1e8", "out = 100000000f"},
    {"1E+2", "out = 100f"},
    {"1e-3", "out = 0.001f"},
    {"2147483648.0", "out = 2.14748365e+09f"},
    {"3.4028234663852886e38", "out = 3.40282347e+38f"},
    {"1e-999", "out = 0f"},
    {"0e99999999999999999999", "out = 0f"},
    {"1e-99999999999999999999", "out = 0f"},
    {"0.1", "out = 0.1f"},
    {"123456789012345678901234567890123456.5e-35", "out = 1.23456789f"},
    {"pi", "out = 3.14159265f"},
    {"inf", "out = inff"},
    {"-inf", "out = (neg inff)"},
    {"nan", "out = nanf"},
    {"true & false", "out = (& true false)"},
    /* precedence */
    {"a + b * c", "out = (+ a (* b c))"},
    {"a * b + c", "out = (+ (* a b) c)"},
    {"a - b - c", "out = (- (- a b) c)"},
    {"a / b / c", "out = (/ (/ a b) c)"},
    {"a / b * c", "out = (* (/ a b) c)"},
    {"a - (b - c)", "out = (- a (- b c))"},
    {"a ^ b ^ c", "out = (^ a (^ b c))"},
    {"(a ^ b) ^ c", "out = (^ (^ a b) c)"},
    {"-x^2", "out = (neg (^ x 2))"},
    {"(-x)^2", "out = (^ (neg x) 2)"},
    {"x^-2", "out = (^ x (neg 2))"},
    {"x^-y^2", "out = (^ x (neg (^ y 2)))"},
    {"2^-x*3", "out = (* (^ 2 (neg x)) 3)"},
    {"2*-x", "out = (* 2 (neg x))"},
    {"a--b", "out = (- a (neg b))"},
    {"--x", "out = (neg (neg x))"},
    {"!!x", "out = (! (! x))"},
    {"-x*y", "out = (* (neg x) y)"},
    {"!a == b", "out = (== (! a) b)"},
    {"a + b < c * d", "out = (< (+ a b) (* c d))"},
    {"a <= b & c >= d", "out = (& (<= a b) (>= c d))"},
    {"a | b & c", "out = (| a (& b c))"},
    {"a & b | c", "out = (| (& a b) c)"},
    {"a == b | c != d", "out = (| (== a b) (!= c d))"},
    {"(a < b) == c", "out = (== (< a b) c)"},
    {"a > b + 1 | !c", "out = (| (> a (+ b 1)) (! c))"},
    {"x[1:]^2", "out = (^ x[1::1] 2)"},
    {"-x[0]", "out = (neg x[0])"},
    {"((((x))))", "out = x"},
    /* calls */
    {"sin(x)^2 + cos(x)^2", "out = (+ (^ (sin x) 2) (^ (cos x) 2))"},
    {"pow(a, b)", "out = (^ a b)"},
    {"min(a, b)", "out = (min a b)"},
    {"max(a)", "out = (rmax a)"},
    {"min(a, axis=0)", "out = (rmin a @0)"},
    {"max(a + b, axis=(0, -1))", "out = (rmax (+ a b) @0,-1)"},
    {"where(a < 0, -1, 1)", "out = (where (< a 0) (neg 1) 1)"},
    {"clamp(x, 0, 1)", "out = (clamp x 0 1)"},
    {"fma(a, b, c)", "out = (fma a b c)"},
    {"mod(a, 2)", "out = (mod a 2)"},
    {"a % 2", "out = (mod a 2)"},
    {"fmod(a, 2)", "out = (fmod a 2)"},
    {"a // b * c % d / e", "out = (/ (mod (* (// a b) c) d) e)"},
    {"-a ** -b ** c", "out = (neg (^ a (neg (^ b c))))"},
    {"~a << b + c >> d", "out = (>> (<< (~ a) (+ b c)) d)"},
    {"a << b < c & d", "out = (& (< (<< a b) c) d)"},
    {"xor(a, b) | ~c", "out = (| (xor a b) (~ c))"},
    {"minimum(a, maximum(b, c))", "out = (min a (max b c))"},
    {"std(x, axis=(0, 1)) + prod(x)", "out = (+ (std x @0,1) (prod x))"},
    {"index(-1) <= index(0)", "out = (<= (index (neg 1)) (index 0))"},
    {"rand(7) < 0.5", "out = (< (rand 7) 0.5f)"},
    {"randn(seed)", "out = (randn seed)"},
    {"isnan(x)", "out = (isnan x)"},
    {"cast(x, f16)", "out = (cast x f16)"},
    {"cast(x + 1, bool)", "out = (cast (+ x 1) bool)"},
    {"cast(cast(x, u8), i32)", "out = (cast (cast x u8) i32)"},
    {"cast(cast(cast(x, i8), bf16), f32)",
     "out = (cast (cast (cast x i8) bf16) f32)"},
    {"sum(x)", "out = (sum x)"},
    {"sum(x, axis=1)", "out = (sum x @1)"},
    {"sum(x, axis = - 1)", "out = (sum x @-1)"},
    {"mean(x, axis=(0,))", "out = (mean x @0)"},
    {"var(x, axis=(0, 1, 2, 3, 4, 5))", "out = (var x @0,1,2,3,4,5)"},
    {"argmax(x) + argmin(y)", "out = (+ (argmax x) (argmin y))"},
    {"any(x) | all(y)", "out = (| (any x) (all y))"},
    {"logsumexp(x) + norm2(x)", "out = (+ (logsumexp x) (norm2 x))"},
    {"softmax(x)", "out = (softmax x)"},
    {"softmax(x, axis=-1)", "out = (softmax x @-1)"},
    {"log_softmax(x, axis=0)", "out = (log_softmax x @0)"},
    {"layer_norm(x, g, b, 1e-5)", "out = (layer_norm x g b 1e-05f)"},
    {"rms_norm(x, g, 1e-6)", "out = (rms_norm x g 1e-06f)"},
    {"sum(axis)", "out = (sum axis)"},
    {"sum(axis == 1)", "out = (sum (== axis 1))"},
    {"sin (x)", "out = (sin x)"},
    /* views */
    {"x[3]", "out = x[3]"},
    {"x[-1]", "out = x[-1]"},
    {"x[:]", "out = x[::1]"},
    {"x[::2]", "out = x[::2]"},
    {"x[1:]", "out = x[1::1]"},
    {"x[:-1]", "out = x[:-1:1]"},
    {"x[1:2:]", "out = x[1:2:1]"},
    {"x[ 1 : 20 : 3 , - 2 ]", "out = x[1:20:3,-2]"},
    {"x[...]", "out = x[...]"},
    {"x[0, ..., 1:2]", "out = x[0,...,1:2:1]"},
    {"x[:,:,:,:,:,:]", "out = x[::1,::1,::1,::1,::1,::1]"},
    {"x[9007199254740991]", "out = x[9007199254740991]"},
    {"x[::-1]", "out = x[::-1]"},
    {"x[a]", "out = (gather x a @0)"},
    {"x[:, a + 1]", "out = (gather x (+ a 1) @1)"},
    {"x[1:, (a), None]", "out = (gather x[1::1,::1,None] a @1)"},
    {"x[..., a, :]", "out = (gather x[...,::1,::1] a @-2)"},
    {"x[a][0]", "out = (gather x a @0)[0]"},
    {"x[y[a]]", "out = (gather x (gather y a @0) @0)"},
    {"gather(x, a, axis=-1)", "out = (gather x a @-1)"},
    {"x[5:1:-2, None, ..., None]", "out = x[5:1:-2,None,...,None]"},
    {"x[1][2]", "out = x[1][2]"},
    {"(a + b)[1]", "out = (+ a b)[1]"},
    {"-x[0]^2", "out = (neg (^ x[0] 2))"},
    {"2[None]", "out = 2[None]"},
    {"sum(x)[0]", "out = (sum x)[0]"},
    {"transpose(x)[0]", "out = x{}[0]"},
    {"transpose(a + b)", "out = (+ a b){}"},
    {"permute(transpose(x), 1)", "out = x{}{1}"},
    {"permute(x, (1, 0,)) + 1", "out = (+ x{1,0} 1)"},
    {"reshape(x, 2, -1)", "out = x<2,-1>"},
    {"reshape(exp(x[1:]), (3,))[0]", "out = (exp x[1::1])<3>[0]"},
    {"transpose(x)", "out = x{}"},
    {"permute(x, 1, 0, -1)", "out = x{1,0,-1}"},
    {"transpose(x) + x", "out = (+ x{} x)"},
    {"y[:, None] = x", "y[::1,None] = x"},
};

static void every_construct(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof constructs / sizeof *constructs; i++)
        expect(constructs[i].text, constructs[i].tree);
}

/* Every operation that has a name is called by it. */
static void every_function(void **state)
{
    (void)state;
    for (unsigned op = 0; op < XL__N_EXPR_OPS; op++) {
        const struct xl__expr_op_info *info = &xl__expr_ops[op];
        char text[80];
        struct xl__tree t;
        if (info->name[0] < 'a' || info->name[0] > 'z')
            continue;
        snprintf(text, sizeof text, "%s(%s%s)", info->name,
                 info->n_args == 1 ? "x"
                 : info->n_args == 2 ? "x, y"
                                     : "x, y, z",
                 op == XL__E_CAST ? ", f32" : "");
        assert_status(parse(text, strlen(text), &t, NULL), XL_OK, text);
        const struct xl__tree_node *n = &t.node[t.statement[0].value];
        assert_int_equal(n->kind, XL__T_CALL);
        assert_int_equal(n->op, op);
        assert_int_equal(n->row, XL__ROW_NONE);
        assert_int_equal(n->n_args, info->n_args);
        xl__tree_clear(&t);
    }
}

/* Locations are those of names, numbers, functions and operators. */
static void locations(void **state)
{
    static const char text[] = "y = a +\tsin(b)[";
    (void)state;
    struct xl__tree t;
    assert_status(parse(text, sizeof text - 2, &t, NULL), XL_OK, text);
    const unsigned expected[] = {4, 12, 8, 6}; /* a b sin + */
    assert_int_equal(t.n_nodes, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(t.node[i].location, expected[i]);
    assert_int_equal(t.statement[0].location, 0);
    xl__tree_clear(&t);
}

static double number_of(const char *text)
{
    struct xl__tree t;
    assert_status(parse(text, strlen(text), &t, NULL), XL_OK, text);
    double value = t.node[0].value;
    xl__tree_clear(&t);
    return value;
}

/* Numbers have the value of strtod() in the C locale, whatever the current
 * locale is. */
static void numbers_are_exact(void **state)
{
    static const char *const texts[] = {
        "0.1", "3.14159265358979323846", "1e-45", "1.17549435e-38",
        "16777217.0", "0.333333333333333333333333333333333333333333333333333",
        "9007199254740993.0", "123456789.123456789e-3", "2.2250738585072014e-308",
        "340282356779733623858607532500980858880.0", "1e22", "1e23",
        "0.000000000000000000000000000000000000000000000000000123e45",
        "000000000000000000000000000000000000000000000000000012.5",
        "100000000000000000000000000000000000000000000000000e-50",
        "179769313486231570000000000000000000000.0"};
    (void)state;
    double expected[sizeof texts / sizeof *texts];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expected[i] = strtod(texts[i], NULL);
    setlocale(LC_ALL, "de_DE.UTF-8"); /* if there is one */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(number_of(texts[i]) == expected[i]);
    setlocale(LC_ALL, "C");
}

/* Far more digits than are kept, before and after the point. */
static void long_numbers(void **state)
{
    (void)state;
    char *text = malloc(LONG + 32);
    assert_non_null(text);
    int n = sprintf(text, "0.");
    memset(text + n, '0', 60000);
    sprintf(text + n + 60000, "5e60001");
    assert_true(number_of(text) == 5.0);
    memset(text, '9', 60000);
    sprintf(text + 60000, "e-59999");
    assert_true(number_of(text) == 10.0); /* 9.99... to the nearest double */
    text[60000] = 0;
    refuse(text, "1:1", "integers of a text end below 2^53");
    memset(text, '0', 60000);
    sprintf(text + 60000, "1");
    assert_true(number_of(text) == 1.0);
    free(text);
}

/* -- errors ----------------------------------------------------------- */

static const struct {
    const char *text, *at, *words;
} malformed[] = {
    /* nothing */
    {"", "1:1", "nothing to compute"},
    {"   ", "1:1", "nothing to compute"},
    {";\n;", "1:1", "nothing to compute"},
    {"# comment", "1:1", "nothing to compute"},
    /* operands that are missing or too many */
    {"y =", "1:4", "is expected, not the end of the text"},
    {"y = \nz = 1", "1:5", "not the end of the statement; parentheses"},
    {"y = a +", "1:8", "not the end of the text"},
    {"y = a +\n b", "1:8", "not the end of the statement"},
    {"a + + b", "1:5", "a name, a number, a function or '('"},
    {"a * / b", "1:5", "not '/'"},
    {"+a", "1:1", "not '+'"},
    {"a ^", "1:4", "not the end of the text"},
    {"-", "1:2", "not the end of the text"},
    {"a b", "1:3",
     "an operator or the end of the statement is expected, "
     "not 'b'"},
    {"y = a b", "1:7", "not 'b'"},
    {"a 2", "1:3", "not '2'"},
    {"2 x", "1:3", "not 'x'"},
    {"a (b)", "1:1", "no function 'a'"},
    {"2(x)", "1:2", "not '('"},
    {"(a)(b)", "1:4", "not '('"},
    {"a = b = c", "1:7", "not '='"},
    {"a,b", "1:2", "not ','"},
    {"a:b", "1:2", "not ':'"},
    {"= 2", "1:1", "not '='"},
    {"a < b < c", "1:7", "comparisons do not chain"},
    {"a == b != c", "1:8", "comparisons do not chain"},
    {"y = a < b + 1 >= c", "1:15", "comparisons do not chain"},
    /* parentheses */
    {"(", "1:2", "not the end of the text"},
    {")", "1:1", "not ')'"},
    {"()", "1:2", "not ')'"},
    {"(a", "1:3", "an operator or ')' is expected"},
    {"(a\n\n", "3:1", "an operator or ')' is expected"},
    {"(a))", "1:4", "not ')'"},
    {"(a]", "1:3", "not ']'"},
    {"(a; b)", "1:3", "not the end of the statement"},
    {"(a, b)", "1:3", "an operator or ')' is expected, not ','"},
    {"(y) = x", "1:1", "only a name or a slice of one can be assigned"},
    /* targets */
    {"y + z = x", "1:1", "only a name or a slice"},
    {"2 = x", "1:1", "only a name or a slice"},
    {"-y = x", "1:1", "only a name or a slice"},
    {"transpose(y) = x", "1:1", "only a name or a slice"},
    {"sum(y) = x", "1:1", "'is equal' is =="},
    {"sin = x", "1:1", "'sin' is reserved"},
    {"pi = 3", "1:1", "cannot be assigned"},
    {"a = 1; true = a", "1:8", "'true' is reserved"},
    {"nan = inf", "1:1", "cannot be assigned"},
    {"softmax = 1", "1:1", "cannot be assigned"},
    {"permute = 1", "1:1", "cannot be assigned"},
    {"y = 1\n  sin = x", "2:3", "'sin'"},
    {"y += 1", "1:3", "write x = x + y"},
    /* names */
    {"abcdefghijabcdefghijabcdefghijab", "1:1", "32 letters; at most 31"},
    {"y = x + abcdefghijabcdefghijabcdefghijab", "1:9", "32 letters"},
    {"x$", "1:2", "'$' is not in the language"},
    {"@x", "1:1", "'@' is not in the language"},
    {"x'", "1:2", "''' is not in the language"},
    {"\"x\"", "1:1", "'\"' is not in the language"},
    {"x\\", "1:2", "'\\' is not in the language"},
    {"x.y", "1:2", "'.' is not in the language"},
    {"\xc3\xa9", "1:1", "byte 0xc3 is not in the language"},
    {"y = x \xe2\x88\x92 1", "1:7", "byte 0xe2"},
    {"\x01", "1:1", "byte 0x01"},
    {"x\v", "1:2", "byte 0x0b"},
    {"x\x7f", "1:2", "byte 0x7f"},
    /* other languages */
    {"a && b", "1:3", "'and' is &"},
    {"a || b", "1:3", "'or' is |"},
    {"a ? b : c", "1:3", "where(condition, x, y)"},
    {"a and b", "1:3", "not 'and'; 'and' is &"},
    {"a or b", "1:3", "'or' is |"},
    {"a if b else c", "1:3", "where(condition, x, y)"},
    {"np.where(a, b, c)", "1:3", "where(...), not np.where(...)"},
    {"x *= 2", "1:3", "'*=' is not in the language; write x = x * y"},
    {"{a}", "1:1", "only ( and ["},
    {"a }", "1:3", "only ) and ]"},
    {"/* x */", "1:1", "not '/'"},
    {"a =! b; }", "1:9", "'}'"},
    {"a <> b", "1:4", "not '>'"},
    {"a =< b", "1:4", "not '<'"},
    {"x.sum()", "1:2", "'.'"},
    /* numbers */
    {"2x", "1:1", "'2x' is not a number"},
    {"0x10", "1:1", "'0x10' is not a number"},
    {"1.0f", "1:1", "'1.0f' is not a number"},
    {"1e", "1:1", "'1e' is not a number"},
    {"1e+", "1:1", "'1e' is not a number"},
    {"1.2.3", "1:1", "'1.2.3' is not a number"},
    {"1_000", "1:1", "'1_000' is not a number"},
    {"1..2", "1:2", "'.' is not in the language"},
    {".", "1:1", "'.' is not in the language"},
    {"x + 99999999999999999999", "1:5", "integers of a text end below 2^53"},
    {"-9007199254740992", "1:2", "9007199254740992: integers of a text end"},
    {"1 - 9007199254740993", "1:5", "9007199254740993: integers of a text"},
    {"1e309", "1:1", "too large for f64"},
    {"x * 1e999999999999999999", "1:5", "too large for f64"},
    {"infinity(x)", "1:1", "no function 'infinity'"},
    /* functions */
    {"sine(x)", "1:1", "no function 'sine'; did you mean 'sin'?"},
    {"y = sqtr(x)", "1:5", "did you mean 'sqrt'?"},
    {"soft_max(x)", "1:1", "did you mean 'softmax'?"},
    {"logsoftmax(x)", "1:1", "did you mean 'log_softmax'?"},
    {"SIN(x)", "1:1", "no function 'SIN'"},
    {"avg(x)", "1:1", "no function 'avg'; write mean(x)"},
    {"std(x, 0)", "1:1", "std takes 1 argument and was given 2; axes"},
    {"arange(10)", "1:1", "write index(axis)"},
    {"clip(x, 0, 1)", "1:1", "write clamp(x, low, high)"},
    {"arctan2(a, b)", "1:1", "write atan2(y, x)"},
    {"logical_xor(a, b)", "1:1", "write xor(x, y)"},
    {"minimum = a", "1:1", "cannot be assigned"},
    {"transposed(x)", "1:1", "did you mean 'transpose'?"},
    {"frobnicate(x", "1:1", "no function 'frobnicate'\n"},
    {"x(1)", "1:1", "no function 'x'\n"},
    {"pi(1)", "1:1", "no function 'pi'"},
    {"sin", "1:1", "sin is a function; write sin(...)"},
    {"a + max", "1:5", "max is a function"},
    {"transpose", "1:1", "transpose is a function"},
    {"sin x", "1:1", "sin is a function"},
    {"sin()", "1:1", "sin takes 1 argument and was given 0"},
    {"sin(a, b)", "1:1", "sin takes 1 argument and was given 2"},
    {"y = min(a, b, c)", "1:5", "min takes 1 or 2 arguments and was given 3"},
    {"max()", "1:1", "max takes 1 or 2 arguments and was given 0"},
    {"pow(a)", "1:1", "pow takes 2 arguments and was given 1"},
    {"where(a, b)", "1:1", "where takes 3 arguments and was given 2"},
    {"clamp(1, 2, 3, 4, 5, 6)", "1:1",
     "clamp takes 3 arguments and was "
     "given 6"},
    {"layer_norm(x, g, b)", "1:1", "layer_norm takes 4 arguments"},
    {"rms_norm(x)", "1:1", "rms_norm takes 3 arguments and was given 1"},
    {"sum(x, 0)", "1:1", "axes are given as axis=0"},
    {"softmax(x, 1)", "1:1", "axes are given as axis=0"},
    {"rand()", "1:1", "rand takes 1 argument and was given 0"},
    {"sin(a", "1:6", "an operator, ',' or ')' is expected"},
    {"sin(a,", "1:7", "not the end of the text"},
    {"min(a,)", "1:7", "an argument is expected, not ')'"},
    {"min(,a)", "1:5", "not ','"},
    {"sin(a b)", "1:7", "an operator, ',' or ')' is expected, not 'b'"},
    {"sin(y = x)", "1:5", "the only argument with a name is axis="},
    {"sin[1]", "1:1", "sin is a function"},
    /* axes */
    {"sum(x, axis=)", "1:13", "a whole number is expected, not ')'"},
    {"sum(x, axis=a)", "1:13", "a whole number is expected, not 'a'"},
    {"sum(x, axis=1.0)", "1:13", "a whole number is expected, not '1.0'"},
    {"sum(x, axis=())", "1:14", "a whole number is expected, not ')'"},
    {"sum(x, axis=(0 1))", "1:16", "',' or ')' is expected after an axis"},
    {"sum(x, axis=(0,,1))", "1:16", "a whole number"},
    {"sum(x, axis=(0, 1)", "1:19", "an operator, ',' or ')'"},
    {"sum(x, axis=0, 1)", "1:16", "axis= comes last"},
    {"sum(x, axis=0, axis=1)", "1:16", "axis= is there already"},
    {"sum(x, axis=0,)", "1:15", "an argument is expected"},
    {"sum(axis=0)", "1:1", "sum takes 1 argument and was given 0"},
    {"sum(axis=0, x)", "1:13", "axis= comes last"},
    {"sum(x, axis=(0,1,2,3,4,5,6))", "1:26", "at most 6"},
    {"sum(x, axis=99999999999)", "1:13", "the number is too large"},
    {"sum(x, keepdims=1)", "1:8", "axis="},
    {"sum(x, axes=1)", "1:8", "the only argument with a name is axis="},
    {"min(a, b, axis=0)", "1:1", "min of 2 arguments works by element"},
    {"sin(x, axis=0)", "1:1", "sin of 1 argument works by element"},
    {"layer_norm(x, g, b, 1e-5, axis=0)", "1:1", "takes no axis"},
    /* cast */
    {"cast(x)", "1:7", "cast(x, f16); ',' is expected, not ')'"},
    {"cast()", "1:6", "not ')'"},
    {"cast(x, )", "1:9", "a type is expected: f64"},
    {"cast(x, f8e4m3)", "1:9", "a type is expected"},
    {"cast(x, float)", "1:9", "not 'float'"},
    {"cast(x, 2)", "1:9", "a type is expected"},
    {"cast(x, f32, 1)", "1:12", "')' is expected after the type"},
    {"cast(x, f32", "1:12", "not the end of the text"},
    /* views */
    {"x[]", "1:3", "a slice is whole numbers"},
    {"x[1", "1:4", "',' or ']'"},
    {"x[1:2", "1:6", "',' or ']' is expected after a slice"},
    {"x[a, b]", "1:6", "only one index of a bracket is a value"},
    {"x[a:]", "1:5", "a slice from a value on has a last bound"},
    {"x[a:, 1]", "1:5", "a slice from a value on has a last bound"},
    {"x[a:a + 2:-2]", "1:10", "has a step above 0; reverse it in a bracket"},
    {"concat(x)", "1:1", "concat takes 2 or 3 or 4 arguments"},
    {"slice(x, 1)", "1:1", "slice takes 3 arguments"},
    {"pad(x, 1)", "1:1", "pad takes 3 or 4 arguments"},
    {"cumsum(x, 1)", "1:1", "cumsum takes 1 argument"},
    {"x[1, a]", "1:6", "an index that is a value has only slices beside it"},
    {"x[a, 0]", "1:3", "an index that is a value has only slices beside it"},
    {"x[(a]", "1:5", "an operator or ')' is expected"},
    {"x[a] = 1", "1:1", "only a name or a slice of one"},
    {"gather(x)", "1:1", "gather takes 2 arguments"},
    {"x[1.5]", "1:3", "a slice is whole numbers"},
    {"x[1:b]", "1:5", "',' or ']'"},
    {"x[::0]", "1:5", "a step is not 0"},
    {"x[::-0]", "1:5", "a step is not 0"},
    {"x[1:2:3:4]", "1:8", "',' or ']'"},
    {"x[1,]", "1:5", "a slice is whole numbers"},
    {"x[..., ...]", "1:8", "only once"},
    {"x[-]", "1:4", "a whole number is expected"},
    {"x[1+1]", "1:4", "',' or ']'"},
    {"x[9007199254740993]", "1:3", "the number is too large"},
    {"x[0,0,0,0,0,0,0,0,0,0,0,0,0]", "1:27", "more than 12 slices"},
    {"x[1][2", "1:7", "',' or ']'"},
    {"x[1] = 2 + x[", "1:14", "a slice is whole numbers"},
    {"transpose(x, 1, 0)", "1:12", "transpose takes one value"},
    {"transpose()", "1:11", "a name, a number, a function"},
    {"None", "1:1", "None is a new axis of a slice"},
    {"None + x", "1:1", "None is a new axis of a slice"},
    {"None = x", "1:1", "cannot be assigned"},
    {"x[1][0] = 2", "1:1", "only a name or a slice of one"},
    {"reshape(x)", "1:10", "reshape takes a value and sizes"},
    {"reshape(x, a)", "1:12", "a whole number is expected"},
    {"reshape(x, 0)", "1:12", "a size is 1 or more"},
    {"reshape(x, 2, -2)", "1:15", "a size is 1 or more"},
    {"reshape(x, -1, 2, -1)", "1:19", "-1 occurs only once"},
    {"reshape(x, (2, 3)", "1:18", "',' or ')' is expected"},
    {"reshape(x, ())", "1:13", "a whole number is expected"},
    {"reshape(x,1,1,1,1,1,1,1)", "1:23", "at most 6"},
    {"reshape(x, 9007199254740993)", "1:12", "the number is too large"},
    {"permute(x)", "1:10", "permute takes a value and an order"},
    {"permute(x, a)", "1:12", "a whole number is expected"},
    {"permute(x, 1, 0", "1:16", "',' or ')' is expected"},
    {"permute(x,0,1,2,3,4,5,6)", "1:23", "at most 6"},
    {"permute(x, (1, 0)", "1:18", "',' or ')' is expected"},
    /* lines are counted */
    {"a = 1\nb = 2\n\nc = $", "4:5", "'$'"},
    {"# x\r\n\r\n  )", "3:3", "not ')'"},
    {"a = (1 +\n2 +\n)", "3:1", "not ')'"},
};

static void every_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        refuse(malformed[i].text, malformed[i].at, malformed[i].words);
}

/* The whole message, exactly. */
static void expect_story(const char *text, const char *expected)
{
    struct xl__tree t;
    struct xl__error e = {0};
    assert_status(parse(text, strlen(text), &t, &e), XL_BAD_ARGUMENT, text);
    assert_string_equal(xl__str_text(&e.detail), expected);
    xl__error_clear(&e);
}

static void carets(void **state)
{
    (void)state;
    expect_story("a\ny = 2 +\tsine(x) # \xc3\xa9\nb",
                 "2:9: no function 'sine'; did you mean 'sin'?\n"
                 "  y = 2 +?sine(x) # ??\n"
                 "          ^");
    expect_story("a +", "1:4: a name, a number, a function or '(' is "
                        "expected, not the end of the text\n"
                        "  a +\n"
                        "     ^");
}

/* Long lines are cut at both ends, and the caret remains below its location.
 */
static void long_lines(void **state)
{
    char text[4096], *at = text;
    struct xl__tree t;
    struct xl__error e = {0};
    (void)state;
    for (int i = 0; i < 300; i++)
        at += sprintf(at, "%s", i == 150 ? "x $ " : "x + ");
    sprintf(at, "x");
    assert_status(parse(text, strlen(text), &t, &e), XL_BAD_ARGUMENT, text);
    const char *detail = xl__str_text(&e.detail);
    assert_memory_equal(detail, "1:603:", 6);
    const char *line = strchr(detail, '\n') + 1;
    const char *caret = strchr(line, '\n') + 1;
    assert_memory_equal(line, "  ...", 5);
    assert_memory_equal(caret - 4, "...", 3);
    assert_true(caret - line <= 80);
    assert_int_equal(line[strcspn(caret, "^")], '$');
    xl__error_clear(&e);
    assert_status(parse("$ + x", 5, &t, NULL), XL_BAD_ARGUMENT, "no listener");
}

static void zero_bytes(void **state)
{
    (void)state;
    refuse_n("x\0y", 3, "1:2", "a byte 0");
    refuse_n("\0", 1, "1:1", "a byte 0");
    refuse_n("x # \0\ny", 7, "1:5", "a byte 0");
    refuse_n("x\n+\0", 4, "2:2", "a byte 0");
}

/* Every prefix of a correct text, and every text with one byte changed, is
 * accepted or refused without a read behind its end (parse() checks that). */
static void cut_and_changed(void **state)
{
    static const char text[] = "y[2:10:2, ...] = -x^2.5e-1 * sum(cast(z, f16),"
                               " axis=(0, -1))\nlayer_norm(a, b, c, 1e-5) | !d"
                               " <= permute(e, 1, 0) # end";
    char changed[sizeof text];
    struct xl__tree t;
    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        if (parse(text, len, &t, NULL) == XL_OK)
            xl__tree_clear(&t);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int c = 0; c < 256; c++) {
            memcpy(changed, text, sizeof text);
            changed[i] = (char)c;
            if (parse(changed, sizeof text - 1, &t, NULL) == XL_OK)
                xl__tree_clear(&t);
        }
    }
}

/* -- limits ----------------------------------------------------------- */

static char *repeat(const char *head, const char *part, size_t n,
                    const char *tail)
{
    size_t step = strlen(part), at = strlen(head);
    char *text = malloc(at + n * step + strlen(tail) + 1);
    assert_non_null(text);
    strcpy(text, head);
    for (size_t i = 0; i < n; i++, at += step)
        memcpy(text + at, part, step);
    strcpy(text + at, tail);
    return text;
}

static void accept_and_free(char *text)
{
    struct xl__tree t;
    struct xl__error e = {0};
    assert_status(parse(text, strlen(text), &t, &e), XL_OK,
                  xl__str_text(&e.detail));
    xl__tree_clear(&t);
    free(text);
}

static void refuse_and_free(char *text, const char *at, const char *words)
{
    refuse(text, at, words);
    free(text);
}

static void limit_of_text(void **state)
{
    (void)state;
    accept_and_free(repeat("x", " ", XL_EXPR_MAX_TEXT - 1, ""));
    refuse_and_free(repeat("x", " ", XL_EXPR_MAX_TEXT, ""), "1:65537",
                    "65537 bytes; at most 65536");
    refuse_and_free(repeat("", "x\n", LONG, ""), "32769:1", "at most 65536");
}

/* x + x + ...: every operator is one more node, and so is every operand. */
static void limit_of_nodes(void **state)
{
    (void)state;
    accept_and_free(repeat("-x", " + x", XL_EXPR_MAX_NODES / 2 - 1, ""));
    refuse_and_free(repeat("-x", "+x", XL_EXPR_MAX_NODES / 2 - 1, "+2"),
                    "1:4098", "more than 4096 operations, names and numbers");
    accept_and_free(repeat("", "1;", XL_EXPR_MAX_NODES, ""));
    refuse_and_free(repeat("", "1;", XL_EXPR_MAX_NODES + 1, ""), "1:8193",
                    "more than 4096");
}

/* Parentheses, calls, signs and powers nest; a chain of sums does not. */
static void limit_of_depth(void **state)
{
    const unsigned most = XL_EXPR_MAX_DEPTH;
    char *open, *close;
    (void)state;
    static const char *const nests[][2] = {
        {"(", ")"}, {"sin(", ")"}, {"-", ""}, {"!", ""}, {"x^", ""},
        {"min(x,", ")"}, {"2*(", ")"}, {"x<(", ")"}, {"a|b&c<d+e*-(", ")"},
    };
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        bool is_double = strcmp(nests[i][0], "a|b&c<d+e*-(") == 0;
        unsigned n = is_double ? most / 2 : most;
        for (unsigned over = 0; over < 2; over++) {
            close = repeat("x", nests[i][1], n + over, "");
            open = repeat("", nests[i][0], n + over, close);
            free(close);
            if (over == 0)
                accept_and_free(open);
            else
                refuse_and_free(open, "1", "nested deeper than 200 levels");
        }
    }
    accept_and_free(repeat("x", "+x", 1000, ""));
    accept_and_free(repeat("x", "+(-x)", 500, "")); /* levels are left again */
    accept_and_free(repeat("x", "+x^2", 500, ""));
}

static void limit_of_names(void **state)
{
    (void)state;
    struct xl__str text = {0};
    for (int i = 0; i < XL_EXPR_MAX_BINDINGS; i++)
        xl__str_printf(&text, "%sa%d", i > 0 ? "+" : "y=", i);
    refuse(xl__str_text(&text), "1:117", "'a31' is name 33; at most 32");
    text.text[strlen(text.text) - 4] = 0;
    struct xl__tree t;
    assert_status(parse(text.text, strlen(text.text), &t, NULL), XL_OK, "32");
    assert_int_equal(t.n_names, XL_EXPR_MAX_BINDINGS);
    xl__tree_clear(&t);
    xl__str_clear(&text);
}

/* Texts of the maximum length, nested in every way. Each is refused, in time
 * linear in its length. */
static void hostile(void **state)
{
    static const char *const parts[] = {
        "(", ")", "-", "!", "[", "]", "x[", "x^", "sin(", "sum(x,axis=(", ",",
        "(-", "1+", "9", ".", "#\n", "\n", ";", "x<", "&x", "cast(", "x=",
        "permute(", "axis=", "1e", "_", "A", "\xff", "e+", "min(a,"};
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = XL_EXPR_MAX_TEXT / strlen(parts[i]);
        char *text = repeat("", parts[i], n, "");
        struct xl__tree t;
        assert_status(parse(text, strlen(text), &t, NULL), XL_BAD_ARGUMENT,
                      parts[i]);
        free(text);
        text = repeat("", parts[i], 100000, "");
        assert_status(parse(text, strlen(text), &t, NULL), XL_BAD_ARGUMENT,
                      parts[i]);
        free(text);
    }
}

/* -- terms ------------------------------------------------------------ */

static void terms_make_the_same_tree(void **state)
{
    const int axes[] = {0, -1};
    xl_terms *t;
    (void)state;
    assert_int_equal(xl_terms_create(&t), XL_OK);
    xl_term x = xl_term_name(t, "x");
    xl_term y = xl_term_name(t, "y");
    const xl_term xy[] = {x, y};
    xl_term sum = xl_term_call(t, "+", xy, 2);
    const xl_term three[] = {sum, xl_term_integer(t, INT_MIN),
                             xl_term_number(t, 2.5)};
    xl_term_assign(t, "a", xl_term_call(t, "clamp", three, 3));
    xl_term_assign(t, "b", xl_term_reduce(t, "max", sum, axes, 2));
    xl_term_assign(t, "c", xl_term_reduce(t, "sum", x, NULL, 0));
    xl_term_assign(t, "d", xl_term_call(t, "max", xy, 2));
    xl_term_assign(t, "e", xl_term_cast(t, xl_term_call(t, "-", &x, 1),
                                        XL_BF16));
    xl_term_assign(t, "f", xl_term_call(t, "softmax", &sum, 1));
    xl_term_assign(t, "g", xl_term_reduce(t, "softmax", sum, axes, 1));
    xl_term_assign(t, "h", xl_term_call(t, "^", xy, 2));
    struct xl__error e = {0};
    const struct xl__tree *tree = xl__terms_tree(t, &e);
    assert_status(e.status, XL_OK, xl__str_text(&e.detail));
    assert_non_null(tree);
    assert_null(tree->text);
    expect_tree(tree, "a = (clamp (+ x y) -2147483648 2.5f); "
                      "b = (rmax (+ x y) @0,-1); c = (sum x); d = (max x y); "
                      "e = (cast (neg x) bf16); f = (softmax (+ x y)); "
                      "g = (softmax (+ x y) @0); h = (^ x y)");
    xl_terms_destroy(t);
}

/* The error is this one, and none that came later. */
static void expect_mistake(xl_terms *t, const char *words)
{
    struct xl__error e = {0};
    assert_int_equal(xl_term_name(t, "x"), 0);
    xl_term_assign(t, "1", 0);
    assert_null(xl__terms_tree(t, &e));
    assert_status(e.status, XL_BAD_ARGUMENT, xl__str_text(&e.detail));
    if (strstr(xl__str_text(&e.detail), words) == NULL)
        fail_msg("want %s\ngot  %s", words, xl__str_text(&e.detail));
    xl__error_clear(&e);
    xl_terms_destroy(t);
}

enum { MISTAKES = 34 };

static const char *make_mistake(xl_terms *t, int which)
{
    const int axes[8] = {0};
    xl_term x = xl_term_name(t, "x");
    const xl_term two[] = {x, x}, bad[] = {x, 99}, none[] = {0};
    xl_term sum, same = x;
    switch (which) {
    case 0: xl_term_name(t, "9x"); return "a name is a letter";
    case 1: xl_term_name(t, NULL); return "a name is a letter";
    case 2: xl_term_name(t, ""); return "a name is a letter";
    case 3: xl_term_name(t, "a;b"); return "a name is a letter";
    case 4: xl_term_name(t, "sin"); return "'sin' is reserved";
    case 5:
        xl_term_name(t, "abcdefghijabcdefghijabcdefghijab");
        return "32 letters";
    case 6: xl_term_number(t, 1e39); return "too large for f32";
    case 7: xl_term_number(t, -1e300); return "too large for f32";
    case 8:
        xl_term_call(t, "sine", two, 1);
        return "no function 'sine'; did you mean 'sin'?";
    case 9: xl_term_call(t, NULL, two, 1); return "no function ''";
    case 10:
        xl_term_call(t, "sin", two, 2);
        return "sin takes 1 argument and was given 2";
    case 11: xl_term_call(t, "sin", two, 0); return "was given 0";
    case 12: xl_term_call(t, "sin", NULL, 1); return "is not a term of these";
    case 13: xl_term_call(t, "+", bad, 2); return "is not a term of these";
    case 14: xl_term_call(t, "sin", none, 1); return "is not a term of these";
    case 15: xl_term_call(t, "sum", two, 1); return "xl_term_reduce() makes";
    case 16: xl_term_call(t, "max", two, 1); return "xl_term_reduce() makes";
    case 17: xl_term_call(t, "cast", two, 1); return "xl_term_cast() makes";
    case 18: xl_term_call(t, "transpose", two, 1); return "no function";
    case 19: xl_term_reduce(t, "sin", x, NULL, 0); return "does not take axes";
    case 20: xl_term_reduce(t, "sin", x, axes, 1); return "does not take axes";
    case 21:
        xl_term_reduce(t, "softmax", x, NULL, 0);
        return "does not take axes";
    case 22: xl_term_reduce(t, "summ", x, axes, 1); return "mean 'sum'?";
    case 23: xl_term_reduce(t, "sum", x, axes, 7); return "0 to 6";
    case 24: xl_term_reduce(t, "sum", x, NULL, 1); return "0 to 6";
    case 25: xl_term_reduce(t, "sum", 77, axes, 1); return "is not a term";
    case 26:
        xl_term_cast(t, x, XL_F8E4M3);
        return "types are f64";
    case 27:
        xl_term_cast(t, x, (xl_dtype)99);
        return "types are f64";
    case 28: xl_term_cast(t, 0, XL_F32); return "is not a term";
    case 29: xl_term_assign(t, "y", 0); return "is not a term";
    case 30: xl_term_assign(t, "pi", x); return "'pi' is reserved";
    case 31: xl_term_assign(t, NULL, x); return "a name is a letter";
    case 32:
        for (int i = 0; i <= XL_EXPR_MAX_NODES; i++)
            xl_term_integer(t, i);
        return "more than 4096";
    default:
        sum = xl_term_call(t, "+", two, 2);
        for (int i = 0; i <= XL_EXPR_MAX_NODES; i++)
            xl_term_assign(t, "y", i % 2 ? sum : same);
        return "more than 4096 assignments";
    }
}

static void every_mistake_with_terms(void **state)
{
    xl_terms *t;
    struct xl__error e = {0};
    (void)state;
    for (int i = 0; i < MISTAKES; i++) {
        assert_int_equal(xl_terms_create(&t), XL_OK);
        const char *words = make_mistake(t, i);
        expect_mistake(t, words);
    }
    assert_int_equal(xl_terms_create(&t), XL_OK);
    xl_term_number(t, INFINITY);
    assert_null(xl__terms_tree(t, &e));
    assert_non_null(strstr(xl__str_text(&e.detail), "nothing to compute"));
    xl__error_clear(&e);
    xl_terms_destroy(t);
    assert_null(xl__terms_tree(NULL, NULL));
    assert_int_equal(xl_term_integer(NULL, 1), 0);
    assert_int_equal(xl_terms_create(NULL), XL_BAD_ARGUMENT);
    xl_terms_destroy(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct),
        cmocka_unit_test(every_function),
        cmocka_unit_test(locations),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(long_numbers),
        cmocka_unit_test(every_mistake),
        cmocka_unit_test(carets),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(zero_bytes),
        cmocka_unit_test(cut_and_changed),
        cmocka_unit_test(limit_of_text),
        cmocka_unit_test(limit_of_nodes),
        cmocka_unit_test(limit_of_depth),
        cmocka_unit_test(limit_of_names),
        cmocka_unit_test(hostile),
        cmocka_unit_test(terms_make_the_same_tree),
        cmocka_unit_test(every_mistake_with_terms),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
