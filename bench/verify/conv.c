/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a convolution case: each element of a small result, a sample
 * of a large one, and the guards around all buffers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cases/conv_cases.h"
#include "verify/verify.h"

/* Above this number of multiplications a sample is checked. */
static const double MAX_FULL_PRODUCTS = 2e7;
enum { SAMPLE = 4096 };

struct conv_check {
    const struct conv_case *c;
    struct guarded in, filters, result, norm[CONV_N_NORM];
    struct conv_ref ref;
    struct ref_mat got;
};

static xl_status prepare_buffers(struct conv_check *t, struct xl__rng *rng)
{
    const struct conv_case *c = t->c;
    const xl_conv d = conv_descriptor(c);
    const size_t groups = c->groups ? c->groups : 1;
    size_t in[4], out[4];
    conv_in_size(c, in);
    conv_out_size(c, out);
    const struct conv_lines li = conv_lines(d.in.layout, in);
    const struct conv_lines lo = conv_lines(d.out.layout, out);
    const struct guarded_layout at[] = {
        {li.rows, li.cols, c->gap, c->off, c->in},
        {c->k, c->c / groups * c->r * c->s, 0, c->off, c->in},
        {lo.rows, lo.cols, c->gap, c->off, c->out}};
    const struct guarded_layout line = {1, c->k, 0, 0, XL_F32};
    xl_status status = XL_OK;
    TRY(guarded_init(&t->in, &at[0]));
    TRY(guarded_init(&t->filters, &at[1]));
    TRY(guarded_init(&t->result, &at[2]));
    /* With alpha 0 they remain NaN, since they must not be read. */
    if (c->alpha != 0) {
        guarded_fill(&t->in, rng);
        guarded_fill(&t->filters, rng);
    }
    /* With beta 0 the old result remains NaN, since it must not be read. */
    if (c->beta != 0)
        guarded_fill(&t->result, rng);
    for (unsigned i = 0; c->has_norm && i < CONV_N_NORM; i++) {
        TRY(guarded_init(&t->norm[i], &line));
        guarded_fill(&t->norm[i], rng);
    }
fail:
    return status;
}

/* List the buffers that the case has; return their number. */
static unsigned list_buffers(struct conv_check *t,
                             struct guarded *all[3 + CONV_N_NORM])
{
    unsigned n = 0;
    all[n++] = &t->in;
    all[n++] = &t->filters;
    all[n++] = &t->result;
    for (unsigned i = 0; t->c->has_norm && i < CONV_N_NORM; i++)
        all[n++] = &t->norm[i];
    return n;
}

static xl_status run_case(struct conv_check *t, xl_queue *q,
                          const char *variant)
{
    struct guarded *all[3 + CONV_N_NORM];
    const unsigned n = list_buffers(t, all);
    const struct conv_case *c = t->c;
    xl_conv d = conv_descriptor(c);
    char text[EPILOGUE_CAP];
    xl_binding bindings[CONV_N_NORM];
    cl_mem norm[CONV_N_NORM];
    size_t in[4], out[4];
    xl_status status = XL_OK;
    for (unsigned i = 0; i < n; i++)
        TRY(guarded_upload(all[i], q));
    conv_in_size(c, in);
    conv_out_size(c, out);
    d.in = conv_images(t->in.mem, t->in.first, t->in.ld, d.in.layout, in,
                       c->in);
    d.out = conv_images(t->result.mem, t->result.first, t->result.ld,
                        d.out.layout, out, c->out);
    d.filters.mem.buf = t->filters.mem;
    d.filters.offset = t->filters.first;
    d.variant = variant;
    for (unsigned i = 0; i < CONV_N_NORM; i++)
        norm[i] = t->norm[i].mem;
    conv_norm_bind(&d, norm, bindings);
    for (unsigned i = 0; c->has_norm && i < CONV_N_NORM; i++)
        bindings[i].tensor.offset = t->norm[i].first;
    epilogue_text(c->out, conv_norm_text, text);
    if (c->has_norm)
        d.epilogue = (xl_epilogue){text, bindings, CONV_N_NORM};
    TRY(xl_conv_run(q, &d, NULL));
    for (unsigned i = 0; i < n; i++)
        TRY(guarded_download(all[i], q));
fail:
    return status;
}

static void set_reference(struct conv_check *t)
{
    t->ref.c = t->c;
    t->ref.in = guarded_host(&t->in, false);
    t->ref.filters = guarded_host(&t->filters, false);
    t->ref.old = guarded_host(&t->result, false);
    t->got = guarded_back(&t->result, false);
    for (unsigned i = 0; t->c->has_norm && i < CONV_N_NORM; i++)
        t->ref.norm[i] = (const float *)t->norm[i].host + t->norm[i].first;
}

static void check_conv_element(const struct conv_check *t, size_t i,
                               struct check_result *out)
{
    struct checked_element e = {.name = "out", .i = i, .dtype = t->c->out};
    size_t at[4];
    conv_indices(t->c, i, at);
    e.i = at[0] * t->c->k + at[1];
    e.j = i % (t->result.rows * t->result.cols / (t->c->n * t->c->k));
    e.expected = conv_expected(&t->ref, at, &e.tol);
    e.got = conv_out_at(t->c, &t->got, at);
    check_element(out, &e);
}

static void check_all(const struct conv_check *t, struct xl__rng *rng,
                      struct check_result *out)
{
    const struct conv_case *c = t->c;
    const size_t elems = t->result.rows * t->result.cols;
    const size_t groups = c->groups ? c->groups : 1;
    const double work = (double)elems * (double)(c->c / groups) *
                        (double)c->r * (double)c->s;
    if (work <= MAX_FULL_PRODUCTS) {
        for (size_t i = 0; i < elems && out->right; i++)
            check_conv_element(t, i, out);
        return;
    }
    check_conv_element(t, elems - 1, out);
    for (unsigned s = 0; s < SAMPLE; s++)
        check_conv_element(t, (size_t)xl__rng_below(rng, elems), out);
    for (size_t i = 0; i < elems && out->right; i++) {
        const struct checked_element e = {
            "out",
            i / t->result.cols,
            i % t->result.cols,
            ref_at(&t->got, i / t->result.cols, i % t->result.cols),
            0,
            1,
            c->out};
        if (isnan(e.got))
            check_element(out, &e);
    }
}

xl_status verify_conv(struct xl_queue *q, const struct conv_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out)
{
    struct conv_check t = {.c = c};
    struct guarded *all[3 + CONV_N_NORM];
    struct xl__rng rng;
    xl_status status = XL_OK;

    check_init(out);
    if (is_other_without_sum(c->alpha, variant, "conv_ref"))
        return XL_UNSUPPORTED;
    xl__rng_seed(&rng, seed);
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    set_reference(&t);
    check_all(&t, &rng, out);
    check_guards(out, &t.in, "in", false);
    check_guards(out, &t.filters, "filters", false);
    check_guards(out, &t.result, "out", true);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    for (unsigned i = 0, n = list_buffers(&t, all); i < n; i++)
        guarded_clear(all[i]);
    return status;
}
