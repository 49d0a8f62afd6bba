/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a whole result: elements that were not written, rows whose sum
 * deviates. */
#include "timing/result_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/stats.h"
#include "verify/verify.h"

enum { CHUNK = 1 << 24 }; /* bytes read back at once */

/* -- written ---------------------------------------------------------------
 */

/* Only floats: for an integer the fill value may be a result. */
static bool is_checked(const struct bench_buffer *x)
{
    return x->is_result && !x->is_input && !x->has_gaps && x->elems > 0 &&
           (x->dtype == XL_F32 || x->dtype == XL_F16 || x->dtype == XL_BF16 ||
            x->dtype == XL_F64);
}

/* The first of n elements in a chunk that still has the fill value; n: none.
 */
static size_t find_unwritten(const unsigned char *chunk, size_t n,
                             size_t bytes)
{
    const uint32_t word[] = {BENCH_NAN_WORD, BENCH_NAN_WORD};
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * bytes % sizeof *word; /* halves of a word */
        if (memcmp(chunk + i * bytes, (const char *)word + at, bytes) == 0)
            return i;
    }
    return n;
}

static xl_status check_buffer(xl_queue *q, cl_mem mem,
                              const struct bench_buffer *x,
                              unsigned char *chunk, struct check_result *out)
{
    xl_status status = XL_OK;
    const size_t size = xl_dtype_bytes(x->dtype);
    for (size_t first = 0; first < x->elems; first += CHUNK / size) {
        const size_t n = xl__min_size(x->elems - first, CHUNK / size);
        TRY(xl_buffer_read(q, mem, first * size, chunk, n * size));
        const size_t at = find_unwritten(chunk, n, size);
        if (at == n)
            continue;
        out->right = false;
        snprintf(out->why, sizeof out->why,
                 "element %zu of the result was not written", first + at);
        return XL_WRONG_RESULT;
    }
fail:
    return status;
}

xl_status check_written(xl_queue *q, const struct bench_data *data,
                        struct check_result *out)
{
    xl_status status = XL_OK;
    unsigned char *chunk = malloc(CHUNK);
    TRY(chunk ? XL_OK : XL_NO_MEMORY);
    for (unsigned i = 0; i < BENCH_BUFFERS; i++)
        if (is_checked(&data->buffer[i]))
            TRY(check_buffer(q, data->mem[i], &data->buffer[i], chunk, out));
fail:
    free(chunk);
    return status;
}

/* -- sums ------------------------------------------------------------------
 */

size_t find_outlier(const double *error, size_t n, double least)
{
    /* 20 medians are 13 standard deviations of a normal distribution, which
     * one error in 1e38 exceeds. */
    static const double medians = 20;
    size_t i = 0;
    double *size = xl__calloc(n, sizeof *size);
    if (!size)
        return n;
    for (size_t k = 0; k < n; k++)
        size[k] = fabs(error[k]);
    const double most = fmax(medians * xl__median(size, n), least);
    while (i < n && fabs(error[i]) <= most) /* false for NaN */
        i++;
    free(size);
    return i;
}
