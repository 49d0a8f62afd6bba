/* SPDX-License-Identifier: Apache-2.0 */
/* Random configurations of attention and of its gradient, each by one of the
 * device's variants, against the host in double with guard zones: head dims,
 * lengths, groups of heads, layouts, masks, options and types in any
 * combination.
 *
 * XL_TEST_CASES    their number; 2000 otherwise
 * XL_TEST_FIRST    the number of the first one that runs
 * XL_TEST_VARIANT  the only variant
 * XL_TEST_EMULATED set: those on matrix instructions alone, emulated */
#include <stdio.h>
#include <stdlib.h>

#include "support/emulated_variant.h"
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

/* Few queries and many keys, mostly without what only scores need. */
static void make_decode(struct attention_case *c, struct xl__rng *rng)
{
    static const size_t shares[] = {1, 2, 4, 8}, dims[] = {64, 128};
    enum { MOST_Q = 16, MOST_KV = 1500, MANY_KV = 400 };
    c->share = pick(rng, shares, sizeof shares / sizeof *shares);
    c->n_heads = c->share * (1 + xl__rng_below(rng, 2));
    c->n_q = one_in(rng, 2) ? 1 : 1 + xl__rng_below(rng, MOST_Q);
    c->n_kv = 1 + xl__rng_below(rng, c->n_q == 1 ? MOST_KV : MANY_KV);
    c->pad = 8 * xl__rng_below(rng, 2);
    c->off = 8 * xl__rng_below(rng, 2);
    if (one_in(rng, 4))
        return;
    c->d = pick(rng, dims, sizeof dims / sizeof *dims);
    c->with &= WITH_LSE;
    c->window = 0;
    c->soft_cap = 0;
}

/* Sequences of unequal lengths, pages, narrow caches. */
static void make_unequal(struct attention_case *c, struct xl__rng *rng)
{
    enum { MOST_BATCH = 5, LEAST_PAGE = 16 };
    c->n_batch = 1 + xl__rng_below(rng, MOST_BATCH);
    c->q_rows = (xl_rows_kind)xl__rng_below(rng, XL_ROWS_PAGED);
    c->kv_rows = (xl_rows_kind)xl__rng_below(rng, XL_ROWS_PAGED + 1);
    c->page_rows = (size_t)LEAST_PAGE << xl__rng_below(rng, 4);
    if (one_in(rng, 2))
        c->cache = one_in(rng, 3) ? XL_F8E4M3 : XL_I8;
    if (c->cache && !one_in(rng, 4))
        c->with |= one_in(rng, 2) ? WITH_SCALES : WITH_KEY_SCALES;
    if (c->cache == XL_I8 && !(c->with & (WITH_SCALES | WITH_KEY_SCALES)))
        c->scale = 1e-3;
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
    if (one_in(rng, 4))
        make_decode(&c, rng);
    if (one_in(rng, 2))
        make_unequal(&c, rng);
    return c;
}

static void describe(const struct attention_case *c, char *out, size_t cap)
{
    snprintf(out, cap,
             "%zux%zux%zux%zux%zu %s share %zu%s%s window %zu cap %g scale %g "
             "with %u mask %s data %d pad %zu off %zu cache %s rows %d,%d "
             "pages of %zu",
             c->n_batch, c->n_heads, c->n_q, c->n_kv, c->d,
             xl_dtype_name(c->dtype), c->share,
             c->rows_first ? " rows first" : "", c->is_causal ? " causal" : "",
             c->window, c->soft_cap, c->scale, c->with, xl_dtype_name(c->mask),
             (int)c->data, c->pad, c->off, xl_dtype_name(c->cache),
             (int)c->q_rows, (int)c->kv_rows, c->page_rows);
}

/* Of a gradient: without a prologue, which has none. */
static void check_op(const char *op, bool is_backward)
{
    const char *asked = getenv("XL_TEST_CASES"),
               *only = getenv("XL_TEST_VARIANT"),
               *start = getenv("XL_TEST_FIRST");
    const unsigned first = start ? (unsigned)strtoul(start, NULL, 10) : 0;
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
        if (is_backward) {
            c.with &= (unsigned)WITH_SCORE - 1;
            c.cache = XL_F32;
            c.q_rows = c.kv_rows = (xl_rows_kind)0;
        }
        const unsigned i_variant = (unsigned)xl__rng_below(&rng, n_variants);
        const char *variant =
            only ? only : xl_variant_name(t.device, op, i_variant);
        struct check_result found;
        char text[256];
        if (i < first)
            continue;
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
    if (!getenv("XL_TEST_EMULATED"))
        return test_run_on_device(tests, &t, &quick);
    static const struct xl__variant *const gradients[] = {
        &xl__attention_backward_mma, NULL};
    emulated_open(&t, XL__OP_ATTENTION, &xl__attention_mma);
    emulated.vendor.variants[XL__OP_ATTENTION_BACKWARD] = gradients;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&t);
    return failed;
}
