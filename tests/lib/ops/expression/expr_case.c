/* SPDX-License-Identifier: Apache-2.0 */
/* One expression with its bindings on a device: bindings from text, memory
 * with guards, the run, and the comparison of every element of every output,
 * and of every byte that no output covers, with the host. See expr_case.h. */
#include "lib/ops/expression/expr_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "lib/ops/expression/expr_host.h"
#include "support/support.h"

enum { GUARD = 64, MAX_SHIFT = 64 }; /* elements, on either side */

/* -- elements ------------------------------------------------------------- */

double case_load(const void *data, size_t i, xl_dtype dtype)
{
    switch (dtype) {
    case XL_F32: return (double)((const float *)data)[i];
    case XL_F16: return (double)xl__f16_to_f32(((const uint16_t *)data)[i]);
    case XL_BF16: return (double)xl__bf16_to_f32(((const uint16_t *)data)[i]);
    case XL_I32: return (double)((const int32_t *)data)[i];
    case XL_I8: return (double)((const int8_t *)data)[i];
    case XL_U8: return (double)((const uint8_t *)data)[i];
    case XL_U16:
        return (double)((const uint16_t *)data)[i];
    case XL_BOOL: return ((const uint8_t *)data)[i] != 0;
    default: return NAN;
    }
}

static double clamp_to(double x, double low, double high)
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
    case XL_I8:
        ((int8_t *)data)[i] = (int8_t)clamp_to(x, -128, 127);
        break;
    case XL_U8:
        ((uint8_t *)data)[i] = (uint8_t)clamp_to(x, 0, 255);
        break;
    case XL_U16:
        ((uint16_t *)data)[i] = (uint16_t)clamp_to(x, 0, 65535);
        break;
    case XL_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    default: break;
    }
}

static bool is_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

/* A random element. Any byte is a bool; ties are frequent. */
static double random_element(struct xl__rng *rng, xl_dtype dtype,
                             enum case_fill fill)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0};
    const double u = xl__rng_uniform(rng);
    if (dtype == XL_BOOL || dtype == XL_U8)
        return xl__rng_below(rng, 2) ? (double)xl__rng_below(rng, 256) : 0;
    if (dtype == XL_U16)
        return (double)xl__rng_below(rng, 65536);
    if (!is_float(dtype))
        return (double)xl__rng_below(rng, 41) - 20;
    if (fill == FILL_SPECIALS && xl__rng_below(rng, 8) == 0)
        return specials[xl__rng_below(rng, 4)];
    if (fill == FILL_WIDE)
        return (u < 0.5 ? -1 : 1) *
               exp2(40 * xl__rng_uniform(rng) - 20);
    if (xl__rng_below(rng, 8) == 0) /* multiples of 1/2: ties in rounding */
        return (double)xl__rng_below(rng, 9) / 2 - 2;
    return 4 * u - 2;
}

/* -- binding -------------------------------------------------------------- */

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

static unsigned add_name(struct expr_case *c, const char *name)
{
    if (c->n == CASE_NAMES)
        abort(); /* an error in the test itself */
    snprintf(c->name[c->n], CASE_NAME, "%s", name);
    c->binding[c->n].name = c->name[c->n];
    return c->n++;
}

/* Elements from the first to one past the last. */
static size_t view_elems(const xl_tensor *t)
{
    size_t last = 0;
    for (unsigned d = 0; d < t->n_dims; d++)
        last += (t->size[d] - 1) * t->stride[d];
    return last + 1;
}

static xl_tensor tensor_of_view(const struct case_view *view, xl_dtype dtype)
{
    xl_tensor t = xl_tensor_dense(NULL, dtype, view->n_dims, view->size);
    if (view->is_strided)
        memcpy(t.stride, view->stride, sizeof t.stride);
    return t;
}

/* Append a binding's memory to a buffer, after a random gap, so that alignment
 * is lost. */
