/* SPDX-License-Identifier: Apache-2.0 */
/* Copies for calls in the background. */
#include "runtime/background/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void *xl__keep(struct xl__kept *k, const void *from, size_t bytes)
{
    if (!from)
        return NULL;
    void *to = xl__calloc(bytes, 1);
    if (!to || !xl__grow(&k->block, &k->cap_blocks, k->n_blocks + 1,
                         sizeof *k->block)) {
        k->is_broken = true;
        free(to);
        return NULL;
    }
    k->block[k->n_blocks++] = to;
    return memcpy(to, from, bytes);
}

const char *xl__keep_text(struct xl__kept *k, const char *text)
{
    return xl__keep(k, text, text ? strlen(text) + 1 : 0);
}

void xl__keep_mem(struct xl__kept *k, xl_mem *m)
{
    if (!m->buf)
        return;
    if (!xl__grow(&k->mem, &k->cap_mems, k->n_mems + 1, sizeof *k->mem))
        k->is_broken = true;
    else if (clRetainMemObject(m->buf) == CL_SUCCESS)
        k->mem[k->n_mems++] = m->buf;
}

const xl_binding *xl__keep_bindings(struct xl__kept *k, const xl_binding *from,
                                    unsigned n)
{
    if (n == 0 || n > XL_EXPR_MAX_BINDINGS)
        return NULL;
    xl_binding *to = xl__keep(k, from, n * sizeof *from);
    for (unsigned i = 0; to && i < n; i++) {
        to[i].name = xl__keep_text(k, to[i].name);
        if (!to[i].is_scalar)
            xl__keep_mem(k, &to[i].tensor.mem);
    }
    return to;
}

void xl__keep_epilogue(struct xl__kept *k, xl_epilogue *e)
{
    e->expr = xl__keep_text(k, e->expr);
    if (e->expr)
        e->bindings = xl__keep_bindings(k, e->bindings, e->n_bindings);
}

void xl__kept_clear(struct xl__kept *k)
{
    for (size_t i = 0; i < k->n_blocks; i++)
        free(k->block[i]);
    for (size_t i = 0; i < k->n_mems; i++)
        clReleaseMemObject(k->mem[i]);
    free(k->block);
    free(k->mem);
    *k = (struct xl__kept){0};
}
