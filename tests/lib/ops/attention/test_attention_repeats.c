/* SPDX-License-Identifier: Apache-2.0 */
/* Each variant of attention gives the same bits at every launch: short tiles,
 * few and many groups, keys that are divided. One launch is compared with the
 * host. What groups leave to each other too early differs only now and then.
 *
 * XL_TEST_LAUNCHES  of each case; 3 otherwise
 * XL_TEST_VARIANT   the only variant */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 5 };

static struct test_device t;

#define CASE(b, heads, kv_share, q, kv, causal)                               \
    {                                                                         \
        .name = "repeated", .n_batch = (b), .n_heads = (heads),               \
        .share = (kv_share), .n_q = (q), .n_kv = (kv), .d = 128,              \
        .dtype = XL_F16, .is_causal = (causal)                                \
    }

static const struct attention_case cases[] = {
    CASE(1, 2, 1, 300, 640, true), CASE(1, 4, 1, 512, 64, true),
    CASE(2, 2, 2, 384, 384, true), CASE(1, 2, 1, 128, 128, false),
    CASE(1, 8, 8, 1, 3000, false), CASE(9, 32, 2, 1, 150, false),
    CASE(3, 8, 4, 4, 1500, true),  CASE(1, 3, 3, 30, 900, true)};

static cl_mem make_buffer(size_t elems, bool is_random, struct xl__rng *rng,
                          uint16_t *host)
{
    enum { HALF_ONE = 0x3c00, SIGN = 0x8000 };
    cl_mem mem;
    for (size_t i = 0; i < elems; i++)
        host[i] = is_random ? (uint16_t)((xl__rng_below(rng, 2) * SIGN) |
                                         xl__rng_below(rng, HALF_ONE))
                            : 0;
    assert_status(xl_buffer_create(t.queue, elems * sizeof *host, &mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, mem, 0, host, elems * sizeof *host),
                  XL_OK, xl_error_detail(t.queue));
    return mem;
}

static void run_repeatedly(const struct attention_case *c, const char *variant,
                           unsigned n)
{
    const size_t kv = c->n_batch * (c->n_heads / c->share) * c->n_kv * c->d,
                 q = c->n_batch * c->n_heads * c->n_q * c->d,
                 bytes = q * sizeof(uint16_t);
    uint16_t *host = malloc((q > kv ? q : kv) * sizeof *host);
    uint16_t *first = malloc(bytes), *next = malloc(bytes);
    struct xl__rng rng;
    assert_true(host && first && next);
    xl__rng_seed(&rng, SEED);
    cl_mem mem[] = {
        make_buffer(q, true, &rng, host), make_buffer(kv, true, &rng, host),
        make_buffer(kv, true, &rng, host), make_buffer(q, false, &rng, host)};
    const xl_attention a = {XL_ATTENTION_INIT,
                            .n_batch = c->n_batch,
                            .n_heads = c->n_heads,
                            .n_kv_heads = c->n_heads / c->share,
                            .n_q = c->n_q,
                            .n_kv = c->n_kv,
                            .d_head = c->d,
                            .q = {.mem.buf = mem[0], .dtype = c->dtype},
                            .k = {.mem.buf = mem[1], .dtype = c->dtype},
                            .v = {.mem.buf = mem[2], .dtype = c->dtype},
                            .o = {.mem.buf = mem[3], .dtype = c->dtype},
                            .is_causal = c->is_causal,
                            .variant = variant};
    for (unsigned i = 0; i < n; i++) {
        uint16_t *to = i == 0 ? first : next;
        assert_status(xl_attention_run(t.queue, &a, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[3], 0, to, bytes), XL_OK,
                      xl_error_detail(t.queue));
        if (i > 0 && memcmp(first, next, bytes))
            fail_msg("%s: launch %u of %zux%zux%zux%zu differs", variant, i,
                     c->n_batch, c->n_heads, c->n_q, c->n_kv);
    }
    for (unsigned i = 0; i < sizeof mem / sizeof *mem; i++)
        clReleaseMemObject(mem[i]);
    free(host);
    free(first);
    free(next);
}

static void same_bits(void **state)
{
    const char *asked = getenv("XL_TEST_LAUNCHES"),
               *only = getenv("XL_TEST_VARIANT"), *variant;
    const unsigned n = asked ? (unsigned)strtoul(asked, NULL, 10) : 3;
    (void)state;
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "attention", v));
         v++) {
        if (only && strcmp(only, variant) != 0)
            continue;
        for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct check_result found;
            const xl_status status =
                verify_attention(t.queue, &cases[i], variant, SEED, &found);
            if (status == XL_UNSUPPORTED)
                continue;
            if (status != XL_OK)
                fail_msg("%s, case %u: %s %s", variant, i, found.why,
                         xl_error_detail(t.queue));
            run_repeatedly(&cases[i], variant, n);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, &quick);
}
