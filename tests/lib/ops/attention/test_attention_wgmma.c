/* SPDX-License-Identifier: Apache-2.0 */
/* attention_wgmma and attention_backward_wgmma without a device: what they
 * refuse, the tiles that the model picks, memory, and the maps and coordinates
 * of layouts of heads, by which every element must be found again. */
#include <stdlib.h>
#include <string.h>

#include "ops/attention/attention.h"
#include "support/support.h"
#include "support/test_h200.h"

enum { WORDS = 16, STEPS_AT = 8, GRAD_STEPS_AT = 10, MAP_SIZES = 3 };

/* Rows of [B, H, N, D], or with `beside` of [B, N, H, D]. */
static void set_heads(xl_heads *x, size_t heads, size_t n, size_t d,
                      bool beside)
{
    const size_t dense[] = {heads * n * d, n * d, d, 1};
    const size_t in_rows[] = {heads * n * d, d, heads * d, 1};
    *x = (xl_heads){.mem.svm = (void *)1, .offset = 256, .dtype = XL_F16};
    memcpy(x->stride, beside ? in_rows : dense, sizeof x->stride);
}

static struct xl__attention_canonical
make_case(size_t batch, size_t heads, size_t kv_heads, size_t n_q, size_t n_kv,
          size_t d, bool is_causal, bool beside)
{
    const xl_attention a = {XL_ATTENTION_INIT,
                            .n_batch = batch,
                            .n_heads = heads,
                            .n_kv_heads = kv_heads,
                            .n_q = n_q,
                            .n_kv = n_kv,
                            .d_head = d,
                            .is_causal = is_causal};
    struct xl__attention_canonical c;
    xl__attention_set_sizes(&a, &c);
    set_heads(&c.view[XL__ATTENTION_Q], heads, n_q, d, beside);
    set_heads(&c.view[XL__ATTENTION_K], kv_heads, n_kv, d, beside);
    set_heads(&c.view[XL__ATTENTION_V], kv_heads, n_kv, d, beside);
    set_heads(&c.view[XL__ATTENTION_O], heads, n_q, d, beside);
    return c;
}

/* The same of the gradients. */
static struct xl__attention_canonical
make_gradient(size_t batch, size_t heads, size_t kv_heads, size_t n_q,
              size_t n_kv, size_t d, bool is_causal, bool beside)
{
    struct xl__attention_canonical c =
        make_case(batch, heads, kv_heads, n_q, n_kv, d, is_causal, beside);
    xl_heads *lse = &c.view[XL__ATTENTION_LSE];
    set_heads(lse, heads, n_q, 1, false);
    lse->dtype = XL_F32;
    set_heads(&c.view[XL__ATTENTION_GRAD_O], heads, n_q, d, beside);
    set_heads(&c.view[XL__ATTENTION_GRAD_Q], heads, n_q, d, beside);
    set_heads(&c.view[XL__ATTENTION_GRAD_K], kv_heads, n_kv, d, beside);
    set_heads(&c.view[XL__ATTENTION_GRAD_V], kv_heads, n_kv, d, beside);
    return c;
}

static void check_refused(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const char *word)
{
    const char *why = xl__attention_wgmma.refuses(l, c);
    assert_non_null(why);
    assert_non_null(strstr(why, word));
}

static void refuses(void **state)
{
    (void)state;
    struct xl__limits l;
    struct xl__attention_canonical c;
    test_h200_limits(&l);
    c = make_case(2, 4, 2, 100, 90, 128, true, false);
    assert_null(xl__attention_wgmma.refuses(&l, &c));
    c.is_scale_negative = 1;
    check_refused(&l, &c, "scale");
    c = make_case(2, 4, 2, 100, 90, 128, false, false);
    c.before = 10;
    check_refused(&l, &c, "window");
    c = make_case(2, 4, 2, 100, 90, 96, false, false);
    check_refused(&l, &c, "d_head");
    c = make_case(2, 4, 2, 100, 90, 128, false, false);
    c.view[XL__ATTENTION_K].offset = 8;
    check_refused(&l, &c, "16 bytes");
    c = make_case(2, 4, 2, 100, 90, 128, false, false);
    c.view[XL__ATTENTION_Q].dtype = XL_F32;
    check_refused(&l, &c, "type");
    /* Heads neither one dimension with sequences nor side by side. */
    c = make_case(2, 4, 2, 100, 90, 128, false, false);
    c.view[XL__ATTENTION_Q].stride[XL__HEADS_BATCH] *= 2;
    check_refused(&l, &c, "side by side");
    c = make_case(2, 4, 2, 100, 90, 128, false, false);
    c.kv_rows.kind = XL_ROWS_PAGED;
    check_refused(&l, &c, "pages");
    l.model.attention = NULL;
    c = make_case(2, 4, 2, 100, 90, 128, false, false);
    check_refused(&l, &c, "four sub-groups");
}

