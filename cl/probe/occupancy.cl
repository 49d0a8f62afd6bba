/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a chain of iterations * pace dependent loads by each group,
 *               each from its own start, while LIVE values per item stay
 *               alive:
 *
 *                 at = next[at], `pace` times;  x[k] ^= at, for all k
 *
 *               (one instruction each, in place: an operation of two
 *               instructions has old and new values at the same time, and
 *               needs twice the registers: AM-14.)
 *
 *               A load has a long latency and little cost, so the rate is
 *               proportional to the number of resident groups. That number is
 *               also counted: a group adds 1 at its start, subtracts 1 at its
 *               end, and the maximum is kept.
 * Arguments:    out: one word per item, of `at` and all x. next: 2^lg_words
 *               indices, one cycle. count: groups that run now, and the
 *               maximum; initially 0, 0. room: local memory, at least WG
 *               words, of which no more are used.
 * Launch:       one dimension, groups of WG, more of them than can be
 *               resident.
 * Local memory: room.
 * -D:           WG      items of a group
 *               LIVE    values that an item keeps, 1 to 511
 *               LG_WORDS  of next
 * Needs:        nothing.
 * Cost:         iterations * pace loads per group.
 * Source:       occupancy: CUDA C++ Best Practices Guide; V. Volkov, "Better
 *               performance at lower occupancy", GTC 2010. */
#ifndef WG
#define WG 64
#endif
#ifndef LIVE
#define LIVE 8
#endif
#ifndef LG_WORDS
#define LG_WORDS 20
#endif

/* f(name) for LIVE names, by the bits of LIVE, since arrays may not be kept in
 * registers. */
#define R1(f, n) f(n)
#define R2(f, n) R1(f, n##0) R1(f, n##1)
#define R4(f, n) R2(f, n##0) R2(f, n##1)
#define R8(f, n) R4(f, n##0) R4(f, n##1)
#define R16(f, n) R8(f, n##0) R8(f, n##1)
#define R32(f, n) R16(f, n##0) R16(f, n##1)
#define R64(f, n) R32(f, n##0) R32(f, n##1)
#define R128(f, n) R64(f, n##0) R64(f, n##1)
#define R256(f, n) R128(f, n##0) R128(f, n##1)
#define NONE(f, n)
#if LIVE & 1
#define B1 R1
#else
#define B1 NONE
#endif
#if LIVE & 2
#define B2 R2
#else
#define B2 NONE
#endif
#if LIVE & 4
#define B4 R4
#else
#define B4 NONE
#endif
#if LIVE & 8
#define B8 R8
#else
#define B8 NONE
#endif
#if LIVE & 16
#define B16 R16
#else
#define B16 NONE
#endif
#if LIVE & 32
#define B32 R32
#else
#define B32 NONE
#endif
#if LIVE & 64
#define B64 R64
#else
#define B64 NONE
#endif
#if LIVE & 128
#define B128 R128
#else
#define B128 NONE
#endif
#if LIVE & 256
#define B256 R256
#else
#define B256 NONE
#endif
#define EACH(f)                                                               \
    B1(f, a) B2(f, b) B4(f, c) B8(f, d) B16(f, e) B32(f, g) B64(f, h)         \
    B128(f, i) B256(f, j)

#define START(n) uint x_##n = seed = seed * 0x2c1b3c6du + 0x5bd1e995u;
#define STEP(n) x_##n ^= at;
#define FOLD(n) fold = rotate(fold, 5u) ^ x_##n;

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
occupancy(__global uint *restrict out, __global const uint *restrict next,
          __global volatile int *count, const uint iterations, const uint pace,
          __local uint *room)
{
    const uint item = (uint)get_global_id(0);
    const bool first = get_local_id(0) == 0;
    uint at = (item / WG * 0x9e3779b1u) >> (32 - LG_WORDS);
    uint seed = item, fold = 0;
    if (first)
        atomic_max(&count[1], atomic_inc(&count[0]) + 1);
    room[get_local_id(0)] = item;
    EACH(START)
    for (uint t = 0; t < iterations; t++) {
        for (uint i = 0; i < pace; i++)
            at = next[at];
        EACH(STEP)
    }
    EACH(FOLD)
    barrier(CLK_LOCAL_MEM_FENCE);
    fold ^= room[(get_local_id(0) + 1) % WG];
    out[item] = fold ^ at;
    if (first)
        atomic_dec(&count[0]);
}
