/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the language, and the data of a typed expression: a graph
 * of nodes, each one operation, and the signature it is typed for. */
#ifndef XL_EXPR_OPERATIONS_H
#define XL_EXPR_OPERATIONS_H

#include <crosslane/expr.h>

#include "base/dtype.h"
#include "base/error.h"

/* The type of a value in a register. Values of memory's types (xl_dtype) are
 * converted on loading. XL__V_F32 is f64 in a graph that is_double, and
 * XL__V_I32 i64 in one that is_long. The arguments of an operation have the
 * type that it works in; explicit CAST nodes convert, each by one of these
 * steps:
 *
 *     bool to i32 or f32
 *     i32 to f32, f32 to i32
 *     f32 to f32, rounded to f16 or bf16
 *     i32 to i32, saturated as a narrower integer
 *
 * A conversion to bool is the comparison != 0. */
enum xl__vtype { XL__V_BOOL, XL__V_I32, XL__V_F32, XL__N_VTYPES };

enum xl__op_class {
    XL__C_LEAF,  /* INPUT SCALAR CONST RAND RANDN INDEX */
    XL__C_VIEW,  /* VIEW GATHER: elements of an argument in other places */
    XL__C_MAP,   /* by element */
    XL__C_REDUCE /* over axes, which remain with size 1 */
};

/* Type of an operation's result. */
enum xl__result {
    XL__R_FLOAT, /* f32 of f32: integers are converted first */
    XL__R_SAME,  /* the arguments' common type, bool becoming i32 */
    XL__R_BOOL,  /* a comparison: arguments are brought to a common type */
    XL__R_TEST,  /* bool of f32 */
    XL__R_LOGIC, /* bool of bool */
    XL__R_BITS,  /* bool of bools, or i32 of i32: not of both, not of floats */
    XL__R_INT,   /* i32 of integers; bools are converted first */
    XL__R_INDEX, /* i32 */
    XL__R_OWN    /* by a rule of its own in infer_types.c */
};

/* All operations; a new one is added here. XX(ID, name or operator, class,
 * arguments, type of the result, flop per element, error in ulp of f32 by
 * OpenCL C 7.4) */
