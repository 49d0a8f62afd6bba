/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a plan to a terminal: model, memory, devices, and for each device its
 * rates, the bound of decoding with the formula, a table and a chart over the
 * batch, prefill and load time, and an explanation of the bound. */
#include "planner/output.h"

#include <math.h>
#include <string.h>

#include "charts/text_charts.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"

static const double giga = 1e9, gibi = 1073741824.0;

/* Prints a text as a paragraph, with control characters escaped, and empties
 * it. */
static void print_paragraph(FILE *to, struct xl__str *text)
{
    enum { INDENT = 2 };
    struct xl__str clean = {0};
    text_escape(&clean, xl__str_text(text));
    text_wrap(to, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&clean);
    xl__str_reset(text);
}

static void add_value_cell(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

void planner_format_params(struct xl__str *out, double params)
{
    static const double least = 1e6, most = 1e13;
    if (params < least || params >= most)
        xl__str_printf(out, "%.4g", params);
    else
        xl__str_printf(out, "%.4ge9", params / giga);
}

static void format_seconds(struct xl__str *out, double s)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, s, "s");
    xl__str_add(out, text);
}

/* "4270 GB/s": one unit for all, so that values can be compared. */
static void format_bandwidth(struct xl__str *out, double bytes_per_s)
{
    xl__str_printf(out, "%.4g GB/s", bytes_per_s / giga);
}

static void format_peak(struct xl__str *out, double flop_per_s)
{
    static const double tera = 1e12;
    if (isnan(flop_per_s))
        xl__str_add(out, "an unknown peak");
    else
        xl__str_printf(out, "%.4g TFLOP/s", flop_per_s / tera);
}

static void format_giga(struct xl__str *out, double bytes)
{
    char text[UNITS_CAP];
    units_bytes(text, sizeof text, bytes);
    xl__str_add(out, text);
}

/* "7 GB (6.52 GiB)". */
static void format_bytes(struct xl__str *out, double bytes)
{
    char text[UNITS_CAP];
    format_giga(out, bytes);
    units_number(text, sizeof text, bytes / gibi);
    xl__str_printf(out, " (%s GiB)", text);
}

const char *planner_bound_name(enum planner_bound by)
{
    static const char *const names[] = {[PLANNER_BY_WEIGHTS] = "weights",
                                        [PLANNER_BY_CACHE] = "cache",
                                        [PLANNER_BY_COMPUTE] = "compute"};
    return names[by];
}

/* "14e9 parameters; 48 layers, ...", and the source of these numbers. */
static void describe_model(struct xl__str *out, const struct planner *p)
{
    const struct planner_model *m = &p->workload.model;
    planner_format_params(out, m->params);
    xl__str_add(out, " parameters");
    if (m->experts > 0) {
        xl__str_add(out, ", active for a token ");
        planner_format_params(out, m->active);
        xl__str_printf(out, " (%.0f of %.0f experts a layer)", m->used,
                       m->experts);
    }
    xl__str_printf(out, "; %.0f layers, %.0f key/value heads of %.0f; ",
                   m->layers, m->kv_heads, m->head_dim);
    xl__str_printf(out, "context %.0f tokens, batch %.0f. ",
                   p->workload.context, p->workload.batch);
    xl__str_printf(out, "Numbers: %s", p->source);
}

void planner_format_decode(struct xl__str *out, const struct planner *p,
                           const struct planner_device *dev)
{
    const struct planner_rates r = planner_device_rates(dev);
    const struct planner_step s = planner_decode(&p->workload, &r);
    const double batch = p->workload.batch;
    xl__str_add(out, "t = max((W + B KV) / bandwidth, 2 P B / peak)\n"
                     "  = max((");
    format_giga(out, s.weight_bytes);
    xl__str_printf(out, " + %.0f x ", batch);
    format_giga(out, s.cache_bytes / batch);
    xl__str_add(out, ") / ");
    format_bandwidth(out, r.bandwidth);
    xl__str_add(out, ",\n        2 x ");
    planner_format_params(out, p->workload.model.active);
    xl__str_printf(out, " x %.0f / ", batch);
    format_peak(out, r.peak);
    xl__str_add(out, ")\n  = max(");
    format_seconds(out, s.memory_s);
    xl__str_add(out, ", ");
    format_seconds(out, s.compute_s);
    xl__str_add(out, ") = ");
    format_seconds(out, s.s);
}

