/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of OpenCL C text: one line an operation. The columns are the variants
 * of an operation: on floats, on floats with fast math, and on integers. What
 * differs between devices is inside the functions of cl/expr/math.clh
 * (XL_OWN_MATH). */
#include "expr/codegen/opencl_ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expr/codegen/geometry.h"

/* -- operations ----------------------------------------------------------- */

/* The text of an operation: f32 on floats; fast on floats with fast math
 * (NULL: as f32); i32 on integers and bools; own on floats, on CPUs (NULL: as
 * elsewhere), of expr/math.clh; f64 where floats are f64, one element (NULL:
 * as f32). $i and $l: int and an empty text, long and L where integers are
 * i64. uses: XL__USES_... */
struct op_template {
    const char *f32, *fast, *i32, *own, *f64;
    unsigned uses;
};

enum { M = XL__USES_MATH, R = XL__USES_RANDOM };

#define WRAPPED(op) "as_$i$s(as_u$i$s($a) " op " as_u$i$s($b))"
#define OWN(name) "xl_" name "_$n($a)"

/* clang-format off */
static const struct op_template templates[XL__N_EXPR_OPS] = {
    [XL__E_GATHER] = {.uses = XL__USES_GATHER},
    [XL__E_COPY]  = {.f32 = "$a", .i32 = "$a"},
    [XL__E_NEG]   = {.f32 = "-$a", .i32 = "as_$i$s(-as_u$i$s($a))"},
    [XL__E_NOT]   = {.i32 = "!$a"},
    [XL__E_BITNOT] = {.i32 = "~$a"},
    [XL__E_ABS]   = {.f32 = "fabs($a)", .i32 = "as_$i$s(abs($a))"},
    [XL__E_SIGN]  = {.f32 = OWN("sign"), .i32 = "clamp($a, -1$l, 1$l)"},
    [XL__E_CEIL]  = {.f32 = "ceil($a)", .i32 = "$a"},
    [XL__E_FLOOR] = {.f32 = "floor($a)", .i32 = "$a"},
    [XL__E_ROUND] = {.f32 = "rint($a)", .i32 = "$a"},
    [XL__E_TRUNC] = {.f32 = "trunc($a)", .i32 = "$a"},
    [XL__E_ISNAN] = {.f32 = "isnan($a)"},
    [XL__E_ISINF] = {.f32 = "isinf($a)"},
    [XL__E_ISFINITE] = {.f32 = "isfinite($a)"},
    [XL__E_SQRT]  = {.f32 = "sqrt($a)", .fast = "native_sqrt($a)"},
    [XL__E_RSQRT] = {.f32 = "rsqrt($a)", .fast = "native_rsqrt($a)"},
    [XL__E_EXP]   = {.f32 = "exp($a)", .fast = "native_exp($a)",
                     .own = OWN("exp")},
    [XL__E_EXP2]  = {.f32 = "exp2($a)", .fast = "native_exp2($a)"},
    [XL__E_EXPM1] = {.f32 = "expm1($a)"},
    [XL__E_LOG]   = {.f32 = "log($a)", .fast = "native_log($a)"},
    [XL__E_LOG2]  = {.f32 = OWN("log2"), .fast = "native_log2($a)",
                     .f64 = "log2($a)", .uses = M},
    [XL__E_LOG10] = {.f32 = "log10($a)"},
    [XL__E_LOG1P] = {.f32 = "log1p($a)"},
    [XL__E_SIN]   = {.f32 = OWN("sin"), .fast = OWN("native_sin"),
                     .f64 = "sin($a)", .uses = M},
    [XL__E_COS]   = {.f32 = OWN("cos"), .fast = OWN("native_cos"),
                     .f64 = "cos($a)", .uses = M},
    [XL__E_TAN]   = {.f32 = OWN("tan"),
                     .f64 = "tan($a)", .uses = M},
    [XL__E_ASIN]  = {.f32 = "asin($a)"},
    [XL__E_ACOS]  = {.f32 = "acos($a)"},
    [XL__E_ATAN]  = {.f32 = "atan($a)"},
    [XL__E_SINH]  = {.f32 = "sinh($a)"},
    [XL__E_COSH]  = {.f32 = "cosh($a)"},
    [XL__E_TANH]  = {.f32 = "tanh($a)"},
    [XL__E_ASINH] = {.f32 = "asinh($a)"},
    [XL__E_ACOSH] = {.f32 = "acosh($a)"},
    [XL__E_ATANH] = {.f32 = "atanh($a)"},
    [XL__E_ERF]   = {.f32 = OWN("erf"),
                     .f64 = "erf($a)", .uses = M},
    [XL__E_SIGMOID] = {.f32 = OWN("sigmoid"),
                     .f64 = "1.0 / (1.0 + exp(-$a))", .uses = M},
    [XL__E_RELU]  = {.f32 = OWN("relu"), .i32 = "max($a, 0$l)"},
    [XL__E_GELU]  = {.f32 = OWN("gelu"),
                     .f64 = "$a == -INFINITY ? 0.0 : 0.5 * $a * erfc(-$a * M_SQRT1_2)", .uses = M},
    [XL__E_GELU_TANH] = {.f32 = OWN("gelu_tanh"),
                     .f64 = "$a == -INFINITY ? 0.0 : $a / (1.0 + exp(-2.0 * 0.7978845608028654 * ($a + 0.044715 * $a * $a * $a)))", .uses = M},
    [XL__E_SILU]  = {.f32 = OWN("silu"),
                     .f64 = "$a == -INFINITY ? 0.0 : $a / (1.0 + exp(-$a))", .uses = M},
    [XL__E_SOFTPLUS] = {.f32 = OWN("softplus"),
                     .f64 = "isnan($a) ? $a : fmax($a, 0.0) + log1p(exp(-fabs($a)))", .uses = M},
    [XL__E_ADD]   = {.f32 = "$a + $b", .i32 = WRAPPED("+")},
    [XL__E_SUB]   = {.f32 = "$a - $b", .i32 = WRAPPED("-")},
    [XL__E_MUL]   = {.f32 = "$a * $b", .i32 = WRAPPED("*")},
    [XL__E_DIV]   = {.f32 = "$a / $b", .fast = "native_divide($a, $b)"},
    [XL__E_FLOORDIV] = {.f32 = "xl_floordiv_$n($a, $b)",
                     .i32 = "xl_quotient_$n($a, $b)"},
    [XL__E_MOD]   = {.f32 = "xl_modf_$n($a, $b)", .i32 = "xl_mod_$n($a, $b)"},
    [XL__E_FMOD]  = {.f32 = "fmod($a, $b)", .i32 = "xl_rest_$n($a, $b)"},
    [XL__E_ATAN2] = {.f32 = "atan2($a, $b)"},
    [XL__E_HYPOT] = {.f32 = "hypot($a, $b)"},
    [XL__E_COPYSIGN] = {.f32 = "copysign($a, $b)"},
    [XL__E_POW]   = {.f32 = "xl_power_$n($a, $b)", .f64 = "pow($a, $b)", .i32 = "xl_pow_$n($a, $b)",
                     .uses = M},
    [XL__E_MIN]   = {.f32 = "xl_min_$n($a, $b)", .i32 = "min($a, $b)"},
    [XL__E_MAX]   = {.f32 = "xl_max_$n($a, $b)", .i32 = "max($a, $b)"},
    [XL__E_LT]    = {.f32 = "$a < $b", .i32 = "$a < $b"},
    [XL__E_LE]    = {.f32 = "$a <= $b", .i32 = "$a <= $b"},
    [XL__E_GT]    = {.f32 = "$a > $b", .i32 = "$a > $b"},
    [XL__E_GE]    = {.f32 = "$a >= $b", .i32 = "$a >= $b"},
    [XL__E_EQ]    = {.f32 = "$a == $b", .i32 = "$a == $b"},
    [XL__E_NE]    = {.f32 = "$a != $b", .i32 = "$a != $b"},
    [XL__E_AND]   = {.i32 = "$a & $b"},
    [XL__E_OR]    = {.i32 = "$a | $b"},
    [XL__E_XOR]   = {.i32 = "$a ^ $b"},
    [XL__E_SHL]   = {.i32 = "xl_shl_$n($a, $b)"},
    [XL__E_SHR]   = {.i32 = "xl_shr_$n($a, $b)"},
    [XL__E_FMA]   = {.f32 = "fma($a, $b, $c)"},
    [XL__E_WHERE] = {.f32 = "$a ? $b : $c", .i32 = "$a ? $b : $c"},
    [XL__E_CLAMP] = {.f32 = "xl_min_$n(xl_max_$n($a, $b), $c)",
                     .i32 = "min(max($a, $b), $c)"},
    [XL__E_RAND]  = {.f32 = "rand", .uses = R},
    [XL__E_RANDN] = {.f32 = "randn", .uses = R | M},
    [XL__E_INDEX] = {.i32 = "index"},
};
/* clang-format on */

