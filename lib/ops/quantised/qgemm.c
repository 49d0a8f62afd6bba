/* SPDX-License-Identifier: Apache-2.0 */
/* Products with quantised weights as an op: the check of the descriptor, the
 * canonical descriptor and the call, the shape class, the arguments that its
 * kernels share, and the public functions. */
#include "ops/quantised/qgemm.h"

#include <float.h>
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/normalization/row_op.h"
#include "ops/path/check.h"
#include "ops/path/cost.h"
#include "ops/path/operands.h"

/* -- sizes ---------------------------------------------------------------- */

xl_qshape xl__qgemm_shape(const struct xl__qgemm_canonical *c)
{
    return (xl_qshape){(xl_qformat)c->format, c->n, c->k, c->group,
                       c->group_rows};
}

size_t xl__qgemm_row_bytes(const struct xl__qgemm_canonical *c)
{
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)c->format);
    return c->k / f->block * f->block_bytes;
}

size_t xl__qgemm_cols(const struct xl__qgemm_canonical *c)
{
    return c->n / (1 + c->pair);
}

/* A norm: a square, a sum and two products for each element of A. */
double xl__qgemm_flop(const struct xl__qgemm_canonical *c)
{
    static const double norm_flop = 4;
    const double per_element = c->epilogue ? c->epilogue->flop : 0;
    return (double)c->m * (2 * (double)c->n * (double)c->k +
                           (double)xl__qgemm_cols(c) * per_element) +
           (c->norm ? norm_flop * (double)c->m * (double)c->k : 0);
}

/* By the bits of an element: sizes of a class need not be whole blocks. */
double xl__qgemm_weight_bytes(const struct xl__qgemm_canonical *c)
{
    static const double zero_bytes = 0.5;
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)c->format);
    const xl_qshape shape = xl__qgemm_shape(c);
    double bytes = (double)f->block_bytes / (double)f->block;
    if (f->has_scales)
        bytes += ((double)xl_dtype_bytes(f->scale_dtype) /
                      (double)xl__qshape_group_rows(&shape) +
                  (c->has_zeros ? zero_bytes : 0)) /
                 (double)c->group;
    return bytes * (double)c->n * (double)c->k;
}

double xl__qgemm_other_bytes(const struct xl__qgemm_canonical *c)
{
    return (double)c->m *
               ((double)c->k * (double)xl_dtype_bytes((xl_dtype)c->a) +
                (double)xl__qgemm_cols(c) *
                    (double)xl_dtype_bytes((xl_dtype)c->c)) +
           (c->norm ? (double)c->k * (double)xl_dtype_bytes((xl_dtype)c->gain)
                    : 0);
}

bool xl__qgemm_has_groups(const struct xl__qgemm_canonical *c)
{
    return c->format == XL_INT4 || (c->format == XL_FP8 && c->group < c->k);
}

size_t xl__qgemm_group_units(const struct xl__qgemm_canonical *c)
{
    enum { STAGE_UNITS = XL__QGEMM_STAGE / XL__QGEMM_UNIT };
    return xl__qgemm_has_groups(c)
               ? xl__shrink_to_divisor(STAGE_UNITS, c->group / XL__QGEMM_UNIT)
               : STAGE_UNITS;
}

/* -- check ---------------------------------------------------------------- */

xl_status xl__qmat_check(const xl_qmat *w, const char *op, struct xl__error *e)
{
    const xl_qshape *s = &w->shape;
    const xl_qlayout *f = xl_qformat_layout(s->format);
    xl_qbytes bytes;
    if (!f)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "invalid value %d for the format of w: must be "
                             "an xl_qformat",
                             (int)s->format);
    const xl_status status = xl_qshape_bytes(s, &bytes);
    if (status == XL_BAD_SHAPE)
        return xl__error_set(
            e, XL_BAD_SHAPE,
            "invalid sizes w %zu x %zu, group %zu for %s: each must be at "
            "least 1, the columns of %s a multiple of %zu%s",
            s->rows, s->cols, s->group, op, f->name, f->block,
            f->has_zeros || s->format == XL_FP8
                ? " and of the group, a multiple of 32"
                : "");
    if (status != XL_OK)
        return xl__error_set(e, status,
                             "w has %zu x %zu elements, whose size "
                             "does not fit in 64 bits",
                             s->rows, s->cols);
    return XL_OK;
}

