/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_skinny: GEMM of few rows or few columns, down to GEMV. The larger
 * operand is read once and none of it is kept. The few are made the rows; if
 * they are columns of C, C^T = B^T A^T is computed. */
#include <math.h>

#include "base/alloc.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/orientation.h"
#include "ops/path/cost.h"

enum {
    SKINNY_COLS = XL__GEMM_TN,
    SKINNY_DEPTH = XL__GEMM_TK,
    SKINNY_VW,
    SKINNY_EACH,
    SKINNY_WG,
    SKINNY_PARTS,
    SKINNY_TURN
};
enum { SKINNY_MOST_ROWS = 16 };
enum { SKINNY_NO = 1, SKINNY_YES = 2 }; /* values of PARTS and TURN */

/* FORM of the kernels: how B is contiguous. */
enum skinny_form { SKINNY_ACROSS = 1, SKINNY_ALONG };

struct skinny_job {
    const xl_gemm *g;           /* canonical */
    struct xl__gemm_oriented s; /* rows are the few */
    bool by_threads; /* an item is a thread: gemm/skinny_thread.cl */
    enum skinny_form form;
    /* Rows, columns and steps of k that a group computes in an iteration;
     * elements of a vector; columns of an item. */
    size_t tm, cols, depth, vw, each;
    /* Items of a group; items that share a column's sum; vectors that each
     * loads in an iteration, with FORM 2 of each column. */
    size_t wg, join, u;
    size_t va;   /* elements of a vector of A */
    bool is_cut; /* k is divided among groups */
    /* Groups along n, along m and along k; steps of k of a slice. */
    size_t blocks, row_blocks, n_parts, part;
    size_t ld; /* elements of a row of partial sums */
};

const struct xl__tunable xl__gemm_skinny_tunables[] = {
    {"TM",
     "rows that share each load of B",
     {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 0}},
    {"COLS",
     "columns of a group",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0}},
    {"DEPTH",
     "steps of k that a group computes in an iteration",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 0}},
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"EACH", "columns of an item, B contiguous along k", {1, 2, 4, 8, 0}},
    {"WG", "items of a work-group", {1, 32, 64, 128, 256, 512, 0}},
    {"PARTS", "1 k is whole, 2 cut among groups", {1, 2, 0}},
    {"TURN", "2: the few are columns of C", {1, 2, 0}},
    {NULL, NULL, {0}},
};

static struct xl__gemm_oriented
swap_operands(const struct xl__gemm_oriented *s)
{
    return (struct xl__gemm_oriented){.a = s->b,
                                      .b = s->a,
                                      .m = s->n,
                                      .n = s->m,
                                      .row_stride = s->col_stride,
                                      .col_stride = s->row_stride,
                                      .c_aligned = s->c_aligned,
                                      .is_swapped = !s->is_swapped};
}

static struct xl__gemm_oriented few_as_rows(const xl_gemm *g, bool *is_swapped)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    *is_swapped = s.m > s.n;
    return *is_swapped ? swap_operands(&s) : s;
}

/* Are work-items threads whose loops may have any length (GE-24)? */
static bool is_by_threads(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) && !(xl__num(l, XL__F_max_loop_turns) > 0);
}

/* -- reading tunables ----------------------------------------------------- */

static size_t sum_bytes(const xl_gemm *g)
{
    return g->a.dtype == XL_F64 ? sizeof(double) : sizeof(float);
}

static double busy_items(const struct xl__limits *l)
{
    static const double most = 512, registers_each = 64, of_a_cpu = 64;
    const double registers = xl__num_or(l, XL__F_registers_per_cu, 65536);
    return xl__is(l, XL__F_is_cpu) ? of_a_cpu
                                   : fmin(most, registers / registers_each);
}

static size_t busy_groups(const struct xl__limits *l,
                          const struct skinny_job *j)
{
    enum { THREADS = 6 };
    const double units = (double)xl__n_units(l);
    const double each =
        j->by_threads ? THREADS : busy_items(l) / (double)j->wg;
    return (size_t)ceil(units * each);
}

