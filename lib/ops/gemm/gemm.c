/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's entry points: check a descriptor, split it into the canonical
 * descriptor, on which a plan depends, and the values that change from call to
 * call, and name the class of shapes that share a tuned set. */
#include "ops/gemm/gemm.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/gemm/orientation.h"
#include "ops/gemm/selfcheck.h"
#include "ops/path/batch.h"
#include "ops/path/size_buckets.h"
#include "ops/path/operands.h"
#include "runtime/background/background.h"

/* -- check ---------------------------------------------------------------- */

/* The types that A and B may have, that of their sums, and those that C may
 * have without an epilogue. */
static const struct type_rule {
    xl_dtype in, sum;
    xl_dtype out[5]; /* ends with XL_N_DTYPES */
} type_rules[] = {
    {XL_F32, XL_F32, {XL_F32, XL_F16, XL_BF16, XL_N_DTYPES}},
    {XL_F16, XL_F32, {XL_F32, XL_F16, XL_BF16, XL_N_DTYPES}},
    {XL_BF16, XL_F32, {XL_F32, XL_F16, XL_BF16, XL_N_DTYPES}},
    {XL_F64, XL_F64, {XL_F64, XL_N_DTYPES}},
    {XL_I8, XL_I32, {XL_I32, XL_F32, XL_F16, XL_BF16, XL_N_DTYPES}},
    {XL_F8E4M3, XL_F32, {XL_F32, XL_F16, XL_BF16, XL_N_DTYPES}},
    {XL_F8E5M2, XL_F32, {XL_F32, XL_F16, XL_BF16, XL_N_DTYPES}},
};

static const struct type_rule *find_type_rule(xl_dtype in)
{
    for (size_t i = 0; i < sizeof type_rules / sizeof *type_rules; i++) {
        if (type_rules[i].in == in)
            return &type_rules[i];
    }
    return NULL;
}

static bool has_result_type(const struct type_rule *t, xl_dtype dtype)
{
    for (unsigned i = 0; t->out[i] != XL_N_DTYPES; i++) {
        if (t->out[i] == dtype)
            return true;
    }
    return false;
}

static bool is_f8(xl_dtype dtype)
{
    return dtype == XL_F8E4M3 || dtype == XL_F8E5M2;
}

static xl_status check_types(const xl_gemm *g, struct xl__error *e)
{
    const struct type_rule *t = find_type_rule(g->a.dtype);
    const bool has_epilogue = g->epilogue.expr != NULL;
    if (t && g->b.dtype == g->a.dtype &&
        (has_epilogue
             ? t->sum != XL_F64 && g->c.dtype != XL_F64 && !is_f8(g->c.dtype)
             : has_result_type(t, g->c.dtype)))
        return XL_OK;
    return xl__error_set(
        e, XL_UNSUPPORTED,
        "unsupported types A %s, B %s, C %s%s for gemm: A and B must be "
        "alike: f32, f16, bf16, "
        "f8e4m3 or f8e5m2 into f32, f16 or bf16, f64 into f64 without an "
        "epilogue, i8 into i32, f32, f16 or bf16",
        xl_dtype_name(g->a.dtype), xl_dtype_name(g->b.dtype),
        xl_dtype_name(g->c.dtype), has_epilogue ? " with an epilogue" : "");
}

static xl_status check_sizes(const xl_gemm *g, struct xl__error *e)
{
    if (g->m > 0 && g->n > 0 && g->k > 0)
        return XL_OK;
    return xl__error_set(
        e, XL_BAD_SHAPE,
        "invalid sizes m = %zu, n = %zu, k = %zu for gemm: each must be at "
        "least 1",
        g->m, g->n, g->k);
}

static xl_dtype y_dtype(xl_dtype c, bool has_epilogue)
{
    return c == XL_F64                    ? XL_F64
           : c == XL_I32 && !has_epilogue ? XL_I32
                                          : XL_F32;
}

/* A scalar as kernels get it. */
static double round_scalar(const xl_gemm *g, double value)
{
    return xl__scalar_round(value, y_dtype(g->c.dtype, g->epilogue.expr));
}

