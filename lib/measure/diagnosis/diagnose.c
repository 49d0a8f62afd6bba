/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a run. Every resource that it asks something of gets the least
 * time it needs for that, at the rate that was measured here; the longest
 * explains the run. Where conflicts, branches or idle compute units make that
 * time long, they are named instead.
 * Source: the roofline model (Williams, Waterman, Patterson 2009) with a
 * ceiling for each resource. */
#include "measure/diagnosis/diagnose.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "device/device.h"
#include "device/peak_rates.h"
#include "sampling/conditions.h"
#include "sampling/sampler.h"

static const double ns_per_s = 1e9;
/* A cause that makes a need so many times as long is what is to be mended. */
static const double notable = 1.5;
/* Below this share of the time the largest need explains too little. */
static const double explained = 0.5;
/* Of a cache: a working set of up to that stays in it; a larger one may, or
 * may meet others that use it as well. */
static const double stays = 0.25;
/* One compute unit draws so many times its share of what all units share. */
static const double reach = 2;
/* Later runs over the first: a machine's usual unsteadiness stays below. */
static const double throttled = 1.15;
/* A rate that was measured under the same limit explains so much of a run. */
static const double explained_well = 0.85;
/* Items a compute unit wants at once, to have work while others wait, and
 * what it holds at most where nobody says. */
static const double items_wanted = 512, items_most = 2048;

struct counting {
    const xl_device *dev;
    const struct xl__limits *l;
    const xl_counts *work;
    double fill; /* share of the units' time that has a work-group */
    struct xl__need need[2 * XL_N_LIMITERS];
    unsigned n;
};

/* The larger one; the other where one is unknown. */
static double at_least(double x, double least)
{
    return x >= least || isnan(least) ? x : least;
}

double xl__need_ns(const struct xl__need *n)
{
    return n->amount / n->rate * ns_per_s * n->ways / n->fill;
}

xl_limiter xl__need_name(const struct xl__need *n)
{
    const double idle = 1 / n->fill;
    if (at_least(n->ways, idle) < notable)
        return n->limiter;
    return n->ways >= idle ? n->cause : XL_LIMITER_GROUPS;
}

/* -- resources ------------------------------------------------------------ */

static void ask(struct counting *c, struct xl__need need)
{
    need.ways = at_least(need.ways, 1);
    need.fill = need.fill > 0 ? need.fill : 1;
    if (need.amount > 0 && need.rate > 0)
        c->need[c->n++] = need;
}

/* A count at a rate that is a fact. */
static void ask_fact(struct counting *c, xl_limiter limiter, double amount,
                     const char *unit, enum xl__fact_id fact, double fill)
{
    ask(c, (struct xl__need){.limiter = limiter, .amount = amount,
                             .unit = unit, .rate = xl__num(c->l, fact),
                             .fill = fill,
                             .source = c->l->used[fact].source});
}

/* A count of things that take a time each. */
static void ask_each(struct counting *c, xl_limiter limiter, double amount,
                     const char *unit, enum xl__fact_id fact)
{
    ask(c, (struct xl__need){.limiter = limiter, .amount = amount,
                             .unit = unit,
                             .rate = ns_per_s / xl__num(c->l, fact),
                             .source = c->l->used[fact].source});
}

/* Compute units with a work-group, over their time: the last wave of groups
 * leaves some without. */
static double fill_of(const struct xl__limits *l, double groups)
{
    const double units = xl__num(l, XL__F_compute_units);
    if (!(groups > 0) || !(units > 0))
        return 1;
    return groups / (ceil(groups / units) * units);
}

static void ask_flop(struct counting *c, const xl_flop *f)
{
    const bool is_matrix = f->engine == XL_ENGINE_MATRIX;
    xl_roof roof = {.dtype = f->dtype, .engine = f->engine,
                    .terms = f->terms};
    xl_bound peak;
    if (!is_matrix) /* all that is narrower than f64 is summed in f32 */
        roof.dtype = f->dtype == XL_F64 ? XL_F64 : XL_F32;
    if (!(f->count > 0) ||
        xl_roofline_bound(c->dev, &roof, 1, 0, &peak) != XL_OK)
        return;
    ask(c, (struct xl__need){
               .limiter = is_matrix ? XL_LIMITER_ENGINE : XL_LIMITER_FMA,
               .cause = XL_LIMITER_DIVERGENCE, .amount = f->count,
               .unit = "flop", .rate = peak.value,
               .ways = c->work->branch_ways, .fill = c->fill,
               .source = peak.source});
}

