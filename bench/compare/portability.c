/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/portability.h"

#include <stdio.h>

#include "base/str.h"
#include "results/json.h"
#include "compare/portability_study.h"
#include "results/result.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

enum { SHOWN_DEVICES = 4 };

double portability(const double *efficiency, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += 1 / efficiency[i]; /* of 0 infinite, which gives 0 */
    return n > 0 ? (double)n / sum : 0;
}

/* Efficiencies of several cases together: sums of 1 / efficiency, infinite
 * once one is 0. */
struct together {
    double roof, best;
    size_t n, n_cases;
};

/* -- the table ------------------------------------------------------------ */

static void cell_share(struct table *t, double share)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, share);
    table_cell(t, "%s", text);
}

/* A line: what it is of, a device's shares unless they are many, the means. */
static void add_line(struct study *s, const char *label, const double *roof,
                     const double *best, double pp_roof, double pp_best)
{
    table_cell(s->table, "%s", label);
    for (size_t d = 0; d < s->n_devices && s->n_devices <= SHOWN_DEVICES;
         d++) {
        if (roof) {
            cell_share(s->table, roof[d]);
            cell_share(s->table, best[d]);
        } else {
            table_cell_coloured(s->table, TABLE_PLAIN, "");
            table_cell_coloured(s->table, TABLE_PLAIN, "");
        }
    }
    cell_share(s->table, pp_roof);
    cell_share(s->table, pp_best);
}

static void add_mean(struct study *s, const char *name,
                     const struct together *t)
{
    struct xl__str label = {0};
    xl__str_printf(&label, "%s, %zu case%s together", name, t->n_cases,
                   t->n_cases == 1 ? "" : "s");
    add_line(s, xl__str_text(&label), NULL, NULL, (double)t->n / t->roof,
             (double)t->n / t->best);
    xl__str_clear(&label);
}

static void add_case_line(struct study *s, const struct result_row *row,
                          size_t i, const char *words, struct together *op)
{
    double roof[STUDY_MOST_DEVICES], best[STUDY_MOST_DEVICES];
    struct xl__str label = {0};
    if (!study_efficiencies(s, i, roof, best)) {
        s->n_left_out++;
        return;
    }
    for (size_t d = 0; d < s->n_devices; d++) {
        op->roof += 1 / roof[d];
        op->best += 1 / best[d];
        op->n++;
    }
    op->n_cases++;
    xl__str_printf(&label, "%s %s", json_text_at(row->json, "op"), words);
    add_line(s, xl__str_text(&label), roof, best,
             portability(roof, s->n_devices),
             portability(best, s->n_devices));
    xl__str_clear(&label);
}

static bool is_of_op(const struct study *s, size_t i, const char *op)
{
    return xl__streq(json_text_at(s->first[i]->json, "op"), op);
}

/* The cases of one op, then all of them together: the harmonic mean over
 * cases and devices, which is that of the cases' own means. */
static bool add_op(struct study *s, size_t first, struct together *all)
{
    const char *op = json_text_at(s->first[first]->json, "op");
    struct rows rows = {0};
    struct xl__str words = {0};
    struct together t = {0};
    bool fine = true;
    xl_row row;
    for (size_t i = first; i < s->n_cases && fine; i++)
        if (is_of_op(s, i, op)) {
            result_identity(s->first[i], &row);
            fine = rows_add(&rows, NULL, &row);
        }
    for (size_t i = first, at = 0; i < s->n_cases && fine; i++)
        if (is_of_op(s, i, op)) {
            xl__str_reset(&words);
            rows_case(&rows, at++, &words);
            add_case_line(s, s->first[i], i, xl__str_text(&words), &t);
        }
    if (t.n_cases > 0)
        add_mean(s, op, &t);
    all->roof += t.roof;
    all->best += t.best;
    all->n += t.n;
    all->n_cases += t.n_cases;
    xl__str_clear(&words);
    rows_clear(&rows);
    return fine;
}

static bool add_ops(struct study *s)
{
    struct together all = {0};
    bool fine = true;
    size_t n_ops = 0;
    for (size_t i = 0; i < s->n_cases && fine; i++) {
        bool is_first = true;
        for (size_t j = 0; j < i; j++)
            is_first = is_first &&
                       !is_of_op(s, j, json_text_at(s->first[i]->json, "op"));
        if (is_first) {
            n_ops++;
            fine = add_op(s, i, &all);
        }
    }
    if (n_ops > 1 && all.n_cases > 0)
        add_mean(s, "all ops", &all);
    return fine;
}

static void make_table(struct study *s)
{
    struct table_column columns[3 + 2 * SHOWN_DEVICES] = {
        {"case", false, 12}};
    static const char *const title[SHOWN_DEVICES] = {"a roof", "b roof",
                                                     "c roof", "d roof"};
    unsigned n = 1;
    for (size_t d = 0; d < s->n_devices && s->n_devices <= SHOWN_DEVICES;
         d++) {
        columns[n++] = (struct table_column){title[d], true, 0};
        columns[n++] = (struct table_column){"best", true, 0};
    }
    columns[n++] = (struct table_column){"PP roof", true, 0};
    columns[n++] = (struct table_column){"PP best", true, 0};
    s->table = table_create(columns, n);
}

static void print_study(struct study *s)
{
    struct xl__str clean = {0};
    printf("Performance portability of %s over %zu device%s\n",
           s->variant ? s->variant : "the library", s->n_devices,
           s->n_devices == 1 ? "" : "s");
    for (size_t d = 0; d < s->n_devices; d++) {
        xl__str_reset(&clean);
        text_escape(&clean, s->name[d]);
        printf("  %c = %s\n", 'a' + (int)d, xl__str_text(&clean));
    }
    text_wrap(stdout,
              "roof: share of the device's roof, at most 1; best: share of "
              "the fastest that is known there; PP: harmonic mean over the "
              "devices, 0 if one does not run the case (Pennycook, Sewall, "
              "Lee 2016)",
              2, text_terminal_columns() - 2);
    printf("\n");
    table_print(stdout, s->table, text_terminal_columns(), text_has_colour());
    if (s->n_left_out > 0)
        printf("\nCases that not every device ran: %zu\n", s->n_left_out);
    xl__str_clear(&clean);
}

bool portability_print(const struct result_file *files, size_t n_files,
                       const char *variant)
{
    struct study s = {.files = files, .n_files = n_files, .variant = variant};
    bool fine = study_gather(&s);
    make_table(&s);
    fine = fine && add_ops(&s);
    if (fine)
        print_study(&s);
    table_destroy(s.table);
    study_clear(&s);
    return fine;
}
