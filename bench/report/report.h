/* SPDX-License-Identifier: Apache-2.0 */
/* Where results go: one interface, a writer for people and one for files. A command opens a
 * part per table, gives rows, and ends; writers render as they see fit. */
#ifndef CLBENCH_REPORT_H
#define CLBENCH_REPORT_H

#include <crosslane/crosslane.h>

struct session;

struct report_writer {
    const char *name;                 /* "table", "files" */
    void *(*open)(struct session *s); /* NULL: said why on stderr */
    /* A new table. Title "GEMM"; note: a line below it, or NULL. */
    void (*part)(void *w, const char *title, const char *note);
    void (*row)(void *w, xl_device *dev, const xl_row *row);
    void (*part_end)(void *w);        /* print or rewrite what there is */
    int (*close)(void *w);            /* an exit_code */
};

extern const struct report_writer report_table, report_files;

struct report; /* all writers of a run */

/* By --json, --csv, --quiet and so on; becomes the sink of the session. NULL:
 * the message is on stderr. */
struct report *report_open(struct session *s);
/* From now on no tables: the command shows the rows in one of its own. */
void report_mute(struct report *r, bool is_mute);
int report_close(struct report *r);

#endif
