/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, its gradient and the rotary embedding as timed ops: shapes,
 * buffers, counts and checks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "cases/attention/rotary_cases.h"
#include "cases/shapes.h"
#include "timing/roofs/peaks.h"
#include "timing/run_cases.h"
#include "verify/attention_gradients.h"
#include "verify/verify.h"

enum { SAMPLE_ROWS = 16 };

/* `form` names the sizes of the two shapes that there are. */
static bool parse_shape(const struct settings *set, const char *word,
                        const char *form, struct attention_case *c, char *why,
                        size_t why_cap)
{
    enum { SQUARE = 4, OBLONG = 5 };
    size_t size[OBLONG];
    unsigned n = 1;
    for (const char *at = word; *at; at++)
        n += *at == 'x' || *at == 'X';
    if (n < SQUARE || n > OBLONG) {
        snprintf(why, why_cap, "invalid shape '%s': must be %s, such as "
                               "4x16x1024x128",
                 word, form);
        return false;
    }
    if (!shape_sizes(word, form, size, n, why, why_cap))
        return false;
    *c = (struct attention_case){
        .name = "own",
        .use = CASE_BENCH,
        .n_batch = size[0],
        .n_heads = size[1],
        .share = set->share,
        .n_q = size[2],
        .n_kv = size[n - 2],
        .d = size[n - 1],
        .dtype = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype,
        .out = XL_F16,
        .is_causal = set->causal,
        .window = set->window,
        .accuracy = set->accuracy};
    if (!set->share || c->n_heads % set->share == 0)
        return true;
    snprintf(why, why_cap, "invalid shape '%s': its %zu heads must be a "
                           "multiple of --share",
             word, c->n_heads);
    return false;
}

static const char shapes[] = "BATCHxHEADSxNxD or BATCHxHEADSxQUERIESxKEYSxD";

static bool parse_attention(const struct settings *set, const char *word,
                            void *arg, char *why, size_t why_cap)
{
    const struct attention_case *c = arg;
    return parse_shape(set, word, shapes, arg, why, why_cap) &&
           bench_has_accuracy(set, xl_dtype_name(c->dtype), c->dtype == XL_F32,
                              c->dtype == XL_F32, why, why_cap);
}

static void layout_attention_buffers(const void *arg,
                                     struct bench_buffer *buffers)
{
    const struct attention_case *c = arg;
    for (unsigned x = ATTENTION_Q; x < ATTENTION_OPERANDS; x++) {
        const struct attention_lines lines = attention_lines(c, x);
        const size_t elems = lines.rows * lines.cols;
        if (!attention_has(c, x))
            continue;
        buffers[x] = attention_is_result(c, x)
                         ? bench_result(elems, lines.dtype, false)
                         : bench_input(elems, lines.dtype);
    }
}

static void describe_attention(const void *arg, xl_row *row)
{
    /* Of a column of a pair. */
    static const double forward = 4, backward = 10;
    const struct attention_case *c = arg;
    row->dtype = c->dtype;
    row->unit = "flop/s";
    xl_row_shape(row, "batch", (double)c->n_batch);
    xl_row_shape(row, "heads", (double)c->n_heads);
    xl_row_shape(row, "q", (double)c->n_q);
    xl_row_shape(row, "kv", (double)c->n_kv);
    xl_row_shape(row, "d", (double)c->d);
    if (c->share > 1)
        xl_row_param(row, "kv heads", (double)attention_kv_heads(c));
    if (c->is_causal)
        xl_row_param_text(row, "mask", "causal");
    if (c->window)
        xl_row_param(row, "window", (double)c->window);
    bench_describe_accuracy(c->accuracy, row);
    row->flop = (c->is_backward ? backward : forward) * (double)c->d *
                attention_pairs(c);
    row->bytes = 0;
    for (unsigned x = ATTENTION_Q; x < ATTENTION_OPERANDS; x++) {
        const struct attention_lines lines = attention_lines(c, x);
        if (attention_has(c, x))
            row->bytes += (double)lines.rows * (double)lines.cols *
                          (double)xl_dtype_bytes(lines.dtype);
    }
}

