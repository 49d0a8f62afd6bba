/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parameters of a language model from a config.json, or from the
 * table of known models, and counts its weights from the widths:
 *
 *     layer = 2 hidden (queries + keys)          attention
 *           + 3 hidden inner x experts           MLP, or experts and a router
 *                                                (2 without a gate: GPT-2)
 *     model = layers x layer + 1 or 2 x vocab x hidden
 *
 * Norms and biases (less than 1/2000) are not counted unless the table has the
 * published number. */
#include "planner/models.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "results/json.h"
#include "cli/console.h"

/* -- fields --------------------------------------------------------------- */

static const double most_value = 1e15;

/* The first of the named fields that is a number of at least 1; NaN: none. */
static double read_field(const json_t *config, const char *const *names)
{
    for (; *names; names++) {
        const json_t *value = json_object_get(config, *names);
        const double number = json_number_value(value);
        if (json_is_number(value) && number >= 1 && number <= most_value)
            return number;
    }
    return (double)NAN;
}

#define FIELD(config, ...)                                                    \
    read_field((config), (const char *const[]){__VA_ARGS__, NULL})

/* `value`, or `instead` if it is NaN. */
static double default_to(double value, double instead)
{
    return isnan(value) ? instead : value;
}

/* Its fields have other names, its MLP no gate, and its embedding is the
 * head. */
static bool is_gpt2(const json_t *config)
{
    return strcmp(json_text_at(config, "model_type"), "gpt2") == 0;
}

/* Fields of architectures that are not a stack of equal layers with keys and
 * values for each head. */
static const char *const unsupported[] = {
    "kv_lora_rank",     "n_shared_experts",
    "n_routed_experts", "shared_expert_intermediate_size",
    "ssm_state_size",   "linear_num_key_heads"};

static bool reject_field(const char *name, struct xl__str *why)
{
    xl__str_printf(why,
                   "models with %s are not supported; give --params, "
                   "--layers, --kv-heads and --head-dim instead of --model, "
                   "of a mixture of experts --active and --experts",
                   name);
    return false;
}

/* True if the architecture is not supported; *why has the field. */
static bool has_unsupported_field(const json_t *config, struct xl__str *why)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        const json_t *value = json_object_get(config, unsupported[i]);
        if (json_is_number(value) && json_number_value(value) > 0)
            return !reject_field(unsupported[i], why);
    }
    return false;
}

/* The number of layers with sliding window attention: given for each layer, as
 * a number, as a pattern, or all. */
static double count_window_layers(const json_t *config, double layers)
{
    const json_t *types = json_object_get(config, "layer_types");
    const json_t *use = json_object_get(config, "use_sliding_window");
    const double each = FIELD(config, "sliding_window_pattern");
    const double n_given = FIELD(config, "sliding_layers");
    double n = 0;
    if (isnan(FIELD(config, "sliding_window")) || json_is_false(use))
        return 0;
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        n += type && strcmp(type, "sliding_attention") == 0;
    }
    if (json_array_size(types) > 0)
        return fmin(n, layers);
    if (!isnan(n_given))
        return fmin(n_given, layers);
    return isnan(each) ? layers : layers - floor(layers / each);
}

/* -- the weights ---------------------------------------------------------- */

/* Counts all and active weights from the widths, unless the number of weights
 * is given. */
static void count_weights(const json_t *config, struct planner_model *m)
{
    const double keys = m->kv_heads * m->head_dim;
    const double attention = 2 * m->hidden * (m->queries + keys);
    const double inner = m->inner / (m->used > 0 ? m->used : 1);
    const double mlp = (is_gpt2(config) ? 2 : 3) * m->hidden * inner;
    const double table = m->vocab * m->hidden;
    const double router = m->hidden * m->experts;
    const bool is_tied =
        is_gpt2(config) ||
        json_is_true(json_object_get(config, "tie_word_embeddings"));
    const double shared = m->layers * (attention + router) + table;
    const double all = m->experts > 0 ? m->experts : 1;
    const double used = m->used > 0 ? m->used : 1;
    /* of GPT-2 a table of positions, and 13 norms and biases a layer */
    const double positions = is_gpt2(config) ? m->most_context * m->hidden : 0;
    const double vectors =
        is_gpt2(config) ? (13 * m->layers + 2) * m->hidden : 0;
    m->looked_up = is_tied ? positions : table;
    m->active = shared + m->layers * mlp * used;
    m->params =
        default_to(FIELD(config, "params"),
                   shared + m->layers * mlp * all + m->looked_up + vectors);
    if (!(m->experts > 0)) /* norms and biases are used as well */
        m->active = m->params - m->looked_up;
}

