/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     link:   a ring through `slots` slots in random order: the line
 *                       at word(i) is filled with word(i + 1), the last one
 *                       with word(0). The whole line is written, since a cache
 *                       that holds one word of a line loads the others from
 *                       memory when the line is read, which would be timed as
 *                       latency of the cache.
 *               chase:  follows iterations * UNROLL links from ends[0] and
 *                       writes the word that it reached there; ends[1] counts
 *                       launches. Each load's address is the value of the one
 *                       before, so no two overlap and none can be removed.
 *               word(i): step i is in window i / each; windows are in random
 *                       order, and so are the slots of each window:
 *
 *                       |  7  5  6  8 |  3  1  4  2 | 11  9 12 10 |
 *                         each slots
 *
 *                       A window is so small that the TLB covers its pages, so
 *                       that the cache is timed. A slot is `stride` words, and
 *                       one of its `spread` lines is used, at random.
 * Arguments:    links: slots * stride words. ends: two words. slots = windows
 *               * each; lg_*: bits of a number below `windows` and `each`.
 *               stride, line: words; stride = spread * line. seed: any.
 * Launch:       link: one dimension, EACH links per item, any groups. chase:
 *               one item.
 * Local memory: none.
 * -D:           UNROLL  links per iteration
 *               EACH    links that an item writes
 *               ONLY    compile only this kernel: 1 link, 2 chase; 0 all
 * Needs:        nothing.
 * Cost:         link 4 line bytes written per slot; chase 4 bytes read per
 *               link.
 * Source:       a ring by a bijection of its step numbers has one cycle, as
 *               Sattolo's shuffle has (1986), but needs no table: the host
 *               computes where any number of steps leads. */
#ifndef UNROLL
#define UNROLL 16
#endif
#ifndef EACH
#define EACH 64
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define WANTED(n) (ONLY == 0 || ONLY == n)

#if WANTED(1)
/* Multiplications by odd factors and right shifts with xor are bijections of
 * lg bits; repeated until the number is below n, they are a bijection of 0 ..
 * n - 1. */
static inline uint shuffle_number(uint i, const uint n, const uint lg,
                                  const uint seed)
{
    const uint mask = (1u << lg) - 1, half_lg = (lg + 1) / 2;
    do {
        i = (i * 0x2c1b3c6du + seed) & mask;
        i ^= i >> half_lg;
        i = (i * 0x297a2d39u) & mask;
        i ^= i >> half_lg;
        i = (i * 0x7feb352du) & mask;
        i ^= i >> half_lg;
    } while (i >= n);
    return i;
}

__kernel void link(__global uint *restrict links, const uint slots,
                   const uint windows, const uint each, const uint lg_windows,
                   const uint lg_each, const uint stride, const uint spread,
                   const uint line, const uint seed)
{
    const uint first = (uint)get_global_id(0) * EACH;
    if (first >= slots)
        return;
    uint window = first / each, i = first % each, from = 0;
    uint base = shuffle_number(window, windows, lg_windows, seed) * each;
    for (uint j = 0; j <= EACH && first + j <= slots; j++) {
        const uint slot = base + shuffle_number(i, each, lg_each, seed);
        const uint to =
            slot * stride + mul_hi(slot * 0x9e3779b9u, spread) * line;
        for (uint k = 0; j > 0 && k < line; k++)
            links[from + k] = to;
        from = to;
        if (++i == each) {
            i = 0;
            window = window + 1 < windows ? window + 1 : 0;
            base = shuffle_number(window, windows, lg_windows, seed) * each;
        }
    }
}
#endif

#if WANTED(2)
/* The start is read by item number, so that compilers do not treat it as
 * uniform and load through the path of constants. */
__kernel void chase(__global const uint *restrict links,
                    __global uint *restrict ends, const uint iterations)
{
    uint at = ends[get_global_id(0)];
    for (uint t = 0; t < iterations; t++) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            at = links[at];
    }
    ends[0] = at;
    ends[1] += 1;
}
#endif
