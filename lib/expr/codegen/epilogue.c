/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues and prologues as kernel text; "epilogue" is both here.
 *
 *   expression --parse--> tree --check, infer--> graph --write--> text
 *
 * The tree is checked first: views, reductions and random numbers are errors
 * in an epilogue, since its text computes one element from one y. The text has
 * functions for one element and for each vector width that XL_VW may be; the
 * preprocessor keeps one of these. Names outside the functions begin with ep,
 * names inside are those of opencl.h.
 *
 * xl__epilogue_text_get() keeps texts in lists of the context, by a hash of
 * all that they depend on (struct epilogue_key). A queue has lists of the
 * texts that it uses, so that a call with one of them costs a hash and a
 * comparison and takes no lock. A text that no queue uses can be freed.
 *
 * xl__epilogue_text_eval() computes one element on the host, node by node,
 * with a bound of the device's error (expr/host/interval.h). */
#include "expr/codegen/epilogue.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "device/device.h"
#include "expr/codegen/opencl_ops.h"
#include "expr/graph/graph.h"
#include "expr/graph/infer.h"
#include "expr/graph/infer_types.h"
#include "expr/graph/print.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"
#include "expr/language/functions.h"
#include "expr/language/parser.h"

bool xl__epilogue_strides(const xl_binding *b, const size_t size[XL__N_ALONG],
                          size_t stride[XL__N_ALONG])
{
    const xl_tensor *t = &b->tensor;
    for (unsigned along = 0; along < XL__N_ALONG; along++)
        stride[along] = 0;
    if (b->is_scalar)
        return true;
    if (t->n_dims > XL_MAX_DIMS)
        return false;
    for (unsigned d = 0; d < t->n_dims; d++) {
        const unsigned along = d + XL__N_ALONG - t->n_dims; /* wraps below 0 */
        if (t->size[d] == 1)
            continue;
        if (along >= XL__N_ALONG || t->size[d] != size[along])
            return false;
        stride[along] = t->stride[d];
    }
    return true;
}

/* The first dimension of a result: the outer axis only where it is used. */
static unsigned first_dim(const struct xl__epilogue_request *want)
{
    return want->size[XL__ALONG_OUTER] > 1 ? XL__ALONG_OUTER : XL__ALONG_BATCH;
}

static const char out_name[] = "out";

struct epilogue_reader {
    const struct xl__epilogue_request *want;
    struct xl__epilogue_graph *ep;
    struct xl__tree tree;
    struct xl__signature sig; /* operands, y, out */
    struct xl__error *e;
};

static const struct xl__hook_words *words_of(const struct epilogue_reader *r)
{
    return &xl__hook_words[r->want->hook];
}

static const char *value_name(const struct xl__epilogue_request *want)
{
    return want->value ? want->value : xl__hook_words[want->hook].value;
}

/* -- the tree ------------------------------------------------------------- */

/* Is the node of the tree possible in an epilogue? */
static xl_status check_node(const struct epilogue_reader *r,
                            const struct xl__tree_node *n)
{
    if (n->kind == XL__T_VIEW)
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "slices and transposes are not possible in "
                              "%s; bind the view instead",
                              words_of(r)->one);
    if (n->kind != XL__T_CALL)
        return XL_OK;
    if (n->row != XL__ROW_NONE || xl__expr_ops[n->op].cls == XL__C_REDUCE)
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "reductions and functions over an axis are not "
                              "possible in %s; apply them %s with "
                              "xl_expr_run()",
                              words_of(r)->one,
                              r->want->hook == XL__EPILOGUE ? "to the result"
                                                            : "before");
    if (n->op == XL__E_GATHER)
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "gather is not possible in %s; bind a tensor "
                              "that xl_expr_run() has gathered",
                              words_of(r)->one);
    if (xl__is_of_place(n->op))
        return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                              "%s not possible in %s; bind a tensor that "
                              "xl_expr_run() has filled",
                              n->op == XL__E_INDEX ? "index() is"
                                                   : "random numbers are",
                              words_of(r)->one);
    return XL_OK;
}

static bool is_name_bound(const struct epilogue_reader *r, const char *name)
{
    if (strcmp(name, value_name(r->want)) == 0)
        return true;
    for (unsigned k = 0; k < r->ep->n; k++) {
        if (strcmp(name, r->ep->operand[k].name) == 0)
            return true;
    }
    return false;
}

/* Check that statements assign neither y nor an operand, and that there is a
 * result. */
static xl_status check_statements(const struct epilogue_reader *r)
{
    const struct xl__tree *t = &r->tree;
    bool leaves = false;
    for (unsigned i = 0; i < t->n_statements; i++) {
        const struct xl__statement *s = &t->statement[i];
        const char *name = t->name[s->name];
        if (is_name_bound(r, name))
            return xl__tree_error(t, s->location, r->e, XL_BAD_ARGUMENT,
                                  "'%s' is bound, and %s assigns "
                                  "only its result; use another name",
                                  name, words_of(r)->one);
        leaves = leaves || strcmp(name, out_name) == 0;
    }
    if (leaves)
        return XL_OK;
    return xl__tree_error(t, t->statement[t->n_statements - 1].location, r->e,
                          XL_BAD_ARGUMENT,
                          "the %s has no result: end with an "
                          "expression, or assign it to '%s'",
                          words_of(r)->name, out_name);
}

