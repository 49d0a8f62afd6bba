/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a sweep along rows, for rows that stay whole and for pieces of
 * them: `lanes` items take vectors in turns, then single elements that fill no
 * vector, and join their states through local memory.
 *
 * Names in the text: `lane`; vectors [first, end) and elements [first_one,
 * end_one) that are the items' together; per_line and left: vectors of the
 * last loop and elements beyond them. */
/* Rows that stay whole: each by `lanes` items of a work-group, in as many
 * sweeps as its reductions depend on each other. A row that fits into its
 * items' registers is read once. On CPUs an item takes several rows, one after
 * the other. */
#include "expr/codegen/row_reduction.h"

#include <stdio.h>

#include "base/alloc.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/sweep_step.h"

enum {
    GATHERED = 8,      /* states that every item gathers at the end; more of
                          them cost a wide group more than a barrier does */
    MAX_AT_ONCE = 16, /* that some items gather for the others */
    SINGLES = 4,       /* elements of a turn, as many as a fold takes */
    FIRST_WORDS = 64,  /* that an item asks for before it waits, in the sweep */
    LATER_WORDS = 32   /* that reads the row and in those after it */
};

/* -- head ------------------------------------------------------------------ */

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

void xl__rows_write_counts(struct xl__reduction_writer *r, const char *is_there)
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

/* -- lanes ----------------------------------------------------------------- */

/* Of n states, how many are left when some items gathered for the others. */
static unsigned next_level(unsigned n)
{
    return n > GATHERED * MAX_AT_ONCE ? n / GATHERED : GATHERED;
}

/* States that a row's items write on their way to one. */
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

/* Of n states from `from` on, m are left behind them. */
static void write_gather(struct xl__reduction_writer *r, unsigned s, unsigned from,
                        unsigned n, unsigned m)
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

/* Every item of the group comes here. */
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

/* -- sweeps ---------------------------------------------------------------- */

/* Where the vectors of a turn lie. */
struct vector_source {
    const char *from;  /* the number of the first: a variable */
    bool is_single;    /* elements beyond the vectors */
};

static void write_vector_position(struct xl__reduction_writer *r, const char *u, const void *arg)
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
        xl__emit_line(&r->m,
                      "const IDX at = (number - line * per_line) * %u;", vw);
    xl__loop_indices_write(r, r->n_kept, last, "line");
    xl__emit_indices(&r->m, r->n_kept, last);
}

static struct xl__sweep_step init_step(struct xl__reduction_writer *r, unsigned s, unsigned n,
                               const struct vector_source *w, char *number)
{
    struct xl__sweep_step t = {.sweep = s, .n = n, .state_prefix = 'a', .first_index = "at",
                         .write_position = write_vector_position, .arg = w};
    if (r->n_reduced > 1) {
        snprintf(number, 32, "line * n%u + at", r->group->n_loops - 1);
        t.first_index = number;
    }
    return t;
}

/* Turns of n vectors as long as there are so many, and one of what is left. */
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

/* Vectors that a held sweep loads before it uses them: all where they are what
 * is held, else few, for the registers they take. */
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

static void write_held_step(struct xl__reduction_writer *r, unsigned s)
{
    char number[32];
    const struct vector_source w = {"lane", false};
    struct xl__sweep_step t = init_step(r, s, r->group->geo.held, &w, number);
    t.limit = "mine";
    t.block = choose_block(r, s);
    xl__sweep_write_step(r, &t);
}

/* Elements that fill no vector, read anew in every sweep. */
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
    xl__emit_line(&r->m, "for (IDX t = first_one + lane; t < end_one; "
                         "t += %u) {", n * lanes);
    r->m.indent++;
    xl__emit_line(&r->m,
                  "const uint mine = (uint)min((end_one - t + %u) / %u, "
                  "(IDX)%u);", lanes - 1, lanes, n);
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
    HELD_WORDS = 48,      /* an item should hold (NV-25), */
    HELD_ONCE_WORDS = 24, /* where nothing is read twice, */
    HELD_NARROW_WORDS = 32, /* and of types below 4 bytes */
    MAX_HELD_WORDS = 64,
    MIN_WG = 128,       /* smaller groups leave too few resident */
    MAX_LANES = 512,     /* larger ones have little else to do (NV-25) */
    SWEEP_LANES = 256,    /* of rows that do not fit */
    SIDE_BY_SIDE = 8,     /* items that read a row together at least, */
    MIN_ELEMS = 4,      /* unless that is less than these for each */
    GROUPS_PER_UNIT = 64, /* of a CPU */
    GROUP_BYTES = 1 << 17 /* of memory traffic that an item takes in a go */
};

/* -- geometry -------------------------------------------------------------- */

static void choose_cpu_rows(const struct xl__limits *l, struct xl__group *group)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t rows = xl__kept_elems(group);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = GROUPS_PER_UNIT * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    group->geo.wg = group->geo.lanes = 1;
    group->geo.turns = xl__ceil_div(rows, n);
}

/* Bytes of an element of what is read, where types are wide. */
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

