/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of expressions as an application makes them: one compiled expression
 * for many calls, a wrapped queue, the caller's workspace, and errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/expression/expr_case.h"
#include "support/support.h"

enum { SEED = 31 };

static const char *const variants[] = {"expr_fused", "expr_unfused"};
enum { N_VARIANTS = 2 };

static struct test_device t;

/* -- one compiled expression, many calls ---------------------------------- */

static uint64_t count_programs(void)
{
    xl_cache_stats stats;
    assert_status(xl_cache_stats_get(t.lib, &stats), XL_OK,
                  xl_lib_error(t.lib));
    return stats.hits + stats.misses;
}

/* Each call has other memory, offsets, scalars and sizes. The kernel texts do
 * not depend on these, so only the first calls may build programs. */
static void test_many_calls(void **state)
{
    static const char *const binds[] = {
        "x f32 64,256; a = 2; out f32 64,256",
        "x f32 64,256; a = -3.5; out f32 64,256",
        "x f32 128,512; a = 1; out f32 128,512",
        "x f32 96,1024; a = 0.1; out f32 96,1024"};
    xl_expr *e = NULL;
    uint64_t made = 0;
    (void)state;
    for (size_t i = 0; i < sizeof binds / sizeof *binds; i++) {
        struct expr_case c;
        xl_expr_args args;
        case_init(&c, i, "out = tanh(x * a) + 1");
        case_bind(&c, binds[i]);
        assert_true(case_upload(&c, t.queue));
        case_args(&c, NULL, &args);
        if (!e)
            assert_status(
                xl_expr_compile(t.queue, xl__str_text(&c.text), &args, &e),
                XL_OK, xl_error_detail(t.queue));
        assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_true(case_compare(&c, t.queue));
        /* There is one text with alignment and one without. */
        if (i == 1)
            made = count_programs();
        case_clear(&c);
    }
    assert_in_range(count_programs(), made, made + 1);
    xl_expr_destroy(e);
}

/* The same call gives the same bits, fused and not, of sums that many
 * work-groups share. */
static void test_repeats(void **state)
{
    enum { ELEMS = 300 * 1000 + 300, BYTES = ELEMS * sizeof(float) };
    (void)state;
    for (unsigned v = 0; v < N_VARIANTS; v++) {
        struct expr_case c;
        xl_expr_args args;
        xl_expr *e = NULL;
        float *got[2] = {malloc(BYTES), malloc(BYTES)};
        assert_true(got[0] && got[1]);
        case_init(&c, 7,
                  "out = softmax(x) * var(x) + sum(x) + logsumexp(x, axis=0)");
        case_bind(&c, "x f32 300,1001; out f32 300,1001");
        assert_true(case_upload(&c, t.queue));
        case_args(&c, variants[v], &args);
        assert_status(
            xl_expr_compile(t.queue, xl__str_text(&c.text), &args, &e), XL_OK,
            xl_error_detail(t.queue));
        const cl_mem out = args.bindings[1].tensor.mem.buf;
        for (unsigned time = 0; time < 3; time++) {
            assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                          xl_error_detail(t.queue));
            assert_status(
                xl_buffer_read(t.queue, out, 0, got[time > 0], BYTES), XL_OK,
                xl_error_detail(t.queue));
        }
        assert_memory_equal(got[0], got[1], BYTES);
        xl_expr_destroy(e);
        case_clear(&c);
        free(got[0]);
        free(got[1]);
    }
}

/* An application's queue that runs out of order: the groups of an expression
 * wait for each other, and for the events that are given. */
