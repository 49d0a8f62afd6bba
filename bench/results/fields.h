/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of fields: the members of a struct as members of a JSON object. One
 * table writes the object, reads it and describes it as JSON Schema, so a
 * member that is added is one line of its table. */
#ifndef CLBENCH_FIELDS_H
#define CLBENCH_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct field;

/* How much a value is: what a table has in one cell; names with values, which
 * differ from row to row; or more than a table has room for. */
enum field_form { FIELD_SCALAR, FIELD_MAP, FIELD_BULK };

/* How a value is stored, in memory and in a file. `at` is the member. */
struct field_type {
    enum field_form form;
    const char *schema; /* of a value, as JSON; NULL: made from the field, in
                           FIELD_BULK a list of its members */
    json_t *(*write)(const struct field *f, const void *at);
    /* What the file lacks, or has with another type, becomes unknown. */
    void (*read)(const struct field *f, const json_t *value, void *at);
};

struct field {
    const char *name;
    const struct field_type *type;
    size_t at;         /* offsetof() in the struct */
    const char *about; /* what it is, with its unit */
    size_t n; /* field_chars: size of the array; field_name: of the names */
    /* field_name, field_flag: the name of a value; NULL is null. */
    const char *(*value_name)(unsigned value);
    unsigned unknown; /* field_name: the value of other texts */
    const struct field *members; /* of an object, a group, a list */
    bool (*is_known)(const void *record); /* false: null; NULL: always */
    bool is_derived; /* follows from other members: written and not read */
};

extern const struct field_type
    field_number, /* double; NaN is null */
    field_count,  /* double above 0; 0 is null */
    field_uint,   /* unsigned */
    field_uint64, /* uint64_t */
    field_bool,   /* bool */
    field_chars,  /* char[n]; "" is null */
    field_string, /* const char * of the document; NULL and "" are null */
    field_name,   /* an enum by its names */
    field_flag,   /* bool by two names */
    field_object, /* a struct: an object of its own */
    field_group;  /* a struct whose members are members of this object */

/* An entry of a table. What follows `about` is by name: .n = 3. */
#define FIELD(name_, type_, at_, ...)                                         \
    {                                                                         \
        .name = name_, .type = type_, .at = at_, .about = __VA_ARGS__         \
    }
#define FIELD_GROUP(at_, members_)                                            \
    {                                                                         \
        .type = &field_group, .at = at_, .members = members_                  \
    }

/* Add the fields of a struct to an object; read them back. A table ends with
 * a field without a type. fields_object(): in a new object. */
void fields_write(const struct field *fields, const void *record,
                  json_t *object);
json_t *fields_object(const struct field *fields, const void *record);
void fields_read(const struct field *fields, const json_t *object,
                 void *record);
/* JSON Schema of the object, a new reference; NULL when out of memory. */
json_t *fields_schema(const struct field *fields);
/* Call `each` for each value that is no object, with its path: "roof.name". */
void fields_visit(const struct field *fields, const char *path,
                  void (*each)(void *arg, const char *path,
                               const struct field *f),
                  void *arg);

#endif
