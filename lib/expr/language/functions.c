/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the language, in tables. Several functions can have one name
 * when they take different numbers of arguments: min of two is by element, min
 * of one is a reduction. */
#include "expr/language/functions.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

enum { MOST_LETTERS = XL_EXPR_MAX_NAME };

#define PI 3.14159265358979323846

static const struct xl__function functions[] = {
#define ENTRY(id, name, cls, n, result, flop, ulp)                            \
    {name, XL__C_##cls, XL__E_##id, XL__ROW_NONE, n},
    XL__EXPR_OP_MAP(ENTRY)
#undef ENTRY
        {"pow", XL__C_MAP, XL__E_POW, XL__ROW_NONE, 2},
    {"**", XL__C_MAP, XL__E_POW, XL__ROW_NONE, 2},
    {"%", XL__C_MAP, XL__E_MOD, XL__ROW_NONE, 2},
    {"minimum", XL__C_MAP, XL__E_MIN, XL__ROW_NONE, 2},
    {"maximum", XL__C_MAP, XL__E_MAX, XL__ROW_NONE, 2},
    {"std", XL__C_REDUCE, XL__N_EXPR_OPS, XL__ROW_STD, 1},
    {"softmax", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_SOFTMAX, 1},
    {"log_softmax", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_LOG_SOFTMAX, 1},
    {"layer_norm", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_LAYER_NORM, 4},
    {"rms_norm", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_RMS_NORM, 3},
    {"concat", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_CONCAT, 2},
    {"concat", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_CONCAT, 3},
    {"concat", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_CONCAT, 4},
    {"pad", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_PAD, 3},
    {"pad", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_PAD, 4},
    {"slice", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_SLICE, 3},
    {"cumsum", XL__C_MAP, XL__N_EXPR_OPS, XL__ROW_CUMSUM, 1},
};

static const struct {
    const char *name;
    enum xl__tree_kind kind;
    double value;
} constants[] = {
    {"pi", XL__T_NUMBER, PI},   {"inf", XL__T_NUMBER, INFINITY},
    {"nan", XL__T_NUMBER, NAN}, {"true", XL__T_BOOL, 1},
    {"false", XL__T_BOOL, 0},
};

static const xl_dtype types[] = {XL_F64, XL_F32, XL_F16, XL_BF16,
                                 XL_I64, XL_I32, XL_I8,  XL_U32,
                                 XL_U16, XL_U8,  XL_BOOL};

static const char *const views[] = {"transpose", "permute", "reshape"};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool is_equal(const char *word, const char *name, size_t len)
{
    return *word == *name && strlen(word) == len &&
           memcmp(word, name, len) == 0;
}

const struct xl__function *xl__function_find(const char *name, size_t len,
                                             unsigned n_args)
{
    const struct xl__function *found = NULL;
    if (len == 0)
        return NULL;
    for (size_t i = 0; i < COUNT(functions); i++) {
        const struct xl__function *f = &functions[i];
        if (!is_equal(f->name, name, len))
            continue;
        if (f->n_args == n_args)
            return f;
        found = f;
    }
    return found;
}

bool xl__function_has_axes(const struct xl__function *f)
{
    return f->cls == XL__C_REDUCE || f->row == XL__ROW_SOFTMAX ||
           f->row == XL__ROW_LOG_SOFTMAX || f->row >= XL__ROW_CONCAT ||
           f->op == XL__E_GATHER;
}

bool xl__constant_find(const char *name, size_t len, struct xl__tree_node *out)
{
    for (size_t i = 0; i < COUNT(constants); i++) {
        if (!is_equal(constants[i].name, name, len))
            continue;
        *out = (struct xl__tree_node){.kind = constants[i].kind,
                                      .value = constants[i].value};
        return true;
    }
    return false;
}

bool xl__is_expr_type(xl_dtype dtype)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i] == dtype)
            return true;
    return false;
}

bool xl__is_scalar_type(xl_dtype dtype)
{
    return dtype == XL_F64 || dtype == XL_F32 || dtype == XL_I64 ||
           dtype == XL_I32;
}

bool xl__type_find(const char *name, size_t len, xl_dtype *out)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (!is_equal(xl_dtype_name(types[i]), name, len))
            continue;
        *out = types[i];
        return true;
    }
    return false;
}

bool xl__is_view_function(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT(views); i++)
        if (len > 0 && is_equal(views[i], name, len))
            return true;
    return false;
}

bool xl__is_none(const char *name, size_t len)
{
    return len > 0 && is_equal("None", name, len);
}

bool xl__is_reserved(const char *name, size_t len)
{
    struct xl__tree_node unused;
    return xl__function_find(name, len, 0) != NULL ||
           xl__constant_find(name, len, &unused) ||
           xl__is_view_function(name, len) || xl__is_none(name, len);
}

/* -- hints ------------------------------------------------------------ */

