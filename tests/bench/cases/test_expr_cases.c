/* SPDX-License-Identifier: Apache-2.0 */
/* What clbench brings for expressions, with no device: lists that say what
 * names are, the names a text reads and assigns, numbers that carry their
 * error, and the case table with its references. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/expr_cases.h"
#include "cases/expr_names.h"
#include "cases/host_ops.h"

/* -- lists ---------------------------------------------------------------- */

static void shapes_are_read(void **state)
{
    (void)state;
    struct expr_spec s = {.n = 0};
    char why[EXPR_WHY_CAP] = "";
    assert_true(expr_read_shapes(
        &s, "x=4096x1e4:f16:t:pad3:off2,y=7,out=2x3x4x5x6x7:bool", why));
    assert_int_equal(s.n, 3);
    assert_string_equal(s.name[0].name, "x");
    assert_int_equal(s.name[0].n_dims, 2);
    assert_int_equal(s.name[0].size[0], 4096);
    assert_int_equal(s.name[0].size[1], 10000);
    assert_int_equal(s.name[0].dtype, XL_F16);
    assert_true(s.name[0].is_transposed);
    assert_true(expr_spec_settle(&s, why));
    /* Stored as 10000 rows of 4096 and 3. */
    assert_int_equal(s.name[0].stride[0], 1);
    assert_int_equal(s.name[0].stride[1], 4099);
    assert_int_equal(expr_stored_elems(&s.name[0]), 2 + 10000 * 4099);
    assert_int_equal(expr_elems(&s.name[0]), 40960000);
    assert_false(s.name[1].has_dtype);
    assert_int_equal(s.name[2].n_dims, 6);
    assert_int_equal(s.name[2].stride[0], 2520);
    size_t i[XL_MAX_DIMS];
    expr_index(&s.name[2], 5039, i);
    for (unsigned d = 0; d < 6; d++)
        assert_int_equal(i[d], s.name[2].size[d] - 1);
    assert_int_equal(expr_offset(&s.name[2], i), 5039);
}

static void scalars_and_ranges_are_read(void **state)
{
    (void)state;
    struct expr_spec s = {.n = 0};
    struct xl__rng rng;
    char why[EXPR_WHY_CAP] = "";
    assert_true(expr_read_scalars(&s, "eps=1e-5,seed=-7:i32", why));
    assert_true(s.name[0].is_scalar && s.name[1].is_scalar);
    assert_true(s.name[0].scalar == 1e-5 && s.name[0].dtype == XL_F32);
    assert_true(s.name[1].scalar == -7 && s.name[1].dtype == XL_I32);
    assert_true(expr_read_shapes(&s, "t=9:i32,x=9", why));
    assert_true(expr_read_ranges(&s, "t=3:5,x=-10:10", why));
    xl__rng_seed(&rng, 1);
    bool seen[9] = {false};
    for (unsigned i = 0; i < 1000; i++) {
        const double t = expr_random(&s.name[2], 0, &rng);
        const double x = expr_random(&s.name[3], 0, &rng);
        assert_true(t == 3 || t == 4 || t == 5);
        assert_true(x >= -10 && x < 10);
        seen[(int)t] = true;
    }
    assert_true(seen[3] && seen[4] && seen[5]);
    assert_true(expr_read_ranges(&s, "t=index", why));
    assert_true(expr_random(&s.name[2], 6, &rng) == 6);
}

