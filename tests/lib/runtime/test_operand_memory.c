/* SPDX-License-Identifier: Apache-2.0 */
/* Where the operands of a call lie, on the stub driver: what may overlap,
 * memory of the application's own at any alignment, the size that an operand
 * states, memory of another context, and the driver queries of a warm call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/expr.h>

#include "support/support.h"

enum { SIDE = 16, MEMS = 3, BYTES = 1 << 20 };

struct fixture {
    struct test_device t;
    cl_mem mem[MEMS];
    xl_gemm gemm;
    long before; /* objects that were alive */
};

static cl_mem make_buffer(const struct fixture *f, size_t bytes)
{
    cl_mem mem = NULL;
    assert_status(xl_buffer_create(f->t.queue, bytes, &mem), XL_OK,
                  xl_error_detail(f->t.queue));
    return mem;
}

static void set_up(struct fixture *f)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    memset(f, 0, sizeof *f);
    f->before = test_stub()->live();
    test_device_open(&f->t, &options);
    for (unsigned i = 0; i < MEMS; i++)
        f->mem[i] = make_buffer(f, BYTES);
    f->gemm = (xl_gemm){XL_GEMM_INIT,
                        .m = SIDE,
                        .n = SIDE,
                        .k = SIDE,
                        .alpha = 1,
                        .a = xl_mat_rows(f->mem[0], SIDE, XL_F32),
                        .b = xl_mat_rows(f->mem[1], SIDE, XL_F32),
                        .c = xl_mat_rows(f->mem[2], SIDE, XL_F32)};
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i < MEMS; i++)
        clReleaseMemObject(f->mem[i]);
    test_device_close(&f->t);
    if (test_stub()->live() != f->before)
        fail_msg("alive: %s", test_stub()->live_text());
}

/* The status, and a message that has `part` in it. */
static void expect(const struct fixture *f, xl_status got, xl_status status,
                   const char *part)
{
    const char *detail = xl_error_detail(f->t.queue);
    assert_status(got, status, detail);
    if (*part && !strstr(detail, part))
        fail_msg("\"%s\" does not say \"%s\"", detail, part);
}

static void run_gemm(const struct fixture *f, const xl_gemm *g,
                     xl_status status, const char *part)
{
    expect(f, xl_gemm_run(f->t.queue, g, NULL), status, part);
}

