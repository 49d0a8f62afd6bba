/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a kernel: their grammar, their types, their data. */
#include "kernel/arguments.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "cases/host_ops.h"
#include "cli/units.h"

/* -- types ---------------------------------------------------------------- */

static const struct element elements[] = {
    {"float", "f32", 4, ELEMENT_FLOAT, XL_F32},
    {"double", "f64", 8, ELEMENT_FLOAT, XL_F64},
    {"half", "f16", 2, ELEMENT_FLOAT, XL_F16},
    {"bf16", "bf16", 2, ELEMENT_FLOAT, XL_BF16},
    {"char", "i8", 1, ELEMENT_SIGNED, XL_N_DTYPES},
    {"uchar", "u8", 1, ELEMENT_UNSIGNED, XL_N_DTYPES},
    {"short", "i16", 2, ELEMENT_SIGNED, XL_N_DTYPES},
    {"ushort", "u16", 2, ELEMENT_UNSIGNED, XL_N_DTYPES},
    {"int", "i32", 4, ELEMENT_SIGNED, XL_N_DTYPES},
    {"uint", "u32", 4, ELEMENT_UNSIGNED, XL_N_DTYPES},
    {"long", "i64", 8, ELEMENT_SIGNED, XL_N_DTYPES},
    {"ulong", "u64", 8, ELEMENT_UNSIGNED, XL_N_DTYPES},
};

static bool is_width(unsigned width)
{
    return width == 2 || width == 3 || width == 4 || width == 8 || width == 16;
}

const struct element *element_find(const char *text, size_t len,
                                   unsigned *width)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const struct element *e = &elements[i];
        const size_t name = strlen(e->name);
        *width = 1;
        if (len == strlen(e->alias) && memcmp(text, e->alias, len) == 0)
            return e;
        if (len < name || memcmp(text, e->name, name) != 0)
            continue;
        if (len == name)
            return e;
        *width = 0;
        for (size_t k = name; k < len && *width <= 16; k++)
            *width = text[k] >= '0' && text[k] <= '9'
                         ? 10 * *width + (unsigned)(text[k] - '0')
                         : 99;
        if (is_width(*width))
            return e;
    }
    return NULL;
}

static int64_t load_integer(const void *data, size_t i,
                            const struct element *e)
{
    const char *at = (const char *)data + i * e->bytes;
    int8_t b;
    int16_t s;
    int32_t w;
    int64_t d;
    const bool is_signed = e->kind == ELEMENT_SIGNED;
    switch (e->bytes) {
    case 1:
        memcpy(&b, at, sizeof b);
        return is_signed ? b : (uint8_t)b;
    case 2:
        memcpy(&s, at, sizeof s);
        return is_signed ? s : (uint16_t)s;
    case 4:
        memcpy(&w, at, sizeof w);
        return is_signed ? w : (int64_t)(uint32_t)w;
    default:
        memcpy(&d, at, sizeof d);
        return d;
    }
}

/* Two's complement, whose low bytes are those of the narrower types. */
static void store_integer(void *data, size_t i, const struct element *e,
                          int64_t value)
{
    char *at = (char *)data + i * e->bytes;
    const uint8_t b = (uint8_t)value;
    const uint16_t s = (uint16_t)value;
    const uint32_t w = (uint32_t)value;
    switch (e->bytes) {
    case 1:
        memcpy(at, &b, sizeof b);
        return;
    case 2:
        memcpy(at, &s, sizeof s);
        return;
    case 4:
        memcpy(at, &w, sizeof w);
        return;
    default:
        memcpy(at, &value, sizeof value);
    }
}

static bool is_u64(const struct element *e)
{
    return e->kind == ELEMENT_UNSIGNED && e->bytes == sizeof(uint64_t);
}

double element_load(const void *data, size_t i, const struct element *e)
{
    if (e->kind == ELEMENT_FLOAT)
        return ref_load(data, i, e->dtype);
    const int64_t value = load_integer(data, i, e);
    return is_u64(e) ? (double)(uint64_t)value : (double)value;
}

void element_text(const void *data, size_t i, const struct element *e,
                  char *out, size_t cap)
{
    if (e->kind == ELEMENT_FLOAT)
        snprintf(out, cap, "%.9g", ref_load(data, i, e->dtype));
    else if (is_u64(e))
        snprintf(out, cap, "%" PRIu64, (uint64_t)load_integer(data, i, e));
    else
        snprintf(out, cap, "%" PRId64, load_integer(data, i, e));
}

