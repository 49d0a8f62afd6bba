/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a result document and checks it. A result file comes from anywhere, so
 * each member's type is checked; samples that are no positive numbers make the
 * row one without times. What the file lacks is unknown. */
#include "results/result_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "base/stats.h"
#include "base/str.h"
#include "results/json.h"
#include "results/result.h"

/* Sets the message of a fault; returns false. */
static bool reject_file(const struct result_file *f, char *why, size_t cap,
                        const char *what)
{
    snprintf(why, cap, "'%s' %s", f->path, what);
    return false;
}

/* Reads the samples if all of them are times; else none. False: out of
 * memory. */
static bool read_times(const json_t *list, struct result_row *row)
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

/* The id of a device that does not change from run to run. */
static const char *find_device_id(const json_t *devices, const json_t *index)
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

/* Marks the rows of other libraries: those of peers, and those of
 * gemm_clblast, a variant of this library that calls CLBlast. The latter
 * counts as this library's where no other variant of it ran the case. */
static void mark_other_libraries(struct result_file *f)
{
    for (size_t i = 0; i < f->n_rows; i++) {
        struct result_row *row = &f->rows[i];
        row->is_other = is_peer(row->variant);
        for (size_t j = 0;
             j < f->n_rows && xl__streq(row->variant, "gemm_clblast"); j++)
            row->is_other = row->is_other ||
                            (strcmp(f->rows[j].case_id, row->case_id) == 0 &&
                             strcmp(f->rows[j].variant, row->variant) != 0 &&
                             !is_peer(f->rows[j].variant));
    }
}

/* "op/variant/rest" becomes "op/rest". */
static char *remove_variant(const char *id)
{
    struct xl__str text = {0};
    const size_t op = strcspn(id, "/");
    const char *rest = id[op] ? strchr(id + op + 1, '/') : NULL;
    xl__str_add_n(&text, id, op);
    xl__str_add(&text, rest ? rest : "");
    return xl__str_steal(&text);
}

/* Reads the further passes that have times; a file may have none. */
static bool read_passes(const json_t *list, struct result_row *row)
{
    const size_t n = json_array_size(list);
    if (n == 0)
        return true;
    row->pass = xl__calloc(n, sizeof *row->pass);
    if (!row->pass)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct result_row *pass = &row->pass[row->n_passes];
        const json_t *in = json_array_get(list, i);
        *pass = (struct result_row){.id = row->id,
                                    .device = row->device,
                                    .verdict = row->verdict,
                                    .variant = row->variant,
                                    .json = in};
        const bool is_read =
            read_times(json_object_get(in, "samples_ns"), pass);
        if (pass->n > 0)
            row->n_passes++;
        else
            free(pass->ns);
        if (!is_read)
            return false;
    }
    return true;
}

/* -- files of earlier versions -------------------------------------------- */

/* Is the parameter a setting? Settings are in a row's id, findings are not. */
static bool is_setting(const char *id, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = id; (at = strstr(at, name)); at++)
        if (at > id && strchr("/,", at[-1]) && at[len] == '=')
            return true;
    return false;
}

/* Adds what rows of earlier versions lack: which parameters were found, and
 * the interval of the median. */
static void complete_row(const struct result_row *row, json_t *json)
{
    json_t *found = json_array(), *value = NULL;
    const char *name = NULL;
    json_object_foreach(json_object_get(json, "params"), name, value)
        if (!is_setting(row->id, name))
            json_add(found, json_text(name));
    json_put(json, "found", found);
    if (row->n == 0)
        return;
    const struct xl__summary sum = xl__summarise(row->ns, row->n);
    json_put(json, "lo_ns", json_number(sum.lo));
    json_put(json, "hi_ns", json_number(sum.hi));
}

/* The entry of "parts" of a row; NULL: none. */
static json_t *find_part(const struct result_file *f, const json_t *row)
{
    const json_t *parts = json_object_get(f->document, "parts");
    const json_t *i = json_object_get(row, "part");
    return json_is_integer(i) && json_integer_value(i) >= 0
               ? json_array_get(parts, (size_t)json_integer_value(i))
               : NULL;
}

/* Adds the kind of rows to a section of an earlier version, from what one of
 * its rows found. */
static void complete_part(json_t *part, const json_t *row)
{
    const json_t *params = json_object_get(row, "params");
    if (!part || json_object_get(part, "kind"))
        return;
    for (unsigned k = 0; k < N_ROWS_KINDS; k++) {
        const char *finding = rows_kind_finding((enum rows_kind)k, 0);
        if (finding && json_is_number(json_object_get(params, finding)))
            json_put(part, "kind", json_string(rows_kind_name(k)));
    }
}

/* -- a row ---------------------------------------------------------------- */

