/* SPDX-License-Identifier: Apache-2.0 */
/* Source of layout and names: the GGUF specification of ggml, docs/gguf.md,
 * and llama.cpp's gguf-py. */
#include "gguf_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "support/support.h"

/* -- the container -------------------------------------------------------- */

static void put_number(struct xl__str *s, uint64_t x, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const char c = (char)(unsigned char)(x >> 8 * i);
        xl__str_add_n(s, &c, 1);
    }
}

static void put_text(struct xl__str *s, const char *text)
{
    put_number(s, strlen(text), 8);
    xl__str_add(s, text);
}

static void pad(struct xl__str *s, size_t alignment)
{
    while (s->len % alignment != 0)
        put_number(s, 0, 1);
}

enum { TYPE_U32 = 4, TYPE_F32 = 6, TYPE_TEXT = 8, TYPE_ARRAY = 9 };

static void begin_value(struct gguf_file *f, const char *key, uint32_t type)
{
    put_text(&f->values, key);
    put_number(&f->values, type, 4);
    f->n_values++;
}

void gguf_file_u32(struct gguf_file *f, const char *key, uint32_t x)
{
    begin_value(f, key, TYPE_U32);
    put_number(&f->values, x, 4);
}

void gguf_file_f32(struct gguf_file *f, const char *key, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    begin_value(f, key, TYPE_F32);
    put_number(&f->values, bits, 4);
}

void gguf_file_text(struct gguf_file *f, const char *key, const char *text)
{
    begin_value(f, key, TYPE_TEXT);
    put_text(&f->values, text);
}

/* An array, of texts, and one in another, which readers step over. */
static void put_arrays(struct gguf_file *f)
{
    begin_value(f, "tokenizer.ggml.tokens", TYPE_ARRAY);
    put_number(&f->values, TYPE_TEXT, 4);
    put_number(&f->values, 2, 8);
    put_text(&f->values, "a");
    put_text(&f->values, "");
    begin_value(f, "general.nested", TYPE_ARRAY);
    put_number(&f->values, TYPE_ARRAY, 4);
    put_number(&f->values, 1, 8);
    put_number(&f->values, TYPE_U32, 4);
    put_number(&f->values, 3, 8);
    for (unsigned i = 0; i < 3; i++)
        put_number(&f->values, 0, 4);
}

void gguf_file_begin(struct gguf_file *f, uint32_t version, size_t alignment)
{
    *f = (struct gguf_file){.version = version,
                            .alignment = alignment > 0 ? alignment : 32};
    if (alignment > 0)
        gguf_file_u32(f, "general.alignment", (uint32_t)alignment);
}

void gguf_file_tensor(struct gguf_file *f, const char *name, uint64_t rows,
                      uint64_t cols, uint32_t type, const void *data,
                      size_t bytes)
{
    pad(&f->data, f->alignment);
    put_text(&f->tensors, name);
    put_number(&f->tensors, rows > 0 ? 2 : 1, 4);
    put_number(&f->tensors, cols, 8);
    if (rows > 0)
        put_number(&f->tensors, rows, 8);
    put_number(&f->tensors, type, 4);
    put_number(&f->tensors, f->data.len, 8);
    xl__str_add_n(&f->data, data, bytes);
    f->n_tensors++;
}

void gguf_file_end(struct gguf_file *f, struct xl__str *out)
{
    *out = (struct xl__str){0};
    xl__str_add(out, "GGUF");
    put_number(out, f->version, 4);
    put_number(out, f->n_tensors, 8);
    put_number(out, f->n_values, 8);
    xl__str_add_n(out, xl__str_text(&f->values), f->values.len);
    xl__str_add_n(out, xl__str_text(&f->tensors), f->tensors.len);
    pad(out, f->alignment);
    xl__str_add_n(out, xl__str_text(&f->data), f->data.len);
    assert_false(out->broken);
    xl__str_clear(&f->values);
    xl__str_clear(&f->tensors);
    xl__str_clear(&f->data);
}

