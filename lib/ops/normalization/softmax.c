/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax as an op: the check of its descriptor, the canonical descriptor and
 * the call that it splits into, its shape class, the arguments that its
 * kernels share, and the public functions. */
#include "ops/normalization/softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/path/check.h"
#include "ops/path/operands.h"
#include "ops/path/size_buckets.h"
#include "runtime/background/background.h"

/* The text of a canonical descriptor's prologue. */
static const struct xl__epilogue_text *snippet_of(const xl_softmax *canonical)
{
    return ((const struct xl__softmax_canonical *)canonical)->snippet;
}

/* -- shape class -------------------------------------------------------------
 */

void xl__softmax_shape_class(const void *canonical, struct xl__str *out)
{
    const xl_softmax *s = canonical;
    xl__str_printf(out, "%s rows%zu cols%zu", xl_dtype_name(s->src.dtype),
                   xl__bucket(s->rows), xl__bucket(s->cols));
    if (s->src.col_stride != 1 || s->dst.col_stride != 1)
        xl__str_add(out, " strided");
    if (s->dst.mem.svm)
        xl__str_add(out, " in-place");
    if (xl__softmax_has_mask(s))
        xl__str_printf(out, " mask:%s", xl_dtype_name(s->mask.dtype));
    if (snippet_of(s))
        xl__str_add(out, " prologue");
}

/* -- descriptor --------------------------------------------------------------
 */

static bool is_memory_set(xl_mem mem)
{
    return mem.buf || mem.svm;
}

/* In _prepare, where memory may be missing, the strides state a mask. */
static bool has_mask(const xl_softmax *s)
{
    return is_memory_set(s->mask.mem) || s->mask.row_stride ||
           s->mask.col_stride;
}

/* -- check --------------------------------------------------------------- */

static xl_status check_types(const xl_softmax *s, struct xl__error *e)
{
    const xl_dtype t = s->src.dtype;
    if (has_mask(s) && s->mask.dtype > XL_F64 && s->mask.dtype < XL_N_DTYPES)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "softmax with a mask of %s; it must be of f32, "
                             "f16, bf16 or f64",
                             xl_dtype_name(s->mask.dtype));
    if ((t == XL_F32 || t == XL_F16 || t == XL_BF16) && s->dst.dtype == t)
        return XL_OK;
    return xl__error_set(e, XL_UNSUPPORTED,
                         "softmax from %s to %s; src and dst must be alike, "
                         "of f32, f16 or bf16",
                         xl_dtype_name(t), xl_dtype_name(s->dst.dtype));
}

/* The kernels multiply by a float: the scale as f32 must be neither 0 nor
 * infinite. */
static xl_status check_scale(const xl_softmax *s, struct xl__error *e)
{
    const double size = fabs(s->scale);
    if (s->scale == 0 || (size >= (double)FLT_MIN && size <= (double)FLT_MAX))
        return XL_OK;
    return xl__error_set(e, XL_BAD_SCALAR,
                         "scale is %g; it must be a finite number that f32 "
                         "holds with full precision, or 0 for 1",
                         s->scale);
}

static bool same_view(const xl_mat *a, const xl_mat *b)
{
    return a->mem.buf == b->mem.buf && a->mem.svm == b->mem.svm &&
           a->offset == b->offset && a->row_stride == b->row_stride &&
           a->col_stride == b->col_stride && a->dtype == b->dtype;
}

static xl_status check_memory(xl_queue *q, const xl_softmax *s,
                              bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__memory *m = &q->memory;
    const xl_mem mem[] = {s->src.mem, s->dst.mem, s->mask.mem};
    for (unsigned i = 0; i < m->n; i++)
        TRY(xl__operand_locate(m, i, mem[i], with_memory, &q->error));
    TRY(xl__operands_check_memory(q, &s->prologue, with_memory));
fail:
    return status;
}