bool xl__gemm_reads_ab(const xl_gemm *g)
{
    return round_scalar(g, g->alpha) != 0;
}

static xl_status check_scalars(const xl_gemm *g, struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_dtype type = y_dtype(g->c.dtype, g->epilogue.expr);
    TRY(xl__check_scalar("alpha", g->alpha, type, e));
    TRY(xl__check_scalar("beta", g->beta, type, e));
fail:
    return status;
}

/* The rows of each product. */
static xl_status add_rows(xl_queue *q, const xl_gemm *g)
{
    const xl_tensor view = {.offset = g->batch.rows->offset,
                            .n_dims = 1,
                            .size = {xl__batch_count(&g->batch)},
                            .stride = {1},
                            .dtype = XL_I32};
    return xl__region_init(&q->memory.operand[q->memory.n++], "rows", &view,
                           &q->error);
}

/* A, B and C, over the whole batch, and what it has in device memory. The
 * lines of A and B must not overlap either, except that a stride of 0 repeats
 * an element. */
static xl_status add_operands(xl_queue *q, const xl_gemm *g)
{
    const struct {
        const char *name;
        const xl_mat *mat;
        size_t rows, cols;
        struct xl__places places;
    } all[] = {{"A", &g->a, g->m, g->k, xl__batch_a(&g->batch)},
               {"B", &g->b, g->k, g->n, xl__batch_b(&g->batch)},
               {"C", &g->c, g->m, g->n, xl__batch_c(&g->batch)}};
    xl_status status = XL_OK;
    q->memory.n = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct xl__region *r;
        TRY(xl__operand_add_mat(q, all[i].name, all[i].mat, all[i].rows,
                                all[i].cols, &r));
        r->is_written = all[i].mat == &g->c;
        TRY(xl__region_check_itself(r, &q->error));
        TRY(xl__places_apply(&all[i].places, r, &q->error));
    }
    if (g->batch.rows)
        TRY(add_rows(q, g));
fail:
    return status;
}

static xl_status check_memory(xl_queue *q, const xl_gemm *g, bool with_memory)
{
    xl_status status = XL_OK;
    const xl_mem mem[] = {g->a.mem, g->b.mem, g->c.mem};
    for (unsigned i = xl__gemm_reads_ab(g) ? 0 : 2; i < 3; i++)
        TRY(xl__operand_locate(&q->memory, i, mem[i], with_memory, &q->error));
    if (g->batch.rows)
        TRY(xl__operand_locate(&q->memory, 3, g->batch.rows->mem, with_memory,
                               &q->error));
    TRY(xl__operands_check_memory(q, &g->epilogue, with_memory));
fail:
    return status;
}

static xl_status check_gemm(xl_queue *q, const void *desc, bool with_memory)
{
    xl_status status = XL_OK;
    const xl_gemm *g = desc;
    struct xl__error *e = &q->error;
    TRY(check_sizes(g, e));
    if ((unsigned)g->accuracy >= XL_N_ACCURACIES)
        TRY(xl__error_set(
            e, XL_BAD_ARGUMENT,
            "invalid value %d for gemm's accuracy: must be an xl_accuracy",
            (int)g->accuracy));
    TRY(xl__batch_check(&g->batch, e));
    TRY(add_operands(q, g));
    TRY(check_types(g, e));
    TRY(check_scalars(g, e));
    TRY(xl__operands_check(&g->epilogue, XL__EPILOGUE, e));
    TRY(check_memory(q, g, with_memory));
fail:
    return status;
}

/* -- bind ----------------------------------------------------------------- */

/* A stride along a dimension of size 1 is never used. It becomes such that the
 * other dimension counts as contiguous, and aligned. */
static void set_unit_strides(xl_mat *mat, size_t rows, size_t cols)
{
    enum { ALIGNED = 64 };
    if (rows == 1)
        mat->row_stride =
            mat->col_stride == 1 ? xl__round_up(cols, ALIGNED) : 1;
    else if (cols == 1)
        mat->col_stride =
            mat->row_stride == 1 ? xl__round_up(rows, ALIGNED) : 1;
}