/* clang-format off */
#define XL__EXPR_OP_MAP(XX)                                       \
 XX(INPUT,     "",          LEAF,   0, OWN,   0,  0)              \
 XX(SCALAR,    "",          LEAF,   0, OWN,   0,  0)              \
 XX(CONST,     "",          LEAF,   0, OWN,   0,  0)              \
 XX(VIEW,      "",          VIEW,   1, OWN,   0,  0)              \
 XX(GATHER,    "gather",    VIEW,   2, OWN,   1,  0)              \
 XX(COPY,      "",          MAP,    1, OWN,   0,  0)              \
 XX(RAND,      "rand",      LEAF,   1, OWN,   30, 0)              \
 XX(RANDN,     "randn",     LEAF,   1, OWN,   60, 16)             \
 XX(INDEX,     "index",     LEAF,   1, OWN,   2,  0)              \
 XX(NEG,       "-",         MAP,    1, SAME,  1,  0)              \
 XX(NOT,       "!",         MAP,    1, LOGIC, 0,  0)              \
 XX(BITNOT,    "~",         MAP,    1, INT,   1,  0)              \
 XX(ABS,       "abs",       MAP,    1, SAME,  1,  0)              \
 XX(SIGN,      "sign",      MAP,    1, SAME,  1,  0)              \
 XX(CEIL,      "ceil",      MAP,    1, SAME,  1,  0)              \
 XX(FLOOR,     "floor",     MAP,    1, SAME,  1,  0)              \
 XX(ROUND,     "round",     MAP,    1, SAME,  1,  0)              \
 XX(TRUNC,     "trunc",     MAP,    1, SAME,  1,  0)              \
 XX(ISNAN,     "isnan",     MAP,    1, TEST,  1,  0)              \
 XX(ISINF,     "isinf",     MAP,    1, TEST,  1,  0)              \
 XX(ISFINITE,  "isfinite",  MAP,    1, TEST,  1,  0)              \
 XX(SQRT,      "sqrt",      MAP,    1, FLOAT, 4,  3)              \
 XX(RSQRT,     "rsqrt",     MAP,    1, FLOAT, 4,  2)              \
 XX(EXP,       "exp",       MAP,    1, FLOAT, 10, 3)              \
 XX(EXP2,      "exp2",      MAP,    1, FLOAT, 8,  3)              \
 XX(EXPM1,     "expm1",     MAP,    1, FLOAT, 16, 3)              \
 XX(LOG,       "log",       MAP,    1, FLOAT, 12, 3)              \
 XX(LOG2,      "log2",      MAP,    1, FLOAT, 12, 3)              \
 XX(LOG10,     "log10",     MAP,    1, FLOAT, 12, 3)              \
 XX(LOG1P,     "log1p",     MAP,    1, FLOAT, 16, 2)              \
 XX(SIN,       "sin",       MAP,    1, FLOAT, 16, 4)              \
 XX(COS,       "cos",       MAP,    1, FLOAT, 16, 4)              \
 XX(TAN,       "tan",       MAP,    1, FLOAT, 24, 5)              \
 XX(ASIN,      "asin",      MAP,    1, FLOAT, 20, 4)              \
 XX(ACOS,      "acos",      MAP,    1, FLOAT, 20, 4)              \
 XX(ATAN,      "atan",      MAP,    1, FLOAT, 20, 5)              \
 XX(SINH,      "sinh",      MAP,    1, FLOAT, 20, 4)              \
 XX(COSH,      "cosh",      MAP,    1, FLOAT, 20, 4)              \
 XX(TANH,      "tanh",      MAP,    1, FLOAT, 16, 5)              \
 XX(ASINH,     "asinh",     MAP,    1, FLOAT, 24, 4)              \
 XX(ACOSH,     "acosh",     MAP,    1, FLOAT, 24, 4)              \
 XX(ATANH,     "atanh",     MAP,    1, FLOAT, 24, 5)              \
 XX(ERF,       "erf",       MAP,    1, FLOAT, 20, 16)             \
 XX(SIGMOID,   "sigmoid",   MAP,    1, FLOAT, 16, 8)              \
 XX(RELU,      "relu",      MAP,    1, SAME,  1,  0)              \
 XX(GELU,      "gelu",      MAP,    1, FLOAT, 24, 8)              \
 XX(GELU_TANH, "gelu_tanh", MAP,    1, FLOAT, 24, 24)             \
 XX(SILU,      "silu",      MAP,    1, FLOAT, 16, 10)             \
 XX(SOFTPLUS,  "softplus",  MAP,    1, FLOAT, 24, 8)              \
 XX(ADD,       "+",         MAP,    2, SAME,  1,  0)              \
 XX(SUB,       "-",         MAP,    2, SAME,  1,  0)              \
 XX(MUL,       "*",         MAP,    2, SAME,  1,  0)              \
 XX(DIV,       "/",         MAP,    2, FLOAT, 4,  2.5)            \
 XX(FLOORDIV,  "//",        MAP,    2, SAME,  16, 8)              \
 XX(MOD,       "mod",       MAP,    2, SAME,  10, 0)              \
 XX(FMOD,      "fmod",      MAP,    2, SAME,  8,  0)              \
 XX(ATAN2,     "atan2",     MAP,    2, FLOAT, 28, 6)              \
 XX(HYPOT,     "hypot",     MAP,    2, FLOAT, 16, 4)              \
 XX(COPYSIGN,  "copysign",  MAP,    2, FLOAT, 1,  0)              \
 XX(POW,       "^",         MAP,    2, OWN,   30, 16)             \
 XX(MIN,       "min",       MAP,    2, SAME,  1,  0)              \
 XX(MAX,       "max",       MAP,    2, SAME,  1,  0)              \
 XX(LT,        "<",         MAP,    2, BOOL,  1,  0)              \
 XX(LE,        "<=",        MAP,    2, BOOL,  1,  0)              \
 XX(GT,        ">",         MAP,    2, BOOL,  1,  0)              \
 XX(GE,        ">=",        MAP,    2, BOOL,  1,  0)              \
 XX(EQ,        "==",        MAP,    2, BOOL,  1,  0)              \
 XX(NE,        "!=",        MAP,    2, BOOL,  1,  0)              \
 XX(AND,       "&",         MAP,    2, BITS,  0,  0)              \
 XX(OR,        "|",         MAP,    2, BITS,  0,  0)              \
 XX(XOR,       "xor",       MAP,    2, BITS,  0,  0)              \
 XX(SHL,       "<<",        MAP,    2, INT,   2,  0)              \
 XX(SHR,       ">>",        MAP,    2, INT,   2,  0)              \
 XX(FMA,       "fma",       MAP,    3, FLOAT, 2,  0)              \
 XX(WHERE,     "where",     MAP,    3, OWN,   1,  0)              \
 XX(CLAMP,     "clamp",     MAP,    3, SAME,  2,  0)              \
 XX(CAST,      "cast",      MAP,    1, OWN,   1,  0)              \
 XX(SUM,       "sum",       REDUCE, 1, SAME,  4,  0)              \
 XX(PROD,      "prod",      REDUCE, 1, SAME,  1,  0)              \
 XX(MEAN,      "mean",      REDUCE, 1, FLOAT, 4,  0)              \
 XX(VAR,       "var",       REDUCE, 1, FLOAT, 5,  0)              \
 XX(RMIN,      "min",       REDUCE, 1, SAME,  1,  0)              \
 XX(RMAX,      "max",       REDUCE, 1, SAME,  1,  0)              \
 XX(ARGMIN,    "argmin",    REDUCE, 1, INDEX, 2,  0)              \
 XX(ARGMAX,    "argmax",    REDUCE, 1, INDEX, 2,  0)              \
 XX(ANY,       "any",       REDUCE, 1, LOGIC, 1,  0)              \
 XX(ALL,       "all",       REDUCE, 1, LOGIC, 1,  0)              \
 XX(LOGSUMEXP, "logsumexp", REDUCE, 1, FLOAT, 12, 0)              \
 XX(NORM2,     "norm2",     REDUCE, 1, FLOAT, 8,  0)
