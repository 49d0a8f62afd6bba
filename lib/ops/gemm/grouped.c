/* SPDX-License-Identifier: Apache-2.0 */
/* Products of different sizes in one call. Those that agree in everything
 * except their offsets become one batch by offset lists; the batches are
 * enqueued one after the other. Since that changes the order of products, none
 * may read or write what another writes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/gemm/gemm.h"
#include "ops/path/check.h"
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

/* The located operands of the product just checked; false without memory. */
static bool add_product(const xl_queue *q, size_t product,
                        struct product_operand **all, size_t *n, size_t *cap)
{
    const struct xl__memory *m = &q->memory;
    if (!xl__grow(all, cap, *n + m->n, sizeof **all))
        return false;
    for (unsigned k = 0; k < m->n; k++) {
        if (m->operand[k].is_located)
            (*all)[(*n)++] =
                (struct product_operand){m->operand[k], product};
    }
    return true;
}

/* -- batches -------------------------------------------------------------- */

/* All that decides what a product computes, except the offsets of its
 * matrices: as gemm splits its descriptor, so that a new member of xl_gemm is
 * part of it. Padding is 0. */
struct group_key {
    char variant[XL__NAME_CAP];
    struct xl__gemm_canonical canonical;
    struct xl__call call;
    size_t alone; /* of a product that is a batch itself, has rows in device
                     memory, or scales: its index + 1 */
};

struct group_entry {
    struct group_key key;
    cl_ulong at[3]; /* offsets of A, B and C */
    size_t base[3]; /* addresses of their memory, which decide alignments */
    size_t product;
};

static xl_status make_entry(xl_queue *q, const xl_gemm *g, size_t product,
                            struct group_entry *out)
{
    xl_status status = XL_OK;
    struct group_key *key = &out->key;
    const char *forced = xl__op_gemm.forced(g);
    memset(out, 0, sizeof *out);
    out->product = product;
    xl__strcpy(key->variant, sizeof key->variant, forced ? forced : "");
    TRY(xl__op_gemm.bind(q, g, &key->canonical, &key->call));
    for (unsigned i = 0; i < 3; i++) {
        out->at[i] = key->call.value[XL__GEMM_OFF_A + i].u;
        key->call.value[XL__GEMM_OFF_A + i].u = 0;
        out->base[i] = xl__operand_base(q, i);
    }
    /* alignments follow from the offsets */
    key->canonical.g.a.offset = 0;
    key->canonical.g.b.offset = 0;
    key->canonical.g.c.offset = 0;
    const bool is_alone = g->batch.count > 1 || g->batch.rows ||
                          g->batch.at ||
                          xl__gemm_scales_refused(&key->canonical);
    key->alone = is_alone ? product + 1 : 0;
fail:
    return status;
}

static int compare_key(const void *a, const void *b)
{
    const struct group_entry *x = a, *y = b;
    const int order = memcmp(&x->key, &y->key, sizeof x->key);
    return order ? order
                 : (x->product > y->product) - (x->product < y->product);
}

/* Put the index of the product before the message of its failure. */
static void name_product(struct xl__error *e, xl_status status, size_t product)
{
    struct xl__str message = {0};
    xl__str_printf(&message, "product %zu: %s", product,
                   xl__str_text(&e->detail));
    xl__error_reset(e);
    xl__error_set(e, status, "%s", xl__str_text(&message));
    xl__str_clear(&message);
}

struct gemm_group {
    xl_queue *q;
    const xl_gemm *products;
    xl_gemm *copies; /* of products of another size, or NULL */
    struct group_entry *entries;
    cl_ulong *at; /* memory for the lists of all products */
    size_t n;
    const xl_sync *sync;
    cl_event last; /* out-of-order queue: the event that the next batch
                      waits for */
    cl_event begun; /* of the first batch, if the caller wants it */
};

/* Entries [first, end) as one product, or as a batch by lists. The products
 * were checked; as a batch they differ only in offsets. */
