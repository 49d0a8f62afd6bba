/* SPDX-License-Identifier: Apache-2.0 */
/* Every tile set of the vendor tables, on a device of another kind: two cases
 * of GEMM's or convolution's case table by turns, one of them with tiles cut
 * by k where the table allows it; XL_TEST_FULL: both with each set. The
 * comparison is clbench's own: host sums in double, guard zones around every
 * buffer. Sets of two architectures with equal sizes are one program here,
 * since the sub-groups' width is no option of this driver. */
#include <stdio.h>
#include <string.h>

#include "cases/conv_cases.h"
#include "cases/gemm_cases.h"
#include "device/device.h"
#include "ops/gemm/tiles.h"
#include "ops/variants.h"
#include "support/support.h"
#include "targets/targets.h"
#include "verify/verify.h"

enum { N_CASES = 2 };
enum { SEED = 21, BAND = 8, WIDEST = 4, MOST_SETS = 256, NAME_ROOM = 48 };

static struct test_device t;
static struct xl__vendor vendor;
static struct xl__variant only;
static const struct xl__variant *list[2] = {&only};

/* What the variant chooses next. */
static const struct xl__tile_set *now;
static size_t parts;

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    (void)l;
    (void)desc;
    *out = (struct xl__params){.source = "test"};
    out->value[XL__GEMM_TM] = now->tm;
    out->value[XL__GEMM_TN] = now->tn;
    out->value[XL__GEMM_TK] = now->tk;
    out->value[XL__TILE_RM] = now->rm;
    out->value[XL__TILE_RN] = now->rn;
    out->value[XL__TILE_VW] = WIDEST;
    out->value[XL__TILE_ST] = now->stages;
    out->value[XL__TILE_GR] = BAND;
    out->value[XL__TILE_PARTS] = (int)parts;
    out->value[XL__TILE_COPY] = XL__TILE_BY_REGISTERS;
}

/* A set, of one of these kernels. */
struct row {
    const struct xl__tile_sets *sets;
    const struct xl__tile_set *set;
    enum xl__tile_kernel kernel;
};

static struct row rows[MOST_SETS];
static size_t n_rows;

static void be_right(const char *name, xl_status status,
                     const struct check_result *found)
{
    if (status != XL_OK || !found->right)
        fail_msg("'%s': %s: %s %s", name, xl_status_name(status), found->why,
                 xl_error_detail(t.queue));
}

static void check_gemm(const char *name)
{
    struct check_result found = {0};
    const struct gemm_case *c = gemm_cases;
    while (c->name && strcmp(c->name, name) != 0)
        c++;
    assert_non_null(c->name);
    be_right(name, verify_gemm(t.queue, c, only.name, SEED, &found), &found);
}

static void check_conv(const char *name)
{
    struct check_result found = {0};
    const struct conv_case *c = conv_cases;
    while (c->name && strcmp(c->name, name) != 0)
        c++;
    assert_non_null(c->name);
    be_right(name, verify_conv(t.queue, c, only.name, SEED, &found), &found);
}

static void compute(void **state)
{
    static const struct xl__variant *const variants[XL__N_TILE_KERNELS] = {
        [XL__TILES_GEMM] = &xl__gemm_tiled,
        [XL__TILES_GEMM_AHEAD] = &xl__gemm_simt,
        [XL__TILES_CONV] = &xl__conv_tiled,
    };
    const struct row *r = *state;
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    test_device_open(&t, &quick);
    only = *variants[r->kernel];
    only.choose = choose;
    vendor = *t.device->vendor;
    vendor.variants[XL__OP_GEMM] = vendor.variants[XL__OP_CONV] = list;
    t.device->vendor = &vendor;
    t.device->limits.model.tiles = r->sets;
    now = r->set;
    for (size_t i = 0; i < N_CASES; i++) {
        if (!test_is_sampled((size_t)(r - rows) + i, N_CASES))
            continue;
        parts = r->sets->keeps_whole || i ? 1 : 2;
        if (r->kernel == XL__TILES_CONV) {
            parts = 1;
            check_conv(i ? "3x3 f16 nhwc" : "3x3");
        } else {
            check_gemm(i ? "odd f16 tn" : "past f32 nn");
        }
    }
    test_device_close(&t);
}

static bool is_same(const struct row *a, const struct row *b)
{
    const struct xl__tile_set *x = a->set, *y = b->set;
    return a->kernel == b->kernel &&
           a->sets->keeps_whole == b->sets->keeps_whole && x->tm == y->tm &&
           x->tn == y->tn && x->tk == y->tk && x->rm == y->rm &&
           x->rn == y->rn && x->stages == y->stages;
}

static void add_row(struct row row)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (is_same(&rows[i], &row))
            return;
    }
    assert_true(n_rows < MOST_SETS);
    rows[n_rows++] = row;
}

int main(int argc, char **argv)
{
    static const char *const kernels[] = {"gemm", "ahead", "blocks", "conv"};
    static char names[MOST_SETS][NAME_ROOM];
    static struct CMUnitTest tests[MOST_SETS];
    const struct xl__tile_sets *const all[] = {
        xl__amd_tiles("gfx942"), xl__amd_tiles("gfx1030"),
        xl__amd_tiles("gfx1100"), &xl__intel_narrow_tiles,
        &xl__intel_wide_tiles};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (unsigned k = 0; k < XL__N_TILE_KERNELS; k++) {
            if (k == XL__TILES_GEMM_BLOCKS)
                continue; /* test_block_read.c */
            for (const struct xl__tile_set *s = all[i]->of[k]; s->tm; s++)
                add_row((struct row){all[i], s, k});
        }
    }
    for (size_t i = 0; i < n_rows; i++) {
        const struct xl__tile_set *s = rows[i].set;
        snprintf(names[i], NAME_ROOM, "%s_%ux%ux%u_%ux%u_%u%s",
                 kernels[rows[i].kernel], s->tm, s->tn, s->tk, s->rm, s->rn,
                 s->stages, rows[i].sets->keeps_whole ? "_whole" : "");
        tests[i] =
            (struct CMUnitTest){names[i], compute, NULL, NULL, &rows[i]};
    }
    test_args(argc, argv);
    return _cmocka_run_group_tests("tile_sets", tests, n_rows, NULL, NULL);
}