/* -- a model -------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t id;
} ids[] = {{"f32", 0},   {"f16", 1},     {"bf16", 30}, {"q4_0", 2},
           {"q4_1", 3},  {"q5_0", 6},    {"q8_0", 8},  {"q4_k", 12},
           {"q6_k", 14}, {"iq4_nl", 20}, {"mxfp4", 39}};

static uint32_t id_of(const char *kind)
{
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strcmp(ids[i].name, kind) == 0)
            return ids[i].id;
    fail_msg("no type '%s'", kind);
    return 0;
}

struct writer {
    const struct gguf_model *m;
    struct gguf_file file;
    struct xl__rng rng;
    struct gguf_truth *truth;
    size_t layer;
};

/* Random rows in a format, and what they are then. Returns the bytes. */
static unsigned char *make_rows(struct writer *w, const char *kind,
                                size_t rows, size_t cols, double *truth,
                                size_t *bytes)
{
    const double deviation = 1 / sqrt((double)w->m->hidden);
    const size_t n = rows * cols;
    const xl_qshape shape = {xl_qformat_find(kind), rows, cols, 0, 0};
    float *x = calloc(n, sizeof *x);
    unsigned char *out;
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(deviation * xl__rng_normal(&w->rng));
    if (shape.format != XL_N_QFORMATS) {
        xl_qbytes size;
        assert_int_equal(xl_qshape_bytes(&shape, &size), XL_OK);
        *bytes = size.blocks;
        out = calloc(1, *bytes);
        assert_non_null(out);
        const xl_qdata to = {.blocks = out};
        assert_int_equal(xl_qmat_quantise_host(&shape, x, &to), XL_OK);
        assert_int_equal(xl_qmat_dequantise_host(&shape, &to, x), XL_OK);
    } else {
        const xl_dtype dtype = strcmp(kind, "f32") == 0   ? XL_F32
                               : strcmp(kind, "f16") == 0 ? XL_F16
                                                          : XL_BF16;
        *bytes = n * xl_dtype_bytes(dtype);
        out = calloc(1, *bytes);
        assert_non_null(out);
        for (size_t i = 0; i < n; i++) {
            xl__dtype_store(out, i, dtype, (double)x[i]);
            x[i] = (float)xl__dtype_load(out, i, dtype);
        }
    }
    for (size_t i = 0; i < n; i++)
        truth[i] = (double)x[i];
    free(x);
    return out;
}

/* A head's halves become pairs side by side: [2][d / 2] to [d / 2][2]. */
static void interleave(unsigned char *data, size_t rows, size_t row_bytes,
                       size_t d)
{
    unsigned char *head = calloc(d, row_bytes);
    assert_non_null(head);
    for (size_t first = 0; first < rows; first += d) {
        unsigned char *from = data + first * row_bytes;
        for (size_t half = 0; half < 2; half++)
            for (size_t i = 0; i < d / 2; i++)
                memcpy(head + (2 * i + half) * row_bytes,
                       from + (half * (d / 2) + i) * row_bytes, row_bytes);
        memcpy(from, head, d * row_bytes);
    }
    free(head);
}

static const char *full_name(const struct writer *w, const char *stem,
                             const char *ending)
{
    static char name[64];
    if (w->layer < GGUF_MODEL_LAYERS)
        snprintf(name, sizeof name, "blk.%zu.%s.%s", w->layer, stem, ending);
    else
        snprintf(name, sizeof name, "%s.%s", stem, ending);
    return name;
}

static void add_matrix(struct writer *w, const char *stem, const char *kind,
                       size_t rows, size_t cols, bool is_interleaved,
                       double *truth)
{
    size_t bytes;
    unsigned char *data = make_rows(w, kind, rows, cols, truth, &bytes);
    if (is_interleaved)
        interleave(data, rows, bytes / rows, w->m->d_head);
    gguf_file_tensor(&w->file, full_name(w, stem, "weight"), rows, cols,
                     id_of(kind), data, bytes);
    free(data);
}

/* Memory for a matrix of the truth. */
static double *truth_of(struct writer *w, enum lm_matrix_id id, size_t n)
{
    double *out = calloc(n, sizeof *out);
    assert_non_null(out);
    w->truth->matrix[w->layer][id] = out;
    return out;
}

