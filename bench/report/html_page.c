/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers what a page shows: every row of every file finds its device and its
 * op. Then what each is called on the page, and which facts and rows represent
 * a device. */
#include "report/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "base/alloc.h"
#include "results/json.h"
#include "results/result.h"

/* -- devices -------------------------------------------------------------- */

/* No name that both have differs. */
static bool is_same_device(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"name", "platform", "driver", "uuid",
                                        "pci"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *x = json_text_at(a, names[i]);
        const char *y = json_text_at(b, names[i]);
        if (*x && *y && strcmp(x, y) != 0)
            return false;
    }
    return true;
}

/* Is the device in the file already? Two entries of one file are two devices,
 * however similar. */
static bool is_in_file(const struct html_page *page,
                       const struct result_file *file, size_t i_device)
{
    for (size_t i = 0; i < page->n_runs; i++)
        if (page->runs[i].file == file && page->runs[i].i_device == i_device)
            return true;
    return false;
}

/* Finds the device of an entry, or adds it. */
static bool find_device(struct html_page *page, const struct result_file *file,
                        const json_t *json, size_t *at)
{
    for (*at = 0; *at < page->n_devices; ++*at)
        if (is_same_device(page->devices[*at].json, json) &&
            !is_in_file(page, file, *at))
            return true;
    if (!xl__grow(&page->devices, &page->devices_cap, page->n_devices + 1,
                  sizeof *page->devices))
        return false;
    const char *name = json_text_at(json, "name");
    page->devices[page->n_devices++] = (struct html_device){
        .name = *name ? name : "a device without a name",
        .platform = json_text_at(json, "platform"),
        .driver = json_text_at(json, "driver"),
        .json = json,
    };
    return true;
}

/* Adds a device entry of a file as a run. */
static bool add_run(struct html_page *page, const struct result_file *file,
                    const json_t *json)
{
    size_t at = 0;
    if (!find_device(page, file, json, &at) ||
        !xl__grow(&page->runs, &page->runs_cap, page->n_runs + 1,
                  sizeof *page->runs))
        return false;
    page->runs[page->n_runs++] =
        (struct html_run){.file = file, .json = json, .i_device = at};
    return true;
}

/* Finds the run of a row, or adds it: a row without a device has one without a
 * name. */
static bool find_run(struct html_page *page, const struct result_file *file,
                     const json_t *json, size_t *at)
{
    for (*at = 0; *at < page->n_runs; ++*at)
        if (page->runs[*at].file == file && page->runs[*at].json == json)
            return true;
    return add_run(page, file, json);
}

/* -- rows ----------------------------------------------------------------- */

/* Finds the group of an op and a kind, or adds it. */
static struct html_group *find_group(struct html_page *page, const char *op,
                                     enum rows_kind kind)
{
    for (size_t i = 0; i < page->n_groups; i++)
        if (page->groups[i].table.kind == kind &&
            strcmp(page->groups[i].op, op) == 0)
            return &page->groups[i];
    if (!xl__grow(&page->groups, &page->groups_cap, page->n_groups + 1,
                  sizeof *page->groups))
        return NULL;
    struct html_group *group = &page->groups[page->n_groups++];
    *group = (struct html_group){.op = op, .table = {.kind = kind}};
    return group;
}

/* Adds a row to its group and counts it for its device. */
static bool add_row(struct html_page *page, const struct result_file *file,
                    const struct result_row *row)
{
    struct html_group *group = find_group(page, json_text_at(row->json, "op"),
                                          result_rows_kind(file, row));
    size_t at = 0;
    if (!group || !find_run(page, file, result_device(file, row), &at) ||
        !xl__grow(&group->rows, &group->cap, group->n + 1,
                  sizeof *group->rows))
        return false;
    struct html_device *device = &page->devices[page->runs[at].i_device];
    group->rows[group->n++] = (struct html_row){
        .row = row,
        .i_run = at,
        .is_point = !isnan(result_number(row, "params", "curve")),
    };
    device->n_rows++;
    device->n_verdict[html_verdict_rank(row->verdict)]++;
    page->n_rows++;
    return true;
}

/* Marks the rows of a group that has rows of several runs. */
static void mark_mixed(struct html_group *group)
{
    bool is_mixed = false;
    for (size_t i = 1; i < group->n; i++)
        is_mixed = is_mixed || group->rows[i].i_run != group->rows[0].i_run;
    for (size_t i = 0; i < group->n; i++)
        group->rows[i].is_mixed = is_mixed;
}

