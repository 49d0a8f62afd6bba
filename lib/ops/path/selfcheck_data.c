/* SPDX-License-Identifier: Apache-2.0 */
/* Elements and epilogues of self-check cases on the host. */
#include "ops/path/selfcheck_data.h"

#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"

enum { SEED_OPERANDS = 64 };

/* -- elements ------------------------------------------------------------ */

size_t xl__case_sample_step(double flop)
{
    const double every = ceil(flop / 2 / XL__CASE_TERMS);
    return every > 1 ? (size_t)every : 1;
}

double xl__case_draw(struct xl__rng *rng, xl_dtype dtype)
{
    const double x = 2 * xl__rng_uniform(rng) - 1;
    switch (dtype) {
    case XL_I32:
    case XL_I8:
        return (double)(int)(x * 128);
    case XL_U8:
        return (double)(int)((x + 1) * 128);
    case XL_BOOL:
        return x > 0;
    case XL_F8E4M3:
    case XL_F8E5M2:
        return (double)(int)(x * 8) / 4;
    default:
        return x;
    }
}

double xl__case_alpha(xl_dtype in, xl_dtype y)
{
    if (y == XL_I32)
        return 3;
    return in == XL_I8 ? 1.5 / 64 : in == XL_U8 ? 1.5 / 4096 : 1.5;
}

bool xl__case_agrees(double got, double want, double error, xl_dtype dtype)
{
    return fabs(got - want) <= error || got == want || isinf(error) ||
           (isnan(got) && isnan(want)) ||
           (isinf(got) &&
            xl__dtype_round(want + copysign(error, got), dtype) == got);
}

/* -- epilogues ----------------------------------------------------------- */

/* Strides of each class: 0, 1 or larger. Returns the number of elements that
 * they span. */
static size_t shrink_strides(const size_t size[XL__N_ALONG],
                             struct xl__epilogue_operand *o)
{
    size_t reach = 1;
    for (unsigned along = XL__N_ALONG; along-- > 0;) {
        if (o->stride[along] == 1)
            reach = size[along] + 1;
    }
    for (unsigned along = XL__N_ALONG; along-- > 0;) {
        if (o->stride[along] <= 1)
            continue;
        o->stride[along] = xl__round_up(
            xl__max_size(2, reach), o->is_aligned ? XL__EPILOGUE_ALIGN : 1);
        reach = o->stride[along] * size[along] + 1;
    }
    return reach;
}

static xl_status make_tensor(struct xl__epilogue_operand *o,
                             const size_t size[XL__N_ALONG], unsigned k,
                             unsigned slot, struct xl__selfcheck_case *t)
{
    struct xl__rng rng;
    const size_t n = shrink_strides(size, o);
    xl__rng_seed(&rng, SEED_OPERANDS + k);
    void *base = xl__case_add_memory(t, slot, n, o->dtype, 0);
    if (!base)
        return XL_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        xl__dtype_store(base, i, o->dtype, xl__case_draw(&rng, o->dtype));
    return XL_OK;
}

xl_status xl__case_epilogue_init(struct xl__case_epilogue *ep,
                                 const struct xl__epilogue_text **snippet,
                                 const size_t size[XL__N_ALONG], unsigned mem,
                                 unsigned value, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    if (!*snippet)
        return XL_OK;
    ep->snippet = **snippet;
    ep->mem = mem;
    *snippet = &ep->snippet;
    for (unsigned k = 0; k < ep->snippet.n_operands; k++) {
        struct xl__epilogue_operand *o = &ep->snippet.operand[k];
        const unsigned at = value + k * XL__EPILOGUE_VALUES + XL__EPILOGUE_AT;
        if (o->is_scalar) {
            ep->scalar[k] = o->dtype == XL_I32 ? 3 : 0.75;
            t->call.value[at].f = ep->scalar[k];
            continue;
        }
        TRY(make_tensor(o, size, k, mem + k, t));
        for (unsigned i = 0; i < XL__N_ALONG; i++)
            t->call.value[at + XL__EPILOGUE_STRIDE + i].u = o->stride[i];
    }
fail:
    return status;
}

double xl__case_epilogue_expected(const struct xl__case_epilogue *ep,
                                  const struct xl__selfcheck_case *t,
                                  const size_t at[XL__N_ALONG], xl_dtype dtype,
                                  double y, double y_error, double *error)
{
    double operand[XL__EPILOGUE_OPERANDS], want;
    for (unsigned k = 0; k < ep->snippet.n_operands; k++) {
        const struct xl__epilogue_operand *o = &ep->snippet.operand[k];
        size_t i = 0;
        for (unsigned along = 0; along < XL__N_ALONG; along++)
            i += at[along] * o->stride[along];
        operand[k] = o->is_scalar
                         ? ep->scalar[k]
                         : xl__dtype_load(t->before[ep->mem + k], i, o->dtype);
    }
    xl__epilogue_text_eval(&ep->snippet, dtype, y, y_error, operand,
                           ep->scalar_error, &want, error);
    return want;
}
