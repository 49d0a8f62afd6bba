/* SPDX-License-Identifier: Apache-2.0 */
/* Computes reductions of few long rows, each cut into chunks so that the
 * device is busy, in two launches:
 *
 *   expr_chunked_reduction        a work-group reduces one chunk of one row
 *   expr_chunked_reduction_join   with XL_JOINS: a work-group joins the chunks
 *                                 of one row, computes what depends on them
 *                                 and stores it
 *
 * There is one sweep, and nothing is stored but values of rows. The element
 * part is expr/reduction_element.clh, a sweep expr/row_sweep.clh.
 *
 * Arguments: XL_PARAMS, then XL_SCRATCH_PARAMS (expr/states.clh). Scratch has
 * the states of chunk c of row r at index r chunks + c.
 *
 * Launch: 1 dimension, XL_WG items a work-group; rows chunks groups, and one
 * group a row.
 *
 * Local memory: for each state XL_WG states and the upper levels of their join
 * (expr/row_sweep.clh); none for one item.
 *
 * -D or #define: XL_JOINS, XL_WG (a power of two), XL_UNROLL (1 to 4), XL_VW (1
 * 2 4 8 16), XL_WIDE.
 *
 * Cost: each operand is read once; a state is written and read for each chunk.
 */
#ifndef XL_JOINS
#define XL_JOINS 0
#endif
#ifndef XL_WG
#define XL_WG 1
#endif
#ifndef XL_UNROLL
#define XL_UNROLL 4
#endif
#undef XL_LANES
#define XL_LANES XL_WG
#define XL_HELD 0

#include "common/subgroup.clh"
#include "expr/row_sweep.clh"

#define XL_ITEM (XL_WG > 1 ? get_local_id(0) : 0)

#if XL_JOINS
XL_KINDS(XL_KIND_COLLECT)
#define XL_COLLECT_ROW(acc, N)                                                \
    xl_##acc##_1 r##N =                                                       \
        XL_COLLECT(acc, N, row * chunks + item, mine, XL_WG);

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1))) XL_OF_WIDTH
void expr_chunked_reduction_join(XL_PARAMS XL_SCRATCH_PARAMS)
{
    XL_STATES(XL_ROOM)
    const uint item = XL_ITEM, lane = item;
    const IDX row = (IDX)xl_group_id(0), lines = XL_LINES;
    XL_ROW_PLACES
    XL_ROW_SIZES
    const uint mine = (uint)((chunks + (XL_WG - 1) - item) / XL_WG);
    XL_STATES(XL_COLLECT_ROW)
    XL_JOIN(0)
    XL_ROW_0
    if (item == 0) {
        XL_ROW_END
    }
}
#else

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1))) XL_OF_WIDTH
void expr_chunked_reduction(XL_PARAMS XL_SCRATCH_PARAMS)
{
    XL_STATES(XL_ROOM)
    const uint item = XL_ITEM, lane = item;
    const IDX place = (IDX)xl_group_id(0);
    const IDX row = place / chunks, chunk = place - row * chunks;
    const IDX lines = XL_LINES;
    XL_ROW_PLACES
    XL_ROW_SIZES
    const IDX first = chunk * each;
    const IDX end = min(first + each, lines * per_line);
    const IDX first_one = chunk * each_one;
    const IDX end_one = min(first_one + each_one, lines * left);
    XL_SWEEPS
    if (item == 0) {
        XL_STATES(XL_SAVE)
    }
}
#endif
