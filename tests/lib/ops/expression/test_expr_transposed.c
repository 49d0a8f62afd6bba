/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed operands on a device: random sizes, orders of dimensions, gaps,
 * offsets and types, compared with the host. All values are small integers, so
 * every result is exact; all memory is compared, so writes outside the results
 * are detected. XL_TEST_SEED=N: other cases; XL_TEST_FULL=1: more cases. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "support/support.h"

enum { MOST_DIMS = 4, NAMES = 5, MOST_GAP = 3, MOST_OFFSET = 40, TAIL = 70 };

static struct test_device t;

/* A view in memory of its own. */
struct test_view {
    xl_dtype dtype;
    unsigned n_dims;
    size_t size[MOST_DIMS], stride[MOST_DIMS], offset, elems;
    unsigned char *bytes;
    cl_mem mem;
};

/* -- elements ------------------------------------------------------------- */

static int load_element(const struct test_view *v, size_t i)
{
    const unsigned char *at = v->bytes + i * xl_dtype_bytes(v->dtype);
    uint16_t half;
    float f;
    int32_t n;
    memcpy(&half, at, v->dtype == XL_F16 || v->dtype == XL_BF16 ? 2 : 0);
    switch (v->dtype) {
    case XL_F16: return (int)xl__f16_to_f32(half);
    case XL_BF16: return (int)xl__bf16_to_f32(half);
    case XL_F32: memcpy(&f, at, sizeof f); return (int)f;
    case XL_I32: memcpy(&n, at, sizeof n); return n;
    case XL_I8: return (int8_t)*at;
    default: return *at;
    }
}

static void store_element(const struct test_view *v, size_t i, int x)
{
    unsigned char *at = v->bytes + i * xl_dtype_bytes(v->dtype);
    const float f = (float)x;
    const int32_t n = x;
    const uint16_t half = v->dtype == XL_F16 ? xl__f32_to_f16(f)
                                             : xl__f32_to_bf16(f);
    if (v->dtype == XL_F32)
        memcpy(at, &f, sizeof f);
    else if (v->dtype == XL_I32)
        memcpy(at, &n, sizeof n);
    else if (v->dtype == XL_F16 || v->dtype == XL_BF16)
        memcpy(at, &half, sizeof half);
    else
        *at = (unsigned char)(v->dtype == XL_U8 && x < 0 ? 0 : x);
}

/* -- views ---------------------------------------------------------------- */

static size_t random_upto(struct xl__rng *rng, size_t most)
{
    return (size_t)xl__rng_below(rng, (uint32_t)most + 1);
}

/* Create a view in which dimension order[0] is contiguous; rows may have gaps
 * between them. */
static struct test_view create_view(struct xl__rng *rng, xl_dtype dtype,
                                    unsigned n_dims, const size_t *size,
                                    const unsigned *order)
{
    struct test_view v = {.dtype = dtype, .n_dims = n_dims};
    size_t next = 1;
    v.offset = random_upto(rng, 1) * random_upto(rng, MOST_OFFSET);
    const size_t gap = random_upto(rng, 1) * random_upto(rng, MOST_GAP);
    for (unsigned i = 0; i < n_dims; i++) {
        v.size[order[i]] = size[order[i]];
        v.stride[order[i]] = next;
        next = next * size[order[i]] + gap;
    }
    v.elems = v.offset + next + TAIL;
    v.bytes = calloc(v.elems, xl_dtype_bytes(dtype));
    assert_non_null(v.bytes);
    for (size_t i = 0; i < v.elems; i++)
        store_element(&v, i,
                      (int)random_upto(rng, 6) - (dtype == XL_U8 ? 0 : 3));
    assert_status(xl_buffer_create(t.queue, v.elems * xl_dtype_bytes(dtype),
                                   &v.mem), XL_OK, xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, v.mem, 0, v.bytes,
                                  v.elems * xl_dtype_bytes(dtype)),
                  XL_OK, xl_error_detail(t.queue));
    return v;
}

static size_t element_index(const struct test_view *v, size_t i)
{
    size_t at = v->offset;
    for (unsigned d = v->n_dims; d-- > 0;) {
        at += i % v->size[d] * v->stride[d];
        i /= v->size[d];
    }
    return at;
}

