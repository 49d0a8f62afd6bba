/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of shapes: the variant chosen for the representative of a class is
 * as good, by the model, as that chosen for the size itself; the choice
 * depends on the size alone; explain reports the variant that runs. On stubs
 * of four devices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "ops/path/size_buckets.h"
#include "ops/variants.h"
#include "support/support.h"

enum { N_SHAPES = 3000, SEED = 11 };

/* -- sizes ------------------------------------------------------------------
 */

static void test_ends(void **state)
{
    (void)state;
    for (unsigned grain = 1; grain <= XL__SIZE_GRAIN;
         grain *= XL__SIZE_GRAIN) {
        size_t n_classes = 0;
        for (size_t n = 1; n <= 1 << 16; n++) {
            const size_t most = xl__size_end(n, grain, XL__CLASS_LARGEST),
                         least = xl__size_end(n, grain, XL__CLASS_LEAST),
                         power = n & (~n + 1);
            assert_true(least <= n && n <= most);
            assert_true((double)most < 1.125 * (double)least);
            assert_int_equal(xl__size_end(most, grain, XL__CLASS_LEAST),
                             least);
            assert_int_equal(xl__size_end(least, grain, XL__CLASS_LARGEST),
                             most);
            if (power >= grain)
                assert_int_equal(most & (~most + 1), power);
            n_classes += n == most;
        }
        print_message("grain %u: %zu classes of sizes to 65536\n", grain,
                      n_classes);
    }
    assert_int_equal(xl__size_end(SIZE_MAX, 1, XL__CLASS_LARGEST), SIZE_MAX);
}

/* A half is smaller, by 3 at most, and as aligned as far as tiles care. */
static void test_halves(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 1 << 16; n++) {
        const size_t half = xl__size_half(n), power = n & (~n + 1);
        assert_true(half < n && 3 * half >= n);
        if (n == power)
            assert_int_equal(half, n / 2);
        else if (power < XL__SIZE_GRAIN)
            assert_int_equal(half & (~half + 1), power);
        else
            assert_int_equal(half % XL__SIZE_GRAIN, 0);
    }
}

/* -- the choice by the model ------------------------------------------------
 */

/* A size of 1..most, by octaves; often a multiple of what tiles like. */
static size_t random_size(struct xl__rng *rng, size_t most)
{
    static const size_t multiples[] = {1, 1, 1, 2, 8, 16, 64, 128};
    const double octaves = log2((double)most) * xl__rng_uniform(rng);
    const size_t m = multiples[xl__rng_below(rng, 8)];
    const size_t n = (size_t)exp2(octaves);
    return n < m ? n : n / m * m;
}

struct ratios {
    double sum_log, worst;
    unsigned n, n_exact; /* sizes with a selection of their own */
    char worst_case[128];
};

/* Estimates of the class's choice and of the exact one. */
static void compare_choices(xl_queue *q, const struct xl__op *op,
                            const void *desc, const char *name,
                            struct ratios *r)
{
    struct xl__op_call w;
    assert_status(xl__op_call_begin(&w, q, op, desc, false), XL_OK,
                  xl_error_detail(q));
    assert_status(xl__op_call_select_exact(&w), XL_OK, xl_error_detail(q));
    if (w.n == 0 || w.list[0].refused) {
        xl__op_call_end(&w);
        return;
    }
    const double exact = w.list[0].plan->est_ns;
    char exact_name[32];
    snprintf(exact_name, sizeof exact_name, "%s", w.list[0].variant->name);
    xl__variant_candidates_free(w.list, w.n);
    w.list = NULL;
    w.n = 0;
    assert_status(xl__op_call_select(&w), XL_OK, xl_error_detail(q));
    double ours = exact;
    const bool applies = xl__op_call_plan_first(&w) == XL_OK;
    if (applies)
        ours = w.list[0].plan->est_ns;
    r->n_exact += !applies;
    r->n++;
    r->sum_log += log(ours / exact);
    if (ours / exact > r->worst) {
        r->worst = ours / exact;
        snprintf(r->worst_case, sizeof r->worst_case, "%s: %s for %s", name,
                 applies ? w.list[0].variant->name : "none", exact_name);
    }
    xl__op_call_end(&w);
}

