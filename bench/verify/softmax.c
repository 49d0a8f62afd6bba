/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a softmax case: all rows are compared with the host in
 * double precision. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/alloc.h"
#include "verify/verify.h"

struct softmax_check {
    const struct softmax_case *c;
    struct guarded src, dst, mask;
};

/* The contents of a row of DATA_SPECIALS, by its index modulo 8. */
enum special_row {
    ROW_ALL_MASKED,
    ROW_ONE_INF,
    ROW_ONE_NAN,
    ROW_HALF_MASKED,
    ROW_NORMAL,
    ROW_LAST_ONLY,
    ROW_LARGEST,
    ROW_INF_AND_MASKED,
    N_SPECIAL_ROWS
};

static double special_value(size_t i, size_t j, size_t cols, double normal)
{
    size_t middle = cols / 2;
    switch ((enum special_row)(i % N_SPECIAL_ROWS)) {
    case ROW_ALL_MASKED:
        return -INFINITY;
    case ROW_ONE_INF:
        return j == middle ? INFINITY : normal;
    case ROW_ONE_NAN:
        return j == cols - 1 ? (double)NAN : normal;
    case ROW_HALF_MASKED:
        return j < middle ? -INFINITY : normal;
    case ROW_LAST_ONLY:
        return j < cols - 1 ? -INFINITY : normal;
    case ROW_LARGEST:
        return 65504; /* f16's largest, in every column */
    case ROW_INF_AND_MASKED:
        return j == 0 ? INFINITY : -INFINITY;
    default:
        return normal;
    }
}

static void fill_src(struct guarded *g, enum case_data data,
                     struct xl__rng *rng)
{
    static const double largest = 6e4;
    for (size_t i = 0; i < g->rows; i++) {
        for (size_t j = 0; j < g->cols; j++) {
            double x = ref_normal(rng);
            if (data == DATA_LARGE)
                x = largest * (2 * xl__rng_uniform(rng) - 1);
            if (data == DATA_SPECIALS)
                x = special_value(i, j, g->cols, x);
            guarded_set(g, i, j, x);
        }
    }
}

/* Mask an eighth of the elements, and all of the first of several rows. */
static void fill_mask(struct guarded *g, struct xl__rng *rng)
{
    enum { ONE_IN = 8 };
    for (size_t i = 0; i < g->rows; i++) {
        for (size_t j = 0; j < g->cols; j++) {
            bool is_masked =
                xl__rng_below(rng, ONE_IN) == 0 || (i == 0 && g->rows > 1);
            guarded_set(g, i, j, is_masked ? -INFINITY : ref_normal(rng));
        }
    }
}

static xl_status prepare_buffers(struct softmax_check *t, struct xl__rng *rng)
{
    const struct softmax_case *c = t->c;
    struct guarded_layout src = {c->rows, c->cols, c->pad, c->off, c->dtype};
    struct guarded_layout dst = src;
    struct guarded_layout mask = {softmax_mask_is_row(c) ? 1 : c->rows,
                                  c->cols, c->pad, c->off,
                                  softmax_mask_dtype(c)};
    dst.dtype = softmax_out_dtype(c);
    xl_status status;
    TRY(guarded_init(&t->src, &src));
    fill_src(&t->src, c->data, rng);
    if (!c->in_place)
        TRY(guarded_init(&t->dst, &dst));
    if (c->mask != MASK_NONE) {
        TRY(guarded_init(&t->mask, &mask));
        fill_mask(&t->mask, rng);
    }
fail:
    return status;
}

static const char epilogue[] = "100 * y";
static const double times = 100;

static xl_status run_case(struct softmax_check *t, xl_queue *q,
                          const char *variant)
{
    char text[EPILOGUE_CAP];
    xl_binding m = {.name = "m"};
    const struct softmax_case *c = t->c;
    xl_status status;
    xl_softmax s = {XL_SOFTMAX_INIT,    .rows = c->rows,
                    .cols = c->cols,    .scale = c->scale,
                    .variant = variant, .is_log = c->is_log};
    TRY(guarded_upload(&t->src, q));
    s.src = s.dst = guarded_view(&t->src, false);
    if (!c->in_place) {
        TRY(guarded_upload(&t->dst, q));
        s.dst = guarded_view(&t->dst, false);
    }
    if (c->mask != MASK_NONE) {
        TRY(guarded_upload(&t->mask, q));
        s.mask = guarded_view(&t->mask, false);
        if (c->mask == MASK_ROW)
            s.mask.row_stride = 0;
    }
    if (c->mask >= MASK_HOOKS) {
        m.tensor = xl_tensor_dense(s.mask.mem.buf, s.mask.dtype, 1, &c->cols);
        m.tensor.offset = s.mask.offset;
        epilogue_text(softmax_out_dtype(c), epilogue, text);
        s.mask = (xl_mat){.offset = 0};
        s.prologue = (xl_epilogue){"x + m", &m, 1};
        s.epilogue = (xl_epilogue){.expr = text};
    }
    TRY(xl_softmax_run(q, &s, NULL));
    TRY(guarded_download(&t->src, q));
    if (!c->in_place)
        TRY(guarded_download(&t->dst, q));
    if (c->mask != MASK_NONE)
        TRY(guarded_download(&t->mask, q));
fail:
    return status;
}

