/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of `clbench tune` in a child process, so that one that crashes,
 * hangs or corrupts memory does not affect the search.
 *
 *     parent                                child
 *                                           @clbench ready
 *     try VARIANT TUNABLES EST_NS LIMIT_NS
 *                                           @clbench tried END RUNS ...
 *     ...                                   ...
 *
 * Each is one line with fields separated by tabs. Replies have a mark, since
 * drivers print text of their own. One child runs candidates until one of them
 * ends it; that end is the result of the candidate that was sent last. */
#include "tuning/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/console.h"
#include "cli/subprocess.h"
#include "results/result.h"

#define ASK "try"
#define READY CHILD_LINE_MARK "ready"
#define ANSWER CHILD_LINE_MARK "tried"

/* Split a line at the tabs: `kind`, then exactly n fields. */
static bool split_fields(char *line, const char *kind, char **fields,
                         unsigned n)
{
    char *at = line;
    for (unsigned i = 0; i < n; i++) {
        at = strchr(at, '\t');
        if (!at)
            return false;
        *at++ = 0;
        fields[i] = at;
    }
    return !strchr(at, '\t') && strcmp(line, kind) == 0;
}

static bool read_number(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end > text && !*end;
}

static bool read_text(const char *text, char *out, size_t cap)
{
    xl__strcpy(out, cap, text);
    return strlen(text) < cap;
}

void tune_request_write(struct xl__str *out, const xl_candidate *c,
                        double limit_ns)
{
    xl__str_printf(out, ASK "\t%s\t%s\t%.17g\t%.17g\n", c->variant,
                   c->tunables, c->est_ns, limit_ns);
}

bool tune_request_read(char *line, xl_candidate *c, double *limit_ns)
{
    enum { VARIANT, TUNABLES, ESTIMATE, LIMIT, N };
    char *f[N];
    return split_fields(line, ASK, f, N) &&
           read_text(f[VARIANT], c->variant, sizeof c->variant) &&
           read_text(f[TUNABLES], c->tunables, sizeof c->tunables) &&
           read_number(f[ESTIMATE], &c->est_ns) &&
           read_number(f[LIMIT], limit_ns);
}

void tune_ready_write(struct xl__str *out)
{
    xl__str_add(out, "\n" READY "\n");
}

bool tune_ready_read(const char *line)
{
    return strcmp(line, READY) == 0;
}

void tune_reply_write(struct xl__str *out, const xl_candidate_result *t)
{
    xl__str_printf(out, "\n" ANSWER "\t%s\t%u\t%.17g\t%.17g\t",
                   xl_candidate_end_name(t->end), t->runs, t->median_ns,
                   t->mad_ns);
    text_escape(out, t->why);
    xl__str_add(out, "\n");
}

static bool read_end(const char *text, xl_candidate_end *out)
{
    for (unsigned i = 0; i < XL_N_CANDIDATE_ENDS; i++) {
        *out = (xl_candidate_end)i;
        if (strcmp(xl_candidate_end_name(*out), text) == 0)
            return true;
    }
    return false;
}

bool tune_reply_read(char *line, xl_candidate_result *t)
{
    enum { END, RUNS, MEDIAN, MAD, WHY, N };
    char *f[N];
    double runs;
    if (!split_fields(line, ANSWER, f, N) || !read_end(f[END], &t->end) ||
        !read_number(f[RUNS], &runs) ||
        !read_number(f[MEDIAN], &t->median_ns) ||
        !read_number(f[MAD], &t->mad_ns))
        return false;
    t->runs = runs >= 0 && runs < XL_MAX_SAMPLES + 1.0 ? (unsigned)runs : 0;
    xl__strcpy(t->why, sizeof t->why, f[WHY]);
    return t->end != XL_CANDIDATE_RIGHT || t->median_ns > 0;
}

/* -- the parent ------------------------------------------------------------
 */

/* A driver that initializes eight devices may take seconds. */
static const double start_s = 30;
/* Upper bound on the runs of a candidate until it is found to be slow. */
static const double runs_a_trial = 60;
static const double first_times = 5;
static const double ns_per_s = 1e9;

/* -- the child ------------------------------------------------------------ */

static bool must_stop(void *worker)
{
    const struct tune_worker *w = worker;
    return session_stopped(w->s);
}

