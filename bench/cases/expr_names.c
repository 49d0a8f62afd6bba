/* SPDX-License-Identifier: Apache-2.0 */
/* The names of an expression: their layout in memory and their data, the lists
 * that describe them, and the scan of a text for names. */
#include "cases/expr_names.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "cases/host_ops.h"
#include "cli/options.h"

/* -- names ---------------------------------------------------------------- */

struct expr_name *expr_find(struct expr_spec *s, const char *name, size_t len)
{
    for (unsigned i = 0; i < s->n; i++)
        if (strlen(s->name[i].name) == len &&
            memcmp(s->name[i].name, name, len) == 0)
            return &s->name[i];
    return NULL;
}

struct expr_name *expr_need(struct expr_spec *s, const char *name, size_t len)
{
    struct expr_name *n = expr_find(s, name, len);
    if (n || s->n == XL_EXPR_MAX_BINDINGS || len == 0 ||
        len > XL_EXPR_MAX_NAME)
        return n;
    n = &s->name[s->n++];
    memset(n, 0, sizeof *n);
    memcpy(n->name, name, len);
    return n;
}

/* -- layout --------------------------------------------------------------- */

/* Sizes in the order in which they are stored. */
static void stored_sizes(const struct expr_name *n, size_t *size)
{
    unsigned d = n->n_dims;
    memcpy(size, n->size, sizeof n->size);
    if (n->is_transposed) {
        size[d - 1] = n->size[d - 2];
        size[d - 2] = n->size[d - 1];
    }
}

void expr_stored(const struct expr_name *n, size_t *rows, size_t *cols)
{
    size_t size[XL_MAX_DIMS];
    stored_sizes(n, size);
    *rows = 1;
    *cols = n->n_dims ? size[n->n_dims - 1] : 1;
    for (unsigned d = 0; d + 1 < n->n_dims; d++)
        *rows *= size[d];
}

/* Compute the strides of one name; false when they overflow. */
static bool compute_strides(struct expr_name *n)
{
    size_t size[XL_MAX_DIMS], step = 1, all = 0;
    unsigned d = n->n_dims;
    stored_sizes(n, size);
    while (d-- > 0) {
        n->stride[d] = step;
        size_t length = size[d];
        if (d + 1 == n->n_dims && !xl__add(length, n->pad, &length))
            return false;
        if (!xl__mul(step, length, &step))
            return false;
    }
    if (n->is_transposed) {
        size_t *s = &n->stride[n->n_dims - 2], inner = s[0];
        s[0] = s[1];
        s[1] = inner;
    }
    return xl__add(step, n->off, &all) && xl__mul(all, sizeof(double), &all);
}

bool expr_spec_settle(struct expr_spec *s, char *why)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (s->name[i].is_scalar || compute_strides(&s->name[i]))
            continue;
        snprintf(why, EXPR_WHY_CAP,
                 "'%s' does not fit in 64 bits; give smaller sizes",
                 s->name[i].name);
        return false;
    }
    return true;
}

size_t expr_elems(const struct expr_name *n)
{
    size_t elems = 1;
    for (unsigned d = 0; d < n->n_dims; d++)
        elems *= n->size[d];
    return elems;
}

size_t expr_stored_elems(const struct expr_name *n)
{
    size_t rows, cols;
    expr_stored(n, &rows, &cols);
    return n->off + rows * (cols + n->pad);
}

size_t expr_offset(const struct expr_name *n, const size_t *i)
{
    size_t at = 0;
    for (unsigned d = 0; d < n->n_dims; d++)
        at += i[d] * n->stride[d];
    return at;
}

void expr_index(const struct expr_name *n, size_t at, size_t *i)
{
    for (unsigned d = n->n_dims; d-- > 0; at /= n->size[d])
        i[d] = at % n->size[d];
}

/* -- data ----------------------------------------------------------------- */

/* Small ranges of integers, so that a product of two fits in an i32. */
static void default_range(xl_dtype dtype, double *lo, double *hi)
{
    const bool is_unsigned =
        dtype == XL_U8 || dtype == XL_U16 || dtype == XL_U32;
    *lo = is_unsigned || dtype == XL_BOOL ? 0 : -100;
    *hi = is_unsigned ? 200 : dtype == XL_BOOL ? 1 : 100;
}

