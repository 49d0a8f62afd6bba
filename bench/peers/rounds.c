/* SPDX-License-Identifier: Apache-2.0 */
/* A library is measured by a rest, a warm-up that is not counted, and batches
 * of runs for a fixed time, of which the median counts. The first library of a
 * round changes from round to round. */
#include "rounds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/error.h"
#include "base/stats.h"
#include "results/result.h"

enum { QUICK_ROUNDS = 7, ROUNDS = 15, FULL_ROUNDS = 41 };
enum { MOST_BATCHES = 1024, FEWEST_BATCHES = 3, REDONE_PER_ROUND = 4 };
static const double warm_ns = 30e6, measure_ns = 150e6;
/* Three ticks of the kernel's accounting: less is not distinguishable from
 * none. */
static const double foreign_tolerated_s = 0.03;
/* No known case is that much faster on undisturbed cores. */
static const double suspect_ratio = 1.1;

unsigned rounds_required(const struct settings *set)
{
    return set->quick ? QUICK_ROUNDS : set->full ? FULL_ROUNDS : ROUNDS;
}

/* CPU seconds of all processes but this one since the machine was started;
 * NaN where the system does not report it. */
static double foreign_cpu_s(void)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TIMES };
    static const double micro = 1e-6;
    struct rusage own;
    long long t[N_TIMES];
    FILE *f = fopen("/proc/stat", "r");
    if (!f)
        return (double)NAN;
    const int n = fscanf(f, "cpu %lld %lld %lld %lld %lld %lld %lld %lld",
                         &t[USER], &t[NICE], &t[SYSTEM], &t[IDLE], &t[IOWAIT],
                         &t[IRQ], &t[SOFTIRQ], &t[STEAL]);
    fclose(f);
    if (n != N_TIMES || getrusage(RUSAGE_SELF, &own) != 0)
        return (double)NAN;
    const double all = (double)(t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] +
                                t[SOFTIRQ] + t[STEAL]) /
                       (double)sysconf(_SC_CLK_TCK);
    return all - (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) -
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * micro;
}

/* A batch of runs that are waited for together; the time of one in *ns. */
static xl_status time_calls(struct rounds *r, unsigned library, double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < r->calls; i++)
        TRY(r->run(r->arg, library));
    TRY(r->wait(r->arg));
    *ns = (double)(xl__now_ns() - start) / r->calls;
fail:
    return status;
}

static xl_status measure_library(struct rounds *r, unsigned library,
                                 double *out, double *best)
{
    xl_status status = XL_OK;
    double ns[MOST_BATCHES];
    unsigned n = 0;
    if (r->rest_ns > 0)
        xl__sleep_ns(r->rest_ns);
    if (r->select)
        r->select(r->arg, library);
    uint64_t start = xl__now_ns();
    do
        TRY(time_calls(r, library, &ns[0]));
    while ((double)(xl__now_ns() - start) < warm_ns);
    start = xl__now_ns();
    do {
        TRY(time_calls(r, library, &ns[n]));
        *best = fmin(*best, ns[n++]);
    } while (
        n < MOST_BATCHES &&
        (n < FEWEST_BATCHES || (double)(xl__now_ns() - start) < measure_ns));
    *out = xl__median(ns, n);
fail:
    if (r->select)
        r->select(r->arg, r->n_libraries);
    return status;
}

/* One round. It does not count when other processes used the cores, unless
 * too many rounds were repeated already. */
static xl_status measure_round(struct rounds *r)
{
    xl_status status = XL_OK;
    double best[ROUNDS_LIBRARIES];
    const double before = foreign_cpu_s();
    memcpy(best, r->best_ns, sizeof best);
    for (unsigned i = 0; i < r->n_libraries; i++) {
        const unsigned library = (r->n + i) % r->n_libraries;
        TRY(measure_library(r, library, &r->ns[library][r->n],
                            &best[library]));
    }
    r->foreign_s[r->n] = foreign_cpu_s() - before;
    if (r->foreign_s[r->n] > foreign_tolerated_s &&
        r->n_redone < REDONE_PER_ROUND * r->n_required) {
        r->n_redone++;
        return XL_OK;
    }
    memcpy(r->best_ns, best, sizeof best);
    r->n++;
fail:
    return status;
}

xl_status rounds_measure(struct rounds *r)
{
    xl_status status = XL_OK;
    r->n = r->n_redone = 0;
    for (unsigned library = 0; library < r->n_libraries; library++)
        r->best_ns[library] = INFINITY;
    while (r->n < r->n_required && !session_stopped(r->s))
        TRY(measure_round(r));
fail:
    return r->n == 0 && status == XL_OK ? XL_CANCELLED : status;
}

struct rounds_ratio rounds_ratio(const struct rounds *r, unsigned ours,
                                 unsigned theirs)
{
    static const double one = 1;
    double ratios[ROUNDS_MOST];
    struct rounds_ratio out = {.best = r->best_ns[theirs] / r->best_ns[ours]};
    for (unsigned i = 0; i < r->n; i++) {
        ratios[i] = r->ns[theirs][i] / r->ns[ours][i];
        out.n_suspect +=
            ratios[i] > suspect_ratio && r->foreign_s[i] > foreign_tolerated_s;
    }
    xl__ratio_interval(ratios, r->n, &one, 1, &out.median, &out.lo, &out.hi);
    return out;
}

void rounds_fill_row(const struct rounds *r, unsigned library, xl_row *row)
{
    xl_samples *x = &row->samples;
    const struct xl__summary sum = xl__summarise(r->ns[library], r->n);
    const double amount =
        strcmp(row->unit, "B/s") == 0 ? row->bytes : row->flop;
    memcpy(x->ns, r->ns[library], r->n * sizeof *x->ns);
    x->runs = r->n;
    x->batch = r->calls;
    x->median_ns = sum.median;
    x->mad_ns = sum.mad;
    x->min_ns = r->best_ns[library];
    x->p95_ns = sum.p95;
    x->lo_ns = sum.lo;
    x->hi_ns = sum.hi;
    x->wall_clock = true;
    row->value = amount / x->median_ns * 1e9;
    xl_row_found(row, "calls", r->calls);
}

static void add_row_id(json_t *pair, const char *name, const xl_row *row)
{
    struct xl__str id = {0};
    result_row_id(&id, row);
    json_put(pair, name, json_text(xl__str_text(&id)));
    xl__str_clear(&id);
}

json_t *rounds_pair(const struct rounds_ratio *ratio, const xl_row *ours,
                    const xl_row *theirs)
{
    json_t *pair = json_object();
    json_put(pair, "ratio", json_number(ratio->median));
    json_put(pair, "lo", json_number(ratio->lo));
    json_put(pair, "hi", json_number(ratio->hi));
    json_put(pair, "best", json_number(ratio->best));
    json_put(pair, "suspect_rounds", json_integer(ratio->n_suspect));
    add_row_id(pair, "ours", ours);
    add_row_id(pair, "theirs", theirs);
    return pair;
}
