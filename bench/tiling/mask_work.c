/* SPDX-License-Identifier: Apache-2.0 */
#include "tiling/mask_work.h"

#include <string.h>

#include "base/alloc.h"

struct attention_sizes attention_sizes_of(const struct attention_case *c)
{
    return (struct attention_sizes){.n_heads = c->n_batch * c->n_heads,
                                    .n_kv_heads =
                                        c->n_batch * attention_kv_heads(c),
                                    .n_q = c->n_q,
                                    .n_kv = c->n_kv,
                                    .d = c->d,
                                    .elem_bytes = xl_dtype_bytes(c->dtype),
                                    .is_causal = c->is_causal,
                                    .window = c->window};
}

/* How a variant numbers its groups, if not by heads, in each the first rows
 * first. */
enum order { FIRST_ROWS, LAST_ROWS, LAST_ROWS_OF_ALL };
static const struct {
    const char *variant;
    enum order order;
} orders[] = {{"attention_cpu", LAST_ROWS},
              {"attention_flash", LAST_ROWS},
              {"attention_mma", LAST_ROWS},
              {"attention_dpas", LAST_ROWS},
              {"attention_wgmma", LAST_ROWS_OF_ALL}};

static enum order order_of(const char *variant)
{
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(orders[i].variant, variant) == 0)
            return orders[i].order;
    return FIRST_ROWS;
}

double *mask_work(const struct attention_sizes *a, const char *variant,
                  size_t block, xl_tiling *t)
{
    const enum order order = order_of(variant);
    /* Those in the order of all take the next block as they end, and have rows
     * of one head; others are one a block, of all heads that read one of k. */
    const bool is_of_all = order == LAST_ROWS_OF_ALL;
    const size_t heads = is_of_all ? a->n_heads : a->n_kv_heads;
    const size_t rows = a->n_heads / heads; /* of a query */
    const size_t blocks = xl__ceil_div(a->n_q * rows, block);
    if (is_of_all ? t->groups > blocks * heads : t->groups != blocks * heads)
        return NULL;
    double *work = xl__calloc(blocks * heads, sizeof *work), sum = 0;
    for (size_t i = 0; work && i < blocks * heads; i++) {
        const size_t at = is_of_all ? i / heads : i % blocks;
        const size_t first =
            (order == FIRST_ROWS ? at : blocks - 1 - at) * block;
        const size_t end = xl__min_size(first + block, a->n_q * rows);
        work[i] = attention_keys_seen(a, first / rows, (end - 1) / rows + 1);
        work[i] = work[i] < 1 ? 1 : work[i];
        sum += work[i];
    }
    for (size_t i = 0; work && i < blocks * heads; i++)
        work[i] *= (double)(blocks * heads) / sum;
    if (work)
        t->whole = t->groups = blocks * heads;
    return work;
}
