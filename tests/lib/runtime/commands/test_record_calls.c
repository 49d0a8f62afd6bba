/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls of the driver a record makes, on the stub: a replay enqueues
 * each launch and nothing else; what is retained is released. */
#include "support/support.h"

#include <string.h>

static struct test_device device;

enum { N = 64, CALLS = 5, BYTES = N * N * sizeof(float) };

static const char *detail(void)
{
    return xl_error_detail(device.queue);
}

static xl_record *record(cl_mem mem[3])
{
    xl_record *r;
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = N,
                       .n = N,
                       .k = N,
                       .a = xl_mat_rows(mem[0], N, XL_F32),
                       .b = xl_mat_rows(mem[1], N, XL_F32),
                       .c = xl_mat_rows(mem[2], N, XL_F32),
                       .alpha = 1,
                       .variant = "gemm_ref"};
    assert_status(xl_record_create(device.queue, &r), XL_OK, detail());
    assert_status(xl_record_begin(r, 0), XL_OK, detail());
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(xl_gemm_run(device.queue, &g, NULL), XL_OK, detail());
    assert_status(xl_record_end(r), XL_OK, detail());
    return r;
}

static void create_all(cl_mem mem[4])
{
    for (unsigned i = 0; i < 4; i++)
        assert_status(xl_buffer_create(device.queue, BYTES, &mem[i]), XL_OK,
                      detail());
}

static void release_all(cl_mem mem[4])
{
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(mem[i]);
}

/* All calls of the driver since the reset. */
static unsigned long count_all(void)
{
    unsigned long n = 0;
    for (unsigned i = 0; test_stub()->entry(i); i++)
        n += test_stub()->calls(test_stub()->entry(i));
    return n;
}

static void a_replay_only_enqueues(void **state)
{
    cl_mem mem[4];
    (void)state;
    create_all(mem);
    xl_record *r = record(mem);
    test_stub()->reset();
    assert_status(xl_record_replay(r, NULL), XL_OK, detail());
    assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), CALLS);
    assert_int_equal(count_all(), CALLS);
    test_stub()->reset();
    assert_status(xl_record_set_mem(r, mem[0], mem[3]), XL_OK, detail());
    assert_int_equal(test_stub()->calls("clSetKernelArg"), CALLS);
    assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), 0);
    xl_record_destroy(r);
    release_all(mem);
}

static void recording_enqueues_nothing(void **state)
{
    cl_mem mem[4];
    (void)state;
    create_all(mem);
    xl_record_destroy(record(mem)); /* builds and checks */
    test_stub()->reset();
    xl_record *r = record(mem);
    assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), 0);
    assert_int_equal(test_stub()->calls("clCreateKernel"), CALLS);
    xl_record_destroy(r);
    release_all(mem);
}

static void nothing_is_left(void **state)
{
    cl_mem mem[4];
    (void)state;
    create_all(mem);
    xl_record_destroy(record(mem));
    const long before = test_stub()->live();
    xl_record *r = record(mem);
    assert_status(xl_record_begin(r, 1), XL_OK, detail());
    assert_status(xl_record_end(r), XL_OK, detail());
    assert_status(xl_record_replay(r, NULL), XL_OK, detail());
    xl_record_destroy(r);
    assert_int_equal(test_stub()->live(), before);
    release_all(mem);
}

/* A failure of the driver at any call of recording or replay. */
static void faults_leave_nothing(void **state)
{
    static const char *const entries[] = {"clCreateKernel", "clSetKernelArg",
                                          "clRetainMemObject",
                                          "clEnqueueNDRangeKernel"};
    cl_mem mem[4];
    const xl_gemm g = {XL_GEMM_INIT, .m = N,     .n = N,
                       .k = N,       .alpha = 1, .variant = "gemm_ref"};
    (void)state;
    create_all(mem);
    xl_record *r = record(mem);
    xl_gemm call = g;
    call.a = xl_mat_rows(mem[0], N, XL_F32);
    call.b = xl_mat_rows(mem[1], N, XL_F32);
    call.c = xl_mat_rows(mem[2], N, XL_F32);
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
        const bool replays = i == 3;
        const long before = test_stub()->live();
        test_stub()->reset();
        test_stub()->arm(entries[i], 2 - (i == 0), CL_OUT_OF_RESOURCES);
        if (!replays)
            assert_status(xl_record_begin(r, 2), XL_OK, detail());
        const xl_status status = replays
                                     ? xl_record_replay(r, NULL)
                                     : xl_gemm_run(device.queue, &call, NULL);
        assert_true(test_stub()->fired());
        assert_status(status, CL_OUT_OF_RESOURCES, detail());
        if (!replays)
            assert_status(xl_record_end(r), XL_OK, detail());
        assert_int_equal(xl_record_calls(r), CALLS);
        assert_int_equal(test_stub()->live(), before);
        test_stub()->reset();
        assert_status(xl_record_replay(r, NULL), XL_OK, detail());
        assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), CALLS);
    }
    xl_record_destroy(r);
    release_all(mem);
}

int main(int argc, char **argv)
{
    static xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true};
    test_args(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_only_enqueues),
        cmocka_unit_test(recording_enqueues_nothing),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(faults_leave_nothing),
    };
    return test_run_on_device(tests, &device, &options);
}
