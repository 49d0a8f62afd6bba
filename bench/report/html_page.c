/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering: every row of every file finds its device and its op. */
#include "report/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "base/alloc.h"
#include "report/html.h"
#include "results/json.h"
#include "results/result.h"
#include "cli/units.h"
#include "results/warnings.h"

/* -- devices -------------------------------------------------------------- */

/* Nothing that both tell differs. */
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

/* Entries of one file are devices beside each other, however alike. */
static bool is_in_file(const struct html_page *page,
                       const struct result_file *file, size_t i_device)
{
    for (size_t i = 0; i < page->n_runs; i++)
        if (page->runs[i].file == file && page->runs[i].i_device == i_device)
            return true;
    return false;
}

/* The device of an entry; one more of them when it is new. */
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

/* The run of a row; a row without a device makes one that has no name. */
static bool find_run(struct html_page *page, const struct result_file *file,
                     const json_t *json, size_t *at)
{
    for (*at = 0; *at < page->n_runs; ++*at)
        if (page->runs[*at].file == file && page->runs[*at].json == json)
            return true;
    return add_run(page, file, json);
}

/* -- rows ----------------------------------------------------------------- */

static struct html_group *find_group(struct html_page *page, const char *op)
{
    for (size_t i = 0; i < page->n_groups; i++)
        if (strcmp(page->groups[i].op, op) == 0)
            return &page->groups[i];
    if (!xl__grow(&page->groups, &page->groups_cap, page->n_groups + 1,
                  sizeof *page->groups))
        return NULL;
    struct html_group *group = &page->groups[page->n_groups++];
    *group = (struct html_group){.op = op};
    return group;
}

static bool add_row(struct html_page *page, const struct result_file *file,
                    const struct result_row *row)
{
    struct html_group *group =
        find_group(page, json_text_at(row->json, "op"));
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

static void mark_mixed(struct html_group *group)
{
    bool is_mixed = false;
    for (size_t i = 1; i < group->n; i++)
        is_mixed = is_mixed || group->rows[i].i_run != group->rows[0].i_run;
    for (size_t i = 0; i < group->n; i++)
        group->rows[i].is_mixed = is_mixed;
}

/* What sets each row apart, in the words of the terminal's tables. */
static bool name_rows(struct html_group *group)
{
    struct rows rows = {0};
    struct xl__str text = {0};
    bool is_fine = true;
    for (size_t i = 0; i < group->n && is_fine; i++) {
        xl_row words;
        result_identity(group->rows[i].row, &words);
        is_fine = rows_add(&rows, NULL, &words);
    }
    for (size_t i = 0; i < group->n && is_fine; i++) {
        rows_case(&rows, i, &text);
        group->rows[i].words = xl__str_steal(&text);
        is_fine = group->rows[i].words != NULL;
    }
    if (is_fine) {
        rows_common(&rows, &text);
        xl__str_add(&text, "");
        group->common = xl__strdup(xl__str_text(&text));
        is_fine = group->common != NULL;
    }
    xl__str_clear(&text);
    rows_clear(&rows);
    return is_fine;
}

static bool gather_file(struct html_page *page,
                        const struct result_file *file)
{
    const json_t *devices = json_object_get(file->document, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++)
        if (!add_run(page, file, json_array_get(devices, i)))
            return false;
    for (size_t i = 0; i < file->n_rows; i++)
        if (!add_row(page, file, &file->rows[i]))
            return false;
    return true;
}

/* Ops before the probes, which explain them; else as they came. */
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
                      size_t n)
{
    *page = (struct html_page){.files = files, .n_files = n};
    for (size_t i = 0; i < n; i++)
        if (!gather_file(page, &files[i]))
            return false;
    for (size_t i = 0; i < page->n_groups; i++) {
        mark_mixed(&page->groups[i]);
        if (!name_rows(&page->groups[i]))
            return false;
    }
    order_groups(page);
    return true;
}

void html_page_clear(struct html_page *page)
{
    for (size_t i = 0; i < page->n_groups; i++) {
        for (size_t j = 0; j < page->groups[i].n; j++)
            free(page->groups[i].rows[j].words);
        free(page->groups[i].rows);
        free(page->groups[i].common);
    }
    free(page->groups);
    free(page->runs);
    free(page->devices);
    *page = (struct html_page){.files = NULL};
}
