/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_words.h"

#include <math.h>

#include "cli/console.h"
#include "cli/units.h"

static const double giga = 1e9, gibi = 1073741824.0;

void plan_print(FILE *to, struct xl__str *text)
{
    enum { INDENT = 2 };
    struct xl__str clean = {0};
    text_escape(&clean, xl__str_text(text));
    text_wrap(to, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&clean);
    xl__str_reset(text);
}

void plan_cell(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

void plan_say_params(struct xl__str *out, double params)
{
    static const double least = 1e6, most = 1e13;
    if (params < least || params >= most)
        xl__str_printf(out, "%.4g", params);
    else
        xl__str_printf(out, "%.4ge9", params / giga);
}

void plan_say_seconds(struct xl__str *out, double s)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, s, "s");
    xl__str_add(out, text);
}

void plan_say_bandwidth(struct xl__str *out, double bytes_per_s)
{
    xl__str_printf(out, "%.4g GB/s", bytes_per_s / giga);
}

void plan_say_peak(struct xl__str *out, double flop_per_s)
{
    static const double tera = 1e12;
    if (isnan(flop_per_s))
        xl__str_add(out, "an unknown peak");
    else
        xl__str_printf(out, "%.4g TFLOP/s", flop_per_s / tera);
}

static void say_giga(struct xl__str *out, double bytes)
{
    char text[UNITS_CAP];
    units_bytes(text, sizeof text, bytes);
    xl__str_add(out, text);
}

void plan_say_bytes(struct xl__str *out, double bytes)
{
    char text[UNITS_CAP];
    say_giga(out, bytes);
    units_number(text, sizeof text, bytes / gibi);
    xl__str_printf(out, " (%s GiB)", text);
}

const char *plan_bound_name(enum plan_bound by)
{
    static const char *const names[] = {[PLAN_BY_WEIGHTS] = "weights",
                                        [PLAN_BY_CACHE] = "cache",
                                        [PLAN_BY_COMPUTE] = "compute"};
    return names[by];
}

void plan_say_what(struct xl__str *out, const struct plan *p)
{
    const struct plan_model *m = &p->work.model;
    plan_say_params(out, m->params);
    xl__str_add(out, " parameters");
    if (m->experts > 0) {
        xl__str_add(out, ", active for a token ");
        plan_say_params(out, m->active);
        xl__str_printf(out, " (%.0f of %.0f experts a layer)", m->used,
                       m->experts);
    }
    xl__str_printf(out, "; %.0f layers, %.0f key/value heads of %.0f; ",
                   m->layers, m->kv_heads, m->head_dim);
    xl__str_printf(out, "context %.0f tokens, batch %.0f. ", p->work.context,
                   p->work.batch);
    xl__str_printf(out, "Numbers: %s", p->source);
}

void plan_say_decode(struct xl__str *out, const struct plan *p,
                     const struct plan_device *dev)
{
    const struct plan_rates r = plan_rates(dev);
    const struct plan_step s = plan_decode(&p->work, &r);
    const double batch = p->work.batch;
    xl__str_add(out, "t = max((W + B KV) / bandwidth, 2 P B / peak)\n"
                     "  = max((");
    say_giga(out, s.weight_bytes);
    xl__str_printf(out, " + %.0f x ", batch);
    say_giga(out, s.cache_bytes / batch);
    xl__str_add(out, ") / ");
    plan_say_bandwidth(out, r.bandwidth);
    xl__str_add(out, ",\n        2 x ");
    plan_say_params(out, p->work.model.active);
    xl__str_printf(out, " x %.0f / ", batch);
    plan_say_peak(out, r.peak);
    xl__str_add(out, ")\n  = max(");
    plan_say_seconds(out, s.memory_s);
    xl__str_add(out, ", ");
    plan_say_seconds(out, s.compute_s);
    xl__str_add(out, ") = ");
    plan_say_seconds(out, s.s);
}

void plan_say_prefill(struct xl__str *out, const struct plan *p,
                      const struct plan_device *dev)
{
    const struct plan_rates r = plan_rates(dev);
    const struct plan_fill f = plan_prefill(&p->work, &r);
    xl__str_add(out, "t = max((2 P T + A) / peak, W / bandwidth)\n"
                     "  = max((2 x ");
    plan_say_params(out, p->work.model.active);
    xl__str_printf(out, " x %.0f + %.3g) / ", p->work.context,
                   f.attention_flop);
    plan_say_peak(out, r.peak);
    xl__str_add(out, ",\n        ");
    say_giga(out, f.weight_bytes);
    xl__str_add(out, " / ");
    plan_say_bandwidth(out, r.bandwidth);
    xl__str_add(out, ") = ");
    plan_say_seconds(out, f.s);
}

void plan_say_turn(struct xl__str *out, const struct plan *p,
                   const struct plan_device *dev)
{
    const struct plan_rates r = plan_rates(dev);
    const double turn = plan_turn(&p->work, &r);
    if (isnan(r.peak))
        xl__str_add(out, "Where compute takes over is unknown: the peak is "
                         "missing");
    else if (isnan(turn))
        xl__str_add(out, "Bandwidth bound at every batch: each sequence "
                         "brings its own cache, which takes longer to read "
                         "than to compute with");
    else if (turn <= 1)
        xl__str_add(out, "Compute bound at every batch");
    else
        xl__str_printf(out, "Bandwidth bound up to batch %.0f, compute bound "
                            "from %.0f on", turn - 1, turn);
}
