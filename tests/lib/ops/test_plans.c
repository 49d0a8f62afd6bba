/* SPDX-License-Identifier: Apache-2.0 */
/* Plans without a device: every variant of GEMM and softmax over thousands of
 * shapes on devices made up here. Each plan must be one that the device can
 * launch, touch each element of the result exactly once (the kernels' index
 * arithmetic is done again here), and have a self-check of the same program.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/gemm/tiles.h"
#include "ops/normalization/norm.h"
#include "ops/normalization/softmax.h"
#include "ops/variants.h"
#include "support/support.h"
#include "targets/targets.h"
#include "tiling/tiles.h"

enum { N_SHAPES = 1500, SEED = 7, MOST_TILES = 5000 };

/* -- devices ------------------------------------------------------------- */

/* clang-format off */
static const struct machine {
    const char *name;
    double is_cpu, units, max_wg, local_bytes, on_chip, width, registers,
        vector;
    const char *arch; /* of vendor tables; NULL: portable sets */
} machines[] = {
    /*        cpu units   wg      local chip width registers vector, tiles of */
    {"gpu",     0,  132, 1024,   49152,   1,   32,    65536,      1, NULL},
    {"waves",   0,  304, 1024,   65536,   1,   64,   131072,      1, NULL},
    {"narrow",  0,  512, 1024,   65536,   1,   16,     8192,      1, NULL},
    {"mobile",  0,    8,  256,   32768,   0,   16,       -1,      4, NULL},
    {"wide",    1,    2, 4096, 1048576,   0,   16,       -1,     16, NULL},
    {"avx2",    1,    8, 8192,   32768,   0,    8,       -1,      8, NULL},
    {"neon",    1,    4, 4096,   65536,   0,    4,       -1,      4, NULL},
    {"lanes",   1,    8, 1024,   32768,   0,    8,       -1,      1, NULL},
    {"tiny",    0,    1,   64,    1024,   1,    8,       -1,      1, NULL},
    {"single",  0,    1,    1,    1024,   1,    1,       -1,      1, NULL},
    {"cdna",    0,  304, 1024,   65536,   1,   64,   131072,      1, "gfx942"},
    {"rdna",    0,   96, 1024,   65536,   1,   32,    98304,      1, "gfx1100"},
    {"xe",      0,  512, 1024,   65536,   1,   16,     8192,      1, "xe-hpg"},
};
/* clang-format on */

static void set(struct xl__limits *l, enum xl__fact_id id, double value)
{
    if (value >= 0)
        xl__limits_correct(l, id, value, XL_ASSUMED, "GE-01");
}

static const struct xl__tile_sets *tiles_of(const char *arch)
{
    return !arch                       ? NULL
           : strcmp(arch, "xe-hpg") == 0 ? &xl__intel_narrow_tiles
                                         : xl__amd_tiles(arch);
}

static void make_plan(const struct machine *m, struct xl__limits *l)
{
    xl__limits_init(l);
    l->model.tiles = tiles_of(m->arch);
    set(l, XL__F_is_cpu, m->is_cpu);
    set(l, XL__F_is_gpu, !m->is_cpu);
    set(l, XL__F_compute_units, m->units);
    set(l, XL__F_max_wg_size, m->max_wg);
    set(l, XL__F_local_mem_bytes, m->local_bytes);
    set(l, XL__F_has_local_mem, m->on_chip);
    set(l, XL__F_subgroup_width, m->width);
    set(l, XL__F_registers_per_cu, m->registers);
    set(l, XL__F_native_vector_f32, m->vector);
    set(l, XL__F_has_f64, 1);
    set(l, XL__F_llc_bytes, 1 << 24);
}

static void each_machine(void (*check)(const struct xl__limits *,
                                       const struct machine *))
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct xl__limits l;
        make_plan(&machines[i], &l);
        check(&l, &machines[i]);
        xl__limits_clear(&l);
    }
}

/* -- what every plan owes ------------------------------------------------ */

static void check_launch(const struct xl__limits *l, const struct xl__step *s)
{
    size_t wg = 1;
    if (s->external)
        return;
    assert_in_range(s->dims, 1, 3);
    for (unsigned d = 0; d < s->dims; d++) {
        assert_true(s->global[d] > 0);
        assert_true(s->local[d] > 0);
        assert_int_equal(s->global[d] % s->local[d], 0);
        wg *= s->local[d];
    }
    assert_true((double)wg <= xl__num(l, XL__F_max_wg_size));
    assert_true((double)s->local_mem_bytes <=
                xl__num(l, XL__F_local_mem_bytes));
    assert_true(s->slice_dim < (int)s->dims);
    assert_true(s->n_args < XL__MAX_ARGS);
    assert_true(strlen(s->options) + 1 < sizeof s->options);
    assert_non_null(s->source);
    assert_non_null(s->kernel);
}

static void check_plan(const struct xl__limits *l, const struct xl__plan *p)
{
    assert_in_range(p->n_steps, 1, XL__MAX_STEPS);
    assert_true(isfinite(p->est_ns) && p->est_ns > 0);
    assert_true(isfinite(p->flop) && p->flop > 0);
    assert_true(isfinite(p->bytes) && p->bytes > 0);
    assert_non_null(p->bound);
    for (unsigned i = 0; i < p->n_steps; i++)
        check_launch(l, &p->step[i]);
}

static long define_of(const struct xl__step *s, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, " -D%s=", name);
    const char *at = strstr(s->options, text);
    if (!at)
        fail_msg("%s is not defined in %s", name, s->options);
    return strtol(at + strlen(text), NULL, 10);
}

