/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what limits a run. For every resource that the run uses, its least
 * time is computed from the count and the rate measured on this device,
 *
 *     need = amount / rate * ways / fill
 *
 * with `ways` for conflicts or branches that repeat the work and `fill` for
 * compute units without work. The largest need explains the run; if `ways` or
 * `fill` makes it long, that cause is named instead of the resource. A share
 * that no count explains is stated, and nothing is guessed for it. Source:
 * the roofline model (Williams, Waterman, Patterson 2009) with a ceiling for
 * each resource. */
#include <crosslane/measure/row.h>

#include <math.h>

#include "base/stats.h"
#include "base/str.h"
#include "device/device.h"
#include "device/peak_rates.h"
#include "sampling/conditions.h"
#include "sampling/sampler.h"

static const double ns_per_s = 1e9;
/* A cause is named if it makes a need so many times as long. */
static const double notable = 1.5;
/* The least share of the time that the largest need must explain. */
static const double explained = 0.5;
/* Share of a cache: a smaller working set stays in it; a larger one may be
 * evicted, by other users too. */
static const double stays = 0.25;
/* One compute unit can use so many times its share of what units share. */
static const double reach = 2;
/* Later runs over the first; a machine's usual variation stays below. */
static const double throttled = 1.15;
/* So much of a run is all of it: rates vary, and one that was measured under
 * the same power limit explains no more. */
static const double explained_well = 0.85;
/* Items that a compute unit holds at most, where that is unknown. */
static const double items_most = 2048;

/* What a run needs of one resource. */
struct need {
    xl_limiter limiter; /* named, unless a cause lengthens the need */
    xl_limiter cause;   /* what makes `ways` more than 1 */
    double amount;
    const char *unit; /* "flop", "B", or what is counted: "launches" */
    double rate;      /* of the whole device, per second; 0: unknown */
    double ways;      /* how often the work is repeated */
    double fill;      /* share of the rate that the groups can use */
    xl_source source; /* of the rate */
};

struct run_needs {
    const xl_device *dev;
    const struct xl__limits *l;
    const xl_counts *counts;
    double fill; /* share of the units' time with a work-group */
    struct need need[2 * XL_N_LIMITERS];
    unsigned n;
};

/* The larger value; the other one if one is unknown. */
static double max_known(double x, double least)
{
    return x >= least || isnan(least) ? x : least;
}

/* The least time of a need, with its cause. */
static double need_ns(const struct need *n)
{
    return n->amount / n->rate * ns_per_s * n->ways / n->fill;
}

/* The limiter to name: the largest cause, or the resource itself. */
static xl_limiter need_limiter(const struct need *n)
{
    const double idle = 1 / n->fill;
    if (max_known(n->ways, idle) < notable)
        return n->limiter;
    return n->ways >= idle ? n->cause : XL_LIMITER_GROUPS;
}

static const struct {
    const char *name, *advice;
} limiters[XL_N_LIMITERS] = {
#define LIMITER(id, name, advice) [XL_LIMITER_##id] = {name, advice},
    XL_LIMITER_MAP(LIMITER)
#undef LIMITER
};

const char *xl_limiter_name(xl_limiter limiter)
{
    return (unsigned)limiter < XL_N_LIMITERS ? limiters[limiter].name : "?";
}

const char *xl_limiter_advice(xl_limiter limiter)
{
    return (unsigned)limiter < XL_N_LIMITERS ? limiters[limiter].advice : "";
}

/* -- numbers with units --------------------------------------------------- */

/* Prints three digits with a unit prefix by thousands. */
static void print_scaled(struct xl__str *out, double value,
                         const char *const *units, unsigned n)
{
    static const double step = 1e3, rounds_up = 999.5;
    unsigned i = 0;
    while (i + 1 < n && value >= rounds_up) {
        value /= step;
        i++;
    }
    xl__str_printf(out, "%.3g %s", value, units[i]);
}

static void print_time(struct xl__str *out, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    print_scaled(out, ns, units, sizeof units / sizeof *units);
}

