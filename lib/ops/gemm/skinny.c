/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM of few rows or few columns, down to GEMV: the larger operand is read
 * once and nothing of it is kept. The few are taken for rows, by looking at
 * C^T = B^T A^T otherwise. */
#include "ops/gemm/skinny.h"

#include <math.h>

#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/gemm.h"

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    bool is_turned;
    const xl_gemm *g = desc;
    const struct xl__gemm_sides s = xl__skinny_sides(g, &is_turned);
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no double precision";
    if (s.m > XL__SKINNY_MOST_ROWS)
        return "it is made for at most 16 rows or columns";
    if (xl__gemm_side_unit(&s.b) == XL__UNIT_NONE)
        return "the larger operand is not contiguous along any dimension";
    return xl__iterations_refused(l, (double)g->k);
}

/* -- reading tunables ------------------------------------------------------ */

size_t xl__skinny_sum_bytes(const xl_gemm *g)
{
    return g->a.dtype == XL_F64 ? sizeof(double) : sizeof(float);
}

double xl__skinny_busy_items(const struct xl__limits *l)
{
    static const double most = 512, registers_each = 64, of_a_cpu = 64;
    const double registers = xl__num_or(l, XL__F_registers_per_cu, 65536);
    return xl__is(l, XL__F_is_cpu) ? of_a_cpu
                                   : fmin(most, registers / registers_each);
}

size_t xl__skinny_busy_groups(const struct xl__limits *l,
                              const struct xl__skinny *j)
{
    enum { THREADS = 6 };
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double each = j->by_threads
                            ? THREADS
                            : xl__skinny_busy_items(l) / (double)j->wg;
    return (size_t)ceil(units * each);
}

