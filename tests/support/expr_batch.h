/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of independent operations, built by hand, for tests of generated
 * kernels. A node and its operand have the same number; the first ones are
 * inputs. */
#ifndef XL_TESTS_EXPR_BATCH_H
#define XL_TESTS_EXPR_BATCH_H

#include "expr/codegen/map.h"

struct batch {
    struct xl__node node[XL__EXPR_OPERANDS];
    struct xl__value value[XL__EXPR_OPERANDS];
    struct xl__graph g;
    struct xl__group group;
    unsigned n_inputs;
};

/* How a kernel is written: for a CPU's items or a GPU's, and its width. */
struct batch_way {
    bool as_gpu;
    unsigned vw;
};
enum { N_BATCH_WAYS = 8 };
extern const struct batch_way batch_ways[N_BATCH_WAYS];

xl_dtype batch_memory(enum xl__vtype type);
enum xl__vtype batch_register(xl_dtype dtype);

void batch_begin(struct batch *b, size_t count);
/* A node and its operand; a shift in elements leaves nothing aligned. Points
 * into *b, which must stay where it is. */
void batch_add(struct batch *b, const struct xl__node *node, xl_dtype dtype,
               size_t stride, size_t shift);
void batch_add_input(struct batch *b, xl_dtype dtype, size_t stride,
                     size_t shift);
/* Three inputs of a type and a bool: what batch_node() refers to. */
void batch_begin_typed(struct batch *b, enum xl__vtype type, size_t count);
/* The node of an operation on inputs of `type`; false: it takes no such, or
 * is no operation by element. cast() is left out. */
bool batch_node(enum xl__expr_op op, enum xl__vtype type,
                struct xl__node *out);

/* Set the geometry, and the facts that go with it. */
void batch_geometry(struct batch *b, struct batch_way way);
void batch_facts(struct batch_way way, struct xl__limits *l);

#endif
