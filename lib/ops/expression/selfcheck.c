/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of a group.
 *
 * Shape: sizes are odd and just above one work-group, one tile or one row of
 * registers, so that full and partial blocks both occur. Strides are dense, in
 * the same classes as the group's, with a gap between rows. The geometry is
 * the group's, with fewer chunks and iterations. So the case has the same
 * program.
 *
 * Data: every operand at an offset of its own in guarded memory, filled with
 * random numbers that suit its type. It runs three times: the second has the
 * same inputs and complementary patterns in all other memory; in the third
 * NaN, infinities, -0 and subnormals are among the inputs, and the bounds of
 * the host state where a device may flush. */
#include "ops/expression/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "expr/graph/group_eval.h"

enum { PASS_SPECIALS = XL__PASS_REPEATED + 1, N_PASSES };

/* What the case owns besides its memory. */
struct group_case {
    const struct xl__graph *g;
    struct xl__group group; /* its offsets are those in the case's memory */
    struct xl__schedule s;  /* all temporaries begin at offset 0 */
    struct xl__code code;
    double scalar[XL_EXPR_MAX_BINDINGS];
    unsigned slot[XL__EXPR_OPERANDS];
    unsigned written[XL__EXPR_OPERANDS]; /* the operand of each result */
    struct xl__eval_mem mem[XL__EXPR_OPERANDS];
};

/* -- shape ------------------------------------------------------------ */

enum {
    FEW = 3,
    MAX_CHUNKS = 3,
    ITERATIONS = 2,
    GATHERED = 61 /* of the indices of draw_number(), most are within it */
};

static size_t at_least_one(size_t x)
{
    return x > 0 ? x : 1;
}

/* Elements of the innermost loop in one iteration of a work-item. */
static size_t elems_per_step(const struct xl__geometry *geo)
{
    return at_least_one(geo->vw) * at_least_one(geo->unroll);
}

/* Size of the innermost loop: one step of the kernel along it, plus a vector
 * and a partial one.
 *
 *     MAP      a work-group or a tile
 *     CHUNKS   a work-group for each chunk
 *     COLUMNS  the columns of a work-group
 *     ROWS     the lanes of a row twice, or the vectors that they hold in
 *              registers, divided by the `rows` that share them */
static size_t innermost_size(const struct xl__group *g, size_t rows)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t wg = at_least_one(geo->wg), lanes = at_least_one(geo->lanes);
    const size_t vw = at_least_one(geo->vw), tail = vw / 2;
    const size_t held = at_least_one(geo->held);
    switch (g->form) {
    case XL__FORM_ROWS:
        if (geo->held > 0)
            return lanes * held / rows * vw + tail;
        return 2 * lanes * elems_per_step(geo) + vw + tail;
    case XL__FORM_COLUMNS:
        return wg / lanes * held * vw + vw + tail;
    case XL__FORM_CHUNKS:
        return at_least_one(geo->chunks) * wg * elems_per_step(geo) + vw +
               tail;
    default:
        return (geo->tile > 0 ? geo->tile : wg * elems_per_step(geo)) + vw +
               tail;
    }
}

/* Size of another loop. ROWS, kept: rows for two work-groups. COLUMNS,
 * reduced: rows for every lane and chunk. */
static size_t other_size(const struct xl__group *g,
                         const struct xl__loop *loop)
{
    const struct xl__geometry *geo = &g->geo;
    const size_t lanes = at_least_one(geo->lanes);
    if (g->form == XL__FORM_ROWS && !loop->is_reduced)
        return (at_least_one(geo->wg) / lanes + ITERATIONS) | 1;
    if (g->form == XL__FORM_COLUMNS && loop->is_reduced)
        return lanes * at_least_one(geo->chunks) * at_least_one(geo->unroll) +
               1;
    return g->form == XL__FORM_ROWS && geo->held > 0 ? 2 : FEW;
}