/* -- names ---------------------------------------------------------------- */

/* Check that an operand's name is not reserved and bound once. */
static xl_status check_name(const struct epilogue_reader *r, unsigned k)
{
    const char *name = r->ep->operand[k].name;
    const bool is_ours =
        strcmp(name, value_name(r->want)) == 0 || strcmp(name, out_name) == 0;
    if (is_ours || xl__is_reserved(name, strlen(name)))
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "binding %u: \"%s\" is reserved in %s; "
                             "use another name",
                             k, name, words_of(r)->one);
    for (unsigned other = 0; other < k; other++) {
        if (strcmp(r->ep->operand[other].name, name) == 0)
            return xl__error_set(r->e, XL_BAD_ARGUMENT,
                                 "\"%s\" is bound twice, by bindings %u and "
                                 "%u",
                                 name, other, k);
    }
    return XL_OK;
}

/* The position in the text at which a name is first read; UINT_MAX: it is not
 * read. */
static unsigned first_use(const struct xl__tree *t, const char *name)
{
    for (unsigned i = 0; i < t->n_nodes; i++) {
        const struct xl__tree_node *n = &t->node[i];
        if (n->kind == XL__T_NAME && strcmp(t->name[n->name], name) == 0)
            return n->location;
    }
    return UINT_MAX;
}

/* Check that the expression uses an operand, and that the operand broadcasts
 * over the result; errors have the position of its first use. */
static xl_status check_used(const struct epilogue_reader *r, unsigned k)
{
    const struct xl__tree *t = &r->tree;
    const unsigned first = first_dim(r->want);
    struct xl__shape result = {.n_dims = XL__N_ALONG - first};
    const xl_binding *b = &r->want->epilogue->bindings[k];
    const unsigned place = first_use(t, b->name);
    char own[XL__SHAPE_TEXT], over[XL__SHAPE_TEXT];
    size_t stride[XL__N_ALONG];
    struct xl__shape shape = {.n_dims = b->tensor.n_dims};
    memcpy(result.size, r->want->size + first,
           result.n_dims * sizeof *result.size);
    if (place == UINT_MAX)
        return xl__tree_error(t, 0, r->e, XL_BAD_ARGUMENT,
                              "'%s' is bound but not used in the %s", b->name,
                              words_of(r)->name);
    if (xl__epilogue_strides(b, r->want->size, stride))
        return XL_OK;
    if (shape.n_dims > XL_MAX_DIMS)
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "%s has %u dimensions; at most %d are possible",
                             b->name, shape.n_dims, XL_MAX_DIMS);
    memcpy(shape.size, b->tensor.size, sizeof shape.size);
    return xl__tree_error(t, place, r->e, XL_BAD_SHAPE,
                          "'%s' of shape %s does not broadcast over the "
                          "result's %s, products x rows x columns: from the "
                          "last axis on, each size must be the result's or 1",
                          b->name, xl__shape_text(&shape, own),
                          xl__shape_text(&result, over));
}

/* -- the graph ------------------------------------------------------------ */

static void bind_result(struct epilogue_reader *r, const char *name,
                        xl_dtype dtype)
{
    struct xl__parameter *b = &r->sig.b[r->sig.n++];
    xl__strcpy(b->name, sizeof b->name, name);
    b->dtype = (unsigned)dtype;
    const unsigned first = first_dim(r->want);
    b->n_dims = XL__N_ALONG - first;
    size_t step = 1;
    for (unsigned d = b->n_dims; d-- > 0;) {
        b->size[d] = r->want->size[first + d];
        b->stride[d] = step;
        step *= b->size[d];
    }
}

/* Bind the operands, y and out. y and out are bound as dense, since the text
 * does not access their memory. */
static void bind_operands(struct epilogue_reader *r)
{
    for (unsigned k = 0; k < r->ep->n; k++) {
        const xl_binding *from = &r->want->epilogue->bindings[k];
        struct xl__parameter *b = &r->sig.b[r->sig.n++];
        memcpy(b->name, r->ep->operand[k].name, sizeof b->name);
        b->dtype = (unsigned)from->tensor.dtype;
        b->is_scalar = from->is_scalar;
        if (from->is_scalar)
            continue;
        b->n_dims = from->tensor.n_dims;
        memcpy(b->size, from->tensor.size, b->n_dims * sizeof *b->size);
    }
    bind_result(r, value_name(r->want), XL_F32);
    bind_result(r, out_name, r->ep->dtype);
}

/* Check the graph's size, and that `out` is not read before it is assigned. */
static xl_status check_graph(const struct epilogue_reader *r)
{
    const struct xl__graph *g = &r->ep->g;
    if (g->n_nodes > XL__EPILOGUE_NODES)
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "%s of %u operations; at most %d are possible: "
                             "compute the rest with xl_expr_run()",
                             words_of(r)->one, g->n_nodes, XL__EPILOGUE_NODES);
    if (xl__has_wide_values(g))
        return xl__error_set(r->e, XL_BAD_ARGUMENT,
                             "%s is computed in f32 and i32; cast to those",
                             words_of(r)->one);
    for (unsigned i = 0; i < g->n_nodes; i++) {
        const struct xl__node *n = &g->node[i];
        if (n->op == XL__E_INPUT && n->binding > r->ep->n)
            return xl__tree_error(&r->tree, n->location, r->e, XL_BAD_ARGUMENT,
                                  "'%s' is read before it is assigned%s",
                                  out_name,
                                  r->want->hook == XL__EPILOGUE
                                      ? "; its old value is part of y if "
                                        "beta is not 0"
                                      : "");
    }
    return XL_OK;
}

