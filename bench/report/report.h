/* SPDX-License-Identifier: Apache-2.0 */
/* Where results go: tables on the terminal, and files. A command begins a
 * section per table, adds rows, and ends it, through the sink of the session;
 * the writers behind it render as they see fit. */
#ifndef CLBENCH_REPORT_H
#define CLBENCH_REPORT_H

#include <crosslane/crosslane.h>

struct session;

struct report; /* all writers of a run */

/* Open the writers that the options ask for (--json, --csv, --quiet and so
 * on), and set the session's sink. NULL after a message on stderr. */
struct report *report_open(struct session *s);
/* While `is_mute`, no tables: the command shows the rows in one of its own. */
void report_mute(struct report *r, bool is_mute);
/* End the section, write what is left, free all. An exit_code; NULL is
 * allowed. */
int report_close(struct report *r);

#endif
