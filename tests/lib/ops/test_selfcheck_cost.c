/* SPDX-License-Identifier: Apache-2.0 */
/* What the self-check costs the host, counted: on every captured device, for
 * every variant of every op and descriptors of all kinds, the case is planned
 * with the programs that it is to check, its multiply-adds are at most
 * XL__CASE_TERMS and its memory at most XL__CASE_BYTES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "device/device.h"
#include "ops/variants.h"
#include "support/support.h"
#include "targets/targets.h"

static const char files[] = XL_TEST_DEVICES
    "/h200.txt," XL_TEST_DEVICES "/mi300x.txt," XL_TEST_DEVICES
    "/rx7900xtx.txt," XL_TEST_DEVICES "/arc-a770.txt," XL_TEST_DEVICES
    "/adreno.txt," XL_TEST_DEVICES "/pocl.txt," XL_TEST_DEVICES "/liar.txt";
enum { N_SHAPES = 300, SEED = 7, DESC_WORDS = 160 };

static struct xl__devices devices = {.targets = &xl__targets};

/* -- descriptors ---------------------------------------------------------- */

static size_t pick(struct xl__rng *rng, const size_t *list, size_t n)
{
    return list[xl__rng_below(rng, n)];
}

static size_t random_size(struct xl__rng *rng)
{
    static const size_t sizes[] = {
        1,   2,   3,    4,    7,    8,    16,   24,   64,   100,  128,  129,
        255, 256, 1000, 1024, 1536, 2049, 3072, 4095, 4096, 8192, 14336};
    return pick(rng, sizes, sizeof sizes / sizeof *sizes);
}

static xl_mat random_view(struct xl__rng *rng, size_t rows, size_t cols,
                          xl_dtype dtype)
{
    static const size_t pads[] = {0, 0, 0, 0, 16, 64, 8, 1};
    const size_t pad = pick(rng, pads, sizeof pads / sizeof *pads);
    return xl__rng_below(rng, 2) ? xl_mat_rows(NULL, cols + pad, dtype)
                                 : xl_mat_cols(NULL, rows + pad, dtype);
}

static void random_gemm(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[][2] = {
        {XL_F16, XL_F16}, {XL_F16, XL_F32},     {XL_BF16, XL_BF16},
        {XL_F32, XL_F32}, {XL_F64, XL_F64},     {XL_I8, XL_I32},
        {XL_I8, XL_F16},  {XL_F8E4M3, XL_BF16}, {XL_F8E5M2, XL_F32}};
    const xl_dtype *t =
        types[xl__rng_below(rng, sizeof types / sizeof *types)];
    xl_gemm g = {XL_GEMM_INIT, .m = random_size(rng), .n = random_size(rng),
                 .k = random_size(rng), .alpha = 1};
    if (xl__rng_below(rng, 2)) /* a skinny one */
        *(xl__rng_below(rng, 2) ? &g.m : &g.n) = 1 + xl__rng_below(rng, 16);
    g.beta = (double)xl__rng_below(rng, 2);
    g.accuracy = (xl_accuracy)xl__rng_below(rng, XL_N_ACCURACIES);
    g.a = random_view(rng, g.m, g.k, t[0]);
    g.b = random_view(rng, g.k, g.n, t[0]);
    g.c = random_view(rng, g.m, g.n, t[1]);
    if (xl__rng_below(rng, 4) == 0) {
        g.batch.count = 8;
        g.batch.a_step = g.batch.b_step = g.batch.c_step = (size_t)1 << 28;
    }
    memcpy(out, &g, sizeof g);
}

static void random_softmax(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    const xl_dtype dtype = types[xl__rng_below(rng, 3)];
    xl_softmax s = {XL_SOFTMAX_INIT, .rows = random_size(rng),
                    .cols = random_size(rng)};
    if (xl__rng_below(rng, 3) == 0)
        s.cols *= 64;
    s.src = xl_mat_rows(NULL, s.cols + xl__rng_below(rng, 3), dtype);
    s.dst = xl_mat_rows(NULL, s.cols + xl__rng_below(rng, 3), dtype);
    memcpy(out, &s, sizeof s);
}

