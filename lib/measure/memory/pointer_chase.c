/* SPDX-License-Identifier: Apache-2.0 */
/* Rings laid and walked. What is laid needs no table on the host: a ring is a
 * bijection of step numbers, which host and kernel compute alike. */
#include "measure/memory/pointer_chase.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum {
    WORD = 4,
    UNROLL = 16, /* links of a turn of `chase` */
    EACH = 64,   /* links an item of `link` makes */
    WG = 64,
    WINDOW = 2 << 20, /* bytes: few pages of any size (CP-19) */
    QUICK_LAP = 10,   /* launches that bring a ring near */
    FULL_LAP = 40
};
/* Of a launch: its own cost does not show, and no watchdog minds if the next
 * ring is ten times as slow (GE-11). */
static const double launch_ns = 2e6;
static const double wall_launch_ns = 10e6; /* by a clock that counts all */
static const double least_ns = 0.1; /* of a load, whatever a clock says */

/* -- rings ---------------------------------------------------------------- */

struct xl__ring xl__ring_dense(size_t bytes, size_t line_bytes)
{
    struct xl__ring r = {.spread = 1};
    const size_t lines = xl__max_size(bytes / line_bytes, 1);
    const size_t windows = xl__max_size(lines * line_bytes / WINDOW, 1);
    r.windows = (cl_uint)windows;
    r.each = (cl_uint)(lines / windows);
    r.slots = r.windows * r.each;
    r.line = r.stride = (cl_uint)(line_bytes / WORD);
    return r;
}

struct xl__ring xl__ring_spread(size_t bytes, size_t slots, size_t line_bytes)
{
    struct xl__ring r = {.windows = 1};
    r.slots = r.each = (cl_uint)slots;
    r.line = (cl_uint)(line_bytes / WORD);
    r.spread = (cl_uint)xl__max_size(bytes / slots / line_bytes, 1);
    r.stride = r.spread * r.line;
    return r;
}

static unsigned bits_below(cl_uint n)
{
    unsigned lg = 0;
    while (lg < 31 && (cl_uint)1 << lg < n)
        lg++;
    return lg;
}

/* As in probe/pointer_chase.cl. */
static cl_uint shuffle_number(cl_uint i, cl_uint n, cl_uint seed)
{
    const unsigned lg = bits_below(n), half = (lg + 1) / 2;
    const cl_uint mask = ((cl_uint)1 << lg) - 1;
    do {
        i = (i * 0x2c1b3c6du + seed) & mask;
        i ^= i >> half;
        i = (i * 0x297a2d39u) & mask;
        i ^= i >> half;
        i = (i * 0x7feb352du) & mask;
        i ^= i >> half;
    } while (i >= n);
    return i;
}

size_t xl__ring_place(const struct xl__ring *r, uint64_t seed, uint64_t step)
{
    const cl_uint i = (cl_uint)(step % r->slots);
    const cl_uint window =
        shuffle_number(i / r->each, r->windows, (cl_uint)seed);
    const cl_uint slot =
        window * r->each + shuffle_number(i % r->each, r->each, (cl_uint)seed);
    const cl_uint place =
        (cl_uint)((uint64_t)(cl_uint)(slot * 0x9e3779b9u) * r->spread >> 32);
    return (size_t)slot * r->stride + (size_t)place * r->line;
}

/* -- laying --------------------------------------------------------------- */

xl_status xl__chase_begin(struct xl__probing *p, size_t bytes,
                          struct xl__chase *chase)
{
    enum { CPU_LINE = 64, GPU_LINE = 128 };
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    memset(chase, 0, sizeof *chase);
    chase->line_bytes =
        xl__size_or(l, XL__F_cache_line_bytes,
                    xl__is(l, XL__F_is_cpu) ? CPU_LINE : GPU_LINE);
    TRY(xl_buffer_create(p->q, 2 * WORD, &chase->ends));
    TRY(xl__probe_buffer(p, bytes, &chase->links, &chase->bytes));
fail:
    return status;
}

void xl__chase_end(struct xl__chase *chase)
{
    if (chase->links)
        clReleaseMemObject(chase->links);
    if (chase->ends)
        clReleaseMemObject(chase->ends);
    memset(chase, 0, sizeof *chase);
}

xl_status xl__chase_lay(struct xl__probing *p, struct xl__chase *chase,
                        struct xl__ring r)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const size_t wg =
        xl__probe_is_scalar(l) ? 1 : xl__min_size(WG, p->most_wg);
    const double moved = 2.0 * r.slots * (double)chase->line_bytes;
    struct xl__plan plan = {.n_steps = 1,
                            .est_ns = xl__probe_est_ns(l, moved)};
    struct xl__step *s = &plan.step[0];
    const struct xl__call call = {.mem = {[1] = {chase->links, NULL}}};
    const size_t args[] = {
        r.slots,  r.windows, r.each, bits_below(r.windows), bits_below(r.each),
        r.stride, r.spread,  r.line, (cl_uint)p->how->seed};
    s->source = "probe/pointer_chase.cl";
    s->kernel = "link";
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = wg;
    s->global[0] = xl__round_up(xl__ceil_div(r.slots, EACH), wg);
    xl__define(s, "EACH", EACH);
    xl__define(s, "ONLY", 1);
    xl__arg_mem(s, 1);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        xl__arg_u32(s, args[i]);
    chase->ring = r;
    chase->walked = 0;
    return xl__plan_launch(p->q, &plan, &call, NULL);
}

