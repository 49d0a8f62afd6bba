/* SPDX-License-Identifier: Apache-2.0 */
/* Random configurations of attention and of its gradient, each by one of the
 * device's variants, against the host in double with guard zones: head dims,
 * lengths, groups of heads, layouts, masks, options and types in any
 * combination.
 *
 * XL_TEST_CASES  their number; 2000 otherwise */
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"
#include "verify/verify.h"

enum { ALL = 2000, SEED = 17 };

static struct test_device t;

static size_t pick(struct xl__rng *rng, const size_t *from, size_t n)
{
    return from[xl__rng_below(rng, n)];
}

static bool one_in(struct xl__rng *rng, size_t n)
{
    return xl__rng_below(rng, n) == 0;
}

static struct attention_case random_case(struct xl__rng *rng)
{
    static const size_t dims[] = {1, 8, 32, 40, 64, 64, 80, 96, 128, 160, 256};
    static const size_t shares[] = {1, 1, 2, 3, 4};
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};
    enum { MOST_Q = 150, MOST_KV = 200, N_DIMS = sizeof dims / sizeof *dims };
    struct attention_case c = {.name = "random"};
    c.n_batch = 1 + xl__rng_below(rng, 2);
    c.share = pick(rng, shares, sizeof shares / sizeof *shares);
    c.n_heads = c.share * (1 + xl__rng_below(rng, 2));
    c.n_q = one_in(rng, 4) ? 1 : 1 + xl__rng_below(rng, MOST_Q);
    c.n_kv = 1 + xl__rng_below(rng, MOST_KV);
    c.d = one_in(rng, 8) ? 1 + xl__rng_below(rng, 256)
                         : pick(rng, dims, N_DIMS);
    c.dtype = dtypes[xl__rng_below(rng, 3)];
    c.mask = dtypes[xl__rng_below(rng, 3)];
    c.rows_first = one_in(rng, 3);
    c.is_causal = one_in(rng, 2);
    c.window = one_in(rng, 4) ? 1 + xl__rng_below(rng, MOST_KV) : 0;
    c.scale = one_in(rng, 4) ? 0.3 : 0;
    c.soft_cap = one_in(rng, 6) ? 4 : 0;
    c.with = one_in(rng, 2) ? 0 : (unsigned)xl__rng_below(rng, 2 * WITH_SCORE);
    if (c.with & WITH_MASK)
        c.with &= ~(unsigned)WITH_SHARED_MASK;
    c.data = one_in(rng, 4) ? DATA_SPECIALS : DATA_NORMAL;
    c.pad = one_in(rng, 3) ? 8 * xl__rng_below(rng, 3) : xl__rng_below(rng, 4);
    c.off = xl__rng_below(rng, 9);
    return c;
}

static void describe(const struct attention_case *c, char *out, size_t cap)
{
    snprintf(out, cap,
             "%zux%zux%zux%zux%zu %s share %zu%s%s window %zu cap %g scale %g "
             "with %u mask %s data %d pad %zu off %zu",
             c->n_batch, c->n_heads, c->n_q, c->n_kv, c->d,
             xl_dtype_name(c->dtype), c->share,
             c->rows_first ? " rows first" : "", c->is_causal ? " causal" : "",
             c->window, c->soft_cap, c->scale, c->with, xl_dtype_name(c->mask),
             (int)c->data, c->pad, c->off);
}

/* Of a gradient: without a prologue, which has none. */
static void check_op(const char *op, bool is_backward)
{
    const char *asked = getenv("XL_TEST_CASES");
    const unsigned n = asked ? (unsigned)strtoul(asked, NULL, 10) : ALL;
    unsigned n_variants = 0, n_refused = 0;
    struct xl__rng rng;
    double worst = 0;
    while (xl_variant_name(t.device, op, n_variants))
        n_variants++;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < n; i++) {
        struct attention_case c = random_case(&rng);
        c.is_backward = is_backward;
        if (is_backward)
            c.with &= ~(unsigned)WITH_SCORE;
        const char *variant = xl_variant_name(
            t.device, op, (unsigned)xl__rng_below(&rng, n_variants));
        struct check_result found;
        char text[256];
        const xl_status status =
            verify_attention(t.queue, &c, variant, SEED + i, &found);
        if (status == XL_UNSUPPORTED) {
            n_refused++;
            continue;
        }
        describe(&c, text, sizeof text);
        if (status != XL_OK)
            fail_msg("case %u, %s, %s: %s: %s %s", i, variant, text,
                     xl_status_name(status), found.why,
                     xl_error_detail(t.queue));
        worst = found.worst > worst ? found.worst : worst;
    }
    print_message("%u cases, %u of them refused; worst error %.3f of its "
                  "tolerance\n",
                  n, n_refused, worst);
    assert_true(n_refused < n);
}

static void agrees_with_the_host(void **state)
{
    (void)state;
    check_op("attention", false);
}

static void gradients_agree_with_the_host(void **state)
{
    (void)state;
    check_op("attention_backward", true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_host),
        cmocka_unit_test(gradients_agree_with_the_host)};
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, &quick);
}
