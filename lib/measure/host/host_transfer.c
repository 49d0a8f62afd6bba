/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `transfer`: transfers between host and device: copies from and to
 * pageable and pinned memory over a range of sizes, maps of three kinds of
 * buffers, both directions at once, and whether compressible data is faster.
 *
 * If a map moves no bytes, host and device share memory: a copy then has a
 * cost, but there is no transfer rate. Source of the half-rate size: R.
 * Hockney, "The science of computer benchmarking", 1996. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "device/cl_info.h"
#include "measure/host/transfers.h"

enum { KIB = 1 << 10, MIB = 1 << 20, WORD = 4 };

enum host_memory_kind { PAGEABLE, PINNED, N_KINDS };
enum transfer_direction { UP, DOWN, N_WAYS };

static const char *const kind_names[] = {"pageable", "pinned"};
static const char *const way_names[] = {"up", "down"};
static const enum xl__fact_id way_facts[] = {XL__F_upload_bytes_per_s,
                                             XL__F_download_bytes_per_s};

static const size_t quick_sizes[] = {64 * KIB, 2 * MIB, 32 * MIB};
static const size_t full_sizes[] = {4 * KIB,  16 * KIB, 64 * KIB,
                                    256 * KIB, 1 * MIB, 4 * MIB,
                                    16 * MIB, 64 * MIB, 256 * MIB};
enum { MOST_SIZES = sizeof full_sizes / sizeof *full_sizes };

static const char op[] = "probe_transfer";
static const char own_copy[] =
    "no transfer but a copy within one memory (on CPUs a memcpy), timed, "
    "without a rate: mapping the buffer avoids it";

/* The memory at both ends. */
struct transfer_ends {
    struct xl__session *p;
    xl_queue *q, *beside; /* two queues of one context */
    size_t bytes;         /* of each buffer below */
    struct xl__host_mem from[N_KINDS], to[N_KINDS];
    cl_mem src, dst;      /* src: random words */
    bool shares;          /* maps move no bytes */
};

/* Times by size. */
struct curve {
    double bytes[MOST_SIZES + 1], ns[MOST_SIZES + 1];
    unsigned n;
};

/* -- analysis ------------------------------------------------------------- */

/* The size with a given rate between two points, where the time is linear: a
 * latency plus a time per byte. */
static double solve_line(const double *bytes, const double *ns, double rate)
{
    const double slope = (ns[1] - ns[0]) / (bytes[1] - bytes[0]);
    return rate * (ns[0] - slope * bytes[0]) / (1 - rate * slope);
}

/* From the large end down, since a small size may be fast by chance. */
double xl__half_rate_bytes(const double *bytes, const double *ns, unsigned n)
{
    double best = 0;
    for (unsigned i = 0; i < n; i++)
        best = fmax(best, bytes[i] / ns[i]);
    for (unsigned i = n; i-- > 1;) {
        const double low = bytes[i - 1] / ns[i - 1], high = bytes[i] / ns[i];
        if (low < best / 2 && high >= best / 2)
            return solve_line(&bytes[i - 1], &ns[i - 1], best / 2);
    }
    return NAN;
}

/* -- rows ----------------------------------------------------------------- */

static void emit_rate(struct transfer_ends *e, xl_row *row, double bytes,
                      bool is_right)
{
    if (!is_right)
        xl__probe_reject(row, "wrong result: the received words differ from "
                              "those sent");
    xl__transfer_value(row, bytes, e->shares ? own_copy : NULL);
    xl__probe_emit(e->p, row);
}

/* -- copies --------------------------------------------------------------- */

struct host_copy {
    struct transfer_ends *e;
    enum transfer_direction way;
    void *host;
    cl_mem device;
    size_t bytes;
};

