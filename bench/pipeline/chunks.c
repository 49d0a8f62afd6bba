/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks by simulation: numbers of chunks, a few growths and orders of calls
 * are run through the three lanes on paper, and the quickest is kept. */
#include "pipeline/chunks.h"

#include <math.h>

/* Where downloads take twice as long as uploads, chunks that double arrive
 * just in time; the others are between that and its mirror. */
static const double growths[] = {1, 1.4, 2, 1 / 1.4, 0.5};
enum { N_GROWTHS = sizeof growths / sizeof growths[0], MOST_AHEAD = 1 };

struct pace_of_lane chunks_pace(double whole_ns, double cut_ns, unsigned n,
                                size_t units)
{
    struct pace_of_lane out = {0, whole_ns / (double)units, 0};
    if (n < 2 || !(cut_ns > whole_ns))
        return out;
    out.chunk_ns = fmin((cut_ns - whole_ns) / (n - 1), whole_ns);
    out.unit_ns = (whole_ns - out.chunk_ns) / (double)units;
    return out;
}

/* The end of chunk i, counted in units: a geometric row's partial sum. */
static double end_of(size_t units, unsigned n, double growth, unsigned i)
{
    if (growth == 1)
        return (double)units * i / n;
    return (double)units * (pow(growth, i) - 1) / (pow(growth, n) - 1);
}

bool chunks_make(size_t units, unsigned n, double growth, struct chunks *out)
{
    size_t at = 0;
    if (n == 0 || n > MOST_CHUNKS || units < n)
        return false;
    out->n = n;
    out->ahead = MOST_AHEAD;
    for (unsigned i = 0; i < n; i++) {
        const size_t last = units - (n - 1 - i); /* a unit for each to come */
        size_t end = (size_t)llround(end_of(units, n, growth, i + 1));
        end = end <= at ? at + 1 : end > last ? last : end;
        out->units[i] = end - at;
        at = end;
    }
    return true;
}

unsigned chunks_ahead(const struct chunks *c, unsigned buffers)
{
    return buffers > 1 ? c->ahead : 0; /* its place must be free by then */
}

/* A run on paper. */
struct paper {
    const struct chunks *c;
    const struct lane_paces *p;
    unsigned buffers;
    double host; /* enqueued until then */
    double end[N_LANES][MOST_CHUNKS];
};

static void put(struct paper *x, unsigned lane, unsigned i)
{
    const struct pace_of_lane *pace = &x->p->lane[lane];
    x->host += pace->enqueue_ns;
    double start = x->host;
    if (i > 0)
        start = fmax(start, x->end[lane][i - 1]);
    if (lane > 0)
        start = fmax(start, x->end[lane - 1][i]);
    if (lane < LANE_DOWN && i >= x->buffers) /* what had its place */
        start = fmax(start, x->end[lane + 1][i - x->buffers]);
    x->end[lane][i] = start + pace->chunk_ns +
                      pace->unit_ns * (double)x->c->units[i];
}

double chunks_time(const struct chunks *c, const struct lane_paces *p,
                   unsigned buffers)
{
    struct paper x = {.c = c, .p = p, .buffers = buffers};
    const unsigned ahead = chunks_ahead(c, buffers);
    unsigned sent = 0;
    for (unsigned i = 0; i < c->n; i++) {
        for (; sent < c->n && sent <= i + ahead; sent++)
            put(&x, LANE_UP, sent);
        put(&x, LANE_RUN, i);
        put(&x, LANE_DOWN, i);
    }
    return c->n > 0 ? x.end[LANE_DOWN][c->n - 1] : 0;
}

bool chunks_choose(size_t units, const struct lane_paces *p, unsigned buffers,
                   unsigned least, unsigned most, struct chunks *best)
{
    double best_ns = (double)INFINITY;
    struct chunks c;
    for (unsigned n = least; n <= most && n <= MOST_CHUNKS; n++)
        for (unsigned g = 0; g < N_GROWTHS; g++) {
            if (!chunks_make(units, n, growths[g], &c))
                continue;
            for (c.ahead = 0; c.ahead <= MOST_AHEAD; c.ahead++) {
                const double ns = chunks_time(&c, p, buffers);
                if (ns >= best_ns)
                    continue;
                best_ns = ns;
                *best = c;
            }
        }
    return best_ns < (double)INFINITY;
}