static void print_amount(struct xl__str *out, double value, const char *unit)
{
    static const char *const flop[] = {"flop",  "kFLOP", "MFLOP",
                                       "GFLOP", "TFLOP", "PFLOP"};
    static const char *const flop_s[] = {"flop/s",  "kFLOP/s", "MFLOP/s",
                                         "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    static const char *const bytes_s[] = {"B/s",  "kB/s", "MB/s",
                                          "GB/s", "TB/s", "PB/s"};
    static const char *const counts[] = {"", "thousand ", "million ",
                                         "billion ", "trillion "};
    static const struct {
        const char *unit;
        const char *const *names;
    } scales[] = {
        {"flop", flop}, {"flop/s", flop_s}, {"B", bytes}, {"B/s", bytes_s}};
    for (unsigned i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (!xl__streq(unit, scales[i].unit))
            continue;
        print_scaled(out, value, scales[i].names, sizeof flop / sizeof *flop);
        return;
    }
    print_scaled(out, value, counts, sizeof counts / sizeof *counts);
    xl__str_add(out, unit);
}

/* -- a need as text ------------------------------------------------------- */

static bool is_scaled(const char *unit)
{
    return xl__streq(unit, "flop") || xl__streq(unit, "B");
}

/* Prints the rate of a need: counts per second, or the time of each if that is
 * a nanosecond or more. */
static void print_rate(const struct need *n, struct xl__str *out)
{
    if (!is_scaled(n->unit) && n->rate < ns_per_s) {
        xl__str_add(out, "of ");
        print_time(out, ns_per_s / n->rate);
        return;
    }
    xl__str_add(out, "at ");
    print_amount(out, n->rate,
                 !is_scaled(n->unit)          ? "a second"
                 : xl__streq(n->unit, "flop") ? "flop/s"
                                              : "B/s");
}

static void print_need(const struct need *n, const xl_counts *counts,
                       double units, struct xl__str *out)
{
    static const double percent = 100;
    static const double shown = 0.99; /* above this fill all units count as
                                         busy */
    const double ns = need_ns(n);
    xl__str_printf(out, "%s: ", xl_limiter_name(need_limiter(n)));
    if (need_limiter(n) != n->limiter)
        xl__str_printf(out, "%s, ", xl_limiter_name(n->limiter));
    print_amount(out, n->amount, n->unit);
    if (n->ways > 1)
        xl__str_printf(out, ", %.3g times over,", n->ways);
    xl__str_add(out, " ");
    print_rate(n, out);
    if (n->fill < shown)
        xl__str_printf(out, ", %.3g %% of it with %.0f group%s on %.0f units,",
                       percent * n->fill, counts->groups,
                       counts->groups > 1 ? "s" : "", units);
    const bool is_within = ns <= counts->ns;
    xl__str_add(out, is_within ? " need " : " would need ");
    print_time(out, ns);
    xl__str_add(out, is_within ? " of " : ", more than the ");
    print_time(out, counts->ns);
    if (is_within)
        xl__str_printf(out, " (%.0f %%)", percent * ns / counts->ns);
    else
        xl__str_add(out, " it took: here the rate is higher, or not all of "
                         "it is done");
}

/* -- resources ------------------------------------------------------------ */

static void add_need(struct run_needs *c, struct need need)
{
    need.ways = max_known(need.ways, 1);
    need.fill = need.fill > 0 ? need.fill : 1;
    if (need.amount > 0 && need.rate > 0)
        c->need[c->n++] = need;
}

/* Adds a count whose rate is a fact. */
static void add_counted_need(struct run_needs *c, xl_limiter limiter,
                             double amount, const char *unit,
                             enum xl__fact_id fact, double fill)
{
    add_need(c, (struct need){.limiter = limiter,
                              .amount = amount,
                              .unit = unit,
                              .rate = xl__num(c->l, fact),
                              .fill = fill,
                              .source = c->l->used[fact].source});
}

/* Adds a count whose time each is a fact. */
static void add_timed_need(struct run_needs *c, xl_limiter limiter,
                           double amount, const char *unit,
                           enum xl__fact_id fact)
{
    add_need(c, (struct need){.limiter = limiter,
                              .amount = amount,
                              .unit = unit,
                              .rate = ns_per_s / xl__num(c->l, fact),
                              .source = c->l->used[fact].source});
}

/* The share of units that have a work-group, averaged over time: the last wave
 * of groups leaves some idle. */
static double find_fill(const struct xl__limits *l, double groups)
{
    const double units = xl__num(l, XL__F_compute_units);
    if (!(groups > 0) || !(units > 0))
        return 1;
    return groups / (ceil(groups / units) * units);
}

