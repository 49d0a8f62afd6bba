/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and its gradient as ops: the canonical descriptor and the call
 * that a descriptor splits into, its shape class, the arguments that its
 * kernels share, and the public functions. */
#include "ops/attention/attention.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/path/check.h"
#include "ops/path/operands.h"

/* -- sizes and strides ---------------------------------------------------- */

static size_t pages_of(const struct xl__attention_canonical *c)
{
    return xl__ceil_div(c->n_kv, xl__max_size(1, c->kv_rows.page_rows));
}

/* Of the numbers of sequences, or of pages. */
static void list_sizes(const struct xl__attention_canonical *c, unsigned view,
                       size_t size[XL__HEADS_DIMS])
{
    const size_t kind =
        view == XL__ATTENTION_Q_ROWS ? c->q_rows.kind : c->kv_rows.kind;
    size[XL__HEADS_HEAD] = size[XL__HEADS_ROW] = size[XL__HEADS_COL] = 1;
    if (view == XL__ATTENTION_PAGES)
        size[XL__HEADS_ROW] = pages_of(c);
    else
        size[XL__HEADS_BATCH] = c->n_batch + (kind == XL_ROWS_PACKED);
}

/* From sizes of sequences of one length. */
static void lay_rows(const struct xl__attention_rows *rows,
                     size_t size[XL__HEADS_DIMS])
{
    if (rows->kind == XL_ROWS_PACKED) {
        size[XL__HEADS_ROW] *= size[XL__HEADS_BATCH];
        size[XL__HEADS_BATCH] = 1;
    } else if (rows->kind == XL_ROWS_PAGED) {
        size[XL__HEADS_BATCH] *=
            xl__ceil_div(size[XL__HEADS_ROW], rows->page_rows);
        size[XL__HEADS_ROW] = rows->page_rows;
    }
}

void xl__attention_sizes(const struct xl__attention_canonical *c,
                         unsigned view, size_t size[XL__HEADS_DIMS])
{
    const bool is_kv = view == XL__ATTENTION_K || view == XL__ATTENTION_V ||
                       view == XL__ATTENTION_GRAD_K ||
                       view == XL__ATTENTION_GRAD_V;
    const bool is_of_head =
        view == XL__ATTENTION_SLOPES || view == XL__ATTENTION_SINKS;
    const bool is_scales =
        view == XL__ATTENTION_K_SCALES || view == XL__ATTENTION_V_SCALES;
    size[XL__HEADS_BATCH] = c->n_batch;
    size[XL__HEADS_HEAD] = is_kv || is_scales ? c->n_kv_heads : c->n_heads;
    size[XL__HEADS_ROW] = is_of_head           ? 1
                          : is_kv || is_scales ? c->n_kv
                                               : c->n_q;
    size[XL__HEADS_COL] = is_of_head || is_scales || view == XL__ATTENTION_LSE
                              ? 1
                          : view == XL__ATTENTION_MASK ? c->n_kv
                                                       : c->d_head;
    if (view >= XL__ATTENTION_Q_ROWS && view <= XL__ATTENTION_PAGES)
        list_sizes(c, view, size);
    else if (view != XL__ATTENTION_MASK && !is_of_head)
        lay_rows(is_kv || is_scales ? &c->kv_rows : &c->q_rows, size);
}

bool xl__heads_strides(const xl_heads *x, const size_t size[XL__HEADS_DIMS],
                       size_t stride[XL__HEADS_DIMS])
{
    size_t step = 1, set = 0;
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        set |= stride[d] = x->stride[d];
    for (unsigned d = XL__HEADS_DIMS; set == 0 && d-- > 0;) {
        stride[d] = step;
        if (!xl__mul(step, size[d], &step))
            return false;
    }
    return true;
}

void xl__attention_keys(const struct xl__attention_canonical *c, size_t i,
                        size_t *first, size_t *last)
{
    /* One more than i + n_kv - n_q, so that it is not negative below. */
    const size_t end = i + c->n_kv + 1;
    *first = end > c->n_q + c->before + 1 ? end - c->n_q - c->before - 1 : 0;
    *last = end + c->after > c->n_q
                ? xl__min_size(c->n_kv, end + c->after - c->n_q)
                : 0;
    *first = xl__min_size(*first, *last);
}

