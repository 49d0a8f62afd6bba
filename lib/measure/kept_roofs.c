/* SPDX-License-Identifier: Apache-2.0 */
/* Roofs that are kept on disk: a roof is a property of the device, so the best
 * that any run has seen holds for the next one. They are an entry of the
 * program cache for each device, driver and clock state, which selection never
 * reads: a line for each fact,
 *
 *     peak_f32_flop_per_s 2.02e+11 2026-11-23T21:53:09Z others 12 %
 *
 * Other programs only lower a roof, so of two values the higher one stays, if
 * physics allows it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/measure.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "measure/physical_bounds.h"
#include "measure/probe.h"
#include "runtime/context.h"

#define KEY_BEGIN "crosslane roofs 1\n"

/* The facts that are kept, and the ceiling whose physical bound they have. */
static const struct {
    enum xl__fact_id fact;
    const char *ceiling; /* of xl__physical_flop(); NULL: memory; "": none */
} facts[] = {
    {XL__F_peak_f32_flop_per_s, "fma f32"},
    {XL__F_peak_f64_flop_per_s, "fma f64"},
    {XL__F_peak_matrix_f16_flop_per_s, "matrix"},
    {XL__F_peak_matrix_bf16_flop_per_s, "matrix"},
    {XL__F_peak_matrix_tf32_flop_per_s, "matrix"},
    {XL__F_peak_matrix_i8_flop_per_s, "matrix"},
    {XL__F_peak_matrix_f8_flop_per_s, "matrix"},
    {XL__F_copy_bytes_per_s, NULL},
    {XL__F_read_bytes_per_s, NULL},
    {XL__F_write_bytes_per_s, NULL},
    {XL__F_llc_bytes_per_s, ""},
};
enum { N_FACTS = sizeof facts / sizeof facts[0] };

static bool is_possible(const struct xl__limits *l, unsigned i, double value)
{
    static const double boost = 1.1;
    const char *ceiling = facts[i].ceiling;
    const double most = !ceiling   ? xl__physical_bytes(l)
                        : *ceiling ? xl__physical_flop(l, ceiling)
                                   : NAN;
    return value > 0 && !(value > boost * most);
}

/* The device with its driver and its clock state: the highest clock and the
 * power that it may have now. */
static void make_key(const xl_device *dev, struct xl__str *out)
{
    const struct xl__limits *l = &dev->seen;
    xl_telemetry *t = NULL;
    xl_reading r = {.ns = 0};
    double clock = NAN, power = NAN;
    if (xl_telemetry_open(dev, &t) == XL_OK) {
        xl_telemetry_read(t, &r);
        clock = r.value[XL_SENSOR_CLOCK_MAX];
        power = r.value[XL_SENSOR_POWER_LIMIT];
        xl_telemetry_close(t);
    }
    xl__str_printf(out,
                   KEY_BEGIN "source roofs\ndevice %s\nplatform %s\n"
                             "uuid %s\ndriver %s\noptions %.0f MHz, "
                             "%.0f W\n",
                   xl__text(l, XL__F_name), xl__text(l, XL__F_platform),
                   xl__text(l, XL__F_uuid), xl__text(l, XL__F_driver),
                   clock > 0 ? clock / 1e6 : 0, power > 0 ? power : 0);
}

/* One line of an entry; false: damaged. */
static bool read_line(const char *line, xl_kept_roof *out)
{
    int at = 0;
    *out = (xl_kept_roof){.value = NAN};
    if (sscanf(line, "%31s %lf %23s %n", out->fact, &out->value, out->date,
               &at) != 3 ||
        !(out->value > 0))
        return false;
    xl__strcpy(out->conditions, sizeof out->conditions, line + at);
    return true;
}

/* Passes the lines of an entry on. */
static void each_line(struct xl__store *store, const char *key,
                      void (*each)(const xl_kept_roof *, void *), void *arg)
{
    struct xl__entry entry;
    if (!xl__store_get(store, key, &entry))
        return;
    struct xl__str text = {0};
    if (entry.payload)
        xl__str_printf(&text, "%.*s", (int)entry.n_bytes,
                       (const char *)entry.payload);
    char *rest = text.broken || !text.text ? NULL : text.text;
    while (rest && *rest) {
        char *end = strchr(rest, '\n');
        xl_kept_roof roof;
        if (end)
            *end = '\0';
        if (read_line(rest, &roof))
            each(&roof, arg);
        rest = end ? end + 1 : NULL;
    }
    xl__str_clear(&text);
    free(entry.payload);
}

/* The roofs of a device: those on disk, by index into `facts`. */
struct kept {
    const struct xl__limits *limits;
    xl_kept_roof roof[N_FACTS]; /* value 0: none */
};

