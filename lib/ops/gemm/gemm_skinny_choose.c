/* SPDX-License-Identifier: Apache-2.0 */
/* What gemm_skinny's tunables should be. Reading is all the work there is, so
 * on a GPU each item has as many bytes under way as its registers hold, and
 * there are as many items as a device that waits for memory needs: first along
 * n, then along k within groups, then along k among groups, which costs a
 * second launch. A thread reads lines or columns side by side. */
#include <math.h>

#include "base/alloc.h"
#include "ops/gemm/skinny.h"

const struct xl__tunable xl__skinny_tunables[] = {
    {"TM", "rows that share a reading",
     {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 0}},
    {"COLS", "columns of a group",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0}},
    {"DEPTH", "lines of k that a group takes in a turn",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 0}},
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"EACH", "columns of an item, B contiguous along k", {1, 2, 4, 8, 0}},
    {"WG", "items of a work-group", {1, 32, 64, 128, 256, 512, 0}},
    {"PARTS", "1 k is whole, 2 cut among groups", {1, 2, 0}},
    {"TURN", "2: the few are columns of C", {1, 2, 0}},
    {NULL, NULL, {0}},
};

struct xl__gemm_sides xl__skinny_turned(const struct xl__gemm_sides *s)
{
    return (struct xl__gemm_sides){
        .a = s->b, .b = s->a, .m = s->n, .n = s->m,
        .row_stride = s->col_stride, .col_stride = s->row_stride,
        .c_aligned = s->c_aligned, .turned = !s->turned};
}

struct xl__gemm_sides xl__skinny_sides(const xl_gemm *g, bool *is_turned)
{
    const struct xl__gemm_sides s = xl__gemm_sides(g);
    *is_turned = s.m > s.n;
    return *is_turned ? xl__skinny_turned(&s) : s;
}

/* Items that are threads, whose loops may be as long as they are (GE-24). */
bool xl__skinny_by_threads(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) &&
           !(xl__num(l, XL__F_max_loop_turns) > 0);
}

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

/* The least legal TM that takes all rows. */
static int all_rows(size_t m)
{
    const int *legal = xl__skinny_tunables[XL__GEMM_TM].legal;
    while (legal[1] && (size_t)*legal < m)
        legal++;
    return *legal;
}

/* -- threads ------------------------------------------------------------- */

static void choose_thread(const struct xl__limits *l,
                          const struct xl__gemm_sides *s, bool along,
                          struct xl__params *out)
{
    enum { BLOCK = 512, COLUMNS = 64, TOGETHER = 4, LINES = 4, LEAST = 4,
           MOST_SUMS = 4096, FEW = 8 };
    const size_t rows = (size_t)out->value[XL__GEMM_TM];
    const size_t native = xl__size_or(l, XL__F_native_vector_f32, LEAST);
    const size_t vw =
        xl__max_size(power_up(native, XL__GEMM_WIDEST), LEAST);
    const size_t most = power_down(MOST_SUMS / rows, MOST_SUMS);
    const size_t each = rows > FEW ? 1 : rows > TOGETHER ? 2 : TOGETHER;
    /* Along k, A is packed for each block: units have one of their own. */
    const size_t share =
        xl__ceil_div(s->n, xl__size_or(l, XL__F_compute_units, 1));
    const size_t block =
        along ? power_up(s->n, power_up(xl__max_size(share, COLUMNS), BLOCK))
              : power_up(s->n, xl__min_size(BLOCK, most));
    out->value[XL__SKINNY_VW] = (int)vw;
    out->value[XL__SKINNY_WG] = 1;
    out->value[XL__SKINNY_EACH] = (int)each;
    out->value[XL__SKINNY_DEPTH] = (int)(along ? most : LINES);
    out->value[XL__SKINNY_COLS] =
        (int)xl__max_size(block, along ? each : vw);
}

/* -- groups -------------------------------------------------------------- */

/* What is known of an item, and how many it takes. */
struct shape {
    const struct xl__limits *l;
    const xl_gemm *g;
    const struct xl__gemm_sides *s;
    size_t tm, elem_bytes;
    size_t tall; /* registers of a column's sums */
    size_t vw, each, u; /* each: of FORM 2 */
    size_t join, wg;
};

enum { VECTOR_BYTES = 16, TURN_BYTES = 128, MOST_SUMS = 64, MOST_TAKEN = 16,
       MOST_JOIN = 128 };

/* The widest vector that alignment and, across, the width of B allow. */
static size_t widest(const struct shape *x, bool along)
{
    size_t vw = VECTOR_BYTES / x->elem_bytes;
    while (vw > 1 &&
           (x->s->b.aligned % vw != 0 || (!along && x->s->n % vw != 0)))
        vw /= 2;
    return x->s->b.aligned > 0 ? vw : 1;
}

/* Rows cost registers for each line that is taken. */
static size_t loads_of(const struct shape *x)
{
    enum { MANY_ROWS = 4 };
    const size_t loads =
        xl__min_size(TURN_BYTES / (x->vw * x->elem_bytes), MOST_TAKEN);
    return x->tm > MANY_ROWS ? xl__max_size(loads / 2, 1) : loads;
}

/* Items that should share a column's sum; more where each takes little. */
static size_t wanted_join(const struct shape *x, size_t each, size_t loads)
{
    const double units = fmax(1, xl__num_or(x->l, XL__F_compute_units, 1));
    const double bytes = (double)(loads * x->vw * x->elem_bytes);
    const double wanted = units * xl__skinny_busy_items(x->l) *
                          fmin(2, TURN_BYTES / bytes);
    const double owners = ceil((double)x->s->n / (double)each) *
                          (double)x->g->batch.count;
    return power_up((size_t)ceil(wanted / owners), MOST_JOIN);
}

