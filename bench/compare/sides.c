/* SPDX-License-Identifier: Apache-2.0 */
/* A case is an id without the variant. Probes have other parameters on each
 * device, such as working sets, so theirs is what was measured and the type;
 * of several such rows the n-th of each device are in one line. */
#include "compare/sides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/table.h"
#include "cli/units.h"

/* What a line is found by: the place of a row among those of its device. */
struct row_case {
    char *id;
    size_t nth; /* of a probe */
};

struct side_tables {
    const struct sides *s;
    const struct display *to;
    struct row_case *cases; /* of each row */
    bool is_of_probes;
};

static bool is_probe(const xl_row *row)
{
    static const char probe[] = "probe_";
    return strncmp(row->op, probe, sizeof probe - 1) == 0;
}

static const struct measured_row *row_at(const struct side_tables *t, size_t i)
{
    return &t->s->rows->list[i];
}

static bool find_cases(struct side_tables *t)
{
    const struct result_table *rows = t->s->rows;
    t->cases = xl__calloc(rows->n, sizeof *t->cases);
    for (size_t i = 0; t->cases && i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        struct xl__str id = {0};
        if (is_probe(row))
            xl__str_printf(&id, "%s/%s/%d", row->op, row->variant,
                           (int)row->dtype);
        else
            xl__str_add(&id, rows->list[i].case_key.id);
        t->cases[i].id = xl__str_steal(&id);
        if (!t->cases[i].id)
            return false;
        for (size_t j = 0; is_probe(row) && j < i; j++)
            t->cases[i].nth += rows->list[j].dev == rows->list[i].dev &&
                               strcmp(t->cases[j].id, t->cases[i].id) == 0;
        t->is_of_probes = is_probe(row);
    }
    return t->cases != NULL;
}

static bool is_same_case(const struct side_tables *t, size_t i, size_t j)
{
    return t->cases[i].nth == t->cases[j].nth &&
           strcmp(t->cases[i].id, t->cases[j].id) == 0;
}

/* A rate; of a time its inverse. */
static double speed_of(const xl_row *row)
{
    const bool is_time =
        strcmp(row->unit, "s") == 0 || strcmp(row->unit, "ns") == 0;
    return is_time ? 1 / row->value : row->value;
}

static bool is_better(const xl_row *a, const xl_row *b)
{
    if ((a->verdict >= XL_ROW_REJECTED) != (b->verdict >= XL_ROW_REJECTED))
        return a->verdict < b->verdict;
    return speed_of(a) > speed_of(b);
}

/* The best row of a device in the line of row i, of one kernel or of any
 * (NULL); NULL: none. */
static const xl_row *find_row(const struct side_tables *t, size_t i,
                              unsigned side, const char *kernel)
{
    const xl_row *best = NULL;
    for (size_t j = 0; j < t->s->rows->n; j++) {
        const struct measured_row *r = row_at(t, j);
        if (r->dev == t->s->list[side].key && is_same_case(t, i, j) &&
            (!kernel || strcmp(r->row.variant, kernel) == 0) &&
            (!best || is_better(&r->row, best)))
            best = &r->row;
    }
    return best;
}

/* Is row i the first of its line? */
static bool is_first(const struct side_tables *t, size_t i, const char *kernel)
{
    for (size_t j = 0; j < i; j++)
        if (is_same_case(t, i, j) &&
            (!kernel || strcmp(row_at(t, j)->row.variant, kernel) == 0))
            return false;
    return true;
}

/* Is row i's kernel one of the second table, with a row of each device? */
static bool is_shared(const struct side_tables *t, size_t i)
{
    const char *kernel = row_at(t, i)->row.variant;
    if (t->is_of_probes || !is_first(t, i, kernel))
        return false;
    if (t->s->kernel)
        return strcmp(t->s->kernel, kernel) == 0;
    for (unsigned d = 0; d < t->s->n; d++)
        if (!find_row(t, i, d, kernel))
            return false;
    return true;
}

/* Has one device another kernel than the others in the first table? */
static bool has_mixed(const struct side_tables *t)
{
    for (size_t i = 0; i < t->s->rows->n; i++)
        for (unsigned d = 0; d < t->s->n; d++) {
            const xl_row *a = find_row(t, i, 0, NULL);
            const xl_row *b = find_row(t, i, d, NULL);
            if (!a || !b || strcmp(a->variant, b->variant) != 0)
                return true;
        }
    return false;
}