double xl__attention_pairs(const struct xl__attention_canonical *c)
{
    double pairs = 0;
    size_t first, last;
    if (c->before == XL__ATTENTION_ANY && c->after == XL__ATTENTION_ANY)
        pairs = (double)c->n_q * (double)c->n_kv;
    else
        for (size_t i = 0; i < c->n_q; i++) {
            xl__attention_keys(c, i, &first, &last);
            pairs += (double)(last - first);
        }
    return pairs * (double)c->n_batch * (double)c->n_heads;
}

double xl__attention_flop(const struct xl__attention_canonical *c)
{
    /* Of a column: two products with sums, of a gradient five. */
    static const double forward = 4, backward = 10;
    const double flop = xl__attention_is_backward(c) ? backward : forward;
    const double of_score = c->score ? c->score->flop : 0;
    return xl__attention_pairs(c) * (flop * (double)c->d_head + of_score);
}

double xl__attention_bytes(const struct xl__attention_canonical *c)
{
    double bytes = 0;
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        size_t size[XL__HEADS_DIMS];
        double elems = xl__attention_has(c, i);
        xl__attention_sizes(c, i, size);
        for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
            elems *= c->view[i].stride[d] == 0 ? 1 : (double)size[d];
        bytes += elems * (double)xl_dtype_bytes(c->view[i].dtype);
    }
    return bytes;
}

/* -- shape class ---------------------------------------------------------- */

static void describe_class(const void *canonical, struct xl__str *out)
{
    const struct xl__attention_canonical *c = canonical;
    xl__str_printf(out, "%s d%zu q%zu kv%zu heads%zu share%zu",
                   xl_dtype_name(c->view[XL__ATTENTION_Q].dtype), c->d_head,
                   xl__bucket(c->n_q), xl__bucket(c->n_kv),
                   xl__bucket_coarse(c->n_batch * c->n_heads),
                   xl__attention_share(c));
    if (c->after == 0)
        xl__str_add(out, " causal");
    if (c->before != XL__ATTENTION_ANY)
        xl__str_printf(out, " window%zu", xl__bucket(c->before + 1));
    if (c->has_cap)
        xl__str_add(out, " cap");
    for (unsigned i = XL__ATTENTION_MASK; i < XL__ATTENTION_N_VIEWS; i++) {
        if (xl__attention_has(c, i))
            xl__str_printf(out, " %s", xl__attention_names[i]);
    }
    if (c->q_rows.kind || c->kv_rows.kind)
        xl__str_printf(out, " rows%zu,%zu", c->q_rows.kind, c->kv_rows.kind);
    if (c->view[XL__ATTENTION_K].dtype != c->view[XL__ATTENTION_Q].dtype)
        xl__str_printf(out, " kv_%s",
                       xl_dtype_name(c->view[XL__ATTENTION_K].dtype));
    if (c->view[XL__ATTENTION_O].dtype != c->view[XL__ATTENTION_Q].dtype)
        xl__str_printf(out, " o_%s",
                       xl_dtype_name(c->view[XL__ATTENTION_O].dtype));
    if (c->score)
        xl__str_add(out, " prologue");
    xl__str_add(out, xl__accuracy_class(c->accuracy));
}

/* A dense view of the same class: columns are contiguous or not, a dimension
 * is repeated or not. */
static void set_dense(struct xl__attention_canonical *c)
{
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        size_t *stride = c->view[i].stride, size[XL__HEADS_DIMS], step = 1;
        xl__attention_sizes(c, i, size);
        for (unsigned d = XL__HEADS_DIMS; d-- > 0;) {
            if (stride[d] == 0)
                continue;
            if (d == XL__HEADS_COL && stride[d] > 1)
                step = 2;
            stride[d] = step;
            step *= size[d];
        }
    }
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__attention_canonical *to = representative;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    to->n_batch = xl__size_end(to->n_batch, XL__SIZE_GRAIN, end);
    to->n_q = xl__size_end(to->n_q, XL__SIZE_GRAIN, end);
    to->n_kv = xl__size_end(to->n_kv, XL__SIZE_GRAIN, end);
    set_dense(to);
}

/* Sequences first, since variants differ in the lengths. */
static bool halve_sizes(void *canonical)
{
    enum { LEAST = 64 };
    struct xl__attention_canonical *c = canonical;
    size_t *const size = c->n_batch > 1        ? &c->n_batch
                         : c->n_q >= c->n_kv ? &c->n_q
                                             : &c->n_kv;
    if (c->n_batch == 1 && *size <= LEAST)
        return false;
    *size = xl__size_half(*size);
    set_dense(c);
    return true;
}

