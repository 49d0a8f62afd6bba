/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a GEMM with an epilogue on a device and compares every element of C
 * with a value computed in double on the host. See epilogue_case.h. */
#include "lib/ops/expression/epilogue_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/half.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "ops/path/selfcheck_data.h"

enum {
    GUARD = 0x5B,
    OFFSET = 16,
    GAP = 8,
    PRODUCTS = 3,
    MAX_OPERANDS = 8,
    PERIOD = 3
};

static const char reference[] = "gemm_ref";

struct case_memory {
    xl_dtype dtype;
    size_t elems;
    void *host;
    cl_mem device;
};

struct case_run {
    const struct test_device *t;
    const struct epilogue_case *c;
    xl_gemm g;
    size_t size[3]; /* products, m, n */
    struct case_memory a, b, result, operand[MAX_OPERANDS];
    xl_binding binding[MAX_OPERANDS];
    char name[MAX_OPERANDS][16];
    unsigned n;
    cl_ulong at[3][PRODUCTS];
    struct xl__rng rng;
};

/* -- elements ------------------------------------------------------------- */

/* Multiples of 1/4 for floats, small integers for integer types. */
static double random_element(struct case_run *r, xl_dtype dtype)
{
    const double whole = (double)xl__rng_below(&r->rng, 33) - 16;
    switch (dtype) {
    case XL_BOOL:
        return (double)xl__rng_below(&r->rng, 2);
    case XL_U8:
        return whole + 16;
    case XL_I32:
    case XL_I8:
        return whole;
    default:
        return whole / 4;
    }
}

/* Elements of A and B: small multiples, so that their dot products are exact
 * in f32. */
static double random_factor(struct case_run *r, xl_dtype dtype)
{
    const double whole = (double)xl__rng_below(&r->rng, 7) - 3;
    return dtype == XL_I8 ? whole : whole / 4;
}

static double round_to_dtype(double x, xl_dtype dtype)
{
    const double cut = isnan(x) ? 0 : trunc(x);
    switch (dtype) {
    case XL_F32:
        return (double)(float)x;
    case XL_F16:
        return (double)xl__f16_to_f32(xl__f32_to_f16((float)x));
    case XL_BF16:
        return (double)xl__bf16_to_f32(xl__f32_to_bf16((float)x));
    case XL_I32:
        return fmin(fmax(cut, INT32_MIN), INT32_MAX);
    case XL_I8:
        return fmin(fmax(cut, INT8_MIN), INT8_MAX);
    case XL_U8:
        return fmin(fmax(cut, 0), UINT8_MAX);
    default:
        return x != 0;
    }
}

/* -- memory --------------------------------------------------------------- */

static void create_memory(struct case_run *r, struct case_memory *m,
                          xl_dtype dtype, size_t elems)
{
    const size_t bytes = elems * xl_dtype_bytes(dtype);
    *m = (struct case_memory){dtype, elems, xl__calloc(bytes, 1), NULL};
    assert_non_null(m->host);
    assert_status(xl_buffer_create(r->t->queue, bytes, &m->device), XL_OK,
                  xl_error_detail(r->t->queue));
}

static void upload_memory(struct case_run *r, const struct case_memory *m)
{
    assert_status(xl_buffer_write(r->t->queue, m->device, 0, m->host,
                                  m->elems * xl_dtype_bytes(m->dtype)),
                  XL_OK, xl_error_detail(r->t->queue));
}

static void release_memory(struct case_memory *m)
{
    free(m->host);
    if (m->device)
        clReleaseMemObject(m->device);
    *m = (struct case_memory){XL_F32, 0, NULL, NULL};
}

static xl_mat matrix_view(cl_mem buf, size_t rows, size_t cols,
                          bool transposed, xl_dtype dtype)
{
    xl_mat mat = transposed ? xl_mat_cols(buf, rows + GAP, dtype)
                            : xl_mat_rows(buf, cols + GAP, dtype);
    mat.offset = OFFSET;
    return mat;
}

/* Elements between the matrices of two products of a batch. */
static size_t matrix_step(size_t rows, size_t cols)
{
    return (rows + GAP) * (cols + GAP);
}

static size_t matrix_start(const struct case_run *r, unsigned mat, size_t step,
                           size_t z)
{
    return OFFSET + (r->c->how & CASE_LISTS ? r->at[mat][z] : z * step);
}

static void create_factor(struct case_run *r, struct case_memory *m,
                          xl_mat *mat, unsigned number, const size_t size[2])
{
    const size_t step = matrix_step(size[0], size[1]);
    create_memory(r, m, r->c->in, OFFSET + step * r->size[0]);
    *mat = matrix_view(m->device, size[0], size[1], false, r->c->in);
    for (size_t z = 0; z < r->size[0]; z++) {
        for (size_t i = 0; i < size[0] * mat->row_stride; i++)
            xl__dtype_store(m->host, matrix_start(r, number, step, z) + i,
                            r->c->in, random_factor(r, r->c->in));
    }
    upload_memory(r, m);
}

