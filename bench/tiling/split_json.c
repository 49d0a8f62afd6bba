/* SPDX-License-Identifier: Apache-2.0 */
/* The page for the result file: figures, and each piece's unit and time as
 * three lists. */
#include "base/alloc.h"
#include "results/json.h"
#include "tiling/split_page.h"

static json_t *tiling_json(const xl_tiling *t)
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
    json_put(out, "turned", json_boolean(t->turned));
    json_put(out, "is_even", json_boolean(t->is_even));
    return out;
}

static json_t *load_json(const struct split_load *l)
{
    json_t *out = json_object();
    json_put(out, "units_used", json_uint(l->used));
    json_put(out, "pieces_least", json_uint(l->least));
    json_put(out, "pieces_most", json_uint(l->most));
    json_put(out, "beside", json_uint(l->beside));
    json_put(out, "busy", json_number(l->busy));
    json_put(out, "busy_least", json_number(l->busy_least));
    json_put(out, "busy_most", json_number(l->busy_most));
    json_put(out, "tail", json_number(l->tail));
    json_put(out, "imbalance", json_number(l->imbalance));
    return out;
}

static json_t *record_json(const struct split_record *r,
                           const struct split_load *load)
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

/* The least and the most share in each part of the range, since teeth are
 * narrower than a picture's columns. */
static json_t *chart_json(const struct split_page *p)
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
    json_put(out, "places", json_number(p->saw.places));
    json_put(out, "least", least);
    json_put(out, "most", most);
    return out;
}

static json_t *rate_json(const struct split_rate *r)
{
    json_t *out = json_object();
    json_put(out, "size", json_uint(r->size));
    json_put(out, "rows", json_uint(r->rows));
    json_put(out, "cols", json_uint(r->cols));
    json_put(out, "ns", json_number(r->ns));
    json_put(out, "flop_per_s", json_number(r->flop_per_s));
    return out;
}

json_t *split_json(const struct split_page *p)
{
    json_t *out = json_object(), *saw = json_array(), *rates = json_array();
    const bool is_measured = p->measured.n > 0;
    json_put(out, "what", json_text(p->title));
    json_put(out, "where", json_text(p->where));
    json_put(out, "variant", json_text(*p->variant ? p->variant : NULL));
    json_put(out, "units", json_uint(p->units));
    json_put(out, "beside", json_uint(p->beside));
    json_put(out, "op_ns", json_number(p->op_ns));
    json_put(out, "tiling", tiling_json(&p->tiling));
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
