/* SPDX-License-Identifier: Apache-2.0 */
/* The model hands groups to places in the order in which places get free, as
 * schedulers do; a record's figures are those of its intervals, unit by unit,
 * where pieces beside one another count once. */
#include "tiling/unit_load.h"

#include "tiling/tiles.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* -- the model ------------------------------------------------------------ */

/* A place for a group on a unit; a heap of them has the first free on top. */
struct place {
    double free_ns;
    size_t number;
};

static bool is_before(const struct place *a, const struct place *b)
{
    return a->free_ns < b->free_ns ||
           (a->free_ns == b->free_ns && a->number < b->number);
}

/* The top has changed: let it sink. */
static void sink(struct place *heap, size_t n)
{
    for (size_t at = 0, next; (next = 2 * at + 1) < n; at = next) {
        if (next + 1 < n && is_before(&heap[next + 1], &heap[next]))
            next++;
        if (!is_before(&heap[next], &heap[at]))
            return;
        const struct place kept = heap[at];
        heap[at] = heap[next];
        heap[next] = kept;
    }
}

/* Group g on the first free place: its pieces, one after the other. */
static void run_group(const xl_tiling *t, size_t g, double tile_ns,
                      struct place *top, struct split_record *out)
{
    for (size_t p = g; p < out->n; p += t->groups) {
        const double ns = tile_ns * split_piece_frac(t, p);
        out->piece[p] = (xl_piece_record){
            (unsigned)(top->number % out->units), top->free_ns,
            top->free_ns + ns};
        top->free_ns += ns;
    }
    out->total_ns = fmax(out->total_ns, top->free_ns);
}

bool split_model(const xl_tiling *t, unsigned units, unsigned beside,
                 double tile_ns, struct split_record *out)
{
    const size_t n_places = (size_t)units * beside;
    struct place *heap = xl__calloc(n_places, sizeof *heap);
    *out = (struct split_record){
        .n = split_pieces(t), .units = units, .has_clock = true};
    out->piece = xl__calloc(out->n, sizeof *out->piece);
    if (!heap || !out->piece) {
        free(heap);
        split_record_clear(out);
        return false;
    }
    for (size_t i = 0; i < n_places; i++)
        heap[i].number = i;
    for (size_t g = 0; g < t->groups; g++) {
        run_group(t, g, tile_ns, &heap[0], out);
        sink(heap, n_places);
    }
    free(heap);
    return true;
}

void split_record_clear(struct split_record *r)
{
    free(r->piece);
    *r = (struct split_record){.n = 0};
}

/* -- a record's figures --------------------------------------------------- */

static int by_unit_and_start(const void *a, const void *b)
{
    const xl_piece_record *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static xl_piece_record *sorted(const struct split_record *r)
{
    xl_piece_record *out = xl__calloc(r->n, sizeof *out);
    for (size_t i = 0; out && i < r->n; i++)
        out[i] = r->piece[i];
    if (out)
        qsort(out, r->n, sizeof *out, by_unit_and_start);
    return out;
}

/* Add to `share` the part of from..to that lies in each of n spans. */
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

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of a unit's n pieces, by their starts, run at one time at most:
 * those begun, less those ended. `ends`: room for n. */
static unsigned most_beside(const xl_piece_record *p, size_t n, double *ends)
{
    size_t most = 0, ended = 0;
    for (size_t i = 0; i < n; i++)
        ends[i] = p[i].end_ns;
    qsort(ends, n, sizeof *ends, by_value);
    for (size_t i = 0; i < n; i++) {
        while (ends[ended] <= p[i].start_ns && ended < i)
            ended++;
        most = xl__max_size(most, i + 1 - ended);
    }
    return (unsigned)most;
}

/* One unit: how long it was at work, and when it was done. Its times are
 * added to the curve's spans, if any. */
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

static size_t same_unit(const xl_piece_record *p, size_t n)
{
    size_t same = 1;
    while (same < n && p[same].unit == p[0].unit)
        same++;
    return same;
}

bool split_load_of(const struct split_record *r, struct split_load *out,
                   double *busy_of)
{
    xl_piece_record *p = sorted(r);
    double sum = 0, first_done = INFINITY;
    double *ends = xl__calloc(r->n, sizeof *ends);
    *out = (struct split_load){.least = ~0u, .busy_least = INFINITY};
    if (!p || !ends) {
        free(p);
        free(ends);
        return false;
    }
    for (size_t i = 0, n; i < r->n; i += n) {
        n = same_unit(p + i, r->n - i);
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
        const unsigned beside = r->has_clock ? most_beside(p + i, n, ends) : 0;
        out->beside = beside > out->beside ? beside : out->beside;
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

bool split_curve(const struct split_record *r, double *share, unsigned n)
{
    xl_piece_record *p = r->has_clock ? sorted(r) : NULL;
    if (!p)
        return false;
    for (unsigned i = 0; i < n; i++)
        share[i] = 0;
    for (size_t i = 0, same; i < r->n; i += same) {
        same = same_unit(p + i, r->n - i);
        unit_time(p + i, same, share, n, r->total_ns / n);
    }
    for (unsigned i = 0; i < n; i++)
        share[i] /= r->units;
    free(p);
    return true;
}
