/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what bounds a pipeline, and reports the measurement: one row for each
 * mode in the result file, a member with all details in the JSON document,
 * commands and calls in the trace.
 *
 * The time of a lane is that of a run in one piece, where it does not overlap
 * with others. The overlapped run is compared with the slowest lane, the lower
 * bound of its time, measured by itself like a whole run: from the first call
 * to the end of the wait. All values are from the fastest runs, which have the
 * least influence of other processes. */
#include "pipeline/report.h"

#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/units.h"
#include "report/report.h"
#include "results/json.h"
#include "results/result.h"
#include "timing/trace.h"

/* -- the bound ------------------------------------------------------------ */

/* The fastest mode that moves or maps data. */
static const struct pipe_result *fastest_mode(const struct pipe_bench *b)
{
    const struct pipe_result *best = NULL;
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        const struct pipe_result *x = &b->result[i];
        const bool counts = x->is_done && x->times.total > 0 &&
                            (x->mode->moves || x->mode->maps);
        if (counts && (!best || x->row.value < best->row.value))
            best = x;
    }
    return best;
}

/* The mode that shows each lane without overlap: the fastest mode itself, or
 * the most similar one without overlap. */
static const struct pipe_result *
mode_without_overlap(const struct pipe_bench *b,
                     const struct pipe_result *best)
{
    static const char *const names[] = {"pinned", "pageable", "mapped",
                                        "overlapped", "resident"};
    if (best && !best->mode->is_cut)
        return best;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pipe_result *x = pipe_result(b, names[i]);
        if (x && x->times.total > 0)
            return x;
    }
    return NULL;
}

struct pipe_bound pipe_find_bound(const struct pipe_bench *b)
{
    static const char *const bounds[] = {"upload", "kernels", "download"};
    struct pipe_bound out = {"", (double)NAN, (double)NAN};
    const struct pipe_result *best = fastest_mode(b),
                             *base = mode_without_overlap(b, best);
    const struct pipe_result *overlapped = pipe_result(b, "overlapped");
    if (!base)
        return out;
    const unsigned slowest = pipe_slowest(&base->times);
    const double lane_ns = base->times.lane[slowest];
    const double rest_ns = pipe_rest(&base->times);
    out.bound = bounds[slowest];
    out.share = lane_ns / (best && best != base ? best->row.samples.min_ns
                                                : base->times.total);
    if (rest_ns > lane_ns && out.share < 0.5) {
        out.bound = "calls";
        out.share = rest_ns / base->times.total;
    }
    for (unsigned l = 0; overlapped && l < N_LANES; l++)
        out.of_slowest =
            fmax(out.of_slowest,
                 b->separate_ns[l] / overlapped->row.samples.min_ns);
    return out;
}

/* -- description ---------------------------------------------------------- */

static void add_time(struct xl__str *out, double ns)
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
    add_time(out, ns);
}

static unsigned find_slowest_stage(const struct pipe_bench *b,
                                   const struct pipe_times *p)
{
    unsigned at = 0;
    for (unsigned i = 1; i < b->workload->n_stages; i++)
        if (p->stage[i] > p->stage[at])
            at = i;
    return at;
}

/* Describes the slowest stage and the time that its roofline allows. */
static void describe_kernels(const struct pipe_bench *b,
                             const struct pipe_times *p, struct xl__str *out)
{
    const unsigned i = find_slowest_stage(b, p);
    const double model = b->model.times.stage[i];
    xl__str_printf(out, "kernels: %s takes ",
                   b->workload->stage[i].kind->name);
    add_time(out, p->stage[i]);
    if (b->workload->n_stages > 1) {
        xl__str_add(out, " of ");
        add_time(out, p->lane[LANE_RUN]);
    }
    if (model > 0) {
        xl__str_add(out, "; its roofline allows ");
        add_time(out, model);
    }
}

/* Describes the lane that bounds the pipeline. */
static void describe_lane(const struct pipe_bench *b, unsigned lane,
                          const struct pipe_times *p, struct xl__str *out)
{
    if (lane == LANE_RUN)
        describe_kernels(b, p, out);
    else if (lane == LANE_UP)
        add_rate(out, "uploads", pipe_bytes(b->workload, PIPE_FROM_HOST),
                 p->lane[lane]);
    else
        add_rate(out, "downloads", pipe_bytes(b->workload, PIPE_TO_HOST),
                 p->lane[lane]);
}

