/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/report.h"

#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/units.h"
#include "report/report.h"
#include "results/json.h"
#include "results/result.h"
#include "results/trace.h"

/* -- the bound ---------------------------------------------------------------- */

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

/* clang-format off */
static const struct {
    const char *name, *found, *queue, *engine;
} lanes[N_LANES] = {
    {"upload",   "upload_ns",   "queue of uploads",   "uploads"},
    {"kernels",  "kernels_ns",  "queue of kernels",   "kernels"},
    {"download", "download_ns", "queue of downloads", "downloads"},
};
/* clang-format on */

/* -- rows ------------------------------------------------------------------ */

static void add_row(struct pipe_bench *b, struct pipe_result *x)
{
    struct session *s = b->s;
    if (x->parts.total > 0) {
        for (unsigned l = 0; l < N_LANES; l++)
            xl_row_found(&x->row, lanes[l].found, x->parts.lane[l]);
        xl_row_found(&x->row, "non_gemm_frac",
                     pipe_non_gemm(b->work, &x->parts));
    }
    if (x->mode->is_cut && x->is_done) {
        xl_row_found(&x->row, "chunks", x->chunks.n);
        xl_row_found(&x->row, "buffers", x->buffers);
        xl_row_found(&x->row, "of_slowest", pipe_judge(b).of_slowest);
    }
    s->n_rows++;
    s->n_rejected += x->row.verdict == XL_ROW_REJECTED;
    s->n_errors += x->row.verdict == XL_ROW_ERROR;
    session_record(s, b->dev, &x->row);
}

void pipe_report_first(struct pipe_bench *b, const struct pipe_first *first)
{
    const struct pipe_work *w = b->work;
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

/* -- JSON ------------------------------------------------------------------ */

static json_t *parts_json(const struct pipe_bench *b,
                          const struct pipe_parts *p)
{
    json_t *out = json_object(), *stages = json_array();
    json_put(out, "total_ns", json_number(p->total));
    for (unsigned l = 0; l < N_LANES; l++)
        json_put(out, lanes[l].found, json_number(p->lane[l]));
    for (unsigned i = 0; i < b->work->n_stages; i++) {
        json_t *stage = json_object(); /* a name may come twice */
        json_put(stage, "name", json_string(b->work->stage[i].kind->name));
        json_put(stage, "ns", json_number(p->stage[i]));
        json_add(stages, stage);
    }
    json_put(out, "stages", stages);
    json_put(out, "non_gemm_frac", json_number(pipe_non_gemm(b->work, p)));
    return out;
}

/* What the bars are drawn of; times count from the run's first call. */
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
    json_t *out = parts_json(b, &x->parts);
    json_put(out, "mode", json_string(x->mode->name));
    json_put(out, "median_ns", json_number(x->row.samples.median_ns));
    json_put(out, "min_ns", json_number(x->row.samples.min_ns));
    json_put(out, "doubt_ns", json_number(x->best.doubt_ns));
    json_put(out, "commands", commands_json(&x->best));
    if (!x->mode->is_cut)
        return out;
    json_t *chunks = json_array();
    for (unsigned i = 0; i < x->chunks.n; i++)
        json_add(chunks, json_uint(x->chunks.units[i] * b->work->grain));
    json_put(out, "chunks", chunks);
    json_put(out, "buffers", json_uint(x->buffers));
    json_put(out, "ahead", json_uint(chunks_ahead(&x->chunks, x->buffers)));
    json_put(out, "foreseen_ns", json_number(x->foreseen_ns));
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

static json_t *sizes_json(const struct pipe_work *w)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < PIPE_SIZES; i++)
        json_put(out, w->size_names[i], json_uint(w->size[i]));
    return out;
}

static json_t *paces_json(const struct pipe_bench *b)
{
    json_t *out = json_object();
    for (unsigned l = 0; l < N_LANES; l++) {
        json_t *lane = json_object();
        json_put(lane, "chunk_ns", json_number(b->paces.lane[l].chunk_ns));
        json_put(lane, "unit_ns", json_number(b->paces.lane[l].unit_ns));
        json_put(lane, "enqueue_ns",
                 json_number(b->paces.lane[l].enqueue_ns));
        json_put(lane, "alone_ns", json_number(b->alone_ns[l]));
        json_put(out, lanes[l].name, lane);
    }
    return out;
}

struct json_t *pipe_report_json(const struct pipe_bench *b)
{
    const struct pipe_work *w = b->work;
    json_t *out = json_object(), *modes = json_array(), *bound = json_object();
    json_t *firsts = json_array();
    const struct pipe_verdict verdict = pipe_judge(b);
    struct xl__str words = {0};
    json_put(out, "device", json_integer(xl_device_index(b->dev)));
    json_put(out, "stages", json_text(w->stages));
    json_put(out, "sizes", sizes_json(w));
    json_put(out, "dtype", json_string(xl_dtype_name(w->dtype)));
    json_put(out, "flop", json_number(pipe_flop(w)));
    json_put(out, "upload_bytes", json_number(pipe_bytes(w, PIPE_FROM_HOST)));
    json_put(out, "download_bytes", json_number(pipe_bytes(w, PIPE_TO_HOST)));
    json_put(out, "clock", json_string(b->is_stamped ? "event" : "wall"));
    for (unsigned i = 0; i < N_FIRSTS; i++)
        if (b->first[i].is_done)
            json_add(firsts, first_json(&b->first[i]));
    json_put(out, "first_calls", firsts);
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].is_done && b->result[i].parts.total > 0)
            json_add(modes, mode_json(b, &b->result[i]));
    json_put(out, "modes", modes);
    json_put(out, "paces", paces_json(b));
    json_put(out, "model", parts_json(b, &b->model.parts));
    json_put(bound, "by", json_text(*verdict.bound ? verdict.bound : NULL));
    json_put(bound, "share", json_number(verdict.share));
    json_put(bound, "of_slowest", json_number(verdict.of_slowest));
    pipe_words(b, &words);
    json_put(bound, "words", json_text(xl__str_text(&words)));
    xl__str_clear(&words);
    json_put(out, "bound", bound);
    return out;
}

/* -- the trace ------------------------------------------------------------- */

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

static void trace_run(const struct pipe_bench *b, const struct pipe_result *x,
                      struct trace *t)
{
    const struct pipe_record *r = &x->best;
    uint64_t cause = 0;
    char what[128];
    snprintf(what, sizeof what, "%s; the device's times within %.1f us",
             x->mode->what, r->doubt_ns * 1e-3);
    (void)trace_call(t, x->mode->name, b->is_stamped ? what : x->mode->what,
                     r->begin_ns, r->end_ns);
    for (size_t i = 0; i < r->n; i++) {
        const struct pipe_command *c = &r->list[i];
        char chunk[32];
        snprintf(chunk, sizeof chunk, "chunk %u", c->chunk);
        if (c->is_first) {
            const char *stage = c->lane == LANE_RUN
                                    ? b->work->stage[c->stage].kind->name
                                    : c->name;
            cause = trace_call(t, stage, x->mode->is_cut ? chunk : NULL,
                               c->call_ns, c->return_ns);
        }
        if (!b->is_stamped)
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
