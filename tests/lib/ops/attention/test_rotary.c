/* SPDX-License-Identifier: Apache-2.0 */
/* The rotary embedding with the append to the cache: what a call refuses, with
 * the operand or member that is named; preparations without memory; a row with
 * a NaN in a narrow cache; random configurations against the host, with guard
 * zones.
 *
 * XL_TEST_CASES    number of random configurations; 60 otherwise */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "ops/rotary/rotary.h"
#include "verify/verify.h"

enum { HEADS = 2, TOKENS = 3, KEYS = 5, D = 8, SEED = 5, CASES = 60 };
enum { ELEMS = HEADS * KEYS * D };

static struct test_device t;
static cl_mem q, k, v, q_out, k_cache, v_cache, scales, numbers;
static cl_mem *const all[] = {&q,       &k,       &v,      &q_out,
                              &k_cache, &v_cache, &scales, &numbers};
enum { N_ALL = sizeof all / sizeof *all };

static int open_buffers(void **state)
{
    static const float zeros[ELEMS];
    (void)state;
    for (unsigned i = 0; i < N_ALL; i++) {
        assert_status(xl_buffer_create(t.queue, sizeof zeros, all[i]), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(
            xl_buffer_write(t.queue, *all[i], 0, zeros, sizeof zeros), XL_OK,
            xl_error_detail(t.queue));
    }
    return 0;
}

static int close_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_ALL; i++)
        clReleaseMemObject(*all[i]);
    return 0;
}

/* -- calls ---------------------------------------------------------------- */

/* A call and what it points to. */
struct call {
    xl_heads v, v_cache, scales, factors;
    xl_sequences rows;
    xl_rotary r;
};

static void init(struct call *c)
{
    *c = (struct call){
        .v = {.mem.buf = v, .dtype = XL_F32},
        .v_cache = {.mem.buf = v_cache, .dtype = XL_F32},
        .scales = {.mem.buf = scales, .dtype = XL_F32},
        .factors = {.mem.buf = scales, .dtype = XL_F32},
        .rows = {.kind = XL_ROWS_LENGTHS,
                 .numbers = {.mem.buf = numbers, .dtype = XL_I32}},
        .r = {XL_ROTARY_INIT, .n_heads = HEADS, .n_q = TOKENS, .n_kv = KEYS,
              .d_head = D, .q = {.mem.buf = q, .dtype = XL_F32},
              .k = {.mem.buf = k, .dtype = XL_F32},
              .q_out = {.mem.buf = q_out, .dtype = XL_F32},
              .k_cache = {.mem.buf = k_cache, .dtype = XL_F32}}};
    c->r.v = &c->v;
    c->r.v_cache = &c->v_cache;
}

static void refuses(const xl_rotary *r, xl_status want, const char *named)
{
    const xl_status got = xl_rotary_run(t.queue, r, NULL);
    const char *why = xl_error_detail(t.queue);
    assert_status(got, want, why);
    if (!strstr(why, named))
        fail_msg("'%s' does not name '%s'", why, named);
}

/* Each from the good call, with one member changed. */
#define REFUSES(change, status, named)                                        \
    do {                                                                      \
        struct call c;                                                        \
        init(&c);                                                             \
        change;                                                               \
        refuses(&c.r, status, named);                                         \
    } while (0)