/* -- cells ---------------------------------------------------------------- */

static void add_label(const struct side_tables *t, struct table *table,
                      size_t i)
{
    struct xl__str text = {0};
    const xl_row *row = &row_at(t, i)->row;
    if (!t->is_of_probes)
        result_table_label(t->s->rows, i, &text);
    else
        xl__str_add(&text, row->variant);
    if (t->is_of_probes && row->dtype < XL_N_DTYPES &&
        strcmp(row->variant, xl_dtype_name(row->dtype)) != 0)
        xl__str_printf(&text, " %s", xl_dtype_name(row->dtype));
    table_cell(table, "%s", text.len > 0 ? xl__str_text(&text) : "-");
    xl__str_clear(&text);
}

/* "tiled" of gemm_tiled, since a table is of one op. */
static const char *short_name(const xl_row *row)
{
    const size_t len = strlen(row->op);
    return strncmp(row->variant, row->op, len) == 0 && row->variant[len] == '_'
               ? row->variant + len + 1
               : row->variant;
}

/* "tiled", or "A cpu, B tiled". */
static void add_kernels(const struct side_tables *t, struct table *table,
                        size_t i, const char *kernel)
{
    struct xl__str text = {0};
    const char *same = NULL;
    bool is_mixed = false;
    for (unsigned d = 0; d < t->s->n; d++) {
        const xl_row *row = find_row(t, i, d, kernel);
        if (!row)
            continue;
        is_mixed |= same && strcmp(same, short_name(row)) != 0;
        same = short_name(row);
        xl__str_printf(&text, "%s%c %s", text.len ? ", " : "",
                       t->s->first + (int)d, same);
    }
    table_cell(table, "%s", is_mixed ? xl__str_text(&text) : same ? same : "");
    xl__str_clear(&text);
}

/* "140 GFLOP/s?[1,2]"; a rate that is not to be quoted has its verdict. */
static void add_value(const struct side_tables *t, struct table *table,
                      const xl_row *row)
{
    static const struct {
        const char *mark;
        enum table_colour colour;
    } marks[] = {[XL_ROW_OK] = {"", TABLE_PLAIN},
                 [XL_ROW_SUSPICIOUS] = {"?", TABLE_YELLOW},
                 [XL_ROW_REJECTED] = {"!", TABLE_RED},
                 [XL_ROW_UNSUPPORTED] = {NULL, TABLE_PLAIN},
                 [XL_ROW_ERROR] = {NULL, TABLE_RED}};
    struct xl__str text = {0}, numbers = {0};
    char value[UNITS_CAP];
    if (!row) {
        table_cell(table, "-");
        return;
    }
    const char *mark = marks[row->verdict].mark;
    units_format(value, sizeof value, result_finding(row, "size_bytes"), "B");
    if (mark && result_finding(row, "size_bytes") > 0)
        xl__str_printf(&text, "%s: ", value);
    units_format(value, sizeof value, row->value, row->unit);
    xl__str_printf(&text, "%s%s", mark ? value : xl_verdict_name(row->verdict),
                   mark ? mark : "");
    if (t->s->notes)
        notes_add_row(t->s->notes, row, t->s->set, &numbers);
    if (numbers.len > 0)
        xl__str_printf(&text, "[%s]", xl__str_text(&numbers));
    table_cell_coloured(table, marks[row->verdict].colour,
                        xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&numbers);
}

static void add_ratio(struct table *table, const xl_row *a, const xl_row *b)
{
    static const double small = 0.1, large = 10;
    char text[UNITS_CAP];
    const bool is_right = a && b && a->verdict <= XL_ROW_SUSPICIOUS &&
                          b->verdict <= XL_ROW_SUSPICIOUS &&
                          strcmp(a->unit, b->unit) == 0;
    const double ratio = is_right ? speed_of(b) / speed_of(a) : NAN;
    units_number(text, sizeof text, ratio);
    if (ratio < small)
        table_cell(table, "%.2g", ratio);
    else if (ratio < large)
        table_cell(table, "%.2f", ratio);
    else
        table_cell(table, "%s", isnan(ratio) ? "-" : text);
}

/* -- tables --------------------------------------------------------------- */

