/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of `clbench plan` without a device: the arithmetic against cases
 * computed by hand, every known model against its published size, variants of
 * config.json, and messages for invalid input. */
#include "planner/json.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/output.h"
#include "planner/planner.h"

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, not %.9g", got, expected);
}

/* Asserts equality within half of the last digit of a case. */
static void assert_digits(double got, double expected, double digit)
{
    if (!(fabs(got - expected) <= digit / 2 * 1.000001))
        fail_msg("%.9g, not %.9g +- %.3g", got, expected, digit / 2);
}

static struct planner_workload dense(double params, double bits)
{
    return (struct planner_workload){
        .model = {.params = params, .active = params, .most_context = NAN},
        .weight_bits = bits,
        .kv_bits = 16,
        .context = 1,
        .batch = 1};
}

static struct planner_rates only_bandwidth(double bytes_per_s)
{
    return (struct planner_rates){
        .bandwidth = bytes_per_s, .peak = NAN, .link = NAN, .memory = NAN};
}

/* -- the cases ------------------------------------------------------------ */

static void weights_plan(void **state)
{
    const struct planner_workload a = dense(14e9, 4), b = dense(70e9, 16),
                                  c = dense(109e9, 16), d = dense(7e9, 16),
                                  blocks = dense(14e9, 4.5);
    (void)state;
    assert_near(planner_weight_bytes(&a), 7e9, 1e-12);
    assert_near(planner_weight_bytes(&b), 140e9, 1e-12);
    assert_near(planner_weight_bytes(&c), 218e9, 1e-12);
    assert_near(planner_training_bytes(&d.model), 112e9, 1e-12);
    assert_digits(planner_weight_bytes(&blocks), 7.9e9, 0.1e9);
}

static void decode_bound(void **state)
{
    static const double rate[] = {500e9, 1000e9, 1008e9};
    static const double ms[] = {14, 7, 6.94};
    const struct planner_workload w = dense(14e9, 4);
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct planner_rates r = only_bandwidth(rate[i]);
        const struct planner_step s = planner_decode(&w, &r);
        assert_digits(s.s * 1e3, ms[i], 0.01);
        assert_near(s.intensity, 4, 1e-12);
        assert_int_equal(s.by, PLANNER_BY_WEIGHTS);
    }
}

static void decode_batch(void **state)
{
    static const double batch[] = {1, 8, 32, 128};
    static const double tokens[] = {28.6, 229, 914, 3657};
    static const double digit[] = {0.1, 1, 1, 1};
    const struct planner_workload w = dense(35e9, 16); /* 70 GB */
    const struct planner_rates r = only_bandwidth(2000e9);
    (void)state;
    assert_near(planner_decode(&w, &r).s, 35e-3, 1e-12);
    for (unsigned i = 0; i < 4; i++)
        assert_digits(planner_decode_at(&w, &r, batch[i]).tokens_per_s,
                      tokens[i], digit[i]);
}

/* Without a bandwidth the arithmetic would be a bound that no device
 * reaches. */
static void without_a_bandwidth_there_is_no_bound(void **state)
{
    const struct planner_workload w = dense(35e9, 16);
    const struct planner_rates r = {.bandwidth = NAN, .peak = 100e12};
    (void)state;
    assert_true(isnan(planner_decode(&w, &r).tokens_per_s));
}

