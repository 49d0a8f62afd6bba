/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues without a device, on the stub driver: their texts, errors and
 * messages, values on the host, and what is cached.
 *
 *     test_epilogue_text write <folder>
 *
 * writes kernels with such texts, for each width and kind of device, for the
 * compilers of devices that are not present (rules/check_kernels.py). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/codegen/epilogue.h"
#include "support/expr_batch.h"
#include "support/support.h"

enum { M = 7, N = 9 };

static struct test_device t;

/* -- bindings in short ------------------------------------------------ */

struct bound {
    xl_binding b[XL_EPILOGUE_MAX_BINDINGS];
    char name[XL_EPILOGUE_MAX_BINDINGS][XL_EXPR_MAX_NAME + 2];
    unsigned n;
};

static xl_dtype dtype_named(const char *text)
{
    for (unsigned d = 0; d < XL_N_DTYPES; d++) {
        const char *name = xl_dtype_name((xl_dtype)d);
        if (strncmp(text, name, strlen(name)) == 0)
            return (xl_dtype)d;
    }
    fail_msg("no type: %s", text);
    return XL_F32;
}

/* "bias:f32[9] s:i32": dense tensors, scalars. */
static void read_bindings(const char *at, struct bound *out)
{
    memset(out, 0, sizeof *out);
    for (; *at; at += strspn(at, " ")) {
        xl_binding *b = &out->b[out->n];
        const size_t len = strcspn(at, ":"), type = strcspn(at, "[ ");
        size_t size[XL_MAX_DIMS];
        unsigned n = 0;
        int used;
        memcpy(out->name[out->n], at, len);
        const xl_dtype dtype = dtype_named(at + len + 1);
        b->is_scalar = at[type] != '[';
        for (at += type; *at == '[' || *at == ','; at += used, n++) {
            used = 0;
            if (sscanf(at + 1, "%zu%n", &size[n], &used) != 1)
                break;
            used++;
        }
        at += *at == ']' || *at == '[' ? strcspn(at, " ") : 0;
        b->tensor = xl_tensor_dense(NULL, dtype, n, size);
        b->name = out->name[out->n++];
    }
}

static xl_status get(const char *expr, const char *bindings, xl_dtype dtype,
                     const struct xl__epilogue_text **out)
{
    struct bound b;
    read_bindings(bindings, &b);
    const xl_epilogue ep = {expr, b.b, b.n};
    const struct xl__epilogue_request expected = {
        &ep, {1, 1, M, N}, dtype, XL__EPILOGUE, NULL};
    xl__error_reset(&t.queue->error);
    return xl__epilogue_text_get(t.queue, &expected, out);
}

static const struct xl__epilogue_text *
must_get(const char *expr, const char *bindings, xl_dtype dtype)
{
    const struct xl__epilogue_text *s;
    assert_status(get(expr, bindings, dtype, &s), XL_OK,
                  xl_error_detail(t.queue));
    return s;
}

/* -- texts ------------------------------------------------------------ */

