/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of tiles: covering of a result, waves of work-groups, operand
 * reads, numbering of the pieces of a launch, the grid of cells that shows
 * them, and the sawtooth of the rate over the size. tiles.h has the
 * formulas. */
#include "tiling/tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static double count_tiles(size_t extent, size_t tile)
{
    return ceil((double)extent / (double)tile);
}

struct tile_cover tile_cover(size_t m, size_t n, size_t tm, size_t tn)
{
    const double tiles = count_tiles(m, tm) * count_tiles(n, tn);
    const double covered = tiles * (double)tm * (double)tn;
    return (struct tile_cover){tiles, (double)m * (double)n / covered};
}

struct tile_waves tile_waves(double groups, double units)
{
    const double waves = ceil(groups / units);
    return (struct tile_waves){waves, groups / (waves * units)};
}

/* An element of A is read once for each column of tiles, one of B once for
 * each row of tiles. */
struct tile_reads tile_reads(const size_t mnk[3], size_t tile, size_t bytes)
{
    const double m = (double)mnk[0], n = (double)mnk[1], k = (double)mnk[2];
    struct tile_reads out = {.per_a = count_tiles(mnk[1], tile),
                             .per_b = count_tiles(mnk[0], tile)};
    out.bytes =
        (m * k * out.per_a + k * n * out.per_b) * (double)bytes;
    out.flop_per_byte = 2 * m * n * k / out.bytes;
    return out;
}

/* Query i is at the place of key i + n_kv - n_q. */
double attention_keys_seen(const struct attention_sizes *a, size_t from,
                           size_t to)
{
    const double shift = (double)a->n_kv - (double)a->n_q;
    const double reach =
        a->window ? (double)a->window : (double)(a->n_kv + a->n_q);
    const double last = (double)(to - 1) + shift;
    const double end =
        fmin((double)a->n_kv, last + (a->is_causal ? 1 : reach));
    return fmax(0, end - fmax(0, (double)from + shift - reach + 1));
}

struct attention_reads attention_reads(const struct attention_sizes *a,
                                       size_t block, double chip_bytes)
{
    const double heads = (double)a->n_heads, d = (double)a->d,
                 bytes = (double)a->elem_bytes;
    const double q_and_o = 2 * heads * (double)a->n_q * d * bytes;
    const double k_and_v =
        2 * (double)a->n_kv_heads * (double)a->n_kv * d * bytes;
    double read = 0, pairs = 0;
    for (size_t i = 0; i < a->n_q; i += block)
        read +=
            attention_keys_seen(a, i, i + block < a->n_q ? i + block : a->n_q);
    for (size_t i = 0; i < a->n_q; i++)
        pairs += attention_keys_seen(a, i, i + 1);
    struct attention_reads out = {.scores = heads * (double)a->n_q *
                                            (double)a->n_kv * bytes};
    out.plain = q_and_o + k_and_v + 4 * out.scores;
    out.tiled = q_and_o + 2 * heads * read * d * bytes;
    out.bound = fmax(q_and_o + k_and_v,
                     heads * pairs * d * d * bytes * bytes / chip_bytes);
    return out;
}

size_t tile_alignment(size_t ld, size_t elem_bytes)
{
    enum { LINE = 128 }; /* the largest memory transaction */
    size_t align = LINE;
    while (align > 1 && ld * elem_bytes % align != 0)
        align /= 2;
    return align;
}

bool tile_tunable(const char *tunables, const char *name, size_t *out)
{
    const size_t len = strlen(name);
    const char *at = tunables;
    for (; (at = strstr(at, name)) != NULL; at += len)
        if (at[len] == '=' && (at == tunables || at[-1] == ' '))
            break;
    if (!at)
        return false;
    *out = (size_t)strtoull(at + len + 1, NULL, 10);
    return *out > 0;
}

/* -- tiles of a launch ---------------------------------------------------- */

xl_tiling tiling_of_shape(size_t m, size_t n, size_t rows, size_t cols)
{
    xl_tiling t = {.rows = rows,
                   .cols = cols,
                   .m = m,
                   .n = n,
                   .tiles_m = xl__ceil_div(m, rows),
                   .tiles_n = xl__ceil_div(n, cols),
                   .count = 1,
                   .band = 1};
    if (!xl__mul(t.tiles_m, t.tiles_n, &t.whole))
        t.whole = 0;
    t.groups = t.whole;
    return t;
}

size_t tiling_n_pieces(const xl_tiling *t)
{
    return t->whole + t->sharers;
}

double tiling_useful_area(const xl_tiling *t)
{
    if (!tiling_has_map(t))
        return (double)NAN;
    return t->is_even ? 1 : tile_cover(t->m, t->n, t->rows, t->cols).area;
}

bool tiling_has_map(const xl_tiling *t)
{
    return t->rows > 0 && t->tiles_m > 0 && t->tiles_n > 0;
}