static void add_flop_need(struct run_needs *c, const xl_flop *f)
{
    const bool is_matrix = f->engine == XL_ENGINE_MATRIX;
    xl_roof roof = {.dtype = f->dtype, .engine = f->engine,
                    .terms = f->terms};
    xl_bound peak;
    if (!is_matrix) /* types narrower than f64 are accumulated in f32 */
        roof.dtype = f->dtype == XL_F64 ? XL_F64 : XL_F32;
    if (!(f->count > 0) ||
        xl_roofline_bound(c->dev, &roof, 1, 0, &peak) != XL_OK)
        return;
    add_need(c, (struct need){.limiter = is_matrix ? XL_LIMITER_ENGINE
                                                   : XL_LIMITER_FMA,
                              .cause = XL_LIMITER_DIVERGENCE,
                              .amount = f->count,
                              .unit = "flop",
                              .rate = peak.value,
                              .ways = c->counts->branch_ways,
                              .fill = c->fill,
                              .source = peak.source});
}

/* Conversions, at the most an instruction of the FMA units each: of two flop.
 */
static void add_conversion_need(struct run_needs *c)
{
    const xl_roof roof = {.dtype = XL_F32};
    xl_bound peak;
    if (!(c->counts->conversions > 0) ||
        xl_roofline_bound(c->dev, &roof, 1, 0, &peak) != XL_OK)
        return;
    add_need(c, (struct need){.limiter = XL_LIMITER_CONVERT,
                              .amount = c->counts->conversions,
                              .unit = "conversions",
                              .rate = peak.value / 2,
                              .fill = c->fill,
                              .source = peak.source});
}

/* Does a cache hold a working set? One of unknown size does not. */
static bool cache_holds(const struct xl__limits *l, enum xl__fact_id size,
                        double bytes)
{
    return bytes <= xl__num(l, size);
}

/* The level that serves the DRAM traffic: the last-level cache if it easily
 * holds the working set, or if the rate exceeds that of DRAM. */
static xl_level find_serving_level(const struct run_needs *c)
{
    const xl_counts *w = c->counts;
    const double bytes = w->bytes[XL_LEVEL_DRAM];
    const double set = w->footprint_bytes > 0 ? w->footprint_bytes : bytes;
    const double dram = xl__num(c->l, XL__F_copy_bytes_per_s);
    const bool is_faster = bytes / w->ns * ns_per_s > dram;
    const bool is_kept =
        cache_holds(c->l, XL__F_llc_bytes, set / stays) ||
        (is_faster && cache_holds(c->l, XL__F_llc_bytes, set));
    return is_kept && !w->is_cold && xl__num(c->l, XL__F_llc_bytes_per_s) > 0
               ? XL_LEVEL_LLC
               : XL_LEVEL_DRAM;
}

static void add_level_need(struct run_needs *c, xl_level level, double bytes)
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
    /* Reading may be faster than copying. */
    if (level == XL_LEVEL_DRAM)
        peak.value =
            max_known(peak.value, xl__num(c->l, XL__F_read_bytes_per_s));
    add_need(c, (struct need){
                    .limiter = names[level],
                    .cause = XL_LIMITER_BANKS,
                    .amount = bytes,
                    .unit = "B",
                    .rate = peak.value,
                    .ways = level == XL_LEVEL_LOCAL ? c->counts->bank_ways : 1,
                    .fill = is_own ? c->fill : fmin(1, c->fill * reach),
                    .source = peak.source});
}

static void add_memory_needs(struct run_needs *c)
{
    const xl_counts *w = c->counts;
    const xl_level from = find_serving_level(c);
    for (unsigned level = 0; level < XL_N_LEVELS; level++) {
        double bytes = w->bytes[level];
        if (level == XL_LEVEL_DRAM && from != XL_LEVEL_DRAM)
            bytes = 0;
        if (level == (unsigned)from)
            bytes = max_known(bytes, w->bytes[XL_LEVEL_DRAM]);
        add_level_need(c, (xl_level)level, bytes);
    }
}

/* Spills: private memory is served by the unit's cache, the last-level cache
 * or DRAM, whichever holds that of all resident items. */
static void add_spill_need(struct run_needs *c)
{
    const xl_counts *w = c->counts;
    const double units = max_known(xl__num(c->l, XL__F_compute_units), 1);
    const double items = w->groups * w->wg_size;
    const double held = w->resident > 0 ? w->resident * w->wg_size
                                        : items_most;
    const double set =
        w->private_bytes * fmin(held, max_known(items / units, 1));
    const double bytes =
        w->spill_bytes > 0 ? w->spill_bytes : 2 * w->private_bytes * items;
    enum xl__fact_id from = XL__F_copy_bytes_per_s;
    if (!(w->private_bytes > 0))
        return;
    if (cache_holds(c->l, XL__F_llc_bytes, set * units) &&
        xl__num(c->l, XL__F_llc_bytes_per_s) > 0)
        from = XL__F_llc_bytes_per_s;
    if (cache_holds(c->l, XL__F_l1_bytes, set) &&
        xl__num(c->l, XL__F_l1_bytes_per_s) > 0)
        from = XL__F_l1_bytes_per_s;
    add_counted_need(c, XL_LIMITER_SPILLS, bytes, "B", from,
                     from == XL__F_l1_bytes_per_s ? c->fill : 1);
}

