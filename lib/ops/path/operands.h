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
/* The tensors of an epilogue become operands of the call on q, behind those
 * that were added before. */
xl_status xl__operands_add(xl_queue *q, const xl_epilogue *ep,
                           bool with_memory);
/* The last check of an op with an epilogue: its tensors are added, and what is
 * written must be disjoint from all others; a tensor may be the same view. */
xl_status xl__operands_check_memory(xl_queue *q, const xl_epilogue *ep,
                                    bool with_memory);
/* Operand k into call->mem[mem + k] and its values into call->value from value
 * on (runtime/epilogue.h). */
void xl__operands_bind(const struct xl__epilogue_request *want,
                       struct xl__call *call, unsigned mem, unsigned value);

#endif
