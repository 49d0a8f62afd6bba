/* SPDX-License-Identifier: Apache-2.0 */
/* A run as a result document: devices with every fact, rows with every sample,
 * and the environment they were taken in. Each object is a table of fields,
 * from which the document is written and its schema is made.
 *
 * A section is called a part in the file; "part" of a row is its index. What a
 * command measures that is no row is in the session's `extra`, whose members
 * are added to the document. */
#include "results/document.h"

#include <math.h>
#include <stddef.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "cli/session.h"
#include "results/environment.h"
#include "results/fields.h"
#include "results/json.h"
#include "results/result.h"

#define TEXT "{\"type\": [\"string\", \"null\"]}"

static const char *name_dtype(unsigned i)
{
    return xl_dtype_name((xl_dtype)i);
}

static const char *name_source(unsigned i)
{
    return xl_source_name((xl_source)i);
}

/* -- a device ------------------------------------------------------------- */

static json_t *write_fact_value(const struct field *f, const void *at)
{
    const xl_fact *fact = at;
    json_t *list = NULL;
    (void)f;
    if (fact->source == XL_UNKNOWN)
        return json_null();
    switch (fact->kind) {
    case XL_FACT_NUMBER:
        return json_number(fact->value);
    case XL_FACT_BOOL:
        return isnan(fact->value) ? json_null() : json_boolean(fact->value);
    case XL_FACT_TEXT:
        return json_text(fact->text);
    case XL_FACT_LIST:
        list = json_array();
        for (unsigned i = 0; i < fact->n_list; i++)
            json_add(list, json_number(fact->list[i]));
        return list;
    }
    return json_null();
}

static const struct field_type fact_value_type = {
    FIELD_SCALAR,
    "{\"type\": [\"number\", \"boolean\", \"string\", \"array\", "
    "\"null\"]}",
    write_fact_value, NULL};

struct named_fact {
    const char *name;
    xl_fact fact;
};

#define FACT(member) offsetof(struct named_fact, member)
/* clang-format off */
static const struct field fact_fields[] = {
    FIELD("name", &field_string, FACT(name),
          "as clbench devices -v has it"),
    FIELD("value", &fact_value_type, FACT(fact), "null: unknown"),
    FIELD("unit", &field_string, FACT(fact.unit), "unit of value"),
    FIELD("source", &field_name, FACT(fact.source), "where it comes from",
          .n = XL_CALIBRATED + 1, .value_name = name_source,
          .unknown = XL_UNKNOWN),
    FIELD("note", &field_string, FACT(fact.note),
          "vendor-notes id, or a remark"),
    {.name = NULL},
};
/* clang-format on */

static json_t *write_facts(const struct field *f, const void *at)
{
    json_t *facts = json_array();
    struct named_fact fact;
    for (unsigned i = 0; (fact.name = xl_fact_name(i, NULL)) != NULL; i++) {
        if (xl_device_fact(at, fact.name, XL_UNKNOWN, &fact.fact) != XL_OK)
            continue;
        json_add(facts, fields_object(f->members, &fact));
    }
    return facts;
}

#define MATRIX_OP(member) offsetof(xl_matrix_op, member)
#define MATRIX_DTYPE(member, about)                                           \
    FIELD(#member, &field_name, MATRIX_OP(member), about, .n = XL_N_DTYPES,   \
          .value_name = name_dtype, .unknown = XL_N_DTYPES)
