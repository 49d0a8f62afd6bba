/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_dpas: GEMM on a sub-group's systolic matrix instruction. Both operands
 * are packed into tiles of the instruction first, so that any layout and any
 * alignment is supported, and block reads load them without local memory.
 *
 * Windows of images are not packed: a row of A is 32 bytes of a pixel's
 * channels, as they lie in NHWC, so that a block read a row loads them from
 * the image. The windows of a 3 x 3 filter, packed, are 9 images that are
 * written and read: on an A770 that takes 8 times as long as the product of
 * ResNet-50's 3 x 3 layer of 64 channels. They are the kernel's A also where
 * images are the caller's B (NCHW). Windows across, the gradient of filters,
 * are columns of B, whose words are of two images: these are copied in pairs,
 * word beside word, and so is A packed.
 *
 * The time of a product is that of the compute unit with the most tiles of
 * sub-groups, whose instructions and loads from the cache overlap; of windows
 * the instructions that locate and load rows, too. */
#include "ops/gemm/engines/dpas.h"

#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "device/peak_rates.h"
#include "device/time_model.h"
#include "ops/gemm/engines/windows.h"
#include "ops/gemm/tile_plan.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"

enum {
    ROWS = 8,        /* of an instruction: common/intel/dpas.clh */
    LINE_BYTES = 32, /* of a row of A and a column of B in it */
    WORD = 4,
    ELEM_BYTES = 2, /* of windows */
    PAIR = 2,       /* images of a word of theirs */
    PACK_ITEMS = 64
};

const struct xl__tunable xl__gemm_dpas_tunables[] = {
    {"TM", "rows of a work-group's tile", {8, 16, 32, 64, 96, 128, 192, 0}},
    {"TN", "columns of it", {8, 16, 32, 64, 128, 256, 0}},
    {"TK", "depth to which operands are packed", {16, 32, 0}},
    {"RM", "rows of a sub-group, in instructions", {1, 2, 4, 6, 0}},
    {"RN", "columns of it, in instructions", {1, 2, 4, 0}},
    {"GRF",
     "registers of a sub-group: 1 the driver's choice; 2: all that it can "
     "have",
     {XL__DPAS_SOME_REGISTERS, XL__DPAS_ALL_REGISTERS, 0}},
    {"GR", "tile rows of a band", {4, 8, 16, 0}},
    {NULL, NULL, {0}},
};

/* Sub-groups along m and n, instructions of each, its registers. */
static const struct {
    unsigned char sm, sn, rm, rn, registers;
} dpas_sets[] = {
    {4, 4, 6, 4, XL__DPAS_ALL_REGISTERS},
    {2, 4, 6, 4, XL__DPAS_ALL_REGISTERS},
    {4, 4, 4, 4, XL__DPAS_ALL_REGISTERS},
    {2, 4, 4, 4, XL__DPAS_ALL_REGISTERS},
    {2, 2, 4, 4, XL__DPAS_ALL_REGISTERS},
    {1, 2, 4, 4, XL__DPAS_ALL_REGISTERS},
    {2, 2, 2, 4, XL__DPAS_ALL_REGISTERS},
    {1, 2, 2, 4, XL__DPAS_ALL_REGISTERS},
    {2, 4, 4, 2, XL__DPAS_SOME_REGISTERS},
    {2, 4, 2, 2, XL__DPAS_SOME_REGISTERS},
    {1, 4, 2, 2, XL__DPAS_SOME_REGISTERS},
    {1, 4, 1, 2, XL__DPAS_SOME_REGISTERS},
    {4, 1, 2, 1, XL__DPAS_SOME_REGISTERS},
    {1, 1, 1, 1, XL__DPAS_SOME_REGISTERS},
};

/* A and B in the order of xl__gemm_orient(), packed. */
struct packed {
    size_t lines;       /* tiles along x, those of whole work-groups */
    size_t line_bytes;  /* of all tiles along k */
    size_t first, step; /* of the first product; 0: all products share it */
    double moved_bytes;
};
enum { OPERANDS = 2 };

struct dpas_plan {
    const struct xl__limits *l;
    const xl_matrix_op *op;
    const struct xl__gemm_canonical *c;
    struct xl__dpas_set set;
    struct xl__gemm_oriented s;
    struct xl__tile_grid grid;
    struct packed packed[OPERANDS];
    struct xl__window_copies copies;
    size_t scratch_bytes;
};

