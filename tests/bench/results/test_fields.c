/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of fields: each type is written, read and described, and what a file
 * lacks or has with another type is unknown. */
#include "results/fields.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "support/support.h"

enum colour { RED, GREEN, NO_COLOUR };

struct inner {
    double depth;
    bool is_there;
};

struct record {
    double number, count;
    unsigned whole;
    uint64_t large;
    bool is_true, is_loud;
    char chars[8];
    const char *string;
    enum colour colour;
    struct inner inner, group;
};

static const char *name_colour(unsigned i)
{
    static const char *const names[] = {"red", "green", NULL};
    return names[i];
}

static const char *name_loud(unsigned i)
{
    return i ? "loud" : "quiet";
}

static bool has_inner(const void *record)
{
    return ((const struct record *)record)->inner.is_there;
}

#define AT(member) offsetof(struct record, member)
static const struct field inner_fields[] = {
    FIELD("depth", &field_number, offsetof(struct inner, depth), "m"),
    FIELD("is_there", &field_bool, offsetof(struct inner, is_there), NULL),
    {.name = NULL},
};

static const struct field group_fields[] = {
    FIELD("beside", &field_number, offsetof(struct inner, depth), NULL),
    {.name = NULL},
};

static const struct field fields[] = {
    FIELD("number", &field_number, AT(number), NULL),
    FIELD("count", &field_count, AT(count), NULL),
    FIELD("whole", &field_uint, AT(whole), NULL),
    FIELD("large", &field_uint64, AT(large), NULL),
    FIELD("is_true", &field_bool, AT(is_true), NULL),
    FIELD("loud", &field_flag, AT(is_loud), NULL, .value_name = name_loud),
    FIELD("chars", &field_chars, AT(chars), NULL, .n = 8),
    FIELD("string", &field_string, AT(string), NULL),
    FIELD("colour", &field_name, AT(colour), NULL, .n = 3,
          .value_name = name_colour, .unknown = NO_COLOUR),
    FIELD("inner", &field_object, AT(inner), NULL, .members = inner_fields,
          .is_known = has_inner),
    FIELD_GROUP(AT(group), group_fields),
    FIELD("derived", &field_number, AT(number), NULL, .is_derived = true),
    {.name = NULL},
};

static void expect_json(json_t *got, const char *expected)
{
    char *text = json_dumps(got, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
}

static void records_are_written_and_read(void **state)
{
    const struct record full = {
        -1.5, 3, 7, UINT64_MAX, true, true, "a b", "text", GREEN, {2, true},
        {4, false}};
    struct record back = {.number = 9};
    (void)state;
    json_t *json = json_object();
    fields_write(fields, &full, json);
    expect_json(json,
                "{\"number\":-1.5,\"count\":3,\"whole\":7,"
                "\"large\":\"18446744073709551615\",\"is_true\":true,"
                "\"loud\":\"loud\",\"chars\":\"a b\",\"string\":\"text\","
                "\"colour\":\"green\",\"inner\":{\"depth\":2,"
                "\"is_there\":true},\"beside\":4,\"derived\":-1.5}");
    fields_read(fields, json, &back);
    json_t *again = json_object();
    fields_write(fields, &back, again);
    assert_true(json_equal(json, again));
    json_decref(json);
    json_decref(again);
}

static void unknown_is_null(void **state)
{
    const struct record none = {.number = NAN, .colour = NO_COLOUR,
                                .group = {NAN, false}};
    (void)state;
    json_t *json = json_object();
    fields_write(fields, &none, json);
    expect_json(json, "{\"number\":null,\"count\":null,\"whole\":0,"
                      "\"large\":0,\"is_true\":false,\"loud\":\"quiet\","
                      "\"chars\":null,\"string\":null,\"colour\":null,"
                      "\"inner\":null,\"beside\":null,\"derived\":null}");
    json_decref(json);
}

/* From anywhere: nothing at all, or values of other types. */
static void other_types_are_unknown(void **state)
{
    static const char *const files[] = {
        "{}", "[]",
        "{\"number\":\"1\",\"count\":-3,\"whole\":-1,\"large\":[],"
        "\"is_true\":1,\"loud\":7,\"chars\":8,\"string\":{},"
        "\"colour\":\"blue\",\"inner\":3,\"beside\":true}",
        "{\"whole\":4294967296,\"colour\":null,\"inner\":{\"depth\":[]}}"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct record r = {1,     1,   1,     1,        true, true, "x", "x",
                           GREEN, {1, true}, {1, true}};
        json_t *json = json_loads(files[i], 0, NULL);
        fields_read(fields, json, &r);
        assert_true(isnan(r.number) && isnan(r.inner.depth) &&
                    isnan(r.group.depth));
        assert_true(r.count <= 0 && r.whole == 0 && r.large == 0);
        assert_true(!r.is_true && !r.is_loud && !r.inner.is_there);
        assert_string_equal(r.chars, "");
        assert_string_equal(r.string, "");
        assert_int_equal(r.colour, NO_COLOUR);
        json_decref(json);
    }
}

static void schemas_have_each_type(void **state)
{
    static const struct {
        const char *name, *schema;
    } cases[] = {
        {"whole", "{\"type\":\"integer\",\"minimum\":0}"},
        {"is_true", "{\"type\":\"boolean\"}"},
        {"loud", "{\"enum\":[\"quiet\",\"loud\"]}"},
        {"chars", "{\"type\":[\"string\",\"null\"]}"},
        {"colour", "{\"enum\":[\"red\",\"green\",null]}"},
    };
    json_t *schema = fields_schema(fields);
    const json_t *all = json_object_get(schema, "properties");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_json(json_object_get(all, cases[i].name), cases[i].schema);
    expect_json(json_object_get(json_object_get(all, "inner"), "type"),
                "[\"object\",\"null\"]");
    assert_int_equal(json_object_size(all), 12);
    assert_int_equal(json_array_size(json_object_get(schema, "required")), 12);
    json_decref(schema);
}

static void add_path(void *arg, const char *path, const struct field *f)
{
    (void)f;
    xl__str_printf(arg, "%s ", path);
}

static void paths_name_members_of_objects(void **state)
{
    struct xl__str paths = {0};
    (void)state;
    fields_visit(fields, "", add_path, &paths);
    assert_string_equal(xl__str_text(&paths),
                        "number count whole large is_true loud chars string "
                        "colour inner.depth inner.is_there beside derived ");
    xl__str_clear(&paths);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_written_and_read),
        cmocka_unit_test(unknown_is_null),
        cmocka_unit_test(other_types_are_unknown),
        cmocka_unit_test(schemas_have_each_type),
        cmocka_unit_test(paths_name_members_of_objects),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