/* A variant planned; NULL when it has no plan for this. free() it. */
static struct xl__plan *plan_of(const struct xl__limits *l,
                                const struct xl__variant *v,
                                const void *canonical,
                                struct xl__params *params)
{
    memset(params, 0, sizeof *params);
    if (v->refuses && v->refuses(l, canonical))
        return NULL;
    if (v->choose)
        v->choose(l, canonical, params);
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    const xl_status status = v->plan(l, canonical, params, p);
    if (status == XL_OK)
        return p;
    assert_int_equal(status, XL_UNSUPPORTED);
    free(p);
    return NULL;
}

/* Chosen values are among those the tunable calls legal. */
static void check_params(const struct xl__variant *v,
                         const struct xl__params *params)
{
    for (unsigned i = 0; v->tunables && v->tunables[i].name; i++) {
        const int *legal = v->tunables[i].legal;
        while (*legal && *legal != params->value[i])
            legal++;
        if (!*legal)
            fail_msg("%s: %s = %d is not legal", v->name, v->tunables[i].name,
                     params->value[i]);
    }
}

/* The self-check's case is planned with the same programs. */
static void check_small(const struct xl__limits *l, const struct xl__op *op,
                        const struct xl__variant *v, const void *canonical,
                        const struct xl__params *params,
                        const struct xl__plan *p)
{
    union {
        struct xl__gemm_canonical gemm;
        struct xl__softmax_canonical softmax;
        xl_norm norm;
    } small;
    struct xl__plan *q = calloc(1, sizeof *q);
    assert_non_null(q);
    op->shrink(canonical, v, params, &small);
    assert_int_equal(v->plan(l, &small, params, q), XL_OK);
    check_plan(l, q);
    assert_int_equal(q->n_steps, p->n_steps);
    for (unsigned i = 0; i < p->n_steps; i++) {
        assert_string_equal(q->step[i].options, p->step[i].options);
        assert_string_equal(q->step[i].kernel, p->step[i].kernel);
    }
    assert_true(q->flop < 1e9); /* a trial takes the host well under 1 s */
    free(q);
}

/* -- random shapes ------------------------------------------------------- */

static size_t random_size(struct xl__rng *rng)
{
    static const size_t special[] = {1,    2,    3,    7,    31,  64,
                                     127,  128,  129,  255,  256, 509,
                                     1000, 1023, 1024, 1021, 2048};
    if (xl__rng_below(rng, 2) == 0)
        return special[xl__rng_below(rng, sizeof special / sizeof *special)];
    return 1 + xl__rng_below(rng, 3000);
}

/* A view of any orientation, padding and offset. */
static xl_mat random_view(struct xl__rng *rng, size_t rows, size_t cols,
                          xl_dtype dtype, unsigned n_kinds)
{
    static const size_t pads[] = {0, 1, 2, 4, 8, 24};
    const size_t pad = pads[xl__rng_below(rng, 6)];
    xl_mat v = xl_mat_rows(NULL, cols + pad, dtype);
    const uint64_t kind = xl__rng_below(rng, n_kinds);
    if (kind == 1)
        v = xl_mat_cols(NULL, rows + pad, dtype);
    if (kind == 2) {
        v.col_stride = 2;
        v.row_stride = 2 * cols + pad;
    }
    v.offset = pads[xl__rng_below(rng, 6)];
    return v;
}

/* One product, or a batch by steps, or by lists. */
static xl_batch random_batch(struct xl__rng *rng, const xl_gemm *g)
{
    static const cl_ulong lists[3][2] = {{0}, {0}, {0, (cl_ulong)1 << 40}};
    const size_t far = (size_t)1 << 30;
    switch (xl__rng_below(rng, 4)) {
    case 0:
        return (xl_batch){.count = 1 + xl__rng_below(rng, 70),
                          .a_step = g->a.row_stride == 1 ? 0 : far,
                          .b_step = far + 2 * xl__rng_below(rng, 2),
                          .c_step = far};
    case 1:
        return (xl_batch){.count = 2, .a_at = lists[0], .b_at = lists[1],
                          .c_at = lists[2]};
    default:
        return (xl_batch){0};
    }
}

static xl_gemm random_gemm(struct xl__rng *rng)
{
    static const xl_dtype types[][2] = {
        {XL_F32, XL_F32},   {XL_F16, XL_F32}, {XL_F16, XL_F16},
        {XL_BF16, XL_F32},  {XL_BF16, XL_BF16}, {XL_F64, XL_F64},
        {XL_I8, XL_I32},    {XL_I8, XL_F16},  {XL_F8E4M3, XL_F32},
        {XL_F8E5M2, XL_BF16}};
    const xl_dtype *t =
        types[xl__rng_below(rng, sizeof types / sizeof *types)];
    xl_gemm g = {XL_GEMM_INIT, .m = random_size(rng), .n = random_size(rng),
                 .k = random_size(rng), .alpha = 1};
    g.beta = (double)xl__rng_below(rng, 2);
    g.a = random_view(rng, g.m, g.k, t[0], 3);
    g.b = random_view(rng, g.k, g.n, t[0], 3);
    g.c = random_view(rng, g.m, g.n, t[1], 3);
    g.batch = random_batch(rng, &g);
    return g;
}

/* -- GEMM's tiles -------------------------------------------------------- */

static size_t arg_at(const struct xl__step *s, unsigned at)
{
    assert_true(s->n_args > at);
    return (size_t)s->args[at].as.u;
}

