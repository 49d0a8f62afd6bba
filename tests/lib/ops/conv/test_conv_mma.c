/* SPDX-License-Identifier: Apache-2.0 */
/* conv_mma, or the variant of a backward pass, on a device that has no matrix
 * engine, by the emulation of
 * cl/common/matrix/emulated.clh: the case table of convolution, then tiles of
 * the model with strides, dilation, padding and groups by turns. The
 * comparison is clbench's own: host sums in double, guard zones around every
 * buffer.
 *
 * XL_TEST_FULL  set: every tile with every shape, also large ones
 * XL_TEST_ARCH  an architecture of AMD whose instructions are emulated; dg2 or
 *               pvc: Intel's, conv_dpas
 * XL_TEST_1X1   set, with these: filters of one element by gemm_dpas
 * XL_TEST_PASS  data or filters: conv_data_mma, conv_filters_mma */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cases/conv_cases.h"
#include "ops/conv/conv.h"
#include "ops/gemm/engines/dpas.h"
#include "ops/gemm/engines/mma.h"
#include "ops/variants.h"
#include "runtime/launch.h"
#include "support/emulated_variant.h"
#include "verify/verify.h"

enum { SEED = 20, LEAST_OF_1X1 = 1 };

static struct test_device t;
static bool takes_all;
static bool is_1x1;
static const char *arch; /* of AMD; NULL: mma.sync */

/* The passes, by XL_TEST_PASS: on an engine of any vendor, on Intel's. */
enum { MMA, DPAS, DPAS_1X1, N_OWN };
static const struct {
    const char *name;
    enum xl__op_id op;
    const struct xl__variant *own[N_OWN];
} passes[] = {
    [XL_CONV_FORWARD] = {"forward",
                         XL__OP_CONV,
                         {&xl__conv_mma, &xl__conv_dpas, &xl__conv_gemm_dpas}},
    [XL_CONV_BACKWARD_DATA] = {"data",
                               XL__OP_CONV_DATA,
                               {&xl__conv_data_mma, &xl__conv_data_dpas,
                                &xl__conv_data_gemm_dpas}},
    [XL_CONV_BACKWARD_FILTERS] = {"filters",
                                  XL__OP_CONV_FILTERS,
                                  {&xl__conv_filters_mma,
                                   &xl__conv_filters_dpas,
                                   &xl__conv_filters_gemm_dpas}}};
static const struct xl__variant *own; /* of the pass */
static bool is_dpas;                  /* Intel's engine */
static xl_conv_pass pass;

