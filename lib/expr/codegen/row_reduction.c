/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the form ROWS, in which a row stays whole: `lanes` items of a
 * work-group share a row and sweep over it as often as its reductions depend
 * on each other. Also the text of a sweep along rows, which
 * chunked_reduction.c uses for chunks of rows.
 *
 *   row   | vectors of vw elements, lane by lane       | single elements |
 *   lane    0  1  2  3  0  1  2  3  ...                      0  1 ...
 *
 * In each sweep an item folds its vectors into its states; then the lanes join
 * their states through local memory, and every lane has the results of the
 * row. If the row's vectors fit into the registers of its lanes (geo.held
 * vectors an item), they are read from memory once, by the first sweep that
 * uses them. On CPUs a work-group is one item, which processes geo.per_wg
 * rows.
 *
 * Names in the generated text: vectors [first, end) and single elements
 * [first_one, end_one) are the lanes' together; per_line and left are the
 * whole vectors and the elements beyond them of one run of the last loop. */
#include "expr/codegen/row_reduction.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/sweep_step.h"

enum {
    GATHERED = 8,     /* states that every lane gathers at the end of a join;
                         with more, another level of the tree is used */
    MAX_AT_ONCE = 16, /* states that one lane gathers at a level of the tree */
    SINGLES = 4,      /* single elements of a step, as many as a fold takes */
    FIRST_WORDS = 64, /* words that an item loads before it uses them, in the
                         first sweep */
    LATER_WORDS = 32  /* and in later sweeps */
};

/* -- head ----------------------------------------------------------------- */

void xl__rows_write_head(struct xl__reduction_writer *r, const char *what)
{
    xl__emit_header(&r->m, what);
    xl__emit_line(&r->m, "#include \"expr/reduce.clh\"");
    xl__state_kinds_write(r, "XL_UP_TO_$w($k)", r->m.vw);
    if (r->group->geo.lanes > 1)
        xl__state_kinds_write(r, "XL_GATHER($k, 1, __local, gather)", 1);
}

void xl__rows_open_kernel(struct xl__reduction_writer *r, const char *name,
                          void (*more)(struct xl__reduction_writer *))
{
    xl__str_add(r->m.out, "\n");
    xl__emit_line(&r->m,
                  "__kernel __attribute__((reqd_work_group_size(%u, 1, 1)))",
                  r->group->geo.wg);
    xl__emit_line(&r->m, "void %s(", name);
    r->m.indent++;
    xl__emit_params(&r->m);
    if (more)
        more(r);
    r->m.indent--;
    xl__emit_line(&r->m, ")");
    xl__emit_line(&r->m, "{");
    r->m.indent++;
}

void xl__rows_write_counts(struct xl__reduction_writer *r,
                           const char *is_there)
{
    const unsigned last = r->group->n_loops - 1, vw = r->group->geo.vw;
    xl__emit_line(&r->m, "const IDX per_line = n%u / %u, left = n%u %% %u;",
                  last, vw, last, vw);
    xl__emit_indent(&r->m);
    xl__str_printf(r->m.out, "const IDX lines = %s", is_there);
    xl__loop_sizes_write(r, r->n_kept, last);
    xl__str_add(r->m.out, ";\n");
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const float n_row = (float)");
    for (unsigned d = r->n_kept; d <= last; d++)
        xl__str_printf(r->m.out, "%sn%u", d > r->n_kept ? " * (float)" : "",
                       d);
    xl__str_add(r->m.out, ";\n");
}

/* -- lanes ---------------------------------------------------------------- */

/* How many states are left of n after one level of the join's tree. */
static unsigned next_level(unsigned n)
{
    return n > GATHERED * MAX_AT_ONCE ? n / GATHERED : GATHERED;
}

/* States of one row in local memory: all levels of the tree. */
static unsigned states_of_row(const struct xl__geometry *geo)
{
    unsigned n = geo->lanes, room = n;
    for (; n > GATHERED; room += n)
        n = next_level(n);
    return room;
}

void xl__rows_write_local(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (geo->lanes > 1)
        xl__states_write(r, XL__ALL_SWEEPS, "__local $f_1 room$s[$w];",
                         geo->wg / geo->lanes * states_of_row(geo));
}

size_t xl__rows_local_bytes(const struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    size_t words = 0;
    for (unsigned i = 0; i < r->n_states; i++)
        words += r->state[i].acc->words;
    return geo->lanes > 1 ? geo->wg / geo->lanes * states_of_row(geo) * words *
                                sizeof(float)
                          : 0;
}

