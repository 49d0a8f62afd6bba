/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the rows of one table. A setting that all rows share is stated
 * once above the table, so that a row's own cell holds only what distinguishes
 * it:
 *
 *     f16, trans=nn            <- result_table_common()
 *     4096^3       1.2 ms      <- result_table_label()
 *     100x200x300  3.4 us
 *
 * The identity of a row, by which runs are compared, is
 * "op/variant/m=1,n=2/trans=nn/f16/hot": found numbers are not in it. */
#include "results/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/units.h"
#include "results/warnings.h"

static char *make_id(const xl_row *row)
{
    struct xl__str id = {0};
    result_row_id(&id, row);
    return xl__str_steal(&id);
}

/* The id without the variant. */
static char *make_case_id(const xl_row *row)
{
    xl_row any = *row;
    any.variant[0] = '\0';
    return make_id(&any);
}

bool result_table_add(struct result_table *rows, const void *dev,
                      const xl_row *row)
{
    struct measured_row kept = {.dev = dev, .row = *row};
    kept.kernel_key.id = make_id(row);
    kept.case_key.id = make_case_id(row);
    if (!kept.kernel_key.id || !kept.case_key.id ||
        !xl__grow(&rows->list, &rows->cap, rows->n + 1, sizeof *rows->list)) {
        free(kept.kernel_key.id);
        free(kept.case_key.id);
        return false;
    }
    for (size_t i = 0; i < rows->n; i++) {
        const struct measured_row *other = &rows->list[i];
        if (other->dev != dev)
            continue;
        kept.kernel_key.repeat +=
            strcmp(other->kernel_key.id, kept.kernel_key.id) == 0;
        kept.case_key.repeat +=
            strcmp(other->case_key.id, kept.case_key.id) == 0;
    }
    rows->n_repeats += kept.case_key.repeat > 0;
    rows->list[rows->n++] = kept;
    return true;
}

void result_table_clear(struct result_table *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free(rows->list[i].kernel_key.id);
        free(rows->list[i].case_key.id);
    }
    free(rows->list);
    *rows = (struct result_table){.list = NULL};
}

