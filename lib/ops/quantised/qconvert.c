/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation and its inverse as an op: the check of the descriptor, the
 * canonical descriptor and the call, the shape class, and the public
 * functions. */
#include "ops/quantised/qconvert.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/path/check.h"

static xl_status check_descriptor(xl_queue *q, const void *desc,
                                  bool with_memory)
{
    enum { PARTS = 4 };
    static const size_t most = (size_t)1 << 31;
    xl_status status = XL_OK;
    const xl_qconvert *c = desc;
    const xl_qshape *s = &c->w.shape;
    const xl_dtype x = c->x.dtype;
    struct xl__region *r;
    xl_mem mem[PARTS] = {c->x.mem};
    q->memory.n = 0;
    if ((unsigned)c->direction >= XL_N_QDIRECTIONS)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "invalid value %d for qconvert's direction: must be "
                          "an xl_qdirection",
                          (int)c->direction));
    TRY(xl__qmat_check(&c->w, "qconvert", &q->error));
    if (s->rows >= most || s->cols >= most)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "w of %zu x %zu for qconvert: both must be below "
                          "2^31",
                          s->rows, s->cols));
    if (x != XL_F32 && x != XL_F16 && x != XL_BF16)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "unsupported type %s of x for qconvert: must be "
                          "f32, f16 or bf16",
                          xl_dtype_name(x)));
    if (c->x.col_stride != 1)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "x has a column stride of %zu; qconvert needs "
                          "contiguous columns",
                          c->x.col_stride));
    TRY(xl__operand_add_mat(q, "x", &c->x, s->rows, s->cols, &r));
    r->is_written = c->direction == XL_DEQUANTISE;
    if (r->is_written)
        TRY(xl__region_check_itself(r, &q->error));
    TRY(xl__qmat_add_regions(q, &c->w, !r->is_written, mem));
    for (unsigned i = 0; i < q->memory.n; i++)
        TRY(xl__operand_locate(&q->memory, i, mem[i], with_memory, &q->error));
    if (with_memory)
        TRY(xl__operands_check_apart(&q->memory, &q->error));
fail:
    return status;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    enum { MOST = 16 };
    const xl_qconvert *c = desc;
    struct xl__qconvert_canonical *to = canonical;
    xl_mat x = c->x;
    if (c->w.shape.rows == 1)
        x.row_stride = 0;
    *to = (struct xl__qconvert_canonical){
        .of = {.m = 1,
               .a = (size_t)x.dtype,
               .row_stride_a = x.row_stride,
               .a_aligned = xl__min_size(
                   MOST, xl__mat_align(&x, xl__operand_base(q, 0)))},
        .is_dequantise = c->direction == XL_DEQUANTISE};
    xl__qmat_bind(&c->w, &to->of, call);
    call->mem[XL__QCONVERT_X] = x.mem;
    call->mem[XL__MEM_SCRATCH] = c->workspace;
    call->value[XL__QCONVERT_OFF_X].u = x.offset;
    return XL_OK;
}

static void describe_class(const void *canonical, struct xl__str *out)
{
    const struct xl__qconvert_canonical *c = canonical;
    xl__str_printf(out, "%s %s %s rows%zu cols%zu",
                   xl_qformat_layout((xl_qformat)c->of.format)->name,
                   c->is_dequantise ? "to" : "from",
                   xl_dtype_name((xl_dtype)c->of.a), xl__bucket(c->of.n),
                   xl__bucket(c->of.k));
    xl__qmat_describe(&c->of, out);
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__qconvert_canonical *to = representative;
    struct xl__qgemm_canonical *of = &to->of;
    memcpy(to, canonical, sizeof *to);
    of->n = xl__size_end(of->n, XL__SIZE_GRAIN, end);
    of->k = xl__size_end(of->k, XL__QGEMM_UNIT, end);
    if (!xl__qgemm_has_groups(&((const struct xl__qconvert_canonical *)
                                    canonical)->of))
        of->group = of->k;
    of->row_stride_a = of->n == 1 ? 0 : of->k;
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_qconvert *)desc)->variant;
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_qconvert *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_mem(k, &own->x.mem);
    xl__keep_mem(k, &own->workspace);
    xl__qmat_keep(k, &own->w);
}

const struct xl__op xl__op_qconvert = {
    .id = XL__OP_QCONVERT,
    .name = "qconvert",
    .descriptor = XL__DESCRIPTOR(xl_qconvert, XL_QCONVERT_INIT),
    .canonical_bytes = sizeof(struct xl__qconvert_canonical),
    .check = check_descriptor,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .shrink = xl__qconvert_shrink,
    .case_init = xl__qconvert_case_init,
    .range_at = offsetof(xl_qconvert, w.shape.rows),
    .keep = keep_memory,
};

/* -- the public functions ------------------------------------------------- */

xl_status xl_qconvert_run(xl_queue *q, const xl_qconvert *c,
                          const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_qconvert, c, sync);
}

xl_status xl_qconvert_prepare(xl_queue *q, const xl_qconvert *c)
{
    return xl__op_prepare(q, &xl__op_qconvert, c);
}

xl_status xl_qconvert_prepare_range(xl_queue *q, const xl_qconvert *c,
                                    size_t rows_last)
{
    return xl__op_prepare_range(q, &xl__op_qconvert, c, rows_last);
}

xl_status xl_qconvert_prepare_async(xl_queue *q, const xl_qconvert *c,
                                    size_t rows_last, xl_prepared done,
                                    void *arg)
{
    return xl__op_prepare_async(q, &xl__op_qconvert, c, rows_last, done, arg);
}

xl_status xl_qconvert_workspace(xl_queue *q, const xl_qconvert *c,
                                size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_qconvert, c, bytes);
}

xl_status xl_qconvert_explain(xl_queue *q, const xl_qconvert *c,
                              xl_choice *out, unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_qconvert, c, out, cap, n);
}
