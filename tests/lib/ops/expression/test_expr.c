/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions on a device, compared with the host's evaluation of the same
 * graph: named cases and random ones (expr_random.h), with both variants,
 * fused and unfused. Error bounds are those of expr.h; see expr_host.h.
 * XL_TEST_FULL=1: larger cases and more of them; XL_TEST_SEED=n: only that
 * random case. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "lib/ops/expression/expr_random.h"
#include "support/support.h"

enum { SEED = 31, RANDOM = 6, RANDOM_FULL = 400, MAX_RANDOM_ELEMS = 4000 };
enum { CHECKED = 4 }; /* every fourth random case with the self-check */

static const char *const variants[] = {"expr_fused", "expr_unfused"};
enum { N_VARIANTS = 2 };

static struct test_device t; /* with the self-check, as in applications */
static struct test_device unchecked_device; /* without the self-check */
static bool is_full;
static bool loses_nan; /* the driver computes 0 * x as 0 for all x
                            (generic.md) */

/* -- named cases ---------------------------------------------------------- */

/* A case; `bind` as for case_bind(). */
struct named_case {
    const char *name, *text, *bind;
};

/* clang-format off */
static const struct named_case named_cases[] = {
    {"one element", "out = x + 1", "x f32 1; out f32 1"},
    {"no dimension", "out = sin(x) * x", "x f32 -; out f32 -"},
    {"no dimension, sum", "out = sum(x) + argmax(x)", "x f16 -; out f32 -"},
    {"a scalar spread", "out = a * 2", "a = 1.5; out f32 7,5"},
    {"prime", "out = exp(x) / (1 + exp(x))", "x f32 7919; out f32 7919"},
    {"primes", "softmax(x)", "x f32 101,499; out f32 101,499"},
    {"prime columns", "sum(x, axis=0)", "x f32 4999,5; out f32 1,5"},
    {"wide columns", "out = x - mean(x, axis=0)", "x f32 97,1031; out f32 97,1031"},
    {"elements beside columns", "a = x / r; b = sum(x, axis=0)", "x f32 29,47; r f32 29,1; a f32 29,47; b f32 1,47"},
    {"middle axis", "max(x, axis=1)", "x f16 31,17,29; out f32 31,1,29"},
    {"outer and inner axis", "var(x, axis=(0, 2))", "x f32 31,17,29; out f32 1,17,1"},
    {"rows of 3", "softmax(x)", "x f32 1000,3; out f32 1000,3"},
    {"six dimensions", "out = x * y + z", "x f32 2,1,3,1,5,1; y f32 1,4,1,2,1,7; z f32 7; out f32 2,4,3,2,5,7"},
    {"sum of six", "sum(x * y, axis=(1, 3, 5))", "x f32 2,1,3,1,5,1; y bf16 1,4,1,2,1,7; out f32 2,1,3,1,5,1"},
    {"transposed output", "out = x * 2", "x f32 33,65; out f32 33,65/1,33"},
    {"transposed input", "out = x * 2", "x f16 33,65/1,40; out f16 33,65"},
    {"both transposed", "out = x + y", "x f32 33,65/1,40; y f32 33,65/1,33; out bf16 33,65/1,34"},
    {"rows of columns", "softmax(x)", "x f32 33,65/1,40; out f32 33,65/1,33"},
    {"gaps", "out = layer_norm(x, g, b, 1e-5)", "x f32 19,257/300,1; g f32 257; b f32 257/2; out f32 19,257/258,1"},
    {"every second", "out = x + 1", "x f32 1000/2; out f32 1000/3"},
    {"same view, two names", "out = x * y - y", "x f32 301; y @x; out f32 301"},
    {"in place", "x = gelu(x)", "x f32 4099"},
    {"in place by another name", "y = x * x + 1", "x f16 1027; y @x"},
    {"written early, read late", "y = x + 1; out = x * sum(x)", "x f32 517; y @x; out f32 517"},
    {"in place, transposed", "x = x + transpose(x)", "x f32 67,67"},
    {"in place, transposed, twice", "y = x + transpose(x); x = y * transpose(x)", "x f32 67,67; y f32 67,67"},
    {"in place, rows", "x = softmax(x)", "x bf16 41,130"},
    {"in place, less its mean", "x = x - mean(x)", "x f32 70,70"},
    {"in place, a value of rows", "y = x * (r + sum(x, axis=1)); r = max(x, axis=1)", "x f32 37,1000; r f32 37,1; y f32 37,1000"},
    {"in place, short rows", "x = x - mean(x, axis=1)", "x f32 200,3"},
    {"in place, its own sum", "x = x / sum(x, axis=0) + transpose(x)", "x f32 45,45"},
    {"swap", "t = a; a = b; b = t", "a f32 333; b f32 333"},
    {"swap with sums", "t = a - mean(a, axis=0); a = b + sum(t, axis=1); b = t", "a f32 21,33; b f32 21,33"},
    {"reversed roles", "t = transpose(a) * 2; a = transpose(b) + 1; b = t", "a f32 20,30; b f32 30,20"},
    {"parts of an output", "out[0:5] = x[0:5] * 2; out[7:10] = x[5:8] + 1", "x f32 9; out f32 12"},
    {"strided part", "out[:, 1:9:2] = x", "x f32 7,4; out f32 7,10"},
    {"backward", "a = x[::-1]; b = x[5:1:-2]; c = x[::-1] * x[:, ::-1]", "x f16 33,65; a f32 33,65; b f32 2,65; c f32 33,65"},
    {"backward, in place", "x = x[::-1] + x[:, ::-1]", "x f32 41,67"},
    {"backward, transposed", "out = transpose(x)[::-1] + y[::-1, ::-2]", "x f32 70,65/65,1; y f32 65,140; out bf16 65,70"},
    {"backward rows", "a = sum(x[::-1] * y, axis=1); b = softmax(x[:, ::-1]); c = max(x[::-2], axis=0)",
     "x f32 67,301; y f32 67,301; a f32 67,1; b f32 67,301; c f32 1,301"},
    {"new axes", "out = x[:, None] * y[None, ::-1] + z[..., None]", "x f32 37; y f16 101; z f32 37; out f32 37,101"},
    {"all pairs", "out = norm2(x[:, None] - x[None], axis=2)", "x f32 43,17; out f32 43,43"},
    {"views of values", "t = x * 2 + b; a = t[1:] - t[:-1]; c = transpose(t)[::-1]; d = (t > 0)[:, 3]",
     "x f32 51,34; b f32 34; a f32 50,34; c f32 34,51; d bool 51"},
    {"views of costly values", "t = erf(tan(erf(tan(erf(x))))); out = t[2:] + t[1:-1] * t[:-2] + t[::-1][2:]", "x f32 5003; out f32 5001"},
    {"views of reductions", "s = sum(x, axis=1); a = x / s[::-1]; b = s[3]; c = transpose(s) * y; d = argmax(x, axis=0)[0, 1:]",
     "x f32 29,47; y f32 3,29; a f32 29,47; b f32 1; c f32 3,29; d i32 46"},
    {"views between reductions", "t = x - max(x, axis=1); out = sum(t[::-1] * t, axis=0) + mean(t[0])", "x f32 39,70; out f32 1,70"},
    {"views of random numbers", "r = rand(7) + x; a = r[::-1]; b = r[1:, 2]", "x f32 19,30; a f32 19,30; b f32 18"},
    {"reshapes", "a = reshape(x, 70, 30); b = reshape(transpose(x), -1); c = reshape(exp(x), 105, 20)[::-1, 1:]; d = reshape(sum(x, axis=0), 3, 20)",
     "x f32 35,60; a f32 70,30; b f16 2100; c f32 105,19; d f32 3,20"},
    {"reshapes of parts", "t = x[:, 1:]; out = reshape(t, 2, -1) + reshape(t[::-1], 2, 40)", "x f32 8,11; out f32 2,40"},
    {"an output that is viewed", "y = sin(x); z = y[::-1] + reshape(y, 30, 40)[1, 2]", "x f32 40,30; y f32 40,30/31,1; z f32 40,30"},
    {"a shifted copy", "x[1:] = x[:-1] + x[1:] * 2", "x f32 1031"},
    {"gather rows", "out = x[i] * 2", "x f32 37,65; i i32 101; out f32 101,65"},
    {"gather columns", "a = x[:, i]; b = gather(y, j, axis=-1)", "x f16 70,33; i i8 41; y bool 19,70; j u8 5,7; a f32 70,41; b bool 19,5,7"},
    {"gather backward, transposed", "out = transpose(x)[::-1, i + 1, None] + b", "x f32 50,33/34,1; i i32 29; b f16 29,1; out f32 33,29,1"},
    {"gather of values", "t = x * x + b; a = t[i]; c = sum(t, axis=1)[i]; d = softmax(x)[:, i]",
     "x f32 31,47; b f32 47; i i8 60; a f32 60,47; c f32 60,1; d f32 31,60"},
    {"gather below reductions", "a = sum(x[i], axis=1); b = max(y[:, i] + x[i[0]][:3, None], axis=0); c = x[argmax(x, axis=0)[0]]",
     "x f32 43,30; i i8 77; y f32 3,43; a f32 77,1; b f32 1,77; c f32 30,30"},
    {"gather in place", "x = x[i] + x", "x f32 1009; i i32 1009"},
    {"an offset at run time", "a = x[k]; b = x[:, p[1] * 2]; c = (x + 1)[k - 40][:9]", "x f32 33,65; k = 7i; p i32 3; a f32 65; b f32 33; c f32 9"},
    {"any byte is true", "out = x & !y | (x != y)", "x bool 777; y bool 777; out bool 777"},
    {"bool to float", "out = where(x, 1.5, y)", "x bool 100; y f16 100; out f16 100"},
    {"causal", "where(index(-1) <= index(-2), x, 0) * (index(0) + 1)", "x f32 3,33,31; out f32 3,33,31"},
    {"index alone", "a = index(0); b = index(1) * 0.5; c = index(-1) // 2", "a i32 37,5; b f32 5,129; c i8 70"},
    {"index in rows", "a = softmax(where(index(-1) <= index(0), x, -inf)); b = sum(x * index(0), axis=0); c = sum(x * index(1) + index(0), axis=1)",
     "x f32 45,77; a f32 45,77; b f32 1,77; c f32 45,1"},
    {"index of transposed", "x + transpose(y) * index(0) - index(1)", "x f32 67,129; y f32 129,67; out f32 67,129"},
    {"products", "a = prod(x / 2 + 1, axis=1); b = prod(y, axis=0); c = prod(y)", "x f32 31,9; y i32 31,9; a f32 31,1; b i32 1,9; c i32 1"},
    {"norms far from 1", "a = norm2(x * 1e30, axis=1); b = norm2(x * 1e-33, axis=1); c = norm2(where(index(1) == 700, 1e25, x), axis=1); d = norm2(x * 1e25)",
     "x f32 5,1501; a f32 5,1; b f32 5,1; c f32 5,1; d f32 1"},
    {"pairs far below 0", "a = logsumexp(x - 200); b = argmax(x - 300); c = max(x - 200); d = norm2(x)",
     "x f32 90,90; a f32 1; b i32 1; c f32 1; d f32 1"},
    {"deviation", "(x - mean(x, axis=1)) / std(x, axis=1)", "x f32 19,301; out f32 19,301"},
    {"counting", "sum(x > 0)", "x f32 10007; out i32 1"},
    {"saturation", "a = x * 100; b = x * 100; c = cast(x, f32) * 1e9", "x i32 200; a i8 200; b u8 200; c f32 200"},
    {"cast saturates", "a = cast(x * 1e10, i32); b = cast(x * 200, i8); c = cast(x * 200, u8)", "x f32! 400; a i32 400; b i32 400; c i32 400"},
    {"wrap", "out = x * x * x * x * x * x * x * x", "x i32 100; out i32 100"},
    {"sums wrap", "out = sum(x * 100000000)", "x i32 1000; out i32 1"},
    {"specials by element", "a = min(x, y); b = max(x, y); c = x < y; d = x == y; e = sign(x); f = relu(x)",
     "x f32! 200; y f32! 200; a f32 200; b f32 200; c bool 200; d bool 200; e f32 200; f f32 200"},
    {"specials in sums", "a = sum(x, axis=1); b = max(x, axis=1); c = norm2(x, axis=1); d = logsumexp(x, axis=1)",
     "x f32! 60,5; a f32 60,1; b f32 60,1; c f32 60,1; d f32 60,1"},
    {"specials in places", "a = argmin(x, axis=1); b = argmax(x, axis=0); c = argmax(x)",
     "x f32! 60,7; a i32 60,1; b i32 1,7; c i32 1,1"},
    {"NaN in rows", "softmax(x)", "x f32! 60,9; out f32 60,9"},
    {"wide values", "a = sum(x); b = var(x); c = norm2(x); d = mean(x)", "x f32~ 20011; a f32 1; b f32 1; c f32 1; d f32 1"},
    {"wide values, rows", "a = sum(x, axis=1); b = var(x, axis=0)", "x f32~ 57,401; a f32 57,1; b f32 1,401"},
    {"axis left out", "out = sum(x, axis=1)", "x f32 12,13,14; out f32 12,14"},
    {"ties", "a = argmax(x, axis=1); b = argmin(x)", "x i8 90,200; a i32 90,1; b i32 1,1"},
    {"sums of sums", "sum((x - mean(x))^2) / norm2(x - max(x))", "x f32 5003; out f32 1"},
    {"mixed axes", "x / norm2(x, axis=0) + x / norm2(x, axis=1)", "x f32 45,77; out f32 45,77"},
    {"random numbers", "a = rand(7); b = randn(s) * 2; c = where(rand(7) < 0.3, 0, x)",
     "x f32 53,61; s = 12i; a f32 53,61; b f32 53,61; c f32 53,61"},
    {"integers of 8 bits", "out = (cast(q, f32) - z) * 0.1", "q u8 33,64; z f32 64; out f16 33,64"},
    {"many names", "out = a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p", "a f32 65; b f16 65; c bf16 65; d f32 65; e i8 65; f u8 65; g f32 65; h f32 65; i f32 1; "
     "j f32 65; k f32 65/2; l f32 65; m f32 65; n i32 65; o f32 65; p f32 65; out f32 65"},
};
/* clang-format on */

