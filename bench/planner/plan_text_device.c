/* SPDX-License-Identifier: Apache-2.0 */
/* One device's part of a plan for a terminal: its rates, decoding with the
 * formula, batch by batch as a table and as a chart, prefill and load. */
#include <math.h>
#include <string.h>

#include "charts/text_charts.h"
#include "planner/plan_words.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

enum { CHART_ROWS = 8, CHART_COLUMNS = 64, CHART_LEFT = 12 };

/* -- its rates ------------------------------------------------------------ */

static void rate(struct table *t, const char *name, const struct plan_rate *r,
                 void (*say)(struct xl__str *out, double value))
{
    struct xl__str value = {0};
    if (isnan(r->value))
        xl__str_add(&value, "-");
    else
        say(&value, r->value);
    table_cell(t, "%s", name);
    table_cell(t, "%s", xl__str_text(&value));
    table_cell(t, "%s", isnan(r->value) ? "unknown" : r->source);
    xl__str_clear(&value);
}

static void rates(FILE *to, const struct plan_device *dev)
{
    static const struct table_column columns[] = {
        {"rate", false, 0}, {"value", true, 0}, {"source", false, 12}};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    struct xl__str name = {0};
    text_escape(&name, dev->name);
    if (*dev->origin) {
        xl__str_add(&name, ", ");
        text_escape(&name, dev->origin);
    }
    fprintf(to, "\nDevice: %s\n", xl__str_text(&name));
    rate(t, "memory", &dev->memory, plan_say_bytes);
    rate(t, "bandwidth", &dev->bandwidth, plan_say_bandwidth);
    rate(t, "peak", &dev->peak, plan_say_peak);
    rate(t, "link", &dev->link, plan_say_bandwidth);
    table_print(to, t, text_terminal_columns(), false);
    table_destroy(t);
    xl__str_clear(&name);
}

/* -- decoding ------------------------------------------------------------- */

/* A layer's product as a roofline sees it. */
static void intensity(struct xl__str *out, const struct plan *p,
                      const struct plan_rates *r)
{
    const struct plan_work *w = &p->work;
    const double value = plan_linear_intensity(
        w->model.hidden, w->model.hidden, w->batch, w->weight_bits / 8,
        plan_value_bytes(w));
    char linear[UNITS_CAP], whole[UNITS_CAP], ridge[UNITS_CAP];
    units_number(linear, sizeof linear, value);
    units_number(whole, sizeof whole, plan_decode(w, r).intensity);
    units_number(ridge, sizeof ridge, r->peak / r->bandwidth);
    xl__str_printf(out, "A step has %s flop a byte, a layer's product of "
                        "%.0f x %.0f weights alone %s; compute and bandwidth "
                        "meet at %s",
                   whole, w->model.hidden, w->model.hidden, linear, ridge);
}

