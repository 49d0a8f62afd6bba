/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a row in a result file. To add one: a member of xl_row, and a
 * line here; JSON, its schema and CSV have it then. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/str.h"
#include "results/json.h"
#include "results/result.h"
#include "results/warnings.h"

#define AT(member) offsetof(xl_row, member)
#define SIZE(type, member) sizeof(((type *)NULL)->member)

/* -- names ---------------------------------------------------------------- */

static const char *name_dtype(unsigned i)
{
    return xl_dtype_name((xl_dtype)i);
}

static const char *name_verdict(unsigned i)
{
    return xl_verdict_name((xl_verdict)i);
}

static const char *name_source(unsigned i)
{
    return xl_source_name((xl_source)i);
}

static const char *name_limiter(unsigned i)
{
    return i == XL_LIMITER_UNKNOWN ? NULL : xl_limiter_name((xl_limiter)i);
}

static const char *name_cache(unsigned is_cold)
{
    return is_cold ? "cold" : "hot";
}

static const char *name_clock(unsigned is_wall)
{
    return is_wall ? "wall" : "event";
}

/* -- identity ------------------------------------------------------------- */

#define MAP                                                                   \
    "{\"type\": \"object\", \"additionalProperties\": "                       \
    "{\"type\": [\"number\", \"string\", \"null\"]}}"
#define TEXTS "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"

static json_t *write_params(const xl_param *p, unsigned n)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < n; i++)
        json_put(out, p[i].name,
                 *p[i].text ? json_text(p[i].text) : json_number(p[i].value));
    return out;
}

static json_t *write_shape(const struct field *f, const void *at)
{
    const xl_row *row = at;
    (void)f;
    return write_params(row->shape, row->n_shape);
}

static json_t *write_settings(const struct field *f, const void *at)
{
    const xl_row *row = at;
    (void)f;
    return write_params(row->params, row->n_params);
}

static void read_shape(const struct field *f, const json_t *in, void *at)
{
    const char *name = NULL;
    json_t *value = NULL;
    (void)f;
    json_object_foreach((json_t *)(uintptr_t)in, name, value)
        if (json_is_number(value))
            xl_row_shape(at, name, json_number_value(value));
}

/* Numbers that were too large for JSON were written as text and remain text.
 */
static void read_settings(const struct field *f, const json_t *in, void *at)
{
    const char *name = NULL;
    json_t *value = NULL;
    (void)f;
    json_object_foreach((json_t *)(uintptr_t)in, name, value)
        if (json_is_number(value))
            xl_row_param(at, name, json_number_value(value));
        else if (json_is_string(value))
            xl_row_param_text(at, name, json_string_value(value));
}

static json_t *write_found(const struct field *f, const void *at)
{
    const xl_row *row = at;
    json_t *out = json_array();
    (void)f;
    for (unsigned i = 0; i < row->n_params; i++)
        if (row->params[i].is_found)
            json_add(out, json_text(row->params[i].name));
    return out;
}

static bool has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one && strcmp(one, text) == 0)
            return true;
    }
    return false;
}

static void read_found(const struct field *f, const json_t *in, void *at)
{
    xl_row *row = at;
    (void)f;
    for (unsigned i = 0; i < row->n_params; i++)
        row->params[i].is_found = has_text(in, row->params[i].name);
}

static const struct field_type
    shape_type = {FIELD_MAP, MAP, write_shape, read_shape},
    settings_type = {FIELD_MAP, MAP, write_settings, read_settings},
    found_type = {FIELD_BULK, TEXTS, write_found, read_found};

/* clang-format off */
const struct field identity_fields[] = {
    FIELD("op", &field_chars, AT(op), "operation or probe",
          .n = SIZE(xl_row, op)),
    FIELD("variant", &field_chars, AT(variant),
          "kernel, other library (peer_...), or what the probe measured",
          .n = SIZE(xl_row, variant)),
    FIELD("shape", &shape_type, 0, "sizes, in elements or as named"),
    FIELD("params", &settings_type, 0,
          "other settings, and what the run found; names end with their unit"),
    FIELD("found", &found_type, 0,
          "names in params that the run found: no part of the row's identity"),
    FIELD("dtype", &field_name, AT(dtype), "element type", .n = XL_N_DTYPES,
          .value_name = name_dtype, .unknown = XL_N_DTYPES),
    FIELD("cache", &field_flag, AT(cold), "cold: emptied before each run",
          .value_name = name_cache),
    {.name = NULL},
};
/* clang-format on */

static json_t *write_id(const struct field *f, const void *at)
{
    struct xl__str id = {0};
    (void)f;
    result_row_id(&id, at);
    json_t *out = id.broken ? NULL : json_text(xl__str_text(&id));
    xl__str_clear(&id);
    return out;
}

