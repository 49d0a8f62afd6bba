/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a forward pass in double, from the weights that are on the device.
 * Nothing is shared with the calls under test but the list of weights. */
#include "host_forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "support/support.h"

struct host {
    struct lm_model *m;
    const struct lm_arch *a;
    xl_dtype stored;
    size_t n, layer;
    double *x, *normed, *heads, *attended, *mlp, *gate, *y;
};

static double stored(const struct host *h, double x)
{
    return h->stored == XL_F64 ? x : xl__dtype_round(x, h->stored);
}

static double *numbers(size_t n)
{
    double *out = xl__calloc(n, sizeof *out);
    assert_non_null(out);
    return out;
}

/* Its rows and columns in *sizes; with queries the keys and values, which may
 * be matrices of their own. */
static double *read_matrix(const struct host *h, enum lm_matrix_id id,
                           size_t sizes[2])
{
    const struct lm_matrix *w = &h->m->weights.matrix[h->layer][id];
    const size_t n = h->layer < h->a->layers && id == LM_QKV ? 3 : 1;
    double *out;
    sizes[0] = 0;
    sizes[1] = w->cols;
    for (size_t i = 0; i < n; i++)
        sizes[0] += w[i].rows;
    out = numbers(sizes[0] * sizes[1]);
    for (size_t i = 0, at = 0; i < n; at += w[i].rows * sizes[1], i++)
        if (w[i].rows > 0)
            assert_status(lm_matrix_read(h->m->q, &w[i], out + at), XL_OK,
                          "matrix");
    return out;
}

/* NULL: the model has none. */
static double *read_vector(const struct host *h, enum lm_vector_id id)
{
    const size_t n = lm_vector_size(h->a, h->layer, id);
    if (n == 0)
        return NULL;
    float *x = xl__calloc(n, sizeof *x);
    double *out = numbers(n);
    assert_status(
        xl_buffer_read(h->m->q, h->m->weights.vectors,
                       h->m->weights.vector[h->layer][id] * sizeof *x, x,
                       n * sizeof *x),
        XL_OK, "vector");
    for (size_t i = 0; i < n; i++)
        out[i] = x[i];
    free(x);
    return out;
}

/* dst = src W^T + bias, of `rows` rows. */
static void product(const struct host *h, enum lm_matrix_id id,
                    enum lm_vector_id bias_id, size_t rows, const double *src,
                    double *dst)
{
    size_t size[2];
    double *w = read_matrix(h, id, size), *bias = NULL;
    if (bias_id < LM_LAYER_VECTORS)
        bias = read_vector(h, bias_id);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < size[0]; j++) {
            double sum = bias ? bias[j] : 0;
            for (size_t l = 0; l < size[1]; l++)
                sum += src[i * size[1] + l] * w[j * size[1] + l];
            dst[i * size[0] + j] = sum;
        }
    free(w);
    free(bias);
}

static void norm_row(const struct host *h, xl_norm_kind kind,
                     const double *gain, const double *bias, size_t n,
                     const double *src, double *dst)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < n && kind == XL_NORM_LAYER; i++)
        mean += src[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (src[i] - mean) * (src[i] - mean) / (double)n;
    const double factor = 1 / sqrt(square + h->a->eps);
    for (size_t i = 0; i < n; i++)
        dst[i] = (src[i] - mean) * factor * gain[i] + (bias ? bias[i] : 0);
}

static void norm(const struct host *h, enum lm_vector_id id, const double *src,
                 double *dst)
{
    const size_t hidden = h->a->hidden;
    double *gain = read_vector(h, id);
    double *bias = read_vector(h, (enum lm_vector_id)(id + 1));
    for (size_t i = 0; i < h->n; i++)
        norm_row(h, h->a->family->norm, gain,
                 h->a->family->has_biases ? bias : NULL, hidden,
                 src + i * hidden, dst + i * hidden);
    free(gain);
    free(bias);
}

/* Norm and rotation of one head of a token, in place. */
static void rotate(const struct host *h, double *head, size_t at,
                   const double *gain)
{
    const size_t half = h->a->d_head / 2;
    if (gain)
        norm_row(h, XL_NORM_RMS, gain, NULL, 2 * half, head, head);
    for (size_t i = 0; i < half && !h->a->family->learns_positions; i++) {
        const bool is_local =
            h->a->rope_local_base > 0 && h->a->has_window[h->layer];
        const double base =
            is_local ? h->a->rope_local_base : h->a->rope_base;
        const double angle = (double)at *
                             pow(base, -(double)i / (double)half) /
                             (is_local ? 1 : h->a->rope_divisor[i]);
        const double u = head[i], v = head[i + half];
        head[i] = u * cos(angle) - v * sin(angle);
        head[i + half] = u * sin(angle) + v * cos(angle);
    }
}

static void attend(const struct host *h, const double *q, size_t at,
                   size_t kv_head, double *out)
{
    const struct lm_arch *a = h->a;
    const size_t d = a->d_head, row = (a->heads + 2 * a->kv_heads) * d;
    const size_t first =
        a->has_window[h->layer] && at + 1 > a->window ? at + 1 - a->window : 0;
    double sum = 0, *p = numbers(at + 1), most = -INFINITY;
    for (size_t j = first; j <= at; j++) {
        const double *k = h->heads + j * row + (a->heads + kv_head) * d;
        for (size_t c = 0; c < d; c++)
            p[j] += q[c] * k[c] * a->attention_scale;
        if (a->attention_cap > 0)
            p[j] = a->attention_cap * tanh(p[j] / a->attention_cap);
        most = fmax(most, p[j]);
    }
    for (size_t j = first; j <= at; j++)
        sum += p[j] = exp(p[j] - most);
    memset(out, 0, d * sizeof *out);
    for (size_t j = first; j <= at; j++) {
        const double *v =
            h->heads + j * row + (a->heads + a->kv_heads + kv_head) * d;
        for (size_t c = 0; c < d; c++)
            out[c] += p[j] / sum * v[c];
    }
    free(p);
}

