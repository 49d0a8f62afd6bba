/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench` without a command: the suite. It measures the peaks of a device
 * and the library's main operations against them, what a summary needs first.
 */
#include <math.h>

#include "base/os/clock.h"
#include "timing/run_cases.h"
#include "timing/roofs/probes.h"
#include "cli/progress.h"

/* The steps in their order: a probe or an op, with its time in seconds on a
 * CPU, in a quick run and in a usual one; 0: not in a quick run. A step ends
 * when its time is over. What it does not need, the steps after it have. */
/* clang-format off */
static const struct step {
    const char *probe;
    const struct bench_op *op;
    double quick_s, usual_s;
} steps[] = {
    {"timer",      NULL,             0.5, 0.5},
    {"flops",      NULL,             2.5, 2.5},
    {"matrix",     NULL,             1,   1},
    {"bandwidth",  NULL,             4,   4}, /* before ops: their roofs */
    {NULL,         &bench_gemm,      5,   5},
    {"launch",     NULL,             1,   1},
    {NULL,         &bench_softmax,   2,   2.5},
    {"ints",       NULL,             2,   2.5},
    {NULL,         &bench_expr,      3,   4},
    {NULL,         &bench_conv,      2.5, 3},
    {NULL,         &bench_attention, 2,   2.5},
    {"cache",      NULL,             3.5, 3.5},
    {"transfer",   NULL,             2.5, 4},
    {"local",      NULL,             1.5, 2.5},
    {"subgroup",   NULL,             0,   0.5},
    {"occupancy",  NULL,             0,   0.5},
    {"tile",       NULL,             0,   2.5},
    {"coalescing", NULL,             0,   5},
};
/* clang-format on */
enum { N_STEPS = sizeof steps / sizeof *steps };

/* Each row is measured in N_PASSES passes that lie apart in the run, so that
 * its file shows by how much equal measurements differ: `clbench compare`
 * judges by that. Ops and short probes are repeated, with --full all probes.
 */
enum { N_QUICK_PASSES = 2, N_PASSES = 3 };
static const double short_s = 2, pass_s = 7; /* of a probe; of a pass */

static int first_failure(int code, int next)
{
    return code != EXIT_FINE ? code : next;
}

struct suite {
    struct session *s;
    bool is_quick;
    double took_s[N_STEPS]; /* of the first pass */
};

static double step_s(const struct suite *m, size_t i)
{
    return m->is_quick ? steps[i].quick_s : steps[i].usual_s;
}

static int run_step(const struct suite *m, size_t i)
{
    return steps[i].op ? bench_table(m->s, steps[i].op)
                       : probes_run(m->s, probes_find(steps[i].probe));
}

/* The first pass, whose rows are printed. */
static int measure_rows(struct suite *m)
{
    int code = EXIT_FINE;
    for (size_t i = 0; i < N_STEPS && !session_stopped(m->s); i++) {
        const uint64_t start = xl__now_ns();
        if (step_s(m, i) <= 0)
            continue;
        session_step_begin(m->s, step_s(m, i));
        if (session_step_left_s(m->s) > 0)
            code = first_failure(code, run_step(m, i));
        session_step_end(m->s);
        m->took_s[i] = (double)(xl__now_ns() - start) * 1e-9;
    }
    return code;
}

static int repeat_rows(struct suite *m, unsigned pass)
{
    int code = EXIT_FINE;
    m->s->pass = pass;
    session_step_begin(m->s, pass_s);
    for (size_t i = 0; i < N_STEPS && !session_stopped(m->s); i++)
        if (step_s(m, i) > 0 &&
            (m->s->set.full || steps[i].op || m->took_s[i] < short_s))
            code = first_failure(code, run_step(m, i));
    session_step_end(m->s);
    m->s->pass = 0;
    return code;
}

static bool is_gpu(const xl_device *dev)
{
    xl_fact f;
    return xl_device_fact(dev, "is_gpu", XL_UNKNOWN, &f) == XL_OK &&
           f.value == 1;
}

/* The time of the run: a quick one needs less on a GPU. A second of what is
 * promised is for the beginning, the row in progress and the files. */
static void plan_time(const struct suite *m, unsigned n_passes)
{
    enum { QUICK_GPU_S = 14, QUICK_S = 29, USUAL_S = 59 };
    double all_s = 0, steps_s = (n_passes - 1) * pass_s;
    for (unsigned i = 0; i < m->s->n_devices; i++)
        all_s += !m->is_quick               ? USUAL_S
                 : is_gpu(m->s->devices[i]) ? QUICK_GPU_S
                                            : QUICK_S;
    for (size_t i = 0; i < N_STEPS; i++)
        steps_s += step_s(m, i);
    session_plan(m->s, all_s, steps_s);
}

static int run_suite(struct session *s)
{
    struct suite m = {.s = s, .is_quick = s->set.quick};
    const unsigned n_passes = m.is_quick ? N_QUICK_PASSES : N_PASSES;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (!s->set.full)
        plan_time(&m, n_passes);
    /* Rows have the quick extent unless --full is given. */
    s->set.quick = !s->set.full;
    code = measure_rows(&m);
    for (unsigned pass = 1; pass < n_passes && !session_stopped(s); pass++)
        code = first_failure(code, repeat_rows(&m, pass));
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device",         "all-devices", "variant", "same-kernel",
    "dtype",          "trans",       "json",    REPORT_OPTIONS,
    "seed",           "quick",       "full",    "max-time",
    SAMPLING_OPTIONS, "roofs",       "strict",  NULL};

const struct command cmd_suite = {
    .name = "",
    .summary = "a device in a screen: peaks, memory, launches, operations",
    .about =
        "Without a command clbench measures the chosen device in about a "
        "minute: its peaks by type, memory, launches and transfers, and the "
        "library's operations against these peaks. The summary is refined in "
        "place on a terminal and printed last, below the tables of all rows. "
        "--quick takes half a minute on a CPU and a quarter on a GPU, and "
        "leaves out what the summary does not show; --full takes all cases "
        "and more repetitions. Ctrl-C ends the run and keeps its results.",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_suite,
    .has_summary = true,
};