static void compare_gemm(xl_queue *q, struct xl__rng *rng, struct ratios *r)
{
    static const xl_dtype dtypes[] = {XL_F16, XL_F32, XL_BF16, XL_I8};
    const xl_dtype in = dtypes[xl__rng_below(rng, 4)];
    const xl_dtype out = in == XL_I8 ? XL_I32 : in;
    xl_gemm g = {XL_GEMM_INIT, .m = random_size(rng, 8192),
                 .n = random_size(rng, 8192), .k = random_size(rng, 8192),
                 .alpha = 1};
    char name[96];
    const bool ta = xl__rng_below(rng, 4) == 0,
               tb = xl__rng_below(rng, 2) == 0;
    g.a = ta ? xl_mat_cols(NULL, g.m, in) : xl_mat_rows(NULL, g.k, in);
    g.b = tb ? xl_mat_cols(NULL, g.k, in) : xl_mat_rows(NULL, g.n, in);
    g.c = xl_mat_rows(NULL, g.n, out);
    if (xl__rng_below(rng, 4) == 0)
        g.batch = (xl_batch){.count = 1 + xl__rng_below(rng, 100),
                             .a_step = g.m * g.k,
                             .b_step = g.k * g.n,
                             .c_step = g.m * g.n};
    snprintf(name, sizeof name, "%s %zux%zux%zu %c%c batch %zu",
             xl_dtype_name(in), g.m, g.n, g.k, ta ? 'T' : 'N', tb ? 'T' : 'N',
             g.batch.count);
    compare_choices(q, &xl__op_gemm, &g, name, r);
}

static void compare_softmax(xl_queue *q, struct xl__rng *rng, struct ratios *r)
{
    static const xl_dtype dtypes[] = {XL_F16, XL_F32};
    const xl_dtype t = dtypes[xl__rng_below(rng, 2)];
    xl_softmax s = {XL_SOFTMAX_INIT, .rows = random_size(rng, 1 << 16),
                    .cols = random_size(rng, 1 << 17)};
    char name[96];
    s.src = s.dst = xl_mat_rows(NULL, s.cols, t);
    snprintf(name, sizeof name, "softmax %s %zu x %zu", xl_dtype_name(t),
             s.rows, s.cols);
    compare_choices(q, &xl__op_softmax, &s, name, r);
}

static void compare_conv(xl_queue *q, struct xl__rng *rng, struct ratios *r)
{
    static const xl_dtype dtypes[] = {XL_F16, XL_F32};
    static const size_t filters[] = {1, 3, 5};
    const xl_dtype t = dtypes[xl__rng_below(rng, 2)];
    const size_t f = filters[xl__rng_below(rng, 3)];
    const xl_layout layout = xl__rng_below(rng, 2) ? XL_NCHW : XL_NHWC;
    const size_t h = f + random_size(rng, 256), w = f + random_size(rng, 256);
    xl_conv c = {XL_CONV_INIT,
                 .n = 1 + random_size(rng, 64),
                 .c = random_size(rng, 512),
                 .h = h,
                 .w = w,
                 .k = random_size(rng, 512),
                 .r = f,
                 .s = f,
                 .stride_h = 1 + xl__rng_below(rng, 2),
                 .pad_top = f / 2,
                 .pad_left = f / 2,
                 .alpha = 1};
    char name[96];
    c.stride_w = c.stride_h;
    c.pad_bottom = c.pad_top;
    c.pad_right = c.pad_left;
    c.in = (xl_images){.layout = layout, .dtype = t};
    c.out = c.in;
    c.filters = (xl_filters){.layout = XL_KCRS, .dtype = t};
    snprintf(name, sizeof name, "conv %s n%zu c%zu %zux%zu k%zu r%zu",
             xl_dtype_name(t), c.n, c.c, c.h, c.w, c.k, f);
    compare_choices(q, &xl__op_conv, &c, name, r);
}

