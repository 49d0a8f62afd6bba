/* SPDX-License-Identifier: Apache-2.0 */
/* Computes reductions over the outer loops of an expression: columns, side by
 * side. An item owns vectors of adjacent columns and goes down the lines, so
 * each access is as wide and contiguous as in a copy:
 *
 *          column 0   1  ..   XL_SIDE - 1
 *   lane 0   |vw|vw|vw|vw|vw|   a work-group: XL_LANES items share a column and
 *   lane 1   |vw|vw|vw|vw|vw|   join their states through local memory
 *
 * An item keeps the states of XL_HELD adjacent vectors: one, in registers, on a
 * GPU; many, in the core's first-level cache, on a CPU, where it goes along
 * the line before it goes down. There is one sweep, and nothing is stored but
 * values of columns. `row` numbers the combinations of the outer kept loops. If
 * the columns are too few to fill the device, the lines are cut into chunks:
 *
 *   expr_column_reduction         columns, or chunks of them
 *   expr_column_reduction_join    with XL_JOINS: joins the chunks of each
 *                                 column, computes what depends on them and
 *                                 stores it
 *
 * The element part is expr/reduction_element.clh.
 *
 * Arguments: XL_PARAMS, then with XL_CHUNKED or XL_JOINS XL_SCRATCH_PARAMS
 * (expr/states.clh). Scratch has the states of vector v of chunk c at index
 * (c rows + row) vectors + v.
 *
 * Launch: 1 dimension, XL_WG items a work-group;
 * rows chunks ceil(columns / (XL_SIDE XL_HELD XL_VW)) groups, and for the join
 * rows ceil(vectors / XL_SIDE), where XL_SIDE = XL_WG / XL_LANES.
 *
 * Local memory: for each state XL_WG states of width XL_VW; none for one item.
 *
 * -D or #define: XL_JOINS, XL_CHUNKED, XL_WG, XL_LANES (divides XL_WG), XL_HELD
 * (1 if XL_JOINS), XL_UNROLL (lines of a step: 1 to 4), XL_VW (1 2 4 8 16),
 * XL_WIDE.
 *
 * Cost: each operand is read once; with chunks, a state is written and read for
 * each. */
#ifndef XL_JOINS
#define XL_JOINS 0
#endif
#ifndef XL_CHUNKED
#define XL_CHUNKED XL_JOINS
#endif
#ifndef XL_WG
#define XL_WG 1
#endif
#ifndef XL_LANES
#define XL_LANES 1
#endif
#ifndef XL_HELD
#define XL_HELD (XL_WG > 1 || XL_JOINS ? 1 : 4)
#endif
#ifndef XL_UNROLL
#define XL_UNROLL 4
#endif
#define XL_COLUMNS

#include "common/subgroup.clh"
#include "expr/reduction_element.clh"

#define XL_RESULT_WIDTH XL_VW
#include "expr/states.clh"
#include "expr/sweep_step.clh"

#define XL_KIND(acc) XL_KIND_(acc, XL_VW)
#define XL_KIND_(acc, W) XL_##acc(W)
XL_KINDS(XL_KIND)

/* -- lanes ----------------------------------------------------------------
 */
#define XL_SIDE (XL_WG / XL_LANES)
#define XL_STATE(acc) XL_CAT4(xl_, acc, _, XL_VW)
#if XL_HELD > 1
#define XL_OF(N) a##N[c]
#else
#define XL_OF(N) a##N[0]
#endif

#if XL_LANES > 1
#define XL_KIND_GATHER(acc) XL_KIND_GATHER_(acc, XL_VW)
#define XL_KIND_GATHER_(acc, W) XL_GATHER(acc, W, __local, gather)
XL_KINDS(XL_KIND_GATHER)
#define XL_ROOM(acc, N) __local XL_STATE(acc) room##N[XL_WG];
#define XL_LEAVE(acc, N) room##N[item] = a##N[0];
#define XL_GATHER_COLUMN(acc, N)                                              \
    a##N[0] = XL_CAT4(xl_, acc, _gather_, XL_VW)(room##N + item, XL_LANES,    \
                                                 XL_SIDE);
/* Lane 0 has the states of the whole column then. */
#define XL_JOIN_LANES                                                         \
    XL_STATES(XL_LEAVE)                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                             \
    if (lane == 0) {                                                          \
        XL_STATES(XL_GATHER_COLUMN)                                           \
    }
#else
#define XL_ROOM(acc, N)
#define XL_JOIN_LANES
#endif

#define XL_ITEM (XL_WG > 1 ? get_local_id(0) : 0)
#define XL_READ(acc, N) const XL_STATE(acc) r##N = XL_OF(N);
/* Of a vector of columns at index `at`, of which `count` exist. */
#define XL_RESULTS XL_PART_ROW_0 XL_ROW_END

