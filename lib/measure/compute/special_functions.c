/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `special`: the rate and the error of special functions, native and in
 * full precision, and of integer operations other than addition. Each row has
 * the share of the f32 multiply-add rate and the largest error seen. Full
 * precision must meet the limits of the OpenCL specification, integers must be
 * exact. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "measure/probe.h"

enum {
    STEPS = 4, /* per iteration, as in probe/special_functions.cl */
    CHAINS = 4,
    WG = 256,
    GROUPS_A_UNIT = 8,
    N_CHECKED = 4, /* items of the timed launch that are compared */
    VALUES = 4096, /* values that the error is measured with */
    SETTLED = 16   /* steps on the host until a contraction has converged */
};

/* -- the functions -------------------------------------------------------- */

enum function_form { /* as in probe/special_functions.cl */
                     F_X,
                     F_XY,
                     F_YX,
                     ONE_OVER,
                     Y_OVER_X,
                     Y_MOD_X,
                     TIMES,
                     LEFT,
                     RIGHT,
                     F_24
};

static double recip(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double divide(double x, double y)
{
    return y / x;
}
static cl_uint w_high(cl_uint x, cl_uint y)
{
    return (cl_uint)((uint64_t)x * y >> 32);
}
static cl_uint w_low24(cl_uint x, cl_uint y)
{
    return (x & 0xffffff) * (y & 0xffffff);
}
static cl_uint w_times(cl_uint x, cl_uint y) { return x * y; }
static cl_uint w_over(cl_uint x, cl_uint y) { return y / (x | 1); }
static cl_uint w_mod(cl_uint x, cl_uint y) { return y % (x | 1); }
static cl_uint w_left(cl_uint x, cl_uint y) { return x << (y & 31); }
static cl_uint w_right(cl_uint x, cl_uint y) { return x >> (y & 31); }
static cl_uint w_ones(cl_uint x, cl_uint y)
{
    (void)y;
    for (y = 0; x; x &= x - 1)
        y++;
    return y;
}

/* OpenCL C 1.2, 7.4: limit in ulps of full precision; 0: native, whose error
 * is implementation-defined. */
static const struct special_function {
    const char *name, *built_in;
    enum function_form form;
    float lo, hi;     /* of x */
    float y_lo, y_hi; /* of y */
    double ulps;
    bool quick;
    double (*of)(double x);
    double (*of_two)(double x, double y);
    cl_uint (*whole)(cl_uint x, cl_uint y); /* of integers; NULL: floats */
} functions[] = {
    /* clang-format off */
    {"native_sin",   "native_sin",   F_X,  -3, 3,    0, 0,  0, false,  sin,  NULL, NULL},
    {"native_cos",   "native_cos",   F_X,  -3, 3,    0, 0,  0, false, cos,  NULL, NULL},
    {"native_exp",   "native_exp",   F_X,  -4, 4,    0, 0,  0, false, exp,  NULL, NULL},
    {"native_exp2",  "native_exp2",  F_X,  -4, 4,    0, 0,  0, true,  exp2, NULL, NULL},
    {"native_log",   "native_log",   F_X,  2, 100,   0, 0,  0, false, log,  NULL, NULL},
    {"native_log2",  "native_log2",  F_X,  2, 100,   0, 0,  0, false, log2, NULL, NULL},
    {"native_sqrt",  "native_sqrt",  F_X,  0.5f, 100, 0, 0, 0, false, sqrt, NULL, NULL},
    {"native_rsqrt", "native_rsqrt", F_X,  0.5f, 100, 0, 0, 0, false,  rsqrt, NULL, NULL},
    {"native_recip", "native_recip", F_X,  0.5f, 100, 0, 0, 0, false, recip, NULL, NULL},
    {"native_div",   "native_divide", F_YX, 0.5f, 100, 1, 10, 0, false, NULL, divide, NULL},
    {"native_pow",   "native_powr",  F_XY, 0.5f, 2,  -3, 3, 0, false, NULL, pow,  NULL},
    {"sin",          "sin",          F_X,  -3, 3,    0, 0,  4, false, sin,  NULL, NULL},
    {"cos",          "cos",          F_X,  -3, 3,    0, 0,  4, false, cos,  NULL, NULL},
    {"exp",          "exp",          F_X,  -4, 4,    0, 0,  3, true,  exp,  NULL, NULL},
    {"exp2",         "exp2",         F_X,  -4, 4,    0, 0,  3, false, exp2, NULL, NULL},
    {"log",          "log",          F_X,  2, 100,   0, 0,  3, false, log,  NULL, NULL},
    {"log2",         "log2",         F_X,  2, 100,   0, 0,  3, false, log2, NULL, NULL},
    {"sqrt",         "sqrt",         F_X,  0.5f, 100, 0, 0, 3, false, sqrt, NULL, NULL},
    {"rsqrt",        "rsqrt",        F_X,  0.5f, 100, 0, 0, 2, false, rsqrt, NULL, NULL},
    {"recip",        NULL,       ONE_OVER, 0.5f, 100, 0, 0, 2.5, false, recip, NULL, NULL},
    {"div",          NULL,       Y_OVER_X, 0.5f, 100, 1, 10, 2.5, false, NULL, divide, NULL},
    {"tanh",         "tanh",         F_X,  -3, 3,    0, 0,  5, false, tanh, NULL, NULL},
    {"erf",          "erf",          F_X,  -3, 3,    0, 0,  16, false, erf, NULL, NULL},
    {"pow",          "pow",          F_XY, 0.5f, 2,  -3, 3, 16, false, NULL, pow, NULL},
    {"int_mul",      NULL,           TIMES, 0, 0,    0, 0,  0, false, NULL, NULL, w_times},
    {"int_mul24",    "mul24",        F_24, 0, 0,     0, 0,  0, false, NULL, NULL, w_low24},
    {"int_mul_hi",   "mul_hi",       F_XY, 0, 0,     0, 0,  0, false, NULL, NULL, w_high},
    {"int_div",      NULL,       Y_OVER_X, 0, 0,     0, 0,  0, true,  NULL, NULL, w_over},
    {"int_mod",      NULL,        Y_MOD_X, 0, 0,     0, 0,  0, false, NULL, NULL, w_mod},
    {"int_popcount", "popcount",     F_X,  0, 0,     0, 0,  0, false, NULL, NULL, w_ones},
    {"int_left",     NULL,           LEFT, 0, 0,     0, 0,  0, false, NULL, NULL, w_left},
    {"int_right",    NULL,          RIGHT, 0, 0,     0, 0,  0, false, NULL, NULL, w_right},
    /* clang-format on */
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* The error that rejects a native function, relative to the larger of its
 * value and 1: only another function is so far off. */
static const double native_off = 1.0 / 256;

static double exact_value(const struct special_function *f, double x, double y)
{
    return f->of ? f->of(x) : f->of_two(x, y);
}

double xl__ulps(float got, double expected)
{
    enum { DIGITS = 24, LEAST = -125 };
    int exponent;
    if (isnan(expected) || isinf(expected) || isnan(got) || isinf(got))
        return (isnan(got) && isnan(expected)) || (double)got == expected
                   ? 0
                   : INFINITY;
    (void)frexp(expected, &exponent);
    exponent = expected == 0 || exponent < LEAST ? LEAST : exponent;
    return fabs((double)got - expected) / ldexp(1, exponent - DIGITS);
}

/* -- one function --------------------------------------------------------- */

struct function_run {
    double fma; /* multiply-adds per second: the unit of rates */
    size_t wg, items;
    unsigned vec;
    cl_mem out, x, y;
    cl_uint host_x[VALUES], host_y[VALUES];
    const struct special_function *f;
};

static struct xl__step *plan_kernel(const struct function_run *b,
                                    struct xl__plan *plan, const char *kernel,
                                    size_t items, size_t wg)
{
    struct xl__step *s = xl__probe_step(plan, "probe/special_functions.cl",
                                        kernel, items, wg, true);
    if (b->f->built_in)
        xl__strfmt(s->options, sizeof s->options, "-DFN=%s", b->f->built_in);
    xl__define(s, "FORM", b->f->form);
    xl__define(s, "WHOLE", b->f->whole != NULL);
    xl__define(s, "VEC", (long)b->vec);
    return s;
}

static void plan_rate(const struct function_run *b, struct xl__iterated *t)
{
    const struct special_function *f = b->f;
    struct xl__step *s = plan_kernel(b, &t->plan, "rate", b->items, b->wg);
    xl__arg_mem(s, 1);
    xl__arg_f32(s, (double)f->lo);
    xl__arg_f32(s, (double)(f->hi - f->lo));
    xl__arg_f32(s, (double)f->y_lo);
    xl__arg_f32(s, (double)(f->y_hi - f->y_lo));
    xl__arg_u32(s, 0);
    t->call.mem[1].buf = b->out;
    t->amount = STEPS * CHAINS * (double)(b->vec * b->items);
}

/* The same as spread() of the kernel. */
static double scale_word(cl_uint word, float lo, float hi)
{
    return (double)lo + (word >> 8) * ((double)(hi - lo) / 16777216.0);
}

static double expected_limit(const struct special_function *f, cl_uint word)
{
    const double c = scale_word(xl__probe_word(0, word), f->lo, f->hi);
    const double y = scale_word(xl__probe_word(0, word + 1), f->y_lo, f->y_hi);
    double x = c;
    for (unsigned i = 0; i < SETTLED; i++)
        x = exact_value(f, x, y) / 1024 + c;
    return x;
}

static cl_uint expected_bits(const struct special_function *f, cl_uint word,
                             size_t steps)
{
    const cl_uint c = xl__probe_word(0, word), y = xl__probe_word(0, word + 1);
    cl_uint x = c;
    for (size_t i = 0; i < steps; i++)
        x = f->whole(x, y) ^ c;
    return x;
}

/* Compares where the first items' chains end with the host's. */
static xl_status check_chains(struct xl__session *p,
                              const struct xl__iterated *t, xl_row *row)
{
    static const double tolerance = 1e-5; /* for rounding and native errors */
    xl_status status = XL_OK;
    const struct function_run *b = t->arg;
    const unsigned n = CHAINS * b->vec;
    bool right = true;
    union {
        cl_uint bits;
        float value;
    } seen[N_CHECKED];
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    for (unsigned i = 0; i < N_CHECKED; i++) {
        cl_uint bits = 0;
        double mean = 0, amount = 1;
        for (unsigned k = 0; k < n; k++) {
            const cl_uint word = 2 * (i * n + k);
            if (b->f->whole)
                bits ^= expected_bits(b->f, word, STEPS * t->iterations);
            else
                mean += expected_limit(b->f, word) / n;
        }
        amount += fabs(mean);
        right = right && (b->f->whole ? seen[i].bits == bits
                                      : fabs((double)seen[i].value - mean) <=
                                            tolerance * amount);
    }
    if (!right)
        xl__probe_reject(row, "wrong result: a chain does not end where the "
                              "host's does, or steps were skipped");
fail:
    return status;
}

/* -- the error ------------------------------------------------------------ */

static xl_status fill_arguments(struct xl__session *p, struct function_run *b)
{
    xl_status status = XL_OK;
    const struct special_function *f = b->f;
    for (unsigned i = 0; i < VALUES; i++) {
        union {
            cl_uint bits;
            float value;
        } x = {xl__probe_word(p->how->seed, 2 * i)},
          y = {xl__probe_word(p->how->seed, 2 * i + 1)};
        if (!f->whole) {
            x.value = (float)scale_word(x.bits, f->lo, f->hi);
            y.value = (float)scale_word(y.bits, f->y_lo, f->y_hi);
        }
        b->host_x[i] = x.bits;
        b->host_y[i] = y.bits;
    }
    TRY(xl_buffer_write(p->q, b->x, 0, b->host_x, sizeof b->host_x));
    TRY(xl_buffer_write(p->q, b->y, 0, b->host_y, sizeof b->host_y));
fail:
    return status;
}

static float as_float(cl_uint bits)
{
    const union {
        cl_uint bits;
        float value;
    } x = {bits};
    return x.value;
}

/* The largest errors over all values: in ulps, and relative to max(|value|,
 * 1). */
static void find_max_errors(const struct function_run *b, const cl_uint *seen,
                            double *ulps, double *off)
{
    *ulps = *off = 0;
    for (unsigned i = 0; i < VALUES; i++) {
        const double x = (double)as_float(b->host_x[i]);
        const double y = (double)as_float(b->host_y[i]);
        const double expected = exact_value(b->f, x, y);
        const float got = as_float(seen[i]);
        *ulps = fmax(*ulps, xl__ulps(got, expected));
        const double error = fabs((double)got - expected);
        *off = fmax(*off,
                    isnan(error) ? INFINITY : error / fmax(fabs(expected), 1));
    }
}

static void check_floats(const struct function_run *b, const cl_uint *seen,
                         xl_row *row)
{
    double ulps, off;
    find_max_errors(b, seen, &ulps, &off);
    xl_row_found(row, "ulps", ulps);
    if (off > native_off)
        xl__probe_reject(row, "wrong result: a value differs from the host's");
    else if (b->f->ulps > 0 && ulps > b->f->ulps &&
             row->verdict < XL_ROW_SUSPICIOUS)
        xl__row_mark(row, XL_ROW_SUSPICIOUS,
                     "%.3g ulps off, OpenCL allows %g: not full precision",
                     ulps, b->f->ulps);
}

static xl_status check_values(struct xl__session *p, struct function_run *b,
                              xl_row *row)
{
    xl_status status = XL_OK;
    cl_uint seen[VALUES];
    struct xl__plan plan;
    const struct xl__call call = {
        .mem = {
            [1] = {.buf = b->x}, [2] = {.buf = b->y}, [3] = {.buf = b->out}}};
    TRY(fill_arguments(p, b));
    struct xl__step *s =
        plan_kernel(b, &plan, "values", VALUES / b->vec,
                    b->wg > 1 ? xl__min_size(b->wg, VALUES) : 1);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(s, slot);
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    if (!b->f->whole) {
        check_floats(b, seen, row);
        return XL_OK;
    }
    for (unsigned i = 0; i < VALUES; i++) {
        if (seen[i] != b->f->whole(b->host_x[i], b->host_y[i])) {
            xl__probe_reject(row, "wrong result: a value differs from the "
                                  "host's");
            break;
        }
    }
fail:
    return status;
}

static xl_status check_function(struct xl__session *p, struct xl__iterated *t,
                                xl_row *row)
{
    xl_status status = XL_OK;
    struct function_run *b = t->arg;
    xl_row_found(row, "fma", xl__probe_peak(row) / b->fma);
    TRY(check_chains(p, t, row));
    TRY(check_values(p, b, row));
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status run_function(struct xl__session *p, struct function_run *b)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    struct xl__iterated t = {.check = check_function, .arg = b};
    /* native_exp2 sets the fact for all special functions. Where roots and
     * reciprocals are instructions and the others are series, their rate would
     * not be representative. */
    const bool is_rate = b->f->of == exp2 && b->f->ulps == 0;
    xl_row row = xl__probe_row("probe_special", b->f->name, "op/s");
    plan_rate(b, &t);
    TRY(xl__iterated_measure(p, &t, &row));
    xl__probe_emit(p, &row);
    if (is_rate && row.verdict < XL_ROW_REJECTED)
        xl__probe_raise_fact(l, XL__F_special_per_s, xl__probe_peak(&row));
fail:
    return status;
}

/* Where items are threads, compilers have vector versions of the functions. */
static void choose_layout(const struct xl__session *p, struct function_run *b)
{
    enum { LEAST_VEC = 4, MOST_VEC = 16 };
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const bool scalar = xl__probe_is_scalar(l);
    b->wg = scalar ? 1 : xl__min_size(WG, p->most_wg);
    b->items = b->wg * units * (scalar ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    b->items = xl__max_size(b->items, VALUES); /* `out` serves both launches */
    b->items = xl__round_up(b->items, b->wg);
    b->vec = 1;
    if (scalar)
        for (b->vec = LEAST_VEC;
             b->vec < MOST_VEC &&
             2 * b->vec <= xl__num_or(l, XL__F_native_vector_f32, 1);)
            b->vec *= 2;
}

static xl_status run_special_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct function_run *b = xl__calloc(1, sizeof *b);
    TRY(xl__check_alloc(&p->q->error, b, "values"));
    choose_layout(p, b);
    TRY(xl__fma_rate(p, &b->fma));
    TRY(xl_buffer_create(p->q, b->items * sizeof(cl_uint), &b->out));
    TRY(xl_buffer_create(p->q, sizeof b->host_x, &b->x));
    TRY(xl_buffer_create(p->q, sizeof b->host_y, &b->y));
    for (unsigned i = 0; i < N_FUNCTIONS; i++) {
        b->f = &functions[i];
        if (b->f->quick || !p->how->quick)
            TRY(run_function(p, b));
    }
fail:
    if (b) {
        const cl_mem all[] = {b->out, b->x, b->y};
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            xl__buffer_release(all[i]);
    }
    free(b);
    return status;
}

const struct xl__probe xl__probe_special = {
    {"special",
     "Special functions per second, native and of full precision, and integer "
     "multiplications, divisions, shifts and bit counts; with their share of "
     "the rate of f32 multiply-adds (fma) and the largest error seen, which "
     "for full precision must be within the limits of OpenCL; integers must "
     "be exact. Each comes with one multiply-add or exclusive-or, so "
     "operations as cheap as those appear half as fast. Arguments are in a "
     "function's ordinary range: its far ends are slower.",
     false},
    run_special_probe};
