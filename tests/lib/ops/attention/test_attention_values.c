/* SPDX-License-Identifier: Apache-2.0 */
/* cl/attention/nvidia/values.cl, which packs v for attention_wgmma: each byte
 * is where the instruction reads the key and column that the registers of P
 * have, by the PTX ISA's tables written down again here; keys past the last
 * are 0; factors of heads; bytes around are untouched. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/attention/attention.h"
#include "runtime/launch.h"
#include "support/support.h"
#include "targets/targets.h"

enum {
    BATCH = 2,
    HEADS = 4,
    KV_HEADS = 2,
    N_KV = 203,
    DIM = 128,
    ROW = DIM + 16, /* bytes from key to key */
    STEP = 32,      /* bytes of k of an instruction */
    FACTORS = 128,  /* bytes before these */
    GUARD = 0xA5,
    GUARD_BYTES = 64,
    HEAD_BYTES = N_KV * ROW,
    V_BYTES = BATCH * KV_HEADS * HEAD_BYTES
};

static struct test_device t;
static unsigned char v[V_BYTES];
static float scales[2][BATCH * KV_HEADS];

static cl_mem buffer(size_t bytes, const void *from)
{
    cl_mem mem = NULL;
    assert_status(xl_buffer_create(t.queue, bytes, &mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, mem, 0, from, bytes), XL_OK,
                  xl_error_detail(t.queue));
    return mem;
}

static struct xl__attention_canonical make_case(void)
{
    const xl_attention a = {XL_ATTENTION_INIT, .n_batch = BATCH,
                            .n_heads = HEADS,  .n_kv_heads = KV_HEADS,
                            .n_q = 5,          .n_kv = N_KV,
                            .d_head = DIM};
    struct xl__attention_canonical c;
    xl__attention_set_sizes(&a, &c);
    for (unsigned i = 0; i <= XL__ATTENTION_O; i++) {
        xl_heads *x = &c.view[i];
        const size_t kv[] = {KV_HEADS * HEAD_BYTES, HEAD_BYTES, ROW, 1};
        *x = (xl_heads){.mem.svm = (void *)1,
                        .offset = 16,
                        .dtype = i == XL__ATTENTION_O ? XL_F16 : XL_F8E4M3};
        memcpy(x->stride, kv, sizeof kv);
    }
    for (unsigned i = XL__ATTENTION_K_SCALES; i <= XL__ATTENTION_V_SCALES; i++)
        c.view[i] = (xl_heads){.mem.svm = (void *)1,
                               .offset = 4,
                               .stride = {KV_HEADS, 1, 0, 1},
                               .dtype = XL_F32};
    return c;
}

/* The step of a tile of so many keys, alone. */
static struct xl__plan *plan_of(const struct xl__attention_canonical *c,
                                int queries, int keys)
{
    struct xl__plan *p = calloc(1, sizeof *p);
    struct xl__limits l;
    struct xl__params params = {.source = "test"};
    assert_non_null(p);
    xl__limits_init(&l);
    xl__limits_correct(&l, XL__F_is_gpu, 1, XL_ASSUMED, "GE-01");
    xl__limits_correct(&l, XL__F_compute_units, 132, XL_ASSUMED, "GE-01");
    xl__nvidia_matrix_engine(90, &l);
    params.value[XL__ATTENTION_BQ] = queries;
    params.value[XL__ATTENTION_BK] = keys;
    assert_int_equal(XL_OK, xl__attention_wgmma.plan(&l, c, &params, p));
    assert_string_equal("attention_wgmma_values", p->step[0].kernel);
    p->n_steps = 1;
    return p;
}

/* The key, of 32, whose weight a lane has at place k of an instruction. In a
 * word of A a lane has 4 (l % 4) + byte of k, in the third and fourth 16 on
 * (9.7.15.5.1.2, .e4m3); these words are sums of 16 keys each: of two groups
 * of 8, the lane's two (9.7.15.5.1.3). */
static size_t key_of(size_t k)
{
    const size_t lane = k % 16 / 4, byte = k % 4;
    return k / 16 * 16 + byte / 2 * 8 + 2 * lane + byte % 2;
}

