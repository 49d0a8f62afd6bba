/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `clbench split` in a result file. */
#ifndef CLBENCH_TILING_JSON_H
#define CLBENCH_TILING_JSON_H

#include "tiling/measurement.h"

struct json_t;

struct json_t *tiling_json(const struct tiling_report *p);
/* Reads what tiling_json() wrote. False: it is not such a report, or
 * inconsistent. Call tiling_report_clear() after use. */
bool tiling_read_json(const struct json_t *json, struct tiling_report *out);

#endif
