/* SPDX-License-Identifier: Apache-2.0 */
/* The normal form of a group's loop nest, and the form of kernel for it.
 *
 *     remove loops of size 1      for i < 8, j < 1, k < 4   ->  i < 8, k < 4
 *     order them (MAP)            by the strides of what is written
 *     join neighbours             for i < 8, k < 4          ->  k < 32
 *
 * Two neighbouring loops can be joined when stride[outer] = stride[inner] *
 * size[inner] in every operand. Fewer loops mean fewer divisions in index
 * arithmetic, and more shapes that have one program. */
#include "expr/graph/loops.h"

#include "device/time_model.h"

static void remove_loop(struct xl__group *g, unsigned at)
{
    g->n_loops--;
    for (unsigned i = at; i < g->n_loops; i++)
        g->loop[i] = g->loop[i + 1];
    for (unsigned k = 0; k < g->n_operands; k++) {
        size_t *stride = g->operand[k].stride;
        for (unsigned i = at; i < g->n_loops; i++)
            stride[i] = stride[i + 1];
        stride[g->n_loops] = 0;
    }
}

static void swap_loops(struct xl__group *g, unsigned a, unsigned b)
{
    const struct xl__loop loop = g->loop[a];
    g->loop[a] = g->loop[b];
    g->loop[b] = loop;
    for (unsigned k = 0; k < g->n_operands; k++) {
        size_t *stride = g->operand[k].stride;
        const size_t step = stride[a];
        stride[a] = stride[b];
        stride[b] = step;
    }
}

/* Remove loops of size 1, except the last loop of all. */
static void remove_unit_loops(struct xl__group *g)
{
    for (unsigned i = 0; i < g->n_loops;) {
        if (g->loop[i].size > 1 || g->n_loops == 1)
            i++;
        else
            remove_loop(g, i);
    }
}

/* Order the loops of a MAP by the strides of the first written operand,
 * largest first; a stable insertion sort. */
static void sort_loops(struct xl__group *g)
{
    unsigned by = 0;
    while (by + 1 < g->n_operands && !g->operand[by].is_written)
        by++;
    for (unsigned i = 1; i < g->n_loops; i++)
        for (unsigned k = i;
             k > 0 && xl__stride_length(g->operand[by].stride[k - 1]) <
                          xl__stride_length(g->operand[by].stride[k]);
             k--)
            swap_loops(g, k - 1, k);
}

static bool can_join(const struct xl__group *g, unsigned outer)
{
    const unsigned inner = outer + 1;
    if (g->loop[outer].is_reduced != g->loop[inner].is_reduced)
        return false;
    for (unsigned k = 0; k < g->n_operands; k++) {
        const size_t *stride = g->operand[k].stride;
        if (stride[outer] != stride[inner] * g->loop[inner].size)
            return false;
    }
    return true;
}

static void join_loops(struct xl__group *g)
{
    for (unsigned i = 0; i + 1 < g->n_loops;) {
        if (!can_join(g, i)) {
            i++;
            continue;
        }
        g->loop[i + 1].size *= g->loop[i].size;
        remove_loop(g, i);
    }
}

static unsigned largest_power_of_two(size_t x, unsigned max)
{
    unsigned p = 1;
    while (p < max && x % (2 * p) == 0)
        p *= 2;
    return p;
}

static void set_alignment(const struct xl__signature *s, struct xl__group *g)
{
    for (unsigned k = 0; k < g->n_operands; k++) {
        struct xl__operand *p = &g->operand[k];
        p->align = XL__EXPR_MAX_VW;
        if (p->at == XL__AT_BINDING)
            p->align = largest_power_of_two(s->b[p->index].align, p->align);
        p->align = largest_power_of_two(p->offset, p->align);
        for (unsigned i = 0; i + 1 < g->n_loops; i++)
            p->align = largest_power_of_two(p->stride[i], p->align);
    }
}

void xl__loops_normalize(const struct xl__signature *s, struct xl__group *g)
{
    remove_unit_loops(g);
    if (g->form == XL__FORM_MAP)
        sort_loops(g);
    join_loops(g);
    set_alignment(s, g);
}

enum xl__form xl__form_choose(const struct xl__limits *l, double kept,
                              double reduced, bool reduced_inside)
{
    /* Work-groups that keep a compute unit busy; and how much of its share of
     * the memory rate a unit can exceed when others are idle. */
    static const double groups_per_unit = 4, max_shares = 2;
    static const double ns_per_s = 1e9;
    const double units = (double)xl__size_or(l, XL__F_compute_units, 1);
    const double row_ns = reduced * sizeof(float) * ns_per_s * units /
                          (max_shares * xl__rate_memory(l));
    if (!reduced_inside)
        return XL__FORM_COLUMNS;
    /* Chunks need a second launch; a row that takes no longer than a launch is
     * not split. */
    return kept >= groups_per_unit * units || row_ns <= xl__launch_ns(l)
               ? XL__FORM_ROWS
               : XL__FORM_CHUNKS;
}
