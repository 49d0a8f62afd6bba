/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     out[i] = the sum of item i's CHAINS walks through random words:
 *               place = word at place + the number of the step, each begun
 *               elsewhere. A step cannot be begun before the last one's word
 *               is there; walks know nothing of each other. The number of the
 *               step keeps walks from running into a circle.
 * Arguments:    words: 2^n random ones; mask: 2^n - 1. out: one word an item.
 *               steps: of a walk.
 * Launch:       one dimension, any size.
 * Local memory: none.
 * -D:           CHAINS  1 to 8
 * Needs:        nothing.
 * Cost:         steps * CHAINS words read an item, each of another place.
 * Source:       the host walks too, since words are probe/bandwidth.cl's. */
#ifndef CHAINS
#define CHAINS 4
#endif

#define APART 0x9e3779b1u /* odd: starts are all over */

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
