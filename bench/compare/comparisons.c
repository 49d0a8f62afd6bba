/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the result files named on the command line into result sets, and
 * builds the comparisons between them. Two result sets on the same devices are
 * compared row by row, so are the two sides of `clbench ab`. Otherwise each device and each library of every set
 * becomes a result set of its own, and all are compared case by case with the
 * first device of the first set. */
#include "compare/comparisons.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "compare/rounds.h"

/* -- files ---------------------------------------------------------------- */

/* Reads one file of a comma-separated list. */
static bool read_file(struct comparisons *s, const char *path, size_t len,
                      char *why, size_t cap)
{
    struct xl__str name = {0};
    if (s->n_files == COMPARISONS_MAX_FILES) {
        snprintf(why, cap, "too many result files: at most %d",
                 COMPARISONS_MAX_FILES);
        return false;
    }
    xl__str_add_n(&name, path, len);
    xl__str_add(&name, "");
    char *path_copy = xl__str_steal(&name);
    s->paths[s->n_files] = path_copy;
    if (!path_copy) {
        snprintf(why, cap, "out of memory");
        return false;
    }
    return result_file_read(path_copy, &s->files[s->n_files++], why, cap);
}

/* -- two sides in a file -------------------------------------------------- */

/* Adds a side of a document of `clbench ab` as a file. */
static bool add_side(struct comparisons *s, const json_t *both, size_t side,
                     char *why, size_t cap)
{
    struct xl__str name = {0};
    json_t *document = rounds_side(both, side);
    xl__str_printf(&name, "'%s'",
                   rounds_setup(both, side));
    char *path = xl__str_steal(&name);
    s->paths[s->n_files] = path;
    if (!path || !document) {
        json_decref(document);
        snprintf(why, cap, "out of memory");
        return false;
    }
    s->set[side].n_files++;
    return result_file_from(document, path, &s->files[s->n_files++], why, cap);
}

/* Makes the sides of n documents two sets. */
static bool read_sides(struct comparisons *s, json_t *const *both, size_t n,
                       char *why, size_t cap)
{
    *s = (struct comparisons){.n_sets = 2, .is_paired = true};
    for (size_t side = 0; side < 2; side++) {
        s->set[side].files = &s->files[s->n_files];
        for (size_t i = 0; i < n; i++)
            if (!add_side(s, both[i], side, why, cap))
                return false;
    }
    return true;
}

bool comparisons_read_sides(struct comparisons *s, const json_t *both,
                            char *why, size_t cap)
{
    json_t *one = json_incref((json_t *)(uintptr_t)both);
    const bool fine = read_sides(s, &one, 1, why, cap);
    json_decref(one);
    return fine;
}

static bool has_sides(const struct comparisons *s)
{
    bool has = s->n_sets == 1 && 2 * s->n_files <= COMPARISONS_MAX_FILES;
    for (size_t i = 0; i < s->n_files; i++)
        has = has && json_object_get(s->files[i].document, "sides");
    return has;
}

/* Replaces the files of the only set, which have two sides each, by these. */
static bool split_files(struct comparisons *s, char *why, size_t cap)
{
    json_t *both[COMPARISONS_MAX_FILES];
    const size_t n = s->n_files;
    for (size_t i = 0; i < n; i++)
        both[i] = json_incref(s->files[i].document);
    comparisons_clear(s);
    const bool fine = read_sides(s, both, n, why, cap);
    for (size_t i = 0; i < n; i++)
        json_decref(both[i]);
    return fine;
}

bool comparisons_read(struct comparisons *s, const char *const *names,
                      size_t n, char *why, size_t cap)
{
    *s = (struct comparisons){.n_files = 0};
    for (size_t i = 0; i < n && i < COMPARISONS_MAX_SETS; i++) {
        struct result_set *set = &s->set[s->n_sets++];
        *set = (struct result_set){.files = &s->files[s->n_files]};
        for (const char *at = names[i]; at;) {
            const size_t len = strcspn(at, ",");
            if (!read_file(s, at, len, why, cap))
                return false;
            set->n_files++;
            at = at[len] ? at + len + 1 : NULL;
        }
    }
    return !has_sides(s) || split_files(s, why, cap);
}

