/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/bug/bug.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases/shapes.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "verify/bug/folder.h"
#include "verify/bug/shrink.h"
#include "verify/verify_cases.h"

enum { TEXT_CAP = 192, MOST_TRIES = 100, RECORDINGS = 3 };

struct search {
    struct session *s;
    xl_device *dev;
    xl_queue *q;
    const struct verify_op *op;
    const char *variant;
    struct verify_case wrong; /* the smallest so far */
    struct check_result found;
    unsigned n_tried;  /* cases that ran, or failed to run */
    char failure[320]; /* why the first of those failed; "": none */
};

/* -- what is asked for -----------------------------------------------------
 */

/* The op that has the variant. */
static bool find_op(struct search *w)
{
    enum { MOST = 128 };
    const char *names[MOST + 1] = {NULL}, *name;
    unsigned n = 0;
    for (unsigned o = 0; (w->op = verify_op_at(o)) != NULL; o++)
        for (unsigned i = 0; (name = verify_variant(w->op, w->dev, i)); i++) {
            if (strcmp(name, w->variant) == 0)
                return true;
            if (n < MOST)
                names[n++] = name;
        }
    char text[TEXT_CAP];
    const char *nearest = text_nearest(w->variant, names);
    snprintf(text, sizeof text, "no variant '%.60s' on device %u; %s%s",
             w->variant, xl_device_index(w->dev),
             nearest ? "did you mean "
                     : "'clbench gemm 64 --explain' and its "
                       "like list them",
             nearest ? nearest : "");
    session_message(w->s, "", text);
    return false;
}

/* A SHAPE of the op: "64x64x64", "2x8x8x3:4x3x3". */
static bool read_shape(struct search *w, size_t *dim, unsigned n)
{
    char text[TEXT_CAP], why[TEXT_CAP];
    const char *form = verify_shape_form(w->op);
    if (w->s->set.n_words == 0)
        return true;
    if (!*form || w->s->set.n_words > 1) {
        session_message(w->s, "",
                        *form ? "--bug takes one SHAPE"
                              : "an expression has no SHAPE");
        return false;
    }
    snprintf(text, sizeof text, "%.180s", w->s->set.words[0]);
    for (char *c = text; *c; c++)
        *c = *c == ':' ? 'x' : *c;
    if (shape_sizes(text, form, dim, n, why, sizeof why))
        return true;
    session_message(w->s, "", why);
    return false;
}

/* -- the search ------------------------------------------------------------
 */

static bool is_wrong(struct search *w, const struct verify_case *c,
                     struct check_result *found)
{
    /* Scratch of a larger case would be a part of the record. */
    (void)xl_queue_trim(w->q);
    const xl_status status =
        verify_case_run(w->q, c, w->variant, w->s->set.seed, found);
    if (status == XL_UNSUPPORTED)
        return false;
    w->n_tried++;
    if (status != XL_OK && status != XL_WRONG_RESULT && !*w->failure) {
        const char *detail = xl_error_detail(w->q);
        char text[TEXT_CAP];
        verify_case_text(c, text, sizeof text);
        snprintf(w->failure, sizeof w->failure, "%.100s: %.200s", text,
                 *detail ? detail : xl_status_text(status));
    }
    return status == XL_WRONG_RESULT && found->first.mem;
}

static bool find_wrong(struct search *w, const size_t *shape, bool has_shape)
{
    struct check_result found;
    struct case_size size[CASE_SIZES];
    char text[TEXT_CAP];
    unsigned n_shape;
    for (unsigned i = 0; !session_stopped(w->s) &&
                         verify_next_case(w->s, w->op, &i, &w->wrong);) {
        const unsigned n = verify_case_sizes(&w->wrong, size, &n_shape);
        for (unsigned k = 0; has_shape && k < n_shape && k < n; k++)
            *size[k].value = shape[k];
        verify_case_text(&w->wrong, text, sizeof text);
        progress_step(w->s, text);
        if (is_wrong(w, &w->wrong, &found)) {
            w->found = found;
            return true;
        }
    }
    return false;
}

/* Make size k smaller by as much as leaves the result wrong: half of it, then
 * half of that, and so on. */
static bool shrink_size(struct search *w, unsigned k, unsigned *n_left)
{
    bool is_smaller = false;
    struct case_size size[CASE_SIZES];
    struct check_result found;
    unsigned n_shape;
    (void)verify_case_sizes(&w->wrong, size, &n_shape);
    const size_t least = size[k].least;
    size_t step = *size[k].value - least;
    while (step > 0 && *n_left > 0 && !session_stopped(w->s)) {
        struct verify_case smaller = w->wrong;
        (void)verify_case_sizes(&smaller, size, &n_shape);
        *size[k].value -= step;
        --*n_left;
        progress_step(w->s, "smaller sizes");
        if (is_wrong(w, &smaller, &found)) {
            w->wrong = smaller;
            w->found = found;
            is_smaller = true;
            step =
                *size[k].value - least < step ? *size[k].value - least : step;
        } else {
            step /= 2;
        }
    }
    return is_smaller;
}