/* The text up to the functions; that of one width; the macro. */
static void whole_text(void **state)
{
    (void)state;
    static const char head[] =
        "/* Stores bf16 of relu(y + bias)\n"
        " *   ep0: bias f16\n"
        " */\n"
        "#include \"common/types.clh\"\n"
        "#include \"expr/expr.clh\"\n"
        "\n"
        "#ifndef E0\n"
        "#define E0 2\n"
        "#endif\n"
        "#ifndef EI0\n"
        "#define EI0 1\n"
        "#endif\n"
        "#ifndef EZ0\n"
        "#define EZ0 1\n"
        "#endif\n"
        "#include \"expr/epilogue_operands.clh\"\n"
        "#define XL_EPILOGUE_PARAMS XL_EP_INNER_PARAM(ep) \\\n"
        "    , __global const ushort *ep0 XL_EP_VIEW_PARAMS(ep, E, 0)\n"
        "#define XL_EPILOGUE_ARGS XL_EP_INNER_ARG(ep) \\\n"
        "    , ep0 XL_EP_VIEW_ARGS(ep, E, 0)\n"
        "\n"
        "#define XL_EP_SLOT0 0\n"
        "#define XL_EP_SLOT1 (XL_EP_SLOT0 + XL_EP_OF_COLUMN(E, 0))\n"
        "#define XL_EPILOGUE_FETCHED XL_EP_SLOT1\n"
        "static inline __attribute__((always_inline)) void "
        "xl_epilogue_fetch(\n"
        "    uint *to, const ulong z, const ulong j XL_EPILOGUE_PARAMS)\n"
        "{\n"
        "    const ulong i = 0;\n"
        "    if (XL_EP_OF_COLUMN(E, 0))\n"
        "        to[XL_EP_SLOT0] = "
        "as_uint(xl_load_f16_1(XL_EP_AT(ep, E, 0), 0));\n"
        "}\n";
    static const char four[] =
        "#elif XL_VW == 4\n"
        "static inline __attribute__((always_inline)) float4 "
        "xl_epilogue_of_4(\n"
        "    const int aligned, __local const uint *kept, const uint apart,\n"
        "    const float4 y, const ulong z, const ulong i, const ulong j "
        "XL_EPILOGUE_PARAMS)\n"
        "{\n"
        "    const float4 v0 = y;\n"
        "    __global const ushort *m0 = XL_EP_AT(ep, E, 0);\n"
        "    const float4 v1 =\n"
        "        apart && XL_EP_OF_COLUMN(E, 0)\n"
        "        ? *(__local const float4 *)(kept + XL_EP_SLOT0 * apart) :\n"
        "        E0 == 0 ? (float4)(xl_load_f16_1(m0, 0))\n"
        "        : E0 == 3 && aligned ? xl_loada_f16_4(m0, 0)\n"
        "        : E0 != 2 ? xl_load_f16_4(m0, 0)\n"
        "        : xl_loads_f16_4(m0, 0, XL_EP_STEP(ep, E, 0));\n"
        "    const float4 v2 = v0 + v1;\n"
        "    const float4 v3 = xl_relu_4(v2);\n"
        "    return v3;\n"
        "}\n"
        "static inline __attribute__((always_inline)) void xl_epilogue_4(\n"
        "    __global ushort *p, const int aligned, const float4 y,\n"
        "    const ulong z, const ulong i, const ulong j "
        "XL_EPILOGUE_PARAMS)\n"
        "{\n"
        "    const float4 x = xl_epilogue_of_4(aligned, 0, 0, y, z, i, j "
        "XL_EPILOGUE_ARGS);\n"
        "    if (aligned)\n"
        "        xl_storea_bf16_4(p, 0, x);\n"
        "    else\n"
        "        xl_store_bf16_4(p, 0, x);\n"
        "}\n"
        "#elif XL_VW == 8\n";
    static const char call[] =
        "#endif\n"
        "\n"
        "#define XL_EPILOGUE_FETCH(to, z, j) \\\n"
        "    xl_epilogue_fetch(to, z, j XL_EPILOGUE_ARGS)\n"
        "#define XL_EPILOGUE_OF(N, A, kept, apart, y, z, i, j) \\\n"
        "    XL_CAT(xl_epilogue_of_, N)(XL_CAT(XL_EP_ALIGNED, XL_CAT(_, A)), "
        "kept, apart, \\\n"
        "        y, z, i, j XL_EPILOGUE_ARGS)\n"
        "#define XL_EPILOGUE(N, A, T, p, at, y, z, i, j) \\\n"
        "    XL_CAT(xl_epilogue_, N)((__global ushort *)(p) + (at), \\\n"
        "        XL_CAT(XL_EP_ALIGNED, XL_CAT(_, A)), y, z, i, j "
        "XL_EPILOGUE_ARGS)\n";
    const char *text =
        must_get("relu(y + bias)", "bias:f16[9]", XL_BF16)->text;
    const size_t len = strlen(text);
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    assert_non_null(strstr(text, four));
    assert_string_equal(text + len - strlen(call), call);
}

