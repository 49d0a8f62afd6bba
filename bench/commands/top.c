/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench top`: print the load, memory, clock, temperature and power of the
 * devices, again and again.
 *
 * On a terminal one table is drawn over itself, elsewhere plain lines are
 * printed. The cursor only moves up to the first line of the table, so the
 * last table remains on the terminal however the program ends, and nothing
 * must be restored. --json writes a log in JSON Lines: each line is complete,
 * so the log is valid even when the program is killed. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "cli/console.h"
#include "host/host_info.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "report/report.h"
#include "results/environment.h"
#include "results/json.h"
#include "results/telemetry.h"

/* -- the log ---------------------------------------------------------------
 */

struct top_log {
    struct session *s;
    FILE *to; /* NULL: no --json */
};

static const double ns_per_s = 1e9, usual_interval_s = 1;

static bool report_write_error(const struct top_log *log)
{
    return out_file_report(log->s, "json", log->s->set.json, XL_IO);
}

static void write_line(struct top_log *log, json_t *line)
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
    write_line(log, head);
}

static bool top_log_readings(struct top_log *log,
                             const struct telemetry_device *d, unsigned n)
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
        write_line(log, line);
    }
    errno = 0;
    return fflush(log->to) == 0 || report_write_error(log);
}

static bool top_log_open(struct top_log *log, struct session *s)
{
    const char *path = s->set.json;
    *log = (struct top_log){.s = s};
    if (!path)
        return true;
    errno = 0;
    log->to = out_file_is_stdout(path) ? stdout : fopen(path, "w");
    return log->to || report_write_error(log);
}

static bool top_log_close(struct top_log *log)
{
    if (!log->to || log->to == stdout)
        return true;
    const bool failed = ferror(log->to) != 0; /* after a message */
    errno = 0;
    return fclose(log->to) == 0 ? !failed : !failed && report_write_error(log);
}

/* -- state -----------------------------------------------------------------
 */

/* The system's counters advance a hundred times a second. */
static const double least_interval_s = 0.1;
/* Shares require two readings: the time between the first two. */
static const double first_interval_s = 0.25;

struct top {
    struct session *s;
    struct telemetry_device *list;
    unsigned n;
    double interval_s;
    bool is_live;    /* the table is drawn over itself */
    bool is_endless; /* until Ctrl-C */
    bool is_once;
    unsigned lines; /* of the table on the terminal */
    struct top_log log;
};

/* -- readings --------------------------------------------------------------
 */

static void read_devices(struct top *t)
{
    for (unsigned i = 0; i < t->n; i++)
        xl_telemetry_read(t->list[i].t, &t->list[i].now);
}

/* Wait; false: stopped. Ctrl-C is polled every 50 ms. */
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

static void draw_table(struct top *t)
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
    telemetry_table(stdout, t->list, t->n, width, text_has_colour());
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
            return session_fail(s, "opening telemetry", status, "");
    }
    return EXIT_FINE;
}

/* The number of tables; 0: until Ctrl-C. One where output is not a terminal
 * and no option gives a number or a time. */
static size_t table_count(const struct top *t)
{
    const struct settings *set = &t->s->set;
    const bool is_watched = t->is_live || set->json || set->max_time_s > 0;
    return set->count > 0 ? set->count : is_watched ? 0 : 1;
}

static int run_loop(struct top *t)
{
    const size_t n = table_count(t);
    t->is_endless = n == 0;
    t->is_once = n == 1;
    if (!top_log_open(&t->log, t->s))
        return EXIT_FILE;
    read_devices(t);
    double pause_s = fmin(t->interval_s, first_interval_s);
    for (size_t i = 0; (n == 0 || i < n) && wait_for(t, pause_s); i++) {
        read_devices(t);
        if (session_tables(t->s))
            draw_table(t);
        if (i == 0)
            top_log_head(&t->log, t->list, t->n, t->interval_s);
        if (!top_log_readings(&t->log, t->list, t->n) || ferror(stdout))
            break;
        pause_s = t->interval_s;
    }
    return top_log_close(&t->log) ? EXIT_FINE : EXIT_FILE;
}

static bool can_draw_over(void)
{
    const char *term = getenv("TERM");
    return xl__is_terminal(XL__STDOUT) && term && *term &&
           strcmp(term, "dumb") != 0;
}

static int run_top(struct session *s)
{
    struct top t = {.s = s, .interval_s = s->set.interval_s};
    if (t.interval_s <= 0)
        t.interval_s = usual_interval_s;
    if (t.interval_s < least_interval_s) {
        session_message(s, "",
                        "invalid value for --interval: must be at least 0.1s, "
                        "since the system's counters advance no faster");
        return EXIT_USAGE;
    }
    t.is_live = can_draw_over();
    int code = open_devices(&t);
    if (code == EXIT_FINE && s->set.list) {
        read_devices(&t);
        (void)wait_for(&t, first_interval_s);
        read_devices(&t);
        list_sensors(&t);
    } else if (code == EXIT_FINE) {
        code = run_loop(&t);
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
    .summary = "load, memory, clock, temperature and power, live",
    .about =
        "Prints all devices, or the one of --device, once a second until "
        "Ctrl-C. Where output is a file or a pipe it prints one table and "
        "ends; with --count, --max-time or --json it continues. It runs "
        "nothing on the devices; a value that is not available is '-'.\n\n"
        "busy: the fraction of the last moments in which the device was busy, "
        "with however few of its units. memory: used by all programs "
        "together, of the whole. clock: of the compute units; it is low when "
        "the device is idle. temp: of the chip, in degrees Celsius. power: "
        "drawn now, of the limit.\n\n"
        "limited by: what limits the clock. 'power limit' is usual under full "
        "load: the device runs as fast as its power limit permits. 'thermal "
        "limit', 'hardware slowdown' and 'power brake' are faults: the device "
        "protects itself from heat or from a weak power supply, and "
        "measurements are then too slow. 'clock setting' is a fixed clock. "
        "'idle': no work.\n\n"
        "Readings come from the vendor's management library where it is "
        "installed, and from files of the operating system; --list prints the "
        "source of each. Benchmarks take the same readings between their "
        "samples: the \"conditions\" of a row in the result file; a row is "
        "suspicious when the device reduced its clock during it.\n\n"
        "--json writes a log, not a result file: JSON Lines, one value a "
        "line. The first line (schema clbench-top/1) describes the devices "
        "and the source of each reading; each other line is one device at one "
        "time, with units in the names. Values that are not available are "
        "left out.",
    .options = options,
    .is_live = true,
    .run = run_top,
};