/* The canonical form of one matrix. Written by field, so that padding stays 0
 * and descriptors can be compared by their bytes. */
static void set_canonical_view(const xl_mat *from, size_t rows, size_t cols,
                               const struct xl__places *places, size_t base,
                               xl_mat *to)
{
    to->row_stride = from->row_stride;
    to->col_stride = from->col_stride;
    to->dtype = from->dtype;
    to->offset = from->offset;
    to->mem.svm = from->mem.svm ? (void *)1 : NULL;
    set_unit_strides(to, rows, cols);
    to->offset = xl__places_align(places, to, base);
}

/* A matrix that is not read, of which only the type counts. Its argument is
 * C's memory. */
static void set_unread_view(const xl_mat *from, const xl_mat *canonical_c,
                            xl_mat *to)
{
    to->dtype = from->dtype;
    to->col_stride = 1;
    to->mem.svm = canonical_c->mem.svm;
}

static void set_canonical_views(const xl_queue *q, const xl_gemm *g,
                                xl_gemm *c)
{
    const struct xl__places pa = xl__batch_a(&g->batch),
                            pb = xl__batch_b(&g->batch),
                            pc = xl__batch_c(&g->batch);
    set_canonical_view(&g->c, g->m, g->n, &pc, xl__operand_base(q, 2), &c->c);
    if (xl__gemm_reads_ab(g)) {
        set_canonical_view(&g->a, g->m, g->k, &pa, xl__operand_base(q, 0),
                           &c->a);
        set_canonical_view(&g->b, g->k, g->n, &pb, xl__operand_base(q, 1),
                           &c->b);
    } else {
        set_unread_view(&g->a, &c->c, &c->a);
        set_unread_view(&g->b, &c->c, &c->b);
    }
}

/* Does each operand of the epilogue have one step from product to product? */
static bool is_epilogue_even(const struct xl__epilogue_text *text,
                             const xl_batch *b)
{
    for (unsigned k = 0; text && xl__batch_rows(b) > 1 && k < text->n_operands;
         k++) {
        const size_t *stride = text->operand[k].stride;
        if (stride[XL__ALONG_OUTER] != b->inner * stride[XL__ALONG_BATCH])
            return false;
    }
    return true;
}

/* Two axes that one step of each operand covers become one axis, which all
 * variants support. */
static void bind_steps(const xl_batch *b,
                       const struct xl__epilogue_text *epilogue, xl_batch *to)
{
    const struct xl__places at_a = xl__batch_a(b), at_b = xl__batch_b(b),
                            at_c = xl__batch_c(b);
    const bool is_even = xl__places_are_even(&at_a, &to->a_step) &&
                         xl__places_are_even(&at_b, &to->b_step) &&
                         xl__places_are_even(&at_c, &to->c_step);
    if (is_even && (b->inner == 0 || is_epilogue_even(epilogue, b)))
        return;
    to->a_step = at_a.step;
    to->b_step = at_b.step;
    to->c_step = at_c.step;
    to->inner = at_a.inner;
    to->a_inner = at_a.inner_step;
    to->b_inner = at_b.inner_step;
    to->c_inner = at_c.inner_step;
    to->a_share = at_a.share;
    to->b_share = at_b.share;
}

static void bind_rows(const xl_sizes *rows, xl_batch *to,
                      struct xl__call *call)
{
    static const xl_sizes given;
    if (!rows)
        return;
    to->rows = &given;
    call->mem[XL__GEMM_ROWS] = rows->mem;
    call->value[XL__GEMM_OFF_ROWS].u = rows->offset;
}

/* A single product has neither steps nor lists: its listed offsets are added
 * to those of the views. */