/* Run both variants on the same data, without fast math; of case i in a sample
 * one of them. */
static bool run_variants(struct expr_case *c, xl_queue *q, size_t i)
{
    bool right = true;
    for (size_t v = 0; v < N_VARIANTS; v++)
        if (test_is_sampled(i + v, N_VARIANTS))
            right = case_right(c, q, variants[v]) && right;
    return right;
}

static void check_named(const struct named_case *list, size_t i,
                        unsigned *n_wrong)
{
    const struct named_case *from = &list[i];
    struct expr_case c;
    case_init(&c, SEED, from->text);
    case_bind(&c, from->bind);
    if (!run_variants(&c, t.queue, i)) {
        print_error("wrong: %s\n", from->name);
        ++*n_wrong;
    }
    case_clear(&c);
}

static void cases_named(void **state)
{
    unsigned n_wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof named_cases / sizeof *named_cases; i++)
        check_named(named_cases, i, &n_wrong);
    assert_int_equal(n_wrong, 0);
}

/* Long rows, and many of them; the longest only with XL_TEST_FULL. */
static void cases_of_large_shapes(void **state)
{
    /* clang-format off */
    static const struct named_case cases[] = {
        {"many short rows", "softmax(x)", "x f32 100000,3; out f32 100000,3"},
        {"many short columns", "var(x, axis=0)", "x f16 3,100000; out f32 1,100000"},
        {"long sum", "sum(x)", "x f32 3000017; out f32 1"},
        {"long rows", "a = mean(x, axis=1); b = argmax(x, axis=1)", "x f32 3,500009; a f32 3,1; b i32 3,1"},
        {"a long softmax", "softmax(x)", "x f32 1,1000003; out f32 1,1000003"},
        {"long columns", "norm2(x, axis=0)", "x bf16 500009,3; out f32 1,3"},
        {"a row of 1e7", "a = sum(x); b = var(x)", "x f32 10000000; a f32 1; b f32 1"},
        {"a row of 1e8", "sum(x)", "x f16 100000000; out f32 1"},
    };
    /* clang-format on */
    enum { SLOW = 2 };
    const size_t n = sizeof cases / sizeof *cases - (is_full ? 0 : SLOW);
    unsigned n_wrong = 0;
    (void)state;
    for (size_t i = 0; i < n; i++)
        check_named(cases, i, &n_wrong);
    assert_int_equal(n_wrong, 0);
}

