/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of attention: what a call refuses; that the op of a descriptor is
 * that of its is_backward; calls after a forward pass, equal bit for bit, of
 * each variant; many of short tiles where copies run beside them; every set of
 * tiles by its self-check. Other values: `verify`, test_variants and
 * test_attention_random. */
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { HEADS = 4, KV_HEADS = 2, N = 150, DIM = 64 };
enum { Q, K, V, O, LSE, GRAD_O, GRAD_Q, GRAD_K, GRAD_V, N_VIEWS };
enum { ELEMS = HEADS * N * DIM };

static struct test_device t;
static cl_mem mem[N_VIEWS];
static xl_heads view[N_VIEWS];

static xl_attention forward_call(void)
{
    return (xl_attention){
        XL_ATTENTION_INIT, .n_heads = HEADS,  .n_kv_heads = KV_HEADS,
        .n_q = N,          .n_kv = N,         .d_head = DIM,
        .q = view[Q],      .k = view[K],      .v = view[V],
        .o = view[O],      .is_causal = true, .lse = &view[LSE]};
}

static xl_attention good_call(void)
{
    xl_attention a = forward_call();
    a.is_backward = true;
    a.grad_o = &view[GRAD_O];
    a.grad_q = &view[GRAD_Q];
    a.grad_k = &view[GRAD_K];
    a.grad_v = &view[GRAD_V];
    return a;
}

/* Values of f32, or of f16 with magnitudes of 1/2 to 1. */
static void write_values(xl_dtype dtype)
{
    float *host = malloc(ELEMS * sizeof *host);
    uint16_t *half = (uint16_t *)host;
    assert_non_null(host);
    for (unsigned i = 0; i < (dtype == XL_F32 ? 1 : 2) * ELEMS; i++) {
        const unsigned x = i * 2654435761U;
        if (dtype == XL_F32)
            host[i] = (float)(i * 37 % 101) / 50 - 1;
        else
            half[i] = (uint16_t)(0x3800 | (x >> 8 & 0x3ff) | (x >> 31 << 15));
    }
    for (unsigned i = 0; i < N_VIEWS; i++) {
        assert_status(
            xl_buffer_write(t.queue, mem[i], 0, host, ELEMS * sizeof *host),
            XL_OK, xl_error_detail(t.queue));
        view[i].dtype = i == LSE ? XL_F32 : dtype;
    }
    free(host);
}

static int open_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_VIEWS; i++) {
        assert_status(
            xl_buffer_create(t.queue, ELEMS * sizeof(float), &mem[i]), XL_OK,
            xl_error_detail(t.queue));
        view[i] = (xl_heads){.mem = {.buf = mem[i]}};
    }
    write_values(XL_F32);
    return 0;
}

static int close_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_VIEWS; i++)
        clReleaseMemObject(mem[i]);
    return 0;
}

static void refuses(const xl_attention *a, xl_status want, const char *word)
{
    assert_status(xl_attention_run(t.queue, a, NULL), want, word);
    if (!strstr(xl_error_detail(t.queue), word))
        fail_msg("no '%s' in: %s", word, xl_error_detail(t.queue));
}

static void calls_refused(void **state)
{
    xl_attention a = good_call();
    xl_heads half = view[GRAD_K], repeated = view[GRAD_V];
    (void)state;
    const xl_heads **const needed[] = {&a.lse, &a.grad_o, &a.grad_q, &a.grad_k,
                                       &a.grad_v};
    static const char *const names[] = {"lse", "grad_o", "grad_q", "grad_k",
                                        "grad_v"};
    for (unsigned i = 0; i < 5; i++) {
        const xl_heads *kept = *needed[i];
        *needed[i] = NULL;
        refuses(&a, XL_BAD_ARGUMENT, names[i]);
        *needed[i] = kept;
    }
    a.prologue.expr = "2 * x";
    refuses(&a, XL_UNSUPPORTED, "prologue");
    a = good_call();
    half.dtype = XL_F16;
    a.grad_k = &half;
    refuses(&a, XL_UNSUPPORTED, "grad_k");
    a = good_call();
    a.grad_q = &view[Q];
    refuses(&a, XL_OVERLAP, "grad_q");
    a = good_call();
    repeated.stride[0] = repeated.stride[3] = 1;
    a.grad_v = &repeated;
    assert_int_not_equal(xl_attention_run(t.queue, &a, NULL), XL_OK);
    a = good_call();
    a.variant = "attention_flash";
    assert_int_not_equal(xl_attention_run(t.queue, &a, NULL), XL_OK);
}

static void calls_of_the_other_op(void **state)
{
    const xl_attention backward = good_call(), forward = forward_call();
    const xl_problem wrong[] = {
        {.op = XL_OP_ATTENTION, .desc.attention = &backward},
        {.op = XL_OP_ATTENTION_BACKWARD, .desc.attention = &forward}};
    const xl_candidate none = {.variant = "attention_ref"};
    xl_candidate_result r;
    (void)state;
    assert_int_equal(xl_problem_attention(&backward).op,
                     XL_OP_ATTENTION_BACKWARD);
    assert_int_equal(xl_problem_attention(&forward).op, XL_OP_ATTENTION);
    for (unsigned i = 0; i < 2; i++) {
        assert_status(xl_tune_candidate(t.queue, wrong[i], &none, 0, &r),
                      XL_BAD_ARGUMENT, "");
        if (!strstr(xl_error_detail(t.queue), "gradient"))
            fail_msg("%s", xl_error_detail(t.queue));
    }
}