/* Shrink all loops; the other loop of a tile to a tile and some elements more.
 * Loops of one iteration remain, since operands have no stride along them. */
static void shrink_loops(struct xl__group *g)
{
    bool was_kept = false, was_reduced = false;
    size_t rows = 1;
    for (unsigned d = g->n_loops - 1; d-- > 0;) {
        struct xl__loop *loop = &g->loop[d];
        bool *was = loop->is_reduced ? &was_reduced : &was_kept;
        if (g->geo.tile > 0 && d == g->geo.across)
            loop->size = g->geo.tile + FEW;
        else if (loop->size > 1)
            loop->size = *was ? 2 : other_size(g, loop);
        *was = true;
        rows *= loop->is_reduced ? loop->size : 1;
    }
    struct xl__loop *inner = &g->loop[g->n_loops - 1];
    if (inner->size > 1)
        inner->size = xl__max_size(2, innermost_size(g, rows));
}

/* Make the strides dense, by increasing stride, the innermost loop first among
 * equal ones: each begins where the one within it ends, at an odd multiple of
 * the alignment. */
static void shrink_strides(const struct xl__group *g, struct xl__operand *o)
{
    size_t old[XL__EXPR_LOOPS], next = 1;
    const size_t align = at_least_one(o->align);
    memcpy(old, o->stride, sizeof old);
    for (unsigned i_step = 0; i_step < g->n_loops; i_step++) {
        unsigned least = g->n_loops;
        for (unsigned d = g->n_loops; d-- > 0;) {
            if (old[d] != 0 &&
                (least == g->n_loops ||
                 xl__stride_length(old[d]) < xl__stride_length(old[least])))
                least = d;
        }
        if (least == g->n_loops)
            break;
        const bool is_backward = xl__stride_length(old[least]) != old[least];
        const bool is_inner = least + 1 == g->n_loops;
        size_t step = is_inner || align == 1
                          ? next
                          : (xl__ceil_div(next, align) | 1) * align;
        if (old[least] > 1 && step == 1)
            step = 2; /* a stride of 1 is a class of its own */
        o->stride[least] = is_backward ? 0 - step : step;
        next = step * g->loop[least].size + 1;
        old[least] = 0;
    }
    if (o->gather_size == 0)
        return;
    o->gather_size = xl__min_size(o->gather_size, GATHERED);
    o->gather_stride = xl__stride_length(o->gather_stride) == o->gather_stride
                           ? next
                           : 0 - next;
}

/* Results of chunks: kept elements times chunks, in whole vectors. */
static double n_partials(const struct xl__group *g, size_t more)
{
    double n = (double)at_least_one(g->geo.chunks);
    for (unsigned d = 0; d < g->n_loops; d++) {
        if (!g->loop[d].is_reduced)
            n *= (double)(g->loop[d].size + more);
    }
    return n;
}

/* Bytes of the chunks' results: as many for each result as in the group, plus
 * what rounding can add for each value. */
static size_t partial_bytes_of(const struct xl__group *from,
                               const struct xl__group *to)
{
    enum { SECTION = 256 };
    if (from->partial_bytes == 0)
        return 0;
    return (size_t)((double)from->partial_bytes / n_partials(from, 0) *
                    n_partials(to, to->geo.vw)) +
           SECTION * (size_t)to->n_values;
}

void xl__selfcheck_shrink(const struct xl__group *from, struct xl__group *to)
{
    *to = *from;
    to->why = (struct xl__str){0};
    to->geo.chunks = xl__min_size(from->geo.chunks, MAX_CHUNKS);
    to->geo.per_wg = xl__min_size(from->geo.per_wg, ITERATIONS);
    shrink_loops(to);
    for (unsigned i = 0; i < to->n_operands; i++)
        shrink_strides(to, &to->operand[i]);
    to->partial_bytes = partial_bytes_of(from, to);
}