static void make_call(const struct case_run *w, struct attention_call *call)
{
    struct attention_memory at = {.ld = {0}};
    for (unsigned x = ATTENTION_Q; x < ATTENTION_OPERANDS; x++) {
        at.mem[x] = w->data->mem[x];
        at.ld[x] = attention_lines(w->c, x).cols;
    }
    attention_call_init(call, w->c, &at, w->variant);
}

static xl_status run_attention(xl_queue *q, const struct case_run *w)
{
    struct attention_call call;
    make_call(w, &call);
    return xl_attention_run(q, &call.a, NULL);
}

static xl_status explain_attention(xl_queue *q, const struct case_run *w,
                                   xl_choice *out, unsigned *n)
{
    struct attention_call call;
    make_call(w, &call);
    return xl_attention_explain(q, &call.a, out, *n, n);
}

/* One exponential for each pair; each operand is converted at least once. */
static void count_products(const void *arg, const xl_choice *choice,
                           xl_counts *work)
{
    const struct attention_case *c = arg;
    work->flop[0].is_product = true;
    work->special = attention_pairs(c);
    diagnose_conversions(choice, c->dtype, work->bytes[XL_LEVEL_DRAM], work);
}

/* The last row and others at random, each in all columns. */
static xl_status check_attention(xl_queue *q, const struct case_run *w,
                                 struct check_result *found)
{
    const struct attention_case *c = w->c;
    const struct bench_data *d = w->data;
    const size_t rows = c->n_batch * c->n_heads * c->n_q;
    const size_t bytes = c->d * xl_dtype_bytes(attention_out(c));
    struct attention_ref ref = {.c = c};
    struct attention_row row = {.weight = xl__calloc(c->n_kv, sizeof(double))};
    void *line = malloc(bytes);
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(found);
    xl__rng_seed(&rng, d->seed);
    TRY(line && row.weight ? XL_OK : XL_NO_MEMORY);
    for (unsigned x = ATTENTION_Q; x <= ATTENTION_V; x++)
        ref.operand[x] =
            (struct ref_mat){d->host[x], 0, c->d, 1, c->dtype};
    for (size_t s = 0; s < xl__min_size(rows, SAMPLE_ROWS); s++) {
        const size_t r = s == 0 ? rows - 1 : (size_t)xl__rng_below(&rng, rows);
        const size_t i = r % c->n_q, h = r / c->n_q % c->n_heads;
        struct checked_element e = {.name = "o", .dtype = attention_out(c)};
        attention_row(&ref, r / c->n_q / c->n_heads, h, i, &row);
        e.i = attention_line(c, ATTENTION_O, row.b, h, i);
        TRY(xl_buffer_read(q, d->mem[ATTENTION_O], e.i * bytes, line, bytes));
        for (e.j = 0; e.j < c->d; e.j++) {
            e.got = ref_load(line, e.j, attention_out(c));
            e.expected = attention_expected(&ref, &row, e.j, &e.tol);
            check_element(found, &e);
        }
    }
    status = found->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    free(row.weight);
    return status;
}

static bool is_timed(const struct settings *set,
                     const struct attention_case *row)
{
    return (row->use & CASE_BENCH) &&
           (!set->quick || (row->use & CASE_QUICK)) &&
           (set->full || !(row->use & CASE_BIG)) &&
           (set->dtype == XL_N_DTYPES || set->dtype == row->dtype);
}

static bool read_attention_case(const struct session *s, unsigned i, void *c,
                                bool *is_selected)
{
    const struct attention_case *row = &attention_cases[i];
    if (!row->name)
        return false;
    *is_selected = is_timed(&s->set, row);
    memcpy(c, row, sizeof *row);
    return true;
}

static xl_roof attention_engine(const void *arg)
{
    enum { TERMS = 3 };
    const struct attention_case *c = arg;
    if (c->dtype == XL_F32 && c->accuracy == XL_ACCURACY_SPLIT)
        return (xl_roof){XL_F32, XL_ENGINE_MATRIX, .terms = TERMS};
    return roof_of_products(c->dtype, c->accuracy == XL_ACCURACY_FAST);
}

