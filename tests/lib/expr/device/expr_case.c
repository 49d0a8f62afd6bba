/* SPDX-License-Identifier: Apache-2.0 */
/* See expr_case.h. */
#include "lib/expr/device/expr_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/alloc.h"
#include "lib/expr/device/expr_host.h"

enum { GUARD = 64, MAX_SHIFT = 64 }; /* elements, on either side */

/* -- elements -------------------------------------------------------------- */

double case_load(const void *data, size_t i, xl_dtype dtype)
{
    switch (dtype) {
    case XL_F32: return (double)((const float *)data)[i];
    case XL_F16: return (double)xl__f16_to_f32(((const uint16_t *)data)[i]);
    case XL_BF16: return (double)xl__bf16_to_f32(((const uint16_t *)data)[i]);
    case XL_I32: return (double)((const int32_t *)data)[i];
    case XL_I8: return (double)((const int8_t *)data)[i];
    case XL_U8: return (double)((const uint8_t *)data)[i];
    case XL_BOOL: return ((const uint8_t *)data)[i] != 0;
    default: return NAN;
    }
}

static double clamped(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

void case_store(void *data, size_t i, xl_dtype dtype, double x)
{
    switch (dtype) {
    case XL_F32: ((float *)data)[i] = (float)x; break;
    case XL_F16: ((uint16_t *)data)[i] = xl__f32_to_f16((float)x); break;
    case XL_BF16: ((uint16_t *)data)[i] = xl__f32_to_bf16((float)x); break;
    case XL_I32: ((int32_t *)data)[i] = (int32_t)x; break;
    case XL_I8: ((int8_t *)data)[i] = (int8_t)clamped(x, -128, 127); break;
    case XL_U8: ((uint8_t *)data)[i] = (uint8_t)clamped(x, 0, 255); break;
    case XL_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    default: break;
    }
}

static bool is_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

/* What memory may hold: any byte is a bool, and ties are frequent. */
static double draw(struct xl__rng *rng, xl_dtype dtype, enum case_fill fill)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0};
    const double u = xl__rng_uniform(rng);
    if (dtype == XL_BOOL || dtype == XL_U8)
        return xl__rng_below(rng, 2) ? (double)xl__rng_below(rng, 256) : 0;
    if (!is_float(dtype))
        return (double)xl__rng_below(rng, 41) - 20;
    if (fill == FILL_SPECIALS && xl__rng_below(rng, 8) == 0)
        return specials[xl__rng_below(rng, 4)];
    if (fill == FILL_WIDE)
        return (u < 0.5 ? -1 : 1) *
               exp2(40 * xl__rng_uniform(rng) - 20);
    if (xl__rng_below(rng, 8) == 0) /* halves, so that ties are met */
        return (double)xl__rng_below(rng, 9) / 2 - 2;
    return 4 * u - 2;
}

/* -- binding --------------------------------------------------------------- */

void case_init(struct expr_case *c, uint64_t seed, const char *text)
{
    memset(c, 0, sizeof *c);
    c->seed = seed;
    xl__rng_seed(&c->rng, seed);
    xl__str_add(&c->text, text);
}

void case_clear(struct expr_case *c)
{
    case_release(c);
    for (unsigned i = 0; i < c->n_buffers; i++) {
        free(c->mem[i].before);
        free(c->mem[i].after);
    }
    xl__str_clear(&c->text);
    memset(c, 0, sizeof *c);
}

static unsigned bind(struct expr_case *c, const char *name)
{
    if (c->n == CASE_NAMES)
        abort(); /* a test's own mistake */
    snprintf(c->name[c->n], CASE_NAME, "%s", name);
    c->binding[c->n].name = c->name[c->n];
    return c->n++;
}

/* Elements from the first to one past the last. */
static size_t extent(const xl_tensor *t)
{
    size_t last = 0;
    for (unsigned d = 0; d < t->n_dims; d++)
        last += (t->size[d] - 1) * t->stride[d];
    return last + 1;
}

static xl_tensor layout(const struct case_view *view, xl_dtype dtype)
{
    xl_tensor t = xl_tensor_dense(NULL, dtype, view->n_dims, view->size);
    if (view->is_strided)
        memcpy(t.stride, view->stride, sizeof t.stride);
    return t;
}

/* Behind what the buffer holds, after a gap that no alignment survives. */
static void place(struct expr_case *c, unsigned i, unsigned buffer)
{
    xl_tensor *t = &c->binding[i].tensor;
    const size_t size = xl_dtype_bytes(t->dtype);
    const size_t shift = xl__rng_below(&c->rng, MAX_SHIFT);
    struct case_buffer *mem = &c->mem[buffer];
    t->offset = xl__ceil_div(mem->bytes, size) + GUARD +
                (xl__rng_below(&c->rng, 2) ? 0 : shift);
    mem->bytes = xl__round_up((t->offset + extent(t) + GUARD) * size, 8);
    c->buffer[i] = buffer;
}

unsigned case_tensor(struct expr_case *c, const char *name, xl_dtype dtype,
                     const struct case_view *view)
{
    const unsigned i = bind(c, name);
    c->binding[i].tensor = layout(view, dtype);
    place(c, i, c->n_buffers++);
    return i;
}

