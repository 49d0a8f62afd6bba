/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of attention_mma, attention_dpas and attention_backward_mma without a
 * device, on machines made up here: what they refuse; what the kernels ask of
 * their tiles; that few queries on many keys get rows of one instruction and
 * keys in parts that fill the device, and prompts large tiles; memory and
 * launches; which variant of the gradients has the least estimate; on AMD's
 * instructions which columns a head may have; on Intel's what is packed, and
 * registers; of f32 in terms what is refused, and memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/matrix_engine.h"
#include "support/support.h"
#include "support/test_limits.h"
#include "targets/targets.h"

enum { SPLIT = 5 }; /* of its tunables, the last: 2: keys are in parts */

/* clang-format off */
static const struct machine {
    unsigned cc;
    double units, hz, local_kib, copy;
} machines[] = {
    {90,  132, 1.98e9,  226,   4.2e12},
    {80,  108, 1.41e9,  162,   1.7e12},
    {86,   20, 1.50e9,   98,   0.3e12},
    {120, 170, 2.40e9,   98,   1.6e12},
};
/* clang-format on */
enum { N_MACHINES = sizeof machines / sizeof *machines };

static void make_limits(const struct machine *m, struct xl__limits *l)
{
    const struct test_fact facts[] = {
        {XL__F_is_gpu, 1},
        {XL__F_compute_units, m->units},
        {XL__F_clock_hz, m->hz},
        {XL__F_max_wg_size, 1024},
        {XL__F_local_mem_bytes, m->local_kib * 1024},
        {XL__F_registers_per_cu, 65536},
        {XL__F_registers_per_item, 255},
        {XL__F_simd_per_cu_f32, 128},
        {XL__F_copy_bytes_per_s, m->copy},
        {XL__F_max_alloc_bytes, 35e9},
        {XL__F_launch_ns, 1500}};
    test_limits(l, facts, sizeof facts / sizeof *facts);
    xl__nvidia_matrix_engine(m->cc, l);
}

/* Dense operands. */
static void set_views(struct xl__attention_canonical *c, unsigned first,
                      unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        size_t size[XL__HEADS_DIMS], step = 1;
        c->view[i] =
            (xl_heads){.mem.svm = (void *)1, .offset = 256, .dtype = XL_F16};
        xl__attention_sizes(c, i, size);
        for (unsigned dim = XL__HEADS_DIMS; dim-- > 0; step *= size[dim])
            c->view[i].stride[dim] = step;
    }
}

static struct xl__attention_canonical make_case(size_t batch, size_t heads,
                                                size_t share, size_t n_q,
                                                size_t n_kv, size_t d)
{
    const xl_attention a = {XL_ATTENTION_INIT, .n_batch = batch,
                            .n_heads = heads,  .n_kv_heads = heads / share,
                            .n_q = n_q,        .n_kv = n_kv,
                            .d_head = d};
    struct xl__attention_canonical c;
    xl__attention_set_sizes(&a, &c);
    set_views(&c, XL__ATTENTION_Q, XL__ATTENTION_O);
    return c;
}

static struct xl__attention_canonical make_gradient(size_t batch, size_t heads,
                                                    size_t share, size_t n_q,
                                                    size_t n_kv, size_t d)
{
    struct xl__attention_canonical c =
        make_case(batch, heads, share, n_q, n_kv, d);
    set_views(&c, XL__ATTENTION_LSE, XL__ATTENTION_LSE);
    set_views(&c, XL__ATTENTION_GRAD_O, XL__ATTENTION_GRAD_V);
    return c;
}

static void check_refused(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const char *word)
{
    const char *why =
        (xl__attention_is_backward(c) ? xl__attention_backward_mma
                                      : xl__attention_mma)
            .refuses(l, c);
    assert_non_null(why);
    assert_non_null(strstr(why, word));
}

