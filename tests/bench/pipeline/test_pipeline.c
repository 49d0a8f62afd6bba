/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of pipelines without a device: chunks, reading of workloads, checks of
 * results, the bound, bars. */
#include "pipeline/picture.h"
#include "base/dtype.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"
#include "pipeline/report.h"
#include "cases/host_ops.h"

/* -- chunks --------------------------------------------------------------- */

static void chunks_hold_everything(void **state)
{
    static const double growths[] = {1, 1.4, 2, 0.5};
    struct chunks c;
    (void)state;
    for (size_t units = 1; units <= 70; units++)
        for (unsigned n = 1; n <= MOST_CHUNKS + 1; n++)
            for (size_t g = 0; g < sizeof growths / sizeof *growths; g++) {
                const bool fits = n <= units && n <= MOST_CHUNKS;
                size_t sum = 0;
                assert_int_equal(chunks_make(units, n, growths[g], &c), fits);
                if (!fits)
                    continue;
                assert_int_equal(c.n, n);
                for (unsigned i = 0; i < n; i++) {
                    assert_true(c.units[i] > 0);
                    sum += c.units[i];
                }
                assert_int_equal(sum, units);
            }
    assert_true(chunks_make(31, 5, 2, &c));
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(c.units[i], (size_t)1 << i);
    assert_true(chunks_make(32, 4, 1, &c));
    assert_int_equal(c.units[3], 8);
}

/* Four equal chunks, ten a lane. With a slot for each, all lanes are busy
 * except in the first two and last two steps; with one slot only an upload
 * overlaps with a download. */
static void time_by_hand(void **state)
{
    struct lane_costs p = {{{0, 10, 0}, {0, 10, 0}, {0, 10, 0}}};
    struct chunks c;
    (void)state;
    assert_true(chunks_make(4, 4, 1, &c));
    assert_true(chunks_time(&c, &p, 4) == 60);
    assert_true(chunks_time(&c, &p, 2) == 60);
    assert_true(chunks_time(&c, &p, 1) == 90);
    p.lane[LANE_DOWN].chunk_ns = 5;
    assert_true(chunks_time(&c, &p, 4) == 80);
    /* The host is the bottleneck; the kernels of the third chunk are enqueued
     * behind the upload of the fourth. */
    p.lane[LANE_UP].enqueue_ns = 100;
    assert_true(chunks_time(&c, &p, 4) == 400 + 10 + 15 + 15);
    p.lane[LANE_UP].enqueue_ns = 0;
    p.lane[LANE_DOWN].enqueue_ns =
        100; /* the next upload is enqueued before */
    assert_true(chunks_time(&c, &p, 4) == 400 + 15);
    p.lane[LANE_DOWN].enqueue_ns = 0;
    p.lane[LANE_UP].enqueue_ns = 100;
    assert_true(chunks_make(4, 1, 1, &c));
    assert_true(chunks_time(&c, &p, 2) == 100 + 125);
}

static void costs_from_two_runs(void **state)
{
    (void)state;
    /* 3 a chunk, 2 a unit, 32 units: 67 whole, 88 in eight. */
    struct lane_cost p = chunks_lane_cost(67, 88, 8, 32);
    assert_true(fabs(p.chunk_ns - 3) < 1e-9 && fabs(p.unit_ns - 2) < 1e-9);
    p = chunks_lane_cost(67, 60, 8, 32); /* noise: quicker when cut */
    assert_true(p.chunk_ns == 0 && fabs(p.unit_ns * 32 - 67) < 1e-9);
    p = chunks_lane_cost(10, 1e6, 8, 32); /* noise: something else ran */
    assert_true(p.chunk_ns >= 0 && p.unit_ns >= 0);
    p = chunks_lane_cost(67, 67, 1, 1);
    assert_true(p.chunk_ns == 0 && p.unit_ns == 67);
}

