/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a file are written as they are stored. From a seed, a pool of
 * some million weights is quantised on the host and uploaded; each matrix is
 * filled with it on the device, from a place of its own on: by two copies, and
 * by copies of what is there, which double. */
#include "planner/forward/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/rng.h"
#include "cli/options.h"
#include "planner/forward/file_weights.h"

enum {
    PIECE = 256,     /* columns of a row of the pool: whole blocks */
    N_PIECES = 8191, /* a prime */
    N_PARTS = 3      /* blocks, scales, zeros */
};

/* -- types ---------------------------------------------------------------- */

bool lm_type_read(const char *text, struct lm_type *out, struct xl__str *why)
{
    enum { MOST_GROUP = 1 << 16, GROUP_STEP = 32, GROUP = 128 };
    static const xl_dtype floats[] = {XL_F32, XL_F16, XL_BF16};
    const char *name = option_type_name(text);
    *out = (struct lm_type){.group = GROUP, .group_rows = GROUP};
    for (unsigned i = 0; i < sizeof floats / sizeof *floats; i++)
        if (strcmp(name, xl_dtype_name(floats[i])) == 0) {
            out->dtype = floats[i];
            out->bits = 8 * (double)xl_dtype_bytes(floats[i]);
            return true;
        }
    char format[32];
    const size_t len = strcspn(text, "/");
    xl__strfmt(format, sizeof format, "%.*s", (int)len, text);
    out->is_quantised = true;
    out->format = xl_qformat_find(format);
    if (out->format == XL_FP8 && strcmp(text + len, "/channel") == 0) {
        *out = (struct lm_type){.is_quantised = true,
                                .format = XL_FP8,
                                .group_rows = 1,
                                .bits = 8};
        return true;
    }
    char *end = NULL;
    const unsigned long group =
        text[len] ? strtoul(text + len + 1, &end, 10) : GROUP;
    const bool is_group = group > 0 && group % GROUP_STEP == 0 &&
                          group <= MOST_GROUP && (!end || !*end);
    if (out->format != XL_N_QFORMATS && is_group &&
        (!text[len] || out->format == XL_INT4)) {
        xl_qbytes bytes;
        out->group = group;
        if (lm_type_bytes(out, PIECE, MOST_GROUP * (size_t)PIECE, &bytes) ==
            XL_OK)
            out->bits = bytes.bits;
        return true;
    }
    xl__str_printf(why,
                   "invalid value '%s' for --weights: must be f32, f16, "
                   "bf16",
                   text);
    for (int i = 0; i < XL_N_QFORMATS; i++)
        xl__str_printf(why, ", %s", xl_qformat_layout((xl_qformat)i)->name);
    xl__str_add(why, ", int4/GROUP, GROUP a multiple of 32, or fp8/channel");
    return false;
}

/* Where columns are not whole blocks of FP8, all of a row share scales. */
static xl_qshape shape_of(const struct lm_type *t, size_t rows, size_t cols)
{
    const bool is_whole =
        t->format == XL_FP8 && t->group > 0 && cols % t->group != 0;
    return (xl_qshape){t->format, rows, cols, is_whole ? 0 : t->group,
                       t->group_rows};
}

xl_status lm_type_bytes(const struct lm_type *t, size_t rows, size_t cols,
                        xl_qbytes *out)
{
    if (t->is_quantised) {
        const xl_qshape shape = shape_of(t, rows, cols);
        return xl_qshape_bytes(&shape, out);
    }
    *out = (xl_qbytes){.blocks = rows * cols * xl_dtype_bytes(t->dtype),
                       .bits = t->bits};
    return XL_OK;
}

static void list_parts(const xl_qbytes *bytes, size_t out[N_PARTS])
{
    out[0] = bytes->blocks;
    out[1] = bytes->scales;
    out[2] = bytes->zeros;
}

/* -- the pool ------------------------------------------------------------- */

struct pool {
    struct lm_type type;
    size_t part_bytes[N_PARTS], grain[N_PARTS]; /* grain: of a whole block */
    cl_mem mem[N_PARTS];
};

static void pool_clear(struct pool *p)
{
    for (unsigned i = 0; i < N_PARTS; i++)
        if (p->mem[i])
            clReleaseMemObject(p->mem[i]);
    *p = (struct pool){0};
}