/* The bound is the longest of weights, compute and cache. */
static void decode_batch_is_the_least_of_three(void **state)
{
    struct planner_workload w = dense(35e9, 16);
    struct planner_rates r = only_bandwidth(2000e9);
    (void)state;
    r.peak = 100e12;
    const struct planner_step s = planner_decode_at(&w, &r, 128);
    assert_near(s.compute_s, 2 * 35e9 * 128 / 100e12, 1e-12);
    assert_near(s.s, s.compute_s, 1e-12);
    assert_int_equal(s.by, PLANNER_BY_COMPUTE);
    assert_near(planner_compute_bound_batch(&w, &r), 51,
                1e-12); /* 35 ms suffice for 50 tokens */
    w.model.layers = 80;
    w.model.kv_heads = 8;
    w.model.head_dim = 128;
    w.context = 131072;
    const struct planner_step k = planner_decode_at(&w, &r, 8);
    const double cache = 8 * 327680.0 * 131072;
    assert_near(k.memory_s, (70e9 + cache) / 2000e9, 1e-12);
    assert_near(k.s, k.memory_s, 1e-12);
    assert_int_equal(k.by, PLANNER_BY_CACHE);
    assert_true(isnan(planner_compute_bound_batch(&w, &r)));
}

static void kv_plan(void **state)
{
    struct planner_workload w = dense(70e9, 16);
    (void)state;
    w.model.layers = 80;
    w.model.kv_heads = 8;
    w.model.head_dim = 128;
    w.context = 131072;
    assert_near(planner_token_bytes(&w), 327680, 1e-12);
    assert_near(planner_cache_bytes(&w), 40.0 * 1073741824.0, 1e-12);
    w.context *= 2;
    assert_near(planner_cache_bytes(&w), 80.0 * 1073741824.0, 1e-12);
    w.kv_bits = 8;
    assert_near(planner_cache_bytes(&w), 40.0 * 1073741824.0, 1e-12);
}

static void load_plan(void **state)
{
    static const double link[] = {31.5e9, 63e9, 54.8e9};
    static const double s[] = {4.4, 2.2, 2.6};
    const struct planner_workload w = dense(70e9, 16);
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct planner_rates r = {.link = link[i]};
        assert_digits(planner_load_s(&w, &r), s[i], 0.1);
    }
}

static void linear(void **state)
{
    (void)state;
    assert_digits(planner_linear_intensity(4096, 1024, 512, 2, 2), 315.1, 0.1);
    assert_digits(planner_linear_intensity(4096, 1024, 1, 2, 2), 0.999, 0.001);
    assert_digits(planner_linear_intensity(4096, 1024, 512, 4, 4), 157.5, 0.1);
    assert_digits(planner_linear_intensity(4096, 1024, 1, 4, 4), 0.499, 0.001);
}

/* -- derived quantities --------------------------------------------------- */

static struct planner_workload example(void)
{
    struct planner_workload w = dense(14e9, 4);
    w.model.layers = 48;
    w.model.kv_heads = 8;
    w.model.head_dim = 128;
    w.model.hidden = 5120;
    w.model.inner = 13824;
    w.model.queries = 5120;
    w.context = 32768;
    w.batch = 8;
    return w;
}

static void the_largest_fit_and_the_next_do_not(void **state)
{
    static const double memory[] = {10e9, 24e9, 80e9, 141e9};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct planner_workload w = example();
        w.batch = planner_most_batch(&w, memory[i]);
        assert_true(w.batch < 1 || planner_total_bytes(&w) <= memory[i]);
        w.batch++;
        assert_true(planner_total_bytes(&w) > memory[i]);
        w = example();
        w.context = planner_most_context(&w, memory[i]);
        assert_true(w.context < 1 || planner_total_bytes(&w) <= memory[i]);
        w.context++;
        assert_true(planner_total_bytes(&w) > memory[i]);
    }
    const struct planner_workload w = example();
    assert_near(planner_most_batch(&w, 24e9) + 1, 3, 1e-12);
    assert_true(planner_most_batch(&w, 7e9) < 1);
    assert_near(planner_most_batch(&w, 1e18), PLANNER_MOST_BATCH, 1e-12);
}

static void compute_bound_batch_is_the_first(void **state)
{
    (void)state;
    for (double context = 1; context <= 65536; context *= 4) {
        struct planner_workload w = example();
        struct planner_rates r = only_bandwidth(1008e9);
        r.peak = 40e12;
        w.context = context;
        const double batch = planner_compute_bound_batch(&w, &r);
        for (double b = 1; b <= 1024; b++)
            assert_int_equal(planner_decode_at(&w, &r, b).by ==
                                 PLANNER_BY_COMPUTE,
                             b >= batch);
    }
}

