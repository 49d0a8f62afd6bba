/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the form MAP, which compute each element by itself.
 *
 * The elements of all loops form rows of vectors, numbered one after another;
 * a row is the last loop. On a GPU adjacent items process adjacent vectors,
 * `unroll` vectors each. On a CPU a work-group is one item, which processes a
 * run of geo.per_wg vectors.
 *
 * The indices of the loops follow from a vector's number by divisions. Since
 * the divisors are known only at the launch, the host computes multipliers and
 * shifts for them (xl__map_arg_divisor), and the kernel multiplies.
 *
 * Loads, arithmetic and stores are written for whole vectors and for vectors
 * that the end of a row cuts. A GPU's item loads all of its vectors before it
 * uses the first one: the compiler cannot move a load before an earlier store,
 * since both may access an output that is changed in place. */
#include "expr/codegen/map.h"

#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/map_tiles.h"

/* Is the operand loaded directly from memory? Not: transposed operands, which
 * come from a tile, and random numbers. */
static bool is_loaded(const struct xl__group *group,
                      const struct xl__operand *o)
{
    return !o->is_written && o->at != XL__AT_INDEX &&
           !xl__map_is_transposed(group, o);
}

/* -- indices -------------------------------------------------------------- */

/* Write, for the vector number f, the number of its row and the indices of all
 * loops but the last. */
static void write_row_indices(struct xl__emit *m)
{
    const unsigned n = m->group->n_loops;
    const char *rest = "row";
    static const char *const rests[XL__EXPR_LOOPS] = {"r0", "r1", "r2",
                                                      "r3", "r4", "r5"};
    if (n == 1)
        return;
    xl__emit_line(m, "const IDX row = xl_divide(f, per_row, mul_0, shift_0);");
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

/* Write the index along the last loop of the vector number f. */
static void write_inner_index(struct xl__emit *m)
{
    const char *column = m->group->n_loops > 1 ? "(f - row * per_row)" : "f";
    xl__emit_line(m, "const IDX i%u = %s * %u;", m->group->n_loops - 1, column,
                  m->vw);
}

/* -- loads, arithmetic, stores -------------------------------------------- */

/* The name of the index along the last loop. */
static const char *inner_index_name(const struct xl__emit *m)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5"};
    return names[m->group->n_loops - 1];
}

static void write_loads(struct xl__emit *m, const char *count)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_load(m, k, inner_index_name(m), count);
    }
}

/* Write arithmetic and stores of a vector whose directly loaded operands are
 * in variables; the other leaves are loaded here. */
static void write_results(struct xl__emit *m, const char *count)
{
    const struct xl__group *group = m->group;
    for (unsigned i = 0; i < group->n_values; i++) {
        const unsigned node = group->value[i].node;
        const unsigned from = xl__emit_operand_of(group, node);
        if (from == XL__EXPR_OPERANDS)
            xl__emit_node(m, node, m->vw);
        else if (xl__map_is_transposed(group, &group->operand[from]))
            xl__map_write_tile_load(m, from);
        else if (group->operand[from].at == XL__AT_INDEX)
            xl__emit_load(m, from, inner_index_name(m), count);
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (group->operand[k].is_written)
            xl__emit_store(m, k, inner_index_name(m), count);
    }
}

void xl__map_write_vector(struct xl__emit *m)
{
    write_loads(m, NULL);
    write_results(m, NULL);
}

void xl__map_write_partial(struct xl__emit *m)
{
    const char *count = m->vw > 1 ? "count" : NULL;
    if (count)
        xl__emit_line(m, "const uint count = (uint)min(n%u - %s, (IDX)%u);",
                      m->group->n_loops - 1, inner_index_name(m), m->vw);
    write_loads(m, count);
    write_results(m, count);
}

/* -- GPUs: adjacent items process adjacent vectors ------------------------ */

static void open_unrolled(struct xl__emit *m, unsigned unroll)
{
    xl__emit_line(m, "for (uint u = 0; u < %u; u++) {", unroll);
    m->indent++;
}

/* Write the indices of the vector number f. */
static void write_position(struct xl__emit *m)
{
    write_row_indices(m);
    write_inner_index(m);
    xl__emit_indices(m, 0, m->group->n_loops - 1);
}

static void write_vector_number(struct xl__emit *m)
{
    xl__emit_line(m, "const IDX f = first + u * %u;", m->group->geo.wg);
}

static void write_unrolled_position(struct xl__emit *m)
{
    write_vector_number(m);
    write_position(m);
}

