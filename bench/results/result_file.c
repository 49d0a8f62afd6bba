/* SPDX-License-Identifier: Apache-2.0 */
/* A result file comes from anywhere, so each member's type is checked; samples
 * that are no positive numbers make the row one without times. */
#include "results/result_file.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/str.h"
#include "results/json.h"

static bool wrong(const struct result_file *f, char *why, size_t cap,
                  const char *what)
{
    snprintf(why, cap, "'%s' %s", f->path, what);
    return false;
}

/* Samples that are all times; else none. */
static bool read_samples(const json_t *list, struct result_row *row)
{
    size_t n = json_array_size(list);
    if (n == 0)
        return true;
    row->ns = xl__calloc(n, sizeof *row->ns);
    if (!row->ns)
        return false;
    for (size_t i = 0; i < n; i++) {
        double ns = json_number_value(json_array_get(list, i));
        if (!isfinite(ns) || ns <= 0)
            return true;
        row->ns[i] = ns;
    }
    row->n = n;
    return true;
}

/* The name that a device keeps from run to run. */
static const char *device_of(const json_t *devices, const json_t *index)
{
    static const char *const names[] = {"uuid", "pci", "name"};
    size_t n = json_array_size(devices);
    for (size_t i = 0; i < n; i++) {
        const json_t *dev = json_array_get(devices, i);
        if (!json_equal(json_object_get(dev, "index"), index))
            continue;
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            if (*json_text_at(dev, names[j]))
                return json_text_at(dev, names[j]);
    }
    return "";
}

static bool is_peer(const char *variant)
{
    static const char peer[] = "peer_";
    return strncmp(variant, peer, sizeof peer - 1) == 0;
}

/* A variant of ours that calls another library is its, where ours ran too; it
 * is ours where it is what the library chose. */
static void part_others(struct result_file *f)
{
    for (size_t i = 0; i < f->n_rows; i++) {
        struct result_row *row = &f->rows[i];
        row->is_other = is_peer(row->variant);
        for (size_t j = 0;
             j < f->n_rows && xl__streq(row->variant, "gemm_clblast"); j++)
            row->is_other =
                row->is_other ||
                (strcmp(f->rows[j].only_case, row->only_case) == 0 &&
                 strcmp(f->rows[j].variant, row->variant) != 0 &&
                 !is_peer(f->rows[j].variant));
    }
}

/* "op/variant/rest" without the variant. */
static char *case_of(const char *id)
{
    struct xl__str text = {0};
    const size_t op = strcspn(id, "/");
    const char *rest = id[op] ? strchr(id + op + 1, '/') : NULL;
    xl__str_add_n(&text, id, op);
    xl__str_add(&text, rest ? rest : "");
    return xl__str_steal(&text);
}

static bool read_row(struct result_row *row, const json_t *in)
{
    row->json = in;
    row->id = json_text_at(in, "id");
    row->verdict = json_text_at(in, "verdict");
    row->variant = json_text_at(in, "variant");
    row->only_case = case_of(row->id);
    const json_t *frac = json_object_get(json_object_get(in, "roof"), "frac");
    row->frac = json_is_number(frac) ? json_number_value(frac) : (double)NAN;
    return row->only_case &&
           read_samples(json_object_get(in, "samples_ns"), row);
}

static bool read_rows(struct result_file *f, char *why, size_t cap)
{
    const json_t *devices = json_object_get(f->document, "devices");
    const json_t *list = json_object_get(f->document, "rows");
    if (!json_is_array(devices) || !json_is_array(list))
        return wrong(f, why, cap, "has no devices or no rows");
    size_t n = json_array_size(list);
    f->n_devices = json_array_size(devices);
    f->device = json_text_at(json_array_get(devices, 0), "name");
    f->rows = xl__calloc(n ? n : 1, sizeof *f->rows);
    if (!f->rows)
        return wrong(f, why, cap, "is too large for the memory there is");
    for (size_t i = 0; i < n; i++) {
        const json_t *in = json_array_get(list, i);
        struct result_row *row = &f->rows[f->n_rows++];
        if (!read_row(row, in))
            return wrong(f, why, cap, "is too large for the memory there is");
        row->device = device_of(devices, json_object_get(in, "device"));
        if (!*row->id)
            return wrong(f, why, cap, "has a row without an id");
    }
    part_others(f);
    return true;
}