static bool is_own(const struct xl__limits *l)
{
    return l && xl__is_vector_cpu(l);
}

const char *xl__opencl_op(const struct xl__emit *m, enum xl__expr_op op,
                          enum xl__vtype type)
{
    const struct op_template *s = &templates[op];
    const bool is_fast = m->g->fast_math;
    if (type != XL__V_F32)
        return s->i32;
    if (m->g->is_double)
        return s->f64 ? s->f64 : s->f32;
    if (s->own && is_own(m->l))
        return s->own;
    return is_fast && s->fast ? s->fast : s->f32;
}

unsigned xl__opencl_uses(const struct xl__emit *m)
{
    unsigned uses = 0;
    for (unsigned i = 0; i < m->group->n_values; i++) {
        const struct op_template *t =
            &templates[m->g->node[m->group->value[i].node].op];
        if (m->g->is_double) /* built-in functions alone */
            uses |= t->uses & ~(unsigned)M;
        else
            uses |= t->uses | (t->own && is_own(m->l) ? M : 0);
    }
    return uses;
}

enum xl__vtype xl__opencl_arg_type(const struct xl__graph *g,
                                   const struct xl__node *n, unsigned i)
{
    const enum xl__vtype a = g->node[n->arg[0]].type;
    switch (xl__expr_ops[n->op].result) {
    case XL__R_FLOAT:
    case XL__R_TEST:
        return XL__V_F32;
    case XL__R_LOGIC:
        return XL__V_BOOL;
    case XL__R_SAME:
    case XL__R_BITS:
    case XL__R_INT:
        return n->type;
    case XL__R_BOOL: /* bools are compared as numbers: in vectors, true is -1
                      */
        return a == XL__V_F32 || g->node[n->arg[1]].type == XL__V_F32
                   ? XL__V_F32
                   : XL__V_I32;
    default:
        break;
    }
    if (n->op == XL__E_WHERE && i == 0)
        return XL__V_BOOL;
    return n->op == XL__E_WHERE || n->op == XL__E_POW
               ? n->type
               : g->node[n->arg[i]].type;
}

