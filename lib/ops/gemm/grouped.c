/* SPDX-License-Identifier: Apache-2.0 */
/* Products of different sizes in one call. Those that agree in everything
 * except their offsets become one batch by offset lists; the batches are
 * enqueued one after the other. Since that changes the order of products, none
 * may read or write what another writes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/path/batch.h"
#include "ops/gemm/gemm.h"
#include "runtime/launch.h"
#include "runtime/buffer.h"

/* -- overlaps ------------------------------------------------------------- */

/* One matrix of one product: the bytes that it occupies in its allocation. */
struct product_matrix {
    struct xl__buffer_region at;
    size_t begin, end;
    size_t product;
    bool is_written;
    xl_mat first;
    struct xl__named named;
};

static xl_status resolve_matrices(const xl_gemm *g, size_t product,
                                  struct product_matrix out[3],
                                  struct xl__error *e)
{
    const struct xl__places places[] = {xl__batch_a(&g->batch),
                                        xl__batch_b(&g->batch),
                                        xl__batch_c(&g->batch)};
    const xl_mat *mats[] = {&g->a, &g->b, &g->c};
    const size_t rows[] = {g->m, g->k, g->m}, cols[] = {g->k, g->n, g->n};
    static const char *const names[] = {"A", "B", "C"};
    xl_status status = XL_OK;
    for (unsigned i = 0; i < 3; i++) {
        struct product_matrix *p = &out[i];
        size_t extent = 0;
        p->product = product;
        p->is_written = i == 2;
        p->named = (struct xl__named){names[i], &p->first, rows[i], cols[i],
                                      0};
        xl__places_reach(&places[i], mats[i], &p->first, &p->named.reach);
        xl__mat_extent(&p->first, rows[i], cols[i], &extent);
        TRY(xl__buffer_region_get(p->first.mem, &p->at, e));
        const size_t elem = xl_dtype_bytes(p->first.dtype);
        p->begin = p->at.begin + p->first.offset * elem;
        p->end = p->begin + (extent + p->named.reach) * elem;
    }
fail:
    return status;
}

static int compare_address(const void *a, const void *b)
{
    const struct product_matrix *x = a, *y = b;
    if (x->at.root != y->at.root)
        return (uintptr_t)x->at.root < (uintptr_t)y->at.root ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static xl_status check_pair(const struct product_matrix *x,
                            const struct product_matrix *y,
                            struct xl__error *e)
{
    if (x->product == y->product || (!x->is_written && !y->is_written))
        return XL_OK;
    const struct product_matrix *c = x->is_written ? x : y;
    const struct product_matrix *other = x->is_written ? y : x;
    if (xl__check_apart(&c->named, &other->named, e) == XL_OK)
        return XL_OK;
    xl__error_reset(e);
    return xl__error_set(e, XL_OVERLAP,
                         "C of product %zu overlaps %s of product %zu; the "
                         "order of a group's products is undefined",
                         c->product, other->named.name, other->product);
}

/* Sort the matrices by address and compare each with those that begin before
 * it ends. */
static xl_status check_overlaps(const xl_gemm *products, size_t n,
                                struct xl__error *e)
{
    xl_status status = XL_OK;
    struct product_matrix *all = xl__calloc(n, 3 * sizeof *all);
    if (!all)
        TRY(xl__error_set(e, XL_NO_MEMORY,
                          "out of memory for a group of %zu products", n));
    for (size_t i = 0; i < n; i++)
        TRY(resolve_matrices(&products[i], i, all + 3 * i, e));
    qsort(all, 3 * n, sizeof *all, compare_address);
    for (size_t i = 0; i < 3 * n; i++) /* sorting moved the matrices that
                                          the names point to */
        all[i].named.mat = &all[i].first;
    for (size_t i = 0; i < 3 * n; i++) {
        for (size_t j = i + 1; j < 3 * n && all[j].at.root == all[i].at.root &&
                               all[j].begin < all[i].end;
             j++)
            TRY(check_pair(&all[i], &all[j], e));
    }
fail:
    free(all);
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
    cl_event begun; /* of the first batch, if the caller wants it */
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
        sync.first = w->sync->first ? &w->begun : NULL;
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

/* Check every product as xl_gemm_run() does; the message states its index. */
static xl_status check_each(xl_queue *q, const xl_gemm *products, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const xl_status status = xl__op_gemm.check(q, &products[i], true);
        if (status == XL_OK)
            continue;
        struct xl__str message = {0};
        xl__str_printf(&message, "product %zu: %s", i,
                       xl__str_text(&q->error.detail));
        xl__error_reset(&q->error);
        xl__error_set(&q->error, status, "%s", xl__str_text(&message));
        xl__str_clear(&message);
        return status;
    }
    return XL_OK;
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
    TRY(check_each(q, products, n));
    TRY(check_overlaps(products, n, &q->error));
    w.entries = xl__calloc(n, sizeof *w.entries);
    w.at = xl__calloc(n, 3 * sizeof *w.at);
    if (!w.entries || !w.at)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY,
                          "out of memory for a group of %zu products", n));
    TRY(run_all(&w));
    if (w.begun)
        *sync->first = w.begun;
    w.begun = NULL;
fail:
    xl__event_release(w.begun);
    xl__event_release(w.last);
    free(w.entries);
    free(w.at);
    return status;
}
