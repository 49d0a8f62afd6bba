/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware without an OpenCL driver, permissions of device nodes, containers,
 * found without calling any driver. */
#ifndef CLBENCH_DOCTOR_MACHINE_H
#define CLBENCH_DOCTOR_MACHINE_H

struct doctor;

/* Adds findings, and sets d->container and d->gpus. Call it after
 * doctor_drivers(). */
void doctor_machine(struct doctor *d);

#endif
