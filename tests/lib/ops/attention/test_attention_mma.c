/* SPDX-License-Identifier: Apache-2.0 */
/* attention_mma, attention_backward_mma and attention_dpas on a device that
 * has no matrix engine, by the emulations of cl/common/matrix.clh and
 * cl/common/intel/dpas.clh: the case table with the model's tile, then each
 * tile of the list on odd lengths. The comparison is clbench's own: the host
 * in double, guard zones around every buffer.
 *
 * XL_TEST_FULL  set: every case, every tile
 * XL_TEST_ARCH  an architecture of AMD whose instructions are emulated
 * XL_TEST_SIDE  of these, those whose tile of C has this side
 * XL_TEST_DPAS  attention_dpas, on sub-groups of 8 or of 16 items
 * XL_TEST_SPLIT set: attention_mma_split; "terms": attention_mma_terms */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/attention/attention.h"
#include "ops/path/matrix_engine.h"
#include "ops/variants.h"
#include "runtime/launch.h"
#include "support/emulated_variant.h"
#include "verify/verify.h"

enum { SEED = 21 };

static struct test_device t;
static bool takes_all;
static const char *arch; /* of AMD; NULL: mma.sync */
static unsigned width;   /* of attention_dpas's sub-groups; 0: attention_mma */
static bool is_split;    /* attention_mma_split */
static bool has_terms;   /* attention_mma_terms */

/* Those of one size of the instructions alone. */
static void keep_ops(struct xl__limits *l, unsigned side)
{
    enum { MOST = 16 };
    static xl_matrix_op kept[MOST];
    size_t n = 0;
    for (const xl_matrix_op *op = l->matrix_ops; op->name; op++) {
        if (op->m == side)
            kept[n++] = *op;
    }
    l->matrix_ops = kept;
}

static int open_forward(void **state)
{
    (void)state;
    emulated_open(&t, XL__OP_ATTENTION,
                  width      ? &xl__attention_dpas
                  : has_terms ? &xl__attention_mma_terms
                  : is_split ? &xl__attention_mma_split
                             : &xl__attention_mma);
    if (width)
        emulate_dpas_ops(&t.device->limits, width);
    if (arch)
        emulate_amd_ops(&t.device->limits, arch);
    if (getenv("XL_TEST_SIDE"))
        keep_ops(&t.device->limits, (unsigned)atoi(getenv("XL_TEST_SIDE")));
    return 0;
}

