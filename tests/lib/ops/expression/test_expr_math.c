/* SPDX-License-Identifier: Apache-2.0 */
/* Generated kernels on a real driver, by single operations: every operation on
 * every type and every vector width, with the geometries for CPUs and for
 * GPUs; every dtype with every kind of access; random numbers. Expected values
 * and error bounds come from the host's evaluation (expr/host/interval.h),
 * which applies the bounds of the table in graph.h and shares no code with the
 * kernels.
 *
 * XL_TEST_FULL  set: eight times as many arguments of functions of one float */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "device/device.h"
#include "expr/graph/group_eval.h"
#include "expr/host/interval.h"
#include "expr/codegen/geometry.h"
#include "expr/host/operation_value.h"
#include "support/expr_batch.h"
#include "runtime/launch.h"
#include "support/support.h"

enum {
    COUNT = 2053, /* not a multiple of a vector width */
    FLOAT_BITS = 32,
    MARGIN = 64, /* guarded elements on both sides */
    MAX_ELEM_BYTES = 4,
    GUARD = 0xA5
};

static struct test_device device;
static double has_fma;     /* of the device */
static unsigned first_way; /* of those that suit it */
static unsigned dense;     /* arguments of dense checks: so many bits */

/* -- a batch with memory -------------------------------------------------- */

struct batch_run {
    struct batch b;
    void *memory[XL__EXPR_OPERANDS]; /* of each operand */
    size_t elems[XL__EXPR_OPERANDS];
};

/* Allocate memory for every operand, filled with guard bytes. */
static void create_memory(struct batch_run *j)
{
    for (unsigned k = 0; k < j->b.group.n_operands; k++) {
        struct xl__operand *o = &j->b.group.operand[k];
        const size_t stride = o->stride[0] ? o->stride[0] : 1;
        if (o->at != XL__AT_BINDING)
            continue;
        o->offset += MARGIN;
        j->elems[k] = j->b.group.loop[0].size * stride + 2 * MARGIN;
        j->memory[k] = malloc(j->elems[k] * MAX_ELEM_BYTES);
        assert_non_null(j->memory[k]);
        memset(j->memory[k], GUARD, j->elems[k] * MAX_ELEM_BYTES);
    }
}

static void release_memory(struct batch_run *j)
{
    for (unsigned k = 0; k < XL__EXPR_OPERANDS; k++) {
        free(j->memory[k]);
        j->memory[k] = NULL;
    }
}

/* -- on the device -------------------------------------------------------- */

static size_t bytes_of(const struct batch_run *j, unsigned k)
{
    return j->elems[k] * xl_dtype_bytes(j->b.group.operand[k].dtype);
}

static cl_mem buffer_of(const struct batch_run *j, unsigned k)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(xl_queue_context(device.queue),
                                CL_MEM_COPY_HOST_PTR, bytes_of(j, k),
                                j->memory[k], &code);
    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

static void read_back(struct batch_run *j, unsigned k, cl_mem mem)
{
    assert_int_equal(clEnqueueReadBuffer(xl_queue_cl(device.queue), mem,
                                         CL_TRUE, 0, bytes_of(j, k),
                                         j->memory[k], 0, NULL, NULL),
                     CL_SUCCESS);
}

/* Run the batch as one kernel, and read back the operands that are written. */
static void run_batch(struct batch_run *j, struct batch_way way)
{
    struct xl__limits l;
    struct xl__code code = {0};
    struct xl__schedule s = {0};
    struct xl__plan *plan = calloc(1, sizeof *plan);
    struct xl__call call = {0};
    assert_non_null(plan);
    batch_facts(way, &l);
    xl__limits_correct(&l, XL__F_has_fma, has_fma, XL_ASSUMED, "GE-01");
    batch_geometry(&j->b, way);
    assert_int_equal(xl__map_plan(&j->b.g, &l, &j->b.group, &s, &code, plan),
                     XL_OK);
    for (unsigned k = 0; k < j->b.group.n_operands; k++) {
        if (j->b.group.operand[k].at == XL__AT_BINDING)
            call.mem[1 + k].buf = buffer_of(j, k);
    }
    const xl_status status = xl__plan_launch(device.queue, plan, &call, NULL);
    if (status != XL_OK)
        print_error("%s\n", xl__str_text(&code.text[0]));
    assert_status(status, XL_OK, xl_error_detail(device.queue));
    for (unsigned k = 0; k < j->b.group.n_operands; k++) {
        if (j->b.group.operand[k].is_written)
            read_back(j, k, call.mem[1 + k].buf);
        if (call.mem[1 + k].buf)
            clReleaseMemObject(call.mem[1 + k].buf);
    }
    xl__code_clear(&code);
    xl__limits_clear(&l);
    free(plan);
}

