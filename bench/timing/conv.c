/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as a timed op: its shapes, buffers, counts and check. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "cases/conv_cases.h"
#include "timing/roofs/peaks.h"
#include "timing/run_cases.h"
#include "verify/verify.h"

enum { IN, FILTERS, OUT, NORM };
enum { SAMPLE = 1024 };

/* -- a shape ------------------------------------------------------------ */

/* Read n sizes separated by x; false unless `end` follows them. */
static bool read_sizes(const char **at, size_t *size, unsigned n, char end)
{
    static const size_t base = 10;
    for (unsigned i = 0; i < n; i++) {
        size[i] = 0;
        for (; isdigit((unsigned char)**at); (*at)++)
            if (!xl__mul(size[i], base, &size[i]) ||
                !xl__add(size[i], (size_t)(**at - '0'), &size[i]))
                return false;
        if (size[i] == 0 || **at != (i + 1 < n ? 'x' : end))
            return false;
        *at += i + 1 < n || end;
    }
    return true;
}

static bool parse_conv(const struct settings *set, const char *word, void *arg,
                       char *why, size_t why_cap)
{
    struct conv_case *c = arg;
    size_t in[4], filters[3], p, q;
    const char *at = word;
    if (!read_sizes(&at, in, 4, ':') || !read_sizes(&at, filters, 3, 0)) {
        snprintf(
            why, why_cap,
            "invalid shape '%s': must be images and filters, NxHxWxC:KxRxS, "
            "such as 32x56x56x64:64x3x3",
            word);
        return false;
    }
    *c = (struct conv_case){
        .name = "own", .use = CASE_BENCH, .n = in[0], .h = in[1], .w = in[2],
        .c = in[3], .k = filters[0], .r = filters[1], .s = filters[2],
        .groups = set->groups, .stride = {set->stride, set->stride},
        .dilation = {set->dilation, set->dilation},
        .pad = {set->pad, set->pad, set->pad, set->pad},
        .order = set->layout == XL_NHWC ? CONV_NHWC : CONV_NCHW, .alpha = 1,
        .accuracy = set->accuracy};
    c->in = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype;
    c->out = c->in == XL_I8 ? XL_I32 : c->in;
    const xl_conv d = conv_descriptor(c);
    if (xl_conv_out_size(&d, &p, &q) == XL_OK)
        return true;
    snprintf(why, why_cap, "invalid shape '%s': %s", word,
             c->groups && (c->c % c->groups || c->k % c->groups)
                 ? "channels and filters must be multiples of --groups"
                 : "the filter is larger than the padded image");
    return false;
}

/* -- memory ------------------------------------------------------------- */

static size_t elems_of(const size_t size[4])
{
    return size[0] * size[1] * size[2] * size[3];
}

static size_t filter_elems(const struct conv_case *c)
{
    return c->c / (c->groups ? c->groups : 1) * c->r * c->s;
}

/* The buffer that the pass writes. */
static unsigned result_buffer(const struct conv_case *c)
{
    return c->pass == XL_CONV_BACKWARD_DATA      ? IN
           : c->pass == XL_CONV_BACKWARD_FILTERS ? FILTERS
                                                 : OUT;
}

static void layout_conv_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct conv_case *c = arg;
    size_t in[4], out[4], result[4];
    conv_in_size(c, in);
    conv_out_size(c, out);
    conv_result_size(c, result);
    buffers[IN] = bench_input(elems_of(in), c->in);
    buffers[FILTERS] = bench_input(c->k * filter_elems(c), c->in);
    buffers[OUT] = bench_input(elems_of(out), c->in);
    buffers[result_buffer(c)] = bench_result(elems_of(result), c->out, false);
    for (unsigned i = 0; c->has_norm && i < CONV_N_NORM; i++)
        buffers[NORM + i] = bench_input(c->k, XL_F32);
}

static void describe_filter(const struct conv_case *c, xl_row *row)
{
    const bool in_nhwc = c->order & CONV_IN_NHWC,
               out_nhwc = c->order & CONV_OUT_NHWC;
    xl_row_param_text(row, "layout",
                      in_nhwc == out_nhwc ? (in_nhwc ? "nhwc" : "nchw")
                      : in_nhwc           ? "nhwc to nchw"
                                          : "nchw to nhwc");
    if (c->stride[0] > 1 || c->stride[1] > 1)
        xl_row_param(row, "stride", (double)c->stride[0]);
    if (c->pad[0] > 0)
        xl_row_param(row, "pad", (double)c->pad[0]);
    if (c->dilation[0] > 1)
        xl_row_param(row, "dilation", (double)c->dilation[0]);
    if (c->groups > 1)
        xl_row_param(row, "groups", (double)c->groups);
    bench_describe_accuracy(c->accuracy, row);
    if (c->has_norm)
        xl_row_param_text(row, "epilogue", "batch norm, relu");
}