/* The same of f8e4m3, o of f16. */
static struct xl__attention_canonical make_f8(size_t n, bool is_causal,
                                              bool beside)
{
    struct xl__attention_canonical c =
        make_case(3, 4, 2, n, n, 128, is_causal, beside);
    for (unsigned v = XL__ATTENTION_Q; v <= XL__ATTENTION_V; v++)
        c.view[v].dtype = XL_F8E4M3;
    return c;
}

static void f8_refuses(void **state)
{
    struct xl__limits l;
    struct xl__attention_canonical c;
    (void)state;
    test_h200_limits(&l);
    c = make_f8(100, true, false);
    c.view[XL__ATTENTION_K_SCALES] =
        (xl_heads){.mem.svm = (void *)1, .stride = {2, 1, 0, 1}};
    assert_null(xl__attention_wgmma.refuses(&l, &c));
    c.view[XL__ATTENTION_K_SCALES].stride[XL__HEADS_ROW] = 1;
    check_refused(&l, &c, "single keys");
    c = make_f8(100, true, false);
    c.view[XL__ATTENTION_O].dtype = XL_F32;
    check_refused(&l, &c, "f32");
    c = make_f8(100, true, false);
    c.q_rows.kind = XL_ROWS_LENGTHS;
    check_refused(&l, &c, "unequal");
    c = make_f8(100, true, false);
    c.has_cap = 1;
    check_refused(&l, &c, "caps");
    c = make_f8(100, true, false);
    c.d_head = 64;
    check_refused(&l, &c, "d_head");
}

static void gradient_refuses(void **state)
{
    (void)state;
    const struct xl__variant *v = &xl__attention_backward_wgmma;
    static const struct {
        const char *word;
        unsigned view;
        size_t offset;
    } wrong[] = {{"16 bytes", XL__ATTENTION_GRAD_O, 8},
                 {"16 bytes", XL__ATTENTION_GRAD_Q, 8},
                 {"16 bytes", XL__ATTENTION_O, 8},
                 {"16 bytes", XL__ATTENTION_GRAD_V, 8}};
    struct xl__limits l;
    struct xl__attention_canonical c;
    test_h200_limits(&l);
    c = make_gradient(2, 4, 2, 100, 90, 128, false, true);
    assert_null(v->refuses(&l, &c));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        c = make_gradient(2, 4, 2, 100, 90, 128, false, true);
        c.view[wrong[i].view].offset = wrong[i].offset;
        assert_non_null(strstr(v->refuses(&l, &c), wrong[i].word));
    }
    c = make_gradient(2, 4, 2, 100, 90, 64, true, false);
    assert_null(v->refuses(&l, &c));
    c.has_cap = 1;
    assert_non_null(strstr(v->refuses(&l, &c), "caps"));
    c = make_gradient(2, 4, 2, 100, 90, 96, false, false);
    assert_non_null(strstr(v->refuses(&l, &c), "d_head"));
    c = make_gradient(2, 4, 2, 100, 90, 128, false, false);
    c.before = 10;
    assert_non_null(strstr(v->refuses(&l, &c), "window"));
}

static struct xl__plan *plan_by(const struct xl__limits *l,
                                const struct xl__variant *v,
                                const struct xl__attention_canonical *c)
{
    struct xl__plan *p = calloc(1, sizeof *p);
    struct xl__params params;
    assert_non_null(p);
    v->choose(l, c, &params);
    assert_int_equal(XL_OK, v->plan(l, c, &params, p));
    return p;
}

static struct xl__plan *plan_of(const struct xl__limits *l,
                                const struct xl__attention_canonical *c)
{
    return plan_by(l, &xl__attention_wgmma, c);
}

/* As attention.h states it: d_head + 3 floats a query, of a head a multiple of
 * 128 queries, and 256 bytes. */
