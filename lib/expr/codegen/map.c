/* SPDX-License-Identifier: Apache-2.0 */
/* The form MAP, which computes each element by itself: the element part of its
 * kernels, their geometry and their launches. The kernels are cl/expr/map.cl
 * and, where operands are transposed, cl/expr/map_tiles.cl.
 *
 * The indices of the loops follow from a vector's number by divisions. Since
 * the divisors are known only at the launch, the host computes multipliers and
 * shifts for them (xl__map_arg_divisor), and the kernel multiplies. */
#include "expr/codegen/map.h"

#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/map_tiles.h"

/* Is the operand loaded directly from memory? Not: transposed operands, which
 * come from a tile, random numbers, and sources of a GATHER. */
static bool is_loaded(const struct xl__group *group,
                      const struct xl__operand *o)
{
    return !o->is_written && o->at != XL__AT_INDEX && o->gather_size == 0 &&
           !xl__map_is_transposed(group, o);
}

/* -- the element part ------------------------------------------------------
 * cl/expr/map_element.clh says what each macro is. */

/* From the row's number: the indices of all loops but the last. */
static void write_outer(struct xl__emit *m)
{
    const unsigned n = m->group->n_loops;
    const char *rest = "row";
    static const char *const rests[XL__EXPR_LOOPS] = {"r0", "r1", "r2",
                                                      "r3", "r4", "r5"};
    if (n == 1)
        return;
    for (unsigned d = n - 2; d > 0; d--) {
        xl__emit_line(m,
                      "const IDX %s = xl_divide(%s, n%u, mul_%u, shift_%u);",
                      rests[d - 1], rest, d, d, d);
        xl__emit_line(m, "const IDX i%u = %s - %s * n%u;", d, rest,
                      rests[d - 1], d);
        rest = rests[d - 1];
    }
    xl__emit_line(m, "const IDX i0 = %s;", rest);
}

static void write_divisors(struct xl__emit *m)
{
    for (unsigned d = 1; d + 1 < m->group->n_loops; d++)
        xl__emit_line(m, ", const uint mul_%u, const uint shift_%u", d, d);
}

static void write_places(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    if (geo->tile)
        xl__emit_line(m, "const IDX i%u = line;", geo->across);
    xl__emit_indices(m, 0, m->group->n_loops - 1);
}

static void write_prefetch(struct xl__emit *m)
{
    for (unsigned k = 0; k < m->group->n_operands; k++)
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_prefetch(m, k, "at");
}

static void write_loads_of(struct xl__emit *m, const char *count)
{
    for (unsigned k = 0; k < m->group->n_operands; k++)
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_load(m, k, "at", count);
}

/* Arithmetic and stores of a vector; leaves that are not loaded directly are
 * read here. */
static void write_results_of(struct xl__emit *m, const char *count)
{
    const struct xl__group *group = m->group;
    for (unsigned i = 0; i < group->n_values; i++) {
        const unsigned node = group->value[i].node;
        const unsigned from = xl__emit_operand_of(group, node);
        if (from == XL__EXPR_OPERANDS)
            xl__emit_node(m, node, m->vw);
        else if (group->operand[from].gather_size > 0)
            xl__emit_gather(m, from, "at", count);
        else if (xl__map_is_transposed(group, &group->operand[from]))
            xl__map_write_tile_load(m, from);
        else if (group->operand[from].at == XL__AT_INDEX)
            xl__emit_load(m, from, "at", count);
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (group->operand[k].is_written)
            xl__emit_store(m, k, "at", count);
    }
}

static const char *count_of(const struct xl__emit *m)
{
    return m->vw > 1 ? "count" : NULL;
}

static void write_loads(struct xl__emit *m)
{
    write_loads_of(m, NULL);
}
static void write_loads_part(struct xl__emit *m)
{
    write_loads_of(m, count_of(m));
}
static void write_results(struct xl__emit *m)
{
    write_results_of(m, NULL);
}
static void write_results_part(struct xl__emit *m)
{
    write_results_of(m, count_of(m));
}

/* Write a line for each loaded operand: by its type, number and node. */
static void write_arrays(struct xl__emit *m)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (is_loaded(m->group, o))
            xl__emit_line(m, "%s a%u[XL_UNROLL];",
                          xl__emit_type(m->g, m->g->node[o->node].type, m->vw),
                          k);
    }
}
static void write_hold(struct xl__emit *m)
{
    for (unsigned k = 0; k < m->group->n_operands; k++)
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_line(m, "a%u[u] = v%u;", k, m->group->operand[k].node);
}
static void write_held(struct xl__emit *m)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (is_loaded(m->group, o))
            xl__emit_line(m, "const %s v%u = a%u[u];",
                          xl__emit_type(m->g, m->g->node[o->node].type, m->vw),
                          o->node, k);
    }
}

/* -- the kernel ----------------------------------------------------------- */

