/* SPDX-License-Identifier: Apache-2.0 */
/* Results of auditions in memory and in the program cache. The payload of an
 * entry is three lines: variant, date, times. */
#include "runtime/tuned/auditions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"

enum { MOST_CLASSES = 1024 };

struct xl__audition_entry {
    struct xl__audition_entry *next;
    char *key;
    bool is_claimed, has_ended;
    struct xl__audition_result *result; /* NULL: none */
};

void xl__auditions_init(struct xl__auditions *a, struct xl__store *store)
{
    xl__lock_init(&a->lock);
    xl__lock_init(&a->timing);
    xl__condition_init(&a->ended);
    a->store = store;
}

void xl__auditions_clear(struct xl__auditions *a)
{
    while (a->first) {
        struct xl__audition_entry *gone = a->first;
        a->first = gone->next;
        free(gone->result);
        free(gone->key);
        free(gone);
    }
    xl__condition_clear(&a->ended);
    xl__lock_clear(&a->timing);
    xl__lock_clear(&a->lock);
}

/* Moves a line from *at to `out`; false: it is absent or too long. */
static bool take_line(const char **at, const char *end, char *out, size_t cap)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop || stop == *at || (size_t)(stop - *at) >= cap)
        return false;
    memcpy(out, *at, (size_t)(stop - *at));
    out[stop - *at] = '\0';
    *at = stop + 1;
    return true;
}

/* NULL: the cache has none. */
static struct xl__audition_result *load_result(struct xl__store *store,
                                               const char *key)
{
    struct xl__entry entry = {NULL, 0, XL__UNTESTED};
    struct xl__audition_result *r = xl__calloc(1, sizeof *r);
    bool is_good = r && xl__store_get(store, key, &entry) && entry.payload;
    if (is_good) {
        const char *at = (const char *)entry.payload,
                   *end = at + entry.n_bytes;
        is_good = take_line(&at, end, r->variant, sizeof r->variant) &&
                  take_line(&at, end, r->date, sizeof r->date) &&
                  take_line(&at, end, r->times, sizeof r->times);
    }
    free(entry.payload);
    if (!is_good)
        free(r);
    return is_good ? r : NULL;
}

static void save_result(struct xl__store *store, const char *key,
                        const struct xl__audition_result *r)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%s\n%s\n%s\n", r->variant, r->date, r->times);
    if (!text.broken)
        xl__store_put(store, key, text.text, text.len, XL__UNTESTED);
    xl__str_clear(&text);
}

/* Under the lock. The class's audition, at first as the cache has it; NULL:
 * there are too many, or memory ran out. */
static struct xl__audition_entry *find_class(struct xl__auditions *a,
                                             const char *key)
{
    struct xl__audition_entry *at = a->first;
    while (at && strcmp(at->key, key) != 0)
        at = at->next;
    if (at || a->n == MOST_CLASSES)
        return at;
    at = xl__calloc(1, sizeof *at);
    if (!at || !(at->key = xl__strdup(key))) {
        free(at);
        return NULL;
    }
    at->result = load_result(a->store, key);
    at->has_ended = at->result != NULL;
    at->next = a->first;
    a->first = at;
    a->n++;
    return at;
}

const struct xl__audition_result *xl__audition_find(struct xl__auditions *a,
                                                    const char *key,
                                                    bool may_wait,
                                                    bool *is_pending)
{
    xl__lock_take(&a->lock);
    const struct xl__audition_entry *of = find_class(a, key);
    while (may_wait && of && of->is_claimed && !of->has_ended)
        xl__condition_wait(&a->ended, &a->lock);
    *is_pending = of && of->is_claimed && !of->has_ended;
    const struct xl__audition_result *result = of ? of->result : NULL;
    xl__lock_drop(&a->lock);
    return result;
}

struct xl__audition_entry *xl__audition_begin(struct xl__auditions *a,
                                              const char *key)
{
    xl__lock_take(&a->lock);
    struct xl__audition_entry *of = find_class(a, key);
    const bool is_free = of && !of->is_claimed && !of->has_ended;
    if (is_free)
        of->is_claimed = true;
    xl__lock_drop(&a->lock);
    return is_free ? of : NULL;
}

void xl__audition_end(struct xl__auditions *a,
                      struct xl__audition_entry *claimed,
                      const struct xl__audition_result *result)
{
    struct xl__audition_result *own =
        result ? xl__calloc(1, sizeof *own) : NULL;
    if (own)
        *own = *result;
    xl__lock_take(&a->lock);
    const bool is_first = !claimed->has_ended;
    if (is_first) {
        claimed->result = own;
        claimed->has_ended = true;
    }
    xl__condition_wake_all(&a->ended);
    xl__lock_drop(&a->lock);
    if (is_first && own)
        save_result(a->store, claimed->key, own);
    if (!is_first)
        free(own);
}
