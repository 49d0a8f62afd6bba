/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers larger than a driver's largest allocation, on stubs of three
 * vendors: where the vendor table says so, a flag of the buffer and a build
 * option of the programs that have one as an argument; else neither. */
#include <stdint.h>
#include <string.h>

#include <crosslane/expr.h>

#include "runtime/buffer.h"
#include "runtime/context.h"
#include "support/support.h"

#define GIB ((size_t)1 << 30)
enum { SIDE = 64, SMALL_BYTES = 1 << 20, N_DEVICES = 3 };

static const xl_options no_check = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                    .cache_dir = ""};

struct fixture {
    xl_lib *lib;
    xl_queue *q;
    const struct xl__large_buffers *how; /* NULL: nothing is needed */
    cl_mem small, large;
    xl_gemm gemm; /* of `small` alone */
};

static bool has_flag(const struct fixture *f, cl_mem mem)
{
    cl_mem_flags flags = 0;
    assert_int_equal(
        clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL),
        CL_SUCCESS);
    return f->how && (flags & f->how->flags);
}

/* Programs of the queue's context; with the option, or all of `file`. */
static unsigned count_programs(const struct fixture *f, const char *file,
                               bool with_option)
{
    unsigned n = 0;
    for (const struct xl__program *p = f->q->ctx->programs; p; p = p->next)
        n +=
            strstr(p->key, file) &&
            (!with_option || (f->how && strstr(p->key, f->how->build_option)));
    return n;
}

static void set_up(struct fixture *f, const xl_options *options, unsigned i)
{
    memset(f, 0, sizeof *f);
    assert_status(xl_open(options, &f->lib), XL_OK, "xl_open");
    xl_device *dev = xl_device_at(f->lib, i);
    assert_status(xl_queue_create(f->lib, dev, &f->q), XL_OK,
                  xl_lib_error(f->lib));
    f->how = dev->vendor->large_buffers;
    assert_status(xl_buffer_create(f->q, SMALL_BYTES, &f->small), XL_OK,
                  xl_error_detail(f->q));
    assert_status(xl_buffer_create(f->q, 5 * GIB, &f->large), XL_OK,
                  xl_error_detail(f->q));
    f->gemm = (xl_gemm){XL_GEMM_INIT,
                        .m = SIDE,
                        .n = SIDE,
                        .k = SIDE,
                        .alpha = 1,
                        .variant = "gemm_tiled",
                        .a = xl_mat_rows(f->small, SIDE, XL_F32),
                        .b = xl_mat_rows(f->small, SIDE, XL_F32),
                        .c = xl_mat_rows(f->small, SIDE, XL_F32)};
    f->gemm.b.offset = SIDE * SIDE;
    f->gemm.c.offset = 2 * SIDE * SIDE;
}

static void tear_down(struct fixture *f)
{
    xl__buffer_release(f->small);
    xl__buffer_release(f->large);
    xl_queue_destroy(f->q);
    xl_close(f->lib);
    if (test_stub()->live() != 0)
        fail_msg("alive: %s", test_stub()->live_text());
}

static void run_gemm(const struct fixture *f, const xl_gemm *g)
{
    assert_status(xl_gemm_run(f->q, g, NULL), XL_OK, xl_error_detail(f->q));
}

/* Calls of the same shape: with small buffers, with a large one as an operand,
 * as the workspace, and with small ones again. */
static void check_gemm(const struct fixture *f)
{
    static const char file[] = "source gemm/tiled.cl";
    const unsigned more = f->how ? 1 : 0;
    xl_gemm g = f->gemm;
    run_gemm(f, &g);
    assert_int_equal(count_programs(f, file, true), 0);
    assert_int_equal(count_programs(f, file, false), 1);
    g.a.mem.buf = f->large;
    run_gemm(f, &g);
    run_gemm(f, &g);
    assert_int_equal(count_programs(f, file, true), more);
    assert_int_equal(count_programs(f, file, false), 1 + more);
    g = f->gemm;
    g.workspace.buf = f->large;
    run_gemm(f, &g);
    run_gemm(f, &f->gemm);
    assert_int_equal(count_programs(f, file, false), 1 + more);
}