/* clang-format on */

enum xl__expr_op {
#define XL__EXPR_OP_ENUM(id, name, cls, n, result, flop, ulp) XL__E_##id,
    XL__EXPR_OP_MAP(XL__EXPR_OP_ENUM)
#undef XL__EXPR_OP_ENUM
        XL__N_EXPR_OPS
};

struct xl__expr_op_info {
    const char *name;
    enum xl__op_class cls;
    unsigned n_args;
    enum xl__result result;
    double flop, ulp;
};
extern const struct xl__expr_op_info xl__expr_ops[XL__N_EXPR_OPS];

struct xl__shape {
    unsigned n_dims;
    size_t size[XL_MAX_DIMS];
};

enum { XL__EXPR_ARGS = 3 };

/* GATHER takes elements along one axis of an INPUT or of a VIEW, at indices:
 *
 *     result[a..., i..., b...] = source[a..., index[i...], b...]
 *
 * The index, broadcast to the result, is the first argument, and the source
 * the second one. */
enum { XL__GATHER_INDEX, XL__GATHER_SOURCE };

struct xl__node {
    enum xl__expr_op op;
    enum xl__vtype type;
    unsigned arg[XL__EXPR_ARGS]; /* nodes before this one */
    struct xl__shape shape;      /* a CONST can have any */
    xl_dtype dtype;   /* INPUT: type in memory; CAST: type to round to */
    bool is_unshaped; /* depends on a rand() or index() that has no shape yet,
                         and has none itself */
    unsigned axes;    /* reductions: bit d is axis d of the argument; GATHER:
                         of the second argument, which is gathered */
    double value;     /* CONST; whole for i32, 0 or 1 for bool */
    unsigned binding; /* INPUT, SCALAR */
    size_t offset;    /* INPUT: of the view in the bound tensor, in elements;
                         VIEW: in the argument, in the order of its elements */
    size_t stride[XL_MAX_DIMS]; /* INPUT, VIEW: per dimension of shape; a
                                   negative one is modulo 2^64 */
    unsigned location;          /* byte offset in the text, for messages */
};

