/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance between two words, for "did you mean" messages. */
#ifndef XL_BASE_EDIT_DISTANCE_H
#define XL_BASE_EDIT_DISTANCE_H

#include <stddef.h>

enum { XL__EDIT_DISTANCE_LETTERS = 63 }; /* of the longest word compared */

/* The least number of letters to change, insert or remove to get from `a` (n_a
 * bytes) to `b` (n_b bytes); SIZE_MAX when either is longer than
 * XL__EDIT_DISTANCE_LETTERS. */
size_t xl__edit_distance(const char *a, size_t n_a, const char *b, size_t n_b);

#endif
