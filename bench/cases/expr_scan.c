/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the words of a text. A statement's words are read before its
 * own name is assigned, so its head is kept until the end. */
#include "cases/expr_scan.h"

#include <ctype.h>
#include <string.h>

struct word {
    const char *text;
    size_t len;
};

static bool begins_word(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* A single '=', as behind a name that is assigned or an argument's name. */
static bool is_assignment(const char *at)
{
    at = skip_blanks(at);
    return at[0] == '=' && at[1] != '=';
}

static bool is_any(struct word w, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == w.len && memcmp(*list, w.text, w.len) == 0)
            return true;
    return false;
}

/* A function, a constant, the name of an argument, a type? */
static bool is_no_name(struct word w, unsigned depth)
{
    static const char *const constants[] = {"pi", "inf", "nan", "true",
                                            "false", NULL};
    static const char *const types[] = {"f32", "f16", "bf16", "i32",
                                        "i8",  "u8",  "bool", NULL};
    const char *behind = skip_blanks(w.text + w.len);
    return *behind == '(' || is_any(w, constants) ||
           (depth > 0 && is_assignment(behind)) ||
           (depth > 0 && *behind == ')' && is_any(w, types));
}

static struct expr_seen *need(struct expr_scan *s, struct word w)
{
    for (unsigned i = 0; i < s->n; i++)
        if (strlen(s->name[i].name) == w.len &&
            memcmp(s->name[i].name, w.text, w.len) == 0)
            return &s->name[i];
    if (s->n == EXPR_MAX_SEEN || w.len > XL_EXPR_MAX_NAME)
        return NULL;
    struct expr_seen *seen = &s->name[s->n++];
    memset(seen, 0, sizeof *seen);
    memcpy(seen->name, w.text, w.len);
    return seen;
}

static void see_read(struct expr_scan *s, struct word w)
{
    struct expr_seen *seen = need(s, w);
    if (!seen)
        return;
    seen->is_read_first = seen->is_read_first || !seen->is_assigned;
    seen->is_read_later = seen->is_read_later || seen->is_assigned;
}

/* Behind a bracketed slice, if one begins here. */
static const char *skip_slice(const char *at)
{
    const char *end = skip_blanks(at);
    if (*end != '[')
        return at;
    end += strcspn(end, "];\n");
    return *end == ']' ? end + 1 : at;
}

/* The name that the statement assigns, which is `out` of a bare expression;
 * *at moves behind the '='. */
static struct word statement_head(const char **at, bool *is_whole)
{
    static const struct word out = {"out", 3};
    const char *begin = *at, *end = begin;
    while (in_word(*end))
        end++;
    const char *behind = skip_slice(end);
    *is_whole = behind == end || !is_assignment(behind);
    if (!begins_word(*begin) || !is_assignment(behind))
        return out;
    *at = skip_blanks(behind) + 1;
    return (struct word){begin, (size_t)(end - begin)};
}

/* Behind a number: 2, 2.5, 1e-3. */
static const char *skip_number(const char *at)
{
    while (in_word(*at) || *at == '.' ||
           ((*at == '-' || *at == '+') && (at[-1] == 'e' || at[-1] == 'E')))
        at++;
    return at;
}

/* The statement's words; returns its end. */
static const char *statement_body(struct expr_scan *s, const char *at)
{
    unsigned depth = 0;
    while (*at && *at != ';' && (*at != '\n' || depth > 0)) {
        if (*at == '#') {
            at += strcspn(at, "\n");
            continue;
        }
        if (isdigit((unsigned char)*at)) {
            at = skip_number(at);
            continue;
        }
        if (!begins_word(*at)) {
            depth += *at == '(' || *at == '[';
            depth -= (*at == ')' || *at == ']') && depth > 0;
            at++;
            continue;
        }
        struct word w = {at, 0};
        while (in_word(*at))
            at++;
        w.len = (size_t)(at - w.text);
        if (!is_no_name(w, depth))
            see_read(s, w);
    }
    return at;
}

/* Blanks, ends of statements, comments. */
static const char *skip_between(const char *at)
{
    for (;;) {
        at = skip_blanks(at);
        if (*at == '#')
            at += strcspn(at, "\n");
        else if (*at == ';' || *at == '\n')
            at++;
        else
            return at;
    }
}

void expr_scan(const char *text, struct expr_scan *out)
{
    const char *at = skip_between(text);
    out->n = 0;
    while (*at) {
        bool is_whole;
        const struct word head = statement_head(&at, &is_whole);
        at = skip_between(statement_body(out, at));
        struct expr_seen *seen = need(out, head);
        if (!seen)
            continue;
        seen->is_assigned = true;
        seen->is_whole = seen->is_whole || is_whole;
    }
}
