/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of quantisation and its inverse: rows beyond a group of
 * units, gaps between rows, guard bytes; blocks of zeros, of one value, of
 * large and of small ones. Every bit must be the host's. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/path/selfcheck_data.h"
#include "ops/quantised/qconvert.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64, SEED = 1, LEAST_WG = 8 };

void xl__qconvert_shrink(const void *canonical,
                         const struct xl__variant *variant,
                         const struct xl__params *params, void *small)
{
    enum { ROWS = 3, UNITS = 5, GROUP_UNITS = 3, GROUP_ROWS = 2 };
    struct xl__qconvert_canonical *to = small;
    struct xl__qgemm_canonical *of = &to->of;
    memcpy(to, canonical, sizeof *to);
    const size_t wg = variant && variant->tunables && params
                          ? (size_t)params->value[XL__QCONVERT_WG]
                          : LEAST_WG;
    const size_t group =
        xl__min_size(of->group, (size_t)GROUP_UNITS * XL__QGEMM_UNIT);
    const bool has_groups = xl__qgemm_has_groups(of);
    of->n = xl__min_size(of->n, ROWS);
    of->group_rows = xl__min_size(of->group_rows, GROUP_ROWS);
    of->k =
        xl__round_up((wg + UNITS) * XL__QGEMM_UNIT,
                     has_groups
                         ? group
                         : xl_qformat_layout((xl_qformat)of->format)->block);
    of->group = has_groups ? group : of->k;
    of->row_stride_a =
        of->n == 1 ? 0
                   : of->k + of->a_aligned / xl_dtype_bytes((xl_dtype)of->a);
}

/* What a case owns: the host's values of x, and bytes of each part of w. */
struct qconvert_case {
    unsigned slot[XL__QGEMM_PARTS]; /* of each result */
    unsigned char *expected[XL__QGEMM_PARTS];
    float x[];
};

static void clear_own(void *own)
{
    struct qconvert_case *o = own;
    for (unsigned i = 0; o && i < XL__QGEMM_PARTS; i++)
        free(o->expected[i]);
    free(o);
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const struct xl__qconvert_canonical *c = t->of;
    const struct qconvert_case *own = t->own;
    const struct xl__case_result *r = &t->result[result];
    *error = 0;
    if (!c->is_dequantise)
        return xl__dtype_load(own->expected[result],
                              at[0] * r->size[1] + at[1], r->dtype);
    unsigned char stored[sizeof(double)];
    xl__dtype_store(stored, 0, r->dtype,
                    (double)own->x[at[0] * c->of.k + at[1]]);
    return xl__dtype_load(stored, 0, r->dtype);
}

/* A unit of columns has one of several kinds of values; as x's type has them.
 */
static void make_values(const struct xl__qgemm_canonical *c, float *x)
{
    enum { KINDS = 7, ZEROS = 3, EQUAL, SMALL, LARGE };
    static const double small = 0x1p-12, large = 0x1p6;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (size_t i = 0; i < c->n * c->k; i++) {
        const size_t kind = i / XL__QGEMM_UNIT % KINDS;
        const double v = xl__rng_normal(&rng);
        unsigned char stored[sizeof(float)];
        xl__dtype_store(stored, 0, (xl_dtype)c->a,
                        kind == ZEROS   ? 0
                        : kind == EQUAL ? v < 0 ? -1.25 : 1.25
                        : kind == SMALL ? v * small
                        : kind == LARGE ? v * large
                                        : v);
        x[i] = (float)xl__dtype_load(stored, 0, (xl_dtype)c->a);
    }
}

static xl_status add_result(struct xl__selfcheck_case *t, const char *name,
                            unsigned slot, xl_dtype dtype, size_t rows,
                            size_t cols, size_t stride)
{
    struct xl__case_result *r =
        xl__case_add_result(t, name, slot, dtype, GUARD_ELEMS);
    if (!r)
        return XL_NO_MEMORY;
    xl__case_add_dim(r, rows, stride);
    xl__case_add_dim(r, cols, 1);
    return XL_OK;
}

/* w, as the host quantises x, before a dequantisation and expected of a
 * quantisation. */
static xl_status make_weights(const struct xl__qconvert_canonical *c,
                              struct xl__selfcheck_case *t,
                              struct qconvert_case *own)
{
    xl_status status = XL_OK;
    const xl_qshape shape = xl__qgemm_shape(&c->of);
    struct xl__qmat_part part[XL__QGEMM_PARTS];
    void *to[XL__QGEMM_PARTS] = {NULL};
    TRY(xl__qmat_case_parts(&c->of, t, part));
    for (unsigned i = 0; i < XL__QGEMM_PARTS; i++) {
        to[i] = part[i].first;
        if (part[i].n == 0 || c->is_dequantise)
            continue;
        own->expected[t->n_results] =
            xl__calloc(part[i].n, xl_dtype_bytes(part[i].dtype));
        to[i] = own->expected[t->n_results];
        TRY(to[i] ? XL_OK : XL_NO_MEMORY);
        const size_t cols = part[i].n / part[i].rows;
        TRY(add_result(t, part[i].name, part[i].slot, part[i].dtype,
                       part[i].rows, cols, cols));
    }
    const xl_qdata data = {to[0], to[1], to[2]};
    TRY(xl_qmat_quantise_host(&shape, own->x, &data));
    if (c->is_dequantise)
        TRY(xl_qmat_dequantise_host(&shape, &data, own->x));
fail:
    return status;
}

/* A full-size case may be of a class whose columns are not whole blocks. */
xl_status xl__qconvert_case_init(void *small, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    struct xl__qconvert_canonical *c = small;
    const struct xl__qgemm_canonical *of = &c->of;
    const xl_dtype dtype = (xl_dtype)of->a;
    size_t bytes;
    if (!xl__mul(of->n, of->k, &bytes) ||
        !xl__mul(bytes, sizeof(float), &bytes))
        return XL_UNSUPPORTED;
    struct qconvert_case *own = xl__calloc(1, sizeof *own + bytes);
    t->of = small;
    t->expect = expected_value;
    t->own = own;
    t->clear_own = clear_own;
    t->every = xl__case_sample_step((double)of->n * (double)of->k);
    void *x = xl__case_add_memory(t, XL__QCONVERT_X,
                                  (of->n - 1) * of->row_stride_a + of->k +
                                      2 * GUARD_ELEMS,
                                  dtype, GUARD);
    TRY(own && x ? XL_OK : XL_NO_MEMORY);
    t->call.value[XL__QCONVERT_OFF_X].u = GUARD_ELEMS;
    make_values(of, own->x);
    for (size_t i = 0; !c->is_dequantise && i < of->n; i++) {
        for (size_t l = 0; l < of->k; l++)
            xl__dtype_store(x, GUARD_ELEMS + i * of->row_stride_a + l, dtype,
                            (double)own->x[i * of->k + l]);
    }
    if (c->is_dequantise)
        TRY(add_result(t, "x", XL__QCONVERT_X, dtype, of->n, of->k,
                       of->row_stride_a));
    TRY(make_weights(c, t, own));
fail:
    return status;
}
