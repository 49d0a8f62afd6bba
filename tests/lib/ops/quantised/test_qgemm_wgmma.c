/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_wgmma without a device: the order in which A is stored, against the
 * nibbles that an item of the kernel takes from W's words; what it refuses;
 * memory, groups and steps of every set of tunables. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/path/tunables.h"
#include "ops/quantised/qgemm.h"
#include "support/support.h"
#include "support/test_h200.h"

/* -- the order ------------------------------------------------------------ */

enum { MOST_COLS = 256, PIECE = 16, LINE = 128, EACH = LINE / PIECE };

/* quantised/nvidia/order.clh of a format, TM 16. */
struct order {
    size_t cols, row_bytes, block_a;
    size_t (*column)(size_t run, size_t t, size_t q, size_t e);
    size_t (*piece_at)(size_t row, size_t piece);
    /* Of word `run` of item t, nibble i, from bit 4 i on: its column. */
    size_t (*nibble)(size_t run, size_t t, size_t i);
};
#define COLUMN(run, t, q, e)                                                  \
    (RUN_COL(run, RUN_ELEM(t, q, e) / 8) + RUN_ELEM(t, q, e) % 8)

#define TM 16
#define FORMAT 0
#include "quantised/nvidia/order.clh"
static size_t q4_0_column(size_t run, size_t t, size_t q, size_t e)
{
    return COLUMN(run, t, q, e);
}
static size_t q4_0_piece(size_t row, size_t piece)
{
    return PIECE_AT(row, piece);
}
/* Bytes 4 t to 4 t + 3 of block `run`, whose high halves are 16 columns on. */
static size_t q4_0_nibble(size_t run, size_t t, size_t i)
{
    return 32 * run + 4 * t + i / 2 + i % 2 * 16;
}
static const struct order q4_0 = {COLS,        ROW_BYTES,  BLOCK_A,
                                  q4_0_column, q4_0_piece, q4_0_nibble};
#undef XL_QUANTISED_ORDER_CLH
#undef FORMAT
#undef COLS
#undef ROW_BYTES
#undef RUN_COL
#undef RUN_ELEM
#undef SPAN_A
#undef BLOCK_A
#undef PIECE_AT
#define FORMAT 8
#include "quantised/nvidia/order.clh"
static size_t int4_column(size_t run, size_t t, size_t q, size_t e)
{
    return COLUMN(run, t, q, e);
}
static size_t int4_piece(size_t row, size_t piece)
{
    return PIECE_AT(row, piece);
}
/* Word `run` of the item's 16 bytes, two columns a byte. */
static size_t int4_nibble(size_t run, size_t t, size_t i)
{
    return 2 * (PIECE * t + 4 * run) + i;
}
static const struct order int4 = {COLS,        ROW_BYTES,  BLOCK_A,
                                  int4_column, int4_piece, int4_nibble};

/* Pair q of a word, of the kernel's EXPAND: nibbles q and q + 4, which are in
 * the low and in the high half of the word. */
static void check_order(const struct order *o)
{
    bool has[MOST_COLS] = {false};
    for (size_t run = 0; run < o->cols / 32; run++)
        for (size_t t = 0; t < 4; t++)
            for (size_t q = 0; q < 4; q++)
                for (size_t e = 0; e < 2; e++) {
                    const size_t col = o->column(run, t, q, e);
                    assert_true(col < o->cols && !has[col]);
                    has[col] = true;
                    assert_int_equal(col, o->nibble(run, t, q + 4 * e));
                }
    const size_t pieces = o->block_a / PIECE / TM;
    assert_int_equal(pieces * 8, o->cols);
    /* A swizzle of 128 bytes: chunk i of line r is the (i ^ r % 8)-th. */
    for (size_t row = 0; row < TM; row++)
        for (size_t p = 0; p < pieces; p++) {
            const size_t at = o->piece_at(row, p);
            assert_int_equal(at / LINE, p / EACH * TM + row);
            assert_int_equal(at % LINE, (p % EACH ^ row % EACH) * PIECE);
        }
}

static void order(void **state)
{
    (void)state;
    check_order(&q4_0);
    check_order(&int4);
}

/* -- plans ---------------------------------------------------------------- */

static xl_qgemm make_call(xl_qformat format, size_t m, size_t n, size_t k)
{
    return (xl_qgemm){XL_QGEMM_INIT, .m = m, .a = xl_mat_rows(NULL, k, XL_F16),
                      .w.shape = {format, n, k, 128, 0},
                      .c = xl_mat_rows(NULL, n, XL_F16)};
}

static struct xl__qgemm_canonical bind(const xl_qgemm *g)
{
    struct xl__qgemm_canonical c;
    struct xl__call call;
    memset(&call, 0, sizeof call);
    assert_int_equal(xl__op_qgemm.bind(NULL, g, &c, &call), XL_OK);
    return c;
}