static size_t largest_group(const struct xl__limits *l, size_t wanted)
{
    enum { LEAST = 32 };
    const size_t wg = power_down(xl__size_or(l, XL__F_max_wg_size, 1), wanted);
    return wg < LEAST ? 1 : wg;
}

/* No more items than `n` gives work to, `each` columns an item. */
static void shrink_group(struct shape *x, size_t each)
{
    enum { LEAST = 32 };
    while (x->wg / 2 >= LEAST && x->wg / 2 / x->join * each >= x->s->n)
        x->wg /= 2;
}

/* Across: what a group reads of a line is whole transactions of memory, or a
 * sub-group's elements. */
static void shape_across(struct shape *x)
{
    enum { LINE_BYTES = 128, LANES = 32, GROUP = 256, MOST = 512 };
    while (x->tall * x->vw > MOST_SUMS && x->vw > 1)
        x->vw /= 2;
    x->u = power_down(x->g->k, loads_of(x));
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

static void shape_along(struct shape *x)
{
    enum { GROUP = 256, FEW_ROWS = 2, LANES = 32 };
    const size_t lanes = xl__size_or(x->l, XL__F_subgroup_width, LANES);
    const size_t vectors = xl__max_size(1, x->g->k / x->vw);
    const size_t loads = loads_of(x);
    x->each = power_down(x->s->n, x->tm > FEW_ROWS ? 8 : 4);
    while (x->each > 1 && x->each * x->tall > MOST_SUMS)
        x->each /= 2;
    x->join = xl__max_size(wanted_join(x, x->each, loads),
                           power_up(lanes, LANES));
    x->join = power_down(vectors, x->join);
    x->u = xl__max_size(1, xl__min_size(loads, vectors / x->join) / x->each);
    x->u = power_down(x->u, MOST_TAKEN);
    x->wg = largest_group(x->l, xl__max_size(GROUP, x->join));
    x->join = xl__min_size(x->join, x->wg);
    shrink_group(x, x->each);
}

static void put(const struct shape *x, bool along, struct xl__params *out)
{
    const size_t owners = x->wg / x->join;
    out->value[XL__SKINNY_VW] = (int)x->vw;
    out->value[XL__SKINNY_EACH] = (int)x->each;
    out->value[XL__SKINNY_WG] = (int)x->wg;
    out->value[XL__SKINNY_COLS] = (int)(owners * (along ? x->each : x->vw));
    out->value[XL__SKINNY_DEPTH] =
        (int)(x->join * x->u * (along ? x->vw : 1));
}

static void choose_group(const struct xl__limits *l, const xl_gemm *g,
                         const struct xl__gemm_sides *s, bool along,
                         struct xl__params *out)
{
    struct shape x = {.l = l, .g = g, .s = s,
                      .tm = (size_t)out->value[XL__GEMM_TM],
                      .elem_bytes = xl_dtype_bytes(g->a.dtype)};
    x.tall = x.tm * xl__skinny_sum_bytes(g) / sizeof(float);
    struct xl__skinny j;
    x.vw = widest(&x, along);
    if (along)
        shape_along(&x);
    else
        shape_across(&x);
    const size_t local = xl__size_or(l, XL__F_local_mem_bytes, 0);
    for (put(&x, along, out); x.wg > 1; put(&x, along, out)) {
        if (xl__skinny_read(l, g, out, &j) &&
            xl__skinny_local_bytes(&j) <= local)
            break;
        x.wg /= 2;
        x.join = xl__min_size(x.join, x.wg);
    }
}

/* A second launch is worth having the other half of the units at work; of
 * threads, where there is work for the time that it takes. */
static bool should_cut(const struct xl__limits *l, const struct xl__skinny *j)
{
    enum { TURNS = 4, WORTH_IT = 1 << 18 };
    if (j->by_threads && (double)j->s.n * (double)j->g->k *
                                 (double)xl_dtype_bytes(j->g->a.dtype) *
                                 (double)j->g->batch.count <
                             WORTH_IT)
        return false;
    const size_t enough = j->by_threads
                              ? xl__skinny_busy_groups(l, j)
                              : xl__size_or(l, XL__F_compute_units, 1);
    return 2 * j->blocks * j->row_blocks * j->g->batch.count <= enough &&
           j->g->k >= TURNS * j->depth;
}

void xl__skinny_choose(const struct xl__limits *l, const void *desc,
                       struct xl__params *out)
{
    const xl_gemm *g = desc;
    bool is_turned;
    const struct xl__gemm_sides s = xl__skinny_sides(g, &is_turned);
    const bool along = xl__gemm_side_unit(&s.b) == XL__UNIT_ALONG_K;
    struct xl__skinny j;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__GEMM_TM] = all_rows(s.m);
    out->value[XL__SKINNY_PARTS] = XL__SKINNY_NO;
    out->value[XL__SKINNY_TURN] = is_turned ? XL__SKINNY_YES : XL__SKINNY_NO;
    if (xl__skinny_by_threads(l))
        choose_thread(l, &s, along, out);
    else
        choose_group(l, g, &s, along, out);
    if (xl__skinny_read(l, g, out, &j) && should_cut(l, &j))
        out->value[XL__SKINNY_PARTS] = XL__SKINNY_YES;
}
