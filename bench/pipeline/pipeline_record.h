/* SPDX-License-Identifier: Apache-2.0 */
/* From commands that were noted while they were enqueued to a record with the
 * device's times. */
#ifndef CLBENCH_PIPELINE_RECORD_H
#define CLBENCH_PIPELINE_RECORD_H

#include "pipeline/execution.h"

/* A command that was enqueued, until its event can be asked. */
struct noted {
    struct pipe_command command;
    cl_event done; /* NULL: none is to be had */
};

/* Before a run: launches on the queue of kernels are kept from now on. */
xl_status record_begin(xl_queue *kernels);
/* After it; `kernels` NULL: there are no times of the device's. record's own
 * times are set already. */
xl_status record_end(struct pipe_record *record, const struct noted *list,
                     size_t n, xl_queue *kernels);

#endif
