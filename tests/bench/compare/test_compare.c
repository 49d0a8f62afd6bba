/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of comparisons of result files: pairing of rows, classification,
 * descriptions, gates, written files. Without a device. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os/files.h"
#include "base/rng.h"
#include "base/str.h"
#include "compare/differences.h"
#include "compare/tables.h"
#include "compare/rounds.h"
#include "compare/tables.h"

/* A run of a few ops; rows of each differ in their sizes only. */
struct run {
    const char *name, *uuid, *platform, *driver, *version;
    unsigned seed;
    double slower;        /* factor on the times of "gemm" */
    double drift;         /* factor on all times; 0: 1 */
    const char *dtype;    /* NULL: "f32" */
    bool is_backwards;    /* rows in the other order */
    const char *unit, *clock, *verdict, *variant; /* of gemm's first row */
    bool lacks_row;       /* gemm's last */
    unsigned n_samples;
    bool is_cpu;
};
static const struct run plain = {
    .name = "Chip", .uuid = "u-1", .platform = "P", .driver = "1.0",
    .version = "0.1.0", .seed = 1, .slower = 1, .unit = "flop/s",
    .clock = "event", .verdict = "ok", .variant = "tiled", .n_samples = 9};

/* The rows of a probe are one curve, which is one row of a comparison. */
enum {
    N_OPS = 5,
    PER_OP = 8,
    N_ROWS = N_OPS * PER_OP,
    N_CURVES = 2,
    N_COMPARED = N_ROWS - N_CURVES * (PER_OP - 1)
};
static const char *const ops[N_OPS] = {"gemm", "softmax", "expr",
                                       "probe_cache", "probe_local"};

static void add_row(struct xl__str *out, const struct run *run, unsigned op,
                    unsigned i)
{
    const bool is_first = op == 0 && i == 0;
    const char *variant = is_first ? run->variant : "tiled";
    const double factor = (op == 0 ? run->slower : 1) *
                          (run->drift > 0 ? run->drift : 1);
    const char *dtype = run->dtype ? run->dtype : "f32";
    struct xl__rng rng;
    xl__rng_seed(&rng, run->seed * 1000 + op * 100 + i);
    const double shift = 0.005 * xl__rng_normal(&rng);
    xl__str_printf(out,
                   "{\"id\":\"%s/%s/n=%u/-/%s/hot\",\"device\":0,"
                   "\"op\":\"%s\",\"variant\":\"%s\",\"shape\":{\"n\":%u},"
                   "\"params\":{},\"dtype\":\"%s\",\"cache\":\"hot\","
                   "\"clock\":\"%s\",\"unit\":\"%s\",\"verdict\":\"%s\","
                   "\"reason\":\"cause\",\"value\":%.9g,\"samples_ns\":[",
                   ops[op], variant, i + 1, dtype, ops[op], variant, i + 1,
                   dtype,
                   is_first ? run->clock : "event",
                   is_first ? run->unit : "flop/s",
                   is_first ? run->verdict : "ok", 1e9 / exp(shift) / factor);
    for (unsigned k = 0; k < run->n_samples; k++)
        xl__str_printf(out, "%s%.9g", k > 0 ? "," : "",
                       1e6 * factor *
                           exp(shift + 0.002 * xl__rng_normal(&rng)));
    xl__str_add(out, "]}");
}

/* Folder of the written runs. */
static char folder[400];
enum { PATH = 512 };