static void test_choices(void **state)
{
    static const struct {
        const char *name;
        void (*compare)(xl_queue *, struct xl__rng *, struct ratios *);
    } ops[] = {{"gemm", compare_gemm},
               {"softmax", compare_softmax},
               {"conv", compare_conv}};
    /* The largest size of a class is below 1.125 times the least. */
    static const double most_mean = 1.01, most_worst = 1.125;
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    xl_lib *lib;
    unsigned n_devices;
    (void)state;
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_int_equal(xl_device_count(lib, &n_devices), XL_OK);
    for (unsigned d = 0; d < n_devices; d++) {
        xl_queue *q;
        assert_int_equal(xl_queue_create(lib, xl_device_at(lib, d), &q),
                         XL_OK);
        for (unsigned i = 0; i < 3; i++) {
            struct xl__rng rng;
            struct ratios r = {.worst = 1};
            xl__rng_seed(&rng, SEED);
            for (unsigned s = 0; s < N_SHAPES; s++)
                ops[i].compare(q, &rng, &r);
            const double mean = exp(r.sum_log / r.n);
            print_message("%s, %s: %u shapes, %u selected by themselves, "
                          "%.4f on average, %.3f at worst (%s)\n",
                          xl__text(&q->ctx->device->limits, XL__F_name),
                          ops[i].name, r.n, r.n_exact, mean, r.worst,
                          r.worst_case);
            assert_true(mean <= most_mean);
            assert_true(r.worst <= most_worst);
        }
        xl_queue_destroy(q);
    }
    xl_close(lib);
}

/* -- canonical descriptors of any size --------------------------------------
 */

/* An op whose descriptors are LARGE words; the time of its one variant is the
 * last word. */
enum { LARGE = 1000 };

static const void *read_large(const void *given, void *full,
                              struct xl__error *e)
{
    (void)full, (void)e;
    return given;
}

static xl_status check_large(xl_queue *q, const void *desc, bool with_memory)
{
    (void)q, (void)desc, (void)with_memory;
    return XL_OK;
}

static xl_status bind_large(xl_queue *q, const void *desc, void *canonical,
                            struct xl__call *call)
{
    (void)q, (void)call;
    memcpy(canonical, desc, LARGE * sizeof(uint64_t));
    return XL_OK;
}

static const char *force_none(const void *desc)
{
    (void)desc;
    return NULL;
}

static void represent_itself(const void *canonical, enum xl__class_end end,
                             void *representative)
{
    (void)end;
    memcpy(representative, canonical, LARGE * sizeof(uint64_t));
}

static void one_class(const void *canonical, struct xl__str *out)
{
    (void)canonical;
    xl__str_add(out, "all");
}

static xl_status plan_large(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    (void)l, (void)params;
    p->est_ns = (double)((const uint64_t *)desc)[LARGE - 1];
    return XL_OK;
}

static const struct xl__op op_large = {.id = XL__OP_GEMM,
                                       .name = "large",
                                       .canonical_bytes =
                                           LARGE * sizeof(uint64_t),
                                       .read = read_large,
                                       .check = check_large,
                                       .bind = bind_large,
                                       .forced = force_none,
                                       .represent = represent_itself,
                                       .shape_class = one_class};

/* Descriptors that differ in their last word have selections of their own, in
 * calls of one queue that are open at the same time too. */
static void test_large_descriptors(void **state)
{
    static uint64_t desc[2][LARGE];
    static const struct xl__variant variant = {.name = "large",
                                               .plan = plan_large};
    static const struct xl__variant *const list[] = {&variant, NULL};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    xl_lib *lib;
    xl_queue *q;
    (void)state;
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_int_equal(xl_queue_create(lib, xl_device_at(lib, 0), &q), XL_OK);
    struct xl__vendor vendor = *q->ctx->device->vendor;
    vendor.variants[XL__OP_GEMM] = list;
    q->ctx->device->vendor = &vendor;
    for (unsigned round = 0; round < 3; round++) {
        struct xl__op_call w[2];
        for (uint64_t i = 0; i < 2; i++) {
            desc[i][LARGE - 1] = 5 + i;
            assert_int_equal(
                xl__op_call_begin(&w[i], q, &op_large, desc[i], round == 0),
                XL_OK);
        }
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(w[i].key->canonical[LARGE - 1], 5 + i);
            assert_int_equal(xl__op_call_select(&w[i]), XL_OK);
            assert_int_equal(xl__op_call_plan_first(&w[i]), XL_OK);
            assert_true(w[i].list[0].plan->est_ns == 5 + i);
        }
        assert_int_equal(w[round % 2].key_bytes, w[1 - round % 2].key_bytes);
        xl__op_call_end(&w[round % 2]);
        xl__op_call_end(&w[1 - round % 2]);
    }
    assert_int_equal(q->ctx->selections.n, 2);
    xl_queue_destroy(q);
    xl_close(lib);
}