static void add_vector(struct writer *w, enum lm_vector_id id,
                       const char *stem, const char *ending, size_t n)
{
    float *x = calloc(n, sizeof *x);
    assert_non_null(x);
    w->truth->vector[w->layer][id] = x;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(lm_is_gain(id) + xl__rng_normal(&w->rng) / 8);
    if (id == LM_QKV_BIAS && strcmp(stem, "attn_q") == 0) { /* three */
        const size_t q = w->m->heads * w->m->d_head, k = (n - q) / 2;
        gguf_file_tensor(&w->file, full_name(w, "attn_q", ending), 0, q, 0, x,
                         q * sizeof *x);
        gguf_file_tensor(&w->file, full_name(w, "attn_k", ending), 0, k, 0,
                         x + q, k * sizeof *x);
        gguf_file_tensor(&w->file, full_name(w, "attn_v", ending), 0, k, 0,
                         x + q + k, k * sizeof *x);
        return;
    }
    gguf_file_tensor(&w->file, full_name(w, stem, ending), 0, n, 0, x,
                     n * sizeof *x);
}

static bool is_arch(const struct writer *w, const char *arch)
{
    return strcmp(w->m->arch, arch) == 0;
}

static void add_layer(struct writer *w)
{
    const struct gguf_model *m = w->m;
    const size_t h = m->hidden, q = m->heads * m->d_head;
    const size_t k = m->kv_heads * m->d_head, all = q + 2 * k;
    const bool has_biases = is_arch(w, "gpt2"), is_llama = is_arch(w, "llama");
    double *qkv = truth_of(w, LM_QKV, all * h);
    if (has_biases || is_arch(w, "phi3")) {
        add_matrix(w, "attn_qkv", m->q, all, h, false, qkv);
    } else {
        add_matrix(w, "attn_q", m->q, q, h, is_llama, qkv);
        add_matrix(w, "attn_k", m->q, k, h, is_llama, qkv + q * h);
        add_matrix(w, "attn_v", m->v, k, h, false, qkv + (q + k) * h);
    }
    add_matrix(w, "attn_output", m->other, h, q, false,
               truth_of(w, LM_OUT, h * q));
    double *up = truth_of(w, LM_UP, m->inner * h);
    if (is_arch(w, "phi3")) {
        double *gate = truth_of(w, LM_GATE, m->inner * h);
        double *both = calloc(2 * m->inner * h, sizeof *both);
        assert_non_null(both);
        add_matrix(w, "ffn_up", m->other, 2 * m->inner, h, false, both);
        memcpy(gate, both, m->inner * h * sizeof *both);
        memcpy(up, both + m->inner * h, m->inner * h * sizeof *both);
        free(both);
    } else {
        add_matrix(w, "ffn_up", m->other, m->inner, h, false, up);
        if (!has_biases)
            add_matrix(w, "ffn_gate", m->other, m->inner, h, false,
                       truth_of(w, LM_GATE, m->inner * h));
    }
    add_matrix(w, "ffn_down", m->other, h, m->inner, false,
               truth_of(w, LM_DOWN, h * m->inner));
    add_vector(w, LM_NORM1, "attn_norm", "weight", h);
    add_vector(w, LM_NORM2, "ffn_norm", "weight", h);
    if (has_biases) {
        add_vector(w, LM_NORM1_BIAS, "attn_norm", "bias", h);
        add_vector(w, LM_NORM2_BIAS, "ffn_norm", "bias", h);
        add_vector(w, LM_QKV_BIAS, "attn_qkv", "bias", all);
        add_vector(w, LM_OUT_BIAS, "attn_output", "bias", h);
        add_vector(w, LM_UP_BIAS, "ffn_up", "bias", m->inner);
        add_vector(w, LM_DOWN_BIAS, "ffn_down", "bias", h);
    }
    if (is_arch(w, "qwen2"))
        add_vector(w, LM_QKV_BIAS, "attn_q", "bias", all);
    if (is_arch(w, "qwen3") || is_arch(w, "gemma3")) {
        add_vector(w, LM_Q_NORM, "attn_q_norm", "weight", m->d_head);
        add_vector(w, LM_K_NORM, "attn_k_norm", "weight", m->d_head);
    }
    if (is_arch(w, "gemma2") || is_arch(w, "gemma3")) {
        add_vector(w, LM_POST1, "post_attention_norm", "weight", h);
        add_vector(w, LM_POST2, "post_ffw_norm", "weight", h);
    }
}

