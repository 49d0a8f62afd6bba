/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/forward/file_weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"

struct lm_type lm_file_type(const struct gguf *g, const struct lm_arch *a,
                            size_t layer, enum lm_matrix_id id)
{
    size_t rows, cols;
    xl_qbytes bytes;
    struct lm_type type = {.dtype = XL_F32};
    if (!lm_matrix_sizes(a, layer, id, &rows, &cols))
        return type;
    const struct lm_slices s = lm_matrix_slices(g, a, layer, id, rows);
    const struct gguf_type *of = s.list[0].tensor->type;
    type.is_quantised = of->is_quantised;
    type.dtype = of->dtype;
    type.format = of->format;
    type.bits = 8 * (double)xl_dtype_bytes(of->dtype);
    if (of->is_quantised && lm_type_bytes(&type, rows, cols, &bytes) == XL_OK)
        type.bits = bytes.bits;
    return type;
}

/* As stored, at byte `to` of dst; some rows at a time, whole heads. */
static xl_status write_stored(xl_queue *q, const struct lm_slice *s,
                              cl_mem dst, size_t to)
{
    enum { CHUNK = 1 << 24 }; /* about, bytes */
    xl_status status = XL_OK;
    const size_t row = gguf_row_bytes(s->tensor),
                 together = xl__max_size(1, s->head);
    const size_t most = xl__min_size(
        s->rows, xl__round_up(xl__max_size(1, CHUNK / row), together));
    unsigned char *data = xl__calloc(most, row);
    unsigned char *sorted = xl__calloc(s->head > 0 ? most : 1, row);
    TRY(data && sorted ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < s->rows; i += most) {
        const size_t n = xl__min_size(most, s->rows - i);
        TRY(gguf_read(s->tensor, (s->first + i) * row, n * row, data));
        for (size_t j = 0; s->head > 0 && j < n; j++)
            memcpy(sorted + j * row,
                   data + (lm_slice_row(s, i + j) - s->first - i) * row, row);
        TRY(xl_buffer_write(q, dst, to + i * row, s->head > 0 ? sorted : data,
                            n * row));
    }
fail:
    free(data);
    free(sorted);
    return status;
}

/* As values of a type of floats, some rows at a time. */
static xl_status write_values(xl_queue *q, const struct lm_slice *s,
                              xl_dtype dtype, cl_mem dst)
{
    enum { CHUNK = 1 << 22 }; /* about, elements */
    xl_status status = XL_OK;
    const size_t cols = s->tensor->cols, row = cols * xl_dtype_bytes(dtype);
    const size_t most =
        xl__min_size(s->rows, xl__max_size(1, (size_t)CHUNK / cols));
    float *x = xl__calloc(most, cols * sizeof *x);
    unsigned char *out = xl__calloc(most, row);
    TRY(x && out ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < s->rows; i += most) {
        const size_t n = xl__min_size(most, s->rows - i);
        TRY(gguf_read_rows(s->tensor, s->first + i, n, x));
        for (size_t j = 0; j < n * cols; j++)
            xl__dtype_store(out, j, dtype, (double)x[j]);
        TRY(xl_buffer_write(q, dst, i * row, out, n * row));
    }
fail:
    free(x);
    free(out);
    return status;
}

xl_status lm_file_write(xl_queue *q, const struct gguf *g,
                        const struct lm_arch *a, size_t layer,
                        enum lm_matrix_id id, const struct lm_matrix *m)
{
    const struct lm_slices s = lm_matrix_slices(g, a, layer, id, m->rows);
    xl_status status = XL_OK;
    size_t to = m->first[0];
    if (lm_is_table(a, layer, id))
        return write_values(q, &s.list[0], m->type.dtype, m->mem[0]);
    for (size_t i = 0; status == XL_OK && i < s.n; i++) {
        status = write_stored(q, &s.list[i], m->mem[0], to);
        to += s.list[i].rows * gguf_row_bytes(s.list[i].tensor);
    }
    return status;
}
