/* SPDX-License-Identifier: Apache-2.0 */
/* An op's epilogue as a snippet: found by all that it depends on, or made. A
 * call that was made before costs a hash and a comparison. */
#include "expr/codegen/epilogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/alloc.h"
#include "device/device.h"
#include "expr/graph/graph.h"

/* All that a snippet depends on but the expression's letters; no padding. */
struct key {
    uint64_t expr; /* hash of the letters */
    uint64_t dtype, n;
    struct key_operand {
        struct xl__epilogue_name as;
        size_t stride[XL__N_ALONG];
    } operand[XL_EPILOGUE_MAX_BINDINGS];
};

struct made {
    struct xl__epilogue_text s; /* first: what the op has is a pointer to it */
    struct key key;
};

/* -- the key --------------------------------------------------------------- */

static size_t key_bytes(size_t n)
{
    return offsetof(struct key, operand) + n * sizeof(struct key_operand);
}

bool xl__epilogue_fits(const xl_binding *b, const size_t size[XL__N_ALONG],
                       size_t stride[XL__N_ALONG])
{
    const xl_tensor *t = &b->tensor;
    for (unsigned along = 0; along < XL__N_ALONG; along++)
        stride[along] = 0;
    if (b->is_scalar)
        return true;
    if (t->n_dims > XL_MAX_DIMS)
        return false;
    for (unsigned d = 0; d < t->n_dims; d++) {
        const unsigned along = d + XL__N_ALONG - t->n_dims; /* wraps below 0 */
        if (t->size[d] == 1)
            continue;
        if (along >= XL__N_ALONG || t->size[d] != size[along])
            return false;
        stride[along] = t->stride[d];
    }
    return true;
}

static xl_status set_name(struct xl__epilogue_name *to, const xl_binding *b,
                          struct xl__error *e)
{
    size_t len = 0;
    while (len < sizeof to->name && b->name[len])
        len++;
    if (len == sizeof to->name)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "the name \"%.*s...\" is longer than %d letters",
                             XL_EXPR_MAX_NAME, b->name, XL_EXPR_MAX_NAME);
    memset(to->name, 0, sizeof to->name);
    memcpy(to->name, b->name, len);
    to->dtype = (unsigned)b->tensor.dtype;
    to->is_scalar = b->is_scalar;
    return XL_OK;
}

/* `fits`: all operands broadcast over the result. */
static xl_status set_key(const struct xl__epilogue_request *want,
                         struct key *key, bool *fits, struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_epilogue *ep = want->epilogue;
    key->expr = xl__hash64(ep->expr, strlen(ep->expr));
    key->dtype = (uint64_t)want->dtype;
    key->n = ep->n_bindings;
    *fits = true;
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        TRY(set_name(&key->operand[k].as, &ep->bindings[k], e));
        *fits &= xl__epilogue_fits(&ep->bindings[k], want->size,
                                   key->operand[k].stride);
    }
fail:
    return status;
}

/* -- looking --------------------------------------------------------------- */

static const struct xl__epilogue_text *
find(struct xl__epilogue_text *const *first, uint64_t hash,
     const struct key *key, const char *expr)
{
    const size_t bytes = key_bytes((size_t)key->n);
    for (const struct xl__epilogue_text *s = *first; s; s = s->next) {
        const struct xl__epilogue *of = s->inside;
        if (s->hash == hash && s->n_operands == key->n &&
            memcmp(&((const struct made *)s)->key, key, bytes) == 0 &&
            strcmp(of->expr, expr) == 0)
            return s;
    }
    return NULL;
}

static bool is_same(const struct xl__epilogue *a, const struct key *key,
                    const char *expr)
{
    if ((uint64_t)a->dtype != key->dtype || a->n != key->n ||
        strcmp(a->expr, expr) != 0)
        return false;
    for (unsigned k = 0; k < a->n; k++) {
        if (memcmp(&a->operand[k], &key->operand[k].as,
                   sizeof a->operand[k]) != 0)
            return false;
    }
    return true;
}

/* Of another shape. */
static struct xl__epilogue *find_epilogue(const struct xl__context *ctx,
                                          const struct key *key,
                                          const char *expr)
{
    for (unsigned i = 0; i < XL__EPILOGUE_LISTS; i++) {
        for (struct xl__epilogue_text *s = ctx->epilogues[i]; s; s = s->next) {
            if (is_same(s->inside, key, expr))
                return s->inside;
        }
    }
    return NULL;
}