static void invalid_lists_are_reported(void **state)
{
    static const struct {
        bool (*read)(struct expr_spec *s, const char *list, char *why);
        const char *list, *message;
    } cases[] = {
        {expr_read_shapes, "x", "no '=' after the name"},
        {expr_read_shapes, "=4", "a name is missing"},
        {expr_read_shapes, "4=4", "a name is missing"},
        {expr_read_shapes, "x=", "a size must be an integer"},
        {expr_read_shapes, "x=4x", "a size must be an integer"},
        {expr_read_shapes, "x=4.5", "separated by x"},
        {expr_read_shapes, "x=-4", "a size must be an integer"},
        {expr_read_shapes, "x=4x0", "a size is 0"},
        {expr_read_shapes, "x=1e30", "fits in 64 bits"},
        {expr_read_shapes, "x=1e", "a size must be an integer"},
        {expr_read_shapes, "x=99999999999999999999", "fits in 64 bits"},
        {expr_read_shapes, "x=1x1x1x1x1x1x1", "more than 6 dimensions"},
        {expr_read_shapes, "x=4:f17", "'f17' is neither a type"},
        {expr_read_shapes, "x=4:t", "t requires two dimensions"},
        {expr_read_shapes, "x=4:pad", "'pad' is neither a type"},
        {expr_read_shapes, "x=4,y=4,x=5", "'x' has a shape already"},
        {expr_read_shapes, "abcdefghijklmnopqrstuvwxyzabcdef=4",
         "at most 31 characters"},
        {expr_read_scalars, "s=", "not a number"},
        {expr_read_scalars, "s=1x", "not a number"},
        {expr_read_scalars, "s=1:f16", "f32, i64 or i32"},
        {expr_read_scalars, "s=1,s=2", "was given before"},
        {expr_read_ranges, "x=5", "two numbers"},
        {expr_read_ranges, "x=5:1", "LO must not exceed HI"},
        {expr_read_ranges, "x=0:inf", "both must be finite"},
        {expr_read_ranges, "x=0:1:2", "two numbers"},
        {expr_read_ranges, "x=index:2", "nothing follows"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct expr_spec s = {.n = 0};
        char why[EXPR_WHY_CAP] = "";
        if (cases[i].read(&s, cases[i].list, why))
            fail_msg("'%s' was accepted", cases[i].list);
        if (!strstr(why, cases[i].message))
            fail_msg("'%s': %s", cases[i].list, why);
    }
    struct expr_spec s = {.n = 0};
    char why[EXPR_WHY_CAP] = "";
    assert_true(expr_read_shapes(&s, "x=4294967296x4294967296", why));
    assert_false(expr_spec_settle(&s, why));
}

static void names_have_an_end(void **state)
{
    (void)state;
    struct expr_spec s = {.n = 0};
    char why[EXPR_WHY_CAP] = "", list[16];
    for (unsigned i = 0; i < XL_EXPR_MAX_BINDINGS; i++) {
        snprintf(list, sizeof list, "x%u=1", i);
        assert_true(expr_read_shapes(&s, list, why));
    }
    assert_false(expr_read_shapes(&s, "one_more=1", why));
    assert_non_null(strstr(why, "more than 32 names"));
}

/* -- the names of a text -------------------------------------------------- */

/* Each name with its letters: r read first, w assigned, W as a whole, l read
 * later. */
static void scanned(const char *text, const char *want)
{
    struct expr_scan s;
    char got[256] = "";
    expr_scan(text, &s);
    for (unsigned i = 0; i < s.n; i++) {
        const struct expr_seen *n = &s.name[i];
        const size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%s:%s%s%s%s", i ? " " : "",
                 n->name, n->is_read_first ? "r" : "",
                 n->is_assigned ? "w" : "", n->is_whole ? "W" : "",
                 n->is_read_later ? "l" : "");
    }
    if (strcmp(got, want) != 0)
        fail_msg("'%s' gave '%s', not '%s'", text, got, want);
}

static void names_are_found(void **state)
{
    (void)state;
    scanned("sin(x)^2 + cos(x)^2", "x:r out:wW");
    scanned("y = a * x + y", "a:r x:r y:rwW");
    scanned("h = x + r; out = h * 2", "x:r r:r h:wWl out:wW");
    scanned("m = mean(x, axis=(0, -1))\n# m = z\nout = x - m",
            "x:r m:wWl out:wW");
    scanned("out[..., 0::2] = x[..., :n]; out[..., 1::2] = 2", "x:r n:r out:w");
    scanned("cast(x, f16) == f16", "x:r f16:r out:wW");
    scanned("where(a == b, 1e-3, pi) + inf", "a:r b:r out:wW");
    scanned("  \n ; ; x1_ + 2e5\n\n", "x1_:r out:wW");
    scanned("sum (\n x\n)\n", "x:r out:wW");
    scanned("a = b = c", "b:r c:r a:wW");
    scanned("", "");
    scanned("((((", "out:wW");
    scanned("x[", "x:r out:wW");
}

/* -- numbers with their error --------------------------------------------- */

struct f32_check {
    double worst; /* error over bound */
    double widest; /* bound over |value| */
};

static void see(struct f32_check *c, struct num want, float got)
{
    const double error = fabs((double)got - want.x);
    c->worst = fmax(c->worst, error / want.e);
    if (fabs(want.x) > 0.1)
        c->widest = fmax(c->widest, want.e / fabs(want.x));
}

/* Arithmetic of f32 on this machine, and libm, are well within OpenCL's
 * bounds; the bounds are not far off either. */
