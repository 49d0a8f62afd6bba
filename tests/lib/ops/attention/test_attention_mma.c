/* SPDX-License-Identifier: Apache-2.0 */
/* attention_mma and attention_backward_mma on a device that has no matrix
 * engine, by the emulation of cl/common/matrix.clh: the case table with the
 * model's tile, then each tile of the list on odd lengths. The comparison is
 * clbench's own: the host in double, guard zones around every buffer.
 *
 * XL_TEST_FULL  set: each tile with every option
 * XL_TEST_ARCH  an architecture of AMD whose instructions are emulated
 * XL_TEST_SIDE  of these, those whose tile of C has this side */
#include <stdio.h>
#include <stdlib.h>

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
    emulated_open(&t, XL__OP_ATTENTION, &xl__attention_mma);
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
    const int status = verify_attention(
        t.queue, c,
        c->is_backward ? "attention_backward_mma" : "attention_mma", SEED, &r);
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
        if (!(c.use & CASE_VERIFY) || c.dtype == XL_F32 ||
            (!takes_all && !(c.use & CASE_QUICK)) ||
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
        .dtype = i % 2 ? XL_BF16 : XL_F16,
        .with = i % 2 ? WITH_LSE : WITH_SINKS};
    if (i % 5 < 3)
        c.q_rows = c.kv_rows = XL_ROWS_PACKED;
    c.is_causal = i % 3 == 1;
    c.window = i % 3 == 2 ? c.n_kv / 2 : 0;
    c.scale = i % 4 == 3 ? -0.25 : 0;
    return c;
}

static void every_tile(void **state)
{
    unsigned n_right = 0;
    (void)state;
    const xl_matrix_op *op = xl__mma_op(&t.device->limits, XL_F16);
    for (unsigned i = 0; xl__attention_mma_listed(op, i, &emulated.wanted);
         i++) {
        char text[64];
        const struct attention_case c = over(&emulated.wanted, i);
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
    assert_in_range(n_right, 5, 1000);
    emulated.wanted = (struct xl__params){.source = "model"};
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
    };
    const struct CMUnitTest backward[] = {
        cmocka_unit_test(gradient_table),
        cmocka_unit_test(every_gradient_tile),
    };
    takes_all = getenv("XL_TEST_FULL") != NULL;
    arch = getenv("XL_TEST_ARCH");
    test_args(argc, argv);
    if (arch) /* whose gradients have no variant on them */
        return cmocka_run_group_tests(forward, open_forward, close_device);
    return cmocka_run_group_tests(forward, open_forward, close_device) +
           cmocka_run_group_tests(backward, open_backward, close_device);
}