/* Normal numbers in the pool's type, in host memory. */
static xl_status fill_host(const struct lm_type *type, const xl_qshape *shape,
                           double deviation, uint64_t seed,
                           void *const part[N_PARTS])
{
    xl_status status = XL_OK;
    struct xl__rng rng;
    const size_t n = shape->rows * shape->cols;
    float *x = xl__calloc(n, sizeof *x);
    xl__rng_seed(&rng, seed);
    TRY(x ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(deviation * xl__rng_normal(&rng));
    if (type->is_quantised) {
        const xl_qdata to = {part[0], part[1], part[2]};
        TRY(xl_qmat_quantise_host(shape, x, &to));
    } else {
        for (size_t i = 0; i < n; i++)
            xl__dtype_store(part[0], i, type->dtype, x[i]);
    }
fail:
    free(x);
    return status;
}

static xl_status pool_create(xl_queue *q, const struct lm_type *type,
                             double deviation, uint64_t seed, struct pool *out)
{
    xl_status status = XL_OK;
    void *part[N_PARTS] = {NULL};
    struct lm_type own = *type;
    if (type->group > 0 && PIECE % type->group != 0)
        own.group = PIECE;
    const xl_qshape shape = shape_of(&own, N_PIECES, PIECE);
    xl_qbytes bytes;
    *out = (struct pool){.type = *type};
    TRY(lm_type_bytes(&own, shape.rows, shape.cols, &bytes));
    list_parts(&bytes, out->part_bytes);
    out->grain[0] = bytes.blocks / N_PIECES;
    out->grain[1] =
        xl_dtype_bytes(xl_qformat_layout(type->format)->scale_dtype);
    out->grain[2] = 1;
    for (unsigned i = 0; i < N_PARTS; i++)
        if (out->part_bytes[i] > 0) {
            part[i] = malloc(out->part_bytes[i]);
            TRY(part[i] ? XL_OK : XL_NO_MEMORY);
        }
    TRY(fill_host(&own, &shape, deviation, seed, part));
    for (unsigned i = 0; i < N_PARTS; i++)
        if (part[i]) {
            TRY(xl_buffer_create(q, out->part_bytes[i], &out->mem[i]));
            TRY(xl_buffer_write(q, out->mem[i], 0, part[i],
                                out->part_bytes[i]));
        }
fail:
    for (unsigned i = 0; i < N_PARTS; i++)
        free(part[i]);
    return status;
}

static xl_status copy(xl_queue *q, cl_mem src, size_t from, cl_mem dst,
                      size_t to, size_t bytes)
{
    return bytes == 0 ? XL_OK
                      : clEnqueueCopyBuffer(xl_queue_cl(q), src, dst, from, to,
                                            bytes, 0, NULL, NULL);
}

xl_status lm_repeat(xl_queue *q, cl_mem src, size_t all, size_t from,
                    cl_mem dst, size_t to, size_t bytes)
{
    const size_t first = xl__min_size(bytes, all - from);
    xl_status status = copy(q, src, from, dst, to, first);
    size_t done = first + xl__min_size(bytes - first, from);
    if (status == XL_OK)
        status = copy(q, src, 0, dst, to + first, done - first);
    while (status == XL_OK && done < bytes) {
        const size_t more = xl__min_size(done, bytes - done);
        status = copy(q, dst, to, dst, to + done, more);
        done += more;
    }
    return status;
}

/* Fill with the pool's part, from a place that the matrix's number gives on.
 */
static xl_status fill_part(xl_queue *q, const struct pool *p, unsigned i,
                           size_t number, const struct lm_matrix *m,
                           size_t bytes)
{
    enum { APART = 997 }; /* blocks from one matrix's place to the next's */
    const size_t all = p->part_bytes[i];
    return lm_repeat(q, p->mem[i], all, number * APART * p->grain[i] % all,
                     m->mem[i], m->first[i], bytes);
}

/* -- matrices ------------------------------------------------------------- */

xl_qmat lm_matrix_view(const struct lm_matrix *m)
{
    const size_t scale =
        xl_dtype_bytes(xl_qformat_layout(m->type.format)->scale_dtype);
    return (xl_qmat){.shape = shape_of(&m->type, m->rows, m->cols),
                     .blocks = {.buf = m->mem[0]},
                     .scales = {.buf = m->mem[1]},
                     .zeros = {.buf = m->mem[2]},
                     .has_zeros = m->mem[2] != NULL,
                     .offset = m->first[0],
                     .scales_offset = m->first[1] / scale,
                     .zeros_offset = m->first[2]};
}

/* above: the matrix in whose memory it is, behind as many bytes; NULL: it has
 * its own, with room for so many like it. */
static xl_status create_matrix(xl_queue *q, const struct lm_matrix *above,
                               size_t room, struct lm_matrix *m,
                               size_t part[N_PARTS])
{
    xl_status status = XL_OK;
    xl_qbytes bytes;
    TRY(lm_type_bytes(&m->type, m->rows, m->cols, &bytes));
    list_parts(&bytes, part);
    for (unsigned i = 0; i < N_PARTS; i++) {
        if (part[i] == 0)
            continue;
        if (!above) {
            TRY(xl_buffer_create(q, room * part[i], &m->mem[i]));
            continue;
        }
        m->mem[i] = above->mem[i];
        m->first[i] = part[i];
        clRetainMemObject(m->mem[i]);
    }
fail:
    return status;
}

xl_status lm_matrix_read(xl_queue *q, const struct lm_matrix *m, double *out)
{
    xl_status status = XL_OK;
    void *host[N_PARTS] = {NULL};
    size_t part[N_PARTS];
    const size_t n = m->rows * m->cols;
    float *x = NULL;
    xl_qbytes bytes;
    TRY(lm_type_bytes(&m->type, m->rows, m->cols, &bytes));
    list_parts(&bytes, part);
    for (unsigned i = 0; i < N_PARTS; i++)
        if (part[i] > 0) {
            host[i] = malloc(part[i]);
            TRY(host[i] ? XL_OK : XL_NO_MEMORY);
            TRY(xl_buffer_read(q, m->mem[i], m->first[i], host[i], part[i]));
        }
    if (m->type.is_quantised) {
        const xl_qshape shape = shape_of(&m->type, m->rows, m->cols);
        const xl_qdata from = {host[0], host[1], host[2]};
        x = xl__calloc(n, sizeof *x);
        TRY(x ? XL_OK : XL_NO_MEMORY);
        TRY(xl_qmat_dequantise_host(&shape, &from, x));
    }
    for (size_t i = 0; i < n; i++)
        out[i] = x ? x[i] : xl__dtype_load(host[0], i, m->type.dtype);
fail:
    for (unsigned i = 0; i < N_PARTS; i++)
        free(host[i]);
    free(x);
    return status;
}

/* -- vectors -------------------------------------------------------------- */

/* Gains near 1, biases near 0. */
static void make_vector(enum lm_vector_id id, struct xl__rng *rng, size_t n,
                        float *x)
{
    static const double spread = 0.125;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(lm_is_gain(id) + spread * xl__rng_normal(rng));
}

static xl_status create_vectors(xl_queue *q, const struct lm_arch *a,
                                const struct lm_source *src,
                                struct lm_weights *w)
{
    xl_status status = XL_OK;
    struct xl__rng rng;
    float *x = NULL;
    size_t at = 0;
    xl__rng_seed(&rng, src->seed);
    for (size_t l = 0; l <= a->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_VECTORS; i++) {
            w->vector[l][i] = at;
            at += lm_vector_size(a, l, (enum lm_vector_id)i);
        }
    w->n_vector_elems = at;
    x = xl__calloc(at, sizeof *x);
    TRY(x ? XL_OK : XL_NO_MEMORY);
    for (size_t l = 0; l <= a->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_VECTORS; i++) {
            const enum lm_vector_id id = (enum lm_vector_id)i;
            const size_t n = lm_vector_size(a, l, id);
            float *to = x + w->vector[l][i];
            if (n > 0 && src->file)
                TRY(lm_file_vector(src->file, a, l, id, to));
            else
                make_vector(id, &rng, n, to);
        }
    TRY(xl_buffer_create(q, at * sizeof *x, &w->vectors));
    TRY(xl_buffer_write(q, w->vectors, 0, x, at * sizeof *x));
fail:
    free(x);
    return status;
}

/* -- all weights ---------------------------------------------------------- */

const char *lm_source_failure(const struct lm_source *src, const xl_queue *q)
{
    return src->file && *src->file->failure ? src->file->failure
                                            : xl_error_detail(q);
}

struct lm_type lm_source_type(const struct lm_source *src,
                              const struct lm_arch *a, size_t layer,
                              enum lm_matrix_id id)
{
    return src->file ? lm_file_type(src->file, a, layer, id) : src->type;
}

xl_status lm_weights_bytes(const struct lm_arch *a,
                           const struct lm_source *src, xl_dtype table_type,
                           double *bytes, double *bits)
{
    xl_status status = XL_OK;
    double of_products = 0, n_products = 0;
    *bytes = 0;
    for (size_t l = 0; l <= a->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_MATRICES; i++) {
            const enum lm_matrix_id id = (enum lm_matrix_id)i;
            const bool is_table = lm_is_table(a, l, id);
            size_t rows, cols;
            xl_qbytes one;
            if (!lm_matrix_sizes(a, l, id, &rows, &cols))
                continue;
            const struct lm_type type =
                is_table ? (struct lm_type){.dtype = table_type}
                         : lm_source_type(src, a, l, id);
            TRY(lm_type_bytes(&type, rows, cols, &one));
            const double sum =
                (double)one.blocks + (double)one.scales + (double)one.zeros;
            *bytes += sum;
            of_products += is_table ? 0 : sum;
            n_products += is_table ? 0 : (double)rows * (double)cols;
        }
    *bits = 8 * of_products / n_products;
fail:
    return status;
}

/* Is the gate below the matrix whose product it multiplies, in one memory? Not
 * where types differ, or a scale would be of rows of both. */
static bool joins_gate(const struct lm_arch *a, const struct lm_source *src,
                       size_t layer)
{
    size_t rows, cols;
    xl_qbytes one, both;
    if (!lm_matrix_sizes(a, layer, LM_GATE, &rows, &cols))
        return false;
    const struct lm_type up = lm_source_type(src, a, layer, LM_UP),
                         gate = lm_source_type(src, a, layer, LM_GATE);
    return up.is_quantised && gate.is_quantised && up.format == gate.format &&
           lm_type_bytes(&up, rows, cols, &one) == XL_OK &&
           lm_type_bytes(&up, 2 * rows, cols, &both) == XL_OK &&
           both.scales == 2 * one.scales;
}

static xl_status fill_matrix(xl_queue *q, const struct pool *p, size_t number,
                             const size_t part[N_PARTS],
                             const struct lm_matrix *m)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; status == XL_OK && i < N_PARTS; i++)
        if (part[i] > 0)
            status = fill_part(q, p, i, number, m, part[i]);
    return status;
}

