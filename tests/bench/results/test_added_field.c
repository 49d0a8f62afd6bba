/* SPDX-License-Identifier: Apache-2.0 */
/* A field more in a result, made by two edits (CMakeLists.txt), is in its
 * JSON, in the schema and in CSV, and is read back. */
#include <math.h>
#include <string.h>

#include "report/outputs.h"
#include "report/outputs.h"
#include "results/fields.h"
#include "results/result.h"
#include "support/support.h"

static json_t *write_row(double noise_db)
{
    static xl_row row;
    json_t *out = json_object();
    xl_row_init(&row, "gemm", "gemm_tiled");
    row.noise_db = noise_db;
    fields_write(row_fields, &row, out);
    return out;
}

static void is_read_back(void **state)
{
    static xl_row row;
    (void)state;
    json_t *json = write_row(31.25);
    fields_read(row_fields, json, &row);
    assert_true(row.noise_db == 31.25);
    json_object_del(json, "noise_db"); /* as in an earlier file */
    fields_read(row_fields, json, &row);
    assert_true(isnan(row.noise_db));
    json_decref(json);
}

static void is_in_the_schema(void **state)
{
    json_t *schema = fields_schema(row_fields);
    const json_t *field = json_object_get(
        json_object_get(schema, "properties"), "noise_db");
    (void)state;
    assert_string_equal(
        json_string_value(json_object_get(field, "description")),
        "of its fan");
    json_decref(schema);
}

static void is_a_column(void **state)
{
    struct xl__str csv = {0};
    struct result_file file;
    char why[256] = "";
    (void)state;
    json_t *document = json_pack("{s:s, s:[], s:[o]}", "schema", "clbench/1",
                                 "devices", "rows", write_row(31.25));
    assert_true(result_file_from(document, "run", &file, why, sizeof why));
    render_csv.render(&file, 1, &csv);
    assert_non_null(strstr(xl__str_text(&csv), ",noise_db,"));
    assert_non_null(strstr(xl__str_text(&csv), ",31.25,"));
    xl__str_clear(&csv);
    result_file_clear(&file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_back),
        cmocka_unit_test(is_in_the_schema),
        cmocka_unit_test(is_a_column),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
