/* SPDX-License-Identifier: Apache-2.0 */
/* Logits behind a prompt, and behind each token that is decoded with the
 * cache.
 *
 * Tolerance: f = 16 d + 2^-12 |logit|, with d the largest change of a logit
 * that rounding what is stored to the type of the activations (f32 too) makes
 * on the host. Device and host round the same places; sums of the device have
 * other orders, of at most 2^9 terms, which for f32 is the larger part: 2^-12
 * is 2^9 u of a product, for 8 products one behind the other. */
#include "forward_check.h"

#include <math.h>
#include <stdlib.h>

#include "host_forward.h"
#include "support/support.h"

enum { BATCH = CHECK_BATCH, CONTEXT = CHECK_CONTEXT };

/* The device's logits of a sequence against the host's, of its first n ids. */
static void compare(struct lm_model *m, const char *name, const int *ids,
                    size_t sequence, size_t n)
{
    static const double factor = 16, share = 0x1p-12;
    const size_t vocab = m->arch->vocab;
    double *exact = calloc(vocab, sizeof *exact);
    double *rounded = calloc(vocab, sizeof *rounded);
    float *got = calloc(vocab, sizeof *got);
    double d = 0, largest = 0;
    assert_true(exact && rounded && got);
    host_forward(m, ids, n, XL_F64, exact);
    host_forward(m, ids, n, m->size.dtype, rounded);
    assert_status(xl_buffer_read(m->q, m->buffer[LM_LOGITS],
                                 sequence * vocab * sizeof *got, got,
                                 vocab * sizeof *got),
                  XL_OK, xl_error_detail(m->q));
    for (size_t i = 0; i < vocab; i++)
        d = fmax(d, fabs(exact[i] - rounded[i]));
    for (size_t i = 0; i < vocab; i++) {
        const double tol = factor * d + share * fabs(exact[i]);
        largest = fmax(largest, fabs(exact[i]));
        if (!(fabs(got[i] - exact[i]) <= tol))
            fail_msg("%s, sequence %zu, %zu tokens: logit %zu is %g, not %g "
                     "+- %g",
                     name, sequence, n, i, got[i], exact[i], tol);
    }
    assert_true(largest > factor * d); /* the comparison means something */
    free(exact);
    free(rounded);
    free(got);
}

static void read_next(struct lm_model *m, int ids[BATCH][CONTEXT + 1],
                      size_t at)
{
    int next[BATCH];
    assert_status(
        xl_buffer_read(m->q, m->buffer[LM_NEXT], 0, next, sizeof next), XL_OK,
        xl_error_detail(m->q));
    for (size_t b = 0; b < BATCH; b++) {
        assert_in_range(next[b], 0, m->arch->vocab - 1);
        ids[b][at] = next[b];
    }
}

/* Run tokens behind what is there, and compare. */
static void advance(struct lm_model *m, const char *name,
                    int ids[BATCH][CONTEXT + 1], size_t tokens, size_t past)
{
    struct lm_pass pass;
    assert_status(lm_pass_build(m, tokens, past, &pass), XL_OK,
                  xl_error_detail(m->q));
    assert_status(lm_pass_run(m->q, &pass, NULL), XL_OK,
                  xl_error_detail(m->q));
    for (size_t b = 0; b < BATCH; b++)
        compare(m, name, ids[b], b, past + tokens);
    read_next(m, ids, past + tokens);
    lm_pass_clear(&pass);
}

void check_forward(struct lm_model *m, const char *name)
{
    int ids[BATCH][CONTEXT + 1], prompt[BATCH][CHECK_PROMPT];
    for (size_t b = 0; b < BATCH; b++)
        for (size_t t = 0; t < CHECK_PROMPT; t++)
            prompt[b][t] = ids[b][t] =
                (int)((17 * b + 29 * t + 5) % m->arch->vocab);
    assert_status(
        lm_model_write_ids(m, prompt[0], (size_t)BATCH * CHECK_PROMPT), XL_OK,
        xl_error_detail(m->q));
    advance(m, name, ids, CHECK_PROMPT, 0);
    for (size_t t = 0; t < CHECK_DECODED; t++)
        advance(m, name, ids, 1, CHECK_PROMPT + t);
}
