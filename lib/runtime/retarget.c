/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for a target that the driver's compiler does not support (NV-27):
 *
 *   OpenCL C --driver--> binary --vendor table--> changed binary --driver-->
 * program
 *
 * The first build may fail; its binary is used all the same. The second build
 * is valid only if its log was checked for faults. A driver that finds the
 * binary in its own cache returns an empty log; then a comment that no binary
 * had before is appended, and the binary is built again (NV-28). */
#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "device/cl_info.h"

struct rebuild {
    struct xl__context *ctx;
    const struct xl__step *step;
    const struct xl__rebuild *how;
    struct xl__program *p;
    struct xl__error *error;
    struct xl__str binary;
};

/* Records the failure with the first line of `why`. */
static xl_status fail_build(struct rebuild *r, const char *why)
{
    return xl__error_set(r->error, XL_BUILD_FAILED,
                         "%s for %s: %.*s\noptions \"%s\"\n%s",
                         r->step->source, r->step->target,
                         (int)strcspn(why, "\r\n"), why, r->step->options,
                         r->p->build_log ? r->p->build_log : "");
}

static xl_status change_binary(struct rebuild *r)
{
    xl_status status = XL_OK;
    struct xl__error own = {0};
    size_t n;
    unsigned char *bytes =
        xl__program_binary(r->p->cl, r->ctx->device->id, &n);
    if (!bytes)
        TRY(fail_build(r, "the driver returns no binary of its build"));
    status = r->how->retarget((const char *)bytes, n, r->step->target,
                              &r->binary, &own);
    if (status == XL_OK && r->binary.broken)
        TRY(xl__error_set(r->error, XL_NO_MEMORY, "a program's binary"));
    if (status == XL_BUILD_FAILED)
        TRY(fail_build(r, xl__str_text(&own.detail)));
    if (status != XL_OK)
        TRY(xl__error_set(r->error, status, "%s", xl__str_text(&own.detail)));
fail:
    xl__error_clear(&own);
    free(bytes);
    return status;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Builds the changed binary and replaces the previous program. */
static xl_status build_binary(struct rebuild *r)
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
    TRY(xl__check_alloc(r->error, p->build_log, "a build log"));
    const char *line = r->how->fault(p->build_log);
    if (line)
        TRY(fail_build(r, line));
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
        CL_TRY(r->error, code); /* says nothing of the binary */
    if (code != CL_SUCCESS)
        TRY(fail_build(r, name ? name : "an unknown OpenCL code"));
fail:
    return status;
}

/* Builds it again with a comment at its end that makes the binary unique. */
static xl_status build_unique_binary(struct rebuild *r)
{
    xl_status status = XL_OK;
    xl__str_printf(&r->binary, "\n%s %016llx\n", r->how->comment,
                   (unsigned long long)xl__now_ns());
    if (r->binary.broken)
        TRY(xl__error_set(r->error, XL_NO_MEMORY, "a program's binary"));
    TRY(build_binary(r));
    if (is_blank(r->p->build_log))
        TRY(fail_build(r, "the driver returns no build log"));
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
    TRY(change_binary(&r));
    TRY(build_binary(&r));
    if (is_blank(p->build_log))
        TRY(build_unique_binary(&r));
fail:
    xl__str_clear(&r.binary);
    return status;
}
