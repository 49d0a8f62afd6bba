/* SPDX-License-Identifier: Apache-2.0 */
/* Memory allocation and size arithmetic with overflow checks. */
#ifndef XL_BASE_ALLOC_H
#define XL_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b, or a + b; false, with *out unchanged, on overflow. */
bool xl__mul(size_t a, size_t b, size_t *out);
bool xl__add(size_t a, size_t b, size_t *out);
/* Zeroed array of n elements; NULL when out of memory or on overflow. */
void *xl__calloc(size_t n, size_t elem_bytes);
/* Ensure room for `need` elements in *array, a heap array of *cap elements,
 * which is a pointer of any type. The capacity at least doubles. false, with
 * the array unchanged, when out of memory. */
bool xl__grow(void *array, size_t *cap, size_t need, size_t elem_bytes);

/* The smallest multiple of `to` >= x. */
static inline size_t xl__round_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}
/* x / by, rounded up. */
static inline size_t xl__ceil_div(size_t x, size_t by)
{
    return (x + by - 1) / by;
}
static inline size_t xl__min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t xl__max_size(size_t a, size_t b) { return a > b ? a : b; }

#endif