/* clang-format off */
static const struct field matrix_op_fields[] = {
    FIELD("name", &field_string, MATRIX_OP(name), "the vendor's"),
    FIELD("fragments", &field_string, MATRIX_OP(fragments),
          "which elements of a tile a work-item holds"),
    FIELD("code", &field_string, MATRIX_OP(code), "null: no kernel uses it"),
    MATRIX_DTYPE(a, "element type of A"),
    MATRIX_DTYPE(b, "element type of B"),
    MATRIX_DTYPE(sum, "element type of the sum"),
    FIELD("m", &field_uint, MATRIX_OP(m), "rows"),
    FIELD("n", &field_uint, MATRIX_OP(n), "columns"),
    FIELD("n_most", &field_uint, MATRIX_OP(n_most),
          "most columns, multiples of n"),
    FIELD("k", &field_uint, MATRIX_OP(k), "length of a sum"),
    FIELD("lanes", &field_uint, MATRIX_OP(lanes),
          "work-items that execute it"),
    FIELD("flop_per_clock", &field_number, MATRIX_OP(flop_per_clock),
          "of a compute unit"),
    FIELD("note", &field_string, MATRIX_OP(note), "vendor-notes id"),
    {.name = NULL},
};
/* clang-format on */

static json_t *write_matrix_ops(const struct field *f, const void *at)
{
    json_t *ops = json_array();
    const xl_matrix_op *op = NULL;
    for (unsigned i = 0; (op = xl_device_matrix_op(at, i)) != NULL; i++)
        json_add(ops, fields_object(f->members, op));
    return ops;
}

static json_t *write_device_index(const struct field *f, const void *at)
{
    (void)f;
    return json_integer(xl_device_index(at));
}

static json_t *write_device_text(const struct field *f, const void *at)
{
    return json_text(device_fact_text(at, f->name, NULL));
}

static const struct field_type
    device_index_type = {FIELD_SCALAR,
                         "{\"type\": \"integer\", \"minimum\": 0}",
                         write_device_index, NULL},
    device_text_type = {FIELD_SCALAR, TEXT, write_device_text, NULL},
    facts_type = {FIELD_BULK, NULL, write_facts, NULL},
    matrix_ops_type = {FIELD_BULK, NULL, write_matrix_ops, NULL};

/* clang-format off */
static const struct field device_fields[] = {
    FIELD("index", &device_index_type, 0, "what --device takes"),
    FIELD("name", &device_text_type, 0, NULL),
    FIELD("platform", &device_text_type, 0, NULL),
    FIELD("vendor", &device_text_type, 0, NULL),
    FIELD("driver", &device_text_type, 0, "its version"),
    FIELD("uuid", &device_text_type, 0, NULL),
    FIELD("pci", &device_text_type, 0, "PCI address"),
    FIELD("facts", &facts_type, 0, "everything known about it",
          .members = fact_fields),
    FIELD("matrix_ops", &matrix_ops_type, 0, "its matrix instructions",
          .members = matrix_op_fields),
    {.name = NULL},
};
/* clang-format on */

json_t *document_device(const xl_device *dev)
{
    return fields_object(device_fields, dev);
}

/* -- a row ---------------------------------------------------------------- */

/* Where a row is in the document, and what belongs to it there. */
struct row_place {
    const struct document *d;
    const xl_device *dev;
    json_t *passes; /* borrowed */
};

static json_t *write_part(const struct field *f, const void *at)
{
    const struct document *d = ((const struct row_place *)at)->d;
    (void)f;
    return d->is_in_section ? json_uint(json_array_size(d->sections) - 1)
                            : json_null();
}

static json_t *write_row_device(const struct field *f, const void *at)
{
    return write_device_index(f, ((const struct row_place *)at)->dev);
}

static json_t *write_passes(const struct field *f, const void *at)
{
    (void)f;
    return json_incref(((const struct row_place *)at)->passes);
}

static const struct field_type
    part_type = {FIELD_SCALAR,
                 "{\"type\": [\"integer\", \"null\"], \"minimum\": 0}",
                 write_part, NULL},
    row_device_type = {FIELD_SCALAR,
                       "{\"type\": \"integer\", \"minimum\": 0}",
                       write_row_device, NULL},
    passes_type = {FIELD_BULK, NULL, write_passes, NULL};

/* clang-format off */
static const struct field pass_time_fields[] = { /* of a double */
    FIELD("at_s", &field_number, 0, "when it ended, since the run began"),
    {.name = NULL},
};

