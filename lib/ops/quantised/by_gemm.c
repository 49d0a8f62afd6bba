/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows of A by the variants of GEMM.
 *
 * W is dequantised into the workspace: f32 weights are exact, and A is
 * converted to f32 ahead of the product; f16 and bf16 are rounded to A's type,
 * which the caller allows.
 *
 *   workspace   what GEMM's plan needs, then W, n x k, dense
 *
 * Where A and W are bytes, integers or E4M3, with a scale for each row, these
 * are multiplied: A is quantised into the workspace, W is where the caller has
 * it, and an epilogue multiplies the sum, an i32 or an f32, by both scales,
 * before the caller's own.
 *
 *   workspace   what GEMM's plan needs, then A, m x k, dense, then its scales
 */
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "base/str.h"
#include "ops/gemm/gemm.h"
#include "ops/path/cost.h"
#include "ops/quantised/qconvert.h"

/* -- the product ---------------------------------------------------------- */

/* The type of its factors, and the bytes of one of their rows. */
static xl_dtype factor_type(const struct xl__qgemm_canonical *c)
{
    if (!c->scaled)
        return c->is_fast ? (xl_dtype)c->a : XL_F32;
    return c->activations == XL_ACTIVATIONS_F8 ? XL_F8E4M3 : XL_I8;
}

/* Are A's rows in the workspace, as f32? */
static bool is_widened(const struct xl__qgemm_canonical *c)
{
    return !c->scaled && factor_type(c) != (xl_dtype)c->a;
}

static size_t line_bytes(const struct xl__qgemm_canonical *c)
{
    return c->k * xl_dtype_bytes(factor_type(c));
}

void xl__qgemm_product(const struct xl__qgemm_canonical *c,
                       struct xl__gemm_canonical *to)
{
    const xl_dtype in = factor_type(c);
    const bool is_dense = c->scaled || is_widened(c) || c->m == 1;
    const xl_gemm g = {.a = {.row_stride = is_dense ? c->k : c->row_stride_a,
                             .col_stride = 1,
                             .dtype = in,
                             .mem.svm = c->has_svm ? to : NULL},
                       .b = {.row_stride = 1, .col_stride = c->k, .dtype = in},
                       .c = {.row_stride = c->m == 1 ? c->n * c->col_stride_c
                                                     : c->row_stride_c,
                             .col_stride = c->col_stride_c,
                             .dtype = (xl_dtype)c->c,
                             .mem.svm = c->has_svm ? to : NULL},
                       .m = c->m,
                       .n = c->n,
                       .k = c->k,
                       .alpha = 1,
                       .batch.count = 1};
    const size_t base[] = {c->scaled || is_widened(c) ? 0 : c->a_aligned,
                           c->scaled ? c->w_aligned : 0, c->c_aligned};
    to->g.m = g.m;
    to->g.n = g.n;
    to->g.k = g.k;
    to->g.alpha = g.alpha;
    to->g.accuracy =
        c->scaled && c->is_fast ? XL_ACCURACY_FAST : XL_ACCURACY_FULL;
    to->g.batch = g.batch;
    to->snippet = c->scaled ? c->scaled : c->epilogue;
    xl__gemm_set_views(&g, base, &to->g);
}

/* Three names that do not occur in the caller's text: those of the sum and of
 * the scales. */
xl_status xl__qgemm_scaled_text(xl_queue *q, const xl_qshape *w,
                                const struct xl__epilogue_request *own,
                                const struct xl__epilogue_text **out)
{
    enum { NAME = 16 };
    const xl_epilogue *ep = own->epilogue;
    struct xl__epilogue_request want = *own;
    size_t *const m = &want.size[XL__ALONG_ROWS],
                  *const n = &want.size[XL__ALONG_COLS];
    xl_binding all[XL__EPILOGUE_OPERANDS];
    char sum[NAME], rows[NAME], cols[NAME];
    struct xl__str text = {0};
    unsigned i = 0;
    const bool is_one =
        w->format == XL_FP8 && xl__qshape_group_rows(w) >= w->rows;
    *m = xl__max_size(*m, 2); /* not 1, whose scales would broadcast */
    *n = xl__max_size(*n, 2);
    do
        xl__strfmt(sum, sizeof sum, "xl%u", i++);
    while (ep->expr && strstr(ep->expr, sum));
    xl__strfmt(rows, sizeof rows, "%sr", sum);
    xl__strfmt(cols, sizeof cols, "%sc", sum);
    xl__str_printf(&text, "%s%s * (%s * %s)", ep->expr ? "y = " : "", sum,
                   rows, cols);
    if (ep->expr)
        xl__str_printf(&text, "; %s", ep->expr);
    if (ep->n_bindings > 0)
        memcpy(all, ep->bindings, ep->n_bindings * sizeof *all);
    all[ep->n_bindings] = (xl_binding){
        .name = rows,
        .tensor = {
            .n_dims = 2, .size = {*m, 1}, .stride = {1, 1}, .dtype = XL_F32}};
    all[ep->n_bindings + 1] = (xl_binding){
        .name = cols,
        .tensor = {.n_dims = 1,
                   .size = {is_one ? 1 : *n},
                   .stride = {1},
                   .dtype = xl_qformat_layout(w->format)->scale_dtype}};
    const xl_epilogue scaled = {text.text, all, ep->n_bindings + 2};
    want.epilogue = &scaled;
    want.value = sum;
    xl_status status =
        text.broken ? xl__error_set(&q->error, XL_NO_MEMORY, "an epilogue")
                    : xl__epilogue_text_get(q, &want, out);
    xl__str_clear(&text);
    if (status == XL_BAD_ARGUMENT) { /* too long with scales: there is none */
        xl__error_reset(&q->error);
        status = XL_OK;
    }
    return status;
}