static void write_run(char path[PATH], const char *file, const struct run *run)
{
    struct xl__str out = {0};
    bool is_first = true;
    xl__str_printf(&out,
                   "{\"schema\":\"clbench/1\",\"tool\":{\"version\":\"%s\","
                   "\"library\":\"0.1.0\"},\"host\":{\"load\":9.5,"
                   "\"cpu\":\"C\",\"cores\":2},"
                   "\"environment\":{\"date\":\"today\","
                   "\"variables\":{\"XL_SEED%s\":\"1\"}},\"devices\":[{"
                   "\"index\":0,\"name\":\"%s\",\"platform\":\"%s\","
                   "\"driver\":\"%s\",\"uuid\":\"%s\",\"pci\":null,"
                   "\"facts\":[{\"name\":\"is_cpu\",\"value\":%s}]}],"
                   "\"rows\":[",
                   run->version, run->driver, run->name, run->platform,
                   run->driver, run->uuid, run->is_cpu ? "true" : "false");
    for (unsigned k = 0; k < N_ROWS; k++) {
        const unsigned i = run->is_backwards ? N_ROWS - 1 - k : k;
        if (run->lacks_row && i == PER_OP - 1)
            continue;
        xl__str_add(&out, is_first ? "" : ",");
        add_row(&out, run, i / PER_OP, i % PER_OP);
        is_first = false;
    }
    xl__str_add(&out, "]}");
    snprintf(path, PATH, "%s/%s.json", folder, file);
    assert_int_equal(xl__file_replace(path, out.text, out.len), XL_OK);
    xl__str_clear(&out);
}

/* Compares one or two arguments of a command line. */
static void compare_arguments(struct comparisons *s, const char *a,
                              const char *b)
{
    const struct compare_options how = {.margin = COMPARE_MARGIN,
                                        .assumed = (double)NAN};
    const char *const names[] = {a, b};
    char why[256] = "";
    if (!comparisons_read(s, names, b ? 2 : 1, why, sizeof why))
        fail_msg("%s", why);
    assert_true(comparisons_make(s, &how));
}

static void compare_runs(struct comparisons *s, const struct run *a,
                         const struct run *b)
{
    char path_a[PATH], path_b[PATH];
    write_run(path_a, "a", a);
    write_run(path_b, "b", b);
    compare_arguments(s, path_a, path_b);
}

static size_t n_call(const struct comparisons *s, enum call call)
{
    return s->list[0].all.n_call[call];
}

static struct gate gate_of(const char *text, struct comparisons *s)
{
    struct gate gate;
    struct option_list list = {{text}, 1};
    assert_null(gate_read(&gate, &list));
    for (size_t i = 0; i < s->n; i++)
        gate_mark(&gate, &s->list[i]);
    return gate;
}

/* -- classification ------------------------------------------------------- */

static struct comparisons s; /* large */

static void a_file_equals_itself(void **state)
{
    struct run backwards = plain;
    (void)state;
    backwards.is_backwards = true;
    for (int i = 0; i < 2; i++) {
        compare_runs(&s, &plain, i ? &backwards : &plain);
        assert_int_equal(s.list[0].n_compared, N_COMPARED);
        assert_int_equal(n_call(&s, CALL_SAME), N_COMPARED);
        assert_int_equal(s.list[0].all.mean.call, CALL_SAME);
        const struct gate gate = gate_of("slower:0%,rejected,missing", &s);
        assert_false(gate_fails(&gate));
        comparisons_clear(&s);
    }
}

static void equal_runs_are_not_called(void **state)
{
    (void)state;
    for (unsigned seed = 2; seed < 12; seed++) {
        struct run b = plain;
        b.seed = seed;
        compare_runs(&s, &plain, &b);
        assert_true(n_call(&s, CALL_SLOWER) + n_call(&s, CALL_FASTER) <= 1);
        const struct gate gate = gate_of("slower:5%", &s);
        assert_false(gate_fails(&gate));
        comparisons_clear(&s);
    }
}

