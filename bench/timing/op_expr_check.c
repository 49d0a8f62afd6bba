/* SPDX-License-Identifier: Apache-2.0 */
/* Is a timed expression right? A case of the table is compared with its
 * reference in double; of a text of the user's nobody knows the result, so its
 * two variants are compared with each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "timing/expr.h"
#include "verify/verify.h"

/* -- with the reference --------------------------------------------------- */

enum { USUAL_SAMPLES = 256 };

static xl_status check_sample(xl_queue *q, const struct bench_work *w,
                              const struct expr_host *host, unsigned k,
                              struct check_result *out)
{
    const struct expr_job *job = w->c;
    const struct expr_name *n = &job->spec.name[k];
    const size_t elems = expr_elems(n), size = xl_dtype_bytes(n->dtype);
    const size_t wanted = job->c->samples ? job->c->samples : USUAL_SAMPLES;
    struct xl__rng rng;
    xl_status status = XL_OK;
    xl__rng_seed(&rng, w->data->seed + k);
    for (size_t i = 0; i < xl__min_size(wanted, elems); i++) {
        const size_t at =
            i == 0 ? elems - 1 : (size_t)xl__rng_below(&rng, elems);
        const struct expr_point p = expr_point_at(host, k, at);
        const struct num want = job->c->ref(&p);
        double word;
        TRY(xl_buffer_read(q, w->data->mem[k],
                           (n->off + expr_place(n, p.i)) * size, &word,
                           size));
        struct seen e = {.name = n->name, .j = at, .want = want.x,
                         .tol = expr_tolerance(want, n->dtype),
                         .dtype = n->dtype};
        e.got = ref_load(&word, 0, n->dtype);
        check_element(out, &e);
    }
fail:
    return status;
}

static xl_status check_reference(xl_queue *q, const struct bench_work *w,
                                 struct check_result *out)
{
    const struct expr_job *job = w->c;
    struct expr_host host = {.spec = &job->spec};
    xl_status status = XL_OK;
    for (unsigned k = 0; k < job->spec.n; k++) {
        host.data[k] = w->data->host[k];
        host.first[k] = job->spec.name[k].off;
    }
    for (unsigned k = 0; k < job->spec.n; k++)
        if (job->spec.name[k].is_result)
            TRY(check_sample(q, w, &host, k, out));
fail:
    return status;
}

/* -- with the other variant ----------------------------------------------- */

enum { BLOCKS = 64, BLOCK_ELEMS = 64 };

/* A sample of one result: blocks at random places of its memory. */
struct sample {
    char data[BLOCKS][BLOCK_ELEMS * sizeof(double)];
    size_t elems; /* of each block */
};

static xl_status take_sample(xl_queue *q, const struct bench_work *w,
                             unsigned k, struct sample *out)
{
    const struct bench_buffer *x = &w->data->buffer[k];
    const size_t size = xl_dtype_bytes(x->dtype);
    struct xl__rng rng;
    xl_status status = XL_OK;
    xl__rng_seed(&rng, w->data->seed + k);
    out->elems = xl__min_size(BLOCK_ELEMS, x->elems);
    for (unsigned b = 0; b < BLOCKS; b++) {
        const size_t last = x->elems - out->elems;
        const size_t at =
            b == 0 ? last : (size_t)xl__rng_below(&rng, last + 1);
        TRY(xl_buffer_read(q, w->data->mem[k], at * size, out->data[b],
                           out->elems * size));
    }
fail:
    return status;
}

static double root_mean_square(const struct sample *s, xl_dtype dtype)
{
    double sum = 0;
    size_t n = 0;
    for (unsigned b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < s->elems; i++) {
            const double x = ref_load(s->data[b], i, dtype);
            sum += isfinite(x) ? x * x : 0;
            n++;
        }
    return sqrt(sum / (double)n);
}

static void count(const xl_expr_kernel *kernel, void *arg)
{
    (void)kernel;
    ++*(unsigned *)arg;
}

