/* SPDX-License-Identifier: Apache-2.0 */
/* What a device left, beside the host's evaluation: every element of every
 * output, and every byte that no output covers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "lib/expr/device/expr_host.h"

static bool is_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

/* Rounding keeps order, so what may be stored lies between the two ends of
 * the interval, rounded: no tolerance of the stored type is needed. */
static bool is_within(double got, struct xl__interval want, xl_dtype dtype)
{
    union { float f; int32_t i; unsigned char b; uint16_t h; } end;
    const double flushed = is_float(dtype) ? 0x1p-126 : 0;
    const double err = want.err > 0 || fabs(want.x) < flushed
                           ? want.err + flushed
                           : 0;
    if (isnan(want.x))
        return isnan(got);
    case_store(&end, 0, dtype, want.x - err);
    if (!(got >= case_load(&end, 0, dtype)))
        return false;
    case_store(&end, 0, dtype, want.x + err);
    return got <= case_load(&end, 0, dtype);
}

struct comparison {
    struct expr_case *c;
    const struct host_graph *h;
    unsigned short *by[CASE_NAMES]; /* per byte: the output that wrote it
                                       last, from 1 */
};

static bool compare_element(struct comparison *cmp, unsigned o, size_t e)
{
    struct expr_case *c = cmp->c;
    const struct xl__output *out = &cmp->h->graph.output[o];
    const struct xl__node *node = &cmp->h->graph.node[out->node];
    const xl_tensor *t = &c->binding[out->binding].tensor;
    const unsigned buffer = c->buffer[out->binding];
    const size_t at = t->offset + out->offset +
                      host_place(&out->shape, e, out->shape.n_dims,
                                 out->shape.size, out->stride);
    size_t dense[XL_MAX_DIMS], step = 1;
    if (cmp->by[buffer][at * xl_dtype_bytes(t->dtype)] != o + 1)
        return true;
    for (unsigned d = node->shape.n_dims; d-- > 0;) {
        dense[d] = step;
        step *= node->shape.size[d];
    }
    const struct xl__interval want = cmp->h->node[out->node][host_place(
        &out->shape, e, node->shape.n_dims, node->shape.size, dense)];
    const double got = case_load(c->mem[buffer].after, at, t->dtype);
    c->n_elems++;
    if (!(want.err < INFINITY) || (c->loses_nan && isnan(want.x)))
        return true;
    c->n_tight += !(want.err > 1e-3 + 1e-3 * fabs(want.x));
    if (is_within(got, want, t->dtype))
        return true;
    fprintf(stderr,
            "seed %llu: %s, element %zu: %.9g, not %.9g (+-%.3g) as %s\n%s\n",
            (unsigned long long)c->seed, c->name[out->binding], e, got, want.x,
            want.err, xl_dtype_name(t->dtype), xl__str_text(&c->text));
    return false;
}

static void mark(struct comparison *cmp, unsigned o)
{
    const struct expr_case *c = cmp->c;
    const struct xl__output *out = &cmp->h->graph.output[o];
    const xl_tensor *t = &c->binding[out->binding].tensor;
    const size_t size = xl_dtype_bytes(t->dtype);
    const size_t n = xl__shape_elems(&out->shape);
    for (size_t e = 0; e < n; e++) {
        const size_t at = t->offset + out->offset +
                          host_place(&out->shape, e, out->shape.n_dims,
                                     out->shape.size, out->stride);
        for (size_t byte = at * size; byte < (at + 1) * size; byte++)
            cmp->by[c->buffer[out->binding]][byte] = (unsigned short)(o + 1);
    }
}

/* A bool is written as 0 or 1, so its byte says more than its value. */
static bool bools_are_clean(const struct comparison *cmp)
{
    for (unsigned o = 0; o < cmp->h->graph.n_outputs; o++) {
        const struct xl__output *out = &cmp->h->graph.output[o];
        const unsigned b = cmp->c->buffer[out->binding];
        if (cmp->c->binding[out->binding].tensor.dtype != XL_BOOL)
            continue;
        for (size_t i = 0; i < cmp->c->mem[b].bytes; i++)
            if (cmp->by[b][i] == o + 1 && cmp->c->mem[b].after[i] > 1) {
                fprintf(stderr, "a bool is %u\n", cmp->c->mem[b].after[i]);
                return false;
            }
    }
    return true;
}

static bool guards_hold(const struct comparison *cmp)
{
    const struct expr_case *c = cmp->c;
    for (unsigned b = 0; b < c->n_buffers; b++)
        for (size_t i = 0; i < c->mem[b].bytes; i++)
            if (!cmp->by[b][i] && c->mem[b].before[i] != c->mem[b].after[i]) {
                fprintf(stderr,
                        "seed %llu: buffer %u: byte %zu of %zu, which no "
                        "output covers, was written\n%s\n",
                        (unsigned long long)c->seed, b, i, c->mem[b].bytes,
                        xl__str_text(&c->text));
                return false;
            }
    return true;
}

static bool download(struct expr_case *c, xl_queue *q)
{
    bool right = case_works(c, q, xl_queue_finish(q), "finish");
    for (unsigned b = 0; right && b < c->n_buffers; b++)
        right = case_works(c, q,
                      xl_buffer_read(q, c->mem[b].mem, 0, c->mem[b].after,
                                     c->mem[b].bytes),
                      "read");
    return right;
}

bool case_compare(struct expr_case *c, xl_queue *q)
{
    struct host_graph h = {.node = NULL};
    struct comparison cmp = {.c = c, .h = &h};
    bool right = download(c, q) && host_evaluate(c, &h);
    c->n_elems = c->n_tight = 0;
    for (unsigned b = 0; right && b < c->n_buffers; b++) {
        cmp.by[b] = xl__calloc(c->mem[b].bytes, sizeof *cmp.by[b]);
        right = cmp.by[b] != NULL;
    }
    for (unsigned o = 0; right && o < h.graph.n_outputs; o++)
        mark(&cmp, o);
    for (unsigned o = 0; right && o < h.graph.n_outputs; o++)
        for (size_t e = 0;
             right && e < xl__shape_elems(&h.graph.output[o].shape); e++)
            right = compare_element(&cmp, o, e);
    right = right && bools_are_clean(&cmp) && guards_hold(&cmp);
    for (unsigned b = 0; b < c->n_buffers; b++)
        free(cmp.by[b]);
    host_clear(&h);
    return right;
}
