/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     dst[i][j] = exp(x[i][j] - t) / sum_j exp(x[i][j] - t), with LOG
 *               its logarithm x[i][j] - t - log(sum_j exp(x[i][j] - t)),
 *               x = scale * src + mask, t = max_j x[i][j]; the specials of
 *               xl_softmax_run(). One item a row, three sweeps over it.
 * Arguments:    src of DT, dst of OT: rows x cols from off_src, off_dst on,
 *               strides src_ld, src_step and dst_ld, dst_step; may be one view.
 *               mask (`added`): rows x cols of MT, strides added_ld and
 *               added_step, 0 allowed. scale, rows, cols. Lengths in elements.
 * Launch:       global >= rows in one dimension, any local size.
 * Local memory: none.
 * -D:           DT 0..2, OT, MT -1..3, VW 1, LOG (normalization/softmax.clh).
 * Needs:        nothing; double precision for MT 3.
 * Cost:         5 rows cols flop; 3 reads and 1 write of each element.
 * Source:       Kahan 1965 for the sum, so that its length does not show. */
#ifndef VW
#define VW 1
#endif
#include "common/types.clh"
#include "normalization/softmax.clh"
#include "normalization/row_reference.clh"

#define RAISE(j) top = fmax(top, at(r, j, src_step XL_PROLOGUE_ARGS));
#define ADD(j) add(&sum, exp(at(r, j, src_step XL_PROLOGUE_ARGS) - shift));
#define PUT(j)                                                                \
    RESULTS(1, , r, (j)*dst_step,                                             \
            result_of_x(at(r, j, src_step XL_PROLOGUE_ARGS), shift, share), j);

__kernel void softmax_ref(ROW_PARAMS, const ulong src_step,
                          const ulong dst_step)
{
    const ulong i = get_global_id(0);
    if (i >= rows)
        return;
    const struct row r = ROW(i);
    float top = -INFINITY;
    struct sum sum = {0.0f, 0.0f};
    FOR_COLS(RAISE)
    const float shift = shift_of(top);
    FOR_COLS(ADD)
    const float share = share_of(sum.sum);
    FOR_COLS(PUT)
}
