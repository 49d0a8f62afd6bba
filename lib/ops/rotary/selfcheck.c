/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of the rotary embedding: two sequences, of lengths of
 * their own where the call has these, of which the second has tokens before
 * its first position; pages in another order; guard bytes. The host rotates in
 * double; the tolerance is the Accuracy line of xl_rotary_run(). What no token
 * names must be as it was. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/attention/case.h"
#include "ops/rotary/rotary.h"

enum { GUARD = 0x25, GUARD_ELEMS = 64, SEED = 1 };
static const double base = 500, scale = 0.75, magnitude = 1.25, eps = 0.25;

/* More than the items of a group have. */
static size_t group_heads(const struct xl__rotary_canonical *c,
                          const struct xl__params *p)
{
    return (size_t)p->value[XL__ROTARY_RH] * (size_t)p->value[XL__ROTARY_WG] *
               (size_t)p->value[XL__ROTARY_VW] / (c->d_head / 2) +
           1;
}

void xl__rotary_shrink(const void *canonical,
                       const struct xl__variant *variant,
                       const struct xl__params *params, void *small)
{
    enum { HEADS = 3, TOKENS = 5, KEYS = 21, PAGE_ROWS = 16 };
    struct xl__rotary_canonical *to = small;
    size_t size[XL__HEADS_DIMS];
    (void)variant;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    to->n_batch = xl__min_size(to->n_batch, 2);
    to->n_heads = xl__min_size(to->n_heads,
                               xl__max_size(HEADS, group_heads(to, params)));
    to->n_kv_heads = xl__min_size(to->n_kv_heads, 2);
    to->n_q = xl__min_size(to->n_q, TOKENS);
    to->n_kv = KEYS;
    if (to->kv_rows.page_rows)
        to->kv_rows.page_rows = PAGE_ROWS;
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++) {
        xl__rotary_sizes(to, i, to->n_kv, 0, 0, size);
        if (xl__rotary_has(to, i))
            xl__heads_case_shrink(&to->view[i], size, false);
    }
}

/* -- sequences ------------------------------------------------------------ */

static size_t tokens_of(const struct xl__rotary_canonical *c, size_t b)
{
    return c->q_rows.kind ? c->n_q - xl__min_size(b, c->n_q) : c->n_q;
}

/* Fewer than the tokens of the second sequence. */
static size_t keys_of(const struct xl__rotary_canonical *c, size_t b)
{
    enum { LESS = 2 };
    return !c->kv_rows.kind || b == 0 ? c->n_kv
                                      : c->n_q - xl__min_size(LESS, c->n_q);
}

static size_t page_of(const struct xl__rotary_canonical *c, size_t b,
                      size_t page)
{
    const size_t n = xl__ceil_div(c->n_kv, c->kv_rows.page_rows);
    return n * c->n_batch - 1 - (b * n + page);
}

static size_t start_of(const struct xl__rotary_canonical *c, unsigned view,
                       size_t b)
{
    size_t start = 0;
    for (size_t s = 0; s < b; s++)
        start += view == XL__ROTARY_Q_ROWS ? tokens_of(c, s) : keys_of(c, s);
    return start;
}

static size_t number_at(const struct xl__rotary_canonical *c, unsigned view,
                        const size_t at[XL__HEADS_DIMS])
{
    const size_t b = at[XL__HEADS_BATCH];
    const bool is_q = view == XL__ROTARY_Q_ROWS;
    if (view == XL__ROTARY_PAGES)
        return page_of(c, b, at[XL__HEADS_ROW]);
    if ((is_q ? c->q_rows.kind : c->kv_rows.kind) == XL_ROWS_PACKED)
        return start_of(c, view, b);
    return is_q ? tokens_of(c, b) : keys_of(c, b);
}

