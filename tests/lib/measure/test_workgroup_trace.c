/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of work-group traces, on real drivers and on one that runs nothing.
 * They check what holds under any load: a group's chunks run on one unit, a
 * thread runs one at a time, less work takes less time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "measure/compute/workgroup_trace.h"
#include "support/support.h"

enum { PIECES = 64, GROUPS = 8 };
static const xl_watch usual = {.n_pieces = PIECES,
                               .n_groups = PIECES,
                               .wg_items = 1,
                               .whole = PIECES,
                               .rest_frac = 1,
                               .want_ns = 2e6};

static xl_status watch(struct test_device *t, const xl_watch *what,
                       xl_piece_record *out, xl_watched *about)
{
    memset(about, 0, sizeof *about);
    return xl_groups_watch(t->queue, what, out, about);
}

static void stub_input_refused(void **state)
{
    struct test_device t;
    xl_piece_record out[PIECES];
    xl_watched about;
    xl_watch wrong[8];
    (void)state;
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < 8; i++)
        wrong[i] = usual;
    wrong[0].n_pieces = 0;
    wrong[1].n_pieces = XL_MAX_WATCHED + 1;
    wrong[2].n_groups = 0;
    wrong[3].n_groups = PIECES + 1;
    wrong[4].wg_items = 0;
    wrong[5].whole = PIECES + 1;
    wrong[6].rest_frac = (double)NAN;
    wrong[7].want_ns = 0;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(watch(&t, &wrong[i], out, &about), XL_BAD_ARGUMENT);
    assert_int_equal(watch(&t, &usual, NULL, &about), XL_BAD_ARGUMENT);
    assert_int_equal(xl_groups_watch(NULL, &usual, out, &about),
                     XL_BAD_ARGUMENT);
    test_device_close(&t);
}

/* The stub's kernels write nothing. */
static void stub_nothing_run_is_found(void **state)
{
    struct test_device t;
    xl_piece_record out[PIECES];
    xl_watched about;
    (void)state;
    test_device_open(&t, NULL);
    assert_int_equal(watch(&t, &usual, out, &about), XL_WRONG_RESULT);
    assert_non_null(strstr(xl_error_detail(t.queue), "wrong value"));
    test_device_close(&t);
}

/* rusticl's kernels have no way to learn their unit. */
static void unit_unknown(void **state)
{
    struct test_device t;
    xl_piece_record out[PIECES];
    xl_watched about;
    (void)state;
    test_device_open(&t, NULL);
    assert_int_equal(watch(&t, &usual, out, &about), XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(t.queue), "compute unit"));
    test_device_close(&t);
}

static void check_record(const struct test_device *t, const xl_watch *what,
                         const xl_piece_record *out, const xl_watched *about)
{
    xl_fact units;
    unsigned most = 0;
    assert_int_equal(xl_device_fact(t->device, "compute_units", XL_UNKNOWN,
                                    &units),
                     XL_OK);
    assert_true(about->is_thread);
    assert_true(about->n_units >= 1 && about->n_units <= units.value);
    assert_true(about->total_ns > 0 && about->scaling > 0);
    for (size_t i = 0; i < what->n_pieces; i++) {
        most = out[i].unit > most ? out[i].unit : most;
        assert_int_equal(out[i].unit, out[i % what->n_groups].unit);
        if (!about->has_clock)
            continue;
        assert_true(out[i].start_ns >= 0 && out[i].end_ns >= out[i].start_ns);
        assert_true(out[i].end_ns <= about->total_ns);
        assert_true(i < what->n_groups ||
                    out[i].start_ns >= out[i - what->n_groups].end_ns);
    }
    assert_int_equal(most + 1, about->n_units);
    assert_true(!about->has_clock || xl__trace_is_serial(out, what->n_pieces));
}

static double median_length(const xl_piece_record *out, size_t n)
{
    double ns[PIECES];
    for (size_t i = 0; i < n; i++)
        ns[i] = out[i].end_ns - out[i].start_ns;
    return xl__median(ns, n);
}

static void threads_do_their_pieces(void **state)
{
    struct test_device t;
    xl_piece_record out[PIECES];
    xl_watched about;
    xl_watch stay = usual, rest = usual, items = usual;
    (void)state;
    test_device_open(&t, NULL);
    assert_status(watch(&t, &usual, out, &about), XL_OK,
                  xl_error_detail(t.queue));
    check_record(&t, &usual, out, &about);
    /* Groups that do tile after tile. */
    stay.n_groups = GROUPS;
    assert_status(watch(&t, &stay, out, &about), XL_OK,
                  xl_error_detail(t.queue));
    check_record(&t, &stay, out, &about);
    /* The later half of the pieces is an eighth as long. */
    rest.whole = PIECES / 2;
    rest.rest_frac = 1 / 8.0;
    assert_status(watch(&t, &rest, out, &about), XL_OK,
                  xl_error_detail(t.queue));
    check_record(&t, &rest, out, &about);
    assert_true(!about.has_clock ||
                median_length(out + PIECES / 2, PIECES / 2) <
                    0.5 * median_length(out, PIECES / 2));
    items.wg_items = 64;
    items.local_mem_bytes = 16384;
    assert_status(watch(&t, &items, out, &about), XL_OK,
                  xl_error_detail(t.queue));
    check_record(&t, &items, out, &about);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stub_input_refused),
        cmocka_unit_test(stub_nothing_run_is_found),
        cmocka_unit_test(unit_unknown),
        cmocka_unit_test(threads_do_their_pieces),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
