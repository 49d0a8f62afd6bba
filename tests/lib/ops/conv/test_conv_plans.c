/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions without a device: sizes of what comes out, and plans of random
 * shapes on devices made up here. Each plan must be one that the device can
 * launch, and have a self-check of the same programs, small enough for the
 * host. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/conv/conv.h"
#include "ops/conv/rearrange.h"
#include "ops/variants.h"
#include "support/support.h"
#include "support/test_h200.h"
#include "targets/targets.h"

enum { N_SHAPES = 600, SEED = 11 };

/* -- sizes -------------------------------------------------------------- */

static xl_conv plain(void)
{
    return (xl_conv){XL_CONV_INIT, .n = 1, .c = 4, .h = 10,   .w = 9,
                     .k = 6,       .r = 3, .s = 3, .alpha = 1};
}

static void expect_size(const xl_conv *c, size_t want_p, size_t want_q)
{
    size_t p = 0, q = 0;
    assert_int_equal(xl_conv_out_size(c, &p, &q), XL_OK);
    assert_int_equal(p, want_p);
    assert_int_equal(q, want_q);
}

static void out_size(void **state)
{
    size_t p = 1, q = 1;
    xl_conv c = plain();
    (void)state;
    expect_size(&c, 8, 7);
    c.pad_top = 1;
    c.pad_right = 4;
    expect_size(&c, 9, 11);
    c.stride_h = 2;
    c.stride_w = 3;
    expect_size(&c, 5, 4);
    c.dilation_h = 2;
    c.dilation_w = 6;
    expect_size(&c, 4, 1);
    c.dilation_w = 7; /* 2 * 7 + 1 columns of 13 */
    assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_BAD_SHAPE);
    assert_int_equal(p + q, 0);
    c.dilation_w = SIZE_MAX;
    assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_OVERFLOW);
    c = plain();
    c.groups = 4;
    assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_BAD_SHAPE);
    assert_int_equal(xl_conv_out_size(NULL, &p, &q), XL_BAD_ARGUMENT);
}

/* -- devices ------------------------------------------------------------ */

/* clang-format off */
static const struct machine {
    const char *name;
    double is_cpu, units, max_wg, local_bytes, width, registers, vector;
    unsigned capability; /* of matrix instructions; 0: it has none */
    const char *arch;    /* likewise, of AMD */
} machines[] = {
    /*       cpu units   wg    local width registers vector cc arch */
    {"gpu",    0,  132, 1024,   49152, 32,    65536,      1,  0, NULL},
    {"mma",    0,  108, 1024,  165888, 32,    65536,      1, 80, NULL},
    {"wgmma",  0,  132, 1024,  231424, 32,    65536,      1, 90, NULL},
    {"cdna3",  0,  304, 1024,   65536, 64,   131072,      1,  0, "gfx942"},
    {"rdna4",  0,   64, 1024,   65536, 32,    98304,      1,  0, "gfx1201"},
    {"narrow", 0,  512, 1024,   65536, 16,     8192,      1,  0, NULL},
    {"wide",   1,    2, 4096, 1048576, 16,       -1,     16,  0, NULL},
    {"avx2",   1,    8, 8192,   32768,  8,       -1,      8,  0, NULL},
    {"neon",   1,    4, 4096,   65536,  4,       -1,      4,  0, NULL},
    {"tiny",   0,    1,   64,    1024,  8,       -1,      1,  0, NULL},
    {"single", 0,    1,    1,    1024,  1,       -1,      1,  0, NULL},
};
/* clang-format on */

static void set(struct xl__limits *l, enum xl__fact_id id, double value)
{
    if (value >= 0)
        xl__limits_correct(l, id, value, XL_ASSUMED, "GE-01");
}

