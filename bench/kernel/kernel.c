/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench kernel`: time a kernel of the user. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "commands.h"
#include "cli/units.h"
#include "kernel/op.h"
#include "kernel/program.h"
#include "report/report.h"
#include "results/json.h"

/* -- before anything is timed --------------------------------------------- */

/* Build each file with the first combination of -D that can be built, so that
 * a wrong name or argument is reported once and not in each row. The only
 * kernel of a file gets its name. */
static xl_status try_source(xl_queue *q, const struct kernel_job *job,
                            struct kernel_source *source, struct xl__str *why)
{
    xl_status status = XL_BUILD_FAILED;
    for (unsigned d = 0; status == XL_BUILD_FAILED && d < job->n_defines;
         d++) {
        struct kernel_program p;
        xl__str_reset(why);
        status = kernel_program_open(q, job, source, d, &p, why);
        if (status == XL_OK && !source->kernel) {
            source->kernel = p.name;
            p.name = NULL;
        }
        kernel_program_close(&p);
    }
    return status;
}

static int try_sources(struct session *s, struct kernel_job *job)
{
    struct xl__str why = {0};
    int code = EXIT_FINE;
    xl_queue *q = session_queue(s, s->devices[0]);
    if (!q)
        return EXIT_NO_DEVICE;
    for (unsigned i = 0; code == EXIT_FINE && i < N_SOURCES; i++)
        if (job->source[i].path &&
            try_source(q, job, &job->source[i], &why) == XL_BAD_ARGUMENT) {
            session_message(s, "", xl__str_text(&why));
            code = EXIT_USAGE;
        }
    xl__str_clear(&why);
    xl_queue_destroy(q);
    return code;
}

/* Do the buffers of a case fit on a device? */
static bool check_memory(struct session *s, const struct kernel_case *c,
                         const xl_device *dev)
{
    const double most = kernel_device_fact(dev, "max_alloc_bytes");
    const double memory = kernel_device_fact(dev, "global_mem_bytes");
    double all = 0;
    for (unsigned i = 0; i < c->job->n_args; i++) {
        const struct argument *a = &c->job->arg[i];
        if (!argument_is_buffer(a))
            continue;
        const double bytes = (double)c->elems[i] * (double)a->element->bytes +
                             2 * BENCH_GUARD_BYTES;
        all += bytes;
        if (!(bytes > most) && !(all > memory)) /* either may be NaN */
            continue;
        struct xl__str text = {0};
        char need[UNITS_CAP], limit[UNITS_CAP];
        const bool is_one = bytes > most;
        units_format(need, sizeof need, is_one ? bytes : all, "B");
        units_format(limit, sizeof limit, is_one ? most : memory, "B");
        xl__str_printf(&text,
                       "--arg '%s': %s takes %s, device %u has %s; give a "
                       "smaller --size",
                       a->text, is_one ? "it" : "with the arguments before it",
                       need, xl_device_index(dev), limit);
        if (is_one)
            xl__str_add(&text, " (largest allocation)");
        session_message(s, "", xl__str_text(&text));
        xl__str_clear(&text);
        return false;
    }
    return true;
}

/* -- the result file ------------------------------------------------------ */

static void put_text(json_t *out, const char *name, const char *text)
{
    json_put(out, name, text ? json_text(text) : json_null());
}

/* The file as it was built, and which kernel of it. */
static json_t *source_json(const struct kernel_source *source)
{
    if (!source->path)
        return json_null();
    json_t *out = json_object();
    put_text(out, "file", source->path);
    put_text(out, "kernel", source->kernel);
    json_put(out, "text", json_lines(source->text));
    return out;
}

static void add_extra(struct session *s, const struct kernel_job *job)
{
    static const char *const names[N_SOURCES] = {[SOURCE_TESTED] = "tested",
                                                 [SOURCE_AGAINST] = "against",
                                                 [SOURCE_CHECK] = "check"};
    json_t *out = json_object();
    for (unsigned i = 0; i < N_SOURCES; i++)
        json_put(out, names[i], source_json(&job->source[i]));
    json_put(out, "build_logs", json_array());
    s->extra = json_object();
    json_put(s->extra, "kernel", out);
}

/* -- the command ---------------------------------------------------------- */

static int time_cases(struct session *s, struct kernel_job *job,
                      struct kernel_case *cases)
{
    const void *list[KERNEL_CASES_MOST];
    struct xl__str ignored = {0};
    for (unsigned i = 0; i < job->n_cases; i++) {
        (void)kernel_case_read(job, i, &cases[i], &ignored);
        list[i] = &cases[i];
        for (unsigned d = 0; d < s->n_devices; d++)
            if (!check_memory(s, &cases[i], s->devices[d]))
                return EXIT_USAGE;
    }
    int code = try_sources(s, job);
    if (code != EXIT_FINE)
        return code;
    add_extra(s, job);
    const struct bench_op op = kernel_op(job);
    code = bench_run(s, &op, list, job->n_cases, CASES_OF_USER);
    return code != EXIT_FINE ? code : session_result(s);
}

/* --list: the kernels of the file on the first device. */
static int print_kernels(struct session *s, struct kernel_job *job)
{
    enum { INDENT = 4 };
    struct xl__str list = {0}, why = {0};
    int code = session_open_devices(s);
    xl_queue *q = code == EXIT_FINE ? session_queue(s, s->devices[0]) : NULL;
    if (!q)
        return code == EXIT_FINE ? EXIT_NO_DEVICE : code;
    if (kernel_program_list(q, job, &job->source[SOURCE_TESTED], &list,
                            &why) == XL_OK) {
        for (char *at = list.text, *end; at && *at; at = end + 1) {
            const size_t name = strcspn(at, " \n");
            end = at + strcspn(at, "\n");
            *end = '\0';
            printf("%.*s\n", (int)name, at);
            if (at[name])
                text_wrap(stdout, at + name + 1, INDENT,
                          text_terminal_columns());
        }
    } else {
        session_message(s, "", xl__str_text(&why));
        code = EXIT_WRONG;
    }
    xl__str_clear(&list);
    xl__str_clear(&why);
    xl_queue_destroy(q);
    return code;
}

static int time_job(struct session *s, struct kernel_job *job)
{
    struct kernel_case *cases = xl__calloc(job->n_cases, sizeof *cases);
    s->set.describe = true; /* the text above a table names its axes */
    int code = cases ? session_open_devices(s)
                     : session_fail(s, "starting", XL_NO_MEMORY, "");
    if (code == EXIT_FINE)
        code = time_cases(s, job, cases);
    free(cases);
    return code;
}

static int run_kernel_command(struct session *s)
{
    struct xl__str why = {0};
    struct kernel_job *job = xl__calloc(1, sizeof *job);
    int code = EXIT_USAGE;
    if (!job)
        return session_fail(s, "starting", XL_NO_MEMORY, "");
    if (kernel_job_read(s, job, &why))
        code = s->set.list ? print_kernels(s, job) : time_job(s, job);
    else {
        xl__str_add(&why, " (see 'clbench kernel --help')");
        session_message(s, "", xl__str_text(&why));
    }
    xl__str_clear(&why);
    kernel_job_clear(job);
    free(job);
    return code;
}

static const char *const options[] = {
    "name",     "size",         "arg",    "global",      "local",
    "bytes",    "flop",         "define", "options",     "against",
    "check",    "tolerance",    "device", "all-devices", "trace",
    "json",     REPORT_OPTIONS, "seed",   "quick",       "full",
    "max-time", RUN_OPTIONS,    "roofs",  "strict",      "list",
    NULL};

const struct command cmd_kernel = {
    .name = "kernel",
    .summary = "time a kernel of your own",
    .words = "FILE[:KERNEL]",
    .about =
        "Builds the OpenCL C of FILE and times its kernel with the clocks, "
        "verdicts, roofs and diagnosis of clbench's own. --size names the "
        "sizes, and gives them values; each --arg is an argument, in the "
        "order of the kernel; --global and --local are the launch. All of "
        "these are formulas over the sizes and -D: 1024, N, 0x40, 1e6, + - * "
        "/ % ^, parentheses, min, max, ceil_div(a, b), round_up(a, to), "
        "log2. Several values of a size are cases, several of a -D are "
        "variants; all combinations are timed, the variants of a case "
        "interleaved.\n\n"
        "--bytes and --flop are what one run moves and computes, counted by "
        "you: without them a row has its time, but no rate and no share of a "
        "roof. A buffer lies between guard zones, and a kernel that writes "
        "there, or to an in buffer, is rejected. An out buffer must be "
        "written whole. --check compares the results with those of another "
        "kernel on the same data. --list prints the kernels of FILE and the "
        "--arg that each needs.\n\n"
        "  clbench kernel saxpy.cl --size N=1e6 --arg float=2.5\n"
        "      --arg in:float:N --arg inout:float:N --global N\n"
        "      --bytes '12*N' --flop '2*N'\n"
        "  clbench kernel transpose.cl:tiled --size N=1024,2048\n"
        "      --arg in:float:N*N --arg out:float:N*N --arg int=N\n"
        "      --global N,N --local TILE,TILE -D TILE=8,16,32\n"
        "      --bytes 8*N*N --check transpose.cl:plain@N,N",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_kernel_command,
};