static xl_status check_descriptor(xl_queue *q, const void *desc,
                                  bool with_memory)
{
    xl_status status = XL_OK;
    const xl_softmax *s = desc;
    struct xl__error *e = &q->error;
    struct xl__region *r;
    q->memory.n = 0;
    TRY(xl__operand_add_mat(q, "src", &s->src, s->rows, s->cols, &r));
    r->may_be_result = true;
    TRY(xl__operand_add_mat(q, "dst", &s->dst, s->rows, s->cols, &r));
    r->is_written = true;
    TRY(xl__region_check_itself(r, e));
    TRY(check_types(s, e));
    if (has_mask(s))
        TRY(xl__operand_add_mat(q, "mask", &s->mask, s->rows, s->cols, &r));
    TRY(check_scale(s, e));
    TRY(xl__operands_check(&s->prologue, XL__PROLOGUE, e));
    TRY(check_memory(q, s, with_memory));
fail:
    return status;
}

/* -- bind ---------------------------------------------------------------- */

/* By field, so that padding stays 0 and descriptors compare by their bytes. A
 * stride along a dimension of size 1 addresses nothing. */
static void canonicalise(const xl_mat *from, const xl_softmax *s, size_t base,
                         xl_mat *to)
{
    enum { ALIGNED = 64 };
    to->row_stride = from->row_stride;
    to->col_stride = s->cols == 1 ? 1 : from->col_stride;
    if (s->rows == 1)
        to->row_stride = xl__round_up(s->cols, ALIGNED);
    to->dtype = from->dtype;
    to->offset = from->offset;
    to->offset = xl__mat_align(to, base);
}

/* Whether an operand of the prologue is in dst's memory; then it is dst, since
 * it may not overlap otherwise. */
static bool reads_dst(const xl_softmax *s)
{
    for (unsigned k = 0;
         is_memory_set(s->dst.mem) && k < s->prologue.n_bindings; k++) {
        const xl_binding *b = &s->prologue.bindings[k];
        if (!b->is_scalar && b->tensor.mem.buf == s->dst.mem.buf &&
            b->tensor.mem.svm == s->dst.mem.svm)
            return true;
    }
    return false;
}

static xl_status bind_prologue(xl_queue *q, const xl_softmax *s,
                               struct xl__softmax_canonical *to,
                               struct xl__call *call)
{
    xl_status status = XL_OK;
    const struct xl__epilogue_request want = {
        &s->prologue, {1, 1, s->rows, s->cols}, XL_F32, XL__PROLOGUE};
    if (!s->prologue.expr)
        return XL_OK;
    if (reads_dst(s))
        to->s.dst.mem.svm = (void *)1;
    TRY(xl__epilogue_text_get(q, &want, &to->snippet));
    xl__operands_bind(&s->prologue, call, XL__SOFTMAX_OPERAND,
                      XL__SOFTMAX_OPERAND_VALUE);
fail:
    return status;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    const xl_softmax *s = desc;
    struct xl__softmax_canonical *to = canonical;
    xl_softmax *c = &to->s;
    memset(to, 0, sizeof *to);
    c->rows = s->rows;
    c->cols = s->cols;
    c->scale = 1;
    canonicalise(&s->src, s, xl__operand_base(q, 0), &c->src);
    canonicalise(&s->dst, s, xl__operand_base(q, 1), &c->dst);
    if (is_memory_set(s->dst.mem) && same_view(&s->src, &s->dst))
        c->dst.mem.svm = (void *)1;
    if (has_mask(s)) {
        canonicalise(&s->mask, s, xl__operand_base(q, 2), &c->mask);
        c->mask.mem.svm = (void *)1;
    }
    call->mem[XL__SOFTMAX_SRC] = s->src.mem;
    call->mem[XL__SOFTMAX_DST] = s->dst.mem;
    call->mem[XL__SOFTMAX_MASK] = s->mask.mem;
    call->value[XL__SOFTMAX_SCALE].f = s->scale == 0 ? 1 : s->scale;
    call->value[XL__SOFTMAX_OFF_SRC].u = s->src.offset;
    call->value[XL__SOFTMAX_OFF_DST].u = s->dst.offset;
    call->value[XL__SOFTMAX_OFF_MASK].u = s->mask.offset;
    return bind_prologue(q, s, to, call);
}

