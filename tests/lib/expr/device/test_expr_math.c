/* SPDX-License-Identifier: Apache-2.0 */
/* Generated kernels on a real driver, one operation at a time: every operation
 * on every type it takes, every width, as they are written for CPUs and for
 * GPUs; every type of memory by every way it is accessed; random numbers.
 * Expected values and bounds are the host interpreter's (eval.h), which knows
 * the errors that graph.h's table allows; it shares no code with the kernels.
 */
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
    COUNT = 2053,  /* no multiple of a width */
    DENSE = 1 << 19,
    MARGIN = 64,   /* guarded elements on both sides */
    MOST_BYTES = 4,
    GUARD = 0xA5
};

static struct test_device device;
static double has_fma;     /* of the device */
static unsigned first_way; /* of those that suit it */

/* -- a batch with memory --------------------------------------------------- */

struct job {
    struct batch b;
    void *memory[XL__EXPR_OPERANDS]; /* of each operand */
    size_t elems[XL__EXPR_OPERANDS];
};

/* Give every operand memory, full of guards. */
static void set_up(struct job *j)
{
    for (unsigned k = 0; k < j->b.group.n_operands; k++) {
        struct xl__operand *o = &j->b.group.operand[k];
        const size_t stride = o->stride[0] ? o->stride[0] : 1;
        if (o->at != XL__AT_BINDING)
            continue;
        o->offset += MARGIN;
        j->elems[k] = j->b.group.loop[0].size * stride + 2 * MARGIN;
        j->memory[k] = malloc(j->elems[k] * MOST_BYTES);
        assert_non_null(j->memory[k]);
        memset(j->memory[k], GUARD, j->elems[k] * MOST_BYTES);
    }
}

static void end(struct job *j)
{
    for (unsigned k = 0; k < XL__EXPR_OPERANDS; k++) {
        free(j->memory[k]);
        j->memory[k] = NULL;
    }
}

/* -- on the device --------------------------------------------------------- */

static size_t bytes_of(const struct job *j, unsigned k)
{
    return j->elems[k] * xl_dtype_bytes(j->b.group.operand[k].dtype);
}

static cl_mem buffer_of(const struct job *j, unsigned k)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(xl_queue_context(device.queue),
                                CL_MEM_COPY_HOST_PTR, bytes_of(j, k),
                                j->memory[k], &code);
    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

static void read_back(struct job *j, unsigned k, cl_mem mem)
{
    assert_int_equal(clEnqueueReadBuffer(xl_queue_cl(device.queue), mem,
                                         CL_TRUE, 0, bytes_of(j, k),
                                         j->memory[k], 0, NULL, NULL),
                     CL_SUCCESS);
}

/* Run it; what is written is read back into its memory. */
static void run(struct job *j, struct batch_way way)
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

/* -- numbers in memory ----------------------------------------------------- */

static double get(const void *memory, xl_dtype dtype, size_t i)
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
    case XL_I8:
        return ((const int8_t *)memory)[i];
    case XL_BOOL:
        return ((const uint8_t *)memory)[i] != 0;
    default:
        return ((const uint8_t *)memory)[i];
    }
}

static void put(void *memory, xl_dtype dtype, size_t i, uint32_t bits)
{
    if (dtype == XL_F32 || dtype == XL_I32)
        ((uint32_t *)memory)[i] = bits;
    else if (dtype == XL_F16 || dtype == XL_BF16)
        ((uint16_t *)memory)[i] = (uint16_t)bits;
    else if (dtype == XL_BOOL)
        ((uint8_t *)memory)[i] = (uint8_t)(bits & 3); /* 2 is true, too */
    else
        ((uint8_t *)memory)[i] = (uint8_t)bits;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Floats of all sizes, and the special ones; subnormals are 0, since devices
 * may flush them. */
static uint32_t some_float(struct xl__rng *rng, size_t i)
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

static uint32_t some_int(struct xl__rng *rng, size_t i)
{
    static const uint32_t special[] = {0, 1, 0xffffffffu, 0x80000000u,
                                       0x7fffffffu, 2, 0xfffffffeu, 3};
    const uint32_t any = (uint32_t)xl__rng_next(rng);
    return i % 3 == 0 ? special[any % 8] : i % 3 == 1 ? any : any % 41 - 20;
}

/* All binades of both signs, 1024 of each, with infinities and NaN, if there
 * are DENSE of them; no subnormals again. */
static uint32_t float_of_binade(struct xl__rng *rng, size_t i)
{
    enum { REST = 13, TOP = 1 << 10 };
    const uint32_t bits = (uint32_t)i << REST;
    if ((bits & 0x7f800000u) == 0)
        return bits & 0x80000000u;
    return i % TOP == 0 ? bits : bits | (uint32_t)xl__rng_below(rng, 1 << REST);
}

typedef uint32_t make_float(struct xl__rng *rng, size_t i);

static void fill(struct job *j, uint64_t seed, make_float *make)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned k = 0; k < j->b.n_inputs; k++) {
        const xl_dtype dtype = j->b.group.operand[k].dtype;
        for (size_t i = 0; i < j->elems[k]; i++) {
            /* Another order for each, so that special meets special. */
            const size_t kind =
                k == 0 ? i : (size_t)xl__rng_below(&rng, 64);
            put(j->memory[k], dtype, i,
                dtype == XL_F32 ? make(&rng, kind)
                                : some_int(&rng, kind));
        }
    }
}

