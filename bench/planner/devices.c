/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the devices of a plan, each with four rates: memory, bandwidth,
 * peak, link. Sources are the options, result files, and the devices of this
 * machine. Facts have the same names in a result file and in the library, so
 * one function reads both. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "planner/planner.h"
#include "results/json.h"
#include "results/result.h"
#include "results/result_file.h"
#include "timing/roofs/probes.h"

/* decoding reads; a copy rarely has a higher bandwidth */
static const char *const memory_facts[] = {"global_mem_bytes", NULL};
static const char *const bandwidth_facts[] = {"read_bytes_per_s",
                                              "copy_bytes_per_s", NULL};
static const char *const link_facts[] = {"upload_bytes_per_s", NULL};

/* Access to a fact by its name. */
struct facts {
    const void *of;
    double (*value)(const void *of, const char *name, const char **source);
};

static double local_fact(const void *of, const char *name, const char **source)
{
    xl_fact f;
    if (xl_device_fact(of, name, XL_UNKNOWN, &f) != XL_OK)
        return (double)NAN;
    *source = xl_source_name(f.source);
    return f.value;
}

static double file_fact(const void *of, const char *name, const char **source)
{
    const json_t *fact = result_fact(of, name);
    const json_t *value = json_object_get(fact, "value");
    *source = json_text_at(fact, "source");
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The largest known value: a bound uses the best rate. */
static struct planner_rate best_rate(const struct facts *f,
                                     const char *const *names)
{
    struct planner_rate out = {.value = NAN};
    for (; *names; names++) {
        const char *source = "";
        const double value = f->value(f->of, *names, &source);
        if (!(value > 0) || value <= out.value)
            continue;
        out.value = value;
        snprintf(out.source, sizeof out.source, "%s, %s", source, *names);
    }
    return out;
}

static bool add_device(struct planner *p, const struct planner_device *dev)
{
    struct planner_device *list = realloc(p->dev, (p->n + 1) * sizeof *p->dev);
    if (!list)
        return false;
    p->dev = list;
    list[p->n++] = *dev;
    return true;
}

/* Adds a device with the rates that its facts give. */
static bool add_facts(struct planner *p, const struct facts *f,
                      const char *name, const char *origin, int index)
{
    struct planner_device dev = {.index = index};
    xl__strcpy(dev.name, sizeof dev.name, name);
    xl__strcpy(dev.origin, sizeof dev.origin, origin);
    dev.memory = best_rate(f, memory_facts);
    dev.bandwidth = best_rate(f, bandwidth_facts);
    dev.peak = best_rate(f, p->weights.peak);
    dev.link = best_rate(f, link_facts);
    return add_device(p, &dev);
}

static int fail_no_memory(struct session *s)
{
    return session_fail(s, "planning", XL_NO_MEMORY, "");
}

/* -- devices of result files ---------------------------------------------- */

/* Adds the devices of a result document with a known bandwidth; counts the
 * others. */
static bool add_document_devices(struct planner *p, const char *path,
                                 const json_t *devices, size_t *unmeasured)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *dev = json_array_get(devices, i);
        const struct facts f = {dev, file_fact};
        if (isnan(best_rate(&f, bandwidth_facts).value))
            ++*unmeasured;
        else if (!add_facts(p, &f, json_text_at(dev, "name"), path, -1))
            return false;
    }
    return true;
}

