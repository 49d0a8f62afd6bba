/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: looked up in the context, then in the store, then built from
 * source. A program has one source file and one set of options, because
 * kernels that share a program share its largest resource use (NV-21). */
#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/os/clock.h"
#include "device/cl_info.h"
#include "runtime/epilogue.h"
#include "runtime/retarget.h"
#include "runtime/store/sources.h"

/* -- binaries and build logs
 * -------------------------------------------------*/

unsigned char *xl__program_binary(cl_program program, size_t *n)
{
    cl_uint n_devices = 0;
    *n = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof n_devices,
                         &n_devices, NULL) != CL_SUCCESS ||
        n_devices != 1)
        return NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *n, n,
                         NULL) != CL_SUCCESS ||
        *n == 0)
        return NULL;
    unsigned char *bytes = xl__calloc(*n, 1);
    if (bytes && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes,
                                  &bytes, NULL) != CL_SUCCESS) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

char *xl__program_build_log(cl_program program, cl_device_id device)
{
    size_t n = 0;
    char *log = NULL;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                              &n) == CL_SUCCESS &&
        n > 0)
        log = xl__calloc(n + 1, 1);
    if (!log)
        return xl__strdup("");
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, n, log,
                              NULL) != CL_SUCCESS)
        log[0] = '\0';
    return log;
}

cl_int xl__program_build_binary(struct xl__context *ctx, const void *bytes,
                                size_t n, const char *options, cl_program *out)
{
    cl_int code, binary_code = CL_SUCCESS;
    const cl_device_id device = ctx->device->id;
    const unsigned char *binary = bytes;
    *out = clCreateProgramWithBinary(ctx->cl, 1, &device, &n, &binary,
                                     &binary_code, &code);
    if (code != CL_SUCCESS)
        *out = NULL;
    else if (binary_code != CL_SUCCESS)
        code = binary_code;
    else
        code = clBuildProgram(*out, 1, &device, options, NULL, NULL);
    return code;
}

/* -- look-up ---------------------------------------------------------------
 */

/* The inputs of one look-up; freed by clear_lookup(). */
struct lookup {
    struct xl__context *ctx;
    const struct xl__step *step;
    struct xl__error *error;
    struct xl__str text, options, key;
};

static void clear_lookup(struct lookup *w)
{
    xl__str_clear(&w->text);
    xl__str_clear(&w->options);
    xl__str_clear(&w->key);
}