/* -- what is supported ---------------------------------------------------- */

static const char *refuse(const struct xl__limits *l, const void *desc,
                          const struct xl__variant *of)
{
    const struct xl__qgemm_canonical *c = desc;
    static const size_t exact = (size_t)1 << 17; /* 2^14 k: in 32 bits */
    struct xl__gemm_canonical product = {.g = {0}};
    if (c->pair)
        return xl__qgemm_pair_refused(c);
    if (c->activations && !c->scaled)
        return "it multiplies activations as bytes by int8 and fp8 alone, "
               "with "
               "scales by row";
    if (factor_type(c) == XL_I8 && c->k >= exact)
        return "sums of products of bytes would exceed 32 bits";
    if (is_widened(c) && of->on.engine == XL_ENGINE_MATRIX)
        return "weights would be rounded to A's type: XL_ACCURACY_FAST allows "
               "it";
    if ((double)(c->scaled ? c->m : c->n) * (double)line_bytes(c) >
        xl__num_or(l, XL__F_max_alloc_bytes, 0) / 2)
        return "the operand in the workspace does not fit into a buffer";
    xl__qgemm_product(c, &product);
    return of->refuses(l, &product);
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__variant *of, struct xl__params *out)
{
    struct xl__gemm_canonical product = {.g = {0}};
    xl__qgemm_product(desc, &product);
    of->choose(l, &product, out);
}

/* W, element by element, as the first step; its last argument is the element
 * of the workspace at which W begins. */
static struct xl__step *add_dequantise(const struct xl__limits *l,
                                       const struct xl__qgemm_canonical *c,
                                       struct xl__plan *p)
{
    enum { GROUP = 64, WORD = 16 };
    const size_t wg = xl__is(l, XL__F_is_cpu)
                          ? 1
                          : xl__floor_power_of_two(xl__most_items(l, GROUP));
    struct xl__step *s = xl__qmat_add_dequantise(c, wg, WORD, p);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, c->k);
    xl__arg_u64(s, 0);
    return s;
}

void xl__qgemm_move_operand(struct xl__step *s, const unsigned from[2],
                            const unsigned to[2], size_t first)
{
    for (unsigned i = 0; i < s->n_args; i++) {
        struct xl__arg *a = &s->args[i];
        const bool is_offset =
            a->kind == XL__ARG_VALUE_U64 || a->kind == XL__ARG_COORDS;
        if (a->kind == XL__ARG_MEM && a->slot == from[0]) {
            a->slot = to[0];
        } else if (is_offset && a->slot == from[1]) {
            a->slot = to[1];
            if (a->kind == XL__ARG_COORDS)
                a->as.at[1] += (uint32_t)(first / a->line);
            else
                a->as.u += first;
        }
    }
}

/* No call of qgemm sets the offset of B. */
static const unsigned in_a[2] = {XL__GEMM_A, XL__GEMM_OFF_A},
                      in_b[2] = {XL__GEMM_B, XL__GEMM_OFF_B},
                      in_scratch[2] = {XL__MEM_SCRATCH, XL__GEMM_OFF_B},
                      in_blocks[2] = {XL__QGEMM_BLOCKS, XL__QGEMM_OFF_BLOCKS},
                      in_scales[2] = {XL__QGEMM_SCALES, XL__QGEMM_OFF_SCALES};