/* Appends an advice for the bound. */
static void add_advice(const struct pipe_bench *b, unsigned lane,
                       const struct pipe_bound *v, struct xl__str *out)
{
    const struct pipe_result *best = fastest_mode(b);
    const struct pipe_result *resident = pipe_result(b, "resident");
    if (lane != LANE_RUN && best && resident && resident->row.value > 0) {
        const double gain = best->row.value / resident->row.value;
        xl__str_printf(out,
                       " Keeping the data on the device makes it %.3g "
                       "times as fast.",
                       gain);
    } else if (lane == LANE_RUN && *v->bound == 'k') {
        const double other =
            pipe_non_gemm(b->workload, &mode_without_overlap(b, best)->times);
        static const double much = 0.1;
        xl__str_add(out,
                    other > much
                        ? " Fusing the other stages into the kernels of the "
                          "products avoids their memory traffic."
                        : " Transfers are not the bottleneck: see "
                          "'clbench gemm' and 'clbench tune' for the "
                          "kernels.");
    }
}

void pipe_describe_bound(const struct pipe_bench *b, struct xl__str *out)
{
    const struct pipe_bound v = pipe_find_bound(b);
    const struct pipe_result *best = fastest_mode(b),
                             *base = mode_without_overlap(b, best);
    if (!base)
        return;
    best = best ? best : base;
    const unsigned lane = pipe_slowest(&base->times);
    xl__str_add(out, "Bound by ");
    if (*v.bound == 'c') {
        xl__str_add(out, "calls and waits: ");
        add_time(out, pipe_rest(&base->times));
        xl__str_printf(out, " of a run's ");
        add_time(out, base->times.total);
        xl__str_add(out, " pass without an active engine. A larger batch "
                         "reduces their share.");
        return;
    }
    describe_lane(b, lane, &base->times, out);
    xl__str_printf(out, ". That is %.0f%% of the fastest mode (%s).",
                   100 * v.share, best->mode->name);
    if (!isnan(v.of_slowest))
        xl__str_printf(out,
                       " The overlapped mode reaches %.2f of the bound: the "
                       "slowest of upload, kernels and download by itself.",
                       v.of_slowest);
    add_advice(b, lane, &v, out);
}

/* clang-format off */
static const struct {
    const char *name, *found, *queue, *engine;
} lanes[N_LANES] = {
    {"upload",   "upload_ns",   "queue of uploads",   "uploads"},
    {"kernels",  "kernels_ns",  "queue of kernels",   "kernels"},
    {"download", "download_ns", "queue of downloads", "downloads"},
};
/* clang-format on */

/* -- rows ----------------------------------------------------------------- */

static void add_row(struct pipe_bench *b, struct pipe_result *x)
{
    struct session *s = b->s;
    if (x->times.total > 0) {
        for (unsigned l = 0; l < N_LANES; l++)
            xl_row_found(&x->row, lanes[l].found, x->times.lane[l]);
        xl_row_found(&x->row, "non_gemm_frac",
                     pipe_non_gemm(b->workload, &x->times));
    }
    if (x->mode->is_cut && x->is_done) {
        xl_row_found(&x->row, "chunks", x->chunks.n);
        xl_row_found(&x->row, "buffers", x->buffers);
        xl_row_found(&x->row, "of_slowest", pipe_find_bound(b).of_slowest);
    }
    s->n_rows++;
    s->n_rejected += x->row.verdict == XL_ROW_REJECTED;
    s->n_errors += x->row.verdict == XL_ROW_ERROR;
    session_record(s, b->dev, &x->row);
}

void pipe_report_first(struct pipe_bench *b, const struct pipe_first *first)
{
    const struct pipe_workload *w = b->workload;
    xl_row row;
    char variant[sizeof row.variant];
    snprintf(variant, sizeof variant, "first_%s", first->name);
    xl_row_init(&row, "pipeline", variant);
    row.seed = b->s->set.seed;
    row.dtype = w->dtype;
    row.unit = "s";
    row.flop = pipe_flop(w);
    row.bytes = pipe_bytes(w, PIPE_HOST);
    row.cold = true;
    for (unsigned i = 0; i < PIPE_SIZES; i++)
        xl_row_shape(&row, w->size_names[i], (double)w->size[i]);
    xl_row_param_text(&row, "stages", w->stages);
    xl_row_found(&row, "open_ns", first->open_ns);
    xl_row_found(&row, "build_ns", first->build_ns);
    xl_row_found(&row, "run_ns", first->run_ns);
    row.samples.runs = row.samples.batch = 1;
    row.samples.wall_clock = true;
    row.samples.ns[0] = row.samples.median_ns = row.samples.min_ns =
        first->open_ns + first->build_ns + first->run_ns;
    row.samples.mad_ns = 0;
    row.value = row.samples.median_ns * 1e-9;
    b->s->n_rows++;
    session_record(b->s, b->dev, &row);
}