static void bind_batch(const xl_gemm *g, struct xl__gemm_canonical *to,
                       struct xl__call *call)
{
    const xl_batch *b = &g->batch;
    xl_gemm *c = &to->g;
    const cl_ulong *lists[] = {b->a_at, b->b_at, b->c_at};
    c->batch.count = xl__batch_count(b);
    bind_rows(b->rows, &c->batch, call);
    if (c->batch.count == 1) {
        for (unsigned i = 0; i < 3 && lists[i]; i++)
            call->value[XL__GEMM_OFF_A + i].u += lists[i][0];
        return;
    }
    if (!b->a_at) {
        bind_steps(b, to->snippet, &c->batch);
        return;
    }
    static const cl_ulong given;
    c->batch.a_at = c->batch.b_at = c->batch.c_at = &given;
    call->list_bytes = c->batch.count * sizeof **lists;
    for (unsigned i = 0; i < 3; i++)
        call->list[i] = lists[i];
}

static xl_status bind_epilogue(xl_queue *q, const xl_gemm *g,
                               struct xl__gemm_canonical *to,
                               struct xl__call *call)
{
    xl_status status = XL_OK;
    const struct xl__epilogue_request want = {&g->epilogue,
                                              {xl__batch_rows(&g->batch),
                                               xl__batch_row_count(&g->batch),
                                               g->m, g->n},
                                              g->c.dtype,
                                              XL__EPILOGUE};
    if (!g->epilogue.expr)
        return XL_OK;
    TRY(xl__epilogue_text_get(q, &want, &to->snippet));
    xl__operands_bind(&g->epilogue, call, XL__GEMM_OPERAND,
                      XL__GEMM_OPERAND_VALUE);
fail:
    return status;
}

/* The accuracy that applies: full for types that have no alternative. */
static xl_accuracy accuracy_of(const xl_gemm *g)
{
    const bool is_fast = g->accuracy == XL_ACCURACY_FAST;
    return g->a.dtype == XL_F32 || (is_f8(g->a.dtype) && is_fast)
               ? g->accuracy
               : XL_ACCURACY_FULL;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    xl_status status = XL_OK;
    const xl_gemm *g = desc;
    struct xl__gemm_canonical *to = canonical;
    xl_gemm *c = &to->g;
    const bool reads_ab = xl__gemm_reads_ab(g);
    memset(to, 0, sizeof *to);
    c->m = g->m;
    c->n = g->n;
    c->k = reads_ab ? g->k : 0;
    set_canonical_views(q, g, c);
    c->alpha = 1;
    c->accuracy = reads_ab ? accuracy_of(g) : XL_ACCURACY_FULL;
    call->mem[XL__GEMM_A] = reads_ab ? g->a.mem : g->c.mem;
    call->mem[XL__GEMM_B] = reads_ab ? g->b.mem : g->c.mem;
    call->mem[XL__GEMM_C] = g->c.mem;
    call->value[XL__GEMM_ALPHA].f = round_scalar(g, g->alpha);
    call->value[XL__GEMM_BETA].f = round_scalar(g, g->beta);
    c->beta = call->value[XL__GEMM_BETA].f != 0;
    call->value[XL__GEMM_OFF_A].u = g->a.offset;
    call->value[XL__GEMM_OFF_B].u = g->b.offset;
    call->value[XL__GEMM_OFF_C].u = g->c.offset;
    TRY(bind_epilogue(q, g, to, call));
    bind_batch(g, to, call);
fail:
    return status;
}

/* -- shape class ---------------------------------------------------------- */

/* Types, layouts of the operands, sizes by bucket. A product that is computed
 * swapped (orientation.h) is classed as swapped, so that both ways to ask for
 * it share a tuned set. Strides and alignments are not part of the class,
 * since plans narrow their accesses themselves, nor is whether a batch is
 * given by steps or by lists. */
static char unit_letter(enum xl__gemm_unit unit, char across)
{
    return unit == XL__UNIT_ALONG_K  ? 'k'
           : unit == XL__UNIT_ACROSS ? across
                                     : 'x';
}

