/* SPDX-License-Identifier: Apache-2.0 */
/* Products of A and B of different types, and with scales and zeros, against
 * sums in double. Elements are small integers, or multiples of 1/4 below 2,
 * which every type of floats has; scales are multiples of 1/4 up to 2. So the
 * values are multiples of 1/16 up to 28, or 7 of floats, and all sums are
 * exact in f32, whatever their order: C is the exact value rounded once to its
 * type. Everything around the operands is NaN or 255, and all of C's memory is
 * compared. */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "ops/gemm/gemm.h"
#include "support/support.h"

enum { A, B, C, SCALE_A, ZERO_A, SCALE_B, ZERO_B, N_OPERANDS };
enum { BYTES = 1 << 16, GUARD = 0xFF, AT = 3, GAP = 5, ALIGNED = 16 };
enum { COUNT = 6, INNER = 3, MOST_ROWS = 13 };
enum form { STEPS, LISTS, TWO_AXES };

static struct test_device t;
static cl_mem memory[N_OPERANDS];
static unsigned char host[N_OPERANDS][BYTES], want[BYTES], got[BYTES];
static xl_sizes own_rows;

struct product {
    xl_dtype type[N_OPERANDS];
    const char *layout; /* of A, B, C: r rows, c columns, s neither; R and C
                           with aligned lines, so of vectors; those of
                           scales are by rows, of zeros by columns */
    size_t m, n, k, count;
    double alpha, beta;
    const char *epilogue;
    const char *has; /* scales and zeros: letters of "SzTy" for those of A and
                        of B */
    size_t group[2][2]; /* of A, of B: rows, columns */
    bool has_own;       /* scales of each product */
    bool has_rows;      /* in device memory */
    enum form form;
};

/* -- operands ------------------------------------------------------------- */

static bool has(const struct product *p, unsigned operand)
{
    return operand <= C ||
           (p->has && strchr(p->has, "SzTy"[operand - SCALE_A]));
}

static size_t groups(size_t size, size_t group)
{
    return group == 0 ? 1 : (size + group - 1) / group;
}

static void size_of(const struct product *p, unsigned operand, size_t size[2])
{
    const bool is_b = operand == B || operand >= SCALE_B;
    size[0] = is_b ? p->k : p->m;
    size[1] = operand == C || is_b ? p->n : p->k;
    if (operand >= SCALE_A) {
        size[0] = groups(size[0], p->group[is_b][0]);
        size[1] = groups(size[1], p->group[is_b][1]);
    }
}

static double draw(struct xl__rng *rng, unsigned operand, xl_dtype dtype)
{
    if (operand == SCALE_A || operand == SCALE_B)
        return (double)(1 + xl__rng_below(rng, 8)) / 4;
    const double x = (double)xl__rng_below(rng, 15) - 7;
    return dtype == XL_I8 || dtype == XL_I32 ? x
           : dtype == XL_U8                  ? x + 7
                                             : x / 4;
}

static xl_mat view(const struct product *p, unsigned operand)
{
    const char layout = operand <= C       ? p->layout[operand]
                        : operand % 2 == 1 ? 'r'
                                           : 'c';
    size_t size[2];
    size_of(p, operand, size);
    if (layout == 'R' || layout == 'C') {
        const bool by_rows = layout == 'R';
        const size_t line =
            (size[by_rows] + 2 * ALIGNED - 1) / ALIGNED * ALIGNED;
        return (xl_mat){.mem.buf = memory[operand],
                        .offset = ALIGNED,
                        .row_stride = by_rows ? line : 1,
                        .col_stride = by_rows ? 1 : line,
                        .dtype = p->type[operand]};
    }
    xl_mat v = {.mem.buf = memory[operand],
                .offset = AT,
                .row_stride = size[1] + 3,
                .col_stride = 1,
                .dtype = p->type[operand]};
    if (layout == 'c') {
        v.row_stride = 1;
        v.col_stride = size[0] + 2;
    } else if (layout == 's') {
        v.row_stride = 2 * size[1] + 5;
        v.col_stride = 2;
    }
    return v;
}

static size_t step_of(const struct product *p, unsigned operand)
{
    const xl_mat v = view(p, operand);
    size_t size[2];
    size_of(p, operand, size);
    if (operand > C && !p->has_own)
        return 0;
    return (size[0] - 1) * v.row_stride + (size[1] - 1) * v.col_stride + 1 +
           GAP;
}