const struct bench_op bench_attention = {
    .name = "attention",
    .title = "Attention",
    .note = "4 d flop for each pair of a query and a key that it sees, roof "
            "from this device's measured peaks, the matrix engine's where it "
            "multiplies the type",
    .case_bytes = sizeof(struct attention_case),
    .parse = parse_attention,
    .table = read_attention_case,
    .layout = layout_attention_buffers,
    .describe = describe_attention,
    .run = run_attention,
    .explain = explain_attention,
    .count = count_products,
    .engine = attention_engine,
    .check = check_attention,
};

/* -- the gradient --------------------------------------------------------- */

static bool parse_gradient(const struct settings *set, const char *word,
                           void *arg, char *why, size_t why_cap)
{
    struct attention_case *c = arg;
    if (!parse_shape(set, word, shapes, c, why, why_cap))
        return false;
    c->is_backward = true;
    return bench_has_accuracy(set, "gradients", false, false, why, why_cap);
}

static bool read_gradient_case(const struct session *s, unsigned i, void *c,
                               bool *is_selected)
{
    struct attention_case row;
    *is_selected =
        attention_case_of_gradient(i, &row) && is_timed(&s->set, &row);
    memcpy(c, &row, sizeof row);
    return row.name != NULL;
}

/* One exponential for each pair and step. */
static void count_gradient(const void *arg, const xl_choice *choice,
                           xl_counts *work)
{
    enum { STEPS = 2 };
    count_products(arg, choice, work);
    work->special *= STEPS;
}

/* A row of a gradient, in all columns. */
static xl_status check_line(xl_queue *q, const struct case_run *w,
                            const struct attention_ref *ref,
                            const struct attention_line_at *at,
                            struct attention_pair *pair, void *line,
                            struct check_result *found)
{
    xl_status status = XL_OK;
    const struct attention_case *c = w->c;
    const size_t bytes = c->d * xl_dtype_bytes(c->dtype);
    struct checked_element e = {.name = attention_names[at->operand],
                                .dtype = c->dtype};
    attention_pairs_of(ref, at, pair);
    e.i = attention_line(c, at->operand, at->b, at->h, at->i);
    TRY(xl_buffer_read(q, w->data->mem[at->operand], e.i * bytes, line,
                       bytes));
    for (e.j = 0; e.j < c->d; e.j++) {
        e.got = ref_load(line, e.j, c->dtype);
        e.expected = attention_gradient(ref, at, pair, e.j, &e.tol);
        check_element(found, &e);
    }
fail:
    return status;
}

/* The last row of each gradient and others at random. */
static xl_status check_gradient(xl_queue *q, const struct case_run *w,
                                struct check_result *found)
{
    enum { ROWS = SAMPLE_ROWS / 4 };
    const struct attention_case *c = w->c;
    const struct bench_data *d = w->data;
    struct attention_ref ref = {.c = c};
    struct attention_pair *pair =
        xl__calloc(attention_most_pairs(c), sizeof *pair);
    void *line = malloc(c->d * xl_dtype_bytes(c->dtype));
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(found);
    xl__rng_seed(&rng, d->seed);
    TRY(line && pair ? XL_OK : XL_NO_MEMORY);
    for (unsigned x = ATTENTION_Q; x < ATTENTION_OPERANDS; x++) {
        const struct attention_lines lines = attention_lines(c, x);
        ref.operand[x] =
            (struct ref_mat){d->host[x], 0, lines.cols, 1, lines.dtype};
    }
    for (unsigned x = ATTENTION_GRAD_Q; x <= ATTENTION_GRAD_V; x++) {
        const bool is_q = x == ATTENTION_GRAD_Q;
        const size_t heads = is_q ? c->n_heads : attention_kv_heads(c),
                     n = is_q ? c->n_q : c->n_kv,
                     rows = c->n_batch * heads * n;
        for (size_t s = 0; s < xl__min_size(rows, ROWS); s++) {
            const size_t r =
                s == 0 ? rows - 1 : (size_t)xl__rng_below(&rng, rows);
            const struct attention_line_at at = {x, r / n / heads,
                                                 r / n % heads, r % n};
            TRY(check_line(q, w, &ref, &at, pair, line, found));
        }
    }
    status = found->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    free(pair);
    return status;
}

