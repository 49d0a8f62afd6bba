/* SPDX-License-Identifier: Apache-2.0 */
/* The search itself. On the stub driver: which candidates it tries, in which
 * order and with which limits, what the journal keeps. On a real one: what
 * crashes, hangs, reports wrong times or computes wrongly never wins, and what won is what
 * calls use. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "ops/gemm/gemm.h"
#include "ops/path/tunables.h"
#include "runtime/context.h"
#include "support/support.h"
#include "tune/space.h"

enum { SIZE = 96, MOST = 400 };
/* What ends a search is its list, or stop_after: a slow machine is no end. */
static const double unhurried_s = 1e6;

/* -- a search that is watched ----------------------------------------------*/

struct watched {
    struct test_device t;
    xl_queue *other; /* of trials */
    xl_gemm g;
    char *dir;       /* of tuned sets */
    /* What was tried, and what is to come of it. */
    xl_candidate tried[MOST];
    xl_candidate_result result[MOST];
    double limit_ns[MOST];
    unsigned n, stop_after;
    void (*plant)(struct watched *w, unsigned i, xl_candidate_result *out);
    bool is_real; /* what is not planted is tried */
    unsigned n_told, n_retimed;
    char last[512];
};

static void note(xl_log_level level, const char *text, void *arg)
{
    struct watched *w = arg;
    (void)level;
    xl__strcpy(w->last, sizeof w->last, text);
}

static void open_in(struct watched *w, const char *cl_dir)
{
    const xl_options options = {XL_OPTIONS_INIT,       .log = note,
                                .log_arg = w,          .cl_dir = cl_dir,
                                .cache_dir = "",       .tuned_dir = w->dir,
                                .system_tuned_dir = ""};
    test_device_open(&w->t, &options);
    assert_int_equal(xl_queue_create_beside(w->t.queue, &w->other), XL_OK);
}

static void open_watched(struct watched *w, const char *cl_dir)
{
    memset(w, 0, sizeof *w);
    w->dir = xl__strdup(test_scratch("tuned"));
    w->stop_after = MOST;
    w->g = (xl_gemm){XL_GEMM_INIT,
                     .m = SIZE,
                     .n = SIZE,
                     .k = SIZE,
                     .alpha = 1,
                     .a = xl_mat_rows(NULL, SIZE, XL_F32),
                     .b = xl_mat_rows(NULL, SIZE, XL_F32),
                     .c = xl_mat_rows(NULL, SIZE, XL_F32)};
    open_in(w, cl_dir);
}

static void close_device(struct watched *w)
{
    xl_queue_destroy(w->other);
    test_device_close(&w->t);
}

static void close_watched(struct watched *w)
{
    close_device(w);
    free(w->dir);
}

static xl_status run_candidate_(void *arg, const xl_candidate *c, double limit_ns,
                       xl_candidate_result *out)
{
    struct watched *w = arg;
    xl_status status = XL_OK;
    const unsigned i = w->n++;
    assert_true(i < MOST);
    w->tried[i] = *c;
    w->limit_ns[i] = limit_ns;
    memset(out, 0, sizeof *out);
    out->end = XL_N_CANDIDATE_ENDS;
    if (w->plant)
        w->plant(w, i, out);
    if (out->end == XL_N_CANDIDATE_ENDS && w->is_real)
        status = xl_tune_candidate(w->other, xl_problem_gemm(&w->g), c, limit_ns,
                                   out);
    w->result[i] = *out;
    return status;
}

static bool stop(void *arg)
{
    struct watched *w = arg;
    return w->n >= w->stop_after;
}

static void progress(void *arg, const xl_tune_progress *p)
{
    struct watched *w = arg;
    assert_true(p->n_tried <= p->n_candidates);
    assert_true(p->n_lost <= p->n_tried);
    assert_true(p->left_s >= 0);
    assert_int_equal(p->best != NULL, !isnan(p->best_ns));
    w->n_told++;
    w->n_retimed += p->now == NULL;
}

static xl_status tune(struct watched *w, double budget_s, const char *journal,
                      xl_tuned *out)
{
    const xl_tuning how = {XL_TUNING_INIT,
                           .budget_s = budget_s,
                           .run_candidate = run_candidate_,
                           .stop = stop,
                           .progress = progress,
                           .arg = w,
                           .journal = journal};
    return xl_tune(w->t.queue, xl_problem_gemm(&w->g), &how, out);
}

