/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles cut by k where they do not fill a device evenly ("stream-K"): most
 * tiles are a group's each; from tile `whole` on, the slices of all tiles in a
 * row are dealt out evenly. Splitting each tile alike is a special case. The
 * parts of a cut tile lie in scratch in order of k; part p of tile t, both
 * counted from there on, is the (p + t)-th. */
#ifndef XL_OPS_GEMM_STREAM_H
#define XL_OPS_GEMM_STREAM_H

#include <stdbool.h>
#include <stddef.h>

struct xl__stream {
    size_t whole;  /* tiles before */
    size_t tiles;  /* cut up */
    size_t groups; /* among so many */
    size_t units;  /* slices of a tile */
    size_t each, extra; /* slices of a group; one more in the first `extra` */
};

/* Deal `tiles` of `units` slices each out to groups of which `groups` run at a
 * time: full rounds of whole tiles, then what is left, which is never nothing,
 * to groups with `least` slices where there are enough. All are at least 1,
 * tiles x units at most SIZE_MAX. */
struct xl__stream xl__stream_deal(size_t tiles, size_t units, size_t groups,
                                  size_t least);
/* Places for parts in scratch. */
size_t xl__stream_parts(const struct xl__stream *s);
/* Parts that are written and read. */
size_t xl__stream_written(const struct xl__stream *s);

#endif
