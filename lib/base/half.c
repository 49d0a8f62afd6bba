/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 by bit operations alone, so that host references agree on
 * every machine. Rounding to nearest even adds one less than half of the
 * dropped bits' unit, plus the lowest kept bit; the carry may run into the
 * exponent, where it is right too: up to the next binade, up to infinity.
 * Source: IEEE 754-2019, sections 3.4 and 4.3.1. */
#include "base/half.h"

#include <string.h>

enum {
    F16_BIAS = 15,
    F16_MANTISSA_BITS = 10,
    F32_BIAS = 127,
    F32_MANTISSA_BITS = 23,
    DROPPED_BITS = F32_MANTISSA_BITS - F16_MANTISSA_BITS,
    F16_EXPONENT = 0x7c00,
    F16_MANTISSA = 0x03ff,
    F16_QUIET = 0x0200,
    F16_SIGN = 0x8000,
    BF16_QUIET = 0x0040
};

static const uint32_t F32_EXPONENT = 0x7f800000;
static const uint32_t F32_MANTISSA = 0x007fffff;
static const uint32_t F32_HIDDEN_BIT = 0x00800000;

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* x / 2^shift to nearest, ties to even; shift >= 1. */
static uint32_t shift_rounded(uint32_t x, unsigned shift)
{
    uint32_t below_half = ((uint32_t)1 << (shift - 1)) - 1;
    return (x + below_half + (x >> shift & 1)) >> shift;
}

float xl__f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & F16_SIGN) << 16;
    uint32_t exponent = (uint32_t)(bits & F16_EXPONENT) >> F16_MANTISSA_BITS;
    uint32_t mantissa = bits & F16_MANTISSA;
    if (exponent == F16_EXPONENT >> F16_MANTISSA_BITS) /* infinite or NaN */
        return float_of(sign | F32_EXPONENT | mantissa << DROPPED_BITS);
    if (exponent != 0)
        return float_of(sign |
                        (exponent + F32_BIAS - F16_BIAS) << F32_MANTISSA_BITS |
                        mantissa << DROPPED_BITS);
    /* A subnormal is mantissa * 2^-24, exact in f32. */
    float magnitude = (float)mantissa * 0x1p-24f;
    return float_of(sign | bits_of(magnitude));
}

uint16_t xl__f32_to_f16(float x)
{
    uint32_t bits = bits_of(x), magnitude = bits & ~((uint32_t)1 << 31);
    uint32_t sign = bits >> 16 & F16_SIGN;
    uint32_t mantissa = bits & F32_MANTISSA;
    int exponent = (int)(magnitude >> F32_MANTISSA_BITS) - F32_BIAS + F16_BIAS;
    uint32_t out;
    if (magnitude > F32_EXPONENT) { /* NaN: stays one when cut */
        out = F16_EXPONENT | mantissa >> DROPPED_BITS;
        if ((out & F16_MANTISSA) == 0)
            out |= F16_QUIET;
    } else if (exponent > 2 * F16_BIAS) { /* too large, or infinite */
        out = F16_EXPONENT;
    } else if (exponent >= 1) {
        uint32_t rebased = (uint32_t)exponent << F32_MANTISSA_BITS | mantissa;
        out = shift_rounded(rebased, DROPPED_BITS);
    } else if (exponent >= -F16_MANTISSA_BITS) { /* subnormal */
        out = shift_rounded(mantissa | F32_HIDDEN_BIT,
                            (unsigned)(DROPPED_BITS + 1 - exponent));
    } else {
        out = 0; /* below half of the smallest */
    }
    return (uint16_t)(sign | out);
}

float xl__bf16_to_f32(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t xl__f32_to_bf16(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & ~((uint32_t)1 << 31)) > F32_EXPONENT) { /* NaN */
        uint32_t cut = bits >> 16;
        return (uint16_t)(bits << 9 >> 25 != 0 ? cut : cut | BF16_QUIET);
    }
    return (uint16_t)shift_rounded(bits, 16);
}
