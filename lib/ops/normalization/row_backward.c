/* SPDX-License-Identifier: Apache-2.0 */
/* What gradients over rows share: views, the shape class, arguments, sums over
 * columns, and the reference variants. */
#include "ops/normalization/row_backward.h"

#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/check.h"
#include "ops/path/cost.h"
#include "ops/path/size_buckets.h"

/* clang-format off */
const struct xl__backward_view xl__backward_views[XL__BACKWARD_N_VIEWS] = {
    /*                         memory                    offset               result row */
    [XL__BACKWARD_SRC]     = { XL__ROWS_SRC,             XL__ROWS_OFF_SRC,         false, false },
    [XL__BACKWARD_GRAD]    = { XL__ROWS_ADDED,           XL__ROWS_OFF_ADDED,       false, false },
    [XL__BACKWARD_DST]     = { XL__ROWS_DST,             XL__ROWS_OFF_DST,         true,  false },
    [XL__BACKWARD_GAIN]    = { XL__NORM_MEM_GAIN,        XL__NORM_OFF_GAIN,        false, true },
    [XL__BACKWARD_TO_GAIN] = { XL__BACKWARD_MEM_TO_GAIN, XL__BACKWARD_OFF_TO_GAIN, true,  true },
    [XL__BACKWARD_TO_BIAS] = { XL__BACKWARD_MEM_TO_BIAS, XL__BACKWARD_OFF_TO_BIAS, true,  true },
};
/* clang-format on */

/* -- check and bind --------------------------------------------------------
 */

xl_status xl__backward_check(xl_queue *q, const xl__backward_list views,
                             const char *const names[XL__BACKWARD_N_VIEWS],
                             size_t rows, size_t cols, bool with_memory)
{
    xl_status status = XL_OK;
    /* Sums over columns read src and the gradient after dst is written. */
    const bool has_columns =
        views[XL__BACKWARD_TO_GAIN] || views[XL__BACKWARD_TO_BIAS];
    q->memory.n = 0;
    for (unsigned v = 0; v < XL__BACKWARD_N_VIEWS; v++) {
        const struct xl__backward_view *what = &xl__backward_views[v];
        const xl_mat *view = views[v];
        struct xl__region *r;
        if (!view)
            continue;
        TRY(xl__operand_add_mat(q, names[v], view, what->is_row ? 1 : rows,
                                cols, &r));
        r->may_be_result = !what->is_result && !what->is_row && !has_columns;
        r->is_written = what->is_result;
        if (what->is_result)
            TRY(xl__region_check_itself(r, &q->error));
        if (view->dtype != XL_F32 && view->dtype != XL_F16 &&
            view->dtype != XL_BF16)
            TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                              "%s of a gradient over rows is of %s; it must "
                              "be of f32, f16 or bf16",
                              names[v], xl_dtype_name(view->dtype)));
        TRY(xl__operand_locate(&q->memory, q->memory.n - 1, view->mem,
                               with_memory, &q->error));
    }
    if (with_memory)
        TRY(xl__operands_check_apart(&q->memory, &q->error));
fail:
    return status;
}

void xl__backward_bind(xl_queue *q, const xl__backward_list views, size_t rows,
                       size_t cols, enum xl__backward_kind kind,
                       struct xl__row_backward *to, struct xl__call *call)
{
    const xl_mat *dst = views[XL__BACKWARD_DST];
    memset(to, 0, sizeof *to); /* with its padding */
    to->rows = rows;
    to->cols = cols;
    to->kind = kind;
    to->is_in_place = xl__mem_is_set(dst->mem) &&
                      (xl__view_is_same(dst, views[XL__BACKWARD_SRC]) ||
                       xl__view_is_same(dst, views[XL__BACKWARD_GRAD]));
    for (unsigned v = 0, i = 0; v < XL__BACKWARD_N_VIEWS; v++) {
        const struct xl__backward_view *what = &xl__backward_views[v];
        if (!views[v])
            continue;
        xl__row_view(views[v], what->is_row ? 1 : rows, cols,
                     xl__operand_base(q, i++), &to->view[v]);
        to->view[v].mem.svm = (void *)1;
        call->mem[what->mem] = views[v]->mem;
        call->value[what->offset].u = views[v]->offset;
    }
}