static void windows_limit_the_cache(void **state)
{
    struct planner_workload w = example();
    (void)state;
    w.model.window_layers = 24;
    w.model.window = 4096;
    w.context = 4096;
    assert_near(planner_cache_bytes(&w), 4096 * planner_token_bytes(&w),
                1e-12);
    w.context = 8192;
    assert_near(planner_cache_bytes(&w), 6144 * planner_token_bytes(&w),
                1e-12);
}

/* Each pair of a token and an earlier one has two products of 2 flop. */
static void prefill_counts_attention(void **state)
{
    struct planner_workload w = example();
    struct planner_rates r = only_bandwidth(1e12);
    (void)state;
    r.peak = 100e12;
    w.context = 4096;
    struct planner_prompt f = planner_prefill(&w, &r);
    assert_near(f.weight_flop, 2 * 14e9 * 4096, 1e-12);
    assert_near(f.attention_flop, 48 * 4 * 5120 * 4096.0 * 4096 / 2, 1e-12);
    assert_near(f.s, (f.weight_flop + f.attention_flop) / 100e12, 1e-12);
    w.model.window_layers = 48;
    w.model.window = 1024;
    f = planner_prefill(&w, &r);
    assert_near(f.attention_flop,
                48 * 4 * 5120 * (1024.0 * 1024 / 2 + 3072 * 1024.0), 1e-12);
    w.context = 1; /* a short prompt is bound by reading the weights */
    assert_near(planner_prefill(&w, &r).s, 7e9 / 1e12, 1e-12);
    r.peak = NAN;
    assert_true(isnan(planner_prefill(&w, &r).s));
}

/* One token uses 2 of 8 experts; of 2 tokens neither uses an expert with
 * probability (6/8)^2; of many tokens every expert is used. */
static void experts_are_read_if_used(void **state)
{
    struct planner_workload w = dense(46.7e9, 16);
    const struct planner_rates r = only_bandwidth(1e12);
    (void)state;
    w.model.active = 12.9e9;
    w.model.experts = 8;
    w.model.used = 2;
    const double in_experts = (46.7e9 - 12.9e9) / 0.75;
    const double shared = 46.7e9 - in_experts;
    const struct planner_step one = planner_decode_at(&w, &r, 1);
    assert_near(one.weight_bytes, 2 * 12.9e9, 1e-9);
    assert_near(one.flop, 2 * 12.9e9, 1e-12);
    assert_near(planner_decode_at(&w, &r, 2).weight_bytes,
                2 * (shared + in_experts * (1 - 0.5625)), 1e-9);
    assert_near(planner_decode_at(&w, &r, 1000).weight_bytes, 2 * 46.7e9,
                1e-9);
    assert_near(planner_weight_bytes(&w), 2 * 46.7e9, 1e-12);
}

/* -- models --------------------------------------------------------------- */

/* Counted from the widths, without norms and biases. */
static void every_known_model_has_its_published_size(void **state)
{
    static const double norms_and_biases = 4e-4;
    json_t *all = planner_models_json(), *config;
    const char *name;
    (void)state;
    assert_true(json_object_size(all) > 10);
    json_object_foreach(all, name, config)
    {
        struct planner_model m, counted;
        struct xl__str why = {0};
        char source[PLANNER_SOURCE_CAP];
        assert_true(planner_find_model(name, &m, source, &why));
        assert_non_null(strchr(source, '/'));
        assert_near(m.params,
                    json_number_value(json_object_get(config, "params")), 0);
        json_object_del(config, "params");
        assert_true(planner_read_config(config, &counted, &why));
        assert_near(counted.params, m.params, norms_and_biases);
        assert_true(m.active <= m.params - m.looked_up + 0.5);
        xl__str_clear(&why);
    }
    json_decref(all);
}

