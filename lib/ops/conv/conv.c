/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as an op: the canonical descriptor and the call that a
 * descriptor splits into, its shape class, the arguments that all of its
 * kernels take, and the public functions. */
#include "ops/conv/conv.h"

#include <string.h>

#include "base/dtype.h"
#include "ops/conv/check.h"
#include "ops/path/size_buckets.h"
#include "ops/path/check.h"
#include "ops/path/operands.h"

/* -- shape class ---------------------------------------------------------- */

static void describe_class(const void *canonical, struct xl__str *out)
{
    static const char *const layouts[] = {"nchw", "nhwc"};
    static const char *const filters[] = {"kcrs", "krsc"};
    const struct xl__conv_canonical *c = canonical;
    const xl_conv *d = &c->d;
    xl__str_printf(out, "%s %s %s %s %s pixels%zu k%zu c%zu %zux%zu",
                   xl_dtype_name(d->in.dtype), xl_dtype_name(d->out.dtype),
                   layouts[d->in.layout], filters[d->filters.layout],
                   layouts[d->out.layout], xl__bucket(d->n * c->p * c->q),
                   xl__bucket(xl__conv_kg(d)), xl__bucket(xl__conv_cg(d)),
                   d->r, d->s);
    if (d->stride_h > 1 || d->stride_w > 1)
        xl__str_add(out, " strided");
    if (d->groups > 1)
        xl__str_printf(out, " groups%zu", xl__bucket_coarse(d->groups));
    if (c->snippet)
        xl__str_add(out, " epilogue");
    xl__str_add(out, xl__accuracy_class(d->accuracy));
}

/* -- arguments of kernels ------------------------------------------------- */

void xl__conv_define(struct xl__step *s, const struct xl__conv_canonical *c)
{
    xl__define(s, "TA", (long)xl__conv_read_dtype(&c->d));
    xl__define(s, "TC", (long)xl__conv_result_dtype(&c->d));
    xl__define(s, "TY", (long)xl__conv_y(c));
    if (xl__conv_y(c) == XL_F64)
        xl__define(s, "XL_USE_F64", 1);
}

void xl__conv_arg_view(struct xl__step *s, unsigned slot, const xl_images *x)
{
    xl__arg_value_u64(s, slot - XL__CONV_A + XL__CONV_OFF_A);
    for (unsigned at = 0; at < XL__N_AT; at++)
        xl__arg_u64(s, x->stride[at]);
}

void xl__conv_arg_images(struct xl__step *s, unsigned slot, const xl_images *x)
{
    xl__arg_mem(s, slot);
    xl__conv_arg_view(s, slot, x);
}

void xl__conv_arg_in(struct xl__step *s, const struct xl__conv_canonical *c)
{
    xl__conv_arg_images(s, xl__conv_slot_in(&c->d), &c->d.in);
}

void xl__conv_arg_out(struct xl__step *s, const struct xl__conv_canonical *c)
{
    xl__conv_arg_images(s, XL__CONV_OUT, &c->d.out);
}

void xl__conv_arg_filters(struct xl__step *s, const struct xl__conv_canonical *c)
{
    const unsigned slot = xl__conv_slot_filters(&c->d);
    xl__arg_mem(s, slot);
    xl__arg_value_u64(s, slot - XL__CONV_A + XL__CONV_OFF_A);
}

void xl__conv_arg_last(struct xl__step *s, const struct xl__conv_canonical *c)
{
    void (*const add)(struct xl__step *, unsigned) =
        xl__conv_y(c) == XL_F64   ? xl__arg_value_f64
        : xl__conv_y(c) == XL_I32 ? xl__arg_value_i32
                                  : xl__arg_value_f32;
    add(s, XL__CONV_ALPHA);
    add(s, XL__CONV_BETA);
    xl__arg_epilogue(s, c->snippet, XL__CONV_OPERAND, XL__CONV_OPERAND_VALUE,
                     0, false);
}

/* -- descriptor ----------------------------------------------------------- */

/* Largest power of two, at most 128, that divides the byte address of every
 * line: of a plane in NCHW, of a pixel in NHWC. */
size_t xl__conv_align(const xl_images *x, const size_t stride[XL__N_AT],
                      size_t base)
{
    const size_t elem = xl_dtype_bytes(x->dtype);
    size_t bits = base | x->offset * elem | stride[XL__AT_N] * elem;
    if (x->layout == XL_NCHW)
        bits |= stride[XL__AT_C] * elem;
    else
        bits |= (stride[XL__AT_H] | stride[XL__AT_W]) * elem;
    return xl__align_of(bits);
}