/* Rows of products are no whole number of steps apart. */
static size_t row_step(const struct product *p, unsigned operand)
{
    return step_of(p, operand) > 0 ? INNER * step_of(p, operand) + 1 : 0;
}

static size_t n_products(const struct product *p)
{
    return p->count ? p->count : 1;
}

/* The place of product z's matrix. */
static size_t offset_of(const struct product *p, unsigned operand, size_t z)
{
    const size_t step = step_of(p, operand);
    return p->form == TWO_AXES
               ? z / INNER * row_step(p, operand) + z % INNER * step
           : p->form == LISTS && operand <= C ? (p->count - 1 - z) * step
                                              : z * step;
}

static size_t index_of(const struct product *p, unsigned operand, size_t z,
                       size_t i, size_t j)
{
    const xl_mat v = view(p, operand);
    return v.offset + offset_of(p, operand, z) + i * v.row_stride +
           j * v.col_stride;
}

static void fill(const struct product *p, unsigned operand)
{
    struct xl__rng rng;
    size_t size[2];
    size_of(p, operand, size);
    xl__rng_seed(&rng, operand + 1);
    memset(host[operand], GUARD, BYTES);
    for (size_t z = 0; z < n_products(p); z++) {
        for (size_t i = 0; i < size[0]; i++) {
            for (size_t j = 0; j < size[1]; j++)
                xl__dtype_store(host[operand], index_of(p, operand, z, i, j),
                                p->type[operand],
                                draw(&rng, operand, p->type[operand]));
        }
    }
    assert_status(
        xl_buffer_write(t.queue, memory[operand], 0, host[operand], BYTES),
        XL_OK, "");
}

/* What a descriptor points to. */
static xl_mat scale_mats[N_OPERANDS];
static cl_ulong lists[3][COUNT];

static xl_scales scales_of(const struct product *p, unsigned scale)
{
    const bool is_b = scale == SCALE_B, is_long = p->form == TWO_AXES;
    const unsigned zero = scale + 1;
    const size_t steps[2] = {step_of(p, scale), step_of(p, zero)};
    return (xl_scales){
        .scale = has(p, scale) ? &scale_mats[scale] : NULL,
        .zero = has(p, zero) ? &scale_mats[zero] : NULL,
        .group_rows = p->group[is_b][0],
        .group_cols = p->group[is_b][1],
        .scale_step = is_long ? row_step(p, scale) : steps[0],
        .zero_step = is_long ? row_step(p, zero) : steps[1],
        .scale_inner = is_long ? steps[0] : 0,
        .zero_inner = is_long ? steps[1] : 0,
    };
}

static xl_batch batch_of(const struct product *p)
{
    size_t step[3], row[3];
    for (unsigned i = A; i <= C; i++) {
        step[i] = step_of(p, i);
        row[i] = row_step(p, i);
        for (size_t z = 0; z < p->count; z++)
            lists[i][z] = offset_of(p, i, z);
    }
    xl_batch b = {.count = p->count,
                  .a_step = step[A],
                  .b_step = step[B],
                  .c_step = step[C]};
    if (p->form == LISTS)
        b = (xl_batch){.count = p->count,
                       .a_at = lists[A],
                       .b_at = lists[B],
                       .c_at = lists[C]};
    else if (p->form == TWO_AXES)
        b = (xl_batch){p->count,
                       row[A],
                       row[B],
                       row[C],
                       .inner = INNER,
                       .a_inner = step[A],
                       .b_inner = step[B],
                       .c_inner = step[C]};
    b.rows = p->has_rows ? &own_rows : NULL;
    return b;
}

static xl_gemm start(const struct product *p)
{
    for (unsigned i = 0; i < N_OPERANDS; i++) {
        if (has(p, i))
            fill(p, i);
        scale_mats[i] = view(p, i);
    }
    return (xl_gemm){XL_GEMM_INIT,
                     .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .alpha = p->alpha,
                     .beta = p->beta,
                     .epilogue.expr = p->epilogue,
                     .a = view(p, A),
                     .b = view(p, B),
                     .c = view(p, C),
                     .batch = batch_of(p),
                     .a_scales = scales_of(p, SCALE_A),
                     .b_scales = scales_of(p, SCALE_B)};
}

