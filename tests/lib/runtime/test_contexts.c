/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of two and three devices, like and unlike, on the stub driver: a
 * program is built, kept and loaded for the device of its queue. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "support/support.h"

enum { N_DEVICES = 3 }; /* of the job's platform: H200, MI300X, H200 */

#define TEXT(target)                                                          \
    ".version 9.0\n.target " target "\n.entry gemm_ref(\n)\n{\n\tret;\n}\n"
#define CLEAN                                                                 \
    "ptxas info    : Function properties for gemm_ref\n"                      \
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"    \
    "ptxas info    : Used 168 registers, used 0 barriers\n"

/* A library and a queue in a context of several devices. */
struct world {
    xl_lib *lib;
    cl_context context;
    cl_command_queue native;
    xl_queue *queue;
    struct xl__program *program;
    struct xl__error error;
};

/* The devices of a context, by their index, and the one of the queue. */
struct shape {
    cl_uint n, device[N_DEVICES], own;
};

static void find_devices(cl_device_id device[N_DEVICES])
{
    cl_platform_id platform;
    cl_uint n;
    assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, N_DEVICES, device, &n),
        CL_SUCCESS);
    assert_int_equal(n, N_DEVICES);
}

/* Another process, as far as the library can tell. */
static void begin(struct world *w, const struct shape *s, const char *dir)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = dir};
    cl_device_id all[N_DEVICES], device[N_DEVICES];
    cl_int code;
    memset(w, 0, sizeof *w);
    find_devices(all);
    for (cl_uint i = 0; i < s->n; i++)
        device[i] = all[s->device[i]];
    w->context = clCreateContext(NULL, s->n, device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    w->native = clCreateCommandQueue(w->context, device[s->own], 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(xl_open(&options, &w->lib), XL_OK);
    assert_status(xl_queue_wrap(w->lib, w->native, &w->queue), XL_OK,
                  xl_lib_error(w->lib));
    test_stub()->reset();
}

static void end(struct world *w)
{
    xl__error_clear(&w->error);
    xl_queue_destroy(w->queue);
    xl_close(w->lib);
    clReleaseCommandQueue(w->native);
    clReleaseContext(w->context);
    test_stub()->builds(NULL);
}

static void get_program(struct world *w, const char *target)
{
    const struct xl__step step = {.source = "gemm/reference.cl",
                                  .kernel = "gemm_ref",
                                  .target = target,
                                  .options = " -DTEST=1"};
    assert_status(
        xl__program_get(w->queue->ctx, &step, &w->program, &w->error), XL_OK,
        xl__str_text(&w->error.detail));
}

static void assert_counts(const struct world *w, uint64_t hits,
                          uint64_t misses, uint64_t writes)
{
    xl_cache_stats stats;
    assert_status(xl_cache_stats_get(w->lib, &stats), XL_OK,
                  xl_lib_error(w->lib));
    assert_int_equal(stats.hits, hits);
    assert_int_equal(stats.misses, misses);
    assert_int_equal(stats.writes, writes);
}

static const struct shape shapes[] = {{1, {0}, 0},       {2, {0, 1}, 0},
                                      {2, {0, 1}, 1},    {2, {0, 2}, 1},
                                      {3, {0, 1, 2}, 0}, {3, {0, 1, 2}, 1},
                                      {3, {1, 2, 0}, 1}, {3, {1, 0, 2}, 2}};

/* Binary and verdict are kept; the next library builds nothing. */
static void test_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const char *dir = test_scratch("contexts");
        struct world w;
        begin(&w, &shapes[i], dir);
        get_program(&w, NULL);
        xl__program_keep(w.queue->ctx, w.program);
        xl__program_trust(w.queue->ctx, w.program, XL__PASSED, NULL);
        assert_int_equal(test_stub()->calls("clBuildProgram"), 1);
        assert_counts(&w, 0, 1, 2);
        end(&w);

        begin(&w, &shapes[i], dir);
        get_program(&w, NULL);
        assert_true(w.program->from_cache);
        assert_int_equal(w.program->trust, XL__PASSED);
        assert_int_equal(test_stub()->calls("clCreateProgramWithSource"), 0);
        assert_counts(&w, 1, 0, 0);
        end(&w);
    }
}