/* Labels each row with what distinguishes it, as the tables of the terminal
 * do. */
static bool label_rows(const struct html_page *page, struct html_group *group)
{
    struct result_table *rows = &group->table;
    struct xl__str text = {0};
    bool is_ok = true;
    for (size_t i = 0; i < group->n && is_ok; i++) {
        xl_row row;
        result_row_read(group->rows[i].row, &row);
        is_ok =
            result_table_add(rows, &page->runs[group->rows[i].i_run], &row);
    }
    for (size_t i = 0; i < group->n && is_ok; i++) {
        result_table_label(rows, i, &text);
        group->rows[i].label = xl__str_steal(&text);
        is_ok = group->rows[i].label != NULL;
    }
    if (is_ok) {
        result_table_common(rows, &text);
        xl__str_add(&text, "");
        group->common = xl__strdup(xl__str_text(&text));
        is_ok = group->common != NULL;
    }
    xl__str_clear(&text);
    return is_ok;
}

static bool is_chosen_device(const struct html_page *page,
                             const json_t *device)
{
    return !page->choice.device ||
           (device && is_same_device(page->choice.device, device));
}

static bool is_chosen_row(const struct html_page *page,
                          const struct result_file *file,
                          const struct result_row *row)
{
    return is_chosen_device(page, result_device(file, row)) &&
           (!page->choice.op ||
            xl__streq(page->choice.op, json_text_at(row->json, "op")));
}

/* Adds the chosen devices and rows of a file; false: out of memory. */
static bool gather_file(struct html_page *page, const struct result_file *file)
{
    const json_t *devices = json_object_get(file->document, "devices");
    for (size_t i = 0; i < json_array_size(devices) && !page->choice.op; i++) {
        const json_t *device = json_array_get(devices, i);
        if (is_chosen_device(page, device) && !add_run(page, file, device))
            return false;
    }
    for (size_t i = 0; i < file->n_rows; i++)
        if (is_chosen_row(page, file, &file->rows[i]) &&
            !add_row(page, file, &file->rows[i]))
            return false;
    return true;
}

/* Ops before the probes, which explain them; otherwise in the order of the
 * files. */
static void order_groups(struct html_page *page)
{
    for (size_t i = 1; i < page->n_groups; i++) {
        const struct html_group moved = page->groups[i];
        size_t at = i;
        while (at > 0 && !html_op_is_probe(moved.op) &&
               html_op_is_probe(page->groups[at - 1].op)) {
            page->groups[at] = page->groups[at - 1];
            at--;
        }
        page->groups[at] = moved;
    }
}

bool html_page_gather(struct html_page *page, const struct result_file *files,
                      size_t n, struct html_choice choice)
{
    *page = (struct html_page){.choice = choice, .files = files, .n_files = n};
    for (size_t i = 0; i < n; i++)
        if (!gather_file(page, &files[i]))
            return false;
    for (size_t i = 0; i < page->n_groups; i++) {
        mark_mixed(&page->groups[i]);
        if (!label_rows(page, &page->groups[i]))
            return false;
    }
    order_groups(page);
    return true;
}

bool html_page_has(const struct html_page *page,
                   const struct result_file *file)
{
    bool has = !page->choice.device && !page->choice.op;
    for (size_t i = 0; i < page->n_runs; i++)
        has = has || page->runs[i].file == file;
    return has;
}

void html_page_clear(struct html_page *page)
{
    for (size_t i = 0; i < page->n_groups; i++) {
        for (size_t j = 0; j < page->groups[i].n; j++)
            free(page->groups[i].rows[j].label);
        free(page->groups[i].rows);
        result_table_clear(&page->groups[i].table);
        free(page->groups[i].common);
    }
    free(page->groups);
    free(page->runs);
    free(page->devices);
    *page = (struct html_page){.files = NULL};
}

/* -- names ---------------------------------------------------------------- */

static const struct {
    const char *op, *title;
} titles[] = {
    {"gemm", "Matrix products (GEMM)"},
    {"qgemm", "Products with quantised weights"},
    {"qconvert", "Conversion of quantised matrices"},
    {"rotary", "Rotary embedding and append"},
    {"conv", "Convolution"},
    {"softmax", "Softmax"},
    {"norm", "Layer norm and RMS norm"},
    {"attention", "Attention"},
    {"expr", "Expressions"},
    {"pipeline", "Pipeline"},
};