/* Adds the devices of a result file. An exit_code. */
static int add_file_devices(struct session *s, struct planner *p,
                            const char *path)
{
    struct result_file file;
    char why[256];
    size_t unmeasured = 0;
    const size_t before = p->n;
    int code = EXIT_FINE;
    struct xl__str text = {0};
    if (!result_file_read(path, &file, why, sizeof why)) {
        session_message(s, "--from: ", why);
        code = EXIT_FILE;
    } else if (!add_document_devices(p, path,
                                     json_object_get(file.document, "devices"),
                                     &unmeasured)) {
        code = fail_no_memory(s);
    } else if (p->n == before) {
        xl__str_printf(&text,
                       "--from: '%s' has no device whose bandwidth was "
                       "measured; make one there with 'clbench roofline "
                       "--json FILE' or 'clbench plan ... --json FILE'",
                       path);
        session_message(s, "", xl__str_text(&text));
        code = EXIT_USAGE;
    } else if (unmeasured > 0 && !s->set.quiet) {
        xl__str_printf(&text,
                       "'%s': devices left out, since their bandwidth "
                       "is unknown: %zu",
                       path, unmeasured);
        session_message(s, "warning: ", xl__str_text(&text));
    }
    xl__str_clear(&text);
    result_file_clear(&file);
    return code;
}

/* -- devices of this machine ---------------------------------------------- */

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

/* Measures the missing rates with quick probes. A rate whose probe fails
 * remains unknown. */
static int measure_rates(struct session *s, xl_device *dev)
{
    static const char *const probes[] = {"bandwidth", "flops", "matrix",
                                         "transfer"};
    const xl_probing how = {.quick = true,
                            .seed = s->set.seed,
                            .stop = session_stopped,
                            .stop_arg = s};
    xl_queue *q = session_queue(s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        if (session_stopped(s))
            break;
        progress_step(s, probes[i]);
        (void)xl_probe_run(q, probes[i], &how, drop_row, NULL);
    }
    xl_queue_destroy(q);
    return EXIT_FINE;
}

int planner_add_device(struct session *s, struct planner *p, xl_device *dev)
{
    const struct facts f = {dev, local_fact};
    const int failed = measure_rates(s, dev);
    return add_facts(p, &f, device_fact_text(dev, "name", "?"),
                     "measured here", (int)xl_device_index(dev))
               ? failed
               : fail_no_memory(s);
}

/* Measures and adds the devices of this machine. An exit_code. */
static int add_local_devices(struct session *s, struct planner *p)
{
    enum { PROBES_A_DEVICE = 4 };
    int code = session_open_devices(s);
    if (code == EXIT_NO_DEVICE)
        session_message(s, "",
                    "a plan needs no device of this machine: give "
                    "--bandwidth and other known rates, or --from and a "
                    "result file");
    if (code != EXIT_FINE)
        return code;
    progress_begin(s, PROBES_A_DEVICE * s->n_devices);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        const int failed = planner_add_device(s, p, s->devices[i]);
        code = failed ? failed : code;
    }
    progress_end(s);
    return code;
}

/* -- all devices ---------------------------------------------------------- */

/* Adds the device that the options describe. An exit_code. */
static int add_given_device(struct session *s, struct planner *p)
{
    struct planner_device dev;
    struct xl__str why = {0};
    int code = EXIT_FINE;
    if (!planner_read_rates(&s->set, &dev, &why)) {
        session_message(s, "", xl__str_text(&why));
        code = EXIT_USAGE;
    } else if (!add_device(p, &dev)) {
        code = fail_no_memory(s);
    }
    xl__str_clear(&why);
    return code;
}

int planner_add_devices(struct session *s, struct planner *out)
{
    const struct option_list *files = &s->set.plan.from;
    int code =
        planner_has_rates(&s->set) ? add_given_device(s, out) : EXIT_FINE;
    for (unsigned i = 0; code == EXIT_FINE && i < files->n; i++)
        code = add_file_devices(s, out, files->value[i]);
    if (code == EXIT_FINE &&
        (out->n == 0 || s->set.device || s->set.all_devices))
        code = add_local_devices(s, out);
    return code;
}

void planner_clear(struct planner *p)
{
    free(p->dev);
    p->dev = NULL;
    p->n = 0;
}

struct planner_rates planner_device_rates(const struct planner_device *dev)
{
    return (struct planner_rates){.bandwidth = dev->bandwidth.value,
                                  .peak = dev->peak.value,
                                  .link = dev->link.value,
                                  .memory = dev->memory.value};
}