static void refuses(void **state)
{
    struct xl__limits l;
    struct xl__attention_canonical c = make_case(2, 8, 4, 9, 90, 72);
    (void)state;
    make_limits(&machines[0], &l);
    assert_null(xl__attention_mma.refuses(&l, &c));
    c.view[XL__ATTENTION_V].offset = 8;
    check_refused(&l, &c, "16 bytes");
    c = make_case(2, 8, 4, 9, 90, 72);
    c.view[XL__ATTENTION_K].stride[XL__HEADS_COL] = 2;
    check_refused(&l, &c, "contiguous");
    c = make_case(2, 8, 4, 9, 90, 76);
    check_refused(&l, &c, "multiple of 8");
    c = make_case(2, 8, 4, 9, 90, 64);
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_O; i++)
        c.view[i].dtype = XL_F32;
    check_refused(&l, &c, "f32");
    c = make_case(2, 8, 4, 9, 90, 64);
    c.q_rows.kind = c.kv_rows.kind = XL_ROWS_PACKED;
    assert_null(xl__attention_mma.refuses(&l, &c));
    c.kv_rows.kind = XL_ROWS_PAGED;
    check_refused(&l, &c, "pages");
    c = make_case(2, 8, 4, 9, 90, 64);
    c.view[XL__ATTENTION_K].dtype = XL_I8;
    check_refused(&l, &c, "another type");
    c = make_case(2, 8, 4, 9, 90, 64);
    l.matrix_ops = NULL;
    check_refused(&l, &c, "matrix instructions");
}

static void plans(void **state)
{
    /* Sequences, heads, of one of keys, queries, keys. */
    static const struct {
        size_t batch, heads, share, n_q, n_kv;
    } shapes[] = {{1, 64, 8, 1, 32768},   {8, 64, 8, 1, 16384},
                  {1, 8, 1, 1, 8192},     {1, 64, 8, 2, 131072},
                  {4, 16, 1, 4096, 4096}, {2, 32, 4, 1024, 1024}};
    static const size_t columns[] = {64, 96, 128, 192, 256};
    (void)state;
    for (size_t i = 0; i < N_MACHINES; i++) {
        struct xl__limits l;
        make_limits(&machines[i], &l);
        for (size_t k = 0; k < 5 * sizeof shapes / sizeof *shapes; k++) {
            const size_t e = k / 5, d = columns[k % 5];
            const struct xl__attention_canonical c =
                make_case(shapes[e].batch, shapes[e].heads, shapes[e].share,
                          shapes[e].n_q, shapes[e].n_kv, d);
            struct xl__plan *p = calloc(1, sizeof *p);
            struct xl__params params;
            assert_non_null(p);
            assert_null(xl__attention_mma.refuses(&l, &c));
            xl__attention_mma.choose(&l, &c, &params);
            assert_int_equal(XL_OK,
                             xl__attention_mma.plan(&l, &c, &params, p));
            const struct xl__step *s = &p->step[0];
            const size_t bq = (size_t)params.value[XL__ATTENTION_BQ];
            const size_t groups = s->global[0] / s->local[0] * s->global[1];
            const size_t rows = c.n_q * shapes[e].share;
            assert_true(s->local_mem_bytes <= machines[i].local_kib * 1024);
            assert_int_equal(groups, xl__ceil_div(rows, bq) * c.n_kv_heads *
                                         c.n_batch);
            const bool is_split = params.value[SPLIT] == 2;
            assert_int_equal(1 + is_split, p->n_steps);
            assert_int_equal(p->scratch_bytes,
                             is_split *
                                 xl__attention_parts_bytes(&c, s->global[2]));
            if (rows <= 16) {
                assert_int_equal(16, bq);
                assert_true((double)(groups * s->global[2]) >
                            0.9 * machines[i].units);
            } else {
                assert_false(is_split);
                assert_true(machines[i].cc != 90 || bq == 128);
            }
            assert_true(p->est_ns > p->bytes / machines[i].copy * 1e9);
            free(p);
        }
    }
}

