/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for a terminal: what is planned, the memory it takes, the devices
 * side by side, and what the bound means. */
#include <math.h>

#include "planner/plan_words.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

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
    static const double giga = 1e9, gibi = 1073741824.0;
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
    table_print(to, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
    say(to, "fits: 'on 2' are two of them, no memory kept back; batch, "
            "context: the largest that fit, all else as asked; at 1 and on: "
            "tokens/s at most with that batch; load: weights over the link");
}

/* -- what it means -------------------------------------------------------- */

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
