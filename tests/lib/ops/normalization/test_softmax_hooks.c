/* SPDX-License-Identifier: Apache-2.0 */
/* Prologue and epilogue of a softmax on a real device: by each variant, and
 * each mode of softmax_online, against the host in double; results and their
 * logarithms; operands of each layout; results of each type; padded rows with
 * guard zones; dst as an operand; what is refused. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "support/support.h"

enum {
    MOST_ROWS = 7,
    MOST_COLS = 17001,
    GAP = 3,
    FIRST = 5,
    GUARD_ELEMS = 16
};
enum { ELEMS = FIRST + MOST_ROWS * (2 * MOST_COLS + GAP) + GUARD_ELEMS };
enum { MASKED_ROW = 1, MEMS = 6, BYTES = 4 * ELEMS };
enum { SRC, DST, MASK, P, Q, R };
static const double scale = 0.75, s_value = -1.25;

static struct test_device t;
static cl_mem mem[MEMS];
static unsigned char host[MEMS][BYTES], back[BYTES];

/* -- the forms of a prologue and of an epilogue -----------------------------
 */

struct form {
    const char *text; /* NULL: none */
    double (*value)(double x, double p, double q);
    xl_dtype p, q;             /* of the operands; q < 0: none */
    size_t p_i, p_j, q_i, q_j; /* 0: broadcast along rows, columns */
    bool has_scalar, p_is_dst, has_mask;
};

static double scaled(double x, double p, double q)
{
    (void)q;
    return x * s_value + p;
}
static double kept(double x, double p, double q)
{
    (void)q;
    return p != 0 ? x : -(double)INFINITY;
}
static double sloped(double x, double p, double q)
{
    return x + p * q;
}
static double halved(double x, double p, double q)
{
    (void)q;
    return p > 0 ? 0.5 * x : -(double)INFINITY;
}
static double added(double x, double p, double q)
{
    (void)q;
    return x + p;
}

static double unchanged(double x, double p, double q)
{
    (void)p;
    (void)q;
    return x;
}

