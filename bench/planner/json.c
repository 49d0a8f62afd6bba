/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a plan to JSON for the result file. Each member name has its unit
 * (bytes, s, flop) or is a count (tokens, sequences, weights). */
#include "planner/json.h"

#include <math.h>

#include "planner/output.h"
#include "results/json.h"

struct member {
    const char *name;
    double value;
};

static json_t *numbers_json(const struct member *list, size_t n)
{
    json_t *out = json_object();
    for (size_t i = 0; i < n; i++)
        json_put(out, list[i].name, json_number(list[i].value));
    return out;
}

#define NUMBERS(...)                                                          \
    numbers_json((const struct member[]){__VA_ARGS__},                        \
                 sizeof((const struct member[]){__VA_ARGS__}) /               \
                     sizeof(struct member))

static json_t *type_json(const struct planner_type *t)
{
    json_t *out = json_object();
    json_put(out, "type", json_text(t->name));
    json_put(out, "bits", json_number(t->bits));
    return out;
}

static json_t *model_json(const struct planner *p)
{
    const struct planner_model *m = &p->workload.model;
    json_t *out = NUMBERS({"params", m->params}, {"active", m->active},
                          {"looked_up", m->looked_up},
                          {"experts", m->experts}, {"used", m->used},
                          {"layers", m->layers}, {"kv_heads", m->kv_heads},
                          {"head_dim", m->head_dim},
                          {"window_layers", m->window_layers},
                          {"window", m->window}, {"hidden", m->hidden},
                          {"inner", m->inner}, {"queries", m->queries},
                          {"vocab", m->vocab},
                          {"most_context", m->most_context});
    json_put(out, "name", json_text(*p->model ? p->model : NULL));
    json_put(out, "source", json_text(p->source));
    json_put(out, "widths_guessed", json_boolean(p->is_guessed));
    return out;
}

static json_t *memory_json(const struct planner *p)
{
    const struct planner_workload *w = &p->workload;
    return NUMBERS({"weight_bytes", planner_weight_bytes(w)},
                   {"token_bytes", planner_token_bytes(w)},
                   {"sequence_bytes", planner_cache_bytes(w)},
                   {"cache_bytes", w->batch * planner_cache_bytes(w)},
                   {"activation_bytes", planner_activation_bytes(w)},
                   {"total_bytes", planner_total_bytes(w)},
                   {"training_bytes", p->training
                                          ? planner_training_bytes(&w->model)
                                          : (double)NAN});
}

/* A step of decoding with a batch, and whether it fits. */
static json_t *step_json(const struct planner *p,
                         const struct planner_rates *r, double batch)
{
    struct planner_workload at = p->workload;
    at.batch = batch;
    const struct planner_step s = planner_decode(&at, r);
    const double total = planner_total_bytes(&at);
    json_t *out = NUMBERS({"batch", batch}, {"weight_bytes", s.weight_bytes},
                          {"cache_bytes", s.cache_bytes}, {"flop", s.flop},
                          {"memory_s", s.memory_s},
                          {"compute_s", s.compute_s}, {"s", s.s},
                          {"tokens_per_s", s.tokens_per_s},
                          {"intensity", s.intensity}, {"total_bytes", total});
    json_put(out, "set_by", json_text(planner_bound_name(s.by)));
    json_put(out, "fits", isnan(r->memory) ? NULL
                                           : json_boolean(total <= r->memory));
    return out;
}

/* Steps for all batches up to PLANNER_LAST_BATCH. */
static json_t *curve_json(const struct planner *p,
                          const struct planner_rates *r)
{
    json_t *out = json_array();
    for (unsigned b = 1; b <= PLANNER_LAST_BATCH; b++)
        json_add(out, step_json(p, r, b));
    return out;
}

static json_t *rate_json(const struct planner_rate *r)
{
    json_t *out = json_object();
    json_put(out, "value", json_number(r->value));
    json_put(out, "source", json_text(isnan(r->value) ? NULL : r->source));
    return out;
}

static double known_limit(double value, double memory)
{
    return isnan(memory) ? (double)NAN : value;
}

/* A device: rates, limits, prefill, decoding, curve. */
static json_t *device_json(const struct planner *p,
                           const struct planner_device *dev)
{
    const struct planner_workload *w = &p->workload;
    const struct planner_rates r = planner_device_rates(dev);
    const struct planner_prompt f = planner_prefill(w, &r);
    json_t *out = json_object();
    json_put(out, "name", json_text(dev->name));
    json_put(out, "origin", json_text(*dev->origin ? dev->origin : NULL));
    json_put(out, "device", dev->index < 0 ? NULL : json_integer(dev->index));
    json_put(out, "memory_bytes", rate_json(&dev->memory));
    json_put(out, "bandwidth_bytes_per_s", rate_json(&dev->bandwidth));
    json_put(out, "peak_flop_per_s", rate_json(&dev->peak));
    json_put(out, "link_bytes_per_s", rate_json(&dev->link));
    json_put(
        out, "most_batch",
        json_number(known_limit(planner_most_batch(w, r.memory), r.memory)));
    json_put(
        out, "most_context",
        json_number(known_limit(planner_most_context(w, r.memory), r.memory)));
    json_put(out, "compute_bound_from_batch",
             json_number(planner_compute_bound_batch(w, &r)));
    json_put(out, "load_s", json_number(planner_load_s(w, &r)));
    json_put(out, "prefill",
             NUMBERS({"tokens", w->context}, {"weight_flop", f.weight_flop},
                     {"attention_flop", f.attention_flop}, {"s", f.s}));
    json_put(out, "decode",
             isnan(r.bandwidth) ? NULL : step_json(p, &r, w->batch));
    json_put(out, "curve", isnan(r.bandwidth) ? NULL : curve_json(p, &r));
    return out;
}

json_t *planner_json(const struct planner *p)
{
    json_t *out = json_object(), *devices = json_array();
    json_put(out, "model", model_json(p));
    json_put(out, "weights", type_json(&p->weights));
    json_put(out, "kv", type_json(&p->kv));
    json_put(out, "context", json_number(p->workload.context));
    json_put(out, "batch", json_number(p->workload.batch));
    json_put(out, "memory", memory_json(p));
    for (size_t i = 0; i < p->n; i++)
        json_add(devices, device_json(p, &p->dev[i]));
    json_put(out, "devices", devices);
    return out;
}
