/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads of `clbench pipeline`: a table of stage kinds, reading a chain of
 * stages from the command line, and checking results.
 *
 * Each kind adds its tensors, builds its descriptor for any range of items,
 * and computes one row of its result on the host. Other files do not depend on
 * what is computed.
 *
 * A result is checked by computing a few of its rows through all stages on the
 * host in double precision, with the tolerance that accumulates on the way, so
 * that no intermediate tensor has to be read back. */
#include "pipeline/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/str.h"
#include "cases/host_ops.h"
#include "cases/shapes.h"
#include "cli/console.h"
#include "verify/verify.h"

/* -- tensors -------------------------------------------------------------- */

static unsigned add_tensor(struct pipe_workload *w, const char *name,
                           enum pipe_role role, size_t elems)
{
    w->tensor[w->n_tensors] = (struct pipe_tensor){name, role, elems};
    return w->n_tensors++;
}

/* Adds the result of a stage, which the next stage reads. */
static void add_result(struct pipe_workload *w, struct pipe_stage *st,
                       const char *name)
{
    w->rows = st->rows;
    w->cols = st->cols;
    st->dst = add_tensor(w, name, PIPE_BETWEEN, st->rows * st->cols);
}

static double elem_bytes(const struct pipe_workload *w)
{
    return (double)xl_dtype_bytes(w->dtype);
}

/* Sets flop and bytes of a matrix product: 2 m n k, each operand moved
 * once. */
static void count_product(const struct pipe_workload *w, struct pipe_stage *st)
{
    const double m = (double)st->rows, n = (double)st->cols,
                 k = (double)st->inner;
    const bool is_shared = w->tensor[st->by].role == PIPE_SHARED;
    st->flop = 2 * m * n * k;
    st->bytes = (m * k + m * n + (is_shared ? 0 : n * k)) * elem_bytes(w);
    st->shared_bytes = is_shared ? n * k * elem_bytes(w) : 0;
}

/* Adds an elementwise or row-wise stage: one read and one write. */
static const char *add_over_rows(struct pipe_workload *w,
                                 struct pipe_stage *st, const char *name)
{
    static const double flop_per_elem = 5, passes = 2;
    const double elems = (double)w->rows * (double)w->cols;
    st->src = st->by = w->stage[w->n_stages - 1].dst;
    st->rows = w->rows;
    st->cols = w->cols;
    st->flop = flop_per_elem * elems;
    st->bytes = passes * elems * elem_bytes(w);
    add_result(w, st, name);
    return NULL;
}

/* -- products ------------------------------------------------------------- */

static xl_status run_product(xl_queue *q, const xl_gemm *g,
                             const xl_sync *sync, bool prepare)
{
    return prepare ? xl_gemm_prepare(q, g) : xl_gemm_run(q, g, sync);
}

/* The view of a tensor for a range of items, with leading dimension ld. */
static xl_mat matrix_view(const struct pipe_workload *w,
                          const struct pipe_chunk *chunk, unsigned i,
                          size_t ld)
{
    xl_mat out = xl_mat_rows(chunk->mem[i], ld, w->dtype);
    if (w->tensor[i].role != PIPE_SHARED)
        out.offset = chunk->at * w->tensor[i].elems;
    return out;
}

/* One product for each item, each with its own matrices. `transposed`: the
 * rows of the stored second operand are the columns of the product. */
static xl_gemm batched_product(const struct pipe_workload *w,
                               const struct pipe_stage *st,
                               const struct pipe_chunk *chunk, bool transposed)
{
    xl_gemm g = {XL_GEMM_INIT, .m = st->rows, .n = st->cols, .k = st->inner,
                 .alpha = 1};
    g.a = matrix_view(w, chunk, st->src, st->inner);
    g.b = matrix_view(w, chunk, st->by, transposed ? st->inner : st->cols);
    if (transposed)
        g.b = xl_mat_transposed(g.b);
    g.c = matrix_view(w, chunk, st->dst, st->cols);
    g.batch = (xl_batch){.count = chunk->items,
                         .a_step = w->tensor[st->src].elems,
                         .b_step = w->tensor[st->by].elems,
                         .c_step = w->tensor[st->dst].elems};
    return g;
}