static void add_device_key(struct xl__str *key, const struct xl__limits *l)
{
    static const struct { const char *label; enum xl__fact_id id; } rows[] = {
        {"platform", XL__F_platform},
        {"platform version", XL__F_platform_version},
        {"device", XL__F_name},
        {"arch", XL__F_arch},
        {"driver", XL__F_driver},
        {"cl version", XL__F_cl_version},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        xl__str_printf(key, "%s %s\n", rows[i].label,
                       xl__text(l, rows[i].id));
}

/* Adds the step's target to the key. A faulty kernel for a target may wait
 * forever, so tests set a limit. */
static xl_status add_target(struct lookup *w)
{
    xl_status status = XL_OK;
    const unsigned limit = w->ctx->lib->spin_limit;
    if (!w->step->target)
        return XL_OK;
    if (!w->ctx->device->vendor->rebuild)
        TRY(xl__error_set(w->error, XL_UNSUPPORTED,
                          "%s needs the target %s, which is not supported "
                          "on this device",
                          w->step->kernel, w->step->target));
    if (limit > 0)
        xl__str_printf(&w->options, " -DXL_SPIN_LIMIT=%u", limit);
    xl__str_printf(&w->key, "target %s\n", w->step->target);
fail:
    return status;
}

static xl_status make_key(struct lookup *w)
{
    xl_status status = XL_OK;
    const xl_device *dev = w->ctx->device;
    xl__str_printf(&w->key, "crosslane %s\n", xl_version());
    if (w->step->external) {
        xl__str_printf(&w->key, "library %s\n", w->step->kernel);
    } else {
        const struct xl__kernel_source from = {
            .cl_dir = w->ctx->lib->cl_dir,
            .embedded = w->step->embedded,
            .name = w->step->source,
            .text = w->step->text,
            .epilogue = w->step->epilogue ? w->step->epilogue->text : NULL};
        TRY(xl__kernel_source_load(&from, &w->text, w->error));
        xl__str_printf(
            &w->key, "source %s %016llx\n", w->step->source,
            (unsigned long long)xl__hash64(w->text.text, w->text.len));
    }
    xl__str_printf(&w->options, "%s%s%s", dev->vendor->build_options,
                   *dev->vendor->build_options ? " " : "", w->step->options);
    TRY(add_target(w));
    xl__str_printf(&w->key, "options %s\n", xl__str_text(&w->options));
    add_device_key(&w->key, &dev->limits);
    if (w->key.broken || w->options.broken)
        status = xl__error_set(w->error, XL_NO_MEMORY, "a program's key");
fail:
    return status;
}

/* Creates a program from a stored binary. When the driver rejects the binary,
 * the entry is removed, and the result is false. The log of a program for a
 * target is not read again: it was checked before the program was stored. */
static bool load_binary(struct lookup *w, const struct xl__entry *entry,
                        struct xl__program *p)
{
    if (xl__program_build_binary(w->ctx, entry->payload, entry->n_bytes,
                                 xl__str_text(&w->options),
                                 &p->cl) == CL_SUCCESS) {
        p->from_cache = p->is_kept = true;
        p->trust = entry->trust;
        return true;
    }
    if (p->cl)
        clReleaseProgram(p->cl);
    p->cl = NULL;
    xl__store_drop(&w->ctx->lib->store, xl__str_text(&w->key));
    return false;
}

static xl_status fail_build(struct lookup *w, const struct xl__program *p,
                            const char *why)
{
    return xl__error_set(w->error, XL_BUILD_FAILED,
                         "%s with options \"%s\": %s\n%s", w->step->source,
                         xl__str_text(&w->options), why,
                         p->build_log ? p->build_log : "");
}

static xl_status build_source(struct lookup *w, struct xl__program *p)
{
    xl_status status = XL_OK;
    cl_int code;
    const cl_device_id device = w->ctx->device->id;
    const char *text = xl__str_text(&w->text);
    p->cl = clCreateProgramWithSource(w->ctx->cl, 1, &text, &w->text.len,
                                      &code);
    if (code != CL_SUCCESS)
        p->cl = NULL;
    CL_TRY(w->error, code);
    code = clBuildProgram(p->cl, 1, &device, xl__str_text(&w->options), NULL,
                          NULL);
    p->build_log = xl__program_build_log(p->cl, device);
    if (w->step->target &&
        (code == CL_SUCCESS || code == CL_BUILD_PROGRAM_FAILURE))
        return xl__program_rebuild(w->ctx, w->step, p, w->error);
    if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS)
        TRY(fail_build(w, p, xl__cl_name(code)));
    CL_TRY(w->error, code);
fail:
    return status;
}

static void free_program(struct xl__program *p)
{
    if (!p)
        return;
    if (p->cl)
        clReleaseProgram(p->cl);
    free(p->key);
    free(p->build_log);
    free(p->detail);
    free(p);
}

/* The detail of a failed self-check, which its entry has in place of a binary.
 * NULL: the entry has a binary, as those of older versions of the library. */
static char *read_detail(const struct xl__entry *entry)
{
    char *detail = xl__calloc(entry->n_bytes + 1, 1);
    bool is_text = entry->n_bytes > 0;
    for (size_t i = 0; detail && i < entry->n_bytes; i++) {
        detail[i] = (char)entry->payload[i];
        is_text = is_text && detail[i] >= ' ' && detail[i] <= '~';
    }
    if (is_text)
        return detail;
    free(detail);
    return NULL;
}

