/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates formulas by recursive descent, without a tree: each function reads
 * one rule of the grammar in formula.h and returns its value. The first
 * mistake ends the evaluation; later rules then return 0. */
#include "kernel/formula.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

enum { MOST_DEPTH = 64, MOST_ARGUMENTS = 2 };

struct reader {
    const char *text, *at;
    const struct bindings *names;
    struct xl__str *why;
    bool failed;
    unsigned depth;
};

static int64_t read_sum(struct reader *r);

/* -- messages ------------------------------------------------------------- */

static int64_t fail_at(struct reader *r, const char *at, const char *fmt, ...)
    XL__PRINTF(3, 4);

static int64_t fail_at(struct reader *r, const char *at, const char *fmt, ...)
{
    va_list args;
    if (r->failed)
        return 0;
    r->failed = true;
    xl__str_printf(r->why, "'%s', column %d: ", r->text,
                   (int)(at - r->text) + 1);
    va_start(args, fmt);
    xl__str_vprintf(r->why, fmt, args);
    va_end(args);
    return 0;
}

static int64_t fail_overflow(struct reader *r, const char *at)
{
    return fail_at(r, at, "the value does not fit in 64 bits");
}

/* "; must be one of N, TILE" */
static int64_t fail_name(struct reader *r, const char *at, size_t len)
{
    struct xl__str list = {0};
    for (unsigned i = 0; i < r->names->n; i++)
        xl__str_printf(&list, "%s%s", i ? ", " : "", r->names->at[i].name);
    if (list.len > 0)
        fail_at(r, at, "unknown name '%.*s'; the names are %s", (int)len, at,
                xl__str_text(&list));
    else
        fail_at(r, at, "unknown name '%.*s'; give its value with --size or -D",
                (int)len, at);
    xl__str_clear(&list);
    return 0;
}

/* -- exact arithmetic ----------------------------------------------------- */

static bool add(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *out = a + b;
    return true;
}

/* INT64_MIN is refused as a factor, so that each value has its opposite. */
static bool multiply(int64_t a, int64_t b, int64_t *out)
{
    const int64_t size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;
    if (a == INT64_MIN || b == INT64_MIN ||
        (size_a != 0 && size_b > INT64_MAX / size_a))
        return false;
    *out = a * b;
    return true;
}

static bool raise(int64_t base, int64_t power, int64_t *out)
{
    *out = 1;
    if (base >= -1 && base <= 1) { /* they would take power steps */
        *out = power % 2 ? base : power > 0 ? base * base : 1;
        return true;
    }
    for (int64_t i = 0; i < power; i++)
        if (!multiply(*out, base, out))
            return false;
    return true;
}

/* -- functions ------------------------------------------------------------ */

static int64_t divide(struct reader *r, const char *at, char op, int64_t a,
                      int64_t b)
{
    if (b == 0)
        return fail_at(r, at, "division by 0");
    if (a == INT64_MIN && b == -1)
        return fail_overflow(r, at);
    return op == '/' ? a / b : a % b;
}

static int64_t call_min(struct reader *r, const char *at, const int64_t *x)
{
    (void)r;
    (void)at;
    return x[0] < x[1] ? x[0] : x[1];
}

static int64_t call_max(struct reader *r, const char *at, const int64_t *x)
{
    (void)r;
    (void)at;
    return x[0] > x[1] ? x[0] : x[1];
}

static int64_t call_ceil_div(struct reader *r, const char *at,
                             const int64_t *x)
{
    if (x[0] < 0 || x[1] < 0)
        return fail_at(r, at, "an argument is negative");
    const int64_t down = divide(r, at, '/', x[0], x[1]);
    return r->failed ? 0 : down + (x[0] % x[1] > 0);
}

static int64_t call_round_up(struct reader *r, const char *at,
                             const int64_t *x)
{
    int64_t out = 0;
    const int64_t n = call_ceil_div(r, at, x);
    if (!r->failed && !multiply(n, x[1], &out))
        return fail_overflow(r, at);
    return out;
}

static int64_t call_log2(struct reader *r, const char *at, const int64_t *x)
{
    if (x[0] <= 0)
        return fail_at(r, at, "log2 of %" PRId64 "; must be 1 or more", x[0]);
    return (int64_t)xl__floor_log2((uint64_t)x[0]);
}

static const struct function {
    const char *name;
    unsigned n; /* arguments */
    int64_t (*call)(struct reader *r, const char *at, const int64_t *x);
} functions[] = {{"min", 2, call_min},
                 {"max", 2, call_max},
                 {"ceil_div", 2, call_ceil_div},
                 {"round_up", 2, call_round_up},
                 {"log2", 1, call_log2}};

/* -- the grammar ---------------------------------------------------------- */

static void skip_blanks(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* Read `c` if it is next. */
static bool take_char(struct reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c || c == '\0')
        return false;
    r->at++;
    return true;
}

static int64_t read_call(struct reader *r, const char *at, size_t len)
{
    int64_t x[MOST_ARGUMENTS] = {0};
    const struct function *f = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == len &&
            memcmp(functions[i].name, at, len) == 0)
            f = &functions[i];
    if (!f)
        return fail_at(r, at,
                       "unknown function '%.*s'; must be min, max, ceil_div, "
                       "round_up or log2",
                       (int)len, at);
    for (unsigned i = 0; i < f->n; i++) {
        if (i > 0 && !take_char(r, ','))
            return fail_at(r, at, "%s takes %u arguments", f->name, f->n);
        x[i] = read_sum(r);
    }
    if (!take_char(r, ')'))
        return fail_at(r, r->at, "')' expected after the argument%s of %s",
                       f->n > 1 ? "s" : "", f->name);
    return r->failed ? 0 : f->call(r, at, x);
}