/* The matrix of an input on the host for the item of a row. */
static struct ref_mat host_matrix(const struct pipe_workload *w,
                                  const struct pipe_row *row_ref, unsigned i,
                                  size_t ld)
{
    struct ref_mat out = {row_ref->host[i], 0, ld, 1, w->dtype};
    if (w->tensor[i].role != PIPE_SHARED)
        out.offset = row_ref->item * w->tensor[i].elems;
    return out;
}

/* The scaling of a product for its tolerance: alpha 1, beta 0. */
static struct ref_gemm_scale scale_of(const struct pipe_workload *w,
                                      const struct pipe_stage *st)
{
    return (struct ref_gemm_scale){st->inner, 1,        0,
                                   w->dtype,  w->dtype, XL_ACCURACY_FULL};
}

/* -- qk: S = Q K^T -------------------------------------------------------- */

enum { BATCH, SEQUENCE, HIDDEN };

static const char *qk_add(struct pipe_workload *w, struct pipe_stage *st)
{
    const size_t s = w->size[SEQUENCE], h = w->size[HIDDEN];
    w->items = w->size[BATCH];
    w->grain = 1;
    st->rows = st->cols = s;
    st->inner = h;
    st->src = add_tensor(w, "Q", PIPE_INPUT, s * h);
    st->by = add_tensor(w, "K", PIPE_INPUT, s * h);
    count_product(w, st);
    add_result(w, st, "S");
    return NULL;
}

static xl_status qk_run(xl_queue *q, const struct pipe_workload *w,
                        const struct pipe_stage *st,
                        const struct pipe_chunk *chunk, const xl_sync *sync,
                        bool prepare)
{
    const xl_gemm g = batched_product(w, st, chunk, true);
    return run_product(q, &g, sync, prepare);
}

static void qk_row(const struct pipe_workload *w, const struct pipe_stage *st,
                   struct pipe_row *row_ref, double *expected, double *tol)
{
    const struct ref_mat a = host_matrix(w, row_ref, st->src, st->inner);
    struct ref_mat b = host_matrix(w, row_ref, st->by, st->inner);
    const struct ref_gemm_scale scale = scale_of(w, st);
    b.row_stride = 1;
    b.col_stride = st->inner;
    for (size_t j = 0; j < st->cols; j++) {
        double sum, mag;
        ref_gemm_dot(&a, &b, (size_t[2]){row_ref->row, j}, st->inner, &sum,
                     &mag);
        expected[j] = ref_gemm_expected(&scale, sum, mag, 0, &tol[j]);
    }
}

/* -- linear: Y = X W ------------------------------------------------------ */

enum { M, N, K };

static const char *linear_add(struct pipe_workload *w, struct pipe_stage *st)
{
    enum { ROWS = 64 }; /* least rows of a launch */
    w->items = w->size[M];
    w->grain = ROWS;
    st->rows = 1;
    st->cols = w->size[N];
    st->inner = w->size[K];
    st->src = add_tensor(w, "X", PIPE_INPUT, st->inner);
    st->by = add_tensor(w, "W", PIPE_SHARED, st->inner * st->cols);
    count_product(w, st);
    add_result(w, st, "Y");
    return NULL;
}

static xl_status linear_run(xl_queue *q, const struct pipe_workload *w,
                            const struct pipe_stage *st,
                            const struct pipe_chunk *chunk,
                            const xl_sync *sync, bool prepare)
{
    xl_gemm g = {XL_GEMM_INIT, .m = chunk->items, .n = st->cols,
                 .k = st->inner, .alpha = 1};
    g.a = matrix_view(w, chunk, st->src, st->inner);
    g.b = matrix_view(w, chunk, st->by, st->cols);
    g.c = matrix_view(w, chunk, st->dst, st->cols);
    return run_product(q, &g, sync, prepare);
}

