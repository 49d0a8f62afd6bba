/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `timer`: compares the event clock with the wall clock, checks that
 * clFinish waits, and finds the step of the event clock. The comparison is
 * that of sampling/event_clock.c. */

#include "base/str.h"
#include "measure/probe.h"
#include "sampling/event_clock.h"

static void emit_value(struct xl__session *p, const char *variant,
                       double value, const char *unit, const char *fault,
                       const char *remedy)
{
    xl_row row = xl__probe_row("probe_timer", variant, unit);
    row.value = value;
    if (fault)
        xl__row_mark(&row, XL_ROW_SUSPICIOUS, "%s%s", fault, remedy);
    xl__probe_emit(p, &row);
}

static const char *find_finish_fault(const struct xl__clock *c)
{
    if (c->finish < xl__finish_waits_frac)
        return "clFinish returns before the work is done";
    return c->finish_alone < xl__finish_waits_frac
               ? "clFinish returns before the work is done unless a marker "
                 "precedes it, which is enqueued from now on"
               : NULL;
}

static xl_status run_timer_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct xl__clock c;
    if (!p->q->can_profile)
        return xl__error_set(&p->q->error, XL_UNSUPPORTED,
                             "the queue was created without profiling: "
                             "there is no event clock to test");
    TRY(xl__timer_compare(p->q, &c));
    xl__timer_set_facts(&p->q->ctx->device->seen, &c);
    emit_value(p, "event_over_wall", c.ratio, "1", xl__timer_fault(&c),
               ": the wall clock is used");
    emit_value(p, "finish_over_wall", c.finish, "1", find_finish_fault(&c),
               "");
    emit_value(p, "step", c.step_ns * 1e-9, "s",
               c.step_ns > 0 ? NULL : "no two stamps differ", "");
fail:
    return status;
}

const struct xl__probe xl__probe_timer = {
    {"timer",
     "The event clock against the wall clock over a kernel of about 20 ms, "
     "whether clFinish waits for it, and the step of the event clock from the "
     "stamps of short kernels. Load by other programs, which the wall clock "
     "includes, is recognized by the advance of both clocks between two "
     "kernels.",
     true},
    run_timer_probe};