static void end_right(xl_candidate_result *out, double median_ns)
{
    out->end = XL_CANDIDATE_RIGHT;
    out->runs = 5;
    out->median_ns = median_ns;
    out->mad_ns = 1;
}

/* -- order, without a device -----------------------------------------------*/

/* Times by a rule of the test's own: the further gemm_tiled's tile from 64 x
 * 32, the slower; other variants are slow. */
static void plant_valley(struct watched *w, unsigned i,
                         xl_candidate_result *out)
{
    const char *tm = strstr(w->tried[i].tunables, "TM=");
    const char *tn = strstr(w->tried[i].tunables, "TN=");
    double ns = 1e6;
    if (tm && tn && strcmp(w->tried[i].variant, "gemm_tiled") == 0)
        ns = 1e4 * (1 + fabs(log2(atof(tm + 3) / 64)) +
                    fabs(log2(atof(tn + 3) / 32)));
    end_right(out, ns);
}

/* The model's choice is first, none comes twice, limits are three times the
 * best, and the search gets to the valley's bottom. */
static void stub_order(void **state)
{
    static struct watched w;
    xl_tuned out;
    double best = INFINITY;
    (void)state;
    open_watched(&w, NULL);
    w.plant = plant_valley;
    w.stop_after = 120;
    /* Nothing is right on the stub itself: the final says so. */
    assert_int_equal(tune(&w, unhurried_s, NULL, &out), XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(w.t.queue), "in this process"));
    assert_int_equal(w.n, 120);
    assert_int_equal(w.n_retimed, 1);
    assert_true(out.n_candidates >= 120);
    assert_true(out.n_space > out.n_candidates);
    for (unsigned i = 0; i < w.n; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_false(
                strcmp(w.tried[i].variant, w.tried[k].variant) == 0 &&
                strcmp(w.tried[i].tunables, w.tried[k].tunables) == 0);
        if (i == 0)
            assert_true(w.limit_ns[i] == 0);
        else
            assert_true(fabs(w.limit_ns[i] / (3 * best) - 1) < 1e-9);
        best = fmin(best, w.result[i].median_ns);
    }
    assert_true(best == 1e4);
    close_watched(&w);
}

static void plant_ends(struct watched *w, unsigned i, xl_candidate_result *out)
{
    (void)w;
    out->end = (xl_candidate_end)(XL_CANDIDATE_WRONG + i % 4);
    xl__strcpy(out->why, sizeof out->why, "planted");
    out->median_ns = out->mad_ns = NAN;
}

/* Nothing is right: it says so, and what the model's choice came to. */
static void stub_none_right(void **state)
{
    static struct watched w;
    xl_tuned out;
    (void)state;
    open_watched(&w, NULL);
    w.plant = plant_ends;
    w.stop_after = 6;
    assert_int_equal(tune(&w, unhurried_s, NULL, &out), XL_CANCELLED);
    assert_int_equal(out.n_tried, 6);
    assert_int_equal(out.n_lost, 6);
    assert_false(out.is_complete);
    w.n = 0;
    w.stop_after = MOST;
    w.g.variant = "gemm_ref"; /* one point in all */
    assert_int_equal(tune(&w, unhurried_s, NULL, &out), XL_UNSUPPORTED);
    assert_int_equal(out.n_tried, 1);
    assert_true(out.is_complete);
    assert_non_null(strstr(xl_error_detail(w.t.queue), "planted"));
    close_watched(&w);
}

static xl_status refused(void *arg, const xl_candidate *c, double limit_ns,
                         xl_candidate_result *out)
{
    unsigned *n = arg;
    (void)c;
    (void)limit_ns;
    ++*n;
    *out = (xl_candidate_result){
        .end = XL_CANDIDATE_REFUSED, .median_ns = NAN, .mad_ns = NAN};
    return XL_OK;
}

/* All of tens of thousands of candidates are gone through in the time of one
 * trial or two: 0.4 s, and 20 s where each is looked for among all others. */
