/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the fastest chunks for a pipeline on a device by measurement. */
#ifndef CLBENCH_PIPELINE_CHUNK_SEARCH_H
#define CLBENCH_PIPELINE_CHUNK_SEARCH_H

#include "pipeline/measurement.h"

/* Sets x->chunks and x->buffers (those of the options, if given), b->costs and
 * the predicted time, allocates the slots and builds the kernels. */
xl_status pipe_choose_chunks(struct pipe_bench *b, struct pipe_result *x);

#endif