static cl_mem make_sub_buffer(cl_mem parent, size_t origin, size_t bytes)
{
    const cl_buffer_region region = {origin, bytes};
    cl_int code;
    cl_mem mem =
        clCreateSubBuffer(parent, CL_MEM_READ_WRITE,
                          CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

/* Memory of the application's own. */
static cl_mem wrap_memory(const struct fixture *f, void *at, size_t bytes)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(xl_queue_context(f->t.queue),
                                CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                at, &code);
    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

static unsigned long count_queries(void)
{
    return test_stub()->calls("clGetMemObjectInfo") +
           test_stub()->calls("clGetContextInfo") +
           test_stub()->calls("clGetCommandQueueInfo") +
           test_stub()->calls("clGetDeviceInfo");
}

/* -- driver queries ------------------------------------------------------- */

static void warm_queries(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    run_gemm(&f, &f.gemm, XL_OK, "");
    for (unsigned i = 0; i < 3; i++) {
        test_stub()->reset();
        run_gemm(&f, &f.gemm, XL_OK, "");
        assert_in_range(count_queries(), 1, 6);
    }
    tear_down(&f);
}

/* -- workspaces ----------------------------------------------------------- */

/* A workspace in the memory of each operand, and beside one. */
static void in_gemm(void **state)
{
    enum { DEPTH = 8192 };
    struct fixture f;
    size_t bytes = 0;
    const size_t size[2] = {SIDE, SIDE};
    (void)state;
    set_up(&f);
    cl_mem own = make_buffer(&f, BYTES);
    const xl_binding bias = {.name = "r",
                             .tensor = xl_tensor_dense(own, XL_F32, 2, size)};
    xl_gemm g = f.gemm;
    g.k = g.a.row_stride = DEPTH;
    g.epilogue = (xl_epilogue){"y + r", &bias, 1};
    expect(&f, xl_gemm_workspace(f.t.queue, &g, &bytes), XL_OK, "");
    assert_in_range(bytes, 1, BYTES);
    g.workspace.buf = f.mem[0];
    run_gemm(&f, &g, XL_OVERLAP, "A overlaps the workspace");
    g.workspace.buf = f.mem[1];
    run_gemm(&f, &g, XL_OVERLAP, "B overlaps the workspace");
    g.workspace.buf = f.mem[2];
    run_gemm(&f, &g, XL_OVERLAP, "C overlaps the workspace");
    g.workspace.buf = own;
    run_gemm(&f, &g, XL_OVERLAP, "r overlaps the workspace");
    g.workspace.buf = make_sub_buffer(own, SIDE * SIDE * sizeof(float), bytes);
    run_gemm(&f, &g, XL_OK, "");
    clReleaseMemObject(g.workspace.buf);
    g.workspace.buf = make_sub_buffer(own, 0, bytes);
    run_gemm(&f, &g, XL_OVERLAP, "r overlaps the workspace");
    clReleaseMemObject(g.workspace.buf);
    char *host = aligned_alloc(128, BYTES);
    assert_non_null(host);
    g.workspace.buf = wrap_memory(&f, host + 64, BYTES / 2);
    run_gemm(&f, &g, XL_BAD_ARGUMENT, "not a multiple of 128");
    clReleaseMemObject(g.workspace.buf);
    free(host);
    clReleaseMemObject(own);
    tear_down(&f);
}

static void in_softmax(void **state)
{
    enum { COLS = 60000 };
    struct fixture f;
    size_t bytes = 0;
    (void)state;
    set_up(&f);
    xl_softmax s = {XL_SOFTMAX_INIT,
                    .rows = 1,
                    .cols = COLS,
                    .src = xl_mat_rows(f.mem[0], COLS, XL_F32),
                    .dst = xl_mat_rows(f.mem[1], COLS, XL_F32),
                    .mask = xl_mat_rows(f.mem[2], COLS, XL_F32)};
    expect(&f, xl_softmax_workspace(f.t.queue, &s, &bytes), XL_OK, "");
    assert_in_range(bytes, 1, BYTES);
    static const char *const names[MEMS] = {"src", "dst", "mask"};
    for (unsigned i = 0; i < MEMS; i++) {
        char part[64];
        s.workspace.buf = f.mem[i];
        snprintf(part, sizeof part, "%s overlaps the workspace", names[i]);
        expect(&f, xl_softmax_run(f.t.queue, &s, NULL), XL_OVERLAP, part);
    }
    tear_down(&f);
}

/* -- views ---------------------------------------------------------------- */

/* The lines of an input overlap: a leading dimension that is too short. */
static void short_lines(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    xl_gemm g = f.gemm;
    g.a.row_stride = SIDE - 1;
    run_gemm(&f, &g, XL_OVERLAP, "A overlaps itself");
    g = f.gemm;
    g.b = xl_mat_cols(f.mem[1], 3, XL_F32);
    run_gemm(&f, &g, XL_OVERLAP, "B overlaps itself");
    expect(&f, xl_gemm_prepare(f.t.queue, &g), XL_OVERLAP, "B");
    g.b.col_stride = 0; /* one column, repeated */
    run_gemm(&f, &g, XL_OK, "");
    g.a.row_stride = 0;
    run_gemm(&f, &g, XL_OK, "");
    g = f.gemm; /* one row has no stride between rows */
    g.m = 1;
    g.a.row_stride = 3;
    run_gemm(&f, &g, XL_OK, "");
    tear_down(&f);
}

/* Records [A_i, B_i, C_i] of one buffer at one step. */
static void records(void **state)
{
    enum { EACH = SIDE * SIDE, STEP = 3 * EACH };
    struct fixture f;
    (void)state;
    set_up(&f);
    xl_gemm g = f.gemm;
    g.b.mem = g.c.mem = g.a.mem;
    g.b.offset = EACH;
    g.c.offset = 2 * EACH;
    g.batch =
        (xl_batch){.count = 5, .a_step = STEP, .b_step = STEP, .c_step = STEP};
    run_gemm(&f, &g, XL_OK, "");
    g.c.offset--;
    run_gemm(&f, &g, XL_OVERLAP, "C overlaps B");
    g.c.offset += 2; /* into A of the next record */
    run_gemm(&f, &g, XL_OVERLAP, "C overlaps A");
    g.c.offset--;
    g.batch.a_step = 2 * STEP;
    run_gemm(&f, &g, XL_OK, "");
    g.batch.a_step = EACH; /* crosses the others */
    run_gemm(&f, &g, XL_OVERLAP, "C overlaps A");
    tear_down(&f);
}

/* An epilogue of one product reads what another one writes. */
static void group_operands(void **state)
{
    static const size_t size[2] = {SIDE, SIDE};
    struct fixture f;
    (void)state;
    set_up(&f);
    xl_gemm g[2] = {f.gemm, f.gemm};
    g[1].c.offset = SIDE * SIDE;
    xl_binding old = {.name = "r",
                      .tensor = xl_tensor_dense(f.mem[2], XL_F32, 2, size)};
    g[1].epilogue = (xl_epilogue){"y + r", &old, 1};
    expect(&f, xl_gemm_run_group(f.t.queue, g, 2, NULL), XL_OVERLAP,
           "C of product 0 overlaps r of product 1");
    const xl_gemm first = g[0];
    g[0] = g[1];
    g[1] = first;
    expect(&f, xl_gemm_run_group(f.t.queue, g, 2, NULL), XL_OVERLAP,
           "C of product 1 overlaps r of product 0");
    old.tensor.offset = SIDE * SIDE; /* its own C */
    expect(&f, xl_gemm_run_group(f.t.queue, g, 2, NULL), XL_OK, "");
    tear_down(&f);
}

/* Sub-buffers are regions of their parents, also where a handle that the queue
 * met before is used again for another buffer. */
static void sub_buffers(void **state)
{
    enum { EACH = SIDE * SIDE * sizeof(float) };
    struct fixture f;
    (void)state;
    set_up(&f);
    xl_gemm g = f.gemm;
    g.c.mem.buf = make_sub_buffer(f.mem[0], EACH, EACH);
    run_gemm(&f, &g, XL_OK, "");
    clReleaseMemObject(g.c.mem.buf);
    g.c.mem.buf = make_buffer(&f, EACH);
    run_gemm(&f, &g, XL_OK, "");
    clReleaseMemObject(g.c.mem.buf);
    g.c.mem.buf = make_sub_buffer(f.mem[0], EACH / 2, EACH);
    run_gemm(&f, &g, XL_OVERLAP, "C overlaps A");
    clReleaseMemObject(g.c.mem.buf);
    tear_down(&f);
}

/* -- the application's memory --------------------------------------------- */

/* Whether a softmax in the memory takes a program that was not built yet. */
static bool builds_anew(const struct fixture *f, cl_mem src, size_t offset)
{
    xl_softmax s = {XL_SOFTMAX_INIT, .rows = SIDE, .cols = 64,
                    .src = xl_mat_rows(src, 64, XL_F32),
                    .dst = xl_mat_rows(f->mem[1], 64, XL_F32)};
    s.src.offset = offset;
    test_stub()->reset();
    expect(f, xl_softmax_run(f->t.queue, &s, NULL), XL_OK, "");
    return test_stub()->calls("clCreateProgramWithSource") > 0;
}

/* Alignments are those of the memory, not of the offset in it. */
static void host_alignment(void **state)
{
    enum { LENGTH = SIDE * 64 * sizeof(float), ALIGNED = 128 };
    struct fixture f;
    (void)state;
    set_up(&f);
    char *host = aligned_alloc(ALIGNED, LENGTH + 2 * ALIGNED);
    assert_non_null(host);
    assert_true(builds_anew(&f, f.mem[0], 0));
    cl_mem mem = wrap_memory(&f, host, LENGTH + ALIGNED);
    assert_false(builds_anew(&f, mem, 0));
    clReleaseMemObject(mem);
    /* Probably the same handle, of the same size. */
    mem = wrap_memory(&f, host + sizeof(float), LENGTH + ALIGNED);
    assert_true(builds_anew(&f, mem, 0));
    cl_mem half = make_sub_buffer(mem, ALIGNED, LENGTH);
    assert_false(builds_anew(&f, half, 0));
    clReleaseMemObject(half);
    clReleaseMemObject(mem);
    assert_false(builds_anew(&f, f.mem[0], 1)); /* the same alignment */
    free(host);
    tear_down(&f);
}

static void host_memory(void **state)
{
    enum { EACH = SIDE * SIDE * sizeof(float) };
    struct fixture f;
    (void)state;
    set_up(&f);
    char *host = aligned_alloc(128, 4 * EACH);
    assert_non_null(host);
    xl_gemm g = f.gemm;
    g.a.mem.buf = wrap_memory(&f, host + 2, EACH);
    run_gemm(&f, &g, XL_BAD_ARGUMENT, "A: the address of its memory is not a");
    clReleaseMemObject(g.a.mem.buf);
    g.a.mem.buf = wrap_memory(&f, host, EACH);
    g.c.mem.buf = wrap_memory(&f, host + EACH / 2, EACH);
    run_gemm(&f, &g, XL_OVERLAP, "C overlaps A");
    clReleaseMemObject(g.c.mem.buf);
    g.c.mem.buf = wrap_memory(&f, host + EACH, EACH);
    run_gemm(&f, &g, XL_OK, "");
    clReleaseMemObject(g.c.mem.buf);
    clReleaseMemObject(g.a.mem.buf);
    free(host);
    tear_down(&f);
}

/* -- the size that an operand states ---------------------------------------
 */

typedef xl_status run_op(xl_queue *q, const void *desc);

static xl_status gemm_op(xl_queue *q, const void *desc)
{
    return xl_gemm_run(q, desc, NULL);
}

static xl_status softmax_op(xl_queue *q, const void *desc)
{
    return xl_softmax_run(q, desc, NULL);
}

static xl_status conv_op(xl_queue *q, const void *desc)
{
    return xl_conv_run(q, desc, NULL);
}

static xl_status expr_op(xl_queue *q, const void *desc)
{
    const xl_expr_args *args = desc;
    xl_expr *e = NULL;
    xl_status status = xl_expr_compile(q, "y = sum(exp(x)) + x", args, &e);
    if (status == XL_OK)
        status = xl_expr_run(q, e, args, NULL);
    xl_expr_destroy(e);
    return status;
}

/* One operand, in a buffer and in SVM: `needs` bytes suffice, a byte less does
 * not, and neither do more than the buffer has. */
static void check_bytes(const struct fixture *f, run_op *run, const void *desc,
                        xl_mem *mem, size_t needs, const char *name)
{
    const xl_mem buffer = *mem;
    const cl_context context = xl_queue_context(f->t.queue);
    void *svm = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    assert_non_null(svm);
    for (unsigned is_svm = 0; is_svm < 2; is_svm++) {
        *mem = is_svm ? (xl_mem){.svm = svm} : buffer;
        mem->bytes = needs;
        expect(f, run(f->t.queue, desc), XL_OK, "");
        mem->bytes = needs - 1;
        test_stub()->reset();
        expect(f, run(f->t.queue, desc), XL_BUFFER_TOO_SMALL, name);
        assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), 0);
    }
    *mem = buffer;
    mem->bytes = BYTES + 1;
    expect(f, run(f->t.queue, desc), XL_BUFFER_TOO_SMALL, name);
    *mem = buffer;
    clSVMFree(context, svm);
}

