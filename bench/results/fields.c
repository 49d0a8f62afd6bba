/* SPDX-License-Identifier: Apache-2.0 */
/* The types of fields, and what is done with a table of them. A file may come
 * from anywhere, so each value's type is checked. */
#include "results/fields.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "results/json.h"

/* -- numbers -------------------------------------------------------------- */

static json_t *write_number(const struct field *f, const void *at)
{
    (void)f;
    return json_number(*(const double *)at);
}

static void read_number(const struct field *f, const json_t *value, void *at)
{
    (void)f;
    *(double *)at =
        json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static json_t *write_count(const struct field *f, const void *at)
{
    const double value = *(const double *)at;
    (void)f;
    return json_number(value > 0 ? value : (double)NAN);
}

static void read_count(const struct field *f, const json_t *value, void *at)
{
    const double count = json_number_value(value);
    (void)f;
    *(double *)at = count > 0 ? count : 0;
}

static json_t *write_uint(const struct field *f, const void *at)
{
    (void)f;
    return json_integer(*(const unsigned *)at);
}

static void read_uint(const struct field *f, const json_t *value, void *at)
{
    const json_int_t number = json_integer_value(value);
    (void)f;
    *(unsigned *)at =
        number > 0 && number <= UINT_MAX ? (unsigned)number : 0;
}

static json_t *write_uint64(const struct field *f, const void *at)
{
    (void)f;
    return json_uint(*(const uint64_t *)at);
}

static void read_uint64(const struct field *f, const json_t *value, void *at)
{
    const json_int_t number = json_integer_value(value);
    (void)f;
    *(uint64_t *)at = json_is_string(value)
                          ? strtoull(json_string_value(value), NULL, 10)
                      : number > 0 ? (uint64_t)number
                                   : 0;
}

static json_t *write_bool(const struct field *f, const void *at)
{
    (void)f;
    return json_boolean(*(const bool *)at);
}

static void read_bool(const struct field *f, const json_t *value, void *at)
{
    (void)f;
    *(bool *)at = json_is_true(value);
}

/* What json_number() writes. */
#define NUMBER                                                                \
    "{\"type\": [\"number\", \"string\", \"null\"], "                         \
    "\"pattern\": \"^-?[0-9]+$\"}"
#define WHOLE                                                                 \
    "{\"type\": [\"integer\", \"string\"], \"minimum\": 0, "                  \
    "\"pattern\": \"^[0-9]+$\"}"

const struct field_type field_number = {FIELD_SCALAR, NUMBER, write_number,
                                        read_number};
const struct field_type field_count = {FIELD_SCALAR, NUMBER, write_count,
                                       read_count};
const struct field_type field_uint = {
    FIELD_SCALAR, "{\"type\": \"integer\", \"minimum\": 0}", write_uint,
    read_uint};
const struct field_type field_uint64 = {FIELD_SCALAR, WHOLE, write_uint64,
                                        read_uint64};
const struct field_type field_bool = {FIELD_SCALAR, "{\"type\": \"boolean\"}",
                                      write_bool, read_bool};

/* -- texts ---------------------------------------------------------------- */

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? text : "";
}

static json_t *write_chars(const struct field *f, const void *at)
{
    const char *text = at;
    (void)f;
    return json_text(*text ? text : NULL);
}

static void read_chars(const struct field *f, const json_t *value, void *at)
{
    xl__strcpy(at, f->n, text_of(value));
}

static json_t *write_string(const struct field *f, const void *at)
{
    const char *text = *(const char *const *)at;
    (void)f;
    return json_text(text && *text ? text : NULL);
}

static void read_string(const struct field *f, const json_t *value, void *at)
{
    (void)f;
    *(const char **)at = text_of(value);
}

/* An enum has the size of an unsigned, in C11's words that of an
 * implementation's choice; it is copied, since it is another type. */
static json_t *write_name(const struct field *f, const void *at)
{
    unsigned value;
    memcpy(&value, at, sizeof value);
    return json_text(value < f->n ? f->value_name(value) : NULL);
}

static void read_name(const struct field *f, const json_t *value, void *at)
{
    unsigned found = f->unknown;
    for (unsigned i = 0; i < f->n; i++) {
        const char *name = f->value_name(i);
        if (name && strcmp(name, text_of(value)) == 0)
            found = i;
    }
    memcpy(at, &found, sizeof found);
}

static json_t *write_flag(const struct field *f, const void *at)
{
    return json_text(f->value_name(*(const bool *)at));
}

static void read_flag(const struct field *f, const json_t *value, void *at)
{
    *(bool *)at = strcmp(f->value_name(true), text_of(value)) == 0;
}

