/* SPDX-License-Identifier: Apache-2.0 */
/* The random source on the host: four words to a counter, as
 * cl/expr/expr.clh has them.
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
 * 2, 3", SC 2011: Philox4x32-10. Box, Muller, Ann. Math. Stat. 29, 1958. */
#include <math.h>

#include "expr/host/interval.h"

enum { WORDS = 4, ROUNDS = 10 };

static void philox(uint32_t word[WORDS], uint32_t key)
{
    static const uint64_t mul[2] = {0xD2511F53u, 0xCD9E8D57u};
    static const uint32_t weyl[2] = {0x9E3779B9u, 0xBB67AE85u};
    uint32_t k[2] = {key, 0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t a = mul[0] * word[0], b = mul[1] * word[2];
        const uint32_t next[WORDS] = {
            (uint32_t)(b >> 32) ^ word[1] ^ k[0], (uint32_t)b,
            (uint32_t)(a >> 32) ^ word[3] ^ k[1], (uint32_t)a};
        for (unsigned i = 0; i < WORDS; i++)
            word[i] = next[i];
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
}

/* 24 bits, so that a float holds them all. */
static double uniform(uint32_t word) { return (word >> 8) * 0x1p-24; }

/* A pair of words gives a pair of numbers: radius and angle. */
static double normal(const uint32_t pair[2], bool is_second)
{
    static const double pi = 3.14159265358979323846;
    const double radius = sqrt(-2 * log(uniform(pair[0]) + 0x1p-24));
    const double angle = 2 * pi * uniform(pair[1]);
    return radius * (is_second ? sin(angle) : cos(angle));
}

double xl__eval_rand(enum xl__expr_op op, int32_t seed, uint64_t place)
{
    const uint64_t count = place / WORDS;
    const unsigned at = (unsigned)(place % WORDS);
    uint32_t word[WORDS] = {(uint32_t)count, (uint32_t)(count >> 32), 0, 0};
    philox(word, (uint32_t)seed);
    return op == XL__E_RAND ? uniform(word[at])
                            : normal(&word[at & ~1u], at & 1);
}
