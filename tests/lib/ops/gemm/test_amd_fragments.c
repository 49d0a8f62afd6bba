/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's fragments of cl/common/matrix.clh, as they are emulated: products by
 * them against a model of each instruction on the host, which has the places
 * of the elements in registers as AMD's documents give them (AM-17), and
 * against the product of the matrices. Numbers are small integers, which every
 * type holds exactly, so that sums agree bit by bit in any order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "device/device.h"
#include "runtime/launch.h"
#include "support/support.h"

/* -- the instructions, by the documents ------------------------------------
 */

/* Where element k of row i of A is, and of column i of B: lane, register and
 * place in the register. */
struct place {
    unsigned lane, gpr, slot;
};

static struct place mfma_32x32x8_f16(unsigned i, unsigned k)
{
    return (struct place){32 * (k / 4) + i, k / 2 % 2, k % 2};
}
static struct place mfma_16x16x16_f16(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 4) + i, k / 2 % 2, k % 2};
}
static struct place mfma_32x32x8_i8(unsigned i, unsigned k)
{
    return (struct place){32 * (k / 4) + i, 0, k % 4};
}
static struct place mfma_16x16x16_i8(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 4) + i, 0, k % 4};
}
static struct place mfma_32x32x16_i8(unsigned i, unsigned k)
{
    return (struct place){32 * (k / 8) + i, k / 4 % 2, k % 4};
}
static struct place mfma_16x16x32_i8(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 8) + i, k / 4 % 2, k % 4};
}
static struct place mfma_32x32x16_f16(unsigned i, unsigned k)
{
    return (struct place){32 * (k / 8) + i, k / 2 % 4, k % 2};
}
static struct place mfma_16x16x32_f16(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 8) + i, k / 2 % 4, k % 2};
}
static struct place mfma_32x32x32_i8(unsigned i, unsigned k)
{
    return (struct place){32 * (k / 16) + i, k / 4 % 4, k % 4};
}
static struct place mfma_16x16x64_i8(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 16) + i, k / 4 % 4, k % 4};
}
/* Of the copies in lanes i and i + 16 the first. */
static struct place wmma_gfx11_f16(unsigned i, unsigned k)
{
    return (struct place){i, k / 2, k % 2};
}
static struct place wmma_gfx11_i8(unsigned i, unsigned k)
{
    return (struct place){i, k / 4, k % 4};
}
static struct place wmma_gfx12_f16(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 4 % 2) + i, 2 * (k / 8) + k / 2 % 2,
                          k % 2};
}
static struct place wmma_gfx12_i8(unsigned i, unsigned k)
{
    return (struct place){16 * (k / 8) + i, k / 4 % 2, k % 4};
}

/* Where D's (i, j) is. */
static struct place mfma_32x32_sum(unsigned i, unsigned j)
{
    return (struct place){32 * (i / 4) % 64 + j, 4 * (i / 8) + i % 4, 0};
}
static struct place mfma_16x16_sum(unsigned i, unsigned j)
{
    return (struct place){16 * (i / 4) + j, i % 4, 0};
}
static struct place wmma_gfx11_sum(unsigned i, unsigned j)
{
    return (struct place){16 * i % 32 + j, i / 2, 0};
}
static struct place wmma_gfx12_sum(unsigned i, unsigned j)
{
    return (struct place){16 * (i / 8) + j, i % 8, 0};
}

/* Those of the same fragments and type one after the other. An instruction:
 * rows, k and registers of A; and of mma() of these fragments,
 * lanes, the registers of A that a lane loads, bytes along k. */
