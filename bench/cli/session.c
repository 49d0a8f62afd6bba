/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the program. The first Ctrl-C sets a flag that every measuring
 * loop polls, and restores the default handler; so a second Ctrl-C ends the
 * program even when a driver hangs. */
#include "cli/session.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "cli/console.h"
#include "cli/hints.h"
#include "host/host_info.h"

static volatile sig_atomic_t interrupted;
/* What Ctrl-C is answered with; NULL: a command that lasts until then. */
static const char *answer;

static const double ns_per_s = 1e9;

/* Only what a signal handler may call. */
static void on_interrupt(int number)
{
    interrupted = 1;
    (void)signal(number, SIG_DFL);
    if (answer)
        xl__write_error(answer);
}

bool session_interrupted(void)
{
    return interrupted != 0;
}

void session_begin(struct session *s)
{
    interrupted = 0;
    answer = s->command->is_live           ? NULL
             : xl__is_terminal(XL__STDERR) ? PROGRESS_ERASE FINISHING
                                           : "clbench: " FINISHING "\n";
    s->start_ns = xl__now_ns();
    s->limit_s = s->set.max_time_s;
    (void)signal(SIGINT, on_interrupt);
}

bool session_tables(const struct session *s)
{
    return !s->is_stdout_taken;
}

void session_message(struct session *s, const char *before, const char *text)
{
    struct xl__str clean = {0};
    progress_hide(s);
    text_escape_lines(&clean, text);
    fprintf(stderr, "clbench: %s%s\n", before, xl__str_text(&clean));
    xl__str_clear(&clean);
}

static void on_log(xl_log_level level, const char *text, void *arg)
{
    struct session *s = arg;
    if (level == XL_LOG_WARNING && !s->set.quiet)
        session_message(s, "warning: ", text);
}

static void add_line(struct xl__str *text, const char *line)
{
    if (text->len > 0)
        xl__str_add(text, "\n");
    xl__str_add(text, line);
}

int session_open(struct session *s)
{
    xl_options options = {XL_OPTIONS_INIT,
                          .log = on_log,
                          .log_arg = s,
                          .skip_selfcheck = s->no_selfcheck,
                          .cache_dir = s->no_cache ? "" : NULL,
                          .listing = s->listing};
    if (s->lib)
        return EXIT_FINE;
    xl_status status = xl_open(&options, &s->lib);
    if (status != XL_OK)
        return session_fail(s, "opening the library", status, "");
    return EXIT_FINE;
}

static int choose_all_devices(struct session *s, unsigned n)
{
    s->devices = xl__calloc(n, sizeof *s->devices);
    if (!s->devices)
        return session_fail(s, "listing devices", XL_NO_MEMORY, "");
    for (unsigned i = 0; i < n; i++) {
        xl_device *dev = xl_device_at(s->lib, i);
        if (dev)
            s->devices[s->n_devices++] = dev;
    }
    return EXIT_FINE;
}

static int choose_one_device(struct session *s)
{
    xl_device *dev = NULL;
    xl_status status =
        xl_device_find(s->lib, s->set.device ? s->set.device : "0", &dev);
    if (status != XL_OK) {
        session_message(s, "", xl_lib_error(s->lib));
        return status == XL_NO_MEMORY ? EXIT_NO_DEVICE : EXIT_USAGE;
    }
    s->devices = xl__calloc(1, sizeof *s->devices);
    if (!s->devices)
        return session_fail(s, "listing devices", XL_NO_MEMORY, "");
    s->devices[s->n_devices++] = dev;
    return EXIT_FINE;
}

/* Find the state of a run that measures. */
static void begin_state(struct session *s)
{
    if (!s->listing && s->n_devices > 0 &&
        command_takes(s->command, option_find("roofs")))
        run_state_begin(&s->state, s->devices, s->n_devices);
}

/* Print the state before the first table, and again where it has become
 * another. */
static void print_state(struct session *s)
{
    struct xl__str text = {0};
    const bool is_news = !s->is_state_shown || s->state.is_busy != s->was_busy;
    if (!s->state.is_known || !is_news)
        return;
    s->is_state_shown = true;
    s->was_busy = s->state.is_busy;
    if (!session_tables(s) || s->set.quiet)
        return;
    run_state_format(&s->state, &text);
    progress_hide(s);
    printf("%s\n\n", xl__str_text(&text));
    xl__str_clear(&text);
}