/* As published, without the embedding table. */
static void active_weights_equal_the_published(void **state)
{
    static const struct {
        const char *name;
        double active;
    } expected[] = {{"gpt-oss-20b", 3.61e9}, {"gpt-oss-120b", 5.13e9}};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct planner_model m;
        struct xl__str why = {0};
        char source[PLANNER_SOURCE_CAP];
        assert_true(planner_find_model(expected[i].name, &m, source, &why));
        assert_digits(m.active, expected[i].active, 0.01e9);
    }
}

/* Of the embeddings a step reads one row, of everything else all. */
static void a_step_reads_one_row_of_embeddings(void **state)
{
    struct planner_workload w = {
        .weight_bits = 16, .kv_bits = 16, .context = 1, .batch = 1};
    const struct planner_rates r = only_bandwidth(1e12);
    struct xl__str why = {0};
    char source[PLANNER_SOURCE_CAP];
    (void)state;
    assert_true(planner_find_model("llama-3.1-8b", &w.model, source, &why));
    assert_near(w.model.looked_up, 128256.0 * 4096, 0);
    assert_near(planner_decode(&w, &r).weight_bytes,
                2 * (w.model.params - w.model.looked_up), 1e-12);
    assert_near(planner_weight_bytes(&w), 2 * w.model.params, 1e-12);
    assert_true(planner_find_model("gpt-oss-20b", &w.model, source, &why));
    assert_near(planner_decode(&w, &r).weight_bytes, 2 * w.model.active, 1e-9);
}

static bool config(const char *text, struct planner_model *m,
                   struct xl__str *why)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    xl__str_reset(why);
    const bool is_read = planner_read_config(json, m, why);
    json_decref(json);
    return is_read;
}

#define WIDTHS                                                                \
    "\"hidden_size\": 64, \"intermediate_size\": 256, "                       \
    "\"num_attention_heads\": 4, \"vocab_size\": 1000, "                      \
    "\"num_hidden_layers\": 12"

static void configs_in_their_variants(void **state)
{
    struct planner_model m;
    struct xl__str why = {0};
    (void)state;
    assert_true(config("{" WIDTHS "}", &m, &why)); /* no grouped queries */
    assert_near(m.kv_heads, 4, 0);
    assert_near(m.head_dim, 16, 0);
    assert_near(m.params, 12 * (4 * 64 * 64 + 3 * 64 * 256) + 2 * 64000, 0);
    assert_near(m.active, m.params - 64000, 0);
    assert_near(m.window_layers, 0, 0);
    assert_true(isnan(m.most_context));
    assert_true(config("{\"text_config\": {" WIDTHS
                       ", \"tie_word_embeddings\": true}}", &m, &why));
    assert_near(m.looked_up, 0, 0);
    assert_true(config("{" WIDTHS ", \"sliding_window\": 8}", &m, &why));
    assert_near(m.window_layers, 12, 0);
    assert_true(config("{" WIDTHS ", \"sliding_window\": 8, "
                       "\"use_sliding_window\": false}", &m, &why));
    assert_near(m.window_layers, 0, 0);
    assert_true(config("{" WIDTHS ", \"sliding_window\": 8, "
                       "\"sliding_window_pattern\": 6}", &m, &why));
    assert_near(m.window_layers, 10, 0);
    assert_true(config("{" WIDTHS ", \"sliding_window\": 8, \"layer_types\": "
                       "[\"sliding_attention\", \"full_attention\"]}",
                       &m, &why));
    assert_near(m.window_layers, 1, 0);
    assert_true(config("{" WIDTHS ", \"sliding_window\": 8, "
                       "\"model_type\": \"gemma2\"}", &m, &why));
    assert_near(m.window_layers, 6, 0);
    xl__str_clear(&why);
}

