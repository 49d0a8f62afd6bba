/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the keys that groups of a first step have seen, and the step that
 * joins them. */
#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { STATE = 4 }; /* floats of a part besides its sums */

size_t xl__attention_most_parts(const struct xl__attention_canonical *c)
{
    const size_t rows = c->n_q * xl__attention_share(c);
    return xl__max_size(1,
                        2 * c->n_kv * c->d_head / rows / (c->d_head + STATE));
}

size_t xl__attention_parts_bytes(const struct xl__attention_canonical *c,
                                 size_t parts)
{
    return c->n_heads * c->n_batch * c->n_q * parts * (c->d_head + STATE) *
           sizeof(float);
}

void xl__attention_parts_args(struct xl__step *step, size_t parts)
{
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, parts);
}

void xl__attention_join(const struct xl__limits *l,
                        const struct xl__attention_canonical *c, size_t parts,
                        struct xl__plan *p)
{
    enum { ITEMS = 128, WIDE = 4 };
    const size_t rows = c->n_heads * c->n_batch * c->n_q,
                 vw = c->d_head % WIDE == 0 ? WIDE : 1;
    const bool is_cpu = xl__device_class(l) == XL__CPU;
    size_t wg = 1, lx = 1;
    while (!is_cpu && 2 * wg <= xl__most_items(l, ITEMS))
        wg *= 2;
    while (lx < wg && lx * vw < c->d_head)
        lx *= 2;
    struct xl__step *step =
        xl__plan_add(p, "attention/join.cl", "attention_join", rows * wg, wg);
    step->is_aid = true;
    const struct xl__defined defines[] = {{"WG", wg}, {"LX", lx}, {"VW", vw}};
    step->local_mem_bytes = wg * (1 + vw) * sizeof(float);
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    xl__attention_parts_args(step, parts);
}