void pipe_report_rows(struct pipe_bench *b)
{
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        struct pipe_result *x = &b->result[i];
        if (x->is_done || x->row.verdict != XL_ROW_OK)
            add_row(b, x);
    }
}

/* -- JSON ----------------------------------------------------------------- */

static json_t *times_json(const struct pipe_bench *b,
                          const struct pipe_times *p)
{
    json_t *out = json_object(), *stages = json_array();
    json_put(out, "total_ns", json_number(p->total));
    for (unsigned l = 0; l < N_LANES; l++)
        json_put(out, lanes[l].found, json_number(p->lane[l]));
    for (unsigned i = 0; i < b->workload->n_stages; i++) {
        json_t *stage = json_object(); /* a name may occur twice */
        json_put(stage, "name", json_string(b->workload->stage[i].kind->name));
        json_put(stage, "ns", json_number(p->stage[i]));
        json_add(stages, stage);
    }
    json_put(out, "stages", stages);
    json_put(out, "non_gemm_frac", json_number(pipe_non_gemm(b->workload, p)));
    return out;
}

/* The commands of a run; times relative to its first call. */
static json_t *commands_json(const struct pipe_record *r)
{
    json_t *out = json_array();
    for (size_t i = 0; i < r->n; i++) {
        const struct pipe_command *c = &r->list[i];
        const int64_t begin_ns = (int64_t)r->begin_ns;
        json_t *x = json_object();
        json_put(x, "name", json_text(c->name));
        json_put(x, "lane", json_string(lanes[c->lane].name));
        json_put(x, "chunk", json_uint(c->chunk));
        json_put(x, "bytes", json_number(c->bytes));
        json_put(x, "start_ns", json_number((double)(c->start_ns - begin_ns)));
        json_put(x, "end_ns", json_number((double)(c->end_ns - begin_ns)));
        json_add(out, x);
    }
    return out;
}

static json_t *mode_json(const struct pipe_bench *b,
                         const struct pipe_result *x)
{
    json_t *out = times_json(b, &x->times);
    json_put(out, "mode", json_string(x->mode->name));
    json_put(out, "median_ns", json_number(x->row.samples.median_ns));
    json_put(out, "min_ns", json_number(x->row.samples.min_ns));
    json_put(out, "doubt_ns", json_number(x->best.doubt_ns));
    json_put(out, "commands", commands_json(&x->best));
    if (!x->mode->is_cut)
        return out;
    json_t *chunks = json_array();
    for (unsigned i = 0; i < x->chunks.n; i++)
        json_add(chunks, json_uint(x->chunks.units[i] * b->workload->grain));
    json_put(out, "chunks", chunks);
    json_put(out, "buffers", json_uint(x->buffers));
    json_put(out, "ahead", json_uint(chunks_ahead(&x->chunks, x->buffers)));
    json_put(out, "foreseen_ns", json_number(x->predicted_ns));
    return out;
}

static json_t *first_json(const struct pipe_first *first)
{
    json_t *out = json_object();
    json_put(out, "kernels", json_string(first->name));
    json_put(out, "open_ns", json_number(first->open_ns));
    json_put(out, "build_ns", json_number(first->build_ns));
    json_put(out, "run_ns", json_number(first->run_ns));
    return out;
}

static json_t *sizes_json(const struct pipe_workload *w)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < PIPE_SIZES; i++)
        json_put(out, w->size_names[i], json_uint(w->size[i]));
    return out;
}

static json_t *costs_json(const struct pipe_bench *b)
{
    json_t *out = json_object();
    for (unsigned l = 0; l < N_LANES; l++) {
        json_t *lane = json_object();
        json_put(lane, "chunk_ns", json_number(b->costs.lane[l].chunk_ns));
        json_put(lane, "unit_ns", json_number(b->costs.lane[l].unit_ns));
        json_put(lane, "enqueue_ns", json_number(b->costs.lane[l].enqueue_ns));
        json_put(lane, "alone_ns", json_number(b->separate_ns[l]));
        json_put(out, lanes[l].name, lane);
    }
    return out;
}

