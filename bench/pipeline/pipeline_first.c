/* SPDX-License-Identifier: Apache-2.0 */
/* The first call of a program, with a library of its own: nothing that this
 * process has built or opened before is used, but what the driver keeps. */
#include "base/os/clock.h"
#include "base/error.h"
#include "pipeline/report.h"

xl_status pipe_first_call(struct pipe_bench *b, const char *cache_dir,
                          struct pipe_first *out)
{
    xl_status status = XL_OK;
    const xl_options options = {.cache_dir = cache_dir};
    struct pipe_site site = {.w = NULL};
    xl_lib *lib = NULL;
    unsigned n = 0;
    struct pipe_pass p = {.site = &site, .lanes = &site.plain,
                          .mode = &pipe_modes[0]};
    const uint64_t begin = xl__now_ns();
    TRY(xl_open(&options, &lib));
    TRY(xl_device_count(lib, &n));
    xl_device *dev = xl_device_at(lib, xl_device_index(b->dev));
    TRY(dev ? XL_OK : XL_NO_DEVICE);
    TRY(pipe_site_open(&site, b->work, lib, dev, &b->host));
    const uint64_t opened = xl__now_ns();
    TRY(pipe_prepare(&site, &site.plain, b->work->items));
    const uint64_t built = xl__now_ns();
    TRY(pipe_run(&p));
    out->begin_ns = begin;
    out->open_ns = (double)(opened - begin);
    out->build_ns = (double)(built - opened);
    out->run_ns = (double)(xl__now_ns() - built);
    out->is_done = true;
fail:
    if (status == XL_OK)
        pipe_report_first(b, out); /* kept whatever comes */
    else
        out->why = xl_status_text(status);
    pipe_site_close(&site);
    xl_close(lib);
    return status;
}