static xl_status time_copy(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    const struct host_copy *c = arg;
    const uint64_t start = xl__now_ns();
    TRY(c->way == UP
            ? xl__upload(p->q, c->device, 0, c->host, c->bytes, NULL)
            : xl__download(p->q, c->device, 0, c->host, c->bytes, NULL, NULL));
    TRY(xl_queue_finish(p->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static struct host_copy plain_copy(struct transfer_ends *e,
                                   enum host_memory_kind kind,
                                   enum transfer_direction way, size_t bytes)
{
    return (struct host_copy){e, way,
                              way == UP ? e->from[kind].at : e->to[kind].at,
                              way == UP ? e->dst : e->src, bytes};
}

/* Clears the target of a copy. */
static xl_status clear_target(const struct host_copy *c)
{
    if (c->way == UP)
        return xl_buffer_fill(c->e->q, c->device, 0, 0, c->bytes / WORD);
    cl_uint *words = c->host;
    for (size_t i = 0; i < c->bytes / WORD; i++)
        words[i] = 0;
    return XL_OK;
}

static xl_status check_target(const struct host_copy *c, bool *right)
{
    struct xl__session *p = c->e->p;
    if (c->way == UP)
        return xl__buffer_matches(p, c->device, c->bytes / WORD, p->how->seed,
                                  right);
    *right = xl__words_match(c->host, c->bytes / WORD, p->how->seed);
    return XL_OK;
}

static xl_status sample_copy(struct host_copy *c, xl_row *row, bool *right)
{
    xl_status status = XL_OK;
    const struct xl__timed_run run = {time_copy, c};
    TRY(clear_target(c));
    TRY(xl__sample_runs(c->e->p, &run, 1, &row->samples));
    TRY(check_target(c, right));
fail:
    return status;
}

static xl_status measure_size(struct transfer_ends *e,
                              enum host_memory_kind kind,
                              enum transfer_direction way, size_t bytes,
                              struct curve *curve)
{
    xl_status status = XL_OK;
    struct host_copy c = plain_copy(e, kind, way, bytes);
    bool right;
    xl_row row;
    xl__transfer_row(&row, op, kind_names[kind], way_names[way], bytes);
    TRY(sample_copy(&c, &row, &right));
    emit_rate(e, &row, (double)bytes, right);
    curve->bytes[curve->n] = (double)bytes;
    curve->ns[curve->n++] = row.samples.median_ns;
    if (right && !e->shares)
        xl__probe_raise_fact(&e->q->ctx->device->seen, way_facts[way],
                             xl__probe_peak(&row));
fail:
    return status;
}

/* The time of a copy of one word. */
static xl_status measure_latency(struct transfer_ends *e,
                                 enum transfer_direction way,
                                 struct curve *curve)
{
    xl_status status = XL_OK;
    struct host_copy c = plain_copy(e, PAGEABLE, way, WORD);
    bool right;
    xl_row row;
    xl__transfer_row(&row, op, "latency", way_names[way], WORD);
    TRY(sample_copy(&c, &row, &right));
    if (!right)
        xl__probe_reject(&row, "wrong result: the received word differs "
                               "from the one sent");
    row.unit = "s";
    row.value = row.samples.median_ns * 1e-9;
    xl__probe_emit(e->p, &row);
    curve->bytes[0] = WORD;
    curve->ns[0] = row.samples.median_ns;
fail:
    return status;
}

static void report_half_rate(struct transfer_ends *e,
                             enum host_memory_kind kind,
                             enum transfer_direction way,
                             const struct curve *curve)
{
    xl_row row;
    xl_row_init(&row, op, way == UP ? "half_up" : "half_down");
    xl_row_param_text(&row, "memory", kind_names[kind]);
    row.unit = "B";
    row.value = xl__half_rate_bytes(curve->bytes, curve->ns, curve->n);
    xl__probe_emit(e->p, &row);
}

static xl_status measure_copies(struct transfer_ends *e)
{
    xl_status status = XL_OK;
    const size_t *sizes = e->p->how->quick ? quick_sizes : full_sizes;
    const size_t n = e->p->how->quick
                         ? sizeof quick_sizes / sizeof *quick_sizes
                         : MOST_SIZES;
    for (unsigned way = 0; way < N_WAYS; way++) {
        struct curve curve = {.n = 1};
        TRY(measure_latency(e, (enum transfer_direction)way, &curve));
        for (unsigned kind = 0; kind < N_KINDS; kind++) {
            curve.n = 1; /* the latency is the first point of each */
            for (size_t i = 0; i < n && sizes[i] <= e->bytes; i++)
                TRY(measure_size(e, (enum host_memory_kind)kind,
                                 (enum transfer_direction)way, sizes[i],
                                 &curve));
            if (!e->shares)
                report_half_rate(e, (enum host_memory_kind)kind,
                                 (enum transfer_direction)way, &curve);
        }
    }
fail:
    return status;
}

/* -- maps of buffers ------------------------------------------------------ */

/* Maps of buffers, timed from the map to the end of the unmap, show whether
 * host and device share memory. They are compared with a copy of the same size
 * by the wall clock, since the events of maps often have zero duration. */
enum { PAGE = 4096 };

static const char map_moves_nothing[] = "zero copy: the map moves no bytes";

/* The kinds of mapped buffers. */
static const struct {
    const char *name;
    cl_mem_flags flags;
} map_kinds[] = {
    {"map", 0}, /* a device buffer: its map shows what the device is */
    {"map_alloc", CL_MEM_ALLOC_HOST_PTR},
    {"map_use", CL_MEM_USE_HOST_PTR},
};
enum { MAP_PLAIN, MAP_ALLOC, MAP_USE, N_MAP_KINDS };

struct mapped_buffer {
    struct xl__session *p;
    const struct xl__timed_run *copies; /* up and down, of the same size */
    size_t bytes;
    cl_mem mem;
    void *heap;    /* of CL_MEM_USE_HOST_PTR; else NULL */
    cl_uint stamp; /* value of the first word, different in each run */
    bool right;    /* all words so far */
};

bool xl__moves_nothing(double map_ns, double copy_ns)
{
    static const double faster = 3; /* no second copy engine is so much
                                       faster */
    return map_ns * faster < copy_ns;
}

/* -- maps ----------------------------------------------------------------- */

static xl_status open_map(struct mapped_buffer *m, cl_map_flags flags,
                          cl_uint **at)
{
    xl_status status = XL_OK;
    cl_int code;
    xl_queue *q = m->p->q;
    *at = clEnqueueMapBuffer(q->cl, m->mem, CL_TRUE, flags, 0, m->bytes, 0,
                             NULL, NULL, &code);
    CL_TRY(&q->error, code);
fail:
    return status;
}

static xl_status close_map(struct mapped_buffer *m, cl_uint *at)
{
    xl_status status = XL_OK;
    xl_queue *q = m->p->q;
    CL_TRY(&q->error,
           clEnqueueUnmapMemObject(q->cl, m->mem, at, 0, NULL, NULL));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status time_map_up(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct mapped_buffer *m = arg;
    cl_uint *at, seen;
    const uint64_t start = xl__now_ns();
    TRY(open_map(m, CL_MAP_WRITE_INVALIDATE_REGION, &at));
    at[0] = ++m->stamp;
    TRY(close_map(m, at));
    *ns = (double)(xl__now_ns() - start);
    TRY(xl_buffer_read(p->q, m->mem, 0, &seen, WORD));
    m->right = m->right && seen == m->stamp;
fail:
    return status;
}

/* The device writes a word first, so that no copy of an earlier map
 * suffices. */
static xl_status time_map_down(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct mapped_buffer *m = arg;
    cl_uint *at;
    TRY(xl_buffer_fill(p->q, m->mem, 0, ++m->stamp, 1));
    TRY(xl_queue_finish(p->q));
    const uint64_t start = xl__now_ns();
    TRY(open_map(m, CL_MAP_READ, &at));
    m->right = m->right && at[0] == m->stamp;
    TRY(close_map(m, at));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* Maps all of it once and compares random words in both directions. */
static xl_status check_map(struct mapped_buffer *m)
{
    xl_status status = XL_OK;
    const size_t n = m->bytes / WORD;
    const uint64_t seed = m->p->how->seed;
    cl_uint *at;
    bool right = false;
    TRY(open_map(m, CL_MAP_WRITE_INVALIDATE_REGION, &at));
    for (size_t i = 0; i < n; i++)
        at[i] = xl__probe_word(seed, i);
    TRY(close_map(m, at));
    TRY(xl__buffer_matches(m->p, m->mem, n, seed, &right));
    TRY(open_map(m, CL_MAP_READ, &at));
    m->right = right && xl__words_match(at, n, seed);
    TRY(close_map(m, at));
fail:
    return status;
}

static xl_status create_mapped(struct mapped_buffer *m, unsigned kind)
{
    xl_status status = XL_OK;
    xl_queue *q = m->p->q;
    cl_int code;
    void *at = NULL;
    if (kind == MAP_USE) {
        m->heap = xl__calloc(m->bytes + PAGE, 1);
        TRY(xl__check_alloc(&q->error, m->heap, "host memory"));
        at = (char *)m->heap + (PAGE - (uintptr_t)m->heap % PAGE);
    }
    m->mem =
        clCreateBuffer(q->ctx->cl, CL_MEM_READ_WRITE | map_kinds[kind].flags,
                       m->bytes, at, &code);
    CL_TRY(&q->error, code);
fail:
    return status;
}

static void destroy_mapped(struct mapped_buffer *m)
{
    xl__queue_drain(m->p->q);
    xl__buffer_release(m->mem);
    free(m->heap);
}

/* Times a map, then a copy: interleaved, the copies would take most of the
 * time, and their time is only compared with. */
static xl_status measure_map_way(struct mapped_buffer *m, unsigned kind,
                                 unsigned way, bool *shares)
{
    enum { MAP, COPY, N };
    xl_status status = XL_OK;
    const struct xl__timed_run map = {way == UP ? time_map_up : time_map_down,
                                      m};
    struct xl__session hasty = *m->p;
    xl_row row;
    xl_samples *samples = xl__calloc(N, sizeof *samples);
    TRY(xl__check_alloc(&m->p->q->error, samples, "samples"));
    hasty.is_hasty = true;
    TRY(xl__sample_runs(m->p, &map, 1, &samples[MAP]));
    TRY(xl__sample_runs(&hasty, &m->copies[way], 1, &samples[COPY]));
    xl__transfer_row(&row, "probe_transfer", map_kinds[kind].name,
                     way == UP ? "up" : "down", m->bytes);
    row.samples = samples[MAP];
    if (!m->right)
        xl__probe_reject(&row, "wrong result: the mapped words differ from "
                               "those sent");
    *shares = m->right &&
              xl__moves_nothing(samples[MAP].min_ns, samples[COPY].min_ns);
    xl__transfer_value(&row, (double)m->bytes,
                       *shares ? map_moves_nothing : NULL);
    xl__probe_emit(m->p, &row);
fail:
    free(samples);
    return status;
}

/* Measures a kind of buffer. A failure of the driver becomes an unsupported
 * row. */
static xl_status measure_map_kind(struct mapped_buffer m, unsigned kind,
                                  bool *shares)
{
    xl_status status = XL_OK;
    xl_row row;
    bool way_shares[N_WAYS] = {false, false};
    *shares = false;
    TRY(create_mapped(&m, kind));
    TRY(check_map(&m));
    for (unsigned way = 0; way < N_WAYS; way++)
        TRY(measure_map_way(&m, kind, way, &way_shares[way]));
    *shares = way_shares[UP] && way_shares[DOWN];
fail:
    destroy_mapped(&m);
    if (status == XL_OK || status == XL_CANCELLED)
        return status;
    xl__transfer_row(&row, "probe_transfer", map_kinds[kind].name, "",
                     m.bytes);
    return xl__probe_unsupported(m.p, &row, "%s", xl_error_detail(m.p->q));
}

/* Measures maps, up and down, of all kinds of buffers; `copies` are transfers
 * of the same size, up and down. *shares: host and device share memory, which
 * a device buffer shows whose map costs nothing. A buffer allocated for the
 * host may stay in host memory and be read remotely, so it counts only if the
 * device reports unified memory. */
static xl_status measure_maps(struct xl__session *p, size_t bytes,
                              const struct xl__timed_run copies[2],
                              bool *shares)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const struct mapped_buffer m = {
        .p = p, .copies = copies, .bytes = bytes, .right = true};
    bool by_kind[N_MAP_KINDS];
    for (unsigned kind = 0; kind < N_MAP_KINDS; kind++)
        TRY(measure_map_kind(m, kind, &by_kind[kind]));
    *shares = by_kind[MAP_PLAIN] ||
              (by_kind[MAP_ALLOC] && xl__is(l, XL__F_host_unified));
fail:
    return status;
}

/* -- maps ----------------------------------------------------------------- */

/* Compared with copies of pinned memory: a driver's map may move its bytes
 * through such, several times as fast as pageable memory. */
static xl_status measure_map_sharing(struct transfer_ends *e)
{
    xl_status status = XL_OK;
    struct host_copy up = plain_copy(e, PINNED, UP, e->bytes);
    struct host_copy down = plain_copy(e, PINNED, DOWN, e->bytes);
    const struct xl__timed_run copies[] = {{time_copy, &up},
                                           {time_copy, &down}};
    TRY(measure_maps(e->p, e->bytes, copies, &e->shares));
    xl__limits_measure(&e->q->ctx->device->seen, XL__F_has_zero_copy,
                       e->shares);
fail:
    return status;
}

/* -- both ways at once ---------------------------------------------------- */

static xl_status time_both_ways(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct transfer_ends *e = arg;
    xl_queue *beside = e->beside;
    const uint64_t start = xl__now_ns();
    TRY(xl__upload(e->q, e->dst, 0, e->from[PINNED].at, e->bytes, NULL));
    TRY(xl__queue_flush(e->q));
    TRY(xl__copy_queue_error(p, beside,
                             xl__download(beside, e->src, 0, e->to[PINNED].at,
                                          e->bytes, NULL, NULL)));
    TRY(xl__copy_queue_error(p, beside, xl__queue_flush(beside)));
    TRY(xl_queue_finish(e->q));
    TRY(xl__copy_queue_error(p, beside, xl_queue_finish(beside)));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status measure_both_ways(struct transfer_ends *e)
{
    xl_status status = XL_OK;
    struct host_copy up = plain_copy(e, PINNED, UP, e->bytes);
    struct host_copy down = plain_copy(e, PINNED, DOWN, e->bytes);
    const struct xl__timed_run runs[] = {
        {time_copy, &up}, {time_copy, &down}, {time_both_ways, e}};
    enum { ALONE_UP, ALONE_DOWN, BOTH, N };
    xl_row row;
    bool up_right, down_right;
    xl_samples *samples = xl__calloc(N, sizeof *samples);
    TRY(xl__check_alloc(&e->q->error, samples, "samples"));
    TRY(clear_target(&up));
    TRY(clear_target(&down));
    TRY(xl__sample_runs(e->p, runs, N, samples));
    TRY(check_target(&up, &up_right));
    TRY(check_target(&down, &down_right));
    xl__transfer_row(&row, op, "both_ways", "", e->bytes);
    row.samples = samples[BOTH];
    const double overlap =
        xl__overlap(samples[ALONE_UP].min_ns, samples[ALONE_DOWN].min_ns,
                    samples[BOTH].min_ns);
    xl_row_found(&row, "overlap", overlap);
    xl__transfer_note(&row, xl__overlap_text(overlap));
    emit_rate(e, &row, 2 * (double)e->bytes, up_right && down_right);
fail:
    free(samples);
    return status;
}

/* -- compressible data ---------------------------------------------------- */

static xl_status time_device_copy(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    const struct host_copy *c = arg;
    const uint64_t start = xl__now_ns();
    CL_TRY(&p->q->error, clEnqueueCopyBuffer(p->q->cl, c->device, c->e->dst, 0,
                                             0, c->bytes, 0, NULL, NULL));
    TRY(xl_queue_finish(p->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

enum { EQUAL_UP, EQUAL_DOWN, EQUAL_COPY, N_EQUAL };

/* Fills the sources on host and device: every word random, or all equal. */
static xl_status fill_source(struct transfer_ends *e, bool is_equal)
{
    xl_status status = XL_OK;
    struct xl__host_mem *host = &e->from[PINNED];
    const uint64_t seed = e->p->how->seed;
    cl_uint *words = host->at;
    for (size_t i = 0; i < e->bytes / WORD; i++)
        words[i] = xl__probe_word(seed, is_equal ? 0 : i);
    TRY(xl__upload(e->q, e->src, 0, host->at, e->bytes, NULL));
    TRY(xl_queue_finish(e->q));
fail:
    return status;
}

/* Samples the same commands on the same memory. */
static xl_status sample_words(struct transfer_ends *e, bool is_equal,
                              xl_samples *out)
{
    xl_status status = XL_OK;
    struct host_copy up = plain_copy(e, PINNED, UP, e->bytes);
    struct host_copy down = plain_copy(e, PINNED, DOWN, e->bytes);
    const struct xl__timed_run runs[] = {
        [EQUAL_UP] = {time_copy, &up},
        [EQUAL_DOWN] = {time_copy, &down},
        [EQUAL_COPY] = {time_device_copy, &down}};
    TRY(fill_source(e, is_equal));
    TRY(xl__sample_runs(e->p, runs, N_EQUAL, out));
fail:
    return status;
}

/* Samples equal words between two samplings of random ones, so that a drift
 * affects both. */
static xl_status measure_equal_words(struct transfer_ends *e)
{
    static const double faster = 1.15; /* above the noise */
    static const char *const names[] = {"up", "down", "copy"};
    enum { BEFORE, EQUAL, AFTER, N };
    xl_status status = XL_OK;
    xl_samples *samples = xl__calloc((size_t)N * N_EQUAL, sizeof *samples);
    TRY(xl__check_alloc(&e->q->error, samples, "samples"));
    for (unsigned i = 0; i < N; i++)
        TRY(sample_words(e, i == EQUAL, &samples[i * N_EQUAL]));
    for (unsigned i = 0; i < N_EQUAL; i++) {
        xl_row row;
        xl__transfer_row(&row, op, "equal", names[i], e->bytes);
        row.samples = samples[EQUAL * N_EQUAL + i];
        row.unit = "1";
        row.value = fmin(samples[BEFORE * N_EQUAL + i].min_ns,
                         samples[AFTER * N_EQUAL + i].min_ns) /
                    row.samples.min_ns;
        if (row.value > faster)
            xl__transfer_note(&row, "equal words are faster than random "
                                    "ones: the path compresses them");
        xl__probe_emit(e->p, &row);
    }
fail:
    free(samples);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status create_ends(struct transfer_ends *e)
{
    xl_status status = XL_OK;
    xl_lib *lib = e->q->ctx->lib;
    const size_t wanted_bytes = e->p->how->quick ? 32 * MIB : 256 * MIB;
    size_t got;
    TRY(xl__probe_buffer(e->p, xl__transfer_bytes(e->p, wanted_bytes), &e->src,
                         &got));
    TRY(xl__probe_buffer(e->p, got, &e->dst, &e->bytes));
    status = xl_queue_create_beside(e->q, &e->beside);
    if (status != XL_OK)
        TRY(xl__error_set(&e->q->error, status, "%s", xl_lib_error(lib)));
    for (unsigned i = 0; i < N_KINDS; i++) {
        TRY(xl__host_mem_create(e->q, i == PINNED, e->bytes, &e->from[i]));
        TRY(xl__host_mem_create(e->q, i == PINNED, e->bytes, &e->to[i]));
        xl__host_mem_random(&e->from[i], e->p->how->seed);
    }
fail:
    return status;
}

static void destroy_ends(struct transfer_ends *e)
{
    for (unsigned i = 0; i < N_KINDS; i++) {
        xl__host_mem_destroy(e->q, &e->from[i]);
        xl__host_mem_destroy(e->q, &e->to[i]);
    }
    xl_queue_destroy(e->beside);
    xl__buffer_release(e->src);
    xl__buffer_release(e->dst);
}

static xl_status run_transfer_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct transfer_ends e = {.p = p, .q = p->q};
    TRY(create_ends(&e));
    TRY(measure_map_sharing(&e));
    TRY(measure_copies(&e));
    TRY(measure_both_ways(&e));
    TRY(measure_equal_words(&e));
fail:
    xl__queue_drain(e.q);
    xl__queue_drain(e.beside);
    destroy_ends(&e);
    return status;
}

const struct xl__probe xl__probe_transfer = {
    {"transfer",
     "Host to device (up) and back, each waited for, by the wall clock: from "
     "pageable memory, from pinned memory, by maps of a device's buffer and "
     "of buffers made with ALLOC_HOST_PTR and USE_HOST_PTR; half: the size "
     "that reaches half of the best rate; latency: a single word; both "
     "directions at once on two queues; equal: the gain if all words are the "
     "same. A map that is over three times faster than a copy of pinned "
     "memory moves nothing: that is called zero copy, and times replace "
     "rates. Fooled by drivers that move pages only on first access, and by a "
     "link that sleeps until it has work.",
     true},
    run_transfer_probe};