/* All checks that need no types or shapes. */
static xl_status check_tree(const struct epilogue_reader *r)
{
    xl_status status = XL_OK;
    const struct xl__tree *t = &r->tree;
    for (unsigned i = 0; i < t->n_nodes; i++)
        TRY(check_node(r, &t->node[i]));
    TRY(check_statements(r));
    if (first_use(t, value_name(r->want)) == UINT_MAX)
        TRY(xl__tree_error(t, 0, r->e, XL_BAD_ARGUMENT,
                           "the %s does not use '%s', the value that it "
                           "is applied to",
                           words_of(r)->name, value_name(r->want)));
    for (unsigned k = 0; k < r->ep->n; k++)
        TRY(check_used(r, k));
fail:
    return status;
}

xl_status xl__epilogue_read(const struct xl__epilogue_request *want,
                            struct xl__epilogue_graph *out,
                            struct xl__error *e)
{
    xl_status status = XL_OK;
    struct epilogue_reader r = {.want = want, .ep = out, .e = e};
    for (unsigned k = 0; k < out->n; k++)
        TRY(check_name(&r, k));
    TRY(xl__parse(out->expr, strlen(out->expr), &r.tree, e));
    TRY(check_tree(&r));
    bind_operands(&r);
    TRY(xl__infer(&r.tree, &r.sig, &out->g, e));
    TRY(check_graph(&r));
fail:
    xl__tree_clear(&r.tree);
    return status;
}

struct epilogue_writer {
    struct xl__emit m;
    const struct xl__epilogue_graph *ep;
    unsigned leaf[XL__EPILOGUE_OPERANDS + 1]; /* node, by binding; UINT_MAX:
                                                    it is not in the graph */
};

static const struct xl__hook_words *names_of(const struct epilogue_writer *w)
{
    return &xl__hook_words[w->ep->hook];
}

static const struct xl__output *result_output(const struct epilogue_writer *w)
{
    return &w->ep->g.output[0];
}

/* -- around the functions ------------------------------------------------- */

/* A signature for printing the graph: names, and views as the graph has them.
 */
static void name_operands(const struct epilogue_writer *w,
                          struct xl__signature *s)
{
    *s = (struct xl__signature){.n = w->ep->n + 1};
    for (unsigned k = 0; k < s->n; k++) {
        struct xl__parameter *b = &s->b[k];
        const unsigned leaf = w->leaf[k];
        xl__strcpy(b->name, sizeof b->name,
                   k < w->ep->n ? w->ep->operand[k].name : names_of(w)->value);
        if (leaf == UINT_MAX)
            continue;
        const struct xl__node *n = &w->m.g->node[leaf];
        b->n_dims = n->shape.n_dims;
        memcpy(b->size, n->shape.size, sizeof b->size);
        memcpy(b->stride, n->stride, sizeof b->stride);
    }
}

/* The head of the text: the expression as it is computed, and the operands. */
static void write_comment(struct epilogue_writer *w)
{
    struct xl__str *out = w->m.out;
    struct xl__signature s;
    name_operands(w, &s);
    xl__str_printf(out, "/* %s %s of ",
                   w->ep->hook == XL__EPILOGUE ? "Stores" : "Gives",
                   xl_dtype_name(w->ep->dtype));
    xl__graph_print(w->m.g, &s, result_output(w)->node, out);
    xl__str_add(out, "\n");
    for (unsigned k = 0; k < w->ep->n; k++)
        xl__str_printf(out, " *   %s%u: %s %s%s\n", names_of(w)->prefix, k,
                       s.b[k].name,
                       w->ep->operand[k].is_scalar ? "scalar " : "",
                       xl_dtype_name((xl_dtype)w->ep->operand[k].dtype));
    xl__str_add(out, " */\n");
}

static void write_default(struct epilogue_writer *w, const char *along,
                          unsigned k, int value)
{
    const char c = names_of(w)->layout;
    xl__str_printf(w->m.out, "#ifndef %c%s%u\n#define %c%s%u %d\n#endif\n", c,
                   along, k, c, along, k, value);
}

/* The layout of operand k along columns (E<k>), rows (EI<k>) and products
 * (EZ<k>) is defined by the op (runtime/epilogue.h); that of a prologue has
 * the letter P. The text has defaults, so that it compiles by itself. */
static void write_layout_defaults(struct epilogue_writer *w)
{
    for (unsigned k = 0; k < w->ep->n; k++) {
        if (w->ep->operand[k].is_scalar)
            continue;
        write_default(w, "", k, 2);
        write_default(w, "I", k, 1);
        write_default(w, "Z", k, 1);
    }
    xl__str_add(w->m.out, "#include \"expr/epilogue_operands.clh\"\n");
}