static void linear_row(const struct pipe_workload *w,
                       const struct pipe_stage *st, struct pipe_row *row_ref,
                       double *expected, double *tol)
{
    const struct ref_mat a = host_matrix(w, row_ref, st->src, st->inner);
    const struct ref_mat b = host_matrix(w, row_ref, st->by, st->cols);
    const struct ref_gemm_scale scale = scale_of(w, st);
    for (size_t j = 0; j < st->cols; j++) {
        double sum, mag;
        ref_gemm_dot(&a, &b, (size_t[2]){0, j}, st->inner, &sum, &mag);
        expected[j] = ref_gemm_expected(&scale, sum, mag, 0, &tol[j]);
    }
}

/* -- softmax: P = softmax(S / sqrt(hidden)) over rows --------------------- */

static const char *softmax_add(struct pipe_workload *w, struct pipe_stage *st)
{
    return add_over_rows(w, st, "P");
}

/* 1 / sqrt(hidden) after qk, else 1. */
static double softmax_scale(const struct pipe_workload *w)
{
    return w->stage[0].kind->run == qk_run
               ? 1 / sqrt((double)w->size[HIDDEN])
               : 1;
}

static xl_status softmax_run(xl_queue *q, const struct pipe_workload *w,
                             const struct pipe_stage *st,
                             const struct pipe_chunk *chunk,
                             const xl_sync *sync, bool prepare)
{
    const xl_softmax s = {XL_SOFTMAX_INIT,
                          .rows = chunk->items * st->rows,
                          .cols = st->cols,
                          .scale = softmax_scale(w),
                          .src = matrix_view(w, chunk, st->src, st->cols),
                          .dst = matrix_view(w, chunk, st->dst, st->cols)};
    return prepare ? xl_softmax_prepare(q, &s) : xl_softmax_run(q, &s, sync);
}

/* An error of the input changes every exponential and their sum by the same
 * factor; in addition the rounding errors of scale and product. */
static void softmax_row(const struct pipe_workload *w,
                        const struct pipe_stage *st, struct pipe_row *row_ref,
                        double *expected, double *tol)
{
    static const double roundings = 4;
    const double scale = softmax_scale(w);
    double error = 0, largest = 0, max = 0;
    for (size_t j = 0; j < st->cols; j++) {
        row_ref->expected[j] *= scale;
        error = fmax(error, scale * row_ref->tol[j]);
        largest = fmax(largest, fabs(row_ref->expected[j]));
    }
    error += roundings * largest * ref_roundoff(XL_F32);
    ref_softmax_row(row_ref->expected, st->cols, expected, &max);
    for (size_t j = 0; j < st->cols; j++)
        tol[j] = ref_softmax_tol(expected[j], max - row_ref->expected[j],
                                 expm1(2 * error), st->cols, w->dtype);
}

/* -- gelu, by element ----------------------------------------------------- */

static const char *gelu_add(struct pipe_workload *w, struct pipe_stage *st)
{
    return add_over_rows(w, st, "G");
}

static xl_status expr_run(xl_queue *q, const struct pipe_workload *w,
                          const struct pipe_stage *st,
                          const struct pipe_chunk *chunk, const xl_sync *sync,
                          bool prepare)
{
    xl_binding bindings[2];
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bindings,
                               .n_bindings = 2};
    pipe_bind(w, st, chunk, bindings);
    if (prepare) {
        xl_expr *e = NULL;
        const xl_status status =
            xl_expr_compile(q, st->kind->expr, &args, &e);
        xl_expr_destroy(e);
        return status;
    }
    return xl_expr_run(q, chunk->expr, &args, sync);
}

static void gelu_row(const struct pipe_workload *w,
                     const struct pipe_stage *st, struct pipe_row *row_ref,
                     double *expected, double *tol)
{
    /* Largest slope of gelu; 10 ulp of x: see n_gelu(). */
    static const double steepest = 1.13, ulps = 20;
    for (size_t j = 0; j < st->cols; j++) {
        const double x = row_ref->expected[j];
        expected[j] = x / 2 * (1 + erf(x / sqrt(2)));
        tol[j] =
            steepest * row_ref->tol[j] + ulps * ref_roundoff(XL_F32) * fabs(x);
        tol[j] += ref_roundoff(w->dtype) * (fabs(expected[j]) + tol[j]) +
                  ref_floor(w->dtype);
    }
}