static const struct instruction {
    const char *name, *fragments;
    xl_dtype type;
    unsigned m, k, gprs, lanes, words, deep;
    struct place (*operand)(unsigned i, unsigned k);
    struct place (*sum)(unsigned i, unsigned j);
} instructions[] = {
    {"v_mfma_f32_32x32x8_f16", "MFMA_32X32", XL_F16, 32, 8, 2, 64, 4, 32,
     mfma_32x32x8_f16, mfma_32x32_sum},
    {"v_mfma_f32_32x32x16_f16", "MFMA_32X32", XL_F16, 32, 16, 4, 64, 4, 32,
     mfma_32x32x16_f16, mfma_32x32_sum},
    {"v_mfma_f32_32x32x8_bf16", "MFMA_32X32", XL_BF16, 32, 8, 2, 64, 4, 32,
     mfma_32x32x8_f16, mfma_32x32_sum},
    {"v_mfma_f32_32x32x16_bf16", "MFMA_32X32", XL_BF16, 32, 16, 4, 64, 4, 32,
     mfma_32x32x16_f16, mfma_32x32_sum},
    {"v_mfma_i32_32x32x8i8", "MFMA_32X32", XL_I8, 32, 8, 1, 64, 4, 32,
     mfma_32x32x8_i8, mfma_32x32_sum},
    {"v_mfma_i32_32x32x16_i8", "MFMA_32X32", XL_I8, 32, 16, 2, 64, 4, 32,
     mfma_32x32x16_i8, mfma_32x32_sum},
    {"v_mfma_i32_32x32x32_i8", "MFMA_32X32", XL_I8, 32, 32, 4, 64, 4, 32,
     mfma_32x32x32_i8, mfma_32x32_sum},
    {"v_mfma_f32_16x16x16_f16", "MFMA_16X16", XL_F16, 16, 16, 2, 64, 4, 64,
     mfma_16x16x16_f16, mfma_16x16_sum},
    {"v_mfma_f32_16x16x32_f16", "MFMA_16X16", XL_F16, 16, 32, 4, 64, 4, 64,
     mfma_16x16x32_f16, mfma_16x16_sum},
    {"v_mfma_f32_16x16x16_bf16", "MFMA_16X16", XL_BF16, 16, 16, 2, 64, 4, 64,
     mfma_16x16x16_f16, mfma_16x16_sum},
    {"v_mfma_i32_16x16x16i8", "MFMA_16X16", XL_I8, 16, 16, 1, 64, 4, 64,
     mfma_16x16x16_i8, mfma_16x16_sum},
    {"v_mfma_i32_16x16x32_i8", "MFMA_16X16", XL_I8, 16, 32, 2, 64, 4, 64,
     mfma_16x16x32_i8, mfma_16x16_sum},
    {"v_mfma_i32_16x16x64_i8", "MFMA_16X16", XL_I8, 16, 64, 4, 64, 4, 64,
     mfma_16x16x64_i8, mfma_16x16_sum},
    {"v_wmma_f32_16x16x16_f16", "WMMA_GFX11", XL_F16, 16, 16, 8, 32, 8, 32,
     wmma_gfx11_f16, wmma_gfx11_sum},
    {"v_wmma_f32_16x16x16_bf16", "WMMA_GFX11", XL_BF16, 16, 16, 8, 32, 8, 32,
     wmma_gfx11_f16, wmma_gfx11_sum},
    {"v_wmma_i32_16x16x16_iu8", "WMMA_GFX11", XL_I8, 16, 16, 4, 32, 8, 32,
     wmma_gfx11_i8, wmma_gfx11_sum},
    {"v_wmma_f32_16x16x16_f16", "WMMA_GFX12", XL_F16, 16, 16, 4, 32, 4, 32,
     wmma_gfx12_f16, wmma_gfx12_sum},
    {"v_wmma_f32_16x16x16_bf16", "WMMA_GFX12", XL_BF16, 16, 16, 4, 32, 4, 32,
     wmma_gfx12_f16, wmma_gfx12_sum},
    {"v_wmma_i32_16x16x16_iu8", "WMMA_GFX12", XL_I8, 16, 16, 2, 32, 4, 32,
     wmma_gfx12_i8, wmma_gfx12_sum},
    {"v_mfma_f32_32x32x16_fp8_fp8", "MFMA_32X32", XL_F8E4M3, 32, 16, 2, 64, 4,
     32, mfma_32x32x16_i8, mfma_32x32_sum},
    {"v_mfma_f32_16x16x32_fp8_fp8", "MFMA_16X16", XL_F8E4M3, 16, 32, 2, 64, 4,
     64, mfma_16x16x32_i8, mfma_16x16_sum},
    {"v_wmma_f32_16x16x16_fp8_fp8", "WMMA_GFX12", XL_F8E4M3, 16, 16, 2, 32, 4,
     32, wmma_gfx12_i8, wmma_gfx12_sum},
};
enum { N_INSTRUCTIONS = sizeof instructions / sizeof *instructions };

