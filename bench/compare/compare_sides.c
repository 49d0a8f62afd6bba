/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare_sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* -- files ---------------------------------------------------------------- */

static bool read_one(struct sides *s, const char *path, size_t len, char *why,
                     size_t cap)
{
    struct xl__str name = {0};
    if (s->n_files == SIDES_MOST_FILES) {
        snprintf(why, cap, "more than %d files", SIDES_MOST_FILES);
        return false;
    }
    xl__str_add_n(&name, path, len);
    xl__str_add(&name, "");
    char *kept = xl__str_steal(&name);
    s->paths[s->n_files] = kept;
    if (!kept) {
        snprintf(why, cap, "out of memory");
        return false;
    }
    return result_file_read(kept, &s->files[s->n_files++], why, cap);
}

bool sides_read(struct sides *s, const char *const *words, size_t n,
                char *why, size_t cap)
{
    *s = (struct sides){.n_files = 0};
    for (size_t i = 0; i < n && i < SIDES_MOST_WORDS; i++) {
        struct side *side = &s->word[s->n_words++];
        *side = (struct side){.files = &s->files[s->n_files]};
        for (const char *at = words[i]; at;) {
            const size_t len = strcspn(at, ",");
            if (!read_one(s, at, len, why, cap))
                return false;
            side->n_files++;
            at = at[len] ? at + len + 1 : NULL;
        }
    }
    return true;
}

/* -- who is compared with whom -------------------------------------------- */

static bool has_peers(const struct sides *s)
{
    bool has = false;
    for (size_t i = 0; i < s->n_files; i++)
        has = has || result_has_peers(&s->files[i]);
    for (size_t i = 0; i < s->n_files; i++)
        for (size_t j = 0; s->n_words == 1 && j < s->files[i].n_rows; j++)
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

/* Does every row of a find its device in b? One each are taken for each
 * other. */
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

static bool add(struct sides *s, const struct side *a, const struct side *b,
                const struct compare_options *how)
{
    return s->n == SIDES_MOST || compare_make(&s->list[s->n++], a, b, how);
}

/* One side of each device and library in a word. `base` itself is none. */
static bool add_entrants(struct sides *s, const struct side *base,
                         const struct side *word,
                         const struct compare_options *how)
{
    const struct result_file *f = &word->files[0];
    bool has_other = false;
    for (size_t i = 0; i < f->n_rows; i++)
        has_other = has_other || f->rows[i].is_other;
    for (size_t i = 0; i < f->n_rows; i++) {
        struct side side = *word;
        const struct result_row *row = &f->rows[i];
        side.device = row->device;
        side.other = row->is_other ? row->variant : NULL;
        bool is_known = !side.other && (word->files == base->files
                                            ? !strcmp(side.device,
                                                      base->device)
                                            : has_other);
        for (size_t j = 0; j < i && !is_known; j++)
            is_known = !strcmp(f->rows[j].device, row->device) &&
                       f->rows[j].is_other == row->is_other &&
                       (!row->is_other ||
                        xl__streq(f->rows[j].variant, row->variant));
        if (!is_known && !add(s, base, &side, how))
            return false;
    }
    return true;
}

bool sides_compare(struct sides *s, const struct compare_options *how)
{
    struct compare_options cases = *how;
    s->margin = how->margin;
    struct side base = s->word[0];
    if (s->n_words == 2 && !has_peers(s) &&
        share_devices(base.files, s->word[1].files))
        return add(s, &base, &s->word[1], how);
    cases.by_case = s->is_table = true;
    base.device = base.files->n_rows > 0 ? base.files->rows[0].device : "";
    for (size_t i = 0; i < s->n_words; i++)
        if (!add_entrants(s, &base, &s->word[i], &cases))
            return false;
    return true;
}

void sides_clear(struct sides *s)
{
    for (size_t i = 0; i < s->n; i++)
        compare_clear(&s->list[i]);
    for (size_t i = 0; i < s->n_files; i++)
        result_file_clear(&s->files[i]);
    for (size_t i = 0; i < SIDES_MOST_FILES; i++)
        free(s->paths[i]);
    s->n = s->n_files = 0;
}
