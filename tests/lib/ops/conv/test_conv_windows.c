/* SPDX-License-Identifier: Apache-2.0 */
/* conv_data_wgmma and conv_filters_wgmma without a device: the arguments of
 * their plans, and the walk of gemm/windows/windows.clh as
 * gemm/nvidia/wgmma.cl has it, multiply whole numbers; the sums are compared
 * with the definition of each gradient. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ops/conv/conv.h"
#include "ops/gemm/engines/windows.h"
#include "ops/variants.h"
#include "support/support.h"
#include "support/test_h200.h"

/* -- OpenCL C as C -------------------------------------------------------- */

#define uint uint32_t
#define ulong uint64_t
typedef struct {
    uint x, y, z;
} uint3;

static inline uint mul_hi(uint a, uint b)
{
    return (uint)((uint64_t)a * b >> 32);
}

#include "gemm/windows/windows.clh"

enum {
    SEED = 31,
    N_CASES = 300,
    CHUNK = 8,
    DEPTH = 64,   /* k of a stage */
    COLUMNS = 16, /* of channels or filters */
    HEAD_WORDS = 16,
    AT_COUNTS = 4, /* numbers of the head */
    AT_LINE_C = 8,
    RESIDUES_WORDS = 20,
    MOST_ELEMS = 1 << 16
};

/* -- a case --------------------------------------------------------------- */

static size_t one_of(struct xl__rng *rng, const size_t *list, size_t n)
{
    return list[xl__rng_below(rng, n)];
}
#define ONE_OF(rng, ...)                                                      \
    one_of(rng, (const size_t[]){__VA_ARGS__},                                \
           sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t))

static xl_conv random_conv(struct xl__rng *rng, xl_conv_pass pass)
{
    const bool is_data = pass == XL_CONV_BACKWARD_DATA;
    xl_conv c = {XL_CONV_INIT, .pass = pass, .groups = 1, .alpha = 1};
    c.n = ONE_OF(rng, 1, 2, 3);
    c.h = ONE_OF(rng, 1, 5, 7, 8);
    c.w = ONE_OF(rng, 1, 5, 6, 9);
    c.c = is_data ? COLUMNS : ONE_OF(rng, 8, 24, 72);
    c.k = is_data ? ONE_OF(rng, 8, 24, 64, 72, 136) : COLUMNS;
    c.r = ONE_OF(rng, 1, 2, 3, 3, 5);
    c.s = ONE_OF(rng, 1, 2, 3, 3, 4);
    c.stride_h = ONE_OF(rng, 1, 1, 2, 3);
    c.stride_w = ONE_OF(rng, 1, 1, 2, 4);
    c.dilation_h = ONE_OF(rng, 1, 1, 2);
    c.dilation_w = ONE_OF(rng, 1, 1, 2, 3);
    c.pad_top = ONE_OF(rng, 0, 1, 4);
    c.pad_bottom = ONE_OF(rng, 0, 1, 3);
    c.pad_left = ONE_OF(rng, 0, 1, 2);
    c.pad_right = ONE_OF(rng, 0, 1, 5);
    c.in = (xl_images){.layout = XL_NHWC, .dtype = XL_F16};
    c.out = c.in;
    c.filters.layout = XL_KRSC;
    c.filters.dtype = XL_F16;
    return c;
}

static int at_random[MOST_ELEMS]; /* both operands, from places of their own */
enum { OUT_AT = 7, OTHER_AT = 1009 };

static int value(size_t from, size_t i)
{
    return at_random[(from + i) % MOST_ELEMS];
}

/* Where the filter's element (r, s) at position (p, q) meets the image. */
static bool find_pixel(const xl_conv *d, size_t p, size_t q, size_t r,
                       size_t s, size_t *y, size_t *x)
{
    *y = p * d->stride_h + r * d->dilation_h - d->pad_top;
    *x = q * d->stride_w + s * d->dilation_w - d->pad_left;
    return *y < d->h && *x < d->w;
}

