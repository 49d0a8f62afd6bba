/* SPDX-License-Identifier: Apache-2.0 */
/* Memory allocation and size arithmetic with overflow checks. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool xl__mul(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool xl__add(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

void *xl__calloc(size_t n, size_t elem_bytes)
{
    size_t bytes;
    if (!xl__mul(n, elem_bytes, &bytes))
        return NULL;
    /* calloc() of 0 bytes may return NULL, which here means out of memory. */
    return calloc(xl__max_size(bytes, 1), 1);
}

bool xl__grow(void *array, size_t *cap, size_t need, size_t elem_bytes)
{
    enum { FIRST = 8 };
    if (need <= *cap)
        return true;
    size_t n = *cap <= SIZE_MAX / 2 ? 2 * *cap : need;
    n = xl__max_size(xl__max_size(n, need), FIRST);
    size_t bytes;
    if (!xl__mul(n, elem_bytes, &bytes))
        return false;
    /* `array` points to a pointer of unknown type. memcpy() reads and writes
     * it without a violation of the aliasing rules. */
    void *old;
    memcpy(&old, array, sizeof(old));
    void *grown = realloc(old, bytes);
    if (grown == NULL)
        return false;
    memcpy(array, &grown, sizeof(grown));
    *cap = n;
    return true;
}
