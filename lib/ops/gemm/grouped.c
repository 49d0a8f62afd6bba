/* SPDX-License-Identifier: Apache-2.0 */
/* Products of different sizes in one call. Those that agree in everything
 * except their offsets become one batch by offset lists; the batches are
 * enqueued one after the other. Since that changes the order of products, none
 * may read or write what another writes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/gemm/gemm.h"
#include "runtime/launch.h"

/* -- overlaps ------------------------------------------------------------- */

/* An operand of one product: A, B, C, a binding. */
struct product_operand {
    struct xl__region region;
    size_t product;
};

static int compare_address(const void *a, const void *b)
{
    const struct xl__region *x = &((const struct product_operand *)a)->region,
                            *y = &((const struct product_operand *)b)->region;
    if (x->root != y->root)
        return (uintptr_t)x->root < (uintptr_t)y->root ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static xl_status check_pair(const struct product_operand *x,
                            const struct product_operand *y,
                            struct xl__error *e)
{
    if (x->product == y->product ||
        (!x->region.is_written && !y->region.is_written) ||
        xl__regions_are_disjoint(&x->region, &y->region))
        return XL_OK;
    const struct product_operand *c = x->region.is_written ? x : y;
    const struct product_operand *other = x->region.is_written ? y : x;
    return xl__error_set(e, XL_OVERLAP,
                         "C of product %zu overlaps %s of product %zu; the "
                         "order of a group's products is undefined",
                         c->product, other->region.name, other->product);
}

/* Sort the operands by address and compare each with those that begin before
 * it ends. */
static xl_status check_overlaps(struct product_operand *all, size_t n,
                                struct xl__error *e)
{
    xl_status status = XL_OK;
    qsort(all, n, sizeof *all, compare_address);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1;
             j < n && all[j].region.root == all[i].region.root &&
             all[j].region.begin < all[i].region.end;
             j++)
            TRY(check_pair(&all[i], &all[j], e));
    }
fail:
    return status;
}

/* -- batches -------------------------------------------------------------- */

/* A product and its index in the list. */
struct group_entry {
    xl_gemm key; /* offsets and workspace zeroed, padding 0 */
    size_t product;
};

static void copy_key_view(const xl_mat *from, xl_mat *to)
{
    to->mem.buf = from->mem.buf;
    to->mem.svm = from->mem.svm;
    to->row_stride = from->row_stride;
    to->col_stride = from->col_stride;
    to->dtype = from->dtype;
}

/* The fields that products of a batch have in common. A product that is a
 * batch itself gets a key of its own. */
static void make_key(const xl_gemm *g, size_t product, struct group_entry *out)
{
    xl_gemm *key = &out->key;
    memset(out, 0, sizeof *out);
    out->product = product;
    key->m = g->m;
    key->n = g->n;
    key->k = g->k;
    copy_key_view(&g->a, &key->a);
    copy_key_view(&g->b, &key->b);
    copy_key_view(&g->c, &key->c);
    key->alpha = g->alpha;
    key->beta = g->beta;
    key->variant = g->variant;
    key->epilogue.expr = g->epilogue.expr;
    key->epilogue.bindings = g->epilogue.bindings;
    key->epilogue.n_bindings = g->epilogue.n_bindings;
    if (g->batch.count > 1)
        key->batch.count = product + 2;
}

static int compare_key(const void *a, const void *b)
{
    const struct group_entry *x = a, *y = b;
    const int order = memcmp(&x->key, &y->key, sizeof x->key);
    return order ? order
                 : (x->product > y->product) - (x->product < y->product);
}

struct gemm_group {
    xl_queue *q;
    const xl_gemm *products;
    struct group_entry *entries;
    cl_ulong *at; /* memory for the lists of all products */
    size_t n;
    const xl_sync *sync;
    cl_event last; /* out-of-order queue: the event that the next batch
                      waits for */
};

