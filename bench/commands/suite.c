/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench` without a command: the quick suite. It prints the main facts of a
 * device and measures its peaks and the library's main operations in about a
 * minute. */
#include <math.h>
#include <stdio.h>

#include "base/os/clock.h"
#include "timing/run_cases.h"
#include "timing/probes.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

/* The facts that are printed, with their labels. */
static const struct {
    const char *fact, *label;
} shown[] = {
    {"driver", "driver"},
    {"cl_version", "version"},
    {"arch", "architecture"},
    {"compute_units", "compute units"},
    {"clock_hz", "clock"},
    {"global_mem_bytes", "memory"},
    {"llc_bytes", "last-level cache"},
    {"local_mem_bytes", "local memory"},
    {"max_wg_size", "largest work-group"},
    {"subgroup_width", "sub-group width"},
    {NULL, NULL},
};

static void format_fact(const xl_fact *f, char *out, size_t cap)
{
    if (f->kind == XL_FACT_TEXT)
        snprintf(out, cap, "%s", f->text ? f->text : "-");
    else
        units_format(out, cap, f->value, f->unit);
}

static void print_facts(const xl_device *dev)
{
    static const struct table_column columns[] = {
        {"limit", false, 0}, {"value", false, 12}, {"source", false, 0}};
    enum { N_COLUMNS = sizeof columns / sizeof columns[0] };
    struct table *t = table_create(columns, N_COLUMNS);
    xl_fact f;
    for (unsigned i = 0; shown[i].fact; i++) {
        char text[160];
        if (xl_device_fact(dev, shown[i].fact, XL_UNKNOWN, &f) != XL_OK ||
            f.source == XL_UNKNOWN)
            continue;
        format_fact(&f, text, sizeof text);
        table_cell(t, "%s", shown[i].label);
        table_cell(t, "%s", text);
        table_cell(t, "%s%s%s", xl_source_name(f.source), f.note ? " " : "",
                   f.note ? f.note : "");
    }
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
}

static void print_all_facts(struct session *s)
{
    xl_fact name;
    for (unsigned i = 0; i < s->n_devices; i++) {
        const xl_device *dev = s->devices[i];
        bool is_named = xl_device_fact(dev, "name", XL_UNKNOWN, &name) ==
                            XL_OK && name.text;
        struct xl__str clean = {0};
        text_escape(&clean, is_named ? name.text : "?");
        printf("Device %u: %s\n", xl_device_index(dev), xl__str_text(&clean));
        xl__str_clear(&clean);
        print_facts(dev);
        printf("\n");
    }
    fflush(stdout);
}

/* Each row is measured in N_PASSES passes that lie apart in the run, so that
 * its file shows by how much equal measurements differ: `clbench compare`
 * judges by that. Of the probes only short ones are repeated, unless --full is
 * given, so that the run stays short. */
enum { N_PASSES = 3, MOST_PROBES = 64 };

static int first_failure(int code, int next)
{
    return code != EXIT_FINE ? code : next;
}

static int run_ops(struct session *s, unsigned pass)
{
    static const struct bench_op *const ops[] = {&bench_gemm, &bench_softmax,
                                                 &bench_expr};
    int code = EXIT_FINE;
    s->pass = pass;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !session_stopped(s);
         i++)
        code = first_failure(code, bench_table(s, ops[i]));
    s->pass = 0;
    return code;
}

static const xl_probe_info *suite_probe(const struct session *s, unsigned i)
{
    const xl_probe_info *p = xl_probe_at(i);
    return p && (p->in_quick || s->set.full) ? p : NULL;
}

static int repeat_probes(struct session *s, const double *took_s,
                         unsigned pass)
{
    static const double most_s = 2;
    int code = EXIT_FINE;
    s->pass = pass;
    for (unsigned i = 0; i < MOST_PROBES && !session_stopped(s); i++)
        if (suite_probe(s, i) && (s->set.full || took_s[i] < most_s))
            code = first_failure(code, probes_run(s, suite_probe(s, i)));
    s->pass = 0;
    return code;
}

/* The first pass over the probes, with one over the operations in its
 * middle. */
static int run_probes(struct session *s, double *took_s)
{
    unsigned n = 0, n_done = 0;
    int code = EXIT_FINE;
    for (unsigned i = 0; i < MOST_PROBES; i++)
        n += suite_probe(s, i) != NULL;
    for (unsigned i = 0; i < MOST_PROBES && !session_stopped(s); i++) {
        if (!suite_probe(s, i))
            continue;
        if (n_done++ == n / 2)
            code = first_failure(code, run_ops(s, 1));
        const uint64_t start = xl__now_ns();
        code = first_failure(code, probes_run(s, suite_probe(s, i)));
        took_s[i] = (double)(xl__now_ns() - start) * 1e-9;
    }
    return code;
}

static int run_suite(struct session *s)
{
    double took_s[MOST_PROBES] = {0};
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    /* The suite has the quick extent unless --full is given. */
    s->set.quick = !s->set.full;
    if (session_tables(s))
        print_all_facts(s);
    code = run_probes(s, took_s);
    code = first_failure(code, run_ops(s, 0));
    for (unsigned pass = 2; pass < N_PASSES && !session_stopped(s); pass++) {
        code = first_failure(code, repeat_probes(s, took_s, pass - 1));
        code = first_failure(code, run_ops(s, pass));
        code = first_failure(code, repeat_probes(s, took_s, pass));
    }
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device",   "all-devices",  "variant", "dtype", "trans",
    "json",     REPORT_OPTIONS, "seed",    "quick", "full",
    "max-time", "roofs",        "strict",  NULL};

const struct command cmd_suite = {
    .name = "",
    .summary = "limits, peaks, coalescing, GEMM, softmax, fusion in a minute",
    .about =
        "Without a command clbench measures the chosen device in about a "
        "minute: its limits with their sources, its peaks, coalescing, and "
        "the library's GEMM, softmax and fused expressions against these "
        "peaks. --full takes all cases and more repetitions. Ctrl-C ends the "
        "run and keeps its results.",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_suite,
};
