/* SPDX-License-Identifier: Apache-2.0 */
/* Flop and byte counts, and the time model:
 *
 *   t = max(flop / flop rate, bytes / memory rate) / fill
 *       + serial bytes / memory rate + launches * launch time
 *
 * with the rates that the device's facts state. */
#include "ops/path/cost.h"

#include <math.h>

#include "ops/path/batch.h"

static const double guess_launch_ns = 8e3;

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

double xl__softmax_flop(const xl_softmax *s)
{
    static const double per_element = 5; /* scale, max, sub, exp, div */
    return per_element * (double)s->rows * (double)s->cols;
}

double xl__softmax_bytes(const xl_softmax *s)
{
    return 2.0 * (double)s->rows * (double)s->cols *
           (double)xl_dtype_bytes(s->src.dtype);
}

double xl__work_ns(const struct xl__limits *l, const struct xl__cost *w,
                   const char **bound)
{
    static const double least_fill = 1e-3, ns_per_s = 1e9;
    const double fill = fmax(w->fill, least_fill);
    const double fma =
        w->flop / (xl__rate_fma(l) * w->flop_frac * fill) * ns_per_s;
    const double memory =
        w->bytes / (xl__rate_memory(l) * w->bytes_frac) * ns_per_s;
    const double launch =
        w->launches * xl__num_or(l, XL__F_launch_ns, guess_launch_ns);
    const double apart = w->serial_bytes / xl__rate_memory(l) * ns_per_s;
    const double work = fmax(fma, memory);
    *bound = launch > work ? "launch" : fma >= memory ? "fma" : "memory";
    return work + apart + launch;
}

void xl__estimate(const struct xl__limits *l, const struct xl__cost *w,
                  struct xl__plan *plan)
{
    plan->est_ns = xl__work_ns(l, w, &plan->bound);
}

const char *xl__iterations_refused(const struct xl__limits *l, double iterations)
{
    /* Also false where no bound is known. */
    if (iterations > xl__num(l, XL__F_max_loop_turns))
        return "the device ends loops before this many iterations; use a "
               "smaller "
               "size";
    return NULL;
}
