/* SPDX-License-Identifier: Apache-2.0 */
/* Every code of FP8 through a product: rows of A are columns of the unit
 * matrix, so that C has exactly the weights, in three blocks of rows, the last
 * one partial, and two of columns, whose scales differ. Rows with a code of NaN
 * are NaN. */
#ifndef TEST_FP8_CODES_H
#define TEST_FP8_CODES_H

#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/half.h"
#include "support/support.h"

enum { CODES_M = 7, CODES_N = 261, CODES_K = 512, CODES_GROUP = 128 };
enum { CODES_SCALES = 3 * CODES_K / CODES_GROUP, CODES_NAN = 64 };

static inline unsigned char fp8_code(size_t j, size_t l)
{
    const unsigned char code = (unsigned char)(j + 37 * l);
    return j % CODES_NAN != 1 && (code & 0x7f) == 0x7f ? 0 : code;
}

static inline cl_mem fp8_upload(xl_queue *q, const void *x, size_t bytes)
{
    cl_mem mem;
    assert_status(xl_buffer_create(q, bytes, &mem), XL_OK, xl_error_detail(q));
    assert_status(xl_buffer_write(q, mem, 0, x, bytes), XL_OK,
                  xl_error_detail(q));
    return mem;
}

/* XL_UNSUPPORTED: the variant refuses the call. */
static inline xl_status fp8_check_codes(xl_queue *q, xl_dtype type,
                                        const char *variant)
{
    unsigned char *w = malloc(CODES_N * CODES_K);
    double *a = calloc(CODES_M * CODES_K, sizeof *a);
    float scales[CODES_SCALES], *got = calloc(CODES_M * CODES_N, sizeof *got);
    assert_true(w && a && got);
    for (size_t i = 0; i < CODES_SCALES; i++)
        scales[i] = ldexpf(1, (int)i % 5 - 2);
    for (size_t i = 0; i < CODES_N * CODES_K; i++)
        w[i] = fp8_code(i / CODES_K, i % CODES_K);
    for (size_t i = 0; i < CODES_M * CODES_K; i++)
        xl__dtype_store(a, i, type, i % CODES_K == 75 * (i / CODES_K) + 1);
    cl_mem mem[] = {fp8_upload(q, a, CODES_M * CODES_K * sizeof(float)),
                    fp8_upload(q, w, CODES_N * CODES_K),
                    fp8_upload(q, scales, sizeof scales),
                    fp8_upload(q, got, CODES_M * CODES_N * sizeof *got)};
    const xl_qgemm g = {
        XL_QGEMM_INIT, .m = CODES_M, .a = xl_mat_rows(mem[0], CODES_K, type),
        .w = {.shape = {XL_FP8, CODES_N, CODES_K, CODES_GROUP, CODES_GROUP},
              .blocks.buf = mem[1],
              .scales.buf = mem[2]},
        .c = xl_mat_rows(mem[3], CODES_N, XL_F32), .variant = variant,
        .accuracy = XL_ACCURACY_FAST}; /* exact in every type */
    const xl_status status = xl_qgemm_run(q, &g, NULL);
    if (status == XL_OK)
        assert_status(xl_buffer_read(q, mem[3], 0, got,
                                     CODES_M * CODES_N * sizeof *got),
                      XL_OK, xl_error_detail(q));
    for (size_t i = 0; status == XL_OK && i < CODES_M * CODES_N; i++) {
        const size_t j = i % CODES_N, l = 75 * (i / CODES_N) + 1;
        const float scale = scales[j / CODES_GROUP * (CODES_K / CODES_GROUP) +
                                   l / CODES_GROUP];
        const float want = j % CODES_NAN == 1
                               ? NAN
                               : scale * xl__e4m3_to_f32(fp8_code(j, l));
        if (got[i] != want && !(isnan(got[i]) && isnan(want)))
            fail_msg("%s: code %02x of row %zu, column %zu is %g, not %g",
                     variant, fp8_code(j, l), j, l, (double)got[i],
                     (double)want);
    }
    for (unsigned i = 0; i < sizeof mem / sizeof *mem; i++)
        clReleaseMemObject(mem[i]);
    free(w);
    free(a);
    free(got);
    return status;
}

#endif
