/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `between`: transfer rates between buffers: within a device and, if
 * there is a second device, to it, by a copy and by a migration in a context
 * of both, and through pinned host memory from one context to the other. The
 * source changes before each run, so no copy of earlier contents suffices. */
#include <math.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "device/cl_info.h"
#include "measure/host/transfers.h"

enum { KIB = 1 << 10, MIB = 1 << 20, WORD = 4 };

static const size_t quick_sizes[] = {64 * KIB, 4 * MIB, 64 * MIB};
static const size_t full_sizes[] = {64 * KIB, 256 * KIB, 1 * MIB,  4 * MIB,
                                    16 * MIB, 64 * MIB,  256 * MIB};

/* A buffer of a device and the queue that uses it. */
struct endpoint {
    struct xl__session p; /* the probe's session with this queue */
    cl_mem mem;
};

struct device_path {
    struct xl__session *p;
    struct endpoint from, to;
    struct xl__host_mem host; /* for the path through the host */
    size_t bytes;             /* per run */
    cl_uint word;             /* first word of the source */
    double host_ns;           /* time through the host; NaN: unknown */
};

/* -- paths ---------------------------------------------------------------- */

static xl_status copy_error(struct device_path *b, const struct endpoint *at,
                            xl_status status)
{
    return xl__copy_queue_error(b->p, at->p.q, status);
}

static xl_status finish_queue(struct device_path *b, const struct endpoint *at)
{
    return copy_error(b, at, xl_queue_finish(at->p.q));
}

static xl_status change_source(struct device_path *b)
{
    xl_status status = XL_OK;
    TRY(copy_error(b, &b->from,
                   xl_buffer_fill(b->from.p.q, b->from.mem, 0, ++b->word, 1)));
    TRY(finish_queue(b, &b->from));
fail:
    return status;
}

