/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of all ops, a row of a table for each op. */
#include "verify/verify_cases.h"

#include <stdio.h>
#include <string.h>

struct verify_op {
    const char *name;
    /* Row i of its table; false past the last. *is_selected: in this run? */
    bool (*read)(const struct session *s, unsigned i, struct verify_case *out,
                 bool *is_selected);
    const char *(*name_of)(const struct verify_case *c);
    void (*format)(const struct verify_case *c, char *out, size_t cap);
    const char *shape; /* "MxNxK"; "": none */
    unsigned (*sizes)(struct verify_case *c, struct case_size *out);
    xl_status (*run)(xl_queue *q, const struct verify_case *c,
                     const char *variant, uint64_t seed,
                     struct check_result *out);
};

static bool is_case_in_run(const struct session *s, unsigned use,
                           xl_dtype dtype)
{
    return (use & CASE_VERIFY) && (!s->set.quick || (use & CASE_QUICK)) &&
           (s->set.dtype == XL_N_DTYPES || s->set.dtype == dtype);
}

static unsigned list_sizes(struct case_size *out, size_t *const *value,
                           unsigned n, unsigned n_shape)
{
    for (unsigned i = 0; i < n; i++)
        out[i] = (struct case_size){value[i], i < n_shape ? 1 : 0};
    return n;
}
#define SIZES(out, n_shape, ...)                                              \
    list_sizes(out, (size_t *const[]){__VA_ARGS__},                           \
               sizeof((size_t *[]){__VA_ARGS__}) / sizeof(size_t *), n_shape)

/* -- GEMM ------------------------------------------------------------------
 */

static bool read_gemm(const struct session *s, unsigned i,
                      struct verify_case *out, bool *is_selected)
{
    const struct gemm_case *c = &gemm_cases[i];
    out->as.gemm = *c;
    *is_selected = c->name && is_case_in_run(s, c->use, c->in) &&
                   (s->set.trans < 0 || s->set.trans == c->trans);
    return c->name != NULL;
}

static const char *gemm_name(const struct verify_case *c)
{
    return c->as.gemm.name;
}

static void format_gemm(const struct verify_case *c, char *out, size_t cap)
{
    static const char *const trans[] = {"nn", "tn", "nt", "tt"};
    const struct gemm_case *g = &c->as.gemm;
    snprintf(out, cap, "gemm '%s' %zux%zux%zu %s->%s %s", g->name, g->m, g->n,
             g->k, xl_dtype_name(g->in), xl_dtype_name(g->out),
             trans[g->trans]);
}

static unsigned gemm_sizes(struct verify_case *c, struct case_size *out)
{
    struct gemm_case *g = &c->as.gemm;
    return SIZES(out, 3, &g->m, &g->n, &g->k, &g->pad_a, &g->pad_b, &g->pad_c,
                 &g->off_a, &g->off_b, &g->off_c);
}

static xl_status run_gemm(xl_queue *q, const struct verify_case *c,
                          const char *variant, uint64_t seed,
                          struct check_result *out)
{
    const struct gemm_case *g = &c->as.gemm;
    if (g->one_buffer && g->m != g->n) /* A A^T */
        return XL_BAD_ARGUMENT;
    return verify_gemm(q, g, variant, seed, out);
}

/* -- convolution -----------------------------------------------------------
 */

static bool read_pass(const struct session *s, unsigned i,
                      struct verify_case *out, bool *is_selected,
                      xl_conv_pass pass)
{
    struct conv_case *c = &out->as.conv;
    const bool is_case = conv_case_of_pass(i, pass, c, is_selected);
    *is_selected = *is_selected && is_case_in_run(s, c->use, c->in);
    return is_case;
}

static bool read_conv(const struct session *s, unsigned i,
                      struct verify_case *out, bool *is_selected)
{
    return read_pass(s, i, out, is_selected, XL_CONV_FORWARD);
}

static bool read_data(const struct session *s, unsigned i,
                      struct verify_case *out, bool *is_selected)
{
    return read_pass(s, i, out, is_selected, XL_CONV_BACKWARD_DATA);
}

