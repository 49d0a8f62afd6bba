/* SPDX-License-Identifier: Apache-2.0 */
/* How groups of rotary_rows share tokens and heads, on an H200: from the facts
 * alone. */
#include <string.h>

#include "base/alloc.h"
#include "ops/rotary/rotary.h"
#include "support/support.h"
#include "support/test_h200.h"

enum { ALIGN = 128 };

/* Llama's heads of 128 columns, f16; with scales and norms: into bytes. */
static struct xl__rotary_canonical tokens_of(size_t n_q, bool narrow)
{
    struct xl__rotary_canonical c = {.n_batch = 1, .n_heads = 32,
                                     .n_kv_heads = 8, .n_q = n_q,
                                     .d_head = 128, .d_rotary = 128,
                                     .pairs = XL_ROTARY_HALVES};
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++) {
        xl_heads *x = &c.view[i];
        const bool has_columns = i <= XL__ROTARY_V_CACHE,
                   is_extra = i == XL__ROTARY_K_SCALES ||
                              i == XL__ROTARY_V_SCALES ||
                              i >= XL__ROTARY_Q_NORM;
        if (!has_columns && !(narrow && is_extra))
            continue;
        x->mem.svm = (void *)1;
        x->dtype = !has_columns ? XL_F32
                   : narrow && i >= XL__ROTARY_K_CACHE ? XL_I8
                                                       : XL_F16;
        x->offset = ALIGN;
        x->stride[XL__HEADS_COL] = 1;
    }
    return c;
}

/* The launch of the model's choice, which must fit in `room` bytes. */
static struct xl__step plan_in(size_t room,
                               const struct xl__rotary_canonical *c)
{
    const struct xl__variant *v = &xl__rotary_rows;
    struct xl__plan *p = xl__calloc(1, sizeof *p);
    struct xl__limits l;
    struct xl__params params;
    assert_non_null(p);
    test_h200_limits(&l);
    l.used[XL__F_local_mem_bytes].value = (double)room;
    v->choose(&l, c, &params);
    assert_int_equal(v->plan(&l, c, &params, p), XL_OK);
    const struct xl__step step = p->step[0];
    assert_true(step.local_mem_bytes > 0 && step.local_mem_bytes <= room);
    free(p);
    xl__limits_clear(&l);
    return step;
}

static size_t groups_of(const struct xl__step *s)
{
    return s->global[0] / s->local[0];
}

/* A group has all heads of a token of a prompt, and computes its sines once; a
 * token alone is shared by groups; tokens with few heads share a group. */
static void shares(void **state)
{
    enum { ROOM = 226 * 1024, MANY = 4096 };
    struct xl__rotary_canonical c = tokens_of(MANY, false);
    (void)state;
    struct xl__step s = plan_in(ROOM, &c);
    assert_int_equal(groups_of(&s), MANY);
    assert_non_null(strstr(s.options, "-DTOKENS=1"));
    c = tokens_of(1, false);
    s = plan_in(ROOM, &c);
    assert_true(groups_of(&s) > 1);
    c = tokens_of(MANY, false);
    c.n_heads = 2;
    c.n_kv_heads = 1;
    s = plan_in(ROOM, &c);
    assert_int_equal(groups_of(&s), MANY / 4);
    assert_non_null(strstr(s.options, "-DTOKENS=4"));
}

/* Vectors of 2 x 8 halves, where all rows are aligned to them. */
static void aligned(void **state)
{
    enum { ROOM = 226 * 1024, BYTES = 32 };
    (void)state;
    for (unsigned i = XL__ROTARY_Q; i <= XL__ROTARY_V_CACHE; i++) {
        for (unsigned is_less = 0; is_less < 2; is_less++) {
            struct xl__rotary_canonical c = tokens_of(8, false);
            c.view[i].offset = is_less ? BYTES / 2 : BYTES;
            const struct xl__step s = plan_in(ROOM, &c);
            assert_non_null(strstr(s.options, is_less ? "-DVA=0" : "-DVA=1"));
        }
    }
}

/* Little local memory: fewer heads of an item, then fewer items. */
static void little_local_memory(void **state)
{
    (void)state;
    for (size_t room = 1024; room <= 16384; room *= 2) {
        const struct xl__rotary_canonical c = tokens_of(4096, true);
        (void)plan_in(room, &c);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares),
                                       cmocka_unit_test(aligned),
                                       cmocka_unit_test(little_local_memory)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("rotary plans", tests, NULL, NULL);
}
