/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench` without a command: the quick suite. It prints the main facts of a
 * device and measures its peaks and the library's main operations in about a
 * minute. */
#include <math.h>
#include <stdio.h>

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

static int run_probes(struct session *s)
{
    const xl_probe_info *p;
    int code = EXIT_FINE;
    for (unsigned i = 0; (p = xl_probe_at(i)) && !session_stopped(s); i++) {
        if (!p->in_quick && !s->set.full)
            continue;
        int failed = probes_run(s, p);
        code = failed ? failed : code;
    }
    return code;
}

static int run_suite(struct session *s)
{
    static const struct bench_op *const ops[] = {&bench_gemm, &bench_softmax,
                                                 &bench_expr};
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    /* The suite has the quick extent unless --full is given. */
    s->set.quick = !s->set.full;
    if (session_tables(s))
        print_all_facts(s);
    code = run_probes(s);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const int failed = session_stopped(s) ? EXIT_FINE
                                              : bench_table(s, ops[i]);
        code = failed ? failed : code;
    }
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device", "all-devices", "variant", "dtype", "trans", "json",
    REPORT_OPTIONS, "seed", "quick", "full", "max-time", "strict", NULL};

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
