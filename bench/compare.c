/* SPDX-License-Identifier: Apache-2.0 */
/* Two result files against each other. A file comes from anywhere, so each
 * member's type is checked; samples that are no positive numbers make the row
 * one without times. */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/str.h"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

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
            if (*text_of(dev, names[j]))
                return text_of(dev, names[j]);
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
    row->id = text_of(in, "id");
    row->verdict = text_of(in, "verdict");
    row->variant = text_of(in, "variant");
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
    f->device = text_of(json_array_get(devices, 0), "name");
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
    out->document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!out->document) {
        snprintf(why, cap, "'%s' is not JSON: line %d: %s", path, error.line,
                 error.text);
        return false;
    }
    if (!xl__streq(text_of(out->document, "schema"), "clbench/1"))
        return wrong(out, why, cap, "is not a result of clbench (clbench/1)");
    return read_rows(out, why, cap);
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

static bool fits(const struct result_row *a, const struct result_row *b,
                 bool any_device)
{
    return strcmp(a->id, b->id) == 0 &&
           (any_device || strcmp(a->device, b->device) == 0);
}

const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b)
{
    bool any_device = a->n_devices == 1 && b->n_devices == 1;
    size_t turn = 0;
    for (size_t j = 0; j < i; j++)
        turn += fits(&a->rows[i], &a->rows[j], any_device);
    for (size_t j = 0; j < b->n_rows; j++)
        if (fits(&a->rows[i], &b->rows[j], any_device) && turn-- == 0)
            return &b->rows[j];
    return NULL;
}

const char *result_device_name(const struct result_file *file,
                               const struct result_row *row)
{
    const json_t *devices = json_object_get(file->document, "devices");
    const json_t *index = json_object_get(row->json, "device");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *dev = json_array_get(devices, i);
        if (json_equal(json_object_get(dev, "index"), index))
            return text_of(dev, "name");
    }
    return file->device;
}

static double median_of(const struct result_row *row)
{
    return xl__summarise(row->ns, row->n).median;
}

/* The fastest row of the case of `row`; NULL: none was timed. */
static const struct result_row *fastest(const struct result_file *f,
                                        const struct result_row *row,
                                        bool any_device)
{
    const struct result_row *best = NULL;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct result_row *r = &f->rows[i];
        if (strcmp(r->only_case, row->only_case) == 0 &&
            (any_device || strcmp(r->device, row->device) == 0) &&
            result_is_timed(r) && (!best || median_of(r) < median_of(best)))
            best = r;
    }
    return best;
}

const struct result_row *results_match_case(const struct result_file *a,
                                            size_t i,
                                            const struct result_file *b)
{
    const bool any_device = a->n_devices == 1 && b->n_devices == 1;
    const struct result_row *row = &a->rows[i];
    return fastest(a, row, any_device) == row ? fastest(b, row, any_device)
                                              : NULL;
}

bool result_has_peers(const struct result_file *file)
{
    return json_array_size(json_object_get(file->document, "pairs")) > 0;
}

bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct pair *out)
{
    const json_t *pairs = json_object_get(file->document, "pairs");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        if (!xl__streq(text_of(pair, "theirs"), theirs->id))
            continue;
        out->ratio = json_number_value(json_object_get(pair, "ratio"));
        out->lo = json_number_value(json_object_get(pair, "lo"));
        out->hi = json_number_value(json_object_get(pair, "hi"));
        return out->ratio > 0;
    }
    return false;
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
    const char *dtype = text_of(json, "dtype");
    xl_row_init(out, text_of(json, "op"), text_of(json, "variant"));
    copy_settings(json_object_get(json, "shape"), out, xl_row_shape, NULL);
    copy_settings(json_object_get(json, "params"), out, xl_row_param,
                  xl_row_param_text);
    out->cold = xl__streq(text_of(json, "cache"), "cold");
    for (int i = 0; i < XL_N_DTYPES; i++)
        if (xl__streq(xl_dtype_name((xl_dtype)i), dtype))
            out->dtype = (xl_dtype)i;
}

bool result_is_timed(const struct result_row *row)
{
    return row->n > 0 && (xl__streq(row->verdict, "ok") ||
                          xl__streq(row->verdict, "suspicious"));
}

/* Resampling fewer tells nothing: of one sample it makes an interval of no
 * width. */
enum { FEWEST_SAMPLES = 5 };

void pair_measure(struct pair *pair)
{
    pair->a_ns = xl__summarise(pair->a->ns, pair->a->n).median;
    pair->b_ns = xl__summarise(pair->b->ns, pair->b->n).median;
    xl__ratio_interval(pair->b->ns, pair->b->n, pair->a->ns, pair->a->n,
                       &pair->ratio, &pair->lo, &pair->hi);
    if (pair->a->n < FEWEST_SAMPLES || pair->b->n < FEWEST_SAMPLES)
        pair->lo = pair->hi = NAN;
}

bool pair_is_slower(const struct pair *pair, double percent)
{
    static const double whole = 100.0;
    return pair->lo > 1.0 + percent / whole;
}