/* -- sums that are hard --------------------------------------------------- */

static double hard_steps(size_t i) { return i == 0 ? 0x1p24 : 1; }
static double hard_tenths(size_t i) { return i % 3 ? 0.1 : 0.7; }
static double hard_cancel(size_t i)
{
    return (i % 2 ? -1 : 1) * (1e7 + (double)(i % 1009));
}
static double hard_offset(size_t i) { return 1e4 + (double)(i % 7) * 0x1p-8; }
static double hard_growing(size_t i) { return (double)i * (double)i; }

/* Data for which a plain running sum has an error far above the bound, which
 * does not depend on the count. */
static void cases_of_hard_sums(void **state)
{
    static double (*const data[])(size_t) = {hard_steps, hard_tenths,
                                             hard_cancel, hard_offset,
                                             hard_growing};
    static const char *const bind[] = {
        "x f32 1000003; a f32 1; b f32 1; c f32 1; d f32 1",
        "x f32 2,500001; a f32 2,1; b f32 2,1; c f32 2,1; d f32 2,1",
        "x f32 500001,2/1,500001; a f32 500001,1; b f32 500001,1; "
        "c f32 500001,1; d f32 500001,1"};
    unsigned n_wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof data / sizeof *data * 2; i++) {
        struct expr_case c;
        case_init(&c, i, i % 2 ? "a = sum(x, axis=1); b = mean(x, axis=1); "
                                 "c = var(x, axis=1); d = norm2(x, axis=1)"
                               : "a = sum(x); b = mean(x); c = var(x); "
                                 "d = norm2(x)");
        case_bind(&c, bind[i % 2]);
        const xl_tensor *x = &c.binding[0].tensor;
        const size_t n = x->size[0] * (x->n_dims > 1 ? x->size[1] : 1);
        for (size_t e = 0; e < n; e++)
            case_store(c.mem[0].before, x->offset + e, XL_F32,
                       data[i / 2](e));
        n_wrong += !run_variants(&c, t.queue, i);
        case_clear(&c);
    }
    assert_int_equal(n_wrong, 0);
}

