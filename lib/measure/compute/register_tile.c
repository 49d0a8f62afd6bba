/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `tile`: the vector width of a CPU that pays off, by the rate of
 * register tiles as GEMM uses them, in vectors of 4, 8 and 16 floats. A driver
 * may compile for a narrower instruction set than the machine has and still
 * report the width of the machine (CP-16); wide tiles then spill. Elements are
 * small integers, so sums are exact. */

#include "base/rng.h"
#include "measure/probe.h"

enum {
    DEPTH = 64,
    ITERATIONS = 200,
    MOST_RM = 8,
    MOST_RN = 32,
    MOST_ELEM = 3
};

static const struct tile_shape {
    unsigned vector, rm, rn;
} shapes[] = {{4, 4, 8}, {8, 4, 24}, {16, 8, 32}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* The gain that makes a narrower width win over a wider one: smaller gains are
 * noise, and the wider one is what the driver reports. */
static const double clearly = 1.1;

struct panels {
    cl_mem a, b, out;
    size_t items;
    float host_a[DEPTH * MOST_RM], host_b[DEPTH * MOST_RN];
};

static void fill_random(struct xl__rng *rng, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)xl__rng_below(rng, 2 * MOST_ELEM + 1) - MOST_ELEM;
}

static xl_status create_panels(struct xl__session *p, struct panels *x)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct xl__rng rng;
    xl__rng_seed(&rng, p->how->seed);
    x->items = XL__CPU_GROUPS * xl__size_or(l, XL__F_compute_units, 1);
    fill_random(&rng, x->host_a, DEPTH * MOST_RM);
    fill_random(&rng, x->host_b, DEPTH * MOST_RN);
    TRY(xl_buffer_create(p->q, sizeof x->host_a, &x->a));
    TRY(xl_buffer_create(p->q, sizeof x->host_b, &x->b));
    TRY(xl_buffer_create(p->q, x->items * MOST_RM * MOST_RN * sizeof(float),
                         &x->out));
    TRY(xl_buffer_write(p->q, x->a, 0, x->host_a, sizeof x->host_a));
    TRY(xl_buffer_write(p->q, x->b, 0, x->host_b, sizeof x->host_b));
fail:
    return status;
}

static void plan_tile(const struct tile_shape *s, size_t items,
                      struct xl__plan *plan)
{
    struct xl__step *step =
        xl__probe_step(plan, "probe/register_tile.cl", "tile", items, 1, true);
    plan->flop = 2.0 * s->rm * s->rn * DEPTH * ITERATIONS * (double)items;
    xl__define(step, "VW", (long)s->vector);
    xl__define(step, "RM", (long)s->rm);
    xl__define(step, "RN", (long)s->rn);
    xl__define(step, "DEPTH", DEPTH);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(step, slot);
    xl__arg_u32(step, ITERATIONS);
}

/* Compares the last item's sums with the host's. */
static xl_status check_sums(struct xl__session *p, const struct panels *x,
                            const struct tile_shape *s, bool *right)
{
    xl_status status = XL_OK;
    float seen[MOST_RM * MOST_RN];
    const size_t n = (size_t)s->rm * s->rn;
    TRY(xl_buffer_read(p->q, x->out, (x->items - 1) * n * sizeof *seen, seen,
                       n * sizeof *seen));
    *right = true;
    for (unsigned r = 0; r < s->rm; r++) {
        for (unsigned c = 0; c < s->rn; c++) {
            float sum = 0;
            for (unsigned l = 0; l < DEPTH; l++)
                sum += x->host_a[l * s->rm + r] * x->host_b[l * s->rn + c];
            if (seen[r * s->rn + c] != ITERATIONS * sum)
                *right = false;
        }
    }
fail:
    return status;
}

/* Measures one width; *rate: its fastest rate, 0 if a sum is wrong. */
static xl_status measure_shape(struct xl__session *p, const struct panels *x,
                               const struct tile_shape *s, double *rate)
{
    xl_status status = XL_OK;
    struct xl__plan plan;
    const struct xl__call call = {
        .mem = {
            [1] = {.buf = x->a}, [2] = {.buf = x->b}, [3] = {.buf = x->out}}};
    bool right;
    xl_row row = xl__probe_row("probe_tile", "f32", "flop/s");
    xl_row_param(&row, "vector", s->vector);
    plan_tile(s, x->items, &plan);
    TRY(xl__probe_sample(p, &row, &plan, &call, plan.flop));
    TRY(check_sums(p, x, s, &right));
    if (!right)
        xl__probe_reject(&row, "wrong result: a sum differs from the host's");
    *rate = right ? xl__probe_peak(&row) : 0;
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* The width that the driver reports, unless tiles of a narrower one are
 * clearly faster. */
unsigned xl__tile_vector(unsigned stated, const double *rate, unsigned n)
{
    unsigned best = 0;
    for (unsigned i = 1; i < n && shapes[i].vector <= stated; i++) {
        if (rate[i] * clearly >= rate[best])
            best = i;
    }
    return shapes[best].vector;
}

static xl_status run_tile_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    const double stated = l->queried[XL__F_native_vector_f32].value;
    struct panels x = {0};
    double rate[N_SHAPES];
    xl_row row;
    xl_row_init(&row, "probe_tile", "f32");
    if (!xl__probe_is_scalar(l) || !(stated >= shapes[0].vector))
        return xl__probe_unsupported(
            p, &row, "work-items here are not threads with vectors");
    TRY(create_panels(p, &x));
    for (unsigned i = 0; i < N_SHAPES; i++)
        TRY(measure_shape(p, &x, &shapes[i], &rate[i]));
    xl__limits_measure(l, XL__F_native_vector_f32,
                       xl__tile_vector((unsigned)stated, rate, N_SHAPES));
fail:
    xl__buffer_release(x.a);
    xl__buffer_release(x.b);
    xl__buffer_release(x.out);
    return status;
}

const struct xl__probe xl__probe_tile = {
    {"tile",
     "The rate of multiply-add (2 flop) of tiles of sums in registers, as a "
     "matrix product on a CPU keeps them, in vectors of 4, 8 and 16 floats; "
     "sums must be exact. Gives the vector width that pays off: less than the "
     "driver reports where it compiles for less than the machine.",
     true},
    run_tile_probe};
