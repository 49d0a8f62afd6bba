/* SPDX-License-Identifier: Apache-2.0 */
/* Overflow-checked sizes and allocation. */
#ifndef XL_BASE_MEM_H
#define XL_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b (a + b); false when it does not fit. */
bool xl__mul(size_t a, size_t b, size_t *out);
bool xl__add(size_t a, size_t b, size_t *out);
/* Zeroed array of n elements; NULL when out of memory or on overflow. */
void *xl__calloc(size_t n, size_t elem_bytes);
/* Make room for `need` elements in *array, doubling *cap; false, with
 * everything as it was, when out of memory. */
bool xl__grow(void *array, size_t *cap, size_t need, size_t elem_bytes);

static inline size_t xl__round_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}
static inline size_t xl__ceil_div(size_t x, size_t by)
{
    return (x + by - 1) / by;
}
static inline size_t xl__min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t xl__max_size(size_t a, size_t b) { return a > b ? a : b; }

#endif
