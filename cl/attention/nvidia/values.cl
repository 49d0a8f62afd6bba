/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     v of bytes as attention/nvidia/values.clh has it, by way of
 *               local memory, so that all 16 bytes of neighbouring items are
 *               neighbours; what scores and results of each head of k are
 *               multiplied by; the counter of tiles, 0.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), contiguous columns;
 *               scratch: a counter, FACTORS_AT, and from first_value on the
 *               values; n_parts: parts of 4096 bytes of a head's.
 * Launch:       3-D, local (128, 1, 1): 32 items a part; heads of k; n_batch.
 * Local memory: 18432 bytes.
 * -D:           D, a multiple of 128; BK (96 128); attention/attention.clh.
 * Needs:        scales that are the same for all keys of a head.
 * Cost:         no flop; v is read and written once.
 * Source:       the definition. */
#ifndef D
#define D 128
#endif
#include "attention/attention.clh"

#ifndef BK
#define BK 96
#endif
#include "attention/nvidia/values.clh"

enum {
    WG = 128,
    PART = 4096, /* bytes: V_LINE keys of PART / V_LINE columns */
    ITEMS = 32,  /* of a part */
    KEYS = 32,   /* of an item, in COLUMNS columns */
    COLUMNS = 4,
    CHUNK = 16
};
/* Where a byte of a part is in local memory: lines of 128 bytes are apart by an
 * odd number of chunks. */
#define PLACE(byte) ((byte) + (byte) / 128 * CHUNK)

/* Byte c of words i and i + 1, and of those 8 on. */
static inline uint gather(const uint *x, const uint i, const uint c)
{
    const uint at = 8 * c;
    return (x[i] >> at & 255) | (x[i + 1] >> at & 255) << 8 |
           (x[i + 8] >> at & 255) << 16 | (x[i + 9] >> at & 255) << 24;
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void attention_wgmma_values(ATTENTION_PARAMS, __global uchar *scratch,
                            const ulong first_value, const uint n_parts)
{
    __local uchar all[WG / ITEMS * PLACE(PART)] __attribute__((aligned(16)));
    const uint part = (uint)get_global_id(0) / ITEMS;
    const uint item = (uint)get_local_id(0) % ITEMS;
    const ulong g = get_global_id(1), b = get_global_id(2);
    const ulong z = b * (n.n_heads / n.share) + g;
    __local uchar *mine = all + get_local_id(0) / ITEMS * PLACE(PART);
    if (get_global_id(0) == 0) {
        if (z == 0)
            *(__global uint *)scratch = 0;
        ((__global float2 *)(scratch + FACTORS_AT))[z] = (float2)(
            K_SCALED(scale, b, g, 0) * M_LOG2E_F, V_SCALED(1.0f, b, g, 0));
    }
    if (part < n_parts) {
        const uint beside = PART / V_LINE / COLUMNS; /* items */
        const uint column = item % beside * COLUMNS;
        const uint key = item / beside * KEYS; /* of a piece of V_LINE */
        const uint first_column = part * (PART / V_LINE) % D;
        const ulong key0 = part / (V_LINE * D / PART) * V_LINE + key;
        uint x[KEYS];
        v += KEYS_AT(at.v, b, g) + first_column + column;
#pragma unroll
        for (uint i = 0; i < KEYS; i++)
            x[i] = key0 + i < n.n_kv ? *(__global const uint *)(
                                           v + KEY_AT(at.v, b, key0 + i))
                                     : 0;
#pragma unroll
        for (uint c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (uint i = 0; i < KEYS; i += CHUNK) {
                const uint to = value_chunk_at(key + i, column + c);
                *(__local uint4 *)(mine + PLACE(to)) =
                    (uint4)(gather(x, i, c), gather(x, i + 2, c),
                            gather(x, i + 4, c), gather(x, i + 6, c));
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part >= n_parts)
        return;
    scratch += first_value + (z * n_parts + part) * PART;
#pragma unroll
    for (uint i = item * CHUNK; i < PART; i += ITEMS * CHUNK)
        *(__global uint4 *)(scratch + i) = *(__local uint4 *)(mine + PLACE(i));
}
