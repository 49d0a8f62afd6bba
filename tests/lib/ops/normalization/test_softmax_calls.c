/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax.h states of a softmax's values, on a real device: rows with NaN
 * and infinities in src and mask, by each variant; results that repeat; dst
 * that is src; elements at every distance from the maximum; stores past the
 * caches. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "ops/normalization/softmax.h"
#include "support/support.h"

/* Rows that one item holds, and a little longer ones (softmax.h). */
enum {
    KINDS = 9,
    MOST_COLS = XL__ROWS_MOST_CACHED + 3,
    ELEMS = KINDS * MOST_COLS
};

static struct test_device t;
static cl_mem mem[3]; /* src, mask, dst */

/* In column AT of a row: its element of src and of mask. All other elements of
 * MASKED are -inf, of the rest finite. */
enum { AT = 2, MASKED = 1 };
static const struct {
    double src, mask;
    bool is_nan; /* the whole row */
} kinds[KINDS] = {
    {0.5, 0, false},
    {-INFINITY, 0, false}, /* MASKED: all are -inf, the row is 0 */
    {NAN, 0, true},
    {0, NAN, true},
    {INFINITY, 0, true},
    {0, INFINITY, true},
    {INFINITY, -INFINITY, true},
    {-INFINITY, INFINITY, true},
    {-INFINITY, 0, false}, /* one of them: it is 0 */
};

static void write_elems(cl_mem to, const double *x, size_t n, xl_dtype dtype)
{
    static double narrow[ELEMS]; /* room for any type */
    for (size_t i = 0; i < n; i++)
        xl__dtype_store(narrow, i, dtype, x[i]);
    assert_status(
        xl_buffer_write(t.queue, to, 0, narrow, n * xl_dtype_bytes(dtype)),
        XL_OK, xl_error_detail(t.queue));
}

static void check_row(const char *variant, size_t kind, const void *got,
                      size_t cols, xl_dtype dtype, bool is_log)
{
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        const double y = xl__dtype_load(got, kind * cols + j, dtype);
        const double x = is_log ? exp(y) : y;
        const bool is_zero = kind == MASKED || (kind == 8 && j == AT);
        sum += x;
        if (kinds[kind].is_nan != !!isnan(x) || (is_zero && x != 0))
            fail_msg("%s, %zu columns of %s, kind %zu: column %zu is %g",
                     variant, cols, xl_dtype_name(dtype), kind, j, y);
    }
    const double want = kind == MASKED ? 0 : 1;
    if (!kinds[kind].is_nan && fabs(sum - want) > 0.01)
        fail_msg("%s, kind %zu: the row adds up to %g", variant, kind, sum);
}

static void check_specials(const char *variant, size_t cols, xl_dtype dtype,
                           bool is_log)
{
    static double src[ELEMS], mask[ELEMS], got[2][ELEMS];
    const size_t n = KINDS * cols, bytes = n * xl_dtype_bytes(dtype);
    struct xl__rng rng;
    xl__rng_seed(&rng, 3);
    for (size_t i = 0; i < n; i++) {
        const size_t kind = i / cols, j = i % cols;
        src[i] = kind == MASKED ? -(double)INFINITY
                 : j == AT      ? kinds[kind].src
                                : xl__rng_normal(&rng);
        mask[i] = j == AT ? kinds[kind].mask : 0;
    }
    const xl_softmax s = {XL_SOFTMAX_INIT,
                          .rows = KINDS,
                          .cols = cols,
                          .src = xl_mat_rows(mem[0], cols, dtype),
                          .mask = xl_mat_rows(mem[1], cols, dtype),
                          .dst = xl_mat_rows(mem[2], cols, dtype),
                          .variant = variant,
                          .is_log = is_log};
    xl_softmax in_place = s;
    in_place.dst = in_place.src;
    write_elems(mem[0], src, n, dtype);
    write_elems(mem[1], mask, n, dtype);
    for (unsigned time = 0; time < 2; time++) {
        assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[2], 0, got[time], bytes),
                      XL_OK, xl_error_detail(t.queue));
    }
    assert_memory_equal(got[0], got[1], bytes);
    for (size_t kind = 0; kind < KINDS; kind++)
        check_row(variant, kind, got[0], cols, dtype, is_log);
    assert_status(xl_softmax_run(t.queue, &in_place, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, mem[0], 0, got[1], bytes), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t kind = 0; kind < KINDS; kind++)
        check_row(variant, kind, got[1], cols, dtype, is_log);
}