/* By field, so that padding stays 0 and descriptors compare by their bytes. */
static void canonicalise_images(const xl_images *from,
                                const size_t size[XL__N_AT], size_t base,
                                xl_images *to)
{
    xl__conv_strides(from, size, to->stride);
    for (unsigned at = 0; at < XL__N_AT; at++) {
        if (size[at] == 1)
            to->stride[at] = 0;
    }
    to->layout = from->layout;
    to->dtype = from->dtype;
    to->offset = xl__conv_align(from, to->stride, base);
    to->mem.svm = from->mem.svm ? (void *)1 : NULL;
}

static void canonicalise_filters(const xl_filters *from, size_t base,
                                 xl_filters *to)
{
    to->layout = from->layout;
    to->dtype = from->dtype;
    to->offset =
        xl__align_of(base | from->offset * xl_dtype_bytes(from->dtype));
    to->mem.svm = from->mem.svm ? (void *)1 : NULL;
}

/* What the pass writes. */
static const xl_mem *result_of(const xl_conv *d)
{
    return d->pass == XL_CONV_BACKWARD_DATA      ? &d->in.mem
           : d->pass == XL_CONV_BACKWARD_FILTERS ? &d->filters.mem
                                                 : &d->out.mem;
}

static void empty_sum(xl_conv *c)
{
    void *const svm = result_of(c)->svm;
    *(c->pass == XL_CONV_BACKWARD_DATA      ? &c->k
      : c->pass == XL_CONV_BACKWARD_FILTERS ? &c->n
                                            : &c->c) = 0;
    c->in.mem.svm = c->filters.mem.svm = c->out.mem.svm = svm;
}

static size_t default_to_one(size_t x)
{
    return x ? x : 1;
}

/* The accuracy that applies: full where no variant has an alternative. */
static xl_accuracy accuracy_of(const xl_conv *c, xl_accuracy given)
{
    enum { SIDE = 3 };
    const xl_dtype t = c->in.dtype;
    const bool has_other =
        c->pass == XL_CONV_FORWARD && (t == XL_F32 || t == XL_F16 || t == XL_BF16) && c->r == SIDE &&
        c->s == SIDE && c->stride_h == 1 && c->stride_w == 1 &&
        c->dilation_h == 1 && c->dilation_w == 1 && c->groups == 1;
    return has_other ? given : XL_ACCURACY_FULL;
}

static void canonicalise(const xl_queue *q, const xl_conv *d,
                         struct xl__conv_canonical *to)
{
    size_t in[XL__N_AT], out[XL__N_AT];
    xl_conv *c = &to->d;
    c->n = d->n;
    c->c = d->c;
    c->h = d->h;
    c->w = d->w;
    c->k = d->k;
    c->r = d->r;
    c->s = d->s;
    c->groups = default_to_one(d->groups);
    c->stride_h = default_to_one(d->stride_h);
    c->stride_w = default_to_one(d->stride_w);
    c->dilation_h = default_to_one(d->dilation_h);
    c->dilation_w = default_to_one(d->dilation_w);
    c->pad_top = d->pad_top;
    c->pad_bottom = d->pad_bottom;
    c->pad_left = d->pad_left;
    c->pad_right = d->pad_right;
    c->alpha = 1;
    (void)xl__conv_count_positions(d, &to->p, &to->q);
    xl__conv_sizes(to, in, out);
    canonicalise_images(&d->in, in, xl__operand_base(q, XL__CONV_IN_REGION),
                        &c->in);
    canonicalise_images(&d->out, out, xl__operand_base(q, XL__CONV_OUT_REGION),
                        &c->out);
    canonicalise_filters(&d->filters,
                         xl__operand_base(q, XL__CONV_FILTERS_REGION),
                         &c->filters);
    c->pass = d->pass;
    if (xl__conv_reads(d))
        c->accuracy = accuracy_of(c, d->accuracy);
    else /* the arguments are the result's memory */
        empty_sum(c);
}

/* Has an operand of the epilogue another step from image to image than past
 * all pixels of one? */
static bool is_by_image(const struct xl__conv_canonical *c,
                        const struct xl__call *call)
{
    const unsigned along =
        c->d.out.layout == XL_NCHW ? XL__ALONG_COLS : XL__ALONG_ROWS;
    for (unsigned k = 0; c->d.n > 1 && k < c->snippet->n_operands; k++) {
        const unsigned at = XL__CONV_OPERAND_VALUE + k * XL__EPILOGUE_VALUES +
                            XL__EPILOGUE_STRIDE;
        if (!c->snippet->operand[k].is_scalar &&
            call->value[at + XL__ALONG_BATCH].u !=
                c->p * c->q * call->value[at + along].u)
            return true;
    }
    return false;
}

