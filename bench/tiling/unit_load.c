/* SPDX-License-Identifier: Apache-2.0 */
/* Models a launch on equal compute units, and computes the load of each unit
 * from a record of pieces. The model assigns groups to slots in the order in
 * which slots become free, as hardware schedulers do:
 *
 *     unit 0  |g0  |g3      |
 *     unit 1  |g1     |g4   |     busy share = shaded / total
 *     unit 2  |g2  |g5  |         tail = end - first unit that is done
 *
 * The busy time of a unit is the length of the union of its pieces' intervals:
 * pieces that run concurrently on one unit count once. */
#include "tiling/unit_load.h"

#include "tiling/tiles.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* -- the model ------------------------------------------------------------ */

/* A slot for a group on a unit; the heap has the slot that is free first on
 * top. */
struct slot {
    double free_ns;
    size_t number;
};

/* Order of slots: by the time they are free, then by number, so that units
 * fill in order. */
static bool is_before(const struct slot *a, const struct slot *b)
{
    return a->free_ns < b->free_ns ||
           (a->free_ns == b->free_ns && a->number < b->number);
}

/* Restores the heap after a change of the top. */
static void sift_down(struct slot *heap, size_t n)
{
    for (size_t at = 0, next; (next = 2 * at + 1) < n; at = next) {
        if (next + 1 < n && is_before(&heap[next + 1], &heap[next]))
            next++;
        if (!is_before(&heap[next], &heap[at]))
            return;
        const struct slot kept = heap[at];
        heap[at] = heap[next];
        heap[next] = kept;
    }
}

/* Assigns group g to the first free slot: its pieces run one after another. */
static void assign_group(const xl_tiling *t, size_t g, double tile_ns,
                         const double *work, struct slot *top,
                         struct tiling_record *out)
{
    for (size_t p = g; p < out->n; p += t->groups) {
        const double ns = tile_ns * (work ? work[p] : tiling_piece_frac(t, p));
        out->piece[p] = (xl_piece_record){
            (unsigned)(top->number % out->units), top->free_ns,
            top->free_ns + ns};
        top->free_ns += ns;
    }
    out->total_ns = fmax(out->total_ns, top->free_ns);
}

bool tiling_model_launch(const xl_tiling *t, unsigned units,
                         unsigned concurrent, double tile_ns,
                         const double *work, struct tiling_record *out)
{
    const size_t n_slots = (size_t)units * concurrent;
    struct slot *heap = xl__calloc(n_slots, sizeof *heap);
    *out = (struct tiling_record){
        .n = tiling_n_pieces(t), .units = units, .has_clock = true};
    out->piece = xl__calloc(out->n, sizeof *out->piece);
    if (!heap || !out->piece) {
        free(heap);
        tiling_record_clear(out);
        return false;
    }
    for (size_t i = 0; i < n_slots; i++)
        heap[i].number = i;
    for (size_t g = 0; g < t->groups; g++) {
        assign_group(t, g, tile_ns, work, &heap[0], out);
        sift_down(heap, n_slots);
    }
    free(heap);
    return true;
}

void tiling_record_clear(struct tiling_record *r)
{
    free(r->piece);
    *r = (struct tiling_record){.n = 0};
}

/* -- a record's figures --------------------------------------------------- */

