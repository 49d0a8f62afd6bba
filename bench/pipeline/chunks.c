/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates chunks on three lanes, and chooses the fastest division: numbers
 * of chunks, a few growth factors and orders of enqueueing are simulated, and
 * the one that ends first is kept. chunks.h has the model. */
#include "pipeline/chunks.h"

#include <math.h>

/* Where downloads take twice as long as uploads, chunks that double in size
 * arrive just in time; the others are between that and its reciprocal. */
static const double growths[] = {1, 1.4, 2, 1 / 1.4, 0.5};
enum { N_GROWTHS = sizeof growths / sizeof growths[0], MOST_AHEAD = 1 };

struct lane_cost chunks_lane_cost(double whole_ns, double cut_ns, unsigned n,
                                  size_t units)
{
    struct lane_cost out = {0, whole_ns / (double)units, 0};
    if (n < 2 || !(cut_ns > whole_ns))
        return out;
    out.chunk_ns = fmin((cut_ns - whole_ns) / (n - 1), whole_ns);
    out.unit_ns = (whole_ns - out.chunk_ns) / (double)units;
    return out;
}

/* The end of chunk i in units: a partial sum of a geometric series. */
static double chunk_end(size_t units, unsigned n, double growth, unsigned i)
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
        const size_t last =
            units - (n - 1 - i); /* leaves one unit for each later chunk */
        size_t end = (size_t)llround(chunk_end(units, n, growth, i + 1));
        end = end <= at ? at + 1 : end > last ? last : end;
        out->units[i] = end - at;
        at = end;
    }
    return true;
}

unsigned chunks_ahead(const struct chunks *c, unsigned buffers)
{
    return buffers > 1 ? c->ahead : 0; /* its slot must be free by then */
}

/* State of a simulated run. */
struct simulation {
    const struct chunks *c;
    const struct lane_costs *p;
    unsigned buffers;
    double host; /* time at which the host enqueued the last command */
    double end[N_LANES][MOST_CHUNKS];
};

/* Adds chunk i to a lane. It starts when the host has enqueued it, the lane
 * has finished the previous chunk, the lane before has finished this chunk,
 * and the next lane has finished the chunk that used its slot before. */
static void schedule_chunk(struct simulation *x, unsigned lane, unsigned i)
{
    const struct lane_cost *pace = &x->p->lane[lane];
    x->host += pace->enqueue_ns;
    double start = x->host;
    if (i > 0)
        start = fmax(start, x->end[lane][i - 1]);
    if (lane > 0)
        start = fmax(start, x->end[lane - 1][i]);
    if (lane < LANE_DOWN &&
        i >= x->buffers) /* the chunk that used the slot before */
        start = fmax(start, x->end[lane + 1][i - x->buffers]);
    x->end[lane][i] = start + pace->chunk_ns +
                      pace->unit_ns * (double)x->c->units[i];
}

double chunks_time(const struct chunks *c, const struct lane_costs *p,
                   unsigned buffers)
{
    struct simulation x = {.c = c, .p = p, .buffers = buffers};
    const unsigned ahead = chunks_ahead(c, buffers);
    unsigned sent = 0;
    for (unsigned i = 0; i < c->n; i++) {
        for (; sent < c->n && sent <= i + ahead; sent++)
            schedule_chunk(&x, LANE_UP, sent);
        schedule_chunk(&x, LANE_RUN, i);
        schedule_chunk(&x, LANE_DOWN, i);
    }
    return c->n > 0 ? x.end[LANE_DOWN][c->n - 1] : 0;
}

bool chunks_choose(size_t units, const struct lane_costs *p, unsigned buffers,
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
