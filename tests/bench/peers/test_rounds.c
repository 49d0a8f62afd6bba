/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds in which peers and ours take turns, with sides that do nothing
 * but let a simulated clock go on. No device, no driver. */
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

static void rounds_know_when_they_were_disturbed(void **state)
{
    struct rounds r = {.n_sides = 2,
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

/* Two sides, one of which waits longer. */
struct sides {
    unsigned runs[2], waits, turns[3], began[2];
};

static xl_status run(void *arg, unsigned side)
{
    struct sides *s = arg;
    s->runs[side]++;
    xl__sleep_ns(side == 0 ? 1000000 : 3000000);
    return XL_OK;
}

static xl_status wait_all(void *arg)
{
    struct sides *s = arg;
    s->waits++;
    return XL_OK;
}

static void turn(void *arg, unsigned side)
{
    struct sides *s = arg;
    /* The first of a round comes after an even number of turns. */
    if (side < 2)
        s->began[side] += s->turns[2] % 2 == 0;
    s->turns[side]++;
}

static void sides_take_turns(void **state)
{
    struct sides sides = {.waits = 0};
    struct session session = {.n_rows = 0};
    struct rounds r = {.s = &session,
                       .n_sides = 2,
                       .wanted = 4,
                       .calls = 2,
                       .run = run,
                       .wait = wait_all,
                       .turn = turn,
                       .arg = &sides};
    (void)state;
    assert_int_equal(rounds_take(&r), XL_OK);
    assert_int_equal(r.n, 4);
    /* Calls that are waited for together. */
    assert_int_equal(sides.runs[0] + sides.runs[1], 2 * sides.waits);
    /* Who begins changes; between turns it is nobody's. */
    assert_int_equal(sides.turns[0], sides.turns[1]);
    assert_int_equal(sides.turns[2], sides.turns[0] + sides.turns[1]);
    assert_true(sides.began[0] > 0 && sides.began[1] > 0);
    const struct rounds_ratio ratio = rounds_ratio(&r, 0, 1);
    assert_near(ratio.median, 3, 0.01);
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < r.n; i++)
            assert_true(r.ns[side][i] >= r.best_ns[side]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_know_when_they_were_disturbed),
        cmocka_unit_test(sides_take_turns),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
