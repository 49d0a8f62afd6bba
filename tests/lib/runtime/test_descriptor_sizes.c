/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of other headers (crosslane/sized.h), in each call that takes
 * one: of no size or a wrong one, smaller, larger, larger with a member that
 * the library lacks. Runs on the stub driver. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { SIDE = 16, N_MEMS = 3, ROOM = 1024, GROUP = 3 };

struct fixture {
    struct test_device t;
    cl_mem mem[N_MEMS];
    float host[SIDE];
    xl_expr *expr;
    xl_binding x;
    xl_expr_args args;
};

static const char *const text = "x = 2 * x";

/* -- one call with a descriptor --------------------------------------------
 */

static xl_status open_with(struct fixture *f, const void *d)
{
    xl_lib *lib;
    const xl_status status = xl_open(d, &lib);
    (void)f;
    xl_close(lib);
    return status;
}

static xl_status run_gemm(struct fixture *f, const void *d)
{
    return xl_gemm_run(f->t.queue, d, NULL);
}
static xl_status run_gemm_group(struct fixture *f, const void *d)
{
    return xl_gemm_run_group(f->t.queue, d, 1, NULL);
}
static xl_status prepare_gemm(struct fixture *f, const void *d)
{
    return xl_gemm_prepare(f->t.queue, d);
}
static xl_status prepare_gemm_range(struct fixture *f, const void *d)
{
    return xl_gemm_prepare_range(f->t.queue, d, SIDE + 2);
}
static xl_status prepare_gemm_later(struct fixture *f, const void *d)
{
    return xl_gemm_prepare_async(f->t.queue, d, 0, NULL, NULL);
}
static xl_status gemm_workspace(struct fixture *f, const void *d)
{
    size_t bytes;
    return xl_gemm_workspace(f->t.queue, d, &bytes);
}
static xl_status explain_gemm(struct fixture *f, const void *d)
{
    unsigned n;
    return xl_gemm_explain(f->t.queue, d, NULL, 0, &n);
}
static xl_status run_conv(struct fixture *f, const void *d)
{
    return xl_conv_run(f->t.queue, d, NULL);
}
static xl_status prepare_conv_range(struct fixture *f, const void *d)
{
    return xl_conv_prepare_range(f->t.queue, d, 3);
}
static xl_status run_softmax(struct fixture *f, const void *d)
{
    return xl_softmax_run(f->t.queue, d, NULL);
}
static xl_status run_norm(struct fixture *f, const void *d)
{
    return xl_norm_run(f->t.queue, d, NULL);
}
static xl_status prepare_norm_range(struct fixture *f, const void *d)
{
    return xl_norm_prepare_range(f->t.queue, d, SIDE + 2);
}
static xl_status run_attention(struct fixture *f, const void *d)
{
    return xl_attention_run(f->t.queue, d, NULL);
}
static xl_status prepare_attention_range(struct fixture *f, const void *d)
{
    return xl_attention_prepare_range(f->t.queue, d, SIDE + 2);
}
static xl_status prepare_softmax_range(struct fixture *f, const void *d)
{
    return xl_softmax_prepare_range(f->t.queue, d, SIDE + 2);
}
static xl_status compile_expr(struct fixture *f, const void *d)
{
    xl_expr *e = NULL;
    const xl_status status = xl_expr_compile(f->t.queue, text, d, &e);
    xl_expr_destroy(e);
    return status;
}
static xl_status run_expr(struct fixture *f, const void *d)
{
    return xl_expr_run(f->t.queue, f->expr, d, NULL);
}
static xl_status expr_workspace(struct fixture *f, const void *d)
{
    size_t bytes;
    return xl_expr_workspace(f->t.queue, f->expr, d, &bytes);
}
static xl_status run_with_sync(struct fixture *f, const void *d)
{
    return xl_expr_run(f->t.queue, f->expr, &f->args, d);
}
static xl_status write_with_sync(struct fixture *f, const void *d)
{
    return xl_buffer_enqueue_write(f->t.queue, f->mem[0], 0, f->host,
                                   sizeof f->host, d);
}
static xl_status fill_with_sync(struct fixture *f, const void *d)
{
    return xl_buffer_enqueue_fill(f->t.queue, f->mem[0], 0, 1, SIDE, d);
}