struct xl__dpas_set xl__dpas_set_of(const struct xl__params *params)
{
    const int *v = params->value;
    return (struct xl__dpas_set){.tm = (size_t)v[XL__GEMM_TM],
                                 .tn = (size_t)v[XL__GEMM_TN],
                                 .tk = (size_t)v[XL__GEMM_TK],
                                 .rm = (size_t)v[XL__DPAS_RM],
                                 .rn = (size_t)v[XL__DPAS_RN],
                                 .registers = (size_t)v[XL__DPAS_GRF],
                                 .band = (size_t)v[XL__DPAS_GR]};
}

struct xl__params xl__dpas_listed(size_t i, const xl_matrix_op *op)
{
    struct xl__params p = {.source = "model"};
    if (i >= sizeof dpas_sets / sizeof *dpas_sets)
        return p;
    p.value[XL__GEMM_TM] = dpas_sets[i].sm * dpas_sets[i].rm * ROWS;
    p.value[XL__GEMM_TN] = dpas_sets[i].sn * dpas_sets[i].rn * (int)op->n;
    p.value[XL__GEMM_TK] = (int)op->k;
    p.value[XL__DPAS_RM] = dpas_sets[i].rm;
    p.value[XL__DPAS_RN] = dpas_sets[i].rn;
    p.value[XL__DPAS_GRF] = dpas_sets[i].registers;
    p.value[XL__DPAS_GR] = 8;
    return p;
}

/* Windows are rows, but for those across. */
static struct xl__gemm_oriented orient(const struct xl__gemm_canonical *c)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(&c->g);
    if (!c->windows || !c->windows->of_b || c->windows->across)
        return s;
    return (struct xl__gemm_oriented){.a = s.b,
                                      .b = s.a,
                                      .m = s.n,
                                      .n = s.m,
                                      .row_stride = s.col_stride,
                                      .col_stride = s.row_stride,
                                      .c_aligned = s.c_aligned,
                                      .is_swapped = !s.is_swapped};
}

/* Of the channels of a pixel that a kernel reads. */
static size_t pixel_bytes(const struct xl__windows *w)
{
    return w->conv.c / w->conv.groups * ELEM_BYTES;
}

/* Elements of the images that it reads, from the first to the last. */
static size_t span_elems(const struct xl__windows *w)
{
    const xl_conv *d = &w->conv;
    const size_t *step = d->in.stride; /* along n, c, h, w */
    return (d->n - 1) * step[0] + (d->h - 1) * step[2] + (d->w - 1) * step[3] +
           d->c;
}

static size_t sub_groups(const struct xl__dpas_set *s, const xl_matrix_op *op)
{
    return s->tm / (s->rm * ROWS) * (s->tn / (s->rn * op->n));
}

static bool fits(const struct xl__limits *l, const xl_matrix_op *op,
                 const struct xl__dpas_set *s)
{
    return s->tm && s->tn && s->tk && s->rm && s->rn && s->band &&
           !xl__is_refused(l, s->tm, s->tn) && s->tm % (s->rm * ROWS) == 0 &&
           s->tn % (s->rn * op->n) == 0 && s->tk % op->k == 0 &&
           sub_groups(s, op) * op->lanes <=
               xl__size_or(l, XL__F_max_wg_size, 1);
}

static struct xl__tile tile_of(const struct xl__dpas_set *s)
{
    return (struct xl__tile){
        .tm = s->tm, .tn = s->tn, .tk = s->tk, .band = s->band, .parts = 1};
}

/* -- packed operands ------------------------------------------------------ */

static size_t batch_step(const struct dpas_plan *j,
                         const struct xl__gemm_operand *operand)
{
    const xl_batch *b = &j->c->g.batch;
    return operand->mem == XL__GEMM_A ? b->a_step : b->b_step;
}

/* Lay out an operand behind what is laid out. The kernel counts bytes in 32
 * bits. Returns false if there are more. */
static bool lay_out(struct dpas_plan *j,
                    const struct xl__gemm_operand *operand, size_t extent,
                    size_t tile, struct packed *out)
{
    const xl_gemm *g = &j->c->g;
    const size_t count = batch_step(j, operand) > 0 ? g->batch.count : 1;
    const size_t elem = xl_dtype_bytes(g->a.dtype);
    const size_t k = xl__round_up(g->k, j->set.tk);
    size_t bytes;
    out->lines = xl__round_up(operand->extent, tile) / extent;
    out->line_bytes = k * elem * extent;
    out->first = j->scratch_bytes;
    out->step = count > 1 ? out->lines * out->line_bytes : 0;
    out->moved_bytes =
        (double)count * ((double)operand->extent * (double)(g->k * elem) +
                         (double)(out->lines * out->line_bytes));
    return xl__mul(out->lines, out->line_bytes, &bytes) &&
           xl__mul(bytes, count, &bytes) &&
           xl__add(bytes, j->scratch_bytes, &j->scratch_bytes) &&
           j->scratch_bytes <= UINT32_MAX;
}

