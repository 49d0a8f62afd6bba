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
#include "expr/arguments.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "expr/language/functions.h"
#include "expr/overlap.h"
#include "runtime/buffer.h"

enum {
    MOST_ALIGN = 64,
    BASE_ALIGN = 128
}; /* elements; bytes: alignment of
      every buffer */

/* -- views ------------------------------------------------------------ */

static bool end_byte(const struct xl__parameter *b, size_t offset, size_t *bytes)
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

static bool is_written(const struct xl__expr_call *c, unsigned i)
{
    for (unsigned k = 0; k < c->e->n_assigned; k++) {
        if (strcmp(c->e->tree.name[c->e->assigned[k]], c->key.sig.b[i].name) ==
            0)
            return true;
    }
    return false;
}

static xl_status check_view(const struct xl__expr_call *c, unsigned i)
{
    const struct xl__parameter *b = &c->key.sig.b[i];
    const size_t offset = (size_t)c->call.value[1 + i].u;
    size_t bytes;
    for (unsigned d = 0; d < b->n_dims; d++) {
        if (b->size[d] == 0)
            return xl__error_set(&c->q->error, XL_BAD_SHAPE,
                                 "%s: dimension %u has size 0; each must have "
                                 "at least 1",
                                 b->name, d);
    }
    if (!end_byte(b, offset, &bytes))
        return xl__error_set(&c->q->error, XL_OVERFLOW,
                             "%s: its view from offset %zu does not fit in 64 "
                             "bits",
                             b->name, offset);
    if (is_written(c, i) && xl__view_overlaps_itself(b))
        return xl__error_set(&c->q->error, XL_OVERLAP,
                             "%s is written and overlaps itself: a stride is "
                             "0, or less than the extent of inner dimensions",
                             b->name);
    return XL_OK;
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
        if (!c->key.sig.b[i].is_scalar)
            TRY(check_view(c, i));
    }
fail:
    return status;
}

static const uint64_t kind_of_key =
    UINT64_MAX; /* not the id of an operation */

static bool is_given(xl_mem mem)
{
    return mem.buf || mem.svm;
}

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

static xl_status read_tensor(struct xl__expr_call *c, unsigned i)
{
    const xl_tensor *t = &c->args->bindings[i].tensor;
    struct xl__parameter *b = &c->key.sig.b[i];
    if (t->n_dims > XL_MAX_DIMS)
        return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                             "%s has %u dimensions; the maximum is %d",
                             b->name, t->n_dims, XL_MAX_DIMS);
    b->n_dims = t->n_dims;
    b->dtype = (unsigned)t->dtype;
    for (unsigned d = 0; d < t->n_dims; d++) {
        b->size[d] = t->size[d];
        /* A stride of a dimension of size 1 is not used. */
        b->stride[d] = t->size[d] == 1 ? 0 : t->stride[d];
    }
    c->call.mem[1 + i] = t->mem;
    c->call.value[1 + i].u = t->offset;
    return XL_OK;
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

/* -- memory ----------------------------------------------------------- */

static xl_status fail_memory(const struct xl__expr_call *c, unsigned i,
                             const char *what)
{
    return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                         "%s has %s; set exactly one of buf and svm",
                         c->key.sig.b[i].name, what);
}

static xl_status find_span(struct xl__expr_call *c, unsigned i,
                           struct xl__byte_range *out)
{
    xl_status status = XL_OK;
    const xl_mem mem = c->call.mem[1 + i];
    const struct xl__parameter *b = &c->key.sig.b[i];
    const size_t offset = (size_t)c->call.value[1 + i].u;
    struct xl__buffer_region at;
    size_t end;
    if (mem.buf && mem.svm)
        return fail_memory(c, i, "both a buffer and an SVM pointer");
    out->elem_bytes = xl_dtype_bytes((xl_dtype)b->dtype);
    TRY(xl__buffer_region_get(mem, &at, &c->q->error));
    if (!end_byte(b, offset, &end))
        return check_view(c, i); /* which reports the overflow */
    if (end > at.bytes)
        TRY(xl__error_set(&c->q->error, XL_BUFFER_TOO_SMALL,
                          "%s needs %zu bytes from the start of its buffer, "
                          "which has %zu",
                          b->name, end, at.bytes));
    out->root = at.root;
    out->begin = at.begin + offset * out->elem_bytes;
    out->end = at.begin + end;
fail:
    return status;
}

/* Set `align` from the address of the first element. */
static xl_status set_alignment(struct xl__expr_call *c, unsigned i,
                               const struct xl__byte_range *at)
{
    struct xl__parameter *b = &c->key.sig.b[i];
    const size_t elem = xl__max_size(1, at->elem_bytes);
    const size_t bits = at->begin | BASE_ALIGN;
    const size_t bytes = bits & (~bits + 1);
    if (bytes < elem)
        return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                             "%s: its SVM pointer is not a multiple of %zu "
                             "bytes, the size of %s",
                             b->name, elem, xl_dtype_name((xl_dtype)b->dtype));
    b->align = (unsigned)xl__min_size(MOST_ALIGN, bytes / elem);
    return XL_OK;
}

