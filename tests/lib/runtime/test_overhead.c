/* SPDX-License-Identifier: Apache-2.0 */
/* Host overhead of a warm xl_gemm_run(): support/bare_calls.h. */
#include "support/bare_calls.h"

enum { SIDE = BARE_SIDE };

/* On a host that is not slow. */
static const double allowed_ns = 2000.0;

struct product {
    xl_queue *q;
    xl_gemm g;
};

static xl_status call_product(void *arg)
{
    const struct product *p = arg;
    return xl_gemm_run(p->q, &p->g, NULL);
}

static void test_overhead(void **state)
{
    static const size_t row[1] = {SIDE}, all[2] = {SIDE, SIDE};
    struct bare_calls b;

    (void)state;
    bare_calls_open(&b);
    struct product p = {b.t.queue,
                        {XL_GEMM_INIT, .m = SIDE, .n = SIDE, .k = SIDE,
                         .a = xl_mat_rows(b.mem[0], SIDE, XL_F32),
                         .b = xl_mat_rows(b.mem[1], SIDE, XL_F32),
                         .c = xl_mat_rows(b.mem[2], SIDE, XL_F32),
                         .alpha = 1.0, .variant = "gemm_tiled"}};
    assert_true(
        bare_calls_are_within(&b, "a product", call_product, &p, allowed_ns));
    const xl_binding operands[2] = {
        {.name = "bias", .tensor = xl_tensor_dense(b.mem[0], XL_F32, 1, row)},
        {.name = "old", .tensor = xl_tensor_dense(b.mem[2], XL_F32, 2, all)}};
    p.g.variant = "gemm_ref"; /* it takes any */
    p.g.epilogue = (xl_epilogue){"gelu(y + bias) + old", operands, 2};
    assert_true(bare_calls_are_within(&b, "with an epilogue of two operands",
                                      call_product, &p, allowed_ns));
    bare_calls_close(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_overhead)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
