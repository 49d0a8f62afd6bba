/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the probes of transfers on a real driver through the fault layer,
 * with small working sets: all words arrive, in order, and the device is
 * described correctly. With XL_LAYER_COPIED_MAPS the same device behaves as
 * one with memory of its own. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "measure/host/transfers.h"

enum { SEED = 5, MOST_ROWS = 64 };

static struct seen {
    xl_row rows[MOST_ROWS];
    unsigned n;
} seen;

static void keep(const xl_row *row, void *arg)
{
    (void)arg;
    assert_true(seen.n < MOST_ROWS);
    seen.rows[seen.n++] = *row;
}

static const xl_row *find(const char *variant, double bytes)
{
    for (unsigned i = 0; i < seen.n; i++) {
        const xl_row *row = &seen.rows[i];
        const bool same = bytes == 0 || (row->n_shape > 0 &&
                                         row->shape[0].value == bytes);
        if (strcmp(row->variant, variant) == 0 && same)
            return row;
    }
    fail_msg("there is no row %s", variant);
    return NULL;
}

/* One device for all: its clock is tested once. */
static struct test_device device;

static int open_device(void **state)
{
    (void)state;
    test_device_open(&device, NULL);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&device);
    return 0;
}

/* Run it; noise may make rows suspicious here, a wrong word rejects one. */
static void probe(const char *name)
{
    const xl_probing how = {.quick = true, .seed = SEED};
    seen.n = 0;
    assert_status(xl_probe_run(device.queue, name, &how, keep, NULL), XL_OK,
                  xl_error_detail(device.queue));
    for (unsigned i = 0; i < seen.n; i++) {
        const xl_row *row = &seen.rows[i];
        if (row->verdict == XL_ROW_REJECTED || row->verdict == XL_ROW_ERROR)
            fail_msg("%s: %s", row->variant, row->reason);
    }
}

static double fact(enum xl__fact_id id)
{
    return device.device->seen.measured[id].value;
}

/* -- runs ----------------------------------------------------------------- */

/* A copy of 15 us, one in twenty of which waits for a time slice. */
static xl_status waits_at_times(struct xl__session *p, void *arg, double *ns)
{
    enum { EACH = 20 };
    unsigned *n = arg;
    (void)p;
    *ns = ++*n % EACH == 0 ? 4e6 : 15e3;
    return XL_OK;
}

static void a_run_that_waits_moves_no_sample(void **state)
{
    (void)state;
    const xl_probing how = {.quick = true};
    struct xl__session p = {.q = device.queue, .how = &how};
    unsigned n = 0;
    const struct xl__timed_run run = {waits_at_times, &n};
    xl_samples *s = test_calloc(1, sizeof *s);
    assert_int_equal(xl__sample_runs(&p, &run, 1, s), XL_OK);
    assert_true(s->batch > 1);
    for (unsigned i = 0; i < s->runs; i++)
        assert_true(s->ns[i] == 15e3);
    test_free(s);
}

/* -- shared memory, and memory of its own --------------------------------- */

static void shared_memory_is_called_so(void **state)
{
    (void)state;
    probe("transfer");
    assert_true(fact(XL__F_has_zero_copy) == 1);
    assert_true(isnan(fact(XL__F_upload_bytes_per_s)));
    assert_true(isnan(fact(XL__F_download_bytes_per_s)));
    for (unsigned i = 0; i < seen.n; i++)
        assert_string_not_equal(seen.rows[i].unit, "B/s");
    const xl_row *map = find("map_down", 0);
    if (map->verdict == XL_ROW_OK)
        assert_non_null(strstr(map->reason, "zero copy"));
    const xl_row *copy = find("pinned_up", 64 << 10);
    if (copy->verdict == XL_ROW_OK)
        assert_non_null(strstr(copy->reason, "no transfer"));
}

static void own_memory_has_rates(void **state)
{
    static const char *const rated[] = {
        "map_up",   "map_down", "pageable_up", "pageable_down",
        "pinned_up",   "pinned_down", "both_ways"};
    (void)state;
    probe("transfer");
    assert_true(fact(XL__F_has_zero_copy) == 0);
    for (unsigned i = 0; i < sizeof rated / sizeof *rated; i++) {
        const xl_row *row = find(rated[i], 0);
        assert_string_equal(row->unit, "B/s");
        assert_true(row->value > 0);
    }
    const double up = fact(XL__F_upload_bytes_per_s);
    const double down = fact(XL__F_download_bytes_per_s);
    assert_true(up >= find("pageable_up", 2 << 20)->value);
    assert_true(up >= find("pinned_up", 2 << 20)->value);
    assert_true(down >= find("pageable_down", 2 << 20)->value);
    assert_string_equal(find("half_up", 0)->unit, "B");
}

/* -- the others ----------------------------------------------------------- */

static void queues_hand_on_what_they_did(void **state)
{
    (void)state;
    probe("overlap");
    assert_int_equal(seen.n, 6);
    assert_true(find("pinned_chunks", 0)->value > 0);
    assert_true(find("pageable_chunks", 0)->value > 0);
    probe("switch");
    assert_int_equal(seen.n, 6);
    for (unsigned i = 0; i < seen.n; i++)
        assert_true(seen.rows[i].value > 0);
    assert_string_equal(find("two_queues", 0)->params[0].name, "extra_ns");
}