static void make_plan(const struct machine *m, struct xl__limits *l)
{
    xl__limits_init(l);
    set(l, XL__F_is_cpu, m->is_cpu);
    set(l, XL__F_is_gpu, !m->is_cpu);
    set(l, XL__F_compute_units, m->units);
    set(l, XL__F_max_wg_size, m->max_wg);
    set(l, XL__F_local_mem_bytes, m->local_bytes);
    set(l, XL__F_local_mem_dynamic_bytes, m->local_bytes);
    set(l, XL__F_has_local_mem, !m->is_cpu);
    set(l, XL__F_subgroup_width, m->width);
    set(l, XL__F_registers_per_cu, m->registers);
    set(l, XL__F_native_vector_f32, m->vector);
    if (m->capability > 0 || m->arch) {
        set(l, XL__F_clock_hz, 1.98e9);
        set(l, XL__F_simd_per_cu_f32, 128);
        set(l, XL__F_max_alloc_bytes, 35e9);
    }
    if (m->capability > 0)
        xl__nvidia_matrix_engine(m->capability, l);
    if (m->arch)
        xl__amd_matrix_engine(m->arch, l);
}

/* -- plans -------------------------------------------------------------- */

static void check_step(const struct xl__limits *l, const struct xl__step *s)
{
    size_t wg = 1;
    for (unsigned d = 0; d < s->dims; d++) {
        assert_true(s->global[d] > 0 && s->local[d] > 0);
        assert_int_equal(s->global[d] % s->local[d], 0);
        wg *= s->local[d];
    }
    assert_true((double)wg <= xl__num(l, XL__F_max_wg_size));
    assert_true((double)s->local_mem_bytes <=
                xl__num(l, XL__F_local_mem_bytes));
    assert_true(s->n_args < XL__MAX_ARGS);
    assert_true(strlen(s->options) + 1 < sizeof s->options);
}

static void check_params(const struct xl__variant *v,
                         const struct xl__params *params)
{
    for (unsigned i = 0; v->tunables && v->tunables[i].name; i++) {
        const int *legal = v->tunables[i].legal;
        while (*legal && *legal != params->value[i])
            legal++;
        if (!*legal)
            fail_msg("%s: %s = %d is not legal", v->name, v->tunables[i].name,
                     params->value[i]);
    }
}

/* The self-check's case is planned with the same programs. */
static void check_small(const struct xl__limits *l,
                        const struct xl__variant *v, const struct xl__conv_canonical *c,
                        const struct xl__params *params,
                        const struct xl__plan *p)
{
    /* A host's second, and less; of a gradient a sample is compared. */
    const double most_flop = c->d.pass == XL_CONV_FORWARD ? 5e8 : 2e9;
    struct xl__conv_canonical small;
    struct xl__plan *q = calloc(1, sizeof *q);
    size_t rows, cols;
    assert_non_null(q);
    (c->d.pass == XL_CONV_FORWARD ? &xl__op_conv : &xl__op_conv_data)
        ->shrink(c, v, params, &small);
    assert_int_equal(xl__conv_count_positions(&small.d, &rows, &cols), XL_OK);
    assert_int_equal(rows, small.p);
    assert_int_equal(cols, small.q);
    assert_true(!v->refuses || !v->refuses(l, &small));
    assert_int_equal(v->plan(l, &small, params, q), XL_OK);
    const xl_conv *d = &c->d, *s = &small.d;
    if (q->n_steps != p->n_steps || q->flop >= most_flop)
        fail_msg(
            "%s: %u steps, not %u; %.3g flop; n %zu %zu c %zu %zu h %zu %zu "
            "w %zu %zu k %zu %zu %zux%zu groups %zu stride %zu %zu "
            "dilation %zu %zu pad %zu %zu %zu",
            v->name, q->n_steps, p->n_steps, q->flop, d->n, s->n, d->c, s->c,
            d->h, s->h, d->w, s->w, d->k, s->k, d->r, d->s, d->groups,
            d->stride_h, d->stride_w, d->dilation_h, d->dilation_w, d->pad_top,
            d->pad_bottom, d->pad_left);
    for (unsigned i = 0; i < p->n_steps; i++) {
        check_step(l, &q->step[i]);
        assert_string_equal(q->step[i].options, p->step[i].options);
        assert_string_equal(q->step[i].kernel, p->step[i].kernel);
    }
    free(q);
}