/* -- numbers in memory ---------------------------------------------------- */

static double load_element(const void *memory, xl_dtype dtype, size_t i)
{
    switch (dtype) {
    case XL_F32:
        return (double)((const float *)memory)[i];
    case XL_F16:
        return (double)xl__f16_to_f32(((const uint16_t *)memory)[i]);
    case XL_BF16:
        return (double)xl__bf16_to_f32(((const uint16_t *)memory)[i]);
    case XL_I32:
        return ((const int32_t *)memory)[i];
    case XL_U16:
        return (double)((const uint16_t *)memory)[i];
    case XL_I8:
        return ((const int8_t *)memory)[i];
    case XL_BOOL:
        return ((const uint8_t *)memory)[i] != 0;
    default:
        return ((const uint8_t *)memory)[i];
    }
}

static void store_element(void *memory, xl_dtype dtype, size_t i,
                          uint32_t bits)
{
    if (dtype == XL_F32 || dtype == XL_I32)
        ((uint32_t *)memory)[i] = bits;
    else if (dtype == XL_F16 || dtype == XL_BF16)
        ((uint16_t *)memory)[i] = (uint16_t)bits;
    else if (dtype == XL_BOOL)
        ((uint8_t *)memory)[i] =
            (uint8_t)(bits & 3); /* any nonzero byte is true */
    else
        ((uint8_t *)memory)[i] = (uint8_t)bits;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Floats of all magnitudes, and special values; 0 instead of subnormals, which
 * devices may flush. */
static uint32_t random_float(struct xl__rng *rng, size_t i)
{
    static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY,
                                    -INFINITY, NAN, 0.5f, -0.5f, 2.0f,
                                    3.4e38f, -3.4e38f, 1.2e-38f, 2147483648.0f,
                                    -2147483648.0f, 1e5f};
    enum { N_SPECIAL = sizeof special / sizeof *special, KINDS = 8 };
    const double u = 2 * xl__rng_uniform(rng) - 1;
    switch (i % KINDS) {
    case 0:
        return bits_of(special[(size_t)(fabs(u) * N_SPECIAL) % N_SPECIAL]);
    case 1:
        return bits_of((float)(u * 10));
    case 2:
        return bits_of((float)u);
    case 3:
        return bits_of(
            (float)copysign(exp2(u * 40), xl__rng_uniform(rng) - 0.5));
    case 4:
        return bits_of((float)(u * 1e5));
    case 5:
        return bits_of((float)rint(u * 20));
    case 6:
        return bits_of((float)fabs(u));
    default:
        break;
    }
    const uint32_t bits = (uint32_t)xl__rng_next(rng);
    return (bits & 0x7f800000u) == 0 ? 0 : bits;
}

static uint32_t random_int(struct xl__rng *rng, size_t i)
{
    static const uint32_t special[] = {0, 1, 0xffffffffu, 0x80000000u,
                                       0x7fffffffu, 2, 0xfffffffeu, 3};
    const uint32_t any = (uint32_t)xl__rng_next(rng);
    return i % 3 == 0 ? special[any % 8] : i % 3 == 1 ? any : any % 41 - 20;
}

/* For i below 2^dense: as many floats of each binade and sign, infinities and
 * NaN; no subnormals. */
static uint32_t float_of_binade(struct xl__rng *rng, size_t i)
{
    enum { TOP_BITS = 9 }; /* sign and exponent */
    const uint32_t rest = FLOAT_BITS - dense, top = 1u << (dense - TOP_BITS);
    const uint32_t bits = (uint32_t)i << rest;
    if ((bits & 0x7f800000u) == 0)
        return bits & 0x80000000u;
    return i % top == 0 ? bits
                        : bits | (uint32_t)xl__rng_below(rng, 1u << rest);
}

typedef uint32_t make_float(struct xl__rng *rng, size_t i);

