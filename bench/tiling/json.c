/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report to the result file, and reads it back to draw it: figures,
 * and unit and times of each piece as three lists. A result file may come from
 * anywhere: inconsistent values are rejected. */
#include "tiling/json.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "results/json.h"
#include "tiling/measurement.h"

/* The tiling of the launch. */
static json_t *tiles_json(const xl_tiling *t)
{
    json_t *out = json_object();
    const struct {
        const char *name;
        size_t value;
    } members[] = {
        {"m", t->m},
        {"n", t->n},
        {"rows", t->rows},
        {"cols", t->cols},
        {"tiles_m", t->tiles_m},
        {"tiles_n", t->tiles_n},
        {"products", t->count},
        {"band", t->band},
        {"whole", t->whole},
        {"sharers", t->sharers},
        {"groups", t->groups},
        {"wg_items", t->wg_items},
        {"local_mem_bytes", t->local_mem_bytes},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_put(out, members[i].name, json_uint(members[i].value));
    json_put(out, "turned", json_boolean(t->is_swapped));
    json_put(out, "is_even", json_boolean(t->is_even));
    return out;
}

static json_t *load_json(const struct tiling_load *l)
{
    json_t *out = json_object();
    json_put(out, "units_used", json_uint(l->used));
    json_put(out, "pieces_least", json_uint(l->least));
    json_put(out, "pieces_most", json_uint(l->most));
    json_put(out, "beside", json_uint(l->concurrent));
    json_put(out, "busy", json_number(l->busy));
    json_put(out, "busy_least", json_number(l->busy_least));
    json_put(out, "busy_most", json_number(l->busy_most));
    json_put(out, "tail", json_number(l->tail));
    json_put(out, "imbalance", json_number(l->imbalance));
    return out;
}

/* A record: units, load, and three lists with unit, start and end of each
 * piece. NULL: none. */
static json_t *record_json(const struct tiling_record *r,
                           const struct tiling_load *load)
{
    json_t *out = json_object(), *unit = json_array();
    json_t *start = json_array(), *end = json_array();
    if (r->n == 0) {
        json_decref(out);
        json_decref(unit);
        json_decref(start);
        json_decref(end);
        return NULL;
    }
    for (size_t i = 0; i < r->n; i++) {
        json_add(unit, json_uint(r->piece[i].unit));
        json_add(start, json_number(r->piece[i].start_ns));
        json_add(end, json_number(r->piece[i].end_ns));
    }
    json_put(out, "units", json_uint(r->units));
    json_put(out, "total_ns", json_number(r->total_ns));
    json_put(out, "load", load_json(load));
    json_put(out, "unit", unit);
    json_put(out, "start_ns", start);
    json_put(out, "end_ns", end);
    return out;
}

static json_t *point_json(const struct sawtooth *s, size_t size)
{
    const struct sawtooth_point p = sawtooth_at(s, size);
    json_t *out = json_object();
    json_put(out, "size", json_uint(p.size));
    json_put(out, "tiles", json_number(p.tiles));
    json_put(out, "waves", json_number(p.waves));
    json_put(out, "fill", json_number(p.fill));
    json_put(out, "area", json_number(p.area));
    json_put(out, "share", json_number(p.share));
    return out;
}

/* The least and largest share in each column of the chart, since teeth are
 * narrower than columns. */
static json_t *chart_json(const struct tiling_report *p)
{
    enum { COLUMNS = 128 };
    const size_t sizes = p->range.to - p->range.from + 1;
    const unsigned n = (unsigned)xl__min_size(sizes, COLUMNS);
    json_t *out = json_object(), *least = json_array(), *most = json_array();
    for (unsigned i = 0; i < n; i++) {
        const struct sawtooth_span s =
            sawtooth_span(&p->saw, p->range, i, n);
        json_add(least, json_number(s.least));
        json_add(most, json_number(s.most));
    }
    json_put(out, "from", json_uint(p->range.from));
    json_put(out, "to", json_uint(p->range.to));
    json_put(out, "grows_m", json_boolean(p->saw.grows_m));
    json_put(out, "grows_n", json_boolean(p->saw.grows_n));
    json_put(out, "places", json_number(p->saw.slots));
    json_put(out, "least", least);
    json_put(out, "most", most);
    return out;
}

static json_t *rate_json(const struct tiling_rate *r)
{
    json_t *out = json_object();
    json_put(out, "size", json_uint(r->size));
    json_put(out, "rows", json_uint(r->rows));
    json_put(out, "cols", json_uint(r->cols));
    json_put(out, "ns", json_number(r->ns));
    json_put(out, "flop_per_s", json_number(r->flop_per_s));
    return out;
}

json_t *tiling_json(const struct tiling_report *p)
{
    json_t *out = json_object(), *saw = json_array(), *rates = json_array();
    const bool is_measured = p->measured.n > 0;
    json_put(out, "what", json_text(p->title));
    json_put(out, "where", json_text(p->where));
    json_put(out, "variant", json_text(*p->variant ? p->variant : NULL));
    json_put(out, "units", json_uint(p->units));
    json_put(out, "beside", json_uint(p->concurrent));
    json_put(out, "op_ns", json_number(p->op_ns));
    json_put(out, "tiling", tiles_json(&p->tiling));
    json_put(out, "model", record_json(&p->model, &p->model_load));
    json_put(out, "measured",
             record_json(&p->measured, &p->measured_load));
    json_put(out, "unit_is_thread",
             is_measured ? json_boolean(p->watched.is_thread) : NULL);
    json_put(out, "scaling",
             is_measured ? json_number(p->watched.scaling) : NULL);
    json_put(out, "not_measured", json_text(*p->why_not ? p->why_not : NULL));
    for (size_t size = p->size; size > 0 && size <= p->size + 1; size++)
        json_add(saw, point_json(&p->saw, size));
    json_put(out, "sawtooth", saw);
    json_put(out, "sawtooth_chart", p->size > 0 ? chart_json(p) : NULL);
    for (size_t i = 0; i < p->n_rates; i++)
        json_add(rates, rate_json(&p->rate[i]));
    json_put(out, "rates", rates);
    return out;
}

/* -- reading -------------------------------------------------------------- */

enum {
    MOST_PIECES = 1 << 20,
    MOST_UNITS = 1 << 16,
    MOST_SIZES = 1 << 20 /* of the sawtooth and of a sweep */
};
static const double most_elems = 1e9, most_ns = 1e18;
/* tolerance of rounded totals */
static const double slack = 1.001;

/* Reads an integer from least to most. */
static bool read_size(const json_t *in, const char *name, double least,
                      double most, size_t *out)
{
    const json_t *value = json_object_get(in, name);
    const double x = json_is_integer(value) ? json_number_value(value) : -1;
    *out = x >= least && x <= most ? (size_t)x : 0;
    return x >= least && x <= most;
}

static double read_number(const json_t *in, const char *name)
{
    const json_t *value = json_object_get(in, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Reads and checks a tiling: the numbers of pieces must be consistent and
 * limited. */
static bool read_tiling(const json_t *in, xl_tiling *out)
{
    const struct {
        const char *name;
        double least;
        size_t *value;
    } members[] = {
        {"m", 0, &out->m},
        {"n", 0, &out->n},
        {"rows", 0, &out->rows},
        {"cols", 0, &out->cols},
        {"tiles_m", 0, &out->tiles_m},
        {"tiles_n", 0, &out->tiles_n},
        {"products", 0, &out->count},
        {"band", 0, &out->band},
        {"whole", 0, &out->whole},
        {"sharers", 0, &out->sharers},
        {"groups", 1, &out->groups},
        {"wg_items", 0, &out->wg_items},
        {"local_mem_bytes", 0, &out->local_mem_bytes},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!read_size(in, members[i].name, members[i].least, most_elems,
                       members[i].value))
            return false;
    out->is_swapped = json_is_true(json_object_get(in, "turned"));
    out->is_even = json_is_true(json_object_get(in, "is_even"));
    const double tiles = (double)out->tiles_m * (double)out->tiles_n *
                         (double)out->count;
    if (tiling_n_pieces(out) == 0 || tiling_n_pieces(out) > MOST_PIECES)
        return false;
    if (!tiling_has_map(out))
        return true;
    return tiles >= 1 && tiles <= MOST_PIECES && out->band > 0 &&
           out->cols > 0 && out->m > 0 && out->n > 0 &&
           (double)out->whole <= tiles &&
           ((double)out->whole == tiles) == (out->sharers == 0);
}

/* Reads a piece from the three lists; without times if the units have no
 * common clock. */
static bool read_piece(const json_t *lists[3], size_t i,
                       const struct tiling_record *r, xl_piece_record *out)
{
    const json_t *unit = json_array_get(lists[0], i);
    const json_t *start = json_array_get(lists[1], i);
    const json_t *end = json_array_get(lists[2], i);
    if (!json_is_integer(unit) || json_integer_value(unit) < 0 ||
        json_integer_value(unit) >= (json_int_t)r->units)
        return false;
    out->unit = (unsigned)json_integer_value(unit);
    out->start_ns = json_is_number(start) ? json_number_value(start)
                                          : (double)NAN;
    out->end_ns = json_is_number(end) ? json_number_value(end) : (double)NAN;
    if (!r->has_clock)
        return true;
    return out->start_ns >= 0 && out->start_ns <= out->end_ns &&
           out->end_ns <= r->total_ns * slack;
}

/* Reads and checks a record; it must have the pieces of the tiling. */
static bool read_record(const json_t *in, const xl_tiling *t,
                        struct tiling_record *out)
{
    const json_t *lists[3] = {json_object_get(in, "unit"),
                              json_object_get(in, "start_ns"),
                              json_object_get(in, "end_ns")};
    size_t units = 0;
    const size_t n = json_array_size(lists[0]);
    *out = (struct tiling_record){.n = n};
    if (!read_size(in, "units", 1, MOST_UNITS, &units) || n == 0 ||
        n != tiling_n_pieces(t) || json_array_size(lists[1]) != n ||
        json_array_size(lists[2]) != n)
        return false;
    out->units = (unsigned)units;
    out->total_ns = read_number(in, "total_ns");
    out->has_clock = json_is_number(json_array_get(lists[1], 0)) &&
                     out->total_ns > 0 && out->total_ns <= most_ns;
    out->piece = xl__calloc(n, sizeof *out->piece);
    for (size_t i = 0; i < n; i++)
        if (!out->piece || !read_piece(lists, i, out, &out->piece[i]))
            return false;
    return true;
}

/* Reads the sawtooth, if the report has one. */
static void read_saw(const json_t *json, struct tiling_report *p)
{
    const json_t *chart = json_object_get(json, "sawtooth_chart");
    const json_t *points = json_object_get(json, "sawtooth");
    const xl_tiling *t = &p->tiling;
    struct sawtooth_range r;
    size_t size;
    if (!read_size(chart, "from", 1, most_elems, &r.from) ||
        !read_size(chart, "to", (double)r.from, most_elems, &r.to) ||
        r.to - r.from > MOST_SIZES ||
        !read_size(json_array_get(points, 0), "size", (double)r.from,
                   (double)r.to, &size) ||
        !tiling_has_map(t) || t->cols == 0)
        return;
    p->saw = (struct sawtooth){
        .m = t->m,
        .n = t->n,
        .grows_m = json_is_true(json_object_get(chart, "grows_m")),
        .grows_n = json_is_true(json_object_get(chart, "grows_n")),
        .rows = t->rows,
        .cols = t->cols,
        .count = t->count,
        .slots = read_number(chart, "places")};
    if (!(p->saw.slots >= 1 && p->saw.slots <= most_elems) ||
        (!p->saw.grows_m && !p->saw.grows_n))
        return;
    p->range = r;
    p->size = size;
}

/* Reads the rates of a sweep; sizes outside the chart are skipped. */
static bool read_rates(const json_t *json, struct tiling_report *p)
{
    const json_t *list = json_object_get(json, "rates");
    const size_t n = json_array_size(list);
    if (n == 0 || n > MOST_SIZES)
        return true;
    p->rate = xl__calloc(n, sizeof *p->rate);
    if (!p->rate)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *in = json_array_get(list, i);
        struct tiling_rate r = {.ns = read_number(in, "ns"),
                                .flop_per_s = read_number(in, "flop_per_s")};
        if (read_size(in, "size", (double)p->range.from, (double)p->range.to,
                      &r.size) &&
            read_size(in, "rows", 0, most_elems, &r.rows) &&
            read_size(in, "cols", 0, most_elems, &r.cols) &&
            r.flop_per_s > 0 && isfinite(r.flop_per_s))
            p->rate[p->n_rates++] = r;
    }
    return true;
}

static bool read_page(const json_t *json, struct tiling_report *p)
{
    const json_t *measured = json_object_get(json, "measured");
    size_t units, concurrent;
    xl__strcpy(p->title, sizeof p->title, json_text_at(json, "what"));
    xl__strcpy(p->where, sizeof p->where, json_text_at(json, "where"));
    xl__strcpy(p->variant, sizeof p->variant, json_text_at(json, "variant"));
    xl__strcpy(p->why_not, sizeof p->why_not,
               json_text_at(json, "not_measured"));
    p->op_ns = read_number(json, "op_ns");
    if (!read_size(json, "units", 1, MOST_UNITS, &units) ||
        !read_size(json, "beside", 1, MOST_UNITS, &concurrent) ||
        !read_tiling(json_object_get(json, "tiling"), &p->tiling) ||
        !read_record(json_object_get(json, "model"), &p->tiling, &p->model) ||
        !tiling_load_of(&p->model, &p->model_load, NULL))
        return false;
    p->units = (unsigned)units;
    p->concurrent = (unsigned)concurrent;
    if (json_is_object(measured) &&
        (!read_record(measured, &p->tiling, &p->measured) ||
         !tiling_load_of(&p->measured, &p->measured_load, NULL)))
        return false;
    p->watched = (xl_watched){
        .n_units = p->measured_load.used,
        .has_clock = p->measured.has_clock,
        .is_thread = json_is_true(json_object_get(json, "unit_is_thread")),
        .total_ns = p->measured.total_ns,
        .scaling = read_number(json, "scaling")};
    read_saw(json, p);
    return p->size == 0 || read_rates(json, p);
}

bool tiling_read_json(const json_t *json, struct tiling_report *out)
{
    *out = (struct tiling_report){.size = 0};
    if (read_page(json, out))
        return true;
    tiling_report_clear(out);
    return false;
}