/* -- bind ----------------------------------------------------------------- */

void xl__attention_set_rows(const xl_sequences *from,
                            struct xl__attention_rows *to)
{
    to->kind = from ? from->kind : 0;
    to->page_rows =
        to->kind == XL_ROWS_PAGED ? xl__max_size(1, from->page_rows) : 0;
}

void xl__attention_memory_sizes(const xl_attention *a,
                                const struct xl__attention_canonical *c,
                                unsigned view, size_t size[XL__HEADS_DIMS])
{
    const bool is_of_q = view == XL__ATTENTION_Q || view == XL__ATTENTION_O ||
                         view == XL__ATTENTION_LSE;
    const bool is_of_kv = view == XL__ATTENTION_K || view == XL__ATTENTION_V ||
                          view == XL__ATTENTION_K_SCALES ||
                          view == XL__ATTENTION_V_SCALES;
    const xl_sequences *rows = is_of_q    ? a->q_rows
                               : is_of_kv ? a->kv_rows
                                          : NULL;
    xl__attention_sizes(c, view, size);
    if (rows && rows->kind == XL_ROWS_PACKED)
        size[XL__HEADS_ROW] = rows->n_total;
    if (rows && rows->kind == XL_ROWS_PAGED)
        size[XL__HEADS_BATCH] = rows->n_total;
}

void xl__attention_set_sizes(const xl_attention *a,
                             struct xl__attention_canonical *to)
{
    memset(to, 0, sizeof *to); /* with its padding */
    to->n_batch = a->n_batch ? a->n_batch : 1;
    to->n_heads = a->n_heads;
    to->n_kv_heads = a->n_kv_heads ? a->n_kv_heads : a->n_heads;
    to->n_q = a->n_q;
    to->n_kv = a->n_kv;
    to->d_head = a->d_head;
    to->before = a->window && a->window < XL__ATTENTION_ANY
                     ? a->window - 1
                     : XL__ATTENTION_ANY;
    to->after = a->is_causal ? 0 : to->before;
    to->has_cap = a->soft_cap > 0;
    to->is_scale_negative = a->scale < 0;
    if (a->q.dtype == XL_F32 && a->k.dtype == XL_F32 && !a->is_backward)
        to->accuracy = (size_t)a->accuracy;
    xl__attention_set_rows(a->q_rows, &to->q_rows);
    xl__attention_set_rows(a->kv_rows, &to->kv_rows);
}

/* By field, so that padding stays 0 and descriptors compare by their bytes. */
void xl__heads_canonicalise(const xl_heads *from,
                            const size_t size[XL__HEADS_DIMS], size_t base,
                            xl_heads *to)
{
    size_t stride[XL__HEADS_DIMS];
    const size_t elem = xl_dtype_bytes(from->dtype);
    size_t bits = base | from->offset * elem;
    (void)xl__heads_strides(from, size, stride);
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++) {
        to->stride[d] = size[d] == 1 ? d == XL__HEADS_COL : stride[d];
        if (d < XL__HEADS_COL)
            bits |= to->stride[d] * elem;
    }
    to->offset = xl__align_of(bits);
    to->dtype = from->dtype;
    to->mem.svm = (void *)1;
}

void xl__attention_set_end(struct xl__call *call, unsigned view,
                           const size_t size[XL__HEADS_DIMS],
                           const xl_heads *x)
{
    const size_t row = x->stride[XL__HEADS_ROW] ? x->stride[XL__HEADS_ROW]
                                                : size[XL__HEADS_COL];
    if (view <= XL__ATTENTION_O)
        call->value[XL__ATTENTION_END + view].u =
            call->value[XL__ATTENTION_OFF + view].u +
            size[XL__HEADS_ROW] * row;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    xl_status status = XL_OK;
    const xl_attention *a = desc;
    struct xl__attention_canonical *to = canonical;
    size_t size[XL__HEADS_DIMS];
    xl__attention_set_sizes(a, to);
    for (unsigned i = 0, n = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        const xl_heads *x = xl__attention_operand(a, i);
        if (!x)
            continue;
        xl__attention_memory_sizes(a, to, i, size);
        xl__heads_canonicalise(x, size, xl__operand_base(q, n++),
                               &to->view[i]);
        call->mem[XL__ATTENTION_MEM + i] = x->mem;
        call->value[XL__ATTENTION_OFF + i].u = x->offset;
        xl__attention_set_end(call, i, size, &to->view[i]);
    }
    call->mem[XL__MEM_SCRATCH] = a->workspace;
    call->value[XL__ATTENTION_SCALE].f =
        a->scale == 0 ? 1 / sqrt((double)a->d_head) : a->scale;
    call->value[XL__ATTENTION_CAP].f = a->soft_cap;
    if (a->prologue.expr) {
        const struct xl__epilogue_request want = {
            &a->prologue,
            {to->n_batch, to->n_heads, to->n_q, to->n_kv},
            XL_F32,
            XL__PROLOGUE,
            NULL};
        TRY(xl__epilogue_text_get(q, &want, &to->score));
        xl__operands_bind(&want, call, XL__ATTENTION_OPERAND,
                          XL__ATTENTION_OPERAND_VALUE);
    }
fail:
    return status;
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_attention *)desc)->variant;
}

