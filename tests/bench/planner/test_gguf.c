/* SPDX-License-Identifier: Apache-2.0 */
/* Files of ggml: what is read, which damage is refused with which message, and
 * that no bytes at all end the process. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "fuzz/gguf_reading.h"
#include "gguf_file.h"
#include "planner/gguf/config.h"

static const struct gguf_model small = {
    "llama", 32,     2,      1,      16, 32, 5,   "q8_0",
    "q4_0",  "q4_0", "q8_0", "q8_0", 3,  2,  true};

/* -- values --------------------------------------------------------------- */

static void write_values(struct gguf_file *f)
{
    static const float x[] = {1, -2, 3, 4, 5, 6};
    static const uint16_t half[] = {0x3C00, 0xC000}; /* 1, -2 */
    gguf_file_u32(f, "a.count", 7);
    gguf_file_f32(f, "b.factor", 0.5f);
    gguf_file_text(f, "c.name", "text");
    gguf_file_tensor(f, "t.matrix", 2, 3, 0, x, sizeof x);
    gguf_file_tensor(f, "t.half", 0, 2, 1, half, sizeof half);
}

/* In an array of exactly their size, so that a byte too many is seen. */
static bool parse(const struct xl__str *bytes, struct gguf *out,
                  struct xl__str *why, void **copy)
{
    *copy = malloc(bytes->len > 0 ? bytes->len : 1);
    assert_non_null(*copy);
    if (bytes->len > 0)
        memcpy(*copy, bytes->text, bytes->len);
    return gguf_parse("file", *copy, bytes->len, out, why);
}

static void check_values(uint32_t version, size_t alignment)
{
    struct gguf_file f;
    struct xl__str bytes, why = {0};
    struct gguf g;
    void *copy;
    float x[6];
    gguf_file_begin(&f, version, alignment);
    write_values(&f);
    gguf_file_end(&f, &bytes);
    if (!parse(&bytes, &g, &why, &copy))
        fail_msg("%s", xl__str_text(&why));
    assert_true(gguf_find(&g, "a.count")->number == 7);
    assert_true(gguf_find(&g, "b.factor")->number == 0.5);
    const struct gguf_value *text = gguf_find(&g, "c.name");
    assert_int_equal(text->text.len, 4);
    assert_memory_equal(text->text.text, "text", 4);
    assert_null(gguf_find(&g, "a.coun"));
    assert_null(gguf_find(&g, "a.count2"));
    const struct gguf_tensor *t = gguf_find_tensor(&g, "t.matrix");
    assert_int_equal(t->rows, 2);
    assert_int_equal(t->cols, 3);
    assert_int_equal(gguf_read_rows(t, 1, 1, x), XL_OK);
    assert_true(x[0] == 4 && x[2] == 6);
    assert_int_equal(gguf_read_rows(gguf_find_tensor(&g, "t.half"), 0, 1, x),
                     XL_OK);
    assert_true(x[0] == 1 && x[1] == -2);
    assert_null(gguf_find_tensor(&g, "t"));
    gguf_clear(&g);
    free(copy);
    xl__str_clear(&bytes);
}

static void values_and_tensors(void **state)
{
    (void)state;
    check_values(3, 0);
    check_values(2, 0);
    check_values(3, 8);
    check_values(3, 4096);
}

static void write_file(const char *path, const struct xl__str *bytes)
{
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes->text, 1, bytes->len, to), bytes->len);
    assert_int_equal(fclose(to), 0);
}

static void files_are_opened(void **state)
{
    (void)state;
    char path[512];
    struct gguf_truth truth;
    struct xl__str bytes, why = {0};
    struct gguf g;
    snprintf(path, sizeof path, "%s/model.gguf", test_scratch("gguf"));
    gguf_model_write(&small, 1, &bytes, &truth);
    write_file(path, &bytes);
    assert_true(gguf_open(path, &g, &why));
    assert_int_equal(g.len, bytes.len);
    gguf_clear(&g);
    assert_false(gguf_open(test_scratch("gguf"), &g, &why)); /* a folder */
    gguf_clear(&g);
    assert_non_null(strstr(xl__str_text(&why), "cannot be read"));
    xl__str_reset(&why);
    assert_false(gguf_open(path, &g, &why)); /* it was removed */
    gguf_clear(&g);
    assert_non_null(strstr(xl__str_text(&why), "No such file"));
    xl__str_clear(&why);
    xl__str_clear(&bytes);
    gguf_truth_clear(&truth);
}