static bool is_power_of_2(size_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

static size_t tunable_value(const struct xl__params *p, int at)
{
    return (size_t)p->value[at];
}

/* The width of vectors of A: along k if it is contiguous so, else along the
 * few if it divides them. */
static size_t choose_vector_of_a(const struct skinny_job *j)
{
    enum { BYTES = 16 };
    const struct xl__gemm_operand *a = &j->s.a;
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(a);
    const size_t taken = j->form == SKINNY_ACROSS ? j->u : j->vw;
    const size_t most = xl__max_size(BYTES / xl_dtype_bytes(a->dtype), 1);
    size_t va = xl__min_size(most, XL__GEMM_WIDEST);
    if (unit == XL__UNIT_NONE || a->aligned == 0)
        return 1;
    while (va > 1 &&
           (a->aligned % va != 0 ||
            (unit == XL__UNIT_ALONG_K ? taken % va != 0
                                      : j->tm % va != 0 || j->s.m % va != 0)))
        va /= 2;
    return va;
}

static bool read_group_params(const struct xl__limits *l, struct skinny_job *j)
{
    const bool across = j->form == SKINNY_ACROSS;
    const size_t each = across ? j->vw : j->each;
    const size_t longest = across ? 1 : j->vw;
    enum { MOST_TAKEN = 16 };
    if (j->wg * each < j->cols || j->cols < each || j->s.b.aligned < j->vw ||
        j->s.b.aligned % j->vw != 0 || (across && j->s.n % j->vw != 0) ||
        j->wg > xl__size_or(l, XL__F_max_wg_size, 1))
        return false;
    j->join = j->wg * each / j->cols;
    j->u = j->depth / (j->join * longest);
    j->va = choose_vector_of_a(j);
    return is_power_of_2(j->u) && j->u <= MOST_TAKEN;
}

static bool read_thread_params(struct skinny_job *j)
{
    const bool across = j->form == SKINNY_ACROSS;
    enum { MOST_LINES = 8 };
    j->join = j->va = 1;
    j->u = across ? j->depth : 1;
    return j->wg == 1 && j->u <= MOST_LINES &&
           (across ? j->cols % j->vw == 0
                   : j->cols >= j->each && j->depth >= j->vw);
}

static bool count_groups(const struct xl__limits *l, struct skinny_job *j)
{
    enum { LEAST_PART = 64, LEAST_ITERATIONS = 2 };
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
        const size_t target = xl__ceil_div(busy_groups(l, j), groups);
        const size_t unit = xl__max_size(LEAST_PART, j->depth);
        j->part = xl__round_up(xl__max_size(xl__ceil_div(j->g->k, target),
                                            LEAST_ITERATIONS * unit),
                               unit);
        j->n_parts = xl__ceil_div(j->g->k, j->part);
    }
    return true;
}

static bool read_params(const struct xl__limits *l, const xl_gemm *g,
                        const struct xl__params *p, struct skinny_job *j)
{
    *j = (struct skinny_job){.g = g,
                             .s = xl__gemm_orient(g),
                             .by_threads = is_by_threads(l),
                             .tm = tunable_value(p, XL__GEMM_TM),
                             .cols = tunable_value(p, SKINNY_COLS),
                             .depth = tunable_value(p, SKINNY_DEPTH),
                             .vw = tunable_value(p, SKINNY_VW),
                             .each = tunable_value(p, SKINNY_EACH),
                             .wg = tunable_value(p, SKINNY_WG),
                             .is_cut = p->value[SKINNY_PARTS] == SKINNY_YES};
    if (p->value[SKINNY_TURN] == SKINNY_YES)
        j->s = swap_operands(&j->s);
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(&j->s.b);
    j->form = unit == XL__UNIT_ALONG_K ? SKINNY_ALONG : SKINNY_ACROSS;
    if (unit == XL__UNIT_NONE || !j->tm || j->tm > SKINNY_MOST_ROWS ||
        !is_power_of_2(j->cols) || !is_power_of_2(j->depth) ||
        !is_power_of_2(j->vw) || !is_power_of_2(j->each) ||
        !is_power_of_2(j->wg))
        return false;
    return (j->by_threads ? read_thread_params(j) : read_group_params(l, j)) &&
           count_groups(l, j);
}

