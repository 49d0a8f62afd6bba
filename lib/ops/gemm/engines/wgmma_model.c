/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_wgmma's tiles and the model that chooses one. The time of a product is
 * the larger of the bytes that memory must move and
 *
 *   rounds of tiles x (stages x stage + storing C)
 *   stage = the slower of instructions with local memory, and loads
 *
 * where those that overlap slow each other down as they come close.
 */
#include "ops/gemm/engines/wgmma_model.h"

#include <math.h>

#include "base/alloc.h"
#include "ops/gemm/engines/windows.h"
#include "ops/path/cost.h"

const struct xl__tunable xl__gemm_wgmma_tunables[] = {
    {"TM", "rows of a tile, 64 to four warps", {64, 128, 192, 0}},
    {"TN",
     "columns of it",
     {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224,
      240, 256, 0}},
    {"TK", "depth of a stage: 128 bytes of elements", {32, 64, 128, 0}},
    {"ST",
     "stages kept in local memory",
     {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0}},
    {"GR", "tile rows of a band", {1, 2, 4, 8, 12, 16, 0}},
    {"PARTS",
     "1 whole tiles; 2: the last round's stages are divided among all groups",
     {1, 2, 0}},
    {"TURN", "2: rows of the tile are columns of C", {1, 2, 0}},
    {NULL, NULL, {0}},
};
enum { AT_ST = XL__GEMM_TK + 1, AT_GR, AT_PARTS, AT_TURN };

enum {
    LINE_BYTES = 128,
    SLAB = 64,     /* columns of a box across k: a cache line of f16 */
    SUBGROUPS = 4, /* of an instruction */
    MOST_STAGES = 12,
    LEAST_STAGES = 2,
    MOST_PARTS = 2,
    LEAST_UNITS = 4 /* least stages for which a partial sum is worth storing */
};

struct xl__wgmma_tile xl__wgmma_tile_of(const struct xl__params *params)
{
    const int *v = params->value;
    return (struct xl__wgmma_tile){.bm = (size_t)v[XL__GEMM_TM],
                                   .bn = (size_t)v[XL__GEMM_TN],
                                   .bk = (size_t)v[XL__GEMM_TK],
                                   .stages = (size_t)v[AT_ST],
                                   .band = (size_t)v[AT_GR],
                                   .parts = (size_t)v[AT_PARTS],
                                   .is_swapped = v[AT_TURN] == 2};
}

static struct xl__params params_of(const struct xl__wgmma_tile *t)
{
    struct xl__params p = {.source = "model"};
    p.value[XL__GEMM_TM] = (int)t->bm;
    p.value[XL__GEMM_TN] = (int)t->bn;
    p.value[XL__GEMM_TK] = (int)t->bk;
    p.value[AT_ST] = (int)t->stages;
    p.value[AT_GR] = (int)t->band;
    p.value[AT_PARTS] = (int)t->parts;
    p.value[AT_TURN] = t->is_swapped ? 2 : 1;
    return p;
}

/* -- what a tile takes ---------------------------------------------------- */

/* Registers of an item that hold sums. */
static size_t sum_registers(const struct xl__wgmma_tiling *v)
{
    return v->t.bn / 2 * (v->job->promotes ? 2 : 1);
}

/* MORE of gemm/nvidia/wgmma.cl: do consumers get registers of a producer of
 * four warps? */
static bool has_register_transfer(const struct xl__wgmma_tiling *v)
{
    enum { MANY_OF_2 = 64, MANY_OF_3 = 48 };
    const bool by_value = v->form == XL__FORM_VALUES;
    if (v->t.bm == 2 * v->op->m)
        return (by_value || xl__gemm_epilogue_text(v->job->canonical)) &&
               sum_registers(v) > MANY_OF_2;
    return by_value && v->t.bm == 3 * v->op->m &&
           sum_registers(v) > MANY_OF_3;
}

/* Do the sums leave enough registers for the rest? The limit depends on the
 * warps of the group and on the registers that the producer gives up. */
