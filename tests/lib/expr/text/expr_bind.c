/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/text/expr_bind.h"

#include <stdlib.h>
#include <string.h>

#include "expr/graph/graph.h"
#include "expr/graph/infer.h"
#include "expr/graph/print.h"
#include "expr/language/parser.h"
#include "support/support.h"

static unsigned dtype_of(const char **at)
{
    for (unsigned t = 0; t < XL_N_DTYPES; t++) {
        const char *name = xl_dtype_name((xl_dtype)t);
        const size_t len = strlen(name);
        if (strncmp(*at, name, len) != 0 || strchr("[ ", (*at)[len]) == NULL)
            continue;
        *at += len;
        return t;
    }
    fail_msg("no type: %s", *at);
    return 0;
}

static const char *read_sizes(const char *at, struct xl__parameter *b)
{
    size_t step = 1;
    while (*at++ != ']') {
        char *end;
        if (*at == ']')
            continue;
        assert_true(b->n_dims < XL_MAX_DIMS);
        b->size[b->n_dims++] = (size_t)strtoull(at, &end, 10);
        assert_ptr_not_equal(end, at);
        at = end;
    }
    for (unsigned d = b->n_dims; d-- > 0; step *= b->size[d])
        b->stride[d] = step;
    return at;
}

void test_bind(const char *spec, struct xl__signature *out)
{
    memset(out, 0, sizeof *out);
    while (*spec != 0) {
        struct xl__parameter *b = &out->b[out->n];
        const size_t len = strcspn(spec, ":");
        assert_true(len <= XL_EXPR_MAX_NAME && out->n < XL_EXPR_MAX_BINDINGS);
        memcpy(b->name, spec, len);
        spec += len + 1;
        b->dtype = dtype_of(&spec);
        b->is_scalar = *spec != '[';
        b->align = 1;
        b->same_as = out->n++;
        if (!b->is_scalar)
            spec = read_sizes(spec, b);
        spec += strspn(spec, " ");
    }
}

xl_status test_infer(const char *text, const struct xl__signature *s,
                     struct xl__graph *g, struct xl__error *e)
{
    struct xl__tree t = {0};
    xl_status status = xl__parse(text, strlen(text), &t, e);
    if (status == XL_OK)
        status = xl__infer(&t, s, g, e);
    xl__tree_clear(&t);
    return status;
}

/* -- a graph as text -------------------------------------------------- */

static void describe(const struct xl__graph *g, const struct xl__signature *s,
                     struct xl__str *out)
{
    static const char *const types[] = {"bool", "i32", "f32"};
    for (unsigned o = 0; o < g->n_outputs; o++) {
        const struct xl__node *n = &g->node[g->output[o].node];
        xl__str_printf(out, "%s = ", s->b[g->output[o].binding].name);
        xl__graph_print(g, s, g->output[o].node, out);
        xl__str_printf(out, ": %s[", types[n->type]);
        for (unsigned d = 0; d < n->shape.n_dims; d++)
            xl__str_printf(out, "%s%zu", d > 0 ? "," : "", n->shape.size[d]);
        xl__str_add(out, "]; ");
    }
    xl__str_printf(out, "%u node%s", g->n_nodes, g->n_nodes == 1 ? "" : "s");
}

void test_golden(const struct test_golden *golden, size_t n, bool is_fast)
{
    for (const struct test_golden *at = golden; at < golden + n; at++) {
        struct xl__signature s;
        struct xl__graph g;
        struct xl__error e = {0};
        struct xl__str got = {0};
        test_bind(at->spec, &s);
        s.fast_math = is_fast;
        assert_status(test_infer(at->text, &s, &g, &e), XL_OK,
                      xl__str_text(&e.detail));
        describe(&g, &s, &got);
        if (strcmp(xl__str_text(&got), at->expected) != 0)
            fail_msg("%s\n     is %s\n not as %s", at->text,
                     xl__str_text(&got), at->expected);
        xl__str_clear(&got);
        xl__error_clear(&e);
        xl__graph_clear(&g);
    }
}
