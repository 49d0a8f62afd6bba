/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of two set-ups, a and b, that took turns, as one result document.
 */
#ifndef CLBENCH_COMPARE_ROUNDS_H
#define CLBENCH_COMPARE_ROUNDS_H

#include <stdbool.h>

#include <jansson.h>

/* Adds the rows of a further run to those of the first: their samples become
 * passes. Rows match by id and device, and among equal ones by their order. */
void rounds_add(json_t *first, const json_t *more);
/* The document of both sides: their devices are two, "NAME (a)" and "NAME
 * (b)", so that `clbench compare` and `clbench report` have them side by side.
 * A new reference; NULL when out of memory. */
json_t *rounds_join(const json_t *a, const json_t *b);

#endif
