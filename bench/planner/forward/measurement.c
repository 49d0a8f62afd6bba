/* SPDX-License-Identifier: Apache-2.0 */
/* Times a model. A run of the whole is one call after another, as an
 * application makes them, in steps of decoding also as a replay of a record.
 * An operation by itself is its calls in all layers, so that weights come from
 * memory as in a pass. */
#include "planner/forward/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "cli/units.h"
#include "timing/roofs/peaks.h"

/* A prompt, or steps of decoding. */
struct phase {
    struct lm_run *r;
    const char *op; /* of its rows */
    struct lm_pass *pass;
    size_t n_passes;
    bool is_decode;
    const char *name; /* the operation to run; NULL: all of all passes */
    double pass_ns;   /* of one pass, as a part of the whole; NaN: unknown */
};

static xl_status enqueue(xl_queue *q, void *arg)
{
    const struct phase *p = arg;
    xl_status status = XL_OK;
    if (p->name) /* of the last pass */
        return lm_pass_run(q, &p->pass[p->n_passes - 1], p->name);
    for (size_t i = 0; status == XL_OK && i < p->n_passes; i++)
        status = lm_pass_run(q, &p->pass[i], NULL);
    return status;
}

static void count_launch(const xl_kernel_launch *launch, void *arg)
{
    (void)launch;
    ++*(double *)arg;
}

/* Of a step, whose kernels are built. */
static xl_status count_launches(const struct phase *p)
{
    xl_queue *q = p->r->model.q;
    double n = 0;
    xl_status status = xl_queue_watch(q, count_launch, &n);
    if (status == XL_OK)
        status = lm_pass_run(q, &p->pass[0], NULL);
    (void)xl_queue_watch(q, NULL, NULL);
    if (status == XL_OK)
        status = xl_queue_finish(q);
    p->r->decode_launches = status == XL_OK ? n : (double)NAN;
    return status;
}

static xl_status sample(const struct phase *p, xl_queue *q, xl_samples *out)
{
    static const xl_sampling extents[] = {
        {XL_SAMPLING_INIT, .warmup = 1, .min_runs = 3, .max_runs = 30,
         .max_noise = 0.01, .max_s = 0.5, .patience = 3},
        {XL_SAMPLING_INIT, .warmup = 2, .min_runs = 5, .max_runs = 100,
         .max_noise = 0.01, .max_s = 1.5, .patience = 3},
        {XL_SAMPLING_INIT, .warmup = 3, .min_runs = 10, .max_runs = 300,
         .max_noise = 0.005, .max_s = 6, .patience = 3}};
    struct session *s = p->r->s;
    xl_sampling how = extents[s->set.full ? 2 : s->set.quick ? 0 : 1];
    session_sampling(s, &how);
    how.stop = session_ended;
    how.stop_arg = s;
    return xl_samples_take(q, &how, enqueue, (void *)(uintptr_t)p, out);
}

/* -- rows ----------------------------------------------------------------- */

static void begin_row(const struct phase *p, const char *variant, xl_row *row)
{
    xl_row_init(row, p->op, variant);
    row->seed = p->r->s->set.seed;
    row->dtype = p->r->size.dtype;
    xl_row_param_text(row, "weights", p->r->weights_name);
    if (p->r->size.activations)
        xl_row_param_text(row, "activations",
                          option_choice(option_find("activations"),
                                        (int)p->r->size.activations));
    if (p->r->source.type.is_quantised && p->r->size.accuracy)
        xl_row_param_text(
            row, "accuracy",
            option_choice(option_find("accuracy"), (int)p->r->size.accuracy));
    xl_row_param(row, "layers", (double)p->r->arch->layers);
    xl_row_param(row, "batch", (double)p->r->size.batch);
    xl_row_param(row, "context", (double)p->r->size.context);
    if (p->is_decode && !isnan(p->r->decode_launches))
        xl_row_found(row, "step_launches", p->r->decode_launches);
}

static void report(const struct phase *p, xl_row *row, xl_status status)
{
    if (status == XL_CANCELLED)
        return;
    if (status != XL_OK) {
        const char *why = xl_error_detail(p->r->model.q);
        row->verdict =
            status == XL_UNSUPPORTED ? XL_ROW_UNSUPPORTED : XL_ROW_ERROR;
        xl__strcpy(row->reason, sizeof row->reason,
                   *why ? why : xl_status_text(status));
    } else {
        xl_row_judge(row, p->r->dev);
    }
    session_row(p->r->s, p->r->dev, row);
}

