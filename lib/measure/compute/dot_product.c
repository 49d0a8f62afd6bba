/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `dot`: the rate of dot products of four bytes by each implementation:
 * plain arithmetic, the emulation of common/dot.clh,
 * cl_khr_integer_dot_product in each signedness, and the instruction that the
 * fact `dot` names. Results must be exact. */

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS = 4, /* per iteration, as in probe/dot_product.cl */
    CHAINS = 8,
    OPERATIONS = 8, /* counted per dot product */
    WG = 256,
    GROUPS_A_UNIT = 8,
    N_CHECKED = 16 /* items that are compared */
};

static const char extension[] = "cl_khr_integer_dot_product";

/* FORM of probe/dot_product.cl. */
enum dot_form { SHIM, PLAIN, UNSIGNED, MIXED, SATURATED };

static const struct route {
    const char *name;
    enum dot_form form;
    const char *way; /* for common/dot.clh; NULL: the fact's */
    bool is_khr;
} routes[] = {
    {"plain", PLAIN, "", false},    {"emulated", SHIM, "emulated", false},
    {"khr", SHIM, "khr", true},     {"khr_unsigned", UNSIGNED, "", true},
    {"khr_mixed", MIXED, "", true}, {"khr_saturated", SATURATED, "", true},
    {"own", SHIM, NULL, false},
};
enum { N_ROUTES = sizeof routes / sizeof *routes };

struct dot_launch {
    const struct route *route;
    const char *way;
    double fma; /* FMAs per second */
    size_t wg, items;
    cl_mem out;
};

/* -- expected results ----------------------------------------------------- */

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

/* The same computation as in the kernel. */
static cl_uint expected_chain(enum dot_form form, cl_uint item, size_t steps)
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

static xl_status check_sums(struct xl__session *p, struct xl__iterated *t,
                            xl_row *row)
{
    xl_status status = XL_OK;
    const struct dot_launch *b = t->arg;
    cl_uint seen[N_CHECKED];
    bool right = true;
    /* Both are counted in operations; a multiply-add is two. */
    xl_row_found(row, "fma", xl__probe_peak(row) / (2 * b->fma));
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    for (cl_uint i = 0; i < N_CHECKED; i++)
        right = right && seen[i] == expected_chain(b->route->form, i,
                                                   STEPS * t->iterations);
    if (!right)
        xl__probe_reject(row, "wrong result: a sum differs from the host's");
fail:
    return status;
}

/* -- a route -------------------------------------------------------------- */

static void plan_dots(const struct dot_launch *b, struct xl__iterated *t)
{
    struct xl__step *s = xl__probe_step(&t->plan, "probe/dot_product.cl",
                                        "dots", b->items, b->wg, true);
    if (b->route->is_khr && !*b->way)
        xl__step_add_option(s, "-cl-std=CL3.0");
    xl__define(s, "FORM", b->route->form);
    xl__define_dot(s, b->way);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, 0);
    t->call.mem[1].buf = b->out;
    t->amount = (double)OPERATIONS * STEPS * CHAINS * (double)b->items;
}

/* The reason why a route cannot run here; NULL if it can. */
static const char *find_missing(const struct xl__limits *l,
                                const struct route *r)
{
    if (r->is_khr && !xl__has_extension(l, extension))
        return "cl_khr_integer_dot_product is not listed";
    if (!r->way && !*xl__text(l, XL__F_dot))
        return "no instruction of the device is known";
    return NULL;
}

static xl_status run_route(struct xl__session *p, struct dot_launch *b)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const char *why = find_missing(l, b->route);
    struct xl__iterated t = {.check = check_sums, .arg = b};
    b->way = b->route->way ? b->route->way : xl__text(l, XL__F_dot);
    xl_row row = xl__probe_row(
        "probe_dot", b->route->way || why ? b->route->name : b->way, "op/s");
    if (why)
        return xl__probe_unsupported(p, &row, "%s", why);
    plan_dots(b, &t);
    status = xl__iterated_measure(p, &t, &row);
    if (status == XL_BUILD_FAILED && (b->route->is_khr || !b->route->way))
        return xl__probe_unsupported(p, &row, "the compiler rejects it");
    TRY(status);
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* A missing extension is reported by one row; and if the fact is the
 * extension, its own row is enough. */
static bool is_needed(const struct xl__limits *l, const struct route *r)
{
    if (r->is_khr)
        return r->form == SHIM || xl__has_extension(l, extension);
    return r->way || !xl__streq(xl__text(l, XL__F_dot), "khr");
}

static xl_status run_dot_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const bool scalar = xl__probe_is_scalar(l);
    struct dot_launch b = {.wg = scalar ? 1 : xl__min_size(WG, p->most_wg)};
    b.items = b.wg * units * (scalar ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    TRY(xl__fma_rate(p, &b.fma));
    TRY(xl_buffer_create(p->q, b.items * sizeof(cl_uint), &b.out));
    for (unsigned i = 0; i < N_ROUTES; i++) {
        b.route = &routes[i];
        if (is_needed(l, b.route))
            TRY(run_route(p, &b));
    }
fail:
    xl__buffer_release(b.out);
    return status;
}

const struct xl__probe xl__probe_dot = {
    {"dot",
     "Operations per second (8 per product) of dot products of four bytes: "
     "plain char4 arithmetic, shifts and multiplications, "
     "cl_khr_integer_dot_product signed, unsigned, mixed and saturated, and "
     "the device's own instruction where one is known; with their share of "
     "the rate of f32 multiply-adds (fma). Sums must be exact. A compiler may "
     "use one instruction for the plain form; the extension may be listed "
     "without one.",
     false},
    run_dot_probe};
