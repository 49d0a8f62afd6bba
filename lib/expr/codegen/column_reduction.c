/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the form COLUMNS: the reduced loops are outside, a kept
 * contiguous loop is inside. An item owns vectors of adjacent columns and goes
 * down the rows, so each access is as wide and contiguous as in a copy.
 *
 *          column 0   1  ..   width - 1
 *   lane 0   |vw|vw|vw|vw|vw|   a work-group: `lanes` items share a column and
 *   lane 1   |vw|vw|vw|vw|vw|   join their states through local memory
 *
 * On a GPU an item owns one vector and keeps its states in registers. On a CPU
 * an item owns `held` adjacent vectors and keeps arrays of states, which fit
 * into the core's first-level cache; it goes along the row before it goes
 * down, so it reads contiguous runs of held * vw elements.
 *
 * If the columns are too few to fill the device, the reduced range is cut into
 * chunks: the first kernel (expr_columns) writes the states of each chunk to
 * scratch, a second one (expr_columns_join) joins them.
 *
 * Names in the generated text: `line` is the linear index over the reduced
 * loops, `lines` their number; `whole` and `rest` are the whole vectors and
 * the single elements that the item owns. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/row_reduction.h"
#include "expr/codegen/sweep_step.h"

/* The column of vectors and the lane of an item; `side` items share a row. */
static void write_item_indices(struct xl__reduction_writer *r, unsigned side)
{
    if (r->group->geo.wg == 1) {
        xl__emit_line(&r->m, "const uint column = 0, lane = 0;");
        return;
    }
    xl__emit_line(&r->m, "const uint item = get_local_id(0);");
    xl__emit_line(&r->m, "const uint column = item %% %u, lane = item / %u;",
                  side, side);
}

/* The indices of the outer kept loops, and the number of rows of a column. */
static void write_outer_indices(struct xl__reduction_writer *r)
{
    const unsigned last = r->group->n_loops - 1;
    xl__loop_indices_write(r, 0, r->n_kept, "outer");
    xl__emit_indices(&r->m, 0, r->n_kept);
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX lines = ");
    xl__loop_sizes_write(r, r->n_kept, last);
    xl__str_add(r->m.out, ";\n");
    xl__emit_line(&r->m, "const float n_row = (float)lines;");
}

/* Row u of a step: the indices of its loops and the operands' indices. */
static void write_row_position(struct xl__reduction_writer *r, const char *u,
                               const void *arg)
{
    const unsigned last = r->group->n_loops - 1;
    (void)arg;
    if (xl__streq(u, "0"))
        xl__emit_line(&r->m, "const IDX line = t;");
    else
        xl__emit_line(&r->m, "const IDX line = t + %s * %u;", u,
                      r->group->geo.lanes);
    xl__loop_indices_write(r, r->n_kept, last, "line");
    xl__emit_indices(&r->m, r->n_kept, last);
}

/* Steps of n rows, for the whole vectors of the item or for its last one,
 * which is cut. */
