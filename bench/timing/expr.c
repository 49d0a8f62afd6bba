/* SPDX-License-Identifier: Apache-2.0 */
/* An expression as a timed op. A row counts the bytes that the kernels of its
 * own variant move, so each rate is one of memory; the gain of the fused
 * variant follows from the times only. */
#include "timing/expr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "verify/verify.h"

static const char *const variants[] = {EXPR_FUSED, EXPR_UNFUSED, NULL};

/* -- the case as buffers and a row ---------------------------------------- */

static void layout_expr_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct expr_job *job = arg;
    for (unsigned k = 0; k < job->spec.n; k++) {
        const struct expr_name *n = &job->spec.name[k];
        if (!n->is_scalar)
            buffers[k] =
                (struct bench_buffer){expr_stored_elems(n),
                                      n->dtype,
                                      n->is_input,
                                      n->is_result,
                                      expr_stored_elems(n) != expr_elems(n),
                                      false};
    }
}

static void fill_expr(const void *arg, unsigned k, void *host,
                      struct xl__rng *rng)
{
    const struct expr_job *job = arg;
    expr_fill(&job->spec.name[k], host, rng);
}

/* Shorten a text so that it remains unique: a row has little room, so the end
 * of a long text is replaced by its hash (FNV-1a). */
static void shorten_text(char *out, size_t cap, const char *text)
{
    static const uint32_t offset = 2166136261u, prime = 16777619u;
    enum { HASH_DIGITS = 8 };
    uint32_t hash = offset;
    snprintf(out, cap, "%s", text);
    for (char *at = out; *at; at++)
        *at = *at == '\n' ? ' ' : *at; /* it is printed in one line */
    if (strlen(text) < cap)
        return;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * prime;
    snprintf(out + cap - HASH_DIGITS - 3, HASH_DIGITS + 3, ".#%08x",
             (unsigned)hash);
}

void expr_names_text(const struct expr_spec *s, struct xl__str *out)
{
    for (unsigned k = 0; k < s->n; k++) {
        const struct expr_name *n = &s->name[k];
        xl__str_printf(out, "%s%s=", k ? " " : "", n->name);
        if (n->is_scalar) {
            xl__str_printf(out, "%g", n->scalar);
            continue;
        }
        expr_shape_text(out, n);
        xl__str_printf(out, ":%s", xl_dtype_name(n->dtype));
        if (n->is_transposed)
            xl__str_add(out, ":t");
        if (n->pad)
            xl__str_printf(out, ":pad%zu", n->pad);
        if (n->off)
            xl__str_printf(out, ":off%zu", n->off);
    }
}

/* The largest tensor; the shape of a row is its shape. */
static const struct expr_name *largest_tensor(const struct expr_spec *s)
{
    const struct expr_name *best = NULL;
    for (unsigned k = 0; k < s->n; k++)
        if (!s->name[k].is_scalar &&
            (!best || expr_elems(&s->name[k]) > expr_elems(best)))
            best = &s->name[k];
    return best;
}

static void describe_expr(const void *arg, xl_row *row)
{
    const struct expr_job *job = arg;
    const struct expr_name *n = largest_tensor(&job->spec);
    struct xl__str names = {0};
    char text[sizeof row->params[0].text];
    row->unit = "B/s";
    row->dtype = n ? n->dtype : XL_F32;
    for (unsigned d = 0; n && d < n->n_dims; d++) {
        snprintf(text, sizeof text, "d%u", d);
        xl_row_shape(row, text, (double)n->size[d]);
    }
    shorten_text(text, sizeof text, job->c ? job->c->name : job->spec.text);
    xl_row_param_text(row, "case", text);
    if (!job->c) {
        expr_names_text(&job->spec, &names);
        shorten_text(text, sizeof text, xl__str_text(&names));
        xl_row_param_text(row, "names", text);
        xl__str_clear(&names);
    }
    if (job->fast_math)
        xl_row_param_text(row, "math", "fast");
}

/* Bytes that are read and written, and the number of large inputs. */
struct traffic {
    double read, written;
    unsigned n_streams; /* inputs of more than an eighth of all that is read */
    bool is_in_place;
};

static double bytes_of(const struct expr_name *n)
{
    return n->is_scalar
               ? 0
               : (double)(expr_elems(n) * xl_dtype_bytes(n->dtype));
}

