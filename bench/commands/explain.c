/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench OP --explain`, once `clbench explain OP`: why a variant, a tile and
 * a work-group are chosen, from the data by which the library chooses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "commands.h"
#include "results/listings.h"
#include "results/result.h"
#include "timing/run_cases.h"
#include "report/report.h"
#include "timing/roofs/peaks.h"
#include "cli/console.h"
#include "cli/units.h"
#include "cli/matrix_table.h"

enum { INDENT = 4 };

/* Facts on which plans depend, in the order of the output. */
static const char *const limits[] = {
    "compute_units",       "max_wg_size",      "local_mem_bytes",
    "has_local_mem",       "subgroup_width",   "native_vector_f32",
    "cache_line_bytes",    "llc_bytes",        "mem_align_bytes",
    "max_alloc_bytes",     "has_f16_arith",    "has_watchdog",
    "async_copy",          "line_copy",        "block_read",
    "peak_f32_flop_per_s", "copy_bytes_per_s", NULL};

static void print_fact(const char *name, const xl_fact *f)
{
    char text[96] = "unknown";
    if (f->kind == XL_FACT_TEXT && f->text)
        snprintf(text, sizeof text, "%s", f->text);
    else if (f->kind == XL_FACT_BOOL && !isnan(f->value))
        snprintf(text, sizeof text, "%s", f->value != 0 ? "yes" : "no");
    else if (f->kind == XL_FACT_NUMBER && !isnan(f->value))
        units_format(text, sizeof text, f->value, f->unit);
    printf("    %-22s %-24s %s%s%s\n", name, text, xl_source_name(f->source),
           f->note ? ", " : "", f->note ? f->note : "");
}

/* A measured value that is not used, with the note that says why. */
static void print_contradiction(const xl_device *dev, const char *name)
{
    char text[UNITS_CAP];
    xl_fact f;
    if (xl_device_fact(dev, name, XL_MEASURED, &f) != XL_OK || !f.note)
        return;
    units_format(text, sizeof text, f.value, f.unit);
    printf("      measured %s contradicts it and is not used (%s)\n", text,
           f.note);
}

static void print_limits(const xl_device *dev)
{
    xl_fact f;
    printf("  Limits used, with their sources\n");
    for (unsigned i = 0; limits[i]; i++) {
        if (xl_device_fact(dev, limits[i], XL_CALIBRATED, &f) == XL_OK &&
            f.source == XL_UNKNOWN)
            (void)xl_device_fact(dev, limits[i], XL_UNKNOWN, &f);
        print_fact(limits[i], &f);
        print_contradiction(dev, limits[i]);
    }
    matrix_table_print(dev, text_terminal_columns());
}

static void print_sizes(const char *name, const size_t size[3])
{
    if (size[0] == 0)
        printf("      %-14s chosen by the driver\n", name);
    else
        printf("      %-14s %zu x %zu x %zu\n", name, size[0], size[1],
               size[2]);
}

/* rates: from which the time is, when not from measured ones; or "". */
static void print_chosen(const xl_choice *c, const char *unit,
                         const char *rates)
{
    char text[UNITS_CAP];
    double amount = strcmp(unit, "B/s") == 0 ? c->bytes : c->flop;
    if (*c->tunables) {
        printf("      tile:\n");
        text_wrap(stdout, c->tunables, 2 * INDENT, text_terminal_columns());
    }
    print_sizes("work-group", c->wg);
    print_sizes("global size", c->global);
    units_format(text, sizeof text, (double)c->local_mem_bytes, "B");
    printf("      %-14s %s\n", "local memory", text);
    if (!isnan(c->registers))
        printf("      %-14s %.0f\n", "registers", c->registers);
    units_format(text, sizeof text, c->spill_bytes, "B");
    if (!isnan(c->spill_bytes))
        printf("      %-14s %s\n", "spilled", text);
    units_format(text, sizeof text, (double)c->scratch_bytes, "B");
    printf("      %-14s %s\n", "scratch", text);
    printf("      %-14s %u\n", "launches", c->n_steps);
    units_time(text, sizeof text, c->est_ns);
    printf("      %-14s %s%s, limited by %s", "expected", text, rates,
           c->bound);
    units_format(text, sizeof text, amount / c->est_ns * 1e9, unit);
    printf(" (%s)\n", text);
    printf("      %-14s %s\n", "repeats", c->repeats);
}

static void print_choice(unsigned number, const xl_choice *c, const char *unit,
                         const char *rates)
{
    char text[UNITS_CAP];
    printf("    %u. %s%s\n", number, c->variant,
           c->chosen ? "  <- chosen" : "");
    if (*c->why)
        text_wrap(stdout, c->why, INDENT + 2, text_terminal_columns());
    if (c->chosen) {
        print_chosen(c, unit, rates);
    } else if (!isnan(c->est_ns)) {
        units_time(text, sizeof text, c->est_ns);
        printf("      expected %s%s, limited by %s\n", text, rates,
               c->bound);
    }
}

/* The bound by the roofline of this device, from its measured peaks. */
static void print_bound(xl_queue *q, const xl_row *row, const xl_roof *roof)
{
    xl_bound bound;
    char text[UNITS_CAP];
    bool is_rate = strcmp(row->unit, "B/s") == 0;
    printf("  Bound on this device\n");
    if (roof_bound(q, roof, row, false, &bound) != XL_OK) {
        printf("    unknown: the peaks could not be measured\n");
        return;
    }
    units_format(text, sizeof text, bound.value, bound.unit);
    double amount = is_rate ? row->bytes : row->flop;
    printf("    %s, set by %s (%s)", text, bound.name,
           xl_source_name(bound.source));
    units_time(text, sizeof text, amount / bound.value * 1e9);
    printf(": %s at best\n", text);
}

/* The origin of the rates that the expected times are of. False: they were not
 * measured. */
static bool print_profile(xl_queue *q)
{
    xl_profile profile;
    struct xl__str text = {0};
    const bool is_measured =
        xl_profile_find(q, &profile) == XL_OK && profile.n_rates > 0;
    if (!is_measured)
        xl__str_add(&text, "Rates: computed from the facts of the driver and "
                           "the vendor's table; 'clbench calibrate' measures "
                           "them");
    else
        xl__str_printf(&text, "Rates: measured %s with driver %s, %s",
                       profile.date, profile.driver, profile.origin);
    printf("\n");
    text_wrap(stdout, xl__str_text(&text), 2, text_terminal_columns() - 2);
    xl__str_clear(&text);
    return is_measured;
}

static void print_heading(const char *op, const char *shape, xl_device *dev)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%s %s on device %u, %s", op, shape,
                   xl_device_index(dev), device_fact_text(dev, "name", "?"));
    text_line(stdout, xl__str_text(&line));
    printf("\n");
    xl__str_clear(&line);
}

static int explain_case(struct session *s, xl_device *dev,
                        const struct bench_op *op, const void *c,
                        const char *shape)
{
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    const struct bench_data none = {.seed = 0};
    const struct case_run work = {
        .c = c, .data = &none, .variant = s->set.variant};
    xl_row row;
    xl_queue *q = session_queue(s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    memset(choices, 0, sizeof choices);
    xl_row_init(&row, op->name, "");
    op->describe(c, &row);
    xl_status status = op->explain(q, &work, choices, &n);
    print_heading(op->name, shape, dev);
    print_limits(dev);
    const bool is_measured = print_profile(q);
    printf("\n  Variants, best first\n");
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        print_choice(i + 1, &choices[i], row.unit,
                     s->listing && !is_measured ? " (from peak rates)" : "");
    int code = EXIT_FINE;
    if (status != XL_OK)
        code = session_fail(s, "explaining", status, xl_error_detail(q));
    else
        printf("\n");
    const xl_roof roof = op->engine ? op->engine(c) : roof_usual(row.dtype);
    if (status == XL_OK && s->listing)
        printf("  Nothing was built or run: the device is not here.\n");
    else if (status == XL_OK)
        print_bound(q, &row, &roof);
    xl_queue_destroy(q);
    return code;
}

/* The case as it was written; of a shape file its sizes. */
static void add_shape(const struct session *s, const struct bench_op *op,
                      const void *c, size_t i, struct xl__str *out)
{
    xl_row row;
    if (i < s->set.n_words) {
        xl__str_add(out, s->set.words[i]);
        return;
    }
    xl_row_init(&row, op->name, "");
    op->describe(c, &row);
    result_add_shape(out, &row);
}

int explain_run(struct session *s, const struct bench_op *op)
{
    struct bench_cases cases;
    int code = bench_cases_read(s, op, &cases);
    if (code == EXIT_FINE && cases.n == 0) {
        fprintf(stderr, "clbench: missing argument: --explain takes a "
                        "SHAPE\n");
        code = EXIT_USAGE;
    }
    if (code == EXIT_FINE)
        code = listing_choose(s);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    for (size_t i = 0; code == EXIT_FINE && i < cases.n; i++)
        for (unsigned d = 0; code == EXIT_FINE && d < s->n_devices; d++) {
            struct xl__str shape = {0};
            add_shape(s, op, cases.list[i], i, &shape);
            code = explain_case(s, s->devices[d], op, cases.list[i],
                                xl__str_text(&shape));
            xl__str_clear(&shape);
        }
    bench_cases_clear(&cases);
    return code != EXIT_FINE ? code : session_result(s);
}

static int run_explain(struct session *s)
{
    const struct bench_op *op = bench_op_find(s->set.words[0]);
    s->set.words++;
    s->set.n_words--;
    const int code = op ? explain_run(s, op) : EXIT_USAGE;
    s->set.words--;
    return code;
}

static const char *const options[] = {
    "device",  "all-devices", "as",       "variant",     "dtype",
    "dtype-b", "trans",       "accuracy", "batch",       "heads",
    "layout",  "stride",      "pad",      "dilation",    "groups",
    "log",     "rms",         "residual", "causal",      "share",
    "window",  "format",      "group",    "activations", NULL};

const struct command cmd_explain = {
    .name = "explain",
    .summary = "old name of 'OP --explain'",
    .instead = "OP SHAPE --explain",
    .words = "OP SHAPE",
    .about = "'clbench OP SHAPE --explain' prints the same; expressions are "
             "explained by 'clbench expr TEXT --explain'.",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run_explain,
};
