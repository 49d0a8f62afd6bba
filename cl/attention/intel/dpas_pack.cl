/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     k and v of all heads in tiles, v's transposed: the layout of
 *               attention/intel/dpas.clh.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh): k and v of type DT,
 *               columns contiguous; to: lines of 32 bytes, those of k from
 *               first_k on, of v from first_v on, n_lines of each head.
 * Launch:       3-D: a line each, n_lines along x; heads of k times n_batch; 2:
 *               k, v.
 * Local memory: none.
 * -D:           DPAS_LANES: common/intel/dpas.clh; VA: attention/intel/dpas.clh;
 *               attention/attention.clh, DT 1 or 2.
 * Needs:        nothing.
 * Cost:         no flop; k and v are read and written once.
 * Source:       the definition. */
#include "attention/intel/dpas.clh"

__kernel void attention_dpas_pack(ATTENTION_PARAMS,
                                  __global uint8 *restrict to,
                                  const ulong first_k, const ulong first_v,
                                  const ulong n_lines)
{
    COPY_SIZES
    const ulong at_line = get_global_id(0), z = get_global_id(1);
    const ulong n_kv_heads = n.n_heads / n.share;
    const ulong b = z / n_kv_heads, g = z % n_kv_heads;
    const ulong tile = at_line / DPAS_M;
    const uint r = (uint)(at_line % DPAS_M);
    if (at_line >= n_lines)
        return;
    SEQUENCE(b);
    to += z * n_lines + at_line;
    if (get_global_id(2) == 0) {
        const ulong j = tile / KI * DPAS_M + r;
        const bool has = j < n.n_kv;
        __global const ushort *x = (__global const ushort *)k +
                                   KEYS_AT(at.k, b, g) +
                                   KEY_AT(at.k, b, has ? j : 0);
        to[first_k] = LINE_OF(x, (uint)(tile % KI) * DPAS_K, has);
    } else {
        const ulong j0 = tile / NI * DPAS_K;
        const uint c = (uint)(tile % NI) * DPAS_M + r;
        __global const ushort *x =
            (__global const ushort *)v + KEYS_AT(at.v, b, g) + (c < D ? c : 0);
        uint w[DPAS_WORDS];
        DPAS_UNROLL
        for (uint i = 0; i < DPAS_K; i++) {
            const ulong j = j0 + i;
            const bool has = c < D && j < n.n_kv;
            const uint one = has ? x[KEY_AT(at.v, b, j)] : 0;
            w[i / 2] = i % 2 ? w[i / 2] | one << 16 : one;
        }
        to[first_v] = vload8(0, w);
    }
}
