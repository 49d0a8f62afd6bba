/* SPDX-License-Identifier: Apache-2.0 */
/* A log in JSON Lines rather than a document: it has no end before it is
 * ended, and what a reader has got stays whole if we are killed. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "cli/console.h"
#include "cli/host_info.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "report/report.h"
#include "results/environment.h"
#include "results/json.h"
#include "results/telemetry.h"

struct top_log {
    struct session *s;
    FILE *to; /* NULL: none is wanted */
};

static const double ns_per_s = 1e9, usual_interval_s = 1;

static bool complain(const struct top_log *log)
{
    return out_file_complain(log->s, "json", log->s->set.json, XL_IO);
}

static void put_line(struct top_log *log, json_t *line)
{
    enum { DIGITS = 9 };
    char *text =
        line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS))
             : NULL;
    if (text)
        fprintf(log->to, "%s\n", text);
    free(text);
    json_decref(line);
}

static json_t *device_json(const struct telemetry_device *d)
{
    static const char *const texts[] = {"name", "platform", "uuid", "pci"};
    json_t *out = json_object();
    json_put(out, "index", json_integer(xl_device_index(d->dev)));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_put(out, texts[i],
                 json_text(device_fact_text(d->dev, texts[i], NULL)));
    json_put(out, "sources", telemetry_sources(&d->now));
    return out;
}

static void top_log_head(struct top_log *log, const struct telemetry_device *d,
                  unsigned n, double interval_s)
{
    char date[32];
    if (!log->to)
        return;
    json_t *head = json_object(), *devices = json_array();
    environment_date(date, sizeof date);
    for (unsigned i = 0; i < n; i++)
        json_add(devices, device_json(&d[i]));
    json_put(head, "schema", json_string("clbench-top/1"));
    json_put(head, "tool", environment_tool(log->s));
    json_put(head, "host", environment_host());
    json_put(head, "date", json_text(date));
    json_put(head, "interval_s", json_number(interval_s));
    json_put(head, "devices", devices);
    put_line(log, head);
}

static bool top_log_readings(struct top_log *log, const struct telemetry_device *d,
                      unsigned n)
{
    char date[32];
    if (!log->to)
        return true;
    environment_date(date, sizeof date);
    for (unsigned i = 0; i < n; i++) {
        json_t *line = telemetry_reading(&d[i].now);
        const double t_ns = (double)(d[i].now.ns - log->s->start_ns);
        json_put(line, "date", json_text(date));
        json_put(line, "t_s", json_number(t_ns / ns_per_s));
        json_put(line, "device", json_integer(xl_device_index(d[i].dev)));
        put_line(log, line);
    }
    errno = 0;
    return fflush(log->to) == 0 || complain(log);
}

static bool top_log_open(struct top_log *log, struct session *s)
{
    const char *path = s->set.json;
    *log = (struct top_log){.s = s};
    if (!path)
        return true;
    errno = 0;
    log->to = out_file_is_stdout(path) ? stdout : fopen(path, "w");
    return log->to || complain(log);
}

static bool top_log_close(struct top_log *log)
{
    if (!log->to || log->to == stdout)
        return true;
    const bool failed = ferror(log->to) != 0; /* and was told */
    errno = 0;
    return fclose(log->to) == 0 ? !failed : !failed && complain(log);
}

/*@@ `clbench top`: the devices while they work. On a terminal one table that is
 * drawn over itself, elsewhere plain lines. The cursor only ever goes up to
 * the table's first line, so that whenever the program ends the last table
 * stands and nothing has to be put right. */

/* Counters of a system step a hundred times a second. */
static const double least_interval_s = 0.1;
/* Shares need two readings: the first table waits no longer than that. */
static const double first_interval_s = 0.25;

struct top {
    struct session *s;
    struct telemetry_device *list;
    unsigned n;
    double interval_s;
    bool is_live;    /* drawn over itself */
    bool is_endless; /* until Ctrl-C */
    bool is_once;
    unsigned lines;  /* of the table that stands on the terminal */
    struct top_log log;
};

/* -- looking --------------------------------------------------------------- */

static void look(struct top *t)
{
    for (unsigned i = 0; i < t->n; i++)
        xl_telemetry_read(t->list[i].t, &t->list[i].now);
}

/* Ctrl-C is seen within a twentieth of a second. */
static bool wait_for(struct top *t, double seconds)
{
    enum { SLICE_NS = 50000000 };
    const uint64_t end = xl__now_ns() + (uint64_t)(seconds * ns_per_s);
    for (uint64_t now; (now = xl__now_ns()) < end;) {
        if (session_stopped(t->s))
            return false;
        xl__sleep_ns(end - now < SLICE_NS ? end - now : SLICE_NS);
    }
    return !session_stopped(t->s);
}

/* -- the table ------------------------------------------------------------- */

static void draw(struct top *t)
{
    const unsigned width = text_terminal_columns();
    char date[32];
    environment_date(date, sizeof date);
    if (t->is_live && t->lines > 0)
        fprintf(stdout, "\033[%uA\r\033[J", t->lines);
    fprintf(stdout, "%s", date);
    if (!t->is_once)
        fprintf(stdout, ", every %g s", t->interval_s);
    fprintf(stdout, "%s\n",
            t->is_live && t->is_endless ? "; Ctrl-C ends" : "");
    telemetry_table(stdout, t->list, t->n, width, text_wants_colour());
    if (!t->is_live)
        fputc('\n', stdout);
    t->lines = t->n + 2;
    fflush(stdout);
}

