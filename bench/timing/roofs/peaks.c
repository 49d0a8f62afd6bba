/* SPDX-License-Identifier: Apache-2.0 */
/* The measured peaks of a device, as roofs of rows and as a table of ceilings.
 * A peak takes a second or two, so each is measured when a row first requires
 * it. */
#include "timing/roofs/peaks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/units.h"
#include "results/json.h"
#include "timing/roofs/probes.h"

xl_roof roof_usual(xl_dtype dtype)
{
    const xl_roof usual = {.dtype = dtype == XL_F64 ? XL_F64 : XL_F32};
    return usual;
}

xl_roof roof_of_products(xl_dtype dtype, bool is_rounded)
{
    if (dtype == XL_F64 || (dtype == XL_F32 && !is_rounded))
        return roof_usual(dtype);
    return (xl_roof){.dtype = dtype, .engine = XL_ENGINE_MATRIX};
}

static xl_status measure_peak(xl_queue *q, const xl_roof *roof, bool again)
{
    if (roof->engine == XL_ENGINE_MATRIX)
        return xl_peaks_measure_matrix(q, roof->dtype, again);
    return again ? xl_peaks_measure_again(q, roof->dtype)
                 : xl_peaks_measure(q, roof->dtype);
}

/* How long bursts look for a higher roof: where one is kept, and on a CPU,
 * which other programs share, where none is. */
static const double look_s = 0.05, search_s = 1.5;
/* At most this share of a step of a planned run. */
static const double look_share = 0.1;

static bool is_cpu(const xl_queue *q)
{
    xl_fact f;
    return xl_device_fact(xl_queue_device(q), "is_cpu", XL_UNKNOWN, &f) ==
               XL_OK &&
           f.value == 1;
}

bool roofs_load(const struct session *s, xl_queue *q)
{
    return s->set.roofs == ROOFS_KEPT && xl_roofs_load(q) == XL_OK;
}

xl_status roofs_begin(const struct session *s, xl_queue *q)
{
    const xl_bound f32 = {NAN, "flop/s", "fma f32", XL_UNKNOWN};
    if (s->set.roofs == ROOFS_THEORETICAL)
        return XL_OK;
    const bool is_kept = roofs_load(s, q);
    const xl_status status = xl_peaks_measure(q, XL_F32);
    if (status != XL_OK)
        return status;
    const double most_s = is_kept || !is_cpu(q) ? look_s : search_s;
    return xl_roof_measure(q, &f32, NAN,
                           fmin(most_s, look_share * session_step_left_s(s)));
}

void roofs_keep(const struct session *s, xl_queue *q)
{
    struct xl__str state = {0};
    run_state_format(&s->state, &state);
    (void)xl_roofs_save(q, xl__str_text(&state));
    xl__str_clear(&state);
}

void roofs_end(const struct session *s, xl_queue *q)
{
    const xl_bound f32 = {NAN, "flop/s", "fma f32", XL_UNKNOWN};
    if (s->set.roofs == ROOFS_THEORETICAL)
        return;
    if (!session_interrupted() && !s->is_late)
        (void)xl_roof_measure(q, &f32, NAN, look_s);
    roofs_keep(s, q);
}

xl_status roof_bound(xl_queue *q, const xl_roof *preferred, const xl_row *row,
                     bool again, xl_bound *out)
{
    xl_roof roof = *preferred;
    const bool is_rate = strcmp(row->unit, "B/s") == 0;
    if (is_rate)
        roof = roof_usual(row->dtype);
    /* A failure to measure is ignored: the row may not depend on this peak,
     * and that of a matrix engine may be computed from units and clock. */
    const double flop = is_rate ? 0 : row->flop;
    (void)measure_peak(q, &roof, again);
    xl_status status =
        xl_roofline_bound(xl_queue_device(q), &roof, flop, row->bytes, out);
    if (status != XL_OK && roof.engine == XL_ENGINE_MATRIX) {
        roof = roof_usual(row->dtype);
        (void)measure_peak(q, &roof, again);
        status = xl_roofline_bound(xl_queue_device(q), &roof, flop, row->bytes,
                                   out);
    }
    return status;
}

