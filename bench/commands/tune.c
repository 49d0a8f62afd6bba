/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench tune`: find the best variant and tunables for classes of shapes by
 * trying candidates within a time budget, and save them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "base/str.h"
#include "tuning/report.h"
#include "tuning/search.h"
#include "tuning/worker.h"

static const double default_budget_s = 300, default_patience_s = 20;
static const double ns_per_s = 1e9;

static double seconds_left(const struct session *s)
{
    return s->limit_s - (double)(xl__now_ns() - s->start_ns) / ns_per_s;
}

/* The reason why sets cannot be written to `path`; NULL: they can. */
static const char *file_write_error(const char *path)
{
    struct xl__file_info info;
    struct xl__str test = {0};
    if (xl__path_access(path) != XL__ABSENT && !xl__file_stat(path, &info))
        return "not a regular file";
    xl__str_printf(&test, "%s.test", path);
    errno = 0;
    bool can = xl__file_replace(xl__str_text(&test), "", 0) == XL_OK;
    int error = errno;
    if (can)
        (void)xl__file_remove(xl__str_text(&test));
    xl__str_clear(&test);
    return can ? NULL : error ? strerror(error) : "out of memory";
}

/* Check --output before the search, which takes minutes. */
static int check_output(const struct session *s)
{
    const char *path = s->set.output,
               *why = path ? file_write_error(path) : NULL;
    if (!why)
        return EXIT_FINE;
    fprintf(stderr, "clbench: --output: '%s' cannot be written: %s; give a "
                    "file in a folder that you may write to\n", path, why);
    return EXIT_FILE;
}

/* The reason why sets cannot be saved in the user's folder; NULL: they can. */
static const char *folder_write_error(const char *dir)
{
    const char *why = NULL;
    if (!dir)
        return "XL_TUNED_DIR is 'off', or there is no home for it";
    if (xl__path_access(dir) != XL__WRITABLE &&
        xl__dir_create(dir, &why) != XL_OK)
        return why ? why : "out of memory";
    char *path = xl__path_join(dir, "tuned.json");
    why = path ? file_write_error(path) : "out of memory";
    free(path);
    return why;
}

/* The same for the folder of tuned sets. */
static int check_folder(struct session *s)
{
    const char *dir = xl_tuned_dir(s->lib);
    const char *why = s->set.output ? NULL : folder_write_error(dir);
    struct xl__str text = {0};
    if (!why)
        return EXIT_FINE;
    xl__str_printf(&text,
                   "the results could not be saved in the folder of "
                   "tuned sets%s%s: %s; give --output FILE, or set "
                   "XL_TUNED_DIR to another folder",
                   dir ? " " : "", dir ? dir : "", why);
    session_message(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return EXIT_FILE;
}

/* Search the classes one after another. Each may use an equal share of the
 * time that is left, so time that one does not need goes to the others. */
static int search_classes(struct session *s, xl_queue *q,
                          const struct tune_classes *classes,
                          struct tune_result *results, unsigned *n_done)
{
    int code = EXIT_FINE;
    progress_begin(s, classes->n);
    for (unsigned i = 0; code == EXIT_FINE && i < classes->n; i++) {
        if (session_stopped(s))
            break;
        const double left = seconds_left(s);
        const double own = left / (classes->n - i);
        const struct tune_share share = {own, left - own};
        code = tune_search(s, q, classes, i, &share, &results[i]);
        tune_record(s, &results[i]);
        *n_done += code == EXIT_FINE || results[i].status == XL_OK;
    }
    progress_end(s);
    return code;
}

static void report_unreached(struct session *s,
                             const struct tune_classes *classes,
                             unsigned n_done)
{
    char text[96];
    if (n_done == classes->n || session_interrupted())
        return;
    snprintf(text, sizeof text,
             "the time ended before %u of %u classes; give a larger "
             "--budget",
             classes->n - n_done, classes->n);
    session_message(s, "warning: ", text);
}

static int tune_all_classes(struct session *s, xl_queue *q,
                            const struct tune_classes *classes)
{
    unsigned n_done = 0;
    int code = check_folder(s);
    if (code != EXIT_FINE)
        return code;
    struct tune_result *results = xl__calloc(classes->n, sizeof *results);
    if (!results)
        return session_fail(s, "tuning", XL_NO_MEMORY, "");
    code = search_classes(s, q, classes, results, &n_done);
    tune_print(s, results, n_done);
    if (code == EXIT_FINE)
        report_unreached(s, classes, n_done);
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

/* Does the device have the variant of --variant? */
static int check_variant(struct session *s, const char *op)
{
    struct xl__str text = {0};
    const char *name, *requested = s->set.variant;
    xl__str_printf(&text,
                   "%s has no variant '%s' on this device; must be one of", op,
                   requested ? requested : "");
    for (unsigned i = 0;
         requested && (name = xl_variant_name(s->devices[0], op, i)); i++) {
        if (xl__streq(name, requested))
            requested = NULL;
        else
            xl__str_printf(&text, "%s %s", i ? "," : "", name);
    }
    if (requested)
        session_message(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return requested ? EXIT_USAGE : EXIT_FINE;
}

static int tune_on_device(struct session *s,
                          const struct tune_classes *classes)
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
        code = tune_all_classes(s, q, classes);
    xl_queue_destroy(q);
    return code != EXIT_FINE ? code : session_result(s);
}

static int run_tune(struct session *s)
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
        code = tune_run_child(s, &classes->list[0]);
    else if (code == EXIT_FINE)
        code = tune_on_device(s, classes);
    tune_classes_clear(classes);
    free(classes);
    return code;
}

static const char *const options[] = {
    "device", "variant",      "dtype",       "trans",      "accuracy",
    "batch",  "log",          "rms",         "residual",   "shapes",
    "format", "group",        "activations", "dequantise", "budget",
    "tries",  "patience",     "output",      "dry-run",    "list",
    "json",   REPORT_OPTIONS, NULL};

const struct command cmd_tune = {
    .name = "tune",
    .summary = "search for the fastest variant and tunables of shapes",
    .words = "OP [SHAPE...]",
    .about =
        "Tries variants and tunables of OP, gemm, qgemm, qconvert, softmax, "
        "norm, "
        "attention, rotary or "
        "a gradient (softmax_backward, norm_backward, attention_backward), "
        "for the class of each SHAPE, MxNxK or N (ROWSxCOLS for ops over "
        "rows and qconvert, "
        "BATCHxHEADSxNxD for attention and rotary), or for a default list. "
        "Candidates "
        "that do not fit the device are left out before they "
        "are built; the others run in the order of the model's times, and are "
        "stopped at three times the best time so far. A candidate must agree "
        "with the host before it is accepted, and the best one is timed again "
        "beside the model's choice. The winner is saved, and later calls of "
        "the library use it.\n\n"
        "Candidates run in a process of their own: one that crashes, hangs or "
        "computes wrongly is lost and does not affect the others. Each result "
        "is saved in a journal; a search that was interrupted or killed "
        "continues when the same command runs again.\n\n"
        "  clbench tune gemm 16x4096x4096 --dtype f16 --trans nt\n"
        "  clbench tune gemm --shapes gemm_llm --budget 20m\n"
        "  clbench tune gemm 1024 --dry-run\n"
        "  clbench tune --list",
    .options = options,
    .min_words = 1,
    .max_words = BENCH_MAX_WORDS,
    .run = run_tune,
};
