/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of generated kernels, without a device: their form, what they depend
 * on, and that constants are read back as the same value.
 *
 *     test_expr_emit write <folder>
 *
 * writes one file of every operation for each type, width and kind of device,
 * for the compilers of devices that are not present (rules/check_kernels.py).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "expr/codegen/opencl_ops.h"
#include "support/expr_batch.h"
#include "support/support.h"

static const struct batch_way cpu_4 = {false, 4}, gpu_4 = {true, 4};

/* The text of a batch; xl__str_clear() it. */
static struct xl__str text_of(struct batch *b, struct batch_way way)
{
    struct xl__limits l;
    struct xl__str out = {0};
    batch_facts(way, &l);
    struct xl__emit m = {.g = &b->g, .group = &b->group, .l = &l,
                         .out = &out, .vw = b->group.geo.vw};
    xl__map_write_kernel(&m);
    xl__limits_clear(&l);
    assert_false(out.broken);
    return out;
}

static unsigned add_map(struct batch *b, enum xl__expr_op op,
                        enum xl__vtype type, unsigned a0, unsigned a1)
{
    const unsigned n = b->g.n_nodes;
    b->node[n] = (struct xl__node){.op = op, .type = type, .arg = {a0, a1}};
    if (op != XL__E_CONST && op != XL__E_SCALAR)
        b->value[b->group.n_values++].node = n;
    b->g.n_nodes++;
    return n;
}

static void write_to(struct batch *b, unsigned node, xl_dtype dtype)
{
    const unsigned k = b->group.n_operands++;
    b->group.operand[k] = (struct xl__operand){
        .at = XL__AT_BINDING, .index = k, .dtype = dtype, .node = node,
        .is_written = true, .align = 16};
    b->group.operand[k].stride[b->group.n_loops - 1] = 1;
}

/* -- form ------------------------------------------------------------- */

static void assert_text(struct batch *b, struct batch_way way,
                        const char *expected)
{
    struct xl__str got = text_of(b, way);
    const char *kernel = strstr(xl__str_text(&got), "#define XL_WG");
    assert_non_null(kernel);
    assert_string_equal(kernel, expected);
    xl__str_clear(&got);
}

/* out = a * x + 0.5 for a CPU, in vectors of 4. */
static void one_loop_of_items(void **state)
{
    (void)state;
    struct batch b;
    batch_begin(&b, 1000);
    batch_add_input(&b, XL_F32, 1, 0);
    const unsigned scalar = add_map(&b, XL__E_SCALAR, XL__V_F32, 0, 0);
    const unsigned half = add_map(&b, XL__E_CONST, XL__V_F32, 0, 0);
    b.node[half].value = 0.5;
    const unsigned product = add_map(&b, XL__E_MUL, XL__V_F32, scalar, 0);
    const unsigned sum = add_map(&b, XL__E_ADD, XL__V_F32, product, half);
    write_to(&b, sum, XL_F16);
    batch_geometry(&b, cpu_4);
    assert_text(
        &b, cpu_4,
        "#define XL_WG 1\n"
        "#define XL_UNROLL 1\n"
        "#define XL_RUNS 1\n"
        "#define XL_LOOPS 1\n"
        "#define XL_INNER n0\n"
        "#define XL_PARAMS \\\n"
        "    __global const float *m0, const ulong o0, \\\n"
        "    __global ushort *m1, const ulong o1, \\\n"
        "    const IDX n0, \\\n"
        "    const float v1\n"
        "#define XL_PLACES \\\n"
        "    const IDX p0 = 0; \\\n"
        "    const IDX p1 = 0;\n"
        "#define XL_LOADS \\\n"
        "    const float4 v0 = xl_loada_f32_4(m0 + o0, p0 + at);\n"
        "#define XL_LOADS_PART \\\n"
        "    const float4 v0 = xl_loadn_f32_4(m0 + o0, p0 + at, 1, count);\n"
        "#define XL_RESULTS \\\n"
        "    const float4 v3 = (float4)(v1) * v0; \\\n"
        "    const float4 v4 = v3 + (float4)(0.5f); \\\n"
        "    xl_storea_f16_4(m1 + o1, p1 + at, v4);\n"
        "#define XL_RESULTS_PART \\\n"
        "    const float4 v3 = (float4)(v1) * v0; \\\n"
        "    const float4 v4 = v3 + (float4)(0.5f); \\\n"
        "    xl_storen_f16_4(m1 + o1, p1 + at, 1, count, v4);\n"
        "#define XL_ARRAYS \\\n"
        "    float4 a0[XL_UNROLL];\n"
        "#define XL_HOLD \\\n"
        "    a0[u] = v0;\n"
        "#define XL_HELD \\\n"
        "    const float4 v0 = a0[u];\n"
        "#define XL_DIVISORS\n"
        "#define XL_OUTER\n"
        "#define XL_PREFETCH \\\n"
        "    XL_AHEAD(m0 + o0 + p0 + at + 1024);\n"
        "#include \"expr/map.cl\"\n");
}

