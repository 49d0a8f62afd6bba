/* SPDX-License-Identifier: Apache-2.0 */
/* One element of an epilogue on the host, node by node, with the bound of the
 * error that eval.h describes. */
#include "expr/codegen/epilogue.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"

typedef struct xl__interval num;

/* A register's value of what memory or an argument has: f32 may be flushed. */
static num given(enum xl__vtype type, double x, double error)
{
    const num out = {x, error};
    if (type == XL__V_BOOL)
        return xl__interval_round(out, XL_BOOL);
    return type == XL__V_F32 ? xl__interval_f32(x, error) : out;
}

void xl__epilogue_text_eval(const struct xl__epilogue_text *s, xl_dtype dtype,
                            double y, double y_error, const double *operands,
                            double *want, double *error)
{
    const struct xl__epilogue *ep = s->inside;
    const struct xl__graph *g = &ep->g;
    const unsigned last = g->output[0].node;
    num value[XL__EPILOGUE_NODES];
    for (unsigned i = 0; i <= last; i++) {
        const struct xl__node *n = &g->node[i];
        num arg[XL__EXPR_ARGS] = {{0, 0}};
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            arg[a] = value[n->arg[a]];
        if (xl__expr_ops[n->op].cls == XL__C_MAP)
            value[i] = xl__eval_node(g, i, arg);
        else if (n->op == XL__E_CONST)
            value[i] = given(n->type, n->value, 0);
        else if (n->binding == ep->n)
            value[i] = given(n->type, y, y_error);
        else
            value[i] = given(n->type, operands[n->binding], 0);
    }
    const num out = xl__interval_round(value[last], dtype);
    *want = out.x;
    *error = out.err;
}
