/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_wgmma: GEMM on matrix instructions of four sub-groups, and the plan
 * steps of gemm/nvidia/wgmma.cl, which split_wgmma.c uses too.
 *
 * Operands are read where the caller has them if they are contiguous at
 * multiples of 16 bytes: 16-bit types along k or across it, others along k.
 * Operands of another layout are first copied to be contiguous along k
 * (transpose.h). */
#include "ops/gemm/engines/wgmma.h"

#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/gemm/engines/tensor_map.h"
#include "ops/gemm/engines/wgmma_model.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/tile_plan.h"
#include "ops/gemm/transpose.h"
#include "ops/gemm/engines/windows.h"
#include "ops/path/cost.h"

enum {
    SLAB = 64,
    WORD = 4,
    ALIGN = 16,
    JOIN_WARPS = 16, /* of a group of gemm/nvidia/wgmma_join.cl */
    JOIN_BLOCK = 16  /* rows and columns that a warp joins */
};

/* -- maps ----------------------------------------------------------------- */

/* The map of one operand, of which the product has `extent` rows or columns,
 * with boxes of one element. */
static struct xl__tensor_map
operand_map(const struct xl__wgmma_job *j,
            const struct xl__wgmma_operand *operand, size_t extent)
{
    const xl_gemm *g = j->canonical;
    const struct xl__windows *w = j->a.windows;
    const size_t products = operand->step > 0 ? g->batch.count : 1;
    const size_t third = j->planes > 1 ? operand->plane : operand->step;
    struct xl__tensor_map m = {
        .dtype = j->in,
        .is_rounded = j->in == XL_F32,
        .size = {operand->across ? extent : g->k,
                 operand->across ? g->k : extent, products * j->planes},
        .stride = {1, operand->line, third > 0 ? third : operand->line},
        .box = {1, 1, 1}};
    if (w && w->taps.n > 0) {
        m.size[1] = w->taps.depth;
        m.size[2] = w->taps.n;
        m.stride[2] = w->taps.step;
    }
    return m;
}

static struct xl__tensor_map result_map(const struct xl__wgmma_tiling *v)
{
    const size_t step = v->g->batch.c_step;
    return (struct xl__tensor_map){
        .dtype = v->g->c.dtype,
        .size = {v->s.n, v->s.m, v->g->batch.count},
        .stride = {1, v->s.row_stride, step > 0 ? step : v->s.row_stride},
        .box = {SLAB, SLAB, 1}};
}

/* -- arguments ------------------------------------------------------------ */

/* Step of an operand's third coordinate from product to product; of windows,
 * in elements. */
static size_t product_step(const struct xl__wgmma_tiling *v,
                           const struct xl__wgmma_operand *operand)
{
    if (operand->windows)
        return operand->step;
    return operand->step > 0 ? v->job->planes : 0;
}

static size_t sums_offset(const struct xl__wgmma_job *j)
{
    return xl__round_up(j->taken_bytes, ALIGN) / WORD;
}

/* Warps that share the parts of a block of C, a power of two: so many that
 * each has few. */
static size_t join_sets(const struct xl__wgmma_tiling *v)
{
    enum { FEW = 4 };
    size_t sets = 1;
    while (v->is_cut && sets < JOIN_WARPS &&
           sets * FEW < xl__ceil_div(v->units, v->stream.each) + 1)
        sets *= 2;
    return sets;
}

static size_t offset_or_0(long at)
{
    return at == XL__WGMMA_NONE ? 0 : (size_t)at;
}

/* The 16 numbers of the kernel's head: gemm/nvidia/wgmma_tile.clh names
 * them. */