/* Without memory the sizes say whether a buffer will be large. */
static void check_prepare(const struct fixture *f)
{
    static const char file[] = "source gemm/reference.cl";
    xl_gemm g = f->gemm;
    g.variant = "gemm_ref";
    g.a = xl_mat_rows(NULL, SIDE, XL_F32);
    g.b = g.c = g.a;
    assert_status(xl_gemm_prepare(f->q, &g), XL_OK, xl_error_detail(f->q));
    assert_int_equal(count_programs(f, file, true), 0);
    g.a.row_stride = GIB / SIDE * 2; /* 8 GiB */
    assert_status(xl_gemm_prepare(f->q, &g), XL_OK, xl_error_detail(f->q));
    assert_int_equal(count_programs(f, file, true), f->how ? 1 : 0);
}

static void check_others(const struct fixture *f)
{
    const size_t n = SIDE;
    xl_expr *e = NULL;
    const xl_binding names[] = {
        {.name = "x", .tensor = xl_tensor_dense(f->small, XL_F32, 1, &n)},
        {.name = "y", .tensor = xl_tensor_dense(f->large, XL_F32, 1, &n)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = names,
                               .n_bindings = 2};
    const unsigned all = count_programs(f, "source ", true);
    assert_status(xl_buffer_fill(f->q, f->large, 0, 1, n), XL_OK,
                  xl_error_detail(f->q));
    assert_int_equal(count_programs(f, "source common/fill.cl", true),
                     f->how ? 1 : 0);
    assert_status(xl_expr_compile(f->q, "y = 2 * x", &args, &e), XL_OK,
                  xl_error_detail(f->q));
    assert_status(xl_expr_run(f->q, e, &args, NULL), XL_OK,
                  xl_error_detail(f->q));
    assert_int_equal(count_programs(f, "source ", true), f->how ? all + 2 : 0);
    xl_expr_destroy(e);
}

static void test_calls(void **state)
{
    (void)state;
    unsigned n_needed = 0;
    for (unsigned i = 0; i < N_DEVICES; i++) {
        struct fixture f;
        set_up(&f, &no_check, i);
        assert_false(has_flag(&f, f.small));
        assert_int_equal(has_flag(&f, f.large), f.how != NULL);
        check_gemm(&f);
        check_prepare(&f);
        check_others(&f);
        n_needed += f.how != NULL;
        tear_down(&f);
    }
    assert_int_equal(n_needed, 1);
}

/* The largest allocation that is used, and that the driver states. */
static void test_largest(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_DEVICES; i++) {
        struct fixture f;
        set_up(&f, &no_check, i);
        const struct xl__limits *l = &f.q->ctx->device->limits;
        const double stated = l->queried[XL__F_max_alloc_bytes].value;
        assert_true(xl__num(l, XL__F_max_alloc_bytes) ==
                    (f.how ? xl__num(l, XL__F_global_mem_bytes) : stated));
        assert_false(xl__buffer_is_large(f.q->ctx->device, 4 * GIB - 8192));
        assert_int_equal(xl__buffer_is_large(f.q->ctx->device, 4 * GIB),
                         f.how != NULL);
        tear_down(&f);
    }
}

/* The case of the self-check takes the program that it is for: the stub
 * computes nothing, so that the result is wrong, but there is one. */
static void test_selfcheck(void **state)
{
    (void)state;
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = ""};
    for (unsigned i = 0; i < N_DEVICES; i++) {
        struct fixture f;
        set_up(&f, &options, i);
        f.gemm.a.mem.buf = f.large;
        assert_status(xl_gemm_run(f.q, &f.gemm, NULL), XL_UNTRUSTED,
                      xl_error_detail(f.q));
        tear_down(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_selfcheck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
