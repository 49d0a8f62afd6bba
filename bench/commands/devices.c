/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench devices`: who is here, in the order of the numbers that --device
 * takes. */
#include <math.h>

#include "report/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"
#include "results/result.h"

static double number(const xl_device *dev, const char *name)
{
    xl_fact fact;
    if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK ||
        fact.source == XL_UNKNOWN)
        return NAN;
    return fact.value;
}

static const char *type(const xl_device *dev)
{
    static const struct {
        const char *fact, *word;
    } types[] = {
        {"is_gpu", "GPU"}, {"is_accelerator", "accel"}, {"is_cpu", "CPU"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (number(dev, types[i].fact) > 0)
            return types[i].word;
    return "-";
}

static void add_line(struct table *t, const xl_device *dev)
{
    char units[UNITS_CAP], memory[UNITS_CAP];
    units_number(units, sizeof units, number(dev, "compute_units"));
    units_format(memory, sizeof memory, number(dev, "global_mem_bytes"), "B");
    table_cell(t, "%u", xl_device_index(dev));
    table_cell(t, "%s", device_fact_text(dev, "name", "-"));
    table_cell(t, "%s", device_fact_text(dev, "platform", "-"));
    table_cell(t, "%s", type(dev));
    table_cell(t, "%s", device_fact_text(dev, "driver", "-"));
    table_cell(t, "%s", units);
    table_cell(t, "%s", memory);
}

static void print_devices(const struct session *s, unsigned width)
{
    static const struct table_column columns[] = {
        {"", true, 0},       {"name", false, 16},  {"platform", false, 10},
        {"type", false, 0},  {"driver", false, 8}, {"units", true, 0},
        {"memory", true, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < s->n_devices; i++)
        add_line(t, s->devices[i]);
    table_print(stdout, t, width, false);
    table_destroy(t);
}

static bool has_identity(const struct session *s)
{
    for (unsigned i = 0; i < s->n_devices; i++)
        if (device_fact_text(s->devices[i], "uuid", NULL) ||
            device_fact_text(s->devices[i], "pci", NULL))
            return true;
    return false;
}

/* What else a device can be named by, and what it really is. */
static void print_identities(const struct session *s, unsigned width)
{
    static const struct table_column columns[] = {
        {"", true, 0},
        {"uuid", false, 0},
        {"pci", false, 0},
        {"same silicon", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < s->n_devices; i++) {
        const xl_device *dev = s->devices[i];
        unsigned same = xl_device_same_as(dev);
        table_cell(t, "%u", xl_device_index(dev));
        table_cell(t, "%s", device_fact_text(dev, "uuid", "-"));
        table_cell(t, "%s", device_fact_text(dev, "pci", "-"));
        if (same == xl_device_index(dev))
            table_cell(t, "-");
        else
            table_cell(t, "as %u", same);
    }
    table_print(stdout, t, width, false);
    table_destroy(t);
}

static int run(struct session *s)
{
    s->set.all_devices = s->set.device == NULL;
    int code = session_open_devices(s);
    if (code != EXIT_FINE || !session_tables(s))
        return code;
    unsigned width = text_terminal_columns();
    print_devices(s, width);
    if (has_identity(s)) {
        fputc('\n', stdout);
        print_identities(s, width);
    }
    return session_result(s);
}

static const char *const options[] = {"device", "json", NULL};

const struct command cmd_devices = {
    .name = "devices",
    .summary = "list the devices there are, with the numbers --device takes",
    .about =
        "Lists every device of every OpenCL platform, numbered from 0: GPUs, "
        "accelerators, CPUs; within these by platform name, PCI address and "
        "UUID. Device 0 is the one used when --device is not given. A device "
        "that two drivers show is marked as the same silicon.",
    .options = options,
    .run = run,
};
