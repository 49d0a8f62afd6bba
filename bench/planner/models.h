/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the parameters of a language model by name or from its config.json.
 * The table of known models, models.json, has the fields of config.json, so
 * one function reads both. */
#ifndef CLBENCH_PLANNER_MODELS_H
#define CLBENCH_PLANNER_MODELS_H

#include <stddef.h>

#include <jansson.h>

#include "base/str.h"
#include "planner/model.h"

/* A text that is compiled into clbench; NULL name last. */
struct model_text {
    const char *name;
    const unsigned char *text;
    size_t len;
};
extern const struct model_text model_texts[];

/* Description of the source of a model's parameters. */
enum { PLANNER_SOURCE_CAP = 160 };

/* The known model `name`, or that of the file `name` if it has a slash or ends
 * in .json. False: *why has the message. */
bool planner_find_model(const char *name, struct planner_model *out,
                        char source[PLANNER_SOURCE_CAP], struct xl__str *why);
/* The config.json itself, likewise; NULL: *why has the message. The caller
 * releases it. */
json_t *planner_find_config(const char *name, char source[PLANNER_SOURCE_CAP],
                            struct xl__str *why);
/* A new reference to the fields of the language model in a config.json, with
 * those that its class has by default. */
json_t *planner_complete_config(const json_t *config);
/* Reads the fields of a config.json. False: *why has the missing one. */
bool planner_read_config(const json_t *config, struct planner_model *out,
                         struct xl__str *why);
/* The table of known models; NULL: out of memory. The caller releases it. */
json_t *planner_models_json(void);

#endif
