/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions on the stub driver: errors of a call and their messages, what is
 * built and what is found in caches, which variant is used when one fails, and
 * that nothing leaks. Results are tested in test_expr.c. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { ROWS = 8, COLS = 16, BYTES = 4 * ROWS * COLS, MOST = 40 };

/* Three names, one of them written, each with memory of its own. */
struct world {
    struct test_device t;
    cl_mem mem[3]; /* four times what x needs */
    xl_binding b[MOST];
    xl_expr_args args;
    const char *text;
    unsigned warnings;
    char warning[512];
    long before; /* objects that were alive */
};

enum { X, Y, S };

static const size_t shape[2] = {ROWS, COLS};

static void record_log(xl_log_level level, const char *text, void *world)
{
    struct world *w = world;
    if (level != XL_LOG_WARNING)
        return;
    w->warnings++;
    snprintf(w->warning, sizeof w->warning, "%s", text);
}

static void set_up(struct world *w, bool selfcheck)
{
    memset(w, 0, sizeof *w);
    w->before = test_stub()->live();
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = !selfcheck,
                                .cache_dir = "", .log = record_log,
                                .log_arg = w};
    test_device_open(&w->t, &options);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(w->t.queue, 4 * BYTES, &w->mem[i]),
                      XL_OK, xl_error_detail(w->t.queue));
    w->b[X].name = "x";
    w->b[X].tensor = xl_tensor_dense(w->mem[0], XL_F32, 2, shape);
    w->b[Y].name = "y";
    w->b[Y].tensor = xl_tensor_dense(w->mem[1], XL_F32, 2, shape);
    w->b[S].name = "s";
    w->b[S].is_scalar = true;
    w->b[S].scalar = 0.5;
    w->args = (xl_expr_args){XL_EXPR_ARGS_INIT};
    w->args.bindings = w->b;
    w->args.n_bindings = 3;
    w->text = "y = exp(x) * s + x";
}

static void tear_down(struct world *w)
{
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(w->mem[i]);
    test_device_close(&w->t);
    if (test_stub()->live() != w->before)
        fail_msg("alive: %s", test_stub()->live_text());
}

static xl_expr *compiled(struct world *w)
{
    xl_expr *e = NULL;
    assert_status(xl_expr_compile(w->t.queue, w->text, &w->args, &e), XL_OK,
                  xl_error_detail(w->t.queue));
    assert_non_null(e);
    return e;
}

static unsigned long builds(void)
{
    return test_stub()->calls("clCreateProgramWithSource");
}

static unsigned long launches(void)
{
    return test_stub()->calls("clEnqueueNDRangeKernel");
}

/* -- errors ----------------------------------------------------------- */