/* Where a token of sequence b, or a row of its cache, is in memory. */
static size_t element_of(const struct xl__rotary_canonical *c, unsigned view,
                         const size_t at[XL__HEADS_DIMS])
{
    const bool is_q = xl__rotary_is_of_q(view);
    const size_t kind = is_q ? c->q_rows.kind : c->kv_rows.kind;
    size_t to[XL__HEADS_DIMS];
    memcpy(to, at, sizeof to);
    if (kind == XL_ROWS_PACKED) {
        to[XL__HEADS_ROW] +=
            start_of(c, is_q ? XL__ROTARY_Q_ROWS : XL__ROTARY_KV_ROWS,
                     at[XL__HEADS_BATCH]);
        to[XL__HEADS_BATCH] = 0;
    } else if (kind == XL_ROWS_PAGED) {
        const size_t rows = c->kv_rows.page_rows;
        to[XL__HEADS_BATCH] =
            page_of(c, at[XL__HEADS_BATCH], at[XL__HEADS_ROW] / rows);
        to[XL__HEADS_ROW] %= rows;
    }
    return xl__heads_case_at(&c->view[view], to);
}

/* -- values --------------------------------------------------------------- */

/* What a case owns: of each element of a result's memory the value and the
 * bound of its error. */
struct rotary_case {
    struct element {
        double value, error;
    } * of[XL__ROTARY_N_VIEWS];
    unsigned view[XL__ROTARY_N_VIEWS]; /* of each result */
};

static void clear_own(void *own)
{
    struct rotary_case *o = own;
    for (unsigned i = 0; o && i < XL__ROTARY_N_VIEWS; i++)
        free(o->of[i]);
    free(o);
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const struct xl__rotary_canonical *c = t->of;
    const struct rotary_case *own = t->own;
    const unsigned view = own->view[result];
    const struct element *e =
        &own->of[view][xl__heads_case_at(&c->view[view], at)];
    *error = e->error;
    return e->value;
}

static double load(const struct xl__selfcheck_case *t, unsigned view,
                   size_t element)
{
    const struct xl__rotary_canonical *c = t->of;
    return xl__dtype_load(t->before[XL__ROTARY_MEM + view], element,
                          c->view[view].dtype);
}

/* Norm of a row of q or k. */
static void norm(const struct xl__selfcheck_case *t, unsigned view,
                 struct element *row)
{
    static const double fixed = 0x1p-17;
    const struct xl__rotary_canonical *c = t->of;
    double square = 0;
    for (size_t i = 0; i < c->d_head; i++)
        square += row[i].value * row[i].value / (double)c->d_head;
    for (size_t i = 0; i < c->d_head; i++) {
        const size_t at[XL__HEADS_DIMS] = {0, 0, 0, i};
        row[i].value *= load(t, view, xl__heads_case_at(&c->view[view], at)) /
                        sqrt(square + eps);
        row[i].error = fixed * fabs(row[i].value);
    }
}

static void rotate(const struct xl__selfcheck_case *t, double position,
                   struct element *row)
{
    static const double fixed = 0x1p-20, of_angle = 0x1p-46;
    const struct xl__rotary_canonical *c = t->of;
    const size_t half = c->d_rotary / 2;
    const bool is_split = c->pairs == XL_ROTARY_HALVES;
    for (size_t j = 0; j < half; j++) {
        struct element *x = row + (is_split ? j : 2 * j),
                       *y = row + (is_split ? j + half : 2 * j + 1);
        double angle = position * scale *
                       pow(base, -2.0 * (double)j / (double)c->d_rotary);
        if (xl__rotary_has(c, XL__ROTARY_FACTORS)) {
            const size_t at[XL__HEADS_DIMS] = {0, 0, 0, j};
            angle /= load(t, XL__ROTARY_FACTORS,
                          xl__heads_case_at(&c->view[XL__ROTARY_FACTORS], at));
        }
        const double a = x->value, b = y->value;
        x->value = magnitude * (a * cos(angle) - b * sin(angle));
        y->value = magnitude * (a * sin(angle) + b * cos(angle));
        x->error = y->error =
            ((fixed + fabs(angle) * of_angle) * (fabs(a) + fabs(b)) +
             x->error + y->error) *
            magnitude;
    }
}