static void wrong_members(void **state)
{
    struct call good;
    (void)state;
    REFUSES(c.r.n_heads = 0, XL_BAD_SHAPE, "n_heads = 0");
    REFUSES(c.r.n_q = 0, XL_BAD_SHAPE, "n_q = 0");
    REFUSES(c.r.n_kv = 0, XL_BAD_SHAPE, "n_kv = 0");
    REFUSES(c.r.d_head = 7, XL_BAD_SHAPE, "d_head = 7");
    REFUSES(c.r.d_rotary = 3, XL_BAD_SHAPE, "d_rotary = 3");
    REFUSES(c.r.d_rotary = D + 2, XL_BAD_SHAPE, "d_rotary = 10");
    REFUSES(c.r.d_head = 258, XL_UNSUPPORTED, "258");
    REFUSES(c.r.n_kv = (size_t)1 << 31, XL_OVERFLOW, "2^31");
    REFUSES(c.r.pairs = XL_N_ROTARY_PAIRS, XL_BAD_ARGUMENT, "pairs");
    REFUSES(c.r.v = NULL, XL_BAD_ARGUMENT, "v_cache");
    REFUSES(c.r.v_cache = NULL, XL_BAD_ARGUMENT, "v_cache");
    REFUSES(c.r.q_norm = &c.factors, XL_BAD_ARGUMENT, "k_norm");
    REFUSES(c.r.q_norm = c.r.k_norm = &c.factors;
            c.factors.dtype = XL_F16, XL_UNSUPPORTED, "q_norm of f16");
    REFUSES(c.r.norm_eps = -1, XL_BAD_SCALAR, "norm_eps");
    REFUSES(c.r.base = 1, XL_BAD_SCALAR, "base");
    REFUSES(c.r.base = (double)NAN, XL_BAD_SCALAR, "base");
    REFUSES(c.r.scale = -1, XL_BAD_SCALAR, "scale");
    REFUSES(c.r.scale = 5, XL_BAD_SCALAR, "scale");
    REFUSES(c.r.magnitude = (double)INFINITY, XL_BAD_SCALAR, "magnitude");
    REFUSES(c.r.q.dtype = XL_F16, XL_UNSUPPORTED, "q f16");
    REFUSES(c.r.q_out.dtype = XL_I8, XL_UNSUPPORTED, "q_out i8");
    REFUSES(c.r.k_cache.dtype = XL_F16, XL_UNSUPPORTED, "k_cache f16");
    REFUSES(c.r.k_scales = &c.scales, XL_UNSUPPORTED, "scales");
    REFUSES(c.scales.dtype = XL_F16; c.r.k_cache.dtype = XL_I8;
            c.v_cache.dtype = XL_I8;
            c.r.k_scales = &c.scales, XL_UNSUPPORTED, "k_scales of f16");
    REFUSES(c.r.factors = &c.factors;
            c.r.pairs = XL_ROTARY_NONE, XL_BAD_ARGUMENT, "factors");
    REFUSES(c.r.kv_rows = &c.rows;
            c.rows.kind = 0, XL_BAD_ARGUMENT, "kv_rows.kind");
    REFUSES(c.r.q_rows = &c.rows;
            c.rows.kind = XL_ROWS_PAGED, XL_BAD_ARGUMENT, "q_rows.kind");
    REFUSES(c.r.kv_rows = &c.rows; c.rows.kind = XL_ROWS_PAGED;
            c.rows.pages.dtype = XL_I32; c.rows.n_total = 1;
            c.rows.page_rows = 8, XL_BAD_SHAPE, "page_rows");
    REFUSES(c.r.kv_rows = &c.rows;
            c.rows.numbers.dtype = XL_F32, XL_UNSUPPORTED, "kv_rows of f32");
    REFUSES(c.r.k_cache.mem.buf = NULL, XL_BAD_ARGUMENT, "k_cache");
    REFUSES(c.r.n_kv = 6, XL_BUFFER_TOO_SMALL, "k_cache");
    REFUSES(c.r.k_cache.mem.buf = k, XL_OVERLAP, "k_cache");
    REFUSES(c.v_cache.mem.buf = k_cache, XL_OVERLAP, "k_cache");
    REFUSES(c.r.q_out.mem.buf = q; c.r.q_out.offset = 1, XL_OVERLAP, "q_out");
    REFUSES(c.r.variant = "rotary_none", XL_BAD_ARGUMENT, "rotary_none");
    init(&good);
    good.r.q_out = good.r.q;
    assert_status(xl_rotary_run(t.queue, &good.r, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

static void preparations(void **state)
{
    struct call c;
    size_t bytes = 1;
    (void)state;
    init(&c);
    c.r.kv_rows = &c.rows;
    c.r.q.mem = c.r.k.mem = c.v.mem = c.r.q_out.mem = c.r.k_cache.mem =
        c.v_cache.mem = c.rows.numbers.mem = (xl_mem){.buf = NULL};
    assert_status(xl_rotary_prepare(t.queue, &c.r), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_rotary_prepare_range(t.queue, &c.r, TOKENS + 9), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_rotary_workspace(t.queue, &c.r, &bytes), XL_OK,
                  xl_error_detail(t.queue));
    assert_int_equal(bytes, 0);
}

/* Rows have numbers of 32 bits where all of these fit, of 64 bits otherwise;
 * a self-check runs both programs. */
static void numbers_of_rows(void **state)
{
    enum { MOST = INT32_MAX / (3 * HEADS * TOKENS) };
    static const struct {
        size_t n_batch;
        bool is_wide;
    } counts[] = {
        {1, false}, {MOST, false}, {MOST + 1, true}, {(size_t)1 << 33, true}};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct call c;
        struct xl__rotary_canonical canonical;
        struct xl__call call;
        struct xl__plan *p = calloc(1, sizeof *p);
        const struct xl__params params = {.source = "model"};
        assert_non_null(p);
        init(&c);
        c.r.n_batch = counts[i].n_batch;
        assert_int_equal(xl__op_rotary.bind(t.queue, &c.r, &canonical, &call),
                         XL_OK);
        assert_int_equal(xl__rotary_ref.plan(&t.queue->ctx->device->limits,
                                             &canonical, &params, p),
                         XL_OK);
        assert_int_equal(strstr(p->step[0].options, " -DWIDE=1") != NULL,
                         counts[i].is_wide);
        assert_true(counts[i].is_wide ||
                    p->step[0].global[0] / (D / 2) <= UINT32_MAX);
        free(p);
        c.r.q.mem = c.r.k.mem = c.v.mem = c.r.q_out.mem = c.r.k_cache.mem =
            c.v_cache.mem = (xl_mem){.buf = NULL};
        assert_status(xl_rotary_prepare(t.queue, &c.r), XL_OK,
                      xl_error_detail(t.queue));
    }
}

/* Keys are enqueued for one position after the other by one plan. */
static void positions(void **state)
{
    float one[HEADS * D], got[ELEMS];
    (void)state;
    for (size_t i = 0; i < HEADS * D; i++)
        one[i] = 1;
    assert_status(xl_buffer_write(t.queue, k, 0, one, sizeof one), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t n_kv = 1; n_kv <= KEYS; n_kv++) {
        struct call c;
        init(&c);
        c.r.n_q = 1;
        c.r.n_kv = n_kv;
        c.r.k_cache.stride[0] = 0;
        c.r.k_cache.stride[1] = c.v_cache.stride[1] = KEYS * D;
        c.r.k_cache.stride[2] = c.v_cache.stride[2] = D;
        c.r.k_cache.stride[3] = c.v_cache.stride[3] = 1;
        assert_status(xl_rotary_run(t.queue, &c.r, NULL), XL_OK,
                      xl_error_detail(t.queue));
    }
    assert_status(xl_buffer_read(t.queue, k_cache, 0, got, sizeof got), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t h = 0; h < HEADS; h++)
        for (size_t p = 0; p < KEYS; p++) {
            const double x = cos((double)p) - sin((double)p);
            const double y = (double)got[(h * KEYS + p) * D];
            assert_true(fabs(x - y) < 0x1p-18);
        }
}

/* A scale that is NaN makes what attention reads NaN. */
static void not_a_number(void **state)
{
    static const float one_nan[D] = {1, NAN};
    float got[TOKENS];
    struct call c;
    (void)state;
    assert_status(xl_buffer_write(t.queue, k, 0, one_nan, sizeof one_nan),
                  XL_OK, xl_error_detail(t.queue));
    init(&c);
    c.r.n_kv = TOKENS;
    c.r.k_cache.dtype = c.v_cache.dtype = XL_I8;
    c.r.k_scales = &c.scales;
    assert_status(xl_rotary_run(t.queue, &c.r, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, scales, 0, got, sizeof got), XL_OK,
                  xl_error_detail(t.queue));
    assert_true(isnan(got[0]) && got[1] == 0);
}

/* -- random configurations ------------------------------------------------ */

static size_t up_to(struct xl__rng *rng, size_t n)
{
    return (size_t)xl__rng_below(rng, n + 1);
}

static struct rotary_case random_case(struct xl__rng *rng)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16},
                          caches[] = {0, 0, XL_F16, XL_I8, XL_F8E4M3};
    static const size_t dims[] = {2, 6, 32, 64, 80, 128, 256};
    struct rotary_case c = {
        .a = {.name = "random",
              .n_batch = 1 + up_to(rng, 3),
              .share = 1 + up_to(rng, 3),
              .n_q = 1 + up_to(rng, 20),
              .n_kv = 1 + up_to(rng, 90),
              .d = dims[up_to(rng, 6)],
              .dtype = types[up_to(rng, 2)],
              .cache = caches[up_to(rng, 4)],
              .rows_first = up_to(rng, 1),
              .pad = up_to(rng, 9),
              .off = up_to(rng, 9),
              .q_rows = (xl_rows_kind)up_to(rng, XL_ROWS_PACKED),
              .kv_rows = (xl_rows_kind)up_to(rng, XL_ROWS_PAGED),
              .page_rows = (size_t)16 << up_to(rng, 2)},
        .pairs = (xl_rotary_pairs)up_to(rng, XL_ROTARY_NONE),
        .base = up_to(rng, 1) ? 0 : 100 + 1e6 * xl__rng_uniform(rng),
        .scale = up_to(rng, 1) ? 0 : 4 * (1 - xl__rng_uniform(rng)),
        .magnitude = up_to(rng, 3) ? 0 : 0.5 + xl__rng_uniform(rng),
        .no_values = up_to(rng, 4) == 0,
        .in_place = up_to(rng, 4) == 0};
    c.a.n_heads = c.a.share * (1 + up_to(rng, 3));
    if (up_to(rng, 1))
        c.d_rotary = 2 * (1 + up_to(rng, c.a.d / 2 - 1));
    if (c.pairs != XL_ROTARY_NONE)
        c.has_factors = up_to(rng, 3) == 0;
    c.has_norm = up_to(rng, 2) == 0;
    if (c.a.cache == XL_I8 || c.a.cache == XL_F8E4M3)
        c.a.with = up_to(rng, 3) ? WITH_SCALES : 0;
    return c;
}

