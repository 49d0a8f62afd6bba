/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in guarded memory: zones of a pattern before, after and in the gaps
 * of padded rows, on host and device. A kernel that reads them spoils its
 * result (the pattern is a NaN), one that writes them is caught. */
#ifndef CLBENCH_GUARDED_H
#define CLBENCH_GUARDED_H

#include <crosslane/crosslane.h>

#include "cases/host_ops.h"

struct guarded {
    size_t rows, cols, ld;  /* as stored, row by row */
    size_t first, elems;    /* element (0, 0); length of the whole */
    xl_dtype dtype;
    void *host;             /* as it was uploaded */
    void *back;             /* as it came back */
    cl_mem mem;
};

/* How a matrix is stored. */
struct guarded_layout {
    size_t rows, cols, pad, off;
    xl_dtype dtype;
};

/* Host memory full of guards; XL_NO_MEMORY, XL_OVERFLOW. guarded_clear() also
 * after a failure. */
xl_status guarded_init(struct guarded *g, const struct guarded_layout *at);
void guarded_clear(struct guarded *g);
/* Near-normal data in every element. */
void guarded_fill(struct guarded *g, struct xl__rng *rng);
void guarded_set(struct guarded *g, size_t i, size_t j, double x);
xl_status guarded_upload(struct guarded *g, xl_queue *q);
xl_status guarded_download(struct guarded *g, xl_queue *q);
/* Is `back` bit for bit as `host`? Elements may differ when `but_elements`,
 * guards and gaps never. On false *at is the first place that differs. */
bool guarded_intact(const struct guarded *g, bool but_elements, size_t *at);

/* Views: of the device's memory, of the host's, of what came back. */
xl_mat guarded_view(const struct guarded *g, bool transposed);
struct ref_mat guarded_host(const struct guarded *g, bool transposed);
struct ref_mat guarded_back(const struct guarded *g, bool transposed);

#endif
