/* SPDX-License-Identifier: Apache-2.0 */
/* Describes how two result sets differ before any time is compared: relation
 * of the devices (same chip, driver, program), source of the noise estimate,
 * load of the machines, environment variables; and summarises the
 * classifications. Names of devices and drivers come from the files. */
#include "compare/differences.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "results/json.h"
#include "cli/units.h"

/* From the most similar to the least. */
enum relation {
    RELATION_SAME,     /* device, driver and program */
    RELATION_PROGRAM,  /* another clbench or library */
    RELATION_DRIVER,   /* another version of the driver */
    RELATION_PLATFORM, /* another driver on the same chip */
    RELATION_DEVICE    /* another chip */
};

static const char *device_text(const json_t *device, const char *name)
{
    return json_text_at(device, name);
}

/* Compares device names up to what a driver appends: "(radeonsi, ...)". */
static bool is_same_chip_name(const char *a, const char *b)
{
    const char *tail_a = strstr(a, " ("), *tail_b = strstr(b, " (");
    const size_t n_a = tail_a ? (size_t)(tail_a - a) : strlen(a);
    const size_t n_b = tail_b ? (size_t)(tail_b - b) : strlen(b);
    return n_a > 0 && n_a == n_b && strncmp(a, b, n_a) == 0;
}

static bool is_cpu(const json_t *device)
{
    return json_is_true(
        json_object_get(result_fact(device, "is_cpu"), "value"));
}

static const char *host_cpu(const struct result_set *set)
{
    return json_text_at(json_object_get(set->files[0].document, "host"),
                        "cpu");
}

/* Same UUID or PCI address; for two CPU devices the same CPU of the host; else
 * the same name. */
static bool is_same_chip(const struct result_set *set_a, const json_t *a,
                         const struct result_set *set_b, const json_t *b)
{
    static const char *const ids[] = {"uuid", "pci"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const char *id_a = device_text(a, ids[i]);
        const char *id_b = device_text(b, ids[i]);
        if (*id_a && strcmp(id_a, id_b) == 0)
            return true;
    }
    if (is_cpu(a) && is_cpu(b) && *host_cpu(set_a))
        return strcmp(host_cpu(set_a), host_cpu(set_b)) == 0;
    return is_same_chip_name(device_text(a, "name"), device_text(b, "name"));
}

static const char *version_of(const struct result_set *set, const char *of)
{
    return json_text_at(json_object_get(set->files[0].document, "tool"), of);
}

/* Compares two devices from chip to program; the first difference decides. */
static enum relation relation_of(const struct result_set *a,
                                 const json_t *dev_a,
                                 const struct result_set *b,
                                 const json_t *dev_b)
{
    if (!is_same_chip(a, dev_a, b, dev_b))
        return RELATION_DEVICE;
    if (strcmp(device_text(dev_a, "platform"),
               device_text(dev_b, "platform")) != 0)
        return RELATION_PLATFORM;
    if (strcmp(device_text(dev_a, "driver"), device_text(dev_b, "driver")) !=
        0)
        return RELATION_DRIVER;
    if (strcmp(version_of(a, "version"), version_of(b, "version")) != 0 ||
        strcmp(version_of(a, "library"), version_of(b, "library")) != 0)
        return RELATION_PROGRAM;
    return RELATION_SAME;
}

/* The device of a result set: that of its rows, else the first of the file. */
static const json_t *device_of(const struct result_set *set)
{
    const struct result_file *f = &set->files[0];
    for (size_t i = 0; i < f->n_rows; i++)
        if (!set->device || strcmp(f->rows[i].device, set->device) == 0)
            return result_device(f, &f->rows[i]);
    return json_array_get(json_object_get(f->document, "devices"), 0);
}

/* The least similar relation over all devices of two result sets. */
static enum relation compare_relation(const struct result_set *a,
                                      const struct result_set *b)
{
    const json_t *all_a =
        json_object_get(a->files[0].document, "devices");
    const json_t *all_b =
        json_object_get(b->files[0].document, "devices");
    enum relation most = RELATION_SAME;
    if (a->device || b->device || json_array_size(all_a) < 2 ||
        json_array_size(all_b) < 2)
        return relation_of(a, device_of(a), b, device_of(b));
    for (size_t i = 0; i < json_array_size(all_a); i++) {
        enum relation least = RELATION_DEVICE;
        for (size_t j = 0; j < json_array_size(all_b); j++) {
            const enum relation found =
                relation_of(a, json_array_get(all_a, i), b,
                            json_array_get(all_b, j));
            least = found < least ? found : least;
        }
        most = least > most ? least : most;
    }
    return most;
}

