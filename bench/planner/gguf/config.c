/* SPDX-License-Identifier: Apache-2.0 */
/* Sources: the keys of ggml's docs/gguf.md, and what llama.cpp's converter
 * writes for each architecture: it stores rows of queries and keys of `llama`
 * so that pairs are adjacent, adds 1 to Gemma's gains, and has no key for the
 * scale of queries of Gemma 2 and 3, which its size decides. */
#include "planner/gguf/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/json.h"

/* -- architectures -------------------------------------------------------- */

static const struct architecture {
    const char *name, *model_type;
    bool has_adjacent_pairs;
} architectures[] = {{"llama", "llama", true},    {"qwen2", "qwen2", false},
                     {"qwen3", "qwen3", false},   {"gemma", "gemma", false},
                     {"gemma2", "gemma2", false}, {"gemma3", "gemma3_text", false},
                     {"phi3", "phi3", false},
                     {"gpt2", "gpt2", false}};
enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };

static bool is_text(const struct gguf_value *v, const char *text)
{
    return v && v->text.text && v->text.len == strlen(text) &&
           memcmp(v->text.text, text, v->text.len) == 0;
}

static const struct architecture *find_architecture(const struct gguf *g)
{
    const struct gguf_value *v = gguf_find(g, "general.architecture");
    for (unsigned i = 0; i < N_ARCHITECTURES; i++)
        if (is_text(v, architectures[i].name))
            return &architectures[i];
    return NULL;
}

bool gguf_has_adjacent_pairs(const struct gguf *g)
{
    const struct architecture *a = find_architecture(g);
    return a && a->has_adjacent_pairs;
}

static bool refuse_architecture(const struct gguf *g, struct xl__str *why)
{
    enum { MOST = 64 };
    const struct gguf_value *v = gguf_find(g, "general.architecture");
    if (!v || !v->text.text)
        xl__str_add(why, "general.architecture is missing");
    else
        xl__str_printf(why, "architecture '%.*s' is not supported",
                       (int)(v->text.len < MOST ? v->text.len : MOST),
                       v->text.text);
    xl__str_add(why, ": must be one of");
    for (unsigned i = 0; i < N_ARCHITECTURES; i++)
        xl__str_printf(why, " %s", architectures[i].name);
    return false;
}

/* -- fields --------------------------------------------------------------- */

struct source {
    const struct gguf *g;
    const struct architecture *a;
};

static const struct gguf_value *find_of_architecture(const struct source *s,
                                                     const char *key)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", s->a->name, key);
    return gguf_find(s->g, name);
}

/* NaN: there is none. */
static double read_number(const struct source *s, const char *key)
{
    const struct gguf_value *v = find_of_architecture(s, key);
    return v ? v->number : (double)NAN;
}

/* Fields of config.json and their keys, "llama." before them. */
static const struct {
    const char *field, *key;
} fields[] = {
    {"num_hidden_layers", "block_count"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
    {"rope_theta", "rope.freq_base"},
    {"rope_local_base_freq", "rope.freq_base_swa"},
    {"sliding_window", "attention.sliding_window"},
    {"sliding_window_pattern", "attention.sliding_window_pattern"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"num_experts", "expert_count"},
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static bool copy_fields(const struct source *s, json_t *out,
                        struct xl__str *why)
{
    for (unsigned i = 0; i < N_FIELDS; i++) {
        const struct gguf_value *v = find_of_architecture(s, fields[i].key);
        if (v && v->is_array) {
            xl__str_printf(why,
                           "%s.%s is an array: layers that differ in size "
                           "are not supported",
                           s->a->name, fields[i].key);
            return false;
        }
        if (v)
            json_put(out, fields[i].field, json_number(v->number));
    }
    return true;
}

/* Keys that must be equal to a head's columns where they are there. */
static bool check_heads(const struct source *s, const json_t *config,
                        struct xl__str *why)
{
    static const char *const keys[] = {"attention.value_length",
                                       "rope.dimension_count"};
    const double given = read_number(s, "attention.key_length");
    const double heads = read_number(s, "attention.head_count");
    const double d_head =
        isnan(given)
            ? floor(json_number_value(json_object_get(config, "hidden_size")) /
                    heads)
            : given;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const double value = read_number(s, keys[i]);
        if (isnan(value) || value == d_head)
            continue;
        xl__str_printf(why, "%s.%s is %g: must be the %g columns of a head",
                       s->a->name, keys[i], value, d_head);
        return false;
    }
    return true;
}

/* Divisors of the frequencies, as a tensor has them. */
static bool add_divisors(const struct gguf *g, json_t *scaling,
                         struct xl__str *why)
{
    enum { MOST = 1024 };
    float values[MOST];
    const struct gguf_tensor *t = gguf_find_tensor(g, "rope_freqs.weight");
    if (!t)
        return true;
    if (t->rows != 1 || t->cols > MOST || t->type->is_quantised ||
        gguf_read_rows(t, 0, 1, values) != XL_OK) {
        xl__str_printf(why, "rope_freqs.weight: must be a vector of floats");
        return false;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < t->cols; i++)
        json_add(list, json_number((double)values[i]));
    json_put(scaling, "divisors", list);
    return true;
}

static bool read_scaling(const struct source *s, json_t *out,
                         struct xl__str *why)
{
    enum { MOST = 64 };
    const struct gguf_value *type =
        find_of_architecture(s, "rope.scaling.type");
    const double factor = read_number(s, "rope.scaling.factor");
    char name[MOST] = "default";
    json_t *scaling = json_object();
    if (type && type->text.text)
        snprintf(name, sizeof name, "%.*s",
                 (int)(type->text.len < MOST ? type->text.len : MOST - 1),
                 type->text.text);
    else if (type)
        snprintf(name, sizeof name, "invalid");
    json_put(scaling, "rope_type",
             json_text(is_text(type, "none") ? "default" : name));
    json_put(scaling, "factor", json_number(isnan(factor) ? 1 : factor));
    const bool is_read = add_divisors(s->g, scaling, why);
    json_put(out, "rope_scaling", scaling);
    return is_read;
}

/* What no key has. */
static void add_implied(const struct source *s, json_t *out)
{
    static const struct {
        const char *name;
        double layers;
    } of_27b[] = {{"gemma2", 46}, {"gemma3", 62}};
    const struct gguf_tensor *table =
        gguf_find_tensor(s->g, "token_embd.weight");
    json_put(out, "model_type", json_text(s->a->model_type));
    json_put(out, "vocab_size", json_number(table ? (double)table->rows : 0));
    json_put(out, "tie_word_embeddings",
             json_boolean(!gguf_find_tensor(s->g, "output.weight")));
    for (size_t i = 0; i < sizeof of_27b / sizeof *of_27b; i++)
        if (strcmp(s->a->name, of_27b[i].name) == 0 &&
            read_number(s, "block_count") == of_27b[i].layers)
            json_put(out, "query_pre_attn_scalar",
                     json_number(read_number(s, "embedding_length") /
                                 read_number(s, "attention.head_count")));
}

json_t *gguf_config(const struct gguf *g, struct xl__str *why)
{
    const struct source s = {g, find_architecture(g)};
    json_t *out = json_object();
    bool is_read = s.a != NULL || refuse_architecture(g, why);
    if (is_read) {
        add_implied(&s, out);
        is_read = copy_fields(&s, out, why) && check_heads(&s, out, why) &&
                  read_scaling(&s, out, why);
    }
    if (is_read && out)
        return out;
    if (why->len == 0)
        xl__str_add(why, "out of memory");
    json_decref(out);
    return NULL;
}