static void check_memory(const struct test_view *v, const char *what)
{
    const size_t elem = xl_dtype_bytes(v->dtype), bytes = v->elems * elem;
    unsigned char *got = malloc(bytes);
    assert_non_null(got);
    assert_status(xl_buffer_read(t.queue, v->mem, 0, got, bytes), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != v->bytes[i])
            fail_msg("%s, a %s: element %zu is wrong", what,
                     xl_dtype_name(v->dtype), i / elem);
    free(got);
}

/* -- expressions ---------------------------------------------------------- */

/* The values at one index: x, y and z are read, a and b (or x, y) written. */
struct element_values {
    int x, y, z, a, b;
};

static void apply_sum(struct element_values *n)
{
    n->a = n->x + n->y;
}
static void apply_double(struct element_values *n)
{
    n->a = n->y * 2;
}
static void apply_fma(struct element_values *n)
{
    n->a = n->x + n->y * n->z;
}
static void apply_in_place(struct element_values *n)
{
    n->x = n->x - n->y;
}
static void apply_two_outputs(struct element_values *n)
{
    n->a = n->x + n->y;
    n->b = n->x - n->y;
}
static void apply_in_transposed(struct element_values *n)
{
    n->a = n->x + n->y;
    n->y = n->x - n->y;
}

static const struct expression {
    const char *text, *names;
    void (*apply)(struct element_values *n);
} expressions[] = {
    {"a = x + y", "xya", apply_sum},
    {"a = y * 2", "ya", apply_double},
    {"a = x + y * z", "xyza", apply_fma},
    {"x = x - y", "xy", apply_in_place},
    {"a = x + y; b = x - y", "xyab", apply_two_outputs},
    {"a = x + y; y = x - y", "xya", apply_in_transposed},
};
enum { N_EXPRESSIONS = sizeof expressions / sizeof *expressions };
static const char letters[NAMES + 1] = "xyzab";

static void apply_to_element(const struct expression *e,
                             struct test_view v[NAMES], size_t i)
{
    struct element_values n = {0};
    int *number[NAMES] = {&n.x, &n.y, &n.z, &n.a, &n.b};
    for (unsigned k = 0; k < NAMES; k++)
        if (strchr(e->names, letters[k]))
            *number[k] = load_element(&v[k], element_index(&v[k], i));
    e->apply(&n);
    for (unsigned k = 0; k < NAMES; k++)
        if (strchr(e->names, letters[k]))
            store_element(&v[k], element_index(&v[k], i), *number[k]);
}

/* -- one case ------------------------------------------------------------- */

static void note_tile(const xl_expr_kernel *k, void *arg)
{
    *(unsigned *)arg += strstr(k->why, "tiles of") != NULL;
}

/* Compile and run; returns whether the kernels use tiles. */
static bool run_expression(const char *text, const xl_binding *b, unsigned n)
{
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = n};
    unsigned tiles = 0;
    xl_expr *e;
    assert_status(xl_expr_compile(t.queue, text, &args, &e), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_expr_kernels(t.queue, e, &args, note_tile, &tiles),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    xl_expr_destroy(e);
    return tiles > 0;
}

static unsigned bind_all(const struct expression *e, const struct test_view *v,
                         char name[NAMES][2], xl_binding *b)
{
    unsigned n = 0;
    for (unsigned k = 0; k < NAMES; k++) {
        if (!strchr(e->names, letters[k]))
            continue;
        name[k][0] = letters[k];
        name[k][1] = '\0';
        b[n] = (xl_binding){.name = name[k]};
        b[n].tensor = (xl_tensor){.mem = {.buf = v[k].mem},
                                  .offset = v[k].offset,
                                  .n_dims = v[k].n_dims,
                                  .dtype = v[k].dtype};
        memcpy(b[n].tensor.size, v[k].size, sizeof v[k].size);
        memcpy(b[n].tensor.stride, v[k].stride, sizeof v[k].stride);
        n++;
    }
    return n;
}

struct case_shape {
    unsigned n_dims;
    size_t size[MOST_DIMS];
};

/* Run a case in which y and b are contiguous along dimension `along`, z along
 * a random one, x and a along the last. Returns whether tiles were used. */
