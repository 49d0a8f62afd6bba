/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the conditions of --fail-on. A row, an op or the change of all
 * rows fails `slower` if its difference is real and its whole interval above
 * the limit, not only the estimate. */
#include "compare/gate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads "slower:5%" or "slower:5". */
static bool read_slower(const char *text, double *percent)
{
    static const char prefix[] = "slower:";
    char *end = NULL;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    text += sizeof prefix - 1;
    *percent = strtod(text, &end);
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    end += *end == '%';
    return end > text && *end == '\0' && isfinite(*percent);
}

static bool read_condition(struct gate *gate, const char *condition)
{
    if (strcmp(condition, "rejected") == 0)
        gate->rejected = true;
    else if (strcmp(condition, "missing") == 0)
        gate->missing = true;
    else
        return read_slower(condition, &gate->slower);
    return true;
}

char *gate_read(struct gate *gate, const struct option_list *list)
{
    *gate = (struct gate){.slower = (double)NAN};
    for (unsigned i = 0; i < list->n; i++)
        for (const char *at = list->value[i]; at;) {
            struct xl__str condition = {0};
            const size_t len = strcspn(at, ",");
            xl__str_add_n(&condition, at, len);
            if (!read_condition(gate, xl__str_text(&condition)))
                return xl__str_steal(&condition);
            xl__str_clear(&condition);
            at = at[len] ? at + len + 1 : NULL;
        }
    return NULL;
}

bool gate_is_on(const struct gate *gate)
{
    return !isnan(gate->slower) || gate->rejected || gate->missing;
}

/* The margin has no part in it: the limit may be smaller. */
static bool is_beyond(const struct gate *gate, const struct ratio *ratio)
{
    static const double whole = 100;
    return ratio->is_found && ratio->call != CALL_FASTER &&
           ratio->lo > 1 + gate->slower / whole;
}

void gate_mark(struct gate *gate, struct comparison *c)
{
    const struct ratio common = compare_common(c);
    gate->n_compared += c->n_compared;
    gate->n_slower_all += is_beyond(gate, &common);
    for (size_t i = 0; i < c->n; i++) {
        struct pair *p = &c->pairs[i];
        const bool is_slower = is_beyond(gate, &p->ratio);
        const bool is_rejected = gate->rejected && pair_is_rejected(p);
        const bool is_missing =
            gate->missing && p->ratio.call == CALL_MISSING;
        gate->n_slower += is_slower;
        gate->n_rejected += is_rejected;
        gate->n_missing += is_missing;
        p->is_gated = is_slower || is_rejected || is_missing;
    }
    for (size_t i = 0; i < c->n_ops; i++) {
        c->ops[i].is_gated = is_beyond(gate, &c->ops[i].mean);
        gate->n_slower_ops += c->ops[i].is_gated;
    }
}

/* True if there is a limit on slowness but no row to check. */
static bool has_no_rows(const struct gate *gate)
{
    return !isnan(gate->slower) && gate->n_compared == 0;
}

bool gate_fails(const struct gate *gate)
{
    return gate->n_slower + gate->n_slower_ops + gate->n_slower_all +
                   gate->n_rejected + gate->n_missing >
               0 ||
           has_no_rows(gate);
}

static const char *result_text(bool fails)
{
    return fails ? "FAILED" : "passed";
}

void gate_report(const struct gate *gate, struct xl__str *out)
{
    if (has_no_rows(gate))
        xl__str_printf(out,
                       "gate slower:%g%%: FAILED, no row has an interval: "
                       "each needs a time and several runs in a and b\n",
                       gate->slower);
    else if (!isnan(gate->slower))
        xl__str_printf(
            out, "gate slower:%g%%: %s, rows: %zu, ops: %zu%s\n", gate->slower,
            result_text(
                gate->n_slower + gate->n_slower_ops + gate->n_slower_all > 0),
            gate->n_slower, gate->n_slower_ops,
            gate->n_slower_all > 0 ? ", and all rows together" : "");
    if (gate->rejected)
        xl__str_printf(out, "gate rejected: %s, rows: %zu\n",
                       result_text(gate->n_rejected > 0), gate->n_rejected);
    if (gate->missing)
        xl__str_printf(out, "gate missing: %s, rows: %zu\n",
                       result_text(gate->n_missing > 0), gate->n_missing);
}
