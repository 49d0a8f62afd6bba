/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     activations as bytes with a scale, q = a / d to nearest, half
 *               to even, d = max |a| / 127 over 32 columns or over a row, or of
 *               E4M3 d = max |a| / 448. Where
 *               the largest magnitude is below 2^-90, d and q are 0; where an
 *               element is infinite or NaN, d is NaN. A group has a row.
 * Arguments:    A, m x k, contiguous columns: offset of the first element,
 *               elements from row to row; units of 32 columns of a row; the
 *               result, offset of its first byte, blocks of
 *               quantised/bytes.clh; with PLAIN rows of k bytes, and the offset
 *               of the first scale, one a row, f32.
 * Launch:       2-D, local (WG, 1), groups: 1, m.
 * Local memory: 4 WG bytes.
 * -D:           TA dtype of A, 0 to 2; WG; ROW: 1: one scale a row; PLAIN: 1,
 *               with ROW: bytes and scales apart, rows of bytes at multiples
 *               of 32; VA: A's rows are at multiples of so many elements (1 4
 *               8), which are loaded at once; TQ: 5 integers, 8 E4M3, with
 *               PLAIN.
 * Needs:        nothing.
 * Cost:         A is read once, with ROW twice.
 * Source:       ggml, block_q8_1; Xiao et al. 2023, SmoothQuant, section 2. */
#ifndef TA
#define TA 0
#endif
#ifndef WG
#define WG 64
#endif
#ifndef ROW
#define ROW 0
#endif
#ifndef PLAIN
#define PLAIN 0
#endif
#ifndef VA
#define VA 1
#endif
#ifndef TQ
#define TQ 5
#endif

#include "quantised/bytes.clh"
#if TQ == 8
#include "quantised/e4m3.clh"
#endif

/* 16 elements. */
#if VA == 8
#define LOAD_16(a, at)                                                        \
    (float16)(LOADVA(8, TA, a, at), LOADVA(8, TA, a, (at) + 8))
#elif VA == 4
#define LOAD_16(a, at)                                                        \
    (float16)(LOADVA(4, TA, a, at), LOADVA(4, TA, a, (at) + 4),               \
              LOADVA(4, TA, a, (at) + 8), LOADVA(4, TA, a, (at) + 12))
#else
#define LOAD_16(a, at) LOADV(16, TA, a, at)
#endif

/* The largest magnitude as the bits of an f32: those of infinities and NaNs are
 * the largest. Of 32 elements: */
#if !PLAIN
static inline uint most_bits(__global const ELEM(TA) *a, const ulong at)
{
    const uint16 x = max(as_uint16(LOAD_16(a, at)) & 0x7fffffffu,
                         as_uint16(LOAD_16(a, at + 16)) & 0x7fffffffu);
    const uint8 y = max(x.lo, x.hi);
    const uint4 z = max(y.lo, y.hi);
    const uint2 w = max(z.lo, z.hi);
    return max(w.x, w.y);
}
#endif

struct scale {
    float d, up; /* an element is d times a byte, a byte up times an element */
};
#if TQ == 8
#define MOST 448.0f
#define BYTE uchar
#define BYTES_OF(n, x) XL_CAT(convert_uchar, n)(XL_CAT(e4m3_of_, n)(x))
#else
#define MOST 127.0f
#define BYTE char
#define BYTES_OF(n, x) XL_CAT(XL_CAT(convert_char, n), _sat)(rint(x))
#endif
static inline struct scale scale_of(const uint most)
{
    const bool is_none = most < 0x12800000u, /* 2^-90 */
               is_bad = most >= 0x7f800000u;
    const float top = as_float(most);
    const struct scale by = {is_bad ? NAN : is_none ? 0.0f : top / MOST,
                             is_bad || is_none ? 0.0f : MOST / top};
    return by;
}

#if PLAIN
/* Columns that an item takes at once: those of adjacent items are adjacent. */
#if WG > 1 && VA > 1
#define PER VA
#else
#define PER 16
#endif
#if PER == 16
#define LOAD_PER(a, at) LOAD_16(a, at)
#else
#define LOAD_PER(a, at) LOADVA(PER, TA, a, at)
#endif

static inline uint most_of(const FLOATV(PER) x)
{
    const XL_CAT(uint, PER) bits = XL_CAT(as_uint, PER)(x) & 0x7fffffffu;
#if PER == 16
    const uint8 y = max(bits.lo, bits.hi);
    const uint4 z = max(y.lo, y.hi);
#elif PER == 8
    const uint4 z = max(bits.lo, bits.hi);
#else
    const uint4 z = bits;
#endif
    const uint2 w = max(z.lo, z.hi);
    return max(w.x, w.y);
}
#endif

__kernel void qgemm_quantise(__global const ELEM(TA) *restrict a,
                             const ulong off_a, const ulong rs_a,
                             const uint units, __global char *restrict q,
                             const ulong off_q
#if PLAIN
                             ,
                             const ulong off_d
#endif
)
{
    const uint item = (uint)get_local_id(0), row = (uint)xl_group_id(1);
    const ulong first = off_a + row * rs_a;
    uint most = 0;
#if ROW
    __local uint room[WG];
#if PLAIN
    for (uint c = item; c < units * (32 / PER); c += WG)
        most = max(most, most_of(LOAD_PER(a, first + PER * (ulong)c)));
#else
    for (uint u = item; u < units; u += WG)
        most = max(most, most_bits(a, first + 32 * (ulong)u));
#endif
    room[item] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint n = WG / 2; n > 0; n /= 2) {
        if (item < n)
            room[item] = max(room[item], room[item + n]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = room[0];
#endif
#if PLAIN
    const struct scale by = scale_of(most);
    if (item == 0)
        ((__global float *)(q + off_d))[row] = by.d;
    __global XL_CAT(BYTE, PER) *bytes =
        (__global XL_CAT(BYTE, PER) *)(q + off_q + 32 * (ulong)row * units);
    for (uint c = item; c < units * (32 / PER); c += WG)
        bytes[c] = BYTES_OF(PER, LOAD_PER(a, first + PER * (ulong)c) * by.up);
#else
    for (uint u = item; u < units; u += WG) {
        const ulong at = first + 32 * (ulong)u;
#if !ROW
        most = most_bits(a, at);
#endif
        const struct scale by = scale_of(most);
        const char16 lo = BYTES_OF(16, LOAD_16(a, at) * by.up);
        const char16 hi = BYTES_OF(16, LOAD_16(a, at + 16) * by.up);
        __global char *block =
            q + off_q + ((ulong)row * units + u) * ACTIVATION_BYTES;
        ((__global float *)block)[0] = by.d;
        ((__global float *)block)[1] = by.d * (float)bytes_sum(lo, hi);
        vstore16(lo, 0, block + 8);
        vstore16(hi, 0, block + 24);
    }
#endif
}
