/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of a case from a line of text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/expr/device/expr_case.h"
#include "support/support.h"

static xl_dtype dtype_named(const char *name, size_t len)
{
    for (int d = 0; d < XL_N_DTYPES; d++) {
        const char *known = xl_dtype_name((xl_dtype)d);
        if (strlen(known) == len && memcmp(known, name, len) == 0)
            return (xl_dtype)d;
    }
    fail_msg("no dtype: %s", name);
    return XL_F32;
}

static unsigned numbers(const char *text, size_t *out)
{
    unsigned n = 0;
    char *end;
    while (n < XL_MAX_DIMS && *text >= '0' && *text <= '9') {
        out[n++] = (size_t)strtoull(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

static unsigned binding_named(const struct expr_case *c, const char *name)
{
    for (unsigned i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0)
            return i;
    fail_msg("no name: %s", name);
    return 0;
}

static void bind_one(struct expr_case *c, const char *spec)
{
    char name[CASE_NAME], what[8], sizes[64] = "";
    struct case_view view = {.n_dims = 0};
    const int n = sscanf(spec, "%7s %7s %63s", name, what, sizes);
    assert_in_range(n, 2, 3);
    if (what[0] == '@') {
        (void)case_alias(c, name, binding_named(c, what + 1));
        return;
    }
    if (what[0] == '=') {
        const bool is_int = sizes[strlen(sizes) - 1] == 'i';
        (void)case_scalar(c, name, is_int ? XL_I32 : XL_F32, atof(sizes));
        return;
    }
    const size_t len = strcspn(what, "!~");
    const char *strides = strchr(sizes, '/');
    view.n_dims = numbers(sizes, view.size);
    view.is_strided = strides != NULL;
    if (strides)
        assert_int_equal(numbers(strides + 1, view.stride), view.n_dims);
    const unsigned i = case_tensor(c, name, dtype_named(what, len), &view);
    c->fill[i] = what[len] == '!'   ? FILL_SPECIALS
                 : what[len] == '~' ? FILL_WIDE
                                    : FILL_PLAIN;
}

void case_bind(struct expr_case *c, const char *bind)
{
    char copy[512];
    assert_true(strlen(bind) < sizeof copy);
    strcpy(copy, bind);
    for (char *spec = copy; spec;) {
        char *end = strchr(spec, ';');
        if (end)
            *end++ = '\0';
        bind_one(c, spec);
        spec = end;
    }
    assert_true(case_fill(c));
}