static void add_ends(struct writer *w)
{
    const struct gguf_model *m = w->m;
    const size_t n = m->vocab * m->hidden, h = m->hidden;
    double *table = truth_of(w, LM_EMBEDDING, n);
    double *head = truth_of(w, LM_HEAD, n);
    add_matrix(w, "token_embd", m->table, m->vocab, h, false, table);
    if (m->head)
        add_matrix(w, "output", m->head, m->vocab, h, false, head);
    else
        memcpy(head, table, n * sizeof *head);
    add_vector(w, LM_NORM1, "output_norm", "weight", h);
    if (!is_arch(w, "gpt2"))
        return;
    add_vector(w, LM_NORM1_BIAS, "output_norm", "bias", h);
    add_matrix(w, "position_embd", "f32", GGUF_MODEL_POSITIONS, h, false,
               truth_of(w, LM_POSITIONS, GGUF_MODEL_POSITIONS * h));
}

static void add_number(struct writer *w, const char *key, size_t x)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", w->m->arch, key);
    gguf_file_u32(&w->file, name, (uint32_t)x);
}

static void add_float(struct writer *w, const char *key, double x)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", w->m->arch, key);
    gguf_file_f32(&w->file, name, (float)x);
}

static void add_metadata(struct writer *w)
{
    const struct gguf_model *m = w->m;
    char key[96];
    gguf_file_text(&w->file, "general.architecture", m->arch);
    put_arrays(&w->file);
    add_number(w, "block_count", GGUF_MODEL_LAYERS);
    add_number(w, "embedding_length", m->hidden);
    add_number(w, "feed_forward_length", m->inner);
    add_number(w, "attention.head_count", m->heads);
    add_number(w, "attention.head_count_kv", m->kv_heads);
    add_number(w, "attention.key_length", m->d_head);
    add_number(w, "attention.value_length", m->d_head);
    add_number(w, "context_length", GGUF_MODEL_POSITIONS);
    add_float(w,
              is_arch(w, "gpt2") ? "attention.layer_norm_epsilon"
                                 : "attention.layer_norm_rms_epsilon",
              1e-3);
    if (!is_arch(w, "gpt2")) {
        add_number(w, "rope.dimension_count", m->d_head);
        add_float(w, "rope.freq_base", 500);
    }
    if (m->linear > 0) {
        snprintf(key, sizeof key, "%s.rope.scaling.type", m->arch);
        gguf_file_text(&w->file, key, "linear");
        add_float(w, "rope.scaling.factor", m->linear);
    }
    if (is_arch(w, "gemma2")) {
        add_number(w, "attention.sliding_window", 3);
        add_float(w, "attn_logit_softcapping", 5);
        add_float(w, "final_logit_softcapping", 3);
    }
    if (is_arch(w, "gemma3")) {
        add_number(w, "attention.sliding_window", 3);
        add_number(w, "attention.sliding_window_pattern", 2);
        add_float(w, "rope.freq_base_swa", 50);
    }
}

void gguf_model_write(const struct gguf_model *m, uint64_t seed,
                      struct xl__str *out, struct gguf_truth *truth)
{
    struct writer w = {.m = m, .truth = truth};
    float divisors[LM_MOST_HEAD / 2];
    *truth = (struct gguf_truth){0};
    xl__rng_seed(&w.rng, seed);
    gguf_file_begin(&w.file, m->version, m->version == 2 ? 64 : 0);
    add_metadata(&w);
    for (; w.layer < GGUF_MODEL_LAYERS; w.layer++)
        add_layer(&w);
    add_ends(&w);
    for (size_t i = 0; i < m->d_head / 2; i++)
        divisors[i] = 1 + (float)i / 2;
    if (m->has_divisors)
        gguf_file_tensor(&w.file, "rope_freqs.weight", 0, m->d_head / 2, 0,
                         divisors, m->d_head / 2 * sizeof *divisors);
    gguf_file_end(&w.file, out);
}

void gguf_truth_clear(struct gguf_truth *t)
{
    for (size_t l = 0; l <= GGUF_MODEL_LAYERS; l++) {
        for (unsigned i = 0; i < LM_LAYER_MATRICES; i++)
            free(t->matrix[l][i]);
        for (unsigned i = 0; i < LM_LAYER_VECTORS; i++)
            free(t->vector[l][i]);
    }
    *t = (struct gguf_truth){0};
}
