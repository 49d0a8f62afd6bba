/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, an element by one item, which
 *               adds one row of W's products, or those of a pair.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh).
 * Launch:       2-D, global (columns of C rounded up to the local size, m).
 * Local memory: none.
 * -D:           quantised/product.clh.
 * Needs:        nothing.
 * Cost:         2 m n k flop; W is read m times, A n times.
 * Source:       the definition. */
#include "quantised/product.clh"
#include "common/subgroup.clh"

__kernel XL_OF_WIDTH void qgemm_ref(PRODUCT_PARAMS)
{
    const uint j = (uint)get_global_id(0), i = (uint)get_global_id(1);
    float y[TOGETHER];
    if (j >= n / TOGETHER)
        return;
    for (uint r = 0; r < TOGETHER; r++) {
        const struct weights w = WEIGHTS_ROW(r * (n / TOGETHER) + j);
        float16 sum = (float16)(0.0f);
        for (uint u = 0; u < units; u++) {
            const ulong at = off_a + i * rs_a + UNIT_A * (ulong)u;
#if TA == 5
            const struct codes x = load_codes(&w, u);
            sum.s0 += bytes_product(&x, a + at);
#else
            const struct unit x = load_unit(&w, u);
            sum = add_unit(&x, LOADV(16, TA, a, at), LOADV(16, TA, a, at + 16),
                           sum);
#endif
        }
        y[r] = SUM_16(sum);
    }
    STORE_C(i, j, y[0], y[1]);
    (void)m;
}
