/* SPDX-License-Identifier: Apache-2.0 */
/* Lexer of the expression language. Letters, digits and numbers are defined
 * here and not by the locale or by strtod(), so a text means the same
 * everywhere. Numbers are collected digit by digit and then converted without
 * a decimal point (digits e exponent), which strtod() reads alike in every
 * locale. */
#include "expr/language/lexer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIGITS = 40, /* digits of a number that are kept; one more is
                         appended when the rest is not 0 */
    MOST_EXPONENT =
        200000, /* more than a text full of digits can compensate */
    QUOTED = 40
};

/* The least value that rounds to infinity: half a unit above the largest f32.
 */

/* Longest first, so that <= is not read as < and =. */
static const char *const signs[] = {
    "...", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+",
    "-",   "*",  "/",  "%",  "^",  "&",  "|",  "!",  "~",  "<",
    ">",   "=",  "(",  ")",  "[",  "]",  ",",  ":"};

/* Operators of other languages, and what to write instead. */
static const struct {
    const char *text, *instead;
} other_languages[] = {
    {"&&", "'and' is &"},
    {"||", "'or' is |"},
    {"+=", "write x = x + y"},
    {"-=", "write x = x - y"},
    {"*=", "write x = x * y"},
    {"/=", "write x = x / y"},
    {"?", "a choice is where(condition, x, y)"},
    {".", "a name has no parts: write where(...), not np.where(...)"},
    {"{", "there are only ( and ["},
    {"}", "there are only ) and ]"},
};