/* -- making ---------------------------------------------------------------- */

static void drop(struct xl__epilogue *ep)
{
    if (!ep || --ep->n_users > 0)
        return;
    xl__graph_clear(&ep->g);
    free(ep->expr);
    free(ep->text);
    free(ep);
}

static xl_status no_memory(struct xl__error *e)
{
    return xl__error_set(e, XL_NO_MEMORY, "an epilogue");
}

static xl_status make_epilogue(xl_queue *q,
                               const struct xl__epilogue_request *want,
                               const struct key *key,
                               struct xl__epilogue **out)
{
    xl_status status = XL_OK;
    struct xl__epilogue *ep = xl__calloc(1, sizeof *ep);
    if (ep)
        ep->n_users = 1;
    if (!ep || !(ep->expr = xl__strdup(want->epilogue->expr)))
        TRY(no_memory(&q->error));
    ep->dtype = want->dtype;
    ep->n = (unsigned)key->n;
    for (unsigned k = 0; k < ep->n; k++)
        ep->operand[k] = key->operand[k].as;
    TRY(xl__epilogue_read(want, ep, &q->error));
    status = xl__epilogue_write(ep, &q->ctx->device->limits);
    if (status != XL_OK)
        TRY(no_memory(&q->error));
    *out = ep;
    return XL_OK;
fail:
    drop(ep);
    return status;
}

static struct xl__epilogue_text *make_snippet(struct xl__epilogue *ep,
                                              const struct key *key)
{
    struct made *m = xl__calloc(1, sizeof *m);
    if (!m)
        return NULL;
    memcpy(&m->key, key, key_bytes((size_t)key->n));
    m->s.text = ep->text;
    m->s.flop = ep->flop;
    m->s.inside = ep;
    m->s.n_operands = ep->n;
    for (unsigned k = 0; k < ep->n; k++) {
        struct xl__epilogue_operand *o = &m->s.operand[k];
        o->dtype = (xl_dtype)key->operand[k].as.dtype;
        o->is_scalar = key->operand[k].as.is_scalar != 0;
        memcpy(o->stride, key->operand[k].stride, sizeof o->stride);
    }
    return &m->s;
}

/* Under ctx->lock. An operand that does not fit has the expression read again,
 * which tells where it stands. */
static xl_status make(xl_queue *q, const struct xl__epilogue_request *want,
                      const struct key *key, bool fits,
                      struct xl__epilogue_text **out)
{
    xl_status status = XL_OK;
    struct xl__epilogue *ep =
        fits ? find_epilogue(q->ctx, key, want->epilogue->expr) : NULL;
    if (ep)
        ep->n_users++;
    else
        TRY(make_epilogue(q, want, key, &ep));
    *out = make_snippet(ep, key);
    if (*out)
        return XL_OK;
    drop(ep);
    status = no_memory(&q->error);
fail:
    return status;
}

static void clear_epilogues(struct xl__context *ctx)
{
    for (unsigned i = 0; i < XL__EPILOGUE_LISTS; i++) {
        while (ctx->epilogues[i]) {
            struct xl__epilogue_text *s = ctx->epilogues[i];
            ctx->epilogues[i] = s->next;
            drop(s->inside);
            free(s);
        }
    }
}

xl_status xl__epilogue_text_get(xl_queue *q,
                                const struct xl__epilogue_request *want,
                                const struct xl__epilogue_text **out)
{
    xl_status status = XL_OK;
    struct xl__context *ctx = q->ctx;
    struct key key;
    struct xl__epilogue_text *made;
    bool fits;
    *out = NULL;
    TRY(set_key(want, &key, &fits, &q->error));
    const uint64_t hash = xl__hash64(&key, key_bytes((size_t)key.n));
    struct xl__epilogue_text **first =
        &ctx->epilogues[hash % XL__EPILOGUE_LISTS];
    xl__lock_take(&ctx->lock);
    *out = fits ? find(first, hash, &key, want->epilogue->expr) : NULL;
    if (!*out) {
        status = make(q, want, &key, fits, &made);
        if (status == XL_OK) {
            made->hash = hash;
            made->next = *first;
            *out = *first = made;
            ctx->clear_epilogues = clear_epilogues;
        }
    }
    xl__lock_drop(&ctx->lock);
fail:
    return status;
}