static void bytes_of_gemm(void **state)
{
    enum { DEPTH = 8192, AT = 3, COUNT = 2 };
    const size_t size[1] = {SIDE}, word = sizeof(float);
    struct fixture f;
    size_t bytes = 0;
    (void)state;
    set_up(&f);
    cl_mem own = make_buffer(&f, BYTES), scratch = make_buffer(&f, BYTES);
    xl_binding bias = {.name = "r",
                       .tensor = xl_tensor_dense(own, XL_F32, 1, size)};
    xl_gemm g = f.gemm;
    g.k = g.a.row_stride = DEPTH;
    g.a.offset = AT;
    g.epilogue = (xl_epilogue){"y + r", &bias, 1};
    g.workspace.buf = scratch;
    expect(&f, xl_gemm_workspace(f.t.queue, &g, &bytes), XL_OK, "");
    assert_in_range(bytes, 1, BYTES);
    check_bytes(&f, gemm_op, &g, &g.a.mem, (AT + SIDE * DEPTH) * word, "A ");
    check_bytes(&f, gemm_op, &g, &g.b.mem, DEPTH * SIDE * word, "B ");
    check_bytes(&f, gemm_op, &g, &g.c.mem, SIDE * SIDE * word, "C ");
    check_bytes(&f, gemm_op, &g, &bias.tensor.mem, SIDE * word, "r ");
    check_bytes(&f, gemm_op, &g, &g.workspace, bytes, "the workspace ");
    g = f.gemm; /* products by steps, and by lists */
    const cl_ulong at[COUNT] = {SIDE * SIDE, 0};
    g.batch = (xl_batch){.count = COUNT, .c_step = SIDE * SIDE};
    check_bytes(&f, gemm_op, &g, &g.c.mem, COUNT * SIDE * SIDE * word, "C ");
    g.batch = (xl_batch){.count = COUNT, .a_at = at, .b_at = at, .c_at = at};
    check_bytes(&f, gemm_op, &g, &g.b.mem, COUNT * SIDE * SIDE * word, "B ");
    g = f.gemm;
    g.a.mem.bytes = 1; /* what is given is located ahead of time too */
    expect(&f, xl_gemm_prepare(f.t.queue, &g), XL_BUFFER_TOO_SMALL, "A ");
    expect(&f, xl_gemm_run_group(f.t.queue, &g, 1, NULL), XL_BUFFER_TOO_SMALL,
           "A ");
    clReleaseMemObject(own);
    clReleaseMemObject(scratch);
    tear_down(&f);
}