/* XL_EPILOGUE_PARAMS and XL_EPILOGUE_ARGS: the operands as parameters of the
 * op's kernel and as arguments of the functions here. */
static void write_params(struct epilogue_writer *w)
{
    struct xl__str *out = w->m.out;
    const char *define = names_of(w)->define, *p = names_of(w)->prefix;
    xl__str_printf(out, "#define XL_%s_PARAMS XL_EP_INNER_PARAM(%s)", define,
                   p);
    for (unsigned k = 0; k < w->ep->n; k++) {
        const struct xl__epilogue_binding *o = &w->ep->operand[k];
        if (o->is_scalar)
            xl__str_printf(out, " \\\n    , const %s %s%u",
                           xl__opencl_elem_type((xl_dtype)o->dtype), p, k);
        else
            xl__str_printf(out,
                           " \\\n    , __global const %s *%s%u "
                           "XL_EP_VIEW_PARAMS(%s, %c, %u)",
                           xl__opencl_elem_type((xl_dtype)o->dtype), p, k, p,
                           names_of(w)->layout, k);
    }
    xl__str_printf(out, "\n#define XL_%s_ARGS XL_EP_INNER_ARG(%s)", define, p);
    for (unsigned k = 0; k < w->ep->n; k++) {
        xl__str_printf(out, " \\\n    , %s%u", p, k);
        if (!w->ep->operand[k].is_scalar)
            xl__str_printf(out, " XL_EP_VIEW_ARGS(%s, %c, %u)", p,
                           names_of(w)->layout, k);
    }
    xl__str_add(out, "\n\n");
}

/* Can the operand be fetched for a column? */
static bool is_fetched(const struct epilogue_writer *w, unsigned k)
{
    return w->ep->hook == XL__EPILOGUE &&
           xl__epilogue_is_fetched((xl_dtype)w->ep->operand[k].dtype,
                                   w->ep->operand[k].is_scalar);
}

/* XL_EP_SLOT<k>: which of the fetched elements of a column is that of operand
 * k. The last one is their number. */
static void write_fetch(struct epilogue_writer *w)
{
    struct xl__emit *m = &w->m;
    if (w->ep->hook == XL__PROLOGUE)
        return;
    xl__str_add(m->out, "#define XL_EP_SLOT0 0\n");
    for (unsigned k = 0; k < w->ep->n; k++)
        xl__str_printf(m->out,
                       is_fetched(w, k)
                           ? "#define XL_EP_SLOT%u (XL_EP_SLOT%u + "
                             "XL_EP_OF_COLUMN(E, %u))\n"
                           : "#define XL_EP_SLOT%u XL_EP_SLOT%u\n",
                       k + 1, k, k);
    xl__str_printf(m->out,
                   "#define XL_EPILOGUE_FETCHED XL_EP_SLOT%u\n"
                   "static inline __attribute__((always_inline)) void "
                   "xl_epilogue_fetch(\n"
                   "    uint *to, const ulong z, const ulong j "
                   "XL_EPILOGUE_PARAMS)\n{\n",
                   w->ep->n);
    m->indent = 1;
    xl__emit_line(m, "const ulong i = 0;");
    for (unsigned k = 0; k < w->ep->n; k++) {
        if (!is_fetched(w, k))
            continue;
        xl__emit_line(m, "if (XL_EP_OF_COLUMN(E, %u))", k);
        xl__emit_line(m,
                      "    to[XL_EP_SLOT%u] = "
                      "as_uint(xl_load_%s_1(XL_EP_AT(ep, E, %u), 0));",
                      k, xl_dtype_name((xl_dtype)w->ep->operand[k].dtype), k);
    }
    m->indent = 0;
    xl__str_add(m->out, "}\n");
}

/* The macros that an op's kernel uses: XL_EPILOGUE_OF gives the value of N
 * elements, XL_EPILOGUE stores it. */
static void write_call(struct epilogue_writer *w)
{
    if (w->ep->hook == XL__PROLOGUE) {
        xl__str_add(w->m.out,
                    "#define XL_PROLOGUE_OF(N, x, z, i, j) \\\n"
                    "    XL_CAT(xl_prologue_of_, N)(0, 0, 0, x, z, i, j "
                    "XL_PROLOGUE_ARGS)\n");
        return;
    }
    xl__str_printf(
        w->m.out,
        "#define XL_EPILOGUE_FETCH(to, z, j) \\\n"
        "    xl_epilogue_fetch(to, z, j XL_EPILOGUE_ARGS)\n"
        "#define XL_EPILOGUE_OF(N, A, kept, apart, y, z, i, j) \\\n"
        "    XL_CAT(xl_epilogue_of_, N)(XL_CAT(XL_EP_ALIGNED, XL_CAT(_, A)), "
        "kept, "
        "apart, \\\n"
        "        y, z, i, j XL_EPILOGUE_ARGS)\n"
        "#define XL_EPILOGUE(N, A, T, p, at, y, z, i, j) \\\n"
        "    XL_CAT(xl_epilogue_, N)((__global %s *)(p) + (at), \\\n"
        "        XL_CAT(XL_EP_ALIGNED, XL_CAT(_, A)), y, z, i, j "
        "XL_EPILOGUE_ARGS)\n",
        xl__opencl_elem_type(w->ep->dtype));
}

