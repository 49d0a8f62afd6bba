/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     out[i] = the sum of item i's CHAINS pointer chases through
 *               random words: address = word at address + the number of the
 *               step, each from another start. A step cannot start before the
 *               last word is loaded; chains are independent of each other.
 *               The number of the step keeps chains from entering a cycle.
 * Arguments:    words: 2^n random ones; mask: 2^n - 1. out: one word per
 *               item. steps: of a chain.
 * Launch:       one dimension, any size.
 * Local memory: none.
 * -D:           CHAINS  1 to 8
 * Needs:        nothing.
 * Cost:         steps * CHAINS words read per item, at random addresses.
 * Source:       the host computes the same chains, since words are those of
 *               probe/bandwidth.cl. */
#ifndef CHAINS
#define CHAINS 4
#endif

#define APART 0x9e3779b1u /* odd: starts are distributed over all words */

__kernel void hiding(__global const uint *restrict words,
                     __global uint *restrict out, const uint mask,
                     const uint steps)
{
    const uint item = (uint)get_global_id(0);
    uint place[CHAINS], sum = 0;
    #pragma unroll
    for (uint k = 0; k < CHAINS; k++)
        place[k] = (item * CHAINS + k) * APART;
    for (uint i = 0; i < steps; i++) {
        #pragma unroll
        for (uint k = 0; k < CHAINS; k++)
            place[k] = words[place[k] & mask] + i;
    }
    #pragma unroll
    for (uint k = 0; k < CHAINS; k++)
        sum += place[k];
    out[item] = sum;
}
