/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of stages. Each states its tensors, its descriptor for any run of
 * items, and its reference; the rest of the program knows nothing of what is
 * computed. */
#include <math.h>

#include "pipeline/pipeline_work.h"
#include "cases/host_ops.h"

/* -- tensors --------------------------------------------------------------- */

static unsigned add_tensor(struct pipe_work *w, const char *name,
                           enum pipe_role role, size_t elems)
{
    w->tensor[w->n_tensors] = (struct pipe_tensor){name, role, elems};
    return w->n_tensors++;
}

/* A stage's result becomes the running value. */
static void add_result(struct pipe_work *w, struct pipe_stage *st,
                       const char *name)
{
    w->rows = st->rows;
    w->cols = st->cols;
    st->dst = add_tensor(w, name, PIPE_BETWEEN, st->rows * st->cols);
}

static double elem_bytes(const struct pipe_work *w)
{
    return (double)xl_dtype_bytes(w->dtype);
}

static void count_product(const struct pipe_work *w, struct pipe_stage *st)
{
    const double m = (double)st->rows, n = (double)st->cols,
                 k = (double)st->inner;
    const bool is_shared = w->tensor[st->by].role == PIPE_SHARED;
    st->flop = 2 * m * n * k;
    st->bytes = (m * k + m * n + (is_shared ? 0 : n * k)) * elem_bytes(w);
    st->shared_bytes = is_shared ? n * k * elem_bytes(w) : 0;
}

/* By element, or by row: one read, one write. */
static const char *add_over_rows(struct pipe_work *w, struct pipe_stage *st,
                                 const char *name)
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

/* -- products -------------------------------------------------------------- */

static xl_status run_product(xl_queue *q, const xl_gemm *g,
                             const xl_sync *sync, bool prepare)
{
    return prepare ? xl_gemm_prepare(q, g) : xl_gemm_run(q, g, sync);
}

static xl_mat view(const struct pipe_work *w, const struct pipe_part *part,
                   unsigned i, size_t ld)
{
    xl_mat out = xl_mat_rows(part->mem[i], ld, w->dtype);
    if (w->tensor[i].role != PIPE_SHARED)
        out.offset = part->at * w->tensor[i].elems;
    return out;
}

/* One product an item, each with matrices of its own; `turned`: the second
 * operand is stored by rows of what is its columns. */
static xl_gemm each_item(const struct pipe_work *w,
                         const struct pipe_stage *st,
                         const struct pipe_part *part, bool turned)
{
    xl_gemm g = {.m = st->rows, .n = st->cols, .k = st->inner, .alpha = 1};
    g.a = view(w, part, st->src, st->inner);
    g.b = view(w, part, st->by, turned ? st->inner : st->cols);
    if (turned)
        g.b = xl_mat_turned(g.b);
    g.c = view(w, part, st->dst, st->cols);
    g.batch = (xl_batch){.count = part->items,
                         .a_step = w->tensor[st->src].elems,
                         .b_step = w->tensor[st->by].elems,
                         .c_step = w->tensor[st->dst].elems};
    return g;
}

static struct ref_mat rows_on_host(const struct pipe_work *w,
                                   const struct pipe_line *line, unsigned i,
                                   size_t ld)
{
    struct ref_mat out = {line->host[i], 0, ld, 1, w->dtype};
    if (w->tensor[i].role != PIPE_SHARED)
        out.offset = line->item * w->tensor[i].elems;
    return out;
}

static struct ref_gemm_scale scale_of(const struct pipe_work *w,
                                      const struct pipe_stage *st)
{
    return (struct ref_gemm_scale){st->inner, 1,        0,
                                   w->dtype,  w->dtype, XL_ACCURACY_FULL};
}

/* -- qk: S = Q K^T --------------------------------------------------------- */

enum { BATCH, SEQUENCE, HIDDEN };

static const char *qk_add(struct pipe_work *w, struct pipe_stage *st)
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

static xl_status qk_run(xl_queue *q, const struct pipe_work *w,
                        const struct pipe_stage *st,
                        const struct pipe_part *part, const xl_sync *sync,
                        bool prepare)
{
    const xl_gemm g = each_item(w, st, part, true);
    return run_product(q, &g, sync, prepare);
}

