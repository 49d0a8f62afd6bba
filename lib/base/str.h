/* SPDX-License-Identifier: Apache-2.0 */
/* A growable string. All zero is the empty string; running out of memory sets
 * `broken` and every later append does nothing, so one check at the end is
 * enough. */
#ifndef XL_BASE_STR_H
#define XL_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define XL__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define XL__PRINTF(fmt, args)
#endif

struct xl__str {
    char *text;   /* NULL until something was appended */
    size_t len, cap;
    bool broken;  /* out of memory at some point */
};

void xl__str_clear(struct xl__str *s); /* frees; empty again */
void xl__str_reset(struct xl__str *s); /* empty again, keeps the memory */
void xl__str_add(struct xl__str *s, const char *text);
void xl__str_add_n(struct xl__str *s, const char *text, size_t len);
void xl__str_printf(struct xl__str *s, const char *fmt, ...) XL__PRINTF(2, 3);
void xl__str_vprintf(struct xl__str *s, const char *fmt, va_list args);
const char *xl__str_text(const struct xl__str *s); /* never NULL */
char *xl__str_steal(struct xl__str *s); /* free() it; NULL if broken */

/* strcmp() == 0, either may be NULL. */
bool xl__streq(const char *a, const char *b);
/* Is `part` in `text`, upper and lower case being one? */
bool xl__str_contains(const char *text, const char *part);
/* A heap copy; NULL when out of memory or text is NULL. */
char *xl__strdup(const char *text);
/* Copy what fits, always ended by 0. */
void xl__strcpy(char *dst, size_t cap, const char *src);

#endif