/* -- by the definition ---------------------------------------------------- */

static double number(const struct product *p, unsigned operand, size_t z,
                     size_t i, size_t j)
{
    return xl__dtype_load(host[operand], index_of(p, operand, z, i, j),
                          p->type[operand]);
}

/* The value of an element of A or B. */
static double value(const struct product *p, unsigned operand, size_t z,
                    size_t i, size_t j)
{
    const unsigned scale = operand == B ? SCALE_B : SCALE_A;
    const size_t *group = p->group[operand == B];
    const size_t gi = group[0] ? i / group[0] : 0,
                 gj = group[1] ? j / group[1] : 0;
    double x = number(p, operand, z, i, j);
    if (has(p, scale + 1))
        x -= number(p, scale + 1, z, gi, gj);
    if (has(p, scale))
        x *= number(p, scale, z, gi, gj);
    return x;
}

static void expect(const struct product *p)
{
    const size_t rows = p->has_rows && p->m > MOST_ROWS ? MOST_ROWS : p->m;
    memcpy(want, host[C], BYTES);
    for (size_t z = 0; z < n_products(p); z++) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < p->n; j++) {
                double y = 0;
                for (size_t l = 0; l < p->k; l++)
                    y += value(p, A, z, i, l) * value(p, B, z, l, j);
                y = p->alpha * y + p->beta * number(p, C, z, i, j);
                if (p->epilogue)
                    y = y > 0 ? y : 0;
                xl__dtype_store(want, index_of(p, C, z, i, j), p->type[C], y);
            }
        }
    }
}

static void compare(const xl_gemm *g, const char *name)
{
    const size_t bytes = xl_dtype_bytes(g->c.dtype);
    assert_status(xl_buffer_read(t.queue, memory[C], 0, got, BYTES), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t i = 0; i < BYTES / bytes; i++) {
        if (memcmp(got + i * bytes, want + i * bytes, bytes) != 0 &&
            !(xl__dtype_load(got, i, g->c.dtype) ==
              xl__dtype_load(want, i, g->c.dtype)))
            fail_msg("%s: %s * %s: element %zu of C is %g, not %g", name,
                     xl_dtype_name(g->a.dtype), xl_dtype_name(g->b.dtype), i,
                     xl__dtype_load(got, i, g->c.dtype),
                     xl__dtype_load(want, i, g->c.dtype));
    }
}

/* By every variant that does not refuse, of which there are so many. */
static unsigned check(const struct product *p)
{
    static const char *const variants[] = {"gemm_ref", "gemm_tiled",
                                           "gemm_simt", "gemm_skinny"};
    unsigned n = 0;
    for (unsigned v = 0; v < sizeof variants / sizeof *variants; v++) {
        xl_gemm g = start(p);
        expect(p);
        g.variant = variants[v];
        const xl_status status = xl_gemm_run(t.queue, &g, NULL);
        if (status == XL_UNSUPPORTED && v > 1)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        compare(&g, g.variant);
        n++;
    }
    return n;
}

/* -- the tests ------------------------------------------------------------ */

static void pairs(void **state)
{
    static const struct product all[] = {
        {{XL_F32, XL_I8, XL_F32}, "rrr", 17, 9, 21, 0, 1, .beta = 0},
        {{XL_I8, XL_F16, XL_F16}, "CRR", 33, 20, 40, 0, 0.5, .beta = -2},
        {{XL_F16, XL_U8, XL_F32}, "rcr", 11, 70, 37, 0, 1, .beta = 1},
        {{XL_U8, XL_I8, XL_I32}, "RRR", 40, 36, 68, 0, 3, .beta = -2},
        {{XL_BF16, XL_F8E4M3, XL_F32}, "ccr", 36, 40, 44, 0, 1, .beta = 0},
        {{XL_F8E4M3, XL_F8E5M2, XL_F32}, "RCC", 20, 24, 28, 0, 1, .beta = 0},
        {{XL_F8E5M2, XL_F32, XL_BF16}, "ssr", 18, 35, 11, 0, 1, .beta = 0},
        {{XL_F16, XL_BF16, XL_F32}, "rrc", 65, 20, 36, 0, 2, .beta = 0.5},
        {{XL_U8, XL_U8, XL_I32}, "rcs", 19, 33, 50, 0, 1, .beta = 0},
        {{XL_BF16, XL_U8, XL_F32}, "crc", 64, 64, 64, 0, 1, .beta = 0},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i]);
}

