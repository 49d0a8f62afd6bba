/* SPDX-License-Identifier: Apache-2.0 */
/* The forward pass of two-layer models of every family, against the host in
 * double: the logits behind a prompt, and behind each token that is decoded
 * with the cache.
 *
 * Tolerance: f = 16 d + 2^-12 |logit|, with d the largest change of a logit
 * that rounding what is stored to the type of the activations (f32 too) makes
 * on the host. Device and host round the same places; sums of the device have
 * other orders, of at most 2^9 terms, which for f32 is the larger part: 2^-12
 * is 2^9 u of a product, for 8 products one behind the other. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host_forward.h"

static struct test_device device;

enum { BATCH = 2, PROMPT = 7, DECODED = 3, CONTEXT = PROMPT + DECODED };

/* clang-format off */
#define SIZES "\"num_hidden_layers\": 3, \"vocab_size\": 131,"
static const struct {
    const char *name, *config, *weights;
    xl_dtype dtype;
} models[] = {
    {"llama", SIZES "\"model_type\": \"llama\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"head_dim\": 32, \"intermediate_size\": 96, \"rope_theta\": 500000",
     "f32", XL_F32},
    {"mistral", SIZES "\"model_type\": \"mistral\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96, \"sliding_window\": 4", "f32", XL_F32},
    {"qwen2", SIZES "\"model_type\": \"qwen2\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 14, \"num_key_value_heads\": 1,"
     "\"head_dim\": 16, \"intermediate_size\": 96, \"sliding_window\": 4,"
     "\"use_sliding_window\": false", "f32", XL_F32},
    {"qwen3", SIZES "\"model_type\": \"qwen3\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"head_dim\": 32, \"intermediate_size\": 96", "f32", XL_F32},
    {"gemma2", SIZES "\"model_type\": \"gemma2\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96, \"sliding_window\": 3,"
     "\"attn_logit_softcapping\": 5, \"final_logit_softcapping\": 3,"
     "\"query_pre_attn_scalar\": 20", "f32", XL_F32},
    {"gpt2", "\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_embd\": 64,"
     "\"n_head\": 4, \"n_positions\": 16, \"vocab_size\": 131", "f32",
     XL_F32},
    {"llama q8_0", SIZES "\"model_type\": \"llama\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96", "q8_0", XL_F16},
    {"llama int4/32", SIZES "\"model_type\": \"llama\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96", "int4/32", XL_F32},
};
/* clang-format on */
enum { N_MODELS = sizeof models / sizeof *models };

static void read_arch(const char *members, size_t layers, struct lm_arch *out)
{
    char text[1024];
    struct xl__str why = {0};
    snprintf(text, sizeof text, "{%s}", members);
    json_t *config = json_loads(text, 0, NULL);
    assert_non_null(config);
    if (!lm_arch_read(config, layers, out, &why))
        fail_msg("%s", xl__str_text(&why));
    xl__str_clear(&why);
    json_decref(config);
}

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

static void check_model(unsigned i)
{
    int ids[BATCH][CONTEXT + 1], prompt[BATCH][PROMPT];
    struct lm_arch arch;
    struct lm_type type;
    struct lm_model m;
    struct xl__str why = {0};
    const struct lm_size size = {BATCH, CONTEXT, PROMPT, models[i].dtype};
    read_arch(models[i].config, 2, &arch);
    assert_true(lm_type_read(models[i].weights, &type, &why));
    assert_status(lm_model_create(device.queue, &arch, &type, &size, i, &m),
                  XL_OK, xl_error_detail(device.queue));
    for (size_t b = 0; b < BATCH; b++)
        for (size_t t = 0; t < PROMPT; t++)
            prompt[b][t] = ids[b][t] =
                (int)((17 * b + 29 * t + 5) % arch.vocab);
    assert_status(lm_model_write_ids(&m, prompt[0], (size_t)BATCH * PROMPT),
                  XL_OK, xl_error_detail(device.queue));
    advance(&m, models[i].name, ids, PROMPT, 0);
    for (size_t t = 0; t < DECODED; t++)
        advance(&m, models[i].name, ids, 1, PROMPT + t);
    lm_model_clear(&m);
}

/* Of each kind of norm, position and MLP one. */
static bool is_everyday(unsigned i)
{
    return strcmp(models[i].name, "llama") == 0 ||
           strcmp(models[i].name, "gpt2") == 0;
}

static void two_families(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_MODELS; i++)
        if (is_everyday(i))
            check_model(i);
}

/* Slow, since most have kernels of their own to be built. */
static void other_families(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_MODELS; i++)
        if (!is_everyday(i))
            check_model(i);
}

int main(int argc, char **argv)
{
    test_args(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_families),
                                       cmocka_unit_test(other_families)};
    return test_run_on_device(tests, &device, NULL);
}