/* false: refused. */
static bool check_variant(const struct xl__limits *l,
                          const struct xl__variant *v,
                          const struct xl__conv_canonical *c)
{
    struct xl__params params = {.source = "none"};
    if (v->refuses && v->refuses(l, c))
        return false;
    if (v->choose)
        v->choose(l, c, &params);
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    const bool is_planned = v->plan(l, c, &params, p) == XL_OK;
    if (is_planned) {
        assert_in_range(p->n_steps, 1, XL__MAX_STEPS);
        assert_true(isfinite(p->est_ns) && p->est_ns > 0);
        assert_true(p->flop > 0 && p->bytes > 0);
        for (unsigned i = 0; i < p->n_steps; i++)
            check_step(l, &p->step[i]);
        check_params(v, &params);
        check_small(l, v, c, &params, p);
    }
    free(p);
    return is_planned;
}

/* INFINITY: refused. */
static double estimate(const struct xl__limits *l, const struct xl__variant *v,
                       const struct xl__conv_canonical *c)
{
    struct xl__params params = {.source = "none"};
    if (v->refuses && v->refuses(l, c))
        return INFINITY;
    if (v->choose)
        v->choose(l, c, &params);
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    const double ns =
        v->plan(l, c, &params, p) == XL_OK ? p->est_ns : INFINITY;
    free(p);
    return ns;
}

/* -- random shapes ------------------------------------------------------ */

static size_t one_of(struct xl__rng *rng, const size_t *list, size_t n)
{
    return list[xl__rng_below(rng, n)];
}

#define ONE_OF(rng, ...)                                                      \
    one_of(rng, (const size_t[]){__VA_ARGS__},                                \
           sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t))

static xl_conv random_conv(struct xl__rng *rng)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    const size_t groups = ONE_OF(rng, 1, 1, 1, 2, 32);
    xl_conv c = {XL_CONV_INIT,
                 .n = ONE_OF(rng, 1, 2, 3, 32),
                 .h = ONE_OF(rng, 1, 7, 14, 33, 56, 224),
                 .w = ONE_OF(rng, 1, 5, 7, 14, 56, 225),
                 .groups = groups,
                 .alpha = 1};
    c.c = groups * ONE_OF(rng, 1, 3, 4, 8, 17, 64, 512);
    c.k = groups * ONE_OF(rng, 1, 2, 5, 16, 64, 257, 2048);
    c.r = ONE_OF(rng, 1, 2, 3, 4, 7, 11);
    c.s = ONE_OF(rng, 1, 3, 3, 5, 7);
    c.stride_h = ONE_OF(rng, 1, 1, 2, 3);
    c.stride_w = ONE_OF(rng, 1, 1, 2, 3);
    c.dilation_h = ONE_OF(rng, 1, 1, 2);
    c.dilation_w = ONE_OF(rng, 1, 1, 3);
    c.pad_top = ONE_OF(rng, 0, 1, 25);
    c.pad_bottom = ONE_OF(rng, 0, 1, 3);
    c.pad_left = ONE_OF(rng, 0, 1, 25);
    c.in.layout = (xl_layout)xl__rng_below(rng, 2);
    c.out.layout = (xl_layout)xl__rng_below(rng, 2);
    c.filters.layout = (xl_filter_layout)xl__rng_below(rng, 2);
    c.in.dtype = c.filters.dtype = types[xl__rng_below(rng, 3)];
    c.out.dtype = types[xl__rng_below(rng, 3)];
    c.in.offset = ONE_OF(rng, 0, 0, 1, 4, 8);
    c.out.offset = ONE_OF(rng, 0, 0, 1, 4, 8);
    c.filters.offset = ONE_OF(rng, 0, 0, 3, 4);
    c.accuracy = (xl_accuracy)xl__rng_below(rng, XL_N_ACCURACIES);
    if (c.accuracy != XL_ACCURACY_FULL) { /* where it has an effect */
        c.r = c.s = 3;
        c.stride_h = c.stride_w = c.dilation_h = c.dilation_w = 1;
        c.c /= groups;
        c.k /= groups;
        c.groups = 1;
    }
    return c;
}

