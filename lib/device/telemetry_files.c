/* SPDX-License-Identifier: Apache-2.0 */
/* Readings out of files. Paths are looked for once, when a device is opened;
 * a look then only reads them. */
#include "device/telemetry_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/str.h"

enum {
    MOST_FILES = 512,
    MOST_COMPARED = 16 /* some cores tell enough, and each takes its time */
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

/* -- looking for them ------------------------------------------------------ */

/* What the walk through a path with stars carries. */
struct walk {
    struct files *files;
    const struct xl__file_row *row;
    const char *folder; /* so far, ending in '/' */
    const char *rest;   /* of the path */
};

/* Does the file "name" in the same folder say that it is what is wanted? */
static bool is_named(const char *path, const char *want)
{
    const char *slash = strrchr(path, '/');
    struct xl__str name = {0};
    char *bytes = NULL;
    size_t len = 0;
    if (!want || !slash)
        return true;
    xl__str_printf(&name, "%.*s/name", (int)(slash - path), path);
    const bool fits =
        !name.broken && xl__file_read(name.text, &bytes, &len) == XL_OK &&
        strncmp(bytes, want, strlen(want)) == 0;
    free(bytes);
    xl__str_clear(&name);
    return fits;
}

static void keep(struct files *f, const struct xl__file_row *row,
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

static void look(struct walk w);

static bool step_into(const char *name, void *walk)
{
    const struct walk *w = walk;
    const size_t star = strcspn(w->rest, "*");
    const char *tail = w->rest + star + 1;
    struct xl__str path = {0};
    if (strncmp(name, w->rest, star) != 0)
        return true;
    xl__str_printf(&path, "%s%s", w->folder, name);
    if (*tail == '/')
        xl__str_add(&path, "/");
    if (!path.broken && *tail == '/')
        look((struct walk){w->files, w->row, path.text, tail + 1});
    else if (!path.broken)
        keep(w->files, w->row, path.text);
    xl__str_clear(&path);
    return true;
}

/* Go down to the first name with a star, then into each that fits. */
static void look(struct walk w)
{
    struct xl__str folder = {0};
    const char *star = strchr(w.rest, '*');
    const char *cut = w.rest;
    xl__str_add(&folder, w.folder);
    if (!star) {
        xl__str_add(&folder, w.rest);
        if (!folder.broken)
            keep(w.files, w.row, folder.text);
        xl__str_clear(&folder);
        return;
    }
    for (const char *at = w.rest; at < star; at++)
        cut = *at == '/' ? at + 1 : cut;
    xl__str_add_n(&folder, w.rest, (size_t)(cut - w.rest));
    struct walk in = w;
    in.folder = xl__str_text(&folder);
    in.rest = cut;
    if (!folder.broken)
        (void)xl__dir_names(in.folder, step_into, &in);
    xl__str_clear(&folder);
}

/* By row, then by name: folders are listed in no order. */
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
        look((struct walk){f, &table->rows[i], base.text,
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

/* -- reading them ---------------------------------------------------------- */

static double first_number(const char *bytes, size_t len)
{
    char *end;
    const double value = strtod(bytes, &end);
    (void)len;
    return end == bytes ? NAN : value;
}

static double value_of(const struct found *f)
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

/* The row's files from `i` on, as one value; *next: the next row's first. */
static double merged(const struct files *f, size_t i, size_t *next)
{
    const struct xl__file_row *row = f->list[i].row;
    double all = NAN;
    for (*next = i; *next < f->n && f->list[*next].row == row; ++*next) {
        if ((row->merge == XL__FIRST && !isnan(all)) ||
            (row->merge == XL__MOST && *next - i >= MOST_COMPARED))
            continue;
        const double one = value_of(&f->list[*next]);
        if (isnan(all))
            all = one;
        else if (row->merge == XL__SUM && !isnan(one))
            all += one;
        else if (one > all)
            all = one;
    }
    return all;
}

static void tell_throttle(xl_reading *r, unsigned bits, const char *source)
{
    r->has_throttle = true;
    r->throttle |= bits;
    r->throttle_source = r->throttle_source ? r->throttle_source : source;
}

static void tell(const struct xl__file_row *row, double value, xl_reading *r)
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
        tell_throttle(r, value > 0 ? 1u << row->what : 0, row->path);
        break;
    case XL__TO_THROTTLE_NS:
        r->throttle_ns[row->what] = fmax(value, r->throttle_ns[row->what]);
        tell_throttle(r, 0, row->path);
        break;
    case XL__TO_THROTTLES:
        tell_throttle(r, (unsigned)value, row->path);
        break;
    }
}

void xl__files_read(void *kept, xl_reading *out)
{
    const struct files *f = kept;
    for (size_t i = 0, next; i < f->n; i = next) {
        const struct xl__file_row *row = f->list[i].row;
        const double value = merged(f, i, &next);
        tell(row, value, out);
    }
}