static void no_arguments(struct world *w) { w->args.bindings = NULL; }
static void too_many(struct world *w)
{
    w->args.n_bindings = XL_EXPR_MAX_BINDINGS + 1;
}
static void no_name(struct world *w) { w->b[Y].name = NULL; }
static void empty_name(struct world *w) { w->b[Y].name = ""; }
static void digit_first(struct world *w) { w->b[Y].name = "1y"; }
static void injected(struct world *w) { w->b[Y].name = "y){}//"; }
static void long_name(struct world *w)
{
    w->b[Y].name = "a_name_that_is_longer_than_31_ch";
}
static void reserved(struct world *w) { w->b[S].name = "sin"; }
static void twice(struct world *w) { w->b[S].name = "x"; }
static void unused(struct world *w)
{
    w->b[S + 1] = w->b[X];
    w->b[S + 1].name = "q";
    w->args.n_bindings = S + 2;
}
static void f8(struct world *w) { w->b[X].tensor.dtype = XL_F8E5M2; }
static void no_dtype(struct world *w)
{
    w->b[X].tensor.dtype = (xl_dtype)99;
}
static void half_scalar(struct world *w) { w->b[S].tensor.dtype = XL_F16; }
static void many_dims(struct world *w) { w->b[X].tensor.n_dims = 7; }
static void size_0(struct world *w) { w->b[X].tensor.size[1] = 0; }
static void far_stride(struct world *w)
{
    w->b[X].tensor.stride[0] = SIZE_MAX / 2;
}
static void far_offset(struct world *w)
{
    w->b[X].tensor.offset = SIZE_MAX - 3;
}
static void repeated(struct world *w) { w->b[Y].tensor.stride[0] = 0; }
static void crossing(struct world *w) { w->b[Y].tensor.stride[0] = 3; }
static void no_memory(struct world *w)
{
    w->b[X].tensor.mem = (xl_mem){0};
}
static void both_memories(struct world *w)
{
    w->b[X].tensor.mem.svm = w->b;
}
static void odd_address(struct world *w)
{
    w->b[X].tensor.mem = (xl_mem){.svm = (char *)w->b + 2};
}
static void past_the_end(struct world *w)
{
    w->b[X].tensor.offset = 3 * ROWS * COLS + 1;
}
static void shifted(struct world *w)
{
    w->b[Y].tensor.mem = w->b[X].tensor.mem;
    w->b[Y].tensor.offset = 1;
}
static void other_type(struct world *w)
{
    w->b[Y].tensor.mem = w->b[X].tensor.mem;
    w->b[X].tensor.dtype = XL_I32;
}
static void half_number(struct world *w)
{
    w->b[S].tensor.dtype = XL_I32;
    w->b[S].scalar = 0.5;
}
static void nan_number(struct world *w)
{
    w->b[S].tensor.dtype = XL_I32;
    w->b[S].scalar = (double)NAN;
}
static void large_number(struct world *w)
{
    w->b[S].tensor.dtype = XL_I32;
    w->b[S].scalar = 2147483648.0;
}
static void overflowing_number(struct world *w)
{
    w->b[S].tensor.dtype = XL_F32;
    w->b[S].scalar = 1e300;
}
static void odd_variant(struct world *w) { w->args.variant = "expr_magic"; }
static void long_variant(struct world *w)
{
    w->args.variant = "expr_with_a_name_that_does_not_fit";
}
static void other_name(struct world *w) { w->text = "y = x * t + s"; }
static void other_shape(struct world *w)
{
    w->b[X].tensor.size[1] = COLS - 1;
}
static void overlapping_workspace(struct world *w)
{
    w->args.variant = "expr_unfused";
    w->args.workspace.buf = w->b[X].tensor.mem.buf;
}
static void two_workspaces(struct world *w)
{
    w->args.variant = "expr_unfused";
    w->args.workspace = (xl_mem){.buf = w->mem[2], .svm = w->b};
}

