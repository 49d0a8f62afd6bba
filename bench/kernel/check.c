/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a kernel's results. Whole buffers are read back and compared, bit
 * for bit first, since most elements of most kernels agree so. */
#include "kernel/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/dtype.h"
#include "verify/verify.h"

double kernel_tolerance(const struct element *e)
{
    static const double arithmetic = 256, stored = 4;
    const double unit = xl__dtype_unit_roundoff(e->dtype);
    if (e->kind != ELEMENT_FLOAT)
        return 0;
    if (e->dtype == XL_F64)
        return arithmetic * unit;
    return arithmetic * xl__dtype_unit_roundoff(XL_F32) +
           (e->dtype == XL_F32 ? 0 : stored * unit);
}

/* A buffer, with the argument that it is of. */
struct checked_buffer {
    const struct argument *a;
    unsigned number; /* of the argument, from 1 */
    unsigned buffer;
    size_t elems;
};

/* The next buffer from argument *i on; false: none is left. */
static bool next_buffer(const struct kernel_case *c, unsigned *i,
                        struct checked_buffer *out)
{
    for (; *i < c->job->n_args; ++*i) {
        if (!argument_is_buffer(&c->job->arg[*i]))
            continue;
        out->a = &c->job->arg[*i];
        out->number = ++*i;
        out->elems = c->elems[out->number - 1];
        return true;
    }
    return false;
}

static size_t bytes_of(const struct checked_buffer *b)
{
    return b->elems * b->a->element->bytes;
}

static xl_status fail_check(struct check_result *out, const char *text)
{
    out->right = false;
    xl__strcpy(out->why, sizeof out->why, text);
    return XL_WRONG_RESULT;
}

static xl_status read_back(xl_queue *q, const struct bench_data *data,
                           const struct checked_buffer *b, void **out)
{
    *out = malloc(bytes_of(b));
    if (!*out)
        return XL_NO_MEMORY;
    return xl_buffer_read(q, data->mem[b->buffer], 0, *out, bytes_of(b));
}

/* -- writes that are not allowed ------------------------------------------ */

static xl_status check_outside(xl_queue *q, const struct kernel_case *c,
                               const struct bench_data *data, const char *who,
                               struct check_result *out)
{
    struct checked_buffer b = {.buffer = 0};
    unsigned buffer, i = 0;
    long long at = 0;
    xl_status status = bench_data_find_outside(q, data, &buffer, &at);
    if (status != XL_OK || buffer == BENCH_BUFFERS)
        return status;
    while (next_buffer(c, &i, &b) && b.buffer < buffer)
        b.buffer++;
    char text[sizeof out->why];
    const long long size = (long long)b.a->element->bytes;
    snprintf(text, sizeof text,
             "%s wrote outside of argument %u ('%s'): element %lld, where %zu "
             "is the last",
             who, b.number, b.a->text,
             at < 0 ? (at - size + 1) / size : at / size, b.elems - 1);
    return fail_check(out, text);
}

/* An `in` buffer must be as it was: the next run would have other data. */
static xl_status check_inputs(xl_queue *q, const struct kernel_case *c,
                              const struct bench_data *data,
                              struct check_result *out)
{
    xl_status status = XL_OK;
    struct checked_buffer b = {.buffer = 0};
    void *now = NULL;
    for (unsigned i = 0; next_buffer(c, &i, &b); b.buffer++) {
        if (b.a->role != ARG_IN)
            continue;
        free(now);
        now = NULL;
        TRY(read_back(q, data, &b, &now));
        if (memcmp(now, data->host[b.buffer], bytes_of(&b)) == 0)
            continue;
        char text[sizeof out->why];
        snprintf(text, sizeof text,
                 "the kernel wrote to argument %u, '%s'; give it as inout",
                 b.number, b.a->text);
        TRY(fail_check(out, text));
    }
fail:
    free(now);
    return status;
}

/* -- comparison ----------------------------------------------------------- */