static void set_position(struct expr_case *c, unsigned i, unsigned buffer)
{
    xl_tensor *t = &c->binding[i].tensor;
    const size_t size = xl_dtype_bytes(t->dtype);
    const size_t shift = xl__rng_below(&c->rng, MAX_SHIFT);
    struct case_buffer *mem = &c->mem[buffer];
    t->offset = xl__ceil_div(mem->bytes, size) + GUARD +
                (xl__rng_below(&c->rng, 2) ? 0 : shift);
    mem->bytes = xl__round_up((t->offset + view_elems(t) + GUARD) * size, 8);
    c->buffer[i] = buffer;
}

unsigned case_tensor(struct expr_case *c, const char *name, xl_dtype dtype,
                     const struct case_view *view)
{
    const unsigned i = add_name(c, name);
    c->binding[i].tensor = tensor_of_view(view, dtype);
    set_position(c, i, c->n_buffers++);
    return i;
}

unsigned case_beside(struct expr_case *c, const char *name, unsigned other,
                     const struct case_view *view)
{
    const unsigned i = add_name(c, name);
    c->binding[i].tensor =
        tensor_of_view(view, c->binding[other].tensor.dtype);
    set_position(c, i, c->buffer[other]);
    return i;
}

unsigned case_alias(struct expr_case *c, const char *name, unsigned other)
{
    const unsigned i = add_name(c, name);
    c->binding[i].tensor = c->binding[other].tensor;
    c->buffer[i] = c->buffer[other];
    return i;
}

unsigned case_scalar(struct expr_case *c, const char *name, xl_dtype dtype,
                     double value)
{
    const unsigned i = add_name(c, name);
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
            const double x = random_element(&c->rng, t->dtype, c->fill[i]);
            if (t->dtype == XL_BOOL)
                to[at] = (unsigned char)x;
            else
                case_store(to, at, t->dtype, x);
        }
    }
    return true;
}

/* -- runs ----------------------------------------------------------------- */

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
    *out = (xl_expr_args){XL_EXPR_ARGS_INIT, .bindings = c->binding,
                          .n_bindings = c->n, .fast_math = c->fast_math,
                          .variant = variant};
}

bool case_right(struct expr_case *c, xl_queue *q, const char *variant)
{
    xl_expr *e = NULL;
    xl_expr_args args;
    bool right = case_upload(c, q);
    case_args(c, variant, &args);
    const xl_status status =
        right ? xl_expr_compile(q, xl__str_text(&c->text), &args, &e) : XL_OK;
    if (c->loses_nan && status == XL_UNTRUSTED) {
        case_release(c); /* the self-check found it */
        return true;
    }
    right = right && case_works(c, q, status, "compile") &&
            case_works(c, q, xl_expr_run(q, e, &args, NULL), "run") &&
            case_compare(c, q);
    if (!right)
        fprintf(stderr, "variant: %s\n", variant ? variant : "selected");
    xl_expr_destroy(e);
    case_release(c);
    return right;
}

static xl_dtype dtype_named(const char *name, size_t len)
{
    for (int d = 0; d < XL_N_DTYPES; d++) {
        const char *known = xl_dtype_name((xl_dtype)d);
        if (strlen(known) == len && memcmp(known, name, len) == 0)
            return (xl_dtype)d;
    }
    fail_msg("no dtype: %s", name);
    return XL_F32;
}

