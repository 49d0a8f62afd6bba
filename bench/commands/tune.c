/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench tune`: the best variant and tunables for classes of shapes, found
 * by trial within a time, and kept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "base/str.h"
#include "tuning/tune.h"

static const double default_budget_s = 300, default_patience_s = 20;
static const double ns_per_s = 1e9;

static double left_s(const struct session *s)
{
    return s->limit_s - (double)(xl__now_ns() - s->start_ns) / ns_per_s;
}

/* Why sets cannot be written to `path`; NULL: they can. */
static const char *refusal(const char *path)
{
    struct xl__file_info info;
    struct xl__str trial = {0};
    if (xl__path_access(path) != XL__ABSENT && !xl__file_stat(path, &info))
        return "it is no plain file";
    xl__str_printf(&trial, "%s.trial", path);
    errno = 0;
    bool can = xl__file_replace(xl__str_text(&trial), "", 0) == XL_OK;
    int error = errno;
    if (can)
        (void)xl__file_remove(xl__str_text(&trial));
    xl__str_clear(&trial);
    return can ? NULL : error ? strerror(error) : "out of memory";
}

/* Asked before minutes are spent. */
static int check_output(const struct session *s)
{
    const char *path = s->set.output, *why = path ? refusal(path) : NULL;
    if (!why)
        return EXIT_FINE;
    fprintf(stderr, "clbench: --output: '%s' cannot be written: %s; give a "
                    "file in a folder that you may write to\n", path, why);
    return EXIT_FILE;
}

/* Why nothing can be saved in the user's own folder; NULL: it can. */
static const char *refusal_of_folder(const char *dir)
{
    const char *why = NULL;
    if (!dir)
        return "XL_TUNED_DIR is 'off', or there is no home for it";
    if (xl__path_access(dir) != XL__WRITABLE &&
        xl__dir_create(dir, &why) != XL_OK)
        return why ? why : "out of memory";
    char *path = xl__path_join(dir, "tuned.json");
    why = path ? refusal(path) : "out of memory";
    free(path);
    return why;
}

/* Likewise. */
static int check_folder(struct session *s)
{
    const char *dir = xl_tuned_dir(s->lib);
    const char *why = s->set.output ? NULL : refusal_of_folder(dir);
    struct xl__str text = {0};
    if (!why)
        return EXIT_FINE;
    xl__str_printf(&text, "what is found could not be kept in the folder of "
                          "tuned sets%s%s: %s; give --output FILE, or another "
                          "folder in XL_TUNED_DIR",
                   dir ? " " : "", dir ? dir : "", why);
    session_say(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return EXIT_FILE;
}

/* Class after class; each may take its share of what is left, so that what
 * one does not need is the others'. */
static int search_all(struct session *s, xl_queue *q,
                      const struct tune_classes *classes,
                      struct tune_result *results, unsigned *n_done)
{
    int code = EXIT_FINE;
    progress_begin(s, classes->n);
    for (unsigned i = 0; code == EXIT_FINE && i < classes->n; i++) {
        if (session_stopped(s))
            break;
        const double left = left_s(s);
        const double own = left / (classes->n - i);
        const struct tune_share share = {own, left - own};
        code = tune_search(s, q, classes, i, &share, &results[i]);
        tune_record(s, &results[i]);
        *n_done += code == EXIT_FINE || results[i].status == XL_OK;
    }
    progress_end(s);
    return code;
}

static void tell_unreached(struct session *s,
                           const struct tune_classes *classes, unsigned n_done)
{
    char text[96];
    if (n_done == classes->n || session_interrupted())
        return;
    snprintf(text, sizeof text,
             "the time was over before %u of %u classes; give a larger "
             "--budget", classes->n - n_done, classes->n);
    session_say(s, "warning: ", text);
}

static int tune(struct session *s, xl_queue *q,
                const struct tune_classes *classes)
{
    unsigned n_done = 0;
    int code = check_folder(s);
    if (code != EXIT_FINE)
        return code;
    struct tune_result *results = xl__calloc(classes->n, sizeof *results);
    if (!results)
        return session_fail(s, "tuning", XL_NO_MEMORY, "");
    code = search_all(s, q, classes, results, &n_done);
    tune_print(s, results, n_done);
    if (code == EXIT_FINE)
        tell_unreached(s, classes, n_done);
    for (unsigned i = 0; i < classes->n; i++)
        tune_result_clear(&results[i]);
    free(results);
    return code;
}

static int dry_run(struct session *s, xl_queue *q,
                   const struct tune_classes *classes)
{
    int code = EXIT_FINE;
    for (unsigned i = 0; code == EXIT_FINE && i < classes->n; i++) {
        struct tune_result r;
        code = tune_dry_run(s, q, &classes->list[i], &r);
        if (code == EXIT_FINE)
            tune_print_candidates(s, &r);
        tune_record(s, &r);
        tune_result_clear(&r);
    }
    return code;
}

/* Does the device's list have the variant of --variant? */
static int check_variant(struct session *s, const char *op)
{
    struct xl__str text = {0};
    const char *name, *wanted = s->set.variant;
    xl__str_printf(&text, "%s has no variant '%s' on this device; there are:",
                   op, wanted ? wanted : "");
    for (unsigned i = 0;
         wanted && (name = xl_variant_name(s->devices[0], op, i)); i++) {
        if (xl__streq(name, wanted))
            wanted = NULL;
        else
            xl__str_printf(&text, "%s %s", i ? "," : "", name);
    }
    if (wanted)
        session_say(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return wanted ? EXIT_USAGE : EXIT_FINE;
}

static int with_queue(struct session *s, const struct tune_classes *classes)
{
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (classes->n > 0)
        code = check_variant(s, classes->list[0].op->name);
    if (code != EXIT_FINE)
        return code;
    xl_queue *q = session_queue(s, s->devices[0]);
    if (!q)
        return EXIT_NO_DEVICE;
    if (s->set.list)
        code = tune_list(s, q);
    else if (s->set.dry_run)
        code = dry_run(s, q, classes);
    else
        code = tune(s, q, classes);
    xl_queue_destroy(q);
    return code != EXIT_FINE ? code : session_result(s);
}

static int run(struct session *s)
{
    struct tune_classes *classes = xl__calloc(1, sizeof *classes);
    if (!classes)
        return session_fail(s, "reading shapes", XL_NO_MEMORY, "");
    s->limit_s = s->set.budget_s > 0 ? s->set.budget_s : default_budget_s;
    if (!(s->set.patience_s > 0))
        s->set.patience_s = default_patience_s;
    if (xl__streq(s->set.variant, "all"))
        s->set.variant = NULL;
    int code = s->set.list ? EXIT_FINE : tune_classes_read(s, classes);
    if (code == EXIT_FINE)
        code = check_output(s);
    if (code == EXIT_FINE && tune_is_child())
        code = tune_be_child(s, &classes->list[0]);
    else if (code == EXIT_FINE)
        code = with_queue(s, classes);
    tune_classes_clear(classes);
    free(classes);
    return code;
}

static const char *const options[] = {
    "device", "variant", "dtype", "trans", "accuracy", "batch", "shapes",
    "budget", "tries", "patience", "output", "dry-run", "list", "json",
    REPORT_OPTIONS, NULL};

const struct command cmd_tune = {
    .name = "tune",
    .summary = "find and keep what is fastest for shapes of yours",
    .words = "OP [SHAPE...]",
    .about =
        "Tries variants and tunables of OP, gemm or softmax, for the class of "
        "each SHAPE, MxNxK or N (ROWSxCOLS for softmax), or for a default "
        "list. What does not fit the device is left out before anything is "
        "built; the rest is tried in the order of the model's times, and "
        "given up at three times the best so far. A candidate must agree "
        "with the host before it may win, and the best is timed again beside "
        "the model's choice. What wins is kept, and used by every call from "
        "then on.\n\n"
        "Candidates run in a process of their own: one that crashes, hangs "
        "or computes wrongly is lost, and nothing else. Each result is "
        "written down as it comes: what was interrupted or killed goes on "
        "where it was when the same is asked for again.\n\n"
        "  clbench tune gemm 16x4096x4096 --dtype f16 --trans nt\n"
        "  clbench tune gemm --shapes gemm_llm --budget 20m\n"
        "  clbench tune gemm 1024 --dry-run\n"
        "  clbench tune --list",
    .options = options,
    .min_words = 1,
    .max_words = BENCH_MAX_WORDS,
    .run = run,
};