/* Fills in `cl`, from the store or by a build. */
static xl_status load_or_build(struct lookup *w, struct xl__program *p)
{
    xl_status status = XL_OK;
    struct xl__entry entry = {NULL, 0, XL__UNTESTED};
    const uint64_t start = xl__now_ns();
    bool found = xl__store_get(&w->ctx->lib->store, xl__str_text(&w->key),
                               &entry);
    if (found && entry.trust == XL__FAILED) {
        p->trust = XL__FAILED; /* it is never run, so it is not loaded */
        p->detail = read_detail(&entry);
        p->is_kept = true;
    } else if (found && w->step->external) {
        p->trust = entry.trust;
        p->is_kept = true;
    } else {
        found = found && entry.n_bytes > 0 && load_binary(w, &entry, p);
        if (!found && !w->step->external)
            TRY(build_source(w, p));
    }
    p->build_ns = (double)(xl__now_ns() - start);
fail:
    free(entry.payload);
    return status;
}

/* Under ctx->lock, so that two threads that need one program build it once. */
static xl_status find_or_create(struct lookup *w, struct xl__program **out)
{
    xl_status status = XL_OK;
    struct xl__program *p;
    for (p = w->ctx->programs; p; p = p->next) {
        if (strcmp(p->key, xl__str_text(&w->key)) == 0) {
            *out = p;
            return XL_OK;
        }
    }
    p = xl__calloc(1, sizeof *p);
    if (!p || !(p->key = xl__strdup(xl__str_text(&w->key))))
        TRY(xl__error_set(w->error, XL_NO_MEMORY, "a program"));
    TRY(load_or_build(w, p));
    p->next = w->ctx->programs;
    w->ctx->programs = p;
    *out = p;
    return XL_OK;
fail:
    free_program(p);
    return status;
}

xl_status xl__program_get(struct xl__context *ctx, const struct xl__step *step,
                          struct xl__program **out, struct xl__error *e)
{
    xl_status status = XL_OK;
    struct lookup w = {.ctx = ctx, .step = step, .error = e};
    TRY(make_key(&w));
    xl__lock_take(&ctx->lock);
    status = find_or_create(&w, out);
    xl__lock_drop(&ctx->lock);
fail:
    clear_lookup(&w);
    return status;
}

static void save_in_store(struct xl__context *ctx, struct xl__program *p)
{
    size_t n = 0;
    unsigned char *bytes = NULL;
    if (p->trust == XL__FAILED) {
        n = p->detail ? strlen(p->detail) : 0;
        xl__store_put(&ctx->lib->store, p->key, p->detail, n, p->trust);
        p->is_kept = true;
        return;
    }
    /* Some drivers compile every kernel again for this query (CP-10). */
    if (p->cl && ctx->lib->store.root)
        bytes = xl__program_binary(p->cl, &n);
    xl__store_put(&ctx->lib->store, p->key, bytes, bytes ? n : 0, p->trust);
    free(bytes);
    p->is_kept = true;
}

void xl__program_keep(struct xl__context *ctx, struct xl__program *p)
{
    xl__lock_take(&ctx->lock);
    if (!p->is_kept)
        save_in_store(ctx, p);
    xl__lock_drop(&ctx->lock);
}

void xl__program_trust(struct xl__context *ctx, struct xl__program *p,
                       enum xl__trust trust, const char *detail)
{
    xl__lock_take(&ctx->lock);
    if (p->trust != trust || !p->is_kept) {
        p->trust = trust;
        if (detail && !p->detail)
            p->detail = xl__strdup(detail);
        save_in_store(ctx, p);
    }
    xl__lock_drop(&ctx->lock);
}

xl_status xl__kernel_get(xl_queue *q, struct xl__program *p, const char *name,
                         cl_kernel *out)
{
    xl_status status = XL_OK;
    cl_int code;
    for (size_t i = 0; i < q->n_kernels; i++) {
        const struct xl__kernel *k = &q->kernels[i];
        if (k->program == p && strcmp(k->name, name) == 0) {
            *out = k->cl;
            return XL_OK;
        }
    }
    if (!xl__grow(&q->kernels, &q->cap_kernels, q->n_kernels + 1,
                  sizeof *q->kernels))
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "kernel %s", name));
    *out = clCreateKernel(p->cl, name, &code);
    CL_TRY(&q->error, code);
    q->kernels[q->n_kernels++] = (struct xl__kernel){p, name, *out};
fail:
    return status;
}