static bool run_case(struct xl__rng *rng, const struct expression *e,
                     const xl_dtype *dtypes, const struct case_shape *s,
                     unsigned along)
{
    struct test_view v[NAMES];
    xl_binding b[NAMES];
    char name[NAMES][2];
    size_t elems = 1;
    for (unsigned k = 0; k < NAMES; k++) {
        unsigned order[MOST_DIMS];
        const unsigned first = letters[k] == 'y' || letters[k] == 'b' ? along
                               : letters[k] == 'z'
                                   ? (unsigned)random_upto(rng, s->n_dims - 1)
                                   : s->n_dims - 1;
        order[0] = first;
        for (unsigned d = s->n_dims, i = 1; d-- > 0;)
            if (d != first)
                order[i++] = d;
        v[k] = create_view(rng, dtypes[k % 3], s->n_dims, s->size, order);
    }
    for (unsigned d = 0; d < s->n_dims; d++)
        elems *= s->size[d];
    for (size_t i = 0; i < elems; i++)
        apply_to_element(e, v, i);
    const unsigned n = bind_all(e, v, name, b);
    const bool has_tiles = run_expression(e->text, b, n);
    for (unsigned k = 0; k < NAMES; k++) {
        if (strchr(e->names, letters[k]))
            check_memory(&v[k], e->text);
        clReleaseMemObject(v[k].mem);
        free(v[k].bytes);
    }
    return has_tiles;
}

/* -- cases ---------------------------------------------------------------- */

static bool is_full(void)
{
    const char *full = getenv("XL_TEST_FULL");
    return full && strcmp(full, "1") == 0;
}

static uint64_t test_seed(void)
{
    const char *text = getenv("XL_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

static size_t random_size(struct xl__rng *rng)
{
    static const size_t sides[] = {15, 16, 17, 31, 33, 63, 64, 65, 127, 129};
    enum { N = sizeof sides / sizeof *sides, MOST = 200 };
    return random_upto(rng, 2) ? 1 + random_upto(rng, MOST - 1)
                               : sides[random_upto(rng, N - 1)];
}

/* Two dimensions. Sizes and gaps need no new programs, except for the few
 * geometries of tiles. */
static void test_planes(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F32, XL_F32};
    const unsigned rounds = is_full() ? 400 : 30;
    struct xl__rng rng;
    unsigned tiles = 0;
    (void)state;
    xl__rng_seed(&rng, test_seed());
    for (unsigned i = 0; i < rounds; i++) {
        const struct case_shape s = {2,
                                     {random_size(&rng), random_size(&rng)}};
        tiles +=
            run_case(&rng, &expressions[i % N_EXPRESSIONS], dtypes, &s, 0);
    }
    assert_true(tiles * 2 > rounds);
}

static void test_types(void **state)
{
    static const xl_dtype all[][3] = {{XL_F16, XL_F16, XL_F16},
                                      {XL_I8, XL_I8, XL_I32},
                                      {XL_F32, XL_BF16, XL_F16},
                                      {XL_U8, XL_I32, XL_I8}};
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, test_seed() + 1);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        for (unsigned j = 0; j < (is_full() ? 20 : 3); j++) {
            const struct case_shape s = {
                2, {64 + random_upto(&rng, 136), 64 + random_upto(&rng, 136)}};
            assert_true(run_case(&rng, &expressions[j % 2], all[i], &s, 0));
        }
    }
}

/* More dimensions; each of them is the contiguous one once. */
static void test_batches(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F32, XL_F32};
    static const struct case_shape shapes[] = {
        {3, {3, 37, 71}},    {3, {37, 3, 71}},    {3, {65, 19, 33}},
        {4, {2, 35, 3, 67}}, {4, {33, 2, 3, 41}}, {4, {2, 3, 50, 34}},
        {3, {1, 130, 70}},   {3, {5, 200, 17}}};
    struct xl__rng rng;
    unsigned tiles = 0;
    (void)state;
    xl__rng_seed(&rng, test_seed() + 2);
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned d = 0; d + 1 < shapes[i].n_dims; d++)
            tiles += run_case(&rng, &expressions[(i + d) % 3], dtypes,
                              &shapes[i], d);
    assert_true(tiles >= sizeof shapes / sizeof *shapes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planes),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_batches),
    };
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
