/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded matrices. The guard zones are longer than any vector load, so a
 * kernel that reads or writes one vector too far remains inside the buffer,
 * and the fault is detected. */
#include "verify/guarded_matrix.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"

enum { ZONE_ELEMS = 128 };

/* Quiet NaNs with a recognizable payload. */
static const uint64_t F64_GUARD = 0x7ffca5a5a5a5a5a5;
static const uint32_t F32_GUARD = 0x7fc5a5a5;
static const uint16_t F16_GUARD = 0x7e5a;
static const uint16_t BF16_GUARD = 0x7fda;
static const uint8_t F8_GUARD = 0x7f;
/* Integers have no NaN: a value that is not in the data of any case. */
static const uint32_t I32_GUARD = 0x5a5a5a5a;
static const uint8_t BYTE_GUARD = 0x85;

static void fill_guards(struct guarded *g)
{
    const uint32_t word = g->dtype == XL_F32 ? F32_GUARD : I32_GUARD;
    const uint16_t half = g->dtype == XL_F16 ? F16_GUARD : BF16_GUARD;
    const bool is_f8 = g->dtype == XL_F8E4M3 || g->dtype == XL_F8E5M2;
    const size_t size = xl_dtype_bytes(g->dtype);
    for (size_t i = 0; i < g->elems; i++) {
        if (size == sizeof F64_GUARD)
            ((uint64_t *)g->host)[i] = F64_GUARD;
        else if (size == sizeof word)
            ((uint32_t *)g->host)[i] = word;
        else if (size == sizeof half)
            ((uint16_t *)g->host)[i] = half;
        else
            ((uint8_t *)g->host)[i] = is_f8 ? F8_GUARD : BYTE_GUARD;
    }
}

xl_status guarded_init(struct guarded *g, const struct guarded_layout *at)
{
    size_t body, elems;
    memset(g, 0, sizeof *g);
    g->rows = at->rows;
    g->cols = at->cols;
    g->ld = at->cols + at->pad;
    g->first = ZONE_ELEMS + at->off;
    g->dtype = at->dtype;
    if (!xl__mul(g->rows, g->ld, &body) ||
        !xl__add(body, g->first + ZONE_ELEMS, &elems))
        return XL_OVERFLOW;
    g->elems = elems;
    g->host = xl__calloc(elems, xl_dtype_bytes(at->dtype));
    if (!g->host)
        return XL_NO_MEMORY;
    fill_guards(g);
    return XL_OK;
}

void guarded_clear(struct guarded *g)
{
    free(g->host);
    free(g->back);
    if (g->mem)
        clReleaseMemObject(g->mem);
    memset(g, 0, sizeof *g);
}

void guarded_set(struct guarded *g, size_t i, size_t j, double x)
{
    xl__dtype_store(g->host, g->first + i * g->ld + j, g->dtype, x);
}

void guarded_fill(struct guarded *g, struct xl__rng *rng)
{
    for (size_t i = 0; i < g->rows; i++) {
        for (size_t j = 0; j < g->cols; j++)
            guarded_set(g, i, j, ref_draw(rng, g->dtype));
    }
}

xl_status guarded_upload(struct guarded *g, xl_queue *q)
{
    size_t bytes = g->elems * xl_dtype_bytes(g->dtype);
    xl_status status = xl_buffer_create(q, bytes, &g->mem);
    if (status != XL_OK)
        return status;
    return xl_buffer_write(q, g->mem, 0, g->host, bytes);
}

xl_status guarded_download(struct guarded *g, xl_queue *q)
{
    size_t bytes = g->elems * xl_dtype_bytes(g->dtype);
    if (!g->back)
        g->back = malloc(bytes);
    if (!g->back)
        return XL_NO_MEMORY;
    return xl_buffer_read(q, g->mem, 0, g->back, bytes);
}

static bool is_element(const struct guarded *g, size_t i)
{
    return i >= g->first && i < g->first + g->rows * g->ld &&
           (i - g->first) % g->ld < g->cols;
}

bool guarded_intact(const struct guarded *g, bool but_elements, size_t *at)
{
    size_t size = xl_dtype_bytes(g->dtype);
    const char *a = g->host, *b = g->back;
    if (memcmp(a, b, g->elems * size) == 0)
        return true;
    for (size_t i = 0; i < g->elems; i++) {
        if (but_elements && is_element(g, i))
            continue;
        if (memcmp(a + i * size, b + i * size, size) != 0) {
            *at = i;
            return false;
        }
    }
    return true;
}

xl_mat guarded_view(const struct guarded *g, bool transposed)
{
    xl_mat view = transposed ? xl_mat_cols(g->mem, g->ld, g->dtype)
                             : xl_mat_rows(g->mem, g->ld, g->dtype);
    view.offset = g->first;
    return view;
}

static struct ref_mat ref_view(const struct guarded *g, const void *data,
                               bool transposed)
{
    struct ref_mat view = {data, g->first, transposed ? 1 : g->ld,
                           transposed ? g->ld : 1, g->dtype};
    return view;
}

struct ref_mat guarded_host(const struct guarded *g, bool transposed)
{
    return ref_view(g, g->host, transposed);
}

struct ref_mat guarded_back(const struct guarded *g, bool transposed)
{
    return ref_view(g, g->back, transposed);
}
