/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis in words: names and advice by one table, counts and rates with
 * their units. */
#include "measure/diagnosis/diagnose.h"

#include <math.h>

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

/* -- numbers -------------------------------------------------------------- */

/* Three digits, and a prefix by thousands. */
static void tell_scaled(struct xl__str *out, double value,
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

void xl__tell_time(struct xl__str *out, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    tell_scaled(out, ns, units, sizeof units / sizeof *units);
}

void xl__tell_amount(struct xl__str *out, double value, const char *unit)
{
    static const char *const flop[] = {"flop", "kFLOP", "MFLOP",
                                       "GFLOP", "TFLOP", "PFLOP"};
    static const char *const flop_s[] = {"flop/s",  "kFLOP/s", "MFLOP/s",
                                         "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    static const char *const bytes_s[] = {"B/s",  "kB/s", "MB/s",
                                          "GB/s", "TB/s", "PB/s"};
    static const char *const counts[] = {"",         "thousand ", "million ",
                                         "billion ", "trillion "};
    static const struct {
        const char *unit;
        const char *const *names;
    } scales[] = {
        {"flop", flop}, {"flop/s", flop_s}, {"B", bytes}, {"B/s", bytes_s}};
    for (unsigned i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (!xl__streq(unit, scales[i].unit))
            continue;
        tell_scaled(out, value, scales[i].names, sizeof flop / sizeof *flop);
        return;
    }
    tell_scaled(out, value, counts, sizeof counts / sizeof *counts);
    xl__str_add(out, unit);
}

/* -- needs ---------------------------------------------------------------- */

static bool is_scaled(const char *unit)
{
    return xl__streq(unit, "flop") || xl__streq(unit, "B");
}

/* What takes less than a nanosecond is told by how many there are a second. */
static void tell_rate(const struct xl__need *n, struct xl__str *out)
{
    static const double ns_per_s = 1e9;
    if (!is_scaled(n->unit) && n->rate < ns_per_s) {
        xl__str_add(out, "of ");
        xl__tell_time(out, ns_per_s / n->rate);
        return;
    }
    xl__str_add(out, "at ");
    xl__tell_amount(out, n->rate,
                    !is_scaled(n->unit)          ? "a second"
                    : xl__streq(n->unit, "flop") ? "flop/s"
                                                 : "B/s");
}

void xl__need_tell(const struct xl__need *n, const xl_counts *work,
                   double units, struct xl__str *out)
{
    static const double percent = 100;
    static const double shown = 0.99; /* of a fill: above it all are busy */
    const double ns = xl__need_ns(n);
    xl__str_printf(out, "%s: ", xl_limiter_name(xl__need_name(n)));
    if (xl__need_name(n) != n->limiter)
        xl__str_printf(out, "%s, ", xl_limiter_name(n->limiter));
    xl__tell_amount(out, n->amount, n->unit);
    if (n->ways > 1)
        xl__str_printf(out, ", %.3g times over,", n->ways);
    xl__str_add(out, " ");
    tell_rate(n, out);
    if (n->fill < shown)
        xl__str_printf(out, ", %.3g %% of it with %.0f group%s on %.0f units,",
                       percent * n->fill, work->groups,
                       work->groups > 1 ? "s" : "", units);
    const bool is_within = ns <= work->ns;
    xl__str_add(out, is_within ? " need " : " would need ");
    xl__tell_time(out, ns);
    xl__str_add(out, is_within ? " of " : ", more than the ");
    xl__tell_time(out, work->ns);
    if (is_within)
        xl__str_printf(out, " (%.0f %%)", percent * ns / work->ns);
    else
        xl__str_add(out, " it took: here the rate is higher, or not all of "
                         "it is done");
}
