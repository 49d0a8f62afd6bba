/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an architecture from the fields of config.json. Families are rows of a
 * table. Source: the config.json files and model definitions that the families
 * published (Llama 3, Mistral, Qwen 2.5 and 3, Gemma 1 to 3, Phi 3, GPT-2).
 */
#include "planner/forward/architecture.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "planner/models.h"
#include "results/json.h"

/* clang-format off */
static const struct lm_family families[] = {
    {.type = "llama", .name = "Llama", .norm = XL_NORM_RMS, .act = "silu",
     .is_gated = true, .eps = 1e-5},
    {.type = "mistral", .name = "Mistral", .norm = XL_NORM_RMS, .act = "silu",
     .is_gated = true, .eps = 1e-5},
    {.type = "phi3", .name = "Phi", .norm = XL_NORM_RMS, .act = "silu",
     .is_gated = true, .eps = 1e-5},
    {.type = "qwen2", .name = "Qwen", .norm = XL_NORM_RMS, .act = "silu",
     .is_gated = true, .has_qkv_bias = true, .eps = 1e-6},
    {.type = "qwen3", .name = "Qwen", .norm = XL_NORM_RMS, .act = "silu",
     .is_gated = true, .has_qk_norm = true, .eps = 1e-6},
    {.type = "gemma", .name = "Gemma", .norm = XL_NORM_RMS,
     .act = "gelu_tanh", .is_gated = true, .scales_embedding = true,
     .eps = 1e-6},
    {.type = "gemma2", .name = "Gemma", .norm = XL_NORM_RMS,
     .act = "gelu_tanh", .is_gated = true, .scales_embedding = true,
     .has_post_norms = true, .eps = 1e-6},
    {.type = "gemma3_text", .name = "Gemma", .norm = XL_NORM_RMS,
     .act = "gelu_tanh", .is_gated = true, .scales_embedding = true,
     .has_post_norms = true, .has_qk_norm = true, .eps = 1e-6},
    {.type = "gpt2", .name = "GPT-2", .norm = XL_NORM_LAYER,
     .act = "gelu_tanh", .has_biases = true, .has_qkv_bias = true,
     .learns_positions = true, .eps = 1e-5},
};
/* clang-format on */
enum { N_FAMILIES = sizeof families / sizeof *families };

static const struct lm_family *find_family(const char *type)
{
    for (unsigned i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i].type, type) == 0)
            return &families[i];
    return NULL;
}

static bool refuse_family(const char *type, struct xl__str *why)
{
    xl__str_printf(why, "model_type '%s' is not supported: must be one of",
                   type);
    for (unsigned i = 0; i < N_FAMILIES; i++)
        xl__str_printf(why, " %s", families[i].type);
    return false;
}

/* -- fields --------------------------------------------------------------- */

/* The first of both fields that is a positive number; else `otherwise`. */
static double read_number(const json_t *config, const char *name,
                          const char *other, double otherwise)
{
    const json_t *value = json_object_get(config, name);
    if (!json_is_number(value) && other)
        value = json_object_get(config, other);
    return json_is_number(value) && json_number_value(value) > 0
               ? json_number_value(value)
               : otherwise;
}

/* Likewise a size; false: *why. */
static bool read_size(const json_t *config, const char *name,
                      const char *other, double otherwise, size_t *out,
                      struct xl__str *why)
{
    const double value = read_number(config, name, other, otherwise);
    if (value >= 1 && value <= LM_MOST_SIZE && value == floor(value)) {
        *out = (size_t)value;
        return true;
    }
    xl__str_printf(why,
                   "invalid or missing field %s: must be a whole number "
                   "from 1 to %d",
                   name, LM_MOST_SIZE);
    return false;
}