static bool registers_fit(const struct xl__wgmma_tiling *v)
{
    enum {
        OF_1 = 192,
        OF_2 = 128,
        OF_3 = 96,
        MORE_OF_2 = 192,
        MORE_OF_3 = 96,
        INT_ROWS_OF_2 = 96,
        BESIDE_EPILOGUE = 64,
        BESIDE_WINDOWS = 80,
        BESIDE_COLUMNS = 120
    };
    const size_t held = sum_registers(v);
    if (v->a->windows && v->t.bm == 3 * v->op->m &&
        (has_register_transfer(v) || held > BESIDE_WINDOWS))
        return false;
    if (v->t.bm == 3 * v->op->m && xl__gemm_epilogue_text(v->job->canonical))
        return held <= BESIDE_EPILOGUE;
    if (v->t.bm == v->op->m)
        return held <= (v->a->windows && v->a->across ? BESIDE_COLUMNS : OF_1);
    /* Sums in i32 become floats for the epilogue. */
    if (v->t.bm == 2 * v->op->m && v->form == XL__FORM_ROWS &&
        v->job->in == XL_I8 && xl__gemm_epilogue_text(v->job->canonical))
        return held <= INT_ROWS_OF_2;
    if (v->t.bm == 2 * v->op->m)
        return held <= (v->form == XL__FORM_VALUES && has_register_transfer(v)
                            ? MORE_OF_2
                            : OF_2);
    return held <= (has_register_transfer(v) ? MORE_OF_3 : OF_3);
}

/* PRODUCERS of gemm/nvidia/wgmma.cl. */
static size_t producers(const struct xl__wgmma_tiling *v)
{
    enum { FEW_SUMS = 64 };
    if (v->a->windows &&
        (v->t.bm == v->op->m ||
         (v->t.bm == 2 * v->op->m && v->form != XL__FORM_VALUES &&
          sum_registers(v) <= FEW_SUMS)))
        return 2 * v->op->lanes;
    return v->a->windows || has_register_transfer(v)
               ? v->op->lanes
               : v->op->lanes / SUBGROUPS;
}

size_t xl__wgmma_items(const struct xl__wgmma_tiling *v)
{
    return v->t.bm / v->op->m * v->op->lanes + producers(v);
}

static size_t stage_bytes(const struct xl__wgmma_tiling *v)
{
    const size_t columns =
        v->b->across ? xl__round_up(v->t.bn, SLAB) : v->t.bn;
    return v->job->planes * (v->t.bm + columns) * LINE_BYTES;
}

/* KEPT_OPERANDS of gemm/nvidia/wgmma_ring.clh. */
static size_t kept_operands(const struct xl__wgmma_tiling *v)
{
    enum { ITEMS = 128, MOST = 12 };
    const size_t n = xl__epilogue_fetched(
        xl__gemm_epilogue_text(v->job->canonical), v->s.is_swapped);
    return v->form != XL__FORM_VALUES &&
                   n * xl__ceil_div(v->t.bn, ITEMS) <= MOST
               ? n
               : 0;
}

static size_t local_bytes(const struct xl__wgmma_tiling *v, size_t stages)
{
    enum {
        KEPT = 8192,   /* of four warps */
        BARRIERS = 16, /* of a stage */
        WORD = 4       /* of an operand */
    };
    const size_t groups = v->t.bm / v->op->m;
    return stages * (stage_bytes(v) + BARRIERS) +
           (v->form == XL__FORM_BOXES ? v->t.bm * v->t.bn * 2
                                      : groups * KEPT) +
           kept_operands(v) * groups * v->t.bn * WORD;
}

size_t xl__wgmma_local_bytes(const struct xl__wgmma_tiling *v)
{
    return local_bytes(v, v->t.stages);
}

static size_t most_stages(const struct xl__limits *l,
                          const struct xl__wgmma_tiling *v)
{
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    size_t n = MOST_STAGES;
    while (n > 0 && local_bytes(v, n) > room)
        n--;
    return n;
}

/* -- C -------------------------------------------------------------------- */