static void format_prefill(struct xl__str *out, const struct planner *p,
                           const struct planner_device *dev)
{
    const struct planner_rates r = planner_device_rates(dev);
    const struct planner_prompt f = planner_prefill(&p->workload, &r);
    xl__str_add(out, "t = max((2 P T + A) / peak, W / bandwidth)\n"
                     "  = max((2 x ");
    planner_format_params(out, p->workload.model.active);
    xl__str_printf(out, " x %.0f + %.3g) / ", p->workload.context,
                   f.attention_flop);
    format_peak(out, r.peak);
    xl__str_add(out, ",\n        ");
    format_giga(out, f.weight_bytes);
    xl__str_add(out, " / ");
    format_bandwidth(out, r.bandwidth);
    xl__str_add(out, ") = ");
    format_seconds(out, f.s);
}

/* Describes from which batch on compute is the limit. */
static void describe_compute_bound(struct xl__str *out,
                                   const struct planner *p,
                                   const struct planner_device *dev)
{
    const struct planner_rates r = planner_device_rates(dev);
    const double batch = planner_compute_bound_batch(&p->workload, &r);
    if (isnan(r.peak))
        xl__str_add(out,
                    "The batch from which compute is the limit is unknown "
                    "without a peak");
    else if (isnan(batch))
        xl__str_add(out,
                    "Bandwidth bound at every batch: reading the cache of "
                    "a sequence takes longer than its arithmetic");
    else if (batch <= 1)
        xl__str_add(out, "Compute bound at every batch");
    else
        xl__str_printf(out,
                       "Bandwidth bound up to batch %.0f, compute bound "
                       "from %.0f on",
                       batch - 1, batch);
}

enum { INDENT = 2 };

static void print_note(FILE *to, const char *text)
{
    text_wrap(to, text, INDENT, text_terminal_columns() - INDENT);
}

/* -- the model ------------------------------------------------------------ */

/* The answer: does it fit? Nothing where the memory is not known. */
static void print_fit(FILE *to, const struct planner *p,
                      const struct planner_device *dev)
{
    const double needed = planner_total_bytes(&p->workload);
    const double memory = planner_device_rates(dev).memory;
    struct xl__str line = {0};
    if (!(memory > 0))
        return;
    xl__str_printf(&line, "%s %s: needs %.3g GB, has %.3g GB",
                   needed <= memory ? "Fits" : "Does not fit", dev->name,
                   needed / 1e9, memory / 1e9);
    print_paragraph(to, &line);
    xl__str_clear(&line);
}

static void print_heading(FILE *to, const struct planner *p)
{
    struct xl__str line = {0}, clean = {0};
    xl__str_printf(&line, "Plan%s%s: weights %s (%.4g bit), cache %s (%.4g "
                          "bit)",
                   *p->model ? " of " : "", p->model, p->weights.name,
                   p->weights.bits, p->kv.name, p->kv.bits);
    text_escape(&clean, xl__str_text(&line));
    fprintf(to, "%s\n", xl__str_text(&clean));
    xl__str_reset(&line);
    for (size_t i = 0; i < p->n; i++)
        print_fit(to, p, &p->dev[i]);
    describe_model(&line, p);
    print_paragraph(to, &line);
    if (p->workload.context > p->workload.model.most_context) {
        xl__str_printf(&line,
                       "The context exceeds the %.0f tokens that the "
                       "model supports",
                       p->workload.model.most_context);
        print_paragraph(to, &line);
    }
    xl__str_clear(&line);
    xl__str_clear(&clean);
}

/* -- memory --------------------------------------------------------------- */