static struct traffic count_traffic(const struct expr_spec *s)
{
    static const double large = 1 / 8.0;
    struct traffic t = {0, 0, 0, false};
    for (unsigned k = 0; k < s->n; k++) {
        const struct expr_name *n = &s->name[k];
        t.read += n->is_input ? bytes_of(n) : 0;
        t.written += n->is_result ? bytes_of(n) : 0;
        t.is_in_place = t.is_in_place || (n->is_input && n->is_result);
    }
    for (unsigned k = 0; k < s->n; k++)
        t.n_streams +=
            s->name[k].is_input && bytes_of(&s->name[k]) > large * t.read;
    return t;
}

/* The roof is the rate of a copy, or of reading where little is written. It is
 * not a bound for tensors that are modified in place, since a cache that
 * fetches a line before it is written has it already; nor for several large
 * inputs, which may be read faster than one. */
static struct bench_roof expr_roof(const void *arg, const xl_device *dev,
                                   const xl_row *row)
{
    (void)dev;
    (void)row;
    static const double small = 1 / 8.0;
    const struct expr_job *job = arg;
    const struct traffic t = count_traffic(&job->spec);
    const bool is_reading = t.written < small * t.read;
    return (struct bench_roof){
        is_reading ? "read_bytes_per_s" : "copy_bytes_per_s",
        is_reading ? "read" : "copy", !t.is_in_place && t.n_streams <= 1};
}

static void count_chosen_expr(const void *c, const xl_device *dev,
                              const xl_choice *choice, xl_row *row)
{
    (void)c;
    (void)dev;
    row->flop = choice->flop;
    row->bytes = choice->bytes;
    xl_row_found(row, "kernels", choice->n_steps);
}

static void add_expr_gain(xl_row *const *rows, unsigned n)
{
    xl_row *fused = NULL, *unfused = NULL;
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(rows[i]->variant, EXPR_FUSED) == 0)
            fused = rows[i];
        else
            unfused = rows[i];
    }
    if (fused && unfused)
        xl_row_found(fused, "gain", unfused->samples.median_ns /
                                        fused->samples.median_ns);
}

/* -- running -------------------------------------------------------------- */

static void bind_job(struct expr_running *r, const struct expr_job *job,
                     const cl_mem *mem, const char *variant)
{
    r->job = job;
    expr_bindings(&job->spec, mem, NULL, r->bindings);
    r->args = (xl_expr_args){XL_EXPR_ARGS_INIT, .bindings = r->bindings,
                             .n_bindings = job->spec.n,
                             .fast_math = job->fast_math, .variant = variant};
}

xl_status expr_job_compile(xl_queue *q, const struct expr_job *job,
                           const char *variant, xl_expr **out)
{
    struct expr_running r;
    bind_job(&r, job, NULL, variant);
    return xl_expr_compile(q, job->spec.text, &r.args, out);
}

static xl_status open_expr(xl_queue *q, struct case_run *w)
{
    struct expr_running *r = xl__calloc(1, sizeof *r);
    if (!r)
        return XL_NO_MEMORY;
    const struct expr_job *job = w->c;
    w->state = r;
    bind_job(r, job, w->data->mem, w->variant);
    return xl_expr_compile(q, job->spec.text, &r->args, &r->e);
}

static void close_expr(struct case_run *w)
{
    struct expr_running *r = w->state;
    if (r)
        xl_expr_destroy(r->e);
    free(r);
    w->state = NULL;
}

static xl_status run_expr(xl_queue *q, const struct case_run *w)
{
    const struct expr_running *r = w->state;
    return xl_expr_run(q, r->e, &r->args, NULL);
}

static xl_status explain_expr(xl_queue *q, const struct case_run *w,
                              xl_choice *out, unsigned *n)
{
    const struct expr_running *r = w->state;
    return xl_expr_explain(q, r->e, &r->args, out, *n, n);
}

/* -- the table ------------------------------------------------------------ */

static bool read_expr_case(const struct session *s, unsigned i, void *arg,
                           bool *is_selected)
{
    const struct expr_case *c = &expr_cases[i];
    const struct settings *set = &s->set;
    struct expr_job *job = arg;
    char why[EXPR_WHY_CAP];
    *is_selected = false;
    if (!c->name)
        return false;
    if (!c->timed || (set->quick && !(c->use & CASE_SUITE)) ||
        ((c->use & CASE_BIG) && !set->full))
        return true;
    memset(job, 0, sizeof *job);
    job->c = c;
    job->fast_math = set->fast_math;
    *is_selected =
        expr_case_spec(c, true, &job->spec, why) &&
        (set->dtype == XL_N_DTYPES || set->dtype == job->spec.name[0].dtype);
    return true;
}