enum { GUARD = 0xA5, GUARD_ELEMS = 64, SEED = 1 };

/* -- elements --------------------------------------------------------- */

/* The values at which operations have rules of their own. */
static double special_number(size_t i, xl_dtype dtype)
{
    const double subnormal = dtype == XL_F16 ? 0x1p-20 : 0x1p-130;
    const double values[] = {(double)NAN,       -0.0,
                             -(double)INFINITY, subnormal,
                             (double)INFINITY,  -subnormal};
    return values[i % (sizeof values / sizeof *values)];
}

/* A random number that suits the type: normally distributed floats, all values
 * of one or two bytes, small integers; of integers of 64 bits, and of those
 * without a sign, also large ones. */
static double draw_number(struct xl__rng *rng, xl_dtype dtype)
{
    enum { MAX = 100 };
    const double small = (double)xl__rng_below(rng, 2 * MAX + 1) - MAX;
    switch (dtype) {
    case XL_I32:
        return small;
    case XL_I64:
        return xl__rng_below(rng, 2) ? small : small * 0x1p32;
    case XL_U32:
        return xl__rng_below(rng, 2) ? fabs(small) : UINT32_MAX - fabs(small);
    case XL_U16:
        return (double)xl__rng_below(rng, UINT16_MAX + 1);
    case XL_I8:
        return (double)xl__rng_below(rng, UINT8_MAX + 1) + INT8_MIN;
    case XL_U8:
        return (double)xl__rng_below(rng, UINT8_MAX + 1);
    case XL_BOOL:
        return (double)xl__rng_below(rng, 2);
    default:
        return xl__rng_normal(rng);
    }
}

/* -- memory ----------------------------------------------------------- */

static unsigned slot_of(const struct xl__operand *o,
                        const struct xl__signature *sig)
{
    return o->at == XL__AT_TEMP ? (unsigned)XL__MEM_SCRATCH
                                : 1 + sig->b[o->index].same_as;
}

static bool is_same_view(const struct xl__operand *a,
                         const struct xl__operand *b)
{
    return a->at == b->at && a->dtype == b->dtype && a->offset == b->offset &&
           (a->at != XL__AT_TEMP || a->index == b->index) &&
           a->gather_size == b->gather_size &&
           a->gather_stride == b->gather_stride &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

/* The operand before k that is the same view of the same memory; k when there
 * is none. */
static unsigned find_same_view(const struct group_case *c,
                               const struct xl__group *from, unsigned k)
{
    for (unsigned i = 0; i < k; i++) {
        if (from->operand[i].at != XL__AT_INDEX && c->slot[i] == c->slot[k] &&
            is_same_view(&from->operand[i], &from->operand[k]))
            return i;
    }
    return k;
}

/* Assign offsets: each view begins at an odd multiple of its alignment. */
static void assign_offsets(struct group_case *c, const struct xl__group *from,
                           const struct xl__signature *sig,
                           struct xl__selfcheck_case *t)
{
    enum { BLOCK = 256 }; /* bytes: a multiple of every alignment */
    for (unsigned k = 0; k < c->group.n_operands; k++) {
        struct xl__operand *o = &c->group.operand[k];
        const size_t elem = xl_dtype_bytes(o->dtype);
        if (o->at == XL__AT_INDEX)
            continue;
        c->slot[k] = slot_of(o, sig);
        const unsigned other = find_same_view(c, from, k);
        size_t *end = &t->bytes[c->slot[k]];
        if (other < k) {
            o->offset = c->group.operand[other].offset;
            continue;
        }
        o->offset =
            xl__round_up(*end, BLOCK) / elem + xl__max_size(1, o->align);
        *end =
            (o->offset + xl__operand_span(&c->group, o) + GUARD_ELEMS) * elem;
        o->offset += xl__operand_before(&c->group, o);
    }
    if (c->group.partial_bytes > 0) {
        size_t *end = &t->bytes[XL__MEM_SCRATCH];
        c->group.partial_offset = xl__round_up(*end, BLOCK);
        t->loose_bytes =
            c->group.partial_offset + c->group.partial_bytes - *end;
        *end += t->loose_bytes;
    }
    c->s.scratch_bytes = t->bytes[XL__MEM_SCRATCH];
}

static xl_status add_memory(struct group_case *c,
                            const struct xl__signature *sig,
                            struct xl__selfcheck_case *t)
{
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (t->bytes[i] > 0 &&
            !xl__case_add_memory(t, i, t->bytes[i], XL_U8, GUARD))
            return XL_NO_MEMORY;
    }
    for (unsigned i = 0; i < sig->n; i++) {
        if (sig->b[i].same_as != i)
            t->same_as[1 + i] = 1 + sig->b[i].same_as;
    }
    for (unsigned k = 0; k < c->group.n_operands; k++) {
        struct xl__eval_mem *m = &c->mem[k];
        if (c->group.operand[k].at == XL__AT_INDEX)
            continue;
        m->elems = xl__operand_span(&c->group, &c->group.operand[k]);
        m->value = xl__calloc(m->elems, sizeof *m->value);
        m->error = xl__calloc(m->elems, sizeof *m->error);
        if (!m->value || !m->error)
            return XL_NO_MEMORY;
    }
    return XL_OK;
}

