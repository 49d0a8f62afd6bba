/* SPDX-License-Identifier: Apache-2.0 */
/* Results as CSV (RFC 4180), and its fields; commas between fields and the end
 * of a line are the caller's. */
#ifndef CLBENCH_CSV_H
#define CLBENCH_CSV_H

#include "base/str.h"
#include "report/outputs.h"

extern const struct renderer render_csv;

/* Append a field, in quotes where RFC 4180 requires them, and never one that a
 * spreadsheet takes for a formula. */
void csv_text(struct xl__str *out, const char *text);
/* The fewest digits that read back as the same number; empty when unknown. */
void csv_number(struct xl__str *out, double value);
extern const char csv_end[]; /* of a line */

#endif
