/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the probes of groups, chains and rungs on a real driver, with the
 * matrix engine emulated: no result may be wrong, and the required rows exist.
 * Rates are not tested, since the machine may be busy. Peaks and caches are
 * simulated, so that peaks are not measured and buffers are small.
 *
 * XL_TEST_FULL  set: every engine's peak and rung */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "measure/probe.h"
#include "support/matrix_ops.h"
#include "support/support.h"

enum { SEED = 11, MOST_ROWS = 64 };

static struct test_device t;
static bool takes_all;

static int open_device(void **state)
{
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    (void)state;
    test_device_open(&t, &quick);
    struct xl__limits *l = &t.device->seen;
    xl__limits_measure(l, XL__F_peak_f32_flop_per_s, 1e15);
    xl__limits_measure(l, XL__F_peak_matrix_f16_flop_per_s, 1e15);
    xl__limits_correct(l, XL__F_llc_bytes, 1 << 20, XL_ASSUMED, "GE-01");
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

struct seen {
    xl_row row[MOST_ROWS];
    unsigned n;
};

static void keep(const xl_row *row, void *arg)
{
    struct seen *seen = arg;
    assert_true(seen->n < MOST_ROWS);
    if (row->verdict >= XL_ROW_REJECTED && strstr(row->reason, "wrong result"))
        fail_msg("%s: %s", row->variant, row->reason);
    seen->row[seen->n++] = *row;
}

static struct seen seen;

static void probe(const char *name)
{
    const xl_probing how = {.quick = true, .seed = SEED};
    seen.n = 0;
    assert_status(xl_probe_run(t.queue, name, &how, keep, &seen), XL_OK,
                  xl_error_detail(t.queue));
}

static const xl_row *row_of(const char *variant)
{
    for (unsigned i = 0; i < seen.n; i++) {
        if (strcmp(seen.row[i].variant, variant) == 0)
            return &seen.row[i];
    }
    fail_msg("no row is called %s", variant);
    return NULL;
}

static double found(const xl_row *row, const char *name)
{
    for (unsigned i = 0; i < row->n_params; i++) {
        if (strcmp(row->params[i].name, name) == 0)
            return row->params[i].value;
    }
    return NAN;
}

/* As many groups counted themselves as there can be. */
static void groups_count_themselves(void **state)
{
    (void)state;
    probe("staircase");
    const xl_row *one = row_of("filled");
    assert_true(one->value == 1);
    assert_true(found(row_of("units"), "at_once") >= 1);
    for (unsigned i = 0; i < seen.n; i++) {
        const double groups = found(&seen.row[i], "groups");
        if (groups > 0)
            assert_true(found(&seen.row[i], "at_once") <= groups);
    }
}

/* What only other devices measure, on a CPU that is not reported as one. */
static void groups_that_wait_do_what_the_host_does(void **state)
{
    struct xl__limits *l = &t.device->seen;
    (void)state;
    xl__limits_correct(l, XL__F_is_cpu, 0, XL_KNOWN, "GE-01");
    probe("staircase");
    xl__limits_correct(l, XL__F_is_cpu, 1, XL_KNOWN, "GE-01");
    assert_true(row_of("small")->value > 0);
    assert_string_equal(row_of("resident")->unit, "1");
}

static void chains_arrive_where_the_host_does(void **state)
{
    (void)state;
    probe("hiding");
    assert_true(row_of("fma_solo")->value > 0);
    assert_true(row_of("load_solo")->value > 0);
    assert_true(found(row_of("fma_knee"), "little") > 0);
    assert_true(found(row_of("load_knee"), "little") > 0);
}

static void rungs_make_the_same_product(void **state)
{
    static const char *const rungs[] = {"host", "item",   "group",
                                        "unit", "device", "vector"};
    (void)state;
    emulate_matrix_ops(&t.device->seen);
    probe("ladder");
    for (unsigned i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        assert_true(row_of(rungs[i])->value > 0);
        assert_true(i == 0 || found(row_of(rungs[i]), "gain") > 0);
    }
    const xl_row *row = row_of("engine");
    if (row->verdict == XL_ROW_UNSUPPORTED)
        print_message("engine: %s\n", row->reason);
    else
        assert_true(row->value > 0 && found(row, "gain") > 0);
}

/* The instructions of other vendors, emulated under a name that the probes
 * do not refuse. */
static void set_engine(const char *arch, unsigned width)
{
    enum { MOST = 16 };
    static xl_matrix_op ops[MOST];
    struct xl__limits *l = &t.device->seen;
    size_t n = 0;
    if (arch)
        emulate_chip(l, arch);
    else
        emulate_dpas_ops(l, width);
    for (const xl_matrix_op *op = l->matrix_ops; op->name; op++) {
        ops[n] = *op;
        ops[n++].code = "any";
    }
    ops[n] = (xl_matrix_op){.name = NULL};
    l->matrix_ops = ops;
}

static const struct engine {
    const char *arch, *variant;
    unsigned width;   /* of Intel's */
    unsigned n_types; /* f16, bf16, i8; and f8e4m3; cooperative: f16, i8 */
    bool is_everyday;
} engines[] = {
    {"gfx942", "mfma_32x32", 0, 3, false},
    {"gfx942", "mfma_16x16", 0, 3, false},
    {"gfx1100", "wmma", 0, 3, false},
    {"gfx1201", "wmma", 0, 4, true},
    {NULL, "dpas", 8, 3, false},
    {NULL, "dpas", 16, 3, true},
    {"coop16x16x16x32", "coop_mat", 0, 2, false},
};
enum { N_ENGINES = sizeof engines / sizeof *engines };

/* rusticl grants groups of 32 (GE-10), which hold no engine's team. */
static void skip_small_groups(void)
{
    if (strcmp(xl__text(&t.device->seen, XL__F_platform), "rusticl") == 0)
        skip();
}

static void engines_make_the_hosts_products(void **state)
{
    struct xl__limits *l = &t.device->seen;
    const double units = xl__num(l, XL__F_compute_units);
    (void)state;
    skip_small_groups();
    xl__limits_correct(l, XL__F_compute_units, 1, XL_KNOWN, "GE-01");
    for (unsigned i = 0; i < N_ENGINES; i++) {
        unsigned n_types = 0;
        if (!takes_all && !engines[i].is_everyday)
            continue;
        set_engine(engines[i].arch, engines[i].width);
        probe("matrix");
        for (unsigned j = 0; j < seen.n; j++)
            n_types += strcmp(seen.row[j].variant, engines[i].variant) == 0 &&
                       seen.row[j].value > 0;
        assert_int_equal(n_types, engines[i].n_types);
    }
    xl__limits_correct(l, XL__F_compute_units, units, XL_KNOWN, "GE-01");
}

static void the_ladder_has_other_engines(void **state)
{
    (void)state;
    skip_small_groups();
    for (unsigned i = 0; i < N_ENGINES; i++) {
        if (!takes_all && !engines[i].is_everyday)
            continue;
        set_engine(engines[i].arch, engines[i].width);
        probe("ladder");
        assert_true(row_of("engine")->value > 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_count_themselves),
        cmocka_unit_test(groups_that_wait_do_what_the_host_does),
        cmocka_unit_test(chains_arrive_where_the_host_does),
        cmocka_unit_test(rungs_make_the_same_product),
        cmocka_unit_test(engines_make_the_hosts_products),
        cmocka_unit_test(the_ladder_has_other_engines),
    };
    takes_all = getenv("XL_TEST_FULL") != NULL;
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