static xl_status bind_epilogue(xl_queue *q, const xl_conv *d,
                               struct xl__conv_canonical *to, struct xl__call *call)
{
    xl_status status = XL_OK;
    struct xl__epilogue_request want = {.epilogue = &d->epilogue,
                                        .dtype = d->out.dtype,
                                        .hook = XL__EPILOGUE};
    if (!d->epilogue.expr)
        return XL_OK;
    const bool channels_first = d->out.layout == XL_NCHW;
    want.size[XL__ALONG_OUTER] = 1;
    want.size[XL__ALONG_BATCH] = d->n;
    want.size[XL__ALONG_ROWS] = channels_first ? d->k : to->p * to->q;
    want.size[XL__ALONG_COLS] = channels_first ? to->p * to->q : d->k;
    TRY(xl__epilogue_text_get(q, &want, &to->snippet));
    xl__operands_bind(&want, call, XL__CONV_OPERAND, XL__CONV_OPERAND_VALUE);
    to->by_image = is_by_image(to, call);
fail:
    return status;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    const xl_conv *d = desc;
    struct xl__conv_canonical *to = canonical;
    const unsigned in = xl__conv_slot_in(d),
                   filters = xl__conv_slot_filters(d);
    memset(to, 0, sizeof *to);
    canonicalise(q, d, to);
    const xl_mem result = *result_of(d);
    const bool reads = xl__conv_reads(d);
    call->mem[in] = reads ? d->in.mem : result;
    call->mem[filters] = reads ? d->filters.mem : result;
    call->mem[XL__CONV_OUT] = reads ? d->out.mem : result;
    call->mem[XL__MEM_SCRATCH] = d->workspace;
    const xl_dtype type =
        xl__conv_y_dtype(xl__conv_result_dtype(d), d->epilogue.expr);
    call->value[XL__CONV_ONE].f = 1;
    call->value[XL__CONV_ALPHA].f = xl__scalar_round(d->alpha, type);
    call->value[XL__CONV_BETA].f = xl__scalar_round(d->beta, type);
    to->d.beta = call->value[XL__CONV_BETA].f != 0;
    call->value[in - XL__CONV_A + XL__CONV_OFF_A].u = d->in.offset;
    call->value[filters - XL__CONV_A + XL__CONV_OFF_A].u = d->filters.offset;
    call->value[XL__CONV_OFF_OUT].u = d->out.offset;
    return bind_epilogue(q, d, to, call);
}

/* The strides of dense images, as a canonical descriptor has them. */
static void set_dense(xl_images *x, const size_t size[XL__N_AT])
{
    const xl_images dense = {.layout = x->layout};
    xl__conv_strides(&dense, size, x->stride);
    for (unsigned at = 0; at < XL__N_AT; at++) {
        if (size[at] == 1)
            x->stride[at] = 0;
    }
}

static bool is_dense(const xl_images *x, const size_t size[XL__N_AT])
{
    xl_images dense = {.layout = x->layout};
    set_dense(&dense, size);
    return memcmp(x->stride, dense.stride, sizeof dense.stride) == 0;
}

static bool has_dense_images(const struct xl__conv_canonical *c)
{
    size_t in[XL__N_AT], out[XL__N_AT];
    xl__conv_sizes(c, in, out);
    return is_dense(&c->d.in, in) && is_dense(&c->d.out, out);
}

/* Of dense images, of new sizes. */
static void set_dense_images(struct xl__conv_canonical *to)
{
    size_t in[XL__N_AT], out[XL__N_AT];
    xl__conv_sizes(to, in, out);
    set_dense(&to->d.in, in);
    set_dense(&to->d.out, out);
}

/* The number of images, and rows and columns of dense ones; channels and
 * filters are what a network has. */
static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__conv_canonical *to = representative;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    if (!has_dense_images(to))
        return;
    to->d.n = xl__size_end(to->d.n, XL__SIZE_GRAIN, end);
    to->d.h = xl__size_end(to->d.h, 1, end);
    to->d.w = xl__size_end(to->d.w, 1, end);
    (void)xl__conv_count_positions(&to->d, &to->p, &to->q);
    set_dense_images(to);
}

/* Images, rows or columns of dense ones, as long as a filter fits. */
static bool halve_images(void *canonical)
{
    enum { LEAST = 8 };
    struct xl__conv_canonical *c = canonical, before = *c;
    size_t *const sizes[] = {&c->d.n, &c->d.h, &c->d.w};
    size_t *most = sizes[0];
    for (unsigned i = 1; i < 3; i++)
        most = *sizes[i] >= *most ? sizes[i] : most;
    if (*most <= LEAST || !has_dense_images(c))
        return false;
    *most = xl__size_half(*most);
    if (xl__conv_count_positions(&c->d, &c->p, &c->q) == XL_OK) {
        set_dense_images(c);
        return true;
    }
    *c = before;
    return false;
}