static unsigned read_numbers(const char *text, size_t *out)
{
    unsigned n = 0;
    char *end;
    while (n < XL_MAX_DIMS && *text >= '0' && *text <= '9') {
        out[n++] = (size_t)strtoull(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

static unsigned binding_named(const struct expr_case *c, const char *name)
{
    for (unsigned i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0)
            return i;
    fail_msg("no name: %s", name);
    return 0;
}

static void bind_spec(struct expr_case *c, const char *spec)
{
    char name[CASE_NAME], what[8], sizes[64] = "";
    struct case_view view = {.n_dims = 0};
    const int n = sscanf(spec, "%7s %7s %63s", name, what, sizes);
    assert_in_range(n, 2, 3);
    if (what[0] == '@') {
        (void)case_alias(c, name, binding_named(c, what + 1));
        return;
    }
    if (what[0] == '=') {
        const bool is_int = sizes[strlen(sizes) - 1] == 'i';
        (void)case_scalar(c, name, is_int ? XL_I32 : XL_F32, atof(sizes));
        return;
    }
    const size_t len = strcspn(what, "!~");
    const char *strides = strchr(sizes, '/');
    view.n_dims = read_numbers(sizes, view.size);
    view.is_strided = strides != NULL;
    if (strides)
        assert_int_equal(read_numbers(strides + 1, view.stride), view.n_dims);
    const unsigned i = case_tensor(c, name, dtype_named(what, len), &view);
    c->fill[i] = what[len] == '!'   ? FILL_SPECIALS
                 : what[len] == '~' ? FILL_WIDE
                                    : FILL_PLAIN;
}

void case_bind(struct expr_case *c, const char *bind)
{
    char copy[512];
    assert_true(strlen(bind) < sizeof copy);
    strcpy(copy, bind);
    for (char *spec = copy; spec;) {
        char *end = strchr(spec, ';');
        if (end)
            *end++ = '\0';
        bind_spec(c, spec);
        spec = end;
    }
    assert_true(case_fill(c));
}

/* Is the stored value within the interval x +- err? Rounding is monotonic, so
 * it must be between the two ends of the interval after rounding to the dtype.
 */
static bool is_within(double got, struct xl__interval expected, xl_dtype dtype)
{
    union { float f; int32_t i; unsigned char b; uint16_t h; } end;
    const double flushed = is_float(dtype) ? 0x1p-126 : 0;
    const double err = expected.err > 0 || fabs(expected.x) < flushed
                           ? expected.err + flushed
                           : 0;
    if (isnan(expected.x))
        return isnan(got);
    case_store(&end, 0, dtype, expected.x - err);
    if (!(got >= case_load(&end, 0, dtype)))
        return false;
    case_store(&end, 0, dtype, expected.x + err);
    return got <= case_load(&end, 0, dtype);
}

struct comparison {
    struct expr_case *c;
    const struct host_graph *h;
    unsigned short *by[CASE_NAMES]; /* per byte: the output that wrote it
                                       last, from 1 */
};

static bool compare_element(struct comparison *cmp, unsigned o, size_t e)
{
    struct expr_case *c = cmp->c;
    const struct xl__output *out = &cmp->h->graph.output[o];
    const struct xl__node *node = &cmp->h->graph.node[out->node];
    const xl_tensor *t = &c->binding[out->binding].tensor;
    const unsigned buffer = c->buffer[out->binding];
    const size_t at = t->offset + out->offset +
                      host_place(&out->shape, e, out->shape.n_dims,
                                 out->shape.size, out->stride);
    size_t dense[XL_MAX_DIMS], step = 1;
    if (cmp->by[buffer][at * xl_dtype_bytes(t->dtype)] != o + 1)
        return true;
    for (unsigned d = node->shape.n_dims; d-- > 0;) {
        dense[d] = step;
        step *= node->shape.size[d];
    }
    const struct xl__interval expected = cmp->h->node[out->node][host_place(
        &out->shape, e, node->shape.n_dims, node->shape.size, dense)];
    const double got = case_load(c->mem[buffer].after, at, t->dtype);
    c->n_elems++;
    if (!(expected.err < INFINITY) || (c->loses_nan && isnan(expected.x)))
        return true;
    c->n_tight += !(expected.err > 1e-3 + 1e-3 * fabs(expected.x));
    if (is_within(got, expected, t->dtype))
        return true;
    fprintf(
        stderr,
        "seed %llu: %s, element %zu: %.9g, expected %.9g +- %.3g as %s\n%s\n",
        (unsigned long long)c->seed, c->name[out->binding], e, got, expected.x,
        expected.err, xl_dtype_name(t->dtype), xl__str_text(&c->text));
    return false;
}

static void mark_written(struct comparison *cmp, unsigned o)
{
    const struct expr_case *c = cmp->c;
    const struct xl__output *out = &cmp->h->graph.output[o];
    const xl_tensor *t = &c->binding[out->binding].tensor;
    const size_t size = xl_dtype_bytes(t->dtype);
    const size_t n = xl__shape_elems(&out->shape);
    for (size_t e = 0; e < n; e++) {
        const size_t at = t->offset + out->offset +
                          host_place(&out->shape, e, out->shape.n_dims,
                                     out->shape.size, out->stride);
        for (size_t byte = at * size; byte < (at + 1) * size; byte++)
            cmp->by[c->buffer[out->binding]][byte] = (unsigned short)(o + 1);
    }
}

/* Stored bools must be 0 or 1 as bytes. */
static bool check_bools(const struct comparison *cmp)
{
    for (unsigned o = 0; o < cmp->h->graph.n_outputs; o++) {
        const struct xl__output *out = &cmp->h->graph.output[o];
        const unsigned b = cmp->c->buffer[out->binding];
        if (cmp->c->binding[out->binding].tensor.dtype != XL_BOOL)
            continue;
        for (size_t i = 0; i < cmp->c->mem[b].bytes; i++)
            if (cmp->by[b][i] == o + 1 && cmp->c->mem[b].after[i] > 1) {
                fprintf(stderr, "a bool is %u\n", cmp->c->mem[b].after[i]);
                return false;
            }
    }
    return true;
}

static bool check_guards(const struct comparison *cmp)
{
    const struct expr_case *c = cmp->c;
    for (unsigned b = 0; b < c->n_buffers; b++)
        for (size_t i = 0; i < c->mem[b].bytes; i++)
            if (!cmp->by[b][i] && c->mem[b].before[i] != c->mem[b].after[i]) {
                fprintf(stderr,
                        "seed %llu: buffer %u: byte %zu of %zu, which no "
                        "output covers, was written\n%s\n",
                        (unsigned long long)c->seed, b, i, c->mem[b].bytes,
                        xl__str_text(&c->text));
                return false;
            }
    return true;
}

static bool read_buffers(struct expr_case *c, xl_queue *q)
{
    bool right = case_works(c, q, xl_queue_finish(q), "finish");
    for (unsigned b = 0; right && b < c->n_buffers; b++)
        right = case_works(c, q,
                      xl_buffer_read(q, c->mem[b].mem, 0, c->mem[b].after,
                                     c->mem[b].bytes),
                      "read");
    return right;
}

bool case_compare(struct expr_case *c, xl_queue *q)
{
    struct host_graph h = {.node = NULL};
    struct comparison cmp = {.c = c, .h = &h};
    bool right = read_buffers(c, q) && host_evaluate(c, &h);
    c->n_elems = c->n_tight = 0;
    for (unsigned b = 0; right && b < c->n_buffers; b++) {
        cmp.by[b] = xl__calloc(c->mem[b].bytes, sizeof *cmp.by[b]);
        right = cmp.by[b] != NULL;
    }
    for (unsigned o = 0; right && o < h.graph.n_outputs; o++)
        mark_written(&cmp, o);
    for (unsigned o = 0; right && o < h.graph.n_outputs; o++)
        for (size_t e = 0;
             right && e < xl__shape_elems(&h.graph.output[o].shape); e++)
            right = compare_element(&cmp, o, e);
    right = right && check_bools(&cmp) && check_guards(&cmp);
    for (unsigned b = 0; b < c->n_buffers; b++)
        free(cmp.by[b]);
    host_clear(&h);
    return right;
}
