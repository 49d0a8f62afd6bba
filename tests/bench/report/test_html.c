/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page as text: no text of a document becomes markup, every row is
 * there with its verdict, devices and files are distinguished. How the page
 * looks and behaves in a browser is tested by page.py. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/html_page.h"
#include "report/outputs.h"
#include "report/section.h"

static const struct html_choice everything = {NULL, NULL};

/* -- elements ------------------------------------------------------------- */

static void text_is_never_markup(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain \xc3\xa9", "plain \xc3\xa9"},
        {"<script>alert('x')</script>",
         "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"},
        {"\" onload=\"x", "&quot; onload=&quot;x"},
        {"&lt;", "&amp;lt;"},
        {"a\nb\x1b[31m", "a\\x0Ab\\x1B[31m"},
        {"\xff\xc0\xaf", "\\xFF\\xC0\\xAF"},
        {"gpj\xe2\x80\xae.exe", "gpj\\U+202E.exe"},
        {NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__str out = {0};
        html_text(&out, cases[i].text);
        assert_string_equal(xl__str_text(&out), cases[i].shown);
        xl__str_clear(&out);
    }
}

static void formats_are_filled_in(void **state)
{
    struct xl__str out = {0};
    (void)state;
    html_add(&out, "<b a=\"%s\">%z%%%m</b>", "\"&", (size_t)7, "<br>");
    assert_string_equal(xl__str_text(&out), "<b a=\"&quot;&amp;\">7%<br></b>");
    xl__str_clear(&out);
}