/* -- the kernel ------------------------------------------------------------
 */

/* Two teams, one below the other, each of a fragment of A, two of B and two
 * steps. `words`: of each step, item and fragment, A first; `sums`: of each
 * item and fragment, as they are held; c: where the macros say. */
enum {
    TEAMS = 2,
    B_FRAGMENTS = 2,
    STEPS = 2,
    FRAGMENTS = 1 + B_FRAGMENTS,
    MOST_SIDE = 64,  /* rows, columns */
    MOST_LINE = 128, /* bytes along k */
    MOST_ITEMS = 128,
    MOST_WORDS = 8,
    MOST_SUMS = 16,
    MOST = 8, /* integers go from -MOST to MOST */
    SEED = 7
};

static const char text[] =
    "#include \"common/matrix.clh\"\n"
    "#define WG (2 * MMA_LANES)\n"
    "#define ROWS (2 * MMA_M)\n"
    "#define COLS (2 * MMA_N)\n"
    "#define LINE (2 * MMA_DEEP)\n"
    "#define PLACE(x, byte) MMA_AT_ALONG(LINE, x, (byte) / 16) + (byte) % 16\n"
    "__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void\n"
    "product(\n"
    "    __global const uchar *a, __global const uchar *b,\n"
    "    __global uint *words, __global mma_value *sums,\n"
    "    __global mma_value *c)\n"
    "{\n"
    "    __local uchar la[ROWS * LINE] __attribute__((aligned(128)));\n"
    "    __local uchar lb[COLS * LINE] __attribute__((aligned(128)));\n"
    "    MMA_TEAM(t, WG);\n"
    "    const uint lid = (uint)get_local_id(0);\n"
    "    const uint x0 = lid / MMA_LANES * MMA_M;\n"
    "    mma_a fa[1];\n"
    "    mma_b fb[2];\n"
    "    mma_c sum[2];\n"
    "    for (uint i = lid; i < ROWS * LINE; i += WG) {\n"
    "        la[PLACE(i / LINE, i % LINE)] = a[i];\n"
    "        lb[PLACE(i / LINE, i % LINE)] = b[i];\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    mma_zero(&sum[0]);\n"
    "    mma_zero(&sum[1]);\n"
    "    for (uint s = 0; s < 2; s++) {\n"
    "        mma_load_a_along(&t, fa, 1, la, LINE, x0, s);\n"
    "        mma_load_b_along(&t, fb, 2, lb, LINE, 0, s);\n"
    "        for (uint j = 0; j < 2; j++)\n"
    "            mma(&t, &sum[j], &fa[0], &fb[j]);\n"
    "        for (uint w = 0; w < MMA_A_WORDS; w++) {\n"
    "            __global uint *to =\n"
    "                words + (s * WG + lid) * 3 * MMA_A_WORDS + w;\n"
    "            to[0] = fa[0].w[w];\n"
    "            to[MMA_A_WORDS] = fb[0].w[w];\n"
    "            to[2 * MMA_A_WORDS] = fb[1].w[w];\n"
    "        }\n"
    "    }\n"
    "    for (uint j = 0; j < 2; j++)\n"
    "        for (uint e = 0; e < MMA_C_ELEMS; e++) {\n"
    "            sums[(lid * 2 + j) * MMA_C_ELEMS + e] = sum[j].e[e];\n"
    "            c[(x0 + MMA_C_ROW(t.lane, e)) * COLS + j * MMA_N +\n"
    "              MMA_C_COL(t.lane, e)] = sum[j].e[e];\n"
    "        }\n"
    "}\n";

static struct test_device t;

static cl_mem buffer(size_t bytes, const void *from)
{
    cl_mem mem = NULL;
    assert_status(xl_buffer_create(t.queue, bytes, &mem), XL_OK,
                  xl_error_detail(t.queue));
    if (from)
        assert_status(xl_buffer_write(t.queue, mem, 0, from, bytes), XL_OK,
                      xl_error_detail(t.queue));
    return mem;
}