#if XL_JOINS
XL_KINDS(XL_KIND_COLLECT)
#define XL_COLLECT_COLUMN(acc, N)                                             \
    XL_STATE(acc)                                                             \
    a##N[1] = {XL_COLLECT(acc, N, (lane * rows + row) * vectors + own, mine,  \
                          XL_LANES * rows * vectors)};

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1))) XL_OF_WIDTH
void expr_column_reduction_join(XL_PARAMS XL_SCRATCH_PARAMS)
{
    XL_STATES(XL_ROOM)
    const uint item = XL_ITEM, column = item % XL_SIDE, lane = item / XL_SIDE;
    const IDX rows = XL_ROWS, vectors = (XL_INNER + (XL_VW - 1)) / XL_VW;
    const IDX blocks = (vectors + (XL_SIDE - 1)) / XL_SIDE;
    const IDX row = (IDX)xl_group_id(0) / blocks;
    const IDX own =
        ((IDX)xl_group_id(0) - row * blocks) * XL_SIDE + column;
    const uint mine =
        own < vectors ? (uint)((chunks + (XL_LANES - 1) - lane) / XL_LANES)
                      : 0;
    const real n_row = (real)XL_LINES;
    XL_ROW_PLACES
    XL_STATES(XL_COLLECT_COLUMN)
    XL_JOIN_LANES
    if (lane == 0 && own < vectors) {
        const IDX at = own * XL_VW;
        const uint count = (uint)min(XL_INNER - at, (IDX)XL_VW);
        XL_STATES(XL_READ)
        XL_RESULTS
    }
}
#else

/* -- a sweep down the columns ---------------------------------------------
 */
#define XL_AT_ONCE XL_FOLDED
#define XL_VECTOR_WIDTH XL_VW
#define XL_PART_WIDTH XL_VW
#define XL_VECTOR_POSITION                                                    \
    const IDX line = t + u * XL_LANES;                                        \
    XL_LINE_PLACES
#define XL_PART_POSITION XL_VECTOR_POSITION
#define XL_VECTOR_INDEX (XL_IVEC(XL_VW))((int)line)
#define XL_PART_INDEX XL_VECTOR_INDEX
#define XL_VECTOR_FOLD(acc, N)                                                \
    XL_CAT4(xl_, acc, _fold_, XL_VW)(&XL_OF(N), b##N + from, k + from, some);
#define XL_PART_FOLD(acc, N) XL_VECTOR_FOLD(acc, N)
#define XL_PART_ARRAYS_0 XL_VECTOR_ARRAYS_0
#ifndef XL_PART_RESULTS_0 /* defined if elements are stored */
#define XL_PART_RESULTS_0 XL_VECTOR_RESULTS_0
#endif
#define XL_VECTOR_ROW_0 XL_ROW_0

/* Steps of n lines, as long as there are n, for the vectors c of the item from
 * number `from` up to number `to`. */
#define XL_DOWN(T, n, from, to)                                               \
    for (; t + ((n) - 1) * XL_LANES < end; t += (n) * XL_LANES) {             \
        for (uint c = from; c < (to); c++) {                                  \
            const IDX at = begin + c * XL_VW;                                 \
            XL_##T##_ROW_0                                                    \
            XL_ARRAYS(T, 0)                                                   \
            XL_STEP(T, 0, 0, n, n, n, n)                                      \
        }                                                                     \
    }
#define XL_BEGIN(acc, N)                                                      \
    XL_STATE(acc) a##N[XL_HELD];                                              \
    for (uint c = 0; c < XL_HELD; c++)                                        \
        XL_OF(N) = XL_CAT4(xl_, acc, _none_, XL_VW)();

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1))) XL_OF_WIDTH
void expr_column_reduction(XL_PARAMS
#if XL_CHUNKED
                  XL_SCRATCH_PARAMS
#endif
)
{
    XL_STATES(XL_ROOM)
    const uint item = XL_ITEM, column = item % XL_SIDE, lane = item / XL_SIDE;
    const IDX blocks = (XL_INNER + (XL_SIDE * XL_HELD * XL_VW - 1)) /
                       (XL_SIDE * XL_HELD * XL_VW);
    const IDX group = (IDX)xl_group_id(0) / blocks;
    const IDX block = (IDX)xl_group_id(0) - group * blocks;
    const IDX rows = XL_ROWS, lines = XL_LINES;
    const real n_row = (real)lines;
#if XL_CHUNKED
    const IDX row = group / chunks, chunk = group - row * chunks;
    const IDX first = chunk * each, end = min(first + each, lines);
#else
    const IDX row = group, first = 0, end = lines;
#endif
    const IDX begin = (block * XL_SIDE + column) * (XL_HELD * XL_VW);
    const IDX columns =
        begin < XL_INNER ? min(XL_INNER - begin, (IDX)(XL_HELD * XL_VW)) : 0;
    const uint whole = (uint)columns / XL_VW, rest = (uint)columns % XL_VW;
    XL_ROW_PLACES
    XL_STATES(XL_BEGIN)
    if (whole > 0) {
        const uint to = XL_HELD > 1 ? whole : 1;
        IDX t = first + lane;
#if XL_UNROLL > 1
        XL_DOWN(VECTOR, XL_UNROLL, 0, to)
#endif
        XL_DOWN(VECTOR, 1, 0, to)
    }
#if XL_VW > 1
    if (rest > 0) {
        const uint count = rest;
        IDX t = first + lane;
        XL_DOWN(PART, 1, whole, whole + 1)
    }
#endif
    XL_JOIN_LANES
    for (uint c = 0; c < whole + (rest > 0) && lane == 0; c++) {
        const IDX at = begin + c * XL_VW;
        const uint count = c < whole ? XL_VW : rest;
        XL_STATES(XL_READ)
#if XL_CHUNKED
        const IDX vectors = (XL_INNER + (XL_VW - 1)) / XL_VW;
        const IDX place = (chunk * rows + row) * vectors + at / XL_VW;
        XL_STATES(XL_SAVE)
#else
        XL_RESULTS
#endif
    }
}
#endif
