/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in which operands are transposed, without a device: when they are
 * chosen, the text of their kernels, and that the self-check's case has the
 * same text.
 *
 *     test_expr_tiles write <folder>
 *
 * writes kernels with tiles for the compilers of devices that are not present
 * (rules/check_kernels.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/codegen/map_tiles.h"
#include "ops/expression/expression.h"
#include "support/expr_batch.h"
#include "support/support.h"

enum { LOCAL = 48 << 10, UNITS = 2 };

/* The facts of a device on which tiles depend. */
struct facts {
    bool as_gpu;
    size_t local_bytes, max_wg;
};
static const struct facts gpu = {true, LOCAL, 256}, cpu = {false, LOCAL, 256};

/* out[..., j] = x[..., j] + y[..., j], with y contiguous along loop `across`
 * of `n_loops`; a type for y and one for out. */
struct shape {
    unsigned n_loops, across;
    size_t size[3];
    xl_dtype y, out;
};

static void set_layout(struct batch *b, unsigned k, const struct shape *s,
                       unsigned first)
{
    struct xl__operand *o = &b->group.operand[k];
    size_t next = 1;
    o->align = first + 1 == s->n_loops ? XL__EXPR_MAX_VW : 1;
    o->stride[first] = next;
    next *= s->size[first];
    for (unsigned d = s->n_loops; d-- > 0;) {
        if (d == first)
            continue;
        o->stride[d] = next;
        next *= s->size[d];
    }
}

static void set_limits(const struct facts *f, struct xl__limits *l)
{
    batch_facts((struct batch_way){f->as_gpu, 0}, l);
    xl__limits_correct(l, XL__F_local_mem_bytes, (double)f->local_bytes,
                       XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_max_wg_size, (double)f->max_wg, XL_ASSUMED,
                       "GE-01");
    xl__limits_correct(l, XL__F_compute_units, UNITS, XL_ASSUMED, "GE-01");
}

static void init_batch(struct batch *b, const struct shape *s,
                       const struct facts *f)
{
    const struct xl__node add = {.op = XL__E_ADD, .type = XL__V_F32,
                                 .arg = {0, 1}};
    struct xl__limits l;
    batch_begin(b, 1);
    batch_add_input(b, XL_F32, 1, 0);
    batch_add_input(b, s->y, 1, 0);
    batch_add(b, &add, s->out, 1, 0);
    b->group.n_loops = s->n_loops;
    b->group.bytes = b->group.flop = 1;
    for (unsigned d = 0; d < s->n_loops; d++)
        b->group.loop[d].size = s->size[d];
    for (unsigned k = 0; k < 3; k++)
        set_layout(b, k, s, k == 1 ? s->across : s->n_loops - 1);
    set_limits(f, &l);
    xl__map_geometry(&b->g, &l, &b->group);
    xl__limits_clear(&l);
}

static struct xl__str text_of(struct batch *b, const struct xl__group *group,
                              const struct facts *f)
{
    struct xl__limits l;
    struct xl__str out = {0};
    set_limits(f, &l);
    struct xl__emit m = {.g = &b->g, .group = group, .l = &l, .out = &out,
                         .vw = group->geo.vw};
    xl__map_write_kernel(&m);
    xl__limits_clear(&l);
    assert_false(out.broken);
    return out;
}

/* -- choice ----------------------------------------------------------- */

static void choice(void **state)
{
    (void)state;
    static const struct {
        struct shape s;
        struct facts f;
        unsigned tile, vw, wg;
    } cases[] = {
        {{2, 0, {500, 500}, XL_F32, XL_F32}, {true, LOCAL, 256}, 64, 1, 256},
        {{2, 0, {500, 500}, XL_F16, XL_F32}, {true, LOCAL, 256}, 64, 2, 256},
        {{2, 0, {500, 500}, XL_I8, XL_F16}, {true, LOCAL, 256}, 64, 4, 256},
        {{2, 0, {500, 40}, XL_F32, XL_F32}, {true, LOCAL, 256}, 64, 1, 256},
        {{2, 0, {32, 500}, XL_F32, XL_F32}, {true, LOCAL, 256}, 32, 1, 256},
        {{2, 0, {16, 500}, XL_I8, XL_F32}, {true, LOCAL, 256}, 16, 4, 64},
        {{2, 0, {15, 500}, XL_F32, XL_F32}, {true, LOCAL, 256}, 0, 1, 256},
        {{2, 0, {500, 500}, XL_F32, XL_F32}, {true, 32768, 256}, 32, 1, 256},
        {{2, 0, {500, 500}, XL_F32, XL_F32}, {true, 1024, 256}, 0, 1, 256},
        {{2, 0, {500, 500}, XL_F32, XL_F32}, {true, LOCAL, 32}, 32, 1, 32},
        {{2, 0, {500, 500}, XL_F32, XL_F32}, {true, LOCAL, 8}, 0, 1, 8},
        {{2, 1, {500, 500}, XL_F32, XL_F32}, {true, LOCAL, 256}, 0, 4, 256},
        {{3, 1, {2, 70, 80}, XL_F32, XL_F32}, {true, LOCAL, 256}, 64, 1, 256},
        {{3, 0, {70, 2, 80}, XL_F32, XL_F32}, {true, LOCAL, 256}, 64, 1, 256},
        {{2, 0, {500, 500}, XL_F32, XL_F32}, {false, 0, 1}, 16, 16, 1},
        {{2, 0, {500, 9}, XL_F32, XL_F32}, {false, 0, 1}, 8, 8, 1},
        {{2, 0, {9, 500}, XL_F32, XL_F32}, {false, 0, 1}, 0, 16, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct batch b;
        init_batch(&b, &cases[i].s, &cases[i].f);
        const struct xl__geometry *geo = &b.group.geo;
        if (geo->tile != cases[i].tile || geo->wg != cases[i].wg ||
            (geo->tile && geo->vw != cases[i].vw))
            fail_msg("case %zu: tiles of %u, vectors of %u, groups of %u", i,
                     geo->tile, geo->vw, geo->wg);
        if (geo->tile)
            assert_int_equal(geo->across, cases[i].s.across);
        assert_int_equal(xl__map_is_transposed(&b.group, &b.group.operand[1]),
                         geo->tile > 0);
        assert_false(xl__map_is_transposed(&b.group, &b.group.operand[0]));
        assert_true(xl__map_tile_local_bytes(&b.group) * 2 <=
                    cases[i].f.local_bytes);
        struct xl__str why = {0};
        xl__group_explain(&b.group, &why);
        assert_int_equal(strstr(xl__str_text(&why), "tiles of") != NULL,
                         geo->tile > 0);
        xl__str_clear(&why);
    }
}

/* Rows and columns of a tile begin in different banks. */
static void banks(void **state)
{
    (void)state;
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_I8};
    enum { BANK = 4 };
    for (unsigned i = 0; i < 3; i++) {
        const struct shape s = {2, 0, {500, 500}, dtypes[i], XL_F32};
        struct batch b;
        init_batch(&b, &s, &gpu);
        const size_t pitch = xl__map_tile_pitch(&b.group,
                                                &b.group.operand[1]);
        assert_int_equal(pitch * xl_dtype_bytes(dtypes[i]) % (2 * BANK),
                         BANK);
    }
}

/* -- text ------------------------------------------------------------- */

static void assert_text(const struct shape *s, const struct facts *f,
                        const char *expected)
{
    struct batch b;
    init_batch(&b, s, f);
    struct xl__str got = text_of(&b, &b.group, f);
    const char *body = strstr(xl__str_text(&got), "#define XL_WG");
    assert_non_null(body);
    assert_string_equal(body, expected);
    xl__str_clear(&got);
}

/* The tile is read along y's rows, kept transposed, and read back by 32-bit
 * words. */
static void text_of_neighbours(void **state)
{
    (void)state;
    const struct shape s = {2, 0, {16, 500}, XL_F16, XL_F32};
    assert_text(
        &s, &gpu,
        "#define XL_WG 128\n"
        "#define XL_UNROLL 1\n"
        "#define XL_RUNS 0\n"
        "#define XL_LOOPS 2\n"
        "#define XL_INNER n1\n"
        "#define XL_PARAMS \\\n"
        "    __global const float *m0, const ulong o0, const IDX s0_0, \\\n"
        "    __global const ushort *m1, const ulong o1, const IDX s1_0, "
        "const IDX s1_1, \\\n"
        "    __global float *m2, const ulong o2, const IDX s2_0, \\\n"
        "    const IDX n0, const IDX n1\n"
        "#define XL_PLACES \\\n"
        "    const IDX i0 = line; \\\n"
        "    const IDX p0 = i0 * s0_0; \\\n"
        "    const IDX p1 = i0 * s1_0; \\\n"
        "    const IDX p2 = i0 * s2_0;\n"
        "#define XL_LOADS \\\n"
        "    const float2 v0 = xl_loada_f32_2(m0 + o0, p0 + at);\n"
        "#define XL_LOADS_PART \\\n"
        "    const float2 v0 = xl_loadn_f32_2(m0 + o0, p0 + at, 1, count);\n"
        "#define XL_RESULTS \\\n"
        "    const float2 v1 = xl_from_f16_2(*(__local const ushort2 *)(t1 "
        "+ y * 18 + x)); \\\n"
        "    const float2 v2 = v0 + v1; \\\n"
        "    xl_storea_f32_2(m2 + o2, p2 + at, v2);\n"
        "#define XL_RESULTS_PART \\\n"
        "    const float2 v1 = xl_from_f16_2(*(__local const ushort2 *)(t1 "
        "+ y * 18 + x)); \\\n"
        "    const float2 v2 = v0 + v1; \\\n"
        "    xl_storen_f32_2(m2 + o2, p2 + at, 1, count, v2);\n"
        "#define XL_ARRAYS \\\n"
        "    float2 a0[XL_UNROLL];\n"
        "#define XL_HOLD \\\n"
        "    a0[u] = v0;\n"
        "#define XL_HELD \\\n"
        "    const float2 v0 = a0[u];\n"
        "#define XL_TILE 16\n"
        "#define XL_BLOCKS 2\n"
        "#define XL_ACROSS n0\n"
        "#define XL_TILE_PARAMS \\\n"
        "    , const IDX c0 \\\n"
        "    , const uint mul_0, const uint shift_0\n"
        "#define XL_TILE_START \\\n"
        "    const IDX r1 = xl_divide(f, c0, mul_0, shift_0); \\\n"
        "    const IDX first_line = (f - r1 * c0) * 16; \\\n"
        "    const IDX first_at = r1 * 16;\n"
        "#define XL_TILES \\\n"
        "    __local ushort t1[288] __attribute__((aligned(16)));\n"
        "#define XL_TILE_ARRAYS \\\n"
        "    ushort a1[XL_READS];\n"
        "#define XL_TILE_READS \\\n"
        "    a1[u] = (m1 + o1)[p1 + at * s1_1];\n"
        "#define XL_TILE_WRITES \\\n"
        "    t1[y * 18 + x + u * XL_STEP] = a1[u];\n"
        "#include \"expr/map_tiles.cl\"\n");
}

/* The self-check case has the same text, and its tiles are whole and partial
 * in both dimensions; so has any other size of the same geometry. */
static void small_case(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {2, 0, {500, 700}, XL_F32, XL_F32}, {2, 0, {999, 640}, XL_I8, XL_F32},
        {3, 0, {100, 5, 90}, XL_F32, XL_F16},
        {3, 1, {5, 100, 90}, XL_F16, XL_F32}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        const struct facts *f = i % 2 ? &gpu : &cpu;
        struct xl__group shrunk;
        struct batch b;
        init_batch(&b, &shapes[i / 2], f);
        xl__selfcheck_shrink(&b.group, &shrunk);
        struct xl__str text = text_of(&b, &b.group, f);
        struct xl__str again = text_of(&b, &shrunk, f);
        assert_string_equal(xl__str_text(&text), xl__str_text(&again));
        const size_t tile = shrunk.geo.tile;
        assert_true(tile > 0);
        assert_true(shrunk.loop[shrunk.n_loops - 1].size > tile);
        assert_true(shrunk.loop[shrunk.geo.across].size > tile);
        assert_true(shrunk.loop[shrunk.geo.across].size % tile != 0);
        xl__str_clear(&text);
        xl__str_clear(&again);
    }
}

