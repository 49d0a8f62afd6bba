/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     nothing: nothing, for the cost of a launch itself.
 *               spin: out[i] = x after `steps` of x = x * x + c in 32-bit
 *                   integers, from x = i, c = 2 i + 1: a kernel of a chosen
 *                   duration, which no compiler can shorten since the map is
 *                   quadratic.
 *               arguments: nothing, with arguments to be passed.
 *               local_memory: nothing, in a group that has local memory.
 * Arguments:    nothing, local_memory: none. arguments: seven structs of 128
 *               bytes, of any value. spin: out, one word per item.
 * Launch:       one dimension, any size.
 * Local memory: local_memory: 4 LOCAL_WORDS bytes.
 * -D:           LOCAL_WORDS (local_memory)
 * Needs:        nothing.
 * Cost:         2 steps integer operations per item; 4 bytes written.
 * Source:       the host computes the same sum to check it
 *               (sampling/event_clock.c). */
#ifndef LOCAL_WORDS
#define LOCAL_WORDS 256
#endif

__kernel void nothing(void)
{
}

__kernel void arguments(const ulong16 a, const ulong16 b, const ulong16 c,
                        const ulong16 d, const ulong16 e, const ulong16 f,
                        const ulong16 g)
{
}

__kernel void local_memory(void)
{
    __local volatile uint mem[LOCAL_WORDS];
    mem[get_local_id(0)] = 0;
}

__kernel void spin(__global uint *restrict out, const uint steps)
{
    uint x = (uint)get_global_id(0);
    const uint c = 2 * x + 1;
    for (uint i = 0; i < steps; i++)
        x = x * x + c;
    out[get_global_id(0)] = x;
}