static void close_unrolled(struct xl__emit *m)
{
    m->depth = 0;
    m->indent--;
    xl__emit_line(m, "}");
}

/* Copy the variables of loaded operands into the arrays aK, or (is_read) back.
 */
static void write_array_copy(struct xl__emit *m, bool is_read)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (!is_loaded(m->group, o))
            continue;
        if (is_read)
            xl__emit_line(m, "const %s v%u = a%u[u];",
                          xl__emit_type(m->g->node[o->node].type, m->vw),
                          o->node, k);
        else
            xl__emit_line(m, "a%u[u] = v%u;", k, o->node);
    }
}

void xl__map_write_unrolled(struct xl__emit *m, unsigned unroll,
                            void (*where)(struct xl__emit *m))
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (is_loaded(m->group, o))
            xl__emit_line(m, "%s a%u[%u];",
                          xl__emit_type(m->g->node[o->node].type, m->vw), k,
                          unroll);
    }
    xl__emit_line(m, "#pragma unroll");
    open_unrolled(m, unroll);
    where(m);
    write_loads(m, NULL);
    write_array_copy(m, false);
    close_unrolled(m);
    xl__emit_line(m, "#pragma unroll");
    open_unrolled(m, unroll);
    where(m);
    write_array_copy(m, true);
    write_results(m, NULL);
    close_unrolled(m);
}

/* A work-group whose vectors are all whole. */
static void write_full_group(struct xl__emit *m, unsigned unroll)
{
    if (unroll > 1) {
        xl__map_write_unrolled(m, unroll, write_unrolled_position);
        return;
    }
    xl__emit_line(m, "const IDX f = first;");
    write_position(m);
    xl__map_write_vector(m);
    m->depth = 0;
}

/* A work-group with cut vectors, or with fewer vectors than items: one vector
 * after another, each tested. */
static void write_partial_group(struct xl__emit *m, unsigned unroll)
{
    xl__emit_line(m, "#pragma unroll 1");
    open_unrolled(m, unroll);
    write_vector_number(m);
    xl__emit_line(m, "if (f >= vectors)");
    xl__emit_line(m, "    break;");
    write_position(m);
    xl__map_write_partial(m);
    close_unrolled(m);
}

/* Write `if (...) {` with the condition that all vectors of the work-group are
 * whole: where rows consist of whole vectors, or where all vectors of the
 * group are whole vectors of one row. */
static void write_full_test(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    const unsigned last = m->group->n_loops - 1, span = geo->wg * geo->unroll;
    if (m->vw == 1)
        xl__emit_line(m, "if (base + %u <= vectors) {", span);
    else if (last == 0)
        xl__emit_line(m, "if ((base + %u) * %u <= n0) {", span, m->vw);
    else {
        xl__emit_line(m, "if (n%u %% %u == 0 ? base + %u <= vectors", last,
                      m->vw, span);
        xl__emit_line(m,
                      "    : (base - xl_divide(base, per_row, mul_0, "
                      "shift_0) * per_row + %u) * %u <= n%u) {",
                      span, m->vw, last);
    }
}

/* The body for GPUs: item i processes the vectors first + u * wg. */
static void write_gpu_body(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    xl__emit_line(m, "const IDX base = (IDX)xl_group_id(0) * %u;",
                  geo->wg * geo->unroll);
    xl__emit_line(m, "const IDX first = base + (IDX)get_local_id(0);");
    write_full_test(m);
    m->indent++;
    write_full_group(m, geo->unroll);
    m->indent--;
    xl__emit_line(m, "} else {");
    m->indent++;
    write_partial_group(m, geo->unroll);
    m->indent--;
    xl__emit_line(m, "}");
}

/* -- CPUs: an item processes a run of vectors ----------------------------- */

/* Write the loop over the vectors c ... stop - 1 of a row. The last one may be
 * cut by the end of the row. */
static void write_row_run(struct xl__emit *m)
{
    const unsigned last = m->group->n_loops - 1;
    xl__emit_indices(m, 0, last);
    xl__emit_line(m, "for (; c < stop && (c + 1) * %u <= n%u; c++) {", m->vw,
                  last);
    m->indent++;
    xl__emit_line(m, "const IDX i%u = c * %u;", last, m->vw);
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_prefetch(m, k, inner_index_name(m));
    }
    xl__map_write_vector(m);
    m->indent--;
    xl__emit_line(m, "}");
    if (m->vw > 1) {
        xl__emit_line(m, "if (c < stop) {");
        m->indent++;
        xl__emit_line(m, "const IDX i%u = c * %u;", last, m->vw);
        xl__map_write_partial(m);
        m->indent--;
        xl__emit_line(m, "}");
    }
    m->depth = 0;
}