static void add_memory_row(struct table *t, const char *name, double bytes)
{
    table_cell(t, "%s", name);
    add_value_cell(t, bytes / giga, "1");
    add_value_cell(t, bytes / gibi, "1");
}

/* The formula of the cache with its numbers. */
static void format_cache(struct xl__str *out, const struct planner_workload *w)
{
    const struct planner_model *m = &w->model;
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
                   planner_token_bytes(w), w->context, w->batch);
}

/* Prints how weights, cache, activations and training memory are computed. */
static void print_formulas(FILE *to, const struct planner *p)
{
    const struct planner_workload *w = &p->workload;
    struct xl__str line = {0};
    xl__str_add(&line, "weights: ");
    planner_format_params(&line, w->model.params);
    xl__str_printf(&line, " x %.4g bit / 8", w->weight_bits);
    if (w->model.looked_up > 0) {
        xl__str_add(&line, "; a step reads all except the embedding table, ");
        planner_format_params(&line, w->model.looked_up);
        xl__str_add(&line, ", of which it reads one row for each token");
    }
    print_paragraph(to, &line);
    xl__str_add(&line, "cache: ");
    format_cache(&line, w);
    print_paragraph(to, &line);
    xl__str_printf(&line,
                   "activations: %.0f tokens x 2 x (%.0f hidden + %.0f in the "
                   "MLP) x %.0f B",
                   planner_tokens_in_flight(w), w->model.hidden,
                   w->model.inner, planner_value_bytes(w));
    if (w->model.vocab > 0)
        xl__str_printf(&line, " + %.0f x %.0f logits x %d B", w->batch,
                       w->model.vocab, PLANNER_LOGIT_BYTES);
    xl__str_printf(
        &line, "; prompts in chunks of %d tokens%s", PLANNER_PROMPT_CHUNK,
        p->is_guessed ? "; widths guessed from the parameters" : "");
    print_paragraph(to, &line);
    if (p->training) {
        xl__str_add(&line, "training: ");
        planner_format_params(&line, w->model.params);
        xl__str_printf(&line,
                       " x %d B: Adam with weight and gradient in 16 "
                       "bits; weight, mean and variance in 32; "
                       "without activations",
                       PLANNER_TRAINING_BYTES);
        print_paragraph(to, &line);
    }
    xl__str_clear(&line);
}

static void print_memory(FILE *to, const struct planner *p)
{
    static const struct table_column columns[] = {
        {"memory", false, 0}, {"GB", true, 0}, {"GiB", true, 0}};
    const struct planner_workload *w = &p->workload;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    add_memory_row(t, "weights", planner_weight_bytes(w));
    add_memory_row(t, "key/value cache", w->batch * planner_cache_bytes(w));
    add_memory_row(t, "activations", planner_activation_bytes(w));
    add_memory_row(t, "together", planner_total_bytes(w));
    if (p->training)
        add_memory_row(t, "training, instead",
                       planner_training_bytes(&w->model));
    fputc('\n', to);
    table_print(to, t, text_terminal_columns(), false);
    table_destroy(t);
    print_formulas(to, p);
}

/* -- the devices ---------------------------------------------------------- */

/* "yes", or on how many devices it fits. */
static void add_fits_cell(struct table *t, double needed, double memory)
{
    if (isnan(memory))
        table_cell(t, "-");
    else if (needed <= memory)
        table_cell_coloured(t, TABLE_GREEN, "yes");
    else
        table_cell(t, "on %.0f", ceil(needed / memory));
}

static void add_count_cell(struct table *t, double value, double most)
{
    table_cell(t, value >= most ? ">%.0f" : "%.0f", value >= most ? most
                                                                  : value);
}

/* Adds the row of a device: does it fit, the largest batch and context, rates,
 * load time. */
