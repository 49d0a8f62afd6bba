/* SPDX-License-Identifier: Apache-2.0 */
/* Models by name, and models by the config.json that comes with each: one
 * reader for both, since the table of known models, models/models.json, has
 * the fields of config.json by their own names. */
#ifndef CLBENCH_PLAN_KNOWN_H
#define CLBENCH_PLAN_KNOWN_H

#include <stddef.h>

#include <jansson.h>

#include "base/str.h"
#include "planner/model.h"

/* A text that comes with clbench; NULL name last. */
struct model_text {
    const char *name;
    const unsigned char *text;
    size_t len;
};
extern const struct model_text model_texts[];

/* Where a model's numbers are from, for people. */
enum { PLAN_SOURCE_CAP = 160 };

/* The model called `name`, or that of the file `name`, when it has a slash or
 * ends in .json. False: *why says what is wrong and what there is. */
bool plan_known(const char *name, struct plan_model *out,
                char source[PLAN_SOURCE_CAP], struct xl__str *why);
/* The fields of a config.json. False: *why says what it lacks. */
bool plan_config(const json_t *config, struct plan_model *out,
                 struct xl__str *why);
/* The table, as JSON; NULL: no memory. The caller's. */
json_t *plan_known_all(void);

#endif
