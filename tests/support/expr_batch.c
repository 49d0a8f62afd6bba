/* SPDX-License-Identifier: Apache-2.0 */
/* See expr_batch.h. */
#include "support/expr_batch.h"

#include <assert.h>

enum { INPUTS = XL__EXPR_ARGS };

const struct batch_way batch_ways[N_BATCH_WAYS] = {
    {false, 1},  {false, 2}, {false, 4}, {false, 8},
    {false, 16}, {true, 1},  {true, 4},  {true, 8}};

xl_dtype batch_memory(enum xl__vtype type)
{
    return type == XL__V_F32 ? XL_F32 : type == XL__V_I32 ? XL_I32 : XL_BOOL;
}

enum xl__vtype batch_register(xl_dtype dtype)
{
    return dtype == XL_BOOL ? XL__V_BOOL
           : dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16
               ? XL__V_F32
               : XL__V_I32;
}

void batch_begin(struct batch *b, size_t count)
{
    *b = (struct batch){.n_inputs = 0};
    b->group = (struct xl__group){.form = XL__FORM_MAP, .n_loops = 1,
                                  .n_sweeps = 1};
    b->group.loop[0].size = count;
}

void batch_add(struct batch *b, const struct xl__node *node, xl_dtype dtype,
               size_t stride, size_t shift)
{
    const unsigned k = b->group.n_operands++;
    assert(k < XL__EXPR_OPERANDS);
    b->node[k] = *node;
    b->value[k].node = k;
    b->g.node = b->node;
    b->g.n_nodes = b->group.n_values = k + 1;
    b->group.value = b->value;
    b->group.operand[k] = (struct xl__operand){
        .at = XL__AT_BINDING, .index = k, .dtype = dtype, .node = k,
        .align = shift ? 1 : XL__EXPR_MAX_VW, .offset = shift,
        .is_written = node->op != XL__E_INPUT};
    b->group.operand[k].stride[0] = stride;
}

void batch_add_input(struct batch *b, xl_dtype dtype, size_t stride,
                     size_t shift)
{
    const struct xl__node n = {.op = XL__E_INPUT, .binding = b->n_inputs++,
                               .type = batch_register(dtype), .dtype = dtype};
    batch_add(b, &n, dtype, stride, shift);
}

void batch_begin_typed(struct batch *b, enum xl__vtype type, size_t count)
{
    batch_begin(b, count);
    for (unsigned i = 0; i < INPUTS; i++)
        batch_add_input(b, batch_memory(type), 1, 0);
    batch_add_input(b, XL_BOOL, 1, 0);
}

bool batch_node(enum xl__expr_op op, enum xl__vtype type, struct xl__node *out)
{
    const enum xl__result result = xl__expr_ops[op].result;
    *out = (struct xl__node){.op = op,
                             .type = type == XL__V_BOOL ? XL__V_I32 : type};
    for (unsigned i = 0; i < INPUTS; i++)
        out->arg[i] = i;
    const bool is_of_bits = result == XL__R_BITS || result == XL__R_INT;
    if (xl__expr_ops[op].cls != XL__C_MAP || op == XL__E_CAST ||
        (is_of_bits && type == XL__V_F32))
        return false;
    if (result == XL__R_FLOAT)
        out->type = XL__V_F32;
    if (result == XL__R_BOOL || result == XL__R_TEST ||
        result == XL__R_LOGIC || (result == XL__R_BITS && type == XL__V_BOOL))
        out->type = XL__V_BOOL;
    if (op == XL__E_COPY)
        out->type = type;
    if (op == XL__E_WHERE) {
        out->type = type;
        out->arg[0] = INPUTS;
    }
    return true;
}

void batch_geometry(struct batch *b, struct batch_way way)
{
    enum { TURNS = 5, ITEMS = 8, UNROLL = 2 };
    b->group.geo =
        (struct xl__geometry){.vw = way.vw,
                              .wg = way.as_gpu ? ITEMS : 1,
                              .unroll = way.as_gpu ? UNROLL : 1,
                              .per_wg = way.as_gpu ? 0 : TURNS,
                              .is_streamed = way.vw == XL__EXPR_MAX_VW};
}

void batch_facts(struct batch_way way, struct xl__limits *l)
{
    xl__limits_init(l);
    xl__limits_correct(l, XL__F_is_cpu, !way.as_gpu, XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_native_vector_f32, XL__EXPR_MAX_VW, XL_ASSUMED,
                       "GE-01");
    xl__limits_correct(l, XL__F_compute_units, 1, XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_max_wg_size, 256, XL_ASSUMED, "GE-01");
}
