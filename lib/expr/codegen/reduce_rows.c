/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a sweep along rows, for rows that stay whole and for pieces of
 * them: `lanes` items take vectors in turns, then single elements that fill no
 * vector, and join their states through local memory.
 *
 * Names in the text: `lane`; vectors [first, end) and elements [first_one,
 * end_one) that are the items' together; per_line and left: vectors of the
 * last loop and elements beyond them. */
#include "expr/codegen/reduce_rows.h"

#include <stdio.h>

enum {
    GATHERED = 8,      /* states that every item gathers at the end; more of
                          them cost a wide group more than a barrier does */
    MOST_AT_ONCE = 16, /* that some items gather for the others */
    SINGLES = 4,       /* elements of a turn, as many as a fold takes */
    FIRST_WORDS = 64,  /* that an item asks for before it waits, in the sweep */
    LATER_WORDS = 32   /* that reads the row and in those after it */
};

/* -- head ------------------------------------------------------------------ */

void xl__rows_head(struct xl__reducing *r, const char *what)
{
    xl__emit_head(&r->m, what);
    xl__emit_line(&r->m, "#include \"expr/reduce.clh\"");
    xl__reduce_kinds(r, "XL_UP_TO_$w($k)", r->m.vw);
    if (r->group->geo.lanes > 1)
        xl__reduce_kinds(r, "XL_GATHER($k, 1, __local, gather)", 1);
}

void xl__rows_kernel(struct xl__reducing *r, const char *name,
                     void (*more)(struct xl__reducing *))
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