static int open_device(void **state)
{
    (void)state;
    emulated_open(&t, passes[pass].op, own);
    if (arch)
        emulate_chip(&t.device->limits, arch);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

/* A case that came out right; false: it is not taken. */
static bool is_right(const struct conv_case *c, const char *what)
{
    struct check_result r = {0};
    const int status = verify_conv(t.queue, c, own->name, SEED, &r);
    if (status == XL_UNSUPPORTED)
        return false;
    if (status != XL_OK || !r.right)
        fail_msg("%s, '%s': %s: %s %s", what, c->name, xl_status_name(status),
                 r.why, xl_error_detail(t.queue));
    return true;
}

static void case_table(void **state)
{
    unsigned n_right = 0, n_refused = 0;
    (void)state;
    bool is_there;
    struct conv_case c;
    for (unsigned i = 0; conv_case_of_pass(i, pass, &c, &is_there); i++) {
        if (!is_there || !(c.use & CASE_VERIFY))
            continue;
        if (is_right(&c, "the model's tile"))
            n_right++;
        else
            n_refused++;
    }
    print_message("%u cases right, %u not taken\n", n_right, n_refused);
    assert_in_range(n_right, is_1x1 ? LEAST_OF_1X1 : 15, 1000);
}

/* Every kind of window; channels that slices hold a part of, one and several
 * pixels of; a product cut by k. */
static const struct conv_case shapes[] = {
    {.n = 3,
     .c = 40,
     .h = 11,
     .w = 9,
     .k = 40,
     .r = 3,
     .s = 3,
     .pad = {1, 1, 1, 1}},
    {.n = 2,
     .c = 16,
     .h = 17,
     .w = 14,
     .k = 24,
     .r = 5,
     .s = 2,
     .pad = {4, 0, 1, 2},
     .stride = {2, 3}},
    {.n = 1,
     .c = 8,
     .h = 23,
     .w = 19,
     .k = 72,
     .r = 7,
     .s = 7,
     .pad = {3, 3, 3, 3},
     .dilation = {1, 2},
     .beta = 1,
     .gap = 8,
     .off = 24},
    {.n = 5,
     .c = 144,
     .h = 7,
     .w = 6,
     .k = 33,
     .r = 1,
     .s = 1,
     .stride = {2, 2}},
    {.n = 2,
     .c = 80,
     .h = 8,
     .w = 7,
     .k = 96,
     .r = 3,
     .s = 3,
     .groups = 2,
     .dilation = {2, 1},
     .pad = {2, 1, 0, 1}},
    {.n = 3,
     .c = 96,
     .h = 9,
     .w = 6,
     .k = 80,
     .r = 2,
     .s = 3,
     .groups = 2,
     .pad = {1, 0, 1, 1}},
    {.n = 2,
     .c = 3,
     .h = 19,
     .w = 27,
     .k = 40,
     .r = 7,
     .s = 7,
     .pad = {3, 3, 3, 3},
     .stride = {2, 2}},
};
enum {
    N_SHAPES = sizeof shapes / sizeof *shapes,
    BAND = 4,
    MOST_PARTS = 2,
    SAMPLED = 3,  /* of Intel's */
    OF_BYTES = 32 /* channels of a group of i8 */
};

/* The i-th of the model's tiles. Intel's, of one or two instructions along k:
 * which of them depends on the channels of a pixel; of the gradient of filters
 * as many as items of a sub-group have windows, and twice that. */
static struct xl__params listed(unsigned i, xl_dtype in)
{
    const struct xl__limits *l = &t.device->limits;
    if (!is_dpas) {
        struct xl__params p = xl__mma_listed(l, i, in);
        p.value[XL__MMA_GR] = BAND;
        p.value[XL__MMA_PARTS] = 1 + (int)(i / 4) % MOST_PARTS;
        return p;
    }
    const xl_matrix_op *op = xl__find_matrix_op(l, "dpas", in, in);
    struct xl__params p = xl__dpas_listed(i / 2, op);
    if (pass == XL_CONV_BACKWARD_FILTERS && p.value[XL__GEMM_TK])
        p.value[XL__GEMM_TK] = 2 * (int)op->lanes; /* pairs of an item */
    p.value[XL__GEMM_TK] *= 1 + (int)i % 2;
    return p;
}

/* What takes the emulation seconds. */
static bool is_large(unsigned i)
{
    enum { MOST = 128 * 128, MOST_OF_PAIRS = 32 * 32 };
    const struct xl__params p = listed(i, XL_F16);
    if (is_dpas && pass == XL_CONV_BACKWARD_FILTERS)
        return p.value[XL__CONV_TM] * p.value[XL__CONV_TN] > MOST_OF_PAIRS;
    if (is_dpas)
        return p.value[XL__DPAS_GRF] == XL__DPAS_ALL_REGISTERS;
    return p.value[XL__CONV_TM] * p.value[XL__CONV_TN] >= MOST;
}

/* Channels of which a pixel is whole sub-groups of columns; one, two and four
 * pairs of images. */
static void suit_pairs(const struct xl__params *p, unsigned i,
                       struct conv_case *c)
{
    enum { N_IMAGES = 4 };
    static const size_t images[N_IMAGES] = {3, 1, 7, 4};
    const xl_matrix_op *op =
        xl__find_matrix_op(&t.device->limits, "dpas", c->in, c->in);
    c->groups = 1;
    c->c = xl__round_up(c->c, (size_t)p->value[XL__DPAS_RN] * op->n);
    c->n = images[i % N_IMAGES];
}

static void every_tile(void **state)
{
    unsigned n_right = 0;
    (void)state;
    for (unsigned i = 0; listed(i, XL_F16).value[XL__CONV_TM]; i++) {
        for (unsigned j = 0; j < N_SHAPES; j++) {
            char what[64];
            const bool is_turn =
                is_dpas ? j == i / 2 % N_SHAPES && test_is_sampled(i, SAMPLED)
                : arch  ? j == i % N_SHAPES
                        : j == i / 2 % N_SHAPES && i % 2 == 0;
            if (!takes_all && (!is_turn || is_large(i)))
                continue;
            struct conv_case c = shapes[j];
            c.name = "over a tile";
            /* Without an architecture each second set takes turns. */
            c.order = i / (arch ? 1 : 2) % 4 == 1 && c.groups <= 1 ? CONV_NCHW
                                                                   : CONV_NHWC;
            c.in = i / 2 % 2 ? XL_F16 : XL_BF16;
            c.out = j % 2 ? XL_F32 : c.in;
            c.alpha = 2;
            c.pass = pass;
            c.has_norm =
                pass == XL_CONV_FORWARD && j != N_SHAPES - 1 && i % 3 == 0;
            if (is_dpas && pass == XL_CONV_FORWARD && i % 8 >= 6) {
                c.in = XL_I8;
                c.out = c.has_norm ? XL_F32 : XL_I32;
                c.c = xl__round_up(c.c, OF_BYTES * xl__max_size(1, c.groups));
            }
            emulated.wanted = listed(i, c.in);
            if (is_dpas && pass == XL_CONV_BACKWARD_FILTERS)
                suit_pairs(&emulated.wanted, i, &c);
            xl__plan_cache_clear(t.queue);
            xl__selections_clear(t.queue->ctx);
            snprintf(what, sizeof what, "set %u, shape %u", i, j);
            n_right += is_right(&c, what);
        }
    }
    print_message("%u right\n", n_right);
    /* Of the sampled tiles the images' gradients take one less. */
    assert_in_range(n_right,
                    is_dpas                         ? 2
                    : pass == XL_CONV_BACKWARD_DATA ? 4
                                                    : 5,
                    1000);
    emulated.wanted = (struct xl__params){.source = "model"};
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_table),
        cmocka_unit_test(every_tile),
    };
    takes_all = getenv("XL_TEST_FULL") != NULL;
    arch = getenv("XL_TEST_ARCH");
    while (getenv("XL_TEST_PASS") &&
           strcmp(getenv("XL_TEST_PASS"), passes[pass].name) != 0)
        pass++;
    is_dpas = arch && strchr("dp", arch[0]); /* dg2, pvc */
    is_1x1 = getenv("XL_TEST_1X1") != NULL;
    own = passes[pass].own[!is_dpas ? MMA : is_1x1 ? DPAS_1X1 : DPAS];
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