/* A prologue has names of its own and no store. */
static void prologue_text(void **state)
{
    static const char *const names[] = {
        "/* Gives f32 of x * s + bias\n *   pr0: bias f16\n"
        " *   pr1: s scalar f32\n",
        "#define PI0 1\n",
        "#define XL_PROLOGUE_PARAMS XL_EP_INNER_PARAM(pr)",
        "#define XL_PROLOGUE_ARGS XL_EP_INNER_ARG(pr)",
        "xl_prologue_of_4(\n",
        "    __global const ushort *m0 = XL_EP_AT(pr, P, 0);\n",
        "        P0 == 0 ? (float4)(xl_load_f16_1(m0, 0))\n",
        "    const float v1 = pr1;\n",
        "#define XL_PROLOGUE_OF(N, x, z, i, j) \\\n"
        "    XL_CAT(xl_prologue_of_, N)(0, 0, 0, x, z, i, j "
        "XL_PROLOGUE_ARGS)\n"};
    const struct xl__epilogue_text *s;
    struct bound b;
    (void)state;
    read_bindings("bias:f16[9] s:f32", &b);
    const xl_epilogue given = {"x * s + bias", b.b, b.n};
    const struct xl__epilogue_request expected = {
        &given, {1, 1, M, N}, XL_F32, XL__PROLOGUE, NULL};
    assert_status(xl__epilogue_text_get(t.queue, &expected, &s), XL_OK,
                  xl_error_detail(t.queue));
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strstr(s->text, names[i]))
            fail_msg("no %s in\n%s", names[i], s->text);
    }
    assert_null(strstr(s->text, "EPILOGUE"));
    assert_null(strstr(s->text, "xl_epilogue_"));
    assert_null(strstr(s->text, "ep0"));
    assert_null(strstr(s->text, "SLOT"));
}

/* Body of the function of one element. */
static void check_body(const char *expr, const char *bindings, xl_dtype dtype,
                       const char *expected)
{
    static const char before[] = "XL_EPILOGUE_PARAMS)\n{\n";
    const char *text = must_get(expr, bindings, dtype)->text;
    const char *at = strstr(strstr(text, "xl_epilogue_of_1("), before);
    assert_non_null(at);
    at += strlen(before);
    if (strncmp(at, expected, strlen(expected)) != 0)
        fail_msg("%s is\n%s", expr, at);
}

static void bodies(void **state)
{
    (void)state;
    check_body("cast(round(y * scale), i8)", "scale:f32", XL_I8,
               "    const float v0 = y;\n"
               "    const float v1 = ep0;\n"
               "    const float v2 = v0 * v1;\n"
               "    const float v3 = rint(v2);\n"
               "    const int v4 = xl_int_1(v3);\n"
               "    const int v5 = clamp(v4, -128, 127);\n"
               "    return v5;\n"
               "}\n");
    check_body(
        "t = y > r\nout = t & keep", "keep:bool[7,9] r:i32[7,1]", XL_BOOL,
        "    const float v0 = y;\n"
        "    __global const uchar *m0 = XL_EP_AT(ep, E, 0);\n"
        "    const int v4 =\n"
        "        xl_load_bool_1(m0, 0);\n"
        "    __global const int *m1 = XL_EP_AT(ep, E, 1);\n"
        "    const int v1 =\n"
        "        apart && XL_EP_OF_COLUMN(E, 1)\n"
        "        ? *(__local const int *)(kept + XL_EP_SLOT1 * apart) :\n"
        "        xl_load_i32_1(m1, 0);\n"
        "    const float v2 = convert_float(v1);\n"
        "    const int v3 = v0 > v2;\n"
        "    const int v5 = v3 & v4;\n"
        "    return v5;\n"
        "}\n");
    check_body("y", "", XL_F32,
               "    const float v0 = y;\n"
               "    return v0;\n"
               "}\n");
}

/* -- errors ----------------------------------------------------------- */