static void add_all_needs(struct run_needs *c)
{
    const xl_counts *w = c->counts;
    const double units = max_known(xl__num(c->l, XL__F_compute_units), 1);
    const double side_by_side = units * max_known(w->resident, 1);
    if (!xl__is(c->l, XL__F_has_zero_copy)) {
        add_counted_need(c, XL_LIMITER_TRANSFER, w->upload_bytes, "B",
                         XL__F_upload_bytes_per_s, 1);
        add_counted_need(c, XL_LIMITER_TRANSFER, w->download_bytes, "B",
                         XL__F_download_bytes_per_s, 1);
    }
    add_timed_need(c, XL_LIMITER_LAUNCH, w->launches,
                   w->launches > 1 ? "launches" : "launch", XL__F_launch_ns);
    add_memory_needs(c);
    for (unsigned i = 0; i < XL_MAX_FLOP_KINDS; i++)
        add_flop_need(c, &w->flop[i]);
    add_counted_need(c, XL_LIMITER_SPECIAL, w->special, "functions",
                     XL__F_special_per_s, c->fill);
    add_conversion_need(c);
    add_counted_need(c, XL_LIMITER_ATOMICS, w->atomics, "atomics",
                     XL__F_atomic_per_s, 1);
    add_counted_need(c, XL_LIMITER_ATOMICS, w->same_atomics,
                     "atomics on one word", XL__F_atomic_same_per_s, 1);
    add_timed_need(c, XL_LIMITER_BARRIERS,
                   w->barriers * ceil(w->groups / side_by_side),
                   "barriers one after another", XL__F_barrier_ns);
    add_spill_need(c);
}

/* -- the conclusion ------------------------------------------------------- */

static const struct need *find_longest(const struct run_needs *c)
{
    const struct need *best = NULL;
    for (unsigned i = 0; i < c->n; i++)
        if (!best || need_ns(&c->need[i]) > need_ns(best))
            best = &c->need[i];
    return best;
}

/* Needs of the same limiter are alternatives over time (upload and download,
 * kinds of arithmetic): the larger is stored. */
static void store_needs(const struct run_needs *c, xl_diagnosis *out)
{
    for (unsigned i = 0; i < c->n; i++) {
        double *at = &out->need_ns[need_limiter(&c->need[i])];
        const double ns = need_ns(&c->need[i]);
        *at = *at > ns ? *at : ns;
    }
}

static void find_limiter(const struct run_needs *c, xl_diagnosis *out,
                         struct xl__str *text)
{
    static const double percent = 100;
    const double units = xl__num(c->l, XL__F_compute_units);
    const struct need *most = find_longest(c);
    store_needs(c, out);
    if (!most) {
        xl__str_add(text, "no rate is known for what this work uses");
        return;
    }
    out->limiter = need_limiter(most);
    out->share = fmin(1, need_ns(most) / c->counts->ns);
    print_need(most, c->counts, units, text);
    if (out->share < explained)
        out->limiter = XL_LIMITER_UNKNOWN;
    if (out->share < explained_well)
        xl__str_printf(text, "; not explained: %.0f %%",
                       percent * (1 - out->share));
}

/* The host's part of a run, where it is notable: it adds to the device's time,
 * which the other counts explain. */
static void add_host(const xl_counts *w, struct xl__str *text)
{
    static const double percent = 100;
    const double ns = w->host_ns - w->ns;
    if (!(ns > (1 - explained_well) * w->host_ns))
        return;
    xl__str_add(text, "; host: ");
    print_time(text, ns);
    xl__str_add(text, " of ");
    print_time(text, w->host_ns);
    xl__str_printf(text, " by its clock (%.0f %%)", percent * ns / w->host_ns);
}

/* Names throttling: the lost time is the limiter. */
static void set_throttle(const struct run_needs *c, double lost,
                         xl_diagnosis *out)
{
    out->limiter = XL_LIMITER_THROTTLE;
    out->share = lost;
    out->need_ns[XL_LIMITER_THROTTLE] = lost * c->counts->ns;
}

/* Checks for throttling: later runs slower than the first, or a clock that was
 * low all the time, which explains what no rate does, since rates are measured
 * on the same device. */
