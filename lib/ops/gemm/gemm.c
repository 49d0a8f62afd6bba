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
#include "ops/path/check.h"
#include "ops/path/operands.h"

/* -- check ---------------------------------------------------------------- */

static bool is_f8(xl_dtype dtype)
{
    return dtype == XL_F8E4M3 || dtype == XL_F8E5M2;
}

static bool is_byte(xl_dtype dtype)
{
    return dtype == XL_I8 || dtype == XL_U8;
}

static bool is_narrow_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

static bool is_factor(xl_dtype dtype)
{
    return is_narrow_float(dtype) || is_f8(dtype) || is_byte(dtype);
}

/* The type of sums of products; XL_N_DTYPES: there is none. */
static xl_dtype sum_dtype(const xl_gemm *g, bool is_scaled)
{
    const xl_dtype a = g->a.dtype, b = g->b.dtype;
    return a == XL_F64 && b == XL_F64 && !is_scaled ? XL_F64
           : is_byte(a) && is_byte(b) && !is_scaled ? XL_I32
           : is_factor(a) && is_factor(b)           ? XL_F32
                                                    : XL_N_DTYPES;
}

/* -- scales of a descriptor ----------------------------------------------- */

enum { N_SCALES = 4 }; /* scales and zeros of A, of B */

/* One of them as the caller gives it. */
struct given_scale {
    const char *name;
    const xl_mat *mat; /* NULL: none */
    size_t rows, cols; /* of `mat` */
    size_t step, inner_step, share;
};

static size_t n_groups(size_t size, size_t group)
{
    return group ? xl__ceil_div(size, group) : 1;
}

static struct given_scale given_scale(const xl_gemm *g, unsigned i)
{
    static const char *const names[N_SCALES] = {"scales of A", "zeros of A",
                                                "scales of B", "zeros of B"};
    const bool is_b = i / 2, is_zero = i % 2;
    const xl_scales *s = is_b ? &g->b_scales : &g->a_scales;
    return (struct given_scale){
        .name = names[i],
        .mat = is_zero ? s->zero : s->scale,
        .rows = n_groups(is_b ? g->k : g->m, s->group_rows),
        .cols = n_groups(is_b ? g->n : g->k, s->group_cols),
        .step = is_zero ? s->zero_step : s->scale_step,
        .inner_step = is_zero ? s->zero_inner : s->scale_inner,
        .share = is_b ? g->batch.b_share : g->batch.a_share};
}

static bool has_scales(const xl_gemm *g)
{
    return g->a_scales.scale || g->a_scales.zero || g->b_scales.scale ||
           g->b_scales.zero;
}

static xl_status check_scales(const xl_gemm *g, struct xl__error *e)
{
    for (unsigned i = 0; i < N_SCALES; i++) {
        const struct given_scale s = given_scale(g, i);
        const bool may_be_int = i % 2;
        if (s.mat && !is_narrow_float(s.mat->dtype) &&
            !(may_be_int && (is_byte(s.mat->dtype) || s.mat->dtype == XL_I32)))
            return xl__error_set(e, XL_UNSUPPORTED,
                                 "unsupported type %s for %s: must be f32, "
                                 "f16%s",
                                 xl_dtype_name(s.mat->dtype), s.name,
                                 may_be_int ? ", bf16, i8, u8 or i32"
                                            : " or bf16");
        if (s.mat &&
            xl__max_size(s.mat->row_stride, s.mat->col_stride) > UINT32_MAX)
            return xl__error_set(e, XL_UNSUPPORTED,
                                 "strides of %s must be below 2^32 elements",
                                 s.name);
    }
    return XL_OK;
}

/* -- types ---------------------------------------------------------------- */

static bool is_result(xl_dtype sum, xl_dtype c, bool has_epilogue)
{
    if (sum == XL_F64 || sum == XL_N_DTYPES)
        return sum == c && !has_epilogue; /* XL_N_DTYPES is not C's */
    return has_epilogue ? c != XL_F64 && c <= XL_BOOL
                        : is_narrow_float(c) || (c == XL_I32 && sum == XL_I32);
}