static void write_row_loop(struct xl__reduction_writer *r, unsigned n,
                           const char *count)
{
    const struct xl__geometry *geo = &r->group->geo;
    const struct xl__sweep_step t = {.n = n,
                                     .count = count,
                                     .state_prefix = 'a',
                                     .subscript = geo->held > 1 ? "[c]" : NULL,
                                     .first_index = "line",
                                     .is_column = true,
                                     .write_position = write_row_position};
    if (n > 1)
        xl__emit_line(&r->m, "for (; t + %u < end; t += %u) {",
                      (n - 1) * geo->lanes, n * geo->lanes);
    else
        xl__emit_line(&r->m, "for (; t < end; t += %u) {", geo->lanes);
    r->m.indent++;
    if (geo->held > 1 && !count) {
        xl__emit_line(&r->m, "for (uint c = 0; c < whole; c++) {");
        r->m.indent++;
    }
    if (geo->held > 1) {
        xl__emit_line(&r->m, "const IDX at = begin + c * %u;", geo->vw);
        r->row_count = count;
        xl__row_values_write(r, 0);
    }
    xl__sweep_write_step(r, &t);
    if (geo->held > 1 && !count) {
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    }
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* The sweep down the columns: the whole vectors of the item first, then the
 * one that the end of the row cuts. */
static void write_sweep(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    const bool is_many = geo->held > 1;
    xl__sweep_mark_needed(r, 0);
    xl__emit_line(&r->m, "if (whole > 0) {");
    r->m.indent++;
    xl__emit_line(&r->m, "IDX t = first + lane;");
    if (!is_many) {
        xl__emit_line(&r->m, "const IDX at = begin;");
        r->row_count = NULL;
        xl__row_values_write(r, 0);
    }
    if (geo->unroll > 1)
        write_row_loop(r, geo->unroll, NULL);
    write_row_loop(r, 1, NULL);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    if (geo->vw == 1)
        return;
    xl__emit_line(&r->m, "if (rest > 0) {");
    r->m.indent++;
    xl__emit_line(&r->m, "IDX t = first + lane;");
    if (is_many) {
        xl__emit_line(&r->m, "const uint c = whole;");
    } else {
        xl__emit_line(&r->m, "const IDX at = begin;");
        r->row_count = "rest";
        xl__row_values_write(r, 0);
    }
    write_row_loop(r, 1, "rest");
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* All items execute this; afterwards lane 0 has the state of the whole
 * column. */
static void write_lane_join(struct xl__reduction_writer *r, unsigned lanes,
                            unsigned side)
{
    char rule[160];
    if (lanes == 1)
        return;
    xl__states_write(r, 0, "room$s[item] = a$s;", 1);
    xl__emit_line(&r->m, "barrier(CLK_LOCAL_MEM_FENCE);");
    xl__emit_line(&r->m, "if (lane == 0) {");
    r->m.indent++;
    snprintf(rule, sizeof rule, "a$s = $f_gather_$w(room$s + item, %u, %u);",
             lanes, side);
    xl__states_write(r, 0, rule, r->m.vw);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* The results of a column's states, what depends on them, and the stores. */
static void write_results(struct xl__reduction_writer *r)
{
    r->row_count = r->m.vw > 1 ? "count" : NULL;
    xl__row_values_write(r, 0);
    xl__row_results_write(r, 0);
    xl__row_values_write(r, 1);
    xl__row_stores_write(r);
}

static void write_header(struct xl__reduction_writer *r, const char *what,
                         bool has_lanes)
{
    r->row_at = "at";
    r->row_width = r->m.vw;
    xl__emit_header(&r->m, what);
    xl__emit_line(&r->m, "#include \"expr/reduce.clh\"");
    xl__state_kinds_write(r, "XL_$k($w)", r->m.vw);
    if (has_lanes)
        xl__state_kinds_write(r, "XL_GATHER($k, $w, __local, gather)",
                              r->m.vw);
}

static void write_local(struct xl__reduction_writer *r)
{
    char rule[80];
    snprintf(rule, sizeof rule, "__local $f_$w room$s[%u];", r->group->geo.wg);
    if (r->group->geo.wg > 1)
        xl__states_write(r, 0, rule, r->m.vw);
}

/* The block of columns of a work-group, its chunk, and the columns of the
 * item: `begin`, `whole` vectors and `rest` elements. */
static void write_block_indices(struct xl__reduction_writer *r, unsigned side)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned last = r->group->n_loops - 1, vw = geo->vw;
    const unsigned each = side * geo->held * vw;
    xl__emit_line(&r->m, "const IDX blocks = (n%u + %u) / %u;", last, each - 1,
                  each);
    xl__emit_line(&r->m, "IDX outer = (IDX)xl_group_id(0) / blocks;");
    xl__emit_line(&r->m,
                  "const IDX block = (IDX)xl_group_id(0) - outer * blocks;");
    if (geo->chunks > 1) {
        xl__emit_line(&r->m, "const IDX chunk = outer %% chunks;");
        xl__emit_line(&r->m, "outer /= chunks;");
    }
    xl__emit_line(&r->m, "const IDX begin = (block * %u + column) * %u;", side,
                  geo->held * vw);
    xl__emit_line(&r->m,
                  "const IDX columns = begin < n%u ? min(n%u - begin, "
                  "(IDX)%u) : 0;",
                  last, last, geo->held * vw);
    xl__emit_line(&r->m,
                  "const uint whole = columns / %u, rest = columns %% %u;", vw,
                  vw);
}

/* Open a loop over the vectors of the item; it sets the states rN, the index
 * `at` and the number of elements `count`. */
static void open_vectors(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    xl__emit_line(&r->m, "for (uint c = 0; c < whole + (rest > 0) && "
                         "lane == 0; c++) {");
    r->m.indent++;
    xl__emit_line(&r->m, "const IDX at = begin + c * %u;", geo->vw);
    xl__emit_line(&r->m, "const uint count = c < whole ? %u : rest;", geo->vw);
    xl__states_write(r, 0,
                     geo->held > 1 ? "const $f_$w r$s = a$s[c];"
                                   : "const $f_$w r$s = a$s;",
                     geo->vw);
}

/* The layout of partial results in scratch: [chunk][outer][vector]. */
static void write_vector_counts(struct xl__reduction_writer *r)
{
    const unsigned vw = r->group->geo.vw;
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX outers = ");
    xl__loop_sizes_write(r, 0, r->n_kept);
    xl__str_printf(r->m.out, ", vectors = (n%u + %u) / %u;\n",
                   r->group->n_loops - 1, vw - 1, vw);
}

/* The kernel expr_columns: states of all rows, or of a chunk of them. */
static void write_columns(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned side = geo->wg / geo->lanes;
    char rule[120];
    write_header(r, "Columns", geo->lanes > 1);
    xl__rows_open_kernel(r, "expr_columns",
                         geo->chunks > 1 ? xl__partial_params : NULL);
    write_local(r);
    write_item_indices(r, side);
    write_block_indices(r, side);
    write_outer_indices(r);
    xl__emit_line(&r->m, geo->chunks > 1
                             ? "const IDX first = chunk * each, "
                               "end = min(first + each, lines);"
                             : "const IDX first = 0, end = lines;");
    if (geo->held > 1) {
        snprintf(rule, sizeof rule, "$f_$w a$s[%u];", geo->held);
        xl__states_write(r, 0, rule, geo->vw);
        xl__emit_line(&r->m, "for (uint c = 0; c < %u; c++) {", geo->held);
        r->m.indent++;
        xl__states_write(r, 0, "a$s[c] = $f_none_$w();", geo->vw);
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    } else {
        xl__states_write(r, 0, "$f_$w a$s = $f_none_$w();", geo->vw);
    }
    write_sweep(r);
    write_lane_join(r, geo->lanes, side);
    open_vectors(r);
    if (geo->chunks > 1) {
        write_vector_counts(r);
        xl__emit_line(&r->m,
                      "const IDX place = (chunk * outers + outer) * "
                      "vectors + at / %u;",
                      geo->vw);
        xl__states_write(r, 0,
                         "((__global $f_$w *)(scratch + q$s))[place] = r$s;",
                         geo->vw);
    } else {
        write_results(r);
    }
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* The kernel expr_columns_join: merges the chunks of each column. `joiners`
 * lanes share a column. */
static void write_columns_join(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned lanes = geo->joiners, side = geo->wg / lanes;
    char rule[200];
    write_header(r, "Columns, from their chunks", lanes > 1);
    xl__state_kinds_write(r, "XL_GATHER($k, $w, __global, collect)", geo->vw);
    xl__rows_open_kernel(r, "expr_columns_join", xl__partial_params);
    write_local(r);
    write_item_indices(r, side);
    write_vector_counts(r);
    xl__emit_line(&r->m, "const IDX blocks = (vectors + %u) / %u;", side - 1,
                  side);
    xl__emit_line(&r->m, "const IDX outer = (IDX)xl_group_id(0) / blocks;");
    xl__emit_line(&r->m,
                  "const IDX own = ((IDX)xl_group_id(0) - outer * "
                  "blocks) * %u + column;",
                  side);
    xl__emit_line(&r->m,
                  "const uint mine = own < vectors ? "
                  "(uint)((chunks + %u - lane) / %u) : 0;",
                  lanes - 1, lanes);
    write_outer_indices(r);
    snprintf(rule, sizeof rule,
             "$f_$w a$s = $f_collect_$w((__global const $f_$w *)(scratch + "
             "q$s) + (lane * outers + outer) * vectors + own, mine, "
             "%u * outers * vectors);",
             lanes);
    xl__states_write(r, 0, rule, geo->vw);
    write_lane_join(r, lanes, side);
    xl__emit_line(&r->m, "if (lane == 0 && own < vectors) {");
    r->m.indent++;
    xl__emit_line(&r->m, "const IDX at = own * %u;", geo->vw);
    xl__emit_line(&r->m, "const uint count = min(n%u - at, (IDX)%u);",
                  r->group->n_loops - 1, geo->vw);
    xl__states_write(r, 0, "const $f_$w r$s = a$s;", geo->vw);
    write_results(r);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

enum {
    WG = 256,
    SIDE_BY_SIDE = 32,    /* items along a row: 512 bytes of it */
    GROUPS_PER_UNIT = 16, /* work-groups per compute unit of a GPU: several
                             waves, so that a last wave that is only partly
                             full is a small share of the time */
    CHUNKS_PER_CORE = 8,  /* on a CPU */
    MIN_ITERATIONS = 4,   /* steps of an item: the least for a work-group */
    MAX_CHUNKS = 4096,
    MAX_ITERATIONS = 1 << 24, /* of an item's loop: the error bound of sums in
                                 expr/reduce.clh holds up to this count */
    NEAR_BYTES = 16384, /* states of an item, in a CPU core's first cache */
    STATE_WORDS = 12,   /* words of an item's states in a GPU's registers */
    CHUNKS_EACH = 8,    /* chunks that an item of the join kernel joins */
    MAX_JOINERS = 64    /* items that join one column */
};

/* -- geometry ------------------------------------------------------------- */

static size_t inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

/* Work-groups that cover all columns of all outer kept loops, for one chunk.
 */
static size_t groups_across(const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t each = geo->wg / geo->lanes * geo->held * geo->vw;
    return xl__kept_elems(group) / inner_size(group) *
           xl__ceil_div(inner_size(group), each);
}

/* Set wg, lanes and held. On a CPU: one item with as many vectors as have
 * their states in the first-level cache. On a GPU: up to SIDE_BY_SIDE items
 * along a row, the others are lanes. */
static void choose_items(const struct xl__limits *l, struct xl__group *group,
                         unsigned words)
{
    struct xl__geometry *geo = &group->geo;
    const size_t vectors = xl__ceil_div(inner_size(group), geo->vw);
    if (xl__is_vector_cpu(l)) {
        const size_t bytes = sizeof(float) * xl__max_size(words, 1) * geo->vw;
        geo->wg = geo->lanes = 1;
        geo->held = (unsigned)xl__min_size(
            vectors, xl__max_size(NEAR_BYTES / bytes, 1));
        return;
    }
    geo->held = 1;
    geo->wg =
        (unsigned)xl__min_size(WG, xl__max_wg_for_states(l, words * geo->vw));
    const size_t side = xl__min_size(
        xl__min_size(SIDE_BY_SIDE, (size_t)xl__ceil_power_of_two(vectors)), geo->wg);
    geo->lanes = geo->wg / (unsigned)side;
}

/* Chunks of the reduced range: as many as give the device enough work-groups,
 * with at least MIN_ITERATIONS steps each, and as many as keep every item's
 * loop below the device's limit on iterations (GE-24). */
static size_t choose_chunks(const struct xl__limits *l,
                            const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t target =
        units * (xl__is_vector_cpu(l) ? CHUNKS_PER_CORE : GROUPS_PER_UNIT);
    const size_t rows = xl__reduced_elems(group);
    const size_t step = geo->lanes * (size_t)geo->unroll;
    const double iterations = /* GE-24 */
        xl__num_or(l, XL__F_max_loop_turns, MAX_ITERATIONS);
    const double least =
        (double)rows * geo->held / geo->lanes / (iterations / 2);
    size_t n = xl__min_size(xl__ceil_div(target, groups_across(group)),
                            xl__ceil_div(rows, step * MIN_ITERATIONS));
    if (groups_across(group) * 2 > target)
        n = 1;
    n = xl__max_size(n, (size_t)least + 1);
    return xl__min_size(n, MAX_CHUNKS);
}

/* Partial states in scratch: one for each chunk and column, rounded up to
 * whole vectors. */
static size_t n_partials(const struct xl__group *group)
{
    return xl__kept_elems(group) / inner_size(group) *
           xl__round_up(inner_size(group), group->geo.vw) * group->geo.chunks;
}

/* Halve the vector width until the states of an item fit into STATE_WORDS
 * words: large states leave too few items resident on a compute unit. */
static unsigned narrow_vector(const struct xl__limits *l, unsigned vw,
                              unsigned words)
{
    while (!xl__is_vector_cpu(l) && vw > 1 && vw * words > STATE_WORDS)
        vw /= 2;
    return vw;
}

void xl__columns_geometry(const struct xl__graph *g,
                          const struct xl__limits *l, struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const unsigned words = xl__state_words(g, group);
    *geo = (struct xl__geometry){.vw = (unsigned)xl__reduction_vw(l, group),
                                 .is_wide = xl__emit_is_wide(group)};
    geo->vw = narrow_vector(l, geo->vw, words);
    geo->unroll = xl__reduction_unroll(g, l, group);
    choose_items(l, group, words);
    geo->chunks = choose_chunks(l, group);
    geo->joiners = (unsigned)xl__min_size(
        xl__min_size(MAX_JOINERS, geo->wg),
        (size_t)xl__ceil_power_of_two(xl__ceil_div(geo->chunks, CHUNKS_EACH)));
    group->partial_bytes =
        geo->chunks > 1 ? xl__partial_bytes(g, group, n_partials(group)) : 0;
    const double fill = (double)(groups_across(group) * geo->chunks) /
                        xl__num_or(l, XL__F_compute_units, 1);
    xl__group_estimate(l, fill < 1 ? fill : 1, geo->chunks > 1 ? 2 : 1, group);
    xl__str_printf(&group->why,
                   "vectors of %u columns, %u by %u items down a column, "
                   "%zu chunk%s",
                   geo->vw, geo->held, geo->lanes, geo->chunks,
                   geo->chunks > 1 ? "s, joined by a second launch" : "");
}

/* -- launch --------------------------------------------------------------- */

/* Local memory in which the lanes join their states. */
static size_t local_bytes(const struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    size_t words = 0;
    for (unsigned i = 0; i < r->n_states; i++)
        words += r->state[i].acc->words;
    return geo->wg > 1 ? geo->wg * geo->vw * words * sizeof(float) : 0;
}

/* Work-groups of the kernel or, is_join, of the join kernel. */
static size_t n_groups(const struct xl__group *group, bool is_join)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t inner = inner_size(group);
    if (!is_join)
        return groups_across(group) * geo->chunks;
    return xl__kept_elems(group) / inner *
           xl__ceil_div(xl__ceil_div(inner, geo->vw), geo->wg / geo->joiners);
}

static xl_status add_step(struct xl__reduction_writer *r,
                          const struct xl__schedule *s, struct xl__plan *plan,
                          bool is_join)
{
    const struct xl__group *group = r->group;
    const size_t chunks = group->geo.chunks;
    const size_t cuts[] = {chunks,
                           xl__ceil_div(xl__reduced_elems(group), chunks), 0};
    struct xl__step *step = &plan->step[plan->n_steps];
    xl_status status;
    TRY(xl__reduction_check(r, xl__partial_n_args(r), local_bytes(r)));
    (is_join ? write_columns_join : write_columns)(r);
    TRY(r->m.out->broken ? XL_NO_MEMORY : XL_OK);
    xl__reduction_set_step(r, s, step,
                           is_join ? "expr_columns_join" : "expr_columns",
                           n_groups(group, is_join));
    step->local_mem_bytes = local_bytes(r);
    if (chunks > 1)
        xl__partial_args(r, step, n_partials(group), cuts);
    plan->n_steps++;
    return XL_OK;
fail:
    return status;
}

xl_status xl__columns_plan(const struct xl__graph *g,
                           const struct xl__limits *l,
                           const struct xl__group *group,
                           const struct xl__schedule *s, struct xl__code *code,
                           struct xl__plan *plan)
{
    xl_status status = XL_OK;
    const unsigned n = group->geo.chunks > 1 ? 2 : 1;
    for (unsigned i = 0; i < n && status == XL_OK; i++) {
        struct xl__reduction_writer r = {0};
        status =
            xl__reduction_init(&r, g, l, group, &code->text[plan->n_steps]);
        if (status == XL_OK)
            status = add_step(&r, s, plan, i == 1);
        xl__reduction_clear(&r);
    }
    return status;
}
