/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/forward/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "cli/units.h"
#include "planner/forward/file_weights.h"

/* Layers of --layers, which `plan` has as text; 0: all. False: *why. */
static bool read_layers(const struct settings *set, size_t *out,
                        struct xl__str *why)
{
    const struct quantity_range range = {"layers", QUANTITY_COUNT, 1,
                                         LM_MOST_LAYERS};
    double n = 0;
    if (set->plan.layers && !quantity_read(set->plan.layers, &range, &n, why))
        return false;
    *out = (size_t)n;
    return true;
}

/* The cache has the prompt and all chosen ids but the last. */
static bool read_sizes_of_ids(const struct settings *set, size_t most,
                              size_t chosen, struct lm_run *r,
                              struct xl__str *why)
{
    const struct quantity_range range = {"context", QUANTITY_TOKENS, 2,
                                         (double)most};
    r->decoded = set->plan.tokens > 0 ? set->plan.tokens : chosen;
    double context = (double)xl__max_size(r->n_ids + r->decoded - 1, 2);
    const double least = context;
    if (set->plan.context &&
        !quantity_read(set->plan.context, &range, &context, why))
        return false;
    r->size = (struct lm_size){
        .batch = 1, .context = (size_t)context, .prompt = r->n_ids};
    if (set->batch > 1)
        xl__str_add(why, "--batch cannot be used with --ids, which is one "
                         "sequence");
    else if (set->plan.prompt > 0)
        xl__str_add(why, "--prompt cannot be used with --ids, which is the "
                         "prompt");
    else if (context < least || context > (double)most)
        xl__str_printf(why,
                       "%zu ids and %zu tokens behind them exceed the %.0f "
                       "tokens of the context",
                       r->n_ids, r->decoded, fmin(context, (double)most));
    return why->len == 0;
}

static bool read_sizes(const struct settings *set, const struct lm_arch *a,
                       struct lm_run *r, struct xl__str *why)
{
    enum {
        CONTEXT = 4096,
        PROMPT = 512,
        DECODED = 4,
        CHOSEN = 32,
        MOST_BATCH = 4096
    };
    const size_t most = a->positions > 0 ? a->positions : (size_t)1 << 24;
    if (r->n_ids > 0)
        return read_sizes_of_ids(set, most, CHOSEN, r, why);
    const struct quantity_range range = {"context", QUANTITY_TOKENS, 2,
                                         (double)most};
    double context = fmin(CONTEXT, (double)most);
    if (set->plan.context &&
        !quantity_read(set->plan.context, &range, &context, why))
        return false;
    r->size = (struct lm_size){.batch = set->batch > 0 ? set->batch : 1,
                               .context = (size_t)context,
                               .prompt = set->plan.prompt > 0
                                             ? set->plan.prompt
                                             : (size_t)fmin(PROMPT, context)};
    r->decoded = set->plan.tokens > 0 ? set->plan.tokens
                                      : (size_t)fmin(DECODED, context - 1);
    if (r->size.prompt > r->size.context || r->size.prompt < 2)
        xl__str_printf(why,
                       "invalid value '%zu' for --prompt: must be from 2 "
                       "to the %zu tokens of --context",
                       r->size.prompt, r->size.context);
    else if (r->decoded >= r->size.context)
        xl__str_printf(why,
                       "invalid value '%zu' for --tokens: must be below "
                       "the %zu tokens of --context",
                       r->decoded, r->size.context);
    else if (r->size.batch > MOST_BATCH)
        xl__str_printf(why,
                       "invalid value '%zu' for --batch: must be at most "
                       "%d",
                       r->size.batch, MOST_BATCH);
    return why->len == 0;
}

/* A list of whole numbers; n stays 0 where it is not given. */
static bool read_list(const char *text, const struct quantity_range *range,
                      size_t *out, size_t most, size_t *n, struct xl__str *why)
{
    char word[32];
    while (text) {
        double value;
        const size_t len = strcspn(text, ",");
        xl__strfmt(word, sizeof word, "%.*s", (int)len, text);
        if (!quantity_read(word, range, &value, why))
            return false;
        if (*n == most) {
            xl__str_printf(why, "more than %zu values for --%s", most,
                           range->option);
            return false;
        }
        out[(*n)++] = (size_t)value;
        text = text[len] ? text + len + 1 : NULL;
    }
    return true;
}

/* All pairs of --contexts and --batches; one that is not given is the value of
 * the run. */
static bool read_points(const struct settings *set, const struct lm_arch *a,
                        struct lm_run *r, struct xl__str *why)
{
    enum { MOST = 8, MOST_BATCH = 4096 }; /* MOST^2 is LM_MOST_POINTS */
    const double most = a->positions > 0 ? (double)a->positions : 1 << 24;
    const struct quantity_range contexts = {
        "contexts", QUANTITY_TOKENS, (double)r->decoded + 1, most};
    const struct quantity_range batches = {"batches", QUANTITY_COUNT, 1,
                                           MOST_BATCH};
    size_t context[MOST] = {r->size.context}, batch[MOST] = {r->size.batch};
    size_t n_contexts = 0, n_batches = 0;
    if (!set->plan.contexts && !set->plan.batches)
        return true;
    if (r->n_ids > 0)
        xl__str_add(why, "--contexts and --batches cannot be used with --ids");
    if (why->len > 0 ||
        !read_list(set->plan.contexts, &contexts, context, MOST, &n_contexts,
                   why) ||
        !read_list(set->plan.batches, &batches, batch, MOST, &n_batches, why))
        return false;
    for (size_t i = 0; i < xl__max_size(n_batches, 1); i++)
        for (size_t j = 0; j < xl__max_size(n_contexts, 1); j++)
            r->point[r->n_points++] = (struct lm_point){
                batch[i], context[j], (double)NAN, (double)NAN};
    return true;
}

