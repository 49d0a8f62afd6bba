/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `bandwidth`: read, write, copy and triad of global memory beyond the
 * last-level cache, and a copy inside it. The best of several launch shapes is
 * the device's rate; on CPUs some store past the caches. Results are read back
 * at random, so a launch that did nothing is detected. Source: J. McCalpin,
 * "Memory bandwidth and machine balance", 1995. */
#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/probe.h"

enum access_kind { READ, WRITE, COPY, TRIAD, NEAR, N_KINDS };

enum { UNROLL = 4, FACTOR = 3, N_CHECKED = 16, WORD = 4 };

/* Multiples of it, modulo 1, stay far from recent ones, so that a block
 * returns late to the same unit. */
static const double golden = 0.6180339887;

/* clang-format off */
static const struct {
    const char *name, *kernel;
    unsigned only;             /* -D ONLY of that kernel */
    double passes;             /* over the buffer, by bytes moved */
    int fact;                  /* -1: none */
} kinds[N_KINDS] = {
    /*         row         kernel  only passes fact */
    [READ]  = {"read",     "read",  2, 1,      XL__F_read_bytes_per_s},
    [WRITE] = {"write",    "write", 3, 1,      XL__F_write_bytes_per_s},
    [COPY]  = {"copy",     "copy",  4, 2,      XL__F_copy_bytes_per_s},
    [TRIAD] = {"triad",    "triad", 5, 3,      -1},
    [NEAR]  = {"copy_llc", "copy",  4, 2,      XL__F_llc_bytes_per_s},
};

/* How items access memory. Of CPUs only: stores past the caches, which do not
 * read their lines first (CP-24), and reads of UNROLL runs alternately. */
enum access_mode { PLAIN, PAST, APART, N_MODES };

static const struct {
    unsigned kinds; /* bits: those that have this mode */
    const char *found;
} modes[N_MODES] = {
    [PLAIN] = {~0u, NULL},
    [PAST]  = {1 << WRITE | 1 << COPY | 1 << TRIAD, "past_caches"},
    [APART] = {1 << READ, "apart"},
};

/* Launch shapes. Where items are threads, one long run per item is best
 * (CP-04), elsewhere adjacent accesses by adjacent items. */
static const struct access_shape {
    unsigned vec, wg;
    enum access_mode mode;
    bool scalar, wide, quick;
} shapes[] = {
    /* vec  wg    mode   scalar wide   quick */
    {16,    1,    PLAIN, true,  false, true},
    {16,    1,    PAST,  true,  false, true},
    {16,    1,    APART, true,  false, true},
    {4,     256,  PLAIN, false, true,  true},
    {1,     256,  PLAIN, false, true,  true},
    {2,     256,  PLAIN, false, true,  false},
    {8,     1,    PLAIN, true,  false, false},
    {8,     1,    APART, true,  false, false},
    {1,     64,   PLAIN, true,  true,  false},
    {4,     64,   PLAIN, true,  true,  false},
    {4,     1024, PLAIN, false, true,  false},
    {8,     256,  PLAIN, false, true,  false},
    {16,    64,   PLAIN, false, true,  false},
};
/* clang-format on */

enum { N_SHAPES = sizeof shapes / sizeof *shapes, NONE = -1 };

struct test_buffers {
    cl_mem src, other, dst, kept;
    size_t bytes; /* of each of the first three */
    size_t near_bytes;
};

/* The layout of a launch. */
struct launch_layout {
    struct access_shape shape;
    size_t wg, count, blocks, words;
    unsigned rounds;
};

static struct launch_layout choose_layout(const struct xl__session *p,
                                          struct access_shape shape,
                                          size_t bytes)
{
    struct launch_layout a = {.shape = shape, .rounds = 1};
    a.wg = xl__min_size(shape.wg, p->most_wg);
    const size_t accesses = bytes / WORD / shape.vec;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t blocks =
        xl__is(l, XL__F_is_cpu) ? XL__CPU_GROUPS * units : accesses;
    a.count = xl__max_size(accesses / (blocks * a.wg) / UNROLL, 1) * UNROLL;
    a.blocks = accesses / (a.count * a.wg);
    a.words = a.blocks * a.count * a.wg * shape.vec;
    return a;
}

