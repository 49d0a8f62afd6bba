/* SPDX-License-Identifier: Apache-2.0 */
/* A tile whose kernel the driver's compiler spills, or makes too large for its
 * group, on the stub of an H200: the next best tile of the variant is used,
 * and the choice names the one that was refused. Of a variant whose tiles are
 * all refused few are built. */
#include <stdio.h>
#include <string.h>

#include <crosslane/attention.h>
#include <crosslane/conv.h>
#include <crosslane/gemm.h>

#include "ops/variants.h"
#include "runtime/context.h"
#include "support/support.h"

#define ENTRY(kernel) ".entry " kernel "(\n)\n{\n\tret;\n}\n"
#define TEXT                                                                  \
    ".version 9.0\n.target sm_90\n" ENTRY("gemm_wgmma") ENTRY("gemm_mma")     \
        ENTRY("attention_wgmma")
#define SPILLS                                                                \
    "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
#define CLEAN                                                                 \
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"

enum { MOST = 24, MOST_TILES = 3, SIDE = 3072 };

static struct xl_builds how = {CL_SUCCESS, TEXT, CL_SUCCESS, {CLEAN}};

/* -- calls ---------------------------------------------------------------- */

static xl_status explain_gemm(xl_queue *q, const char *variant, xl_choice *out,
                              unsigned *n)
{
    const xl_mat side = xl_mat_rows(NULL, SIDE, XL_F16);
    const xl_gemm g = {XL_GEMM_INIT, .m = SIDE, .n = SIDE,  .k = SIDE,
                       .a = side,    .b = side, .c = side,  .alpha = 1,
                       .variant = variant};
    return xl_gemm_explain(q, &g, out, MOST, n);
}

static xl_status explain_conv(xl_queue *q, const char *variant, xl_choice *out,
                              unsigned *n)
{
    const xl_images images = {.dtype = XL_F16, .layout = XL_NHWC};
    const xl_conv c = {XL_CONV_INIT,
                       .n = 32,
                       .c = 128,
                       .h = 28,
                       .w = 28,
                       .k = 128,
                       .r = 3,
                       .s = 3,
                       .alpha = 1,
                       .in = images,
                       .filters.dtype = XL_F16,
                       .filters.layout = XL_KRSC,
                       .out = images,
                       .variant = variant};
    return xl_conv_explain(q, &c, out, MOST, n);
}

static xl_status explain_attention(xl_queue *q, const char *variant,
                                   xl_choice *out, unsigned *n)
{
    const xl_heads heads = {.dtype = XL_F16};
    const xl_attention a = {XL_ATTENTION_INIT, .n_batch = 1,  .n_heads = 16,
                            .n_kv_heads = 16,  .n_q = SIDE,   .n_kv = SIDE,
                            .d_head = 128,     .scale = 1,    .q = heads,
                            .k = heads,        .v = heads,    .o = heads,
                            .variant = variant};
    return xl_attention_explain(q, &a, out, MOST, n);
}

static const struct call {
    const char *variant;
    xl_status (*explain)(xl_queue *q, const char *variant, xl_choice *out,
                         unsigned *n);
} calls[] = {{"gemm_wgmma", explain_gemm},
             {"conv_wgmma", explain_conv},
             {"attention_wgmma", explain_attention}};
enum { N_CALLS = sizeof calls / sizeof *calls };

struct world {
    struct test_device at;
    char warnings[4096];
};

static void listen(xl_log_level level, const char *text, void *arg)
{
    struct world *w = arg;
    const size_t n = strlen(w->warnings);
    if (level == XL_LOG_WARNING)
        snprintf(w->warnings + n, sizeof w->warnings - n, "%s\n", text);
}

/* The chosen candidate. */
static xl_status explain(const struct call *c, const char *variant,
                         xl_queue *q, xl_choice *out)
{
    xl_choice all[MOST];
    unsigned n = 0;
    const xl_status status = c->explain(q, variant, all, &n);
    for (unsigned i = 0; i < n && i < MOST; i++) {
        if (all[i].chosen)
            *out = all[i];
    }
    return status;
}

/* The same in a library of its own; *n_builds: of binaries. */
static xl_status choose(const struct call *c, const char *variant,
                        bool skip_selfcheck, struct world *w, xl_choice *out,
                        unsigned long *n_builds)
{
    const xl_options options = {XL_OPTIONS_INIT,
                                .skip_selfcheck = skip_selfcheck,
                                .cache_dir = "",
                                .log = listen,
                                .log_arg = w};
    xl_queue *beside;
    xl_choice again;
    memset(w, 0, sizeof *w);
    test_device_open(&w->at, &options);
    assert_status(xl_queue_create_beside(w->at.queue, &beside), XL_OK, "");
    test_stub()->builds(&how);
    test_stub()->reset();
    const xl_status status = explain(c, variant, w->at.queue, out);
    *n_builds = test_stub()->calls("clCreateProgramWithBinary");
    if (status == XL_OK) { /* the class knows what was refused */
        assert_status(explain(c, variant, beside, &again), XL_OK, "");
        assert_string_equal(again.tunables, out->tunables);
        assert_string_equal(again.why, out->why);
        assert_int_equal(test_stub()->calls("clCreateProgramWithBinary"),
                         *n_builds);
    }
    test_stub()->builds(NULL);
    xl_queue_destroy(beside);
    test_device_close(&w->at);
    return status;
}