static size_t local_bytes(const struct skinny_job *j)
{
    const size_t sum = sum_bytes(j->g);
    if (!j->by_threads)
        return sum * j->cols * (j->join + 1 + j->tm);
    return sum * j->tm * (j->cols + (j->form == SKINNY_ALONG ? j->depth : 0));
}

/* -- choosing ------------------------------------------------------------- */

/* The choice of tunables. Reading B limits the time, so on a GPU each item has
 * as many bytes in flight as its registers hold, and there are as many items
 * as hide memory latency: first along n, then along k within groups, then
 * along k among groups, which costs a second launch. A thread reads several
 * rows or columns side by side. */

static size_t power_up(size_t x, size_t most)
{
    size_t power = 1;
    while (power < x && power < most)
        power *= 2;
    return power;
}

static size_t power_down(size_t x, size_t most)
{
    size_t power = 1;
    while (power * 2 <= x && power * 2 <= most)
        power *= 2;
    return power;
}

/* The least legal TM that holds all rows. */
static int all_rows(size_t m)
{
    const int *legal = xl__gemm_skinny_tunables[XL__GEMM_TM].legal;
    while (legal[1] && (size_t)*legal < m)
        legal++;
    return *legal;
}

/* -- threads -------------------------------------------------------------- */

static void choose_thread(const struct xl__limits *l,
                          const struct xl__gemm_oriented *s, bool along,
                          struct xl__params *out)
{
    enum {
        BLOCK = 512,
        COLUMNS = 64,
        TOGETHER = 4,
        LINES = 4,
        LEAST = 4,
        MOST_SUMS = 4096,
        FEW = 8
    };
    const size_t rows = (size_t)out->value[XL__GEMM_TM];
    const size_t native = xl__size_or(l, XL__F_native_vector_f32, LEAST);
    const size_t vw = xl__max_size(power_up(native, XL__GEMM_WIDEST), LEAST);
    const size_t most = power_down(MOST_SUMS / rows, MOST_SUMS);
    const size_t each = rows > FEW ? 1 : rows > TOGETHER ? 2 : TOGETHER;
    /* B contiguous along k: A is packed for each block, and each unit has a
     * block of its own. */
    const size_t share =
        xl__ceil_div(s->n, xl__size_or(l, XL__F_compute_units, 1));
    const size_t block =
        along ? power_up(s->n, power_up(xl__max_size(share, COLUMNS), BLOCK))
              : power_up(s->n, xl__min_size(BLOCK, most));
    out->value[SKINNY_VW] = (int)vw;
    out->value[SKINNY_WG] = 1;
    out->value[SKINNY_EACH] = (int)each;
    out->value[SKINNY_DEPTH] = (int)(along ? most : LINES);
    out->value[SKINNY_COLS] = (int)xl__max_size(block, along ? each : vw);
}

/* -- groups --------------------------------------------------------------- */

/* The work-group being chosen: the product, and what each item computes. */
struct group_shape {
    const struct xl__limits *l;
    const xl_gemm *g;
    const struct xl__gemm_oriented *s;
    size_t tm, elem_bytes;
    size_t tall;        /* registers of a column's sums */
    size_t vw, each, u; /* each: with FORM 2 */
    size_t join, wg;
};

enum {
    VECTOR_BYTES = 16,
    ITERATION_BYTES = 128,
    MOST_SUMS = 64,
    MOST_TAKEN = 16,
    MOST_JOIN = 128
};

/* The widest vector that the alignment of B and, if it is contiguous across,
 * its width allow. */
static size_t widest_vector(const struct group_shape *x, bool along)
{
    size_t vw = VECTOR_BYTES / x->elem_bytes;
    while (vw > 1 &&
           (x->s->b.aligned % vw != 0 || (!along && x->s->n % vw != 0)))
        vw /= 2;
    return x->s->b.aligned > 0 ? vw : 1;
}

