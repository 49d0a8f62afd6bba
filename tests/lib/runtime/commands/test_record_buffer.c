/* SPDX-License-Identifier: Apache-2.0 */
/* Replays by the driver's command buffers, on a stub that has them: when there
 * is one, what a change or a failure of the driver leaves of it. */
#include "support/support.h"

static struct test_device device;

enum { N = 64, CALLS = 5, BYTES = N * N * sizeof(float) };

struct fixture {
    cl_mem mem[4];
    xl_record *r;
};

static const char *detail(void)
{
    return xl_error_detail(device.queue);
}

static void record_from(struct fixture *x, size_t at)
{
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = N,
                       .n = N,
                       .k = N,
                       .a = xl_mat_rows(x->mem[0], N, XL_F32),
                       .b = xl_mat_rows(x->mem[1], N, XL_F32),
                       .c = xl_mat_rows(x->mem[2], N, XL_F32),
                       .alpha = 1,
                       .variant = "gemm_ref"};
    assert_status(xl_record_begin(x->r, at), XL_OK, detail());
    for (size_t i = at; i < CALLS; i++)
        assert_status(xl_gemm_run(device.queue, &g, NULL), XL_OK, detail());
    assert_status(xl_record_end(x->r), XL_OK, detail());
}

static struct fixture fixture_create(void)
{
    struct fixture x;
    for (unsigned i = 0; i < 4; i++)
        assert_status(xl_buffer_create(device.queue, BYTES, &x.mem[i]), XL_OK,
                      detail());
    assert_status(xl_record_create(device.queue, &x.r), XL_OK, detail());
    record_from(&x, 0);
    return x;
}

static void fixture_clear(struct fixture *x)
{
    xl_record_destroy(x->r);
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(x->mem[i]);
}

static unsigned long calls(const char *entry)
{
    return test_stub()->calls(entry);
}

/* A replay, by launches or by a command buffer, which it makes or has. */
enum way { LAUNCHES, NEW_BUFFER, BUFFER };
static void check_replay(const struct fixture *x, const xl_sync *sync,
                         enum way way)
{
    test_stub()->reset();
    assert_status(xl_record_replay(x->r, sync), XL_OK, detail());
    assert_int_equal(calls("clEnqueueNDRangeKernel"),
                     way == LAUNCHES ? CALLS : 0);
    assert_int_equal(calls("clCreateCommandBufferKHR"), way == NEW_BUFFER);
    assert_int_equal(calls("clCommandNDRangeKernelKHR"),
                     way == NEW_BUFFER ? CALLS : 0);
    assert_int_equal(calls("clEnqueueCommandBufferKHR"), way != LAUNCHES);
}

static void the_second_replay_makes_one(void **state)
{
    struct fixture x = fixture_create();
    (void)state;
    check_replay(&x, NULL, LAUNCHES);
    check_replay(&x, NULL, NEW_BUFFER);
    check_replay(&x, NULL, BUFFER);
    fixture_clear(&x);
}

static void a_change_ends_it(void **state)
{
    struct fixture x = fixture_create();
    (void)state;
    check_replay(&x, NULL, LAUNCHES);
    check_replay(&x, NULL, NEW_BUFFER);
    assert_status(xl_record_set_mem(x.r, x.mem[0], x.mem[3]), XL_OK, detail());
    check_replay(&x, NULL, LAUNCHES);
    check_replay(&x, NULL, NEW_BUFFER);
    record_from(&x, CALLS - 1);
    check_replay(&x, NULL, LAUNCHES);
    check_replay(&x, NULL, NEW_BUFFER);
    fixture_clear(&x);
}

static void events_of_launches_need_launches(void **state)
{
    struct fixture x = fixture_create();
    cl_event first = NULL, done = NULL;
    const xl_sync both = {XL_SYNC_INIT, .first = &first, .done = &done};
    const xl_sync last = {XL_SYNC_INIT, .done = &done};
    (void)state;
    check_replay(&x, NULL, LAUNCHES);
    check_replay(&x, &both, LAUNCHES);
    assert_non_null(first);
    assert_non_null(done);
    clReleaseEvent(first);
    clReleaseEvent(done);
    done = NULL;
    check_replay(&x, &last, NEW_BUFFER);
    assert_non_null(done);
    const xl_sync behind = {XL_SYNC_INIT, .n_wait = 1, .wait = &done};
    check_replay(&x, &behind, BUFFER);
    clReleaseEvent(done);
    fixture_clear(&x);
}

/* Then launches are enqueued, also by later replays, and nothing is left. */
static void a_failure_ends_it(void **state)
{
    static const char *const entries[] = {
        "clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR",
        "clFinalizeCommandBufferKHR", "clEnqueueCommandBufferKHR"};
    (void)state;
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct fixture x = fixture_create();
        check_replay(&x, NULL, LAUNCHES);
        const long before = test_stub()->live();
        test_stub()->reset();
        test_stub()->arm(entries[i], 1, CL_OUT_OF_RESOURCES);
        assert_status(xl_record_replay(x.r, NULL), XL_OK, detail());
        assert_true(test_stub()->fired());
        assert_int_equal(calls("clEnqueueNDRangeKernel"), CALLS);
        assert_int_equal(test_stub()->live(), before);
        check_replay(&x, NULL, LAUNCHES);
        fixture_clear(&x);
    }
}

static void nothing_is_left(void **state)
{
    struct fixture x = fixture_create();
    (void)state;
    fixture_clear(&x); /* builds */
    const long before = test_stub()->live();
    x = fixture_create();
    check_replay(&x, NULL, LAUNCHES);
    check_replay(&x, NULL, NEW_BUFFER);
    fixture_clear(&x);
    assert_int_equal(test_stub()->live(), before);
}

int main(int argc, char **argv)
{
    static xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true};
    test_args(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_replay_makes_one),
        cmocka_unit_test(a_change_ends_it),
        cmocka_unit_test(events_of_launches_need_launches),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(nothing_is_left),
    };
    return test_run_on_device(tests, &device, &options);
}