static size_t result_index(const struct case_run *r, size_t z, size_t i,
                           size_t j)
{
    const xl_mat *c = &r->g.c;
    return matrix_start(r, 2, matrix_step(r->size[1], r->size[2]), z) +
           i * c->row_stride + j * c->col_stride;
}

static void create_result(struct case_run *r)
{
    const xl_dtype dtype = r->c->out;
    create_memory(r, &r->result, dtype,
                  OFFSET + matrix_step(r->size[1], r->size[2]) * r->size[0]);
    memset(r->result.host, GUARD, r->result.elems * xl_dtype_bytes(dtype));
    r->g.c = matrix_view(r->result.device, r->size[1], r->size[2],
                         r->c->how & CASE_TRANSPOSED, dtype);
    for (size_t z = 0; z < r->size[0]; z++) {
        for (size_t i = 0; i < r->size[1]; i++) {
            for (size_t j = 0; j < r->size[2]; j++)
                xl__dtype_store(r->result.host, result_index(r, z, i, j),
                                dtype, random_element(r, dtype));
        }
    }
}

/* -- operands ------------------------------------------------------------- */

static xl_dtype dtype_named(const char *name, size_t len)
{
    for (unsigned t = 0; t < XL_N_DTYPES; t++) {
        const char *other = xl_dtype_name((xl_dtype)t);
        if (strlen(other) == len && memcmp(other, name, len) == 0)
            return (xl_dtype)t;
    }
    fail_msg("no type: %s", name);
    return XL_F32;
}

static xl_tensor view_of_c(const struct case_run *r)
{
    const xl_mat *c = &r->g.c;
    const unsigned n = r->c->how & CASE_BATCH ? 3 : 2;
    xl_tensor t = {.mem = c->mem, .offset = c->offset, .n_dims = n,
                   .dtype = c->dtype};
    t.size[0] = r->size[0];
    t.stride[0] = matrix_step(r->size[1], r->size[2]);
    t.size[n - 2] = r->size[1];
    t.size[n - 1] = r->size[2];
    t.stride[n - 2] = c->row_stride;
    t.stride[n - 1] = c->col_stride;
    return t;
}

/* Read sizes such as "[m,n]", from '[' on; returns the text behind ']'. */
static const char *read_sizes(const struct case_run *r, const char *at,
                              xl_tensor *t)
{
    while (*at++ != ']')
        if (*at != ',' && *at != ']')
            t->size[t->n_dims++] = *at == 'm'   ? r->size[1]
                                   : *at == 'n' ? r->size[2]
                                   : *at == 'z' ? r->size[0]
                                                : 1;
    return at;
}

/* Set the strides of a layout; returns the elements that it occupies. */
static size_t set_strides(xl_tensor *t, char layout)
{
    const bool transposed = layout == 'T';
    size_t step = layout == '3' ? 3 : 1;
    for (unsigned i = 0; i < t->n_dims; i++) {
        const unsigned d =
            transposed && i < 2 ? t->n_dims - 2 + i : t->n_dims - 1 - i;
        t->stride[d] = step;
        step = step * t->size[d] + GAP;
    }
    return step;
}

static void create_tensor(struct case_run *r, unsigned k, char layout)
{
    struct case_memory *m = &r->operand[k];
    xl_tensor *t = &r->binding[k].tensor;
    t->offset = OFFSET;
    create_memory(r, m, t->dtype, OFFSET + set_strides(t, layout));
    t->mem.buf = m->device;
    for (size_t i = 0; i < m->elems; i++)
        xl__dtype_store(m->host, i, t->dtype,
                        t->dtype <= XL_BF16 ? (double)NAN : 99);
    size_t n = 1;
    for (unsigned d = 0; d < t->n_dims; d++)
        n *= t->size[d];
    for (size_t i = 0; i < n; i++) {
        size_t at = OFFSET, rest = i;
        for (unsigned d = t->n_dims; d-- > 0; rest /= t->size[d])
            at += rest % t->size[d] * t->stride[d];
        xl__dtype_store(m->host, at, t->dtype, random_element(r, t->dtype));
    }
    upload_memory(r, m);
}

