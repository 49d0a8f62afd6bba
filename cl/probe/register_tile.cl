/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     out[r][c] = iterations * sum over DEPTH of a[l][r] b[l][c], a
 *               tile of RM x RN sums in registers, the same in each
 *               work-item, each stored separately: what a GEMM kernel for
 *               CPUs does between two loads of its panels.
 * Arguments:    a: DEPTH rows of RM floats; b: DEPTH rows of RN; out: RM x RN
 *               floats per item. iterations: over the panels.
 * Launch:       one dimension, local 1, any number of items.
 * Local memory: none.
 * -D:           VW      floats of a vector: 4 8 16
 *               RM, RN  rows and columns of the tile; RN a multiple of VW
 *               DEPTH   rows of a panel
 * Needs:        nothing.
 * Cost:         2 RM RN DEPTH iterations flop per item; the panels stay in
 *               the first-level cache; 4 RM RN bytes written.
 * Source:       Goto, van de Geijn 2008, section 4. */
#ifndef VW
#define VW 4
#endif
#ifndef RM
#define RM 4
#endif
#ifndef RN
#define RN 8
#endif
#ifndef DEPTH
#define DEPTH 64
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NV (RN / VW)
typedef CAT(float, VW) vec;

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tile(__global const float *restrict a, __global const float *restrict b,
     __global float *restrict out, const uint iterations)
{
    vec sum[RM][NV];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            sum[r][v] = (vec)(0.0f);
    }
    for (uint i_step = 0; i_step < iterations; i_step++) {
        for (uint l = 0; l < DEPTH; l++) {
            vec line[NV];
            #pragma unroll
            for (uint v = 0; v < NV; v++)
                line[v] = CAT(vload, VW)(v, b + l * RN);
            #pragma unroll
            for (uint r = 0; r < RM; r++) {
                #pragma unroll
                for (uint v = 0; v < NV; v++)
                    sum[r][v] = fma((vec)(a[l * RM + r]), line[v], sum[r][v]);
            }
        }
    }
    out += get_global_id(0) * (RM * RN);
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            CAT(vstore, VW)(sum[r][v], v, out + r * RN);
    }
}