static void describe_class(const void *canonical, struct xl__str *out)
{
    const struct xl__gemm_canonical *c = canonical;
    const xl_gemm *g = &c->g;
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    xl__str_printf(out, "%s %s A:%c B:%c C:%c m%zu n%zu k%zu",
                   xl_dtype_name(g->a.dtype), xl_dtype_name(g->c.dtype),
                   unit_letter(xl__gemm_operand_unit(&s.a), 'm'),
                   unit_letter(xl__gemm_operand_unit(&s.b), 'n'),
                   s.col_stride == 1 ? 'n' : 'x', xl__bucket(s.m),
                   xl__bucket(s.n), xl__bucket(g->k));
    if (g->accuracy != XL_ACCURACY_FULL)
        xl__str_add(out,
                    g->accuracy == XL_ACCURACY_SPLIT ? " split" : " fast");
    if (g->batch.count > 1)
        xl__str_printf(out, " batch%zu", xl__bucket_coarse(g->batch.count));
    if (g->batch.rows)
        xl__str_add(out, " rows");
    if (c->snippet)
        xl__str_add(out, " epilogue");
}

/* Strides beyond 1 are arguments of kernels and no variant depends on their
 * value, so the representative's matrices are dense. */
static void set_dense_view(xl_mat *mat, size_t rows, size_t cols)
{
    enum { SPREAD = 2 };
    if (mat->row_stride > 1 && mat->col_stride > 1) {
        mat->col_stride = SPREAD;
        mat->row_stride = SPREAD * cols;
    } else if (mat->row_stride > 1) {
        mat->row_stride = xl__max_size(cols, SPREAD);
    } else if (mat->col_stride > 1) {
        mat->col_stride = xl__max_size(rows, SPREAD);
    }
}

/* Likewise the steps of a batch, from matrix to matrix of so many elements. */
static void set_dense_steps(const xl_batch *b, size_t elems, size_t *step,
                            size_t *inner)
{
    *inner = *inner > 0 ? elems : 0;
    *step = *step > 0 ? elems * xl__max_size(b->inner, 1) : 0;
}

static size_t grain_of(bool is_contiguous)
{
    return is_contiguous ? 1 : XL__SIZE_GRAIN;
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__gemm_canonical *to = representative;
    xl_gemm *g = &to->g;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    const bool along_m = g->a.row_stride == 1 || g->c.row_stride == 1,
               along_n = g->b.col_stride == 1 || g->c.col_stride == 1,
               along_k = g->a.col_stride == 1 || g->b.row_stride == 1;
    g->m = xl__size_end(g->m, grain_of(along_m), end);
    g->n = xl__size_end(g->n, grain_of(along_n), end);
    g->k = xl__size_end(g->k, grain_of(along_k), end);
    set_dense_view(&g->a, g->m, g->k);
    set_dense_view(&g->b, g->k, g->n);
    set_dense_view(&g->c, g->m, g->n);
    xl_batch *b = &g->batch;
    b->count = xl__size_end(b->count, XL__SIZE_GRAIN, end);
    set_dense_steps(b, g->m * g->k, &b->a_step, &b->a_inner);
    set_dense_steps(b, g->k * g->n, &b->b_step, &b->b_inner);
    set_dense_steps(b, g->m * g->n, &b->c_step, &b->c_inner);
}

/* Without a product the reference is the variant: its loop over k = 0 reads
 * nothing. */
static const char *forced_variant(const void *desc)
{
    const xl_gemm *g = desc;
    return xl__gemm_reads_ab(g) ? g->variant : xl__gemm_ref.name;
}

static xl_mem call_workspace(const void *desc)
{
    return ((const xl_gemm *)desc)->workspace;
}

double xl__gemm_flop(const xl_gemm *g)
{
    return 2.0 * (double)g->m * (double)g->n * (double)g->k *
           (double)g->batch.count;
}

double xl__gemm_bytes(const xl_gemm *g)
{
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    const double count = (double)g->batch.count;
    const double touched = g->beta != 0 ? 2 : 1;
    const struct xl__places a = xl__batch_a(&g->batch),
                            b = xl__batch_b(&g->batch);
    return (double)xl__places_matrices(&a) * m * k *
               (double)xl_dtype_bytes(g->a.dtype) +
           (double)xl__places_matrices(&b) * k * n *
               (double)xl_dtype_bytes(g->b.dtype) +
           count * touched * m * n * (double)xl_dtype_bytes(g->c.dtype);
}

