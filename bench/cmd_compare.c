/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench compare`: the ratio of medians, with its 95% interval, of each row
 * that two result files share; and a gate on it. More files, and those with
 * other libraries in them, are a table of their own (compare_table.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compare_table.h"
#include "portability.h"
#include "rows.h"
#include "session.h"
#include "table.h"
#include "text.h"
#include "units.h"

enum { MOST_FILES = 16 };

struct tally {
    size_t n_faster, n_slower, n_unsure, n_gated;
    size_t n_unmatched, n_untimed;
    double log_sum; /* of the ratios */
};

/* Every pair, and beside each what was run. */
struct comparison {
    struct session *s;
    struct pair *pairs;
    size_t n, cap;
    struct tally tally;
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

static bool add_pair(struct comparison *c, struct pair *p)
{
    struct tally *tally = &c->tally;
    if (!xl__grow(&c->pairs, &c->cap, c->n + 1, sizeof *c->pairs))
        return false;
    pair_measure(p);
    p->is_gated = !isnan(c->s->set.fail_slower) &&
                  pair_is_slower(p, c->s->set.fail_slower);
    tally->n_slower += p->lo > 1.0;
    tally->n_faster += p->hi < 1.0;
    tally->n_unsure += isnan(p->lo) ? 1 : 0;
    tally->n_gated += p->is_gated;
    tally->log_sum += log(p->ratio);
    c->pairs[c->n++] = *p;
    return true;
}

/* The case's row in `b` when another variant runs it there; one that has a
 * match of its own is not it. */
static const struct result_row *other_variant(const struct result_file *a,
                                              size_t i,
                                              const struct result_file *b)
{
    const struct result_row *row = results_match_case(a, i, b);
    return row && !results_match(b, (size_t)(row - b->rows), a) ? row : NULL;
}

static bool add_pairs(struct comparison *c, const struct result_file *a,
                      const struct result_file *b)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        struct pair p = {.a = &a->rows[i]};
        p.b = results_match(a, i, b);
        if (!p.b)
            p.b = other_variant(a, i, b);
        if (!p.b)
            c->tally.n_unmatched++;
        else if (!result_is_timed(p.a) || !result_is_timed(p.b))
            c->tally.n_untimed++;
        else if (!add_pair(c, &p))
            return false;
    }
    for (size_t i = 0; i < b->n_rows; i++)
        c->tally.n_unmatched += results_match(b, i, a) == NULL &&
                                other_variant(b, i, a) == NULL;
    return true;
}

/* -- printing ------------------------------------------------------------- */

static void cells_of_pair(struct table *t, const struct pair *p)
{
    char a[UNITS_CAP], b[UNITS_CAP];
    bool slower = p->lo > 1.0, faster = p->hi < 1.0;
    units_time(a, sizeof a, p->a_ns);
    units_time(b, sizeof b, p->b_ns);
    table_cell(t, "%s", a);
    table_cell(t, "%s", b);
    table_cell(t, "%.3f", p->ratio);
    if (isnan(p->lo))
        table_cell(t, "-");
    else
        table_cell(t, "%.3f..%.3f", p->lo, p->hi);
    if (isnan(p->lo))
        table_cell(t, "few runs");
    else if (p->is_gated)
        table_cell_coloured(t, TABLE_RED, "slower, gate");
    else if (slower)
        table_cell_coloured(t, TABLE_RED, "slower");
    else if (faster)
        table_cell_coloured(t, TABLE_GREEN, "faster");
    else
        table_cell(t, "same");
}

/* Both, where the one that runs the case has changed. */
static void cell_variant(struct table *t, const struct pair *p)
{
    if (xl__streq(p->a->variant, p->b->variant))
        table_cell(t, "%s", p->a->variant);
    else
        table_cell(t, "%s, b: %s", p->a->variant, p->b->variant);
}

static void print_title(const char *op, const char *common)
{
    struct xl__str clean = {0};
    text_escape(&clean, op);
    if (*common)
        xl__str_add(&clean, ": ");
    text_escape(&clean, common);
    fprintf(stdout, "%s\n", xl__str_text(&clean));
    xl__str_clear(&clean);
}

/* The pairs of one op; `first` is its first. */
static void print_op(const struct comparison *c, size_t first)
{
    static const struct table_column columns[] = {
        {"case", false, 12}, {"variant", false, 8}, {"a", true, 0},
        {"b", true, 0},      {"b/a", true, 0},      {"95% interval", true, 0},
        {"", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    struct rows rows = {0};
    struct xl__str text = {0};
    xl_row row, other;
    result_identity(c->pairs[first].a, &row);
    size_t *index = xl__calloc(c->n, sizeof *index);
    for (size_t i = first; index && i < c->n; i++) {
        result_identity(c->pairs[i].a, &other);
        index[rows.n] = i;
        if (xl__streq(other.op, row.op))
            (void)rows_add(&rows, NULL, &other);
    }
    for (size_t i = 0; i < rows.n; i++) {
        xl__str_reset(&text);
        rows_case(&rows, i, &text);
        table_cell(t, "%s", xl__str_text(&text));
        cell_variant(t, &c->pairs[index[i]]);
        cells_of_pair(t, &c->pairs[index[i]]);
    }
    xl__str_reset(&text);
    rows_common(&rows, &text);
    print_title(row.op, xl__str_text(&text));
    table_print(stdout, t, text_terminal_columns(), text_wants_colour());
    fputc('\n', stdout);
    free(index);
    xl__str_clear(&text);
    rows_clear(&rows);
    table_destroy(t);
}

/* Is this pair the first of its op? */
static bool begins_op(const struct comparison *c, size_t i)
{
    xl_row row, other;
    result_identity(c->pairs[i].a, &row);
    for (size_t j = 0; j < i; j++) {
        result_identity(c->pairs[j].a, &other);
        if (xl__streq(row.op, other.op))
            return false;
    }
    return true;
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

static void print_tally(const struct comparison *c)
{
    const struct tally *t = &c->tally;
    fprintf(stdout, "%zu rows compared: %zu faster, %zu slower, %zu the same",
            c->n, t->n_faster, t->n_slower,
            c->n - t->n_faster - t->n_slower - t->n_unsure);
    if (c->n > 0)
        fprintf(stdout, "; geometric mean of b/a %.3f",
                exp(t->log_sum / (double)c->n));
    fputc('\n', stdout);
    if (t->n_unsure > 0)
        fprintf(stdout, "%zu rows have too few runs to tell\n", t->n_unsure);
    if (t->n_unmatched > 0)
        fprintf(stdout, "%zu rows are in one file only\n", t->n_unmatched);
    if (t->n_untimed > 0)
        fprintf(stdout, "%zu rows have no time that can be quoted\n",
                t->n_untimed);
    if (!isnan(c->s->set.fail_slower))
        fprintf(stdout, "gate slower:%g%%: %s (%zu rows)\n",
                c->s->set.fail_slower, t->n_gated ? "FAILED" : "passed",
                t->n_gated);
}

static int compare(struct session *s, const struct result_file *a,
                   const struct result_file *b)
{
    struct comparison c = {.s = s};
    int code = EXIT_FINE;
    if (!add_pairs(&c, a, b)) {
        code = session_fail(s, "comparing", XL_NO_MEMORY, "");
    } else {
        print_file("a", a);
        print_file("b", b);
        fputc('\n', stdout);
        for (size_t i = 0; i < c.n; i++)
            if (begins_op(&c, i))
                print_op(&c, i);
        print_tally(&c);
        if (c.tally.n_gated > 0)
            code = EXIT_GATE;
    }
    if (code == EXIT_FINE && c.n == c.tally.n_unsure &&
        !isnan(s->set.fail_slower)) {
        fprintf(stderr, "clbench: the gate has nothing to compare: no row has "
                        "runs enough in both files\n");
        code = EXIT_GATE;
    }
    free(c.pairs);
    return code;
}

/* One file, several, or some with other libraries in them. */
static int compare_many(struct session *s, const struct result_file *files,
                        size_t n)
{
    size_t n_gated = 0;
    if (!compare_table(files, n, s->set.fail_slower, &n_gated))
        return session_fail(s, "comparing", XL_NO_MEMORY, "");
    return n_gated > 0 ? EXIT_GATE : EXIT_FINE;
}

static int compare_files(struct session *s, const struct result_file *files,
                         size_t n)
{
    bool has_peers = false;
    for (size_t i = 0; i < n; i++)
        has_peers = has_peers || result_has_peers(&files[i]);
    if (s->set.portability)
        return portability_print(files, n, s->set.variant)
                   ? EXIT_FINE
                   : session_fail(s, "comparing", XL_NO_MEMORY, "");
    return n == 2 && !has_peers ? compare(s, &files[0], &files[1])
                                : compare_many(s, files, n);
}

static int run(struct session *s)
{
    struct result_file files[MOST_FILES] = {{.path = NULL}};
    const size_t n = s->set.n_words;
    int code = EXIT_FINE;
    for (size_t i = 0; i < n; i++) {
        const int failed = open_file(s->set.words[i], &files[i]);
        code = code == EXIT_FINE ? failed : code;
    }
    if (code == EXIT_FINE)
        code = compare_files(s, files, n);
    for (size_t i = 0; i < n; i++)
        results_clear(&files[i]);
    return code;
}

static const char *const options[] = {"fail-on", "portability", "variant",
                                      NULL};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "result files: ratios of medians, with intervals",
    .words = "A.json [B.json...]",
    .about =
        "Matches the rows of two files written by --json and prints b/a, the "
        "ratio of their median times: above 1, b is slower. The interval "
        "holds the ratio with 95% confidence, by resampling the samples; a "
        "row counts as faster or slower only when its whole interval lies on "
        "one side of 1. With one device in each file rows are matched "
        "whatever the device, so two devices can be compared. A case that "
        "another variant runs in the other file is compared too.\n\n"
        "Several files, or files that have other libraries in them (of "
        "bench/peers, or CLBlast by --variant all), make one table: times "
        "over those of the first file's own rows, with geometric means. What "
        "a peer measured in turns with ours stands as it was measured.\n\n"
        "--portability takes the files of several devices instead and prints "
        "how much of each device a case reaches, of its roof and of the best "
        "that is known there, with the harmonic means over the devices; "
        "--variant names whose.\n\n"
        "--fail-on slower:5% makes it a gate: exit code 5 when the whole "
        "interval of a row lies above 1.05, or when no row has runs enough "
        "to be compared.",
    .options = options,
    .min_words = 1,
    .max_words = MOST_FILES,
    .run = run,
};