void xl__map_write_kernel(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    xl__emit_header(m, "expr_map: each element by itself");
    xl__str_printf(m->out,
                   "#define XL_MAP_ELEMENT_CLH\n#define XL_WG %u\n"
                   "#define XL_UNROLL %u\n#define XL_RUNS %d\n"
                   "#define XL_LOOPS %u\n#define XL_INNER n%u\n",
                   geo->wg, geo->unroll, geo->per_wg > 0, m->group->n_loops,
                   m->group->n_loops - 1);
    xl__emit_macro(m, "XL_PARAMS", xl__emit_params);
    xl__emit_macro(m, "XL_PLACES", write_places);
    xl__emit_macro(m, "XL_LOADS", write_loads);
    xl__emit_macro(m, "XL_LOADS_PART", write_loads_part);
    xl__emit_macro(m, "XL_RESULTS", write_results);
    xl__emit_macro(m, "XL_RESULTS_PART", write_results_part);
    xl__emit_macro(m, "XL_ARRAYS", write_arrays);
    xl__emit_macro(m, "XL_HOLD", write_hold);
    xl__emit_macro(m, "XL_HELD", write_held);
    if (geo->tile) {
        xl__map_write_tile_element(m);
        xl__str_add(m->out, "#include \"expr/map_tiles.cl\"\n");
    } else {
        xl__emit_macro(m, "XL_DIVISORS", write_divisors);
        xl__emit_macro(m, "XL_OUTER", write_outer);
        xl__emit_macro(m, "XL_PREFETCH", write_prefetch);
        xl__str_add(m->out, "#include \"expr/map.cl\"\n");
    }
}

enum {
    ACCESS_BYTES = 16, /* largest access of a GPU's item */
    AHEAD_BYTES = 64,  /* that an item loads before it uses them */
    MAX_GPU_VW = 8,
    MAX_UNROLL = 4,
    GROUP_BYTES = 1 << 17, /* memory traffic of a work-group on a CPU */
    BITS = 31              /* of the dividends of xl_divide() */
};

/* -- geometry ------------------------------------------------------------- */

/* The vector width on a GPU: at most one aligned access, and a divisor of the
 * row's size, so that no vector crosses rows. With a strided operand, single
 * elements: adjacent items then read adjacent elements. */
static size_t choose_gpu_vector(const struct xl__graph *g,
                                const struct xl__group *group)
{
    size_t vw = xl__has_wide_values(g) ? 1 : MAX_GPU_VW;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        if (o->at == XL__AT_INDEX)
            continue;
        if (stride > 1 || o->gather_size > 0)
            return 1;
        vw = xl__min_size(vw, ACCESS_BYTES / xl_dtype_bytes(o->dtype));
        if (stride == 1)
            vw = xl__min_size(vw, o->align);
    }
    while (group->n_loops > 1 && xl__inner_size(group) % vw != 0)
        vw /= 2;
    return xl__min_size(vw,
                        (size_t)xl__floor_power_of_two(xl__inner_size(group)));
}

static size_t count_elements(const struct xl__group *group)
{
    size_t n = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        n *= group->loop[d].size;
    return n;
}

static size_t n_vectors(const struct xl__group *group)
{
    return count_elements(group) / xl__inner_size(group) *
           xl__ceil_div(xl__inner_size(group), group->geo.vw);
}

size_t xl__map_load_bytes(const struct xl__group *group)
{
    size_t bytes = 0;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__map_is_transposed(group, o))
            bytes += xl_dtype_bytes(o->dtype) * group->geo.vw;
    }
    return bytes;
}

/* Vectors that an item loads before it uses the first one: AHEAD_BYTES, as
 * long as there remains a work-group for every compute unit. */
static unsigned choose_unroll(const struct xl__limits *l,
                              const struct xl__group *group)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t bytes = xl__map_load_bytes(group);
    size_t unroll = MAX_UNROLL;
    while (unroll > 1 && (bytes * unroll > AHEAD_BYTES || bytes == 0 ||
                          n_vectors(group) < unroll * units * xl__model_size(l, XL__M_wg)))
        unroll /= 2;
    return (unsigned)unroll;
}

size_t xl__map_per_group(const struct xl__limits *l,
                         const struct xl__group *group, size_t work)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = xl__model_size(l, XL__M_core_groups) * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    return xl__ceil_div(work, n);
}

/* The geometry for CPUs: native vectors, and runs of them. */
static void choose_cpu_geometry(const struct xl__graph *g,
                                const struct xl__limits *l,
                                struct xl__group *group)
{
    const size_t native = xl__has_wide_values(g)
                              ? 1
                              : xl__size_or(l, XL__F_native_vector_f32, 1);
    struct xl__geometry *geo = &group->geo;
    size_t vw = (size_t)xl__floor_power_of_two(xl__min_size(native, XL__EXPR_MAX_VW));
    vw = xl__min_size(vw,
                      (size_t)xl__floor_power_of_two(xl__inner_size(group)));
    geo->vw = (unsigned)vw;
    geo->wg = 1;
    geo->unroll = 1;
    geo->is_streamed = xl__is_streamed(l, group);
    geo->per_wg = xl__map_per_group(l, group, n_vectors(group));
}