static bool is_packed(const struct xl__windows *w, unsigned side)
{
    return !w || w->across == (side == 0);
}

static bool lay_out_both(struct dpas_plan *j)
{
    const struct xl__windows *w = j->c->windows;
    j->scratch_bytes = 0;
    if ((is_packed(w, 0) &&
         !lay_out(j, &j->s.a, ROWS, j->set.tm, &j->packed[0])) ||
        (is_packed(w, 1) &&
         !lay_out(j, &j->s.b, j->op->n, j->set.tn, &j->packed[1])))
        return false;
    if (w) {
        j->copies = xl__windows_place(w, j->scratch_bytes);
        j->scratch_bytes = j->copies.end_bytes;
    }
    return (double)j->scratch_bytes <=
           xl__num_or(j->l, XL__F_max_alloc_bytes, INFINITY);
}

static void add_pack(const struct dpas_plan *j,
                     const struct xl__gemm_operand *operand, unsigned side,
                     struct xl__plan *p)
{
    const struct packed *to = &j->packed[side];
    const struct xl__windows *w = j->c->windows;
    const size_t count = j->c->g.batch.count;
    const bool pairs = w && w->across;
    if (!is_packed(w, side))
        return;
    struct xl__step *s =
        xl__plan_add(p, "gemm/intel/dpas_pack.cl", "gemm_dpas_pack", 0, 1);
    s->is_aid = true;
    xl__dpas_define(s, j->op);
    xl__define(s, "DPAS_T", (long)j->c->g.a.dtype);
    xl__define(s, "SIDE", (long)side);
    xl__define(s, "LINES", (long)(side ? j->set.rn : j->set.rm));
    xl__step_set_3d(s, PACK_ITEMS, to->line_bytes / WORD, to->lines,
                    to->step ? count : 1);
    s->slice_dim = 1;
    if (j->copies.filters > 0) {
        xl__arg_mem(s, XL__MEM_SCRATCH);
        xl__arg_u64(s, j->copies.filters);
        xl__arg_u64(s, operand->stride_x);
        xl__arg_u64(s, operand->stride_k);
    } else {
        xl__gemm_arg_operand(s, operand);
    }
    xl__arg_u64(s, pairs ? w->out_step : batch_step(j, operand));
    xl__arg_u64(s, operand->extent);
    xl__arg_u64(s, j->c->g.k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, to->first / WORD);
    xl__arg_u64(s, to->step / WORD);
    xl__arg_u64(s, to->line_bytes / WORD);
    if (pairs) {
        xl__define(s, "PAIRS", 1);
        xl__arg_u32(s, PAIR * w->conv.n / count);
        xl__arg_u32(s, w->out_images);
        xl__arg_u32(s, w->p * w->q);
    }
}

/* -- the product ---------------------------------------------------------- */

/* Append the kernel's A or B. */
static void arg_packed(struct xl__step *s, const struct packed *of)
{
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u32(s, of->first);
    xl__arg_u32(s, of->step);
}

static void arg_windows(struct xl__step *s, const struct dpas_plan *j)
{
    const struct xl__windows *w = j->c->windows;
    xl__windows_define(s, w);
    if (w->images.n > 0) { /* pairs always are */
        xl__arg_mem(s, XL__MEM_SCRATCH);
        xl__arg_u64(s, j->copies.images);
    } else {
        xl__arg_mem(s, j->s.a.mem);
        xl__arg_value_u64(s, j->s.a.offset);
    }
    xl__arg_windows(s, w,
                    j->set.tk * xl_dtype_bytes(j->c->g.a.dtype) / ELEM_BYTES);
}