static void shrink(struct search *w)
{
    unsigned n_left = MOST_TRIES, n_shape;
    struct case_size size[CASE_SIZES];
    const unsigned n = verify_case_sizes(&w->wrong, size, &n_shape);
    for (bool is_smaller = true; is_smaller && n_left > 0;) {
        is_smaller = false;
        for (unsigned k = 0; k < n; k++)
            is_smaller = shrink_size(w, k, &n_left) || is_smaller;
    }
}

/* -- the report ------------------------------------------------------------
 */

static void print_outcome(const struct bug *b, const char *folder)
{
    printf("%s is wrong on device %u:\n  %s\n  %s\n%s was written. In it:\n"
           "  cc repro.c -lOpenCL -o repro\n"
           "  ./repro    # exit code 1 where the result is wrong, 0 where it "
           "is right\n",
           b->variant, xl_device_index(b->dev), b->case_text, b->found->why,
           folder);
}

static int write_report(struct search *w, struct record *call)
{
    char text[TEXT_CAP];
    struct xl__str folder = {0};
    const struct bug b = {w->variant, text, w->dev, call, &w->found};
    verify_case_text(&w->wrong, text, sizeof text);
    bug_shrink_sources(w->s, call, &b);
    if (w->s->set.output)
        xl__str_add(&folder, w->s->set.output);
    else
        xl__str_printf(&folder, "bug-%s", w->variant);
    const xl_status status = bug_folder_write(&b, xl__str_text(&folder));
    progress_end(w->s);
    if (status == XL_OK)
        print_outcome(&b, xl__str_text(&folder));
    else
        out_file_report(w->s, "output", xl__str_text(&folder), status);
    xl__str_clear(&folder);
    return status == XL_OK ? EXIT_WRONG : EXIT_FILE;
}

/* A result that depends on time may be right when it is recorded. */
static int record_and_write(struct search *w)
{
    int code = EXIT_WRONG;
    for (unsigned i = 0; i < RECORDINGS; i++) {
        struct record call;
        struct check_result found;
        xl_status status = record_begin(&call, w->q);
        const bool is_same = status == XL_OK && is_wrong(w, &w->wrong, &found);
        if (status == XL_OK)
            status = record_end(&call);
        if (status != XL_OK) {
            code = session_fail(w->s, "recording the call", status, "");
        } else if (is_same &&
                   record_find(&call, found.first.mem) == call.n_buffers) {
            session_message(w->s, "",
                            "the result is wrong, but no kernel of "
                            "crosslane wrote it: nothing to report");
        } else if (is_same) {
            w->found = found;
            code = write_report(w, &call);
        }
        record_clear(&call);
        if (status != XL_OK || is_same)
            return code;
    }
    session_message(w->s, w->found.why,
                    "; but the same call was right when it was recorded");
    return EXIT_WRONG;
}

static int search_and_write(struct search *w)
{
    size_t shape[CASE_SIZES] = {0};
    struct verify_case first;
    struct case_size size[CASE_SIZES];
    unsigned n_shape = 0, i = 0;
    if (verify_next_case(w->s, w->op, &i, &first))
        (void)verify_case_sizes(&first, size, &n_shape);
    if (!read_shape(w, shape, n_shape))
        return EXIT_USAGE;
    progress_begin(w->s, 0);
    if (find_wrong(w, shape, w->s->set.n_words > 0)) {
        shrink(w);
        return record_and_write(w);
    }
    progress_end(w->s);
    if (*w->failure)
        session_message(w->s, "a call failed: ", w->failure);
    printf("%s: no wrong element in %u cases on device %u%s; nothing was "
           "written\n",
           w->variant, w->n_tried, xl_device_index(w->dev),
           session_stopped(w->s) ? ", stopped before the last" : "");
    return *w->failure ? EXIT_WRONG : session_result(w->s);
}

int bug_report(struct session *s)
{
    s->no_cache = s->no_selfcheck = true;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    struct search w = {.s = s, .dev = s->devices[0], .variant = s->set.bug};
    if (!find_op(&w))
        return EXIT_USAGE;
    w.q = session_queue(s, w.dev);
    if (!w.q)
        return EXIT_NO_DEVICE;
    code = search_and_write(&w);
    progress_end(s);
    xl_queue_destroy(w.q);
    return code;
}