/* Values and data beyond what is read first; then another program makes the
 * file shorter. */
static void files_become_shorter(void **state)
{
    enum { LONG = 3 << 20, COLS = 1 << 10, ROWS = 1 << 10 };
    (void)state;
    char path[512], *text = malloc(LONG + 1);
    float *x = malloc((size_t)ROWS * COLS * sizeof *x), row[COLS];
    struct gguf_file f;
    struct xl__str bytes, why = {0};
    struct gguf g;
    assert_true(text && x);
    memset(text, 'a', LONG);
    text[LONG] = '\0';
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        x[i] = (float)i;
    snprintf(path, sizeof path, "%s/long.gguf", test_scratch("gguf"));
    gguf_file_begin(&f, 3, 0);
    gguf_file_text(&f, "a.long", text);
    gguf_file_u32(&f, "b.last", 7);
    gguf_file_tensor(&f, "t.matrix", ROWS, COLS, 0, x,
                     (size_t)ROWS * COLS * sizeof *x);
    gguf_file_end(&f, &bytes);
    write_file(path, &bytes);
    if (!gguf_open(path, &g, &why))
        fail_msg("%s", xl__str_text(&why));
    assert_true(gguf_find(&g, "b.last")->number == 7);
    const struct gguf_tensor *t = gguf_find_tensor(&g, "t.matrix");
    assert_int_equal(gguf_read_rows(t, ROWS - 1, 1, row), XL_OK);
    assert_memory_equal(row, x + (size_t)(ROWS - 1) * COLS, sizeof row);
    assert_int_equal(*g.failure, '\0');
    bytes.len -= sizeof *x;
    write_file(path, &bytes);
    assert_int_equal(gguf_read_rows(t, ROWS - 1, 1, row), XL_IO);
    assert_non_null(strstr(g.failure, "long.gguf', byte "));
    assert_non_null(strstr(g.failure, "shorter"));
    assert_int_equal(gguf_read_rows(t, ROWS - 2, 1, row), XL_OK);
    gguf_clear(&g);
    xl__str_clear(&why);
    xl__str_clear(&bytes);
    free(text);
    free(x);
}

/* -- damage --------------------------------------------------------------- */

static void expect_refused(const struct xl__str *bytes, const char *message)
{
    struct xl__str why = {0};
    struct gguf g;
    void *copy;
    if (parse(bytes, &g, &why, &copy))
        fail_msg("not refused: %s", message);
    if (!strstr(xl__str_text(&why), message) ||
        strncmp(xl__str_text(&why), "'file', byte ", 13) != 0)
        fail_msg("'%s', not '%s'", xl__str_text(&why), message);
    gguf_clear(&g);
    free(copy);
    xl__str_clear(&why);
}

/* Bytes of a file that are overwritten with a number, by their offset. */
static void header_is_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *message;
    } damage[] = {
        {0, 1, 'X', "byte 0: the file does not begin with 'GGUF'"},
        {4, 4, 1, "byte 4: version 1 is not supported"},
        {4, 4, 4, "version 4 is not supported"},
        {4, 4, 3u << 24, "byte 4: the file is big-endian"},
        {8, 8, UINT64_MAX, "byte 8: 18446744073709551615 tensors are more"},
        {16, 8, 1 << 20, "byte 16: 1048576 values of metadata are more"},
        {24, 8, UINT64_MAX, "byte 32: the file ends in a key"},
        {39, 4, 13, "byte 39: 13 is not a type of a value"},
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct gguf_file f;
        struct xl__str bytes;
        gguf_file_begin(&f, 3, 0);
        write_values(&f);
        gguf_file_end(&f, &bytes);
        for (size_t j = 0; j < damage[i].bytes; j++)
            bytes.text[damage[i].at + j] =
                (char)(unsigned char)(damage[i].value >> 8 * j);
        expect_refused(&bytes, damage[i].message);
        xl__str_clear(&bytes);
    }
}

