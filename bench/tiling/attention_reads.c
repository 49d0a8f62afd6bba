/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench attention --reads`: bytes that attention moves with and without a
 * matrix of scores in memory, over the number of keys and over the rows of a
 * block, beside measured times. The plain way is three calls of the library:
 * S = scale Q K^T, P = softmax(S), O = P V. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cases/attention/attention_cases.h"
#include "cli/units.h"
#include "tiling/mask_work.h"
#include "tiling/operand_reads.h"
#include "tiling/tiles.h"

enum { LEAST_KEYS = 256, SLOWEST_S = 2 };
static const size_t blocks[] = {8, 16, 32, 64, 128, 256};
enum { N_BLOCKS = sizeof blocks / sizeof *blocks };
/* Its blocks have any size. */
static const char portable[] = "attention_flash";

static double fact(const struct reads_run *r, const char *name)
{
    xl_fact f;
    return xl_device_fact(r->dev, name, XL_UNKNOWN, &f) == XL_OK ? f.value
                                                                 : (double)NAN;
}

static double flop_of(const struct attention_case *c)
{
    static const double flop = 4; /* of a column of a pair */
    return flop * (double)c->d * attention_pairs(c);
}

/* The rows of a block of the library's choice; a variant without blocks takes
 * one row at a time. */
static size_t block_of(const xl_choice *model)
{
    size_t rows = 1;
    (void)tile_tunable(model->tunables, "BQ", &rows);
    return rows;
}

/* A descriptor without memory. */
static void init_call(struct attention_call *call,
                      const struct attention_case *c)
{
    struct attention_memory at = {.ld = {0}};
    for (unsigned x = ATTENTION_Q; x <= ATTENTION_O; x++)
        at.ld[x] = attention_lines(c, x).cols;
    attention_call_init(call, c, &at, NULL);
}

/* -- times ---------------------------------------------------------------- */

struct timed_calls {
    const struct case_run *work;
    cl_mem scores; /* NULL: in one call */
};

static xl_status enqueue_plain(xl_queue *q, const struct timed_calls *t)
{
    const struct attention_case *c = t->work->c;
    const cl_mem *mem = t->work->data->mem;
    const size_t share = c->share ? c->share : 1;
    const size_t q_step = c->n_q * c->d, kv_step = c->n_kv * c->d,
                 s_step = c->n_q * c->n_kv, heads = c->n_heads;
    const xl_mat scores = xl_mat_rows(t->scores, c->n_kv, c->dtype);
    const xl_gemm products = {
        XL_GEMM_INIT,
        .m = c->n_q,
        .n = c->n_kv,
        .k = c->d,
        .alpha = 1 / sqrt((double)c->d),
        .a = xl_mat_rows(mem[ATTENTION_Q], c->d, c->dtype),
        .b = xl_mat_cols(mem[ATTENTION_K], c->d, c->dtype),
        .c = scores,
        .batch = {.count = c->n_batch * heads,
                  .inner = heads,
                  .a_step = heads * q_step,
                  .a_inner = q_step,
                  .b_step = heads / share * kv_step,
                  .b_inner = kv_step,
                  .c_step = heads * s_step,
                  .c_inner = s_step,
                  .b_share = share}};
    const xl_softmax weights = {XL_SOFTMAX_INIT,
                                .rows = c->n_batch * heads * c->n_q,
                                .cols = c->n_kv, .src = scores, .dst = scores};
    const xl_gemm sums = {XL_GEMM_INIT,
                          .m = c->n_q,
                          .n = c->d,
                          .k = c->n_kv,
                          .alpha = 1,
                          .a = scores,
                          .b = xl_mat_rows(mem[ATTENTION_V], c->d, c->dtype),
                          .c = xl_mat_rows(mem[ATTENTION_O], c->d, c->dtype),
                          .batch = {.count = c->n_batch * heads,
                                    .inner = heads,
                                    .a_step = heads * s_step,
                                    .a_inner = s_step,
                                    .b_step = heads / share * kv_step,
                                    .b_inner = kv_step,
                                    .c_step = heads * q_step,
                                    .c_inner = q_step,
                                    .b_share = share}};
    xl_status status = XL_OK;
    TRY(xl_gemm_run(q, &products, NULL));
    TRY(xl_softmax_run(q, &weights, NULL));
    TRY(xl_gemm_run(q, &sums, NULL));
fail:
    return status;
}

static xl_status enqueue_calls(xl_queue *q, void *arg)
{
    const struct timed_calls *t = arg;
    return t->scores ? enqueue_plain(q, t) : bench_attention.run(q, t->work);
}

/* NaN: not timed. */
static xl_status time_calls(struct reads_run *r, const struct timed_calls *t,
                            double *ns)
{
    static const double each_s = 0.3;
    const xl_sampling how = {XL_SAMPLING_INIT,        .warmup = 1,
                             .min_runs = 3,           .max_runs = 30,
                             .max_noise = 0.02,       .max_s = each_s,
                             .stop = session_stopped, .stop_arg = r->s};
    xl_samples *samples = xl__calloc(1, sizeof *samples);
    xl_status status = XL_OK;
    TRY(samples ? XL_OK : XL_NO_MEMORY);
    TRY(xl_samples_take(r->q, &how, enqueue_calls, (void *)t, samples));
    *ns = samples->median_ns;
fail:
    free(samples);
    return status;
}

/* Times both ways; the plain one where its scores fit, no score is masked and
 * it does not take long. */
static xl_status time_both(struct reads_run *r, const struct attention_case *c,
                           double scores, double *tiled_ns, double *plain_ns)
{
    struct bench_data data;
    const struct case_run work = {.c = c, .data = &data};
    struct timed_calls calls = {.work = &work};
    const double moved_s = 4 * scores / r->bandwidth;
    xl_status status = XL_OK;
    TRY(bench_data_init(&data, &bench_attention, c, r->s->set.seed));
    TRY(bench_data_upload(r->q, &data));
    TRY(time_calls(r, &calls, tiled_ns));
    if (!c->is_causal && !c->window && moved_s < SLOWEST_S &&
        *tiled_ns < SLOWEST_S * 1e9 && scores <= fact(r, "max_alloc_bytes")) {
        TRY(xl_buffer_create(r->q, (size_t)scores, &calls.scores));
        TRY(time_calls(r, &calls, plain_ns));
    }
fail:
    if (calls.scores)
        clReleaseMemObject(calls.scores);
    bench_data_release(&data);
    bench_data_clear(&data);
    return status;
}

/* -- over the number of keys ---------------------------------------------- */

static xl_status add_size(struct reads_run *r, const struct attention_case *c,
                          struct table *t)
{
    xl_choice model;
    size_t workspace = 0;
    struct attention_call call;
    double tiled_ns = (double)NAN, plain_ns = (double)NAN;
    const void *whole = r->c;
    xl_status status = XL_OK;
    r->c = c;
    init_call(&call, c);
    TRY(reads_choice(r, &bench_attention, NULL, &model));
    TRY(xl_attention_workspace(r->q, &call.a, &workspace));
    const struct attention_sizes a = attention_sizes_of(c);
    const struct attention_reads x =
        attention_reads(&a, block_of(&model), fact(r, "local_mem_bytes"));
    TRY(time_both(r, c, x.scores, &tiled_ns, &plain_ns));
    json_t *line = json_object();
    json_put(line, "n_q", json_uint(c->n_q));
    json_put(line, "n_kv", json_uint(c->n_kv));
    json_put(line, "variant", json_string(model.variant));
    json_put(line, "plain_bytes", json_number(x.plain));
    json_put(line, "tiled_bytes", json_number(x.tiled));
    json_put(line, "bound_bytes", json_number(x.bound));
    json_put(line, "plain_scratch_bytes", json_number(x.scores));
    json_put(line, "tiled_scratch_bytes", json_uint(workspace));
    json_put(line, "plain_ns", json_number(plain_ns));
    json_put(line, "tiled_ns", json_number(tiled_ns));
    json_add(r->json, line);
    table_cell(t, "%zu", c->n_kv);
    reads_cell(t, x.plain, "B");
    reads_cell(t, x.tiled, "B");
    reads_cell(t, x.bound, "B");
    reads_cell(t, x.scores, "B");
    reads_cell(t, (double)workspace, "B");
    reads_cell(t, plain_ns * 1e-9, "s");
    reads_cell(t, tiled_ns * 1e-9, "s");
fail:
    r->c = whole;
    return status;
}

/* The most keys, of as many queries, whose scores fit in a number of bytes. */
static double most_keys(const struct attention_case *c, double bytes)
{
    return floor(sqrt(bytes / ((double)c->n_batch * (double)c->n_heads *
                               (double)xl_dtype_bytes(c->dtype))));
}

static xl_status report_sizes(struct reads_run *r)
{
    static const struct table_column columns[] = {
        {"keys", true, 0},  {"plain", true, 0},  {"tiled", true, 0},
        {"bound", true, 0}, {"scores", true, 0}, {"scratch", true, 0},
        {"plain", true, 0}, {"tiled", true, 0}};
    const struct attention_case *whole = r->c;
    struct table *t = table_create(columns, sizeof columns / sizeof *columns);
    char note[1024], most[UNITS_CAP], chip[UNITS_CAP];
    xl_status status = XL_OK;
    for (size_t n = LEAST_KEYS;; n *= 2) {
        struct attention_case c = *whole;
        c.n_kv = n < whole->n_kv ? n : whole->n_kv;
        c.n_q = c.n_kv < whole->n_q ? c.n_kv : whole->n_q;
        TRY(add_size(r, &c, t));
        if (n >= whole->n_kv || session_stopped(r->s))
            break;
    }
    units_bytes(most, sizeof most, fact(r, "max_alloc_bytes"));
    units_bytes(chip, sizeof chip, fact(r, "local_mem_bytes"));
    snprintf(note, sizeof note,
             "%zu sequences of %zu heads of %zu columns, %s. Bytes moved, "
             "counted: plain, with the scores in memory; tiled, by blocks; "
             "bound, pairs d^2 over the elements of %s of local memory, or "
             "each operand once. Memory beyond the operands: scores, of the "
             "plain way; scratch, of the tiled one. Times, measured: the "
             "plain way as three calls. Its scores do not fit in a buffer, at "
             "most %s here, beyond %.0f keys of as many queries.",
             whole->n_batch, whole->n_heads, whole->d,
             xl_dtype_name(whole->dtype), chip, most,
             most_keys(whole, fact(r, "max_alloc_bytes")));
    reads_print(r, "Memory traffic of attention", note, t);
fail:
    table_destroy(t);
    return status;
}

/* -- over the rows of a block --------------------------------------------- */

static size_t block_value(const char *name, size_t len, size_t tile,
                          size_t old)
{
    return len == 2 && strncmp(name, "BQ", len) == 0 ? tile : old;
}

/* XL_BAD_ARGUMENT: the variant has no blocks of this size. */
static xl_status add_block(struct reads_run *r, const xl_choice *model,
                           size_t block, struct table *t)
{
    const struct attention_case *c = r->c;
    const struct attention_sizes a = attention_sizes_of(c);
    const struct attention_reads x =
        attention_reads(&a, block, fact(r, "local_mem_bytes"));
    struct attention_call call;
    xl_candidate_result result;
    xl_status status = XL_OK;
    init_call(&call, c);
    TRY(reads_time_tile(r, xl_problem_attention(&call.a), model, block_value,
                        block, &result));
    const double rate = reads_rate(&result, flop_of(c));
    json_t *line = json_object();
    json_put(line, "variant", json_string(model->variant));
    json_put(line, "bytes", json_number(x.tiled));
    reads_put_end(line, block, rate, &result);
    json_add(r->json, line);
    table_cell(t, "%zu", block);
    reads_cell(t, x.tiled, "B");
    table_cell(t, "%.4g", flop_of(c) / x.tiled);
    reads_cell(t, reads_allowed(r, flop_of(c), x.tiled), "flop/s");
    reads_cell(t, rate, "flop/s");
    table_cell(t, "%s", xl_candidate_end_name(result.end));
fail:
    return status;
}

static xl_status report_blocks(struct reads_run *r)
{
    static const struct table_column columns[] = {
        {"rows", true, 0},    {"bytes", true, 0},    {"FLOP/B", true, 0},
        {"allowed", true, 0}, {"measured", true, 0}, {"", false, 0}};
    struct table *t = table_create(columns, sizeof columns / sizeof *columns);
    char note[256], text[UNITS_CAP];
    xl_choice model;
    xl_status status = XL_OK;
    TRY(reads_choice(r, &bench_attention, r->s->set.variant, &model));
    status = add_block(r, &model, blocks[0], t);
    if (status == XL_BAD_ARGUMENT) {
        TRY(reads_choice(r, &bench_attention, portable, &model));
        status = add_block(r, &model, blocks[0], t);
    }
    TRY(status);
    for (size_t i = 1; i < N_BLOCKS && !session_stopped(r->s); i++) {
        status = add_block(r, &model, blocks[i], t);
        status = status == XL_BAD_ARGUMENT ? XL_OK : status;
        TRY(status);
    }
    units_format(text, sizeof text, r->bandwidth, "B/s");
    snprintf(note, sizeof note,
             "%s; allowed: FLOP a byte times the bandwidth of memory, %s "
             "(measured), or the peak of f32. Where caches serve what blocks "
             "share, more is reached.",
             model.variant, text);
    reads_print(r, "Reads by rows of Q in a block", note, t);
fail:
    table_destroy(t);
    return status;
}

static xl_status report_attention(struct reads_run *r)
{
    xl_status status = XL_OK;
    TRY(report_sizes(r));
    TRY(report_blocks(r));
fail:
    return status;
}

const struct reads_op reads_of_attention = {&bench_attention, "1x8x2048x64",
                                            report_attention};