/* out = x + bias for a GPU over three loops, of which the last shares one
 * element of the bias. */
static void three_loops_of_neighbours(void **state)
{
    (void)state;
    struct batch b;
    batch_begin(&b, 5);
    batch_add_input(&b, XL_F32, 1, 0);
    batch_add_input(&b, XL_BF16, 1, 0);
    const unsigned sum = add_map(&b, XL__E_ADD, XL__V_F32, 0, 1);
    b.group.n_loops = 3;
    for (unsigned d = 0; d < 3; d++) {
        b.group.loop[d].size = 8;
        b.group.operand[0].stride[d] = d == 2 ? 1 : 100;
        b.group.operand[1].stride[d] = d == 1;
    }
    write_to(&b, sum, XL_F32);
    batch_geometry(&b, gpu_4);
    b.group.geo.unroll = 1;
    assert_text(
        &b, gpu_4,
        "#define XL_WG 8\n"
        "#define XL_UNROLL 1\n"
        "#define XL_RUNS 0\n"
        "#define XL_LOOPS 3\n"
        "#define XL_INNER n2\n"
        "#define XL_PARAMS \\\n"
        "    __global const float *m0, const ulong o0, const IDX s0_0, "
        "const IDX s0_1, \\\n"
        "    __global const ushort *m1, const ulong o1, const IDX s1_1, \\\n"
        "    __global float *m2, const ulong o2, \\\n"
        "    const IDX n0, const IDX n1, const IDX n2\n"
        "#define XL_PLACES \\\n"
        "    const IDX p0 = i0 * s0_0 + i1 * s0_1; \\\n"
        "    const IDX p1 = i1 * s1_1; \\\n"
        "    const IDX p2 = 0;\n"
        "#define XL_LOADS \\\n"
        "    const float4 v0 = xl_loada_f32_4(m0 + o0, p0 + at); \\\n"
        "    const float4 v1 = (float4)(xl_load_bf16_1(m1 + o1, p1));\n"
        "#define XL_LOADS_PART \\\n"
        "    const float4 v0 = xl_loadn_f32_4(m0 + o0, p0 + at, 1, count); "
        "\\\n"
        "    const float4 v1 = (float4)(xl_load_bf16_1(m1 + o1, p1));\n"
        "#define XL_RESULTS \\\n"
        "    const float4 v2 = v0 + v1; \\\n"
        "    xl_storea_f32_4(m2 + o2, p2 + at, v2);\n"
        "#define XL_RESULTS_PART \\\n"
        "    const float4 v2 = v0 + v1; \\\n"
        "    xl_storen_f32_4(m2 + o2, p2 + at, 1, count, v2);\n"
        "#define XL_ARRAYS \\\n"
        "    float4 a0[XL_UNROLL]; \\\n"
        "    float4 a1[XL_UNROLL];\n"
        "#define XL_HOLD \\\n"
        "    a0[u] = v0; \\\n"
        "    a1[u] = v1;\n"
        "#define XL_HELD \\\n"
        "    const float4 v0 = a0[u]; \\\n"
        "    const float4 v1 = a1[u];\n"
        "#define XL_DIVISORS \\\n"
        "    , const uint mul_1, const uint shift_1\n"
        "#define XL_OUTER \\\n"
        "    const IDX r0 = xl_divide(row, n1, mul_1, shift_1); \\\n"
        "    const IDX i1 = row - r0 * n1; \\\n"
        "    const IDX i0 = r0;\n"
        "#define XL_PREFETCH \\\n"
        "    XL_AHEAD(m0 + o0 + p0 + at + 1024);\n"
        "#include \"expr/map.cl\"\n");
}

