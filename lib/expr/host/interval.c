/* SPDX-License-Identifier: Apache-2.0 */
/* Values with bounds between types. Conversions never fall where their
 * argument rises, so the ends of an interval tell what may come of it. */
#include "expr/host/interval.h"

#include "base/half.h"

struct xl__interval xl__interval_f32(double x, double err)
{
    /* What rounds to infinity: half a unit past the largest. */
    const double top = (double)FLT_MAX * (1 + xl__unit_roundoff);
    struct xl__interval out = {x, err};
    if (isnan(x) || isnan(err) || isinf(err)) {
        out.err = isnan(x) && err == 0 ? 0 : xl__unbounded;
    } else if (fabs(x) - err >= top) {
        out.x = copysign(xl__unbounded, x);
        out.err = 0;
    } else if (fabs(x) + err >= top) {
        out.err = xl__unbounded;
    } else if (fabs(x) - err < (double)FLT_MIN && (x != 0 || err > 0)) {
        out.err += (double)FLT_MIN;
    }
    return out;
}

static double to_f32(double x)
{
    return (double)(float)x;
}

static double to_f16(double x)
{
    return (double)xl__f16_to_f32(xl__f32_to_f16((float)x));
}

static double to_bf16(double x)
{
    return (double)xl__bf16_to_f32(xl__f32_to_bf16((float)x));
}

static double saturate(double x, double least, double most)
{
    return isnan(x) ? 0 : fmin(fmax(trunc(x), least), most);
}

static double to_i32(double x)
{
    return saturate(x, INT32_MIN, INT32_MAX);
}
static double to_i8(double x)
{
    return saturate(x, INT8_MIN, INT8_MAX);
}
static double to_u8(double x)
{
    return saturate(x, 0, UINT8_MAX);
}
static double to_bool(double x)
{
    return x != 0;
}

/* Apply a conversion that never falls (or, to bool, is told apart below). */
static struct xl__interval through(double (*f)(double), struct xl__interval a)
{
    struct xl__interval out = {f(a.x), 0};
    if (a.err > 0 && isfinite(a.err))
        out.err = fmax(xl__value_distance(f(a.x - a.err), out.x),
                       xl__value_distance(f(a.x + a.err), out.x));
    else
        out.err = a.err;
    if (isnan(out.err) || (!isfinite(out.x) && out.err > 0))
        out.err = xl__unbounded;
    return out;
}

static struct xl__interval truth(struct xl__interval a)
{
    const bool is_sure = a.err == 0 || fabs(a.x) > a.err;
    return (struct xl__interval){a.x != 0, is_sure ? 0 : xl__unbounded};
}

struct xl__interval xl__interval_round(struct xl__interval a, xl_dtype dtype)
{
    static double (*const f[XL_N_DTYPES])(double) = {
        [XL_F16] = to_f16, [XL_BF16] = to_bf16, [XL_I32] = to_i32,
        [XL_I8] = to_i8,   [XL_U8] = to_u8,     [XL_BOOL] = to_bool};
    if (dtype == XL_BOOL)
        return truth(a);
    if (dtype == XL_F32 || !f[dtype])
        return a;
    return through(f[dtype], a);
}

struct xl__interval xl__interval_convert(struct xl__interval a,
                                         enum xl__vtype from,
                                         enum xl__vtype to)
{
    if (from == to || (from == XL__V_BOOL && to != XL__V_BOOL))
        return a;
    if (to == XL__V_BOOL)
        return truth(a);
    return through(to == XL__V_F32 ? to_f32 : to_i32, a);
}