/* "TM=192 TN=192" of "model: TM=192 TN=192 TK=64 ...". */
static void name_tile(const xl_choice *c, char *out, size_t cap)
{
    const char *begin = strchr(c->tunables, ' ') + 1;
    const char *end = strchr(strchr(begin, ' ') + 1, ' ');
    const size_t len = end ? (size_t)(end - begin) : strlen(begin);
    snprintf(out, cap, "%.*s", (int)len, begin);
}

/* -- tests ---------------------------------------------------------------- */

static void next_tile_is_taken(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_CALLS; i++) {
        struct world w;
        xl_choice best, next;
        char tile[64], other[64], refused[80];
        unsigned long n_builds;
        how.logs[0] = CLEAN;
        assert_status(choose(&calls[i], NULL, true, &w, &best, &n_builds),
                      XL_OK, w.warnings);
        assert_string_equal(best.variant, calls[i].variant);
        assert_string_equal(w.warnings, "");
        name_tile(&best, tile, sizeof tile);
        how.logs[0] = SPILLS;
        how.logs[1] = CLEAN;
        assert_status(choose(&calls[i], NULL, true, &w, &next, &n_builds),
                      XL_OK, w.warnings);
        how.logs[1] = NULL;
        assert_string_equal(next.variant, calls[i].variant);
        name_tile(&next, other, sizeof other);
        assert_string_not_equal(other, tile);
        assert_true(next.est_ns >= best.est_ns);
        assert_int_equal(n_builds, 2);
        snprintf(refused, sizeof refused, "; refused: %s", tile);
        assert_non_null(strstr(next.why, refused));
        assert_non_null(strstr(next.why, "4 bytes spill stores"));
        snprintf(refused, sizeof refused, "%s %s", calls[i].variant, tile);
        assert_memory_equal(w.warnings, refused, strlen(refused));
        assert_non_null(strstr(w.warnings, ", another tile is tried: "));
    }
}

/* The variant is left after few tiles, all of which are named. */
static void few_tiles_are_tried(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_CALLS; i++) {
        struct world w;
        xl_choice c;
        unsigned long n_builds;
        unsigned n = 0;
        how.logs[0] = SPILLS;
        assert_status(choose(&calls[i], calls[i].variant, true, &w, &c,
                             &n_builds),
                      XL_BUILD_FAILED, w.warnings);
        assert_in_range(n_builds, 2, MOST_TILES);
        for (const char *at = w.warnings;
             (at = strstr(at, "another tile is tried")) != NULL; at++)
            n++;
        assert_int_equal(n, n_builds - 1);
    }
}

/* Wrong results are no matter of a tile. */
static void wrong_results_end_a_variant(void **state)
{
    struct world w;
    xl_choice c;
    unsigned long n_builds;
    (void)state;
    how.logs[0] = CLEAN;
    assert_status(choose(&calls[0], calls[0].variant, false, &w, &c,
                         &n_builds),
                  XL_UNTRUSTED, w.warnings);
    assert_int_equal(n_builds, 1);
}

/* -- groups --------------------------------------------------------------- */

static const struct xl__tunable tile[] = {{"TM", "rows", {64, 4096, 0}},
                                          {"TN", "columns", {1, 0}},
                                          {NULL, NULL, {0}}};

static void choose_rows(const struct xl__limits *l, const void *desc,
                        struct xl__params *out)
{
    enum { MANY = 4096, FEW = 64 };
    (void)desc;
    *out = (struct xl__params){.source = "model"};
    out->value[0] = xl__is_refused(l, MANY, 1) ? FEW : MANY;
    out->value[1] = 1;
}

/* A group has an item for each row. */
static xl_status plan_rows(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    const xl_status status = xl__gemm_ref.plan(l, desc, params, p);
    p->step[0].dims = 1;
    p->step[0].local[0] = p->step[0].global[0] = (size_t)params->value[0];
    return status;
}

/* A group larger than the built kernel may have, which a plan cannot know. */
static void smaller_group_is_taken(void **state)
{
    static const struct xl__variant rows = {.name = "gemm_rows",
                                            .tunables = tile,
                                            .choose = choose_rows,
                                            .plan = plan_rows},
                                    *const list[] = {&rows, NULL};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    struct test_device at;
    xl_choice c[MOST];
    unsigned n = 0;
    (void)state;
    test_device_open(&at, &options);
    const struct xl__vendor *own = at.device->vendor;
    struct xl__vendor vendor = *own;
    vendor.variants[XL__OP_GEMM] = list;
    at.device->vendor = &vendor;
    assert_status(explain_gemm(at.queue, NULL, c, &n), XL_OK,
                  xl_error_detail(at.queue));
    at.device->vendor = own;
    assert_string_equal(c[0].tunables, "model: TM=64 TN=1");
    assert_non_null(strstr(c[0].why, "; refused: TM=4096 TN=1: "));
    assert_non_null(strstr(c[0].why, "the limit of the built kernel is 1024"));
    test_device_close(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_tile_is_taken),
        cmocka_unit_test(few_tiles_are_tried),
        cmocka_unit_test(wrong_results_end_a_variant),
        cmocka_unit_test(smaller_group_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