/* Entries [first, end) as one product, or as a batch by lists. */
static xl_gemm join_entries(const struct gemm_group *w, size_t first,
                            size_t end)
{
    const size_t n = end - first;
    xl_gemm g = w->products[w->entries[first].product];
    g.workspace = (xl_mem){NULL, NULL};
    if (n == 1)
        return g;
    for (size_t i = 0; i < n; i++) {
        const xl_gemm *p = &w->products[w->entries[first + i].product];
        w->at[i] = p->a.offset;
        w->at[n + i] = p->b.offset;
        w->at[2 * n + i] = p->c.offset;
    }
    g.a.offset = g.b.offset = g.c.offset = 0;
    g.batch = (xl_batch){.count = n, .a_at = w->at, .b_at = w->at + n,
                         .c_at = w->at + 2 * n};
    return g;
}

/* Enqueue entries [first, end). The caller's wait list applies to the first
 * batch, its event is that of the last. */
static xl_status run_batch(struct gemm_group *w, size_t first, size_t end)
{
    const xl_gemm g = join_entries(w, first, end);
    xl_sync sync = {.n_wait = w->last ? 1 : 0, .wait = &w->last};
    cl_event now = NULL;
    if (first == 0 && w->sync) {
        sync.n_wait = w->sync->n_wait;
        sync.wait = w->sync->wait;
    }
    if (end < w->n)
        sync.done = w->q->is_out_of_order ? &now : NULL;
    else
        sync.done = w->sync ? w->sync->done : NULL;
    const xl_status status = xl_gemm_run(w->q, &g, &sync);
    xl__event_release(w->last);
    w->last = now;
    return status;
}

static xl_status run_all(struct gemm_group *w)
{
    xl_status status = XL_OK;
    for (size_t i = 0; i < w->n; i++)
        make_key(&w->products[i], i, &w->entries[i]);
    qsort(w->entries, w->n, sizeof *w->entries, compare_key);
    for (size_t first = 0, end; first < w->n; first = end) {
        const xl_gemm *key = &w->entries[first].key;
        end = first + 1;
        while (end < w->n &&
               memcmp(key, &w->entries[end].key, sizeof *key) == 0)
            end++;
        TRY(run_batch(w, first, end));
    }
fail:
    return status;
}

/* Check a product as xl_gemm_run() does; the message states its index. */
static xl_status check_product(xl_queue *q, const xl_gemm *products, size_t i)
{
    const xl_status status = xl__op_gemm.check(q, &products[i], true);
    if (status == XL_OK)
        return XL_OK;
    struct xl__str message = {0};
    xl__str_printf(&message, "product %zu: %s", i,
                   xl__str_text(&q->error.detail));
    xl__error_reset(&q->error);
    xl__error_set(&q->error, status, "%s", xl__str_text(&message));
    xl__str_clear(&message);
    return status;
}

/* Check each product, then the operands of different products. */
static xl_status check_products(xl_queue *q, const xl_gemm *products, size_t n)
{
    xl_status status = XL_OK;
    struct product_operand *all = NULL;
    size_t n_all = 0, cap = 0;
    for (size_t i = 0; i < n; i++) {
        TRY(check_product(q, products, i));
        if (!xl__grow(&all, &cap, n_all + q->memory.n, sizeof *all))
            TRY(xl__error_set(&q->error, XL_NO_MEMORY,
                              "out of memory for a group of %zu products", n));
        for (unsigned k = 0; k < q->memory.n; k++)
            all[n_all++] = (struct product_operand){q->memory.operand[k], i};
    }
    TRY(check_overlaps(all, n_all, &q->error));
fail:
    free(all);
    return status;
}

xl_status xl_gemm_run_group(xl_queue *q, const xl_gemm *products, size_t n,
                            const xl_sync *sync)
{
    xl_status status = XL_OK;
    if (!q)
        return XL_BAD_ARGUMENT;
    struct gemm_group w = {.q = q, .products = products, .n = n, .sync = sync};
    xl__error_reset(&q->error);
    if (!products || n == 0)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "gemm: the group has no products"));
    TRY(check_products(q, products, n));
    w.entries = xl__calloc(n, sizeof *w.entries);
    w.at = xl__calloc(n, 3 * sizeof *w.at);
    if (!w.entries || !w.at)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY,
                          "out of memory for a group of %zu products", n));
    TRY(run_all(&w));
fail:
    xl__event_release(w.last);
    free(w.entries);
    free(w.at);
    return status;
}