static double size_product(const size_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

void diagnose_count(const xl_choice *choice, const xl_row *row,
                    xl_counts *work)
{
    *work = (xl_counts){.is_cold = row->cold, .footprint_bytes = row->bytes};
    xl_counts_set_times(work, &row->samples);
    work->flop[0] = choice->on;
    work->flop[0].count = row->flop;
    if (choice->on.terms <= 1)
        work->flop[0].dtype = row->dtype;
    work->bytes[XL_LEVEL_DRAM] = row->bytes;
    work->launches = choice->n_steps;
    work->private_bytes = (double)choice->private_bytes;
    if (choice->wg[0] == 0) /* chosen by the driver */
        return;
    work->wg_size = size_product(choice->wg);
    work->groups = size_product(choice->global) / work->wg_size;
}

void diagnose_conversions(const xl_choice *choice, xl_dtype dtype,
                          double bytes, xl_counts *work)
{
    if ((dtype == XL_F16 || dtype == XL_BF16) &&
        choice->on.engine == XL_ENGINE_FMA)
        work->conversions += bytes / (double)xl_dtype_bytes(dtype);
}

void diagnose_idle(const xl_choice *choices, unsigned n, char *why, size_t cap)
{
    const xl_choice *engine = NULL;
    bool is_used = false;
    for (unsigned i = 0; i < n; i++) {
        const bool has_engine = choices[i].on.engine == XL_ENGINE_MATRIX;
        is_used = is_used || (has_engine && choices[i].chosen);
        engine = engine || !has_engine ? engine : &choices[i];
    }
    xl__strcpy(why, cap, "");
    if (engine && !is_used)
        snprintf(why, cap, "%s: %s", engine->variant, engine->why);
    else if (!is_used)
        xl__strcpy(why, cap, "no requested variant has one");
}

static void ignore_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

void diagnose_launch_cost(xl_queue *q)
{
    static const xl_probing quick = {.quick = true};
    xl_fact launch;
    if (xl_device_fact(xl_queue_device(q), "launch_ns", XL_MEASURED,
                       &launch) != XL_OK ||
        launch.source != XL_MEASURED)
        (void)xl_probe_run(q, "launch", &quick, ignore_row, NULL);
}

static bool is_measured(const xl_device *dev, const char *name)
{
    xl_fact f;
    return xl_device_fact(dev, name, XL_MEASURED, &f) == XL_OK &&
           f.source == XL_MEASURED;
}

/* Did an earlier ceiling run the same probe? Then it need not run again. */
static bool has_run(unsigned i)
{
    for (unsigned j = 0; j < i; j++)
        if (ceilings[j].probe == ceilings[i].probe)
            return true;
    return false;
}

int ceilings_measure(struct session *s, xl_device *dev)
{
    xl_probing how = {.quick = true,
                      .seed = s->set.seed,
                      .stop = session_stopped,
                      .stop_arg = s};
    xl_queue *q = session_queue(s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    (void)roofs_load(s, q);
    for (unsigned i = 0; ceilings[i].fact && !session_stopped(s); i++) {
        const char *probe = ceilings[i].probe;
        if (has_run(i) || is_measured(dev, ceilings[i].fact) ||
            !probes_find(probe))
            continue;
        progress_step(s, probe);
        /* A ceiling that cannot be measured stays unknown. */
        (void)xl_probe_run(q, probe, &how, ignore_row, NULL);
    }
    roofs_keep(s, q);
    xl_queue_destroy(q);
    return EXIT_FINE;
}

static xl_source source_of(const xl_device *dev, const struct ceiling *c)
{
    xl_fact f;
    return xl_device_fact(dev, c->fact, XL_UNKNOWN, &f) == XL_OK ? f.source
                                                                 : XL_UNKNOWN;
}

void ceilings_print(const xl_device *dev)
{
    static const struct table_column columns[] = {{"ceiling", false, 0},
                                                  {"rate", true, 0},
                                                  {"ridge, flop/B", true, 0},
                                                  {"source", false, 0}};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (const struct ceiling *c = ceilings; c->fact; c++) {
        char rate[UNITS_CAP], ridge[UNITS_CAP];
        if (!(ceiling_rate(dev, c) > 0))
            continue;
        units_format(rate, sizeof rate, ceiling_rate(dev, c),
                     c->is_memory ? "B/s" : "flop/s");
        units_number(ridge, sizeof ridge, ceiling_ridge(dev, c));
        table_cell(t, "%s", c->name);
        table_cell(t, "%s", rate);
        table_cell(t, "%s", ridge);
        table_cell(t, "%s", xl_source_name(source_of(dev, c)));
    }
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
}

json_t *ceilings_json(const xl_device *dev)
{
    json_t *list = json_array();
    for (const struct ceiling *c = ceilings; c->fact; c++) {
        json_t *out = json_object();
        json_put(out, "name", json_text(c->name));
        json_put(out, "fact", json_text(c->fact));
        json_put(out, "kind", json_text(c->is_memory ? "memory" : "compute"));
        json_put(out, "rate", json_number(ceiling_rate(dev, c)));
        json_put(out, "unit", json_text(c->is_memory ? "B/s" : "flop/s"));
        json_put(out, "ridge", json_number(ceiling_ridge(dev, c)));
        json_put(out, "source", json_text(xl_source_name(source_of(dev, c))));
        json_add(list, out);
    }
    return list;
}