void xl__rows_counts(struct xl__reducing *r, const char *is_there)
{
    const unsigned last = r->group->n_loops - 1, vw = r->group->geo.vw;
    xl__emit_line(&r->m, "const IDX per_line = n%u / %u, left = n%u %% %u;",
                  last, vw, last, vw);
    xl__emit_indent(&r->m);
    xl__str_printf(r->m.out, "const IDX lines = %s", is_there);
    xl__reduce_sizes(r, r->n_kept, last);
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
static unsigned fewer(unsigned n)
{
    return n > GATHERED * MOST_AT_ONCE ? n / GATHERED : GATHERED;
}

/* States that a row's items write on their way to one. */
static unsigned room_of_row(const struct xl__geometry *geo)
{
    unsigned n = geo->lanes, room = n;
    for (; n > GATHERED; room += n)
        n = fewer(n);
    return room;
}

void xl__rows_local(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (geo->lanes > 1)
        xl__reduce_each(r, XL__ALL_SWEEPS, "__local $f_1 room$s[$w];",
                        geo->wg / geo->lanes * room_of_row(geo));
}

size_t xl__rows_local_bytes(const struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    size_t words = 0;
    for (unsigned i = 0; i < r->n_states; i++)
        words += r->state[i].acc->words;
    return geo->lanes > 1 ? geo->wg / geo->lanes * room_of_row(geo) * words *
                                sizeof(float)
                          : 0;
}

/* Of n states from `from` on, m are left behind them. */
static void gather_some(struct xl__reducing *r, unsigned s, unsigned from,
                        unsigned n, unsigned m)
{
    char rule[160];
    xl__emit_line(&r->m, "if (lane < %u) {", m);
    r->m.indent++;
    snprintf(rule, sizeof rule,
             "own$s[%u + lane] = $f_gather_1(own$s + %u + lane, %u, %u);",
             from + n, from, n / m, m);
    xl__reduce_each(r, s, rule, 1);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    xl__emit_line(&r->m, "barrier(CLK_LOCAL_MEM_FENCE);");
}

/* Every item of the group comes here. */
void xl__rows_join(struct xl__reducing *r, unsigned s)
{
    const struct xl__geometry *geo = &r->group->geo;
    unsigned from = 0, n = geo->lanes;
    char rule[160];
    if (n == 1 || !xl__reduce_has_states(r, s))
        return;
    snprintf(rule, sizeof rule,
             "__local $f_1 *own$s = room$s + item / %u * %u;", n,
             room_of_row(geo));
    xl__reduce_each(r, s, rule, 1);
    xl__reduce_each(r, s, "own$s[lane] = r$s;", 1);
    xl__emit_line(&r->m, "barrier(CLK_LOCAL_MEM_FENCE);");
    while (n > GATHERED) {
        const unsigned m = fewer(n);
        gather_some(r, s, from, n, m);
        from += n;
        n = m;
    }
    snprintf(rule, sizeof rule, "r$s = $f_gather_1(own$s + %u, %u, 1);", from,
             n);
    xl__reduce_each(r, s, rule, 1);
}

/* -- sweeps ---------------------------------------------------------------- */

/* Where the vectors of a turn lie. */
struct walk {
    const char *from;  /* the number of the first: a variable */
    bool is_single;    /* elements beyond the vectors */
};

static void place(struct xl__reducing *r, const char *u, const void *arg)
{
    const struct walk *w = arg;
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
    xl__reduce_indices(r, r->n_kept, last, "line");
    xl__emit_places(&r->m, r->n_kept, last);
}

static struct xl__turn turn_of(struct xl__reducing *r, unsigned s, unsigned n,
                               const struct walk *w, char *number)
{
    struct xl__turn t = {.sweep = s, .n = n, .into = 'a', .number = "at",
                         .place = place, .arg = w};
    if (r->n_reduced > 1) {
        snprintf(number, 32, "line * n%u + at", r->group->n_loops - 1);
        t.number = number;
    }
    return t;
}

/* Turns of n vectors as long as there are so many, and one of what is left. */
static void walk(struct xl__reducing *r, unsigned s)
{
    const unsigned lanes = r->group->geo.lanes, n = r->group->geo.unroll;
    char number[32];
    const struct walk w = {"t", false};
    struct xl__turn t = turn_of(r, s, n, &w, number);
    xl__emit_line(&r->m, "IDX t = first + lane;");
    xl__emit_line(&r->m, "for (; t + %u < end; t += %u) {", (n - 1) * lanes,
                  n * lanes);
    r->m.indent++;
    xl__reduce_turn(r, &t);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    if (n == 1)
        return;
    t.mine = "mine";
    t.n = n - 1;
    xl__emit_line(&r->m, "if (t < end) {");
    r->m.indent++;
    xl__emit_line(&r->m, "const uint mine = (uint)((end - t + %u) / %u);",
                  lanes - 1, lanes);
    xl__reduce_turn(r, &t);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* Vectors that a held sweep loads before it uses them: all where they are what
 * is held, else few, for the registers they take. */
static unsigned block_of(const struct xl__reducing *r, unsigned s)
{
    const unsigned loads = xl__reduce_loads(r, s), held = r->group->geo.held;
    const unsigned words = loads * r->m.vw;
    if (loads == 0 || (s == 0 && loads == 1))
        return 0;
    unsigned n = (s == 0 ? FIRST_WORDS : LATER_WORDS) / words;
    n = n > XL__FOLDED ? XL__FOLDED : n > 0 ? n : 1;
    return n < held ? n : 0;
}

static void walk_held(struct xl__reducing *r, unsigned s)
{
    char number[32];
    const struct walk w = {"lane", false};
    struct xl__turn t = turn_of(r, s, r->group->geo.held, &w, number);
    t.mine = "mine";
    t.block = block_of(r, s);
    xl__reduce_turn(r, &t);
}

/* Elements that fill no vector, read anew in every sweep. */
static void singles(struct xl__reducing *r, unsigned s)
{
    const unsigned lanes = r->group->geo.lanes, n = SINGLES;
    char number[32];
    const struct walk w = {"t", true};
    struct xl__turn t = turn_of(r, s, n, &w, number);
    t.into = 'r';
    t.mine = "mine";
    r->m.vw = 1;
    r->is_single = true;
    xl__reduce_need(r, s);
    xl__emit_line(&r->m, "for (IDX t = first_one + lane; t < end_one; "
                         "t += %u) {", n * lanes);
    r->m.indent++;
    xl__emit_line(&r->m,
                  "const uint mine = (uint)min((end_one - t + %u) / %u, "
                  "(IDX)%u);", lanes - 1, lanes, n);
    xl__reduce_turn(r, &t);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    r->is_single = false;
    r->m.vw = r->group->geo.vw;
}

void xl__rows_sweep(struct xl__reducing *r, unsigned s)
{
    const struct xl__geometry *geo = &r->group->geo;
    if (xl__reduce_is_idle(r, s))
        return;
    xl__str_add(r->m.out, "\n");
    xl__reduce_each(r, s, "$f_$w a$s = $f_none_$w();", geo->vw);
    xl__reduce_need(r, s);
    xl__emit_line(&r->m, "{");
    r->m.indent++;
    if (geo->held) {
        walk_held(r, s);
    } else {
        walk(r, s);
    }
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    xl__reduce_each(r, s, "$f_1 r$s = $f_close_$w(a$s);", geo->vw);
    if (geo->vw > 1)
        singles(r, s);
}