static void a_slowdown_fails_the_gate(void **state)
{
    struct run b = plain;
    (void)state;
    b.seed = 2;
    b.slower = 1.2;
    compare_runs(&s, &plain, &b);
    assert_int_equal(n_call(&s, CALL_SLOWER), PER_OP);
    assert_int_equal(s.list[0].ops[0].mean.call, CALL_SLOWER);
    assert_true(fabs(s.list[0].ops[0].mean.ratio - 1.2) < 0.02);
    assert_int_equal(s.list[0].ops[1].n_call[CALL_SLOWER], 0);
    /* The largest slowdown comes first. */
    for (size_t i = 0; i < PER_OP; i++) {
        const struct pair *p = &s.list[0].pairs[i];
        assert_int_equal(p->ratio.call, CALL_SLOWER);
        assert_true(i == 0 || p[-1].ratio.ratio >= p->ratio.ratio);
        assert_non_null(strstr(p->label, "gemm"));
    }
    struct gate gate = gate_of("slower:5%", &s);
    assert_true(gate_fails(&gate));
    assert_int_equal(gate.n_slower, PER_OP);
    assert_true(gate.n_slower_ops == 1 && s.list[0].pairs[0].is_gated);
    gate = gate_of("slower:30%", &s);
    assert_false(gate_fails(&gate));
    comparisons_clear(&s);
    /* The other way round it is faster, and no gate on slowness fires. */
    compare_runs(&s, &b, &plain);
    assert_int_equal(n_call(&s, CALL_FASTER), PER_OP);
    gate = gate_of("slower:0%", &s);
    assert_false(gate_fails(&gate));
    comparisons_clear(&s);
}

/* The rate of a probe is compared, not its time: probes choose how much they
 * execute. A rate that falls is slower. */
static void rates_of_probes_count(void **state)
{
    const json_t *json = json_loads(
        "{\"unit\":\"B/s\",\"value\":50}", 0, NULL);
    double ns[] = {100, 100, 100}, value = 0;
    const char *unit = NULL;
    char probe[] = "probe_x/y", op[] = "gemm/y";
    struct result_row row = {.id = probe, .ns = ns, .n = 3, .json = json};
    (void)state;
    assert_true(fabs(result_metric(&row, &value, &unit) + log(50)) < 1e-12);
    assert_true(value == 50);
    assert_string_equal(unit, "B/s");
    row.id = op;
    assert_true(fabs(result_metric(&row, &value, &unit) - log(100)) < 1e-12);
    assert_string_equal(unit, "ns");
    json_decref((json_t *)(uintptr_t)json);
}

/* Rows with equal ids match in their order. */
static void equal_ids_match_in_order(void **state)
{
    char x[] = "x", y[] = "y";
    struct result_row rows[] = {{.id = x, .device = ""},
                                {.id = y, .device = ""},
                                {.id = x, .device = ""}};
    const struct result_file f = {.rows = rows, .n_rows = 3, .n_devices = 1};
    const struct result_file less = {
        .rows = rows, .n_rows = 2, .n_devices = 1};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(results_match(&f, i, &f), &rows[i]);
    assert_null(results_match(&f, 2, &less));
}