/* Costs of a large device: 8.4 MB up and 16.8 MB down at 55 GB/s, kernels of 6
 * us, 4 us for the host to enqueue a command (two for an upload) and 40 us to
 * wait for the end (NV-44). Downloads are the bound: 0.9 of their time must be
 * reached. */
static const struct lane_costs big = {
    {{2e3, 153e3 / 32, 8e3}, {2e3, 5.9e3 / 32, 4e3}, {2e3, 306e3 / 32, 4e3}}};
static const double wait_ns = 40e3;

static double slowest_ns(const struct lane_costs *p, size_t units)
{
    double most = 0;
    for (unsigned l = 0; l < N_LANES; l++)
        most = fmax(most, p->lane[l].chunk_ns + p->lane[l].enqueue_ns +
                              p->lane[l].unit_ns * (double)units);
    return most + wait_ns;
}

static void the_default_case_overlaps(void **state)
{
    struct chunks best, other;
    (void)state;
    for (unsigned buffers = 2; buffers <= 64; buffers *= 2) {
        assert_true(chunks_choose(32, &big, buffers, 2, MOST_CHUNKS, &best));
        const double ns = chunks_time(&best, &big, buffers);
        assert_true(slowest_ns(&big, 32) / (ns + wait_ns) > 0.9);
        /* The first upload overlaps with nothing. */
        assert_true(best.units[0] < best.units[best.n - 1]);
        for (unsigned n = 2; n <= 32; n++) {
            assert_true(chunks_choose(32, &big, buffers, n, n, &other));
            assert_int_equal(other.n, n);
            assert_true(chunks_time(&other, &big, buffers) >= ns);
        }
    }
}

/* Costs with the errors of a busy machine still give chunks that are good by
 * the true costs, whichever lane is the slowest. */
static void noisy_rates_cut_well(void **state)
{
    struct xl__rng rng;
    struct chunks by_true, by_measured;
    (void)state;
    xl__rng_seed(&rng, 7);
    for (unsigned repeat = 0; repeat < 60; repeat++) {
        struct lane_costs real = big, measured;
        real.lane[repeat % 3].unit_ns *= 4;
        measured = real;
        for (unsigned l = 0; l < N_LANES; l++) {
            measured.lane[l].unit_ns *= 0.7 + 0.6 * xl__rng_uniform(&rng);
            measured.lane[l].chunk_ns *= 0.7 + 0.6 * xl__rng_uniform(&rng);
        }
        assert_true(chunks_choose(32, &real, 2, 2, MOST_CHUNKS, &by_true));
        assert_true(
            chunks_choose(32, &measured, 2, 2, MOST_CHUNKS, &by_measured));
        assert_true(chunks_time(&by_measured, &real, 2) <
                    1.1 * chunks_time(&by_true, &real, 2));
    }
}

/* If downloads are the bottleneck, the first must not wait for another upload
 * to be enqueued; if the host is, uploads are enqueued ahead. */
static void the_order_follows_the_bound(void **state)
{
    static const struct lane_costs slow_host = {
        {{30e3, 1, 1e3}, {30e3, 1, 20e3}, {1e3, 1, 20e3}}};
    struct chunks best;
    (void)state;
    assert_true(chunks_choose(32, &big, 4, 2, MOST_CHUNKS, &best));
    assert_int_equal(chunks_ahead(&best, 4), 0);
    assert_true(chunks_choose(32, &slow_host, 4, 8, 8, &best));
    assert_int_equal(chunks_ahead(&best, 4), 1);
    assert_int_equal(chunks_ahead(&best, 1), 0);
}

/* Two units can be divided in one way, one cannot. */
static void little_work(void **state)
{
    struct chunks best;
    (void)state;
    assert_false(chunks_choose(1, &big, 2, 2, MOST_CHUNKS, &best));
    assert_true(chunks_choose(2, &big, 2, 2, MOST_CHUNKS, &best));
    assert_int_equal(best.n, 2);
}

