/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of buffers, timed from the map to the end of the unmap: do they move
 * bytes, or do host and device have one memory? By the wall clock against a
 * copy of as many bytes, since the events of maps often last no time. */
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "device/cl_info.h"
#include "measure/host/transfers.h"

enum { WORD = 4, PAGE = 4096 };
enum { UP, DOWN, N_WAYS };

static const char no_copy[] = "zero copy: the map moves no bytes";

/* How a buffer that is mapped was made. */
static const struct {
    const char *name;
    cl_mem_flags flags;
} kinds[] = {
    {"map", 0}, /* as any other: its place says what the device is */
    {"map_alloc", CL_MEM_ALLOC_HOST_PTR},
    {"map_use", CL_MEM_USE_HOST_PTR},
};
enum { PLAIN, ALLOC, USE, N_KINDS };

struct map {
    struct xl__probing *p;
    const struct xl__run *copies; /* up and down, of as many bytes */
    size_t bytes;
    cl_mem mem;
    void *heap;   /* behind CL_MEM_USE_HOST_PTR; else NULL */
    cl_uint turn; /* the first word's value, another in each run */
    bool right;   /* what was seen so far */
};

bool xl__moves_nothing(double map_ns, double copy_ns)
{
    static const double faster = 3; /* no second engine is that much faster */
    return map_ns * faster < copy_ns;
}

/* -- a map ----------------------------------------------------------------- */

static xl_status open_map(struct map *m, cl_map_flags flags, cl_uint **at)
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

static xl_status close_map(struct map *m, cl_uint *at)
{
    xl_status status = XL_OK;
    xl_queue *q = m->p->q;
    CL_TRY(&q->error,
           clEnqueueUnmapMemObject(q->cl, m->mem, at, 0, NULL, NULL));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status up_once(struct xl__probing *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct map *m = arg;
    cl_uint *at, seen;
    const uint64_t start = xl__now_ns();
    TRY(open_map(m, CL_MAP_WRITE_INVALIDATE_REGION, &at));
    at[0] = ++m->turn;
    TRY(close_map(m, at));
    *ns = (double)(xl__now_ns() - start);
    TRY(xl_buffer_read(p->q, m->mem, 0, &seen, WORD));
    m->right = m->right && seen == m->turn;
fail:
    return status;
}

/* The device changes a word first, so that no copy of an earlier map will
 * do. */
static xl_status down_once(struct xl__probing *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct map *m = arg;
    cl_uint *at;
    TRY(xl_buffer_fill(p->q, m->mem, 0, ++m->turn, 1));
    TRY(xl_queue_finish(p->q));
    const uint64_t start = xl__now_ns();
    TRY(open_map(m, CL_MAP_READ, &at));
    m->right = m->right && at[0] == m->turn;
    TRY(close_map(m, at));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* All of it once, random words both ways. */
static xl_status check(struct map *m)
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
    TRY(xl__buffer_right(m->p, m->mem, n, seed, &right));
    TRY(open_map(m, CL_MAP_READ, &at));
    m->right = right && xl__words_right(at, n, seed);
    TRY(close_map(m, at));
fail:
    return status;
}

/* -- a kind of buffer ------------------------------------------------------ */

static xl_status create(struct map *m, unsigned kind)
{
    xl_status status = XL_OK;
    xl_queue *q = m->p->q;
    cl_int code;
    void *at = NULL;
    if (kind == USE) {
        m->heap = xl__calloc(m->bytes + PAGE, 1);
        if (!m->heap)
            TRY(xl__error_set(&q->error, XL_NO_MEMORY, "host memory"));
        at = (char *)m->heap + (PAGE - (uintptr_t)m->heap % PAGE);
    }
    m->mem = clCreateBuffer(q->ctx->cl, CL_MEM_READ_WRITE | kinds[kind].flags,
                            m->bytes, at, &code);
    CL_TRY(&q->error, code);
fail:
    return status;
}

static void destroy(struct map *m)
{
    xl__settle(m->p->q);
    if (m->mem)
        clReleaseMemObject(m->mem);
    free(m->heap);
}

/* A map, then a copy: in turns the copies would take all the time, and theirs
 * is only looked at. */
static xl_status run_way(struct map *m, unsigned kind, unsigned way,
                         bool *shares)
{
    enum { MAP, COPY, N };
    xl_status status = XL_OK;
    const struct xl__run map = {way == UP ? up_once : down_once, m};
    struct xl__probing hasty = *m->p;
    xl_row row;
    xl_samples *samples = xl__calloc(N, sizeof *samples);
    if (!samples)
        TRY(xl__error_set(&m->p->q->error, XL_NO_MEMORY, "samples"));
    hasty.is_hasty = true;
    TRY(xl__sample_runs(m->p, &map, 1, &samples[MAP]));
    TRY(xl__sample_runs(&hasty, &m->copies[way], 1, &samples[COPY]));
    xl__transfer_row(&row, "probe_transfer", kinds[kind].name,
                     way == UP ? "up" : "down", m->bytes);
    row.samples = samples[MAP];
    if (!m->right)
        xl__probe_reject(&row, "the words behind the map are not those sent");
    *shares = m->right && xl__moves_nothing(samples[MAP].min_ns,
                                            samples[COPY].min_ns);
    xl__transfer_value(&row, (double)m->bytes, *shares ? no_copy : NULL);
    xl__probe_emit(m->p, &row);
fail:
    free(samples);
    return status;
}

/* A driver that refuses such a buffer, or its map, is told in a row. */
static xl_status run_kind(struct map m, unsigned kind, bool *shares)
{
    xl_status status = XL_OK;
    xl_row row;
    bool way_shares[N_WAYS] = {false, false};
    *shares = false;
    TRY(create(&m, kind));
    TRY(check(&m));
    for (unsigned way = 0; way < N_WAYS; way++)
        TRY(run_way(&m, kind, way, &way_shares[way]));
    *shares = way_shares[UP] && way_shares[DOWN];
fail:
    destroy(&m);
    if (status == XL_OK || status == XL_CANCELLED)
        return status;
    xl__transfer_row(&row, "probe_transfer", kinds[kind].name, "", m.bytes);
    xl__probe_unsupported(m.p, &row, xl_error_detail(m.p->q));
    return XL_OK;
}

/* A buffer that the device made for itself and that maps for nothing is
 * shared. One that was asked for on the host's side may only live there, and
 * the device reads it from afar; unless both have one memory anyway. */
xl_status xl__map_rows(struct xl__probing *p, size_t bytes,
                       const struct xl__run copies[2], bool *shares)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const struct map m = {
        .p = p, .copies = copies, .bytes = bytes, .right = true};
    bool by_kind[N_KINDS];
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        TRY(run_kind(m, kind, &by_kind[kind]));
    *shares = by_kind[PLAIN] ||
              (by_kind[ALLOC] && xl__is(l, XL__F_host_unified));
fail:
    return status;
}
