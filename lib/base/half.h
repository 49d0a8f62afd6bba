/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 <-> f32, round to nearest even, subnormals and NaN kept. */
#ifndef XL_BASE_HALF_H
#define XL_BASE_HALF_H

#include <stdint.h>

float xl__f16_to_f32(uint16_t bits);
uint16_t xl__f32_to_f16(float x);
float xl__bf16_to_f32(uint16_t bits);
uint16_t xl__f32_to_bf16(float x);

#endif