/* Items that hold a row of so many words. Those of narrow types hold fewer
 * each, since as many words are fewer bytes on their way; half a group takes
 * part before an item holds more than a few. */
static size_t lanes_to_hold(const struct xl__group *group, size_t words)
{
    const size_t each =
        group->n_sweeps > 1 ? HELD_WORDS : HELD_ONCE_WORDS;
    if (widest_bytes(group) >= sizeof(float))
        return xl__ceil_div(words, each);
    return xl__max_size(
        xl__ceil_div(words, HELD_NARROW_WORDS),
        xl__min_size(MIN_WG, xl__ceil_div(words, HELD_NARROW_WORDS / 2)));
}

/* As few items to a row as can hold it, since each join costs all of them the
 * same; but enough to read side by side. */
static void choose_gpu_lanes(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const size_t words = xl__max_size(xl__held_values(g, group), 1);
    const size_t most = xl__max_wg_for_states(l, xl__state_words(g, group));
    const size_t vectors = xl__row_vectors(group);
    const size_t lanes = xl__pow2_up(xl__max_size(
        xl__min_size(SIDE_BY_SIDE,
                     xl__ceil_div(vectors * geo->vw, MIN_ELEMS)),
        lanes_to_hold(group, vectors * geo->vw * words)));
    geo->lanes = (unsigned)xl__min_size(lanes, xl__min_size(MAX_LANES, most));
    const size_t held = xl__ceil_div(vectors, geo->lanes);
    if (held * geo->vw * words <= MAX_HELD_WORDS)
        geo->held = (unsigned)held;
    else
        geo->lanes = (unsigned)xl__min_size(SWEEP_LANES, most);
    geo->wg = (unsigned)xl__max_size(geo->lanes,
                                     xl__min_size(MIN_WG, most));
}

void xl__rows_geometry(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    struct xl__geometry *geo = &group->geo;
    *geo = (struct xl__geometry){
        .vw = (unsigned)xl__reduction_vw(l, group),
        .is_wide = xl__emit_is_wide(group)};
    geo->unroll = xl__reduction_unroll(l, group);
    if (xl__is_vector_cpu(l))
        choose_cpu_rows(l, group);
    else
        choose_gpu_lanes(g, l, group);
    const size_t each = geo->turns ? geo->turns : geo->wg / geo->lanes;
    const double fill =
        (double)xl__ceil_div(xl__kept_elems(group), each) / units;
    xl__group_estimate(l, fill < 1 ? fill : 1, 1, group);
    if (geo->turns)
        xl__str_printf(&group->why, "vectors of %u, %zu rows an item",
                       geo->vw, geo->turns);
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

/* -- text ------------------------------------------------------------------ */

/* Which row: by the item on GPUs, where items past the last one have nothing
 * to do but come to the barriers; by a loop on CPUs. */
static void write_row_start(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX rows = ");
    xl__loop_sizes_write(r, 0, r->n_kept);
    xl__str_add(r->m.out, ";\n");
    if (geo->turns) {
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
    xl__rows_write_counts(r, geo->turns ? "" : "own >= rows ? 0 : ");
    xl__emit_line(&r->m, "const IDX first = 0, end = lines * per_line;");
    xl__emit_line(&r->m, "const IDX first_one = 0, end_one = lines * left;");
}

static void write_held_arrays(struct xl__reduction_writer *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (!geo->held)
        return;
    xl__emit_line(&r->m,
                  "const uint mine = (uint)((end + %u - lane) / %u);",
                  geo->lanes - 1, geo->lanes);
    xl__sweep_hold_values(r);
    xl__sweep_declare_held(r, geo->held);
}

static void write_row_end(struct xl__reduction_writer *r)
{
    const bool is_loop = r->group->geo.turns > 0;
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

static void write_kernel(struct xl__reduction_writer *r)
{
    const unsigned n = r->group->n_sweeps;
    xl__rows_write_head(r, "Rows, whole");
    xl__rows_open_kernel(r, "expr_rows",
                    r->group->geo.turns ? write_rows_param : NULL);
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

/* -- launch ---------------------------------------------------------------- */

/* Would the device end an item's loops before the row does (GE-24)? */
static bool exceeds_loop_limit(const struct xl__limits *l,
                         const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const double rows = geo->turns ? (double)geo->turns : 1;
    const double turns = (double)xl__row_vectors(group) * group->n_sweeps /
                         ((double)geo->lanes * geo->unroll);
    /* False as well where no bound is known. */
    return !geo->held && rows * turns > xl__num(l, XL__F_max_loop_turns) / 2;
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
        const size_t each = geo->turns ? geo->turns : geo->wg / geo->lanes;
        xl__reduction_set_step(&r, s, step, "expr_rows", xl__ceil_div(rows, each));
        step->local_mem_bytes = xl__rows_local_bytes(&r);
        if (geo->turns)
            xl__reduction_arg_index(&r, step, each);
        plan->n_steps++;
    }
    xl__reduction_clear(&r);
    return st;
}
