/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between f32 and narrower floats: f16, bf16 and the 8-bit floats
 * E4M3 and E5M2. To nearest, ties to even; subnormals and NaN are kept. A
 * value that exceeds the range of an 8-bit float, also an infinity, becomes
 * the largest finite value, as matrix engines convert (satfinite). */
#ifndef XL_BASE_HALF_H
#define XL_BASE_HALF_H

#include <stdint.h>

float xl__f16_to_f32(uint16_t bits);
uint16_t xl__f32_to_f16(float x);
float xl__bf16_to_f32(uint16_t bits);
uint16_t xl__f32_to_bf16(float x);
float xl__e4m3_to_f32(uint8_t bits);
uint8_t xl__f32_to_e4m3(float x);
float xl__e5m2_to_f32(uint8_t bits);
uint8_t xl__f32_to_e5m2(float x);

#endif
