/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that stay whole: each by `lanes` items of a work-group, in as many
 * sweeps as its reductions depend on each other. A row that fits into its
 * items' registers is read once. On CPUs an item takes several rows, one after
 * the other. */
#include "base/alloc.h"
#include "expr/codegen/reduce_rows.h"
#include "expr/codegen/reduce_size.h"

enum {
    HELD_WORDS = 48,      /* an item should hold (NV-25), */
    HELD_ONCE_WORDS = 24, /* where nothing is read twice, */
    HELD_NARROW_WORDS = 32, /* and of types below 4 bytes */
    MOST_HELD_WORDS = 64,
    LEAST_WG = 128,       /* smaller groups leave too few resident */
    MOST_LANES = 512,     /* larger ones have little else to do (NV-25) */
    SWEEP_LANES = 256,    /* of rows that do not fit */
    SIDE_BY_SIDE = 8,     /* items that read a row together at least, */
    LEAST_ELEMS = 4,      /* unless that is less than these for each */
    GROUPS_PER_UNIT = 64, /* of a CPU */
    GROUP_BYTES = 1 << 17 /* of memory traffic that an item takes in a go */
};

/* -- geometry -------------------------------------------------------------- */

static void for_items(const struct xl__limits *l, struct xl__group *group)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t rows = xl__kept_elems(group);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = GROUPS_PER_UNIT * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    group->geo.wg = group->geo.lanes = 1;
    group->geo.per_wg = xl__ceil_div(rows, n);
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
static size_t holders(const struct xl__group *group, size_t words)
{
    const size_t each =
        group->n_sweeps > 1 ? HELD_WORDS : HELD_ONCE_WORDS;
    if (widest_bytes(group) >= sizeof(float))
        return xl__ceil_div(words, each);
    return xl__max_size(
        xl__ceil_div(words, HELD_NARROW_WORDS),
        xl__min_size(LEAST_WG, xl__ceil_div(words, HELD_NARROW_WORDS / 2)));
}

/* As few items to a row as can hold it, since each join costs all of them the
 * same; but enough to read side by side. */
static void for_groups(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const size_t words = xl__max_size(xl__held_values(g, group), 1);
    const size_t most = xl__most_items(l, xl__state_words(g, group));
    const size_t vectors = xl__row_vectors(group);
    const size_t lanes = xl__power_up(xl__max_size(
        xl__min_size(SIDE_BY_SIDE,
                     xl__ceil_div(vectors * geo->vw, LEAST_ELEMS)),
        holders(group, vectors * geo->vw * words)));
    geo->lanes = (unsigned)xl__min_size(lanes, xl__min_size(MOST_LANES, most));
    const size_t held = xl__ceil_div(vectors, geo->lanes);
    if (held * geo->vw * words <= MOST_HELD_WORDS)
        geo->held = (unsigned)held;
    else
        geo->lanes = (unsigned)xl__min_size(SWEEP_LANES, most);
    geo->wg = (unsigned)xl__max_size(geo->lanes,
                                     xl__min_size(LEAST_WG, most));
}

void xl__rows_geometry(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    struct xl__geometry *geo = &group->geo;
    *geo = (struct xl__geometry){
        .vw = (unsigned)xl__reduce_vector(l, group),
        .is_wide = xl__emit_is_wide(group)};
    geo->unroll = xl__reduce_unroll(l, group);
    if (xl__by_items(l))
        for_items(l, group);
    else
        for_groups(g, l, group);
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

/* -- text ------------------------------------------------------------------ */

/* Which row: by the item on GPUs, where items past the last one have nothing
 * to do but come to the barriers; by a loop on CPUs. */
static void open_row(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX rows = ");
    xl__reduce_sizes(r, 0, r->n_kept);
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
    xl__reduce_indices(r, 0, r->n_kept, "row");
    xl__emit_places(&r->m, 0, r->n_kept);
    xl__rows_counts(r, geo->per_wg ? "" : "own >= rows ? 0 : ");
    xl__emit_line(&r->m, "const IDX first = 0, end = lines * per_line;");
    xl__emit_line(&r->m, "const IDX first_one = 0, end_one = lines * left;");
}

static void open_held(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (!geo->held)
        return;
    xl__emit_line(&r->m,
                  "const uint mine = (uint)((end + %u - lane) / %u);",
                  geo->lanes - 1, geo->lanes);
    xl__reduce_hold(r);
    xl__reduce_declare_held(r, geo->held);
}

static void close_row(struct xl__reducing *r)
{
    const bool is_loop = r->group->geo.per_wg > 0;
    if (!is_loop && xl__reduce_has_row_stores(r)) {
        xl__emit_line(&r->m, "if (lane == 0 && own < rows) {");
        r->m.indent++;
    }
    xl__reduce_row_stores(r);
    if (is_loop || xl__reduce_has_row_stores(r)) {
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    }
}

static void more_params(struct xl__reducing *r)
{
    xl__emit_line(&r->m, ", const IDX each");
}

static void write(struct xl__reducing *r)
{
    const unsigned n = r->group->n_sweeps;
    xl__rows_head(r, "Rows, whole");
    xl__rows_kernel(r, "expr_rows", r->group->geo.per_wg ? more_params : NULL);
    xl__rows_local(r);
    open_row(r);
    open_held(r);
    for (unsigned s = 0; s < n; s++) {
        xl__reduce_row_values(r, s);
        xl__rows_sweep(r, s);
        xl__rows_join(r, s);
        xl__reduce_results(r, s);
    }
    xl__reduce_row_values(r, n);
    close_row(r);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* -- launch ---------------------------------------------------------------- */

/* Would the device end an item's loops before the row does (GE-24)? */
static bool is_cut_short(const struct xl__limits *l,
                         const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const double rows = geo->per_wg ? (double)geo->per_wg : 1;
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
    struct xl__reducing r = {0};
    struct xl__str *text = &code->text[plan->n_steps];
    struct xl__step *step = &plan->step[plan->n_steps];
    const size_t rows = xl__kept_elems(group);
    xl_status st = is_cut_short(l, group)
                       ? XL_UNSUPPORTED
                       : xl__reducing_init(&r, g, l, group, text);
    if (st == XL_OK)
        st = xl__reduce_fits(&r, 1, xl__rows_local_bytes(&r));
    if (st == XL_OK) {
        write(&r);
        st = text->broken ? XL_NO_MEMORY : XL_OK;
    }
    if (st == XL_OK) {
        const struct xl__geometry *geo = &group->geo;
        const size_t each = geo->per_wg ? geo->per_wg : geo->wg / geo->lanes;
        xl__reduce_step(&r, s, step, "expr_rows", xl__ceil_div(rows, each));
        step->local_mem_bytes = xl__rows_local_bytes(&r);
        if (geo->per_wg)
            xl__reduce_arg_index(&r, step, each);
        plan->n_steps++;
    }
    xl__reducing_clear(&r);
    return st;
}