/* -- workloads ------------------------------------------------------------ */

static void the_default_case_counts(void **state)
{
    struct pipe_workload w;
    char why[256];
    (void)state;
    assert_true(pipe_workload_read(NULL, NULL, XL_F16, &w, why, sizeof why));
    assert_true(pipe_flop(&w) == 2147483648.0);
    assert_true(pipe_bytes(&w, PIPE_FROM_HOST) == 8388608.0);
    assert_true(pipe_bytes(&w, PIPE_TO_HOST) == 16777216.0);
    assert_int_equal(pipe_units(&w), 32);
    const double intensity = pipe_flop(&w) / (w.stage[0].bytes * 32);
    assert_true(fabs(intensity - 85.33) < 0.01);
    assert_true(pipe_workload_read("qk,softmax,pv", "2x64x16", XL_F32, &w, why,
                                   sizeof why));
    assert_int_equal(w.n_stages, 3);
    assert_int_equal(w.tensor[pipe_output(&w)].role, PIPE_OUTPUT);
    assert_int_equal(w.cols, 16);
    assert_true(pipe_bytes(&w, PIPE_FROM_HOST) == 3 * 2 * 64 * 16 * 4);
    assert_true(pipe_workload_read("linear,gelu", "1000x24x16", XL_BF16, &w,
                                   why, sizeof why));
    assert_int_equal(pipe_units(&w), 16); /* of 64 rows, the last of 40 */
    assert_true(pipe_bytes(&w, PIPE_ROLE(PIPE_SHARED)) == 24 * 16 * 2);
}

static void bad_arguments_are_reported(void **state)
{
    static const struct {
        const char *stages, *sizes;
        xl_dtype dtype;
        const char *message;
    } cases[] = {
        {"qk", "0x4x4", XL_F16, "a size is 0"},
        {"qk", "4x4", XL_F16, "too few sizes"},
        {"qk", "4x4x4x4", XL_F16, "BATCHxSEQUENCExHIDDEN"},
        {"qk", "99999999999999999999x4x4", XL_F16, "64 bits"},
        {"qk", "4000000000x2000000000x1", XL_F16, "64 bits"},
        {"linear", "4xk", XL_F16, "MxNxK"},
        {"qq", NULL, XL_F16, "did you mean 'qk'"},
        {"", NULL, XL_F16, "is unknown"},
        {"qk,", NULL, XL_F16, "is unknown"},
        {"softmax", NULL, XL_F16, "cannot be the first"},
        {"qk,linear", NULL, XL_F16, "can only be the first"},
        {"linear,pv", NULL, XL_F16, "'pv' multiplies"},
        {"qk,pv,pv", NULL, XL_F16, "'pv' multiplies"},
        {"qk,gelu,gelu,gelu,gelu,gelu,gelu", NULL, XL_F16, "one too many"},
        {"qk,gelu,gelu,gelu,gelu,gelu,gelu,gelu,gelu,gelu,gelu,gelu,gelu,gelu",
         NULL, XL_F16, "too many"},
        {"qk", NULL, XL_I8, "--dtype"},
    };
    struct pipe_workload w;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[256] = "";
        if (pipe_workload_read(cases[i].stages, cases[i].sizes, cases[i].dtype,
                               &w, why, sizeof why))
            fail_msg("taken: %s %s", cases[i].stages, cases[i].sizes);
        if (!strstr(why, cases[i].message))
            fail_msg("'%s': '%s', not '%s'", cases[i].stages, why,
                     cases[i].message);
    }
}

/* -- references ----------------------------------------------------------- */

/* Rounds to the type, as a device does between stages. */
static double rounded(const double *x, size_t i, xl_dtype dtype)
{
    uint32_t word = 0;
    xl__dtype_store(&word, 0, dtype, x[i]);
    return ref_load(&word, 0, dtype);
}