static void tensors_are_checked(void **state)
{
    (void)state;
    enum { ROOM = 64 };
    static const char zeros[ROOM],
        long_name[] = "a.name.of.more.than.64.bytes.which.no.program.writes."
                      "and.none.reads";
    static const struct {
        const char *name;
        uint64_t rows, cols;
        uint32_t type;
        const char *message;
    } damage[] = {
        {"t", 0, 2, 13, "tensor 't' has the format q5_k (13)"},
        {"t", 0, 2, 99, "the format unknown (99)"},
        {"t", 1, 33, 8, "not of whole blocks of q8_0"},
        {"t", 0, 0, 0, "is empty, too large"},
        {"t", UINT64_MAX, 3, 0, "is empty, too large"},
        {"t", 1u << 31, UINT64_MAX, 0, "is empty, too large"},
        {"t", 1, 100, 0, "400 bytes at 0, exceeds the file's"},
        {"", 1, 4, 0, "the name of a tensor has 0 bytes"},
        {long_name, 1, 4, 0, "the name of a tensor has 67 bytes"},
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct gguf_file f;
        struct xl__str bytes;
        gguf_file_begin(&f, 3, 0);
        gguf_file_tensor(&f, damage[i].name, damage[i].rows, damage[i].cols,
                         damage[i].type, zeros, sizeof zeros);
        gguf_file_end(&f, &bytes);
        expect_refused(&bytes, damage[i].message);
        xl__str_clear(&bytes);
    }
}

static void names_and_places_are_checked(void **state)
{
    (void)state;
    static const float x[8];
    struct gguf_file f;
    struct xl__str bytes;
    gguf_file_begin(&f, 3, 0);
    gguf_file_u32(&f, "a", 1);
    gguf_file_u32(&f, "a", 1);
    gguf_file_end(&f, &bytes);
    expect_refused(&bytes, "'a' is there twice");
    xl__str_clear(&bytes);

    gguf_file_begin(&f, 3, 0);
    gguf_file_tensor(&f, "a", 0, 8, 0, x, sizeof x);
    gguf_file_tensor(&f, "a", 0, 8, 0, x, sizeof x);
    gguf_file_end(&f, &bytes);
    expect_refused(&bytes, "'a' is there twice");
    xl__str_clear(&bytes);

    gguf_file_begin(&f, 3, 0);
    gguf_file_u32(&f, "general.alignment", 12);
    gguf_file_end(&f, &bytes);
    expect_refused(&bytes, "general.alignment must be a multiple of 8");
    xl__str_clear(&bytes);

    gguf_file_begin(&f, 3, 0);
    f.alignment = 8; /* not as the file says */
    gguf_file_tensor(&f, "a", 0, 2, 0, x, 8);
    gguf_file_tensor(&f, "b", 0, 6, 0, x, 24);
    gguf_file_end(&f, &bytes);
    expect_refused(&bytes, "is at 8, which is not a multiple of 32");
    xl__str_clear(&bytes);
}

static void ends_are_found(void **state)
{
    (void)state;
    struct gguf_file f;
    struct xl__str bytes;
    gguf_file_begin(&f, 3, 0);
    write_values(&f);
    gguf_file_end(&f, &bytes);
    while (bytes.len > 0) {
        bytes.len--;
        expect_refused(&bytes, "'file', byte ");
    }
    xl__str_clear(&bytes);
}

/* -- what a model needs --------------------------------------------------- */

static void expect_no_model(struct gguf_file *f, const char *message)
{
    struct xl__str bytes, why = {0};
    struct gguf g;
    void *copy;
    static struct lm_arch arch;
    gguf_file_end(f, &bytes);
    if (!parse(&bytes, &g, &why, &copy))
        fail_msg("%s", xl__str_text(&why));
    assert_false(lm_file_read_arch(&g, 0, &arch, &why));
    if (!strstr(xl__str_text(&why), message))
        fail_msg("'%s', not '%s'", xl__str_text(&why), message);
    gguf_clear(&g);
    free(copy);
    xl__str_clear(&bytes);
    xl__str_clear(&why);
}

static void begin_llama(struct gguf_file *f)
{
    gguf_file_begin(f, 3, 0);
    gguf_file_text(f, "general.architecture", "llama");
    gguf_file_u32(f, "llama.block_count", 1);
    gguf_file_u32(f, "llama.embedding_length", 32);
    gguf_file_u32(f, "llama.feed_forward_length", 32);
    gguf_file_u32(f, "llama.attention.head_count", 2);
}

