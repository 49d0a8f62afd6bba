/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on a device, compared with reductions in double on the host:
 * every reduction, of every type, over rows and columns of odd sizes and
 * strides; then data for which simple sums are inaccurate. The error bounds of
 * expr.h are written out here again. Guard words surround each result.
 * XL_TEST_FULL=1: all types in all layouts. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "support/support.h"

enum { GUARD = 32, RESULTS = 11 };
static const uint32_t guard_word = 0x5ac3a55a;
static const double u = 1.0 / (1 << 24);

static struct test_device t;

/* -- a tensor to be reduced ----------------------------------------------- */

/* keep rows of `many` numbers; each row is reduced. Element (i, j) is at
 * offset + i * row + j * col in memory. */
struct reduced_tensor {
    size_t keep, many, offset, row, col, elems;
    xl_dtype dtype;
    double *x; /* by offset in memory, as the device reads them */
    cl_mem mem;
};

static double element_at(const struct reduced_tensor *d, size_t i, size_t j)
{
    return d->x[d->offset + i * d->row + j * d->col];
}

static double round_to(xl_dtype dtype, double x)
{
    switch (dtype) {
    case XL_F32: return (double)(float)x;
    case XL_F16: return (double)xl__f16_to_f32(xl__f32_to_f16((float)x));
    case XL_BF16: return (double)xl__bf16_to_f32(xl__f32_to_bf16((float)x));
    case XL_U8: return fmin(fmax(rint(x), 0), 255);
    case XL_BOOL: return x > 0;
    default: return rint(x);
    }
}

static void store_element(const struct reduced_tensor *d, void *bytes,
                          size_t k)
{
    const double x = d->x[k];
    switch (d->dtype) {
    case XL_F32: ((float *)bytes)[k] = (float)x; break;
    case XL_F16: ((uint16_t *)bytes)[k] = xl__f32_to_f16((float)x); break;
    case XL_BF16: ((uint16_t *)bytes)[k] = xl__f32_to_bf16((float)x); break;
    case XL_I32: ((int32_t *)bytes)[k] = (int32_t)x; break;
    case XL_I8: ((int8_t *)bytes)[k] = (int8_t)x; break;
    default: ((uint8_t *)bytes)[k] = (uint8_t)x; break;
    }
}

static void upload_tensor(struct reduced_tensor *d)
{
    const size_t bytes = d->elems * xl_dtype_bytes(d->dtype);
    void *host = calloc(d->elems, xl_dtype_bytes(d->dtype));
    assert_non_null(host);
    for (size_t k = 0; k < d->elems; k++)
        store_element(d, host, k);
    assert_status(xl_buffer_create(t.queue, bytes, &d->mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, d->mem, 0, host, bytes), XL_OK,
                  xl_error_detail(t.queue));
    free(host);
}

static void release_data(struct reduced_tensor *d)
{
    clReleaseMemObject(d->mem);
    free(d->x);
}

/* -- expected results ----------------------------------------------------- */

struct expected { double x, bound; };

/* One row in double, with its sums and maximum. */
struct row_reference {
    const double *x;
    size_t n;
    double sum, size, mean, var, squares, top;
    bool has_nan;
};

static struct row_reference row_facts(const double *x, size_t n)
{
    struct row_reference r = {.x = x, .n = n, .top = -INFINITY};
    for (size_t j = 0; j < n; j++) {
        r.sum += x[j];
        r.size += fabs(x[j]);
        r.squares += x[j] * x[j];
        r.top = fmax(r.top, x[j]);
        r.has_nan |= isnan(x[j]);
    }
    r.mean = r.sum / (double)n;
    for (size_t j = 0; j < n; j++)
        r.var += (x[j] - r.mean) * (x[j] - r.mean) / (double)n;
    return r;
}

/* sum: 8 u sum |x|. Results that are not finite must be equal. */
static struct expected of_sum(const struct row_reference *r)
{
    return (struct expected){r->sum, 8 * u * r->size};
}
/* mean: the sum's bound, and a division with 2.5 ulp, of 2 u each. */
static struct expected of_mean(const struct row_reference *r)
{
    return (struct expected){
        r->mean, 8 * u * r->size / (double)r->n + 5 * u * fabs(r->mean)};
}
static struct expected of_var(const struct row_reference *r)
{
    return (struct expected){
        r->var, 16 * u * (r->var + u * r->mean * r->mean) + (double)FLT_MIN};
}
/* norm2: half of the bounds of the sum of squares (8 u) and of squaring (1 u),
 * and 3 ulp of the square root. */