static int order_pieces(const void *a, const void *b)
{
    const xl_piece_record *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A copy of the pieces sorted by unit and start; NULL: out of memory. */
static xl_piece_record *sort_pieces(const struct tiling_record *r)
{
    xl_piece_record *out = xl__calloc(r->n, sizeof *out);
    for (size_t i = 0; out && i < r->n; i++)
        out[i] = r->piece[i];
    if (out)
        qsort(out, r->n, sizeof *out, order_pieces);
    return out;
}

/* Adds to `share` the fraction of each of n spans that from..to covers. */
static void add_span(double *share, unsigned n, double span, double from,
                     double to)
{
    for (unsigned i = (unsigned)fmin(from / span, n - 1); i < n; i++) {
        const double begin = i * span, end = begin + span;
        if (begin >= to)
            return;
        share[i] += (fmin(to, end) - fmax(from, begin)) / span;
    }
}

static int order_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest number of pieces of one unit at a time; p is sorted by start.
 * `ends` has room for n. */
static unsigned max_concurrent(const xl_piece_record *p, size_t n,
                               double *ends)
{
    size_t most = 0, ended = 0;
    for (size_t i = 0; i < n; i++)
        ends[i] = p[i].end_ns;
    qsort(ends, n, sizeof *ends, order_values);
    for (size_t i = 0; i < n; i++) {
        while (ends[ended] <= p[i].start_ns && ended < i)
            ended++;
        most = xl__max_size(most, i + 1 - ended);
    }
    return (unsigned)most;
}

/* Busy time and end of one unit. If `share` is not NULL, its intervals are
 * added to the curve. */
struct unit_time {
    double busy_ns, end_ns;
};
static struct unit_time unit_time(const xl_piece_record *p, size_t n,
                                  double *share, unsigned n_spans,
                                  double span)
{
    struct unit_time t = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const double from = fmax(p[i].start_ns, t.end_ns);
        if (p[i].end_ns <= from)
            continue;
        t.busy_ns += p[i].end_ns - from;
        t.end_ns = p[i].end_ns;
        if (share)
            add_span(share, n_spans, span, from, t.end_ns);
    }
    return t;
}

static size_t count_same_unit(const xl_piece_record *p, size_t n)
{
    size_t same = 1;
    while (same < n && p[same].unit == p[0].unit)
        same++;
    return same;
}

bool tiling_load_of(const struct tiling_record *r, struct tiling_load *out,
                    double *busy_of)
{
    xl_piece_record *p = sort_pieces(r);
    double sum = 0, first_done = INFINITY;
    double *ends = xl__calloc(r->n, sizeof *ends);
    *out = (struct tiling_load){.least = ~0u, .busy_least = INFINITY};
    if (!p || !ends) {
        free(p);
        free(ends);
        return false;
    }
    for (size_t i = 0, n; i < r->n; i += n) {
        n = count_same_unit(p + i, r->n - i);
        const struct unit_time t = unit_time(p + i, n, NULL, 0, 0);
        const double busy = t.busy_ns / r->total_ns;
        out->used++;
        out->least = n < out->least ? (unsigned)n : out->least;
        out->most = n > out->most ? (unsigned)n : out->most;
        sum += busy;
        out->busy_least = fmin(out->busy_least, busy);
        out->busy_most = fmax(out->busy_most, busy);
        first_done = fmin(first_done, t.end_ns);
        if (busy_of && p[i].unit < r->units)
            busy_of[p[i].unit] = busy;
        const unsigned concurrent =
            r->has_clock ? max_concurrent(p + i, n, ends) : 0;
        out->concurrent =
            concurrent > out->concurrent ? concurrent : out->concurrent;
    }
    free(p);
    free(ends);
    out->busy = sum / r->units;
    out->tail = 1 - first_done / r->total_ns;
    out->imbalance = out->busy_most * out->used / sum;
    if (!r->has_clock)
        out->busy = out->busy_least = out->busy_most = out->tail =
            out->imbalance = (double)NAN;
    return true;
}

bool tiling_busy_curve(const struct tiling_record *r, double *share,
                       unsigned n)
{
    xl_piece_record *p = r->has_clock ? sort_pieces(r) : NULL;
    if (!p)
        return false;
    for (unsigned i = 0; i < n; i++)
        share[i] = 0;
    for (size_t i = 0, same; i < r->n; i += same) {
        same = count_same_unit(p + i, r->n - i);
        unit_time(p + i, same, share, n, r->total_ns / n);
    }
    for (unsigned i = 0; i < n; i++)
        share[i] /= r->units;
    free(p);
    return true;
}
