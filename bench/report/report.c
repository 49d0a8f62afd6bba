/* SPDX-License-Identifier: Apache-2.0 */
/* Every writer of a run, behind one interface: for people, and for files, whose
 * formats are in render.c. */
#include "report/report.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "report/outputs.h"
#include "cli/session.h"

static bool wants_table(const struct session *s)
{
    return session_tables(s);
}

static bool wants_files(const struct session *s)
{
    /* Others read results, and have their own ways with files. */
    const bool has_results = command_takes(s->command, option_find("json"));
    return has_results && !s->command->is_live &&
           outputs_are_wanted(&s->set);
}

static const struct {
    const struct report_writer *writer;
    bool (*wanted)(const struct session *s);
} writers[] = {
    {&report_table, wants_table},
    {&report_files, wants_files},
};
enum { N_WRITERS = sizeof writers / sizeof writers[0] };

struct report {
    void *state[N_WRITERS]; /* NULL: not wanted */
    bool is_open;           /* between part and part_end */
    bool is_mute;           /* no tables */
};

struct report *report_open(struct session *s)
{
    struct report *r = xl__calloc(1, sizeof *r);
    if (!r) {
        (void)session_fail(s, "opening the report", XL_NO_MEMORY, "");
        return NULL;
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        if (!writers[i].wanted(s))
            continue;
        r->state[i] = writers[i].writer->open(s);
        if (!r->state[i]) {
            (void)report_close(r);
            return NULL;
        }
    }
    return r;
}

void report_mute(struct report *r, bool is_mute)
{
    r->is_mute = is_mute;
}

static bool is_told(const struct report *r, unsigned i)
{
    return r->state[i] && !(r->is_mute && writers[i].writer == &report_table);
}

void report_part(struct report *r, const char *title, const char *note)
{
    report_part_end(r);
    r->is_open = true;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_told(r, i))
            writers[i].writer->part(r->state[i], title, note);
}

void report_row(struct report *r, xl_device *dev, const xl_row *row)
{
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_told(r, i))
            writers[i].writer->row(r->state[i], dev, row);
}

void report_part_end(struct report *r)
{
    if (!r->is_open)
        return;
    r->is_open = false;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_told(r, i))
            writers[i].writer->part_end(r->state[i]);
}

void report_record(struct report *r, xl_device *dev, const xl_row *row)
{
    for (unsigned i = 0; i < N_WRITERS; i++) {
        const struct report_writer *w = writers[i].writer;
        if (!r->state[i] || w == &report_table)
            continue;
        w->row(r->state[i], dev, row);
        w->part_end(r->state[i]);
    }
}

int report_close(struct report *r)
{
    int worst = EXIT_FINE;
    if (!r)
        return EXIT_FINE;
    report_part_end(r);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        int code =
            r->state[i] ? writers[i].writer->close(r->state[i]) : EXIT_FINE;
        worst = code > worst ? code : worst;
    }
    free(r);
    return worst;
}

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

void report_row_id(struct xl__str *out, const xl_row *row)
{
    xl__str_printf(out, "%s/%s", row->op, row->variant);
    add_params(out, row->shape, row->n_shape);
    add_params(out, row->params, row->n_params);
    const char *dtype =
        row->dtype < XL_N_DTYPES ? xl_dtype_name(row->dtype) : "-";
    xl__str_printf(out, "/%s/%s", dtype, row->cold ? "cold" : "hot");
}

const char *report_fact_text(const xl_device *dev, const char *name,
                             const char *otherwise)
{
    xl_fact fact;
    if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK || !fact.text)
        return otherwise;
    return fact.text;
}
