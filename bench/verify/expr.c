/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of an expression case: all tensors are between guard zones, and
 * each element of each result is compared with the reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "verify/verify.h"

struct expr_run {
    struct expr_spec spec;
    struct guarded g[XL_EXPR_MAX_BINDINGS];
    struct expr_host host;
};

/* Fill the inputs; tensors that are only written keep the guards, NaN. */
static xl_status prepare_buffers(struct expr_run *t, xl_queue *q,
                                 struct xl__rng *rng)
{
    xl_status status = XL_OK;
    t->host.spec = &t->spec;
    for (unsigned k = 0; k < t->spec.n; k++) {
        const struct expr_name *n = &t->spec.name[k];
        struct guarded_layout at = {.pad = n->pad, .off = n->off,
                                    .dtype = n->dtype};
        struct guarded *g = &t->g[k];
        if (n->is_scalar)
            continue;
        expr_stored(n, &at.rows, &at.cols);
        TRY(guarded_init(g, &at));
        for (size_t i = 0; n->is_input && i < g->rows; i++)
            for (size_t j = 0; j < g->cols; j++)
                guarded_set(g, i, j, expr_random(n, j, rng));
        TRY(guarded_upload(g, q));
        t->host.data[k] = g->host;
        t->host.first[k] = g->first;
    }
fail:
    return status;
}

static xl_status run_case(const struct expr_run *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    cl_mem mem[XL_EXPR_MAX_BINDINGS];
    xl_binding bindings[XL_EXPR_MAX_BINDINGS];
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bindings,
                               .n_bindings = t->spec.n, .variant = variant};
    xl_expr *e = NULL;
    for (unsigned k = 0; k < t->spec.n; k++)
        mem[k] = t->g[k].mem;
    expr_bindings(&t->spec, mem, t->host.first, bindings);
    TRY(xl_expr_compile(q, t->spec.text, &args, &e));
    TRY(xl_expr_run(q, e, &args, NULL));
    TRY(xl_queue_finish(q));
fail:
    xl_expr_destroy(e);
    return status;
}

/* Every element of result k. */
static void check_elements(const struct expr_run *t, const struct expr_case *c,
                           unsigned k, struct check_result *out)
{
    const struct expr_name *n = &t->spec.name[k];
    const struct guarded *g = &t->g[k];
    const size_t elems = expr_elems(n);
    for (size_t at = 0; at < elems && out->right; at++) {
        const struct expr_point p = expr_point_at(&t->host, k, at);
        const struct num expected = c->ref(&p);
        struct checked_element e = {
            .name = n->name, .dtype = n->dtype, .expected = expected.x};
        e.i = n->n_dims > 1 ? at / n->size[n->n_dims - 1] : 0;
        e.j = n->n_dims > 1 ? at % n->size[n->n_dims - 1] : at;
        e.tol = expr_tolerance(expected, n->dtype);
        const struct ref_mat got = guarded_back(g, false);
        check_read(&e, g, &got, 0, expr_offset(n, p.i));
        check_element(out, &e);
    }
}

xl_status verify_expr(xl_queue *q, const struct expr_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out)
{
    char why[EXPR_WHY_CAP];
    struct xl__rng rng;
    xl_status status = XL_OK;
    struct expr_run *t = calloc(1, sizeof *t);
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(t ? XL_OK : XL_NO_MEMORY);
    TRY(expr_case_spec(c, false, &t->spec, why) ? XL_OK : XL_BAD_ARGUMENT);
    TRY(prepare_buffers(t, q, &rng));
    TRY(run_case(t, q, variant));
    for (unsigned k = 0; k < t->spec.n; k++) {
        const struct expr_name *n = &t->spec.name[k];
        if (n->is_scalar)
            continue;
        TRY(guarded_download(&t->g[k], q));
        check_guards(out, &t->g[k], n->name, n->is_result);
        if (n->is_result)
            check_elements(t, c, k, out);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    for (unsigned k = 0; t && k < t->spec.n; k++)
        guarded_clear(&t->g[k]);
    free(t);
    return status;
}