/* -- one kernel ----------------------------------------------------------- */

/* The sum of item 0 of kernel `read`. */
static cl_uint expected_sum(const struct launch_layout *a, uint64_t seed)
{
    cl_uint sum = 0;
    for (size_t j = 0; j < a->count; j++) {
        for (size_t v = 0; v < a->shape.vec; v++)
            sum += xl__probe_word(seed, j * a->wg * a->shape.vec + v);
    }
    return sum;
}

static cl_uint expected_word(enum access_kind kind, uint64_t seed, size_t i)
{
    if (kind == WRITE) {
        const cl_uint x = (cl_uint)i * 0x9e3779b1u;
        return x ^ (x >> 15);
    }
    const cl_uint word = xl__probe_word(seed, i);
    return kind == TRIAD ? word + FACTOR * word : word;
}

static void plan_kind(enum access_kind kind, const struct launch_layout *a,
                      cl_uint key, struct xl__plan *plan)
{
    struct xl__step *s =
        xl__probe_step(plan, "probe/bandwidth.cl", kinds[kind].kernel,
                       a->blocks * a->wg, a->wg, true);
    plan->bytes = kinds[kind].passes * (double)(a->words * WORD) * a->rounds;
    xl__define(s, "WG", (long)a->wg);
    xl__define(s, "VEC", (long)a->shape.vec);
    xl__define(s, "UNROLL", UNROLL);
    xl__define(s, "PAST", a->shape.mode == PAST);
    xl__define(s, "APART", a->shape.mode == APART);
    xl__define(s, "ONLY", (long)kinds[kind].only);
    if (kind != WRITE)
        xl__arg_mem(s, 1);
    if (kind == TRIAD)
        xl__arg_mem(s, 2);
    xl__arg_mem(s, kind == READ ? 4 : 3);
    xl__arg_u32(s, a->count);
    if (kind == READ)
        xl__arg_u32(s, key);
    if (kind == TRIAD)
        xl__arg_u32(s, FACTOR);
    if (kind == COPY || kind == NEAR) {
        xl__arg_u32(s, a->blocks);
        xl__arg_u32(s, (size_t)(golden * (double)a->blocks));
        xl__arg_u32(s, a->rounds);
    }
}

/* Compares random words with what `kind` writes. */
static xl_status check_words(struct xl__session *p, cl_mem mem,
                             enum access_kind kind,
                             const struct launch_layout *a, bool *right)
{
    xl_status status = XL_OK;
    struct xl__rng rng;
    cl_uint word = 0;
    xl__rng_seed(&rng, p->how->seed + kind);
    for (unsigned i = 0; i < N_CHECKED; i++) {
        const size_t at = (size_t)xl__rng_below(&rng, a->words);
        TRY(xl_buffer_read(p->q, mem, at * WORD, &word, WORD));
        if (word != expected_word(kind, p->how->seed, at))
            *right = false;
    }
fail:
    return status;
}

/* Checks the result, and that the source holds random words, since memory with
 * compression makes other data look fast. *why: NULL, or what is wrong. */
static xl_status check_memory(struct xl__session *p,
                              const struct test_buffers *m,
                              enum access_kind kind,
                              const struct launch_layout *a, cl_uint key,
                              const char **why)
{
    xl_status status = XL_OK;
    bool random = true, right = true;
    cl_uint word = 0;
    if (kind != WRITE)
        TRY(check_words(p, m->src, COPY, a, &random));
    if (kind == READ) {
        TRY(xl_buffer_read(p->q, m->kept, 0, &word, WORD));
        right = word == key;
    } else {
        TRY(check_words(p, m->dst, kind, a, &right));
    }
    *why = !random ? "the source does not hold random words, and data that "
                     "compress move faster"
           : right ? NULL
                   : "wrong result: the words read back differ from the "
                     "expected ones";
fail:
    return status;
}