/* The backward passes as the convolutions that they are lowered to. */
static void backward_on_machine(const struct machine *m, xl_conv_pass pass)
{
    enum { MOST = 8 };
    static const struct xl__variant *const variants[][MOST] = {
        [XL_CONV_BACKWARD_DATA] = {&xl__conv_data_cpu, &xl__conv_data_tiled,
                                   &xl__conv_data_ref, &xl__conv_data_mma,
                                   &xl__conv_data_wgmma,
                                   &xl__conv_data_lowered_wgmma,
                                   &xl__conv_data_direct,
                                   &xl__conv_data_depthwise},
        [XL_CONV_BACKWARD_FILTERS] = {
            &xl__conv_filters_cpu, &xl__conv_filters_tiled,
            &xl__conv_filters_ref, &xl__conv_filters_mma,
            &xl__conv_filters_wgmma, &xl__conv_filters_depthwise}};
    unsigned planned[MOST] = {0};
    struct xl__limits l;
    struct xl__rng rng;
    make_plan(m, &l);
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        xl_conv d = random_conv(&rng);
        struct xl__conv_canonical c;
        struct xl__call call;
        size_t p, q;
        if (xl_conv_out_size(&d, &p, &q) != XL_OK)
            continue;
        d.pass = pass;
        *(pass == XL_CONV_BACKWARD_DATA ? &d.filters.dtype : &d.in.dtype) =
            d.out.dtype;
        memset(&call, 0, sizeof call);
        assert_int_equal(xl__op_conv_data.bind(NULL, &d, &c, &call), XL_OK);
        for (unsigned v = 0; v < MOST && variants[pass][v]; v++)
            planned[v] += check_variant(&l, variants[pass][v], &c);
    }
    assert_int_equal(planned[0] > 0, m->is_cpu && m->vector >= 4);
    assert_true(planned[1] > 0 && planned[2] > 0);
    assert_int_equal(planned[3] > 0, m->capability >= 80 || m->arch);
    const bool is_data = pass == XL_CONV_BACKWARD_DATA;
    for (unsigned v = 4; v < (is_data ? 6 : 5); v++)
        assert_int_equal(planned[v] > 0, m->capability == 90);
    assert_true(planned[is_data ? 7 : 5] > 0);
    xl__limits_clear(&l);
}

/* Arguments of a product's plan, of memory of the call and of scratch. */
static void redirected(void **state)
{
    enum { LINE = 64, ELEMS = 1000, AT = 3, AT_LINE = 5 };
    const struct xl__conv_place to[] = {
        {XL__CONV_OUT, XL__CONV_OFF_OUT, ELEMS},
        {XL__MEM_SCRATCH, 0, ELEMS},
        {XL__MEM_SCRATCH, 0, 0}};
    const struct xl__arg coords = {
        .kind = XL__ARG_COORDS, .as.at = {AT, AT_LINE}, .line = LINE};
    const uint32_t at = AT + ELEMS % LINE, at_line = AT_LINE + ELEMS / LINE;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct xl__arg mem = {.kind = XL__ARG_MEM, .slot = XL__GEMM_A + i};
        struct xl__arg offset = {
            .kind = XL__ARG_VALUE_U64, .slot = XL__GEMM_OFF_A + i, .as.u = AT};
        struct xl__arg place = coords;
        place.slot = XL__GEMM_OFF_A + i;
        xl__conv_redirect(to, &mem);
        xl__conv_redirect(to, &offset);
        xl__conv_redirect(to, &place);
        assert_int_equal(mem.slot, to[i].mem);
        assert_int_equal(offset.kind, i ? XL__ARG_U64 : XL__ARG_VALUE_U64);
        assert_int_equal(offset.as.u, AT + ELEMS);
        assert_int_equal(place.kind, i ? XL__ARG_U64 : XL__ARG_COORDS);
        if (i == 0)
            assert_int_equal(place.slot, XL__CONV_OFF_OUT);
        assert_int_equal(i ? (uint32_t)place.as.u : place.as.at[0], at);
        assert_int_equal(i ? place.as.u >> 32 : place.as.at[1], at_line);
    }
    struct xl__arg beta = {.kind = XL__ARG_VALUE_F32, .slot = XL__GEMM_BETA};
    xl__conv_redirect(to, &beta);
    assert_int_equal(beta.slot, XL__CONV_ZERO);
}