/* -- pv: O = P V ---------------------------------------------------------- */

static const char *pv_add(struct pipe_workload *w, struct pipe_stage *st)
{
    if (w->stage[0].kind->run != qk_run || w->cols != w->size[SEQUENCE])
        return "multiplies the result of qk, or one of the same width";
    st->src = w->stage[w->n_stages - 1].dst;
    st->rows = w->rows;
    st->inner = w->cols;
    st->cols = w->size[HIDDEN];
    st->by = add_tensor(w, "V", PIPE_INPUT, st->inner * st->cols);
    count_product(w, st);
    add_result(w, st, "O");
    return NULL;
}

static xl_status pv_run(xl_queue *q, const struct pipe_workload *w,
                        const struct pipe_stage *st,
                        const struct pipe_chunk *chunk, const xl_sync *sync,
                        bool prepare)
{
    const xl_gemm g = batched_product(w, st, chunk, false);
    return run_product(q, &g, sync, prepare);
}

static void pv_row(const struct pipe_workload *w, const struct pipe_stage *st,
                   struct pipe_row *row_ref, double *expected, double *tol)
{
    const struct ref_mat v = host_matrix(w, row_ref, st->by, st->cols);
    const struct ref_gemm_scale scale = scale_of(w, st);
    for (size_t j = 0; j < st->cols; j++) {
        double sum = 0, mag = 0, error = 0;
        for (size_t p = 0; p < st->inner; p++) {
            const double x = ref_at(&v, p, j);
            sum += row_ref->expected[p] * x;
            mag += (fabs(row_ref->expected[p]) + row_ref->tol[p]) * fabs(x);
            error += row_ref->tol[p] * fabs(x);
        }
        expected[j] = ref_gemm_expected(&scale, sum, mag, 0, &tol[j]);
        tol[j] += error * (1 + ref_roundoff(w->dtype));
    }
}

/* -- the table ------------------------------------------------------------ */

const struct pipe_kind pipe_kinds[] = {
    {"qk",
     "S = Q K^T",
     true,
     {"batch", "sequence", "hidden"},
     "BATCHxSEQUENCExHIDDEN",
     "32x512x128",
     NULL,
     qk_add,
     qk_run,
     qk_row},
    {"linear",
     "Y = X W",
     true,
     {"m", "n", "k"},
     "MxNxK",
     "4096x4096x4096",
     NULL,
     linear_add,
     linear_run,
     linear_row},
    {"softmax",
     "P = softmax over rows",
     false,
     {NULL},
     NULL,
     NULL,
     NULL,
     softmax_add,
     softmax_run,
     softmax_row},
    {"gelu",
     "G = gelu by element",
     false,
     {NULL},
     NULL,
     NULL,
     "y = gelu(x)",
     gelu_add,
     expr_run,
     gelu_row},
    {"pv", "O = P V", true, {NULL}, NULL, NULL, NULL, pv_add, pv_run, pv_row},
    {NULL, NULL, false, {NULL}, NULL, NULL, NULL, NULL, NULL, NULL},
};

/* -- reading -------------------------------------------------------------- */

/* Sets the message for an invalid stage, with the nearest known name. Returns
 * false. */
static bool reject_stage(char *why, size_t cap, const char *what,
                         const char *name)
{
    struct xl__str text = {0};
    enum { MOST = 16 };
    const char *names[MOST + 1] = {NULL};
    for (unsigned i = 0; pipe_kinds[i].name && i < MOST; i++)
        names[i] = pipe_kinds[i].name;
    const char *near = text_nearest(name, names);
    xl__str_printf(&text, "stage '%s' %s; ", name, what);
    if (near && strcmp(near, name) != 0)
        xl__str_printf(&text, "did you mean '%s'? ", near);
    xl__str_add(&text, "stages are qk or linear, then softmax, gelu or pv");
    xl__strcpy(why, cap, xl__str_text(&text));
    xl__str_clear(&text);
    return false;
}