static void bars_are_as_long_as_their_share(void **state)
{
    static const struct {
        double frac;
        const char *has, *lacks;
    } cases[] = {
        {0.5, "width=\"50\" height=\"8\"/></svg>", "past"},
        {2.5, "class=\"bar s1 past\"", "width=\"250\""},
        {-0.1, "width=\"0\"", "past"},
        {NAN, "width=\"0\"", "nan"},
        {INFINITY, "width=\"0\"", "inf"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__str out = {0};
        html_bar(&out, cases[i].frac, " s1");
        assert_non_null(strstr(xl__str_text(&out), cases[i].has));
        assert_null(strstr(xl__str_text(&out), cases[i].lacks));
        xl__str_clear(&out);
    }
}

/* An embedded text of the page, ended by 0; the caller frees it. */
static char *read_embedded(const char *name)
{
    struct xl__str out = {0};
    for (const struct page_text *t = page_texts; t->name; t++)
        if (strcmp(t->name, name) == 0)
            xl__str_add_n(&out, (const char *)t->text, t->len);
    xl__str_add(&out, "");
    return xl__str_steal(&out);
}

static void verdicts_have_signs_and_names(void **state)
{
    struct xl__str out = {0};
    char part[64], *style = read_embedded("page.css");
    (void)state;
    for (unsigned rank = 0; rank < HTML_VERDICTS; rank++) {
        const char *name = xl_verdict_name((xl_verdict)rank);
        assert_int_equal(html_verdict_rank(name), rank);
        assert_true(*html_verdict_about(rank));
        snprintf(part, sizeof part, "verdict %s\">%s<", name, name);
        xl__str_reset(&out);
        html_verdict(&out, name);
        assert_non_null(strstr(xl__str_text(&out), part));
        snprintf(part, sizeof part, ".verdict.%s::before { content: ", name);
        assert_non_null(strstr(style, part));
    }
    xl__str_reset(&out);
    html_verdict(&out, "<fine>");
    assert_int_equal(html_verdict_rank("<fine>"), HTML_VERDICTS);
    assert_non_null(strstr(xl__str_text(&out), "verdict unknown"));
    assert_non_null(strstr(xl__str_text(&out), "&lt;fine&gt;"));
    xl__str_clear(&out);
    free(style);
}

/* A table as JSON, which no text of it leaves, and as plain text. */
static void tables_are_json_and_text(void **state)
{
    struct xl__str out = {0};
    json_t *table = html_table("</script>");
    (void)state;
    html_column(table, "Case", LOOK_TEXT);
    html_column(table, "Figure", LOOK_NUMBER);
    json_t *row = html_row(table, "an/id");
    html_cell(row, "<!--<script>");
    html_cell(row, "9");
    row = html_row(table, NULL);
    html_cell(row, "b\n\xe2\x80\xae&");
    html_cell(row, "1.5 GB/s");
    html_note(table, "a <note>");
    html_table_end(&out, table);
    assert_string_equal(
        xl__str_text(&out),
        "<div class=\"data\"><script type=\"application/json\">{"
        "\"caption\":\"\\u003c/script>\","
        "\"columns\":[[\"Case\",0],[\"Figure\",1]],"
        "\"rows\":[[\"\\u003c!--\\u003cscript>\",\"9\"],"
        "[\"b\\\\x0A\\\\U+202E&\",\"1.5 GB/s\"]],"
        "\"titles\":[\"an/id\",\"\"],\"notes\":[\"a \\u003cnote>\"]}"
        "</script>\n<noscript><p>&lt;/script&gt;</p><pre class=\"scroll\" "
        "tabindex=\"0\" role=\"region\" aria-label=\"&lt;/script&gt;\">"
        "Case             Figure\n"
        "&lt;!--&lt;script&gt;          9\n"
        "b\\x0A\\U+202E&amp;  1.5 GB/s\n"
        "[1] a &lt;note&gt;\n</pre></noscript></div>\n");
    xl__str_reset(&out);
    html_table_end(&out, html_table("empty"));
    assert_int_equal(out.len, 0);
    assert_false(out.broken);
    xl__str_clear(&out);
}

/* -- pages ---------------------------------------------------------------- */

#define DEVICE(index, name, uuid)                                             \
    "{\"index\": " #index ", \"name\": \"" name "\", \"platform\": \"P\","     \
    "\"driver\": \"1.0\", \"uuid\": " uuid ", \"facts\": ["                    \
    "{\"name\": \"compute_units\", \"value\": 132, \"unit\": \"1\","           \
    " \"source\": \"queried\"},"                                              \
    "{\"name\": \"peak_f32_flop_per_s\", \"value\": 6.6e13,"                   \
    " \"unit\": \"flop/s\", \"source\": \"measured\"}]}"
#define ROW(device, op, m, value, verdict, more)                              \
    "{\"id\": \"" op "/v/m=" #m "/f32/hot\", \"device\": " #device ","         \
    "\"op\": \"" op "\", \"variant\": \"v\", \"shape\": {\"m\": " #m "},"      \
    "\"params\": {}, \"dtype\": \"f32\", \"samples_ns\": [1000, 1010, 1020],"  \
    "\"median_ns\": 1010, \"mad_ns\": 10, \"cache\": \"hot\","                 \
    "\"value\": " #value ", \"unit\": \"flop/s\", \"verdict\": \"" verdict     \
    "\"" more "}"
#define DOCUMENT(devices, rows)                                               \
    "{\"schema\": \"clbench/1\", \"tool\": {\"command\": \"gemm\"},"           \
    "\"environment\": {\"date\": \"2025-01-31T12:34:56Z\"},"                   \
    "\"devices\": [" devices "], \"rows\": [" rows "]}"

static struct result_file read_document(const char *text, const char *path)
{
    struct result_file file;
    char why[256] = "";
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        fail_msg("%s: %s", error.text, text);
    if (!result_file_from(document, path, &file, why, sizeof why))
        fail_msg("%s", why);
    return file;
}

static char *render_page(const struct result_file *files, size_t n)
{
    struct xl__str out = {0};
    render_html.render(files, n, &out);
    assert_false(out.broken);
    return xl__str_steal(&out);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part)) != NULL) {
        n++;
        text++;
    }
    return n;
}

static void assert_contains(const char *page, const char *part)
{
    if (!strstr(page, part))
        fail_msg("the page lacks: %s", part);
}

/* The tables of a page; the caller releases the list. */
static json_t *read_tables(const char *page)
{
    static const char begin[] = "<script type=\"application/json\">";
    json_t *tables = json_array();
    while ((page = strstr(page, begin)) != NULL) {
        page += sizeof begin - 1;
        const size_t len = strcspn(page, "<");
        json_t *table = json_loadb(page, len, 0, NULL);
        assert_non_null(table);
        assert_int_equal(strncmp(page + len, "</script>", 9), 0);
        json_array_append_new(tables, table);
    }
    return tables;
}