void xl__heads_keep(struct xl__kept *k, const xl_heads **x)
{
    if (!*x)
        return;
    xl_heads own = **x;
    xl__keep_mem(k, &own.mem);
    *x = xl__keep(k, &own, sizeof own);
}

void xl__sequences_keep(struct xl__kept *k, const xl_sequences **x)
{
    if (!*x)
        return;
    xl_sequences own = **x;
    xl__keep_mem(k, &own.numbers.mem);
    if (own.kind == XL_ROWS_PAGED)
        xl__keep_mem(k, &own.pages.mem);
    *x = xl__keep(k, &own, sizeof own);
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_attention *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_mem(k, &own->q.mem);
    xl__keep_mem(k, &own->k.mem);
    xl__keep_mem(k, &own->v.mem);
    xl__keep_mem(k, &own->o.mem);
    xl__keep_mem(k, &own->workspace);
    xl__heads_keep(k, &own->lse);
    xl__heads_keep(k, &own->mask);
    xl__heads_keep(k, &own->slopes);
    xl__heads_keep(k, &own->sinks);
    xl__heads_keep(k, &own->grad_o);
    xl__heads_keep(k, &own->grad_q);
    xl__heads_keep(k, &own->grad_k);
    xl__heads_keep(k, &own->grad_v);
    xl__heads_keep(k, &own->k_scales);
    xl__heads_keep(k, &own->v_scales);
    xl__sequences_keep(k, &own->q_rows);
    xl__sequences_keep(k, &own->kv_rows);
    xl__keep_epilogue(k, &own->prologue);
}

const struct xl__op xl__op_attention = {
    .id = XL__OP_ATTENTION,
    .name = "attention",
    .descriptor = XL__DESCRIPTOR(xl_attention, XL_ATTENTION_INIT),
    .canonical_bytes = sizeof(struct xl__attention_canonical),
    .check = xl__attention_check,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .halve = halve_sizes,
    .shrink = xl__attention_shrink,
    .case_init = xl__attention_case_init,
    .range_at = offsetof(xl_attention, n_kv),
    .keep = keep_memory,
};

const struct xl__op xl__op_attention_backward = {
    .id = XL__OP_ATTENTION_BACKWARD,
    .name = "attention_backward",
    .descriptor = XL__DESCRIPTOR(xl_attention, XL_ATTENTION_INIT),
    .canonical_bytes = sizeof(struct xl__attention_canonical),
    .check = xl__attention_backward_check,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .halve = halve_sizes,
    .shrink = xl__attention_shrink,
    .case_init = xl__attention_backward_case_init,
    .range_at = offsetof(xl_attention, n_kv),
    .keep = keep_memory,
};

/* An older descriptor states no gradient. */
static const struct xl__op *find_op(const xl_attention *a)
{
    const bool is_backward =
        a && a->size > offsetof(xl_attention, is_backward) && a->is_backward;
    return is_backward ? &xl__op_attention_backward : &xl__op_attention;
}

/* -- for the variants ----------------------------------------------------- */

const char *xl__attention_needs_type(const struct xl__attention_canonical *c)
{
    return c->view[XL__ATTENTION_K].dtype == c->view[XL__ATTENTION_Q].dtype
               ? NULL
               : "k and v of another type than q are not supported";
}

const char *xl__attention_needs_equal(const struct xl__attention_canonical *c)
{
    return c->q_rows.kind || c->kv_rows.kind
               ? "sequences of unequal lengths are not supported"
               : xl__attention_needs_lines(c);
}

const char *xl__attention_needs_lines(const struct xl__attention_canonical *c)
{
    return c->kv_rows.kind == XL_ROWS_PAGED ? "pages of keys are not supported"
                                            : xl__attention_needs_type(c);
}

