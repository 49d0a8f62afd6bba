/* SPDX-License-Identifier: Apache-2.0 */
/* The lists that say what names stand for, read item by item; nothing is
 * guessed or rounded, and what is wrong is told with the item. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cases/expr_spec.h"

/* What is being read, for messages; `at` moves on. */
struct item {
    const char *begin, *at, *end;
    const char *form; /* "NAME=SHAPE[:TYPE]" */
    char *why;
};

static bool wrong(const struct item *r, const char *fmt, ...) XL__PRINTF(2, 3);

static bool wrong(const struct item *r, const char *fmt, ...)
{
    char what[120];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    snprintf(r->why, EXPR_WHY_CAP, "'%.*s': %s; give %s",
             (int)xl__min_size((size_t)(r->end - r->begin), 60), r->begin,
             what, r->form);
    return false;
}

static bool is_word(char c, bool first)
{
    return c == '_' || (first ? isalpha((unsigned char)c)
                              : isalnum((unsigned char)c));
}

/* The name and its '='. */
static bool read_name(struct item *r, struct expr_spec *s,
                      struct expr_name **out)
{
    const char *name = r->at;
    while (r->at < r->end && is_word(*r->at, r->at == name))
        r->at++;
    size_t len = (size_t)(r->at - name);
    if (len == 0)
        return wrong(r, "a name is missing");
    if (r->at == r->end || *r->at != '=')
        return wrong(r, "no '=' behind the name");
    r->at++;
    if (len > XL_EXPR_MAX_NAME)
        return wrong(r, "a name has at most %d characters", XL_EXPR_MAX_NAME);
    *out = expr_need(s, name, len);
    return *out ? true
                : wrong(r, "more than %d names", XL_EXPR_MAX_BINDINGS);
}

/* The next word up to ':'; empty at the end. */
static bool next_word(struct item *r, const char **word, size_t *len)
{
    if (r->at == r->end)
        return false;
    *word = r->at;
    while (r->at < r->end && *r->at != ':')
        r->at++;
    *len = (size_t)(r->at - *word);
    r->at += r->at < r->end;
    return true;
}

static bool read_dtype(struct expr_name *n, const char *word, size_t len)
{
    for (int d = 0; d < XL_N_DTYPES; d++) {
        const char *name = xl_dtype_name((xl_dtype)d);
        if (strlen(name) != len || memcmp(name, word, len) != 0)
            continue;
        n->has_dtype = true;
        n->dtype = (xl_dtype)d;
        return true;
    }
    return false;
}

/* A whole number: "4096", or "1e8" when it is one. */
static bool read_whole(const char **at, const char *end, size_t *out)
{
    static const size_t base = 10;
    const char *p = *at;
    size_t value = 0, power = 0;
    if (p == end || !isdigit((unsigned char)*p))
        return false;
    for (; p < end && isdigit((unsigned char)*p); p++)
        if (!xl__mul(value, base, &value) ||
            !xl__add(value, (size_t)(*p - '0'), &value))
            return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *digits = ++p;
        for (; p < end && isdigit((unsigned char)*p) && power < 64; p++)
            power = power * base + (size_t)(*p - '0');
        if (p == digits)
            return false;
        for (; power > 0 && value > 0; power--)
            if (!xl__mul(value, base, &value))
                return false;
    }
    *at = p;
    *out = value;
    return true;
}

/* "padN" or "offN". */
static bool read_count(const char *word, size_t len, const char *what,
                       size_t *out)
{
    size_t n = strlen(what);
    const char *at = word + n;
    if (len <= n || memcmp(word, what, n) != 0)
        return false;
    return read_whole(&at, word + len, out) && at == word + len;
}

static bool read_sizes(struct item *r, struct expr_name *n, const char *word,
                       size_t len)
{
    const char *at = word, *end = word + len;
    n->n_dims = 0;
    do {
        if (n->n_dims == XL_MAX_DIMS)
            return wrong(r, "more than %d dimensions", XL_MAX_DIMS);
        if (!read_whole(&at, end, &n->size[n->n_dims]))
            return wrong(r, "a size is a whole number, 4096 or 1e8, that fits "
                            "in 64 bits");
        if (n->size[n->n_dims++] == 0)
            return wrong(r, "a size is 0");
    } while (at < end && (*at == 'x' || *at == 'X') && at++);
    return at == end ? true : wrong(r, "sizes are parted by x");
}

