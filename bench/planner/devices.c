/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that are planned for, each as four rates. Facts have the same
 * names here and in a result file, so one walk over them serves both. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "results/json.h"
#include "planner/plan.h"
#include "results/result.h"
#include "timing/probes.h"
#include "results/result_file.h"

/* Weights are read, and seldom does a copy get more out of a memory. */
static const char *const of_memory[] = {"global_mem_bytes", NULL};
static const char *const of_bandwidth[] = {"read_bytes_per_s",
                                           "copy_bytes_per_s", NULL};
static const char *const of_link[] = {"upload_bytes_per_s", NULL};

/* A number of a device by its name, and how it is known. */
struct facts {
    const void *of;
    double (*value)(const void *of, const char *name, const char **source);
};

static double fact_here(const void *of, const char *name, const char **source)
{
    xl_fact f;
    if (xl_device_fact(of, name, XL_UNKNOWN, &f) != XL_OK)
        return (double)NAN;
    *source = xl_source_name(f.source);
    return f.value;
}

static double fact_of_file(const void *of, const char *name,
                           const char **source)
{
    const json_t *fact = result_fact(of, name);
    const json_t *value = json_object_get(fact, "value");
    *source = json_text_at(fact, "source");
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The largest of those known: a bound is by the best there is. */
static struct plan_rate best(const struct facts *f, const char *const *names)
{
    struct plan_rate out = {.value = NAN};
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

static bool add(struct plan *p, const struct plan_device *dev)
{
    struct plan_device *list =
        realloc(p->dev, (p->n + 1) * sizeof *p->dev);
    if (!list)
        return false;
    p->dev = list;
    list[p->n++] = *dev;
    return true;
}

static bool add_facts(struct plan *p, const struct facts *f, const char *name,
                      const char *origin, int index)
{
    struct plan_device dev = {.index = index};
    xl__strcpy(dev.name, sizeof dev.name, name);
    xl__strcpy(dev.origin, sizeof dev.origin, origin);
    dev.memory = best(f, of_memory);
    dev.bandwidth = best(f, of_bandwidth);
    dev.peak = best(f, p->weights.peak);
    dev.link = best(f, of_link);
    return add(p, &dev);
}

static int no_memory(struct session *s)
{
    return session_fail(s, "planning", XL_NO_MEMORY, "");
}

/* -- those of files ------------------------------------------------------- */

static bool from_document(struct plan *p, const char *path,
                          const json_t *devices, size_t *unmeasured)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *dev = json_array_get(devices, i);
        const struct facts f = {dev, fact_of_file};
        if (isnan(best(&f, of_bandwidth).value))
            ++*unmeasured;
        else if (!add_facts(p, &f, json_text_at(dev, "name"), path, -1))
            return false;
    }
    return true;
}

static int from_file(struct session *s, struct plan *p, const char *path)
{
    struct result_file file;
    char why[256];
    size_t unmeasured = 0;
    const size_t before = p->n;
    int code = EXIT_FINE;
    struct xl__str text = {0};
    if (!results_read(path, &file, why, sizeof why)) {
        session_message(s, "--from: ", why);
        code = EXIT_FILE;
    } else if (!from_document(p, path,
                              json_object_get(file.document, "devices"),
                              &unmeasured)) {
        code = no_memory(s);
    } else if (p->n == before) {
        xl__str_printf(&text,
                       "--from: '%s' has no device whose bandwidth was "
                       "measured; make one there with 'clbench roofline "
                       "--json FILE' or 'clbench plan ... --json FILE'",
                       path);
        session_message(s, "", xl__str_text(&text));
        code = EXIT_USAGE;
    } else if (unmeasured > 0 && !s->set.quiet) {
        xl__str_printf(&text, "'%s': left out, since their bandwidth is "
                              "unknown: %zu", path, unmeasured);
        session_message(s, "warning: ", xl__str_text(&text));
    }
    xl__str_clear(&text);
    results_clear(&file);
    return code;
}

/* -- those of this machine ------------------------------------------------ */

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

/* What a plan needs and nobody has measured yet, quickly. A probe that fails
 * leaves its rate unknown, and the plan shows that. */
static int measure(struct session *s, xl_device *dev)
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

static int from_here(struct session *s, struct plan *p)
{
    enum { PROBES_A_DEVICE = 4 };
    int code = session_open_devices(s);
    if (code == EXIT_NO_DEVICE)
        session_message(s, "",
                        "a plan needs no device of this machine: give "
                        "--bandwidth and what else is known of one, or "
                        "--from and a result file");
    if (code != EXIT_FINE)
        return code;
    progress_begin(s, PROBES_A_DEVICE * s->n_devices);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        xl_device *dev = s->devices[i];
        const struct facts f = {dev, fact_here};
        const int failed = measure(s, dev);
        code = failed ? failed : code;
        if (!add_facts(p, &f, device_fact_text(dev, "name", "?"),
                       "measured here", (int)xl_device_index(dev)))
            code = no_memory(s);
    }
    progress_end(s);
    return code;
}

/* -- all ------------------------------------------------------------------ */

static int given(struct session *s, struct plan *p)
{
    struct plan_device dev;
    struct xl__str why = {0};
    int code = EXIT_FINE;
    if (!plan_input_rates(&s->set, &dev, &why)) {
        session_message(s, "", xl__str_text(&why));
        code = EXIT_USAGE;
    } else if (!add(p, &dev)) {
        code = no_memory(s);
    }
    xl__str_clear(&why);
    return code;
}

int plan_devices(struct session *s, struct plan *out)
{
    const struct option_list *files = &s->set.plan.from;
    int code = plan_is_given(&s->set) ? given(s, out) : EXIT_FINE;
    for (unsigned i = 0; code == EXIT_FINE && i < files->n; i++)
        code = from_file(s, out, files->value[i]);
    if (code == EXIT_FINE &&
        (out->n == 0 || s->set.device || s->set.all_devices))
        code = from_here(s, out);
    return code;
}

void plan_clear(struct plan *p)
{
    free(p->dev);
    p->dev = NULL;
    p->n = 0;
}

struct plan_rates plan_rates(const struct plan_device *dev)
{
    return (struct plan_rates){.bandwidth = dev->bandwidth.value,
                               .peak = dev->peak.value,
                               .link = dev->link.value,
                               .memory = dev->memory.value};
}
