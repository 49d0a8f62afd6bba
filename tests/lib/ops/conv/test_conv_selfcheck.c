/* SPDX-License-Identifier: Apache-2.0 */
/* Random convolutions of every pair of types pass their self-check: a case
 * whose values leave the range of a narrow result is the fault of the case. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"

enum { N_SHAPES = 12, SEED = 5 };

static const xl_dtype types[][2] = {
    {XL_F32, XL_F32},   {XL_F32, XL_F16}, {XL_F16, XL_F16}, {XL_F16, XL_F32},
    {XL_BF16, XL_BF16}, {XL_I8, XL_I32},  {XL_I8, XL_F32},  {XL_I8, XL_F16},
    {XL_I8, XL_BF16}};

static xl_conv random_conv(struct xl__rng *rng, const xl_dtype type[2])
{
    const xl_layout layout = xl__rng_below(rng, 2) ? XL_NCHW : XL_NHWC;
    xl_conv c = {XL_CONV_INIT, .n = 1 + xl__rng_below(rng, 3), .alpha = 1,
                 .variant = "conv_ref"};
    c.groups = xl__rng_below(rng, 3) == 0 ? 2 : 1;
    c.c = c.groups * (1 + xl__rng_below(rng, 40));
    c.k = c.groups * (1 + xl__rng_below(rng, 40));
    c.r = 1 + xl__rng_below(rng, 5);
    c.s = 1 + xl__rng_below(rng, 5);
    c.h = c.r + xl__rng_below(rng, 20);
    c.w = c.s + xl__rng_below(rng, 20);
    c.pad_top = c.pad_left = xl__rng_below(rng, 2);
    c.stride_h = c.stride_w = 1 + xl__rng_below(rng, 2);
    c.in = (xl_images){.layout = layout, .dtype = type[0]};
    c.out = (xl_images){.layout = layout, .dtype = type[1]};
    c.filters.dtype = type[0];
    return c;
}

/* A library without a cache for each shape, so that each is checked. */
static void every_pair_of_types(void **state)
{
    static const xl_options options = {XL_OPTIONS_INIT, .cache_dir = ""};
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, SEED);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (unsigned n = 0; n < N_SHAPES; n++) {
            struct test_device t;
            const xl_conv c = random_conv(&rng, types[i]);
            test_device_open(&t, &options);
            const xl_status status = xl_conv_prepare(t.queue, &c);
            if (status != XL_OK)
                fail_msg("%s to %s, n %zu c %zu k %zu %zux%zu of %zux%zu: %s",
                         xl_dtype_name(types[i][0]),
                         xl_dtype_name(types[i][1]), c.n, c.c, c.k, c.r, c.s,
                         c.h, c.w, xl_error_detail(t.queue));
            test_device_close(&t);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_types)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