/* Operand k of the text of `scaled`, at `to`; its strides are constants. */
static void move_scale(struct xl__step *s, const struct xl__epilogue_text *t,
                       unsigned k, const unsigned to[2], size_t first)
{
    const unsigned at = XL__GEMM_OPERAND_VALUE + k * XL__EPILOGUE_VALUES;
    const unsigned from[2] = {XL__GEMM_OPERAND + k, at + XL__EPILOGUE_AT};
    xl__qgemm_move_operand(s, from, to, first);
    for (unsigned i = 0; i < s->n_args; i++) {
        struct xl__arg *a = &s->args[i];
        const unsigned along = a->slot - at - XL__EPILOGUE_STRIDE; /* wraps */
        if (a->kind == XL__ARG_VALUE_U64 && along < XL__N_ALONG) {
            a->kind = XL__ARG_U64;
            a->as.u = t->operand[k].stride[along];
        }
    }
}

/* The steps of the product read W, dequantised, or A and scales from the
 * workspace, from these bytes on. */
static void place_operands(const struct xl__qgemm_canonical *c, size_t first,
                           size_t scales, struct xl__step *from,
                           const struct xl__step *end)
{
    for (struct xl__step *s = from; s < end; s++) {
        if (!c->scaled) {
            xl__qgemm_move_operand(s, in_b, in_scratch,
                                   first / xl_dtype_bytes(factor_type(c)));
            continue;
        }
        const unsigned k = c->scaled->n_operands;
        xl__qgemm_move_operand(s, in_b, in_blocks, 0);
        xl__qgemm_move_operand(s, in_a, in_scratch, first);
        move_scale(s, c->scaled, k - 2, in_scratch, scales / sizeof(float));
        move_scale(s, c->scaled, k - 1, in_scales, 0);
    }
}

/* The one that takes the plans of this variant of GEMM. */
static const struct xl__variant *variant_of(const struct xl__variant *gemm)
{
    static const struct xl__variant *const all[] = {
        &xl__qgemm_gemm_wgmma, &xl__qgemm_gemm_mma,  &xl__qgemm_gemm_dpas,
        &xl__qgemm_gemm_cpu,   &xl__qgemm_gemm_simt, &xl__qgemm_gemm_tiled};
    unsigned i = 0;
    while (all[i]->own != gemm)
        i++;
    return all[i];
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    enum { ALIGN = 256 };
    const struct xl__qgemm_canonical *c = desc;
    struct xl__gemm_canonical product = {.g = {0}};
    if (c->norm)
        return xl__qgemm_plan_normed(l, c, params, variant_of(of), p);
    if (is_widened(c))
        return xl__qgemm_plan_widened(l, c, params, variant_of(of), p);
    struct xl__step *const s = c->scaled ? xl__qgemm_add_quantise_rows(l, c, p)
                                         : add_dequantise(l, c, p);
    s->is_aid = true;
    xl__qgemm_product(c, &product);
    const xl_status status = of->plan(l, &product, params, p);
    if (status != XL_OK)
        return status;
    const size_t line = line_bytes(c), lines = c->scaled ? c->m : c->n;
    const size_t even = line / (size_t)xl__gcd(line, ALIGN) * ALIGN;
    const size_t first = xl__round_up(p->scratch_bytes, even);
    const size_t scales = first + lines * line;
    struct xl__arg *const last = &s->args[s->n_args - 1];
    if (c->scaled)
        last[-1].as.u = first;
    last->as.u = c->scaled ? scales : first / xl_dtype_bytes((xl_dtype)c->a);
    p->scratch_bytes = scales + (c->scaled ? c->m * sizeof(float) : 0);
    place_operands(c, first, scales, s + 1, &p->step[p->n_steps]);
    const double read = c->scaled ? (double)c->m * (double)c->k *
                                        (double)xl_dtype_bytes((xl_dtype)c->a)
                                  : xl__qgemm_weight_bytes(c);
    const struct xl__cost work = {.flop_frac = 1,
                                  .bytes_frac = 1,
                                  .fill = 1,
                                  .serial_bytes =
                                      read + (double)lines * (double)line,
                                  .launches = 1};
    const char *bound;
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    p->est_ns += xl__work_ns(l, &work, &bound);
    return XL_OK;
}

/* -- the variants, one for each of GEMM's --------------------------------- */

/* `on`: as the variant of GEMM has it. */
#define VARIANT(method, ...)                                                  \
    XL__BY_GEMM(qgemm_gemm_, method, .on = {__VA_ARGS__},                     \
                .own = &xl__gemm_##method)
VARIANT(wgmma, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANT(mma, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANT(dpas, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANT(cpu, .engine = XL_ENGINE_FMA)
VARIANT(simt, .engine = XL_ENGINE_FMA)
VARIANT(tiled, .engine = XL_ENGINE_FMA)
