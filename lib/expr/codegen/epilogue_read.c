/* SPDX-License-Identifier: Apache-2.0 */
/* An epilogue's expression to its graph. What the language has and an epilogue
 * has not is refused on the tree, before anything is inferred. */
#include <limits.h>
#include <string.h>

#include "expr/codegen/epilogue.h"
#include "expr/graph/infer.h"
#include "expr/graph/infer_types.h"
#include "expr/language/functions.h"
#include "expr/language/parser.h"

static const char y_name[] = "y", out_name[] = "out";

struct reading {
    const struct xl__epilogue_request *want;
    struct xl__epilogue *ep;
    struct xl__tree tree;
    struct xl__signature sig; /* operands, y, out */
    struct xl__error *e;
};

/* -- the tree -------------------------------------------------------------- */

static xl_status check_node(const struct reading *r,
                            const struct xl__tree_node *n)
{
    if (n->kind == XL__T_VIEW)
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "an epilogue has no slices and no transposes: "
                              "bind the view");
    if (n->kind != XL__T_CALL)
        return XL_OK;
    if (n->row != XL__ROW_NONE || xl__expr_ops[n->op].cls == XL__C_REDUCE)
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "an epilogue sees one element at a time: what "
                              "goes over axes is for xl_expr_run() on the "
                              "result");
    if (n->op == XL__E_RAND || n->op == XL__E_RANDN)
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "an epilogue has no random numbers: bind a "
                              "tensor of them, from xl_expr_run()");
    return XL_OK;
}

static bool is_bound(const struct reading *r, const char *name)
{
    if (strcmp(name, y_name) == 0)
        return true;
    for (unsigned k = 0; k < r->ep->n; k++) {
        if (strcmp(name, r->ep->operand[k].name) == 0)
            return true;
    }
    return false;
}

static xl_status check_statements(const struct reading *r)
{
    const struct xl__tree *t = &r->tree;
    bool leaves = false;
    for (unsigned i = 0; i < t->n_statements; i++) {
        const struct xl__statement *s = &t->statement[i];
        const char *name = t->name[s->name];
        if (is_bound(r, name))
            return xl__tree_error(t, s->location, r->e, XL_BAD_ARGUMENT,
                                  "'%s' is bound, and an epilogue writes its "
                                  "result alone: take another name",
                                  name);
        leaves = leaves || strcmp(name, out_name) == 0;
    }
    if (leaves)
        return XL_OK;
    return xl__tree_error(t, t->statement[t->n_statements - 1].location, r->e,
                          XL_BAD_ARGUMENT,
                          "nothing leaves the epilogue: end with an "
                          "expression alone, or assign it to '%s'",
                          out_name);
}

/* -- names ----------------------------------------------------------------- */

static xl_status check_name(const struct reading *r, unsigned k)
{
    const char *name = r->ep->operand[k].name;
    const bool is_ours =
        strcmp(name, y_name) == 0 || strcmp(name, out_name) == 0;
    if (is_ours || xl__is_reserved(name, strlen(name)))
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "binding %u: \"%s\" has a meaning of its own in "
                             "an epilogue; call it otherwise",
                             k, name);
    for (unsigned other = 0; other < k; other++) {
        if (strcmp(r->ep->operand[other].name, name) == 0)
            return xl__error_set(r->e, XL_BAD_ARGUMENT,
                                 "\"%s\" is bound twice, by bindings %u and "
                                 "%u",
                                 name, other, k);
    }
    return XL_OK;
}

/* Where the name is first read; UINT_MAX: nowhere. */
static unsigned first_use(const struct xl__tree *t, const char *name)
{
    for (unsigned i = 0; i < t->n_nodes; i++) {
        const struct xl__tree_node *n = &t->node[i];
        if (n->kind == XL__T_NAME && strcmp(t->name[n->name], name) == 0)
            return n->location;
    }
    return UINT_MAX;
}

