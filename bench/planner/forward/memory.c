/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a model that runs: weights, cache, activations, tables. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "planner/forward/forward.h"

/* Elements and type of a buffer; 0: not used. */
static size_t buffer_size(const struct lm_arch *a, const struct lm_size *s,
                          enum lm_buffer i, xl_dtype *dtype)
{
    const size_t rows = s->batch * s->prompt;
    const size_t queries = a->heads * a->d_head;
    const size_t n[LM_BUFFERS] = {
        [LM_X] = rows * a->hidden,
        [LM_N] = rows * a->hidden,
        [LM_HEADS] = rows * (queries + 2 * a->kv_heads * a->d_head),
        [LM_ATTENDED] = rows * queries,
        [LM_MLP] = rows * a->inner,
        [LM_Y] = a->family->has_post_norms ? rows * a->hidden : 0,
        [LM_LOGITS] = s->batch * a->vocab,
        [LM_IDS] = rows,
        [LM_NEXT] = s->batch,
        [LM_FACTORS] = a->scales_rope ? a->d_head / 2 : 0};
    *dtype = i == LM_LOGITS || i == LM_FACTORS ? XL_F32
             : i == LM_IDS || i == LM_NEXT     ? XL_I32
                                               : s->dtype;
    return n[i];
}

static size_t cache_bytes(const struct lm_arch *a, const struct lm_size *s)
{
    return s->batch * a->kv_heads * s->context * a->d_head *
           xl_dtype_bytes(s->dtype);
}

xl_status lm_bytes(const struct lm_arch *a, const struct lm_source *src,
                   const struct lm_size *size, struct lm_bytes *out)
{
    *out = (struct lm_bytes){.cache = 2 * (double)a->layers *
                                      (double)cache_bytes(a, size)};
    for (unsigned i = 0; i < LM_BUFFERS; i++) {
        xl_dtype dtype;
        const size_t n = buffer_size(a, size, (enum lm_buffer)i, &dtype);
        out->activations += (double)n * (double)xl_dtype_bytes(dtype);
    }
    return lm_weights_bytes(a, src, size->dtype, &out->weights,
                            &out->weight_bits);
}

static xl_status fill_factors(struct lm_model *m)
{
    float factors[LM_MOST_HEAD / 2];
    const size_t half = m->arch->d_head / 2;
    for (size_t i = 0; i < half; i++)
        factors[i] = (float)m->arch->rope_divisor[i];
    return xl_buffer_write(m->q, m->buffer[LM_FACTORS], 0, factors,
                           half * sizeof *factors);
}

/* Memory that is read before it is written has zeros. */
static xl_status create_zeroed(xl_queue *q, size_t bytes, cl_mem *out)
{
    enum { WORD = 4 };
    const size_t n_words = xl__ceil_div(bytes, WORD);
    xl_status status = xl_buffer_create(q, n_words * WORD, out);
    return status == XL_OK ? xl_buffer_fill(q, *out, 0, 0, n_words) : status;
}

/* Tokens before the first pass have the embedding's numbers. */
static xl_status create_cache(struct lm_model *m)
{
    xl_status status = XL_OK;
    const size_t layers = m->arch->layers;
    const struct lm_matrix *w = &m->weights.matrix[layers][LM_EMBEDDING];
    const size_t bytes = cache_bytes(m->arch, &m->size);
    const size_t all = w->rows * w->cols * xl_dtype_bytes(m->size.dtype);
    m->keys = xl__calloc(layers, sizeof(cl_mem));
    m->values = xl__calloc(layers, sizeof(cl_mem));
    TRY(m->keys && m->values ? XL_OK : XL_NO_MEMORY);
    for (size_t l = 0; l < layers; l++) {
        TRY(xl_buffer_create(m->q, bytes, &m->keys[l]));
        TRY(xl_buffer_create(m->q, bytes, &m->values[l]));
        TRY(lm_repeat(m->q, w->mem[0], all, 0, m->keys[l], 0, bytes));
        TRY(lm_repeat(m->q, w->mem[0], all, 0, m->values[l], 0, bytes));
    }
fail:
    return status;
}

static void release(cl_mem mem)
{
    if (mem)
        clReleaseMemObject(mem);
}

/* All but the weights. */
static void clear_sized(struct lm_model *m)
{
    for (unsigned i = 0; i < LM_BUFFERS; i++) {
        release(m->buffer[i]);
        m->buffer[i] = NULL;
    }
    for (size_t l = 0; m->arch && l < m->arch->layers; l++) {
        release(m->keys ? m->keys[l] : NULL);
        release(m->values ? m->values[l] : NULL);
    }
    for (unsigned i = 0; i < LM_EXPRS; i++) {
        xl_expr_destroy(m->expr[0][i]);
        xl_expr_destroy(m->expr[1][i]);
        m->expr[0][i] = m->expr[1][i] = NULL;
    }
    free(m->keys);
    free(m->values);
    m->keys = m->values = NULL;
}

xl_status lm_model_resize(struct lm_model *m, const struct lm_size *size)
{
    xl_status status = XL_OK;
    clear_sized(m);
    m->size = *size;
    for (unsigned i = 0; i < LM_BUFFERS; i++) {
        xl_dtype dtype;
        const size_t n = buffer_size(m->arch, size, (enum lm_buffer)i, &dtype);
        if (n > 0)
            TRY(create_zeroed(m->q, n * xl_dtype_bytes(dtype),
                              &m->buffer[i]));
    }
    if (m->buffer[LM_FACTORS])
        TRY(fill_factors(m));
    TRY(create_cache(m));
fail:
    return status;
}

xl_status lm_model_create(xl_queue *q, const struct lm_arch *a,
                          const struct lm_source *src,
                          const struct lm_size *size, struct lm_model *out)
{
    *out = (struct lm_model){.q = q, .arch = a};
    const xl_status status =
        lm_weights_create(q, a, src, size->dtype, &out->weights);
    return status == XL_OK ? lm_model_resize(out, size) : status;
}

void lm_model_clear(struct lm_model *m)
{
    clear_sized(m);
    lm_weights_clear(m->arch, &m->weights);
    *m = (struct lm_model){0};
}

xl_status lm_model_write_ids(struct lm_model *m, const int *ids, size_t n)
{
    return xl_buffer_write(m->q, m->buffer[LM_IDS], 0, ids, n * sizeof *ids);
}
