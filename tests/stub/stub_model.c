/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's device with a time model (control.h): an in-order queue on
 * which every launch takes the time that the model returns, by the model's
 * clock. A wait takes until then. The model also sets the event times, which
 * may be wrong on purpose. */
#include "stub.h"

static const struct xl_model *model;
static _Atomic(unsigned long long) n_launches;

void stub_set_model(const struct xl_model *to)
{
    model = to;
    n_launches = 0;
}

bool stub_has_model(void) { return model != NULL; }

double stub_takes(struct xl_launch *launch)
{
    if (!model)
        return 0;
    launch->number = n_launches++;
    if (model->drops && model->drops(model->arg, launch))
        return 0;
    return model->takes ? model->takes(model->arg, launch) : 0;
}

void stub_work(cl_command_queue q, cl_command_type type, double ns,
               cl_event event)
{
    const cl_ulong now = model->clock->now_ns();
    const cl_ulong start = q->busy.until_ns > now ? q->busy.until_ns : now;
    const cl_ulong end = start + (cl_ulong)ns;
    unsigned long long reported[XL_N_STAMPS] = {now, now, start, end};
    q->busy.until_ns = end;
    q->busy.ends_in_marker = type == CL_COMMAND_MARKER;
    if (model->set_stamps)
        model->set_stamps(model->arg, reported);
    for (unsigned i = 0; event && i < XL_N_STAMPS; i++)
        event->stamp_ns[i] = reported[i];
    if (event)
        event->due_ns = end;
    if (type == CL_COMMAND_READ_BUFFER || type == CL_COMMAND_MAP_BUFFER)
        stub_wait(end);
}

void stub_wait(cl_ulong due_ns)
{
    const cl_ulong now = model ? model->clock->now_ns() : due_ns;
    if (now < due_ns)
        model->clock->sleep_ns(due_ns - now);
}

void stub_finish(cl_command_queue q)
{
    const enum xl_finish finish = model ? model->finish : XL_FINISH_WAITS;
    if (finish == XL_FINISH_WAITS ||
        (finish == XL_FINISH_AFTER_MARKER && q->busy.ends_in_marker))
        stub_wait(q->busy.until_ns);
}