/* -- random ones ---------------------------------------------------------- */

static bool check_random(uint64_t seed, size_t *n_elems, size_t *n_tight)
{
    struct expr_case c;
    random_case(&c, seed, is_full ? 8 * MAX_RANDOM_ELEMS : MAX_RANDOM_ELEMS);
    c.loses_nan = loses_nan;
    /* A driver that loses NaN leaves the results of x / 0 undefined. */
    const bool is_checked =
        seed % CHECKED == 0 ||
        (loses_nan && strstr(xl__str_text(&c.text), "/ 0)"));
    const bool right =
        case_fill(&c) &&
        run_variants(&c, is_checked ? t.queue : unchecked_device.queue, seed);
    *n_elems += c.n_elems;
    *n_tight += c.n_tight;
    case_clear(&c);
    return right;
}

static void random_ones(void **state)
{
    const char *one = getenv("XL_TEST_SEED");
    const uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    const unsigned n = one ? 1 : is_full ? RANDOM_FULL : RANDOM;
    size_t n_elems = 0, n_tight = 0;
    unsigned n_wrong = 0;
    (void)state;
    for (unsigned i = 0; i < n; i++)
        n_wrong += !check_random(first + i, &n_elems, &n_tight);
    print_message("%u expressions, %zu elements, %zu with a close bound\n", n,
                  n_elems, n_tight);
    assert_int_equal(n_wrong, 0);
    /* A loose bound detects nothing: most bounds must be tight. */
    assert_true(one || n_tight * 2 > n_elems);
}