static void refuses_gradients(void **state)
{
    const struct xl__variant *v = &xl__attention_backward_mma;
    struct xl__limits l;
    struct xl__attention_canonical c = make_gradient(2, 8, 4, 9, 90, 72);
    (void)state;
    make_limits(&machines[0], &l);
    assert_null(v->refuses(&l, &c));
    c.view[XL__ATTENTION_O].offset = 8;
    check_refused(&l, &c, "16 bytes");
    c = make_gradient(2, 8, 4, 9, 90, 72);
    c.view[XL__ATTENTION_GRAD_V].offset = 2; /* results may be anywhere */
    assert_null(v->refuses(&l, &c));
    c.view[XL__ATTENTION_GRAD_Q].stride[XL__HEADS_COL] = 2;
    check_refused(&l, &c, "contiguous");
    c = make_gradient(2, 8, 4, 9, 90, 76);
    check_refused(&l, &c, "multiple of 8");
    c = make_gradient(2, 8, 4, 9, 90, 256);
    check_refused(&l, &c, "registers");
    c = make_gradient(2, 8, 4, 9, 90, 64);
    c.view[XL__ATTENTION_Q].dtype = XL_F32;
    check_refused(&l, &c, "f32");
    c = make_gradient(2, 8, 4, 9, 90, 64);
    l.matrix_ops = NULL;
    check_refused(&l, &c, "matrix instructions");
}

/* The estimate of a variant; infinite: it refuses. */
static double estimate(const struct xl__limits *l,
                       const struct xl__attention_canonical *c,
                       const struct xl__variant *v, struct xl__plan *p)
{
    struct xl__params params;
    memset(p, 0, sizeof *p);
    if (v->refuses(l, c))
        return INFINITY;
    v->choose(l, c, &params);
    assert_int_equal(XL_OK, v->plan(l, c, &params, p));
    return p->est_ns;
}

/* Two kernels, (lse, delta) of each query between them; on all machines before
 * attention_backward_flash, and before attention_backward_wgmma where that
 * refuses. */
static void plans_gradients(void **state)
{
    static const struct {
        size_t batch, heads, share, n;
    } shapes[] = {{4, 16, 1, 4096}, {2, 32, 4, 1024}, {1, 8, 8, 130}};
    static const size_t columns[] = {32, 64, 96, 128};
    struct xl__plan *p = calloc(1, sizeof *p);
    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i < N_MACHINES * 3 * 4 * 2; i++) {
        const struct machine *m = &machines[i % N_MACHINES];
        const size_t e = i / N_MACHINES % 3,
                     d = columns[i / N_MACHINES / 3 % 4];
        const bool is_causal = i / N_MACHINES / 12;
        struct xl__attention_canonical c =
            make_gradient(shapes[e].batch, shapes[e].heads, shapes[e].share,
                          shapes[e].n, shapes[e].n, d);
        struct xl__limits l;
        make_limits(m, &l);
        c.after = is_causal ? 0 : XL__ATTENTION_ANY;
        const double others =
                         estimate(&l, &c, &xl__attention_backward_flash, p),
                     wgmma =
                         estimate(&l, &c, &xl__attention_backward_wgmma, p),
                     ns = estimate(&l, &c, &xl__attention_backward_mma, p);
        assert_true(ns < others);
        assert_true((wgmma < INFINITY) == (m->cc == 90 && d % 64 == 0));
        assert_true(shapes[e].n < 4096 || wgmma == INFINITY || wgmma < ns);
        assert_int_equal(2, p->n_steps);
        assert_int_equal(p->scratch_bytes,
                         8 * shapes[e].batch * shapes[e].heads * shapes[e].n);
        for (unsigned s = 0; s < 2; s++) {
            const struct xl__step *step = &p->step[s];
            assert_true(step->local_mem_bytes <= m->local_kib * 1024);
            assert_int_equal(step->global[1], shapes[e].batch *
                                                  shapes[e].heads /
                                                  (s ? shapes[e].share : 1));
        }
    }
    free(p);
}

