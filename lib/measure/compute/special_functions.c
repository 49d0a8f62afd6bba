/* SPDX-License-Identifier: Apache-2.0 */
/* How many special functions a second: native and full precision, and integer
 * operations that are more than an addition. Beside each rate, its share of
 * the f32 multiply-adds' and the worst error that was seen. Full precision is
 * held to OpenCL's limits, integers to the bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS = 4, /* of a turn, as in probe/special_functions.cl */
    CHAINS = 4,
    WG = 256,
    GROUPS_A_UNIT = 8,
    LOOKS = 4,     /* items of the rate's launch that are compared */
    VALUES = 4096, /* of which the error is taken */
    SETTLED = 16   /* steps on the host until a contraction stands still */
};

/* -- the functions -------------------------------------------------------- */

enum form { /* as in probe/special_functions.cl */
    F_X, F_XY, F_YX, ONE_OVER, Y_OVER_X, Y_MOD_X, TIMES, LEFT, RIGHT, F_24
};

static double recip(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double over(double x, double y) { return y / x; }
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

/* OpenCL C 1.2, 7.4: ulps of full precision; 0: native, whose error is the
 * implementation's own affair. */
static const struct function {
    const char *name, *built_in;
    enum form form;
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
    {"native_div",   "native_divide", F_YX, 0.5f, 100, 1, 10, 0, false, NULL, over, NULL},
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
    {"div",          NULL,       Y_OVER_X, 0.5f, 100, 1, 10, 2.5, false, NULL, over, NULL},
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

/* A native function may be this far off, relative to the larger of itself and
 * 1: so far, that only another function is. */
static const double native_off = 1.0 / 256;

static double exact(const struct function *f, double x, double y)
{
    return f->of ? f->of(x) : f->of_two(x, y);
}

double xl__ulps(float got, double want)
{
    enum { DIGITS = 24, LEAST = -125 };
    int exponent;
    if (isnan(want) || isinf(want) || isnan(got) || isinf(got))
        return (isnan(got) && isnan(want)) || (double)got == want ? 0
                                                                  : INFINITY;
    (void)frexp(want, &exponent);
    exponent = want == 0 || exponent < LEAST ? LEAST : exponent;
    return fabs((double)got - want) / ldexp(1, exponent - DIGITS);
}

/* -- one function --------------------------------------------------------- */

struct bench {
    double fma; /* a second: the unit of rates */
    size_t wg, items;
    unsigned vec;
    cl_mem out, x, y;
    cl_uint host_x[VALUES], host_y[VALUES];
    const struct function *f;
};

static void define(const struct bench *b, struct xl__step *s)
{
    s->source = "probe/special_functions.cl";
    s->dims = 1;
    s->slice_dim = 0;
    if (b->f->built_in)
        snprintf(s->options, sizeof s->options, "-DFN=%s", b->f->built_in);
    xl__define(s, "FORM", b->f->form);
    xl__define(s, "WHOLE", b->f->whole != NULL);
    xl__define(s, "VEC", (long)b->vec);
}

static void make_plan(const struct bench *b, struct xl__turned *t)
{
    struct xl__step *s = &t->plan.step[0];
    const struct function *f = b->f;
    t->plan.n_steps = 1;
    s->kernel = "rate";
    s->local[0] = b->wg;
    s->global[0] = b->items;
    define(b, s);
    xl__arg_mem(s, 1);
    xl__arg_f32(s, (double)f->lo);
    xl__arg_f32(s, (double)(f->hi - f->lo));
    xl__arg_f32(s, (double)f->y_lo);
    xl__arg_f32(s, (double)(f->y_hi - f->y_lo));
    xl__arg_u32(s, 0);
    t->call.mem[1].buf = b->out;
    t->amount = STEPS * CHAINS * (double)(b->vec * b->items);
}

/* As spread() of the kernel. */
static double spread(cl_uint word, float lo, float hi)
{
    return (double)lo + (word >> 8) * ((double)(hi - lo) / 16777216.0);
}

static double settled(const struct function *f, cl_uint word)
{
    const double c = spread(xl__probe_word(0, word), f->lo, f->hi);
    const double y = spread(xl__probe_word(0, word + 1), f->y_lo, f->y_hi);
    double x = c;
    for (unsigned i = 0; i < SETTLED; i++)
        x = exact(f, x, y) / 1024 + c;
    return x;
}

static cl_uint walked(const struct function *f, cl_uint word, size_t steps)
{
    const cl_uint c = xl__probe_word(0, word), y = xl__probe_word(0, word + 1);
    cl_uint x = c;
    for (size_t i = 0; i < steps; i++)
        x = f->whole(x, y) ^ c;
    return x;
}

/* Do the first items' chains end where the host's do? */
static xl_status follow(struct xl__probing *p, const struct xl__turned *t,
                        xl_row *row)
{
    static const double tolerance = 1e-5; /* roundings, and native errors */
    xl_status status = XL_OK;
    const struct bench *b = t->arg;
    const unsigned n = CHAINS * b->vec;
    bool right = true;
    union {
        cl_uint bits;
        float value;
    } seen[LOOKS];
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    for (unsigned i = 0; i < LOOKS; i++) {
        cl_uint bits = 0;
        double mean = 0, amount = 1;
        for (unsigned k = 0; k < n; k++) {
            const cl_uint word = 2 * (i * n + k);
            if (b->f->whole)
                bits ^= walked(b->f, word, STEPS * t->turns);
            else
                mean += settled(b->f, word) / n;
        }
        amount += fabs(mean);
        right = right && (b->f->whole ? seen[i].bits == bits
                                      : fabs((double)seen[i].value - mean) <=
                                            tolerance * amount);
    }
    if (!right)
        xl__probe_reject(row, "a chain does not end where the host's does: "
                              "wrong results, or not all steps were done");
fail:
    return status;
}

/* -- the error ------------------------------------------------------------ */

static xl_status draw(struct xl__probing *p, struct bench *b)
{
    xl_status status = XL_OK;
    const struct function *f = b->f;
    for (unsigned i = 0; i < VALUES; i++) {
        union {
            cl_uint bits;
            float value;
        } x = {xl__probe_word(p->how->seed, 2 * i)},
          y = {xl__probe_word(p->how->seed, 2 * i + 1)};
        if (!f->whole) {
            x.value = (float)spread(x.bits, f->lo, f->hi);
            y.value = (float)spread(y.bits, f->y_lo, f->y_hi);
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

/* The worst of all values: ulps and, for native ones, off by how much. */
static void compare(const struct bench *b, const cl_uint *seen, double *ulps,
                    double *off)
{
    *ulps = *off = 0;
    for (unsigned i = 0; i < VALUES; i++) {
        const double x = (double)as_float(b->host_x[i]);
        const double y = (double)as_float(b->host_y[i]);
        const double want = exact(b->f, x, y);
        const float got = as_float(seen[i]);
        *ulps = fmax(*ulps, xl__ulps(got, want));
        const double apart = fabs((double)got - want);
        *off = fmax(*off, isnan(apart) ? INFINITY
                                       : apart / fmax(fabs(want), 1));
    }
}

static void judge_floats(const struct bench *b, const cl_uint *seen,
                         xl_row *row)
{
    double ulps, off;
    compare(b, seen, &ulps, &off);
    xl_row_found(row, "ulps", ulps);
    if (off > native_off)
        xl__probe_reject(row, "a result is not the host's");
    else if (b->f->ulps > 0 && ulps > b->f->ulps &&
             row->verdict < XL_ROW_SUSPICIOUS) {
        row->verdict = XL_ROW_SUSPICIOUS;
        snprintf(row->reason, sizeof row->reason,
                 "%.3g ulps off, OpenCL allows %g: fast, but not what it says",
                 ulps, b->f->ulps);
    }
}

static xl_status judge(struct xl__probing *p, struct bench *b, xl_row *row)
{
    xl_status status = XL_OK;
    cl_uint seen[VALUES];
    struct xl__plan plan = {.n_steps = 1};
    struct xl__step *s = &plan.step[0];
    const struct xl__call call = {.mem = {
        [1] = {b->x, NULL}, [2] = {b->y, NULL}, [3] = {b->out, NULL}}};
    TRY(draw(p, b));
    s->kernel = "values";
    s->local[0] = b->wg > 1 ? xl__min_size(b->wg, VALUES) : 1;
    s->global[0] = VALUES / b->vec;
    define(b, s);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(s, slot);
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    if (!b->f->whole) {
        judge_floats(b, seen, row);
        return XL_OK;
    }
    for (unsigned i = 0; i < VALUES; i++) {
        if (seen[i] != b->f->whole(b->host_x[i], b->host_y[i])) {
            xl__probe_reject(row, "a result is not the host's");
            break;
        }
    }
fail:
    return status;
}

static xl_status look(struct xl__probing *p, struct xl__turned *t, xl_row *row)
{
    xl_status status = XL_OK;
    struct bench *b = t->arg;
    xl_row_found(row, "fma", xl__probe_peak(row) / b->fma);
    TRY(follow(p, t, row));
    TRY(judge(p, b, row));
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status one(struct xl__probing *p, struct bench *b)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->limits;
    struct xl__turned t = {.look = look, .arg = b};
    /* One stands for all, in quick runs and in full ones: where roots and
     * reciprocals are instructions and the rest are series, theirs would be a
     * rate that nothing else comes near. */
    const bool is_rate = b->f->of == exp2 && b->f->ulps == 0;
    xl_row row;
    TRY(xl__probe_alive(p));
    xl_row_init(&row, "probe_special", b->f->name);
    row.unit = "op/s";
    make_plan(b, &t);
    TRY(xl__turned_row(p, &t, &row));
    xl__probe_emit(p, &row);
    if (is_rate && row.verdict < XL_ROW_REJECTED)
        xl__probe_raise(l, XL__F_special_per_s, xl__probe_peak(&row));
fail:
    return status;
}

/* Where items are threads, vectors are what their compilers have functions
 * for. */
static void lay_out(const struct xl__probing *p, struct bench *b)
{
    enum { LEAST_VEC = 4, MOST_VEC = 16 };
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const bool scalar = xl__probe_is_scalar(l);
    b->wg = scalar ? 1 : xl__min_size(WG, p->most_wg);
    b->items = b->wg * units * (scalar ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    b->items = xl__max_size(b->items, VALUES); /* out is for both */
    b->items = xl__round_up(b->items, b->wg);
    b->vec = 1;
    if (scalar)
        for (b->vec = LEAST_VEC;
             b->vec < MOST_VEC &&
             2 * b->vec <= xl__num_or(l, XL__F_native_vector_f32, 1);)
            b->vec *= 2;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    struct bench *b = xl__calloc(1, sizeof *b);
    if (!b)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "values"));
    lay_out(p, b);
    TRY(xl__fma_rate(p, &b->fma));
    TRY(xl_buffer_create(p->q, b->items * sizeof(cl_uint), &b->out));
    TRY(xl_buffer_create(p->q, sizeof b->host_x, &b->x));
    TRY(xl_buffer_create(p->q, sizeof b->host_y, &b->y));
    for (unsigned i = 0; i < N_FUNCTIONS; i++) {
        b->f = &functions[i];
        if (b->f->quick || !p->how->quick)
            TRY(one(p, b));
    }
fail:
    if (b) {
        const cl_mem all[] = {b->out, b->x, b->y};
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
            if (all[i])
                clReleaseMemObject(all[i]);
        }
    }
    free(b);
    return status;
}

const struct xl__probe xl__probe_special = {
    {"special",
     "Special functions a second, native and of full precision, and integer "
     "multiplications, divisions, shifts and bit counts; beside them their "
     "share of the f32 multiply-adds a second (fma) and the worst error "
     "seen, which for full precision must be within OpenCL's limits; integers "
     "must be exact. Each comes with one multiply-add or exclusive-or, so "
     "what is as cheap as those looks half as fast as it is. Arguments lie "
     "in a function's ordinary range: the far ends are slower.",
     false},
    run};