static void models_are_checked(void **state)
{
    (void)state;
    static const float x[64];
    struct gguf_file f;
    gguf_file_begin(&f, 3, 0);
    expect_no_model(&f, "general.architecture is missing");
    gguf_file_begin(&f, 3, 0);
    gguf_file_text(&f, "general.architecture", "bert");
    expect_no_model(&f, "architecture 'bert' is not supported: must be one of "
                        "llama");
    begin_llama(&f);
    expect_no_model(&f, "vocab_size");
    begin_llama(&f);
    gguf_file_u32(&f, "llama.rope.dimension_count", 8);
    gguf_file_tensor(&f, "token_embd.weight", 2, 32, 0, x, sizeof x);
    expect_no_model(&f, "llama.rope.dimension_count is 8: must be the 16");
    begin_llama(&f);
    gguf_file_text(&f, "llama.rope.scaling.type", "yarn");
    gguf_file_tensor(&f, "token_embd.weight", 2, 32, 0, x, sizeof x);
    expect_no_model(&f, "rope_scaling of type 'yarn' is not supported");
    begin_llama(&f);
    gguf_file_u32(&f, "llama.expert_count", 8);
    gguf_file_tensor(&f, "token_embd.weight", 2, 32, 0, x, sizeof x);
    expect_no_model(&f, "mixtures of experts");
    begin_llama(&f);
    gguf_file_tensor(&f, "token_embd.weight", 2, 32, 0, x, sizeof x);
    expect_no_model(&f, "tensor 'blk.0.attn_q.weight' is missing");
    begin_llama(&f);
    gguf_file_tensor(&f, "token_embd.weight", 2, 32, 0, x, sizeof x);
    gguf_file_tensor(&f, "blk.0.attn_q.weight", 2, 32, 0, x, sizeof x);
    expect_no_model(&f, "tensor 'blk.0.attn_q.weight' has 2 x 32 elements of "
                        "f32: must have 32 x 32");
}

static void other_tensors_are_refused(void **state)
{
    (void)state;
    /* a model of qwen3 by the name of llama, which has no norms of queries */
    enum { NAME = 5 };
    struct gguf_model m = small;
    struct gguf_truth truth;
    struct xl__str bytes, why = {0};
    struct gguf g;
    static struct lm_arch arch;
    m.arch = "qwen3";
    gguf_model_write(&m, 1, &bytes, &truth);
    for (size_t i = 0; i + NAME < bytes.len; i++)
        if (memcmp(bytes.text + i, m.arch, NAME) == 0)
            memcpy(bytes.text + i, "llama", NAME);
    assert_true(gguf_parse("file", bytes.text, bytes.len, &g, &why));
    assert_false(lm_file_read_arch(&g, 0, &arch, &why));
    if (!strstr(xl__str_text(&why), "attn_k_norm.weight' is not one that"))
        fail_msg("%s", xl__str_text(&why));
    gguf_clear(&g);
    xl__str_clear(&bytes);
    gguf_truth_clear(&truth);
    xl__str_clear(&why);
}

/* -- scaled positions ----------------------------------------------------- */

static void read_scaled(const char *scaling, struct lm_arch *out,
                        struct xl__str *why)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"model_type\": \"llama\", \"num_hidden_layers\": 1,"
             "\"hidden_size\": 64, \"num_attention_heads\": 1,"
             "\"intermediate_size\": 64, \"vocab_size\": 8,"
             "\"rope_theta\": 10000, \"rope_scaling\": %s}",
             scaling);
    json_t *config = json_loads(text, 0, NULL);
    assert_non_null(config);
    xl__str_reset(why);
    assert_true(lm_arch_read(config, 0, out, why) == (why->len == 0));
    json_decref(config);
}

/* Source: the definition in the configuration of Llama 3.1: wavelengths below
 * context / high are kept, above context / low divided, mixed between. */