static void arg_head(const struct xl__wgmma_tiling *v, struct xl__step *s)
{
    enum { NUMBERS = 16 };
    const struct xl__stream_k *cut = &v->stream;
    const size_t band = v->t.band * v->tiles_n;
    const size_t last = v->tiles_m % v->t.band;
    xl__arg_words(s, NUMBERS);
    if (!v->a->windows)
        xl__arg_map_offset(s, v->a->offset, v->a->first, v->a->line);
    else if (v->a->offset == XL__WGMMA_NONE)
        xl__arg_u64(s, v->a->first);
    else
        xl__arg_value_u64(s, (unsigned)v->a->offset);
    xl__arg_map_offset(s, v->b->offset, v->b->first, v->b->line);
    if (v->form == XL__FORM_BOXES)
        xl__arg_map_offset(s, XL__GEMM_OFF_C, 0, v->s.row_stride);
    else
        xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, xl__pack_words(v->m, v->n));
    xl__arg_u64(s, xl__pack_words(v->tiles, v->units));
    xl__arg_u64(s, xl__pack_words(v->tiles_m, v->tiles_n));
    xl__arg_u64(s, xl__pack_words(xl__inverse_32(band),
                                  xl__inverse_32(last > 0 ? last : 1)));
    xl__arg_u64(s,
                xl__pack_words(product_step(v, v->a), product_step(v, v->b)));
    xl__arg_u64(s, v->s.row_stride);
    xl__arg_u64(s, xl__pack_words(cut->whole, cut->groups));
    xl__arg_u64(s, xl__pack_words(cut->each, cut->extra));
    xl__arg_u64(s, sums_offset(v->job));
    xl__arg_u64(s, offset_or_0(v->job->at_rows));
    xl__arg_u64(s, offset_or_0(v->job->at_cols));
    xl__arg_u64(s, offset_or_0(v->job->at_flag));
    xl__arg_u64(s, join_sets(v));
}

static void arg_operand(const struct xl__wgmma_tiling *v,
                        const struct xl__wgmma_operand *operand, size_t extent,
                        size_t lines, struct xl__step *s)
{
    struct xl__tensor_map m = operand_map(v->job, operand, extent);
    m.box[0] = operand->across ? SLAB : v->t.bk;
    m.box[1] = operand->across ? v->t.bk : lines;
    xl__arg_mem(s, operand->mem);
    if (operand->windows)
        xl__arg_windows(s, operand->windows, v->t.bk);
    else
        xl__arg_tensor_map(s, &m, operand->offset, operand->first);
}

/* The arguments from C on; maps: C has a map. */
static void arg_result(const struct xl__wgmma_tiling *v, bool maps,
                       struct xl__step *s)
{
    const struct xl__wgmma_job *j = v->job;
    const struct xl__tensor_map c = result_map(v);
    xl__arg_mem(s, XL__GEMM_C);
    if (maps)
        xl__arg_tensor_map(s, &c, XL__GEMM_OFF_C, 0);
    if (xl__wgmma_has_residues(v))
        xl__arg_residues(s, v->a->windows, v->t.bk);
    if (v->is_cut || j->at_rows != XL__WGMMA_NONE ||
        j->at_flag != XL__WGMMA_NONE)
        xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__gemm_arg_last(s, j->canonical, v->s.is_swapped);
}

/* -- steps ---------------------------------------------------------------- */

static struct xl__step *add_step(const struct xl__wgmma_tiling *v,
                                 const char *source, const char *kernel,
                                 struct xl__plan *p)
{
    struct xl__step *s = xl__plan_add(p, source, kernel, 0, 0);
    const struct xl__defined defines[] = {
        {"TM", v->t.bm},
        {"TN", v->t.bn},
        {"TK", v->t.bk},
        {"ST", v->t.stages},
        {"GR", v->t.band},
        {"TI", v->job->in},
        {"UA", v->a->across},
        {"UB", v->b->across},
        {"FORM", v->form},
        {"VC", xl__wgmma_width(v)},
        {"PLANES", v->job->planes},
        {"PROMOTE", v->job->promotes /* NV-41 */},
        {"SCALES", v->job->at_rows != XL__WGMMA_NONE},
        {"FLAG", v->job->at_flag != XL__WGMMA_NONE},
        {"TURNED", v->t.is_swapped},
        {"CUT", v->is_cut},
    };
    s->slice_dim = -1;
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    if (v->a->windows)
        xl__windows_define(s, v->a->windows);
    xl__gemm_define(s, v->job->canonical, v->s.is_swapped);
    return s;
}