static struct expected of_norm2(const struct row_reference *r)
{
    const double x = sqrt(r->squares);
    return (struct expected){x, (4.5 + 6) * u * x + (double)FLT_MIN};
}
/* logsumexp: exp has 3 ulp and the rounding of its argument, u |x - top|; the
 * sum 8 u; log 3 ulp; the last addition u. Each time the shift is raised, by
 * at least 4, the sum is multiplied by at most e^-4 and rounded by 8 u more.
 */
static struct expected of_lse(const struct row_reference *r)
{
    double sum = 0, far = 0;
    if (!isfinite(r->top) || r->has_nan)
        return (struct expected){r->has_nan ? NAN : r->top, 0};
    for (size_t j = 0; j < r->n; j++) {
        const double d = r->x[j] - r->top;
        sum += exp(d);
        far += d > -700 ? exp(d) * fabs(d) : 0;
    }
    const double x = r->top + log(sum);
    return (struct expected){
        x, u * (6 + 8 + 8 + 4 + far / sum + 6 * log(sum) + fabs(r->top) +
                fabs(x))};
}

static struct expected of_extreme(const struct row_reference *r, bool is_max,
                                  bool place)
{
    size_t best = 0;
    for (size_t j = 1; j < r->n && !isnan(r->x[best]); j++)
        if (isnan(r->x[j]) ||
            (is_max ? r->x[j] > r->x[best] : r->x[j] < r->x[best]))
            best = j;
    return (struct expected){place ? (double)best : r->x[best], 0};
}
static struct expected of_min(const struct row_reference *r)
{
    return of_extreme(r, false, false);
}
static struct expected of_max(const struct row_reference *r)
{
    return of_extreme(r, true, false);
}
static struct expected of_argmin(const struct row_reference *r)
{
    return of_extreme(r, false, true);
}
static struct expected of_argmax(const struct row_reference *r)
{
    return of_extreme(r, true, true);
}
static size_t above_one(const struct row_reference *r)
{
    size_t n = 0;
    for (size_t j = 0; j < r->n; j++)
        n += r->x[j] >= 1;
    return n;
}
static struct expected of_any(const struct row_reference *r)
{
    return (struct expected){above_one(r) > 0, 0};
}
static struct expected of_all(const struct row_reference *r)
{
    return (struct expected){above_one(r) == r->n, 0};
}

/* clang-format off */
static const struct result {
    const char *text; /* without the axes */
    xl_dtype dtype, of_ints;
    struct expected (*expect)(const struct row_reference *);
} results[RESULTS] = {
    {"sum(x",       XL_F32,  XL_I32,  of_sum},
    {"mean(x",      XL_F32,  XL_F32,  of_mean},
    {"var(x",       XL_F32,  XL_F32,  of_var},
    {"norm2(x",     XL_F32,  XL_F32,  of_norm2},
    {"logsumexp(x", XL_F32,  XL_F32,  of_lse},
    {"min(x",       XL_F32,  XL_I32,  of_min},
    {"max(x",       XL_F32,  XL_I32,  of_max},
    {"argmin(x",    XL_I32,  XL_I32,  of_argmin},
    {"argmax(x",    XL_I32,  XL_I32,  of_argmax},
    {"any(x >= 1",  XL_BOOL, XL_BOOL, of_any},
    {"all(x >= 1",  XL_BOOL, XL_BOOL, of_all},
};
/* clang-format on */

/* -- one call ------------------------------------------------------------- */

static bool is_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

static xl_dtype dtype_of(const struct reduced_tensor *d, unsigned k)
{
    return is_float(d->dtype) ? results[k].dtype : results[k].of_ints;
}

/* A result with its guards, as read from the device. */
struct read_result {
    unsigned char *bytes;
    size_t size;
};