static void add_product(const struct dpas_plan *j, struct xl__plan *p)
{
    const struct xl__dpas_set *set = &j->set;
    const size_t items = sub_groups(set, j->op) * j->op->lanes;
    struct xl__step *s =
        xl__plan_add(p, "gemm/intel/dpas.cl", "gemm_dpas", 0, items);
    const struct xl__defined defines[] = {
        {"TM", set->tm},
        {"TN", set->tn},
        {"TK", set->tk},
        {"RM", set->rm},
        {"RN", set->rn},
        {"SM", set->tm / (set->rm * ROWS)},
        {"SN", set->tn / (set->rn * j->op->n)},
        {"GR", set->band},
    };
    xl__dpas_define(s, j->op);
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    if (set->registers == XL__DPAS_ALL_REGISTERS)
        xl__step_add_option(s, j->l->model.dpas->registers_option);
    xl__gemm_define(s, j->c, j->s.is_swapped);
    s->global[0] = xl__tile_groups(&j->grid) * items;
    for (unsigned side = 0; side < OPERANDS; side++) {
        if (is_packed(j->c->windows, side))
            arg_packed(s, &j->packed[side]);
        else
            arg_windows(s, j);
    }
    xl__tile_args(s, j->c, &j->s, &j->grid);
    p->tiling = xl__tile_describe(s, &j->grid,
                                  (xl_tiling){.rows = set->tm,
                                              .cols = set->tn,
                                              .m = j->s.m,
                                              .n = j->s.n,
                                              .band = set->band,
                                              .is_swapped = j->s.is_swapped});
}

/* -- the model ------------------------------------------------------------ */

/* Clocks in which a compute unit computes one sub-group's tile. */
static double tile_clocks(const struct dpas_plan *j, double flop_per_clock)
{
    const struct xl__dpas_model *m = j->l->model.dpas;
    const double rows = (double)(j->set.rm * ROWS);
    const double cols = (double)(j->set.rn * j->op->n);
    const double depth = (double)xl__round_up(j->c->g.k, j->set.tk);
    const double bytes =
        depth * (rows + cols) * (double)xl_dtype_bytes(j->c->g.a.dtype);
    const double multiply = 2 * rows * cols * depth / flop_per_clock;
    const double tk = (double)j->set.tk;
    const bool across = j->c->windows && j->c->windows->across;
    const double slice = across ? (double)j->op->k : tk;
    const double locate =
        depth / slice *
        (m->locate_clocks +
         m->row_clocks * (across ? ROWS * (1 + (double)j->set.rn)
                                 : rows * (1 + tk / (double)j->op->k)));
    const double load =
        fmax(bytes / m->load_bytes, j->c->windows ? locate : 0);
    return fmax(multiply, load) + m->shown * fmin(multiply, load) +
           m->begin_clocks + rows * cols / m->sums_per_clock;
}

/* Set what depends on the tiles in *w. */
static void model(const struct dpas_plan *j, struct xl__cost *w)
{
    static const double ns_per_s = 1e9;
    const double n_units = (double)xl__n_units(j->l);
    const double clock = xl__rate_clock(j->l);
    const double rate =
        fmax(xl__rate_matrix_op(j->l, j->op), xl__rate_fma(j->l));
    const double tiles =
        (double)j->grid.tiles * (double)sub_groups(&j->set, j->op);
    w->fill = fmin(1, tiles / n_units);
    w->flop_frac = 1;
    w->busy_ns = ceil(tiles / n_units) *
                 tile_clocks(j, rate / (n_units * clock)) / clock * ns_per_s;
    w->bytes_frac = j->l->model.dpas->bytes_frac;
    w->serial_bytes = j->packed[0].moved_bytes + j->packed[1].moved_bytes +
                      j->copies.moved_bytes;
    w->launches =
        1 + (j->c->windows ? 1 + j->copies.launches : (unsigned)OPERANDS);
}

/* -- the plan ------------------------------------------------------------- */

/* Whether a slice of windows is of one pixel; across, whether the columns of a
 * sub-group are, and each of its items locates a window. Its registers hold 16
 * tiles of sums and what locates windows. */
static bool fits_windows(const struct dpas_plan *j)
{
    enum { MOST = 16 };
    const struct xl__windows *w = j->c->windows;
    if (w && j->set.rm * j->set.rn > MOST)
        return false;
    if (w && w->across)
        return pixel_bytes(w) % (WORD * j->set.rn * j->op->n) == 0 &&
               j->set.tk % (PAIR * j->op->lanes) == 0;
    return !w ||
           pixel_bytes(w) % (j->set.tk * xl_dtype_bytes(j->c->g.a.dtype)) == 0;
}