unsigned case_beside(struct expr_case *c, const char *name, unsigned other,
                     const struct case_view *view)
{
    const unsigned i = bind(c, name);
    c->binding[i].tensor = layout(view, c->binding[other].tensor.dtype);
    place(c, i, c->buffer[other]);
    return i;
}

unsigned case_alias(struct expr_case *c, const char *name, unsigned other)
{
    const unsigned i = bind(c, name);
    c->binding[i].tensor = c->binding[other].tensor;
    c->buffer[i] = c->buffer[other];
    return i;
}

unsigned case_scalar(struct expr_case *c, const char *name, xl_dtype dtype,
                     double value)
{
    const unsigned i = bind(c, name);
    c->binding[i].is_scalar = true;
    c->binding[i].scalar = value;
    c->binding[i].tensor.dtype = dtype;
    return i;
}

unsigned case_dense(struct expr_case *c, const char *name, xl_dtype dtype,
                    const size_t *size)
{
    struct case_view view = {.n_dims = 0};
    while (view.n_dims < XL_MAX_DIMS && size[view.n_dims]) {
        view.size[view.n_dims] = size[view.n_dims];
        view.n_dims++;
    }
    return case_tensor(c, name, dtype, &view);
}

static struct xl__shape shape_of(const xl_tensor *t)
{
    struct xl__shape s = {.n_dims = t->n_dims};
    memcpy(s.size, t->size, sizeof s.size);
    return s;
}

bool case_fill(struct expr_case *c)
{
    for (unsigned b = 0; b < c->n_buffers; b++) {
        struct case_buffer *mem = &c->mem[b];
        mem->before = malloc(mem->bytes);
        mem->after = malloc(mem->bytes);
        if (!mem->before || !mem->after)
            return false;
        for (size_t i = 0; i < mem->bytes; i += sizeof(uint64_t)) {
            const uint64_t noise = xl__rng_next(&c->rng);
            memcpy(mem->before + i, &noise, sizeof noise);
        }
    }
    for (unsigned i = 0; i < c->n; i++) {
        const xl_tensor *t = &c->binding[i].tensor;
        const struct xl__shape s = shape_of(t);
        if (c->binding[i].is_scalar)
            continue;
        unsigned char *to = c->mem[c->buffer[i]].before;
        for (size_t e = 0; e < xl__shape_elems(&s); e++) {
            const size_t at =
                t->offset + host_place(&s, e, t->n_dims, t->size, t->stride);
            const double x = draw(&c->rng, t->dtype, c->fill[i]);
            if (t->dtype == XL_BOOL)
                to[at] = (unsigned char)x;
            else
                case_store(to, at, t->dtype, x);
        }
    }
    return true;
}

/* -- running --------------------------------------------------------------- */

bool case_works(const struct expr_case *c, xl_queue *q, xl_status status,
                const char *what)
{
    if (status == XL_OK)
        return true;
    fprintf(stderr, "seed %llu: %s: %s: %s\n%s\n",
            (unsigned long long)c->seed, what, xl_status_name(status),
            xl_error_detail(q), xl__str_text(&c->text));
    return false;
}

bool case_upload(struct expr_case *c, xl_queue *q)
{
    bool right = true;
    for (unsigned b = 0; right && b < c->n_buffers; b++) {
        struct case_buffer *mem = &c->mem[b];
        right = (mem->mem || case_works(c, q,
                                   xl_buffer_create(q, mem->bytes, &mem->mem),
                                   "buffer")) &&
                case_works(c, q,
                      xl_buffer_write(q, mem->mem, 0, mem->before,
                                      mem->bytes),
                      "write");
    }
    for (unsigned i = 0; right && i < c->n; i++)
        if (!c->binding[i].is_scalar)
            c->binding[i].tensor.mem.buf = c->mem[c->buffer[i]].mem;
    return right;
}

void case_release(struct expr_case *c)
{
    for (unsigned b = 0; b < c->n_buffers; b++) {
        if (c->mem[b].mem)
            (void)clReleaseMemObject(c->mem[b].mem);
        c->mem[b].mem = NULL;
    }
}

void case_args(struct expr_case *c, const char *variant, xl_expr_args *out)
{
    *out = (xl_expr_args){.bindings = c->binding,
                          .n_bindings = c->n,
                          .fast_math = c->fast_math,
                          .variant = variant};
}

bool case_right(struct expr_case *c, xl_queue *q, const char *variant)
{
    xl_expr *e = NULL;
    xl_expr_args args;
    bool right = case_upload(c, q);
    case_args(c, variant, &args);
    right = right &&
            case_works(c, q,
                  xl_expr_compile(q, xl__str_text(&c->text), &args, &e),
                  "compile") &&
            case_works(c, q, xl_expr_run(q, e, &args, NULL), "run") &&
            case_compare(c, q);
    if (!right)
        fprintf(stderr, "by %s\n", variant ? variant : "the best");
    xl_expr_destroy(e);
    case_release(c);
    return right;
}