static void errors_are_bounded(void **state)
{
    (void)state;
    struct xl__rng rng;
    struct f32_check c = {0, 0};
    xl__rng_seed(&rng, 3);
    for (unsigned i = 0; i < 20000; i++) {
        const float x = (float)ref_normal(&rng), y = (float)ref_normal(&rng);
        const struct num a = n_exact((double)x), b = n_exact((double)y);
        volatile float product = x * y, sum = product + x;
        see(&c, n_add(n_mul(a, b), a), sum);
        volatile float quotient = sum / (y * y + 1.0f);
        see(&c, n_div(n_add(n_mul(a, b), a), n_add(n_sq(b), n_exact(1))),
            quotient);
        volatile float e = expf(sum);
        see(&c, n_exp(n_add(n_mul(a, b), a)), e);
        volatile float root = sqrtf(x * x + y * y);
        see(&c, n_sqrt(n_add(n_sq(a), n_sq(b))), root);
        see(&c, n_sigmoid(a), 1.0f / (1.0f + expf(-x)));
        see(&c, n_tanh(n_mul(a, b)), tanhf(product));
        see(&c, n_gelu(a), 0.5f * x * (1.0f + erff(x * 0.70710678f)));
    }
    assert_true(c.worst <= 1);
    assert_true(c.worst > 0.2); /* the bound of a sum is nearly met */
    assert_true(c.widest < 1e-3);
}

static void halves_and_infinities(void **state)
{
    (void)state;
    const struct num near_half = {2.5, 1e-7}, clear = {2.4, 1e-7};
    assert_true(n_round(near_half).x == 2 && n_round(near_half).e == 1);
    assert_true(n_round(clear).x == 2 && n_round(clear).e == 0);
    const struct num lowest = n_sub(n_exact(-INFINITY), n_exact(3));
    assert_true(isinf(lowest.x) && lowest.e == 0);
    assert_true(n_exp(lowest).x == 0 && n_exp(lowest).e < 1e-37);
    const struct num unsure = {1e-3, 2e-3};
    assert_true(isinf(n_div(n_exact(1), unsure).e));
    assert_true(n_lit(0.5).e == 0 && n_lit(0.1).e > 0);
}

/* -- the table ------------------------------------------------------------ */

static void table_is_whole(void **state)
{
    (void)state;
    unsigned n_texts = 0, n_suite = 0;
    for (const struct expr_case *c = expr_cases; c->name; c++) {
        char why[EXPR_WHY_CAP] = "";
        struct expr_spec small, timed;
        assert_true(c->small || c->timed);
        assert_true(!(c->use & CASE_VERIFY) == !c->small);
        assert_true(!(c->use & CASE_BENCH) == !c->timed);
        if (c->small && !expr_case_spec(c, false, &small, why))
            fail_msg("%s: %s", c->name, why);
        if (c->timed && !expr_case_spec(c, true, &timed, why))
            fail_msg("%s: %s", c->name, why);
        n_texts += c->small != NULL;
        n_suite += (c->use & CASE_SUITE) != 0;
        for (unsigned k = 0; c->small && c->timed && k < small.n; k++) {
            const struct expr_name *a = &small.name[k], *b = &timed.name[k];
            if (strcmp(a->name, b->name) != 0 || a->dtype != b->dtype ||
                a->n_dims != b->n_dims)
                fail_msg("%s: '%s' differs", c->name, a->name);
            assert_true(a->is_input || a->is_result);
        }
    }
    assert_true(n_texts >= 30);
    assert_int_equal(n_suite, 3);
}

/* A case's inputs on the host. */
static void host_init(struct expr_host *h, const struct expr_spec *s)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, 5);
    memset(h, 0, sizeof *h);
    h->spec = s;
    for (unsigned k = 0; k < s->n; k++) {
        const struct expr_name *n = &s->name[k];
        if (n->is_scalar)
            continue;
        void *data = calloc(expr_stored_elems(n), xl_dtype_bytes(n->dtype));
        assert_non_null(data);
        expr_fill(n, data, &rng);
        h->data[k] = data;
        h->first[k] = n->off;
    }
}

static void host_clear(struct expr_host *h)
{
    for (unsigned k = 0; k < h->spec->n; k++) {
        void *data = (void *)(uintptr_t)h->data[k];
        free(data);
    }
}

/* A tolerance that lets anything pass is none: nine in ten elements of every
 * output are known to a ten-thousandth of themselves, or of 1. */