static void describe_conv(const void *arg, xl_row *row)
{
    const struct conv_case *c = arg;
    size_t in[4], out[4], result[4];
    conv_in_size(c, in);
    conv_out_size(c, out);
    row->dtype = c->in;
    row->unit = "flop/s";
    xl_row_shape(row, "n", (double)c->n);
    xl_row_shape(row, "h", (double)c->h);
    xl_row_shape(row, "w", (double)c->w);
    xl_row_shape(row, "c", (double)c->c);
    xl_row_shape(row, "k", (double)c->k);
    xl_row_shape(row, "r", (double)c->r);
    xl_row_shape(row, "s", (double)c->s);
    describe_filter(c, row);
    conv_result_size(c, result);
    const double written = (double)elems_of(result);
    const double read = (double)elems_of(in) + (double)elems_of(out) +
                        (double)c->k * (double)filter_elems(c) - written;
    row->flop = 2 * (double)elems_of(out) * (double)filter_elems(c);
    row->bytes =
        read * (double)xl_dtype_bytes(c->in) +
        written * (double)xl_dtype_bytes(c->out) * (c->beta != 0 ? 2 : 1);
}

/* -- runs --------------------------------------------------------------- */

static xl_conv conv_call(const struct case_run *w,
                         xl_binding bindings[CONV_N_NORM])
{
    const struct conv_case *c = w->c;
    xl_conv d = conv_descriptor(c);
    d.in.mem.buf = w->data->mem[IN];
    d.filters.mem.buf = w->data->mem[FILTERS];
    d.out.mem.buf = w->data->mem[OUT];
    d.variant = w->variant;
    if (c->has_norm) {
        conv_norm_bind(&d, w->data->mem + NORM, bindings);
        d.epilogue = (xl_epilogue){conv_norm_text, bindings, CONV_N_NORM};
    }
    return d;
}

static xl_status run_conv(xl_queue *q, const struct case_run *w)
{
    xl_binding bindings[CONV_N_NORM];
    const xl_conv d = conv_call(w, bindings);
    return xl_conv_run(q, &d, NULL);
}

static xl_status explain_conv(xl_queue *q, const struct case_run *w,
                              xl_choice *out, unsigned *n)
{
    xl_binding bindings[CONV_N_NORM];
    const xl_conv d = conv_call(w, bindings);
    return xl_conv_explain(q, &d, out, *n, n);
}

/* Each operand is converted at least once. */
static void count_products(const void *arg, const xl_choice *choice,
                           xl_counts *work)
{
    const struct conv_case *c = arg;
    work->flop[0].is_product = true;
    diagnose_conversions(choice, c->in, work->bytes[XL_LEVEL_DRAM], work);
}

static struct ref_mat matrix_of(const void *data, struct conv_lines lines,
                                xl_dtype dtype)
{
    return (struct ref_mat){data, 0, lines.cols, 1, dtype};
}

/* The last element and others at random. */
static void check_sample(const struct conv_case *c, const struct bench_data *d,
                         const void *got, struct check_result *found)
{
    static const char *const names[] = {"in", "filters", "out"};
    const xl_conv desc = conv_descriptor(c);
    size_t in[4], out[4], size[4], at[4];
    conv_in_size(c, in);
    conv_out_size(c, out);
    conv_result_size(c, size);
    const struct conv_lines li = conv_lines(desc.in.layout, in),
                            lo = conv_lines(desc.out.layout, out),
                            lf = conv_filter_lines(c);
    const unsigned at_result = result_buffer(c);
    const struct ref_mat result = matrix_of(got,
                                            at_result == IN        ? li
                                            : at_result == FILTERS ? lf
                                                                   : lo,
                                            c->out);
    struct conv_ref ref = {.c = c};
    struct xl__rng rng;
    ref.in = matrix_of(d->host[IN], li, c->in);
    ref.filters = matrix_of(d->host[FILTERS], lf, c->in);
    ref.out = matrix_of(d->host[OUT], lo, c->in);
    for (unsigned i = 0; c->has_norm && i < CONV_N_NORM; i++)
        ref.norm[i] = d->host[NORM + i];
    xl__rng_seed(&rng, d->seed);
    for (unsigned s = 0; s < SAMPLE; s++) {
        const size_t all = elems_of(size);
        const size_t i = s ? (size_t)xl__rng_below(&rng, all) : all - 1;
        struct checked_element e = {.name = names[at_result], .dtype = c->out};
        conv_indices(c, i, at);
        e.i = at[0] * size[1] + at[1];
        e.j = at[2] * size[3] + at[3];
        e.expected = conv_expected(&ref, at, &e.tol);
        e.got = conv_result_at(c, &result, at);
        check_element(found, &e);
    }
}

