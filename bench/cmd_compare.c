/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench compare`: the ratio of medians, with its 95% interval, of each row
 * that two result files share; and a gate on it. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "compare.h"
#include "session.h"
#include "table.h"
#include "text.h"
#include "units.h"

struct tally {
    size_t n_pairs, n_faster, n_slower, n_gated;
    size_t n_unmatched, n_untimed;
    double log_sum; /* of the ratios */
};

static int open_file(const char *path, struct result_file *file)
{
    char why[512];
    if (results_read(path, file, why, sizeof why))
        return EXIT_FINE;
    struct xl__str clean = {0};
    text_escape(&clean, why);
    fprintf(stderr, "clbench: %s\n", xl__str_text(&clean));
    xl__str_clear(&clean);
    return EXIT_FILE;
}

static void add_pair(struct session *s, struct table *t, struct tally *tally,
                     const struct pair *p)
{
    char a[UNITS_CAP], b[UNITS_CAP];
    bool gate = !isnan(s->set.fail_slower) &&
                pair_is_slower(p, s->set.fail_slower);
    bool slower = p->lo > 1.0, faster = p->hi < 1.0;
    units_time(a, sizeof a, p->a_ns);
    units_time(b, sizeof b, p->b_ns);
    table_cell(t, "%s", p->a->id);
    table_cell(t, "%s", a);
    table_cell(t, "%s", b);
    table_cell(t, "%.3f", p->ratio);
    table_cell(t, "%.3f..%.3f", p->lo, p->hi);
    table_cell_coloured(t,
                        gate || slower ? TABLE_RED
                        : faster       ? TABLE_GREEN
                                       : TABLE_PLAIN,
                        gate     ? "slower, gate"
                        : slower ? "slower"
                        : faster ? "faster"
                                 : "same");
    tally->n_pairs++;
    tally->n_slower += slower;
    tally->n_faster += faster;
    tally->n_gated += gate;
    tally->log_sum += log(p->ratio);
}

static void add_rows(struct session *s, struct table *t, struct tally *tally,
                     const struct result_file *a, const struct result_file *b)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        struct pair p = {.a = &a->rows[i]};
        p.b = results_match(a, i, b);
        if (!p.b) {
            tally->n_unmatched++;
        } else if (!result_is_timed(p.a) || !result_is_timed(p.b)) {
            tally->n_untimed++;
        } else {
            pair_measure(&p);
            add_pair(s, t, tally, &p);
        }
    }
    for (size_t i = 0; i < b->n_rows; i++)
        tally->n_unmatched += results_match(b, i, a) == NULL;
}

static void print_file(const char *letter, const struct result_file *file)
{
    struct xl__str clean = {0};
    text_escape(&clean, file->path);
    xl__str_add(&clean, ": ");
    text_escape(&clean, file->device);
    if (file->n_devices > 1)
        xl__str_printf(&clean, " and %zu more", file->n_devices - 1);
    fprintf(stdout, "%s = %s\n", letter, xl__str_text(&clean));
    xl__str_clear(&clean);
}

static void print_tally(const struct session *s, const struct tally *t)
{
    fprintf(stdout, "%zu rows compared: %zu faster, %zu slower, %zu the same",
            t->n_pairs, t->n_faster, t->n_slower,
            t->n_pairs - t->n_faster - t->n_slower);
    if (t->n_pairs > 0)
        fprintf(stdout, "; geometric mean of b/a %.3f",
                exp(t->log_sum / (double)t->n_pairs));
    fputc('\n', stdout);
    if (t->n_unmatched > 0)
        fprintf(stdout, "%zu rows are in one file only\n", t->n_unmatched);
    if (t->n_untimed > 0)
        fprintf(stdout, "%zu rows have no time that can be quoted\n",
                t->n_untimed);
    if (!isnan(s->set.fail_slower))
        fprintf(stdout, "gate slower:%g%%: %s (%zu rows)\n",
                s->set.fail_slower, t->n_gated ? "FAILED" : "passed",
                t->n_gated);
}

static void print_table(struct session *s, struct tally *tally,
                        const struct result_file *a,
                        const struct result_file *b)
{
    static const struct table_column columns[] = {
        {"row", false, 20},  {"a", true, 0},         {"b", true, 0},
        {"b/a", true, 0},    {"95% interval", true, 0}, {"", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    add_rows(s, t, tally, a, b);
    print_file("a", a);
    print_file("b", b);
    if (tally->n_pairs > 0)
        table_print(stdout, t, text_terminal_columns(), text_wants_colour());
    table_destroy(t);
}

static int run(struct session *s)
{
    struct result_file a, b;
    struct tally tally = {0};
    int code = open_file(s->set.words[0], &a);
    int code_b = open_file(s->set.words[1], &b);
    if (code == EXIT_FINE)
        code = code_b;
    if (code == EXIT_FINE) {
        print_table(s, &tally, &a, &b);
        print_tally(s, &tally);
        if (tally.n_gated > 0)
            code = EXIT_GATE;
    }
    if (code == EXIT_FINE && tally.n_pairs == 0 &&
        !isnan(s->set.fail_slower)) {
        fprintf(stderr, "clbench: the gate has nothing to compare: no row is "
                        "timed in both files\n");
        code = EXIT_GATE;
    }
    results_clear(&a);
    results_clear(&b);
    return code;
}

static const char *const options[] = {"fail-on", NULL};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "two result files: ratio of medians, with its interval",
    .words = "A.json B.json",
    .about =
        "Matches the rows of two files written by --json and prints b/a, the "
        "ratio of their median times: above 1, b is slower. The interval "
        "holds the ratio with 95% confidence, by resampling the samples; a "
        "row counts as faster or slower only when its whole interval lies on "
        "one side of 1. With one device in each file rows are matched "
        "whatever the device, so two devices can be compared.\n\n"
        "--fail-on slower:5% makes it a gate: exit code 5 when the whole "
        "interval of a row lies above 1.05, or when no row could be "
        "compared.",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