static void specials(void **state)
{
    static const size_t cols[] = {3, 67, MOST_COLS};
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};
    const char *variant;
    (void)state;
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "softmax", v));
         v++) {
        for (unsigned i = 0; i < 18; i++)
            check_specials(variant, cols[i / 3 % 3], dtypes[i % 3], i >= 9);
    }
}

/* -- distances from the maximum ---------------------------------------------
 */

/* A row whose elements are up to MOST_BELOW below its maximum, where e^x is
 * below the smallest f32. */
static void check_distances(const char *variant, size_t cols, float top,
                            bool is_log)
{
    static const double most_below = 110, u = FLT_EPSILON / 2;
    static float src[MOST_COLS], got[MOST_COLS];
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        src[j] = (float)(top - most_below * (double)j / (double)cols);
        sum += exp((double)src[j] - (double)top);
    }
    const xl_softmax s = {XL_SOFTMAX_INIT,
                          .rows = 1,
                          .cols = cols,
                          .src = xl_mat_rows(mem[0], cols, XL_F32),
                          .dst = xl_mat_rows(mem[2], cols, XL_F32),
                          .variant = variant,
                          .is_log = is_log};
    assert_status(xl_buffer_write(t.queue, mem[0], 0, src, cols * sizeof *src),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, mem[2], 0, got, cols * sizeof *got),
                  XL_OK, xl_error_detail(t.queue));
    for (size_t j = 0; j < cols; j++) {
        const double below = (double)top - (double)src[j];
        const double want = is_log ? -below - log(sum) : exp(-below) / sum;
        /* The Accuracy line of softmax.h. */
        const double bound =
            is_log ? (2 * fabs(want) + 76 + 7 * log2((double)cols)) * u
                   : want * (below + 48 + 2 * log2((double)cols)) * u +
                         (double)FLT_MIN;
        if (!(fabs((double)got[j] - want) <= bound))
            fail_msg("%s, %zu columns, %g below %g: %.9g, not %.9g", variant,
                     cols, below, (double)top, (double)got[j], want);
    }
}

static void distances(void **state)
{
    static const float tops[] = {0,     88.5f,   -1000,   3e4f,
                                 1e30f, FLT_MAX, -FLT_MAX};
    const char *variant;
    (void)state;
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "softmax", v));
         v++) {
        for (size_t i = 0; i < 2 * sizeof tops / sizeof *tops; i++) {
            const float top = tops[i / 2];
            check_distances(variant, 7, top, i % 2);
            check_distances(variant, 4096, top, i % 2);
            check_distances(variant, MOST_COLS, top, i % 2);
        }
    }
}

/* -- stores past the caches -------------------------------------------------
 */

/* Rows that are aligned, so that all but the last elements of the rows that
 * end within a vector are stored so; compared with the host. */
static void past_caches(void **state)
{
    static const char *const tunables[] = {
        "MODE=4 WG=1 LANES=1 HELD=1 VW=8 STREAM=2",
        "MODE=5 WG=1 LANES=1 HELD=1 VW=16 STREAM=2",
        "MODE=6 WG=1 LANES=1 HELD=1 VW=8 STREAM=2"};
    static const size_t cols[] = {96, 99};
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};
    enum { LD = 128, ROWS = 5 };
    (void)state;
    for (unsigned i = 0; i < 18; i++) {
        const xl_dtype dtype = dtypes[i % 3];
        const xl_softmax s = {XL_SOFTMAX_INIT, .rows = ROWS,
                              .cols = cols[i / 9],
                              .src = xl_mat_rows(mem[0], LD, dtype),
                              .dst = xl_mat_rows(mem[2], LD, dtype)};
        xl_candidate candidate = {.variant = "softmax_online"};
        xl_candidate_result r;
        snprintf(candidate.tunables, sizeof candidate.tunables, "%s",
                 tunables[i / 3 % 3]);
        assert_status(xl_tune_candidate(t.queue, xl_problem_softmax(&s),
                                        &candidate, 0, &r),
                      XL_OK, xl_error_detail(t.queue));
        if (r.end != XL_CANDIDATE_RIGHT)
            fail_msg("%s, %zu columns of %s: end %d, %s", candidate.tunables,
                     s.cols, xl_dtype_name(dtype), (int)r.end, r.why);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(specials),
                                       cmocka_unit_test(distances),
                                       cmocka_unit_test(past_caches)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < 3; i++)
        assert_status(
            xl_buffer_create(t.queue, ELEMS * sizeof(float), &mem[i]), XL_OK,
            xl_error_detail(t.queue));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