static struct child *start_child(struct tune_worker *w)
{
    char index[16], batch[24], group[24];
    const struct tune_class *c = w->of;
    xl_device *dev = xl_queue_device(w->q);
    snprintf(index, sizeof index, "%u", xl_device_index(dev));
    /* By UUID where there is one: numbers may differ in the child. */
    const char *device = device_fact_text(dev, "uuid", index);
    snprintf(batch, sizeof batch, "%zu", c->batch);
    snprintf(group, sizeof group, "%zu", c->group);
    const char *const trans = option_choice(option_find("trans"), c->trans);
    const char *const accuracy =
        option_choice(option_find("accuracy"), (int)c->accuracy);
    const char *const activations =
        option_choice(option_find("activations"), (int)c->activations);
    const char *const args[] = {
        "tune", c->op->name, c->shape, "--device", device, "--quiet",
        "--dtype", xl_dtype_name(c->dtype), "--accuracy", accuracy,
        "--activations", activations, "--format",
        c->format ? c->format : "q4_0",
        c->group ? "--group" : "--quiet", c->group ? group : "--quiet",
        c->is_dequantise ? "--dequantise" : "--quiet",
        /* No op of rows has a transposition. */
        c->is_log         ? "--log"
        : c->is_rms       ? "--rms"
        : c->has_residual ? "--residual"
        : trans           ? "--trans"
                          : NULL,
        trans                          ? trans
        : c->is_rms && c->has_residual ? "--residual"
                                       : NULL,
        c->batch ? "--batch" : NULL, batch, NULL};
    static const char *const variables[] = {TUNE_VARIABLE "=1", NULL};
    const struct child_step step = {.args = args,
                                    .variables = variables,
                                    .silence_s = start_s,
                                    .longest_s = w->s->limit_s + start_s,
                                    .stop = must_stop,
                                    .stop_arg = w};
    return child_start(&step);
}

/* Keep the last line of other text: a message of the driver. */
static void keep_output(struct xl__str *output, const struct xl__str *line)
{
    const char *text = xl__str_text(line);
    if (!text[strspn(text, " \t\r")] ||
        strncmp(text, CHILD_LINE_MARK, strlen(CHILD_LINE_MARK)) == 0)
        return;
    xl__str_reset(output);
    text_escape(output, text);
}

static bool is_ready(const char *line, void *unused)
{
    (void)unused;
    return tune_ready_read(line);
}

static bool is_answer(const char *line, void *result)
{
    enum { MAX_LINE = 4096 };
    char copy[MAX_LINE];
    xl__strcpy(copy, sizeof copy, line);
    return tune_reply_read(copy, result);
}

/* Read lines until one is accepted by is_it(); false: the child has ended. */
static bool wait_for_line(struct child *child,
                          bool (*is_it)(const char *, void *), void *arg,
                          struct xl__str *text)
{
    struct xl__str line = {0};
    bool found = false;
    while (!found && child_read_line(child, &line)) {
        found = is_it(xl__str_text(&line), arg);
        if (!found)
            keep_output(text, &line);
    }
    xl__str_clear(&line);
    return found;
}

/* -- a candidate ---------------------------------------------------------- */

/* End a child that did not reply, and describe the end as a result. */
static void end_child(struct tune_worker *w, double silence_s, xl_candidate_result *out,
                      const char *output, enum child_end *end)
{
    struct child_result r;
    struct xl__str why = {0};
    child_end(w->child, &r);
    w->child = NULL;
    *end = r.end;
    *out =
        (xl_candidate_result){.end = XL_CANDIDATE_CRASHED, .median_ns = NAN, .mad_ns = NAN};
    if (r.end == CHILD_HUNG) {
        out->end = XL_CANDIDATE_HUNG;
        xl__str_printf(&why, "no output for %.0f s", silence_s);
    } else if (r.end == CHILD_SIGNALLED) {
        xl__str_printf(&why, "%s", child_signal_name(r.code));
    } else {
        xl__str_printf(&why, "ended its process, exit code %d", r.code);
    }
    if (*output)
        xl__str_printf(&why, "; its last output: %s", output);
    xl__strcpy(out->why, sizeof out->why, xl__str_text(&why));
    xl__str_clear(&why);
    child_clear(&r);
}

/* Make sure that a child is ready. A driver that fails to start in it is not
 * the fault of a candidate. */