/* -- dependencies ----------------------------------------------------- */

/* Sizes, strides and offsets are arguments. */
static void no_size_is_in_a_text(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_BATCH_WAYS; i++) {
        struct xl__str text[2];
        for (unsigned j = 0; j < 2; j++) {
            struct batch b;
            batch_begin(&b, j ? 999983 : 17);
            batch_add_input(&b, XL_F32, j ? 1013 : 7, 0);
            write_to(&b, add_map(&b, XL__E_NEG, XL__V_F32, 0, 0), XL_F32);
            b.group.operand[0].offset = j ? 12345 : 0;
            batch_geometry(&b, batch_ways[i]);
            text[j] = text_of(&b, batch_ways[i]);
        }
        assert_string_equal(xl__str_text(&text[0]), xl__str_text(&text[1]));
        xl__str_clear(&text[0]);
        xl__str_clear(&text[1]);
    }
}

/* Indices have 64 bits when an offset exceeds 2^31, and only then. */
static void wide_when_needed(void **state)
{
    (void)state;
    struct batch b;
    batch_begin(&b, 1000);
    batch_add_input(&b, XL_F32, 1, 0);
    assert_false(xl__emit_is_wide(&b.group));
    b.group.operand[0].stride[0] = 3000000;
    assert_true(xl__emit_is_wide(&b.group));
    b.group.operand[0].stride[0] = 0;
    b.group.loop[0].size = (size_t)1 << 31;
    assert_true(xl__emit_is_wide(&b.group));
}

