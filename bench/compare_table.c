/* SPDX-License-Identifier: Apache-2.0 */
/* Columns are entrants: the own rows of each file but the first, and each
 * other library in a file. Own rows of a file with peers are the other side
 * of its ratios and no column of their own. */
#include "compare_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"
#include "base/str.h"
#include "rows.h"
#include "table.h"
#include "text.h"
#include "units.h"

enum { MOST_ENTRANTS = 24 };

struct entrant {
    const struct result_file *file;
    const char *other; /* the variant; NULL: the file's own rows */
    double log_sum;
    size_t n;
};

struct ratios {
    const struct result_file *base;
    struct entrant entrant[MOST_ENTRANTS];
    size_t n_entrants;
    const struct result_row **row; /* of the base, the fastest of each case */
    size_t n_rows, cap;
    struct rows cases; /* the same in words */
    double fail_slower;
    size_t n_gated;
};

/* -- who takes part ------------------------------------------------------- */

static void add_entrant(struct ratios *r, const struct result_file *f,
                        const char *other)
{
    for (size_t i = 0; i < r->n_entrants; i++) {
        const struct entrant *e = &r->entrant[i];
        if (e->file == f && (!other || xl__streq(e->other, other)))
            return;
    }
    if (r->n_entrants < MOST_ENTRANTS)
        r->entrant[r->n_entrants++] =
            (struct entrant){.file = f, .other = other};
}

static void find_entrants(struct ratios *r, const struct result_file *f)
{
    bool has_other = f == r->base;
    for (size_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].is_other) {
            add_entrant(r, f, f->rows[i].variant);
            has_other = true;
        }
    if (!has_other)
        add_entrant(r, f, NULL);
}

static double median_of(const struct result_row *row)
{
    return xl__summarise(row->ns, row->n).median;
}

/* The fastest timed row of a case among an entrant's; NULL: none. */
static const struct result_row *fastest(const struct result_file *f,
                                        const char *other,
                                        const char *only_case)
{
    const struct result_row *best = NULL;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct result_row *row = &f->rows[i];
        if (row->is_other != (other != NULL) ||
            (other && strcmp(row->variant, other) != 0) ||
            strcmp(row->only_case, only_case) != 0 || !result_is_timed(row))
            continue;
        if (!best || median_of(row) < median_of(best))
            best = row;
    }
    return best;
}

static bool find_rows(struct ratios *r)
{
    for (size_t i = 0; i < r->base->n_rows; i++) {
        const struct result_row *row = &r->base->rows[i];
        xl_row words;
        if (fastest(r->base, NULL, row->only_case) != row)
            continue;
        if (!xl__grow(&r->row, &r->cap, r->n_rows + 1, sizeof *r->row))
            return false;
        r->row[r->n_rows++] = row;
        result_identity(row, &words);
        if (!rows_add(&r->cases, NULL, &words))
            return false;
    }
    return true;
}

/* -- the table ------------------------------------------------------------ */

/* An entrant's time over the base's. */
static bool ratio_of(const struct ratios *r, const struct entrant *e,
                     size_t i, struct pair *out)
{
    *out = (struct pair){.a = r->row[i],
                         .b = fastest(e->file, e->other,
                                      r->row[i]->only_case)};
    if (!out->b)
        return false;
    if (!e->other || !result_turns(e->file, out->b, out))
        pair_measure(out);
    return out->ratio > 0;
}

static void cells_of(struct ratios *r, struct table *t, struct entrant *e,
                     size_t i)
{
    struct pair p;
    char ratio[32];
    if (!ratio_of(r, e, i, &p)) {
        table_cell(t, "-");
        table_cell_coloured(t, TABLE_PLAIN, "");
        return;
    }
    e->log_sum += log(p.ratio);
    e->n++;
    r->n_gated +=
        !isnan(r->fail_slower) && pair_is_slower(&p, r->fail_slower);
    snprintf(ratio, sizeof ratio, "%.3f", p.ratio);
    table_cell_coloured(t,
                        p.lo > 1   ? TABLE_GREEN
                        : p.hi < 1 ? TABLE_RED
                                   : TABLE_PLAIN,
                        ratio);
    if (isnan(p.lo))
        table_cell(t, "few runs");
    else
        table_cell(t, "%.2f..%.2f", p.lo, p.hi);
}