static void random_norm(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    xl_norm n = {XL_NORM_INIT, .rows = random_size(rng),
                 .cols = random_size(rng),
                 .kind = (xl_norm_kind)xl__rng_below(rng, XL_N_NORM_KINDS)};
    if (xl__rng_below(rng, 3) == 0)
        n.cols *= 64;
    n.src = xl_mat_rows(NULL, n.cols, types[xl__rng_below(rng, 3)]);
    n.dst = xl_mat_rows(NULL, n.cols + xl__rng_below(rng, 3),
                        types[xl__rng_below(rng, 3)]);
    n.scale = n.bias = xl_mat_rows(NULL, n.cols, XL_F32);
    if (xl__rng_below(rng, 2) == 0)
        n.residual = n.sum = n.src;
    memcpy(out, &n, sizeof n);
}

static void random_gradient(struct xl__rng *rng, void *out)
{
    xl_norm n;
    random_norm(rng, &n);
    n.is_backward = true;
    n.grad = n.src;
    n.residual = n.sum = n.bias = (xl_mat){.offset = 0};
    n.grad_scale = n.grad_bias = n.scale;
    memcpy(out, &n, sizeof n);
}

static void random_conv(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[][2] = {{XL_F32, XL_F32}, {XL_F16, XL_F16},
                                        {XL_F16, XL_F32}, {XL_BF16, XL_BF16},
                                        {XL_I8, XL_I32},  {XL_I8, XL_F16}};
    static const size_t filters[] = {1, 1, 3, 3, 5, 7, 11};
    static const size_t channels[] = {1, 3, 16, 32, 64, 100, 256, 512};
    const xl_dtype *t =
        types[xl__rng_below(rng, sizeof types / sizeof *types)];
    const xl_layout layout = xl__rng_below(rng, 2) ? XL_NCHW : XL_NHWC;
    size_t p, q;
    xl_conv c = {XL_CONV_INIT, .n = 1 + xl__rng_below(rng, 4), .alpha = 1};
    c.c = pick(rng, channels, 8);
    c.k = pick(rng, channels, 8);
    c.r = c.s = pick(rng, filters, 7);
    c.h = c.r + xl__rng_below(rng, 60);
    c.w = c.s + xl__rng_below(rng, 60);
    c.groups = xl__rng_below(rng, 4) == 0 && c.c == c.k ? c.c : 1;
    c.pad_top = c.pad_left = xl__rng_below(rng, 2);
    c.stride_h = c.stride_w = 1 + xl__rng_below(rng, 2);
    assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_OK);
    c.in = (xl_images){.layout = layout, .dtype = t[0]};
    c.out = (xl_images){.layout = layout, .dtype = t[1]};
    c.filters.dtype = t[0];
    memcpy(out, &c, sizeof c);
}

static void random_qgemm(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    static const size_t units[] = {8, 24, 128, 448};
    const size_t k = 32 * pick(rng, units, 4);
    xl_qgemm g = {XL_QGEMM_INIT, .m = 1 + xl__rng_below(rng, 20)};
    g.w.shape = (xl_qshape){(xl_qformat)xl__rng_below(rng, XL_N_QFORMATS),
                            random_size(rng), k, 64,
                            xl__rng_below(rng, 3) * 64};
    g.w.has_zeros = g.w.shape.format == XL_INT4 && xl__rng_below(rng, 2) == 0;
    g.a = xl_mat_rows(NULL, k + xl__rng_below(rng, 3),
                      types[xl__rng_below(rng, 3)]);
    g.c = xl__rng_below(rng, 2)
              ? xl_mat_rows(NULL, g.w.shape.rows, types[xl__rng_below(rng, 3)])
              : xl_mat_cols(NULL, g.m, types[xl__rng_below(rng, 3)]);
    if (xl__rng_below(rng, 3) == 0) {
        g.norm.kind = XL_QGEMM_NORM_RMS;
        g.norm.gain = xl_mat_rows(NULL, k, types[xl__rng_below(rng, 3)]);
        g.norm.gain.offset = xl__rng_below(rng, 3);
    }
    if (g.w.shape.format != XL_INT8 && xl__rng_below(rng, 4) == 0)
        g.activations = XL_ACTIVATIONS_I8; /* int8 needs a queue */
    memcpy(out, &g, sizeof g);
}