/* -- a function ----------------------------------------------------------- */

/* Load operand k into its variable: what was fetched, or by E<k> a broadcast,
 * a contiguous or a strided load. */
static void write_load(struct epilogue_writer *w, unsigned k)
{
    struct xl__emit *m = &w->m;
    const unsigned node = w->leaf[k];
    const char *p = names_of(w)->prefix, c = names_of(w)->layout;
    const xl_dtype dtype = (xl_dtype)w->ep->operand[k].dtype;
    const char *elem = xl__opencl_elem_type(dtype),
               *name = xl_dtype_name(dtype);
    const char *type = xl__emit_type(m->g, m->g->node[node].type, m->vw);
    if (w->ep->operand[k].is_scalar) {
        xl__emit_line(m, "const %s v%u = %s%u;", elem, node, p, k);
        return;
    }
    xl__emit_line(m, "__global const %s *m%u = XL_EP_AT(%s, %c, %u);", elem, k,
                  p, c, k);
    xl__emit_line(m, "const %s v%u =", type, node);
    if (is_fetched(w, k)) {
        xl__emit_line(m, "    apart && XL_EP_OF_COLUMN(E, %u)", k);
        xl__emit_line(m,
                      "    ? *(__local const %s *)(kept + XL_EP_SLOT%u * "
                      "apart) :",
                      type, k);
    }
    if (m->vw == 1) {
        xl__emit_line(m, "    xl_load_%s_1(m%u, 0);", name, k);
        return;
    }
    xl__emit_line(m, "    %c%u == 0 ? (%s)(%sxl_load_%s_1(m%u, 0))", c, k,
                  type, dtype == XL_BOOL ? "-" : "", name, k);
    xl__emit_line(m, "    : %c%u == 3 && aligned ? xl_loada_%s_%u(m%u, 0)", c,
                  k, name, m->vw, k);
    xl__emit_line(m, "    : %c%u != 2 ? xl_load_%s_%u(m%u, 0)", c, k, name,
                  m->vw, k);
    xl__emit_line(m, "    : xl_loads_%s_%u(m%u, 0, XL_EP_STEP(%s, %c, %u));",
                  name, m->vw, k, p, c, k);
}

static void write_return(struct epilogue_writer *w)
{
    struct xl__emit *m = &w->m;
    xl__emit_indent(m);
    xl__str_add(m->out, "return ");
    xl__emit_ref_as(m, result_output(w)->node, m->vw,
                    xl__register_type(w->ep->dtype));
    xl__str_add(m->out, ";\n");
}

static void write_store(struct epilogue_writer *w)
{
    struct xl__emit *m = &w->m;
    const xl_dtype dtype = w->ep->dtype;
    const char *name = xl_dtype_name(dtype);
    xl__emit_line(m,
                  "const %s x = xl_epilogue_of_%u(aligned, 0, 0, y, z, i, j "
                  "XL_EPILOGUE_ARGS);",
                  xl__emit_type(m->g, xl__register_type(dtype), m->vw), m->vw);
    if (m->vw == 1) {
        xl__emit_line(m, "xl_store_%s_1(p, 0, x);", name);
        return;
    }
    xl__emit_line(m, "if (aligned)");
    xl__emit_line(m, "    xl_storea_%s_%u(p, 0, x);", name, m->vw);
    xl__emit_line(m, "else");
    xl__emit_line(m, "    xl_store_%s_%u(p, 0, x);", name, m->vw);
}

/* The function that computes the value. All functions are inlined, so that the
 * branches on `aligned` and on layouts are resolved by the compiler. */
static void write_value_function(struct epilogue_writer *w, unsigned width)
{
    struct xl__emit *m = &w->m;
    const unsigned y = w->leaf[w->ep->n];
    m->vw = width;
    xl__str_printf(m->out,
                   "static inline __attribute__((always_inline)) %s "
                   "xl_%s_of_%u(\n"
                   "    const int aligned, __local const uint *kept, const "
                   "uint apart,\n"
                   "    const %s y, const ulong z, const ulong i, const "
                   "ulong j XL_%s_PARAMS)\n{\n",
                   xl__emit_type(m->g, xl__register_type(w->ep->dtype), width),
                   names_of(w)->name, width,
                   xl__emit_type(m->g, XL__V_F32, width), names_of(w)->define);
    m->indent = 1;
    if (y != UINT_MAX)
        xl__emit_line(m, "const %s v%u = y;",
                      xl__emit_type(m->g, XL__V_F32, width), y);
    for (unsigned k = 0; k < w->ep->n; k++) {
        if (w->leaf[k] != UINT_MAX)
            write_load(w, k);
    }
    for (unsigned i = 0; i < m->g->n_nodes; i++)
        xl__emit_node(m, i, width);
    write_return(w);
    m->indent = 0;
    xl__str_add(m->out, "}\n");
}

