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

/* -- tool ----------------------------------------------------------------- */

static json_t *write_program(const struct field *f, const void *at)
{
    (void)f;
    (void)at;
    return json_string("clbench");
}

static json_t *write_version(const struct field *f, const void *at)
{
    (void)f;
    (void)at;
    return json_string(XL_VERSION_TEXT);
}

static json_t *write_library(const struct field *f, const void *at)
{
    (void)f;
    (void)at;
    return json_text(xl_version());
}

static json_t *write_command(const struct field *f, const void *at)
{
    const char *name = ((const struct session *)at)->command->name;
    (void)f;
    return json_text(*name ? name : "suite");
}

#define TEXT "{\"type\": \"string\"}"
static const struct field_type
    program_type = {FIELD_SCALAR, TEXT, write_program, NULL},
    version_type = {FIELD_SCALAR, TEXT, write_version, NULL},
    library_type = {FIELD_SCALAR, TEXT, write_library, NULL},
    command_type = {FIELD_SCALAR, TEXT, write_command, NULL};

const struct field environment_tool_fields[] = {
    FIELD("name", &program_type, 0, NULL),
    FIELD("version", &version_type, 0, NULL),
    FIELD("library", &library_type, 0, "its version"),
    FIELD("command", &command_type, 0, "suite: none was given"),
    {.name = NULL},
};

json_t *environment_tool(const struct session *s)
{
    return fields_object(environment_tool_fields, s);
}

/* -- host ----------------------------------------------------------------- */

static bool has_cores(const void *at)
{
    return ((const struct xl__host *)at)->n_cores > 0;
}

static bool has_memory(const void *at)
{
    return ((const struct xl__host *)at)->memory_bytes > 0;
}

static bool has_load(const void *at)
{
    return ((const struct xl__host *)at)->load >= 0;
}

#define HOST(member) offsetof(struct xl__host, member)
/* clang-format off */
const struct field environment_host_fields[] = {
    FIELD("cpu", &field_chars, HOST(cpu), NULL),
    FIELD("cores", &field_uint, HOST(n_cores), "logical processors",
          .is_known = has_cores),
    FIELD("memory_bytes", &field_uint64, HOST(memory_bytes), NULL,
          .is_known = has_memory),
    FIELD("os", &field_chars, HOST(os), NULL),
    FIELD("kernel", &field_chars, HOST(kernel), NULL),
    FIELD("machine", &field_chars, HOST(machine), NULL),
    FIELD("load", &field_number, HOST(load), "when the file was written",
          .is_known = has_load),
    {.name = NULL},
};
/* clang-format on */

json_t *environment_host(void)
{
    struct xl__host host;
    xl__host_read(&host);
    return fields_object(environment_host_fields, &host);
}

/* -- environment ---------------------------------------------------------- */

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
static json_t *write_options(const struct field *f, const void *at)
{
    const struct session *s = at;
    json_t *out = json_object();
    (void)f;
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
        case OPT_REAL:
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

static json_t *write_arguments(const struct field *f, const void *at)
{
    const struct session *s = at;
    json_t *out = json_array();
    (void)f;
    for (unsigned i = 0; i < s->set.n_words; i++)
        json_add(out, json_text(s->set.words[i]));
    return out;
}

static json_t *write_date(const struct field *f, const void *at)
{
    char date[32];
    (void)f;
    (void)at;
    environment_date(date, sizeof date);
    return json_text(*date ? date : NULL);
}

static json_t *write_variables(const struct field *f, const void *at)
{
    json_t *out = json_object();
    (void)f;
    (void)at;
    environment_variables(add_variable, out);
    return out;
}

static const struct field_type
    date_type = {FIELD_SCALAR, "{\"type\": [\"string\", \"null\"]}",
                 write_date, NULL},
    variables_type = {FIELD_MAP,
                      "{\"type\": \"object\", "
                      "\"additionalProperties\": " TEXT "}",
                      write_variables, NULL},
    options_type = {FIELD_MAP,
                    "{\"type\": \"object\", "
                    "\"additionalProperties\": true}",
                    write_options, NULL},
    arguments_type = {FIELD_BULK,
                      "{\"type\": \"array\", \"items\": " TEXT "}",
                      write_arguments, NULL};

const struct field environment_fields[] = {
    FIELD("date", &date_type, 0, "UTC, when the file was written"),
    FIELD("variables", &variables_type, 0, "those set that change results"),
    FIELD("options", &options_type, 0, "by name, as parsed"),
    FIELD("arguments", &arguments_type, 0, "the words of the command line"),
    {.name = NULL},
};

json_t *environment_json(const struct session *s)
{
    return fields_object(environment_fields, s);
}
