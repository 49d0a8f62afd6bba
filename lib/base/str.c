/* SPDX-License-Identifier: Apache-2.0 */
/* The growable string: room is doubled, and the text always ends with a 0
 * byte. Numbers are written in the C locale whatever the application set, so
 * that 0.5 never becomes "0,5" inside a kernel's options or a key. */
#include "base/str.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "base/alloc.h"

/* Room for `more` bytes and the 0 byte; false if broken. */
static bool reserve(struct xl__str *s, size_t more)
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
    if (!reserve(s, len))
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
static int format(char *dst, size_t cap, const char *fmt, va_list args)
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
static int format(char *dst, size_t cap, const char *fmt, va_list args)
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

void xl__str_vprintf(struct xl__str *s, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = format(NULL, 0, fmt, args);
    if (len < 0)
        s->broken = true;
    else if (reserve(s, (size_t)len)) {
        format(s->text + s->len, (size_t)len + 1, fmt, again);
        s->len += (size_t)len;
    }
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

/* tolower() would ask the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool starts_with(const char *text, const char *part)
{
    while (*part != 0 && lower(*text) == lower(*part))
        text++, part++;
    return *part == 0;
}

bool xl__str_contains(const char *text, const char *part)
{
    if (text == NULL || part == NULL)
        return false;
    while (*text != 0 && !starts_with(text, part))
        text++;
    return starts_with(text, part);
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

void xl__strcpy(char *dst, size_t cap, const char *src)
{
    if (cap == 0)
        return;
    size_t len = xl__min_size(strlen(src), cap - 1);
    memcpy(dst, src, len);
    dst[len] = 0;
}