/* -- files for other compilers ---------------------------------------- */

static void write_file(const char *folder, const struct shape *s,
                       const struct facts *f, unsigned number)
{
    char path[512];
    struct batch b;
    init_batch(&b, s, f);
    struct xl__str text = text_of(&b, &b.group, f);
    snprintf(path, sizeof path, "%s/%s_%u.cl", folder,
             f->as_gpu ? "gpu" : "cpu", number);
    FILE *file = fopen(path, "w");
    if (!file || fputs(xl__str_text(&text), file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    xl__str_clear(&text);
}

/* All types, with other loops around and between the two of a tile. */
static int write_files(const char *folder)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16, XL_I32,
                                      XL_I8,  XL_U16, XL_U8,   XL_BOOL};
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        for (unsigned as_gpu = 0; as_gpu < 2; as_gpu++) {
            const struct facts *f = as_gpu ? &gpu : &cpu;
            const struct shape plane = {2, 0, {500, 500}, dtypes[i], XL_F32};
            const struct shape outer = {3, 1, {3, 70, 80}, dtypes[i], XL_F16};
            const struct shape inner = {3, 0, {70, 3, 80}, dtypes[i], XL_F32};
            write_file(folder, &plane, f, n++);
            write_file(folder, &outer, f, n++);
            write_file(folder, &inner, f, n++);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice),
        cmocka_unit_test(banks),
        cmocka_unit_test(text_of_neighbours),
        cmocka_unit_test(small_case),
    };
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_files(argv[2]);
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