static const struct field_type id_type = {
    FIELD_SCALAR, "{\"type\": \"string\", \"minLength\": 1}", write_id, NULL};

/* -- timing --------------------------------------------------------------- */

static json_t *write_samples(const struct field *f, const void *at)
{
    const xl_samples *s = at;
    json_t *out = json_array();
    (void)f;
    for (unsigned i = 0; i < s->runs && i < XL_MAX_SAMPLES; i++)
        json_add(out, json_number(s->ns[i]));
    return out;
}

/* Samples that are no positive numbers make the row one without times. The
 * summary follows from the samples. */
static void read_samples(const struct field *f, const json_t *in, void *at)
{
    xl_samples *s = at;
    const size_t n = xl__min_size(json_array_size(in), XL_MAX_SAMPLES);
    (void)f;
    s->runs = 0;
    for (size_t i = 0; i < n; i++) {
        s->ns[i] = json_number_value(json_array_get(in, i));
        if (!isfinite(s->ns[i]) || s->ns[i] <= 0)
            return;
    }
    if (n == 0)
        return;
    const struct xl__summary sum = xl__summarise(s->ns, n);
    s->runs = (unsigned)n;
    s->median_ns = sum.median;
    s->mad_ns = sum.mad;
    s->min_ns = sum.min;
    s->p95_ns = sum.p95;
    s->lo_ns = sum.lo;
    s->hi_ns = sum.hi;
}

static bool is_timed(const void *at)
{
    return ((const xl_samples *)at)->runs > 0;
}

static const struct field_type samples_type = {
    FIELD_BULK,
    "{\"type\": \"array\", \"items\": {\"type\": \"number\", "
    "\"exclusiveMinimum\": 0}}",
    write_samples, read_samples};

#define SAMPLES(member) offsetof(xl_samples, member)
/* clang-format off */
static const struct field samples_fields[] = {
    FIELD("runs", &field_uint, SAMPLES(runs), "number of samples",
          .is_derived = true),
    FIELD("batch", &field_uint, SAMPLES(batch), "runs of a sample"),
    FIELD("warmup", &field_uint, SAMPLES(warmup),
          "runs that were discarded before the first sample"),
    FIELD("sampled_s", &field_count, SAMPLES(spent_s),
          "time of all samples, with the emptying of caches"),
    FIELD("samples_ns", &samples_type, 0, "time of one run, a sample"),
    FIELD("median_ns", &field_number, SAMPLES(median_ns),
          "median of the samples", .is_derived = true),
    FIELD("mad_ns", &field_number, SAMPLES(mad_ns),
          "median absolute deviation from the median", .is_derived = true),
    FIELD("lo_ns", &field_number, SAMPLES(lo_ns),
          "lower end of the median's 95 % interval", .is_derived = true),
    FIELD("hi_ns", &field_number, SAMPLES(hi_ns),
          "upper end of the median's 95 % interval", .is_derived = true),
    FIELD("clock", &field_flag, SAMPLES(wall_clock),
          "the device's event clock, or the host's", .value_name = name_clock,
          .is_known = is_timed),
    {.name = NULL},
};

const struct field timing_fields[] = {
    FIELD_GROUP(AT(samples), samples_fields),
    FIELD("value", &field_number, AT(value), "what the row measured, in unit"),
    FIELD("unit", &field_string, AT(unit),
          "unit of value: flop/s, B/s, s, ..."),
    {.name = NULL},
};
/* clang-format on */

/* -- roof ----------------------------------------------------------------- */

static bool has_roof(const void *at)
{
    return !isnan(((const xl_row *)at)->roof.value);
}

static json_t *write_share(const struct field *f, const void *at)
{
    const xl_row *row = at;
    (void)f;
    return json_number(row->roof.value > 0 ? row->value / row->roof.value
                                           : (double)NAN);
}

static const struct field_type share_type = {
    FIELD_SCALAR, "{\"type\": [\"number\", \"null\"]}", write_share, NULL};

/* clang-format off */
static const struct field roof_fields[] = {
    FIELD("name", &field_string, AT(roof.name),
          "the measured peak that bounds it"),
    FIELD("value", &field_number, AT(roof.value), "in the row's unit"),
    FIELD("source", &field_name, AT(roof.source), "where its value comes from",
          .n = XL_CALIBRATED + 1, .value_name = name_source,
          .unknown = XL_UNKNOWN),
    FIELD("frac", &share_type, 0, "value over the roof", .is_derived = true),
    {.name = NULL},
};
/* clang-format on */

/* -- diagnosis ------------------------------------------------------------ */

static bool has_evidence(const void *at)
{
    return *((const xl_row *)at)->diagnosis.evidence != '\0';
}

