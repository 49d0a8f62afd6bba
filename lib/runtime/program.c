/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: looked up in the context, then in the store, then built from
 * source. A program has one source file and one set of options, because
 * kernels that share a program share its largest resource use (NV-21).
 *
 * The first thread that needs a program adds it to the context with a claim to
 * build it, and builds it without the lock. Threads that need the same program
 * wait until the claim ends; others are not delayed. Self-checks and writes to
 * the store are claimed in the same way. */
#include "runtime/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/os/clock.h"
#include "device/cl_info.h"
#include "runtime/epilogue.h"
#include "runtime/store/sources.h"

/* -- binaries and build logs
 * -------------------------------------------------*/

/* A property of a program that has one element for each of its devices, in
 * the order of CL_PROGRAM_DEVICES; on the heap, or NULL. */
static void *query_per_device(cl_program program, cl_program_info property,
                              cl_uint n_devices, size_t element)
{
    void *list = xl__calloc(n_devices, element);
    if (list && clGetProgramInfo(program, property, n_devices * element, list,
                                 NULL) != CL_SUCCESS) {
        free(list);
        list = NULL;
    }
    return list;
}

/* Only the device's own binary is read: the pointers of the others are NULL,
 * and the size of a device that the program was not built for is 0. */
unsigned char *xl__program_binary(cl_program program, cl_device_id device,
                                  size_t *n)
{
    cl_uint n_devices = 0, i = 0;
    unsigned char *bytes = NULL;
    *n = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof n_devices,
                         &n_devices, NULL) != CL_SUCCESS ||
        n_devices == 0)
        return NULL;
    unsigned char **binary = xl__calloc(n_devices, sizeof *binary);
    cl_device_id *devices = query_per_device(program, CL_PROGRAM_DEVICES,
                                             n_devices, sizeof *devices);
    size_t *sizes = query_per_device(program, CL_PROGRAM_BINARY_SIZES,
                                     n_devices, sizeof *sizes);
    while (devices && i < n_devices && devices[i] != device)
        i++;
    if (binary && devices && sizes && i < n_devices && sizes[i] > 0)
        bytes = binary[i] = xl__calloc(sizes[i], 1);
    if (bytes && clGetProgramInfo(program, CL_PROGRAM_BINARIES,
                                  n_devices * sizeof *binary, binary,
                                  NULL) == CL_SUCCESS) {
        *n = sizes[i];
    } else {
        free(bytes);
        bytes = NULL;
    }
    free(sizes);
    free(devices);
    free(binary);
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

/* -- look-up -------------------------------------------------------------- */

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

void xl__program_device_key(const struct xl__limits *l, struct xl__str *out)
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
        xl__str_printf(out, "%s %s\n", rows[i].label, xl__text(l, rows[i].id));
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
    xl__str_printf(&w->key, XL__PROGRAM_KEY_BEGIN);
    if (w->step->external) {
        xl__str_printf(&w->key, "library %s\n", w->step->kernel);
    } else {
        struct xl__kernel_source from = {
            .cl_dir = w->ctx->lib->cl_dir,
            .embedded = w->step->embedded,
            .name = w->step->source,
            .text = w->step->text};
        for (unsigned i = 0; i < XL__N_HOOKS; i++) {
            if (w->step->hook[i])
                from.hook[i] = w->step->hook[i]->text;
        }
        TRY(xl__kernel_source_load(&from, &w->text, w->error));
        xl__str_printf(
            &w->key, "source %s %016llx\n", w->step->source,
            (unsigned long long)xl__hash64(w->text.text, w->text.len));
    }
    /* GE-33: emulated, it takes most of a kernel's time. */
    xl__str_printf(&w->options, "%s%s%s%s", dev->vendor->build_options,
                   *dev->vendor->build_options ? " " : "",
                   xl__num_or(&dev->limits, XL__F_has_fma, 1) == 0
                       ? "-DXL_HAS_FMA=0 "
                       : "",
                   w->step->options);
    if (dev->limits.model.build_option)
        xl__str_printf(&w->options, " %s", dev->limits.model.build_option);
    TRY(add_target(w));
    xl__str_printf(&w->key, "options %s\n", xl__str_text(&w->options));
    xl__program_device_key(&dev->limits, &w->key);
    if (w->key.broken || w->options.broken)
        status = xl__error_set(w->error, XL_NO_MEMORY, "a program's key");
fail:
    return status;
}

/* The entry of a build log that has a kernel's use of registers: a driver has
 * none for what its own cache answers (NV-28). Key: that of the program, with
 * a line more. */
static void log_key(const char *program_key, struct xl__str *out)
{
    const size_t begin = sizeof XL__PROGRAM_KEY_BEGIN - 1;
    xl__str_printf(out, XL__PROGRAM_KEY_BEGIN "log\n%s", program_key + begin);
}