static xl_status time_copy(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct device_path *b = arg;
    (void)p;
    TRY(change_source(b));
    const uint64_t start = xl__now_ns();
    CL_TRY(&b->p->q->error,
           clEnqueueCopyBuffer(b->to.p.q->cl, b->from.mem, b->to.mem, 0, 0,
                               b->bytes, 0, NULL, NULL));
    TRY(finish_queue(b, &b->to));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status time_migration(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct device_path *b = arg;
    (void)p;
    TRY(change_source(b));
    const uint64_t start = xl__now_ns();
    CL_TRY(&b->p->q->error,
           clEnqueueMigrateMemObjects(b->to.p.q->cl, 1, &b->from.mem, 0, 0,
                                      NULL, NULL));
    TRY(finish_queue(b, &b->to));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status time_through_host(struct xl__session *p, void *arg,
                                   double *ns)
{
    xl_status status = XL_OK;
    struct device_path *b = arg;
    (void)p;
    TRY(change_source(b));
    const uint64_t start = xl__now_ns();
    TRY(copy_error(b, &b->from,
                   xl__download(b->from.p.q, b->from.mem, 0, b->host.at,
                                b->bytes, NULL, NULL)));
    TRY(finish_queue(b, &b->from));
    TRY(copy_error(
        b, &b->to,
        xl__upload(b->to.p.q, b->to.mem, 0, b->host.at, b->bytes, NULL)));
    TRY(finish_queue(b, &b->to));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* -- rows ----------------------------------------------------------------- */

/* Repeats the transfer with the first word restored, and compares `seen` with
 * the source, from the target device. */
static xl_status check_words(struct device_path *b,
                             const struct xl__timed_run *run, cl_mem seen,
                             bool *right)
{
    xl_status status = XL_OK;
    const uint64_t seed = b->p->how->seed;
    double ns;
    b->word = xl__probe_word(seed, 0) - 1; /* change_source() increments it */
    TRY(run->once(b->p, run->arg, &ns));
    TRY(copy_error(
        b, &b->to,
        xl__buffer_matches(&b->to.p, seen, b->bytes / WORD, seed, right)));
fail:
    return status;
}

static const char no_copy[] =
    "zero copy: nothing is moved, the devices share memory";

/* Measures a path. passes: how often each byte is counted. A path that takes
 * far less time than the one through the host moves nothing. */
static xl_status measure_path(struct device_path *b, const char *name,
                              xl_status (*once)(struct xl__session *, void *,
                                                double *),
                              cl_mem seen, double passes, double *min_ns)
{
    xl_status status = XL_OK;
    const struct xl__timed_run run = {once, b};
    const xl_device *other = b->to.p.q->ctx->device;
    bool right;
    xl_row row;
    xl__transfer_row(&row, "probe_between", name, "", b->bytes);
    if (other != b->p->q->ctx->device)
        xl_row_param(&row, "to", other->index);
    if (seen == b->to.mem) /* clear the target */
        TRY(copy_error(
            b, &b->to,
            xl_buffer_fill(b->to.p.q, seen, 0, 0, b->bytes / WORD)));
    TRY(xl__sample_runs(b->p, &run, 1, &row.samples));
    TRY(check_words(b, &run, seen, &right));
    if (!right)
        xl__probe_reject(&row, "wrong result: the target differs from the "
                               "source");
    *min_ns = row.samples.min_ns;
    xl__transfer_value(&row, passes * (double)b->bytes,
                       xl__moves_nothing(*min_ns, b->host_ns) ? no_copy
                                                              : NULL);
    xl__probe_emit(b->p, &row);
fail:
    return status;
}

static xl_status create_endpoint(struct device_path *b, xl_queue *q,
                                 size_t bytes, struct endpoint *at,
                                 size_t *got)
{
    const struct xl__limits *l = &q->ctx->device->seen;
    at->p = *b->p;
    at->p.q = q;
    at->p.most_wg = xl__min_size(b->p->most_wg,
                                 xl__size_or(l, XL__F_max_wg_size, 1));
    return copy_error(b, at, xl__probe_buffer(&at->p, bytes, &at->mem, got));
}

static void destroy_endpoint(struct endpoint *at)
{
    xl__buffer_release(at->mem);
    at->mem = NULL;
}

/* Creates both buffers; *bytes is reduced to what both devices can hold. */
static xl_status create_endpoints(struct device_path *b, xl_queue *from,
                                  xl_queue *to, size_t *bytes)
{
    xl_status status = XL_OK;
    TRY(create_endpoint(b, from, *bytes, &b->from, bytes));
    TRY(create_endpoint(b, to, *bytes, &b->to, bytes));
fail:
    return status;
}

static void destroy_endpoints(struct device_path *b)
{
    destroy_endpoint(&b->from);
    destroy_endpoint(&b->to);
}

/* -- within a device ------------------------------------------------------ */

static xl_status measure_within(struct device_path *b, size_t most)
{
    xl_status status = XL_OK;
    const bool quick = b->p->how->quick;
    const size_t *sizes = quick ? quick_sizes : full_sizes;
    const size_t n = quick ? sizeof quick_sizes / sizeof *quick_sizes
                           : sizeof full_sizes / sizeof *full_sizes;
    double ns;
    b->host_ns = NAN;
    TRY(create_endpoints(b, b->p->q, b->p->q, &most));
    for (size_t i = 0; i < n && sizes[i] <= most; i++) {
        b->bytes = sizes[i];
        TRY(measure_path(b, "within", time_copy, b->to.mem, 2, &ns));
    }
fail:
    destroy_endpoints(b);
    return status;
}

/* -- to another device ---------------------------------------------------- */

/* Ranks devices as second device: other hardware on the same platform; the
 * same platform, as drivers can list one device twice; other hardware
 * elsewhere. */
static unsigned rank_device(const xl_device *self, const xl_device *other)
{
    const bool is_other = self->same_as != other->same_as;
    if (self == other)
        return 0;
    if (self->platform == other->platform)
        return is_other ? 3 : 2;
    return is_other;
}

/* The best second device, in order of their indices; NULL if there is none. */
static xl_device *find_other(const struct xl__devices *all,
                             const xl_device *self)
{
    xl_device *best = NULL;
    for (unsigned i = 1; i < all->n_flat; i++) {
        xl_device *other = all->flat[(self->index + i) % all->n_flat];
        if (rank_device(self, other) > (best ? rank_device(self, best) : 0))
            best = other;
    }
    return best;
}

/* Emits a failure as an unsupported row; the probe continues. */
static xl_status report_failure(struct device_path *b, const char *name,
                                xl_status status)
{
    xl_row row;
    if (status == XL_OK || status == XL_CANCELLED)
        return status;
    xl_row_init(&row, "probe_between", name);
    return xl__probe_unsupported(b->p, &row, "%s", xl_error_detail(b->p->q));
}

static xl_status create_queue(struct device_path *b, cl_context context,
                              const xl_device *dev, xl_queue **out)
{
    xl_status status = XL_OK;
    xl_lib *lib = b->p->q->ctx->lib;
    cl_int code;
    cl_command_queue native = clCreateCommandQueue(context, dev->id, 0, &code);
    CL_TRY(&b->p->q->error, code);
    status = xl_queue_wrap(lib, native, out);
    clReleaseCommandQueue(native);
    if (status != XL_OK)
        TRY(xl__error_set(&b->p->q->error, status, "%s", xl_lib_error(lib)));
fail:
    return status;
}

/* Creates queues of both devices in one context. */
static xl_status create_queue_pair(struct device_path *b,
                                   const xl_device *other, xl_queue **here,
                                   xl_queue **there)
{
    xl_status status = XL_OK;
    const xl_device *self = b->p->q->ctx->device;
    const cl_context_properties on[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)self->platform, 0};
    const cl_device_id ids[] = {self->id, other->id};
    cl_int code;
    cl_context context = clCreateContext(on, 2, ids, NULL, NULL, &code);
    CL_TRY(&b->p->q->error, code);
    status = create_queue(b, context, self, here);
    if (status == XL_OK)
        status = create_queue(b, context, other, there);
    clReleaseContext(context); /* the queues hold references */
fail:
    return status;
}

static xl_status measure_shared_context(struct device_path *b,
                                        const xl_device *other)
{
    xl_status status = XL_OK;
    xl_queue *here = NULL, *there = NULL;
    size_t bytes = b->bytes;
    double ns;
    TRY(create_queue_pair(b, other, &here, &there));
    TRY(create_endpoints(b, here, there, &bytes));
    b->bytes = bytes;
    TRY(measure_path(b, "copy", time_copy, b->to.mem, 1, &ns));
    TRY(measure_path(b, "migrate", time_migration, b->from.mem, 1, &ns));
fail:
    destroy_endpoints(b);
    xl_queue_destroy(here);
    xl_queue_destroy(there);
    return status;
}

/* Through memory that is pinned for the current device. */
static xl_status measure_through_host(struct device_path *b, xl_device *other)
{
    xl_status status = XL_OK;
    xl_queue *q = b->p->q, *there = NULL;
    size_t bytes = b->bytes;
    double ns;
    status = xl_queue_create(q->ctx->lib, other, &there);
    if (status != XL_OK)
        TRY(xl__error_set(&q->error, status, "%s", xl_lib_error(q->ctx->lib)));
    TRY(create_endpoints(b, q, there, &bytes));
    b->bytes = bytes;
    TRY(xl__host_mem_create(q, true, bytes, &b->host));
    TRY(measure_path(b, "through_host", time_through_host, b->to.mem, 1, &ns));
    b->host_ns = ns;
fail:
    xl__queue_drain(q);
    xl__queue_drain(there);
    xl__host_mem_destroy(q, &b->host);
    destroy_endpoints(b);
    xl_queue_destroy(there);
    return status;
}

static xl_status measure_other_device(struct device_path *b, size_t bytes)
{
    xl_status status = XL_OK;
    xl_row row;
    const xl_device *self = b->p->q->ctx->device;
    xl_device *other = find_other(&b->p->q->ctx->lib->devices, self);
    if (!other) {
        xl_row_init(&row, "probe_between", "to_another");
        xl__probe_unsupported(b->p, &row, "there is no second device");
        return XL_OK;
    }
    b->bytes = bytes;
    TRY(report_failure(b, "through_host", measure_through_host(b, other)));
    if (self->platform == other->platform)
        TRY(report_failure(b, "copy", measure_shared_context(b, other)));
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status run_between_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct device_path b = {.p = p, .host_ns = NAN};
    const size_t wanted_bytes = p->how->quick ? 64 * MIB : 256 * MIB;
    const size_t bytes = xl__transfer_bytes(p, wanted_bytes);
    TRY(measure_within(&b, bytes));
    TRY(measure_other_device(&b, bytes));
fail:
    return status;
}

const struct xl__probe xl__probe_between = {
    {"between",
     "Bytes per second from buffer to buffer, by the wall clock: within the "
     "device (read and written bytes both counted, as in bandwidth), and to a "
     "second device, if there is one: through pinned host memory from context "
     "to context, by a copy and by a migration in a context of both. The "
     "source changes before each run. A path that is over three times faster "
     "than the one through the host moves nothing, and is called zero copy. "
     "Fooled by hardware that is listed as two devices.",
     false},
    run_between_probe};