static bool read_shape(struct item *r, struct expr_spec *s)
{
    struct expr_name *n = NULL;
    const char *word = r->end;
    size_t len = 0;
    if (!read_name(r, s, &n))
        return false;
    next_word(r, &word, &len);
    if (n->has_shape)
        return wrong(r, "'%s' has a shape already", n->name);
    if (!read_sizes(r, n, word, len))
        return false;
    n->has_shape = true;
    while (next_word(r, &word, &len)) {
        if (len == 1 && *word == 't')
            n->is_transposed = true;
        else if (!read_dtype(n, word, len) &&
                 !read_count(word, len, "pad", &n->pad) &&
                 !read_count(word, len, "off", &n->off))
            return wrong(r, "'%.*s' is no type and no layout",
                         (int)xl__min_size(len, 20), word);
    }
    if (n->is_transposed && n->n_dims < 2)
        return wrong(r, "t wants two dimensions");
    return true;
}

/* A number of the whole word, as strtod() takes it. */
static bool read_real(const char *word, size_t len, double *out)
{
    char copy[64], *end = NULL;
    if (len == 0 || len >= sizeof copy || isspace((unsigned char)*word))
        return false;
    memcpy(copy, word, len);
    copy[len] = '\0';
    *out = strtod(copy, &end);
    return end == copy + len;
}

static bool read_scalar(struct item *r, struct expr_spec *s)
{
    struct expr_name *n = NULL;
    const char *word = r->end;
    size_t len = 0;
    if (!read_name(r, s, &n))
        return false;
    next_word(r, &word, &len);
    if (n->has_shape || n->is_scalar)
        return wrong(r, "'%s' was given before", n->name);
    if (!read_real(word, len, &n->scalar))
        return wrong(r, "the value is not a number");
    n->is_scalar = true;
    n->dtype = XL_F32;
    if (next_word(r, &word, &len) &&
        (!read_dtype(n, word, len) ||
         (n->dtype != XL_F32 && n->dtype != XL_I32)))
        return wrong(r, "a scalar is f32 or i32");
    return true;
}

static bool read_range(struct item *r, struct expr_spec *s)
{
    struct expr_name *n = NULL;
    const char *lo = r->end, *hi = r->end;
    size_t len = 0;
    if (!read_name(r, s, &n))
        return false;
    next_word(r, &lo, &len);
    if (len == strlen("index") && memcmp(lo, "index", len) == 0) {
        n->fill = FILL_INDEX;
        return r->at == r->end ? true : wrong(r, "nothing follows 'index'");
    }
    n->fill = FILL_RANGE;
    if (!read_real(lo, len, &n->lo) || !next_word(r, &hi, &len) ||
        !read_real(hi, len, &n->hi) || r->at != r->end)
        return wrong(r, "two numbers parted by ':' are wanted");
    if (!(n->lo <= n->hi) || !isfinite(n->lo) || !isfinite(n->hi))
        return wrong(r, "the lower end comes first, and both are finite");
    return true;
}

static bool read_list(struct expr_spec *s, const char *list, char *why,
                      const char *form,
                      bool (*read)(struct item *r, struct expr_spec *s))
{
    while (list && *list) {
        size_t len = strcspn(list, ",");
        struct item r = {list, list, list + len, form, why};
        if (!read(&r, s))
            return false;
        list += len;
        list += *list == ',';
    }
    return true;
}

bool expr_read_shapes(struct expr_spec *s, const char *list, char *why)
{
    return read_list(s, list, why, "NAME=SHAPE[:TYPE], such as x=4096x1e4:f16",
                     read_shape);
}

bool expr_read_scalars(struct expr_spec *s, const char *list, char *why)
{
    return read_list(s, list, why, "NAME=VALUE[:i32], such as eps=1e-5",
                     read_scalar);
}

bool expr_read_ranges(struct expr_spec *s, const char *list, char *why)
{
    return read_list(s, list, why, "NAME=LO:HI, such as x=-10:10", read_range);
}