/* Few rows or columns, by steps of k alone and by whole vectors, where A and B
 * may be swapped; and f32, f16 and bf16 by gemm_simt. */
static void thin_and_simt(void **state)
{
    static const struct product all[] = {
        {{XL_F16, XL_I8, XL_F32}, "rrr", 1, 300, 130, 0, 1, .beta = 0},
        {{XL_F32, XL_U8, XL_F32}, "RCR", 3, 65, 300, 0, 1, .beta = 0},
        {{XL_I8, XL_F16, XL_F32}, "rcr", 256, 2, 64, 0, 1, .beta = 0},
        {{XL_U8, XL_I8, XL_I32}, "rcr", 1, 33, 128, 0, 1, .beta = 0},
        {{XL_F16, XL_F32, XL_F32}, "crr", 64, 72, 64, 0, 1, .beta = 0},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(check(&all[i]) >= 3);
}

static void batch_rows_epilogue(void **state)
{
    struct product p = {
        {XL_F16, XL_I8, XL_F32}, "rrr", 21, 10, 19, COUNT, 1, .beta = 0.5};
    (void)state;
    check(&p);
    p.epilogue = "relu(y)";
    p.layout = "rcc";
    check(&p);
    p.has_rows = true;
    check(&p);
}

/* -- scales and zeros ----------------------------------------------------- */

/* Each form of groups, where they do not divide the sizes and where vectors
 * cross them; each type of a scale and of a zero; and layouts, of which C by
 * columns swaps A and B. */
static void scales(void **state)
{
    /* clang-format off */
    static const struct product all[] = {
        /* a tensor; a channel of B */
        {{XL_F16, XL_I8, XL_F32, 0, 0, XL_F32}, "rrr", 17, 9, 21, 0, 1, 0, .has = "T"},
        {{XL_F16, XL_I8, XL_F32, 0, 0, XL_F16}, "rcr", 33, 40, 37, 0, 0.5, -2, .has = "T", .group = {{0, 0}, {0, 1}}},
        /* groups along k with zeros, along which vectors are, and across */
        {{XL_F32, XL_U8, XL_F32, 0, 0, XL_BF16, XL_U8}, "RCR", 36, 40, 72, 0, 1, 0, .has = "Ty", .group = {{0, 0}, {32, 1}}},
        {{XL_BF16, XL_U8, XL_BF16, 0, 0, XL_F32, XL_I32}, "CRR", 20, 36, 50, 0, 1, 0, .has = "Ty", .group = {{0, 0}, {7, 3}}},
        {{XL_F16, XL_I8, XL_F32, 0, 0, 0, XL_I8}, "RCs", 19, 33, 40, 0, 1, 0, .has = "y", .group = {{0, 0}, {2, 1}}},
        /* rows of A, blocks of B; blocks of A, C by columns */
        {{XL_F8E4M3, XL_F8E4M3, XL_F32, XL_F32, 0, XL_F32}, "RCR", 40, 44, 36, 0, 1, 0, .has = "ST", .group = {{1, 16}, {16, 16}}},
        {{XL_U8, XL_I8, XL_F16, XL_F32, XL_F16, XL_F32, XL_BF16}, "rrc", 33, 21, 29, 0, 0.5, 0, .has = "SzTy", .group = {{5, 0}, {9, 4}}},
        {{XL_I8, XL_F32, XL_F32, XL_F16, XL_F32}, "CCC", 64, 20, 64, 0, 1, 1, .has = "Sz", .group = {{3, 2}, {0, 0}}},
        {{XL_I8, XL_I8, XL_F32, XL_F32, 0, XL_F32}, "RRR", 65, 72, 132, 0, 1, 0, .has = "ST", .group = {{1, 0}, {128, 128}}},
    };
    /* clang-format on */
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(check(&all[i]), 2);
}

/* Shared and of each product, along one axis, two, and with listed offsets;
 * with an epilogue, beta and rows of their own. */
static void batches_of_scales(void **state)
{
    struct product p = {{XL_F16, XL_U8, XL_F32, XL_F32, 0, XL_F16, XL_U8},
                        "rrr", 21, 10, 19, COUNT, 1, 0.5,
                        .has = "STy", .group = {{1, 0}, {4, 1}}};
    (void)state;
    p.epilogue = "relu(y)";
    check(&p);
    p.has_own = true;
    check(&p);
    p.has_rows = true;
    p.layout = "rcc";
    check(&p);
    p.form = TWO_AXES;
    check(&p);
    p.form = LISTS;
    p.has_rows = false;
    check(&p);
}

/* Two axes that one step of each matrix covers, but not of the scales. */
static void uneven_scales(void **state)
{
    struct product p = {{XL_F16, XL_I8, XL_F32, 0, 0, XL_F32},
                        "rrr", 11, 10, 19, COUNT, 1, 0,
                        .has = "T", .has_own = true,
                        .group = {{0, 0}, {0, 1}}};
    (void)state;
    xl_gemm g = start(&p);
    expect(&p);
    g.batch.inner = INNER;
    g.batch.a_inner = g.batch.a_step;
    g.batch.b_inner = g.batch.b_step;
    g.batch.c_inner = g.batch.c_step;
    g.batch.a_step *= INNER;
    g.batch.b_step *= INNER;
    g.batch.c_step *= INNER;
    g.b_scales.scale_inner = g.b_scales.scale_step;
    g.b_scales.scale_step *= INNER;
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(&g, "even");
    /* now product z has the scales of product z % INNER */
    g = start(&p);
    for (size_t z = INNER; z < COUNT; z++)
        for (size_t j = 0; j < p.n; j++)
            xl__dtype_store(host[SCALE_B], index_of(&p, SCALE_B, z, 0, j),
                            XL_F32, number(&p, SCALE_B, z % INNER, 0, j));
    expect(&p);
    g.batch.inner = INNER;
    g.batch.a_inner = g.batch.a_step;
    g.batch.b_inner = g.batch.b_step;
    g.batch.c_inner = g.batch.c_step;
    g.batch.a_step *= INNER;
    g.batch.b_step *= INNER;
    g.batch.c_step *= INNER;
    g.b_scales.scale_inner = g.b_scales.scale_step;
    g.b_scales.scale_step = 0;
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(&g, "uneven");
}

/* A stride of 0 repeats a scale; alpha = 0 reads none. */
static void repeated_and_unread(void **state)
{
    struct product p = {{XL_F16, XL_I8, XL_F32, 0, 0, XL_F32},
                        "rrr", 17, 9, 21, 0, 1, 2, .has = "T"};
    (void)state;
    xl_gemm g = start(&p);
    expect(&p);
    g.b_scales.group_rows = 4;
    g.b_scales.group_cols = 1;
    scale_mats[SCALE_B].row_stride = scale_mats[SCALE_B].col_stride = 0;
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(&g, "repeated");
    g = start(&p);
    p.alpha = g.alpha = 0;
    expect(&p);
    scale_mats[SCALE_B].mem.buf = memory[C];
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(&g, "unread");
}

/* Products of a group that differ in their scales, or share them; a step
 * between scales is of batches only. */
static void group(void **state)
{
    struct product p = {{XL_F16, XL_I8, XL_F32, 0, 0, XL_F32},
                        "rrr", 7, 9, 21, 2, 1, 0,
                        .has = "T", .group = {{0, 0}, {0, 1}}};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        p.has_own = i == 0;
        xl_gemm both = start(&p), g[2] = {both, both};
        xl_mat second = scale_mats[SCALE_B];
        expect(&p);
        second.offset += both.b_scales.scale_step;
        g[0].batch = g[1].batch = (xl_batch){0};
        g[1].a.offset += both.batch.a_step;
        g[1].b.offset += both.batch.b_step;
        g[1].c.offset += both.batch.c_step;
        if (p.has_own)
            g[1].b_scales.scale = &second;
        else
            g[0].b_scales.scale_step = g[1].b_scales.scale_step = 2;
        assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OK,
                      xl_error_detail(t.queue));
        compare(g, p.has_own ? "group" : "group, shared scales");
    }
}