/* The last arguments, from the end on. */
static size_t arg_from_end(const struct xl__step *s, unsigned back)
{
    return arg_at(s, s->n_args - 1 - back);
}

/* What the kernels are tile_args of their tiles: TILE_PARAMS, which the first one
 * has behind both sides. */
struct tile_args {
    size_t m, n, k, tiles_m, tiles_n, is_cut, whole, units, each, extra;
};

static struct tile_args read_tile_args(const struct xl__step *s)
{
    enum { SIDES = 8, SIZES = 4 };
    const unsigned at = (define_of(s, "STEP") == 1 ? SIDES : 0) + SIZES;
    struct tile_args t = {.m = arg_at(s, at),
                     .n = arg_at(s, at + 1),
                     .k = arg_at(s, at + 2),
                     .tiles_m = arg_at(s, at + 3),
                     .tiles_n = arg_at(s, at + 4),
                     .is_cut = define_of(s, "CUT") == 1};
    if (t.is_cut) {
        assert_int_equal(s->args[at + 5].kind, XL__ARG_MEM);
        assert_int_equal(s->args[at + 5].slot, XL__MEM_SCRATCH);
        t.whole = arg_at(s, at + 6);
        t.units = arg_at(s, at + 7);
        t.each = arg_at(s, at + 8);
        t.extra = arg_at(s, at + 9);
    }
    return t;
}

/* The kernels' walk over tiles of one product: each is met once. */
static void check_order(const struct xl__step *s, const struct tile_args *t)
{
    const size_t tm = (size_t)define_of(s, "TM");
    const size_t tn = (size_t)define_of(s, "TN");
    const size_t gr = (size_t)define_of(s, "GR");
    const size_t tiles = t->tiles_m * t->tiles_n;
    assert_true(t->tiles_m * tm >= t->m && (t->tiles_m - 1) * tm < t->m);
    assert_true(t->tiles_n * tn >= t->n && (t->tiles_n - 1) * tn < t->n);
    assert_true(gr * tiles < UINT32_MAX);
    if (tiles > MOST_TILES)
        return;
    unsigned char *met = calloc(tiles, 1);
    assert_non_null(met);
    for (size_t tile = 0; tile < tiles; tile++) {
        const size_t band = tile / (gr * t->tiles_n);
        const size_t in_band = tile - band * gr * t->tiles_n;
        const size_t height = xl__min_size(gr, t->tiles_m - band * gr);
        const size_t row = band * gr + in_band % height;
        const size_t col = in_band / height;
        assert_true(row < t->tiles_m && col < t->tiles_n);
        met[row * t->tiles_n + col]++;
    }
    for (size_t i = 0; i < tiles; i++)
        assert_int_equal(met[i], 1);
    free(met);
}

/* -- tiles cut by k -------------------------------------------------------- */

/* What groups do, computed as the kernel does. */
struct dealt {
    const struct tile_args *t;
    size_t tiles, parts; /* of all products; places in scratch */
    size_t *slices;      /* of a tile that were added up */
    size_t *next;        /* its slice that has to come next */
    unsigned char *stored, *written; /* by tile; by place */
};

/* The kernel's group_of(). */
static size_t group_of(const struct tile_args *t, size_t unit)
{
    const size_t longer = t->extra * (t->each + 1);
    return unit < longer ? unit / (t->each + 1)
                         : t->extra + (unit - longer) / t->each;
}

/* One group's work: first_work() and next_work() of the kernel. */
static void do_group(struct dealt *d, size_t group)
{
    const struct tile_args *t = d->t;
    size_t tile = group, part = 0, unit = 0, n = t->units, left = 0;
    if (group >= t->whole) {
        const size_t p = group - t->whole;
        const size_t begin = p * t->each + xl__min_size(p, t->extra);
        left = t->each + (p < t->extra);
        tile = t->whole + begin / t->units;
        part = p + begin / t->units;
        unit = begin % t->units;
        n = xl__min_size(left, t->units - unit);
        left -= n;
    }
    for (;; tile++, part++, unit = 0) {
        assert_true(n > 0 && tile < d->tiles);
        assert_int_equal(d->next[tile], unit); /* parts in order of k */
        d->next[tile] += n;
        if (n == t->units) {
            d->stored[tile]++;
        } else {
            assert_true(part < d->parts);
            assert_int_equal(d->written[part], 0);
            d->written[part] = 1;
            d->slices[part] = n;
        }
        if (left == 0)
            return;
        n = xl__min_size(left, t->units);
        left -= n;
    }
}

/* The join of one tile, counted from `whole` on. */
static void do_join(struct dealt *d, size_t tile)
{
    const struct tile_args *t = d->t;
    const size_t first = group_of(t, tile * t->units);
    const size_t last = group_of(t, (tile + 1) * t->units - 1);
    size_t slices = 0;
    if (first == last)
        return;
    for (size_t p = first; p <= last; p++) {
        assert_true(p + tile < d->parts);
        assert_int_equal(d->written[p + tile], 1);
        d->written[p + tile] = 2;
        slices += d->slices[p + tile];
    }
    assert_int_equal(slices, t->units);
    d->stored[t->whole + tile]++;
}

/* Every slice of every tile is added up once, every tile stored once, every
 * part written and read once and within scratch. */
