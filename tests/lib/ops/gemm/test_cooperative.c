/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of common/matrix/cooperative.clh, as they are emulated: loads
 * along k, two steps of sums, C in local memory, in several shapes and both
 * types, against the product of the matrices. Numbers are small integers, so
 * that sums agree bit by bit; C's places outside the matrices stay as they
 * were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "device/device.h"
#include "runtime/launch.h"
#include "support/support.h"

/* Two teams, one below the other, each of a fragment of A and two of B. */
enum {
    TEAMS = 2,
    STEPS = 2,
    ROOM = 64 * 128, /* elements of an operand */
    SUMS = 64 * 72,
    PAD = 8, /* columns of C that no matrix has */
    MOST = 8,
    UNTOUCHED = -77,
    SEED = 11
};

static const struct shape {
    xl_dtype type;
    unsigned m, n, k, lanes;
} shapes[] = {{XL_F16, 16, 16, 16, 32},
              {XL_I8, 8, 16, 32, 16},
              {XL_F16, 16, 8, 8, 32}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const char text[] =
    "#include \"common/matrix.clh\"\n"
    "#define WG (2 * MMA_LANES)\n"
    "#define ROWS (2 * MMA_M)\n"
    "#define COLS (2 * MMA_N)\n"
    "#define LINE (2 * MMA_DEEP)\n"
    "#define LINE_C (COLS + 8)\n"
    "__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void\n"
    "product(__global const uchar *a, __global const uchar *b,\n"
    "        __global mma_value *c)\n"
    "{\n"
    "    __local uchar la[ROWS * LINE] __attribute__((aligned(128)));\n"
    "    __local uchar lb[COLS * LINE] __attribute__((aligned(128)));\n"
    "    __local mma_value lc[ROWS * LINE_C];\n"
    "    MMA_TEAM(t, WG);\n"
    "    const uint lid = (uint)get_local_id(0);\n"
    "    const uint x0 = lid / MMA_LANES * MMA_M;\n"
    "    mma_a fa[1];\n"
    "    mma_b fb[2];\n"
    "    mma_c sum[2];\n"
    "    for (uint i = lid; i < ROWS * LINE; i += WG)\n"
    "        la[MMA_AT_ALONG(LINE, i / LINE, i % LINE / 16) + i % 16] = a[i];\n"
    "    for (uint i = lid; i < COLS * LINE; i += WG)\n"
    "        lb[MMA_AT_ALONG(LINE, i / LINE, i % LINE / 16) + i % 16] = b[i];\n"
    "    for (uint i = lid; i < ROWS * LINE_C; i += WG)\n"
    "        lc[i] = -77;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    MMA_ZERO(sum[0]);\n"
    "    MMA_ZERO(sum[1]);\n"
    "    for (uint s = 0; s < 2; s++) {\n"
    "        mma_load_a_along(&t, fa, 1, la, LINE, x0, s);\n"
    "        mma_load_b_along(&t, fb, 2, lb, LINE, 0, s);\n"
    "        for (uint j = 0; j < 2; j++)\n"
    "            MMA_MUL_ADD(&t, sum[j], fa[0], fb[j]);\n"
    "    }\n"
    "    for (uint j = 0; j < 2; j++)\n"
    "        MMA_STORE_C(&t, lc + x0 * LINE_C + j * MMA_N, LINE_C, sum[j]);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint i = lid; i < ROWS * LINE_C; i += WG)\n"
    "        c[i] = lc[i];\n"
    "}\n";

static struct test_device t;

static void run_kernel(const struct shape *s, const cl_mem *mem, unsigned n)
{
    struct xl__plan *p = calloc(1, sizeof *p);
    struct xl__call call = {0};
    assert_non_null(p);
    struct xl__step *step = &p->step[p->n_steps++];
    const struct xl__defined defines[] = {
        {"COOP_M", s->m}, {"COOP_N", s->n},         {"COOP_K", s->k},
        {"COOP_LANES", s->lanes}, {"MMA_T", s->type}};
    step->source = "test_cooperative";
    step->text = text;
    step->kernel = "product";
    step->dims = 1;
    step->slice_dim = -1;
    step->global[0] = step->local[0] = TEAMS * (size_t)s->lanes;
    xl__define_choice(step, "MMA_FRAGMENTS", "cooperative");
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    for (unsigned i = 0; i < n; i++) {
        call.mem[1 + i].buf = mem[i];
        xl__arg_mem(step, 1 + i);
    }
    assert_status(xl__plan_launch(t.queue, p, &call, NULL), XL_OK,
                  xl_error_detail(t.queue));
    free(p);
}

/* n random elements, as numbers and as they are in memory. */
static cl_mem random_operand(struct xl__rng *rng, const struct shape *s,
                             size_t n, int *numbers)
{
    static unsigned char bytes[2 * ROOM];
    cl_mem mem = NULL;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = (int)xl__rng_below(rng, 2 * MOST + 1) - MOST;
        const uint16_t half = xl__f32_to_f16((float)numbers[i]);
        if (s->type == XL_F16)
            memcpy(bytes + 2 * i, &half, sizeof half);
        else
            bytes[i] = (unsigned char)numbers[i];
    }
    const size_t size = n * xl_dtype_bytes(s->type);
    assert_status(xl_buffer_create(t.queue, size, &mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, mem, 0, bytes, size), XL_OK,
                  xl_error_detail(t.queue));
    return mem;
}

static void multiply(const struct shape *s)
{
    static int a[ROOM], b[ROOM];
    static union {
        float f;
        int32_t i;
    } c[SUMS];
    struct xl__rng rng;
    const size_t rows = 2 * s->m, cols = 2 * s->n, k = STEPS * (size_t)s->k;
    const size_t line = cols + PAD, bytes = rows * line * sizeof *c;
    xl__rng_seed(&rng, SEED);
    cl_mem mem[] = {random_operand(&rng, s, rows * k, a),
                    random_operand(&rng, s, cols * k, b), NULL};
    enum { N_MEM = sizeof mem / sizeof *mem };
    assert_status(xl_buffer_create(t.queue, bytes, &mem[2]), XL_OK,
                  xl_error_detail(t.queue));
    run_kernel(s, mem, N_MEM);
    assert_status(xl_buffer_read(t.queue, mem[2], 0, c, bytes), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t i = 0; i < rows * line; i++) {
        const size_t row = i / line, col = i % line;
        int want = col < cols ? 0 : UNTOUCHED;
        for (size_t l = 0; col < cols && l < k; l++)
            want += a[row * k + l] * b[col * k + l];
        if (s->type == XL_I8 ? c[i].i != want : c[i].f != (float)want)
            fail_msg("%ux%ux%u: C[%zu][%zu]", s->m, s->n, s->k, row, col);
    }
    for (unsigned i = 0; i < N_MEM; i++)
        clReleaseMemObject(mem[i]);
}

static void matrices_are_multiplied(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_SHAPES; i++)
        multiply(&shapes[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_multiplied),
    };
    test_args(argc, argv);
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    return test_run_on_device(tests, &t, &quick);
}
