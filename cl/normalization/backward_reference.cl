/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradient of a softmax, its logarithm or a norm of rows
 *               (normalization/backward.clh). One item a row, sweeps over it.
 * Arguments:    BACKWARD_PARAMS: src of DT, dst of OT, g (`added`) of MT: rows
 *               x cols from off_..., with strides ..._ld and ..._step; gain of
 *               GT: cols, with a step; dst may be src or g. `kept`: 3 floats a
 *               row.
 * Launch:       global >= rows in one dimension, any local size.
 * Local memory: none.
 * -D:           DT OT MT VW 1 (normalization/row_access.clh); NORM LOG KEEP;
 *               RMS GT (normalization/norm.clh).
 * Needs:        nothing.
 * Cost:         4 rows cols flop, of a norm 14; two reads of src and g, of a
 *               norm a third of src; one write.
 * Source:       the derivative; Kahan 1965 for the sums. */
#ifndef VW
#define VW 1
#endif
#include "common/types.clh"
#include "normalization/backward.clh"
#include "normalization/row_reference.clh"

#define X(j) LOAD(DT, r.src, (j)*src_step)
#if GT >= 0
#define G(j) (LOAD(MT, r.added, (j)*added_step) *                             \
              LOAD(GT, gain + off_gain, (j)*gain_step))
#else
#define G(j) LOAD(MT, r.added, (j)*added_step)
#endif
#define TO_CENTER(j) add(&all[0], X(j) - first);
#define TO_SUMS(j)                                                            \
    {                                                                         \
        struct terms one;                                                     \
        for (uint t = 0; t < TERMS; t++)                                      \
            one.of[t] = 0.0f;                                                 \
        add_terms(&one, r, 0, X(j), G(j), s.center);                          \
        for (uint t = 0; t < TERMS; t++)                                      \
            add(&all[t], one.of[t]);                                          \
    }
#define PUT(j) RESULTS(1, , r, (j)*dst_step, gradient_of(r, w, X(j), G(j)), j);
/* Four columns an iteration: with sixteen of two operands registers spill. */
#define FOR_FOUR(BODY)                                                        \
    for (ulong j = 0; j < cols; j += 4) {                                     \
        FOUR(BODY, j)                                                         \
    }
#define CLEAR                                                                 \
    for (uint t = 0; t < TERMS; t++)                                          \
        all[t] = (struct sum){0.0f, 0.0f};

__kernel void rows_backward_ref(BACKWARD_PARAMS, const ulong src_step,
                                const ulong dst_step, const ulong gain_step)
{
    const ulong i = get_global_id(0);
    if (i >= rows)
        return;
    const struct row r = ROW(i);
    struct sum all[TERMS];
    struct sums s;
    s.center = 0.0f;
    CLEAR
#if NORM && !RMS
    const float first = X(0);
    FOR_FOUR(TO_CENTER)
    s.center = first + all[0].sum / (float)cols;
    CLEAR
#endif
    FOR_FOUR(TO_SUMS)
    for (uint t = 0; t < TERMS; t++)
        s.of[t] = all[t].sum;
    const struct whole w = WHOLE(s);
    KEEP_ROW(kept, i, w);
    FOR_FOUR(PUT)
}