static json_t *write_advice(const struct field *f, const void *at)
{
    const xl_diagnosis *d = at;
    (void)f;
    return json_text(d->limiter == XL_LIMITER_UNKNOWN
                         ? NULL
                         : xl_limiter_advice(d->limiter));
}

static json_t *write_needs(const struct field *f, const void *at)
{
    const xl_diagnosis *d = at;
    json_t *out = json_object();
    (void)f;
    for (unsigned i = 0; i < XL_N_LIMITERS; i++)
        if (!isnan(d->need_ns[i]))
            json_put(out, xl_limiter_name((xl_limiter)i),
                     json_number(d->need_ns[i]));
    return out;
}

static void read_needs(const struct field *f, const json_t *in, void *at)
{
    xl_diagnosis *d = at;
    (void)f;
    for (unsigned i = 0; i < XL_N_LIMITERS; i++) {
        const json_t *need =
            json_object_get(in, xl_limiter_name((xl_limiter)i));
        d->need_ns[i] =
            json_is_number(need) ? json_number_value(need) : (double)NAN;
    }
}

static const struct field_type
    advice_type = {FIELD_BULK, "{\"type\": [\"string\", \"null\"]}",
                   write_advice, NULL},
    needs_type = {FIELD_MAP, MAP, write_needs, read_needs};

#define DIAGNOSIS(member) offsetof(xl_diagnosis, member)
/* clang-format off */
static const struct field diagnosis_fields[] = {
    FIELD("limiter", &field_name, DIAGNOSIS(limiter), "what limits the run, "
          "by a count; null: no count explains half of its time",
          .n = XL_N_LIMITERS, .value_name = name_limiter,
          .unknown = XL_LIMITER_UNKNOWN),
    FIELD("share", &field_number, DIAGNOSIS(share),
          "largest need over the measured time"),
    FIELD("evidence", &field_chars, DIAGNOSIS(evidence),
          "the counts, rates and times behind it",
          .n = SIZE(xl_diagnosis, evidence)),
    FIELD("advice", &advice_type, 0, "what to do about it",
          .is_derived = true),
    FIELD("need_ns", &needs_type, 0,
          "least time that each resource needs, ns"),
    FIELD("flop_per_s", &field_count, DIAGNOSIS(flop_per_s),
          "achieved, flop/s"),
    FIELD("bytes_per_s", &field_count, DIAGNOSIS(bytes_per_s),
          "achieved, B/s"),
    FIELD("busy", &field_number, DIAGNOSIS(busy),
          "share of the host's time in which the device was busy"),
    FIELD("intensity", &field_number, DIAGNOSIS(intensity),
          "flop a byte of memory"),
    FIELD("idle_engine", &field_chars, DIAGNOSIS(engine),
          "a matrix engine that is not used, and why",
          .n = SIZE(xl_diagnosis, engine)),
    {.name = NULL},
};
/* clang-format on */

/* -- launch and energy ---------------------------------------------------- */

static bool has_launch(const void *at)
{
    const xl_launch_use *launch = &((const xl_row *)at)->launch;
    return !isnan(launch->groups) || !isnan(launch->private_bytes) ||
           !isnan(launch->registers);
}

