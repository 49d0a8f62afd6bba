/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a run as a result document: devices with every fact, rows with every
 * sample, and the environment they were taken in.
 *
 *     {"schema": "clbench/1", "tool": {}, "host": {}, "environment": {},
 *      "state": {"text": "QUIET (...)", "is_busy": false, "others": 0.01, ...},
 *      "devices": [{"index": 0, "name": "", ..., "facts": [],
 *                   "matrix_ops": []}],
 *      "parts": [{"title": "", "note": ""}],
 *      "rows": [{"id": "", "part": 0, "device": 0, ...}], ...}
 *
 * A section is called a part in the file; "part" of a row is its index. What a
 * command measures that is no row is in the session's `extra`, whose members
 * are added to the document. */
#include "results/document.h"

#include <math.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "results/environment.h"
#include "results/json.h"
#include "results/result.h"
#include "cli/session.h"
#include "results/telemetry.h"
#include "results/warnings.h"

/* -- a device ------------------------------------------------------------- */

static json_t *fact_value(const xl_fact *fact)
{
    json_t *list = NULL;
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

static json_t *facts_json(const xl_device *dev)
{
    json_t *facts = json_array();
    const char *name = NULL;
    for (unsigned i = 0; (name = xl_fact_name(i, NULL)) != NULL; i++) {
        xl_fact fact;
        if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK)
            continue;
        json_t *out = json_object();
        const char *unit = fact.unit && *fact.unit ? fact.unit : NULL;
        json_put(out, "name", json_string(name));
        json_put(out, "value", fact_value(&fact));
        json_put(out, "unit", json_text(unit));
        json_put(out, "source", json_string(xl_source_name(fact.source)));
        json_put(out, "note", json_text(fact.note));
        json_add(facts, out);
    }
    return facts;
}

static json_t *matrix_ops_json(const xl_device *dev)
{
    json_t *ops = json_array();
    const xl_matrix_op *op = NULL;
    for (unsigned i = 0; (op = xl_device_matrix_op(dev, i)) != NULL; i++) {
        json_t *out = json_object();
        json_put(out, "name", json_text(op->name));
        json_put(out, "fragments", json_text(op->fragments));
        json_put(out, "code", json_text(op->code));
        json_put(out, "a", json_text(xl_dtype_name(op->a)));
        json_put(out, "b", json_text(xl_dtype_name(op->b)));
        json_put(out, "sum", json_text(xl_dtype_name(op->sum)));
        json_put(out, "m", json_integer(op->m));
        json_put(out, "n", json_integer(op->n));
        json_put(out, "n_most", json_integer(op->n_most));
        json_put(out, "k", json_integer(op->k));
        json_put(out, "lanes", json_integer(op->lanes));
        json_put(out, "flop_per_clock", json_number(op->flop_per_clock));
        json_put(out, "note", json_text(op->note));
        json_add(ops, out);
    }
    return ops;
}

static json_t *device_json(const xl_device *dev)
{
    static const char *const texts[] = {"name",   "platform", "vendor",
                                        "driver", "uuid",     "pci"};
    json_t *out = json_object();
    json_put(out, "index", json_integer(xl_device_index(dev)));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        json_put(out, texts[i],
                 json_text(device_fact_text(dev, texts[i], NULL)));
    json_put(out, "facts", facts_json(dev));
    json_put(out, "matrix_ops", matrix_ops_json(dev));
    return out;
}

/* -- a row ---------------------------------------------------------------- */

/* Shape or parameters as an object. */
static json_t *params_json(const xl_param *p, unsigned n)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < n; i++)
        json_put(out, p[i].name,
                 *p[i].text ? json_text(p[i].text) : json_number(p[i].value));
    return out;
}

static json_t *samples_json(const xl_samples *samples)
{
    json_t *out = json_array();
    for (unsigned i = 0; i < samples->runs && i < XL_MAX_SAMPLES; i++)
        json_add(out, json_number(samples->ns[i]));
    return out;
}

static json_t *roof_json(const xl_row *row)
{
    if (isnan(row->roof.value))
        return json_null();
    json_t *out = json_object();
    double frac = row->roof.value > 0 ? row->value / row->roof.value : NAN;
    json_put(out, "name", json_text(row->roof.name));
    json_put(out, "value", json_number(row->roof.value));
    json_put(out, "source", json_string(xl_source_name(row->roof.source)));
    json_put(out, "frac", json_number(frac));
    return out;
}

static json_t *warnings_json(unsigned warnings)
{
    json_t *out = json_array();
    for (unsigned i = 0; i < XL_N_WARN; i++)
        if (warnings & 1u << i)
            json_add(out, json_string(warn_code(i)));
    return out;
}

static json_t *id_json(const xl_row *row)
{
    struct xl__str id = {0};
    result_row_id(&id, row);
    json_t *out = id.broken ? NULL : json_text(xl__str_text(&id));
    xl__str_clear(&id);
    return out;
}

/* The members of the samples and their clock. */
static void put_timing(json_t *out, const xl_row *row)
{
    const xl_samples *samples = &row->samples;
    bool is_timed = samples->runs > 0;
    const char *clock = samples->wall_clock ? "wall" : "event";
    json_put(out, "runs", json_integer(samples->runs));
    json_put(out, "samples_ns", samples_json(samples));
    json_put(out, "median_ns",
             json_number(is_timed ? samples->median_ns : NAN));
    json_put(out, "mad_ns", json_number(is_timed ? samples->mad_ns : NAN));
    json_put(out, "cache", json_string(row->cold ? "cold" : "hot"));
    json_put(out, "clock", is_timed ? json_string(clock) : json_null());
}