/* The functions of one width: the value, and its store. */
static void write_functions(struct epilogue_writer *w, unsigned width)
{
    struct xl__emit *m = &w->m;
    write_value_function(w, width);
    if (w->ep->hook == XL__PROLOGUE)
        return;
    xl__str_printf(m->out,
                   "static inline __attribute__((always_inline)) void "
                   "xl_epilogue_%u(\n"
                   "    __global %s *p, const int aligned, const %s y,\n"
                   "    const ulong z, const ulong i, const ulong j "
                   "XL_EPILOGUE_PARAMS)\n{\n",
                   width, xl__opencl_elem_type(w->ep->dtype),
                   xl__emit_type(m->g, XL__V_F32, width));
    m->indent = 1;
    write_store(w);
    m->indent = 0;
    xl__str_add(m->out, "}\n");
}

/* All of the text. Functions of width 1 always exist; of wider ones the
 * preprocessor keeps that of XL_VW. */
static void write_text(struct epilogue_writer *w)
{
    write_comment(w);
    xl__emit_includes(&w->m);
    write_layout_defaults(w);
    write_params(w);
    write_fetch(w);
    write_functions(w, 1);
    for (unsigned width = 2; width <= XL__EXPR_MAX_VW; width *= 2) {
        xl__str_printf(w->m.out, "#%sif XL_VW == %u\n", width > 2 ? "el" : "",
                       width);
        write_functions(w, width);
    }
    xl__str_add(w->m.out, "#endif\n\n");
    write_call(w);
}

/* --------------------------------------------------------------------------
 */

static bool is_leaf(const struct xl__node *n)
{
    return n->op == XL__E_INPUT || n->op == XL__E_SCALAR;
}

/* The group that the functions of opencl.h need: all operations by element, no
 * operands. Sets the leaves. */
static bool gather_nodes(struct epilogue_writer *w, struct xl__group *group)
{
    const struct xl__graph *g = w->m.g;
    group->form = XL__FORM_MAP;
    group->n_loops = 1;
    group->value = xl__calloc((size_t)g->n_nodes + 1, sizeof *group->value);
    for (unsigned k = 0; k <= w->ep->n; k++)
        w->leaf[k] = UINT_MAX;
    for (unsigned i = 0; i < g->n_nodes && group->value; i++) {
        if (is_leaf(&g->node[i]))
            w->leaf[g->node[i].binding] = i;
        else if (xl__expr_ops[g->node[i].op].cls == XL__C_MAP)
            group->value[group->n_values++].node = i;
    }
    return group->value != NULL;
}

xl_status xl__epilogue_write(struct xl__epilogue_graph *ep,
                             const struct xl__limits *l)
{
    struct xl__str out = {0};
    struct xl__group group = {0};
    struct epilogue_writer w = {
        .m = {.g = &ep->g, .group = &group, .l = l, .out = &out}, .ep = ep};
    if (gather_nodes(&w, &group))
        write_text(&w);
    ep->flop = 0;
    for (unsigned i = 0; i < group.n_values; i++)
        ep->flop += xl__expr_ops[ep->g.node[group.value[i].node].op].flop;
    ep->text = out.len > 0 ? xl__str_steal(&out) : NULL;
    xl__str_clear(&out);
    free(group.value);
    return ep->text ? XL_OK : XL_NO_MEMORY;
}

/* All that a text depends on, with the hash of the expression in place of
 * its characters. Compared with memcmp(): no padding. */
struct epilogue_key {
    uint64_t expr; /* hash of the characters */
    uint64_t value; /* of the value's name */
    uint64_t dtype, hook, n;
    struct key_operand {
        struct xl__epilogue_binding as;
        size_t stride[XL__N_ALONG]; /* classes */
        size_t is_aligned;
    } operand[XL__EPILOGUE_OPERANDS];
};

struct epilogue_entry {
    struct xl__epilogue_text s; /* first: an op holds a pointer to it */
    struct epilogue_key key;
};

/* -- the key -------------------------------------------------------------- */

/* Bytes of a key with n operands: the rest of the array is not compared. */
static size_t key_bytes(size_t n)
{
    return offsetof(struct epilogue_key, operand) +
           n * sizeof(struct key_operand);
}

/* Set what the text depends on of an operand; the name must fit. */
static xl_status set_name(struct xl__epilogue_binding *to, const xl_binding *b,
                          struct xl__error *e)
{
    size_t len = 0;
    while (len < sizeof to->name && b->name[len])
        len++;
    if (len == sizeof to->name)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "the name \"%.*s...\" is longer than %d "
                             "characters",
                             XL_EXPR_MAX_NAME, b->name, XL_EXPR_MAX_NAME);
    memset(to->name, 0, sizeof to->name);
    memcpy(to->name, b->name, len);
    to->dtype = (unsigned)b->tensor.dtype;
    to->is_scalar = b->is_scalar;
    return XL_OK;
}

/* Are vectors of neighbours aligned from a multiple of their width on? Where
 * an SVM pointer points is not known. */
static bool is_aligned(const xl_tensor *t, const size_t stride[XL__N_ALONG])
{
    size_t bits = t->offset;
    bool has_neighbours = false;
    for (unsigned along = 0; along < XL__N_ALONG; along++) {
        if (stride[along] == 1 && !has_neighbours)
            has_neighbours = true;
        else
            bits |= stride[along];
    }
    return !t->mem.svm && has_neighbours && bits % XL__EPILOGUE_ALIGN == 0;
}