static xl_status enqueue_nothing(xl_queue *q, void *arg)
{
    (void)q, (void)arg;
    return XL_CANCELLED;
}
/* XL_CANCELLED shows that the descriptor was accepted. */
static xl_status take_samples(struct fixture *f, const void *d)
{
    static xl_samples out;
    const xl_status status =
        xl_samples_take(f->t.queue, d, enqueue_nothing, NULL, &out);
    return status == XL_CANCELLED ? XL_OK : status;
}

static xl_status tune_gemm(struct fixture *f, const void *d)
{
    static xl_tuned out;
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = SIDE,
                       .n = SIDE,
                       .k = SIDE,
                       .a = xl_mat_rows(NULL, SIDE, XL_F32),
                       .b = xl_mat_rows(NULL, SIDE, XL_F32),
                       .c = xl_mat_rows(NULL, SIDE, XL_F32),
                       .alpha = 1};
    const xl_status status = xl_tune(f->t.queue, xl_problem_gemm(&g), d, &out);
    return status == XL_CANCELLED ? XL_OK : status;
}

static bool stop_at_once(void *arg)
{
    (void)arg;
    return true;
}

/* -- the descriptors -------------------------------------------------------
 */

union descriptor {
    size_t size;
    xl_options options;
    xl_gemm gemm;
    xl_conv conv;
    xl_softmax softmax;
    xl_norm norm;
    xl_attention attention;
    xl_expr_args args;
    xl_sync sync;
    xl_sampling sampling;
    xl_tuning tuning;
    unsigned char bytes[ROOM];
};

static void make_options(const struct fixture *f, union descriptor *d)
{
    (void)f;
    d->options = (xl_options){XL_OPTIONS_INIT, .cache_dir = ""};
}
static void make_gemm(const struct fixture *f, union descriptor *d)
{
    d->gemm = (xl_gemm){XL_GEMM_INIT,
                        .m = SIDE,
                        .n = SIDE,
                        .k = SIDE,
                        .a = xl_mat_rows(f->mem[0], SIDE, XL_F32),
                        .b = xl_mat_rows(f->mem[1], SIDE, XL_F32),
                        .c = xl_mat_rows(f->mem[2], SIDE, XL_F32),
                        .alpha = 1};
}
static void make_conv(const struct fixture *f, union descriptor *d)
{
    d->conv = (xl_conv){XL_CONV_INIT,
                        .n = 1,
                        .c = 1,
                        .h = SIDE,
                        .w = SIDE,
                        .k = 1,
                        .r = 3,
                        .s = 3,
                        .in = {.mem = {f->mem[0]}},
                        .filters = {.mem = {f->mem[1]}},
                        .out = {.mem = {f->mem[2]}},
                        .alpha = 1};
}
static void make_softmax(const struct fixture *f, union descriptor *d)
{
    d->softmax = (xl_softmax){XL_SOFTMAX_INIT, .rows = SIDE, .cols = SIDE,
                              .src = xl_mat_rows(f->mem[0], SIDE, XL_F32),
                              .dst = xl_mat_rows(f->mem[2], SIDE, XL_F32)};
}
static void make_norm(const struct fixture *f, union descriptor *d)
{
    d->norm = (xl_norm){XL_NORM_INIT,
                        .rows = SIDE,
                        .cols = SIDE,
                        .src = xl_mat_rows(f->mem[0], SIDE, XL_F32),
                        .dst = xl_mat_rows(f->mem[2], SIDE, XL_F32)};
}
static void make_attention(const struct fixture *f, union descriptor *d)
{
    d->attention = (xl_attention){XL_ATTENTION_INIT,
                                  .n_heads = 1,
                                  .n_q = SIDE,
                                  .n_kv = SIDE,
                                  .d_head = SIDE,
                                  .q = {.mem = {f->mem[0]}},
                                  .k = {.mem = {f->mem[1]}},
                                  .v = {.mem = {f->mem[1]}},
                                  .o = {.mem = {f->mem[2]}}};
}
static void make_args(const struct fixture *f, union descriptor *d)
{
    d->args = f->args;
}
static void make_sync(const struct fixture *f, union descriptor *d)
{
    (void)f;
    d->sync = (xl_sync){XL_SYNC_INIT};
}
static void make_sampling(const struct fixture *f, union descriptor *d)
{
    (void)f;
    d->sampling = (xl_sampling){XL_SAMPLING_INIT, .min_runs = 1, .max_runs = 1,
                                .max_noise = 1};
}
static void make_tuning(const struct fixture *f, union descriptor *d)
{
    (void)f;
    d->tuning = (xl_tuning){XL_TUNING_INIT, .stop = stop_at_once};
}