/* Does the driver's compiler replace 0 * x by 0, so that NaN is lost? */
static bool detect_nan_loss(void)
{
    struct expr_case c;
    xl_expr_args args;
    xl_expr *e = NULL;
    case_init(&c, SEED, "out = 0 * x");
    case_bind(&c, "x f32 1; out f32 1");
    const xl_tensor *x = &c.binding[0].tensor, *out = &c.binding[1].tensor;
    case_store(c.mem[0].before, x->offset, XL_F32, NAN);
    assert_true(case_upload(&c, unchecked_device.queue));
    case_args(&c, NULL, &args);
    assert_status(xl_expr_compile(unchecked_device.queue,
                                  xl__str_text(&c.text), &args, &e),
                  XL_OK, xl_error_detail(unchecked_device.queue));
    assert_status(xl_expr_run(unchecked_device.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(unchecked_device.queue));
    assert_status(xl_buffer_read(unchecked_device.queue, c.mem[1].mem, 0,
                                 c.mem[1].after, c.mem[1].bytes),
                  XL_OK, xl_error_detail(unchecked_device.queue));
    const bool dropped =
        !isnan(case_load(c.mem[1].after, out->offset, XL_F32));
    xl_expr_destroy(e);
    case_clear(&c);
    return dropped;
}

static int open_device(void **state)
{
    const xl_options unchecked = {XL_OPTIONS_INIT, .skip_selfcheck = true};
    (void)state;
    is_full = getenv("XL_TEST_FULL") != NULL;
    test_device_open(&t, NULL);
    test_device_open(&unchecked_device, &unchecked);
    loses_nan = detect_nan_loss();
    if (loses_nan)
        print_message("this driver computes 0 * NaN as 0: NaN is not checked "
                      "in random expressions\n");
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&unchecked_device);
    test_device_close(&t);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_named),
        cmocka_unit_test(cases_of_hard_sums),
        cmocka_unit_test(cases_of_large_shapes),
        cmocka_unit_test(random_ones),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