static void gradient_memory(void **state)
{
    (void)state;
    static const size_t queries[] = {1, 64, 65, 128, 1000};
    enum { DIMS = 2, N_QUERIES = sizeof queries / sizeof *queries };
    struct xl__limits l;
    test_h200_limits(&l);
    for (size_t i = 0; i < DIMS * N_QUERIES; i++) {
        const size_t d = i % DIMS ? 64 : 128, n = queries[i / DIMS];
        const struct xl__attention_canonical c =
            make_gradient(2, 4, 2, n, 300, d, false, false);
        struct xl__plan *p = plan_by(&l, &xl__attention_backward_wgmma, &c);
        const size_t rounded = (n + 127) / 128 * 128;
        assert_true(p->scratch_bytes <=
                    2 * 4 * rounded * (d + 3) * sizeof(float) + 256);
        assert_true(p->step[1].local_mem_bytes <=
                    xl__num_or(&l, XL__F_local_mem_bytes, 0));
        assert_true(p->est_ns > p->flop / 1.08e15 * 1e9);
        free(p);
    }
}

/* Few queries have the tile with less to start; NV-56. */
static void tiles(void **state)
{
    (void)state;
    struct xl__limits l;
    test_h200_limits(&l);
    static const struct {
        size_t n, d, queries;
    } expected[] = {{512, 128, 128}, {4096, 128, 192}, {4096, 64, 192}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const size_t n = expected[i].n;
        const struct xl__attention_canonical c = make_case(
            16384 / n, 16, 16, n, n, expected[i].d, false, false);
        struct xl__params params;
        xl__attention_wgmma.choose(&l, &c, &params);
        assert_int_equal(expected[i].queries,
                         params.value[XL__ATTENTION_BQ]);
        struct xl__plan *p = plan_of(&l, &c);
        assert_true(p->est_ns > p->flop / 1.08e15 * 1e9);
        assert_true(p->step[0].local_mem_bytes <=
                    xl__num_or(&l, XL__F_local_mem_bytes, 0));
        free(p);
    }
}

/* Of a plan with given tunables. */
static double estimate_by(const struct xl__limits *l,
                          const struct xl__params *params,
                          const struct xl__attention_canonical *c)
{
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_int_equal(XL_OK, xl__attention_wgmma.plan(l, c, params, p));
    const double ns = p->est_ns;
    free(p);
    return ns;
}

/* Scores with a cap, a mask, slopes: tiles whose registers have room; an
 * estimate above that of the scaled product, also by the same tile; an
 * argument for each of them, also of packed rows. */
static void scores(void **state)
{
    (void)state;
    struct xl__limits l;
    test_h200_limits(&l);
    for (size_t d = 64; d <= 128; d += 64) {
        struct xl__attention_canonical c =
            make_case(4, 16, 16, 4096, 4096, d, true, false);
        c.q_rows.kind = c.kv_rows.kind = XL_ROWS_PACKED;
        struct xl__plan *plain = plan_of(&l, &c);
        c.has_cap = 1;
        set_heads(&c.view[XL__ATTENTION_MASK], 16, 4096, 4096, false);
        set_heads(&c.view[XL__ATTENTION_SLOPES], 16, 1, 1, false);
        assert_null(xl__attention_wgmma.refuses(&l, &c));
        struct xl__plan *p = plan_of(&l, &c);
        struct xl__params params;
        xl__attention_wgmma.choose(&l, &c, &params);
        assert_int_equal(64, params.value[XL__ATTENTION_BK]);
        assert_true(p->est_ns > plain->est_ns);
        /* Two operands, the cap, a view and its count of words, a value of
         * each head and its count. */
        assert_int_equal(plain->step[1].n_args + 3 + 6 + 4, p->step[1].n_args);
        free(p);
        free(plain);
        c.view[XL__ATTENTION_MASK].mem.svm = NULL;
        xl__attention_wgmma.choose(&l, &c, &params);
        const double scored = estimate_by(&l, &params, &c);
        c.has_cap = 0;
        c.view[XL__ATTENTION_SLOPES].mem.svm = NULL;
        assert_true(scored > estimate_by(&l, &params, &c));
    }
}

/* Of scores in the caller's text these tiles have the least estimate, as they
 * have the least time (NV-68). */