/* One level of the tree: join the n states from index `from` on to m states,
 * which are stored behind them. */
static void write_gather(struct xl__reduction_writer *r, unsigned s,
                         unsigned from, unsigned n, unsigned m)
{
    char rule[160];
    xl__emit_line(&r->m, "if (lane < %u) {", m);
    r->m.indent++;
    snprintf(rule, sizeof rule,
             "own$s[%u + lane] = $f_gather_1(own$s + %u + lane, %u, %u);",
             from + n, from, n / m, m);
    xl__states_write(r, s, rule, 1);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    xl__emit_line(&r->m, "barrier(CLK_LOCAL_MEM_FENCE);");
}

/* Join the states of a row's lanes in a tree:
 *
 *   own[0 .. lanes)    the state of each lane
 *   own[lanes .. )     n / m of them joined, m states, while n > GATHERED
 *
 * At last every lane joins the remaining states itself, without a barrier.
 * All items of the work-group execute this text. */
void xl__rows_write_join(struct xl__reduction_writer *r, unsigned s)
{
    const struct xl__geometry *geo = &r->group->geo;
    unsigned from = 0, n = geo->lanes;
    char rule[160];
    if (n == 1 || !xl__sweep_has_states(r, s))
        return;
    snprintf(rule, sizeof rule,
             "__local $f_1 *own$s = room$s + item / %u * %u;", n,
             states_of_row(geo));
    xl__states_write(r, s, rule, 1);
    xl__states_write(r, s, "own$s[lane] = r$s;", 1);
    xl__emit_line(&r->m, "barrier(CLK_LOCAL_MEM_FENCE);");
    while (n > GATHERED) {
        const unsigned m = next_level(n);
        write_gather(r, s, from, n, m);
        from += n;
        n = m;
    }
    snprintf(rule, sizeof rule, "r$s = $f_gather_1(own$s + %u, %u, 1);", from,
             n);
    xl__states_write(r, s, rule, 1);
}

/* -- sweeps --------------------------------------------------------------- */

/* Which vectors a step processes. */
struct vector_source {
    const char *from; /* a variable: the number of the first one */
    bool is_single;   /* single elements beyond the whole vectors */
};

/* Write the index `at` of a vector of a step and, if there are several reduced
 * loops, the indices of the outer ones. */
static void write_vector_position(struct xl__reduction_writer *r,
                                  const char *u, const void *arg)
{
    const struct vector_source *w = arg;
    const unsigned last = r->group->n_loops - 1;
    const unsigned vw = r->group->geo.vw, lanes = r->group->geo.lanes;
    char number[64];
    if (xl__streq(u, "0"))
        snprintf(number, sizeof number, "%s", w->from);
    else
        snprintf(number, sizeof number, "%s + u * %u", w->from, lanes);
    if (r->n_reduced == 1) {
        if (w->is_single)
            xl__emit_line(&r->m, "const IDX at = per_line * %u + %s;", vw,
                          number);
        else
            xl__emit_line(&r->m, "const IDX at = (%s) * %u;", number, vw);
        return;
    }
    const char *per = w->is_single ? "left" : "per_line";
    xl__emit_line(&r->m, "const IDX number = %s, line = number / %s;", number,
                  per);
    if (w->is_single)
        xl__emit_line(&r->m,
                      "const IDX at = per_line * %u + (number - line * left);",
                      vw);
    else
        xl__emit_line(&r->m, "const IDX at = (number - line * per_line) * %u;",
                      vw);
    xl__loop_indices_write(r, r->n_kept, last, "line");
    xl__emit_indices(&r->m, r->n_kept, last);
}

/* A step of sweep s over n vectors; `number` is a buffer for the text of their
 * first index. */
static struct xl__sweep_step init_step(struct xl__reduction_writer *r,
                                       unsigned s, unsigned n,
                                       const struct vector_source *w,
                                       char *number)
{
    struct xl__sweep_step t = {.sweep = s,
                               .n = n,
                               .state_prefix = 'a',
                               .first_index = "at",
                               .write_position = write_vector_position,
                               .arg = w};
    if (r->n_reduced > 1) {
        snprintf(number, 32, "line * n%u + at", r->group->n_loops - 1);
        t.first_index = number;
    }
    return t;
}

/* A loop over steps of n vectors while there are so many, and one step for the
 * vectors that are left. */
