/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** and splitmix64, from Blackman and Vigna, "Scrambled linear
 * pseudorandom number generators", ACM TOMS 47(4), 2021. libm is not
 * used, so one seed gives bit for bit the same numbers on every machine. */
#include "base/rng.h"

static uint64_t rotate_left(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* Well-mixed state from any seed, also from 0. */
static uint64_t splitmix64(uint64_t *x)
{
    *x += 0x9e3779b97f4a7c15u;
    uint64_t z = *x;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void xl__rng_seed(struct xl__rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix64(&seed);
}

uint64_t xl__rng_next(struct xl__rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t out = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return out;
}

double xl__rng_uniform(struct xl__rng *rng)
{
    return (double)(xl__rng_next(rng) >> 11) * 0x1p-53;
}

/* The sum of twelve uniform numbers has deviation 1 and is close to normal
 * up to 3 deviations, never beyond 6: all that test data needs, exact in
 * integers. Box and Muller's method would bring in log() and cos(), which
 * differ in the last bit between C libraries. */
double xl__rng_normal(struct xl__rng *rng)
{
    enum { PAIRS = 6 };
    uint64_t sum = 0;
    for (int i = 0; i < PAIRS; i++) {
        uint64_t two = xl__rng_next(rng);
        sum += (two >> 32) + (two & UINT32_MAX);
    }
    int64_t centred = (int64_t)sum - (int64_t)PAIRS * UINT32_MAX;
    return (double)centred * 0x1p-32;
}

/* Rejects the first 2^64 mod n numbers, so that all remainders have the same
 * probability. */
uint64_t xl__rng_below(struct xl__rng *rng, uint64_t n)
{
    if (n == 0)
        return 0;
    uint64_t rejected = (0 - n) % n, x;
    do
        x = xl__rng_next(rng);
    while (x < rejected);
    return x % n;
}
