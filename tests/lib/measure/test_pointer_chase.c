/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of pointer chases on a real device: the kernel's links lead where the
 * host computes, for any ring; a broken link is detected; and the rows of the
 * probes of caches and TLB are consistent. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/memory/pointer_chase.h"
#include "runtime/context.h"

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

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

static const xl_probing quick = {.quick = true, .seed = 7};

static struct xl__session probing(void)
{
    struct xl__session p = {
        .q = device.queue, .how = &quick, .each = drop_row, .most_wg = 1};
    assert_status(xl__session_begin(&p), XL_OK, xl_error_detail(p.q));
    return p;
}

static xl_verdict chase_ring(struct xl__session *p, struct xl__chase *chase,
                       size_t iterations)
{
    xl_row row;
    xl_row_init(&row, "probe_cache", "chase");
    assert_status(xl__chase_sample(p, chase, iterations, &row), XL_OK,
                  xl_error_detail(p->q));
    assert_true(row.value > 0);
    return row.verdict;
}

static void links_lead_where_the_host_reckons(void **state)
{
    (void)state;
    enum { BYTES = 8 << 20, LINE = 64 };
    const struct xl__ring rings[] = {
        xl__ring_dense(LINE, LINE),       /* one slot leads to itself */
        xl__ring_dense(4000, LINE),       /* no power of two */
        xl__ring_dense(100 * LINE, LINE), /* more than an item links */
        xl__ring_dense(BYTES, LINE),      /* several windows */
        xl__ring_dense(7000000, LINE),
        xl__ring_spread(BYTES, 999, LINE), /* distant lines */
    };
    struct xl__chase chase;
    struct xl__session p = probing();
    assert_status(xl__chase_begin(&p, BYTES, &chase), XL_OK,
                  xl_error_detail(p.q));
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        assert_status(xl__chase_link(&p, &chase, rings[i]), XL_OK,
                      xl_error_detail(p.q));
        assert_int_equal(chase_ring(&p, &chase, 1), XL_ROW_OK);
        const uint64_t so_far = chase.steps_done;
        assert_int_equal(chase_ring(&p, &chase, 700), XL_ROW_OK);
        assert_true(chase.steps_done > so_far); /* it continued from its end */
    }
    xl__chase_end(&chase);
}

/* A line that is written partially would be loaded from memory when it is
 * read. */
static void a_link_fills_its_line(void **state)
{
    (void)state;
    enum { BYTES = 64 << 10, LINE = 64, WORDS = LINE / sizeof(cl_uint) };
    const struct xl__ring ring = xl__ring_spread(BYTES, 99, LINE);
    struct xl__chase chase;
    struct xl__session p = probing();
    cl_uint line[WORDS];
    assert_status(xl__chase_begin(&p, BYTES, &chase), XL_OK,
                  xl_error_detail(p.q));
    assert_status(xl__chase_link(&p, &chase, ring), XL_OK,
                  xl_error_detail(p.q));
    for (size_t i = 0; i < ring.slots; i++) {
        const size_t at = xl__ring_word(&ring, quick.seed, i);
        assert_status(xl_buffer_read(p.q, chase.links, at * sizeof *line, line,
                                     sizeof line),
                      XL_OK, xl_error_detail(p.q));
        for (size_t k = 0; k < WORDS; k++)
            assert_int_equal(line[k], xl__ring_word(&ring, quick.seed, i + 1));
    }
    xl__chase_end(&chase);
}

static void a_broken_link_is_noticed(void **state)
{
    (void)state;
    enum { BYTES = 64 << 10, LINE = 64, AT = 40 };
    const struct xl__ring ring = xl__ring_dense(BYTES, LINE);
    struct xl__chase chase;
    struct xl__session p = probing();
    assert_status(xl__chase_begin(&p, BYTES, &chase), XL_OK,
                  xl_error_detail(p.q));
    assert_status(xl__chase_link(&p, &chase, ring), XL_OK,
                  xl_error_detail(p.q));
    const size_t at = xl__ring_word(&ring, quick.seed, AT);
    const cl_uint wrong = (cl_uint)xl__ring_word(&ring, quick.seed, AT + 2);
    assert_status(xl_buffer_write(p.q, chase.links, at * sizeof wrong, &wrong,
                                  sizeof wrong),
                  XL_OK, xl_error_detail(p.q));
    assert_int_equal(chase_ring(&p, &chase, 10), XL_ROW_REJECTED);
    xl__chase_end(&chase);
}

/* -- the probes ----------------------------------------------------------- */

struct seen {
    unsigned points, wrong;
    double l1_bytes, l1_ns, l2_bytes, dram_ns, tlb_bytes;
};

static double found(const xl_row *row, const char *name)
{
    for (unsigned i = 0; i < row->n_params; i++)
        if (strcmp(row->params[i].name, name) == 0)
            return row->params[i].value;
    return NAN;
}

