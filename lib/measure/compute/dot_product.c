/* SPDX-License-Identifier: Apache-2.0 */
/* Dot products of four bytes, by every route that there may be: plain
 * arithmetic, the shim's emulation, the extension in each signedness, and the
 * instruction that the fact `dot` names. All must be right to the bit. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS = 4, /* of a turn, as in probe/dot_product.cl */
    CHAINS = 8,
    OPERATIONS = 8, /* of a dot product */
    WG = 256,
    GROUPS_A_UNIT = 8,
    LOOKS = 16 /* items that are compared */
};

static const char extension[] = "cl_khr_integer_dot_product";

/* FORM of probe/dot_product.cl. */
enum form { SHIM, PLAIN, UNSIGNED, MIXED, SATURATED };

static const struct route {
    const char *name;
    enum form form;
    const char *way; /* of the shim; NULL: the fact's */
    bool is_khr;
} routes[] = {
    {"plain", PLAIN, "", false},    {"emulated", SHIM, "emulated", false},
    {"khr", SHIM, "khr", true},     {"khr_unsigned", UNSIGNED, "", true},
    {"khr_mixed", MIXED, "", true}, {"khr_saturated", SATURATED, "", true},
    {"own", SHIM, NULL, false},
};
enum { N_ROUTES = sizeof routes / sizeof *routes };

struct burst {
    const struct route *route;
    const char *way;
    double fma; /* a second */
    size_t wg, items;
    cl_mem out;
};

/* -- on the host ---------------------------------------------------------- */

cl_uint xl__dot4(cl_uint x, cl_uint y, cl_uint c, bool x_signed,
                 bool y_signed, bool saturated)
{
    int64_t sum = (int32_t)c;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        const int a = (int)(x >> shift & 0xff), b = (int)(y >> shift & 0xff);
        sum += (x_signed && a > INT8_MAX ? a - 256 : a) *
               (y_signed && b > INT8_MAX ? b - 256 : b);
    }
    if (saturated && sum > INT32_MAX)
        sum = INT32_MAX;
    if (saturated && sum < INT32_MIN)
        sum = INT32_MIN;
    return (cl_uint)sum;
}

/* As in the kernel. */
static cl_uint walk(enum form form, cl_uint item, size_t steps)
{
    const bool x_signed = form != UNSIGNED;
    const bool y_signed = x_signed && form != MIXED;
    cl_uint all = 0;
    for (cl_uint k = 0; k < CHAINS; k++) {
        const cl_uint number = 2 * (item * CHAINS + k);
        const cl_uint y = xl__probe_word(0, number + 1);
        cl_uint c = xl__probe_word(0, number);
        if (form == SATURATED && item % 4 == 0)
            c = c >> 17 | 0x7fff8000u;
        cl_uint x = c;
        for (size_t i = 0; i < steps; i++)
            x = xl__dot4(x, y, c, x_signed, y_signed, form == SATURATED);
        all ^= x;
    }
    return all;
}

static xl_status look(struct xl__probing *p, struct xl__turned *t, xl_row *row)
{
    xl_status status = XL_OK;
    const struct burst *b = t->arg;
    cl_uint seen[LOOKS];
    bool right = true;
    /* Both in operations; a multiply-add is two. */
    xl_row_found(row, "fma", xl__probe_peak(row) / (2 * b->fma));
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    for (cl_uint i = 0; i < LOOKS; i++)
        right = right &&
                seen[i] == walk(b->route->form, i, STEPS * t->turns);
    if (!right)
        xl__probe_reject(row, "a sum is not the host's");
fail:
    return status;
}

/* -- a route -------------------------------------------------------------- */

static void make_plan(const struct burst *b, struct xl__turned *t)
{
    struct xl__step *s = &t->plan.step[0];
    t->plan.n_steps = 1;
    s->source = "probe/dot_product.cl";
    s->kernel = "dots";
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = b->wg;
    s->global[0] = b->items;
    if (b->route->is_khr)
        xl__strcpy(s->options, sizeof s->options, "-cl-std=CL3.0");
    xl__define(s, "FORM", b->route->form);
    if (*b->way)
        xl__define_choice(s, "XL_DOT", b->way);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, 0);
    t->call.mem[1].buf = b->out;
    t->amount = (double)OPERATIONS * STEPS * CHAINS * (double)b->items;
}

/* Why a route is not tried here; NULL: it is. */
static const char *missing(const struct xl__limits *l, const struct route *r)
{
    if (r->is_khr && !xl__has_extension(l, extension))
        return "cl_khr_integer_dot_product is not listed";
    if (!r->way && !*xl__text(l, XL__F_dot))
        return "no instruction of the device's own is known";
    return NULL;
}

static xl_status one(struct xl__probing *p, struct burst *b)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const char *why = missing(l, b->route);
    struct xl__turned t = {.look = look, .arg = b};
    xl_row row;
    TRY(xl__probe_alive(p));
    b->way = b->route->way ? b->route->way : xl__text(l, XL__F_dot);
    xl_row_init(&row, "probe_dot",
                b->route->way || why ? b->route->name : b->way);
    row.unit = "op/s";
    if (why) {
        xl__probe_unsupported(p, &row, why);
        return XL_OK;
    }
    make_plan(b, &t);
    status = xl__turned_row(p, &t, &row);
    if (status == XL_BUILD_FAILED && (b->route->is_khr || !b->route->way)) {
        xl__probe_unsupported(p, &row, "the compiler does not take it");
        return XL_OK;
    }
    TRY(status);
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* One row says that the extension is not there; and where the fact is its way,
 * its row has said all. */
static bool is_wanted(const struct xl__limits *l, const struct route *r)
{
    if (r->is_khr)
        return r->form == SHIM || xl__has_extension(l, extension);
    return r->way || !xl__streq(xl__text(l, XL__F_dot), "khr");
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const bool scalar = xl__probe_is_scalar(l);
    struct burst b = {.wg = scalar ? 1 : xl__min_size(WG, p->most_wg)};
    b.items = b.wg * units * (scalar ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    TRY(xl__fma_rate(p, &b.fma));
    TRY(xl_buffer_create(p->q, b.items * sizeof(cl_uint), &b.out));
    for (unsigned i = 0; i < N_ROUTES; i++) {
        b.route = &routes[i];
        if (is_wanted(l, b.route))
            TRY(one(p, &b));
    }
fail:
    if (b.out)
        clReleaseMemObject(b.out);
    return status;
}

const struct xl__probe xl__probe_dot = {
    {"dot",
     "Operations a second (8 a product) of dot products of four bytes: plain "
     "char4 arithmetic, shifts and multiplications, "
     "cl_khr_integer_dot_product signed, unsigned, mixed and saturated, and "
     "the device's own instruction where a way to it is known; beside them "
     "their share of the f32 multiply-adds' (fma). Sums must be exact. A "
     "compiler may make one instruction of the plain form; the extension may "
     "be listed without one.",
     false},
    run};