/* clang-format off */
static const struct {
    void (*spoil)(struct world *w);
    bool at_run; /* compiling does not look at memory */
    xl_status expected;
    const char *message;
} wrong[] = {
    {no_arguments, false, XL_BAD_ARGUMENT, "no bindings"},
    {too_many, false, XL_BAD_ARGUMENT, "33 bindings; at most 32"},
    {no_name, false, XL_BAD_ARGUMENT, "binding 1 has no name"},
    {empty_name, false, XL_BAD_ARGUMENT, "binding 1: a name is a letter"},
    {digit_first, false, XL_BAD_ARGUMENT, "binding 1: a name is a letter"},
    {injected, false, XL_BAD_ARGUMENT, "binding 1: a name is a letter"},
    {long_name, false, XL_BAD_ARGUMENT, "longer than 31"},
    {reserved, false, XL_BAD_ARGUMENT, "\"sin\" is reserved"},
    {twice, false, XL_BAD_ARGUMENT, "\"x\" is bound twice"},
    {unused, false, XL_BAD_ARGUMENT, "'q'"},
    {f8, false, XL_BAD_ARGUMENT, "x is of type f8e5m2; a tensor is f64, f32,"},
    {no_dtype, false, XL_BAD_ARGUMENT, "x: invalid dtype 99"},
    {half_scalar, false, XL_BAD_ARGUMENT, "a scalar is f64, f32, i64 or i32"},
    {many_dims, false, XL_BAD_ARGUMENT, "x has 7 dimensions"},
    {size_0, false, XL_BAD_SHAPE, "a value of shape (8, 0)"},
    {far_stride, false, XL_OVERFLOW, "x: "},
    {far_offset, true, XL_OVERFLOW, "x: "},
    {repeated, false, XL_OVERLAP, "y overlaps itself"},
    {crossing, false, XL_OVERLAP, "y overlaps itself"},
    {no_memory, true, XL_BAD_ARGUMENT, "x has no memory"},
    {both_memories, true, XL_BAD_ARGUMENT, "x has both a buffer and an SVM"},
    {odd_address, true, XL_BAD_ARGUMENT, "not a multiple of 4"},
    {past_the_end, true, XL_BUFFER_TOO_SMALL, "x needs 2052 bytes"},
    {shifted, true, XL_OVERLAP, "y overlaps x: bytes 4 to 516 and 0 to 512"},
    {other_type, true, XL_OVERLAP, "y overlaps x"},
    {half_number, true, XL_BAD_SCALAR, "s is 0.5"},
    {nan_number, true, XL_BAD_SCALAR, "s is nan"},
    {large_number, true, XL_BAD_SCALAR, "s is 2147483648"},
    {overflowing_number, true, XL_BAD_SCALAR, "which overflows f32"},
    {odd_variant, false, XL_BAD_ARGUMENT, "has expr_fused, expr_unfused"},
    {long_variant, false, XL_BAD_ARGUMENT, "no variant \"expr_with_a"},
    {other_name, false, XL_BAD_ARGUMENT, "1:9: 't'"},
    {other_shape, false, XL_BAD_SHAPE, "1:"},
    {overlapping_workspace, true, XL_OVERLAP, "x overlaps the workspace"},
    {two_workspaces, true, XL_BAD_ARGUMENT, "the workspace has both"},
};
/* clang-format on */

static void refused(struct world *w, unsigned i, xl_status got)
{
    const char *detail = xl_error_detail(w->t.queue);
    if (got != wrong[i].expected || !strstr(detail, wrong[i].message))
        fail_msg("#%u: %s: \"%s\", not %s with \"%s\"", i, xl_status_name(got),
                 detail, xl_status_name(wrong[i].expected), wrong[i].message);
}

/* Compiling returns the error; so does a run of what was compiled before. */
static void test_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct world w;
        set_up(&w, false);
        xl_expr *e = compiled(&w), *other = NULL;
        const char *text = w.text;
        wrong[i].spoil(&w);
        const xl_status status =
            xl_expr_compile(w.t.queue, w.text, &w.args, &other);
        if (!wrong[i].at_run) {
            refused(&w, i, status);
            assert_null(other);
        }
        if (w.text == text) {
            test_stub()->reset();
            refused(&w, i, xl_expr_run(w.t.queue, e, &w.args, NULL));
            assert_int_equal(launches(), 0);
        }
        xl_expr_destroy(other);
        xl_expr_destroy(e);
        tear_down(&w);
    }
}

static void test_null(void **state)
{
    struct world w;
    xl_expr *e = NULL;
    size_t bytes;
    unsigned n;

    (void)state;
    set_up(&w, false);
    xl_queue *q = w.t.queue;
    assert_int_equal(xl_expr_compile(NULL, w.text, &w.args, &e),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_expr_compile(q, w.text, &w.args, NULL),
                     XL_BAD_ARGUMENT);
    assert_status(xl_expr_compile(q, NULL, &w.args, &e), XL_BAD_ARGUMENT,
                  xl_error_detail(q));
    assert_non_null(strstr(xl_error_detail(q), "the text is NULL"));
    assert_status(xl_expr_compile(q, w.text, NULL, &e), XL_BAD_ARGUMENT,
                  xl_error_detail(q));
    assert_non_null(strstr(xl_error_detail(q), "no arguments"));
    assert_status(xl_expr_compile_terms(q, NULL, &w.args, &e),
                  XL_BAD_ARGUMENT, xl_error_detail(q));
    assert_null(e);
    assert_int_equal(xl_expr_run(NULL, e, &w.args, NULL), XL_BAD_ARGUMENT);
    assert_status(xl_expr_run(q, NULL, &w.args, NULL), XL_BAD_ARGUMENT,
                  xl_error_detail(q));
    assert_non_null(strstr(xl_error_detail(q), "the expression is NULL"));
    assert_int_equal(xl_expr_workspace(q, NULL, &w.args, &bytes),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_expr_workspace(q, NULL, &w.args, NULL),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_expr_explain(q, NULL, &w.args, NULL, 0, &n),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_expr_explain(q, NULL, &w.args, NULL, 1, &n),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_expr_kernels(q, NULL, &w.args, NULL, NULL),
                     XL_BAD_ARGUMENT);
    xl_expr_destroy(NULL);
    tear_down(&w);
}

