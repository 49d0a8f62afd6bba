/* SPDX-License-Identifier: Apache-2.0 */
/* The growable string. Its capacity doubles when it is exceeded. Numbers are
 * formatted in the C locale, whatever locale the application has set, so that
 * 0.5 does not become "0,5" in the options of a kernel or in a key. */
#include "base/str.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "base/alloc.h"

/* Ensures room for `more` bytes and the 0 byte; false if broken. */
static bool reserve_bytes(struct xl__str *s, size_t more)
{
    size_t need;
    s->broken = s->broken || !xl__add(s->len, more, &need) ||
                !xl__add(need, 1, &need) ||
                !xl__grow(&s->text, &s->cap, need, 1);
    return !s->broken;
}

void xl__str_clear(struct xl__str *s)
{
    free(s->text);
    *s = (struct xl__str){0};
}

void xl__str_reset(struct xl__str *s)
{
    s->len = 0;
    s->broken = false;
    if (s->text != NULL)
        s->text[0] = 0;
}

void xl__str_add_n(struct xl__str *s, const char *text, size_t len)
{
    if (!reserve_bytes(s, len))
        return;
    if (len > 0)
        memcpy(s->text + s->len, text, len);
    s->len += len;
    s->text[s->len] = 0;
}

void xl__str_add(struct xl__str *s, const char *text)
{
    xl__str_add_n(s, text, strlen(text));
}

/* vsnprintf() in the C locale. */
#ifdef _WIN32
static int format_c_locale(char *dst, size_t cap, const char *fmt,
                           va_list args)
{
    _locale_t c = _create_locale(LC_ALL, "C");
    va_list again;
    va_copy(again, args);
    int len = _vscprintf_l(fmt, c, args);
    if (len >= 0 && cap > 0)
        _vsnprintf_l(dst, cap, fmt, c, again);
    va_end(again);
    _free_locale(c);
    return len;
}
#else
static int format_c_locale(char *dst, size_t cap, const char *fmt,
                           va_list args)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return -1;
    locale_t before = uselocale(c);
    int len = vsnprintf(dst, cap, fmt, args);
    uselocale(before);
    freelocale(c);
    return len;
}
#endif

/* Most texts fit in the room there is, and are formatted once. */
void xl__str_vprintf(struct xl__str *s, const char *fmt, va_list args)
{
    enum { LIKELY = 64 };
    va_list again;
    if (!reserve_bytes(s, s->cap > s->len + 1 ? 0 : LIKELY))
        return;
    const size_t room = s->cap - s->len;
    va_copy(again, args);
    const int len = format_c_locale(s->text + s->len, room, fmt, args);
    s->broken = len < 0;
    if (len >= 0 && (size_t)len >= room && reserve_bytes(s, (size_t)len))
        format_c_locale(s->text + s->len, (size_t)len + 1, fmt, again);
    if (!s->broken)
        s->len += (size_t)len;
    s->text[s->len] = 0;
    va_end(again);
}

void xl__str_printf(struct xl__str *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(s, fmt, args);
    va_end(args);
}

const char *xl__str_text(const struct xl__str *s)
{
    return s->text != NULL ? s->text : "";
}

char *xl__str_steal(struct xl__str *s)
{
    xl__str_add_n(s, "", 0); /* an empty string has text too */
    char *text = s->text;
    if (s->broken) {
        free(text);
        text = NULL;
    }
    *s = (struct xl__str){0};
    return text;
}

bool xl__streq(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* tolower() depends on the locale. */
static char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool starts_with(const char *text, const char *sub)
{
    while (*sub != 0 && lower_case(*text) == lower_case(*sub))
        text++, sub++;
    return *sub == 0;
}

bool xl__str_contains(const char *text, const char *sub)
{
    if (text == NULL || sub == NULL)
        return false;
    while (*text != 0 && !starts_with(text, sub))
        text++;
    return starts_with(text, sub);
}

char *xl__strdup(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

bool xl__strcpy(char *dst, size_t cap, const char *src)
{
    static const char mark[] = "...";
    const size_t len = strlen(src), shown = xl__min_size(len, cap - (cap > 0));
    memcpy(dst, src, shown);
    if (cap > 0)
        dst[shown] = 0;
    if (len >= cap && cap >= sizeof mark)
        memcpy(dst + cap - sizeof mark, mark, sizeof mark);
    return len < cap;
}

bool xl__strfmt(char *dst, size_t cap, const char *fmt, ...)
{
    struct xl__str text = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&text, fmt, args);
    va_end(args);
    const bool fits =
        xl__strcpy(dst, cap, xl__str_text(&text)) && !text.broken;
    xl__str_clear(&text);
    return fits;
}

/* By dynamic programming over prefixes. With d[i][j] the distance between the
 * first i letters of a and the first j of b,
 *
 *   d[i][j] = min(d[i-1][j-1] + (a[i] != b[j]), d[i-1][j] + 1, d[i][j-1] + 1)
 *
 * One row of d is kept; `diagonal` is d[i-1][j-1], which the row has already
 * overwritten. Source: Wagner and Fischer, "The String-to-String Correction
 * Problem", JACM 21(1), 1974. */
size_t xl__edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t row[XL__EDIT_DISTANCE_LETTERS + 1];
    if (n_a > XL__EDIT_DISTANCE_LETTERS || n_b > XL__EDIT_DISTANCE_LETTERS)
        return SIZE_MAX;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] =
                xl__min_size(change, xl__min_size(row[j], row[j - 1]) + 1);
        }
    }
    return row[n_b];
}