/* -- the grammar ---------------------------------------------------------- */

static const char form[] =
    "in|out|inout:TYPE:LENGTH[:FILL], local:TYPE:LENGTH or TYPE=VALUE";

static bool fail(struct xl__str *why, const struct argument *a,
                 const char *fmt, ...) XL__PRINTF(3, 4);

static bool fail(struct xl__str *why, const struct argument *a,
                 const char *fmt, ...)
{
    va_list args;
    xl__str_printf(why, "--arg '%s': ", a->text);
    va_start(args, fmt);
    xl__str_vprintf(why, fmt, args);
    va_end(args);
    return false;
}

static bool read_type(struct argument *a, const char *text,
                      struct xl__str *why)
{
    a->element = element_find(text, strlen(text), &a->width);
    if (a->element)
        return true;
    return fail(why, a,
                "unknown type '%s'; must be one of OpenCL C, such as float, "
                "float4, half, uint, uchar, or f32, f64, f16, bf16, i32, u32",
                text);
}

static bool read_fill(struct argument *a, const char *text,
                      struct xl__str *why)
{
    static const char below[] = "below=";
    static const char *const fills[] = {[FILL_NORMAL] = "normal",
                                        [FILL_ZEROS] = "zeros",
                                        [FILL_IOTA] = "iota"};
    if (a->role == ARG_OUT)
        return fail(why, a,
                    "an out buffer is written whole and has no data "
                    "before; use inout");
    if (strncmp(text, below, sizeof below - 1) == 0) {
        a->fill = FILL_BELOW;
        a->below = text + sizeof below - 1;
        return true;
    }
    for (unsigned i = 0; i < sizeof fills / sizeof *fills; i++)
        if (strcmp(text, fills[i]) == 0) {
            a->fill = (enum argument_fill)i;
            return true;
        }
    return fail(why, a,
                "unknown data '%s'; must be normal, zeros, iota or "
                "below=FORMULA",
                text);
}

/* Cut a text into fields at its colons; their number, or `most` + 1. */
static unsigned cut(char *text, char **field, unsigned most)
{
    for (unsigned n = 0; n < most; n++) {
        field[n] = text;
        text = strchr(text, ':');
        if (!text)
            return n + 1;
        *text++ = '\0';
    }
    return most + 1;
}

static bool read_scalar(struct argument *a, struct xl__str *why)
{
    char *equals = strchr(a->parts, '=');
    if (!equals)
        return fail(why, a, "must be %s", form);
    *equals = '\0';
    a->role = ARG_SCALAR;
    a->formula = equals + 1;
    return read_type(a, a->parts, why);
}

static bool read_memory(struct argument *a, enum argument_role role,
                        struct xl__str *why)
{
    enum { FIELDS = 4 };
    char *field[FIELDS];
    const unsigned n = cut(a->parts, field, FIELDS);
    a->role = role;
    if (n < 3 || n > (role == ARG_LOCAL ? 3 : FIELDS))
        return fail(why, a, "%s fields; must be %s",
                    n < 3 ? "too few" : "too many", form);
    a->formula = field[2];
    return read_type(a, field[1], why) &&
           (n < FIELDS || read_fill(a, field[3], why));
}

bool argument_read(const char *text, struct argument *out, struct xl__str *why)
{
    static const char *const roles[] = {[ARG_IN] = "in:",
                                        [ARG_OUT] = "out:",
                                        [ARG_INOUT] = "inout:",
                                        [ARG_LOCAL] = "local:"};
    *out =
        (struct argument){.text = xl__strdup(text), .parts = xl__strdup(text)};
    if (!out->text || !out->parts) {
        xl__str_add(why, "out of memory");
        return false;
    }
    for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strncmp(text, roles[i], strlen(roles[i])) == 0)
            return read_memory(out, (enum argument_role)i, why);
    return read_scalar(out, why);
}

void argument_clear(struct argument *a)
{
    free(a->text);
    free(a->parts);
    *a = (struct argument){.text = NULL};
}

/* -- values --------------------------------------------------------------- */

