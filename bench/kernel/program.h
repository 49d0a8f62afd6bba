/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of a file, built for a device with one combination of -D, whose
 * arguments are those of the command line. */
#ifndef CLBENCH_KERNEL_PROGRAM_H
#define CLBENCH_KERNEL_PROGRAM_H

#include "kernel/job.h"

struct kernel_program {
    cl_program program;
    cl_kernel kernel;
    char *name; /* of the kernel, on the heap */
    char *log;  /* of the build, on the heap; NULL: there is none */
};

/* A number among the device's facts; NaN: not known. */
double kernel_device_fact(const xl_device *dev, const char *name);

/* Build a file and find its kernel. XL_BUILD_FAILED; XL_BAD_ARGUMENT: the file
 * has no such kernel, or its arguments are others; or an OpenCL code. Then
 * *why is the message. kernel_program_close() in any case. */
xl_status kernel_program_open(xl_queue *q, const struct kernel_job *job,
                              const struct kernel_source *source,
                              unsigned defines, struct kernel_program *out,
                              struct xl__str *why);
void kernel_program_close(struct kernel_program *p);

/* Append the kernels of a file, a line each, with the --arg that each needs
 * where the driver states its arguments. Errors as above. */
xl_status kernel_program_list(xl_queue *q, const struct kernel_job *job,
                              const struct kernel_source *source,
                              struct xl__str *out, struct xl__str *why);

/* Set the arguments; mem: of each buffer, in their order. XL_UNSUPPORTED: the
 * device cannot launch it so, with *why. */
xl_status kernel_program_bind(xl_queue *q, const struct kernel_program *p,
                              const struct kernel_job *job,
                              const struct kernel_plan *plan,
                              const cl_mem *mem, struct xl__str *why);
/* Enqueue a launch; an OpenCL code. */
xl_status kernel_program_run(xl_queue *q, const struct kernel_program *p,
                             const struct kernel_plan *plan);
/* What the launch takes of the device, as far as the driver states it. */
void kernel_program_use(xl_queue *q, const struct kernel_program *p,
                        xl_choice *out);

#endif
