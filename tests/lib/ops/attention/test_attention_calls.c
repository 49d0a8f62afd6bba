/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of attention refuses, with the operand or member that is named;
 * lengths in memory that are cut;
 * a preparation without memory and one in the background, whose optional
 * operands are copied; a range of lengths; scratch memory. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "support/support.h"

enum { PENDING = 1, STEP_NS = 1000000 };
enum { HEADS = 4, KV_HEADS = 2, N_Q = 19, N_KV = 23, DIM = 16 };
enum { Q_ELEMS = HEADS * N_Q * DIM, KV_ELEMS = KV_HEADS * N_KV * DIM };

static struct test_device t;
static cl_mem q, k, v, o, heads;
static float host[HEADS * N_Q * DIM];

static xl_heads view_of(cl_mem mem)
{
    return (xl_heads){.mem = {.buf = mem}, .dtype = XL_F32};
}

static xl_attention good_call(void)
{
    return (xl_attention){XL_ATTENTION_INIT, .n_heads = HEADS,
                          .n_kv_heads = KV_HEADS, .n_q = N_Q, .n_kv = N_KV,
                          .d_head = DIM, .q = view_of(q), .k = view_of(k),
                          .v = view_of(v), .o = view_of(o)};
}

static int open_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < Q_ELEMS; i++)
        host[i] = (float)(i * 37 % 101) / 50 - 1;
    cl_mem *const all[] = {&q, &k, &v, &o, &heads};
    static const size_t elems[] = {Q_ELEMS, KV_ELEMS, KV_ELEMS, Q_ELEMS,
                                   HEADS};
    for (unsigned i = 0; i < 5; i++) {
        assert_status(xl_buffer_create(t.queue, elems[i] * sizeof *host,
                                       all[i]),
                      XL_OK, xl_error_detail(t.queue));
        assert_status(xl_buffer_write(t.queue, *all[i], 0, host,
                                      elems[i] * sizeof *host),
                      XL_OK, xl_error_detail(t.queue));
    }
    return 0;
}

static int close_buffers(void **state)
{
    const cl_mem all[] = {q, k, v, o, heads};
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        clReleaseMemObject(all[i]);
    return 0;
}

static void refuses(xl_attention a, xl_status want, const char *named)
{
    const xl_status got = xl_attention_run(t.queue, &a, NULL);
    const char *why = xl_error_detail(t.queue);
    assert_status(got, want, why);
    if (!strstr(why, named))
        fail_msg("'%s' does not name '%s'", why, named);
}

/* Each from the good call, with one member changed. */
#define REFUSES(change, status, named)                                        \
    do {                                                                      \
        xl_attention a = good_call();                                         \
        change;                                                               \
        refuses(a, status, named);                                            \
    } while (0)