static void attention(const struct host *h)
{
    const struct lm_arch *a = h->a;
    const size_t d = a->d_head, row = (a->heads + 2 * a->kv_heads) * d;
    double *q_gain = read_vector(h, LM_Q_NORM),
           *k_gain = read_vector(h, LM_K_NORM);
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < a->heads + a->kv_heads; j++)
            rotate(h, h->heads + i * row + j * d, i,
                   j < a->heads ? q_gain : k_gain);
    for (size_t i = 0; i < h->n * row; i++)
        h->heads[i] = stored(h, h->heads[i]);
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < a->heads; j++)
            attend(h, h->heads + i * row + j * d, i,
                   j / (a->heads / a->kv_heads),
                   h->attended + (i * a->heads + j) * d);
    free(q_gain);
    free(k_gain);
}

/* Round everything of an array. */
static void store_all(const struct host *h, double *x, size_t cols)
{
    for (size_t i = 0; i < h->n * cols; i++)
        x[i] = stored(h, x[i]);
}

/* x = x + [norm] y. */
static void add(const struct host *h, enum lm_vector_id post)
{
    const size_t n = h->n * h->a->hidden;
    if (h->a->family->has_post_norms) {
        double *gain = read_vector(h, post);
        store_all(h, h->y, h->a->hidden);
        for (size_t i = 0; i < h->n; i++)
            norm_row(h, XL_NORM_RMS, gain, NULL, h->a->hidden,
                     h->y + i * h->a->hidden, h->y + i * h->a->hidden);
        free(gain);
    }
    for (size_t i = 0; i < n; i++)
        h->x[i] = stored(h, h->x[i] + h->y[i]);
}

static double activate(const char *act, double x)
{
    if (strcmp(act, "silu") == 0)
        return x / (1 + exp(-x));
    const double pi = acos(-1.0);
    return x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

static void layer(const struct host *h)
{
    const struct lm_arch *a = h->a;
    const bool biased = a->family->has_biases;
    const enum lm_vector_id none = LM_LAYER_VECTORS;
    const size_t inner = h->n * a->inner;
    norm(h, LM_NORM1, h->x, h->normed);
    store_all(h, h->normed, a->hidden);
    product(h, LM_QKV, a->family->has_qkv_bias ? LM_QKV_BIAS : none, h->n,
            h->normed, h->heads);
    store_all(h, h->heads, (a->heads + 2 * a->kv_heads) * a->d_head);
    attention(h);
    store_all(h, h->attended, a->heads * a->d_head);
    product(h, LM_OUT, biased ? LM_OUT_BIAS : none, h->n, h->attended, h->y);
    add(h, LM_POST1);
    norm(h, LM_NORM2, h->x, h->normed);
    store_all(h, h->normed, a->hidden);
    product(h, LM_UP, biased ? LM_UP_BIAS : none, h->n, h->normed, h->mlp);
    if (a->family->is_gated) {
        store_all(h, h->mlp, a->inner);
        product(h, LM_GATE, none, h->n, h->normed, h->gate);
    }
    for (size_t i = 0; i < inner; i++)
        h->mlp[i] =
            stored(h, a->family->is_gated
                          ? activate(a->family->act, h->gate[i]) * h->mlp[i]
                          : activate(a->family->act, h->mlp[i]));
    product(h, LM_DOWN, biased ? LM_DOWN_BIAS : none, h->n, h->mlp, h->y);
    add(h, LM_POST2);
}

static void embed(const struct host *h, const int *ids)
{
    const struct lm_arch *a = h->a;
    size_t size[2];
    double *table = read_matrix(h, LM_EMBEDDING, size);
    double *at = a->family->learns_positions
                     ? read_matrix(h, LM_POSITIONS, size)
                     : NULL;
    for (size_t i = 0; i < h->n * a->hidden; i++) {
        const size_t token = i / a->hidden, c = i % a->hidden;
        double x = table[(size_t)ids[token] * a->hidden + c];
        x *= a->family->scales_embedding ? sqrt((double)a->hidden) : 1;
        h->x[i] = stored(h, x + (at ? at[i] : 0));
    }
    free(table);
    free(at);
}

void host_forward(struct lm_model *m, const int *ids, size_t n,
                  xl_dtype stored_type, double *logits)
{
    const struct lm_arch *a = m->arch;
    const size_t hidden = n * a->hidden, inner = n * a->inner;
    struct host h = {
        .m = m, .a = a, .stored = stored_type, .n = n, .layer = a->layers};
    h.x = numbers(hidden);
    h.normed = numbers(hidden);
    h.y = numbers(hidden);
    h.heads = numbers(n * (a->heads + 2 * a->kv_heads) * a->d_head);
    h.attended = numbers(n * a->heads * a->d_head);
    h.mlp = numbers(inner);
    h.gate = numbers(inner);
    embed(&h, ids);
    for (h.layer = 0; h.layer < a->layers; h.layer++)
        layer(&h);
    norm(&h, LM_NORM1, h.x, h.normed);
    store_all(&h, h.normed, a->hidden);
    product(&h, LM_HEAD, LM_LAYER_VECTORS, 1, h.normed + (n - 1) * a->hidden,
            logits);
    for (size_t i = 0; i < a->vocab && a->logit_cap > 0; i++)
        logits[i] = a->logit_cap * tanh(logits[i] / a->logit_cap);
    double *const all[] = {h.x,        h.normed, h.y,   h.heads,
                           h.attended, h.mlp,    h.gate};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