static xl_status check_shape(const xl_qgemm *g, struct xl__error *e)
{
    static const size_t most = (size_t)1 << 31;
    const xl_status status = xl__qmat_check(&g->w, "qgemm", e);
    if (status != XL_OK)
        return status;
    if (g->m == 0)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "invalid size m = 0 for qgemm: must be at least "
                             "1");
    if (g->m >= most || g->w.shape.rows >= most)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "m = %zu, w of %zu rows for qgemm: both must be "
                             "below 2^31",
                             g->m, g->w.shape.rows);
    return XL_OK;
}

/* Of XL_FP8: is a scale that of one row, or of all? */
static bool has_scales_of_rows(const xl_qshape *s)
{
    const size_t rows = xl__qshape_group_rows(s);
    return s->format == XL_FP8 && xl__qshape_group(s) == s->cols &&
           (rows == 1 || rows >= s->rows);
}

static xl_status check_types(const xl_qgemm *g, struct xl__error *e)
{
    if ((unsigned)g->activations >= XL_N_ACTIVATIONS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "invalid value %d for qgemm's activations: must "
                             "be an xl_activations",
                             (int)g->activations);
    if (g->activations == XL_ACTIVATIONS_I8 && g->w.shape.format == XL_FP8)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "XL_ACTIVATIONS_I8 with weights of fp8 for qgemm: "
                             "their codes are floats, no integers");
    if (g->activations == XL_ACTIVATIONS_F8 && g->is_pair)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "XL_ACTIVATIONS_F8 with a pair of matrices for "
                             "qgemm: must be two calls");
    if (g->activations == XL_ACTIVATIONS_F8 &&
        !has_scales_of_rows(&g->w.shape))
        return xl__error_set(e, XL_UNSUPPORTED,
                             "XL_ACTIVATIONS_F8 with these weights for qgemm: "
                             "must be fp8 with a scale for each row, or one "
                             "for all");
    const xl_dtype a = g->a.dtype, c = g->c.dtype;
    const bool has_epilogue = g->epilogue.expr != NULL;
    const bool is_result = c == XL_F32 || c == XL_F16 || c == XL_BF16 ||
                           (has_epilogue && c != XL_F64 && c < XL_F8E4M3);
    if ((a != XL_F32 && a != XL_F16 && a != XL_BF16) || !is_result)
        return xl__error_set(
            e, XL_UNSUPPORTED,
            "unsupported types A %s, C %s%s for qgemm: A must be f32, f16 or "
            "bf16, C of these too, or with an epilogue i32, i8, u8 or bool",
            xl_dtype_name(a), xl_dtype_name(c),
            has_epilogue ? " with an epilogue" : "");
    if (g->a.col_stride != 1)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "A has a column stride of %zu; qgemm needs "
                             "contiguous columns",
                             g->a.col_stride);
    return XL_OK;
}

/* Columns of C. */
static size_t columns_of(const xl_qgemm *g)
{
    return g->w.shape.rows / (g->is_pair ? 2 : 1);
}

static xl_status check_pair(const xl_qgemm *g, struct xl__error *e)
{
    if (g->is_pair && g->w.shape.rows % 2 != 0)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "w has %zu rows; as a pair of matrices their "
                             "number must be even",
                             g->w.shape.rows);
    if (g->is_pair && !g->epilogue.expr)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "a pair of matrices for qgemm has no epilogue, "
                             "which must join the products, y and y2");
    return XL_OK;
}

