/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a result document as the row that the run had, so that everything
 * that shows rows shows those of files. What the file lacks is unknown. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/str.h"
#include "results/json.h"
#include "results/result_file.h"
#include "results/telemetry.h"
#include "results/warnings.h"

static double number_at(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double count_at(const json_t *object, const char *name)
{
    const double value = number_at(object, name);
    return value > 0 ? value : 0;
}

/* Settings are part of a row's id, and what the run found is not. */
static bool is_setting(const char *id, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = id; (at = strstr(at, name)); at++)
        if (at > id && strchr("/,", at[-1]) && at[len] == '=')
            return true;
    return false;
}

static void mark_found(const struct result_row *from, xl_row *out)
{
    for (unsigned i = 0; i < out->n_params; i++)
        out->params[i].is_found = !is_setting(from->id, out->params[i].name);
}

static void read_samples(const struct result_row *from, xl_samples *out)
{
    if (from->n == 0)
        return;
    const size_t n = xl__min_size(from->n, XL_MAX_SAMPLES);
    const struct xl__summary s = xl__summarise(from->ns, n);
    memcpy(out->ns, from->ns, n * sizeof *out->ns);
    out->runs = (unsigned)n;
    out->median_ns = s.median;
    out->mad_ns = s.mad;
    out->min_ns = s.min;
    out->p95_ns = s.p95;
    out->lo_ns = s.lo;
    out->hi_ns = s.hi;
    out->wall_clock = xl__streq(json_text_at(from->json, "clock"), "wall");
}

static xl_source source_of(const char *name)
{
    for (unsigned i = 0; i <= XL_ASSUMED; i++)
        if (xl__streq(xl_source_name((xl_source)i), name))
            return (xl_source)i;
    return XL_UNKNOWN;
}

static void read_roof(const json_t *json, xl_bound *out)
{
    out->value = number_at(json, "value");
    out->name = json_text_at(json, "name");
    out->source = source_of(json_text_at(json, "source"));
}

static void read_diagnosis(const json_t *json, xl_diagnosis *out)
{
    const char *limiter = json_text_at(json, "limiter");
    for (unsigned i = 0; i < XL_N_LIMITERS; i++)
        if (xl__streq(xl_limiter_name((xl_limiter)i), limiter))
            out->limiter = (xl_limiter)i;
    out->is_likely = json_is_true(json_object_get(json, "is_likely"));
    out->share = number_at(json, "share");
    out->flop_per_s = count_at(json, "flop_per_s");
    out->bytes_per_s = count_at(json, "bytes_per_s");
    out->busy = number_at(json, "busy");
    out->intensity = number_at(json, "intensity");
    xl__strcpy(out->evidence, sizeof out->evidence,
               json_text_at(json, "evidence"));
    xl__strcpy(out->engine, sizeof out->engine,
               json_text_at(json, "idle_engine"));
}

static xl_verdict verdict_of(const char *name)
{
    for (unsigned i = 0; i < XL_ROW_ERROR; i++)
        if (xl__streq(xl_verdict_name((xl_verdict)i), name))
            return (xl_verdict)i;
    return XL_ROW_ERROR;
}

static unsigned warnings_of(const json_t *list)
{
    unsigned bits = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        for (unsigned bit = 0; bit < XL_N_WARN; bit++)
            if (xl__streq(json_string_value(json_array_get(list, i)),
                          warn_code(bit)))
                bits |= 1u << bit;
    return bits;
}

void result_row_read(const struct result_row *from, xl_row *out)
{
    const json_t *json = from->json;
    result_identity(from, out);
    mark_found(from, out);
    read_samples(from, &out->samples);
    out->value = number_at(json, "value");
    out->unit = json_text_at(json, "unit");
    out->flop = count_at(json, "flop");
    out->bytes = count_at(json, "bytes");
    read_roof(json_object_get(json, "roof"), &out->roof);
    read_diagnosis(json_object_get(json, "diagnosis"), &out->diagnosis);
    telemetry_conditions_of(json_object_get(json, "conditions"),
                            &out->samples.conditions);
    out->verdict = verdict_of(from->verdict);
    xl__strcpy(out->reason, sizeof out->reason, json_text_at(json, "reason"));
    out->warnings = warnings_of(json_object_get(json, "warnings"));
}
