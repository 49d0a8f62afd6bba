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

/* The ends of a class of sizes that a model treats alike: those in the same
 * sixteenth of an octave, with the same power of two in them as far as it is
 * at least `grain`, a power of two: the grain is 1 for a size along which
 * memory is contiguous, else that of tiles. Sizes up to 32 are alone. */
enum xl__class_end { XL__CLASS_LEAST, XL__CLASS_LARGEST };
size_t xl__size_end(size_t n, size_t grain, enum xl__class_end end);
/* About half of n, with the same power of two in it up to the grain below. */
size_t xl__size_half(size_t n);
enum { XL__SIZE_GRAIN = 32 }; /* of a size along which nothing is contiguous */

#endif