struct json_t *pipe_report_json(const struct pipe_bench *b)
{
    const struct pipe_workload *w = b->workload;
    json_t *out = json_object(), *modes = json_array(), *bound = json_object();
    json_t *firsts = json_array();
    const struct pipe_bound verdict = pipe_find_bound(b);
    struct xl__str text = {0};
    json_put(out, "device", json_integer(xl_device_index(b->dev)));
    json_put(out, "stages", json_text(w->stages));
    json_put(out, "sizes", sizes_json(w));
    json_put(out, "dtype", json_string(xl_dtype_name(w->dtype)));
    json_put(out, "flop", json_number(pipe_flop(w)));
    json_put(out, "upload_bytes", json_number(pipe_bytes(w, PIPE_FROM_HOST)));
    json_put(out, "download_bytes", json_number(pipe_bytes(w, PIPE_TO_HOST)));
    json_put(out, "clock", json_string(b->has_event_times ? "event" : "wall"));
    for (unsigned i = 0; i < N_FIRSTS; i++)
        if (b->first[i].is_done)
            json_add(firsts, first_json(&b->first[i]));
    json_put(out, "first_calls", firsts);
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].is_done && b->result[i].times.total > 0)
            json_add(modes, mode_json(b, &b->result[i]));
    json_put(out, "modes", modes);
    json_put(out, "paces", costs_json(b));
    json_put(out, "model", times_json(b, &b->model.times));
    json_put(bound, "by", json_text(*verdict.bound ? verdict.bound : NULL));
    json_put(bound, "share", json_number(verdict.share));
    json_put(bound, "of_slowest", json_number(verdict.of_slowest));
    pipe_describe_bound(b, &text);
    json_put(bound, "words", json_text(xl__str_text(&text)));
    xl__str_clear(&text);
    json_put(out, "bound", bound);
    return out;
}

/* -- the trace ------------------------------------------------------------ */

static void trace_first(const struct pipe_first *first, struct trace *t)
{
    const double ns[] = {first->open_ns, first->build_ns, first->run_ns};
    static const char *const names[] = {"open", "build and check",
                                        "first run"};
    uint64_t at = first->begin_ns;
    if (!first->is_done)
        return;
    (void)trace_call(t, "first call", first->name, at,
                     at + (uint64_t)(ns[0] + ns[1] + ns[2]));
    for (unsigned i = 0; i < 3; at += (uint64_t)ns[i], i++)
        (void)trace_call(t, names[i], NULL, at, at + (uint64_t)ns[i]);
}

/* Adds the recorded run of a mode to the trace: host calls, and device
 * commands if there are event times. */
static void trace_run(const struct pipe_bench *b, const struct pipe_result *x,
                      struct trace *t)
{
    const struct pipe_record *r = &x->best;
    uint64_t cause = 0;
    char what[128];
    snprintf(what, sizeof what, "%s; uncertainty of device times %.1f us",
             x->mode->what, r->doubt_ns * 1e-3);
    (void)trace_call(t, x->mode->name,
                     b->has_event_times ? what : x->mode->what, r->begin_ns,
                     r->end_ns);
    for (size_t i = 0; i < r->n; i++) {
        const struct pipe_command *c = &r->list[i];
        char chunk[32];
        snprintf(chunk, sizeof chunk, "chunk %u", c->chunk);
        if (c->is_first) {
            const char *stage = c->lane == LANE_RUN
                                    ? b->workload->stage[c->stage].kind->name
                                    : c->name;
            cause = trace_call(t, stage, x->mode->is_cut ? chunk : NULL,
                               c->call_ns, c->return_ns);
        }
        if (!b->has_event_times)
            continue;
        const struct trace_command command = {
            .name = c->name,
            .device = xl_device_index(b->dev),
            .device_name = device_fact_text(b->dev, "name", "?"),
            .queue = x->mode->is_cut ? lanes[c->lane].queue : "queue",
            .engine = lanes[c->lane].engine,
            .cause = cause,
            .queued_ns = c->queued_ns,
            .submit_ns = c->submit_ns,
            .start_ns = c->start_ns,
            .end_ns = c->end_ns};
        trace_command(t, &command);
    }
    (void)trace_call(t, "finish", NULL, r->finish_ns, r->end_ns);
}

void pipe_report_trace(const struct pipe_bench *b, struct trace *t)
{
    for (unsigned i = 0; i < N_FIRSTS; i++)
        trace_first(&b->first[i], t);
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].best.n > 0)
            trace_run(b, &b->result[i], t);
}
