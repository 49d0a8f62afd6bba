/* SPDX-License-Identifier: Apache-2.0 */
/* An axis: what it can show, where its ticks are. Linear ticks are 1, 2 or 5
 * times a power of ten apart, logarithmic ones whole powers of the base; a
 * logarithmic axis too short for these has 1, 2 and 5 of each decade, or ticks
 * like a linear one. */
#include "charts/plot.h"

#include <math.h>
#include <stdio.h>

#include "cli/units.h"

/* Beyond these nothing was measured: it would only bend the axis. */
static const double least_shown = 1e-30, most_shown = 1e30;

struct plot_axis plot_axis(unsigned log_base, const char *unit,
                           const char *label)
{
    return (struct plot_axis){.from = INFINITY,
                              .to = -INFINITY,
                              .log_base = log_base,
                              .unit = unit,
                              .label = label};
}

bool plot_can_show(const struct plot_axis *a, double value)
{
    if (!isfinite(value) || fabs(value) > most_shown)
        return false;
    return a->log_base == 0 || value > least_shown;
}

void plot_axis_hold(struct plot_axis *a, double value)
{
    if (!plot_can_show(a, value))
        return;
    a->from = fmin(a->from, value);
    a->to = fmax(a->to, value);
}

/* An axis of one value gets some room around it as well. */
void plot_axis_widen(struct plot_axis *a)
{
    static const double margin = 0.04, alone = 1.5;
    if (a->from > a->to)
        return;
    if (a->log_base > 0) {
        const double factor = a->to > a->from
                                  ? pow(a->to / a->from, margin)
                                  : alone;
        a->from /= factor;
        a->to *= factor;
        return;
    }
    const double room =
        a->to > a->from ? margin * (a->to - a->from) : fabs(a->to) + 1;
    a->to += room;
    a->from = a->from >= 0 && a->from - room < 0 ? a->from : a->from - room;
}

/* -- ticks ---------------------------------------------------------------- */

static double nice_step(double least)
{
    static const double steps[] = {1, 2, 5, 10};
    const double decade = pow(10, floor(log10(least)));
    unsigned i = 0;
    /* A step that is meant to be whole may be a trifle less. */
    while (i < 3 && steps[i] * decade * (1 + 1e-9) < least)
        i++;
    return steps[i] * decade;
}

static unsigned linear_ticks(const struct plot_axis *a, unsigned most,
                             double *at)
{
    static const double trifle = 1e-9;
    const double step = nice_step((a->to - a->from) / (most - 1));
    const double first = ceil(a->from / step - trifle);
    unsigned n = 0;
    while (n < most && (first + n) * step <= a->to + trifle * step) {
        at[n] = (first + n) * step;
        n++;
    }
    return n;
}

/* Every so many powers. */
static unsigned power_ticks(const struct plot_axis *a, unsigned most,
                            double *at)
{
    static const double trifle = 1e-9;
    const double base = a->log_base;
    const double from = log(a->from) / log(base);
    const double to = log(a->to) / log(base);
    const double each = fmax(ceil((to - from) / (most - 1)), 1);
    const double first = ceil(from / each - trifle) * each;
    unsigned n = 0;
    while (n < most && first + n * each <= to + trifle) {
        at[n] = pow(base, first + n * each);
        n++;
    }
    return n;
}

/* 1, 2 and 5 of each decade; 0: more than there is room for. */
static unsigned decade_ticks(const struct plot_axis *a, unsigned most,
                             double *at)
{
    static const double parts[] = {1, 2, 5};
    unsigned n = 0;
    for (double decade = pow(10, floor(log10(a->from))); decade <= a->to;
         decade *= 10)
        for (unsigned i = 0; i < 3; i++) {
            const double value = parts[i] * decade;
            if (value < a->from || value > a->to)
                continue;
            if (n == most)
                return 0;
            at[n++] = value;
        }
    return n;
}

unsigned plot_ticks(const struct plot_axis *a, unsigned most,
                    double at[PLOT_MOST_TICKS])
{
    enum { FEW = 2, DECADES = 3 };
    unsigned n = 0;
    most = most > PLOT_MOST_TICKS ? PLOT_MOST_TICKS : most;
    if (most < FEW || !(a->to > a->from))
        return 0;
    if (a->log_base == 10 && log10(a->to / a->from) < DECADES)
        n = decade_ticks(a, most, at);
    if (n < FEW && a->log_base > 0)
        n = power_ticks(a, most, at);
    return n >= FEW ? n : linear_ticks(a, most, at);
}

void plot_format(char *out, size_t cap, double value, const char *unit)
{
    if (unit && unit[0] == '%')
        units_percent(out, cap, value);
    else
        units_format(out, cap, value, unit);
}
