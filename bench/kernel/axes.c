/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists of names and values, and numbers their combinations: combination
 * i has the digits of i in a number whose places are the axes. */
#include "kernel/axes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

_Static_assert(BINDINGS_MOST >= 2 * AXES_MOST, "all sizes and -D are bound");

static char *copy_n(const char *text, size_t len)
{
    char *out = xl__calloc(len + 1, 1);
    if (out)
        memcpy(out, text, len);
    return out;
}

static struct axis *add_axis(struct axes *a, const char *name, size_t len,
                             struct xl__str *why)
{
    if (!formula_is_name(name, len)) {
        formula_refuse(
            why,
            "'%.*s' is not a name; must be NAME=VALUE, a name of letters, "
            "digits and _",
            (int)len, name);
        return NULL;
    }
    for (unsigned i = 0; i < a->n; i++)
        if (strlen(a->at[i].name) == len &&
            memcmp(a->at[i].name, name, len) == 0) {
            formula_refuse(why,
                           "%s is given twice; give its values in one list",
                           a->at[i].name);
            return NULL;
        }
    if (a->n == AXES_MOST) {
        formula_refuse(why, "more than %d names", AXES_MOST);
        return NULL;
    }
    struct axis *out = &a->at[a->n++];
    out->name = copy_n(name, len);
    if (!out->name)
        formula_refuse(why, "out of memory");
    return out->name ? out : NULL;
}

static bool add_value(struct axis *axis, const char *value, size_t len,
                      struct xl__str *why)
{
    if (len == 0)
        return formula_refuse(why, "a value of %s is empty", axis->name);
    if (axis->n == AXIS_VALUES_MOST)
        return formula_refuse(why, "%s has more than %d values", axis->name,
                              AXIS_VALUES_MOST);
    axis->value[axis->n] = copy_n(value, len);
    if (!axis->value[axis->n])
        return formula_refuse(why, "out of memory");
    axis->n++;
    return true;
}

static bool read_list(const char *list, struct axes *out, struct xl__str *why)
{
    struct axis *axis = NULL;
    for (const char *at = list;;) {
        const size_t len = formula_item(at);
        const char *equals = memchr(at, '=', len);
        const size_t name = equals ? (size_t)(equals - at) : len;
        if (equals || !axis) {
            axis = add_axis(out, at, name, why);
            if (!axis)
                return false;
            if (!(equals ? add_value(axis, equals + 1, len - name - 1, why)
                         : add_value(axis, "1", 1, why)))
                return false;
        } else if (!add_value(axis, at, len, why)) {
            return false;
        }
        if (at[len] == '\0')
            return true;
        at += len + 1;
    }
}

bool axes_read(const struct option_list *lists, struct axes *out,
               struct xl__str *why)
{
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < lists->n; i++)
        if (!read_list(lists->value[i], out, why))
            return false;
    return true;
}

void axes_clear(struct axes *a)
{
    for (unsigned i = 0; i < a->n; i++) {
        free(a->at[i].name);
        for (unsigned k = 0; k < a->at[i].n; k++)
            free(a->at[i].value[k]);
    }
    memset(a, 0, sizeof *a);
}

unsigned axes_combinations(const struct axes *a, unsigned most)
{
    unsigned n = 1;
    for (unsigned i = 0; i < a->n; i++) {
        n *= a->at[i].n;
        if (n > most)
            return most + 1;
    }
    return n;
}

const char *axes_value(const struct axes *a, unsigned i, unsigned axis)
{
    for (unsigned k = a->n; --k > axis;)
        i /= a->at[k].n;
    return a->at[axis].value[i % a->at[axis].n];
}

/* NULL: the name is taken. */
static struct binding *add_binding(struct bindings *out, const char *name,
                                   const char *text, struct xl__str *why)
{
    for (unsigned i = 0; i < out->n; i++)
        if (strcmp(out->at[i].name, name) == 0) {
            formula_refuse(why, "%s is both a --size and a -D", name);
            return NULL;
        }
    struct binding *b = &out->at[out->n++];
    *b = (struct binding){.name = name, .text = text};
    return b;
}

bool axes_bind_sizes(const struct axes *a, unsigned i, struct bindings *out,
                     struct xl__str *why)
{
    for (unsigned k = 0; k < a->n; k++) {
        const char *text = axes_value(a, i, k);
        const struct bindings before = *out;
        struct binding *b = add_binding(out, a->at[k].name, text, why);
        struct xl__str formula = {0};
        const bool is_read =
            b && formula_value(text, &before, &b->value, &formula);
        if (b && !is_read)
            formula_refuse(why, "--size %s: %s", b->name,
                           xl__str_text(&formula));
        xl__str_clear(&formula);
        if (!is_read)
            return false;
        if (b->value <= 0)
            return formula_refuse(
                why, "--size %s is %" PRId64 "; must be 1 or more", b->name,
                b->value);
        b->is_number = true;
    }
    return true;
}

static bool bind_define(const struct axes *a, unsigned i, unsigned axis,
                        struct bindings *out, struct xl__str *why)
{
    static const struct bindings none = {.n = 0};
    const char *text = axes_value(a, i, axis);
    struct xl__str ignored = {0};
    struct binding *b = add_binding(out, a->at[axis].name, text, why);
    if (b)
        b->is_number = formula_value(text, &none, &b->value, &ignored);
    xl__str_clear(&ignored);
    return b != NULL;
}

bool axes_bind_defines(const struct axes *a, unsigned i, struct bindings *out,
                       struct xl__str *why)
{
    for (unsigned k = 0; k < a->n; k++)
        if (!bind_define(a, i, k, out, why))
            return false;
    return true;
}

bool axes_bind_constants(const struct axes *a, struct bindings *out,
                         struct xl__str *why)
{
    for (unsigned k = 0; k < a->n; k++)
        if (a->at[k].n == 1 && !bind_define(a, 0, k, out, why))
            return false;
    return true;
}