static void fill_inputs(struct batch_run *j, uint64_t seed, make_float *make)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned k = 0; k < j->b.n_inputs; k++) {
        const xl_dtype dtype = j->b.group.operand[k].dtype;
        for (size_t i = 0; i < j->elems[k]; i++) {
            /* Another order for each input, so that special values are
             * combined. */
            const size_t kind =
                k == 0 ? i : (size_t)xl__rng_below(&rng, 64);
            store_element(j->memory[k], dtype, i,
                          dtype == XL_F32 ? make(&rng, kind)
                                          : random_int(&rng, kind));
        }
    }
}

/* Check that nothing was written outside the operand's elements. */
static void check_guard(const struct batch_run *j, unsigned k)
{
    const struct xl__operand *o = &j->b.group.operand[k];
    const size_t bytes = xl_dtype_bytes(o->dtype);
    const unsigned char *m = j->memory[k];
    for (size_t i = 0; i < j->elems[k]; i++) {
        const size_t at = i - o->offset;
        if (i >= o->offset && at % o->stride[0] == 0 &&
            at / o->stride[0] < j->b.group.loop[0].size)
            continue;
        for (size_t byte = 0; byte < bytes; byte++)
            assert_int_equal(m[i * bytes + byte], GUARD);
    }
}

static double operand_element(const struct batch_run *j, unsigned k, size_t i)
{
    const struct xl__operand *o = &j->b.group.operand[k];
    return load_element(j->memory[k], o->dtype, o->offset + i * o->stride[0]);
}

/* -- operations ----------------------------------------------------------- */

static double worst_ulp[XL__EXPR_OPERANDS];

static void note_error(unsigned k, double got, double expected)
{
    if (isfinite(expected) && fabs(expected) >= (double)FLT_MIN) {
        const double ulp = ldexp(1, ilogb(expected) - 23);
        worst_ulp[k] = fmax(worst_ulp[k], fabs(got - expected) / ulp);
    }
}

/* Compare element i of node k with the host. */
static void check_element(const struct batch_run *j, unsigned k, size_t i,
                          unsigned vw)
{
    const struct xl__node *n = &j->b.node[k];
    struct xl__interval arg[XL__EXPR_ARGS] = {{0, 0}};
    for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
        arg[a].x = operand_element(j, n->arg[a], i);
    const struct xl__interval expected = xl__eval_node(&j->b.g, k, arg);
    const double got = operand_element(j, k, i);
    if (isinf(expected.err))
        return;
    const bool is_right = isnan(expected.x) ? isnan(got)
                          : isinf(expected.x)
                              ? got == expected.x
                              : fabs(got - expected.x) <= expected.err;
    if (!is_right)
        fail_msg("%s, width %u, at %zu: (%.9g, %.9g, %.9g) gave %.9g, not "
                 "%.9g +- %g",
                 xl__expr_ops[n->op].name, vw, i, arg[0].x, arg[1].x, arg[2].x,
                 got, expected.x, expected.err);
    note_error(k, got, expected.x);
}

/* Run the batch, compare all results, and release its memory. */
static void run_and_check(struct batch_run *j, struct batch_way way,
                          make_float *make)
{
    create_memory(j);
    fill_inputs(j, 17, make);
    run_batch(j, way);
    for (unsigned k = j->b.n_inputs; k < j->b.group.n_operands; k++) {
        for (size_t i = 0; i < j->b.group.loop[0].size; i++)
            check_element(j, k, i, way.vw);
        check_guard(j, k);
    }
    release_memory(j);
}

static void run_and_check_batch(struct batch_run *j, struct batch_way way)
{
    run_and_check(j, way, random_float);
}

static void each_operation(enum xl__vtype type, struct batch_way way)
{
    struct batch_run j = {.memory = {NULL}};
    batch_begin_typed(&j.b, type, COUNT);
    for (int op = 0; op < XL__N_EXPR_OPS; op++) {
        struct xl__node n;
        if (!batch_node((enum xl__expr_op)op, type, &n))
            continue;
        if (j.b.group.n_operands == XL__EXPR_OPERANDS) {
            run_and_check_batch(&j, way);
            batch_begin_typed(&j.b, type, COUNT);
        }
        batch_add(&j.b, &n, batch_memory(n.type), 1, 0);
    }
    run_and_check_batch(&j, way);
}

static void test_floats(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++)
        each_operation(XL__V_F32, batch_ways[i]);
}

static void test_integers(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++)
        each_operation(XL__V_I32, batch_ways[i]);
}

static void test_bools(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++)
        each_operation(XL__V_BOOL, batch_ways[i]);
}