static xl_status check_types(const xl_gemm *g, struct xl__error *e)
{
    const bool has_epilogue = g->epilogue.expr != NULL;
    if (is_result(sum_dtype(g, has_scales(g)), g->c.dtype, has_epilogue))
        return XL_OK;
    return xl__error_set(
        e, XL_UNSUPPORTED,
        "unsupported types A %s, B %s, C %s%s for gemm: A and B may each be "
        "f32, f16, bf16, f8e4m3, f8e5m2, i8 or u8, into f32, f16 or bf16, and "
        "into i32 where both are i8 or u8 without scales and zeros; f64 and "
        "f64 into f64 without these and an epilogue",
        xl_dtype_name(g->a.dtype), xl_dtype_name(g->b.dtype),
        xl_dtype_name(g->c.dtype),
        has_epilogue    ? " with an epilogue"
        : has_scales(g) ? " with scales"
                        : "");
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

/* Whether A and B count: alpha, rounded to y's type, is not 0. */
static bool counts_ab(const xl_gemm *g)
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

/* `lists` numbers of each product in device memory. */
static xl_status add_numbers(xl_queue *q, const char *name, size_t offset,
                             size_t lists, size_t count, xl_dtype dtype)
{
    const xl_tensor view = {.offset = offset,
                            .n_dims = 2,
                            .size = {lists, count},
                            .stride = {count, 1},
                            .dtype = dtype};
    return xl__region_init(&q->memory.operand[q->memory.n++], name, &view,
                           &q->error);
}

static xl_status add_scale(xl_queue *q, const xl_gemm *g, unsigned i)
{
    xl_status status = XL_OK;
    const struct given_scale s = given_scale(g, i);
    const struct xl__places places =
        xl__batch_beside(&g->batch, s.step, s.inner_step, s.share);
    struct xl__region *r;
    if (!s.mat)
        return XL_OK;
    TRY(xl__operand_add_mat(q, s.name, s.mat, s.rows, s.cols, &r));
    TRY(xl__region_check_itself(r, &q->error));
    TRY(xl__places_apply(&places, r, &q->error));
fail:
    return status;
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
    const size_t count = xl__batch_count(&g->batch);
    if (g->batch.rows)
        TRY(add_numbers(q, "rows", g->batch.rows->offset, 1, count, XL_I32));
    if (g->batch.at)
        TRY(add_numbers(q, "offsets", g->batch.at->offset, 3, count, XL_F64));
    for (unsigned i = 0; i < N_SCALES; i++)
        TRY(add_scale(q, g, i));
fail:
    return status;
}

static xl_status check_memory(xl_queue *q, const xl_gemm *g, bool with_memory)
{
    xl_status status = XL_OK;
    const xl_mem mem[] = {g->a.mem, g->b.mem, g->c.mem};
    const bool reads_ab = counts_ab(g);
    unsigned at = 3;
    for (unsigned i = reads_ab ? 0 : 2; i < 3; i++)
        TRY(xl__operand_locate(&q->memory, i, mem[i], with_memory, &q->error));
    if (g->batch.rows)
        TRY(xl__operand_locate(&q->memory, at++, g->batch.rows->mem,
                               with_memory, &q->error));
    if (g->batch.at)
        TRY(xl__operand_locate(&q->memory, at++, g->batch.at->mem, with_memory,
                               &q->error));
    for (unsigned i = 0; i < N_SCALES && reads_ab; i++) {
        const xl_mat *mat = given_scale(g, i).mat;
        if (mat)
            TRY(xl__operand_locate(&q->memory, at++, mat->mem, with_memory,
                                   &q->error));
    }
    /* Where the device has the offsets, places are not compared. */
    for (unsigned i = 0; i < 3 && g->batch.at; i++)
        q->memory.operand[i].is_located = false;
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
    TRY(xl__check_accuracy("gemm", g->accuracy, e));
    TRY(xl__batch_check(&g->batch, e));
    TRY(add_operands(q, g));
    TRY(check_types(g, e));
    TRY(check_scales(g, e));
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

void xl__gemm_set_views(const xl_gemm *g, const size_t base[3], xl_gemm *c)
{
    const struct xl__places pa = xl__batch_a(&g->batch),
                            pb = xl__batch_b(&g->batch),
                            pc = xl__batch_c(&g->batch);
    set_canonical_view(&g->c, g->m, g->n, &pc, base[2], &c->c);
    if (counts_ab(g)) {
        set_canonical_view(&g->a, g->m, g->k, &pa, base[0], &c->a);
        set_canonical_view(&g->b, g->k, g->n, &pb, base[1], &c->b);
    } else {
        set_unread_view(&g->a, &c->c, &c->a);
        set_unread_view(&g->b, &c->c, &c->b);
    }
}

/* Does each operand of the epilogue have one step from product to product? */
static bool is_epilogue_even(const struct xl__epilogue_text *text,
                             const struct xl__call *call, const xl_batch *b)
{
    unsigned at = XL__GEMM_OPERAND_VALUE + XL__EPILOGUE_STRIDE;
    for (unsigned k = 0; text && xl__batch_rows(b) > 1 && k < text->n_operands;
         k++, at += XL__EPILOGUE_VALUES) {
        if (!text->operand[k].is_scalar &&
            call->value[at + XL__ALONG_OUTER].u !=
                b->inner * call->value[at + XL__ALONG_BATCH].u)
            return false;
    }
    return true;
}

/* Along one axis, if one step covers two, or along both. False: it does not.
 */
static bool bind_scale_steps(const xl_gemm *g, bool is_one_axis,
                             struct xl__gemm_canonical *to)
{
    for (unsigned i = 0; i < N_SCALES; i++) {
        struct xl__gemm_scale *s = &to->scales[i / 2].of[i % 2];
        const struct given_scale from = given_scale(g, i);
        const struct xl__places p = xl__batch_beside(
            &g->batch, from.step, from.inner_step, from.share);
        if (!s->is_given)
            continue;
        s->step = p.step;
        s->inner_step = p.inner_step;
        if (is_one_axis && !xl__places_are_even(&p, &s->step))
            return false;
        if (is_one_axis)
            s->inner_step = 0;
    }
    return true;
}

/* The scales and zeros, all but their steps. */
static void bind_scales(const xl_gemm *g, struct xl__gemm_canonical *to,
                        struct xl__call *call)
{
    for (unsigned i = 0; i < N_SCALES; i++) {
        const bool is_b = i / 2;
        const xl_scales *s = is_b ? &g->b_scales : &g->a_scales;
        const xl_mat *mat = given_scale(g, i).mat;
        struct xl__gemm_scale *of = &to->scales[is_b].of[i % 2];
        if (!mat)
            continue;
        to->scales[is_b].group_x = is_b ? s->group_cols : s->group_rows;
        to->scales[is_b].group_k = is_b ? s->group_rows : s->group_cols;
        of->is_given = true;
        of->dtype = mat->dtype;
        of->stride_x = is_b ? mat->col_stride : mat->row_stride;
        of->stride_k = is_b ? mat->row_stride : mat->col_stride;
        call->mem[XL__GEMM_SCALES + i] = mat->mem;
        call->value[XL__GEMM_OFF_SCALES + i].u = mat->offset;
    }
}

static void bind_two_axes(const xl_batch *b, xl_batch *to)
{
    const struct xl__places at_a = xl__batch_a(b), at_b = xl__batch_b(b),
                            at_c = xl__batch_c(b);
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

/* Two axes that one step of each operand covers become one axis, which all
 * variants support. */
static void bind_steps(const xl_batch *b,
                       const struct xl__epilogue_text *epilogue,
                       const struct xl__call *call, xl_batch *to)
{
    const struct xl__places at_a = xl__batch_a(b), at_b = xl__batch_b(b),
                            at_c = xl__batch_c(b);
    const bool is_even = xl__places_are_even(&at_a, &to->a_step) &&
                         xl__places_are_even(&at_b, &to->b_step) &&
                         xl__places_are_even(&at_c, &to->c_step);
    if (is_even && (b->inner == 0 || is_epilogue_even(epilogue, call, b)))
        return;
    bind_two_axes(b, to);
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
    static const cl_ulong given;
    c->batch.count = xl__batch_count(b);
    bind_rows(b->rows, &c->batch, call);
    if (b->at) {
        static const xl_offsets somewhere;
        c->batch.at = &somewhere;
        c->batch.a_at = c->batch.b_at = c->batch.c_at = &given;
        call->mem[XL__GEMM_AT] = b->at->mem;
        for (unsigned i = 0; i < 3; i++)
            call->value[XL__GEMM_OFF_AT + i].u =
                b->at->offset + i * c->batch.count;
        return;
    }
    if (c->batch.count == 1) {
        for (unsigned i = 0; i < 3 && lists[i]; i++)
            call->value[XL__GEMM_OFF_A + i].u += lists[i][0];
        return;
    }
    if (!b->a_at) {
        bind_steps(b, to->snippet, call, &c->batch);
        return;
    }
    c->batch.a_at = c->batch.b_at = c->batch.c_at = &given;
    call->list_bytes = c->batch.count * sizeof **lists;
    for (unsigned i = 0; i < 3; i++)
        call->list[i] = lists[i];
}

/* Behind bind_batch(): two axes that scales need, too. */
static void bind_batch_of_scales(const xl_gemm *g,
                                 struct xl__gemm_canonical *to)
{
    xl_batch *batch = &to->g.batch;
    if (batch->count == 1 ||
        (batch->inner == 0 && bind_scale_steps(g, true, to)))
        return;
    bind_two_axes(&g->batch, batch);
    bind_scale_steps(g, false, to);
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
                                              XL__EPILOGUE,
                                              NULL};
    if (!g->epilogue.expr)
        return XL_OK;
    TRY(xl__epilogue_text_get(q, &want, &to->snippet));
    xl__operands_bind(&want, call, XL__GEMM_OPERAND, XL__GEMM_OPERAND_VALUE);
fail:
    return status;
}

/* The accuracy that applies: full for types that have no alternative. */
static xl_accuracy accuracy_of(const xl_gemm *g)
{
    const bool is_fast = g->accuracy == XL_ACCURACY_FAST;
    if (g->a.dtype != g->b.dtype || has_scales(g))
        return XL_ACCURACY_FULL;
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
    const bool reads_ab = counts_ab(g);
    const size_t base[] = {xl__operand_base(q, 0), xl__operand_base(q, 1),
                           xl__operand_base(q, 2)};
    memset(to, 0, sizeof *to);
    c->m = g->m;
    c->n = g->n;
    c->k = reads_ab ? g->k : 0;
    xl__gemm_set_views(g, base, c);
    c->alpha = 1;
    c->accuracy = reads_ab ? accuracy_of(g) : XL_ACCURACY_FULL;
    call->mem[XL__GEMM_A] = reads_ab ? g->a.mem : g->c.mem;
    call->mem[XL__GEMM_B] = reads_ab ? g->b.mem : g->c.mem;
    call->mem[XL__GEMM_C] = g->c.mem;
    call->mem[XL__MEM_SCRATCH] = g->workspace;
    call->value[XL__GEMM_ALPHA].f = round_scalar(g, g->alpha);
    call->value[XL__GEMM_BETA].f = round_scalar(g, g->beta);
    c->beta = call->value[XL__GEMM_BETA].f != 0;
    call->value[XL__GEMM_OFF_A].u = g->a.offset;
    call->value[XL__GEMM_OFF_B].u = g->b.offset;
    call->value[XL__GEMM_OFF_C].u = g->c.offset;
    TRY(bind_epilogue(q, g, to, call));
    if (reads_ab)
        bind_scales(g, to, call);
    bind_batch(g, to, call);
    bind_batch_of_scales(g, to);
fail:
    return status;
}

/* -- shape class ---------------------------------------------------------- */

/* Types, layouts of the operands, sizes by bucket. A product that is computed
 * swapped (orientation.h) is classed as swapped, so that both ways to ask for
 * it share a tuned set. Strides and alignments are not part of the class,
 * since plans narrow their accesses themselves, nor is whether a batch is
 * given by steps or by lists. */
static bool is_scaled(const struct xl__gemm_scales *s)
{
    return s->of[0].is_given || s->of[1].is_given;
}

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
    xl__str_add(out, xl_dtype_name(s.a.dtype));
    if (s.a.dtype != s.b.dtype)
        xl__str_printf(out, "*%s", xl_dtype_name(s.b.dtype));
    xl__str_printf(out, " %s A:%c B:%c C:%c m%zu n%zu k%zu",
                   xl_dtype_name(g->c.dtype),
                   unit_letter(xl__gemm_operand_unit(&s.a), 'm'),
                   unit_letter(xl__gemm_operand_unit(&s.b), 'n'),
                   s.col_stride == 1 ? 'n' : 'x', xl__bucket(s.m),
                   xl__bucket(s.n), xl__bucket(g->k));
    xl__str_add(out, xl__accuracy_class(g->accuracy));
    for (unsigned i = 0; i < 2; i++) {
        const struct xl__gemm_scales *x = &c->scales[s.is_swapped ? 1 - i : i];
        if (is_scaled(x))
            xl__str_printf(out, " %s:%s%zux%zu", i ? "SB" : "SA",
                           x->of[1].is_given ? "z" : "", x->group_x,
                           x->group_k);
    }
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
    set_unit_strides(mat, rows, cols);
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

static void set_dense(struct xl__gemm_canonical *to)
{
    xl_gemm *g = &to->g;
    xl_batch *b = &g->batch;
    set_dense_view(&g->a, g->m, g->k);
    set_dense_view(&g->b, g->k, g->n);
    set_dense_view(&g->c, g->m, g->n);
    set_dense_steps(b, g->m * g->k, &b->a_step, &b->a_inner);
    set_dense_steps(b, g->k * g->n, &b->b_step, &b->b_inner);
    set_dense_steps(b, g->m * g->n, &b->c_step, &b->c_inner);
    for (unsigned i = 0; i < N_SCALES; i++) {
        struct xl__gemm_scale *s = &to->scales[i / 2].of[i % 2];
        s->stride_x = s->stride_x > 0;
        s->stride_k = s->stride_k > 0;
        s->step = s->step > 0;
        s->inner_step = s->inner_step > 0;
    }
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
    g->batch.count = xl__size_end(g->batch.count, XL__SIZE_GRAIN, end);
    set_dense(to);
}

/* A batch in two axes, or of lists, keeps its count, and scales their sizes:
 * groups must divide them. */
static bool halve_product(void *canonical)
{
    enum { LEAST = 32 };
    struct xl__gemm_canonical *c = canonical;
    xl_gemm *g = &c->g;
    const bool is_counted = g->batch.inner <= 1 && !g->batch.a_at;
    size_t *const sizes[] = {&g->m, &g->n, &g->k, &g->batch.count};
    size_t *most = sizes[0];
    for (unsigned i = 1; i < (is_counted ? 4 : 3); i++)
        most = *sizes[i] > *most ? sizes[i] : most;
    if (*most <= LEAST || is_scaled(&c->scales[0]) ||
        is_scaled(&c->scales[1]) || g->batch.rows)
        return false;
    *most = xl__size_half(*most);
    set_dense(c);
    return true;
}

/* Without a product the reference is the variant: its loop over k = 0 reads
 * nothing. */
static const char *forced_variant(const void *desc)
{
    const xl_gemm *g = desc;
    return counts_ab(g) ? g->variant : xl__gemm_ref.name;
}

double xl__gemm_flop(const xl_gemm *g)
{
    return 2.0 * (double)g->m * (double)g->n * (double)g->k *
           (double)g->batch.count;
}

static double scale_bytes(const struct xl__gemm_canonical *c)
{
    double sum = 0;
    for (unsigned i = 0; i < N_SCALES; i++) {
        const struct xl__gemm_scale *s = &c->scales[i / 2].of[i % 2];
        const struct xl__places p = xl__gemm_scale_places(c, i / 2, i % 2);
        size_t groups[2];
        xl__gemm_groups(c, i / 2, groups);
        if (s->is_given)
            sum += (double)xl__places_matrices(&p) * (double)groups[0] *
                   (double)groups[1] * (double)xl_dtype_bytes(s->dtype);
    }
    return sum;
}

double xl__gemm_bytes(const xl_gemm *g)
{
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    const double count = (double)g->batch.count;
    const double touched = g->beta != 0 ? 2 : 1;
    const struct xl__places a = xl__batch_a(&g->batch),
                            b = xl__batch_b(&g->batch);
    const struct xl__gemm_canonical *c = (const void *)g;
    double of_a = (double)xl__places_matrices(&a) * m * k *
                  (double)xl_dtype_bytes(g->a.dtype);
    double of_b = (double)xl__places_matrices(&b) * k * n *
                  (double)xl_dtype_bytes(g->b.dtype);
    if (c->windows)
        *(c->windows_of_b ? &of_b : &of_a) = c->windows_bytes;
    return of_a + of_b +
           count * touched * m * n * (double)xl_dtype_bytes(g->c.dtype) +
           scale_bytes(c);
}

static void keep_scales(struct xl__kept *k, xl_scales *s)
{
    const xl_mat **const mats[] = {&s->scale, &s->zero};
    for (unsigned i = 0; i < 2; i++) {
        if (!*mats[i])
            continue;
        xl_mat own = **mats[i];
        xl__keep_mem(k, &own.mem);
        *mats[i] = xl__keep(k, &own, sizeof own);
    }
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_gemm *own = desc;
    const size_t list_bytes = own->batch.count * sizeof(cl_ulong);
    own->batch.a_at = xl__keep(k, own->batch.a_at, list_bytes);
    own->batch.b_at = xl__keep(k, own->batch.b_at, list_bytes);
    own->batch.c_at = xl__keep(k, own->batch.c_at, list_bytes);
    if (own->batch.rows) {
        xl_sizes rows = *own->batch.rows;
        xl__keep_mem(k, &rows.mem);
        own->batch.rows = xl__keep(k, &rows, sizeof rows);
    }
    if (own->batch.at) {
        xl_offsets at = *own->batch.at;
        xl__keep_mem(k, &at.mem);
        own->batch.at = xl__keep(k, &at, sizeof at);
    }
    keep_scales(k, &own->a_scales);
    keep_scales(k, &own->b_scales);
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_epilogue(k, &own->epilogue);
    xl__keep_mem(k, &own->a.mem);
    xl__keep_mem(k, &own->b.mem);
    xl__keep_mem(k, &own->c.mem);
    xl__keep_mem(k, &own->workspace);
}

const struct xl__op xl__op_gemm = {
    .id = XL__OP_GEMM,
    .name = "gemm",
    .descriptor = XL__DESCRIPTOR(xl_gemm, XL_GEMM_INIT),
    .canonical_bytes = sizeof(struct xl__gemm_canonical),
    .check = check_gemm,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .halve = halve_product,
    .shrink = xl__gemm_shrink,
    .case_init = xl__gemm_case_init,
    .range_at = offsetof(xl_gemm, m),
    .keep = keep_memory,
};

/* -- for the variants ----------------------------------------------------- */

xl_dtype xl__gemm_y_dtype(const void *canonical)
{
    const struct xl__gemm_canonical *c = canonical;
    return y_dtype(c->g.c.dtype, c->snippet);
}

xl_dtype xl__gemm_in(const xl_gemm *g)
{
    const struct xl__gemm_canonical *c = (const void *)g;
    const bool has = is_scaled(&c->scales[0]) || is_scaled(&c->scales[1]);
    if (has)
        return XL_F32;
    return sum_dtype(g, false) == XL_I32 ? XL_I8
           : g->a.dtype == g->b.dtype    ? g->a.dtype
                                         : XL_F32;
}

const char *xl__gemm_scales_refused(const void *canonical)
{
    const struct xl__gemm_canonical *c = canonical;
    return is_scaled(&c->scales[0]) || is_scaled(&c->scales[1])
               ? "scales and zeros are not supported; gemm_tiled supports them"
               : NULL;
}

void xl__gemm_groups(const struct xl__gemm_canonical *c, unsigned operand,
                     size_t groups[2])
{
    const struct xl__gemm_scales *s = &c->scales[operand];
    groups[0] = n_groups(operand ? c->g.n : c->g.m, s->group_x);
    groups[1] = n_groups(c->g.k, s->group_k);
}

struct xl__places xl__gemm_scale_places(const struct xl__gemm_canonical *c,
                                        unsigned operand, unsigned which)
{
    const struct xl__gemm_scale *s = &c->scales[operand].of[which];
    const xl_batch *b = &c->g.batch;
    return xl__batch_beside(b, s->step, s->inner_step,
                            operand ? b->b_share : b->a_share);
}

const char *xl__gemm_types_refused(const void *canonical)
{
    const xl_gemm *g = canonical;
    if (xl__gemm_scales_refused(canonical))
        return xl__gemm_scales_refused(canonical);
    if (g->a.dtype != g->b.dtype)
        return "A and B of different types are not supported; gemm_tiled "
               "supports them";
    return g->a.dtype == XL_U8 ? "u8 is not supported; gemm_tiled supports it"
                               : NULL;
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
    return xl__op_prepare_range(q, &xl__op_gemm, g, m_last);
}

xl_status xl_gemm_prepare_async(xl_queue *q, const xl_gemm *g, size_t m_last,
                                xl_prepared done, void *arg)
{
    return xl__op_prepare_async(q, &xl__op_gemm, g, m_last, done, arg);
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