static double load_element(const void *bytes, xl_dtype dtype, size_t i)
{
    if (dtype == XL_F32)
        return (double)((const float *)bytes)[i];
    return dtype == XL_I32 ? (double)((const int32_t *)bytes)[i]
                           : (double)((const uint8_t *)bytes)[i];
}

static void check_results(const struct reduced_tensor *d, unsigned k,
                          const struct read_result *f)
{
    const xl_dtype dtype = dtype_of(d, k);
    const size_t elem = xl_dtype_bytes(dtype);
    double *x = calloc(d->many, sizeof *x);
    assert_non_null(x);
    for (size_t b = 0; b < f->size; b++)
        if (b < GUARD * elem || b >= (GUARD + d->keep) * elem)
            assert_int_equal(f->bytes[b], (guard_word >> b % 4 * 8) & 0xff);
    for (size_t i = 0; i < d->keep; i++) {
        for (size_t j = 0; j < d->many; j++)
            x[j] = element_at(d, i, j);
        const struct row_reference r = row_facts(x, d->many);
        const struct expected e = results[k].expect(&r);
        const double got = load_element(f->bytes + GUARD * elem, dtype, i);
        const bool same = isnan(e.x) ? isnan(got) : got == e.x;
        if (!same && !(fabs(got - e.x) <= e.bound && isfinite(e.x)))
            fail_msg("%s) of %s, %zu x %zu, strides %zu %zu, row %zu: %.9g, "
                     "not %.9g +- %.3g", results[k].text,
                     xl_dtype_name(d->dtype), d->keep, d->many, d->row, d->col,
                     i, got, e.x, e.bound);
    }
    free(x);
}

static xl_binding make_binding(const char *name, cl_mem mem, xl_dtype dtype,
                               size_t offset)
{
    xl_binding b = {.name = name, .tensor = {.mem = {.buf = mem}}};
    b.tensor.dtype = dtype;
    b.tensor.offset = offset;
    return b;
}

/* The shape of the tensor in the expression: (keep, many) for axis 1, (many,
 * keep) for axis 0. */
static void set_shape(xl_binding *b, const struct reduced_tensor *d,
                      unsigned axis)
{
    const size_t size[] = {d->keep, d->many}, stride[] = {d->row, d->col};
    b->tensor.n_dims = 2;
    for (unsigned k = 0; k < 2; k++) {
        const unsigned from = axis == 1 ? k : 1 - k;
        b->tensor.size[k] = size[from];
        b->tensor.stride[k] = stride[from];
    }
}

static void run_expression(const char *text, xl_binding *b, unsigned n)
{
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = n};
    xl_expr *e;
    assert_status(xl_expr_compile(t.queue, text, &args, &e), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    xl_expr_destroy(e);
}

static void read_results(cl_mem mem, struct read_result *f)
{
    f->bytes = malloc(f->size);
    assert_non_null(f->bytes);
    assert_status(xl_buffer_read(t.queue, mem, 0, f->bytes, f->size), XL_OK,
                  xl_error_detail(t.queue));
}

/* Compute the reductions of a mask over one tensor in one call, and check
 * them. A second call must give the same bits. */
static void check_reductions(const struct reduced_tensor *d, unsigned axis,
                             unsigned mask)
{
    char text[1024] = "", part[64];
    static const char *const names[RESULTS] = {"a", "b", "c", "d", "e", "f",
                                               "g", "h", "i", "j", "k"};
    xl_binding b[RESULTS + 1];
    struct read_result first[RESULTS], again;
    unsigned n = 1;
    b[0] = make_binding("x", d->mem, d->dtype, d->offset);
    set_shape(&b[0], d, axis);
    for (unsigned k = 0; k < RESULTS; k++) {
        if (!(mask >> k & 1))
            continue;
        const xl_dtype dtype = dtype_of(d, k);
        const size_t bytes = (2 * GUARD + d->keep) * xl_dtype_bytes(dtype);
        const size_t words = (bytes + 3) / 4;
        cl_mem mem;
        assert_status(xl_buffer_create(t.queue, 4 * words, &mem), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_fill(t.queue, mem, 0, guard_word, words),
                      XL_OK, xl_error_detail(t.queue));
        first[n - 1].size = 4 * words;
        snprintf(part, sizeof part, "%s = %s, axis=%u)\n", names[k],
                 results[k].text, axis);
        strcat(text, part);
        b[n] = make_binding(names[k], mem, dtype, GUARD);
        b[n].tensor.n_dims = 1;
        b[n].tensor.size[0] = d->keep;
        b[n++].tensor.stride[0] = 1;
    }
    run_expression(text, b, n);
    for (unsigned k = 1; k < n; k++) {
        read_results(b[k].tensor.mem.buf, &first[k - 1]);
        check_results(d, (unsigned)(b[k].name[0] - 'a'), &first[k - 1]);
    }
    run_expression(text, b, n);
    for (unsigned k = 1; k < n; k++) {
        again.size = first[k - 1].size;
        read_results(b[k].tensor.mem.buf, &again);
        assert_memory_equal(again.bytes, first[k - 1].bytes, again.size);
        free(again.bytes);
        free(first[k - 1].bytes);
        clReleaseMemObject(b[k].tensor.mem.buf);
    }
}

