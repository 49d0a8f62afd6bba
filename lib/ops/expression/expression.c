/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of expressions: compile, run, workspace, result. Compiling
 * parses the text once, and plans the first call; the calls are those of an
 * op. Equal expressions, by a hash of their trees, share plans. */
#include "ops/expression/expression.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/graph/infer.h"
#include "expr/language/builder.h"
#include "expr/language/parser.h"
#include "runtime/background/background.h"

/* -- identity of an expression ---------------------------------------- */

static void print_slices(struct xl__str *out, const struct xl__tree_node *n)
{
    for (unsigned i = 0; i < n->n_slices; i++) {
        const struct xl__slice *s = &n->slice[i];
        xl__str_printf(out, "[%d%d%d%d%d %lld %lld %lld", s->has_first,
                       s->has_last, s->is_index, s->is_rest, s->is_new,
                       (long long)s->first, (long long)s->last,
                       (long long)s->step);
    }
}

/* All that a node means; its location in the text is left out. */
static void print_node(struct xl__str *out, const struct xl__tree *t,
                       const struct xl__tree_node *n)
{
    xl__str_printf(out, "%d %d %d %u %a %d %d%d %u:", (int)n->kind, (int)n->op,
                   (int)n->row, n->name, n->value, (int)n->dtype, n->has_axes,
                   (int)n->view, n->n_args);
    for (unsigned i = 0; i < n->n_args; i++)
        xl__str_printf(out, " %u", t->arg[n->first_arg + i]);
    for (unsigned i = 0; i < n->n_axes; i++)
        xl__str_printf(out, ",%d", n->axes[i]);
    for (unsigned i = 0; i < n->n_sizes; i++)
        xl__str_printf(out, "x%lld", (long long)n->size[i]);
    print_slices(out, n);
    xl__str_add(out, "\n");
}

static xl_status set_id(xl_expr *e)
{
    struct xl__str text = {0};
    const struct xl__tree *t = &e->tree;
    for (unsigned i = 0; i < t->n_names; i++)
        xl__str_printf(&text, "%s\n", t->name[i]);
    for (unsigned i = 0; i < t->n_nodes; i++)
        print_node(&text, t, &t->node[i]);
    for (unsigned i = 0; i < t->n_statements; i++)
        xl__str_printf(&text, "%u %u %u\n", t->statement[i].name,
                       t->statement[i].view, t->statement[i].value);
    const bool is_complete = !text.broken;
    if (is_complete)
        xl__hash128(text.text, text.len, e->id);
    xl__str_clear(&text);
    return is_complete ? XL_OK : XL_NO_MEMORY;
}

static bool is_listed(const xl_expr *e, unsigned name)
{
    for (unsigned i = 0; i < e->n_assigned; i++) {
        if (e->assigned[i] == name)
            return true;
    }
    return false;
}

static xl_status set_assigned(xl_expr *e)
{
    const struct xl__tree *t = &e->tree;
    e->assigned = xl__calloc(t->n_statements, sizeof *e->assigned);
    if (!e->assigned)
        return XL_NO_MEMORY;
    for (unsigned i = 0; i < t->n_statements; i++) {
        if (!is_listed(e, t->statement[i].name))
            e->assigned[e->n_assigned++] = t->statement[i].name;
    }
    return set_id(e);
}

/* -- compiling -------------------------------------------------------- */

/* Complete an expression whose tree has been read with `status`. Takes
 * ownership of e. */
static xl_status finish_expr(xl_queue *q, xl_expr *e, xl_status status,
                             const xl_expr_args *args, xl_expr **out)
{
    TRY(status);
    status = set_assigned(e);
    if (status != XL_OK)
        TRY(xl__error_set(&q->error, status, "an expression"));
    TRY(xl__op_prepare(q, &xl__op_expr, &(struct xl__expr_desc){e, args}));
    *out = e;
    return XL_OK;
fail:
    xl_expr_destroy(e);
    return status;
}

xl_status xl_expr_compile(xl_queue *q, const char *text,
                          const xl_expr_args *args, xl_expr **out)
{
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    *out = NULL;
    xl__error_reset(&q->error);
    if (!text)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT, "the text is NULL");
    xl_expr *e = xl__calloc(1, sizeof *e);
    if (!e)
        return xl__error_set(&q->error, XL_NO_MEMORY, "an expression");
    return finish_expr(
        q, e, xl__parse(text, strlen(text), &e->tree, &q->error), args, out);
}

struct later_expr {
    const char *text;
    xl_expr_args args;
    xl_expr **out;
};

static xl_status compile_kept(xl_queue *q, void *what)
{
    const struct later_expr *later = what;
    return xl_expr_compile(q, later->text, &later->args, later->out);
}

xl_status xl_expr_compile_async(xl_queue *q, const char *text,
                                const xl_expr_args *args, xl_expr **out,
                                xl_prepared done, void *arg)
{
    if (!q || !text || !args || !out)
        return XL_BAD_ARGUMENT;
    xl_expr_args full;
    xl__error_reset(&q->error);
    args = xl__sized_read(&xl__op_expr.descriptor, args, &full, &q->error);
    if (!args)
        return q->error.status;
    struct xl__background_call c = {compile_kept, .done = done, .arg = arg};
    struct later_expr later = {xl__keep_text(&c.kept, text), *args, out};
    xl_expr_args *own = &later.args;
    *out = NULL;
    own->bindings = xl__keep_bindings(&c.kept, own->bindings, own->n_bindings);
    own->variant = xl__keep_text(&c.kept, own->variant);
    xl__keep_mem(&c.kept, &own->workspace);
    c.what = xl__keep(&c.kept, &later, sizeof later);
    return xl__background_start(q, &c);
}