int session_open_devices(struct session *s)
{
    unsigned n = 0;
    int code = session_open(s);
    if (code != EXIT_FINE || s->n_devices > 0)
        return code;
    xl_status status = xl_device_count(s->lib, &n);
    if (status != XL_OK) {
        struct xl__str text = {0};
        const char *detail = xl_lib_error(s->lib);
        if (s->listing)
            xl__str_printf(&text, "%s: ", s->set.as);
        xl__str_add(&text, *detail ? detail : xl_status_text(status));
        if (!s->listing && !strstr(detail, "clbench doctor"))
            add_line(&text, "run 'clbench doctor': it finds the cause and "
                            "prints what to do");
        session_message(s, "", xl__str_text(&text));
        xl__str_clear(&text);
        return s->listing ? EXIT_FILE : EXIT_NO_DEVICE;
    }
    code =
        s->set.all_devices ? choose_all_devices(s, n) : choose_one_device(s);
    s->rows_of = xl__calloc(s->n_devices + 1, sizeof *s->rows_of);
    if (code == EXIT_FINE && !s->rows_of)
        code = session_fail(s, "listing devices", XL_NO_MEMORY, "");
    for (unsigned i = 0; i < s->n_devices; i++)
        xl_telemetry_watch(s->devices[i], true);
    if (code == EXIT_FINE)
        begin_state(s);
    return code;
}

xl_queue *session_queue(struct session *s, xl_device *dev)
{
    xl_queue *q = NULL;
    xl_status status = xl_queue_create(s->lib, dev, &q);
    if (status == XL_OK)
        return q;
    struct xl__str doing = {0};
    xl__str_printf(&doing, "device %u: creating a queue",
                   xl_device_index(dev));
    (void)session_fail(s, xl__str_text(&doing), status, xl_lib_error(s->lib));
    xl__str_clear(&doing);
    return NULL;
}

/* Seconds to a time, which may be over. */
static double seconds_to(uint64_t ns)
{
    return ((double)ns - (double)xl__now_ns()) / ns_per_s;
}

double session_left_s(const struct session *s)
{
    return s->limit_s > 0 ? seconds_to(s->start_ns) + s->limit_s
                          : (double)INFINITY;
}

double session_step_left_s(const struct session *s)
{
    return s->plan.step_end_ns > 0 ? seconds_to(s->plan.step_end_ns)
                                   : (double)INFINITY;
}

void session_plan(struct session *s, double seconds, double weight)
{
    const uint64_t now = xl__now_ns();
    seconds = fmin(seconds, session_left_s(s));
    s->plan = (struct time_plan){now + (uint64_t)(fmax(seconds, 0) * ns_per_s),
                                 0, weight};
}

void session_step_begin(struct session *s, double weight)
{
    struct time_plan *p = &s->plan;
    if (p->end_ns == 0)
        return;
    const double left_s = fmax(0, seconds_to(p->end_ns));
    p->step_end_ns =
        xl__now_ns() + (uint64_t)(left_s * weight / p->weight * ns_per_s);
    p->weight -= weight;
}

void session_step_end(struct session *s)
{
    s->plan.step_end_ns = 0;
}

void session_step_share(struct session *s, unsigned n)
{
    const uint64_t now = xl__now_ns();
    if (s->plan.step_end_ns > now)
        s->plan.step_end_ns = now + (s->plan.step_end_ns - now) / n;
}

bool session_ended(void *session)
{
    struct session *s = session;
    progress_tick(s);
    s->is_late |= session_left_s(s) <= 0;
    return s->is_late || session_interrupted();
}

bool session_stopped(void *session)
{
    return session_ended(session) || session_step_left_s(session) <= 0;
}

void session_sampling(const struct session *s, xl_sampling *how)
{
    const struct settings *set = &s->set;
    if (option_is_given(option_find("warmup"), set))
        how->warmup = (unsigned)set->warmup;
    if (set->runs > 0) {
        how->min_runs = how->max_runs = (unsigned)set->runs;
        how->max_s = how->patience = 0;
    }
    how->min_s = set->min_time_s;
    how->cold = set->cold;
}

const char *session_not_run(const struct session *s, unsigned i)
{
    if (!s->rows_of || s->rows_of[i] > 0)
        return NULL;
    return session_interrupted() ? "interrupted before its first row"
           : s->is_late || s->is_cut
               ? "--max-time did not suffice for its first row"
               : NULL;
}

static void count_row(struct session *s, const xl_device *dev)
{
    for (unsigned i = 0; s->rows_of && i < s->n_devices; i++)
        s->rows_of[i] += s->devices[i] == dev;
}

