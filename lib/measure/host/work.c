/* SPDX-License-Identifier: Apache-2.0 */
/* Work of a chosen length on words that were brought: what runs beside copies,
 * and what one queue hands to another. Its result depends on every word and
 * every turn, so it also proves in which order things came. */
#include <stdlib.h>

#include "base/alloc.h"
#include "measure/host/transfers.h"

enum { WG = 256, WORD = 4 };

/* Slots of a call. */
enum { IN = 1, OUT = 2, FIRST = 0, TURNS = 1 };

xl_status xl__work_create(struct xl__probing *p, xl_queue *q, size_t words,
                          struct xl__work *w)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t most_wg = xl__min_size(xl__min_size(WG, p->most_wg), words);
    size_t most = scalar ? 1 : words; /* groups */
    /* A power of two, which shares out even words with none left over. */
    while (scalar && 2 * most <= XL__CPU_GROUPS * units)
        most *= 2;
    *w = (struct xl__work){.wg = 1};
    while (!scalar && 2 * w->wg <= most_wg)
        w->wg *= 2;
    w->count = xl__ceil_div(words, most * w->wg);
    const size_t groups = xl__ceil_div(words, w->count * w->wg);
    w->words = groups * w->count * w->wg;
    w->ready = xl__calloc(1, sizeof *w->ready);
    if (!w->ready)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "a plan"));
    w->ready->plan.n_steps = 1;
    struct xl__step *s = &w->ready->plan.step[0];
    s->source = "probe/overlap.cl";
    s->kernel = "work";
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = w->wg;
    s->global[0] = groups * w->wg;
    xl__define(s, "WG", (long)w->wg);
    xl__arg_mem(s, IN);
    xl__arg_mem(s, OUT);
    xl__arg_value_u32(s, FIRST);
    xl__arg_u32(s, w->count);
    xl__arg_value_u32(s, TURNS);
    TRY(xl__cached_plan_build(q, w->ready));
fail:
    return status;
}

void xl__work_destroy(struct xl__work *w)
{
    if (w->ready)
        xl__cached_plan_clear(w->ready);
    free(w->ready);
    *w = (struct xl__work){0};
}

xl_status xl__work_launch(xl_queue *q, const struct xl__work *w, cl_mem in,
                          cl_mem out, size_t first, size_t turns,
                          const xl_sync *sync)
{
    const struct xl__call call = {
        .mem = {[IN] = {in, NULL}, [OUT] = {out, NULL}},
        .value = {[FIRST] = {.u = first}, [TURNS] = {.u = turns}}};
    return xl__launch(q, w->ready, &call, sync);
}

cl_uint xl__worked(cl_uint x, size_t i, size_t turns)
{
    const cl_uint c = 2 * (cl_uint)i + 1;
    for (size_t t = 0; t < turns; t++)
        x = x * x + c;
    return x;
}