static void write_vector_loop(struct xl__reduction_writer *r, unsigned s)
{
    const unsigned lanes = r->group->geo.lanes, n = r->group->geo.unroll;
    char number[32];
    const struct vector_source w = {"t", false};
    struct xl__sweep_step t = init_step(r, s, n, &w, number);
    xl__emit_line(&r->m, "IDX t = first + lane;");
    xl__emit_line(&r->m, "for (; t + %u < end; t += %u) {", (n - 1) * lanes,
                  n * lanes);
    r->m.indent++;
    xl__sweep_write_step(r, &t);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    if (n == 1)
        return;
    t.limit = "mine";
    t.n = n - 1;
    xl__emit_line(&r->m, "if (t < end) {");
    r->m.indent++;
    xl__emit_line(&r->m, "const uint mine = (uint)((end - t + %u) / %u);",
                  lanes - 1, lanes);
    xl__sweep_write_step(r, &t);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* Vectors that a held sweep loads together. 0 (all) if nothing is loaded, or
 * if the loads of the first sweep are the held values themselves; otherwise
 * few, since they need registers besides the held ones. */
static unsigned choose_block(const struct xl__reduction_writer *r, unsigned s)
{
    const unsigned loads = xl__sweep_n_loads(r, s), held = r->group->geo.held;
    const unsigned words = loads * r->m.vw;
    if (loads == 0 || (s == 0 && loads == 1))
        return 0;
    unsigned n = (s == 0 ? FIRST_WORDS : LATER_WORDS) / words;
    n = n > XL__FOLDED ? XL__FOLDED : n > 0 ? n : 1;
    return n < held ? n : 0;
}

/* A sweep over held vectors: one step with all of them, in blocks. */
static void write_held_step(struct xl__reduction_writer *r, unsigned s)
{
    char number[32];
    const struct vector_source w = {"lane", false};
    struct xl__sweep_step t = init_step(r, s, r->group->geo.held, &w, number);
    t.limit = "mine";
    t.block = choose_block(r, s);
    xl__sweep_write_step(r, &t);
}

/* The single elements beyond the whole vectors. They are not held but read in
 * every sweep. */
static void write_single_elements(struct xl__reduction_writer *r, unsigned s)
{
    const unsigned lanes = r->group->geo.lanes, n = SINGLES;
    char number[32];
    const struct vector_source w = {"t", true};
    struct xl__sweep_step t = init_step(r, s, n, &w, number);
    t.state_prefix = 'r';
    t.limit = "mine";
    r->m.vw = 1;
    r->is_single = true;
    xl__sweep_mark_needed(r, s);
    xl__emit_line(&r->m,
                  "for (IDX t = first_one + lane; t < end_one; "
                  "t += %u) {",
                  n * lanes);
    r->m.indent++;
    xl__emit_line(&r->m,
                  "const uint mine = (uint)min((end_one - t + %u) / %u, "
                  "(IDX)%u);",
                  lanes - 1, lanes, n);
    xl__sweep_write_step(r, &t);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    r->is_single = false;
    r->m.vw = r->group->geo.vw;
}

void xl__rows_write_sweep(struct xl__reduction_writer *r, unsigned s)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (xl__sweep_is_idle(r, s))
        return;
    xl__str_add(r->m.out, "\n");
    xl__states_write(r, s, "$f_$w a$s = $f_none_$w();", geo->vw);
    xl__sweep_mark_needed(r, s);
    xl__emit_line(&r->m, "{");
    r->m.indent++;
    if (geo->held) {
        write_held_step(r, s);
    } else {
        write_vector_loop(r, s);
    }
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    xl__states_write(r, s, "$f_1 r$s = $f_close_$w(a$s);", geo->vw);
    if (geo->vw > 1)
        write_single_elements(r, s);
}

enum {
    HELD_WORDS = 48,        /* words that an item should hold (NV-25), */
    HELD_ONCE_WORDS = 24,   /* if there is one sweep only, */
    HELD_NARROW_WORDS = 32, /* if all types read are below 4 bytes */
    MAX_HELD_WORDS = 64,
    MIN_WG = 128,         /* with smaller ones too few items are resident */
    MAX_LANES = 512,      /* of held rows (NV-25) */
    SWEEP_LANES = 256,    /* of rows that do not fit into registers */
    SIDE_BY_SIDE = 8,     /* lanes of a row at least, */
    MIN_ELEMS = 4,        /* if each has so many elements */
    GROUPS_PER_UNIT = 64, /* on a CPU */
    GROUP_BYTES = 1 << 17 /* memory traffic of a work-group on a CPU */
};

/* -- geometry ------------------------------------------------------------- */