static const struct form forms[] = {
    {NULL, unchanged, XL_F32, XL_N_DTYPES, 0, 0, 0, 0, false, false, true},
    {"x * s + p", scaled, XL_F32, XL_N_DTYPES, 0, 1, 0, 0, true, false, false},
    {"where(p, x, -inf)", kept, XL_BOOL, XL_N_DTYPES, 1, 1, 0, 0, false, false,
     false},
    {"x + p * q", sloped, XL_F32, XL_I32, 1, 0, 0, 1, false, false, true},
    {"t = 0.5 * x; where(p > 0, t, -inf)", halved, XL_F16, XL_N_DTYPES, 1, 2,
     0, 0, false, false, true},
    {"x + p", added, XL_F32, XL_N_DTYPES, 1, 1, 0, 0, false, true, false},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* Each value rises with y. */
struct after {
    const char *text; /* NULL: none */
    double (*value)(double y, double p);
    xl_dtype out, p; /* out XL_N_DTYPES: the type of src */
    size_t p_i, p_j;
    bool has_scalar, p_is_dst, in_place;
};

static double stored(double y, double p)
{
    (void)p;
    return y;
}
static double dropped(double y, double p)
{
    return p != 0 ? y * -s_value : 0;
}
static double weighted(double y, double p)
{
    return y * (p + 3);
}
static double in_bytes(double y, double p)
{
    return fmax(rint(200 * y), INT32_MIN) + p;
}
static double beyond(double y, double p)
{
    (void)p;
    return y > 0.011;
}
static double plus(double y, double p)
{
    return y + p;
}

/* The names of an epilogue are apart from those of the prologue. */
static const struct after afters[] = {
    {NULL, stored, XL_N_DTYPES, XL_F32, 0, 0, false, false, false},
    {"where(p, y * -s, 0)", dropped, XL_N_DTYPES, XL_BOOL, 1, 1, true, false,
     true},
    {"y * (p + 3)", weighted, XL_F16, XL_F32, 0, 1, false, false, false},
    {"cast(cast(round(200 * y), i32) + p, u8)", in_bytes, XL_U8, XL_U8, 1, 0,
     false, false, false},
    {"y > 0.011", beyond, XL_BOOL, XL_N_DTYPES, 0, 0, false, false, false},
    {"y + p", plus, XL_F32, XL_F32, 1, 1, false, true, false},
    {"cast(round(200 * y), i32) + p", in_bytes, XL_I32, XL_I32, 1, 2, false,
     false, false},
};
enum { N_AFTERS = sizeof afters / sizeof *afters };

/* -- a case -----------------------------------------------------------------
 */

struct layout {
    size_t first, row, col;
    xl_dtype dtype;
};

struct trial {
    const struct form *f;
    const struct after *a;
    unsigned dst; /* SRC or DST */
    size_t rows, cols;
    bool is_log;
    struct layout at[MEMS];
};

static double load(const struct trial *c, unsigned m, size_t i, size_t j)
{
    const struct layout *l = &c->at[m];
    return xl__dtype_load(host[m], l->first + i * l->row + j * l->col,
                          l->dtype);
}

/* A view of rows x cols with padded rows; operands of one row or column are
 * broadcast by their strides, which are then 0 here. */
static struct layout lay(const struct trial *c, size_t i, size_t j,
                         xl_dtype dtype)
{
    const size_t row = c->cols * (j > 0 ? j : 1) + GAP;
    return (struct layout){FIRST, i ? row : 0, j, dtype};
}

static double draw(struct xl__rng *rng, xl_dtype dtype)
{
    if (dtype == XL_BOOL)
        return (double)xl__rng_below(rng, 2);
    return (double)xl__rng_below(rng, 17) / 4 - 2;
}

static void fill(const struct trial *c, unsigned m, struct xl__rng *rng)
{
    const struct layout *l = &c->at[m];
    const bool masks =
        m == P && c->f->p_i && (l->dtype == XL_BOOL || l->dtype == XL_F16);
    memset(host[m], 0xA5, BYTES);
    for (size_t i = 0; i < c->rows; i++) {
        for (size_t j = 0; j < c->cols; j++) {
            double x = draw(rng, l->dtype);
            if (l->dtype == XL_I32 || l->dtype == XL_U8)
                x = fabs(floor(x));
            if (masks && i == MASKED_ROW)
                x = 0;
            xl__dtype_store(host[m], l->first + i * l->row + j * l->col,
                            l->dtype, x);
        }
    }
    assert_status(xl_buffer_write(t.queue, mem[m], 0, host[m], BYTES), XL_OK,
                  xl_error_detail(t.queue));
}

static xl_mat view(const struct trial *c, unsigned m)
{
    xl_mat mat = xl_mat_rows(mem[m], 1, c->at[m].dtype);
    mat.offset = c->at[m].first;
    mat.row_stride = c->at[m].row;
    mat.col_stride = c->at[m].col;
    return mat;
}

static xl_binding bind(const struct trial *c, unsigned m, const char *name)
{
    const struct layout *l = &c->at[m];
    const size_t size[] = {l->row ? c->rows : 1, l->col ? c->cols : 1};
    xl_binding b = {.name = name};
    b.tensor = xl_tensor_dense(mem[m], l->dtype, 2, size);
    b.tensor.offset = l->first;
    b.tensor.stride[0] = l->row ? l->row : 1;
    b.tensor.stride[1] = l->col ? l->col : 1;
    return b;
}

static double score(const struct trial *c, size_t i, size_t j)
{
    const struct form *f = c->f;
    const double mask = f->has_mask ? load(c, MASK, i, j) : 0;
    const double x = scale * load(c, SRC, i, j) + mask;
    return f->value(x, load(c, f->p_is_dst ? c->dst : P, i, j),
                    f->q == XL_N_DTYPES ? 0 : load(c, Q, i, j));
}

/* y, from softmax.h: relative (12 + 48 + 2 log2 MOST_COLS) u, 2^-17.5, and
 * twice the two roundings of a score, at most 16 u; of a logarithm, absolute,
 * (2 |y| + 76 + 7 log2 MOST_COLS) u and these 16 u, 2^-16 (1 + |y|); of the
 * epilogue twice two roundings of terms of y and p, then one to the type of
 * dst. */
static void check_element(const char *variant, const struct trial *c, size_t i,
                          size_t j, double y)
{
    const struct layout *l = &c->at[c->dst];
    const struct after *a = c->a;
    const double p =
        a->p == XL_N_DTYPES ? 0 : load(c, a->p_is_dst ? c->dst : R, i, j);
    const bool is_exact = y == 0 || isinf(y);
    const double d =
        is_exact ? 0 : 0x1p-16 * (c->is_log ? 1 + fabs(y) : fabs(y));
    const double more = a->text && a->out != XL_BOOL && !is_exact
                            ? 0x1p-22 * (200 * fabs(y) + fabs(p))
                            : 0;
    const double least = a->value(y - d, p) - more;
    const double most = a->value(y + d, p) + more;
    const double got =
        xl__dtype_load(back, l->first + i * l->row + j, l->dtype);
    if (!(got >= xl__dtype_round(least, l->dtype) &&
          got <= xl__dtype_round(most, l->dtype)))
        fail_msg("%s%s, %s, %s, %zux%zu of %s into %s: [%zu][%zu] is %.9g, "
                 "not %.9g to %.9g",
                 variant, c->is_log ? " log" : "", c->f->text, a->text,
                 c->rows, c->cols, xl_dtype_name(c->at[SRC].dtype),
                 xl_dtype_name(l->dtype), i, j, got, least, most);
}

static void check_row(const char *variant, const struct trial *c, size_t i)
{
    double top = -(double)INFINITY, sum = 0;
    for (size_t j = 0; j < c->cols; j++)
        top = fmax(top, score(c, i, j));
    for (size_t j = 0; j < c->cols; j++)
        sum += isinf(top) ? 0 : exp(score(c, i, j) - top);
    for (size_t j = 0; j < c->cols; j++) {
        const double y =
            isinf(top) ? -(double)INFINITY : score(c, i, j) - top - log(sum);
        check_element(variant, c, i, j, c->is_log ? y : exp(y));
    }
}

/* Bytes of dst outside its rows are as before. */
static void check_guards(const struct trial *c)
{
    const struct layout *l = &c->at[c->dst];
    const size_t elem = xl_dtype_bytes(l->dtype);
    size_t from = 0;
    for (size_t i = 0; i <= c->rows; i++) {
        const size_t to = i < c->rows ? (l->first + i * l->row) * elem : BYTES;
        assert_memory_equal(back + from, host[c->dst] + from, to - from);
        from = to + c->cols * elem;
    }
}

enum { MOST_BINDINGS = 5 };

static xl_softmax describe(const struct trial *c, const char *variant,
                           xl_binding b[MOST_BINDINGS])
{
    const xl_binding scalar = {
        .name = "s", .is_scalar = true, .scalar = s_value};
    const struct form *f = c->f;
    const struct after *a = c->a;
    xl_softmax s = {XL_SOFTMAX_INIT,     .rows = c->rows,
                    .cols = c->cols,     .scale = scale,
                    .src = view(c, SRC), .dst = view(c, c->dst),
                    .variant = variant,  .is_log = c->is_log};
    unsigned n = 0;
    if (f->text)
        b[n++] = bind(c, f->p_is_dst ? c->dst : P, "p");
    if (f->q != XL_N_DTYPES)
        b[n++] = bind(c, Q, "q");
    if (f->has_scalar)
        b[n++] = scalar;
    if (f->has_mask)
        s.mask = view(c, MASK);
    s.prologue = (xl_epilogue){f->text, b, n};
    b += n;
    n = 0;
    if (a->text && a->p != XL_N_DTYPES)
        b[n++] = bind(c, a->p_is_dst ? c->dst : R, "p");
    if (a->has_scalar)
        b[n++] = scalar;
    s.epilogue = (xl_epilogue){a->text, b, n};
    return s;
}

static struct trial make_trial(const struct form *f, const struct after *a,
                               size_t rows, size_t cols, xl_dtype dtype,
                               bool is_log)
{
    struct trial c = {
        .f = f, .a = a, .rows = rows, .cols = cols, .is_log = is_log};
    c.dst = a->in_place ? SRC : DST;
    c.at[SRC] = lay(&c, 1, 1, dtype);
    c.at[DST] = lay(&c, 1, 1, a->out == XL_N_DTYPES ? dtype : a->out);
    c.at[R] = lay(&c, a->p_i, a->p_j, a->p == XL_N_DTYPES ? XL_F32 : a->p);
    c.at[MASK] = lay(&c, 0, 1, XL_F32);
    c.at[P] = lay(&c, f->p_i, f->p_j, f->p);
    c.at[Q] = lay(&c, f->q_i, f->q_j, f->q == XL_N_DTYPES ? XL_F32 : f->q);
    return c;
}

static void check_trial(const char *variant, const struct form *f,
                        const struct after *a, size_t rows, size_t cols,
                        xl_dtype dtype, bool is_log)
{
    const struct trial c = make_trial(f, a, rows, cols, dtype, is_log);
    struct xl__rng rng;
    xl_binding b[MOST_BINDINGS];
    xl__rng_seed(&rng, 7);
    for (unsigned m = 0; m < MEMS; m++)
        fill(&c, m, &rng);
    const xl_softmax s = describe(&c, variant, b);
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, mem[c.dst], 0, back, BYTES), XL_OK,
                  xl_error_detail(t.queue));
    for (size_t i = 0; i < rows; i++)
        check_row(variant, &c, i);
    check_guards(&c);
}