/* `calls` calls; false: the variant does not support them. */
static bool repeats(xl_attention *a, unsigned calls)
{
    const size_t bytes = ELEMS * sizeof(float);
    char *first = malloc(bytes), *next = malloc(bytes);
    bool is_supported = true;
    assert_true(first && next);
    for (unsigned i = GRAD_Q; i <= GRAD_V; i++) {
        for (unsigned k = 0; is_supported && k < calls; k++) {
            const xl_status status = xl_attention_run(t.queue, a, NULL);
            is_supported = status != XL_UNSUPPORTED;
            if (!is_supported)
                break;
            assert_status(status, XL_OK, xl_error_detail(t.queue));
            assert_status(xl_buffer_read(t.queue, mem[i], 0,
                                         k == 0 ? first : next, bytes),
                          XL_OK, "");
            if (k > 0 && memcmp(first, next, bytes) != 0)
                fail_msg("%s: result %u differs from call to call", a->variant,
                         i);
        }
    }
    free(first);
    free(next);
    return is_supported;
}

/* All variants after a forward pass; as many calls of one with copies as it
 * takes to find one that begins too early. */
static void all_repeat(xl_attention forward)
{
    enum { FEW = 2, MANY = 60 };
    unsigned n_supported = 0;
    assert_status(xl_attention_run(t.queue, &forward, NULL), XL_OK,
                  xl_error_detail(t.queue));
    for (unsigned v = 0;; v++) {
        xl_attention a = good_call();
        a.n_q = forward.n_q;
        a.n_kv = forward.n_kv;
        a.d_head = forward.d_head;
        a.is_causal = forward.is_causal;
        a.variant = xl_variant_name(t.device, "attention_backward", v);
        if (!a.variant)
            break;
        n_supported += repeats(&a, strstr(a.variant, "mma") ? MANY : FEW);
    }
    assert_true(n_supported >= 2);
}

static void calls_repeat(void **state)
{
    (void)state;
    all_repeat(forward_call());
}

/* Queries and keys of tiles so short that copies of the next operands begin
 * early, on devices with a variant that copies. */
static void calls_repeat_short(void **state)
{
    static const size_t sizes[][2] = {
        {150, 150}, {150, 64}, {64, 150}, {128, 128}};
    bool has_copies = false;
    const char *name;
    (void)state;
    for (unsigned v = 0;
         (name = xl_variant_name(t.device, "attention_backward", v)); v++)
        has_copies = has_copies || strstr(name, "mma");
    write_values(XL_F16);
    for (unsigned i = 0; has_copies && i < sizeof sizes / sizeof *sizes; i++) {
        xl_attention forward = forward_call();
        forward.n_q = sizes[i][0];
        forward.n_kv = sizes[i][1];
        forward.d_head = 2 * DIM; /* of f16 as many bytes */
        forward.is_causal = false;
        all_repeat(forward);
    }
    write_values(XL_F32);
}

static void every_set(void **state)
{
    static const char *const sets[] = {
        "BQ=64 BK=64 LX=16 LY=16", "BQ=32 BK=32 LX=16 LY=16",
        "BQ=32 BK=32 LX=8 LY=8",   "BQ=16 BK=16 LX=16 LY=16",
        "BQ=16 BK=16 LX=8 LY=8",   "BQ=8 BK=8 LX=8 LY=8",
        "BQ=16 BK=64 LX=8 LY=8",   "BQ=64 BK=32 LX=4 LY=16"};
    enum { N_SETS = sizeof sets / sizeof *sets, N_CALLS = 3 };
    xl_heads of[N_VIEWS], mask = {.stride = {0, 0, N, 1}, .dtype = XL_F16};
    unsigned n_right = 0, n_tried = 0;
    (void)state;
    for (unsigned i = 0; i < N_CALLS * N_SETS; i++) {
        if (!test_is_sampled(i, 2)) /* of each set one call or two */
            continue;
        n_tried++;
        static const size_t dims[] = {64, 40, 111};
        static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
        const unsigned call = i % N_CALLS;
        xl_attention a = good_call();
        xl_candidate candidate = {.variant = "attention_backward_flash"};
        xl_candidate_result r;
        for (unsigned v = 0; v < N_VIEWS; v++)
            of[v] = (xl_heads){.dtype = v == LSE ? XL_F32 : types[call]};
        a.q = a.k = a.v = a.o = of[Q];
        a.lse = &of[LSE];
        a.grad_o = a.grad_q = a.grad_k = a.grad_v = &of[GRAD_O];
        a.d_head = dims[call];
        a.is_causal = call > 0;
        a.window = call == 2 ? 20 : 0;
        a.soft_cap = call == 1 ? 3 : 0;
        a.slopes = call == 2 ? &of[LSE] : NULL;
        a.mask = call == 1 ? &mask : NULL;
        strcpy(candidate.tunables, sets[i / N_CALLS]);
        assert_status(xl_tune_candidate(t.queue, xl_problem_attention(&a),
                                        &candidate, 0, &r),
                      XL_OK, xl_error_detail(t.queue));
        if (r.end != XL_CANDIDATE_RIGHT && r.end != XL_CANDIDATE_REFUSED)
            fail_msg("call %u, %s: end %d, %s", call, candidate.tunables,
                     (int)r.end, r.why);
        n_right += r.end == XL_CANDIDATE_RIGHT;
    }
    print_message("%u sets and calls\n", n_right);
    assert_true(3 * n_right >= 2 * n_tried);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_refused),
                                       cmocka_unit_test(calls_of_the_other_op),
                                       cmocka_unit_test(calls_repeat),
                                       cmocka_unit_test(calls_repeat_short),
                                       cmocka_unit_test(every_set)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    const int failed = cmocka_run_group_tests_name(
        "attention_gradients", tests, open_buffers, close_buffers);
    test_device_close(&t);
    return failed;
}