/* Row i of x = scale src + mask, exactly; *slack the relative error of a
 * result that comes from rounding x to f32, the absolute one of its logarithm:
 * twice u (|scale src| + |x|), once
 * for the element and once for those it is divided by. */
static void reference_row(const struct softmax_check *t, size_t i, double *x,
                          double *slack)
{
    const struct softmax_case *c = t->c;
    struct ref_mat src = guarded_host(&t->src, false);
    struct ref_mat mask = guarded_host(&t->mask, false);
    bool is_scaled = c->scale != 0 && c->scale != 1;
    size_t mask_row = softmax_mask_is_row(c) ? 0 : i;
    double largest = 0;
    for (size_t j = 0; j < c->cols; j++) {
        double scaled = (is_scaled ? c->scale : 1) * ref_at(&src, i, j);
        x[j] = scaled;
        if (c->mask != MASK_NONE)
            x[j] += ref_at(&mask, mask_row, j);
        /* The scale itself is rounded too: twice |scale src|. */
        double rounded = (is_scaled ? 2 * fabs(scaled) : 0) +
                         (c->mask != MASK_NONE ? fabs(x[j]) : 0);
        if (isfinite(x[j]) && rounded > largest)
            largest = rounded;
    }
    *slack = 2 * largest * ref_roundoff(XL_F32);
}

static void check_row(const struct softmax_check *t, size_t i, double *x_y[2],
                      struct check_result *out)
{
    const struct softmax_case *c = t->c;
    const struct guarded *result = c->in_place ? &t->src : &t->dst;
    struct ref_mat got = guarded_back(result, false);
    const xl_dtype out_dtype = softmax_out_dtype(c);
    double *x = x_y[0], *y = x_y[1], max = 0, slack = 0;
    reference_row(t, i, x, &slack);
    if (c->is_log)
        ref_log_softmax_row(x, c->cols, y, &max);
    else
        ref_softmax_row(x, c->cols, y, &max);
    for (size_t j = 0; j < c->cols; j++) {
        struct checked_element e = {.name = "dst",
                                    .i = i,
                                    .j = j,
                                    .expected = y[j],
                                    .dtype = out_dtype};
        double below = isfinite(x[j]) && isfinite(max) ? max - x[j] : 0;
        const bool hooks = c->mask >= MASK_HOOKS;
        const xl_dtype dtype = hooks ? XL_F32 : c->dtype;
        check_read(&e, result, &got, i, j);
        e.tol = c->is_log
                    ? ref_log_softmax_tol(y[j], slack, c->cols, dtype)
                    : ref_softmax_tol(y[j], below, slack, c->cols, dtype);
        if (hooks) { /* a product of f32, then what is stored */
            e.tol = times * (e.tol + ref_roundoff(XL_F32) * fabs(y[j]));
            e.expected = ref_epilogue_stored(times * y[j], out_dtype, &e.tol);
        }
        check_element(out, &e);
    }
}

xl_status verify_softmax(struct xl_queue *q, const struct softmax_case *c,
                         const char *variant, unsigned long long seed,
                         struct check_result *out)
{
    struct softmax_check t = {.c = c};
    double *x_y[2] = {NULL, NULL};
    struct xl__rng rng;
    xl_status status;

    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    x_y[0] = xl__calloc(c->cols, sizeof **x_y);
    x_y[1] = xl__calloc(c->cols, sizeof **x_y);
    TRY(x_y[0] && x_y[1] ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < c->rows; i++)
        check_row(&t, i, x_y, out);
    if (!c->in_place)
        check_guards(out, &t.src, "src", false);
    if (c->mask != MASK_NONE)
        check_guards(out, &t.mask, "mask", false);
    check_guards(out, c->in_place ? &t.src : &t.dst, "dst", true);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(x_y[0]);
    free(x_y[1]);
    guarded_clear(&t.src);
    guarded_clear(&t.dst);
    guarded_clear(&t.mask);
    return status;
}