/* Can an item apply the epilogue to its sums in registers? Its code is
 * repeated for each sum and must fit into the instruction cache; of its
 * operands, which are a row or a column, the two elements beside each other of
 * an item suffice (NV-54). */
static bool is_short_epilogue(const struct xl__wgmma_tiling *v,
                              const struct xl__epilogue_text *s)
{
    const double most = 4096; /* instructions */
    if (!s)
        return true;
    for (unsigned k = 0; k < s->n_operands; k++) {
        const size_t *stride = s->operand[k].stride;
        if (stride[XL__ALONG_ROWS] > 0 && stride[XL__ALONG_COLS] > 0)
            return false;
    }
    return s->flop * (double)v->t.bn / 2 <= most;
}

bool xl__wgmma_has_residues(const struct xl__wgmma_tiling *v)
{
    return v->a->windows && v->a->windows->n_residues > 0;
}

/* Choose the FORM: by the rows of C and what is computed of its elements. */
static enum xl__wgmma_form choose_form(const struct xl__wgmma_tiling *v)
{
    enum { NARROW = 64, CHUNK = 8, PAIR = 16 };
    const xl_dtype c = v->g->c.dtype;
    const bool is_plain =
        (c == XL_F16 || c == XL_BF16) && v->g->beta == 0 && !v->t.is_swapped &&
        v->job->at_rows == XL__WGMMA_NONE &&
        is_short_epilogue(v, xl__gemm_epilogue_text(v->job->canonical)) &&
        v->s.c_aligned >= CHUNK &&
        v->n % CHUNK == 0; /* boxes are clipped by 16 bytes: NV-32 */
    if (is_plain && v->t.bn % SLAB == 0 && v->t.bn > NARROW &&
        !xl__wgmma_has_residues(v))
        return XL__FORM_BOXES;
    if (is_plain && v->t.bn % PAIR == 0)
        return XL__FORM_ROWS;
    return is_plain && v->t.bn % SLAB == 0 ? XL__FORM_BOXES : XL__FORM_VALUES;
}

size_t xl__wgmma_width(const struct xl__wgmma_tiling *v)
{
    /* BYTES limits the width, and FEW where an item has few registers. */
    enum { BYTES = 16, MOST = 8, FEW = 4, PAIR = 2 };
    if (v->form != XL__FORM_VALUES)
        return PAIR; /* adjacent sums of an item */
    const size_t elem = xl_dtype_bytes(v->g->c.dtype);
    const bool is_few = elem == 1 || v->t.bm == 3 * v->op->m;
    size_t width = xl__min_size(is_few ? FEW : MOST, BYTES / elem);
    while (width > 1 &&
           (v->s.c_aligned % width != 0 || v->s.n % width != 0))
        width /= 2;
    return width;
}

/* -- how a product falls into tiles --------------------------------------- */

static bool is_listed(const struct xl__wgmma_tiling *v)
{
    const struct xl__params p = params_of(&v->t);
    for (unsigned i = 0; xl__gemm_wgmma_tunables[i].name; i++) {
        const int *legal = xl__gemm_wgmma_tunables[i].legal;
        while (*legal && *legal != p.value[i])
            legal++;
        if (!*legal)
            return false;
    }
    return v->t.bm % v->op->m == 0 && v->t.bn % v->op->n == 0 &&
           v->t.bn <= v->op->n_most &&
           v->t.bk * xl_dtype_bytes(v->job->in) == LINE_BYTES;
}

/* Give each cut tile the same number of parts where that takes little longer
 * than an even share, NV-72: then the groups of one part read the same k of
 * all tiles at the same time, and the cache reads a line once for several of
 * them. The last part of a tile may have stages behind k, which add 0. */
static void align_parts(struct xl__wgmma_tiling *v)
{
    enum { SLACK = 16 };
    struct xl__stream_k *s = &v->stream;
    if (s->whole > 0 || s->groups < 2 * s->tiles)
        return;
    const size_t longest = s->each + (s->extra > 0);
    const size_t each = xl__ceil_div(v->units, s->groups / s->tiles);
    if (each < LEAST_UNITS || each > longest + longest / SLACK)
        return;
    v->units = s->units = xl__round_up(v->units, each);
    s->each = each;
    s->extra = 0;
    s->groups = s->tiles * (v->units / each);
}