/* The row as it is stored as codes, and their scale. */
static struct element narrow(xl_dtype dtype, bool has_scale, size_t n,
                             struct element *row)
{
    static const double largest_i8 = 127, largest_f8 = 448, fixed = 0x1p-20,
                        half_step = 0.5;
    const double largest = dtype == XL_I8 ? largest_i8 : largest_f8;
    struct element s = {1, 0};
    double most = 0, error = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(row[i].value));
        error = fmax(error, row[i].error);
    }
    if (has_scale)
        s = (struct element){most / largest,
                             error / largest + fixed * most / largest};
    for (size_t i = 0; i < n; i++) {
        const double x = row[i].value / s.value;
        row[i].value = fmax(-largest, fmin(largest, x));
        row[i].error = row[i].error / s.value + largest * s.error / s.value +
                       (has_scale ? fixed * largest : 0);
        row[i].error += dtype == XL_I8
                            ? half_step
                            : xl__dtype_unit_roundoff(dtype) *
                                      (fabs(row[i].value) + row[i].error) +
                                  xl__dtype_underflow(dtype);
    }
    return s;
}

/* Sets what the token stores of a head of q, k or v. */
static void expect_row(struct xl__selfcheck_case *t, unsigned src,
                       const size_t token[XL__HEADS_DIMS], size_t key,
                       struct element *row)
{
    const struct xl__rotary_canonical *c = t->of;
    struct rotary_case *own = t->own;
    const unsigned dst = src + XL__ROTARY_Q_OUT;
    const unsigned scales = src + XL__ROTARY_K_SCALES - XL__ROTARY_K;
    const xl_dtype dtype = c->view[dst].dtype;
    const bool is_q = src == XL__ROTARY_Q;
    size_t at[XL__HEADS_DIMS];
    memcpy(at, token, sizeof at);
    for (size_t i = 0; i < c->d_head; i++) {
        at[XL__HEADS_COL] = i;
        row[i] = (struct element){load(t, src, element_of(c, src, at)), 0};
    }
    if (src != XL__ROTARY_V && xl__rotary_has(c, XL__ROTARY_Q_NORM))
        norm(t, is_q ? XL__ROTARY_Q_NORM : XL__ROTARY_K_NORM, row);
    if (src != XL__ROTARY_V)
        rotate(t, (double)key, row);
    if (!is_q)
        at[XL__HEADS_ROW] = key;
    if (dtype == XL_I8 || dtype == XL_F8E4M3) {
        const bool has_scale = xl__rotary_has(c, scales);
        const struct element s = narrow(dtype, has_scale, c->d_head, row);
        at[XL__HEADS_COL] = 0;
        if (has_scale)
            own->of[scales][element_of(c, scales, at)] = s;
    } else {
        for (size_t i = 0; i < c->d_head; i++)
            row[i].error += dtype == XL_F32
                                ? 0
                                : xl__dtype_unit_roundoff(dtype) *
                                          (fabs(row[i].value) + row[i].error) +
                                      xl__dtype_underflow(dtype);
    }
    for (size_t i = 0; i < c->d_head; i++) {
        at[XL__HEADS_COL] = i;
        own->of[dst][element_of(c, dst, at)] = row[i];
    }
}

static xl_status expect_all(struct xl__selfcheck_case *t)
{
    const struct xl__rotary_canonical *c = t->of;
    struct element *row = xl__calloc(c->d_head, sizeof *row);
    if (!row)
        return XL_NO_MEMORY;
    for (size_t b = 0; b < c->n_batch; b++) {
        const size_t n = tokens_of(c, b), keys = keys_of(c, b);
        for (size_t i = 0; i < n; i++) {
            if (i + keys < n)
                continue;
            for (unsigned src = XL__ROTARY_Q; src <= XL__ROTARY_V; src++) {
                const size_t heads =
                    src == XL__ROTARY_Q ? c->n_heads : c->n_kv_heads;
                for (size_t h = 0; xl__rotary_has(c, src) && h < heads; h++) {
                    const size_t token[XL__HEADS_DIMS] = {b, h, i, 0};
                    expect_row(t, src, token, i + keys - n, row);
                }
            }
        }
    }
    free(row);
    return XL_OK;
}

