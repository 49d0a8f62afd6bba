/* SPDX-License-Identifier: Apache-2.0 */
/* Steps ahead of a product, which write A' in A's place into the workspace:
 * A's rows normed, by the kernels of xl_norm, or as f32.
 *
 *   workspace   what the steps and the variant need, in turn; then A', m x k,
 *               dense
 *
 * The norm's form is that of the call's sizes also in a self-check case, whose
 * programs must be the same. */
#include "ops/normalization/norm.h"

#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/quantised/qgemm.h"

/* The canonical descriptor of the norm of rows x cols; `to` is zero. */
static void describe_norm(const struct xl__qgemm_canonical *c, size_t rows,
                          size_t cols, xl_norm *to)
{
    const xl_mat src = {.row_stride = c->row_stride_a,
                        .col_stride = 1,
                        .dtype = (xl_dtype)c->a},
                 dst = {.row_stride = cols,
                        .col_stride = 1,
                        .dtype = (xl_dtype)c->a},
                 gain = {.row_stride = cols,
                         .col_stride = 1,
                         .dtype = (xl_dtype)c->gain};
    to->rows = rows;
    to->cols = cols;
    to->kind = XL_NORM_RMS;
    to->eps = 1;
    xl__row_view(&src, rows, cols, c->a_aligned, &to->src);
    xl__row_view(&dst, rows, cols, 0, &to->dst);
    xl__row_view(&gain, 1, cols, c->gain_aligned, &to->scale);
    to->scale.mem.svm = (void *)1;
}

/* Call slots of the norm's steps are those of the product; A' is behind
 * `first` elements of the workspace. No product has lists, or an offset of B.
 */
static void move_args(struct xl__step *s, size_t first)
{
    enum { NO_MEM = XL__GEMM_AT, ZERO = XL__GEMM_OFF_B };
    static const unsigned mem[] =
        {[XL__MEM_SCRATCH] = XL__MEM_SCRATCH,  [XL__ROWS_SRC] = XL__QGEMM_A,
         [XL__ROWS_DST] = XL__MEM_SCRATCH,     [XL__ROWS_ADDED] = NO_MEM,
         [XL__NORM_MEM_GAIN] = XL__QGEMM_GAIN, [XL__NORM_MEM_BIAS] = NO_MEM,
         [XL__NORM_MEM_SUM] = NO_MEM},
                          value[] = {[XL__ROWS_SCALE] = XL__GEMM_ALPHA,
                                     [XL__ROWS_OFF_SRC] = XL__QGEMM_OFF_A,
                                     [XL__ROWS_OFF_DST] = ZERO,
                                     [XL__ROWS_OFF_ADDED] = ZERO,
                                     [XL__NORM_OFF_GAIN] = XL__QGEMM_OFF_GAIN,
                                     [XL__NORM_OFF_BIAS] = ZERO,
                                     [XL__NORM_OFF_SUM] = ZERO,
                                     [XL__NORM_EPS] = XL__QGEMM_EPS};
    for (unsigned i = 0; i < s->n_args; i++) {
        struct xl__arg *a = &s->args[i];
        if (a->kind == XL__ARG_MEM) {
            a->slot = mem[a->slot];
        } else if (a->kind == XL__ARG_VALUE_U64 ||
                   a->kind == XL__ARG_VALUE_F32) {
            if (a->slot == XL__ROWS_OFF_DST)
                a->as.u = first;
            a->slot = value[a->slot];
        }
    }
}

/* norm_ref needs no local memory. */
static xl_status plan_norm(const struct xl__limits *l,
                           const struct xl__qgemm_canonical *c,
                           struct xl__plan *p)
{
    struct xl__params params = {.source = "model"};
    xl_norm whole = {.size = 0}, n = {.size = 0};
    describe_norm(c, c->of_m, c->of_k, &whole);
    describe_norm(c, c->m, c->k, &n);
    xl__norm_online.choose(l, &whole, &params);
    const xl_status status = xl__norm_plan_any_length(l, &n, &params, p);
    if (status != XL_UNSUPPORTED)
        return status;
    return xl__norm_ref.refuses(l, &n) ? XL_UNSUPPORTED
                                       : xl__norm_ref.plan(l, &n, &params, p);
}

static const char *note_of(const struct xl__qgemm_canonical *c,
                           const struct xl__variant *of)
{
    if (c->activations)
        return "A is normed by a step, then quantised by one";
    if (of == &xl__qgemm_skinny)
        return "A is normed by a step, since its gain is not at a multiple "
               "of 16 bytes";
    return of == &xl__qgemm_gemv
               ? "A is normed by a step: within the kernel it takes longer "
                 "than a launch, or too many registers"
               : "A is normed by a step of its own";
}