/* The geometry for CPUs: an item processes several rows, one after another. */
static void choose_cpu_rows(const struct xl__limits *l,
                            struct xl__group *group)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t rows = xl__kept_elems(group);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = GROUPS_PER_UNIT * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    group->geo.wg = group->geo.lanes = 1;
    group->geo.per_wg = xl__ceil_div(rows, n);
}

/* Bytes of the widest element that is read along rows. */
static size_t widest_bytes(const struct xl__group *group)
{
    size_t bytes = 1;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__operand_is_of_rows(group, o))
            bytes = xl__max_size(bytes, xl_dtype_bytes(o->dtype));
    }
    return bytes;
}

/* Lanes that hold a row of so many words. For narrow types each lane holds
 * fewer words, since the same number of words is fewer bytes in flight; up to
 * MIN_WG lanes are used before a lane holds more than half of that. */
static size_t lanes_to_hold(const struct xl__group *group, size_t words)
{
    const size_t each = group->n_sweeps > 1 ? HELD_WORDS : HELD_ONCE_WORDS;
    if (widest_bytes(group) >= sizeof(float))
        return xl__ceil_div(words, each);
    return xl__max_size(
        xl__ceil_div(words, HELD_NARROW_WORDS),
        xl__min_size(MIN_WG, xl__ceil_div(words, HELD_NARROW_WORDS / 2)));
}

/* The lanes of a row: as few as can hold it, since the cost of a join grows
 * with them, but at least SIDE_BY_SIDE for contiguous reads. A row that does
 * not fit is swept by SWEEP_LANES items, which read it again in each sweep. */
static void choose_gpu_lanes(const struct xl__graph *g,
                             const struct xl__limits *l,
                             struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const size_t words = xl__max_size(xl__held_values(g, group), 1);
    const size_t most = xl__max_wg_for_states(l, xl__state_words(g, group));
    const size_t vectors = xl__row_vectors(group);
    const size_t lanes = (size_t)xl__ceil_power_of_two(xl__max_size(
        xl__min_size(SIDE_BY_SIDE, xl__ceil_div(vectors * geo->vw, MIN_ELEMS)),
        lanes_to_hold(group, vectors * geo->vw * words)));
    geo->lanes = (unsigned)xl__min_size(lanes, xl__min_size(MAX_LANES, most));
    const size_t held = xl__ceil_div(vectors, geo->lanes);
    if (held * geo->vw * words <= MAX_HELD_WORDS)
        geo->held = (unsigned)held;
    else
        geo->lanes = (unsigned)xl__min_size(SWEEP_LANES, most);
    geo->wg = (unsigned)xl__max_size(geo->lanes, xl__min_size(MIN_WG, most));
}

void xl__rows_geometry(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    struct xl__geometry *geo = &group->geo;
    *geo = (struct xl__geometry){.vw = (unsigned)xl__reduction_vw(l, group),
                                 .is_wide = xl__emit_is_wide(group)};
    geo->unroll = xl__reduction_unroll(g, l, group);
    if (xl__is_vector_cpu(l))
        choose_cpu_rows(l, group);
    else
        choose_gpu_lanes(g, l, group);
    const size_t each = geo->per_wg ? geo->per_wg : geo->wg / geo->lanes;
    const double fill =
        (double)xl__ceil_div(xl__kept_elems(group), each) / units;
    xl__group_estimate(l, fill < 1 ? fill : 1, 1, group);
    if (geo->per_wg)
        xl__str_printf(&group->why, "vectors of %u, %zu rows an item", geo->vw,
                       geo->per_wg);
    else if (geo->held)
        xl__str_printf(&group->why,
                       "vectors of %u, %u items a row, each holds %u in "
                       "registers: read once",
                       geo->vw, geo->lanes, geo->held);
    else
        xl__str_printf(&group->why,
                       "vectors of %u, %u items a row, %u sweep%s over it",
                       geo->vw, geo->lanes, group->n_sweeps,
                       group->n_sweeps > 1 ? "s" : "");
}

/* -- text ----------------------------------------------------------------- */

/* The row of an item. On GPUs it follows from the item's number; items past
 * the last row process no elements but execute the barriers. On CPUs it is the
 * variable of a loop. */