static void by_variant(void **state)
{
    static const size_t sizes[][2] = {
        {1, 1}, {3, 67}, {7, 256}, {2, 4099}, {2, MOST_COLS}};
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};
    const char *variant;
    (void)state;
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "softmax", v));
         v++) {
        for (unsigned k = 0; k < 10 * N_FORMS; k += 4) {
            const unsigned i = k % (5 * N_FORMS);
            check_trial(variant, &forms[i / 5], &afters[(i + 1) % N_AFTERS],
                        sizes[i % 5][0], sizes[i % 5][1], dtypes[i % 3],
                        k >= 5 * N_FORMS);
        }
    }
}

/* -- each mode --------------------------------------------------------------
 */

/* Self-checked, and compared with the host at the call's own size. */
static void by_mode(void **state)
{
    static const struct {
        const char *tunables;
        size_t cols;
    } modes[] = {{"MODE=1 WG=16 LANES=8 HELD=2 VW=1 STREAM=1", 13},
                 {"MODE=2 WG=16 LANES=16 HELD=2 VW=1 STREAM=1", 99},
                 {"MODE=3 WG=16 LANES=16 HELD=2 VW=1 STREAM=1", 99},
                 {"MODE=4 WG=1 LANES=1 HELD=1 VW=4 STREAM=1", 99},
                 {"MODE=5 WG=1 LANES=1 HELD=1 VW=8 STREAM=1", 99},
                 {"MODE=6 WG=1 LANES=1 HELD=1 VW=4 STREAM=1", 9001}};
    unsigned n_right = 0;
    (void)state;
    for (unsigned k = 0; k < 6 * N_FORMS; k++) {
        const unsigned i = k / 2;
        const unsigned mode = 2 * (i % 3) + i / 3 % 2; /* each by each other */
        const struct trial c =
            make_trial(&forms[i / 3], &afters[(i + i / 3) % N_AFTERS], 5,
                       modes[mode].cols, XL_F32, k % 2);
        xl_binding b[MOST_BINDINGS];
        xl_candidate_result r;
        xl_candidate candidate = {.variant = "softmax_online"};
        const xl_softmax s = describe(&c, NULL, b);
        snprintf(candidate.tunables, sizeof candidate.tunables, "%s",
                 modes[mode].tunables);
        assert_status(xl_tune_candidate(t.queue, xl_problem_softmax(&s),
                                        &candidate, 0, &r),
                      XL_OK, xl_error_detail(t.queue));
        if (r.end != XL_CANDIDATE_RIGHT && r.end != XL_CANDIDATE_REFUSED)
            fail_msg("%s, %s, %s: end %d, %s", c.f->text, c.a->text,
                     candidate.tunables, (int)r.end, r.why);
        n_right += r.end == XL_CANDIDATE_RIGHT;
    }
    assert_in_range(n_right, 4 * N_FORMS, 6 * N_FORMS);
}