static size_t count_cut_tiles(const xl_tiling *t)
{
    return t->tiles_m * t->tiles_n * t->count - t->whole;
}

double tiling_piece_frac(const xl_tiling *t, size_t piece)
{
    return piece < t->whole || t->sharers == 0
               ? 1
               : (double)count_cut_tiles(t) / (double)t->sharers;
}

/* Tiles are numbered in bands of `band` tile rows, column by column within a
 * band. */
size_t tiling_piece_at(const xl_tiling *t, size_t i, size_t j, size_t z)
{
    const size_t row = t->is_swapped ? j : i, col = t->is_swapped ? i : j;
    const size_t rows = t->is_swapped ? t->tiles_n : t->tiles_m;
    const size_t cols = t->is_swapped ? t->tiles_m : t->tiles_n;
    const size_t band = row / t->band;
    const size_t height = xl__min_size(t->band, rows - band * t->band);
    const size_t tile = z * rows * cols + band * t->band * cols +
                        col * height + row % t->band;
    if (tile < t->whole)
        return tile;
    return t->whole + (tile - t->whole) * t->sharers / count_cut_tiles(t);
}

/* -- grid of cells -------------------------------------------------------- */

struct tiling_grid tiling_grid(const xl_tiling *t, size_t most_rows,
                               size_t most_cols)
{
    struct tiling_grid g = {.tiling = t,
                            .tiles_m = t->tiles_m,
                            .tiles_n = t->tiles_n,
                            .is_map = tiling_has_map(t) && t->tiles_n > 1};
    if (!g.is_map) { /* one column of tiles is shown as lines of groups */
        g.tiles_n = xl__min_size(tiling_n_pieces(t), most_cols);
        g.tiles_m = xl__ceil_div(tiling_n_pieces(t), g.tiles_n);
    }
    g.rows = xl__min_size(g.tiles_m, most_rows);
    g.cols = xl__min_size(g.tiles_n, most_cols);
    return g;
}

size_t tiling_grid_piece(const struct tiling_grid *g, size_t row, size_t col)
{
    const size_t i = row * g->tiles_m / g->rows;
    const size_t j = col * g->tiles_n / g->cols;
    if (g->is_map)
        return tiling_piece_at(g->tiling, i, j, 0);
    const size_t piece = i * g->tiles_n + j;
    return piece < tiling_n_pieces(g->tiling) ? piece : SIZE_MAX;
}

/* -- sawtooth ------------------------------------------------------------- */

struct sawtooth_point sawtooth_at(const struct sawtooth *s, size_t size)
{
    const struct tile_cover cover =
        tile_cover(s->grows_m ? size : s->m, s->grows_n ? size : s->n,
                   s->rows, s->cols);
    const double tiles = cover.tiles * (double)s->count;
    const struct tile_waves waves = tile_waves(tiles, s->slots);
    return (struct sawtooth_point){size,       tiles,      waves.waves,
                                   waves.fill, cover.area, waves.fill *
                                                               cover.area};
}

struct sawtooth_range sawtooth_around(size_t size)
{
    const size_t quarter = xl__max_size(size / 4, 1);
    return (struct sawtooth_range){xl__max_size(size - quarter, 1),
                                   size + quarter};
}

/* The next size at which a tile is full. Between two such sizes the share only
 * grows, so it suffices to evaluate the last size before each edge, the best,
 * and the first one behind it, the worst. */
static size_t next_edge(const struct sawtooth *s, size_t size)
{
    size_t edge = SIZE_MAX;
    if (s->grows_m)
        edge = xl__round_up(size, s->rows);
    if (s->grows_n)
        edge = xl__min_size(edge, xl__round_up(size, s->cols));
    return edge;
}

struct sawtooth_point sawtooth_best(const struct sawtooth *s,
                                    struct sawtooth_range r)
{
    struct sawtooth_point best = sawtooth_at(s, r.to);
    for (size_t size = r.from; size <= r.to; size++) {
        size = xl__min_size(next_edge(s, size), r.to);
        const struct sawtooth_point p = sawtooth_at(s, size);
        if (p.share > best.share ||
            (p.share == best.share && size < best.size))
            best = p;
    }
    return best;
}

struct sawtooth_span sawtooth_span(const struct sawtooth *s,
                                   struct sawtooth_range r, unsigned column,
                                   unsigned columns)
{
    const double each = (double)(r.to - r.from + 1) / columns;
    const size_t from = r.from + (size_t)(each * column);
    const size_t to =
        xl__max_size(r.from + (size_t)(each * (column + 1)), from + 1) - 1;
    struct sawtooth_span out = {INFINITY, 0};
    for (size_t size = from; size <= to;) {
        const size_t edge = xl__min_size(next_edge(s, size), to);
        const double first = sawtooth_at(s, size).share;
        out.least = fmin(out.least, first);
        out.most = fmax(out.most, sawtooth_at(s, edge).share);
        size = edge + 1;
    }
    return out;
}
