/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues on a device: every kind of operand, type and layout, with each
 * variant of GEMM that supports it. Results are compared with values computed
 * in double on the host; the library's self-check is on. */
#include <math.h>
#include <string.h>

#include "lib/ops/expression/epilogue_case.h"

static struct test_device t;

/* -- the epilogues on the host -------------------------------------------- */

#define F(name, value)                                                        \
    static double name(double y, const double *x)                             \
    {                                                                         \
        (void)x;                                                              \
        return value;                                                         \
    }
static double gelu_of(double x)
{
    return 0.5 * x * erfc(-x * sqrt(0.5));
}

F(plus, y + x[0])
F(plus_two, y + x[0] + x[1])
F(relu_plus, fmax(y + x[0], 0))
F(gelu_plus, gelu_of(y + x[0]))
F(gelu_twice, gelu_of(gelu_of(y + x[0])))
F(silu_of, y / (1 + exp(-y)))
F(scaled, y *x[0])
F(rounded, rint(y))
F(rounded_scaled, rint(y * x[0]))
F(scaled_plus, y *x[0] + x[1])
F(third, y / 3)
F(itself, y)
F(times_eight, y * 8)
F(above, y > x[0])
F(chosen, x[0] != 0 ? y : x[1])
F(clamped, fmin(fmax(y, -1), x[0]))
F(three, (y + x[0]) * x[1] + x[2])
F(whole, y > 0 ? x[0] : -x[0])
F(norm, (y - x[0]) / sqrt(x[1] + 20) * x[2] + x[3])
F(log_of, log(y))
F(huge, y > 0 ? (double)INFINITY : y < 0 ? -(double)INFINITY : (double)NAN)

/* clang-format off */
static const struct epilogue_case kinds[] = {
    {"y + bias", "bias:f32[n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + bias", "bias:f32[m,1]", XL_F32, XL_F32, plus, 1, 0},
    {"y + one", "one:f32[]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:f32[m,n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:C", XL_F32, XL_F32, plus, 1, 0},
    {"relu(y + bias)", "bias:f32[n]", XL_F16, XL_F16, relu_plus, 1, 0},
    {"t = y + bias\nout = gelu(t)", "bias:f32[n]", XL_F32, XL_F32, gelu_plus, 64, 0},
    {"silu(y)", "", XL_BF16, XL_BF16, silu_of, 16, 0},
    {"y * s", "s:f32=0.3", XL_F32, XL_F32, scaled, 1, 0},
    {"y * s", "s:i32=-7", XL_F32, XL_F32, scaled, 1, 0},
    {"where(c, y, b)", "c:bool[m,n] b:f32[n]", XL_F32, XL_F32, chosen, 0, 0},
    {"clamp(y, -1, top)", "top:f32[n]", XL_F32, XL_F16, clamped, 0, 0},
    {"(y + a) * b + c", "a:f32[n] b:f32[m,1] c:f32[m,n]", XL_F32, XL_F32, three, 64, 0},
    {"(y - mu) * rsqrt(v + 20) * gain + bias", "mu:f32[n] v:u8[n] gain:f32[n] bias:f32[n]",
     XL_F32, XL_F32, norm, 64, 0},
    {"log(y)", "", XL_F32, XL_F32, log_of, 8, 0},
    {"y * inf", "", XL_F32, XL_F32, huge, 0, 0},
};

static const struct epilogue_case types[] = {
    {"y / 3", "", XL_F32, XL_F16, third, 3, 0},
    {"y / 3", "", XL_F32, XL_BF16, third, 3, 0},
    {"cast(round(y), i8)", "", XL_F32, XL_I8, rounded, 0, 0},
    {"cast(y * 8, i8)", "", XL_F32, XL_I8, times_eight, 0, 0},
    {"cast(y * 8, u8)", "", XL_F16, XL_U8, times_eight, 0, CASE_BETA},
    {"cast(y * 8, i32)", "", XL_F32, XL_I32, times_eight, 0, CASE_BETA},
    {"y > r", "r:f32[n]", XL_F32, XL_BOOL, above, 0, CASE_BETA},
    {"y != 0", "", XL_F32, XL_BOOL, itself, 0, CASE_BETA},
    {"where(y > 0, w, -w)", "w:i8[m,n]", XL_F32, XL_I8, whole, 0, 0},
    {"y + r", "r:f16[m,n]", XL_F16, XL_F16, plus, 1, 0},
    {"y + r", "r:bf16[m,n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:i32[m,n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:i8[m,n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:u8[m,n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:bool[m,n]", XL_F32, XL_F32, plus, 1, 0},
    {"y + r", "r:bool[m,1]", XL_F32, XL_F32, plus, 1, 0},
    {"y * s + b", "s:f32[n] b:f32[n]", XL_I8, XL_F32, scaled_plus, 2, 0},
    {"cast(round(y * s), i8)", "s:f32=0.25", XL_I8, XL_I8, rounded_scaled, 0, CASE_BETA},
};