static void random_configurations(void **state)
{
    const char *asked = getenv("XL_TEST_CASES");
    const unsigned n = asked ? (unsigned)strtoul(asked, NULL, 10) : CASES;
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < n; i++) {
        const struct rotary_case c = random_case(&rng);
        struct check_result found;
        const char *variant = up_to(&rng, 3) ? "rotary_rows" : "rotary_ref";
        const xl_status status =
            verify_rotary(t.queue, &c, variant, SEED + i, &found);
        if (status != XL_OK)
            fail_msg("%s, configuration %u, %zux%zux%zux%zux%zu %s share %zu "
                     "cache %s rows %d,%d pairs %d of %zu: %s %s",
                     variant, i, c.a.n_batch, c.a.n_heads, c.a.n_q, c.a.n_kv,
                     c.a.d, xl_dtype_name(c.a.dtype), c.a.share,
                     xl_dtype_name(c.a.cache), (int)c.a.q_rows,
                     (int)c.a.kv_rows, (int)c.pairs, c.d_rotary,
                     xl_status_text(status),
                     status == XL_WRONG_RESULT ? found.why
                                               : xl_error_detail(t.queue));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_members, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(preparations, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(numbers_of_rows, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(positions, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(not_a_number, open_buffers,
                                        close_buffers),
        cmocka_unit_test(random_configurations)};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
