/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `build`: the latency of a first call: of a program never compiled
 * before (cold), of the same program in a new context from crosslane's store
 * (cached), and of a new context and queue alone. Each is timed until the
 * first result, since drivers finish compiling as late as the first launch. */

#include "base/os/clock.h"
#include "measure/probe.h"
#include "runtime/program.h"
#include "sampling/sampler.h"

enum { QUICK_RUNS = 3, FULL_RUNS = 10, ITEMS = 64 };

enum stage { CONTEXT, COLD, CACHED, N_STAGES };
static const char *const names[N_STAGES] = {"context", "cold", "cached"};

/* A plan whose program no cache contains: `unique` is part of its options. */
static struct xl__plan make_unique_plan(long unique)
{
    struct xl__plan plan;
    struct xl__step *s =
        xl__probe_step(&plan, "probe/fma.cl", "flops", ITEMS, 1, false);
    xl__define(s, "TYPE", 0);
    xl__define(s, "VEC", 4);
    xl__define(s, "CHAINS", 4);
    xl__define(s, "UNIQUE", unique);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, 1);
    return plan;
}

static xl_status time_first_result(xl_queue *q, const struct xl__plan *plan,
                                   double *ns)
{
    xl_status status = XL_OK;
    cl_mem out = NULL;
    float seen;
    TRY(xl_buffer_create(q, ITEMS * sizeof seen, &out));
    const struct xl__call call = {.mem = {[1] = {.buf = out}}};
    const uint64_t start = xl__now_ns();
    TRY(xl__plan_launch(q, plan, &call, NULL));
    TRY(xl_buffer_read(q, out, 0, &seen, sizeof seen));
    *ns = (double)(xl__now_ns() - start);
fail:
    xl__buffer_release(out);
    return status;
}

/* Creates a queue in a new context of the same device; its error is copied to
 * `q`. */
static xl_status create_fresh_queue(xl_queue *q, xl_queue **out)
{
    xl_lib *lib = q->ctx->lib;
    const xl_status status = xl_queue_create(lib, q->ctx->device, out);
    if (status != XL_OK)
        return xl__error_set(&q->error, status, "%s", xl_lib_error(lib));
    return XL_OK;
}

/* Times a new context, and in it the program, which the store should
 * contain. */
static xl_status measure_cached(struct xl__session *p,
                                const struct xl__plan *plan,
                                double *context_ns, double *ns, bool *stored)
{
    xl_status status = XL_OK;
    struct xl__program *program = NULL;
    xl_queue *fresh = NULL;
    const uint64_t start = xl__now_ns();
    TRY(create_fresh_queue(p->q, &fresh));
    *context_ns = (double)(xl__now_ns() - start);
    status = time_first_result(fresh, plan, ns);
    if (status == XL_OK)
        status = xl__program_get(fresh->ctx, &plan->step[0], &program,
                                 &fresh->error);
    if (status != XL_OK)
        TRY(xl__error_set(&p->q->error, status, "%s", xl_error_detail(fresh)));
    *stored = program->from_cache;
fail:
    xl_queue_destroy(fresh);
    return status;
}

/* All stages have the same number of samples. */
static bool is_needed(xl_row row[N_STAGES], unsigned least)
{
    bool wanted = false;
    for (unsigned i = 0; i < N_STAGES; i++)
        wanted = xl__samples_needed(&row[i].samples, least) || wanted;
    return wanted;
}

static xl_status run_build_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const unsigned n = p->how->quick ? QUICK_RUNS : FULL_RUNS;
    xl_row row[N_STAGES];
    bool all_stored = true;
    for (unsigned i = 0; i < N_STAGES; i++) {
        xl_row_init(&row[i], "probe_build", names[i]);
        row[i].unit = "s";
        row[i].samples.wall_clock = true;
        row[i].samples.batch = 1;
    }
    while (is_needed(row, n)) {
        const unsigned i = row[COLD].samples.runs;
        bool stored = false;
        const long unique = (long)((xl__now_ns() >> 8) & 0x7fffffff);
        const struct xl__plan plan = make_unique_plan(unique);
        TRY(xl__probe_check_stop(p));
        TRY(time_first_result(p->q, &plan, &row[COLD].samples.ns[i]));
        TRY(measure_cached(p, &plan, &row[CONTEXT].samples.ns[i],
                           &row[CACHED].samples.ns[i], &stored));
        for (unsigned k = 0; k < N_STAGES; k++)
            row[k].samples.runs++;
        all_stored = all_stored && stored;
    }
    if (!all_stored)
        xl__row_mark(&row[CACHED], XL_ROW_UNSUPPORTED, "%s",
                     p->q->ctx->lib->store.dir
                         ? "not found in the store: built again"
                         : "the program cache is off: built again");
    for (unsigned i = 0; i < N_STAGES; i++) {
        xl__samples_summarise(&row[i].samples, NULL);
        row[i].value = row[i].samples.median_ns * 1e-9;
        xl__probe_emit(p, &row[i]);
    }
fail:
    return status;
}

const struct xl__probe xl__probe_build = {
    {"build",
     "Seconds from the request for a kernel to its first result: cold (a "
     "program unique to this run), cached (in a new context, from crosslane's "
     "store of binaries), and a new context alone. Drivers keep caches of "
     "their own, which are not cleared: they cannot contain a cold program, "
     "but speed up the cached one. Some compile again from our binary.",
     false},
    run_build_probe};