static const struct pipe_kind *find_kind(const char *name)
{
    for (const struct pipe_kind *k = pipe_kinds; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static bool read_sizes(struct pipe_workload *w, const struct pipe_kind *kind,
                       const char *sizes, char *why, size_t cap)
{
    memcpy(w->size_names, kind->size_names, sizeof w->size_names);
    return shape_sizes(sizes ? sizes : kind->sizes, kind->form, w->size,
                       PIPE_SIZES, why, cap);
}

/* Adds a stage to the chain. */
static bool add_stage(struct pipe_workload *w, const char *name,
                      const char *sizes, char *why, size_t cap)
{
    const struct pipe_kind *kind = find_kind(name);
    if (!kind)
        return reject_stage(why, cap, "is unknown", name);
    if (w->n_stages == 0 && !kind->form)
        return reject_stage(why, cap, "cannot be the first", name);
    if (w->n_stages > 0 && kind->form)
        return reject_stage(why, cap, "can only be the first", name);
    if (w->n_stages == PIPE_STAGES)
        return reject_stage(why, cap, "is one too many", name);
    if (w->n_stages == 0 && !read_sizes(w, kind, sizes, why, cap))
        return false;
    struct pipe_stage *st = &w->stage[w->n_stages];
    st->kind = kind;
    const char *wrong = kind->add(w, st);
    w->n_stages++;
    return !wrong || reject_stage(why, cap, wrong, name);
}

/* Checks that the size of every tensor fits. The elements of an item are
 * products of two sizes, which are checked (shapes.c). */
static bool check_sizes(const struct pipe_workload *w, char *why, size_t cap)
{
    size_t all = 0, bytes = 0;
    for (unsigned i = 0; i < w->n_tensors; i++) {
        const struct pipe_tensor *t = &w->tensor[i];
        const size_t n = t->role == PIPE_SHARED ? 1 : w->items;
        if (xl__mul(t->elems, n, &bytes) &&
            xl__mul(bytes, sizeof(double), &bytes) &&
            xl__add(all, bytes, &all))
            continue;
        snprintf(why, cap, "%s does not fit in 64 bits; give smaller sizes",
                 t->name);
        return false;
    }
    return true;
}

bool pipe_workload_read(const char *stages, const char *sizes, xl_dtype dtype,
                        struct pipe_workload *out, char *why, size_t cap)
{
    const char *at = stages ? stages : pipe_kinds[0].name;
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    if (dtype != XL_F32 && dtype != XL_F16 && dtype != XL_BF16) {
        snprintf(why, cap,
                 "invalid value for --dtype: must be f16, bf16 or f32");
        return false;
    }
    if (strlen(at) >= sizeof out->stages) {
        snprintf(why, cap, "--stages: too many; at most %d", PIPE_STAGES);
        return false;
    }
    xl__strcpy(out->stages, sizeof out->stages, at);
    for (;; at++) {
        char name[sizeof out->stages];
        const size_t len = strcspn(at, ",");
        memcpy(name, at, len);
        name[len] = '\0';
        if (!add_stage(out, name, sizes, why, cap))
            return false;
        at += len;
        if (!*at)
            break;
    }
    out->tensor[pipe_output(out)].role = PIPE_OUTPUT;
    return check_sizes(out, why, cap);
}

/* -- sums ----------------------------------------------------------------- */

unsigned pipe_output(const struct pipe_workload *w)
{
    return w->stage[w->n_stages - 1].dst;
}

bool pipe_is(const struct pipe_workload *w, unsigned i, unsigned roles)
{
    return roles >> w->tensor[i].role & 1;
}

size_t pipe_units(const struct pipe_workload *w)
{
    return xl__ceil_div(w->items, w->grain);
}

double pipe_flop(const struct pipe_workload *w)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        sum += w->stage[i].flop * (double)w->items;
    return sum;
}

size_t pipe_tensor_bytes(const struct pipe_workload *w, unsigned i,
                         size_t items)
{
    const struct pipe_tensor *t = &w->tensor[i];
    return t->elems * (t->role == PIPE_SHARED ? 1 : items) *
           xl_dtype_bytes(w->dtype);
}

double pipe_bytes(const struct pipe_workload *w, unsigned roles)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        if (pipe_is(w, i, roles))
            sum += (double)pipe_tensor_bytes(w, i, w->items);
    return sum;
}

