/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a measurement: program, host, options, variables that
 * hide devices, date. */
#ifndef CLBENCH_ENVIRONMENT_H
#define CLBENCH_ENVIRONMENT_H

#include <stddef.h>

#include "results/fields.h"

/* The current time, "2025-01-31T12:00:00Z". */
void environment_date(char *out, size_t cap);

/* Call `each` for every variable of advice_variables() that is set. */
void environment_variables(void (*each)(const char *name, const char *value,
                                        void *arg),
                           void *arg);

struct session;

/* The "tool", "host" and "environment" members of the result document, and
 * the fields of each; NULL when out of memory. */
json_t *environment_tool(const struct session *s);
json_t *environment_host(void);
json_t *environment_json(const struct session *s);
extern const struct field environment_tool_fields[], environment_host_fields[],
    environment_fields[];

#endif
