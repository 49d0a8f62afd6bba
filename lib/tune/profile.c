/* SPDX-License-Identifier: Apache-2.0 */
/* Device profiles of a queue's device: which one selects, and saving one. */
#include <math.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "runtime/context.h"

xl_status xl_profile_find(xl_queue *q, xl_profile *out)
{
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    xl__tuned_profile_find(&q->ctx->lib->tuned, q->ctx->device, out);
    return XL_OK;
}

static xl_status check_rate(const xl_rate *rate, struct xl__error *e)
{
    const bool is_text = memchr(rate->fact, '\0', sizeof rate->fact) != NULL;
    const enum xl__fact_id id =
        is_text ? xl__fact_find(rate->fact) : XL__N_FACTS;
    if (id == XL__N_FACTS || !xl__fact_is_rate(id))
        return xl__error_set(e, XL_BAD_ARGUMENT, "'%.*s' is not a rate",
                             (int)sizeof rate->fact, rate->fact);
    if (!(rate->value > 0) || isinf(rate->value))
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s is %g: must be a positive number", rate->fact,
                             rate->value);
    return XL_OK;
}

xl_status xl_profile_save(xl_queue *q, const xl_profile *profile,
                          const char *path)
{
    xl_status status = XL_OK;
    if (!q || !profile)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    if (profile->n_rates == 0 || profile->n_rates > XL_PROFILE_RATES)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "a profile has 1 to %d rates, this one %u",
                             XL_PROFILE_RATES, profile->n_rates);
    for (unsigned i = 0; i < profile->n_rates; i++)
        TRY(check_rate(&profile->rates[i], &q->error));
    xl_profile dated = *profile;
    const struct xl__tuned_change change = {.profile = &dated, .path = path};
    xl__tuned_driver(q->ctx->device, dated.driver, sizeof dated.driver);
    xl__write_date(dated.date, sizeof dated.date);
    xl__strcpy(dated.library, sizeof dated.library, xl_version());
    TRY(xl__tuned_sets_save(&q->ctx->lib->tuned, q->ctx->device, &change,
                            &q->error));
fail:
    return status;
}