/* Of the schema, as placed_row_fields. */
static const struct field pass_fields[] = {
    FIELD_GROUP(0, pass_time_fields),
    FIELD_GROUP(0, timing_fields),
    {.name = NULL},
};

static const struct field place_fields[] = {
    FIELD("part", &part_type, 0, "index of its section; null: none"),
    FIELD("device", &row_device_type, 0, "index of its device"),
    FIELD("passes", &passes_type, 0, "further passes over the row",
          .members = pass_fields),
    {.name = NULL},
};

/* A row as it is in the file: of the schema, since its members are of two
 * structs. */
static const struct field placed_row_fields[] = {
    FIELD_GROUP(0, place_fields),
    FIELD_GROUP(0, row_fields),
    {.name = NULL},
};
/* clang-format on */

/* -- the state of the run ------------------------------------------------- */

static json_t *write_state_text(const struct field *f, const void *at)
{
    struct xl__str text = {0};
    (void)f;
    run_state_format(at, &text);
    json_t *out = json_text(xl__str_text(&text));
    xl__str_clear(&text);
    return out;
}

static bool has_load(const void *at)
{
    return ((const struct run_state *)at)->load >= 0;
}

static const struct field_type state_text_type = {
    FIELD_SCALAR, "{\"type\": \"string\"}", write_state_text, NULL};

#define STATE(member) offsetof(struct run_state, member)
/* clang-format off */
static const struct field state_fields[] = {
    FIELD("text", &state_text_type, 0, "in words"),
    FIELD("is_busy", &field_bool, STATE(is_busy),
          "other programs used more than a fifth of a device"),
    FIELD("load", &field_number, STATE(load), "of the host when the run began",
          .is_known = has_load),
    FIELD("cores", &field_uint, STATE(n_cores), "of the host"),
    FIELD("others", &field_number, STATE(others), "share of the device"),
    {.name = NULL},
};
/* clang-format on */

/* -- the document --------------------------------------------------------- */

bool document_begin(struct document *d)
{
    *d = (struct document){json_array(), json_array(), false, json_object(),
                           json_object()};
    return d->rows && d->sections && d->passes && d->counts;
}

void document_clear(struct document *d)
{
    json_decref(d->rows);
    json_decref(d->sections);
    json_decref(d->passes);
    json_decref(d->counts);
    *d = (struct document){NULL, NULL, false, NULL, NULL};
}

/* -- sections ------------------------------------------------------------- */

struct part {
    enum rows_kind kind;
    const char *title, *note;
};

static json_t *write_note(const struct field *f, const void *at)
{
    (void)f;
    return json_lines(((const struct part *)at)->note);
}

static const struct field_type note_type = {FIELD_SCALAR, TEXT, write_note,
                                            NULL};

/* clang-format off */
static const struct field part_fields[] = {
    FIELD("title", &field_string, offsetof(struct part, title), NULL),
    FIELD("note", &note_type, 0, "of one or more lines"),
    FIELD("kind", &field_name, offsetof(struct part, kind),
          "of its rows: which columns their table has", .n = N_ROWS_KINDS,
          .value_name = rows_kind_name),
    {.name = NULL},
};
/* clang-format on */

void document_section(struct document *d, enum rows_kind kind,
                      const char *title, const char *note)
{
    const struct part part = {kind, title, note};
    json_add(d->sections, fields_object(part_fields, &part));
    d->is_in_section = true;
}

void document_section_end(struct document *d)
{
    d->is_in_section = false;
}

/* The further passes over a row, as one list that the row and document_pass()
 * share. Rows of a device with equal ids are distinguished by their order,
 * which is the same in each pass; pass 0 has the rows themselves. Borrowed;
 * NULL when out of memory. */
