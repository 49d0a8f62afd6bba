/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance by dynamic programming over prefixes. With d[i][j] the
 * distance between the first i letters of a and the first j of b,
 *
 *   d[i][j] = min(d[i-1][j-1] + (a[i] != b[j]), d[i-1][j] + 1, d[i][j-1] + 1)
 *
 * One row of d is kept; `diagonal` is d[i-1][j-1], which the row has already
 * overwritten. Source: Wagner and Fischer, "The String-to-String Correction
 * Problem", JACM 21(1), 1974. */
#include "base/edit_distance.h"

#include <stdint.h>

#include "base/alloc.h"

size_t xl__edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t row[XL__EDIT_DISTANCE_LETTERS + 1];
    if (n_a > XL__EDIT_DISTANCE_LETTERS || n_b > XL__EDIT_DISTANCE_LETTERS)
        return SIZE_MAX;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] =
                xl__min_size(change, xl__min_size(row[j], row[j - 1]) + 1);
        }
    }
    return row[n_b];
}
