/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/bug/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MARK "bug_taken_"

/* -- lines ---------------------------------------------------------------- */

/* The end of a line, behind its newline, with the lines that continue it. */
static const char *line_end(const char *line)
{
    const char *at = line;
    for (; *at; at++)
        if (*at == '\n' && (at == line || at[-1] != '\\'))
            return at + 1;
    return at;
}

/* The word of a directive, "if"; NULL: it is none. */
static const char *directive(const char *line)
{
    line += strspn(line, " \t");
    return *line == '#' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

static bool is_word(const char *at, const char *word)
{
    const size_t n = strlen(word);
    return at && strncmp(at, word, n) == 0 &&
           !(isalnum((unsigned char)at[n]) || at[n] == '_');
}

static bool opens(const char *at)
{
    return is_word(at, "if") || is_word(at, "ifdef") || is_word(at, "ifndef");
}

static bool continues(const char *at)
{
    return is_word(at, "elif") || is_word(at, "else");
}

/* The end of a comment or of a literal at `at`; `at` itself if it is none. */
static const char *skip_token(const char *at, bool *is_comment)
{
    const char *end = at;
    *is_comment = at[0] == '/' && (at[1] == '/' || at[1] == '*');
    if (*is_comment && at[1] == '/')
        return at + strcspn(at, "\n");
    if (*is_comment) {
        end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at != '"' && *at != '\'')
        return at;
    for (end++; *end && *end != *at && *end != '\n'; end++)
        if (*end == '\\' && end[1])
            end++;
    return *end == *at ? end + 1 : end;
}

static void add_without_comments(const char *text, struct xl__str *out)
{
    while (*text) {
        bool is_comment;
        const char *end = skip_token(text, &is_comment);
        if (is_comment)
            xl__str_add(out, " ");
        else
            xl__str_add_n(out, text, end > text ? (size_t)(end - text) : 1);
        text = end > text ? end : text + 1;
    }
}

void source_strip(const char *text, struct xl__str *out)
{
    struct xl__str bare = {0};
    add_without_comments(text, &bare);
    for (const char *at = xl__str_text(&bare); *at;) {
        const size_t n = strcspn(at, "\n");
        size_t kept = n;
        while (kept > 0 && strchr(" \t\r", at[kept - 1]))
            kept--;
        if (kept > 0 && at[strspn(at, " \t")] != '\\') {
            xl__str_add_n(out, at, kept);
            xl__str_add(out, "\n");
        }
        at += n + (at[n] == '\n');
    }
    out->broken = out->broken || bare.broken;
    xl__str_clear(&bare);
}

/* -- conditionals --------------------------------------------------------- */

void source_mark(const char *text, struct xl__str *out)
{
    unsigned n = 0;
    while (*text) {
        const char *end = line_end(text), *word = directive(text);
        xl__str_add_n(out, text, (size_t)(end - text));
        if (opens(word) || continues(word))
            xl__str_printf(out, "#define " MARK "%u_\n", n++);
        text = end;
    }
    for (unsigned i = 0; i < n; i++)
        xl__str_printf(out,
                       "#ifdef " MARK "%u_\nkernel void " MARK
                       "%u(void) {}\n#endif\n",
                       i, i);
}

static bool has_name(const char *names, unsigned mark)
{
    char name[32];
    const size_t n =
        xl__strfmt(name, sizeof name, MARK "%u", mark) ? strlen(name) : 0;
    for (const char *at = names; (at = strstr(at, name)); at += n)
        if ((at == names || at[-1] == ';') && (!at[n] || at[n] == ';'))
            return true;
    return false;
}

void source_take(const char *text, const char *names, struct xl__str *out)
{
    /* Conditionals that are open, and the outermost branch that is not taken;
     * 0: none. */
    unsigned depth = 0, hidden = 0, n = 0;
    for (const char *end; *text; text = end) {
        const char *word = directive(text);
        end = line_end(text);
        if (opens(word))
            depth++;
        if (opens(word) || continues(word)) {
            const bool is_taken = has_name(names, n++);
            if (hidden == 0 || hidden == depth)
                hidden = is_taken ? 0 : depth;
        } else if (is_word(word, "endif")) {
            hidden = hidden == depth ? 0 : hidden;
            depth -= depth > 0;
        } else if (hidden == 0) {
            xl__str_add_n(out, text, (size_t)(end - text));
        }
    }
}

/* -- parts ---------------------------------------------------------------- */

static size_t name_length(const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_')
        n++;
    return n;
}

static bool is_named(const struct source_part *p, const char *word, size_t n)
{
    return p->name && p->name_len == n && strncmp(p->name, word, n) == 0;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\n");
}

/* Behind the parenthesis that closes the one at `at`. */
static const char *skip_parentheses(const char *at)
{
    int depth = 0;
    do {
        depth += (*at == '(') - (*at == ')');
    } while (*at && (at++, depth > 0));
    return at;
}

static void set_name(struct source_part *p, const char *at)
{
    p->name = at;
    p->name_len = name_length(at);
}

/* The name before the parenthesis of a function's parameters, of a struct, or
 * the last one of a typedef. */
static void find_code_name(struct source_part *p)
{
    const char *at = p->text, *end = p->text + p->len, *last = NULL;
    const bool is_type = is_word(skip_blanks(at), "typedef");
    while (at < end && (is_type || !strchr("(={", *at))) {
        const size_t n = name_length(at);
        if (is_word(at, "__attribute__")) {
            at = skip_parentheses(at + strcspn(at, "("));
        } else {
            last = n > 0 ? at : last;
            at += n > 0 ? n : 1;
        }
    }
    const bool is_struct = is_word(skip_blanks(p->text), "struct");
    if (last && (is_type || *at == '(' || (is_struct && *at == '{')))
        set_name(p, last);
}

/* The macro of #define or #undef, or what code defines. */
static void find_name(struct source_part *p)
{
    const char *word = directive(p->text);
    if (is_word(word, "define") || is_word(word, "undef"))
        set_name(p, skip_blanks(word + strcspn(word, " \t")));
    else if (!word)
        find_code_name(p);
}

/* Is a part of code at its end: balanced, with `last` as its last letter and
 * this as what follows? A function's body may follow its head. */
static bool is_whole(int depth, char last, const char *next)
{
    return depth == 0 && (last == ';' || last == '}' ||
                          (last == ')' && *skip_blanks(next) != '{'));
}

/* Directives in a function are a part of it. */
static const char *part_end(const char *text)
{
    int depth = 0;
    char last = '\0';
    if (directive(text))
        return line_end(text);
    while (*text) {
        bool is_comment;
        const char *end = skip_token(text, &is_comment);
        depth += *text == '(' || *text == '{' || *text == '[';
        depth -= *text == ')' || *text == '}' || *text == ']';
        if (!isspace((unsigned char)*text))
            last = *text;
        text = end > text ? end : text + 1;
        if (text[-1] != '\n')
            continue;
        if (is_whole(depth, last, text) || (depth == 0 && directive(text)))
            return text;
        while (directive(text))
            text = line_end(text);
    }
    return text;
}

/* A name of code that is a macro's is not what the code defines. */
static void clear_macro_calls(struct source_parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->n && !directive(p->at[i].text); k++)
            if (directive(p->at[k].text) && p->at[i].name &&
                is_named(&p->at[k], p->at[i].name, p->at[i].name_len))
                p->at[i].name = NULL;
}