/* Plans the variant behind the first n steps of p, which take `ns` and make A'
 * of type `type`, with that in A's place. *first: its element in the
 * workspace. */
static xl_status plan_behind(const struct xl__limits *l,
                             const struct xl__qgemm_canonical *c,
                             xl_dtype type, const struct xl__params *params,
                             const struct xl__variant *of, double ns,
                             struct xl__plan *p, size_t *first)
{
    enum { ALIGN = 256, WORD = 16 };
    static const unsigned in_a[2] = {XL__QGEMM_A, XL__QGEMM_OFF_A},
                          in_scratch[2] = {XL__MEM_SCRATCH, XL__GEMM_OFF_B};
    xl_status status = XL_OK;
    struct xl__qgemm_canonical dense = *c;
    const size_t elem = xl_dtype_bytes(type), line = c->k * elem;
    const unsigned n = p->n_steps;
    const size_t own = p->scratch_bytes;
    dense.a = type;
    dense.norm = dense.gain = dense.gain_aligned = 0;
    dense.row_stride_a = c->m == 1 ? 0 : c->k;
    dense.a_aligned = WORD;
    TRY(of->plan(l, &dense, params, p));
    const size_t begin =
        xl__round_up(xl__max_size(own, p->scratch_bytes),
                     line / (size_t)xl__gcd(line, ALIGN) * ALIGN);
    *first = begin / elem;
    for (unsigned i = 0; i < n; i++)
        p->step[i].is_aid = true;
    for (unsigned i = n; i < p->n_steps; i++)
        xl__qgemm_move_operand(&p->step[i], in_a, in_scratch, *first);
    p->scratch_bytes = begin + c->m * line;
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    p->est_ns += ns;
fail:
    return status;
}

xl_status xl__qgemm_plan_normed(const struct xl__limits *l,
                                const struct xl__qgemm_canonical *c,
                                const struct xl__params *params,
                                const struct xl__variant *of,
                                struct xl__plan *p)
{
    xl_status status = XL_OK;
    size_t first;
    TRY(plan_norm(l, c, p));
    const unsigned n = p->n_steps;
    TRY(plan_behind(l, c, (xl_dtype)c->a, params, of, p->est_ns, p, &first));
    for (unsigned i = 0; i < n; i++)
        move_args(&p->step[i], first);
    p->note = note_of(c, of);
fail:
    return status;
}

bool xl__qgemm_is_narrow(const struct xl__qgemm_canonical *c)
{
    return c->a != XL_F32 && !c->activations;
}

xl_status xl__qgemm_plan_widened(const struct xl__limits *l,
                                 const struct xl__qgemm_canonical *c,
                                 const struct xl__params *params,
                                 const struct xl__variant *of,
                                 struct xl__plan *p)
{
    enum { GROUP = 16, SPAN = 128, WORD = 16 };
    xl_status status = XL_OK;
    size_t first;
    const char *bound;
    const size_t wg = xl__is(l, XL__F_is_cpu)
                          ? 1
                          : xl__floor_power_of_two(xl__most_items(l, GROUP));
    const size_t elem = xl_dtype_bytes((xl_dtype)c->a);
    const struct xl__cost work = {.flop_frac = 1,
                                  .bytes_frac = 1,
                                  .fill = 1,
                                  .serial_bytes =
                                      (double)c->m * (double)c->k *
                                      (double)(elem + sizeof(float)),
                                  .launches = 1};
    struct xl__step *s =
        xl__plan_add(p, "quantised/widen.cl", "qgemm_widen", 0, 0);
    xl__step_set_3d(s, wg, wg * xl__ceil_div(c->k, SPAN), c->m, 1);
    s->slice_dim = 1;
    xl__define(s, "TA", (long)c->a);
    xl__define(s, "WG", (long)wg);
    xl__define(s, "SPAN", SPAN);
    xl__define(s, "VA", c->a_aligned < WORD ? 1 : (long)(WORD / elem));
    xl__arg_mem(s, XL__QGEMM_A);
    xl__arg_value_u64(s, XL__QGEMM_OFF_A);
    xl__arg_u64(s, c->row_stride_a);
    xl__arg_u32(s, c->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, 0);
    TRY(plan_behind(l, c, XL_F32, params, of, xl__work_ns(l, &work, &bound), p,
                    &first));
    s->args[s->n_args - 1].as.u = first;
    p->note = "A is converted to f32 by a step of its own";
fail:
    return status;
}
