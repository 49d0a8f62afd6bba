/* SPDX-License-Identifier: Apache-2.0 */
/* A log in JSON Lines rather than a document: it has no end before it is
 * ended, and what a reader has got stays whole if we are killed. */
#include "commands/top_log.h"

#include <errno.h>
#include <stdlib.h>

#include "results/environment.h"
#include "results/json.h"
#include "cli/output_file.h"
#include "report/report.h"
#include "cli/session.h"

static const double ns_per_s = 1e9;

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

void top_log_head(struct top_log *log, const struct telemetry_device *d,
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

bool top_log_readings(struct top_log *log, const struct telemetry_device *d,
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

bool top_log_open(struct top_log *log, struct session *s)
{
    const char *path = s->set.json;
    *log = (struct top_log){.s = s};
    if (!path)
        return true;
    errno = 0;
    log->to = out_file_is_stdout(path) ? stdout : fopen(path, "w");
    return log->to || complain(log);
}

bool top_log_close(struct top_log *log)
{
    if (!log->to || log->to == stdout)
        return true;
    const bool failed = ferror(log->to) != 0; /* and was told */
    errno = 0;
    return fclose(log->to) == 0 ? !failed : !failed && complain(log);
}
