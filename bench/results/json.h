/* SPDX-License-Identifier: Apache-2.0 */
/* Values in the form that the result file has for them. Unknown is null, never
 * 0 or NaN; whole numbers beyond 2^63-1 and bytes that are not text are
 * written so that every reader keeps them. Functions that make a value return
 * NULL when out of memory, and those that store one accept NULL as null. */
#ifndef CLBENCH_JSON_VALUES_H
#define CLBENCH_JSON_VALUES_H

#include <stdint.h>

#include <jansson.h>

/* Whole numbers as integers, other finite ones as reals, the rest as null. */
json_t *json_number(double value);
json_t *json_uint(uint64_t value); /* a string beyond 2^63-1 */
/* NULL is null; control bytes and bytes that are not UTF-8 become \xNN. */
json_t *json_text(const char *text);
json_t *json_lines(const char *text); /* the same, but ends of lines remain */
/* The text of a member, borrowed; "" when there is none. */
const char *json_text_at(const json_t *object, const char *name);
/* Store a new value and take over its reference; a NULL value becomes null. */
void json_put(json_t *object, const char *name, json_t *value);
void json_add(json_t *array, json_t *value);

#endif