static void texts(void **state)
{
    static const struct {
        double flop;
        unsigned n_operands;
    } expected[] = {{2, 2}, {18, 0}}; /* x + slope * at, 20 * tanh(x / 20) */
    (void)state;
    struct xl__limits l;
    test_h200_limits(&l);
    for (size_t i = 0; i < 4; i++) {
        const struct xl__epilogue_text text = {.flop = expected[i % 2].flop,
                                               .n_operands =
                                                   expected[i % 2].n_operands};
        struct xl__attention_canonical c =
            make_case(4, 16, 16, 4096, 4096, i < 2 ? 64 : 128, false, false);
        c.score = &text;
        struct xl__plan *ours = plan_of(&l, &c), *p = calloc(1, sizeof *p);
        struct xl__params params;
        xl__attention_mma.choose(&l, &c, &params);
        assert_non_null(p);
        assert_int_equal(XL_OK, xl__attention_mma.plan(&l, &c, &params, p));
        assert_true(ours->est_ns < p->est_ns);
        free(ours);
        free(p);
    }
}

/* The element that the kernel reads for a sequence, head, row and column, from
 * the constant words of the head, where steps of the maps are from steps_at
 * on, and of the i-th map. */
static size_t locate(const struct xl__step *s, xl_dtype dtype,
                     unsigned steps_at, unsigned i, size_t batch, size_t h,
                     size_t row, size_t col)
{
    const size_t grain = 16 / xl_dtype_bytes(dtype);
    const struct xl__arg *head = &s->args[1 + WORDS];
    const uint64_t step = s->args[1 + steps_at + i].as.u;
    /* An operand is a pointer, the count of words, 15 words. */
    const struct xl__arg *map = head + i * 17 + 2;
    const uint64_t columns = step & UINT32_MAX, sequence = step >> 32;
    const uint64_t per_row = (map[0].as.u >> 32) * grain;
    const uint64_t third = map[1].as.u * grain;
    const uint64_t x = columns * h + col;
    const uint64_t z = sequence * batch + (columns == 0 ? h : 0);
    assert_true(z <= map[MAP_SIZES + 1].as.u);
    return (size_t)(x + row * per_row + z * third);
}

static void check_located(const struct xl__attention_canonical *c,
                          const struct xl__step *s, unsigned steps_at,
                          unsigned i, unsigned view)
{
    size_t size[XL__HEADS_DIMS];
    const size_t *stride = c->view[view].stride;
    xl__attention_sizes(c, view, size);
    for (size_t b = 0; b < size[XL__HEADS_BATCH]; b++)
        for (size_t h = 0; h < size[XL__HEADS_HEAD]; h++)
            assert_int_equal(
                b * stride[XL__HEADS_BATCH] + h * stride[XL__HEADS_HEAD] +
                    69 * stride[XL__HEADS_ROW] + 63,
                locate(s, c->view[view].dtype, steps_at, i, b, h, 69, 63));
}

static void layouts(void **state)
{
    (void)state;
    static const unsigned grads[] = {
        XL__ATTENTION_Q,      XL__ATTENTION_K,      XL__ATTENTION_V,
        XL__ATTENTION_GRAD_O, XL__ATTENTION_GRAD_K, XL__ATTENTION_GRAD_V};
    struct xl__limits l;
    test_h200_limits(&l);
    for (unsigned trial = 0; trial < 16; trial++) {
        const bool beside = trial & 1, is_causal = trial & 2;
        const size_t batch = 1 + (trial >> 2 & 1) * 2;
        const size_t kv_heads = 1 + (trial >> 3 & 1) * 2;
        struct xl__attention_canonical c = make_case(
            batch, 2 * kv_heads, kv_heads, 70, 90, 64, is_causal, beside);
        struct xl__plan *p = plan_of(&l, &c);
        assert_null(xl__attention_wgmma.refuses(&l, &c));
        assert_int_equal(1 + is_causal, p->n_steps);
        for (unsigned v = XL__ATTENTION_Q; v <= XL__ATTENTION_O; v++)
            check_located(&c, &p->step[p->n_steps - 1], STEPS_AT, v, v);
        free(p);
        c = make_gradient(batch, 2 * kv_heads, kv_heads, 70, 90, 64, is_causal,
                          beside);
        p = plan_by(&l, &xl__attention_backward_wgmma, &c);
        for (unsigned i = 0; i < sizeof grads / sizeof *grads; i++)
            check_located(&c, &p->step[1], GRAD_STEPS_AT, i, grads[i]);
        free(p);
    }
}

/* A step packs values and sets the counter to 0; memory is as the kernels
 * count it; few queries have the tile with less to start. */