static void on_machine(const struct machine *m)
{
    static const struct xl__variant *const variants[] = {
        &xl__conv_cpu,       &xl__conv_tiled,      &xl__conv_ref,
        &xl__conv_direct,    &xl__conv_winograd_2, &xl__conv_winograd_4,
        &xl__conv_depthwise, &xl__conv_mma,        &xl__conv_wgmma};
    enum { N_VARIANTS = sizeof variants / sizeof *variants };
    unsigned planned[N_VARIANTS] = {0};
    struct xl__limits l;
    struct xl__rng rng;
    make_plan(m, &l);
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        const xl_conv d = random_conv(&rng);
        struct xl__conv_canonical c;
        struct xl__call call;
        size_t p, q;
        if (xl_conv_out_size(&d, &p, &q) != XL_OK)
            continue;
        memset(&call, 0, sizeof call);
        assert_int_equal(xl__op_conv.bind(NULL, &d, &c, &call), XL_OK);
        for (unsigned v = 0; v < N_VARIANTS; v++)
            planned[v] += check_variant(&l, variants[v], &c);
    }
    /* Each of them where it belongs. */
    assert_int_equal(planned[0] > 0, m->is_cpu && m->vector >= 4);
    assert_true(planned[1] > 0 && planned[2] > 0 && planned[3] > 0);
    assert_int_equal(planned[4] > 0, m->is_cpu && m->vector >= 4);
    assert_true(planned[4] >= planned[5]);
    assert_true(planned[6] > 0 && planned[6] < planned[3]);
    assert_int_equal(planned[7] > 0, m->capability >= 80 || m->arch);
    assert_int_equal(planned[8] > 0, m->capability == 90);
    xl__limits_clear(&l);
}

/* 32 images of 3 x 3 filters, padded by 1. */
static xl_conv depthwise_layer(xl_conv_pass pass, size_t channels, size_t size,
                               size_t stride, xl_layout layout)
{
    return (xl_conv){XL_CONV_INIT,
                     .pass = pass,
                     .n = 32,
                     .c = channels,
                     .h = size,
                     .w = size,
                     .k = channels,
                     .r = 3,
                     .s = 3,
                     .groups = channels,
                     .stride_h = stride,
                     .stride_w = stride,
                     .pad_top = 1,
                     .pad_bottom = 1,
                     .pad_left = 1,
                     .pad_right = 1,
                     .alpha = 1,
                     .in.layout = layout,
                     .out.layout = layout};
}

/* For a depthwise layer a direct variant is estimated below all others: on
 * GPUs that for depthwise layers alone. */
static void depthwise(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * sizeof machines / sizeof *machines; i++) {
        const struct machine *m = &machines[i / 2];
        const xl_layout layout = i % 2 ? XL_NCHW : XL_NHWC;
        const xl_conv d = {XL_CONV_INIT, .n = 32, .c = 128, .h = 56, .w = 56,
                           .k = 128, .r = 3, .s = 3, .groups = 128,
                           .pad_top = 1, .pad_bottom = 1, .pad_left = 1,
                           .pad_right = 1, .alpha = 1,
                           .in.layout = layout, .out.layout = layout};
        static const struct xl__variant *const others[] = {
            &xl__conv_cpu, &xl__conv_tiled, &xl__conv_ref};
        struct xl__conv_canonical c;
        struct xl__call call;
        struct xl__limits l;
        make_plan(m, &l);
        memset(&call, 0, sizeof call);
        assert_int_equal(xl__op_conv.bind(NULL, &d, &c, &call), XL_OK);
        const double direct = estimate(&l, &xl__conv_direct, &c);
        const double lanes = estimate(&l, &xl__conv_depthwise, &c);
        const double own = m->is_cpu ? direct : lanes;
        assert_true(isfinite(own) && own < (m->is_cpu ? lanes : direct));
        for (size_t v = 0; v < sizeof others / sizeof *others; v++)
            assert_true(own < estimate(&l, others[v], &c));
        xl__limits_clear(&l);
    }
}

