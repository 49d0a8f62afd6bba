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

static bool is_told(const struct report *r, unsigned i)
{
    return r->state[i] && !(r->is_mute && writers[i].writer == &report_table);
}

static void end_section(void *arg)
{
    struct report *r = arg;
    if (!r->is_open)
        return;
    r->is_open = false;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_told(r, i))
            writers[i].writer->part_end(r->state[i]);
}

static void begin_section(void *arg, const char *title, const char *note)
{
    struct report *r = arg;
    end_section(r);
    r->is_open = true;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_told(r, i))
            writers[i].writer->part(r->state[i], title, note);
}

static void write_row(void *arg, xl_device *dev, const xl_row *row)
{
    struct report *r = arg;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_told(r, i))
            writers[i].writer->row(r->state[i], dev, row);
}

static void write_record(void *arg, xl_device *dev, const xl_row *row)
{
    struct report *r = arg;
    for (unsigned i = 0; i < N_WRITERS; i++) {
        const struct report_writer *w = writers[i].writer;
        if (!r->state[i] || w == &report_table)
            continue;
        w->row(r->state[i], dev, row);
        w->part_end(r->state[i]);
    }
}

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
    s->sink = (struct row_sink){r, begin_section, write_row, end_section,
                                write_record};
    return r;
}

void report_mute(struct report *r, bool is_mute)
{
    r->is_mute = is_mute;
}

int report_close(struct report *r)
{
    int worst = EXIT_FINE;
    if (!r)
        return EXIT_FINE;
    end_section(r);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        int code =
            r->state[i] ? writers[i].writer->close(r->state[i]) : EXIT_FINE;
        worst = code > worst ? code : worst;
    }
    free(r);
    return worst;
}