/* Which layers see a window only: by a list, by a pattern, or all. */
static void read_windows(const json_t *config, struct lm_arch *a)
{
    const json_t *types = json_object_get(config, "layer_types");
    const json_t *use = json_object_get(config, "use_sliding_window");
    const double window = read_number(config, "sliding_window", NULL, 0);
    const double every =
        read_number(config, "sliding_window_pattern", NULL, 0);
    a->window = window <= LM_MOST_SIZE ? (size_t)window : 0;
    if (a->window == 0 || json_is_false(use))
        return;
    for (size_t i = 0; i < a->layers; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        a->has_window[i] = json_array_size(types) > 0
                               ? type && strcmp(type, "sliding_attention") == 0
                               : every < 1 || (i + 1) % (size_t)every != 0;
    }
}

/* By the wavelength: those that the original context has many of are kept,
 * those that it has few of are divided, between them both are mixed. Source:
 * the rotary embedding of Llama 3.1 (Meta, llama-models). */
static bool read_llama3(const json_t *scaling, double factor,
                        struct lm_arch *a)
{
    const double low = read_number(scaling, "low_freq_factor", NULL, 0);
    const double high = read_number(scaling, "high_freq_factor", NULL, 0);
    const double context =
        read_number(scaling, "original_max_position_embeddings", NULL, 0);
    const size_t half = a->d_head / 2;
    if (!(low > 0 && high > low && context > 0))
        return false;
    for (size_t i = 0; i < half; i++) {
        const double turns = context *
                             pow(a->rope_base, -(double)i / (double)half) /
                             (2 * acos(-1.0));
        const double kept = fmin(fmax((turns - low) / (high - low), 0), 1);
        a->rope_divisor[i] = 1 / (kept + (1 - kept) / factor);
    }
    return true;
}

/* Divisors of the file itself come on top of a factor. */
static bool read_divisors(const json_t *list, struct lm_arch *a)
{
    const size_t half = a->d_head / 2;
    for (size_t i = 0; list && i < half; i++) {
        const double x = json_number_value(json_array_get(list, i));
        if (!(x > 0) || json_array_size(list) != half)
            return false;
        a->rope_divisor[i] *= x;
    }
    return true;
}

static bool read_rope_scaling(const json_t *config, struct lm_arch *a,
                              struct xl__str *why)
{
    static const double least = 0x1p-8, most = 0x1p16; /* xl_rotary's */
    const json_t *scaling = json_object_get(config, "rope_scaling");
    const bool is_old = !json_object_get(scaling, "rope_type");
    const char *type = json_text_at(scaling, is_old ? "type" : "rope_type");
    const bool is_linear = strcmp(type, "linear") == 0;
    const double factor = read_number(scaling, "factor", NULL, 1);
    for (size_t i = 0; i < a->d_head / 2; i++)
        a->rope_divisor[i] = is_linear ? factor : 1;
    if (!json_is_object(scaling) || a->family->learns_positions)
        return true;
    if (strcmp(type, "llama3") == 0) {
        if (!read_llama3(scaling, factor, a))
            xl__str_add(why, "rope_scaling: low_freq_factor, high_freq_factor "
                             "and original_max_position_embeddings are "
                             "required");
    } else if (!is_linear && strcmp(type, "default") != 0) {
        xl__str_printf(why,
                       "rope_scaling of type '%s' is not supported: must be "
                       "linear or llama3",
                       type);
    } else if (!read_divisors(json_object_get(scaling, "divisors"), a)) {
        xl__str_printf(why,
                       "divisors of rotary frequencies: must be %zu positive "
                       "numbers",
                       a->d_head / 2);
    }
    for (size_t i = 0; i < a->d_head / 2 && why->len == 0; i++) {
        a->scales_rope |= a->rope_divisor[i] != 1;
        if (!(a->rope_divisor[i] >= least && a->rope_divisor[i] <= most))
            xl__str_printf(why,
                           "rotary frequencies are divided by %g: must be "
                           "from %g to %g",
                           a->rope_divisor[i], least, most);
    }
    return why->len == 0;
}