static xl_status check_norm(const xl_qgemm *g, struct xl__error *e)
{
    const xl_mat *gain = &g->norm.gain;
    const double eps = g->norm.eps;
    if ((unsigned)g->norm.kind >= XL_N_QGEMM_NORM_KINDS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "invalid value %d for qgemm's norm: must be an "
                             "xl_qgemm_norm_kind",
                             (int)g->norm.kind);
    if (!g->norm.kind)
        return XL_OK;
    if (!xl__view_is_set(gain))
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "qgemm's norm has no gain: must be a row of %zu "
                             "elements",
                             g->w.shape.cols);
    if (eps != 0 && !(eps >= (double)FLT_MIN && eps <= (double)FLT_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "eps of qgemm's norm is %g; it must be a "
                             "positive finite number that f32 holds with full "
                             "precision, or 0 for 1e-5",
                             eps);
    if (gain->dtype != XL_F32 && gain->dtype != XL_F16 &&
        gain->dtype != XL_BF16)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "gain of qgemm's norm is of %s; it must be of "
                             "f32, f16 or bf16",
                             xl_dtype_name(gain->dtype));
    if (gain->col_stride != 1)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "gain of qgemm's norm has a column stride of "
                             "%zu; its elements must be contiguous",
                             gain->col_stride);
    return XL_OK;
}

/* A part of W as a region: `bytes` of them, in elements of `dtype`. */
static xl_status add_part(xl_queue *q, const char *name, size_t offset,
                          size_t bytes, xl_dtype dtype, bool is_written)
{
    const size_t elem = xl_dtype_bytes(dtype);
    const xl_tensor view = {.offset = offset,
                            .n_dims = 1,
                            .size = {bytes / elem},
                            .stride = {1},
                            .dtype = dtype};
    struct xl__region *r = &q->memory.operand[q->memory.n++];
    const xl_status status = xl__region_init(r, name, &view, &q->error);
    r->is_written = is_written;
    return status;
}

xl_status xl__qmat_add_regions(xl_queue *q, const xl_qmat *w, bool is_written,
                               xl_mem mem[])
{
    xl_status status = XL_OK;
    const xl_qlayout *f = xl_qformat_layout(w->shape.format);
    const bool is_even = f->block_bytes % 2 == 0;
    xl_qbytes bytes;
    TRY(xl_qshape_bytes(&w->shape, &bytes));
    if (is_even && w->offset % 2 != 0)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "invalid value %zu for w's offset: must be even, "
                          "since blocks of %s have f16s",
                          w->offset, f->name));
    if (w->has_zeros && !f->has_zeros)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "w has zeros, which %s does not have", f->name));
    mem[q->memory.n] = w->blocks;
    TRY(add_part(q, "w", w->offset / (is_even ? 2 : 1), bytes.blocks,
                 is_even ? XL_F16 : XL_U8, is_written));
    if (f->has_scales) {
        mem[q->memory.n] = w->scales;
        TRY(add_part(q, "scales of w", w->scales_offset, bytes.scales,
                     f->scale_dtype, is_written));
    }
    if (w->has_zeros) {
        mem[q->memory.n] = w->zeros;
        TRY(add_part(q, "zeros of w", w->zeros_offset, bytes.zeros, XL_U8,
                     is_written));
    }
fail:
    return status;
}

static xl_status check_descriptor(xl_queue *q, const void *desc,
                                  bool with_memory)
{
    enum { OPERANDS = 6 };
    xl_status status = XL_OK;
    const xl_qgemm *g = desc;
    struct xl__region *r;
    xl_mem mem[OPERANDS] = {g->a.mem, g->c.mem};
    q->memory.n = 0;
    TRY(check_shape(g, &q->error));
    TRY(xl__check_accuracy("qgemm", g->accuracy, &q->error));
    TRY(check_types(g, &q->error));
    TRY(check_norm(g, &q->error));
    TRY(check_pair(g, &q->error));
    TRY(xl__operand_add_mat(q, "A", &g->a, g->m, g->w.shape.cols, &r));
    TRY(xl__operand_add_mat(q, "C", &g->c, g->m, columns_of(g), &r));
    r->is_written = true;
    TRY(xl__region_check_itself(r, &q->error));
    TRY(xl__qmat_add_regions(q, &g->w, false, mem));
    if (g->norm.kind) {
        mem[q->memory.n] = g->norm.gain.mem;
        TRY(xl__operand_add_mat(q, "gain", &g->norm.gain, 1, g->w.shape.cols,
                                &r));
    }
    for (unsigned i = 0; i < q->memory.n; i++)
        TRY(xl__operand_locate(&q->memory, i, mem[i], with_memory, &q->error));
    TRY(xl__operands_check(&g->epilogue, XL__EPILOGUE, &q->error));
    TRY(xl__operands_check_memory(q, &g->epilogue, with_memory));
fail:
    return status;
}

