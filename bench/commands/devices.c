/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench devices`: list the devices, in the order of the numbers that
 * --device takes. */
#include <math.h>

#include "commands.h"
#include "report/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"
#include "results/listings.h"
#include "results/result.h"

static double fact_number(const xl_device *dev, const char *name)
{
    xl_fact fact;
    if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK ||
        fact.source == XL_UNKNOWN)
        return NAN;
    return fact.value;
}

static const char *device_type(const xl_device *dev)
{
    static const struct {
        const char *fact, *word;
    } types[] = {
        {"is_gpu", "GPU"}, {"is_accelerator", "accel"}, {"is_cpu", "CPU"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (fact_number(dev, types[i].fact) > 0)
            return types[i].word;
    return "-";
}

static void add_device_row(struct table *t, const xl_device *dev)
{
    char units[UNITS_CAP], memory[UNITS_CAP];
    units_number(units, sizeof units, fact_number(dev, "compute_units"));
    units_format(memory, sizeof memory, fact_number(dev, "global_mem_bytes"),
                 "B");
    table_cell(t, "%u", xl_device_index(dev));
    table_cell(t, "%s", device_fact_text(dev, "name", "-"));
    table_cell(t, "%s", device_fact_text(dev, "platform", "-"));
    table_cell(t, "%s", device_type(dev));
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
        add_device_row(t, s->devices[i]);
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

/* Other ways to identify each device, and devices with the same hardware. */
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

static int run_devices(struct session *s)
{
    if (s->set.list) {
        listings_print();
        return EXIT_FINE;
    }
    s->set.all_devices = s->set.device == NULL;
    if (s->set.verbose)
        return limits_run(s);
    int code = listing_choose(s);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    if (code != EXIT_FINE || !session_tables(s))
        return code;
    const unsigned width = text_list_columns();
    print_devices(s, width);
    if (has_identity(s)) {
        fputc('\n', stdout);
        print_identities(s, width);
    }
    return session_result(s);
}

static const char *const options[] = {"device", "as",           "verbose",
                                      "json",   REPORT_OPTIONS, "seed",
                                      "list",   "max-time",     NULL};

const struct command cmd_devices = {
    .name = "devices",
    .summary = "list the devices with the numbers that --device takes",
    .about =
        "Lists the devices of all OpenCL platforms, numbered from 0: GPUs, "
        "accelerators, CPUs; within these by platform name, PCI address and "
        "UUID. Device 0 is used when --device is not given. Devices of two "
        "drivers with the same hardware are marked as the same silicon.\n\n"
        "  clbench devices --verbose --device 0\n"
        "  clbench devices --list\n"
        "  clinfo --raw >there.txt; clbench devices --as there.txt\n\n"
        "--list prints the devices that come with clbench, by the names that "
        "--as takes, with their sources. A FILE for --as is the output of "
        "'clinfo --raw'; a line 'subgroup_width 32' behind a device, or "
        "another fact that --verbose names, is a measured value of it.\n\n"
        "--verbose prints each fact about a device, with its unit and its "
        "source: queried (the driver returned it), measured (by a probe on "
        "this device), known (a vendor document, cited by its id in "
        "vendor-notes) or assumed; its extensions and matrix instructions. A "
        "note shows where driver and probe differ from the value that is "
        "printed. The sub-group width and the event clock are measured "
        "first; with --as nothing is, since the device is not here. Variants "
        "are selected without measured values.",
    .options = options,
    .run = run_devices,
};