/* -- overlap ---------------------------------------------------------- */

/* Views of one buffer: begin and strides of x and y, and whether they are
 * allowed. */
static void test_overlaps(void **state)
{
    static const struct {
        size_t x, x_row, x_col, y, y_row, y_col;
        bool is_fine;
    } views[] = {
        {0, 16, 1, 0, 16, 1, true},     /* in place */
        {0, 16, 1, 128, 16, 1, true},   /* one behind the other */
        {0, 16, 1, 127, 16, 1, false},
        {0, 32, 1, 16, 32, 1, true},    /* halves of lines */
        {0, 32, 1, 15, 32, 1, false},
        {0, 32, 2, 1, 32, 2, true},     /* even and odd */
        {1, 32, 2, 0, 32, 2, true},
        {0, 32, 2, 2, 32, 2, false},
        {0, 16, 1, 0, 1, 8, false},     /* its own transposed */
        {0, 48, 1, 24, 48, 1, true},
        {0, 3, 24, 1, 3, 24, true},     /* columns, interleaved */
        {0, 3, 24, 3, 3, 24, false},
    };
    struct world w;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    for (unsigned i = 0; i < sizeof views / sizeof *views; i++) {
        xl_tensor *x = &w.b[X].tensor, *y = &w.b[Y].tensor;
        x->mem = y->mem = (xl_mem){.buf = w.mem[0]};
        x->offset = views[i].x;
        x->stride[0] = views[i].x_row;
        x->stride[1] = views[i].x_col;
        y->offset = views[i].y;
        y->stride[0] = views[i].y_row;
        y->stride[1] = views[i].y_col;
        const xl_status status = xl_expr_run(w.t.queue, e, &w.args, NULL);
        if (status != (views[i].is_fine ? XL_OK : XL_OVERLAP))
            fail_msg("#%u: %s: %s", i, xl_status_name(status),
                     xl_error_detail(w.t.queue));
    }
    xl_expr_destroy(e);
    tear_down(&w);
}

static void test_two_outputs(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, false);
    w.text = "y = exp(x); s = x + 1";
    w.b[S] = w.b[Y];
    w.b[S].name = "s";
    xl_expr *e = compiled(&w);
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OVERLAP,
                  xl_error_detail(w.t.queue));
    assert_non_null(strstr(xl_error_detail(w.t.queue), "both are written"));
    w.b[S].tensor.mem.buf = w.mem[2];
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue));
    xl_expr_destroy(e);
    tear_down(&w);
}

/* Sub-buffers are regions of their parents; SVM is distinguished by address.
 */
