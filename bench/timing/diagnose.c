/* SPDX-License-Identifier: Apache-2.0 */
#include "timing/diagnose.h"

#include <stdio.h>

#include "base/str.h"

static double times(const size_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

void diagnose_count(const xl_choice *choice, const xl_row *row,
                    xl_counts *work)
{
    *work = (xl_counts){.is_cold = row->cold, .footprint_bytes = row->bytes};
    xl_counts_set_times(work, &row->samples);
    work->flop[0] = choice->on;
    work->flop[0].count = row->flop;
    if (choice->on.terms <= 1)
        work->flop[0].dtype = row->dtype;
    work->bytes[XL_LEVEL_DRAM] = row->bytes;
    work->launches = choice->n_steps;
    work->private_bytes = (double)choice->private_bytes;
    if (choice->wg[0] == 0) /* the driver's choice */
        return;
    work->wg_size = times(choice->wg);
    work->groups = times(choice->global) / work->wg_size;
}

void diagnose_idle(const xl_choice *choices, unsigned n, char *why, size_t cap)
{
    const xl_choice *engine = NULL;
    bool is_used = false;
    for (unsigned i = 0; i < n; i++) {
        const bool has = choices[i].on.engine == XL_ENGINE_MATRIX;
        is_used = is_used || (has && choices[i].chosen);
        engine = engine || !has ? engine : &choices[i];
    }
    xl__strcpy(why, cap, "");
    if (engine && !is_used)
        snprintf(why, cap, "%s: %s", engine->variant, engine->why);
    else if (!is_used)
        xl__strcpy(why, cap, "no variant that was asked for has it");
}

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

void diagnose_learn(xl_queue *q)
{
    static const xl_probing quick = {.quick = true};
    xl_fact launch;
    if (xl_device_fact(xl_queue_device(q), "launch_ns", XL_MEASURED,
                       &launch) != XL_OK ||
        launch.source != XL_MEASURED)
        (void)xl_probe_run(q, "launch", &quick, drop_row, NULL);
}