void session_section(struct session *s, enum rows_kind kind, const char *title,
                     const char *note)
{
    deadline_lock(s->deadline);
    if (s->pass == 0)
        s->sink.section(s->sink.arg, kind, title, note);
    deadline_unlock(s->deadline);
}

void session_section_end(struct session *s)
{
    deadline_lock(s->deadline);
    if (s->pass == 0)
        s->sink.section_end(s->sink.arg);
    deadline_unlock(s->deadline);
}

/* In a busy run a row that is ok may be one that was lucky. */
static const xl_row *judge_by_state(struct session *s, const xl_row *row,
                                    xl_row *copy)
{
    struct xl__str state = {0};
    run_state_update(&s->state);
    print_state(s);
    if (!s->state.is_busy || row->verdict != XL_ROW_OK)
        return row;
    run_state_format(&s->state, &state);
    *copy = *row;
    copy->verdict = XL_ROW_SUSPICIOUS;
    xl__strfmt(copy->reason, sizeof copy->reason, "the run was %s",
               xl__str_text(&state));
    xl__str_clear(&state);
    return copy;
}

void session_record(struct session *s, xl_device *dev, const xl_row *row)
{
    xl_row copy;
    deadline_lock(s->deadline);
    count_row(s, dev);
    s->sink.record(s->sink.arg, dev, judge_by_state(s, row, &copy));
    deadline_unlock(s->deadline);
}

void session_row(struct session *s, xl_device *dev, const xl_row *row)
{
    xl_row copy;
    deadline_lock(s->deadline);
    if (s->pass > 0) {
        s->sink.repeat(s->sink.arg, dev, s->pass, row);
    } else {
        row = judge_by_state(s, row, &copy);
        s->n_rows++;
        count_row(s, dev);
        s->n_rejected += row->verdict == XL_ROW_REJECTED;
        s->n_errors += row->verdict == XL_ROW_ERROR;
        s->sink.row(s->sink.arg, dev, row);
        if (s->watch)
            s->watch(s->watch_arg, dev, row);
    }
    deadline_unlock(s->deadline);
}

static const struct {
    xl_status status;
    int code;
} code_of_status[] = {
    {XL_BAD_ARGUMENT, EXIT_USAGE},
    {XL_BAD_SHAPE, EXIT_USAGE},
    {XL_OVERFLOW, EXIT_USAGE},
    {XL_AMBIGUOUS, EXIT_USAGE},
    {XL_BAD_SCALAR, EXIT_USAGE},
    {XL_IO, EXIT_FILE},
    {XL_NO_SPACE, EXIT_FILE},
    {XL_CORRUPT, EXIT_FILE},
    {XL_WRONG_RESULT, EXIT_WRONG},
    {XL_UNTRUSTED, EXIT_WRONG},
    {XL_BUILD_FAILED, EXIT_WRONG},
    {XL_CANCELLED, EXIT_FINE},
    {XL_OK, EXIT_FINE},
};

int session_fail(struct session *s, const char *doing, xl_status status,
                 const char *detail)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%s: %s (%s)", doing, xl_status_text(status),
                   xl_status_name(status));
    if (detail && *detail)
        xl__str_printf(&text, ": %s", detail);
    const char *advice = advice_for_status(status);
    if (advice && !s->set.quiet)
        add_line(&text, advice);
    session_message(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    if (session_interrupted())
        return EXIT_INTERRUPTED;
    size_t n = sizeof code_of_status / sizeof code_of_status[0];
    for (size_t i = 0; i < n; i++)
        if (code_of_status[i].status == status)
            return code_of_status[i].code;
    return EXIT_NO_DEVICE;
}

int session_result(const struct session *s)
{
    if (session_interrupted())
        return EXIT_INTERRUPTED;
    bool is_rejected = s->set.strict && s->n_rejected > 0;
    return s->n_wrong > 0 || s->n_errors > 0 || is_rejected ? EXIT_WRONG
                                                            : EXIT_FINE;
}

void session_close(struct session *s)
{
    progress_end(s);
    run_state_end(&s->state);
    json_decref(s->extra);
    s->extra = NULL;
    free(s->devices);
    s->devices = NULL;
    free(s->rows_of);
    s->rows_of = NULL;
    free(s->listing);
    s->listing = NULL;
    s->n_devices = 0;
    xl_close(s->lib);
    s->lib = NULL;
}
