/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks by simulation: every number of chunks and a few growths are run
 * through the three lanes on paper, and the quickest are kept. */
#include "pipeline_chunks.h"

#include <math.h>
#include <string.h>

/* Where downloads take twice as long as uploads, chunks that double arrive
 * just in time; the others are between that and its mirror. */
static const double growths[] = {1, 1.4, 2, 1 / 1.4, 0.5};
enum { N_GROWTHS = sizeof growths / sizeof growths[0] };

struct pace_of_lane chunks_pace(double whole_ns, double cut_ns, unsigned n,
                                size_t units)
{
    struct pace_of_lane out = {0, whole_ns / (double)units};
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
    for (unsigned i = 0; i < n; i++) {
        const size_t last = units - (n - 1 - i); /* a unit for each to come */
        size_t end = (size_t)llround(end_of(units, n, growth, i + 1));
        end = end <= at ? at + 1 : end > last ? last : end;
        out->units[i] = end - at;
        at = end;
    }
    return true;
}

double chunks_time(const struct chunks *c, const struct lane_paces *p,
                   unsigned buffers)
{
    double end[N_LANES][MOST_CHUNKS];
    for (unsigned i = 0; i < c->n; i++) {
        /* Free since: the host's enqueueing, then what had its place. */
        const bool reuses = i >= buffers;
        double ready = (i + 1) * p->enqueue_ns;
        for (unsigned l = 0; l < N_LANES; l++) {
            if (i > 0)
                ready = fmax(ready, end[l][i - 1]);
            if (reuses && l < LANE_DOWN)
                ready = fmax(ready, end[l + 1][i - buffers]);
            ready += p->lane[l].chunk_ns +
                     p->lane[l].unit_ns * (double)c->units[i];
            end[l][i] = ready;
        }
    }
    return c->n > 0 ? end[LANE_DOWN][c->n - 1] : 0;
}

static bool same(const struct chunks *a, const struct chunks *b)
{
    return a->n == b->n &&
           memcmp(a->units, b->units, a->n * sizeof *a->units) == 0;
}

/* Put it where it belongs among the n that are known; how many there are. */
static unsigned keep(struct chunks *best, double *ns, unsigned n, unsigned cap,
                     const struct chunks *c, double c_ns)
{
    unsigned at = 0;
    for (unsigned i = 0; i < n; i++)
        if (same(&best[i], c))
            return n;
    while (at < n && ns[at] <= c_ns)
        at++;
    if (at == cap)
        return n;
    n = n < cap ? n + 1 : cap;
    memmove(&best[at + 1], &best[at], (n - at - 1) * sizeof *best);
    memmove(&ns[at + 1], &ns[at], (n - at - 1) * sizeof *ns);
    best[at] = *c;
    ns[at] = c_ns;
    return n;
}

unsigned chunks_choose(size_t units, const struct lane_paces *p,
                       unsigned buffers, struct chunks *best, unsigned cap)
{
    enum { MOST_KEPT = 16 };
    double ns[MOST_KEPT];
    unsigned kept = 0;
    struct chunks c;
    cap = cap < MOST_KEPT ? cap : MOST_KEPT;
    for (unsigned n = 2; n <= MOST_CHUNKS; n++)
        for (unsigned g = 0; g < N_GROWTHS; g++)
            if (chunks_make(units, n, growths[g], &c))
                kept = keep(best, ns, kept, cap, &c,
                            chunks_time(&c, p, buffers));
    return kept;
}
