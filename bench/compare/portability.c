/* SPDX-License-Identifier: Apache-2.0 */
/* Computes and prints performance portability: collects the cases and devices
 * of all files, computes each case's efficiencies on each device, and prints
 * them with their harmonic means.
 *
 *     PP = n / sum(1 / e_i)        e_i: efficiency on device i */
#include "compare/portability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/str.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"
#include "results/json.h"
#include "results/result.h"

enum { MAX_DEVICES = 16 };

/* Cases and devices of all files, and the table to print. */
struct study {
    const struct result_file *files;
    size_t n_files;
    const char *variant;
    const char *device[MAX_DEVICES], *name[MAX_DEVICES];
    size_t n_devices;
    const struct result_row **first; /* one row of each case */
    size_t n_cases, cap, n_left_out;
    struct table *table; /* of the output */
};

/* -- cases and devices ---------------------------------------------------- */

static void add_device(struct study *s, const struct result_file *f,
                       const struct result_row *row)
{
    size_t i = 0;
    while (i < s->n_devices && strcmp(s->device[i], row->device) != 0)
        i++;
    if (i < s->n_devices || i == MAX_DEVICES)
        return;
    s->device[i] = row->device;
    s->name[i] = result_device_name(f, row);
    s->n_devices++;
}

/* False for probes, which measure the device and not the library. */
static bool is_op_row(const struct result_row *row)
{
    static const char probe[] = "probe_";
    return strncmp(row->id, probe, sizeof probe - 1) != 0;
}

static bool add_case(struct study *s, const struct result_row *row)
{
    for (size_t i = 0; i < s->n_cases; i++)
        if (strcmp(s->first[i]->case_id, row->case_id) == 0)
            return true;
    if (!xl__grow(&s->first, &s->cap, s->n_cases + 1, sizeof *s->first))
        return false;
    s->first[s->n_cases++] = row;
    return true;
}

static bool is_subject(const struct study *s, const struct result_row *row)
{
    return s->variant ? strcmp(row->variant, s->variant) == 0
                      : !row->is_other;
}

/* Efficiencies of a case on a device; 0 if it did not run there. */
struct case_efficiency {
    bool is_known; /* the file has a row of the case */
    double roof, best;
};

static struct case_efficiency find_efficiency(const struct study *s,
                                              size_t i_case, size_t i_device)
{
    const struct result_row *own = NULL;
    double own_ns = INFINITY, best_ns = INFINITY;
    struct case_efficiency out = {.is_known = false};
    for (size_t f = 0; f < s->n_files; f++)
        for (size_t r = 0; r < s->files[f].n_rows; r++) {
            const struct result_row *row = &s->files[f].rows[r];
            if (strcmp(row->case_id, s->first[i_case]->case_id) != 0 ||
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
        /* Cached data may exceed the roof of the memory. */
        out.roof = fmin(own->frac, 1);
        out.best = best_ns / own_ns;
        if (isnan(own->frac))
            out.roof = (double)NAN;
    }
    return out;
}

/* Sets the efficiencies of a case on every device: 0, it did not run; NaN,
 * unknown. False: a device has no row of the case. */
static bool find_efficiencies(const struct study *s, size_t i_case,
                              double *roof, double *best)
{
    for (size_t d = 0; d < s->n_devices; d++) {
        const struct case_efficiency at = find_efficiency(s, i_case, d);
        roof[d] = at.roof;
        best[d] = at.best;
        if (!at.is_known)
            return false;
    }
    return true;
}

/* Collects devices and cases of all files. False: out of memory. */
static bool collect_cases(struct study *s)
{
    bool fine = true;
    for (size_t f = 0; f < s->n_files; f++)
        for (size_t r = 0; r < s->files[f].n_rows && fine; r++) {
            const struct result_row *row = &s->files[f].rows[r];
            if (!is_op_row(row))
                continue;
            add_device(s, &s->files[f], row);
            fine = add_case(s, row);
        }
    return fine;
}

static void clear_study(struct study *s)
{
    free((void *)s->first);
}

enum { MAX_SHOWN_DEVICES = 4 };

double portability(const double *efficiency, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += 1 / efficiency[i]; /* of 0 infinite, which gives 0 */
    return n > 0 ? (double)n / sum : 0;
}

/* Sums of 1 / efficiency over several cases; infinite once one is 0. */
struct efficiency_sums {
    double roof, best;
    size_t n, n_cases;
};

/* -- the table ------------------------------------------------------------ */

static void add_share_cell(struct table *t, double share)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, share);
    table_cell(t, "%s", text);
}

/* Adds a row: label, the shares of each device (unless there are too many for
 * the width), the two means. */