static void check_throttle(const struct run_needs *c, xl_diagnosis *out,
                           struct xl__str *text)
{
    const xl_counts *w = c->counts;
    const bool has_drift = w->drift >= throttled;
    const bool is_held = w->clock > 0 && w->clock * throttled <= 1;
    struct xl__str before = *text;
    if (!has_drift && !(is_held && *w->held_by))
        return;
    *text = (struct xl__str){0};
    if (has_drift) {
        set_throttle(c, 1 - 1 / w->drift, out);
        xl__str_printf(text,
                       "later runs took %.2f times as long as the first: %s; "
                       "before that, ",
                       w->drift,
                       *w->held_by ? w->held_by
                                   : "the clock fell, or other load started");
    } else {
        if (!(out->share >= explained_well))
            set_throttle(c, 1 - w->clock, out);
        xl__str_printf(text, "%s; ", w->held_by);
    }
    xl__str_add(text, xl__str_text(&before));
    xl__str_clear(&before);
}

/* Notes the matrix engine if it could do this product and is unused. */
static void check_engine(const struct run_needs *c, xl_diagnosis *out)
{
    const xl_flop *f = &c->counts->flop[0];
    struct xl__str text = {0};
    const double rate = xl__rate_matrix(c->l, f->dtype);
    if (f->engine == XL_ENGINE_FMA && f->is_product && rate > 0) {
        print_amount(&text, rate, "flop/s");
        xl__str_printf(&text, " of %s on the matrix engine stay unused%s%s",
                       xl_dtype_name(f->dtype), f->why ? ": " : "",
                       f->why ? f->why : "");
        xl__strcpy(out->engine, sizeof out->engine, xl__str_text(&text));
    }
    xl__str_clear(&text);
}

static double sum_flop(const xl_counts *w)
{
    double flop = 0;
    for (unsigned i = 0; i < XL_MAX_FLOP_KINDS; i++)
        flop += w->flop[i].count;
    return flop;
}

static void store_rates(const xl_counts *w, xl_diagnosis *out)
{
    const double flop = sum_flop(w);
    const double bytes = w->bytes[XL_LEVEL_DRAM];
    out->flop_per_s = flop / w->ns * ns_per_s;
    out->bytes_per_s = bytes / w->ns * ns_per_s;
    if (w->host_ns > 0)
        out->busy = fmin(1, w->ns / w->host_ns);
    if (flop > 0 && bytes > 0)
        out->intensity = flop / bytes;
}

void xl_diagnose(const xl_device *dev, const xl_counts *counts,
                 xl_diagnosis *out)
{
    if (!out)
        return;
    xl_diagnosis_init(out);
    if (!dev || !counts || !(counts->ns > 0))
        return;
    struct run_needs c = {.dev = dev,
                          .l = &dev->seen,
                          .counts = counts,
                          .fill = find_fill(&dev->seen, counts->groups)};
    struct xl__str text = {0};
    store_rates(counts, out);
    add_all_needs(&c);
    find_limiter(&c, out, &text);
    add_host(counts, &text);
    check_throttle(&c, out, &text);
    check_engine(&c, out);
    xl__strcpy(out->evidence, sizeof out->evidence, xl__str_text(&text));
    xl__str_clear(&text);
}

static void store_clock(xl_counts *counts, const xl_conditions *c)
{
    struct xl__str text = {0};
    xl__strcpy(counts->held_by, sizeof counts->held_by, "");
    counts->clock = 0;
    if (!xl__conditions_has_alarm(c) && !xl__conditions_is_limited(c))
        return;
    counts->clock = xl__conditions_clock(c);
    xl__conditions_describe(c, &text);
    xl__strcpy(counts->held_by, sizeof counts->held_by, xl__str_text(&text));
    xl__str_clear(&text);
}

void xl_counts_set_times(xl_counts *counts, const xl_samples *s)
{
    if (!counts || !s)
        return;
    const unsigned third = s->runs / 3;
    counts->ns = s->median_ns;
    counts->host_ns =
        s->wall_clock ? 0 : s->median_ns + max_known(s->overhead_ns, 0);
    counts->drift = 1;
    store_clock(counts, &s->conditions);
    if (!(s->warnings & XL_WARN(CLOCK_DRIFT)) || third == 0)
        return;
    const struct xl__summary early = xl__summarise(s->ns, third);
    const struct xl__summary late =
        xl__summarise(s->ns + s->runs - third, third);
    counts->drift = late.median / early.median;
}