static void add_expected(const struct xl__conv_canonical *c, size_t at[5],
                         long *to)
{
    const xl_conv *d = &c->d;
    const size_t n = at[0], p = at[1], q = at[2], r = at[3], s = at[4];
    const size_t out = ((n * c->p + p) * c->q + q) * d->k;
    size_t y, x;
    if (!find_pixel(d, p, q, r, s, &y, &x))
        return;
    const size_t pixel = ((n * d->h + y) * d->w + x) * d->c;
    for (size_t k = 0; k < d->k; k++) {
        for (size_t ch = 0; ch < d->c; ch++) {
            const size_t f = ((k * d->r + r) * d->s + s) * d->c + ch;
            if (d->pass == XL_CONV_BACKWARD_DATA)
                to[pixel + ch] += value(OUT_AT, out + k) * value(OTHER_AT, f);
            else
                to[f] += value(OUT_AT, out + k) * value(OTHER_AT, pixel + ch);
        }
    }
}

static void expect(const struct xl__conv_canonical *c, long *to)
{
    const xl_conv *d = &c->d;
    const size_t size[] = {d->n, c->p, c->q, d->r, d->s};
    size_t n = 1;
    for (unsigned i = 0; i < 5; i++)
        n *= size[i];
    for (size_t i = 0; i < n; i++) {
        size_t at[5], rest = i;
        for (unsigned j = 5; j-- > 0; rest /= size[j])
            at[j] = rest % size[j];
        add_expected(c, at, to);
    }
}

/* -- the walk ------------------------------------------------------------- */

/* The first argument of so many words; false: there is none. */
static bool find_words(const struct xl__step *s, size_t words, void *to)
{
    uint64_t *word = to;
    for (unsigned i = 0; i < s->n_args; i++) {
        if (s->args[i].kind != XL__ARG_WORDS || s->args[i].as.u != words)
            continue;
        for (size_t j = 0; j < words; j++)
            word[j] = s->args[i + 1 + j].as.u;
        return true;
    }
    return false;
}

struct walk {
    const struct xl__conv_canonical *c;
    struct windows windows;
    struct residues residues;
    bool has_residues;
    uint64_t head[HEAD_WORDS];
    long *sum;
};

/* A chunk of a row of A by the filters that it meets. */
static void multiply_chunk(const struct walk *w, const struct windows *v,
                           const struct window *at, const struct tap *t,
                           long *sum)
{
    const xl_conv *d = &w->c->d;
    const struct pixel pixel = filtered_pixel(v, t);
    if (PIXEL_BYTES(v, *at, pixel) == 0)
        return;
    for (size_t e = 0; e < CHUNK; e++) {
        const size_t from = (size_t)PIXEL_AT(*at, pixel) * CHUNK + e;
        const size_t k = t->c * CHUNK + e, tap = filters_tap(v, t);
        assert_in_range(tap, 0, d->r * d->s - 1);
        for (size_t ch = 0; ch < COLUMNS; ch++)
            sum[ch] += value(OUT_AT, from) *
                       value(OTHER_AT, (k * d->r * d->s + tap) * d->c + ch);
    }
}

static void walk_row(struct walk *w, const struct windows *v, uint z,
                     uint line, uint lines, size_t stages)
{
    ulong to = line * w->head[AT_LINE_C];
    if (w->has_residues && !place_result(v, &w->residues, z, line, &to))
        return;
    const struct window at = locate_window(v, line, lines);
    for (uint chunk = 0; chunk < DEPTH / CHUNK; chunk++) {
        struct tap t = locate_tap(v, chunk);
        for (size_t u = 0; u < stages; u++) {
            multiply_chunk(w, v, &at, &t, w->sum + to);
            next_tap(v, &t);
        }
    }
}

static void walk_data(struct walk *w)
{
    const uint lines = w->windows.lines;
    for (uint z = 0; z < (w->has_residues ? 4 : 1); z++) {
        const struct residue *r = &w->residues.of[z];
        const struct windows v =
            w->has_residues ? windows_of(&w->windows, r) : w->windows;
        const size_t stages =
            w->has_residues ? r->stages : w->head[AT_COUNTS] >> 32;
        if (z > 0)
            assert_true(stages <= w->residues.of[z - 1].stages);
        for (uint line = 0; line < lines; line++)
            walk_row(w, &v, z, line, lines, stages);
    }
}