/* Read one operand of the list and create it; returns the text behind it. */
static const char *read_operand(struct case_run *r, const char *at)
{
    const unsigned k = r->n++;
    xl_binding *b = &r->binding[k];
    const size_t len = strcspn(at, ":");
    assert_true(k < MAX_OPERANDS && len < sizeof r->name[k]);
    *b = (xl_binding){.name = memcpy(r->name[k], at, len)};
    at += len + 1;
    const size_t type = strcspn(at, "[= ");
    if (*at == 'C') {
        b->tensor = view_of_c(r);
        return at + 1;
    }
    b->tensor.dtype = dtype_named(at, type);
    at += type;
    b->is_scalar = *at == '=';
    if (b->is_scalar) {
        char *end;
        b->scalar = strtod(at + 1, &end);
        return end;
    }
    at = read_sizes(r, at, &b->tensor);
    create_tensor(r, k, *at);
    return at + strcspn(at, " ");
}

static double operand_value(const struct case_run *r, const void *old,
                            unsigned k, const size_t place_of[3])
{
    const xl_binding *b = &r->binding[k];
    const xl_tensor *t = &b->tensor;
    size_t at = t->offset;
    if (b->is_scalar)
        return b->scalar;
    for (unsigned d = 0; d < t->n_dims; d++)
        at += t->size[d] == 1 ? 0 : place_of[3 - t->n_dims + d] * t->stride[d];
    return xl__dtype_load(r->operand[k].host ? r->operand[k].host : old, at,
                          t->dtype);
}

/* -- comparison ----------------------------------------------------------- */

static double expected_y(const struct case_run *r, const void *old,
                         const size_t at[3])
{
    const xl_gemm *g = &r->g;
    const size_t a = matrix_start(r, 0, matrix_step(g->m, g->k), at[0]) +
                     at[1] * g->a.row_stride;
    const size_t b = matrix_start(r, 1, matrix_step(g->k, g->n), at[0]) +
                     at[2] * g->b.col_stride;
    double sum = 0;
    for (size_t l = 0; l < g->k; l++)
        sum += xl__dtype_load(r->a.host, a + l * g->a.col_stride, r->c->in) *
               xl__dtype_load(r->b.host, b + l * g->b.row_stride, r->c->in);
    return g->alpha * sum +
           (g->beta == 0
                ? 0
                : g->beta *
                      xl__dtype_load(old, result_index(r, at[0], at[1], at[2]),
                                     r->c->out));
}

static void check_element(const struct case_run *r, const void *old,
                          const size_t at[3])
{
    static const double u = 0x1p-24;
    double x[MAX_OPERANDS], size = 1;
    const double y = expected_y(r, old, at);
    for (unsigned k = 0; k < r->n; k++) {
        x[k] = operand_value(r, old, k, at);
        size = fmax(size, fabs(x[k]));
    }
    const double f = r->c->expected(y, x);
    size = fmax(fmax(size, fabs(y)), fabs(f));
    const double off = 2 * u * r->c->ulps * (isfinite(size) ? size : 1);
    const double low = round_to_dtype(f - off, r->c->out),
                 high = round_to_dtype(f + off, r->c->out);
    const double got = xl__dtype_load(
        r->result.host, result_index(r, at[0], at[1], at[2]), r->c->out);
    if ((got >= low && got <= high) || (isnan(got) && isnan(low)))
        return;
    fail_msg("%s of %s, %s into %s, %s: product %zu, (%zu, %zu) of %zu x %zu: "
             "y = %.9g gives %.9g, not %.9g to %.9g",
             r->c->expr, r->c->operands, xl_dtype_name(r->c->in),
             xl_dtype_name(r->c->out), r->g.variant, at[0], at[1], at[2],
             r->size[1], r->size[2], y, got, low, high);
}

/* Compare all elements of C, replace them by the old ones, and compare the
 * rest of its memory, which must be unchanged. */
static void check_result(struct case_run *r, const void *old)
{
    const size_t elem = xl_dtype_bytes(r->c->out);
    unsigned char *now = r->result.host;
    size_t at[3];
    for (at[0] = 0; at[0] < r->size[0]; at[0]++) {
        for (at[1] = 0; at[1] < r->size[1]; at[1]++) {
            for (at[2] = 0; at[2] < r->size[2]; at[2]++) {
                const size_t byte =
                    elem * result_index(r, at[0], at[1], at[2]);
                check_element(r, old, at);
                memcpy(now + byte, (const unsigned char *)old + byte, elem);
            }
        }
    }
    if (memcmp(now, old, r->result.elems * elem) != 0)
        fail_msg("%s, %s: memory beside C was written", r->c->expr,
                 r->g.variant);
}

/* -- runs ----------------------------------------------------------------- */