static void refused(const xl_qgemm *g, const char *word)
{
    struct xl__limits l;
    test_h200_limits(&l);
    const struct xl__qgemm_canonical c = bind(g);
    const char *why = xl__qgemm_wgmma.refuses(&l, &c);
    if (!word != !why || (word && !strstr(why, word)))
        fail_msg("%s, not %s", why ? why : "supported",
                 word ? word : "supported");
    xl__limits_clear(&l);
}

#define REFUSES(change, word)                                                 \
    do {                                                                      \
        xl_qgemm g = make_call(XL_INT4, 64, 512, 1024);                       \
        change;                                                               \
        refused(&g, word);                                                    \
    } while (0)

static void refuses(void **state)
{
    (void)state;
    REFUSES((void)g, NULL);
    REFUSES(g.w.shape.format = XL_Q4_0, NULL);
    REFUSES(g.a.dtype = XL_F32, "this type");
    REFUSES(g.w.shape.format = XL_Q8_0, "int4 or q4_0");
    REFUSES(g.w.shape.group = 64, "128 columns");
    REFUSES(g.w.offset = 8, "16 bytes");
    REFUSES(g.w.blocks.svm = (void *)256, "SVM");
    REFUSES(g.a.offset = 1, "rows of A");
    REFUSES(g.activations = XL_ACTIVATIONS_I8, "bytes");
}

/* Scratch holds the sums of parts, then A in its order, of whole tiles and
 * boxes. Returns whether there is a plan. */
static bool check_set(const struct xl__limits *l,
                      const struct xl__qgemm_canonical *c,
                      const struct xl__params *params, struct xl__plan *p)
{
    enum { ROWS = 64, LANES = 128, ALIGN = 256 };
    const size_t tm = (size_t)params->value[XL__QGEMM_TM],
                 wr = (size_t)params->value[XL__QGEMM_RN],
                 wk = (size_t)params->value[XL__QGEMM_SK],
                 parts = (size_t)params->value[XL__QGEMM_RT];
    const struct order *o = c->format == XL_Q4_0 ? &q4_0 : &int4;
    memset(p, 0, sizeof *p);
    if (xl__qgemm_wgmma.plan(l, c, params, p) != XL_OK)
        return false;
    const size_t sums = parts > 1 ? parts * c->m * c->n * sizeof(float) : 0;
    const size_t of_a = xl__round_up(c->m, tm) *
                        xl__round_up(c->k, o->cols * wk) * sizeof(uint16_t);
    const struct xl__step *s = &p->step[1];
    assert_int_equal(p->n_steps, parts > 1 ? 3 : 2);
    assert_int_equal(p->scratch_bytes, xl__round_up(sums, ALIGN) + of_a);
    assert_true((double)s->local_mem_bytes <=
                xl__num(l, XL__F_local_mem_bytes));
    assert_true(s->local[0] > wr * wk * LANES && s->local[0] <= 1024);
    assert_int_equal(s->global[0] / s->local[0],
                     xl__ceil_div(c->n, wr * ROWS));
    assert_int_equal(s->global[1], parts);
    assert_int_equal(s->global[2], xl__ceil_div(c->m, tm));
    assert_true(p->step[0].is_aid && !s->is_aid);
    return true;
}

static void sets(void **state)
{
    static const size_t rows[] = {1, 16, 65, 300};
    struct xl__limits l;
    struct xl__plan *p = calloc(1, sizeof *p);
    unsigned n_plans = 0, n = 0;
    (void)state;
    assert_non_null(p);
    test_h200_limits(&l);
    const struct xl__tunable *t = xl__qgemm_wgmma.tunables;
    for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
        xl_qgemm g =
            make_call(i % 2 ? XL_Q4_0 : XL_INT4, rows[i / 4], 331, 5504);
        g.accuracy = i % 4 < 2 ? XL_ACCURACY_FULL : XL_ACCURACY_FAST;
        const struct xl__qgemm_canonical c = bind(&g);
        struct xl__params params = {.source = "model"};
        xl__qgemm_wgmma.choose(&l, &c, &params);
        assert_true(check_set(&l, &c, &params, p));
        for (const int *tm = t[XL__QGEMM_TM].legal; *tm; tm++)
            for (const int *wr = t[XL__QGEMM_RN].legal; *wr; wr++)
                for (const int *wk = t[XL__QGEMM_SK].legal; *wk; wk++)
                    for (int st = 2; st < 13; st += 5) {
                        params.value[XL__QGEMM_TM] = *tm;
                        params.value[XL__QGEMM_RN] = *wr;
                        params.value[XL__QGEMM_SK] = *wk;
                        params.value[XL__QGEMM_ST] = st;
                        params.value[XL__QGEMM_RT] = 1 + (int)(n++ % 3);
                        n_plans += check_set(&l, &c, &params, p);
                    }
    }
    assert_true(n_plans > n / 10 && n_plans < n);
    free(p);
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order),
                                       cmocka_unit_test(refuses),
                                       cmocka_unit_test(sets)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("qgemm_wgmma", tests, NULL, NULL);
}
