/* SPDX-License-Identifier: Apache-2.0 */
/* Text on a terminal: names and messages that come from drivers and files are
 * made safe to print, and lines are fitted into the terminal's columns.
 *
 * UTF-8 is decoded strictly (RFC 3629). A byte that is not UTF-8, or belongs
 * to a control character, is printed as \xNN, so that no driver's text can
 * send an escape sequence. A character takes 0 columns if it is a combining
 * mark, 2 in the East Asian wide blocks (Unicode TR 11), else 1. */
#include "cli/console.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "host/host_info.h"
#include "cli/table.h"

struct range {
    uint32_t first, last;
};
static const struct range zero_wide[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0, 0},
};
static const struct range two_wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff},
    {0x20000, 0x3fffd}, {0, 0},
};

static bool is_in_ranges(const struct range *r, uint32_t c)
{
    for (; r->last; r++)
        if (c >= r->first && c <= r->last)
            return true;
    return false;
}

/* Lead bytes by length of the sequence: mask, value, and the least code point
 * of that length, so that each character has one encoding. */
static const struct {
    unsigned char mask, lead;
    unsigned len;
    uint32_t least;
} leads[] = {
    {0x80, 0x00, 1, 0x00},
    {0xe0, 0xc0, 2, 0x80},
    {0xf0, 0xe0, 3, 0x800},
    {0xf8, 0xf0, 4, 0x10000},
};
enum { N_LEADS = sizeof leads / sizeof leads[0], TAIL_BITS = 6 };

/* Decode one character; return its length, or 0 when it is not UTF-8. */
static unsigned decode_utf8(const char *text, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    for (unsigned i = 0; i < N_LEADS; i++) {
        if ((s[0] & leads[i].mask) != leads[i].lead)
            continue;
        uint32_t c = s[0] & (unsigned char)~leads[i].mask;
        for (unsigned j = 1; j < leads[i].len; j++) {
            if ((s[j] & 0xc0) != 0x80)
                return 0;
            c = c << TAIL_BITS | (s[j] & 0x3f);
        }
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        if (c < leads[i].least || c > 0x10ffff || surrogate)
            return 0;
        *code = c;
        return leads[i].len;
    }
    return 0;
}

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

void text_escape(struct xl__str *out, const char *text)
{
    while (*text) {
        uint32_t code = 0;
        unsigned len = decode_utf8(text, &code);
        if (len > 0 && !is_control(code)) {
            xl__str_add_n(out, text, len);
            text += len;
            continue;
        }
        for (len = len ? len : 1; len > 0; len--, text++)
            xl__str_printf(out, "\\x%02X", (unsigned)(unsigned char)*text);
    }
}

void text_escape_lines(struct xl__str *out, const char *text)
{
    struct xl__str line = {0};
    for (;;) {
        const size_t len = strcspn(text, "\n");
        xl__str_reset(&line);
        xl__str_add_n(&line, text, len);
        text_escape(out, xl__str_text(&line));
        text += len + (text[len] == '\n');
        if (!*text)
            break;
        xl__str_add(out, "\n");
    }
    out->broken = out->broken || line.broken;
    xl__str_clear(&line);
}

/* Columns of the character at `text`; *len receives its bytes. */
static size_t read_character(const char *text, unsigned *len)
{
    uint32_t code = 0;
    *len = decode_utf8(text, &code);
    if (*len == 0) {
        *len = 1;
        return 1;
    }
    if (is_in_ranges(zero_wide, code))
        return 0;
    return is_in_ranges(two_wide, code) ? 2 : 1;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    unsigned len = 0;
    for (; *text; text += len)
        columns += read_character(text, &len);
    return columns;
}

void text_cut(struct xl__str *out, const char *text, size_t columns)
{
    static const char dots[] = "..";
    if (text_columns(text) <= columns) {
        xl__str_add(out, text);
        return;
    }
    size_t n_dots = xl__min_size(columns, sizeof dots - 1);
    size_t left = columns - n_dots;
    unsigned len = 0;
    for (; *text; text += len) {
        size_t wide = read_character(text, &len);
        if (wide > left)
            break;
        left -= wide;
        xl__str_add_n(out, text, len);
    }
    xl__str_add_n(out, dots, n_dots);
    for (; left > 0; left--)
        xl__str_add(out, " ");
}

void text_line(FILE *to, const char *text)
{
    struct xl__str clean = {0}, cut = {0};
    text_escape(&clean, text);
    text_cut(&cut, xl__str_text(&clean), text_terminal_columns());
    fprintf(to, "%s\n", xl__str_text(&cut));
    xl__str_clear(&clean);
    xl__str_clear(&cut);
}