static void test_out_of_order(void **state)
{
    cl_context context = xl_queue_context(t.queue);
    cl_device_id device;
    cl_command_queue_properties can = 0;
    cl_int err;
    xl_queue *q = NULL;
    (void)state;
    assert_int_equal(clGetContextInfo(context, CL_CONTEXT_DEVICES,
                                      sizeof device, &device, NULL),
                     CL_SUCCESS);
    assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES,
                                     sizeof can, &can, NULL),
                     CL_SUCCESS);
    if (!(can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        skip();
    cl_command_queue native = clCreateCommandQueue(
        context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &err);
    assert_int_equal(err, CL_SUCCESS);
    assert_status(xl_queue_wrap(t.lib, native, &q), XL_OK,
                  xl_lib_error(t.lib));
    for (int v = 0; v < N_VARIANTS; v++) {
        struct expr_case c;
        case_init(&c, SEED, "t = x - mean(x, axis=0); x = t * sum(t, axis=1); "
                            "y = transpose(y) + max(t); out = softmax(t)");
        case_bind(&c, "x f32 80,80; y f32 80,80; out f32 80,80");
        assert_true(case_right(&c, q, variants[v]));
        case_clear(&c);
    }
    xl_queue_destroy(q);
    clReleaseCommandQueue(native);
}

/* The workspace may be a buffer of the caller; one byte less is an error. */
static void test_own_workspace(void **state)
{
    struct expr_case c;
    xl_expr_args args;
    xl_expr *e = NULL;
    size_t bytes = 0;
    cl_mem scratch = NULL;
    (void)state;
    case_init(&c, SEED, "out = x / norm2(x) + transpose(x) * sum(x, axis=0)");
    case_bind(&c, "x f32 90,90; out f32 90,90");
    assert_true(case_upload(&c, t.queue));
    case_args(&c, "expr_unfused", &args);
    assert_status(xl_expr_compile(t.queue, xl__str_text(&c.text), &args, &e),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_expr_workspace(t.queue, e, &args, &bytes), XL_OK,
                  xl_error_detail(t.queue));
    assert_in_range(bytes, 1, 1 << 24);
    assert_status(xl_buffer_create(t.queue, bytes, &scratch), XL_OK,
                  xl_error_detail(t.queue));
    args.workspace.buf = scratch;
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_true(case_compare(&c, t.queue));
    clReleaseMemObject(scratch);
    assert_status(xl_buffer_create(t.queue, bytes - 1, &scratch), XL_OK,
                  xl_error_detail(t.queue));
    args.workspace.buf = scratch;
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_BUFFER_TOO_SMALL,
                  xl_error_detail(t.queue));
    clReleaseMemObject(scratch);
    xl_expr_destroy(e);
    case_clear(&c);
}

/* -- errors --------------------------------------------------------------- */

static xl_status run_status(struct expr_case *c)
{
    xl_expr *e = NULL;
    xl_expr_args args;
    case_args(c, NULL, &args);
    xl_status status =
        xl_expr_compile(t.queue, xl__str_text(&c->text), &args, &e);
    if (status == XL_OK)
        status = xl_expr_run(t.queue, e, &args, NULL);
    if (status != XL_OK)
        assert_true(xl_error_detail(t.queue)[0] != '\0');
    xl_expr_destroy(e);
    return status;
}

/* Changes that make a call of `out = x * a` wrong; x, a, out are bindings 0,
 * 1, 2. */
static void overlap_x(struct expr_case *c)
{
    c->binding[2].tensor.mem = c->binding[0].tensor.mem;
    c->binding[2].tensor.offset = c->binding[0].tensor.offset + 1;
}

static void repeat_row(struct expr_case *c)
{
    c->binding[2].tensor.stride[0] = 0;
}

static void cross_rows(struct expr_case *c)
{
    c->binding[2].tensor.stride[0] = 10;
}

static void exceed_buffer(struct expr_case *c)
{
    c->binding[0].tensor.offset = c->mem[0].bytes / 4 - 20 * 30 + 1;
}

static void exceed_range(struct expr_case *c)
{
    c->binding[0].tensor.offset = SIZE_MAX - 5;
}

static void set_scalar(struct expr_case *c, xl_dtype dtype, double value)
{
    c->binding[1].tensor.dtype = dtype;
    c->binding[1].scalar = value;
}

static void set_fraction(struct expr_case *c)
{
    set_scalar(c, XL_I32, 1.5);
}
static void set_nan_i32(struct expr_case *c)
{
    set_scalar(c, XL_I32, NAN);
}
static void set_large_i32(struct expr_case *c)
{
    set_scalar(c, XL_I32, 3e9);
}
static void set_nan_f32(struct expr_case *c)
{
    set_scalar(c, XL_F32, NAN);
}
static void set_large_f32(struct expr_case *c)
{
    set_scalar(c, XL_F32, -1e39);
}
static void set_infinite_f32(struct expr_case *c)
{
    set_scalar(c, XL_F32, INFINITY);
}
static void leave_unchanged(struct expr_case *c)
{
    (void)c;
}