double expr_random(const struct expr_name *n, size_t col, struct xl__rng *rng)
{
    const bool is_whole = xl__dtype_unit_roundoff(n->dtype) == 0;
    double lo = n->lo, hi = n->hi;
    if (n->fill == FILL_INDEX)
        return (double)col;
    if (n->fill == FILL_DEFAULT && !is_whole)
        return ref_normal(rng);
    if (n->fill == FILL_DEFAULT)
        default_range(n->dtype, &lo, &hi);
    if (is_whole)
        return floor(lo + (hi - lo + 1) * xl__rng_uniform(rng));
    return lo + (hi - lo) * xl__rng_uniform(rng);
}

void expr_fill(const struct expr_name *n, void *data, struct xl__rng *rng)
{
    size_t rows, cols;
    expr_stored(n, &rows, &cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            xl__dtype_store(data, n->off + i * (cols + n->pad) + j, n->dtype,
                      expr_random(n, j, rng));
}

void expr_bindings(const struct expr_spec *s, const cl_mem *mem,
                   const size_t *first, xl_binding *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        const struct expr_name *n = &s->name[i];
        memset(&out[i], 0, sizeof out[i]);
        out[i].name = n->name;
        out[i].is_scalar = n->is_scalar;
        out[i].scalar = n->scalar;
        out[i].tensor.dtype = n->dtype;
        if (n->is_scalar)
            continue;
        out[i].tensor.mem.buf = mem ? mem[i] : NULL;
        out[i].tensor.offset = first ? first[i] : n->off;
        out[i].tensor.n_dims = n->n_dims;
        memcpy(out[i].tensor.size, n->size, sizeof n->size);
        memcpy(out[i].tensor.stride, n->stride, sizeof n->stride);
    }
}

void expr_shape_text(struct xl__str *out, const struct expr_name *n)
{
    for (unsigned d = 0; d < n->n_dims; d++)
        xl__str_printf(out, "%s%zu", d ? "x" : "", n->size[d]);
    if (n->n_dims == 0)
        xl__str_add(out, "1");
}

/* -- lists -------------------------------------------------------------------
 *
 * Lists are read item by item. Values are exact: nothing is guessed or
 * rounded. A message has the item, what is wrong, and the form of a valid one.
 */

/* The list item that is read, up to `at`. */
struct list_item {
    const char *begin, *at, *end;
    const char *form; /* "NAME=SHAPE[:TYPE]" */
    char *why;
};

static bool report_item(const struct list_item *r, const char *fmt, ...)
    XL__PRINTF(2, 3);

static bool report_item(const struct list_item *r, const char *fmt, ...)
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

static bool is_name_char(char c, bool first)
{
    return c == '_' || (first ? isalpha((unsigned char)c)
                              : isalnum((unsigned char)c));
}

/* The name and its '='. */
static bool read_name(struct list_item *r, struct expr_spec *s,
                      struct expr_name **out)
{
    const char *name = r->at;
    while (r->at < r->end && is_name_char(*r->at, r->at == name))
        r->at++;
    size_t len = (size_t)(r->at - name);
    if (len == 0)
        return report_item(r, "a name is missing");
    if (r->at == r->end || *r->at != '=')
        return report_item(r, "no '=' after the name");
    r->at++;
    if (len > XL_EXPR_MAX_NAME)
        return report_item(r, "a name has at most %d characters",
                           XL_EXPR_MAX_NAME);
    *out = expr_need(s, name, len);
    return *out ? true
                : report_item(r, "more than %d names", XL_EXPR_MAX_BINDINGS);
}

/* The next field up to ':'; false at the end. */
static bool next_field(struct list_item *r, const char **word, size_t *len)
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
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)len, word);
    for (int d = 0; d < XL_N_DTYPES; d++) {
        if (strcmp(xl_dtype_name((xl_dtype)d), option_type_name(text)) != 0)
            continue;
        n->has_dtype = true;
        n->dtype = (xl_dtype)d;
        return true;
    }
    return false;
}

/* An integer: "4096" or "1e8". */
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

static bool read_sizes(struct list_item *r, struct expr_name *n,
                       const char *word, size_t len)
{
    const char *at = word, *end = word + len;
    n->n_dims = 0;
    do {
        if (n->n_dims == XL_MAX_DIMS)
            return report_item(r, "more than %d dimensions", XL_MAX_DIMS);
        if (!read_whole(&at, end, &n->size[n->n_dims]))
            return report_item(
                r, "a size must be an integer, 4096 or 1e8, that fits in "
                   "64 bits");
        if (n->size[n->n_dims++] == 0)
            return report_item(r, "a size is 0");
    } while (at < end && (*at == 'x' || *at == 'X') && at++);
    return at == end ? true : report_item(r, "sizes must be separated by x");
}