/* The body for CPUs: a loop over the rows that the item's run covers, with a
 * loop over the vectors of each. */
static void write_cpu_body(struct xl__emit *m)
{
    xl__emit_line(m, "IDX f = (IDX)xl_group_id(0) * per_wg;");
    xl__emit_line(m, "const IDX end = min(f + per_wg, vectors);");
    if (m->group->n_loops == 1) {
        xl__emit_line(m, "const IDX stop = end;");
        xl__emit_line(m, "IDX c = f;");
        write_row_run(m);
        return;
    }
    xl__emit_line(m, "while (f < end) {");
    m->indent++;
    write_row_indices(m);
    xl__emit_line(m, "IDX c = f - row * per_row;");
    xl__emit_line(m, "const IDX stop = min(per_row, c + (end - f));");
    xl__emit_line(m, "f += stop - c;");
    write_row_run(m);
    m->indent--;
    xl__emit_line(m, "}");
}

/* -- the kernel ----------------------------------------------------------- */

/* The parameters that only this form has; add_map_args() appends their
 * arguments. */
static void write_map_params(struct xl__emit *m)
{
    xl__emit_line(m, ", const IDX vectors");
    if (m->group->n_loops > 1)
        xl__emit_line(m, ", const IDX per_row, const uint mul_0, "
                         "const uint shift_0");
    for (unsigned d = 1; d + 1 < m->group->n_loops; d++)
        xl__emit_line(m, ", const uint mul_%u, const uint shift_%u", d, d);
    if (m->group->geo.per_wg)
        xl__emit_line(m, ", const IDX per_wg");
}

void xl__map_write_kernel(struct xl__emit *m)
{
    xl__emit_header(m, "expr_map: each element by itself");
    if (m->group->geo.tile && m->group->geo.per_wg)
        xl__emit_line(m, "#include \"expr/transpose.clh\"\n");
    xl__emit_line(m,
                  "__kernel "
                  "__attribute__((reqd_work_group_size(%u, 1, 1)))",
                  m->group->geo.wg);
    xl__emit_line(m, "void expr_map(");
    m->indent += 2;
    xl__emit_params(m);
    if (m->group->geo.tile)
        xl__map_write_tile_params(m);
    else
        write_map_params(m);
    m->indent -= 2;
    xl__emit_line(m, ")");
    xl__emit_line(m, "{");
    m->indent++;
    if (m->group->geo.tile)
        xl__map_write_tiles(m);
    else if (m->group->geo.per_wg)
        write_cpu_body(m);
    else
        write_gpu_body(m);
    m->indent--;
    xl__emit_line(m, "}");
}

enum {
    ACCESS_BYTES = 16, /* largest access of a GPU's item */
    AHEAD_BYTES = 64,  /* that an item loads before it uses them */
    MAX_GPU_VW = 8,
    WG = 256, /* a size that every kernel can be launched with
                 (NV-24) */
    MAX_UNROLL = 4,
    GROUPS_PER_UNIT = 64,  /* on a CPU (CP-08) */
    GROUP_BYTES = 1 << 17, /* memory traffic of a work-group on a CPU */
    BITS = 31              /* of the dividends of xl_divide() */
};

/* -- geometry ------------------------------------------------------------- */

static size_t inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

/* The vector width on a GPU: at most one aligned access, and a divisor of the
 * row's size, so that no vector crosses rows. With a strided operand, single
 * elements: adjacent items then read adjacent elements. */
static size_t choose_gpu_vector(const struct xl__group *group)
{
    size_t vw = MAX_GPU_VW;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        if (o->at == XL__AT_INDEX)
            continue;
        if (stride > 1)
            return 1;
        vw = xl__min_size(vw, ACCESS_BYTES / xl_dtype_bytes(o->dtype));
        if (stride == 1)
            vw = xl__min_size(vw, o->align);
    }
    while (group->n_loops > 1 && inner_size(group) % vw != 0)
        vw /= 2;
    return xl__min_size(vw, (size_t)xl__floor_power_of_two(inner_size(group)));
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
    return count_elements(group) / inner_size(group) *
           xl__ceil_div(inner_size(group), group->geo.vw);
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
                          n_vectors(group) < unroll * units * WG))
        unroll /= 2;
    return (unsigned)unroll;
}