const struct bench_op bench_attention_backward = {
    .name = "attention_backward",
    .title = "Gradients of attention",
    .note = "10 d flop for each pair of a query and a key that it sees, roof "
            "from this device's measured peaks, the matrix engine's where it "
            "multiplies the type",
    .case_bytes = sizeof(struct attention_case),
    .parse = parse_gradient,
    .table = read_gradient_case,
    .layout = layout_attention_buffers,
    .describe = describe_attention,
    .run = run_attention,
    .explain = explain_attention,
    .count = count_gradient,
    .engine = attention_engine,
    .check = check_gradient,
};

/* -- the rotary embedding ------------------------------------------------- */

static bool parse_rotary(const struct settings *set, const char *word,
                         void *arg, char *why, size_t why_cap)
{
    struct rotary_case *c = arg;
    *c = (struct rotary_case){.a = {.name = NULL}};
    if (!parse_shape(set, word,
                     "BATCHxHEADSxTOKENSxD or BATCHxHEADSxTOKENSxKEYSxD",
                     &c->a, why, why_cap))
        return false;
    c->a.rows_first = true;
    if (c->a.d % 2 == 0)
        return true;
    snprintf(why, why_cap, "invalid shape '%s': D must be even", word);
    return false;
}

static bool read_rotary_case(const struct session *s, unsigned i, void *c,
                             bool *is_selected)
{
    const struct rotary_case *row = &rotary_cases[i];
    if (!row->a.name)
        return false;
    *is_selected = is_timed(&s->set, &row->a);
    memcpy(c, row, sizeof *row);
    return true;
}

/* Of the caches new rows are written. */
static void layout_rotary_buffers(const void *arg,
                                  struct bench_buffer *buffers)
{
    const struct rotary_case *c = arg;
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        const struct attention_lines lines = rotary_lines(c, x);
        const size_t elems = lines.rows * lines.cols;
        if (rotary_has(c, x))
            buffers[x] = rotary_is_result(x)
                             ? bench_result(elems, lines.dtype,
                                            x != ROTARY_Q_OUT)
                             : bench_input(elems, lines.dtype);
    }
}

static void fill_rotary(const void *arg, unsigned x, void *host,
                        struct xl__rng *rng)
{
    const struct rotary_case *c = arg;
    const struct attention_lines lines = rotary_lines(c, x);
    if (x < ROTARY_Q_ROWS || x >= ROTARY_FACTORS) {
        ref_fill(host, lines.rows * lines.cols, lines.dtype, rng);
        return;
    }
    for (size_t i = 0; i < lines.rows * lines.cols; i++)
        xl__dtype_store(host, i, lines.dtype,
                        rotary_number(c, x, i / lines.cols, i % lines.cols));
}

static void describe_rotary(const void *arg, xl_row *row)
{
    static const char *const pairs[] = {NULL, "interleaved", "none"};
    static const double flop = 3, norm_flop = 4; /* of a column */
    const struct rotary_case *c = arg;
    row->dtype = c->a.dtype;
    row->unit = "B/s";
    xl_row_shape(row, "batch", (double)c->a.n_batch);
    xl_row_shape(row, "heads", (double)c->a.n_heads);
    xl_row_shape(row, "q", (double)c->a.n_q);
    xl_row_shape(row, "kv", (double)c->a.n_kv);
    xl_row_shape(row, "d", (double)c->a.d);
    if (c->a.share > 1)
        xl_row_param(row, "kv heads", (double)attention_kv_heads(&c->a));
    if (pairs[c->pairs])
        xl_row_param_text(row, "pairs", pairs[c->pairs]);
    if (c->a.cache)
        xl_row_param_text(row, "cache", xl_dtype_name(c->a.cache));
    if (c->a.kv_rows == XL_ROWS_PAGED)
        xl_row_param(row, "page rows", (double)c->a.page_rows);
    row->flop = (flop + (c->has_norm ? norm_flop : 0)) * (double)c->a.d *
                (double)c->a.n_batch * (double)c->a.n_q *
                (double)(c->a.n_heads + attention_kv_heads(&c->a));
    row->bytes = rotary_bytes(c);
}