static void collect_row(const xl_row *row, void *arg)
{
    struct seen *s = arg;
    const double size = found(row, "size_bytes");
    s->points += strcmp(row->variant, "chase") == 0;
    s->wrong += strstr(row->reason, "wrong result") != NULL;
    if (strcmp(row->variant, "l1") == 0) {
        s->l1_bytes = size;
        s->l1_ns = row->value * 1e9;
    }
    if (strcmp(row->variant, "l2") == 0)
        s->l2_bytes = size;
    if (strcmp(row->variant, "dram") == 0)
        s->dram_ns = row->value * 1e9;
    if (strcmp(row->variant, "tlb1") == 0)
        s->tlb_bytes = size;
}

static struct seen probe(const char *name)
{
    struct seen seen = {0, 0, NAN, NAN, NAN, NAN, NAN};
    const xl_status status =
        xl_probe_run(device.queue, name, &quick, collect_row, &seen);
    if (status != XL_UNSUPPORTED) /* too busy for any plateau */
        assert_status(status, XL_OK, xl_error_detail(device.queue));
    assert_int_equal(seen.wrong, 0);
    return seen;
}

/* The caches of the first processor as the system reports them; NaN: not
 * reported. */
static double system_cache(unsigned index)
{
    char path[80];
    double kib = NAN;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu0/cache/index%u/size", index);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lf", &kib) != 1)
        kib = NAN;
    if (file)
        fclose(file);
    return kib * 1024;
}

static bool is_near(double got, double expected)
{
    return isnan(expected) || (got >= expected / 2 && got <= expected * 2);
}

/* Within a power of two of what the system says, where the machine lets it be
 * seen: in one of a few tries. Others on the machine take caches, too: beside
 * them what is found is right of what is left, and not judged. */
static void caches_are_those_of_the_system(void **state)
{
    (void)state;
    enum { TRIES = 4, L1D = 0, L2 = 2 };
    static const double others_most = 0.02; /* of the machine's time */
    struct seen seen = {0};
    xl_telemetry *machine = NULL;
    xl_reading r;
    bool all_near = false, was_ours = false;
    assert_int_equal(xl_telemetry_open(device.device, &machine), XL_OK);
    for (unsigned i = 0; i < TRIES && !all_near; i++) {
        xl_telemetry_read(machine, &r);
        seen = probe("cache");
        xl_telemetry_read(machine, &r);
        was_ours = was_ours || r.value[XL_SENSOR_OTHERS] < others_most;
        assert_true(seen.points > 30);
        all_near = is_near(seen.l1_bytes, system_cache(L1D)) &&
                   is_near(seen.l2_bytes, system_cache(L2)) &&
                   seen.dram_ns > 5 * seen.l1_ns;
    }
    xl_telemetry_close(machine);
    if (all_near)
        return;
    print_message("l1 %g, l2 %g B; l1 %g, dram %g ns; others %.2g\n",
                  seen.l1_bytes, seen.l2_bytes, seen.l1_ns, seen.dram_ns,
                  r.value[XL_SENSOR_OTHERS]);
    assert_false(was_ours);
}

/* More than a megabyte: entries of a few KiB each, hundreds of them. */
static void tlb_reach_is_found(void **state)
{
    (void)state;
    const struct seen seen = probe("tlb");
    assert_true(seen.points > 6);
    assert_false(seen.tlb_bytes < 1 << 20);
}

/* On the stub no kernel runs: chases end where they began. */
static void wrong_chases_set_no_facts(void **state)
{
    (void)state;
    static const char *const facts[] = {"l1_bytes", "llc_ns", "dram_ns",
                                        "tlb_bytes"};
    struct seen seen = {0};
    xl_fact fact;
    if (!getenv("XL_STUB_DEVICE"))
        skip();
    assert_status(xl_probe_run(device.queue, "cache", &quick, collect_row, &seen),
                  XL_OK, xl_error_detail(device.queue));
    assert_status(xl_probe_run(device.queue, "tlb", &quick, collect_row, &seen),
                  XL_OK, xl_error_detail(device.queue));
    assert_true(seen.points > 30);
    assert_int_equal(seen.wrong, seen.points); /* and no other rows */
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        assert_int_equal(
            xl_device_fact(device.device, facts[i], XL_UNKNOWN, &fact), XL_OK);
        assert_int_equal(fact.source, XL_UNKNOWN);
    }
}

#define ON_DEVICE(test)                                                       \
    cmocka_unit_test_setup_teardown(test, open_device, close_device)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(links_lead_where_the_host_reckons),
        ON_DEVICE(a_link_fills_its_line),
        ON_DEVICE(a_broken_link_is_noticed),
        ON_DEVICE(caches_are_those_of_the_system),
        ON_DEVICE(tlb_reach_is_found),
        ON_DEVICE(wrong_chases_set_no_facts),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
