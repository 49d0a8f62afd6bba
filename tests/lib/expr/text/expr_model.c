/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/text/expr_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "expr/codegen/forms.h"
#include "expr/graph/group_eval.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"
#include "expr/host/reduction_value.h"
#include "support/support.h"

typedef struct xl__interval num;

/* -- properties of every schedule ------------------------------------- */

static bool is_reduction(const struct xl__graph *g, unsigned n)
{
    return xl__expr_ops[g->node[n].op].cls == XL__C_REDUCE;
}

static size_t n_iterations(const struct xl__group *p)
{
    size_t n = 1;
    for (unsigned d = 0; d < p->n_loops; d++)
        n *= p->loop[d].size;
    return n;
}

static size_t index_at(const struct xl__group *p, const struct xl__operand *o,
                       size_t iteration)
{
    size_t at = o->offset;
    for (unsigned d = p->n_loops; d-- > 0; iteration /= p->loop[d].size)
        at += iteration % p->loop[d].size * o->stride[d];
    return at;
}

/* The iteration of the kept loops alone. */
static size_t row_of(const struct xl__group *p, size_t iteration)
{
    size_t row = 0, step = 1;
    for (unsigned d = p->n_loops; d-- > 0; iteration /= p->loop[d].size) {
        if (p->loop[d].is_reduced)
            continue;
        row += iteration % p->loop[d].size * step;
        step *= p->loop[d].size;
    }
    return row;
}

static bool varies_in_row(const struct xl__group *p,
                          const struct xl__operand *o)
{
    for (unsigned d = 0; d < p->n_loops; d++)
        if (p->loop[d].is_reduced && o->stride[d] > 0)
            return true;
    return false;
}

static const struct xl__value *value_of(const struct xl__group *p, unsigned n)
{
    for (unsigned i = 0; i < p->n_values; i++)
        if (p->value[i].node == n)
            return &p->value[i];
    return NULL;
}

static const struct xl__operand *load_of(const struct xl__group *p, unsigned n)
{
    for (unsigned i = 0; i < p->n_operands; i++)
        if (!p->operand[i].is_written && p->operand[i].node == n)
            return &p->operand[i];
    return NULL;
}

static void check_values(const struct xl__graph *g, const struct xl__group *p,
                         const char *text)
{
    for (unsigned i = 0; i < p->n_values; i++) {
        const struct xl__value *v = &p->value[i];
        const struct xl__node *n = &g->node[v->node];
        const struct xl__operand *load = load_of(p, v->node);
        assert_true(v->sweep <= p->n_sweeps);
        assert_true(v->is_row || v->sweep < p->n_sweeps);
        if (load && load->at != XL__AT_INDEX)
            continue;
        assert_true(n->op != XL__E_INPUT);
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++) {
            const struct xl__value *arg = value_of(p, n->arg[a]);
            if (!arg || arg >= v)
                fail_msg("%s\nnode %u lacks node %u", text, v->node,
                         n->arg[a]);
            const bool reduced =
                is_reduction(g, n->arg[a]) && !load_of(p, n->arg[a]);
            assert_true(arg->sweep + reduced <= v->sweep);
            assert_true(arg->is_row || !v->is_row || is_reduction(g, v->node));
        }
    }
}

/* Are elements of the node needed in a sweep later than `sweep`: by a
 * reduction or a store there? */
static bool is_read_after(const struct xl__graph *g, const struct xl__group *p,
                          unsigned node, unsigned sweep)
{
    for (unsigned i = 0; i < p->n_operands; i++)
        if (p->operand[i].is_written && p->operand[i].node == node &&
            p->operand[i].sweep > sweep)
            return true;
    for (unsigned i = 0; i < p->n_values; i++) {
        const struct xl__value *v = &p->value[i];
        const struct xl__node *n = &g->node[v->node];
        bool uses = false;
        if (load_of(p, v->node))
            continue;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            uses |= n->arg[a] == node;
        if (uses &&
            (is_reduction(g, v->node) ? v->sweep > sweep
                                      : is_read_after(g, p, v->node, sweep)))
            return true;
    }
    return false;
}