static bool is_same_view(const struct xl__parameter *a,
                         const struct xl__byte_range *at,
                         const struct xl__parameter *b,
                         const struct xl__byte_range *bt)
{
    return at->root == bt->root && at->begin == bt->begin &&
           a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

/* Check two views of which the first is written. */
static xl_status check_overlap(const struct xl__expr_call *c, unsigned i,
                               unsigned k, const struct xl__byte_range *span)
{
    const struct xl__parameter *b = c->key.sig.b;
    const bool is_twice = is_written(c, i) && is_written(c, k);
    if (b[i].same_as == b[k].same_as && !is_twice)
        return XL_OK;
    if (xl__views_are_disjoint(&b[i], &span[i], &b[k], &span[k]))
        return XL_OK;
    return xl__error_set(
        &c->q->error, XL_OVERLAP,
        "%s overlaps %s: bytes %zu to %zu and %zu to %zu of the same memory; "
        "%s",
        b[i].name, b[k].name, span[i].begin, span[i].end, span[k].begin,
        span[k].end,
        is_twice ? "both are written"
                 : "a written view must be disjoint from the others or the "
                   "same view");
}

static xl_status check_overlaps(const struct xl__expr_call *c,
                                const struct xl__byte_range *span)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < c->key.sig.n; i++) {
        if (!is_given(c->call.mem[1 + i]) || !is_written(c, i))
            continue;
        for (unsigned k = 0; k < c->key.sig.n; k++) {
            if (k != i && is_given(c->call.mem[1 + k]))
                TRY(check_overlap(c, i, k, span));
        }
    }
fail:
    return status;
}

/* Find and check the bytes of each binding whose memory is given, its
 * alignment, and equal views. */
static xl_status locate_bindings(struct xl__expr_call *c,
                                 struct xl__byte_range *span)
{
    xl_status status = XL_OK;
    struct xl__parameter *b = c->key.sig.b;
    for (unsigned i = 0; i < c->key.sig.n; i++) {
        b[i].same_as = i;
        span[i] = (struct xl__byte_range){0};
        if (b[i].is_scalar)
            continue;
        span[i].elem_bytes = xl_dtype_bytes((xl_dtype)b[i].dtype);
        span[i].begin = (size_t)c->call.value[1 + i].u * span[i].elem_bytes;
        if (is_given(c->call.mem[1 + i]))
            TRY(find_span(c, i, &span[i]));
        TRY(set_alignment(c, i, &span[i]));
        for (unsigned k = 0; k < i && b[i].same_as == i; k++) {
            if (span[i].end > 0 && span[k].end > 0 &&
                is_same_view(&b[i], &span[i], &b[k], &span[k]))
                b[i].same_as = b[k].same_as;
        }
    }
fail:
    return status;
}

/* -- a call ----------------------------------------------------------- */

static xl_status read_bindings(struct xl__expr_call *c, bool with_memory)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < c->args->n_bindings; i++) {
        const xl_binding *b = &c->args->bindings[i];
        TRY(read_name(c, i));
        if (!b->is_scalar) {
            TRY(read_tensor(c, i));
            if (with_memory && !is_given(b->tensor.mem))
                TRY(fail_memory(c, i, "no memory"));
            continue;
        }
        read_scalar(c, i);
        if (with_memory)
            TRY(check_scalar(c, i));
    }
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
    struct xl__byte_range span[XL_EXPR_MAX_BINDINGS];
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
    TRY(locate_bindings(c, span));
    if (with_memory)
        TRY(check_overlaps(c, span));
fail:
    return status;
}

xl_status xl__expr_check_workspace(struct xl__expr_call *c, size_t bytes)
{
    xl_status status = XL_OK;
    const xl_mem mem = c->call.mem[XL__MEM_SCRATCH];
    struct xl__error *e = &c->q->error;
    struct xl__buffer_region at;
    if (bytes == 0 || !is_given(mem))
        return XL_OK;
    if (mem.buf && mem.svm)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "the workspace has both a buffer and an SVM "
                          "pointer; set at most one"));
    TRY(xl__buffer_region_get(mem, &at, e));
    if (at.bytes < bytes)
        TRY(xl__error_set(e, XL_BUFFER_TOO_SMALL,
                          "the workspace has %zu bytes, %zu are required; "
                          "xl_expr_workspace() returns the size",
                          at.bytes, bytes));
    for (unsigned i = 0; i < c->key.sig.n; i++) {
        struct xl__byte_range span = {0};
        if (c->key.sig.b[i].is_scalar)
            continue;
        TRY(find_span(c, i, &span));
        if (span.root == at.root && span.begin < at.begin + bytes &&
            at.begin < span.end)
            TRY(xl__error_set(e, XL_OVERLAP,
                              "%s overlaps the workspace: bytes %zu to %zu "
                              "and %zu to %zu of the same memory",
                              c->key.sig.b[i].name, span.begin, span.end,
                              at.begin, at.begin + bytes));
    }
fail:
    return status;
}
