/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench calibrate`: measure a device's profile and save it. */
#include <crosslane/measure.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/console.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"
#include "results/result.h"

static void format_rate(char *out, size_t cap, double value, const char *unit)
{
    if (isnan(value))
        snprintf(out, cap, "-");
    else
        units_format(out, cap, value, unit);
}

static double rate_of(const xl_profile *p, const char *fact)
{
    for (unsigned i = 0; i < p->n_rates; i++)
        if (strcmp(p->rates[i].fact, fact) == 0)
            return p->rates[i].value;
    return NAN;
}

static void print_profile(const xl_device *dev, const xl_profile *before,
                          const xl_profile *now)
{
    static const struct table_column columns[] = {
        {"rate", false, 0}, {"kept", true, 0}, {"measured", true, 0}};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < now->n_rates; i++) {
        const xl_rate *rate = &now->rates[i];
        char text[UNITS_CAP];
        xl_fact fact;
        if (xl_device_fact(dev, rate->fact, XL_UNKNOWN, &fact) != XL_OK)
            continue;
        table_cell(t, "%s", rate->fact);
        format_rate(text, sizeof text, rate_of(before, rate->fact), fact.unit);
        table_cell(t, "%s", text);
        format_rate(text, sizeof text, rate->value, fact.unit);
        table_cell(t, "%s", text);
    }
    table_print(stdout, t, text_terminal_columns(), false);
    table_destroy(t);
}

enum { INDENT = 2 };

XL__PRINTF(1, 2)
static void print_below(const char *format, ...)
{
    struct xl__str text = {0}, clean = {0};
    va_list args;
    va_start(args, format);
    xl__str_vprintf(&text, format, args);
    va_end(args);
    text_escape(&clean, xl__str_text(&text));
    text_wrap(stdout, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&text);
    xl__str_clear(&clean);
}

static void print_place(struct session *s)
{
    if (s->set.output)
        print_below("saved in %s; it is used where it is in a folder of tuned "
                    "sets (XL_TUNED_DIR)",
                    s->set.output);
    else
        print_below("saved in the folder %s; used by programs that start from "
                    "now on",
                    xl_tuned_dir(s->lib));
}

static int calibrate_device(struct session *s, xl_device *dev)
{
    xl_queue *q = session_queue(s, dev);
    xl_profile before, now;
    int code = EXIT_FINE;
    if (!q)
        return EXIT_NO_DEVICE;
    xl_status status = xl_profile_find(q, &before);
    if (status == XL_OK)
        status = xl_calibrate(q, &now);
    progress_hide(s);
    if (status != XL_OK) {
        code = session_fail(s, "calibrating", status, xl_error_detail(q));
    } else {
        printf("%u: %s\n", xl_device_index(dev),
               device_fact_text(dev, "name", "?"));
        if (before.n_rates > 0)
            print_below("kept: %s, driver %s, %s", before.date, before.driver,
                        before.origin);
        print_profile(dev, &before, &now);
        status = xl_profile_save(q, &now, s->set.output);
        if (status != XL_OK)
            code = session_fail(s, "saving the profile", status,
                                xl_error_detail(q));
        else
            print_place(s);
    }
    xl_queue_destroy(q);
    return code;
}

static int run_calibrate(struct session *s)
{
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (s->set.output && s->n_devices > 1) {
        fprintf(stderr,
                "clbench: --output is the file of one device, but %u are "
                "selected: name one with --device\n",
                s->n_devices);
        return EXIT_USAGE;
    }
    progress_begin(s, s->n_devices);
    for (unsigned i = 0;
         code == EXIT_FINE && i < s->n_devices && !session_stopped(s); i++) {
        progress_step(s, "rates");
        code = calibrate_device(s, s->devices[i]);
    }
    progress_end(s);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {"device", "all-devices", "output", NULL};

const struct command cmd_calibrate = {
    .name = "calibrate",
    .summary = "measure and keep the rates by which variants are chosen",
    .about =
        "Measures the bandwidth, the peaks of the FMA units and the cost "
        "of a launch, in some seconds, and saves them as "
        "the device's profile in the folder of tuned sets. The library then "
        "chooses variants and tiles by these rates, in each program that "
        "starts afterwards. Without a profile it computes them from the "
        "driver's facts. The device should be idle: another load lowers the "
        "rates.\n\n"
        "  clbench calibrate\n"
        "  clbench calibrate --device 1 --output profile.json",
    .options = options,
    .run = run_calibrate,
};
