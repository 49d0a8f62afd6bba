/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a call: read, checked, and split.
 *
 *     key    names, types, shapes, strides, alignment, equal views
 *     call   memory, offsets, scalars
 *
 * Plans depend on the key only. What the key states is checked when a plan is
 * made (xl__expr_check_key); a key that is found in the cache was correct the
 * first time. What may differ between calls of one key is checked in every
 * call (xl__expr_read_args), without allocation, and without formatting unless
 * there is an error. Every message names the binding. */
#include "ops/expression/arguments.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "expr/language/functions.h"

enum { MOST_ALIGN = 64 };  /* elements */
enum { BASE_ALIGN = 128 }; /* bytes: alignment of every buffer */

/* -- regions ---------------------------------------------------------- */

/* Of binding i. Scalars have one too, without memory. */
static struct xl__region *region_of(const struct xl__expr_call *c, unsigned i)
{
    return &c->q->memory.operand[i];
}

static bool is_written(const struct xl__expr_call *c, unsigned i)
{
    for (unsigned k = 0; k < c->e->n_assigned; k++) {
        if (strcmp(c->e->tree.name[c->e->assigned[k]], c->key.sig.b[i].name) ==
            0)
            return true;
    }
    return false;
}

/* -- names and types -------------------------------------------------- */

static bool is_letter(char x)
{
    return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_';
}

static xl_status check_name(const struct xl__expr_call *c, unsigned i)
{
    const struct xl__parameter *b = c->key.sig.b;
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
                             "binding %u: \"%s\" is reserved by the language; "
                             "choose another name",
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
    const struct xl__parameter *b = &c->key.sig.b[i];
    const bool is_legal = b->is_scalar
                              ? b->dtype == XL_F32 || b->dtype == XL_I32
                              : b->dtype != XL_F64 && b->dtype <= XL_BOOL;
    if (is_legal)
        return XL_OK;
    return xl__error_set(&c->q->error, XL_BAD_ARGUMENT, "%s is of type %s; %s",
                         b->name, xl_dtype_name((xl_dtype)b->dtype),
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
        if (region_of(c, i)->is_written)
            TRY(xl__region_check_itself(region_of(c, i), &c->q->error));
    }
fail:
    return status;
}

static const uint64_t kind_of_key =
    UINT64_MAX; /* not the id of an operation */

/* -- bindings --------------------------------------------------------- */

/* Only the length of the name is checked here; the rest by
 * xl__expr_check_key(). */
static xl_status read_name(struct xl__expr_call *c, unsigned i)
{
    const char *name = c->args->bindings[i].name;
    char *to = c->key.sig.b[i].name;
    if (!name)
        return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                             "binding %u has no name", i);
    for (unsigned at = 0; name[at]; at++) {
        if (at == XL_EXPR_MAX_NAME)
            return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                                 "binding %u: the name \"%.*s...\" is longer "
                                 "than %d letters",
                                 i, XL_EXPR_MAX_NAME, name, XL_EXPR_MAX_NAME);
        to[at] = name[at];
    }
    return XL_OK;
}

/* Set `align` from the address of the first element, and `same_as`. */
static void compare_view(struct xl__expr_call *c, unsigned i)
{
    struct xl__parameter *b = c->key.sig.b;
    const size_t bits = region_of(c, i)->begin | BASE_ALIGN;
    const size_t bytes = bits & (~bits + 1);
    b[i].align = (unsigned)xl__min_size(MOST_ALIGN,
                                        bytes / region_of(c, i)->elem_bytes);
    for (unsigned k = 0; k < i && b[i].same_as == i; k++) {
        if (b[k].n_dims == b[i].n_dims &&
            memcmp(b[k].size, b[i].size, sizeof b[i].size) == 0 &&
            xl__regions_are_same_view(region_of(c, k), region_of(c, i)))
            b[i].same_as = b[k].same_as;
    }
}

