/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved rounds of the peers, with libraries that only advance a
 * simulated clock. No device, no driver. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>

#include "base/os/clock.h"
#include "peers/rounds.h"

static void assert_near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("%.9g, not %.9g", got, want);
}

static void disturbed_rounds_are_suspect(void **state)
{
    struct rounds r = {.n_libraries = 2,
                       .n = 4,
                       .ns = {{10, 10, 10, 10}, {11, 10.5, 20, 20}},
                       .best_ns = {9, 9.9},
                       .foreign_s = {0, 1, 1, 0}};
    (void)state;
    const struct rounds_ratio ratio = rounds_ratio(&r, 0, 1);
    assert_near(ratio.median, 1.55, 1e-12);
    assert_true(ratio.lo <= ratio.median && ratio.median <= ratio.hi);
    assert_near(ratio.best, 1.1, 1e-12);
    assert_int_equal(ratio.n_suspect, 1); /* the third: far above, disturbed */
}

/* Calls of two libraries; the second takes longer. */
struct counts {
    unsigned runs[2], waits, selections[3], first[2];
};

static xl_status run_rounds(void *arg, unsigned library)
{
    struct counts *s = arg;
    s->runs[library]++;
    xl__sleep_ns(library == 0 ? 1000000 : 3000000);
    return XL_OK;
}

static xl_status wait_all(void *arg)
{
    struct counts *s = arg;
    s->waits++;
    return XL_OK;
}

static void select_library(void *arg, unsigned library)
{
    struct counts *s = arg;
    /* The first of a round comes after an even number of selections. */
    if (library < 2)
        s->first[library] += s->selections[2] % 2 == 0;
    s->selections[library]++;
}

static void libraries_are_interleaved(void **state)
{
    struct counts counts = {.waits = 0};
    struct session session = {.n_rows = 0};
    struct rounds r = {.s = &session,
                       .n_libraries = 2,
                       .n_required = 4,
                       .calls = 2,
                       .run = run_rounds,
                       .wait = wait_all,
                       .select = select_library,
                       .arg = &counts};
    (void)state;
    assert_int_equal(rounds_measure(&r), XL_OK);
    assert_int_equal(r.n, 4);
    /* Calls that are waited for together. */
    assert_int_equal(counts.runs[0] + counts.runs[1], 2 * counts.waits);
    /* The first library changes; after each, none is selected. */
    assert_int_equal(counts.selections[0], counts.selections[1]);
    assert_int_equal(counts.selections[2],
                     counts.selections[0] + counts.selections[1]);
    assert_true(counts.first[0] > 0 && counts.first[1] > 0);
    const struct rounds_ratio ratio = rounds_ratio(&r, 0, 1);
    assert_near(ratio.median, 3, 0.01);
    for (unsigned library = 0; library < 2; library++)
        for (unsigned i = 0; i < r.n; i++)
            assert_true(r.ns[library][i] >= r.best_ns[library]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disturbed_rounds_are_suspect),
        cmocka_unit_test(libraries_are_interleaved),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