/* By columns: tiles that keep all registers; what the kernel loads besides. */
static void amd(void **state)
{
    static const struct {
        const char *arch;
        double wave, registers;
    } archs[] = {{"gfx90a", 64, 131072},
                 {"gfx942", 64, 131072},
                 {"gfx950", 64, 131072},
                 {"gfx1100", 32, 98304},
                 {"gfx1201", 32, 98304}};
    static const size_t columns[] = {8, 64, 72, 128, 256};
    enum {
        N_ARCHS = sizeof archs / sizeof *archs,
        N_COLUMNS = sizeof columns / sizeof *columns,
        QUERIES = 2048,
        LOCAL = 65536,
        FAR = 1 << 25
    };
    const struct machine m = {0, 64, 2e9, LOCAL / 1024, 1e12};
    (void)state;
    for (size_t i = 0; i < N_ARCHS; i++) {
        struct xl__limits l;
        make_limits(&m, &l);
        xl__amd_matrix_engine(archs[i].arch, &l);
        xl__limits_correct(&l, XL__F_registers_per_cu, archs[i].registers,
                           XL_ASSUMED, "GE-01");
        xl__limits_correct(&l, XL__F_subgroup_width, archs[i].wave, XL_ASSUMED,
                           "GE-01");
        for (size_t k = 0; k < N_COLUMNS; k++) {
            struct xl__attention_canonical c =
                make_case(2, 8, 4, QUERIES, QUERIES, columns[k]);
            struct xl__plan *p = calloc(1, sizeof *p);
            struct xl__params params;
            assert_non_null(p);
            if (columns[k] == 256 && archs[i].wave == 32) {
                check_refused(&l, &c, "no tile");
                free(p);
                continue;
            }
            assert_null(xl__attention_mma.refuses(&l, &c));
            xl__attention_mma.choose(&l, &c, &params);
            assert_int_equal(XL_OK,
                             xl__attention_mma.plan(&l, &c, &params, p));
            const struct xl__step *s = &p->step[0];
            assert_string_equal("attention_mma_transposed", s->kernel);
            assert_int_equal(1, p->n_steps);
            assert_true(s->local_mem_bytes <= LOCAL);
            assert_true((double)s->local[0] >= 2 * archs[i].wave);
            free(p);
            c.kv_rows = (struct xl__attention_rows){XL_ROWS_PACKED, 0};
            assert_null(xl__attention_mma.refuses(&l, &c));
            c.view[XL__ATTENTION_K].stride[XL__HEADS_ROW] = FAR;
            check_refused(&l, &c, "32 bits");
            c.view[XL__ATTENTION_K].dtype = XL_I8;
            check_refused(&l, &c, "another type");
        }
    }
}

/* -- f32 in terms --------------------------------------------------------- */

static struct xl__attention_canonical make_split(size_t n_kv, size_t d)
{
    struct xl__attention_canonical c = make_case(2, 8, 4, 90, n_kv, d);
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_O; i++)
        c.view[i].dtype = XL_F32;
    c.accuracy = XL_ACCURACY_SPLIT;
    return c;
}

static void has_reason(const struct xl__variant *v, const struct xl__limits *l,
                       const struct xl__attention_canonical *c,
                       const char *word)
{
    const char *why = v->refuses(l, c);
    if (!word != !why || (word && !strstr(why, word)))
        fail_msg("%s: %s, not %s", v->name, why ? why : "supported",
                 word ? word : "supported");
}

static void refuses_terms(void **state)
{
    const struct xl__variant *const split = &xl__attention_mma_split,
                                    *const terms = &xl__attention_mma_terms;
    struct xl__limits l;
    struct xl__attention_canonical c = make_split(90, 64);
    (void)state;
    make_limits(&machines[0], &l);
    has_reason(split, &l, &c, NULL);
    has_reason(terms, &l, &c, NULL);
    has_reason(&xl__attention_mma, &l, &c, "XL_ACCURACY_FAST");
    c.accuracy = XL_ACCURACY_FAST;
    has_reason(split, &l, &c, "XL_ACCURACY_SPLIT");
    has_reason(terms, &l, &c, "XL_ACCURACY_SPLIT");
    has_reason(&xl__attention_mma, &l, &c, NULL);
    c = make_split(90, 64);
    c.before = 5;
    has_reason(split, &l, &c, NULL);
    has_reason(terms, &l, &c, "windows");
    c = make_split(90, 64);
    c.kv_rows.kind = XL_ROWS_LENGTHS;
    has_reason(split, &l, &c, NULL);
    has_reason(terms, &l, &c, "unequal lengths");
    c = make_case(2, 8, 4, 90, 90, 64);
    has_reason(split, &l, &c, "only f32");
    has_reason(terms, &l, &c, "only f32");
}

/* What attention.h states, of every set: a copy of k and v in f32 whose keys
 * are rounded up to a multiple of 64 and columns to one of 16, and 128 bytes
 * for every 256 keys. */