static bool has_use(const struct xl__context *ctx, const char *log)
{
    const struct xl__use_source *use = ctx->device->vendor->use;
    return log && use && use->log_mark && strstr(log, use->log_mark);
}

static void save_log(struct xl__context *ctx, const struct xl__program *p)
{
    struct xl__str key = {0};
    if (!has_use(ctx, p->build_log))
        return;
    log_key(p->key, &key);
    if (!key.broken)
        xl__store_put(&ctx->lib->store, xl__str_text(&key), p->build_log,
                      strlen(p->build_log) + 1, XL__UNTESTED);
    xl__str_clear(&key);
}

/* NULL: there is none. */
static char *load_log(struct xl__context *ctx, const char *program_key)
{
    struct xl__str key = {0};
    struct xl__entry entry = {NULL, 0, XL__UNTESTED};
    const struct xl__use_source *use = ctx->device->vendor->use;
    if (!use || !use->log_mark)
        return NULL;
    log_key(program_key, &key);
    if (key.broken ||
        !xl__store_get(&ctx->lib->store, xl__str_text(&key), &entry) ||
        entry.n_bytes == 0 || entry.payload[entry.n_bytes - 1] != '\0') {
        free(entry.payload);
        entry.payload = NULL;
    }
    xl__str_clear(&key);
    return (char *)entry.payload;
}

/* Creates a program from a stored binary. When the driver rejects the binary,
 * the entry is removed, and the result is false. Its log is the stored one:
 * that of a program for a target was checked before it was stored. */