/* Sets *fits to whether all operands broadcast over the result. */
static xl_status set_key(const struct xl__epilogue_request *want,
                         struct epilogue_key *key, bool *fits,
                         struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_epilogue *ep = want->epilogue;
    key->expr = xl__hash64(ep->expr, strlen(ep->expr));
    key->value = xl__hash64(value_name(want), strlen(value_name(want)));
    key->dtype = (uint64_t)want->dtype;
    key->hook = (uint64_t)want->hook;
    key->n = ep->n_bindings;
    *fits = true;
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        size_t *stride = key->operand[k].stride;
        TRY(set_name(&key->operand[k].as, &ep->bindings[k], e));
        *fits &= xl__epilogue_strides(&ep->bindings[k], want->size, stride);
        key->operand[k].is_aligned =
            !ep->bindings[k].is_scalar &&
            is_aligned(&ep->bindings[k].tensor, stride);
        for (unsigned along = 0; along < XL__N_ALONG; along++)
            stride[along] = xl__min_size(stride[along], 2);
    }
fail:
    return status;
}

/* -- the lists of texts --------------------------------------------------- */

/* Is it the text of this key and expression? */
static bool is_entry(const struct xl__epilogue_text *s, uint64_t hash,
                     const struct epilogue_key *key, const char *expr)
{
    const struct xl__epilogue_graph *of = s->inside;
    return s->hash == hash && s->n_operands == key->n &&
           memcmp(&((const struct epilogue_entry *)s)->key, key,
                  key_bytes((size_t)key->n)) == 0 &&
           strcmp(of->expr, expr) == 0;
}

/* Are graph and text those of this expression over such operands, apart from
 * classes of strides? */
static bool is_same_epilogue(const struct xl__epilogue_graph *a,
                             const struct epilogue_key *key, const char *expr)
{
    if ((uint64_t)a->dtype != key->dtype || a->hook != key->hook ||
        a->value != key->value || a->n != key->n || strcmp(a->expr, expr) != 0)
        return false;
    for (unsigned k = 0; k < a->n; k++) {
        if (memcmp(&a->operand[k], &key->operand[k].as,
                   sizeof a->operand[k]) != 0)
            return false;
    }
    return true;
}

/* Find graph and text that a text of other classes has. */
static struct xl__epilogue_graph *find_epilogue(const struct xl__context *ctx,
                                                const struct epilogue_key *key,
                                                const char *expr)
{
    for (unsigned i = 0; i < XL__EPILOGUE_LISTS; i++) {
        for (struct xl__epilogue_text *s = ctx->epilogues[i]; s; s = s->next) {
            if (is_same_epilogue(s->inside, key, expr))
                return s->inside;
        }
    }
    return NULL;
}

/* -- new texts ------------------------------------------------------------ */

/* Drop one user; the last one frees it. */
static void release_epilogue(struct xl__epilogue_graph *ep)
{
    if (!ep || --ep->n_users > 0)
        return;
    xl__graph_clear(&ep->g);
    free(ep->expr);
    free(ep->text);
    free(ep);
}

static xl_status set_no_memory(struct xl__error *e)
{
    return xl__error_set(e, XL_NO_MEMORY, "an epilogue");
}

/* Make graph and text, with one user. */
static xl_status make_epilogue(xl_queue *q,
                               const struct xl__epilogue_request *want,
                               const struct epilogue_key *key,
                               struct xl__epilogue_graph **out)
{
    xl_status status = XL_OK;
    struct xl__epilogue_graph *ep = xl__calloc(1, sizeof *ep);
    if (ep)
        ep->n_users = 1;
    if (!ep || !(ep->expr = xl__strdup(want->epilogue->expr)))
        TRY(set_no_memory(&q->error));
    ep->dtype = want->dtype;
    ep->hook = want->hook;
    ep->value = key->value;
    ep->n = (unsigned)key->n;
    for (unsigned k = 0; k < ep->n; k++)
        ep->operand[k] = key->operand[k].as;
    TRY(xl__epilogue_read(want, ep, &q->error));
    status = xl__epilogue_write(ep, &q->ctx->device->limits);
    if (status != XL_OK)
        TRY(set_no_memory(&q->error));
    *out = ep;
    return XL_OK;
fail:
    release_epilogue(ep);
    return status;
}

static struct xl__epilogue_text *new_entry(struct xl__epilogue_graph *ep,
                                           const struct epilogue_key *key)
{
    struct epilogue_entry *m = xl__calloc(1, sizeof *m);
    if (!m)
        return NULL;
    memcpy(&m->key, key, key_bytes((size_t)key->n));
    m->s.text = ep->text;
    m->s.flop = ep->flop;
    m->s.inside = ep;
    m->s.hook = ep->hook;
    m->s.n_operands = ep->n;
    for (unsigned k = 0; k < ep->n; k++) {
        struct xl__epilogue_operand *o = &m->s.operand[k];
        o->dtype = (xl_dtype)key->operand[k].as.dtype;
        o->is_scalar = key->operand[k].as.is_scalar != 0;
        o->is_aligned = key->operand[k].is_aligned != 0;
        memcpy(o->stride, key->operand[k].stride, sizeof o->stride);
    }
    return &m->s;
}