static void set_dense_rows(xl_mat *mat, size_t cols)
{
    if (mat->row_stride > 1)
        mat->row_stride = xl__max_size(mat->col_stride, 1) * cols;
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    xl_softmax *to = representative;
    /* With its padding. */
    memcpy(to, canonical, sizeof(struct xl__softmax_canonical));
    to->rows = xl__size_end(to->rows, XL__SIZE_GRAIN, end);
    to->cols = xl__size_end(to->cols, 1, end);
    set_dense_rows(&to->src, to->cols);
    set_dense_rows(&to->dst, to->cols);
    set_dense_rows(&to->mask, to->cols);
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_softmax *)desc)->variant;
}

static xl_mem caller_workspace(const void *desc)
{
    return ((const xl_softmax *)desc)->workspace;
}

double xl__softmax_flop(const xl_softmax *canonical)
{
    static const double per_element = 5; /* scale, max, sub, exp, div */
    const struct xl__epilogue_text *text = snippet_of(canonical);
    return (per_element + (text ? text->flop : 0)) * (double)canonical->rows *
           (double)canonical->cols;
}

double xl__softmax_bytes(const xl_softmax *s)
{
    return 2.0 * (double)s->rows * (double)s->cols *
           (double)xl_dtype_bytes(s->src.dtype);
}

const struct xl__op xl__op_softmax = {
    .id = XL__OP_SOFTMAX,
    .name = "softmax",
    .descriptor = XL__DESCRIPTOR(xl_softmax, XL_SOFTMAX_INIT),
    .canonical_bytes = sizeof(struct xl__softmax_canonical),
    .check = check_descriptor,
    .bind = bind_call,
    .forced = forced_variant,
    .workspace = caller_workspace,
    .represent = represent_class,
    .shape_class = xl__softmax_shape_class,
    .shrink = xl__softmax_shrink,
    .case_init = xl__softmax_case_init,
};

/* -- for the variants ---------------------------------------------------- */

bool xl__softmax_has_mask(const xl_softmax *canonical)
{
    return canonical->mask.mem.svm != NULL;
}

const char *xl__softmax_refuses(const struct xl__limits *l,
                                const xl_softmax *canonical)
{
    if (xl__softmax_has_mask(canonical) && canonical->mask.dtype == XL_F64 &&
        !xl__is(l, XL__F_has_f64))
        return "an f64 mask needs double precision, which the device lacks";
    return NULL;
}

size_t xl__softmax_most_items(const struct xl__limits *l)
{
    enum { MOST = 1024 };
    size_t most = xl__min_size(MOST, xl__size_or(l, XL__F_max_wg_size, 1));
    const struct xl__answer *sizes = &l->used[XL__F_max_wi_sizes];
    if (sizes->n_list > 0 && sizes->list[0] >= 1 && sizes->list[0] < MOST)
        most = xl__min_size(most, (size_t)sizes->list[0]);
    size_t power = 1;
    while (2 * power <= most)
        power *= 2;
    return power;
}

void xl__softmax_args(struct xl__step *step, const xl_softmax *canonical)
{
    for (unsigned i = XL__SOFTMAX_SRC; i <= XL__SOFTMAX_MASK; i++)
        xl__arg_mem(step, i);
    xl__arg_value_f32(step, XL__SOFTMAX_SCALE);
    for (unsigned i = XL__SOFTMAX_OFF_SRC; i <= XL__SOFTMAX_OFF_MASK; i++)
        xl__arg_value_u64(step, i);
    xl__arg_u64(step, canonical->src.row_stride);
    xl__arg_u64(step, canonical->dst.row_stride);
    xl__arg_u64(step, canonical->mask.row_stride);
    xl__arg_u64(step, canonical->mask.col_stride);
    xl__arg_u64(step, canonical->rows);
    xl__arg_u64(step, canonical->cols);
    xl__arg_epilogue(step, snippet_of(canonical), XL__SOFTMAX_OPERAND,
                     XL__SOFTMAX_OPERAND_VALUE, 0, false);
}