static bool read_shape(struct list_item *r, struct expr_spec *s)
{
    struct expr_name *n = NULL;
    const char *word = r->end;
    size_t len = 0;
    if (!read_name(r, s, &n))
        return false;
    next_field(r, &word, &len);
    if (n->has_shape)
        return report_item(r, "'%s' has a shape already", n->name);
    if (!read_sizes(r, n, word, len))
        return false;
    n->has_shape = true;
    while (next_field(r, &word, &len)) {
        if (len == 1 && *word == 't')
            n->is_transposed = true;
        else if (!read_dtype(n, word, len) &&
                 !read_count(word, len, "pad", &n->pad) &&
                 !read_count(word, len, "off", &n->off))
            return report_item(r, "'%.*s' is neither a type nor a layout",
                               (int)xl__min_size(len, 20), word);
    }
    if (n->is_transposed && n->n_dims < 2)
        return report_item(r, "t requires two dimensions");
    return true;
}

/* A number as for strtod(), which must be the whole field. */
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

static bool read_scalar(struct list_item *r, struct expr_spec *s)
{
    struct expr_name *n = NULL;
    const char *word = r->end;
    size_t len = 0;
    if (!read_name(r, s, &n))
        return false;
    next_field(r, &word, &len);
    if (n->has_shape || n->is_scalar)
        return report_item(r, "'%s' was given before", n->name);
    if (!read_real(word, len, &n->scalar))
        return report_item(r, "the value is not a number");
    n->is_scalar = true;
    n->dtype = XL_F32;
    if (next_field(r, &word, &len) &&
        (!read_dtype(n, word, len) ||
         (n->dtype != XL_F64 && n->dtype != XL_F32 && n->dtype != XL_I64 &&
          n->dtype != XL_I32)))
        return report_item(
            r, "the type of a scalar must be f64, f32, i64 or i32");
    return true;
}

static bool read_range(struct list_item *r, struct expr_spec *s)
{
    struct expr_name *n = NULL;
    const char *lo = r->end, *hi = r->end;
    size_t len = 0;
    if (!read_name(r, s, &n))
        return false;
    next_field(r, &lo, &len);
    if (len == strlen("index") && memcmp(lo, "index", len) == 0) {
        n->fill = FILL_INDEX;
        return r->at == r->end ? true
                               : report_item(r, "nothing follows 'index'");
    }
    n->fill = FILL_RANGE;
    if (!read_real(lo, len, &n->lo) || !next_field(r, &hi, &len) ||
        !read_real(hi, len, &n->hi) || r->at != r->end)
        return report_item(r, "two numbers separated by ':' are required");
    if (!(n->lo <= n->hi) || !isfinite(n->lo) || !isfinite(n->hi))
        return report_item(r,
                           "LO must not exceed HI, and both must be finite");
    return true;
}

static bool read_items(struct expr_spec *s, const char *list, char *why,
                       const char *form,
                       bool (*read)(struct list_item *r, struct expr_spec *s))
{
    while (list && *list) {
        size_t len = strcspn(list, ",");
        struct list_item r = {list, list, list + len, form, why};
        if (!read(&r, s))
            return false;
        list += len;
        list += *list == ',';
    }
    return true;
}

bool expr_read_shapes(struct expr_spec *s, const char *list, char *why)
{
    return read_items(s, list, why,
                      "NAME=SHAPE[:TYPE], such as x=4096x1e4:f16", read_shape);
}

bool expr_read_scalars(struct expr_spec *s, const char *list, char *why)
{
    return read_items(s, list, why, "NAME=VALUE[:TYPE], such as eps=1e-5",
                      read_scalar);
}

bool expr_read_ranges(struct expr_spec *s, const char *list, char *why)
{
    return read_items(s, list, why, "NAME=LO:HI, such as x=-10:10",
                      read_range);
}

/* -- names in a text ---------------------------------------------------------
 *
 * One pass over the text. The names that a statement reads count before the
 * name that it assigns, so the assigned name is kept until the statement's
 * end. */

struct word {
    const char *text;
    size_t len;
};

