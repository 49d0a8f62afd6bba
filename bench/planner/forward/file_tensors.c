/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix or vector of the model is up to three slices of tensors, one below
 * the other: queries, keys and values are three tensors or one; the gate is a
 * tensor, or the upper half of "ffn_up". Where pairs of the rotary embedding
 * are adjacent in the file, rows of queries and keys are put into halves: row
 * 2 i + s of a head becomes row s d / 2 + i. Source: the names of tensors in
 * llama.cpp (gguf-py, tensor_mapping.py). */
#include "planner/forward/file_tensors.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "planner/gguf/config.h"

/* -- slices of tensors ---------------------------------------------------- */

static void tensor_name(const struct lm_slices *s, const char *stem,
                        const char *ending, char out[NAME_CAP])
{
    if (s->layer < s->a->layers_of_model)
        snprintf(out, NAME_CAP, "blk.%zu.%s.%s", s->layer, stem, ending);
    else
        snprintf(out, NAME_CAP, "%s.%s", stem, ending);
}

static bool has_tensor(const struct lm_slices *s, const char *stem)
{
    char name[NAME_CAP];
    tensor_name(s, stem, "weight", name);
    return gguf_find_tensor(s->g, name) != NULL;
}

static struct lm_slice *add_slice(struct lm_slices *s, const char *stem,
                                  const char *ending, size_t first,
                                  size_t rows, size_t all)
{
    struct lm_slice *out = &s->list[s->n++];
    *out = (struct lm_slice){.first = first, .rows = rows, .all = all};
    tensor_name(s, stem, ending, out->name);
    out->tensor = gguf_find_tensor(s->g, out->name);
    return out;
}

/* Of queries, keys and values, which are one tensor or three, n from the
 * first-th on. */
static void add_heads(struct lm_slices *s, const char *ending, unsigned first,
                      unsigned n)
{
    static const char *const stems[] = {"attn_q", "attn_k", "attn_v"};
    const struct lm_arch *a = s->a;
    const size_t keys = a->kv_heads * a->d_head;
    const size_t rows[] = {a->heads * a->d_head, keys, keys};
    const bool is_one = has_tensor(s, "attn_qkv");
    size_t at = 0;
    for (unsigned i = 0; i < first + n; at += rows[i++]) {
        if (i < first)
            continue;
        struct lm_slice *one =
            is_one ? add_slice(s, "attn_qkv", ending, at, rows[i],
                               rows[0] + 2 * keys)
                   : add_slice(s, stems[i], ending, 0, rows[i], rows[i]);
        one->head = i < 2 && gguf_has_adjacent_pairs(s->g) ? a->d_head : 0;
    }
}

static void list_matrix(struct lm_slices *s, enum lm_matrix_id id, size_t rows)
{
    static const char *const of_layer[LM_LAYER_MATRICES] = {
        [LM_OUT] = "attn_output",
        [LM_UP] = "ffn_up",
        [LM_GATE] = "ffn_gate",
        [LM_DOWN] = "ffn_down"};
    static const char *const of_model[LM_LAYER_MATRICES] = {
        [LM_EMBEDDING] = "token_embd",
        [LM_POSITIONS] = "position_embd",
        [LM_HEAD] = "output"};
    static const char ending[] = "weight";
    const bool is_layer = s->layer < s->a->layers_of_model;
    if (is_layer && id <= LM_VALUES) {
        const bool is_all = rows > s->a->heads * s->a->d_head;
        add_heads(s, ending, (unsigned)id, id == LM_QKV && is_all ? 3 : 1);
    } else if (is_layer && (id == LM_UP || id == LM_GATE) &&
               s->a->family->is_gated && !has_tensor(s, "ffn_gate")) {
        (void)add_slice(s, "ffn_up", ending, id == LM_UP ? rows : 0, rows,
                        2 * rows);
    } else if (!is_layer && id == LM_HEAD && !has_tensor(s, "output")) {
        (void)add_slice(s, "token_embd", ending, 0, rows, rows);
    } else {
        (void)add_slice(s, is_layer ? of_layer[id] : of_model[id], ending, 0,
                        rows, rows);
    }
}

static void list_vector(struct lm_slices *s, enum lm_vector_id id, size_t n)
{
    static const struct {
        const char *stem, *ending;
    } names[LM_LAYER_VECTORS] = {
        [LM_NORM1] = {"attn_norm", "weight"},
        [LM_NORM1_BIAS] = {"attn_norm", "bias"},
        [LM_Q_NORM] = {"attn_q_norm", "weight"},
        [LM_K_NORM] = {"attn_k_norm", "weight"},
        [LM_OUT_BIAS] = {"attn_output", "bias"},
        [LM_POST1] = {"post_attention_norm", "weight"},
        [LM_NORM2] = {"ffn_norm", "weight"},
        [LM_NORM2_BIAS] = {"ffn_norm", "bias"},
        [LM_UP_BIAS] = {"ffn_up", "bias"},
        [LM_DOWN_BIAS] = {"ffn_down", "bias"},
        [LM_POST2] = {"post_ffw_norm", "weight"}};
    const bool is_layer = s->layer < s->a->layers_of_model;
    if (id == LM_QKV_BIAS)
        add_heads(s, "bias", 0, LM_MOST_SLICES);
    else
        (void)add_slice(s, is_layer ? names[id].stem : "output_norm",
                        names[id].ending, 0, n, n);
}

/* Also where only the first layers of the file are used. */
static struct lm_slices layer_slices(const struct gguf *g,
                                     const struct lm_arch *a, size_t layer)
{
    return (struct lm_slices){.g = g,
                              .a = a,
                              .layer = layer < a->layers ? layer
                                                         : a->layers_of_model};
}

