/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of `clbench plan`. Each quantity is a row of one table:
 * option, unit, limits, and where its text is in the settings. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "cli/units.h"
#include "planner/planner.h"

/* -- quantities ----------------------------------------------------------- */

struct quantity {
    struct quantity_range is;
    size_t from; /* offset of its text in struct plan_settings */
};

#define TEXT(field) offsetof(struct plan_settings, field)

/* Rates below 1e6 a second and memories below 1 MB are rejected: a unit is
 * missing. */
static const struct quantity quantities[] = {
    {{"params", QUANTITY_WEIGHTS, 1, 1e16}, TEXT(params)},
    {{"active", QUANTITY_WEIGHTS, 1, 1e16}, TEXT(active)},
    {{"layers", QUANTITY_COUNT, 1, 1e4}, TEXT(layers)},
    {{"kv-heads", QUANTITY_COUNT, 1, 1e4}, TEXT(kv_heads)},
    {{"head-dim", QUANTITY_COUNT, 1, 1e4}, TEXT(head_dim)},
    {{"context", QUANTITY_TOKENS, 1, PLANNER_MOST_CONTEXT}, TEXT(context)},
    {{"memory", QUANTITY_BYTES, 1e6, 1e18}, TEXT(memory)},
    {{"bandwidth", QUANTITY_BYTES_PER_S, 1e6, 1e18}, TEXT(bandwidth)},
    {{"peak", QUANTITY_FLOP_PER_S, 1e6, 1e21}, TEXT(peak)},
    {{"link", QUANTITY_BYTES_PER_S, 1e6, 1e18}, TEXT(link)},
};
enum { PARAMS, ACTIVE, LAYERS, KV_HEADS, HEAD_DIM, CONTEXT, MEMORY };

static const char *option_text(const struct plan_settings *set, unsigned i)
{
    return *(const char *const *)((const char *)set + quantities[i].from);
}

/* Reads quantity i into *out if it was given. */
static bool read_quantity(const struct plan_settings *set, unsigned i,
                          double *out, struct xl__str *why)
{
    const char *text = option_text(set, i);
    return !text || quantity_read(text, &quantities[i].is, out, why);
}

/* -- types ---------------------------------------------------------------- */

static const char *const peaks_f32[] = {"peak_f32_flop_per_s", NULL};
static const char *const peaks_bf16[] = {"peak_matrix_bf16_flop_per_s",
                                         "peak_f32_flop_per_s", NULL};
/* types with fewer bits are converted to f16 if no engine supports them */
static const char *const peaks_f16[] = {"peak_matrix_f16_flop_per_s",
                                        "peak_f16_flop_per_s",
                                        "peak_f32_flop_per_s", NULL};
static const char *const peaks_f8[] = {
    "peak_matrix_f8_flop_per_s", "peak_matrix_f16_flop_per_s",
    "peak_f16_flop_per_s", "peak_f32_flop_per_s", NULL};
static const char *const peaks_i8[] = {
    "peak_matrix_i8_flop_per_s", "peak_matrix_f16_flop_per_s",
    "peak_f16_flop_per_s", "peak_f32_flop_per_s", NULL};

static const struct {
    const char *name;
    double bits;
    const char *const *peak;
} types[] = {{"f32", 32, peaks_f32},   {"f16", 16, peaks_f16},
             {"bf16", 16, peaks_bf16}, {"fp8", 8, peaks_f8},
             {"int8", 8, peaks_i8},    {"int4", 4, peaks_f16}};
enum { N_TYPES = sizeof types / sizeof *types };

const char *const *planner_peaks(xl_dtype dtype)
{
    return dtype == XL_F32    ? peaks_f32
           : dtype == XL_BF16 ? peaks_bf16
                              : peaks_f16;
}

/* A format of blocks, "q4_0": its bits are those of a whole block. */
static bool read_format(const char *text, struct planner_type *out)
{
    static const double bits_a_byte = 8;
    const xl_qlayout *l = xl_qformat_layout(xl_qformat_find(text));
    if (!l || l->has_scales)
        return false;
    out->bits = bits_a_byte * (double)l->block_bytes / (double)l->block;
    out->peak = peaks_f16;
    return true;
}