static void walk_filters(struct walk *w)
{
    const struct windows *v = &w->windows;
    const size_t stages = w->head[AT_COUNTS] >> 32;
    const size_t cols = w->c->d.r * w->c->d.s * w->c->d.c;
    for (uint chunk = 0; chunk < cols / CHUNK + 1; chunk++) {
        const struct tap t = locate_tap(v, chunk);
        const struct pixel pixel = pixel_of(v, &t);
        for (uint line = 0; line < stages * DEPTH; line++) {
            const struct window at = locate_window(v, line, v->lines);
            if (PIXEL_BYTES(v, at, pixel) == 0)
                continue;
            assert_in_range(line, 0, v->lines - 1);
            assert_in_range(chunk, 0, cols / CHUNK - 1);
            for (size_t e = 0; e < (size_t)CHUNK * COLUMNS; e++)
                w->sum[e / CHUNK * cols + chunk * CHUNK + e % CHUNK] +=
                    value(OTHER_AT,
                          (size_t)PIXEL_AT(at, pixel) * CHUNK + e % CHUNK) *
                    value(OUT_AT, line * COLUMNS + e / CHUNK);
        }
    }
}

/* 0: refused; 1: of one product; 2: of residues. */
static unsigned check_case(const struct xl__limits *l, const xl_conv *d)
{
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const struct xl__variant *of =
        is_data ? &xl__conv_data_wgmma : &xl__conv_filters_wgmma;
    struct xl__conv_canonical c;
    struct xl__params params;
    struct xl__call call = {.list_bytes = 0};
    size_t p, q;
    if (xl_conv_out_size(d, &p, &q) != XL_OK)
        return 0;
    assert_int_equal(xl__op_conv_data.bind(NULL, d, &c, &call), XL_OK);
    if (of->refuses(l, &c))
        return 0;
    struct xl__plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    of->choose(l, &c, &params);
    assert_int_equal(of->plan(l, &c, &params, plan), XL_OK);
    const size_t n =
        is_data ? d->n * d->h * d->w * d->c : d->k * d->r * d->s * d->c;
    struct walk w = {.c = &c, .sum = calloc(n, sizeof *w.sum)};
    long *expected = calloc(n, sizeof *expected);
    assert_true(w.sum && expected);
    assert_true(find_words(plan->step, HEAD_WORDS, w.head));
    assert_true(find_words(plan->step, XL__WINDOWS_WORDS, &w.windows));
    w.has_residues = find_words(plan->step, RESIDUES_WORDS, &w.residues);
    (is_data ? walk_data : walk_filters)(&w);
    expect(&c, expected);
    for (size_t i = 0; i < n; i++) {
        if (w.sum[i] != expected[i])
            fail_msg(
                "%zu: %ld, not %ld; n %zu c %zu h %zu w %zu k %zu %zux%zu "
                "stride %zu %zu dilation %zu %zu pad %zu %zu",
                i, w.sum[i], expected[i], d->n, d->c, d->h, d->w, d->k, d->r,
                d->s, d->stride_h, d->stride_w, d->dilation_h, d->dilation_w,
                d->pad_top, d->pad_left);
    }
    const unsigned kind = w.has_residues ? 2 : 1;
    free(expected);
    free(w.sum);
    free(plan);
    return kind;
}

static void check_pass(xl_conv_pass pass, unsigned kinds)
{
    unsigned n[3] = {0};
    struct xl__limits l;
    struct xl__rng rng;
    test_h200_limits(&l);
    /* Tensor maps count the lines of the largest buffer, here of 8 channels.
     */
    xl__limits_correct(&l, XL__F_max_alloc_bytes, 8e9, XL_ASSUMED, "GE-01");
    xl__rng_seed(&rng, SEED);
    for (size_t i = 0; i < MOST_ELEMS; i++)
        at_random[i] = (int)xl__rng_below(&rng, 19) - 9;
    for (unsigned i = 0; i < N_CASES; i++) {
        const xl_conv d = random_conv(&rng, pass);
        n[check_case(&l, &d)]++;
    }
    print_message("%u refused, %u of one product, %u of residues\n", n[0],
                  n[1], n[2]);
    for (unsigned kind = 1; kind <= kinds; kind++)
        assert_in_range(n[kind], N_CASES / 10, N_CASES);
    xl__limits_clear(&l);
}

static void data(void **state)
{
    (void)state;
    check_pass(XL_CONV_BACKWARD_DATA, 2);
}

static void filters(void **state)
{
    (void)state;
    check_pass(XL_CONV_BACKWARD_FILTERS, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(data),
                                       cmocka_unit_test(filters)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