static void init_row(const struct xl__session *p, xl_row *row,
                     enum access_kind kind, const struct launch_layout *a)
{
    const double ecc = xl__num(&p->q->ctx->device->seen, XL__F_ecc);
    *row = xl__probe_row("probe_bandwidth", kinds[kind].name, "B/s");
    xl_row_shape(row, "bytes", (double)(a->words * WORD));
    xl_row_found(row, "vector", a->shape.vec);
    xl_row_found(row, "group", (double)a->wg);
    if (modes[a->shape.mode].found)
        xl_row_found(row, modes[a->shape.mode].found, 1);
    if (!isnan(ecc)) /* error correction may cost bandwidth */
        xl_row_found(row, "ecc", ecc);
}

static xl_status clear_result(struct xl__session *p,
                              const struct test_buffers *m,
                              enum access_kind kind)
{
    const size_t words = kind == READ ? 1 : m->bytes / WORD;
    return xl_buffer_fill(p->q, kind == READ ? m->kept : m->dst, 0, 0, words);
}

/* Measures one kind in one layout; verdict rules are not applied yet. */
static xl_status measure_kind(struct xl__session *p,
                              const struct test_buffers *m,
                              enum access_kind kind,
                              const struct launch_layout *a, xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__plan plan;
    const char *why;
    const struct xl__call call = {.mem = {[1] = {.buf = m->src},
                                          [2] = {.buf = m->other},
                                          [3] = {.buf = m->dst},
                                          [4] = {.buf = m->kept}}};
    const cl_uint key = kind == READ ? expected_sum(a, p->how->seed) : 0;
    plan_kind(kind, a, key, &plan);
    init_row(p, row, kind, a);
    plan.est_ns = xl__probe_est_ns(&p->q->ctx->device->seen, plan.bytes);
    TRY(clear_result(p, m, kind));
    TRY(xl__probe_sample(p, row, &plan, &call, plan.bytes));
    TRY(check_memory(p, m, kind, a, key, &why));
    if (why)
        xl__probe_reject(row, why);
fail:
    return status;
}

/* -- the best of several -------------------------------------------------- */

/* Is this shape tried for `kind` on this device? Quick runs take the shape
 * `plain`, if it is known, instead of the others of its mode. */
static bool is_candidate(const struct xl__session *p, enum access_kind kind,
                         int shape, int plain)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const struct access_shape *s = &shapes[shape];
    if (!(modes[s->mode].kinds & 1u << kind) ||
        !(xl__probe_is_scalar(l) ? s->scalar : s->wide))
        return false;
    return !p->how->quick ||
           (s->mode == PLAIN && plain != NONE ? shape == plain : s->quick);
}

/* A shape that the device cannot run is skipped. */
static bool is_excusable(xl_status status)
{
    return status == XL_UNSUPPORTED || status == XL_BUILD_FAILED ||
           status == CL_OUT_OF_RESOURCES ||
           status == CL_INVALID_WORK_GROUP_SIZE;
}

/* The best shape of each mode, or NONE, and its row. */
struct best_shapes {
    int at[N_MODES];
    xl_row row[N_MODES];
};

/* Tries the shapes of `kind`. Those whose result is wrong are reported and not
 * among the best. */
static xl_status find_best_shapes(struct xl__session *p,
                                  const struct test_buffers *m,
                                  enum access_kind kind, int plain,
                                  struct best_shapes *best)
{
    xl_status status = XL_OK;
    bool has_run = false;
    xl_row row;
    for (unsigned k = 0; k < N_MODES; k++)
        best->at[k] = NONE;
    for (int i = 0; i < N_SHAPES; i++) {
        if (!is_candidate(p, kind, i, plain))
            continue;
        const enum access_mode mode = shapes[i].mode;
        const struct launch_layout a = choose_layout(p, shapes[i], m->bytes);
        status = measure_kind(p, m, kind, &a, &row);
        if (status != XL_OK && is_excusable(status)) {
            xl__error_reset(&p->q->error);
            status = XL_OK;
            continue;
        }
        TRY(status);
        has_run = true;
        if (row.verdict == XL_ROW_REJECTED) {
            xl__probe_emit(p, &row);
        } else if (best->at[mode] == NONE ||
                   xl__row_is_better(&row, &best->row[mode])) {
            best->row[mode] = row;
            best->at[mode] = i;
        }
    }
    if (!has_run)
        TRY(xl__error_set(&p->q->error, XL_UNSUPPORTED,
                          "no launch shape of %s runs here",
                          kinds[kind].name));
fail:
    return status;
}