const struct xl__op xl__op_gemm = {
    .id = XL__OP_GEMM,
    .name = "gemm",
    .descriptor = XL__DESCRIPTOR(xl_gemm, XL_GEMM_INIT),
    .canonical_bytes = sizeof(struct xl__gemm_canonical),
    .check = check_gemm,
    .bind = bind_call,
    .forced = forced_variant,
    .workspace = call_workspace,
    .represent = represent_class,
    .shape_class = describe_class,
    .shrink = xl__gemm_shrink,
    .case_init = xl__gemm_case_init,
};

/* -- for the variants ----------------------------------------------------- */

xl_dtype xl__gemm_y_dtype(const void *canonical)
{
    const struct xl__gemm_canonical *c = canonical;
    return y_dtype(c->g.c.dtype, c->snippet);
}

enum xl__gemm_unit xl__gemm_unit_a(const xl_gemm *g)
{
    return g->a.col_stride == 1   ? XL__UNIT_ALONG_K
           : g->a.row_stride == 1 ? XL__UNIT_ACROSS
                                  : XL__UNIT_NONE;
}

enum xl__gemm_unit xl__gemm_unit_b(const xl_gemm *g)
{
    return g->b.col_stride == 1   ? XL__UNIT_ACROSS
           : g->b.row_stride == 1 ? XL__UNIT_ALONG_K
                                  : XL__UNIT_NONE;
}

/* -- the public functions ------------------------------------------------- */

xl_status xl_gemm_run(xl_queue *q, const xl_gemm *g, const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_gemm, g, sync);
}

xl_status xl_gemm_prepare(xl_queue *q, const xl_gemm *g)
{
    return xl__op_prepare(q, &xl__op_gemm, g);
}

xl_status xl_gemm_prepare_range(xl_queue *q, const xl_gemm *g, size_t m_last)
{
    return xl__op_prepare_range(q, &xl__op_gemm, g, offsetof(xl_gemm, m),
                                m_last);
}

struct gemm_range {
    xl_gemm least;
    size_t m_last;
};

static xl_status prepare_kept(xl_queue *q, void *what)
{
    const struct gemm_range *range = what;
    return xl_gemm_prepare_range(q, &range->least, range->m_last);
}

xl_status xl_gemm_prepare_async(xl_queue *q, const xl_gemm *g, size_t m_last,
                                xl_prepared done, void *arg)
{
    if (!q || !g)
        return XL_BAD_ARGUMENT;
    xl_gemm full;
    xl__error_reset(&q->error);
    g = xl__sized_read(&xl__op_gemm.descriptor, g, &full, &q->error);
    if (!g)
        return q->error.status;
    struct xl__background_call c = {prepare_kept, .done = done, .arg = arg};
    struct gemm_range range = {*g, m_last > 0 ? m_last : g->m};
    xl_gemm *own = &range.least;
    const size_t list_bytes = own->batch.count * sizeof(cl_ulong);
    own->batch.a_at = xl__keep(&c.kept, own->batch.a_at, list_bytes);
    own->batch.b_at = xl__keep(&c.kept, own->batch.b_at, list_bytes);
    own->batch.c_at = xl__keep(&c.kept, own->batch.c_at, list_bytes);
    xl_sizes rows = {0};
    if (own->batch.rows) {
        rows = *own->batch.rows;
        xl__keep_mem(&c.kept, &rows.mem);
        own->batch.rows = xl__keep(&c.kept, &rows, sizeof rows);
    }
    own->variant = xl__keep_text(&c.kept, own->variant);
    xl__keep_epilogue(&c.kept, &own->epilogue);
    xl__keep_mem(&c.kept, &own->a.mem);
    xl__keep_mem(&c.kept, &own->b.mem);
    xl__keep_mem(&c.kept, &own->c.mem);
    xl__keep_mem(&c.kept, &own->workspace);
    c.what = xl__keep(&c.kept, &range, sizeof range);
    return xl__background_start(q, &c);
}

xl_status xl_gemm_workspace(xl_queue *q, const xl_gemm *g, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_gemm, g, bytes);
}

xl_status xl_gemm_explain(xl_queue *q, const xl_gemm *g, xl_choice *out,
                          unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_gemm, g, out, cap, n);
}