bool results_take(json_t *document, const char *path, struct result_file *out,
                  char *why, size_t cap)
{
    *out = (struct result_file){.path = path, .document = document};
    if (!xl__streq(json_text_at(document, "schema"), "clbench/1"))
        return wrong(out, why, cap, "is not a result of clbench (clbench/1)");
    return read_rows(out, why, cap);
}

bool results_read(const char *path, struct result_file *out, char *why,
                  size_t cap)
{
    char *text = NULL;
    size_t len = 0;
    json_error_t error;
    *out = (struct result_file){.path = path};
    errno = 0;
    if (xl__file_read(path, &text, &len) != XL_OK) {
        snprintf(why, cap, "'%s' cannot be read: %s", path,
                 errno ? strerror(errno) : "out of memory");
        return false;
    }
    json_t *document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!document) {
        snprintf(why, cap, "'%s' is not JSON: line %d: %s", path, error.line,
                 error.text);
        return false;
    }
    return results_take(document, path, out, why, cap);
}

void results_clear(struct result_file *file)
{
    for (size_t i = 0; i < file->n_rows; i++) {
        free(file->rows[i].ns);
        free(file->rows[i].only_case);
    }
    free(file->rows);
    json_decref(file->document);
    *file = (struct result_file){.path = NULL};
}

const json_t *result_device(const struct result_file *file,
                            const struct result_row *row)
{
    const json_t *devices = json_object_get(file->document, "devices");
    const json_t *index = json_object_get(row->json, "device");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *dev = json_array_get(devices, i);
        if (json_equal(json_object_get(dev, "index"), index))
            return dev;
    }
    return json_array_get(devices, 0);
}

const char *result_device_name(const struct result_file *file,
                               const struct result_row *row)
{
    return json_text_at(result_device(file, row), "name");
}

const json_t *result_part(const struct result_file *file,
                          const struct result_row *row)
{
    const json_t *parts = json_object_get(file->document, "parts");
    const json_t *i = json_object_get(row->json, "part");
    return json_is_integer(i) && json_integer_value(i) >= 0
               ? json_array_get(parts, (size_t)json_integer_value(i))
               : NULL;
}

double result_number(const struct result_row *row, const char *member,
                     const char *name)
{
    const json_t *in = member ? json_object_get(row->json, member) : row->json;
    const json_t *value = json_object_get(in, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const json_t *result_fact(const json_t *device, const char *name)
{
    const json_t *facts = json_object_get(device, "facts");
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *fact = json_array_get(facts, i);
        if (xl__streq(json_text_at(fact, "name"), name))
            return fact;
    }
    return NULL;
}

bool result_has_peers(const struct result_file *file)
{
    return json_array_size(json_object_get(file->document, "pairs")) > 0;
}

/* Numbers that were too large for JSON were written as text and stay so. */
static void copy_settings(const json_t *object, xl_row *out,
                          void (*number)(xl_row *, const char *, double),
                          void (*text)(xl_row *, const char *, const char *))
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (json_is_number(value))
            number(out, name, json_number_value(value));
        else if (json_is_string(value) && text)
            text(out, name, json_string_value(value));
    }
}

void result_identity(const struct result_row *row, xl_row *out)
{
    const json_t *json = row->json;
    const char *dtype = json_text_at(json, "dtype");
    xl_row_init(out, json_text_at(json, "op"), json_text_at(json, "variant"));
    copy_settings(json_object_get(json, "shape"), out, xl_row_shape, NULL);
    copy_settings(json_object_get(json, "params"), out, xl_row_param,
                  xl_row_param_text);
    out->cold = xl__streq(json_text_at(json, "cache"), "cold");
    for (int i = 0; i < XL_N_DTYPES; i++)
        if (xl__streq(xl_dtype_name((xl_dtype)i), dtype))
            out->dtype = (xl_dtype)i;
}

bool result_is_timed(const struct result_row *row)
{
    return row->n > 0 && (xl__streq(row->verdict, "ok") ||
                          xl__streq(row->verdict, "suspicious"));
}
