/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of CSV (RFC 4180); commas between them and the end of a line are the
 * caller's. */
#ifndef CLBENCH_CSV_H
#define CLBENCH_CSV_H

#include "base/str.h"

/* Quoted where it must be, and never a formula. */
void csv_text(struct xl__str *out, const char *text);
/* As few digits as bring the same number back; empty when unknown. */
void csv_number(struct xl__str *out, double value);
extern const char csv_end[]; /* of a line */

#endif