static void add_kept(const xl_kept_roof *roof, void *arg)
{
    struct kept *k = arg;
    for (unsigned i = 0; i < N_FACTS; i++)
        if (xl__streq(roof->fact, xl_fact_name(facts[i].fact, NULL)) &&
            is_possible(k->limits, i, roof->value))
            k->roof[i] = *roof;
}

static xl_status read_kept(xl_queue *q, struct xl__str *key, struct kept *out)
{
    *out = (struct kept){.limits = &q->ctx->device->seen};
    make_key(q->ctx->device, key);
    if (key->broken)
        return XL_NO_MEMORY;
    each_line(&q->ctx->lib->store, xl__str_text(key), add_kept, out);
    return XL_OK;
}

xl_status xl_roofs_load(xl_queue *q)
{
    struct xl__str key = {0};
    struct kept kept;
    if (!q)
        return XL_BAD_ARGUMENT;
    unsigned n = 0;
    const xl_status status = read_kept(q, &key, &kept);
    for (unsigned i = 0; status == XL_OK && i < N_FACTS; i++) {
        if (!(kept.roof[i].value > 0))
            continue;
        n++;
        xl__probe_raise_fact(&q->ctx->device->seen, facts[i].fact,
                             kept.roof[i].value);
    }
    xl__str_clear(&key);
    return status == XL_OK && n == 0 ? XL_UNSUPPORTED : status;
}

xl_status xl_roofs_save(xl_queue *q, const char *conditions)
{
    struct xl__str key = {0}, text = {0};
    struct kept kept;
    bool is_new = false;
    if (!q || !conditions)
        return XL_BAD_ARGUMENT;
    xl_status status = read_kept(q, &key, &kept);
    for (unsigned i = 0; status == XL_OK && i < N_FACTS; i++) {
        const struct xl__answer *seen = &kept.limits->measured[facts[i].fact];
        xl_kept_roof *roof = &kept.roof[i];
        if (seen->source == XL_MEASURED && seen->value > roof->value &&
            is_possible(kept.limits, i, seen->value)) {
            is_new = true;
            roof->value = seen->value;
            xl__write_date(roof->date, sizeof roof->date);
            xl__strcpy(roof->conditions, sizeof roof->conditions, conditions);
        }
        if (roof->value > 0)
            xl__str_printf(&text, "%s %.6g %s %s\n",
                           xl_fact_name(facts[i].fact, NULL), roof->value,
                           roof->date, roof->conditions);
    }
    if (is_new && !text.broken)
        xl__store_put(&q->ctx->lib->store, xl__str_text(&key), text.text,
                      text.len, XL__UNTESTED);
    xl__str_clear(&text);
    xl__str_clear(&key);
    return status;
}

/* -- all devices ---------------------------------------------------------- */

/* The argument of visit_entry(). */
struct visit {
    xl_lib *lib;
    void (*each)(const xl_kept_roof *roof, void *arg); /* NULL: remove */
    void *arg;
    uint64_t n;
    const char *key;
};

static void pass_roof(const xl_kept_roof *from, void *arg)
{
    static const char mark[] = "\ndevice ";
    const struct visit *v = arg;
    xl_kept_roof roof = *from;
    const char *name = strstr(v->key, mark);
    if (name)
        xl__strfmt(roof.device, sizeof roof.device, "%.*s",
                   (int)strcspn(name + sizeof mark - 1, "\n"),
                   name + sizeof mark - 1);
    v->each(&roof, v->arg);
}

static void visit_entry(const xl_cache_entry *e, void *arg)
{
    struct visit *v = arg;
    if (!e->is_intact || e->is_system ||
        strncmp(e->key, KEY_BEGIN, sizeof KEY_BEGIN - 1) != 0)
        return;
    v->n++;
    v->key = e->key;
    if (v->each)
        each_line(&v->lib->store, e->key, pass_roof, v);
    else
        xl__store_drop(&v->lib->store, e->key);
}

xl_status xl_roofs_list(xl_lib *lib,
                        void (*each)(const xl_kept_roof *roof, void *arg),
                        void *arg)
{
    struct visit v = {lib, each, arg, 0, NULL};
    return lib && each ? xl_cache_list(lib, visit_entry, &v) : XL_BAD_ARGUMENT;
}

xl_status xl_roofs_remove(xl_lib *lib, uint64_t *n_removed)
{
    struct visit v = {lib, NULL, NULL, 0, NULL};
    const xl_status status =
        lib ? xl_cache_list(lib, visit_entry, &v) : XL_BAD_ARGUMENT;
    if (n_removed)
        *n_removed = v.n;
    return status;
}