static xl_status check_conv(xl_queue *q, const struct case_run *w,
                            struct check_result *found)
{
    const struct conv_case *c = w->c;
    const unsigned result = result_buffer(c);
    const size_t bytes =
        w->data->buffer[result].elems * xl_dtype_bytes(c->out);
    xl_status status = XL_OK;
    void *got = malloc(bytes);
    check_init(found);
    TRY(got ? XL_OK : XL_NO_MEMORY);
    TRY(xl_buffer_read(q, w->data->mem[result], 0, got, bytes));
    check_sample(c, w->data, got, found);
    status = found->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(got);
    return status;
}

/* Does the case of the table belong to this run? */
static bool is_conv_case_in_run(const struct session *s,
                                const struct conv_case *c)
{
    const struct settings *set = &s->set;
    return (c->use & CASE_BENCH) && (!set->quick || (c->use & CASE_QUICK)) &&
           (set->dtype == XL_N_DTYPES || set->dtype == c->in) &&
           (set->layout < 0 || set->layout == (c->order == CONV_NHWC));
}

static bool read_pass_case(const struct session *s, unsigned i, void *c,
                           xl_conv_pass pass, bool *is_selected)
{
    const bool is_case = conv_case_of_pass(i, pass, c, is_selected);
    *is_selected = *is_selected && is_conv_case_in_run(s, c);
    return is_case;
}

static bool parse_pass(const struct settings *set, const char *word,
                       struct conv_case *c, xl_conv_pass pass, char *why,
                       size_t why_cap)
{
    if (!parse_conv(set, word, c, why, why_cap))
        return false;
    const bool is_forward = pass == XL_CONV_FORWARD;
    const bool is_float =
        c->in == XL_F32 || c->in == XL_F16 || c->in == XL_BF16;
    c->pass = pass;
    return bench_has_accuracy(
        set, is_forward ? xl_dtype_name(c->in) : "gradients",
        is_forward && is_float, is_forward && is_float, why, why_cap);
}

#define PASS_FUNCTIONS(called, pass_)                                         \
    static bool read_##called(const struct session *s, unsigned i, void *c,   \
                              bool *is_selected)                              \
    {                                                                         \
        return read_pass_case(s, i, c, pass_, is_selected);                   \
    }                                                                         \
    static bool parse_##called(const struct settings *set, const char *word,  \
                               void *c, char *why, size_t why_cap)            \
    {                                                                         \
        return parse_pass(set, word, c, pass_, why, why_cap);                 \
    }
PASS_FUNCTIONS(forward, XL_CONV_FORWARD)
PASS_FUNCTIONS(data, XL_CONV_BACKWARD_DATA)
PASS_FUNCTIONS(filters, XL_CONV_BACKWARD_FILTERS)

static xl_roof conv_engine(const void *arg)
{
    const struct conv_case *c = arg;
    return roof_of_products(c->in, c->accuracy == XL_ACCURACY_FAST);
}

#define PASS(called, op, heading)                                             \
    {                                                                         \
        .name = op, .title = heading,                                         \
        .note = "2 n k p q c r s / groups flop a run, roof from this "        \
                "device's measured peaks, the matrix engine's where it "      \
                "multiplies the type",                                        \
        .case_bytes = sizeof(struct conv_case), .parse = parse_##called,      \
        .table = read_##called, .layout = layout_conv_buffers,                \
        .describe = describe_conv, .run = run_conv, .explain = explain_conv,  \
        .count = count_products, .engine = conv_engine, .check = check_conv,  \
    }
const struct bench_op bench_conv = PASS(forward, "conv", "Convolution");
const struct bench_op bench_conv_data =
    PASS(data, "conv_data", "Convolution, backward data");
const struct bench_op bench_conv_filters =
    PASS(filters, "conv_filters", "Convolution, backward filters");