static void check_slices(const struct xl__plan *p, const struct tile_args *t,
                       size_t tiles)
{
    const struct xl__step *first = &p->step[0], *join = &p->step[1];
    const size_t tm = (size_t)define_of(first, "TM");
    const size_t tn = (size_t)define_of(first, "TN");
    const size_t value = define_of(first, "TA") == XL_F64 ? 8 : 4;
    const size_t tk = (size_t)define_of(first, "TK");
    struct dealt d = {.t = t, .tiles = tiles,
                      .parts = p->scratch_bytes / (tm * tn * value)};
    assert_int_equal(p->n_steps, 2);
    assert_int_equal(t->units, xl__ceil_div(t->k, tk));
    if (tiles > MOST_TILES)
        return;
    d.slices = calloc(d.parts, sizeof *d.slices);
    d.next = calloc(tiles, sizeof *d.next);
    d.stored = calloc(tiles, 1);
    d.written = calloc(d.parts, 1);
    for (size_t g = 0; g < first->global[0] / first->local[0]; g++)
        do_group(&d, g);
    const size_t rm = (size_t)define_of(join, "RM");
    assert_int_equal(join->global[0] / join->local[0],
                     rm * (tiles - t->whole));
    for (size_t tile = t->whole; tile < tiles; tile++)
        do_join(&d, tile - t->whole);
    for (size_t tile = 0; tile < tiles; tile++)
        assert_true(d.stored[tile] == 1 && d.next[tile] == t->units);
    for (size_t part = 0; part < d.parts; part++)
        assert_true(d.written[part] != 1);
    free(d.slices);
    free(d.next);
    free(d.stored);
    free(d.written);
}

/* -- items of a group ------------------------------------------------------ */

/* An item's place in the group. */
static void locate_tile(size_t lid, size_t wx, size_t wy, size_t *tx, size_t *ty)
{
    *tx = lid % wx;
    *ty = lid / wx;
    if (wx % 8 == 0 && wy % 4 == 0) {
        const size_t lane = lid % 32, patch = lid / 32;
        *tx = patch % (wx / 8) * 8 + lane / 8 * 2 + lane % 2;
        *ty = patch / (wx / 8) * 4 + lane / 2 % 4;
    }
}

/* Row r of an item that holds `each` of the tile's rows, `most` in a row. */
static size_t spread(size_t at, size_t r, size_t tile, size_t each,
                     size_t most)
{
    const size_t quad = xl__min_size(each, most);
    return at * quad + r / quad * (tile * quad / each) + r % quad;
}

/* Each element of the tile is in one item's registers. */
static void check_items(const struct xl__step *s)
{
    static unsigned char met[256 * 256];
    const size_t tm = (size_t)define_of(s, "TM");
    const size_t tn = (size_t)define_of(s, "TN");
    const size_t rm = (size_t)define_of(s, "RM");
    const size_t rn = (size_t)define_of(s, "RN");
    const size_t quad = define_of(s, "TA") == XL_F64 ? 2 : 4;
    memset(met, 0, sizeof met);
    for (size_t lid = 0; lid < s->local[0]; lid++) {
        size_t tx, ty;
        locate_tile(lid, tn / rn, tm / rm, &tx, &ty);
        for (size_t r = 0; r < rm; r++) {
            for (size_t c = 0; c < rn; c++) {
                const size_t row = spread(ty, r, tm, rm, quad);
                const size_t col = spread(tx, c, tn, rn, quad);
                assert_true(row < tm && col < tn);
                met[row * tn + col]++;
            }
        }
    }
    for (size_t i = 0; i < tm * tn; i++)
        assert_int_equal(met[i], 1);
}

/* Each element of a slice is loaded by one item, and no vector leaves it. */
static void check_loads(const struct xl__step *s, const char *tile_name,
                        const char *unit_name, const char *width_name)
{
    static unsigned char met[256 * 64];
    const size_t tile = (size_t)define_of(s, tile_name);
    const size_t tk = (size_t)define_of(s, "TK");
    const size_t width = (size_t)define_of(s, width_name);
    const bool along_k = define_of(s, unit_name) == 0;
    const size_t loads = tile * tk / (width * s->local[0]);
    const size_t deep = xl__min_size(tk, 8); /* RUN */
    const size_t line = deep / width;
    assert_int_equal(loads * width * s->local[0], tile * tk);
    memset(met, 0, sizeof met);
    for (size_t i = 0; i < loads * s->local[0]; i++) {
        const size_t x =
            along_k ? i / line % tile : i % (tile / width) * width;
        const size_t k = along_k
                             ? i % line * width + i / (line * tile) * deep
                             : i / (tile / width);
        for (size_t e = 0; e < width; e++) {
            const size_t at = along_k ? (k + e) * tile + x : k * tile + x + e;
            assert_true(at < tile * tk);
            met[at]++;
        }
    }
    for (size_t i = 0; i < tile * tk; i++)
        assert_int_equal(met[i], 1);
}

/* Vectors divide their line and sit on its alignment. */
static void check_vector(size_t width, const xl_mat *mat, size_t line)
{
    const size_t elem = xl_dtype_bytes(mat->dtype);
    if (width == 1)
        return;
    assert_int_equal(line % width, 0);
    assert_int_equal(mat->offset % (width * elem), 0); /* its alignment */
}

static void check_vectors(const struct xl__step *s, const xl_gemm *g)
{
    const bool turned = g->c.col_stride != 1 && g->c.row_stride == 1;
    const xl_mat *first = turned ? &g->b : &g->a;
    const xl_mat *second = turned ? &g->a : &g->b;
    const size_t m = turned ? g->n : g->m, n = turned ? g->m : g->n;
    check_vector((size_t)define_of(s, "VA"), first,
                 define_of(s, "UA") == 0 ? g->k : m);
    check_vector((size_t)define_of(s, "VB"), second,
                 define_of(s, "UB") == 0 ? g->k : n);
    check_vector((size_t)define_of(s, "VC"), &g->c, n);
    if (define_of(s, "VC") > 1)
        assert_true(g->c.col_stride == 1 || g->c.row_stride == 1);
}

