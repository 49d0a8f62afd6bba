/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors and scalars of an epilogue: checked for every call, handed on to
 * the launch. What their names mean in the expression is lib/expr's. */
#ifndef XL_OPS_OPERANDS_H
#define XL_OPS_OPERANDS_H

#include <crosslane/ops.h>

#include "ops/path/check.h"
#include "runtime/plan.h"

/* Count, scalars: without memory. No expr, no bindings. */
xl_status xl__operands_check(const xl_epilogue *ep, struct xl__error *e);
/* Extents, and that none meets the result `c` but as the very same view.
 * `step`: from one product's result to the next one's; 0: no such step. */
xl_status xl__operands_check_memory(const xl_epilogue *ep,
                                    const struct xl__named *c, size_t step,
                                    struct xl__error *e);
/* Operand k into call->mem[mem + k] and call->value[value + k]. */
void xl__operands_bind(const xl_epilogue *ep, struct xl__call *call,
                       unsigned mem, unsigned value);

#endif