/* -- what is refused --------------------------------------------------------
 */

static void refused(const xl_softmax *s, xl_status want, const char *part)
{
    const xl_status got = xl_softmax_run(t.queue, s, NULL);
    assert_status(got, want, xl_error_detail(t.queue));
    if (!strstr(xl_error_detail(t.queue), part))
        fail_msg("\"%s\" is not in: %s", part, xl_error_detail(t.queue));
}

static void bad_prologues(void **state)
{
    const struct trial c =
        make_trial(&forms[1], &afters[0], 5, 99, XL_F32, false);
    xl_binding b[MOST_BINDINGS];
    xl_softmax s = describe(&c, NULL, b);
    (void)state;
    s.prologue.expr = NULL;
    refused(&s, XL_BAD_ARGUMENT, "a prologue of 2 bindings has no expression");
    s.prologue = (xl_epilogue){"x + p", NULL, 1};
    refused(&s, XL_BAD_ARGUMENT, "a prologue of 1 bindings has no bindings");
    s.prologue = (xl_epilogue){"x + p", b, XL_EPILOGUE_MAX_BINDINGS + 1};
    refused(&s, XL_BAD_ARGUMENT, "a prologue of 17 bindings; at most 16");
    s.prologue = (xl_epilogue){"y + p", b, 1};
    refused(&s, XL_BAD_ARGUMENT, "the prologue does not use 'x'");
    s.prologue.expr = "x + q + p";
    refused(&s, XL_BAD_ARGUMENT, "'q'");
    s.prologue.expr = "x";
    refused(&s, XL_BAD_ARGUMENT, "'p' is bound but not used in the prologue");
    s.prologue.expr = "sum(x) + p";
    refused(&s, XL_BAD_ARGUMENT,
            "not possible in a prologue; apply them "
            "before with xl_expr_run()");
    s.prologue.expr = "x + p + rand(1)";
    refused(&s, XL_BAD_ARGUMENT,
            "random numbers are not possible in a prolog");
    s.prologue.expr = "x + (";
    refused(&s, XL_BAD_ARGUMENT, "^");
    s.prologue.expr = "out = out + x + p";
    refused(&s, XL_BAD_ARGUMENT, "'out' is read before it is assigned");
    s.prologue.expr = "x + p";
    b[0].tensor.size[1] = 98;
    refused(&s, XL_BAD_SHAPE,
            "does not broadcast over the result's (1, 5, 99)");
    b[0].tensor.size[1] = 99;
    b[0].tensor.offset = ELEMS;
    refused(&s, XL_BUFFER_TOO_SMALL, "p needs");
    b[0].tensor.offset = FIRST;
    b[0].tensor.mem.buf = NULL;
    refused(&s, XL_BAD_ARGUMENT, "p");
    b[0].tensor.mem.buf = mem[DST];
    refused(&s, XL_OVERLAP, "overlaps");
    b[0].tensor.mem.buf = mem[P];
    b[0].name = "x";
    refused(&s, XL_BAD_ARGUMENT, "\"x\" is reserved in a prologue");
    b[0].name = NULL;
    refused(&s, XL_BAD_ARGUMENT, "binding 0 of the prologue has no name");
    b[0] = (xl_binding){.name = "p", .is_scalar = true, .scalar = 1e39};
    refused(&s, XL_BAD_SCALAR, "which overflows f32");
}

