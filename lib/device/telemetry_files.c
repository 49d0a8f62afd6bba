/* SPDX-License-Identifier: Apache-2.0 */
/* Sensor values from system files. The paths are searched once, when a device
 * is opened; a reading then only reads the files that were found. */
#include "device/telemetry_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/str.h"

enum {
    MOST_FILES = 512,
    MOST_COMPARED = 16 /* files of a maximum: enough cores, at bounded cost */
};

struct found {
    const struct xl__file_row *row;
    char *path;
};

struct files {
    const struct xl__file_table *table;
    struct found *list;
    size_t n, cap;
};

/* -- search --------------------------------------------------------------- */

/* State of the search for files that match a path with stars. */
struct search {
    struct files *files;
    const struct xl__file_row *row;
    const char *folder; /* so far, ending in '/' */
    const char *rest;   /* of the path */
};

/* Does the file "name" in the folder of `path` start with `expected`? True for
 * NULL. */
static bool is_named(const char *path, const char *expected)
{
    const char *slash = strrchr(path, '/');
    struct xl__str name = {0};
    char *bytes = NULL;
    size_t len = 0;
    if (!expected || !slash)
        return true;
    xl__str_printf(&name, "%.*s/name", (int)(slash - path), path);
    const bool fits = !name.broken &&
                      xl__file_read(name.text, &bytes, &len) == XL_OK &&
                      strncmp(bytes, expected, strlen(expected)) == 0;
    free(bytes);
    xl__str_clear(&name);
    return fits;
}

static void add_file(struct files *f, const struct xl__file_row *row,
                     const char *path)
{
    if (f->n >= MOST_FILES || xl__path_access(path) < XL__READABLE ||
        !is_named(path, row->named) ||
        !xl__grow(&f->list, &f->cap, f->n + 1, sizeof *f->list))
        return;
    char *copy = xl__strdup(path);
    if (copy)
        f->list[f->n++] = (struct found){row, copy};
}

static void search_files(struct search w);

static bool search_below(const char *name, void *search)
{
    const struct search *w = search;
    const size_t star = strcspn(w->rest, "*");
    const char *tail = w->rest + star + 1;
    struct xl__str path = {0};
    if (strncmp(name, w->rest, star) != 0)
        return true;
    xl__str_printf(&path, "%s%s", w->folder, name);
    if (*tail == '/')
        xl__str_add(&path, "/");
    if (!path.broken && *tail == '/')
        search_files((struct search){w->files, w->row, path.text, tail + 1});
    else if (!path.broken)
        add_file(w->files, w->row, path.text);
    xl__str_clear(&path);
    return true;
}

/* Descends to the first name with a star, then into each folder that matches.
 */
static void search_files(struct search w)
{
    struct xl__str folder = {0};
    const char *star = strchr(w.rest, '*');
    const char *cut = w.rest;
    xl__str_add(&folder, w.folder);
    if (!star) {
        xl__str_add(&folder, w.rest);
        if (!folder.broken)
            add_file(w.files, w.row, folder.text);
        xl__str_clear(&folder);
        return;
    }
    for (const char *at = w.rest; at < star; at++)
        cut = *at == '/' ? at + 1 : cut;
    xl__str_add_n(&folder, w.rest, (size_t)(cut - w.rest));
    struct search in = w;
    in.folder = xl__str_text(&folder);
    in.rest = cut;
    if (!folder.broken)
        (void)xl__dir_names(in.folder, search_below, &in);
    xl__str_clear(&folder);
}

/* By row, then by path, since the order of a folder's names is arbitrary. */
static int by_row(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return strcmp(x->path, y->path);
}

void *xl__files_open(const struct xl__telemetry_source *me,
                     const struct xl__telemetry_target *at)
{
    const struct xl__file_table *table = me->data;
    const bool is_pci = strchr(table->base, '%') != NULL;
    const size_t cut = strcspn(table->base, "%");
    if (is_pci ? !at->pci : !at->is_host)
        return NULL;
    struct files *f = xl__calloc(1, sizeof *f);
    struct xl__str base = {0};
    if (!f)
        return NULL;
    f->table = table;
    xl__str_add(&base, at->root ? at->root : "");
    xl__str_add_n(&base, table->base, cut);
    if (is_pci)
        xl__str_printf(&base, "%s/", at->pci);
    for (unsigned i = 0; i < table->n && !base.broken; i++)
        search_files((struct search){f, &table->rows[i], base.text,
                                     table->rows[i].path});
    xl__str_clear(&base);
    if (f->n > 0)
        qsort(f->list, f->n, sizeof *f->list, by_row);
    return f;
}

void xl__files_close(void *kept)
{
    struct files *f = kept;
    for (size_t i = 0; i < f->n; i++)
        free(f->list[i].path);
    free(f->list);
    free(f);
}

/* -- reading -------------------------------------------------------------- */

static double first_number(const char *bytes, size_t len)
{
    char *end;
    const double value = strtod(bytes, &end);
    (void)len;
    return end == bytes ? NAN : value;
}

static double read_value(const struct found *f)
{
    const struct xl__file_row *row = f->row;
    char *bytes = NULL;
    size_t len = 0;
    double value = NAN;
    if (xl__file_read(f->path, &bytes, &len) == XL_OK)
        value = (row->parse ? row->parse : first_number)(bytes, len);
    free(bytes);
    return row->scale > 0 ? value * row->scale : value;
}

/* Combines the files of one row, from `i` on, into one value; *next is the
 * first file of the next row. */
static double read_row(const struct files *f, size_t i, size_t *next)
{
    const struct xl__file_row *row = f->list[i].row;
    double all = NAN;
    for (*next = i; *next < f->n && f->list[*next].row == row; ++*next) {
        if ((row->merge == XL__FIRST && !isnan(all)) ||
            (row->merge == XL__MOST && *next - i >= MOST_COMPARED))
            continue;
        const double one = read_value(&f->list[*next]);
        if (isnan(all))
            all = one;
        else if (row->merge == XL__SUM && !isnan(one))
            all += one;
        else if (one > all)
            all = one;
    }
    return all;
}

static void set_throttle(xl_reading *r, unsigned bits, const char *source)
{
    r->has_throttle = true;
    r->throttle |= bits;
    r->throttle_source = r->throttle_source ? r->throttle_source : source;
}

static void set_value(const struct xl__file_row *row, double value,
                      xl_reading *r)
{
    if (!(value >= 0))
        return;
    switch (row->to) {
    case XL__TO_SENSOR:
        xl__reading_set(r, (xl_sensor)row->what, value, row->path);
        break;
    case XL__TO_IDLE_NS:
        r->idle_ns = value;
        r->idle_source = row->path;
        break;
    case XL__TO_OWN_NS:
        r->own_ns = value;
        break;
    case XL__TO_UNITS:
        r->units = value > 0 ? value : 1;
        break;
    case XL__TO_THROTTLE:
        set_throttle(r, value > 0 ? 1u << row->what : 0, row->path);
        break;
    case XL__TO_THROTTLE_NS:
        r->throttle_ns[row->what] = fmax(value, r->throttle_ns[row->what]);
        set_throttle(r, 0, row->path);
        break;
    case XL__TO_THROTTLES:
        set_throttle(r, (unsigned)value, row->path);
        break;
    }
}

void xl__files_read(void *kept, xl_reading *out)
{
    const struct files *f = kept;
    for (size_t i = 0, next; i < f->n; i = next) {
        const struct xl__file_row *row = f->list[i].row;
        const double value = read_row(f, i, &next);
        set_value(row, value, out);
    }
}
