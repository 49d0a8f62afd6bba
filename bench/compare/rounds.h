/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of two set-ups, a and b, that ran alternately, as one result
 * document, and what it holds of each. */
#ifndef CLBENCH_COMPARE_ROUNDS_H
#define CLBENCH_COMPARE_ROUNDS_H

#include <jansson.h>

/* Adds the rows of a further run to those of the first: their samples become
 * passes. Rows match by id and device, and among equal ones by their order. */
void rounds_add(json_t *first, const json_t *more);
/* The document of both sides. Their devices are two, "NAME (a)" and "NAME
 * (b)", so that tables and charts have them side by side; "sides" keeps what
 * a document has once: each set-up, its tool, host and environment. A new
 * reference; NULL when out of memory. */
json_t *rounds_join(const json_t *const document[2],
                    const char *const setup[2]);
/* The document of one side, 0 or 1, as that side's runs wrote it. A new
 * reference; NULL: `both` is not of rounds_join(), or out of memory. */
json_t *rounds_side(const json_t *both, size_t side);
/* The set-up of a side; "" if there is none. Borrowed. */
const char *rounds_setup(const json_t *both, size_t side);

#endif