static void list_sensors(const struct top *t)
{
    const unsigned width = text_terminal_columns();
    struct xl__str name = {0};
    for (unsigned i = 0; i < t->n; i++) {
        const struct telemetry_device *d = &t->list[i];
        xl__str_reset(&name);
        text_escape(&name, device_fact_text(d->dev, "name", "?"));
        fprintf(stdout, "%s%u: %s\n", i ? "\n" : "", xl_device_index(d->dev),
                xl__str_text(&name));
        telemetry_list(stdout, d, width);
    }
    fputc('\n', stdout);
    telemetry_legend(stdout, width);
    xl__str_clear(&name);
}

/* -- the command ----------------------------------------------------------- */

static int open_devices(struct top *t)
{
    struct session *s = t->s;
    s->set.all_devices = s->set.device == NULL;
    const int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    t->list = xl__calloc(s->n_devices, sizeof *t->list);
    if (!t->list)
        return session_fail(s, "listing devices", XL_NO_MEMORY, "");
    for (; t->n < s->n_devices; t->n++) {
        struct telemetry_device *d = &t->list[t->n];
        d->dev = s->devices[t->n];
        const xl_status status = xl_telemetry_open(d->dev, &d->t);
        if (status != XL_OK)
            return session_fail(s, "asking for readings", status, "");
    }
    return EXIT_FINE;
}

/* Once, where nobody watches and nobody said how often. */
static size_t times(const struct top *t)
{
    const struct settings *set = &t->s->set;
    const bool is_watched = t->is_live || set->json || set->max_time_s > 0;
    return set->count > 0 ? set->count : is_watched ? 0 : 1;
}

static int watch(struct top *t)
{
    const size_t n = times(t);
    t->is_endless = n == 0;
    t->is_once = n == 1;
    if (!top_log_open(&t->log, t->s))
        return EXIT_FILE;
    look(t);
    double pause_s = fmin(t->interval_s, first_interval_s);
    for (size_t i = 0; (n == 0 || i < n) && wait_for(t, pause_s); i++) {
        look(t);
        if (session_tables(t->s))
            draw(t);
        if (i == 0)
            top_log_head(&t->log, t->list, t->n, t->interval_s);
        if (!top_log_readings(&t->log, t->list, t->n) || ferror(stdout))
            break;
        pause_s = t->interval_s;
    }
    return top_log_close(&t->log) ? EXIT_FINE : EXIT_FILE;
}

static bool may_draw_over(void)
{
    const char *term = getenv("TERM");
    return xl__is_terminal(XL__STDOUT) && term && *term &&
           strcmp(term, "dumb") != 0;
}

static int run(struct session *s)
{
    struct top t = {.s = s, .interval_s = s->set.interval_s};
    if (t.interval_s <= 0)
        t.interval_s = usual_interval_s;
    if (t.interval_s < least_interval_s) {
        session_say(s, "", "--interval: give 0.1s or more: the counters that "
                           "shares are made of step no faster");
        return EXIT_USAGE;
    }
    t.is_live = may_draw_over();
    int code = open_devices(&t);
    if (code == EXIT_FINE && s->set.list) {
        look(&t);
        (void)wait_for(&t, first_interval_s);
        look(&t);
        list_sensors(&t);
    } else if (code == EXIT_FINE) {
        code = watch(&t);
    }
    for (unsigned i = 0; i < t.n; i++)
        xl_telemetry_close(t.list[i].t);
    free(t.list);
    return code;
}

static const char *const options[] = {"device", "interval", "count", "list",
                                      "json", "max-time", NULL};

const struct command cmd_top = {
    .name = "top",
    .summary = "watch what devices do: load, memory, clock, heat, power",
    .about =
        "Shows every device, or the one of --device, and looks again each "
        "second until Ctrl-C. Where output goes into a file or a pipe it "
        "prints one table and ends; --count, --max-time or --json make it go "
        "on. Nothing runs on the devices, and what nobody tells is '-'.\n\n"
        "busy: the share of the last moments in which the device worked at "
        "all, on however few of its units. memory: what all programs together "
        "have taken, of what there is. clock: of the compute units; it falls "
        "when there is nothing to do. temp: the chip, in degrees Celsius. "
        "power: drawn now, of what is allowed.\n\n"
        "held by: why the clock is not higher. 'power limit' is usual under "
        "full load: the device runs as fast as its power allows. 'thermal "
        "limit', 'hardware slowdown' and 'power brake' are trouble: it "
        "protects itself from heat or from a weak supply, and what is "
        "measured then is slower than the device is. 'clock setting' is a "
        "clock that somebody fixed. 'idle': there is nothing to do.\n\n"
        "Readings come from the vendor's management library where it is "
        "installed, and from files of the operating system; --list shows each "
        "one with who tells it. Benchmarks take the same readings between "
        "their samples: the \"conditions\" of a row in the result file, and a "
        "row is called suspicious when the device was protecting itself.\n\n"
        "--json writes a log, not a result file: JSON Lines, one value a "
        "line. The first (schema clbench-top/1) tells the devices and the "
        "source of each reading; every other one is one device at one time, "
        "with units in the names. What is not known is left out.",
    .options = options,
    .is_live = true,
    .run = run,
};