static int open_backward(void **state)
{
    (void)state;
    emulated_open(&t, XL__OP_ATTENTION_BACKWARD, &xl__attention_backward_mma);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

/* A case that came out right; false: it is not taken. */
static bool is_right(const struct attention_case *c, const char *what)
{
    struct check_result r = {0};
    const int status =
        verify_attention(t.queue, c, emulated.own->name, SEED, &r);
    if (status == XL_UNSUPPORTED)
        return false;
    if (status != XL_OK || !r.right)
        fail_msg("%s, '%s': %s: %s %s", what, c->name, xl_status_name(status),
                 r.why, xl_error_detail(t.queue));
    return true;
}

static void check_table(bool is_backward)
{
    unsigned n_right = 0, n_refused = 0;
    for (unsigned i = 0; attention_cases[i].name; i++) {
        struct attention_case c = attention_cases[i];
        if (!(c.use & CASE_VERIFY) || (c.dtype == XL_F32 && !c.accuracy) ||
            is_split != (c.accuracy == XL_ACCURACY_SPLIT) ||
            (!takes_all && !is_split && !(c.use & CASE_QUICK)) ||
            (is_backward && !attention_case_of_gradient(i, &c)))
            continue;
        if (is_right(&c, "the model's tile"))
            n_right++;
        else
            n_refused++;
    }
    print_message("%u cases right, %u not taken\n", n_right, n_refused);
    assert_in_range(n_right, 3, 1000);
}

static void case_table(void **state)
{
    (void)state;
    check_table(false);
}

static void gradient_table(void **state)
{
    (void)state;
    check_table(true);
}

/* Three heads of queries to one of keys, so that rows are no multiples of
 * anything; more keys than three blocks; a window that cuts both ends; packed
 * sequences of unequal lengths. */
static struct attention_case over(const struct xl__params *p, unsigned i)
{
    static const size_t columns[] = {64, 128, 72, 24};
    enum { N_COLUMNS = sizeof columns / sizeof *columns };
    struct attention_case c = {
        .name = "over a tile",
        .n_batch = 2,
        .n_heads = 3,
        .share = 3,
        .n_q = (size_t)p->value[XL__ATTENTION_BQ] / 3 + 2,
        .n_kv = 3 * (size_t)p->value[XL__ATTENTION_BK] + 5,
        .d = columns[i % N_COLUMNS],
        .dtype = is_split ? XL_F32
                 : i % 2  ? XL_BF16
                          : XL_F16,
        .accuracy = is_split ? XL_ACCURACY_SPLIT : XL_ACCURACY_FULL,
        .with = i % 2 ? WITH_LSE : WITH_SINKS};
    if (i % 5 < 3)
        c.q_rows = c.kv_rows = XL_ROWS_PACKED;
    c.is_causal = i % 3 == 1;
    c.window = i % 3 == 2 ? c.n_kv / 2 : 0;
    if (has_terms) /* which takes neither */
        c.q_rows = c.kv_rows = (xl_rows_kind)(c.window = 0);
    c.scale = i % 4 == 3 ? -0.25 : 0;
    return c;
}

/* Of attention_dpas, whose packing reads any: pages, columns that end inside
 * a tile and rows that begin anywhere. */
static void any_layout(struct attention_case *c, unsigned i)
{
    static const size_t columns[] = {64, 128, 72, 37, 256, 80, 200, 16};
    enum { N_COLUMNS = sizeof columns / sizeof *columns, PAGE_ROWS = 32 };
    c->d = columns[i % N_COLUMNS];
    c->off = i % 3;
    c->pad = i % 2 ? 3 : 0;
    if (i % 4 == 3) {
        c->kv_rows = XL_ROWS_PAGED;
        c->page_rows = PAGE_ROWS;
    }
}

static bool listed(unsigned i, struct xl__params *out)
{
    return width ? xl__attention_dpas_listed(
                       xl__dpas_op(&t.device->limits, XL_F16), i, out)
                 : xl__attention_mma_listed(
                       xl__mma_op(&t.device->limits, XL_F16), i, out);
}

static void check_tiles(unsigned first, unsigned every, unsigned least)
{
    unsigned n_right = 0;
    for (unsigned i = first; listed(i, &emulated.wanted); i += every) {
        char text[64];
        struct attention_case c = over(&emulated.wanted, i);
        if (width)
            any_layout(&c, i);
        /* Parts joined by a second launch, and by the groups. */
        xl__limits_correct_text(&t.device->limits, XL__F_device_fence,
                                i / 2 % 2 ? "emulated" : "", XL_ASSUMED,
                                "GE-01");
        xl__plan_cache_clear(t.queue);
        xl__selections_clear(t.queue->ctx);
        snprintf(text, sizeof text, "set %u", i);
        n_right += is_right(&c, text);
    }
    print_message("%u tiles right\n", n_right);
    assert_in_range(n_right, least, 1000);
    emulated.wanted = (struct xl__params){.source = "model"};
}

/* Of attention_dpas a third, another for each width. */
static void every_tile(void **state)
{
    enum { LEAST = 5, OF_DPAS = 3, NARROW = 8 };
    (void)state;
    if (width && !takes_all)
        check_tiles(width / NARROW, OF_DPAS, LEAST);
    else
        check_tiles(0, 1, LEAST);
}

/* A little one of attention_dpas: pages, columns of two sub-groups. */
static void few_tiles(void **state)
{
    enum { FIRST = 15, EVERY = 8 };
    (void)state;
    if (!width)
        skip();
    check_tiles(FIRST, EVERY, 1);
}

/* Gradients: lines and blocks that end inside a tile, masks that cut both. */
static void every_gradient_tile(void **state)
{
    unsigned n_right = 0;
    (void)state;
    for (unsigned i = 0;
         xl__attention_backward_mma_listed(i, &emulated.wanted); i++) {
        char text[64];
        struct attention_case c = over(&emulated.wanted, i);
        c.is_backward = true;
        c.q_rows = c.kv_rows = (xl_rows_kind)0;
        c.n_q = (size_t)emulated.wanted.value[XL__ATTENTION_BQ] + 19;
        c.n_kv = (size_t)emulated.wanted.value[XL__ATTENTION_BK] + 21;
        c.with = i % 2 ? WITH_SLOPES : 0;
        snprintf(text, sizeof text, "set %u", i);
        n_right += is_right(&c, text);
    }
    print_message("%u tiles right\n", n_right);
    assert_in_range(n_right, 5, 1000);
    emulated.wanted = (struct xl__params){.source = "model"};
}

int main(int argc, char **argv)
{
    const struct CMUnitTest forward[] = {
        cmocka_unit_test(case_table),
        cmocka_unit_test(every_tile),
        cmocka_unit_test(few_tiles),
    };
    const struct CMUnitTest backward[] = {
        cmocka_unit_test(gradient_table),
        cmocka_unit_test(every_gradient_tile),
    };
    takes_all = getenv("XL_TEST_FULL") != NULL;
    arch = getenv("XL_TEST_ARCH");
    width =
        getenv("XL_TEST_DPAS") ? (unsigned)atoi(getenv("XL_TEST_DPAS")) : 0;
    test_args(argc, argv);
    is_split = getenv("XL_TEST_SPLIT") != NULL;
    has_terms = is_split && strcmp(getenv("XL_TEST_SPLIT"), "terms") == 0;
    if (arch || width ||
        is_split) /* whose gradients have no variant on them */
        return cmocka_run_group_tests(forward, open_forward, close_device);
    return cmocka_run_group_tests(forward, open_forward, close_device) +
           cmocka_run_group_tests(backward, open_backward, close_device);
}