static bool begins_word(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* Does a single '=' follow, as after an assigned name or an argument's name?
 */
static bool is_assignment(const char *at)
{
    at = skip_blanks(at);
    return at[0] == '=' && at[1] != '=';
}

static bool is_in_list(struct word w, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == w.len && memcmp(*list, w.text, w.len) == 0)
            return true;
    return false;
}

/* Is it a function, a constant, the name of an argument or a type? */
static bool is_other_word(struct word w, unsigned depth)
{
    static const char *const constants[] = {"pi",   "inf",   "nan",
                                            "true", "false", NULL};
    static const char *const types[] = {"f64", "f32", "f16",  "bf16",
                                        "i64", "i32", "i8",   "u32",
                                        "u16", "u8",  "bool", NULL};
    const char *next = skip_blanks(w.text + w.len);
    return *next == '(' || is_in_list(w, constants) ||
           (depth > 0 && is_assignment(next)) ||
           (depth > 0 && *next == ')' && is_in_list(w, types));
}

static struct expr_seen *find_or_add(struct expr_scan *s, struct word w)
{
    for (unsigned i = 0; i < s->n; i++)
        if (strlen(s->name[i].name) == w.len &&
            memcmp(s->name[i].name, w.text, w.len) == 0)
            return &s->name[i];
    if (s->n == EXPR_MAX_SEEN || w.len > XL_EXPR_MAX_NAME)
        return NULL;
    struct expr_seen *seen = &s->name[s->n++];
    memset(seen, 0, sizeof *seen);
    memcpy(seen->name, w.text, w.len);
    return seen;
}

static void see_read(struct expr_scan *s, struct word w)
{
    struct expr_seen *seen = find_or_add(s, w);
    if (!seen)
        return;
    seen->is_read_first = seen->is_read_first || !seen->is_assigned;
    seen->is_read_later = seen->is_read_later || seen->is_assigned;
}

/* Skip a slice in brackets, if one begins here. */
static const char *skip_slice(const char *at)
{
    const char *end = skip_blanks(at);
    if (*end != '[')
        return at;
    end += strcspn(end, "];\n");
    return *end == ']' ? end + 1 : at;
}

/* The name that the statement assigns, "out" for a bare expression; *at moves
 * after the '='. */
static struct word statement_head(const char **at, bool *is_whole)
{
    static const struct word out = {"out", 3};
    const char *begin = *at, *end = begin;
    while (in_word(*end))
        end++;
    const char *next = skip_slice(end);
    *is_whole = next == end || !is_assignment(next);
    if (!begins_word(*begin) || !is_assignment(next))
        return out;
    *at = skip_blanks(next) + 1;
    return (struct word){begin, (size_t)(end - begin)};
}

/* Skip a number: 2, 2.5, 1e-3. */
static const char *skip_number(const char *at)
{
    while (in_word(*at) || *at == '.' ||
           ((*at == '-' || *at == '+') && (at[-1] == 'e' || at[-1] == 'E')))
        at++;
    return at;
}

/* Record the names that the statement reads; return its end. */
static const char *statement_body(struct expr_scan *s, const char *at)
{
    unsigned depth = 0;
    while (*at && *at != ';' && (*at != '\n' || depth > 0)) {
        if (*at == '#') {
            at += strcspn(at, "\n");
            continue;
        }
        if (isdigit((unsigned char)*at)) {
            at = skip_number(at);
            continue;
        }
        if (!begins_word(*at)) {
            depth += *at == '(' || *at == '[';
            depth -= (*at == ')' || *at == ']') && depth > 0;
            at++;
            continue;
        }
        struct word w = {at, 0};
        while (in_word(*at))
            at++;
        w.len = (size_t)(at - w.text);
        if (!is_other_word(w, depth))
            see_read(s, w);
    }
    return at;
}

/* Skip blanks, ends of statements and comments. */
static const char *skip_between(const char *at)
{
    for (;;) {
        at = skip_blanks(at);
        if (*at == '#')
            at += strcspn(at, "\n");
        else if (*at == ';' || *at == '\n')
            at++;
        else
            return at;
    }
}

void expr_scan(const char *text, struct expr_scan *out)
{
    const char *at = skip_between(text);
    out->n = 0;
    while (*at) {
        bool is_whole;
        const struct word head = statement_head(&at, &is_whole);
        at = skip_between(statement_body(out, at));
        struct expr_seen *seen = find_or_add(out, head);
        if (!seen)
            continue;
        seen->is_assigned = true;
        seen->is_whole = seen->is_whole || is_whole;
    }
}
