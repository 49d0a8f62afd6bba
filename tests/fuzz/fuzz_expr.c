/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as the text of an expression. For any input,
 * every stage from the parser to the generated kernels must stay within its
 * memory and either return an error with a message or go on; and the fused and
 * the unfused schedule must agree on the host, within the bounds of both.
 *
 * The first byte selects the bindings (bits 0 to 2), the device (3 and 4) and
 * fast math (5); the rest is the text. XL_FUZZ_FRONT=1 in the environment
 * stops after xl__infer(), which runs many more cases. Run: fuzz_expr
 * corpus_expr -dict=expr.dict */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/codegen/forms.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/group_eval.h"
#include "expr/graph/infer.h"
#include "expr/graph/views.h"
#include "expr/language/parser.h"
#include "expr/language/tree.h"
#include "expr_shapes.h"
#include "runtime/tuned/tuned_sets.h"

enum {
    MOST_WORK = 100000, /* loops' turns times values, on the host */
    MOST_SCRATCH = 1 << 20
};

static struct xl__limits limits[DEVICES];
static bool front_only;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold. */
#define OWED(condition)                                                       \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,        \
                    #condition);                                              \
            abort();                                                          \
        }                                                                     \
    } while (0)

/* -- devices and bindings -------------------------------------------------- */

static void set(struct xl__limits *l, enum xl__fact_id id, double value)
{
    if (value >= 0)
        xl__limits_correct(l, id, value, XL_ASSUMED, "GE-01");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    front_only = getenv("XL_FUZZ_FRONT") != NULL;
    for (unsigned i = 0; i < DEVICES; i++) {
        const struct device *d = &devices[i];
        struct xl__limits *l = &limits[i];
        xl__limits_init(l);
        set(l, XL__F_is_cpu, d->is_cpu);
        set(l, XL__F_is_gpu, !(d->is_cpu > 0));
        set(l, XL__F_compute_units, d->units);
        set(l, XL__F_max_wg_size, d->max_wg);
        set(l, XL__F_local_mem_bytes, d->local_bytes);
        set(l, XL__F_has_local_mem, d->on_chip);
        set(l, XL__F_subgroup_width, d->width);
        set(l, XL__F_registers_per_cu, d->registers);
        set(l, XL__F_native_vector_f32, d->vector);
        set(l, XL__F_llc_bytes, 1 << 24);
    }
    return 0;
}

/* Strides of a shape; the elements from its first to its last. */
static size_t lay_out(const struct shape *shape, size_t stride[XL_MAX_DIMS])
{
    size_t dense = 1, extent = 1, given = 0;
    for (unsigned d = 0; d < shape->n_dims; d++)
        given += shape->stride[d];
    for (unsigned d = shape->n_dims; d-- > 0;) {
        stride[d] = given > 0 ? shape->stride[d] : dense;
        dense *= shape->size[d];
        extent += (shape->size[d] - 1) * stride[d];
    }
    return extent;
}

static const struct shape *find(const struct shape *set, const char *name)
{
    for (unsigned i = 0; i < SHAPE_NAMES && set[i].name != NULL; i++)
        if (strcmp(set[i].name, name) == 0)
            return &set[i];
    return NULL;
}

struct inputs {
    struct xl__signature signature;
    const struct shape *shape[XL_EXPR_MAX_BINDINGS];
    size_t elems[XL_EXPR_MAX_BINDINGS]; /* that memory is touched in */
    double scalar[XL_EXPR_MAX_BINDINGS];
};

/* The names of the text that the set knows are bound, in their order. */
static void bind(const struct shape *set, const struct xl__tree *t,
                 struct inputs *in)
{
    struct xl__signature *s = &in->signature;
    for (unsigned i = 0; i < t->n_names; i++) {
        const struct shape *shape = find(set, t->name[i]);
        if (shape == NULL)
            continue;
        struct xl__parameter *b = &s->b[s->n];
        in->shape[s->n] = shape;
        strcpy(b->name, shape->name);
        b->n_dims = shape->n_dims;
        memcpy(b->size, shape->size, sizeof b->size);
        in->elems[s->n] = lay_out(shape, b->stride);
        b->is_scalar = shape->is_scalar;
        b->dtype = shape->dtype;
        b->align = shape->is_scalar ? 0 : shape->n_dims == 1 ? 64 : 4;
        in->scalar[s->n] = shape->dtype == XL_I32 ? 3 : 0.625;
        b->same_as = s->n;
        for (unsigned k = s->n; k-- > 0;)
            if (shape->same != 0 && in->shape[k]->same == shape->same)
                b->same_as = k;
        s->n++;
    }
}

/* -- plans ----------------------------------------------------------------- */

