/* SPDX-License-Identifier: Apache-2.0 */
/* One class of shapes: the library searches, candidates are tried next door,
 * the line on the terminal moves, and what comes of it is saved. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/hash.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "results/result.h"
#include "tuning/tune.h"
#include "cli/units.h"

static const double ns_per_s = 1e9;
/* Of a class's time, kept for building and timing the best once more at its
 * end: a quarter, which is enough of long ones long before that. */
static const double final_s = 20, final_frac = 0.25;
/* How often a file or a pipe is told how it goes. */
static const double say_every_s = 10;

struct search {
    struct session *s;
    unsigned i, n; /* of the classes */
    double others_s; /* that the classes to come may take */
    char name[96];
    struct tune_worker worker;
    struct tune_result *out;
    uint64_t said_ns;
};

static double since(uint64_t start_ns)
{
    return (double)(xl__now_ns() - start_ns) / ns_per_s;
}

/* -- what is said meanwhile ------------------------------------------------ */

static void say(struct search *r, const char *text)
{
    char before[32];
    snprintf(before, sizeof before, "[%u/%u] ", r->i + 1, r->n);
    if (!r->s->set.quiet)
        session_say(r->s, before, text);
    r->said_ns = xl__now_ns();
}

static void on_progress(void *arg, const xl_tune_progress *p)
{
    struct search *r = arg;
    struct session *s = r->s;
    char best[UNITS_CAP];
    struct xl__str text = {0};
    xl__str_printf(&text, "%s: ", r->name);
    if (p->now)
        xl__str_printf(&text, "%u of %u", p->n_tried, p->n_candidates);
    else
        xl__str_add(&text, session_interrupted()
                               ? "timing the best again; Ctrl-C ends at once"
                               : "timing the best again");
    if (p->n_lost > 0)
        xl__str_printf(&text, ", %u lost", p->n_lost);
    if (p->best) {
        units_time(best, sizeof best, p->best_ns);
        xl__str_printf(&text, ", best %s", best);
    }
    s->progress.left_s = p->left_s + r->others_s;
    progress_say(s, r->i, xl__str_text(&text));
    bool is_asked_to_end = !p->now && session_interrupted();
    if (is_asked_to_end ||
        (!s->progress.enabled && since(r->said_ns) >= say_every_s))
        say(r, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- trying ---------------------------------------------------------------- */

static void note(struct search *r, const xl_candidate *c,
                 const xl_candidate_result *t)
{
    struct tune_result *out = r->out;
    struct xl__str text = {0};
    if (xl__grow(&out->attempts, &out->cap, out->n_attempts + 1,
                 sizeof *out->attempts))
        out->attempts[out->n_attempts++] = (struct tune_attempt){*c, *t};
    if (t->end == XL_CANDIDATE_RIGHT || t->end == XL_CANDIDATE_SLOW ||
        t->end == XL_CANDIDATE_REFUSED)
        return;
    xl__str_printf(&text, "%s: lost, %s: %s %s: %s", r->name,
                   xl_candidate_end_name(t->end), c->variant, c->tunables,
                   t->why);
    say(r, xl__str_text(&text));
    xl__str_clear(&text);
}

static xl_status try_one(void *arg, const xl_candidate *c, double limit_ns,
                         xl_candidate_result *out)
{
    struct search *r = arg;
    xl_status status = tune_worker_try(&r->worker, c, limit_ns, out);
    if (status == XL_OK)
        note(r, c, out);
    return status;
}

static bool stops(void *arg)
{
    const struct search *r = arg;
    const size_t most = r->s->set.tries;
    return session_stopped(r->s) || (most > 0 && r->out->n_attempts >= most);
}

/* -- the journal ----------------------------------------------------------- */

/* What may stand in a file's name. */
static void add_name(struct xl__str *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (; *text; text++)
        xl__str_add_n(out, strchr(plain, *text) ? text : "_", 1);
}

/* Names are cut and spelled with less than they have: a hash tells the rest
 * apart. */
static void journal_name(const struct search *r, xl_device *dev,
                         struct xl__str *out)
{
    enum { MOST_DEVICE = 32 };
    const struct tune_class *c = r->worker.of;
    struct xl__str all = {0}, device = {0};
    static const char *const facts[] = {"name", "platform", "uuid", "pci"};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        xl__str_printf(&all, "%s\n", device_fact_text(dev, facts[i], ""));
    xl__str_printf(&all, "%s\n%s\n", r->name, c->variant ? c->variant : "");
    xl__str_add_n(&device, device_fact_text(dev, "name", "device"),
                  xl__min_size(MOST_DEVICE,
                               strlen(device_fact_text(dev, "name",
                                                       "device"))));
    add_name(out, xl__str_text(&device));
    xl__str_printf(out, "-%s-", c->op->name);
    add_name(out, r->name);
    xl__str_printf(out, "-%08x.journal",
                   (unsigned)xl__hash64(xl__str_text(&all), all.len));
    xl__str_clear(&all);
    xl__str_clear(&device);
}

/* Its path, in a folder that is there; free() it. NULL, after saying why: a
 * killed search begins anew. */
static char *journal_path(const struct search *r, xl_device *dev)
{
    struct xl__str name = {0}, text = {0};
    const char *cache = xl_cache_dir(r->s->lib), *why = "out of memory";
    char *own = cache ? NULL : xl__user_cache_dir("crosslane");
    char *folder = cache || own ? xl__path_join(cache ? cache : own, "tune")
                                : NULL;
    char *path = NULL;
    journal_name(r, dev, &name);
    if (folder && !name.broken && xl__dir_create(folder, &why) == XL_OK)
        path = xl__path_join(folder, xl__str_text(&name));
    if (!path && !r->s->set.quiet) {
        xl__str_printf(&text, "%s: %s; a search that is killed will begin "
                              "anew", folder ? folder : "no folder for a "
                              "journal", why);
        session_say(r->s, "warning: ", xl__str_text(&text));
    }
    xl__str_clear(&name);
    xl__str_clear(&text);
    free(own);
    free(folder);
    return path;
}

/* -- saving ---------------------------------------------------------------- */

struct place {
    const struct tune_result *r;
    char *file;
};

/* Where the entry is that was just saved. */
static void find_entry(const xl_tuned_entry *e, void *arg)
{
    struct place *at = arg;
    bool is_it = strcmp(e->op, at->r->of->op->name) == 0 &&
                 strcmp(e->shape_class, at->r->found.shape_class) == 0 &&
                 strcmp(e->variant, at->r->found.best.variant) == 0 &&
                 strcmp(e->tunables, at->r->found.best.tunables) == 0;
    if (is_it && !at->file)
        at->file = xl__strdup(e->origin);
}

static int save(struct session *s, xl_queue *q, struct tune_result *r)
{
    struct place at = {r, NULL};
    const char *path = s->set.output;
    xl_status status = xl_tuned_save(q, r->of->op->name, &r->of->desc,
                                     &r->found, path);
    if (status != XL_OK)
        return session_fail(s, path ? path : "saving what was found", status,
                            xl_error_detail(q));
    r->is_saved = true;
    if (path)
        at.file = xl__strdup(path);
    else
        (void)xl_tuned_list(q, find_entry, &at);
    r->file = at.file;
    return EXIT_FINE;
}

/* -- one class ------------------------------------------------------------- */

static void tell_found(const struct search *r, struct xl__str *text)
{
    const xl_tuned *f = &r->out->found;
    char time[UNITS_CAP];
    units_time(time, sizeof time, f->best_ns);
    xl__str_printf(text, "%s: %s, %s", r->name, f->best.variant, time);
    if (f->gain > 0)
        xl__str_printf(text, ", %.2fx the model's choice", f->gain);
}

/* What becomes of a search's status. */
static int conclude(struct search *r, xl_queue *q)
{
    struct tune_result *out = r->out;
    struct xl__str text = {0};
    int code = EXIT_FINE;
    switch (out->status) {
    case XL_OK:
        code = save(r->s, q, out);
        tell_found(r, &text);
        break;
    case XL_CANCELLED:
        xl__str_printf(&text, "%s: the time was over before a candidate was "
                              "right%s", r->name,
                       session_interrupted() ? "" : "; give a larger "
                       "--budget: what was tried is not tried again");
        break;
    case XL_UNSUPPORTED:
        xl__str_printf(&text, "%s: no candidate is right on this device",
                       r->name);
        if (*xl_error_detail(q))
            xl__str_printf(&text, ": %s", xl_error_detail(q));
        r->s->n_errors++;
        break;
    default:
        code = session_fail(r->s, r->name, out->status, xl_error_detail(q));
    }
    if (text.len > 0)
        say(r, xl__str_text(&text));
    xl__str_clear(&text);
    return code;
}

int tune_search(struct session *s, xl_queue *q, const struct tune_classes *all,
                unsigned i, const struct tune_share *share,
                struct tune_result *out)
{
    const struct tune_class *c = &all->list[i];
    struct search r = {.s = s, .i = i, .n = all->n, .out = out,
                       .others_s = share->others_s,
                       .worker = {.s = s, .of = c, .q = q}};
    *out = (struct tune_result){.of = c};
    tune_class_text(c, true, r.name, sizeof r.name);
    char *journal = journal_path(&r, xl_queue_device(q));
    const double search_s = fmax(share->own_s - final_s,
                                 share->own_s * (1 - final_frac));
    const xl_tuning how = {.budget_s = search_s,
                           .run_candidate = try_one,
                           .progress = on_progress,
                           .stop = stops,
                           .arg = &r,
                           .journal = journal};
    uint64_t start_ns = xl__now_ns();
    out->status = xl_tune(q, c->op->name, &c->desc, &how, &out->found);
    out->took_s = since(start_ns);
    tune_worker_clear(&r.worker);
    int code = conclude(&r, q);
    if (out->is_saved && out->found.is_complete && journal)
        (void)xl__file_remove(journal);
    free(journal);
    return code;
}

static xl_status only_note(void *arg, const xl_candidate *c, double limit_ns,
                           xl_candidate_result *out)
{
    struct search *r = arg;
    (void)limit_ns;
    *out = (xl_candidate_result){.end = XL_CANDIDATE_REFUSED,
                                 .median_ns = NAN,
                                 .mad_ns = NAN,
                                 .why = "not tried"};
    note(r, c, out);
    return XL_OK;
}

int tune_dry_run(struct session *s, xl_queue *q, const struct tune_class *c,
                 struct tune_result *out)
{
    struct search r = {.s = s, .out = out};
    const xl_tuning how = {.run_candidate = only_note, .arg = &r};
    *out = (struct tune_result){.of = c};
    tune_class_text(c, true, r.name, sizeof r.name);
    out->status = xl_tune(q, c->op->name, &c->desc, &how, &out->found);
    if (out->status == XL_OK || out->n_attempts > 0)
        return EXIT_FINE;
    return session_fail(s, r.name, out->status, xl_error_detail(q));
}

void tune_result_clear(struct tune_result *r)
{
    free(r->attempts);
    free(r->file);
    *r = (struct tune_result){.of = NULL};
}
