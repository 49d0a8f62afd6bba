/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a call: checked, and split into what a plan depends on (the
 * key) and what it does not (memory, offsets, scalars). */
#ifndef XL_OPS_EXPRESSION_ARGUMENTS_H
#define XL_OPS_EXPRESSION_ARGUMENTS_H

#include "ops/expression/expression.h"

/* Reads c->args, which with c->q and c->e the caller has set, into c->key,
 * c->key_bytes and c->call. Checks what may differ between calls of one key:
 * with `with_memory` memory, offsets and scalars. Allocates nothing. Errors:
 * XL_BAD_ARGUMENT, XL_BAD_SCALAR, XL_BUFFER_TOO_SMALL, XL_OVERLAP,
 * XL_OVERFLOW; the message names the binding. */
xl_status xl__expr_read_args(struct xl__expr_call *c, bool with_memory);

/* Checks what the key itself states: names, types, shapes and strides. Done
 * when a plan is made, not for a cached one. */
xl_status xl__expr_check_key(const struct xl__expr_call *c);

#endif
