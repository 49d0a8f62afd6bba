/* SPDX-License-Identifier: Apache-2.0 */
/* The types that the headers state for each op, those that its check accepts,
 * and those of the cases that `clbench verify` runs: all three are the same.
 * Without a device. */
#include <string.h>

#include "cases/conv_cases.h"
#include "cases/expr_cases.h"
#include "ops/conv/conv.h"
#include "ops/gemm/gemm.h"
#include "ops/normalization/softmax.h"
#include "support/support.h"

#define BIT(dtype) (1u << (dtype))
enum {
    FLOATS = BIT(XL_F32) | BIT(XL_F16) | BIT(XL_BF16),
    FLOATS8 = BIT(XL_F8E4M3) | BIT(XL_F8E5M2),
    /* what an expression casts to */
    CASTS = FLOATS | BIT(XL_I32) | BIT(XL_I8) | BIT(XL_U8) | BIT(XL_BOOL)
};

/* A table of gemm.h, conv.h or expr.h: the results of each type of operands,
 * without and with an epilogue (a mask for softmax). */
struct stated {
    unsigned result, with_epilogue;
};
typedef struct stated stated_table[XL_N_DTYPES];

/* Whether a verify case has these types. */
typedef bool has_case_fn(xl_dtype in, xl_dtype out, bool has_epilogue);
typedef bool accepts_fn(xl_dtype in, xl_dtype out, bool has_epilogue);

static xl_queue queue; /* its error only */

/* -- gemm ------------------------------------------------------------------
 */

static const stated_table gemm_stated = {
    [XL_F32] = {FLOATS, CASTS},
    [XL_F16] = {FLOATS, CASTS},
    [XL_BF16] = {FLOATS, CASTS},
    [XL_F8E4M3] = {FLOATS, CASTS},
    [XL_F8E5M2] = {FLOATS, CASTS},
    [XL_F64] = {BIT(XL_F64), 0},
    [XL_I8] = {FLOATS | BIT(XL_I32), CASTS},
    [XL_U8] = {FLOATS | BIT(XL_I32), CASTS},
};

static bool gemm_accepts(xl_dtype in, xl_dtype out, bool has_epilogue)
{
    xl_gemm g = {XL_GEMM_INIT, .m = 2, .n = 2, .k = 2, .alpha = 1};
    g.a = g.b = xl_mat_rows(NULL, 2, in);
    g.c = xl_mat_rows(NULL, 2, out);
    g.epilogue.expr = has_epilogue ? "y" : NULL;
    xl__error_reset(&queue.error);
    return xl__op_gemm.check(&queue, &g, false) == XL_OK;
}

static bool gemm_has_case(xl_dtype in, xl_dtype out, bool has_epilogue)
{
    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        if ((c->use & CASE_VERIFY) && c->bias_relu == has_epilogue &&
            c->other_b == 0 && (in == XL_N_DTYPES || c->in == in) &&
            (out == XL_N_DTYPES || c->out == out))
            return true;
    }
    return false;
}

/* -- gemm, A and B of different types ------------------------------------- */

static bool takes_pair(xl_dtype a, xl_dtype b, xl_dtype out)
{
    xl_gemm g = {XL_GEMM_INIT, .m = 2, .n = 2, .k = 2, .alpha = 1};
    g.a = xl_mat_rows(NULL, 2, a);
    g.b = xl_mat_rows(NULL, 2, b);
    g.c = xl_mat_rows(NULL, 2, out);
    xl__error_reset(&queue.error);
    return xl__op_gemm.check(&queue, &g, false) == XL_OK;
}

