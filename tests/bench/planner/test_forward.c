/* SPDX-License-Identifier: Apache-2.0 */
/* The forward pass of two-layer models of every family, against the host in
 * double: the logits behind a prompt, and behind each token that is decoded
 * with the cache. */
#include "support/support.h"

#include <string.h>

#include "forward_check.h"

static struct test_device device;

/* clang-format off */
#define SIZES "\"num_hidden_layers\": 3, \"vocab_size\": 131,"
static const struct {
    const char *name, *config, *weights;
    xl_dtype dtype;
} models[] = {
    {"llama", SIZES "\"model_type\": \"llama\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"head_dim\": 32, \"intermediate_size\": 96, \"rope_theta\": 500000,"
     "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8,"
     "\"low_freq_factor\": 1, \"high_freq_factor\": 4,"
     "\"original_max_position_embeddings\": 16}",
     "f32", XL_F32},
    {"mistral", SIZES "\"model_type\": \"mistral\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96, \"sliding_window\": 4", "q4_0", XL_F32},
    {"qwen2", SIZES "\"model_type\": \"qwen2\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 14, \"num_key_value_heads\": 1,"
     "\"head_dim\": 16, \"intermediate_size\": 96, \"sliding_window\": 4,"
     "\"use_sliding_window\": false", "f32", XL_F32},
    {"qwen3", SIZES "\"model_type\": \"qwen3\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"head_dim\": 32, \"intermediate_size\": 96", "mxfp4", XL_F32},
    {"gemma2", SIZES "\"model_type\": \"gemma2\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96, \"sliding_window\": 3,"
     "\"attn_logit_softcapping\": 5, \"final_logit_softcapping\": 3,"
     "\"query_pre_attn_scalar\": 20", "q8_0", XL_F32},
    {"gemma3", SIZES "\"model_type\": \"gemma3_text\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"head_dim\": 32, \"intermediate_size\": 96, \"rope_theta\": 500,"
     "\"rope_local_base_freq\": 20, \"sliding_window\": 4,"
     "\"sliding_window_pattern\": 2, \"rope_scaling\": {"
     "\"rope_type\": \"linear\", \"factor\": 8}", "f32", XL_F32},
    {"gpt2", "\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_embd\": 64,"
     "\"n_head\": 4, \"n_positions\": 16, \"vocab_size\": 131", "f32",
     XL_F32},
    {"llama q8_0", SIZES "\"model_type\": \"llama\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96", "q8_0", XL_F16},
    {"llama int4/32", SIZES "\"model_type\": \"llama\", \"hidden_size\": 64,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 96", "int4/32", XL_F32},
    {"llama fp8", SIZES "\"model_type\": \"llama\", \"hidden_size\": 128,"
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
     "\"intermediate_size\": 160", "fp8", XL_F32},
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

static void check_model(unsigned i)
{
    struct lm_arch arch;
    struct lm_source source = {.seed = i};
    struct lm_model m;
    struct xl__str why = {0};
    const struct lm_size size = check_size(models[i].dtype);
    read_arch(models[i].config, 2, &arch);
    assert_true(lm_type_read(models[i].weights, &source.type, &why));
    assert_status(lm_model_create(device.queue, &arch, &source, &size, &m),
                  XL_OK, xl_error_detail(device.queue));
    check_forward(&m, models[i].name);
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
