/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench doctor`: report which drivers are installed, which of them work,
 * and what to do. Each driver runs in a child process, so one that crashes or
 * hangs is reported and does not end the program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/hints.h"
#include "base/os/files.h"
#include "host/host_info.h"
#include "doctor/doctor.h"
#include "doctor/machine.h"
#include "results/environment.h"
#include "results/json.h"
#include "cli/session.h"
#include "cli/console.h"
#include "cli/units.h"

static const char variables_section[] = "Variables", cache_section[] = "Cache",
                  todo_section[] = "What to do";

static void list_variable(const char *name, const char *value, void *arg)
{
    findings_add(arg, FINDING_NOTE, variables_section, NULL,
                 "%s=%s is set: it may hide devices or change them", name,
                 value);
}

static void examine_variables(struct doctor *d)
{
    size_t before = d->findings.n;
    environment_variables(list_variable, &d->findings);
    if (d->findings.n == before)
        findings_add(&d->findings, FINDING_OK, variables_section, NULL,
                     "none is set that hides or changes devices");
}

/* Can a file be created there? Its name is not that of an entry. */
static bool can_write(const char *folder)
{
    struct xl__str path = {0};
    xl__str_printf(&path, "%s/clbench-doctor.test", folder);
    bool can = xl__file_replace(xl__str_text(&path), "", 0) == XL_OK;
    if (can)
        (void)xl__file_remove(xl__str_text(&path));
    xl__str_clear(&path);
    return can;
}

static json_t *examine_cache(struct doctor *d)
{
    struct findings *f = &d->findings;
    xl_cache_stats got = {0};
    char size[UNITS_CAP], limit[UNITS_CAP];
    json_t *out = json_object();
    if (session_open(d->s) != EXIT_FINE)
        return out;
    const char *folder = xl_cache_dir(d->s->lib);
    json_put(out, "folder", json_text(folder));
    if (!folder) {
        findings_add(f, FINDING_NOTE, cache_section,
                     "Set XL_CACHE_DIR to a private folder, or unset it",
                     "off: each run compiles its kernels again");
        return out;
    }
    xl_status status = xl_cache_stats_get(d->s->lib, &got);
    json_put(out, "entries", json_uint(got.n_entries));
    json_put(out, "damaged", json_uint(got.n_damaged));
    json_put(out, "bytes", json_uint(got.bytes));
    bool exists = xl__path_access(folder) != XL__ABSENT;
    bool is_writable = !exists || can_write(folder);
    json_put(out, "writable", json_boolean(is_writable));
    units_format(size, sizeof size, (double)got.bytes, "B");
    units_format(limit, sizeof limit, (double)got.limit_bytes, "B");
    if (status != XL_OK || !is_writable)
        findings_add(f, FINDING_PROBLEM, cache_section,
                     "Make the folder writable for you by_driver, or set "
                     "XL_CACHE_DIR to another one",
                     "%s cannot be used: %s", folder,
                     status != XL_OK ? xl_lib_error(d->s->lib)
                                     : "no file can be written there");
    else if (got.n_damaged > 0)
        findings_add(f, FINDING_NOTE, cache_section,
                     "`clbench cache clear --damaged` removes them",
                     "%s: %llu of %llu entries are damaged and not used",
                     folder, (unsigned long long)got.n_damaged,
                     (unsigned long long)got.n_entries);
    else
        findings_add(f, FINDING_OK, cache_section, NULL,
                     "%s: %llu entries, %s of %s", folder,
                     (unsigned long long)got.n_entries, size, limit);
    return out;
}

/* The advice for each vendor, when no driver has a device. */
static void add_vendor_advice(struct doctor *d)
{
    for (const struct advice_vendor *v = advice_vendors; v->name; v++)
        findings_add(&d->findings, FINDING_NOTE, todo_section,
                     d->container ? v->container : v->install, "%s:", v->name);
}

static void add_conclusion(struct doctor *d)
{
    struct findings *f = &d->findings;
    size_t n = findings_count(f, FINDING_PROBLEM);
    const char *plural = n == 1 ? "problem" : "problems";
    if (d->n_usable == 0) {
        const bool is_shown = d->all_drivers.n_devices > 0;
        findings_add(f, FINDING_PROBLEM, todo_section, NULL,
                     "no device can be used; %zu %s above%s", n, plural,
                     is_shown ? ", each with what helps" : ". By maker:");
        if (!is_shown)
            add_vendor_advice(d);
        return;
    }
    findings_add(f, FINDING_OK, todo_section, NULL, "%u %s can be used%s",
                 d->n_usable, d->n_usable == 1 ? "device" : "devices",
                 n == 0 ? "; nothing must be done" : "");
    if (n > 0)
        findings_add(f, FINDING_NOTE, todo_section, NULL,
                     "%zu %s above, each with what helps", n, plural);
}

/* -- JSON ----------------------------------------------------------------- */

static json_t *loader_json(const struct doctor *d)
{
    json_t *out = json_object();
    json_put(out, "path", json_text(d->loader_path));
    json_put(out, "name", json_text(d->loader.loader));
    json_put(out, "location", json_text(d->icds.location));
    json_put(out, "variable", json_text(d->icds.variable));
    return out;
}

static char *format_document(const struct doctor *d, json_t *cache)
{
    json_t *root = json_object();
    json_put(root, "schema", json_string("clbench-doctor/1"));
    json_put(root, "tool", environment_tool(d->s));
    json_put(root, "host", environment_host());
    json_put(root, "environment", environment_json(d->s));
    json_put(root, "usable", json_integer(d->n_usable));
    json_put(root, "loader", loader_json(d));
    json_put(root, "drivers", doctor_drivers_json(d));
    json_put(root, "devices", doctor_devices_json(&d->all_drivers));
    json_put(root, "container", json_text(d->container));
    json_put(root, "gpus", json_incref(d->gpus));
    json_put(root, "cache", json_incref(cache));
    json_put(root, "findings", findings_json(&d->findings));
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    return text;
}

static bool write_json(const struct doctor *d, json_t *cache)
{
    struct xl__str text = {0};
    const char *path = d->s->set.json;
    char *json = format_document(d, cache);
    xl__str_add(&text, json ? json : "");
    xl__str_add(&text, "\n");
    bool is_done = json && !text.broken;
    free(json);
    errno = 0;
    if (is_done && strcmp(path, "-") == 0)
        is_done = fputs(text.text, stdout) >= 0 && fflush(stdout) == 0;
    else if (is_done)
        is_done = xl__file_replace(path, text.text, text.len) == XL_OK;
    if (!is_done)
        fprintf(stderr, "clbench: --json: '%s' cannot be written: %s\n", path,
                errno ? strerror(errno) : "out of memory");
    xl__str_clear(&text);
    return is_done;
}

static void clear_doctor(struct doctor *d)
{
    for (size_t i = 0; d->by_driver && i < d->icds.n; i++)
        driver_test_clear(&d->by_driver[i]);
    free(d->by_driver);
    driver_test_clear(&d->loader);
    driver_test_clear(&d->all_drivers);
    icds_clear(&d->icds);
    findings_clear(&d->findings);
    free(d->loader_path);
    json_decref(d->gpus);
}

static int run_doctor(struct session *s)
{
    /* A driver that builds its first kernel on a busy machine, or initializes
     * eight devices, has no output for seconds. */
    static const double default_patience_s = 60;
    struct doctor d = {.s = s};
    if (!(s->set.patience_s > 0))
        s->set.patience_s = default_patience_s;
    if (driver_test_is_child()) {
        driver_test_child_main();
        return EXIT_FINE;
    }
    d.findings.to = session_tables(s) ? stdout : NULL;
    d.findings.width = text_terminal_columns();
    d.findings.colour = text_has_colour();
    doctor_drivers(&d);
    doctor_machine(&d);
    examine_variables(&d);
    json_t *cache = examine_cache(&d);
    add_conclusion(&d);
    int code = d.n_usable > 0 ? EXIT_FINE : EXIT_NO_DEVICE;
    if (s->set.json && !write_json(&d, cache))
        code = EXIT_FILE;
    json_decref(cache);
    clear_doctor(&d);
    return code;
}

static const char *const options[] = {"json", "patience", NULL};

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "find out why a device is missing, and what to do",
    .about =
        "Lists the OpenCL loader and the drivers that are registered with it, "
        "and tests each driver in a process of its own, so that one that "
        "crashes or hangs is found. Then it tests all of them all_drivers, with "
        "a kernel compiled and run on each device, and checks hardware "
        "without "
        "a driver, device nodes and their permissions, containers, variables "
        "that hide devices, and the folder of compiled programs.\n\n"
        "Each line is ok, a note or a problem, with what to do after an "
        "arrow. With --json the document has schema clbench-doctor/1. A "
        "driver without output for --patience is taken to hang.\n\n"
        "Exit code 0: a device can be used; 3: none; 4: the JSON file cannot "
        "be written.",
    .options = options,
    .run = run_doctor,
};