static void tolerances_are_tight(void **state)
{
    static const double tight = 1e-4;
    (void)state;
    for (const struct expr_case *c = expr_cases; c->name; c++) {
        char why[EXPR_WHY_CAP];
        struct expr_spec s;
        struct expr_host h;
        size_t n = 0, n_loose = 0;
        if (!c->small)
            continue;
        assert_true(expr_case_spec(c, false, &s, why));
        host_init(&h, &s);
        for (unsigned k = 0; k < s.n; k++) {
            const size_t elems =
                s.name[k].is_result ? expr_elems(&s.name[k]) : 0;
            for (size_t at = 0; at < elems; at += 1 + elems / 100) {
                const struct expr_point p = expr_point_at(&h, k, at);
                const struct num want = c->ref(&p);
                assert_true(!isnan(want.x) && want.e >= 0);
                n++;
                n_loose += !(want.e <= tight * (1 + fabs(want.x)));
            }
        }
        if (n == 0 || n_loose * 10 > n)
            fail_msg("%s: %zu of %zu are loose", c->name, n_loose, n);
        host_clear(&h);
    }
}

static const struct expr_case *find_case(const char *name)
{
    const struct expr_case *c = expr_cases;
    while (c->name && strcmp(c->name, name) != 0)
        c++;
    assert_non_null(c->name);
    return c;
}

/* The sum of a result's elements lo .. hi - 1 by its reference. */
static double sum_of(const struct expr_case *c, const struct expr_host *h,
                     const char *name, size_t lo, size_t hi)
{
    double sum = 0;
    for (unsigned k = 0; k < h->spec->n; k++) {
        if (strcmp(h->spec->name[k].name, name) != 0)
            continue;
        for (size_t at = lo; at < hi; at++) {
            const struct expr_point p = expr_point_at(h, k, at);
            sum += c->ref(&p).x;
        }
    }
    return sum;
}

/* What must hold of results whatever formula they come from: a softmax's row
 * adds up to 1, a layer norm of gain 1 and bias 0 to 0, three tenths of a
 * dropout are 0, call - put is s - k exp(-r t). */
static void references_keep_their_laws(void **state)
{
    (void)state;
    char why[EXPR_WHY_CAP];
    struct expr_spec s;
    struct expr_host h;
    const struct expr_case *c = find_case("softmax");
    assert_true(expr_case_spec(c, false, &s, why));
    host_init(&h, &s);
    assert_true(fabs(sum_of(c, &h, "out", 127, 2 * 127) - 1) < 1e-12);
    host_clear(&h);

    c = find_case("layer norm");
    assert_true(expr_case_spec(c, false, &s, why));
    host_init(&h, &s);
    for (size_t j = 0; j < 509; j++) {
        ((float *)(uintptr_t)h.data[1])[j] = 1;
        ((float *)(uintptr_t)h.data[2])[j] = 0;
    }
    assert_true(fabs(sum_of(c, &h, "out", 509, 2 * 509)) < 1e-9);
    host_clear(&h);

    c = find_case("dropout");
    assert_true(expr_case_spec(c, false, &s, why));
    host_init(&h, &s);
    size_t zeros = 0, n = 127 * 61;
    for (size_t at = 0; at < n; at++) {
        const struct expr_point p = expr_point_at(&h, 1, at);
        zeros += c->ref(&p).x == 0;
    }
    /* 2324 of 7747, six deviations of 40.3 to either side. */
    assert_in_range(zeros, 2324 - 242, 2324 + 242);
    host_clear(&h);

    c = find_case("black-scholes");
    assert_true(expr_case_spec(c, false, &s, why));
    host_init(&h, &s);
    const float *spot = h.data[0], *strike = h.data[1], *time = h.data[2];
    const double call = sum_of(c, &h, "call", 9, 10);
    const double put = sum_of(c, &h, "put", 9, 10);
    const double later =
        (double)strike[9] * exp(-0.02 * (double)time[9]);
    assert_true(fabs(call - put - ((double)spot[9] - later)) < 1e-6);
    host_clear(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read),
        cmocka_unit_test(scalars_and_ranges_are_read),
        cmocka_unit_test(invalid_lists_are_reported),
        cmocka_unit_test(names_have_an_end),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(halves_and_infinities),
        cmocka_unit_test(table_is_whole),
        cmocka_unit_test(tolerances_are_tight),
        cmocka_unit_test(references_keep_their_laws),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