/* -- shape class ---------------------------------------------------------- */

void xl__backward_describe(const void *canonical, struct xl__str *out)
{
    static const char *const kinds[] = {"", "log ", "", "rms "};
    static const char *const names[] = {"",      "grad",       "dst",
                                        "scale", "grad_scale", "grad_bias"};
    const struct xl__row_backward *c = canonical;
    const xl_dtype src = c->view[XL__BACKWARD_SRC].dtype;
    bool is_strided = false;
    xl__str_printf(out, "%s%s rows%zu cols%zu", kinds[c->kind],
                   xl_dtype_name(src), xl__bucket(c->rows),
                   xl__bucket(c->cols));
    for (unsigned v = 0; v < XL__BACKWARD_N_VIEWS; v++) {
        const xl_mat *view = &c->view[v];
        if (!xl__backward_has(c, v))
            continue;
        is_strided = is_strided || view->col_stride != 1;
        if (v > XL__BACKWARD_DST || view->dtype != src)
            xl__str_printf(out, " %s:%s", names[v],
                           xl_dtype_name(view->dtype));
    }
    if (is_strided)
        xl__str_add(out, " strided");
    if (c->is_in_place)
        xl__str_add(out, " in-place");
}

static void set_dense(struct xl__row_backward *c)
{
    for (unsigned v = 0; v < XL__BACKWARD_N_VIEWS; v++)
        xl__row_view_set_dense(&c->view[v], c->cols);
}

void xl__backward_represent(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__row_backward *to = representative;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    to->rows = xl__size_end(to->rows, XL__SIZE_GRAIN, end);
    to->cols = xl__size_end(to->cols, 1, end);
    set_dense(to);
}

bool xl__backward_halve(void *canonical)
{
    struct xl__row_backward *c = canonical;
    const bool is_smaller = xl__rows_halve(&c->rows, &c->cols);
    if (is_smaller)
        set_dense(c);
    return is_smaller;
}

/* -- arguments ------------------------------------------------------------ */

double xl__backward_flop(const struct xl__row_backward *c)
{
    static const double of_softmax = 4, of_norm = 14, of_columns = 5;
    const double columns = xl__backward_has_columns(c) ? of_columns : 0;
    return ((xl__backward_is_norm(c) ? of_norm : of_softmax) + columns) *
           (double)c->rows * (double)c->cols;
}

double xl__backward_bytes(const struct xl__row_backward *c, bool is_written)
{
    double bytes = 0;
    for (unsigned v = 0; v <= XL__BACKWARD_DST; v++) {
        if (xl__backward_views[v].is_result == is_written)
            bytes += (double)xl_dtype_bytes(c->view[v].dtype);
    }
    return bytes * (double)c->rows * (double)c->cols;
}

void xl__backward_args(struct xl__step *step, const void *canonical)
{
    const struct xl__row_backward *c = canonical;
    xl__row_args(step, &c->view[XL__BACKWARD_SRC], &c->view[XL__BACKWARD_DST],
                 &c->view[XL__BACKWARD_GRAD], c->rows, c->cols);
    if (!xl__backward_is_norm(c))
        return;
    for (unsigned i = XL__NORM_MEM_GAIN; i <= XL__NORM_MEM_SUM; i++)
        xl__arg_mem(step, i);
    for (unsigned i = XL__NORM_OFF_GAIN; i <= XL__NORM_OFF_SUM; i++)
        xl__arg_value_u64(step, i);
    xl__arg_u64(step, 0);
    xl__arg_value_f32(step, XL__NORM_EPS);
    xl__arg_mem(step, XL__MEM_SCRATCH);
}

