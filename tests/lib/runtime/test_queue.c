/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of queues that the application and the library use together. */
#include <stdlib.h>

#include "support/support.h"

static struct test_device t;

static int open_device(void **state)
{
    (void)state;
    test_device_open(&t, NULL);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

/* What the application flushed is waited for too. The copy is long beside the
 * wait, so that one that returns at once is seen. */
static void finish_waits_for_what_was_flushed(void **state)
{
    enum { BYTES = 64 << 20 };
    unsigned char *host = calloc(1, BYTES);
    cl_mem mem = NULL;
    cl_event written = NULL;
    cl_int is = CL_QUEUED;
    (void)state;
    assert_non_null(host);
    assert_status(xl_buffer_create(t.queue, BYTES, &mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_int_equal(clEnqueueWriteBuffer(xl_queue_cl(t.queue), mem, CL_FALSE,
                                          0, BYTES, host, 0, NULL, &written),
                     CL_SUCCESS);
    assert_int_equal(clFlush(xl_queue_cl(t.queue)), CL_SUCCESS);
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    assert_int_equal(clGetEventInfo(written, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                    sizeof is, &is, NULL),
                     CL_SUCCESS);
    (void)clWaitForEvents(1, &written);
    assert_int_equal(is, CL_COMPLETE);
    clReleaseEvent(written);
    clReleaseMemObject(mem);
    free(host);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_waits_for_what_was_flushed),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
