/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     nothing: nothing at all, for what a launch itself costs.
 *               spin: out[i] = x after `steps` of x = x * x + c in 32-bit
 *               integers, from x = i, c = 2 i + 1: work of a length that is
 *               chosen, which no compiler can shorten since the map is
 *               quadratic.
 * Arguments:    nothing: none. spin: out, one word an item.
 * Launch:       one dimension, any size.
 * Local memory: none.
 * -D:           none.
 * Needs:        nothing.
 * Cost:         2 steps integer operations an item; 4 bytes written.
 * Source:       the host does the same sum to check it (timer.c). */
__kernel void nothing(void)
{
}

__kernel void spin(__global uint *restrict out, const uint steps)
{
    uint x = (uint)get_global_id(0);
    const uint c = 2 * x + 1;
    for (uint i = 0; i < steps; i++)
        x = x * x + c;
    out[get_global_id(0)] = x;
}