static void qk_follow(const struct pipe_work *w, const struct pipe_stage *st,
                      struct pipe_line *line, double *want, double *tol)
{
    const struct ref_mat a = rows_on_host(w, line, st->src, st->inner);
    struct ref_mat b = rows_on_host(w, line, st->by, st->inner);
    const struct ref_gemm_scale scale = scale_of(w, st);
    b.row_stride = 1;
    b.col_stride = st->inner;
    for (size_t j = 0; j < st->cols; j++) {
        double sum, mag;
        ref_gemm_dot(&a, &b, (size_t[2]){line->row, j}, st->inner, &sum, &mag);
        want[j] = ref_gemm_expected(&scale, sum, mag, 0, &tol[j]);
    }
}

/* -- linear: Y = X W ------------------------------------------------------- */

enum { M, N, K };

static const char *linear_add(struct pipe_work *w, struct pipe_stage *st)
{
    enum { ROWS = 64 }; /* the least that is worth a launch */
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

static xl_status linear_run(xl_queue *q, const struct pipe_work *w,
                            const struct pipe_stage *st,
                            const struct pipe_part *part, const xl_sync *sync,
                            bool prepare)
{
    xl_gemm g = {.m = part->items, .n = st->cols, .k = st->inner, .alpha = 1};
    g.a = view(w, part, st->src, st->inner);
    g.b = view(w, part, st->by, st->cols);
    g.c = view(w, part, st->dst, st->cols);
    return run_product(q, &g, sync, prepare);
}

static void linear_follow(const struct pipe_work *w,
                          const struct pipe_stage *st, struct pipe_line *line,
                          double *want, double *tol)
{
    const struct ref_mat a = rows_on_host(w, line, st->src, st->inner);
    const struct ref_mat b = rows_on_host(w, line, st->by, st->cols);
    const struct ref_gemm_scale scale = scale_of(w, st);
    for (size_t j = 0; j < st->cols; j++) {
        double sum, mag;
        ref_gemm_dot(&a, &b, (size_t[2]){0, j}, st->inner, &sum, &mag);
        want[j] = ref_gemm_expected(&scale, sum, mag, 0, &tol[j]);
    }
}

/* -- softmax: P = softmax(S / sqrt(hidden)) over rows ---------------------- */

static const char *softmax_add(struct pipe_work *w, struct pipe_stage *st)
{
    return add_over_rows(w, st, "P");
}

/* Attention's scale behind a product of its kind, else none. */
static double softmax_scale(const struct pipe_work *w)
{
    return w->stage[0].kind->run == qk_run
               ? 1 / sqrt((double)w->size[HIDDEN])
               : 1;
}

static xl_status softmax_run(xl_queue *q, const struct pipe_work *w,
                             const struct pipe_stage *st,
                             const struct pipe_part *part, const xl_sync *sync,
                             bool prepare)
{
    const xl_softmax s = {.rows = part->items * st->rows,
                          .cols = st->cols,
                          .scale = softmax_scale(w),
                          .src = view(w, part, st->src, st->cols),
                          .dst = view(w, part, st->dst, st->cols)};
    return prepare ? xl_softmax_prepare(q, &s) : xl_softmax_run(q, &s, sync);
}

/* What the input is off by moves every exponential, and their sum, by as much
 * each; beside it the roundings of scale and product. */
static void softmax_follow(const struct pipe_work *w,
                           const struct pipe_stage *st, struct pipe_line *line,
                           double *want, double *tol)
{
    static const double roundings = 4;
    const double scale = softmax_scale(w);
    double off = 0, largest = 0, max = 0;
    for (size_t j = 0; j < st->cols; j++) {
        line->want[j] *= scale;
        off = fmax(off, scale * line->tol[j]);
        largest = fmax(largest, fabs(line->want[j]));
    }
    off += roundings * largest * ref_roundoff(XL_F32);
    ref_softmax_row(line->want, st->cols, want, &max);
    for (size_t j = 0; j < st->cols; j++)
        tol[j] = ref_softmax_tol(want[j], max - line->want[j], expm1(2 * off),
                                 st->cols, w->dtype);
}

/* -- gelu, by element ------------------------------------------------------ */

static const char *gelu_add(struct pipe_work *w, struct pipe_stage *st)
{
    return add_over_rows(w, st, "G");
}

static xl_status expr_run(xl_queue *q, const struct pipe_work *w,
                          const struct pipe_stage *st,
                          const struct pipe_part *part, const xl_sync *sync,
                          bool prepare)
{
    xl_binding bindings[2];
    const xl_expr_args args = {.bindings = bindings, .n_bindings = 2};
    pipe_bind(w, st, part, bindings);
    if (prepare) {
        xl_expr *e = NULL;
        const xl_status status =
            xl_expr_compile(q, st->kind->expr, &args, &e);
        xl_expr_destroy(e);
        return status;
    }
    return xl_expr_run(q, part->expr, &args, sync);
}

static void gelu_follow(const struct pipe_work *w, const struct pipe_stage *st,
                        struct pipe_line *line, double *want, double *tol)
{
    /* The slope of gelu at its steepest; 10 ulp of x: see n_gelu(). */
    static const double steepest = 1.13, ulps = 20;
    for (size_t j = 0; j < st->cols; j++) {
        const double x = line->want[j];
        want[j] = x / 2 * (1 + erf(x / sqrt(2)));
        tol[j] = steepest * line->tol[j] +
                 ulps * ref_roundoff(XL_F32) * fabs(x);
        tol[j] += ref_roundoff(w->dtype) * (fabs(want[j]) + tol[j]) +
                  ref_floor(w->dtype);
    }
}

/* -- pv: O = P V ----------------------------------------------------------- */

static const char *pv_add(struct pipe_work *w, struct pipe_stage *st)
{
    if (w->stage[0].kind->run != qk_run || w->cols != w->size[SEQUENCE])
        return "multiplies what is as wide as qk leaves it";
    st->src = w->stage[w->n_stages - 1].dst;
    st->rows = w->rows;
    st->inner = w->cols;
    st->cols = w->size[HIDDEN];
    st->by = add_tensor(w, "V", PIPE_INPUT, st->inner * st->cols);
    count_product(w, st);
    add_result(w, st, "O");
    return NULL;
}

static xl_status pv_run(xl_queue *q, const struct pipe_work *w,
                        const struct pipe_stage *st,
                        const struct pipe_part *part, const xl_sync *sync,
                        bool prepare)
{
    const xl_gemm g = each_item(w, st, part, false);
    return run_product(q, &g, sync, prepare);
}

static void pv_follow(const struct pipe_work *w, const struct pipe_stage *st,
                      struct pipe_line *line, double *want, double *tol)
{
    const struct ref_mat v = rows_on_host(w, line, st->by, st->cols);
    const struct ref_gemm_scale scale = scale_of(w, st);
    for (size_t j = 0; j < st->cols; j++) {
        double sum = 0, mag = 0, off = 0;
        for (size_t p = 0; p < st->inner; p++) {
            const double x = ref_at(&v, p, j);
            sum += line->want[p] * x;
            mag += (fabs(line->want[p]) + line->tol[p]) * fabs(x);
            off += line->tol[p] * fabs(x);
        }
        want[j] = ref_gemm_expected(&scale, sum, mag, 0, &tol[j]);
        tol[j] += off * (1 + ref_roundoff(w->dtype));
    }
}

/* -- the table ------------------------------------------------------------- */

const struct pipe_kind pipe_kinds[] = {
    {"qk", "S = Q K^T", true, {"batch", "sequence", "hidden"},
     "BATCHxSEQUENCExHIDDEN", "32x512x128", NULL, qk_add, qk_run, qk_follow},
    {"linear", "Y = X W", true, {"m", "n", "k"}, "MxNxK", "4096x4096x4096",
     NULL, linear_add, linear_run, linear_follow},
    {"softmax", "P = softmax over rows", false, {NULL}, NULL, NULL, NULL,
     softmax_add, softmax_run, softmax_follow},
    {"gelu", "G = gelu by element", false, {NULL}, NULL, NULL, "y = gelu(x)",
     gelu_add, expr_run, gelu_follow},
    {"pv", "O = P V", true, {NULL}, NULL, NULL, NULL, pv_add, pv_run,
     pv_follow},
    {NULL, NULL, false, {NULL}, NULL, NULL, NULL, NULL, NULL, NULL},
};
