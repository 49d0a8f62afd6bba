/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of numbers with an error bound.
 *
 * All conversions but that to bool are monotonic: f(x) rises, or stays, where
 * x rises. So the images of the two ends of an interval bound the image of the
 * interval:
 *
 *     err' = max(|f(x - err) - f(x)|, |f(x + err) - f(x)|)
 *
 * A conversion to bool is certain only when the interval does not contain 0.
 */
#include "expr/host/interval.h"

#include "base/half.h"

#define F32 0x1p-24, (double)FLT_MAX, (double)FLT_MIN, 0
#define F64 0x1p-53, DBL_MAX, DBL_MIN, 8
#define I32 32, INT32_MAX
#define I64 64, XL__EXACT_INTEGERS - 1
const struct xl__precision *xl__precision_of(const struct xl__graph *g)
{
    static const struct xl__precision by_type[2][2] = {
        {{F32, I32}, {F32, I64}}, {{F64, I32}, {F64, I64}}};
    return g ? &by_type[g->is_double][g->is_long] : &by_type[0][0];
}

struct xl__interval xl__interval_integer(const struct xl__precision *p,
                                         uint64_t x)
{
    const uint64_t sign = (uint64_t)1 << (p->bits - 1);
    const uint64_t low = x & (sign | (sign - 1));
    const double value = low & sign ? -(double)(2 * sign - low) : (double)low;
    return (struct xl__interval){
        value, p->bits == 64 && fabs(value) > p->top ? xl__unbounded : 0};
}

struct xl__interval xl__interval_float(const struct xl__precision *p, double x,
                                       double err)
{
    /* The least value that rounds to infinity: half a unit above the largest
     * number. */
    const double overflow = p->most * (1 + p->u);
    struct xl__interval out = {x, err};
    if (isnan(x) || isnan(err) || isinf(err)) {
        out.err = isnan(x) && err == 0 ? 0 : xl__unbounded;
    } else if (fabs(x) - err >= overflow) {
        out.x = copysign(xl__unbounded, x);
        out.err = 0;
    } else if (fabs(x) + err >= overflow) {
        out.err = xl__unbounded;
    } else if (fabs(x) - err < p->least && (x != 0 || err > 0)) {
        out.err += p->least;
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

static double saturate_to(double x, double least, double most)
{
    return isnan(x) ? 0 : fmin(fmax(trunc(x), least), most);
}

static double to_i32(double x)
{
    return saturate_to(x, INT32_MIN, INT32_MAX);
}

static double to_i8(double x)
{
    return saturate_to(x, INT8_MIN, INT8_MAX);
}

static double to_u8(double x)
{
    return saturate_to(x, 0, UINT8_MAX);
}

static double to_u16(double x)
{
    return saturate_to(x, 0, UINT16_MAX);
}

static double to_u32(double x)
{
    return saturate_to(x, 0, UINT32_MAX);
}

static double to_i64(double x)
{
    return saturate_to(x, -0x1p63, 0x1p63);
}

static double to_bool(double x)
{
    return x != 0;
}

/* The image of an interval under a monotonic conversion. */
static struct xl__interval map_monotonic(double (*f)(double),
                                         struct xl__interval a)
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

static struct xl__interval to_truth_value(struct xl__interval a)
{
    const bool is_sure = a.err == 0 || fabs(a.x) > a.err;
    return (struct xl__interval){a.x != 0, is_sure ? 0 : xl__unbounded};
}

struct xl__interval xl__interval_round(const struct xl__precision *p,
                                       struct xl__interval a, xl_dtype dtype)
{
    static double (*const f[XL_N_DTYPES])(double) = {
        [XL_F32] = to_f32, [XL_F16] = to_f16, [XL_BF16] = to_bf16,
        [XL_I32] = to_i32, [XL_I8] = to_i8,   [XL_U8] = to_u8,
        [XL_U16] = to_u16, [XL_U32] = to_u32, [XL_BOOL] = to_bool};
    if (dtype == XL_BOOL)
        return to_truth_value(a);
    if (!f[dtype] || (dtype == XL_F32 && p->own == 0))
        return a;
    return map_monotonic(f[dtype], a);
}

struct xl__interval xl__interval_convert(const struct xl__precision *p,
                                         struct xl__interval a,
                                         enum xl__vtype from,
                                         enum xl__vtype to)
{
    if (from == to || (from == XL__V_BOOL && to != XL__V_BOOL))
        return a;
    if (to == XL__V_BOOL)
        return to_truth_value(a);
    if (to == XL__V_F32 && p->u < 0x1p-24)
        return a; /* an integer that is known is an f64 */
    if (to == XL__V_F32 || p->bits == 32)
        return map_monotonic(to == XL__V_F32 ? to_f32 : to_i32, a);
    a = map_monotonic(to_i64, a);
    if (fabs(a.x) + a.err > p->top)
        a.err = xl__unbounded;
    return a;
}