#define TEXT "{\"type\": [\"string\", \"null\"]}"
const struct field_type field_chars = {FIELD_SCALAR, TEXT, write_chars,
                                       read_chars};
const struct field_type field_string = {FIELD_SCALAR, TEXT, write_string,
                                        read_string};
const struct field_type field_name = {FIELD_SCALAR, NULL, write_name,
                                      read_name};
const struct field_type field_flag = {FIELD_SCALAR, NULL, write_flag,
                                      read_flag};

/* -- structs -------------------------------------------------------------- */

static json_t *write_object(const struct field *f, const void *at)
{
    return fields_object(f->members, at);
}

static void read_object(const struct field *f, const json_t *value, void *at)
{
    fields_read(f->members, value, at);
}

const struct field_type field_object = {FIELD_SCALAR, NULL, write_object,
                                        read_object};
const struct field_type field_group = {FIELD_SCALAR, NULL, NULL, NULL};

/* -- a table -------------------------------------------------------------- */

void fields_write(const struct field *fields, const void *record,
                  json_t *object)
{
    for (const struct field *f = fields; f->type; f++) {
        const void *at = (const char *)record + f->at;
        if (f->type == &field_group)
            fields_write(f->members, at, object);
        else
            json_put(object, f->name,
                     f->is_known && !f->is_known(record)
                         ? json_null()
                         : f->type->write(f, at));
    }
}

json_t *fields_object(const struct field *fields, const void *record)
{
    json_t *out = json_object();
    fields_write(fields, record, out);
    return out;
}

void fields_read(const struct field *fields, const json_t *object,
                 void *record)
{
    for (const struct field *f = fields; f->type; f++) {
        void *at = (char *)record + f->at;
        if (f->type == &field_group)
            fields_read(f->members, object, at);
        else if (!f->is_derived)
            f->type->read(f, json_object_get(object, f->name), at);
    }
}

void fields_visit(const struct field *fields, const char *path,
                  void (*each)(void *arg, const char *path,
                               const struct field *f),
                  void *arg)
{
    for (const struct field *f = fields; f->type; f++) {
        struct xl__str name = {0};
        xl__str_printf(&name, "%s%s%s", path, *path ? "." : "",
                       f->name ? f->name : "");
        if (f->type == &field_group)
            fields_visit(f->members, path, each, arg);
        else if (f->type == &field_object)
            fields_visit(f->members, xl__str_text(&name), each, arg);
        else
            each(arg, xl__str_text(&name), f);
        xl__str_clear(&name);
    }
}

/* -- schema --------------------------------------------------------------- */

/* The names of an enum or a flag; null where a value has none. */
static json_t *names_schema(const struct field *f)
{
    const unsigned n = f->type == &field_flag ? 2 : (unsigned)f->n;
    json_t *out = json_object(), *names = json_array();
    bool has_null = f->is_known || (f->type == &field_name && f->unknown >= n);
    for (unsigned i = 0; i < n; i++) {
        const char *name = f->value_name(i);
        has_null = has_null || !name;
        if (name)
            json_add(names, json_text(name));
    }
    if (has_null)
        json_add(names, json_null());
    json_put(out, "enum", names);
    return out;
}

/* An object, or a list of objects. */
static json_t *members_schema(const struct field *f)
{
    json_t *out = fields_schema(f->members);
    if (f->type->form != FIELD_BULK)
        return out;
    json_t *list = json_object();
    json_put(list, "type", json_string("array"));
    json_put(list, "items", out);
    return list;
}

static json_t *value_schema(const struct field *f)
{
    json_t *out = f->type->schema ? json_loads(f->type->schema, 0, NULL)
                  : f->members    ? members_schema(f)
                                  : names_schema(f);
    const json_t *type = json_object_get(out, "type");
    if (f->is_known && json_is_string(type))
        json_put(out, "type",
                 json_pack("[s,s]", json_string_value(type), "null"));
    if (f->about)
        json_put(out, "description", json_string(f->about));
    return out;
}

/* Adds the members of a table. */
static void add_members(const struct field *fields, json_t *properties,
                        json_t *required)
{
    for (const struct field *f = fields; f->type; f++)
        if (f->type == &field_group) {
            add_members(f->members, properties, required);
        } else {
            json_put(properties, f->name, value_schema(f));
            json_add(required, json_string(f->name));
        }
}

json_t *fields_schema(const struct field *fields)
{
    json_t *out = json_object(), *properties = json_object();
    json_t *required = json_array();
    add_members(fields, properties, required);
    json_put(out, "type", json_string("object"));
    json_put(out, "properties", properties);
    json_put(out, "required", required);
    return out;
}