static void *store_values(const double *x, size_t n, xl_dtype dtype)
{
    void *out = xl__calloc(n, sizeof(double));
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        xl__dtype_store(out, i, dtype, x[i]);
    return out;
}

enum { B = 2, S = 24, H = 16 };

/* O = softmax(Q K^T / sqrt(H)) V, by definition. */
static void attend(const void *q, const void *k, const void *v, xl_dtype dtype,
                   double *o)
{
    for (size_t r = 0; r < B * S; r++) {
        double s[S], p[S], sum = 0, max = -INFINITY;
        const size_t item = r / S * S;
        for (size_t j = 0; j < S; j++) {
            s[j] = 0;
            for (size_t h = 0; h < H; h++)
                s[j] += ref_load(q, r * H + h, dtype) *
                        ref_load(k, (item + j) * H + h, dtype);
            s[j] = rounded(s, j, dtype) / sqrt(H);
            max = fmax(max, s[j]);
        }
        for (size_t j = 0; j < S; j++)
            sum += p[j] = exp(s[j] - max);
        for (size_t j = 0; j < S; j++)
            p[j] /= sum;
        for (size_t h = 0; h < H; h++) {
            o[r * H + h] = 0;
            for (size_t j = 0; j < S; j++)
                o[r * H + h] += rounded(p, j, dtype) *
                                ref_load(v, (item + j) * H + h, dtype);
        }
    }
}

/* A correct result passes; an error of a few roundings in one element of each
 * row, or a NaN, fails. */
static void check_result_both_ways(const struct pipe_workload *w,
                                   const void *const *inputs, double *result,
                                   size_t n, size_t cols)
{
    struct check_result found;
    void *stored_result = store_values(result, n, w->dtype);
    assert_int_equal(pipe_check(w, inputs, stored_result, 1, &found), XL_OK);
    assert_true(found.worst <= 1);
    free(stored_result);
    for (size_t i = 0; i < n; i += cols)
        result[i] += 0.25;
    stored_result = store_values(result, n, w->dtype);
    assert_int_equal(pipe_check(w, inputs, stored_result, 1, &found),
                     XL_WRONG_RESULT);
    assert_true(*found.why);
    for (size_t i = 0; i < n; i++)
        result[i] = NAN;
    free(stored_result);
    stored_result = store_values(result, n, w->dtype);
    assert_int_equal(pipe_check(w, inputs, stored_result, 1, &found),
                     XL_WRONG_RESULT);
    free(stored_result);
}

static void attention_is_checked(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};
    char why[256];
    (void)state;
    for (size_t d = 0; d < 3; d++) {
        struct pipe_workload w;
        struct pipe_host host;
        double o[B * S * H];
        assert_true(pipe_workload_read("qk,softmax,pv", "2x24x16", dtypes[d],
                                       &w, why, sizeof why));
        assert_true(pipe_host_init(&host, &w, 3));
        attend(host.at[w.stage[0].src], host.at[w.stage[0].by],
               host.at[w.stage[2].by], dtypes[d], o);
        check_result_both_ways(&w, (const void *const *)host.at, o, B * S * H,
                               H);
        pipe_host_clear(&host);
    }
}