static bool is_power(size_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

static size_t value(const struct xl__params *p, int at)
{
    return (size_t)p->value[at];
}

/* Vectors of A: along k, else along the few where they divide them. */
static size_t vector_of_a(const struct xl__skinny *j)
{
    enum { BYTES = 16 };
    const struct xl__gemm_side *a = &j->s.a;
    const enum xl__gemm_unit unit = xl__gemm_side_unit(a);
    const size_t taken = j->form == XL__SKINNY_ACROSS ? j->u : j->vw;
    const size_t most = xl__max_size(BYTES / xl_dtype_bytes(j->g->a.dtype), 1);
    size_t va = xl__min_size(most, XL__GEMM_WIDEST);
    if (unit == XL__UNIT_NONE || a->aligned == 0)
        return 1;
    while (va > 1 && (a->aligned % va != 0 ||
                      (unit == XL__UNIT_ALONG_K
                           ? taken % va != 0
                           : j->tm % va != 0 || j->s.m % va != 0)))
        va /= 2;
    return va;
}

static bool read_group(const struct xl__limits *l, struct xl__skinny *j)
{
    const bool across = j->form == XL__SKINNY_ACROSS;
    const size_t each = across ? j->vw : j->each;
    const size_t longest = across ? 1 : j->vw;
    enum { MOST_TAKEN = 16 };
    if (j->wg * each < j->cols || j->cols < each ||
        j->s.b.aligned < j->vw || j->s.b.aligned % j->vw != 0 ||
        (across && j->s.n % j->vw != 0) ||
        j->wg > xl__size_or(l, XL__F_max_wg_size, 1))
        return false;
    j->join = j->wg * each / j->cols;
    j->u = j->depth / (j->join * longest);
    j->va = vector_of_a(j);
    return is_power(j->u) && j->u <= MOST_TAKEN;
}

static bool read_thread(struct xl__skinny *j)
{
    const bool across = j->form == XL__SKINNY_ACROSS;
    enum { MOST_LINES = 8 };
    j->join = j->va = 1;
    j->u = across ? j->depth : 1;
    return j->wg == 1 && j->u <= MOST_LINES &&
           (across ? j->cols % j->vw == 0
                   : j->cols >= j->each && j->depth >= j->vw);
}

static bool count_groups(const struct xl__limits *l, struct xl__skinny *j)
{
    enum { LEAST_PART = 64, LEAST_TURNS = 2 };
    size_t groups;
    j->blocks = xl__ceil_div(j->s.n, j->cols);
    j->row_blocks = xl__ceil_div(j->s.m, j->tm);
    j->ld = xl__round_up(j->s.n, XL__GEMM_WIDEST);
    j->n_parts = 1;
    j->part = j->g->k;
    if (!xl__mul(j->blocks, j->row_blocks, &groups) ||
        !xl__mul(groups, j->g->batch.count, &groups) || groups > UINT32_MAX)
        return false;
    if (j->is_cut) {
        const size_t wanted =
            xl__ceil_div(xl__skinny_busy_groups(l, j), groups);
        const size_t unit = xl__max_size(LEAST_PART, j->depth);
        j->part = xl__round_up(xl__max_size(xl__ceil_div(j->g->k, wanted),
                                            LEAST_TURNS * unit),
                               unit);
        j->n_parts = xl__ceil_div(j->g->k, j->part);
    }
    return true;
}

bool xl__skinny_read(const struct xl__limits *l, const xl_gemm *g,
                     const struct xl__params *p, struct xl__skinny *j)
{
    *j = (struct xl__skinny){
        .g = g, .s = xl__gemm_sides(g),
        .by_threads = xl__skinny_by_threads(l),
        .tm = value(p, XL__GEMM_TM), .cols = value(p, XL__SKINNY_COLS),
        .depth = value(p, XL__SKINNY_DEPTH), .vw = value(p, XL__SKINNY_VW),
        .each = value(p, XL__SKINNY_EACH), .wg = value(p, XL__SKINNY_WG),
        .is_cut = p->value[XL__SKINNY_PARTS] == XL__SKINNY_YES};
    if (p->value[XL__SKINNY_TURN] == XL__SKINNY_YES)
        j->s = xl__skinny_turned(&j->s);
    const enum xl__gemm_unit unit = xl__gemm_side_unit(&j->s.b);
    j->form = unit == XL__UNIT_ALONG_K ? XL__SKINNY_ALONG : XL__SKINNY_ACROSS;
    if (unit == XL__UNIT_NONE || !j->tm ||
        j->tm > XL__SKINNY_MOST_ROWS || !is_power(j->cols) ||
        !is_power(j->depth) || !is_power(j->vw) || !is_power(j->each) ||
        !is_power(j->wg))
        return false;
    return (j->by_threads ? read_thread(j) : read_group(l, j)) &&
           count_groups(l, j);
}

size_t xl__skinny_local_bytes(const struct xl__skinny *j)
{
    const size_t sum = xl__skinny_sum_bytes(j->g);
    if (!j->by_threads)
        return sum * j->cols * (j->join + 1 + j->tm);
    return sum * j->tm *
           (j->cols + (j->form == XL__SKINNY_ALONG ? j->depth : 0));
}

/* -- the plan -------------------------------------------------------------- */

enum { SPAN = 256 }; /* columns that a thread joins */

static void define_all(struct xl__step *s, const struct xl__skinny *j)
{
    const struct {
        const char *name;
        size_t value;
    } defines[] = {
        {"FORM", j->form}, {"TM", j->tm},     {"VW", j->vw},
        {"U", j->u},       {"COLS", j->cols}, {"EACH", j->each},
        {"DEPTH", j->depth}, {"WG", j->wg},   {"JOIN", j->join},
        {"PARTS", j->is_cut}, {"VA", j->va},
        {"UA", xl__gemm_side_unit(&j->s.a) != XL__UNIT_ALONG_K},
    };
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
}

static void arg_lie_of_c(struct xl__step *s, const struct xl__skinny *j)
{
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
}

static void arg_c(struct xl__step *s, const struct xl__skinny *j)
{
    xl__arg_mem(s, XL__GEMM_C);
    arg_lie_of_c(s, j);
}

/* Of a thread's kernel: memory, then all else in one. */
static void arg_thread(struct xl__step *s, const struct xl__skinny *j)
{
    enum { SIZES = 15 };
    xl__arg_mem(s, j->s.a.mem);
    xl__arg_mem(s, j->s.b.mem);
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_words(s, SIZES);
    xl__gemm_arg_lie(s, &j->s.a);
    xl__gemm_arg_lie(s, &j->s.b);
    arg_lie_of_c(s, j);
    xl__arg_u64(s, j->g->k);
    xl__arg_u64(s, j->part);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->ld);
}

static void arg_group(struct xl__step *s, const struct xl__skinny *j)
{
    xl__gemm_arg_side(s, &j->s.a);
    xl__gemm_arg_side(s, &j->s.b);
    arg_c(s, j);
    xl__arg_u64(s, j->g->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->part);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->ld);
}

static void add_sums(const struct xl__skinny *j, struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    s->source = j->by_threads ? "gemm/skinny_thread.cl" : "gemm/skinny.cl";
    s->kernel = j->by_threads ? "gemm_skinny_thread" : "gemm_skinny";
    s->slice_dim = j->g->batch.count > j->blocks ? 2 : 0;
    define_all(s, j);
    xl__gemm_define(s, j->g);
    s->dims = 3;
    s->local[0] = j->wg;
    s->local[1] = s->local[2] = 1;
    s->global[0] = j->blocks * j->wg;
    s->global[1] = j->row_blocks * j->n_parts;
    s->global[2] = j->g->batch.count;
    s->local_mem_bytes = xl__skinny_local_bytes(j);
    (j->by_threads ? arg_thread : arg_group)(s, j);
    xl__gemm_arg_last(s, j->g, j->s.turned);
}

