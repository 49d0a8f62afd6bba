/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of stages, from words; and what they add up to. */
#include "pipeline/pipeline_work.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cases/shapes.h"
#include "cli/console.h"

/* -- reading --------------------------------------------------------------- */

static bool refuse(char *why, size_t cap, const char *what, const char *name)
{
    struct xl__str text = {0};
    enum { MOST = 16 };
    const char *names[MOST + 1] = {NULL};
    for (unsigned i = 0; pipe_kinds[i].name && i < MOST; i++)
        names[i] = pipe_kinds[i].name;
    const char *near = text_nearest(name, names);
    xl__str_printf(&text, "stage '%s' %s; ", name, what);
    if (near && strcmp(near, name) != 0)
        xl__str_printf(&text, "did you mean '%s'? ", near);
    xl__str_add(&text, "stages are qk or linear, then softmax, gelu or pv");
    xl__strcpy(why, cap, xl__str_text(&text));
    xl__str_clear(&text);
    return false;
}

static const struct pipe_kind *find_kind(const char *name)
{
    for (const struct pipe_kind *k = pipe_kinds; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static bool read_sizes(struct pipe_work *w, const struct pipe_kind *kind,
                       const char *sizes, char *why, size_t cap)
{
    memcpy(w->size_names, kind->size_names, sizeof w->size_names);
    return shape_sizes(sizes ? sizes : kind->sizes, kind->form, w->size,
                       PIPE_SIZES, why, cap);
}

/* A stage of the chain. */
static bool add_stage(struct pipe_work *w, const char *name, const char *sizes,
                      char *why, size_t cap)
{
    const struct pipe_kind *kind = find_kind(name);
    if (!kind)
        return refuse(why, cap, "is not known", name);
    if (w->n_stages == 0 && !kind->form)
        return refuse(why, cap, "cannot be the first", name);
    if (w->n_stages > 0 && kind->form)
        return refuse(why, cap, "can only be the first", name);
    if (w->n_stages == PIPE_STAGES)
        return refuse(why, cap, "is one too many", name);
    if (w->n_stages == 0 && !read_sizes(w, kind, sizes, why, cap))
        return false;
    struct pipe_stage *st = &w->stage[w->n_stages];
    st->kind = kind;
    const char *wrong = kind->add(w, st);
    w->n_stages++;
    return !wrong || refuse(why, cap, wrong, name);
}

/* Every tensor must have a size. An item's elements are products of two sizes,
 * which fit already (shapes.c). */
static bool fits(const struct pipe_work *w, char *why, size_t cap)
{
    size_t all = 0, bytes = 0;
    for (unsigned i = 0; i < w->n_tensors; i++) {
        const struct pipe_tensor *t = &w->tensor[i];
        const size_t n = t->role == PIPE_SHARED ? 1 : w->items;
        if (xl__mul(t->elems, n, &bytes) &&
            xl__mul(bytes, sizeof(double), &bytes) &&
            xl__add(all, bytes, &all))
            continue;
        snprintf(why, cap, "%s does not fit in 64 bits; give smaller sizes",
                 t->name);
        return false;
    }
    return true;
}

bool pipe_work_read(const char *stages, const char *sizes, xl_dtype dtype,
                    struct pipe_work *out, char *why, size_t cap)
{
    const char *at = stages ? stages : pipe_kinds[0].name;
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    if (dtype != XL_F32 && dtype != XL_F16 && dtype != XL_BF16) {
        snprintf(why, cap, "--dtype: a pipeline is of f16, bf16 or f32");
        return false;
    }
    if (strlen(at) >= sizeof out->stages) {
        snprintf(why, cap, "--stages: too many; at most %d", PIPE_STAGES);
        return false;
    }
    xl__strcpy(out->stages, sizeof out->stages, at);
    for (;; at++) {
        char name[sizeof out->stages];
        const size_t len = strcspn(at, ",");
        memcpy(name, at, len);
        name[len] = '\0';
        if (!add_stage(out, name, sizes, why, cap))
            return false;
        at += len;
        if (!*at)
            break;
    }
    out->tensor[pipe_output(out)].role = PIPE_OUTPUT;
    return fits(out, why, cap);
}

/* -- sums ------------------------------------------------------------------ */

unsigned pipe_output(const struct pipe_work *w)
{
    return w->stage[w->n_stages - 1].dst;
}

bool pipe_is(const struct pipe_work *w, unsigned i, unsigned roles)
{
    return roles >> w->tensor[i].role & 1;
}

size_t pipe_units(const struct pipe_work *w)
{
    return xl__ceil_div(w->items, w->grain);
}

double pipe_flop(const struct pipe_work *w)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        sum += w->stage[i].flop * (double)w->items;
    return sum;
}

size_t pipe_tensor_bytes(const struct pipe_work *w, unsigned i, size_t items)
{
    const struct pipe_tensor *t = &w->tensor[i];
    return t->elems * (t->role == PIPE_SHARED ? 1 : items) *
           xl_dtype_bytes(w->dtype);
}

double pipe_bytes(const struct pipe_work *w, unsigned roles)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        if (pipe_is(w, i, roles))
            sum += (double)pipe_tensor_bytes(w, i, w->items);
    return sum;
}

void pipe_bind(const struct pipe_work *w, const struct pipe_stage *st,
               const struct pipe_part *part, xl_binding bindings[2])
{
    const size_t size[2] = {part->items * st->rows, st->cols};
    const unsigned tensors[2] = {st->src, st->dst};
    static const char *const names[2] = {"x", "y"};
    for (unsigned i = 0; i < 2; i++) {
        const unsigned t = tensors[i];
        bindings[i] = (xl_binding){
            .name = names[i],
            .tensor = xl_tensor_dense(part->mem[t], w->dtype, 2, size)};
        bindings[i].tensor.offset = part->at * w->tensor[t].elems;
    }
}