/* Each type is that of A and that of B in a pair that is verified. */
static void gemm_pairs(void **state)
{
    enum {
        BYTES = BIT(XL_I8) | BIT(XL_U8),
        FACTORS = FLOATS | FLOATS8 | BYTES
    };
    unsigned of_a = 0, of_b = 0;
    (void)state;
    for (unsigned a = 0; a < XL_N_DTYPES; a++) {
        for (unsigned b = 0; b < XL_N_DTYPES; b++) {
            const bool are_bytes = (BIT(a) & BYTES) && (BIT(b) & BYTES);
            const bool is_stated = (BIT(a) & FACTORS) && (BIT(b) & FACTORS);
            for (unsigned out = 0; out < XL_N_DTYPES && a != b; out++) {
                const bool is_result =
                    is_stated && ((BIT(out) & FLOATS) ||
                                  (out == XL_I32 && are_bytes));
                if (takes_pair(a, b, out) != is_result)
                    fail_msg("%s * %s into %s is %staken", xl_dtype_name(a),
                             xl_dtype_name(b), xl_dtype_name(out),
                             is_result ? "not " : "");
            }
        }
    }
    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        if ((c->use & CASE_VERIFY) && c->other_b > 0) {
            of_a |= BIT(c->in);
            of_b |= BIT(c->other_b - 1);
        }
    }
    assert_int_equal(of_a, FACTORS);
    assert_int_equal(of_b, FACTORS);
}

/* -- conv ------------------------------------------------------------------
 */

static const stated_table conv_stated = {
    [XL_F32] = {FLOATS, CASTS},
    [XL_F16] = {FLOATS, CASTS},
    [XL_BF16] = {FLOATS, CASTS},
    [XL_F64] = {BIT(XL_F64), 0},
    [XL_I8] = {FLOATS | BIT(XL_I32), CASTS},
};

static bool conv_accepts(xl_dtype in, xl_dtype out, bool has_epilogue)
{
    xl_conv c = {XL_CONV_INIT, .n = 1, .c = 2, .h = 3,    .w = 3,
                 .k = 2,       .r = 1, .s = 1, .alpha = 1};
    c.in.dtype = c.filters.dtype = in;
    c.out.dtype = out;
    c.epilogue.expr = has_epilogue ? "y" : NULL;
    xl__error_reset(&queue.error);
    return xl__op_conv.check(&queue, &c, false) == XL_OK;
}

static bool conv_has_case(xl_dtype in, xl_dtype out, bool has_epilogue)
{
    for (const struct conv_case *c = conv_cases; c->name; c++) {
        if ((c->use & CASE_VERIFY) && c->has_norm == has_epilogue &&
            (in == XL_N_DTYPES || c->in == in) &&
            (out == XL_N_DTYPES || c->out == out))
            return true;
    }
    return false;
}

/* -- both ------------------------------------------------------------------
 */

/* An epilogue is applied to y, whatever the operands were: each type of
 * operands has a case with one, and so has each type of results. */
static void compare(const char *op, const stated_table stated,
                    accepts_fn *accepts, has_case_fn *has_case)
{
    for (unsigned in = 0; in < XL_N_DTYPES; in++) {
        for (unsigned out = 0; out < XL_N_DTYPES; out++) {
            const bool is_stated = stated[in].result & BIT(out);
            const bool with = stated[in].with_epilogue & BIT(out);
            const char *from = xl_dtype_name(in), *to = xl_dtype_name(out);
            if (accepts(in, out, false) != is_stated ||
                accepts(in, out, true) != with)
                fail_msg("%s: %s into %s is %staken", op, from, to,
                         is_stated || with ? "not " : "");
            if (has_case(in, out, false) != is_stated)
                fail_msg("%s: %s into %s: %s case", op, from, to,
                         is_stated ? "no" : "a");
            if (!with && has_case(in, out, true))
                fail_msg("%s: %s into %s with an epilogue: a case", op, from,
                         to);
            if (with && (!has_case(in, XL_N_DTYPES, true) ||
                         !has_case(XL_N_DTYPES, out, true)))
                fail_msg("%s: %s into %s with an epilogue: no case", op, from,
                         to);
        }
    }
}

static void gemm(void **state)
{
    (void)state;
    compare("gemm", gemm_stated, gemm_accepts, gemm_has_case);
}

static void conv(void **state)
{
    (void)state;
    compare("conv", conv_stated, conv_accepts, conv_has_case);
}

/* -- softmax ---------------------------------------------------------------
 */