static bool load_binary(struct lookup *w, const struct xl__entry *entry,
                        struct xl__program *p)
{
    if (xl__program_build_binary(w->ctx, entry->payload, entry->n_bytes,
                                 xl__str_text(&w->options),
                                 &p->cl) == CL_SUCCESS) {
        p->from_cache = p->is_kept = true;
        p->build_log = load_log(w->ctx, p->key);
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

void xl__program_use(const struct xl__context *ctx,
                     const struct xl__program *p, cl_kernel kernel,
                     const char *name, struct xl__kernel_use *out)
{
    const struct xl__use_source *from = ctx->device->vendor->use;
    const cl_device_id device = ctx->device->id;
    cl_uint registers;
    cl_ulong spill_bytes;
    size_t n;
    *out = (struct xl__kernel_use){(double)NAN, (double)NAN};
    if (!from)
        return;
    if (from->registers &&
        clGetKernelWorkGroupInfo(kernel, device, from->registers,
                                 sizeof registers, &registers,
                                 NULL) == CL_SUCCESS)
        out->registers = registers;
    if (from->spill_bytes &&
        clGetKernelWorkGroupInfo(kernel, device, from->spill_bytes,
                                 sizeof spill_bytes, &spill_bytes,
                                 NULL) == CL_SUCCESS)
        out->spill_bytes = (double)spill_bytes;
    if (from->read_log && p->build_log)
        from->read_log(p->build_log, name, out);
    if (from->read_binary) {
        unsigned char *bytes = xl__program_binary(p->cl, device, &n);
        if (bytes)
            from->read_binary(bytes, n, name, out);
        free(bytes);
    }
}

void xl__program_free(struct xl__program *p)
{
    if (!p)
        return;
    if (p->cl)
        clReleaseProgram(p->cl);
    xl__error_clear(&p->failure);
    free(p->key);
    free(p->build_log);
    free(p->detail);
    free(p);
}

/* -- what is kept on disk --------------------------------------------------
 * The entry of a program has its binary, or, with trust XL__FAILED, why it
 * cannot be compiled. That begins with the hash of the library's sources,
 * since retarget.c is a part of the compilation: another library tries again.
 */

enum { BUILD_HASH = 32 };

static void keep_failure(struct xl__context *ctx, const char *key,
                         const struct xl__error *failure)
{
    struct xl__str why = {0};
    xl__str_printf(&why, "%s%s", xl__build_hash,
                   xl__str_text(&failure->detail));
    if (!why.broken)
        xl__store_put(&ctx->lib->store, key, why.text, why.len, XL__FAILED);
    xl__str_clear(&why);
}

/* XL_BUILD_FAILED: it is known that it cannot be compiled. *is_known: that, or
 * its binary was loaded. */
static xl_status load_kept(struct lookup *w, struct xl__program *p,
                           bool *is_known)
{
    xl_status status = XL_OK;
    struct xl__entry entry;
    *is_known = xl__store_get(&w->ctx->lib->store, p->key, &entry) &&
                entry.n_bytes > 0;
    if (*is_known && entry.trust != XL__FAILED) {
        *is_known = load_binary(w, &entry, p);
    } else if (*is_known) {
        const char *why = (const char *)entry.payload;
        *is_known = entry.n_bytes > BUILD_HASH &&
                    memcmp(why, xl__build_hash, BUILD_HASH) == 0;
        if (*is_known)
            status = xl__error_set(
                w->error, XL_BUILD_FAILED,
                "%.*s\nKnown from before; to compile it again, run `clbench "
                "cache clear`",
                (int)entry.n_bytes - BUILD_HASH, why + BUILD_HASH);
    }
    free(entry.payload);
    return status;
}

/* Fills in `cl`, from the store or by a build. */
static xl_status load_or_build(struct lookup *w, struct xl__program *p)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    const enum xl__trust trust = xl__verdict_load(w->ctx, p->key, &p->detail);
    bool is_known = trust != XL__UNTESTED;
    if (trust == XL__FAILED || w->step->external)
        p->is_kept = true; /* it is never run, or has no binary */
    else
        status = load_kept(w, p, &is_known);
    xl__store_count(&w->ctx->lib->store, is_known);
    TRY(status);
    if (is_known)
        p->trust = trust; /* what is built anew has no verdict */
    else if (!w->step->external)
        status = build_source(w, p);
    if (status == XL_BUILD_FAILED)
        keep_failure(w->ctx, p->key, w->error);
    p->build_ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* -- claims ----------------------------------------------------------------
 * Under ctx->lock. Nothing else is waited for during a claim to build or to
 * save, and claims to check are begun for all programs of a plan at once, so
 * that no two threads wait for each other. */

static void wait_for_claims(struct xl__context *ctx,
                            const struct xl__program *p, unsigned claims)
{
    while (p->claims & claims)
        xl__condition_wait(&ctx->claim_ended, &ctx->lock);
}

static void end_claim(struct xl__context *ctx, struct xl__program *p,
                      enum xl__claim claim)
{
    p->claims &= ~(unsigned)claim;
    xl__condition_wake_all(&ctx->claim_ended);
}

/* -- one program ---------------------------------------------------------- */

static struct xl__program *find_program(const struct lookup *w, uint64_t hash)
{
    struct xl__program *p = w->ctx->programs;
    while (p &&
           (p->hash != hash || strcmp(p->key, xl__str_text(&w->key)) != 0))
        p = p->next;
    return p;
}

/* A new program, claimed by this thread. */
static struct xl__program *add_program(const struct lookup *w, uint64_t hash)
{
    struct xl__program *p = xl__calloc(1, sizeof *p);
    if (!p || !(p->key = xl__strdup(xl__str_text(&w->key)))) {
        free(p);
        return NULL;
    }
    p->hash = hash;
    p->claims = XL__CLAIM_BUILD;
    p->next = w->ctx->programs;
    w->ctx->programs = p;
    return p;
}

static void remove_program(struct xl__context *ctx,
                           const struct xl__program *p)
{
    struct xl__program **link = &ctx->programs;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
}

/* Builds the program that this thread claimed. The lock is dropped during the
 * build. A program that cannot be built is removed at once, so that the next
 * look-up tries again. */
static void build_claimed(struct lookup *w, struct xl__program *p)
{
    struct lookup build = *w;
    build.error = &p->failure;
    xl__lock_drop(&w->ctx->lock);
    const xl_status status = load_or_build(&build, p);
    xl__error_set(&p->failure, status, "%s", xl_status_text(status));
    xl__lock_take(&w->ctx->lock);
    if (status != XL_OK)
        remove_program(w->ctx, p);
    end_claim(w->ctx, p, XL__CLAIM_BUILD);
}

/* Under ctx->lock. Threads that waited for a failed build have its error; the
 * last of them frees the program. */
static xl_status find_or_build(struct lookup *w, struct xl__program **out)
{
    const uint64_t hash = xl__hash64(w->key.text, w->key.len);
    struct xl__program *p = find_program(w, hash);
    const bool is_new = !p;
    if (is_new && !(p = add_program(w, hash)))
        return xl__error_set(w->error, XL_NO_MEMORY, "a program");
    p->n_users++;
    if (is_new)
        build_claimed(w, p);
    else
        wait_for_claims(w->ctx, p, XL__CLAIM_BUILD);
    const xl_status status = p->failure.status;
    if (status == XL_OK) {
        *out = p;
        return XL_OK;
    }
    xl__error_set(w->error, status, "%s", xl__str_text(&p->failure.detail));
    if (--p->n_users == 0)
        xl__program_free(p);
    return status;
}

xl_status xl__program_get(struct xl__context *ctx, const struct xl__step *step,
                          struct xl__program **out, struct xl__error *e)
{
    xl_status status = XL_OK;
    struct lookup w = {.ctx = ctx, .step = step, .error = e};
    TRY(make_key(&w));
    xl__lock_take(&ctx->lock);
    status = find_or_build(&w, out);
    xl__lock_drop(&ctx->lock);
fail:
    clear_lookup(&w);
    return status;
}

void xl__program_let_go(struct xl__context *ctx, struct xl__program *p)
{
    xl__lock_take(&ctx->lock);
    p->n_users--;
    xl__lock_drop(&ctx->lock);
}

unsigned xl__programs_trim(struct xl__context *ctx)
{
    struct xl__program *p, *unused = NULL, **link = &ctx->programs;
    unsigned n = 0;
    xl__lock_take(&ctx->lock);
    while ((p = *link) != NULL) {
        if (p->n_users > 0 || !p->cl || p->trust == XL__FAILED) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        p->next = unused;
        unused = p;
        n++;
    }
    xl__lock_drop(&ctx->lock);
    while ((p = unused) != NULL) {
        unused = p->next;
        xl__program_free(p);
    }
    return n;
}

static void save_binary(struct xl__context *ctx, const struct xl__program *p)
{
    size_t n = 0;
    unsigned char *bytes = NULL;
    /* Some drivers compile every kernel again for this query (CP-10). */
    if (p->cl && ctx->lib->store.root)
        bytes = xl__program_binary(p->cl, ctx->device->id, &n);
    xl__store_put(&ctx->lib->store, p->key, bytes, n, XL__UNTESTED);
    save_log(ctx, p);
    free(bytes);
}

void xl__program_keep(struct xl__context *ctx, struct xl__program *p)
{
    xl__lock_take(&ctx->lock);
    wait_for_claims(ctx, p, XL__CLAIM_SAVE);
    if (!p->is_kept) {
        p->claims |= XL__CLAIM_SAVE;
        p->is_kept = true;
        xl__lock_drop(&ctx->lock);
        save_binary(ctx, p);
        xl__lock_take(&ctx->lock);
        end_claim(ctx, p, XL__CLAIM_SAVE);
    }
    xl__lock_drop(&ctx->lock);
}

void xl__program_trust(struct xl__context *ctx, struct xl__program *p,
                       enum xl__trust trust, const char *detail)
{
    xl__lock_take(&ctx->lock);
    const bool is_new = p->trust != trust;
    if (is_new && detail && !p->detail)
        p->detail = xl__strdup(detail);
    p->trust = trust;
    xl__lock_drop(&ctx->lock);
    if (is_new)
        xl__verdict_save(ctx, p->key, trust, detail);
    xl__program_keep(ctx, p);
}

/* -- the programs of a plan ----------------------------------------------- */

/* The lowest trust of these programs. Takes no lock. */
static enum xl__trust find_trust(struct xl__program *const *p, unsigned n)
{
    enum xl__trust least = XL__PASSED;
    for (unsigned i = 0; i < n; i++) {
        const enum xl__trust trust = p[i]->trust;
        if (trust == XL__FAILED)
            return XL__FAILED;
        if (trust == XL__UNTESTED)
            least = XL__UNTESTED;
    }
    return least;
}

/* A program without a verdict that another thread checks; NULL: none. */
static struct xl__program *find_checked(struct xl__program *const *p,
                                        unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (p[i]->trust == XL__UNTESTED && p[i]->claims & XL__CLAIM_CHECK)
            return p[i];
    }
    return NULL;
}

enum xl__trust xl__programs_begin_check(struct xl__context *ctx,
                                        struct xl__program *const *p,
                                        unsigned n)
{
    const struct xl__program *checked;
    enum xl__trust trust;
    xl__lock_take(&ctx->lock);
    while ((trust = find_trust(p, n)) == XL__UNTESTED &&
           (checked = find_checked(p, n)) != NULL)
        wait_for_claims(ctx, checked, XL__CLAIM_CHECK);
    for (unsigned i = 0; trust == XL__UNTESTED && i < n; i++) {
        if (p[i]->trust == XL__UNTESTED)
            p[i]->claims |= XL__CLAIM_CHECK;
    }
    xl__lock_drop(&ctx->lock);
    return trust;
}

void xl__programs_end_check(struct xl__context *ctx,
                            struct xl__program *const *p, unsigned n)
{
    xl__lock_take(&ctx->lock);
    for (unsigned i = 0; i < n; i++)
        end_claim(ctx, p[i], XL__CLAIM_CHECK);
    xl__lock_drop(&ctx->lock);
}

/* -- kernels -------------------------------------------------------------- */

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
    xl__lock_take(&q->ctx->lock);
    p->n_users++;
    xl__lock_drop(&q->ctx->lock);
fail:
    return status;
}

void xl__kernels_release(xl_queue *q)
{
    for (size_t i = 0; i < q->n_kernels; i++) {
        clReleaseKernel(q->kernels[i].cl);
        xl__program_let_go(q->ctx, q->kernels[i].program);
    }
    free(q->kernels);
    q->kernels = NULL;
    q->n_kernels = q->cap_kernels = 0;
}