static void get(cl_mem mem, void *to, size_t bytes)
{
    assert_status(xl_buffer_read(t.queue, mem, 0, to, bytes), XL_OK,
                  xl_error_detail(t.queue));
}

static void run_kernel(const struct instruction *in, const cl_mem *mem,
                       unsigned n)
{
    struct xl__plan *p = calloc(1, sizeof *p);
    struct xl__call call = {0};
    assert_non_null(p);
    struct xl__step *s = &p->step[p->n_steps++];
    s->source = "test_amd_fragments";
    s->text = text;
    s->kernel = "product";
    s->dims = 1;
    s->slice_dim = -1;
    s->global[0] = s->local[0] = TEAMS * in->lanes;
    xl__define_choice(s, "MMA_FRAGMENTS", in->fragments);
    xl__define(s, "MMA_T", (long)in->type);
    for (unsigned i = 0; i < n; i++) {
        call.mem[1 + i].buf = mem[i];
        xl__arg_mem(s, 1 + i);
    }
    assert_status(xl__plan_launch(t.queue, p, &call, NULL), XL_OK,
                  xl_error_detail(t.queue));
    free(p);
}

/* -- comparing -------------------------------------------------------------
 */

static void put_element(unsigned char *to, xl_dtype type, int x)
{
    const uint16_t half =
        type == XL_F16 ? xl__f32_to_f16((float)x) : xl__f32_to_bf16((float)x);
    const uint8_t byte =
        type == XL_I8 ? (uint8_t)x : xl__f32_to_e4m3((float)x);
    memcpy(to,
           xl_dtype_bytes(type) == 1 ? (const void *)&byte
                                     : (const void *)&half,
           xl_dtype_bytes(type));
}

/* The element in place `slot` of a register. */
static int element_of(uint32_t word, xl_dtype type, unsigned slot)
{
    if (type == XL_I8)
        return (int8_t)(word >> 8 * slot);
    if (type == XL_F8E4M3)
        return (int)xl__e4m3_to_f32((uint8_t)(word >> 8 * slot));
    const uint16_t bits = (uint16_t)(word >> 16 * slot);
    return (int)(type == XL_F16 ? xl__f16_to_f32(bits)
                                : xl__bf16_to_f32(bits));
}

union value {
    float f;
    int32_t i;
};

static bool is_value(const union value *got, xl_dtype type, int want)
{
    union value v = {.i = want};
    if (type != XL_I8)
        v.f = (float)want + 0.0f;
    return memcmp(got, &v, sizeof v) == 0;
}

/* What was held: registers of all items in each step, then sums. */
struct held {
    uint32_t words[STEPS * MOST_ITEMS * FRAGMENTS * MOST_WORDS];
    union value sums[MOST_ITEMS * B_FRAGMENTS * MOST_SUMS];
};

static uint32_t register_of(const struct held *h, const struct instruction *in,
                            unsigned step, unsigned team, unsigned lane,
                            unsigned fragment, unsigned gpr)
{
    const unsigned item = (step * TEAMS + team) * in->lanes + lane;
    return h->words[(item * FRAGMENTS + fragment) * in->words + gpr];
}

/* D's (i, j) after all instructions of all steps. */
static int model_of(const struct held *h, const struct instruction *in,
                    unsigned team, unsigned fragment, unsigned i, unsigned j)
{
    int sum = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned first = 0; first < in->words; first += in->gprs) {
            for (unsigned k = 0; k < in->k; k++) {
                const struct place a = in->operand(i, k);
                const struct place b = in->operand(j, k);
                sum += element_of(register_of(h, in, step, team, a.lane, 0,
                                              first + a.gpr),
                                  in->type, a.slot) *
                       element_of(register_of(h, in, step, team, b.lane,
                                              1 + fragment, first + b.gpr),
                                  in->type, b.slot);
            }
        }
    }
    return sum;
}