static void terms_memory(void **state)
{
    enum { KEYS = 64, COLUMNS = 16, OF_FACTORS = 256, FACTORS = 128 };
    static const size_t n_kv[] = {1, 63, 90, 257, 4096};
    struct xl__limits l;
    unsigned n_plans = 0;
    (void)state;
    make_limits(&machines[0], &l);
    const xl_matrix_op *op = xl__mma_op(&l, XL_F16);
    struct xl__params params;
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (size_t n = 0; n < sizeof n_kv / sizeof *n_kv; n++) {
        for (size_t i = 0; xl__attention_mma_listed(op, i, &params); i++) {
            const struct xl__attention_canonical c = make_split(n_kv[n], 72);
            memset(p, 0, sizeof *p);
            if (xl__attention_mma_terms.plan(&l, &c, &params, p) != XL_OK)
                continue;
            const size_t heads = c.n_kv_heads * c.n_batch;
            assert_true(p->scratch_bytes <=
                        heads * (2 * xl__round_up(c.n_kv, KEYS) *
                                     xl__round_up(c.d_head, COLUMNS) *
                                     sizeof(float) +
                                 xl__ceil_div(c.n_kv, OF_FACTORS) * FACTORS));
            n_plans++;
        }
    }
    free(p);
    assert_true(n_plans > sizeof n_kv / sizeof *n_kv);
}

/* -- attention_dpas ------------------------------------------------------- */

/* clang-format off */
static const struct intel {
    const char *arch;
    double units, hz, local_kib, copy;
    size_t width;
} intels[] = {
    {"xe-hpg", 512, 2.4e9,   64, 0.5e12,  8},
    {"xe-hpc", 512, 1.6e9,  128, 1.6e12, 16},
    {"xe2",    160, 2.85e9, 128, 0.4e12, 16},
};
/* clang-format on */
enum { N_INTELS = sizeof intels / sizeof *intels };

static void make_intel(const struct intel *m, struct xl__limits *l)
{
    const struct machine as = {0, m->units, m->hz, m->local_kib, m->copy};
    make_limits(&as, l);
    xl__limits_correct(l, XL__F_registers_per_item, 128, XL_ASSUMED, "GE-01");
    xl__limits_correct_text(
        l, XL__F_extensions,
        "cl_intel_subgroup_matrix_multiply_accumulate "
        "cl_intel_subgroups_short cl_intel_required_subgroup_size",
        XL_ASSUMED, "GE-01");
    xl__intel_matrix_engine(m->arch, l);
}

static bool is_defined(const struct xl__step *s, const char *name,
                       size_t value)
{
    char text[64];
    xl__strfmt(text, sizeof text, " -D%s=%zu", name, value);
    const char *at = strstr(s->options, text);
    return at && (at[strlen(text)] == ' ' || !at[strlen(text)]);
}

static void check_intel(const struct intel *m, const struct xl__limits *l,
                        const struct xl__attention_canonical *c, bool is_wide,
                        struct xl__params *params)
{
    enum { DEEP = 16, ELEM = 2 };
    const struct xl__variant *v = &xl__attention_dpas;
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_null(v->refuses(l, c));
    v->choose(l, c, params);
    assert_int_equal(XL_OK, v->plan(l, c, params, p));
    const struct xl__step *pack = &p->step[0], *s = &p->step[1];
    const size_t bq = (size_t)params->value[XL__ATTENTION_BQ],
                 bk = (size_t)params->value[XL__ATTENTION_BK],
                 sv = (size_t)params->value[2],
                 dp = xl__round_up(c->d_head, DEEP),
                 rows = c->n_q * xl__attention_share(c),
                 heads = c->n_kv_heads * c->n_batch;
    const bool is_split = params->value[3] == 2;
    assert_string_equal(pack->kernel, "attention_dpas_pack");
    assert_string_equal(s->kernel, "attention_dpas");
    assert_int_equal(p->n_steps, 2 + is_split);
    assert_int_equal(s->local[0], bq * sv);
    assert_int_equal(bq % m->width, 0);
    assert_int_equal(s->global[0] / s->local[0], xl__ceil_div(rows, bq));
    assert_int_equal(s->global[1], heads);
    assert_true(is_defined(s, "DPAS_LANES", m->width));
    assert_true(is_defined(s, "SV", sv) && is_defined(s, "BK", bk));
    assert_true(is_defined(s, "VA", c->d_head % 8 == 0));
    assert_non_null(strstr(s->options, " -DXL_DPAS_INTEL=1"));
    assert_true(s->local_mem_bytes <= m->local_kib * 1024);
    /* Lines of 32 bytes of whole blocks, of k and v. */
    const size_t lines = xl__round_up(c->n_kv, bk) * dp / DEEP;
    assert_true(pack->global[0] >= lines);
    assert_int_equal(pack->global[1], heads);
    assert_int_equal(pack->global[2], 2);
    const size_t joined =
        is_split ? xl__round_up(xl__attention_parts_bytes(c, s->global[2]), 64)
                 : 0;
    assert_int_equal(p->scratch_bytes,
                     joined + 2 * heads * lines * DEEP * ELEM);
    /* More sums than half the registers: two sub-groups, all registers. */
    assert_int_equal(sv == 2, is_wide);
    assert_true(dp / sv < 64 ||
                strstr(s->options, "-cl-intel-256-GRF-per-thread"));
    assert_true(isfinite(p->est_ns) && p->est_ns > 0);
    free(p);
}