static void test_other_memory(void **state)
{
    const cl_buffer_region regions[2] = {{0, BYTES}, {BYTES, BYTES}};
    const cl_buffer_region late = {BYTES / 2, BYTES};
    struct world w;
    cl_mem half[2], across;
    cl_int code;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    for (unsigned i = 0; i < 2; i++)
        half[i] = clCreateSubBuffer(w.mem[0], CL_MEM_READ_WRITE,
                                    CL_BUFFER_CREATE_TYPE_REGION, &regions[i],
                                    &code);
    across = clCreateSubBuffer(w.mem[0], CL_MEM_READ_WRITE,
                               CL_BUFFER_CREATE_TYPE_REGION, &late, &code);
    w.b[X].tensor.mem.buf = half[0];
    w.b[Y].tensor.mem.buf = half[1];
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue));
    w.b[Y].tensor.mem.buf = across;
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OVERLAP,
                  xl_error_detail(w.t.queue));
    w.b[X].tensor.mem.buf = w.mem[0];
    w.b[Y].tensor.mem.buf = half[0];
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue)); /* the very same view */
    float *svm = clSVMAlloc(xl_queue_context(w.t.queue), CL_MEM_READ_WRITE,
                            2 * BYTES, 0);
    assert_non_null(svm);
    w.b[X].tensor.mem = (xl_mem){.svm = svm};
    w.b[Y].tensor.mem = (xl_mem){.svm = svm + ROWS * COLS};
    test_stub()->reset();
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_int_equal(test_stub()->calls("clSetKernelArgSVMPointer"), 2);
    w.b[Y].tensor.mem.svm = svm + 1;
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OVERLAP,
                  xl_error_detail(w.t.queue));
    clSVMFree(xl_queue_context(w.t.queue), svm);
    clReleaseMemObject(across);
    for (unsigned i = 0; i < 2; i++)
        clReleaseMemObject(half[i]);
    xl_expr_destroy(e);
    tear_down(&w);
}

/* -- caches ----------------------------------------------------------- */

static void run_counted(struct world *w, const xl_expr *e,
                        unsigned long want_builds)
{
    test_stub()->reset();
    assert_status(xl_expr_run(w->t.queue, e, &w->args, NULL), XL_OK,
                  xl_error_detail(w->t.queue));
    assert_int_equal(builds(), want_builds);
    assert_int_equal(launches(), 1);
}

static void test_reuse(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, false);
    test_stub()->reset();
    xl_expr *e = compiled(&w);
    assert_int_equal(builds(), 1);
    run_counted(&w, e, 0);
    w.b[S].scalar = -3;
    run_counted(&w, e, 0);
    w.b[X].tensor.mem.buf = w.mem[2];
    w.b[X].tensor.offset = 64;
    run_counted(&w, e, 0);
    /* Another shape has a new plan with the cached program. */
    w.b[X].tensor.size[0] = w.b[Y].tensor.size[0] = ROWS - 1;
    run_counted(&w, e, 0);
    w.b[X].tensor.offset = 0;
    w.b[X].tensor.dtype = XL_F16;
    run_counted(&w, e, 1);
    run_counted(&w, e, 0);
    xl_expr_destroy(e);
    tear_down(&w);
}

/* Different text or terms of the same expression are one expression. */
static void test_same(void **state)
{
    struct world w;
    xl_terms *t = NULL;
    xl_expr *by_terms = NULL;

    (void)state;
    set_up(&w, false);
    w.text = "y = s * x";
    xl_expr *e = compiled(&w);
    test_stub()->reset();
    w.text = "# doubled, perhaps\n y=(s*x)";
    xl_expr *other = compiled(&w);
    assert_int_equal(xl_terms_create(&t), XL_OK);
    const xl_term s = xl_term_name(t, "s"), x = xl_term_name(t, "x");
    xl_term_assign(t, "y", xl_term_call(t, "*", (xl_term[]){s, x}, 2));
    assert_status(xl_expr_compile_terms(w.t.queue, t, &w.args, &by_terms),
                  XL_OK, xl_error_detail(w.t.queue));
    xl_terms_destroy(t);
    assert_int_equal(builds(), 0);
    run_counted(&w, other, 0);
    run_counted(&w, by_terms, 0);
    xl_expr_destroy(by_terms);
    xl_expr_destroy(other);
    xl_expr_destroy(e);
    tear_down(&w);
}

/* Equal kernels are one program at every position in an expression. */
static void test_shared(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, false);
    w.args.variant = "expr_unfused";
    w.args.n_bindings = 2;
    w.text = "y = exp(exp(exp(exp(x))))";
    test_stub()->reset();
    xl_expr *e = compiled(&w);
    assert_int_equal(builds(), 1);
    w.text = "a = x * 2; y = exp(a) + a"; /* exp, and two others */
    xl_expr *other = compiled(&w);
    assert_int_equal(builds(), 3);
    xl_expr_destroy(other);
    xl_expr_destroy(e);
    tear_down(&w);
}