void xl__backward_defines(struct xl__step *step, const void *canonical,
                          size_t vw)
{
    const struct xl__row_backward *c = canonical;
    const xl_mat *src = &c->view[XL__BACKWARD_SRC],
                 *dst = &c->view[XL__BACKWARD_DST],
                 *gain = &c->view[XL__BACKWARD_GAIN];
    xl__row_defines(step, src, dst, &c->view[XL__BACKWARD_GRAD], c->cols, vw);
    xl__define(step, "VA",
               xl__row_view_is_aligned(src, vw) &&
                   xl__row_view_is_aligned(dst, vw));
    if (c->kind == XL__BACKWARD_LOG)
        xl__define(step, "LOG", 1);
    if (!xl__backward_is_norm(c))
        return;
    xl__define(step, "NORM", 1);
    if (c->kind == XL__BACKWARD_RMS)
        xl__define(step, "RMS", 1);
    if (xl__backward_has_columns(c))
        xl__define(step, "KEEP", 1);
    if (!xl__backward_has(c, XL__BACKWARD_GAIN))
        return;
    xl__define(step, "GT", (long)gain->dtype);
    xl__define(step, "GA", xl__row_view_is_aligned(gain, vw));
}

/* -- sums over columns -----------------------------------------------------
 */

enum {
    KEPT = 3, /* floats of a row */
    LEAST_SLICE = 16,
    MOST_SLICES = 256,
    GROUPS_PER_UNIT = 16,
    COLUMNS_LX = 64,
    JOIN_LX = 16, /* a cache line of the slices' sums */
    JOIN_LY = 16,
    ITEM_VECTORS = 16 /* of a strip of columns, by a single item */
};

/* Slices of rows that occupy the device, and no more loops than it allows. */
static size_t count_slices(const struct xl__limits *l,
                           const struct xl__row_backward *c, size_t strips)
{
    const size_t groups = GROUPS_PER_UNIT * xl__n_units(l);
    const size_t n = xl__min_size(xl__ceil_div(groups, strips), MOST_SLICES);
    return xl__max_size(1, xl__min_size(n, c->rows / LEAST_SLICE));
}

static void add_results(struct xl__step *join,
                        const struct xl__row_backward *c)
{
    static const struct {
        const char *name;
        unsigned view;
    } results[] = {{"GO", XL__BACKWARD_TO_GAIN}, {"BO", XL__BACKWARD_TO_BIAS}};
    enum { N = sizeof results / sizeof *results };
    for (unsigned i = 0; i < N; i++) {
        if (xl__backward_has(c, results[i].view))
            xl__define(join, results[i].name,
                       (long)c->view[results[i].view].dtype);
        xl__arg_mem(join, xl__backward_views[results[i].view].mem);
    }
    for (unsigned i = 0; i < N; i++)
        xl__arg_value_u64(join, xl__backward_views[results[i].view].offset);
    for (unsigned i = 0; i < N; i++)
        xl__arg_u64(join, c->view[results[i].view].col_stride);
}