static json_t *passes_of(struct document *d, const xl_device *dev,
                         unsigned pass, const xl_row *row)
{
    struct xl__str key = {0}, count = {0};
    xl__str_printf(&key, "%u ", xl_device_index(dev));
    result_row_id(&key, row);
    xl__str_printf(&count, "%u %s", pass, xl__str_text(&key));
    const char *counted = xl__str_text(&count);
    const json_int_t n =
        json_integer_value(json_object_get(d->counts, counted));
    json_put(d->counts, counted, json_integer(n + 1));
    xl__str_printf(&key, " %d", (int)n);
    json_t *list = json_object_get(d->passes, xl__str_text(&key));
    if (!list) {
        json_put(d->passes, xl__str_text(&key), json_array());
        list = json_object_get(d->passes, xl__str_text(&key));
    }
    xl__str_clear(&key);
    xl__str_clear(&count);
    return list;
}

void document_row(struct document *d, const xl_device *dev, const xl_row *row)
{
    const struct row_place place = {d, dev, passes_of(d, dev, 0, row)};
    json_t *out = fields_object(place_fields, &place);
    fields_write(row_fields, row, out);
    json_add(d->rows, out);
}

void document_pass(struct document *d, const struct session *s,
                   const xl_device *dev, unsigned pass, const xl_row *row)
{
    json_t *list = passes_of(d, dev, pass, row);
    const double at_s = (double)(xl__now_ns() - s->start_ns) * 1e-9;
    const bool is_valid =
        row->samples.runs > 0 && row->verdict <= XL_ROW_SUSPICIOUS;
    if (!is_valid)
        return;
    json_t *out = fields_object(pass_time_fields, &at_s);
    fields_write(timing_fields, row, out);
    json_add(list, out);
}

/* What the members of the document are written from. */
struct document_view {
    const struct document *d;
    const struct session *s;
    bool is_interrupted;
};

static json_t *write_schema_name(const struct field *f, const void *at)
{
    (void)f;
    (void)at;
    return json_string("clbench/1");
}

static json_t *write_tool(const struct field *f, const void *at)
{
    (void)f;
    return environment_tool(((const struct document_view *)at)->s);
}

static json_t *write_host(const struct field *f, const void *at)
{
    (void)f;
    (void)at;
    return environment_host();
}

static json_t *write_environment(const struct field *f, const void *at)
{
    (void)f;
    return environment_json(((const struct document_view *)at)->s);
}

static json_t *write_state(const struct field *f, const void *at)
{
    return fields_object(f->members, &((const struct document_view *)at)->s->state);
}

static json_t *write_devices(const struct field *f, const void *at)
{
    const struct session *s = ((const struct document_view *)at)->s;
    json_t *devices = json_array();
    for (unsigned i = 0; i < s->n_devices; i++)
        json_add(devices, fields_object(f->members, s->devices[i]));
    return devices;
}

static json_t *write_parts(const struct field *f, const void *at)
{
    (void)f;
    return json_incref(((const struct document_view *)at)->d->sections);
}

static json_t *write_rows(const struct field *f, const void *at)
{
    (void)f;
    return json_incref(((const struct document_view *)at)->d->rows);
}

/* The devices without a row, each with the reason. */
static json_t *write_not_run(const struct field *f, const void *at)
{
    const struct session *s = ((const struct document_view *)at)->s;
    json_t *out = json_array();
    (void)f;
    for (unsigned i = 0; i < s->n_devices; i++) {
        const char *why = session_not_run(s, i);
        if (why)
            json_add(out, json_pack("{s:i, s:s}", "device",
                                    (int)xl_device_index(s->devices[i]), "why",
                                    why));
    }
    return out;
}

