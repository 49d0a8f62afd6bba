/* SPDX-License-Identifier: Apache-2.0 */
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
        want[j] = ref_gemm_want(&scale, sum, mag, 0, &tol[j]);
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
        want[j] = ref_gemm_want(&scale, sum, mag, 0, &tol[j]);
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
        want[j] = ref_gemm_want(&scale, sum, mag, 0, &tol[j]);
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

/* -- reading --------------------------------------------------------------- */

static bool refuse(char *why, size_t cap, const char *what, const char *name)
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

static bool read_sizes(struct pipe_work *w, const struct pipe_kind *kind,
                       const char *sizes, char *why, size_t cap)
{
    memcpy(w->size_names, kind->size_names, sizeof w->size_names);
    return shape_sizes(sizes ? sizes : kind->sizes, kind->form, w->size,
                       PIPE_SIZES, why, cap);
}

/* A stage of the chain. */
static bool add_stage(struct pipe_work *w, const char *name, const char *sizes,
                      char *why, size_t cap)
{
    const struct pipe_kind *kind = find_kind(name);
    if (!kind)
        return refuse(why, cap, "is not known", name);
    if (w->n_stages == 0 && !kind->form)
        return refuse(why, cap, "cannot be the first", name);
    if (w->n_stages > 0 && kind->form)
        return refuse(why, cap, "can only be the first", name);
    if (w->n_stages == PIPE_STAGES)
        return refuse(why, cap, "is one too many", name);
    if (w->n_stages == 0 && !read_sizes(w, kind, sizes, why, cap))
        return false;
    struct pipe_stage *st = &w->stage[w->n_stages];
    st->kind = kind;
    const char *wrong = kind->add(w, st);
    w->n_stages++;
    return !wrong || refuse(why, cap, wrong, name);
}

/* Every tensor must have a size. An item's elements are products of two sizes,
 * which fit already (shapes.c). */
static bool fits_size(const struct pipe_work *w, char *why, size_t cap)
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

bool pipe_work_read(const char *stages, const char *sizes, xl_dtype dtype,
                    struct pipe_work *out, char *why, size_t cap)
{
    const char *at = stages ? stages : pipe_kinds[0].name;
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    if (dtype != XL_F32 && dtype != XL_F16 && dtype != XL_BF16) {
        snprintf(why, cap, "--dtype: a pipeline is of f16, bf16 or f32");
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
    return fits_size(out, why, cap);
}

/* -- sums ------------------------------------------------------------------ */

unsigned pipe_output(const struct pipe_work *w)
{
    return w->stage[w->n_stages - 1].dst;
}

bool pipe_is(const struct pipe_work *w, unsigned i, unsigned roles)
{
    return roles >> w->tensor[i].role & 1;
}

size_t pipe_units(const struct pipe_work *w)
{
    return xl__ceil_div(w->items, w->grain);
}

double pipe_flop(const struct pipe_work *w)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        sum += w->stage[i].flop * (double)w->items;
    return sum;
}

size_t pipe_tensor_bytes(const struct pipe_work *w, unsigned i, size_t items)
{
    const struct pipe_tensor *t = &w->tensor[i];
    return t->elems * (t->role == PIPE_SHARED ? 1 : items) *
           xl_dtype_bytes(w->dtype);
}

double pipe_bytes(const struct pipe_work *w, unsigned roles)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        if (pipe_is(w, i, roles))
            sum += (double)pipe_tensor_bytes(w, i, w->items);
    return sum;
}

void pipe_bind(const struct pipe_work *w, const struct pipe_stage *st,
               const struct pipe_part *part, xl_binding bindings[2])
{
    const size_t size[2] = {part->items * st->rows, st->cols};
    const unsigned tensors[2] = {st->src, st->dst};
    static const char *const names[2] = {"x", "y"};
    for (unsigned i = 0; i < 2; i++) {
        const unsigned t = tensors[i];
        bindings[i] = (xl_binding){
            .name = names[i],
            .tensor = xl_tensor_dense(part->mem[t], w->dtype, 2, size)};
        bindings[i].tensor.offset = part->at * w->tensor[t].elems;
    }
}

/* -- check -------------------------------------------------------------------- */

enum { SAMPLE_ROWS = 64 };
static const double most_work = 1 << 26; /* products, for all rows */

/* As many as are quick, at least one. */
static size_t sample_rows(const struct pipe_work *w, size_t rows)
{
    double row = 1;
    for (unsigned i = 0; i < w->n_stages; i++)
        row += w->stage[i].flop / (double)w->stage[i].rows;
    const double n = most_work / row;
    const size_t most = xl__min_size(rows, SAMPLE_ROWS);
    return n < 1 ? 1 : n > (double)most ? most : (size_t)n;
}

static size_t widest(const struct pipe_work *w)
{
    size_t cols = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        cols = xl__max_size(cols, w->stage[i].cols);
    return cols;
}

/* Two lines: what a stage reads, and what it makes. */
struct lines {
    double *want[2], *tol[2];
};

static bool lines_init(struct lines *l, size_t cols)
{
    for (unsigned i = 0; i < 2; i++) {
        l->want[i] = xl__calloc(cols, sizeof(double));
        l->tol[i] = xl__calloc(cols, sizeof(double));
    }
    return l->want[0] && l->want[1] && l->tol[0] && l->tol[1];
}

static void lines_clear(struct lines *l)
{
    for (unsigned i = 0; i < 2; i++) {
        free(l->want[i]);
        free(l->tol[i]);
    }
}

static void check_row(const struct pipe_work *w, const void *const *inputs,
                      const void *result, size_t row, const struct lines *l,
                      struct check_result *out)
{
    struct pipe_line line = {.item = row / w->rows, .row = row % w->rows,
                             .host = inputs};
    unsigned to = 0;
    for (unsigned i = 0; i < w->n_stages; i++, to = 1 - to) {
        const struct pipe_stage *st = &w->stage[i];
        line.want = l->want[1 - to];
        line.tol = l->tol[1 - to];
        st->kind->follow(w, st, &line, l->want[to], l->tol[to]);
    }
    to = 1 - to; /* the last that was made */
    for (size_t j = 0; j < w->cols; j++) {
        struct seen e = {.name = w->tensor[pipe_output(w)].name,
                         .i = row,
                         .j = j,
                         .want = l->want[to][j],
                         .tol = l->tol[to][j],
                         .dtype = w->dtype};
        e.got = ref_load(result, row * w->cols + j, w->dtype);
        check_element(out, &e);
    }
}

xl_status pipe_check(const struct pipe_work *w, const void *const *inputs,
                     const void *result, uint64_t seed,
                     struct check_result *out)
{
    xl_status status = XL_OK;
    struct lines lines = {{NULL, NULL}, {NULL, NULL}};
    struct xl__rng rng;
    const size_t rows = w->items * w->rows, n = sample_rows(w, rows);
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(lines_init(&lines, widest(w)) ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < n && out->right; s++) {
        /* One of each of n parts, so that no chunk goes unseen. */
        const size_t row =
            s + 1 == n ? rows - 1
                       : s * (rows / n) +
                             (size_t)xl__rng_below(&rng, rows / n);
        check_row(w, inputs, result, row, &lines, out);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    lines_clear(&lines);
    return status;
}