static void bytes_of_others(void **state)
{
    enum { IMAGE = 8, FILTER = 3, INNER = IMAGE - FILTER + 1 };
    const size_t size[2] = {SIDE, SIDE}, whole = SIDE * SIDE * sizeof(float);
    struct fixture f;
    (void)state;
    set_up(&f);
    xl_softmax s = {XL_SOFTMAX_INIT,
                    .rows = SIDE,
                    .cols = SIDE,
                    .src = xl_mat_rows(f.mem[0], SIDE, XL_F32),
                    .dst = xl_mat_rows(f.mem[1], SIDE, XL_F32),
                    .mask = xl_mat_rows(f.mem[2], 0, XL_F32)};
    check_bytes(&f, softmax_op, &s, &s.src.mem, whole, "src ");
    check_bytes(&f, softmax_op, &s, &s.dst.mem, whole, "dst ");
    check_bytes(&f, softmax_op, &s, &s.mask.mem, whole / SIDE, "mask ");
    xl_conv c = {XL_CONV_INIT,
                 .n = 1,
                 .c = 2,
                 .h = IMAGE,
                 .w = IMAGE,
                 .k = 4,
                 .r = FILTER,
                 .s = FILTER,
                 .in = {.mem = {.buf = f.mem[0]}, .dtype = XL_F32},
                 .filters = {.mem = {.buf = f.mem[1]}, .dtype = XL_F32},
                 .out = {.mem = {.buf = f.mem[2]}, .dtype = XL_F32},
                 .alpha = 1};
    check_bytes(&f, conv_op, &c, &c.in.mem, sizeof(float[2][IMAGE][IMAGE]),
                "in ");
    check_bytes(&f, conv_op, &c, &c.filters.mem,
                sizeof(float[4][2][FILTER][FILTER]), "filters ");
    check_bytes(&f, conv_op, &c, &c.out.mem, sizeof(float[4][INNER][INNER]),
                "out ");
    xl_binding b[2] = {
        {.name = "x", .tensor = xl_tensor_dense(f.mem[0], XL_F32, 2, size)},
        {.name = "y", .tensor = xl_tensor_dense(f.mem[1], XL_F32, 2, size)}};
    xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b, .n_bindings = 2};
    check_bytes(&f, expr_op, &args, &b[0].tensor.mem, whole, "x ");
    check_bytes(&f, expr_op, &args, &b[1].tensor.mem, whole, "y ");
    tear_down(&f);
}