/* -- walking -------------------------------------------------------------- */

static void make_plan(size_t turns, struct xl__plan *plan)
{
    struct xl__step *s = &plan->step[0];
    memset(plan, 0, sizeof *plan);
    plan->n_steps = 1;
    s->source = "probe/pointer_chase.cl";
    s->kernel = "chase";
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = s->global[0] = 1;
    xl__define(s, "UNROLL", UNROLL);
    xl__define(s, "ONLY", 2);
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_u32(s, turns);
}

static struct xl__call call_of(const struct xl__chase *c)
{
    const struct xl__call call = {
        .mem = {[1] = {c->links, NULL}, [2] = {c->ends, NULL}}};
    return call;
}

static size_t place_now(struct xl__probing *p, const struct xl__chase *c)
{
    return xl__ring_place(&c->ring, p->how->seed, c->walked);
}

static xl_status set_out(struct xl__probing *p, struct xl__chase *c)
{
    const cl_uint ends[2] = {(cl_uint)place_now(p, c), 0};
    return xl_buffer_write(p->q, c->ends, 0, ends, sizeof ends);
}

/* Did it walk, and arrive where so many launches lead? */
static xl_status arrive(struct xl__probing *p, struct xl__chase *c,
                        size_t turns, bool *right)
{
    xl_status status = XL_OK;
    cl_uint ends[2] = {0, 0};
    TRY(xl_buffer_read(p->q, c->ends, 0, ends, sizeof ends));
    c->walked += (uint64_t)ends[1] * turns * UNROLL;
    *right = ends[1] > 0 && ends[0] == place_now(p, c);
fail:
    return status;
}

xl_status xl__chase_sample(struct xl__probing *p, void *chase, size_t turns,
                           xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__chase *c = chase;
    const struct xl__call call = call_of(c);
    const double steps = (double)turns * UNROLL;
    struct xl__plan plan;
    bool right;
    make_plan(turns, &plan);
    TRY(set_out(p, c));
    TRY(xl__probe_sample(p, row, &plan, &call, 0));
    TRY(arrive(p, c, turns, &right));
    row->value /= steps;
    c->ns = row->samples.min_ns / steps;
    c->wall_clock = row->samples.wall_clock;
    if (!right)
        xl__probe_reject(row, "the walk did not end where its links lead");
fail:
    return status;
}

size_t xl__chase_turns(const struct xl__probing *p,
                       const struct xl__chase *chase)
{
    const size_t most = xl__size_or(&p->q->ctx->device->limits,
                                    XL__F_max_loop_turns, UINT32_MAX);
    const double want_ns = chase->wall_clock ? wall_launch_ns : launch_ns;
    const double turns = want_ns / (fmax(chase->ns, least_ns) * UNROLL);
    return (size_t)fmax(fmin(turns, (double)most), 1); /* GE-24 */
}

/* One lap, or as much of it as there is time for: what was linked is in the
 * caches that all units share, but not in those of the one that walks. */
static xl_status bring_near(struct xl__probing *p, struct xl__chase *c,
                            size_t turns)
{
    xl_status status = XL_OK;
    const struct xl__call call = call_of(c);
    const size_t n = xl__min_size(c->ring.slots / (turns * UNROLL),
                                  p->how->quick ? QUICK_LAP : FULL_LAP);
    struct xl__plan plan;
    bool right;
    if (n == 0)
        return XL_OK; /* the sampler's own warm-up does it */
    make_plan(turns, &plan);
    TRY(set_out(p, c));
    for (size_t i = 0; i < n; i++)
        TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(arrive(p, c, turns, &right));
fail:
    return status;
}

xl_status xl__chase_point(struct xl__probing *p, struct xl__chase *chase,
                          struct xl__ring ring, xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__turning w = {xl__chase_sample, chase};
    xl_probing how = *p->how;
    struct xl__probing brief = *p;
    size_t turns;
    how.quick = true;
    brief.how = &how;
    TRY(xl__probe_alive(p));
    TRY(xl__chase_lay(p, chase, ring));
    if (!(chase->ns > 0)) /* the first, of which nothing is known */
        TRY(xl__turns_find(&brief, &w, launch_ns, &turns));
    turns = xl__chase_turns(p, chase);
    TRY(bring_near(p, chase, turns));
    TRY(xl__chase_sample(&brief, chase, turns, row));
fail:
    return status;
}