static xl_status prepare_child(struct tune_worker *w)
{
    struct xl__str output = {0}, text = {0};
    enum child_end end;
    xl_candidate_result t;
    if (w->child || !(w->child = start_child(w)))
        return XL_OK;
    bool is_there = wait_for_line(w->child, is_ready, NULL, &output);
    if (!is_there) {
        end_child(w, start_s, &t, xl__str_text(&output), &end);
        xl__str_printf(&text, "the process for candidates does not start: %s",
                       t.why);
        if (end != CHILD_STOPPED)
            session_message(w->s, "", xl__str_text(&text));
    }
    xl__str_clear(&output);
    xl__str_clear(&text);
    return is_there                ? XL_OK
           : end == CHILD_STOPPED ? XL_CANCELLED
                                   : XL_UNSUPPORTED;
}

/* The time without output that is permitted to a candidate: to build it, and
 * to run it as often as a timing requires. The first candidate, the model's
 * own choice, gets more: it must not lose because a busy machine was slow to
 * build it. */
static double permitted_silence(const struct session *s, const xl_candidate *c,
                                double limit_ns)
{
    double patience_s = s->set.patience_s * (limit_ns > 0 ? 1 : first_times);
    double run_ns = c->est_ns > limit_ns ? c->est_ns : limit_ns;
    double runs_s = run_ns > 0 ? runs_a_trial * run_ns / ns_per_s : 0;
    return patience_s + runs_s;
}

xl_status tune_worker_run(struct tune_worker *w, const xl_candidate *c,
                          double limit_ns, xl_candidate_result *out)
{
    struct xl__str ask = {0}, output = {0};
    double silence_s = permitted_silence(w->s, c, limit_ns);
    enum child_end end = CHILD_EXITED;
    xl_status status = prepare_child(w);
    if (status != XL_OK)
        return status;
    if (!w->child)
        return xl_tune_candidate(w->q, tune_class_problem(w->of), c, limit_ns,
                                 out);
    tune_request_write(&ask, c, limit_ns);
    (void)child_write(w->child, xl__str_text(&ask), silence_s);
    if (!wait_for_line(w->child, is_answer, out, &output))
        end_child(w, silence_s, out, xl__str_text(&output), &end);
    xl__str_clear(&ask);
    xl__str_clear(&output);
    return end == CHILD_STOPPED ? XL_CANCELLED : XL_OK;
}

void tune_worker_clear(struct tune_worker *w)
{
    child_discard(w->child);
    w->child = NULL;
}

/* -- in the child ----------------------------------------------------------
 */

bool tune_is_child(void)
{
    return getenv(TUNE_VARIABLE) != NULL;
}

static void write_line(struct xl__str *line)
{
    fputs(xl__str_text(line), stdout);
    (void)fflush(stdout);
    xl__str_clear(line);
}

/* Run a candidate and write the reply. One that the library does not accept is
 * refused; the parent may have another version of the library. */
static void run_candidate(xl_queue *q, const struct tune_class *c,
                          const xl_candidate *candidate, double limit_ns)
{
    struct xl__str line = {0};
    xl_candidate_result t = {.median_ns = NAN, .mad_ns = NAN};
    xl_status status =
        xl_tune_candidate(q, tune_class_problem(c), candidate, limit_ns, &t);
    if (status != XL_OK) {
        t = (xl_candidate_result){
            .end = XL_CANDIDATE_REFUSED, .median_ns = NAN, .mad_ns = NAN};
        snprintf(t.why, sizeof t.why, "%s: %s", xl_status_text(status),
                 xl_error_detail(q));
    }
    tune_reply_write(&line, &t);
    write_line(&line);
}

int tune_run_child(struct session *s, const struct tune_class *c)
{
    enum { MAX_LINE = 1024 };
    char request[MAX_LINE];
    struct xl__str line = {0};
    /* Without the cache: most programs that are built here are not used again,
     * and some drivers build twice for a binary (CP-10). The parent builds the
     * best one again, and caches it. */
    s->no_cache = true;
    int code = session_open_devices(s);
    xl_queue *q = code == EXIT_FINE ? session_queue(s, s->devices[0]) : NULL;
    if (!q)
        return code != EXIT_FINE ? code : EXIT_NO_DEVICE;
    tune_ready_write(&line);
    write_line(&line);
    while (fgets(request, sizeof request, stdin)) {
        xl_candidate candidate;
        double limit_ns;
        request[strcspn(request, "\n")] = 0;
        if (!tune_request_read(request, &candidate, &limit_ns))
            break;
        run_candidate(q, c, &candidate, limit_ns);
    }
    xl_queue_destroy(q);
    return EXIT_FINE;
}
