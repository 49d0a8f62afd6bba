/* SPDX-License-Identifier: Apache-2.0 */
/* Collects and prints findings, and converts them to JSON. Text of drivers
 * passes through text_escape(), so that it cannot contain terminal control
 * sequences. */
#include "doctor/findings.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "results/json.h"
#include "cli/console.h"

static const struct {
    const char *name, *colour;
} levels[] = {
    [FINDING_OK] = {"ok", "\033[32m"},
    [FINDING_NOTE] = {"note", "\033[33m"},
    [FINDING_PROBLEM] = {"problem", "\033[31m"},
};

enum { INDENT = 11, LABEL = 7, LEAST_TEXT = 20 };

/* Prints `text` wrapped to the width, with a hanging indent behind the label.
 * A word longer than a line is not split. */
static void print_indented(const struct findings *f, const char *text)
{
    size_t room =
        f->width > INDENT + LEAST_TEXT ? f->width - INDENT - 1 : LEAST_TEXT;
    size_t column = 0;
    while (*text) {
        text += strspn(text, " ");
        size_t len = strcspn(text, " ");
        if (column > 0 && column + 1 + len > room) {
            fprintf(f->to, "\n%*s", INDENT, "");
            column = 0;
        }
        fprintf(f->to, "%s%.*s", column > 0 ? " " : "", (int)len, text);
        column += len + (column > 0);
        text += len;
    }
    fputc('\n', f->to);
}

/* Prints a finding, with a heading if the section changes. */
static void print_finding(const struct findings *f, const struct finding *now)
{
    const char *before = f->n > 0 ? f->list[f->n - 1].section : "";
    const char *name = levels[now->level].name;
    if (!f->to)
        return;
    if (strcmp(before, now->section) != 0)
        fprintf(f->to, "%s%s\n", f->n > 0 ? "\n" : "", now->section);
    fprintf(f->to, "  %s%s%s%*s", f->colour ? levels[now->level].colour : "",
            name, f->colour ? "\033[0m" : "", LABEL + 2 - (int)strlen(name),
            "");
    print_indented(f, now->what);
    if (now->todo) {
        fprintf(f->to, "  %*s", LABEL + 2, "-> ");
        print_indented(f, now->todo);
    }
    (void)fflush(f->to);
}

/* A copy with control characters escaped; NULL for NULL. */
static char *escape_text(const char *text)
{
    struct xl__str clean = {0};
    if (!text)
        return NULL;
    text_escape(&clean, text);
    return xl__str_steal(&clean);
}

void findings_add(struct findings *f, enum finding_level level,
                  const char *section, const char *todo, const char *fmt, ...)
{
    struct xl__str raw = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&raw, fmt, args);
    va_end(args);
    struct finding now = {level, section, escape_text(xl__str_text(&raw)),
                          escape_text(todo)};
    xl__str_clear(&raw);
    if (now.what && xl__grow(&f->list, &f->cap, f->n + 1, sizeof *f->list)) {
        print_finding(f, &now);
        f->list[f->n++] = now;
        return;
    }
    free(now.what);
    free(now.todo);
}

size_t findings_count(const struct findings *f, enum finding_level level)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->list[i].level == level;
    return n;
}

void findings_clear(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->list[i].what);
        free(f->list[i].todo);
    }
    free(f->list);
    f->list = NULL;
    f->n = f->cap = 0;
}

json_t *findings_json(const struct findings *f)
{
    json_t *out = json_array();
    for (size_t i = 0; i < f->n; i++) {
        const struct finding *at = &f->list[i];
        json_t *one = json_object();
        json_put(one, "part", json_text(at->section));
        json_put(one, "level", json_text(levels[at->level].name));
        json_put(one, "what", json_text(at->what));
        json_put(one, "todo", json_text(at->todo));
        json_add(out, one);
    }
    return out;
}
