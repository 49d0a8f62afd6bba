/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench ab`: compare two set-ups by running a command with each.
 *
 *     round: abababa... | bababab... | ...    fresh processes in each round,
 *                                             the first one at random
 *
 * Of the two processes of a round one runs while the other is stopped, for a
 * tenth of a second each: what the machine does beside them reaches both
 * alike, and the rounds show what is left of it. The runs are kept as passes
 * of one result file, which is written after each round. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/rng.h"
#include "base/str.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "cli/subprocess.h"
#include "compare/rounds.h"
#include "compare/tables.h"
#include "results/json.h"

enum { MOST_WORDS = 100, MOST_ROUNDS = 10, FEWEST_ROUNDS = 3 };

/* One side: the words of its set-up, and its rows so far. */
struct side {
    char *text; /* the words, each ended */
    const char *words[MOST_WORDS + 1], *variables[MOST_WORDS + 1];
    json_t *document;
};

struct ab {
    struct session *s;
    const char *const *command;
    struct side side[2];
    char *folder; /* for the files of the runs */
    struct comparisons comparisons;
};

static const char *const names[] = {"a", "b"};

/* Splits a set-up at blanks: variables, NAME=VALUE, and the words behind them.
 * False: out of memory. */
static bool read_setup(const char *from, struct side *out)
{
    size_t n_words = 0, n_variables = 0;
    char *at = out->text = xl__strdup(from);
    while (at && *at && n_words + n_variables < MOST_WORDS) {
        at += strspn(at, " ");
        const size_t len = strcspn(at, " ");
        if (len > 0 && n_words == 0 && *at != '-' && memchr(at, '=', len))
            out->variables[n_variables++] = at;
        else if (len > 0)
            out->words[n_words++] = at;
        at += len;
        if (*at)
            *at++ = '\0';
    }
    return out->text != NULL;
}

/* -- one run -------------------------------------------------------------- */

/* What a run that failed printed last. */
static const char *last_lines(const char *text)
{
    enum { LINES = 8 };
    const char *at = text + strlen(text);
    for (int n = 0; at > text; at--)
        if (at[-1] == '\n' && n++ == LINES)
            break;
    return at;
}

static int report_failure(struct session *s, const char *name,
                          const struct child_result *result)
{
    struct xl__str text = {0};
    const bool has_exited = result->end == CHILD_EXITED;
    xl__str_printf(&text, "%s ", name);
    if (has_exited)
        xl__str_printf(&text, "ends with exit code %d", result->code);
    else if (result->end == CHILD_SIGNALLED)
        xl__str_printf(&text, "is ended by %s",
                       child_signal_name(result->code));
    else
        xl__str_add(&text, result->end == CHILD_HUNG ? "hangs"
                                                     : "cannot be run");
    xl__str_printf(&text, ":\n%s", last_lines(xl__str_text(&result->output)));
    session_message(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return has_exited && result->code > 0 ? result->code : EXIT_WRONG;
}

/* The arguments of a run with a set-up. */
struct run {
    const char *args[CHILD_MOST_ARGS + 1];
    struct xl__str path; /* of its result */
};

static struct child_step plan_run(struct ab *ab, size_t i, struct run *run)
{
    static const double longest_s = 3600;
    const struct side *side = &ab->side[i];
    size_t n = 0;
    xl__str_printf(&run->path, "%s/%s.json", ab->folder, names[i]);
    for (size_t k = 0; ab->command[k]; k++)
        run->args[n++] = ab->command[k];
    for (size_t k = 0; side->words[k]; k++)
        run->args[n++] = side->words[k];
    run->args[n++] = "--json";
    run->args[n++] = xl__str_text(&run->path);
    (void)remove(xl__str_text(&run->path));
    return (struct child_step){.args = run->args,
                               .variables = side->variables,
                               .silence_s = longest_s,
                               .longest_s = longest_s,
                               .stop = session_stopped,
                               .stop_arg = ab->s};
}

/* Both set-ups, in the given order; *document of each: its result, a new
 * reference; NULL: it has none. */
static int run_both(struct ab *ab, size_t first, json_t *document[2])
{
    struct run run[2] = {{.args = {NULL}}, {.args = {NULL}}};
    struct child_step step[2];
    struct child_result result[2];
    int code = EXIT_FINE;
    for (size_t k = 0; k < 2; k++)
        step[k] = plan_run(ab, (first + k) % 2, &run[k]);
    child_run_alternately(step, result);
    for (size_t k = 0; k < 2; k++) {
        const size_t i = (first + k) % 2;
        document[i] = json_load_file(xl__str_text(&run[k].path), 0, NULL);
        if (code == EXIT_FINE && result[k].end != CHILD_STOPPED &&
            (result[k].end != CHILD_EXITED || result[k].code != 0 ||
             !document[i]))
            code = report_failure(ab->s, names[i], &result[k]);
        child_clear(&result[k]);
        xl__str_clear(&run[k].path);
    }
    return code;
}

/* -- the comparison of the rounds so far ---------------------------------- */

static json_t *join_sides(const struct ab *ab)
{
    const json_t *const documents[] = {ab->side[0].document,
                                       ab->side[1].document};
    return rounds_join(documents, ab->s->set.words);
}

static bool compare_sides(struct ab *ab, const json_t *both)
{
    const struct compare_options how = {.margin = COMPARE_MARGIN,
                                        .assumed = (double)NAN};
    char why[200];
    return comparisons_read_sides(&ab->comparisons, both, why, sizeof why) &&
           comparisons_make(&ab->comparisons, &how);
}

static bool is_decided(struct ab *ab)
{
    json_t *both = join_sides(ab);
    const bool is = compare_sides(ab, both) &&
                    ab->comparisons.list[0].n_compared > 0 &&
                    ab->comparisons.list[0].all.n_call[CALL_AMBIGUOUS] == 0;
    comparisons_clear(&ab->comparisons);
    json_decref(both);
    return is;
}

static bool write_file(struct ab *ab)
{
    struct session *s = ab->s;
    if (!s->set.json)
        return true;
    json_t *both = join_sides(ab);
    json_put(both, "interrupted", json_boolean(session_interrupted()));
    char *text = json_dumps(both, JSON_INDENT(1));
    const bool is_written =
        text && out_file_write(s, "json", s->set.json, text, strlen(text));
    free(text);
    json_decref(both);
    return is_written;
}

/* -- rounds --------------------------------------------------------------- */

/* Keeps the results of a round: only whole rounds count. */
static void keep_round(struct ab *ab, json_t *const documents[2])
{
    for (size_t i = 0; i < 2; i++)
        if (!ab->side[i].document)
            ab->side[i].document = json_incref(documents[i]);
        else
            rounds_add(ab->side[i].document, documents[i]);
}

static int run_round(struct ab *ab, size_t first)
{
    json_t *documents[2] = {NULL, NULL};
    int code = run_both(ab, first, documents);
    if (documents[0] && documents[1] && !session_stopped(ab->s)) {
        keep_round(ab, documents);
        code = write_file(ab) ? code : EXIT_FILE;
    }
    json_decref(documents[0]);
    json_decref(documents[1]);
    return code;
}

static int run_rounds(struct ab *ab)
{
    struct session *s = ab->s;
    const size_t most = s->set.rounds > 0 ? s->set.rounds : MOST_ROUNDS;
    int code = EXIT_FINE;
    struct xl__rng rng;
    xl__rng_seed(&rng, xl__now_ns());
    progress_begin(s, (unsigned)most);
    for (size_t round = 0; round < most && code == EXIT_FINE; round++) {
        progress_step(s, "round");
        code = run_round(ab, (size_t)xl__rng_below(&rng, 2));
        if (session_stopped(s) ||
            (s->set.rounds == 0 && round + 1 >= FEWEST_ROUNDS &&
             code == EXIT_FINE && is_decided(ab)))
            break;
    }
    progress_end(s);
    if (session_interrupted() && ab->side[0].document && !write_file(ab))
        code = EXIT_FILE;
    return code;
}

static int show_sides(struct ab *ab)
{
    const struct gate gate = {.slower = (double)NAN};
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    if (!ab->side[0].document) {
        session_message(ab->s, "", "no round was completed");
        return session_interrupted() ? EXIT_INTERRUPTED : EXIT_USAGE;
    }
    json_t *both = join_sides(ab);
    const bool fine = compare_sides(ab, both);
    if (fine && session_tables(ab->s))
        compare_print(&ab->comparisons, &gate, &terminal);
    comparisons_clear(&ab->comparisons);
    json_decref(both);
    if (!fine)
        return session_fail(ab->s, "comparing", XL_NO_MEMORY, "");
    return session_interrupted() ? EXIT_INTERRUPTED : EXIT_FINE;
}

static int run_ab(struct session *s)
{
    struct ab *ab = xl__calloc(1, sizeof *ab);
    int code = EXIT_FINE;
    if (!ab)
        return session_fail(s, "starting", XL_NO_MEMORY, "");
    ab->s = s;
    ab->command = s->set.words + 2;
    ab->folder = child_folder_make();
    if (!ab->folder || !read_setup(s->set.words[0], &ab->side[0]) ||
        !read_setup(s->set.words[1], &ab->side[1]))
        code = session_fail(s, "starting", XL_NO_MEMORY, "");
    if (code == EXIT_FINE) {
        code = run_rounds(ab);
        const int shown = show_sides(ab);
        code = code ? code : shown;
    }
    for (int i = 0; i < 2; i++) {
        json_decref(ab->side[i].document);
        free(ab->side[i].text);
    }
    if (ab->folder)
        child_folder_remove(ab->folder);
    free(ab->folder);
    free(ab);
    return code;
}

static const char *const options[] = {"rounds", "max-time", "json", NULL};

const struct command cmd_ab = {
    .name = "ab",
    .summary = "compare two set-ups, run alternately",
    .words = "A B [COMMAND...]",
    .about =
        "Runs a clbench command, the suite if none is given, with the set-ups "
        "A and B, and compares them. In each round both run as processes of "
        "their own, alternately for a tenth of a second, while the other is "
        "stopped; which begins is random. What else the machine does reaches "
        "both alike, so each row is judged by the ratios of its "
        "rounds.\n\n"
        "A set-up is one quoted word: environment variables, NAME=VALUE, then "
        "options that are added to the command; it may be empty. So two "
        "drivers are two values of OCL_ICD_VENDORS, two libraries two of "
        "LD_LIBRARY_PATH, two devices, variants or types two of --device, "
        "--variant or --dtype. Give -- before A: what follows are no options "
        "of ab.\n\n"
        "It stops once every row is decided, but not before the third round; "
        "after --rounds; or when --max-time is over. A run that fails ends "
        "it, with the exit code of that run; the rounds before are kept. "
        "--json writes one file after each round, which compare and report "
        "read.",
    .options = options,
    .min_words = 2,
    .max_words = 2 + MOST_WORDS,
    .run = run_ab,
};