static void begin_dense(struct batch_run *j, bool is_fast)
{
    batch_begin(&j->b, (size_t)1 << dense);
    batch_add_input(&j->b, XL_F32, 1, 0);
    j->b.g.fast_math = is_fast;
}

static void run_dense(struct batch_run *j, struct batch_way way,
                      make_float *make)
{
    memset(worst_ulp, 0, sizeof worst_ulp);
    run_and_check(j, way, make);
    for (unsigned k = 1; k < j->b.group.n_operands && !j->b.g.fast_math; k++)
        print_message("%-10s %s %6.2f ulp\n",
                      xl__expr_ops[j->b.node[k].op].name,
                      way.as_gpu ? "GPU" : "CPU", worst_ulp[k]);
}

/* Functions of one float over many arguments; prints the largest errors. */
static void check_dense(struct batch_way way, bool is_fast, make_float *make)
{
    struct batch_run j = {.memory = {NULL}};
    begin_dense(&j, is_fast);
    for (int op = 0; op < XL__N_EXPR_OPS; op++) {
        struct xl__node n;
        if (xl__expr_ops[op].n_args != 1 ||
            xl__expr_ops[op].result != XL__R_FLOAT ||
            !batch_node((enum xl__expr_op)op, XL__V_F32, &n))
            continue;
        if (j.b.group.n_operands == XL__EXPR_OPERANDS) {
            run_dense(&j, way, make);
            begin_dense(&j, is_fast);
        }
        batch_add(&j.b, &n, XL_F32, 1, 0);
    }
    run_dense(&j, way, make);
}

static void test_dense(void **state)
{
    (void)state;
    if (first_way == 0)
        check_dense((struct batch_way){false, 16}, false, random_float);
    check_dense((struct batch_way){true, 4}, false, random_float);
}

static void test_binades(void **state)
{
    (void)state;
    if (first_way == 0)
        check_dense((struct batch_way){false, 16}, false, float_of_binade);
    check_dense((struct batch_way){true, 4}, false, float_of_binade);
}

static void test_fast_math(void **state)
{
    (void)state;
    if (first_way == 0)
        check_dense((struct batch_way){false, 16}, true, random_float);
    check_dense((struct batch_way){true, 4}, true, random_float);
}

static void test_casts(void **state)
{
    (void)state;
    for (unsigned i = XL__N_VTYPES * first_way;
         i < XL__N_VTYPES * N_BATCH_WAYS; i++) {
        struct batch_run j = {.memory = {NULL}};
        batch_begin(&j.b, COUNT);
        const enum xl__vtype type = (enum xl__vtype)(i % XL__N_VTYPES);
        batch_add_input(&j.b, batch_memory(type), 1, 0);
        for (int dtype = 0; dtype <= XL_BOOL; dtype++) {
            const struct xl__node n = {.op = XL__E_CAST,
                                       .dtype = (xl_dtype)dtype,
                                       .type = batch_register((xl_dtype)dtype)};
            if (dtype != XL_F64)
                batch_add(&j.b, &n, batch_memory(n.type), 1, 0);
        }
        run_and_check_batch(&j, batch_ways[i / XL__N_VTYPES]);
    }
}

/* -- memory --------------------------------------------------------------- */

/* A value that is loaded and stored is unchanged, except for the bits of NaN
 * and of bools, and for subnormals, which may be flushed. */
static void check_access(size_t from, size_t to, size_t shift,
                         struct batch_way way)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16, XL_I32,
                                      XL_I8,  XL_U16, XL_U8,   XL_BOOL};
    enum { N = sizeof dtypes / sizeof *dtypes };
    struct batch_run j = {.memory = {NULL}};
    batch_begin(&j.b, COUNT);
    for (unsigned d = 0; d < N; d++)
        batch_add_input(&j.b, dtypes[d], from, shift);
    for (unsigned d = 0; d < N; d++) {
        const enum xl__vtype type = batch_register(dtypes[d]);
        const struct xl__node n = {.op = XL__E_CAST, .type = type,
                                   .dtype = batch_memory(type), .arg = {d}};
        batch_add(&j.b, &n, dtypes[d], to, shift);
    }
    create_memory(&j);
    fill_inputs(&j, 3, random_float);
    run_batch(&j, way);
    for (unsigned d = 0; d < N; d++) {
        for (size_t i = 0; i < COUNT; i++) {
            const double expected = operand_element(&j, d, i);
            const double got = operand_element(&j, N + d, i);
            if (got != expected && !(isnan(got) && isnan(expected)) &&
                fabs(expected) >= (double)FLT_MIN)
                fail_msg("%s by %zu to %zu, width %u: %zu is %g, not %g",
                         xl_dtype_name(dtypes[d]), from, to, way.vw, i, got,
                         expected);
        }
        check_guard(&j, N + d);
    }
    release_memory(&j);
}

