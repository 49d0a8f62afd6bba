/* SPDX-License-Identifier: Apache-2.0 */
/* The synthetic document: rows of each op and probe, a pipeline and a split.
 */
#include "figure_document.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "results/json.h"
#include "support/support.h"
#include "tiling/json.h"
#include "tiling/measurement.h"

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *out = json_loads(text, 0, &error);
    if (!out)
        fail_msg("%s: %s", error.text, text);
    return out;
}

void figure_document_add(json_t *document, const char *op,
                         const char *variant, const char *members)
{
    struct xl__str text = {0};
    json_t *rows = json_object_get(document, "rows");
    /* Members that are given replace these. */
    json_t *row = parse("{\"device\": 0, \"shape\": {}, \"params\": {},"
                        "\"dtype\": null, \"samples_ns\": [1000], \"runs\": 1,"
                        "\"median_ns\": 1000, \"mad_ns\": 0, \"flop\": null,"
                        "\"bytes\": null, \"roof\": null, \"verdict\": \"ok\","
                        "\"reason\": null, \"cache\": \"hot\"}");
    json_t *more;
    xl__str_printf(&text, "{%s}", members);
    more = parse(xl__str_text(&text));
    json_object_update(row, more);
    json_decref(more);
    xl__str_reset(&text);
    xl__str_printf(&text, "%s/%s/%zu", op, variant, json_array_size(rows));
    json_put(row, "id", json_string(xl__str_text(&text)));
    json_put(row, "op", json_string(op));
    json_put(row, "variant", json_string(variant));
    json_add(rows, row);
    xl__str_clear(&text);
}

static void add(json_t *document, const char *op, const char *variant,
                const char *format, ...) XL__PRINTF(4, 5);