/* The kernel counts in 32 bits, coordinates have 31. */
static bool count_tiles(const struct xl__limits *l, struct xl__wgmma_tiling *v)
{
    size_t slices;
    const size_t k = v->g->k;
    if (xl__max_size(v->m, xl__max_size(v->n, k)) > INT32_MAX / 2)
        return false;
    v->tiles_m = xl__ceil_div(v->m, v->t.bm);
    v->tiles_n = xl__ceil_div(v->n, v->t.bn);
    v->units = xl__ceil_div(k, v->t.bk);
    if (!xl__mul(v->tiles_m, v->tiles_n, &v->tiles) ||
        !xl__mul(v->tiles, v->g->batch.count, &v->tiles) ||
        !xl__mul(v->tiles, v->units, &slices) ||
        v->tiles > INT32_MAX / v->t.band ||
        v->tiles_n > INT32_MAX / v->t.band)
        return false;
    v->is_cut = v->t.parts > 1;
    if (!v->is_cut)
        return true;
    if (xl__wgmma_has_residues(v))
        return false; /* their tiles differ in depth */
    v->stream = xl__stream_k_divide(v->tiles, v->units,
                                    xl__size_or(l, XL__F_compute_units, 1),
                                    LEAST_UNITS);
    align_parts(v);
    return v->stream.tiles * v->units <= INT32_MAX &&
           (double)xl__wgmma_sums_bytes(v) <=
               xl__num_or(l, XL__F_max_alloc_bytes, INFINITY);
}

bool xl__wgmma_tiling_init(const struct xl__limits *l,
                           const struct xl__wgmma_job *job,
                           const struct xl__wgmma_tile *t,
                           struct xl__wgmma_tiling *out)
{
    const xl_gemm *g = job->canonical;
    *out = (struct xl__wgmma_tiling){.job = job,
                                     .op = xl__wgmma_op(l, job->in),
                                     .g = g,
                                     .s = xl__gemm_orient(g),
                                     .t = *t};
    if (!out->op)
        return false;
    out->a = t->is_swapped ? &job->b : &job->a;
    out->b = t->is_swapped ? &job->a : &job->b;
    out->m = t->is_swapped ? out->s.n : out->s.m;
    out->n = t->is_swapped ? out->s.m : out->s.n;
    out->form = choose_form(out);
    return is_listed(out) && !xl__is_refused(l, t->bm, t->bn) &&
           !out->b->windows && registers_fit(out) &&
           t->stages <= most_stages(l, out) && count_tiles(l, out);
}

size_t xl__wgmma_groups(const struct xl__limits *l,
                        const struct xl__wgmma_tiling *v)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    if (!v->is_cut)
        return xl__min_size(v->tiles,
                            l->case_groups > 0 ? l->case_groups : units);
    return xl__max_size(v->stream.groups,
                        xl__min_size(v->stream.whole, units));
}

size_t xl__wgmma_sums_bytes(const struct xl__wgmma_tiling *v)
{
    return v->is_cut ? xl__stream_k_slots(&v->stream) * v->t.bm * v->t.bn *
                           sizeof(float)
                     : 0;
}

/* -- the model ------------------------------------------------------------ */

/* Fraction of tiles that begin inside a line of 64 columns, where that makes
 * loads slower: across k, where boxes of B then touch two lines, and along k
 * where the last tile's columns end outside (NV-78). */
static double uneven_frac(const struct xl__wgmma_tiling *v)
{
    const size_t step = v->t.bn & (~v->t.bn + 1); /* the largest power of
                                                     two in it */
    return (v->b->across || v->n % v->t.bn > 0) && step < SLAB
               ? 1 - (double)step / SLAB
               : 0;
}

