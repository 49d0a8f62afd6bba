/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's half of a trial: one child for as many candidates as it
 * survives. What ends it is the end of the candidate that it was asked for
 * last, and of nothing else. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/console.h"
#include "cli/trial_lines.h"
#include "results/result.h"
#include "tuning/tune.h"

/* A driver that wakes eight devices may be silent for seconds. */
static const double start_s = 30;
/* A candidate runs so often at most, while it is not known to be slow. */
static const double runs_a_trial = 60;
static const double first_times = 5;
static const double ns_per_s = 1e9;

/* -- the child ------------------------------------------------------------ */

static bool stops(void *worker)
{
    const struct tune_worker *w = worker;
    return session_stopped(w->s);
}

static struct child *start(struct tune_worker *w)
{
    char index[16], batch[24];
    const struct tune_class *c = w->of;
    xl_device *dev = xl_queue_device(w->q);
    snprintf(index, sizeof index, "%u", xl_device_index(dev));
    /* By what is its own, where it has that: a child may count otherwise. */
    const char *device = device_fact_text(dev, "uuid", index);
    snprintf(batch, sizeof batch, "%zu", c->batch);
    const char *const trans = option_choice(option_find("trans"), c->trans);
    const char *const accuracy =
        option_choice(option_find("accuracy"), (int)c->accuracy);
    const char *const args[] = {
        "tune", c->op->name, c->shape, "--device", device, "--quiet",
        "--dtype", xl_dtype_name(c->dtype), "--accuracy", accuracy,
        trans ? "--trans" : NULL, trans, c->batch ? "--batch" : NULL, batch,
        NULL};
    static const char *const variables[] = {TUNE_VARIABLE "=1", NULL};
    const struct child_step step = {
        .args = args, .variables = variables, .silence_s = start_s,
        .longest_s = w->s->limit_s + start_s, .stop = stops,
        .stop_arg = w};
    return child_start(&step);
}

/* What was heard last of what is not ours: the driver's own words. */
static void keep_words(struct xl__str *words, const struct xl__str *line)
{
    const char *text = xl__str_text(line);
    if (!text[strspn(text, " \t\r")] ||
        strncmp(text, TRIAL_MARK, strlen(TRIAL_MARK)) == 0)
        return;
    xl__str_reset(words);
    text_escape(words, text);
}

static bool is_ready(const char *line, void *unused)
{
    (void)unused;
    return tune_ready_read(line);
}

static bool is_answer(const char *line, void *trial)
{
    enum { LONGEST = 4096 };
    char copy[LONGEST];
    xl__strcpy(copy, sizeof copy, line);
    return tune_answer_read(copy, trial);
}

/* Hear the child until it says what is waited for; false: it is gone. */
static bool await(struct child *child, bool (*is_it)(const char *, void *),
                  void *arg, struct xl__str *words)
{
    struct xl__str line = {0};
    bool found = false;
    while (!found && child_hear(child, &line)) {
        found = is_it(xl__str_text(&line), arg);
        if (!found)
            keep_words(words, &line);
    }
    xl__str_clear(&line);
    return found;
}

/* -- a candidate ---------------------------------------------------------- */

/* The end of a child that did not answer; it is gone then. */
static void conclude(struct tune_worker *w, double silence_s,
                     xl_candidate_result *out, const char *words,
                     enum child_end *end)
{
    struct child_result r;
    struct xl__str why = {0};
    child_end(w->child, &r);
    w->child = NULL;
    *end = r.end;
    *out = (xl_candidate_result){
        .end = XL_CANDIDATE_CRASHED, .median_ns = NAN, .mad_ns = NAN};
    if (r.end == CHILD_HUNG) {
        out->end = XL_CANDIDATE_HUNG;
        xl__str_printf(&why, "no word for %.0f s", silence_s);
    } else if (r.end == CHILD_SIGNALLED) {
        xl__str_printf(&why, "%s", child_signal_name(r.code));
    } else {
        xl__str_printf(&why, "ended its process, exit code %d", r.code);
    }
    if (*words)
        xl__str_printf(&why, "; its last words: %s", words);
    xl__strcpy(out->why, sizeof out->why, xl__str_text(&why));
    xl__str_clear(&why);
    child_clear(&r);
}

/* A child that is ready to be asked. A driver that does not come up in it is
 * no candidate's fault. */
static xl_status make_ready(struct tune_worker *w)
{
    struct xl__str words = {0}, text = {0};
    enum child_end end;
    xl_candidate_result t;
    if (w->child || !(w->child = start(w)))
        return XL_OK;
    bool is_there = await(w->child, is_ready, NULL, &words);
    if (!is_there) {
        conclude(w, start_s, &t, xl__str_text(&words), &end);
        xl__str_printf(&text, "the process for trials does not come up: %s",
                       t.why);
        if (end != CHILD_STOPPED)
            session_say(w->s, "", xl__str_text(&text));
    }
    xl__str_clear(&words);
    xl__str_clear(&text);
    return is_there                ? XL_OK
           : end == CHILD_STOPPED ? XL_CANCELLED
                                   : XL_UNSUPPORTED;
}

/* How long it may take to build a candidate and to run it as often as a
 * timing needs. Before anything was right it is the model's own choice, for
 * which a call would wait as long as it takes: what replaces it must not win
 * because a busy machine was slow to build. */
static double silence_of(const struct session *s, const xl_candidate *c,
                         double limit_ns)
{
    double patience_s = s->set.patience_s * (limit_ns > 0 ? 1 : first_times);
    double run_ns = c->est_ns > limit_ns ? c->est_ns : limit_ns;
    double runs_s = run_ns > 0 ? runs_a_trial * run_ns / ns_per_s : 0;
    return patience_s + runs_s;
}

xl_status tune_worker_try(struct tune_worker *w, const xl_candidate *c,
                          double limit_ns, xl_candidate_result *out)
{
    struct xl__str ask = {0}, words = {0};
    double silence_s = silence_of(w->s, c, limit_ns);
    enum child_end end = CHILD_EXITED;
    xl_status status = make_ready(w);
    if (status != XL_OK)
        return status;
    if (!w->child)
        return xl_tune_candidate(w->q, w->of->op->name, &w->of->desc, c,
                                 limit_ns, out);
    tune_ask_write(&ask, c, limit_ns);
    (void)child_say(w->child, xl__str_text(&ask), silence_s);
    if (!await(w->child, is_answer, out, &words))
        conclude(w, silence_s, out, xl__str_text(&words), &end);
    xl__str_clear(&ask);
    xl__str_clear(&words);
    return end == CHILD_STOPPED ? XL_CANCELLED : XL_OK;
}

void tune_worker_clear(struct tune_worker *w)
{
    child_dismiss(w->child);
    w->child = NULL;
}