static void bad_epilogues(void **state)
{
    const struct trial c =
        make_trial(&forms[0], &afters[2], 5, 99, XL_F32, false);
    xl_binding b[MOST_BINDINGS], many[XL_EPILOGUE_MAX_BINDINGS];
    xl_softmax s = describe(&c, NULL, b);
    (void)state;
    s.dst.dtype = XL_F32;
    s.epilogue.expr = NULL;
    refused(&s, XL_BAD_ARGUMENT,
            "an epilogue of 1 bindings has no expression");
    s.epilogue.expr = "x + p";
    refused(&s, XL_BAD_ARGUMENT, "the epilogue does not use 'y'");
    s.epilogue.expr = "sum(y) + p";
    refused(&s, XL_BAD_ARGUMENT, "not possible in an epilogue");
    s.epilogue.expr = "y + p";
    s.dst.dtype = XL_I8;
    refused(&s, XL_BAD_ARGUMENT, "i8");
    s.dst.dtype = XL_F64;
    refused(&s, XL_UNSUPPORTED, "softmax from f32 to f64 with an epilogue");
    s.dst.dtype = XL_F8E4M3;
    refused(&s, XL_UNSUPPORTED, "softmax from f32 to f8e4m3 with an epilogue");
    s.epilogue = (xl_epilogue){.expr = NULL};
    s.dst.dtype = XL_F16;
    refused(&s, XL_UNSUPPORTED, "softmax from f32 to f16; src must be");
    s.epilogue = (xl_epilogue){"y + p", b, 1};
    b[0].tensor.mem.buf = mem[DST];
    refused(&s, XL_OVERLAP, "overlaps");
    b[0].tensor.mem.buf = mem[R];
    b[0].tensor.offset = ELEMS;
    refused(&s, XL_BUFFER_TOO_SMALL, "p needs");
    b[0].tensor.offset = FIRST;
    b[0].tensor.size[1] = 98;
    refused(&s, XL_BAD_SHAPE,
            "does not broadcast over the result's (1, 5, 99)");
    for (unsigned k = 0; k < XL_EPILOGUE_MAX_BINDINGS; k++)
        many[k] = (xl_binding){.name = "p", .is_scalar = true};
    s.prologue = (xl_epilogue){"x + p", many, 9};
    s.epilogue = (xl_epilogue){"y + p", many, 8};
    refused(&s, XL_BAD_ARGUMENT,
            "a prologue of 9 bindings and an epilogue of 8; at most 16");
}

/* Memory of another context. */
static void other_context(void **state)
{
    const struct trial c =
        make_trial(&forms[1], &afters[0], 5, 99, XL_F32, false);
    struct test_device other;
    xl_binding b[MOST_BINDINGS];
    const xl_softmax s = describe(&c, NULL, b);
    cl_mem foreign;
    (void)state;
    test_device_open(&other, NULL);
    assert_status(xl_buffer_create(other.queue, BYTES, &foreign), XL_OK, "");
    b[0].tensor.mem.buf = foreign;
    refused(&s, XL_BAD_ARGUMENT, "context");
    clReleaseMemObject(foreign);
    test_device_close(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_variant), cmocka_unit_test(by_mode),
        cmocka_unit_test(bad_prologues), cmocka_unit_test(bad_epilogues),
        cmocka_unit_test(other_context)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < MEMS; i++)
        assert_status(xl_buffer_create(t.queue, BYTES, &mem[i]), XL_OK,
                      xl_error_detail(t.queue));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < MEMS; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