static void random_qconvert(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    static const size_t units[] = {8, 24, 128, 448};
    xl_qconvert c = {XL_QCONVERT_INIT,
                     .direction = (xl_qdirection)xl__rng_below(rng, 2)};
    c.w.shape = (xl_qshape){(xl_qformat)xl__rng_below(rng, XL_N_QFORMATS),
                            random_size(rng), 32 * pick(rng, units, 4), 64,
                            xl__rng_below(rng, 3) * 64};
    c.x = xl_mat_rows(NULL, c.w.shape.cols + xl__rng_below(rng, 3),
                      types[xl__rng_below(rng, 3)]);
    memcpy(out, &c, sizeof c);
}

static void random_rotary(struct xl__rng *rng, void *out)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    static const size_t dims[] = {64, 80, 128, 256};
    const xl_dtype t = types[xl__rng_below(rng, 3)];
    xl_rotary r = {XL_ROTARY_INIT,
                   .n_heads = 1 + xl__rng_below(rng, 64),
                   .n_q = random_size(rng),
                   .d_head = pick(rng, dims, 4),
                   .n_batch = (size_t)1 << xl__rng_below(rng, 33),
                   .q = {.dtype = t},
                   .k = {.dtype = t},
                   .q_out = {.dtype = t},
                   .k_cache = {.dtype = XL_I8}};
    r.n_kv = r.n_q;
    memcpy(out, &r, sizeof r);
}

/* -- the check ------------------------------------------------------------ */

/* The most of one variant on all devices. */
struct most {
    const char *name;
    double terms;
    size_t bytes;
    unsigned n;
};

static void count_memory(const struct xl__op *op, const char *name,
                         void *small, struct most *most)
{
    struct xl__selfcheck_case t = {.of = NULL};
    size_t bytes = 0;
    assert_int_equal(op->case_init(small, &t), XL_OK);
    for (unsigned i = 0; i < XL__CASE_MEMS; i++)
        bytes += t.before[i] ? t.bytes[i] : 0;
    xl__case_clear(&t);
    most->bytes = xl__max_size(most->bytes, bytes);
    if (bytes > XL__CASE_BYTES)
        fail_msg("%s: a case of %zu bytes", name, bytes);
}

static void check_programs(const char *device, const char *name,
                           const struct xl__plan *p,
                           const struct xl__plan *small)
{
    assert_true(small->n_steps >= p->n_steps);
    for (unsigned i = 0; i < p->n_steps; i++) {
        if (strcmp(p->step[i].options, small->step[i].options) != 0 ||
            strcmp(p->step[i].kernel, small->step[i].kernel) != 0)
            fail_msg("%s, %s:\n%s%s\nits case\n%s%s", device, name,
                     p->step[i].kernel, p->step[i].options,
                     small->step[i].kernel, small->step[i].options);
    }
}