static int64_t read_name(struct reader *r)
{
    const char *at = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    const size_t len = (size_t)(r->at - at);
    if (take_char(r, '('))
        return read_call(r, at, len);
    for (unsigned i = 0; i < r->names->n; i++) {
        const struct binding *b = &r->names->at[i];
        if (strlen(b->name) != len || memcmp(b->name, at, len) != 0)
            continue;
        if (!b->is_number)
            return fail_at(r, at, "%s is '%s', not a whole number", b->name,
                           b->text);
        return b->value;
    }
    return fail_name(r, at, len);
}

static int64_t read_number(struct reader *r)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = r->at;
    const bool is_hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    const int64_t base = is_hex ? 16 : 10;
    int64_t value = 0, power = 1;
    r->at += is_hex ? 2 : 0;
    while (isxdigit((unsigned char)*r->at)) {
        const char *digit = strchr(digits, tolower((unsigned char)*r->at));
        if (!is_hex && !isdigit((unsigned char)*r->at))
            break;
        if (!multiply(value, base, &value) ||
            !add(value, digit - digits, &value))
            return fail_overflow(r, at);
        r->at++;
    }
    if (!is_hex && (*r->at == 'e' || *r->at == 'E') &&
        isdigit((unsigned char)r->at[1])) {
        int64_t exponent = 0;
        for (r->at++; isdigit((unsigned char)*r->at); r->at++)
            exponent = exponent < 99 ? 10 * exponent + (*r->at - '0') : 99;
        if (!raise(base, exponent, &power) || !multiply(value, power, &value))
            return fail_overflow(r, at);
    }
    if (*r->at == '.' || isalnum((unsigned char)*r->at))
        return fail_at(r, at, "not a whole number; 1.5*N is 3*N/2");
    return value;
}

static int64_t read_value(struct reader *r)
{
    int64_t value = 0;
    skip_blanks(r);
    if (isdigit((unsigned char)*r->at))
        return read_number(r);
    if (isalpha((unsigned char)*r->at) || *r->at == '_')
        return read_name(r);
    if (!take_char(r, '('))
        return fail_at(r, r->at,
                       *r->at ? "a number, a name or '(' expected"
                              : "a number or a name is missing");
    value = read_sum(r);
    if (!take_char(r, ')'))
        return fail_at(r, r->at, "')' expected");
    return value;
}

static int64_t read_sign(struct reader *r)
{
    int64_t value, power;
    if (take_char(r, '-')) {
        const char *at = r->at;
        if (++r->depth > MOST_DEPTH)
            return fail_at(r, at, "too deeply nested");
        value = read_sign(r);
        r->depth--;
        return multiply(value, -1, &value) ? value : fail_overflow(r, at);
    }
    value = read_value(r);
    const char *at = r->at;
    if (r->failed || !take_char(r, '^'))
        return value;
    if (++r->depth > MOST_DEPTH)
        return fail_at(r, at, "too deeply nested");
    power = read_sign(r);
    r->depth--;
    if (!r->failed && power < 0)
        return fail_at(r, at, "a negative power");
    return raise(value, power, &value) ? value : fail_overflow(r, at);
}

static int64_t read_product(struct reader *r)
{
    int64_t value = read_sign(r);
    while (!r->failed) {
        const char *at = (skip_blanks(r), r->at);
        const char op = take_char(r, '*')   ? '*'
                        : take_char(r, '/') ? '/'
                        : take_char(r, '%') ? '%'
                                            : '\0';
        if (!op)
            break;
        const int64_t by = read_sign(r);
        if (r->failed)
            break;
        if (op != '*')
            value = divide(r, at, op, value, by);
        else if (!multiply(value, by, &value))
            return fail_overflow(r, at);
    }
    return value;
}

static int64_t read_sum(struct reader *r)
{
    if (++r->depth > MOST_DEPTH)
        return fail_at(r, r->at, "too deeply nested");
    int64_t value = read_product(r);
    while (!r->failed) {
        const char *at = (skip_blanks(r), r->at);
        const bool is_minus = take_char(r, '-');
        if (!is_minus && !take_char(r, '+'))
            break;
        const int64_t by = read_product(r);
        if (!r->failed &&
            !(by != INT64_MIN && add(value, is_minus ? -by : by, &value)))
            return fail_overflow(r, at);
    }
    r->depth--;
    return value;
}

bool formula_value(const char *text, const struct bindings *names,
                   int64_t *out, struct xl__str *why)
{
    struct reader r = {.text = text, .at = text, .names = names, .why = why};
    *out = read_sum(&r);
    skip_blanks(&r);
    if (!r.failed && *r.at)
        fail_at(&r, r.at, "unexpected '%.8s'", r.at);
    return !r.failed;
}

bool formula_refuse(struct xl__str *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(why, fmt, args);
    va_end(args);
    return false;
}

bool formula_is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return len > 0 && !isdigit((unsigned char)*text);
}

size_t formula_item(const char *list)
{
    size_t len = 0;
    for (int depth = 0; list[len] && (list[len] != ',' || depth > 0); len++)
        depth += (list[len] == '(') - (list[len] == ')');
    return len;
}