/* Geometry: the alignment that it assumes, and narrow rows. */
static void geometries(void **state)
{
    (void)state;
    static const struct {
        struct batch_way way;
        size_t count;
        unsigned align, vw;
    } cases[] = {
        {{true, 0}, 1 << 20, 16, 4}, {{true, 0}, 1 << 20, 2, 2},
        {{true, 0}, 1 << 20, 1, 1},  {{true, 0}, 3, 16, 2},
        {{false, 0}, 1 << 20, 1, 16}, {{false, 0}, 3, 16, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct batch b;
        struct xl__limits l;
        batch_begin(&b, cases[i].count);
        batch_add_input(&b, XL_F32, 1, 0);
        write_to(&b, add_map(&b, XL__E_NEG, XL__V_F32, 0, 0), XL_F32);
        b.group.operand[0].align = cases[i].align;
        b.group.bytes = b.group.flop = 1;
        batch_facts(cases[i].way, &l);
        xl__map_geometry(&b.g, &l, &b.group);
        assert_int_equal(b.group.geo.vw, cases[i].vw);
        xl__limits_clear(&l);
    }
}

/* The reciprocals of the host divide exactly, as xl_divide() uses them. */
static void reciprocals(void **state)
{
    (void)state;
    struct xl__rng rng;
    xl__rng_seed(&rng, 9);
    for (unsigned i = 0; i < 2000; i++) {
        struct batch b;
        struct xl__limits l;
        struct xl__code code = {0};
        static struct xl__plan plan;
        const uint64_t d = 1 + (xl__rng_next(&rng) >> (34 + i % 30));
        memset(&plan, 0, sizeof plan);
        batch_begin(&b, 2);
        batch_add_input(&b, XL_F32, 0, 0);
        b.group.n_loops = 2;
        b.group.loop[1].size = (size_t)d;
        b.group.operand[0].stride[1] = 1;
        write_to(&b, add_map(&b, XL__E_NEG, XL__V_F32, 0, 0), XL_F32);
        batch_facts(gpu_4, &l);
        batch_geometry(&b, (struct batch_way){true, 1});
        assert_int_equal(xl__map_plan(&b.g, &l, &b.group, NULL, &code, &plan),
                         XL_OK);
        const struct xl__step *s = &plan.step[0];
        const uint64_t mul = s->args[s->n_args - 2].as.u;
        const uint64_t shift = s->args[s->n_args - 1].as.u;
        assert_true(mul <= UINT32_MAX && shift < 64);
        for (unsigned j = 0; j < 50; j++) {
            uint64_t n = xl__rng_next(&rng) >> 33;
            n = j % 2 ? n : n / d * d - (n >= d && j % 4 == 0);
            assert_true(n * mul >> shift == n / d);
        }
        assert_true((uint64_t)INT32_MAX * mul >> shift == INT32_MAX / d);
        xl__code_clear(&code);
        xl__limits_clear(&l);
    }
}

/* -- constants -------------------------------------------------------- */

/* The value that a compiler reads: strtof() of a number. */
static float read_float(const char *text)
{
    unsigned bits;
    float x;
    const bool is_minus = strncmp(text, "(-", 2) == 0;
    text += is_minus ? 2 : 0;
    if (sscanf(text, "as_float(0x%8xu)", &bits) == 1)
        memcpy(&x, &bits, sizeof x);
    else
        x = strtof(text, NULL);
    return is_minus ? -x : x;
}

static void check_constant(float x)
{
    struct xl__str out = {0};
    const struct xl__graph g = {0};
    const struct xl__emit m = {.g = &g, .out = &out};
    xl__opencl_constant(&m, (double)x, XL__V_F32, 1);
    const float back = read_float(xl__str_text(&out));
    const bool is_same = memcmp(&back, &x, sizeof x) == 0;
    if (!is_same && !(isnan(x) && isnan(back)))
        fail_msg("%a was written as %s", (double)x, xl__str_text(&out));
    assert_null(strchr(xl__str_text(&out), ','));
    xl__str_clear(&out);
}

static void constants(void **state)
{
    (void)state;
    static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 0.0625f,
                                    -2.1875f, 999999.0f, 1e6f, 1e-45f,
                                    -1e-40f, 1.17549435e-38f, 3.4028235e38f,
                                    INFINITY, -INFINITY, NAN, 0.1f};
    struct xl__rng rng;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        check_constant(special[i]);
    xl__rng_seed(&rng, 4);
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t bits = (uint32_t)xl__rng_next(&rng);
        float x;
        memcpy(&x, &bits, sizeof x);
        check_constant(x);
    }
    struct xl__str out = {0};
    const struct xl__graph g = {0};
    const struct xl__emit m = {.g = &g, .out = &out};
    xl__opencl_constant(&m, -2147483648.0, XL__V_I32, 1);
    xl__opencl_constant(&m, 1, XL__V_BOOL, 1);
    xl__opencl_constant(&m, 1, XL__V_BOOL, 4);
    const struct xl__graph longs = {.is_long = true};
    const struct xl__emit wide = {.g = &longs, .out = &out};
    xl__opencl_constant(&wide, -2147483648.0, XL__V_I32, 1);
    xl__opencl_constant(&wide, 1, XL__V_BOOL, 1);
    assert_string_equal(xl__str_text(&out),
                        "(-2147483647 - 1)1(int4)(-1)(-2147483648L)1");
    xl__str_clear(&out);
}

