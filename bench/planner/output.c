/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/output.h"

#include <math.h>
#include <string.h>

#include "charts/chart.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"

static const double giga = 1e9, gibi = 1073741824.0;

static void plan_print(FILE *to, struct xl__str *text)
{
    enum { INDENT = 2 };
    struct xl__str clean = {0};
    text_escape(&clean, xl__str_text(text));
    text_wrap(to, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&clean);
    xl__str_reset(text);
}

static void plan_cell(struct table *t, double value, const char *unit)
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

static void plan_say_seconds(struct xl__str *out, double s)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, s, "s");
    xl__str_add(out, text);
}

static void plan_say_bandwidth(struct xl__str *out, double bytes_per_s)
{
    xl__str_printf(out, "%.4g GB/s", bytes_per_s / giga);
}

static void plan_say_peak(struct xl__str *out, double flop_per_s)
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

static void plan_say_bytes(struct xl__str *out, double bytes)
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

static void plan_say_what(struct xl__str *out, const struct plan *p)
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

static void plan_say_prefill(struct xl__str *out, const struct plan *p,
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

static void plan_say_turn(struct xl__str *out, const struct plan *p,
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

enum { INDENT = 2 };

static void say(FILE *to, const char *text)
{
    text_wrap(to, text, INDENT, text_terminal_columns() - INDENT);
}

/* -- what ----------------------------------------------------------------- */

static void head(FILE *to, const struct plan *p)
{
    struct xl__str line = {0}, clean = {0};
    xl__str_printf(&line, "Plan%s%s: weights %s (%.4g bit), cache %s (%.4g "
                          "bit)",
                   *p->model ? " of " : "", p->model, p->weights.name,
                   p->weights.bits, p->kv.name, p->kv.bits);
    text_escape(&clean, xl__str_text(&line));
    fprintf(to, "%s\n", xl__str_text(&clean));
    xl__str_reset(&line);
    plan_say_what(&line, p);
    plan_print(to, &line);
    if (p->work.context > p->work.model.most_context) {
        xl__str_printf(&line, "Beyond the %.0f tokens that the model was made "
                              "for", p->work.model.most_context);
        plan_print(to, &line);
    }
    xl__str_clear(&line);
    xl__str_clear(&clean);
}

/* -- memory --------------------------------------------------------------- */

static void part(struct table *t, const char *name, double bytes)
{
    table_cell(t, "%s", name);
    plan_cell(t, bytes / giga, "1");
    plan_cell(t, bytes / gibi, "1");
}

static void cache_formula(struct xl__str *out, const struct plan_work *w)
{
    const struct plan_model *m = &w->model;
    const double bytes = w->kv_bits / 8;
    if (m->window_layers > 0) {
        xl__str_printf(out, "KV = 2 x %.0f heads x %.0f x %.4g B x (%.0f "
                            "layers x %.0f tokens + %.0f layers x the last "
                            "%.0f) a sequence, x %.0f",
                       m->kv_heads, m->head_dim, bytes,
                       m->layers - m->window_layers, w->context,
                       m->window_layers, fmin(m->window, w->context),
                       w->batch);
        return;
    }
    xl__str_printf(out,
                   "KV = 2 x %.0f layers x %.0f heads x %.0f x %.4g B = %.10g "
                   "B a token, x %.0f tokens x %.0f: linear in the context",
                   m->layers, m->kv_heads, m->head_dim, bytes,
                   plan_token_bytes(w), w->context, w->batch);
}

static void formulas(FILE *to, const struct plan *p)
{
    const struct plan_work *w = &p->work;
    struct xl__str line = {0};
    xl__str_add(&line, "weights: ");
    plan_say_params(&line, w->model.params);
    xl__str_printf(&line, " x %.4g bit / 8", w->weight_bits);
    if (w->model.looked_up > 0) {
        xl__str_add(&line, "; a step reads all but the table of input "
                           "tokens, ");
        plan_say_params(&line, w->model.looked_up);
        xl__str_add(&line, ", of which it looks up a line a token");
    }
    plan_print(to, &line);
    xl__str_add(&line, "cache: ");
    cache_formula(&line, w);
    plan_print(to, &line);
    xl__str_printf(&line,
                   "activations: %.0f tokens x 2 x (%.0f hidden + %.0f in the "
                   "MLP) x %.0f B",
                   plan_tokens_in_flight(w), w->model.hidden, w->model.inner,
                   plan_value_bytes(w));
    if (w->model.vocab > 0)
        xl__str_printf(&line, " + %.0f x %.0f logits x %d B", w->batch,
                       w->model.vocab, PLAN_LOGIT_BYTES);
    xl__str_printf(&line, "; prompts in pieces of %d tokens%s", PLAN_PIECE,
                   p->is_guessed ? "; widths guessed from the parameters"
                                 : "");
    plan_print(to, &line);
    if (p->training) {
        xl__str_add(&line, "training: ");
        plan_say_params(&line, w->model.params);
        xl__str_printf(&line, " x %d B: Adam with weight and gradient in 16 "
                              "bits; weight, mean and variance in 32; "
                              "without activations",
                       PLAN_TRAINING_BYTES);
        plan_print(to, &line);
    }
    xl__str_clear(&line);
}

static void memory(FILE *to, const struct plan *p)
{
    static const struct table_column columns[] = {
        {"memory", false, 0}, {"GB", true, 0}, {"GiB", true, 0}};
    const struct plan_work *w = &p->work;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    part(t, "weights", plan_weight_bytes(w));
    part(t, "key/value cache", w->batch * plan_cache_bytes(w));
    part(t, "activations", plan_activation_bytes(w));
    part(t, "together", plan_total_bytes(w));
    if (p->training)
        part(t, "training, instead", plan_training_bytes(&w->model));
    fputc('\n', to);
    table_print(to, t, text_terminal_columns(), false);
    table_destroy(t);
    formulas(to, p);
}

/* -- the devices ---------------------------------------------------------- */

static void fits(struct table *t, double needed, double memory)
{
    if (isnan(memory))
        table_cell(t, "-");
    else if (needed <= memory)
        table_cell_coloured(t, TABLE_GREEN, "yes");
    else
        table_cell(t, "on %.0f", ceil(needed / memory));
}

static void count(struct table *t, double value, double most)
{
    table_cell(t, value >= most ? ">%.0f" : "%.0f", value >= most ? most
                                                                  : value);
}

static void line_of(struct table *t, const struct plan *p,
                    const struct plan_device *dev)
{
    const struct plan_work *w = &p->work;
    const struct plan_rates r = plan_rates(dev);
    table_cell(t, "%s", dev->name);
    plan_cell(t, r.memory / 1e9, "1");
    fits(t, plan_total_bytes(w), r.memory);
    if (p->training)
        fits(t, plan_training_bytes(&w->model), r.memory);
    if (isnan(r.memory)) {
        table_cell(t, "-");
        table_cell(t, "-");
    } else {
        count(t, plan_most_batch(w, r.memory), PLAN_MOST_BATCH);
        count(t, plan_most_context(w, r.memory), PLAN_MOST_CONTEXT);
    }
    plan_cell(t, plan_decode_at(w, &r, 1).tokens_per_s, "1");
    if (w->batch > 1)
        plan_cell(t, plan_decode(w, &r).tokens_per_s, "1");
    plan_cell(t, plan_load_s(w, &r), "s");
}

static void devices(FILE *to, const struct plan *p)
{
    char at[32];
    struct table_column columns[9] = {{"device", false, 12},
                                      {"GB", true, 0},
                                      {"fits", true, 0}};
    unsigned n = 3;
    snprintf(at, sizeof at, "at %.0f", p->work.batch);
    if (p->training)
        columns[n++] = (struct table_column){"trains", true, 0};
    columns[n++] = (struct table_column){"batch", true, 0};
    columns[n++] = (struct table_column){"context", true, 0};
    columns[n++] = (struct table_column){"at 1", true, 0};
    if (p->work.batch > 1)
        columns[n++] = (struct table_column){at, true, 0};
    columns[n++] = (struct table_column){"load", true, 0};
    struct table *t = table_create(columns, n);
    for (size_t i = 0; i < p->n; i++)
        line_of(t, p, &p->dev[i]);
    fputc('\n', to);
    table_print(to, t, text_terminal_columns(), text_wants_colour());
    table_destroy(t);
    say(to, "fits: 'on 2' are two of them, no memory kept back; batch, "
            "context: the largest that fit, all else as asked; at 1 and on: "
            "tokens/s at most with that batch; load: weights over the link");
}

/* -- what it means -------------------------------------------------------- */

/* -- one device --------------------------------------------------------------- */

enum { CHART_ROWS = 8, CHART_COLUMNS = 64, CHART_LEFT = 12 };

/* -- its rates ------------------------------------------------------------ */

static void rate(struct table *t, const char *name, const struct plan_rate *r,
                 void (*format)(struct xl__str *out, double value))
{
    struct xl__str value = {0};
    if (isnan(r->value))
        xl__str_add(&value, "-");
    else
        format(&value, r->value);
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

static void plan_text_device(FILE *to, const struct plan *p,
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

static void meaning(FILE *to, const struct plan *p)
{
    fputc('\n', to);
    say(to, "What the bound means: to make its next token a model reads all "
            "of its weights (W), once for the whole batch (B), and for each "
            "sequence the keys and values of its context (KV), taken as full; "
            "and it multiplies each token with P weights, 2 flop each. "
            "Whichever takes longer at the device's best rates is the least "
            "time; no program with these bytes is faster.");
    if (p->work.model.experts > 0)
        say(to, "Of experts W has those that the batch is expected to need, "
                "each token sent to any of them alike; where many go to the "
                "same, less is read.");
    say(to, "Counted: reads of weights and cache; for prompts also the "
            "arithmetic of attention. Left out: that arithmetic when "
            "decoding, writes, activations, norms, sampling, launches, "
            "memory that driver and allocator keep, and other devices' "
            "links. Real programs are slower than the bound.");
}

void plan_text(FILE *to, const struct plan *p, bool is_quiet)
{
    head(to, p);
    memory(to, p);
    devices(to, p);
    for (size_t i = 0; i < p->n; i++)
        plan_text_device(to, p, &p->dev[i]);
    if (!is_quiet)
        meaning(to, p);
    fputc('\n', to);
    fflush(to);
}