void pipe_bind(const struct pipe_workload *w, const struct pipe_stage *st,
               const struct pipe_chunk *chunk, xl_binding bindings[2])
{
    const size_t size[2] = {chunk->items * st->rows, st->cols};
    const unsigned tensors[2] = {st->src, st->dst};
    static const char *const names[2] = {"x", "y"};
    for (unsigned i = 0; i < 2; i++) {
        const unsigned t = tensors[i];
        bindings[i] = (xl_binding){
            .name = names[i],
            .tensor = xl_tensor_dense(chunk->mem[t], w->dtype, 2, size)};
        bindings[i].tensor.offset = chunk->at * w->tensor[t].elems;
    }
}

/* -- check ---------------------------------------------------------------- */

enum { SAMPLE_ROWS = 64 };
static const double max_flop = 1 << 26; /* multiplications, for all rows */

/* The number of rows to check: at least one, limited by max_flop. */
static size_t sample_rows(const struct pipe_workload *w, size_t rows)
{
    double row = 1;
    for (unsigned i = 0; i < w->n_stages; i++)
        row += w->stage[i].flop / (double)w->stage[i].rows;
    const double n = max_flop / row;
    const size_t most = xl__min_size(rows, SAMPLE_ROWS);
    return n < 1 ? 1 : n > (double)most ? most : (size_t)n;
}

static size_t max_cols(const struct pipe_workload *w)
{
    size_t cols = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        cols = xl__max_size(cols, w->stage[i].cols);
    return cols;
}

/* Two rows with tolerances: input and result of a stage. */
struct row_buffers {
    double *expected[2], *tol[2];
};

static bool row_buffers_init(struct row_buffers *l, size_t cols)
{
    for (unsigned i = 0; i < 2; i++) {
        l->expected[i] = xl__calloc(cols, sizeof(double));
        l->tol[i] = xl__calloc(cols, sizeof(double));
    }
    return l->expected[0] && l->expected[1] && l->tol[0] && l->tol[1];
}

static void row_buffers_clear(struct row_buffers *l)
{
    for (unsigned i = 0; i < 2; i++) {
        free(l->expected[i]);
        free(l->tol[i]);
    }
}

/* Computes one row through all stages and compares it with the result. */
static void check_row(const struct pipe_workload *w, const void *const *inputs,
                      const void *result, size_t row,
                      const struct row_buffers *l, struct check_result *out)
{
    struct pipe_row row_ref = {
        .item = row / w->rows, .row = row % w->rows, .host = inputs};
    unsigned to = 0;
    for (unsigned i = 0; i < w->n_stages; i++, to = 1 - to) {
        const struct pipe_stage *st = &w->stage[i];
        row_ref.expected = l->expected[1 - to];
        row_ref.tol = l->tol[1 - to];
        st->kind->compute_row(w, st, &row_ref, l->expected[to], l->tol[to]);
    }
    to = 1 - to; /* the last result */
    for (size_t j = 0; j < w->cols; j++) {
        struct checked_element e = {.name = w->tensor[pipe_output(w)].name,
                         .i = row,
                         .j = j,
                         .expected = l->expected[to][j],
                         .tol = l->tol[to][j],
                         .dtype = w->dtype};
        e.got = ref_load(result, row * w->cols + j, w->dtype);
        check_element(out, &e);
    }
}

xl_status pipe_check(const struct pipe_workload *w, const void *const *inputs,
                     const void *result, uint64_t seed,
                     struct check_result *out)
{
    xl_status status = XL_OK;
    struct row_buffers row_buffers = {{NULL, NULL}, {NULL, NULL}};
    struct xl__rng rng;
    const size_t rows = w->items * w->rows, n = sample_rows(w, rows);
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(row_buffers_init(&row_buffers, max_cols(w)) ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < n && out->right; s++) {
        /* one row of each of n equal ranges, so that every chunk is checked */
        const size_t row =
            s + 1 == n ? rows - 1
                       : s * (rows / n) +
                             (size_t)xl__rng_below(&rng, rows / n);
        check_row(w, inputs, result, row, &row_buffers, out);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    row_buffers_clear(&row_buffers);
    return status;
}