const char *xl__opencl_elem_type(xl_dtype dtype)
{
    static const char *const elem[XL_N_DTYPES] = {
        [XL_F32] = "float",  [XL_F16] = "ushort", [XL_BF16] = "ushort",
        [XL_F64] = "double", [XL_I32] = "int",    [XL_I8] = "char",
        [XL_U8] = "uchar",   [XL_BOOL] = "uchar", [XL_I64] = "long",
        [XL_U32] = "uint",   [XL_U16] = "ushort"};
    return elem[dtype];
}

/* -- constants ------------------------------------------------------------ */

/* A float as text. Multiples of 1/16 below 1e6 are decimal, other normal
 * values hexadecimal with their exact bits, subnormal ones as_float() of their
 * bits. Only integers are formatted by printf, since its floating-point
 * formats depend on the locale. */
static void format_float(char text[40], float x)
{
    enum { PLACES = 10000, SIXTEENTHS = 16, CAP = 40 };
    static const double most = 1e6;
    const double size = fabs((double)x);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) {
        snprintf(text, CAP, "NAN");
    } else if (isinf(x)) {
        snprintf(text, CAP, "INFINITY");
    } else if (size < most && size * SIXTEENTHS == floor(size * SIXTEENTHS)) {
        const long whole = (long)size;
        const long rest = lround((size - (double)whole) * PLACES);
        int n = snprintf(text, CAP, "%ld.%04ld", whole, rest);
        while (text[n - 1] == '0' && text[n - 2] != '.')
            n--;
        snprintf(text + n, (size_t)(CAP - n), "f");
    } else if (size < (double)0x1p-126f) {
        snprintf(text, CAP, "as_float(0x%08" PRIx32 "u)", bits & 0x7fffffffu);
    } else {
        snprintf(text, CAP, "0x1.%06" PRIx32 "p%+df", (bits & 0x7fffffu) << 1,
                 (int)(bits >> 23 & 0xff) - 127);
    }
}

/* Likewise a double. */
static void format_double(char text[40], double x)
{
    enum { CAP = 40, BIAS = 1023, DIGITS = 52 };
    const uint64_t fraction = ((uint64_t)1 << DIGITS) - 1;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> DIGITS & 0x7ff);
    if (isnan(x))
        snprintf(text, CAP, "NAN");
    else if (isinf(x))
        snprintf(text, CAP, "INFINITY");
    else if (exponent == 0)
        snprintf(text, CAP, "as_double(0x%016" PRIx64 "UL)", bits & fraction);
    else
        snprintf(text, CAP, "0x1.%013" PRIx64 "p%+d", bits & fraction,
                 exponent - BIAS);
}

static void format_int(char text[40], int64_t x, bool is_long)
{
    enum { CAP = 40 };
    if (x == INT32_MIN && !is_long)
        snprintf(text, CAP, "-2147483647 - 1");
    else
        snprintf(text, CAP, "%" PRId64 "%s", x, is_long ? "L" : "");
}

void xl__opencl_constant(const struct xl__emit *m, double value,
                         enum xl__vtype type, unsigned width)
{
    char text[40];
    struct xl__str *out = m->out;
    const bool is_minus = type == XL__V_F32 && signbit(value) != 0;
    if (type == XL__V_F32 && m->g->is_double)
        format_double(text, value);
    else if (type == XL__V_F32)
        format_float(text, (float)value);
    else if (type == XL__V_I32)
        format_int(text, (int64_t)value, m->g->is_long);
    else
        format_int(text, value == 0 ? 0 : width > 1 ? -1 : 1, false);
    if (width > 1)
        xl__str_printf(out, "(%s)", xl__emit_type(m->g, type, width));
    const bool is_wrapped = width > 1 || is_minus || text[0] == '-';
    xl__str_printf(out, is_wrapped ? "(%s%s)" : "%s%s", is_minus ? "-" : "",
                   text);
}