/* The description of the tiles is what the kernels do. */
static void check_description(const struct xl__plan *p, const struct tile_args *t,
                          bool turned)
{
    const struct xl__step *s = &p->step[0];
    const xl_tiling *say = &p->tiling;
    const size_t gr = (size_t)define_of(s, "GR");
    const size_t whole = t->is_cut ? t->whole : say->whole;
    assert_int_equal(say->is_swapped, turned);
    assert_int_equal(turned ? say->cols : say->rows, define_of(s, "TM"));
    assert_int_equal(turned ? say->rows : say->cols, define_of(s, "TN"));
    assert_int_equal(turned ? say->n : say->m, t->m);
    assert_int_equal(turned ? say->m : say->n, t->n);
    assert_int_equal(say->whole, whole);
    assert_int_equal(tiling_n_pieces(say), say->groups);
    assert_int_equal(say->groups, s->global[0] / s->local[0]);
    for (size_t tile = 0;
         tile < xl__min_size(whole, t->tiles_m * t->tiles_n) &&
         tile < MOST_TILES;
         tile++) {
        const size_t band = tile / (gr * t->tiles_n);
        const size_t in_band = tile - band * gr * t->tiles_n;
        const size_t height = xl__min_size(gr, t->tiles_m - band * gr);
        const size_t row = band * gr + in_band % height;
        const size_t col = in_band / height;
        assert_int_equal(
            tiling_piece_at(say, turned ? col : row, turned ? row : col, 0),
            tile);
    }
}

static void check_tiled(const struct xl__plan *p, const xl_gemm *g)
{
    const struct xl__step *s = &p->step[0];
    const bool turned = g->c.col_stride != 1 && g->c.row_stride == 1;
    const struct tile_args t = read_tile_args(s);
    const size_t tiles = t.tiles_m * t.tiles_n * g->batch.count;
    assert_int_equal(t.m, turned ? g->n : g->m);
    assert_int_equal(t.n, turned ? g->m : g->n);
    assert_int_equal(t.k, g->k);
    check_order(s, &t);
    check_description(p, &t, turned);
    check_items(s);
    check_loads(s, "TM", "UA", "VA");
    check_loads(s, "TN", "UB", "VB");
    check_vectors(s, g);
    if (t.is_cut) {
        const struct tile_args again = read_tile_args(&p->step[1]);
        assert_memory_equal(&t, &again, sizeof t);
        check_slices(p, &t, tiles);
        return;
    }
    assert_int_equal(p->n_steps, 1);
    assert_int_equal(p->scratch_bytes, 0);
    assert_int_equal(s->global[0] / s->local[0], tiles);
}

/* The chosen set, and the same with tiles dealt out in another way; false
 * where there is none. */
static bool check_tiles(const struct xl__limits *l,
                        const struct xl__variant *v, const void *canonical,
                        unsigned seed)
{
    static const int parts[] = {1, 2, 4, 8, 16};
    enum { PARTS = XL__TILE_PARTS };
    struct xl__params params;
    struct xl__plan *p = plan_of(l, v, canonical, &params);
    if (!p)
        return false;
    assert_string_equal(v->tunables[PARTS].name, "PARTS");
    for (unsigned i = 0; i < 2; i++) {
        check_plan(l, p);
        check_params(v, &params);
        check_small(l, &xl__op_gemm, v, canonical, &params, p);
        check_tiled(p, canonical);
        memset(p, 0, sizeof *p);
        params.value[PARTS] = parts[seed % 5];
        assert_int_equal(v->plan(l, canonical, &params, p), XL_OK);
    }
    free(p);
    return true;
}

static void check_ref(const struct xl__limits *l,
                      const struct xl__gemm_canonical *g)
{
    struct xl__params params;
    struct xl__plan *p = plan_of(l, &xl__gemm_ref, g, &params);
    assert_non_null(p);
    check_plan(l, p);
    check_small(l, &xl__op_gemm, &xl__gemm_ref, g, &params, p);
    assert_true(p->step[0].global[0] >= g->g.n);
    assert_true(p->step[0].global[0] - p->step[0].local[0] < g->g.n);
    assert_int_equal(p->step[0].global[1], g->g.m);
    assert_int_equal(p->step[0].global[2], g->g.batch.count);
    free(p);
}

static void gemm_on(const struct xl__limits *l, const struct machine *m)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    (void)m;
    for (unsigned i = 0; i < N_SHAPES; i++) {
        const xl_gemm desc = random_gemm(&rng);
        struct xl__gemm_canonical g;
        struct xl__call call;
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &desc, &g, &call));
        assert_true(check_tiles(l, &xl__gemm_tiled, &g, i));
        check_tiles(l, &xl__gemm_simt, &g, i);
        check_ref(l, &g);
    }
}

static void gemm_plans(void **state)
{
    (void)state;
    each_machine(gemm_on);
}

/* Sizes and strides near the ends of what can be said: a plan that can be
 * launched, or none. */