/* Loads in flight of an item; fewer if many rows need registers. */
static size_t loads_in_flight(const struct group_shape *x)
{
    enum { MANY_ROWS = 4 };
    const size_t loads =
        xl__min_size(ITERATION_BYTES / (x->vw * x->elem_bytes), MOST_TAKEN);
    return x->tm > MANY_ROWS ? xl__max_size(loads / 2, 1) : loads;
}

/* Items that should share a column's sum; more if each loads little. */
static size_t wanted_join(const struct group_shape *x, size_t each,
                          size_t loads)
{
    const double units = fmax(1, xl__num_or(x->l, XL__F_compute_units, 1));
    const double bytes = (double)(loads * x->vw * x->elem_bytes);
    const double target =
        units * busy_items(x->l) * fmin(2, ITERATION_BYTES / bytes);
    const double owners =
        ceil((double)x->s->n / (double)each) * (double)x->g->batch.count;
    return power_up((size_t)ceil(target / owners), MOST_JOIN);
}

static size_t largest_group(const struct xl__limits *l, size_t target)
{
    enum { LEAST = 32 };
    const size_t wg = power_down(xl__size_or(l, XL__F_max_wg_size, 1), target);
    return wg < LEAST ? 1 : wg;
}

/* Shrink the group to the items that have columns, `each` per item. */
static void shrink_group(struct group_shape *x, size_t each)
{
    enum { LEAST = 32 };
    while (x->wg / 2 >= LEAST && x->wg / 2 / x->join * each >= x->s->n)
        x->wg /= 2;
}

/* FORM 1: a group reads whole memory transactions of a row, or as many
 * elements as a sub-group has lanes. */
static void shape_group_across(struct group_shape *x)
{
    enum { LINE_BYTES = 128, LANES = 32, GROUP = 256, MOST = 512 };
    while (x->tall * x->vw > MOST_SUMS && x->vw > 1)
        x->vw /= 2;
    x->u = power_down(x->g->k, loads_in_flight(x));
    x->each = 1;
    x->join = power_down(x->g->k / x->u, wanted_join(x, x->vw, x->u));
    const size_t line =
        xl__min_size(LINE_BYTES / (x->vw * x->elem_bytes),
                     xl__size_or(x->l, XL__F_subgroup_width, LANES));
    const size_t most = 2 * x->tall * x->vw > MOST_SUMS ? GROUP : MOST;
    x->wg = largest_group(
        x->l, xl__min_size(most, xl__max_size(GROUP, x->join * line)));
    x->join = xl__max_size(1, xl__min_size(x->join, x->wg / line));
    shrink_group(x, x->vw);
}

static void shape_group_along(struct group_shape *x)
{
    enum { GROUP = 256, FEW_ROWS = 2, LANES = 32 };
    const size_t lanes = xl__size_or(x->l, XL__F_subgroup_width, LANES);
    const size_t vectors = xl__max_size(1, x->g->k / x->vw);
    const size_t loads = loads_in_flight(x);
    x->each = power_down(x->s->n, x->tm > FEW_ROWS ? 8 : 4);
    while (x->each > 1 && x->each * x->tall > MOST_SUMS)
        x->each /= 2;
    x->join =
        xl__max_size(wanted_join(x, x->each, loads), power_up(lanes, LANES));
    x->join = power_down(vectors, x->join);
    x->u = xl__max_size(1, xl__min_size(loads, vectors / x->join) / x->each);
    x->u = power_down(x->u, MOST_TAKEN);
    x->wg = largest_group(x->l, xl__max_size(GROUP, x->join));
    x->join = xl__min_size(x->join, x->wg);
    shrink_group(x, x->each);
}

static void store_params(const struct group_shape *x, bool along,
                         struct xl__params *out)
{
    const size_t owners = x->wg / x->join;
    out->value[SKINNY_VW] = (int)x->vw;
    out->value[SKINNY_EACH] = (int)x->each;
    out->value[SKINNY_WG] = (int)x->wg;
    out->value[SKINNY_COLS] = (int)(owners * (along ? x->each : x->vw));
    out->value[SKINNY_DEPTH] = (int)(x->join * x->u * (along ? x->vw : 1));
}

