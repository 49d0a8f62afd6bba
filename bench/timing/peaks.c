/* SPDX-License-Identifier: Apache-2.0 */
#include "timing/peaks.h"

#include <math.h>

#include <jansson.h>

#include "results/json.h"
#include "timing/probes.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

static bool is_measured(const xl_device *dev, const char *name)
{
    xl_fact f;
    return xl_device_fact(dev, name, XL_MEASURED, &f) == XL_OK &&
           f.source == XL_MEASURED;
}

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

/* Did an earlier ceiling have the same probe run? What it did not find then it
 * will not find now. */
static bool has_run(unsigned i)
{
    for (unsigned j = 0; j < i; j++)
        if (ceilings[j].probe == ceilings[i].probe)
            return true;
    return false;
}

int ceilings_measure(struct session *s, xl_device *dev)
{
    xl_probing how = {.quick = true, .seed = s->set.seed,
                      .stop = session_stopped, .stop_arg = s};
    xl_queue *q = session_queue(s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    for (unsigned i = 0; ceilings[i].fact && !session_stopped(s); i++) {
        const char *probe = ceilings[i].probe;
        if (has_run(i) || is_measured(dev, ceilings[i].fact) ||
            !probes_find(probe))
            continue;
        progress_step(s, probe);
        /* What cannot be measured stays unknown, and is shown so. */
        (void)xl_probe_run(q, probe, &how, drop_row, NULL);
    }
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
    table_print(stdout, t, text_terminal_columns(), text_wants_colour());
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
        json_put(out, "source",
                 json_text(xl_source_name(source_of(dev, c))));
        json_add(list, out);
    }
    return list;
}