static void write_row_start(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX rows = ");
    xl__loop_sizes_write(r, 0, r->n_kept);
    xl__str_add(r->m.out, ";\n");
    if (geo->per_wg) {
        xl__emit_line(&r->m, "const uint lane = 0;");
        xl__emit_line(&r->m, "const IDX begin = (IDX)xl_group_id(0) * each;");
        xl__emit_line(&r->m, "for (IDX row = begin; "
                             "row < min(begin + each, rows); row++) {");
        r->m.indent++;
    } else {
        xl__emit_line(&r->m, "const uint item = get_local_id(0);");
        xl__emit_line(&r->m, "const uint lane = item %% %u;", geo->lanes);
        xl__emit_line(&r->m,
                      "const IDX own = (IDX)xl_group_id(0) * %u + item / %u;",
                      geo->wg / geo->lanes, geo->lanes);
        xl__emit_line(&r->m, "const IDX row = min(own, rows - 1);");
    }
    xl__loop_indices_write(r, 0, r->n_kept, "row");
    xl__emit_indices(&r->m, 0, r->n_kept);
    xl__rows_write_counts(r, geo->per_wg ? "" : "own >= rows ? 0 : ");
    xl__emit_line(&r->m, "const IDX first = 0, end = lines * per_line;");
    xl__emit_line(&r->m, "const IDX first_one = 0, end_one = lines * left;");
}

/* Write the number of vectors of the item, choose what is held, and declare
 * its arrays. */
static void write_held_arrays(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (!geo->held)
        return;
    xl__emit_line(&r->m, "const uint mine = (uint)((end + %u - lane) / %u);",
                  geo->lanes - 1, geo->lanes);
    xl__sweep_hold_values(r);
    xl__sweep_declare_held(r, geo->held);
}

/* Store the outputs of the row, by lane 0, and close the loop of CPUs. */
static void write_row_end(struct xl__reduction_writer *r)
{
    const bool is_loop = r->group->geo.per_wg > 0;
    if (!is_loop && xl__has_row_stores(r)) {
        xl__emit_line(&r->m, "if (lane == 0 && own < rows) {");
        r->m.indent++;
    }
    xl__row_stores_write(r);
    if (is_loop || xl__has_row_stores(r)) {
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    }
}

static void write_rows_param(struct xl__reduction_writer *r)
{
    xl__emit_line(&r->m, ", const IDX each");
}

/* The kernel expr_rows: for each sweep row values, sweep, join, results. */
static void write_kernel(struct xl__reduction_writer *r)
{
    const unsigned n = r->group->n_sweeps;
    xl__rows_write_head(r, "Rows, whole");
    xl__rows_open_kernel(r, "expr_rows",
                         r->group->geo.per_wg ? write_rows_param : NULL);
    xl__rows_write_local(r);
    write_row_start(r);
    write_held_arrays(r);
    for (unsigned s = 0; s < n; s++) {
        xl__row_values_write(r, s);
        xl__rows_write_sweep(r, s);
        xl__rows_write_join(r, s);
        xl__row_results_write(r, s);
    }
    xl__row_values_write(r, n);
    write_row_end(r);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* -- launch --------------------------------------------------------------- */

/* Do an item's loops have more iterations than the device executes (GE-24)? */
static bool exceeds_loop_limit(const struct xl__limits *l,
                               const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const double rows = geo->per_wg ? (double)geo->per_wg : 1;
    const double iterations = (double)xl__row_vectors(group) *
                              group->n_sweeps /
                              ((double)geo->lanes * geo->unroll);
    /* No known limit is NaN: the comparison is false. */
    return !geo->held &&
           rows * iterations > xl__num(l, XL__F_max_loop_turns) / 2;
}

xl_status xl__rows_plan(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__group *group,
                        const struct xl__schedule *s, struct xl__code *code,
                        struct xl__plan *plan)
{
    struct xl__reduction_writer r = {0};
    struct xl__str *text = &code->text[plan->n_steps];
    struct xl__step *step = &plan->step[plan->n_steps];
    const size_t rows = xl__kept_elems(group);
    xl_status st = exceeds_loop_limit(l, group)
                       ? XL_UNSUPPORTED
                       : xl__reduction_init(&r, g, l, group, text);
    if (st == XL_OK)
        st = xl__reduction_check(&r, 1, xl__rows_local_bytes(&r));
    if (st == XL_OK) {
        write_kernel(&r);
        st = text->broken ? XL_NO_MEMORY : XL_OK;
    }
    if (st == XL_OK) {
        const struct xl__geometry *geo = &group->geo;
        const size_t each = geo->per_wg ? geo->per_wg : geo->wg / geo->lanes;
        xl__reduction_set_step(&r, s, step, "expr_rows",
                               xl__ceil_div(rows, each));
        step->local_mem_bytes = xl__rows_local_bytes(&r);
        if (geo->per_wg)
            xl__reduction_arg_index(&r, step, each);
        plan->n_steps++;
    }
    xl__reduction_clear(&r);
    return st;
}
