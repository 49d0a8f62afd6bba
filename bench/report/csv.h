/* SPDX-License-Identifier: Apache-2.0 */
/* Results as CSV (RFC 4180). */
#ifndef CLBENCH_CSV_H
#define CLBENCH_CSV_H

#include "report/outputs.h"

extern const struct renderer render_csv;

#endif