static void stub_many(void **state)
{
    enum { MANY = 20000, SIDE = 4096, MOST_S = 8 };
    static struct watched w;
    xl_tuned out;
    unsigned n = 0;
    const xl_tuning how = {XL_TUNING_INIT, .run_candidate = refused,
                           .arg = &n};
    (void)state;
    open_watched(&w, NULL);
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = 1,
                       .n = SIDE,
                       .k = SIDE,
                       .alpha = 1,
                       .a = xl_mat_rows(NULL, SIDE, XL_F16),
                       .b = xl_mat_cols(NULL, SIDE, XL_F16),
                       .c = xl_mat_rows(NULL, SIDE, XL_F16)};
    const clock_t begun = clock(); /* of this process: others may be busy */
    assert_int_equal(xl_tune(w.t.queue, xl_problem_gemm(&g), &how, &out),
                     XL_UNSUPPORTED);
    const double took_s = (double)(clock() - begun) / CLOCKS_PER_SEC;
    assert_true(n > MANY);
    assert_int_equal(n, out.n_candidates);
    assert_true(out.is_complete);
    assert_true(took_s < MOST_S);
    close_watched(&w);
}

static xl_status cancelled(void *arg, const xl_candidate *c, double limit_ns,
                           xl_candidate_result *out)
{
    (void)arg;
    (void)c;
    (void)limit_ns;
    (void)out;
    return XL_CANCELLED;
}