/* -- bind ----------------------------------------------------------------- */

enum { MOST_ALIGNED = 16 };

static size_t bytes_aligned(const xl_mem *mem, size_t offset)
{
    return xl__shrink_to_divisor(MOST_ALIGNED,
                                 (size_t)(uintptr_t)mem->svm + offset);
}

/* Of the address of the first element and the stride of rows. */
static size_t rows_aligned(const xl_mat *x, size_t rows)
{
    const size_t elem = xl_dtype_bytes(x->dtype);
    return xl__shrink_to_divisor(bytes_aligned(&x->mem, x->offset * elem),
                                 rows == 1 ? MOST_ALIGNED
                                           : x->row_stride * elem);
}

static void set_norm_sizes(struct xl__qgemm_canonical *c)
{
    c->of_m = c->norm ? c->m : 0;
    c->of_n = c->norm ? c->n : 0;
    c->of_k = c->norm ? c->k : 0;
}

void xl__qmat_bind(const xl_qmat *w, struct xl__qgemm_canonical *to,
                   struct xl__call *call)
{
    const xl_qshape *s = &w->shape;
    to->n = s->rows;
    to->k = s->cols;
    to->format = (size_t)s->format;
    to->group = xl__qshape_group(s);
    to->group_rows = s->format == XL_FP8 && s->group_rows < s->rows
                         ? s->group_rows
                         : 0;
    to->has_zeros = w->has_zeros;
    to->w_aligned = xl__shrink_to_divisor(bytes_aligned(&w->blocks, w->offset),
                                          xl__qgemm_row_bytes(to));
    call->mem[XL__QGEMM_BLOCKS] = w->blocks;
    if (xl_qformat_layout(s->format)->has_scales)
        call->mem[XL__QGEMM_SCALES] = w->scales;
    if (w->has_zeros)
        call->mem[XL__QGEMM_ZEROS] = w->zeros;
    call->value[XL__QGEMM_OFF_BLOCKS].u = w->offset;
    call->value[XL__QGEMM_OFF_SCALES].u = w->scales_offset;
    call->value[XL__QGEMM_OFF_ZEROS].u = w->zeros_offset;
}

static void bind_norm(const xl_qgemm *g, struct xl__qgemm_canonical *to,
                      struct xl__call *call)
{
    static const double usual_eps = 1e-5;
    const xl_mat *gain = &g->norm.gain;
    to->norm = (size_t)g->norm.kind;
    to->gain = (size_t)gain->dtype;
    to->gain_aligned =
        bytes_aligned(&gain->mem, gain->offset * xl_dtype_bytes(gain->dtype));
    set_norm_sizes(to);
    call->mem[XL__QGEMM_GAIN] = gain->mem;
    call->value[XL__QGEMM_OFF_GAIN].u = gain->offset;
    call->value[XL__QGEMM_EPS].f = g->norm.eps == 0 ? usual_eps : g->norm.eps;
}

_Static_assert(XL__QGEMM_OPERAND_VALUE +
                       XL_EPILOGUE_MAX_BINDINGS * (int)XL__EPILOGUE_VALUES <
                   XL__MAX_VALUES,
               "a call has no room for the second product");