xl_status lm_weights_create(xl_queue *q, const struct lm_arch *a,
                            const struct lm_source *src, xl_dtype table_type,
                            struct lm_weights *out)
{
    xl_status status = XL_OK;
    const double deviation = 1 / sqrt((double)a->hidden);
    struct pool pool = {0}, tables = {0};
    *out = (struct lm_weights){
        .table_type = {.dtype = table_type}};
    out->matrix = xl__calloc(a->layers + 1, sizeof *out->matrix);
    out->vector = xl__calloc(a->layers + 1, sizeof *out->vector);
    TRY(out->matrix && out->vector ? XL_OK : XL_NO_MEMORY);
    if (!src->file) {
        TRY(pool_create(q, &src->type, deviation, src->seed, &pool));
        TRY(pool_create(q, &out->table_type, 1, src->seed + 1, &tables));
    }
    for (size_t l = 0; l <= a->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_MATRICES; i++) {
            const enum lm_matrix_id id = (enum lm_matrix_id)i;
            const bool is_table = lm_is_table(a, l, id);
            struct lm_matrix *m = &out->matrix[l][i];
            size_t part[N_PARTS];
            if (!lm_matrix_sizes(a, l, id, &m->rows, &m->cols))
                continue;
            m->type =
                is_table ? out->table_type : lm_source_type(src, a, l, id);
            const bool joins = joins_gate(a, src, l);
            TRY(create_matrix(q, joins && id == LM_GATE ? m - 1 : NULL,
                              joins && id == LM_UP ? 2 : 1, m, part));
            TRY(src->file ? lm_file_write(q, src->file, a, l, id, m)
                          : fill_matrix(q, is_table ? &tables : &pool,
                                        l * LM_LAYER_MATRICES + i, part, m));
        }
    TRY(create_vectors(q, a, src, out));
    TRY(xl_queue_finish(q));
fail:
    pool_clear(&pool);
    pool_clear(&tables);
    return status;
}

void lm_weights_clear(const struct lm_arch *a, struct lm_weights *w)
{
    for (size_t l = 0; w->matrix && l <= a->layers; l++)
        for (unsigned i = 0; i < LM_LAYER_MATRICES; i++)
            for (unsigned part = 0; part < N_PARTS; part++)
                if (w->matrix[l][i].mem[part])
                    clReleaseMemObject(w->matrix[l][i].mem[part]);
    if (w->vectors)
        clReleaseMemObject(w->vectors);
    free(w->matrix);
    free(w->vector);
    *w = (struct lm_weights){0};
}
