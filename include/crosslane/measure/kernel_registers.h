/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of a kernel that the application built. */
#ifndef CROSSLANE_MEASURE_KERNEL_REGISTERS_H
#define CROSSLANE_MEASURE_KERNEL_REGISTERS_H

#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a kernel takes of the registers, as the driver, the log of its compiler
 * or the program's binary states it. The units are those of `registers` and
 * `spill_bytes` in xl_choice. NaN: not stated.
 *
 * Where only a log has it and that of the kernel's program has not, the
 * program's binary is built again, as a program of its own that is released;
 * this takes as long as the driver's assembler does. The kernel and its
 * program are not changed.
 *
 * @param q            one thread at a time; the kernel's program was built for
 *                     its device, in its context
 * @param kernel       of the application
 * @param registers    of a work-item, or of a hardware thread
 * @param spill_bytes  what found no register
 * @return XL_OK, also where nothing is stated; XL_BAD_ARGUMENT (a NULL);
 *         XL_NO_MEMORY; or an OpenCL code. After a failure both values are
 *         NaN, and the reason is in xl_error_detail(q)
 */
XL_API xl_status xl_kernel_registers(xl_queue *q, cl_kernel kernel,
                                     double *registers, double *spill_bytes);

#ifdef __cplusplus
}
#endif
#endif
