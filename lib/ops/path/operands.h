/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors and scalars of an epilogue: checked and bound by every call.
 * lib/expr resolves their names. */
#ifndef XL_OPS_OPERANDS_H
#define XL_OPS_OPERANDS_H

#include <crosslane/ops.h>

#include "ops/path/check.h"
#include "runtime/plan.h"

/* Number and scalars, not memory. Without an expression there are no bindings.
 */
xl_status xl__operands_check(const xl_epilogue *ep, struct xl__error *e);
/* Extents, and that none overlaps the result `c`, except as the same view.
 * `step`: from the result of one product to the next; 0: one result. */
xl_status xl__operands_check_memory(const xl_epilogue *ep,
                                    const struct xl__named *c, size_t step,
                                    struct xl__error *e);
/* A bound tensor as a batch of matrices: the last two dimensions are rows and
 * columns, the others the batch. False if its extent does not fit in 64 bits,
 * or it has too many dimensions or none of some size. */
bool xl__operand_matrix(const xl_binding *b, xl_mat *mat,
                        struct xl__named *named);
/* Operand k into call->mem[mem + k] and call->value[value + k]. */
void xl__operands_bind(const xl_epilogue *ep, struct xl__call *call,
                       unsigned mem, unsigned value);

#endif