const struct bench_op bench_expr = {
    .name = "expr",
    .title = "Expressions",
    .kind = ROWS_OF_EXPRESSIONS,
    .note =
        "fused, and one kernel per operation, interleaved; each rate is of "
        "the bytes that the n kernels of the variant move; gain: unfused "
        "time over fused; roof from a copy measured here, or from reading "
        "where little is written; not a bound for data modified in place "
        "or with several inputs",
    .case_bytes = sizeof(struct expr_job),
    .variants = variants,
    .runs_all = true,
    .table = read_expr_case,
    .layout = layout_expr_buffers,
    .fill = fill_expr,
    .describe = describe_expr,
    .open = open_expr,
    .close = close_expr,
    .run = run_expr,
    .explain = explain_expr,
    .chosen = count_chosen_expr,
    .roof = expr_roof,
    .check = expr_check,
    .relate = add_expr_gain,
};

/* -- checks ------------------------------------------------------------------
 *
 * A case of the table is compared with its reference in double precision.
 * There is none for a text of the command line: its two variants are compared
 * with each other. */

/* -- with the reference --------------------------------------------------- */

enum { USUAL_SAMPLES = 256 };

static xl_status check_sample(xl_queue *q, const struct case_run *w,
                              const struct expr_host *host, unsigned k,
                              struct check_result *out)
{
    const struct expr_job *job = w->c;
    const struct expr_name *n = &job->spec.name[k];
    const size_t elems = expr_elems(n), size = xl_dtype_bytes(n->dtype);
    const size_t n_samples = job->c->samples ? job->c->samples : USUAL_SAMPLES;
    struct xl__rng rng;
    xl_status status = XL_OK;
    xl__rng_seed(&rng, w->data->seed + k);
    for (size_t i = 0; i < xl__min_size(n_samples, elems); i++) {
        const size_t at =
            i == 0 ? elems - 1 : (size_t)xl__rng_below(&rng, elems);
        const struct expr_point p = expr_point_at(host, k, at);
        const struct num expected = job->c->ref(&p);
        double word;
        TRY(xl_buffer_read(q, w->data->mem[k],
                           (n->off + expr_offset(n, p.i)) * size, &word,
                           size));
        struct checked_element e = {.name = n->name,
                                    .j = at,
                                    .expected = expected.x,
                                    .tol = expr_tolerance(expected, n->dtype),
                                    .dtype = n->dtype};
        e.got = ref_load(&word, 0, n->dtype);
        check_element(out, &e);
    }
fail:
    return status;
}

static xl_status check_reference(xl_queue *q, const struct case_run *w,
                                 struct check_result *out)
{
    const struct expr_job *job = w->c;
    struct expr_host host = {.spec = &job->spec};
    xl_status status = XL_OK;
    for (unsigned k = 0; k < job->spec.n; k++) {
        host.data[k] = w->data->host[k];
        host.first[k] = job->spec.name[k].off;
    }
    for (unsigned k = 0; k < job->spec.n; k++)
        if (job->spec.name[k].is_result)
            TRY(check_sample(q, w, &host, k, out));
fail:
    return status;
}

/* -- with the other variant ----------------------------------------------- */

enum { BLOCKS = 64, BLOCK_ELEMS = 64 };

/* A sample of one result: blocks at random offsets of its memory. */
struct sample {
    char data[BLOCKS][BLOCK_ELEMS * sizeof(double)];
    size_t elems; /* of each block */
};

static xl_status read_sample(xl_queue *q, const struct case_run *w, unsigned k,
                             struct sample *out)
{
    const struct bench_buffer *x = &w->data->buffer[k];
    const size_t size = xl_dtype_bytes(x->dtype);
    struct xl__rng rng;
    xl_status status = XL_OK;
    xl__rng_seed(&rng, w->data->seed + k);
    out->elems = xl__min_size(BLOCK_ELEMS, x->elems);
    for (unsigned b = 0; b < BLOCKS; b++) {
        const size_t last = x->elems - out->elems;
        const size_t at =
            b == 0 ? last : (size_t)xl__rng_below(&rng, last + 1);
        TRY(xl_buffer_read(q, w->data->mem[k], at * size, out->data[b],
                           out->elems * size));
    }
fail:
    return status;
}

static double root_mean_square(const struct sample *s, xl_dtype dtype)
{
    double sum = 0;
    size_t n = 0;
    for (unsigned b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < s->elems; i++) {
            const double x = ref_load(s->data[b], i, dtype);
            sum += isfinite(x) ? x * x : 0;
            n++;
        }
    return sqrt(sum / (double)n);
}

