/* SPDX-License-Identifier: Apache-2.0 */
/* Overlap of strided regions against sets of bytes: random ones of up to four
 * dimensions, and the records and rows that batches of two axes make. */
#include <string.h>

#include "base/rng.h"
#include "runtime/memory/region.h"
#include "support/support.h"

enum { MOST = 1 << 14, DIMS = 4 };

struct view {
    size_t offset, size[DIMS], stride[DIMS];
    unsigned n;
};

static void make_region(const struct view *v, struct xl__region *r)
{
    struct xl__error e = {0};
    xl_tensor t = {.dtype = XL_U8, .offset = v->offset, .n_dims = v->n};
    memcpy(t.size, v->size, sizeof v->size);
    memcpy(t.stride, v->stride, sizeof v->stride);
    assert_int_equal(xl__region_init(r, "x", &t, &e), XL_OK);
    r->is_written = true;
}

/* Marks the bytes of a view; false if one is marked already. */
static bool mark(const struct view *v, unsigned char *used)
{
    size_t n = 1;
    bool is_free = true;
    for (unsigned d = 0; d < v->n; d++)
        n *= v->size[d];
    for (size_t i = 0; i < n; i++) {
        size_t at = v->offset, rest = i;
        for (unsigned d = v->n; d-- > 0; rest /= v->size[d])
            at += rest % v->size[d] * v->stride[d];
        assert_true(at < MOST);
        is_free = is_free && !used[at];
        used[at] = 1;
    }
    return is_free;
}

static bool are_disjoint(const struct view *a, const struct view *b)
{
    static unsigned char used[2][MOST];
    memset(used, 0, sizeof used);
    mark(a, used[0]);
    mark(b, used[1]);
    for (size_t i = 0; i < MOST; i++) {
        if (used[0][i] && used[1][i])
            return false;
    }
    return true;
}

static bool are_found_disjoint(const struct view *a, const struct view *b)
{
    struct xl__region x, y;
    make_region(a, &x);
    make_region(b, &y);
    const bool found = xl__regions_are_disjoint(&x, &y);
    assert_int_equal(xl__regions_are_disjoint(&y, &x), found);
    return found;
}

static struct view random_view(struct xl__rng *rng)
{
    static const size_t strides[] = {1, 2, 3, 5, 8, 12, 24, 25, 60, 72, 100};
    struct view v = {.offset = (size_t)xl__rng_below(rng, 130),
                     .n = 1 + (unsigned)xl__rng_below(rng, DIMS)};
    for (unsigned d = 0; d < v.n; d++) {
        v.size[d] = 1 + (size_t)xl__rng_below(rng, 4);
        v.stride[d] =
            strides[xl__rng_below(rng, sizeof strides / sizeof *strides)];
    }
    return v;
}

/* Nothing that overlaps is called disjoint, and most of the rest is found. */
static void random_views(void **state)
{
    enum { PAIRS = 20000 };
    struct xl__rng rng;
    unsigned disjoint = 0, found = 0;
    (void)state;
    xl__rng_seed(&rng, 1);
    for (unsigned i = 0; i < PAIRS; i++) {
        const struct view a = random_view(&rng), b = random_view(&rng);
        const bool are = are_disjoint(&a, &b),
                   is_found = are_found_disjoint(&a, &b);
        if (is_found && !are)
            fail_msg("pair %u is called disjoint and is not", i);
        disjoint += are;
        found += is_found;
    }
    assert_true(disjoint > PAIRS / 4);
    assert_true(found > disjoint / 2);
}

/* Operands in records along two axes, of which the outer step is no multiple
 * of the inner one. */
static void records_of_two_axes(void **state)
{
    enum { A = 12, B = 20, C = 15, ROWS = 4, INNER = 3 };
    static const size_t inner[] = {A + B + C, A + B + C + 2};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const size_t row = INNER * inner[i] + 5;
        const struct view a = {0, {ROWS, INNER, A}, {row, inner[i], 1}, 3},
                          b = {A, {ROWS, INNER, B}, {row, inner[i], 1}, 3},
                          c = {A + B, {ROWS, INNER, C}, {row, inner[i], 1}, 3};
        struct view far = c;
        assert_true(are_found_disjoint(&a, &b));
        assert_true(are_found_disjoint(&b, &c));
        assert_true(are_found_disjoint(&a, &c));
        far.offset++; /* reaches the next record, or not */
        assert_int_equal(are_found_disjoint(&a, &far), i == 1);
        assert_int_equal(are_disjoint(&a, &far), i == 1);
        far.offset = A - 1;
        assert_false(are_found_disjoint(&a, &far));
    }
}

/* A result whose rows, heads and products are nested does not overlap itself,
 * whatever the order of its axes; one element less does. */
static void itself(void **state)
{
    enum { ROWS = 3, N = 5, HEADS = 4, D = 6 };
    static unsigned char used[MOST];
    struct view v = {
        0, {ROWS, HEADS, N, D}, {N * HEADS * D, D, HEADS * D, 1}, 4};
    struct xl__region r;
    (void)state;
    make_region(&v, &r);
    assert_false(xl__region_overlaps_itself(&r));
    assert_true(mark(&v, used));
    v.stride[0]--;
    make_region(&v, &r);
    assert_true(xl__region_overlaps_itself(&r));
    memset(used, 0, sizeof used);
    assert_false(mark(&v, used));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_views),
        cmocka_unit_test(records_of_two_axes),
        cmocka_unit_test(itself),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