/* Does a cache hold a working set? One of unknown size holds none. */
static bool keeps(const struct xl__limits *l, enum xl__fact_id size,
                  double bytes)
{
    return bytes <= xl__num(l, size);
}

/* The level that serves what the DRAM is asked for: the cache, where it holds
 * the set with ease, or where it must have, since the DRAM is slower. */
static xl_level server(const struct counting *c)
{
    const xl_counts *w = c->work;
    const double bytes = w->bytes[XL_LEVEL_DRAM];
    const double set = w->footprint_bytes > 0 ? w->footprint_bytes : bytes;
    const double dram = xl__num(c->l, XL__F_copy_bytes_per_s);
    const bool is_faster = bytes / w->ns * ns_per_s > dram;
    const bool is_kept = keeps(c->l, XL__F_llc_bytes, set / stays) ||
                         (is_faster && keeps(c->l, XL__F_llc_bytes, set));
    return is_kept && !w->is_cold && xl__num(c->l, XL__F_llc_bytes_per_s) > 0
               ? XL_LEVEL_LLC
               : XL_LEVEL_DRAM;
}

static void ask_level(struct counting *c, xl_level level, double bytes)
{
    static const xl_limiter names[XL_N_LEVELS] = {
        [XL_LEVEL_DRAM] = XL_LIMITER_DRAM, [XL_LEVEL_LLC] = XL_LIMITER_CACHE,
        [XL_LEVEL_L2] = XL_LIMITER_CACHE,  [XL_LEVEL_L1] = XL_LIMITER_CACHE,
        [XL_LEVEL_LOCAL] = XL_LIMITER_LOCAL};
    const bool is_own = level == XL_LEVEL_L1 || level == XL_LEVEL_LOCAL;
    const xl_roof roof = {.dtype = XL_F32, .level = level};
    xl_bound peak;
    if (!(bytes > 0) ||
        xl_roofline_bound(c->dev, &roof, 0, bytes, &peak) != XL_OK)
        return;
    /* Reading alone may be faster than copying. */
    if (level == XL_LEVEL_DRAM)
        peak.value = at_least(
            peak.value, xl__num(c->l, XL__F_read_bytes_per_s));
    ask(c, (struct xl__need){
               .limiter = names[level], .cause = XL_LIMITER_BANKS,
               .amount = bytes, .unit = "B", .rate = peak.value,
               .ways = level == XL_LEVEL_LOCAL ? c->work->bank_ways : 1,
               .fill = is_own ? c->fill : fmin(1, c->fill * reach),
               .source = peak.source});
}

static void ask_memory(struct counting *c)
{
    const xl_counts *w = c->work;
    const xl_level from = server(c);
    for (unsigned level = 0; level < XL_N_LEVELS; level++) {
        double bytes = w->bytes[level];
        if (level == XL_LEVEL_DRAM && from != XL_LEVEL_DRAM)
            bytes = 0;
        if (level == (unsigned)from)
            bytes = at_least(bytes, w->bytes[XL_LEVEL_DRAM]);
        ask_level(c, (xl_level)level, bytes);
    }
}

/* Private memory lies where a unit's cache, the last-level cache or only the
 * DRAM can hold what all items have at once. */
static void ask_spills(struct counting *c)
{
    const xl_counts *w = c->work;
    const double units = at_least(xl__num(c->l, XL__F_compute_units), 1);
    const double items = w->groups * w->wg_size;
    const double held = w->resident > 0 ? w->resident * w->wg_size
                                        : items_most;
    const double set =
        w->private_bytes * fmin(held, at_least(items / units, 1));
    const double bytes =
        w->spill_bytes > 0 ? w->spill_bytes : 2 * w->private_bytes * items;
    enum xl__fact_id from = XL__F_copy_bytes_per_s;
    if (!(w->private_bytes > 0))
        return;
    if (keeps(c->l, XL__F_llc_bytes, set * units) &&
        xl__num(c->l, XL__F_llc_bytes_per_s) > 0)
        from = XL__F_llc_bytes_per_s;
    if (keeps(c->l, XL__F_l1_bytes, set) &&
        xl__num(c->l, XL__F_l1_bytes_per_s) > 0)
        from = XL__F_l1_bytes_per_s;
    ask_fact(c, XL_LIMITER_SPILLS, bytes, "B", from,
             from == XL__F_l1_bytes_per_s ? c->fill : 1);
}

