/* SPDX-License-Identifier: Apache-2.0 */
/* How a pipeline is cut into chunks. */
#ifndef CLBENCH_PIPELINE_CHUNK_SEARCH_H
#define CLBENCH_PIPELINE_CHUNK_SEARCH_H

#include "pipeline/measurement.h"

/* Choose x's chunks, and get everything ready for them. */
xl_status pipe_cut(struct pipe_bench *b, struct pipe_result *x);

#endif