/* Are results stored past the caches? Only if the group's memory exceeds the
 * last-level cache, and no result is stored where an argument was read, whose
 * line is in the cache already. */
static bool is_streamed(const struct xl__limits *l,
                        const struct xl__group *group)
{
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        for (unsigned j = 0; j < k; j++) {
            const struct xl__operand *other = &group->operand[j];
            if (o->at == other->at && o->index == other->index &&
                o->is_written != other->is_written)
                return false;
        }
    }
    return group->bytes > xl__num_or(l, XL__F_llc_bytes, INFINITY);
}

size_t xl__map_per_group(const struct xl__limits *l,
                         const struct xl__group *group, size_t work)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = GROUPS_PER_UNIT * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    return xl__ceil_div(work, n);
}

/* The geometry for CPUs: native vectors, and runs of them. */
static void choose_cpu_geometry(const struct xl__limits *l,
                                struct xl__group *group)
{
    const size_t native = xl__size_or(l, XL__F_native_vector_f32, 1);
    struct xl__geometry *geo = &group->geo;
    size_t vw = (size_t)xl__floor_power_of_two(xl__min_size(native, XL__EXPR_MAX_VW));
    vw = xl__min_size(vw, (size_t)xl__floor_power_of_two(inner_size(group)));
    geo->vw = (unsigned)vw;
    geo->wg = 1;
    geo->unroll = 1;
    geo->is_streamed = is_streamed(l, group);
    geo->per_wg = xl__map_per_group(l, group, n_vectors(group));
}

/* The geometry for GPUs: adjacent vectors, several an item. */
static void choose_gpu_geometry(const struct xl__limits *l,
                                struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    geo->vw = (unsigned)choose_gpu_vector(group);
    geo->wg = (unsigned)(size_t)xl__floor_power_of_two(
        xl__min_size(WG, xl__size_or(l, XL__F_max_wg_size, 1)));
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

static void describe_geometry(struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    if (geo->tile)
        xl__str_printf(&group->why, "tiles of %u by %u transposed in %s, ",
                       geo->tile, geo->tile,
                       geo->per_wg ? "registers" : "local memory");
    if (geo->per_wg)
        xl__str_printf(&group->why,
                       "vectors of %u, %zu%s a work-group of one item",
                       geo->vw, geo->per_wg, geo->tile ? " tiles" : "");
    else
        xl__str_printf(&group->why,
                       "vectors of %u, %u an item, work-groups of %u", geo->vw,
                       geo->unroll, geo->wg);
}

void xl__map_geometry(const struct xl__graph *g, const struct xl__limits *l,
                      struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    group->geo = (struct xl__geometry){.is_wide = xl__emit_is_wide(group)};
    if (xl__is_vector_cpu(l))
        choose_cpu_geometry(l, group);
    else
        choose_gpu_geometry(l, group);
    xl__map_tile_geometry(g, l, group);
    const double fill = (double)n_groups(group) / units;
    xl__group_estimate(l, fill < 1 ? fill : 1, 1, group);
    describe_geometry(group);
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

void xl__map_arg_index(const struct xl__group *group, struct xl__step *step,
                       size_t value)
{
    if (group->geo.is_wide)
        xl__arg_u64(step, value);
    else
        xl__arg_u32(step, value);
}

/* Append the arguments for the parameters of write_map_params(). */
static void add_map_args(const struct xl__group *group, struct xl__step *step)
{
    const size_t per_row = xl__ceil_div(inner_size(group), group->geo.vw);
    xl__map_arg_index(group, step, n_vectors(group));
    if (group->n_loops > 1) {
        xl__map_arg_index(group, step, per_row);
        xl__map_arg_divisor(group, step, per_row);
    }
    for (unsigned d = 1; d + 1 < group->n_loops; d++)
        xl__map_arg_divisor(group, step, group->loop[d].size);
    if (group->geo.per_wg)
        xl__map_arg_index(group, step, group->geo.per_wg);
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
    xl__map_write_kernel(&m);
    if (text->broken)
        return XL_NO_MEMORY;
    step->source = "expr_map";
    step->kernel = "expr_map";
    step->text = xl__str_text(text);
    step->dims = 1;
    step->local[0] = group->geo.wg;
    step->global[0] = n_groups(group) * group->geo.wg;
    step->local_mem_bytes = xl__map_tile_local_bytes(group);
    step->slice_dim = 0;
    xl__emit_args(&m, s, step);
    if (group->geo.tile)
        xl__map_tile_args(group, step);
    else
        add_map_args(group, step);
    plan->n_steps++;
    return XL_OK;
}