/* No element is read in another iteration than the one that writes it, nor in
 * a later sweep. A row value that is overwritten is loaded before the first
 * sweep, or after the last one by the item that stores it. */
static void check_hazard(const struct xl__graph *g, const struct xl__group *p,
                         const struct xl__operand *w,
                         const struct xl__operand *r)
{
    const size_t n = n_iterations(p);
    bool overlap = false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            if (index_at(p, w, i) != index_at(p, r, k))
                continue;
            overlap = true;
            assert_int_equal(row_of(p, i), row_of(p, k));
            assert_int_equal(varies_in_row(p, w), varies_in_row(p, r));
            assert_true(i == k || !varies_in_row(p, w));
        }
    if (overlap && varies_in_row(p, r))
        assert_false(is_read_after(g, p, r->node, w->sweep));
    const unsigned sweep = value_of(p, r->node)->sweep;
    assert_true(!overlap || varies_in_row(p, r) || sweep == 0 ||
                sweep == p->n_sweeps);
}

static void check_operands(const struct xl__graph *g,
                           const struct xl__signature *s,
                           const struct xl__schedule *plan,
                           const struct xl__group *p)
{
    assert_in_range(p->n_operands, 1, XL__EXPR_OPERANDS);
    for (unsigned i = 0; i < p->n_operands; i++) {
        const struct xl__operand *o = &p->operand[i];
        const struct xl__value *v = value_of(p, o->node);
        assert_non_null(v);
        assert_true(o->align <= XL__EXPR_MAX_VW);
        for (size_t t = 0; t < n_iterations(p);
             t += p->loop[p->n_loops - 1].size)
            assert_int_equal(index_at(p, o, t) % o->align, 0);
        for (unsigned d = 0; d < XL__EXPR_LOOPS; d++)
            assert_true(o->stride[d] == 0 ||
                        (d < p->n_loops && p->loop[d].size > 1));
        if (!o->is_written)
            continue;
        assert_true(v->is_row || o->sweep >= v->sweep);
        assert_true(v->is_row || o->sweep < p->n_sweeps);
        assert_true(!v->is_row || !varies_in_row(p, o));
        for (unsigned k = 0; k < p->n_operands; k++) {
            const struct xl__operand *r = &p->operand[k];
            if (o->at != r->at || k == i)
                continue;
            if (o->at == XL__AT_TEMP) {
                const struct xl__temp *a = &plan->temp[o->index];
                const struct xl__temp *b = &plan->temp[r->index];
                assert_true(a->offset + a->bytes <= b->offset ||
                            b->offset + b->bytes <= a->offset);
            } else if (s->b[o->index].same_as == s->b[r->index].same_as) {
                check_hazard(g, p, o, r);
            }
        }
    }
}

static void check_loops(const struct xl__group *p)
{
    unsigned kept_after = 0;
    bool has_reduced = false;
    assert_in_range(p->n_loops, 1, XL__EXPR_LOOPS);
    for (unsigned d = 0; d < p->n_loops; d++) {
        assert_true(p->loop[d].size >= 1);
        kept_after += has_reduced && !p->loop[d].is_reduced;
        has_reduced |= p->loop[d].is_reduced;
    }
    assert_int_equal(has_reduced, p->form != XL__FORM_MAP);
    assert_int_equal(kept_after, p->form == XL__FORM_COLUMNS);
    assert_true(p->form != XL__FORM_COLUMNS ||
                !p->loop[p->n_loops - 1].is_reduced);
    assert_true(p->form == XL__FORM_ROWS || p->n_sweeps == 1);
}

void model_check(const struct xl__graph *g, const struct xl__signature *s,
                 const struct xl__schedule *plan, const char *text)
{
    for (unsigned i = 0; i < plan->n_groups; i++) {
        const struct xl__group *p = &plan->group[i];
        check_loops(p);
        check_values(g, p, text);
        check_operands(g, s, plan, p);
        assert_true(isfinite(p->flop) && isfinite(p->bytes) && p->bytes > 0);
        struct xl__str why = {0};
        xl__group_explain(p, &why);
        assert_true(why.len > 0 && !why.broken);
        xl__str_clear(&why);
    }
    for (unsigned i = 0; i < plan->n_temps; i++) {
        const struct xl__temp *t = &plan->temp[i];
        assert_int_equal(t->offset % 256, 0);
        assert_true(t->offset + t->bytes <= plan->scratch_bytes);
    }
}

