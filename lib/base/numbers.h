/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of whole numbers that several layers need: greatest common
 * divisor, powers of two. Checked products and sums are in base/alloc.h. */
#ifndef XL_BASE_NUMBERS_H
#define XL_BASE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Greatest common divisor; gcd(a, 0) = a. */
uint64_t xl__gcd(uint64_t a, uint64_t b);

/* 1, 2, 4, ...; false for 0. */
bool xl__is_power_of_two(uint64_t x);
/* The largest power of two <= x; 1 for 0. */
uint64_t xl__floor_power_of_two(uint64_t x);
/* The smallest power of two >= x; 1 for 0; 0 where it exceeds 64 bits. */
uint64_t xl__ceil_power_of_two(uint64_t x);
/* `width`, a power of two, halved until it divides x. */
size_t xl__shrink_to_divisor(size_t width, size_t x);
/* 2^32 / d, rounded down; for d = 1 2^32 - 1: cl/common/divide.clh corrects
 * the quotient by one. */
size_t xl__inverse_32(size_t d);
/* Two numbers of 32 bits as one of 64, as kernels' vectors have them. */
uint64_t xl__pack_words(size_t low, size_t high);
/* The largest e with 2^e <= x; 0 for 0. */
unsigned xl__floor_log2(uint64_t x);

#endif
