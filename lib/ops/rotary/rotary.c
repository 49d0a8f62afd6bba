/* SPDX-License-Identifier: Apache-2.0 */
/* The rotary embedding with the append to the cache as an op: the check of the
 * descriptor, the canonical descriptor and the call, the shape class and the
 * public functions. */
#include "ops/rotary/rotary.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/path/check.h"

static const double usual_base = 10000, usual_eps = 1e-5;

/* -- operands ------------------------------------------------------------- */

const char *const xl__rotary_names[XL__ROTARY_N_VIEWS] = {
    "q",        "k",      "v",       "q_out", "k_cache", "v_cache", "k_scales",
    "v_scales", "q_rows", "kv_rows", "pages", "factors", "q_norm",  "k_norm"};

static const xl_heads *operand_of(const xl_rotary *r, unsigned view)
{
    const bool is_paged = r->kv_rows && r->kv_rows->kind == XL_ROWS_PAGED;
    const xl_heads *const views[XL__ROTARY_N_VIEWS] = {
        &r->q,
        &r->k,
        r->v,
        &r->q_out,
        &r->k_cache,
        r->v_cache,
        r->k_scales,
        r->v_scales,
        r->q_rows ? &r->q_rows->numbers : NULL,
        r->kv_rows ? &r->kv_rows->numbers : NULL,
        is_paged ? &r->kv_rows->pages : NULL,
        r->factors,
        r->q_norm,
        r->k_norm};
    return views[view];
}

bool xl__rotary_is_of_q(unsigned view)
{
    return view <= XL__ROTARY_Q_OUT;
}

bool xl__rotary_is_of_kv(unsigned view)
{
    return view >= XL__ROTARY_K_CACHE && view <= XL__ROTARY_V_SCALES;
}

bool xl__rotary_is_result(unsigned view)
{
    return view >= XL__ROTARY_Q_OUT && view <= XL__ROTARY_V_SCALES;
}

static void lay_rows(const struct xl__attention_rows *rows, size_t total,
                     size_t size[XL__HEADS_DIMS])
{
    if (rows->kind == XL_ROWS_PACKED) {
        size[XL__HEADS_ROW] =
            total ? total : size[XL__HEADS_ROW] * size[XL__HEADS_BATCH];
        size[XL__HEADS_BATCH] = 1;
    } else if (rows->kind == XL_ROWS_PAGED) {
        size[XL__HEADS_BATCH] =
            total ? total
                  : size[XL__HEADS_BATCH] *
                        xl__ceil_div(size[XL__HEADS_ROW], rows->page_rows);
        size[XL__HEADS_ROW] = rows->page_rows;
    }
}

void xl__rotary_sizes(const struct xl__rotary_canonical *c, unsigned view,
                      size_t n_kv, size_t q_total, size_t kv_total,
                      size_t size[XL__HEADS_DIMS])
{
    const bool is_q = view == XL__ROTARY_Q || view == XL__ROTARY_Q_OUT;
    const bool is_list = view >= XL__ROTARY_Q_ROWS && view <= XL__ROTARY_PAGES;
    const bool is_packed =
        (view == XL__ROTARY_Q_ROWS ? c->q_rows.kind : c->kv_rows.kind) ==
        XL_ROWS_PACKED;
    size[XL__HEADS_BATCH] = c->n_batch;
    size[XL__HEADS_HEAD] = is_q ? c->n_heads : c->n_kv_heads;
    size[XL__HEADS_ROW] = xl__rotary_is_of_q(view) ? c->n_q : n_kv;
    size[XL__HEADS_COL] =
        view == XL__ROTARY_K_SCALES || view == XL__ROTARY_V_SCALES ? 1
                                                                   : c->d_head;
    if (xl__rotary_is_of_q(view)) {
        lay_rows(&c->q_rows, q_total, size);
    } else if (xl__rotary_is_of_kv(view)) {
        lay_rows(&c->kv_rows, kv_total, size);
    } else {
        size[XL__HEADS_HEAD] = size[XL__HEADS_ROW] = size[XL__HEADS_COL] = 1;
        if (view == XL__ROTARY_PAGES)
            size[XL__HEADS_ROW] =
                xl__ceil_div(n_kv, xl__max_size(1, c->kv_rows.page_rows));
        else if (is_list)
            size[XL__HEADS_BATCH] += is_packed;
        else
            size[XL__HEADS_BATCH] = 1;
        if (view == XL__ROTARY_FACTORS)
            size[XL__HEADS_COL] = c->d_rotary / 2;
        if (view > XL__ROTARY_FACTORS)
            size[XL__HEADS_COL] = c->d_head;
    }
}