static void add_tiles(const struct xl__limits *l,
                      const struct xl__wgmma_tiling *v, struct xl__plan *p)
{
    struct xl__step *s = add_step(v, "gemm/nvidia/wgmma.cl", "gemm_wgmma", p);
    s->target = v->op->target;
    s->local[0] = xl__wgmma_items(v);
    s->global[0] = xl__wgmma_groups(l, v) * s->local[0];
    s->local_mem_bytes = xl__wgmma_local_bytes(v);
    arg_head(v, s);
    arg_operand(v, v->a, v->m, v->t.bm, s);
    arg_operand(v, v->b, v->n, v->t.bn, s);
    arg_result(v, v->form == XL__FORM_BOXES, s);
    const struct xl__tile_grid grid = {v->tiles_m, v->tiles_n, v->tiles,
                                       v->units,   v->is_cut,  v->stream};
    p->tiling = xl__tile_describe(
        s, &grid,
        (xl_tiling){.rows = v->t.bm,
                    .cols = v->t.bn,
                    .m = v->m,
                    .n = v->n,
                    .band = v->t.band,
                    .is_swapped = v->t.is_swapped != v->s.is_swapped});
}

/* The join stores to C by its offset, whatever FORM the tiles' kernel has. */
static void add_join(const struct xl__wgmma_tiling *v, struct xl__plan *p)
{
    enum { KEPT = 2048, LANES = 32 }; /* bytes, items of a warp */
    const size_t warps = v->stream.tiles * (v->t.bm / JOIN_BLOCK) *
                         xl__ceil_div(v->t.bn, JOIN_BLOCK) * join_sets(v);
    struct xl__wgmma_tiling by_value = *v;
    by_value.form = XL__FORM_VALUES;
    struct xl__step *s =
        add_step(&by_value, "gemm/nvidia/wgmma_join.cl", "gemm_wgmma_join", p);
    s->is_aid = true;
    s->local[0] = JOIN_WARPS * LANES;
    s->global[0] = xl__ceil_div(warps, JOIN_WARPS) * s->local[0];
    s->local_mem_bytes = JOIN_WARPS * KEPT;
    arg_head(&by_value, s);
    arg_result(v, false, s);
}

/* -- what is supported ---------------------------------------------------- */

static const char *map_refused(const struct xl__limits *l,
                               const struct xl__wgmma_operand *operand,
                               size_t extent, const struct xl__wgmma_job *j)
{
    if (operand->windows)
        return NULL;
    const struct xl__tensor_map m = operand_map(j, operand, extent);
    return xl__tensor_map_refused(
        &m, xl__num_or(l, XL__F_max_alloc_bytes, INFINITY));
}

const xl_matrix_op *xl__wgmma_op(const struct xl__limits *l, xl_dtype in)
{
    return l->model.wgmma ? xl__find_matrix_op(l, "wgmma", in, in) : NULL;
}

const char *xl__wgmma_refused(const struct xl__limits *l,
                              const struct xl__wgmma_job *j)
{
    const xl_gemm *g = j->canonical;
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    const bool is_wide = xl_dtype_bytes(j->in) == 2;
    const char *why;
    if (!xl__wgmma_op(l, j->in))
        return "the device has no matrix instructions of four sub-groups for "
               "this type";
    if (g->batch.a_at)
        return "batches by lists of offsets are not supported; gemm_mma "
               "supports them";
    if (g->batch.inner > 0)
        return "batches along two axes with different steps are not "
               "supported; gemm_mma supports them";
    if (g->a.mem.svm || g->b.mem.svm || g->c.mem.svm)
        return "tensor maps require buffers, not SVM; gemm_mma supports SVM";
    if (s.col_stride != 1)
        return "neither rows nor columns of C are contiguous";
    if (!is_wide && (j->a.across || j->b.across))
        return "operands of this type must be contiguous along k";
    why = map_refused(l, &j->a, s.m, j);
    return why ? why : map_refused(l, &j->b, s.n, j);
}