static void choose_group(const struct xl__limits *l, const xl_gemm *g,
                         const struct xl__gemm_oriented *s, bool along,
                         struct xl__params *out)
{
    struct group_shape x = {.l = l,
                            .g = g,
                            .s = s,
                            .tm = (size_t)out->value[XL__GEMM_TM],
                            .elem_bytes = xl_dtype_bytes(s->b.dtype)};
    x.tall = x.tm * sum_bytes(g) / sizeof(float);
    struct skinny_job j;
    x.vw = widest_vector(&x, along);
    if (along)
        shape_group_along(&x);
    else
        shape_group_across(&x);
    const size_t local = xl__size_or(l, XL__F_local_mem_bytes, 0);
    for (store_params(&x, along, out); x.wg > 1;
         store_params(&x, along, out)) {
        if (read_params(l, g, out, &j) && local_bytes(&j) <= local)
            break;
        x.wg /= 2;
        x.join = xl__min_size(x.join, x.wg);
    }
}

/* Is it worth dividing k among groups, with a second launch? It is if fewer
 * than half of the units have groups; of threads, if the product takes longer
 * than the launch. */
static bool should_cut(const struct xl__limits *l, const struct skinny_job *j)
{
    enum { ITERATIONS = 4, WORTH_IT = 1 << 18 };
    if (j->by_threads && (double)j->s.n * (double)j->g->k *
                                 (double)xl_dtype_bytes(j->s.b.dtype) *
                                 (double)j->g->batch.count <
                             WORTH_IT)
        return false;
    const size_t enough = j->by_threads
                              ? busy_groups(l, j)
                              : xl__size_or(l, XL__F_compute_units, 1);
    return 2 * j->blocks * j->row_blocks * j->g->batch.count <= enough &&
           j->g->k >= ITERATIONS * j->depth;
}

static void choose_skinny(const struct xl__limits *l, const void *desc,
                          struct xl__params *out)
{
    const xl_gemm *g = desc;
    bool is_swapped;
    const struct xl__gemm_oriented s = few_as_rows(g, &is_swapped);
    const bool along = xl__gemm_operand_unit(&s.b) == XL__UNIT_ALONG_K;
    struct skinny_job j;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__GEMM_TM] = all_rows(s.m);
    out->value[SKINNY_PARTS] = SKINNY_NO;
    out->value[SKINNY_TURN] = is_swapped ? SKINNY_YES : SKINNY_NO;
    if (is_by_threads(l))
        choose_thread(l, &s, along, out);
    else
        choose_group(l, g, &s, along, out);
    if (read_params(l, g, out, &j) && should_cut(l, &j))
        out->value[SKINNY_PARTS] = SKINNY_YES;
}

/* -- the plan ------------------------------------------------------------- */

enum { SPAN = 256 }; /* columns that a thread joins */

static void add_defines(struct xl__step *s, const struct skinny_job *j)
{
    const struct xl__defined defines[] = {
        {"FORM", j->form},
        {"TM", j->tm},
        {"VW", j->vw},
        {"U", j->u},
        {"COLS", j->cols},
        {"EACH", j->each},
        {"DEPTH", j->depth},
        {"WG", j->wg},
        {"JOIN", j->join},
        {"PARTS", j->is_cut},
        {"VA", j->va},
        {"UA", xl__gemm_operand_unit(&j->s.a) != XL__UNIT_ALONG_K},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
}

static void arg_layout_of_c(struct xl__step *s, const struct skinny_job *j)
{
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
}

static void arg_operand_c(struct xl__step *s, const struct skinny_job *j)
{
    xl__arg_mem(s, XL__GEMM_C);
    arg_layout_of_c(s, j);
}

/* Arguments of the thread's kernel: memory, then all else in one struct. */
static void arg_thread(struct xl__step *s, const struct skinny_job *j)
{
    enum { SIZES = 15 };
    xl__arg_mem(s, j->s.a.mem);
    xl__arg_mem(s, j->s.b.mem);
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_words(s, SIZES);
    xl__gemm_arg_layout(s, &j->s.a);
    xl__gemm_arg_layout(s, &j->s.b);
    arg_layout_of_c(s, j);
    xl__arg_u64(s, j->g->k);
    xl__arg_u64(s, j->part);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->ld);
}

