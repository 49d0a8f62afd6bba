/* SPDX-License-Identifier: Apache-2.0 */
/* Computes an expression element by element. The element part
 * (expr/map_element.clh) has the operands and the arithmetic; this file decides
 * which item processes which elements.
 *
 * Arguments: XL_PARAMS, then
 *   vectors                    vectors of all rows; a row is the last loop, its
 *                              last vector may be cut
 *   per_row, mul_0, shift_0    with several loops: vectors of a row, and the
 *                              divisor constants for it (xl_divide)
 *   XL_DIVISORS                those of the loops between
 *   per_wg                     with XL_RUNS: vectors of a work-group
 *
 * Launch: 1 dimension, XL_WG items a work-group. XL_RUNS 1, for CPUs: one item
 * a group, ceil(vectors / per_wg) groups, each of which processes a run of
 * vectors. XL_RUNS 0: adjacent items process adjacent vectors, XL_UNROLL each,
 * XL_WG apart: ceil(vectors / (XL_WG XL_UNROLL)) groups. An item loads all of
 * its vectors before it uses the first one: the compiler cannot move a load
 * before an earlier store, since both may access an output that is changed in
 * place.
 *
 * Local memory: none.
 *
 * -D or #define: XL_WG, XL_UNROLL, XL_RUNS, XL_VW (1 2 4 8 16), XL_WIDE.
 *
 * Cost: each operand is read or written once. */
#ifndef XL_WG
#define XL_WG 1
#endif
#ifndef XL_UNROLL
#define XL_UNROLL 1
#endif
#ifndef XL_RUNS
#define XL_RUNS 1
#endif

#include "expr/map_element.clh"

/* Of vector number f: its row, with the indices of the outer loops, and its
 * number in the row. */
#if XL_LOOPS > 1
#define XL_ROW                                                                \
    const IDX row = xl_divide(f, per_row, mul_0, shift_0);                    \
    XL_OUTER
#define XL_COLUMN (f - row * per_row)
#else
#define XL_ROW
#define XL_COLUMN f
#endif
#define XL_POSITION                                                           \
    XL_ROW                                                                    \
    const IDX at = XL_COLUMN * XL_VW;                                         \
    XL_PLACES

/* Are all vectors of the work-group whole? Where rows consist of whole vectors,
 * or where all of the group's are whole vectors of one row. */
#define XL_SPAN (XL_WG * XL_UNROLL)
#if XL_VW == 1
#define XL_IS_FULL (base + XL_SPAN <= vectors)
#elif XL_LOOPS == 1
#define XL_IS_FULL ((base + XL_SPAN) * XL_VW <= XL_INNER)
#else
#define XL_IS_FULL                                                            \
    (XL_INNER % XL_VW == 0                                                    \
         ? base + XL_SPAN <= vectors                                          \
         : (base - xl_divide(base, per_row, mul_0, shift_0) * per_row +       \
            XL_SPAN) *                                                        \
                   XL_VW <=                                                   \
               XL_INNER)
#endif

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1)))
void expr_map(XL_PARAMS, const IDX vectors
#if XL_LOOPS > 1
              , const IDX per_row, const uint mul_0, const uint shift_0
              XL_DIVISORS
#endif
#if XL_RUNS
              , const IDX per_wg
#endif
)
{
#if XL_RUNS
    IDX f = (IDX)xl_group_id(0) * per_wg;
    const IDX end = min(f + per_wg, vectors);
#if XL_LOOPS > 1
    while (f < end) {
        XL_ROW
        IDX c = XL_COLUMN;
        const IDX stop = min(per_row, c + (end - f));
        f += stop - c;
#else
    {
        IDX c = f;
        const IDX stop = end;
#endif
        XL_PLACES
        for (; c < stop && (c + 1) * XL_VW <= XL_INNER; c++) {
            const IDX at = c * XL_VW;
            XL_PREFETCH
            XL_LOADS
            XL_RESULTS
        }
#if XL_VW > 1
        if (c < stop) {
            const IDX at = c * XL_VW;
            const uint count = (uint)min(XL_INNER - at, (IDX)XL_VW);
            XL_LOADS_PART
            XL_RESULTS_PART
        }
#endif
    }
#else
    const IDX base = (IDX)xl_group_id(0) * XL_SPAN;
    const IDX first = base + (IDX)get_local_id(0);
    if (XL_IS_FULL) {
#if XL_UNROLL > 1
        XL_ARRAYS
#pragma unroll
        for (uint u = 0; u < XL_UNROLL; u++) {
            const IDX f = first + u * XL_WG;
            XL_POSITION
            XL_LOADS
            XL_HOLD
        }
#pragma unroll
        for (uint u = 0; u < XL_UNROLL; u++) {
            const IDX f = first + u * XL_WG;
            XL_POSITION
            XL_HELD
            XL_RESULTS
        }
#else
        const IDX f = first;
        XL_POSITION
        XL_LOADS
        XL_RESULTS
#endif
    } else {
        /* One vector after another, each tested. */
#pragma unroll 1
        for (uint u = 0; u < XL_UNROLL; u++) {
            const IDX f = first + u * XL_WG;
            if (f >= vectors)
                break;
            XL_POSITION
#if XL_VW > 1
            const uint count = (uint)min(XL_INNER - at, (IDX)XL_VW);
#endif
            XL_LOADS_PART
            XL_RESULTS_PART
        }
    }
#endif
}
