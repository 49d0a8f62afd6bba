/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the probes of single operations on a real driver: results are those
 * of the host, facts are set, stop requests are obeyed; and a kernel that does
 * less work or other work is detected. Times are not tested, since the machine
 * may be busy. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "device/device.h"
#include "measure/probe.h"
#include "runtime/store/sources.h"

/* Every reason for a wrong result begins with it. */
static const char wrong[] = "wrong result";

enum { MOST_ROWS = 128 };

struct seen {
    unsigned n, most; /* rows; after so many a stop is requested */
    unsigned right, is_wrong, rejected; /* for its time, too */
    char said[640];                     /* of the last wrong one */
};

static void collect_row(const xl_row *row, void *arg)
{
    struct seen *s = arg;
    s->n++;
    s->rejected += row->verdict == XL_ROW_REJECTED;
    if (row->verdict == XL_ROW_REJECTED && strstr(row->reason, wrong)) {
        s->is_wrong++;
        snprintf(s->said, sizeof s->said, "%s %s: %s", row->op, row->variant,
                 row->reason);
    } else if (row->verdict < XL_ROW_UNSUPPORTED) {
        s->right++;
        assert_true(row->value == row->value);
    }
}

static bool enough(void *arg)
{
    const struct seen *s = arg;
    return s->n >= s->most;
}

static void run_probe(struct test_device *t, const char *probe, struct seen *s)
{
    const xl_probing how = {
        .quick = true, .seed = 3, .stop = enough, .stop_arg = s};
    const xl_status status = xl_probe_run(t->queue, probe, &how, collect_row, s);
    if (status != XL_CANCELLED)
        assert_status(status, XL_OK, xl_error_detail(t->queue));
}

/* Quick runs; XL_TEST_FULL: all rows, else the first only. */
static const struct probe {
    const char *name;
    unsigned rows; /* at least so many are right everywhere */
    enum xl__fact_id fact; /* that the first sets; XL__N_FACTS: none */
} probes[] = {
    {"atomic", 9, XL__F_atomic_same_per_s},
    {"divergence", 4, XL__N_FACTS},
    {"sync", 4, XL__F_barrier_ns},
    {"special", 3, XL__F_special_per_s},
    {"dot", 2, XL__N_FACTS},
    {"ints", 4, XL__N_FACTS},
    {"local", 4, XL__F_local_bytes_per_s},
    {"constant", 7, XL__N_FACTS},
    {"image", 3, XL__N_FACTS},
};

static void results_are_the_host_s(void **state)
{
    struct test_device t;
    const bool full = getenv("XL_TEST_FULL") != NULL;
    (void)state;
    test_device_open(&t, NULL);
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        struct seen s = {.most = full ? MOST_ROWS : 1};
        run_probe(&t, probes[i].name, &s);
        if (s.is_wrong)
            fail_msg("%s", s.said);
        assert_true(s.right >= (full ? probes[i].rows : 1));
        if (probes[i].fact < XL__N_FACTS && s.rejected == 0)
            assert_true(xl__num(&t.device->seen, probes[i].fact) > 0);
    }
    test_device_close(&t);
}

/* -- bandwidth ------------------------------------------------------------ */

/* The passes over the buffer of STREAM, whose writes are counted once. */
static const struct passes {
    const char *variant;
    double n;
} passes[] = {
    {"copy", 2}, {"read", 1}, {"write", 1}, {"triad", 3}, {"copy_llc", 2}};
enum { N_PASSES = sizeof passes / sizeof *passes };

static double value_of(const xl_param *values, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(values[i].name, name) == 0)
            return values[i].value;
    return 1;
}

static void check_passes(const xl_row *row, void *arg)
{
    unsigned *n = arg;
    assert_true(row->verdict != XL_ROW_REJECTED);
    for (unsigned i = 0; i < N_PASSES; i++)
        if (strcmp(row->variant, passes[i].variant) == 0) {
            const double bytes =
                value_of(row->shape, row->n_shape, "bytes") *
                value_of(row->params, row->n_params, "rounds");
            *n |= 1u << i;
            assert_true(bytes > 0 && row->bytes == passes[i].n * bytes);
        }
}

/* All shapes of all kinds are right, and the bytes are those that move. */
static void bandwidth_counts_its_bytes(void **state)
{
    const xl_probing how = {.seed = 3};
    struct test_device t;
    unsigned seen = 0;
    (void)state;
    test_device_open(&t, NULL);
    assert_status(
        xl_probe_run(t.queue, "bandwidth", &how, check_passes, &seen), XL_OK,
        xl_error_detail(t.queue));
    assert_int_equal(seen | 1u << (N_PASSES - 1), (1u << N_PASSES) - 1);
    test_device_close(&t);
}