static bool lay_out_plan(struct dpas_plan *j)
{
    const struct xl__tile tile = tile_of(&j->set);
    const struct xl__tile_job job = {.m = j->s.m,
                                     .n = j->s.n,
                                     .k = j->c->g.k,
                                     .count = j->c->g.batch.count,
                                     .in = j->c->g.a.dtype};
    return fits(j->l, j->op, &j->set) && fits_windows(j) &&
           xl__tile_cut(j->l, &tile, &job, &j->grid) && lay_out_both(j);
}

static struct dpas_plan plan_for(const struct xl__limits *l, const void *desc,
                                 const struct xl__params *params)
{
    const struct xl__gemm_canonical *c = desc;
    return (struct dpas_plan){.l = l,
                              .op = xl__dpas_op(l, c->g.a.dtype),
                              .c = c,
                              .set = xl__dpas_set_of(params),
                              .s = orient(desc)};
}

static struct xl__cost product_cost(const xl_gemm *g)
{
    return (struct xl__cost){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g)};
}

/* Of windows, whose rows take registers of their own, two instructions along k
 * where a pixel has as many channels; across as many as an item's window. */
static void adapt(const struct xl__windows *w, const xl_matrix_op *op,
                  struct xl__params *p)
{
    enum { FEW = 4 }; /* sums that leave registers enough */
    if (!w)
        return;
    if (w->across)
        p->value[XL__GEMM_TK] = PAIR * (int)op->lanes;
    else if (pixel_bytes(w) % (2 * LINE_BYTES) == 0)
        p->value[XL__GEMM_TK] = 2 * (int)op->k;
    if (p->value[XL__DPAS_RM] * p->value[XL__DPAS_RN] > FEW)
        p->value[XL__DPAS_GRF] = XL__DPAS_ALL_REGISTERS;
}

static void choose_dpas(const struct xl__limits *l, const void *desc,
                        struct xl__params *out)
{
    static const double equal = 0.01;
    const xl_matrix_op *op = xl__dpas_op(l, ((const xl_gemm *)desc)->a.dtype);
    struct xl__best_cost best = {.ns = INFINITY};
    struct xl__params p = xl__dpas_listed(0, op);
    *out = (struct xl__params){.source = "model"}; /* plan() refuses it */
    for (size_t i = 0; p.value[XL__GEMM_TM]; p = xl__dpas_listed(++i, op)) {
        struct xl__cost w = product_cost(desc);
        adapt(xl__gemm_windows(desc), op, &p);
        struct dpas_plan j = plan_for(l, desc, &p);
        if (!lay_out_plan(&j))
            continue;
        model(&j, &w);
        if (xl__improves(l, &w, equal, &best))
            *out = p;
    }
}

static xl_status plan_dpas(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    struct dpas_plan j = plan_for(l, desc, params);
    struct xl__cost work = product_cost(desc);
    p->flop = work.flop;
    p->bytes = work.bytes;
    if (!lay_out_plan(&j))
        return XL_UNSUPPORTED;
    p->scratch_bytes = j.scratch_bytes;
    if (j.c->windows)
        xl__windows_copy(l, j.c->windows, &j.copies, p);
    add_pack(&j, &j.s.a, 0, p);
    add_pack(&j, &j.s.b, 1, p);
    add_product(&j, p);
    model(&j, &work);
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *refuse_windows(const struct xl__windows *w)
{
    if (!w)
        return NULL;
    if (pixel_bytes(w) % LINE_BYTES != 0)
        return "the channels of a pixel are no multiple of 32 bytes";
    if (span_elems(w) > UINT32_MAX / ELEM_BYTES)
        return "the images' bytes are counted in 32 bits";
    return NULL;
}

static const char *refuse_dpas(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (!l->matrix_ops || !l->model.dpas)
        return xl__dpas_refused;
    if (xl__gemm_types_refused(g))
        return xl__gemm_types_refused(g);
    if (!xl__dpas_op(l, g->a.dtype))
        return "the systolic matrix instruction multiplies f16, bf16 and i8";
    if (g->k > INT32_MAX)
        return "tiles along k are counted in 32 bits";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (g->batch.a_at || g->batch.inner > 0)
        return "operands at listed offsets, or along two axes of a batch, "
               "cannot be packed";
    return refuse_windows(xl__gemm_windows(desc));
}

const struct xl__variant xl__gemm_dpas = {
    .name = "gemm_dpas",
    .repeats = "bit for bit: each element's sum in a fixed order",
    .tunables = xl__gemm_dpas_tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = refuse_dpas,
    .choose = choose_dpas,
    .plan = plan_dpas,
};