/* -- every reduction ------------------------------------------------------ */

enum layout { DENSE, TRANSPOSED, GAPS, BROADCAST, ODD, N_LAYOUTS };

static struct reduced_tensor create_data(enum layout layout, size_t keep,
                                         size_t many, unsigned axis,
                                         xl_dtype dtype)
{
    struct reduced_tensor d = {
        .keep = keep, .many = many, .dtype = dtype, .row = many, .col = 1};
    const bool is_transposed = (axis == 0) != (layout == TRANSPOSED);
    if (is_transposed) {
        d.row = 1;
        d.col = keep;
    }
    if (layout == GAPS) {
        d.row *= 3;
        d.col *= 3;
    }
    if (layout == BROADCAST)
        d.row = 0, d.col = 1;
    if (layout == ODD)
        d.offset = 3;
    d.elems = d.offset + (keep - 1) * d.row + (many - 1) * d.col + 1;
    d.x = calloc(d.elems, sizeof *d.x);
    assert_non_null(d.x);
    return d;
}

/* Random values by type: their sum is within i32, and integers have so few
 * different values that extremes tie. */
static void fill_random(struct reduced_tensor *d, uint64_t seed)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (size_t k = 0; k < d->elems; k++)
        d->x[k] = round_to(d->dtype, is_float(d->dtype)
                                         ? 6 * xl__rng_uniform(&rng) - 2
                                         : 100 * xl__rng_uniform(&rng) - 40);
}

static bool is_full(void)
{
    const char *full = getenv("XL_TEST_FULL");
    return full && strcmp(full, "1") == 0;
}

/* The driver rusticl needs seconds to compile each of these kernels. */
static bool is_slow(void)
{
    const char *platform = getenv("XL_TEST_PLATFORM");
    return !is_full() && platform && strcmp(platform, "rusticl") == 0;
}

static void check_sizes(xl_dtype dtype, enum layout layout)
{
    static const size_t sizes[] = {1, 2, 7, 31, 257, 4097, 1000003};
    const unsigned all = (1u << RESULTS) - 1;
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (is_slow() && k % 3 != 2)
            continue;
        for (unsigned axis = 0; axis < 2; axis++) {
            const size_t keep = sizes[k] > 100000 ? 2 : k % 2 ? 17 : 37;
            struct reduced_tensor d =
                create_data(layout, keep, sizes[k], axis, dtype);
            fill_random(&d, 7 + k);
            upload_tensor(&d);
            check_reductions(&d, axis, all);
            release_data(&d);
        }
    }
}

static void test_types(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16, XL_I32,
                                      XL_I8,  XL_U8,  XL_BOOL};
    (void)state;
    for (unsigned k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        if (is_full() || k == 0 || k == 3 || (k == 1 && !is_slow()))
            check_sizes(dtypes[k], DENSE);
}

static void test_layouts(void **state)
{
    (void)state;
    for (unsigned layout = TRANSPOSED; layout < N_LAYOUTS; layout++)
        if (is_full() || layout == BROADCAST || (layout == GAPS && !is_slow()))
            check_sizes(is_full() && layout % 2 ? XL_F16 : XL_F32,
                        (enum layout)layout);
}

/* -- ill-conditioned data ------------------------------------------------- */