/* -- what runs --------------------------------------------------------------
 */

enum { N_RUNS = 300, MOST = 1024 };

static void copy_label(const xl_span *span, void *arg)
{
    if (!*(char *)arg) /* a join is a step of another kernel */
        snprintf(arg, 64, "%s", span->label);
}

enum { TEXT_CAP = sizeof((xl_choice *)NULL)->tunables + 64 };

/* The chosen variant and its tunables, and the steps of its launch. */
static void explain_gemm(xl_queue *q, const xl_gemm *g, char *text, size_t cap)
{
    xl_choice c[32];
    unsigned n = 0, chosen = 0;
    assert_status(xl_gemm_explain(q, g, c, 32, &n), XL_OK, xl_error_detail(q));
    while (chosen < n && !c[chosen].chosen)
        chosen++;
    assert_true(chosen < n && n <= 32);
    snprintf(text, cap, "%.31s %.511s %zu", c[chosen].variant, c[chosen].tunables,
             c[chosen].global[0]);
}

static xl_gemm random_gemm(struct xl__rng *rng, const cl_mem mem[3])
{
    const xl_dtype in = xl__rng_below(rng, 2) ? XL_F16 : XL_F32;
    xl_gemm g = {XL_GEMM_INIT, .m = random_size(rng, MOST),
                 .n = random_size(rng, MOST), .k = random_size(rng, MOST),
                 .alpha = 1};
    g.a = xl_mat_rows(mem[0], g.k, in);
    g.b = xl__rng_below(rng, 2) ? xl_mat_cols(mem[1], g.k, in)
                                : xl_mat_rows(mem[1], g.n, in);
    g.c = xl_mat_rows(mem[2], g.n, in);
    return g;
}

/* The choice for a size is the same whatever was called before: the sizes in
 * one order on one library, and backwards on another. What explain reports is
 * the kernel that runs. */
static void test_order(void **state)
{
    static char forward[N_RUNS][TEXT_CAP];
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    (void)state;
    for (unsigned pass = 0; pass < 2; pass++) {
        static xl_gemm all[N_RUNS];
        struct xl__rng rng;
        struct test_device t;
        cl_mem mem[3];
        test_device_open(&t, &options);
        assert_status(xl_timeline_enable(t.queue, true), XL_OK, "timeline");
        for (unsigned i = 0; i < 3; i++)
            assert_status(xl_buffer_create(t.queue, MOST * MOST * 4, &mem[i]),
                          XL_OK, xl_error_detail(t.queue));
        xl__rng_seed(&rng, SEED);
        for (unsigned i = 0; i < N_RUNS; i++)
            all[i] = random_gemm(&rng, mem);
        for (unsigned i = 0; i < N_RUNS; i++) {
            const unsigned at = pass ? N_RUNS - 1 - i : i;
            char text[TEXT_CAP], label[64] = "";
            explain_gemm(t.queue, &all[at], text, sizeof text);
            if (pass == 0)
                memcpy(forward[at], text, sizeof text);
            assert_string_equal(text, forward[at]);
            assert_status(xl_gemm_run(t.queue, &all[at], NULL), XL_OK,
                          xl_error_detail(t.queue));
            assert_status(xl_timeline_drain(t.queue, copy_label, label), XL_OK,
                          xl_error_detail(t.queue));
            text[strcspn(text, " ")] = '\0';
            if (strcmp(text, "gemm_clblast") != 0) /* has no span */
                assert_memory_equal(label, text, strlen(text));
        }
        for (unsigned i = 0; i < 3; i++)
            clReleaseMemObject(mem[i]);
        test_device_close(&t);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_large_descriptors),
        cmocka_unit_test(test_order),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