static void other_changes_are_reported(void **state)
{
    static const struct {
        const char *unit, *clock, *verdict, *variant, *text;
        enum call call;
    } cases[] = {
        {"B/s", "event", "ok", "tiled", "", CALL_AMBIGUOUS},
        {"flop/s", "wall", "ok", "tiled", "not comparable", CALL_UNLIKE},
        {"flop/s", "event", "rejected", "tiled", "is rejected: cause",
         CALL_UNTIMED},
        {"flop/s", "event", "ok", "other", "tiled in a, other in b",
         CALL_AMBIGUOUS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__str text = {0};
        struct run b = plain;
        b.unit = cases[i].unit;
        b.clock = cases[i].clock;
        b.verdict = cases[i].verdict;
        b.variant = cases[i].variant;
        compare_runs(&s, &plain, &b);
        compare_describe_changes(&s.list[0], &text);
        if (!strstr(xl__str_text(&text), cases[i].text))
            fail_msg("case %zu: %s", i, xl__str_text(&text));
        if (cases[i].call != CALL_AMBIGUOUS)
            assert_int_equal(n_call(&s, cases[i].call), 1);
        const struct gate gate = gate_of("rejected", &s);
        assert_int_equal(gate_fails(&gate), cases[i].call == CALL_UNTIMED);
        xl__str_clear(&text);
        comparisons_clear(&s);
    }
}

static void missing_and_new_rows_are_reported(void **state)
{
    struct run b = plain;
    (void)state;
    b.lacks_row = true;
    compare_runs(&s, &plain, &b);
    assert_int_equal(n_call(&s, CALL_MISSING), 1);
    struct gate gate = gate_of("missing", &s);
    assert_true(gate_fails(&gate));
    comparisons_clear(&s);
    compare_runs(&s, &b, &plain);
    assert_int_equal(n_call(&s, CALL_NEW), 1);
    gate = gate_of("missing", &s);
    assert_false(gate_fails(&gate));
    comparisons_clear(&s);
}

/* One sample has no interval; a gate without any interval must fail. */
static void single_samples_fail_the_gate(void **state)
{
    struct run b = plain;
    (void)state;
    b.n_samples = 1;
    compare_runs(&s, &plain, &b);
    assert_int_equal(n_call(&s, CALL_FEW_RUNS), N_ROWS);
    const struct gate gate = gate_of("slower:5%", &s);
    assert_true(gate_fails(&gate));
    comparisons_clear(&s);
}

static void relations_are_described(void **state)
{
    static const struct {
        const char *name, *uuid, *platform, *driver, *version, *text;
        bool is_alike;
    } cases[] = {
        {"Chip", "u-1", "P", "1.0", "0.1.0",
         "The same device, driver and clbench", true},
        {"Chip", "u-1", "P", "1.0", "0.2.0", "another clbench", true},
        {"Chip", "u-1", "P", "1.1", "0.1.0", "Two drivers on the same chip",
         true},
        {"Chip (other, 9)", "", "Q", "9", "0.1.0",
         "Two drivers on the same chip", false},
        {"Board", "u-1", "Q", "9", "0.1.0", "Two drivers on the same chip",
         false},
        {"Board", "u-2", "P", "1.0", "0.1.0", "Different devices", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__str text = {0};
        struct run b = plain;
        b.name = cases[i].name;
        b.uuid = cases[i].uuid;
        b.platform = cases[i].platform;
        b.driver = cases[i].driver;
        b.version = cases[i].version;
        compare_runs(&s, &plain, &b);
        compare_describe_relation(&s.list[0], &text);
        if (!strstr(xl__str_text(&text), cases[i].text))
            fail_msg("case %zu: %s", i, xl__str_text(&text));
        assert_int_equal(s.list[0].is_alike, cases[i].is_alike);
        assert_int_equal(s.list[0].noise.source == NOISE_FROM_ROWS,
                         cases[i].is_alike);
        xl__str_reset(&text);
        compare_describe_conditions(&s.list[0], &text);
        assert_non_null(strstr(xl__str_text(&text), "load 9.5 on 2 cores"));
        assert_int_equal(strstr(xl__str_text(&text), "XL_SEED") != NULL,
                         strcmp(cases[i].driver, "1.0") != 0);
        xl__str_clear(&text);
        comparisons_clear(&s);
    }
}

/* A CPU has another name in each driver; it is compared by the CPU of the
 * host. */
static void two_drivers_of_a_cpu(void **state)
{
    struct xl__str text = {0};
    struct run a = plain, b = plain;
    (void)state;
    b.name = "pipe";
    b.uuid = "";
    b.platform = "Q";
    b.clock = "wall"; /* no valid event clock; still comparable */
    for (int i = 0; i < 2; i++) {
        a.is_cpu = b.is_cpu = i == 1;
        compare_runs(&s, &a, &b);
        compare_describe_relation(&s.list[0], &text);
        assert_int_equal(strstr(xl__str_text(&text), "same chip") != NULL, i);
        assert_int_equal(s.list[0].n_compared, N_COMPARED);
        xl__str_reset(&text);
        comparisons_clear(&s);
    }
    xl__str_clear(&text);
}

/* -- several files -------------------------------------------------------- */

static void repeats_measure_the_noise(void **state)
{
    struct xl__str names[2] = {{0}, {0}};
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        static const char *const files[] = {"0", "1", "2", "3", "4", "5"};
        struct run run = plain;
        char path[PATH];
        run.seed = i + 1;
        run.slower = i % 2 ? 1.2 : 1;
        write_run(path, files[i], &run);
        xl__str_printf(&names[i % 2], "%s%s", i > 1 ? "," : "", path);
    }
    compare_arguments(&s, names[0].text, names[1].text);
    assert_int_equal(s.list[0].noise.source, NOISE_FROM_REPEATS);
    assert_int_equal(s.list[0].a.n_files, 3);
    assert_int_equal(n_call(&s, CALL_SLOWER), PER_OP);
    assert_int_equal(n_call(&s, CALL_FASTER), 0);
    comparisons_clear(&s);
    xl__str_clear(&names[0]);
    xl__str_clear(&names[1]);
}

/* -- rounds of two set-ups ------------------------------------------------ */

/* The document of rounds, each with a drift that both sides share; a new
 * reference. */
static json_t *join_rounds(const struct run *a, const struct run *b,
                           const double *drift, size_t n)
{
    static const char *const setups[] = {"", "--variant v2"};
    json_t *side[2] = {NULL, NULL};
    for (size_t i = 0; i < 2 * n; i++) {
        struct run run = i % 2 ? *b : *a;
        char path[PATH];
        run.seed = (unsigned)i + 1;
        run.drift = drift[i / 2] * (run.drift > 0 ? run.drift : 1);
        write_run(path, "round", &run);
        json_t *document = json_load_file(path, 0, NULL);
        assert_non_null(document);
        if (i < 2)
            side[i] = json_incref(document);
        else
            rounds_add(side[i % 2], document);
        json_decref(document);
    }
    const json_t *const sides[] = {side[0], side[1]};
    json_t *both = rounds_join(sides, setups);
    assert_null(rounds_side(side[0], 0));
    json_decref(side[0]);
    json_decref(side[1]);
    return both;
}

static void compare_rounds(json_t *both)
{
    const struct compare_options how = {.margin = COMPARE_MARGIN,
                                        .assumed = (double)NAN};
    char why[200] = "";
    if (!comparisons_read_sides(&s, both, why, sizeof why))
        fail_msg("%s", why);
    assert_true(comparisons_make(&s, &how));
    assert_int_equal(s.n, 1);
    json_decref(both);
}

/* Rounds of two set-ups in one document: each side has devices of its own, and
 * a pass for each round; the slower one is found, in the file likewise. */
static void rounds_are_one_file(void **state)
{
    static const double still[] = {1, 1, 1};
    struct run slower = plain;
    char path[PATH];
    (void)state;
    slower.slower = 1.2;
    json_t *both = join_rounds(&plain, &slower, still, 3);
    assert_int_equal(json_array_size(json_object_get(both, "rows")),
                     2 * N_ROWS);
    assert_int_equal(json_array_size(json_object_get(both, "devices")), 2);
    snprintf(path, PATH, "%s/both.json", folder);
    assert_int_equal(json_dump_file(both, path, 0), 0);
    compare_rounds(both);
    assert_string_equal(s.files[1].path, "'--variant v2'");
    assert_int_equal(s.files[0].rows[0].n_passes, 2);
    assert_string_equal(s.files[0].rows[0].device, "u-1");
    assert_string_equal(s.files[1].rows[0].device, "u-1");
    assert_int_equal(n_call(&s, CALL_SLOWER), PER_OP);
    assert_int_equal(n_call(&s, CALL_FASTER), 0);
    comparisons_clear(&s);
    compare_arguments(&s, path, NULL);
    assert_true(s.is_paired && !s.is_table);
    assert_int_equal(n_call(&s, CALL_SLOWER), PER_OP);
    comparisons_clear(&s);
    /* One round shows no noise, so nothing is decided. */
    compare_rounds(join_rounds(&plain, &slower, still, 1));
    assert_int_equal(n_call(&s, CALL_FEW_RUNS), N_ROWS);
    comparisons_clear(&s);
}

/* Both sides drift alike, by far more than they differ: the ratios of the
 * rounds show the difference of one op, and of all rows, which is not called
 * the machine's. */
static void rounds_are_pairs(void **state)
{
    static const double drift[] = {1, 3, 0.5, 2, 1.4};
    enum { ROUNDS = sizeof drift / sizeof *drift };
    struct run slower = plain, all = plain;
    (void)state;
    slower.slower = 1.1;
    compare_rounds(join_rounds(&plain, &slower, drift, ROUNDS));
    assert_int_equal(s.list[0].ops[0].n_call[CALL_SLOWER], PER_OP);
    assert_int_equal(n_call(&s, CALL_SLOWER), PER_OP);
    assert_int_equal(n_call(&s, CALL_SAME), N_COMPARED - PER_OP);
    assert_true(fabs(s.list[0].ops[0].mean.ratio - 1.1) < 0.02);
    comparisons_clear(&s);
    all.drift = 1.1;
    compare_rounds(join_rounds(&plain, &all, drift, ROUNDS));
    assert_int_equal(n_call(&s, CALL_SLOWER), N_COMPARED);
    comparisons_clear(&s);
}

/* An option that changes each id: rows are paired in their order. */
static void rounds_of_other_ids_are_paired_in_order(void **state)
{
    static const double still[] = {1, 1, 1};
    struct run narrow = plain;
    (void)state;
    narrow.dtype = "f16";
    compare_rounds(join_rounds(&plain, &narrow, still, 3));
    assert_int_equal(s.list[0].n_compared, N_COMPARED);
    assert_int_equal(n_call(&s, CALL_SAME), N_COMPARED);
    comparisons_clear(&s);
    narrow.lacks_row = true;
    compare_rounds(join_rounds(&plain, &narrow, still, 3));
    assert_int_equal(s.list[0].n_compared, 0);
    comparisons_clear(&s);
}

/* -- gates and files ------------------------------------------------------ */

static void gates_are_read(void **state)
{
    struct gate gate;
    struct option_list one = {{"slower:2.5%,rejected", "missing"}, 2};
    static const char *const wrong[] = {"slower", "slower:", "slower:x",
                                        "slower:-1%", "slower:5%%", "faster:1",
                                        "", "missing,", "slower:nan%"};
    (void)state;
    assert_null(gate_read(&gate, &one));
    assert_true(fabs(gate.slower - 2.5) < 1e-12);
    assert_true(gate.rejected && gate.missing && gate_is_on(&gate));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct option_list list = {{wrong[i]}, 1};
        char *invalid = gate_read(&gate, &list);
        if (!invalid)
            fail_msg("'%s' is taken", wrong[i]);
        free(invalid);
    }
    struct option_list none = {{NULL}, 0};
    assert_null(gate_read(&gate, &none));
    assert_false(gate_is_on(&gate));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_equals_itself),
        cmocka_unit_test(equal_runs_are_not_called),
        cmocka_unit_test(a_slowdown_fails_the_gate),
        cmocka_unit_test(rates_of_probes_count),
        cmocka_unit_test(equal_ids_match_in_order),
        cmocka_unit_test(other_changes_are_reported),
        cmocka_unit_test(missing_and_new_rows_are_reported),
        cmocka_unit_test(single_samples_fail_the_gate),
        cmocka_unit_test(relations_are_described),
        cmocka_unit_test(two_drivers_of_a_cpu),
        cmocka_unit_test(repeats_measure_the_noise),
        cmocka_unit_test(rounds_are_one_file),
        cmocka_unit_test(rounds_are_pairs),
        cmocka_unit_test(rounds_of_other_ids_are_paired_in_order),
        cmocka_unit_test(gates_are_read),
    };
    test_args(argc, argv);
    snprintf(folder, sizeof folder, "%s", test_scratch("compare"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
