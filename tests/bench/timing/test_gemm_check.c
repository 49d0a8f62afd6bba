/* SPDX-License-Identifier: Apache-2.0 */
/* One wrong element among all: sums over rows find it, and find nothing where
 * there is only rounding. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "timing/result_check.h"
#include "timing/gemm_check.h"

enum { M = 96, N = 160, K = 128 };

struct product {
    float a[M * K], b[K * N], c[M * N];
    struct gemm_sums sums;
};

/* C as the host's f32 has it. */
static struct product *make_product(uint64_t seed)
{
    struct product *p = test_calloc(1, sizeof *p);
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    ref_fill(p->a, M * K, XL_F32, &rng);
    ref_fill(p->b, K * N, XL_F32, &rng);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++)
            for (size_t l = 0; l < K; l++)
                p->c[i * N + j] += p->a[i * K + l] * p->b[l * N + j];
    p->sums = (struct gemm_sums){.a = {p->a, 0, K, 1, XL_F32},
                                 .b = {p->b, 0, N, 1, XL_F32},
                                 .c = {p->c, 0, N, 1, XL_F32},
                                 .m = M, .n = N, .k = K, .alpha = 1,
                                 .least = 1e-4, .seed = seed};
    return p;
}

static void one_element_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct product *p = make_product(seed);
        assert_int_equal(gemm_sums_outlier(&p->sums), M);
        const size_t i = seed * 4 % M, j = seed * 7 % N;
        p->c[i * N + j] += 0.01f; /* elements deviate by 11 */
        assert_int_equal(gemm_sums_outlier(&p->sums), i);
        p->c[i * N + j] = 0.0f / (float)(i * 0);
        assert_int_equal(gemm_sums_outlier(&p->sums), i);
        test_free(p);
    }
}

/* Errors of f16 are a thousand times larger, but alike, so there is no
 * outlier. */
static void rounding_is_not(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct product *p = make_product(seed);
        uint16_t half[M * N];
        for (size_t i = 0; i < M * N; i++)
            xl__dtype_store(half, i, XL_F16, p->c[i]);
        p->sums.c = (struct ref_mat){half, 0, N, 1, XL_F16};
        assert_int_equal(gemm_sums_outlier(&p->sums), M);
        xl__dtype_store(half, 5 * N + 7, XL_F16, p->c[5 * N + 7] + 10);
        assert_int_equal(gemm_sums_outlier(&p->sums), 5);
        test_free(p);
    }
}

static void small_products_are_not_checked(void **state)
{
    (void)state;
    struct product *p = make_product(1);
    p->sums.k = OUTLIER_MIN_TERMS - 1;
    p->sums.a.row_stride = K;
    assert_int_equal(gemm_sums_outlier(&p->sums), M);
    test_free(p);
}

static void outliers_of_rows(void **state)
{
    (void)state;
    const double calm[] = {1, -2, 1.5, -1, 2, 3, -2.5};
    const double one[] = {1, -2, 1.5, -50, 2, 3, -2.5};
    const double exact[] = {0, 0, 1e-3, 0, 0};
    assert_int_equal(find_outlier(calm, 7, 0), 7);
    assert_int_equal(find_outlier(one, 7, 0), 3);
    assert_int_equal(find_outlier(one, 7, 100), 7);
    assert_int_equal(find_outlier(exact, 5, 1e-2), 5);
    assert_int_equal(find_outlier(exact, 5, 1e-4), 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element_is_found),
        cmocka_unit_test(rounding_is_not),
        cmocka_unit_test(small_products_are_not_checked),
        cmocka_unit_test(outliers_of_rows),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