/* -- results ---------------------------------------------------------- */

/* The value of a name before its memory exists: n_dims 99 for an error, whose
 * message has `message`. */
static const struct {
    const char *text, *name, *message;
    xl_dtype dtype;
    unsigned n_dims;
    size_t size[3];
} results[] = {
    {"y = exp(x) * s", "y", NULL, XL_F32, 2, {ROWS, COLS}},
    {"y = x > s", "y", NULL, XL_BOOL, 2, {ROWS, COLS}},
    {"y = argmax(x, axis=1)", "y", NULL, XL_I32, 2, {ROWS, 1}},
    {"y = sum(x) * s", "y", NULL, XL_F32, 2, {1, 1}},
    {"x * s", "out", NULL, XL_F32, 2, {ROWS, COLS}},
    {"y = transpose(x) + s", "y", NULL, XL_F32, 2, {COLS, ROWS}},
    {"t = x[2:5, ::3] * s; y = t + 1",
     "t",
     NULL,
     XL_F32,
     2,
     {3, (COLS + 2) / 3}},
    {"x = x + s", "x", NULL, XL_F32, 2, {ROWS, COLS}},
    {"y = x * s", "z", "z", XL_F32, 99, {0}},
    {"x[:2] = x[2:4] * s", "x", "x", XL_F32, 99, {0}},
    {"y = x +* s", "y", "1:8", XL_F32, 99, {0}},
    {"y = x * t", "y", "t", XL_F32, 99, {0}},
};

static void test_result(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, false);
    w.b[Y] = w.b[S]; /* outputs may be omitted */
    w.args.n_bindings = 2;
    test_stub()->reset();
    for (unsigned i = 0; i < sizeof results / sizeof *results; i++) {
        xl_tensor got;
        const bool is_good = results[i].n_dims != 99;
        const xl_status status = xl_expr_result(
            w.t.queue, results[i].text, &w.args, results[i].name, &got);
        const char *detail = xl_error_detail(w.t.queue);
        assert_status(status, is_good ? XL_OK : XL_BAD_ARGUMENT, detail);
        if (!is_good) {
            if (!strstr(detail, results[i].message))
                fail_msg("#%u: \"%s\"", i, detail);
            continue;
        }
        const xl_tensor want = xl_tensor_dense(
            NULL, results[i].dtype, results[i].n_dims, results[i].size);
        if (got.n_dims != want.n_dims || got.dtype != want.dtype)
            fail_msg("#%u: %u dimensions of %s", i, got.n_dims,
                     xl_dtype_name(got.dtype));
        assert_memory_equal(got.size, want.size, sizeof want.size);
        assert_memory_equal(got.stride, want.stride, sizeof want.stride);
        assert_true(!got.mem.buf && !got.mem.svm && got.offset == 0);
    }
    assert_int_equal(builds(), 0);
    assert_int_equal(launches(), 0);
    tear_down(&w);
}

/* -- variants --------------------------------------------------------- */

static void test_names(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, false);
    assert_string_equal(xl_variant_name(w.t.device, "expr", 0), "expr_fused");
    assert_string_equal(xl_variant_name(w.t.device, "expr", 1),
                        "expr_unfused");
    assert_null(xl_variant_name(w.t.device, "expr", 2));
    assert_null(xl_variant_name(w.t.device, "expr", 99));
    tear_down(&w);
}

static void test_forced(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    run_counted(&w, e, 0);
    w.args.variant = "expr_unfused";
    test_stub()->reset();
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_int_equal(launches(), 3); /* exp, *, + */
    xl_expr_destroy(e);
    tear_down(&w);
}

/* A fused kernel that the compiler rejects: logged, and replaced by the
 * unfused variant. */
