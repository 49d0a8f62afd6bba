/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the environment of a run: what a reader of a result file needs in
 * order to judge the numbers or to run it again. What is not known is null. */
#include "results/environment.h"

#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "cli/hints.h"
#include "host/host_info.h"
#include "base/str.h"
#include "results/json.h"
#include "cli/session.h"

void environment_date(char *out, size_t cap)
{
    time_t now = time(NULL);
    struct tm *utc = gmtime(&now);
    if (!utc || strftime(out, cap, "%Y-%m-%dT%H:%M:%SZ", utc) == 0)
        xl__strcpy(out, cap, "");
}

void environment_variables(void (*each)(const char *name, const char *value,
                                        void *arg),
                           void *arg)
{
    for (const char *const *name = advice_variables(); *name; name++) {
        const char *value = getenv(*name);
        if (value)
            each(*name, value, arg);
    }
}

json_t *environment_tool(const struct session *s)
{
    json_t *tool = json_object();
    const char *command = s->command->name;
    json_put(tool, "name", json_string("clbench"));
    json_put(tool, "version", json_string(XL_VERSION_TEXT));
    json_put(tool, "library", json_text(xl_version()));
    json_put(tool, "command", json_text(*command ? command : "suite"));
    return tool;
}

json_t *environment_host(void)
{
    struct xl__host host;
    json_t *out = json_object();
    xl__host_read(&host);
    json_put(out, "cpu", json_text(*host.cpu ? host.cpu : NULL));
    json_put(out, "cores",
             host.n_cores ? json_integer(host.n_cores) : json_null());
    json_put(out, "memory_bytes",
             host.memory_bytes ? json_uint(host.memory_bytes) : json_null());
    json_put(out, "os", json_text(*host.os ? host.os : NULL));
    json_put(out, "kernel", json_text(*host.kernel ? host.kernel : NULL));
    json_put(out, "machine", json_text(*host.machine ? host.machine : NULL));
    json_put(out, "load",
             host.load >= 0 ? json_number(host.load) : json_null());
    return out;
}

static void add_variable(const char *name, const char *value, void *arg)
{
    json_put(arg, name, json_text(value));
}

static json_t *list_json(const struct option_list *list)
{
    json_t *out = json_array();
    for (unsigned i = 0; i < list->n; i++)
        json_add(out, json_text(list->value[i]));
    return out;
}

/* The options after parsing, so that a run can be repeated. */
static json_t *options_json(const struct session *s)
{
    json_t *out = json_object();
    for (const struct option_row *row = option_rows; row->name; row++) {
        const char *field = (const char *)&s->set + row->offset;
        json_t *value = NULL;
        if (!command_takes(s->command, row))
            continue;
        switch (row->kind) {
        case OPT_FLAG:
            value = json_boolean(*(const bool *)field);
            break;
        case OPT_TEXT:
            value = json_text(*(const char *const *)field);
            break;
        case OPT_UINT:
            value = json_uint(*(const uint64_t *)field);
            break;
        case OPT_COUNT:
            value = *(const size_t *)field ? json_uint(*(const size_t *)field)
                                           : json_null();
            break;
        case OPT_SIZE:
            value = json_uint(*(const size_t *)field);
            break;
        case OPT_SECONDS:
        case OPT_PERCENT:
            value = json_number(*(const double *)field);
            break;
        case OPT_CHOICE:
            value = json_text(option_choice(row, *(const int *)field));
            break;
        case OPT_LIST:
            value = list_json((const struct option_list *)(const void *)field);
            break;
        }
        json_put(out, row->name, value);
    }
    return out;
}

static json_t *arguments_json(const struct session *s)
{
    json_t *out = json_array();
    for (unsigned i = 0; i < s->set.n_words; i++)
        json_add(out, json_text(s->set.words[i]));
    return out;
}

json_t *environment_json(const struct session *s)
{
    char date[32];
    json_t *out = json_object(), *variables = json_object();
    environment_date(date, sizeof date);
    environment_variables(add_variable, variables);
    json_put(out, "date", json_text(*date ? date : NULL));
    json_put(out, "variables", variables);
    json_put(out, "options", options_json(s));
    json_put(out, "arguments", arguments_json(s));
    return out;
}
