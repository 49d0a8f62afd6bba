/* SPDX-License-Identifier: Apache-2.0 */
/* Computes an expression element by element where operands are transposed: they
 * are contiguous along another loop (`line`) than the results (`at`, the last
 * loop). The kernel goes through both loops in tiles:
 *
 *     in memory      tile       results
 *     line -->                  at -->
 *     a b c d       a e i       a e i
 *     e f g h  -->  b f j  -->  b f j
 *     i j k l       c g k       c g k
 *
 * The whole tile of an operand is read before any result of the tile is
 * written, so a result may be stored where the operand was.
 *
 * Arguments: XL_PARAMS XL_TILE_PARAMS of the element part
 * (expr/map_element.clh); with XL_RUNS, tiles, their number, and per_wg, the
 * tiles of a work-group.
 *
 * Launch: 1 dimension, XL_WG items a work-group. XL_RUNS 0: a work-group a
 * tile, XL_WG a divisor of XL_TILE^2 / XL_VW and at least XL_TILE. XL_RUNS 1,
 * for CPUs: one item a group, ceil(tiles / per_wg) groups; a tile is XL_BLOCKS
 * adjacent blocks of XL_VW x XL_VW elements (XL_TILE = XL_VW), which are
 * transposed in registers (expr/transpose.clh).
 *
 * Local memory: with XL_RUNS 0, the arrays of XL_TILES; their row pitch avoids
 * bank conflicts.
 *
 * -D or #define: XL_WG, XL_UNROLL, XL_RUNS, XL_VW, XL_TILE, XL_BLOCKS, XL_WIDE.
 *
 * Cost: each operand is read or written once. */
#ifndef XL_TILE
#define XL_TILE 32
#endif
#ifndef XL_WG
#define XL_WG 256
#endif
#ifndef XL_UNROLL
#define XL_UNROLL 2
#endif
#ifndef XL_RUNS
#define XL_RUNS 0
#endif
#ifndef XL_VW
#define XL_VW 1
#endif
#ifndef XL_BLOCKS
#define XL_BLOCKS 2
#endif

#include "expr/map_element.clh"
#if XL_RUNS
#include "expr/transpose.clh"
#endif

/* Reads of an item to fill a tile, which are so many rows apart; and its
 * vectors of the tile. */
#define XL_READS (XL_TILE * XL_TILE / XL_WG)
#define XL_STEP (XL_WG / XL_TILE)
#define XL_VECTORS (XL_TILE * XL_TILE / XL_VW / XL_WG)
#define XL_PER_LINE (XL_TILE / XL_VW)

/* The indices of vector r + u of an item. */
#define XL_POSITION                                                           \
    const uint e = item + (r + u) * XL_WG;                                    \
    const uint y = e / XL_PER_LINE, x = e % XL_PER_LINE * XL_VW;              \
    const IDX line = first_line + y;                                          \
    const IDX at = first_at + x;                                              \
    XL_PLACES

__kernel __attribute__((reqd_work_group_size(XL_WG, 1, 1)))
void expr_map(XL_PARAMS XL_TILE_PARAMS
#if XL_RUNS
              , const IDX tiles, const IDX per_wg
#endif
)
{
#if XL_RUNS
    const IDX begin = (IDX)xl_group_id(0) * per_wg;
    const IDX end = min(begin + per_wg, tiles);
    for (IDX f = begin; f < end; f++) {
        XL_TILE_START
        for (IDX at = first_at;
             at < min(first_at + XL_VW * XL_BLOCKS, XL_INNER); at += XL_VW) {
            XL_TILES
            if (first_line + XL_TILE <= XL_ACROSS &&
                at + XL_TILE <= XL_INNER) {
                {
                    const IDX line = first_line;
                    XL_PLACES
                    XL_TURN
                }
                for (uint y = 0; y < XL_VW; y++) {
                    const IDX line = first_line + y;
                    XL_PLACES
                    XL_PREFETCH
                    XL_LOADS
                    XL_RESULTS
                }
            } else {
                const uint lines =
                    (uint)min(XL_ACROSS - first_line, (IDX)XL_VW);
                const uint count = (uint)min(XL_INNER - at, (IDX)XL_VW);
                {
                    const IDX line = first_line;
                    XL_PLACES
                    XL_TURN_PART
                }
                for (uint y = 0; y < lines; y++) {
                    const IDX line = first_line + y;
                    XL_PLACES
                    XL_LOADS_PART
                    XL_RESULTS_PART
                }
            }
        }
    }
#else
    XL_TILES
    const uint item = get_local_id(0);
    const IDX f = (IDX)xl_group_id(0);
    XL_TILE_START
    {
        /* Adjacent items read elements that are adjacent along `line`; past the
         * end of a loop the last element is read again. */
        const uint y = item % XL_TILE, x = item / XL_TILE;
        const IDX line = min(first_line + y, XL_ACROSS - 1);
        XL_TILE_ARRAYS
#pragma unroll
        for (uint u = 0; u < XL_READS; u++) {
            const IDX at = min(first_at + x + u * XL_STEP, XL_INNER - 1);
            XL_PLACES
            XL_TILE_READS
        }
#pragma unroll
        for (uint u = 0; u < XL_READS; u++) {
            XL_TILE_WRITES
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first_line + XL_TILE <= XL_ACROSS && first_at + XL_TILE <= XL_INNER) {
        for (uint r = 0; r < XL_VECTORS; r += XL_UNROLL) {
            XL_ARRAYS
#pragma unroll
            for (uint u = 0; u < XL_UNROLL; u++) {
                XL_POSITION
                XL_LOADS
                XL_HOLD
            }
#pragma unroll
            for (uint u = 0; u < XL_UNROLL; u++) {
                XL_POSITION
                XL_HELD
                XL_RESULTS
            }
        }
    } else {
        const uint u = 0;
#pragma unroll 1
        for (uint r = 0; r < XL_VECTORS; r++) {
            XL_POSITION
            if (line < XL_ACROSS && at < XL_INNER) {
#if XL_VW > 1
                const uint count = (uint)min(XL_INNER - at, (IDX)XL_VW);
#endif
                XL_LOADS_PART
                XL_RESULTS_PART
            }
        }
    }
#endif
}