static bool read_filters(const struct session *s, unsigned i,
                         struct verify_case *out, bool *is_selected)
{
    return read_pass(s, i, out, is_selected, XL_CONV_BACKWARD_FILTERS);
}

static const char *conv_name(const struct verify_case *c)
{
    return c->as.conv.name;
}

static void format_conv(const struct verify_case *c, char *out, size_t cap)
{
    static const char *const passes[] = {"conv", "conv_data", "conv_filters"};
    const struct conv_case *v = &c->as.conv;
    snprintf(out, cap, "%s '%s' %zux%zux%zux%zu:%zux%zux%zu %s",
             passes[v->pass], v->name, v->n, v->h, v->w, v->c, v->k, v->r,
             v->s, xl_dtype_name(v->in));
}

static unsigned conv_sizes(struct verify_case *c, struct case_size *out)
{
    struct conv_case *v = &c->as.conv;
    return SIZES(out, 7, &v->n, &v->h, &v->w, &v->c, &v->k, &v->r, &v->s,
                 &v->gap, &v->off);
}

/* Does the filter, with its dilation, fit into the padded image? */
static bool filter_fits(const struct conv_case *c, unsigned along)
{
    const size_t taps = along ? c->s : c->r, length = along ? c->w : c->h;
    const size_t dilation = c->dilation[along] ? c->dilation[along] : 1;
    return (taps - 1) * dilation <
           length + c->pad[2 * along] + c->pad[2 * along + 1];
}

static xl_status run_conv(xl_queue *q, const struct verify_case *c,
                          const char *variant, uint64_t seed,
                          struct check_result *out)
{
    const struct conv_case *v = &c->as.conv;
    if (!filter_fits(v, 0) || !filter_fits(v, 1))
        return XL_BAD_ARGUMENT;
    return verify_conv(q, v, variant, seed, out);
}

/* -- softmax and norms -----------------------------------------------------
 */