/* Is every logit a number? */
static xl_status check_logits(const struct lm_run *r, xl_row *row)
{
    xl_status status = XL_OK;
    const size_t n = r->size.batch * r->arch->vocab;
    float *x = xl__calloc(n, sizeof *x);
    TRY(x ? XL_OK : XL_NO_MEMORY);
    TRY(xl_buffer_read(r->model.q, r->model.buffer[LM_LOGITS], 0, x,
                       n * sizeof *x));
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]) && row->verdict == XL_ROW_OK) {
            r->s->n_wrong++;
            row->verdict = XL_ROW_REJECTED;
            xl__strfmt(row->reason, sizeof row->reason,
                       "wrong result: logit %zu is %g", i, x[i]);
        }
fail:
    free(x);
    return status;
}

/* Tokens/s at most: what a pass of so many flop takes that reads each weight
 * once. As the plan's, but the head is of the last tokens only. */
static double prompt_bound(const struct lm_run *r, double tokens, double flop)
{
    struct planner_workload w = {.weight_bits = r->bytes.weight_bits};
    lm_arch_plan(r->arch, &w.model);
    return tokens / fmax(flop / r->rates.peak,
                         planner_weight_bytes(&w) / r->rates.bandwidth);
}

/* Likewise of decoding; the plan's own. */
static double decode_bound(const struct lm_run *r)
{
    struct planner_workload w = {.weight_bits = r->bytes.weight_bits,
                                 .kv_bits =
                                     8 * (double)xl_dtype_bytes(r->size.dtype),
                                 .context = (double)r->size.context,
                                 .batch = (double)r->size.batch};
    lm_arch_plan(r->arch, &w.model);
    return planner_decode(&w, &r->rates).tokens_per_s;
}

/* The whole phase, in tokens/s, beside its bound. */
static void measure_whole(struct phase *p, const char *variant, double tokens)
{
    double *rate = p->is_decode ? &p->r->decode_rate : &p->r->prompt_rate;
    double *bound = p->is_decode ? &p->r->decode_bound : &p->r->prompt_bound;
    xl_row row;
    begin_row(p, variant, &row);
    row.unit = "token/s";
    xl_row_shape(&row, "tokens", tokens / (double)p->r->size.batch);
    for (size_t i = 0; i < p->n_passes; i++)
        for (size_t c = 0; c < p->pass[i].n; c++) {
            row.flop += p->pass[i].list[c].flop;
            row.bytes += p->pass[i].list[c].bytes;
        }
    xl_row_found(&row, "calls", (double)(p->pass[0].n * p->n_passes));
    progress_step(p->r->s, variant);
    p->name = NULL;
    xl_status status = sample(p, p->r->plain, &row.samples);
    row.samples.warnings &= ~XL_WARN(WALL_CLOCK); /* as is meant */
    if (status == XL_OK)
        status = check_logits(p->r, &row);
    row.value = tokens / row.samples.median_ns * 1e9;
    *bound = p->is_decode ? decode_bound(p->r)
                          : prompt_bound(p->r, tokens, row.flop);
    row.roof = (xl_bound){*bound, row.unit, "plan", XL_MEASURED};
    report(p, &row, status);
    *rate = status == XL_OK ? row.value : (double)NAN;
    p->pass_ns = row.samples.median_ns / (double)p->n_passes;
}

/* All calls of a name in the last pass, with the roof of their counts. */
static void measure_op(struct phase *p, const struct lm_call *first,
                       xl_samples *samples)
{
    static const char *const product_sizes[] = {"m", "n", "k"};
    static const char *const row_sizes[] = {"rows", "cols", ""};
    static const char *const attention_sizes[] = {"queries", "keys",
                                                  "columns"};
    const struct lm_pass *pass = &p->pass[p->n_passes - 1];
    const char *const *names = first->kind == LM_ATTENTION ? attention_sizes
                               : first->kind == LM_NORM    ? row_sizes
                                                           : product_sizes;
    const xl_roof roof = first->is_product
                             ? roof_of_products(p->r->size.dtype, false)
                             : roof_usual(p->r->size.dtype);
    double n = 0;
    xl_row row;
    begin_row(p, first->name, &row);
    row.unit = first->is_product && !p->is_decode ? "flop/s" : "B/s";
    for (unsigned i = 0; i < 3 && first->sizes[i] > 0; i++)
        xl_row_shape(&row, names[i], (double)first->sizes[i]);
    for (size_t i = 0; i < pass->n; i++)
        if (strcmp(pass->list[i].name, first->name) == 0) {
            row.flop += pass->list[i].flop;
            row.bytes += pass->list[i].bytes;
            n++;
        }
    xl_row_found(&row, "calls", n);
    progress_step(p->r->s, first->name);
    p->name = first->name;
    const xl_status status = sample(p, p->r->model.q, samples);
    row.samples = *samples;
    xl_row_found(&row, "of_pass", row.samples.median_ns / p->pass_ns);
    row.value = (*row.unit == 'f' ? row.flop : row.bytes) /
                row.samples.median_ns * 1e9;
    if (status == XL_OK)
        (void)roof_bound(p->r->model.q, &roof, &row, false, &row.roof);
    if (*row.unit == 'B' && p->r->rates.bandwidth > row.roof.value)
        row.roof =
            (xl_bound){p->r->rates.bandwidth, "B/s", "read", XL_MEASURED};
    report(p, &row, status);
}