bool xl__is_sign(const struct xl__token *t, const char *sign)
{
    return t->kind == XL__TOK_SIGN && strlen(sign) == t->len &&
           memcmp(t->text, sign, t->len) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* -- numbers ---------------------------------------------------------- */

/* The significant digits of a number, without a point. */
struct digits {
    char digit[MOST_DIGITS + 1];
    unsigned n;
    bool is_cut;   /* a digit that was left out is not 0 */
    long exponent; /* power of ten */
};

static void add_digit(struct digits *d, char c, bool is_fraction)
{
    bool is_kept = d->n < MOST_DIGITS && (d->n > 0 || c != '0');
    if (is_kept)
        d->digit[d->n++] = c;
    else if (d->n > 0 && c != '0')
        d->is_cut = true;
    if (is_fraction)
        d->exponent--;
    if (!is_kept && d->n > 0)
        d->exponent++;
}

/* Read the digits before and after the point; returns how many bytes that is.
 */
static size_t read_digits(const char *text, struct digits *d, bool *is_float)
{
    size_t i = 0;
    for (; is_digit(text[i]); i++)
        add_digit(d, text[i], false);
    *is_float = text[i] == '.' && text[i + 1] != '.';
    if (!*is_float)
        return i;
    for (i++; is_digit(text[i]); i++)
        add_digit(d, text[i], true);
    return i;
}

/* Read e, a sign and digits; returns how many bytes, 0 when it is not an
 * exponent. */
static size_t read_exponent(const char *text, struct digits *d)
{
    size_t i = 1;
    long exponent = 0;
    if (text[0] != 'e' && text[0] != 'E')
        return 0;
    bool is_negative = text[1] == '-';
    if (text[1] == '-' || text[1] == '+')
        i++;
    if (!is_digit(text[i]))
        return 0;
    for (; is_digit(text[i]); i++)
        if (exponent < MOST_EXPONENT)
            exponent = exponent * 10 + (text[i] - '0');
    d->exponent += is_negative ? -exponent : exponent;
    return i;
}

/* The nearest double. */
static double convert_digits(const struct digits *d)
{
    char text[MOST_DIGITS + 32];
    if (d->n == 0)
        return 0;
    snprintf(text, sizeof text, "%.*s%se%ld", (int)d->n, d->digit,
             d->is_cut ? "1" : "", d->exponent - d->is_cut);
    return strtod(text, NULL);
}

static size_t count_name_bytes(const char *text)
{
    size_t n = 0;
    while (xl__is_letter(text[n]) || is_digit(text[n]))
        n++;
    return n;
}

static xl_status fail_number(const struct xl__lexer *l,
                             const struct xl__token *t)
{
    size_t len = 0;
    while (len < QUOTED && (xl__is_letter(t->text[len]) ||
                            is_digit(t->text[len]) || t->text[len] == '.'))
        len++;
    return xl__tree_error(
        l->tree, t->location, l->e, XL_BAD_ARGUMENT,
        "'%.*s' is not a number; numbers are written 2, 2.5 or "
        "1e-3, and products 2 * x",
        (int)len, t->text);
}

static xl_status lex_number(struct xl__lexer *l, struct xl__token *out)
{
    struct digits d = {{0}, 0, false, 0};
    bool is_float;
    size_t len = read_digits(out->text, &d, &is_float);
    size_t more = read_exponent(out->text + len, &d);
    len += more;
    if (count_name_bytes(out->text + len) > 0 ||
        (out->text[len] == '.' && is_float))
        return fail_number(l, out);
    out->kind = is_float || more > 0 ? XL__TOK_NUMBER : XL__TOK_INTEGER;
    out->value = convert_digits(&d);
    out->len = len;
    if (out->kind == XL__TOK_NUMBER && isinf(out->value))
        return xl__tree_error(l->tree, out->location, l->e, XL_BAD_ARGUMENT,
                              "the number is too large for f64, which ends at "
                              "1.8e308; infinity is inf");
    if (out->kind == XL__TOK_INTEGER && out->value >= XL__EXACT_INTEGERS)
        out->value = HUGE_VAL;
    return XL_OK;
}

/* -- other tokens ----------------------------------------------------- */

static xl_status fail_unknown_sign(const struct xl__lexer *l,
                                   unsigned location)
{
    const char *text = l->tree->text + location;
    for (size_t i = 0; i < sizeof other_languages / sizeof *other_languages;
         i++) {
        if (starts_with(text, other_languages[i].text))
            return xl__tree_error(l->tree, location, l->e, XL_BAD_ARGUMENT,
                                  "'%s' is not in the language; %s",
                                  other_languages[i].text,
                                  other_languages[i].instead);
    }
    if (*text > ' ' && *text <= '~')
        return xl__tree_error(l->tree, location, l->e, XL_BAD_ARGUMENT,
                              "'%c' is not in the language", *text);
    return xl__tree_error(l->tree, location, l->e, XL_BAD_ARGUMENT,
                          "byte 0x%02x is not in the language, which is plain "
                          "ASCII",
                          (unsigned)(unsigned char)*text);
}

static xl_status lex_sign(struct xl__lexer *l, struct xl__token *out)
{
    out->kind = XL__TOK_SIGN;
    for (size_t i = 0; i < sizeof signs / sizeof *signs && out->len == 0; i++)
        if (starts_with(out->text, signs[i]))
            out->len = strlen(signs[i]);
    for (size_t i = 0; i < sizeof other_languages / sizeof *other_languages;
         i++)
        if (starts_with(out->text, other_languages[i].text) &&
            strlen(other_languages[i].text) > out->len)
            out->len = 0; /* "+=" is not "+" */
    if (out->len == 0)
        return fail_unknown_sign(l, out->location);
    if (*out->text == '(' || *out->text == '[')
        l->open++;
    else if ((*out->text == ')' || *out->text == ']') && l->open > 0)
        l->open--;
    return XL_OK;
}

/* Skip blanks, comments, and newlines inside parentheses. */
static void skip_blanks(struct xl__lexer *l)
{
    const char *text = l->tree->text;
    for (;;) {
        char c = text[l->at];
        if (c == '#')
            l->at += (unsigned)strcspn(text + l->at, "\n");
        else if (c == ' ' || c == '\t' || c == '\r' ||
                 (c == '\n' && l->open > 0))
            l->at++;
        else
            return;
    }
}

xl_status xl__lex(struct xl__lexer *l, struct xl__token *out)
{
    xl_status status = XL_OK;
    skip_blanks(l);
    const char *text = l->tree->text + l->at;
    *out = (struct xl__token){.text = text, .location = l->at};
    if (*text == 0) {
        out->kind = XL__TOK_END;
    } else if (*text == ';' || *text == '\n') {
        out->kind = XL__TOK_BREAK;
        out->len = 1;
    } else if (xl__is_letter(*text)) {
        out->kind = XL__TOK_NAME;
        out->len = count_name_bytes(text);
    } else if (is_digit(*text) || (*text == '.' && is_digit(text[1]))) {
        status = lex_number(l, out);
    } else {
        status = lex_sign(l, out);
    }
    l->at += (unsigned)out->len;
    return status;
}