/* Lines as they are, further in. */
static void formula(FILE *to, struct xl__str *text)
{
    for (const char *at = xl__str_text(text); *at;) {
        const size_t len = strcspn(at, "\n");
        fprintf(to, "    %.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
    xl__str_reset(text);
}

static void decode(FILE *to, const struct plan *p,
                   const struct plan_device *dev)
{
    const struct plan_rates r = plan_rates(dev);
    const struct plan_step s = plan_decode(&p->work, &r);
    struct xl__str line = {0};
    char all[UNITS_CAP], each[UNITS_CAP];
    if (p->work.batch > 1)
        fprintf(to, "\n  Decode: a token for each of %.0f sequences takes at "
                    "least\n",
                p->work.batch);
    else
        fprintf(to, "\n  Decode: a token takes at least\n");
    plan_say_decode(&line, p, dev);
    formula(to, &line);
    units_number(all, sizeof all, s.tokens_per_s);
    units_number(each, sizeof each, s.tokens_per_s / p->work.batch);
    xl__str_printf(&line, "so at most %s tokens/s", all);
    if (p->work.batch > 1)
        xl__str_printf(&line, ", %s for each", each);
    xl__str_printf(&line, "; %s set the time",
                   s.by == PLAN_BY_WEIGHTS ? "reads of weights"
                   : s.by == PLAN_BY_CACHE ? "reads of the cache"
                                           : "products");
    plan_print(to, &line);
    intensity(&line, p, &r);
    plan_print(to, &line);
    plan_say_turn(&line, p, dev);
    plan_print(to, &line);
    xl__str_clear(&line);
}

static void batches(FILE *to, const struct plan *p,
                    const struct plan_device *dev)
{
    static const struct table_column columns[] = {
        {"batch", true, 0}, {"step", true, 0},   {"tokens/s", true, 0},
        {"each", true, 0},  {"flop/B", true, 0}, {"set by", false, 0},
        {"GB", true, 0},    {"fits", false, 0}};
    const struct plan_rates r = plan_rates(dev);
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned b = 1; b <= PLAN_LAST_BATCH; b *= 2) {
        struct plan_work at = p->work;
        at.batch = b;
        const struct plan_step s = plan_decode(&at, &r);
        const double bytes = plan_total_bytes(&at);
        table_cell(t, "%u", b);
        plan_cell(t, s.s, "s");
        plan_cell(t, s.tokens_per_s, "1");
        plan_cell(t, s.tokens_per_s / b, "1");
        plan_cell(t, s.intensity, "1");
        table_cell(t, "%s", plan_bound_name(s.by));
        plan_cell(t, bytes / 1e9, "1");
        table_cell(t, "%s", isnan(r.memory)      ? "-"
                            : bytes <= r.memory ? "yes"
                                                : "no");
    }
    table_print(to, t, text_terminal_columns(), false);
    table_destroy(t);
}

/* Two batches a column: what they reach, what sets it, whether they fit. */
static void chart(FILE *to, const struct plan *p,
                  const struct plan_device *dev)
{
    static const char letters[] = "wkc"; /* in the order of plan_bound */
    const struct plan_rates r = plan_rates(dev);
    const double most =
        isnan(r.memory) ? 0 : plan_most_batch(&p->work, r.memory);
    double share[CHART_COLUMNS], best = 0;
    char by[CHART_COLUMNS + 1] = "", room[CHART_COLUMNS + 1] = "";
    char top[UNITS_CAP];
    struct xl__str line = {0};
    for (unsigned i = 0; i < CHART_COLUMNS; i++) {
        const double batch =
            (i + 1.0) * PLAN_LAST_BATCH / CHART_COLUMNS;
        const struct plan_step s = plan_decode_at(&p->work, &r, batch);
        share[i] = s.tokens_per_s;
        best = fmax(best, share[i]);
        by[i] = letters[s.by];
        room[i] = batch <= most ? '+' : '-';
    }
    for (unsigned i = 0; i < CHART_COLUMNS; i++)
        share[i] /= best;
    units_number(top, sizeof top, best);
    fprintf(to, "\n  tokens/s at most, over the batch\n");
    for (unsigned row = 0; row < CHART_ROWS; row++) {
        xl__str_reset(&line);
        chart_line(&line, NULL, share, CHART_COLUMNS, row, CHART_ROWS);
        fprintf(to, "%*s |%s\n", CHART_LEFT - 2, row == 0 ? top : "",
                xl__str_text(&line));
    }
    fprintf(to, "%*s  %s\n", CHART_LEFT - 2, "set by", by);
    if (!isnan(r.memory))
        fprintf(to, "%*s  %s\n", CHART_LEFT - 2, "fits", room);
    fprintf(to, "%*s  %-*s%d\n", CHART_LEFT - 2, "batch",
            CHART_COLUMNS - 3, "2", PLAN_LAST_BATCH);
    fprintf(to, "%*s  w weights, k cache, c compute; + fits, - does not\n",
            CHART_LEFT - 2, "");
    xl__str_clear(&line);
}

/* -- prompts and load ----------------------------------------------------- */

static void prefill(FILE *to, const struct plan *p,
                    const struct plan_device *dev)
{
    const struct plan_rates r = plan_rates(dev);
    const struct plan_fill f = plan_prefill(&p->work, &r);
    struct xl__str line = {0};
    char rate_text[UNITS_CAP];
    fprintf(to, "\n  Prefill: a prompt of %.0f tokens takes at least\n",
            p->work.context);
    plan_say_prefill(&line, p, dev);
    formula(to, &line);
    units_number(rate_text, sizeof rate_text, p->work.context / f.s);
    if (isnan(f.s))
        xl__str_add(&line, "unknown without a peak; give --peak");
    else
        xl__str_printf(&line, "%s tokens/s; A: attention's flop, each token "
                              "with those before it%s",
                       rate_text,
                       p->is_guessed ? ", from guessed widths" : "");
    plan_print(to, &line);
    xl__str_add(&line, "Load: ");
    plan_say_bytes(&line, plan_weight_bytes(&p->work));
    if (isnan(r.link)) {
        xl__str_add(&line, " over an unknown link; give --link");
    } else {
        xl__str_add(&line, " / ");
        plan_say_bandwidth(&line, r.link);
        xl__str_add(&line, " = ");
        plan_say_seconds(&line, plan_load_s(&p->work, &r));
    }
    plan_print(to, &line);
    xl__str_clear(&line);
}

void plan_text_device(FILE *to, const struct plan *p,
                      const struct plan_device *dev)
{
    rates(to, dev);
    if (isnan(dev->bandwidth.value)) {
        fprintf(to, "  Its bandwidth could not be measured: give "
                    "--bandwidth\n");
        return;
    }
    decode(to, p, dev);
    batches(to, p, dev);
    chart(to, p, dev);
    prefill(to, p, dev);
}