static void devices_reach_each_other(void **state)
{
    (void)state;
    unsigned n = 0;
    assert_status(xl_device_count(device.lib, &n), XL_OK, "");
    probe("between");
    assert_true(find("within", 0)->value > 0);
    if (n > 1) {
        assert_true(find("through_host", 0)->value > 0);
        assert_true(find("copy", 0)->value > 0);
        assert_true(find("migrate", 0)->value > 0);
    } else {
        assert_int_equal(find("to_another", 0)->verdict, XL_ROW_UNSUPPORTED);
    }
}

static void small_sums_belong_on_the_host(void **state)
{
    (void)state;
    probe("breakeven");
    assert_true(find("host", 100)->value < find("resident", 100)->value);
    assert_true(find("host", 100)->value < find("copied", 100)->value);
    for (unsigned i = 0; i < 2; i++) {
        const xl_row *row = find(i ? "copied_wins" : "resident_wins", 0);
        assert_true(row->value > 100 || strstr(row->reason, "never"));
    }
}

/* For any number of cores: words left over would be beyond the end. */
static void even_words_leave_none_over(void **state)
{
    enum { WORDS = 1 << 15, CORES = 6, GROUPS = 512 };
    struct xl__limits *l = &device.device->seen;
    const struct xl__answer kept = l->used[XL__F_compute_units];
    struct xl__session p = {.q = device.queue, .most_wg = 1};
    struct xl__workload w;
    (void)state;
    if (!xl__probe_is_scalar(l))
        skip();
    l->used[XL__F_compute_units].value = CORES;
    const xl_status status = xl__workload_create(&p, device.queue, WORDS, &w);
    l->used[XL__F_compute_units] = kept;
    assert_status(status, XL_OK, "work on a CPU of six cores");
    assert_int_equal(w.words, WORDS);
    assert_int_equal(w.ready->plan.step[0].global[0], GROUPS);
    xl__workload_destroy(&w);
}

/* -- calls that fail ------------------------------------------------------ */

/* A probe whose call fails reports that, or that this is unsupported; it holds
 * no objects afterwards. */
static void failed_calls_leave_nothing(void **state)
{
    static const char *const probes[] = {"transfer", "overlap", "between",
                                         "switch", "breakeven"};
    static const char *const entries[] = {
        "clCreateBuffer", "clCreateCommandQueue", "clEnqueueMapBuffer",
        "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueCopyBuffer",
        "clCreateUserEvent", "clFlush", "clEnqueueNDRangeKernel",
        /* From here on: calls of the clean-up, whose failures are not
         * reported. */
        "clEnqueueUnmapMemObject", "clEnqueueMarkerWithWaitList", "clFinish"};
    enum { FIRST_OUT = 9 };
    static const unsigned calls[] = {1, 2, 5};
    (void)state;
    const struct xl_control *layer = test_layer();
    const xl_probing how = {.quick = true, .seed = SEED};
    unsigned n_fired = 0;
    for (unsigned i = 0; i < sizeof probes / sizeof *probes; i++) {
        (void)xl_probe_run(device.queue, probes[i], &how, NULL, NULL);
        const long before = layer->live(); /* its kernels are kept */
        for (unsigned j = 0; j < 3 * sizeof entries / sizeof *entries; j++) {
            layer->reset();
            layer->arm(entries[j / 3], calls[j % 3], CL_INVALID_OPERATION);
            seen.n = 0;
            const xl_status status =
                xl_probe_run(device.queue, probes[i], &how, keep, NULL);
            if (!layer->fired())
                continue;
            n_fired++;
            bool is_stated = status != XL_OK || j / 3 >= FIRST_OUT;
            for (unsigned k = 0; k < seen.n; k++)
                is_stated = is_stated ||
                          seen.rows[k].verdict == XL_ROW_UNSUPPORTED;
            if (!is_stated || layer->live() != before)
                fail_msg("%s, %s call %u: %s, %ld more are held", probes[i],
                         entries[j / 3], calls[j % 3],
                         is_stated ? "stated" : "not stated",
                         layer->live() - before);
            layer->reset();
            assert_status(xl_queue_finish(device.queue), XL_OK, "after a fault");
        }
    }
    assert_true(n_fired > 60);
}

int main(int argc, char **argv)
{
    const bool copied = getenv("XL_LAYER_COPIED_MAPS") != NULL;
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(a_run_that_waits_moves_no_sample),
        cmocka_unit_test(shared_memory_is_called_so),
        cmocka_unit_test(queues_hand_on_what_they_did),
        cmocka_unit_test(devices_reach_each_other),
        cmocka_unit_test(small_sums_belong_on_the_host),
        cmocka_unit_test(even_words_leave_none_over),
    };
    const struct CMUnitTest own[] = {
        cmocka_unit_test(own_memory_has_rates),
        cmocka_unit_test(failed_calls_leave_nothing),
    };
    test_args(argc, argv);
    return copied ? cmocka_run_group_tests(own, open_device, close_device)
                  : cmocka_run_group_tests(shared, open_device, close_device);
}