static bool read_row(struct result_row *row, json_t *in)
{
    row->json = in;
    row->id = json_text_at(in, "id");
    row->verdict = json_text_at(in, "verdict");
    row->variant = json_text_at(in, "variant");
    row->case_id = remove_variant(row->id);
    const json_t *frac = json_object_get(json_object_get(in, "roof"), "frac");
    row->frac = json_is_number(frac) ? json_number_value(frac) : (double)NAN;
    if (!row->case_id ||
        !read_times(json_object_get(in, "samples_ns"), row) ||
        !read_passes(json_object_get(in, "passes"), row))
        return false;
    if (!json_object_get(in, "found"))
        complete_row(row, in);
    return true;
}

/* Reads devices and rows; false after a message. */
static bool read_rows(struct result_file *f, char *why, size_t cap)
{
    const json_t *devices = json_object_get(f->document, "devices");
    const json_t *list = json_object_get(f->document, "rows");
    if (!json_is_array(devices) || !json_is_array(list))
        return reject_file(f, why, cap, "has no devices or no rows");
    size_t n = json_array_size(list);
    f->n_devices = json_array_size(devices);
    f->device = json_text_at(json_array_get(devices, 0), "name");
    f->rows = xl__calloc(n ? n : 1, sizeof *f->rows);
    if (!f->rows)
        return reject_file(f, why, cap, "does not fit in memory");
    for (size_t i = 0; i < n; i++) {
        json_t *in = json_array_get(list, i);
        struct result_row *row = &f->rows[f->n_rows++];
        if (!read_row(row, in))
            return reject_file(f, why, cap, "does not fit in memory");
        row->device = find_device_id(devices, json_object_get(in, "device"));
        if (!*row->id)
            return reject_file(f, why, cap, "has a row without an id");
        complete_part(find_part(f, in), in);
    }
    mark_other_libraries(f);
    return true;
}

bool result_file_from(json_t *document, const char *path,
                      struct result_file *out, char *why, size_t cap)
{
    *out = (struct result_file){.path = path, .document = document};
    if (!xl__streq(json_text_at(document, "schema"), "clbench/1"))
        return reject_file(out, why, cap,
                           "is not a result of clbench (clbench/1)");
    return read_rows(out, why, cap);
}

static bool read_text(const char *text, size_t len, const char *path,
                      struct result_file *out, char *why, size_t cap)
{
    json_error_t error;
    json_t *document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (document)
        return result_file_from(document, path, out, why, cap);
    snprintf(why, cap, "'%s' is not JSON: line %d: %s", path, error.line,
             error.text);
    return false;
}

bool result_file_read(const char *path, struct result_file *out, char *why,
                      size_t cap)
{
    char *text = NULL;
    size_t len = 0;
    *out = (struct result_file){.path = path};
    errno = 0;
    if (xl__file_read(path, &text, &len) != XL_OK) {
        snprintf(why, cap, "'%s' cannot be read: %s", path,
                 errno ? strerror(errno) : "out of memory");
        return false;
    }
    const bool is_fine = read_text(text, len, path, out, why, cap);
    free(text);
    return is_fine;
}

bool result_file_read_reference(const char *name, struct result_file *out,
                                char *why, size_t cap)
{
    char *text = NULL;
    struct xl__str said = {0};
    *out = (struct result_file){.path = name};
    bool is_fine = embedded_read(reference_runs, "reference run", NULL, name,
                                 &text, &said);
    if (!is_fine)
        snprintf(why, cap, "%s", xl__str_text(&said));
    is_fine = is_fine && read_text(text, strlen(text), name, out, why, cap);
    free(text);
    xl__str_clear(&said);
    return is_fine;
}

void result_file_clear(struct result_file *file)
{
    for (size_t i = 0; i < file->n_rows; i++) {
        for (size_t k = 0; k < file->rows[i].n_passes; k++)
            free(file->rows[i].pass[k].ns);
        free(file->rows[i].pass);
        free(file->rows[i].ns);
        free(file->rows[i].case_id);
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

const json_t *result_section(const struct result_file *file,
                             const struct result_row *row)
{
    return find_part(file, row->json);
}

enum rows_kind result_rows_kind(const struct result_file *file,
                                const struct result_row *row)
{
    const char *kind = json_text_at(result_section(file, row), "kind");
    for (unsigned k = 0; k < N_ROWS_KINDS; k++)
        if (xl__streq(rows_kind_name(k), kind))
            return (enum rows_kind)k;
    return ROWS_USUAL;
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

void result_identity(const struct result_row *row, xl_row *out)
{
    xl_row_init(out, "", "");
    fields_read(identity_fields, row->json, out);
}

void result_row_read(const struct result_row *row, xl_row *out)
{
    xl_row_init(out, "", "");
    fields_read(row_fields, row->json, out);
    /* Older files have limiters that were guessed. */
    if (json_is_true(json_object_get(json_object_get(row->json, "diagnosis"),
                                     "is_likely")))
        out->diagnosis.limiter = XL_LIMITER_UNKNOWN;
}

bool result_is_timed(const struct result_row *row)
{
    return row->n > 0 && (xl__streq(row->verdict, "ok") ||
                          xl__streq(row->verdict, "suspicious"));
}
