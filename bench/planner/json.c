/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for the result file. Every name says its unit: bytes, s, flop,
 * or a count of tokens, sequences, weights. */
#include "planner/json.h"

#include <math.h>

#include "planner/output.h"
#include "results/json.h"

struct member {
    const char *name;
    double value;
};

static json_t *numbers(const struct member *list, size_t n)
{
    json_t *out = json_object();
    for (size_t i = 0; i < n; i++)
        json_put(out, list[i].name, json_number(list[i].value));
    return out;
}

#define NUMBERS(...)                                                          \
    numbers((const struct member[]){__VA_ARGS__},                             \
            sizeof((const struct member[]){__VA_ARGS__}) /                    \
                sizeof(struct member))

static json_t *type_json(const struct plan_type *t)
{
    json_t *out = json_object();
    json_put(out, "type", json_text(t->name));
    json_put(out, "bits", json_number(t->bits));
    return out;
}

static json_t *model_json(const struct plan *p)
{
    const struct plan_model *m = &p->work.model;
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

static json_t *memory_json(const struct plan *p)
{
    const struct plan_work *w = &p->work;
    return NUMBERS({"weight_bytes", plan_weight_bytes(w)},
                   {"token_bytes", plan_token_bytes(w)},
                   {"sequence_bytes", plan_cache_bytes(w)},
                   {"cache_bytes", w->batch * plan_cache_bytes(w)},
                   {"activation_bytes", plan_activation_bytes(w)},
                   {"total_bytes", plan_total_bytes(w)},
                   {"training_bytes", p->training
                                          ? plan_training_bytes(&w->model)
                                          : (double)NAN});
}

static json_t *step_json(const struct plan *p, const struct plan_rates *r,
                         double batch)
{
    struct plan_work at = p->work;
    at.batch = batch;
    const struct plan_step s = plan_decode(&at, r);
    const double total = plan_total_bytes(&at);
    json_t *out = NUMBERS({"batch", batch}, {"weight_bytes", s.weight_bytes},
                          {"cache_bytes", s.cache_bytes}, {"flop", s.flop},
                          {"memory_s", s.memory_s},
                          {"compute_s", s.compute_s}, {"s", s.s},
                          {"tokens_per_s", s.tokens_per_s},
                          {"intensity", s.intensity}, {"total_bytes", total});
    json_put(out, "set_by", json_text(plan_bound_name(s.by)));
    json_put(out, "fits", isnan(r->memory) ? NULL
                                           : json_boolean(total <= r->memory));
    return out;
}

static json_t *curve_json(const struct plan *p, const struct plan_rates *r)
{
    json_t *out = json_array();
    for (unsigned b = 1; b <= PLAN_LAST_BATCH; b++)
        json_add(out, step_json(p, r, b));
    return out;
}

static json_t *rate_json(const struct plan_rate *r)
{
    json_t *out = json_object();
    json_put(out, "value", json_number(r->value));
    json_put(out, "source", json_text(isnan(r->value) ? NULL : r->source));
    return out;
}

static double most(double value, double memory)
{
    return isnan(memory) ? (double)NAN : value;
}

static json_t *device_json(const struct plan *p, const struct plan_device *dev)
{
    const struct plan_work *w = &p->work;
    const struct plan_rates r = plan_rates(dev);
    const struct plan_fill f = plan_prefill(w, &r);
    json_t *out = json_object();
    json_put(out, "name", json_text(dev->name));
    json_put(out, "origin", json_text(*dev->origin ? dev->origin : NULL));
    json_put(out, "device", dev->index < 0 ? NULL : json_integer(dev->index));
    json_put(out, "memory_bytes", rate_json(&dev->memory));
    json_put(out, "bandwidth_bytes_per_s", rate_json(&dev->bandwidth));
    json_put(out, "peak_flop_per_s", rate_json(&dev->peak));
    json_put(out, "link_bytes_per_s", rate_json(&dev->link));
    json_put(out, "most_batch",
             json_number(most(plan_most_batch(w, r.memory), r.memory)));
    json_put(out, "most_context",
             json_number(most(plan_most_context(w, r.memory), r.memory)));
    json_put(out, "compute_bound_from_batch", json_number(plan_turn(w, &r)));
    json_put(out, "load_s", json_number(plan_load_s(w, &r)));
    json_put(out, "prefill",
             NUMBERS({"tokens", w->context}, {"weight_flop", f.weight_flop},
                     {"attention_flop", f.attention_flop}, {"s", f.s}));
    json_put(out, "decode",
             isnan(r.bandwidth) ? NULL : step_json(p, &r, w->batch));
    json_put(out, "curve", isnan(r.bandwidth) ? NULL : curve_json(p, &r));
    return out;
}

json_t *plan_json(const struct plan *p)
{
    json_t *out = json_object(), *devices = json_array();
    json_put(out, "model", model_json(p));
    json_put(out, "weights", type_json(&p->weights));
    json_put(out, "kv", type_json(&p->kv));
    json_put(out, "context", json_number(p->work.context));
    json_put(out, "batch", json_number(p->work.batch));
    json_put(out, "memory", memory_json(p));
    for (size_t i = 0; i < p->n; i++)
        json_add(devices, device_json(p, &p->dev[i]));
    json_put(out, "devices", devices);
    return out;
}
