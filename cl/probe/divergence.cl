/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     out[i] = item i's number after STEPS * iterations steps of
 *               one of MOST maps, x = x * x + c and x ^= x >> s in one order
 *               or the other, each with its own c and s:
 *
 *                 way = i / span mod ways
 *                 span 1, ways 4       0 1 2 3 0 1 2 3   all in a sub-group
 *                 span 8, ways 2       0 0 0 0 0 0 0 0   one in a sub-group
 *
 *               All have the same cost. Each is a loop with constants in its
 *               instructions, so it cannot be turned into a selection: a
 *               sub-group whose items take several ways executes all of them.
 *               Loops are short, so that instruction caches hold them all.
 * Arguments:    out: one word per item. span, ways <= MOST. iterations: of a
 *               loop.
 * Launch:       one dimension, any size.
 * Local memory: none.
 * -D:           MOST   number of ways: 1 2 4 8 16 32 64
 * Needs:        nothing.
 * Cost:         4 STEPS * iterations integer operations per item.
 * Source:       quadratic maps, as in probe/subgroup.cl: no compiler merges
 *               two steps. */
#ifndef MOST
#define MOST 8
#endif

#define STEPS 4

#define C(way) ((way) * 0x9e3779b9u | 1)
#define S(way) (5 + (way) % 11)
#define MAP(x, way) x = x * x + C(way)
#define MIX(x, way) x ^= x >> S(way)

#define EVEN(x, way)                                                          \
    MAP(x, way);                                                              \
    MIX(x, way)
#define ODD(x, way)                                                           \
    MIX(x, way);                                                              \
    MAP(x, way)
#define PATH(way, STEP)                                                       \
    case way:                                                                 \
        _Pragma("unroll 1")                                                   \
        for (uint i = 0; i < iterations; i++) {                               \
            STEP(x, way);                                                     \
            STEP(x, way);                                                     \
            STEP(x, way);                                                     \
            STEP(x, way);                                                     \
        }                                                                     \
        break;
#define PATHS2(way) PATH((way), EVEN) PATH((way) + 1, ODD)
#define PATHS4(way) PATHS2(way) PATHS2((way) + 2)
#define PATHS8(way) PATHS4(way) PATHS4((way) + 4)
#define PATHS16(way) PATHS8(way) PATHS8((way) + 8)
#define PATHS32(way) PATHS16(way) PATHS16((way) + 16)

__kernel void diverge(__global uint *restrict out, const uint span,
                      const uint ways, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    uint x = item;
    switch (item / span % ways) {
#if MOST == 1
        PATH(0, EVEN)
#elif MOST == 2
        PATHS2(0)
#elif MOST == 4
        PATHS4(0)
#elif MOST == 8
        PATHS8(0)
#elif MOST == 16
        PATHS16(0)
#else
        PATHS32(0)
#endif
#if MOST == 64
        PATHS32(32)
#endif
    }
    out[item] = x;
}