/* Whatever was not to be written is as it was. */
static void check_guard(const struct job *j, unsigned k)
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

static double element(const struct job *j, unsigned k, size_t i)
{
    const struct xl__operand *o = &j->b.group.operand[k];
    return get(j->memory[k], o->dtype, o->offset + i * o->stride[0]);
}

/* -- operations by themselves ---------------------------------------------- */

static double worst_ulp[XL__EXPR_OPERANDS];

static void note_error(unsigned k, double got, double want)
{
    if (isfinite(want) && fabs(want) >= (double)FLT_MIN) {
        const double ulp = ldexp(1, ilogb(want) - 23);
        worst_ulp[k] = fmax(worst_ulp[k], fabs(got - want) / ulp);
    }
}

/* Element i of node k. */
static void compare(const struct job *j, unsigned k, size_t i, unsigned vw)
{
    const struct xl__node *n = &j->b.node[k];
    struct xl__interval arg[XL__EXPR_ARGS] = {{0, 0}};
    for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
        arg[a].x = element(j, n->arg[a], i);
    const struct xl__interval want = xl__eval_node(&j->b.g, k, arg);
    const double got = element(j, k, i);
    if (isinf(want.err))
        return;
    const bool is_right = isnan(want.x)   ? isnan(got)
                          : isinf(want.x) ? got == want.x
                                          : fabs(got - want.x) <= want.err;
    if (!is_right)
        fail_msg("%s, width %u, at %zu: (%.9g, %.9g, %.9g) gave %.9g, not "
                 "%.9g +- %g",
                 xl__expr_ops[n->op].name, vw, i, arg[0].x, arg[1].x,
                 arg[2].x, got, want.x, want.err);
    note_error(k, got, want.x);
}

/* Run what is in the batch, compare it, and begin anew. */
static void finish_with(struct job *j, struct batch_way way, make_float *make)
{
    set_up(j);
    fill(j, 17, make);
    run(j, way);
    for (unsigned k = j->b.n_inputs; k < j->b.group.n_operands; k++) {
        for (size_t i = 0; i < j->b.group.loop[0].size; i++)
            compare(j, k, i, way.vw);
        check_guard(j, k);
    }
    end(j);
}

static void finish(struct job *j, struct batch_way way)
{
    finish_with(j, way, some_float);
}

static void each_operation(enum xl__vtype type, struct batch_way way)
{
    struct job j = {.memory = {NULL}};
    batch_begin_typed(&j.b, type, COUNT);
    for (int op = 0; op < XL__N_EXPR_OPS; op++) {
        struct xl__node n;
        if (!batch_node((enum xl__expr_op)op, type, &n))
            continue;
        if (j.b.group.n_operands == XL__EXPR_OPERANDS) {
            finish(&j, way);
            batch_begin_typed(&j.b, type, COUNT);
        }
        batch_add(&j.b, &n, batch_memory(n.type), 1, 0);
    }
    finish(&j, way);
}

static void of_floats(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++)
        each_operation(XL__V_F32, batch_ways[i]);
}

static void of_integers(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++)
        each_operation(XL__V_I32, batch_ways[i]);
}

static void of_bools(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++)
        each_operation(XL__V_BOOL, batch_ways[i]);
}

/* Functions of one float, densely; what they reach is printed. */
static void check_dense(struct batch_way way, bool is_fast, make_float *make)
{
    struct job j = {.memory = {NULL}};
    memset(worst_ulp, 0, sizeof worst_ulp);
    batch_begin(&j.b, DENSE);
    batch_add_input(&j.b, XL_F32, 1, 0);
    j.b.g.fast_math = is_fast;
    for (int op = 0; op < XL__N_EXPR_OPS; op++) {
        struct xl__node n;
        if (xl__expr_ops[op].n_args == 1 &&
            xl__expr_ops[op].result == XL__R_FLOAT &&
            batch_node((enum xl__expr_op)op, XL__V_F32, &n))
            batch_add(&j.b, &n, XL_F32, 1, 0);
    }
    finish_with(&j, way, make);
    for (unsigned k = 1; k < j.b.group.n_operands && !is_fast; k++)
        print_message("%-10s %s %6.2f ulp\n",
                      xl__expr_ops[j.b.node[k].op].name,
                      way.as_gpu ? "GPU" : "CPU", worst_ulp[k]);
}

static void dense(void **state)
{
    (void)state;
    if (first_way == 0)
        check_dense((struct batch_way){false, 16}, false, some_float);
    check_dense((struct batch_way){true, 4}, false, some_float);
}

static void binades(void **state)
{
    (void)state;
    if (first_way == 0)
        check_dense((struct batch_way){false, 16}, false, float_of_binade);
    check_dense((struct batch_way){true, 4}, false, float_of_binade);
}

