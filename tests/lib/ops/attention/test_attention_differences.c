/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of the host reference (bench/verify) against finite
 * differences of its forward pass, in double: grouped heads with what a query
 * sees and each term of a score.
 *
 * With L = sum of grad_o o, (L(x + e) - L(x - e)) / 2 e is the gradient within
 * e^2 / 6 times a third derivative of L, here below 100 times the sum of
 * |grad_o|, and the rounding of L over e: for e = 1e-4 both are below 1e-6 of
 * that sum. */
#include <math.h>

#include "base/rng.h"
#include "support/support.h"
#include "verify/attention_gradients.h"

enum { HEADS = 4, SHARE = 2, N_Q = 5, N_KV = 7, DIM = 4 };
enum { MOST = HEADS * N_KV * N_Q, NOTHING_SEEN = 2 };
static const double step = 1e-4;

static double value[ATTENTION_OPERANDS][MOST];
static double weight[N_KV];

static struct attention_ref ref_of(const struct attention_case *c)
{
    struct attention_ref r = {.c = c};
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++)
        r.operand[x] = (struct ref_mat){value[x], 0,
                                        attention_lines(c, x).cols, 1, XL_F64};
    return r;
}

/* L; with o and lse stored. */
static double loss(const struct attention_case *c)
{
    const struct attention_ref r = ref_of(c);
    struct attention_row row = {.weight = weight};
    double sum = 0, tol;
    for (size_t h = 0; h < HEADS; h++) {
        for (size_t i = 0; i < c->n_q; i++) {
            const size_t line = attention_line(c, ATTENTION_O, 0, h, i);
            attention_row(&r, 0, h, i, &row);
            value[ATTENTION_LSE][h * c->n_q + i] = row.lse;
            for (size_t col = 0; col < DIM; col++) {
                const size_t at = line * DIM + col;
                value[ATTENTION_O][at] =
                    attention_expected(&r, &row, col, &tol);
                sum += value[ATTENTION_GRAD_O][at] * value[ATTENTION_O][at];
            }
        }
    }
    return sum;
}

static double slope(const struct attention_case *c, double *at)
{
    const double was = *at;
    *at = was + step;
    const double up = loss(c);
    *at = was - step;
    const double down = loss(c);
    *at = was;
    (void)loss(c);
    return (up - down) / (2 * step);
}

static void fill(const struct attention_case *c)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, 1 + c->with);
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        for (unsigned i = 0; i < MOST; i++)
            value[x][i] = xl__rng_normal(&rng);
    }
    for (unsigned j = 0; j < N_KV; j++)
        value[ATTENTION_MASK][NOTHING_SEEN * N_KV + j] = -(double)INFINITY;
    value[ATTENTION_MASK][0] = -(double)INFINITY;
}

static void check_case(const struct attention_case *c)
{
    struct attention_pair pair[SHARE * N_Q + N_KV];
    double size = 0, tol;
    fill(c);
    (void)loss(c);
    const struct attention_ref r = ref_of(c);
    for (size_t i = 0; i < HEADS * c->n_q * DIM; i++)
        size += fabs(value[ATTENTION_GRAD_O][i]);
    for (unsigned x = ATTENTION_GRAD_Q; x <= ATTENTION_GRAD_V; x++) {
        const unsigned of = ATTENTION_Q + x - ATTENTION_GRAD_Q;
        const bool is_q = of == ATTENTION_Q;
        struct attention_line_at at = {.operand = x};
        for (at.h = 0; at.h < (is_q ? HEADS : HEADS / SHARE); at.h++) {
            for (at.i = 0; at.i < (is_q ? c->n_q : c->n_kv); at.i++) {
                const size_t line = attention_line(c, of, 0, at.h, at.i);
                attention_pairs_of(&r, &at, pair);
                for (size_t col = 0; col < DIM; col++) {
                    const double got =
                        attention_gradient(&r, &at, pair, col, &tol);
                    const double want = slope(c, &value[of][line * DIM + col]);
                    if (!(fabs(got - want) <= 1e-6 * size))
                        fail_msg("%s, %s[%zu][%zu][%zu]: %.12g, the "
                                 "difference %.12g",
                                 c->name, attention_names[x], at.h, at.i, col,
                                 got, want);
                }
            }
        }
    }
}

static void differences(void **state)
{
#define CASE(called, q, kv, ...)                                              \
    {                                                                         \
        .name = called, .n_batch = 1, .n_heads = HEADS, .share = SHARE,       \
        .n_q = q, .n_kv = kv, .d = DIM, .dtype = XL_F64, .mask = XL_F64,      \
        .is_backward = true, __VA_ARGS__                                      \
    }
    static const struct attention_case cases[] = {
        CASE("full", N_Q, N_KV, .with = 0),
        CASE("causal", N_Q, N_KV, .is_causal = true),
        CASE("causal, more queries", N_Q, 3, .is_causal = true),
        CASE("window", N_Q, N_KV, .window = 2, .rows_first = true),
        CASE("scale and cap", N_Q, N_KV, .scale = -0.7, .soft_cap = 1.5),
        CASE("mask", N_Q, N_KV, .with = WITH_SHARED_MASK),
        CASE("slopes and sinks", N_Q, N_KV, .with = WITH_SLOPES | WITH_SINKS),
        CASE("all at once", N_Q, N_KV, .is_causal = true, .window = 4,
             .soft_cap = 2,
             .with = WITH_SHARED_MASK | WITH_SLOPES | WITH_SINKS)};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
