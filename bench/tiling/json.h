/* SPDX-License-Identifier: Apache-2.0 */
/* The page in a result file. */
#ifndef CLBENCH_TILING_JSON_H
#define CLBENCH_TILING_JSON_H

#include "tiling/measurement.h"

struct json_t;

struct json_t *split_json(const struct split_page *p);
/* The page that split_json() wrote; false: it is none. Clear it
 * after use. */
bool split_read(const struct json_t *json, struct split_page *out);

#endif