/* Printable, and what is opened is closed. */
static void check_text(const char *text, const char *kernel)
{
    char open[256];
    unsigned depth = 0;
    OWED(text != NULL && strstr(text, kernel) != NULL);
    for (; *text != 0; text++) {
        char c = *text;
        OWED(c == '\n' || (c >= ' ' && c <= '~'));
        if (c == '(' || c == '[' || c == '{') {
            OWED(depth < sizeof open);
            open[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if (c == ')' || c == ']' || c == '}') {
            OWED(depth > 0 && open[--depth] == c);
        }
    }
    OWED(depth == 0);
}

static void check_step(const struct xl__limits *l, const struct xl__step *s)
{
    size_t wg = 1;
    OWED(s->dims >= 1 && s->dims <= 3);
    for (unsigned d = 0; d < s->dims; d++) {
        OWED(s->global[d] > 0 && s->local[d] > 0);
        OWED(s->global[d] % s->local[d] == 0);
        wg *= s->local[d];
    }
    OWED((double)wg <= xl__num(l, XL__F_max_wg_size));
    OWED((double)s->local_mem_bytes <= xl__num(l, XL__F_local_mem_bytes));
    OWED(s->n_args <= XL__MAX_ARGS && s->kernel != NULL);
    OWED(s->slice_dim < (int)s->dims);
    for (unsigned i = 0; i < s->n_args; i++)
        OWED(s->args[i].slot < XL__MAX_MEMS);
    if (s->text != NULL)
        check_text(s->text, s->kernel);
}

static void check_plans(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__schedule *s)
{
    static struct xl__plan plan; /* too large for a stack with red zones */
    for (unsigned i = 0; i < s->n_groups; i++) {
        struct xl__code code = {0};
        plan = (struct xl__plan){0};
        xl_status status =
            xl__group_plan(g, l, &s->group[i], s, &code, &plan);
        OWED(status == XL_OK || status == XL_UNSUPPORTED);
        if (status == XL_OK)
            OWED(plan.n_steps >= 1 && plan.n_steps <= XL__MAX_STEPS);
        for (unsigned k = 0; status == XL_OK && k < plan.n_steps; k++)
            check_step(l, &plan.step[k]);
        xl__code_clear(&code);
    }
}

/* -- the host -------------------------------------------------------------- */

struct memory {
    double *value[XL_EXPR_MAX_BINDINGS], *error[XL_EXPR_MAX_BINDINGS];
    double *scratch, *scratch_error; /* one place a byte */
};

/* Small numbers of both signs with ties, zeros and a few that are special;
 * whole where the type asks for it. */
static double fill_of(xl_dtype dtype, unsigned binding, size_t i)
{
    static const double some[] = {0.5, -1, 2, 0, -0.25, 3, 1, -2.5, 1e-3, 7};
    double x = some[(i * 7 + binding * 3) % 10];
    if (dtype == XL_BOOL)
        return x > 0;
    if (dtype == XL_U8)
        return fabs(trunc(x * 8));
    if (dtype == XL_I8 || dtype == XL_I32)
        return trunc(x * 8);
    if (i % 17 == 11)
        return binding % 2 ? INFINITY : NAN;
    return dtype == XL_F32 ? x : x > 0 && x < 0.01 ? 0.0078125 : x;
}

static void forget(struct memory *m)
{
    for (unsigned i = 0; i < XL_EXPR_MAX_BINDINGS; i++) {
        free(m->value[i]);
        free(m->error[i]);
    }
    free(m->scratch);
    free(m->scratch_error);
}

static double *numbers(size_t n)
{
    double *out = calloc(n + 1, sizeof *out);
    OWED(out != NULL);
    return out;
}

static void remember(const struct inputs *in, const struct xl__schedule *s,
                     struct memory *m)
{
    *m = (struct memory){0};
    m->scratch = numbers(s->scratch_bytes);
    m->scratch_error = numbers(s->scratch_bytes);
    for (unsigned b = 0; b < in->signature.n; b++) {
        m->value[b] = numbers(in->elems[b]);
        m->error[b] = numbers(in->elems[b]);
        for (size_t i = 0; i < in->elems[b]; i++)
            m->value[b][i] = fill_of(in->shape[b]->dtype, b, i);
    }
}

/* The last element that an operand touches, with its offset. */
static size_t last_of(const struct xl__group *group,
                      const struct xl__operand *o)
{
    return o->offset - xl__operand_before(group, o) +
           xl__operand_span(group, o) - 1;
}

static void run_group(const struct xl__graph *g, const struct inputs *in,
                      const struct xl__schedule *s,
                      const struct xl__group *group, struct memory *m)
{
    struct xl__eval_mem mem[XL__EXPR_OPERANDS] = {{0}};
    for (unsigned i = 0; i < group->n_operands; i++) {
        const struct xl__operand *o = &group->operand[i];
        size_t last = last_of(group, o);
        if (o->at == XL__AT_INDEX)
            continue;
        const size_t first = o->offset - xl__operand_before(group, o);
        OWED(first <= o->offset);
        if (o->at == XL__AT_TEMP) {
            const struct xl__temp *t = &s->temp[o->index];
            OWED(o->index < s->n_temps);
            OWED(t->offset + t->bytes <= s->scratch_bytes);
            OWED((last + 1) * xl_dtype_bytes(t->dtype) <= t->bytes);
            mem[i].value = m->scratch + t->offset + first;
            mem[i].error = m->scratch_error + t->offset + first;
        } else {
            unsigned at = in->signature.b[o->index].same_as;
            OWED(o->index < in->signature.n && last < in->elems[o->index]);
            mem[i].value = m->value[at] + first;
            mem[i].error = m->error[at] + first;
        }
        mem[i].elems = last - first + 1;
    }
    OWED(xl__eval_group(g, group, in->scalar, mem) == XL_OK);
}

static double work_of(const struct xl__schedule *s)
{
    double work = 0;
    for (unsigned i = 0; i < s->n_groups; i++) {
        double turns = s->group[i].n_values + s->group[i].n_operands;
        for (unsigned d = 0; d < s->group[i].n_loops; d++)
            turns *= (double)s->group[i].loop[d].size;
        work += turns;
    }
    return work;
}

static bool agree(double a, double a_error, double b, double b_error)
{
    if (!(a_error + b_error < INFINITY))
        return true; /* a bound says that nothing is known */
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= a_error + b_error;
}

static void compare(const struct inputs *in, const struct memory *f,
                    const struct memory *u)
{
    for (unsigned b = 0; b < in->signature.n; b++) {
        for (size_t i = 0; i < in->elems[b]; i++) {
            if (agree(f->value[b][i], f->error[b][i], u->value[b][i],
                      u->error[b][i]))
                continue;
            fprintf(stderr, "%s[%zu]: fused %.9g +- %.3g, unfused %.9g +- "
                            "%.3g\n",
                    in->signature.b[b].name, i, f->value[b][i],
                    f->error[b][i], u->value[b][i], u->error[b][i]);
            abort();
        }
    }
}

static void run_both(const struct xl__graph g[2], const struct inputs *in,
                     const struct xl__schedule s[2])
{
    struct memory m[2];
    if (work_of(&s[0]) + work_of(&s[1]) > MOST_WORK ||
        s[0].scratch_bytes + s[1].scratch_bytes > MOST_SCRATCH)
        return;
    for (unsigned i = 0; i < 2; i++) {
        remember(in, &s[i], &m[i]);
        for (unsigned k = 0; k < s[i].n_groups; k++)
            run_group(&g[i], in, &s[i], &s[i].group[k], &m[i]);
    }
    compare(in, &m[0], &m[1]);
    forget(&m[0]);
    forget(&m[1]);
}

/* -- the way through ------------------------------------------------------- */

/* A refusal is one of these, and says why. */
static bool is_refused(xl_status status, struct xl__error *e)
{
    OWED(status == XL_OK || status == XL_BAD_ARGUMENT ||
         status == XL_BAD_SHAPE || status == XL_OVERFLOW ||
         status == XL_UNSUPPORTED);
    if (status != XL_OK) {
        OWED(e->status == status && e->detail.len > 0 && !e->detail.broken);
        for (size_t i = 0; i < e->detail.len; i++)
            OWED(e->detail.text[i] == '\n' ||
                 (e->detail.text[i] >= ' ' && e->detail.text[i] <= '~'));
    }
    xl__error_clear(e);
    return status != XL_OK;
}

static void back_end(const struct xl__graph *g, const struct inputs *in,
                     const struct xl__limits *l)
{
    struct xl__graph own[2] = {{0}};
    struct xl__schedule s[2] = {{0}};
    struct xl__error e = {0};
    struct xl__str why = {0};
    bool refused = false;
    for (unsigned i = 0; i < 2 && !refused; i++) {
        OWED(xl__graph_lower_views(g, &in->signature, i == 1 ? NULL : l,
                                   &own[i], &why) == XL_OK);
        refused = is_refused(
            xl__fuse(&own[i], &in->signature, l, i == 1, &s[i], &e), &e);
        if (!refused)
            check_plans(&own[i], l, &s[i]);
    }
    if (!refused)
        run_both(own, in, s);
    for (unsigned i = 0; i < 2; i++) {
        xl__schedule_clear(&s[i]);
        xl__graph_clear(&own[i]);
    }
    xl__str_clear(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xl__tree tree;
    struct xl__graph graph = {0};
    struct xl__error e = {0};
    static struct inputs in;
    if (size == 0)
        return 0;
    char *text = malloc(size); /* no slack to read */
    OWED(text != NULL);
    memcpy(text, data + 1, size - 1);
    xl_status status = xl__parse(text, size - 1, &tree, &e);
    free(text);
    if (is_refused(status, &e))
        return 0;
    memset(&in, 0, sizeof in);
    in.signature.fast_math = data[0] >> 5 & 1;
    bind(shapes[data[0] % SHAPE_SETS], &tree, &in);
    status = xl__infer(&tree, &in.signature, &graph, &e);
    if (!is_refused(status, &e)) {
        if (!front_only)
            back_end(&graph, &in, &limits[data[0] / SHAPE_SETS % DEVICES]);
        xl__graph_clear(&graph);
    }
    xl__tree_clear(&tree);
    return 0;
}

/* In place of the store's: no plan here asks for hashes of files. */
xl_status xl__tuned_source_hash(const struct xl__tuned_sets *db,
                                const char *name, uint64_t *hash,
                                struct xl__error *e)
{
    (void)db;
    (void)name;
    *hash = 0;
    return xl__error_set(e, XL_UNSUPPORTED, "no files");
}