/* -- memory --------------------------------------------------------------- */

static void fill_view(const struct xl__rotary_canonical *c, void *memory,
                      const size_t size[XL__HEADS_DIMS], unsigned view)
{
    const xl_heads *x = &c->view[view];
    const bool is_list = view >= XL__ROTARY_Q_ROWS && view <= XL__ROTARY_PAGES;
    struct xl__rng rng;
    size_t at[XL__HEADS_DIMS];
    xl__rng_seed(&rng, SEED + view);
    for (at[0] = 0; at[0] < size[0]; at[0]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[2] = 0; at[2] < size[2]; at[2]++)
                for (at[3] = 0; at[3] < size[3]; at[3]++)
                    xl__dtype_store(memory, xl__heads_case_at(x, at), x->dtype,
                                    is_list ? (double)number_at(c, view, at)
                                    : view == XL__ROTARY_FACTORS
                                        ? 1 + xl__rng_uniform(&rng)
                                        : xl__rng_normal(&rng));
}

static xl_status make_result(struct xl__selfcheck_case *t, unsigned view,
                             const size_t size[XL__HEADS_DIMS], size_t elems)
{
    const struct xl__rotary_canonical *c = t->of;
    const xl_heads *x = &c->view[view];
    struct rotary_case *own = t->own;
    own->view[t->n_results] = view;
    struct xl__case_result *r =
        xl__case_add_result(t, xl__rotary_names[view], XL__ROTARY_MEM + view,
                            x->dtype, xl__heads_case_grain(x));
    own->of[view] = xl__calloc(elems, sizeof *own->of[view]);
    if (!r || !own->of[view])
        return XL_NO_MEMORY;
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        xl__case_add_dim(r, size[d], x->stride[d]);
    for (size_t i = 0; i < elems; i++)
        own->of[view][i].value = load(t, view, i);
    return XL_OK;
}

static xl_status make_view(struct xl__selfcheck_case *t, unsigned view)
{
    const struct xl__rotary_canonical *c = t->of;
    const xl_heads *x = &c->view[view];
    size_t size[XL__HEADS_DIMS], last[XL__HEADS_DIMS];
    xl__rotary_sizes(c, view, c->n_kv, 0, 0, size);
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        last[d] = size[d] - 1;
    const size_t elems = xl__heads_case_at(x, last) + 1 + GUARD_ELEMS;
    void *memory =
        xl__case_add_memory(t, XL__ROTARY_MEM + view, elems, x->dtype, GUARD);
    t->call.value[XL__ROTARY_OFF + view].u = xl__heads_case_grain(x);
    if (!memory)
        return XL_NO_MEMORY;
    if (xl__rotary_is_result(view))
        return make_result(t, view, size, elems);
    fill_view(c, memory, size, view);
    return XL_OK;
}

/* A full-size case has no number of keys: there is one more than tokens. */
xl_status xl__rotary_case_init(void *small, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    struct xl__rotary_canonical *c = small;
    struct rotary_case *own = xl__calloc(1, sizeof *own);
    if (c->n_kv == 0)
        c->n_kv = c->n_q + 1;
    t->of = small;
    t->expect = expected_value;
    t->own = own;
    t->clear_own = clear_own;
    TRY(own ? XL_OK : XL_NO_MEMORY);
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++) {
        if (xl__rotary_has(c, i))
            TRY(make_view(t, i));
    }
    t->call.value[XL__ROTARY_MAGNITUDE].f = magnitude;
    t->call.value[XL__ROTARY_EPS].f = eps;
    t->call.value[XL__ROTARY_N_KV].u = c->n_kv;
    xl__rotary_set_rates(base, scale, c->d_rotary, &t->call);
    if (!t->is_timed)
        TRY(expect_all(t));
fail:
    return status;
}