/* Each call, and the bytes of a descriptor that lacks its last members. */
static const struct described_call {
    const char *initialiser;
    void (*make)(const struct fixture *, union descriptor *);
    size_t old_bytes;
    xl_status (*call)(struct fixture *, const void *);
    bool has_no_queue; /* nor a message */
} calls[] = {
    {"XL_OPTIONS_INIT", make_options, offsetof(xl_options, tuned_dir),
     open_with, true},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), run_gemm, false},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), run_gemm_group,
     false},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), prepare_gemm, false},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), prepare_gemm_range,
     false},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), prepare_gemm_later,
     false},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), gemm_workspace,
     false},
    {"XL_GEMM_INIT", make_gemm, offsetof(xl_gemm, batch), explain_gemm, false},
    {"XL_CONV_INIT", make_conv, offsetof(xl_conv, epilogue), run_conv, false},
    {"XL_CONV_INIT", make_conv, offsetof(xl_conv, variant), prepare_conv_range,
     false},
    {"XL_SOFTMAX_INIT", make_softmax, offsetof(xl_softmax, mask), run_softmax,
     false},
    {"XL_SOFTMAX_INIT", make_softmax, offsetof(xl_softmax, variant),
     prepare_softmax_range, false},
    {"XL_NORM_INIT", make_norm, offsetof(xl_norm, residual), run_norm, false},
    {"XL_NORM_INIT", make_norm, offsetof(xl_norm, variant), prepare_norm_range,
     false},
    {"XL_ATTENTION_INIT", make_attention, offsetof(xl_attention, mask),
     run_attention, false},
    {"XL_ATTENTION_INIT", make_attention, offsetof(xl_attention, variant),
     prepare_attention_range, false},
    {"XL_EXPR_ARGS_INIT", make_args, offsetof(xl_expr_args, variant),
     compile_expr, false},
    {"XL_EXPR_ARGS_INIT", make_args, offsetof(xl_expr_args, variant), run_expr,
     false},
    {"XL_EXPR_ARGS_INIT", make_args, offsetof(xl_expr_args, workspace),
     expr_workspace, false},
    {"XL_SYNC_INIT", make_sync, offsetof(xl_sync, done), run_with_sync, false},
    {"XL_SYNC_INIT", make_sync, offsetof(xl_sync, done), write_with_sync,
     false},
    {"XL_SYNC_INIT", make_sync, offsetof(xl_sync, done), fill_with_sync,
     false},
    {"XL_SAMPLING_INIT", make_sampling, offsetof(xl_sampling, stop),
     take_samples, false},
    {"XL_TUNING_INIT", make_tuning, offsetof(xl_tuning, journal), tune_gemm,
     false},
};

enum { N_CALLS = sizeof calls / sizeof *calls };

static void set_up(struct fixture *f)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    const size_t side = SIDE;
    memset(f, 0, sizeof *f);
    test_device_open(&f->t, &options);
    for (unsigned i = 0; i < N_MEMS; i++)
        assert_status(xl_buffer_create(f->t.queue,
                                       GROUP * SIDE * SIDE * sizeof(float),
                                       &f->mem[i]),
                      XL_OK, xl_error_detail(f->t.queue));
    f->x = (xl_binding){
        .name = "x", .tensor = xl_tensor_dense(f->mem[0], XL_F32, 1, &side)};
    f->args =
        (xl_expr_args){XL_EXPR_ARGS_INIT, .bindings = &f->x, .n_bindings = 1};
    assert_status(xl_expr_compile(f->t.queue, text, &f->args, &f->expr), XL_OK,
                  xl_error_detail(f->t.queue));
}