bool compare_is_alike(const struct result_set *a, const struct result_set *b)
{
    return !b->other && compare_relation(a, b) <= RELATION_DRIVER;
}

/* -- descriptions --------------------------------------------------------- */

static void describe_driver(const struct result_set *set, struct xl__str *out)
{
    const json_t *device = device_of(set);
    xl__str_printf(out, "%s %s", device_text(device, "platform"),
                   device_text(device, "driver"));
}

void compare_describe_set(const struct result_set *set, struct xl__str *out)
{
    const struct result_file *f = &set->files[0];
    const size_t n_devices = set->device ? 1 : f->n_devices;
    xl__str_add(out, f->path);
    if (set->n_files > 1)
        xl__str_printf(out, " and %zu more", set->n_files - 1);
    xl__str_printf(out, ": %s", device_text(device_of(set), "name"));
    if (n_devices > 1)
        xl__str_printf(out, " and %zu more", n_devices - 1);
    xl__str_add(out, ", ");
    describe_driver(set, out);
    xl__str_printf(
        out, ", clbench %s, %s", version_of(set, "version"),
        json_text_at(json_object_get(f->document, "environment"), "date"));
    if (set->other)
        xl__str_printf(out, ", %s", set->other);
}

void compare_describe_relation(const struct comparison *c, struct xl__str *out)
{
    switch (compare_relation(&c->a, &c->b)) {
    case RELATION_SAME:
        xl__str_add(out, "The same device, driver and clbench version.");
        break;
    case RELATION_PROGRAM:
        xl__str_printf(out,
                       "The same device and driver, another clbench: %s with "
                       "library %s, and %s with %s.",
                       version_of(&c->a, "version"),
                       version_of(&c->a, "library"),
                       version_of(&c->b, "version"),
                       version_of(&c->b, "library"));
        break;
    case RELATION_DRIVER:
    case RELATION_PLATFORM:
        xl__str_add(out, "Two drivers on the same chip: ");
        describe_driver(&c->a, out);
        xl__str_add(out, " and ");
        describe_driver(&c->b, out);
        xl__str_add(out, ".");
        break;
    case RELATION_DEVICE:
        xl__str_add(out, "Different devices.");
        break;
    }
}

/* Appends the deviation that a variance of logarithms means, in percent. */
static void add_percent(double log_noise, struct xl__str *out)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, expm1(sqrt(log_noise)));
    xl__str_add(out, text);
}

static void add_factor(double factor, struct xl__str *out)
{
    xl__str_printf(out, factor < 10 ? "%.2f" : "%.0f", factor);
}

/* Names the op with the largest noise, if it is much larger than that of all
 * rows. */
static void describe_noisiest_op(const struct comparison *c,
                                 struct xl__str *out)
{
    static const double much = 4; /* ratio of variances: twice the deviation */
    size_t worst = 0;
    for (size_t i = 1; i < c->n_ops; i++)
        if (c->noise.op[i] > c->noise.op[worst])
            worst = i;
    if (c->n_ops == 0 || c->noise.op[worst] <= much * c->noise.all)
        return;
    xl__str_printf(out, ", %s by ", c->ops[worst].op);
    add_percent(c->noise.op[worst], out);
}

void compare_describe_noise(const struct comparison *c, struct xl__str *out)
{
    xl__str_add(out, c->noise.source == NOISE_ASSUMED
                         ? "Equal measurements are assumed to differ by "
                         : "Equal measurements differ by ");
    add_percent(c->noise.all, out);
    describe_noisiest_op(c, out);
    switch (c->noise.source) {
    case NOISE_FROM_REPEATS:
        xl__str_add(out, ", by the passes over the rows");
        if (c->noise.excess > 1) {
            xl__str_add(out, " and by the scatter of the rows, which is ");
            add_factor(sqrt(c->noise.excess), out);
            xl__str_add(out, " times as large");
        }
        xl__str_add(out, ".");
        break;
    case NOISE_FROM_ROWS:
        xl__str_add(out, ", by the scatter of the rows; files of suites, or "
                         "several files of each, a1.json,a2.json, measure "
                         "it.");
        break;
    case NOISE_ASSUMED:
        xl__str_add(out, "; give --noise, or several files of each, "
                         "a1.json,a2.json, to measure it.");
        break;
    }
}