/* The limiter found from the counts, with the least time of each limiter. */
static json_t *diagnosis_json(const xl_row *row)
{
    const xl_diagnosis *d = &row->diagnosis;
    const bool is_named = d->limiter != XL_LIMITER_UNKNOWN;
    if (!*d->evidence)
        return json_null();
    json_t *out = json_object(), *needs = json_object();
    for (unsigned i = 0; i < XL_N_LIMITERS; i++)
        if (!isnan(d->need_ns[i]))
            json_put(needs, xl_limiter_name((xl_limiter)i),
                     json_number(d->need_ns[i]));
    json_put(out, "limiter",
             json_text(is_named ? xl_limiter_name(d->limiter) : NULL));
    json_put(out, "is_likely", json_boolean(d->is_likely));
    json_put(out, "share", json_number(d->share));
    json_put(out, "evidence", json_text(d->evidence));
    json_put(out, "advice",
             json_text(is_named ? xl_limiter_advice(d->limiter) : NULL));
    json_put(out, "need_ns", needs);
    json_put(out, "flop_per_s",
             json_number(d->flop_per_s > 0 ? d->flop_per_s : NAN));
    json_put(out, "bytes_per_s",
             json_number(d->bytes_per_s > 0 ? d->bytes_per_s : NAN));
    json_put(out, "busy", json_number(d->busy));
    json_put(out, "intensity", json_number(d->intensity));
    json_put(out, "idle_engine", json_text(*d->engine ? d->engine : NULL));
    return out;
}

static json_t *row_json(const struct document *d, const xl_device *dev,
                        const xl_row *row)
{
    const size_t n_sections = json_array_size(d->sections);
    json_t *out = json_object();
    bool has_dtype = row->dtype < XL_N_DTYPES;
    json_put(out, "id", id_json(row));
    json_put(out, "part",
             d->is_in_section ? json_uint(n_sections - 1) : json_null());
    json_put(out, "device", json_integer(xl_device_index(dev)));
    json_put(out, "op", json_text(row->op));
    json_put(out, "variant", json_text(*row->variant ? row->variant : NULL));
    json_put(out, "shape", params_json(row->shape, row->n_shape));
    json_put(out, "params", params_json(row->params, row->n_params));
    json_put(out, "seed", json_uint(row->seed));
    json_put(out, "dtype",
             json_text(has_dtype ? xl_dtype_name(row->dtype) : NULL));
    put_timing(out, row);
    json_put(out, "value", json_number(row->value));
    json_put(out, "unit",
             json_text(row->unit && *row->unit ? row->unit : NULL));
    json_put(out, "flop", json_number(row->flop > 0 ? row->flop : NAN));
    json_put(out, "bytes", json_number(row->bytes > 0 ? row->bytes : NAN));
    json_put(out, "roof", roof_json(row));
    json_put(out, "diagnosis", diagnosis_json(row));
    json_put(out, "conditions",
             telemetry_conditions_json(&row->samples.conditions));
    json_put(out, "verdict", json_string(xl_verdict_name(row->verdict)));
    json_put(out, "reason", json_text(*row->reason ? row->reason : NULL));
    json_put(out, "warnings", warnings_json(row->warnings));
    return out;
}

static json_t *state_json(const struct run_state *r)
{
    struct xl__str text = {0};
    json_t *out = json_object();
    run_state_format(r, &text);
    json_put(out, "text", json_text(xl__str_text(&text)));
    json_put(out, "is_busy", json_boolean(r->is_busy));
    json_put(out, "load", json_number(r->load >= 0 ? r->load : NAN));
    json_put(out, "cores", json_integer(r->n_cores));
    json_put(out, "others", json_number(r->others));
    xl__str_clear(&text);
    return out;
}

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

void document_section(struct document *d, const char *title, const char *note)
{
    json_t *out = json_object();
    json_put(out, "title", json_text(title));
    json_put(out, "note", json_lines(note));
    json_add(d->sections, out);
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
    json_t *out = row_json(d, dev, row);
    json_put(out, "passes", json_incref(passes_of(d, dev, 0, row)));
    json_add(d->rows, out);
}

void document_pass(struct document *d, const struct session *s,
                   const xl_device *dev, unsigned pass, const xl_row *row)
{
    json_t *list = passes_of(d, dev, pass, row);
    const bool is_valid =
        row->samples.runs > 0 && row->verdict <= XL_ROW_SUSPICIOUS;
    if (!is_valid)
        return;
    json_t *out = json_object();
    json_put(out, "at_s",
             json_number((double)(xl__now_ns() - s->start_ns) * 1e-9));
    put_timing(out, row);
    json_put(out, "value", json_number(row->value));
    json_put(out, "unit",
             json_text(row->unit && *row->unit ? row->unit : NULL));
    json_add(list, out);
}

json_t *document_json(const struct document *d, const struct session *s)
{
    json_t *root = json_object(), *devices = json_array();
    for (unsigned i = 0; i < s->n_devices; i++)
        json_add(devices, device_json(s->devices[i]));
    json_put(root, "schema", json_string("clbench/1"));
    json_put(root, "tool", environment_tool(s));
    json_put(root, "host", environment_host());
    json_put(root, "environment", environment_json(s));
    if (s->state.is_known)
        json_put(root, "state", state_json(&s->state));
    json_put(root, "devices", devices);
    json_put(root, "parts", json_incref(d->sections));
    json_put(root, "rows", json_incref(d->rows));
    if (s->extra)
        (void)json_object_update_missing(root, s->extra);
    return root;
}