static void arg_group(struct xl__step *s, const struct skinny_job *j)
{
    xl__gemm_arg_operand(s, &j->s.a);
    xl__gemm_arg_operand(s, &j->s.b);
    arg_operand_c(s, j);
    xl__arg_u64(s, j->g->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->part);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->ld);
}

static void add_sum_step(const struct skinny_job *j, struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    s->source = j->by_threads ? "gemm/skinny_thread.cl" : "gemm/skinny.cl";
    s->kernel = j->by_threads ? "gemm_skinny_thread" : "gemm_skinny";
    s->slice_dim = j->g->batch.count > j->blocks ? 2 : 0;
    add_defines(s, j);
    xl__gemm_define(s, j->g, j->s.is_swapped);
    xl__step_set_3d(s, j->wg, j->blocks * j->wg, j->row_blocks * j->n_parts,
                    j->g->batch.count);
    s->local_mem_bytes = local_bytes(j);
    (j->by_threads ? arg_thread : arg_group)(s, j);
    xl__gemm_arg_last(s, j->g, j->s.is_swapped);
}

static void add_join_step(const struct xl__limits *l,
                          const struct skinny_job *j, struct xl__plan *p)
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
    s->is_aid = true;
    s->slice_dim = -1;
    xl__define(s, "SPAN", (long)span);
    xl__gemm_define(s, j->g, j->s.is_swapped);
    xl__step_set_3d(s, wg, xl__ceil_div(j->s.n, span), j->s.m,
                    j->g->batch.count);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->n_parts);
    xl__arg_u64(s, j->row_blocks * j->tm);
    xl__arg_u64(s, j->ld);
    arg_operand_c(s, j);
    xl__gemm_arg_last(s, j->g, j->s.is_swapped);
}

static bool scratch_bytes(const struct skinny_job *j, size_t *out)
{
    *out = 0;
    return !j->is_cut || (xl__mul(j->row_blocks * j->tm, j->ld, out) &&
                          xl__mul(*out, j->n_parts, out) &&
                          xl__mul(*out, j->g->batch.count, out) &&
                          xl__mul(*out, sum_bytes(j->g), out));
}