xl_status xl__wgmma_add(const struct xl__limits *l,
                        const struct xl__wgmma_job *job,
                        const struct xl__params *params, struct xl__plan *p,
                        double *ns, const char **bound)
{
    const struct xl__wgmma_tile t = xl__wgmma_tile_of(params);
    struct xl__wgmma_tiling v;
    if (t.bm == 0 || !xl__wgmma_tiling_init(l, job, &t, &v) ||
        p->n_steps + 1 + v.is_cut > XL__MAX_STEPS)
        return XL_UNSUPPORTED;
    if (v.form == XL__FORM_BOXES) {
        const struct xl__tensor_map c = result_map(&v);
        if (xl__tensor_map_refused(
                &c, xl__num_or(l, XL__F_max_alloc_bytes, INFINITY)))
            return XL_UNSUPPORTED;
    }
    add_tiles(l, &v, p);
    if (v.is_cut)
        add_join(&v, p);
    p->scratch_bytes = xl__max_size(p->scratch_bytes, job->taken_bytes);
    if (v.is_cut)
        p->scratch_bytes =
            xl__max_size(p->scratch_bytes,
                         sums_offset(job) * WORD + xl__wgmma_sums_bytes(&v));
    *ns = xl__wgmma_ns(l, &v, bound);
    return XL_OK;
}

/* -- gemm_wgmma ----------------------------------------------------------- */

/* A product and the copies before it. */
struct wgmma_product {
    struct xl__wgmma_job job;
    struct xl__gemm_transpose copy[2]; /* of A, of B */
    bool is_copied[2];
    struct xl__window_copies windows;
};

/* Can the instruction read the operand where it is? */
static bool is_readable(const xl_gemm *g, const struct xl__gemm_operand *s)
{
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(s);
    const size_t elem = xl_dtype_bytes(g->a.dtype);
    return s->aligned * elem % ALIGN == 0 && s->aligned > 0 &&
           (unit == XL__UNIT_ALONG_K ||
            (unit == XL__UNIT_ACROSS && elem == 2));
}

static struct xl__wgmma_operand
direct_operand(const struct xl__gemm_operand *s, size_t step)
{
    const bool across = xl__gemm_operand_unit(s) == XL__UNIT_ACROSS;
    return (struct xl__wgmma_operand){.mem = s->mem,
                                      .offset = (int)s->offset,
                                      .across = across,
                                      .line =
                                          across ? s->stride_k : s->stride_x,
                                      .step = step};
}

static struct xl__wgmma_operand
transposed_operand(const struct xl__gemm_transpose *t)
{
    return (struct xl__wgmma_operand){.mem = XL__MEM_SCRATCH,
                                      .offset = XL__WGMMA_NONE,
                                      .first = t->first,
                                      .line = t->line,
                                      .step = t->step};
}

/* Windows of images, and filters, that are copied. */
static void use_copies(const struct xl__windows *w, size_t k,
                       struct wgmma_product *out)
{
    struct xl__wgmma_operand *const a = &out->job.a, *const b = &out->job.b;
    struct xl__wgmma_operand *const images = w->across ? b : a;
    struct xl__wgmma_operand *const other = w->across ? a : b;
    out->windows = xl__windows_place(w, 0);
    out->job.taken_bytes = out->windows.end_bytes;
    images->windows = w;
    if (w->images.n > 0) {
        images->mem = XL__MEM_SCRATCH;
        images->offset = XL__WGMMA_NONE;
        images->first = out->windows.images;
    }
    if (w->filters.n > 0)
        *other =
            (struct xl__wgmma_operand){.mem = XL__MEM_SCRATCH,
                                       .offset = XL__WGMMA_NONE,
                                       .first = out->windows.filters,
                                       .across = w->across,
                                       .line = w->across ? w->filters.c : k,
                                       .step = other->step};
}

static bool is_f8(xl_dtype dtype)
{
    return dtype == XL_F8E4M3 || dtype == XL_F8E5M2;
}

