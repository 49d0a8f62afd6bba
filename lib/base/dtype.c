/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: the table of sizes, names and roundings, and access to single
 * elements on the host. Elements are copied by memcpy(), since callers place
 * arrays at any offset in their buffers. */
#include "base/dtype.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"

static const struct {
    size_t bytes;
    const char *name;
    double unit_roundoff, underflow; /* base/dtype.h */
} dtypes[XL_N_DTYPES] = {
    [XL_F32] = {4, "f32", 0x1p-24, 0x1p-126},
    [XL_F16] = {2, "f16", 0x1p-11, 0x1p-25},
    [XL_BF16] = {2, "bf16", 0x1p-8, 0x1p-126},
    [XL_F64] = {8, "f64", 0x1p-53, 0x1p-1022},
    [XL_I32] = {4, "i32", 0, 0},
    [XL_I8] = {1, "i8", 0, 0},
    [XL_U8] = {1, "u8", 0, 0},
    [XL_BOOL] = {1, "bool", 0, 0},
    [XL_F8E4M3] = {1, "f8e4m3", 0x1p-4, 0x1p-10},
    [XL_F8E5M2] = {1, "f8e5m2", 0x1p-3, 0x1p-17},
    [XL_I64] = {8, "i64", 0, 0},
    [XL_U32] = {4, "u32", 0, 0},
    [XL_U16] = {2, "u16", 0, 0},
};

static int is_known(xl_dtype dtype)
{
    return (unsigned)dtype < XL_N_DTYPES;
}

size_t xl_dtype_bytes(xl_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].bytes : 0;
}

const char *xl_dtype_name(xl_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].name : "?";
}

double xl__dtype_unit_roundoff(xl_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].unit_roundoff : 0;
}

double xl__dtype_underflow(xl_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].underflow : 0;
}

/* One element of any type. */
union element {
    double f64;
    int64_t i64;
    float f32;
    int32_t i32;
    uint32_t u32;
    uint16_t u16;
    int8_t i8;
    uint8_t u8;
};

/* One element of a member's type, at any alignment. */
#define MEMBER(m) (memcpy(&x.m, at, sizeof x.m), x.m)

double xl__dtype_load(const void *base, size_t i, xl_dtype dtype)
{
    const unsigned char *at =
        (const unsigned char *)base + i * xl_dtype_bytes(dtype);
    union element x;
    switch (dtype) {
    case XL_F32:
        return (double)MEMBER(f32);
    case XL_F16:
        return (double)xl__f16_to_f32(MEMBER(u16));
    case XL_BF16:
        return (double)xl__bf16_to_f32(MEMBER(u16));
    case XL_F64:
        return MEMBER(f64);
    case XL_I32:
        return MEMBER(i32);
    case XL_I8:
        return MEMBER(i8);
    case XL_U8:
    case XL_BOOL:
        return MEMBER(u8);
    case XL_F8E4M3:
        return (double)xl__e4m3_to_f32(MEMBER(u8));
    case XL_F8E5M2:
        return (double)xl__e5m2_to_f32(MEMBER(u8));
    case XL_I64:
        return (double)MEMBER(i64);
    case XL_U32:
        return MEMBER(u32);
    case XL_U16:
        return MEMBER(u16);
    case XL_N_DTYPES:
        break;
    }
    return (double)NAN;
}

#undef MEMBER

static double saturate(double x, double least, double most)
{
    return isnan(x) ? 0 : fmin(fmax(trunc(x), least), most);
}

int64_t xl__to_i64(double x)
{
    return x >= 0x1p63 ? INT64_MAX : (int64_t)saturate(x, -0x1p63, 0x1p63);
}

void xl__dtype_store(void *base, size_t i, xl_dtype dtype, double x)
{
    const size_t bytes = xl_dtype_bytes(dtype);
    union element out = {0};
    switch (dtype) {
    case XL_F32:
        out.f32 = (float)x;
        break;
    case XL_F16:
        out.u16 = xl__f32_to_f16((float)x);
        break;
    case XL_BF16:
        out.u16 = xl__f32_to_bf16((float)x);
        break;
    case XL_F64:
        out.f64 = x;
        break;
    case XL_I32:
        out.i32 = (int32_t)saturate(x, INT32_MIN, INT32_MAX);
        break;
    case XL_I8:
        out.i8 = (int8_t)saturate(x, INT8_MIN, INT8_MAX);
        break;
    case XL_U8:
        out.u8 = (uint8_t)saturate(x, 0, UINT8_MAX);
        break;
    case XL_BOOL:
        out.u8 = x != 0;
        break;
    case XL_F8E4M3:
        out.u8 = xl__f32_to_e4m3((float)x);
        break;
    case XL_F8E5M2:
        out.u8 = xl__f32_to_e5m2((float)x);
        break;
    case XL_I64:
        out.i64 = xl__to_i64(x);
        break;
    case XL_U32:
        out.u32 = (uint32_t)saturate(x, 0, UINT32_MAX);
        break;
    case XL_U16:
        out.u16 = (uint16_t)saturate(x, 0, UINT16_MAX);
        break;
    case XL_N_DTYPES:
        break;
    }
    memcpy((unsigned char *)base + i * bytes, &out, bytes);
}

double xl__dtype_round(double x, xl_dtype dtype)
{
    union element element;
    xl__dtype_store(&element, 0, dtype, x);
    return xl__dtype_load(&element, 0, dtype);
}

bool xl__scalar_fits(double x, xl_dtype dtype)
{
    if (dtype == XL_I32)
        return x >= INT32_MIN && x <= INT32_MAX && floor(x) == x;
    if (dtype == XL_I64)
        return fabs(x) < XL__EXACT_INTEGERS && floor(x) == x;
    return !isfinite(x) || isfinite(xl__scalar_round(x, dtype));
}
