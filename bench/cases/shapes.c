/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of shapes: positive integers separated by x. Values are exact,
 * and the size in bytes of each matrix must fit in 64 bits. */
#include "cases/shapes.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"

struct reader {
    const char *text; /* all of it, for messages */
    const char *form; /* "MxNxK or N" */
    char *why;
    size_t cap;
};

static bool report_shape(const struct reader *r, const char *what)
{
    snprintf(r->why, r->cap, "invalid shape '%s': %s; must be %s", r->text,
             what, r->form);
    return false;
}

/* Read a number at *at, and move *at after it. */
static bool read_number(const struct reader *r, const char **at, size_t *out)
{
    static const size_t base = 10;
    if (!isdigit((unsigned char)**at))
        return report_shape(r,
                            **at ? "not an integer" : "a number is missing");
    size_t value = 0;
    for (; isdigit((unsigned char)**at); (*at)++) {
        size_t digit = (size_t)(**at - '0');
        if (!xl__mul(value, base, &value) || !xl__add(value, digit, &value))
            return report_shape(r, "a size does not fit in 64 bits");
    }
    if (value == 0)
        return report_shape(r, "a size is 0");
    *out = value;
    return true;
}

/* Does each matrix, of the widest type, fit in 64 bits? */
static bool fits(const struct reader *r, const size_t *dim, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        size_t elems = 0, bytes = 0;
        if (!xl__mul(dim[i], dim[(i + 1) % n], &elems) ||
            !xl__mul(elems, sizeof(double), &bytes))
            return report_shape(r, "the matrix does not fit in 64 bits");
    }
    return true;
}

static bool read_shape(const struct reader *r, size_t *dim, unsigned n)
{
    const char *at = r->text;
    if (!read_number(r, &at, &dim[0]))
        return false;
    if (*at == '\0') {
        for (unsigned i = 1; i < n; i++)
            dim[i] = dim[0];
        return fits(r, dim, n);
    }
    for (unsigned i = 1; i < n; i++) {
        if (*at == '\0')
            return report_shape(r, "too few sizes");
        if (*at != 'x' && *at != 'X')
            return report_shape(r, "sizes must be integers separated by x");
        at++;
        if (!read_number(r, &at, &dim[i]))
            return false;
    }
    if (*at == 'x' || *at == 'X')
        return report_shape(r, "too many sizes");
    if (*at != '\0')
        return report_shape(r, "sizes must be integers separated by x");
    return fits(r, dim, n);
}

bool shape_gemm(const char *text, size_t mnk[3], char *why, size_t cap)
{
    struct reader r = {text, "MxNxK, or N for a cube", why, cap};
    return read_shape(&r, mnk, 3);
}

bool shape_rows(const char *text, size_t rows_cols[2], char *why, size_t cap)
{
    struct reader r = {text, "ROWSxCOLS, or N for a square", why, cap};
    return read_shape(&r, rows_cols, 2);
}

bool shape_sizes(const char *text, const char *form, size_t *dim, unsigned n,
                 char *why, size_t cap)
{
    struct reader r = {text, form, why, cap};
    return read_shape(&r, dim, n);
}
