/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of kernels by the structure of their groups. A text depends on a
 * group as graph/group.h states: on its nodes, its operands' types, classes of
 * strides and alignments, and its geometry. The key lists these, so that a new
 * size of a known structure takes a copy of the text and only its launch and
 * arguments are planned. The limits of the device count too: texts are kept
 * for one device.
 *
 * Classes: strides 0, 1 and others; a loop's chunks and a work-group's share
 * one and several, or none and some. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lru.h"
#include "ops/expression/expression.h"

enum { MOST_TEXTS = 256 };

struct kept_texts {
    struct xl__lru_entry entry;
    struct xl__code code;
};

static void destroy_texts(struct xl__lru_entry *entry)
{
    struct kept_texts *kept = (void *)entry;
    xl__code_clear(&kept->code);
    free(kept);
}

static const struct xl__lru_kind texts_kind = {MOST_TEXTS, destroy_texts};

/* -- the key ---------------------------------------------------------- */

enum {
    GROUP_WORDS = 19,
    OPERAND_WORDS = 6 + XL__EXPR_LOOPS,
    VALUE_WORDS = 3,
    NODE_WORDS = 3 + XL__EXPR_ARGS + sizeof(double) / sizeof(uint32_t)
};

static uint32_t *put_group(uint32_t *to, const struct xl__group *g)
{
    const struct xl__geometry *geo = &g->geo;
    const uint32_t words[] = {g->form,          g->n_operands,   g->n_values,
                              g->n_sweeps,      geo->vw,         geo->wg,
                              geo->lanes,       geo->joiners,    geo->held,
                              geo->unroll,      geo->tile,       geo->across,
                              geo->chunks > 1,  geo->per_wg > 0, geo->is_wide,
                              geo->is_streamed, geo->is_kept,    g->n_loops};
    uint32_t reduced = 0;
    memcpy(to, words, sizeof words);
    for (unsigned d = 0; d < g->n_loops; d++)
        reduced |= (uint32_t)g->loop[d].is_reduced << d;
    to[sizeof words / sizeof *words] = reduced;
    return to + GROUP_WORDS;
}

static uint32_t *put_operand(uint32_t *to, const struct xl__operand *o)
{
    *to++ = o->at;
    *to++ = o->dtype;
    *to++ = o->is_written;
    *to++ = o->node;
    *to++ = o->align;
    *to++ = o->sweep;
    for (unsigned d = 0; d < XL__EXPR_LOOPS; d++)
        *to++ = (uint32_t)xl__min_size(o->stride[d], 2);
    return to;
}

static uint32_t *put_node(uint32_t *to, const struct xl__node *n)
{
    *to++ = n->op;
    *to++ = n->type;
    *to++ = n->dtype;
    memcpy(to, n->arg, sizeof n->arg);
    to += XL__EXPR_ARGS;
    memcpy(to, &n->value, sizeof n->value);
    return to + sizeof n->value / sizeof *to;
}

/* On the heap; NULL: out of memory. */
static uint32_t *make_key(const struct xl__canonical_group *c, size_t *bytes)
{
    const struct xl__group *g = &c->group;
    const size_t most = 1 + GROUP_WORDS + g->n_operands * OPERAND_WORDS +
                        g->n_values * VALUE_WORDS + c->g.n_nodes * NODE_WORDS;
    uint32_t *key = xl__calloc(most, sizeof *key), *to = key;
    if (!key)
        return NULL;
    *to++ = c->g.fast_math;
    to = put_group(to, g);
    for (unsigned i = 0; i < g->n_operands; i++)
        to = put_operand(to, &g->operand[i]);
    for (unsigned i = 0; i < g->n_values; i++) {
        *to++ = g->value[i].node;
        *to++ = g->value[i].sweep;
        *to++ = g->value[i].is_row;
    }
    for (unsigned i = 0; i < c->g.n_nodes; i++)
        to = put_node(to, &c->g.node[i]);
    *bytes = (size_t)(to - key) * sizeof *key;
    return key;
}

/* -- find and keep ---------------------------------------------------- */

/* False: out of memory; *to has a part of the texts. */
static bool copy_texts(const struct xl__code *from, struct xl__code *to)
{
    bool is_complete = true;
    for (unsigned i = 0; i < XL__MAX_STEPS && from->text[i].len > 0; i++) {
        xl__str_add_n(&to->text[i], from->text[i].text, from->text[i].len);
        is_complete &= !to->text[i].broken;
    }
    return is_complete;
}

/* Without memory it is written again by the next call. */
static void keep_texts(struct xl__lru *texts, const void *key, size_t bytes,
                       const struct xl__code *code)
{
    struct kept_texts *kept = xl__calloc(1, sizeof *kept);
    if (kept && (!copy_texts(code, &kept->code) ||
                 !xl__lru_add(texts, &kept->entry, key, bytes, &texts_kind)))
        destroy_texts(&kept->entry);
}

xl_status xl__expr_plan_group(struct xl__lru *texts,
                              const struct xl__canonical_group *c,
                              const struct xl__limits *l,
                              const struct xl__schedule *s,
                              struct xl__code *code, struct xl__plan *plan)
{
    xl_status status = XL_OK;
    size_t bytes = 0;
    uint32_t *key = make_key(c, &bytes);
    if (!key)
        return XL_NO_MEMORY;
    const struct kept_texts *kept = (void *)xl__lru_find(texts, key, bytes);
    if (kept && !copy_texts(&kept->code, code))
        TRY(XL_NO_MEMORY);
    TRY(xl__group_plan(&c->g, l, &c->group, s, code, plan));
    if (!kept)
        keep_texts(texts, key, bytes, code);
fail:
    free(key);
    return status;
}
