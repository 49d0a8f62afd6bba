/* SPDX-License-Identifier: Apache-2.0 */
/* What `clbench tune` asks its child, and what that answers: fields parted by
 * tabs. Answers bear a mark, since drivers print what they like. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/console.h"
#include "cli/trial_lines.h"
#include "tuning/tune.h"

#define ASK "try"
#define READY TRIAL_MARK "ready"
#define ANSWER TRIAL_MARK "tried"

/* Cut at the tabs; exactly n fields behind the first word, which must be
 * `kind`. */
static bool cut(char *line, const char *kind, char **fields, unsigned n)
{
    char *at = line;
    for (unsigned i = 0; i < n; i++) {
        at = strchr(at, '\t');
        if (!at)
            return false;
        *at++ = 0;
        fields[i] = at;
    }
    return !strchr(at, '\t') && strcmp(line, kind) == 0;
}

static bool read_number(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end > text && !*end;
}

static bool read_text(const char *text, char *out, size_t cap)
{
    xl__strcpy(out, cap, text);
    return strlen(text) < cap;
}

void tune_ask_write(struct xl__str *out, const xl_candidate *c,
                    double limit_ns)
{
    xl__str_printf(out, ASK "\t%s\t%s\t%.17g\t%.17g\n", c->variant,
                   c->tunables, c->est_ns, limit_ns);
}

bool tune_ask_read(char *line, xl_candidate *c, double *limit_ns)
{
    enum { VARIANT, TUNABLES, ESTIMATE, LIMIT, N };
    char *f[N];
    return cut(line, ASK, f, N) &&
           read_text(f[VARIANT], c->variant, sizeof c->variant) &&
           read_text(f[TUNABLES], c->tunables, sizeof c->tunables) &&
           read_number(f[ESTIMATE], &c->est_ns) &&
           read_number(f[LIMIT], limit_ns);
}

void tune_ready_write(struct xl__str *out)
{
    xl__str_add(out, "\n" READY "\n");
}

bool tune_ready_read(const char *line)
{
    return strcmp(line, READY) == 0;
}

void tune_answer_write(struct xl__str *out, const xl_candidate_result *t)
{
    xl__str_printf(out, "\n" ANSWER "\t%s\t%u\t%.17g\t%.17g\t",
                   xl_candidate_end_name(t->end), t->runs, t->median_ns,
                   t->mad_ns);
    text_escape(out, t->why);
    xl__str_add(out, "\n");
}

static bool read_end(const char *text, xl_candidate_end *out)
{
    for (unsigned i = 0; i < XL_N_CANDIDATE_ENDS; i++) {
        *out = (xl_candidate_end)i;
        if (strcmp(xl_candidate_end_name(*out), text) == 0)
            return true;
    }
    return false;
}

bool tune_answer_read(char *line, xl_candidate_result *t)
{
    enum { END, RUNS, MEDIAN, MAD, WHY, N };
    char *f[N];
    double runs;
    if (!cut(line, ANSWER, f, N) || !read_end(f[END], &t->end) ||
        !read_number(f[RUNS], &runs) ||
        !read_number(f[MEDIAN], &t->median_ns) ||
        !read_number(f[MAD], &t->mad_ns))
        return false;
    t->runs = runs >= 0 && runs < XL_MAX_SAMPLES + 1.0 ? (unsigned)runs : 0;
    xl__strcpy(t->why, sizeof t->why, f[WHY]);
    return t->end != XL_CANDIDATE_RIGHT || t->median_ns > 0;
}