static const char probe_prefix[] = "probe_";

bool html_op_is_probe(const char *op)
{
    return strncmp(op, probe_prefix, sizeof probe_prefix - 1) == 0;
}

void html_op_title(struct xl__str *out, const char *op)
{
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(op, titles[i].op) == 0) {
            xl__str_add(out, titles[i].title);
            return;
        }
    if (html_op_is_probe(op))
        xl__str_printf(out, "Probe: %s", op + sizeof probe_prefix - 1);
    else
        xl__str_add(out, *op ? op : "(no op)");
}

void html_date(struct xl__str *out, const struct result_file *file)
{
    enum { DAY = 10, MINUTE = 16, SECONDS = 20 };
    const json_t *env = json_object_get(file->document, "environment");
    const char *date = json_text_at(env, "date");
    if (strlen(date) == SECONDS && date[DAY] == 'T' &&
        date[SECONDS - 1] == 'Z')
        xl__str_printf(out, "%.*s %.*s UTC", DAY, date, MINUTE - DAY - 1,
                       date + DAY + 1);
    else
        xl__str_add(out, date);
}

const char *html_file_name(const struct result_file *file)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    return *name ? name : "This run";
}

void html_run_name(struct xl__str *out, const struct html_page *page,
                   size_t i_run)
{
    const struct html_run *run = &page->runs[i_run];
    const struct html_device *device = &page->devices[run->i_device];
    const char *before = "";
    bool shows_driver = false, shows_file = false;
    for (size_t i = 0; i < page->n_devices; i++)
        shows_driver =
            shows_driver || (&page->devices[i] != device &&
                             strcmp(page->devices[i].name, device->name) == 0);
    for (size_t i = 0; i < page->n_runs; i++)
        shows_file = shows_file ||
                     (i != i_run && page->runs[i].i_device == run->i_device);
    if (page->n_devices > 1 || !shows_file) {
        xl__str_add(out, device->name);
        before = ", ";
    }
    if (shows_driver)
        xl__str_printf(out, ", %s %s", device->platform, device->driver);
    if (shows_file)
        xl__str_printf(out, "%s%s", before, html_file_name(run->file));
}

/* -- facts ---------------------------------------------------------------- */

/* How reliable a fact is: 0 unknown, 1 reported, 2 measured. */
static unsigned rank_source(const json_t *fact)
{
    const char *source = json_text_at(fact, "source");
    if (!fact || json_is_null(json_object_get(fact, "value")))
        return 0;
    return xl__streq(source, xl_source_name(XL_MEASURED)) ? 2 : 1;
}

const json_t *html_fact(const struct html_page *page, size_t i_device,
                        const char *name)
{
    const json_t *best = NULL;
    for (size_t i = 0; i < page->n_runs; i++) {
        if (page->runs[i].i_device != i_device)
            continue;
        const json_t *fact = result_fact(page->runs[i].json, name);
        if (rank_source(fact) > rank_source(best))
            best = fact;
    }
    return best;
}

/* -- the best row --------------------------------------------------------- */

/* Is more of this unit better? */
static bool is_rate(const char *unit)
{
    const size_t len = strlen(unit);
    return len > 2 && strcmp(unit + len - 2, "/s") == 0;
}

/* By verdict first, then by value. */
static bool is_better(const struct result_row *a, const struct result_row *b)
{
    const unsigned rank_a = html_verdict_rank(a->verdict);
    const unsigned rank_b = html_verdict_rank(b->verdict);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return result_number(a, NULL, "value") > result_number(b, NULL, "value");
}

const struct html_row *html_best_row(const struct html_page *page,
                                     const struct html_group *group,
                                     size_t i_device, const char *dtype)
{
    const struct html_row *best = NULL;
    for (size_t i = 0; i < group->n; i++) {
        const struct html_row *row = &group->rows[i];
        const json_t *json = row->row->json;
        if (page->runs[row->i_run].i_device != i_device ||
            row->row->is_other ||
            html_verdict_rank(row->row->verdict) > XL_ROW_SUSPICIOUS ||
            isnan(result_number(row->row, NULL, "value")) ||
            !is_rate(json_text_at(json, "unit")) ||
            (dtype && strcmp(dtype, json_text_at(json, "dtype")) != 0))
            continue;
        if (!best || is_better(row->row, best->row))
            best = row;
    }
    return best;
}