/* The root mean square of the finite elements. */
static double find_scale(const void *data, size_t n, const struct element *e)
{
    double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = element_load(data, i, e);
        if (!isfinite(x))
            continue;
        sum += x * x;
        finite++;
    }
    return finite > 0 ? sqrt(sum / (double)finite) : 0;
}

static bool is_near(double got, double expected, double tolerance,
                    double scale)
{
    if (isnan(got) || isnan(expected))
        return isnan(got) && isnan(expected);
    return got == expected ||
           fabs(got - expected) <= tolerance * fmax(fabs(expected), scale);
}

static xl_status compare(const struct kernel_case *c,
                         const struct checked_buffer *b, const void *got,
                         const void *expected, struct check_result *out)
{
    enum { NUMBER = 32 };
    const struct element *e = b->a->element;
    const struct kernel_settings *set = &c->job->s->set.kernel;
    const bool is_float = e->kind == ELEMENT_FLOAT;
    const double tolerance = is_float && !isnan(set->tolerance)
                                 ? set->tolerance
                                 : kernel_tolerance(e);
    char is[NUMBER], should[NUMBER], text[sizeof out->why];
    size_t n_wrong = 0, first = 0;
    if (memcmp(got, expected, bytes_of(b)) == 0)
        return XL_OK;
    const double scale = is_float ? find_scale(expected, b->elems, e) : 0;
    for (size_t i = 0; i < b->elems; i++) {
        if (memcmp((const char *)got + i * e->bytes,
                   (const char *)expected + i * e->bytes, e->bytes) == 0 ||
            (is_float &&
             is_near(element_load(got, i, e), element_load(expected, i, e),
                     tolerance, scale)))
            continue;
        first = n_wrong == 0 ? i : first;
        n_wrong++;
    }
    if (n_wrong == 0)
        return XL_OK;
    element_text(got, first, e, is, sizeof is);
    element_text(expected, first, e, should, sizeof should);
    snprintf(text, sizeof text,
             "element %zu of argument %u ('%s') is %s, expected %s, tolerance "
             "%.2g; %zu of %zu differ",
             first, b->number, b->a->text, is, should, tolerance, n_wrong,
             b->elems);
    return fail_check(out, text);
}

static xl_status run_reference(xl_queue *q, const struct kernel_case *c,
                               const struct bench_data *data,
                               const struct kernel_reference *reference,
                               struct check_result *out)
{
    xl_status status = XL_OK;
    TRY(bench_data_reset(q, data));
    TRY(kernel_program_run(q, reference->program, reference->plan));
    TRY(xl_queue_finish(q));
    TRY(check_outside(q, c, data, "the kernel of --check", out));
fail:
    return status;
}

static xl_status compare_results(xl_queue *q, const struct kernel_case *c,
                                 const struct bench_data *data,
                                 const struct kernel_reference *reference,
                                 struct check_result *out)
{
    xl_status status = XL_OK;
    void *got[BENCH_BUFFERS] = {NULL}, *expected = NULL;
    struct checked_buffer b = {.buffer = 0};
    for (unsigned i = 0; next_buffer(c, &i, &b); b.buffer++)
        if (b.a->role != ARG_IN)
            TRY(read_back(q, data, &b, &got[b.buffer]));
    TRY(run_reference(q, c, data, reference, out));
    b.buffer = 0;
    for (unsigned i = 0; next_buffer(c, &i, &b); b.buffer++) {
        if (b.a->role == ARG_IN)
            continue;
        free(expected);
        expected = NULL;
        TRY(read_back(q, data, &b, &expected));
        TRY(compare(c, &b, got[b.buffer], expected, out));
    }
fail:
    free(expected);
    for (unsigned i = 0; i < BENCH_BUFFERS; i++)
        free(got[i]);
    return status;
}

xl_status kernel_check(xl_queue *q, const struct kernel_case *c,
                       const struct bench_data *data,
                       const struct kernel_reference *reference,
                       struct check_result *out)
{
    xl_status status = XL_OK;
    check_init(out);
    TRY(check_outside(q, c, data, "the kernel", out));
    TRY(check_inputs(q, c, data, out));
    if (reference)
        TRY(compare_results(q, c, data, reference, out));
fail:
    return status;
}