/* The geometry for GPUs: adjacent vectors, several an item. */
static void choose_gpu_geometry(const struct xl__graph *g,
                                const struct xl__limits *l,
                                struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    geo->vw = (unsigned)choose_gpu_vector(g, group);
    geo->wg = (unsigned)(size_t)xl__floor_power_of_two(
        xl__min_size(xl__model_size(l, XL__M_wg),
                     xl__size_or(l, XL__F_max_wg_size, 1)));
    geo->unroll = choose_unroll(l, group);
    geo->per_wg = 0;
}

/* Work-groups of the launch. */
static size_t n_groups(const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t each = geo->per_wg ? geo->per_wg : geo->wg * geo->unroll;
    if (geo->tile)
        return xl__map_tile_groups(group);
    return xl__ceil_div(n_vectors(group), each);
}

void xl__map_explain(const struct xl__group *group, struct xl__str *out)
{
    const struct xl__geometry *geo = &group->geo;
    if (geo->tile)
        xl__str_printf(out, "tiles of %u by %u transposed in %s, ",
                       geo->tile, geo->tile,
                       geo->per_wg ? "registers" : "local memory");
    if (geo->per_wg)
        xl__str_printf(out,
                       "vectors of %u, %zu%s a work-group of one item",
                       geo->vw, geo->per_wg, geo->tile ? " tiles" : "");
    else
        xl__str_printf(out,
                       "vectors of %u, %u an item, work-groups of %u", geo->vw,
                       geo->unroll, geo->wg);
}

void xl__map_geometry(const struct xl__graph *g, const struct xl__limits *l,
                      struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    group->geo = (struct xl__geometry){.is_wide = xl__emit_is_wide(group)};
    if (xl__is_vector_cpu(l))
        choose_cpu_geometry(g, l, group);
    else
        choose_gpu_geometry(g, l, group);
    xl__map_tile_geometry(g, l, group);
    const double fill = (double)n_groups(group) / units;
    xl__group_estimate(l, fill < 1 ? fill : 1, 1, group);
}

/* -- launch --------------------------------------------------------------- */

/* For every n below 2^31:  n / d = (n mul) >> shift,
 *   shift = 31 + ceil(log2 d),  mul = ceil(2^shift / d) < 2^32.
 * Source: Granlund, Montgomery, "Division by invariant integers using
 * multiplication", PLDI 1994. */
void xl__map_arg_divisor(const struct xl__group *group, struct xl__step *step,
                         size_t d)
{
    const bool is_wide = group->geo.is_wide;
    unsigned shift = BITS;
    while (d > (size_t)1 << (shift - BITS))
        shift++;
    const uint64_t power = (uint64_t)1 << (shift < 63 ? shift : 63);
    xl__arg_u32(step, is_wide ? 0 : (size_t)((power + d - 1) / d));
    xl__arg_u32(step, shift);
}

/* Append the arguments that expr/map.cl has after XL_PARAMS. */
static void add_map_args(const struct xl__group *group, struct xl__step *step)
{
    const size_t per_row = xl__ceil_div(xl__inner_size(group), group->geo.vw);
    xl__emit_arg_index(group, step, n_vectors(group));
    if (group->n_loops > 1) {
        xl__emit_arg_index(group, step, per_row);
        xl__map_arg_divisor(group, step, per_row);
    }
    for (unsigned d = 1; d + 1 < group->n_loops; d++)
        xl__map_arg_divisor(group, step, group->loop[d].size);
    if (group->geo.per_wg)
        xl__emit_arg_index(group, step, group->geo.per_wg);
}

xl_status xl__map_plan(const struct xl__graph *g, const struct xl__limits *l,
                       const struct xl__group *group,
                       const struct xl__schedule *s, struct xl__code *code,
                       struct xl__plan *plan)
{
    struct xl__str *text = &code->text[plan->n_steps];
    struct xl__step *step = &plan->step[plan->n_steps];
    struct xl__emit m = {
        .g = g, .group = group, .l = l, .out = text, .vw = group->geo.vw};
    if (xl__emit_n_args(g, group) + XL__MAP_ARGS > XL__MAX_ARGS)
        return XL_UNSUPPORTED;
    if (text->len == 0)
        xl__map_write_kernel(&m);
    if (text->broken)
        return XL_NO_MEMORY;
    xl__emit_step(&m, s, step, "expr_map", n_groups(group));
    step->local_mem_bytes = xl__map_tile_local_bytes(group);
    if (group->geo.tile)
        xl__map_tile_args(group, step);
    else
        add_map_args(group, step);
    plan->n_steps++;
    return XL_OK;
}