static void count_kernel(const xl_expr_kernel *kernel, void *arg)
{
    (void)kernel;
    ++*(unsigned *)arg;
}

/* The number of operations in the text: the kernels of the unfused variant. */
static xl_status count_operations(xl_queue *q, const struct expr_running *r,
                                  unsigned *out)
{
    xl_expr_args args = r->args;
    args.variant = EXPR_UNFUSED;
    *out = 0;
    return xl_expr_kernels(q, r->e, &args, count_kernel, out);
}

/* The tolerance for two variants' results. */
struct variant_tolerance {
    const char *name;
    xl_dtype dtype;
    double each; /* relative error of all operations */
    double rms;  /* of the result */
};

/* k operations on one path, each off by at most 16 ulp (OpenCL C 7.4, pow;
 * with fast math by 2^-11), then one rounding to the type, on either side:
 * 2 (k 32 u + u_type) (|x| + rms). The root mean square of the result accounts
 * for intermediate values that cancel. */
static double tolerance_at(const struct variant_tolerance *l, double x)
{
    return 2 * (l->each + ref_roundoff(l->dtype)) * (fabs(x) + l->rms) +
           2 * ref_floor(l->dtype);
}

static bool is_float(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

/* Integers and bools must be equal, except for one in a thousand, which a
 * rounding may carry across a threshold. */
static void compare_samples(const struct variant_tolerance *l,
                            const struct sample *got,
                            const struct sample *other,
                            struct check_result *out)
{
    static const size_t few = 1000;
    size_t spare = BLOCKS * got->elems / few;
    for (size_t at = 0; at < BLOCKS * got->elems; at++) {
        const size_t b = at / got->elems, i = at % got->elems;
        struct checked_element e = {
            .name = l->name, .i = b, .j = i, .dtype = l->dtype};
        e.got = ref_load(got->data[b], i, l->dtype);
        e.expected = ref_load(other->data[b], i, l->dtype);
        e.tol = is_float(l->dtype) ? tolerance_at(l, e.expected) : 0;
        const bool is_spared =
            !is_float(l->dtype) && e.got != e.expected && spare;
        spare -= is_spared;
        if (!is_spared)
            check_element(out, &e);
    }
}

static xl_status run_other_variant(xl_queue *q, const struct case_run *w)
{
    const struct expr_running *r = w->state;
    xl_status status = XL_OK;
    xl_expr_args args = r->args;
    const bool is_fused = !w->variant || strcmp(w->variant, EXPR_FUSED) == 0;
    args.variant = is_fused ? EXPR_UNFUSED : EXPR_FUSED;
    TRY(bench_data_reset(q, w->data));
    TRY(xl_expr_run(q, r->e, &args, NULL));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status check_variants(xl_queue *q, const struct case_run *w,
                                struct check_result *out)
{
    static const double ulp_16 = 32 * 0x1p-24, fast = 0x1p-11;
    const struct expr_job *job = w->c;
    unsigned n_operations;
    xl_status status = XL_OK;
    struct sample *got = xl__calloc(job->spec.n, sizeof *got);
    struct sample *other = xl__calloc(1, sizeof *other);
    TRY(got && other ? XL_OK : XL_NO_MEMORY);
    TRY(count_operations(q, w->state, &n_operations));
    for (unsigned k = 0; k < job->spec.n; k++)
        if (job->spec.name[k].is_result)
            TRY(read_sample(q, w, k, &got[k]));
    TRY(run_other_variant(q, w));
    for (unsigned k = 0; k < job->spec.n; k++) {
        const struct expr_name *n = &job->spec.name[k];
        struct variant_tolerance l = {n->name, n->dtype, n_operations * ulp_16,
                                      0};
        if (!n->is_result)
            continue;
        TRY(read_sample(q, w, k, other));
        l.each = job->fast_math ? n_operations * fast : l.each;
        l.rms = root_mean_square(other, n->dtype);
        compare_samples(&l, &got[k], other, out);
    }
fail:
    free(got);
    free(other);
    return status;
}

/* --------------------------------------------------------------------------
 */

xl_status expr_check(xl_queue *q, const struct case_run *w,
                     struct check_result *out)
{
    const struct expr_job *job = w->c;
    check_init(out);
    xl_status status = job->c && !job->fast_math ? check_reference(q, w, out)
                                                 : check_variants(q, w, out);
    if (status == XL_OK && !out->right)
        status = XL_WRONG_RESULT;
    return status;
}
