/* SPDX-License-Identifier: Apache-2.0 */
/* cl/common/matrix.clh alone, as it is emulated: where each lane's elements are,
 * against the PTX ISA's tables written down again here; loads of slices that
 * lie along and across; products of small integers, which every type holds
 * exactly; rows reduced and scaled; an accumulator as an operand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "device/device.h"
#include "runtime/launch.h"
#include "support/support.h"

/* Two teams, one below the other, each of 2 x 4 fragments and two steps. */
enum {
    LANES = 32,
    TEAMS = 2,
    ITEMS = LANES * TEAMS,
    DEEP = 32, /* bytes of a step */
    STEPS = 2,
    ROWS = 64,
    COLS = 32,
    LINE = DEEP * STEPS,
    WORDS = 6, /* shown by a lane: 4 of A, 2 of B */
    MOST = 8,  /* integers go from -MOST to MOST */
    SEED = 5,
    MOST_TEXT = 4096
};

static const char head[] =
    "#define WG 64\n"
    "#include \"common/matrix.clh\"\n"
    "#define ROWS 64\n"
    "#define COLS 32\n"
    "#define LINE 64\n"
    "#if ACROSS\n"
    "#define LINE_A (ROWS * MMA_BYTES)\n"
    "#define LINE_B (COLS * MMA_BYTES)\n"
    "#define PLACE(line, x, byte) MMA_AT_ACROSS(line, (byte) / MMA_BYTES, \\\n"
    "    (x) * MMA_BYTES / 16) + (x) * MMA_BYTES % 16 + (byte) % MMA_BYTES\n"
    "#define LOAD_A mma_load_a_across\n"
    "#define LOAD_B mma_load_b_across\n"
    "#else\n"
    "#define LINE_A LINE\n"
    "#define LINE_B LINE\n"
    "#define PLACE(line, x, byte) \\\n"
    "    MMA_AT_ALONG(line, x, (byte) / 16) + (byte) % 16\n"
    "#define LOAD_A mma_load_a_along\n"
    "#define LOAD_B mma_load_b_along\n"
    "#endif\n"
    "__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void ";

static const char maps[] =
    "maps(\n"
    "    __global uint *out)\n"
    "{\n"
    "    const uint l = (uint)get_local_id(0) % MMA_LANES;\n"
    "    uint n = 0;\n"
    "    out += get_local_id(0) * 128;\n"
    "    for (uint e = 0; e < MMA_A_ELEMS; e++) {\n"
    "        out[n++] = MMA_A_ROW(l, e);\n"
    "        out[n++] = MMA_A_K(l, e);\n"
    "    }\n"
    "    for (uint e = 0; e < MMA_B_ELEMS; e++) {\n"
    "        out[n++] = MMA_B_K(l, e);\n"
    "        out[n++] = MMA_B_COL(l, e);\n"
    "    }\n"
    "    for (uint e = 0; e < MMA_C_ELEMS; e++) {\n"
    "        out[n++] = MMA_C_ROW(l, e);\n"
    "        out[n++] = MMA_C_COL(l, e);\n"
    "    }\n"
    "}\n";

static const char product[] =
    "product(\n"
    "    __global const uchar *a, __global const uchar *b,\n"
    "    __global mma_value *c, __global uint *shown)\n"
    "{\n"
    "    __local uchar la[ROWS * LINE] __attribute__((aligned(128)));\n"
    "    __local uchar lb[COLS * LINE] __attribute__((aligned(128)));\n"
    "    MMA_TEAM(t, WG);\n"
    "    const uint lid = (uint)get_local_id(0), x0 = lid / MMA_LANES * 32;\n"
    "    mma_a fa[2];\n"
    "    mma_b fb[4];\n"
    "    mma_c sum[2][4];\n"
    "    for (uint i = lid; i < ROWS * LINE; i += WG)\n"
    "        la[PLACE(LINE_A, i / LINE, i % LINE)] = a[i];\n"
    "    for (uint i = lid; i < COLS * LINE; i += WG)\n"
    "        lb[PLACE(LINE_B, i / LINE, i % LINE)] = b[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint i = 0; i < 2; i++)\n"
    "        for (uint j = 0; j < 4; j++)\n"
    "            mma_zero(&sum[i][j]);\n"
    "    for (uint s = 0; s < 2; s++) {\n"
    "        LOAD_A(&t, fa, 2, la, LINE_A, x0, s);\n"
    "        LOAD_B(&t, fb, 4, lb, LINE_B, 0, s);\n"
    "        for (uint i = 0; i < 2; i++)\n"
    "            for (uint j = 0; j < 4; j++)\n"
    "                mma(&t, &sum[i][j], &fa[i], &fb[j]);\n"
    "    }\n"
    "    for (uint w = 0; w < MMA_A_WORDS; w++)\n"
    "        shown[lid * 6 + w] = fa[1].w[w];\n"
    "    for (uint w = 0; w < MMA_B_WORDS; w++)\n"
    "        shown[lid * 6 + 4 + w] = fb[1].w[w];\n"
    "    for (uint i = 0; i < 2; i++)\n"
    "        for (uint j = 0; j < 4; j++)\n"
    "            for (uint e = 0; e < MMA_C_ELEMS; e++)\n"
    "                c[(x0 + i * MMA_M + MMA_C_ROW(t.lane, e)) * COLS +\n"
    "                  j * MMA_N + MMA_C_COL(t.lane, e)] = sum[i][j].e[e];\n"
    "}\n";