static void add(json_t *document, const char *op, const char *variant,
                const char *format, ...)
{
    struct xl__str text = {0};
    va_list args;
    va_start(args, format);
    xl__str_vprintf(&text, format, args);
    va_end(args);
    figure_document_add(document, op, variant, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- rows ----------------------------------------------------------------- */

static void add_products(json_t *d)
{
    static const char *const types[] = {"f32", "f16"};
    for (unsigned t = 0; t < 2; t++)
        for (unsigned i = 0; i < N_PRODUCTS / 2; i++) {
            const double n = 256 << i, rate = (1 + t) * 1e12 * (i + 1);
            add(d, "gemm", "gemm_tiled",
                "\"shape\": {\"m\": %g, \"n\": %g, \"k\": %g}, \"dtype\": "
                "\"%s\", \"value\": %g, \"unit\": \"flop/s\", \"flop\": %g, "
                "\"bytes\": %g, \"median_ns\": %g, \"roof\": {\"name\": "
                "\"fma f32\", \"value\": 1e13, \"frac\": %g}",
                n, n, n, types[t], rate, 2 * n * n * n,
                (12.0 - 6.0 * t) * n * n, 2 * n * n * n / rate * 1e9,
                rate / 1e13);
        }
}

static void add_shares(json_t *d)
{
    static const struct {
        unsigned cols;
        double frac;
        const char *verdict;
    } rows[N_SHARES] = {
        {1024, 0.5, "ok"}, {2048, 1, "ok"}, {4096, 0.8, "suspicious"}};
    for (unsigned i = 0; i < N_SHARES; i++)
        for (unsigned op = 0; op < 2; op++)
            add(d, op ? "expr" : "softmax",
                op ? "expr_fused" : "softmax_online",
                "\"shape\": {\"rows\": 64, \"cols\": %u}, \"dtype\": \"f32\", "
                "\"value\": %g, \"unit\": \"B/s\", \"roof\": {\"name\": "
                "\"copy\", \"value\": 1e12, \"frac\": %g}, \"verdict\": "
                "\"%s\", \"reason\": \"<noisy> & \\\"odd\\\" \\u0007\\uffff\"",
                rows[i].cols, rows[i].frac * 1e12, rows[i].frac,
                rows[i].verdict);
    add(d, "conv", "conv_tiled",
        "\"shape\": {\"n\": 8, \"h\": 28, \"w\": 28, \"c\": 64, \"k\": 64, "
        "\"r\": 3, \"s\": 3}, \"dtype\": \"bf16\", \"value\": 7e12, \"unit\": "
        "\"flop/s\", \"samples_ns\": [90, 95, 100, 101, 104, 108, 111, 120], "
        "\"roof\": {\"name\": \"fma f32\", \"value\": 1e13, \"frac\": 0.7}");
}

static void add_memory(json_t *d)
{
    static const char *const far[] = {"read", "write", "copy"};
    for (unsigned i = 0; i < N_CHASED; i++)
        add(d, "probe_cache", "chase",
            "\"shape\": {\"bytes\": %u}, \"value\": %g, \"unit\": \"s\"",
            1024u << i, i <= 5 ? 1e-9 : 1e-7);
    add(d, "probe_cache", "l1", "\"params\": {\"size_bytes\": 32768}, "
        "\"value\": 1e-9, \"unit\": \"s\"");
    add(d, "probe_cache", "dram", "\"value\": 1e-7, \"unit\": \"s\"");
    add(d, "probe_cache", "l1_read", "\"value\": 8e12, \"unit\": \"B/s\"");
    for (unsigned i = 0; i < 3; i++)
        add(d, "probe_bandwidth", far[i],
            "\"value\": %g, \"unit\": \"B/s\"", (1 + i) * 0.5e12);
    for (unsigned i = 0; i < N_STRIDES; i++)
        for (unsigned near = 0; near < 2; near++)
            add(d, "probe_coalescing", near ? "stride_llc" : "stride",
                "\"params\": {\"stride\": %u}, \"value\": %g, \"unit\": "
                "\"B/s\"", 1u << i, (1 + near) * 1e12 / fmin(1u << i, 16));
    add(d, "probe_coalescing", "granule", "\"value\": 64, \"unit\": \"B\"");
    add(d, "probe_coalescing", "gather", "\"value\": 6e10, \"unit\": \"B/s\"");
    for (unsigned i = 0; i < 3; i++) {
        add(d, "probe_coalescing", "offset", "\"params\": {\"offset\": %u}, "
            "\"value\": 1e12, \"unit\": \"B/s\"", i);
        add(d, "probe_local", "stride", "\"params\": {\"stride\": %u, "
            "\"slowdown\": %u}, \"value\": 1, \"unit\": \"B/s\"", 1u << i,
            1u << i);
        add(d, "probe_transfer", i == 2 ? "pageable_up" : "pinned_up",
            "\"shape\": {\"bytes\": %u}, \"median_ns\": %u", 4096u << i,
            1000u << i);
    }
    add(d, "probe_local", "banks", "\"value\": 32, \"unit\": \"1\"");
}

/* -- members -------------------------------------------------------------- */

static json_t *pipeline(void)
{
    return parse(
        "[{\"device\": 0, \"stages\": \"qk\", \"dtype\": \"f16\", "
        "\"first_calls\": [{\"kernels\": \"built\", \"open_ns\": 1e6, "
        "\"build_ns\": 2e6, \"run_ns\": 1e5}], \"bound\": {\"by\": "
        "\"upload\", \"share\": 0.5, \"words\": \"Bound by <uploads>.\\nMove "
        "less.\"}, \"modes\": [{\"mode\": \"pinned\", \"total_ns\": 4000, "
        "\"commands\": ["
        "{\"name\": \"write Q\", \"lane\": \"upload\", \"bytes\": 64, "
        "\"start_ns\": 0, \"end_ns\": 2000},"
        "{\"name\": \"gemm\", \"lane\": \"kernels\", \"bytes\": 0, "
        "\"start_ns\": 2000, \"end_ns\": 3000},"
        "{\"name\": \"read\", \"lane\": \"download\", \"bytes\": 64, "
        "\"start_ns\": 3000, \"end_ns\": 4000}]}]}]");
}

static json_t *split(void)
{
    struct tiling_report p = {.title = "gemm 300 f32",
                              .where = "device 0",
                              .tiling = tiling_of_shape(300, 300, 64, 64),
                              .units = 8,
                              .concurrent = 1,
                              .size = 300,
                              .range = {225, 375}};
    json_t *list = json_array(), *entry;
    p.saw = (struct sawtooth){300, 300, true, true, 64, 64, 1, 8};
    assert_true(tiling_model_launch(&p.tiling, p.units, p.concurrent, 1000,
                                    NULL, &p.model));
    assert_true(tiling_load_of(&p.model, &p.model_load, NULL));
    entry = tiling_json(&p);
    json_put(entry, "device", json_integer(0));
    json_add(list, entry);
    tiling_report_clear(&p);
    return list;
}

json_t *figure_document(void)
{
    json_t *d = parse(
        "{\"schema\": \"clbench/1\", \"devices\": [{\"index\": 0, \"name\": "
        "\"Toy <1> & more\", \"facts\": ["
        "{\"name\": \"copy_bytes_per_s\", \"value\": 1e12, \"source\": "
        "\"measured\"}, "
        "{\"name\": \"llc_bytes_per_s\", \"value\": 4e12, \"source\": "
        "\"assumed\"}, "
        "{\"name\": \"peak_f32_flop_per_s\", \"value\": 1e13, \"source\": "
        "\"measured\"}, "
        "{\"name\": \"peak_f64_flop_per_s\", \"value\": null, \"source\": "
        "\"unknown\"}]}], \"rows\": []}");
    add_products(d);
    add_shares(d);
    add_memory(d);
    json_put(d, "pipeline", pipeline());
    json_put(d, "split", split());
    return d;
}
