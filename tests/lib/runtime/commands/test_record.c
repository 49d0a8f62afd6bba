/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded calls: their results are those of the calls, whatever is exchanged
 * or recorded again between replays; what is refused; on the stub also which
 * calls of the driver a replay makes. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

static struct test_device device;

enum { M = 19, N = 37, K = 23, BYTES = 64 * 64 * sizeof(float) };

/* Two products, a norm and an expression: d = norm(a b) + s, in four buffers.
 */
struct chain {
    cl_mem a, b, c, d;
    double scale, s;
    xl_expr *expr;
};

static const char *detail(void)
{
    return xl_error_detail(device.queue);
}

static void fill(cl_mem mem, float first)
{
    float x[BYTES / sizeof(float)];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = first + (float)((i * 37 + 11) % 23) / 16;
    assert_status(xl_buffer_write(device.queue, mem, 0, x, sizeof x), XL_OK,
                  detail());
}

static cl_mem buffer(float first)
{
    cl_mem mem;
    assert_status(xl_buffer_create(device.queue, BYTES, &mem), XL_OK,
                  detail());
    fill(mem, first);
    return mem;
}

static struct chain chain_create(void)
{
    return (struct chain){buffer(1), buffer(-2), buffer(0), buffer(0),
                          0.5,       3,          NULL};
}

static void chain_clear(struct chain *x)
{
    clReleaseMemObject(x->a);
    clReleaseMemObject(x->b);
    clReleaseMemObject(x->c);
    clReleaseMemObject(x->d);
    xl_expr_destroy(x->expr);
}

static xl_status run_product(const struct chain *x, size_t rows)
{
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = rows,
                       .n = N,
                       .k = K,
                       .a = xl_mat_rows(x->a, K, XL_F32),
                       .b = xl_mat_rows(x->b, N, XL_F32),
                       .c = xl_mat_rows(x->c, N, XL_F32),
                       .alpha = x->scale};
    return xl_gemm_run(device.queue, &g, NULL);
}

static xl_status run_norm(const struct chain *x)
{
    const xl_norm n = {XL_NORM_INIT, .rows = M, .cols = N,
                       .src = xl_mat_rows(x->c, N, XL_F32),
                       .dst = xl_mat_rows(x->d, N, XL_F32)};
    return xl_norm_run(device.queue, &n, NULL);
}

static xl_status run_sum(struct chain *x)
{
    const size_t shape[] = {M, N};
    const xl_binding names[] = {
        {.name = "d", .tensor = xl_tensor_dense(x->d, XL_F32, 2, shape)},
        {.name = "s", .is_scalar = true, .scalar = x->s}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = names,
                               .n_bindings = 2};
    if (!x->expr)
        assert_status(
            xl_expr_compile(device.queue, "d = d + s", &args, &x->expr), XL_OK,
            detail());
    return xl_expr_run(device.queue, x->expr, &args, NULL);
}

static void run_chain(struct chain *x)
{
    assert_status(run_product(x, M), XL_OK, detail());
    assert_status(run_norm(x), XL_OK, detail());
    assert_status(run_sum(x), XL_OK, detail());
}

static xl_record *record_chain(struct chain *x)
{
    xl_record *r;
    assert_status(xl_record_create(device.queue, &r), XL_OK, detail());
    assert_int_equal(xl_record_calls(r), 0);
    assert_status(xl_record_begin(r, 0), XL_OK, detail());
    run_chain(x);
    assert_status(xl_record_end(r), XL_OK, detail());
    assert_int_equal(xl_record_calls(r), 3);
    return r;
}

static void read_result(cl_mem mem, float *out)
{
    assert_status(
        xl_buffer_read(device.queue, mem, 0, out, M * N * sizeof *out), XL_OK,
        detail());
}

/* A replay gives what the calls themselves give, in d and in `dst`. */
static void check_replay(xl_record *r, struct chain *x, cl_mem dst)
{
    float expected[M * N], got[M * N];
    run_chain(x);
    read_result(x->d, expected);
    /* By launches, by a new command buffer, by the same one. */
    for (unsigned i = 0; i < 3; i++) {
        fill(dst, -7);
        fill(x->c, -7);
        assert_status(xl_record_replay(r, NULL), XL_OK, detail());
        read_result(dst, got);
        assert_memory_equal(got, expected, sizeof got);
    }
}

static void a_replay_equals_the_calls(void **state)
{
    struct chain x = chain_create();
    float got[M * N], untouched[M * N];
    (void)state;
    fill(x.d, 5);
    read_result(x.d, untouched);
    xl_record *r = record_chain(&x);
    read_result(x.d, got); /* nothing ran */
    assert_memory_equal(got, untouched, sizeof got);
    check_replay(r, &x, x.d);
    fill(x.a, 4);
    check_replay(r, &x, x.d);
    /* Other calls between replays, which may move the queue's scratch. */
    assert_status(run_product(&x, 2), XL_OK, detail());
    assert_status(xl_queue_trim(device.queue), XL_OK, detail());
    check_replay(r, &x, x.d);
    xl_record_destroy(r);
    chain_clear(&x);
}