static const struct wrong {
    const char *expr, *bindings;
    xl_dtype dtype;
    xl_status status;
    const char *message; /* in the message */
} wrong[] = {
    {"y +", "", XL_F32, XL_BAD_ARGUMENT, "1:4: "},
    {"", "", XL_F32, XL_BAD_ARGUMENT, "1:1: there is nothing to compute"},
    {"y + bais", "bias:f32[9]", XL_F32, XL_BAD_ARGUMENT,
     "1:1: 'bias' is bound but not used"},
    {"y + bais", "", XL_F32, XL_BAD_ARGUMENT,
     "1:5: 'bais' is neither bound nor assigned\n  y + bais\n      ^"},
    {"y - mean(y)", "", XL_F32, XL_BAD_ARGUMENT, "1:5: reductions"},
    {"t = y\nsoftmax(t)", "", XL_F32, XL_BAD_ARGUMENT, "2:1: reductions"},
    {"y * max(y)", "", XL_F32, XL_BAD_ARGUMENT, "1:5: reductions"},
    {"y + rand(1)", "", XL_F32, XL_BAD_ARGUMENT, "1:5: random numbers"},
    {"y + b[0]", "b:f32[9]", XL_F32, XL_BAD_ARGUMENT,
     "1:5: slices and transposes"},
    {"y + transpose(b)", "b:f32[9,7]", XL_F32, XL_BAD_ARGUMENT,
     "bind the view"},
    {"out[0] = y", "", XL_F32, XL_BAD_ARGUMENT, "slices and transposes"},
    {"b = y + b", "b:f32[9]", XL_F32, XL_BAD_ARGUMENT, "1:1: 'b' is bound"},
    {"y = relu(y)", "", XL_F32, XL_BAD_ARGUMENT, "1:1: 'y' is bound"},
    {"t = relu(y)", "", XL_F32, XL_BAD_ARGUMENT,
     "1:1: the epilogue has no result"},
    {"out + y", "", XL_F32, XL_BAD_ARGUMENT,
     "1:1: 'out' is read before it is assigned"},
    {"2 * b", "b:f32[9]", XL_F32, XL_BAD_ARGUMENT,
     "1:1: the epilogue does not use 'y'"},
    {"y + b", "b:f32[9] b:f32[9]", XL_F32, XL_BAD_ARGUMENT,
     "\"b\" is bound twice, by bindings 0 and 1"},
    {"y + y", "y:f32[9]", XL_F32, XL_BAD_ARGUMENT,
     "binding 0: \"y\" is reserved"},
    {"y + out", "out:f32[9]", XL_F32, XL_BAD_ARGUMENT, "\"out\" is reserved"},
    {"y + 1", "exp:f32[9]", XL_F32, XL_BAD_ARGUMENT, "\"exp\" is reserved"},
    {"y + a", "a:f64[9]", XL_F32, XL_BAD_ARGUMENT,
     "is computed in f32 and i32; cast to those"},
    {"y + a", "a:f16", XL_F32, XL_BAD_ARGUMENT, "scalars are f64, f32, i64 or i32"},
    {"y + abcdefghijklmnopqrstuvwxyzabcdef",
     "abcdefghijklmnopqrstuvwxyzabcdef:f32", XL_F32, XL_BAD_ARGUMENT,
     "is longer than 31 characters"},
    {"y", "", XL_I8, XL_BAD_ARGUMENT, "1:1: 'out' is i8 and its value is f32"},
    {"y", "", XL_BOOL, XL_BAD_ARGUMENT, "write the value != 0"},
    {"y + index(0)", "", XL_F32, XL_BAD_ARGUMENT, "index() is not possible"},
    {"y & true", "", XL_BOOL, XL_BAD_ARGUMENT, "1:3: '&' requires bool"},
    {"y + b", "b:f32[7]", XL_F32, XL_BAD_SHAPE,
     "1:5: 'b' of shape (7,) does not broadcast over the result's (1, 7, 9)"},
    {"y +\nb", "b:f32[9,7]", XL_F32, XL_BAD_ARGUMENT, "1:4: "},
    {"y + (\nb)", "b:f32[9,7]", XL_F32, XL_BAD_SHAPE, "2:1: 'b' of shape"},
    {"y + b", "b:f32[2,7,9]", XL_F32, XL_BAD_SHAPE, "(2, 7, 9)"},
    {"y + b", "b:f32[3,1,7,9]", XL_F32, XL_BAD_SHAPE, "(3, 1, 7, 9)"},
    {"y + b", "b:f32[0]", XL_F32, XL_BAD_SHAPE, "(0,)"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct wrong *w = &wrong[i];
        const struct xl__epilogue_text *s;
        const xl_status status = get(w->expr, w->bindings, w->dtype, &s);
        const char *detail = xl_error_detail(t.queue);
        if (status != w->status || !strstr(detail, w->message))
            fail_msg("\"%s\" of %s: %s: %s", w->expr, w->bindings,
                     xl_status_name(status), detail);
        assert_null(s);
    }
}

/* More operations than the host supports. */
static void too_long(void **state)
{
    enum { TERMS = 600, CAP = TERMS * 16 };
    static char text[CAP];
    const struct xl__epilogue_text *s;
    size_t len = 1;
    (void)state;
    text[0] = 'y';
    for (unsigned i = 0; i < TERMS; i++)
        len += (size_t)snprintf(text + len, CAP - len, " * y + %u.5", i);
    assert_status(get(text, "", XL_F32, &s), XL_BAD_ARGUMENT,
                  xl_error_detail(t.queue));
    assert_non_null(strstr(xl_error_detail(t.queue), "at most 512"));
}

/* -- memory ----------------------------------------------------------- */

struct product {
    cl_mem mem[3], own;
    xl_gemm g;
    xl_binding b;
};

