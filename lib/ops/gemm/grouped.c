/* SPDX-License-Identifier: Apache-2.0 */
/* Products of different sizes in one call. Those that agree in everything
 * except their offsets become one batch by offset lists; the batches are
 * enqueued one after the other. Since that changes the order of products, none
 * may read or write what another writes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/gemm/gemm.h"
#include "ops/path/batch.h"
#include "ops/path/operands.h"
#include "runtime/launch.h"
#include "runtime/buffer.h"

/* -- overlaps ------------------------------------------------------------- */

/* One matrix or binding of one product: the bytes that it occupies in its
 * allocation. */
struct product_matrix {
    struct xl__buffer_region at;
    size_t begin, end;
    size_t product;
    bool is_written;
    xl_mat first;
    struct xl__named named; /* its `mat` is set after sorting */
};

/* Fill in the bytes of a matrix whose `first` and `named` are set. */
static xl_status resolve_region(struct product_matrix *p, struct xl__error *e)
{
    xl_status status = XL_OK;
    const size_t elem = xl_dtype_bytes(p->first.dtype);
    size_t extent = 0;
    xl__mat_extent(&p->first, p->named.rows, p->named.cols, &extent);
    TRY(xl__buffer_region_get(p->first.mem, &p->at, e));
    p->begin = p->at.begin + p->first.offset * elem;
    p->end = p->begin + (extent + p->named.reach) * elem;
fail:
    return status;
}

/* A, B and C, or C alone if A and B are not read, and the bound tensors;
 * *n is their number. */
static xl_status resolve_matrices(const xl_gemm *g, size_t product,
                                  struct product_matrix *out, size_t *n,
                                  struct xl__error *e)
{
    const struct xl__places places[] = {xl__batch_a(&g->batch),
                                        xl__batch_b(&g->batch),
                                        xl__batch_c(&g->batch)};
    const xl_mat *mats[] = {&g->a, &g->b, &g->c};
    const size_t rows[] = {g->m, g->k, g->m}, cols[] = {g->k, g->n, g->n};
    static const char *const names[] = {"A", "B", "C"};
    xl_status status = XL_OK;
    struct product_matrix *p = out;
    for (unsigned i = xl__gemm_reads_ab(g) ? 0 : 2; i < 3; i++, p++) {
        p->is_written = i == 2;
        p->named = (struct xl__named){names[i], NULL, rows[i], cols[i], 0};
        xl__places_reach(&places[i], mats[i], &p->first, &p->named.reach);
    }
    for (unsigned k = 0; k < g->epilogue.n_bindings; k++) {
        const xl_binding *b = &g->epilogue.bindings[k];
        if (!b->is_scalar && xl__operand_matrix(b, &p->first, &p->named))
            p++;
    }
    *n = (size_t)(p - out);
    for (size_t i = 0; i < *n; i++) {
        out[i].product = product;
        TRY(resolve_region(&out[i], e));
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
static xl_status check_overlaps(const xl_gemm *products, size_t n_products,
                                struct xl__error *e)
{
    xl_status status = XL_OK;
    size_t cap = 0, n = 0, added;
    for (size_t i = 0; i < n_products; i++)
        cap += 3 + products[i].epilogue.n_bindings;
    struct product_matrix *all = xl__calloc(cap, sizeof *all);
    if (!all)
        TRY(xl__error_set(e, XL_NO_MEMORY,
                          "out of memory for a group of %zu products",
                          n_products));
    for (size_t i = 0; i < n_products; i++, n += added)
        TRY(resolve_matrices(&products[i], i, all + n, &added, e));
    qsort(all, n, sizeof *all, compare_address);
    for (size_t i = 0; i < n; i++)
        all[i].named.mat = &all[i].first;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n && all[j].at.root == all[i].at.root &&
                               all[j].begin < all[i].end;
             j++)
            TRY(check_pair(&all[i], &all[j], e));
    }
fail:
    free(all);
    return status;
}

/* -- batches -------------------------------------------------------------- */

/* All that decides what a product computes, except the offsets of its
 * matrices: as gemm splits its descriptor, so that a new member of xl_gemm is
 * part of it. Padding is 0. */
struct group_key {
    char variant[XL__NAME_CAP];
    struct xl__gemm_canonical canonical;
    struct xl__call call;
    size_t alone; /* of a product that is a batch itself: its index + 1 */
};

struct group_entry {
    struct group_key key;
    cl_ulong at[3]; /* offsets of A, B and C */
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
    }
    /* alignments follow from the offsets */
    key->canonical.g.a.offset = 0;
    key->canonical.g.b.offset = 0;
    key->canonical.g.c.offset = 0;
    key->alone = g->batch.count > 1 ? product + 1 : 0;
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
    struct group_entry *entries;
    cl_ulong *at; /* memory for the lists of all products */
    size_t n;
    const xl_sync *sync;
    cl_event last; /* out-of-order queue: the event that the next batch
                      waits for */
};

/* Entries [first, end) as one product, or as a batch by lists. The products
 * were checked; as a batch they differ only in offsets. */
static xl_gemm join_entries(const struct gemm_group *w, size_t first,
                            size_t end)
{
    const size_t n = end - first;
    xl_gemm g = w->products[w->entries[first].product];
    g.workspace = (xl_mem){NULL, NULL};
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

/* Check and split every product as xl_gemm_run() does. */
static xl_status make_entries(struct gemm_group *w)
{
    xl_status status = XL_OK;
    for (size_t i = 0; i < w->n && status == XL_OK; i++) {
        const xl_gemm *g = &w->products[i];
        status = xl__op_gemm.check(w->q, g, true);
        if (status == XL_OK)
            status = make_entry(w->q, g, i, &w->entries[i]);
        if (status != XL_OK)
            name_product(&w->q->error, status, i);
    }
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
    w.entries = xl__calloc(n, sizeof *w.entries);
    w.at = xl__calloc(n, 3 * sizeof *w.at);
    if (!w.entries || !w.at)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY,
                          "out of memory for a group of %zu products", n));
    TRY(make_entries(&w));
    TRY(check_overlaps(products, n, &q->error));
    TRY(run_all(&w));
fail:
    xl__event_release(w.last);
    free(w.entries);
    free(w.at);
    return status;
}
