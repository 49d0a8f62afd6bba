/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows of A: W is dequantised into the workspace and multiplied by the
 * variants of GEMM. f32 weights are exact; f16 and bf16 are rounded to A's
 * type, which the caller allows.
 *
 *   workspace   what GEMM's plan needs, then W, n x k, dense */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/gemm/gemm.h"
#include "ops/path/cost.h"
#include "ops/quantised/qconvert.h"

static size_t row_elems_bytes(const struct xl__qgemm_canonical *c)
{
    return c->k * xl_dtype_bytes((xl_dtype)c->a);
}

void xl__qgemm_product(const struct xl__qgemm_canonical *c,
                       struct xl__gemm_canonical *to)
{
    const xl_dtype in = (xl_dtype)c->a;
    const size_t size = xl_dtype_bytes(in);
    const xl_gemm g = {.a = {.row_stride = c->m == 1 ? c->k : c->row_stride_a,
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
    const size_t base[] = {c->a_aligned / size, 0,
                           c->c_aligned / xl_dtype_bytes((xl_dtype)c->c)};
    to->g.m = g.m;
    to->g.n = g.n;
    to->g.k = g.k;
    to->g.alpha = g.alpha;
    to->g.batch = g.batch;
    to->snippet = c->epilogue;
    xl__gemm_set_views(&g, base, &to->g);
}

static const char *refuse(const struct xl__limits *l, const void *desc,
                          const struct xl__variant *of)
{
    const struct xl__qgemm_canonical *c = desc;
    struct xl__gemm_canonical product = {.g = {0}};
    if (c->activations)
        return "it multiplies floats, not activations as bytes";
    if (c->a != XL_F32 && !c->is_fast)
        return "weights would be rounded to A's type: XL_ACCURACY_FAST allows "
               "it";
    if ((double)c->n * (double)row_elems_bytes(c) >
        xl__num_or(l, XL__F_max_alloc_bytes, 0) / 2)
        return "the dequantised weights do not fit into a buffer";
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

/* B is in the workspace from this element on: a whole line. */
static void place_weights(struct xl__step *s, size_t first)
{
    for (unsigned i = 0; i < s->n_args; i++) {
        struct xl__arg *a = &s->args[i];
        if (a->kind == XL__ARG_MEM && a->slot == XL__GEMM_B)
            a->slot = XL__MEM_SCRATCH;
        else if (a->kind == XL__ARG_VALUE_U64 && a->slot == XL__GEMM_OFF_B)
            a->as.u += first;
        else if (a->kind == XL__ARG_COORDS && a->slot == XL__GEMM_OFF_B)
            a->as.at[1] += (uint32_t)(first / a->line);
    }
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    enum { ALIGN = 256 };
    const struct xl__qgemm_canonical *c = desc;
    const size_t size = xl_dtype_bytes((xl_dtype)c->a);
    struct xl__gemm_canonical product = {.g = {0}};
    struct xl__step *const s = add_dequantise(l, c, p);
    xl__qgemm_product(c, &product);
    const xl_status status = of->plan(l, &product, params, p);
    if (status != XL_OK)
        return status;
    const size_t line = row_elems_bytes(c);
    const size_t even = line / (size_t)xl__gcd(line, ALIGN) * ALIGN;
    const size_t first = xl__round_up(p->scratch_bytes, even) / size;
    p->scratch_bytes = first * size + c->n * line;
    s->args[s->n_args - 1].as.u = first;
    for (unsigned i = 1; i < p->n_steps; i++)
        place_weights(&p->step[i], first);
    const struct xl__cost work = {.flop_frac = 1,
                                  .bytes_frac = 1,
                                  .fill = 1,
                                  .serial_bytes = xl__qgemm_weight_bytes(c) +
                                                  (double)c->n * (double)line,
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
VARIANT(cpu, .engine = XL_ENGINE_FMA)
VARIANT(simt, .engine = XL_ENGINE_FMA)
