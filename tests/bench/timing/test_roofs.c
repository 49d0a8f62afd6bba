/* SPDX-License-Identifier: Apache-2.0 */
/* The roof of a case is that of the units that compute it fastest, so that no
 * right row exceeds it. */
#include "support/support.h"

#include "cases/attention/attention_cases.h"
#include "cases/conv_cases.h"
#include "cases/gemm_cases.h"
#include "timing/run_cases.h"

static void assert_roof(xl_roof roof, xl_engine engine, xl_dtype dtype)
{
    assert_int_equal(roof.engine, engine);
    assert_int_equal(roof.dtype, dtype);
}

static void narrow_products_have_the_matrix_engine(void **state)
{
    static const xl_dtype types[] = {XL_F16, XL_BF16};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct gemm_case gemm = {.in = types[i]};
        const struct conv_case conv = {.in = types[i]};
        const struct attention_case attention = {.dtype = types[i]};
        assert_roof(bench_gemm.engine(&gemm), XL_ENGINE_MATRIX, types[i]);
        assert_roof(bench_conv.engine(&conv), XL_ENGINE_MATRIX, types[i]);
        assert_roof(bench_attention.engine(&attention), XL_ENGINE_MATRIX,
                    types[i]);
    }
}

static void f32_has_it_where_it_may_be_rounded(void **state)
{
    const struct gemm_case gemm = {.in = XL_F32};
    const struct gemm_case split = {.in = XL_F32,
                                    .accuracy = XL_ACCURACY_SPLIT};
    const struct conv_case conv = {.in = XL_F32};
    const struct conv_case fast = {.in = XL_F32, .accuracy = XL_ACCURACY_FAST};
    const struct attention_case attention = {.dtype = XL_F32};
    (void)state;
    assert_roof(bench_gemm.engine(&gemm), XL_ENGINE_FMA, XL_F32);
    assert_roof(bench_gemm.engine(&split), XL_ENGINE_MATRIX, XL_F16);
    assert_int_equal(bench_gemm.engine(&split).terms, 3);
    assert_roof(bench_conv.engine(&conv), XL_ENGINE_FMA, XL_F32);
    assert_roof(bench_conv.engine(&fast), XL_ENGINE_MATRIX, XL_F32);
    assert_roof(bench_attention.engine(&attention), XL_ENGINE_FMA, XL_F32);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_products_have_the_matrix_engine),
        cmocka_unit_test(f32_has_it_where_it_may_be_rounded),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