struct lm_slices lm_matrix_slices(const struct gguf *g,
                                  const struct lm_arch *a, size_t layer,
                                  enum lm_matrix_id id, size_t rows)
{
    struct lm_slices s = layer_slices(g, a, layer);
    list_matrix(&s, id, rows);
    return s;
}

/* -- the check ------------------------------------------------------------ */

/* Sizes of the slices' tensors, which are marked as used. */
static bool check_slices(const struct lm_slices *s, size_t cols, bool *used,
                         struct xl__str *why)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct lm_slice *at = &s->list[i];
        const struct gguf_tensor *t = at->tensor;
        if (!t) {
            xl__str_printf(why, "tensor '%s' is missing", at->name);
            return false;
        }
        used[t - s->g->tensor] = true;
        const bool is_vector = cols == 0;
        const size_t rows = is_vector ? t->cols : t->rows;
        const bool is_right = is_vector
                                  ? t->rows == 1 && !t->type->is_quantised
                                  : t->cols == cols;
        if (is_right && at->all == rows)
            continue;
        xl__str_printf(why,
                       "tensor '%s' has %zu x %zu elements of %s: must have "
                       "%zu x %zu%s",
                       at->name, t->rows, t->cols, t->type->name,
                       is_vector ? 1 : at->all, is_vector ? at->all : cols,
                       is_vector ? " floats" : "");
        return false;
    }
    return true;
}

/* Do queries, keys and values differ in format? */
static bool splits_heads(const struct gguf *g, const struct lm_arch *a,
                         size_t layer)
{
    struct lm_slices s = layer_slices(g, a, layer);
    add_heads(&s, "weight", 0, LM_MOST_SLICES);
    for (size_t i = 1; i < s.n; i++)
        if (s.list[i].tensor && s.list[0].tensor &&
            s.list[i].tensor->type != s.list[0].tensor->type)
            return true;
    return false;
}

static bool check_layer(const struct gguf *g, const struct lm_arch *a,
                        size_t layer, bool *used, struct xl__str *why)
{
    for (unsigned i = 0; i < LM_LAYER_MATRICES; i++) {
        const enum lm_matrix_id id = (enum lm_matrix_id)i;
        size_t rows, cols;
        if (!lm_matrix_sizes(a, layer, id, &rows, &cols))
            continue;
        const struct lm_slices s = lm_matrix_slices(g, a, layer, id, rows);
        if (!check_slices(&s, cols, used, why))
            return false;
    }
    for (unsigned i = 0; i < LM_LAYER_VECTORS; i++) {
        const enum lm_vector_id id = (enum lm_vector_id)i;
        const size_t n = lm_vector_size(a, layer, id);
        struct lm_slices s = layer_slices(g, a, layer);
        if (n > 0)
            list_vector(&s, id, n);
        if (!check_slices(&s, 0, used, why))
            return false;
    }
    return true;
}

static bool check_unused(const struct gguf *g, const bool *used,
                         struct xl__str *why)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensor[i];
        if (used[i] || t == gguf_find_tensor(g, "rope_freqs.weight"))
            continue;
        xl__str_printf(why,
                       "tensor '%.*s' is not one that this architecture has "
                       "here, so that its result would be wrong",
                       (int)t->name.len, t->name.text);
        return false;
    }
    return true;
}

static bool check_file(const struct gguf *g, struct lm_arch *a,
                       struct xl__str *why)
{
    bool *used = xl__calloc(g->n_tensors + 1, sizeof *used), is_right;
    is_right = used != NULL;
    if (!used)
        xl__str_add(why, "out of memory");
    for (size_t l = 0; l < a->layers; l++)
        a->splits_qkv[l] = splits_heads(g, a, l);
    for (size_t l = 0; is_right && l <= a->layers; l++)
        is_right = check_layer(g, a, l, used, why);
    if (is_right)
        is_right = check_unused(g, used, why);
    free(used);
    return is_right;
}

bool lm_file_read_arch(const struct gguf *g, size_t layers,
                       struct lm_arch *out, struct xl__str *why)
{
    json_t *config = gguf_config(g, why);
    const bool is_read =
        config && lm_arch_read(config, 0, out, why) && check_file(g, out, why);
    if (is_read && layers > 0)
        out->layers = xl__min_size(layers, out->layers);
    json_decref(config);
    return is_read;
}

/* -- the model's order ---------------------------------------------------- */

size_t lm_slice_row(const struct lm_slice *s, size_t i)
{
    if (s->head == 0)
        return s->first + i;
    const size_t half = s->head / 2, in_head = i % s->head;
    return s->first + i - in_head + 2 * (in_head % half) + in_head / half;
}

xl_status lm_file_vector(const struct gguf *g, const struct lm_arch *a,
                         size_t layer, enum lm_vector_id id, float *out)
{
    xl_status status = XL_OK;
    float *x = NULL;
    struct lm_slices s = layer_slices(g, a, layer);
    list_vector(&s, id, lm_vector_size(a, layer, id));
    for (size_t i = 0; i < s.n; i++) {
        const struct lm_slice *at = &s.list[i];
        free(x);
        x = xl__calloc(at->tensor->cols, sizeof *x);
        TRY(x ? XL_OK : XL_NO_MEMORY);
        TRY(gguf_read_rows(at->tensor, 0, 1, x));
        for (size_t j = 0; j < at->rows; j++)
            *out++ = x[lm_slice_row(at, j)];
    }
fail:
    free(x);
    return status;
}