/* Names of other languages, and what to write instead. */
static const struct {
    const char *name, *instead;
} others[] = {
    {"absolute", "abs(x)"},
    {"fabs", "abs(x)"},
    {"add", "x + y"},
    {"subtract", "x - y"},
    {"multiply", "x * y"},
    {"divide", "x / y"},
    {"true_divide", "x / y"},
    {"floor_divide", "x // y"},
    {"negative", "-x"},
    {"reciprocal", "1 / x"},
    {"remainder", "x % y"},
    {"power", "x ** y"},
    {"square", "x ** 2"},
    {"cbrt", "sign(x) * abs(x) ** (1 / 3)"},
    {"arcsin", "asin(x)"},
    {"arccos", "acos(x)"},
    {"arctan", "atan(x)"},
    {"arctan2", "atan2(y, x)"},
    {"arcsinh", "asinh(x)"},
    {"arccosh", "acosh(x)"},
    {"arctanh", "atanh(x)"},
    {"degrees", "x * (180 / pi)"},
    {"rad2deg", "x * (180 / pi)"},
    {"radians", "x * (pi / 180)"},
    {"deg2rad", "x * (pi / 180)"},
    {"ln", "log(x)"},
    {"logaddexp", "max(x, y) + log1p(exp(-abs(x - y)))"},
    {"erfc", "1 - erf(x)"},
    {"rint", "round(x)"},
    {"around", "round(x)"},
    {"fix", "trunc(x)"},
    {"sgn", "sign(x)"},
    {"clip", "clamp(x, low, high)"},
    {"fmin", "min(x, y)"},
    {"fmax", "max(x, y)"},
    {"amin", "min(x)"},
    {"amax", "max(x)"},
    {"average", "mean(x)"},
    {"avg", "mean(x)"},
    {"variance", "var(x)"},
    {"arange", "index(axis)"},
    {"iota", "index(axis)"},
    {"tril", "where(index(-1) <= index(-2), x, 0)"},
    {"triu", "where(index(-1) >= index(-2), x, 0)"},
    {"product", "prod(x)"},
    {"ptp", "max(x) - min(x)"},
    {"count_nonzero", "sum(x != 0)"},
    {"norm", "norm2(x)"},
    {"dot", "sum(x * y)"},
    {"logical_and", "x & y"},
    {"logical_or", "x | y"},
    {"logical_not", "!x"},
    {"logical_xor", "xor(x, y)"},
    {"bitwise_and", "x & y"},
    {"bitwise_or", "x | y"},
    {"bitwise_xor", "xor(x, y)"},
    {"bitwise_not", "~x"},
    {"invert", "~x"},
    {"left_shift", "x << y"},
    {"right_shift", "x >> y"},
    {"equal", "x == y"},
    {"not_equal", "x != y"},
    {"less", "x < y"},
    {"greater", "x > y"},
    {"select", "where(condition, x, y)"},
    {"astype", "cast(x, f16)"},
    {"int", "cast(x, i32)"},
    {"float", "cast(x, f32)"},
    {"swish", "silu(x)"},
    {"mish", "x * tanh(softplus(x))"},
    {"leaky_relu", "where(x > 0, x, 0.01 * x)"},
    {"elu", "where(x > 0, x, expm1(x))"},
    {"hardtanh", "clamp(x, -1, 1)"},
    {"random", "rand(seed)"},
    {"concatenate", "concat(x, y, axis=0)"},
    {"stack", "concat(x[None], y[None])"},
    {"take", "gather(x, i, axis=0)"},
    {"roll", "concat(x[-n:], x[:-n])"},
    {"flip", "x[::-1]"},
    {"squeeze", "x[0]"},
    {"expand_dims", "x[None]"},
    {"zeros_like", "0 * x"},
    {"ones_like", "0 * x + 1"},
    {"diff", "x[1:] - x[:-1]"},
    {"dynamic_slice", "x[i:i + 4]"},
    {"std_dev", "std(x)"},
    {"sumsq", "sum(x ** 2)"},
};

const char *xl__function_instead(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT(others); i++)
        if (is_equal(others[i].name, name, len))
            return others[i].instead;
    return NULL;
}

static unsigned min_unsigned(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void compare_candidate(const char *word, const char *name, size_t len,
                              const char **best, unsigned *best_distance)
{
    bool is_named = word[0] >= 'a' && word[0] <= 'z';
    if (!is_named)
        return;
    const size_t at = xl__edit_distance(word, strlen(word), name, len);
    if (at >= *best_distance)
        return;
    *best = word;
    *best_distance = (unsigned)at;
}

const char *xl__nearest_function(const char *name, size_t len)
{
    const char *best = NULL;
    /* At most half of the characters, and at most two, may differ. */
    unsigned best_distance = min_unsigned((unsigned)len / 2, 2) + 1;
    if (len > MOST_LETTERS)
        return NULL;
    for (size_t i = 0; i < COUNT(functions); i++)
        compare_candidate(functions[i].name, name, len, &best, &best_distance);
    for (size_t i = 0; i < COUNT(views); i++)
        compare_candidate(views[i], name, len, &best, &best_distance);
    return best;
}
