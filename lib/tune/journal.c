/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a search: lines of JSON, each appended by one write. */
#include "tune/journal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <crosslane/crosslane.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "runtime/context.h"
#include "runtime/tuned/tuned_file.h"

static const char BEGUN[] = "begun";
enum { SOURCES_CAP = sizeof(((struct xl__tuned_set *)0)->sources) };

struct xl__line {
    xl_candidate what;
    char sources[SOURCES_CAP];
    bool is_begun;
    xl_candidate_result result; /* unless only begun */
};

/* -- the key -------------------------------------------------------------- */

/* A canonical descriptor holds pointers, so its bytes differ between
 * processes: the flop and bytes of a plan distinguish sizes within a class. */
static void make_key(struct xl__journal *j, const struct xl__op_call *call,
                     const struct xl__plan *of)
{
    const struct xl__limits *l = &call->q->ctx->device->limits;
    struct xl__str text = {0};
    xl__str_printf(&text, "%s\n%s\n%s\n%s\n%s\n", xl__text(l, XL__F_name),
                   xl__text(l, XL__F_platform), xl__text(l, XL__F_driver),
                   xl_version(), call->op->name);
    call->op->shape_class(call->key->canonical, &text);
    xl__str_printf(&text, "\n%.17g %.17g\n", of->flop, of->bytes);
    xl__hash128_hex(xl__str_text(&text), text.len, j->key);
    xl__str_clear(&text);
}

/* -- reading -------------------------------------------------------------- */

static bool read_text(const json_t *object, const char *name, char *out,
                      size_t cap)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || strlen(text) >= cap)
        return false;
    xl__strcpy(out, cap, text);
    return true;
}

static double read_number(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    return json_is_number(member) ? json_number_value(member) : NAN;
}

static bool read_end(const json_t *object, struct xl__line *line)
{
    const char *text = json_string_value(json_object_get(object, "end"));
    line->is_begun = xl__streq(text, BEGUN);
    for (int i = 0; text && i < XL_N_CANDIDATE_ENDS; i++) {
        line->result.end = (xl_candidate_end)i;
        if (xl__streq(text, xl_candidate_end_name(line->result.end)))
            return true;
    }
    return line->is_begun;
}

static bool parse_line(const char *text, size_t len, const char *key,
                       struct xl__line *line)
{
    json_t *object = json_loadb(text, len, 0, NULL);
    xl_candidate_result *r = &line->result;
    memset(line, 0, sizeof *line);
    const char *its_key = json_string_value(json_object_get(object, "key"));
    const double runs = read_number(object, "runs");
    const bool ok =
        xl__streq(its_key, key) && read_end(object, line) &&
        read_text(object, "variant", line->what.variant,
                  sizeof line->what.variant) &&
        read_text(object, "tunables", line->what.tunables,
                  sizeof line->what.tunables) &&
        read_text(object, "sources", line->sources, sizeof line->sources);
    r->runs = runs > 0 && runs < XL_MAX_SAMPLES ? (unsigned)runs : 0;
    r->median_ns = read_number(object, "median_ns");
    r->mad_ns = read_number(object, "mad_ns");
    read_text(object, "why", r->why, sizeof r->why);
    json_decref(object);
    return ok && (line->is_begun || r->end != XL_CANDIDATE_RIGHT ||
                  r->median_ns > 0);
}

static xl_status read_lines(struct xl__journal *j, const char *text,
                            size_t len)
{
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct xl__line line;
        if (!newline)
            break;
        if (parse_line(at, (size_t)(newline - at), j->key, &line)) {
            if (!xl__grow(&j->lines, &j->cap, j->n + 1, sizeof *j->lines))
                return XL_NO_MEMORY;
            j->lines[j->n++] = line;
        }
        at = newline + 1;
    }
    return XL_OK;
}

/* The bytes up to the last newline: what follows it is incomplete. */
static size_t count_whole_lines(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] != '\n')
        len--;
    return len;
}