static bool is_first_of_name(const struct lm_pass *pass, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(pass->list[j].name, pass->list[i].name) == 0)
            return false;
    return true;
}

/* Build kernels by a first run, time all, then each operation. */
static int measure_phase(struct phase *p, const char *title, double tokens)
{
    struct session *s = p->r->s;
    const struct lm_pass *last = &p->pass[p->n_passes - 1];
    xl_samples *samples = xl__calloc(1, sizeof *samples);
    progress_step(s, "building kernels");
    xl_status status = samples ? enqueue(p->r->model.q, p) : XL_NO_MEMORY;
    if (status == XL_OK)
        status = xl_queue_finish(p->r->model.q);
    if (status == XL_OK && p->is_decode)
        status = count_launches(p);
    if (status != XL_OK) {
        free(samples);
        return session_fail(s, title, status, xl_error_detail(p->r->model.q));
    }
    session_section(s, ROWS_OF_MODELS, title,
                    "an operation: its calls in all layers, one behind the "
                    "other, each operand counted once; calls: all of the "
                    "pass, made one by one; recorded: all of them, replayed "
                    "from a record; both by the host's clock on a queue "
                    "without profiling, beside the bound of 'clbench "
                    "plan'");
    measure_whole(p, "calls", tokens);
    for (size_t i = 0; p->is_decode && i < p->n_passes; i++)
        if (status == XL_OK)
            status = lm_pass_record(p->r->plain, &p->pass[i]);
    if (p->is_decode && status == XL_OK)
        measure_whole(p, "recorded", tokens);
    for (size_t i = 0; i < last->n && !session_stopped(s); i++)
        if (is_first_of_name(last, i))
            measure_op(p, &last->list[i], samples);
    session_section_end(s);
    free(samples);
    return EXIT_FINE;
}

/* -- phases --------------------------------------------------------------- */

static int measure_prompt(struct lm_run *r)
{
    struct lm_pass pass = {0};
    struct phase p = {
        .r = r, .op = "model_prompt", .pass = &pass, .n_passes = 1};
    char title[96];
    snprintf(title, sizeof title, "Prompt of %zu tokens", r->size.prompt);
    const xl_status status =
        lm_pass_build(&r->model, r->size.prompt, 0, &pass);
    const int code =
        status == XL_OK
            ? measure_phase(&p, title,
                            (double)(r->size.prompt * r->size.batch))
            : session_fail(r->s, title, status, xl_error_detail(r->model.q));
    lm_pass_clear(&pass);
    return code;
}

/* The last steps of the context. Clear them also after a failure. */
static xl_status build_steps(struct lm_run *r, struct phase *out)
{
    xl_status status = XL_OK;
    *out = (struct phase){.r = r,
                          .op = "model_decode",
                          .is_decode = true,
                          .n_passes = r->decoded};
    out->pass = xl__calloc(r->decoded, sizeof *out->pass);
    TRY(out->pass ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < r->decoded; i++)
        TRY(lm_pass_build(&r->model, 1, r->size.context - r->decoded + i,
                          &out->pass[i]));
fail:
    return status;
}

static void clear_steps(struct phase *p)
{
    for (size_t i = 0; p->pass && i < p->n_passes; i++)
        lm_pass_clear(&p->pass[i]);
    free(p->pass);
}

static int measure_decode(struct lm_run *r)
{
    struct phase p;
    char title[96];
    snprintf(title, sizeof title, "Decoding at %zu tokens of context",
             r->size.context);
    const xl_status status = build_steps(r, &p);
    const int code =
        status == XL_OK
            ? measure_phase(&p, title, (double)(r->decoded * r->size.batch))
            : EXIT_FINE;
    clear_steps(&p);
    return status == XL_OK ? code
                           : session_fail(r->s, title, status,
                                          xl_error_detail(r->model.q));
}

/* -- over context and batch ----------------------------------------------- */

static xl_status record_steps(struct phase *p)
{
    xl_status status = XL_OK;
    TRY(enqueue(p->r->plain, p));
    TRY(xl_queue_finish(p->r->plain));
    for (size_t i = 0; i < p->n_passes; i++)
        TRY(lm_pass_record(p->r->plain, &p->pass[i]));
fail:
    return status;
}