static void set_up(struct product *p)
{
    static const size_t size[2] = {M, N};
    enum { BYTES = 1024 };
    memset(p, 0, sizeof *p);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, BYTES, &p->mem[i]), XL_OK,
                      xl_error_detail(t.queue));
    assert_status(xl_buffer_create(t.queue, BYTES, &p->own), XL_OK,
                  xl_error_detail(t.queue));
    p->g = (xl_gemm){XL_GEMM_INIT,
                     .m = M,
                     .n = N,
                     .k = 4,
                     .alpha = 1,
                     .a = xl_mat_rows(p->mem[0], 4, XL_F32),
                     .b = xl_mat_rows(p->mem[1], N, XL_F32),
                     .c = xl_mat_rows(p->mem[2], N, XL_F32)};
    p->b = (xl_binding){.name = "r",
                        .tensor = xl_tensor_dense(p->own, XL_F32, 2, size)};
    p->g.epilogue = (xl_epilogue){"y + r", &p->b, 1};
}

static void tear_down(struct product *p)
{
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(p->mem[i]);
    clReleaseMemObject(p->own);
}

static void expect(struct product *p, xl_status status, const char *message)
{
    const xl_status got = xl_gemm_run(t.queue, &p->g, NULL);
    const char *detail = xl_error_detail(t.queue);
    if (got != status || !strstr(detail, message))
        fail_msg("%s, not %s; \"%s\" for \"%s\"", xl_status_name(got),
                 xl_status_name(status), detail, message);
}

static void operands(void **state)
{
    (void)state;
    struct product p;
    xl_tensor *r = &p.b.tensor;
    set_up(&p);
    expect(&p, XL_OK, "");
    r->mem.buf = p.mem[2];
    expect(&p, XL_OK, ""); /* the very same view */
    r->offset = 1;
    expect(&p, XL_OVERLAP, "C overlaps r");
    r->offset = N; /* rows of both by turns */
    r->stride[0] = p.g.c.row_stride = 2 * N;
    expect(&p, XL_OK, "");
    r->offset = N - 1;
    expect(&p, XL_OVERLAP, "C overlaps r");
    r->offset = 0;
    r->stride[0] = p.g.c.row_stride = N;
    r->dtype = XL_I32;
    expect(&p, XL_OVERLAP, "C overlaps r");
    r->dtype = XL_F32;
    r->mem.buf = p.own;
    r->offset = 256;
    expect(&p, XL_BUFFER_TOO_SMALL, "r needs ");
    r->offset = SIZE_MAX;
    expect(&p, XL_OVERFLOW, "r: ");
    r->offset = 0;
    r->n_dims = XL_MAX_DIMS + 1;
    expect(&p, XL_BAD_ARGUMENT, "r has 7 dimensions");
    r->n_dims = 2;
    r->mem.buf = NULL;
    expect(&p, XL_BAD_ARGUMENT, "r has no memory");
    tear_down(&p);
}

/* The value by another name: y may be assigned. The text is another one than
 * that of y, in which it is none. */