static const struct xl__variant *const references[] = {
    [XL_CONV_FORWARD] = &xl__conv_ref,
    [XL_CONV_BACKWARD_DATA] = &xl__conv_data_ref,
    [XL_CONV_BACKWARD_FILTERS] = &xl__conv_filters_ref};

/* Without a sum the reference is the variant: its loop over no channels reads
 * nothing. */
static const char *forced_variant(const void *desc)
{
    const xl_conv *d = desc;
    return xl__conv_reads(d) ? d->variant : references[d->pass]->name;
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_conv *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_epilogue(k, &own->epilogue);
    xl__keep_mem(k, &own->in.mem);
    xl__keep_mem(k, &own->filters.mem);
    xl__keep_mem(k, &own->out.mem);
    xl__keep_mem(k, &own->workspace);
}

/* The op is that of the pass: a problem of the tuner states both. */
static xl_status check_pass(xl_queue *q, const void *desc, bool with_memory,
                            xl_conv_pass pass)
{
    const xl_conv *d = desc;
    if (d->pass != pass && (unsigned)d->pass <= XL_CONV_BACKWARD_FILTERS)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "the descriptor has pass %d, the op %d",
                             (int)d->pass, (int)pass);
    return xl__conv_check(q, desc, with_memory);
}

static xl_status check_forward(xl_queue *q, const void *desc, bool with_memory)
{
    return check_pass(q, desc, with_memory, XL_CONV_FORWARD);
}

static xl_status check_data(xl_queue *q, const void *desc, bool with_memory)
{
    return check_pass(q, desc, with_memory, XL_CONV_BACKWARD_DATA);
}

static xl_status check_filters(xl_queue *q, const void *desc, bool with_memory)
{
    return check_pass(q, desc, with_memory, XL_CONV_BACKWARD_FILTERS);
}

/* clang-format off */
#define OP(id_, name_, check_, shrink_)                                               \
    {                                                                         \
        .id = id_, .name = name_,                                             \
        .descriptor = XL__DESCRIPTOR(xl_conv, XL_CONV_INIT),                  \
        .canonical_bytes = sizeof(struct xl__conv_canonical),                 \
        .check = check_, .bind = bind_call, .forced = forced_variant, \
        .represent = represent_class, .shape_class = describe_class,          \
        .halve = halve_images, .shrink = shrink_,                             \
        .case_init = xl__conv_case_init, .range_at = offsetof(xl_conv, n),    \
        .keep = keep_memory,                                                  \
    }
/* clang-format on */
const struct xl__op xl__op_conv = OP(XL__OP_CONV, "conv", check_forward,
                                     xl__conv_shrink),
                    xl__op_conv_data =
                        OP(XL__OP_CONV_DATA, "conv_data", check_data,
                           xl__conv_backward_shrink),
                    xl__op_conv_filters =
                        OP(XL__OP_CONV_FILTERS, "conv_filters", check_filters,
                           xl__conv_backward_shrink);

/* Which of them a descriptor asks for. An older one has no pass; one of an
 * unknown size or pass is refused by any of them. */
static const struct xl__op *find_op(const xl_conv *c)
{
    const bool has_pass =
        c && c->size >= offsetof(xl_conv, pass) + sizeof c->pass;
    return has_pass && c->pass == XL_CONV_BACKWARD_DATA ? &xl__op_conv_data
           : has_pass && c->pass == XL_CONV_BACKWARD_FILTERS
               ? &xl__op_conv_filters
               : &xl__op_conv;
}

/* -- the public functions ----------------------------------------------- */

xl_status xl_conv_run(xl_queue *q, const xl_conv *c, const xl_sync *sync)
{
    return xl__op_run(q, find_op(c), c, sync);
}

xl_status xl_conv_prepare(xl_queue *q, const xl_conv *c)
{
    return xl__op_prepare(q, find_op(c), c);
}

xl_status xl_conv_prepare_range(xl_queue *q, const xl_conv *c, size_t n_last)
{
    return xl__op_prepare_range(q, find_op(c), c, n_last);
}

xl_status xl_conv_prepare_async(xl_queue *q, const xl_conv *c, size_t n_last,
                                xl_prepared done, void *arg)
{
    return xl__op_prepare_async(q, find_op(c), c, n_last, done, arg);
}

xl_status xl_conv_workspace(xl_queue *q, const xl_conv *c, size_t *bytes)
{
    return xl__op_workspace(q, find_op(c), c, bytes);
}

xl_status xl_conv_explain(xl_queue *q, const xl_conv *c, xl_choice *out,
                          unsigned cap, unsigned *n)
{
    return xl__op_explain(q, find_op(c), c, out, cap, n);
}
