/* SPDX-License-Identifier: Apache-2.0 */
#include "portability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"
#include "rows.h"
#include "table.h"
#include "text.h"
#include "units.h"

enum { MOST_DEVICES = 16, SHOWN_DEVICES = 4 };

double portability(const double *efficiency, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += 1 / efficiency[i]; /* of 0 infinite, which gives 0 */
    return n > 0 ? (double)n / sum : 0;
}

/* What is known of the files. */
struct study {
    const struct result_file *files;
    size_t n_files;
    const char *variant;
    const char *device[MOST_DEVICES], *name[MOST_DEVICES];
    size_t n_devices;
    struct rows cases;               /* in words */
    const struct result_row **first; /* a row of each case */
    size_t n_cases, cap, n_left_out;
    struct table *table;
    double all_roof, all_best; /* sums of 1 / efficiency; infinite: a 0 */
    size_t n_all;
};

/* -- what ran where ------------------------------------------------------- */

static void add_device(struct study *s, const struct result_file *f,
                       const struct result_row *row)
{
    size_t i = 0;
    while (i < s->n_devices && strcmp(s->device[i], row->device) != 0)
        i++;
    if (i < s->n_devices || i == MOST_DEVICES)
        return;
    s->device[i] = row->device;
    s->name[i] = result_device_name(f, row);
    s->n_devices++;
}

static bool add_case(struct study *s, const struct result_row *row)
{
    xl_row words;
    for (size_t i = 0; i < s->n_cases; i++)
        if (strcmp(s->first[i]->only_case, row->only_case) == 0)
            return true;
    if (!xl__grow(&s->first, &s->cap, s->n_cases + 1, sizeof *s->first))
        return false;
    s->first[s->n_cases++] = row;
    result_identity(row, &words);
    return rows_add(&s->cases, NULL, &words);
}

static bool is_subject(const struct study *s, const struct result_row *row)
{
    return s->variant ? strcmp(row->variant, s->variant) == 0
                      : !row->is_other;
}

/* A case on a device; efficiencies of 0: it did not run. */
struct standing {
    bool is_known; /* somebody tried */
    double roof, best;
};

static struct standing standing_of(const struct study *s, size_t i_case,
                                   size_t i_device)
{
    const struct result_row *own = NULL;
    double own_ns = INFINITY, best_ns = INFINITY;
    struct standing out = {.is_known = false};
    for (size_t f = 0; f < s->n_files; f++)
        for (size_t r = 0; r < s->files[f].n_rows; r++) {
            const struct result_row *row = &s->files[f].rows[r];
            if (strcmp(row->only_case, s->first[i_case]->only_case) != 0 ||
                strcmp(row->device, s->device[i_device]) != 0)
                continue;
            out.is_known = out.is_known || is_subject(s, row);
            if (!result_is_timed(row))
                continue;
            const double ns = xl__summarise(row->ns, row->n).median;
            best_ns = fmin(best_ns, ns);
            if (is_subject(s, row) && ns < own_ns) {
                own_ns = ns;
                own = row;
            }
        }
    if (own) {
        /* What caches serve may be above the roof of memory. */
        out.roof = fmin(own->frac, 1);
        out.best = best_ns / own_ns;
        if (isnan(own->frac))
            out.roof = (double)NAN;
    }
    return out;
}

/* -- the table ------------------------------------------------------------ */

static void cell_share(struct table *t, double share)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, share);
    table_cell(t, "%s", text);
}

/* False: a device has not even tried it. */
static bool efficiencies(const struct study *s, size_t i_case, double *roof,
                         double *best)
{
    for (size_t d = 0; d < s->n_devices; d++) {
        const struct standing at = standing_of(s, i_case, d);
        roof[d] = at.roof;
        best[d] = at.best;
        if (!at.is_known)
            return false;
    }
    return true;
}

static void add_line(struct study *s, size_t i)
{
    double roof[MOST_DEVICES], best[MOST_DEVICES];
    struct xl__str text = {0};
    if (!efficiencies(s, i, roof, best)) {
        s->n_left_out++;
        return;
    }
    for (size_t d = 0; d < s->n_devices; d++) {
        s->all_roof += 1 / roof[d];
        s->all_best += 1 / best[d];
        s->n_all++;
    }
    rows_case(&s->cases, i, &text);
    table_cell(s->table, "%s", xl__str_text(&text));
    for (size_t d = 0; d < s->n_devices && s->n_devices <= SHOWN_DEVICES;
         d++) {
        cell_share(s->table, roof[d]);
        cell_share(s->table, best[d]);
    }
    cell_share(s->table, portability(roof, s->n_devices));
    cell_share(s->table, portability(best, s->n_devices));
    xl__str_clear(&text);
}

/* The harmonic mean over all cases and devices. */
static void add_last_line(struct study *s)
{
    table_cell(s->table, "all");
    for (size_t d = 0; d < 2 * s->n_devices && s->n_devices <= SHOWN_DEVICES;
         d++)
        table_cell_coloured(s->table, TABLE_PLAIN, "");
    cell_share(s->table, (double)s->n_all / s->all_roof);
    cell_share(s->table, (double)s->n_all / s->all_best);
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
    struct xl__str common = {0}, clean = {0};
    printf("Performance portability of %s over %zu device%s\n",
           s->variant ? s->variant : "the library", s->n_devices,
           s->n_devices == 1 ? "" : "s");
    for (size_t d = 0; d < s->n_devices; d++) {
        xl__str_reset(&clean);
        text_escape(&clean, s->name[d]);
        printf("  %c = %s\n", 'a' + (int)d, xl__str_text(&clean));
    }
    rows_common(&s->cases, &common);
    xl__str_reset(&clean);
    text_escape(&clean, xl__str_text(&common));
    printf("  %s\n", xl__str_text(&clean));
    text_wrap(stdout,
              "roof: share of the device's roof, at most 1; best: share of "
              "the fastest that is known there; PP: harmonic mean over the "
              "devices, 0 if one does not run the case (Pennycook, Sewall, "
              "Lee 2016)",
              2, text_terminal_columns() - 2);
    table_print(stdout, s->table, text_terminal_columns(),
                text_wants_colour());
    if (s->n_left_out > 0)
        printf("\nCases that not every device ran: %zu\n", s->n_left_out);
    xl__str_clear(&common);
    xl__str_clear(&clean);
}

bool portability_print(const struct result_file *files, size_t n_files,
                       const char *variant)
{
    struct study s = {.files = files, .n_files = n_files, .variant = variant};
    bool fine = true;
    for (size_t f = 0; f < n_files; f++)
        for (size_t r = 0; r < files[f].n_rows && fine; r++) {
            add_device(&s, &files[f], &files[f].rows[r]);
            fine = add_case(&s, &files[f].rows[r]);
        }
    make_table(&s);
    for (size_t i = 0; i < s.n_cases && fine; i++)
        add_line(&s, i);
    if (fine && s.n_all > 0)
        add_last_line(&s);
    if (fine)
        print_study(&s);
    table_destroy(s.table);
    rows_clear(&s.cases);
    free((void *)s.first);
    return fine;
}