const char *xl__attention_needs_rows(const struct xl__attention_canonical *c)
{
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        const bool is_of_columns =
            i <= XL__ATTENTION_O || i >= XL__ATTENTION_GRAD_O;
        if (is_of_columns && xl__attention_has(c, i) &&
            c->view[i].stride[XL__HEADS_COL] != 1)
            return "columns of q, k, v, o and their gradients must be "
                   "contiguous";
    }
    return NULL;
}

enum { VIEW_WORDS = 1 + XL__HEADS_DIMS, HEAD_WORDS = 3 };

/* A `struct view` of attention.clh. */
static void add_view(struct xl__step *step,
                     const struct xl__attention_canonical *c, unsigned view)
{
    xl__arg_value_u64(step, XL__ATTENTION_OFF + view);
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        xl__arg_u64(step, c->view[view].stride[d]);
}

void xl__attention_add_lists(struct xl__step *step, const xl_heads *list,
                             unsigned value, size_t page_rows)
{
    enum { LIST_WORDS = 3 };
    xl__arg_words(step, XL__ATTENTION_LISTS * LIST_WORDS + 1);
    for (unsigned i = 0; i < XL__ATTENTION_LISTS; i++) {
        xl__arg_value_u64(step, value + i);
        xl__arg_u64(step, list[i].stride[XL__HEADS_BATCH]);
        xl__arg_u64(step, list[i].stride[XL__HEADS_ROW]);
    }
    size_t bits = 0;
    while ((size_t)1 << bits < page_rows)
        bits++;
    xl__arg_u64(step, bits);
}

void xl__attention_add_rows(struct xl__step *step,
                            const struct xl__attention_canonical *c)
{
    for (unsigned i = 0; i < XL__ATTENTION_LISTS; i++)
        xl__arg_mem(step, XL__ATTENTION_MEM + XL__ATTENTION_Q_ROWS + i);
    xl__attention_add_lists(step, &c->view[XL__ATTENTION_Q_ROWS],
                            XL__ATTENTION_OFF + XL__ATTENTION_Q_ROWS,
                            c->kv_rows.page_rows);
}

bool xl__attention_has_scales(const struct xl__attention_canonical *c)
{
    return xl__attention_has(c, XL__ATTENTION_K_SCALES) ||
           xl__attention_has(c, XL__ATTENTION_V_SCALES);
}

/* SCALES_PARAMS of attention.clh. */
static void add_scales(struct xl__step *step,
                       const struct xl__attention_canonical *c)
{
    enum { OPERANDS = 2 };
    for (unsigned i = 0; i < OPERANDS; i++)
        xl__arg_mem(step, XL__ATTENTION_MEM + XL__ATTENTION_K_SCALES + i);
    xl__arg_words(step, OPERANDS * VIEW_WORDS);
    for (unsigned i = 0; i < OPERANDS; i++)
        add_view(step, c, XL__ATTENTION_K_SCALES + i);
}

static void add_head_values(struct xl__step *step,
                            const struct xl__attention_canonical *c,
                            unsigned view)
{
    xl__arg_value_u64(step, XL__ATTENTION_OFF + view);
    xl__arg_u64(step, c->view[view].stride[XL__HEADS_BATCH]);
    xl__arg_u64(step, c->view[view].stride[XL__HEADS_HEAD]);
}

static void add_prologue(struct xl__step *step,
                         const struct xl__attention_canonical *c)
{
    xl__arg_epilogue(step, c->score, XL__ATTENTION_OPERAND,
                     XL__ATTENTION_OPERAND_VALUE, c->n_heads, false);
}

void xl__attention_add_score(struct xl__step *step,
                             const struct xl__attention_canonical *c)
{
    xl__arg_mem(step, XL__ATTENTION_MEM + XL__ATTENTION_MASK);
    xl__arg_mem(step, XL__ATTENTION_MEM + XL__ATTENTION_SLOPES);
    xl__arg_value_f32(step, XL__ATTENTION_CAP);
    xl__arg_words(step, VIEW_WORDS);
    add_view(step, c, XL__ATTENTION_MASK);
    xl__arg_words(step, HEAD_WORDS);
    add_head_values(step, c, XL__ATTENTION_SLOPES);
    add_prologue(step, c);
}