/* How many rows of all tables have the title. */
static size_t count_rows(const json_t *tables, const char *title)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(tables); i++) {
        const json_t *table = json_array_get(tables, i);
        const json_t *titles = json_object_get(table, "titles");
        assert_int_equal(json_array_size(titles),
                         json_array_size(json_object_get(table, "rows")));
        for (size_t j = 0; j < json_array_size(titles); j++)
            n += strcmp(json_string_value(json_array_get(titles, j)), title) ==
                 0;
    }
    return n;
}

static void every_row_is_there(void **state)
{
    /* clang-format off */
    struct result_file file = read_document(
        DOCUMENT(DEVICE(0, "D", "\"u\""),
                 ROW(0, "gemm", 7, 5e13, "ok", "") ","
                 ROW(0, "gemm", 9, 6e13, "suspicious",
                     ", \"reason\": \"it was noisy\","
                     "\"warnings\": [\"noisy\", \"new-one\"]") ","
                 ROW(0, "gemm", 11, null, "rejected",
                     ", \"reason\": \"it was wrong\"") ","
                 ROW(0, "probe_cache", 4096, 1, "ok",
                     ", \"diagnosis\": {\"limiter\": \"DRAM\","
                     "\"evidence\": \"DRAM: most of it\"}")),
        "folder/a.json");
    /* clang-format on */
    char *page = render_page(&file, 1);
    json_t *tables = read_tables(page);
    (void)state;
    for (size_t i = 0; i < file.n_rows; i++)
        assert_int_equal(count_rows(tables, file.rows[i].id), 1);
    json_decref(tables);
    assert_contains(page, "[1] it was noisy");
    assert_contains(page, "it was wrong");
    assert_contains(page, "new-one");
    assert_contains(page, "most of it");
    assert_contains(page, "move fewer bytes");
    assert_contains(page, ">a.json</h3>");
    assert_contains(page, "2025-01-31 12:34 UTC");
    assert_contains(page, "<code>clbench gemm</code>");
    assert_contains(page, "<td class=\"n\">50 TFLOP/s</td>");
    free(page);
    result_file_clear(&file);
}

/* Markup in every text that a document can have. */
static void markup_of_documents_is_escaped(void **state)
{
#define EVIL "</script></style></title><script>x()</script>' \\\" onx=\\\"y"
    struct result_file file = read_document(
        "{\"schema\": \"clbench/1\", \"tool\": {\"command\": \"" EVIL "\","
        "\"version\": \"" EVIL "\", \"library\": \"" EVIL "\"},"
        "\"host\": {\"cpu\": \"" EVIL "\", \"os\": \"" EVIL "\"},"
        "\"environment\": {\"date\": \"" EVIL "\", \"arguments\": [\"" EVIL
        "\"], \"options\": {\"" EVIL "\": \"" EVIL "\"},"
        "\"variables\": {\"" EVIL "\": \"" EVIL "\"}},"
        "\"devices\": [{\"index\": 0, \"name\": \"" EVIL "\","
        "\"platform\": \"" EVIL "\", \"driver\": \"" EVIL "\", \"facts\": ["
        "{\"name\": \"arch\", \"value\": \"" EVIL "\", \"unit\": \"" EVIL
        "\", \"source\": \"" EVIL "\", \"note\": \"" EVIL "\"},"
        "{\"name\": \"max_wi_sizes\", \"value\": [1, \"" EVIL "\"],"
        "\"unit\": \"" EVIL "\"}]}],"
        "\"parts\": [{\"title\": \"" EVIL "\", \"note\": \"" EVIL "\"}],"
        "\"rows\": [{\"id\": \"" EVIL "/" EVIL "\", \"device\": 0,"
        "\"part\": 0, \"op\": \"" EVIL "\", \"variant\": \"" EVIL "\","
        "\"shape\": {\"" EVIL "\": 1}, \"params\": {\"" EVIL "\": \"" EVIL
        "\"}, \"dtype\": \"" EVIL "\", \"samples_ns\": [1, 2, 3],"
        "\"median_ns\": 2, \"mad_ns\": 1, \"value\": 3,"
        "\"unit\": \"" EVIL "/s\", \"verdict\": \"" EVIL "\","
        "\"reason\": \"" EVIL "\", \"warnings\": [\"" EVIL "\"],"
        "\"roof\": {\"name\": \"" EVIL "\", \"value\": 4, \"frac\": 0.7},"
        "\"diagnosis\": {\"limiter\": \"" EVIL "\", \"evidence\": \"" EVIL
        "\", \"idle_engine\": \"" EVIL "\"}}]}",
        "<script>x()</script>\xff.json");
#undef EVIL
    char *page = render_page(&file, 1);
    (void)state;
    json_t *tables = read_tables(page);
    assert_true(json_array_size(tables) > 0);
    assert_int_equal(count(page, "<script"), 1 + json_array_size(tables));
    assert_int_equal(count(page, "</script>"), 1 + json_array_size(tables));
    json_decref(tables);
    assert_int_equal(count(page, "</title>"),
                     1 + count(page, "</title>\n<desc>"));
    /* Only within strings of JSON. */
    assert_int_equal(count(page, "\" onx="), count(page, "\\\" onx="));
    assert_null(strchr(page, '\xff'));
    assert_contains(page, "&lt;script&gt;x()");
    assert_contains(page, "script&gt;\\xFF.json");
    free(page);
    result_file_clear(&file);
}