static bool check_sizes(const struct lm_arch *a, struct xl__str *why)
{
    if (a->layers_of_model > LM_MOST_LAYERS)
        xl__str_printf(why, "more than %d layers", LM_MOST_LAYERS);
    else if (a->d_head > LM_MOST_HEAD || a->d_head % 2 != 0)
        xl__str_printf(why,
                       "heads of %zu columns: must be an even number up "
                       "to %d",
                       a->d_head, LM_MOST_HEAD);
    else if (a->heads % a->kv_heads != 0)
        xl__str_add(why, "num_attention_heads is not a multiple of "
                         "num_key_value_heads");
    return why->len == 0;
}

static bool read_fields(const json_t *config, size_t layers,
                        struct lm_arch *out, struct xl__str *why)
{
    static const double rope_base = 10000;
    struct lm_arch a = {0};
    const char *type = json_text_at(config, "model_type");
    a.family = find_family(type);
    if (!a.family)
        return refuse_family(type, why);
    if (read_number(config, "num_local_experts", "num_experts", 0) > 1) {
        xl__str_add(why, "mixtures of experts are not supported");
        return false;
    }
    if (!read_size(config, "num_hidden_layers", "n_layer", 0,
                   &a.layers_of_model, why) ||
        !read_size(config, "hidden_size", "n_embd", 0, &a.hidden, why) ||
        !read_size(config, "num_attention_heads", "n_head", 0, &a.heads,
                   why) ||
        !read_size(config, "num_key_value_heads", NULL, (double)a.heads,
                   &a.kv_heads, why) ||
        !read_size(config, "head_dim", NULL,
                   floor((double)a.hidden / (double)a.heads), &a.d_head,
                   why) ||
        !read_size(config, "intermediate_size", "n_inner",
                   4 * (double)a.hidden, &a.inner, why) ||
        !read_size(config, "vocab_size", NULL, 0, &a.vocab, why) ||
        !check_sizes(&a, why))
        return false;
    a.layers = layers > 0 ? xl__min_size(layers, a.layers_of_model)
                          : a.layers_of_model;
    a.positions = (size_t)read_number(config, "max_position_embeddings",
                                      "n_positions", 0);
    if (a.family->learns_positions && a.positions == 0) {
        xl__str_add(why, "field n_positions is missing");
        return false;
    }
    a.eps = read_number(config, "rms_norm_eps", "layer_norm_epsilon",
                        a.family->eps);
    a.rope_base = read_number(config, "rope_theta", NULL, rope_base);
    a.rope_local_base = read_number(config, "rope_local_base_freq", NULL, 0);
    a.attention_scale = 1 / sqrt(read_number(config, "query_pre_attn_scalar",
                                             NULL, (double)a.d_head));
    a.attention_cap = read_number(config, "attn_logit_softcapping", NULL, 0);
    a.logit_cap = read_number(config, "final_logit_softcapping", NULL, 0);
    read_windows(config, &a);
    if (!read_rope_scaling(config, &a, why))
        return false;
    *out = a;
    return true;
}

bool lm_arch_read(const json_t *config, size_t layers, struct lm_arch *out,
                  struct xl__str *why)
{
    json_t *all = planner_complete_config(config);
    const bool is_read = read_fields(all, layers, out, why);
    json_decref(all);
    return is_read;
}

/* -- weights -------------------------------------------------------------- */