/* Reads a number of bits, "4.5". */
static bool read_bits(const char *text, struct planner_type *out)
{
    enum { HALF_BITS = 16, MOST_BITS = 64 };
    const char *end = number_read(text, &out->bits);
    out->peak = out->bits > HALF_BITS ? peaks_f32 : peaks_f16;
    return end && !*end && out->bits > 0 && out->bits <= MOST_BITS;
}

/* "int4", "int4/32", "4.5". */
static bool read_type(const char *option, const char *text,
                      struct planner_type *out, struct xl__str *why)
{
    static const double scale_bits = 16, most_block = 1e6;
    const size_t len = strcspn(text, "/");
    double block = INFINITY;
    xl__strcpy(out->name, sizeof out->name, text);
    if (read_bits(text, out) || read_format(text, out))
        return true;
    const char *end = text[len] ? number_read(text + len + 1, &block) : "";
    const bool is_block = end && !*end && block >= 1 &&
                          (!text[len] || block <= most_block) &&
                          block == floor(block);
    for (unsigned i = 0; is_block && i < N_TYPES; i++)
        if (strncmp(types[i].name, text, len) == 0 && !types[i].name[len]) {
            out->bits = types[i].bits + scale_bits / block;
            out->peak = types[i].peak;
            return true;
        }
    xl__str_printf(why, "invalid value '%s' for --%s: must be one of", text,
                   option);
    for (unsigned i = 0; i < N_TYPES; i++)
        xl__str_printf(why, " %s", types[i].name);
    xl__str_add(why, ", with /BLOCK for an f16 scale for each BLOCK weights "
                     "(int4/32), a format of 'clbench qgemm' (q4_0), or a "
                     "number of bits, such as 4.5");
    return false;
}

/* -- the model ------------------------------------------------------------ */

/* Reads --experts USED/ALL. */
static bool read_experts(const struct plan_settings *set,
                         struct planner_model *m, struct xl__str *why)
{
    static const double most = 1e4;
    double used = 0, all = 0;
    const char *end = number_read(set->experts, &used);
    end = end && *end == '/' ? number_read(end + 1, &all) : NULL;
    if (end && !*end && used >= 1 && used < all && all <= most &&
        used == floor(used) && all == floor(all)) {
        m->used = used;
        m->experts = all;
        return true;
    }
    xl__str_printf(why,
                   "invalid value '%s' for --experts: must be the experts "
                   "that one token uses and all of a layer, such as 2/8",
                   set->experts);
    return false;
}

/* Reads --active and --experts. A dense model uses all weights for each token,
 * a mixture of experts a share. */
static bool read_mixture(const struct plan_settings *set,
                         struct planner_model *m, struct xl__str *why)
{
    if (set->params) { /* the values of --model no longer apply */
        m->looked_up = 0;
        m->active = m->params;
        m->experts = m->used = 0;
    }
    if (!set->active && !set->experts)
        return true;
    if (!set->active != !set->experts) {
        xl__str_printf(why,
                       "--%s is missing: --active N and --experts USED/ALL "
                       "are required together",
                       set->active ? "experts" : "active");
        return false;
    }
    if (!read_quantity(set, ACTIVE, &m->active, why) ||
        !read_experts(set, m, why))
        return false;
    const double all = m->params - m->looked_up;
    if (m->active >= all * m->used / m->experts && m->active <= all)
        return true;
    xl__str_printf(why,
                   "invalid value '%s' for --active: must be between %.3g, "
                   "the least for %.0f of %.0f experts, and %.3g, all "
                   "weights",
                   set->active, all * m->used / m->experts, m->used,
                   m->experts, all);
    return false;
}

/* Estimates the widths, which only activations and the arithmetic of attention
 * need: layers of 12 hidden^2 weights, an MLP 3.5 times as wide as hidden. */