static void tear_down(struct fixture *f)
{
    xl_expr_destroy(f->expr);
    for (unsigned i = 0; i < N_MEMS; i++)
        clReleaseMemObject(f->mem[i]);
    test_device_close(&f->t);
    assert_int_equal(test_stub()->live(), 0);
}

/* The descriptor of a call, amid bytes that a read beyond it would show. */
static size_t make_descriptor(const struct fixture *f,
                              const struct described_call *c,
                              union descriptor *d)
{
    memset(d, 0xff, sizeof *d);
    c->make(f, d);
    /* The union's other bytes are unspecified after that. */
    memset(d->bytes + d->size, 0xff, sizeof *d - d->size);
    return d->size;
}

static void expect_accepted(struct fixture *f, const struct described_call *c,
                            const union descriptor *d)
{
    const xl_status status = c->call(f, d);
    if (status != XL_OK)
        fail_msg("call %td, %zu bytes: %s, %s", c - calls, d->size,
                 xl_status_name(status), xl_error_detail(f->t.queue));
}

/* `part` is in the message, where the call has one. */
static void expect_refused(struct fixture *f, const struct described_call *c,
                           const union descriptor *d, const char *part)
{
    const xl_status status = c->call(f, d);
    const char *message = xl_error_detail(f->t.queue);
    if (status != XL_BAD_ARGUMENT)
        fail_msg("call %td, %zu bytes: %s", c - calls, d->size,
                 xl_status_name(status));
    if (!c->has_no_queue &&
        (!strstr(message, part) || !strstr(message, c->initialiser)))
        fail_msg("call %td, %zu bytes: \"%s\" does not say \"%s\" and \"%s\"",
                 c - calls, d->size, message, part, c->initialiser);
}

static void wrong_sizes_are_refused(void **state)
{
    static const size_t wrong[] = {
        0,        1,           5, sizeof(size_t), 1001, (size_t)1 << 20,
        SIZE_MAX, SIZE_MAX - 7};
    struct fixture f;
    union descriptor d;
    (void)state;
    set_up(&f);
    for (unsigned i = 0; i < N_CALLS; i++) {
        for (unsigned k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            char part[64];
            make_descriptor(&f, &calls[i], &d);
            d.size = wrong[k];
            snprintf(part, sizeof part, "size is %zu", wrong[k]);
            expect_refused(&f, &calls[i], &d, part);
        }
    }
    tear_down(&f);
}

static void smaller_ones_lack_members(void **state)
{
    struct fixture f;
    union descriptor d;
    (void)state;
    set_up(&f);
    for (unsigned i = 0; i < N_CALLS; i++) {
        make_descriptor(&f, &calls[i], &d);
        expect_accepted(&f, &calls[i], &d);
        d.size = calls[i].old_bytes;
        memset(d.bytes + d.size, 0xff, sizeof d - d.size);
        expect_accepted(&f, &calls[i], &d);
    }
    tear_down(&f);
}

static void larger_ones_end_with_zeros(void **state)
{
    enum { MORE = 5 * sizeof(size_t) };
    struct fixture f;
    union descriptor d;
    (void)state;
    set_up(&f);
    for (unsigned i = 0; i < N_CALLS; i++) {
        const size_t bytes = make_descriptor(&f, &calls[i], &d);
        char part[64];
        d.size = bytes + MORE;
        memset(d.bytes + bytes, 0, MORE);
        expect_accepted(&f, &calls[i], &d);
        for (size_t at = 0; at < MORE; at += MORE - 1) {
            memset(d.bytes + bytes, 0, MORE);
            d.bytes[bytes + at] = 1;
            snprintf(part, sizeof part, "byte %zu is not 0", bytes + at);
            expect_refused(&f, &calls[i], &d, part);
        }
    }
    tear_down(&f);
}