static void a_buffer_is_exchanged(void **state)
{
    struct chain x = chain_create(), y;
    (void)state;
    xl_record *r = record_chain(&x);
    cl_mem a = buffer(9), d = buffer(0);
    assert_status(xl_record_set_mem(r, x.a, a), XL_OK, detail());
    assert_status(xl_record_set_mem(r, x.d, d), XL_OK, detail());
    y = x;
    y.a = a;
    check_replay(r, &y, d);
    clReleaseMemObject(a); /* the record retains it */
    y.a = x.a;
    assert_status(xl_record_set_mem(r, a, x.a), XL_OK, detail());
    check_replay(r, &y, d);
    xl_record_destroy(r);
    clReleaseMemObject(d);
    chain_clear(&x);
}

static void a_call_is_recorded_again(void **state)
{
    struct chain x = chain_create();
    (void)state;
    xl_record *r = record_chain(&x);
    x.scale = -2;
    x.s = 11;
    assert_status(xl_record_begin(r, 0), XL_OK, detail());
    assert_status(run_product(&x, M), XL_OK, detail());
    assert_status(xl_record_end(r), XL_OK, detail());
    assert_status(xl_record_begin(r, 2), XL_OK, detail());
    assert_status(run_sum(&x), XL_OK, detail());
    assert_status(xl_record_end(r), XL_OK, detail());
    assert_int_equal(xl_record_calls(r), 3);
    check_replay(r, &x, x.d);
    /* One behind the last; of another size. */
    assert_status(xl_record_begin(r, 3), XL_OK, detail());
    assert_status(run_product(&x, 3), XL_OK, detail());
    assert_status(xl_record_end(r), XL_OK, detail());
    assert_int_equal(xl_record_calls(r), 4);
    check_replay(r, &x, x.d);
    xl_record_destroy(r);
    chain_clear(&x);
}

static void a_failed_call_is_not_recorded(void **state)
{
    struct chain x = chain_create();
    xl_record *r;
    cl_event event = NULL;
    const xl_sync sync = {XL_SYNC_INIT, .done = &event};
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = M,
                       .n = N,
                       .k = K,
                       .a = xl_mat_rows(x.a, K, XL_F32),
                       .b = xl_mat_rows(x.b, N, XL_F32),
                       .c = xl_mat_rows(x.c, N, XL_F32),
                       .alpha = 1};
    (void)state;
    assert_status(xl_record_create(device.queue, &r), XL_OK, detail());
    assert_status(xl_record_begin(r, 0), XL_OK, detail());
    assert_status(run_product(&x, M), XL_OK, detail());
    assert_status(run_product(&x, 5000), XL_BUFFER_TOO_SMALL, detail());
    assert_status(xl_gemm_run(device.queue, &g, &sync), XL_BAD_ARGUMENT,
                  detail());
    assert_non_null(strstr(detail(), "xl_record_replay()"));
    assert_null(event);
    assert_status(run_norm(&x), XL_OK, detail());
    assert_status(run_sum(&x), XL_OK, detail());
    assert_status(xl_record_end(r), XL_OK, detail());
    assert_int_equal(xl_record_calls(r), 3);
    check_replay(r, &x, x.d);
    xl_record_destroy(r);
    chain_clear(&x);
}

static void misuse_is_refused(void **state)
{
    struct chain x = chain_create();
    xl_record *r, *other;
    (void)state;
    assert_status(xl_record_create(device.queue, &r), XL_OK, detail());
    assert_status(xl_record_create(device.queue, &other), XL_OK, detail());
    assert_status(xl_record_replay(r, NULL), XL_BAD_ARGUMENT, detail());
    assert_non_null(strstr(detail(), "no calls"));
    assert_status(xl_record_end(r), XL_BAD_ARGUMENT, detail());
    assert_status(xl_record_begin(r, 1), XL_BAD_ARGUMENT, detail());
    assert_status(xl_record_begin(r, 0), XL_OK, detail());
    assert_status(xl_record_begin(r, 0), XL_BAD_ARGUMENT, detail());
    assert_status(xl_record_begin(other, 0), XL_BAD_ARGUMENT, detail());
    assert_status(xl_record_replay(r, NULL), XL_BAD_ARGUMENT, detail());
    assert_status(xl_record_set_mem(r, x.a, x.b), XL_BAD_ARGUMENT, detail());
    run_chain(&x);
    xl_record_destroy(r); /* ends it: the next calls run */
    check_replay(other = (xl_record_destroy(other), record_chain(&x)), &x,
                 x.d);
    xl_record_destroy(other);
    chain_clear(&x);
}