/* The error of any values is within the documented bound. */
static void bound(void **state)
{
    enum { M = 9, N = 35, K = 200 };
    struct product p = {{XL_F32, XL_I8, XL_F32, 0, 0, XL_F32, XL_F32},
                        "rrr", M, N, K, 0, 1, 0,
                        .has = "Ty", .group = {{0, 0}, {16, 1}}};
    static const unsigned random[] = {A, SCALE_B, ZERO_B};
    struct xl__rng rng;
    (void)state;
    xl_gemm g = start(&p);
    xl__rng_seed(&rng, 1);
    for (unsigned i = 0; i < 3; i++) {
        size_t size[2];
        size_of(&p, random[i], size);
        for (size_t r = 0; r < size[0]; r++)
            for (size_t s = 0; s < size[1]; s++)
                xl__dtype_store(host[random[i]],
                                index_of(&p, random[i], 0, r, s), XL_F32,
                                2 * xl__rng_uniform(&rng) - 1);
        assert_status(xl_buffer_write(t.queue, memory[random[i]], 0,
                                      host[random[i]], BYTES),
                      XL_OK, "");
    }
    expect(&p);
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, memory[C], 0, got, BYTES), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            const size_t at = index_of(&p, C, 0, i, j);
            const double y = xl__dtype_load(want, at, XL_F32);
            double size = 0;
            for (size_t l = 0; l < K; l++)
                size += fabs(value(&p, A, 0, i, l) * value(&p, B, 0, l, j));
            /* o of B, u of f32 and i8; want and C are rounded to f32 */
            const double most =
                ((1 + 0x1p-23) * (1 + K * 0x1p-23) - 1) * size +
                2 * 0x1p-24 * fabs(y);
            if (!(fabs(xl__dtype_load(got, at, XL_F32) - y) <= most))
                fail_msg("element %zu, %zu is wrong by more than %g", i, j,
                         most);
        }
    }
}

