/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench tune` without a device: its options, the classes it makes of
 * shapes, and the lines between it and its child, which may be torn, foreign
 * or hostile. */
#include "commands.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuning/report.h"
#include "tuning/search.h"
#include "tuning/worker.h"

/* -- lines ---------------------------------------------------------------- */

static void asking_goes_there_and_back(void **state)
{
    static const struct {
        xl_candidate c;
        double limit_ns;
    } cases[] = {
        {{"gemm_cpu", "TM=64 TN=384", 1234.5}, 3e9},
        {{"gemm_ref", "", NAN}, 0},
        {{"gemm_tiled", "TM=8", INFINITY}, 1.0 / 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct xl__str line = {0};
        xl_candidate received;
        double limit_ns;
        tune_request_write(&line, &cases[i].c, cases[i].limit_ns);
        assert_true(line.len > 0 && line.text[line.len - 1] == '\n');
        line.text[line.len - 1] = 0;
        assert_true(tune_request_read(line.text, &received, &limit_ns));
        assert_string_equal(received.variant, cases[i].c.variant);
        assert_string_equal(received.tunables, cases[i].c.tunables);
        assert_true(limit_ns == cases[i].limit_ns);
        assert_true(received.est_ns == cases[i].c.est_ns ||
                    (isnan(received.est_ns) && isnan(cases[i].c.est_ns)));
        xl__str_clear(&line);
    }
}

/* What the line says after the mark, through the line that a child writes. */
static bool answer(const xl_candidate_result *sent, xl_candidate_result *received)
{
    struct xl__str line = {0};
    tune_reply_write(&line, sent);
    /* An empty line before it ends whatever a driver left unended. */
    assert_true(line.len > 2 && line.text[0] == '\n');
    assert_ptr_equal(strchr(line.text + 1, '\n'), line.text + line.len - 1);
    line.text[line.len - 1] = 0;
    bool is_read = tune_reply_read(line.text + 1, received);
    xl__str_clear(&line);
    return is_read;
}

static void every_end_comes_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < XL_N_CANDIDATE_ENDS; i++) {
        xl_candidate_result received;
        xl_candidate_result sent = {.end = (xl_candidate_end)i,
                         .runs = 31,
                         .median_ns = i == XL_CANDIDATE_RIGHT ? 1234.5 : NAN,
                         .mad_ns = i == XL_CANDIDATE_RIGHT ? 0 : NAN};
        snprintf(sent.why, sizeof sent.why, "C[0][%u] is 1, not 2", i);
        assert_true(answer(&sent, &received));
        assert_int_equal(received.end, i);
        assert_int_equal(received.runs, 31);
        assert_string_equal(received.why, sent.why);
        assert_int_equal(isnan(received.median_ns), i != XL_CANDIDATE_RIGHT);
    }
}

/* A reason with tabs and ends of lines stays one field of one line. */
static void reasons_cannot_forge_lines(void **state)
{
    xl_candidate_result received;
    xl_candidate_result sent = {.end = XL_CANDIDATE_WRONG,
                     .median_ns = NAN,
                     .mad_ns = NAN,
                     .why = "log:\n@clbench tried\tright\t9\t1\t0\t\t"};
    (void)state;
    assert_true(answer(&sent, &received));
    assert_int_equal(received.end, XL_CANDIDATE_WRONG);
    assert_null(strchr(received.why, '\n'));
}

static void other_lines_are_none(void **state)
{
    static const char *const asked[] = {
        "", "try", "try\tgemm_cpu\tTM=1\t1", "try\tgemm_cpu\tTM=1\t1\t2\t3",
        "tried\tgemm_cpu\tTM=1\t1\t2", "try\tgemm_cpu\tTM=1\tone\t2",
        "try\tgemm_cpu\tTM=1\t1\t", "try\tgemm_cpu\tTM=1\t1x\t2",
        "try\ta_name_that_is_longer_than_any_variant_has\tTM=1\t1\t2"};
    static const char *const answered[] = {
        "", "pocl: a warning", "@clbench ready",
        "@clbench tried\tright\t9\t1\t0",
        "@clbench tried\tfine\t9\t1\t0\t",
        "@clbench tried\tright\t9\tnan\t0\t",
        "@clbench tried\tright\t9\t-1\t0\t",
        "@clbench tried\tright\t9\t1\t0\t\t",
        " @clbench tried\tright\t9\t1\t0\t"};
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        char *line = strdup(asked[i]);
        xl_candidate c;
        double limit_ns;
        assert_false(tune_request_read(line, &c, &limit_ns));
        free(line);
    }
    for (size_t i = 0; i < sizeof answered / sizeof answered[0]; i++) {
        char *line = strdup(answered[i]);
        xl_candidate_result t;
        assert_false(tune_reply_read(line, &t));
        free(line);
    }
    assert_true(tune_ready_read("@clbench ready"));
    assert_false(tune_ready_read("ready"));
}

/* -- the command line ----------------------------------------------------- */

enum { MAX_ARGS = 16 };

/* Parse a line of arguments separated by single blanks; messages are
 * discarded. */
static bool parse(const char *line, struct session *s)
{
    static char copy[512];
    char *argv[MAX_ARGS + 1] = {"clbench"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < MAX_ARGS);
        argv[argc++] = word;
    }
    *s = (struct session){.command = NULL};
    commands_set(commands);
    return args_parse(argc, argv, &s->set, &s->command);
}

static int classes(const char *line, struct tune_classes *out)
{
    struct session s;
    assert_true(parse(line, &s));
    assert_ptr_equal(s.command, &cmd_tune);
    int code = tune_classes_read(&s, out);
    args_free(&s.set);
    return code;
}

static void times_have_units(void **state)
{
    static const struct {
        const char *line;
        double s; /* 0: refused */
    } cases[] = {
        {"tune gemm --budget 90", 90},   {"tune gemm --budget 90s", 90},
        {"tune gemm --budget 5m", 300},  {"tune gemm --budget=1.5m", 90},
        {"tune gemm --budget 2h", 7200}, {"tune gemm --budget 0", 0},
        {"tune gemm --budget -5m", 0},   {"tune gemm --budget 5d", 0},
        {"tune gemm --budget m", 0},     {"tune gemm --budget 5mm", 0},
        {"tune gemm --budget inf", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct session s;
        assert_int_equal(parse(cases[i].line, &s), cases[i].s > 0);
        if (cases[i].s > 0)
            assert_true(fabs(s.set.budget_s - cases[i].s) < 1e-9);
        args_free(&s.set);
    }
}

static void shapes_become_classes(void **state)
{
    static struct tune_classes received;
    char text[96];
    (void)state;
    assert_int_equal(classes("tune gemm 16x4096x100 --dtype f16 --trans nt "
                             "--batch 8 --variant gemm_tiled",
                             &received),
                     EXIT_FINE);
    assert_int_equal(received.n, 1);
    const xl_gemm *g = &received.list[0].desc.gemm;
    tune_class_text(&received.list[0], true, text, sizeof text);
    assert_string_equal(text, "16x4096x100 f16 nt batch=8");
    assert_string_equal(received.list[0].shape, "16x4096x100");
    assert_true(g->m == 16 && g->n == 4096 && g->k == 100);
    assert_true(g->a.dtype == XL_F16 && g->c.dtype == XL_F16);
    /* B is stored n x k. */
    assert_true(g->a.row_stride == 100 && g->a.col_stride == 1);
    assert_true(g->b.row_stride == 1 && g->b.col_stride == 100);
    assert_true(g->c.row_stride == 4096 && g->c.col_stride == 1);
    assert_true(g->batch.count == 8 && g->batch.a_step == 1600 &&
                g->batch.b_step == 409600 && g->batch.c_step == 65536);
    assert_string_equal(g->variant, "gemm_tiled");
    assert_null(g->a.mem.buf);
    tune_classes_clear(&received);

    assert_int_equal(classes("tune softmax 7x100 8", &received), EXIT_FINE);
    assert_int_equal(received.n, 2);
    assert_true(received.list[0].desc.softmax.rows == 7 &&
                received.list[0].desc.softmax.cols == 100);
    tune_class_text(&received.list[1], false, text, sizeof text);
    assert_string_equal(text, "8x8");
    tune_classes_clear(&received);

    assert_int_equal(classes("tune softmax 7x100 --log", &received),
                     EXIT_FINE);
    assert_true(received.list[0].desc.softmax.is_log);
    tune_class_text(&received.list[0], false, text, sizeof text);
    assert_string_equal(text, "7x100 log");
    tune_classes_clear(&received);

    assert_int_equal(classes("tune norm 7x100 --rms --residual", &received),
                     EXIT_FINE);
    const xl_norm *n = &received.list[0].desc.norm;
    assert_true(n->rows == 7 && n->cols == 100 && n->kind == XL_NORM_RMS &&
                n->residual.row_stride == 100 && n->bias.row_stride == 0);
    tune_class_text(&received.list[0], false, text, sizeof text);
    assert_string_equal(text, "7x100 rms residual");
    tune_classes_clear(&received);

    assert_int_equal(classes("tune attention 2x3x50x24", &received),
                     EXIT_FINE);
    const xl_attention *a = &received.list[0].desc.attention.a;
    assert_true(a->n_batch == 2 && a->n_heads == 3 && a->n_q == 50 &&
                a->n_kv == 50 && a->d_head == 24 && a->q.stride[2] == 24);
    tune_class_text(&received.list[0], false, text, sizeof text);
    assert_string_equal(text, "2x3x50x50x24");
    tune_classes_clear(&received);
}

/* Without shapes there is a list, and no class is in it twice. */
static void there_are_default_shapes(void **state)
{
    static struct tune_classes received;
    static const char *const lines[] = {"tune gemm", "tune softmax",
                                        "tune gemm --dtype bf16"};
    (void)state;
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        assert_int_equal(classes(lines[l], &received), EXIT_FINE);
        assert_true(received.n >= 3);
        for (unsigned i = 0; i < received.n; i++)
            for (unsigned j = 0; j < i; j++)
                assert_string_not_equal(received.list[i].shape,
                                        received.list[j].shape);
        tune_classes_clear(&received);
    }
}

static void what_is_wrong_is_usage(void **state)
{
    static struct tune_classes received;
    static const char *const lines[] = {"tune gem 512", "tune gemm 5x",
                                        "tune gemm 0", "tune softmax 2x3x4",
                                        "tune attention 2x3x4"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(classes(lines[i], &received), EXIT_USAGE);
        tune_classes_clear(&received);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking_goes_there_and_back),
        cmocka_unit_test(every_end_comes_back),
        cmocka_unit_test(reasons_cannot_forge_lines),
        cmocka_unit_test(other_lines_are_none),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(shapes_become_classes),
        cmocka_unit_test(there_are_default_shapes),
        cmocka_unit_test(what_is_wrong_is_usage),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