static const struct field_type
    schema_name_type = {FIELD_SCALAR, "{\"const\": \"clbench/1\"}",
                        write_schema_name, NULL},
    tool_type = {FIELD_SCALAR, NULL, write_tool, NULL},
    host_type = {FIELD_SCALAR, NULL, write_host, NULL},
    environment_type = {FIELD_SCALAR, NULL, write_environment, NULL},
    state_type = {FIELD_SCALAR, NULL, write_state, NULL},
    devices_type = {FIELD_BULK, NULL, write_devices, NULL},
    parts_type = {FIELD_BULK, NULL, write_parts, NULL},
    not_run_type = {FIELD_BULK,
                    "{\"type\": \"array\", \"items\": {\"type\": \"object\", "
                    "\"properties\": {\"device\": {\"type\": \"integer\"}, "
                    "\"why\": {\"type\": \"string\"}}}}",
                    write_not_run, NULL},
    rows_type = {FIELD_BULK, NULL, write_rows, NULL};

static bool has_state(const void *at)
{
    return ((const struct document_view *)at)->s->state.is_known;
}

/* clang-format off */
static const struct field document_fields[] = {
    FIELD("schema", &schema_name_type, 0, "what this file is"),
    FIELD("interrupted", &field_bool,
          offsetof(struct document_view, is_interrupted),
          "the run did not come to its end: rows may be missing"),
    FIELD("tool", &tool_type, 0, "what wrote the file",
          .members = environment_tool_fields),
    FIELD("host", &host_type, 0, NULL, .members = environment_host_fields),
    FIELD("environment", &environment_type, 0,
          "what is needed to run it again", .members = environment_fields),
    FIELD("state", &state_type, 0,
          "whether other programs used the devices; null: not observed",
          .members = state_fields, .is_known = has_state),
    FIELD("devices", &devices_type, 0, "those of the run",
          .members = device_fields),
    FIELD("not_run", &not_run_type, 0,
          "devices that the time did not reach, by index, and why"),
    FIELD("parts", &parts_type, 0, "sections, each with a table of its rows",
          .members = part_fields),
    FIELD("rows", &rows_type, 0, "the measurements",
          .members = placed_row_fields),
    {.name = NULL},
};

/* What commands add to the document, for the schema. */
static const struct {
    const char *name, *type, *about;
} extras[] = {
    {"cases", "array", "of expr: the built-in cases"},
    {"cliff", "array", "of gemm --cliff: the slowest of random shapes"},
    {"expression", "object", "of expr: groups, kernels and bytes of a text"},
    {"generated", "array", "of model --ids: the prompt and the chosen ids"},
    {"kernel", "object", "of kernel: the files, build logs"},
    {"pairs", "array", "interleaved times of this library and another"},
    {"pipeline", "array", "of pipeline: each mode, with its commands"},
    {"plan", "object", "of plan: memory and speed of a language model"},
    {"reads", "array", "of gemm and attention --reads: global reads of tiles"},
    {"roofline", "array", "of roofline: ceilings and the rows below them"},
    {"sides", "array", "of ab: set-up, tool, host and devices of each side"},
    {"split", "array", "of split: tiles and the units that ran them"},
    {"tuned", "array", "of tune: each search"},
    {"tuned_sets", "array", "of tune --list: the sets that are kept"},
};
/* clang-format on */

json_t *document_json(const struct document *d, const struct session *s,
                      bool is_interrupted)
{
    const struct document_view view = {d, s, is_interrupted};
    json_t *root = fields_object(document_fields, &view);
    if (s->extra)
        (void)json_object_update_missing(root, s->extra);
    return root;
}

json_t *document_schema(void)
{
    json_t *out = json_pack(
        "{s:s, s:s, s:s}", "$schema",
        "https://json-schema.org/draft/2020-12/schema", "title", "clbench/1",
        "description", "A result file of clbench. Names end with their unit; "
                       "null is unknown. Later versions may add members.");
    json_t *body = fields_schema(document_fields);
    json_t *properties = json_object_get(body, "properties");
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        json_put(properties, extras[i].name,
                 json_pack("{s:s, s:s}", "type", extras[i].type,
                           "description", extras[i].about));
    (void)json_object_update(out, body);
    json_decref(body);
    return out;
}