static xl_gemm join_entries(const struct gemm_group *w, size_t first,
                            size_t end)
{
    const size_t n = end - first;
    xl_gemm g = w->products[w->entries[first].product];
    g.workspace = (xl_mem){0};
    if (n == 1)
        return g;
    for (size_t i = 0; i < n; i++) {
        const cl_ulong *at = w->entries[first + i].at;
        w->at[i] = at[0];
        w->at[n + i] = at[1];
        w->at[2 * n + i] = at[2];
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
    xl_sync sync = {XL_SYNC_INIT, .n_wait = w->last ? 1 : 0, .wait = &w->last};
    cl_event now = NULL;
    if (first == 0) {
        sync.n_wait = w->sync->n_wait;
        sync.wait = w->sync->wait;
        sync.first = w->sync->first ? &w->begun : NULL;
    }
    if (end < w->n)
        sync.done = w->q->is_out_of_order ? &now : NULL;
    else
        sync.done = w->sync->done;
    for (unsigned i = 0; i < 3; i++)
        w->q->memory.operand[i].base = w->entries[first].base[i];
    const xl_status status = xl__op_run_checked(w->q, &xl__op_gemm, &g, &sync);
    xl__event_release(w->last);
    w->last = now;
    if (status != XL_OK)
        name_product(&w->q->error, status, w->entries[first].product);
    return status;
}

static xl_status run_all(struct gemm_group *w)
{
    xl_status status = XL_OK;
    qsort(w->entries, w->n, sizeof *w->entries, compare_key);
    for (size_t first = 0, end; first < w->n; first = end) {
        const struct group_key *key = &w->entries[first].key;
        end = first + 1;
        while (end < w->n &&
               memcmp(key, &w->entries[end].key, sizeof *key) == 0)
            end++;
        TRY(run_batch(w, first, end));
    }
fail:
    return status;
}

/* Check and split every product as xl_gemm_run() does, then compare the
 * operands of different products. */
static xl_status make_entries(struct gemm_group *w)
{
    xl_status status = XL_OK;
    struct product_operand *all = NULL;
    size_t n_all = 0, cap = 0;
    for (size_t i = 0; i < w->n && status == XL_OK; i++) {
        const xl_gemm *g = &w->products[i];
        status = xl__op_gemm.check(w->q, g, true);
        if (status == XL_OK)
            status = make_entry(w->q, g, i, &w->entries[i]);
        if (status != XL_OK)
            name_product(&w->q->error, status, i);
        if (status == XL_OK && !add_product(w->q, i, &all, &n_all, &cap))
            status = xl__error_set(&w->q->error, XL_NO_MEMORY,
                                   "out of memory for a group of %zu products",
                                   w->n);
    }
    if (status == XL_OK)
        status = check_overlaps(all, n_all, &w->q->error);
    free(all);
    return status;
}

/* The caller's products, which are as far apart as the first one's size; those
 * of other headers are copied. */
static xl_status read_products(struct gemm_group *w, const xl_gemm *products)
{
    xl_status status = XL_OK;
    struct xl__error *e = &w->q->error;
    const size_t step = products->size;
    xl_gemm full;
    if (step != sizeof *products) {
        w->copies = xl__calloc(w->n, sizeof *w->copies);
        if (!w->copies)
            TRY(xl__error_set(e, XL_NO_MEMORY,
                              "out of memory for a group of %zu products",
                              w->n));
    }
    w->products = w->copies ? w->copies : products;
    for (size_t i = 0; i < w->n && status == XL_OK; i++) {
        const xl_gemm *given =
            (const void *)((const char *)products + i * step);
        const xl_gemm *g =
            xl__sized_read(&xl__op_gemm.descriptor, given, &full, e);
        if (g && given->size != step)
            xl__error_set(e, XL_BAD_ARGUMENT,
                          "xl_gemm.size is %zu, that of product 0 is %zu; set "
                          "both with XL_GEMM_INIT",
                          given->size, step);
        if (e->status != XL_OK)
            name_product(e, status = e->status, i);
        else if (w->copies)
            w->copies[i] = *g;
    }
fail:
    return status;
}

xl_status xl_gemm_run_group(xl_queue *q, const xl_gemm *products, size_t n,
                            const xl_sync *sync)
{
    xl_status status = XL_OK;
    if (!q)
        return XL_BAD_ARGUMENT;
    xl_sync full;
    struct gemm_group w = {.q = q, .n = n};
    xl__error_reset(&q->error);
    w.sync = xl__sync_read(sync, &full, &q->error);
    if (!w.sync)
        return q->error.status;
    if (!products || n == 0)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "gemm: the group has no products"));
    w.entries = xl__calloc(n, sizeof *w.entries);
    w.at = xl__calloc(n, 3 * sizeof *w.at);
    if (!w.entries || !w.at)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY,
                          "out of memory for a group of %zu products", n));
    TRY(read_products(&w, products));
    TRY(make_entries(&w));
    TRY(run_all(&w));
    if (w.begun)
        *w.sync->first = w.begun;
    w.begun = NULL;
fail:
    xl__event_release(w.begun);
    xl__event_release(w.last);
    free(w.entries);
    free(w.at);
    free(w.copies);
    return status;
}
