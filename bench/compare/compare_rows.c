/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of result files: which is which in another file, and what of them is
 * compared. */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "compare/compare.h"
#include "results/json.h"

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

static bool is_of_side(const struct side *side, const struct result_row *row)
{
    if (side->device && strcmp(row->device, side->device) != 0)
        return false;
    return side->other ? xl__streq(row->variant, side->other)
                       : !row->is_other;
}

const struct result_row *side_fastest(const struct side *side, size_t i_file,
                                      const struct result_row *row)
{
    const struct result_file *f = &side->files[i_file];
    const struct result_row *best = NULL;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct result_row *r = &f->rows[i];
        if (strcmp(r->case_id, row->case_id) == 0 &&
            is_of_side(side, r) && result_is_timed(r) &&
            (!best || median_of(r) < median_of(best)))
            best = r;
    }
    return best;
}

const struct result_row *side_again(const struct side *side,
                                    const struct result_row *row,
                                    size_t i_file, bool by_case)
{
    if (i_file == 0)
        return row;
    if (by_case)
        return side_fastest(side, i_file, row);
    return results_match(&side->files[0], (size_t)(row - side->files[0].rows),
                         &side->files[i_file]);
}

bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct ratio *out)
{
    const json_t *pairs = json_object_get(file->document, "pairs");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        if (!xl__streq(json_text_at(pair, "theirs"), theirs->id))
            continue;
        out->ratio = json_number_value(json_object_get(pair, "ratio"));
        out->lo = json_number_value(json_object_get(pair, "lo"));
        out->hi = json_number_value(json_object_get(pair, "hi"));
        return out->lo > 0 && out->ratio >= out->lo && out->hi >= out->ratio &&
               isfinite(out->hi);
    }
    return false;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

double result_figure(const struct result_row *row, double *value,
                     const char **unit)
{
    static const char probe[] = "probe_";
    const char *in = json_text_at(row->json, "unit");
    const double figure = result_number(row, NULL, "value");
    const bool is_time = strcmp(in, "s") == 0 || strcmp(in, "ns") == 0;
    const bool is_rate = ends_in(in, "/s");
    *value = median_of(row);
    *unit = "ns";
    if (strncmp(row->id, probe, sizeof probe - 1) != 0 || !(figure > 0) ||
        !isfinite(figure) || !(is_time || is_rate))
        return log(*value);
    *value = figure;
    *unit = in;
    return is_time ? log(figure) : -log(figure);
}

struct ratio ratio_of(const struct shift *shift, double margin_percent)
{
    const double edge = log1p(margin_percent / 100);
    struct ratio r = {.ratio = exp(shift->log_ratio),
                      .lo = exp(shift->lo),
                      .hi = exp(shift->hi),
                      .call = CALL_AMBIGUOUS};
    if (shift->lo >= -edge && shift->hi <= edge)
        r.call = CALL_SAME;
    else if (shift->lo > 0 && shift->log_ratio > edge)
        r.call = CALL_SLOWER;
    else if (shift->hi < 0 && shift->log_ratio < -edge)
        r.call = CALL_FASTER;
    return r;
}

bool pair_is_rejected(const struct pair *pair)
{
    return pair->a && pair->b && result_is_timed(pair->a) &&
           (xl__streq(pair->b->verdict, "rejected") ||
            xl__streq(pair->b->verdict, "error"));
}

bool pair_is_variant_changed(const struct pair *pair)
{
    return pair->a && pair->b &&
           !xl__streq(pair->a->variant, pair->b->variant);
}
