/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of kernels of reductions, without a device: the element part that is
 * written for a skeleton of cl/expr.
 *
 *     test_expr_reductions write <folder>
 *
 * writes the kernels of expressions in each form, for each kind of device, for
 * the compilers of devices that are not present (rules/check_kernels.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/codegen/forms.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/infer.h"
#include "expr/graph/variance.h"
#include "lib/expr/text/expr_bind.h"
#include "support/support.h"
#include "support/test_limits.h"

/* An H200, and a CPU with vectors of 16 floats. */
static void set_device(bool is_cpu, struct xl__limits *l)
{
    const struct test_fact facts[] = {
        {XL__F_is_cpu, is_cpu},
        {XL__F_is_gpu, !is_cpu},
        {XL__F_compute_units, is_cpu ? 2 : 132},
        {XL__F_native_vector_f32, is_cpu ? 16 : 1},
        {XL__F_peak_f32_flop_per_s, is_cpu ? 2e11 : 6e13},
        {XL__F_copy_bytes_per_s, is_cpu ? 3e10 : 4.3e12},
        {XL__F_launch_ns, is_cpu ? 8000 : 2500},
        {XL__F_max_wg_size, 1024},
        {XL__F_local_mem_bytes, 49152},
    };
    test_limits(l, facts, sizeof facts / sizeof *facts);
}

/* Call each() for every kernel of an expression. */
static void plan_each(const char *text, const char *spec, bool is_cpu,
                      void (*each)(const struct xl__step *step, void *arg),
                      void *arg)
{
    static struct xl__plan plan;
    struct xl__signature s;
    struct xl__graph g = {0}, lowered = {0};
    struct xl__schedule schedule;
    struct xl__error e = {0};
    struct xl__limits l;
    test_bind(spec, &s);
    for (unsigned i = 0; i < s.n; i++)
        s.b[i].align = XL__EXPR_MAX_VW;
    set_device(is_cpu, &l);
    assert_status(test_infer(text, &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_status(xl__graph_lower_variance(&g, &l, &lowered), XL_OK, "");
    assert_status(xl__fuse(&lowered, &s, &l, false, &schedule, &e), XL_OK,
                  xl__str_text(&e.detail));
    for (unsigned i = 0; i < schedule.n_groups; i++) {
        struct xl__code code = {0};
        plan = (struct xl__plan){0};
        assert_status(xl__group_plan(&lowered, &l, &schedule.group[i],
                                     &schedule, &code, &plan),
                      XL_OK, "");
        for (unsigned k = 0; k < plan.n_steps; k++)
            each(&plan.step[k], arg);
        xl__code_clear(&code);
    }
    xl__schedule_clear(&schedule);
    xl__graph_clear(&g);
    xl__graph_clear(&lowered);
    xl__error_clear(&e);
    xl__limits_clear(&l);
}

/* -- form ------------------------------------------------------------- */

struct expected {
    const char *const *text; /* of each kernel, from its settings on */
    unsigned n;
};

static void compare_text(const struct xl__step *step, void *arg)
{
    struct expected *e = arg;
    const char *got = strstr(step->text, "#define XL_WG");
    assert_non_null(got);
    assert_true(e->n > 0);
    assert_string_equal(got, *e->text);
    e->text++;
    e->n--;
}

static void assert_texts(const char *text, const char *spec, bool is_cpu,
                         const char *const *expected, unsigned n)
{
    struct expected e = {expected, n};
    plan_each(text, spec, is_cpu, compare_text, &e);
    assert_int_equal(e.n, 0);
}

/* clang-format off */
/* Two sweeps on a GPU, whose items hold the row. */
static void rows_in_registers(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "#define XL_WG 128\n"
        "#define XL_LANES 16\n"
        "#define XL_HELD 4\n"
        "#define XL_UNROLL 4\n"
        "#define XL_RUNS 0\n"
        "#define XL_JOINS 0\n"
        "#define XL_CHUNKED 0\n"
        "#define XL_HAS_LINES 0\n"
        "#define XL_ROWS (n0)\n"
        "#define XL_LINES (1)\n"
        "#define XL_INNER n1\n"
        "#define XL_PARAMS \\\n"
        "    __global const ushort *m0, const ulong o0, const IDX s0_0, \\\n"
        "    __global float *m1, const ulong o1, const IDX s1_0, \\\n"
        "    const IDX n0, const IDX n1\n"
        "#define XL_KINDS(F) F(maxf)\n"
        "#define XL_STATES(F) F(maxf, 1)\n"
        "#define XL_STATES_0(F) F(maxf, 1)\n"
        "#define XL_STATES_1(F)\n"
        "#define XL_SWEEPS \\\n"
        "    XL_REDUCE(0) \\\n"
        "    XL_WRITE(1)\n"
        "#define XL_ROW_PLACES \\\n"
        "    IDX rest0 = row; \\\n"
        "    const IDX i0 = rest0; \\\n"
        "    const IDX p0 = i0 * s0_0; \\\n"
        "    const IDX p1 = i0 * s1_0;\n"
        "#define XL_ROW_0\n"
        "#define XL_ROW_1 \\\n"
        "    const float v1 = XL_RESULT(maxf, 1);\n"
        "#define XL_ROW_END\n"
        "#define XL_KEPT \\\n"
        "    float4 h0[XL_AT_ONCE];\n"
        "#define XL_VECTOR_ARRAYS_0 \\\n"
        "    float4 b1[XL_AT_ONCE];\n"
        "#define XL_VECTOR_LOADS_0 \\\n"
        "    const float4 v0 = xl_loada_f16_4(m0 + o0, p0 + at); \\\n"
        "    h0[u] = v0;\n"
        "#define XL_BLOCK_0 4\n"
        "#define XL_VECTOR_RESULTS_0 \\\n"
        "    const float4 v0 = h0[u]; \\\n"
        "    b1[u] = v0;\n"
        "#define XL_SINGLE_ARRAYS_0 \\\n"
        "    float x0[XL_AT_ONCE]; \\\n"
        "    float b1[XL_AT_ONCE];\n"
        "#define XL_SINGLE_LOADS_0 \\\n"
        "    const float v0 = xl_load_f16_1(m0 + o0, p0 + at); \\\n"
        "    x0[u] = v0;\n"
        "#define XL_SINGLE_RESULTS_0 \\\n"
        "    const float v0 = x0[u]; \\\n"
        "    b1[u] = v0;\n"
        "#define XL_VECTOR_ARRAYS_1\n"
        "#define XL_VECTOR_LOADS_1\n"
        "#define XL_BLOCK_1 4\n"
        "#define XL_VECTOR_RESULTS_1 \\\n"
        "    const float4 v0 = h0[u]; \\\n"
        "    const float4 v2 = v0 - (float4)(v1); \\\n"
        "    xl_storea_f32_4(m1 + o1, p1 + at, v2);\n"
        "#define XL_SINGLE_ARRAYS_1 \\\n"
        "    float x0[XL_AT_ONCE];\n"
        "#define XL_SINGLE_LOADS_1 \\\n"
        "    const float v0 = xl_load_f16_1(m0 + o0, p0 + at); \\\n"
        "    x0[u] = v0;\n"
        "#define XL_SINGLE_RESULTS_1 \\\n"
        "    const float v0 = x0[u]; \\\n"
        "    const float v2 = v0 - v1; \\\n"
        "    xl_store_f32_1(m1 + o1, p1 + at, v2);\n"
        "#include \"expr/row_reduction.cl\"\n"};
    assert_texts("y = x - max(x, axis=-1)", "x:f16[4096,200] y:f32[4096,200]",
                 false, expected, 1);
}

/* On a CPU, in chunks that a second launch joins. */
#define COLUMN_MEANS \
    "#define XL_HAS_LINES 0\n" \
    "#define XL_ROWS (1)\n" \
    "#define XL_LINES (n0)\n" \
    "#define XL_INNER n1\n" \
    "#define XL_PARAMS \\\n" \
    "    __global const float *m0, const ulong o0, const IDX s0_0, \\\n" \
    "    __global float *m1, const ulong o1, \\\n" \
    "    const IDX n0, const IDX n1\n" \
    "#define XL_KINDS(F) F(sumf)\n" \
    "#define XL_STATES(F) F(sumf, 2)\n" \
    "#define XL_STATES_0(F) F(sumf, 2)\n" \
    "#define XL_SWEEPS \\\n" \
    "    XL_REDUCE(0)\n" \
    "#define XL_ROW_PLACES \\\n" \
    "    const IDX p0 = 0; \\\n" \
    "    const IDX p1 = 0;\n" \
    "#define XL_ROW_0\n" \
    "#define XL_PART_ROW_0\n" \
    "#define XL_ROW_END \\\n" \
    "    const float16 v2 = XL_RESULT_MEAN(sumf, 2); \\\n" \
    "    xl_storen_f32_16(m1 + o1, p1 + at, 1, count, v2);\n"

static void columns_of_items(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "#define XL_WG 1\n"
        "#define XL_LANES 1\n"
        "#define XL_HELD 128\n"
        "#define XL_UNROLL 4\n"
        "#define XL_RUNS 0\n"
        "#define XL_JOINS 0\n"
        "#define XL_CHUNKED 1\n"
        COLUMN_MEANS
        "#define XL_LINE_PLACES \\\n"
        "    IDX rest0 = line; \\\n"
        "    const IDX i0 = rest0; \\\n"
        "    const IDX p0_2 = p0 + i0 * s0_0; \\\n"
        "    const IDX p1_2 = p1;\n"
        "#define XL_VECTOR_ARRAYS_0 \\\n"
        "    float16 x0[XL_AT_ONCE]; \\\n"
        "    float16 b2[XL_AT_ONCE];\n"
        "#define XL_VECTOR_LOADS_0 \\\n"
        "    const float16 v0 = xl_loada_f32_16(m0 + o0, p0_2 + at); \\\n"
        "    x0[u] = v0;\n"
        "#define XL_VECTOR_RESULTS_0 \\\n"
        "    const float16 v0 = x0[u]; \\\n"
        "    const float16 v1 = v0 * v0; \\\n"
        "    b2[u] = v1;\n"
        "#define XL_PART_LOADS_0 \\\n"
        "    const float16 v0 = xl_loadn_f32_16(m0 + o0, p0_2 + at, 1, count); \\\n"
        "    x0[u] = v0;\n"
        "#include \"expr/column_reduction.cl\"\n",
        "#define XL_WG 1\n"
        "#define XL_LANES 1\n"
        "#define XL_HELD 1\n"
        "#define XL_UNROLL 4\n"
        "#define XL_RUNS 0\n"
        "#define XL_JOINS 1\n"
        "#define XL_CHUNKED 1\n"
        COLUMN_MEANS
        "#include \"expr/column_reduction.cl\"\n"};
    assert_texts("s = mean(x * x, axis=0)", "x:f32[4096,4096] s:f32[1,4096]",
                 true, expected, 2);
}
/* clang-format on */

/* -- files for other compilers ---------------------------------------- */

/* clang-format off */
static const struct {
    const char *name, *text, *spec;
} cases[] = {
    {"softmax", "y = softmax(x)", "x:f16[4096,4096] y:f16[4096,4096]"},
    {"softmax_short", "y = softmax(x)", "x:f32[65536,100] y:f32[65536,100]"},
    {"softmax_long", "y = softmax(x)", "x:f32[512,100001] y:f32[512,100001]"},
    {"softmax_odd", "y = softmax(x)", "x:f32[4096,1001] y:f32[4096,1001]"},
    {"softmax_thrice", "y = softmax(softmax(softmax(x) * 2) * 2)",
     "x:f32[4096,1024] y:f32[4096,1024]"},
    {"layer_norm", "y = layer_norm(x + r, g, b, 1e-5)",
     "x:f16[4096,4096] r:f16[4096,4096] g:f32[4096] b:f32[4096] "
     "y:f16[4096,4096]"},
    {"rms_norm", "y = rms_norm(x, g, 1e-5)",
     "x:bf16[4096,8192] g:bf16[8192] y:bf16[4096,8192]"},
    {"rows", "s = sum(x, axis=-1)\nm = argmax(x, axis=-1)\n"
     "v = var(x, axis=-1)\nl = logsumexp(x, axis=-1)",
     "x:f32[8192,2048] s:f32[8192,1] m:i32[8192,1] v:f32[8192,1] "
     "l:f32[8192,1]"},
    {"inner_axes", "y = x - mean(x, axis=(1, 3))",
     "x:f32[64,32,64,100] y:f32[64,32,64,100]"},
    {"columns", "s = sum(x * x, axis=0)\nm = argmin(x, axis=0)",
     "x:f32[4096,4096] s:f32[1,4096] m:i32[1,4096]"},
    {"columns_many", "s = sum(x, axis=1)",
     "x:f16[64,256,65536] s:f32[64,1,65536]"},
    {"columns_var", "v = var(x, axis=0)", "x:f32[100000,33] v:f32[1,33]"},
    {"chunks", "s = sum(x)\nl = logsumexp(x)", "x:f32[16777216] s:f32[1] l:f32[1]"},
    {"chunks_norm", "n = norm2(x, axis=-1)", "x:i8[3,1000001] n:f32[3,1]"},
};
/* clang-format on */

struct file_name {
    const char *folder, *kind, *name;
    unsigned n;
};

static void write_file(const struct xl__step *step, void *arg)
{
    struct file_name *f = arg;
    char path[512];
    snprintf(path, sizeof path, "%s/%s_%s_%u_%s.cl", f->folder, f->kind,
             f->name, f->n++, step->kernel);
    FILE *file = fopen(path, "w");
    if (!file || fputs(step->text, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
}

static int write_files(const char *folder)
{
    for (unsigned is_cpu = 0; is_cpu < 2; is_cpu++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct file_name f = {folder, is_cpu ? "cpu" : "gpu",
                                  cases[i].name, 0};
            plan_each(cases[i].text, cases[i].spec, is_cpu, write_file, &f);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_registers),
        cmocka_unit_test(columns_of_items),
    };
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_files(argv[2]);
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