/* Operations of the text: what unfused makes a kernel each. */
static xl_status count_operations(xl_queue *q, const struct expr_running *r,
                                  unsigned *out)
{
    xl_expr_args args = r->args;
    args.variant = EXPR_UNFUSED;
    *out = 0;
    return xl_expr_kernels(q, r->e, &args, count, out);
}

/* What two variants' results are compared by. */
struct likeness {
    const char *name;
    xl_dtype dtype;
    double each; /* relative error of an operation */
    double rms;  /* of the result */
};

/* k operations on one path, each off by at most 16 ulp (OpenCL C 7.4, pow;
 * with fast math by 2^-11), then one rounding to the type, on either side:
 * 2 (k 32 u + u_type) (|x| + rms). The root mean square of the result stands
 * for what cancelled on the way. */
static double likely_error(const struct likeness *l, double x)
{
    return 2 * (l->each + ref_roundoff(l->dtype)) * (fabs(x) + l->rms) +
           2 * ref_floor(l->dtype);
}

static bool is_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

/* Integers and bools are the same, but for the few that a rounding on the way
 * carries over an edge: one in a thousand. */
static void compare(const struct likeness *l, const struct sample *got,
                    const struct sample *other, struct check_result *out)
{
    static const size_t few = 1000;
    size_t spare = BLOCKS * got->elems / few;
    for (size_t at = 0; at < BLOCKS * got->elems; at++) {
        const size_t b = at / got->elems, i = at % got->elems;
        struct seen e = {.name = l->name, .i = b, .j = i, .dtype = l->dtype};
        e.got = ref_load(got->data[b], i, l->dtype);
        e.want = ref_load(other->data[b], i, l->dtype);
        e.tol = is_float(l->dtype) ? likely_error(l, e.want) : 0;
        const bool is_spared = !is_float(l->dtype) && e.got != e.want && spare;
        spare -= is_spared;
        if (!is_spared)
            check_element(out, &e);
    }
}

static xl_status run_other(xl_queue *q, const struct bench_work *w)
{
    const struct expr_running *r = w->state;
    xl_status status = XL_OK;
    xl_expr_args args = r->args;
    const bool is_fused =
        !w->variant || strcmp(w->variant, EXPR_FUSED) == 0;
    args.variant = is_fused ? EXPR_UNFUSED : EXPR_FUSED;
    TRY(bench_data_reset(q, w->data));
    TRY(xl_expr_run(q, r->e, &args, NULL));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status check_variants(xl_queue *q, const struct bench_work *w,
                                struct check_result *out)
{
    static const double ulp_16 = 32 * 0x1p-24, fast = 0x1p-11;
    const struct expr_job *job = w->c;
    unsigned n_operations;
    xl_status status = XL_OK;
    struct sample *got = xl__calloc(job->spec.n, sizeof *got);
    struct sample *other = xl__calloc(1, sizeof *other);
    TRY(got && other ? XL_OK : XL_NO_MEMORY);
    TRY(count_operations(q, w->state, &n_operations));
    for (unsigned k = 0; k < job->spec.n; k++)
        if (job->spec.name[k].is_result)
            TRY(take_sample(q, w, k, &got[k]));
    TRY(run_other(q, w));
    for (unsigned k = 0; k < job->spec.n; k++) {
        const struct expr_name *n = &job->spec.name[k];
        struct likeness l = {n->name, n->dtype, n_operations * ulp_16, 0};
        if (!n->is_result)
            continue;
        TRY(take_sample(q, w, k, other));
        l.each = job->fast_math ? n_operations * fast : l.each;
        l.rms = root_mean_square(other, n->dtype);
        compare(&l, &got[k], other, out);
    }
fail:
    free(got);
    free(other);
    return status;
}

/* -------------------------------------------------------------------------- */

xl_status expr_check(xl_queue *q, const struct bench_work *w,
                     struct check_result *out)
{
    const struct expr_job *job = w->c;
    check_init(out);
    xl_status status = job->c && !job->fast_math
                           ? check_reference(q, w, out)
                           : check_variants(q, w, out);
    if (status == XL_OK && !out->right)
        status = XL_WRONG_RESULT;
    return status;
}