static void add_means(const struct ratios *r, struct table *t, size_t first,
                      size_t end)
{
    table_cell(t, "geometric mean");
    table_cell_coloured(t, TABLE_PLAIN, "");
    for (size_t i = first; i < end; i++) {
        const struct entrant *e = &r->entrant[i];
        if (e->n > 0)
            table_cell(t, "%.3f", exp(e->log_sum / (double)e->n));
        else
            table_cell(t, "-");
        table_cell(t, "%zu", e->n);
    }
}

static char letter(size_t i)
{
    return (char)('b' + (int)i);
}

/* Columns of the entrants first .. end - 1. */
static void print_block(struct ratios *r, size_t first, size_t end)
{
    struct table_column columns[2 + 2 * MOST_ENTRANTS] = {
        {"case", false, 12}, {"a", true, 0}};
    char title[MOST_ENTRANTS][8], time[UNITS_CAP];
    unsigned n = 2;
    for (size_t e = first; e < end; e++) {
        snprintf(title[e], sizeof title[e], "%c/a", letter(e));
        columns[n++] = (struct table_column){title[e], true, 0};
        columns[n++] = (struct table_column){"95 %", false, 0};
    }
    struct table *t = table_create(columns, n);
    struct xl__str text = {0};
    for (size_t i = 0; i < r->n_rows; i++) {
        xl__str_reset(&text);
        rows_case(&r->cases, i, &text);
        table_cell(t, "%s", xl__str_text(&text));
        units_time(time, sizeof time, median_of(r->row[i]));
        table_cell(t, "%s", time);
        for (size_t e = first; e < end; e++)
            cells_of(r, t, &r->entrant[e], i);
    }
    add_means(r, t, first, end);
    table_print(stdout, t, text_terminal_columns(), text_wants_colour());
    printf("\n");
    xl__str_clear(&text);
    table_destroy(t);
}

static void print_entrant(char name, const struct result_file *f,
                          const char *other)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%c = ", name);
    text_escape(&line, other ? other : f->device);
    xl__str_add(&line, " in ");
    text_escape(&line, f->path);
    text_wrap(stdout, xl__str_text(&line), 0, text_terminal_columns());
    xl__str_clear(&line);
}

static void print_all(struct ratios *r)
{
    enum { FIRST_COLUMNS = 32, EACH = 21 };
    struct xl__str common = {0}, clean = {0};
    const size_t width = text_terminal_columns();
    const size_t each =
        width > FIRST_COLUMNS + EACH ? (width - FIRST_COLUMNS) / EACH : 1;
    print_entrant('a', r->base, NULL);
    for (size_t e = 0; e < r->n_entrants; e++)
        print_entrant(letter(e), r->entrant[e].file, r->entrant[e].other);
    rows_common(&r->cases, &common);
    xl__str_add(&clean, "Times over a's: above 1, a is the faster. ");
    text_escape(&clean, xl__str_text(&common));
    text_wrap(stdout, xl__str_text(&clean), 0, text_terminal_columns());
    printf("\n");
    for (size_t first = 0; first < r->n_entrants; first += each)
        print_block(r, first,
                    first + each < r->n_entrants ? first + each
                                                 : r->n_entrants);
    xl__str_clear(&common);
    xl__str_clear(&clean);
}

bool compare_table(const struct result_file *files, size_t n_files,
                   double fail_slower, size_t *n_gated)
{
    struct ratios r = {.base = &files[0], .fail_slower = fail_slower};
    for (size_t f = 0; f < n_files; f++)
        find_entrants(&r, &files[f]);
    const bool fine = find_rows(&r);
    if (fine && r.n_entrants > 0 && r.n_rows > 0)
        print_all(&r);
    else if (fine)
        printf("nothing to compare: no second file and no other library, or "
               "nothing timed in\nthe first file\n");
    *n_gated = r.n_gated;
    rows_clear(&r.cases);
    free((void *)r.row);
    return fine;
}