/* Where B is read: 8 rows to 8 lines, of whose address bits 4 and up are
 * flipped by bits 7 and up (9.7.15.5.1.4). */
static size_t place_of(size_t step, size_t line, size_t column, size_t k)
{
    const size_t steps = line / STEP;
    const size_t at =
        step / steps * DIM * line + step % steps * STEP + column * line + k;
    return at ^ (at >> 7 & (line / 16 - 1)) << 4;
}

static void check_values(const unsigned char *got, size_t keys, size_t line)
{
    for (size_t z = 0; z < BATCH * KV_HEADS; z++)
        for (size_t j = 0; j < N_KV + keys - 1 - (N_KV + keys - 1) % keys;
             j += keys)
            for (size_t i = 0; i < keys * DIM; i++) {
                const size_t step = i / DIM / STEP, k = i / DIM % STEP,
                             column = i % DIM,
                             key = j + step * STEP + key_of(k);
                const size_t want =
                    key < N_KV ? v[z * HEAD_BYTES + key * ROW + column] : 0;
                const size_t block =
                    (z * ((N_KV + keys - 1) / keys) + j / keys) * keys * DIM;
                if (got[block + place_of(step, line, column, k)] != want)
                    fail_msg("head %zu, key %zu, column %zu of blocks of %zu",
                             z, key, column, keys);
            }
}

static void bytes_are_where_they_are_read(void **state)
{
    static const struct {
        int queries, keys;
        size_t line;
    } tiles[] = {{192, 96, 32}, {128, 128, 128}};
    static const double scale = 0.375;
    const struct xl__attention_canonical c = make_case();
    (void)state;
    for (size_t i = 0; i < sizeof v; i++)
        v[i] = (unsigned char)(i * 2654435761U >> 13);
    for (size_t i = 0; i < 2 * BATCH * KV_HEADS; i++)
        scales[i / (BATCH * KV_HEADS)][i % (BATCH * KV_HEADS)] =
            0.5f + (float)i;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        struct xl__plan *p = plan_of(&c, tiles[i].queries, tiles[i].keys);
        const size_t bytes = p->scratch_bytes + GUARD_BYTES;
        unsigned char *got = malloc(bytes);
        struct xl__call call = {0};
        assert_non_null(got);
        memset(got, GUARD, bytes);
        const size_t keys = (size_t)tiles[i].keys,
                     values = (N_KV + keys - 1) / keys * keys * DIM * BATCH *
                              KV_HEADS,
                     first = p->scratch_bytes - values;
        p->scratch_bytes = 0; /* it is the call's */
        call.mem[XL__MEM_SCRATCH].buf = buffer(bytes, got);
        call.mem[XL__ATTENTION_MEM + XL__ATTENTION_V].buf =
            buffer(sizeof v, v);
        for (unsigned s = 0; s < 2; s++)
            call.mem[XL__ATTENTION_MEM + XL__ATTENTION_K_SCALES + s].buf =
                buffer(sizeof scales[s], scales[s]);
        call.value[XL__ATTENTION_SCALE].f = scale;
        assert_status(xl__plan_launch(t.queue, p, &call, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, call.mem[XL__MEM_SCRATCH].buf, 0,
                                     got, bytes),
                      XL_OK, xl_error_detail(t.queue));
        check_values(got + first, keys, tiles[i].line);
        for (size_t z = 0; z < BATCH * KV_HEADS; z++) {
            float factor[2];
            memcpy(factor, got + FACTORS + z * sizeof factor, sizeof factor);
            assert_float_equal(factor[0],
                               (float)(scale / log(2)) * scales[0][z],
                               1e-6F * scales[0][z]);
            assert_true(factor[1] == scales[1][z]);
        }
        for (size_t at = 0; at < bytes; at++)
            if (at < FACTORS || at >= first + values)
                assert_int_equal(at < sizeof(cl_uint) ? 0 : GUARD, got[at]);
        for (unsigned m = 0; m < sizeof call.mem / sizeof *call.mem; m++)
            if (call.mem[m].buf)
                clReleaseMemObject(call.mem[m].buf);
        free(got);
        free(p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_where_they_are_read)};
    const xl_options quick = {XL_OPTIONS_INIT, .cache_dir = ""};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, &quick);
}
