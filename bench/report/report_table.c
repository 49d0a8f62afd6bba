/* SPDX-License-Identifier: Apache-2.0 */
/* Results as tables for people, one a part, on the terminal as soon as the
 * part is measured. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "report/section.h"
#include "report/report.h"
#include "cli/session.h"

struct writer {
    struct session *s;
    struct rows rows;
    char *title, *note;
};

static void forget(struct writer *w)
{
    rows_clear(&w->rows);
    free(w->title);
    free(w->note);
    w->title = w->note = NULL;
}

static void *open_writer(struct session *s)
{
    struct writer *w = xl__calloc(1, sizeof *w);
    if (w)
        w->s = s;
    return w;
}

static void part(void *writer, const char *title, const char *note)
{
    struct writer *w = writer;
    forget(w);
    w->title = xl__strdup(title);
    w->note = xl__strdup(note);
}

static void add_row(void *writer, xl_device *dev, const xl_row *row)
{
    struct writer *w = writer;
    if (part_wants(row, &w->s->set))
        (void)rows_add(&w->rows, dev, row);
}

static void show(struct writer *w)
{
    const struct session *s = w->s;
    struct part_device *devices =
        xl__calloc(s->n_devices + 1, sizeof *devices);
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    struct part p = {w->title, w->note, devices, s->n_devices,
                     &s->set,  w->rows, {0}};
    for (unsigned i = 0; devices && i < s->n_devices; i++)
        devices[i] =
            (struct part_device){s->devices[i], xl_device_index(s->devices[i]),
                                 device_fact_text(s->devices[i], "name", "?")};
    if (devices)
        part_show(&p, &terminal);
    notes_clear(&p.notes);
    free(devices);
}

static void part_end(void *writer)
{
    struct writer *w = writer;
    progress_hide(w->s);
    show(w);
    forget(w);
}

static int close_writer(void *writer)
{
    struct writer *w = writer;
    forget(w);
    free(w);
    return ferror(stdout) ? EXIT_FILE : EXIT_FINE;
}

const struct report_writer report_table = {
    .name = "table",
    .open = open_writer,
    .part = part,
    .row = add_row,
    .part_end = part_end,
    .close = close_writer,
};