static void dense_and_fast(void **state)
{
    (void)state;
    if (first_way == 0)
        check_dense((struct batch_way){false, 16}, true, some_float);
    check_dense((struct batch_way){true, 4}, true, some_float);
}

static void casts(void **state)
{
    (void)state;
    for (unsigned i = XL__N_VTYPES * first_way;
         i < XL__N_VTYPES * N_BATCH_WAYS; i++) {
        struct job j = {.memory = {NULL}};
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
        finish(&j, batch_ways[i / XL__N_VTYPES]);
    }
}

/* -- memory ---------------------------------------------------------------- */

/* What goes through a register and back is itself again, but for NaN's bits, a
 * bool's, and subnormals, which may be flushed. */
static void check_access(size_t from, size_t to, size_t shift,
                         struct batch_way way)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16, XL_I32,
                                      XL_I8,  XL_U8,  XL_BOOL};
    enum { N = sizeof dtypes / sizeof *dtypes };
    struct job j = {.memory = {NULL}};
    batch_begin(&j.b, COUNT);
    for (unsigned d = 0; d < N; d++)
        batch_add_input(&j.b, dtypes[d], from, shift);
    for (unsigned d = 0; d < N; d++) {
        const enum xl__vtype type = batch_register(dtypes[d]);
        const struct xl__node n = {.op = XL__E_CAST, .type = type,
                                   .dtype = batch_memory(type), .arg = {d}};
        batch_add(&j.b, &n, dtypes[d], to, shift);
    }
    set_up(&j);
    fill(&j, 3, some_float);
    run(&j, way);
    for (unsigned d = 0; d < N; d++) {
        for (size_t i = 0; i < COUNT; i++) {
            const double want = element(&j, d, i);
            const double got = element(&j, N + d, i);
            if (got != want && !(isnan(got) && isnan(want)) &&
                fabs(want) >= (double)FLT_MIN)
                fail_msg("%s by %zu to %zu, width %u: %zu is %g, not %g",
                         xl_dtype_name(dtypes[d]), from, to, way.vw, i, got,
                         want);
        }
        check_guard(&j, N + d);
    }
    end(&j);
}

static void accesses(void **state)
{
    (void)state;
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++) {
        check_access(1, 1, 0, batch_ways[i]);
        check_access(1, 1, 1, batch_ways[i]);
        check_access(0, 3, 0, batch_ways[i]);
        check_access(3, 1, 0, batch_ways[i]);
    }
}

/* -- random numbers -------------------------------------------------------- */

/* rand and randn of a seed, both in one kernel. */
static void begin_random(struct job *j, int32_t seed, size_t first,
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
    set_up(j);
}

static void check_random(size_t first, size_t step, struct batch_way way)
{
    enum { SEED = -77 };
    struct job j = {.memory = {NULL}};
    begin_random(&j, SEED, first, step);
    run(&j, way);
    for (unsigned k = 0; k < 2; k++) {
        const enum xl__expr_op op = j.b.node[k].op;
        for (size_t i = 0; i < COUNT; i++) {
            const double want = xl__eval_rand(op, SEED, first + i * step);
            const double got = element(&j, k, i);
            /* graph.h's ulp, of which one is at most 2^-23 relative. */
            if (fabs(got - want) > xl__expr_ops[op].ulp * 0x1p-23 * fabs(want))
                fail_msg("%s, width %u, place %zu: %.9g, not %.9g",
                         xl__expr_ops[op].name, way.vw, first + i * step, got,
                         want);
        }
        check_guard(&j, k);
    }
    end(&j);
}

static void random_numbers(void **state)
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
static void known_answer(void **state)
{
    (void)state;
    static const uint32_t word[] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu,
                                    0x9b00dbd8u};
    for (unsigned i = first_way; i < N_BATCH_WAYS; i++) {
        struct job j = {.memory = {NULL}};
        begin_random(&j, 0, 0, 1);
        run(&j, batch_ways[i]);
        for (size_t w = 0; w < 4; w++)
            assert_true(element(&j, 0, w) == (word[w] >> 8) * 0x1p-24);
        end(&j);
    }
}

/* A GPU's compiler need not do with a CPU's long vectors. */
static void look_at_device(void)
{
    const struct xl__limits *l = &device.device->limits;
    has_fma = xl__num_or(l, XL__F_has_fma, 1);
    while (!xl__is_vector_cpu(l) && !batch_ways[first_way].as_gpu)
        first_way++;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_floats),   cmocka_unit_test(of_integers),
        cmocka_unit_test(of_bools),    cmocka_unit_test(dense),
        cmocka_unit_test(binades),
        cmocka_unit_test(dense_and_fast),
        cmocka_unit_test(casts),       cmocka_unit_test(accesses),
        cmocka_unit_test(random_numbers), cmocka_unit_test(known_answer),
    };
    test_args(argc, argv);
    test_device_open(&device, NULL);
    look_at_device();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&device);
    return failed;
}
