/* SPDX-License-Identifier: Apache-2.0 */
/* Run a probe on all chosen devices, and pass its rows to the session. */
#include "timing/roofs/probes.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/progress.h"
#include "timing/roofs/peaks.h"

struct row_target {
    struct session *s;
    xl_device *dev;
    unsigned n_rows;
};

static void pass_row(const xl_row *row, void *arg)
{
    struct row_target *to = arg;
    to->n_rows++;
    session_row(to->s, to->dev, row);
}

/* A step that is over ends a probe after a row: kernels that were built for
 * none would be built in vain. */
static bool must_stop(void *arg)
{
    const struct row_target *to = arg;
    return to->n_rows > 0 ? session_stopped(to->s) : session_ended(to->s);
}

/* A device that lacks what a probe requires gets an unsupported row. */
static int report_failure(struct row_target *to, const char *name, xl_queue *q,
                          xl_status status)
{
    const char *detail = xl_error_detail(q);
    char doing[64];
    xl_row row;
    if (status == XL_UNSUPPORTED) {
        xl_row_init(&row, name, "");
        row.verdict = XL_ROW_UNSUPPORTED;
        xl__strcpy(row.reason, sizeof row.reason, detail);
        session_row(to->s, to->dev, &row);
        return EXIT_FINE;
    }
    snprintf(doing, sizeof doing, "probe %s", name);
    return session_fail(to->s, doing, status, detail);
}

static int run_on_device(struct session *s, xl_device *dev,
                         const xl_probe_info *probe)
{
    struct row_target to = {s, dev, 0};
    const unsigned warmup = (unsigned)s->set.warmup;
    const bool has_warmup = option_is_given(option_find("warmup"), &s->set);
    xl_probing how = {.quick = !s->set.full,
                      .seed = s->set.seed,
                      .runs = (unsigned)s->set.runs,
                      .warmup = has_warmup ? &warmup : NULL,
                      .min_s = s->set.min_time_s,
                      .stop = must_stop,
                      .stop_arg = &to};
    xl_queue *q = session_queue(s, dev);
    int code = EXIT_FINE;
    if (!q)
        return EXIT_NO_DEVICE;
    progress_step(s, probe->name);
    (void)roofs_load(s, q);
    xl_status status = xl_probe_run(q, probe->name, &how, pass_row, &to);
    if (status != XL_OK && status != XL_CANCELLED)
        code = report_failure(&to, probe->name, q, status);
    roofs_keep(s, q);
    xl_queue_destroy(q);
    return code;
}

static enum rows_kind kind_of(const xl_probe_info *probe)
{
    static const struct {
        const char *probe;
        enum rows_kind kind;
    } kinds[] = {
        {"cache", ROWS_OF_LEVELS},
        {"tlb", ROWS_OF_LEVELS},
        {"diagnosis", ROWS_OF_LIMITERS},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].probe, probe->name) == 0)
            return kinds[i].kind;
    return ROWS_USUAL;
}

int probes_run(struct session *s, const xl_probe_info *probe)
{
    char title[64];
    int code = EXIT_FINE;
    snprintf(title, sizeof title, "Probe: %s", probe->name);
    progress_begin(s, s->n_devices);
    session_section(s, kind_of(probe), title, probe->what);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        /* Each device has an equal share of the time that is left. */
        const struct time_plan plan = s->plan;
        session_step_share(s, s->n_devices - i);
        int failed = run_on_device(s, s->devices[i], probe);
        s->plan = plan;
        code = failed ? failed : code;
    }
    progress_hide(s);
    session_section_end(s);
    progress_end(s);
    return code;
}

const xl_probe_info *probes_find(const char *name)
{
    const xl_probe_info *p;
    for (unsigned i = 0; (p = xl_probe_at(i)) != NULL; i++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}