static void f8_plans(void **state)
{
    enum { VALUES = 1, FIRST_VALUE = 256, V_AT = 1 + 4 + XL__ATTENTION_V };
    static const size_t n[] = {1024, 8192}, queries[] = {128, 192},
                        keys[] = {128, 96};
    struct xl__limits l;
    (void)state;
    test_h200_limits(&l);
    for (unsigned i = 0; i < 4; i++) {
        const struct xl__attention_canonical c =
            make_f8(n[i / 2], i & 1, i & 1);
        struct xl__params params;
        struct xl__plan *p = plan_of(&l, &c);
        xl__attention_wgmma.choose(&l, &c, &params);
        assert_int_equal(queries[i / 2], params.value[XL__ATTENTION_BQ]);
        assert_int_equal(keys[i / 2], params.value[XL__ATTENTION_BK]);
        assert_int_equal(2, p->n_steps);
        assert_string_equal("attention_wgmma_values", p->step[0].kernel);
        assert_int_equal(FIRST_VALUE + 3 * 2 * 128 *
                                           ((n[i / 2] + keys[i / 2] - 1) /
                                            keys[i / 2] * keys[i / 2]),
                         p->scratch_bytes);
        assert_int_equal(FIRST_VALUE, p->step[VALUES].args[V_AT].as.u);
        assert_true(p->step[VALUES].local_mem_bytes <=
                    xl__num_or(&l, XL__F_local_mem_bytes, 0));
        assert_true(p->est_ns > p->flop / 2.17e15 * 1e9);
        check_located(&c, &p->step[VALUES], STEPS_AT, XL__ATTENTION_K,
                      XL__ATTENTION_K);
        check_located(&c, &p->step[VALUES], STEPS_AT, XL__ATTENTION_O,
                      XL__ATTENTION_O);
        free(p);
    }
}

/* Of packed rows a map ends with the memory of the call, and sequences are no
 * coordinate; those of blocks are as without lengths. Tiles are counted, since
 * only the device knows them. */
static void lengths(void **state)
{
    enum { HEADS = 4, BATCH_WORD = 4, MAP = 17, MAPS_AT = 1 + WORDS + 2 };
    struct xl__limits l;
    (void)state;
    test_h200_limits(&l);
    for (unsigned trial = 0; trial < 4; trial++) {
        const size_t kind = trial & 1 ? XL_ROWS_PACKED : XL_ROWS_LENGTHS;
        struct xl__attention_canonical c =
            make_case(3, HEADS, 2, 70, 90, 64, trial & 2, true);
        c.q_rows.kind = c.kv_rows.kind = kind;
        for (unsigned v = 0; v <= XL__ATTENTION_O; v++)
            if (kind == XL_ROWS_PACKED)
                c.view[v].stride[XL__HEADS_BATCH] = 0;
        assert_null(xl__attention_wgmma.refuses(&l, &c));
        struct xl__plan *p = plan_of(&l, &c);
        const struct xl__step *s = &p->step[1];
        assert_int_equal(2, p->n_steps);
        assert_int_equal(HEADS | (uint64_t)3 << 32, s->args[BATCH_WORD].as.u);
        for (unsigned v = 0; v <= XL__ATTENTION_O; v++) {
            const struct xl__arg *size =
                &s->args[MAPS_AT + v * MAP + MAP_SIZES];
            const uint64_t step = s->args[1 + STEPS_AT + v].as.u;
            const bool is_packed = kind == XL_ROWS_PACKED;
            const size_t rows =
                v == XL__ATTENTION_K || v == XL__ATTENTION_V ? 90 : 70;
            assert_int_equal(XL__ARG_COORDS, size->kind);
            assert_int_equal(
                (is_packed ? XL__ATTENTION_END : XL__ATTENTION_OFF) + v,
                size->slot);
            assert_int_equal(is_packed ? UINT32_MAX : rows - 1,
                             size->as.at[1]);
            assert_int_equal(c.view[v].stride[XL__HEADS_ROW], size->line);
            assert_int_equal(is_packed ? 0 : 1, step >> 32);
        }
        free(p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),         cmocka_unit_test(f8_refuses),
        cmocka_unit_test(scores),          cmocka_unit_test(gradient_refuses),
        cmocka_unit_test(gradient_memory), cmocka_unit_test(tiles),
        cmocka_unit_test(f8_plans),        cmocka_unit_test(layouts),
        cmocka_unit_test(lengths),         cmocka_unit_test(texts),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("attention_wgmma", tests, NULL, NULL);
}