/* c: 16 rows of MMA_K columns of each team, as an operand for B. */
static const char again[] =
    "again(\n"
    "    __global const float *c, __global const uchar *b,\n"
    "    __global float *out, __global float *rows)\n"
    "{\n"
    "    __local uchar lb[COLS * LINE] __attribute__((aligned(128)));\n"
    "    MMA_TEAM(t, WG);\n"
    "    const uint lid = (uint)get_local_id(0), team = lid / MMA_LANES;\n"
    "    mma_c sums[MMA_K / MMA_N], sum;\n"
    "    mma_a fa;\n"
    "    mma_b fb[2];\n"
    "    float most[MMA_ROWS], total[MMA_ROWS];\n"
    "    for (uint i = lid; i < COLS * LINE; i += WG)\n"
    "        lb[PLACE(LINE_B, i / LINE, i % LINE)] = b[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint r = 0; r < MMA_ROWS; r++) {\n"
    "        most[r] = -INFINITY;\n"
    "        total[r] = 0;\n"
    "    }\n"
    "    for (uint i = 0; i < MMA_K / MMA_N; i++) {\n"
    "        for (uint e = 0; e < MMA_C_ELEMS; e++) {\n"
    "            const float x =\n"
    "                c[(team * MMA_M + MMA_C_ROW(t.lane, e)) * MMA_K +\n"
    "                  i * MMA_N + MMA_C_COL(t.lane, e)];\n"
    "            sums[i].e[e] = x;\n"
    "            most[MMA_ROW_OF(e)] = fmax(most[MMA_ROW_OF(e)], x);\n"
    "            total[MMA_ROW_OF(e)] += x;\n"
    "        }\n"
    "    }\n"
    "    mma_row_max(&t, most);\n"
    "    mma_row_sum(&t, total);\n"
    "    for (uint e = 0; e < MMA_C_ELEMS; e++) {\n"
    "        const uint row = team * MMA_M + MMA_C_ROW(t.lane, e);\n"
    "        rows[(lid * MMA_C_ELEMS + e) * 3] = row;\n"
    "        rows[(lid * MMA_C_ELEMS + e) * 3 + 1] = most[MMA_ROW_OF(e)];\n"
    "        rows[(lid * MMA_C_ELEMS + e) * 3 + 2] = total[MMA_ROW_OF(e)];\n"
    "    }\n"
    "    mma_a_from_c(&t, &fa, sums);\n"
    "    LOAD_B(&t, fb, 2, lb, LINE_B, 0, 0);\n"
    "    mma_zero(&sum);\n"
    "    mma(&t, &sum, &fa, &fb[0]);\n"
    "    mma_scale_rows(&sum, most);\n"
    "    for (uint e = 0; e < MMA_C_ELEMS; e++)\n"
    "        out[(team * MMA_M + MMA_C_ROW(t.lane, e)) * MMA_N +\n"
    "            MMA_C_COL(t.lane, e)] = sum.e[e];\n"
    "}\n";

static struct test_device t;

/* -- types ---------------------------------------------------------------- */

static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16, XL_I8};
enum { N_TYPES = sizeof types / sizeof *types };

/* A small integer as an element. */
static void put_fragment(unsigned char *to, xl_dtype type, int x)
{
    const float f = (float)x;
    const uint16_t half =
        type == XL_F16 ? xl__f32_to_f16(f) : xl__f32_to_bf16(f);
    const int8_t byte = (int8_t)x;
    memcpy(to,
           type == XL_F32   ? (const void *)&f
           : type == XL_I8  ? (const void *)&byte
                            : (const void *)&half,
           xl_dtype_bytes(type));
}

