/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench probe`: run the probes that are named, or all. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "timing/roofs/probes.h"
#include "cli/progress.h"
#include "report/report.h"
#include "cli/console.h"

static void list_probes(void)
{
    enum { INDENT = 14 };
    const xl_probe_info *p;
    unsigned width = text_terminal_columns();
    for (unsigned i = 0; (p = xl_probe_at(i)) != NULL; i++) {
        printf("%s%s\n", p->name, p->in_quick ? "  (in the suite)" : "");
        text_wrap(stdout, p->what, INDENT, width);
    }
}

static void report_unknown_probe(const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    struct xl__str text = {0};
    const xl_probe_info *p;
    for (unsigned i = 0; i < MOST && (p = xl_probe_at(i)) != NULL; i++)
        names[i] = p->name;
    text_escape(&text, name);
    xl__str_add(&text, "'; ");
    const char *nearest = text_nearest(name, names);
    if (nearest)
        xl__str_printf(&text, "did you mean '%s'? ", nearest);
    xl__str_add(&text, "must be one of ");
    for (unsigned i = 0; names[i]; i++)
        xl__str_printf(&text, "%s%s", i ? ", " : "", names[i]);
    fprintf(stderr, "clbench: unknown probe '%s\n", xl__str_text(&text));
    xl__str_clear(&text);
}

/* Are all arguments names of probes? If not, print which one is not. */
static bool are_probes_known(const struct session *s)
{
    for (unsigned i = 0; i < s->set.n_words; i++) {
        if (probes_find(s->set.words[i]))
            continue;
        report_unknown_probe(s->set.words[i]);
        return false;
    }
    return true;
}

static int run_probe(struct session *s)
{
    const xl_probe_info *p;
    if (s->set.list) {
        list_probes();
        return EXIT_FINE;
    }
    if (!are_probes_known(s))
        return EXIT_USAGE;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    for (unsigned i = 0; i < s->set.n_words && !session_stopped(s); i++) {
        int failed = probes_run(s, probes_find(s->set.words[i]));
        code = failed ? failed : code;
    }
    for (unsigned i = 0; !s->set.n_words && (p = xl_probe_at(i)) != NULL &&
                         !session_stopped(s); i++) {
        if (s->set.quick && !p->in_quick)
            continue;
        int failed = probes_run(s, p);
        code = failed ? failed : code;
    }
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device", "all-devices", "json",     REPORT_OPTIONS,   "seed",
    "quick",  "full",        "max-time", SAMPLING_OPTIONS, "roofs",
    "strict", "list",        NULL};

const struct command cmd_probe = {
    .name = "probe",
    .summary = "measure properties of the hardware",
    .words = "[NAME...]",
    .about =
        "Runs the named probes, or all of them: bandwidth, coalescing, peak "
        "arithmetic, launch cost and others; --list prints what each measures "
        "and what may mislead it. Data is random and incompressible, working "
        "sets are larger than the last-level cache, and results are read "
        "back, "
        "so that no compiler can remove the work. --full takes more points.",
    .options = options,
    .min_words = 0,
    .max_words = 32,
    .run = run_probe,
};