/* The formats of a file's products: "q4_k+q6_k". */
static void name_formats(struct lm_run *r)
{
    struct xl__str text = {0};
    for (size_t l = 0; l <= r->arch->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_MATRICES; i++) {
            const enum lm_matrix_id id = (enum lm_matrix_id)i;
            size_t rows, cols;
            if (!lm_matrix_sizes(r->arch, l, id, &rows, &cols) ||
                lm_is_table(r->arch, l, id))
                continue;
            const struct lm_type t =
                lm_source_type(&r->source, r->arch, l, id);
            const char *name = t.is_quantised
                                   ? xl_qformat_layout(t.format)->name
                                   : xl_dtype_name(t.dtype);
            if (!strstr(xl__str_text(&text), name))
                xl__str_printf(&text, "%s%s", text.len > 0 ? "+" : "", name);
        }
    xl__strcpy(r->weights_name, sizeof r->weights_name, xl__str_text(&text));
    xl__str_clear(&text);
}

/* The type of activations: f32 or bf16 beside such weights, else f16. */
static bool read_types(const struct settings *set, struct lm_run *r,
                       struct xl__str *why)
{
    const char *weights = set->plan.weights ? set->plan.weights : "f16";
    struct lm_type *type = &r->source.type;
    r->source.seed = set->seed;
    if (r->source.file)
        *type = lm_source_type(&r->source, r->arch, 0, LM_OUT);
    else if (!lm_type_read(weights, type, why))
        return false;
    if (r->source.file)
        name_formats(r);
    else
        xl__strcpy(r->weights_name, sizeof r->weights_name, weights);
    r->size.activations = set->activations;
    r->size.accuracy = option_is_given(option_find("accuracy"), set)
                           ? set->accuracy
                           : XL_ACCURACY_FAST;
    r->size.dtype = set->dtype != XL_N_DTYPES ? set->dtype
                    : type->is_quantised      ? XL_F16
                                              : type->dtype;
    if (r->size.accuracy == XL_ACCURACY_SPLIT) {
        xl__str_printf(why, "invalid value 'split' for --accuracy: must be "
                            "full|fast");
        return false;
    }
    if (r->size.dtype == XL_F32 || r->size.dtype == XL_F16 ||
        r->size.dtype == XL_BF16)
        return true;
    xl__str_printf(why,
                   "invalid value '%s' for --dtype: activations must be "
                   "f32, f16 or bf16",
                   xl_dtype_name(r->size.dtype));
    return false;
}

static bool read_arch(const char *name, size_t layers, struct lm_arch *out,
                      struct xl__str *why)
{
    char source[PLANNER_SOURCE_CAP];
    struct xl__str inner = {0};
    json_t *config = planner_find_config(name, source, why);
    const bool is_read = config && lm_arch_read(config, layers, out, &inner);
    if (config && !is_read)
        xl__str_printf(why, "'%s': %s", name, xl__str_text(&inner));
    json_decref(config);
    xl__str_clear(&inner);
    return is_read;
}

static bool read_file(const char *path, size_t layers, struct gguf *file,
                      struct lm_arch *out, struct xl__str *why)
{
    struct xl__str inner = {0};
    if (!gguf_open(path, file, why))
        return false;
    const bool is_read = lm_file_read_arch(file, layers, out, &inner);
    if (!is_read)
        xl__str_printf(why, "'%s': %s", path, xl__str_text(&inner));
    xl__str_clear(&inner);
    return is_read;
}

/* From NAME or --gguf, of which one is required. */
static bool read_source(const struct settings *set, struct gguf *file,
                        struct lm_arch *arch, struct lm_run *r,
                        struct xl__str *why)
{
    size_t layers = 0;
    const char *path = set->plan.gguf;
    if (!read_layers(set, &layers, why))
        return false;
    if ((path != NULL) == (set->n_words > 0)) {
        xl__str_add(why, "a model is required: a NAME of 'clbench plan "
                         "--list', its config.json, or --gguf FILE, and "
                         "one of them");
        return false;
    }
    if (path && set->plan.weights) {
        xl__str_add(why, "--weights cannot be used with --gguf: the formats "
                         "are those of the file");
        return false;
    }
    if (!path)
        return read_arch(set->words[0], layers, arch, why);
    r->source.file = file;
    return read_file(path, layers, file, arch, why);
}

/* --ids into r->ids. */
static bool read_ids(struct lm_run *r, struct xl__str *why)
{
    const char *text = r->s->set.plan.ids;
    size_t cap = 0;
    while (text) {
        char *end;
        const long id = strtol(text, &end, 10);
        const bool is_id = *text >= '0' && *text <= '9' && id >= 0 &&
                           (size_t)id < r->arch->vocab &&
                           (*end == ',' || !*end);
        if (!is_id) {
            xl__str_printf(why,
                           "invalid value '%s' for --ids: must be whole "
                           "numbers below the %zu of the vocabulary, with "
                           "commas between them",
                           r->s->set.plan.ids, r->arch->vocab);
            return false;
        }
        if (!xl__grow(&r->ids, &cap, r->n_ids + 1, sizeof *r->ids)) {
            xl__str_add(why, "out of memory");
            return false;
        }
        r->ids[r->n_ids++] = (int)id;
        text = *end ? end + 1 : NULL;
    }
    return true;
}

bool lm_read_options(struct lm_run *r, struct gguf *file, struct lm_arch *arch,
                     struct xl__str *why)
{
    const struct settings *set = &r->s->set;
    return read_source(set, file, arch, r, why) && read_ids(r, why) &&
           read_sizes(set, arch, r, why) && read_points(set, arch, r, why) &&
           read_types(set, r, why);
}