static xl_status add_results(struct group_case *c,
                             const struct xl__signature *sig,
                             struct xl__selfcheck_case *t)
{
    for (unsigned k = 0; k < c->group.n_operands; k++) {
        const struct xl__operand *o = &c->group.operand[k];
        if (!o->is_written)
            continue;
        c->written[t->n_results] = k;
        struct xl__case_result *r = xl__case_add_result(
            t, o->at == XL__AT_BINDING ? sig->b[o->index].name : "temporary",
            c->slot[k], o->dtype, o->offset);
        if (!r)
            return XL_NO_MEMORY;
        for (unsigned d = 0; d < c->group.n_loops; d++)
            xl__case_add_dim(r, o->stride[d] > 0 ? c->group.loop[d].size : 1,
                             o->stride[d]);
    }
    return XL_OK;
}

/* -- data ------------------------------------------------------------- */

/* Of the operand's i-th element in the order of memory. */
static unsigned char *element_address(const struct xl__selfcheck_case *t,
                                      const struct group_case *c, unsigned k,
                                      size_t i)
{
    const struct xl__operand *o = &c->group.operand[k];
    const size_t first = o->offset - xl__operand_before(&c->group, o);
    return t->before[c->slot[k]] + (first + i) * xl_dtype_bytes(o->dtype);
}

/* Fill the operands that are read, with special numbers between others if
 * asked for. Equal views are filled more than once; the last one counts. */
static void fill_inputs(struct xl__selfcheck_case *t, bool has_specials)
{
    enum { APART = 61, LEAST = 7 };
    const struct group_case *c = t->own;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned k = 0; k < c->group.n_operands; k++) {
        const struct xl__operand *o = &c->group.operand[k];
        const size_t n = c->mem[k].elems;
        const size_t step = xl__max_size(1, xl__min_size(APART, n / LEAST));
        if (o->at == XL__AT_INDEX || o->is_written)
            continue;
        for (size_t i = 0; i < n; i++) {
            double x = draw_number(&rng, o->dtype);
            if (has_specials && i % step == step / 2 &&
                xl__dtype_unit_roundoff(o->dtype) > 0)
                x = special_number(i / step + k, o->dtype);
            xl__dtype_store(element_address(t, c, k, i), 0, o->dtype, x);
        }
    }
}

static void read_inputs(const struct xl__selfcheck_case *t)
{
    const struct group_case *c = t->own;
    for (unsigned k = 0; k < c->group.n_operands; k++) {
        const struct xl__operand *o = &c->group.operand[k];
        const struct xl__eval_mem *m = &c->mem[k];
        for (size_t i = 0; i < m->elems && !o->is_written; i++)
            m->value[i] =
                xl__dtype_load(element_address(t, c, k, i), 0, o->dtype);
    }
}