static xl_status check_used(const struct reading *r, unsigned k)
{
    const struct xl__tree *t = &r->tree;
    const struct xl__shape result = {XL__N_ALONG,
                                     {r->want->size[XL__ALONG_BATCH],
                                      r->want->size[XL__ALONG_ROWS],
                                      r->want->size[XL__ALONG_COLS]}};
    const xl_binding *b = &r->want->epilogue->bindings[k];
    const unsigned place = first_use(t, b->name);
    char own[XL__SHAPE_TEXT], over[XL__SHAPE_TEXT];
    size_t stride[XL__N_ALONG];
    struct xl__shape shape = {.n_dims = b->tensor.n_dims};
    if (place == UINT_MAX)
        return xl__tree_error(t, 0, r->e, XL_BAD_ARGUMENT,
                              "'%s' is bound, and the epilogue does not use "
                              "it",
                              b->name);
    if (xl__epilogue_fits(b, r->want->size, stride))
        return XL_OK;
    if (shape.n_dims > XL_MAX_DIMS)
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "%s has %u dimensions; at most %d are possible",
                             b->name, shape.n_dims, XL_MAX_DIMS);
    memcpy(shape.size, b->tensor.size, sizeof shape.size);
    return xl__tree_error(t, place, r->e, XL_BAD_SHAPE,
                          "'%s' of shape %s does not broadcast over the "
                          "result's %s, products x rows x columns: from the "
                          "last axis on, a size is the result's or 1",
                          b->name, xl__shape_text(&shape, own),
                          xl__shape_text(&result, over));
}

/* -- the graph ------------------------------------------------------------- */

static void bind_result(struct reading *r, const char *name, xl_dtype dtype)
{
    struct xl__param *b = &r->sig.b[r->sig.n++];
    xl__strcpy(b->name, sizeof b->name, name);
    b->dtype = (unsigned)dtype;
    b->n_dims = XL__N_ALONG;
    size_t step = 1;
    for (unsigned along = XL__N_ALONG; along-- > 0;) {
        b->size[along] = r->want->size[along];
        b->stride[along] = step;
        step *= b->size[along];
    }
}

/* y and the result are dense, whatever they are in memory: nobody asks. */
static void bind_all(struct reading *r)
{
    for (unsigned k = 0; k < r->ep->n; k++) {
        const xl_binding *from = &r->want->epilogue->bindings[k];
        struct xl__param *b = &r->sig.b[r->sig.n++];
        memcpy(b->name, r->ep->operand[k].name, sizeof b->name);
        b->dtype = (unsigned)from->tensor.dtype;
        b->is_scalar = from->is_scalar;
        if (from->is_scalar)
            continue;
        b->n_dims = from->tensor.n_dims;
        memcpy(b->size, from->tensor.size, b->n_dims * sizeof *b->size);
    }
    bind_result(r, y_name, XL_F32);
    bind_result(r, out_name, r->ep->dtype);
}

static xl_status check_graph(const struct reading *r)
{
    const struct xl__graph *g = &r->ep->g;
    if (g->n_nodes > XL__EPILOGUE_NODES)
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "an epilogue of %u operations; at most %d are "
                             "possible: have the rest done by xl_expr_run()",
                             g->n_nodes, XL__EPILOGUE_NODES);
    for (unsigned i = 0; i < g->n_nodes; i++) {
        const struct xl__node *n = &g->node[i];
        if (n->op == XL__E_INPUT && n->binding > r->ep->n)
            return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                                  "'%s' is read here before it is assigned; "
                                  "the old value is in y, by beta",
                                  out_name);
    }
    return XL_OK;
}

static xl_status check_tree(const struct reading *r)
{
    xl_status status = XL_OK;
    const struct xl__tree *t = &r->tree;
    for (unsigned i = 0; i < t->n_nodes; i++)
        TRY(check_node(r, &t->node[i]));
    TRY(check_statements(r));
    if (first_use(t, y_name) == UINT_MAX)
        TRY(xl__tree_error(t, 0, r->e, XL_BAD_ARGUMENT,
                           "the epilogue does not use '%s', the value that it "
                           "is given",
                           y_name));
    for (unsigned k = 0; k < r->ep->n; k++)
        TRY(check_used(r, k));
fail:
    return status;
}

xl_status xl__epilogue_read(const struct xl__epilogue_request *want,
                            struct xl__epilogue *out, struct xl__error *e)
{
    xl_status status = XL_OK;
    struct reading r = {.want = want, .ep = out, .e = e};
    for (unsigned k = 0; k < out->n; k++)
        TRY(check_name(&r, k));
    TRY(xl__parse(out->expr, strlen(out->expr), &r.tree, e));
    TRY(check_tree(&r));
    bind_all(&r);
    TRY(xl__infer(&r.tree, &r.sig, &out->g, e));
    TRY(check_graph(&r));
fail:
    xl__tree_clear(&r.tree);
    return status;
}