static void wrong_members(void **state)
{
    xl_heads x = view_of(heads), wide = view_of(heads);
    xl_binding b[XL_ATTENTION_MAX_BINDINGS + 1] = {{.name = "b"}};
    (void)state;
    wide.dtype = XL_F16;
    REFUSES(a.n_q = 0, XL_BAD_SHAPE, "n_q = 0");
    REFUSES(a.n_kv = 0, XL_BAD_SHAPE, "n_kv = 0");
    REFUSES(a.d_head = 0, XL_BAD_SHAPE, "d_head = 0");
    REFUSES(a.d_head = 257, XL_UNSUPPORTED, "257");
    REFUSES(a.n_kv_heads = 3, XL_BAD_SHAPE, "3");
    REFUSES(a.n_q = (size_t)-1, XL_OVERFLOW, "queries");
    REFUSES(a.scale = (double)NAN, XL_BAD_SCALAR, "scale");
    REFUSES(a.scale = 1e-60, XL_BAD_SCALAR, "scale");
    REFUSES(a.soft_cap = -1, XL_BAD_SCALAR, "soft_cap");
    REFUSES(a.accuracy = XL_N_ACCURACIES, XL_BAD_ARGUMENT, "accuracy");
    REFUSES(a.q.dtype = XL_F64, XL_UNSUPPORTED, "q f64");
    REFUSES(a.k.dtype = XL_F16, XL_UNSUPPORTED, "k f16");
    REFUSES(a.o.dtype = XL_BF16, XL_UNSUPPORTED, "o bf16");
    REFUSES(a.sinks = &wide, XL_UNSUPPORTED, "sinks");
    REFUSES((wide.dtype = XL_I8, a.mask = &wide), XL_UNSUPPORTED, "mask");
    REFUSES(a.v = view_of(heads), XL_BUFFER_TOO_SMALL, "v");
    REFUSES(a.mask = &x, XL_BUFFER_TOO_SMALL, "mask");
    REFUSES(a.o.mem.buf = q, XL_OVERLAP, "q");
    REFUSES((x.mem.buf = o, a.lse = &x), XL_OVERLAP, "lse");
    REFUSES(a.o.stride[2] = 1, XL_OVERLAP, "o");
    REFUSES(a.variant = "attention_none", XL_BAD_ARGUMENT, "attention_none");
    REFUSES((a.prologue = (xl_epilogue){"x + b", b,
                                        XL_ATTENTION_MAX_BINDINGS + 1}),
            XL_BAD_ARGUMENT, "bindings");
    REFUSES(a.prologue.expr = "sum(x)", XL_BAD_ARGUMENT, "prologue");
    /* The memory of o, of which a score would read what others have written. */
    b[0].tensor = xl_tensor_dense(o, XL_F32, 0, NULL);
    REFUSES((a.prologue = (xl_epilogue){"x + b", b, 1}), XL_OVERLAP, "b");
    const xl_attention good = good_call();
    assert_status(xl_attention_run(t.queue, &good, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

/* Sequences of unequal lengths: kinds, sizes, types, memory. */
static void wrong_rows(void **state)
{
    enum { PAGE = 16, PAGES = 2 };
    xl_heads numbers = view_of(heads), scales = view_of(heads);
    (void)state;
    numbers.dtype = XL_I32;
    xl_sequences rows = {.kind = XL_ROWS_LENGTHS,
                         .numbers = numbers,
                         .n_total = PAGES,
                         .pages = numbers,
                         .page_rows = PAGE};
#define WITH_ROWS(which, change) (change, a.which = &rows)
    REFUSES(WITH_ROWS(kv_rows, rows.kind = 0), XL_BAD_ARGUMENT,
            "kv_rows.kind");
    REFUSES(WITH_ROWS(q_rows, rows.kind = XL_ROWS_PAGED), XL_BAD_ARGUMENT,
            "q_rows.kind");
    REFUSES(WITH_ROWS(kv_rows, rows.page_rows = PAGE / 2), XL_BAD_SHAPE,
            "power of two");
    REFUSES(WITH_ROWS(kv_rows, rows.page_rows = PAGE + 1), XL_BAD_SHAPE,
            "power of two");
    rows.page_rows = PAGE;
    REFUSES(WITH_ROWS(kv_rows, rows.n_total = 0), XL_BAD_SHAPE, "n_total");
    rows.n_total = N_KV;
    REFUSES(WITH_ROWS(kv_rows, (rows.kind = XL_ROWS_PACKED,
                                rows.numbers.dtype = XL_F32)),
            XL_UNSUPPORTED, "kv_rows");
    rows.numbers = numbers;
    rows.n_total = N_KV + 1;
    REFUSES(WITH_ROWS(kv_rows, (void)0), XL_BUFFER_TOO_SMALL, "k");
    rows.n_total = N_KV;
    rows.numbers.offset = HEADS;
    REFUSES(WITH_ROWS(kv_rows, (void)0), XL_BUFFER_TOO_SMALL, "kv_rows");
    rows.numbers = numbers;
    REFUSES(a.k_scales = &scales, XL_UNSUPPORTED, "scales");
    REFUSES(a.k.dtype = XL_I8, XL_UNSUPPORTED, "k i8");
    REFUSES(a.q.dtype = XL_F8E4M3, XL_UNSUPPORTED, "q f8e4m3");
    REFUSES((a.q.dtype = a.k.dtype = a.v.dtype = a.o.dtype = XL_F8E4M3),
            XL_UNSUPPORTED, "o f8e4m3");
    REFUSES((a.q.dtype = XL_F16, a.k.dtype = a.v.dtype = XL_F8E4M3),
            XL_UNSUPPORTED, "o f32");
    REFUSES((a.kv_rows = &rows, a.is_backward = true,
             a.lse = a.grad_o = a.grad_q = a.grad_k = a.grad_v = &scales),
            XL_UNSUPPORTED, "unequal");
    xl_attention a = good_call();
    a.kv_rows = &rows;
    a.variant = "attention_flash";
    assert_status(xl_attention_run(t.queue, &a, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

/* Lengths outside their range are cut: the buffer of `heads` has 4 of them. */
static void cut_lengths(void **state)
{
    const int32_t cut[HEADS] = {-5, 1 << 30}, fit[HEADS] = {0, N_KV};
    float wide[2][2 * Q_ELEMS];
    cl_mem lists, big;
    (void)state;
    assert_status(xl_buffer_create(t.queue, sizeof cut, &lists), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_create(t.queue, sizeof *wide, &big), XL_OK,
                  xl_error_detail(t.queue));
    for (unsigned i = 0; i < 2; i++) {
        xl_attention a = good_call();
        xl_sequences rows = {.kind = XL_ROWS_LENGTHS,
                             .numbers = view_of(lists)};
        rows.numbers.dtype = XL_I32;
        a.n_batch = 2;
        a.n_kv_heads = 1;
        a.kv_rows = &rows;
        a.q.stride[3] = a.k.stride[3] = a.v.stride[3] = 1;
        a.q.stride[2] = a.k.stride[2] = a.v.stride[2] = DIM;
        a.q.stride[1] = N_Q * DIM; /* both sequences read the same */
        a.o = view_of(big);
        assert_status(
            xl_buffer_write(t.queue, lists, 0, i ? fit : cut, sizeof cut),
            XL_OK, xl_error_detail(t.queue));
        assert_status(xl_attention_run(t.queue, &a, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, big, 0, wide[i], sizeof *wide),
                      XL_OK, xl_error_detail(t.queue));
    }
    assert_memory_equal(wide[0], wide[1], sizeof *wide);
    for (unsigned i = 0; i < Q_ELEMS; i++)
        assert_true(wide[0][i] == 0 && !isnan(wide[0][Q_ELEMS + i]));
    assert_true(wide[0][Q_ELEMS] != 0);
    clReleaseMemObject(lists);
    clReleaseMemObject(big);
}

/* As large as the variant says it must be, and no byte less. */
static void scratch_memory(void **state)
{
    const char *name;
    (void)state;
    for (unsigned i = 0; (name = xl_variant_name(t.device, "attention", i));
         i++) {
        xl_attention a = good_call();
        size_t bytes = 0;
        cl_mem scratch = NULL;
        a.variant = name;
        assert_status(xl_attention_workspace(t.queue, &a, &bytes), XL_OK,
                      xl_error_detail(t.queue));
        if (bytes == 0)
            continue;
        assert_status(xl_buffer_create(t.queue, bytes, &scratch), XL_OK,
                      xl_error_detail(t.queue));
        a.workspace.buf = scratch;
        assert_status(xl_attention_run(t.queue, &a, NULL), XL_OK,
                      xl_error_detail(t.queue));
        a.workspace.bytes = bytes - 1;
        assert_status(xl_attention_run(t.queue, &a, NULL),
                      XL_BUFFER_TOO_SMALL, name);
        clReleaseMemObject(scratch);
    }
}

static void set_status(xl_status status, const char *detail, void *arg)
{
    (void)detail;
    atomic_store((atomic_int *)arg, status);
}

/* The optional operands are gone before the call is made. */
static void preparations(void **state)
{
    xl_attention a = good_call(), bare = good_call();
    xl_heads sinks = view_of(heads);
    atomic_int status = PENDING;
    (void)state;
    bare.q.mem = bare.k.mem = bare.v.mem = bare.o.mem = (xl_mem){.buf = NULL};
    assert_status(xl_attention_prepare(t.queue, &bare), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_attention_prepare_range(t.queue, &bare, N_KV + 2), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_attention_prepare_range(t.queue, &bare, N_KV - 1),
                  XL_BAD_ARGUMENT, "a range that descends");
    a.sinks = &sinks;
    assert_status(xl_attention_prepare_async(t.queue, &a, 0, set_status,
                                             &status),
                  XL_OK, xl_error_detail(t.queue));
    memset(&sinks, 0xff, sizeof sinks);
    while (atomic_load(&status) == PENDING)
        xl__sleep_ns(STEP_NS);
    assert_status(atomic_load(&status), XL_OK, "in the background");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_members, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(wrong_rows, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(cut_lengths, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(scratch_memory, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(preparations, open_buffers,
                                        close_buffers)};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