/* -- memory ----------------------------------------------------------- */

/* Scratch has a number for each byte; an element's number is at its first
 * byte. */
struct model_memory {
    const struct xl__graph *g;
    const struct xl__signature *s;
    size_t elems[XL_EXPR_MAX_BINDINGS];
    double *value[XL_EXPR_MAX_BINDINGS], *error[XL_EXPR_MAX_BINDINGS];
    double scalar[XL_EXPR_MAX_BINDINGS];
    double *scratch, *scratch_error;
};

static double *alloc_array(size_t n)
{
    double *a = xl__calloc(n, sizeof *a);
    assert_non_null(a);
    return a;
}

/* Multiples of 1/8, which every type except bool represents exactly. */
static double random_value(struct xl__rng *r, unsigned dtype)
{
    const double x = (double)(int)xl__rng_below(r, 65) - 32;
    if (dtype == XL_BOOL)
        return x > 0;
    return dtype == XL_I32 || dtype == XL_I8 || dtype == XL_U8 ? fabs(x)
                                                               : x / 8;
}

static void init_memory(struct model_memory *m, const struct xl__graph *g,
                        const struct xl__signature *s, size_t scratch,
                        uint64_t seed)
{
    struct xl__rng r;
    xl__rng_seed(&r, seed);
    memset(m, 0, sizeof *m);
    m->g = g;
    m->s = s;
    for (unsigned b = 0; b < s->n; b++) {
        m->elems[b] = 1;
        for (unsigned d = 0; d < s->b[b].n_dims; d++)
            m->elems[b] += (s->b[b].size[d] - 1) * s->b[b].stride[d];
        m->value[b] = alloc_array(m->elems[b]);
        m->error[b] = alloc_array(m->elems[b]);
        for (size_t i = 0; i < m->elems[b]; i++)
            m->value[b][i] = random_value(&r, s->b[b].dtype);
        m->scalar[b] = m->value[b][0];
    }
    m->scratch = alloc_array(scratch);
    m->scratch_error = alloc_array(scratch);
    for (size_t i = 0; i < scratch; i++)
        m->scratch[i] = NAN;
}

static void free_memory(struct model_memory *m)
{
    for (unsigned b = 0; b < m->s->n; b++) {
        free(m->value[b]);
        free(m->error[b]);
    }
    free(m->scratch);
    free(m->scratch_error);
}

/* -- by groups -------------------------------------------------------- */

/* From element `first` of the temporary on. */
static void copy_temp(struct model_memory *m, const struct xl__temp *t,
                      size_t first, struct xl__eval_mem *to, bool back)
{
    const size_t size = xl_dtype_bytes(t->dtype);
    for (size_t i = 0; i < to->elems; i++) {
        double *value = &m->scratch[t->offset + (first + i) * size];
        double *error = &m->scratch_error[t->offset + (first + i) * size];
        if (back) {
            *value = to->value[i];
            *error = to->error[i];
        } else {
            to->value[i] = *value;
            to->error[i] = *error;
        }
    }
}

static void run_group(struct model_memory *m, const struct xl__schedule *plan,
                      const struct xl__group *p)
{
    struct xl__eval_mem mem[XL__EXPR_OPERANDS] = {{0}};
    for (unsigned i = 0; i < p->n_operands; i++) {
        const struct xl__operand *o = &p->operand[i];
        const size_t first = o->offset - xl__operand_before(p, o);
        if (o->at == XL__AT_BINDING) {
            const unsigned b = m->s->b[o->index].same_as;
            mem[i] = (struct xl__eval_mem){
                m->value[b] + first, m->error[b] + first, m->elems[b] - first};
        } else if (o->at == XL__AT_TEMP) {
            const struct xl__temp *t = &plan->temp[o->index];
            mem[i].elems = t->bytes / xl_dtype_bytes(t->dtype) - first;
            mem[i].value = alloc_array(mem[i].elems);
            mem[i].error = alloc_array(mem[i].elems);
            copy_temp(m, t, first, &mem[i], false);
        }
    }
    assert_int_equal(xl__eval_group(m->g, p, m->scalar, mem), XL_OK);
    for (unsigned i = 0; i < p->n_operands; i++) {
        const struct xl__operand *o = &p->operand[i];
        if (o->at != XL__AT_TEMP)
            continue;
        if (o->is_written)
            copy_temp(m, &plan->temp[o->index], 0, &mem[i], true);
        free(mem[i].value);
        free(mem[i].error);
    }
    /* Chunks' results may overwrite temporaries that are dead by now, and
     * nothing else. */
    for (size_t i = 0; i < p->partial_bytes; i++)
        m->scratch[p->partial_offset + i] = NAN;
}