static void make_rotary_call(const struct case_run *w,
                             struct rotary_call *call)
{
    struct rotary_memory at = {.ld = {0}};
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        at.mem[x] = w->data->mem[x];
        at.ld[x] = rotary_lines(w->c, x).cols;
    }
    rotary_call_init(call, w->c, &at, w->variant);
}

static xl_status run_rotary(xl_queue *q, const struct case_run *w)
{
    struct rotary_call call;
    make_rotary_call(w, &call);
    return xl_rotary_run(q, &call.r, NULL);
}

static xl_status explain_rotary(xl_queue *q, const struct case_run *w,
                                xl_choice *out, unsigned *n)
{
    struct rotary_call call;
    make_rotary_call(w, &call);
    return xl_rotary_explain(q, &call.r, out, *n, n);
}

/* Rows that the last token of a sequence and others at random store. */
static xl_status check_rotary(xl_queue *q, const struct case_run *w,
                              struct check_result *found)
{
    const struct rotary_case *c = w->c;
    const struct bench_data *d = w->data;
    struct rotary_ref ref = {.c = c};
    struct rotary_row row = {.value = xl__calloc(c->a.d, sizeof(double)),
                             .tol = xl__calloc(c->a.d, sizeof(double))};
    double *line = xl__calloc(c->a.d, sizeof *line);
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(found);
    xl__rng_seed(&rng, d->seed);
    TRY(line && row.value && row.tol ? XL_OK : XL_NO_MEMORY);
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        const struct attention_lines lines = rotary_lines(c, x);
        ref.operand[x] =
            (struct ref_mat){d->host[x], 0, lines.cols, 1, lines.dtype};
    }
    for (unsigned s = 0; s < SAMPLE_ROWS; s++) {
        const enum rotary_operand x =
            (enum rotary_operand)(s % (c->no_values ? 2 : ROTARY_Q_OUT));
        const enum rotary_operand to = x + ROTARY_Q_OUT;
        const size_t heads =
            x == ROTARY_Q ? c->a.n_heads : attention_kv_heads(&c->a);
        const size_t b = (size_t)xl__rng_below(&rng, c->a.n_batch),
                     h = (size_t)xl__rng_below(&rng, heads),
                     n = attention_queries(&c->a, b);
        const size_t i = n == 0 || s < ROTARY_Q_OUT
                             ? n - 1
                             : (size_t)xl__rng_below(&rng, n);
        struct checked_element e = {.name = rotary_names[to]};
        size_t place;
        if (!rotary_position(c, b, i, &place))
            continue;
        rotary_row(&ref, x, b, h, i, &row);
        e.dtype = rotary_lines(c, to).dtype;
        e.i = rotary_line(c, to, b, h, x == ROTARY_Q ? i : place);
        const size_t bytes = c->a.d * xl_dtype_bytes(e.dtype);
        TRY(xl_buffer_read(q, d->mem[to], e.i * bytes, line, bytes));
        for (e.j = 0; e.j < c->a.d; e.j++) {
            e.got = ref_load(line, e.j, e.dtype);
            e.expected = row.value[e.j];
            e.tol = row.tol[e.j];
            check_element(found, &e);
        }
    }
    status = found->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    free(row.value);
    free(row.tol);
    return status;
}

const struct bench_op bench_rotary = {
    .name = "rotary",
    .title = "Rotary embedding and append to the cache",
    .note = "bytes of q, k and v and of what is stored, once; roof the "
            "measured copy bandwidth",
    .case_bytes = sizeof(struct rotary_case),
    .parse = parse_rotary,
    .table = read_rotary_case,
    .layout = layout_rotary_buffers,
    .fill = fill_rotary,
    .describe = describe_rotary,
    .run = run_rotary,
    .explain = explain_rotary,
    .check = check_rotary,
};
