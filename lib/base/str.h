/* SPDX-License-Identifier: Apache-2.0 */
/* A growable string. All zero is the empty string. When memory runs out,
 * `broken` is set and later appends have no effect, so it is enough to check
 * `broken` once, at the end. */
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
    char *text; /* ended by a 0 byte; NULL until the first append */
    size_t len, cap;
    bool broken; /* memory ran out */
};

void xl__str_clear(struct xl__str *s); /* empty; frees the memory */
void xl__str_reset(struct xl__str *s); /* empty; keeps the memory */
void xl__str_add(struct xl__str *s, const char *text);
void xl__str_add_n(struct xl__str *s, const char *text, size_t len);
void xl__str_printf(struct xl__str *s, const char *fmt, ...) XL__PRINTF(2, 3);
void xl__str_vprintf(struct xl__str *s, const char *fmt, va_list args);
const char *xl__str_text(const struct xl__str *s); /* never NULL */
/* The text, to be passed to free(), NULL if broken; the string is empty. */
char *xl__str_steal(struct xl__str *s);

/* strcmp() == 0, either may be NULL. */
bool xl__streq(const char *a, const char *b);
/* Does `text` contain `sub`, ignoring the case of ASCII letters? */
bool xl__str_contains(const char *text, const char *sub);
/* A heap copy; NULL when out of memory or text is NULL. */
char *xl__strdup(const char *text);
/* Copy a text, or format it, into an array. A text that does not fit is cut,
 * ends with "..." and gives false, so that people see the cut, and programs
 * that read it test for it. Always ended by a 0 byte. */
bool xl__strcpy(char *dst, size_t cap, const char *src);
bool xl__strfmt(char *dst, size_t cap, const char *fmt, ...) XL__PRINTF(3, 4);

enum { XL__EDIT_DISTANCE_LETTERS = 63 }; /* of the longest word compared */

/* The least number of letters to change, insert or remove to get from `a` (n_a
 * bytes) to `b` (n_b bytes), for "did you mean" messages; SIZE_MAX when either
 * is longer than XL__EDIT_DISTANCE_LETTERS. */
size_t xl__edit_distance(const char *a, size_t n_a, const char *b, size_t n_b);

#endif
