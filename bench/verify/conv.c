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
    struct guarded in, filters, out, norm[CONV_N_NORM];
    struct guarded *result; /* one of the three */
    struct conv_ref ref;
    struct ref_mat got;
};

static xl_status prepare_buffers(struct conv_check *t, struct xl__rng *rng)
{
    const struct conv_case *c = t->c;
    const xl_conv d = conv_descriptor(c);
    size_t in[4], out[4];
    conv_in_size(c, in);
    conv_out_size(c, out);
    const struct conv_lines lf = conv_filter_lines(c);
    const struct conv_lines li = conv_lines(d.in.layout, in);
    const struct conv_lines lo = conv_lines(d.out.layout, out);
    const struct guarded_layout at[] = {
        {li.rows, li.cols, c->gap, c->off, d.in.dtype},
        {lf.rows, lf.cols, 0, c->off, d.filters.dtype},
        {lo.rows, lo.cols, c->gap, c->off, d.out.dtype}};
    struct guarded *const all[] = {&t->in, &t->filters, &t->out};
    const struct guarded_layout line = {1, c->k, 0, 0, XL_F32};
    xl_status status = XL_OK;
    t->result = c->pass == XL_CONV_BACKWARD_DATA      ? &t->in
                : c->pass == XL_CONV_BACKWARD_FILTERS ? &t->filters
                                                      : &t->out;
    for (unsigned i = 0; i < 3; i++) {
        TRY(guarded_init(all[i], &at[i]));
        /* What must not be read remains NaN: with alpha 0 the operands, with
         * beta 0 the old result. */
        if (all[i] == t->result ? c->beta != 0 : c->alpha != 0)
            guarded_fill(all[i], rng);
    }
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
    all[n++] = &t->out;
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
                       d.in.dtype);
    d.out = conv_images(t->out.mem, t->out.first, t->out.ld, d.out.layout, out,
                        d.out.dtype);
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
    t->ref.out = guarded_host(&t->out, false);
    t->got = guarded_back(t->result, false);
    for (unsigned i = 0; t->c->has_norm && i < CONV_N_NORM; i++)
        t->ref.norm[i] = (const float *)t->norm[i].host + t->norm[i].first;
}

static const char *result_name(const struct conv_case *c)
{
    return c->pass == XL_CONV_BACKWARD_DATA      ? "in"
           : c->pass == XL_CONV_BACKWARD_FILTERS ? "filters"
                                                 : "out";
}

static void check_conv_element(const struct conv_check *t, size_t i,
                               struct check_result *out)
{
    struct checked_element e = {
        .name = result_name(t->c), .i = i, .dtype = t->c->out};
    size_t at[4], size[4], i_line, j_line;
    conv_result_size(t->c, size);
    conv_indices(t->c, i, at);
    e.i = at[0] * size[1] + at[1];
    e.j = at[2] * size[3] + at[3];
    e.expected = conv_expected(&t->ref, at, &e.tol);
    conv_result_place(t->c, at, &i_line, &j_line);
    check_read(&e, t->result, &t->got, i_line, j_line);
    check_element(out, &e);
}

static void check_all(const struct conv_check *t, struct xl__rng *rng,
                      struct check_result *out)
{
    const struct conv_case *c = t->c;
    const size_t elems = t->result->rows * t->result->cols;
    size_t size[4];
    conv_out_size(c, size);
    const double work = (double)(size[0] * size[1] * size[2] * size[3]) *
                        (double)conv_filter_lines(c).cols;
    if (work <= MAX_FULL_PRODUCTS) {
        for (size_t i = 0; i < elems && out->right; i++)
            check_conv_element(t, i, out);
        return;
    }
    check_conv_element(t, elems - 1, out);
    for (unsigned s = 0; s < SAMPLE; s++)
        check_conv_element(t, (size_t)xl__rng_below(rng, elems), out);
    for (size_t i = 0; i < elems && out->right; i++) {
        struct checked_element e = {.name = result_name(c),
                                    .i = i / t->result->cols,
                                    .j = i % t->result->cols,
                                    .tol = 1,
                                    .dtype = c->out};
        check_read(&e, t->result, &t->got, e.i, e.j);
        if (isnan(e.got))
            check_element(out, &e);
    }
}

static const char *const references[] = {
    [XL_CONV_FORWARD] = "conv_ref",
    [XL_CONV_BACKWARD_DATA] = "conv_data_ref",
    [XL_CONV_BACKWARD_FILTERS] = "conv_filters_ref"};

xl_status verify_conv(struct xl_queue *q, const struct conv_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out)
{
    struct conv_check t = {.c = c};
    struct guarded *all[3 + CONV_N_NORM];
    struct xl__rng rng;
    xl_status status = XL_OK;

    check_init(out);
    if (is_other_without_sum(c->alpha, variant, references[c->pass]))
        return XL_UNSUPPORTED;
    xl__rng_seed(&rng, seed);
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    set_reference(&t);
    check_all(&t, &rng, out);
    check_guards(out, &t.in, "in", t.result == &t.in);
    check_guards(out, &t.filters, "filters", t.result == &t.filters);
    check_guards(out, &t.out, "out", t.result == &t.out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    for (unsigned i = 0, n = list_buffers(&t, all); i < n; i++)
        guarded_clear(all[i]);
    return status;
}