static xl_status infer_result(struct xl__op_call *w, const char *name,
                              xl_tensor *out)
{
    xl_status status = XL_OK;
    const struct xl__expr_desc *d = w->desc;
    const struct xl__expr_canonical *key = (void *)w->key->canonical;
    struct xl__node value;
    TRY(xl__expr_check_signature(w->q, &key->sig));
    TRY(xl__infer_value(&d->e->tree, &key->sig, name, &value, &w->q->error));
    *out = xl_tensor_dense(NULL, value.dtype, value.shape.n_dims,
                           value.shape.size);
fail:
    return status;
}

xl_status xl_expr_result(xl_queue *q, const char *text,
                         const xl_expr_args *args, const char *name,
                         xl_tensor *out)
{
    if (!q || !text || !name || !out)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    xl_expr e = {.n_assigned = 0};
    const struct xl__expr_desc desc = {&e, args};
    struct xl__op_call w = {.key = NULL};
    xl__error_reset(&q->error);
    TRY(xl__parse(text, strlen(text), &e.tree, &q->error));
    status = set_assigned(&e);
    if (status != XL_OK)
        TRY(xl__error_set(&q->error, status, "an expression"));
    TRY(xl__op_call_begin(&w, q, &xl__op_expr, &desc, false));
    TRY(infer_result(&w, name, out));
fail:
    xl__op_call_end(&w);
    xl__tree_clear(&e.tree);
    free(e.assigned);
    return status;
}

/* A heap copy of n elements; NULL only when out of memory. */
static void *copied(const void *from, size_t n, size_t elem_bytes)
{
    void *to = xl__calloc(n, elem_bytes);
    if (to && n > 0)
        memcpy(to, from, n * elem_bytes);
    return to;
}

static xl_status copy_tree(const struct xl__tree *from, struct xl__tree *to)
{
    *to = *from;
    to->text = NULL;
    to->node = copied(from->node, from->n_nodes, sizeof *to->node);
    to->arg = copied(from->arg, from->n_args, sizeof *to->arg);
    to->name = copied(from->name, from->n_names, sizeof *to->name);
    to->statement =
        copied(from->statement, from->n_statements, sizeof *to->statement);
    to->cap_nodes = from->n_nodes;
    to->cap_args = from->n_args;
    to->cap_names = from->n_names;
    to->cap_statements = from->n_statements;
    return to->node && to->arg && to->name && to->statement ? XL_OK
                                                            : XL_NO_MEMORY;
}

xl_status xl_expr_compile_terms(xl_queue *q, const xl_terms *t,
                                const xl_expr_args *args, xl_expr **out)
{
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    *out = NULL;
    xl__error_reset(&q->error);
    const struct xl__tree *tree = xl__terms_tree(t, &q->error);
    if (!tree)
        return q->error.status;
    xl_expr *e = xl__calloc(1, sizeof *e);
    if (!e || copy_tree(tree, &e->tree) != XL_OK) {
        xl_expr_destroy(e);
        return xl__error_set(&q->error, XL_NO_MEMORY, "an expression");
    }
    return finish_expr(q, e, XL_OK, args, out);
}

void xl_expr_destroy(xl_expr *e)
{
    if (!e)
        return;
    xl__tree_clear(&e->tree);
    free(e->assigned);
    free(e);
}

/* -- the op ----------------------------------------------------------- */

static const char *forced_variant(const void *desc)
{
    const struct xl__expr_desc *d = desc;
    return d->args->variant && *d->args->variant ? d->args->variant : NULL;
}

const struct xl__op xl__op_expr = {
    .id = XL__OP_EXPR,
    .name = "expr",
    .descriptor = XL__DESCRIPTOR(xl_expr_args, XL_EXPR_ARGS_INIT),
    .read = xl__expr_read,
    .canonical_bytes = offsetof(struct xl__expr_canonical, sig.b),
    .listed_bytes = xl__expr_listed_bytes,
    .check = xl__expr_check,
    .bind = xl__expr_bind,
    .forced = forced_variant,
    .variants = xl__expr_variants,
    .analyse = xl__expr_analyse,
    .clear_analysis = xl__expr_clear_analysis,
    .plan = xl__expr_plan,
    .make_case = xl__expr_make_case,
};

xl_status xl_expr_run(xl_queue *q, const xl_expr *e, const xl_expr_args *args,
                      const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_expr, &(struct xl__expr_desc){e, args}, sync);
}

xl_status xl_expr_workspace(xl_queue *q, const xl_expr *e,
                            const xl_expr_args *args, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_expr, &(struct xl__expr_desc){e, args},
                            bytes);
}

xl_status xl_expr_explain(xl_queue *q, const xl_expr *e,
                          const xl_expr_args *args, xl_choice *out,
                          unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_expr, &(struct xl__expr_desc){e, args},
                          out, cap, n);
}
