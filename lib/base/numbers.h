/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of whole numbers that several layers need: greatest common
 * divisor, powers of two, clamping, and reading a number from text. Checked
 * products and sums are in base/alloc.h. */
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
/* The largest e with 2^e <= x; 0 for 0. */
unsigned xl__floor_log2(uint64_t x);

/* x limited to lo .. hi; lo <= hi. */
size_t xl__clamp_size(size_t x, size_t lo, size_t hi);
double xl__clamp(double x, double lo, double hi);

/* Reads the decimal digits at the start of `text`, at most `len` bytes (no
 * sign, no blanks). Returns how many bytes were read: 0, with *out unchanged,
 * when there is no digit or the number exceeds `most`. */
size_t xl__read_u64(const char *text, size_t len, uint64_t most,
                    uint64_t *out);
/* Reads a whole text, which must be decimal digits only and a number of
 * least .. most. */
bool xl__parse_u64(const char *text, uint64_t least, uint64_t most,
                   uint64_t *out);

#endif