static const size_t hard_n = 300007;

/* Pairs that cancel, and small values between them. */
static double cancelling_data(size_t j)
{
    return j % 3 == 2 ? 1e-3 * (double)(j % 7) : j % 3 ? -1e8 : 1e8;
}
static double rising_data(size_t j)
{
    return exp(36 * (double)j / (double)hard_n - 18);
}
static double falling_data(size_t j)
{
    return rising_data(hard_n - 1 - j);
}
static double tenths_data(size_t j)
{
    (void)j;
    return 0.1;
}
/* A small variance about a large mean. */
static double offset_data(size_t j)
{
    return 1e5 + (double)(j * 7919 % 1000) / 64;
}
/* The first number is far from all others. */
static double outlier_data(size_t j)
{
    return j == 0 ? 1e6 : 1 + (double)(j % 10) / 1024;
}

static void test_hard_data(void **state)
{
    static double (*const shapes[])(size_t) = {cancelling_data, rising_data,
                                               falling_data,    tenths_data,
                                               offset_data,     outlier_data};
    const unsigned mask = 0xf; /* sum, mean, var, norm2 */
    (void)state;
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        for (unsigned axis = 0; axis < 2; axis++) {
            for (unsigned keep = 1; keep < 300; keep += 256) {
                struct reduced_tensor d =
                    create_data(DENSE, keep, hard_n / keep, axis, XL_F32);
                for (size_t i = 0; i < d.keep; i++)
                    for (size_t j = 0; j < d.many; j++)
                        d.x[i * d.row + j * d.col] =
                            round_to(XL_F32, shapes[k](j + i));
                upload_tensor(&d);
                check_reductions(&d, axis, mask);
                release_data(&d);
            }
        }
    }
}

/* Sums of integers below 2^24 are exact; the bound alone allows an error. */
static void test_ones(void **state)
{
    struct reduced_tensor d = create_data(DENSE, 1, 10000000, 1, XL_F32);
    xl_binding b[2];
    float sum = 0;
    cl_mem out;
    (void)state;
    for (size_t j = 0; j < d.many; j++)
        d.x[j] = 1;
    upload_tensor(&d);
    assert_status(xl_buffer_create(t.queue, 4, &out), XL_OK, "");
    b[0] = make_binding("x", d.mem, XL_F32, 0);
    set_shape(&b[0], &d, 1);
    b[1] = make_binding("out", out, XL_F32, 0);
    run_expression("sum(x)", b, 2);
    assert_status(xl_buffer_read(t.queue, out, 0, &sum, 4), XL_OK, "");
    assert_true(sum == 1e7f);
    clReleaseMemObject(out);
    release_data(&d);
}

/* NaN and infinities at the first, a middle and the last index. */
static void test_specials(void **state)
{
    const double inf = INFINITY;
    const double put[][2] = {{NAN, 0.5}, {inf, 0.5}, {-inf, 0.5}, {inf, -inf},
                             {NAN, inf}, {-inf, -inf}, {NAN, NAN}};
    const unsigned mask = (1u << RESULTS) - 1;
    (void)state;
    for (unsigned axis = 0; axis < 2; axis++) {
        struct reduced_tensor d =
            create_data(DENSE, 7 * 3, 1037, axis, XL_F32);
        fill_random(&d, 5);
        for (size_t i = 0; i < d.keep; i++) {
            const size_t indices[] = {0, 517, d.many - 1};
            const size_t first = indices[i % 3], second = indices[(i + 1) % 3];
            d.x[i * d.row + first * d.col] = put[i / 3][0];
            d.x[i * d.row + second * d.col] = put[i / 3][1];
        }
        upload_tensor(&d);
        check_reductions(&d, axis, mask);
        release_data(&d);
        /* All elements are -inf. */
        d = create_data(DENSE, 3, 100, axis, XL_F32);
        for (size_t k = 0; k < d.elems; k++)
            d.x[k] = -inf;
        upload_tensor(&d);
        check_reductions(&d, axis, mask);
        release_data(&d);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),     cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_hard_data), cmocka_unit_test(test_ones),
        cmocka_unit_test(test_specials),
    };
    test_args(argc, argv);
    test_device_open(&t, NULL);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&t);
    return failed;
}