static void intel(void **state)
{
    static const size_t columns[] = {37, 64, 72, 128, 256};
    struct xl__params params;
    (void)state;
    for (size_t i = 0; i < N_INTELS; i++) {
        struct xl__limits l;
        make_intel(&intels[i], &l);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            struct xl__attention_canonical c =
                make_case(4, 16, 1, 4096, 4096, columns[k]);
            check_intel(&intels[i], &l, &c, columns[k] > 160, &params);
            /* Prompts: large groups, not divided. */
            assert_true(params.value[XL__ATTENTION_BQ] >= 64);
            assert_int_equal(params.value[3], 1);
            assert_true(columns[k] != 64 ||
                        params.value[XL__ATTENTION_BK] == 64);
            c.kv_rows = (struct xl__attention_rows){XL_ROWS_PAGED, 16};
            c.q_rows.kind = XL_ROWS_PACKED;
            assert_null(xl__attention_dpas.refuses(&l, &c));
        }
        /* Few rows: no larger group than these need, keys divided. */
        struct xl__attention_canonical c = make_case(1, 8, 8, 1, 32768, 192);
        check_intel(&intels[i], &l, &c, true, &params);
        assert_int_equal(params.value[XL__ATTENTION_BQ], intels[i].width);
        assert_int_equal(params.value[3], 2);
        xl__limits_clear(&l);
    }
}

static void refuses_intel(void **state)
{
    const struct xl__variant *v = &xl__attention_dpas;
    struct xl__limits l;
    struct xl__attention_canonical c = make_case(2, 8, 4, 9, 90, 64);
    (void)state;
    make_intel(&intels[0], &l);
    c.view[XL__ATTENTION_K].stride[XL__HEADS_COL] = 2;
    assert_non_null(strstr(v->refuses(&l, &c), "contiguous"));
    c = make_case(2, 8, 4, 9, 90, 64);
    c.view[XL__ATTENTION_K].dtype = XL_I8;
    assert_non_null(strstr(v->refuses(&l, &c), "another type"));
    c = make_case(2, 8, 4, 9, 90, 64);
    c.view[XL__ATTENTION_Q].dtype = XL_F32;
    assert_non_null(strstr(v->refuses(&l, &c), "f32"));
    c = make_case(64, 64, 1, 16384, 16384, 128); /* 34 GB of k and v */
    assert_non_null(strstr(v->refuses(&l, &c), "32 bits"));
    l.model.dpas = NULL;
    c = make_case(2, 8, 4, 9, 90, 64);
    assert_non_null(strstr(v->refuses(&l, &c), "no systolic"));
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses),
                                       cmocka_unit_test(plans),
                                       cmocka_unit_test(refuses_terms),
                                       cmocka_unit_test(terms_memory),
                                       cmocka_unit_test(refuses_gradients),
                                       cmocka_unit_test(plans_gradients),
                                       cmocka_unit_test(amd),
                                       cmocka_unit_test(intel),
                                       cmocka_unit_test(refuses_intel)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("attention_mma_plans", tests, NULL,
                                       NULL);
}