/* One assignment to a bound tensor. The node's shape broadcasts to `shape`;
 * their dimensions are aligned at the last. */
struct xl__output {
    unsigned node, binding;
    struct xl__shape shape;
    size_t offset;
    size_t stride[XL_MAX_DIMS];
    xl_dtype dtype;
};

struct xl__graph {
    struct xl__node *node;
    unsigned n_nodes;
    size_t cap_nodes;
    struct xl__output *output; /* at most XL_EXPR_MAX_BINDINGS */
    unsigned n_outputs;
    size_t cap_outputs;
    bool fast_math;
    bool is_double;   /* floats are f64, else f32 */
    bool is_long;     /* integers are i64, else i32 */
    unsigned *bucket; /* hash table of nodes, of graph.c */
    unsigned n_buckets;
};

/* The signature of a call: all that a plan depends on, without the memory. It
 * can be compared by memcmp(), so padding is zero. */
/* One bound name: a scalar, or a view of memory. */
struct xl__parameter {
    char name[XL_EXPR_MAX_NAME + 1];
    size_t size[XL_MAX_DIMS], stride[XL_MAX_DIMS];
    unsigned n_dims;
    unsigned is_scalar;
    unsigned dtype;   /* xl_dtype */
    unsigned align;   /* elements: the largest power of two, at most 64, that
                         divides the address of element (0, ..., 0) */
    unsigned same_as; /* lowest binding that is the same view of the same
                         memory; its own index when there is none */
    unsigned zero;
};
struct xl__signature {
    unsigned n;
    unsigned fast_math;
    struct xl__parameter b[XL_EXPR_MAX_BINDINGS];
};

/* How far apart a stride's elements are, also of a negative one. */
static inline size_t xl__stride_length(size_t stride)
{
    return stride > SIZE_MAX / 2 ? 0 - stride : stride;
}

/* Is the value made from the element's place instead of memory? */
static inline bool xl__is_of_place(enum xl__expr_op op)
{
    return op == XL__E_RAND || op == XL__E_RANDN || op == XL__E_INDEX;
}

/* The type of memory that holds the values of a type exactly. */
static inline xl_dtype xl__wide_dtype(const struct xl__graph *g,
                                      enum xl__vtype type)
{
    if (type == XL__V_F32)
        return g->is_double ? XL_F64 : XL_F32;
    return type == XL__V_BOOL ? XL_BOOL : g->is_long ? XL_I64 : XL_I32;
}

/* The type in a register of the values of a memory type. */
static inline enum xl__vtype xl__register_type(xl_dtype dtype)
{
    if (dtype == XL_BOOL)
        return XL__V_BOOL;
    return xl__dtype_unit_roundoff(dtype) > 0 ? XL__V_F32 : XL__V_I32;
}

/* Has the graph values of 8 bytes? Its kernels take one element at a time. */
static inline bool xl__has_wide_values(const struct xl__graph *g)
{
    return g->is_double || g->is_long;
}

static inline size_t xl__shape_elems(const struct xl__shape *s)
{
    size_t n = 1;
    for (unsigned d = 0; d < s->n_dims; d++)
        n *= s->size[d]; /* infer_types.c has checked that it fits */
    return n;
}

#endif
