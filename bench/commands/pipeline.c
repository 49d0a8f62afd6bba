/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench pipeline`: time the transfers and kernels of a chain of operations,
 * from the host's memory to the device and back. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "pipeline/picture.h"
#include "results/json.h"
#include "pipeline/report.h"
#include "cli/console.h"

/* -- which modes ----------------------------------------------------------- */

static bool add_mode(const char *name, size_t len, unsigned *modes)
{
    struct xl__str text = {0};
    const char *names[PIPE_MODES + 1] = {NULL};
    bool is_known = false;
    xl__str_add_n(&text, name, len);
    for (unsigned i = 0; pipe_modes[i].name; i++) {
        names[i] = pipe_modes[i].name;
        if (strcmp(names[i], xl__str_text(&text)) != 0)
            continue;
        *modes |= 1u << i;
        is_known = true;
    }
    if (!is_known) {
        const char *near = text_nearest(xl__str_text(&text), names);
        struct xl__str clean = {0};
        text_escape(&clean, xl__str_text(&text));
        fprintf(stderr,
                "clbench: unknown mode '%s'%s%s%s; must be pageable, "
                "pinned, overlapped, mapped or resident\n",
                xl__str_text(&clean), near ? "; did you mean '" : "",
                near ? near : "", near ? "'?" : "");
        xl__str_clear(&clean);
    }
    xl__str_clear(&text);
    return is_known;
}

static bool read_modes(const struct option_list *list, unsigned *modes)
{
    *modes = list->n > 0 ? 0 : (1u << PIPE_MODES) - 1;
    for (unsigned i = 0; i < list->n; i++) {
        const char *at = list->value[i];
        for (size_t len = strcspn(at, ",");; len = strcspn(at, ",")) {
            if (!add_mode(at, len, modes))
                return false;
            at += len;
            if (!*at)
                break;
            at++;
        }
    }
    return true;
}

/* -- the command ----------------------------------------------------------- */

/* What the command line asks for. */
struct pipeline_job {
    struct session *s;
    struct pipe_workload workload;
    unsigned modes;
    json_t *json;
};

static int run_on_device(struct pipeline_job *job, xl_device *dev)
{
    int code = EXIT_FINE;
    struct session *s = job->s;
    struct pipe_bench *b = xl__calloc(1, sizeof *b);
    if (!b)
        return session_fail(s, "starting", XL_NO_MEMORY, "");
    code = pipe_bench_run(b, s, dev, &job->workload, job->modes);
    json_add(job->json, pipe_report_json(b));
    pipe_report_rows(b);
    if (s->trace)
        pipe_report_trace(b, s->trace);
    if (s->trace && !b->has_event_times && !s->set.quiet)
        session_message(s, "",
                        "--trace: the event clock of this device is not "
                        "reliable; the trace has only the host's calls");
    if (session_tables(s))
        pipe_print(b);
    pipe_bench_clear(b);
    free(b);
    return code;
}

static int run_on_devices(struct pipeline_job *job)
{
    struct session *s = job->s;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    s->extra = json_object();
    job->json = json_array();
    json_put(s->extra, "pipeline", job->json);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        const int failed = run_on_device(job, s->devices[i]);
        code = failed ? failed : code;
    }
    return code != EXIT_FINE ? code : session_result(s);
}

static int run_pipeline(struct session *s)
{
    struct pipeline_job job = {.s = s};
    const struct settings *set = &s->set;
    const xl_dtype dtype =
        set->dtype == XL_N_DTYPES ? XL_F16 : set->dtype;
    char why[256];
    if (!read_modes(&set->modes, &job.modes))
        return EXIT_USAGE;
    if (!pipe_workload_read(set->stages, set->n_words ? set->words[0] : NULL,
                        dtype, &job.workload, why, sizeof why)) {
        struct xl__str clean = {0};
        text_escape(&clean, why);
        fprintf(stderr, "clbench: %s\n", xl__str_text(&clean));
        xl__str_clear(&clean);
        return EXIT_USAGE;
    }
    if (set->chunks > MOST_CHUNKS) {
        fprintf(stderr,
                "clbench: invalid value '%zu' for --chunks: must be at "
                "most %d\n",
                set->chunks, MOST_CHUNKS);
        return EXIT_USAGE;
    }
    return run_on_devices(&job);
}

static const char *const options[] = {
    "device",  "all-devices", "stages",    "dtype",        "mode",   "chunks",
    "buffers", "trace",       "json",      REPORT_OPTIONS, "seed",   "quick",
    "full",    "max-time",    RUN_OPTIONS, "roofs",        "strict", NULL};

const struct command cmd_pipeline = {
    .name = "pipeline",
    .summary = "time transfers and kernels of a chain of operations",
    .words = "[SIZES]",
    .about =
        "Times a chain of operations from the host's memory to the device, "
        "through its kernels, and back, with each mode of transfer: from "
        "pageable memory, from pinned memory, in chunks whose upload, kernels "
        "and download overlap on three queues, in memory that host and device "
        "share, and with data that stays on the device. It prints the time of "
        "each stage, the cost of a program's first call, the stage that "
        "bounds "
        "the others, and the time computed from the device's rates.\n\n"
        "SIZES are BATCHxSEQUENCExHIDDEN for a chain that begins with qk, S = "
        "Q K^T, 32x512x128 when not given, and MxNxK for one that begins with "
        "linear, Y = X W, 4096x4096x4096 when not given; f16 unless --dtype "
        "is "
        "bf16 or f32. Each result is compared with the host in double "
        "precision, on a sample, before and after it is timed.\n\n"
        "  clbench pipeline\n"
        "  clbench pipeline 8x2048x128 --stages qk,softmax,pv\n"
        "  clbench pipeline 4096x1024x4096 --stages linear,gelu --dtype bf16\n"
        "  clbench pipeline --mode pinned,overlapped --chunks 8 --trace "
        "t.json",
    .options = options,
    .dtypes = "f16|bf16|f32",
    .min_words = 0,
    .max_words = 1,
    .run = run_pipeline,
};