/* So are the gradients on GPUs, strides or not. */
static void depthwise_gradients(void **state)
{
    static const struct xl__variant *const variants[][5] = {
        [XL_CONV_BACKWARD_DATA] = {&xl__conv_data_depthwise,
                                   &xl__conv_data_direct, &xl__conv_data_tiled,
                                   &xl__conv_data_ref},
        [XL_CONV_BACKWARD_FILTERS] = {
            &xl__conv_filters_depthwise, &xl__conv_filters_cpu,
            &xl__conv_filters_tiled, &xl__conv_filters_ref}};
    (void)state;
    for (unsigned i = 0; i < 8 * sizeof machines / sizeof *machines; i++) {
        const struct machine *m = &machines[i / 8];
        const xl_layout layout = i % 2 ? XL_NCHW : XL_NHWC;
        const xl_conv_pass pass =
            i % 4 < 2 ? XL_CONV_BACKWARD_DATA : XL_CONV_BACKWARD_FILTERS;
        const size_t stride = i % 8 < 4 ? 1 : 2;
        const xl_conv d = depthwise_layer(pass, 128, 56, stride, layout);
        struct xl__conv_canonical c;
        struct xl__call call;
        struct xl__limits l;
        make_plan(m, &l);
        memset(&call, 0, sizeof call);
        assert_int_equal(xl__op_conv_data.bind(NULL, &d, &c, &call), XL_OK);
        const double own = estimate(&l, variants[pass][0], &c);
        assert_true(isfinite(own));
        for (size_t v = 1; variants[pass][v] && !m->is_cpu; v++)
            assert_true(own < estimate(&l, variants[pass][v], &c));
        xl__limits_clear(&l);
    }
}

/* The fastest of those measured (NV-74): few items have fewer columns each,
 * and filters of few rows are added in one launch. */
static void depthwise_tunables(void **state)
{
    enum { AT_VW, AT_TX };
    static const struct {
        size_t channels, side, stride;
        int columns; /* of an item, forward and gradient of images */
        size_t groups[XL_CONV_BACKWARD_FILTERS + 1], launches; /* of filters */
    } layers[] = {{256, 28, 1, 4, {448, 512, 896}, 2},
                  {256, 28, 2, 4, {256, 256, 896}, 2},
                  {512, 14, 1, 4, {256, 256, 896}, 2},
                  {512, 14, 2, 2, {256, 256, 448}, 2},
                  {1024, 7, 1, 2, {256, 256, 128}, 1}};
    static const struct xl__variant *const variants[] = {
        [XL_CONV_FORWARD] = &xl__conv_depthwise,
        [XL_CONV_BACKWARD_DATA] = &xl__conv_data_depthwise,
        [XL_CONV_BACKWARD_FILTERS] = &xl__conv_filters_depthwise};
    static const struct xl__op *const ops[] = {
        [XL_CONV_FORWARD] = &xl__op_conv,
        [XL_CONV_BACKWARD_DATA] = &xl__op_conv_data,
        [XL_CONV_BACKWARD_FILTERS] = &xl__op_conv_filters};
    enum { PASSES = sizeof ops / sizeof *ops };
    struct xl__limits l;
    (void)state;
    test_h200_limits(&l);
    for (size_t i = 0; i < PASSES * sizeof layers / sizeof *layers; i++) {
        const xl_conv_pass pass = (xl_conv_pass)(i % PASSES);
        const bool of_filters = pass == XL_CONV_BACKWARD_FILTERS;
        const size_t n = i / PASSES;
        xl_conv d = depthwise_layer(pass, layers[n].channels, layers[n].side,
                                    layers[n].stride, XL_NHWC);
        d.in.dtype = d.filters.dtype = d.out.dtype = XL_F16;
        struct xl__conv_canonical c;
        struct xl__call call;
        struct xl__params p;
        struct xl__plan *plan = xl__calloc(1, sizeof *plan);
        assert_non_null(plan);
        memset(&call, 0, sizeof call);
        assert_int_equal(ops[pass]->bind(NULL, &d, &c, &call), XL_OK);
        variants[pass]->choose(&l, &c, &p);
        assert_int_equal(p.value[AT_VW], of_filters ? 2 : 4);
        if (!of_filters)
            assert_int_equal(p.value[AT_TX], layers[n].columns);
        assert_int_equal(variants[pass]->plan(&l, &c, &p, plan), XL_OK);
        assert_int_equal(plan->n_steps, of_filters ? layers[n].launches : 1);
        assert_int_equal(plan->step[0].global[0] / plan->step[0].local[0],
                         layers[n].groups[pass]);
        free(plan);
    }
    xl__limits_clear(&l);
}

