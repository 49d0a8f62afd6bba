/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `tlb`: the reach of translation buffers. A fixed number of lines is
 * chased in random order, further apart from point to point: caches hold
 * them as before, so additional time is that of address translation. It
 * appears where the span exceeds the reach of a translation buffer, at any
 * page size. */
#include <math.h>

#include "base/str.h"
#include "measure/memory/cache_levels.h"
#include "measure/memory/pointer_chase.h"

/* More lines than a first-level cache holds, which may be virtually addressed,
 * and than a buffer has entries; few enough for the second-level cache. */
enum { LINES = 8192 };

static const double gib = 1 << 30, s_per_ns = 1e-9;

/* The largest span: buffers of GPUs reach far; filling it takes time on
 * CPUs. */
static size_t choose_span_bytes(const struct xl__session *p)
{
    static const double most_gib = 8, least_share = 4;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const double memory = xl__num_or(l, XL__F_global_mem_bytes, gib);
    if (!xl__is(l, XL__F_is_gpu))
        return xl__probe_far_bytes(l, true);
    return (size_t)fmin(memory / least_share, most_gib * gib);
}

/* Spacing in lines: 1 2 4 8 ... or, in full runs, 1 2 3 4 6 8 12 ... */
static size_t next_spacing(size_t spacing, bool quick)
{
    const bool is_power = (spacing & (spacing - 1)) == 0;
    if (quick || spacing == 1)
        return spacing * 2;
    return is_power ? spacing / 2 * 3 : spacing / 3 * 4;
}

static xl_status measure_curve(struct xl__session *p, struct xl__chase *chase,
                               struct xl__cache_point *curve, unsigned *n)
{
    xl_status status = XL_OK;
    const size_t dense = LINES * chase->line_bytes;
    bool is_sound = true;
    *n = 0;
    for (size_t spacing = 1;
         spacing * dense <= chase->bytes && *n < XL__MOST_POINTS;
         spacing = next_spacing(spacing, p->how->quick)) {
        const double bytes = (double)(spacing * dense);
        TRY(xl__chase_curve_point(
            p, chase,
            xl__ring_spread(spacing * dense, LINES, chase->line_bytes),
            "probe_tlb", bytes, &is_sound));
        curve[(*n)++] = (struct xl__cache_point){bytes, chase->ns};
    }
    *n = is_sound ? *n : 0;
fail:
    return status;
}

/* Emits a row for each step: the reach of a buffer. */
static void report_steps(struct xl__session *p,
                         const struct xl__cache_point *curve, unsigned n)
{
    struct xl__limits *l = &p->q->ctx->device->seen;
    struct xl__cache_level level[XL__MOST_LEVELS];
    const unsigned n_levels = xl__cache_levels_find(curve, n, level);
    for (unsigned i = 0; i + 1 < n_levels; i++) {
        char name[16];
        xl__strfmt(name, sizeof name, "tlb%u", i + 1);
        xl_row row = xl__probe_row("probe_tlb", name, "s");
        row.value = (level[i + 1].ns - level[i].ns) * s_per_ns;
        xl_row_found(&row, "size_bytes", round(level[i].bytes));
        if (level[i + 1].is_open)
            xl__row_mark(&row, XL_ROW_SUSPICIOUS,
                         "the curve still rises at its end: an address beyond "
                         "costs more than this");
        if (i == 0)
            xl__limits_measure(l, XL__F_tlb_bytes, round(level[i].bytes));
        xl__probe_emit(p, &row);
    }
    if (n_levels > 1)
        return;
    xl_row row = xl__probe_row("probe_tlb", "tlb", "s");
    xl__probe_unsupported(p, &row,
                          "no step: addresses cost the same over all of the "
                          "memory that was used");
}

static xl_status run_tlb_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct xl__chase chase;
    struct xl__cache_point curve[XL__MOST_POINTS];
    unsigned n;
    TRY(xl__chase_begin(p, choose_span_bytes(p), &chase));
    TRY(measure_curve(p, &chase, curve, &n));
    if (n > 0) /* otherwise rejected rows have the reason */
        report_steps(p, curve, n);
fail:
    xl__chase_end(&chase);
    return status;
}

const struct xl__probe xl__probe_tlb = {
    {"tlb",
     "How much memory can be addressed before translation costs extra: 8192 "
     "lines are loaded in random order, further apart from point to point. "
     "The caches see no difference; a step of the time is the reach of a "
     "translation buffer, and the value the additional time per load. Fooled "
     "by virtually addressed caches that hold more than 8192 lines, and by "
     "buffers that reach all available memory.",
     false},
    run_tlb_probe};
