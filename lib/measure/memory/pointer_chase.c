/* SPDX-License-Identifier: Apache-2.0 */
/* Links rings and times the chase. A ring needs no table on the host: it is a
 * bijection of step numbers, which host and kernel compute alike. */

#include "measure/memory/pointer_chase.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum {
    WORD = 4,
    UNROLL = 16, /* links per iteration of `chase` */
    EACH = 64,   /* links that an item of `link` writes */
    WG = 64,
    WINDOW = 2 << 20, /* bytes: few pages of any size (CP-19) */
    QUICK_LAP = 10,   /* launches that load a ring into the caches */
    FULL_LAP = 40
};
/* Duration of a launch: its overhead does not show, and a ring that is ten
 * times as slow is still far below a watchdog (GE-11). */
static const double launch_ns = 2e6;
static const double wall_launch_ns = 10e6; /* by the wall clock, which
                                              includes overhead */
static const double least_ns = 0.1;        /* least time of a load */

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

/* The same as in probe/pointer_chase.cl. */
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

size_t xl__ring_word(const struct xl__ring *r, uint64_t seed, uint64_t step)
{
    const cl_uint i = (cl_uint)(step % r->slots);
    const cl_uint window =
        shuffle_number(i / r->each, r->windows, (cl_uint)seed);
    const cl_uint slot =
        window * r->each + shuffle_number(i % r->each, r->each, (cl_uint)seed);
    const cl_uint line =
        (cl_uint)((uint64_t)(cl_uint)(slot * 0x9e3779b9u) * r->spread >> 32);
    return (size_t)slot * r->stride + (size_t)line * r->line;
}

/* -- linking -------------------------------------------------------------- */

xl_status xl__chase_begin(struct xl__session *p, size_t bytes,
                          struct xl__chase *chase)
{
    enum { CPU_LINE = 64, GPU_LINE = 128 };
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
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
    xl__buffer_release(chase->links);
    xl__buffer_release(chase->ends);
    memset(chase, 0, sizeof *chase);
}

xl_status xl__chase_link(struct xl__session *p, struct xl__chase *chase,
                         struct xl__ring r)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t wg =
        xl__probe_is_scalar(l) ? 1 : xl__min_size(WG, p->most_wg);
    const double moved = 2.0 * r.slots * (double)chase->line_bytes;
    struct xl__plan plan;
    const struct xl__call call = {.mem = {[1] = {.buf = chase->links}}};
    const size_t args[] = {
        r.slots,  r.windows, r.each, bits_below(r.windows), bits_below(r.each),
        r.stride, r.spread,  r.line, (cl_uint)p->how->seed};
    struct xl__step *s = xl__probe_step(
        &plan, "probe/pointer_chase.cl", "link",
        xl__round_up(xl__ceil_div(r.slots, EACH), wg), wg, true);
    plan.est_ns = xl__probe_est_ns(l, moved);
    xl__define(s, "EACH", EACH);
    xl__define(s, "ONLY", 1);
    xl__arg_mem(s, 1);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        xl__arg_u32(s, args[i]);
    chase->ring = r;
    chase->steps_done = 0;
    return xl__plan_launch(p->q, &plan, &call, NULL);
}

/* -- chasing -------------------------------------------------------------- */

static void plan_chase(size_t iterations, struct xl__plan *plan)
{
    struct xl__step *s =
        xl__probe_step(plan, "probe/pointer_chase.cl", "chase", 1, 1, false);
    xl__define(s, "UNROLL", UNROLL);
    xl__define(s, "ONLY", 2);
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_u32(s, iterations);
}

static struct xl__call make_call(const struct xl__chase *c)
{
    const struct xl__call call = {
        .mem = {[1] = {.buf = c->links}, [2] = {.buf = c->ends}}};
    return call;
}

static size_t current_word(struct xl__session *p, const struct xl__chase *c)
{
    return xl__ring_word(&c->ring, p->how->seed, c->steps_done);
}