/* A plan depends on the types, groups and strides, not on where scales are. */
static void canonical_form(void **state)
{
    struct product p = {{XL_F16, XL_I8, XL_F32, 0, 0, XL_F32},
                        "rrr", 7, 9, 21, 0, 1, 0,
                        .has = "T", .group = {{0, 0}, {0, 1}}};
    struct xl__gemm_canonical x, y;
    struct xl__call call = {0};
    (void)state;
    xl_gemm g = start(&p);
    assert_int_equal(xl__op_gemm.bind(t.queue, &g, &x, &call), XL_OK);
    scale_mats[SCALE_B].offset += 2;
    scale_mats[SCALE_B].mem.buf = memory[ZERO_B];
    assert_int_equal(xl__op_gemm.bind(t.queue, &g, &y, &call), XL_OK);
    assert_memory_equal(&x, &y, sizeof x);
    g.b_scales.group_rows = 8;
    assert_int_equal(xl__op_gemm.bind(t.queue, &g, &y, &call), XL_OK);
    assert_true(memcmp(&x, &y, sizeof x) != 0);
}

/* -- wrong input ---------------------------------------------------------- */

static void refused(const xl_gemm *g, xl_status status, const char *part)
{
    assert_status(xl_gemm_run(t.queue, g, NULL), status,
                  xl_error_detail(t.queue));
    if (!strstr(xl_error_detail(t.queue), part))
        fail_msg("\"%s\" does not say \"%s\"", xl_error_detail(t.queue), part);
}

static void refused_types(xl_dtype a, xl_dtype b, xl_dtype c, const char *part)
{
    const struct product p = {{a, b, c}, "rrr", 9, 9, 9, 0, 1, .beta = 0};
    const xl_gemm g = start(&p);
    refused(&g, XL_UNSUPPORTED, part);
}

static void no_variant(const xl_gemm *of, const char *const *names)
{
    for (; *names; names++) {
        xl_gemm g = *of;
        g.variant = *names;
        if (xl_gemm_run(t.queue, &g, NULL) == XL_OK)
            fail_msg("%s ran", *names);
    }
}

static void wrong_types(void **state)
{
    static const char *const others[] = {"gemm_cpu", "gemm_mma",
                                         "gemm_clblast", NULL};
    const struct product p = {
        {XL_F16, XL_I8, XL_F32}, "rrr", 9, 9, 9, 0, 1, .beta = 0};
    (void)state;
    const xl_gemm g = start(&p);
    no_variant(&g, others);
    refused_types(XL_F16, XL_I8, XL_I32, "A f16, B i8, C i32");
    refused_types(XL_F16, XL_I8, XL_F64, "f64 into f64");
    refused_types(XL_F64, XL_I8, XL_F64, "A f64, B i8");
    refused_types(XL_I32, XL_I8, XL_I32, "A i32");
    refused_types(XL_I8, XL_BOOL, XL_I32, "B bool");
}

