/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a call: read, checked, and split.
 *
 *     key    names, types, shapes, strides, alignment, equal views
 *     call   memory, offsets, scalars
 *
 * Plans depend on the key only. What the key states is checked when a plan is
 * made (xl__expr_check_signature); a key that is found in the cache was
 * correct the first time. What may differ between calls of one key is checked
 * in every call (xl__expr_check), without allocation, and without formatting
 * unless there is an error. Every message names the binding. */
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/sized.h"
#include "expr/language/functions.h"
#include "ops/expression/expression.h"
#include "runtime/context.h"

enum { MOST_ALIGN = 64 };  /* elements */
enum { BASE_ALIGN = 128 }; /* bytes: alignment of every buffer */

/* -- the signature ---------------------------------------------------- */

static xl_status check_name(xl_queue *q, const struct xl__parameter *b,
                            unsigned i)
{
    const char *name = b[i].name;
    if (!xl__is_name(name, strlen(name)))
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "binding %u: a name is a letter or _, then "
                             "letters, digits and _",
                             i);
    if (xl__is_reserved(name, strlen(name)))
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "binding %u: \"%s\" is reserved by the language; "
                             "choose another name",
                             i, name);
    for (unsigned k = 0; k < i; k++) {
        if (strcmp(b[k].name, name) == 0)
            return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                                 "\"%s\" is bound twice, by bindings %u and "
                                 "%u",
                                 name, k, i);
    }
    return XL_OK;
}

static xl_status check_dtype(xl_queue *q, const struct xl__parameter *b)
{
    const xl_dtype dtype = (xl_dtype)b->dtype;
    if (b->is_scalar ? xl__is_scalar_type(dtype) : xl__is_expr_type(dtype))
        return XL_OK;
    return xl__error_set(&q->error, XL_BAD_ARGUMENT, "%s is of type %s; %s",
                         b->name, xl_dtype_name(dtype),
                         b->is_scalar ? "a scalar is " XL__SCALAR_TYPES
                                      : "a tensor is " XL__EXPR_TYPES
                                        " or bool");
}

xl_status xl__expr_check_signature(xl_queue *q, const struct xl__signature *s)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < s->n; i++) {
        const struct xl__region *r = &q->memory.operand[i];
        TRY(check_name(q, s->b, i));
        TRY(check_dtype(q, &s->b[i]));
        if (r->is_written)
            TRY(xl__region_check_itself(r, &q->error));
    }
fail:
    return status;
}

/* -- the check of a call ---------------------------------------------- */

/* Only the length; the rest by xl__expr_check_signature(). */
static xl_status check_length(xl_queue *q, const char *name, unsigned i)
{
    if (!name)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "binding %u has no name", i);
    if (memchr(name, 0, XL_EXPR_MAX_NAME + 1))
        return XL_OK;
    return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                         "binding %u: the name \"%.*s...\" is longer than %d "
                         "letters",
                         i, XL_EXPR_MAX_NAME, name, XL_EXPR_MAX_NAME);
}

static bool is_assigned(const xl_expr *e, const char *name)
{
    for (unsigned k = 0; k < e->n_assigned; k++) {
        if (strcmp(e->tree.name[e->assigned[k]], name) == 0)
            return true;
    }
    return false;
}

/* A scalar has a value of its type. */
static xl_status check_scalar(const xl_binding *b, struct xl__error *e)
{
    if (xl__scalar_fits(b->scalar, b->tensor.dtype))
        return XL_OK;
    return xl__error_set(
        e, XL_BAD_SCALAR,
        b->tensor.dtype == XL_I32
            ? "%s is %.17g; must be a whole number of 32 bits"
        : b->tensor.dtype == XL_I64
            ? "%s is %.17g; must be a whole number between "
                               "-2^53 and 2^53; bind others as tensors"
            : "%s is %.17g, which overflows f32; for "
              "infinity bind INFINITY",
        b->name, b->scalar);
}

static bool is_empty(const xl_tensor *t)
{
    bool is = false;
    for (unsigned d = 0; d < t->n_dims && d < XL_MAX_DIMS; d++)
        is = is || t->size[d] == 0;
    return is;
}

/* What xl__region_init() checks of others. */
static xl_status check_empty(const xl_binding *b, struct xl__error *e)
{
    xl_tensor other = b->tensor;
    struct xl__region r;
    for (unsigned d = 0; d < other.n_dims && d < XL_MAX_DIMS; d++)
        other.size[d] = 1;
    return xl__region_init(&r, b->name, &other, e);
}

/* Its region is operand i. Scalars and tensors without elements have one too,
 * without memory. */