static const struct epilogue_case layouts[] = {
    {"y + r + b", "r:f32[m,n]T b:f16[n]3", XL_F32, XL_F32, plus_two, 2, 0},
    {"y + r + b", "r:f16[m,n]3 b:f32[m,1]", XL_F32, XL_F32, plus_two, 2, CASE_BETA},
    {"y + r + b", "r:bool[m,n]3 b:i8[m,n]T", XL_F32, XL_F32, plus_two, 2, 0},
    {"y + r + b", "r:f32[m,n]T b:f32[n]", XL_F32, XL_F32, plus_two, 2, CASE_TRANSPOSED},
    {"y + r + b", "r:f32[m,n] b:f32[m,1]", XL_F32, XL_F32, plus_two, 2, CASE_TRANSPOSED},
    {"y + r + b", "r:C b:bf16[n]3", XL_F16, XL_F16, plus_two, 2, CASE_TRANSPOSED},
    {"y + r", "r:C", XL_F32, XL_F32, plus, 1, CASE_BETA},
    {"y + r + b", "r:f32[z,m,n] b:f32[n]", XL_F32, XL_F32, plus_two, 2, CASE_BATCH},
    {"y + r + b", "r:f32[z,1,n] b:f32[m,n]", XL_F32, XL_F32, plus_two, 2, CASE_BATCH | CASE_BETA},
    {"y + r + b", "r:C b:f32[z,1,1]", XL_F32, XL_F32, plus_two, 2, CASE_BATCH},
    {"y + r + b", "r:f32[z,m,n]T b:f32[z,m,1]", XL_F32, XL_F32, plus_two, 2, CASE_BATCH | CASE_TRANSPOSED},
    {"y + r + b", "r:f32[z,m,n] b:f32[n]", XL_F32, XL_F32, plus_two, 2, CASE_LISTS},
};

/* For kernels that apply short epilogues to sums in registers: epilogues of
 * that kind, and others, which such kernels apply in another way. */
static const struct epilogue_case wide[] = {
    {"relu(y + bias)", "bias:f32[n]", XL_F16, XL_F16, relu_plus, 1, CASE_WIDE},
    {"gelu(y + bias)", "bias:f16[n]", XL_F16, XL_F16, gelu_plus, 64, CASE_WIDE},
    {"y + bias", "bias:f32[m,1]", XL_BF16, XL_BF16, plus, 1, CASE_WIDE},
    {"y * s", "s:f32=0.3", XL_F16, XL_BF16, scaled, 1, CASE_WIDE},
    {"(y + a) * b + c", "a:f16[n] b:f32[m,1] c:f32[]", XL_F16, XL_F16, three, 64, CASE_WIDE},
    {"y + r + b", "r:f32[z,1,n] b:f32[z,m,1]", XL_F16, XL_F16, plus_two, 2, CASE_WIDE | CASE_BATCH},
    {"y + r + b", "r:f32[m,1] b:bf16[n]3", XL_F16, XL_F16, plus_two, 2, CASE_WIDE | CASE_TRANSPOSED},
    {"y * s + b", "s:f32[n] b:f32[n]", XL_I8, XL_F16, scaled_plus, 2, CASE_WIDE},
    {"y + r", "r:f16[m,n]", XL_F16, XL_F16, plus, 1, CASE_WIDE},
    {"y + bias", "bias:f32[n]", XL_F16, XL_F16, plus, 1, CASE_WIDE | CASE_BETA},
    {"gelu(gelu(y + bias))", "bias:f16[n]", XL_F16, XL_F16, gelu_twice, 64, CASE_WIDE},
};
/* clang-format on */

/* -- tests ---------------------------------------------------------------- */

static void run_all(const struct epilogue_case *c, size_t n)
{
    unsigned runs = 0;
    for (size_t i = 0; i < n; i++)
        runs += epilogue_run(&t, &c[i], i);
    print_message("%zu epilogues, %u products\n", n, runs);
}

#define RUN(table) run_all(table, sizeof(table) / sizeof *(table))

static void test_kinds(void **state)
{
    (void)state;
    RUN(kinds);
}

static void test_types(void **state)
{
    (void)state;
    RUN(types);
}

static void test_layouts(void **state)
{
    (void)state;
    RUN(layouts);
}

static void test_wide(void **state)
{
    (void)state;
    RUN(wide);
}

/* Calls that differ in the row stride of an operand have one text and one
 * plan: each reads its own elements. The product is 0. */
static void test_strides(void **state)
{
    enum { M = 3, N = 5, MOST = 11, ELEMS = M * MOST };
    static const size_t size[2] = {M, N};
    float r[ELEMS], c[M * N], zero[M * N] = {0};
    cl_mem mem[3];
    (void)state;
    for (unsigned i = 0; i < ELEMS; i++)
        r[i] = (float)i;
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, sizeof r, &mem[i]), XL_OK, "");
    assert_status(xl_buffer_write(t.queue, mem[0], 0, r, sizeof r), XL_OK, "");
    assert_status(xl_buffer_write(t.queue, mem[1], 0, zero, sizeof zero),
                  XL_OK, "");
    for (size_t stride = N; stride <= MOST; stride++) {
        xl_binding b = {.name = "r",
                        .tensor = xl_tensor_dense(mem[0], XL_F32, 2, size)};
        b.tensor.stride[0] = stride;
        const xl_gemm g = {XL_GEMM_INIT, .m = M, .n = N, .k = 1, .alpha = 1,
                           .a = xl_mat_rows(mem[1], 1, XL_F32),
                           .b = xl_mat_rows(mem[1], N, XL_F32),
                           .c = xl_mat_rows(mem[2], N, XL_F32),
                           .epilogue = {"y + r", &b, 1}};
        assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[2], 0, c, sizeof c), XL_OK,
                      "");
        for (size_t i = 0; i < M * N; i++)
            assert_true(c[i] == (float)(i / N * stride + i % N));
    }
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_strides),
    };
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
