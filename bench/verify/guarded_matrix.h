/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in guarded memory: zones of a pattern before it, after it and in
 * the gaps of padded rows, on host and device. A kernel that reads them gets a
 * wrong result (the pattern is NaN); one that writes them is detected. */
#ifndef CLBENCH_GUARDED_H
#define CLBENCH_GUARDED_H

#include <crosslane/crosslane.h>

#include "cases/host_ops.h"

struct guarded {
    size_t rows, cols, ld;  /* as stored, row by row */
    size_t first, elems;    /* element (0, 0); length of the whole */
    xl_dtype dtype;
    void *host;             /* as it was uploaded */
    void *back;             /* as it was read back */
    cl_mem mem;
};

/* How a matrix is stored. */
struct guarded_layout {
    size_t rows, cols, pad, off;
    xl_dtype dtype;
};

/* Allocate host memory filled with guards; XL_NO_MEMORY, XL_OVERFLOW.
 * guarded_clear() also after a failure. */
xl_status guarded_init(struct guarded *g, const struct guarded_layout *at);
void guarded_clear(struct guarded *g);
/* Fill all elements with nearly normal data. */
void guarded_fill(struct guarded *g, struct xl__rng *rng);
void guarded_set(struct guarded *g, size_t i, size_t j, double x);
xl_status guarded_upload(struct guarded *g, xl_queue *q);
xl_status guarded_download(struct guarded *g, xl_queue *q);
/* Are `back` and `host` equal bit for bit? With `but_elements` only guards and
 * gaps are compared. If not, *at is the index of the first difference. */
bool guarded_intact(const struct guarded *g, bool but_elements, size_t *at);

/* Views: of the device buffer, of the host copy, of the data read back. */
xl_mat guarded_view(const struct guarded *g, bool transposed);
struct ref_mat guarded_host(const struct guarded *g, bool transposed);
struct ref_mat guarded_back(const struct guarded *g, bool transposed);

#endif