static size_t total_of(const xl_sequences *rows)
{
    return rows && rows->kind != XL_ROWS_LENGTHS ? rows->n_total : 0;
}

static void memory_sizes(const xl_rotary *r,
                         const struct xl__rotary_canonical *c, unsigned view,
                         size_t size[XL__HEADS_DIMS])
{
    xl__rotary_sizes(c, view, r->n_kv, total_of(r->q_rows),
                     total_of(r->kv_rows), size);
}

static void set_sizes(const xl_rotary *r, struct xl__rotary_canonical *to)
{
    memset(to, 0, sizeof *to); /* with its padding */
    to->n_batch = r->n_batch ? r->n_batch : 1;
    to->n_heads = r->n_heads;
    to->n_kv_heads = r->n_kv_heads ? r->n_kv_heads : r->n_heads;
    to->n_q = r->n_q;
    to->d_head = r->d_head;
    to->d_rotary = r->pairs == XL_ROTARY_NONE ? 0
                   : r->d_rotary              ? r->d_rotary
                                              : r->d_head;
    to->pairs = (size_t)r->pairs;
    xl__attention_set_rows(r->q_rows, &to->q_rows);
    xl__attention_set_rows(r->kv_rows, &to->kv_rows);
}

/* -- check ---------------------------------------------------------------- */

static xl_status check_sizes(const xl_rotary *r, struct xl__error *e)
{
    enum { MOST_D = 256 };
    static const size_t most = (size_t)1 << 31;
    const size_t kv = r->n_kv_heads ? r->n_kv_heads : r->n_heads;
    if ((unsigned)r->pairs >= XL_N_ROTARY_PAIRS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "invalid value %d for pairs of rotary: must be "
                             "an xl_rotary_pairs",
                             (int)r->pairs);
    if (!r->v != !r->v_cache)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "rotary with one of v and v_cache; give both or "
                             "none");
    if (!r->q_norm != !r->k_norm)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "rotary with one of q_norm and k_norm; give both "
                             "or none");
    if (!r->n_heads || !r->n_q || !r->n_kv || !r->d_head ||
        r->d_head % 2 != 0 || r->d_rotary % 2 != 0 || r->d_rotary > r->d_head)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "invalid sizes n_heads = %zu, n_q = %zu, n_kv = "
                             "%zu, d_head = %zu, d_rotary = %zu for rotary: "
                             "each must be at least 1, d_head and d_rotary "
                             "even, d_rotary at most d_head",
                             r->n_heads, r->n_q, r->n_kv, r->d_head,
                             r->d_rotary);
    if (r->d_head > MOST_D)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "rotary of d_head = %zu; at most %d is possible",
                             r->d_head, MOST_D);
    if (r->n_q >= most || r->n_kv >= most || r->n_heads >= most || kv >= most)
        return xl__error_set(e, XL_OVERFLOW,
                             "rotary of n_heads = %zu, n_q = %zu, n_kv = %zu; "
                             "each must be below 2^31",
                             r->n_heads, r->n_q, r->n_kv);
    return XL_OK;
}