#define LAUNCH(member, about)                                                 \
    FIELD(#member, &field_number, offsetof(xl_launch_use, member), about)
/* clang-format off */
static const struct field launch_fields[] = {
    LAUNCH(groups, "work-groups"),
    LAUNCH(wg_size, "work-items of a work-group"),
    LAUNCH(groups_per_unit, "work-groups over compute units"),
    LAUNCH(local_bytes, "local memory of a work-group"),
    LAUNCH(private_bytes,
           "private memory of a work-item, by the driver: spills"),
    LAUNCH(registers, "of an item, or of a hardware thread where the driver "
                      "counts these"),
    LAUNCH(spill_bytes,
           "what found no register, as the compiler counts it"),
    {.name = NULL},
};
/* clang-format on */

static json_t *write_joules(const struct field *f, const void *at)
{
    (void)f;
    return json_number(result_joules(at));
}

static json_t *write_flop_per_joule(const struct field *f, const void *at)
{
    const xl_row *row = at;
    (void)f;
    return json_number(row->flop > 0 ? row->flop / result_joules(row) : NAN);
}

static const struct field_type
    joules_type = {FIELD_SCALAR, "{\"type\": [\"number\", \"null\"]}",
                   write_joules, NULL},
    flop_per_joule_type = {FIELD_SCALAR,
                           "{\"type\": [\"number\", \"null\"]}",
                           write_flop_per_joule, NULL};

/* -- conditions ----------------------------------------------------------- */

static bool has_readings(const void *at)
{
    return ((const xl_row *)at)->samples.conditions.readings > 0;
}

static bool has_throttle(const void *at)
{
    return ((const xl_conditions *)at)->has_throttle;
}

static json_t *write_throttle(const struct field *f, const void *at)
{
    const xl_conditions *c = at;
    (void)f;
    json_t *out = json_object();
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        if (c->throttle[i] > 0)
            json_put(out, xl_throttle_name((xl_throttle)i),
                     json_number(c->throttle[i]));
    return out;
}

static void read_throttle(const struct field *f, const json_t *in, void *at)
{
    xl_conditions *c = at;
    (void)f;
    c->has_throttle = json_is_object(in);
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        c->throttle[i] = json_number_value(
            json_object_get(in, xl_throttle_name((xl_throttle)i)));
}

static const struct field_type throttle_type = {
    FIELD_MAP,
    "{\"type\": \"object\", "
    "\"additionalProperties\": {\"type\": \"number\"}}",
    write_throttle, read_throttle};

#define CONDITION(member, about)                                              \
    FIELD(#member, &field_number, offsetof(xl_conditions, member), about)
/* clang-format off */
const struct field conditions_fields[] = {
    FIELD("readings", &field_uint, offsetof(xl_conditions, readings),
          "readings of the sensors during the samples"),
    CONDITION(span_ns, "from the first reading to the last"),
    CONDITION(clock_first_hz, "clock at the first reading"),
    CONDITION(clock_lo_hz, "lowest clock"),
    CONDITION(clock_hi_hz, "highest clock"),
    CONDITION(clock_max_hz, "the most that the device permits"),
    CONDITION(memory_clock_hz, "lowest clock of the memory"),
    CONDITION(temperature_c, "highest temperature"),
    CONDITION(memory_temperature_c, "highest temperature of the memory"),
    CONDITION(power_w, "mean power where energy is counted, else the highest"),
    CONDITION(power_limit_w, "power limit"),
    CONDITION(energy_j, "energy of the span, where it is counted"),
    CONDITION(memory_used_bytes, "most memory in use"),
    CONDITION(others, "share of the span used by other programs"),
    CONDITION(processes, "most processes on the device"),
    FIELD("throttle", &throttle_type, 0,
          "share of the readings in which each reason held the clock down",
          .is_known = has_throttle),
    {.name = NULL},
};
/* clang-format on */

/* -- a row ---------------------------------------------------------------- */

static json_t *write_warnings(const struct field *f, const void *at)
{
    json_t *out = json_array();
    (void)f;
    for (unsigned i = 0; i < XL_N_WARN; i++)
        if (*(const unsigned *)at & 1u << i)
            json_add(out, json_string(warn_code(i)));
    return out;
}

static void read_warnings(const struct field *f, const json_t *in, void *at)
{
    unsigned bits = 0;
    (void)f;
    for (unsigned i = 0; i < XL_N_WARN; i++)
        bits |= has_text(in, warn_code(i)) ? 1u << i : 0;
    *(unsigned *)at = bits;
}

static const struct field_type warnings_type = {FIELD_SCALAR, TEXTS,
                                                write_warnings, read_warnings};

/* clang-format off */
const struct field row_fields[] = {
    FIELD("id", &id_type, 0,
          "what the row is, on any device: rows of two runs are matched by it",
          .is_derived = true),
    FIELD_GROUP(0, identity_fields),
    FIELD("seed", &field_uint64, AT(seed), "of the data"),
    FIELD_GROUP(0, timing_fields),
    FIELD("flop", &field_count, AT(flop), "operations of one run, counted"),
    FIELD("bytes", &field_count, AT(bytes), "bytes of one run, counted"),
    FIELD("joules", &joules_type, 0,
          "energy of one run, where a counter has it", .is_derived = true),
    FIELD("flop_per_joule", &flop_per_joule_type, 0, NULL,
          .is_derived = true),
    FIELD("launch", &field_object, AT(launch),
          "of the largest launch of a run; null: not known",
          .members = launch_fields, .is_known = has_launch),
    FIELD("roof", &field_object, 0, "null: no roof applies",
          .members = roof_fields, .is_known = has_roof),
    FIELD("diagnosis", &field_object, AT(diagnosis),
          "null: nothing was counted", .members = diagnosis_fields,
          .is_known = has_evidence),
    FIELD("conditions", &field_object, AT(samples.conditions),
          "null: no sensor was read", .members = conditions_fields,
          .is_known = has_readings),
    FIELD("verdict", &field_name, AT(verdict), "whether the row can be quoted",
          .n = XL_ROW_ERROR + 1, .value_name = name_verdict,
          .unknown = XL_ROW_ERROR),
    FIELD("reason", &field_chars, AT(reason),
          "of the verdict; of an ok row a note on its value",
          .n = SIZE(xl_row, reason)),
    FIELD("warnings", &warnings_type, AT(warnings),
          "codes of what was observed"),
    {.name = NULL},
};
/* clang-format on */