static xl_status read_tensor(struct xl__expr_call *c, unsigned i,
                             bool with_memory)
{
    xl_status status = XL_OK;
    const xl_tensor *t = &c->args->bindings[i].tensor;
    struct xl__parameter *b = &c->key.sig.b[i];
    struct xl__region *r = region_of(c, i);
    struct xl__error *e = &c->q->error;
    TRY(xl__region_init(r, b->name, t, e));
    r->is_written = is_written(c, i);
    r->may_be_result = true;
    TRY(xl__operand_locate(&c->q->memory, i, t->mem, with_memory, e));
    b->n_dims = t->n_dims;
    b->dtype = (unsigned)t->dtype;
    for (unsigned d = 0; d < t->n_dims; d++) {
        b->size[d] = t->size[d];
        /* A stride of a dimension of size 1 is not used. */
        b->stride[d] = t->size[d] == 1 ? 0 : t->stride[d];
    }
    c->call.mem[1 + i] = t->mem;
    c->call.value[1 + i].u = t->offset;
    compare_view(c, i);
fail:
    return status;
}

static void read_scalar(struct xl__expr_call *c, unsigned i)
{
    c->key.sig.b[i].is_scalar = 1;
    c->key.sig.b[i].dtype = (unsigned)c->args->bindings[i].tensor.dtype;
    c->call.value[1 + i].f = c->args->bindings[i].scalar;
}

/* A scalar has a value of its type. */
static xl_status check_scalar(const struct xl__expr_call *c, unsigned i)
{
    const struct xl__parameter *b = &c->key.sig.b[i];
    const double x = c->call.value[1 + i].f;
    if (xl__scalar_fits(x, (xl_dtype)b->dtype))
        return XL_OK;
    return xl__error_set(&c->q->error, XL_BAD_SCALAR,
                         b->dtype == XL_I32
                             ? "%s is %.17g; must be a whole number of 32 bits"
                             : "%s is %.17g, which overflows f32; for "
                               "infinity bind INFINITY",
                         b->name, x);
}

/* -- a call ----------------------------------------------------------- */

static xl_status read_bindings(struct xl__expr_call *c, bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__memory *m = &c->q->memory;
    m->n = c->args->n_bindings;
    for (unsigned i = 0; i < m->n; i++) {
        c->key.sig.b[i].same_as = i;
        TRY(read_name(c, i));
        if (!c->args->bindings[i].is_scalar) {
            TRY(read_tensor(c, i, with_memory));
            continue;
        }
        m->operand[i].is_located = m->operand[i].is_written = false;
        read_scalar(c, i);
        if (with_memory)
            TRY(check_scalar(c, i));
    }
    if (with_memory)
        TRY(xl__operands_check_apart(m, &c->q->error));
fail:
    return status;
}

static xl_status read_variant(struct xl__expr_call *c)
{
    const char *name = c->args->variant ? c->args->variant : "";
    if (strlen(name) >= sizeof c->key.variant)
        return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                             "expressions have no variant \"%s\"", name);
    memset(c->key.variant, 0, sizeof c->key.variant);
    memcpy(c->key.variant, name, strlen(name));
    return XL_OK;
}

xl_status xl__expr_read_args(struct xl__expr_call *c, bool with_memory)
{
    xl_status status = XL_OK;
    const xl_expr_args *args = c->args;
    struct xl__error *e = &c->q->error;
    xl__error_reset(e);
    if (!c->e)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT, "the expression is NULL"));
    if (!args || (args->n_bindings > 0 && !args->bindings))
        TRY(xl__error_set(e, XL_BAD_ARGUMENT, "there are no %s",
                          args ? "bindings" : "arguments"));
    if (args->n_bindings > XL_EXPR_MAX_BINDINGS)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "%u bindings; at most %d are possible",
                          args->n_bindings, XL_EXPR_MAX_BINDINGS));
    const size_t bound = offsetof(struct xl__signature, b) +
                         args->n_bindings * sizeof(struct xl__parameter);
    memset(&c->call, 0, sizeof c->call);
    memset(&c->key.sig, 0, bound);
    c->key.kind = kind_of_key;
    memcpy(c->key.id, c->e->id, sizeof c->key.id);
    c->key.sig.n = args->n_bindings;
    c->key.sig.fast_math = args->fast_math;
    c->key_bytes = offsetof(struct xl__expr_key, sig) + bound;
    c->call.mem[XL__MEM_SCRATCH] = args->workspace;
    TRY(read_variant(c));
    TRY(read_bindings(c, with_memory));
fail:
    return status;
}