static bool softmax_accepts(xl_dtype src, xl_dtype dst, xl_dtype mask,
                            bool has_epilogue)
{
    xl_softmax s = {XL_SOFTMAX_INIT,
                    .rows = 2,
                    .cols = 2,
                    .src = xl_mat_rows(NULL, 2, src),
                    .dst = xl_mat_rows(NULL, 2, dst),
                    .epilogue = {.expr = has_epilogue ? "y" : NULL}};
    if (mask != XL_N_DTYPES)
        s.mask = xl_mat_rows(NULL, 2, mask);
    xl__error_reset(&queue.error);
    return xl__op_softmax.check(&queue, &s, false) == XL_OK;
}

static bool softmax_has_case(xl_dtype src, xl_dtype mask)
{
    for (const struct softmax_case *c = softmax_cases; c->name; c++) {
        const bool is_masked = c->mask != MASK_NONE && c->mask < MASK_HOOKS;
        if ((c->use & CASE_VERIFY) && c->dtype == src &&
            is_masked == (mask != XL_N_DTYPES) &&
            (!is_masked || softmax_mask_dtype(c) == mask))
            return true;
    }
    return false;
}

/* src and dst are alike; the mask may have any of four types. */
static void softmax(void **state)
{
    (void)state;
    for (unsigned src = 0; src < XL_N_DTYPES; src++) {
        for (unsigned mask = 0; mask <= XL_N_DTYPES; mask++) {
            const bool is_stated =
                (FLOATS & BIT(src)) &&
                (mask == XL_N_DTYPES || ((FLOATS | BIT(XL_F64)) & BIT(mask)));
            if (softmax_accepts(src, src, mask, false) != is_stated ||
                softmax_has_case(src, mask) != is_stated)
                fail_msg("softmax of %s, mask %s", xl_dtype_name(src),
                         mask == XL_N_DTYPES ? "none" : xl_dtype_name(mask));
            if (mask < XL_N_DTYPES && mask != src)
                assert_false(softmax_accepts(src, mask, XL_N_DTYPES, false));
        }
    }
}

/* With an epilogue. Values are read and stored apart from each other, so that
 * each type of src and each of dst occurs in a case, not each pair. */
static void softmax_epilogue(void **state)
{
    unsigned read = 0, written = 0;
    (void)state;
    for (unsigned src = 0; src < XL_N_DTYPES; src++) {
        for (unsigned dst = 0; dst < XL_N_DTYPES; dst++) {
            if (softmax_accepts(src, dst, XL_N_DTYPES, true) !=
                ((FLOATS & BIT(src)) && (CASTS & BIT(dst))))
                fail_msg("softmax of %s into %s", xl_dtype_name(src),
                         xl_dtype_name(dst));
        }
    }
    for (const struct softmax_case *c = softmax_cases; c->name; c++) {
        if ((c->use & CASE_VERIFY) && c->mask >= MASK_HOOKS) {
            read |= BIT(c->dtype);
            written |= BIT(softmax_out_dtype(c));
        }
    }
    assert_int_equal(read, FLOATS);
    assert_int_equal(written, CASTS);
}

/* -- expressions -----------------------------------------------------------
 */

/* Tensors of every type are read and written. */
static void expr(void **state)
{
    unsigned read = 0, written = 0;
    (void)state;
    for (const struct expr_case *c = expr_cases; c->name; c++) {
        struct expr_spec spec;
        char why[EXPR_WHY_CAP];
        if (!(c->use & CASE_VERIFY))
            continue;
        assert_true(expr_case_spec(c, false, &spec, why));
        for (unsigned k = 0; k < spec.n; k++) {
            const struct expr_name *n = &spec.name[k];
            read |= n->is_input && !n->is_scalar ? BIT(n->dtype) : 0;
            written |= n->is_result ? BIT(n->dtype) : 0;
        }
    }
    assert_int_equal(read, CASTS);
    assert_int_equal(written, CASTS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm),    cmocka_unit_test(gemm_pairs),
        cmocka_unit_test(conv),
        cmocka_unit_test(softmax), cmocka_unit_test(softmax_epilogue),
        cmocka_unit_test(expr),
    };
    test_args(argc, argv);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    xl__error_clear(&queue.error);
    return failed;
}
