/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `ints`: the peak rate of integer multiply-add in 8, 16, 32 and 64
 * bits, by chains of x = m x + c; results must be exact. */
#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS = 16, /* per iteration, as in probe/fma.cl */
    CHAINS = 8,
    MOST_LANES = 16,
    WG = 256,
    GROUPS_A_UNIT = 8,
    N_CHECKED = 4 /* items that are compared */
};

static const struct integer_type {
    const char *name;
    unsigned bits, type; /* TYPE of probe/fma.cl */
    xl_dtype dtype;
} types[] = {{"i8", 8, 3, XL_I8},
             {"i16", 16, 4, XL_N_DTYPES},
             {"i32", 32, 5, XL_I32},
             {"i64", 64, 6, XL_N_DTYPES}};
enum { N_TYPES = sizeof types / sizeof *types };

struct integer_launch {
    const struct integer_type *type;
    unsigned vec;
    size_t wg, items;
    cl_mem out;
};

/* The same computation as in the kernel. */
static cl_uint expected_item(const struct integer_launch *b, cl_uint item,
                             size_t steps)
{
    const uint64_t mask = UINT64_MAX >> (64 - b->type->bits);
    const uint64_t m = 4 * (uint64_t)item + 5;
    cl_uint all = 0;
    for (cl_uint k = 0; k < CHAINS; k++)
        for (cl_uint lane = 0; lane < b->vec; lane++) {
            const uint64_t c = 2 * (MOST_LANES * k + lane) + 1;
            uint64_t x = c & mask;
            for (size_t i = 0; i < steps; i++)
                x = (m * x + c) & mask;
            all = 3 * all + (cl_uint)(x ^ (x >> 32));
        }
    return all;
}

static xl_status check_items(struct xl__session *p, struct xl__iterated *t,
                             xl_row *row)
{
    xl_status status = XL_OK;
    const struct integer_launch *b = t->arg;
    cl_uint seen[N_CHECKED];
    bool right = true;
    TRY(xl_buffer_read(p->q, b->out, 0, seen, sizeof seen));
    for (cl_uint i = 0; i < N_CHECKED; i++)
        right = right && seen[i] == expected_item(b, i, STEPS * t->iterations);
    if (!right)
        xl__probe_reject(row, "wrong result: a number differs from the "
                              "host's");
fail:
    return status;
}

static xl_status measure_launch(struct xl__session *p,
                                struct integer_launch *b, xl_row *row)
{
    struct xl__iterated t = {.check = check_items, .arg = b};
    struct xl__step *s = xl__probe_step(&t.plan, "probe/fma.cl", "integers",
                                        b->items, b->wg, true);
    xl__define(s, "TYPE", b->type->type);
    xl__define(s, "CHAINS", CHAINS);
    xl__define(s, "VEC", (long)b->vec);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, 0);
    t.call.mem[1].buf = b->out;
    t.amount = 2.0 * STEPS * CHAINS * b->vec * (double)b->items;
    *row = xl__probe_row("probe_ints", b->type->name, "op/s");
    row->dtype = b->type->dtype;
    xl_row_found(row, "vector", b->vec);
    xl_row_found(row, "group", (double)b->wg);
    return xl__iterated_measure(p, &t, row);
}

/* Elements of a vector: of a register where an item is a thread, else one, and
 * a word full. */
static unsigned vector_of(const struct xl__limits *l, bool is_scalar,
                          unsigned bits)
{
    const double all =
        is_scalar ? 32 * xl__num_or(l, XL__F_native_vector_f32, 4) : 32;
    unsigned vec = 1;
    while (vec < MOST_LANES && 2.0 * vec * bits <= all)
        vec *= 2;
    return vec;
}

/* The better one of single numbers and vectors. */
static xl_status run_type(struct xl__session *p, struct integer_launch *b)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool is_scalar = xl__probe_is_scalar(l);
    const unsigned widest = vector_of(l, is_scalar, b->type->bits);
    xl_row best, row;
    b->vec = is_scalar ? widest : 1;
    TRY(measure_launch(p, b, &best));
    if (b->vec < widest) {
        b->vec = widest;
        TRY(measure_launch(p, b, &row));
        if (xl__row_is_better(&row, &best))
            best = row;
    }
    xl__probe_emit(p, &best);
fail:
    return status;
}

static xl_status run_ints_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const bool is_scalar = xl__probe_is_scalar(l);
    struct integer_launch b = {.wg = is_scalar ? 1
                                               : xl__min_size(WG, p->most_wg)};
    b.items = b.wg * units * (is_scalar ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    TRY(xl_buffer_create(p->q, b.items * sizeof(cl_uint), &b.out));
    for (unsigned i = 0; i < N_TYPES; i++) {
        b.type = &types[i];
        TRY(run_type(p, &b));
    }
fail:
    xl__buffer_release(b.out);
    return status;
}

const struct xl__probe xl__probe_ints = {
    {"ints",
     "The peak rate of integer multiply-add (2 operations) in 8, 16, 32 and "
     "64 "
     "bits, by independent chains of m * x + c in single numbers and in "
     "vectors; the faster one is the peak. Results must be exact, and the "
     "time proportional to the work. Dot products of bytes are faster where "
     "the device has an instruction for them (probe dot).",
     true},
    run_ints_probe};