/* A program for a target that the driver does not support, likewise. */
static void test_retargeted(void **state)
{
    static const struct xl_builds usual = {
        CL_BUILD_PROGRAM_FAILURE, TEXT("sm_90"), CL_SUCCESS, {CLEAN}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *s = &shapes[i];
        const char *dir = test_scratch("contexts");
        struct world w;
        if (s->device[s->own] == 1) /* not of this vendor */
            continue;
        for (unsigned run = 0; run < 2; run++) {
            begin(&w, s, dir);
            test_stub()->builds(&usual);
            get_program(&w, "sm_90a");
            xl__program_trust(w.queue->ctx, w.program, XL__PASSED, NULL);
            assert_int_equal(w.program->from_cache, run == 1);
            assert_int_equal(test_stub()->calls("clBuildProgram"),
                             run == 0 ? 2 : 1);
            end(&w);
        }
    }
}

/* A failed verdict is kept without a binary, for its device. */
static void test_failed_verdict(void **state)
{
    static const struct shape s = {2, {1, 0}, 1};
    const char *dir = test_scratch("contexts");
    struct world w;
    (void)state;
    begin(&w, &s, dir);
    get_program(&w, NULL);
    xl__program_trust(w.queue->ctx, w.program, XL__FAILED, "why");
    end(&w);
    begin(&w, &s, dir);
    get_program(&w, NULL);
    assert_int_equal(w.program->trust, XL__FAILED);
    assert_int_equal(test_stub()->calls("clCreateProgramWithSource"), 0);
    assert_counts(&w, 1, 0, 0);
    end(&w);
}

/* An entry that saves no build is a miss: one without a binary, and one whose
 * binary the driver rejects. */
static void test_useless_entries(void **state)
{
    static const struct xl_builds no_binary = {
        CL_SUCCESS, NULL, CL_SUCCESS, {""}};
    const char *dir = test_scratch("contexts");
    struct world w;
    (void)state;
    for (unsigned run = 0; run < 2; run++) {
        begin(&w, &shapes[0], dir);
        test_stub()->builds(&no_binary);
        get_program(&w, NULL);
        xl__program_keep(w.queue->ctx, w.program);
        assert_counts(&w, 0, 1, 1);
        end(&w);
    }
    begin(&w, &shapes[0], dir);
    get_program(&w, NULL);
    xl__program_keep(w.queue->ctx, w.program);
    end(&w);
    begin(&w, &shapes[0], dir);
    test_stub()->arm("clCreateProgramWithBinary", 1, CL_INVALID_BINARY);
    get_program(&w, NULL);
    assert_counts(&w, 0, 1, 0);
    end(&w);
}

/* An op on a device of each context. */
static void test_op(void **state)
{
    enum { SIDE = 64 };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct world w;
        cl_mem mem;
        begin(&w, &shapes[i], test_scratch("contexts"));
        const size_t bytes = 3 * SIDE * SIDE * sizeof(float);
        assert_status(xl_buffer_create(w.queue, bytes, &mem), XL_OK,
                      xl_error_detail(w.queue));
        xl_gemm g = {XL_GEMM_INIT,
                     .m = SIDE,
                     .n = SIDE,
                     .k = SIDE,
                     .alpha = 1,
                     .a = xl_mat_rows(mem, SIDE, XL_F32),
                     .b = xl_mat_rows(mem, SIDE, XL_F32),
                     .c = xl_mat_rows(mem, SIDE, XL_F32)};
        g.b.offset = SIDE * SIDE;
        g.c.offset = 2 * SIDE * SIDE;
        assert_status(xl_gemm_run(w.queue, &g, NULL), XL_OK,
                      xl_error_detail(w.queue));
        clReleaseMemObject(mem);
        end(&w);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_retargeted),
        cmocka_unit_test(test_failed_verdict),
        cmocka_unit_test(test_useless_entries),
        cmocka_unit_test(test_op),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
