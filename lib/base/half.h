/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow floats <-> f32, round to nearest even, subnormals and NaN kept. To an
 * 8-bit float what is too large, infinite too, becomes its largest finite
 * value, as the conversions of matrix engines do (satfinite). */
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
