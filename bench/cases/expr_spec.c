/* SPDX-License-Identifier: Apache-2.0 */
/* Names of an expression: their layout in memory and their data. */
#include "cases/expr_spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cases/host_ops.h"

/* -- names ---------------------------------------------------------------- */

struct expr_name *expr_find(struct expr_spec *s, const char *name, size_t len)
{
    for (unsigned i = 0; i < s->n; i++)
        if (strlen(s->name[i].name) == len &&
            memcmp(s->name[i].name, name, len) == 0)
            return &s->name[i];
    return NULL;
}

struct expr_name *expr_need(struct expr_spec *s, const char *name, size_t len)
{
    struct expr_name *n = expr_find(s, name, len);
    if (n || s->n == XL_EXPR_MAX_BINDINGS || len == 0 ||
        len > XL_EXPR_MAX_NAME)
        return n;
    n = &s->name[s->n++];
    memset(n, 0, sizeof *n);
    memcpy(n->name, name, len);
    return n;
}

/* -- layout --------------------------------------------------------------- */

/* Sizes in the order of memory. */
static void stored_sizes(const struct expr_name *n, size_t *size)
{
    unsigned d = n->n_dims;
    memcpy(size, n->size, sizeof n->size);
    if (n->is_transposed) {
        size[d - 1] = n->size[d - 2];
        size[d - 2] = n->size[d - 1];
    }
}

void expr_stored(const struct expr_name *n, size_t *rows, size_t *cols)
{
    size_t size[XL_MAX_DIMS];
    stored_sizes(n, size);
    *rows = 1;
    *cols = n->n_dims ? size[n->n_dims - 1] : 1;
    for (unsigned d = 0; d + 1 < n->n_dims; d++)
        *rows *= size[d];
}

/* Strides, and the elements from first to last; false when they overflow. */
static bool settle(struct expr_name *n)
{
    size_t size[XL_MAX_DIMS], step = 1, all = 0;
    unsigned d = n->n_dims;
    stored_sizes(n, size);
    while (d-- > 0) {
        n->stride[d] = step;
        size_t length = size[d];
        if (d + 1 == n->n_dims && !xl__add(length, n->pad, &length))
            return false;
        if (!xl__mul(step, length, &step))
            return false;
    }
    if (n->is_transposed) {
        size_t *s = &n->stride[n->n_dims - 2], inner = s[0];
        s[0] = s[1];
        s[1] = inner;
    }
    return xl__add(step, n->off, &all) && xl__mul(all, sizeof(double), &all);
}

bool expr_spec_settle(struct expr_spec *s, char *why)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (s->name[i].is_scalar || settle(&s->name[i]))
            continue;
        snprintf(why, EXPR_WHY_CAP,
                 "'%s' does not fit in 64 bits; give smaller sizes",
                 s->name[i].name);
        return false;
    }
    return true;
}

size_t expr_elems(const struct expr_name *n)
{
    size_t elems = 1;
    for (unsigned d = 0; d < n->n_dims; d++)
        elems *= n->size[d];
    return elems;
}

size_t expr_stored_elems(const struct expr_name *n)
{
    size_t rows, cols;
    expr_stored(n, &rows, &cols);
    return n->off + rows * (cols + n->pad);
}

size_t expr_place(const struct expr_name *n, const size_t *i)
{
    size_t at = 0;
    for (unsigned d = 0; d < n->n_dims; d++)
        at += i[d] * n->stride[d];
    return at;
}

void expr_index(const struct expr_name *n, size_t at, size_t *i)
{
    for (unsigned d = n->n_dims; d-- > 0; at /= n->size[d])
        i[d] = at % n->size[d];
}

/* -- data ----------------------------------------------------------------- */

/* Integers come from small ranges: products of two fit in an i32. */
static void default_range(xl_dtype dtype, double *lo, double *hi)
{
    *lo = dtype == XL_U8 || dtype == XL_BOOL ? 0 : -100;
    *hi = dtype == XL_U8 ? 200 : dtype == XL_BOOL ? 1 : 100;
}

double expr_random(const struct expr_name *n, size_t col, struct xl__rng *rng)
{
    bool is_whole = n->dtype == XL_I32 || n->dtype == XL_I8 ||
                    n->dtype == XL_U8 || n->dtype == XL_BOOL;
    double lo = n->lo, hi = n->hi;
    if (n->fill == FILL_INDEX)
        return (double)col;
    if (n->fill == FILL_DEFAULT && !is_whole)
        return ref_normal(rng);
    if (n->fill == FILL_DEFAULT)
        default_range(n->dtype, &lo, &hi);
    if (is_whole)
        return floor(lo + (hi - lo + 1) * xl__rng_uniform(rng));
    return lo + (hi - lo) * xl__rng_uniform(rng);
}

void expr_fill(const struct expr_name *n, void *data, struct xl__rng *rng)
{
    size_t rows, cols;
    expr_stored(n, &rows, &cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            ref_store(data, n->off + i * (cols + n->pad) + j, n->dtype,
                      expr_random(n, j, rng));
}

void expr_bindings(const struct expr_spec *s, const cl_mem *mem,
                   const size_t *first, xl_binding *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        const struct expr_name *n = &s->name[i];
        memset(&out[i], 0, sizeof out[i]);
        out[i].name = n->name;
        out[i].is_scalar = n->is_scalar;
        out[i].scalar = n->scalar;
        out[i].tensor.dtype = n->dtype;
        if (n->is_scalar)
            continue;
        out[i].tensor.mem.buf = mem ? mem[i] : NULL;
        out[i].tensor.offset = first ? first[i] : n->off;
        out[i].tensor.n_dims = n->n_dims;
        memcpy(out[i].tensor.size, n->size, sizeof n->size);
        memcpy(out[i].tensor.stride, n->stride, sizeof n->stride);
    }
}

void expr_shape_text(struct xl__str *out, const struct expr_name *n)
{
    for (unsigned d = 0; d < n->n_dims; d++)
        xl__str_printf(out, "%s%zu", d ? "x" : "", n->size[d]);
    if (n->n_dims == 0)
        xl__str_add(out, "1");
}
