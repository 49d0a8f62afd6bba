/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench compare`: result files against each other, row by row, and gates on
 * what is found. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/console.h"
#include "cli/session.h"
#include "compare/output_files.h"
#include "compare/portability.h"
#include "compare/tables.h"

static int complain(const char *what, int code)
{
    struct xl__str clean = {0};
    text_escape(&clean, what);
    fprintf(stderr, "clbench: %s\n", xl__str_text(&clean));
    xl__str_clear(&clean);
    return code;
}

/* The first row of a side alone, as an example of what has no match. */
static const char *lonely(const struct comparison *c, enum call call)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->pairs[i].ratio.call == call)
            return (call == CALL_NEW ? c->pairs[i].b : c->pairs[i].a)->id;
    return "none";
}

static int refuse(const struct comparison *c)
{
    struct xl__str text = {0};
    xl__str_printf(&text,
                   "no row can be compared: shape, type, settings, hot or cold "
                   "caches must agree, and both must have times; in a alone: "
                   "%s, in b alone: %s",
                   lonely(c, CALL_MISSING), lonely(c, CALL_NEW));
    const int code = complain(xl__str_text(&text), EXIT_USAGE);
    xl__str_clear(&text);
    return code;
}

static int compare(struct session *s, struct comparisons *sides,
                   struct gate *gate)
{
    const struct compare_options how = {
        .margin = isnan(s->set.margin) ? COMPARE_MARGIN : s->set.margin,
        .assumed = s->set.noise,
    };
    if (!comparisons_make(sides, &how))
        return session_fail(s, "comparing", XL_NO_MEMORY, "");
    for (size_t i = 0; i < sides->n; i++)
        gate_mark(gate, &sides->list[i]);
    if (sides->n == 0)
        return complain("nothing to compare: no second file, device or "
                        "library; give another result file",
                        gate_is_on(gate) ? EXIT_GATE : EXIT_USAGE);
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    if (session_tables(s))
        compare_print(sides, gate, &terminal);
    const int code = compare_write_files(s, sides, gate);
    if (code != EXIT_FINE)
        return code;
    if (gate_is_on(gate) && gate_fails(gate))
        return EXIT_GATE;
    return gate->n_compared > 0 ? EXIT_FINE : refuse(&sides->list[0]);
}

static int run(struct session *s)
{
    struct gate gate;
    char why[512];
    char *wrong = gate_read(&gate, &s->set.fail_on);
    if (wrong) {
        struct xl__str text = {0};
        xl__str_printf(&text,
                       "--fail-on: '%s' is none of slower:P%%, rejected, "
                       "missing, joined by commas",
                       wrong);
        free(wrong);
        const int code = complain(xl__str_text(&text), EXIT_USAGE);
        xl__str_clear(&text);
        return code;
    }
    struct comparisons *sides = xl__calloc(1, sizeof *sides);
    if (!sides)
        return session_fail(s, "comparing", XL_NO_MEMORY, "");
    int code = EXIT_FINE;
    if (!comparisons_read(sides, s->set.words, s->set.n_words, why,
                          sizeof why))
        code = complain(why, EXIT_FILE);
    else if (!s->set.portability)
        code = compare(s, sides, &gate);
    else if (!portability_print(sides->files, sides->n_files,
                                s->set.variant))
        code = session_fail(s, "comparing", XL_NO_MEMORY, "");
    comparisons_clear(sides);
    free(sides);
    return code;
}

static const char *const options[] = {
    "fail-on", "margin", "noise", "portability", "variant",
    "csv",     "markdown", "html", NULL};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "result files: faster, slower, the same, or not to be told",
    .words = "A.json[,...] [B.json...]",
    .about =
        "Matches the rows of two files written by --json and prints b/a, the "
        "ratio of their times: above 1, b is slower. What is said of a row "
        "rests on the interval of that ratio: SLOWER or FASTER when all of it "
        "lies on one side of 1 and the ratio itself beyond --margin; SAME "
        "when all of it lies within the margin; AMBIGUOUS when the runs "
        "cannot tell. Below, a line an op with the geometric mean.\n\n"
        "The interval holds the spread inside of each run and the noise "
        "between runs, which no run knows by itself: clocks, placement, "
        "neighbours. Several files a side, a1.json,a2.json b1.json,b2.json, "
        "measure that noise; take them in turns, a and b. With one file a "
        "side it is what most rows differ by, so a change of a third of the "
        "rows or more is AMBIGUOUS, and intervals are wide enough for rows "
        "that are wilder than most. All intervals hold together with 95 %.\n\n"
        "With one device in each file rows are matched whatever the device. A "
        "case that another variant runs in the other file is compared too, "
        "and is said. Several files, devices or libraries (of bench/peers, or "
        "CLBlast by --variant all) make one table: times over those of the "
        "first file's own rows, with geometric means. What a peer measured in "
        "turns with ours stands as it was measured.\n\n"
        "--portability takes the files of several devices instead and prints "
        "how much of each device a case reaches, of its roof and of the best "
        "that is known there, with the harmonic means over the devices; "
        "--variant names whose.\n\n"
        "--fail-on makes it a gate with exit code 5: slower:5% when the whole "
        "interval of a row or of an op lies above 1.05, or when nothing could "
        "be compared; rejected when a row that had a time is rejected or "
        "fails; missing when a row of the first file is not in the other.",
    .options = options,
    .min_words = 1,
    .max_words = COMPARISONS_MAX_SETS,
    .run = run,
};
