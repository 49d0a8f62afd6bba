/* SPDX-License-Identifier: Apache-2.0 */
/* Computes reductions of rows and what depends on them, such as softmax: an
 * expression over rows that stay whole. A row is swept as often as its
 * reductions depend on each other. In each sweep an item folds its share into
 * states (expr/reduce.clh), and the items of the row join theirs. The element
 * part (expr/reduction_element.clh) has the operands and the arithmetic,
 * expr/row_sweep.clh a sweep; this file decides which items process which rows.
 *
 * Arguments: XL_PARAMS, then
 *   each                       with XL_RUNS: rows of a work-group
 *
 * Launch: 1 dimension, XL_WG items a work-group. XL_RUNS 1, for CPUs: one item
 * a group, ceil(rows / each) groups. XL_RUNS 0: XL_LANES items a row,
 * ceil(rows XL_LANES / XL_WG) groups; items past the last row process no
 * elements but execute the barriers.
 *
 * Local memory: for each row of a work-group and each state XL_LANES states and
 * the upper levels of their join (expr/row_sweep.clh); none for one lane.
 *
 * -D or #define: XL_WG, XL_LANES (a power of two that divides XL_WG), XL_HELD
 * (vectors of an item in registers from sweep to sweep, which hold the row; 0:
 * each sweep reads it), XL_KEPT_ELEMS (with XL_RUNS; most elements of a row, of
 * which XL_KEPT has values in private memory from sweep to sweep; not defined:
 * none), XL_UNROLL (1 to 4), XL_RUNS, XL_VW (1 2 4 8 16), XL_WIDE.
 *
 * Cost: each operand is read or written once; without XL_HELD, read once a
 * sweep that uses it. */
#ifndef XL_WG
#define XL_WG 1
#endif
#ifndef XL_LANES
#define XL_LANES 1
#endif
#ifndef XL_HELD
#define XL_HELD 0
#endif
#ifndef XL_UNROLL
#define XL_UNROLL 4
#endif
#ifndef XL_RUNS
#define XL_RUNS (XL_WG == 1)
#endif

#include "common/subgroup.clh"
#include "expr/row_sweep.clh"

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1))) XL_OF_WIDTH
void expr_row_reduction(XL_PARAMS
#if XL_RUNS
               , const IDX each
#endif
)
{
    const IDX rows = XL_ROWS;
#if XL_RUNS
    const uint lane = 0;
    const IDX begin = (IDX)xl_group_id(0) * each;
    for (IDX row = begin; row < min(begin + each, rows); row++) {
        const IDX lines = XL_LINES;
#else
    XL_STATES(XL_ROOM)
    const uint item = get_local_id(0), lane = item % XL_LANES;
    const IDX own =
        (IDX)xl_group_id(0) * (XL_WG / XL_LANES) + item / XL_LANES;
    const IDX row = min(own, rows - 1);
    const IDX lines = own >= rows ? 0 : XL_LINES;
#if XL_LANES == 1
    if (own < rows)
#endif
    {
#endif
        XL_ROW_PLACES
        XL_ROW_SIZES
        const IDX first = 0, end = lines * per_line;
        const IDX first_one = 0, end_one = lines * left;
#if XL_HELD
        const uint mine = (uint)((end + (XL_LANES - 1) - lane) / XL_LANES);
        const IDX last = lane + (IDX)(mine - 1) * XL_LANES;
        XL_KEPT
#elif defined(XL_KEPT_ELEMS)
        XL_KEPT
#endif
        XL_SWEEPS
#if !XL_RUNS
        if (lane == 0 && own < rows)
#endif
        {
            XL_ROW_END
        }
    }
}
