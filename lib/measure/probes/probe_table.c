/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all probes, in the order of a full run, and the public function
 * that runs one by name. */
#include "measure/probe.h"

const struct xl__probe *const xl__probes[] = {
    &xl__probe_timer, /* first: the others use its result */
    &xl__probe_subgroup,
    &xl__probe_cache, /* before bandwidth, which uses the sizes of caches */
    &xl__probe_bandwidth, /* before coalescing, which uses its roof */
    &xl__probe_coalescing,
    &xl__probe_local,
    &xl__probe_constant,
    &xl__probe_image,
    &xl__probe_occupancy,
    &xl__probe_tlb,
    &xl__probe_tile, /* before flops, which uses the native vector width */
    &xl__probe_flops,
    &xl__probe_ints,
    &xl__probe_matrix,
    &xl__probe_staircase,
    &xl__probe_hiding,
    &xl__probe_ladder, /* uses the peaks as roofs */
    &xl__probe_atomic,
    &xl__probe_divergence,
    &xl__probe_sync,
    &xl__probe_special,
    &xl__probe_dot,
    &xl__probe_launch,
    &xl__probe_transfer,
    &xl__probe_overlap,
    &xl__probe_between,
    &xl__probe_switch,
    &xl__probe_breakeven,
    &xl__probe_build,
    &xl__probe_diagnosis, /* last: it uses the rates of all others */
    NULL,
};

const xl_probe_info *xl_probe_at(unsigned i)
{
    const unsigned n = sizeof xl__probes / sizeof *xl__probes;
    return i < n && xl__probes[i] ? &xl__probes[i]->info : NULL;
}

static const struct xl__probe *find_probe(const char *name)
{
    for (unsigned i = 0; xl__probes[i]; i++) {
        if (xl__streq(xl__probes[i]->info.name, name))
            return xl__probes[i];
    }
    return NULL;
}

xl_status xl_probe_run(xl_queue *q, const char *name, const xl_probing *how,
                       void (*each)(const xl_row *row, void *arg), void *arg)
{
    if (!q || !how)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    xl__error_reset(&q->error);
    const struct xl__probe *probe = name ? find_probe(name) : NULL;
    if (!probe)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "there is no probe \"%s\"", name ? name : "");
    struct xl__session p = {q, how, each, arg, 1, false};
    if (probe != &xl__probe_timer)
        TRY(xl__session_begin(&p));
    TRY(probe->run(&p));
fail:
    return status;
}