bool source_split(const char *text, struct source_parts *out)
{
    while (*text) {
        const char *end = part_end(text);
        if (!xl__grow(&out->at, &out->cap, out->n + 1, sizeof *out->at))
            return false;
        out->at[out->n] =
            (struct source_part){.text = text, .len = (size_t)(end - text)};
        find_name(&out->at[out->n++]);
        text = end;
    }
    clear_macro_calls(out);
    for (size_t i = 0; i < out->n; i++)
        out->at[i].is_out = !(out->at[i].is_wanted = !out->at[i].name);
    return true;
}

void source_clear(struct source_parts *p)
{
    free(p->at);
    *p = (struct source_parts){.n = 0};
}

/* -- what is reached ------------------------------------------------------ */

/* The next name of a text before `end`, of *n letters; NULL: there is none. */
static const char *next_name(const char *at, const char *end, size_t *n)
{
    for (; at < end; at++)
        if ((*n = name_length(at)) > 0)
            return at;
    return NULL;
}

enum { FEWEST_LETTERS = 3 }; /* of a part of a word that is a name */

/* The word may be made by ##, of a name that is not there. */
static bool has_name_in(const struct source_part *p, const char *word,
                        size_t n)
{
    if (!p->name || p->name_len < FEWEST_LETTERS)
        return false;
    for (size_t at = 0; at + p->name_len <= n; at++)
        if (strncmp(word + at, p->name, p->name_len) == 0)
            return true;
    return false;
}

size_t source_want(struct source_parts *p, const char *text)
{
    size_t n, n_wanted = 0;
    const char *end = text + strlen(text);
    for (const char *at = text; (at = next_name(at, end, &n)); at += n)
        for (size_t i = 0; i < p->n; i++)
            if (p->at[i].is_out && !p->at[i].is_wanted &&
                (is_named(&p->at[i], at, n) ||
                 has_name_in(&p->at[i], at, n))) {
                p->at[i].is_wanted = true;
                n_wanted++;
            }
    return n_wanted;
}

/* Take in what a part names; whether that is more than before. */
static bool take_named(struct source_parts *p, const struct source_part *by)
{
    size_t n;
    bool is_more = false;
    const char *end = by->text + by->len;
    for (const char *at = by->text; (at = next_name(at, end, &n)); at += n)
        for (size_t i = 0; i < p->n; i++)
            if (p->at[i].is_out && is_named(&p->at[i], at, n)) {
                p->at[i].is_out = false;
                is_more = true;
            }
    return is_more;
}

void source_reach(struct source_parts *p, struct xl__str *out)
{
    for (size_t i = 0; i < p->n; i++)
        p->at[i].is_out = !p->at[i].is_wanted;
    for (bool is_more = true; is_more;) {
        is_more = false;
        for (size_t i = 0; i < p->n; i++)
            if (!p->at[i].is_out)
                is_more = take_named(p, &p->at[i]) || is_more;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!p->at[i].is_out)
            xl__str_add_n(out, p->at[i].text, p->at[i].len);
}