static void test_fallback(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, false);
    test_stub()->reset();
    test_stub()->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    xl_expr *e = compiled(&w);
    assert_int_equal(w.warnings, 1);
    assert_non_null(strstr(w.warning, "expr_fused cannot be used"));
    assert_non_null(strstr(w.warning, "the next variant is tried"));
    assert_non_null(strstr(w.warning, "this is the build log"));
    test_stub()->reset();
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_int_equal(launches(), 3);
    xl_expr_destroy(e);
    /* A caller that names the variant gets the error. */
    w.text = "y = exp(x) * s - x";
    w.args.variant = "expr_fused";
    e = NULL;
    test_stub()->reset();
    test_stub()->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    assert_status(xl_expr_compile(w.t.queue, w.text, &w.args, &e),
                  XL_BUILD_FAILED, xl_error_detail(w.t.queue));
    assert_null(e);
    tear_down(&w);
}

/* Kernels of the stub do nothing: no variant passes its self-check. */
static void test_untrusted(void **state)
{
    struct world w;
    xl_expr *e = NULL;

    (void)state;
    set_up(&w, true);
    assert_status(xl_expr_compile(w.t.queue, w.text, &w.args, &e),
                  XL_UNTRUSTED, xl_error_detail(w.t.queue));
    assert_null(e);
    assert_int_equal(w.warnings, 2);
    assert_non_null(strstr(xl_error_detail(w.t.queue), ": y(0) of"));
    /* The result is stored: no second self-check. */
    test_stub()->reset();
    assert_status(xl_expr_compile(w.t.queue, w.text, &w.args, &e),
                  XL_UNTRUSTED, xl_error_detail(w.t.queue));
    assert_int_equal(launches(), 0);
    assert_non_null(strstr(xl_error_detail(w.t.queue), "on this driver before"));
    assert_non_null(strstr(xl_error_detail(w.t.queue), ": y(0) of"));
    tear_down(&w);
}

/* -- queues and events ------------------------------------------------ */

