/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM of few rows or few columns, down to GEMV: the larger operand is read
 * once and nothing of it is kept. The few are taken for rows, by looking at
 * C^T = B^T A^T otherwise. */
#include <math.h>

#include "base/mem.h"
#include "ops/cost.h"
#include "ops/gemm_sides.h"
#include "ops/variants.h"

enum { MOST_ROWS = 16 };

/* How it goes about it: gemm_skinny.cl's FORM. */
enum { ACROSS = 1, ALONG, THREAD_ACROSS, THREAD_ALONG };

static const struct xl__tunable tunables[] = {
    {"TM", "rows that share a reading", {1, 2, 4, 8, 16, 0}},
    {"COLS",
     "columns of an item (a block's, of threads across)",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 0}},
    {"UNIT", "lines of k that a part begins at", {1, 16, 64, 0}},
    {"FORM",
     "1 items across, 2 lanes along k; 3, 4: the same by threads",
     {1, 2, 3, 4, 0}},
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"WG", "items of a work-group", {1, 32, 64, 128, 256, 0}},
    {"LANES", "items of a group that join", {1, 2, 4, 8, 16, 32, 64, 0}},
    {"PARTS", "1 k is whole, 2 cut among groups", {1, 2, 0}},
    {"TURN", "2: the few are columns of C", {1, 2, 0}},
    {NULL, NULL, {0}},
};
enum { AT_COLS = XL__GEMM_TN, AT_UNIT = XL__GEMM_TK, AT_FORM, AT_VW, AT_WG,
       AT_LANES, AT_PARTS, AT_TURN };
enum { NO = 1, YES = 2 }; /* of PARTS and TURN */

struct job {
    const xl_gemm *g;
    struct xl__gemm_sides s;
    bool is_cpu;
    size_t tm, cols, form, vw, wg, lanes, span;
    bool is_cut;
    size_t blocks, row_blocks, n_parts, part, ld;
};

static struct xl__gemm_sides turned(const struct xl__gemm_sides *s)
{
    return (struct xl__gemm_sides){
        .a = s->b, .b = s->a, .m = s->n, .n = s->m,
        .row_stride = s->col_stride, .col_stride = s->row_stride};
}

/* With the few as rows of C. */
static struct xl__gemm_sides few_rows(const xl_gemm *g, bool *is_turned)
{
    const struct xl__gemm_sides s = xl__gemm_sides(g);
    *is_turned = s.m > s.n;
    return *is_turned ? turned(&s) : s;
}

/* Items that are threads, whose loops may be as long as they are (GE-24). */
static bool by_threads(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) &&
           !(xl__num(l, XL__F_max_loop_turns) > 0);
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const char *other = xl__gemm_plain_alone(desc);
    if (other)
        return other;
    bool is_turned;
    const struct xl__gemm_sides s = few_rows(desc, &is_turned);
    if (s.m > MOST_ROWS)
        return "it is made for at most 16 rows or columns";
    if (xl__gemm_side_unit(&s.b) == XL__UNIT_NONE)
        return "the larger operand is not contiguous along any dimension";
    return xl__turns_refused(l, (double)((const xl_gemm *)desc)->k);
}

/* -- choosing ------------------------------------------------------------ */

static size_t power_up(size_t x, size_t most)
{
    size_t power = 1;
    while (power < x && power < most)
        power *= 2;
    return power;
}

static size_t divide(size_t width, size_t x)
{
    while (width > 1 && x % width != 0)
        width /= 2;
    return width;
}

static size_t cpu_vector(const struct xl__limits *l)
{
    enum { LEAST = 4 };
    const size_t native = xl__size_or(l, XL__F_native_vector_f32, LEAST);
    return xl__max_size(power_up(native, XL__GEMM_WIDEST), LEAST);
}

static void choose_thread(const struct xl__limits *l,
                          const struct xl__gemm_sides *s, bool along,
                          struct xl__params *out)
{
    enum { BLOCK = 2048, MOST_SUMS = 4096, TOGETHER = 4, UNIT = 16 };
    const size_t rows = (size_t)out->value[XL__GEMM_TM];
    out->value[AT_FORM] = along ? THREAD_ALONG : THREAD_ACROSS;
    out->value[AT_VW] = (int)cpu_vector(l);
    out->value[AT_WG] = out->value[AT_LANES] = 1;
    out->value[AT_UNIT] = UNIT;
    if (along) {
        out->value[AT_COLS] = rows > TOGETHER ? 2 : TOGETHER;
        return;
    }
    size_t block = power_up(s->n, BLOCK);
    while (block * rows > MOST_SUMS && block > XL__GEMM_WIDEST)
        block /= 2;
    out->value[AT_COLS] = (int)block;
}