xl_status xl__journal_init(struct xl__journal *j, const char *path,
                           const struct xl__op_call *call,
                           const struct xl__plan *of)
{
    xl_status status = XL_OK;
    struct xl__error *e = &call->q->error;
    char *text = NULL;
    size_t len = 0;
    memset(j, 0, sizeof *j);
    j->path = path;
    if (!path)
        return XL_OK;
    make_key(j, call, of);
    status = xl__file_read(path, &text, &len);
    if (status == XL_IO && errno == ENOENT)
        return XL_OK;
    if (status == XL_OK && count_whole_lines(text, len) < len) {
        len = count_whole_lines(text, len);
        status = xl__file_replace(path, text, len);
    }
    if (status == XL_OK)
        status = read_lines(j, text, len);
    if (status != XL_OK)
        xl__error_set(e, status, "journal %s: %s", path,
                      status == XL_NO_MEMORY ? xl_status_text(status)
                                             : strerror(errno));
    free(text);
    return status;
}

void xl__journal_clear(struct xl__journal *j)
{
    free(j->lines);
    j->lines = NULL;
    j->n = j->cap = 0;
}

bool xl__journal_find(const struct xl__journal *j, const xl_candidate *c,
                      const char *sources, xl_candidate_result *out)
{
    enum { ENOUGH = 2 };
    unsigned begun = 0;
    for (size_t i = 0; i < j->n; i++) {
        const struct xl__line *line = &j->lines[i];
        if (strcmp(line->what.variant, c->variant) != 0 ||
            strcmp(line->what.tunables, c->tunables) != 0 ||
            strcmp(line->sources, sources) != 0)
            continue;
        if (!line->is_begun) {
            *out = line->result;
            return true;
        }
        begun++;
    }
    if (begun < ENOUGH)
        return false;
    memset(out, 0, sizeof *out);
    out->end = XL_CANDIDATE_CRASHED;
    out->median_ns = out->mad_ns = NAN;
    xl__strcpy(out->why, sizeof out->why, "it began twice and never ended");
    return true;
}

/* -- writing -------------------------------------------------------------- */

static void write_number(json_t *object, const char *name, double x)
{
    if (isfinite(x))
        json_object_set_new(object, name, json_real(x));
}

/* A driver's text need not be UTF-8. */
static json_t *text_or_placeholder(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("(unreadable)");
}

static char *format_line(const struct xl__journal *j, const xl_candidate *c,
                         const char *sources, const xl_candidate_result *r)
{
    json_t *object = json_object();
    json_object_set_new(object, "key", json_string(j->key));
    json_object_set_new(object, "variant", json_string(c->variant));
    json_object_set_new(object, "tunables", json_string(c->tunables));
    json_object_set_new(object, "sources", json_string(sources));
    json_object_set_new(
        object, "end", json_string(r ? xl_candidate_end_name(r->end) : BEGUN));
    if (r) {
        json_object_set_new(object, "runs", json_integer(r->runs));
        write_number(object, "median_ns", r->median_ns);
        write_number(object, "mad_ns", r->mad_ns);
        json_object_set_new(object, "why", text_or_placeholder(r->why));
    }
    char *line = json_dumps(object, JSON_REAL_PRECISION(9));
    json_decref(object);
    return line;
}

xl_status xl__journal_add(struct xl__journal *j, const xl_candidate *c,
                          const char *sources,
                          const xl_candidate_result *result,
                          struct xl__error *e)
{
    xl_status status = XL_NO_MEMORY;
    struct xl__str text = {0};
    if (!j->path)
        return XL_OK;
    char *line = format_line(j, c, sources, result);
    if (line)
        xl__str_printf(&text, "%s\n", line);
    if (line && !text.broken)
        status = xl__file_append(j->path, text.text, text.len);
    if (status != XL_OK)
        xl__error_set(e, status, "journal %s: %s", j->path,
                      status == XL_NO_MEMORY ? xl_status_text(status)
                                             : strerror(errno));
    xl__str_clear(&text);
    free(line);
    return status;
}
