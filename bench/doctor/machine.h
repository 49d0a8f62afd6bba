/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware without a driver, permissions, container. */
#ifndef CLBENCH_DOCTOR_MACHINE_H
#define CLBENCH_DOCTOR_MACHINE_H

struct doctor;

void doctor_machine(struct doctor *d);

#endif