/* Whichever item is missing, one of its rows is checked. */
static void every_item_is_seen(void **state)
{
    enum { ITEMS = 32, PER_ITEM = S * S };
    struct pipe_workload w;
    struct pipe_host host;
    struct check_result found;
    char why[256];
    (void)state;
    assert_true(
        pipe_workload_read("qk", "32x24x16", XL_F32, &w, why, sizeof why));
    assert_true(pipe_host_init(&host, &w, 3));
    const void *const *inputs = (const void *const *)host.at;
    const float *q = inputs[w.stage[0].src], *k = inputs[w.stage[0].by];
    float *s = xl__calloc(ITEMS * PER_ITEM, sizeof *s);
    assert_non_null(s);
    for (size_t i = 0; i < ITEMS * PER_ITEM; i++) {
        const size_t row = i / S, other = i / PER_ITEM * S + i % S;
        double sum = 0;
        for (size_t h = 0; h < H; h++)
            sum += (double)q[row * H + h] * (double)k[other * H + h];
        s[i] = (float)sum;
    }
    assert_int_equal(pipe_check(&w, inputs, s, 1, &found), XL_OK);
    for (size_t item = 0; item < ITEMS; item++) {
        float kept[PER_ITEM];
        memcpy(kept, s + item * PER_ITEM, sizeof kept);
        memset(s + item * PER_ITEM, 0xff, sizeof kept);
        assert_int_equal(pipe_check(&w, inputs, s, 1, &found),
                         XL_WRONG_RESULT);
        memcpy(s + item * PER_ITEM, kept, sizeof kept);
    }
    free(s);
    pipe_host_clear(&host);
}

static void linear_is_checked(void **state)
{
    enum { ROWS = 70, COLS = 12, DEPTH = 33 };
    struct pipe_workload w;
    struct pipe_host host;
    double y[ROWS * COLS];
    char why[256];
    (void)state;
    assert_true(pipe_workload_read("linear,gelu", "70x12x33", XL_BF16, &w, why,
                                   sizeof why));
    assert_true(pipe_host_init(&host, &w, 3));
    const void *a = host.at[w.stage[0].src], *b = host.at[w.stage[0].by];
    for (size_t i = 0; i < ROWS * COLS; i++) {
        double sum = 0;
        for (size_t p = 0; p < DEPTH; p++)
            sum += ref_load(a, i / COLS * DEPTH + p, XL_BF16) *
                   ref_load(b, p * COLS + i % COLS, XL_BF16);
        const double x = rounded(&sum, 0, XL_BF16);
        y[i] = x / 2 * (1 + erf(x / sqrt(2)));
    }
    check_result_both_ways(&w, (const void *const *)host.at, y, ROWS * COLS,
                           COLS);
    pipe_host_clear(&host);
}

/* -- the bound ------------------------------------------------------------ */

static void set_result(struct pipe_bench *b, const char *mode, double total,
                       double up, double run, double down)
{
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        struct pipe_result *x = &b->result[i];
        x->mode = &pipe_modes[i];
        if (strcmp(pipe_modes[i].name, mode) != 0)
            continue;
        x->is_done = true;
        x->times = (struct pipe_times){
            .total = total, .lane = {up, run, down}, .stage = {run}};
        x->row.value = total * 1e-9;
        x->row.samples.median_ns = x->row.samples.min_ns = total;
        x->buffers = 2;
    }
}

static void the_bound_is_named(void **state)
{
    struct pipe_bench b;
    struct pipe_workload w;
    struct xl__str text = {0};
    char why[256];
    (void)state;
    assert_true(pipe_workload_read(NULL, NULL, XL_F16, &w, why, sizeof why));
    memset(&b, 0, sizeof b);
    b.workload = &w;
    set_result(&b, "none", 0, 0, 0, 0);
    assert_string_equal(pipe_find_bound(&b).bound, "");
    pipe_describe_bound(&b, &text);
    assert_string_equal(xl__str_text(&text), "");
    set_result(&b, "pinned", 480e3, 153e3, 6e3, 306e3);
    set_result(&b, "overlapped", 330e3, 160e3, 12e3, 310e3);
    set_result(&b, "resident", 10e3, 0, 6e3, 0);
    b.separate_ns[LANE_UP] = 180e3;
    b.separate_ns[LANE_RUN] = 40e3;
    b.separate_ns[LANE_DOWN] = 315e3;
    struct pipe_bound v = pipe_find_bound(&b);
    assert_string_equal(v.bound, "download");
    assert_true(fabs(v.of_slowest - 315.0 / 330) < 1e-9);
    assert_true(fabs(v.share - 306.0 / 330) < 1e-9);
    pipe_describe_bound(&b, &text);
    assert_non_null(strstr(xl__str_text(&text), "16.8 MB at 54.8 GB/s"));
    assert_non_null(strstr(xl__str_text(&text), "33 times"));
    set_result(&b, "pinned", 2e6, 153e3, 1.4e6, 306e3);
    set_result(&b, "overlapped", 1.6e6, 153e3, 1.4e6, 306e3);
    assert_string_equal(pipe_find_bound(&b).bound, "kernels");
    set_result(&b, "pinned", 100e3, 2e3, 3e3, 4e3);
    set_result(&b, "overlapped", 120e3, 2e3, 3e3, 4e3);
    v = pipe_find_bound(&b);
    assert_string_equal(v.bound, "calls");
    assert_true(fabs(v.share - 0.91) < 1e-9);
    xl__str_clear(&text);
}