static void choose_group(const struct xl__limits *l,
                         const struct xl__gemm_sides *s, const xl_gemm *g,
                         bool along, struct xl__params *out)
{
    enum { VECTOR_BYTES = 16, GROUP = 256, SUMS = 64, JOIN = 8, UNIT = 64 };
    const size_t rows = (size_t)out->value[XL__GEMM_TM];
    const size_t most = xl__size_or(l, XL__F_max_wg_size, 1);
    size_t vw = VECTOR_BYTES / xl_dtype_bytes(g->a.dtype);
    vw = divide(vw, s->b.aligned > 0 ? s->b.aligned : 1);
    if (!along)
        vw = divide(vw, s->n);
    while (rows * vw > SUMS && vw > 1)
        vw /= 2;
    size_t cols = 1;
    while (along && cols < 4 && rows * vw * cols * 2 <= SUMS)
        cols *= 2;
    size_t wg = 1;
    while (wg * 2 <= xl__min_size(most, GROUP))
        wg *= 2;
    if (wg < 32)
        wg = 1;
    const size_t lane_width = xl__size_or(l, XL__F_subgroup_width, 32);
    size_t lanes = along ? power_up(lane_width, 64) : JOIN;
    out->value[AT_FORM] = along ? ALONG : ACROSS;
    out->value[AT_VW] = (int)vw;
    out->value[AT_WG] = (int)wg;
    out->value[AT_COLS] = (int)cols;
    out->value[AT_LANES] = (int)xl__min_size(lanes, wg);
    out->value[AT_UNIT] = UNIT;
}

/* Columns that a group covers. */
static size_t group_cols(const struct job *j)
{
    switch (j->form) {
    case ACROSS:
        return j->wg / j->lanes * j->vw;
    case ALONG:
        return j->wg / j->lanes * j->cols;
    default:
        return j->cols;
    }
}

/* Groups that keep the device busy. */
static size_t busy_groups(const struct xl__limits *l, bool is_cpu)
{
    enum { CPU = 6, GPU = 8 };
    return xl__size_or(l, XL__F_compute_units, 1) * (is_cpu ? CPU : GPU);
}

static void job_read(const struct xl__limits *l, const xl_gemm *g,
                     const struct xl__params *p, struct job *j)
{
    enum { SPAN = 256 };
    *j = (struct job){.g = g, .s = xl__gemm_sides(g),
                      .is_cpu = by_threads(l)};
    if (p->value[AT_TURN] == YES)
        j->s = turned(&j->s);
    j->tm = (size_t)p->value[XL__GEMM_TM];
    j->cols = (size_t)p->value[AT_COLS];
    j->form = (size_t)p->value[AT_FORM];
    j->vw = (size_t)p->value[AT_VW];
    j->wg = (size_t)p->value[AT_WG];
    j->lanes = (size_t)p->value[AT_LANES];
    j->is_cut = p->value[AT_PARTS] == YES;
    j->span = j->is_cpu ? SPAN : 1;
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    const xl_gemm *g = desc;
    bool is_turned;
    const struct xl__gemm_sides s = few_rows(g, &is_turned);
    const bool along = xl__gemm_side_unit(&s.b) == XL__UNIT_ALONG_K;
    struct job j;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__GEMM_TM] = (int)power_up(s.m, MOST_ROWS);
    out->value[AT_PARTS] = NO;
    out->value[AT_TURN] = is_turned ? YES : NO;
    if (by_threads(l))
        choose_thread(l, &s, along, out);
    else
        choose_group(l, &s, g, along, out);
    job_read(l, g, out, &j);
    if (xl__ceil_div(s.n, group_cols(&j)) <
        busy_groups(l, j.is_cpu))
        out->value[AT_PARTS] = YES;
}

/* -- the plan ------------------------------------------------------------ */