static void named_value(void **state)
{
    static const char expr[] = "y = total * 2; relu(y)";
    const xl_epilogue ep = {expr, NULL, 0};
    struct xl__epilogue_request named = {
        &ep, {1, 1, M, N}, XL_F32, XL__EPILOGUE, "total"};
    const struct xl__epilogue_text *s, *other;
    double expected, error;
    (void)state;
    assert_status(get(expr, "", XL_F32, &other), XL_BAD_ARGUMENT, expr);
    assert_status(xl__epilogue_text_get(t.queue, &named, &s), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(get(expr, "", XL_F32, &other), XL_BAD_ARGUMENT, expr);
    xl__epilogue_text_eval(s, XL_F32, 3, 0, NULL, NULL, &expected, &error);
    assert_true(expected == 6);
}

static void descriptors(void **state)
{
    (void)state;
    struct product p;
    set_up(&p);
    p.b.name = NULL;
    expect(&p, XL_BAD_ARGUMENT, "binding 0 of the epilogue has no name");
    p.b.name = "r";
    p.g.epilogue.bindings = NULL;
    expect(&p, XL_BAD_ARGUMENT, "an epilogue of 1 bindings has no bindings");
    p.g.epilogue.bindings = &p.b;
    p.g.epilogue.expr = NULL;
    expect(&p, XL_BAD_ARGUMENT, "has no expression");
    p.g.epilogue.expr = "y + r";
    p.g.epilogue.n_bindings = XL_EPILOGUE_MAX_BINDINGS + 1;
    expect(&p, XL_BAD_ARGUMENT, "at most 16 are possible");
    p.g.epilogue.n_bindings = 1;
    p.b = (xl_binding){.name = "r", .is_scalar = true, .scalar = 1.5};
    p.b.tensor.dtype = XL_I32;
    expect(&p, XL_BAD_SCALAR, "r is 1.5");
    p.b.scalar = (double)NAN;
    expect(&p, XL_BAD_SCALAR, "which is no whole number of 32 bits");
    p.b.scalar = INT32_MIN;
    expect(&p, XL_OK, "");
    p.b.tensor.dtype = XL_F32;
    p.b.scalar = 1e39;
    expect(&p, XL_BAD_SCALAR, "r is 9.9999999999999994e+38, which overflows");
    p.b.scalar = HUGE_VAL;
    expect(&p, XL_OK, "");
    tear_down(&p);
}

/* -- values on the host ----------------------------------------------- */

static void check_value(const char *expr, xl_dtype dtype, double y, double off,
                        double expected, double most)
{
    const double scalar = 2;
    const bool has_s = strstr(expr, "* s") != NULL;
    const struct xl__epilogue_text *s =
        must_get(expr, has_s ? "s:f32" : "", dtype);
    double got, error;
    xl__epilogue_text_eval(s, dtype, y, off, &scalar, NULL, &got, &error);
    if (!(got == expected || (isnan(got) && isnan(expected))) ||
        !(error <= most))
        fail_msg("%s of %g: %g within %g, not %g within %g", expr, y, got,
                 error, expected, most);
}

static void values(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan_ = (double)NAN, u = 0x1p-24;
    check_value("y * s", XL_F32, 3, 0, 6, 0);
    check_value("y * s", XL_F32, 3, 3 * u, 6, 13 * u);
    check_value("y * s", XL_BF16, 1 + 0x1p-9, 0, 2, 0);
    check_value("relu(y)", XL_F32, -1, 0.5, 0, 0);
    check_value("relu(y)", XL_F32, nan_, 0, nan_, 0);
    check_value("exp(y)", XL_F32, inf, 0, inf, 0);
    check_value("exp(-y)", XL_F32, inf, 0, 0, 0);
    check_value("y - y", XL_F32, inf, 0, nan_, 0);
    check_value("log(y)", XL_F32, -1, 0.5, nan_, 0);
    check_value("cast(y, i8)", XL_I8, 1000, 1, 127, 0);
    check_value("cast(y, i8)", XL_I8, nan_, 0, 0, 0);
    check_value("cast(y, i8)", XL_I8, 2, 1e-6, 2, 1);
    check_value("cast(y, u8)", XL_U8, -3, 0.1, 0, 0);
    check_value("y > 1", XL_BOOL, 2, 0.5, 1, 0);
    check_value("y > 1", XL_BOOL, 2, 1.5, 1, inf);
    check_value("y", XL_F16, 1e6, 1, inf, 0);
}

/* -- what is cached --------------------------------------------------- */

static void kept(void **state)
{
    (void)state;
    const struct xl__epilogue_text *a =
        must_get("y + r", "r:f32[7,9]", XL_F32);
    assert_ptr_equal(a, must_get("y + r", "r:f32[7,9]", XL_F32));
    assert_int_equal(a->operand[0].stride[XL__ALONG_BATCH], 0);
    assert_int_equal(a->operand[0].stride[XL__ALONG_ROWS], 2);
    assert_int_equal(a->operand[0].stride[XL__ALONG_COLS], 1);
    /* Another layout, with strides of other classes, has the same text. */
    const struct xl__epilogue_text *row = must_get("y + r", "r:f32[9]", XL_F32);
    assert_ptr_not_equal(a, row);
    assert_ptr_equal(a->text, row->text);
    assert_int_equal(row->operand[0].stride[XL__ALONG_ROWS], 0);
    /* Another type, name or expression: another text. */
    assert_ptr_not_equal(a->text,
                         must_get("y + r", "r:f32[9]", XL_F16)->text);
    assert_ptr_not_equal(a->text,
                         must_get("y + r", "r:f16[9]", XL_F32)->text);
    assert_ptr_not_equal(a->text, must_get("y + r", "r:f32", XL_F32)->text);
    assert_ptr_not_equal(a->text,
                         must_get("y - r", "r:f32[9]", XL_F32)->text);
    assert_ptr_not_equal(a->text,
                         must_get("y + s", "s:f32[9]", XL_F32)->text);
    const struct xl__epilogue_text *b =
        must_get("y + a * b", "a:f32 b:f32", XL_F32);
    assert_ptr_not_equal(b, must_get("y + a * b", "b:f32 a:f32", XL_F32));
    assert_int_equal(b->n_operands, 2);
    assert_true(b->operand[0].is_scalar);
    /* A dimension of size 1 has no stride. */
    const struct xl__epilogue_text *one =
        must_get("y + r", "r:f32[1,1,9]", XL_F32);
    assert_ptr_equal(one, row);
}

/* -- layouts ------------------------------------------------------------ */

/* Of operand r and of "y + r" over it: the layout as defines, with rows and
 * columns swapped or not; arguments; whether it is fetched for a column. */
static void check_layout(const xl_binding *r, bool swapped, size_t inner,
                         const char *defines, unsigned n_args,
                         unsigned fetched)
{
    static struct xl__step s;
    const struct xl__epilogue_text *text;
    const xl_epilogue ep = {"y + r", r, 1};
    const struct xl__epilogue_request request = {
        &ep, {2, 2, M, 32}, XL_F32, XL__EPILOGUE, NULL};
    assert_status(xl__epilogue_text_get(t.queue, &request, &text), XL_OK,
                  xl_error_detail(t.queue));
    memset(&s, 0, sizeof s);
    xl__arg_epilogue(&s, text, 1, 1, inner, swapped);
    if (!strstr(s.options, defines) || s.n_args != n_args ||
        xl__epilogue_fetched(text, swapped) != fetched)
        fail_msg("%s, %u arguments, %u fetched; not %s, %u, %u", s.options,
                 s.n_args, xl__epilogue_fetched(text, swapped), defines,
                 n_args, fetched);
}

static void layouts(void **state)
{
    static const char row[] = " -DE0=3 -DEI0=0 -DEZ0=0";
    (void)state;
    const size_t all[] = {2, 2, M, 32}, column[] = {M, 1};
    xl_binding r = {.name = "r",
                    .tensor = xl_tensor_dense(NULL, XL_F32, 1, all + 3)};
    check_layout(&r, false, 0, row, 2, 1);
    check_layout(&r, true, 0, " -DE0=0 -DEI0=1 -DEZ0=0", 3, 0);
    check_layout(&r, false, 2, row, 3, 1); /* and the inner axis */
    r.tensor.offset = 32;
    check_layout(&r, false, 0, row, 2, 1);
    r.tensor.offset = 8;
    check_layout(&r, false, 0, " -DE0=1 -DEI0=0 -DEZ0=0", 2, 1);
    r.tensor.offset = 0;
    r.tensor.mem.svm = &r; /* whose alignment is not known */
    check_layout(&r, false, 0, " -DE0=1 -DEI0=0 -DEZ0=0", 2, 1);
    r.tensor.mem.svm = NULL;
    r.tensor.stride[0] = 2;
    check_layout(&r, false, 0, " -DE0=2 -DEI0=0 -DEZ0=0", 3, 1);
    r.tensor = xl_tensor_dense(NULL, XL_BOOL, 1, all + 3);
    check_layout(&r, false, 0, row, 2, 0);
    r.tensor = xl_tensor_dense(NULL, XL_F32, 2, column);
    check_layout(&r, false, 0, " -DE0=0 -DEI0=1 -DEZ0=0", 3, 0);
    check_layout(&r, true, 0, row, 2, 1);
    r.tensor = xl_tensor_dense(NULL, XL_F32, 4, all);
    check_layout(&r, false, 0, " -DE0=3 -DEI0=1 -DEZ0=1", 4, 0);
    check_layout(&r, false, 2, " -DE0=3 -DEI0=1 -DEZ0=1", 6, 0);
    r.tensor.stride[XL__ALONG_BATCH] = M * 32 + 1;
    check_layout(&r, false, 2, " -DE0=1 -DEI0=1 -DEZ0=1", 6, 0);
}

/* -- for other compilers ---------------------------------------------- */

static const struct writable {
    const char *expr, *bindings;
    xl_dtype dtype;
} writable[] = {
    {"gelu(y + bias) + r", "bias:f32[9] r:f32[7,9]", XL_F32},
    {"silu(y * s) ^ p", "s:f32 p:f16[7,9]", XL_F16},
    {"(y - mu) * rsqrt(v + 1e-5) * gain + b",
     "mu:bf16[9] v:f32[9] gain:f16[9] b:f32[7,1]", XL_BF16},
    {"cast(round(y * s), i8)", "s:f32[9]", XL_I8},
    {"cast(clamp(y, 0, top), u8)", "top:u8[7,1]", XL_U8},
    {"y > t & keep", "t:i32[7,1] keep:bool[7,9]", XL_BOOL},
    {"where(y > 0, w, -w) * k", "w:i8[7,9] k:i32", XL_I32},
};

/* Before each of them. */
static const struct writable scores = {"x * s + tanh(b)",
                                       "s:f32 b:f16[7,9]", XL_F32};

/* The text by itself, made without a queue. */
static char *write_text(const struct writable *w, enum xl__hook hook,
                        const struct xl__limits *l)
{
    struct bound b;
    struct xl__error e = {0};
    read_bindings(w->bindings, &b);
    struct xl__epilogue_graph ep = {.expr = xl__strdup(w->expr),
                                    .dtype = w->dtype,
                                    .hook = hook,
                                    .n = b.n};
    const xl_epilogue given = {ep.expr, b.b, b.n};
    const struct xl__epilogue_request expected = {
        &given, {1, 1, M, N}, ep.dtype, hook, NULL};
    for (unsigned k = 0; k < b.n; k++) {
        memcpy(ep.operand[k].name, b.name[k], sizeof ep.operand[k].name);
        ep.operand[k].dtype = (unsigned)b.b[k].tensor.dtype;
        ep.operand[k].is_scalar = b.b[k].is_scalar;
    }
    if (xl__epilogue_read(&expected, &ep, &e) != XL_OK ||
        xl__epilogue_write(&ep, l) != XL_OK) {
        fprintf(stderr, "%s: %s\n", ep.expr, xl__str_text(&e.detail));
        exit(1);
    }
    xl__graph_clear(&ep.g);
    free(ep.expr);
    return ep.text;
}

static void write_file(const char *folder, size_t i, struct batch_way way,
                       unsigned layout)
{
    struct xl__limits l;
    char path[512];
    batch_facts(way, &l);
    char *text = write_text(&writable[i], XL__EPILOGUE, &l);
    char *before = write_text(&scores, XL__PROLOGUE, &l);
    snprintf(path, sizeof path, "%s/%s_%zu_%u.cl", folder,
             way.as_gpu ? "gpu" : "cpu", i, way.vw);
    FILE *file = fopen(path, "w");
    if (!file ||
        fprintf(file,
                "#define XL_VW %u\n#define E0 %u\n#define E1 %u\n%s\n%s\n"
                "__kernel void epilogue(__global const float *x,\n"
                "    __global ELEM(%u) *c, ulong ld\n"
                "    XL_PROLOGUE_PARAMS XL_EPILOGUE_PARAMS)\n"
                "{\n"
                "    const ulong i = get_global_id(1);\n"
                "    const ulong j = get_global_id(0) * (XL_VW + 1);\n"
                "    const ulong at = i * ld + j;\n"
                "    XL_EPILOGUE(1, , %u, c, at,\n"
                "        XL_PROLOGUE_OF(1, x[at], 0, i, j), 0, i, j);\n"
                "    XL_EPILOGUE(XL_VW, A, %u, c, at + 1,\n"
                "        XL_PROLOGUE_OF(XL_VW, LOADV(XL_VW, 0, x, at + 1),\n"
                "            0, i, j + 1), 0, i, j + 1);\n"
                "}\n",
                way.vw, layout % 3, (layout + 1) % 3, before, text,
                (unsigned)writable[i].dtype, (unsigned)writable[i].dtype,
                (unsigned)writable[i].dtype) < 0 ||
        fclose(file) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    free(text);
    free(before);
    xl__limits_clear(&l);
}

static int write_files(const char *folder)
{
    unsigned layout = 0;
    for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
        for (unsigned vw = 2; vw <= XL__EXPR_MAX_VW; vw *= 2) {
            write_file(folder, i, (struct batch_way){true, vw}, layout);
            write_file(folder, i, (struct batch_way){false, vw}, layout++);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_text), cmocka_unit_test(prologue_text),
        cmocka_unit_test(bodies),     cmocka_unit_test(named_value),
        cmocka_unit_test(refused),    cmocka_unit_test(too_long),
        cmocka_unit_test(operands),   cmocka_unit_test(descriptors),
        cmocka_unit_test(values),     cmocka_unit_test(kept),
        cmocka_unit_test(layouts),
    };
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_files(argv[2]);
    test_args(argc, argv);
    test_device_open(&t, &options);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&t);
    return failed;
}
