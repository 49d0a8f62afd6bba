/* SPDX-License-Identifier: Apache-2.0 */
/* What the device's rates make of a pipeline: transfers at the best rate that
 * was measured, kernels by the roofline, one after the other. */
#include <math.h>

#include "pipeline/measurement.h"
#include "timing/peaks.h"

double pipe_fact(const xl_device *dev, const char *name)
{
    xl_fact fact;
    return xl_device_fact(dev, name, XL_UNKNOWN, &fact) == XL_OK
               ? fact.value
               : (double)NAN;
}

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

xl_status pipe_probe(struct pipe_bench *b, const char *name)
{
    const xl_probing how = {.quick = true, .stop = session_stopped,
                            .stop_arg = b->s};
    return xl_probe_run(b->site.clocked.q[LANE_RUN], name, &how, drop_row,
                        NULL);
}

/* The roofline's time for a stage. */
static double stage_ns(struct pipe_bench *b, const struct pipe_stage *st)
{
    const double items = (double)b->work->items;
    const bool is_gemm = st->kind->is_gemm;
    const xl_roof roof = {.dtype = b->work->dtype,
                          .engine = is_gemm && b->work->dtype != XL_F32
                                        ? XL_ENGINE_MATRIX
                                        : XL_ENGINE_FMA};
    xl_row row;
    xl_bound bound;
    xl_row_init(&row, "", "");
    row.dtype = b->work->dtype;
    row.unit = is_gemm ? "flop/s" : "B/s";
    row.flop = st->flop * items;
    row.bytes = st->bytes * items + st->shared_bytes;
    if (roof_bound(b->site.clocked.q[LANE_RUN], &roof, &row, false, &bound) !=
        XL_OK)
        return (double)NAN;
    return (is_gemm ? row.flop : row.bytes) / bound.value * 1e9;
}

void pipe_model_make(struct pipe_bench *b)
{
    struct pipe_model *m = &b->model;
    const struct pipe_work *w = b->work;
    if (isnan(pipe_fact(b->dev, "upload_bytes_per_s")))
        (void)pipe_probe(b, "transfer");
    m->upload = pipe_fact(b->dev, "upload_bytes_per_s");
    m->download = pipe_fact(b->dev, "download_bytes_per_s");
    m->parts.lane[LANE_UP] = pipe_bytes(w, PIPE_FROM_HOST) / m->upload * 1e9;
    m->parts.lane[LANE_DOWN] = pipe_bytes(w, PIPE_TO_HOST) / m->download * 1e9;
    for (unsigned i = 0; i < w->n_stages; i++) {
        m->parts.stage[i] = stage_ns(b, &w->stage[i]);
        m->parts.lane[LANE_RUN] += m->parts.stage[i];
    }
    for (unsigned l = 0; l < N_LANES; l++)
        m->parts.total += m->parts.lane[l];
}
