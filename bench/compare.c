/* SPDX-License-Identifier: Apache-2.0 */
/* Two result files against each other: which rows belong together, and the
 * ratio of their times. */
#include "compare.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "json_values.h"

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

bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct pair *out)
{
    const json_t *pairs = json_object_get(file->document, "pairs");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        if (!xl__streq(json_text_at(pair, "theirs"), theirs->id))
            continue;
        out->ratio = json_number_value(json_object_get(pair, "ratio"));
        out->lo = json_number_value(json_object_get(pair, "lo"));
        out->hi = json_number_value(json_object_get(pair, "hi"));
        return out->ratio > 0;
    }
    return false;
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
