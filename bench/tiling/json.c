/* SPDX-License-Identifier: Apache-2.0 */
/* The page out of a result file, as split_json.c wrote it. A file comes from
 * anywhere: what does not fit together is no page. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "results/json.h"
#include "tiling/split_page.h"

enum {
    MOST_PIECES = 1 << 20,
    MOST_UNITS = 1 << 16,
    MOST_SIZES = 1 << 20 /* of the sawtooth and of a sweep */
};
static const double most_elems = 1e9, most_ns = 1e18;
/* Ends are written with as many digits as they have, totals apart. */
static const double slack = 1.001;

/* A whole number from least to most. */
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
    out->turned = json_is_true(json_object_get(in, "turned"));
    out->is_even = json_is_true(json_object_get(in, "is_even"));
    const double tiles = (double)out->tiles_m * (double)out->tiles_n *
                         (double)out->count;
    if (split_pieces(out) == 0 || split_pieces(out) > MOST_PIECES)
        return false;
    if (!split_has_map(out))
        return true;
    return tiles >= 1 && tiles <= MOST_PIECES && out->band > 0 &&
           out->cols > 0 && out->m > 0 && out->n > 0 &&
           (double)out->whole <= tiles &&
           ((double)out->whole == tiles) == (out->sharers == 0);
}

/* A piece of the three lists; without times where the units had no clock in
 * common. */
static bool read_piece(const json_t *lists[3], size_t i,
                       const struct split_record *r, xl_piece_record *out)
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

static bool read_record(const json_t *in, const xl_tiling *t,
                        struct split_record *out)
{
    const json_t *lists[3] = {json_object_get(in, "unit"),
                              json_object_get(in, "start_ns"),
                              json_object_get(in, "end_ns")};
    size_t units = 0;
    const size_t n = json_array_size(lists[0]);
    *out = (struct split_record){.n = n};
    if (!read_size(in, "units", 1, MOST_UNITS, &units) || n == 0 ||
        n != split_pieces(t) || json_array_size(lists[1]) != n ||
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

/* The sizes around the one that was split, if it has a place on a saw. */
static void read_saw(const json_t *json, struct split_page *p)
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
        !split_has_map(t) || t->cols == 0)
        return;
    p->saw = (struct sawtooth){
        .m = t->m,
        .n = t->n,
        .grows_m = json_is_true(json_object_get(chart, "grows_m")),
        .grows_n = json_is_true(json_object_get(chart, "grows_n")),
        .rows = t->rows,
        .cols = t->cols,
        .count = t->count,
        .places = read_number(chart, "places")};
    if (!(p->saw.places >= 1 && p->saw.places <= most_elems) ||
        (!p->saw.grows_m && !p->saw.grows_n))
        return;
    p->range = r;
    p->size = size;
}

/* A sweep's sizes; those outside of the picture are left out. */
static bool read_rates(const json_t *json, struct split_page *p)
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
        struct split_rate r = {.ns = read_number(in, "ns"),
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

static bool read_page(const json_t *json, struct split_page *p)
{
    const json_t *measured = json_object_get(json, "measured");
    size_t units, beside;
    xl__strcpy(p->title, sizeof p->title, json_text_at(json, "what"));
    xl__strcpy(p->where, sizeof p->where, json_text_at(json, "where"));
    xl__strcpy(p->variant, sizeof p->variant, json_text_at(json, "variant"));
    xl__strcpy(p->why_not, sizeof p->why_not,
               json_text_at(json, "not_measured"));
    p->op_ns = read_number(json, "op_ns");
    if (!read_size(json, "units", 1, MOST_UNITS, &units) ||
        !read_size(json, "beside", 1, MOST_UNITS, &beside) ||
        !read_tiling(json_object_get(json, "tiling"), &p->tiling) ||
        !read_record(json_object_get(json, "model"), &p->tiling, &p->model) ||
        !split_load_of(&p->model, &p->model_load, NULL))
        return false;
    p->units = (unsigned)units;
    p->beside = (unsigned)beside;
    if (json_is_object(measured) &&
        (!read_record(measured, &p->tiling, &p->measured) ||
         !split_load_of(&p->measured, &p->measured_load, NULL)))
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

bool split_read(const json_t *json, struct split_page *out)
{
    *out = (struct split_page){.size = 0};
    if (read_page(json, out))
        return true;
    split_page_clear(out);
    return false;
}