bool comparisons_add_reference(struct comparisons *s, const char *name,
                               char *why, size_t cap)
{
    if (s->n_files == COMPARISONS_MAX_FILES ||
        s->n_sets == COMPARISONS_MAX_SETS) {
        snprintf(why, cap, "too many result files: at most %d",
                 COMPARISONS_MAX_SETS);
        return false;
    }
    struct result_file *file = &s->files[s->n_files++];
    s->set[s->n_sets++] = (struct result_set){.files = file, .n_files = 1};
    s->is_paired = false;
    return result_file_read_reference(name, file, why, cap);
}

/* -- comparisons ---------------------------------------------------------- */

/* True if a file has rows of peer libraries that were measured interleaved, or
 * a single result set has rows of other libraries. */
static bool has_peers(const struct comparisons *s)
{
    bool has = false;
    for (size_t i = 0; i < s->n_files; i++)
        has = has || result_has_peers(&s->files[i]);
    for (size_t i = 0; i < s->n_files; i++)
        for (size_t j = 0; s->n_sets == 1 && j < s->files[i].n_rows; j++)
            has = has || s->files[i].rows[j].is_other;
    return has;
}

static bool has_device(const struct result_file *f, const char *device)
{
    for (size_t i = 0; i < f->n_rows; i++)
        if (strcmp(f->rows[i].device, device) == 0)
            return true;
    return false;
}

/* True if every device of a is in b as well. Files with one device each match
 * whatever the device. */
static bool share_devices(const struct result_file *a,
                          const struct result_file *b)
{
    if (a->n_devices == 1 && b->n_devices == 1)
        return true;
    for (size_t i = 0; i < a->n_rows; i++)
        if (!has_device(b, a->rows[i].device))
            return false;
    return true;
}

/* Adds a comparison; beyond COMPARISONS_MAX they are dropped. */
static bool add_comparison(struct comparisons *s, const struct result_set *a,
                           const struct result_set *b,
                           const struct compare_options *how)
{
    return s->n == COMPARISONS_MAX ||
           compare_make(&s->list[s->n++], a, b, how);
}

/* Adds one comparison with `base` for each device and library of a result set,
 * except `base` itself. */
static bool add_devices_and_libraries(struct comparisons *s,
                                      const struct result_set *base,
                                      const struct result_set *set,
                                      const struct compare_options *how)
{
    const struct result_file *f = &set->files[0];
    bool has_other = false;
    for (size_t i = 0; i < f->n_rows; i++)
        has_other = has_other || f->rows[i].is_other;
    for (size_t i = 0; i < f->n_rows; i++) {
        struct result_set one = *set;
        const struct result_row *row = &f->rows[i];
        one.device = row->device;
        one.other = row->is_other ? row->variant : NULL;
        bool is_known = !one.other && (set->files == base->files
                                           ? !strcmp(one.device, base->device)
                                           : has_other);
        for (size_t j = 0; j < i && !is_known; j++)
            is_known = !strcmp(f->rows[j].device, row->device) &&
                       f->rows[j].is_other == row->is_other &&
                       (!row->is_other ||
                        xl__streq(f->rows[j].variant, row->variant));
        if (!is_known && !add_comparison(s, base, &one, how))
            return false;
    }
    return true;
}

bool comparisons_make(struct comparisons *s, const struct compare_options *how)
{
    struct compare_options cases = *how;
    s->margin = how->margin;
    struct result_set base = s->set[0];
    if (s->is_paired) {
        cases.is_paired = true;
        return add_comparison(s, &base, &s->set[1], &cases);
    }
    if (s->n_sets == 2 && !has_peers(s) &&
        share_devices(base.files, s->set[1].files))
        return add_comparison(s, &base, &s->set[1], how);
    cases.by_case = s->is_table = true;
    base.device = base.files->n_rows > 0 ? base.files->rows[0].device : "";
    for (size_t i = 0; i < s->n_sets; i++)
        if (!add_devices_and_libraries(s, &base, &s->set[i], &cases))
            return false;
    return true;
}

void comparisons_clear(struct comparisons *s)
{
    for (size_t i = 0; i < s->n; i++)
        compare_clear(&s->list[i]);
    for (size_t i = 0; i < s->n_files; i++)
        result_file_clear(&s->files[i]);
    for (size_t i = 0; i < COMPARISONS_MAX_FILES; i++)
        free(s->paths[i]);
    s->n = s->n_files = 0;
}