static void positions_are_scaled(void **state)
{
    (void)state;
    static struct lm_arch a;
    struct xl__str why = {0};
    const double pi = acos(-1.0);
    read_scaled("{\"rope_type\": \"llama3\", \"factor\": 8,"
                "\"low_freq_factor\": 1, \"high_freq_factor\": 4,"
                "\"original_max_position_embeddings\": 8192}",
                &a, &why);
    unsigned kept = 0, divided = 0, mixed = 0;
    for (size_t i = 0; i < 32; i++) {
        const double frequency = pow(10000, -(double)i / 32);
        const double wavelength = 2 * pi / frequency;
        const double smooth = (8192 / wavelength - 1) / (4 - 1);
        double want = (1 - smooth) * frequency / 8 + smooth * frequency;
        kept += wavelength < 8192.0 / 4;
        divided += wavelength > 8192;
        mixed += wavelength >= 8192.0 / 4 && wavelength <= 8192;
        if (wavelength < 8192.0 / 4)
            want = frequency;
        else if (wavelength > 8192)
            want = frequency / 8;
        assert_true(fabs(frequency / a.rope_divisor[i] - want) <=
                    1e-12 * want);
    }
    assert_true(kept > 0 && divided > 0 && mixed > 0);
    read_scaled("{\"type\": \"linear\", \"factor\": 2.5}", &a, &why);
    assert_true(a.rope_divisor[0] == 2.5 && a.rope_divisor[31] == 2.5);
    read_scaled("{\"rope_type\": \"default\"}", &a, &why);
    assert_true(a.rope_divisor[0] == 1 && why.len == 0);
    read_scaled("null", &a, &why);
    assert_true(a.rope_divisor[31] == 1 && why.len == 0);
    read_scaled("{\"rope_type\": \"yarn\", \"factor\": 2}", &a, &why);
    assert_non_null(strstr(xl__str_text(&why), "'yarn' is not supported"));
    read_scaled("{\"rope_type\": \"llama3\", \"factor\": 8}", &a, &why);
    assert_non_null(strstr(xl__str_text(&why), "are required"));
    xl__str_clear(&why);
}

/* -- mutations ------------------------------------------------------------ */

static void mutate(struct xl__rng *rng, struct xl__str *bytes, size_t head)
{
    static const uint64_t numbers[] = {
        0,         1,          0x7F,      0xFF,       0xFFFF,
        INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX / 32 + 1};
    enum { N_NUMBERS = sizeof numbers / sizeof *numbers };
    const size_t at = (size_t)xl__rng_below(rng, head);
    const uint64_t number = numbers[xl__rng_below(rng, N_NUMBERS)];
    switch (xl__rng_below(rng, 4)) {
    case 0:
        bytes->text[at] = (char)(unsigned char)xl__rng_below(rng, 256);
        break;
    case 1:
        bytes->text[at] ^= (char)(1 << xl__rng_below(rng, 7));
        break;
    case 2:
        bytes->len -= (size_t)xl__rng_below(rng, bytes->len / 4);
        break;
    default:
        for (size_t i = 0; i < 8 && at + i < bytes->len; i++)
            bytes->text[at + i] = (char)(unsigned char)(number >> 8 * i);
    }
}

static void damaged_bytes(void **state)
{
    (void)state;
    enum { TIMES = 10000, DATA = 6000 };
    struct gguf_truth truth;
    struct xl__str whole, bytes = {0}, why = {0};
    struct xl__rng rng;
    unsigned n_read = 0;
    xl__rng_seed(&rng, 1);
    gguf_model_write(&small, 1, &whole, &truth);
    for (unsigned i = 0; i < TIMES; i++) {
        struct gguf g;
        void *copy;
        xl__str_reset(&bytes);
        xl__str_reset(&why);
        xl__str_add_n(&bytes, whole.text, whole.len);
        for (uint64_t n = xl__rng_below(&rng, 4) + 1; n > 0; n--)
            mutate(&rng, &bytes,
                   whole.len > DATA ? whole.len - DATA : whole.len);
        if (parse(&bytes, &g, &why, &copy)) {
            read_gguf_model(&g, &why);
            n_read++;
        } else {
            assert_true(why.len > 0);
        }
        gguf_clear(&g);
        free(copy);
    }
    assert_in_range(n_read, TIMES / 100, TIMES / 2); /* some get so far */
    gguf_truth_clear(&truth);
    xl__str_clear(&whole);
    xl__str_clear(&bytes);
    xl__str_clear(&why);
}

int main(int argc, char **argv)
{
    test_args(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_tensors),
        cmocka_unit_test(files_are_opened),
        cmocka_unit_test(files_become_shorter),
        cmocka_unit_test(header_is_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(names_and_places_are_checked),
        cmocka_unit_test(ends_are_found),
        cmocka_unit_test(models_are_checked),
        cmocka_unit_test(other_tensors_are_refused),
        cmocka_unit_test(positions_are_scaled),
        cmocka_unit_test(damaged_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