static void ask_all(struct counting *c)
{
    const xl_counts *w = c->work;
    const double units = at_least(xl__num(c->l, XL__F_compute_units), 1);
    const double side_by_side = units * at_least(w->resident, 1);
    if (!xl__is(c->l, XL__F_has_zero_copy)) {
        ask_fact(c, XL_LIMITER_TRANSFER, w->upload_bytes, "B",
                 XL__F_upload_bytes_per_s, 1);
        ask_fact(c, XL_LIMITER_TRANSFER, w->download_bytes, "B",
                 XL__F_download_bytes_per_s, 1);
    }
    ask_each(c, XL_LIMITER_LAUNCH, w->launches,
             w->launches > 1 ? "launches" : "launch", XL__F_launch_ns);
    ask_memory(c);
    for (unsigned i = 0; i < XL_MAX_FLOP_KINDS; i++)
        ask_flop(c, &w->flop[i]);
    ask_fact(c, XL_LIMITER_SPECIAL, w->special, "functions",
             XL__F_special_per_s, c->fill);
    ask_fact(c, XL_LIMITER_ATOMICS, w->atomics, "atomics",
             XL__F_atomic_per_s, 1);
    ask_fact(c, XL_LIMITER_ATOMICS, w->same_atomics, "atomics on one word",
             XL__F_atomic_same_per_s, 1);
    ask_each(c, XL_LIMITER_BARRIERS,
             w->barriers * ceil(w->groups / side_by_side), "barriers in turn",
             XL__F_barrier_ns);
    ask_spills(c);
}

/* -- the conclusion ------------------------------------------------------- */

static const struct xl__need *longest(const struct counting *c)
{
    const struct xl__need *best = NULL;
    for (unsigned i = 0; i < c->n; i++)
        if (!best || xl__need_ns(&c->need[i]) > xl__need_ns(best))
            best = &c->need[i];
    return best;
}

/* Up and down, and an op's kinds of arithmetic, follow one another. */
static void keep_needs(const struct counting *c, xl_diagnosis *out)
{
    for (unsigned i = 0; i < c->n; i++) {
        double *at = &out->need_ns[xl__need_name(&c->need[i])];
        const double ns = xl__need_ns(&c->need[i]);
        *at = *at > ns ? *at : ns;
    }
}

/* The counts leave most of the time open: what is it likely? A CPU's cores
 * need no items to wait by turns. */
static xl_limiter likely(const struct counting *c)
{
    const xl_counts *w = c->work;
    const double units = xl__num(c->l, XL__F_compute_units);
    const double items = w->groups * w->wg_size / units;
    if (w->private_bytes > 0 && xl__is(c->l, XL__F_is_gpu))
        return XL_LIMITER_SPILLS;
    if (items < items_wanted && xl__is(c->l, XL__F_is_gpu))
        return XL_LIMITER_GROUPS;
    return XL_LIMITER_LATENCY;
}

static void tell_likely(const struct counting *c, const xl_diagnosis *d,
                        struct xl__str *out)
{
    static const double percent = 100;
    const xl_counts *w = c->work;
    const double units = xl__num(c->l, XL__F_compute_units);
    xl__str_printf(out, "; %.0f %% is left open, likely ",
                   percent * (1 - d->share));
    if (d->limiter == XL_LIMITER_GROUPS)
        xl__str_printf(out, "too few groups: %.0f of %.0f items on %.0f "
                            "units",
                       w->groups, w->wg_size, units);
    else if (d->limiter == XL_LIMITER_SPILLS)
        xl__str_printf(out, "spills: %.0f B of private memory an item",
                       w->private_bytes);
    else
        xl__str_add(out, "latency: work that waits for its own results");
}

static void conclude(const struct counting *c, xl_diagnosis *out,
                     struct xl__str *text)
{
    const double units = xl__num(c->l, XL__F_compute_units);
    const struct xl__need *most = longest(c);
    keep_needs(c, out);
    if (!most) {
        xl__str_add(text, "no rate that this work needs is known here");
        return;
    }
    out->limiter = xl__need_name(most);
    out->share = fmin(1, xl__need_ns(most) / c->work->ns);
    xl__need_tell(most, c->work, units, text);
    if (out->share < explained) {
        out->limiter = likely(c);
        out->is_likely = true;
        tell_likely(c, out, text);
    }
}

/* Time lost is what limits; what limited what is left comes behind it. */
static void blame_clock(const struct counting *c, double lost,
                        xl_diagnosis *out)
{
    out->limiter = XL_LIMITER_THROTTLE;
    out->is_likely = false;
    out->share = lost;
    out->need_ns[XL_LIMITER_THROTTLE] = lost * c->work->ns;
}