static void times_add_up(void **state)
{
    struct pipe_workload w;
    char why[256];
    struct pipe_command list[] = {
        {.lane = LANE_UP, .start_ns = 0, .end_ns = 10},
        {.lane = LANE_RUN, .stage = 0, .start_ns = 10, .end_ns = 40},
        {.lane = LANE_RUN, .stage = 1, .start_ns = 40, .end_ns = 50},
        {.lane = LANE_DOWN, .start_ns = 60, .end_ns = 80}};
    const struct pipe_record r = {.list = list, .n = 4, .end_ns = 100};
    (void)state;
    assert_true(
        pipe_workload_read("qk,softmax", NULL, XL_F16, &w, why, sizeof why));
    const struct pipe_times p = pipe_times_of(&r, &w);
    assert_true(p.lane[LANE_RUN] == 40 && p.stage[1] == 10);
    assert_true(pipe_rest(&p) == 30);
    assert_true(pipe_non_gemm(&w, &p) == 0.25);
    assert_int_equal(pipe_slowest(&p), LANE_RUN);
}

static void bars_show_lanes(void **state)
{
    struct pipe_command list[] = {
        {.lane = LANE_UP, .start_ns = 1000, .end_ns = 1030},
        {.lane = LANE_RUN, .start_ns = 1030, .end_ns = 1031}, /* very short */
        {.lane = LANE_DOWN, .start_ns = 1040, .end_ns = 1080}};
    struct pipe_result x = {.mode = &pipe_modes[0]};
    char bar[11];
    (void)state;
    x.best = (struct pipe_record){.list = list, .n = 3, .begin_ns = 1000,
                                  .end_ns = 1100};
    pipe_bar(&x, 0, 100, 10, bar);
    assert_string_equal(bar, "^^^#vvvv..");
    pipe_bar(&x, 0, 200, 10, bar);
    assert_string_equal(bar, "^^vv.");
    for (unsigned i = 0; pipe_modes[i].name; i++)
        if (pipe_modes[i].is_cut)
            x.mode = &pipe_modes[i];
    pipe_bar(&x, LANE_RUN, 100, 10, bar);
    assert_string_equal(bar, "   #");
    pipe_bar(&x, LANE_DOWN, 100, 10, bar);
    assert_string_equal(bar, "    vvvv");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_hold_everything),
        cmocka_unit_test(time_by_hand),
        cmocka_unit_test(costs_from_two_runs),
        cmocka_unit_test(the_default_case_overlaps),
        cmocka_unit_test(noisy_rates_cut_well),
        cmocka_unit_test(the_order_follows_the_bound),
        cmocka_unit_test(little_work),
        cmocka_unit_test(the_default_case_counts),
        cmocka_unit_test(bad_arguments_are_reported),
        cmocka_unit_test(attention_is_checked),
        cmocka_unit_test(every_item_is_seen),
        cmocka_unit_test(linear_is_checked),
        cmocka_unit_test(the_bound_is_named),
        cmocka_unit_test(times_add_up),
        cmocka_unit_test(bars_show_lanes),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