/* -- kernels with faults -------------------------------------------------- */

static const char less[] = "i + 1 < iterations"; /* than all iterations */
static const struct fault {
    const char *probe, *file, *from, *to;
} faults[] = {
    {"atomic", "probe/atomics.cl", "i < iterations", less},
    {"divergence", "probe/divergence.cl", "i < iterations", less},
    {"sync", "probe/barriers.cl", "i < iterations", less},
    {"special", "probe/special_functions.cl", "(1.0f / 1024)",
     "(1.0f / 1000)"},
    {"dot", "probe/dot_product.cl", "i < iterations", less},
    {"ints", "probe/fma.cl", "i < iterations", less},
    {"local", "probe/local_memory.cl", "t < iterations", "t + 1 < iterations"},
    {"constant", "probe/constant.cl", "u * GAP", "(u & 3) * GAP"},
    {"image", "probe/image.cl", "x += HOP_X", "x += 16"},
};
/* Of the shapes where items are threads. */
static const struct fault lines_left = {
    "bandwidth", "probe/bandwidth.cl", "XL_STREAM(x, p)",
    "((at) % 8 ? XL_STREAM(x, p) : (void)0)"};
static const struct fault run_left = {"bandwidth", "probe/bandwidth.cl",
                                      "u * (count / UNROLL)",
                                      "(u & 2) * (count / UNROLL)"};
static const struct fault wrong_values = {"special",
                                          "probe/special_functions.cl",
                                          "F(a, b), i", "F(a, b) * 1.01f, i"};
enum { N_FAULTS = sizeof faults / sizeof *faults };

/* A text with its fault at every match. */
static void write_fault(FILE *file, const char *text,
                        const struct fault *fault)
{
    const char *hit;
    assert_non_null(strstr(text, fault->from));
    for (; (hit = strstr(text, fault->from)) != NULL;
         text = hit + strlen(fault->from)) {
        fwrite(text, 1, (size_t)(hit - text), file);
        fputs(fault->to, file);
    }
    fputs(text, file);
}

/* Copies the kernels of a table to a folder; those of `some` with a fault. */
static void write_table(const char *folder, const struct xl__embedded *table,
                        const struct fault *some, size_t n)
{
    for (const struct xl__embedded *e = table; e->name; e++) {
        const struct fault *fault = NULL;
        struct xl__str text = {0};
        char path[1024];
        xl__str_add_n(&text, (const char *)e->text, e->len);
        test_kernel_path(folder, e->name, path, sizeof path);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (size_t i = 0; i < n; i++)
            fault = strcmp(e->name, some[i].file) == 0 ? &some[i] : fault;
        if (!fault)
            fputs(xl__str_text(&text), file);
        else
            write_fault(file, xl__str_text(&text), fault);
        assert_int_equal(fclose(file), 0);
        xl__str_clear(&text);
    }
}

static void write_kernels(const char *folder, const struct fault *some,
                          size_t n)
{
    write_table(folder, xl__embedded, some, n);
    write_table(folder, xl__embedded_probes, some, n);
}

/* One of the first `rows` of each probe must be wrong. */
static void assert_detected(const struct fault *some, size_t n, unsigned rows)
{
    const char *folder = test_scratch("kernels");
    const xl_options options = {XL_OPTIONS_INIT, .cl_dir = folder};
    struct test_device t;
    write_kernels(folder, some, n);
    test_device_open(&t, &options);
    for (size_t i = 0; i < n; i++) {
        struct seen s = {.most = rows};
        run_probe(&t, some[i].probe, &s);
        if (!s.is_wrong)
            fail_msg("%s: not detected: \"%s\"", some[i].probe, some[i].to);
    }
    test_device_close(&t);
}

static void faults_are_detected(void **state)
{
    (void)state;
    assert_detected(faults, N_FAULTS, 1);
    if (getenv("XL_TEST_FULL"))
        assert_detected(&wrong_values, 1, 1);
}

static void bandwidth_faults_are_detected(void **state)
{
    struct test_device t;
    (void)state;
    test_device_open(&t, NULL);
    const bool scalar = xl__probe_is_scalar(&t.device->seen);
    test_device_close(&t);
    if (!scalar)
        skip();
    assert_detected(&lines_left, 1, 1);
    assert_detected(&run_left, 1, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_host_s),
        cmocka_unit_test(faults_are_detected),
        cmocka_unit_test(bandwidth_counts_its_bytes),
        cmocka_unit_test(bandwidth_faults_are_detected),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