void xl__backward_add_columns(const struct xl__limits *l,
                              const struct xl__row_backward *c, size_t vw,
                              bool is_by_items, struct xl__plan *p)
{
    static const char file[] = "normalization/backward_columns.cl";
    if (!xl__backward_has_columns(c))
        return;
    const double main_ns = p->est_ns;
    const size_t lx = is_by_items ? 1 : xl__most_items(l, COLUMNS_LX);
    const size_t vectors = is_by_items ? ITEM_VECTORS : 1;
    const size_t strips = xl__ceil_div(c->cols, lx * vectors * vw);
    const size_t slice = xl__ceil_div(c->rows, count_slices(l, c, strips));
    const size_t n_slices = xl__ceil_div(c->rows, slice);
    const size_t kept = p->scratch_bytes / sizeof(float);
    const size_t parts = kept + KEPT * c->rows;
    p->scratch_bytes = sizeof(float) * (parts + 2 * n_slices * c->cols);
    struct xl__step *sum =
        xl__plan_add(p, file, "norm_backward_columns", strips * lx, lx);
    xl__step_set_3d(sum, lx, strips * lx, n_slices, 1);
    xl__define(sum, "LX", (long)lx);
    xl__define(sum, "N", (long)vectors);
    xl__row_defines(sum, &c->view[XL__BACKWARD_SRC],
                    &c->view[XL__BACKWARD_DST], &c->view[XL__BACKWARD_GRAD],
                    c->cols, vw);
    xl__define(sum, "VA",
               xl__row_view_is_aligned(&c->view[XL__BACKWARD_SRC], vw));
    xl__backward_args(sum, c);
    xl__arg_u64(sum, c->view[XL__BACKWARD_SRC].col_stride);
    xl__arg_u64(sum, kept);
    xl__arg_u64(sum, parts);
    xl__arg_u64(sum, slice);
    const size_t wg = is_by_items ? 1 : xl__most_items(l, JOIN_LX * JOIN_LY);
    const size_t jx = xl__min_size(wg, JOIN_LX);
    struct xl__step *join =
        xl__plan_add(p, file, "norm_backward_join",
                     xl__ceil_div(c->cols, jx) * wg / jx * jx, wg / jx * jx);
    join->is_aid = true;
    join->local_mem_bytes = 2 * sizeof(float) * (wg / jx * jx);
    xl__define(join, "STEP", 2);
    xl__define(join, "LX", (long)jx);
    xl__define(join, "LY", (long)(wg / jx));
    xl__arg_mem(join, XL__MEM_SCRATCH);
    xl__arg_u64(join, parts);
    xl__arg_u64(join, c->cols);
    xl__arg_u32(join, n_slices);
    add_results(join, c);
    const struct xl__cost work = {
        .flop = xl__backward_flop(c) / 2,
        .flop_frac = xl__model(l, XL__M_norm_frac),
        .bytes = xl__backward_bytes(c, false) +
                 2.0 * sizeof(float) * (double)(n_slices * c->cols),
        .bytes_frac = 1,
        .fill = xl__fill(l, (double)(strips * n_slices)),
        .launches = 2};
    const char *const bound = p->bound;
    xl__estimate(l, &work, p);
    p->est_ns += main_ns;
    p->bound = bound;
}

/* -- the reference variants ------------------------------------------------
 */

enum { WG = 64, SWEEPS = 3, BLOCK = 4 }; /* BLOCK: of an iteration */

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__row_backward *c = desc;
    const double rows = xl__backward_has_columns(c)
                            ? (double)c->rows / MOST_SLICES + LEAST_SLICE
                            : 0;
    const double cols = (double)SWEEPS * (double)c->cols / BLOCK;
    return xl__iterations_refused(l, cols > rows ? cols : rows);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__row_backward *c = desc;
    const size_t wg = xl__min_size(WG, xl__rows_most_items(l));
    (void)params;
    p->flop = xl__backward_flop(c);
    p->bytes = xl__backward_bytes(c, false) + xl__backward_bytes(c, true);
    struct xl__step *step =
        xl__plan_add(p, "normalization/backward_reference.cl",
                     "rows_backward_ref", xl__round_up(c->rows, wg), wg);
    xl__backward_defines(step, c, 1);
    xl__backward_args(step, c);
    xl__arg_u64(step, c->view[XL__BACKWARD_SRC].col_stride);
    xl__arg_u64(step, c->view[XL__BACKWARD_DST].col_stride);
    xl__arg_u64(step, c->view[XL__BACKWARD_GAIN].col_stride);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_softmax_ref_frac),
        .bytes = SWEEPS * xl__backward_bytes(c, false) +
                 xl__backward_bytes(c, true),
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)c->rows / (double)wg),
        .launches = 1};
    xl__estimate(l, &work, p);
    xl__backward_add_columns(l, c, 1, false, p);
    return XL_OK;
}

#define REFERENCE(name_)                                                      \
    {                                                                         \
        .name = name_,                                                        \
        .repeats = "bit for bit: sums are in an order of the shape",          \
        .refuses = find_refusal, .plan = plan_steps                           \
    }
const struct xl__variant xl__norm_backward_ref =
                             REFERENCE("norm_backward_ref"),
                         xl__softmax_backward_ref =
                             REFERENCE("softmax_backward_ref");
