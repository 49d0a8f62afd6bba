/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: xoshiro256**, seeded by splitmix64. One seed gives the same
 * sequence on every machine. */
#ifndef XL_BASE_RNG_H
#define XL_BASE_RNG_H

#include <stdint.h>

struct xl__rng { uint64_t state[4]; };

/* Any seed is valid, also 0. */
void xl__rng_seed(struct xl__rng *rng, uint64_t seed);
uint64_t xl__rng_next(struct xl__rng *rng);  /* 64 random bits */
double xl__rng_uniform(struct xl__rng *rng); /* [0, 1) */
double xl__rng_normal(struct xl__rng *rng);  /* mean 0, deviation 1 */
uint64_t xl__rng_below(struct xl__rng *rng, uint64_t n); /* 0 .. n - 1 */

#endif