static xl_status check_binding(xl_queue *q, const struct xl__expr_desc *d,
                               unsigned i, bool with_memory)
{
    xl_status status = XL_OK;
    const xl_binding *b = &d->args->bindings[i];
    struct xl__region *r = &q->memory.operand[i];
    TRY(check_length(q, b->name, i));
    if (b->is_scalar) {
        r->is_located = r->is_written = false;
        return with_memory ? check_scalar(b, &q->error) : XL_OK;
    }
    if (is_empty(&b->tensor)) {
        r->is_located = r->is_written = false;
        return check_empty(b, &q->error);
    }
    TRY(xl__region_init(r, b->name, &b->tensor, &q->error));
    r->is_written = is_assigned(d->e, b->name);
    r->may_be_result = true;
    TRY(xl__operand_locate(&q->memory, i, b->tensor.mem, with_memory,
                           &q->error));
fail:
    return status;
}

const void *xl__expr_read(const void *given, void *full, struct xl__error *e)
{
    const struct xl__expr_desc *d = given;
    struct xl__expr_desc_copy *copy = full;
    if (!d->args)
        return d; /* an error of the check */
    const xl_expr_args *args =
        xl__sized_read(&xl__op_expr.descriptor, d->args, &copy->args, e);
    if (!args || args == d->args)
        return args ? d : NULL;
    copy->desc = (struct xl__expr_desc){d->e, args};
    return &copy->desc;
}

xl_status xl__expr_check(xl_queue *q, const void *desc, bool with_memory)
{
    xl_status status = XL_OK;
    const struct xl__expr_desc *d = desc;
    const xl_expr_args *args = d->args;
    if (!d->e)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the expression is NULL"));
    if (!args || (args->n_bindings > 0 && !args->bindings))
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT, "there are no %s",
                          args ? "bindings" : "arguments"));
    if (args->n_bindings > XL_EXPR_MAX_BINDINGS)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "%u bindings; at most %d are possible",
                          args->n_bindings, XL_EXPR_MAX_BINDINGS));
    q->memory.n = args->n_bindings;
    for (unsigned i = 0; i < args->n_bindings; i++)
        TRY(check_binding(q, d, i, with_memory));
    if (with_memory)
        TRY(xl__operands_check_apart(&q->memory, &q->error));
fail:
    return status;
}

/* -- key and call ----------------------------------------------------- */

size_t xl__expr_listed_bytes(const void *desc)
{
    const struct xl__expr_desc *d = desc;
    return d->args->n_bindings * sizeof(struct xl__parameter);
}

/* Set `align` from the address of the first element, and `same_as`. */
static void compare_view(const struct xl__region *r, struct xl__parameter *b,
                         unsigned i)
{
    const size_t bits = r[i].begin | BASE_ALIGN;
    const size_t bytes = bits & (~bits + 1);
    b[i].align = (unsigned)xl__min_size(MOST_ALIGN, bytes / r[i].elem_bytes);
    for (unsigned k = 0; k < i && b[i].same_as == i; k++) {
        if (!b[k].is_scalar && b[k].n_dims == b[i].n_dims &&
            memcmp(b[k].size, b[i].size, sizeof b[i].size) == 0 &&
            xl__regions_are_same_view(&r[k], &r[i]))
            b[i].same_as = b[k].same_as;
    }
}

static void bind_tensor(const struct xl__region *r, const xl_tensor *t,
                        struct xl__parameter *b, unsigned i)
{
    b[i].n_dims = t->n_dims;
    b[i].dtype = (unsigned)t->dtype;
    for (unsigned d = 0; d < t->n_dims; d++) {
        b[i].size[d] = t->size[d];
        /* A stride of a dimension of size 1 is not used. */
        b[i].stride[d] = t->size[d] == 1 ? 0 : t->stride[d];
    }
    if (is_empty(t))
        b[i].align = 1;
    else
        compare_view(r, b, i);
}

xl_status xl__expr_bind(xl_queue *q, const void *desc, void *canonical,
                        struct xl__call *call)
{
    const struct xl__expr_desc *d = desc;
    struct xl__expr_canonical *key = canonical;
    struct xl__parameter *b = key->sig.b;
    memcpy(key->id, d->e->id, sizeof key->id);
    key->sig.n = d->args->n_bindings;
    key->sig.fast_math = d->args->fast_math;
    memset(b, 0, xl__expr_listed_bytes(desc));
    call->mem[XL__MEM_SCRATCH] = d->args->workspace;
    for (unsigned i = 0; i < key->sig.n; i++) {
        const xl_binding *from = &d->args->bindings[i];
        xl__strcpy(b[i].name, sizeof b[i].name, from->name);
        b[i].same_as = i;
        call->mem[1 + i] = from->tensor.mem;
        if (!from->is_scalar) {
            call->value[1 + i].u = from->tensor.offset;
            bind_tensor(q->memory.operand, &from->tensor, b, i);
            continue;
        }
        b[i].is_scalar = 1;
        b[i].dtype = (unsigned)from->tensor.dtype;
        call->value[1 + i].f = from->scalar;
        call->mem[1 + i] = (xl_mem){NULL};
    }
    return XL_OK;
}