static void configs_that_are_rejected(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{}", "num_hidden_layers"},
        {"[1, 2]", "num_hidden_layers"},
        {"{" WIDTHS ", \"kv_lora_rank\": 512}", "kv_lora_rank"},
        {"{" WIDTHS ", \"n_shared_experts\": 2}", "n_shared_experts"},
        {"{" WIDTHS ", \"num_local_experts\": 8}", "num_experts_per_tok"},
        {"{" WIDTHS ", \"num_local_experts\": 8, "
         "\"num_experts_per_tok\": 8}", "num_experts_per_tok"},
        {"{\"hidden_size\": \"many\", \"num_hidden_layers\": 2}",
         "hidden_size"},
        {"{\"hidden_size\": -1, \"num_hidden_layers\": 2}", "hidden_size"},
        {"{\"hidden_size\": 1e300, \"num_hidden_layers\": 2}", "hidden_size"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct planner_model m;
        struct xl__str why = {0};
        assert_false(config(cases[i].text, &m, &why));
        if (!strstr(xl__str_text(&why), cases[i].message))
            fail_msg("%s: %s", cases[i].text, xl__str_text(&why));
        xl__str_clear(&why);
    }
}

/* -- the command line ----------------------------------------------------- */

static struct settings example_settings(void)
{
    return (struct settings){.plan = {.params = "14e9",
                                      .layers = "48",
                                      .kv_heads = "8",
                                      .head_dim = "128"}};
}

static void quantities_with_units(void **state)
{
    static const struct {
        const char *text;
        double value;
    } contexts[] = {{"32k", 32768},   {"32K", 32768},   {"32Ki", 32768},
                    {"1M", 1048576},  {"1e5", 100000},  {"32768", 32768},
                    {"0.5k", 512}};
    static const struct {
        const char *text;
        double value;
    } rates[] = {{"1008GB/s", 1008e9}, {"1008 GB/s", 1008e9},
                 {"4.27T", 4.27e12},   {"500e9", 500e9},
                 {"1GiB/s", 1073741824.0}};
    (void)state;
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        struct settings set = example_settings();
        struct planner p;
        struct xl__str why = {0};
        set.plan.context = contexts[i].text;
        assert_true(planner_read_options(&set, &p, &why));
        assert_near(p.workload.context, contexts[i].value, 0);
    }
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct settings set = {.plan = {.bandwidth = rates[i].text}};
        struct planner_device dev;
        struct xl__str why = {0};
        assert_true(planner_read_rates(&set, &dev, &why));
        assert_near(dev.bandwidth.value, rates[i].value, 1e-15);
        assert_true(isnan(dev.peak.value));
    }
}

static void types_of_weights(void **state)
{
    static const struct {
        const char *text;
        double bits;
    } types[] = {{"f32", 32},    {"f16", 16},     {"bf16", 16},
                 {"fp8", 8},     {"int8", 8},     {"int4", 4},
                 {"int4/32", 4.5}, {"int8/32", 8.5}, {"int4/128", 4.125},
                 {"4.5", 4.5},   {"4.25", 4.25},  {"1.58", 1.58}};
    static const char *const wrong[] = {
        "int5", "int4/", "int4/0", "int4/x", "/32",  "-4", "nan", "inf",
        "0",    "65",    "int",    "4.5x",   "int4/1.5", "0x10", ""};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct settings set = example_settings();
        struct planner p;
        struct xl__str why = {0};
        set.plan.weights = types[i].text;
        assert_true(planner_read_options(&set, &p, &why));
        assert_near(p.workload.weight_bits, types[i].bits, 0);
        assert_near(p.workload.kv_bits, 16, 0);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct settings set = example_settings();
        struct planner p;
        struct xl__str why = {0};
        set.plan.weights = wrong[i];
        if (planner_read_options(&set, &p, &why))
            fail_msg("'%s' was taken", wrong[i]);
        assert_non_null(strstr(xl__str_text(&why), "--weights"));
        assert_non_null(strstr(xl__str_text(&why), "int4/32"));
        xl__str_clear(&why);
    }
}

