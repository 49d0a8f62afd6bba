/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for a machine that the driver's compiler stops short of: the binary
 * of its build, also of one that failed, is changed by the vendor table and
 * handed back (NV-27). What comes of that counts as built once its log was
 * read: a driver that answers from a cache of its own has none, then the same
 * binary is made one that it has not seen (NV-28). */
#include "runtime/retarget.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "device/cl_info.h"
#include "runtime/program.h"

struct rebuild {
    struct xl__context *ctx;
    const struct xl__step *step;
    const struct xl__rebuild *how;
    struct xl__program *p;
    struct xl__error *error;
    struct xl__str binary;
};

/* `why` up to the end of its line. */
static xl_status failed(struct rebuild *r, const char *why)
{
    return xl__error_set(r->error, XL_BUILD_FAILED,
                         "%s for %s: %.*s\noptions \"%s\"\n%s",
                         r->step->source, r->step->target,
                         (int)strcspn(why, "\r\n"), why, r->step->options,
                         r->p->build_log ? r->p->build_log : "");
}

static xl_status retarget(struct rebuild *r)
{
    xl_status status = XL_OK;
    struct xl__error own = {0};
    size_t n;
    unsigned char *bytes = xl__program_binary(r->p->cl, &n);
    if (!bytes)
        TRY(failed(r, "the driver gives no binary of its build"));
    status = r->how->retarget((const char *)bytes, n, r->step->target,
                              &r->binary, &own);
    if (status == XL_OK && r->binary.broken)
        TRY(xl__error_set(r->error, XL_NO_MEMORY, "a program's binary"));
    if (status != XL_OK)
        TRY(failed(r, xl__str_text(&own.detail)));
fail:
    xl__error_clear(&own);
    free(bytes);
    return status;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* The changed binary's program in place of the one before. */
static xl_status build(struct rebuild *r)
{
    xl_status status = XL_OK;
    struct xl__program *p = r->p;
    clReleaseProgram(p->cl);
    const cl_int code =
        xl__program_build_binary(r->ctx, r->binary.text, r->binary.len + 1,
                                 r->how->build_options, &p->cl);
    const char *name = xl__cl_name(code);
    free(p->build_log);
    p->build_log = p->cl ? xl__program_build_log(p->cl, r->ctx->device->id)
                         : xl__strdup("");
    if (!p->build_log)
        TRY(xl__error_set(r->error, XL_NO_MEMORY, "a build log"));
    const char *line = r->how->fault(p->build_log);
    if (line)
        TRY(failed(r, line));
    if (code != CL_SUCCESS)
        TRY(failed(r, name ? name : "a code that is not OpenCL's"));
fail:
    return status;
}

/* With a line at its end that no binary had before. */
static xl_status build_anew(struct rebuild *r)
{
    xl_status status = XL_OK;
    xl__str_printf(&r->binary, "\n%s %016llx\n", r->how->comment,
                   (unsigned long long)xl__now_ns());
    if (r->binary.broken)
        TRY(xl__error_set(r->error, XL_NO_MEMORY, "a program's binary"));
    TRY(build(r));
    if (is_blank(r->p->build_log))
        TRY(failed(r, "the driver says nothing of its build"));
fail:
    return status;
}

xl_status xl__program_rebuild(struct xl__context *ctx,
                              const struct xl__step *step,
                              struct xl__program *p, struct xl__error *e)
{
    xl_status status = XL_OK;
    struct rebuild r = {.ctx = ctx,
                        .step = step,
                        .how = ctx->device->vendor->rebuild,
                        .p = p,
                        .error = e};
    TRY(retarget(&r));
    TRY(build(&r));
    if (is_blank(p->build_log))
        TRY(build_anew(&r));
fail:
    xl__str_clear(&r.binary);
    return status;
}