/* MU: how a kernel may read vw elements of a mask. */
static long mask_access(const xl_mat *mask, size_t vw)
{
    if (mask->col_stride != 1 || mask->dtype == XL_F64)
        return 0;
    return mask->offset >= vw * xl_dtype_bytes(mask->dtype) ? 2 : 1;
}

void xl__softmax_defines(struct xl__step *step, const xl_softmax *canonical,
                         size_t vw)
{
    const size_t bytes = vw * xl_dtype_bytes(canonical->src.dtype);
    const bool is_aligned =
        canonical->src.offset >= bytes && canonical->dst.offset >= bytes;
    xl__define(step, "DT", (long)canonical->src.dtype);
    xl__define(step, "VW", (long)vw);
    xl__define(step, "VA", is_aligned);
    xl__define(step, "VT", canonical->cols % vw != 0);
    if (!xl__softmax_has_mask(canonical))
        return;
    xl__define(step, "MT", (long)canonical->mask.dtype);
    xl__define(step, "MU", mask_access(&canonical->mask, vw));
    if (canonical->mask.dtype == XL_F64)
        xl__define(step, "XL_USE_F64", 1);
}

/* -- the public functions ------------------------------------------------ */

xl_status xl_softmax_run(xl_queue *q, const xl_softmax *s, const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_softmax, s, sync);
}

xl_status xl_softmax_prepare(xl_queue *q, const xl_softmax *s)
{
    return xl__op_prepare(q, &xl__op_softmax, s);
}

xl_status xl_softmax_prepare_range(xl_queue *q, const xl_softmax *s,
                                   size_t rows_last)
{
    return xl__op_prepare_range(q, &xl__op_softmax, s,
                                offsetof(xl_softmax, rows), rows_last);
}

struct softmax_range {
    xl_softmax least;
    size_t rows_last;
};

static xl_status prepare_kept(xl_queue *q, void *what)
{
    const struct softmax_range *range = what;
    return xl_softmax_prepare_range(q, &range->least, range->rows_last);
}

xl_status xl_softmax_prepare_async(xl_queue *q, const xl_softmax *s,
                                   size_t rows_last, xl_prepared done,
                                   void *arg)
{
    if (!q || !s)
        return XL_BAD_ARGUMENT;
    xl_softmax full;
    xl__error_reset(&q->error);
    s = xl__sized_read(&xl__op_softmax.descriptor, s, &full, &q->error);
    if (!s)
        return q->error.status;
    struct xl__background_call c = {prepare_kept, .done = done, .arg = arg};
    struct softmax_range range = {*s, rows_last > 0 ? rows_last : s->rows};
    xl_softmax *own = &range.least;
    own->variant = xl__keep_text(&c.kept, own->variant);
    xl__keep_mem(&c.kept, &own->src.mem);
    xl__keep_mem(&c.kept, &own->dst.mem);
    xl__keep_mem(&c.kept, &own->mask.mem);
    xl__keep_mem(&c.kept, &own->workspace);
    xl__keep_epilogue(&c.kept, &own->prologue);
    c.what = xl__keep(&c.kept, &range, sizeof range);
    return xl__background_start(q, &c);
}

xl_status xl_softmax_workspace(xl_queue *q, const xl_softmax *s, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_softmax, s, bytes);
}

xl_status xl_softmax_explain(xl_queue *q, const xl_softmax *s, xl_choice *out,
                             unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_softmax, s, out, cap, n);
}