/* Print the words of one paragraph, up to `end`, filled. */
static void print_filled(FILE *to, const char *at, const char *end,
                         unsigned indent, unsigned width)
{
    size_t column = 0;
    while (at < end) {
        size_t print_gap = strspn(at, " \n");
        at += print_gap;
        size_t len = strcspn(at, " \n");
        if (at + len > end || len == 0)
            break;
        if (column > 0 && column + 1 + len > width) {
            fputc('\n', to);
            column = 0;
        }
        if (column == 0)
            column =
                (size_t)fprintf(to, "%*s%.*s", (int)indent, "", (int)len, at);
        else
            column += (size_t)fprintf(to, " %.*s", (int)len, at);
        at += len;
    }
    if (column > 0)
        fputc('\n', to);
}

/* The end of the paragraph, or of the unfilled line, that begins at `at`. */
static const char *paragraph_end(const char *at)
{
    const char *end = strchr(at, '\n');
    if (*at == '\n')
        return at;
    if (*at == ' ')
        return end ? end : at + strlen(at);
    while (end && end[1] != '\n' && end[1] != ' ' && end[1] != '\0')
        end = strchr(end + 1, '\n');
    return end ? end : at + strlen(at);
}

void text_wrap(FILE *to, const char *text, unsigned indent, unsigned width)
{
    const char *at = text;
    while (*at) {
        const char *end = paragraph_end(at);
        if (end == at)
            fputc('\n', to);
        else if (*at == ' ')
            fprintf(to, "%*s%.*s\n", (int)indent, "", (int)(end - at), at);
        else
            print_filled(to, at, end, indent, width);
        at = *end ? end + 1 : end;
    }
}

const char *text_nearest(const char *text, const char *const *names)
{
    const char *best = NULL;
    size_t least = strlen(text) / 2 + 1;
    for (; *names; names++) {
        bool begins = strncmp(*names, text, strlen(text)) == 0;
        size_t d = begins ? 1
                          : xl__edit_distance(text, strlen(text), *names,
                                              strlen(*names));
        if (**names && d < least) {
            least = d;
            best = *names;
        }
    }
    return best;
}

enum { DEFAULT_COLUMNS = 80, FEWEST = 20, MOST_COLUMNS = 1000 };

unsigned text_list_columns(void)
{
    return getenv("COLUMNS") || xl__terminal_columns(XL__STDOUT) > 0
               ? text_terminal_columns()
               : MOST_COLUMNS;
}

unsigned text_terminal_columns(void)
{
    const char *variable = getenv("COLUMNS");
    unsigned long columns = variable ? strtoul(variable, NULL, 10) : 0;
    if (columns == 0)
        columns = xl__terminal_columns(XL__STDOUT);
    if (columns == 0)
        columns = xl__terminal_columns(XL__STDERR);
    if (columns == 0)
        return DEFAULT_COLUMNS;
    if (columns < FEWEST)
        return FEWEST;
    return columns > MOST_COLUMNS ? MOST_COLUMNS : (unsigned)columns;
}

static bool is_variable_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool text_has_colour(void)
{
    if (is_variable_set("NO_COLOR"))
        return false;
    if (is_variable_set("CLICOLOR_FORCE") &&
        !xl__streq(getenv("CLICOLOR_FORCE"), "0"))
        return true;
    return xl__is_terminal(XL__STDOUT) && is_variable_set("TERM") &&
           !xl__streq(getenv("TERM"), "dumb");
}

enum { INDENT = 2 };

static void print_title(void *arg, const char *text)
{
    struct xl__str clean = {0}, cut = {0};
    (void)arg;
    text_escape(&clean, text);
    text_cut(&cut, xl__str_text(&clean), text_terminal_columns());
    fprintf(stdout, "%s\n", xl__str_text(&cut));
    xl__str_clear(&clean);
    xl__str_clear(&cut);
}

static void print_paragraph(void *arg, const char *text)
{
    struct xl__str clean = {0};
    (void)arg;
    text_escape_lines(&clean, text);
    text_wrap(stdout, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&clean);
}

static void print_table(void *arg, const struct table *t)
{
    const bool *colour = arg;
    table_print(stdout, t, text_terminal_columns(), *colour);
}

static void print_note(void *arg, size_t number, const char *text)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "[%zu] %s", number, text);
    print_paragraph(arg, xl__str_text(&line));
    xl__str_clear(&line);
}

static void print_gap(void *arg)
{
    (void)arg;
    fputc('\n', stdout);
    fflush(stdout);
}

struct display display_terminal(bool *colour)
{
    *colour = text_has_colour();
    return (struct display){colour,      text_terminal_columns(),
                            print_title, print_paragraph,
                            print_table, print_note,
                            print_gap};
}
