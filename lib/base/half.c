/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of narrow floats by integer operations, so that the results do
 * not depend on the machine's rounding mode or float hardware.
 *
 * To drop the lowest s bits of x with rounding to nearest, ties to even,
 *
 *   r = (x + 2^(s-1) - 1 + b) >> s,   b = bit s of x, the lowest kept bit
 *
 * A carry out of the mantissa increments the exponent, which is the correct
 * result: the next binade, or infinity.
 * Source: IEEE 754-2019, sections 3.4 and 4.3.1; OCP 8-bit Floating Point
 * Specification (OFP8) 1.0, with its saturating conversions (GE-28). */
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
    BF16_QUIET = 0x0040,
    F8_SIGN = 0x80,
    F8_NAN = 0x7f, /* of both kinds */
    E4M3_BIAS = 7,
    E4M3_MANTISSA_BITS = 3,
    E4M3_LARGEST = 0x7e,
    E5M2_BIAS = 15,
    E5M2_MANTISSA_BITS = 2,
    E5M2_LARGEST = 0x7b
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
static uint32_t shift_and_round(uint32_t x, unsigned shift)
{
    uint32_t below_half = ((uint32_t)1 << (shift - 1)) - 1;
    return (x + below_half + (x >> shift & 1)) >> shift;
}

/* Converts the magnitude of an f32 to a format with `mantissa_bits` and
 * `bias`. On overflow the exponent exceeds that of the format; the caller
 * checks it. */
static uint32_t narrow_magnitude(uint32_t magnitude, int mantissa_bits,
                                 int bias)
{
    const uint32_t mantissa = magnitude & F32_MANTISSA;
    const int dropped = F32_MANTISSA_BITS - mantissa_bits;
    const int exponent =
        (int)(magnitude >> F32_MANTISSA_BITS) - F32_BIAS + bias;
    if (exponent >= 1)
        return shift_and_round((uint32_t)exponent << F32_MANTISSA_BITS |
                                   mantissa,
                               (unsigned)dropped);
    if (exponent >= -mantissa_bits) /* subnormal */
        return shift_and_round(mantissa | F32_HIDDEN_BIT,
                               (unsigned)(dropped + 1 - exponent));
    return 0; /* less than half of the smallest subnormal */
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
    uint32_t out;
    if (magnitude > F32_EXPONENT) { /* NaN: keep it a NaN when truncated */
        out = F16_EXPONENT | (bits & F32_MANTISSA) >> DROPPED_BITS;
        if ((out & F16_MANTISSA) == 0)
            out |= F16_QUIET;
    } else {
        out = narrow_magnitude(magnitude, F16_MANTISSA_BITS, F16_BIAS);
        if (out > F16_EXPONENT) /* too large, or infinite */
            out = F16_EXPONENT;
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
    return (uint16_t)shift_and_round(bits, 16);
}

static uint8_t convert_to_f8(float x, int mantissa_bits, int bias,
                             uint32_t largest)
{
    uint32_t bits = bits_of(x), magnitude = bits & ~((uint32_t)1 << 31);
    uint32_t out = F8_NAN;
    if (magnitude <= F32_EXPONENT) {
        out = narrow_magnitude(magnitude, mantissa_bits, bias);
        if (out > largest)
            out = largest;
    }
    return (uint8_t)((bits >> 24 & F8_SIGN) | out);
}

/* Read as the upper bits of an f16, whose bias is larger by 8, the code is the
 * value times 2^-8. */
float xl__e4m3_to_f32(uint8_t bits)
{
    uint16_t half = (uint16_t)((bits & F8_SIGN) << 8 | (bits & F8_NAN) << 7);
    if ((bits & F8_NAN) == F8_NAN)
        half |= F16_EXPONENT | F16_QUIET;
    return xl__f16_to_f32(half) * 0x1p8f;
}

uint8_t xl__f32_to_e4m3(float x)
{
    return convert_to_f8(x, E4M3_MANTISSA_BITS, E4M3_BIAS, E4M3_LARGEST);
}

/* E5M2 is the upper half of an f16. */
float xl__e5m2_to_f32(uint8_t bits)
{
    return xl__f16_to_f32((uint16_t)(bits << 8));
}

uint8_t xl__f32_to_e5m2(float x)
{
    return convert_to_f8(x, E5M2_MANTISSA_BITS, E5M2_BIAS, E5M2_LARGEST);
}
