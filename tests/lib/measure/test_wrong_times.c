/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of faults on a real device, simulated by the fault layer: event times
 * are changed, launches are dropped. */
#include "support/support.h"

#include <string.h>

#include "measure/probe.h"

typedef unsigned long long stamp;

struct heard {
    const char *cause;
    unsigned rows, found;
};

static void hear(const xl_row *row, void *arg)
{
    struct heard *h = arg;
    h->rows++;
    h->found += row->verdict >= XL_ROW_SUSPICIOUS &&
                row->verdict <= XL_ROW_REJECTED &&
                strstr(row->reason, h->cause);
}

static void fast(void *arg, stamp ns[XL_N_STAMPS])
{
    (void)arg;
    for (unsigned i = 0; i < XL_N_STAMPS; i++)
        ns[i] = 2 * (ns[i] - ns[0]) + ns[0];
}

static void still(void *arg, stamp ns[XL_N_STAMPS])
{
    (void)arg;
    for (unsigned i = 0; i < XL_N_STAMPS; i++)
        ns[i] = 1;
}

static void back(void *arg, stamp ns[XL_N_STAMPS])
{
    const stamp start = ns[2];
    (void)arg;
    ns[2] = ns[3] + 1;
    ns[3] = start;
}

static int always(void *arg, const struct xl_launch *launch)
{
    (void)arg;
    (void)launch;
    return 1;
}

/* Nothing runs once the buffers are full. */
static int after_three(void *arg, const struct xl_launch *launch)
{
    (void)arg;
    return launch->number > 3;
}

static const struct time_fault {
    const char *probe;
    struct xl_model model;
    const char *cause;
} time_faults[] = {
    {"timer", {.set_stamps = fast}, "faster than the wall clock"},
    {"timer", {.set_stamps = still}, "does not advance"},
    {"timer", {.set_stamps = back}, "runs backwards"},
    {"bandwidth", {.drops = always}, "does not hold random words"},
    {"bandwidth", {.drops = after_three}, "wrong result"},
};

static void real_faults_are_detected(void **state)
{
    const xl_probing quick = {.quick = true, .seed = 1};
    (void)state;
    for (size_t i = 0; i < sizeof time_faults / sizeof *time_faults; i++) {
        struct heard h = {.cause = time_faults[i].cause};
        struct test_device t;
        test_device_open(&t, NULL);
        if (time_faults[i].model.drops) /* the timer's own kernels run */
            assert_status(xl__timer_check(t.queue), XL_OK, "");
        test_layer()->model(&time_faults[i].model);
        (void)xl_probe_run(t.queue, time_faults[i].probe, &quick, hear, &h);
        test_layer()->model(NULL);
        if (h.found == 0)
            fail_msg("%s: none of %u rows reports \"%s\"", time_faults[i].probe,
                     h.rows, h.cause);
        test_device_close(&t);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_faults_are_detected),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