static void check(const xl_device *dev, const struct xl__op *op,
                  const struct xl__variant *v, const void *canonical,
                  struct most *most)
{
    const struct xl__limits *l = &dev->limits;
    struct xl__params params = {.source = "model"};
    uint64_t small[DESC_WORDS];
    struct xl__plan *plans = calloc(2, sizeof *plans);
    assert_non_null(plans);
    if (v->refuses && v->refuses(l, canonical))
        goto done;
    if (v->choose)
        v->choose(l, canonical, &params);
    if (v->plan(l, canonical, &params, &plans[0]) != XL_OK ||
        plans[0].step[0].external)
        goto done;
    op->shrink(canonical, v, &params, small);
    assert_int_equal(v->plan(l, small, &params, &plans[1]), XL_OK);
    check_programs(xl__text(l, XL__F_name), v->name, &plans[0], &plans[1]);
    most->terms =
        plans[1].flop / 2 > most->terms ? plans[1].flop / 2 : most->terms;
    if (plans[1].flop / 2 > XL__CASE_TERMS)
        fail_msg("%s, %s: a case of %g multiply-adds", xl__text(l, XL__F_name),
                 v->name, plans[1].flop / 2);
    most->n++;
    count_memory(op, v->name, small, most);
done:
    free(plans);
}

/* A variant with the plans of another op's has the cases of that op. */
static void check_variant(const xl_device *dev, const struct xl__op *op,
                          const struct xl__variant *v, const void *canonical,
                          struct most *most)
{
    uint64_t mapped[DESC_WORDS] = {0};
    const struct xl__inner *inner = v->inner;
    most->name = v->name;
    if (!inner)
        check(dev, op, v, canonical, most);
    else if (!inner->map(canonical, mapped))
        check(dev, inner->op, inner->variant, mapped, most);
}

static void check_op(enum xl__op_id id,
                     void (*random)(struct xl__rng *rng, void *out))
{
    const struct xl__op *op = xl__ops[id];
    struct xl__rng rng;
    for (size_t i = 0; i < devices.n_flat; i++) {
        const xl_device *dev = devices.flat[i];
        const struct xl__variant *const *list = dev->vendor->variants[id];
        struct most most[16] = {{NULL, 0, 0, 0}};
        xl__rng_seed(&rng, SEED);
        for (unsigned n = 0; n < N_SHAPES; n++) {
            uint64_t desc[DESC_WORDS], canonical[DESC_WORDS];
            struct xl__call call;
            random(&rng, desc);
            assert_true(op->canonical_bytes <= sizeof canonical);
            assert_int_equal(op->bind(NULL, desc, canonical, &call), XL_OK);
            for (size_t v = 0; list[v]; v++)
                check_variant(dev, op, list[v], canonical, &most[v]);
        }
        for (size_t v = 0; list[v]; v++)
            printf("%s, %s: %u cases, at most %.3g multiply-adds, %zu bytes\n",
                   xl__text(&dev->limits, XL__F_name), most[v].name, most[v].n,
                   most[v].terms, most[v].bytes);
    }
}

static void gemm(void **state)
{
    (void)state;
    check_op(XL__OP_GEMM, random_gemm);
}

static void softmax(void **state)
{
    (void)state;
    check_op(XL__OP_SOFTMAX, random_softmax);
}

static void norm(void **state)
{
    (void)state;
    check_op(XL__OP_NORM, random_norm);
    check_op(XL__OP_NORM_BACKWARD, random_gradient);
}

static void conv(void **state)
{
    (void)state;
    check_op(XL__OP_CONV, random_conv);
}

static void qgemm(void **state)
{
    (void)state;
    check_op(XL__OP_QGEMM, random_qgemm);
}

static void qconvert(void **state)
{
    (void)state;
    check_op(XL__OP_QCONVERT, random_qconvert);
}

static void rotary(void **state)
{
    (void)state;
    check_op(XL__OP_ROTARY, random_rotary);
}

static int setup(void **state)
{
    (void)state;
    return xl__devices_enumerate(&devices, NULL);
}

static int teardown(void **state)
{
    (void)state;
    xl__devices_clear(&devices);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm),     cmocka_unit_test(softmax),
        cmocka_unit_test(norm),     cmocka_unit_test(conv),
        cmocka_unit_test(qgemm),    cmocka_unit_test(rotary),
        cmocka_unit_test(qconvert),
    };
    test_args(argc, argv);
    test_setenv("XL_STUB_DEVICE", files);
    return cmocka_run_group_tests(tests, setup, teardown);
}
