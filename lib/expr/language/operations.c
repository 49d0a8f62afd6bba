/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the language as a table. */
#include "expr/language/operations.h"

const struct xl__expr_op_info xl__expr_ops[XL__N_EXPR_OPS] = {
#define ENTRY(id, name, cls, n, result, flop, ulp)                            \
    {name, XL__C_##cls, n, XL__R_##result, flop, ulp},
    XL__EXPR_OP_MAP(ENTRY)
#undef ENTRY
};