static void add_join(const struct xl__limits *l, const struct xl__skinny *j,
                     struct xl__plan *p)
{
    enum { GROUP = 64 };
    struct xl__step *s = &p->step[p->n_steps++];
    const size_t span = j->by_threads ? SPAN : 1;
    const size_t wg =
        j->by_threads
            ? 1
            : xl__min_size(GROUP, xl__size_or(l, XL__F_max_wg_size, 1));
    s->source = "gemm/skinny_join.cl";
    s->kernel = "gemm_skinny_join";
    s->slice_dim = -1;
    xl__define(s, "SPAN", (long)span);
    xl__gemm_define(s, j->g);
    s->dims = 3;
    s->local[0] = wg;
    s->local[1] = s->local[2] = 1;
    s->global[0] = xl__round_up(xl__ceil_div(j->s.n, span), wg);
    s->global[1] = j->s.m;
    s->global[2] = j->g->batch.count;
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->row_blocks * j->tm);
    xl__arg_u64(s, j->ld);
    arg_c(s, j);
    xl__gemm_arg_last(s, j->g, j->s.turned);
}

static bool scratch_bytes(const struct xl__skinny *j, size_t *out)
{
    *out = 0;
    return !j->is_cut ||
           (xl__mul(j->row_blocks * j->tm, j->ld, out) &&
            xl__mul(*out, j->n_parts, out) &&
            xl__mul(*out, j->g->batch.count, out) &&
            xl__mul(*out, xl__skinny_sum_bytes(j->g), out));
}

/* Instructions beside the multiply-add that an element of B costs a row. */
static double overhead(xl_dtype dtype)
{
    switch (dtype) {
    case XL_F16:
    case XL_I8:
        return 2.5;
    case XL_F8E4M3:
    case XL_F8E5M2:
        return 8;
    case XL_BF16:
        return 1.5;
    default:
        return 0.5;
    }
}

/* What a thread does, in the time of so many flop: its multiply-adds in whole
 * vectors, several to a sum or a vector of A that is fetched; beside them a
 * vector of B read, an element of A and one of C: sums of FORM 2 end within a
 * vector. */
static double thread_flop(const struct xl__skinny *j)
{
    static const struct {
        double vector, a, c;
    } costs[] = {[XL__SKINNY_ACROSS] = {128, 180, 60},
                 [XL__SKINNY_ALONG] = {128, 230, 370}};
    const size_t n = j->s.n, k = j->g->k;
    const bool along = j->form == XL__SKINNY_ALONG;
    const double together = (double)(along ? j->each : j->u);
    const double vectors =
        along
            ? (double)n * (double)xl__ceil_div(k, j->vw)
            : (double)k * (double)xl__ceil_div(n, j->vw);
    const double row_blocks = (double)j->row_blocks;
    const double rows = row_blocks * (double)j->tm;
    return (double)j->g->batch.count *
           (2 * rows * vectors * (double)j->vw * (1 + 1 / together) +
            costs[j->form].vector * row_blocks * vectors +
            costs[j->form].a * rows * (double)k * (double)j->blocks +
            costs[j->form].c * (double)j->s.m * (double)n);
}

static void estimate(const struct xl__limits *l, const struct xl__skinny *j,
                     struct xl__plan *p)
{
    static const double gpu_frac = 0.2, bytes_frac = 0.87; /* NV-49 */
    /* Doubles and integers go at half the rate of floats, or less. */
    const bool is_slow = j->g->a.dtype == XL_F64 || j->g->a.dtype == XL_I8;
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double groups = (double)j->blocks * (double)j->row_blocks *
                          (double)j->n_parts * (double)j->g->batch.count;
    const double tm = (double)j->tm;
    const double rate = (j->by_threads ? 1 : gpu_frac) *
                        (is_slow ? 0.5 : 1) * tm /
                        (tm + overhead(j->g->a.dtype));
    /* Columns that are there, of those that groups have items for. */
    const double used =
        (double)j->s.n / ((double)j->blocks * (double)j->cols);
    const double busy =
        j->by_threads
            ? groups / units
            : groups * (double)j->wg * used /
                  (units * xl__skinny_busy_items(l));
    const struct xl__work work = {
        .flop = j->by_threads ? thread_flop(j)
                              : p->flop * (double)(j->row_blocks * j->tm) /
                                    (double)j->s.m,
        .flop_frac = rate,
        .bytes = p->bytes * (double)j->row_blocks +
                 2 * (double)p->scratch_bytes,
        .bytes_frac = bytes_frac * fmin(1, busy) * (j->by_threads ? 1 : used),
        .fill = fmin(1, groups / units), .launches = p->n_steps};
    xl__estimate(l, &work, p);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct xl__skinny j;
    if (!xl__skinny_read(l, desc, params, &j) ||
        !scratch_bytes(&j, &p->scratch_bytes) ||
        xl__skinny_local_bytes(&j) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    p->flop = xl__gemm_flop(j.g);
    p->bytes = xl__gemm_bytes(j.g);
    add_sums(&j, p);
    if (j.is_cut)
        add_join(l, &j, p);
    estimate(l, &j, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_skinny = {
    .name = "gemm_skinny",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = xl__skinny_tunables,
    .refuses = refuses,
    .choose = xl__skinny_choose,
    .plan = plan,
};