/* The members of `struct views` and `struct sizes` of attention.clh. */
void xl__attention_args(struct xl__step *step,
                        const struct xl__attention_canonical *c)
{
    enum { SIZES = 6 };
    for (unsigned i = 0; i < XL__ATTENTION_K_SCALES; i++)
        xl__arg_mem(step, XL__ATTENTION_MEM + i);
    xl__arg_value_f32(step, XL__ATTENTION_SCALE);
    xl__arg_value_f32(step, XL__ATTENTION_CAP);
    xl__arg_words(step, XL__ATTENTION_SLOPES * VIEW_WORDS);
    for (unsigned i = 0; i < XL__ATTENTION_SLOPES; i++)
        add_view(step, c, i);
    xl__arg_words(step, 2 * HEAD_WORDS + SIZES);
    for (unsigned i = XL__ATTENTION_SLOPES; i < XL__ATTENTION_K_SCALES; i++)
        add_head_values(step, c, i);
    xl__arg_u64(step, c->n_heads);
    xl__arg_u64(step, xl__attention_share(c));
    xl__arg_u64(step, c->n_q);
    xl__arg_u64(step, c->n_kv);
    xl__arg_u64(step, c->before);
    xl__arg_u64(step, c->after);
    if (c->q_rows.kind || c->kv_rows.kind)
        xl__attention_add_rows(step, c);
    if (xl__attention_has_scales(c))
        add_scales(step, c);
    add_prologue(step, c);
}

void xl__attention_defines(struct xl__step *step,
                           const struct xl__attention_canonical *c)
{
    const xl_heads *mask = &c->view[XL__ATTENTION_MASK];
    xl__define(step, "DT", (long)c->view[XL__ATTENTION_Q].dtype);
    xl__define(step, "D", (long)c->d_head);
    if (c->has_cap)
        xl__define(step, "CAP", 1);
    if (xl__attention_has(c, XL__ATTENTION_LSE))
        xl__define(step, "LSE", 1);
    if (xl__attention_has(c, XL__ATTENTION_SLOPES))
        xl__define(step, "SLOPES", 1);
    if (xl__attention_has(c, XL__ATTENTION_SINKS))
        xl__define(step, "SINKS", 1);
    if (xl__attention_has(c, XL__ATTENTION_MASK)) {
        xl__define(step, "MT", (long)mask->dtype);
        xl__define(step, "MU", mask->stride[XL__HEADS_COL] == 1);
    }
    if (c->view[XL__ATTENTION_K].dtype != c->view[XL__ATTENTION_Q].dtype)
        xl__define(step, "KT", (long)c->view[XL__ATTENTION_K].dtype);
    if (c->view[XL__ATTENTION_O].dtype != c->view[XL__ATTENTION_Q].dtype)
        xl__define(step, "OT", (long)c->view[XL__ATTENTION_O].dtype);
    if (xl__attention_has(c, XL__ATTENTION_K_SCALES))
        xl__define(step, "K_SCALES", 1);
    if (xl__attention_has(c, XL__ATTENTION_V_SCALES))
        xl__define(step, "V_SCALES", 1);
    if (c->q_rows.kind)
        xl__define(step, "Q_ROWS", (long)c->q_rows.kind);
    if (c->kv_rows.kind)
        xl__define(step, "KV_ROWS", (long)c->kv_rows.kind);
}

/* -- the public functions ------------------------------------------------- */

xl_status xl_attention_run(xl_queue *q, const xl_attention *a,
                           const xl_sync *sync)
{
    return xl__op_run(q, find_op(a), a, sync);
}

xl_status xl_attention_prepare(xl_queue *q, const xl_attention *a)
{
    return xl__op_prepare(q, find_op(a), a);
}

xl_status xl_attention_prepare_range(xl_queue *q, const xl_attention *a,
                                     size_t n_kv_last)
{
    return xl__op_prepare_range(q, find_op(a), a, n_kv_last);
}

xl_status xl_attention_prepare_async(xl_queue *q, const xl_attention *a,
                                     size_t n_kv_last, xl_prepared done,
                                     void *arg)
{
    return xl__op_prepare_async(q, find_op(a), a, n_kv_last, done, arg);
}

xl_status xl_attention_workspace(xl_queue *q, const xl_attention *a,
                                 size_t *bytes)
{
    return xl__op_workspace(q, find_op(a), a, bytes);
}

xl_status xl_attention_explain(xl_queue *q, const xl_attention *a,
                               xl_choice *out, unsigned cap, unsigned *n)
{
    return xl__op_explain(q, find_op(a), a, out, cap, n);
}