static xl_status write_start(struct xl__session *p, struct xl__chase *c)
{
    const cl_uint ends[2] = {(cl_uint)current_word(p, c), 0};
    return xl_buffer_write(p->q, c->ends, 0, ends, sizeof ends);
}

/* Checks that launches ran and ended at the expected word. */
static xl_status check_end(struct xl__session *p, struct xl__chase *c,
                           size_t iterations, bool *right)
{
    xl_status status = XL_OK;
    cl_uint ends[2] = {0, 0};
    TRY(xl_buffer_read(p->q, c->ends, 0, ends, sizeof ends));
    c->steps_done += (uint64_t)ends[1] * iterations * UNROLL;
    *right = ends[1] > 0 && ends[0] == current_word(p, c);
fail:
    return status;
}

xl_status xl__chase_sample(struct xl__session *p, void *chase,
                           size_t iterations, xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__chase *c = chase;
    const struct xl__call call = make_call(c);
    const double steps = (double)iterations * UNROLL;
    struct xl__plan plan;
    bool right;
    plan_chase(iterations, &plan);
    TRY(write_start(p, c));
    TRY(xl__probe_sample(p, row, &plan, &call, 0));
    TRY(check_end(p, c, iterations, &right));
    row->value /= steps;
    c->ns = row->samples.min_ns / steps;
    c->wall_clock = row->samples.wall_clock;
    if (!right)
        xl__probe_reject(row, "wrong result: the chase did not end at the "
                              "expected word");
fail:
    return status;
}

size_t xl__chase_iterations(const struct xl__session *p,
                            const struct xl__chase *chase)
{
    const size_t most = xl__size_or(&p->q->ctx->device->seen,
                                    XL__F_max_loop_turns, UINT32_MAX);
    const double target_ns = chase->wall_clock ? wall_launch_ns : launch_ns;
    const double iterations = target_ns / (fmax(chase->ns, least_ns) * UNROLL);
    return (size_t)fmax(fmin(iterations, (double)most), 1); /* GE-24 */
}

/* Runs one lap, or a part of it: linking leaves the ring in shared caches, but
 * not in those of the unit that chases. */
static xl_status warm_caches(struct xl__session *p, struct xl__chase *c,
                             size_t iterations)
{
    xl_status status = XL_OK;
    const struct xl__call call = make_call(c);
    const size_t n = xl__min_size(c->ring.slots / (iterations * UNROLL),
                                  p->how->quick ? QUICK_LAP : FULL_LAP);
    struct xl__plan plan;
    bool right;
    if (n == 0)
        return XL_OK; /* the sampler's warm-up suffices */
    plan_chase(iterations, &plan);
    TRY(write_start(p, c));
    for (size_t i = 0; i < n; i++)
        TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(check_end(p, c, iterations, &right));
fail:
    return status;
}

xl_status xl__chase_point(struct xl__session *p, struct xl__chase *chase,
                          struct xl__ring ring, xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__iteration_source w = {xl__chase_sample, chase};
    xl_probing how = *p->how;
    struct xl__session brief = *p;
    size_t iterations;
    how.quick = true;
    brief.how = &how;
    TRY(xl__chase_link(p, chase, ring));
    if (!(chase->ns > 0)) /* the first, whose time is unknown */
        TRY(xl__iterations_find(&brief, &w, launch_ns, &iterations));
    iterations = xl__chase_iterations(p, chase);
    TRY(warm_caches(p, chase, iterations));
    TRY(xl__chase_sample(&brief, chase, iterations, row));
fail:
    return status;
}

xl_status xl__chase_curve_point(struct xl__session *p, struct xl__chase *chase,
                                struct xl__ring ring, const char *op,
                                double bytes, bool *is_sound)
{
    xl_status status = XL_OK;
    xl_row row = xl__probe_row(op, "chase", "s");
    xl_row_shape(&row, "bytes", round(bytes));
    TRY(xl__chase_point(p, chase, ring, &row));
    xl_row_found(&row, "curve", 1);
    xl__probe_emit(p, &row);
    *is_sound = *is_sound && row.verdict < XL_ROW_REJECTED;
fail:
    return status;
}