static void test_refused(void **state)
{
    static const struct {
        const char *name;
        void (*spoil)(struct expr_case *);
        xl_status expected;
    } rows[] = {
        {"as it is", leave_unchanged, XL_OK},
        {"out over x", overlap_x, XL_OVERLAP},
        {"rows of out are one", repeat_row, XL_OVERLAP},
        {"rows of out cross", cross_rows, XL_OVERLAP},
        {"past the end", exceed_buffer, XL_BUFFER_TOO_SMALL},
        {"beyond 64 bits", exceed_range, XL_OVERFLOW},
        {"1.5 as i32", set_fraction, XL_BAD_SCALAR},
        {"NaN as i32", set_nan_i32, XL_BAD_SCALAR},
        {"3e9 as i32", set_large_i32, XL_BAD_SCALAR},
        {"NaN as f32", set_nan_f32, XL_OK},
        {"infinity as f32", set_infinite_f32, XL_OK},
        {"-1e39 as f32", set_large_f32, XL_BAD_SCALAR},
    };
    unsigned n_wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expr_case c;
        case_init(&c, i, "out = x * a");
        case_bind(&c, "x f32 20,30; a = 2; out f32 20,30");
        assert_true(case_upload(&c, t.queue));
        rows[i].spoil(&c);
        const xl_status got = run_status(&c);
        if (got != rows[i].expected) {
            print_error("%s: %s, not %s: %s\n", rows[i].name,
                        xl_status_name(got), xl_status_name(rows[i].expected),
                        xl_error_detail(t.queue));
            n_wrong++;
        }
        assert_status(xl_queue_finish(t.queue), XL_OK, "finish");
        case_clear(&c);
    }
    assert_int_equal(n_wrong, 0);
}

/* -- rows that are all -inf ------------------------------------------------
 */

enum { KINDS = 6, OUTPUTS = 3 };

/* Element j of a row: all masked, all but one, NaN among masked ones, +inf
 * among masked ones, the least number and masked ones, no mask. */
static float masked_value(size_t kind, size_t j)
{
    static const float alone[KINDS] = {-INFINITY, 7, NAN, INFINITY, -3.4e38f};
    return kind == KINDS - 1 ? (float)(j % 5)
           : j == 1          ? alone[kind]
                             : -INFINITY;
}

/* 0 for a masked row and NaN for one with a NaN or +inf; else as many equal
 * shares as there are largest elements, which stand apart. */
static void check_masked_row(size_t kind, size_t j, size_t cols,
                             const float got[OUTPUTS])
{
    const bool is_nan = kind == 2 || kind == 3;
    const bool is_masked = kind < KINDS - 1 && (kind == 0 || j != 1);
    if (is_nan)
        assert_true(isnan(got[0]) && isnan(got[1]));
    else if (is_masked)
        assert_true(got[0] == 0 && got[1] == -INFINITY);
    else if (kind < KINDS - 1)
        assert_true(got[0] == 1 && got[1] == 0);
    else
        assert_true(got[0] > 0 && got[0] * (float)cols < 6 &&
                    fabsf(expf(got[1]) - got[0]) < 1e-5f);
    if (kind == 0)
        assert_true(got[2] == -INFINITY);
    if (kind == 2)
        assert_true(isnan(got[2]));
    if (kind == 3)
        assert_true(got[2] == INFINITY);
}

/* `cols` elements a row, along rows or columns of memory. */
static void check_masked(size_t cols, bool across, const char *variant)
{
    const size_t elems = KINDS * cols, col = across ? KINDS : 1;
    const size_t row = across ? 1 : cols;
    float *x = calloc(elems * (OUTPUTS + 1), sizeof *x);
    xl_binding b[OUTPUTS + 1] = {
        {.name = "x"}, {.name = "a"}, {.name = "b"}, {.name = "c"}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, b,  OUTPUTS + 1, false,
                               variant,           {0}};
    xl_expr *e = NULL;
    cl_mem mem;
    assert_non_null(x);
    for (size_t i = 0; i < elems; i++)
        x[i / cols * row + i % cols * col] = masked_value(i / cols, i % cols);
    assert_status(xl_buffer_create(t.queue, elems * 16, &mem), XL_OK, "");
    assert_status(xl_buffer_write(t.queue, mem, 0, x, elems * 4), XL_OK, "");
    for (unsigned k = 0; k <= OUTPUTS; k++) {
        const xl_tensor view = {{.buf = mem},  k * elems,  2,
                                {KINDS, cols}, {row, col}, XL_F32};
        b[k].tensor = view;
    }
    b[OUTPUTS].tensor.size[1] = 1;
    assert_status(xl_expr_compile(t.queue,
                                  "a = softmax(x); b = log_softmax(x); "
                                  "c = logsumexp(x, axis=-1)",
                                  &args, &e),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, mem, 0, x, elems * 16), XL_OK, "");
    for (size_t i = 0; i < elems; i++) {
        const size_t at = i / cols * row + i % cols * col;
        const float got[OUTPUTS] = {x[elems + at], x[2 * elems + at],
                                    x[3 * elems + i / cols * row]};
        check_masked_row(i / cols, i % cols, cols, got);
    }
    xl_expr_destroy(e);
    clReleaseMemObject(mem);
    free(x);
}

static void test_masked_rows(void **state)
{
    (void)state;
    for (int v = 0; v < N_VARIANTS; v++)
        check_masked(9, false, variants[v]);
    check_masked(1030, false, NULL);
    check_masked(257, true, NULL);
    check_masked(300007, false, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_own_workspace),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_masked_rows),
    };
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