/* -- by nodes --------------------------------------------------------- */

static size_t dense_index(const struct xl__shape *of,
                          const struct xl__shape *in, size_t i)
{
    size_t at = 0, step = 1;
    for (unsigned d = 0; d < in->n_dims; d++) {
        const size_t size = in->size[in->n_dims - 1 - d];
        const size_t index = i % size;
        i /= size;
        if (d >= of->n_dims)
            continue;
        const size_t own = of->size[of->n_dims - 1 - d];
        at += (own == 1 ? 0 : index) * step;
        step *= own;
    }
    return at;
}

static size_t strided_index(const struct xl__shape *s, const size_t *stride,
                            size_t i)
{
    size_t at = 0;
    for (unsigned d = s->n_dims; d-- > 0; i /= s->size[d])
        at += i % s->size[d] * stride[d];
    return at;
}

static void reduce_node(const struct model_memory *m, double **all,
                        unsigned id)
{
    const struct xl__node *n = &m->g->node[id];
    const struct xl__shape *from = &m->g->node[n->arg[0]].shape;
    const size_t n_from = xl__shape_elems(from),
                 n_to = xl__shape_elems(&n->shape);
    num *row = xl__calloc(n_from, sizeof *row);
    assert_non_null(row);
    for (size_t o = 0; o < n_to; o++) {
        size_t count = 0;
        for (size_t i = 0; i < n_from; i++)
            if (dense_index(&n->shape, from, i) == o)
                row[count++] = (num){all[n->arg[0]][i], 0};
        all[id][o] = xl__eval_reduce(m->g, id, row, 1, count).x;
    }
    free(row);
}

/* Element i of a gather: the index has the places of the result, and the
 * source those before and behind its axis. */
static double gathered(const struct model_memory *m, double **all, unsigned id,
                       size_t i)
{
    const struct xl__node *n = &m->g->node[id];
    const struct xl__node *index = &m->g->node[n->arg[XL__GATHER_INDEX]];
    const struct xl__node *from = &m->g->node[n->arg[XL__GATHER_SOURCE]];
    size_t behind = 1, size = 0, ahead = 1;
    for (unsigned d = 0, seen = 0; d < from->shape.n_dims; d++) {
        if (n->axes >> d & 1) {
            seen = 1;
            size = from->shape.size[d];
        } else if (seen) {
            behind *= from->shape.size[d];
        } else {
            ahead *= from->shape.size[d];
        }
    }
    const size_t indices = xl__shape_elems(&n->shape) / ahead / behind;
    double at = all[n->arg[XL__GATHER_INDEX]]
                   [dense_index(&index->shape, &n->shape, i)];
    at += at < 0 ? (double)size : 0;
    if (at < 0 || at >= (double)size)
        return n->type == XL__V_F32 ? (double)NAN : 0;
    return all[n->arg[XL__GATHER_SOURCE]]
              [(i / behind / indices * size + (size_t)at) * behind +
               i % behind];
}

/* The index along an axis of element i of a shape. */
static size_t index_along(const struct xl__shape *s, unsigned axis, size_t i)
{
    for (unsigned d = s->n_dims - 1; d > axis; d--)
        i /= s->size[d];
    return i % s->size[axis];
}