static xl_status check_scalars(const xl_rotary *r, struct xl__error *e)
{
    static const double most_scale = 4;
    if (r->base != 0 && !(r->base > 1 && r->base <= DBL_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "invalid value %g for base of rotary: must be "
                             "finite and above 1, or 0 for %g",
                             r->base, usual_base);
    if (r->scale != 0 && !(r->scale > 0 && r->scale <= most_scale))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "invalid value %g for scale of rotary: must be "
                             "above 0 and at most %g, or 0 for 1",
                             r->scale, most_scale);
    if (r->magnitude != 0 && !(fabs(r->magnitude) >= (double)FLT_MIN &&
                               fabs(r->magnitude) <= (double)FLT_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "invalid value %g for magnitude of rotary: must "
                             "be a finite number that f32 holds with full "
                             "precision, or 0 for 1",
                             r->magnitude);
    if (r->norm_eps != 0 &&
        !(r->norm_eps >= (double)FLT_MIN && r->norm_eps <= (double)FLT_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "invalid value %g for norm_eps of rotary: must "
                             "be a positive number that f32 holds with full "
                             "precision, or 0 for %g",
                             r->norm_eps, usual_eps);
    return XL_OK;
}

static bool is_float(xl_dtype t)
{
    return t == XL_F32 || t == XL_F16 || t == XL_BF16;
}

static xl_status check_types(const xl_rotary *r, struct xl__error *e)
{
    const xl_dtype t = r->q.dtype, cache = r->k_cache.dtype;
    const bool is_narrow = cache == XL_I8 || cache == XL_F8E4M3;
    if (!is_float(t) || r->k.dtype != t || (r->v && r->v->dtype != t) ||
        !is_float(r->q_out.dtype) || (!is_float(cache) && !is_narrow) ||
        (r->v_cache && r->v_cache->dtype != cache))
        return xl__error_set(e, XL_UNSUPPORTED,
                             "unsupported types q %s, k %s, q_out %s, k_cache "
                             "%s for rotary: q, k and v must be of one type, "
                             "f32, f16 or bf16, q_out of any of these, both "
                             "caches of one of these, i8 or f8e4m3",
                             xl_dtype_name(t), xl_dtype_name(r->k.dtype),
                             xl_dtype_name(r->q_out.dtype),
                             xl_dtype_name(cache));
    if ((r->k_scales || r->v_scales) && !is_narrow)
        return xl__error_set(
            e, XL_UNSUPPORTED,
            "rotary with scales of caches of %s; they must be "
            "of i8 or f8e4m3",
            xl_dtype_name(cache));
    for (unsigned i = XL__ROTARY_K_SCALES; i < XL__ROTARY_N_VIEWS; i++) {
        const xl_heads *x = operand_of(r, i);
        const xl_dtype want =
            i >= XL__ROTARY_Q_ROWS && i <= XL__ROTARY_PAGES ? XL_I32 : XL_F32;
        if (x && x->dtype != want)
            return xl__error_set(e, XL_UNSUPPORTED,
                                 "rotary with %s of %s; they must be %s",
                                 xl__rotary_names[i], xl_dtype_name(x->dtype),
                                 xl_dtype_name(want));
    }
    if (r->v_scales && !r->v)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "rotary with v_scales and without v");
    if (r->factors && r->pairs == XL_ROTARY_NONE)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "rotary with factors and without pairs");
    return XL_OK;
}

static xl_status check_descriptor(xl_queue *q, const void *desc,
                                  bool with_memory)
{
    xl_status status = XL_OK;
    const xl_rotary *r = desc;
    struct xl__memory *m = &q->memory;
    struct xl__rotary_canonical c;
    size_t size[XL__HEADS_DIMS];
    m->n = 0;
    TRY(check_sizes(r, &q->error));
    TRY(check_scalars(r, &q->error));
    TRY(check_types(r, &q->error));
    TRY(xl__sequences_check(r->q_rows, "q_rows", XL_ROWS_PACKED, &q->error));
    TRY(xl__sequences_check(r->kv_rows, "kv_rows", XL_ROWS_PAGED, &q->error));
    set_sizes(r, &c);
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++) {
        const xl_heads *x = operand_of(r, i);
        if (!x)
            continue;
        memory_sizes(r, &c, i, size);
        TRY(xl__heads_add(q, xl__rotary_names[i], x, size,
                          xl__rotary_is_result(i)));
        m->operand[m->n - 1].may_be_result = i == XL__ROTARY_Q;
        TRY(xl__operand_locate(m, m->n - 1, x->mem, with_memory, &q->error));
    }
    if (with_memory)
        TRY(xl__operands_check_apart(m, &q->error));
fail:
    return status;
}

/* -- bind ----------------------------------------------------------------- */

void xl__rotary_set_rates(double base, double scale, size_t d_rotary,
                          struct xl__call *call)
{
    enum { BITS = 64 };
    const double two_pi = 8 * atan(1);
    call->value[XL__ROTARY_RATE].u = (uint64_t)ldexp(scale / two_pi, BITS);
    for (unsigned i = 0; i < XL__ROTARY_POWERS && d_rotary > 0; i++) {
        const double power =
            pow(base, -2.0 * (double)(1u << i) / (double)d_rotary);
        call->value[XL__ROTARY_POWER + i].u =
            power < 1 ? (uint64_t)ldexp(power, BITS) : UINT64_MAX;
    }
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    const xl_rotary *r = desc;
    struct xl__rotary_canonical *to = canonical;
    size_t size[XL__HEADS_DIMS];
    set_sizes(r, to);
    for (unsigned i = 0, n = 0; i < XL__ROTARY_N_VIEWS; i++) {
        const xl_heads *x = operand_of(r, i);
        if (!x)
            continue;
        memory_sizes(r, to, i, size);
        xl__heads_canonicalise(x, size, xl__operand_base(q, n++),
                               &to->view[i]);
        call->mem[XL__ROTARY_MEM + i] = x->mem;
        call->value[XL__ROTARY_OFF + i].u = x->offset;
    }
    to->is_wide =
        (double)to->n_batch * (double)to->n_q * (double)xl__rotary_heads(to) >
        (double)INT32_MAX;
    call->mem[XL__MEM_SCRATCH] = r->workspace;
    call->value[XL__ROTARY_MAGNITUDE].f = r->magnitude == 0 ? 1 : r->magnitude;
    call->value[XL__ROTARY_EPS].f = r->norm_eps == 0 ? usual_eps : r->norm_eps;
    call->value[XL__ROTARY_N_KV].u = r->n_kv;
    xl__rotary_set_rates(r->base == 0 ? usual_base : r->base,
                         r->scale == 0 ? 1 : r->scale, to->d_rotary, call);
    return XL_OK;
}