static const xl_param *find_param(const xl_param *list, unsigned n,
                                  const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static bool is_same_param(const xl_param *a, const xl_param *b)
{
    return a && b && strcmp(a->text, b->text) == 0 &&
           (*a->text || !(a->value < b->value || a->value > b->value));
}

/* Have all rows the parameter with the same value? */
static bool is_common_param(const struct result_table *rows, const xl_param *p)
{
    for (size_t i = 0; i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        if (!is_same_param(p, find_param(row->params, row->n_params, p->name)))
            return false;
    }
    return true;
}

double result_finding(const xl_row *row, const char *name)
{
    const xl_param *p = find_param(row->params, row->n_params, name);
    return p && p->is_found ? p->value : NAN;
}

double result_joules(const xl_row *row)
{
    const xl_conditions *c = &row->samples.conditions;
    return c->energy_j / c->span_ns * row->samples.median_ns;
}

static void add_part(struct xl__str *out, double value, const char *unit,
                     const char *before, const char *behind)
{
    char text[UNITS_CAP];
    if (!(value > 0))
        return;
    if (*unit)
        units_format(text, sizeof text, value, unit);
    else
        units_number(text, sizeof text, value);
    xl__str_printf(out, "%s%s%s", before, text, behind);
}

void result_describe_launch(const xl_row *row, struct xl__str *out)
{
    const xl_launch_use *l = &row->launch;
    const double joules = result_joules(row);
    struct xl__str text = {0};
    if (l->groups > 0) {
        add_part(&text, l->groups, "", "; ", " groups");
        add_part(&text, l->wg_size, "", " of ", "");
        add_part(&text, l->groups_per_unit, "", ", ", " a unit");
    }
    add_part(&text, l->local_bytes, "B", "; ", " of local memory");
    add_part(&text, l->private_bytes, "B", "; ", " of private memory an item");
    add_part(&text, l->registers, "", "; ", " registers");
    add_part(&text, l->spill_bytes, "B", ", ", " spilled");
    add_part(&text, result_finding(row, "model_ns"), "ns", "; ", " expected");
    add_part(&text, joules, "", "; ", " J a run");
    if (row->flop > 0)
        add_part(&text, row->flop / joules / 1e9, "", ", ", " GFLOP/J");
    xl__str_add(out, text.len > 0 ? text.text + strlen("; ") : "");
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

enum { MOST_FINDINGS = 4 };
static const struct {
    const char *name;
    const char *findings[MOST_FINDINGS + 1];
} kinds[N_ROWS_KINDS] = {
    [ROWS_USUAL] = {"usual", {"ulps", "gain", "overlap", NULL}},
    [ROWS_OF_EXPRESSIONS] = {"expressions", {"kernels", "gain", NULL}},
    [ROWS_OF_A_SWEEP] = {"sweep",
                         {"align_bytes", "area", "waves", "fill", NULL}},
    [ROWS_WITH_BOUNDS] = {"bounds", {"times", "bound_ns", NULL}},
    [ROWS_OF_LIMITERS] = {"limiters", {"share", NULL}},
    [ROWS_OF_LEVELS] = {"levels", {"size_bytes", NULL}},
    [ROWS_OF_KERNELS] = {"kernels", {"of_best", NULL}},
    [ROWS_OF_MODELS] = {"models", {"calls", "of_pass", NULL}},
};

const char *rows_kind_name(unsigned kind)
{
    return kind < N_ROWS_KINDS ? kinds[kind].name : NULL;
}

const char *rows_kind_finding(enum rows_kind kind, unsigned i)
{
    return kinds[kind].findings[i];
}

/* Is the parameter left out of labels? An output of the row's own type adds
 * nothing, and some findings have a column of their own or are not shown. */
static bool is_hidden_param(const xl_row *row, const xl_param *p)
{
    static const char *const not_shown[] = {
        "curve", "launches", "model_ns", "scaling", "is_default", NULL};
    for (unsigned k = 0; k < N_ROWS_KINDS; k++)
        if (is_one_of(p->name, kinds[k].findings))
            return true;
    return is_one_of(p->name, not_shown) ||
           (row->dtype < XL_N_DTYPES &&
            strcmp(p->text, xl_dtype_name(row->dtype)) == 0);
}

/* Have all rows the same type? */
static bool is_common_dtype(const struct result_table *rows)
{
    for (size_t i = 1; i < rows->n; i++)
        if (rows->list[i].row.dtype != rows->list[0].row.dtype)
            return false;
    return true;
}

static bool is_common_cache(const struct result_table *rows)
{
    for (size_t i = 1; i < rows->n; i++)
        if (rows->list[i].row.cold != rows->list[0].row.cold)
            return false;
    return true;
}

static bool has_ending(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Units that names end in: the number is shown with the unit, the name without
 * it. */
static const struct {
    const char *ending, *unit;
} unit_endings[] = {
    {"_B_per_s", "B/s"}, {"_bytes", "B"}, {"bytes", "B"}, {"_ns", "ns"}};

/* Parameters whose text is shown without the name. */
static const char *const unnamed_params[] = {"case", "names", "planted", NULL};

/* "group=64", "floor=1 GB/s" of floor_B_per_s, or the text only. */
static void add_param(struct xl__str *out, const xl_param *p)
{
    enum { N = sizeof unit_endings / sizeof unit_endings[0] };
    char number[UNITS_CAP];
    size_t i = 0, len = strlen(p->name);
    if (*p->text) {
        const bool is_unnamed = is_one_of(p->name, unnamed_params);
        xl__str_printf(out, "%s%s%s", is_unnamed ? "" : p->name,
                       is_unnamed ? "" : "=", p->text);
        return;
    }
    while (i < N && !has_ending(p->name, unit_endings[i].ending))
        i++;
    units_format(number, sizeof number, p->value,
                 i < N ? unit_endings[i].unit : "1");
    len -= i < N ? strlen(unit_endings[i].ending) : 0;
    xl__str_printf(out, "%.*s%s%s", (int)len, p->name, len ? "=" : "", number);
}

static void add_separator(struct xl__str *out, const char *between)
{
    if (out->len > 0)
        xl__str_add(out, between);
}

void result_table_common(const struct result_table *rows, struct xl__str *out)
{
    if (rows->n == 0)
        return;
    const xl_row *row = &rows->list[0].row;
    if (is_common_dtype(rows) && row->dtype < XL_N_DTYPES)
        xl__str_add(out, xl_dtype_name(row->dtype));
    for (unsigned i = 0; i < row->n_params; i++)
        if (is_common_param(rows, &row->params[i]) &&
            !is_hidden_param(row, &row->params[i])) {
            add_separator(out, ", ");
            add_param(out, &row->params[i]);
        }
    if (is_common_cache(rows) && row->cold) {
        add_separator(out, ", ");
        xl__str_add(out, "cold caches");
    }
}

static bool is_common_size(const struct result_table *rows, const xl_param *p)
{
    for (size_t i = 0; i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        if (!is_same_param(p, find_param(row->shape, row->n_shape, p->name)))
            return false;
    }
    return true;
}

static void add_axis(struct xl__str *out, const xl_param *p, bool is_named)
{
    char number[UNITS_CAP];
    add_separator(out, " ");
    units_number(number, sizeof number, p->value);
    xl__str_printf(out, "%s%s%s", is_named ? p->name : "", is_named ? "=" : "",
                   *p->text ? p->text : number);
}

void result_table_axes(const struct result_table *rows, size_t i,
                       bool is_named, struct xl__str *out)
{
    const xl_row *row = &rows->list[i].row;
    struct xl__str text = {0};
    for (unsigned k = 0; k < row->n_shape; k++)
        if (!is_common_size(rows, &row->shape[k]))
            add_axis(&text, &row->shape[k], is_named);
    for (unsigned k = 0; k < row->n_params; k++)
        if (!row->params[k].is_found &&
            !is_common_param(rows, &row->params[k]))
            add_axis(&text, &row->params[k], is_named);
    xl__str_add(out, xl__str_text(&text));
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}

/* The batch count, the last of the sizes; NULL: none. */
static const xl_param *find_batch(const xl_row *row)
{
    const xl_param *last = row->n_shape ? &row->shape[row->n_shape - 1] : NULL;
    return last && strcmp(last->name, "batch") == 0 ? last : NULL;
}

/* Sizes that commands read without their names; others keep these. */
static bool is_plain_shape(const xl_row *row, unsigned n)
{
    static const char *const dims[] = {
        "m",  "n",  "k", "rows",    "cols", "d0",      "d1", "d2",    "d3",
        "d4", "d5", "h", "w",       "c",    "r",       "s",  "batch", "heads",
        "q",  "kv", "d", "queries", "keys", "columns", NULL};
    for (unsigned i = 0; i < n; i++)
        if (!is_one_of(row->shape[i].name, dims))
            return false;
    return true;
}

/* Is it an m x n x k with all three equal? */
static bool is_cube(const xl_row *row, unsigned n)
{
    return n == 3 && strcmp(row->shape[0].name, "m") == 0 &&
           row->shape[0].value == row->shape[1].value &&
           row->shape[1].value == row->shape[2].value;
}

/* "1000x1023x517", "4096^3", "32x56x56x64:64x3x3", or names and values. */
static void add_sizes(struct xl__str *out, const xl_row *row, unsigned n)
{
    const bool is_plain = is_plain_shape(row, n);
    const char *before = "";
    char number[UNITS_CAP];
    if (is_cube(row, n)) {
        units_number(number, sizeof number, row->shape[0].value);
        xl__str_printf(out, "%s^3", number);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        const xl_param *size = &row->shape[i];
        if (!is_plain) {
            xl__str_add(out, before);
            add_param(out, size);
            before = " ";
            continue;
        }
        if (i > 0 && strcmp(size->name, "kv") == 0 &&
            size->value == size[-1].value)
            continue; /* as many keys as queries */
        units_number(number, sizeof number, size->value);
        xl__str_printf(out, "%s%s", before, number);
        before = strcmp(size->name, "c") == 0 ? ":" : "x";
    }
}

void result_add_shape(struct xl__str *out, const xl_row *row)
{
    const xl_param *batch = find_batch(row);
    char number[UNITS_CAP];
    add_sizes(out, row, row->n_shape - (batch ? 1 : 0));
    if (!batch)
        return;
    units_number(number, sizeof number, batch->value);
    xl__str_printf(out, " x%s", number);
}

void result_table_label(const struct result_table *rows, size_t i,
                        struct xl__str *out)
{
    const xl_row *row = &rows->list[i].row;
    const xl_param *name = find_param(row->params, row->n_params, "case");
    if (name && !is_common_param(rows, name)) {
        add_param(out, name);
        return;
    }
    result_add_shape(out, row);
    if (!is_common_dtype(rows) && row->dtype < XL_N_DTYPES) {
        add_separator(out, " ");
        xl__str_add(out, xl_dtype_name(row->dtype));
    }
    for (unsigned j = 0; j < row->n_params; j++)
        if (!is_common_param(rows, &row->params[j]) &&
            !is_hidden_param(row, &row->params[j])) {
            add_separator(out, " ");
            add_param(out, &row->params[j]);
        }
    if (!is_common_cache(rows)) {
        add_separator(out, " ");
        xl__str_add(out, row->cold ? "cold" : "hot");
    }
    if (out->len == 0)
        xl__str_add(out, "-");
}

/* -- notes ---------------------------------------------------------------- */

void notes_clear(struct notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        free(notes->text[i]);
    free(notes->text);
    *notes = (struct notes){NULL, 0, 0};
}

size_t notes_add(struct notes *notes, const char *text)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return i + 1;
    char *copy = xl__strdup(text);
    if (!copy || !xl__grow(&notes->text, &notes->cap, notes->n + 1,
                           sizeof *notes->text)) {
        free(copy);
        return 0;
    }
    notes->text[notes->n++] = copy;
    return notes->n;
}

/* The numbers of a row's notes. */
struct marks {
    size_t number[XL_N_WARN + 1], n;
};

static void add_mark(struct notes *notes, const char *text,
                     struct marks *marks)
{
    const size_t number = notes_add(notes, text);
    if (number > 0)
        marks->number[marks->n++] = number;
}

static int compare_sizes(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* "1-4,7": so a row with many notes fits the table's width. */
static void print_marks(struct marks *m, struct xl__str *out)
{
    qsort(m->number, m->n, sizeof *m->number, compare_sizes);
    for (size_t i = 0, end; i < m->n; i = end) {
        for (end = i + 1;
             end < m->n && m->number[end] == m->number[end - 1] + 1; end++)
            ;
        if (end - i == 2)
            end--;
        xl__str_printf(out, "%s%zu", i > 0 ? "," : "", m->number[i]);
        if (end - i > 1)
            xl__str_printf(out, "-%zu", m->number[end - 1]);
    }
}

/* Is the reason about the warning? Both begin with the same letters then:
 * "noisy", "fewer". */
static bool is_about_warning(const char *reason, unsigned bit)
{
    enum { BEGINNING = 3 };
    return *reason && strncmp(reason, warn_code(bit), BEGINNING) == 0;
}

static void add_advice(struct xl__str *text, unsigned bit,
                       const struct settings *set)
{
    const char *advice = set->quiet ? NULL : warn_advice(bit, set);
    if (advice)
        xl__str_printf(text, "; %s", advice);
}

void notes_add_row(struct notes *notes, const xl_row *row,
                   const struct settings *set, struct xl__str *marks)
{
    struct xl__str text = {0};
    struct marks found = {0};
    unsigned left = row->warnings;
    if (*row->reason) {
        xl__str_add(&text, row->reason);
        for (unsigned bit = 0; bit < XL_N_WARN; bit++)
            if (left & 1u << bit && is_about_warning(row->reason, bit)) {
                add_advice(&text, bit, set);
                left &= ~(1u << bit);
            }
        add_mark(notes, xl__str_text(&text), &found);
    }
    for (unsigned bit = 0; bit < XL_N_WARN && !set->quiet; bit++) {
        if (!(left & 1u << bit))
            continue;
        xl__str_reset(&text);
        xl__str_printf(&text, "%s: %s", warn_code(bit), warn_text(bit));
        add_advice(&text, bit, set);
        add_mark(notes, xl__str_text(&text), &found);
    }
    print_marks(&found, marks);
    xl__str_clear(&text);
}

/* "/m=1,n=2" of the settings; found numbers are left out. */
static void add_params(struct xl__str *out, const xl_param *p, unsigned n)
{
    const char *before = "/";
    for (unsigned i = 0; i < n; i++) {
        if (p[i].is_found)
            continue;
        xl__str_printf(out, "%s%s=", before, p[i].name);
        if (*p[i].text)
            xl__str_add(out, p[i].text);
        else
            xl__str_printf(out, "%.17g", p[i].value);
        before = ",";
    }
    if (*before == '/')
        xl__str_add(out, before);
}

void result_row_id(struct xl__str *out, const xl_row *row)
{
    xl__str_printf(out, "%s/%s", row->op, row->variant);
    add_params(out, row->shape, row->n_shape);
    add_params(out, row->params, row->n_params);
    const char *dtype =
        row->dtype < XL_N_DTYPES ? xl_dtype_name(row->dtype) : "-";
    xl__str_printf(out, "/%s/%s", dtype, row->cold ? "cold" : "hot");
}

const char *device_fact_text(const xl_device *dev, const char *name,
                             const char *otherwise)
{
    xl_fact fact;
    if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK || !fact.text)
        return otherwise;
    return fact.text;
}