/* Checks that the required fields are present and consistent. */
static bool check_fields(const struct planner_model *m, struct xl__str *why)
{
    const struct {
        const char *name;
        double value;
    } needed[] = {{"num_hidden_layers", m->layers},
                  {"hidden_size", m->hidden},
                  {"num_attention_heads", m->queries},
                  {"intermediate_size", m->inner},
                  {"vocab_size", m->vocab}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (isnan(needed[i].value)) {
            xl__str_printf(why,
                           "field %s is missing or below 1; give a model's "
                           "config.json, or --params, --layers, --kv-heads "
                           "and --head-dim",
                           needed[i].name);
            return false;
        }
    if (m->experts > 0 && !(m->used < m->experts)) {
        xl__str_add(why,
                    "num_experts_per_tok is missing or not below the number "
                    "of experts; give --params, --active and --experts");
        return false;
    }
    return true;
}

/* What a config.json leaves out where it is the default of the model's class.
 * Source: Transformers, configuration_gemma2.py and configuration_gemma3.py. */
static const struct {
    const char *type, *fields;
} implied[] = {
    {"gemma2", "{\"sliding_window_pattern\": 2}"},
    {"gemma3_text", "{\"sliding_window_pattern\": 6, \"head_dim\": 256, "
                    "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, "
                    "\"vocab_size\": 262208, \"rope_theta\": 1000000, "
                    "\"rope_local_base_freq\": 10000, "
                    "\"tie_word_embeddings\": true}"}};

json_t *planner_complete_config(const json_t *config)
{
    const json_t *text = json_object_get(config, "text_config");
    json_t *out = json_copy(
        (json_t *)(uintptr_t)(json_is_object(text) ? text : config));
    for (size_t i = 0; i < sizeof implied / sizeof *implied; i++)
        if (strcmp(json_text_at(out, "model_type"), implied[i].type) == 0) {
            json_t *fields = json_loads(implied[i].fields, 0, NULL);
            (void)json_object_update_missing(out, fields);
            json_decref(fields);
        }
    return out;
}

static bool read_fields(const json_t *config, struct planner_model *out,
                        struct xl__str *why)
{
    struct planner_model m = {.layers = NAN};
    if (has_unsupported_field(config, why))
        return false;
    const double heads = FIELD(config, "num_attention_heads", "n_head");
    m.layers = FIELD(config, "num_hidden_layers", "n_layer");
    m.hidden = FIELD(config, "hidden_size", "n_embd");
    m.kv_heads = default_to(FIELD(config, "num_key_value_heads"), heads);
    m.head_dim = default_to(FIELD(config, "head_dim"), m.hidden / heads);
    m.queries = heads * m.head_dim;
    m.experts =
        default_to(FIELD(config, "num_local_experts", "num_experts"), 0);
    if (m.experts > 0)
        m.used = FIELD(config, "num_experts_per_tok", "experts_per_token");
    m.inner =
        FIELD(config, "moe_intermediate_size", "intermediate_size", "n_inner");
    if (is_gpt2(config))
        m.inner = default_to(m.inner, 4 * m.hidden);
    if (m.experts > 0)
        m.inner *= default_to(m.used, 1);
    m.vocab = FIELD(config, "vocab_size");
    m.most_context = FIELD(config, "max_position_embeddings", "n_positions");
    m.window = default_to(FIELD(config, "sliding_window"), 0);
    m.window_layers = count_window_layers(config, m.layers);
    if (!check_fields(&m, why))
        return false;
    count_weights(config, &m);
    *out = m;
    return true;
}

bool planner_read_config(const json_t *config, struct planner_model *out,
                         struct xl__str *why)
{
    json_t *all = planner_complete_config(config);
    const bool is_read = read_fields(all, out, why);
    json_decref(all);
    return is_read;
}

/* -- search by name or file ----------------------------------------------- */

json_t *planner_models_json(void)
{
    return json_loadb((const char *)model_texts[0].text, model_texts[0].len, 0,
                      NULL);
}

static bool report_unknown_model(const json_t *all, const char *name,
                                 struct xl__str *why)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL}, *key;
    unsigned n = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)all, key, value)
        if (n < MOST)
            names[n++] = key;
    const char *near = text_nearest(name, names);
    xl__str_printf(why, "unknown model '%s'; ", name);
    if (near)
        xl__str_printf(why, "did you mean '%s'? ", near);
    xl__str_add(why, "'clbench plan --list' lists them; give one, a model's "
                     "config.json, or --params, --layers, --kv-heads and "
                     "--head-dim");
    return false;
}

/* Finds a model in the table of known models. */
static json_t *find_in_table(const char *name, char source[PLANNER_SOURCE_CAP],
                             struct xl__str *why)
{
    json_t *all = planner_models_json();
    json_t *config = json_incref(json_object_get(all, name));
    if (config)
        snprintf(source, PLANNER_SOURCE_CAP, "config.json of %s",
                 json_text_at(config, "source"));
    else
        (void)report_unknown_model(all, name, why);
    json_decref(all);
    return config;
}

/* Reads the config.json of a file. */
static json_t *read_model_file(const char *path,
                               char source[PLANNER_SOURCE_CAP],
                               struct xl__str *why)
{
    char *text = NULL;
    size_t len = 0;
    json_error_t error;
    errno = 0;
    if (xl__file_read(path, &text, &len) != XL_OK) {
        xl__str_printf(why, "'%s' cannot be read: %s", path,
                       errno ? strerror(errno) : "out of memory");
        return NULL;
    }
    json_t *config = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!config)
        xl__str_printf(why, "'%s' is not JSON: line %d: %s", path, error.line,
                       error.text);
    snprintf(source, PLANNER_SOURCE_CAP, "%s", path);
    return config;
}

static bool is_path(const char *name)
{
    static const char ending[] = ".json";
    const size_t len = strlen(name), end = sizeof ending - 1;
    return strpbrk(name, "/\\") ||
           (len > end && strcmp(name + len - end, ending) == 0);
}

json_t *planner_find_config(const char *name, char source[PLANNER_SOURCE_CAP],
                            struct xl__str *why)
{
    return is_path(name) ? read_model_file(name, source, why)
                         : find_in_table(name, source, why);
}

bool planner_find_model(const char *name, struct planner_model *out,
                        char source[PLANNER_SOURCE_CAP], struct xl__str *why)
{
    struct xl__str inner = {0};
    json_t *config = planner_find_config(name, source, why);
    const bool is_read = config && planner_read_config(config, out, &inner);
    if (config && !is_read)
        xl__str_printf(why, "'%s' is not supported: %s", name,
                       xl__str_text(&inner));
    json_decref(config);
    xl__str_clear(&inner);
    return is_read;
}