static void add_device_row(struct table *t, const struct planner *p,
                           const struct planner_device *dev)
{
    const struct planner_workload *w = &p->workload;
    const struct planner_rates r = planner_device_rates(dev);
    table_cell(t, "%s", dev->name);
    add_value_cell(t, r.memory / 1e9, "1");
    add_fits_cell(t, planner_total_bytes(w), r.memory);
    if (p->training)
        add_fits_cell(t, planner_training_bytes(&w->model), r.memory);
    if (isnan(r.memory)) {
        table_cell(t, "-");
        table_cell(t, "-");
    } else {
        add_count_cell(t, planner_most_batch(w, r.memory), PLANNER_MOST_BATCH);
        add_count_cell(t, planner_most_context(w, r.memory),
                       w->model.most_context > 0 ? w->model.most_context
                                                 : PLANNER_MOST_CONTEXT);
    }
    add_value_cell(t, planner_decode_at(w, &r, 1).tokens_per_s, "1");
    if (w->batch > 1)
        add_value_cell(t, planner_decode(w, &r).tokens_per_s, "1");
    add_value_cell(t, planner_load_s(w, &r), "s");
}

static void print_devices(FILE *to, const struct planner *p)
{
    char at[32];
    struct table_column columns[9] = {{"device", false, 12},
                                      {"GB", true, 0},
                                      {"fits", true, 0}};
    unsigned n = 3;
    snprintf(at, sizeof at, "at %.0f", p->workload.batch);
    if (p->training)
        columns[n++] = (struct table_column){"trains", true, 0};
    columns[n++] = (struct table_column){"batch", true, 0};
    columns[n++] = (struct table_column){"context", true, 0};
    columns[n++] = (struct table_column){"at 1", true, 0};
    if (p->workload.batch > 1)
        columns[n++] = (struct table_column){at, true, 0};
    columns[n++] = (struct table_column){"load", true, 0};
    struct table *t = table_create(columns, n);
    for (size_t i = 0; i < p->n; i++)
        add_device_row(t, p, &p->dev[i]);
    fputc('\n', to);
    table_print(to, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
    print_note(
        to,
        "fits: 'on 2' means two devices, using all of their memory; batch, "
        "context: the largest that fit with the other options; at 1, ...: "
        "tokens/s at most with that batch; load: weights over the link");
}

/* -- explanation ---------------------------------------------------------- */

/* -- one device ----------------------------------------------------------- */

enum { CHART_ROWS = 8, CHART_COLUMNS = 64, CHART_LEFT = 12 };

/* -- rates of a device ---------------------------------------------------- */

static void add_rate_row(struct table *t, const char *name,
                         const struct planner_rate *r,
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

static void print_rates(FILE *to, const struct planner_device *dev)
{
    static const struct table_column columns[] = {
        {"rate", false, 0}, {"value", true, 0}, {"source", false, 12}};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    struct xl__str name = {0};
    xl__str_add(&name, "Device: ");
    text_escape(&name, dev->name);
    if (*dev->origin) {
        xl__str_add(&name, ", ");
        text_escape(&name, dev->origin);
    }
    fputs("\n", to);
    text_wrap(to, xl__str_text(&name), 0, text_terminal_columns());
    add_rate_row(t, "memory", &dev->memory, format_bytes);
    add_rate_row(t, "bandwidth", &dev->bandwidth, format_bandwidth);
    add_rate_row(t, "peak", &dev->peak, format_peak);
    add_rate_row(t, "link", &dev->link, format_bandwidth);
    table_print(to, t, text_terminal_columns(), false);
    table_destroy(t);
    xl__str_clear(&name);
}

/* -- decoding ------------------------------------------------------------- */

/* Arithmetic intensity of a step and of a single layer, and the ridge point of
 * the roofline. */
static void format_intensity(struct xl__str *out, const struct planner *p,
                             const struct planner_rates *r)
{
    const struct planner_workload *w = &p->workload;
    const double value =
        planner_linear_intensity(w->model.hidden, w->model.hidden, w->batch,
                                 w->weight_bits / 8, planner_value_bytes(w));
    char linear[UNITS_CAP], whole[UNITS_CAP], ridge[UNITS_CAP];
    units_number(linear, sizeof linear, value);
    units_number(whole, sizeof whole, planner_decode(w, r).intensity);
    units_number(ridge, sizeof ridge, r->peak / r->bandwidth);
    xl__str_printf(out,
                   "A step has %s flop a byte, the product of one layer "
                   "with %.0f x %.0f weights %s; the ridge point is at "
                   "%s",
                   whole, w->model.hidden, w->model.hidden, linear, ridge);
}

/* Prints lines without wrapping, indented. */
static void print_formula(FILE *to, struct xl__str *text)
{
    for (const char *at = xl__str_text(text); *at;) {
        const size_t len = strcspn(at, "\n");
        fprintf(to, "    %.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
    xl__str_reset(text);
}

/* Prints the bound of decoding with its formula. */
static void print_decode(FILE *to, const struct planner *p,
                         const struct planner_device *dev)
{
    const struct planner_rates r = planner_device_rates(dev);
    const struct planner_step s = planner_decode(&p->workload, &r);
    struct xl__str line = {0};
    char all[UNITS_CAP], each[UNITS_CAP];
    if (p->workload.batch > 1)
        fprintf(to,
                "\n  Decode: a token for each of %.0f sequences takes at "
                "least\n",
                p->workload.batch);
    else
        fprintf(to, "\n  Decode: a token takes at least\n");
    planner_format_decode(&line, p, dev);
    print_formula(to, &line);
    units_number(all, sizeof all, s.tokens_per_s);
    units_number(each, sizeof each, s.tokens_per_s / p->workload.batch);
    xl__str_printf(&line, "so at most %s tokens/s", all);
    if (p->workload.batch > 1)
        xl__str_printf(&line, ", %s for each", each);
    xl__str_printf(&line, "; %s set the time",
                   s.by == PLANNER_BY_WEIGHTS ? "reads of weights"
                   : s.by == PLANNER_BY_CACHE ? "reads of the cache"
                                              : "products");
    print_paragraph(to, &line);
    format_intensity(&line, p, &r);
    print_paragraph(to, &line);
    describe_compute_bound(&line, p, dev);
    print_paragraph(to, &line);
    xl__str_clear(&line);
}

/* Prints the table of decoding over powers of two of the batch. */
static void print_batches(FILE *to, const struct planner *p,
                          const struct planner_device *dev)
{
    static const struct table_column columns[] = {
        {"batch", true, 0}, {"step", true, 0},   {"tokens/s", true, 0},
        {"each", true, 0},  {"flop/B", true, 0}, {"set by", false, 0},
        {"GB", true, 0},    {"fits", false, 0}};
    const struct planner_rates r = planner_device_rates(dev);
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned b = 1; b <= PLANNER_LAST_BATCH; b *= 2) {
        struct planner_workload at = p->workload;
        at.batch = b;
        const struct planner_step s = planner_decode(&at, &r);
        const double bytes = planner_total_bytes(&at);
        table_cell(t, "%u", b);
        add_value_cell(t, s.s, "s");
        add_value_cell(t, s.tokens_per_s, "1");
        add_value_cell(t, s.tokens_per_s / b, "1");
        add_value_cell(t, s.intensity, "1");
        table_cell(t, "%s", planner_bound_name(s.by));
        add_value_cell(t, bytes / 1e9, "1");
        table_cell(t, "%s", isnan(r.memory)      ? "-"
                            : bytes <= r.memory ? "yes"
                                                : "no");
    }
    table_print(to, t, text_terminal_columns(), false);
    table_destroy(t);
}

/* Prints a chart with two batches for each column: tokens/s, what sets the
 * time, whether they fit. */
static void print_chart(FILE *to, const struct planner *p,
                        const struct planner_device *dev)
{
    static const char letters[] = "wkc"; /* in the order of planner_bound */
    const struct planner_rates r = planner_device_rates(dev);
    const double most =
        isnan(r.memory) ? 0 : planner_most_batch(&p->workload, r.memory);
    double share[CHART_COLUMNS], best = 0;
    char by[CHART_COLUMNS + 1] = "", room[CHART_COLUMNS + 1] = "";
    char top[UNITS_CAP];
    struct xl__str line = {0};
    for (unsigned i = 0; i < CHART_COLUMNS; i++) {
        const double batch = (i + 1.0) * PLANNER_LAST_BATCH / CHART_COLUMNS;
        const struct planner_step s =
            planner_decode_at(&p->workload, &r, batch);
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
    fprintf(to, "%*s  %-*s%d\n", CHART_LEFT - 2, "batch", CHART_COLUMNS - 3,
            "2", PLANNER_LAST_BATCH);
    fprintf(to, "%*s  w weights, k cache, c compute; + fits, - does not\n",
            CHART_LEFT - 2, "");
    xl__str_clear(&line);
}

/* -- prompts and load ----------------------------------------------------- */

/* Prints the bound of a prompt and the load time. */
static void print_prefill(FILE *to, const struct planner *p,
                          const struct planner_device *dev)
{
    const struct planner_rates r = planner_device_rates(dev);
    const struct planner_prompt f = planner_prefill(&p->workload, &r);
    struct xl__str line = {0};
    char rate_text[UNITS_CAP];
    fprintf(to, "\n  Prefill: a prompt of %.0f tokens takes at least\n",
            p->workload.context);
    format_prefill(&line, p, dev);
    print_formula(to, &line);
    units_number(rate_text, sizeof rate_text, p->workload.context / f.s);
    if (isnan(f.s))
        xl__str_add(&line, "unknown without a peak; give --peak");
    else
        xl__str_printf(&line, "%s tokens/s; A: attention's flop, each token "
                              "with those before it%s",
                       rate_text,
                       p->is_guessed ? ", from guessed widths" : "");
    print_paragraph(to, &line);
    xl__str_add(&line, "Load: ");
    format_bytes(&line, planner_weight_bytes(&p->workload));
    if (isnan(r.link)) {
        xl__str_add(&line, " over an unknown link; give --link");
    } else {
        xl__str_add(&line, " / ");
        format_bandwidth(&line, r.link);
        xl__str_add(&line, " = ");
        format_seconds(&line, planner_load_s(&p->workload, &r));
    }
    print_paragraph(to, &line);
    xl__str_clear(&line);
}

static void print_device(FILE *to, const struct planner *p,
                         const struct planner_device *dev)
{
    print_rates(to, dev);
    if (isnan(dev->bandwidth.value)) {
        fprintf(to, "  The bandwidth could not be measured: give "
                    "--bandwidth\n");
        return;
    }
    print_decode(to, p, dev);
    print_batches(to, p, dev);
    print_chart(to, p, dev);
    print_prefill(to, p, dev);
}

static void print_explanation(FILE *to, const struct planner *p)
{
    fputc('\n', to);
    print_note(
        to, "What the bound means: for each next token a model reads all of "
            "its weights (W), once for the whole batch (B), and for each "
            "sequence the keys and values of its full context (KV); and it "
            "multiplies each token with P weights, 2 flop each. The longer "
            "of both times, at the device's best rates, is a lower bound for "
            "any program that moves these bytes.");
    if (p->workload.model.experts > 0)
        print_note(
            to, "Of experts W has those that the batch is expected to use, if "
                "each token selects any of them with equal probability; "
                "otherwise fewer are read.");
    print_note(to, "Counted: reads of weights and cache; for prompts also the "
                   "arithmetic of attention. Left out: that arithmetic when "
                   "decoding, writes, activations, norms, sampling, launches, "
                   "memory that driver and allocator keep, and other devices' "
                   "links. Real programs are slower than the bound.");
}

void planner_print(FILE *to, const struct planner *p, bool is_quiet)
{
    print_heading(to, p);
    print_memory(to, p);
    print_devices(to, p);
    for (size_t i = 0; i < p->n; i++)
        print_device(to, p, &p->dev[i]);
    if (!is_quiet)
        print_explanation(to, p);
    fputc('\n', to);
    fflush(to);
}
