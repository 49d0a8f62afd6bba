/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/portability_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"

static void add_device(struct study *s, const struct result_file *f,
                       const struct result_row *row)
{
    size_t i = 0;
    while (i < s->n_devices && strcmp(s->device[i], row->device) != 0)
        i++;
    if (i < s->n_devices || i == STUDY_MOST_DEVICES)
        return;
    s->device[i] = row->device;
    s->name[i] = result_device_name(f, row);
    s->n_devices++;
}

/* Probes measure the device, not what the library makes of it. */
static bool is_work(const struct result_row *row)
{
    static const char probe[] = "probe_";
    return strncmp(row->id, probe, sizeof probe - 1) != 0;
}

static bool add_case(struct study *s, const struct result_row *row)
{
    for (size_t i = 0; i < s->n_cases; i++)
        if (strcmp(s->first[i]->case_id, row->case_id) == 0)
            return true;
    if (!xl__grow(&s->first, &s->cap, s->n_cases + 1, sizeof *s->first))
        return false;
    s->first[s->n_cases++] = row;
    return true;
}

static bool is_subject(const struct study *s, const struct result_row *row)
{
    return s->variant ? strcmp(row->variant, s->variant) == 0
                      : !row->is_other;
}

/* A case on a device; efficiencies of 0: it did not run. */
struct standing {
    bool is_known; /* somebody tried */
    double roof, best;
};

static struct standing standing_of(const struct study *s, size_t i_case,
                                   size_t i_device)
{
    const struct result_row *own = NULL;
    double own_ns = INFINITY, best_ns = INFINITY;
    struct standing out = {.is_known = false};
    for (size_t f = 0; f < s->n_files; f++)
        for (size_t r = 0; r < s->files[f].n_rows; r++) {
            const struct result_row *row = &s->files[f].rows[r];
            if (strcmp(row->case_id, s->first[i_case]->case_id) != 0 ||
                strcmp(row->device, s->device[i_device]) != 0)
                continue;
            out.is_known = out.is_known || is_subject(s, row);
            if (!result_is_timed(row))
                continue;
            const double ns = xl__summarise(row->ns, row->n).median;
            best_ns = fmin(best_ns, ns);
            if (is_subject(s, row) && ns < own_ns) {
                own_ns = ns;
                own = row;
            }
        }
    if (own) {
        /* What caches serve may be above the roof of memory. */
        out.roof = fmin(own->frac, 1);
        out.best = best_ns / own_ns;
        if (isnan(own->frac))
            out.roof = (double)NAN;
    }
    return out;
}

bool study_efficiencies(const struct study *s, size_t i_case, double *roof,
                        double *best)
{
    for (size_t d = 0; d < s->n_devices; d++) {
        const struct standing at = standing_of(s, i_case, d);
        roof[d] = at.roof;
        best[d] = at.best;
        if (!at.is_known)
            return false;
    }
    return true;
}

bool study_gather(struct study *s)
{
    bool fine = true;
    for (size_t f = 0; f < s->n_files; f++)
        for (size_t r = 0; r < s->files[f].n_rows && fine; r++) {
            const struct result_row *row = &s->files[f].rows[r];
            if (!is_work(row))
                continue;
            add_device(s, &s->files[f], row);
            fine = add_case(s, row);
        }
    return fine;
}

void study_clear(struct study *s)
{
    free((void *)s->first);
}
