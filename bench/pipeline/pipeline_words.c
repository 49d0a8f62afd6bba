/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline waits for, said from its numbers. A lane's own time is that
 * of a run in one piece, where it has the machine to itself; what is overlapped
 * is held against the slowest lane, which nothing can hide, timed by itself as
 * the whole is: from the first call until the end of the wait. All by the
 * quickest runs, in which there is least of what others did. */
#include <math.h>

#include "pipeline/report.h"
#include "cli/units.h"

/* The quickest of the ways that move data. */
static const struct pipe_result *quickest(const struct pipe_bench *b)
{
    const struct pipe_result *best = NULL;
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        const struct pipe_result *x = &b->result[i];
        const bool counts = x->is_done && x->parts.total > 0 &&
                            (x->mode->moves || x->mode->maps);
        if (counts && (!best || x->row.value < best->row.value))
            best = x;
    }
    return best;
}

/* Where each lane was alone: the quickest run itself, or, where its lanes
 * overlap, what is nearest to how it moves data. */
static const struct pipe_result *base_of(const struct pipe_bench *b,
                                         const struct pipe_result *best)
{
    static const char *const names[] = {"pinned", "pageable", "mapped",
                                        "overlapped", "resident"};
    if (best && !best->mode->is_cut)
        return best;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pipe_result *x = pipe_result(b, names[i]);
        if (x && x->parts.total > 0)
            return x;
    }
    return NULL;
}

struct pipe_verdict pipe_judge(const struct pipe_bench *b)
{
    static const char *const bounds[] = {"upload", "kernels", "download"};
    struct pipe_verdict out = {"", (double)NAN, (double)NAN};
    const struct pipe_result *best = quickest(b), *base = base_of(b, best);
    const struct pipe_result *overlapped = pipe_result(b, "overlapped");
    if (!base)
        return out;
    const unsigned slowest = pipe_slowest(&base->parts);
    const double lane_ns = base->parts.lane[slowest];
    const double rest_ns = pipe_rest(&base->parts);
    out.bound = bounds[slowest];
    out.share = lane_ns / (best && best != base ? best->row.samples.min_ns
                                                : base->parts.total);
    if (rest_ns > lane_ns && out.share < 0.5) {
        out.bound = "calls";
        out.share = rest_ns / base->parts.total;
    }
    for (unsigned l = 0; overlapped && l < N_LANES; l++)
        out.of_slowest =
            fmax(out.of_slowest,
                 b->alone_ns[l] / overlapped->row.samples.min_ns);
    return out;
}

/* -- words ----------------------------------------------------------------- */

static void add_ns(struct xl__str *out, double ns)
{
    char text[UNITS_CAP];
    units_time(text, sizeof text, ns);
    xl__str_add(out, text);
}

static void add_rate(struct xl__str *out, const char *what, double bytes,
                     double ns)
{
    char amount[UNITS_CAP], rate[UNITS_CAP];
    units_bytes(amount, sizeof amount, bytes);
    units_format(rate, sizeof rate, bytes / ns * 1e9, "B/s");
    xl__str_printf(out, "%s: %s at %s take ", what, amount, rate);
    add_ns(out, ns);
}

static unsigned slowest_stage(const struct pipe_bench *b,
                              const struct pipe_parts *p)
{
    unsigned at = 0;
    for (unsigned i = 1; i < b->work->n_stages; i++)
        if (p->stage[i] > p->stage[at])
            at = i;
    return at;
}

static void add_kernels(const struct pipe_bench *b, const struct pipe_parts *p,
                        struct xl__str *out)
{
    const unsigned i = slowest_stage(b, p);
    const double model = b->model.parts.stage[i];
    xl__str_printf(out, "kernels: %s takes ", b->work->stage[i].kind->name);
    add_ns(out, p->stage[i]);
    if (b->work->n_stages > 1) {
        xl__str_add(out, " of ");
        add_ns(out, p->lane[LANE_RUN]);
    }
    if (model > 0) {
        xl__str_add(out, "; its roofline allows ");
        add_ns(out, model);
    }
}

static void add_bound(const struct pipe_bench *b, unsigned lane,
                      const struct pipe_parts *p, struct xl__str *out)
{
    if (lane == LANE_RUN)
        add_kernels(b, p, out);
    else if (lane == LANE_UP)
        add_rate(out, "uploads", pipe_bytes(b->work, PIPE_FROM_HOST),
                 p->lane[lane]);
    else
        add_rate(out, "downloads", pipe_bytes(b->work, PIPE_TO_HOST),
                 p->lane[lane]);
}

static void add_advice(const struct pipe_bench *b, unsigned lane,
                       const struct pipe_verdict *v, struct xl__str *out)
{
    const struct pipe_result *best = quickest(b);
    const struct pipe_result *resident = pipe_result(b, "resident");
    if (lane != LANE_RUN && best && resident && resident->row.value > 0) {
        const double gain = best->row.value / resident->row.value;
        xl__str_printf(out, " Data that stays on the device makes it %.3g "
                            "times as fast.",
                       gain);
    } else if (lane == LANE_RUN && *v->bound == 'k') {
        const double other = pipe_non_gemm(b->work, &base_of(b, best)->parts);
        static const double much = 0.1;
        xl__str_add(out, other > much
                             ? " Fusing what is no product into the product's "
                               "kernel saves its way through memory."
                             : " Moving data is not what costs here: 'clbench "
                               "gemm' and 'clbench tune' look at the "
                               "kernels.");
    }
}

void pipe_words(const struct pipe_bench *b, struct xl__str *out)
{
    const struct pipe_verdict v = pipe_judge(b);
    const struct pipe_result *best = quickest(b), *base = base_of(b, best);
    if (!base)
        return;
    best = best ? best : base;
    const unsigned lane = pipe_slowest(&base->parts);
    xl__str_add(out, "Bound by ");
    if (*v.bound == 'c') {
        xl__str_add(out, "calls and waits: ");
        add_ns(out, pipe_rest(&base->parts));
        xl__str_printf(out, " of a run's ");
        add_ns(out, base->parts.total);
        xl__str_add(out, " pass with no engine at work. More work in a run, "
                         "such as a larger batch, spreads them.");
        return;
    }
    add_bound(b, lane, &base->parts, out);
    xl__str_printf(out, ". That is %.0f%% of the quickest way (%s).",
                   100 * v.share, best->mode->name);
    if (!isnan(v.of_slowest))
        xl__str_printf(out,
                       " Overlapped reaches %.2f of what the slowest of "
                       "upload, kernels and download takes by itself.",
                       v.of_slowest);
    add_advice(b, lane, &v, out);
}