static void estimate_widths(struct planner_model *m)
{
    static const double squares = 12, widening = 3.5;
    m->hidden = sqrt(m->active / (squares * m->layers));
    m->inner = widening * m->hidden;
    m->queries = m->hidden;
}

/* Checks that the options that describe a model are complete. */
static bool check_required(const struct plan_settings *set,
                           struct xl__str *why)
{
    static const unsigned needed[] = {PARAMS, LAYERS, KV_HEADS, HEAD_DIM};
    const char *before = "missing: ";
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!option_text(set, needed[i])) {
            xl__str_printf(why, "%s--%s", before,
                           quantities[needed[i]].is.option);
            before = ", ";
        }
    if (why->len == 0)
        return true;
    xl__str_add(why, "; give a model's numbers, such as --params 14e9 "
                     "--layers 48 --kv-heads 8 --head-dim 128, or --model "
                     "NAME ('clbench plan --list'), or its config.json");
    return false;
}

/* Reads the model: from --model or from its numbers, which override it. */
static bool read_model(const struct plan_settings *set, struct planner *p,
                       struct xl__str *why)
{
    struct planner_model *m = &p->workload.model;
    *m = (struct planner_model){.most_context = NAN};
    xl__strcpy(p->source, sizeof p->source, "as given");
    if (set->model ? !planner_find_model(set->model, m, p->source, why)
                   : !check_required(set, why))
        return false;
    xl__strcpy(p->model, sizeof p->model, set->model ? set->model : "");
    if (!read_quantity(set, PARAMS, &m->params, why) ||
        !read_quantity(set, LAYERS, &m->layers, why) ||
        !read_quantity(set, KV_HEADS, &m->kv_heads, why) ||
        !read_quantity(set, HEAD_DIM, &m->head_dim, why) ||
        !read_mixture(set, m, why))
        return false;
    m->window_layers = fmin(m->window_layers, m->layers);
    p->is_guessed = !set->model;
    if (p->is_guessed)
        estimate_widths(m);
    return true;
}

/* -- all options ---------------------------------------------------------- */

bool planner_read_options(const struct settings *set, struct planner *out,
                          struct xl__str *why)
{
    enum { CONTEXT_OTHERWISE = 8192 };
    const struct plan_settings *from = &set->plan;
    struct planner_workload *w = &out->workload;
    *out = (struct planner){.training = from->training};
    w->context = CONTEXT_OTHERWISE;
    w->batch = set->batch > 0 ? (double)set->batch : 1;
    if (w->batch > PLANNER_MOST_BATCH) {
        xl__str_printf(why, "invalid value for --batch: must be at most %d",
                       PLANNER_MOST_BATCH);
        return false;
    }
    if (!read_model(from, out, why) ||
        !read_quantity(from, CONTEXT, &w->context, why) ||
        !read_type("weights", from->weights ? from->weights : "f16",
                   &out->weights, why) ||
        !read_type("kv", from->kv ? from->kv : "f16", &out->kv, why))
        return false;
    w->weight_bits = out->weights.bits;
    w->kv_bits = out->kv.bits;
    return true;
}

bool planner_has_rates(const struct settings *set)
{
    return set->plan.bandwidth || set->plan.peak || set->plan.memory ||
           set->plan.link;
}

bool planner_read_rates(const struct settings *set, struct planner_device *out,
                        struct xl__str *why)
{
    const struct plan_settings *from = &set->plan;
    struct planner_rate *const rates[] = {&out->memory, &out->bandwidth,
                                          &out->peak, &out->link};
    *out = (struct planner_device){.index = -1};
    xl__strcpy(out->name, sizeof out->name, "as given");
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        rates[i]->value = NAN;
        if (!read_quantity(from, MEMORY + i, &rates[i]->value, why))
            return false;
        snprintf(rates[i]->source, sizeof rates[i]->source, "--%s",
                 quantities[MEMORY + i].is.option);
    }
    if (!isnan(out->bandwidth.value))
        return true;
    xl__str_add(why, "--bandwidth is missing: it limits the time of a token; "
                     "give it with --peak, --memory and --link, such as "
                     "--bandwidth 1008GB/s");
    return false;
}