static void a_page_makes_no_requests(void **state)
{
    struct result_file file = read_document(
        DOCUMENT(DEVICE(0, "D", "null"), ROW(0, "gemm", 7, 5e13, "ok", "")),
        "a.json");
    char *page = render_page(&file, 1);
    (void)state;
    assert_contains(page, "default-src 'none'");
    assert_contains(page, "script-src 'sha256-");
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "style="));
    assert_int_equal(count(page, "http"),
                     count(page, "http-equiv") +
                         count(page, "\"http://www.w3.org/2000/svg\""));
    free(page);
    result_file_clear(&file);
}

static void command_lines_can_be_pasted(void **state)
{
    struct result_file file = read_document(
        "{\"schema\": \"clbench/1\", \"tool\": {\"command\": \"expr\"},"
        "\"environment\": {\"arguments\": [\"it's x\", \"a-b=c\", \"\"],"
        "\"options\": {\"quick\": true, \"full\": false, \"seed\": 3,"
        "\"max-time\": 0, \"device\": \"an H\", \"json\": null,"
        "\"mode\": [\"one\", \"t$wo\"]}}, \"devices\": [], \"rows\": []}",
        "a.json");
    char *page = render_page(&file, 1);
    (void)state;
    assert_contains(
        page, "<code>clbench expr &#39;it&#39;\\&#39;&#39;s x&#39; a-b=c "
              "&#39;&#39; --quick --seed 3 --device &#39;an H&#39; --mode one "
              "--mode &#39;t$wo&#39;</code>");
    free(page);
    result_file_clear(&file);
}

static void empty_documents_are_pages(void **state)
{
    struct result_file file = read_document(DOCUMENT("", ""), "a.json");
    char *page = render_page(&file, 1);
    (void)state;
    assert_contains(page, "No device");
    assert_contains(page, "There are no rows.");
    free(page);
    result_file_clear(&file);
    /* A row of a device that the file does not have. */
    file = read_document(DOCUMENT("", ROW(3, "gemm", 7, 1e12, "ok", "")),
                         "a.json");
    page = render_page(&file, 1);
    assert_contains(page, "a device without a name");
    assert_contains(page, "gemm/v/m=7/f32/hot");
    free(page);
    result_file_clear(&file);
}

/* -- several files -------------------------------------------------------- */