static void gemm_huge_on(const struct xl__limits *l, const struct machine *m)
{
    static const size_t sizes[] = {1,
                                   1000,
                                   (size_t)1 << 20,
                                   (size_t)1 << 33,
                                   ((size_t)1 << 40) - 1,
                                   (size_t)1 << 62};
    const size_t n = sizeof sizes / sizeof *sizes;
    (void)m;
    for (size_t i = 0; i < n * n * n; i++) {
        xl_gemm g = {XL_GEMM_INIT, .m = sizes[i % n], .n = sizes[i / n % n],
                     .k = sizes[i / n / n], .alpha = 1};
        struct xl__gemm_canonical canonical;
        struct xl__call call;
        struct xl__params params;
        g.a = xl_mat_rows(NULL, (size_t)1 << 20, XL_F32);
        g.b = xl_mat_cols(NULL, (size_t)1 << 33, XL_F32);
        g.c = xl_mat_rows(NULL, (size_t)1 << 20, XL_F32);
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &canonical, &call));
        struct xl__plan *p = plan_of(l, &xl__gemm_tiled, &canonical, &params);
        if (!p)
            continue;
        check_plan(l, p);
        const struct tile_args t = read_tile_args(&p->step[0]);
        check_order(&p->step[0], &t);
        free(p);
    }
}

static void gemm_huge(void **state)
{
    (void)state;
    each_machine(gemm_huge_on);
}

/* gemm_simt is for devices known to have the registers: there it has a plan
 * from 1024 on. By the rates that were measured (NV-39) it is no device's
 * choice before gemm_tiled. */
static void gemm_simt_on(const struct xl__limits *l, const struct machine *m)
{
    const bool is_for = !m->is_cpu && m->registers >= 65536;
    for (size_t side = 1024; side <= 8192; side *= 2) {
        struct xl__params params;
        struct xl__call call;
        struct xl__gemm_canonical canonical;
        xl_gemm g = {XL_GEMM_INIT, .m = side, .n = side, .k = side,
                     .alpha = 1};
        g.a = g.b = g.c = xl_mat_rows(NULL, side, XL_F32);
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &canonical, &call));
        struct xl__plan *tiled =
            plan_of(l, &xl__gemm_tiled, &canonical, &params);
        struct xl__plan *p = plan_of(l, &xl__gemm_simt, &canonical, &params);
        assert_true(!is_for || p);
        assert_true(!p || p->est_ns >= tiled->est_ns);
        free(tiled);
        free(p);
    }
}

static void gemm_simt_choice(void **state)
{
    (void)state;
    each_machine(gemm_simt_on);
}

/* A product that is much smaller than the largest tile has no such tile, and
 * takes its steps of k one after another where they are not cut. */
static void gemm_few_on(const struct xl__limits *l, const struct machine *m)
{
    enum { FEW_ROWS = 3, FEW_COLS = 20, DEPTH = 234, MOST_AREA = 32 * 32 };
    const double step_ns =
        1e9 * xl__model(l, XL__M_tiled_step_clocks) / xl__rate_clock(l);
    for (size_t k = DEPTH; k <= 16 * DEPTH; k *= 4) {
        struct xl__params params;
        struct xl__call call;
        struct xl__gemm_canonical canonical;
        xl_gemm g = {XL_GEMM_INIT, .m = FEW_ROWS, .n = FEW_COLS, .k = k,
                     .alpha = 1};
        g.a = xl_mat_rows(NULL, k, XL_F32);
        g.b = g.c = xl_mat_rows(NULL, FEW_COLS, XL_F32);
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &canonical, &call));
        struct xl__plan *p = plan_of(l, &xl__gemm_tiled, &canonical, &params);
        if (p && !m->is_cpu) {
            assert_true(params.value[XL__GEMM_TM] *
                            params.value[XL__GEMM_TN] <=
                        MOST_AREA);
            if (params.value[XL__TILE_PARTS] == 1)
                assert_true(p->est_ns >= (double)k * step_ns);
        }
        free(p);
    }
}

static void gemm_few(void **state)
{
    (void)state;
    each_machine(gemm_few_on);
}

/* By the model: tiles, of threads where items are such, before CLBlast's guess
 * before the reference. */
static void gemm_order(void **state)
{
    static const size_t sides[] = {256, 1000, 1024, 2048, 4096};
    (void)state;
    for (size_t i = 0; i < 5 * sizeof sides / sizeof *sides; i++) {
        struct xl__limits l;
        struct xl__params params;
        struct xl__call call;
        const size_t side = sides[i % 5];
        xl_gemm g = {XL_GEMM_INIT, .m = side, .n = side, .k = side,
                     .alpha = 1};
        struct xl__gemm_canonical canonical;
        g.a = g.b = g.c = xl_mat_rows(NULL, side, XL_F32);
        make_plan(&machines[i / 5], &l);
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &canonical, &call));
        struct xl__plan *best = plan_of(&l, &xl__gemm_cpu, &canonical,
                                        &params);
        if (!best)
            best = plan_of(&l, &xl__gemm_tiled, &canonical, &params);
        struct xl__plan *other =
            plan_of(&l, &xl__gemm_clblast, &canonical, &params);
        struct xl__plan *ref = plan_of(&l, &xl__gemm_ref, &canonical, &params);
        assert_true(best->est_ns < ref->est_ns);
        if (other) { /* where the library is installed */
            assert_true(best->est_ns < other->est_ns);
            assert_true(other->est_ns < ref->est_ns);
        }
        free(best);
        free(other);
        free(ref);
        xl__limits_clear(&l);
    }
}

/* -- tile sets of vendor tables ------------------------------------------- */

static bool is_legal(const struct xl__tunable *tunables, const char *name,
                     int value)
{
    while (strcmp(tunables->name, name) != 0)
        tunables++;
    for (const int *legal = tunables->legal; *legal; legal++) {
        if (*legal == value)
            return true;
    }
    return false;
}

