/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with a scale for each row of A and of W, by variants of
 * GEMM: on a device that has no matrix engine by its emulations, and by those
 * that need none: clbench's cases, with its comparison, host sums in double
 * over A as it is quantised, guard zones around every buffer. Then mistakes of
 * the scales, which the comparison and the self-check must find. */
#include <stdio.h>

#include "cases/gemm_cases.h"
#include "runtime/launch.h"
#include "support/emulated_variant.h"
#include "verify/verify.h"

enum { SEED = 23, NARROW = 8, CASES = 5, ROWS = 100 };

static struct test_device t;

enum engine { NO_ENGINE, MMA, DPAS };
static const struct {
    const struct xl__variant *own;
    enum engine engine;
} variants[] = {{&xl__qgemm_gemm_mma, MMA},
                {&xl__qgemm_gemm_dpas, DPAS},
                {&xl__qgemm_gemm_tiled, NO_ENGINE},
                {&xl__qgemm_gemm_cpu, NO_ENGINE}};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

static void open_variant(unsigned i, bool is_checked)
{
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = "",
                                .skip_selfcheck = !is_checked};
    emulated_open_with(&t, &options, XL__OP_QGEMM, variants[i].own);
    if (variants[i].engine == DPAS)
        emulate_dpas_ops(&t.device->limits, NARROW);
}

static bool is_by_row(const struct qgemm_case *c)
{
    return (c->use & CASE_VERIFY) && c->activations && c->format == XL_INT8 &&
           !c->is_pair;
}

static void cases_of(unsigned i, bool takes_all)
{
    unsigned n = 0;
    open_variant(i, takes_all);
    for (const struct qgemm_case *c = qgemm_cases; c->name; c++) {
        struct check_result r = {0};
        if (!is_by_row(c) || (!takes_all && c->m < ROWS))
            continue;
        const xl_status status =
            verify_qgemm(t.queue, c, variants[i].own->name, SEED, &r);
        if (status != XL_OK || !r.right)
            fail_msg("%s, '%s': %s: %s %s", variants[i].own->name, c->name,
                     xl_status_name(status), r.why, xl_error_detail(t.queue));
        n++;
    }
    assert_in_range(n, takes_all ? CASES : 1, 100);
    test_device_close(&t);
}

static void slow_mma(void **state)
{
    (void)state;
    cases_of(0, false);
}

static void slow_dpas(void **state)
{
    (void)state;
    cases_of(1, false);
}

static void full_cases(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_VARIANTS; i++)
        cases_of(i, true);
}

/* -- mistakes ------------------------------------------------------------- */

/* The last operands of an epilogue: scales of rows, memory, offset and step,
 * and of columns, memory and offset. */
enum { OF_ROWS = 5, OF_COLS = 2, OFFSET = 1 };

static struct xl__arg *scale_args(struct xl__plan *p, unsigned from_end)
{
    struct xl__step *s = &p->step[p->n_steps - 1];
    struct xl__arg *a = &s->args[s->n_args - from_end];
    assert_int_equal(a->kind, XL__ARG_MEM);
    return a;
}

static void swap_scales(struct xl__plan *p)
{
    struct xl__arg *of_rows = scale_args(p, OF_ROWS),
                   *of_cols = scale_args(p, OF_COLS);
    for (unsigned i = 0; i <= OFFSET; i++) {
        const struct xl__arg of_row = of_rows[i];
        of_rows[i] = of_cols[i];
        of_cols[i] = of_row;
    }
}

static void row_after(struct xl__plan *p)
{
    scale_args(p, OF_ROWS)[OFFSET].as.u++;
}

static void column_after(struct xl__plan *p)
{
    scale_args(p, OF_COLS)[OFFSET].as.u++;
}

static void bytes_after(struct xl__plan *p)
{
    struct xl__step *s = &p->step[0];
    s->args[s->n_args - 2].as.u += 32;
}

static const struct {
    const char *name;
    void (*plant)(struct xl__plan *p);
} mistakes[] = {{"the scales of row and column swapped", swap_scales},
                {"the scale of the next row", row_after},
                {"the scale of the next column", column_after},
                {"rows of bytes 32 columns on", bytes_after}};
enum { N_MISTAKES = sizeof mistakes / sizeof *mistakes };

static void (*planted)(struct xl__plan *p);

static xl_status plan_with_mistake(const struct xl__limits *l,
                                   const void *desc,
                                   const struct xl__params *params,
                                   struct xl__plan *p)
{
    const xl_status status = emulated.own->plan(l, desc, params, p);
    if (status == XL_OK && planted)
        planted(p);
    return status;
}

/* With the self-check that strikes the variant; without, by the comparison. */
static void quick_mistakes(void **state)
{
    const struct qgemm_case c = {.name = "mistake",
                                 .m = 19,
                                 .n = 21,
                                 .k = 64,
                                 .format = XL_INT8,
                                 .in = XL_F16,
                                 .out = XL_F32,
                                 .off = 2,
                                 .activations = XL_ACTIVATIONS_I8};
    (void)state;
    for (unsigned i = 0; i < 2 * (N_MISTAKES + 1); i++) {
        const bool is_checked = i % 2;
        const unsigned k = i / 2;
        struct check_result r = {0};
        open_variant(2, is_checked);
        emulated.variant.plan = plan_with_mistake;
        planted = k < N_MISTAKES ? mistakes[k].plant : NULL;
        const xl_status status =
            verify_qgemm(t.queue, &c, variants[2].own->name, SEED, &r);
        const xl_status expected = !planted     ? XL_OK
                                   : is_checked ? XL_UNTRUSTED
                                                : XL_WRONG_RESULT;
        if (status != expected)
            fail_msg("%s: %s, not %s: %s",
                     planted ? mistakes[k].name : "no mistake",
                     xl_status_name(status), xl_status_name(expected),
                     xl_error_detail(t.queue));
        test_device_close(&t);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_mistakes),
        cmocka_unit_test(slow_mma),
        cmocka_unit_test(slow_dpas),
        cmocka_unit_test(full_cases),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