/* The second product, which the kernel has in place of a scalar. */
static void add_second(xl_epilogue *ep, xl_binding all[XL__EPILOGUE_OPERANDS])
{
    if (ep->n_bindings > 0)
        memcpy(all, ep->bindings, ep->n_bindings * sizeof *all);
    all[ep->n_bindings++] = (xl_binding){.name = "y2", .is_scalar = true};
    ep->bindings = all;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    xl_status status = XL_OK;
    const xl_qgemm *g = desc;
    struct xl__qgemm_canonical *to = canonical;
    *to = (struct xl__qgemm_canonical){
        .m = g->m,
        .a = (size_t)g->a.dtype,
        .c = (size_t)g->c.dtype,
        .row_stride_a = g->m == 1 ? 0 : g->a.row_stride,
        .row_stride_c = g->m == 1 ? 0 : g->c.row_stride,
        .col_stride_c = g->c.col_stride,
        .a_aligned = rows_aligned(&g->a, g->m),
        .c_aligned = rows_aligned(&g->c, g->m),
        .is_fast = g->accuracy == XL_ACCURACY_FAST &&
                   g->activations != XL_ACTIVATIONS_I8,
        .activations = (size_t)g->activations,
        .pair = g->is_pair,
        .has_svm = g->a.mem.svm || g->c.mem.svm,
        .w_has_svm = g->w.blocks.svm != NULL};
    xl_binding all[XL__EPILOGUE_OPERANDS];
    xl_epilogue epilogue = g->epilogue;
    const struct xl__epilogue_request want = {&epilogue,
                                              {1, 1, g->m, columns_of(g)},
                                              g->c.dtype,
                                              XL__EPILOGUE,
                                              NULL};
    if (g->is_pair)
        add_second(&epilogue, all);
    xl__qmat_bind(&g->w, to, call);
    if (g->norm.kind)
        bind_norm(g, to, call);
    call->mem[XL__QGEMM_A] = g->a.mem;
    call->mem[XL__QGEMM_C] = g->c.mem;
    call->mem[XL__MEM_SCRATCH] = g->workspace;
    call->value[XL__GEMM_ALPHA].f = 1;
    call->value[XL__QGEMM_OFF_A].u = g->a.offset;
    call->value[XL__QGEMM_OFF_C].u = g->c.offset;
    if (g->epilogue.expr) {
        TRY(xl__epilogue_text_get(q, &want, &to->epilogue));
        xl__operands_bind(&want, call, XL__QGEMM_OPERAND,
                          XL__QGEMM_OPERAND_VALUE);
    }
    if (g->activations == XL_ACTIVATIONS_F8 ||
        (g->activations && !g->is_pair && g->w.shape.format == XL_INT8)) {
        to->has_svm |= g->w.blocks.svm != NULL;
        TRY(xl__qgemm_scaled_text(q, &g->w.shape, &want, &to->scaled));
    }
fail:
    return status;
}

void xl__qmat_describe(const struct xl__qgemm_canonical *c,
                       struct xl__str *out)
{
    if (xl__qgemm_has_groups(c))
        xl__str_printf(out, " group%zu%s", c->group,
                       c->has_zeros ? " zeros" : "");
    if (c->format == XL_FP8)
        xl__str_printf(out, " rows%zu", c->group_rows);
}

static void describe_class(const void *canonical, struct xl__str *out)
{
    const struct xl__qgemm_canonical *c = canonical;
    xl__str_printf(out, "%s %s m%zu n%zu k%zu",
                   xl_qformat_layout((xl_qformat)c->format)->name,
                   xl_dtype_name((xl_dtype)c->a), xl__bucket(c->m),
                   xl__bucket(c->n), xl__bucket(c->k));
    xl__qmat_describe(c, out);
    if (c->is_fast)
        xl__str_add(out, " fast");
    if (c->activations)
        xl__str_printf(out, " activations:%s",
                       c->activations == XL_ACTIVATIONS_F8 ? "f8" : "i8");
    if (c->norm)
        xl__str_printf(out, " rms:%s", xl_dtype_name((xl_dtype)c->gain));
    if (c->pair)
        xl__str_add(out, " pair");
    if (c->c != c->a)
        xl__str_printf(out, " to:%s", xl_dtype_name((xl_dtype)c->c));
    if (c->epilogue)
        xl__str_add(out, " epilogue");
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__qgemm_canonical *to = representative;
    memcpy(to, canonical, sizeof *to);
    to->m = xl__size_end(to->m, 1, end);
    to->n = xl__size_end(to->n, XL__SIZE_GRAIN, end);
    to->k = xl__size_end(to->k, XL__QGEMM_UNIT, end);
    if (!xl__qgemm_has_groups(canonical))
        to->group = to->k;
    to->row_stride_a = to->m == 1 ? 0 : to->k;
    to->row_stride_c = to->m == 1 ? 0 : to->n * to->col_stride_c;
    set_norm_sizes(to);
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_qgemm *)desc)->variant;
}