bool argument_length(const struct argument *a, const struct bindings *names,
                     size_t *out, struct xl__str *why)
{
    int64_t n = 0;
    struct xl__str formula = {0};
    const bool is_read = formula_value(a->formula, names, &n, &formula);
    if (!is_read)
        fail(why, a, "length %s", xl__str_text(&formula));
    xl__str_clear(&formula);
    if (!is_read)
        return false;
    if (n <= 0)
        return fail(why, a, "the length is %" PRId64 "; must be 1 or more", n);
    if (!xl__mul((size_t)n, argument_stored_width(a), out) ||
        *out > SIZE_MAX / 2 / a->element->bytes)
        return fail(why, a, "%" PRId64 " elements do not fit in 64 bits", n);
    return true;
}

/* Store a scalar's value as component 0. */
static bool store_scalar(const struct argument *a,
                         const struct bindings *names, void *out,
                         struct xl__str *why)
{
    const struct element *e = a->element;
    const bool is_negative = *a->formula == '-';
    struct xl__str formula = {0};
    double real = NAN;
    int64_t value = 0;
    const char *end = e->kind == ELEMENT_FLOAT
                          ? number_read(a->formula + is_negative, &real)
                          : NULL;
    if (end && *end == '\0') {
        xl__dtype_store(out, 0, e->dtype, is_negative ? -real : real);
        return true;
    }
    const bool is_read = formula_value(a->formula, names, &value, &formula);
    if (!is_read)
        fail(why, a, "value %s", xl__str_text(&formula));
    xl__str_clear(&formula);
    if (!is_read)
        return false;
    if (e->kind == ELEMENT_FLOAT) {
        xl__dtype_store(out, 0, e->dtype, (double)value);
        return true;
    }
    store_integer(out, 0, e, value);
    if (load_integer(out, 0, e) != value || (is_u64(e) && value < 0))
        return fail(why, a, "%" PRId64 " is no value of %s", value, e->name);
    return true;
}

bool argument_scalar(const struct argument *a, const struct bindings *names,
                     unsigned char out[SCALAR_BYTES_MOST], size_t *n,
                     struct xl__str *why)
{
    const size_t size = a->element->bytes;
    *n = argument_stored_width(a) * size;
    memset(out, 0, *n);
    if (!store_scalar(a, names, out, why))
        return false;
    for (size_t i = 1; i < argument_stored_width(a); i++)
        memcpy(out + i * size, out, size);
    return true;
}

bool argument_limit(const struct argument *a, const struct bindings *names,
                    uint64_t *below, struct xl__str *why)
{
    int64_t value = 0;
    struct xl__str formula = {0};
    *below = 0;
    if (a->fill != FILL_BELOW)
        return true;
    const bool is_read = formula_value(a->below, names, &value, &formula);
    if (!is_read)
        fail(why, a, "below %s", xl__str_text(&formula));
    xl__str_clear(&formula);
    if (is_read && value <= 0)
        return fail(why, a, "below=%" PRId64 "; must be 1 or more", value);
    *below = (uint64_t)value;
    return is_read;
}

/* Integers of deviation 32, |x| < 112, which each type holds; those without a
 * sign as absolute values. */
static int64_t draw_integer(const struct element *e, struct xl__rng *rng)
{
    static const double deviation = 32;
    const double x = deviation * ref_normal(rng);
    return (int64_t)(e->kind == ELEMENT_UNSIGNED ? fabs(x) : x);
}

static void store(void *data, size_t i, const struct element *e, int64_t value)
{
    if (e->kind == ELEMENT_FLOAT)
        xl__dtype_store(data, i, e->dtype, (double)value);
    else
        store_integer(data, i, e, value);
}

void argument_fill(const struct argument *a, uint64_t below, void *data,
                   size_t n, struct xl__rng *rng)
{
    const struct element *e = a->element;
    for (size_t i = 0; i < n; i++) {
        if (a->fill == FILL_ZEROS)
            store(data, i, e, 0);
        else if (a->fill == FILL_IOTA)
            store(data, i, e, (int64_t)i);
        else if (a->fill == FILL_BELOW)
            store(data, i, e, (int64_t)xl__rng_below(rng, below));
        else if (e->kind == ELEMENT_FLOAT)
            xl__dtype_store(data, i, e->dtype, ref_normal(rng));
        else
            store_integer(data, i, e, draw_integer(e, rng));
    }
}