/* -- another context ------------------------------------------------------ */

static void other_context(void **state)
{
    static const size_t size[1] = {SIDE};
    static const char part[] = "belongs to another cl_context";
    struct fixture f;
    xl_queue *other;
    cl_mem foreign = NULL;
    xl_expr *e = NULL;
    (void)state;
    set_up(&f);
    assert_status(xl_queue_create(f.t.lib, f.t.device, &other), XL_OK,
                  xl_lib_error(f.t.lib));
    assert_status(xl_buffer_create(other, BYTES, &foreign), XL_OK,
                  xl_error_detail(other));
    for (unsigned i = 0; i < MEMS; i++) {
        xl_gemm g = f.gemm;
        run_gemm(&f, &g, XL_OK, "");
        (i == 0 ? &g.a : i == 1 ? &g.b : &g.c)->mem.buf = foreign;
        run_gemm(&f, &g, XL_BAD_ARGUMENT, part);
        run_gemm(&f, &g, XL_BAD_ARGUMENT, part); /* again */
    }
    xl_binding b[2] = {
        {.name = "x", .tensor = xl_tensor_dense(f.mem[0], XL_F32, 1, size)},
        {.name = "y", .tensor = xl_tensor_dense(f.mem[1], XL_F32, 1, size)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    expect(&f, xl_expr_compile(f.t.queue, "y = x + 1", &args, &e), XL_OK, "");
    b[0].tensor.mem.buf = foreign;
    expect(&f, xl_expr_run(f.t.queue, e, &args, NULL), XL_BAD_ARGUMENT, part);
    xl_expr_destroy(e);
    clReleaseMemObject(foreign);
    xl_queue_destroy(other);
    tear_down(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_queries),    cmocka_unit_test(in_gemm),
        cmocka_unit_test(in_softmax),      cmocka_unit_test(short_lines),
        cmocka_unit_test(records),         cmocka_unit_test(group_operands),
        cmocka_unit_test(sub_buffers),     cmocka_unit_test(host_alignment),
        cmocka_unit_test(host_memory),     cmocka_unit_test(bytes_of_gemm),
        cmocka_unit_test(bytes_of_others), cmocka_unit_test(other_context),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("operand_memory", tests, NULL, NULL);
}
