/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench ab`: compare two set-ups by running a command with each.
 *
 *     round: a b | b a | a b | ...    in random order, each a fresh process
 *
 * A slow drift of the machine reaches both sides alike, and the rounds show
 * the noise. The runs are kept as passes of one result file. */
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

enum { MOST_WORDS = 64, MOST_ROUNDS = 10, FEWEST_ROUNDS = 3 };

/* One side: the words of its set-up, and its rows so far. */
struct side {
    char *text; /* the words, each ended */
    const char *words[MOST_WORDS + 1], *variables[MOST_WORDS + 1];
    json_t *document;
};

static bool is_assignment(const char *word)
{
    return *word != '-' && strchr(word, '=');
}

/* Splits a set-up at blanks into variables, NAME=VALUE, and further words. */
static bool read_words(const char *from, struct side *out)
{
    size_t n_words = 0, n_variables = 0;
    char *at = out->text = xl__strdup(from);
    while (at && *at && n_words + n_variables < MOST_WORDS) {
        at += strspn(at, " ");
        const size_t len = strcspn(at, " ");
        if (len > 0 && is_assignment(at))
            out->variables[n_variables++] = at;
        else if (len > 0)
            out->words[n_words++] = at;
        at += len;
        if (*at)
            *at++ = '\0';
    }
    return out->text != NULL;
}

static void add_words(const char **to, size_t *n, const char *const *from)
{
    for (; *from && *n < MOST_WORDS; from++)
        to[(*n)++] = *from;
}

/* Runs the command with a set-up; the result file is the document of the side,
 * or a further pass over its rows. */
static int run_side(struct session *s, const struct side *command,
                    struct side *side, const char *folder, const char *name)
{
    const char *args[2 * MOST_WORDS + 4] = {NULL};
    struct xl__str path = {0};
    struct child_result result;
    size_t n = 0;
    xl__str_printf(&path, "%s/run.json", folder);
    add_words(args, &n, command->words);
    add_words(args, &n, side->words);
    args[n++] = "--json";
    args[n++] = xl__str_text(&path);
    static const double longest_s = 3600;
    const struct child_step step = {.args = args,
                                    .variables = side->variables,
                                    .silence_s = longest_s,
                                    .longest_s = longest_s,
                                    .stop = session_stopped,
                                    .stop_arg = s};
    (void)remove(xl__str_text(&path));
    child_run(&step, &result);
    json_t *document = json_load_file(xl__str_text(&path), 0, NULL);
    int code = EXIT_FINE;
    if (!document && result.end != CHILD_STOPPED) {
        struct xl__str text = {0};
        xl__str_printf(&text, "%s has no result:\n%s", name,
                       xl__str_text(&result.output));
        session_message(s, "", xl__str_text(&text));
        xl__str_clear(&text);
        code = EXIT_WRONG;
    } else if (!side->document) {
        side->document = json_incref(document);
    } else if (document) {
        rounds_add(side->document, document);
    }
    json_decref(document);
    child_clear(&result);
    xl__str_clear(&path);
    return code;
}

/* -- the comparison of the rounds so far ---------------------------------- */

static bool compare_sides(const struct side *side, struct comparisons *out)
{
    const struct compare_options how = {.margin = COMPARE_MARGIN,
                                        .assumed = (double)NAN};
    char why[200];
    *out = (struct comparisons){.n_files = 1, .n_sets = 1};
    json_t *both = rounds_join(side[0].document, side[1].document);
    out->set[0] = (struct result_set){.files = out->files, .n_files = 1};
    return result_file_from(both, "both sides", &out->files[0], why,
                            sizeof why) &&
           comparisons_make(out, &how);
}

static bool is_decided(const struct side *side, struct comparisons *scratch)
{
    bool is = compare_sides(side, scratch) && scratch->n > 0;
    for (size_t i = 0; i < scratch->n; i++)
        is = is && scratch->list[i].n_compared > 0 &&
             scratch->list[i].all.n_call[CALL_AMBIGUOUS] == 0;
    comparisons_clear(scratch);
    return is;
}

static int run_rounds(struct session *s, const struct side *command,
                      struct side *side, struct comparisons *scratch,
                      const char *folder)
{
    const size_t most = s->set.rounds > 0 ? s->set.rounds : MOST_ROUNDS;
    int code = EXIT_FINE;
    struct xl__rng rng;
    xl__rng_seed(&rng, xl__now_ns());
    progress_begin(s, (unsigned)(2 * most));
    for (size_t round = 0; round < most && code == EXIT_FINE; round++) {
        const uint64_t first = xl__rng_below(&rng, 2);
        for (uint64_t k = 0; k < 2 && code == EXIT_FINE; k++) {
            const uint64_t i = (first + k) % 2;
            progress_step(s, i ? "b" : "a");
            if (session_stopped(s))
                break;
            code = run_side(s, command, &side[i], folder, i ? "b" : "a");
        }
        if (session_stopped(s) ||
            (s->set.rounds == 0 && round + 1 >= FEWEST_ROUNDS &&
             code == EXIT_FINE && is_decided(side, scratch)))
            break;
    }
    progress_end(s);
    return code;
}

static int show_and_write(struct session *s, const struct side *side,
                          struct comparisons *both)
{
    const struct gate gate = {.slower = (double)NAN};
    int code = EXIT_FINE;
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    if (!side[0].document || !side[1].document)
        return session_interrupted() ? EXIT_INTERRUPTED : EXIT_USAGE;
    if (!compare_sides(side, both))
        return session_fail(s, "comparing", XL_NO_MEMORY, "");
    if (session_tables(s) && both->n > 0)
        compare_print(both, &gate, &terminal);
    char *text = s->set.json
                     ? json_dumps(both->files[0].document, JSON_INDENT(1))
                     : NULL;
    if (s->set.json &&
        (!text || !out_file_write(s, "json", s->set.json, text, strlen(text))))
        code = EXIT_FILE;
    free(text);
    comparisons_clear(both);
    return code == EXIT_FINE && session_interrupted() ? EXIT_INTERRUPTED
                                                      : code;
}

static int run_ab(struct session *s)
{
    struct side side[2] = {{0}, {0}}, command = {0};
    struct comparisons *both = xl__calloc(1, sizeof *both);
    char *folder = child_folder_make();
    int code = EXIT_FINE;
    if (both && folder && read_words(s->set.words[0], &side[0]) &&
        read_words(s->set.words[1], &side[1]) &&
        read_words(s->set.words[2], &command))
        code = run_rounds(s, &command, side, both, folder);
    else
        code = session_fail(s, "starting", XL_NO_MEMORY, "");
    if (code == EXIT_FINE)
        code = show_and_write(s, side, both);
    for (int i = 0; i < 2; i++) {
        json_decref(side[i].document);
        free(side[i].text);
    }
    free(command.text);
    if (folder)
        child_folder_remove(folder);
    free(folder);
    free(both);
    return code;
}

static const char *const options[] = {"rounds", "max-time", "json", NULL};

const struct command cmd_ab = {
    .name = "ab",
    .summary = "compare two set-ups, run alternately",
    .words = "A B COMMAND",
    .about =
        "Runs a clbench command with the set-ups A and B alternately, in "
        "random "
        "order in each round, every run in a process of its own, and compares "
        "them. A slow drift of the machine reaches both alike.\n\n"
        "Each of the three is one quoted word, behind -- if it begins with "
        "an option. A set-up is environment "
        "variables, NAME=VALUE, and options that are added to the command; it "
        "may be empty. So two drivers are two values of OCL_ICD_VENDORS, two "
        "libraries two of LD_LIBRARY_PATH, two devices or variants two of "
        "--device or --variant.\n\n"
        "It stops once every row is decided, but not before the third round; "
        "after --rounds; or when --max-time is over. --json writes one file, "
        "which compare and report read: the two sides are two devices of it.",
    .options = options,
    .min_words = 3,
    .max_words = 3,
    .run = run_ab,
};