void xl__qmat_keep(struct xl__kept *k, xl_qmat *w)
{
    xl__keep_mem(k, &w->blocks);
    xl__keep_mem(k, &w->scales);
    xl__keep_mem(k, &w->zeros);
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_qgemm *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_mem(k, &own->a.mem);
    xl__qmat_keep(k, &own->w);
    xl__keep_mem(k, &own->c.mem);
    xl__keep_mem(k, &own->norm.gain.mem);
    xl__keep_mem(k, &own->workspace);
    xl__keep_epilogue(k, &own->epilogue);
}

const struct xl__op xl__op_qgemm = {
    .id = XL__OP_QGEMM,
    .name = "qgemm",
    .descriptor = XL__DESCRIPTOR(xl_qgemm, XL_QGEMM_INIT),
    .canonical_bytes = sizeof(struct xl__qgemm_canonical),
    .check = check_descriptor,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .shrink = xl__qgemm_shrink,
    .case_init = xl__qgemm_case_init,
    .range_at = offsetof(xl_qgemm, m),
    .keep = keep_memory,
};

/* -- for the variants ----------------------------------------------------- */

const char *xl__qgemm_bytes_refused(const struct xl__qgemm_canonical *c)
{
    return c->activations == XL_ACTIVATIONS_F8
               ? "it does not multiply activations as E4M3; variants of GEMM "
                 "do"
               : NULL;
}

const char *xl__qgemm_pair_refused(const struct xl__qgemm_canonical *c)
{
    return c->pair ? "it multiplies rows of W by themselves, no pairs" : NULL;
}

void xl__qgemm_add_weights(struct xl__step *step,
                           const struct xl__qgemm_canonical *c)
{
    xl__define(step, "FORMAT", (long)c->format);
    xl__define(step, "ZEROS", (long)c->has_zeros);
    for (unsigned i = 0; i < XL__QGEMM_PARTS; i++) {
        xl__arg_mem(step, XL__QGEMM_BLOCKS + i);
        xl__arg_value_u64(step, XL__QGEMM_OFF_BLOCKS + i);
    }
    xl__arg_u32(step, c->k / XL__QGEMM_UNIT);
    xl__arg_u32(step, c->group / XL__QGEMM_UNIT);
    const xl_qshape shape = xl__qgemm_shape(c);
    if (c->format == XL_FP8)
        xl__arg_u32(step, xl__qshape_group_rows(&shape));
}

enum { ACTIVATION_BYTES = 40 }; /* quantised/bytes.clh */

/* All but where the result is. */
static struct xl__step *add_quantise(const struct xl__limits *l,
                                     const struct xl__qgemm_canonical *c,
                                     bool is_plain, struct xl__plan *p)
{
    enum { GROUP = 64, ROW_GROUP = 256 };
    const size_t wg = xl__is(l, XL__F_is_cpu)
                          ? 1
                          : xl__floor_power_of_two(xl__most_items(
                                l, is_plain ? ROW_GROUP : GROUP));
    struct xl__step *s =
        xl__plan_add(p, "quantised/activations.cl", "qgemm_quantise", 0, 0);
    s->is_aid = true;
    xl__step_set_3d(s, wg, wg, c->m, 1);
    s->slice_dim = 1;
    s->local_mem_bytes = wg * sizeof(uint32_t);
    xl__define(s, "TA", (long)c->a);
    xl__define(s, "WG", (long)wg);
    xl__define(s, "ROW", c->format == XL_INT8 || c->format == XL_FP8);
    xl__define(s, "PLAIN", is_plain);
    if (c->activations == XL_ACTIVATIONS_F8)
        xl__define(s, "TQ", XL_F8E4M3);
    xl__define(s, "VA", c->a_aligned < MOST_ALIGNED
                            ? 1
                            : (long)(MOST_ALIGNED /
                                     xl_dtype_bytes((xl_dtype)c->a)));
    xl__define_dot(s, xl__text(l, XL__F_dot));
    xl__arg_mem(s, XL__QGEMM_A);
    xl__arg_value_u64(s, XL__QGEMM_OFF_A);
    xl__arg_u64(s, c->row_stride_a);
    xl__arg_u32(s, c->k / XL__QGEMM_UNIT);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, 0);
    return s;
}

