/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that belong to one shape class, and so share a tuned set. */
#ifndef XL_OPS_BUCKETS_H
#define XL_OPS_BUCKETS_H

#include <stddef.h>

/* The nearest of 1, 2, 3, 4, 6, 8, 12, 16, ... by ratio: never off by more
 * than a quarter, and what is just below a power of two is in its bucket. */
size_t xl__bucket(size_t n);
/* The nearest power of two by ratio: for counts that only say how full a
 * device is. */
size_t xl__bucket_coarse(size_t n);

#endif