/* -- groups ----------------------------------------------------------------
 */

/* GROUP products, each `step` bytes after the other. */
static void make_group(const struct fixture *f, size_t step,
                       unsigned char *bytes)
{
    union descriptor d;
    memset(bytes, 0, GROUP * step);
    for (size_t i = 0; i < GROUP; i++) {
        make_gemm(f, &d);
        d.gemm.c.offset = i * SIDE * SIDE;
        d.size = step;
        memcpy(bytes + i * step, &d,
               step < sizeof d.gemm ? step : sizeof d.gemm);
    }
}

static void products_of_other_headers(void **state)
{
    static const size_t steps[] = {offsetof(xl_gemm, batch), sizeof(xl_gemm),
                                   sizeof(xl_gemm) + 2 * sizeof(size_t)};
    struct fixture f;
    static size_t room[GROUP * ROOM / sizeof(size_t)];
    (void)state;
    set_up(&f);
    for (unsigned i = 0; i < 3; i++) {
        unsigned char *bytes = (unsigned char *)room;
        const size_t other = steps[(i + 1) % 3];
        make_group(&f, steps[i], bytes);
        assert_status(
            xl_gemm_run_group(f.t.queue, (const void *)room, GROUP, NULL),
            XL_OK, xl_error_detail(f.t.queue));
        memcpy(bytes + 2 * steps[i], &other, sizeof other);
        assert_status(
            xl_gemm_run_group(f.t.queue, (const void *)room, GROUP, NULL),
            XL_BAD_ARGUMENT, xl_error_detail(f.t.queue));
        assert_non_null(strstr(xl_error_detail(f.t.queue), "product 2"));
        assert_non_null(strstr(xl_error_detail(f.t.queue), "XL_GEMM_INIT"));
    }
    tear_down(&f);
}

static void size_of_a_convolution(void **state)
{
    union descriptor d;
    size_t p, q;
    (void)state;
    d.conv = (xl_conv){XL_CONV_INIT, .n = 1, .c = 1, .h = 8,
                       .w = 9,       .k = 1, .r = 3, .s = 3};
    assert_int_equal(xl_conv_out_size(&d.conv, &p, &q), XL_OK);
    assert_int_equal(p, 6);
    assert_int_equal(q, 7);
    d.size = offsetof(xl_conv, stride_h);
    d.conv.stride_h = 5;
    assert_int_equal(xl_conv_out_size(&d.conv, &p, &q), XL_OK);
    assert_int_equal(p, 6);
    d.size = 0;
    assert_int_equal(xl_conv_out_size(&d.conv, &p, &q), XL_BAD_ARGUMENT);
    assert_int_equal(p, 0);
}

/* Bindings learn the same layouts from the library. */
static void members_as_compiled(void **state)
{
    unsigned n = 0, n_found = 0;
    (void)state;
    for (const xl_member *m; (m = xl_member_at(n)); n++) {
        assert_true(m->offset + m->bytes <= m->in_bytes);
        if (!strcmp(m->in, "xl_scales") && !strcmp(m->name, "zero")) {
            assert_int_equal(m->in_bytes, sizeof(xl_scales));
            assert_int_equal(m->offset, offsetof(xl_scales, zero));
            assert_string_equal(m->type, "const xl_mat *");
            n_found++;
        } else if (!strcmp(m->in, "xl_tensor") && !strcmp(m->name, "stride")) {
            assert_int_equal(m->bytes, XL_MAX_DIMS * sizeof(size_t));
            assert_string_equal(m->type, "size_t");
            n_found++;
        }
    }
    assert_int_equal(n_found, 2);
    assert_null(xl_member_at(n));
    assert_null(xl_member_at(UINT_MAX));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(smaller_ones_lack_members),
        cmocka_unit_test(larger_ones_end_with_zeros),
        cmocka_unit_test(products_of_other_headers),
        cmocka_unit_test(size_of_a_convolution),
        cmocka_unit_test(members_as_compiled),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