/* "1.48x slower", "1.20x faster" */
static void describe_ratio(double ratio, struct xl__str *out)
{
    add_factor(ratio < 1 ? 1 / ratio : ratio, out);
    xl__str_add(out, ratio < 1 ? "x faster" : "x slower");
}

void compare_describe_common(const struct comparison *c, struct xl__str *out)
{
    const struct ratio all = compare_common(c);
    if (all.call != CALL_SLOWER && all.call != CALL_FASTER)
        return;
    xl__str_add(out, "Everything is ");
    describe_ratio(all.ratio, out);
    xl__str_printf(out,
                   " in b (%.2f..%.2f): machine, clock or driver. Rows are "
                   "judged by what is beyond that. ",
                   all.lo, all.hi);
}

static bool is_different(enum call call)
{
    return call == CALL_SLOWER || call == CALL_FASTER;
}

void compare_describe_findings(const struct comparison *c, struct xl__str *out)
{
    for (size_t i = 0; i < c->n_ops; i++) {
        const struct op_mean *op = &c->ops[i];
        size_t n = 0;
        if (!is_different(op->mean.call))
            continue;
        for (enum call k = 0; call_has_interval(k); k++)
            n += op->n_call[k];
        xl__str_printf(out, "%s: b is ", op->op);
        describe_ratio(op->mean.ratio, out);
        xl__str_printf(out, " (%zu of %zu rows).\n", op->n_call[op->mean.call],
                       n);
    }
    for (size_t i = 0; i < c->n_compared; i++) {
        const struct pair *p = &c->pairs[i];
        if (!is_different(p->ratio.call) ||
            c->ops[p->shift.op].mean.call == p->ratio.call)
            continue;
        xl__str_printf(out, "%s: b is ", p->label);
        describe_ratio(p->ratio.ratio, out);
        xl__str_add(out, ".\n");
    }
}

/* Reports a load above 1.5 times the number of cores. */
static void describe_load(const struct result_set *set, char letter,
                          struct xl__str *out)
{
    static const double busy = 1.5;
    const json_t *host = json_object_get(set->files[0].document, "host");
    const double load = json_number_value(json_object_get(host, "load"));
    const double cores = json_number_value(json_object_get(host, "cores"));
    if (cores > 0 && load > busy * cores)
        xl__str_printf(out,
                       "The machine of %c was busy: load %.1f on %.0f cores. ",
                       letter, load, cores);
}

/* Lists the environment variables that differ between the two files. */
static void describe_variables(const struct comparison *c, struct xl__str *out)
{
    const json_t *of[2];
    const struct result_set *sets[2] = {&c->a, &c->b};
    const char *name = NULL;
    json_t *value = NULL;
    size_t n = 0;
    for (int i = 0; i < 2; i++)
        of[i] = json_object_get(
            json_object_get(sets[i]->files[0].document, "environment"),
            "variables");
    for (int i = 0; i < 2; i++)
        json_object_foreach((json_t *)(uintptr_t)of[i], name, value)
        {
            const json_t *other = json_object_get(of[1 - i], name);
            if ((i == 1 && other) || json_equal(value, other))
                continue;
            xl__str_printf(
                out, "%s%s",
                n++ > 0 ? ", " : "Different environment variables: ", name);
        }
    if (n > 0)
        xl__str_add(out, ". ");
}

void compare_describe_conditions(const struct comparison *c,
                                 struct xl__str *out)
{
    describe_load(&c->a, 'a', out);
    describe_load(&c->b, 'b', out);
    describe_variables(c, out);
}

void compare_describe_calls(const struct comparison *c, struct xl__str *out)
{
    xl__str_printf(out, "%zu rows compared:", c->n_compared);
    for (enum call k = 0; k < N_CALLS; k++)
        if (c->all.n_call[k] > 0 || k <= CALL_SAME)
            xl__str_printf(out, "%s %zu %s", k > 0 ? "," : "",
                           c->all.n_call[k], call_name(k));
    xl__str_add(out, ".");
}