static xl_row *best_row(struct best_shapes *best)
{
    xl_row *row = NULL;
    for (unsigned k = 0; k < N_MODES; k++)
        if (best->at[k] != NONE &&
            (!row || xl__row_is_better(&best->row[k], row)))
            row = &best->row[k];
    return row;
}

static void set_fact(struct xl__session *p, enum access_kind kind,
                     const xl_row *row)
{
    if (kinds[kind].fact >= 0 && row->verdict < XL_ROW_REJECTED &&
        row->value > 0)
        xl__probe_raise_fact(&p->q->ctx->device->seen,
                             (enum xl__fact_id)kinds[kind].fact,
                             xl__probe_peak(row));
}

/* Measures beyond the caches; *plain: the plain shape that copies best, or
 * NONE. Quick runs use it for all kinds, and omit triad, which is no roof. */
static xl_status measure_far(struct xl__session *p,
                             const struct test_buffers *m, int *plain)
{
    static const enum access_kind order[] = {COPY, READ, WRITE, TRIAD};
    xl_status status = XL_OK;
    struct best_shapes best;
    const unsigned n = sizeof order / sizeof *order - (p->how->quick ? 1 : 0);
    for (unsigned i = 0; i < n; i++) {
        TRY(find_best_shapes(p, m, order[i], *plain, &best));
        if (order[i] == COPY)
            *plain = best.at[PLAIN];
        xl_row *row = best_row(&best);
        if (!row)
            continue;
        xl__probe_emit(p, row);
        set_fact(p, order[i], row);
    }
fail:
    return status;
}

/* Measures inside the last-level cache, with enough rounds per launch that its
 * overhead does not show. */
static xl_status measure_near(struct xl__session *p,
                              const struct test_buffers *m, int shape)
{
    enum { MOST_ROUNDS = 1 << 12 };
    static const double launch_ns = 1e6;
    xl_status status = XL_OK;
    xl_row row;
    struct launch_layout a =
        choose_layout(p, shapes[shape], m->near_bytes / 2);
    for (;;) {
        TRY(measure_kind(p, m, NEAR, &a, &row));
        if (row.samples.median_ns >= launch_ns || a.rounds >= MOST_ROUNDS)
            break;
        a.rounds *= 8;
    }
    xl_row_found(&row, "rounds", a.rounds);
    xl__probe_emit(p, &row);
    set_fact(p, NEAR, &row);
fail:
    return status;
}

static xl_status run_bandwidth_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct test_buffers m = {NULL, NULL, NULL,
                             NULL, 0,    xl__probe_near_bytes(l)};
    size_t other = SIZE_MAX, dst;
    int plain = NONE;
    TRY(xl_buffer_create(p->q, WORD, &m.kept));
    TRY(xl__probe_buffer(p, xl__probe_far_bytes(l, p->how->quick), &m.src,
                         &m.bytes));
    if (!p->how->quick)
        TRY(xl__probe_buffer(p, m.bytes, &m.other, &other));
    TRY(xl__probe_buffer(p, m.bytes, &m.dst, &dst));
    m.bytes = xl__min_size(m.bytes, xl__min_size(other, dst));
    TRY(measure_far(p, &m, &plain));
    if (plain != NONE && m.near_bytes >= 2 * (64 << 10) &&
        m.near_bytes <= m.bytes)
        TRY(measure_near(p, &m, plain));
fail:
    xl__buffer_release(m.src);
    xl__buffer_release(m.other);
    xl__buffer_release(m.dst);
    xl__buffer_release(m.kept);
    return status;
}

const struct xl__probe xl__probe_bandwidth = {
    {"bandwidth",
     "Bytes per second of read, write, copy and triad over random words well "
     "beyond the last-level cache, and of a copy inside it; best of several "
     "launch shapes, on CPUs also of shapes that store past the caches, where "
     "lines are not read before they are written: kernels with plain stores "
     "reach less of their write, copy and triad. Fooled by a last-level cache "
     "larger than the driver or the vendor table states.",
     true},
    run_bandwidth_probe};