static void describe_class(const void *canonical, struct xl__str *out)
{
    static const char *const pairs[] = {"", " interleaved", " none"};
    static const char *const rows[] = {"", "lengths", "packed", "paged"};
    const struct xl__rotary_canonical *c = canonical;
    const xl_heads *v = c->view;
    xl__str_printf(out, "%s tokens%zu heads%zu/%zu d%zu",
                   xl_dtype_name(v[XL__ROTARY_Q].dtype),
                   xl__bucket(c->n_batch * c->n_q), c->n_heads, c->n_kv_heads,
                   c->d_head);
    if (c->d_rotary && c->d_rotary != c->d_head)
        xl__str_printf(out, " of %zu", c->d_rotary);
    xl__str_add(out, pairs[c->pairs]);
    if (xl__rotary_has(c, XL__ROTARY_Q_NORM))
        xl__str_add(out, " normed");
    if (v[XL__ROTARY_K_CACHE].dtype != v[XL__ROTARY_Q].dtype)
        xl__str_printf(out, " to:%s",
                       xl_dtype_name(v[XL__ROTARY_K_CACHE].dtype));
    if (c->q_rows.kind)
        xl__str_printf(out, " q:%s", rows[c->q_rows.kind]);
    if (c->kv_rows.kind)
        xl__str_printf(out, " kv:%s", rows[c->kv_rows.kind]);
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    struct xl__rotary_canonical *to = representative;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    to->n_batch = xl__size_end(to->n_batch, XL__SIZE_GRAIN, end);
    to->n_q = xl__size_end(to->n_q, XL__SIZE_GRAIN, end);
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_rotary *)desc)->variant;
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_rotary *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_mem(k, &own->q.mem);
    xl__keep_mem(k, &own->k.mem);
    xl__keep_mem(k, &own->q_out.mem);
    xl__keep_mem(k, &own->k_cache.mem);
    xl__keep_mem(k, &own->workspace);
    xl__heads_keep(k, &own->v);
    xl__heads_keep(k, &own->v_cache);
    xl__heads_keep(k, &own->k_scales);
    xl__heads_keep(k, &own->v_scales);
    xl__heads_keep(k, &own->factors);
    xl__heads_keep(k, &own->q_norm);
    xl__heads_keep(k, &own->k_norm);
    xl__sequences_keep(k, &own->q_rows);
    xl__sequences_keep(k, &own->kv_rows);
}

const struct xl__op xl__op_rotary = {
    .id = XL__OP_ROTARY,
    .name = "rotary",
    .descriptor = XL__DESCRIPTOR(xl_rotary, XL_ROTARY_INIT),
    .canonical_bytes = sizeof(struct xl__rotary_canonical),
    .check = check_descriptor,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .shrink = xl__rotary_shrink,
    .case_init = xl__rotary_case_init,
    .range_at = offsetof(xl_rotary, n_q),
    .keep = keep_memory,
};

/* -- the public functions ------------------------------------------------- */

xl_status xl_rotary_run(xl_queue *q, const xl_rotary *r, const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_rotary, r, sync);
}

xl_status xl_rotary_prepare(xl_queue *q, const xl_rotary *r)
{
    return xl__op_prepare(q, &xl__op_rotary, r);
}

xl_status xl_rotary_prepare_range(xl_queue *q, const xl_rotary *r,
                                  size_t n_q_last)
{
    return xl__op_prepare_range(q, &xl__op_rotary, r, n_q_last);
}

xl_status xl_rotary_prepare_async(xl_queue *q, const xl_rotary *r,
                                  size_t n_q_last, xl_prepared done, void *arg)
{
    return xl__op_prepare_async(q, &xl__op_rotary, r, n_q_last, done, arg);
}

xl_status xl_rotary_workspace(xl_queue *q, const xl_rotary *r, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_rotary, r, bytes);
}

xl_status xl_rotary_explain(xl_queue *q, const xl_rotary *r, xl_choice *out,
                            unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_rotary, r, out, cap, n);
}
