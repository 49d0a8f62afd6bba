/* SPDX-License-Identifier: Apache-2.0 */
/* Each variant of attention gives the same bits at every launch: short tiles,
 * few and many groups, keys that are divided. One launch is compared with the
 * host. What groups leave to each other too early differs only now and then.
 *
 * XL_TEST_LAUNCHES  of each case; 3 otherwise
 * XL_TEST_VARIANT   the only variant; of gradients none is run unless asked for
 * here */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 5 };

static struct test_device t;

#define CASE(b, heads, kv_share, q, kv, causal)                               \
    OF(XL_F16, b, heads, kv_share, q, kv, causal)
#define OF(type, b, heads, kv_share, q, kv, causal)                           \
    {                                                                         \
        .name = "repeated", .n_batch = (b), .n_heads = (heads),               \
        .share = (kv_share), .n_q = (q), .n_kv = (kv), .d = 128,              \
        .dtype = (type), .out = XL_F16, .is_causal = (causal)                 \
    }

static const struct attention_case cases[] = {
    CASE(1, 2, 1, 300, 640, true),
    CASE(1, 4, 1, 512, 64, true),
    CASE(2, 2, 2, 384, 384, true),
    CASE(1, 2, 1, 128, 128, false),
    CASE(1, 8, 8, 1, 3000, false),
    CASE(9, 32, 2, 1, 150, false),
    CASE(3, 8, 4, 4, 1500, true),
    CASE(1, 3, 3, 30, 900, true),
    OF(XL_F8E4M3, 1, 2, 2, 200, 230, true),
    OF(XL_F8E4M3, 1, 1, 1, 128, 128, false)};

/* Numbers below one; a result is 0. */
static void make_buffer(const struct attention_case *c,
                        enum attention_operand x, struct xl__rng *rng,
                        struct attention_memory *to)
{
    enum { SPREAD = 4096 };
    const struct attention_lines lines = attention_lines(c, x);
    const size_t elems = lines.rows * lines.cols,
                 bytes = elems * xl_dtype_bytes(lines.dtype);
    void *host = malloc(bytes);
    assert_non_null(host);
    for (size_t i = 0; i < elems; i++)
        xl__dtype_store(host, i, lines.dtype,
                        attention_is_result(c, x)
                            ? 0
                            : (double)xl__rng_below(rng, 2 * SPREAD) / SPREAD -
                                  1);
    to->ld[x] = lines.cols;
    assert_status(xl_buffer_create(t.queue, bytes, &to->mem[x]), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, to->mem[x], 0, host, bytes), XL_OK,
                  xl_error_detail(t.queue));
    free(host);
}

static size_t bytes_of(const struct attention_case *c,
                       enum attention_operand x)
{
    const struct attention_lines lines = attention_lines(c, x);
    return lines.rows * lines.cols * xl_dtype_bytes(lines.dtype);
}

static void run_repeatedly(const struct attention_case *c, const char *variant,
                           unsigned n)
{
    struct attention_memory at = {.ld = {0}};
    struct attention_call call;
    unsigned char *first[ATTENTION_OPERANDS] = {NULL};
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        if (!attention_has(c, x))
            continue;
        make_buffer(c, x, &rng, &at);
        first[x] = malloc(2 * bytes_of(c, x));
        assert_non_null(first[x]);
    }
    attention_call_init(&call, c, &at, variant);
    for (unsigned i = 0; i < n; i++) {
        assert_status(xl_attention_run(t.queue, &call.a, NULL), XL_OK,
                      xl_error_detail(t.queue));
        for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
            if (!attention_has(c, x) || !attention_is_result(c, x))
                continue;
            const size_t bytes = bytes_of(c, x);
            unsigned char *to = first[x] + (i == 0 ? 0 : bytes);
            assert_status(xl_buffer_read(t.queue, at.mem[x], 0, to, bytes),
                          XL_OK, xl_error_detail(t.queue));
            if (i > 0 && memcmp(first[x], to, bytes) != 0)
                fail_msg("%s: %s of launch %u of %zux%zux%zux%zux%zu differs",
                         variant, attention_names[x], i, c->n_batch,
                         c->n_heads, c->n_q, c->n_kv, c->d);
        }
    }
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        if (at.mem[x])
            clReleaseMemObject(at.mem[x]);
        free(first[x]);
    }
}

static unsigned n_launches(void)
{
    const char *asked = getenv("XL_TEST_LAUNCHES");
    return asked ? (unsigned)strtoul(asked, NULL, 10) : 3;
}

static void check_case(const struct attention_case *c, const char *variant)
{
    struct check_result found;
    const xl_status status =
        verify_attention(t.queue, c, variant, SEED, &found);
    if (status == XL_UNSUPPORTED)
        return;
    if (status != XL_OK)
        fail_msg("%s of %zux%zux%zux%zux%zu: %s %s", variant, c->n_batch,
                 c->n_heads, c->n_q, c->n_kv, c->d, found.why,
                 xl_error_detail(t.queue));
    run_repeatedly(c, variant, n_launches());
}

static void same_bits(void **state)
{
    const char *only = getenv("XL_TEST_VARIANT"), *variant;
    (void)state;
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "attention", v));
         v++) {
        if (only && strcmp(only, variant) != 0)
            continue;
        for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
            check_case(&cases[i], variant);
    }
}

/* Of gradients only a variant that is asked for. */
static void same_gradients(void **state)
{
    static const size_t dims[] = {64, 128};
    const char *only = getenv("XL_TEST_VARIANT");
    (void)state;
    for (unsigned i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct attention_case c = cases[i / 2];
        c.d = dims[i % 2];
        c.is_backward = true;
        if (only && strstr(only, "backward") && c.dtype == XL_F16 && c.n_q > 1)
            check_case(&c, only);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits),
                                       cmocka_unit_test(same_gradients)};
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, &quick);
}