/* A listed set is one of the variant's, runs on the unit that it is for, and
 * is there once. */
static void check_set(const struct xl__limits *l, const struct machine *m,
                      const struct xl__variant *v,
                      enum xl__tile_kernel kernel,
                      const struct xl__tile_set *s)
{
    const struct xl__tile t = {.tm = s->tm, .tn = s->tn, .tk = s->tk,
                               .rm = s->rm, .rn = s->rn, .vw = 4,
                               .stages = s->stages, .band = 8, .parts = 1,
                               .kernel = kernel};
    const struct {
        const char *name;
        int value;
    } all[] = {{"TM", s->tm}, {"TN", s->tn}, {"TK", s->tk},
               {"RM", s->rm}, {"RN", s->rn}, {"ST", s->stages}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!is_legal(v->tunables, all[i].name, all[i].value))
            fail_msg("%s, %s: %s=%d", m->name, v->name, all[i].name,
                     all[i].value);
    }
    if (!xl__tile_fits(l, &t, XL_F32) || !xl__tile_fits(l, &t, XL_F16))
        fail_msg("%s, %s: %ux%u does not fit", m->name, v->name, s->tm, s->tn);
    assert_true(s->frac > 0 && s->frac < 1 && s->registers > 0);
    for (const struct xl__tile_set *o = s + 1; o->tm; o++)
        assert_false(o->tm == s->tm && o->tn == s->tn && o->rm == s->rm &&
                     o->rn == s->rn);
}

static void check_sets(const struct xl__limits *l, const struct machine *m)
{
    static const struct xl__variant *const variants[XL__N_TILE_KERNELS] = {
        [XL__TILES_GEMM] = &xl__gemm_tiled,
        [XL__TILES_GEMM_AHEAD] = &xl__gemm_simt,
        [XL__TILES_GEMM_BLOCKS] = &xl__gemm_block_read,
        [XL__TILES_CONV] = &xl__conv_tiled,
    };
    for (unsigned i = 0; l->model.tiles && i < XL__N_TILE_KERNELS; i++) {
        const struct xl__tile_set *s = l->model.tiles->of[i];
        for (; s && s->tm; s++)
            check_set(l, m, variants[i], i, s);
    }
}

/* A large product takes the list's largest share, a small one less of a tile;
 * tiles are cut only where the list says so, and the options of the kernel have
 * the width of its sub-groups. */
static void check_choice(const struct xl__limits *l, const struct machine *m)
{
    struct xl__tile t[2];
    for (size_t i = 0; l->model.tiles && i < 2; i++) {
        const size_t side = i ? 200 : 4096;
        struct xl__params params;
        struct xl__call call;
        struct xl__gemm_canonical canonical;
        xl_gemm g = {XL_GEMM_INIT, .m = side, .n = side, .k = side,
                     .alpha = 1};
        g.a = g.b = g.c = xl_mat_rows(NULL, side, XL_F32);
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &canonical, &call));
        struct xl__plan *plan =
            plan_of(l, &xl__gemm_tiled, &canonical, &params);
        t[i] = xl__tile_of(l, XL__TILES_GEMM, &params);
        assert_true(t[i].parts == 1 || !l->model.tiles->keeps_whole);
        assert_true((strstr(plan->step[0].options, "XL_WIDTH") != NULL) ==
                    (l->model.tiles->width > 0));
        free(plan);
    }
    if (l->model.tiles && (t[0].rm * t[0].rn < 64 ||
                     t[1].tm * t[1].tn >= t[0].tm * t[0].tn))
        fail_msg("%s: %zux%zu of %zux%zu; %zux%zu", m->name, t[0].tm, t[0].tn,
                 t[0].rm, t[0].rn, t[1].tm, t[1].tn);
}

static void vendor_tiles(void **state)
{
    (void)state;
    each_machine(check_sets);
    each_machine(check_choice);
}

/* Descriptors that mean the same bytes are one key. */
static void gemm_canonical(void **state)
{
    (void)state;
    xl_gemm g = {XL_GEMM_INIT, .m = 1,     .n = 8,
                 .k = 3,       .alpha = 2, .beta = 0.5};
    struct xl__gemm_canonical first, second;
    struct xl__call call;
    g.a = xl_mat_rows(NULL, 3, XL_F32);
    g.b = xl_mat_rows(NULL, 8, XL_F32);
    g.c = xl_mat_rows(NULL, 8, XL_F32);
    memset(&first, 0x55, sizeof first);
    assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &first, &call));
    g.alpha = 3;
    g.beta = 7;
    g.a.row_stride = 77; /* of one row: addresses nothing */
    g.c.row_stride = 1000;
    memset(&second, 0xAA, sizeof second);
    assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &second, &call));
    assert_memory_equal(&first, &second, sizeof first);
    assert_true(call.value[XL__GEMM_ALPHA].f == 3);
    g.b.offset = 1; /* other alignment, other vectors */
    assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &second, &call));
    assert_memory_not_equal(&first, &second, sizeof first);
}

/* -- softmax ------------------------------------------------------------- */

/* Chunks, their number and size being arguments, cover a row once. */
static void check_chunks(const struct xl__step *s, size_t rows, size_t cols)
{
    const size_t chunk = arg_from_end(s, 0);
    const size_t n_chunks = arg_from_end(s, 1);
    assert_true(chunk * n_chunks >= cols);
    assert_true(chunk * (n_chunks - 1) < cols);
    assert_int_equal(s->global[0] / s->local[0], n_chunks * rows);
}