/* What does not fit is a row too. */
static void measure_point(struct lm_run *r, struct lm_point *at)
{
    struct phase p = {.r = r, .op = "model_decode"};
    struct lm_bytes bytes;
    xl_fact memory;
    r->size.batch = at->batch;
    r->size.context = at->context;
    r->size.prompt = xl__min_size(r->size.prompt, at->context);
    xl_status status = lm_bytes(r->arch, &r->source, &r->size, &bytes);
    if (status == XL_OK &&
        xl_device_fact(r->dev, "global_mem_bytes", XL_UNKNOWN, &memory) ==
            XL_OK &&
        lm_bytes_sum(&bytes) > memory.value)
        status = XL_NO_MEMORY;
    if (status == XL_OK)
        status = lm_model_resize(&r->model, &r->size);
    if (status == XL_OK)
        status = build_steps(r, &p);
    if (status == XL_OK)
        status = record_steps(&p);
    if (status == XL_OK) {
        measure_whole(&p, "recorded", (double)(r->decoded * at->batch));
        at->rate = r->decode_rate;
        at->bound = r->decode_bound;
    } else {
        xl_row row;
        begin_row(&p, "recorded", &row);
        report(&p, &row, status);
    }
    clear_steps(&p);
}

/* The point of the run itself is measured. */
static void measure_points(struct lm_run *r)
{
    const struct lm_size size = r->size;
    const double rate = r->decode_rate, bound = r->decode_bound;
    session_section(r->s, ROWS_OF_MODELS, "Decoding over context and batch",
                    "steps of decoding, replayed from a record, beside the "
                    "bound of 'clbench plan'; those of the run itself are in "
                    "the table above");
    for (size_t i = 0; i < r->n_points && !session_stopped(r->s); i++) {
        struct lm_point *at = &r->point[i];
        if (at->batch == size.batch && at->context == size.context) {
            at->rate = rate;
            at->bound = bound;
        } else {
            measure_point(r, at);
        }
    }
    session_section_end(r->s);
    r->size = size;
    r->decode_rate = rate;
    r->decode_bound = bound;
}

/* A queue as applications have it: without the stamps of each launch, which
 * take time of their own. */
static xl_status create_plain(xl_lib *lib, xl_queue *q, xl_queue **out)
{
    xl_status status = XL_OK;
    cl_device_id device;
    cl_int code;
    TRY(clGetCommandQueueInfo(xl_queue_cl(q), CL_QUEUE_DEVICE, sizeof device,
                              &device, NULL));
    cl_command_queue native =
        clCreateCommandQueue(xl_queue_context(q), device, 0, &code);
    TRY(code);
    status = xl_queue_wrap(lib, native, out);
    clReleaseCommandQueue(native);
fail:
    return status;
}

static xl_status write_prompt(struct lm_run *r)
{
    const size_t n = r->size.batch * r->size.prompt;
    struct xl__rng rng;
    int *ids = xl__calloc(n, sizeof *ids);
    xl__rng_seed(&rng, r->s->set.seed);
    for (size_t i = 0; ids && i < n; i++)
        ids[i] = (int)xl__rng_below(&rng, r->arch->vocab);
    const xl_status status =
        ids ? lm_model_write_ids(&r->model, ids, n) : XL_NO_MEMORY;
    free(ids);
    return status;
}

int lm_measure(struct lm_run *r)
{
    enum { STEPS = 30 }; /* about: operations of both phases */
    int code = EXIT_NO_DEVICE;
    struct session *s = r->s;
    xl_queue *q = session_queue(s, r->dev);
    if (!q)
        return code;
    r->prompt_rate = r->decode_rate = r->decode_launches = (double)NAN;
    progress_begin(s, STEPS + (unsigned)r->n_points);
    progress_step(s, "making weights");
    xl_status status =
        lm_model_create(q, r->arch, &r->source, &r->size, &r->model);
    if (status == XL_OK)
        status = write_prompt(r);
    if (status == XL_OK)
        status = create_plain(s->lib, q, &r->plain);
    code = status == XL_OK ? EXIT_FINE
                           : session_fail(s, "making the model", status,
                                          lm_source_failure(&r->source, q));
    if (code == EXIT_FINE)
        code = measure_prompt(r);
    if (code == EXIT_FINE && !session_stopped(s))
        code = measure_decode(r);
    if (code == EXIT_FINE && r->n_points > 0 && !session_stopped(s))
        measure_points(r);
    progress_end(s);
    xl_queue_destroy(r->plain);
    r->plain = NULL;
    lm_model_clear(&r->model);
    xl_queue_destroy(q);
    return code;
}