static void compute_node(const struct model_memory *m, double **all,
                         unsigned id)
{
    const struct xl__node *n = &m->g->node[id];
    const size_t elems = xl__shape_elems(&n->shape);
    all[id] = alloc_array(elems);
    if (is_reduction(m->g, id)) {
        reduce_node(m, all, id);
        return;
    }
    for (size_t i = 0; i < elems; i++) {
        num arg[XL__EXPR_ARGS] = {{0, 0}};
        double *out = &all[id][i];
        if (n->op == XL__E_GATHER) {
            *out = gathered(m, all, id, i);
            continue;
        }
        for (unsigned a = 0;
             n->op != XL__E_VIEW && a < xl__expr_ops[n->op].n_args; a++) {
            const struct xl__shape *s = &m->g->node[n->arg[a]].shape;
            arg[a].x = all[n->arg[a]][dense_index(s, &n->shape, i)];
        }
        switch (n->op) {
        case XL__E_VIEW:
            *out = all[n->arg[0]]
                      [n->offset + strided_index(&n->shape, n->stride, i)];
            break;
        case XL__E_INPUT:
            *out =
                m->value[m->s->b[n->binding].same_as]
                        [n->offset + strided_index(&n->shape, n->stride, i)];
            break;
        case XL__E_SCALAR:
            *out = m->scalar[n->binding];
            break;
        case XL__E_CONST:
            *out = n->type == XL__V_F32 ? (double)(float)n->value : n->value;
            break;
        case XL__E_RAND:
        case XL__E_RANDN:
            *out = xl__eval_rand(n->op, (int32_t)arg[0].x, i);
            break;
        case XL__E_INDEX:
            *out = (double)index_along(&n->shape, (unsigned)arg[0].x, i);
            break;
        default:
            *out = xl__eval_node(m->g, id, arg).x;
        }
    }
}

/* All values are computed before the outputs are written, in order. */
static void run_nodes(struct model_memory *m)
{
    double **all = xl__calloc(m->g->n_nodes, sizeof *all);
    assert_non_null(all);
    for (unsigned n = 0; n < m->g->n_nodes; n++)
        compute_node(m, all, n);
    for (unsigned o = 0; o < m->g->n_outputs; o++) {
        const struct xl__output *out = &m->g->output[o];
        const struct xl__node *n = &m->g->node[out->node];
        const size_t elems = xl__shape_elems(&out->shape);
        for (size_t i = 0; i < elems; i++) {
            num x = {all[out->node][dense_index(&n->shape, &out->shape, i)],
                     0};
            if (out->dtype == XL_F32)
                x = xl__interval_convert(xl__precision_of(NULL), x, n->type,
                                         XL__V_F32);
            m->value[m->s->b[out->binding].same_as]
                    [out->offset +
                     strided_index(&out->shape, out->stride, i)] =
                xl__interval_round(xl__precision_of(NULL), x, out->dtype).x;
        }
    }
    for (unsigned n = 0; n < m->g->n_nodes; n++)
        free(all[n]);
    free(all);
}

/* Both results are in double and differ by the order of sums; that difference
 * is far below the bound for f32, which the group's result carries. */
static bool is_same(double got, double error, double expected)
{
    if (!(error < (double)INFINITY) || (isnan(got) && isnan(expected)))
        return true;
    return got == expected ||
           fabs(got - expected) <= error + 1e-9 * fabs(expected);
}

void model_compare(const struct xl__graph *g, const struct xl__signature *s,
                   const struct xl__schedule *plan, const char *text,
                   uint64_t seed)
{
    struct model_memory got, expected;
    init_memory(&got, g, s, plan->scratch_bytes, seed);
    init_memory(&expected, g, s, 0, seed);
    for (unsigned i = 0; i < plan->n_groups; i++)
        run_group(&got, plan, &plan->group[i]);
    run_nodes(&expected);
    for (unsigned b = 0; b < s->n; b++)
        for (size_t i = 0; i < got.elems[b]; i++)
            if (!is_same(got.value[b][i], got.error[b][i],
                         expected.value[b][i]))
                fail_msg("%s\n%s[%zu] is %.9g, not %.9g (+-%.3g)", text,
                         s->b[b].name, i, got.value[b][i],
                         expected.value[b][i], got.error[b][i]);
    free_memory(&got);
    free_memory(&expected);
}