/* Operands of an epilogue take registers of columns: NV-82. */
static void depthwise_epilogue(void **state)
{
    enum { AT_VW, AT_TX };
    static const struct {
        size_t stride;
        unsigned n;
        int columns;
    } seen[] = {{1, 1, 4}, {1, 5, 4}, {2, 1, 2}, {2, 5, 2}};
    struct xl__limits l;
    (void)state;
    test_h200_limits(&l);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        struct xl__epilogue_text text = {.n_operands = seen[i].n};
        struct xl__conv_canonical c;
        struct xl__call call;
        struct xl__params p;
        xl_conv d =
            depthwise_layer(XL_CONV_FORWARD, 256, 28, seen[i].stride, XL_NHWC);
        d.in.dtype = d.filters.dtype = d.out.dtype = XL_F16;
        memset(&call, 0, sizeof call);
        assert_int_equal(xl__op_conv.bind(NULL, &d, &c, &call), XL_OK);
        for (unsigned k = 0; k < seen[i].n; k++)
            text.operand[k].stride[XL__ALONG_COLS] = 1;
        c.snippet = &text;
        xl__conv_depthwise.choose(&l, &c, &p);
        assert_int_equal(p.value[AT_VW], 4);
        assert_int_equal(p.value[AT_TX], seen[i].columns);
    }
    xl__limits_clear(&l);
}

static void plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        on_machine(&machines[i]);
}

static void backward_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        backward_on_machine(&machines[i], XL_CONV_BACKWARD_DATA);
}

static void backward_filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        backward_on_machine(&machines[i], XL_CONV_BACKWARD_FILTERS);
}

/* Memory, offsets and scalars do not make another plan; alignments do. */
static void canonical(void **state)
{
    xl_conv d = plain();
    struct xl__conv_canonical a, b;
    struct xl__call call;
    (void)state;
    memset(&call, 0, sizeof call);
    xl__op_conv.bind(NULL, &d, &a, &call);
    d.alpha = 3;
    d.groups = d.stride_h = d.dilation_w = 1;
    d.in.offset = 64;
    d.in.stride[0] = 360; /* of one image: says nothing */
    d.in.stride[1] = 90;
    d.in.stride[2] = 9;
    d.in.stride[3] = 1;
    xl__op_conv.bind(NULL, &d, &b, &call);
    assert_memory_equal(&a, &b, sizeof a);
    d.in.offset = 65;
    xl__op_conv.bind(NULL, &d, &b, &call);
    assert_memory_not_equal(&a, &b, sizeof a);
}

/* Pixels that begin at a line of the cache, and in the middle of one: a class
 * each, of which the tuner measures such data. */
static void line_starts(void **state)
{
    struct xl__conv_canonical c;
    struct xl__call call;
    xl_conv d = plain();
    (void)state;
    d.c = 64;
    d.in.layout = XL_NHWC;
    d.in.dtype = d.filters.dtype = d.out.dtype = XL_F16;
    for (size_t half = 0; half < 2; half++) {
        memset(&call, 0, sizeof call);
        d.in.offset = half * 32;
        assert_int_equal(xl__op_conv.bind(NULL, &d, &c, &call), XL_OK);
        assert_int_equal(c.d.in.offset, half ? 64 : 128);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(out_size),
                                       cmocka_unit_test(plans),
                                       cmocka_unit_test(depthwise),
                                       cmocka_unit_test(depthwise_tunables),
                                       cmocka_unit_test(depthwise_epilogue),
                                       cmocka_unit_test(depthwise_gradients),
                                       cmocka_unit_test(backward_data),
                                       cmocka_unit_test(redirected),
                                       cmocka_unit_test(backward_filters),
                                       cmocka_unit_test(canonical),
                                       cmocka_unit_test(line_starts)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("conv", tests, NULL, NULL);
}