bool lm_matrix_sizes(const struct lm_arch *a, size_t layer,
                     enum lm_matrix_id id, size_t *rows, size_t *cols)
{
    const size_t queries = a->heads * a->d_head;
    const size_t keys = a->kv_heads * a->d_head;
    const bool splits = layer < a->layers && a->splits_qkv[layer];
    const size_t of_layer[LM_LAYER_MATRICES][2] = {
        [LM_QKV] = {splits ? queries : queries + 2 * keys, a->hidden},
        [LM_KEYS] = {splits ? keys : 0, a->hidden},
        [LM_VALUES] = {splits ? keys : 0, a->hidden},
        [LM_OUT] = {a->hidden, queries},
        [LM_UP] = {a->inner, a->hidden},
        [LM_GATE] = {a->family->is_gated ? a->inner : 0, a->hidden},
        [LM_DOWN] = {a->hidden, a->inner}};
    const size_t of_model[LM_LAYER_MATRICES][2] = {
        [LM_EMBEDDING] = {a->vocab, a->hidden},
        [LM_POSITIONS] = {a->family->learns_positions ? a->positions : 0,
                          a->hidden},
        [LM_HEAD] = {a->vocab, a->hidden}};
    const size_t(*sizes)[2] = layer < a->layers ? of_layer : of_model;
    *rows = sizes[id][0];
    *cols = sizes[id][1];
    return *rows > 0;
}

bool lm_is_table(const struct lm_arch *a, size_t layer, enum lm_matrix_id id)
{
    return layer == a->layers && (id == LM_EMBEDDING || id == LM_POSITIONS);
}

size_t lm_vector_size(const struct lm_arch *a, size_t layer,
                      enum lm_vector_id id)
{
    const struct lm_family *f = a->family;
    const size_t h = a->hidden;
    const size_t sizes[LM_LAYER_VECTORS] = {
        [LM_NORM1] = h,
        [LM_NORM1_BIAS] = f->has_biases ? h : 0,
        [LM_QKV_BIAS] =
            f->has_qkv_bias ? (a->heads + 2 * a->kv_heads) * a->d_head : 0,
        [LM_Q_NORM] = f->has_qk_norm ? a->d_head : 0,
        [LM_K_NORM] = f->has_qk_norm ? a->d_head : 0,
        [LM_OUT_BIAS] = f->has_biases ? h : 0,
        [LM_POST1] = f->has_post_norms ? h : 0,
        [LM_NORM2] = h,
        [LM_NORM2_BIAS] = f->has_biases ? h : 0,
        [LM_UP_BIAS] = f->has_biases ? a->inner : 0,
        [LM_DOWN_BIAS] = f->has_biases ? h : 0,
        [LM_POST2] = f->has_post_norms ? h : 0};
    return layer < a->layers || id <= LM_NORM1_BIAS ? sizes[id] : 0;
}

bool lm_is_gain(enum lm_vector_id id)
{
    return id == LM_NORM1 || id == LM_NORM2 || id == LM_Q_NORM ||
           id == LM_K_NORM || id == LM_POST1 || id == LM_POST2;
}

/* -- counts --------------------------------------------------------------- */

void lm_arch_plan(const struct lm_arch *a, struct planner_model *out)
{
    struct planner_model m = {.most_context = NAN};
    for (size_t l = 0; l <= a->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_MATRICES; i++) {
            size_t rows, cols;
            const bool is_there =
                lm_matrix_sizes(a, l, (enum lm_matrix_id)i, &rows, &cols);
            if (is_there && !lm_is_table(a, l, (enum lm_matrix_id)i))
                m.params += (double)rows * (double)cols;
        }
    m.active = m.params;
    m.layers = (double)a->layers;
    m.kv_heads = (double)a->kv_heads;
    m.head_dim = (double)a->d_head;
    m.hidden = (double)a->hidden;
    m.inner = (double)a->inner;
    m.queries = (double)(a->heads * a->d_head);
    m.vocab = (double)a->vocab;
    m.window = (double)a->window;
    for (size_t l = 0; l < a->layers; l++)
        m.window_layers += a->has_window[l];
    *out = m;
}

double lm_pairs(const struct lm_arch *a, size_t layer, size_t past, size_t n)
{
    double pairs = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t seen = past + i + 1;
        pairs += (double)(a->has_window[layer] ? xl__min_size(seen, a->window)
                                               : seen);
    }
    return pairs;
}