static void stub_bad_input(void **state)
{
    static struct watched w;
    static xl_tuned out;
    xl_candidate_result result;
    const xl_tuning how = {XL_TUNING_INIT, .run_candidate = cancelled};
    static const xl_candidate wrong[] = {
        {"gemm_none", "", 0}, {"gemm_tiled", "TM=64", 0},
        {"gemm_ref", "TM=64", 0}};
    (void)state;
    open_watched(&w, NULL);
    xl_queue *q = w.t.queue;
    xl_problem unknown = xl_problem_gemm(&w.g);
    unknown.op = (xl_op_kind)77;
    assert_null(xl_tuned_dir(NULL));
    assert_string_equal(xl_tuned_dir(w.t.lib), w.dir);
    assert_int_equal(xl_tune(NULL, xl_problem_gemm(&w.g), NULL, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_tune(q, xl_problem_gemm(NULL), NULL, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_tune(q, xl_problem_softmax(NULL), NULL, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_tune(q, xl_problem_conv(NULL), NULL, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_tune(q, unknown, NULL, &out), XL_BAD_ARGUMENT);
    assert_non_null(strstr(xl_error_detail(q), "op 77"));
    assert_int_equal(xl_tune(q, xl_problem_gemm(&w.g), &how, &out),
                     XL_CANCELLED);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            xl_tune_candidate(q, xl_problem_gemm(&w.g), &wrong[i], 0, &result),
            XL_BAD_ARGUMENT);
        assert_true(strlen(xl_error_detail(q)) > 0);
        out.best = wrong[i];
        assert_int_equal(xl_tuned_save(q, xl_problem_gemm(&w.g), &out, NULL),
                         XL_BAD_ARGUMENT);
    }
    w.g.m = 0;
    assert_int_equal(xl_tune(q, xl_problem_gemm(&w.g), NULL, &out),
                     XL_BAD_SHAPE);
    assert_string_equal(xl_candidate_end_name(XL_CANDIDATE_HUNG), "hung");
    assert_string_equal(xl_candidate_end_name((xl_candidate_end)99), "?");
    close_watched(&w);
}

/* -- the journal -----------------------------------------------------------*/

/* Cut the file's last line in two. */
static void tear(const char *path)
{
    char *text;
    size_t len;
    assert_int_equal(xl__file_read(path, &text, &len), XL_OK);
    assert_int_equal(xl__file_replace(path, text, len - 9), XL_OK);
    free(text);
}

/* Is each line one record? */
static void check_lines(const char *path)
{
    char *text;
    size_t len;
    unsigned n_keys = 0, n_lines = 0;
    assert_int_equal(xl__file_read(path, &text, &len), XL_OK);
    for (const char *at = text; (at = strstr(at, "\"key\"")); at++)
        n_keys++;
    for (size_t i = 0; i < len; i++)
        n_lines += text[i] == '\n';
    assert_int_equal(n_keys, n_lines);
    free(text);
}

/* A search that goes on tries nothing again but what was under way. */
static void stub_journal(void **state)
{
    enum { FIRST = 10, ALL = 25 };
    static struct watched w;
    xl_tuned out;
    xl_candidate before[FIRST];
    (void)state;
    open_watched(&w, NULL);
    char *path = xl__path_join(w.dir, "journal");
    w.plant = plant_valley;
    w.stop_after = FIRST;
    tune(&w, unhurried_s, path, &out);
    assert_int_equal(out.n_resumed, 0);
    memcpy(before, w.tried, sizeof before);
    tear(path);
    w.n = 0;
    w.stop_after = ALL;
    tune(&w, unhurried_s, path, &out);
    assert_int_equal(out.n_resumed, FIRST - 1);
    assert_int_equal(out.n_tried, FIRST - 1 + ALL);
    assert_string_equal(w.tried[0].tunables, before[FIRST - 1].tunables);
    check_lines(path);
    /* Another size is another search. */
    w.n = 0;
    w.stop_after = 1;
    w.g.k = SIZE + 1;
    tune(&w, unhurried_s, path, &out);
    assert_int_equal(out.n_resumed, 0);
    free(path);
    close_watched(&w);
}

/* What takes the process with it is not tried for ever. */
static void stub_begun(void **state)
{
    static struct watched w;
    const xl_tuning how = {XL_TUNING_INIT, .run_candidate = cancelled};
    xl_tuning kept = how;
    static xl_tuned out;
    (void)state;
    open_watched(&w, NULL);
    char *path = xl__path_join(w.dir, "journal");
    kept.journal = path;
    for (int i = 0; i < 2; i++)
        assert_int_equal(xl_tune(w.t.queue, xl_problem_gemm(&w.g), &kept, &out),
                         XL_CANCELLED);
    w.plant = plant_valley;
    w.stop_after = 1;
    tune(&w, unhurried_s, path, &out);
    assert_int_equal(out.n_resumed, 1);
    assert_true(out.n_lost >= 1);
    /* Nor is a journal that cannot be written passed over. */
    w.n = 0;
    assert_int_equal(tune(&w, unhurried_s, "/no/such/folder/journal", &out),
                     XL_IO);
    assert_non_null(strstr(xl_error_detail(w.t.queue), "journal"));
    free(path);
    close_watched(&w);
}

/* -- a real device ---------------------------------------------------------*/

/* The first is tried; of the next ones one crashes, one hangs, one is wrong,
 * and one says that it took a nanosecond. */
static void plant_bad(struct watched *w, unsigned i, xl_candidate_result *out)
{
    static const xl_candidate_end ends[] = {
        XL_CANDIDATE_CRASHED, XL_CANDIDATE_HUNG, XL_CANDIDATE_WRONG,
        XL_CANDIDATE_REFUSED};
    (void)w;
    if (i >= 1 && i <= 4) {
        out->end = ends[i - 1];
        out->median_ns = out->mad_ns = NAN;
    }
    if (i == 5)
        end_right(out, 1);
}

static bool is_same(const xl_candidate *a, const xl_candidate *b)
{
    return strcmp(a->variant, b->variant) == 0 &&
           strcmp(a->tunables, b->tunables) == 0;
}

static void device_planted(void **state)
{
    static struct watched w;
    xl_tuned out;
    (void)state;
    open_watched(&w, NULL);
    w.plant = plant_bad;
    w.is_real = true;
    w.stop_after = 6;
    assert_status(tune(&w, unhurried_s, NULL, &out), XL_OK,
                  xl_error_detail(w.t.queue));
    assert_true(out.n_lost >= 4); /* the liar may be lost, too */
    for (unsigned i = 1; i <= 4; i++)
        assert_false(is_same(&out.best, &w.tried[i]));
    assert_true(is_same(&out.model, &w.tried[0]));
    assert_true(out.best_ns > 1000);
    assert_true(out.gain >= 1);
    assert_true(out.n_pairs >= 15 && out.n_pairs <= XL_TUNED_PAIRS);
    close_watched(&w);
}

/* A folder with the library's kernels, one of them begun by `text`. */
static char *edited(const char *name, const char *text)
{
    char *dir = xl__strdup(test_scratch("cl"));
    for (const struct xl__embedded *e = xl__embedded; e->name; e++) {
        struct xl__str all = {0};
        char path[1024];
        test_kernel_path(dir, e->name, path, sizeof path);
        if (strcmp(e->name, name) == 0)
            xl__str_add(&all, text);
        xl__str_add_n(&all, (const char *)e->text, e->len);
        assert_int_equal(xl__file_replace(path, all.text, all.len), XL_OK);
        xl__str_clear(&all);
    }
    return dir;
}

/* The value of a tunable in "TM=64 TN=32", 0 when it is not there. */
static int value_of(const char *tunables, const char *name)
{
    const char *at = strstr(tunables, name);
    return at ? atoi(at + strlen(name)) : 0;
}

enum { WRONG_TM = 16, REFUSED_TM = 8, RIGHT_TM = 32, EACH_TM = 3 };

/* Three of each of these are tried, others pass for refused. */
static void plant_by_tm(struct watched *w, unsigned i,
                        xl_candidate_result *out)
{
    const int tm = value_of(w->tried[i].tunables, "TM=");
    unsigned like = 0;
    for (unsigned k = 0; k < i; k++)
        like += value_of(w->tried[k].tunables, "TM=") == tm;
    if ((tm != WRONG_TM && tm != REFUSED_TM && tm != RIGHT_TM) ||
        like >= EACH_TM)
        out->end = XL_CANDIDATE_REFUSED;
}

/* A kernel that is wrong for some values, and for others does not compile. */
static void device_wrong_kernel(void **state)
{
    static const char text[] =
        "#if TM == 16\n"
        "#define fma(x, y, z) ((z) - (x) * (y))\n"
        "#elif TM == 8\n"
        "#error planted\n"
        "#endif\n";
    static struct watched w;
    unsigned n[XL_N_CANDIDATE_ENDS] = {0};
    xl_tuned out;
    (void)state;
    char *cl = edited("gemm/tiled.cl", text);
    open_watched(&w, cl);
    w.is_real = true;
    w.plant = plant_by_tm;
    w.g.variant = "gemm_tiled";
    w.stop_after = 120;
    assert_status(tune(&w, unhurried_s, NULL, &out), XL_OK,
                  xl_error_detail(w.t.queue));
    for (unsigned i = 0; i < w.n; i++) {
        const int tm = value_of(w.tried[i].tunables, "TM=");
        const xl_candidate_result *r = &w.result[i];
        if (strcmp(r->why, "") == 0 && r->end == XL_CANDIDATE_REFUSED)
            continue; /* planted */
        n[r->end]++;
        if (tm == WRONG_TM)
            assert_int_equal(r->end, XL_CANDIDATE_WRONG);
        if (tm == REFUSED_TM) {
            assert_int_equal(r->end, XL_CANDIDATE_REFUSED);
            assert_non_null(strstr(r->why, "gemm/tiled.cl"));
        }
    }
    if (!n[XL_CANDIDATE_WRONG] || !n[XL_CANDIDATE_REFUSED] ||
        !n[XL_CANDIDATE_RIGHT])
        fail_msg("%u wrong, %u refused, %u right of %u", n[XL_CANDIDATE_WRONG],
                 n[XL_CANDIDATE_REFUSED], n[XL_CANDIDATE_RIGHT], w.n);
    assert_int_equal(value_of(out.best.tunables, "TM="), RIGHT_TM);
    close_watched(&w);
    free(cl);
}

/* Wrong from the 200th row on: the small case does not see it, the one of full
 * size does. */
static void device_wrong_when_large(void **state)
{
    static const char text[] =
        "#define get_global_id(d) (get_global_id(d) % 200)\n";
    static struct watched w;
    xl_candidate c;
    xl_choice choices[8];
    xl_candidate_result out;
    unsigned n;
    (void)state;
    char *cl = edited("gemm/reference.cl", text);
    open_watched(&w, cl);
    w.g.m = w.g.n = 512;
    w.g.b.row_stride = w.g.c.row_stride = 512;
    w.g.variant = "gemm_ref";
    assert_status(xl_gemm_explain(w.t.queue, &w.g, choices, 8, &n), XL_OK,
                  "the small case is right");
    memset(&c, 0, sizeof c);
    xl__strcpy(c.variant, sizeof c.variant, "gemm_ref");
    assert_int_equal(xl_tune_candidate(w.other, xl_problem_gemm(&w.g), &c, 0,
                                       &out),
                     XL_OK);
    assert_int_equal(out.end, XL_CANDIDATE_WRONG);
    assert_non_null(strstr(out.why, "512 x 512"));
    close_watched(&w);
    free(cl);
}

/* What takes longer than the limit is given up. */
static void device_slow(void **state)
{
    static struct watched w;
    xl_candidate c;
    xl_candidate_result out;
    (void)state;
    open_watched(&w, NULL);
    memset(&c, 0, sizeof c);
    xl__strcpy(c.variant, sizeof c.variant, "gemm_ref");
    assert_int_equal(xl_tune_candidate(w.other, xl_problem_gemm(&w.g), &c, 0,
                                       &out),
                     XL_OK);
    assert_int_equal(out.end, XL_CANDIDATE_RIGHT);
    assert_true(out.runs >= 5 && out.median_ns > 0);
    assert_int_equal(xl_tune_candidate(w.other, xl_problem_gemm(&w.g), &c, 1,
                                       &out),
                     XL_OK);
    assert_int_equal(out.end, XL_CANDIDATE_SLOW);
    close_watched(&w);
}

/* -- what calls use --------------------------------------------------------*/

static void count(const xl_tuned_entry *entry, void *arg)
{
    xl_tuned_entry *all = arg;
    all->is_stale = entry->is_stale;
    all->gain += 1;
}

static unsigned n_listed(struct watched *w, bool *is_stale)
{
    xl_tuned_entry all = {.gain = 0};
    assert_int_equal(xl_tuned_list(w->t.queue, count, &all), XL_OK);
    *is_stale = all.is_stale;
    return (unsigned)all.gain;
}

/* The standing of the chosen one, or of one that says `why`. */
static xl_choice standing(struct watched *w, const char *why)
{
    static xl_choice choices[12];
    unsigned n = 0;
    assert_status(xl_gemm_explain(w->t.queue, &w->g, choices, 12, &n), XL_OK,
                  xl_error_detail(w->t.queue));
    for (unsigned i = 0; i < n; i++) {
        if (why ? strstr(choices[i].why, why) != NULL : choices[i].chosen)
            return choices[i];
    }
    fail_msg("none %s", why ? why : "chosen");
    return choices[0];
}

/* Another legal set of the chosen variant than the model's. */
static xl_tuned other_set(struct watched *w)
{
    struct xl__op_call call;
    struct xl__space space;
    xl_tuned out;
    memset(&out, 0, sizeof out);
    memset(&call, 0, sizeof call);
    w->g.variant = "gemm_tiled";
    assert_int_equal(xl__op_call_begin(&call, w->t.queue, &xl__op_gemm, &w->g,
                                       false),
                     XL_OK);
    assert_int_equal(xl__space_init(&space, w->t.device, &call), XL_OK);
    size_t at = 0;
    while (at + 1 < space.n && space.points[at].is_choice)
        at++;
    xl__space_name(&space.points[at], &out.best);
    out.best_ns = 1000;
    out.gain = 1.5;
    out.n_pairs = 15;
    xl__space_clear(&space);
    xl__op_call_end(&call);
    w->g.variant = NULL;
    return out;
}

static void save_result(struct watched *w, const xl_tuned *result)
{
    assert_status(xl_tuned_save(w->t.queue, xl_problem_gemm(&w->g), result,
                                NULL),
                  XL_OK, xl_error_detail(w->t.queue));
}

/* What was saved is chosen, also by its neighbours and under its variant's
 * name; not by another class, nor in another variant. */
static void device_used(void **state)
{
    static struct watched w;
    bool is_stale;
    (void)state;
    open_watched(&w, NULL);
    const xl_tuned result = other_set(&w);
    assert_int_equal(n_listed(&w, &is_stale), 0);
    save_result(&w, &result);
    assert_int_equal(n_listed(&w, &is_stale), 1);
    assert_false(is_stale);
    xl_choice c = standing(&w, NULL);
    assert_string_equal(c.variant, "gemm_tiled");
    assert_int_equal(strncmp(c.tunables, "tuned: ", 7), 0);
    assert_non_null(strstr(c.tunables, w.dir));
    assert_non_null(strstr(c.tunables, result.best.tunables));
    assert_non_null(strstr(c.why, "1.5 times"));
    w.g.variant = "gemm_tiled";
    c = standing(&w, NULL);
    assert_non_null(strstr(c.tunables, result.best.tunables));
    w.g.variant = "gemm_ref";
    c = standing(&w, NULL);
    assert_string_equal(c.variant, "gemm_ref");
    w.g.variant = NULL;
    w.g.k = SIZE - 1;
    assert_int_equal(strncmp(standing(&w, NULL).tunables, "tuned: ", 7), 0);
    w.g.k = 4 * SIZE;
    w.g.a.row_stride = 4 * SIZE;
    assert_int_not_equal(strncmp(standing(&w, NULL).tunables, "tuned: ", 7),
                         0);
    close_watched(&w);
}

/* Write a set over the saved one. */
static void plant_set(struct watched *w, const xl_tuned *result,
                      void (*change)(struct xl__tuned_set *set))
{
    struct xl__tuned_match m;
    struct xl__error e = {0};
    save_result(w, result);
    assert_int_equal(
        xl__tuned_sets_find(&w->t.lib->tuned, w->t.device, NULL, NULL, &m, 1),
        1);
    struct xl__tuned_set set = *m.set;
    change(&set);
    assert_int_equal(
        xl__tuned_sets_save(&w->t.lib->tuned, w->t.device,
                            &(struct xl__tuned_change){.set = &set}, &e),
        XL_OK);
}

static void age(struct xl__tuned_set *set)
{
    xl__strcpy(set->driver, sizeof set->driver, "0.0 of old");
}

static void rename_variant(struct xl__tuned_set *set)
{
    xl__strcpy(set->variant, sizeof set->variant, "gemm_of_old");
}

static void spoil(struct xl__tuned_set *set)
{
    set->tunables[strlen(set->tunables) - 1] = '9';
}

/* What is not legal here is passed over with its reason; what is stale is used
 * and said. */
static void device_passed_over(void **state)
{
    static struct watched w;
    bool is_stale;
    (void)state;
    open_watched(&w, NULL);
    const xl_tuned result = other_set(&w);
    plant_set(&w, &result, spoil);
    xl_choice c = standing(&w, "not used: ");
    assert_string_equal(c.variant, "gemm_tiled");
    assert_non_null(strstr(c.why, "has no tunable"));
    assert_int_not_equal(strncmp(standing(&w, NULL).tunables, "tuned: ", 7),
                         0);
    plant_set(&w, &result, rename_variant);
    c = standing(&w, "no variant gemm_of_old here");
    assert_false(c.chosen);
    plant_set(&w, &result, age);
    c = standing(&w, NULL);
    assert_non_null(strstr(c.why, "stale: tuned with driver 0.0 of old"));
    assert_int_equal(n_listed(&w, &is_stale), 1);
    assert_true(is_stale);
    /* Tuned anew, the old set is tried soon. */
    w.is_real = true;
    w.stop_after = 5;
    xl_tuned out;
    assert_status(tune(&w, unhurried_s, NULL, &out), XL_OK,
                  xl_error_detail(w.t.queue));
    bool was_tried = false;
    for (unsigned i = 0; i < w.n; i++)
        was_tried = was_tried || is_same(&w.tried[i], &result.best);
    assert_true(was_tried);
    close_watched(&w);
}

/* A tuned set whose kernel is wrong by now: said, and the model's runs. */
static void device_wrong_by_now(void **state)
{
    static struct watched w;
    (void)state;
    open_watched(&w, NULL);
    const xl_tuned result = other_set(&w);
    save_result(&w, &result);
    close_device(&w);
    char *cl = edited("gemm/tiled.cl",
                      "#define fma(x, y, z) ((z) - (x) * (y))\n");
    open_in(&w, cl);
    const xl_choice c = standing(&w, NULL);
    assert_string_not_equal(c.variant, "gemm_tiled");
    assert_non_null(strstr(w.last, "cannot be used"));
    close_watched(&w);
    free(cl);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stub_order),
        cmocka_unit_test(stub_none_right),
        cmocka_unit_test(stub_many),
        cmocka_unit_test(stub_bad_input),
        cmocka_unit_test(stub_journal),
        cmocka_unit_test(stub_begun),
        cmocka_unit_test(device_planted),
        cmocka_unit_test(device_wrong_kernel),
        cmocka_unit_test(device_wrong_when_large),
        cmocka_unit_test(device_slow),
        cmocka_unit_test(device_used),
        cmocka_unit_test(device_passed_over),
        cmocka_unit_test(device_wrong_by_now),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