/* A table of the first device and of others from `from` to end - 1. */
static void show_table(const struct side_tables *t, bool is_same_kernel,
                       unsigned from, unsigned end)
{
    struct table_column columns[3 + 2 * SIDES_MOST] = {{"case", false, 12}};
    char titles[2 * SIDES_MOST][8];
    unsigned n = 1;
    if (!t->is_of_probes)
        columns[n++] = (struct table_column){"kernel", false, 8};
    for (unsigned d = 0; d < end; d = d ? d + 1 : from) {
        char *rate = titles[2 * d], *ratio = titles[2 * d + 1];
        const char letter = (char)(t->s->first + (int)d);
        memcpy(rate, (char[]){letter, '\0'}, 2);
        memcpy(ratio, (char[]){'x', ' ', t->s->first, '\0'}, 4);
        columns[n++] = (struct table_column){rate, true, 0};
        if (d > 0)
            columns[n++] = (struct table_column){ratio, true, 0};
    }
    struct table *table = table_create(columns, n);
    for (size_t i = 0; i < t->s->rows->n; i++) {
        const char *kernel = is_same_kernel ? row_at(t, i)->row.variant : NULL;
        if (!(is_same_kernel ? is_shared(t, i) : is_first(t, i, NULL)))
            continue;
        const xl_row *first = find_row(t, i, 0, kernel);
        add_label(t, table, i);
        if (!t->is_of_probes)
            add_kernels(t, table, i, kernel);
        for (unsigned d = 0; d < end; d = d ? d + 1 : from) {
            const xl_row *row = find_row(t, i, d, kernel);
            add_value(t, table, row);
            if (d > 0)
                add_ratio(table, first, row);
        }
    }
    t->to->table(t->to->arg, table);
    table_destroy(table);
}

/* As many devices beside the first as the width has room for. */
static void show_tables(const struct side_tables *t, bool is_same_kernel)
{
    enum { FIRST_COLUMNS = 42, EACH = 24, MOST = 8 };
    const unsigned width = t->to->width;
    unsigned each = width == 0 ? MOST : 1;
    if (width > FIRST_COLUMNS + EACH)
        each = (width - FIRST_COLUMNS) / EACH;
    each = each > MOST ? MOST : each;
    for (unsigned from = 1; from < t->s->n; from += each) {
        if (from > 1)
            t->to->gap(t->to->arg);
        show_table(t, is_same_kernel, from,
                   from + each < t->s->n ? from + each : t->s->n);
    }
}

static bool has_shared(const struct side_tables *t)
{
    for (size_t i = 0; i < t->s->rows->n; i++)
        if (is_shared(t, i))
            return true;
    return false;
}

static void show_same_kernel(const struct side_tables *t)
{
    struct xl__str text = {0};
    if (t->is_of_probes)
        return;
    if (!has_shared(t))
        xl__str_add(&text, t->s->kernel
                               ? "Same kernel: no device ran it"
                               : "Same kernel: none ran on all devices; "
                                 "--same-kernel NAME runs one on each");
    else if (!has_mixed(t) && !t->s->kernel)
        xl__str_add(&text, "Same kernel: as above");
    else
        xl__str_add(&text, "Same kernel");
    t->to->text(t->to->arg, xl__str_text(&text));
    if (xl__streq(xl__str_text(&text), "Same kernel"))
        show_tables(t, true);
    xl__str_clear(&text);
}

static void show_legend(const struct side_tables *t)
{
    struct xl__str text = {0};
    for (unsigned d = 0; d < t->s->n; d++) {
        xl__str_reset(&text);
        xl__str_printf(&text, "%c = %s", t->s->first + (int)d,
                       t->s->list[d].name ? t->s->list[d].name : "");
        if (t->s->list[d].name)
            t->to->text(t->to->arg, xl__str_text(&text));
    }
    xl__str_clear(&text);
}

void sides_show(const struct sides *s, const struct display *to)
{
    struct side_tables t = {.s = s, .to = to};
    struct xl__str text = {0};
    if (find_cases(&t)) {
        show_legend(&t);
        xl__str_printf(&text,
                       "%sx %c: speed over that of %c; ? suspicious, ! "
                       "rejected",
                       t.is_of_probes ? "" : "Best of each; ", s->first,
                       s->first);
        to->text(to->arg, xl__str_text(&text));
        xl__str_clear(&text);
        show_tables(&t, false);
        show_same_kernel(&t);
    }
    for (size_t i = 0; t.cases && i < s->rows->n; i++)
        free(t.cases[i].id);
    free(t.cases);
}