static void a_buffer_that_does_not_fit_is_refused(void **state)
{
    struct chain x = chain_create();
    cl_int code;
    (void)state;
    xl_record *r = record_chain(&x);
    const cl_context context = xl_queue_context(device.queue);
    cl_mem small, odd, unused = buffer(0);
    small = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &code);
    odd = clCreateBuffer(context, CL_MEM_READ_ONLY, BYTES, NULL, &code);
    assert_status(xl_record_set_mem(r, x.a, small), XL_BUFFER_TOO_SMALL,
                  detail());
    assert_status(xl_record_set_mem(r, x.a, odd), XL_BAD_ARGUMENT, detail());
    assert_status(xl_record_set_mem(r, unused, x.a), XL_BAD_ARGUMENT,
                  detail());
    const cl_buffer_region region = {0, BYTES / 2};
    cl_mem sub = clCreateSubBuffer(
        x.b, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_status(xl_record_set_mem(r, x.a, sub), XL_BAD_ARGUMENT, detail());
    check_replay(r, &x, x.d); /* nothing has changed */
    clReleaseMemObject(sub);
    clReleaseMemObject(small);
    clReleaseMemObject(odd);
    clReleaseMemObject(unused);
    xl_record_destroy(r);
    chain_clear(&x);
}

static void out_of_order_queues_are_refused(void **state)
{
    cl_int code;
    xl_queue *q;
    xl_record *r = NULL;
    (void)state;
    cl_device_id id;
    assert_int_equal(clGetCommandQueueInfo(xl_queue_cl(device.queue),
                                           CL_QUEUE_DEVICE, sizeof id, &id,
                                           NULL),
                     CL_SUCCESS);
    cl_command_queue native =
        clCreateCommandQueue(xl_queue_context(device.queue), id,
                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code != CL_SUCCESS)
        return; /* the device has none */
    assert_status(xl_queue_wrap(device.lib, native, &q), XL_OK, "wrap");
    assert_status(xl_record_create(q, &r), XL_UNSUPPORTED, xl_error_detail(q));
    assert_null(r);
    xl_queue_destroy(q);
    clReleaseCommandQueue(native);
}

static void events_span_a_replay(void **state)
{
    struct chain x = chain_create();
    cl_event first = NULL, done = NULL, start;
    cl_int code, left = CL_QUEUED;
    (void)state;
    xl_record *r = record_chain(&x);
    start = clCreateUserEvent(xl_queue_context(device.queue), &code);
    assert_int_equal(code, CL_SUCCESS);
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &start,
                          .done = &done, .first = &first};
    assert_status(xl_record_replay(r, &sync), XL_OK, detail());
    assert_non_null(first);
    assert_non_null(done);
    assert_ptr_not_equal(first, done);
    clSetUserEventStatus(start, CL_COMPLETE);
    assert_status(xl_queue_finish(device.queue), XL_OK, detail());
    clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof left, &left,
                   NULL);
    assert_int_equal(left, CL_COMPLETE);
    clReleaseEvent(start);
    clReleaseEvent(first);
    clReleaseEvent(done);
    xl_record_destroy(r);
    chain_clear(&x);
}

static void count_span(const xl_span *span, void *arg)
{
    assert_non_null(span->label);
    ++*(unsigned *)arg;
}

static void a_timeline_has_the_launches(void **state)
{
    struct chain x = chain_create();
    unsigned n = 0, of_calls = 0;
    (void)state;
    xl_record *r = record_chain(&x);
    if (xl_timeline_enable(device.queue, true) == XL_OK) {
        run_chain(&x);
        assert_status(xl_timeline_drain(device.queue, count_span, &of_calls),
                      XL_OK, detail());
        assert_status(xl_record_replay(r, NULL), XL_OK, detail());
        assert_status(xl_timeline_drain(device.queue, count_span, &n), XL_OK,
                      detail());
        assert_int_equal(n, of_calls);
        (void)xl_timeline_enable(device.queue, false);
    }
    xl_record_destroy(r);
    chain_clear(&x);
}

int main(int argc, char **argv)
{
    test_args(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_equals_the_calls),
        cmocka_unit_test(a_buffer_is_exchanged),
        cmocka_unit_test(a_call_is_recorded_again),
        cmocka_unit_test(a_failed_call_is_not_recorded),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(a_buffer_that_does_not_fit_is_refused),
        cmocka_unit_test(out_of_order_queues_are_refused),
        cmocka_unit_test(events_span_a_replay),
        cmocka_unit_test(a_timeline_has_the_launches),
    };
    return test_run_on_device(tests, &device, NULL);
}