/* The value that a compiler reads of a double, as above. */
static double read_double(const char *text)
{
    unsigned long long bits;
    double x;
    const bool is_minus = strncmp(text, "(-", 2) == 0;
    text += is_minus ? 2 : 0;
    if (sscanf(text, "as_double(0x%16llxUL)", &bits) == 1)
        memcpy(&x, &bits, sizeof x);
    else
        x = strtod(text, NULL);
    return is_minus ? -x : x;
}

static void doubles(void **state)
{
    (void)state;
    const struct xl__graph g = {.is_double = true};
    struct xl__rng rng;
    xl__rng_seed(&rng, 5);
    for (unsigned i = 0; i < 20000; i++) {
        static const double special[] = {0.0,    -0.0,      0.1, 1e-310,
                                         -1e308, -INFINITY, NAN, 3};
        const uint64_t bits = xl__rng_next(&rng);
        struct xl__str out = {0};
        const struct xl__emit m = {.g = &g, .out = &out};
        double x;
        memcpy(&x, &bits, sizeof x);
        if (i < sizeof special / sizeof *special)
            x = special[i];
        xl__opencl_constant(&m, x, XL__V_F32, 1);
        const double back = read_double(xl__str_text(&out));
        if (memcmp(&back, &x, sizeof x) != 0 && !(isnan(x) && isnan(back)))
            fail_msg("%a was written as %s", x, xl__str_text(&out));
        xl__str_clear(&out);
    }
}

/* -- files for other compilers ---------------------------------------- */

static void write_file(struct batch *b, const char *folder, unsigned type,
                       unsigned i_file, struct batch_way way)
{
    char path[512];
    batch_geometry(b, way);
    struct xl__str text = text_of(b, way);
    snprintf(path, sizeof path, "%s/%s_%u_%u_%u.cl", folder,
             way.as_gpu ? "gpu" : "cpu", way.vw, type, i_file);
    FILE *f = fopen(path, "w");
    if (!f || fputs(xl__str_text(&text), f) < 0 || fclose(f) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    xl__str_clear(&text);
}

static void write_type(const char *folder, enum xl__vtype type, bool is_long,
                       struct batch_way way)
{
    enum { EACH = 6 }; /* outputs, so that registers suffice */
    struct batch b;
    const unsigned name = (unsigned)type + (is_long ? XL__N_VTYPES : 0);
    unsigned i_file = 0;
    batch_begin_typed(&b, type, 1);
    b.g.is_long = is_long;
    for (int op = 0; op < XL__N_EXPR_OPS; op++) {
        struct xl__node n;
        if (!batch_node((enum xl__expr_op)op, type, &n))
            continue;
        batch_add(&b, &n, xl__wide_dtype(&b.g, n.type), 1, 0);
        if (b.group.n_operands < b.n_inputs + EACH)
            continue;
        write_file(&b, folder, name, i_file++, way);
        batch_begin_typed(&b, type, 1);
        b.g.is_long = is_long;
    }
    write_file(&b, folder, name, i_file, way);
}

static int write_files(const char *folder)
{
    for (unsigned i = 0; i < N_BATCH_WAYS; i++) {
        for (int type = 0; type < XL__N_VTYPES; type++) {
            write_type(folder, (enum xl__vtype)type, false, batch_ways[i]);
            if (batch_ways[i].vw == 1)
                write_type(folder, (enum xl__vtype)type, true, batch_ways[i]);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_loop_of_items),
        cmocka_unit_test(three_loops_of_neighbours),
        cmocka_unit_test(no_size_is_in_a_text),
        cmocka_unit_test(wide_when_needed),
        cmocka_unit_test(geometries),
        cmocka_unit_test(reciprocals),
        cmocka_unit_test(constants),
        cmocka_unit_test(doubles),
    };
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_files(argv[2]);
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