static void add_row(struct study *s, const char *label, const double *roof,
                    const double *best, double pp_roof, double pp_best)
{
    table_cell(s->table, "%s", label);
    for (size_t d = 0; d < s->n_devices && s->n_devices <= MAX_SHOWN_DEVICES;
         d++) {
        if (roof) {
            add_share_cell(s->table, roof[d]);
            add_share_cell(s->table, best[d]);
        } else {
            table_cell_coloured(s->table, TABLE_PLAIN, "");
            table_cell_coloured(s->table, TABLE_PLAIN, "");
        }
    }
    add_share_cell(s->table, pp_roof);
    add_share_cell(s->table, pp_best);
}

/* Adds the row of the harmonic means of several cases. */
static void add_mean(struct study *s, const char *name,
                     const struct efficiency_sums *t)
{
    struct xl__str label = {0};
    xl__str_printf(&label, "%s, mean of %zu case%s", name, t->n_cases,
                   t->n_cases == 1 ? "" : "s");
    add_row(s, xl__str_text(&label), NULL, NULL, (double)t->n / t->roof,
            (double)t->n / t->best);
    xl__str_clear(&label);
}

/* Adds the row of a case, and its efficiencies to the sums of the op. Cases
 * that a device did not attempt are left out. */
static void add_case_row(struct study *s, const struct result_row *row,
                         size_t i, const char *case_text,
                         struct efficiency_sums *op)
{
    double roof[MAX_DEVICES], best[MAX_DEVICES];
    struct xl__str label = {0};
    if (!find_efficiencies(s, i, roof, best)) {
        s->n_left_out++;
        return;
    }
    for (size_t d = 0; d < s->n_devices; d++) {
        op->roof += 1 / roof[d];
        op->best += 1 / best[d];
        op->n++;
    }
    op->n_cases++;
    xl__str_printf(&label, "%s %s", json_text_at(row->json, "op"), case_text);
    add_row(s, xl__str_text(&label), roof, best,
            portability(roof, s->n_devices), portability(best, s->n_devices));
    xl__str_clear(&label);
}

static bool is_of_op(const struct study *s, size_t i, const char *op)
{
    return xl__streq(json_text_at(s->first[i]->json, "op"), op);
}

/* Adds the cases of one op, then their mean: the harmonic mean over cases and
 * devices, which equals that of the means of the cases. */
static bool add_op(struct study *s, size_t first, struct efficiency_sums *all)
{
    const char *op = json_text_at(s->first[first]->json, "op");
    struct result_table rows = {0};
    struct xl__str case_text = {0};
    struct efficiency_sums t = {0};
    bool fine = true;
    xl_row row;
    for (size_t i = first; i < s->n_cases && fine; i++)
        if (is_of_op(s, i, op)) {
            result_identity(s->first[i], &row);
            fine = result_table_add(&rows, NULL, &row);
        }
    for (size_t i = first, at = 0; i < s->n_cases && fine; i++)
        if (is_of_op(s, i, op)) {
            xl__str_reset(&case_text);
            result_table_label(&rows, at++, &case_text);
            add_case_row(s, s->first[i], i, xl__str_text(&case_text), &t);
        }
    if (t.n_cases > 0)
        add_mean(s, op, &t);
    all->roof += t.roof;
    all->best += t.best;
    all->n += t.n;
    all->n_cases += t.n_cases;
    xl__str_clear(&case_text);
    result_table_clear(&rows);
    return fine;
}

static bool add_ops(struct study *s)
{
    struct efficiency_sums all = {0};
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

/* Creates the table: two columns for each device, if there are few, and the
 * two means. */
static void create_table(struct study *s)
{
    struct table_column columns[3 + 2 * MAX_SHOWN_DEVICES] = {
        {"case", false, 12}};
    static const char *const title[MAX_SHOWN_DEVICES] = {"a roof", "b roof",
                                                         "c roof", "d roof"};
    unsigned n = 1;
    for (size_t d = 0; d < s->n_devices && s->n_devices <= MAX_SHOWN_DEVICES;
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
              "the fastest known variant there; PP: harmonic mean over the "
              "devices, 0 if one does not run the case (Pennycook, Sewall, "
              "Lee 2016)",
              2, text_terminal_columns() - 2);
    printf("\n");
    table_print(stdout, s->table, text_terminal_columns(), text_has_colour());
    if (s->n_left_out > 0)
        printf("\nCases not measured on every device: %zu\n", s->n_left_out);
    xl__str_clear(&clean);
}

bool portability_print(const struct result_file *files, size_t n_files,
                       const char *variant)
{
    struct study s = {.files = files, .n_files = n_files, .variant = variant};
    bool fine = collect_cases(&s);
    create_table(&s);
    fine = fine && add_ops(&s);
    if (fine)
        print_study(&s);
    table_destroy(s.table);
    clear_study(&s);
    return fine;
}
