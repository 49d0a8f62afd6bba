/* SPDX-License-Identifier: Apache-2.0 */
/* Models of two layers in files of ggml: weights on the device are those that
 * were written, bit for bit, in the model's order of rows; the forward pass is
 * the host's in double. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forward_check.h"
#include "gguf_file.h"
#include "planner/forward/file_weights.h"

static struct test_device device;

/* clang-format off */
static const struct gguf_model models[] = {
    {"llama", 256, 4, 2, 64, 256, 67, "q4_k", "q6_k", "q4_k", "q6_k", NULL, 3,
     0, true},
    {"llama", 64, 4, 1, 16, 96, 67, "q4_0", "q4_0", "q8_0", "q5_0", "q4_1", 2,
     4, false},
    {"llama", 64, 4, 2, 32, 96, 67, "f16", "q8_0", "bf16", "f16", "f32", 3,
     4, true},
    {"qwen2", 64, 4, 2, 16, 96, 67, "iq4_nl", "mxfp4", "iq4_nl", "q8_0",
     "mxfp4", 3, 0, false},
    {"qwen3", 64, 4, 2, 32, 96, 67, "q8_0", "q8_0", "q8_0", "q4_0", "q8_0", 3,
     0, false},
    {"phi3", 64, 4, 2, 16, 96, 67, "q8_0", "q8_0", "q4_1", "q8_0", "q8_0", 3,
     0, false},
    {"gemma", 64, 4, 1, 32, 96, 67, "q8_0", "q8_0", "q8_0", "q8_0", NULL, 3,
     0, false},
    {"gemma2", 64, 4, 2, 16, 96, 67, "q8_0", "q8_0", "q8_0", "q8_0", NULL, 3,
     0, false},
    {"gemma3", 64, 4, 1, 32, 96, 67, "q8_0", "q8_0", "q8_0", "q8_0", NULL, 3,
     8, false},
    {"gpt2", 64, 4, 4, 16, 96, 67, "q8_0", "q8_0", "f16", "f32", NULL, 3, 0,
     false},
};
/* clang-format on */
enum { N_MODELS = sizeof models / sizeof *models };

struct fixture {
    struct xl__str bytes;
    struct gguf_truth truth;
    struct gguf file;
    struct lm_arch arch;
    struct lm_model model;
    char name[32];
};

static void open_model(unsigned i, struct fixture *f)
{
    struct xl__str why = {0};
    const struct lm_size size = check_size(XL_F32);
    const struct lm_source source = {.file = &f->file};
    snprintf(f->name, sizeof f->name, "model %u, %s", i, models[i].arch);
    gguf_model_write(&models[i], i, &f->bytes, &f->truth);
    if (!gguf_parse(f->name, f->bytes.text, f->bytes.len, &f->file, &why) ||
        !lm_file_read_arch(&f->file, 0, &f->arch, &why))
        fail_msg("%s: %s", f->name, xl__str_text(&why));
    assert_int_equal(f->arch.layers, GGUF_MODEL_LAYERS);
    assert_status(
        lm_model_create(device.queue, &f->arch, &source, &size, &f->model),
        XL_OK, xl_error_detail(device.queue));
}

static void close_model(struct fixture *f)
{
    lm_model_clear(&f->model);
    gguf_clear(&f->file);
    gguf_truth_clear(&f->truth);
    xl__str_clear(&f->bytes);
}

static void compare_matrix(const struct fixture *f, size_t layer, unsigned id,
                           const double *expected)
{
    const struct lm_matrix *m = &f->model.weights.matrix[layer][id];
    const size_t n = m->rows * m->cols;
    double *got = calloc(n, sizeof *got);
    assert_non_null(got);
    assert_status(lm_matrix_read(device.queue, m, got), XL_OK,
                  xl_error_detail(device.queue));
    for (size_t i = 0; i < n; i++)
        if (got[i] != expected[i])
            fail_msg("%s, layer %zu, matrix %u: row %zu, column %zu is %g, "
                     "not %g",
                     f->name, layer, id, i / m->cols, i % m->cols, got[i],
                     expected[i]);
    free(got);
}

/* Also that a matrix is there where one was written, and nowhere else. */
static void compare_layer(const struct fixture *f, size_t layer)
{
    const struct lm_matrix *m = f->model.weights.matrix[layer];
    double *const *truth = f->truth.matrix[layer];
    for (unsigned id = 0; id < LM_LAYER_MATRICES; id++) {
        const bool is_part =
            layer < GGUF_MODEL_LAYERS && (id == LM_KEYS || id == LM_VALUES);
        assert_true((truth[id] != NULL) == (m[id].rows > 0) || is_part);
        if (truth[id])
            compare_matrix(f, layer, id, truth[id]);
    }
    if (layer == GGUF_MODEL_LAYERS || m[LM_KEYS].rows == 0)
        return;
    const double *keys = truth[LM_QKV] + m[LM_QKV].rows * m[LM_QKV].cols;
    compare_matrix(f, layer, LM_KEYS, keys);
    compare_matrix(f, layer, LM_VALUES,
                   keys + m[LM_KEYS].rows * m[LM_KEYS].cols);
}

static void compare_vectors(const struct fixture *f)
{
    const struct lm_weights *w = &f->model.weights;
    float *all = calloc(w->n_vector_elems, sizeof *all);
    assert_non_null(all);
    assert_status(xl_buffer_read(device.queue, w->vectors, 0, all,
                                 w->n_vector_elems * sizeof *all),
                  XL_OK, xl_error_detail(device.queue));
    for (size_t l = 0; l <= GGUF_MODEL_LAYERS; l++)
        for (unsigned i = 0; i < LM_LAYER_VECTORS; i++) {
            const size_t n = lm_vector_size(&f->arch, l, (enum lm_vector_id)i);
            assert_true((n > 0) == (f->truth.vector[l][i] != NULL));
            for (size_t j = 0; j < n; j++)
                assert_true(all[w->vector[l][i] + j] ==
                            f->truth.vector[l][i][j]);
        }
    free(all);
}

static void weights_are_as_written(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_MODELS; i++) {
        struct fixture f = {.bytes = {0}};
        open_model(i, &f);
        for (size_t l = 0; l <= GGUF_MODEL_LAYERS; l++)
            compare_layer(&f, l);
        compare_vectors(&f);
        close_model(&f);
    }
}

static void check_pass(unsigned i)
{
    struct fixture f = {.bytes = {0}};
    open_model(i, &f);
    check_forward(&f.model, f.name);
    close_model(&f);
}

static void mixed_formats(void **state)
{
    (void)state;
    check_pass(0);
}

/* Slow, since most have kernels of their own to be built. */
static void other_models(void **state)
{
    (void)state;
    for (unsigned i = 1; i < N_MODELS; i++)
        check_pass(i);
}

int main(int argc, char **argv)
{
    test_args(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_as_written),
        cmocka_unit_test(mixed_formats), cmocka_unit_test(other_models)};
    return test_run_on_device(tests, &device, NULL);
}