/* Groups of `each` rows cover all rows once. */
static void check_rows(const struct xl__step *s, size_t each, size_t rows)
{
    const size_t groups = s->global[0] / s->local[0];
    assert_true(groups * each >= rows && (groups - 1) * each < rows);
}

static void check_online(const struct xl__plan *p, size_t rows, size_t cols,
                         const struct xl__params *params)
{
    const struct xl__step *last = &p->step[p->n_steps - 1];
    const size_t lanes = (size_t)params->value[XL__ROWS_LANES];
    switch (params->value[XL__ROWS_MODE]) {
    case XL__ROWS_HELD:
        check_rows(last, last->local[0] / lanes, rows);
        assert_true(lanes * (size_t)params->value[XL__ROWS_N_HELD] *
                        (size_t)params->value[XL__ROWS_VW] >=
                    cols);
        break;
    case XL__ROWS_SHARED:
        check_chunks(last, rows, cols);
        break;
    case XL__ROWS_SPLIT:
    case XL__ROWS_PIECES:
        check_chunks(&p->step[0], rows, cols);
        check_chunks(last, rows, cols);
        break;
    case XL__ROWS_CACHED:
        check_rows(last, arg_from_end(last, 0), rows);
        break;
    case XL__ROWS_LONG:
        check_rows(last, (size_t)params->value[XL__ROWS_N_HELD], rows);
        break;
    default:
        fail_msg("no such mode");
    }
}

static xl_softmax random_softmax(struct xl__rng *rng)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    static const size_t pads[] = {0, 0, 1, 4};
    const xl_dtype t = types[xl__rng_below(rng, 3)];
    xl_softmax s = {XL_SOFTMAX_INIT, .rows = random_size(rng),
                    .cols = random_size(rng)};
    if (xl__rng_below(rng, 8) == 0)
        s.cols *= 1 + xl__rng_below(rng, 5000);
    const size_t ld = s.cols + pads[xl__rng_below(rng, 4)];
    s.src = s.dst = xl_mat_rows(NULL, ld, t);
    s.dst.offset = pads[xl__rng_below(rng, 4)];
    s.is_log = xl__rng_below(rng, 4) == 0;
    return s;
}

static void softmax_on(const struct xl__limits *l, const struct machine *m)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        const xl_softmax desc = random_softmax(&rng);
        const struct xl__variant *const *v = xl__generic_softmax;
        unsigned n_plans = 0;
        struct xl__softmax_canonical canonical;
        const xl_softmax *s = &canonical.s;
        struct xl__call call;
        assert_int_equal(
            XL_OK, xl__op_softmax.bind(NULL, &desc, &canonical, &call));
        for (; *v; v++) {
            struct xl__params params;
            struct xl__plan *p = plan_of(l, *v, s, &params);
            if (!p)
                continue;
            n_plans++;
            check_plan(l, p);
            check_params(*v, &params);
            check_small(l, &xl__op_softmax, *v, s, &params, p);
            if (*v == &xl__softmax_online)
                check_online(p, s->rows, s->cols, &params);
            free(p);
        }
        if (n_plans == 0)
            fail_msg("softmax %zux%zu has no plan on %s", s->rows, s->cols,
                     m->name);
    }
}

static void softmax_plans(void **state)
{
    (void)state;
    each_machine(softmax_on);
}

static xl_norm random_norm(struct xl__rng *rng)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    const xl_softmax s = random_softmax(rng);
    xl_norm n = {XL_NORM_INIT,
                 .rows = s.rows,
                 .cols = s.cols,
                 .src = s.src,
                 .dst = s.dst,
                 .kind = (xl_norm_kind)xl__rng_below(rng, XL_N_NORM_KINDS)};
    n.dst.dtype = types[xl__rng_below(rng, 3)];
    if (xl__rng_below(rng, 2))
        n.residual = n.sum = s.src;
    n.scale = xl_mat_rows(NULL, n.cols, types[xl__rng_below(rng, 3)]);
    if (xl__rng_below(rng, 2))
        n.bias = n.scale;
    return n;
}

static void norm_on(const struct xl__limits *l, const struct machine *m)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        const xl_norm desc = random_norm(&rng);
        unsigned n_plans = 0;
        xl_norm n;
        struct xl__call call;
        assert_int_equal(XL_OK, xl__op_norm.bind(NULL, &desc, &n, &call));
        for (const struct xl__variant *const *v = xl__generic_norm; *v; v++) {
            struct xl__params params;
            struct xl__plan *p = plan_of(l, *v, &n, &params);
            if (!p)
                continue;
            n_plans++;
            check_plan(l, p);
            check_params(*v, &params);
            check_small(l, &xl__op_norm, *v, &n, &params, p);
            if (*v == &xl__norm_online)
                check_online(p, n.rows, n.cols, &params);
            free(p);
        }
        if (n_plans == 0)
            fail_msg("norm %zux%zu has no plan on %s", n.rows, n.cols,
                     m->name);
    }
}

static void norm_plans(void **state)
{
    (void)state;
    each_machine(norm_on);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_plans),       cmocka_unit_test(gemm_huge),
        cmocka_unit_test(gemm_few),         cmocka_unit_test(gemm_order),
        cmocka_unit_test(vendor_tiles),     cmocka_unit_test(gemm_canonical),
        cmocka_unit_test(softmax_plans),    cmocka_unit_test(norm_plans),
        cmocka_unit_test(gemm_simt_choice),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