/* Returns false if a copy does not fit into a buffer. */
static bool prepare_operands(const struct xl__limits *l, const void *desc,
                             struct wgmma_product *out)
{
    const xl_gemm *g = desc;
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    const struct xl__gemm_operand *operand[] = {&s.a, &s.b};
    const size_t step[] = {s.is_swapped ? g->batch.b_step : g->batch.a_step,
                           s.is_swapped ? g->batch.a_step : g->batch.b_step};
    struct xl__wgmma_operand *to[] = {&out->job.a, &out->job.b};
    const struct xl__windows *w = xl__gemm_windows(desc);
    *out = (struct wgmma_product){
        .job = {.canonical = desc,
                .in = g->a.dtype,
                .planes = 1,
                .promotes =
                    is_f8(g->a.dtype) && g->accuracy == XL_ACCURACY_FULL,
                .at_rows = XL__WGMMA_NONE,
                .at_cols = XL__WGMMA_NONE,
                .at_flag = XL__WGMMA_NONE}};
    for (unsigned i = 0; i < 2; i++) {
        out->is_copied[i] = !w && !is_readable(g, operand[i]);
        if (!out->is_copied[i]) {
            *to[i] = direct_operand(operand[i], step[i]);
            continue;
        }
        if (!xl__gemm_transpose_layout(l, desc, operand[i],
                                       out->job.taken_bytes, &out->copy[i]))
            return false;
        out->job.taken_bytes = out->copy[i].end_bytes;
        *to[i] = transposed_operand(&out->copy[i]);
    }
    if (w)
        use_copies(w, g->k, out);
    return true;
}

static const char *refuse_wgmma(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    const struct xl__windows *w = xl__gemm_windows(desc);
    struct wgmma_product p;
    const char *why;
    if (w && w->of_b != w->across)
        return "it gathers windows as rows of A and of B alone";
    if (g->a.dtype == XL_F64)
        return "f64 is not supported on the matrix engine";
    if (g->a.dtype == XL_F32 && g->accuracy != XL_ACCURACY_FAST)
        return "f32 would be rounded to 11 bits: XL_ACCURACY_FAST allows it";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (xl__gemm_types_refused(g))
        return xl__gemm_types_refused(g);
    why = xl__gemm_transpose_refused(l, g);
    if (!prepare_operands(l, desc, &p))
        return why ? why : "a copy along k does not fit into a buffer";
    if (why && (p.is_copied[0] || p.is_copied[1]))
        return why;
    return xl__wgmma_refused(l, &p.job);
}

static void choose_wgmma(const struct xl__limits *l, const void *desc,
                         struct xl__params *out)
{
    struct wgmma_product p;
    *out = (struct xl__params){.source = "model"};
    if (prepare_operands(l, desc, &p))
        xl__wgmma_choose(l, &p.job, out);
}

/* Time of the launches before, and of the product's first launch. */
static double copies_ns(const struct xl__limits *l,
                        const struct wgmma_product *p)
{
    const struct xl__cost work = {
        .flop_frac = 1,
        .bytes_frac = 1,
        .fill = 1,
        .serial_bytes = p->copy[0].moved_bytes + p->copy[1].moved_bytes +
                        p->windows.moved_bytes,
        .launches =
            1U + p->is_copied[0] + p->is_copied[1] + p->windows.launches};
    const char *bound;
    return xl__work_ns(l, &work, &bound);
}

static xl_status plan_wgmma(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(desc);
    struct wgmma_product before;
    double ns;
    if (!prepare_operands(l, desc, &before))
        return XL_UNSUPPORTED;
    if (before.is_copied[0])
        xl__gemm_transpose_add(desc, &s.a, &before.copy[0], p);
    if (before.is_copied[1])
        xl__gemm_transpose_add(desc, &s.b, &before.copy[1], p);
    if (xl__gemm_windows(desc))
        xl__windows_copy(l, xl__gemm_windows(desc), &before.windows, p);
    const xl_status status =
        xl__wgmma_add(l, &before.job, params, p, &ns, &p->bound);
    if (status != XL_OK)
        return status;
    p->flop = xl__gemm_flop(desc);
    p->bytes = xl__gemm_bytes(desc);
    p->est_ns = ns + copies_ns(l, &before);
    return XL_OK;
}

const struct xl__variant xl__gemm_wgmma = {
    .name = "gemm_wgmma",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__gemm_wgmma_tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = refuse_wgmma,
    .choose = choose_wgmma,
    .plan = plan_wgmma,
    .own = &(const struct xl__gemm_variant){.has_plain = true},
};