static void sums_are_the_models(const struct held *h,
                                const struct instruction *in)
{
    const unsigned n_sums = in->m * in->m / in->lanes;
    for (unsigned team = 0; team < TEAMS; team++) {
        for (unsigned f = 0; f < B_FRAGMENTS; f++) {
            for (unsigned i = 0; i < in->m; i++) {
                for (unsigned j = 0; j < in->m; j++) {
                    const struct place d = in->sum(i, j);
                    const unsigned item = team * in->lanes + d.lane;
                    if (!is_value(&h->sums[(item * B_FRAGMENTS + f) * n_sums +
                                           d.gpr],
                                  in->type, model_of(h, in, team, f, i, j)))
                        fail_msg("%s: D[%u][%u]", in->name, i, j);
                }
            }
        }
    }
}

/* Where only half of the lanes' registers are different. */
static void copies_are_equal(const struct held *h,
                             const struct instruction *in)
{
    enum { HALF = 16 };
    if (strcmp(in->fragments, "WMMA_GFX11") != 0)
        return;
    for (unsigned lane = 0; lane < HALF; lane++) {
        for (unsigned f = 0; f < FRAGMENTS; f++) {
            for (unsigned w = 0; w < in->words; w++)
                assert_int_equal(register_of(h, in, 1, 0, lane, f, w),
                                 register_of(h, in, 1, 0, lane + HALF, f, w));
        }
    }
}

/* The same fragments of the same elements: one kernel. */
static bool is_alike(const struct instruction *x, const struct instruction *y)
{
    return strcmp(x->fragments, y->fragments) == 0 && x->type == y->type;
}

/* Operands, and what the kernel of `in` made of them. */
enum { AREA = MOST_SIDE * MOST_LINE };
struct made {
    int a[AREA], b[AREA];
    struct held held;
    union value c[MOST_SIDE * MOST_SIDE];
};

static void make_product(const struct instruction *in, struct made *p)
{
    static unsigned char ea[AREA], eb[AREA];
    const size_t bytes = xl_dtype_bytes(in->type);
    const size_t n = 2 * in->m * STEPS * in->deep / bytes;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED + in->type);
    for (size_t i = 0; i < n; i++) {
        p->a[i] = (int)xl__rng_below(&rng, 2 * MOST + 1) - MOST;
        p->b[i] = (int)xl__rng_below(&rng, 2 * MOST + 1) - MOST;
        put_element(ea + i * bytes, in->type, p->a[i]);
        put_element(eb + i * bytes, in->type, p->b[i]);
    }
    const cl_mem mem[] = {buffer(sizeof ea, ea), buffer(sizeof eb, eb),
                          buffer(sizeof p->held.words, NULL),
                          buffer(sizeof p->held.sums, NULL),
                          buffer(sizeof p->c, NULL)};
    enum { N_MEM = sizeof mem / sizeof *mem };
    run_kernel(in, mem, N_MEM);
    get(mem[2], p->held.words, sizeof p->held.words);
    get(mem[3], p->held.sums, sizeof p->held.sums);
    get(mem[4], p->c, sizeof p->c);
    for (unsigned i = 0; i < N_MEM; i++)
        clReleaseMemObject(mem[i]);
}

static void is_product(const struct instruction *in, const struct made *p)
{
    const size_t side = 2 * in->m;
    const size_t k = STEPS * in->deep / xl_dtype_bytes(in->type);
    for (size_t i = 0; i < side; i++) {
        for (size_t j = 0; j < side; j++) {
            int want = 0;
            for (size_t l = 0; l < k; l++)
                want += p->a[i * k + l] * p->b[j * k + l];
            if (!is_value(&p->c[i * side + j], in->type, want))
                fail_msg("%s: the product's [%zu][%zu]", in->name, i, j);
        }
    }
}

static void instructions_multiply_as_documented(void **state)
{
    static struct made p;
    (void)state;
    for (unsigned i = 0; i < N_INSTRUCTIONS; i++) {
        const struct instruction *in = &instructions[i];
        if (i == 0 || !is_alike(in, in - 1))
            make_product(in, &p);
        sums_are_the_models(&p.held, in);
        copies_are_equal(&p.held, in);
        is_product(in, &p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_multiply_as_documented),
    };
    test_args(argc, argv);
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    return test_run_on_device(tests, &t, &quick);
}