/* Beside what limits the first runs, later ones lose what the clock lost. A
 * clock that was low all along is to blame for what no rate explains, since
 * rates are measured on the same device. */
static void see_throttle(const struct counting *c, xl_diagnosis *out,
                         struct xl__str *text)
{
    const xl_counts *w = c->work;
    const bool has_drift = w->drift >= throttled;
    const bool is_held = w->clock > 0 && w->clock * throttled <= 1;
    struct xl__str before = *text;
    if (!has_drift && !(is_held && *w->held_by))
        return;
    *text = (struct xl__str){0};
    if (has_drift) {
        blame_clock(c, 1 - 1 / w->drift, out);
        xl__str_printf(text,
                       "later runs took %.2f times as long as the first: %s; "
                       "before that, ",
                       w->drift,
                       *w->held_by ? w->held_by
                                   : "the clock fell, or others came");
    } else {
        if (!(out->share >= explained_well))
            blame_clock(c, 1 - w->clock, out);
        xl__str_printf(text, "%s; ", w->held_by);
    }
    xl__str_add(text, xl__str_text(&before));
    xl__str_clear(&before);
}

/* What is known of the engine that would multiply this. */
static void see_engine(const struct counting *c, xl_diagnosis *out)
{
    const xl_flop *f = &c->work->flop[0];
    struct xl__str text = {0};
    const double rate = xl__rate_matrix(c->l, f->dtype);
    if (f->engine == XL_ENGINE_FMA && f->is_product && rate > 0) {
        xl__tell_amount(&text, rate, "flop/s");
        xl__str_printf(&text, " of %s on the matrix engine stay unused%s%s",
                       xl_dtype_name(f->dtype), f->why ? ": " : "",
                       f->why ? f->why : "");
        xl__strcpy(out->engine, sizeof out->engine, xl__str_text(&text));
    }
    xl__str_clear(&text);
}

static double flop_of(const xl_counts *w)
{
    double flop = 0;
    for (unsigned i = 0; i < XL_MAX_FLOP_KINDS; i++)
        flop += w->flop[i].count;
    return flop;
}

static void keep_rates(const xl_counts *w, xl_diagnosis *out)
{
    const double flop = flop_of(w);
    const double bytes = w->bytes[XL_LEVEL_DRAM];
    out->flop_per_s = flop / w->ns * ns_per_s;
    out->bytes_per_s = bytes / w->ns * ns_per_s;
    if (w->host_ns > 0)
        out->busy = fmin(1, w->ns / w->host_ns);
    if (flop > 0 && bytes > 0)
        out->intensity = flop / bytes;
}

void xl_diagnose(const xl_device *dev, const xl_counts *work,
                 xl_diagnosis *out)
{
    if (!out)
        return;
    xl_diagnosis_init(out);
    if (!dev || !work || !(work->ns > 0))
        return;
    struct counting c = {.dev = dev, .l = &dev->limits, .work = work,
                         .fill = fill_of(&dev->limits, work->groups)};
    struct xl__str text = {0};
    keep_rates(work, out);
    ask_all(&c);
    conclude(&c, out, &text);
    see_throttle(&c, out, &text);
    see_engine(&c, out);
    xl__strcpy(out->evidence, sizeof out->evidence, xl__str_text(&text));
    xl__str_clear(&text);
}

static void see_clock(xl_counts *work, const xl_conditions *c)
{
    struct xl__str text = {0};
    xl__strcpy(work->held_by, sizeof work->held_by, "");
    work->clock = 0;
    if (!xl__conditions_alarm(c) && !xl__conditions_limited(c))
        return;
    work->clock = xl__conditions_clock(c);
    xl__conditions_tell(c, &text);
    xl__strcpy(work->held_by, sizeof work->held_by, xl__str_text(&text));
    xl__str_clear(&text);
}

void xl_counts_set_times(xl_counts *work, const xl_samples *s)
{
    const unsigned third = s->runs / 3;
    work->ns = s->median_ns;
    work->host_ns =
        s->wall_clock ? 0 : s->median_ns + at_least(s->overhead_ns, 0);
    work->drift = 1;
    see_clock(work, &s->conditions);
    if (!(s->warnings & XL_WARN(CLOCK_DRIFT)) || third == 0)
        return;
    const struct xl__summary early = xl__summarise(s->ns, third);
    const struct xl__summary late =
        xl__summarise(s->ns + s->runs - third, third);
    work->drift = late.median / early.median;
}