static void create_case(struct case_run *r, const size_t size[3])
{
    const unsigned how = r->c->how;
    const bool is_batch = how & (CASE_BATCH | CASE_LISTS);
    r->size[0] = is_batch ? PRODUCTS : 1;
    r->size[1] = size[0];
    r->size[2] = size[1];
    r->g = (xl_gemm){XL_GEMM_INIT, .m = size[0],
                     .n = size[1], .k = size[2],
                     .alpha = 0.5, .beta = how & CASE_BETA ? -0.5 : 0};
    const size_t step[3] = {matrix_step(size[0], size[2]),
                            matrix_step(size[2], size[1]),
                            matrix_step(size[0], size[1])};
    for (unsigned z = 0; z < PRODUCTS; z++) {
        for (unsigned mat = 0; mat < 3; mat++)
            r->at[mat][z] = is_batch ? (PRODUCTS - 1 - z) * step[mat] : 0;
    }
    if (is_batch)
        r->g.batch.count = PRODUCTS;
    if (how & CASE_LISTS) {
        r->g.batch.a_at = r->at[0];
        r->g.batch.b_at = r->at[1];
        r->g.batch.c_at = r->at[2];
    } else if (is_batch) {
        r->g.batch.a_step = step[0];
        r->g.batch.b_step = step[1];
        r->g.batch.c_step = step[2];
    }
    create_factor(r, &r->a, &r->g.a, 0, (const size_t[]){size[0], size[2]});
    create_factor(r, &r->b, &r->g.b, 1, (const size_t[]){size[2], size[1]});
    create_result(r);
    for (const char *at = r->c->operands; *at; at += strspn(at, " "))
        at = read_operand(r, at);
    r->g.epilogue = (xl_epilogue){r->c->expr, r->binding, r->n};
}

/* Returns false if the variant does not support the case. */
static bool run_variant(struct case_run *r, const char *variant,
                        const void *old)
{
    xl_queue *q = r->t->queue;
    const size_t bytes = r->result.elems * xl_dtype_bytes(r->c->out);
    memcpy(r->result.host, old, bytes);
    upload_memory(r, &r->result);
    r->g.variant = variant;
    const xl_status status = xl_gemm_run(q, &r->g, NULL);
    if (status == XL_UNSUPPORTED)
        return false;
    if (status != XL_OK)
        print_error("%s of %s, %s:\n", r->c->expr, r->c->operands, variant);
    assert_status(status, XL_OK, xl_error_detail(q));
    assert_status(xl_buffer_read(q, r->result.device, 0, r->result.host,
                                 bytes),
                  XL_OK, xl_error_detail(q));
    check_result(r, old);
    return true;
}

/* m, n, k: odd sizes; even sizes; few rows with long sums, which split-K
 * variants cut. */
static const size_t sizes[][3] = {{13, 37, 21}, {16, 64, 32}, {2, 70, 2999}};
enum { N_SIZES = sizeof sizes / sizeof *sizes };
/* Rows of whole 16 bytes, and several tiles, none of which ends at C's edge.
 */
static const size_t wide_size[3] = {152, 328, 96};

static bool is_selected(const char *variant, size_t i_case,
                        bool is_size_selected)
{
    const char *only = getenv("XL_TEST_VARIANT");
    if (only)
        return strcmp(only, variant) == 0;
    return getenv("XL_TEST_FULL") || strcmp(variant, reference) == 0 ||
           (i_case % PERIOD == 0 && is_size_selected);
}

static unsigned run_size(const struct test_device *t,
                         const struct epilogue_case *c, size_t i_case,
                         const size_t size[3])
{
    struct case_run r = {.t = t, .c = c};
    const char *variant;
    unsigned n = 0;
    xl__rng_seed(&r.rng, 1);
    create_case(&r, size);
    const size_t bytes = r.result.elems * xl_dtype_bytes(c->out);
    void *old = xl__calloc(bytes, 1);
    assert_non_null(old);
    memcpy(old, r.result.host, bytes);
    for (unsigned i = 0; (variant = xl_variant_name(t->device, "gemm", i));
         i++) {
        const bool has_run =
            is_selected(variant, i_case + i,
                        size == wide_size ||
                            size == sizes[(i_case + i) / PERIOD % N_SIZES]) &&
            run_variant(&r, variant, old);
        if (!has_run && !getenv("XL_TEST_VARIANT"))
            assert_string_not_equal(variant, reference);
        n += has_run;
    }
    free(old);
    release_memory(&r.a);
    release_memory(&r.b);
    release_memory(&r.result);
    for (unsigned k = 0; k < r.n; k++)
        release_memory(&r.operand[k]);
    return n;
}

unsigned epilogue_run(const struct test_device *t,
                      const struct epilogue_case *c, size_t i_case)
{
    unsigned n = 0;
    if (c->how & CASE_WIDE)
        return run_size(t, c, i_case, wide_size);
    for (unsigned i = 0; i < N_SIZES; i++)
        n += run_size(t, c, i_case, sizes[i]);
    return n;
}