static void wrong_scales(void **state)
{
    static const char *const others[] = {"gemm_cpu",     "gemm_mma",
                                         "gemm_clblast", "gemm_simt",
                                         "gemm_skinny",  NULL};
    struct product p = {{XL_F32, XL_F32, XL_F32, 0, 0, XL_F32, XL_U8},
                        "rrr", 4, 9, 10, 0, 1, 0,
                        .has = "Ty", .group = {{0, 0}, {4, 1}}};
    (void)state;
    xl_gemm g = start(&p);
    xl_mat *scale = &scale_mats[SCALE_B], *zero = &scale_mats[ZERO_B];
    no_variant(&g, others);
    scale->mem.buf = NULL;
    refused(&g, XL_BAD_ARGUMENT, "scales of B");
    assert_status(xl_gemm_prepare(t.queue, &g), XL_OK,
                  xl_error_detail(t.queue));
    *scale = view(&p, SCALE_B);
    scale->dtype = XL_I8;
    refused(&g, XL_UNSUPPORTED,
            "type i8 for scales of B: must be f32, f16 or");
    scale->dtype = XL_N_DTYPES;
    refused(&g, XL_BAD_ARGUMENT, "scales of B");
    *scale = view(&p, SCALE_B);
    zero->dtype = XL_F8E4M3;
    refused(&g, XL_UNSUPPORTED, "type f8e4m3 for zeros of B");
    *zero = view(&p, ZERO_B);
    /* 3 groups of 9 columns, by rows of 12 */
    scale->mem.bytes = (AT + 2 * 12 + 9) * 4 - 1;
    refused(&g, XL_BUFFER_TOO_SMALL, "scales of B needs");
    scale->mem.bytes = 0;
    scale->row_stride = 8;
    refused(&g, XL_OVERLAP, "scales of B");
    scale->row_stride = SIZE_MAX / 2;
    refused(&g, XL_OVERFLOW, "scales of B");
    scale->row_stride = (size_t)UINT32_MAX + 1;
    refused(&g, XL_UNSUPPORTED, "strides of scales of B");
    *scale = view(&p, SCALE_B);
    scale->mem.buf = memory[C];
    refused(&g, XL_OVERLAP, "C overlaps scales of B");
    *scale = view(&p, SCALE_B);
    zero->mem.buf = memory[C];
    refused(&g, XL_OVERLAP, "C overlaps zeros of B");
    *zero = view(&p, ZERO_B);
    g.a.dtype = g.b.dtype = g.c.dtype = XL_F64;
    refused(&g, XL_UNSUPPORTED, "with scales");
    g = start(&p);
    g.a.dtype = g.b.dtype = XL_I8;
    g.c.dtype = XL_I32;
    refused(&g, XL_UNSUPPORTED, "without scales");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs),
                                       cmocka_unit_test(thin_and_simt),
                                       cmocka_unit_test(batch_rows_epilogue),
                                       cmocka_unit_test(scales),
                                       cmocka_unit_test(batches_of_scales),
                                       cmocka_unit_test(uneven_scales),
                                       cmocka_unit_test(repeated_and_unread),
                                       cmocka_unit_test(group),
                                       cmocka_unit_test(bound),
                                       cmocka_unit_test(canonical_form),
                                       cmocka_unit_test(wrong_types),
                                       cmocka_unit_test(wrong_scales)};
    cl_uint rows[COUNT];
    for (unsigned z = 0; z < COUNT; z++)
        rows[z] = MOST_ROWS;
    test_args(argc, argv);
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < N_OPERANDS; i++)
        assert_status(xl_buffer_create(t.queue, BYTES, &memory[i]), XL_OK, "");
    assert_status(xl_buffer_create(t.queue, sizeof rows, &own_rows.mem.buf),
                  XL_OK, "");
    assert_status(
        xl_buffer_write(t.queue, own_rows.mem.buf, 0, rows, sizeof rows),
        XL_OK, "");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_OPERANDS; i++)
        clReleaseMemObject(memory[i]);
    clReleaseMemObject(own_rows.mem.buf);
    test_device_close(&t);
    return failed;
}
