/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor table's instructions that cl/common/matrix.clh has code for. */
#include "ops/path/matrix_engine.h"

#include "base/alloc.h"
#include "base/str.h"
#include "device/peak_rates.h"

/* Fragments that cl/common/matrix.clh knows. */
static const struct fragments {
    const char *name;
    unsigned deep_bytes; /* MMA_DEEP; 0: as deep as the instruction */
    unsigned side_by_side, pad;
    unsigned b_words; /* 0: MMA_OPAQUE */
    bool has_rows, has_f8; /* without rows it has columns */
} known[] = {
    {"mma", 32, 2, 8, 2, true, false},
    {"mfma_32x32", 32, 1, 0, 4, false, true},
    {"mfma_16x16", 64, 1, 0, 4, false, true},
    {"wmma_gfx11", 32, 1, 0, 8, false, false},
    {"wmma_gfx12", 32, 1, 0, 4, false, true},
    {"cooperative", 0, 1, 0, 0, false, false},
};

static const struct fragments *find_fragments(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (xl__streq(known[i].name, name))
            return &known[i];
    }
    return NULL;
}

static bool is_f8(xl_dtype in)
{
    return in == XL_F8E4M3 || in == XL_F8E5M2;
}

static bool is_type(xl_dtype in)
{
    return in == XL_F16 || in == XL_BF16 || in == XL_I8 || in == XL_F32 ||
           is_f8(in);
}

/* Has cl/common/matrix.clh code for an instruction? */
static bool has_code(const xl_matrix_op *op)
{
    const struct fragments *f = find_fragments(op->fragments);
    return f && (f->has_f8 || !is_f8(op->a));
}

const xl_matrix_op *xl__mma_op(const struct xl__limits *l, xl_dtype in)
{
    if (!is_type(in) || !l->model.mma)
        return NULL;
    for (const xl_matrix_op *op = l->matrix_ops; op && op->name; op++) {
        if (op->a == in && op->b == in && has_code(op))
            return op;
    }
    return NULL;
}

struct xl__mma_step xl__mma_step(const xl_matrix_op *op)
{
    const struct fragments *f = find_fragments(op->fragments);
    if (!f)
        return (struct xl__mma_step){.k = op->k, .side_by_side = 1};
    const size_t k =
        f->deep_bytes ? f->deep_bytes / xl_dtype_bytes(op->a) : op->k;
    return (struct xl__mma_step){.k = k,
                                 .side_by_side = f->side_by_side,
                                 .pad = f->pad,
                                 .b_words = f->b_words,
                                 .stack =
                                     f->has_rows ? 0 : xl__max_size(op->m, k)};
}

const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in)
{
    if (!l->matrix_ops)
        return "no matrix instructions of a sub-group are known for this "
               "device";
    if (!is_type(in))
        return "matrix instructions support f16, bf16, i8, 8-bit floats and "
               "rounded f32 only";
    if (!xl__mma_op(l, in))
        return "the kernels do not know the fragments of this device's matrix "
               "instructions";
    const xl_matrix_op *op = xl__mma_op(l, in);
    if (xl__num_or(l, XL__F_subgroup_width, op->lanes) != op->lanes &&
        !xl__streq(op->code, "emulated"))
        return "sub-groups of this device have another width than its matrix "
               "instructions";
    return NULL;
}

const char *xl__mma_sums_refused(const struct xl__limits *l, xl_dtype in)
{
    const xl_matrix_op *op = xl__mma_op(l, in);
    if (op && find_fragments(op->fragments)->b_words == 0)
        return "only the driver knows which elements of this device's "
               "matrices a work-item holds";
    return xl__mma_refused(l, in);
}

const char *xl__mma_rows_refused(const struct xl__limits *l, xl_dtype in)
{
    const xl_matrix_op *op = xl__mma_op(l, in);
    if (op && !find_fragments(op->fragments)->has_rows)
        return "the kernels do not reduce rows of the fragments of this "
               "device's matrix instructions";
    return xl__mma_sums_refused(l, in);
}

double xl__mma_rate(const struct xl__limits *l, const xl_matrix_op *op)
{
    const double rate = xl__rate_matrix_op(l, op);
    return rate > 0 ? rate : xl__rate_fma(l);
}

void xl__mma_define(struct xl__step *s, const struct xl__limits *l,
                    const xl_matrix_op *op)
{
    xl__define_choice(s, "XL_MMA", op->code);
    xl__define_choice(s, "MMA_FRAGMENTS", op->fragments);
    xl__define_choice(s, "XL_COPY", xl__text(l, XL__F_async_copy));
    if (xl__streq(op->fragments, "cooperative"))
        xl__define_cooperative(s, op);
}

const xl_matrix_op *xl__dpas_op(const struct xl__limits *l, xl_dtype in)
{
    return l->model.dpas ? xl__find_matrix_op(l, "dpas", in, in) : NULL;
}

void xl__dpas_define(struct xl__step *s, const xl_matrix_op *op)
{
    xl__define_choice(s, "XL_DPAS", op->code);
    xl__define(s, "DPAS_LANES", (long)op->lanes);
}

const char xl__dpas_refused[] =
    "no systolic matrix instruction is known for this device";