/* Lines of an operand's box that are outside of it in every tile. */
static double outside_lines(const struct xl__wgmma_operand *operand,
                            size_t lines, size_t box)
{
    return operand->across || operand->windows || lines >= box
               ? 0
               : (double)(box - lines);
}

/* Clocks of one stage of a tile. Instructions read A's rows and B from
 * local memory each time; A that lies along k costs more (NV-79). */
static double stage_clocks(const struct xl__wgmma_model *c,
                           const struct xl__wgmma_tiling *v)
{
    enum { TERMS_OF = 2 };
    const double bm = (double)v->t.bm, bn = (double)v->t.bn;
    const double rows = (double)v->op->m;
    const double planes = (double)v->job->planes;
    const double multiply =
        2 * bm * bn * (double)v->t.bk / v->op->flop_per_clock;
    const double operand_bytes = bm / rows * (rows + bn) * LINE_BYTES;
    const double slower_bytes =
        v->a->across ? 0 : bm * LINE_BYTES * (c->rows_cost - 1);
    const double operands = (operand_bytes + slower_bytes) / c->operand_bytes;
    if (v->a->windows)
        return fmax(multiply, c->gather_clocks +
                                  (operand_bytes + (double)stage_bytes(v)) /
                                      c->gather_local_bytes);
    const double compute =
        planes * (planes + 1) / TERMS_OF * fmax(multiply, operands);
    const double load =
        (double)stage_bytes(v) /
            (c->load_bytes * (1 - c->uneven_cost * uneven_frac(v))) +
        c->outside_clocks * (outside_lines(v->a, v->m, v->t.bm) +
                             outside_lines(v->b, v->n, v->t.bn));
    return xl__overlap_ns(compute, load, c->blend) *
           (v->t.bm == v->op->m ? c->no_overlap : 1) *
           (v->job->promotes ? c->promotion : 1);
}

/* Clocks of storing a tile's sums to C. */
static double store_clocks(const struct xl__wgmma_model *c,
                           const struct xl__wgmma_tiling *v)
{
    const struct xl__epilogue_text *snippet =
        xl__gemm_epilogue_text(v->job->canonical);
    const double sums = (double)(v->t.bm * v->t.bn);
    const double groups = (double)(v->t.bm / v->op->m);
    const double of_item = (double)v->t.bn / 2;
    const double epilogue = snippet ? of_item * snippet->flop *
                                          c->epilogue_clocks *
                                          (groups + c->epilogue_waits)
                                    : 0;
    if (v->form != XL__FORM_VALUES)
        return sums / c->boxes_sums + epilogue;
    return c->values_clocks +
           sums * (v->t.is_swapped ? 2 : 1) / c->values_sums + epilogue;
}

/* Clocks in which the cache supplies what all units gather. */
static double gather_clocks(const struct xl__wgmma_model *c,
                            const struct xl__wgmma_tiling *v, double n_cus)
{
    return v->a->windows ? (double)(v->tiles * v->units * stage_bytes(v)) /
                               (c->gather_cache_bytes * n_cus)
                         : 0;
}

/* Clocks of the group with the most tiles. */
static double group_clocks(const struct xl__wgmma_model *c,
                           const struct xl__wgmma_tiling *v, double n_cus)
{
    const double stage = stage_clocks(c, v), store = store_clocks(c, v);
    const double tile = (double)v->units * stage + store;
    const struct xl__stream_k *s = &v->stream;
    if (xl__wgmma_has_residues(v)) {
        /* The deepest tile, or an even share of all. */
        const struct xl__windows *w = v->a->windows;
        const double stages = (double)(w->residue[0].r * w->residue[0].s) *
                              ceil((double)w->taps.padded / (double)v->t.bk);
        return fmax(stages * stage + store, (double)v->tiles / n_cus * tile);
    }
    if (!v->is_cut)
        return ceil((double)v->tiles / n_cus) * tile;
    const double sums = (double)(v->t.bm * v->t.bn);
    const double stages = (double)(s->each + (s->extra > 0));
    const double parts = 1 + stages / (double)v->units;
    return (double)s->whole / n_cus * tile + stages * stage +
           parts * sums / c->part_sums;
}

