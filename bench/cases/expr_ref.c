/* SPDX-License-Identifier: Apache-2.0 */
/* What every reference stands on: a case's names with their shapes, an element
 * of a host tensor, the tolerance of an element in memory. */
#include "cases/expr_cases.h"

#include <math.h>
#include <string.h>

#include "cases/expr_scan.h"
#include "cases/host_ops.h"

bool expr_case_spec(const struct expr_case *c, bool timed,
                    struct expr_spec *out, char *why)
{
    struct expr_scan seen;
    memset(out, 0, sizeof *out);
    out->text = c->text;
    if (!expr_read_shapes(out, timed ? c->timed : c->small, why) ||
        !expr_read_scalars(out, c->scalars, why) ||
        !expr_read_ranges(out, c->ranges, why))
        return false;
    expr_scan(c->text, &seen);
    for (unsigned i = 0; i < seen.n; i++) {
        const struct expr_seen *s = &seen.name[i];
        struct expr_name *n = expr_find(out, s->name, strlen(s->name));
        if (!n)
            continue;
        n->is_input = s->is_read_first;
        n->is_result = s->is_assigned;
    }
    return expr_spec_settle(out, why);
}

struct expr_point expr_point_at(const struct expr_host *host, unsigned k,
                                size_t at)
{
    struct expr_point p = {.host = host, .n_dims = host->spec->name[k].n_dims};
    for (unsigned i = 0; i < k; i++)
        p.out += host->spec->name[i].is_result;
    expr_index(&host->spec->name[k], at, p.i);
    return p;
}

double expr_tolerance(struct num want, xl_dtype dtype)
{
    if (dtype != XL_F16 && dtype != XL_BF16)
        return want.e;
    return want.e + ref_roundoff(dtype) * (fabs(want.x) + want.e) +
           ref_floor(dtype);
}

struct num ref_in(const struct expr_point *p, unsigned k)
{
    const struct expr_name *n = &p->host->spec->name[k];
    size_t at = p->host->first[k];
    for (unsigned d = 0; d < n->n_dims; d++) {
        size_t i = p->i[p->n_dims - n->n_dims + d];
        at += (n->size[d] == 1 ? 0 : i) * n->stride[d];
    }
    return n_exact(ref_load(p->host->data[k], at, n->dtype));
}

struct num ref_scalar(const struct expr_point *p, unsigned k)
{
    return n_lit(p->host->spec->name[k].scalar);
}

size_t ref_size(const struct expr_point *p, unsigned k, unsigned from_end)
{
    const struct expr_name *n = &p->host->spec->name[k];
    return n->size[n->n_dims - 1 - from_end];
}

struct expr_point ref_move(const struct expr_point *p, unsigned from_end,
                           size_t i)
{
    struct expr_point q = *p;
    q.i[q.n_dims - 1 - from_end] = i;
    return q;
}