struct wrong {
    struct plan_settings set;
    const char *message; /* besides the option: what to give */
};

#define GOOD .params = "14e9", .layers = "48", .kv_heads = "8"

static void invalid_options_are_reported(void **state)
{
    static const struct wrong cases[] = {
        {{.params = "14e9"}, "missing: --layers, --kv-heads, --head-dim"},
        {{.layers = "3"}, "--params, --kv-heads"},
        {{GOOD, .head_dim = "0"}, "'0' for --head-dim"},
        {{GOOD, .head_dim = "-1"}, "'-1' for --head-dim"},
        {{GOOD, .head_dim = "12.5"}, "integer"},
        {{GOOD, .head_dim = "1e99"}, "from 1 to"},
        {{GOOD, .head_dim = "128", .context = "32q"}, "32k"},
        {{GOOD, .head_dim = "128", .context = "nan"}, "'nan' for --context"},
        {{GOOD, .head_dim = "128", .context = "inf"}, "'inf' for --context"},
        {{GOOD, .head_dim = "128", .context = "0"}, "'0' for --context"},
        {{GOOD, .head_dim = "128", .context = "1e999"}, "from 1 to"},
        {{GOOD, .head_dim = "128", .context = "32KiB"}, "32768"},
        {{GOOD, .head_dim = "128", .active = "2e9"}, "--experts is missing"},
        {{GOOD, .head_dim = "128", .experts = "2/8"}, "--active is missing"},
        {{GOOD, .head_dim = "128", .active = "2e9", .experts = "8"}, "2/8"},
        {{GOOD, .head_dim = "128", .active = "2e9", .experts = "8/8"}, "2/8"},
        {{GOOD, .head_dim = "128", .active = "2e9", .experts = "2/8"},
         "between"},
        {{GOOD, .head_dim = "128", .active = "15e9", .experts = "2/8"},
         "between"},
        {{.model = "llama-3.1-8c"}, "did you mean 'llama-3.1-8b'"},
        {{.model = "./no-such.json"}, "cannot be read"},
        {{.model = "llama-3.1-8b", .layers = "none"}, "'none' for --layers"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct settings set = {.plan = cases[i].set};
        struct planner p;
        struct xl__str why = {0};
        if (planner_read_options(&set, &p, &why))
            fail_msg("case %zu was taken", i);
        if (!strstr(xl__str_text(&why), cases[i].message))
            fail_msg("case %zu: %s", i, xl__str_text(&why));
        xl__str_clear(&why);
    }
}

static void rates_require_units(void **state)
{
    static const struct wrong cases[] = {
        {{.bandwidth = "500"}, "1008GB/s"},
        {{.bandwidth = "-5e9"}, "1008GB/s"},
        {{.bandwidth = "500GHz"}, "1008GB/s"},
        {{.bandwidth = "500GB/s", .memory = "24"}, "24GB"},
        {{.bandwidth = "500GB/s", .peak = "165"}, "165TFLOP/s"},
        {{.bandwidth = "500GB/s", .link = "0"}, "'0' for --link"},
        {{.memory = "24GB"}, "--bandwidth is missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct settings set = {.plan = cases[i].set};
        struct planner_device dev;
        struct xl__str why = {0};
        assert_true(planner_has_rates(&set));
        if (planner_read_rates(&set, &dev, &why))
            fail_msg("case %zu was taken", i);
        if (!strstr(xl__str_text(&why), cases[i].message))
            fail_msg("case %zu: %s", i, xl__str_text(&why));
        xl__str_clear(&why);
    }
}

static void options_override_the_model(void **state)
{
    struct settings set = {.plan = {.model = "mixtral-8x7b",
                                    .layers = "16",
                                    .context = "1k"}};
    struct planner p;
    struct xl__str why = {0};
    (void)state;
    assert_true(planner_read_options(&set, &p, &why));
    assert_near(p.workload.model.layers, 16, 0);
    assert_near(p.workload.model.experts, 8, 0);
    assert_false(p.is_guessed);
    set.plan.params = "7e9"; /* another model: the experts do not apply */
    assert_true(planner_read_options(&set, &p, &why));
    assert_near(p.workload.model.active, 7e9, 0);
    assert_near(p.workload.model.looked_up, 0, 0);
    assert_near(p.workload.model.experts, 0, 0);
    xl__str_clear(&why);
}

/* -- output --------------------------------------------------------------- */

static void the_formula_has_its_numbers(void **state)
{
    struct settings set = example_settings();
    struct planner p;
    struct planner_device dev;
    struct xl__str text = {0};
    (void)state;
    set.plan.weights = "int4";
    set.plan.context = "32k";
    set.batch = 8;
    set.plan.bandwidth = "1008GB/s";
    set.plan.peak = "165TFLOP/s";
    assert_true(planner_read_options(&set, &p, &text));
    assert_true(planner_read_rates(&set, &dev, &text));
    planner_format_decode(&text, &p, &dev);
    assert_string_equal(xl__str_text(&text),
                        "t = max((W + B KV) / bandwidth, 2 P B / peak)\n"
                        "  = max((7 GB + 8 x 6.44 GB) / 1008 GB/s,\n"
                        "        2 x 14e9 x 8 / 165 TFLOP/s)\n"
                        "  = max(58.1 ms, 1.36 ms) = 58.1 ms");
    xl__str_clear(&text);
}

static void a_plan_as_json(void **state)
{
    struct settings set = example_settings();
    struct planner p;
    struct xl__str why = {0};
    struct planner_device dev;
    (void)state;
    set.plan.bandwidth = "1008GB/s";
    assert_true(planner_read_options(&set, &p, &why));
    assert_true(planner_read_rates(&set, &dev, &why));
    p.dev = &dev;
    p.n = 1;
    json_t *json = planner_json(&p);
    const json_t *out = json_array_get(json_object_get(json, "devices"), 0);
    const json_t *curve = json_object_get(out, "curve");
    assert_int_equal(json_array_size(curve), PLANNER_LAST_BATCH);
    assert_true(json_is_null(json_object_get(out, "most_batch")));
    const json_t *one = json_array_get(curve, 0);
    assert_near(json_number_value(json_object_get(one, "tokens_per_s")),
                1008e9 / (28e9 + 8192 * 196608.0), 1e-12);
    assert_true(json_is_null(json_object_get(one, "compute_s")));
    json_decref(json);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_plan),
        cmocka_unit_test(decode_bound),
        cmocka_unit_test(decode_batch),
        cmocka_unit_test(decode_batch_is_the_least_of_three),
        cmocka_unit_test(without_a_bandwidth_there_is_no_bound),
        cmocka_unit_test(kv_plan),
        cmocka_unit_test(load_plan),
        cmocka_unit_test(linear),
        cmocka_unit_test(the_largest_fit_and_the_next_do_not),
        cmocka_unit_test(compute_bound_batch_is_the_first),
        cmocka_unit_test(windows_limit_the_cache),
        cmocka_unit_test(prefill_counts_attention),
        cmocka_unit_test(experts_are_read_if_used),
        cmocka_unit_test(every_known_model_has_its_published_size),
        cmocka_unit_test(active_weights_equal_the_published),
        cmocka_unit_test(a_step_reads_one_row_of_embeddings),
        cmocka_unit_test(configs_in_their_variants),
        cmocka_unit_test(configs_that_are_rejected),
        cmocka_unit_test(quantities_with_units),
        cmocka_unit_test(types_of_weights),
        cmocka_unit_test(invalid_options_are_reported),
        cmocka_unit_test(rates_require_units),
        cmocka_unit_test(options_override_the_model),
        cmocka_unit_test(the_formula_has_its_numbers),
        cmocka_unit_test(a_plan_as_json),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