static void test_accesses(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++) {
        check_access(1, 1, 0, batch_ways[i]);
        check_access(1, 1, 1, batch_ways[i]);
        check_access(0, 3, 0, batch_ways[i]);
        check_access(3, 1, 0, batch_ways[i]);
    }
}

/* -- random numbers ------------------------------------------------------- */

/* rand and randn of a seed, both in one kernel. */
static void begin_random(struct batch_run *j, int32_t seed, size_t first,
                         size_t step)
{
    batch_begin(&j->b, COUNT);
    for (unsigned i = 0; i < 2; i++) {
        const struct xl__node n = {.op = i ? XL__E_RANDN : XL__E_RAND,
                                   .type = XL__V_F32, .arg = {4}};
        batch_add(&j->b, &n, XL_F32, 1, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct xl__operand *o = &j->b.group.operand[2 + i];
        *o = (struct xl__operand){.at = XL__AT_INDEX, .node = i,
                                  .offset = first,
                                  .align = first % 16 == 0 ? 16 : 1};
        o->stride[0] = step;
    }
    j->b.group.n_operands = 4;
    j->b.node[4] = (struct xl__node){.op = XL__E_CONST, .type = XL__V_I32,
                                   .value = seed};
    j->b.g.n_nodes = 5;
    create_memory(j);
}

static void check_random(size_t first, size_t step, struct batch_way way)
{
    enum { SEED = -77 };
    struct batch_run j = {.memory = {NULL}};
    begin_random(&j, SEED, first, step);
    run_batch(&j, way);
    for (unsigned k = 0; k < 2; k++) {
        const enum xl__expr_op op = j.b.node[k].op;
        for (size_t i = 0; i < COUNT; i++) {
            const double expected = xl__eval_rand(op, SEED, first + i * step);
            const double got = operand_element(&j, k, i);
            /* The ulps of graph.h; one ulp is at most 2^-23 relative. */
            if (fabs(got - expected) >
                xl__expr_ops[op].ulp * 0x1p-23 * fabs(expected))
                fail_msg("%s, width %u, place %zu: %.9g, not %.9g",
                         xl__expr_ops[op].name, way.vw, first + i * step, got,
                         expected);
        }
        check_guard(&j, k);
    }
    release_memory(&j);
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++) {
        check_random(16, 1, batch_ways[i]);
        check_random(((size_t)1 << 34) + 16, 1, batch_ways[i]);
        check_random(7, 1, batch_ways[i]);
        check_random(((size_t)1 << 34) + 5, 3, batch_ways[i]);
    }
}

/* Random123's published vector of philox4x32 with ten rounds: counter and key
 * 0. */
static void test_known_answer(void **state)
{
    (void)state;
    static const uint32_t word[] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu,
                                    0x9b00dbd8u};
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++) {
        struct batch_run j = {.memory = {NULL}};
        begin_random(&j, 0, 0, 1);
        run_batch(&j, batch_ways[i]);
        for (size_t w = 0; w < 4; w++)
            assert_true(operand_element(&j, 0, w) == (word[w] >> 8) * 0x1p-24);
        release_memory(&j);
    }
}

/* Read the device's facts. On GPUs the long vectors of CPUs are left out. */
static void read_device_facts(void)
{
    const struct xl__limits *l = &device.device->limits;
    has_fma = xl__num_or(l, XL__F_has_fma, 1);
    while (!xl__is_vector_cpu(l) && !batch_ways[first_way].as_gpu)
        first_way++;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),  cmocka_unit_test(test_integers),
        cmocka_unit_test(test_bools),   cmocka_unit_test(test_dense),
        cmocka_unit_test(test_binades), cmocka_unit_test(test_fast_math),
        cmocka_unit_test(test_casts),   cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_known_answer),
    };
    test_args(argc, argv);
    dense = getenv("XL_TEST_FULL") ? 19 : 16;
    test_device_open(&device, NULL);
    read_device_facts();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&device);
    return failed;
}