/* Called under ctx->lock. If an operand does not fit, the expression is read
 * again, which sets the error with its position. */
static xl_status build_entry(xl_queue *q,
                             const struct xl__epilogue_request *want,
                             const struct epilogue_key *key, bool fits,
                             struct xl__epilogue_text **out)
{
    xl_status status = XL_OK;
    struct xl__epilogue_graph *ep =
        fits ? find_epilogue(q->ctx, key, want->epilogue->expr) : NULL;
    if (ep)
        ep->n_users++;
    else
        TRY(make_epilogue(q, want, key, &ep));
    *out = new_entry(ep, key);
    if (*out)
        return XL_OK;
    release_epilogue(ep);
    status = set_no_memory(&q->error);
fail:
    return status;
}

/* Frees the texts that no queue has. Called under ctx->lock, or when the
 * context is destroyed. */
static unsigned trim_epilogues(struct xl__context *ctx)
{
    unsigned n = 0;
    for (unsigned i = 0; i < XL__EPILOGUE_LISTS; i++) {
        struct xl__epilogue_text *s, **link = &ctx->epilogues[i];
        while ((s = *link) != NULL) {
            if (s->n_queues > 0) {
                link = &s->next;
                continue;
            }
            *link = s->next;
            release_epilogue(s->inside);
            free(s);
            n++;
        }
    }
    return n;
}

/* Under ctx->lock: finds the text in the context, or adds it. */
static xl_status find_or_add(xl_queue *q,
                             const struct xl__epilogue_request *want,
                             const struct epilogue_key *key, bool fits,
                             uint64_t hash, struct xl__epilogue_text **out)
{
    xl_status status = XL_OK;
    struct xl__context *ctx = q->ctx;
    struct xl__epilogue_text **first =
        &ctx->epilogues[hash % XL__EPILOGUE_LISTS];
    struct xl__epilogue_text *s = fits ? *first : NULL;
    while (s && !is_entry(s, hash, key, want->epilogue->expr))
        s = s->next;
    if (!s) {
        TRY(build_entry(q, want, key, fits, &s));
        s->hash = hash;
        s->next = *first;
        *first = s;
        ctx->trim_epilogues = trim_epilogues;
    }
    *out = s;
fail:
    return status;
}

/* Gives the queue a text that it does not have. */
static xl_status add_use(xl_queue *q, const struct xl__epilogue_request *want,
                         const struct epilogue_key *key, bool fits,
                         uint64_t hash, const struct xl__epilogue_text **out)
{
    struct xl__epilogue_use *use = xl__calloc(1, sizeof *use);
    if (!use)
        return set_no_memory(&q->error);
    xl__lock_take(&q->ctx->lock);
    const xl_status status = find_or_add(q, want, key, fits, hash, &use->text);
    if (status == XL_OK)
        use->text->n_queues++;
    xl__lock_drop(&q->ctx->lock);
    if (status != XL_OK) {
        free(use);
        return status;
    }
    use->next = q->epilogues[hash % XL__EPILOGUE_LISTS];
    q->epilogues[hash % XL__EPILOGUE_LISTS] = use;
    *out = use->text;
    return XL_OK;
}

xl_status xl__epilogue_text_get(xl_queue *q,
                                const struct xl__epilogue_request *want,
                                const struct xl__epilogue_text **out)
{
    xl_status status = XL_OK;
    struct epilogue_key key;
    bool fits;
    *out = NULL;
    TRY(set_key(want, &key, &fits, &q->error));
    const uint64_t hash = xl__hash64(&key, key_bytes((size_t)key.n));
    const struct xl__epilogue_use *use =
        fits ? q->epilogues[hash % XL__EPILOGUE_LISTS] : NULL;
    while (use && !is_entry(use->text, hash, &key, want->epilogue->expr))
        use = use->next;
    if (use)
        *out = use->text;
    else
        TRY(add_use(q, want, &key, fits, hash, out));
fail:
    return status;
}

typedef struct xl__interval num;

/* The value of a leaf in a device's register, known to within `error`:
 * subnormal floats may be flushed to 0. */
static num device_value(enum xl__vtype type, double x, double error)
{
    const num out = {x, error};
    if (type == XL__V_BOOL)
        return xl__interval_round(xl__precision_of(NULL), out, XL_BOOL);
    return type == XL__V_F32
               ? xl__interval_float(xl__precision_of(NULL), x, error)
               : out;
}

void xl__epilogue_text_eval(const struct xl__epilogue_text *s, xl_dtype dtype,
                            double y, double y_error, const double *operands,
                            const double *errors, double *want, double *error)
{
    const struct xl__epilogue_graph *ep = s->inside;
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
            value[i] = device_value(n->type, n->value, 0);
        else if (n->binding == ep->n)
            value[i] = device_value(n->type, y, y_error);
        else
            value[i] = device_value(n->type, operands[n->binding],
                                    errors ? errors[n->binding] : 0);
    }
    const num out =
        xl__interval_round(xl__precision_of(NULL), value[last], dtype);
    *want = out.x;
    *error = out.err;
}
