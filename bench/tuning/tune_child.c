/* SPDX-License-Identifier: Apache-2.0 */
/* The child's half of a trial: read a candidate, try it, answer, until there
 * is nothing more to read. It may die at any of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trial_lines.h"
#include "tuning/tune.h"

bool tune_is_child(void)
{
    return getenv(TUNE_VARIABLE) != NULL;
}

static void tell(struct xl__str *line)
{
    fputs(xl__str_text(line), stdout);
    (void)fflush(stdout);
    xl__str_clear(line);
}

/* A candidate that the library does not know is refused: the parent's library
 * may be another. */
static void try_it(xl_queue *q, const struct tune_class *c,
                   const xl_candidate *candidate, double limit_ns)
{
    struct xl__str line = {0};
    xl_candidate_result t = {.median_ns = NAN, .mad_ns = NAN};
    xl_status status =
        xl_tune_candidate(q, c->op->name, &c->desc, candidate, limit_ns, &t);
    if (status != XL_OK) {
        t = (xl_candidate_result){
            .end = XL_CANDIDATE_REFUSED, .median_ns = NAN, .mad_ns = NAN};
        snprintf(t.why, sizeof t.why, "%s: %s", xl_status_text(status),
                 xl_error_detail(q));
    }
    tune_answer_write(&line, &t);
    tell(&line);
}

int tune_be_child(struct session *s, const struct tune_class *c)
{
    enum { LONGEST = 1024 };
    char asked[LONGEST];
    struct xl__str line = {0};
    /* Most of what is built here is never run again, and some drivers build
     * twice where binaries are kept (CP-10). The best are built by the parent,
     * which keeps them. */
    s->no_cache = true;
    int code = session_open_devices(s);
    xl_queue *q = code == EXIT_FINE ? session_queue(s, s->devices[0]) : NULL;
    if (!q)
        return code != EXIT_FINE ? code : EXIT_NO_DEVICE;
    tune_ready_write(&line);
    tell(&line);
    while (fgets(asked, sizeof asked, stdin)) {
        xl_candidate candidate;
        double limit_ns;
        asked[strcspn(asked, "\n")] = 0;
        if (!tune_ask_read(asked, &candidate, &limit_ns))
            break;
        try_it(q, c, &candidate, limit_ns);
    }
    xl_queue_destroy(q);
    return EXIT_FINE;
}
