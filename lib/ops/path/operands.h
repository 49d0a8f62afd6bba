/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors and scalars of an epilogue: checked and bound by every call.
 * lib/expr resolves their names. */
#ifndef XL_OPS_OPERANDS_H
#define XL_OPS_OPERANDS_H

#include <crosslane/gemm.h>
#include <crosslane/softmax.h>

#include "ops/path/check.h"
#include "runtime/epilogue.h"

/* Number and scalars, not memory. Without an expression there are no bindings.
 */
xl_status xl__operands_check(const xl_epilogue *ep, enum xl__hook hook,
                             struct xl__error *e);
/* The last check of an op with an epilogue: its tensors become operands of the
 * call on q, behind those that the op has added, and what is written must be
 * disjoint from all others; a tensor may be the same view. */
xl_status xl__operands_check_memory(xl_queue *q, const xl_epilogue *ep,
                                    bool with_memory);
/* Operand k into call->mem[mem + k] and call->value[value + k]. */
void xl__operands_bind(const xl_epilogue *ep, struct xl__call *call,
                       unsigned mem, unsigned value);

#endif