static bool is_power(size_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

static bool settle(const struct xl__limits *l, struct job *j)
{
    enum { LEAST_PART = 64 };
    const bool is_thread = j->form >= THREAD_ACROSS;
    const bool by_along = j->form == ALONG || j->form == THREAD_ALONG;
    size_t groups;
    if (j->form < ACROSS || j->form > THREAD_ALONG || !is_power(j->tm) ||
        !is_power(j->cols) || !is_power(j->vw) || !is_power(j->wg) ||
        !is_power(j->lanes) || j->lanes > j->wg ||
        (is_thread && (j->wg > 1 || !j->is_cpu)) ||
        j->wg > xl__size_or(l, XL__F_max_wg_size, 1) ||
        by_along != (xl__gemm_side_unit(&j->s.b) == XL__UNIT_ALONG_K) ||
        (j->form == ACROSS && j->s.n % j->vw != 0) ||
        (j->form == THREAD_ACROSS && j->cols % j->vw != 0))
        return false;
    j->blocks = xl__ceil_div(j->s.n, group_cols(j));
    j->row_blocks = xl__ceil_div(j->s.m, j->tm);
    j->ld = xl__round_up(j->s.n, XL__GEMM_WIDEST);
    j->n_parts = 1;
    j->part = j->g->k;
    if (!xl__mul(j->blocks, j->row_blocks, &groups) || groups > UINT32_MAX)
        return false;
    if (j->is_cut) {
        const size_t wanted =
            xl__ceil_div(busy_groups(l, j->is_cpu), groups);
        const size_t least = LEAST_PART * (j->is_cpu ? 1 : j->lanes) / 8;
        j->part = xl__round_up(xl__max_size(xl__ceil_div(j->g->k, wanted),
                                            xl__max_size(least, LEAST_PART)),
                               LEAST_PART);
        j->n_parts = xl__ceil_div(j->g->k, j->part);
    }
    return true;
}

static size_t local_bytes(const struct job *j)
{
    switch (j->form) {
    case ACROSS:
        return j->lanes > 1 ? j->tm * j->vw * j->wg * sizeof(float)
                            : sizeof(float);
    case ALONG:
        return j->tm * j->cols * j->wg * sizeof(float);
    case THREAD_ACROSS:
        return j->tm * j->cols * sizeof(float);
    default:
        return sizeof(float);
    }
}

static bool is_aligned(const struct job *j)
{
    return j->form == ACROSS ||
           (j->form == ALONG && j->s.b.aligned > 0 &&
            j->s.b.aligned % j->vw == 0);
}

static struct xl__step *add_step(const struct job *j, int which,
                                 struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const bool is_across = j->form == ACROSS;
    const struct {
        const char *name;
        size_t value;
    } defines[] = {
        {"STEP", (size_t)which}, {"FORM", j->form},
        {"TM", j->tm},           {"VW", j->vw},
        {"WG", j->wg},           {"DOWN", is_across ? j->lanes : 1},
        {"LANES", is_across ? 1 : j->lanes},
        {"COLS", j->cols},       {"PARTS", j->is_cut},
        {"SPAN", j->span},       {"TA", j->g->a.dtype},
        {"TC", j->g->c.dtype},
        {"UA", xl__gemm_side_unit(&j->s.a) != XL__UNIT_ALONG_K},
        {"VB", is_aligned(j)},
    };
    s->source = "gemm_skinny.cl";
    s->slice_dim = -1;
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    return s;
}

static void arg_c(struct xl__step *s, const struct job *j)
{
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
}

static void add_sums(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, 1, p);
    s->kernel = "gemm_skinny";
    s->dims = 3;
    s->local[0] = j->wg;
    s->local[1] = s->local[2] = 1;
    s->global[0] = j->blocks * j->wg;
    s->global[1] = j->row_blocks;
    s->global[2] = j->n_parts;
    s->local_mem_bytes = local_bytes(j);
    xl__gemm_arg_side(s, &j->s.a);
    xl__gemm_arg_side(s, &j->s.b);
    arg_c(s, j);
    xl__arg_u64(s, j->g->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->part);
    xl__arg_u64(s, j->ld);
    xl__arg_value_f32(s, XL__GEMM_ALPHA);
    xl__arg_value_f32(s, XL__GEMM_BETA);
}

static void add_join(const struct xl__limits *l, const struct job *j,
                     struct xl__plan *p)
{
    enum { GROUP = 64 };
    struct xl__step *s = add_step(j, 2, p);
    const size_t wg =
        j->is_cpu ? 1
                  : xl__min_size(GROUP, xl__size_or(l, XL__F_max_wg_size, 1));
    s->kernel = "gemm_skinny_join";
    s->dims = 1;
    s->local[0] = wg;
    s->global[0] =
        xl__round_up(j->s.m * xl__ceil_div(j->s.n, j->span), wg);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->ld);
    arg_c(s, j);
    xl__arg_value_f32(s, XL__GEMM_ALPHA);
    xl__arg_value_f32(s, XL__GEMM_BETA);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    static const double gpu_frac = 0.25, cpu_frac = 0.15, bytes_frac = 0.9;
    struct job j;
    job_read(l, desc, params, &j);
    if (!settle(l, &j) ||
        local_bytes(&j) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    p->flop = xl__gemm_flop(j.g);
    p->bytes = xl__gemm_bytes(j.g);
    if (j.is_cut)
        p->scratch_bytes =
            j.n_parts * j.row_blocks * j.tm * j.ld * sizeof(float);
    add_sums(&j, p);
    if (j.is_cut)
        add_join(l, &j, p);
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double groups =
        (double)j.blocks * (double)j.row_blocks * (double)j.n_parts;
    const struct xl__work work = {
        .flop = p->flop * (double)(j.row_blocks * j.tm) / (double)j.s.m,
        .flop_frac = j.is_cpu ? cpu_frac : gpu_frac,
        .bytes = p->bytes * (double)j.row_blocks +
                 2 * (double)p->scratch_bytes,
        .bytes_frac = bytes_frac * fmin(1, groups / units),
        .fill = fmin(1, groups / units), .launches = p->n_steps};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_skinny = {
    .name = "gemm_skinny",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = tunables,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
