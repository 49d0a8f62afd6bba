/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of a device's list, planned and put in order of their estimates.
 * Nothing else: which of them is right here, op.c finds out. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "device/device.h"
#include "ops/op.h"

/* Plan one variant; an unfit one is refused, not an error. */
static xl_status fill(const struct xl_device *dev, const void *canonical,
                      const char *forced, struct xl__candidate *c,
                      struct xl__error *e)
{
    const struct xl__variant *v = c->variant;
    if (forced && strcmp(forced, v->name) != 0) {
        c->refused = "the caller named another variant";
        return XL_OK;
    }
    c->refused = v->refuses ? v->refuses(&dev->limits, canonical) : NULL;
    if (c->refused)
        return XL_OK;
    if (v->choose)
        v->choose(&dev->limits, canonical, &c->params);
    c->plan = xl__calloc(1, sizeof *c->plan);
    if (!c->plan)
        return xl__error_set(e, XL_NO_MEMORY, "a plan");
    const xl_status status =
        v->plan(&dev->limits, canonical, &c->params, c->plan);
    if (status == XL_OK)
        return XL_OK;
    free(c->plan);
    c->plan = NULL;
    if (status != XL_UNSUPPORTED)
        return xl__error_set(e, status, "%s: no plan", v->name);
    c->refused = "no set of its tunables fits this device";
    return XL_OK;
}

static int compare(const void *a, const void *b)
{
    const struct xl__candidate *x = a, *y = b;
    if (!x->refused != !y->refused)
        return x->refused ? 1 : -1;
    if (!x->refused && x->plan->est_ns != y->plan->est_ns)
        return x->plan->est_ns < y->plan->est_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* The forced name must be one of the list's. */
static xl_status check_name(const struct xl__variant *const *list,
                            const struct xl__op *op, const char *forced,
                            struct xl__error *e)
{
    struct xl__str names = {0};
    for (unsigned i = 0; list[i]; i++) {
        if (strcmp(list[i]->name, forced) == 0) {
            xl__str_clear(&names);
            return XL_OK;
        }
        xl__str_printf(&names, "%s%s", i > 0 ? ", " : "", list[i]->name);
    }
    const xl_status status =
        xl__error_set(e, XL_BAD_ARGUMENT,
                      "%s has no variant \"%s\" on this device; it has %s",
                      op->name, forced, xl__str_text(&names));
    xl__str_clear(&names);
    return status;
}

xl_status xl__select(const struct xl_device *dev, const struct xl__op *op,
                     const void *canonical, const char *forced,
                     struct xl__candidate **out, unsigned *n,
                     struct xl__error *e)
{
    xl_status status = XL_OK;
    const struct xl__variant *const *list = dev->vendor->variants[op->id];
    struct xl__candidate *c = NULL;
    unsigned count = 0;
    *out = NULL;
    *n = 0;
    if (forced)
        TRY(check_name(list, op, forced, e));
    while (list[count])
        count++;
    c = xl__calloc(count, sizeof *c);
    if (!c)
        TRY(xl__error_set(e, XL_NO_MEMORY, "candidates"));
    for (unsigned i = 0; i < count; i++) {
        c[i].variant = list[i];
        c[i].rank = i;
        TRY(fill(dev, canonical, forced, &c[i], e));
    }
    qsort(c, count, sizeof *c, compare);
    *out = c;
    *n = count;
    return XL_OK;
fail:
    xl__candidates_free(c, count);
    return status;
}

void xl__candidates_free(struct xl__candidate *c, unsigned n)
{
    for (unsigned i = 0; c && i < n; i++)
        free(c[i].plan);
    free(c);
}
