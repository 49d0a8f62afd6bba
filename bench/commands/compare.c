/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench compare`: compare result files row by row, with gates on the
 * differences. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "compare/tables.h"
#include "compare/portability.h"
#include "report/markdown.h"
#include "cli/session.h"

static int report_error(const char *what, int code)
{
    struct xl__str clean = {0};
    text_escape(&clean, what);
    fprintf(stderr, "clbench: %s\n", xl__str_text(&clean));
    xl__str_clear(&clean);
    return code;
}

/* The first row without a match in the other file, as an example. */
static const char *first_unmatched(const struct comparison *c, enum call call)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->pairs[i].ratio.call == call)
            return (call == CALL_NEW ? c->pairs[i].b : c->pairs[i].a)->id;
    return "none";
}

static int report_no_match(const struct comparison *c)
{
    struct xl__str text = {0};
    if (c->all.n_call[CALL_FEW_RUNS] > 0)
        return report_error("no row can be compared: one sample a side, or "
                            "one round, shows no noise; measure more",
                            EXIT_USAGE);
    xl__str_printf(&text,
                   "no row can be compared: rows match when shape, type, "
                   "settings and state of the caches are equal and both have "
                   "times; only in a: %s, only in b: %s",
                   first_unmatched(c, CALL_MISSING),
                   first_unmatched(c, CALL_NEW));
    const int code = report_error(xl__str_text(&text), EXIT_USAGE);
    xl__str_clear(&text);
    return code;
}

static int write_markdown(struct session *s,
                          const struct comparisons *comparisons,
                          const struct gate *gate)
{
    struct xl__str text = {0};
    struct markdown page = {&text, false};
    const struct display display = display_markdown(&page);
    int code = EXIT_FINE;
    if (!s->set.markdown)
        return EXIT_FINE;
    xl__str_add(&text, "# Comparison by clbench\n\n");
    compare_print(comparisons, gate, &display);
    if (text.broken)
        code = session_fail(s, "writing", XL_NO_MEMORY, "");
    else if (!out_file_write(s, "markdown", s->set.markdown, text.text,
                             text.len))
        code = EXIT_FILE;
    xl__str_clear(&text);
    return code;
}

static int compare_files(struct session *s, struct comparisons *comparisons,
                         struct gate *gate)
{
    const struct compare_options how = {
        .margin = isnan(s->set.margin) ? COMPARE_MARGIN : s->set.margin,
        .assumed = s->set.noise,
    };
    if (!comparisons_make(comparisons, &how))
        return session_fail(s, "comparing", XL_NO_MEMORY, "");
    comparisons->same_kernel = s->set.same_kernel;
    for (size_t i = 0; i < comparisons->n; i++)
        gate_mark(gate, &comparisons->list[i]);
    if (comparisons->n == 0)
        return report_error("nothing to compare: no second file, device or "
                            "library; give another result file",
                            gate_is_on(gate) ? EXIT_GATE : EXIT_USAGE);
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    if (session_tables(s))
        compare_print(comparisons, gate, &terminal);
    const int code = write_markdown(s, comparisons, gate);
    if (code != EXIT_FINE)
        return code;
    if (gate_is_on(gate) && gate_fails(gate))
        return EXIT_GATE;
    return gate->n_compared > 0 ? EXIT_FINE : report_no_match(&comparisons->list[0]);
}

static bool read_sets(const struct settings *set, struct comparisons *out,
                      char *why, size_t cap)
{
    bool is_fine = comparisons_read(out, set->words, set->n_words, why, cap);
    for (unsigned i = 0; is_fine && i < set->with.n; i++)
        is_fine = comparisons_add_reference(out, set->with.value[i], why, cap);
    return is_fine;
}

static int run_compare(struct session *s)
{
    struct gate gate;
    char why[512];
    char *wrong = gate_read(&gate, &s->set.fail_on);
    if (wrong) {
        struct xl__str text = {0};
        xl__str_printf(&text,
                       "invalid value '%s' for --fail-on: must be slower:P%%, "
                       "rejected or missing, separated by commas",
                       wrong);
        free(wrong);
        const int code = report_error(xl__str_text(&text), EXIT_USAGE);
        xl__str_clear(&text);
        return code;
    }
    struct comparisons *comparisons = xl__calloc(1, sizeof *comparisons);
    if (!comparisons)
        return session_fail(s, "comparing", XL_NO_MEMORY, "");
    int code = EXIT_FINE;
    if (!read_sets(&s->set, comparisons, why, sizeof why)) {
        session_message(s, "", why);
        code = EXIT_FILE;
    } else if (!s->set.portability) {
        code = compare_files(s, comparisons, &gate);
    } else if (!portability_print(comparisons->files, comparisons->n_files,
                                  s->set.variant)) {
        code = session_fail(s, "comparing", XL_NO_MEMORY, "");
    }
    comparisons_clear(comparisons);
    free(comparisons);
    return code;
}

static const char *const options[] = {
    "with", "fail-on", "margin", "noise", "portability", "variant",
    "same-kernel", "markdown", NULL};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "compare result files, with verdicts and gates",
    .words = "A.json[,...] [B.json...]",
    .about =
        "Matches the rows of two files written by --json and prints b/a, the "
        "ratio of their times: above 1, b is slower. A row is SLOWER or "
        "FASTER when the difference is real and beyond --margin; 5 % of such "
        "rows may be false (a false-discovery rate). It is SAME when its 95 % "
        "interval is within the margin, else AMBIGUOUS, with what would "
        "decide "
        "it. A line for each operation, with the geometric mean, follows. The "
        "points of a probe's curve are one row.\n\n"
        "By how much equal measurements differ is taken from the passes that "
        "the suite takes of each operation, by class of rows, and from the "
        "scatter of the rows. Several files of each, a1.json,a2.json "
        "b1.json,b2.json, count as more passes; take them alternately. If "
        "everything is slower, it is said so, and rows are judged by what is "
        "beyond that.\n\n"
        "With one device in each file, rows match whatever the device. A case "
        "with different variants in the two files is compared, with a remark. "
        "Several files, devices or libraries (from bench/peers, or CLBlast by "
        "--variant all) make one table: times relative to the first file's "
        "own "
        "rows, with geometric means. --with adds a run that comes with "
        "clbench.\n\n"
        "--portability takes the files of several devices and prints which "
        "fraction of each device a case reaches, of its roof and of the best "
        "known there, with the harmonic means over the devices; --variant "
        "chooses the variant.\n\n"
        "--fail-on makes it a gate with exit code 5: slower:5% when a row, an "
        "operation or everything together differs and its whole interval is "
        "above 1.05, or when nothing could be compared; rejected when a row "
        "that had a time is rejected or fails; missing when a row of the "
        "first file is not in the other.",
    .options = options,
    .min_words = 1,
    .max_words = COMPARISONS_MAX_SETS,
    .run = run_compare,
};