/* Integers and the same as elements, `lines` of `n` each. */
static void draw(struct xl__rng *rng, xl_dtype type, size_t n, int *ints,
                 unsigned char *elems)
{
    for (size_t i = 0; i < n; i++) {
        ints[i] = (int)xl__rng_below(rng, 2 * MOST + 1) - MOST;
        put_fragment(elems + i * xl_dtype_bytes(type), type, ints[i]);
    }
}

/* -- kernels -------------------------------------------------------------- */

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

static void run_kernel(const char *kernel, const char *body, xl_dtype type,
                bool across, unsigned n, const cl_mem *mem)
{
    char text[sizeof head + MOST_TEXT];
    struct xl__plan *p = calloc(1, sizeof *p);
    struct xl__call call = {0};
    assert_non_null(p);
    struct xl__step *s = &p->step[p->n_steps++];
    s->source = "test_mma_shim";
    snprintf(text, sizeof text, "%s%s", head, body);
    s->text = text;
    s->kernel = kernel;
    s->dims = 1;
    s->slice_dim = -1;
    s->global[0] = s->local[0] = ITEMS;
    xl__define(s, "MMA_T", (long)type);
    xl__define(s, "ACROSS", across);
    for (unsigned i = 0; i < n; i++) {
        call.mem[1 + i].buf = mem[i];
        xl__arg_mem(s, 1 + i);
    }
    assert_status(xl__plan_launch(t.queue, p, &call, NULL), XL_OK,
                  xl_error_detail(t.queue));
    free(p);
}

/* -- the tests ------------------------------------------------------------ */

/* A pair of numbers in turn. */
static void next_is(const unsigned **at, unsigned x, unsigned y)
{
    assert_int_equal((*at)[0], x);
    assert_int_equal((*at)[1], y);
    *at += 2;
}

/* Lane l's elements of A and B. PTX ISA 9.0, 9.7.14.5.7 (m16n8k8, tf32), .8
 * (m16n8k16, 16-bit floats) and .10 (m16n8k32, bytes). */
static void operands_are(const unsigned **at, xl_dtype type, unsigned l)
{
    const unsigned row = l / 4, in = l % 4;
    if (type == XL_F32) {
        for (unsigned i = 0; i < 4; i++)
            next_is(at, i == 0 || i == 2 ? row : row + 8,
                    i < 2 ? in : in + 4);
        next_is(at, in, row);
        next_is(at, in + 4, row);
    } else if (type == XL_I8) {
        for (unsigned i = 0; i < 16; i++)
            next_is(at, i < 4 || (i >= 8 && i < 12) ? row : row + 8,
                    in * 4 + i % 4 + (i < 8 ? 0 : 16));
        for (unsigned i = 0; i < 8; i++)
            next_is(at, in * 4 + i % 4 + (i < 4 ? 0 : 16), row);
    } else {
        for (unsigned i = 0; i < 8; i++)
            next_is(at, i < 2 || i == 4 || i == 5 ? row : row + 8,
                    in * 2 + i % 2 + (i < 4 ? 0 : 8));
        for (unsigned i = 0; i < 4; i++)
            next_is(at, in * 2 + i % 2 + (i < 2 ? 0 : 8), row);
    }
}

static void lanes_hold_what_the_tables_say(void **state)
{
    enum { EACH = 128 };
    static unsigned got[ITEMS * EACH];
    (void)state;
    const cl_mem mem = buffer(sizeof got, NULL);
    for (unsigned i = 0; i < N_TYPES; i++) {
        run_kernel("maps", maps, types[i], false, 1, &mem);
        get(mem, got, sizeof got);
        for (unsigned item = 0; item < ITEMS; item++) {
            const unsigned *at = got + item * EACH, l = item % LANES;
            operands_are(&at, types[i], l);
            for (unsigned e = 0; e < 4; e++)
                next_is(&at, l / 4 + (e < 2 ? 0 : 8), l % 4 * 2 + e % 2);
        }
    }
    clReleaseMemObject(mem);
}

/* What a lane showed of its last fragments: the words' elements. */
static void shows(const unsigned char *word, xl_dtype type, const int *line,
                  size_t k)
{
    const size_t bytes = xl_dtype_bytes(type);
    for (size_t e = 0; e < 4 / bytes; e++) {
        unsigned char want[4];
        put_fragment(want, type, line[k + e]);
        assert_memory_equal(word + e * bytes, want, bytes);
    }
}

