/* SPDX-License-Identifier: Apache-2.0 */
/* Tunables as text, and text as tunables. */
#include "ops/path/tunables.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

unsigned xl__params_count(const struct xl__variant *v)
{
    unsigned n = 0;
    while (v->tunables && v->tunables[n].name)
        n++;
    return n;
}

void xl__params_text(const struct xl__variant *v, const struct xl__params *p,
                     char *out, size_t cap)
{
    const unsigned n = xl__params_count(v);
    out[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const size_t len = strlen(out);
        xl__strfmt(out + len, cap - len, "%s%s=%d", i > 0 ? " " : "",
                   v->tunables[i].name, p->value[i]);
    }
}

static bool is_legal(const struct xl__tunable *t, long value)
{
    for (unsigned i = 0; t->legal[i]; i++) {
        if (t->legal[i] == value)
            return true;
    }
    return false;
}

/* The index of the tunable named before '='; -1: there is none. */
static int find_tunable(const struct xl__variant *v, const char *word,
                        size_t len)
{
    const unsigned n = xl__params_count(v);
    for (unsigned i = 0; i < n; i++) {
        if (strlen(v->tunables[i].name) == len &&
            memcmp(v->tunables[i].name, word, len) == 0)
            return (int)i;
    }
    return -1;
}

/* One "NAME=value" of `len` bytes. */
static bool parse_pair(const struct xl__variant *v, const char *word,
                       size_t len, struct xl__params *out, unsigned *seen)
{
    const char *equals = memchr(word, '=', len);
    const int at =
        equals ? find_tunable(v, word, (size_t)(equals - word)) : -1;
    char *end;
    if (at < 0 || (*seen & 1u << at))
        return false;
    const long value = strtol(equals + 1, &end, 10);
    if (end != word + len || !is_legal(&v->tunables[at], value))
        return false;
    out->value[at] = (int)value;
    *seen |= 1u << at;
    return true;
}

bool xl__params_parse(const struct xl__variant *v, const char *text,
                      struct xl__params *out, char *why, size_t why_cap)
{
    const unsigned n = xl__params_count(v);
    unsigned seen = 0;
    memset(out->value, 0, sizeof out->value);
    for (const char *at = text + strspn(text, " "); *at;) {
        const size_t len = strcspn(at, " ");
        if (!parse_pair(v, at, len, out, &seen)) {
            xl__strfmt(why, why_cap, "%s has no tunable \"%.*s\"", v->name,
                       (int)len, at);
            return false;
        }
        at += len + strspn(at + len, " ");
    }
    for (unsigned i = 0; i < n; i++) {
        if (!(seen & 1u << i)) {
            xl__strfmt(why, why_cap, "%s also needs %s", v->name,
                       v->tunables[i].name);
            return false;
        }
    }
    return true;
}

bool xl__params_same(const struct xl__variant *v, const struct xl__params *a,
                     const struct xl__params *b)
{
    return memcmp(a->value, b->value,
                  xl__params_count(v) * sizeof *a->value) == 0;
}