/* Instructions besides the multiply-add that an element of B costs per row. */
static double overhead_instructions(xl_dtype dtype)
{
    switch (dtype) {
    case XL_F16:
    case XL_I8:
    case XL_U8:
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

/* Cost of the thread's kernel in flop: multiply-adds in whole vectors, several
 * for each sum or vector of A that is loaded; for each vector of B, element of
 * A and element of C a constant. Sums of FORM 2 end within a vector. */
static double thread_flop(const struct skinny_job *j)
{
    static const struct {
        double vector, a, c;
    } costs[] = {
        [SKINNY_ACROSS] = {128, 180, 60}, [SKINNY_ALONG] = {128, 230, 370}};
    const size_t n = j->s.n, k = j->g->k;
    const bool along = j->form == SKINNY_ALONG;
    const double together = (double)(along ? j->each : j->u);
    const double vectors = along ? (double)n * (double)xl__ceil_div(k, j->vw)
                                 : (double)k * (double)xl__ceil_div(n, j->vw);
    const double row_blocks = (double)j->row_blocks;
    const double rows = row_blocks * (double)j->tm;
    return (double)j->g->batch.count *
           (2 * rows * vectors * (double)j->vw * (1 + 1 / together) +
            costs[j->form].vector * row_blocks * vectors +
            costs[j->form].a * rows * (double)k * (double)j->blocks +
            costs[j->form].c * (double)j->s.m * (double)n);
}

static void estimate_skinny(const struct xl__limits *l,
                            const struct skinny_job *j, struct xl__plan *p)
{
    static const double ns_per_s = 1e9;
    const double units = (double)xl__n_units(l);
    const double groups = (double)j->blocks * (double)j->row_blocks *
                          (double)j->n_parts * (double)j->g->batch.count;
    const double tm = (double)j->tm;
    const double rate = (j->by_threads ? 1 : xl__model(l, XL__M_skinny_frac)) *
                        xl__relative_rate(l, xl__gemm_in(j->g)) * tm /
                        (tm + overhead_instructions(j->s.b.dtype));
    /* Fraction of the items of all groups that have columns. */
    const double used = (double)j->s.n / ((double)j->blocks * (double)j->cols);
    const double busy = j->by_threads ? groups / units
                                      : groups * (double)j->wg * used /
                                            (units * busy_items(l));
    const struct xl__cost work = {
        .flop = j->by_threads ? thread_flop(j)
                              : p->flop * (double)(j->row_blocks * j->tm) /
                                    (double)j->s.m,
        .flop_frac = rate,
        .bytes =
            p->bytes * (double)j->row_blocks + 2 * (double)p->scratch_bytes,
        .bytes_frac = xl__model(l, XL__M_skinny_bytes_frac) * fmin(1, busy) *
                      (j->by_threads ? 1 : used),
        .fill = xl__fill(l, groups),
        .chain_ns = j->join > 1 ? tm * xl__model(l, XL__M_skinny_row_clocks) /
                                      xl__rate_clock(l) * ns_per_s
                                : 0,
        .launches = p->n_steps};
    xl__estimate(l, &work, p);
}

static const char *refuse_skinny(const struct xl__limits *l, const void *desc)
{
    bool is_swapped;
    const xl_gemm *g = desc;
    const struct xl__gemm_oriented s = few_as_rows(g, &is_swapped);
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no double precision";
    if (s.m > SKINNY_MOST_ROWS)
        return "it supports at most 16 rows or columns";
    if (xl__gemm_operand_unit(&s.b) == XL__UNIT_NONE)
        return "the larger operand is not contiguous along any dimension";
    if (xl__gemm_scales_refused(g))
        return xl__gemm_scales_refused(g);
    return xl__iterations_refused(l, (double)g->k);
}

static xl_status plan_skinny(const struct xl__limits *l, const void *desc,
                             const struct xl__params *params,
                             struct xl__plan *p)
{
    struct skinny_job j;
    if (!read_params(l, desc, params, &j) ||
        !scratch_bytes(&j, &p->scratch_bytes) ||
        local_bytes(&j) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    p->flop = xl__gemm_flop(j.g);
    p->bytes = xl__gemm_bytes(j.g);
    add_sum_step(&j, p);
    if (j.is_cut)
        add_join_step(l, &j, p);
    estimate_skinny(l, &j, p);
    return XL_OK;
}

/* Few rows stay few. k exceeds an iteration, or two if it is cut among groups,
 * so that slices are joined. */
static void tile_of_skinny(const void *desc, const struct xl__params *params,
                           size_t *sizes)
{
    const bool is_swapped = xl__gemm_orient(desc).is_swapped !=
                            (params->value[SKINNY_TURN] == SKINNY_YES);
    const bool is_cut = params->value[SKINNY_PARTS] == SKINNY_YES;
    sizes[is_swapped] = tunable_value(params, XL__GEMM_TM);
    sizes[!is_swapped] = tunable_value(params, SKINNY_COLS);
    sizes[2] = tunable_value(params, SKINNY_DEPTH) * (is_cut ? 2 : 1);
}

const struct xl__variant xl__gemm_skinny = {
    .name = "gemm_skinny",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = xl__gemm_skinny_tunables,
    .refuses = refuse_skinny,
    .choose = choose_skinny,
    .plan = plan_skinny,
    .own = &(const struct xl__gemm_variant){.tile = tile_of_skinny},
};