static bool read_softmax(const struct session *s, unsigned i,
                         struct verify_case *out, bool *is_selected)
{
    const struct softmax_case *c = &softmax_cases[i];
    out->as.softmax = *c;
    *is_selected = is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static const char *softmax_name(const struct verify_case *c)
{
    return c->as.softmax.name;
}

static void format_softmax(const struct verify_case *c, char *out, size_t cap)
{
    const struct softmax_case *x = &c->as.softmax;
    snprintf(out, cap, "softmax '%s' %zux%zu %s", x->name, x->rows, x->cols,
             xl_dtype_name(x->dtype));
}

static unsigned softmax_sizes(struct verify_case *c, struct case_size *out)
{
    struct softmax_case *x = &c->as.softmax;
    return SIZES(out, 2, &x->rows, &x->cols, &x->pad, &x->off);
}

static xl_status run_softmax(xl_queue *q, const struct verify_case *c,
                             const char *variant, uint64_t seed,
                             struct check_result *out)
{
    return verify_softmax(q, &c->as.softmax, variant, seed, out);
}

static bool read_norm(const struct session *s, unsigned i,
                      struct verify_case *out, bool *is_selected)
{
    const struct norm_case *c = &norm_cases[i];
    out->as.norm = *c;
    *is_selected = is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static const char *norm_name(const struct verify_case *c)
{
    return c->as.norm.name;
}

static void format_norm(const struct verify_case *c, char *out, size_t cap)
{
    const struct norm_case *x = &c->as.norm;
    snprintf(out, cap, "norm '%s' %zux%zu %s", x->name, x->rows, x->cols,
             xl_dtype_name(x->dtype));
}

static unsigned norm_sizes(struct verify_case *c, struct case_size *out)
{
    struct norm_case *x = &c->as.norm;
    return SIZES(out, 2, &x->rows, &x->cols, &x->pad, &x->off);
}

static xl_status run_norm(xl_queue *q, const struct verify_case *c,
                          const char *variant, uint64_t seed,
                          struct check_result *out)
{
    return verify_norm(q, &c->as.norm, variant, seed, out);
}

/* Of the table of both ops, in turn. */
static bool read_gradient(const struct session *s, unsigned i,
                          struct verify_case *out, bool *is_selected,
                          bool is_norm)
{
    const struct gradient_case *c = &gradient_cases[i];
    out->as.gradient = *c;
    *is_selected = c->name && gradient_is_norm(c) == is_norm &&
                   is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static bool read_softmax_gradient(const struct session *s, unsigned i,
                                  struct verify_case *out, bool *is_selected)
{
    return read_gradient(s, i, out, is_selected, false);
}

static bool read_norm_gradient(const struct session *s, unsigned i,
                               struct verify_case *out, bool *is_selected)
{
    return read_gradient(s, i, out, is_selected, true);
}

static const char *gradient_name(const struct verify_case *c)
{
    return c->as.gradient.name;
}

static void format_gradient(const struct verify_case *c, char *out, size_t cap)
{
    const struct gradient_case *x = &c->as.gradient;
    snprintf(out, cap, "%s '%s' %zux%zu %s", gradient_op(x), x->name, x->rows,
             x->cols, xl_dtype_name(x->dtype));
}

static unsigned gradient_sizes(struct verify_case *c, struct case_size *out)
{
    struct gradient_case *x = &c->as.gradient;
    return SIZES(out, 2, &x->rows, &x->cols, &x->pad, &x->off);
}

static xl_status run_gradient(xl_queue *q, const struct verify_case *c,
                              const char *variant, uint64_t seed,
                              struct check_result *out)
{
    return verify_gradient(q, &c->as.gradient, variant, seed, out);
}

/* -- attention -------------------------------------------------------------
 */

static bool read_attention(const struct session *s, unsigned i,
                           struct verify_case *out, bool *is_selected)
{
    const struct attention_case *c = &attention_cases[i];
    out->as.attention = *c;
    *is_selected = is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static bool read_attention_gradient(const struct session *s, unsigned i,
                                    struct verify_case *out, bool *is_selected)
{
    struct attention_case *c = &out->as.attention;
    *is_selected = attention_case_of_gradient(i, c) &&
                   is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static const char *attention_name(const struct verify_case *c)
{
    return c->as.attention.name;
}

static void format_attention(const struct verify_case *c, char *out,
                             size_t cap)
{
    const struct attention_case *x = &c->as.attention;
    snprintf(out, cap, "attention%s '%s' %zux%zux%zux%zux%zu %s",
             x->is_backward ? "_backward" : "", x->name, x->n_batch,
             x->n_heads, x->n_q, x->n_kv, x->d, xl_dtype_name(x->dtype));
}

static unsigned attention_sizes(struct verify_case *c, struct case_size *out)
{
    struct attention_case *x = &c->as.attention;
    return SIZES(out, 5, &x->n_batch, &x->n_heads, &x->n_q, &x->n_kv, &x->d,
                 &x->pad, &x->off);
}

static xl_status run_attention(xl_queue *q, const struct verify_case *c,
                               const char *variant, uint64_t seed,
                               struct check_result *out)
{
    const struct attention_case *x = &c->as.attention;
    if (x->share > 1 && x->n_heads % x->share)
        return XL_BAD_ARGUMENT;
    return verify_attention(q, x, variant, seed, out);
}

/* -- the rotary embedding --------------------------------------------------
 */

static bool read_rotary(const struct session *s, unsigned i,
                        struct verify_case *out, bool *is_selected)
{
    const struct rotary_case *c = &rotary_cases[i];
    out->as.rotary = *c;
    *is_selected = is_case_in_run(s, c->a.use, c->a.dtype);
    return c->a.name != NULL;
}

static const char *rotary_name(const struct verify_case *c)
{
    return c->as.rotary.a.name;
}

static void format_rotary(const struct verify_case *c, char *out, size_t cap)
{
    const struct attention_case *x = &c->as.rotary.a;
    snprintf(out, cap, "rotary '%s' %zux%zux%zux%zux%zu %s", x->name,
             x->n_batch, x->n_heads, x->n_q, x->n_kv, x->d,
             xl_dtype_name(x->dtype));
}

static unsigned rotary_sizes(struct verify_case *c, struct case_size *out)
{
    struct attention_case *x = &c->as.rotary.a;
    return SIZES(out, 5, &x->n_batch, &x->n_heads, &x->n_q, &x->n_kv, &x->d,
                 &x->pad, &x->off);
}

/* Columns that are no pairs are no case. */
static xl_status run_rotary(xl_queue *q, const struct verify_case *c,
                            const char *variant, uint64_t seed,
                            struct check_result *out)
{
    const struct rotary_case *x = &c->as.rotary;
    if (x->a.n_heads % attention_share(&x->a) != 0 || x->a.d % 2 != 0 ||
        x->d_rotary > x->a.d)
        return XL_BAD_ARGUMENT;
    return verify_rotary(q, x, variant, seed, out);
}

/* -- quantised weights -----------------------------------------------------
 */

static bool read_qgemm(const struct session *s, unsigned i,
                       struct verify_case *out, bool *is_selected)
{
    const struct qgemm_case *c = &qgemm_cases[i];
    out->as.qgemm = *c;
    *is_selected = is_case_in_run(s, c->use, c->in);
    return c->name != NULL;
}

static const char *qgemm_name(const struct verify_case *c)
{
    return c->as.qgemm.name;
}

static void format_qgemm(const struct verify_case *c, char *out, size_t cap)
{
    const struct qgemm_case *x = &c->as.qgemm;
    snprintf(out, cap, "qgemm '%s' %zux%zux%zu %s %s", x->name, x->m, x->n,
             x->k, xl_qformat_layout(x->format)->name, xl_dtype_name(x->in));
}

static unsigned qgemm_sizes(struct verify_case *c, struct case_size *out)
{
    struct qgemm_case *x = &c->as.qgemm;
    return SIZES(out, 3, &x->m, &x->n, &x->k, &x->pad, &x->off);
}

/* Columns that are not whole blocks are no case. */
static xl_status run_qgemm(xl_queue *q, const struct verify_case *c,
                           const char *variant, uint64_t seed,
                           struct check_result *out)
{
    if (qgemm_case_bytes(&c->as.qgemm).blocks == 0)
        return XL_BAD_ARGUMENT;
    return verify_qgemm(q, &c->as.qgemm, variant, seed, out);
}

static bool read_qconvert(const struct session *s, unsigned i,
                          struct verify_case *out, bool *is_selected)
{
    const struct qconvert_case *c = &qconvert_cases[i];
    out->as.qconvert = *c;
    *is_selected = is_case_in_run(s, c->of.use, c->of.in);
    return c->of.name != NULL;
}

static const char *qconvert_name(const struct verify_case *c)
{
    return c->as.qconvert.of.name;
}

static void format_qconvert(const struct verify_case *c, char *out, size_t cap)
{
    const struct qgemm_case *x = &c->as.qconvert.of;
    snprintf(out, cap, "qconvert '%s' %zux%zu %s %s", x->name, x->n, x->k,
             xl_qformat_layout(x->format)->name, xl_dtype_name(x->in));
}

static unsigned qconvert_sizes(struct verify_case *c, struct case_size *out)
{
    struct qgemm_case *x = &c->as.qconvert.of;
    return SIZES(out, 2, &x->n, &x->k, &x->pad, &x->off);
}

static xl_status run_qconvert(xl_queue *q, const struct verify_case *c,
                              const char *variant, uint64_t seed,
                              struct check_result *out)
{
    const struct qgemm_case *x = &c->as.qconvert.of;
    if (qgemm_case_bytes(x).blocks == 0 || x->off % 2 != 0)
        return XL_BAD_ARGUMENT;
    return verify_qconvert(q, &c->as.qconvert, variant, seed, out);
}

/* -- expressions -----------------------------------------------------------
 */

/* The type of an expression, for --dtype, is that of its first name. */
static bool read_expr(const struct session *s, unsigned i,
                      struct verify_case *out, bool *is_selected)
{
    char why[EXPR_WHY_CAP];
    struct expr_spec spec;
    const struct expr_case *c = &expr_cases[i];
    out->as.expr = *c;
    *is_selected = c->name && (c->use & CASE_VERIFY) &&
                   expr_case_spec(c, false, &spec, why) &&
                   is_case_in_run(s, c->use, spec.name[0].dtype);
    return c->name != NULL;
}

static const char *expr_name(const struct verify_case *c)
{
    return c->as.expr.name;
}

static void format_expr(const struct verify_case *c, char *out, size_t cap)
{
    snprintf(out, cap, "expr '%s' %s", c->as.expr.name, c->as.expr.text);
}

static xl_status run_expr(xl_queue *q, const struct verify_case *c,
                          const char *variant, uint64_t seed,
                          struct check_result *out)
{
    return verify_expr(q, &c->as.expr, variant, seed, out);
}

/* -- the list --------------------------------------------------------------
 */

#define IMAGES "NxHxWxC:KxRxS"
/* clang-format off */
static const struct verify_op ops[] = {
    {"gemm", read_gemm, gemm_name, format_gemm, "MxNxK", gemm_sizes, run_gemm},
    {"conv", read_conv, conv_name, format_conv, IMAGES, conv_sizes, run_conv},
    {"conv_data", read_data, conv_name, format_conv, IMAGES, conv_sizes,
     run_conv},
    {"conv_filters", read_filters, conv_name, format_conv, IMAGES, conv_sizes,
     run_conv},
    {"softmax", read_softmax, softmax_name, format_softmax, "ROWSxCOLS",
     softmax_sizes, run_softmax},
    {"norm", read_norm, norm_name, format_norm, "ROWSxCOLS", norm_sizes,
     run_norm},
    {"softmax_backward", read_softmax_gradient, gradient_name, format_gradient,
     "ROWSxCOLS", gradient_sizes, run_gradient},
    {"norm_backward", read_norm_gradient, gradient_name, format_gradient,
     "ROWSxCOLS", gradient_sizes, run_gradient},
    {"attention", read_attention, attention_name, format_attention,
     "BATCHxHEADSxQUERIESxKEYSxD", attention_sizes, run_attention},
    {"attention_backward", read_attention_gradient, attention_name,
     format_attention, "BATCHxHEADSxQUERIESxKEYSxD", attention_sizes,
     run_attention},
    {"qgemm", read_qgemm, qgemm_name, format_qgemm, "MxNxK", qgemm_sizes,
     run_qgemm},
    {"qconvert", read_qconvert, qconvert_name, format_qconvert, "ROWSxCOLS",
     qconvert_sizes, run_qconvert},
    {"rotary", read_rotary, rotary_name, format_rotary,
     "BATCHxHEADSxTOKENSxKEYSxD", rotary_sizes, run_rotary},
    {"expr", read_expr, expr_name, format_expr, "", NULL, run_expr},
};
/* clang-format on */

const struct verify_op *verify_op_at(unsigned i)
{
    return i < sizeof ops / sizeof ops[0] ? &ops[i] : NULL;
}

/* The variants of expressions are the same on every device. */
const char *verify_variant(const struct verify_op *op, const xl_device *dev,
                           unsigned i)
{
    static const char *const of_expr[] = {"expr_fused", "expr_unfused", NULL};
    return op->read == read_expr ? of_expr[i]
                                 : xl_variant_name(dev, op->name, i);
}

bool verify_next_case(const struct session *s, const struct verify_op *op,
                      unsigned *i, struct verify_case *out)
{
    bool is_selected = false, is_there = true;
    while (is_there && !is_selected) {
        memset(out, 0, sizeof *out);
        out->op = op;
        is_there = op->read(s, (*i)++, out, &is_selected);
    }
    return is_there;
}

const char *verify_case_name(const struct verify_case *c)
{
    return c->op->name_of(c);
}

void verify_case_text(const struct verify_case *c, char *out, size_t cap)
{
    c->op->format(c, out, cap);
}

const char *verify_shape_form(const struct verify_op *op)
{
    return op->shape;
}

unsigned verify_case_sizes(struct verify_case *c, struct case_size *out,
                           unsigned *n_shape)
{
    unsigned n_parts = 0;
    for (const char *at = c->op->shape; *at; at++)
        n_parts += *at == 'x' || *at == ':';
    *n_shape = *c->op->shape ? n_parts + 1 : 0;
    return c->op->sizes ? c->op->sizes(c, out) : 0;
}

xl_status verify_case_run(xl_queue *q, const struct verify_case *c,
                          const char *variant, uint64_t seed,
                          struct check_result *out)
{
    return c->op->run(q, c, variant, seed, out);
}