static double again_bytes(const struct xl__limits *l,
                          const struct xl__wgmma_tiling *v)
{
    const xl_gemm *g = v->g;
    const size_t line = g->k * g->batch.count * xl_dtype_bytes(v->job->in);
    return xl__tile_again_bytes(
        l, (double)(v->tiles * v->units * stage_bytes(v)),
        (double)(v->m + v->n) * (double)line, xl__gemm_bytes(g));
}

double xl__wgmma_ns(const struct xl__limits *l,
                    const struct xl__wgmma_tiling *v, const char **bound)
{
    static const double ns_per_s = 1e9;
    const struct xl__wgmma_model *c = l->model.wgmma;
    const double units = (double)xl__n_units(l);
    const double rate = xl__rate_matrix(l, v->op->a);
    const double clock_ns =
        rate > 0 ? ns_per_s * units * v->op->flop_per_clock / rate : 1;
    const double all = v->is_cut ? c->cut_cost : 1;
    const double tile_bytes = (double)(v->t.bm * v->t.bn) * sizeof(float);
    struct xl__cost work = {
        .busy_ns = all * clock_ns *
                   fmax(group_clocks(c, v, units), gather_clocks(c, v, units)),
        .bytes =
            all * (xl__gemm_bytes(v->g) + (v->is_cut ? again_bytes(l, v) : 0)),
        .bytes_frac =
            c->bytes_frac *
            xl__fill(l, (double)xl__wgmma_groups(l, v) / c->enough_units),
        .overlap = c->blend};
    if (v->is_cut) {
        work.serial_bytes =
            2 * (double)xl__stream_k_written(&v->stream) * tile_bytes;
        work.serial_ns = c->join_clocks * clock_ns;
    }
    return xl__work_ns(l, &work, bound);
}

/* -- choosing ------------------------------------------------------------- */

struct wgmma_search {
    const struct xl__limits *l;
    const struct xl__wgmma_job *job;
    struct xl__wgmma_tile best;
    double ns; /* of `best`; 0: none yet */
};

static void consider_tile(struct wgmma_search *s, struct xl__wgmma_tile *t)
{
    struct xl__wgmma_tiling v;
    const char *bound;
    t->stages = LEAST_STAGES;
    if (!xl__wgmma_tiling_init(s->l, s->job, t, &v))
        return;
    /* Narrow tiles are for products with a narrow dimension. */
    const size_t rows = v.op->m;
    if (t->bn < rows && v.n > t->bn && v.m > rows && v.n > rows)
        return;
    t->stages = v.t.stages = most_stages(s->l, &v);
    const double ns = xl__wgmma_ns(s->l, &v, &bound);
    if (s->ns > 0 && ns >= s->ns)
        return;
    s->ns = ns;
    s->best = *t;
}

void xl__wgmma_choose(const struct xl__limits *l,
                      const struct xl__wgmma_job *job, struct xl__params *out)
{
    struct wgmma_search s = {.l = l, .job = job};
    const int *rows = xl__gemm_wgmma_tunables[XL__GEMM_TM].legal;
    const int *columns = xl__gemm_wgmma_tunables[XL__GEMM_TN].legal;
    for (unsigned i = 0; rows[i]; i++) {
        for (unsigned j = 0; columns[j]; j++) {
            struct xl__wgmma_tile t = {
                .bm = (size_t)rows[i], .bn = (size_t)columns[j],
                .bk = LINE_BYTES / xl_dtype_bytes(job->in),
                .band = xl__model_size(l, XL__M_band)};
            for (t.parts = 1; t.parts <= MOST_PARTS; t.parts++) {
                t.is_swapped = false;
                consider_tile(&s, &t);
                t.is_swapped = true;
                consider_tile(&s, &t);
            }
        }
    }
    *out = params_of(&s.best); /* all 0 if nothing fits: plan() refuses it */
    if (s.ns == 0)
        *out = (struct xl__params){.source = "model"};
}
