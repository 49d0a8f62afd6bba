/* SPDX-License-Identifier: Apache-2.0 */
/* What a call's key says: names, types, shapes and strides. Checked when a
 * plan is made; a key that is found again was right the first time. */
#include <string.h>

#include "base/alloc.h"
#include "expr/run.h"
#include "expr/language/functions.h"

/* -- views ---------------------------------------------------------------- */

/* One past the last byte, from the start of the memory. */
bool xl__expr_end_byte(const struct xl__param *b, size_t offset, size_t *bytes)
{
    size_t last = offset, along;
    for (unsigned d = 0; d < b->n_dims; d++) {
        if (b->size[d] == 0 ||
            !xl__mul(b->size[d] - 1, b->stride[d], &along) ||
            !xl__add(last, along, &last))
            return false;
    }
    return xl__add(last, 1, &last) &&
           xl__mul(last, xl_dtype_bytes((xl_dtype)b->dtype), bytes);
}

bool xl__expr_is_written(const struct xl__expr_call *c, unsigned i)
{
    for (unsigned k = 0; k < c->e->n_assigned; k++) {
        if (strcmp(c->e->tree.name[c->e->assigned[k]],
                   c->key.sig.b[i].name) == 0)
            return true;
    }
    return false;
}

xl_status xl__expr_check_view(const struct xl__expr_call *c, unsigned i)
{
    const struct xl__param *b = &c->key.sig.b[i];
    const size_t offset = (size_t)c->call.value[1 + i].u;
    size_t bytes;
    for (unsigned d = 0; d < b->n_dims; d++) {
        if (b->size[d] == 0)
            return xl__error_set(&c->q->error, XL_BAD_SHAPE,
                                 "%s: dimension %u has size 0; each must have "
                                 "at least 1",
                                 b->name, d);
    }
    if (!xl__expr_end_byte(b, offset, &bytes))
        return xl__error_set(&c->q->error, XL_OVERFLOW,
                             "%s: its view from offset %zu does not fit in 64 "
                             "bits",
                             b->name, offset);
    if (xl__expr_is_written(c, i) && xl__expr_meets_itself(b))
        return xl__error_set(&c->q->error, XL_OVERLAP,
                             "%s is written and overlaps itself: a stride is "
                             "0, or less than what lies within it",
                             b->name);
    return XL_OK;
}

/* -- names and types ------------------------------------------------------ */

static bool is_letter(char x)
{
    return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_';
}

static xl_status check_name(const struct xl__expr_call *c, unsigned i)
{
    const struct xl__param *b = c->key.sig.b;
    const char *name = b[i].name;
    bool is_legal = is_letter(name[0]);
    for (unsigned at = 0; name[at]; at++)
        is_legal = is_legal && (is_letter(name[at]) ||
                                (name[at] >= '0' && name[at] <= '9'));
    if (!is_legal)
        return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                             "binding %u: a name is a letter or _, then "
                             "letters, digits and _",
                             i);
    if (xl__is_reserved(name, strlen(name)))
        return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                             "binding %u: \"%s\" has a meaning of its own in "
                             "the language; call it otherwise",
                             i, name);
    for (unsigned k = 0; k < i; k++) {
        if (strcmp(b[k].name, name) == 0)
            return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                                 "\"%s\" is bound twice, by bindings %u and "
                                 "%u",
                                 name, k, i);
    }
    return XL_OK;
}

static xl_status check_dtype(const struct xl__expr_call *c, unsigned i)
{
    const struct xl__param *b = &c->key.sig.b[i];
    const bool is_legal = b->is_scalar
                              ? b->dtype == XL_F32 || b->dtype == XL_I32
                              : b->dtype != XL_F64 && b->dtype <= XL_BOOL;
    if (is_legal)
        return XL_OK;
    return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                         "%s is of type %s; %s", b->name,
                         xl_dtype_name((xl_dtype)b->dtype),
                         b->is_scalar ? "a scalar is f32 or i32"
                                      : "a tensor is f32, f16, bf16, i32, i8, "
                                        "u8 or bool");
}

xl_status xl__expr_check_key(const struct xl__expr_call *c)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < c->key.sig.n; i++) {
        TRY(check_name(c, i));
        TRY(check_dtype(c, i));
        if (!c->key.sig.b[i].is_scalar)
            TRY(xl__expr_check_view(c, i));
    }
fail:
    return status;
}