static void one_product(xl_dtype type, bool across)
{
    static int a[ROWS * LINE], b[COLS * LINE];
    static unsigned char ea[ROWS * LINE], eb[COLS * LINE];
    static unsigned shown[ITEMS * WORDS];
    static union { float f[ROWS * COLS]; int i[ROWS * COLS]; } c;
    const size_t bytes = xl_dtype_bytes(type), k = LINE / bytes;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    draw(&rng, type, ROWS * k, a, ea);
    draw(&rng, type, COLS * k, b, eb);
    const cl_mem mem[] = {buffer(sizeof ea, ea), buffer(sizeof eb, eb),
                          buffer(sizeof c, NULL),
                          buffer(sizeof shown, NULL)};
    run_kernel("product", product, type, across, 4, mem);
    get(mem[2], &c, sizeof c);
    get(mem[3], shown, sizeof shown);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLS; j++) {
            int want = 0;
            for (size_t l = 0; l < k; l++)
                want += a[i * k + l] * b[j * k + l];
            if (type == XL_I8)
                assert_int_equal(c.i[i * COLS + j], want);
            else
                assert_true(c.f[i * COLS + j] == (float)want);
        }
    }
    /* The second fragment's second step: word w of A has row
     * l / 4 + 8 (w % 2). */
    for (size_t item = 0; item < ITEMS; item++) {
        const size_t l = item % LANES, deep = (DEEP + l % 4 * 4) / bytes;
        for (size_t w = 0; w < 4; w++)
            shows((const unsigned char *)&shown[item * WORDS + w], type,
                  a + (item / LANES * 32 + 16 + l / 4 + w % 2 * 8) * k,
                  deep + w / 2 * 16 / bytes);
        for (size_t w = 0; w < 2; w++)
            shows((const unsigned char *)&shown[item * WORDS + 4 + w], type,
                  b + (8 + l / 4) * k, deep + w * 16 / bytes);
    }
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(mem[i]);
}

static void products_are_exact(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_TYPES; i++) {
        one_product(types[i], false);
        if (types[i] != XL_I8)
            one_product(types[i], true);
    }
}

/* What `again` made of 16 rows a team. */
static void is_again(const int *c, const int *b, size_t k, size_t deep,
                     const float *out, const float *rows)
{
    int most[TEAMS * 16], total[TEAMS * 16];
    for (size_t i = 0; i < TEAMS * 16; i++) {
        most[i] = -MOST;
        total[i] = 0;
        for (size_t l = 0; l < k; l++) {
            most[i] = c[i * k + l] > most[i] ? c[i * k + l] : most[i];
            total[i] += c[i * k + l];
        }
        for (size_t j = 0; j < 8; j++) {
            int want = 0;
            for (size_t l = 0; l < k; l++)
                want += c[i * k + l] * b[j * deep + l];
            assert_true(out[i * 8 + j] == (float)(most[i] * want));
        }
    }
    for (size_t e = 0; e < ITEMS * 4; e++) {
        const size_t row = (size_t)rows[e * 3];
        assert_in_range(row, 0, TEAMS * 16 - 1);
        assert_true(rows[e * 3 + 1] == (float)most[row]);
        assert_true(rows[e * 3 + 2] == (float)total[row]);
    }
}

static void rows_and_sums_go_on(void **state)
{
    static int c[TEAMS * 16 * 16], b[COLS * LINE];
    static unsigned char ec[TEAMS * 16 * 16 * 4], eb[COLS * LINE];
    static float out[TEAMS * 16 * 8], rows[ITEMS * 4 * 3];
    (void)state;
    for (unsigned i = 0; i < N_TYPES; i++) {
        const size_t bytes = xl_dtype_bytes(types[i]);
        struct xl__rng rng;
        if (types[i] == XL_I8)
            continue;
        xl__rng_seed(&rng, SEED + i);
        draw(&rng, XL_F32, TEAMS * 16 * DEEP / bytes, c, ec);
        draw(&rng, types[i], COLS * LINE / bytes, b, eb);
        const cl_mem mem[] = {buffer(sizeof ec, ec), buffer(sizeof eb, eb),
                              buffer(sizeof out, NULL),
                              buffer(sizeof rows, NULL)};
        run_kernel("again", again, types[i], false, 4, mem);
        get(mem[2], out, sizeof out);
        get(mem[3], rows, sizeof rows);
        is_again(c, b, DEEP / bytes, LINE / bytes, out, rows);
        for (unsigned j = 0; j < 4; j++)
            clReleaseMemObject(mem[j]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_hold_what_the_tables_say),
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(rows_and_sums_go_on),
    };
    test_args(argc, argv);
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    return test_run_on_device(tests, &t, &quick);
}