void xl__qgemm_add_quantise(const struct xl__limits *l,
                            const struct xl__qgemm_canonical *c,
                            struct xl__plan *p)
{
    if (!c->activations)
        return;
    add_quantise(l, c, false, p);
    p->scratch_bytes = c->m * (c->k / XL__QGEMM_UNIT) * ACTIVATION_BYTES;
}

struct xl__step *
xl__qgemm_add_quantise_rows(const struct xl__limits *l,
                            const struct xl__qgemm_canonical *c,
                            struct xl__plan *p)
{
    struct xl__step *s = add_quantise(l, c, true, p);
    xl__arg_u64(s, 0);
    return s;
}

void xl__qgemm_add_args(struct xl__step *step,
                        const struct xl__qgemm_canonical *c)
{
    xl__define(step, "TA", c->activations ? XL_I8 : (long)c->a);
    xl__define(step, "TC", (long)c->c);
    if (c->activations) {
        xl__arg_mem(step, XL__MEM_SCRATCH);
        xl__arg_u64(step, 0);
        xl__arg_u64(step, c->k / XL__QGEMM_UNIT * ACTIVATION_BYTES);
    } else {
        xl__arg_mem(step, XL__QGEMM_A);
        xl__arg_value_u64(step, XL__QGEMM_OFF_A);
        xl__arg_u64(step, c->row_stride_a);
    }
    xl__qgemm_add_weights(step, c);
    xl__arg_mem(step, XL__QGEMM_C);
    xl__arg_value_u64(step, XL__QGEMM_OFF_C);
    xl__arg_u64(step, c->row_stride_c);
    xl__arg_u64(step, c->col_stride_c);
    xl__arg_u32(step, c->m);
    xl__arg_u32(step, c->n);
    if (c->norm) {
        xl__define(step, "GT", (long)c->gain);
        xl__arg_mem(step, XL__QGEMM_GAIN);
        xl__arg_value_u64(step, XL__QGEMM_OFF_GAIN);
        xl__arg_value_f32(step, XL__QGEMM_EPS);
    }
    if (c->pair)
        xl__define(step, "PAIR", (long)c->epilogue->n_operands - 1);
    xl__arg_epilogue(step, c->epilogue, XL__QGEMM_OPERAND,
                     XL__QGEMM_OPERAND_VALUE, 0, false);
}

/* -- the public functions ------------------------------------------------- */

xl_status xl_qgemm_run(xl_queue *q, const xl_qgemm *g, const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_qgemm, g, sync);
}

xl_status xl_qgemm_prepare(xl_queue *q, const xl_qgemm *g)
{
    return xl__op_prepare(q, &xl__op_qgemm, g);
}

xl_status xl_qgemm_prepare_range(xl_queue *q, const xl_qgemm *g, size_t m_last)
{
    return xl__op_prepare_range(q, &xl__op_qgemm, g, m_last);
}

xl_status xl_qgemm_prepare_async(xl_queue *q, const xl_qgemm *g, size_t m_last,
                                 xl_prepared done, void *arg)
{
    return xl__op_prepare_async(q, &xl__op_qgemm, g, m_last, done, arg);
}

xl_status xl_qgemm_workspace(xl_queue *q, const xl_qgemm *g, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_qgemm, g, bytes);
}

xl_status xl_qgemm_explain(xl_queue *q, const xl_qgemm *g, xl_choice *out,
                           unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_qgemm, g, out, cap, n);
}