static xl_status fill_case(struct xl__selfcheck_case *t, unsigned pass)
{
    struct group_case *c = t->own;
    const int pattern = pass == XL__PASS_REPEATED ? ~GUARD & 0xFF : GUARD;
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (t->before[i])
            memset(t->before[i], pattern, t->bytes[i]);
    }
    fill_inputs(t, pass == PASS_SPECIALS);
    if (pass == XL__PASS_REPEATED)
        return XL_OK;
    read_inputs(t);
    return xl__eval_group(c->g, &c->group, c->scalar, c->mem);
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const struct group_case *c = t->own;
    const struct xl__case_result *r = &t->result[result];
    const struct xl__eval_mem *m = &c->mem[c->written[result]];
    const size_t i = xl__case_element(r, at) - r->first;
    *error = m->error[i];
    return m->value[i];
}

/* Scalars: not 0 and not 1; whole numbers for integers. */
static void set_scalars(struct group_case *c, const struct xl__signature *sig,
                        struct xl__call *call)
{
    static const double step = 0.125;
    for (unsigned i = 0; i < sig->n; i++) {
        const xl_dtype dtype = (xl_dtype)sig->b[i].dtype;
        c->scalar[i] =
            xl__register_type(dtype) == XL__V_I32 ? i + 2 : (i + 6) * step;
        if (sig->b[i].is_scalar)
            call->value[1 + i].f = c->scalar[i];
    }
}

/* -- the case --------------------------------------------------------- */

static void clear_case(void *own)
{
    struct group_case *c = own;
    for (unsigned k = 0; k < XL__EXPR_OPERANDS; k++) {
        free(c->mem[k].value);
        free(c->mem[k].error);
    }
    free(c->s.temp);
    xl__code_clear(&c->code);
    free(c);
}

static xl_status copy_temporaries(const struct xl__schedule *from,
                                  struct xl__schedule *to)
{
    to->temp = xl__calloc(from->n_temps, sizeof *to->temp);
    if (!to->temp)
        return XL_NO_MEMORY;
    to->n_temps = from->n_temps;
    for (unsigned i = 0; i < from->n_temps; i++) {
        to->temp[i].node = from->temp[i].node;
        to->temp[i].dtype = from->temp[i].dtype;
    }
    return XL_OK;
}

xl_status xl__expr_make_case(const void *canonical,
                             const struct xl__variant_candidate *of,
                             unsigned i, const struct xl__limits *l,
                             struct xl__selfcheck_case *t,
                             struct xl__plan *plan)
{
    xl_status status = XL_OK;
    const struct xl__signature *sig =
        &((const struct xl__expr_canonical *)canonical)->sig;
    const struct xl__expr_schedule *x = of->plan->own;
    const struct xl__canonical_group *from = &x->kernels[i].own;
    struct group_case *c = t->own = xl__calloc(1, sizeof *c);
    if (!c)
        TRY(XL_NO_MEMORY);
    t->clear_own = clear_case;
    t->expect = expected_value;
    t->fill = fill_case;
    t->n_passes = N_PASSES;
    c->g = &from->g;
    xl__selfcheck_shrink(&from->group, &c->group);
    TRY(copy_temporaries(&x->s, &c->s));
    assign_offsets(c, &from->group, sig, t);
    set_scalars(c, sig, &t->call);
    TRY(add_memory(c, sig, t));
    TRY(add_results(c, sig, t));
    TRY(xl__group_plan(c->g, l, &c->group, &c->s, &c->code, plan));
    plan->scratch_bytes = c->s.scratch_bytes;
    xl__strcpy(t->label, sizeof t->label, plan->step[0].kernel);
fail:
    return status;
}
