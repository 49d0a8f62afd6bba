/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled as CMakeLists.txt says: -O3 -march=native, where that is known.
 * Apart from restrict the loops have no hints for the compiler. */
#include "libm_loops.h"

#include <math.h>

double loop_sincos(const struct loop_data *d, size_t first, size_t last)
{
    const float *restrict x = d->x;
    float *restrict out = d->out;
    for (size_t i = first; i < last; i++) {
        const float s = sinf(x[i]), c = cosf(x[i]);
        out[i] = s * s + c * c;
    }
    return 0;
}

double loop_exp(const struct loop_data *d, size_t first, size_t last)
{
    const float *restrict x = d->x;
    float *restrict out = d->out;
    for (size_t i = first; i < last; i++)
        out[i] = expf(x[i]);
    return 0;
}

double loop_tanh(const struct loop_data *d, size_t first, size_t last)
{
    const float *restrict x = d->x;
    float *restrict out = d->out;
    for (size_t i = first; i < last; i++)
        out[i] = tanhf(x[i]);
    return 0;
}

double loop_gelu(const struct loop_data *d, size_t first, size_t last)
{
    static const float root_half = 0.70710678f;
    const float *restrict x = d->x;
    float *restrict out = d->out;
    for (size_t i = first; i < last; i++)
        out[i] = 0.5f * x[i] * (1.0f + erff(x[i] * root_half));
    return 0;
}

double loop_axpy(const struct loop_data *d, size_t first, size_t last)
{
    const float *restrict x = d->x, *restrict y = d->y;
    float *restrict out = d->out;
    for (size_t i = first; i < last; i++)
        out[i] = loop_alpha * x[i] + y[i];
    return 0;
}

double loop_softmax(const struct loop_data *d, size_t first, size_t last)
{
    for (size_t row = first; row < last; row++) {
        const float *restrict x = d->x + row * d->cols;
        float *restrict out = d->out + row * d->cols;
        float max = x[0], sum = 0;
        for (size_t j = 1; j < d->cols; j++)
            max = x[j] > max ? x[j] : max;
        for (size_t j = 0; j < d->cols; j++)
            sum += out[j] = expf(x[j] - max);
        for (size_t j = 0; j < d->cols; j++)
            out[j] /= sum;
    }
    return 0;
}

/* In double: a running sum of floats would be wrong at these lengths. */
double loop_sum(const struct loop_data *d, size_t first, size_t last)
{
    const float *restrict x = d->x;
    double sum = 0;
    for (size_t i = first; i < last; i++)
        sum += (double)x[i];
    return sum;
}