static void devices_are_merged_over_files(void **state)
{
    struct html_page page;
    struct result_file files[3] = {
        read_document(
            DOCUMENT(DEVICE(0, "D", "\"u\"") "," DEVICE(1, "D", "\"w\""),
                     ROW(1, "gemm", 7, 2e13, "ok", "")),
            "a.json"),
        read_document(DOCUMENT(DEVICE(0, "D", "\"w\""),
                               ROW(0, "gemm", 7, 3e13, "ok", "")),
                      "x/b.json"),
        read_document(
            DOCUMENT(DEVICE(0, "D", "null") "," DEVICE(1, "D", "null"), ""),
            "c.json")};
    (void)state;
    assert_true(html_page_gather(&page, files, 3, everything));
    assert_int_equal(page.n_devices, 2);
    assert_int_equal(page.n_runs, 5);
    assert_int_equal(page.devices[0].n_rows, 0);
    assert_int_equal(page.devices[1].n_rows, 2);
    /* Entries without a UUID are the devices in their order. */
    assert_int_equal(page.runs[3].i_device, 0);
    assert_int_equal(page.runs[4].i_device, 1);
    assert_int_equal(page.n_groups, 1);
    assert_true(page.groups[0].rows[0].is_mixed);
    const struct html_row *best =
        html_best_row(&page, &page.groups[0], 1, "f32");
    assert_non_null(best);
    assert_int_equal(best->i_run, 2);
    assert_null(html_best_row(&page, &page.groups[0], 0, "f32"));
    assert_null(html_best_row(&page, &page.groups[0], 1, "f16"));
    html_page_clear(&page);
    char *text = render_page(files, 3);
    assert_contains(text, "\"x A\"");
    assert_contains(text, "D, P 1.0, b.json");
    free(text);
    for (size_t i = 0; i < 3; i++)
        result_file_clear(&files[i]);
}

/* A row that is ok precedes higher rates that are not. */
static void the_best_row_is_ok(void **state)
{
    struct html_page page;
    /* clang-format off */
    struct result_file file = read_document(
        DOCUMENT(DEVICE(0, "D", "null"),
                 ROW(0, "gemm", 7, 5e13, "suspicious", "") ","
                 ROW(0, "gemm", 8, 2e13, "ok", "") ","
                 ROW(0, "gemm", 9, 3e13, "ok", "") ","
                 ROW(0, "gemm", 10, 9e13, "rejected", "")),
        "a.json");
    /* clang-format on */
    (void)state;
    assert_true(html_page_gather(&page, &file, 1, everything));
    const struct html_row *best =
        html_best_row(&page, &page.groups[0], 0, NULL);
    assert_non_null(best);
    assert_string_equal(best->row->id, "gemm/v/m=9/f32/hot");
    html_page_clear(&page);
    result_file_clear(&file);
}

static void measured_facts_come_first(void **state)
{
    static const char queried[] =
        "{\"index\": 0, \"name\": \"D\", \"facts\": [{\"name\":"
        "\"subgroup_width\", \"value\": 16, \"source\": \"queried\"}]}";
    static const char measured[] =
        "{\"index\": 0, \"name\": \"D\", \"facts\": [{\"name\":"
        "\"subgroup_width\", \"value\": 32, \"source\": \"measured\"},"
        "{\"name\": \"pci\", \"value\": null, \"source\": \"unknown\"}]}";
    struct xl__str a = {0}, b = {0}, text = {0};
    struct html_page page;
    (void)state;
    xl__str_printf(&a, DOCUMENT("%s", ""), queried);
    xl__str_printf(&b, DOCUMENT("%s", ""), measured);
    struct result_file files[3] = {read_document(a.text, "a.json"),
                                   read_document(b.text, "b.json"),
                                   read_document(a.text, "c.json")};
    assert_true(html_page_gather(&page, files, 3, everything));
    assert_int_equal(page.n_devices, 1);
    results_fact_value(html_fact(&page, 0, "subgroup_width"), &text);
    assert_string_equal(xl__str_text(&text), "32");
    assert_null(html_fact(&page, 0, "pci"));
    assert_null(html_fact(&page, 0, "none"));
    html_page_clear(&page);
    for (size_t i = 0; i < 3; i++)
        result_file_clear(&files[i]);
    xl__str_clear(&a);
    xl__str_clear(&b);
    xl__str_clear(&text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_never_markup),
        cmocka_unit_test(formats_are_filled_in),
        cmocka_unit_test(bars_are_as_long_as_their_share),
        cmocka_unit_test(verdicts_have_signs_and_names),
        cmocka_unit_test(tables_are_json_and_text),
        cmocka_unit_test(every_row_is_there),
        cmocka_unit_test(markup_of_documents_is_escaped),
        cmocka_unit_test(a_page_makes_no_requests),
        cmocka_unit_test(command_lines_can_be_pasted),
        cmocka_unit_test(empty_documents_are_pages),
        cmocka_unit_test(devices_are_merged_over_files),
        cmocka_unit_test(the_best_row_is_ok),
        cmocka_unit_test(measured_facts_come_first),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