static void test_events(void **state)
{
    struct world w;
    cl_event first = NULL, second = NULL;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    xl_sync sync = {XL_SYNC_INIT, .done = &first};
    assert_status(xl_expr_run(w.t.queue, e, &w.args, &sync), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_non_null(first);
    sync =
        (xl_sync){XL_SYNC_INIT, .n_wait = 1, .wait = &first, .done = &second};
    w.args.variant = "expr_unfused";
    assert_status(xl_expr_run(w.t.queue, e, &w.args, &sync), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    clReleaseEvent(first);
    clReleaseEvent(second);
    xl_expr_destroy(e);
    tear_down(&w);
}

/* The caller's own queue, out of order: each call has scratch of its own. */
static void test_wrapped(void **state)
{
    struct world w;
    cl_int code;
    xl_queue *q = NULL;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    cl_command_queue native = clCreateCommandQueue(
        xl_queue_context(w.t.queue), xl_device_cl(w.t.device),
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_status(xl_queue_wrap(w.t.lib, native, &q), XL_OK,
                  xl_lib_error(w.t.lib));
    w.args.variant = "expr_unfused";
    for (unsigned i = 0; i < 3; i++) {
        test_stub()->reset();
        assert_status(xl_expr_run(q, e, &w.args, NULL), XL_OK,
                      xl_error_detail(q));
        assert_int_equal(launches(), 3);
        assert_int_equal(test_stub()->calls("clCreateBuffer"), 1);
    }
    xl_queue_destroy(q);
    clReleaseCommandQueue(native);
    xl_expr_destroy(e);
    tear_down(&w);
}

static void test_workspace(void **state)
{
    struct world w;
    size_t bytes = 1;
    cl_mem scratch, small_buffer;
    cl_int code;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    assert_status(xl_expr_workspace(w.t.queue, e, &w.args, &bytes), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_int_equal(bytes, 0);
    w.args.variant = "expr_unfused";
    assert_status(xl_expr_workspace(w.t.queue, e, &w.args, &bytes), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_in_range(bytes, BYTES, 4 * BYTES);
    scratch = clCreateBuffer(xl_queue_context(w.t.queue), CL_MEM_READ_WRITE,
                             bytes, NULL, &code);
    small_buffer = clCreateBuffer(xl_queue_context(w.t.queue),
                                  CL_MEM_READ_WRITE, bytes - 1, NULL, &code);
    w.args.workspace.buf = small_buffer;
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL),
                  XL_BUFFER_TOO_SMALL, xl_error_detail(w.t.queue));
    w.args.workspace.buf = scratch;
    test_stub()->reset();
    assert_status(xl_expr_run(w.t.queue, e, &w.args, NULL), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_int_equal(test_stub()->calls("clCreateBuffer"), 0);
    clReleaseMemObject(scratch);
    clReleaseMemObject(small_buffer);
    xl_expr_destroy(e);
    tear_down(&w);
}

/* One expression, a queue for each thread. */
struct runner {
    struct world *w;
    const xl_expr *e;
    xl_status status;
};

static void *run_many(void *arg)
{
    enum { TIMES = 200 };
    struct runner *r = arg;
    xl_queue *q = NULL;
    xl_expr_args args = r->w->args;
    xl_binding b[3];
    memcpy(b, r->w->b, sizeof b);
    args.bindings = b;
    r->status = xl_queue_create_beside(r->w->t.queue, &q);
    for (unsigned i = 0; i < TIMES && r->status == XL_OK; i++) {
        b[X].tensor.size[0] = b[Y].tensor.size[0] = 1 + i % ROWS;
        r->status = xl_expr_run(q, r->e, &args, NULL);
    }
    xl_queue_destroy(q);
    return NULL;
}

static void test_threads(void **state)
{
    enum { THREADS = 4 };
    struct world w;
    pthread_t thread[THREADS];
    struct runner r[THREADS];

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    for (unsigned i = 0; i < THREADS; i++) {
        r[i] = (struct runner){&w, e, XL_OK};
        assert_int_equal(pthread_create(&thread[i], NULL, run_many, &r[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_status(r[i].status, XL_OK, "a thread");
    }
    xl_expr_destroy(e);
    tear_down(&w);
}

/* -- explaining ------------------------------------------------------- */

static void test_explain(void **state)
{
    struct world w;
    xl_choice choice[4];
    unsigned n = 0;

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    assert_status(xl_expr_explain(w.t.queue, e, &w.args, choice, 4, &n),
                  XL_OK, xl_error_detail(w.t.queue));
    assert_int_equal(n, 2);
    assert_string_equal(choice[0].variant, "expr_fused");
    assert_true(choice[0].chosen && !choice[1].chosen);
    assert_int_equal(choice[0].n_steps, 1);
    assert_int_equal(choice[1].n_steps, 3);
    /* x read and y written, or at least twice that. */
    assert_true(choice[0].bytes == 2.0 * BYTES);
    assert_true(choice[1].bytes == 7.0 * BYTES);
    assert_non_null(strstr(choice[1].why, "times the chosen one's"));
    xl_expr_destroy(e);
    tear_down(&w);
}

struct heard { unsigned n; char text[256]; };

static void record_kernel(const xl_expr_kernel *k, void *heard)
{
    struct heard *h = heard;
    assert_non_null(strstr(k->source, k->name));
    assert_true(k->why[0] != '\0' && k->global[0] > 0 && k->wg[0] > 0);
    if (h->n++ == 0)
        snprintf(h->text, sizeof h->text, "%s", k->computes);
}

static void test_kernels(void **state)
{
    struct world w;
    struct heard h = {0};

    (void)state;
    set_up(&w, false);
    xl_expr *e = compiled(&w);
    test_stub()->reset();
    assert_status(xl_expr_kernels(w.t.queue, e, &w.args, record_kernel, &h),
                  XL_OK, xl_error_detail(w.t.queue));
    assert_int_equal(h.n, 1);
    assert_string_equal(h.text, "y = exp(x) * s + x");
    w.args.variant = "expr_unfused";
    h.n = 0;
    assert_status(xl_expr_kernels(w.t.queue, e, &w.args, record_kernel, &h),
                  XL_OK, xl_error_detail(w.t.queue));
    assert_int_equal(h.n, 3);
    assert_int_equal(builds(), 0);
    xl_expr_destroy(e);
    tear_down(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_two_outputs),
        cmocka_unit_test(test_other_memory),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_untrusted),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_kernels),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
